//! Symmetric_Key_Export (CSNDSYX): a DES or AES DATA key, enciphered under an RSA public key, or an AES or HMAC key of
//! variable length under such a key or an AES EXPORTER key.
//!
//! | format | keys | under |
//! |---|---|---|
//! | PKCS-1.2, ZERO-PAD, PKCSOAEP (SHA-1, SHA-256) | DES (default), AES: DATA | an RSA public key |
//! | AESKW | AES, HMAC: of variable length | an AES EXPORTER key with the usage EXPORT, which must wrap keys of this algorithm and kind |
//! | PKOAEP2 (SHA-1, SHA-256, SHA-384, SHA-512) | AES, HMAC: of variable length | an RSA public key, in an external token |
//! | CKM-RAKW | AES CIPHER keys | an RSA public key of at least 2048 bits (8/760), as an object of PKCS #11 |
//! | AESKWCV | refused with 8/33 | |
//!
//! A DES key must be a DATA key for every use (8/31: DATAC, DATAM and DATAMV would come out as more than they are),
//! whose control vector and flags allow export. A key of variable length must be complete and permit to leave: under
//! AES keys by XPRT-SYM and without NOEX-AES, under RSA keys by XPRTUASY, since such a public key is unauthenticated,
//! and without NOEX-RSA (8/39). The key leaves in an external token with all attributes, but by CKM-RAKW with none. An
//! RSA key that is weaker than the key it wraps is refused with 8/170, unless the role permits it: AES keys of 192 and
//! 256 bits are stronger than every RSA key.

use crate::call::{Call, Reply, Verdict};
use crate::ground::Algorithm;
use crate::key::field::{Found, KeyField};
use crate::key::rsa_exchange::{
    carries_rakw, is_weaker, may_go_under_rsa, oaep2_bytes, rakw_bytes, seal_oaep2, seal_rakw,
};
use crate::key::variable_exchange::may_leave;
use crate::pass::Asymmetric;
use crate::pka::encryption::Encryption;
use crate::pka::hash_of;
use token::des::Origin;
use token::usage::{Side, Wrapping};
use token::variable::{Carrier, VariableKey, VariableType};
use wire::code;
use wire::point::Point;
use wire::verb::symmetric_key_export::{Answer, Request};
use wire::verb::{ExportAlgorithm, ExportFormat};

pub(crate) async fn symmetric_key_export(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let Some(format) = Encryption::of_export(request.format, request.hash_method) else {
        // Boxed, so that other formats take no room for its state.
        return Box::pin(of_variable_length(call, request, reply)).await;
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

/// Exports a key of variable length in one of its three formats.
async fn of_variable_length<'a>(
    call: Call<'_, 'a>,
    request: Request<'a>,
    reply: &mut Reply<'_, '_>,
) -> Verdict {
    let carrier = match request.format {
        ExportFormat::Aeskw => Carrier::Aes,
        ExportFormat::Oaep2 | ExportFormat::Rakw => Carrier::Rsa,
        _ => return Err(code::KEYWORD.into()),
    };
    let found = call.key(request.source_key_identifier)?.variable()?;
    let token = may_leave(&found, carrier)?;
    if token.key_type().is_aes() != (request.algorithm == ExportAlgorithm::Aes) {
        return Err(code::TOKEN_INVALID.into());
    }
    if !matches!(token.key(), VariableKey::Wrapped { .. }) {
        return Err(code::TOKEN_INVALID.into());
    }
    match request.format {
        ExportFormat::Aeskw => under_exporter(call, request, found, reply).await,
        ExportFormat::Rakw => as_object(call, request, found, reply).await,
        _ => under_public_key(call, request, found, reply).await,
    }
}

/// AESKW: exports the key under an AES EXPORTER key.
async fn under_exporter<'a>(
    call: Call<'_, 'a>,
    request: Request<'a>,
    found: Found<'_, 'a>,
    reply: &mut Reply<'_, '_>,
) -> Verdict {
    let token = found.variable()?;
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

/// PKOAEP2: exports the key under an RSA public key, in an external token.
async fn under_public_key<'a>(
    call: Call<'_, 'a>,
    request: Request<'a>,
    found: Found<'_, 'a>,
    reply: &mut Reply<'_, '_>,
) -> Verdict {
    let hash = hash_of(request.hash_method.ok_or(code::KEYWORD_COMBINATION)?);
    may_go_under_rsa(&call, found.variable()?.key_type())?;
    let mut token = found.variable()?.without_key();
    let opening = found.open()?;
    let rsa = call.key(request.rsa_public_key_identifier)?.public().await?;
    request.rsa_enciphered_key.holds(oaep2_bytes(&token, hash, &rsa)?)?;
    let key = opening.await?;
    if is_weaker(rsa.modulus_bits, token.key_type(), key.secret.len()) {
        call.permit(Point::WeakTransport).map_err(|_| code::STRENGTH)?;
        token = token.with_attributes(token.attributes().clone().weakened())?;
    }
    let token = seal_oaep2(call, &token, &key.secret, hash, rsa).await?;
    reply.write(Answer { rsa_enciphered_key: Some(&token) })?;
    Ok(key.age.codes())
}

/// CKM-RAKW: exports the key under an RSA public key, as an object of PKCS #11.
async fn as_object<'a>(
    call: Call<'_, 'a>,
    request: Request<'a>,
    found: Found<'_, 'a>,
    reply: &mut Reply<'_, '_>,
) -> Verdict {
    let key_type = found.variable()?.key_type();
    if key_type != VariableType::Cipher {
        return Err(code::KEY_USAGE.into());
    }
    let opening = found.open()?;
    let rsa = call.key(request.rsa_public_key_identifier)?.public().await?;
    carries_rakw(rsa.modulus_bits)?;
    let key = opening.await?;
    if is_weaker(rsa.modulus_bits, key_type, key.secret.len()) {
        let permits = |point| call.permit(point).is_ok();
        if !permits(Point::WeakTransport) && !permits(Point::WeakRakw) {
            return Err(code::STRENGTH.into());
        }
    }
    request.rsa_enciphered_key.holds(rakw_bytes(rsa.bytes(), key.secret.len()))?;
    let object = seal_rakw(call, &key.secret, rsa).await?;
    reply.write(Answer { rsa_enciphered_key: Some(&object) })?;
    Ok(key.age.codes())
}
