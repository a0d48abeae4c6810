//! The private values of X'02' and X'08' under a transport key of DES: external tokens that travel between systems.
//!
//! ```text
//! both    as the clear form, but +28 format X'82' (X'02') or X'42' (X'08'), and enciphered:
//! X'02'   +84 confounder (24) | +108 d (128)
//! X'08'   +124 confounder (8) | +132 p q dp dq U, padding to 8
//! ```
//!
//! The hash at 4 covers the section from 28 on, as it was before enciphering. It is required,
//! because only this hash shows that the section was deciphered with the right key.

use super::build::{Attributes, ClearKey, Lengths, check_private, check_public, finish};
use super::clear;
use super::error::{PkaTokenError, Problem};
use super::public;
use super::section::Section;
use super::{EXTERNAL, Form, SectionHash, bit_length};
use std::ops::Range;
use zeroize::Zeroizing;

/// Length of the random bytes before the private exponent of X'02', in bytes.
pub(crate) const ME_CONFOUNDER_BYTES: usize = 24;
/// Length of the random bytes before the private values of X'08', in bytes.
pub(crate) const CRT_CONFOUNDER_BYTES: usize = 8;

/// Private values that are enciphered under a transport key.
#[derive(Clone, Copy)]
pub struct Transported<'a> {
    /// The form of the section, X'02' or X'08', which are enciphered in different ways.
    pub form: Form,
    /// The enciphered fields: whole blocks of 8 bytes.
    pub enciphered: &'a [u8],
    /// Lengths of the private values.
    pub lengths: Lengths,
    /// SHA-1 of [`Transported::hashed`].
    pub hash: &'a [u8; 20],
    /// The parts of the section from 28 on, before and after the enciphered fields.
    around: [&'a [u8]; 2],
    /// Offset of the private values in the deciphered fields.
    values_at: usize,
}

impl<'a> Transported<'a> {
    /// The data that the hash covers, if these are the deciphered fields.
    pub fn hashed(&self, deciphered: &[u8]) -> Zeroizing<Vec<u8>> {
        let [before, after] = self.around;
        let mut bytes = Zeroizing::new(Vec::with_capacity(before.len() + deciphered.len() + after.len()));
        bytes.extend_from_slice(before);
        bytes.extend_from_slice(deciphered);
        bytes.extend_from_slice(after);
        bytes
    }

    /// The private values, in the order of a token; `None` if `deciphered` is too short.
    pub fn values<'d>(&self, deciphered: &'d [u8]) -> Option<&'d [u8]> {
        deciphered.get(self.values_at..)?.get(..self.lengths.total())
    }
}

/// Reads the enciphered fields of a section, whose other fields are those of the clear form; also
/// returns the modulus.
pub(crate) fn read<'a>(
    section: &Section<'a>,
    form: Form,
) -> Result<(Transported<'a>, &'a [u8]), PkaTokenError> {
    let (enciphered, lengths, modulus, values_at) = match form {
        Form::Crt => {
            let (at, lengths, modulus) = clear::crt_fields(section)?;
            (at, lengths, modulus, CRT_CONFOUNDER_BYTES)
        }
        _ => {
            let (at, padding, modulus) = clear::me_fields(section)?;
            (at, Lengths::Me { d: modulus.len() }, modulus, ME_CONFOUNDER_BYTES + padding)
        }
    };
    if modulus.is_empty() || lengths.each().contains(&0) {
        return Err(section.problem(clear::LENGTHS, Problem::Inconsistent));
    }
    let (start, end) = (enciphered.start, enciphered.end);
    let around =
        [section.range(clear::FORMAT, start - clear::FORMAT)?, section.range(end, section.len() - end)?];
    let enciphered = section.range(start, end - start)?;
    let hash = section.array(4)?;
    Ok((Transported { form, enciphered, lengths, hash, around, values_at }, modulus))
}

/// Builds an external token in two steps, because the data to encipher must be known before they
/// are enciphered.
#[derive(Clone)]
pub struct TransportedBuilder {
    form: Form,
    /// First byte of the token.
    pub(super) origin: u8,
    /// The section, with zeros in place of its hash and its enciphered fields.
    pub(super) section: Vec<u8>,
    enciphered: Range<usize>,
    rest: Vec<u8>,
}

impl TransportedBuilder {
    /// Begins the token of a key. Also returns the data to encipher; the caller fills their first
    /// [`TransportedBuilder::confounder_bytes`] bytes with random ones.
    ///
    /// # Errors
    /// As [`clear_token`](super::clear_token); [`Problem::NotServed`] for a form other than X'02' and X'08'.
    pub fn new(
        form: Form,
        key: &ClearKey<'_>,
        attributes: &Attributes,
        hashes: &impl SectionHash,
    ) -> Result<(Self, Zeroizing<Vec<u8>>), PkaTokenError> {
        if !matches!(form, Form::Me1024 | Form::Crt) {
            return Err(PkaTokenError { section: form as u8, offset: 0, problem: Problem::NotServed });
        }
        let (n, e) = (key.modulus(), key.exponent());
        check_public(n, e)?;
        check_private(form, n.len(), key.lengths())?;
        let name = attributes.name_section();
        let clear = clear::write(form, Some(key), attributes, &name, hashes);
        let enciphered = clear::enciphered(form, key.lengths());
        let secret = Zeroizing::new(clear[enciphered.clone()].to_vec());
        let mut section = vec![0; clear.len()];
        section[..enciphered.start].copy_from_slice(&clear[..enciphered.start]);
        section[enciphered.end..].copy_from_slice(&clear[enciphered.end..]);
        section[clear::FORMAT] = clear::transported_format(form);
        let mut rest = public::write(e, bit_length(n), &[]);
        rest.extend_from_slice(&name);
        Ok((Self { form, origin: EXTERNAL, section, enciphered, rest }, secret))
    }

    /// The form of the private section: X'02' or X'08'.
    pub fn form(&self) -> Form {
        self.form
    }

    /// Number of random bytes before the private values.
    pub fn confounder_bytes(&self) -> usize {
        if self.form == Form::Crt { CRT_CONFOUNDER_BYTES } else { ME_CONFOUNDER_BYTES }
    }

    /// The data that the hash covers, if `secret` is the data to encipher.
    ///
    /// # Panics
    /// If `secret` does not have the length of the data that [`TransportedBuilder::new`] returned.
    pub fn hashed(&self, secret: &[u8]) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(self.section[clear::FORMAT..].to_vec());
        let at = self.enciphered.start - clear::FORMAT..self.enciphered.end - clear::FORMAT;
        bytes[at].copy_from_slice(secret);
        bytes
    }

    /// The finished token.
    ///
    /// # Panics
    /// As [`TransportedBuilder::hashed`].
    pub fn finish(&self, hash: &[u8; 20], enciphered: &[u8]) -> Vec<u8> {
        let mut section = self.section.clone();
        section[4..24].copy_from_slice(hash);
        section[self.enciphered.clone()].copy_from_slice(enciphered);
        let mut token = vec![self.origin, 0, 0, 0, 0, 0, 0, 0];
        token.extend_from_slice(&section);
        token.extend_from_slice(&self.rest);
        finish(&mut token);
        token
    }
}
