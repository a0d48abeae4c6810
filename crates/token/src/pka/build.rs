//! Builders of whole tokens: public, clear, skeleton, internal.
//!
//! [`PkaToken::parse`](super::PkaToken::parse) reads every token that a builder makes.

use super::aes;
use super::clear;
use super::error::{PkaTokenError, Problem};
use super::public;
use super::section::{halfword, write_name};
use super::unconfirmed::{OPK_FIELD_BYTES, wrapped_payload_bytes};
use super::{
    CrtComponents, Destination, EXTERNAL, Form, HEADER_BYTES, ME1024_BITS_MAX, MODULUS_BITS_MAX,
    MODULUS_BITS_MIN, NAME_BYTES, SectionHash, Usage, bit_length,
};
use zeroize::Zeroizing;

/// The attributes of a private token beside its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// The uses of the key.
    pub usage: Usage,
    /// XLATE-OK: whether the key may be translated to another transport key.
    pub translatable: bool,
    /// The private-key name; none for a token without a name.
    pub name: Option<[u8; NAME_BYTES]>,
}

impl Attributes {
    pub(super) fn name_section(&self) -> Vec<u8> {
        self.name.as_ref().map(write_name).unwrap_or_default()
    }
}

/// A clear private key to be written into a token.
#[derive(Clone, Copy)]
pub enum ClearKey<'a> {
    /// Modulus and exponent.
    Me {
        /// Modulus, no leading zero byte.
        n: &'a [u8],
        /// Public exponent.
        e: &'a [u8],
        /// Private exponent, at most as long as the modulus.
        d: &'a [u8],
    },
    /// Chinese remainder theorem.
    Crt {
        /// Modulus, no leading zero byte.
        n: &'a [u8],
        /// Public exponent.
        e: &'a [u8],
        /// Private values, each at most as long as the modulus.
        components: CrtComponents<'a>,
    },
}

impl<'a> ClearKey<'a> {
    pub(crate) fn modulus(&self) -> &'a [u8] {
        match *self {
            Self::Me { n, .. } | Self::Crt { n, .. } => n,
        }
    }

    pub(crate) fn exponent(&self) -> &'a [u8] {
        match *self {
            Self::Me { e, .. } | Self::Crt { e, .. } => e,
        }
    }

    /// Lengths of the private values.
    pub fn lengths(&self) -> Lengths {
        match self {
            Self::Me { d, .. } => Lengths::Me { d: d.len() },
            Self::Crt { components: c, .. } => {
                Lengths::Crt { p: c.p.len(), q: c.q.len(), dp: c.dp.len(), dq: c.dq.len(), u: c.u.len() }
            }
        }
    }

    /// The private values in the order of a token.
    pub fn values(&self) -> impl Iterator<Item = &'a [u8]> {
        let values = match self {
            Self::Me { d, .. } => [*d, &[], &[], &[], &[]],
            Self::Crt { components, .. } => components.each(),
        };
        values.into_iter()
    }
}

/// Lengths of the private values of a key, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// Modulus and exponent.
    Me {
        /// Private exponent.
        d: usize,
    },
    /// Chinese remainder theorem.
    Crt {
        /// First prime.
        p: usize,
        /// Second prime.
        q: usize,
        /// `d mod (p - 1)`.
        dp: usize,
        /// `d mod (q - 1)`.
        dq: usize,
        /// `q^-1 mod p`.
        u: usize,
    },
}

impl Lengths {
    pub(crate) fn none(form: Form) -> Self {
        if form.is_crt() { Self::Crt { p: 0, q: 0, dp: 0, dq: 0, u: 0 } } else { Self::Me { d: 0 } }
    }

    /// The form of an internal token that holds such a key.
    pub fn form(&self) -> Form {
        match self {
            Self::Me { .. } => Form::MeAes,
            Self::Crt { .. } => Form::CrtAes,
        }
    }
}

/// An external token of a public key.
///
/// # Errors
/// [`Problem::Value`] or [`Problem::Inconsistent`]: a modulus outside of 512 to 4096 bits or with a
/// leading zero byte, or an exponent that is even, 1, or longer than the modulus.
pub fn public_token(n: &[u8], e: &[u8]) -> Result<Vec<u8>, PkaTokenError> {
    check_public(n, e)?;
    let mut token = vec![EXTERNAL, 0, 0, 0, 0, 0, 0, 0];
    token.extend_from_slice(&public::write(e, bit_length(n), n));
    finish(&mut token);
    Ok(token)
}

/// An external token of a clear private key.
///
/// # Errors
/// As [`public_token`]; also if the key does not have the form, X'02' is asked for more than 1024
/// bits, or a private value is empty or longer than the modulus.
pub fn clear_token(
    form: Form,
    key: &ClearKey<'_>,
    attributes: &Attributes,
    hashes: &impl SectionHash,
) -> Result<Zeroizing<Vec<u8>>, PkaTokenError> {
    let n = key.modulus();
    check_public(n, key.exponent())?;
    check_private(form, n.len(), key.lengths())?;
    let name = attributes.name_section();
    let section = private_section(form, Some(key), attributes, &name, hashes);
    let mut token = Zeroizing::new(Vec::with_capacity(
        HEADER_BYTES + section.len() + 12 + key.exponent().len() + name.len(),
    ));
    token.extend_from_slice(&[EXTERNAL, 0, 0, 0, 0, 0, 0, 0]);
    token.extend_from_slice(&section);
    token.extend_from_slice(&public::write(key.exponent(), bit_length(n), &[]));
    token.extend_from_slice(&name);
    finish(&mut token);
    Ok(token)
}

/// An external skeleton token, to generate a key with a modulus of `modulus_bits` from.
///
/// # Errors
/// As [`clear_token`].
pub fn skeleton_token(
    form: Form,
    modulus_bits: usize,
    e: &[u8],
    attributes: &Attributes,
    hashes: &impl SectionHash,
) -> Result<Vec<u8>, PkaTokenError> {
    check_exponent(modulus_bits, e)?;
    if form == Form::Me1024 && modulus_bits > ME1024_BITS_MAX {
        return Err(PkaTokenError { section: form as u8, offset: 236, problem: Problem::Value });
    }
    let name = attributes.name_section();
    let mut token = vec![EXTERNAL, 0, 0, 0, 0, 0, 0, 0];
    token.extend_from_slice(&private_section(form, None, attributes, &name, hashes));
    token.extend_from_slice(&public::write(e, modulus_bits, &[]));
    token.extend_from_slice(&name);
    finish(&mut token);
    Ok(token)
}

fn private_section(
    form: Form,
    key: Option<&ClearKey<'_>>,
    attributes: &Attributes,
    following: &[u8],
    hashes: &impl SectionHash,
) -> Zeroizing<Vec<u8>> {
    match form {
        Form::Me1024 | Form::Crt => clear::write(form, key, attributes, following, hashes),
        Form::MeAes | Form::CrtAes => aes::write_clear(form, key, attributes, following, hashes),
    }
}

/// Builds a token with a wrapped private key in two steps, because the data that the wrapping
/// covers must be known before the key is wrapped.
pub struct WrappedBuilder {
    destination: Destination,
    section: Vec<u8>,
    rest: Vec<u8>,
    public: [Vec<u8>; 2],
    fields: aes::WrappedFields,
    payload_bytes: usize,
}

impl WrappedBuilder {
    /// Begins the token of a key with modulus `n`, public exponent `e` and private values of these lengths.
    ///
    /// # Errors
    /// As [`clear_token`].
    pub fn new(
        destination: Destination,
        attributes: &Attributes,
        n: &[u8],
        e: &[u8],
        lengths: Lengths,
        hashes: &impl SectionHash,
    ) -> Result<Self, PkaTokenError> {
        check_public(n, e)?;
        check_private(lengths.form(), n.len(), lengths)?;
        let name = attributes.name_section();
        let section = aes::write_wrapped(destination, attributes, n, lengths, &name, hashes);
        let mut rest = public::write(e, bit_length(n), &[]);
        rest.extend_from_slice(&name);
        Ok(Self {
            destination,
            section,
            rest,
            public: [n.to_vec(), e.to_vec()],
            fields: aes::wrapped_fields(lengths.form(), n.len()),
            payload_bytes: wrapped_payload_bytes(lengths.total()),
        })
    }

    /// The data that the hash within the payload covers, one after the other: the associated data,
    /// modulus and public exponent.
    pub fn hashed(&self) -> [&[u8]; 3] {
        let [n, e] = &self.public;
        [&self.section[self.fields.associated_data.clone()], n, e]
    }

    /// Length that the wrapped payload must have, in bytes.
    pub fn payload_bytes(&self) -> usize {
        self.payload_bytes
    }

    /// The finished token.
    ///
    /// # Panics
    /// If the payload does not have the length [`WrappedBuilder::payload_bytes`].
    pub fn finish(&self, opk: &[u8; OPK_FIELD_BYTES], pattern: &[u8; 8], payload: &[u8]) -> Vec<u8> {
        let mut section = self.section.clone();
        section[self.fields.opk.clone()].copy_from_slice(opk);
        section[self.fields.pattern.clone()].copy_from_slice(pattern);
        section[self.fields.payload.clone()].copy_from_slice(payload);
        let mut token = vec![self.destination.header(), 0, 0, 0, 0, 0, 0, 0];
        token.extend_from_slice(&section);
        token.extend_from_slice(&self.rest);
        finish(&mut token);
        token
    }
}

/// Writes the length of a whole token into its header.
pub(super) fn finish(token: &mut [u8]) {
    let length = halfword(token.len());
    token[2..4].copy_from_slice(&length);
}

pub(super) fn check_public(n: &[u8], e: &[u8]) -> Result<(), PkaTokenError> {
    if n.first().is_none_or(|byte| *byte == 0) {
        return Err(PkaTokenError {
            section: public::PUBLIC_SECTION,
            offset: 8,
            problem: Problem::Inconsistent,
        });
    }
    check_exponent(bit_length(n), e)
}

fn check_exponent(modulus_bits: usize, e: &[u8]) -> Result<(), PkaTokenError> {
    let problem = |offset, problem| Err(PkaTokenError { section: public::PUBLIC_SECTION, offset, problem });
    if !(MODULUS_BITS_MIN..=MODULUS_BITS_MAX).contains(&modulus_bits) {
        return problem(8, Problem::Value);
    }
    let is_odd = e.last().is_some_and(|byte| byte & 1 == 1);
    if !is_odd || bit_length(e) < 2 || e.len() > modulus_bits.div_ceil(8) {
        return problem(12, Problem::Value);
    }
    Ok(())
}

pub(super) fn check_private(form: Form, modulus_bytes: usize, lengths: Lengths) -> Result<(), PkaTokenError> {
    let problem = |problem| Err(PkaTokenError { section: form as u8, offset: 52, problem });
    if form.is_crt() != lengths.form().is_crt() {
        return problem(Problem::Inconsistent);
    }
    if form == Form::Me1024 && modulus_bytes * 8 > ME1024_BITS_MAX {
        return problem(Problem::Value);
    }
    if lengths.each().iter().any(|length| *length == 0 || *length > modulus_bytes) {
        return problem(Problem::Value);
    }
    Ok(())
}
