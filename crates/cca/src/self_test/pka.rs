//! Known answers of the RSA path: tokens unwrapped, a text signed and verified, a block opened; and signatures of a
//! curve.
//!
//! The key, the signature and the sealed block in `known/` were made by OpenSSL; the tokens hold that
//! key under the master key below. Nothing here touches the registers of the processor under test.

use super::{SelfTestFailure, Test, expect};
use crate::batch::Batch;
use crate::processor::Processor;
use engine::{Curve, EcPrivateKey, EcdsaSignItem, Engine};
use wire::code;
use wire::control::{Handout, MasterKeyPair};
use wire::verb::{
    RsaFormat, SignatureFormat, digital_signature_generate as sign, digital_signature_verify as verify,
    pka_decrypt,
};

/// Runs the tests.
///
/// # Errors
/// Names the first answer that is wrong.
pub(super) fn run(engine: Engine) -> Result<(), SelfTestFailure> {
    curves(&engine)?;
    let mut keys: [MasterKeyPair; 4] = Default::default();
    keys[APKA].current = MASTER_KEY.to_vec();
    let mut processor = Processor::new(engine, 1);
    expect(processor.load(&Handout { domain: 0, keys }).is_ok(), "loading the APKA master key")?;
    let mut test = Test { processor, batch: Batch::new() };
    let format = Some(SignatureFormat::Pkcs11);
    for token in [CRT_TOKEN, ME_TOKEN] {
        let request = sign::Ask {
            format,
            pka_private_key_id: token.into(),
            hash: SIGNED,
            signature_field: SIGNATURE.len(),
            ..sign::Ask::new()
        };
        let signed = test.ask(0, &request, |got| got.signature_field);
        expect(signed == (code::OK, SIGNATURE.to_vec()), "an RSA signature under a wrapped key")?;
    }
    let mut wrong = SIGNATURE.to_vec();
    wrong[100] ^= 1;
    for (signature, codes) in [(SIGNATURE, code::OK), (&wrong, code::SIGNATURE_NOT_VERIFIED)] {
        let request = verify::Ask {
            format,
            pka_public_key_id: CRT_TOKEN.into(),
            hash: SIGNED,
            signature_field: signature,
            ..verify::Ask::new()
        };
        let verified = test.ask(0, &request, |_| &[]).0;
        expect(verified == codes, "the verification of an RSA signature")?;
    }
    let request = pka_decrypt::Ask {
        enciphered_key: SEALED,
        rsa_private_key: CRT_TOKEN.into(),
        key_value: SEALED.len(),
        ..pka_decrypt::Ask::new(RsaFormat::Oaep)
    };
    let opened = test.ask(0, &request, |got| got.key_value);
    expect(opened == (code::OK, OPENED.to_vec()), "opening a block sealed by OAEP")
}

/// Two signatures with P-256, verified; in lanes if the processor has them. The run also makes what lanes need once a
/// process, before any request is there.
fn curves(engine: &Engine) -> Result<(), SelfTestFailure> {
    let operation = "two ECDSA signatures";
    let key =
        EcPrivateKey::from_bytes(Curve::P256, &[0x5A; 32]).map_err(|_| SelfTestFailure { operation })?;
    let digests = [[0x11; 32], [0x22; 32]];
    let mut items = digests.each_ref().map(|digest| EcdsaSignItem::new(&key, digest));
    engine.ecdsa_sign_verified_batch(&mut items);
    expect(items.iter().all(|item| item.result.is_ok()), operation)
}

/// Place of the APKA register in a handout.
const APKA: usize = 3;
/// The bytes X'60' to X'7F'.
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
