//! Key_Generate2 (CSNBKGN2): a random AES or HMAC key, in a token of variable length under the master key.
//!
//! | form | tokens |
//! |---|---|
//! | OP | one |
//! | OPOP | the same key in two tokens, of a type that stands in [`PAIRS`] |
//! | EX, IM, OPEX, OPIM, IMEX, IMIM, EXEX | refused with 8/33: they put a key under an AES transport key |
//!
//! A key type of TOKEN takes attributes and payload from the token in the generated-key identifier, whose key, if it has one, is
//! replaced. CIPHER, EXPORTER, IMPORTER of AES, and MAC and MACVER of HMAC have the defaults of Key_Token_Build2; other types are
//! made by TOKEN alone. Name and data of the owner replace those of the token where they are given. An AES key has 128,
//! 192 or 256 bits, an HMAC key 80 to 2048 in whole bytes (8/2114).

use engine::SecretBytes;
use token::des::Origin;
use token::variable::{Attributes, Completeness, Pedigree, VariableType};
use token::{Format, VariableToken};
use wire::code;
use wire::verb::key_generate2::{Answer, Request};
use wire::verb::{Buffer, VariableAlgorithm, VariableKeyForm};

use super::key_token_build2::attribute_codes;
use super::pka_key_token_build::name;
use crate::call::{Call, Refusal, Reply, Verdict};
use crate::pass::Skeleton;

/// Answers with the token, or both.
pub(crate) async fn key_generate2(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let is_aes = request.algorithm == VariableAlgorithm::Aes;
    let first = Wanted {
        is_aes,
        key_type: request.key_type_1,
        name: request.key_name_1,
        user_data: request.user_associated_data_1,
        target: request.generated_key_identifier_1,
    };
    let second = Wanted {
        is_aes,
        key_type: request.key_type_2,
        name: request.key_name_2,
        user_data: request.user_associated_data_2,
        target: request.generated_key_identifier_2,
    };
    let bits = usize::try_from(request.clear_key_bit_length).map_err(|_| code::KEY_BITS)?;
    let key_bytes = if bits.is_multiple_of(8) { bits / 8 } else { 0 };
    let one = first.skeleton(key_bytes)?;
    let two = match request.form {
        VariableKeyForm::Opop => {
            let two = second.skeleton(key_bytes)?;
            if one.key_type() != two.key_type() || !PAIRS.contains(&one.key_type()) {
                return Err(code::KEYWORD_COMBINATION.into());
            }
            Some(two)
        }
        _ if second.is_named() => return Err(code::KEYWORD_COMBINATION.into()),
        _ => None,
    };
    let mut key = SecretBytes::new(key_bytes);
    call.random(&mut key);
    let two = two.map(|two| call.make(Skeleton::Variable(Box::new(two)), key.clone()));
    let one = call.make(Skeleton::Variable(Box::new(one)), key).await?;
    let two = match two {
        Some(two) => Some(two.await?),
        None => None,
    };
    reply.write(Answer {
        generated_key_identifier_1: Some(&one),
        generated_key_identifier_2: two.as_deref(),
        ..Answer::default()
    })?;
    Ok(code::OK)
}

/// One of the tokens that are asked for.
struct Wanted<'a> {
    is_aes: bool,
    key_type: &'a [u8; 8],
    name: &'a [u8],
    user_data: &'a [u8],
    target: Buffer<'a>,
}

impl Wanted<'_> {
    /// Whether a key type is given.
    fn is_named(&self) -> bool {
        !matches!(self.key_type, b"        " | &[0, 0, 0, 0, 0, 0, 0, 0])
    }

    /// The token that a random key of this length goes into, for which there must be room.
    fn skeleton(&self, key_bytes: usize) -> Result<VariableToken, Refusal> {
        let token = if self.key_type == b"TOKEN   " {
            let token = VariableToken::parse(internal(self.target.start())?)?;
            if token.key_type().is_aes() != self.is_aes {
                return Err(code::TOKEN_INVALID.into());
            }
            token.without_key()
        } else {
            self.default()?
        };
        let mut attributes = token.attributes().clone().made(Pedigree::Random, Completeness::Complete);
        if let Some(name) = name(self.name)? {
            attributes = attributes.named(Some(name));
        }
        if !self.user_data.is_empty() {
            attributes = attributes.with_user_data(self.user_data).map_err(attribute_codes)?;
        }
        let token = token.with_attributes(attributes)?;
        let payload_bytes = token.wrapped_bytes(key_bytes).map_err(|_| code::KEY_BITS)?;
        self.target.holds(token.head().len() + payload_bytes)?;
        Ok(token)
    }

    /// The token that a named type has.
    fn default(&self) -> Result<VariableToken, Refusal> {
        let (key_type, keywords): (_, &[&str]) = match (self.is_aes, self.key_type) {
            (true, b"CIPHER  ") => (VariableType::Cipher, &[]),
            (true, b"EXPORTER") => (VariableType::Exporter, &[]),
            (true, b"IMPORTER") => (VariableType::Importer, &[]),
            (false, b"MAC     ") => (VariableType::Hmac, &["GENERATE", "VERIFY"]),
            (false, b"MACVER  ") => (VariableType::Hmac, &["VERIFY"]),
            (_, name) if VariableType::from_name(self.is_aes, name).is_some() => {
                return Err(code::KEYWORD_COMBINATION.into());
            }
            _ => return Err(code::KEYWORD.into()),
        };
        match Format::of(self.target.start()) {
            Format::Null => {}
            Format::Label => return Err(code::LABEL_NOT_FOUND.into()),
            _ => return Err(code::TOKEN_INVALID.into()),
        }
        let attributes =
            Attributes::new(key_type, keywords.iter().copied(), None).map_err(attribute_codes)?;
        let payload = VariableToken::default_payload(key_type);
        Ok(VariableToken::skeleton(Origin::Internal, payload, attributes)?)
    }
}

/// A field that holds an internal token of variable length.
///
/// # Errors
/// 8/30 for a label, 8/47 for another token.
pub(super) fn internal(field: &[u8]) -> Result<&[u8], Refusal> {
    match Format::of(field) {
        Format::VariableInternal => Ok(field),
        Format::Label => Err(code::LABEL_NOT_FOUND.into()),
        _ => Err(code::TOKEN_INVALID.into()),
    }
}

/// Types of which one key may be held twice: what one token does the other undoes or checks. Not transport keys: what one side
/// wraps the same side would open.
const PAIRS: &[VariableType] = &[VariableType::Cipher, VariableType::Mac, VariableType::Hmac];
