//! How many keys a card makes a second for another system: Key_Generate2 in the form OPEX, which gives an AES-256 key once under the
//! master key and once under an EXPORTER key, beside the form OP, in turn.
//!
//! ```text
//! cargo build --release && cargo run --release -p system-tests --example transported -- [ROUNDS] [SECONDS]
//! ```
//! One coprocessor of a throw-away home, one caller with 64 requests in flight; medians of so many rounds (11) of so many seconds
//! (0.3), with the lowest and the highest. Every answer must have succeeded, with tokens that were never there before; of each round
//! both tokens of one key must have one check value (Key_Test2).

use facility::{Facility, Ticket};
use std::collections::{HashSet, VecDeque};
use std::time::{Duration, Instant};
use system_tests::Installation;
use wire::frame::Arguments;
use wire::verb::{Verb, key_generate2 as kgn2, key_test2 as kyt2};

const IN_FLIGHT: usize = 64;
/// Room for any token of variable length.
const ROOM: i64 = 725;

fn main() {
    let mut typed = std::env::args().skip(1);
    let rounds = typed.next().map_or(11, |text| text.parse::<usize>().expect("rounds as a number")).max(1);
    let seconds = typed.next().map_or(0.3, |text| text.parse::<f64>().expect("seconds as a number"));
    let installation = Installation::new(1, 0);
    installation.until_ready_with_keeper();
    let facility = installation.facility();
    let exporter = key(&facility, "EXPORTER");
    let forms = [("OP", &[][..]), ("OPEX", &exporter)];
    let mut rates = [Vec::new(), Vec::new()];
    let mut seen = HashSet::new();
    for _ in 0..rounds {
        for (rates, (form, kek)) in rates.iter_mut().zip(forms) {
            rates.push(round(&facility, form, kek, Duration::from_secs_f64(seconds), &mut seen));
        }
    }
    for (rates, (form, _)) in rates.iter_mut().zip(forms) {
        rates.sort_by(f64::total_cmp);
        let [low, median, high] = [0, rates.len() / 2, rates.len() - 1].map(|at| rates[at]);
        println!("Key_Generate2 {form:4} {median:9.0} keys a second ({low:.0} to {high:.0})");
    }
}

/// Keys a second in one form.
fn round(facility: &Facility, form: &str, kek: &[u8], long: Duration, seen: &mut HashSet<Vec<u8>>) -> f64 {
    let rules = format!("AES     {form:8}");
    let asked = request(&rules, "CIPHER  ", kek);
    let submit = || facility.submit(0, &asked).expect("a request that is taken");
    let begun = Instant::now();
    let mut waiting: VecDeque<Ticket> = (0..IN_FLIGHT).map(|_| submit()).collect();
    let mut tokens = Vec::new();
    while let Some(ticket) = waiting.pop_front() {
        let reply = ticket.wait().expect("an answer");
        assert!(reply.codes().has_output(), "{form}: {}", reply.codes());
        let token = |position| reply.arguments().bytes(position).to_vec();
        tokens.push([token(kgn2::GENERATED_KEY_IDENTIFIER_1), token(kgn2::GENERATED_KEY_IDENTIFIER_2)]);
        if begun.elapsed() < long {
            waiting.push_back(submit());
        }
    }
    let rate = tokens.len() as f64 / begun.elapsed().as_secs_f64();
    let [inside, outside] = tokens.last().expect("a key").clone();
    assert_eq!(outside.is_empty(), kek.is_empty(), "{form} gives a second token");
    if !outside.is_empty() {
        assert_eq!(check_value(facility, &inside, &[]), check_value(facility, &outside, kek));
    }
    for token in tokens.into_iter().flatten().filter(|token| !token.is_empty()) {
        assert!(seen.insert(token), "{form}: a token that was there before");
    }
    rate
}

/// An AES-256 key of this type under the master key.
fn key(facility: &Facility, key_type: &str) -> Vec<u8> {
    let key_type = format!("{key_type:8}");
    let reply = facility.call(0, &request("AES     OP      ", &key_type, &[])).expect("an answer");
    assert!(reply.codes().has_output(), "{}", reply.codes());
    reply.arguments().bytes(kgn2::GENERATED_KEY_IDENTIFIER_1).to_vec()
}

fn request<'a>(rules: &'a str, key_type: &'a str, kek: &'a [u8]) -> Arguments<'a> {
    let mut arguments = Arguments::new(Verb::KeyGenerate2);
    let (second, room) = if kek.is_empty() { ("        ", 0) } else { (key_type, ROOM) };
    arguments
        .set_integer(kgn2::RULE_ARRAY_COUNT, 2)
        .set_bytes(kgn2::RULE_ARRAY, rules.as_bytes())
        .set_integer(kgn2::CLEAR_KEY_BIT_LENGTH, 256)
        .set_bytes(kgn2::KEY_TYPE_1, key_type.as_bytes())
        .set_bytes(kgn2::KEY_TYPE_2, second.as_bytes())
        .set_integer(kgn2::KEK_KEY_IDENTIFIER_2_LENGTH, kek.len() as i64)
        .set_bytes(kgn2::KEK_KEY_IDENTIFIER_2, kek)
        .set_integer(kgn2::GENERATED_KEY_IDENTIFIER_1_LENGTH, ROOM)
        .set_integer(kgn2::GENERATED_KEY_IDENTIFIER_2_LENGTH, room);
    arguments
}

/// The check value of a key, which the second key wraps where it is external.
fn check_value(facility: &Facility, token: &[u8], kek: &[u8]) -> Vec<u8> {
    let mut arguments = Arguments::new(Verb::KeyTest2);
    arguments
        .set_integer(kyt2::RULE_ARRAY_COUNT, 3)
        .set_bytes(kyt2::RULE_ARRAY, b"AES     GENERATEENC-ZERO")
        .set_integer(kyt2::KEY_IDENTIFIER_LENGTH, token.len() as i64)
        .set_bytes(kyt2::KEY_IDENTIFIER, token)
        .set_integer(kyt2::KEK_KEY_IDENTIFIER_LENGTH, kek.len() as i64)
        .set_bytes(kyt2::KEK_KEY_IDENTIFIER, kek)
        .set_integer(kyt2::VERIFICATION_PATTERN_LENGTH, 8);
    let reply = facility.call(0, &arguments).expect("an answer");
    assert!(reply.codes().has_output(), "Key_Test2: {}", reply.codes());
    reply.arguments().bytes(kyt2::VERIFICATION_PATTERN).to_vec()
}
