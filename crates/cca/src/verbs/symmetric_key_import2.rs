//! Symmetric_Key_Import2 (CSNDSYI2): an AES or HMAC key of an external token of variable length, or an AES key of an
//! object of PKCS #11, comes under the master key.
//!
//! | method | the key came under |
//! |---|---|
//! | AESKW | an AES IMPORTER key with the usage IMPORT, which must wrap keys of this algorithm and kind |
//! | PKOAEP2 | an RSA key, as Symmetric_Key_Import takes it; the token names the hash of its block |
//! | CKM-RAKW | an RSA key of at least 2048 bits (8/760), with nothing that says its use: that is what the CIPHER skeleton in the target says |
//!
//! All attributes of the token are kept, with two exceptions. A given key name replaces that of the token, and the
//! key's history records its transport: under a weaker key, a public one, or in an object that is not CCA's. An
//! incomplete key is refused with 8/39. Every fault of a block under an RSA key is answered with 8/66. DES, with
//! AESKWCV and the keywords for wrapping a DES key, is refused with 8/33: no published layout of the control vector in
//! such a token was found.

use super::pka_key_token_build::name;
use crate::call::{Call, Reply, Verdict};
use crate::ground::Refusal;
use crate::key::Made;
use crate::key::field::{Found, KeyField};
use crate::key::rsa_exchange::{is_weaker, may_go_under_rsa, may_import, open_oaep2, open_rakw};
use crate::key::variable_exchange::may_come;
use crate::pass::Skeleton;
use engine::SecretBytes;
use token::des::Origin;
use token::usage::{Side, Wrapping};
use token::variable::{Attributes, Completeness, Pedigree, VariableType};
use token::{Format, VariableToken};
use wire::code;
use wire::point::Point;
use wire::verb::symmetric_key_import2::{Answer, Request};
use wire::verb::{Import2Algorithm, Import2Format};

/// Answers with the token.
pub(crate) async fn symmetric_key_import2(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    match request.format {
        Import2Format::Aeskw => under_importer(call, request, reply).await,
        // Boxed, so that other methods take no room for its state.
        Import2Format::Oaep2 | Import2Format::Rakw => Box::pin(under_rsa(call, request, reply)).await,
        Import2Format::AeskwCv => Err(code::KEYWORD.into()),
    }
}

/// AESKW: imports a key under an AES IMPORTER key.
async fn under_importer<'a>(call: Call<'_, 'a>, request: Request<'a>, reply: &mut Reply<'_, '_>) -> Verdict {
    let source = source(call, &request)?;
    let token = source.variable()?;
    let attributes = token.attributes().clone();
    let skeleton = token.moved_to(Origin::Internal);
    let kek = request.rsa_private_key_identifier;
    let kek = call.aes_key_encrypting_key(kek, Side::Receiving, Wrapping::Keys, &attributes).await?;
    let key = source.under(&kek)?.await?;
    let attributes = kek.imported(&call, attributes, &key.secret)?;
    let token = made(&call, &request, &skeleton, attributes, key.secret)?.await?;
    reply.write(Answer { target_key_identifier: Some(&token) })?;
    Ok(kek.age.codes())
}

/// PKOAEP2 and CKM-RAKW: imports a key under an RSA key.
async fn under_rsa<'a>(call: Call<'_, 'a>, request: Request<'a>, reply: &mut Reply<'_, '_>) -> Verdict {
    let is_object = request.format == Import2Format::Rakw;
    let found = if is_object { None } else { Some(source(call, &request)?) };
    let skeleton = match &found {
        Some(found) => found.variable()?.moved_to(Origin::Internal),
        None => skeleton(&request)?,
    };
    may_go_under_rsa(&call, skeleton.key_type())?;
    let rsa = call.key(request.rsa_private_key_identifier)?.private().await?;
    may_import(&call, &rsa)?;
    let (codes, modulus_bits) = (rsa.codes(), rsa.modulus_bits);
    let secret = match &found {
        Some(found) => open_oaep2(call, found.variable()?, rsa).await?,
        None => open_rakw(call, request.rsa_enciphered_key, rsa).await?,
    };
    // The sender of a block also wrote the key's history into the token, so the history proves nothing.
    let attributes = skeleton.attributes().clone().made(Pedigree::Unknown, Completeness::Complete);
    let mut attributes = attributes.from_anyone();
    if is_object {
        attributes = attributes.from_elsewhere();
    }
    if is_weaker(modulus_bits, attributes.key_type(), secret.len()) {
        call.permit(Point::WeakImport).map_err(|_| code::STRENGTH)?;
        attributes = attributes.weakened();
    }
    let token = made(&call, &request, &skeleton, attributes, secret)?.await?;
    reply.write(Answer { target_key_identifier: Some(&token) })?;
    Ok(codes)
}

/// The external source token, for a key of the keyword's algorithm.
fn source<'p, 'a>(call: Call<'p, 'a>, request: &Request<'a>) -> Result<Found<'p, 'a>, Refusal> {
    let source = KeyField::new(call, request.rsa_enciphered_key).external_variable()?;
    let token = may_come(&source)?;
    if token.key_type().is_aes() != (request.algorithm == Import2Algorithm::Aes) {
        return Err(code::TOKEN_INVALID.into());
    }
    Ok(source)
}

/// The CIPHER skeleton in the target field, with the attributes for a key that comes without a token.
///
/// # Errors
/// 8/30 for a label, 8/47 for anything but an internal token of variable length, 8/39 if the token is not that of a
/// CIPHER key.
fn skeleton(request: &Request<'_>) -> Result<VariableToken, Refusal> {
    let field = request.target_key_identifier.start();
    let token = match Format::of(field) {
        Format::VariableInternal => VariableToken::parse(field)?.without_key(),
        Format::Label => return Err(code::LABEL_NOT_FOUND.into()),
        _ => return Err(code::TOKEN_INVALID.into()),
    };
    if token.key_type() != VariableType::Cipher {
        return Err(code::KEY_USAGE.into());
    }
    let attributes = token.attributes().clone().made(Pedigree::Unknown, Completeness::Complete);
    Ok(token.with_attributes(attributes)?)
}

/// Starts making the token of a key; the target field must have room for it.
fn made<'p>(
    call: &Call<'p, '_>,
    request: &Request<'_>,
    skeleton: &VariableToken,
    mut attributes: Attributes,
    secret: SecretBytes,
) -> Result<Made<'p>, Refusal> {
    if let Some(name) = name(request.user_mod_data)? {
        attributes = attributes.named(Some(name));
    }
    let skeleton = skeleton.with_attributes(attributes)?;
    request.target_key_identifier.holds(skeleton.head().len() + skeleton.wrapped_bytes(secret.len())?)?;
    Ok(call.make(Skeleton::Variable(Box::new(skeleton)), secret))
}
