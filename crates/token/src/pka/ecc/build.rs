//! Builders of whole tokens: public, clear, skeleton, internal.
//!
//! [`EccToken::parse`](super::EccToken::parse) reads every token that a builder makes.

use super::{
    ASSOCIATED, ASSOCIATED_BYTES_MIN, ECC_PRIVATE_SECTION, EccAttributes, EccCurve, FORMAT_CLEAR,
    FORMAT_INTERNAL, FORMAT_TRANSPORTED, HASH_SHA256, OPK, PATTERN, PUBLIC_SECTION, SOURCE,
    USER_DATA_BYTES_MAX, WRAPPING_AESKW, write_derivation, write_public,
};
use crate::pka::build::finish;
use crate::pka::clear::usage_byte;
use crate::pka::error::{PkaTokenError, Problem};
use crate::pka::section::{halfword, start};
use crate::pka::unconfirmed::{OPK_FIELD_BYTES, wrapped_payload_bytes};
use crate::pka::{Destination, EXTERNAL, HEADER_BYTES, Source};
use zeroize::Zeroizing;

/// An external token of a public key.
///
/// # Errors
/// [`Problem::Value`] for bytes that do not have the form of a public key of the curve.
pub fn public_token(curve: EccCurve, point: &[u8]) -> Result<Vec<u8>, PkaTokenError> {
    check_point(curve, point)?;
    let mut token = vec![EXTERNAL, 0, 0, 0, 0, 0, 0, 0];
    token.extend_from_slice(&write_public(curve, point));
    finish(&mut token);
    Ok(token)
}

/// An external token of a clear private key; its private value may lack leading zero bytes.
///
/// # Errors
/// As [`public_token`]; also for a private value that is empty or longer than the curve's, or, for
/// Ed25519, shorter. The same holds for user data that are too long, and for a derivation in a
/// section of version X'00'.
pub fn clear_token(
    curve: EccCurve,
    value: &[u8],
    point: &[u8],
    attributes: &EccAttributes,
) -> Result<Zeroizing<Vec<u8>>, PkaTokenError> {
    check_point(curve, point)?;
    let is_short = value.is_empty() || (curve == EccCurve::Ed25519 && value.len() < curve.bytes());
    if is_short || value.len() > curve.bytes() {
        return Err(PkaTokenError { section: ECC_PRIVATE_SECTION, offset: 74, problem: Problem::Value });
    }
    external(curve, Some(value), point, attributes)
}

/// An external skeleton token, to generate a key from.
///
/// # Errors
/// As [`clear_token`].
pub fn skeleton_token(curve: EccCurve, attributes: &EccAttributes) -> Result<Vec<u8>, PkaTokenError> {
    external(curve, None, &[], attributes).map(|token| token.to_vec())
}

fn external(
    curve: EccCurve,
    value: Option<&[u8]>,
    point: &[u8],
    attributes: &EccAttributes,
) -> Result<Zeroizing<Vec<u8>>, PkaTokenError> {
    check_attributes(attributes)?;
    let value_bytes = if value.is_some() { curve.bytes() } else { 0 };
    let section = write_private(curve, attributes, None, value_bytes);
    let following = write_following(curve, point, attributes);
    let mut token = Zeroizing::new(Vec::with_capacity(HEADER_BYTES + section.len() + following.len()));
    token.extend_from_slice(&[EXTERNAL, 0, 0, 0, 0, 0, 0, 0]);
    token.extend_from_slice(&section);
    if let Some(value) = value {
        let end = token.len();
        token[end - value.len()..].copy_from_slice(value);
    }
    token.extend_from_slice(&following);
    finish(&mut token);
    Ok(token)
}

/// Builds a token with a wrapped private key in two steps, because the data that the wrapping
/// covers must be known before the key is wrapped.
pub struct EccWrappedBuilder {
    destination: Destination,
    section: Vec<u8>,
    following: Vec<u8>,
    /// Offset of the wrapped private value in the section.
    payload_at: usize,
}

impl EccWrappedBuilder {
    /// Begins the token of a key with this public key.
    ///
    /// # Errors
    /// As [`clear_token`].
    pub fn new(
        destination: Destination,
        curve: EccCurve,
        point: &[u8],
        attributes: &EccAttributes,
    ) -> Result<Self, PkaTokenError> {
        check_point(curve, point)?;
        check_attributes(attributes)?;
        let payload_bytes = wrapped_payload_bytes(curve.bytes());
        let section = write_private(curve, attributes, Some(destination), payload_bytes);
        let payload_at = section.len() - payload_bytes;
        Ok(Self { destination, section, following: write_following(curve, point, attributes), payload_at })
    }

    /// The data that the hash within the payload covers: see
    /// [`EccWrapped::hashed`](super::EccWrapped::hashed).
    pub fn hashed(&self) -> [&[u8]; 3] {
        [&self.section[ASSOCIATED..self.payload_at], &self.section[SOURCE..=SOURCE], &self.following]
    }

    /// Length that the wrapped payload must have, in bytes.
    pub fn payload_bytes(&self) -> usize {
        self.section.len() - self.payload_at
    }

    /// The finished token; in a token for another system, the object protection key must be zero.
    ///
    /// # Panics
    /// If the payload does not have the length [`EccWrappedBuilder::payload_bytes`].
    pub fn finish(&self, opk: &[u8; OPK_FIELD_BYTES], pattern: &[u8; 8], payload: &[u8]) -> Vec<u8> {
        let mut section = self.section.clone();
        section[PATTERN..OPK].copy_from_slice(pattern);
        section[OPK..OPK + OPK_FIELD_BYTES].copy_from_slice(opk);
        section[self.payload_at..].copy_from_slice(payload);
        let mut token = vec![self.destination.header(), 0, 0, 0, 0, 0, 0, 0];
        token.extend_from_slice(&section);
        token.extend_from_slice(&self.following);
        finish(&mut token);
        token
    }
}

/// A private section whose private value is zero; the caller has checked the attributes.
fn write_private(
    curve: EccCurve,
    attributes: &EccAttributes,
    wrapped: Option<Destination>,
    value_bytes: usize,
) -> Vec<u8> {
    let name: &[u8] = attributes.common.name.as_ref().map_or(&[], |name| name);
    let own_bytes = ASSOCIATED_BYTES_MIN + name.len();
    let associated_bytes = own_bytes + attributes.user_data.len();
    let mut bytes = start(ECC_PRIVATE_SECTION, ASSOCIATED + associated_bytes + value_bytes);
    bytes[1] = attributes.is_version_1.into();
    if wrapped.is_some() {
        bytes[4..6].copy_from_slice(&[WRAPPING_AESKW, HASH_SHA256]);
    }
    (bytes[10], bytes[SOURCE]) = match wrapped {
        Some(Destination::Internal(source)) => (FORMAT_INTERNAL, source as u8),
        // A key for another system is generated for it.
        Some(Destination::External) => (FORMAT_TRANSPORTED, Source::Random as u8),
        None => (FORMAT_CLEAR, 0),
    };
    bytes[8] = usage_byte(&attributes.common);
    bytes[9] = curve.kind();
    bytes[12..14].copy_from_slice(&halfword(curve.bits()));
    bytes[14..16].copy_from_slice(&halfword(own_bytes));
    bytes[72..74].copy_from_slice(&halfword(associated_bytes));
    bytes[74..76].copy_from_slice(&halfword(value_bytes));
    let (section, associated) = bytes.split_at_mut(ASSOCIATED);
    associated[1] = name.len() as u8;
    associated[2..4].copy_from_slice(&halfword(own_bytes));
    associated[6] = attributes.user_data.len() as u8;
    associated[7] = section[9];
    associated[8..10].copy_from_slice(&section[12..14]);
    associated[10] = section[8];
    associated[11] = section[10];
    associated[12] = section[1];
    associated[ASSOCIATED_BYTES_MIN..own_bytes].copy_from_slice(name);
    associated[own_bytes..associated_bytes].copy_from_slice(&attributes.user_data);
    bytes
}

/// The sections after the private one.
fn write_following(curve: EccCurve, point: &[u8], attributes: &EccAttributes) -> Vec<u8> {
    let mut bytes = write_public(curve, point);
    bytes.extend(attributes.derivation.map(write_derivation).unwrap_or_default());
    bytes
}

fn check_point(curve: EccCurve, point: &[u8]) -> Result<(), PkaTokenError> {
    if curve.has_form(point) {
        return Ok(());
    }
    Err(PkaTokenError { section: PUBLIC_SECTION, offset: 14, problem: Problem::Value })
}

fn check_attributes(attributes: &EccAttributes) -> Result<(), PkaTokenError> {
    let problem = |offset, problem| Err(PkaTokenError { section: ECC_PRIVATE_SECTION, offset, problem });
    if attributes.user_data.len() > USER_DATA_BYTES_MAX {
        return problem(ASSOCIATED + 6, Problem::Value);
    }
    if attributes.derivation.is_some() && !attributes.is_version_1 {
        return problem(1, Problem::Version);
    }
    Ok(())
}
