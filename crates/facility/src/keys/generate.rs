//! Keys that are generated in a card, from the skeleton of a kind.

use super::{NamedKind, PaymentKey, SkeletonError, Usage};
use crate::{Facility, FacilityError};
use std::fmt;
use wire::Label;
use wire::bounds::{PKA_TOKEN_BYTES_MAX, TOKEN_BYTES_MAX};
use wire::verb::{
    PkaOutput, Room, VariableAlgorithm, VariableKeyForm, key_generate as kgn, key_generate2 as kgn2,
    pka_key_generate as pkg,
};

/// A key that is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The kind.
    pub kind: NamedKind,
    /// Keywords of usage; none for the kind's own.
    pub usage: Option<&'a Usage>,
    /// The kind of the keys that a key of a curve agrees on; none for CIPHER keys as strong as the curve.
    pub derives: Option<NamedKind>,
}

impl From<NamedKind> for Wanted<'_> {
    /// A key with every usage of its kind.
    fn from(kind: NamedKind) -> Self {
        Self { kind, usage: None, derives: None }
    }
}

/// Why no key was generated.
#[derive(Debug)]
pub enum GenerateError {
    /// The kind has no such skeleton; no card was asked.
    Skeleton(SkeletonError),
    /// A card, the daemon or the facility refused or failed.
    Facility(FacilityError),
}

impl std::error::Error for GenerateError {}

impl fmt::Display for GenerateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Skeleton(error) => error.fmt(f),
            Self::Facility(error) => error.fmt(f),
        }
    }
}

impl From<SkeletonError> for GenerateError {
    fn from(error: SkeletonError) -> Self {
        Self::Skeleton(error)
    }
}

impl From<FacilityError> for GenerateError {
    fn from(error: FacilityError) -> Self {
        Self::Facility(error)
    }
}

impl Facility {
    /// The token of a new key, under the master key of a domain.
    ///
    /// # Errors
    /// [`GenerateError`]; refusals of the verb are [`FacilityError::Verb`].
    pub fn generate(&self, domain: u16, wanted: &Wanted<'_>) -> Result<Vec<u8>, GenerateError> {
        let kind = wanted.kind;
        let skeleton = kind.skeleton(wanted.usage.unwrap_or(&Usage::default()), wanted.derives)?;
        Ok(match kind {
            NamedKind::Des(..) => self.fixed(domain, b"TOKEN   ", b"        ", &skeleton),
            // A null token: the verb says all of a key of this type.
            NamedKind::AesData(bits) => self.fixed(domain, b"AESDATA ", aes_length(bits), &[0; 64]),
            NamedKind::Aes(..) => self.variable(domain, VariableAlgorithm::Aes, kind, &skeleton),
            NamedKind::Hmac(_) => self.variable(domain, VariableAlgorithm::Hmac, kind, &skeleton),
            NamedKind::Rsa(..) | NamedKind::Signing(_) | NamedKind::Agreeing(_) => {
                self.pair(domain, &skeleton)
            }
        }?)
    }

    /// The tokens of a new key of payments, under the master key of a domain: of one key, or of two of one value.
    ///
    /// # Errors
    /// As [`Facility::generate`]; 8/34 where no card makes these two for one system
    /// ([`is_made_together`](super::PaymentKind::is_made_together)).
    pub fn generate_payment(&self, domain: u16, keys: &[PaymentKey]) -> Result<Vec<Vec<u8>>, GenerateError> {
        let [one, two] = keys else {
            let single = |key: &PaymentKey| {
                self.generate(domain, &Wanted { kind: key.kind, usage: Some(&key.usage), derives: None })
            };
            return keys.iter().map(single).collect();
        };
        let (first, second) = (one.kind.skeleton(&one.usage, None)?, two.kind.skeleton(&two.usage, None)?);
        if let NamedKind::Des(..) = one.kind {
            let ask = kgn::Ask {
                key_form: b"OPOP",
                key_length: b"        ",
                key_type_1: b"TOKEN   ",
                key_type_2: b"TOKEN   ",
                generated_key_identifier_1: (&first[..]).into(),
                generated_key_identifier_2: (&second[..]).into(),
                ..kgn::Ask::new()
            };
            let answered = self.ask(domain, &ask)?.ok()?;
            let got = answered.got();
            return Ok(vec![
                got.generated_key_identifier_1.to_vec(),
                got.generated_key_identifier_2.to_vec(),
            ]);
        }
        let ask = kgn2::Ask {
            clear_key_bit_length: 8 * one.kind.key_bytes().unwrap_or(0) as i64,
            key_type_1: b"TOKEN   ",
            key_type_2: b"TOKEN   ",
            generated_key_identifier_1: Room { given: &first, bytes: TOKEN_BYTES_MAX },
            generated_key_identifier_2: Room { given: &second, bytes: TOKEN_BYTES_MAX },
            ..kgn2::Ask::new(VariableAlgorithm::Aes, VariableKeyForm::Opop)
        };
        let answered = self.ask(domain, &ask)?.ok()?;
        let got = answered.got();
        Ok(vec![got.generated_key_identifier_1.to_vec(), got.generated_key_identifier_2.to_vec()])
    }

    /// A new key, in a new key record.
    ///
    /// # Errors
    /// As [`Facility::generate`], and [`FacilityError::Refused`] with 8/44 where the label exists.
    pub fn generate_under(
        &self,
        domain: u16,
        label: &Label,
        wanted: &Wanted<'_>,
    ) -> Result<(), GenerateError> {
        let token = self.generate(domain, wanted)?;
        Ok(self.record_create(wanted.kind.store(), label, &token)?)
    }

    /// Generates a key by Key_Generate, in a token of fixed length.
    fn fixed(
        &self,
        domain: u16,
        key_type: &[u8; 8],
        length: &[u8; 8],
        skeleton: &[u8],
    ) -> Result<Vec<u8>, FacilityError> {
        let ask = kgn::Ask {
            key_form: b"OP  ",
            key_length: length,
            key_type_1: key_type,
            key_type_2: b"        ",
            generated_key_identifier_1: skeleton.into(),
            ..kgn::Ask::new()
        };
        Ok(self.ask(domain, &ask)?.ok()?.got().generated_key_identifier_1.to_vec())
    }

    /// Generates a key by Key_Generate2, in a token of variable length.
    fn variable(
        &self,
        domain: u16,
        algorithm: VariableAlgorithm,
        kind: NamedKind,
        skeleton: &[u8],
    ) -> Result<Vec<u8>, FacilityError> {
        let ask = kgn2::Ask {
            clear_key_bit_length: 8 * kind.key_bytes().unwrap_or(0) as i64,
            key_type_1: b"TOKEN   ",
            key_type_2: b"        ",
            generated_key_identifier_1: Room { given: skeleton, bytes: TOKEN_BYTES_MAX },
            ..kgn2::Ask::new(algorithm, VariableKeyForm::Op)
        };
        Ok(self.ask(domain, &ask)?.ok()?.got().generated_key_identifier_1.to_vec())
    }

    /// Generates a key pair by PKA_Key_Generate.
    fn pair(&self, domain: u16, skeleton: &[u8]) -> Result<Vec<u8>, FacilityError> {
        let ask = pkg::Ask {
            output: Some(PkaOutput::Master),
            skeleton_key_token: skeleton.into(),
            generated_key_identifier: Room::of(PKA_TOKEN_BYTES_MAX),
            ..pkg::Ask::new()
        };
        Ok(self.ask(domain, &ask)?.ok()?.got().generated_key_identifier.to_vec())
    }
}

/// The keyword of the length of an AES key.
fn aes_length(bits: usize) -> &'static [u8; 8] {
    match bits {
        128 => b"KEYLN16 ",
        192 => b"KEYLN24 ",
        _ => b"KEYLN32 ",
    }
}
