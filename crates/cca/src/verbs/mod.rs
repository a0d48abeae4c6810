//! The verbs: a file each, and what related verbs share beside them.
//!
//! A verb is an `async fn` of the call and the reply. It checks every argument before it asks for
//! work, so that a refusal costs nothing; it awaits kernel work only.

mod aes_cipher;
mod clear_key_import;
mod clear_key_import_multiple;
mod clear_rsa_private;
mod clear_rsa_public;
mod decipher;
mod des_cipher;
mod digital_signature_generate;
mod digital_signature_verify;
mod encipher;
mod key_generate;
mod key_test;
mod key_token_build;
mod mac;
mod mac_generate;
mod mac_verify;
mod one_way_hash;
mod pka_decrypt;
mod pka_encrypt;
mod pka_key_generate;
mod pka_key_import;
mod pka_key_token_build;
mod pka_public_key_extract;
mod random_number_generate;
mod random_number_generate_long;
mod symmetric_algorithm_decipher;
mod symmetric_algorithm_encipher;
mod symmetric_key_export;
mod symmetric_key_import;

use wire::Verb;
use wire::frame::Outcome;

use crate::call::{Call, Refusal, Reply};
use crate::processor::Computation;

/// Begins the computation of a request. Nothing of it runs before it is polled.
pub(crate) fn begin<'f>(call: Call<'f, 'f>, reply: &'f mut Reply<'_, '_>) -> Computation<'f> {
    match call.arguments.verb() {
        Verb::Null => Box::pin(async { Ok(wire::code::OK) }),
        Verb::KeyTokenBuild => Box::pin(key_token_build::key_token_build(call, reply)),
        Verb::KeyGenerate => Box::pin(key_generate::key_generate(call, reply)),
        Verb::KeyTest => Box::pin(key_test::key_test(call, reply)),
        Verb::SymmetricAlgorithmEncipher => {
            Box::pin(symmetric_algorithm_encipher::symmetric_algorithm_encipher(call, reply))
        }
        Verb::SymmetricAlgorithmDecipher => {
            Box::pin(symmetric_algorithm_decipher::symmetric_algorithm_decipher(call, reply))
        }
        Verb::ClearKeyImport => Box::pin(clear_key_import::clear_key_import(call, reply)),
        Verb::ClearKeyImportMultiple => {
            Box::pin(clear_key_import_multiple::clear_key_import_multiple(call, reply))
        }
        Verb::Encipher => Box::pin(encipher::encipher(call, reply)),
        Verb::Decipher => Box::pin(decipher::decipher(call, reply)),
        Verb::OneWayHash => Box::pin(one_way_hash::one_way_hash(call, reply)),
        Verb::RandomNumberGenerate => Box::pin(random_number_generate::random_number_generate(call, reply)),
        Verb::RandomNumberGenerateLong => {
            Box::pin(random_number_generate_long::random_number_generate_long(call, reply))
        }
        Verb::MacGenerate => Box::pin(mac_generate::mac_generate(call, reply)),
        Verb::MacVerify => Box::pin(mac_verify::mac_verify(call, reply)),
        Verb::ClearRsaPrivate => Box::pin(clear_rsa_private::clear_rsa_private(call, reply)),
        Verb::ClearRsaPublic => Box::pin(clear_rsa_public::clear_rsa_public(call, reply)),
        Verb::PkaKeyTokenBuild => Box::pin(pka_key_token_build::pka_key_token_build(call, reply)),
        Verb::PkaKeyGenerate => Box::pin(pka_key_generate::pka_key_generate(call, reply)),
        Verb::PkaKeyImport => Box::pin(pka_key_import::pka_key_import(call, reply)),
        Verb::PkaPublicKeyExtract => Box::pin(pka_public_key_extract::pka_public_key_extract(call, reply)),
        Verb::PkaEncrypt => Box::pin(pka_encrypt::pka_encrypt(call, reply)),
        Verb::PkaDecrypt => Box::pin(pka_decrypt::pka_decrypt(call, reply)),
        Verb::DigitalSignatureGenerate => {
            Box::pin(digital_signature_generate::digital_signature_generate(call, reply))
        }
        Verb::DigitalSignatureVerify => {
            Box::pin(digital_signature_verify::digital_signature_verify(call, reply))
        }
        Verb::SymmetricKeyExport => Box::pin(symmetric_key_export::symmetric_key_export(call, reply)),
        Verb::SymmetricKeyImport => Box::pin(symmetric_key_import::symmetric_key_import(call, reply)),
        _ => Box::pin(async { Err(Refusal::Outcome(Outcome::NotServed)) }),
    }
}
