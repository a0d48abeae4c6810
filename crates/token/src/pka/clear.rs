//! The private sections X'02' (ME to 1024 bits) and X'08' (CRT), in their clear external form.
//!
//! ```text
//! both    +4 SHA-1 of 28 to the end (20) | +24 zero (4) | +28 format | +29 zero | +30 SHA-1 of the
//!         sections after the public one (20) | +50 usage
//! X'02'   +51 zero (9) | +60 zero (24) | +84 confounder (24) | +108 d (128) | +236 n (128)
//! X'08'   +51 zero (3) | +54 lengths of p q dp dq U n | +66 zero (4) | +70 padding length | +72 zero (52)
//!         | +124 confounder (8) | +132 p q dp dq U, padding to 8 from 124 on, n
//! ```
//!
//! The encrypted external forms need a transport key and the internal ones the retired
//! asymmetric master key; both are refused as not served.

use super::build::{Attributes, ClearKey};
use super::error::{PkaTokenError, Problem};
use super::section::{FollowingHash, Section, halfword, start};
use super::{
    CrtComponents, Form, ME1024_BITS_MAX, Origin, PrivateSection, PrivateValues, SectionHash, Usage,
};
use zeroize::Zeroizing;

/// Length of an X'02' section.
const ME_BYTES: usize = 364;
const ME_FIELD_BYTES: usize = ME1024_BITS_MAX / 8;
const ME_EXPONENT: usize = 108;
const ME_MODULUS: usize = 236;
const CRT_LENGTHS: usize = 54;
const CRT_PADDING: usize = 70;
const CRT_CONFOUNDER: usize = 124;
const CRT_VALUES: usize = 132;
const FORMAT: usize = 28;
const USAGE: usize = 50;
/// Format byte of a clear ME key.
const CLEAR_ME: u8 = 0x00;
/// Format byte of a clear CRT key.
const CLEAR_CRT: u8 = 0x40;
/// XLATE-OK within the usage byte.
const TRANSLATABLE: u8 = 0x02;

/// A private section with what the rest of the token is checked against.
pub(crate) struct Read<'a> {
    pub(crate) section: PrivateSection<'a>,
    pub(crate) modulus: &'a [u8],
    pub(crate) following_hash: FollowingHash<'a>,
}

pub(crate) fn read<'a>(
    section: &Section<'a>,
    origin: Origin,
    hashes: &impl SectionHash,
) -> Result<Read<'a>, PkaTokenError> {
    let form = if section.id() == Form::Crt as u8 { Form::Crt } else { Form::Me1024 };
    let expected = if form == Form::Crt { CLEAR_CRT } else { CLEAR_ME };
    if origin == Origin::Internal || section.byte(FORMAT)? != expected {
        return Err(section.problem(FORMAT, Problem::NotServed));
    }
    section.reserved(24, 4)?;
    section.reserved(29, 1)?;
    let (usage, translatable) = read_usage(section, USAGE)?;
    let (values, modulus) = match form {
        Form::Crt => read_crt(section)?,
        _ => read_me(section)?,
    };
    if hashes.sha1(section.range(FORMAT, section.len() - FORMAT)?) != *section.array::<20>(4)? {
        return Err(section.problem(4, Problem::Hash));
    }
    Ok(Read {
        section: PrivateSection { form, usage, translatable, source: None, values },
        modulus,
        following_hash: FollowingHash::Sha1(section.array(30)?),
    })
}

fn read_me<'a>(section: &Section<'a>) -> Result<(PrivateValues<'a>, &'a [u8]), PkaTokenError> {
    if section.len() != ME_BYTES {
        return Err(section.problem(2, Problem::OutOfArea));
    }
    section.reserved(51, 33)?;
    let modulus = section.range(ME_MODULUS, ME_FIELD_BYTES)?;
    let padding = modulus.iter().take_while(|byte| **byte == 0).count();
    if padding == ME_FIELD_BYTES {
        section.reserved(ME_EXPONENT, ME_FIELD_BYTES)?;
        return Ok((PrivateValues::Skeleton, &[]));
    }
    section.reserved(ME_EXPONENT, padding)?;
    let d = section.range(ME_EXPONENT + padding, ME_FIELD_BYTES - padding)?;
    Ok((PrivateValues::ClearMe { d }, &modulus[padding..]))
}

fn read_crt<'a>(section: &Section<'a>) -> Result<(PrivateValues<'a>, &'a [u8]), PkaTokenError> {
    section.reserved(51, 3)?;
    section.reserved(66, 4)?;
    section.reserved(72, CRT_CONFOUNDER - 72)?;
    let mut lengths = [0; 7];
    for (index, length) in lengths.iter_mut().enumerate().take(6) {
        *length = section.halfword(CRT_LENGTHS + 2 * index)?;
    }
    let [p, q, dp, dq, u, n, _] = lengths;
    let padding = section.halfword(CRT_PADDING)?;
    let [p, q, dp, dq, u, pad, n] = section.fields(CRT_VALUES, [p, q, dp, dq, u, padding, n])?;
    let values_bytes = p.len() + q.len() + dp.len() + dq.len() + u.len();
    if CRT_VALUES + values_bytes + padding + n.len() != section.len() {
        return Err(section.problem(2, Problem::OutOfArea));
    }
    if values_bytes + padding != values_bytes.next_multiple_of(8) {
        return Err(section.problem(CRT_PADDING, Problem::Value));
    }
    section.reserved(CRT_VALUES + values_bytes, pad.len())?;
    let values = crt_values(section, CRT_LENGTHS, CrtComponents { p, q, dp, dq, u }, n)?;
    Ok((values, n))
}

/// Either all of a key's fields are there, or none of them.
pub(crate) fn crt_values<'a>(
    section: &Section<'a>,
    lengths_at: usize,
    components: CrtComponents<'a>,
    n: &[u8],
) -> Result<PrivateValues<'a>, PkaTokenError> {
    let empty = components.each().iter().filter(|field| field.is_empty()).count();
    match (empty, n.is_empty()) {
        (5, true) => Ok(PrivateValues::Skeleton),
        (0, false) => Ok(PrivateValues::ClearCrt(components)),
        _ => Err(section.problem(lengths_at, Problem::Inconsistent)),
    }
}

/// Reads the usage and translation byte.
pub(crate) fn read_usage(section: &Section<'_>, at: usize) -> Result<(Usage, bool), PkaTokenError> {
    let byte = section.byte(at)?;
    let usage = match byte & !TRANSLATABLE {
        0x00 => Usage::SignatureOnly,
        0x80 => Usage::KeyManagement,
        0xC0 => Usage::KeyManagementOnly,
        _ => return Err(section.problem(at, Problem::Value)),
    };
    Ok((usage, byte & TRANSLATABLE != 0))
}

/// The usage and translation byte.
pub(crate) fn usage_byte(attributes: &Attributes) -> u8 {
    attributes.usage.bits() | if attributes.translatable { TRANSLATABLE } else { 0 }
}

/// The section of a clear key, or of a skeleton where there is none. The caller has bounded the lengths.
pub(crate) fn write(
    form: Form,
    key: Option<&ClearKey<'_>>,
    attributes: &Attributes,
    following: &[u8],
    hashes: &impl SectionHash,
) -> Zeroizing<Vec<u8>> {
    let mut bytes = match form {
        Form::Crt => write_crt(key),
        _ => write_me(key),
    };
    if !following.is_empty() {
        bytes[30..50].copy_from_slice(&hashes.sha1(following));
    }
    bytes[USAGE] = usage_byte(attributes);
    let hash = hashes.sha1(&bytes[FORMAT..]);
    bytes[4..24].copy_from_slice(&hash);
    bytes
}

fn write_me(key: Option<&ClearKey<'_>>) -> Zeroizing<Vec<u8>> {
    let mut bytes = Zeroizing::new(start(Form::Me1024 as u8, ME_BYTES));
    if let Some(ClearKey::Me { n, d, .. }) = key {
        bytes[ME_EXPONENT + ME_FIELD_BYTES - d.len()..][..d.len()].copy_from_slice(d);
        bytes[ME_MODULUS + ME_FIELD_BYTES - n.len()..][..n.len()].copy_from_slice(n);
    }
    bytes
}

fn write_crt(key: Option<&ClearKey<'_>>) -> Zeroizing<Vec<u8>> {
    let (components, n) = match key {
        Some(ClearKey::Crt { n, components, .. }) => (components.each(), *n),
        _ => ([&[][..]; 5], &[][..]),
    };
    let values_bytes: usize = components.iter().map(|field| field.len()).sum();
    let padding = values_bytes.next_multiple_of(8) - values_bytes;
    let mut bytes = Zeroizing::new(start(Form::Crt as u8, CRT_VALUES + values_bytes + padding + n.len()));
    bytes[FORMAT] = CLEAR_CRT;
    let mut at = CRT_VALUES;
    for (index, field) in components.iter().enumerate() {
        bytes[CRT_LENGTHS + 2 * index..][..2].copy_from_slice(&halfword(field.len()));
        bytes[at..at + field.len()].copy_from_slice(field);
        at += field.len();
    }
    bytes[CRT_LENGTHS + 10..][..2].copy_from_slice(&halfword(n.len()));
    bytes[CRT_PADDING..][..2].copy_from_slice(&halfword(padding));
    bytes[at + padding..].copy_from_slice(n);
    bytes
}
