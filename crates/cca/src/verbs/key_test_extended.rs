//! Key_Test_Extended (CSNBKYTX): generates or verifies the pattern of a DES key under a key-encrypting key, as Key_Test
//! does for a key under the master key.
//!
//! The token decides which key opens it: an external one is opened by the key-encrypting key, which may be any
//! EXPORTER, IMPORTER, OKEYXLAT or IKEYXLAT key; an internal one needs none, and the field is ignored. KEY-ENC and
//! KEY-ENCD are accepted for keys of every length. A key without a control vector, by the original wrapping, is not
//! tested under an EXPORTER key with the usage EXPORT, which carries private keys of RSA (8/39): their blocks pass for
//! such keys. A key of triple length needs ENC-ZERO, of which the first 4 bytes count.

use super::key_import::source;
use super::key_test::{is_same, values};
use crate::call::{Call, Reply, Verdict};
use crate::ground::Algorithm;
use crate::key::exchange::{AskedType, side_of_tested};
use crate::key::field::KeyField;
use token::Format;
use token::usage::Wrapping;
use wire::code;
use wire::verb::key_test_extended::{Answer, Request};
use wire::verb::{ExtendedTestAlgorithm, TestAlgorithm, TestProcess};

/// GENERATE answers with random number and pattern; VERIFY with 4/1 for a wrong pattern.
pub(crate) async fn key_test_extended(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let process = request.algorithm.map(|ExtendedTestAlgorithm::EncZero| TestAlgorithm::EncZero);
    let given = match request.process {
        TestProcess::Generate => None,
        TestProcess::Verify => {
            let value = |value: Option<&[u8; 8]>| value.copied().ok_or(code::INVALID_PARAMETER);
            Some((value(request.random_number)?, value(request.verification_pattern)?))
        }
    };
    let (field, kek) = (request.key_identifier, request.kek_key_identifier);
    let (key, renewed_key, renewed_kek, codes) = if Format::of(field) == Format::DesExternal {
        let token = source(field, AskedType::Token)?;
        let side = side_of_tested(call, kek, &token)?;
        let wrapping = call.key_encrypting_key(kek, side, Wrapping::Tested).await?;
        let renewal = wrapping.renew(call, kek)?;
        let key = KeyField::of_token(call, token).under(&wrapping)?.await?;
        (key, None, renewal.token().await?, wrapping.age.codes())
    } else {
        let key = call.key(field)?.of(Algorithm::Des)?.open()?.await?;
        let renewed = key.renew(call, field)?.token().await?;
        let codes = key.age.codes();
        (key, renewed, None, codes)
    };
    let found =
        values(call, (Algorithm::Des, key.secret), process, request.parity, given.map(|one| one.0)).await?;
    let (key_identifier, kek_key_identifier) = (renewed_key.as_deref(), renewed_kek.as_deref());
    let Some(given) = given else {
        let (random_number, verification_pattern) = (Some(&found.values.0), Some(&found.values.1));
        reply.write(Answer { key_identifier, random_number, verification_pattern, kek_key_identifier })?;
        return Ok(codes);
    };
    if key_identifier.is_some() || kek_key_identifier.is_some() {
        reply.write(Answer { key_identifier, kek_key_identifier, ..Answer::default() })?;
    }
    Ok(if is_same(given, &found) { codes } else { code::VERIFICATION_FAILED })
}
