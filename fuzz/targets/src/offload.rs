//! The library that does private key operations for other programs: what they pass, and what cards answer.

use cryptand_offload::private_keys::{self, Padding};
use cryptand_offload::{
    ANSWER_BYTES_MAX, Answer, CIPHERTEXT_BYTES_MAX, CryptandOffloadResult, Finished, Operation, given,
};
use wire::frame::Arguments;
use wire::verb::{Filled, TypedAsk, Verb};
use wire::{Label, bounds};

/// By the first byte: options, a label, a scheme and a digest, a ciphertext; or a card's answer to one of the three
/// operations.
pub fn offload_calls(data: &[u8]) {
    let Some((&choice, rest)) = data.split_first() else { return };
    match choice {
        0 => options(rest),
        1 => label(rest),
        2 => sign(rest),
        3 => premaster(rest),
        4 => answer(Operation::Sign, Padding::RsaPkcs1, rest),
        5 => answer(Operation::Sign, Padding::RsaPss, rest),
        6 => answer(Operation::Sign, Padding::Ecdsa, rest),
        7 => answer(Operation::Premaster, Padding::RsaPkcs1, rest),
        8 => answer(Operation::PublicKey, Padding::RsaPkcs1, rest),
        _ => {}
    }
}

fn options(bytes: &[u8]) {
    let Ok((_, of_loop)) = given::options(bytes) else { return };
    assert!(usize::from(of_loop.domain) < bounds::DOMAINS_MAX && of_loop.in_flight_max > 0);
    // As a newer header has it: more, and all of it zero.
    let more = [bytes, &[0; 24]].concat();
    assert_eq!(given::options(&more).expect("the same options").1, of_loop);
}

fn label(bytes: &[u8]) {
    let Ok(text) = given::label(bytes) else { return };
    if let Ok(label) = Label::new(text) {
        let field = label.to_field();
        written(&private_keys::public_key(&field));
        assert_eq!(Label::from_field(&field), Ok(label));
    }
}

fn sign(bytes: &[u8]) {
    let Some((scheme, digest)) = bytes.split_first_chunk::<4>() else { return };
    let Ok(scheme) = given::scheme(u32::from_be_bytes(*scheme)) else { return };
    let request = scheme.request(&[b'A'; bounds::LABEL_BYTES], digest);
    assert_eq!(request.is_some(), digest.len() == scheme.hash.bytes());
    if let Some(request) = request {
        written(&request.ask());
    }
}

fn premaster(bytes: &[u8]) {
    if given::length("premaster", bytes.len(), CIPHERTEXT_BYTES_MAX).is_ok() {
        written(&private_keys::premaster(&[b'A'; bounds::LABEL_BYTES], bytes));
    }
}

/// A request is one that a card can read.
fn written(ask: &impl TypedAsk) {
    let mut filled = Filled::default();
    let arguments = ask.arguments(&mut filled);
    let mut payload = Vec::new();
    arguments.write_request(&mut payload).expect("a request fits");
    let read = Arguments::read_request(arguments.verb(), &payload).expect("it is read");
    let mut again = Vec::new();
    read.write_request(&mut again).expect("and written");
    assert_eq!(again, payload);
}

fn answer(operation: Operation, padding: Padding, payload: &[u8]) {
    let verb = match operation {
        Operation::Sign => Verb::DigitalSignatureGenerate,
        Operation::Premaster => Verb::TlsPremaster,
        Operation::PublicKey => Verb::PkaPublicKeyExtract,
    };
    let Ok(reply) = Arguments::read_reply(verb, payload) else { return };
    let answer = Answer::of_reply(operation, padding, &reply);
    let is_answer = answer.is_ok();
    let result = CryptandOffloadResult::of(&Finished { id: 7, operation, answer });
    assert_eq!((result.id, result.operation), (7, operation as u32));
    assert_eq!(result.status == 0, is_answer);
    assert_eq!(result.length > 0, is_answer);
    assert!(result.length as usize <= ANSWER_BYTES_MAX.min(payload.len() + 200));
    let end = result.text.iter().position(|byte| *byte == 0).expect("a zero byte ends the text");
    assert_eq!(std::str::from_utf8(&result.text[..end]).expect("text").is_empty(), is_answer);
}
