//! Key_Generate (CSNBKGN): a random key, wrapped under the master key.
//!
//! Served are the operational forms: OP, one token, and OPOP, the same key as two tokens of
//! complementary types. Forms that put a key under a transport key are refused with 8/41. A type is one
//! of [`token::KeyType`] with its default control vector; TOKEN takes control vector and length from the
//! token in the generated-key identifier (so are KEYGENKY keys made); AESDATA and AESTOKEN make AES keys.

use engine::SecretBytes;
use token::control_vector::KeyForm;
use token::des::Origin;
use token::{ControlVector, DesToken, KeyType};
use wire::point::Point;
use wire::point::keywords::word;
use wire::verb::key_generate::{Answer, Request};
use wire::{Codes, code};

use crate::call::{Call, Refusal, Reply, Verdict};
use crate::key::target::{aes_target, des_target};
use crate::parity;
use crate::pass::{Skeleton, Token};

/// Answers with the token, or both.
pub(crate) async fn key_generate(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    // Taken apart: what no pass needs is gone before the first.
    let Request {
        key_form,
        key_length,
        key_type_1,
        key_type_2,
        generated_key_identifier_1: target_1,
        generated_key_identifier_2: target_2,
        ..
    } = call.read()?;
    let pair = match key_form {
        b"OP  " => false,
        b"OPOP" => true,
        _ => return Err(code::KEY_FORM.into()),
    };
    call.permit(if pair { Point::KeyGenerateSet } else { Point::KeyGenerateOne })?;
    let length = Length::read(key_length)?;
    if length.repeated {
        call.permit(Point::KeyGenerateSingleR)?;
    }
    let first = Kind::read(key_type_1)?.ok_or(code::KEYWORD)?;
    let second = Kind::read(key_type_2)?;
    let (token_1, token_2) = match (pair, first, second) {
        (false, kind, None) => (single(call, target_1, kind, length).await?, None),
        (true, Kind::Des(one), Some(Kind::Des(two))) => {
            if !COMPLEMENTS.contains(&(one, two)) && !COMPLEMENTS.contains(&(two, one)) {
                return Err(code::KEYWORD_COMBINATION.into());
            }
            let one = des_skeleton(one, length)?;
            let two = des_skeleton(two, length)?;
            if one.form() != two.form() {
                return Err(code::KEY_LENGTH_KEYWORD.into());
            }
            des_target(target_1)?;
            des_target(target_2)?;
            let (one, two) = both(call, one, two, length).await?;
            (one, Some(two))
        }
        _ => return Err(code::KEYWORD_COMBINATION.into()),
    };
    reply.write(Answer {
        generated_key_identifier_1: Some(&token_1),
        generated_key_identifier_2: token_2.as_deref(),
        ..Answer::default()
    })?;
    Ok(code::OK)
}

async fn single(call: Call<'_, '_>, target: &[u8], kind: Kind, length: Length) -> Result<Token, Refusal> {
    let skeleton = match kind {
        Kind::AesData | Kind::AesToken => {
            let mut key = SecretBytes::new(aes_bytes(target, kind, length)?);
            call.random(&mut key);
            return Ok(call.make(Skeleton::Aes, key).await?);
        }
        Kind::Token => token_skeleton(target, length)?,
        Kind::Des(key_type) => {
            des_target(target)?;
            des_skeleton(key_type, length)?
        }
    };
    permit_form(&call, &skeleton)?;
    let key = des_key(&call, &skeleton, length);
    Ok(call.make(Skeleton::Des(skeleton), key).await?)
}

async fn both(
    call: Call<'_, '_>,
    one: DesToken,
    two: DesToken,
    length: Length,
) -> Result<(Token, Token), Refusal> {
    permit_form(&call, &one)?;
    let key = des_key(&call, &one, length);
    let one = call.make(Skeleton::Des(one), key.clone());
    let two = call.make(Skeleton::Des(two), key);
    Ok((one.await?, two.await?))
}

/// Keys of single length have a point of their own.
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
    /// The key type of this name; `None` where it is blank or zero.
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

/// What the key-length parameter asks for.
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
fn des_skeleton(key_type: KeyType, length: Length) -> Result<DesToken, Refusal> {
    let form = if length.bytes.is_none() {
        key_type.default_form()
    } else {
        length.form().ok_or(code::KEY_LENGTH_KEYWORD)?
    };
    if key_type == KeyType::KeyGenKy {
        return Err(code::KEYWORD_COMBINATION.into());
    }
    let vector = key_type.default_vector(form).ok_or(code::KEY_LENGTH_KEYWORD)?;
    Ok(DesToken::skeleton(Origin::Internal, vector.form().unwrap_or(form), vector)?)
}

/// The token of TOKEN: the one that is there, without its key. A length that is given must be its own,
/// but where its control vector is zero decides.
fn token_skeleton(target: &[u8], length: Length) -> Result<DesToken, Refusal> {
    let token = des_target(target)?.ok_or(code::TOKEN_INVALID)?.without_key();
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
            Ok(DesToken::skeleton(Origin::Internal, form, ControlVector::ZERO)?)
        }
        Some(bytes) if bytes == token.form().key_bytes() => Ok(token),
        Some(_) => Err(code::KEY_LENGTH_KEYWORD.into()),
    }
}

/// Length of an AES key: as asked for, or as the token there says.
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
fn des_key(call: &Call<'_, '_>, skeleton: &DesToken, length: Length) -> SecretBytes {
    let mut key = SecretBytes::new(skeleton.form().key_bytes());
    loop {
        call.random(&mut key);
        parity::make_odd(&mut key);
        if length.repeated {
            let (left, right) = key.split_at_mut(8);
            right.copy_from_slice(left);
            return key;
        }
        let equal =
            |one: usize, two: usize| key.len() >= 8 * (two + 1) && key[8 * one..][..8] == key[8 * two..][..8];
        if !equal(0, 1) && !equal(1, 2) && !equal(0, 2) {
            return key;
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

/// Types of which one key may be held twice: what one does the other undoes or checks.
const COMPLEMENTS: &[(KeyType, KeyType)] = &[
    (KeyType::Data, KeyType::Data),
    (KeyType::DataC, KeyType::DataC),
    (KeyType::DataM, KeyType::DataM),
    (KeyType::DataM, KeyType::DataMv),
    (KeyType::Cipher, KeyType::Cipher),
    (KeyType::Cipher, KeyType::Encipher),
    (KeyType::Cipher, KeyType::Decipher),
    (KeyType::Encipher, KeyType::Decipher),
    (KeyType::Mac, KeyType::Mac),
    (KeyType::Mac, KeyType::MacVer),
];
