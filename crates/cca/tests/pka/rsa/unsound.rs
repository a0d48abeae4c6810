//! Results that fail the check of the card's own numbers.
//!
//! The token says that a card generated its numbers, and is wrapped as one under the master key of development
//! homes of seed 1; but its modulus is p * p * q, so that what it signs is wrong for the block p. No verb makes
//! such a token.

use cca::{Batch, Incoming, Processor};
use engine::{Engine, Options};
use verb_requests::pka::*;
use wire::control::{Handout, MasterKeyPair};
use wire::frame::{Arguments, Outcome};
use wire::verb::{Filled, SignatureFormat, TypedAsk, TypedGot, digital_signature_generate as dsg};
use wire::{Verb, code};

const TOKEN: &[u8] = include_bytes!("../../known/unsound.token");
/// p.
const BLOCK: &[u8] = include_bytes!("../../known/unsound.block");
/// SHA-256("cryptand insecure development" || "apka" || domain 0 || seed 1).
const MASTER_KEY: [u8; 32] = [
    0x80, 0xB3, 0x59, 0x52, 0x3E, 0x55, 0x8D, 0x0C, 0x4A, 0x9A, 0x35, 0x8F, 0x1F, 0x6D, 0x83, 0x86, 0x88,
    0x59, 0xED, 0x7C, 0x16, 0xF9, 0x76, 0xCF, 0x21, 0x7A, 0x40, 0x62, 0x2F, 0x6D, 0xA9, 0xB5,
];

fn development() -> Processor {
    let mut processor = Processor::new(Engine::new(Options::default()).unwrap(), 1);
    let mut keys: [MasterKeyPair; 4] = Default::default();
    keys[3].current = MASTER_KEY.to_vec();
    processor.load(&Handout { domain: 0, keys }).unwrap();
    processor
}

fn signing(block: &[u8]) -> dsg::Ask<'_> {
    dsg::Ask {
        format: Some(SignatureFormat::ZeroPad),
        pka_private_key_id: TOKEN.into(),
        hash: block,
        signature_field: CAPACITY as usize,
        ..dsg::Ask::new()
    }
}

#[test]
fn a_wrong_result_under_generated_numbers_is_withheld_and_said_to_be_unsound() {
    let mut processor = development();
    let mut batch = Batch::new();
    let blocks: [&[u8]; 3] = [b"right", BLOCK, b"right again"];
    for block in blocks {
        let mut payload = Vec::new();
        signing(block).arguments(&mut Filled::default()).write_request(&mut payload).unwrap();
        let verb = Verb::DigitalSignatureGenerate;
        batch.push(&Incoming { verb, domain: 0, points: OWNER, payload: &payload }).unwrap();
    }
    processor.run(&mut batch);
    let [first, wrong, last] = batch.answers() else { panic!("three answers") };
    for right in [first, last] {
        assert_eq!((right.outcome, right.codes, right.is_unsound), (Outcome::Answered, code::OK, false));
    }
    assert_eq!((wrong.outcome, wrong.codes, wrong.is_unsound), (Outcome::Answered, code::SELF_CHECK, true));
    let reply = Arguments::read_reply(Verb::DigitalSignatureGenerate, &wrong.payload).unwrap();
    assert!(dsg::Got::of(&reply).signature_field.is_empty());
    // What the batch answers next says nothing of it.
    batch.clear();
    batch.push(&Incoming { verb: Verb::Null, domain: 0, points: OWNER, payload: &[] }).unwrap();
    processor.run(&mut batch);
    assert!(!batch.answers()[0].is_unsound);
}
