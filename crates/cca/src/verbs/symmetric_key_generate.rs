//! Symmetric_Key_Generate (CSNDSYG): a new DES or AES DATA key, once for use here and once enciphered under an RSA
//! public key.
//!
//! Keywords: DES (default) or AES; PKCS-1.2, ZERO-PAD, PKCSOAEP (SHA-1, SHA-256); the length, of DES SINGLE or KEYLN8
//! (default), DOUBLE or KEYLN16, of AES KEYLN16 (default), KEYLN24 or KEYLN32; OP (default), or for DES keys EX or IM:
//! the local copy is then an external token under an EXPORTER key with the use OPEX, or an IMPORTER key with OPIM (with
//! OP it is a null token). A DES key has odd parity and the default control vector of a DATA key.
//!
//! PKA92 and NL-EPP-5 format key-encrypting keys, with SINGLE-R for equal halves; they are refused: the published
//! descriptions of their blocks are incomplete, and this system makes no key-encrypting key with equal halves.

use crate::call::{Call, Reply, Verdict};
use crate::ground::Algorithm;
use crate::key::target::is_null;
use crate::key::transport::{Transport, data_skeleton};
use crate::parity;
use crate::pass::{Asymmetric, Skeleton};
use crate::pka::encryption::Encryption;
use engine::SecretBytes;
use token::TOKEN_BYTES;
use token::control_vector::KeyForm;
use token::des::Origin;
use token::usage::{Side, Wrapping};
use wire::code;
use wire::point::Point;
use wire::verb::symmetric_key_generate::{Answer, Request};
use wire::verb::{GeneratedLength, LocalCopy};

pub(crate) async fn symmetric_key_generate(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let transport = Transport {
        algorithm: request.algorithm.into(),
        format: Encryption::of_generated(request.format, request.hash_method)?,
    };
    let bytes = length(transport.algorithm, request.key_length);
    if bytes == KeyForm::Single.key_bytes() {
        call.permit(Point::SingleLengthDes)?;
    }
    request.locenc_key.holds(TOKEN_BYTES)?;
    let kek = match side(request.local_copy) {
        Some(side) => {
            let field = request.key_encrypting_key;
            Some(call.key_encrypting_key(field, side, Wrapping::GeneratedOnce).await?)
        }
        None if !is_null(request.key_encrypting_key) => return Err(code::INVALID_PARAMETER.into()),
        None => None,
    };
    let rsa = call.key(request.rsapub_key)?.public().await?;
    request.rsaenc_key.holds(rsa.bytes())?;
    let mut secret = SecretBytes::new(bytes);
    call.random(secret.as_mut());
    if transport.algorithm == Algorithm::Des {
        parity::make_odd(secret.as_mut());
    }
    let block = transport.format.seal(&secret, &rsa.modulus)?;
    let enciphered = call.ask(Asymmetric::Public { key: rsa, block });
    let local = match (data_skeleton(transport.algorithm, bytes)?, &kek) {
        (Skeleton::Des(skeleton), Some(kek)) => {
            kek.wrap(&call, skeleton.moved_to(Origin::External)?, secret)?
        }
        (skeleton, None) => call.make(skeleton, secret),
        (_, Some(_)) => return Err(code::SELF_CHECK.into()),
    };
    let (enciphered, local) = (enciphered.await?, local.await?);
    reply.write(Answer { locenc_key: Some(&local), rsaenc_key: Some(&enciphered) })?;
    Ok(kek.map_or(code::OK, |kek| kek.age.codes()))
}

/// Length of the key in bytes. The verb table has the lengths that each algorithm permits.
fn length(algorithm: Algorithm, keyword: Option<GeneratedLength>) -> usize {
    match (keyword, algorithm) {
        (Some(GeneratedLength::Bytes8 | GeneratedLength::Single | GeneratedLength::Replicated), _)
        | (None, Algorithm::Des) => 8,
        (Some(GeneratedLength::Bytes16 | GeneratedLength::Double), _) | (None, Algorithm::Aes) => 16,
        (Some(GeneratedLength::Bytes24), _) => 24,
        (Some(GeneratedLength::Bytes32), _) => 32,
    }
}

/// The side of the key-encrypting key that wraps the local copy; `None` if the master key does.
fn side(copy: LocalCopy) -> Option<Side> {
    match copy {
        LocalCopy::Operational => None,
        LocalCopy::Exportable => Some(Side::Sending),
        LocalCopy::Importable => Some(Side::Receiving),
    }
}
