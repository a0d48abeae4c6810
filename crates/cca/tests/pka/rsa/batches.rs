//! Many requests at once: the same answers as alone, whatever stands beside them.

use cca::{Batch, Incoming};
use verb_requests::pka::*;
use wire::frame::{Arguments, Outcome};
use wire::{Verb, code};

#[test]
fn a_mixed_batch_answers_as_its_requests_alone() {
    let mut processor = processor();
    let mut requests: Vec<(Verb, Vec<u8>)> = Vec::new();
    let rules = keywords(&["PKCS-1.1"]);
    let mut tokens = Vec::new();
    for bits in [512, 1024, 2048] {
        for kind in ["RSA-CRT", "RSA-AESM"] {
            tokens.push(internal_token(&mut processor, kind, "SIG-ONLY", openssl_key(bits)));
        }
        tokens.push(clear_token(&mut processor, "RSA-CRT", "SIG-ONLY", openssl_key(bits)));
        tokens.push(public_token(&mut processor, openssl_key(bits)));
    }
    for (index, token) in tokens.iter().enumerate() {
        let text = [index as u8; 20];
        for arguments in [
            sign_arguments(1, &rules, token, &text),
            clear_arguments(Verb::ClearRsaPrivate, token, &text),
            clear_arguments(Verb::ClearRsaPublic, token, &text),
        ] {
            let mut payload = Vec::new();
            arguments.write_request(&mut payload).unwrap();
            requests.push((arguments.verb(), payload));
        }
    }
    requests.push((Verb::DigitalSignatureGenerate, vec![1, 2, 3]));
    let mut batch = Batch::new();
    for (verb, payload) in &requests {
        batch.push(&Incoming { verb: *verb, domain: 0, points: OWNER, payload }).unwrap();
    }
    let mut together = with_keys(true, &[1, 2, 3, 4], &[0; 4]);
    together.run(&mut batch);
    let mut refused = 0;
    for ((verb, payload), answer) in requests.iter().zip(batch.answers()) {
        let mut alone = Batch::new();
        alone.push(&Incoming { verb: *verb, domain: 0, points: OWNER, payload }).unwrap();
        processor.run(&mut alone);
        assert_eq!(alone.answers()[0], *answer);
        refused += usize::from(!answer.codes.has_output());
    }
    // Public tokens sign nothing, and neither they nor internal ones are clear private keys.
    assert_eq!(refused, 3 * (1 + 3));
    assert_eq!(batch.answers().last().unwrap().outcome, Outcome::Malformed);
}

#[test]
fn one_token_asked_for_many_times_in_one_batch_is_one_context() {
    let mut processor = processor();
    let key = openssl_key(1024);
    let token = internal_token(&mut processor, "RSA-CRT", "SIG-ONLY", key);
    let mut fresh = with_keys(true, &[1, 2, 3, 4], &[0; 4]);
    let rules = keywords(&["ZERO-PAD"]);
    let mut batch = Batch::new();
    let texts: Vec<[u8; 16]> = (1..=64).map(|byte| [byte; 16]).collect();
    for text in &texts {
        let mut payload = Vec::new();
        sign_arguments(1, &rules, &token, text).write_request(&mut payload).unwrap();
        batch
            .push(&Incoming {
                verb: Verb::DigitalSignatureGenerate,
                domain: 0,
                points: OWNER,
                payload: &payload,
            })
            .unwrap();
    }
    fresh.run(&mut batch);
    assert_eq!(fresh.contexts(0), Some(1));
    for (text, answer) in texts.iter().zip(batch.answers()) {
        assert_eq!(answer.codes, code::OK);
        let reply = Arguments::read_reply(Verb::DigitalSignatureGenerate, &answer.payload).unwrap();
        let signature = reply.bytes(wire::verb::digital_signature_generate::SIGNATURE_FIELD);
        assert_eq!(signature, power(text, key.d(), key.n()));
    }
}

#[test]
fn a_domain_that_does_not_exist_is_not_served() {
    let mut processor = processor();
    let mut batch = Batch::new();
    let mut payload = Vec::new();
    clear_arguments(Verb::ClearRsaPublic, &[1], &[2]).write_request(&mut payload).unwrap();
    batch
        .push(&Incoming { verb: Verb::ClearRsaPublic, domain: 7, points: OWNER, payload: &payload })
        .unwrap();
    processor.run(&mut batch);
    assert_eq!(batch.answers()[0].outcome, Outcome::NotServed);
}
