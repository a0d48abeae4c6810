//! Known answers of the RSA path: tokens unwrapped, a text signed and verified, a block opened; and signatures of a
//! curve.
//!
//! The key, the signature and the sealed block in `known/` were made by OpenSSL; the tokens hold that
//! key under the master key below. Nothing here touches the registers of the processor under test.

use crate::batch::{Batch, Incoming};
use crate::processor::Processor;
use engine::{Curve, EcPrivateKey, EcdsaSignItem, Engine};
use wire::control::{Handout, MasterKeyPair};
use wire::frame::{Arguments, Outcome};
use wire::verb::{Verb, digital_signature_generate as sign, digital_signature_verify as verify, pka_decrypt};
use wire::{Codes, code};

/// Runs the tests.
///
/// # Errors
/// Names the first answer that is wrong.
pub(super) fn run(engine: Engine) -> Result<(), &'static str> {
    curves(&engine)?;
    let mut keys: [MasterKeyPair; 4] = Default::default();
    keys[APKA].current = MASTER_KEY.to_vec();
    let mut processor = Processor::new(engine, 1);
    processor.load(&Handout { domain: 0, keys }).map_err(|_| "loading the APKA master key")?;
    for token in [CRT_TOKEN, ME_TOKEN] {
        let generate = sign_request(token);
        let signed = answer(&mut processor, &generate, sign::SIGNATURE_FIELD);
        expect(signed == (code::OK, SIGNATURE.to_vec()), "an RSA signature under a wrapped key")?;
    }
    let mut wrong = SIGNATURE.to_vec();
    wrong[100] ^= 1;
    for (signature, codes) in [(SIGNATURE, code::OK), (&wrong, code::SIGNATURE_NOT_VERIFIED)] {
        let request = verify_request(signature);
        let verified = answer(&mut processor, &request, verify::SIGNATURE_FIELD).0;
        expect(verified == codes, "the verification of an RSA signature")?;
    }
    let opened = answer(&mut processor, &decrypt_request(), pka_decrypt::KEY_VALUE);
    expect(opened == (code::OK, OPENED.to_vec()), "opening a block sealed by OAEP")
}

/// Two signatures with P-256, verified: in lanes where the processor has them. What lanes need once a process is made
/// by that, before any request is there.
fn curves(engine: &Engine) -> Result<(), &'static str> {
    let operation = "two ECDSA signatures";
    let key = EcPrivateKey::from_bytes(Curve::P256, &[0x5A; 32]).map_err(|_| operation)?;
    let digests = [[0x11; 32], [0x22; 32]];
    let mut items = digests.each_ref().map(|digest| EcdsaSignItem::new(&key, digest));
    engine.ecdsa_sign_verified_batch(&mut items);
    expect(items.iter().all(|item| item.result.is_ok()), operation)
}

fn expect(fits: bool, operation: &'static str) -> Result<(), &'static str> {
    if fits { Ok(()) } else { Err(operation) }
}

fn sign_request(token: &[u8]) -> Arguments<'_> {
    let mut request = Arguments::new(Verb::DigitalSignatureGenerate);
    request.set_integer(sign::RULE_ARRAY_COUNT, 1).set_bytes(sign::RULE_ARRAY, b"PKCS-1.1");
    request.set_integer(sign::PKA_PRIVATE_KEY_ID_LENGTH, token.len() as i64);
    request.set_bytes(sign::PKA_PRIVATE_KEY_ID, token);
    request.set_integer(sign::HASH_LENGTH, SIGNED.len() as i64).set_bytes(sign::HASH, SIGNED);
    request.set_integer(sign::SIGNATURE_FIELD_LENGTH, SIGNATURE.len() as i64);
    request
}

fn verify_request(signature: &[u8]) -> Arguments<'_> {
    let mut request = Arguments::new(Verb::DigitalSignatureVerify);
    request.set_integer(verify::RULE_ARRAY_COUNT, 1).set_bytes(verify::RULE_ARRAY, b"PKCS-1.1");
    request.set_integer(verify::PKA_PUBLIC_KEY_ID_LENGTH, CRT_TOKEN.len() as i64);
    request.set_bytes(verify::PKA_PUBLIC_KEY_ID, CRT_TOKEN);
    request.set_integer(verify::HASH_LENGTH, SIGNED.len() as i64).set_bytes(verify::HASH, SIGNED);
    request.set_integer(verify::SIGNATURE_FIELD_LENGTH, signature.len() as i64);
    request.set_bytes(verify::SIGNATURE_FIELD, signature);
    request
}

fn decrypt_request() -> Arguments<'static> {
    let mut request = Arguments::new(Verb::PkaDecrypt);
    request.set_integer(pka_decrypt::RULE_ARRAY_COUNT, 1).set_bytes(pka_decrypt::RULE_ARRAY, b"PKCSOAEP");
    request.set_integer(pka_decrypt::ENCIPHERED_KEY_LENGTH, SEALED.len() as i64);
    request.set_bytes(pka_decrypt::ENCIPHERED_KEY, SEALED);
    request.set_integer(pka_decrypt::RSA_PRIVATE_KEY_LENGTH, CRT_TOKEN.len() as i64);
    request.set_bytes(pka_decrypt::RSA_PRIVATE_KEY, CRT_TOKEN);
    request.set_integer(pka_decrypt::KEY_VALUE_LENGTH, SEALED.len() as i64);
    request
}

/// Runs one request; codes of 16/336 stand for anything that is not an answer.
fn answer(processor: &mut Processor, request: &Arguments<'_>, output: usize) -> (Codes, Vec<u8>) {
    let none = (code::SELF_CHECK, Vec::new());
    let mut payload = Vec::new();
    let mut batch = Batch::new();
    if request.write_request(&mut payload).is_err()
        || batch
            .push(&Incoming {
                verb: request.verb(),
                domain: 0,
                points: &wire::point::PointSet::EVERYTHING,
                payload: &payload,
            })
            .is_err()
    {
        return none;
    }
    processor.run(&mut batch);
    match batch.answers() {
        [answer] if answer.outcome == Outcome::Answered => {
            match Arguments::read_reply(request.verb(), &answer.payload) {
                Ok(reply) => (answer.codes, reply.bytes(output).to_vec()),
                Err(_) => none,
            }
        }
        _ => none,
    }
}

/// Place of the APKA register in a handout.
const APKA: usize = 3;
/// X'60' to X'7F'.
const MASTER_KEY: [u8; 32] = {
    let mut key = [0; 32];
    let mut at = 0;
    while at < key.len() {
        key[at] = 0x60 + at as u8;
        at += 1;
    }
    key
};
const CRT_TOKEN: &[u8] = include_bytes!("known/crt.token");
const ME_TOKEN: &[u8] = include_bytes!("known/me.token");
const SIGNED: &[u8] = b"the text that is signed";
const SIGNATURE: &[u8] = include_bytes!("known/signature");
const SEALED: &[u8] = include_bytes!("known/sealed");
const OPENED: &[u8] = b"the text that is sealed";

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Options;

    #[test]
    fn the_known_answers_come_out() {
        for weak_algorithms in [false, true] {
            let engine = Engine::new(Options { limit: None, weak_algorithms }).unwrap();
            assert_eq!(run(engine), Ok(()));
        }
    }
}
