//! Key_Generate (CSNBKGN): a random key, in one token or in two, each under the master key or a key-encrypting key.
//!
//! Key forms and the permitted pairs of types are in [`forms`]. A type is one of [`token::KeyType`] with its default
//! control vector; TOKEN takes control vector and length from the token in the generated-key identifier (so are
//! KEYGENKY and SECMSG keys made), and for a compatible token also the wrapping method. That token is internal or
//! external as the key form requires; AESDATA and AESTOKEN make AES keys in the form OP. Key-encrypting keys never have
//! equal halves (8/43).

pub(super) mod forms;

use crate::call::{Call, Reply, Verdict};
use crate::ground::{Age, Refusal};
use crate::key::Key;
use crate::key::target::{aes_target, des_target, external_des_target};
use crate::parity;
use crate::pass::{Skeleton, Token};
use engine::SecretBytes;
use forms::{Form, Set, TokenPurpose};
use token::control_vector::KeyForm;
use token::des::Origin;
use token::{ControlVector, DesToken, KeyType};
use wire::point::Point;
use wire::point::keywords::word;
use wire::verb::key_generate::{Answer, Request};
use wire::{Codes, code};

/// Answers with the token, or both.
pub(crate) async fn key_generate(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let form = Form::read(request.key_form)?;
    call.permit(if form.second.is_some() { Point::KeyGenerateSet } else { Point::KeyGenerateOne })?;
    let length = Length::read(request.key_length)?;
    if length.repeated {
        call.permit(Point::KeyGenerateSingleR)?;
    }
    let first = Kind::read(request.key_type_1)?.ok_or(code::KEYWORD)?;
    let second = Kind::read(request.key_type_2)?;
    if form.second.is_some() != second.is_some() {
        return Err(code::KEYWORD_COMBINATION.into());
    }
    if form.is_transported() {
        call.permit(Point::KeyGenerateTransported)?;
        // Boxed, so that other forms take no room for its state.
        return Box::pin(transported(call, request, form, (first, second), length, reply)).await;
    }
    let (one, two) = (request.generated_key_identifier_1, request.generated_key_identifier_2);
    let (one, two) = match second {
        None => (single(call, one, first, length).await?, None),
        Some(second) => {
            let tokens = pair(&call, form, (one, first), (two, second), length)?;
            let (one, two) = both(call, tokens, length).await?;
            (one, Some(two))
        }
    };
    reply.write(Answer {
        generated_key_identifier_1: Some(&one),
        generated_key_identifier_2: two.as_deref(),
        ..Answer::default()
    })?;
    Ok(code::OK)
}

async fn single(call: Call<'_, '_>, target: &[u8], kind: Kind, length: Length) -> Result<Token, Refusal> {
    if matches!(kind, Kind::AesData | Kind::AesToken) {
        let mut key = SecretBytes::new(aes_bytes(target, kind, length)?);
        call.random(&mut key);
        return Ok(call.make(Skeleton::Aes, key).await?);
    }
    let skeleton = skeleton(target, TokenPurpose::Operational, kind, length)?;
    permit_form(&call, &skeleton)?;
    let key = des_key(&call, &skeleton, length)?;
    Ok(call.make(Skeleton::Des(skeleton), key).await?)
}

async fn both(
    call: Call<'_, '_>,
    (one, two): (DesToken, DesToken),
    length: Length,
) -> Result<(Token, Token), Refusal> {
    let key = des_key(&call, &one, length)?;
    let one = call.make(Skeleton::Des(one), key.clone());
    let two = call.make(Skeleton::Des(two), key);
    Ok((one.await?, two.await?))
}

/// Generates keys in the forms with at least one external token.
async fn transported<'a>(
    call: Call<'_, 'a>,
    request: Request<'a>,
    form: Form,
    (first, second): (Kind, Option<Kind>),
    length: Length,
    reply: &mut Reply<'_, '_>,
) -> Verdict {
    let (one, two) = (request.generated_key_identifier_1, request.generated_key_identifier_2);
    let (one, two) = match second {
        Some(second) => {
            let (one, two) = pair(&call, form, (one, first), (two, second), length)?;
            (one, Some(two))
        }
        None => {
            let one = skeleton(one, form.first, first, length)?;
            let key_type = KeyType::of(one.control_vector()).ok_or(code::KEY_USAGE)?;
            if !form.takes_one(key_type) {
                return Err(code::KEYWORD_COMBINATION.into());
            }
            permit_form(&call, &one)?;
            (one, None)
        }
    };
    let fields = [request.kek_key_identifier_1, request.kek_key_identifier_2];
    let purposes = [Some(form.first), form.second];
    let mut keys: [Option<Key>; 2] = [None, None];
    for ((key, purpose), field) in keys.iter_mut().zip(purposes).zip(fields) {
        if let Some((side, wrapping)) = purpose.and_then(|purpose| form.wrapping(purpose)) {
            *key = Some(call.key_encrypting_key(field, side, wrapping).await?);
        }
    }
    let renewed = [renewed(call, &keys[0], fields[0]).await?, renewed(call, &keys[1], fields[1]).await?];
    let secret = des_key(&call, &one, length)?;
    let two = match two {
        Some(two) => Some(close(&call, &keys[1], two, secret.clone()).await?),
        None => None,
    };
    let one = close(&call, &keys[0], one, secret).await?;
    reply.write(Answer {
        kek_key_identifier_1: renewed[0].as_deref(),
        kek_key_identifier_2: renewed[1].as_deref(),
        generated_key_identifier_1: Some(&one),
        generated_key_identifier_2: two.as_deref(),
    })?;
    Ok(keys.iter().flatten().map(|key| key.age).max().map_or(code::OK, Age::codes))
}

async fn renewed<'a>(
    call: Call<'_, 'a>,
    key: &Option<Key>,
    field: &'a [u8],
) -> Result<Option<Token>, Refusal> {
    match key {
        Some(key) => Ok(key.renew(call, field)?.token().await?),
        None => Ok(None),
    }
}

async fn close(
    call: &Call<'_, '_>,
    wrapping: &Option<Key>,
    skeleton: DesToken,
    secret: SecretBytes,
) -> Result<Token, Refusal> {
    Ok(match wrapping {
        Some(key) => key.wrap(call, skeleton, secret)?.await?,
        None => call.make(Skeleton::Des(skeleton), secret).await?,
    })
}

/// The tokens of a pair, without the key.
///
/// # Errors
/// 8/34 for types that do not go together in this form, 8/43 for keys of different lengths, 8/90 for a pair of the
/// extended set that the role does not permit; as [`skeleton`].
fn pair(
    call: &Call<'_, '_>,
    form: Form,
    (target_1, one): (&[u8], Kind),
    (target_2, two): (&[u8], Kind),
    length: Length,
) -> Result<(DesToken, DesToken), Refusal> {
    let purpose = form.second.ok_or(code::KEYWORD_COMBINATION)?;
    if [one, two].iter().any(|kind| matches!(kind, Kind::AesData | Kind::AesToken)) {
        return Err(code::KEYWORD_COMBINATION.into());
    }
    let (one, two) =
        (skeleton(target_1, form.first, one, length)?, skeleton(target_2, purpose, two, length)?);
    let types = [one, two].map(|token| KeyType::of(token.control_vector()));
    let set = match types {
        [Some(first), Some(second)] => form.takes_pair(first, second),
        _ => None,
    };
    if set.ok_or(code::KEYWORD_COMBINATION)? == Set::Extended {
        call.permit(Point::KeyGenerateSetExtended)?;
    }
    if one.form() != two.form() {
        return Err(code::KEY_LENGTH_KEYWORD.into());
    }
    permit_form(call, &one)?;
    Ok((one, two))
}

/// The token of a generated key, without the key.
///
/// # Errors
/// 8/30 for a label, 8/47 for an internal token where the purpose needs an external one, or the reverse; as [`named`]
/// and [`described`].
fn skeleton(target: &[u8], purpose: TokenPurpose, kind: Kind, length: Length) -> Result<DesToken, Refusal> {
    let (there, origin) = match purpose {
        TokenPurpose::Operational => (des_target(target)?, Origin::Internal),
        TokenPurpose::Importable | TokenPurpose::Exportable => {
            (external_des_target(target)?, Origin::External)
        }
    };
    match kind {
        Kind::Des(key_type) => named(key_type, length, origin),
        Kind::Token => described(there.ok_or(code::TOKEN_INVALID)?, length),
        Kind::AesData | Kind::AesToken => Err(code::KEYWORD_COMBINATION.into()),
    }
}

/// Refuses a key of single length unless the role has the point for it.
fn permit_form(call: &Call<'_, '_>, skeleton: &DesToken) -> Result<(), Codes> {
    if skeleton.form() == KeyForm::Single { call.permit(Point::SingleLengthDes) } else { Ok(()) }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Des(KeyType),
    Token,
    AesToken,
    AesData,
}

impl Kind {
    /// The key type of this name; `None` for a name of blanks or zeros.
    fn read(name: &[u8; 8]) -> Result<Option<Self>, Codes> {
        Ok(Some(match name {
            b"        " | &[0, 0, 0, 0, 0, 0, 0, 0] => return Ok(None),
            b"TOKEN   " => Self::Token,
            b"AESTOKEN" => Self::AesToken,
            b"AESDATA " => Self::AesData,
            _ => Self::Des(KeyType::from_name(name).ok_or(code::KEYWORD)?),
        }))
    }
}

/// The key length that the key-length parameter names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Length {
    /// In bytes; `None` for blanks.
    bytes: Option<usize>,
    /// The parts of the key must differ.
    unique: bool,
    /// Both halves of a double-length key are equal.
    repeated: bool,
}

impl Length {
    fn read(keyword: &[u8; 8]) -> Result<Self, Codes> {
        let given = u64::from_be_bytes(*keyword);
        LENGTHS
            .iter()
            .find(|(word, _)| *word == given)
            .map(|(_, length)| *length)
            .ok_or(code::KEY_LENGTH_KEYWORD)
    }

    fn form(self) -> Option<KeyForm> {
        Some(match (self.bytes?, self.unique) {
            (8, _) => KeyForm::Single,
            (16, false) => KeyForm::Double,
            (16, true) => KeyForm::DoubleUnique,
            (24, false) => KeyForm::Triple,
            (24, true) => KeyForm::TripleUnique,
            _ => return None,
        })
    }
}

/// The token that a named type makes.
fn named(key_type: KeyType, length: Length, origin: Origin) -> Result<DesToken, Refusal> {
    let form = if length.bytes.is_none() {
        key_type.default_form()
    } else {
        length.form().ok_or(code::KEY_LENGTH_KEYWORD)?
    };
    if !key_type.has_default() {
        return Err(code::KEYWORD_COMBINATION.into());
    }
    let vector = key_type.default_vector(form).ok_or(code::KEY_LENGTH_KEYWORD)?;
    Ok(DesToken::skeleton(origin, vector.form().unwrap_or(form), vector)?)
}

/// The token for TOKEN: the one in the field, without its key. A given length must be that of the token, but decides if
/// the control vector is zero.
fn described(there: DesToken, length: Length) -> Result<DesToken, Refusal> {
    let token = there.without_key();
    let vector = token.control_vector();
    if vector.is_key_part() {
        return Err(code::KEY_USAGE.into());
    }
    if length.repeated && token.form().is_unique() {
        return Err(code::KEY_LENGTH_KEYWORD.into());
    }
    match length.bytes {
        None => Ok(token),
        Some(_) if vector.is_zero() => {
            let form = length.form().ok_or(code::KEY_LENGTH_KEYWORD)?;
            let skeleton = DesToken::skeleton(token.origin(), form, ControlVector::ZERO)?;
            Ok(skeleton.with_enhanced(token.is_enhanced()))
        }
        Some(bytes) if bytes == token.form().key_bytes() => Ok(token),
        Some(_) => Err(code::KEY_LENGTH_KEYWORD.into()),
    }
}

/// Length of an AES key in bytes: from the parameter, or else from the token in the field.
fn aes_bytes(target: &[u8], kind: Kind, length: Length) -> Result<usize, Refusal> {
    let there = match aes_target(target)? {
        Some(token) => token.key_bytes(),
        None if kind == Kind::AesData => 0,
        None => return Err(code::TOKEN_INVALID.into()),
    };
    if length.unique || length.repeated {
        return Err(code::KEY_LENGTH_KEYWORD.into());
    }
    match (length.bytes, there) {
        (None, bytes @ (16 | 24 | 32)) => Ok(bytes),
        (Some(bytes @ (16 | 24 | 32)), 0) => Ok(bytes),
        (Some(bytes), there) if bytes == there => Ok(bytes),
        _ => Err(code::KEY_LENGTH_KEYWORD.into()),
    }
}

/// A random key with odd parity; its parts differ unless equal halves are asked for.
///
/// # Errors
/// 8/43 for a key-encrypting key with equal halves.
fn des_key(call: &Call<'_, '_>, skeleton: &DesToken, length: Length) -> Result<SecretBytes, Codes> {
    if length.repeated && skeleton.control_vector().is_transport() {
        return Err(code::KEY_LENGTH_KEYWORD);
    }
    let mut key = SecretBytes::new(skeleton.form().key_bytes());
    loop {
        call.random(&mut key);
        parity::make_odd(&mut key);
        if length.repeated {
            let (left, right) = key.split_at_mut(8);
            right.copy_from_slice(left);
            return Ok(key);
        }
        let equal =
            |one: usize, two: usize| key.len() >= 8 * (two + 1) && key[8 * one..][..8] == key[8 * two..][..8];
        if !equal(0, 1) && !equal(1, 2) && !equal(0, 2) {
            return Ok(key);
        }
    }
}

const fn length(bytes: usize) -> Length {
    Length { bytes: Some(bytes), unique: false, repeated: false }
}

const LENGTHS: &[(u64, Length)] = &[
    (u64::from_be_bytes(*b"        "), Length { bytes: None, unique: false, repeated: false }),
    (word("SINGLE"), length(8)),
    (word("KEYLN8"), length(8)),
    (word("SINGLE-R"), Length { bytes: Some(16), unique: false, repeated: true }),
    (word("DOUBLE"), length(16)),
    (word("KEYLN16"), length(16)),
    (word("DOUBLE-O"), Length { bytes: Some(16), unique: true, repeated: false }),
    (word("KEYLN24"), length(24)),
    (word("TRIPLE-O"), Length { bytes: Some(24), unique: true, repeated: false }),
    (word("KEYLN32"), length(32)),
];
