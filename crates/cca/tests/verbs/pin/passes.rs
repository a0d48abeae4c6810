//! Which passes the PIN verbs take: each does the work of all requests of a batch, so that their number bounds the
//! rate.

use super::translate2::{AesKeys, FIRST, field4, translate2, under4};
use cca::{Batch, BatchStep, Incoming, Processor};
use verb_requests::pin::*;
use verb_requests::support::{DOMAIN, Request};
use wire::code;

const PAN: &str = "401234567890";

/// The kinds of kernel work of each pass, where so many of these requests run side by side.
fn passes(processor: &mut Processor, request: &Request, count: usize) -> Vec<Vec<&'static str>> {
    let payload = request.payload();
    let mut batch = Batch::new();
    for _ in 0..count {
        let points = &wire::role::BUILT_IN[0].points;
        batch.push(&Incoming { verb: request.verb(), domain: DOMAIN, points, payload: &payload }).unwrap();
    }
    let (mut steps, mut passes) = (Vec::new(), Vec::new());
    processor.run_watched(&mut batch, |step| steps.push(step));
    assert!(batch.answers().iter().all(|answer| answer.codes == code::OK));
    assert_eq!((steps.first(), steps.last()), (Some(&BatchStep::Read), Some(&BatchStep::Answered)));
    for step in steps {
        match step {
            BatchStep::Computed => passes.push(Vec::new()),
            BatchStep::Kernel(kind) => passes.last_mut().expect("computations ask first").push(kind),
            BatchStep::Read | BatchStep::Answered => {}
        }
    }
    assert_eq!(passes.pop(), Some(Vec::new()), "after the last one nothing is asked");
    passes
}

/// However many requests there are: unwrapped, deciphered, enciphered; keys of transactions are derived in one more.
#[test]
fn a_block_of_8_bytes_is_translated_in_three_passes_and_under_derived_keys_in_four() {
    let mut keys = Keys::new();
    let fixed = (&keys.inbound.clone()[..], &keys.other_outbound.clone()[..]);
    let deriving = keys.deriving.clone();
    let block = under(&KEY, &iso0("1234", PAN));
    let (zero, three) = (profile("ISO-0", ""), profile("ISO-3", ""));
    let derived = derived_profile("ISO-0", "", "FFFF9876543210E0001F");
    for count in [1, 64] {
        for (words, into) in [("TRANSLAT", &zero), ("REFORMAT", &three)] {
            let request = translate(fixed, &[words], (&zero, into), (PAN, PAN), &block);
            assert_eq!(passes(&mut keys.processor, &request, count), [["open"], ["block"], ["block"]]);
        }
        let both = (&deriving[..], &deriving[..]);
        let words = ["TRANSLAT", "DUKPT-BH"];
        let request = translate(both, &words, (&derived, &derived), (PAN, PAN), &block);
        let expected = [["open"], ["derive"], ["block"], ["block"]];
        assert_eq!(passes(&mut keys.processor, &request, count), expected);
    }
}

/// A block of ISO-4 is two rounds of its cipher, which one pass does.
#[test]
fn a_block_of_iso_4_is_translated_in_three_passes() {
    let mut all = AesKeys::new();
    let pan = "4012345678909123";
    let block = under4(&FIRST, pan, &field4("1234", 0x0123_4567_89AB_CDEF));
    let four = profile("ISO-4", "");
    let sides = ((&all.from_first[..], &all.to_second[..]), (&four[..], &four[..]), (pan, pan));
    let request = translate2(&["TRANSLAT"], sides, &block);
    let expected = [["open"], ["pin_field"], ["pin_field"]];
    assert_eq!(passes(&mut all.keys.processor, &request, 64), expected);
}
