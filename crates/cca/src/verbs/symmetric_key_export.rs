//! Symmetric_Key_Export (CSNDSYX): a DES or AES DATA key, enciphered under an RSA public key, or an AES or HMAC key of variable length
//! under an AES EXPORTER key.
//!
//! | format | keys | under |
//! |---|---|---|
//! | PKCS-1.2, ZERO-PAD, PKCSOAEP (SHA-1, SHA-256) | DES (default), AES: DATA | an RSA public key |
//! | AESKW | AES, HMAC: of variable length | an AES EXPORTER key with the usage EXPORT, which must wrap keys of this algorithm and kind |
//! | AESKWCV, PKOAEP2, CKM-RAKW | refused with 8/33 | |
//!
//! A DES key must be a DATA key for every use (8/31: DATAC, DATAM and DATAMV would come out as more than they are), whose control
//! vector and flags allow export. A key of variable length must be complete and permit to leave by symmetric keys (XPRT-SYM) and not
//! forbid it under those of AES (NOEX-AES); it goes out with all that its token says, in an external token.

use token::des::Origin;
use token::usage::{Side, Wrapping};
use token::variable::{Carrier, VariableKey};
use wire::code;
use wire::verb::symmetric_key_export::{Answer, Request};
use wire::verb::{ExportAlgorithm, ExportFormat};

use crate::call::{Call, Reply, Verdict};
use crate::key::Algorithm;
use crate::key::field::KeyField;
use crate::key::variable_exchange::may_leave;
use crate::pass::Asymmetric;
use crate::pka::encryption::Encryption;

pub(crate) async fn symmetric_key_export(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let Some(format) = Encryption::of_export(request.format, request.hash_method) else {
        // Apart, so that other formats take no room for it.
        return Box::pin(under_exporter(call, request, reply)).await;
    };
    let algorithm = match request.algorithm {
        ExportAlgorithm::Des => Algorithm::Des,
        ExportAlgorithm::Aes => Algorithm::Aes,
        ExportAlgorithm::Hmac => return Err(code::KEYWORD_COMBINATION.into()),
    };
    let source = call.key(request.source_key_identifier)?.bytes();
    // A field may be longer than the fixed-length token in it.
    let source = source.get(..token::TOKEN_BYTES).ok_or(code::OUT_OF_AREA)?;
    let key = call.key(request.rsa_public_key_identifier)?.public().await?;
    request.rsa_enciphered_key.holds(key.bytes())?;
    let exported = KeyField::new(call, source).of(algorithm)?.for_export()?.await?;
    let block = format.seal(&exported.secret, &key.modulus)?;
    let result = call.ask(Asymmetric::Public { key, block }).await?;
    reply.write(Answer { rsa_enciphered_key: Some(&result) })?;
    Ok(exported.age.codes())
}

/// AESKW.
async fn under_exporter<'a>(call: Call<'_, 'a>, request: Request<'a>, reply: &mut Reply<'_, '_>) -> Verdict {
    if request.format != ExportFormat::Aeskw {
        return Err(code::KEYWORD.into());
    }
    let found = call.key(request.source_key_identifier)?.variable()?;
    let token = may_leave(&found, Carrier::Aes)?;
    if token.key_type().is_aes() != (request.algorithm == ExportAlgorithm::Aes) {
        return Err(code::TOKEN_INVALID.into());
    }
    if !matches!(token.key(), VariableKey::Wrapped { .. }) {
        return Err(code::TOKEN_INVALID.into());
    }
    // The external token is as long as the internal one.
    request.rsa_enciphered_key.holds(token.to_bytes().len())?;
    let (attributes, skeleton) = (token.attributes().clone(), token.moved_to(Origin::External));
    let opening = found.open()?;
    let kek = request.rsa_public_key_identifier;
    let kek = call.aes_key_encrypting_key(kek, Side::Sending, Wrapping::Keys, &attributes).await?;
    let key = opening.await?;
    let codes = kek.age.max(key.age).codes();
    let token = kek.wrap_variable(&call, skeleton, key.secret)?.await?;
    reply.write(Answer { rsa_enciphered_key: Some(&token) })?;
    Ok(codes)
}
