//! The private values of an internal X'08' token: enciphered under an object protection key of
//! TDES, which is enciphered under the ASYM master key.
//!
//! ```text
//! as the clear form, but
//! +28 format X'08' | +29 source | +76 pattern (16) | +92 enciphered: 8 random bytes, object protection key (24)
//! +124 enciphered: confounder (8), p q dp dq U, padding to 8
//! ```
//!
//! Each of the two is enciphered by TDES in outer CBC without an initialization vector. The hash at
//! 4 covers the section from 28 on, with the values from 124 on as they were before enciphering. To
//! change the token's attributes, its usage above all, an attacker would have to know the private
//! key.

use super::build::{Attributes, ClearKey};
use super::clear;
use super::error::PkaTokenError;
use super::section::Section;
use super::transported::{self, Transported, TransportedBuilder};
use super::{Form, INTERNAL, SectionHash, Source};
use zeroize::Zeroizing;

/// Length of the verification pattern of the ASYM master key in bytes.
pub const ASYM_PATTERN_BYTES: usize = 16;
/// Length of the field of the object protection key in bytes.
pub const ASYM_OPK_FIELD_BYTES: usize = 32;
/// Length of the random bytes before the object protection key in its field, in bytes.
pub const ASYM_OPK_CONFOUNDER_BYTES: usize = 8;

const SOURCE: usize = 29;
const PATTERN: usize = 76;
const OPK: usize = PATTERN + ASYM_PATTERN_BYTES;

/// Private values that are wrapped under the ASYM master key.
#[derive(Clone, Copy)]
pub struct AsymWrapped<'a> {
    /// Verification pattern of the ASYM master key.
    pub pattern: &'a [u8; ASYM_PATTERN_BYTES],
    /// The object protection key, with random bytes before it, enciphered under the master key.
    pub opk: &'a [u8; ASYM_OPK_FIELD_BYTES],
    /// The private values, enciphered under the object protection key.
    pub values: Transported<'a>,
}

/// Reads the fields that a clear section does not have; also returns source and modulus.
pub(crate) fn read<'a>(section: &Section<'a>) -> Result<(AsymWrapped<'a>, Source, &'a [u8]), PkaTokenError> {
    let source = Source::from_byte(section.byte(SOURCE)?);
    let source = source.ok_or(section.problem(SOURCE, super::Problem::Value))?;
    let (values, modulus) = transported::read(section, Form::Crt)?;
    Ok((AsymWrapped { pattern: section.array(PATTERN)?, opk: section.array(OPK)?, values }, source, modulus))
}

/// Builds an internal token in two steps, because the data to encipher must be known before they
/// are enciphered.
#[derive(Clone)]
pub struct AsymBuilder(TransportedBuilder);

impl AsymBuilder {
    /// Begins the token of a key. Also returns the private values to be enciphered; the caller
    /// fills their first [`AsymBuilder::confounder_bytes`] bytes with random ones.
    ///
    /// # Errors
    /// As [`clear_token`](super::clear_token); a key with an exponent alone has no such token.
    pub fn new(
        source: Source,
        key: &ClearKey<'_>,
        attributes: &Attributes,
        hashes: &impl SectionHash,
    ) -> Result<(Self, Zeroizing<Vec<u8>>), PkaTokenError> {
        let (mut builder, secret) = TransportedBuilder::new(Form::Crt, key, attributes, hashes)?;
        builder.origin = INTERNAL;
        builder.section[clear::FORMAT] = clear::INTERNAL_CRT;
        builder.section[SOURCE] = source as u8;
        Ok((Self(builder), secret))
    }

    /// Number of random bytes before the private values.
    pub fn confounder_bytes(&self) -> usize {
        self.0.confounder_bytes()
    }

    /// Writes further fields that the hash covers: the pattern of the master key, and the object
    /// protection key enciphered under it.
    pub fn put_key(&mut self, pattern: &[u8; ASYM_PATTERN_BYTES], opk: &[u8; ASYM_OPK_FIELD_BYTES]) {
        self.0.section[PATTERN..OPK].copy_from_slice(pattern);
        self.0.section[OPK..OPK + ASYM_OPK_FIELD_BYTES].copy_from_slice(opk);
    }

    /// The data that the hash covers, if these are the private values to be enciphered.
    ///
    /// # Panics
    /// As [`TransportedBuilder::hashed`].
    pub fn hashed(&self, secret: &[u8]) -> Zeroizing<Vec<u8>> {
        self.0.hashed(secret)
    }

    /// The finished token.
    ///
    /// # Panics
    /// As [`TransportedBuilder::finish`].
    pub fn finish(&self, hash: &[u8; 20], enciphered: &[u8]) -> Vec<u8> {
        self.0.finish(hash, enciphered)
    }
}
