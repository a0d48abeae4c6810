//! `cryptand key generate`: a key of any kind, made in a card from a skeleton of that kind.

use super::{EMPTY_TOKEN, complete};
use crate::failure::Failure;
use crate::kind::{Kind, Words};
use facility::Facility;
use wire::bounds::{PKA_TOKEN_BYTES_MAX, TOKEN_BYTES_MAX};
use wire::control::Store;
use wire::frame::Arguments;
use wire::verb::{Verb, key_generate as kgn, key_generate2 as kgn2, pka_key_generate as pkg};

/// A key that is asked for.
pub struct Wanted<'a> {
    pub kind: Kind,
    /// What it is for, where that is not the kind's own.
    pub usage: &'a Words,
    /// Which keys it agrees on, where these are not the curve's own.
    pub derives: Option<Kind>,
}

impl Kind {
    /// The store that tokens of this kind belong to.
    pub fn store(self) -> Store {
        match self {
            Self::Des(..) => Store::Des,
            Self::AesData(_) | Self::Aes(..) | Self::Hmac(_) => Store::Aes,
            Self::Rsa(..) | Self::Signing(_) | Self::Agreeing(_) => Store::Pka,
        }
    }
}

/// The token of a new key.
pub fn generated(facility: &Facility, domain: u16, wanted: &Wanted<'_>) -> Result<Vec<u8>, Failure> {
    let kind = wanted.kind;
    let skeleton = kind.skeleton(wanted.usage, wanted.derives).map_err(Failure::Usage)?;
    match kind {
        Kind::Des(..) => fixed(facility, domain, "TOKEN", "", &skeleton),
        Kind::AesData(bits) => {
            fixed(facility, domain, "AESDATA", &format!("KEYLN{}", bits / 8), &EMPTY_TOKEN)
        }
        Kind::Aes(..) => variable(facility, domain, "AES", kind, &skeleton),
        Kind::Hmac(_) => variable(facility, domain, "HMAC", kind, &skeleton),
        Kind::Rsa(..) | Kind::Signing(_) | Kind::Agreeing(_) => pair(facility, domain, &skeleton),
    }
}

/// By Key_Generate, in a token of fixed length.
fn fixed(
    facility: &Facility,
    domain: u16,
    key_type: &str,
    length: &str,
    skeleton: &[u8],
) -> Result<Vec<u8>, Failure> {
    let (length, key_type) = (format!("{length:8}"), format!("{key_type:8}"));
    let mut arguments = Arguments::new(Verb::KeyGenerate);
    arguments
        .set_bytes(kgn::KEY_FORM, b"OP  ")
        .set_bytes(kgn::KEY_LENGTH, length.as_bytes())
        .set_bytes(kgn::KEY_TYPE_1, key_type.as_bytes())
        .set_bytes(kgn::KEY_TYPE_2, b"        ")
        .set_bytes(kgn::KEK_KEY_IDENTIFIER_1, &EMPTY_TOKEN)
        .set_bytes(kgn::KEK_KEY_IDENTIFIER_2, &EMPTY_TOKEN)
        .set_bytes(kgn::GENERATED_KEY_IDENTIFIER_1, skeleton)
        .set_bytes(kgn::GENERATED_KEY_IDENTIFIER_2, &EMPTY_TOKEN);
    let reply = facility.call(domain, &arguments)?;
    complete("key-generate", reply.codes())?;
    Ok(reply.arguments().bytes(kgn::GENERATED_KEY_IDENTIFIER_1).to_vec())
}

/// By Key_Generate2, in a token of variable length.
fn variable(
    facility: &Facility,
    domain: u16,
    algorithm: &str,
    kind: Kind,
    skeleton: &[u8],
) -> Result<Vec<u8>, Failure> {
    let rules = format!("{algorithm:8}OP      ");
    let mut arguments = Arguments::new(Verb::KeyGenerate2);
    arguments
        .set_integer(kgn2::RULE_ARRAY_COUNT, 2)
        .set_bytes(kgn2::RULE_ARRAY, rules.as_bytes())
        .set_integer(kgn2::CLEAR_KEY_BIT_LENGTH, 8 * kind.key_bytes().unwrap_or(0) as i64)
        .set_bytes(kgn2::KEY_TYPE_1, b"TOKEN   ")
        .set_bytes(kgn2::KEY_TYPE_2, b"        ")
        .set_integer(kgn2::GENERATED_KEY_IDENTIFIER_1_LENGTH, TOKEN_BYTES_MAX as i64)
        .set_bytes(kgn2::GENERATED_KEY_IDENTIFIER_1, skeleton);
    let reply = facility.call(domain, &arguments)?;
    complete("key-generate2", reply.codes())?;
    Ok(reply.arguments().bytes(kgn2::GENERATED_KEY_IDENTIFIER_1).to_vec())
}

/// By PKA_Key_Generate: a key pair.
fn pair(facility: &Facility, domain: u16, skeleton: &[u8]) -> Result<Vec<u8>, Failure> {
    let mut arguments = Arguments::new(Verb::PkaKeyGenerate);
    arguments
        .set_integer(pkg::RULE_ARRAY_COUNT, 1)
        .set_bytes(pkg::RULE_ARRAY, b"MASTER  ")
        .set_integer(pkg::SKELETON_KEY_TOKEN_LENGTH, skeleton.len() as i64)
        .set_bytes(pkg::SKELETON_KEY_TOKEN, skeleton)
        .set_bytes(pkg::TRANSPORT_KEY_IDENTIFIER, &EMPTY_TOKEN)
        .set_integer(pkg::GENERATED_KEY_IDENTIFIER_LENGTH, PKA_TOKEN_BYTES_MAX as i64);
    let reply = facility.call(domain, &arguments)?;
    complete("pka-key-generate", reply.codes())?;
    Ok(reply.arguments().bytes(pkg::GENERATED_KEY_IDENTIFIER).to_vec())
}
