//! Symmetric_Key_Import (CSNDSYI): a DES or AES DATA key that is enciphered under an RSA public key,
//! into an internal token.
//!
//! Keywords: as for Symmetric_Key_Export; with ZERO-PAD the length of the key, KEYLN8 (default for
//! DES), KEYLN16 (default for AES), KEYLN24 or KEYLN32. A secure RSA key must be KM-ONLY: with KEY-MGMT, PKA_Decrypt
//! would show what it imports. In a role with `rsa-decipher-keys-and-data` it may be either, as in CCA.
//!
//! A DES key gets the default control vector of a DATA key; one without odd parity is imported unchanged, and answered
//! with 0/2. A block that does not open, or holds no key of the algorithm, answers 8/66.

use crate::call::{Call, Reply, Verdict};
use crate::ground::Algorithm;
use crate::key::rsa_exchange::may_import;
use crate::key::transport::{Transport, data_skeleton};
use crate::parity;
use crate::pka::encryption::Encryption;
use token::TOKEN_BYTES;
use wire::code;
use wire::verb::symmetric_key_import::{Answer, Request};

pub(crate) async fn symmetric_key_import(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let transport = Transport {
        algorithm: request.algorithm.into(),
        format: Encryption::of_transport(request.format, request.hash_method),
    };
    let key_bytes = transport.zero_pad_key_bytes(request.key_length);
    request.target_key_identifier.holds(TOKEN_BYTES)?;
    let rsa = call.key(request.rsa_private_key_identifier)?.private().await?;
    may_import(&call, &rsa)?;
    let rsa_codes = rsa.codes();
    let key = transport.open(call, rsa, request.rsa_enciphered_key, key_bytes).await?;
    let is_odd = parity::is_odd(&key.secret);
    let token = call.make(data_skeleton(key.algorithm(), key.secret.len())?, key.secret).await?;
    reply.write(Answer { target_key_identifier: Some(&token) })?;
    Ok(if transport.algorithm == Algorithm::Des && !is_odd { code::PARITY_NOT_ODD } else { rsa_codes })
}
