//! Key_Generate2 (CSNBKGN2): a random AES or HMAC key, in one token of variable length or in two, each under the master
//! key or an AES key-encrypting key.
//!
//! | form | tokens | use of each key-encrypting key |
//! |---|---|---|
//! | OP, OPOP | internal | |
//! | EX, IM | external | GEN-EXEX of an EXPORTER, GEN-IMEX of an IMPORTER |
//! | OPEX, OPIM | internal, external | GEN-OPEX, GEN-OPIM |
//! | IMEX | external | GEN-IMEX of both |
//! | EXEX, IMIM | external | GEN-EXEX, GEN-IMIM of both |
//!
//! The permitted pairs of types are in [`pairs`] (8/34). A key-encrypting key must also wrap keys of this algorithm and
//! kind (8/39).
//!
//! A key type of TOKEN takes attributes and payload from the token in the generated-key identifier, which is internal
//! or external as the key form has it and whose key, if it has one, is replaced. CIPHER, EXPORTER, IMPORTER of AES, and
//! MAC and MACVER of HMAC have the defaults of Key_Token_Build2; other types are made by TOKEN alone. Name and data of
//! the owner replace those of the token where they are given. An AES key has 128, 192 or 256 bits, an HMAC key 80 to
//! 2048 in whole bytes (8/2114).

mod pairs;

use super::key_generate::forms::{Form, Set, TokenPurpose};
use super::key_token_build2::attribute_codes;
use super::pka_key_token_build::name;
use crate::call::{Call, Reply, Verdict};
use crate::ground::{Age, Refusal};
use crate::key::{Key, Made};
use crate::pass::{Skeleton, Token};
use engine::SecretBytes;
use token::des::Origin;
use token::variable::{Attributes, Completeness, Pedigree, VariableType};
use token::{Format, VariableToken};
use wire::code;
use wire::point::Point;
use wire::verb::key_generate2::{Answer, Request};
use wire::verb::{Buffer, VariableAlgorithm, VariableKeyForm};

/// Answers with the token, or both.
pub(crate) async fn key_generate2(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let form = form(request.form);
    let tokens = Tokens::of(&call, &request, form)?;
    if form.is_transported() {
        // Boxed, so that other forms take no room for its state.
        return Box::pin(transported(call, request, form, tokens, reply)).await;
    }
    let Tokens { one, two, key_bytes } = tokens;
    let key = random(&call, key_bytes);
    let two = two.map(|two| call.make(Skeleton::Variable(two), key.clone()));
    let one = call.make(Skeleton::Variable(one), key).await?;
    let two = finished(two).await?;
    reply.write(Answer {
        generated_key_identifier_1: Some(&one),
        generated_key_identifier_2: two.as_deref(),
        ..Answer::default()
    })?;
    Ok(code::OK)
}

/// Generates keys in the forms with at least one external token.
async fn transported<'a>(
    call: Call<'_, 'a>,
    request: Request<'a>,
    form: Form,
    tokens: Tokens,
    reply: &mut Reply<'_, '_>,
) -> Verdict {
    let Tokens { one, two, key_bytes } = tokens;
    let kek_1 = Kek::open(call, request.kek_key_identifier_1, form, Some(form.first), Some(&one)).await?;
    let kek_2 = Kek::open(call, request.kek_key_identifier_2, form, form.second, two.as_deref()).await?;
    let key = random(&call, key_bytes);
    let two = match two {
        Some(two) => Some(close(&call, &kek_2, two, key.clone())?),
        None => None,
    };
    let one = close(&call, &kek_1, one, key)?.await?;
    let two = finished(two).await?;
    let age = [&kek_1, &kek_2].into_iter().flatten().map(|kek| kek.key.age).max();
    let renewed = |kek: Option<Kek>| kek.and_then(|kek| kek.renewed);
    let (kek_1, kek_2) = (renewed(kek_1), renewed(kek_2));
    reply.write(Answer {
        kek_key_identifier_1: kek_1.as_deref(),
        kek_key_identifier_2: kek_2.as_deref(),
        generated_key_identifier_1: Some(&one),
        generated_key_identifier_2: two.as_deref(),
    })?;
    Ok(age.map_or(code::OK, Age::codes))
}

/// The tokens of this form.
fn form(keyword: VariableKeyForm) -> Form {
    use TokenPurpose::{Exportable, Importable, Operational};
    let (first, second) = match keyword {
        VariableKeyForm::Op => (Operational, None),
        VariableKeyForm::Im => (Importable, None),
        VariableKeyForm::Ex => (Exportable, None),
        VariableKeyForm::Opop => (Operational, Some(Operational)),
        VariableKeyForm::Opim => (Operational, Some(Importable)),
        VariableKeyForm::Opex => (Operational, Some(Exportable)),
        VariableKeyForm::Imim => (Importable, Some(Importable)),
        VariableKeyForm::Imex => (Importable, Some(Exportable)),
        VariableKeyForm::Exex => (Exportable, Some(Exportable)),
    };
    Form { first, second }
}

fn random(call: &Call<'_, '_>, key_bytes: usize) -> SecretBytes {
    let mut key = SecretBytes::new(key_bytes);
    call.random(&mut key);
    key
}

async fn finished(made: Option<Made<'_>>) -> Result<Option<Token>, Refusal> {
    Ok(match made {
        Some(made) => Some(made.await?),
        None => None,
    })
}

/// A key-encrypting key, and its renewed token, if it needs renewal.
struct Kek {
    key: Key,
    renewed: Option<Token>,
}

impl Kek {
    /// The key-encrypting key for a token of this purpose; `None` if the master key wraps it or the form has none.
    async fn open<'a>(
        call: Call<'_, 'a>,
        field: &'a [u8],
        form: Form,
        purpose: Option<TokenPurpose>,
        token: Option<&VariableToken>,
    ) -> Result<Option<Self>, Refusal> {
        let wrapping = purpose.and_then(|purpose| form.wrapping(purpose));
        let (Some((side, wrapping)), Some(token)) = (wrapping, token) else { return Ok(None) };
        let key = call.aes_key_encrypting_key(field, side, wrapping, token.attributes()).await?;
        let renewed = key.renew(call, field)?.token().await?;
        Ok(Some(Self { key, renewed }))
    }
}

fn close<'p>(
    call: &Call<'p, '_>,
    kek: &Option<Kek>,
    skeleton: Box<VariableToken>,
    key: SecretBytes,
) -> Result<Made<'p>, Refusal> {
    match kek {
        Some(kek) => kek.key.wrap_variable(call, *skeleton, key),
        None => Ok(call.make(Skeleton::Variable(skeleton), key)),
    }
}

/// The one or two tokens of a key, without the key.
struct Tokens {
    one: Box<VariableToken>,
    two: Option<Box<VariableToken>>,
    key_bytes: usize,
}

impl Tokens {
    /// The tokens that a request asks for.
    ///
    /// # Errors
    /// 8/34 for types that are not made in this form, 8/90 for a pair of the extended set that the role does not
    /// permit; as [`Wanted::skeleton`].
    fn of(call: &Call<'_, '_>, request: &Request<'_>, form: Form) -> Result<Self, Refusal> {
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
        let one = first.skeleton(key_bytes, form.first)?;
        let Some(purpose) = form.second else {
            if second.is_named()
                || !(form.first == TokenPurpose::Operational || pairs::takes_one(one.attributes()))
            {
                return Err(code::KEYWORD_COMBINATION.into());
            }
            return Ok(Self { one, two: None, key_bytes });
        };
        let two = second.skeleton(key_bytes, purpose)?;
        let set = pairs::takes_pair(form, one.attributes(), two.attributes());
        if set.ok_or(code::KEYWORD_COMBINATION)? == Set::Extended {
            call.permit(Point::KeyGenerate2SetExtended)?;
        }
        Ok(Self { one, two: Some(two), key_bytes })
    }
}

/// The parameters of a request for one of its tokens.
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

    /// The token for a random key of this length, without the key. The target field must have room for it.
    ///
    /// # Errors
    /// 8/30 for a label, 8/47 for another token than the purpose has; 8/2114 for a key length that is not served; the
    /// codes of the token itself.
    fn skeleton(&self, key_bytes: usize, purpose: TokenPurpose) -> Result<Box<VariableToken>, Refusal> {
        let token = if self.key_type == b"TOKEN   " {
            let field = match purpose {
                TokenPurpose::Operational => internal(self.target.start())?,
                TokenPurpose::Importable | TokenPurpose::Exportable => external(self.target.start())?,
            };
            let token = VariableToken::parse(field)?;
            if token.key_type().is_aes() != self.is_aes {
                return Err(code::TOKEN_INVALID.into());
            }
            token.without_key()
        } else {
            self.default(purpose)?
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
        Ok(Box::new(token))
    }

    /// The token of a named type, with the defaults of Key_Token_Build2.
    fn default(&self, purpose: TokenPurpose) -> Result<VariableToken, Refusal> {
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
        let origin = if purpose == TokenPurpose::Operational { Origin::Internal } else { Origin::External };
        Ok(VariableToken::skeleton(origin, payload, attributes)?)
    }
}

/// A field that holds an internal token of variable length.
///
/// # Errors
/// 8/30 for a label, 8/47 for another token.
pub(super) fn internal(field: &[u8]) -> Result<&[u8], Refusal> {
    holding(field, Format::VariableInternal)
}

/// A field that holds an external token of variable length.
///
/// # Errors
/// As [`internal`].
fn external(field: &[u8]) -> Result<&[u8], Refusal> {
    holding(field, Format::VariableExternal)
}

fn holding(field: &[u8], format: Format) -> Result<&[u8], Refusal> {
    match Format::of(field) {
        found if found == format => Ok(field),
        Format::Label => Err(code::LABEL_NOT_FOUND.into()),
        _ => Err(code::TOKEN_INVALID.into()),
    }
}
