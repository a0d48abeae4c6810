//! What is counted of wrong PINs, and which verifications wait.

use cca::{Answer, Batch, Count, Failures, Incoming, Processor};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use verb_requests::pin::*;
use verb_requests::support::{Request, entered, processor};
use wire::code;
use wire::frame::Outcome;
use wire::pin::{CountingKey, Digest, Guess, Standing};
use wire::point::{Point, PointSet};
use wire::role::BUILT_IN;
use wire::verb::Verb;
use wire::verb::encrypted_pin_verify::{ENCRYPTED_PIN_BLOCK, PAN_DATA, PIN_VERIFYING_KEY_IDENTIFIER};

const PAN: &str = "112233445566";
const VALIDATION: &str = "1122334455667788";
const RIGHT: &str = "3413";
const WRONG: &str = "3414";

/// What the daemon would say.
#[derive(Clone, Default)]
pub struct Daemon(Rc<RefCell<HashMap<Digest, Standing>>>);

impl Daemon {
    fn say(&self, digest: Digest, standing: Standing) {
        self.0.borrow_mut().insert(digest, standing);
    }
}

impl Failures for Daemon {
    fn standing(&self, digest: &Digest) -> Standing {
        self.0.borrow().get(digest).copied().unwrap_or(Standing::Clean)
    }
}

pub fn counted(processor: &mut Processor) -> Daemon {
    let daemon = Daemon::default();
    processor.count_failures(&CountingKey([3; 32]), Box::new(daemon.clone()));
    daemon
}

fn asked(keys: &Keys, pin: &str, elements: [&str; 3]) -> Request {
    let block = under(&KEY, &iso0(pin, PAN));
    let pair = (&keys.inbound[..], &keys.verifying[..]);
    verify(pair, &["IBM-PINO"], &profile("ISO-0", ""), PAN, &block, 4, elements)
}

/// A block of another card, with the same PIN.
fn of_card(keys: &Keys, pan: &str, elements: [&str; 3]) -> Request {
    let block = under(&KEY, &iso0(RIGHT, pan));
    let pair = (&keys.inbound[..], &keys.verifying[..]);
    verify(pair, &["IBM-PINO"], &profile("ISO-0", ""), pan, &block, 4, elements)
}

/// Of which a card has other last digits than [`PAN`].
const OTHER_PAN: &str = "112233445577";

const ELEMENTS: [&str; 3] = [TABLE, VALIDATION, "0000"];

/// The answers of one batch, in the owner's role with these points beside.
fn run(processor: &mut Processor, requests: &[&Request], points: &PointSet) -> Vec<Answer> {
    let mut batch = Batch::new();
    for request in requests {
        let (payload, domain) = (request.payload(), request.domain);
        batch.push(&Incoming { verb: request.verb(), domain, points, payload: &payload }).unwrap();
    }
    processor.run(&mut batch);
    batch.answers().to_vec()
}

pub fn one(processor: &mut Processor, request: &Request) -> Answer {
    run(processor, &[request], &BUILT_IN[0].points).remove(0)
}

/// What the failure of a request is counted under; its subject is done with then.
fn guess_of(processor: &mut Processor, request: &Request) -> Guess {
    let answer = one(processor, request);
    let Some(Count::Failed(guess)) = answer.count else { panic!("{answer:?}") };
    processor.counted(&guess, 0);
    guess
}

#[test]
fn of_one_subject_one_verification_is_judged_at_a_time() {
    let mut keys = Keys::new();
    counted(&mut keys.processor);
    let (wrong, right) = (asked(&keys, WRONG, ELEMENTS), asked(&keys, RIGHT, ELEMENTS));
    let other = of_card(&keys, OTHER_PAN, [TABLE, "8877665544332211", "0000"]);
    let points = &BUILT_IN[0].points;
    let answers = run(&mut keys.processor, &[&wrong, &right, &other, &wrong], points);
    assert_eq!(answers[0].codes, code::PIN_NOT_VERIFIED);
    let Some(Count::Failed(guess)) = answers[0].count else { panic!("{:?}", answers[0]) };
    for waits in [&answers[1], &answers[3]] {
        assert_eq!((waits.outcome, waits.count), (Outcome::NotReady, Some(Count::Waits(guess.subject))));
        assert!(waits.payload.is_empty());
    }
    assert_eq!(answers[2].outcome, Outcome::Answered, "another subject");
    // Until the failure is durable, nothing of it is judged.
    assert_eq!(one(&mut keys.processor, &right).count, Some(Count::Waits(guess.subject)));
    assert_eq!(keys.processor.released(), []);
    keys.processor.counted(&guess, 0);
    assert!(keys.processor.released().contains(&guess.subject));
    let answers = run(&mut keys.processor, &[&right, &right], points);
    assert_eq!((answers[0].codes, answers[0].count), (code::OK, None));
    assert_eq!(answers[1].count, Some(Count::Waits(guess.subject)));
    // A right PIN is done with at once.
    assert!(keys.processor.released().contains(&guess.subject));
    assert_eq!(one(&mut keys.processor, &right).codes, code::OK);
}

#[test]
fn what_is_refused_is_not_judged_by_its_key_or_its_subject() {
    let mut keys = Keys::new();
    let daemon = counted(&mut keys.processor);
    let (wrong, right) = (asked(&keys, WRONG, ELEMENTS), asked(&keys, RIGHT, ELEMENTS));
    let guess = guess_of(&mut keys.processor, &wrong);
    let block = guess.block.unwrap();
    let share = guess.key.by_tenant(0);
    for digest in [guess.key, share, guess.subject, block.block, block.caller] {
        daemon.say(digest, Standing::Refused);
        for request in [&wrong, &right] {
            let answer = one(&mut keys.processor, request);
            assert_eq!((answer.codes, answer.count), (code::ACCESS_DENIED, None));
        }
        daemon.say(digest, Standing::Counted);
    }
    assert_eq!(one(&mut keys.processor, &right).codes, code::OK);
}

#[test]
fn one_key_is_one_key_in_whichever_token_under_whichever_master_key() {
    let mut keys = Keys::new();
    counted(&mut keys.processor);
    let wrong = asked(&keys, WRONG, ELEMENTS);
    let guess = guess_of(&mut keys.processor, &wrong);
    assert_ne!(guess.key, guess.subject);
    // As PINGEN, and entered with other parity.
    let flipped = KEY.map(|byte| byte ^ 1);
    let (again, parity) = (
        entered(&mut keys.processor, "PINVER", &[], &KEY),
        entered(&mut keys.processor, "PINVER", &[], &flipped),
    );
    for token in [&keys.generating.clone(), &again, &parity] {
        let same = wrong.clone().bytes(PIN_VERIFYING_KEY_IDENTIFIER, token);
        assert_eq!(guess_of(&mut keys.processor, &same), guess);
    }
    // On another card.
    let mut elsewhere = processor();
    counted(&mut elsewhere);
    let answer = one(&mut elsewhere, &wrong);
    assert_eq!(answer.count, Some(Count::Failed(guess)));
    let other = entered(&mut keys.processor, "PINVER", &[], &OTHER);
    let other = wrong.bytes(PIN_VERIFYING_KEY_IDENTIFIER, &other);
    let found = guess_of(&mut keys.processor, &other);
    assert!(found.key != guess.key && found.subject != guess.subject);
    // For its tenant a block is the same under whichever key.
    let (found, guess) = (found.block.unwrap(), guess.block.unwrap());
    assert_eq!((found.caller == guess.caller, found.block == guess.block), (true, false));
}

#[test]
fn a_subject_is_what_the_right_pin_belongs_to() {
    let mut keys = Keys::new();
    counted(&mut keys.processor);
    let wrong = asked(&keys, WRONG, ELEMENTS);
    let guess = guess_of(&mut keys.processor, &wrong);
    let with_pan = wrong.clone().bytes(PAN_DATA, OTHER_PAN);
    let found = guess_of(&mut keys.processor, &with_pan);
    assert_eq!(
        (found.key, found.subject),
        (guess.key, guess.subject),
        "its PIN is the subject's all the same"
    );
    assert_ne!(found.block, guess.block);
    let with_offset = asked(&keys, WRONG, [TABLE, VALIDATION, "1234"]);
    assert_eq!(guess_of(&mut keys.processor, &with_offset), guess);
    let of_pool = asked(&keys, WRONG, [TABLE, VALIDATION, "1234"]).rules(&["GBP-PINO"]);
    assert_eq!(guess_of(&mut keys.processor, &of_pool), guess);
    let with_validation = asked(&keys, WRONG, [TABLE, "1122334455667789", "0000"]);
    assert_ne!(guess_of(&mut keys.processor, &with_validation).subject, guess.subject);
    // A PVV has the digits of a PAN, whatever its index; Interbank has the same digits.
    let visa = |data: &str| asked(&keys, WRONG, [data, "4021", ""]).rules(&["VISA-PVV"]);
    let (first, last, other) = (visa("334455667781"), visa("334455667786"), visa("334455667791"));
    let interbank = asked(&keys, WRONG, ["3344556677861234", "", ""]).rules(&["INBK-PIN"]);
    let found = [&first, &last, &interbank, &other].map(|request| guess_of(&mut keys.processor, request));
    assert_eq!([found[0], found[0]], [found[1], found[2]]);
    assert_ne!(found[0].subject, found[3].subject);
}

#[test]
fn a_wrong_block_is_a_failure() {
    let mut keys = Keys::new();
    counted(&mut keys.processor);
    let guess = {
        let wrong = asked(&keys, WRONG, ELEMENTS);
        guess_of(&mut keys.processor, &wrong)
    };
    let nonsense = asked(&keys, RIGHT, ELEMENTS).bytes(ENCRYPTED_PIN_BLOCK, under(&OTHER, &iso0(RIGHT, PAN)));
    let answer = one(&mut keys.processor, &nonsense);
    assert_eq!((answer.codes, answer.count), (code::PIN_BLOCK, Some(Count::Failed(guess))));
}

/// The batch of one request by this tenant.
fn by(processor: &mut Processor, request: &Request, tenant: u32) -> Answer {
    let (mut batch, payload) = (Batch::new(), request.payload());
    let points = &BUILT_IN[0].points;
    let incoming = Incoming { verb: request.verb(), domain: request.domain, points, payload: &payload };
    batch.push(&incoming).unwrap();
    batch.set_tenant(tenant);
    processor.run(&mut batch);
    batch.answers()[0].clone()
}

#[test]
fn a_block_is_one_whatever_it_is_compared_with_and_whoever_asks() {
    let mut keys = Keys::new();
    let daemon = counted(&mut keys.processor);
    let own = |keys: &Keys, validation: &str| asked(keys, WRONG, [TABLE, validation, "0000"]);
    let (first, second) = (own(&keys, VALIDATION), own(&keys, "8877665544332211"));
    let guess = guess_of(&mut keys.processor, &first);
    let other = guess_of(&mut keys.processor, &second);
    assert_eq!((other.key, other.block, other.subject == guess.subject), (guess.key, guess.block, false));
    // At work for one of them it is at work for all.
    let points = &BUILT_IN[0].points;
    let block = guess.block.unwrap();
    let answers = run(&mut keys.processor, &[&first, &second], points);
    assert_eq!(answers[1].count, Some(Count::Waits(block.block)));
    assert_eq!(answers[1].outcome, Outcome::NotReady);
    keys.processor.counted(&guess, 0);
    assert!(keys.processor.released().contains(&block.block));
    // The one that waited holds nothing.
    assert_eq!(guess_of(&mut keys.processor, &second), other);
    // Another tenant's failures are counted for itself, and under the key for all.
    let answer = by(&mut keys.processor, &first, 9);
    let Some(Count::Failed(of_other)) = answer.count else { panic!("{answer:?}") };
    let of_block = of_other.block.unwrap();
    assert_eq!((of_other.subject, of_block.block), (guess.subject, block.block));
    assert_ne!(of_block.caller, block.caller);
    keys.processor.counted(&of_other, 9);
    daemon.say(guess.key.by_tenant(9), Standing::Refused);
    assert_eq!(by(&mut keys.processor, &first, 9).codes, code::ACCESS_DENIED);
    assert_eq!(guess_of(&mut keys.processor, &first), guess);
}

#[test]
fn a_block_is_one_in_whichever_format_as_far_as_its_pan_is_bound() {
    let mut keys = Keys::new();
    counted(&mut keys.processor);
    let inbound = [keys.inbound.clone(), keys.other_inbound.clone()];
    let mut of = |format: &str, pan: &str, block: &[u8], key: usize| {
        let value = if key == 0 { KEY } else { OTHER };
        let pair = (&inbound[key][..], &keys.verifying[..]);
        let request = verify(
            pair,
            &["IBM-PINO"],
            &profile(format, ""),
            pan,
            &under(&value, block),
            4,
            [TABLE, VALIDATION, "1234"],
        );
        guess_of(&mut keys.processor, &request).block
    };
    let block = iso0(WRONG, PAN);
    let known = of("ISO-0", PAN, &block, 0);
    // The digits over which those of the PIN lie are free; the last eight are not.
    for (pan, is_same) in [("998833445566", true), ("112233445567", false), ("112213445566", false)] {
        assert_eq!(of("ISO-0", pan, &block, 0) == known, is_same, "{pan}");
    }
    assert_eq!(of("ISO-0", PAN, &block, 1), known, "translated");
    assert_eq!(of("ISO-0", PAN, &iso0("9999", PAN), 0), known, "another PIN of the card");
    // ISO-3 is bound to no PAN, and known by its filling.
    let third = [0x34, 0x12, 0x77, 0xEE, 0xEF, 0xCC, 0xB4, 0x3C];
    let known = of("ISO-3", "433221100996", &third, 0);
    for pan in ["433221100996", "432331011887", "111111111111"] {
        assert_eq!(of("ISO-3", pan, &third, 1), known, "{pan}");
    }
    let other = [0x34, 0x12, 0x77, 0xEE, 0xEF, 0xCC, 0xB4, 0x3D];
    assert_ne!(of("ISO-3", "433221100996", &other, 0), known);
}

/// A right PIN is answered at once, and a wrong one when its failure is durable: so how many of these are judged is
/// bounded too.
#[test]
fn of_failures_that_are_not_durable_few_are_judged() {
    let mut keys = Keys::new();
    counted(&mut keys.processor);
    let of = |keys: &Keys, number: usize, pin: &str| {
        let pan = format!("1122334455{number:02}");
        let block = under(&KEY, &iso0(pin, &pan));
        let pair = (&keys.inbound[..], &keys.verifying[..]);
        let elements = [TABLE, &format!("11223344556677{number:02}"), "0000"];
        verify(pair, &["IBM-PINO"], &profile("ISO-0", ""), &pan, &block, 4, elements)
    };
    let mut guesses = Vec::new();
    let waits = loop {
        let wrong = of(&keys, guesses.len(), "0000");
        match one(&mut keys.processor, &wrong).count {
            Some(Count::Failed(guess)) => guesses.push(guess),
            Some(Count::Waits(digest)) => break digest,
            None => panic!("{}", guesses.len()),
        }
    };
    assert_eq!((guesses.len(), waits), (16, guesses[0].key.by_tenant(0)));
    // Whether a PIN is right is not told either, but to another tenant, and under another key.
    let (right, wrong, of_other) = (of(&keys, 99, RIGHT), of(&keys, 99, "0000"), of(&keys, 98, "0000"));
    assert_eq!(one(&mut keys.processor, &right).count, Some(Count::Waits(waits)));
    assert!(matches!(by(&mut keys.processor, &of_other, 9).count, Some(Count::Failed(_))));
    let other = entered(&mut keys.processor, "PINVER", &[], &OTHER);
    let other = of(&keys, 97, "0000").bytes(PIN_VERIFYING_KEY_IDENTIFIER, &other);
    assert!(matches!(one(&mut keys.processor, &other).count, Some(Count::Failed(_))));
    // Half of them durable, those that waited come again.
    keys.processor.released();
    for guess in &guesses[..7] {
        keys.processor.counted(guess, 0);
        assert!(!keys.processor.released().contains(&waits));
    }
    keys.processor.counted(&guesses[7], 0);
    assert!(keys.processor.released().contains(&waits));
    assert_eq!(one(&mut keys.processor, &wrong).codes, code::PIN_NOT_VERIFIED);
}

/// Whoever has blocks with right PINs for any PAN has the guesses of another's block forgotten, where a right PIN
/// forgets.
#[test]
fn a_right_pin_takes_nothing_back() {
    let mut keys = Keys::new();
    let daemon = counted(&mut keys.processor);
    let (wrong, right) = (asked(&keys, WRONG, ELEMENTS), asked(&keys, RIGHT, ELEMENTS));
    let guess = guess_of(&mut keys.processor, &wrong);
    for digest in [guess.subject, guess.block.unwrap().block, guess.block.unwrap().caller] {
        daemon.say(digest, Standing::Counted);
    }
    let answer = one(&mut keys.processor, &right);
    assert_eq!((answer.codes, answer.count), (code::OK, None));
}

#[test]
fn nothing_is_judged_that_is_not_counted_but_in_a_role_that_has_none_counted() {
    let mut keys = Keys::new();
    let engine = engine::Engine::new(engine::Options::default()).unwrap();
    let mut fresh = Processor::new(engine, 1);
    assert_eq!(fresh.standing(&Digest([0; 16])), None);
    let wrong = asked(&keys, WRONG, ELEMENTS);
    let guess = {
        let daemon = counted(&mut keys.processor);
        let guess = guess_of(&mut keys.processor, &wrong);
        daemon.say(guess.subject, Standing::Refused);
        guess
    };
    assert_eq!(keys.processor.standing(&guess.subject), Some(Standing::Refused));
    let uncounted = with_points(&[Point::PinUncounted]);
    let answers = run(&mut keys.processor, &[&wrong, &wrong], uncounted);
    assert!(answers.iter().all(|answer| (answer.codes, answer.count) == (code::PIN_NOT_VERIFIED, None)));
    let without = asked(&keys, WRONG, ELEMENTS).domain(0);
    let answer = run(&mut fresh, &[&without], &BUILT_IN[0].points).remove(0);
    assert_ne!(answer.codes, code::PIN_NOT_VERIFIED);
    assert!(wire::pin::verifies(Verb::EncryptedPinVerify));
}
