//! Key_Token_Build2 (CSNBKTB2): a token of variable length from keywords: a skeleton, or one of a clear key.
//!
//! | group | keywords |
//! |---|---|
//! | origin | INTERNAL, EXTERNAL (required) |
//! | key | NO-KEY (default), KEY-CLR (AES CIPHER and HMAC) |
//! | payload | V0PYLD (default of CIPHER, EXPORTER, IMPORTER and HMAC), V1PYLD (AES; default of the other types) |
//! | algorithm | AES, HMAC (required) |
//! | type | CIPHER, MAC, EXPORTER, IMPORTER, PINPROT, PINCALC, PINPRW, DKYGENKY, SECMSG (required); KDKGENKY is refused with 8/33 |
//! | usage, management | those of [`token::variable`] |
//!
//! The token data of a DKYGENKY that derives keys of one type are a token of that type, whose usage fields are those of
//! derived keys; in every other case they are empty. A missing keyword that the type requires is answered with 8/129.

use super::pka_key_token_build::name;
use crate::call::{Call, Reply, Verdict};
use crate::ground::Refusal;
use token::VariableToken;
use token::des::Origin;
use token::variable::{Attributes, AttributesError, PayloadVersion, VariableType};
use wire::verb::key_token_build2::{Answer, Request};
use wire::verb::{TokenOrigin, VariableAlgorithm, VariableContent, VariableKeyType, VariablePayload};
use wire::{Codes, code};

/// Answers with the token.
pub(crate) async fn key_token_build2(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let token = build(&request)?.to_bytes();
    reply.write(Answer { target_key_token: Some(&token) })?;
    Ok(code::OK)
}

fn build(request: &Request<'_>) -> Result<VariableToken, Refusal> {
    let key_type = key_type(request.algorithm, request.key_type);
    let derived = match request.token_data {
        [] => None,
        data => Some(VariableToken::parse(data)?),
    };
    // A keyword must be valid text.
    let usage = request.usage.iter().map(|word| std::str::from_utf8(word).unwrap_or_default());
    let usage = usage.map(|word| word.trim_end_matches(' '));
    let attributes = Attributes::new(key_type, usage, derived.as_ref().map(VariableToken::attributes))
        .and_then(|attributes| attributes.with_user_data(request.user_associated_data))
        .map_err(attribute_codes)?
        .named(name(request.key_name)?);
    let origin = match request.origin {
        TokenOrigin::Internal => Origin::Internal,
        TokenOrigin::External => Origin::External,
    };
    let payload = match request.payload {
        None => VariableToken::default_payload(key_type),
        Some(VariablePayload::Variable) => PayloadVersion::Variable,
        Some(VariablePayload::Fixed) => PayloadVersion::Fixed,
    };
    let skeleton = VariableToken::skeleton(origin, payload, attributes)?;
    match (request.content, request.clear_key_value) {
        (VariableContent::None, []) => Ok(skeleton),
        (VariableContent::Clear, key) if key_type.has_length(key.len()) => Ok(skeleton.with_clear_key(key)?),
        _ => Err(code::KEY_BITS.into()),
    }
}

/// The type of these keywords.
fn key_type(algorithm: VariableAlgorithm, keyword: VariableKeyType) -> VariableType {
    match (algorithm, keyword) {
        (VariableAlgorithm::Hmac, _) => VariableType::Hmac,
        (VariableAlgorithm::Aes, VariableKeyType::Cipher) => VariableType::Cipher,
        (VariableAlgorithm::Aes, VariableKeyType::Mac) => VariableType::Mac,
        (VariableAlgorithm::Aes, VariableKeyType::Exporter) => VariableType::Exporter,
        (VariableAlgorithm::Aes, VariableKeyType::Importer) => VariableType::Importer,
        (VariableAlgorithm::Aes, VariableKeyType::PinProt) => VariableType::PinProt,
        (VariableAlgorithm::Aes, VariableKeyType::PinCalc) => VariableType::PinCalc,
        (VariableAlgorithm::Aes, VariableKeyType::PinPrw) => VariableType::PinPrw,
        (VariableAlgorithm::Aes, VariableKeyType::DkyGenKy) => VariableType::DkyGenKy,
        (VariableAlgorithm::Aes, VariableKeyType::SecMsg) => VariableType::SecMsg,
        (VariableAlgorithm::Aes, VariableKeyType::KdkGenKy) => VariableType::KdkGenKy,
    }
}

/// The codes for keywords that form no valid attributes.
pub(super) fn attribute_codes(error: AttributesError) -> Codes {
    match error {
        AttributesError::Keyword => code::KEYWORD,
        AttributesError::Combination => code::KEYWORD_COMBINATION,
        AttributesError::Missing => code::KEYWORD_REQUIRED,
        AttributesError::Derived | AttributesError::UserData => code::INVALID_PARAMETER,
    }
}
