//! Key_Test2 (CSNBKYT2): generates or verifies a value by which two parties see that they hold the same key: a key in a
//! token of any form, or a master key.
//!
//! | algorithm | tokens | methods, and bytes of the pattern |
//! |---|---|---|
//! | AES | of fixed length; of variable length, internal, or external under an AES key-encrypting key (IKEK-AES) | SHA-256 (default) 8, ENC-ZERO 4, CMACZERO 5 |
//! | DES | internal; external under a key-encrypting key (IKEK-DES) | ENC-ZERO (default) 4, CMACZERO 5 |
//! | HMAC | of variable length, internal, or external (IKEK-AES) | SHA2VP1 (default) 16 |
//! | master key (KEY-KM, KEY-OKM) | none | that of its register: SHA-1 or SHA-256, 8 |
//!
//! SHA-256 is that of X'01' and the key; ENC-ZERO what the key enciphers a block of zeros to; CMACZERO the CMAC of a
//! block of zeros; SHA2VP1 the SHA-256 of algorithm, type and bit length as a token of variable length has them, and
//! the key.
//!
//! A part of a key, and a key with parts missing, is tested like a key: its holders see that they entered the same.
//! Clear keys are refused (8/47). The key-encrypting key of an external token may be of either side and need not be
//! permitted to do anything with keys, but one of AES must wrap keys of this algorithm and kind, and an EXPORTER key of
//! DES with the usage EXPORT tests no key without a control vector, as in Key_Test_Extended (8/39). Refused are
//! KEY-LEN, KEY-NKM and IKEK-PKA (8/33). A pattern to verify may lie in a longer field (8/21 in a shorter one).

use super::key_import::source;
use super::key_test::{enc_zero, master_key};
use crate::call::{Call, Reply, Verdict};
use crate::ground::{Algorithm, Refusal};
use crate::key::Key;
use crate::key::exchange::{AskedType, side_of_tested};
use crate::key::field::KeyField;
use crate::pass::{Derive, Mac, Token};
use engine::MacAlgorithm;
use std::borrow::Cow;
use subtle::ConstantTimeEq;
use token::Format;
use token::usage::Wrapping;
use wire::verb::key_test2::{Answer, Request};
use wire::verb::{
    MasterKeySource, SymmetricAlgorithm, TestAlgorithm, TestMethod2, TestProcess2, TestRegister,
};
use wire::{Codes, code};

/// Tokens under the old master key or in another form are returned renewed. GENERATE answers with the pattern; VERIFY
/// with 4/1 for a wrong pattern.
pub(crate) async fn key_test2(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    if let Some(register) = request.register {
        return answer(reply, &request, &of_register(&call, &request, register)?, code::OK, (None, None));
    }
    let algorithm = request.algorithm.ok_or(code::KEYWORD_COMBINATION)?;
    let method = request.method.unwrap_or(match algorithm {
        SymmetricAlgorithm::Aes => TestMethod2::Sha256,
        SymmetricAlgorithm::Des => TestMethod2::EncZero,
        SymmetricAlgorithm::Hmac => TestMethod2::Sha2Vp1,
    });
    // Fields without room and patterns that are too short are refused before any work.
    prepared(&request, bytes(method))?;
    let (key, tokens, codes) = tested(call, &request, algorithm).await?;
    let pattern = pattern(call, key, method).await?;
    answer(reply, &request, &pattern, codes, (tokens.0.as_deref(), tokens.1.as_deref()))
}

/// Refuses a field that has no room for a pattern of this length, or holds none to be verified.
fn prepared(request: &Request<'_>, bytes: usize) -> Result<(), Refusal> {
    if request.process != TestProcess2::Verify {
        return Ok(request.verification_pattern.holds(bytes)?);
    }
    if request.verification_pattern.given()?.len() < bytes {
        return Err(code::INVALID_PARAMETER.into());
    }
    Ok(())
}

/// Length of a pattern in bytes.
fn bytes(method: TestMethod2) -> usize {
    match method {
        TestMethod2::EncZero => 4,
        TestMethod2::CmacZero => 5,
        TestMethod2::Sha1 | TestMethod2::Sha256 => 8,
        TestMethod2::Sha2Vp1 => 16,
    }
}

/// The key to test, the renewed tokens of key and key-encrypting key, and the codes for the age of the master key.
async fn tested<'a>(
    call: Call<'_, 'a>,
    request: &Request<'a>,
    algorithm: SymmetricAlgorithm,
) -> Result<(Key, (Option<Token>, Option<Token>), Codes), Refusal> {
    let (field, kek) = (request.key_identifier, request.kek_key_identifier);
    if algorithm == SymmetricAlgorithm::Des && Format::of(field) == Format::DesExternal {
        let token = source(field, AskedType::Token)?;
        let side = side_of_tested(call, kek, &token)?;
        let wrapping = call.key_encrypting_key(kek, side, Wrapping::Tested).await?;
        let renewal = wrapping.renew(call, kek)?;
        let key = KeyField::of_token(call, token).under(&wrapping)?.await?;
        return Ok((key, (None, renewal.token().await?), wrapping.age.codes()));
    }
    if Format::of(field) == Format::VariableExternal {
        return tested_outside(call, field, kek, algorithm).await;
    }
    let key = call.key(field)?.of_any_length(algorithm)?.open()?.await?;
    if key.under.is_none() {
        return Err(code::TOKEN_INVALID.into());
    }
    let token = key.renew(call, field)?.token().await?;
    let codes = key.age.codes();
    Ok((key, (token, None), codes))
}

/// As [`tested`], for an external token of variable length.
async fn tested_outside<'a>(
    call: Call<'_, 'a>,
    field: &'a [u8],
    kek: &'a [u8],
    algorithm: SymmetricAlgorithm,
) -> Result<(Key, (Option<Token>, Option<Token>), Codes), Refusal> {
    let found = KeyField::new(call, field).external_variable()?;
    found.check_variable_algorithm(algorithm)?;
    let attributes = found.variable()?.attributes();
    let wrapping = call.aes_key_encrypting_key_of_either_side(kek, Wrapping::Tested, attributes).await?;
    let renewal = wrapping.renew(call, kek)?;
    let key = found.under(&wrapping)?.await?;
    Ok((key, (None, renewal.token().await?), wrapping.age.codes()))
}

/// The pattern of a key by a method that its algorithm has.
async fn pattern(call: Call<'_, '_>, key: Key, method: TestMethod2) -> Result<Vec<u8>, Refusal> {
    let algorithm = key.algorithm();
    Ok(match method {
        TestMethod2::EncZero => enc_zero(call, (algorithm, key.secret)).await?.to_vec(),
        TestMethod2::Sha256 => call.ask(Derive::Sha256 { key: key.secret }).await.pattern()?.to_vec(),
        TestMethod2::Sha2Vp1 => call.ask(Derive::Sha2Vp1 { key: key.secret }).await.long_pattern()?.to_vec(),
        TestMethod2::CmacZero => {
            let done = call.ask(Mac {
                algorithm: cmac(algorithm, key.secret.len()),
                key: three_parts(algorithm, key.secret),
                chain: [0; 16],
                text: Cow::Borrowed(if algorithm == Algorithm::Des { &[0; 8] } else { &[0; 16] }),
                last: true,
            });
            done.await?.mac[..bytes(method)].to_vec()
        }
        TestMethod2::Sha1 => return Err(code::KEYWORD_COMBINATION.into()),
    })
}

/// The CMAC algorithm for a key of this length; DES keys are extended by [`three_parts`] first.
fn cmac(algorithm: Algorithm, key_bytes: usize) -> MacAlgorithm {
    match (algorithm, key_bytes) {
        (Algorithm::Des, _) => MacAlgorithm::CmacTdes3,
        (Algorithm::Aes, 16) => MacAlgorithm::CmacAes128,
        (Algorithm::Aes, 24) => MacAlgorithm::CmacAes192,
        (Algorithm::Aes, _) => MacAlgorithm::CmacAes256,
    }
}

/// A DES key extended to triple length, under which texts encipher to the same; an AES key unchanged.
fn three_parts(algorithm: Algorithm, key: engine::SecretBytes) -> engine::SecretBytes {
    if algorithm == Algorithm::Aes || key.len() == 24 {
        return key;
    }
    let mut long = engine::SecretBytes::new(24);
    for (at, byte) in long.iter_mut().enumerate() {
        *byte = key[at % key.len()];
    }
    long
}

/// The 8-byte pattern of the master key in a register.
fn of_register(
    call: &Call<'_, '_>,
    request: &Request<'_>,
    register: TestRegister,
) -> Result<[u8; 8], Refusal> {
    let method = match request.method {
        Some(TestMethod2::Sha1) => Some(TestAlgorithm::Sha1),
        Some(TestMethod2::Sha256) => Some(TestAlgorithm::Sha256),
        _ => None,
    };
    let old = request.source == Some(MasterKeySource::Old);
    prepared(request, 8)?;
    Ok(master_key(call, Some(register), method, old)?.0)
}

/// Compares the given pattern in constant time (VERIFY), or writes the pattern (GENERATE).
fn answer(
    reply: &mut Reply<'_, '_>,
    request: &Request<'_>,
    pattern: &[u8],
    codes: Codes,
    (key_identifier, kek_key_identifier): (Option<&[u8]>, Option<&[u8]>),
) -> Verdict {
    if request.process == TestProcess2::Verify {
        let given = request.verification_pattern.given()?;
        if key_identifier.is_some() || kek_key_identifier.is_some() {
            reply.write(Answer { key_identifier, kek_key_identifier, ..Answer::default() })?;
        }
        let is_same = given.get(..pattern.len()).is_some_and(|given| given.ct_eq(pattern).into());
        return Ok(if is_same { codes } else { code::VERIFICATION_FAILED });
    }
    reply.write(Answer { key_identifier, kek_key_identifier, verification_pattern: Some(pattern) })?;
    Ok(codes)
}
