//! PKA_Key_Translate (CSNDPKT): an RSA token whose private key is under a key of DES becomes one under a key of AES.
//!
//! | keyword | source | transport keys | target |
//! |---|---|---|---|
//! | EXTDWAKW | external X'02' or X'08' under an IMP-PKA key, or in a role with `pka-importers-of-both` an IMPORTER key with the use IMPORT | that one; an AES EXPORTER key with the use EXPORT or an AES IMPORTER key with the use IMPORT, which wraps keys of RSA (WR-RSA) | external X'30' or X'31' under the second |
//! | INTDWAKW | internal X'08', under the ASYM master key | none: null tokens, or empty | internal X'31', under the APKA master key |
//!
//! A key comes from under a transport key to another only if it is XLATE-OK (8/39). An EXPORTER key of DES is refused
//! as source key: a key that this system exported comes back only by an import. A transport key of the other algorithm
//! is refused with 8/49, one of AES that is weaker than the key with 8/170, unless the role permits weak transport
//! keys. Every fault of the wrapped key is answered with the same 8/47.
//!
//! SCVISA, SCCOMME and SCCOMCRT, which make the formats of smart cards, are refused (8/33): no published description of
//! these formats was found.

use super::pka_key_generate::{Generated, under_apka};
use crate::call::{Call, Reply, Verdict};
use crate::ground::Refusal;
use crate::key::opening::Opening;
use crate::key::private::{check_kind, open_transported, strength_of_modulus};
use crate::key::target::is_null;
use token::pka::{ClearKey, Origin, PkaToken, PrivateValues, Source, SplitValues};
use token::usage::{Side, Wrapping};
use token::variable::{PrivateAlgorithm, VariableType};
use wire::code;
use wire::point::Point;
use wire::verb::PrivateKeyTranslation;
use wire::verb::pka_key_translate::{Answer, Request};

/// Answers with the token.
pub(crate) async fn pka_key_translate(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    match request.translation {
        PrivateKeyTranslation::External => outside(call, &request, reply).await,
        PrivateKeyTranslation::Internal => inside(call, &request, reply).await,
        PrivateKeyTranslation::Visa | PrivateKeyTranslation::ModulusExponent | PrivateKeyTranslation::Crt => {
            Err(code::KEYWORD.into())
        }
    }
}

/// EXTDWAKW: translates an external token from one transport key to another.
async fn outside<'a>(call: Call<'_, 'a>, request: &Request<'a>, reply: &mut Reply<'_, '_>) -> Verdict {
    let source = call.pka_token(request.source_key_identifier)?;
    // The right to use a record includes no right to see its token.
    if call.is_of_record(request.source_key_identifier) {
        return Err(code::ACCESS_DENIED.into());
    }
    let Some(private) = source.private() else { return Err(code::TOKEN_INVALID.into()) };
    let PrivateValues::Transported(transported) = private.values else {
        return Err(code::TOKEN_INVALID.into());
    };
    if !private.translatable {
        return Err(code::KEY_USAGE.into());
    }
    let from = request.source_transport_key_identifier;
    check_kind(from, false, None)?;
    let (from, to) =
        (call.private_key_encrypting_key(from, Side::Receiving)?, target_transport_key(call, request)?);
    let (from, to) = (from.await?, to.await?);
    to.check_strength(&call, strength_of_modulus(source.modulus_bits()), Point::WeakTransport)?;
    let codes = from.age.max(to.age).codes();
    let values = open_transported(call, from, request.source_key_identifier).await?;
    let (n, e) = (source.modulus(), source.exponent());
    let key = match transported.lengths.split(&values).ok_or(code::SELF_CHECK)? {
        SplitValues::Me { d } => ClearKey::Me { n, e, d },
        SplitValues::Crt(components) => ClearKey::Crt { n, e, components },
    };
    let token = to.wrap_rsa(call, &key, &source.attributes()).await?;
    reply.write(Answer { target_key_token: Some(&token) })?;
    Ok(codes)
}

/// Starts opening the AES transport key that wraps the translated key.
fn target_transport_key<'p, 'a>(
    call: Call<'p, 'a>,
    request: &Request<'a>,
) -> Result<Opening<'p, 'a>, Refusal> {
    let field = request.target_transport_key_identifier;
    check_kind(field, true, None)?;
    let (side, point) = match call.key(field)?.variable()?.variable()?.key_type() {
        VariableType::Importer => (Side::Receiving, Point::PkaKeyTranslateToImporter),
        _ => (Side::Sending, Point::PkaKeyTranslateToExporter),
    };
    call.permit(point)?;
    call.aes_private_key_encrypting_key(field, Some(side), Wrapping::PrivateKeys, PrivateAlgorithm::Rsa)
}

/// INTDWAKW: translates an internal token from the ASYM master key to the APKA master key.
async fn inside<'a>(call: Call<'_, 'a>, request: &Request<'a>, reply: &mut Reply<'_, '_>) -> Verdict {
    let given = [request.source_transport_key_identifier, request.target_transport_key_identifier];
    if given.into_iter().any(|field| !field.is_empty() && !is_null(field)) {
        return Err(code::INVALID_PARAMETER.into());
    }
    let field = request.source_key_identifier;
    let source: PkaToken<'_> = call.pka_token(field)?;
    let Some(private) = source.private() else { return Err(code::TOKEN_INVALID.into()) };
    if source.origin() != Origin::Internal || !matches!(private.values, PrivateValues::Asym(_)) {
        return Err(code::TOKEN_INVALID.into());
    }
    // The right to use a record includes no right to see its token.
    if call.is_of_record(field) {
        return Err(code::ACCESS_DENIED.into());
    }
    let context = call.key(field)?.private().await?;
    let numbers = Generated::of(&context.key, private.form)?;
    // The source in an X'08' token proves nothing: anyone who knows the key can write it.
    let token = under_apka(call, &numbers.clear()?, &source.attributes(), Source::ExternalEncrypted).await?;
    reply.write(Answer { target_key_token: Some(&token) })?;
    Ok(context.codes())
}
