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
//! Programs send clear tokens whose hashes are zero; these hashes are not checked. The forms under
//! a transport key are in [`super::transported`], the internal X'08' in [`super::asym`]. An
//! internal X'02', also under the ASYM master key, is refused as not served.

use super::asym;
use super::build::{Attributes, ClearKey, Lengths};
use super::error::{PkaTokenError, Problem};
use super::section::{FollowingHash, Section, halfword, start};
use super::transported::{self, CRT_CONFOUNDER_BYTES, ME_CONFOUNDER_BYTES};
use super::{
    CrtComponents, Form, ME1024_BITS_MAX, Origin, PrivateSection, PrivateValues, SectionHash, Usage,
};
use std::ops::Range;
use zeroize::Zeroizing;

/// Length of an X'02' section in bytes.
const ME_BYTES: usize = 364;
const ME_FIELD_BYTES: usize = ME1024_BITS_MAX / 8;
const ME_EXPONENT: usize = 108;
const ME_MODULUS: usize = 236;
/// Offset of the lengths in X'08'; X'02' has none.
pub(crate) const LENGTHS: usize = CRT_LENGTHS;
const CRT_LENGTHS: usize = 54;
const CRT_PADDING: usize = 70;
/// Offset of the master key's pattern and the enciphered object protection key in an internal
/// X'08'.
const CRT_MASTER_KEY: usize = 76;
const ME_CONFOUNDER: usize = ME_EXPONENT - ME_CONFOUNDER_BYTES;
const CRT_CONFOUNDER: usize = CRT_VALUES - CRT_CONFOUNDER_BYTES;
const CRT_VALUES: usize = 132;
/// Offset of the format byte, from which on the hash covers the section.
pub(crate) const FORMAT: usize = 28;
const USAGE: usize = 50;
/// Format byte of a clear ME key.
const CLEAR_ME: u8 = 0x00;
/// Format byte of a clear CRT key.
const CLEAR_CRT: u8 = 0x40;
/// Format byte of an ME key under a transport key.
const TRANSPORTED_ME: u8 = 0x82;
/// Format byte of a CRT key under a transport key.
const TRANSPORTED_CRT: u8 = 0x42;
/// Format byte of a CRT key under the ASYM master key.
pub(crate) const INTERNAL_CRT: u8 = 0x08;
/// The XLATE-OK bit in the usage byte.
const TRANSLATABLE: u8 = 0x02;

/// A private section, with the modulus and hash that the rest of the token is checked against.
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
    let format = section.byte(FORMAT)?;
    let clear = if form == Form::Crt { CLEAR_CRT } else { CLEAR_ME };
    let is_clear = origin == Origin::External && format == clear;
    section.reserved(24, 4)?;
    let (usage, translatable) = read_usage(section, USAGE)?;
    let mut source = None;
    let (values, modulus) = match (origin, form) {
        (Origin::Internal, Form::Crt) if format == INTERNAL_CRT => {
            let (wrapped, from, modulus) = asym::read(section)?;
            source = Some(from);
            (PrivateValues::Asym(wrapped), modulus)
        }
        (Origin::External, _) if format == transported_format(form) => {
            no_master_key(section, form)?;
            let (transported, modulus) = transported::read(section, form)?;
            (PrivateValues::Transported(transported), modulus)
        }
        (Origin::External, Form::Crt) if is_clear => {
            no_master_key(section, form)?;
            read_crt(section)?
        }
        (Origin::External, _) if is_clear => {
            no_master_key(section, form)?;
            read_me(section)?
        }
        _ => return Err(section.problem(FORMAT, Problem::NotServed)),
    };
    let stated = section.array::<20>(4)?;
    let is_checked = is_clear && *stated != [0; 20];
    if is_checked && hashes.sha1(section.range(FORMAT, section.len() - FORMAT)?) != *stated {
        return Err(section.problem(4, Problem::Hash));
    }
    let following = section.array(30)?;
    let following_hash =
        if is_clear { FollowingHash::Sha1OrZero(following) } else { FollowingHash::Sha1(following) };
    Ok(Read {
        section: PrivateSection { form, usage, translatable, source, values },
        modulus,
        following_hash,
    })
}

/// Refuses a source, pattern or object protection key in a section that no master key wraps.
fn no_master_key(section: &Section<'_>, form: Form) -> Result<(), PkaTokenError> {
    section.reserved(29, 1)?;
    if form == Form::Crt { section.reserved(CRT_MASTER_KEY, CRT_CONFOUNDER - CRT_MASTER_KEY) } else { Ok(()) }
}

/// The format byte of a key under a transport key.
pub(crate) fn transported_format(form: Form) -> u8 {
    if form == Form::Crt { TRANSPORTED_CRT } else { TRANSPORTED_ME }
}

/// The range of an X'02' section that a transport key enciphers, the number of leading zero bytes
/// in the modulus field, and the modulus.
pub(crate) fn me_fields<'a>(section: &Section<'a>) -> Result<(Range<usize>, usize, &'a [u8]), PkaTokenError> {
    if section.len() != ME_BYTES {
        return Err(section.problem(2, Problem::OutOfArea));
    }
    section.reserved(51, ME_CONFOUNDER - 51)?;
    let modulus = section.range(ME_MODULUS, ME_FIELD_BYTES)?;
    let padding = modulus.iter().take_while(|byte| **byte == 0).count();
    Ok((ME_CONFOUNDER..ME_MODULUS, padding, &modulus[padding..]))
}

/// The range of an X'08' section that a transport key enciphers, the lengths of its private values,
/// and the modulus.
pub(crate) fn crt_fields<'a>(
    section: &Section<'a>,
) -> Result<(Range<usize>, Lengths, &'a [u8]), PkaTokenError> {
    section.reserved(51, 3)?;
    section.reserved(66, 4)?;
    section.reserved(72, CRT_MASTER_KEY - 72)?;
    let mut lengths = [0; 6];
    for (index, length) in lengths.iter_mut().enumerate() {
        *length = section.halfword(CRT_LENGTHS + 2 * index)?;
    }
    let [p, q, dp, dq, u, n] = lengths;
    let lengths = Lengths::Crt { p, q, dp, dq, u };
    let end = CRT_VALUES + lengths.total() + section.halfword(CRT_PADDING)?;
    if end + n != section.len() {
        return Err(section.problem(2, Problem::OutOfArea));
    }
    if end != enciphered(Form::Crt, lengths).end {
        return Err(section.problem(CRT_PADDING, Problem::Value));
    }
    Ok((CRT_CONFOUNDER..end, lengths, section.range(end, n)?))
}

/// The range that a transport key enciphers in a section with private values of these lengths.
pub(crate) fn enciphered(form: Form, lengths: Lengths) -> Range<usize> {
    match form {
        Form::Crt => CRT_CONFOUNDER..CRT_VALUES + lengths.total().next_multiple_of(8),
        _ => ME_CONFOUNDER..ME_MODULUS,
    }
}

fn read_me<'a>(section: &Section<'a>) -> Result<(PrivateValues<'a>, &'a [u8]), PkaTokenError> {
    let (_, padding, modulus) = me_fields(section)?;
    if modulus.is_empty() {
        section.reserved(ME_EXPONENT, ME_FIELD_BYTES)?;
        return Ok((PrivateValues::Skeleton, &[]));
    }
    section.reserved(ME_EXPONENT, padding)?;
    let d = section.range(ME_EXPONENT + padding, ME_FIELD_BYTES - padding)?;
    Ok((PrivateValues::ClearMe { d }, modulus))
}

fn read_crt<'a>(section: &Section<'a>) -> Result<(PrivateValues<'a>, &'a [u8]), PkaTokenError> {
    let (area, lengths, n) = crt_fields(section)?;
    let [p, q, dp, dq, u] = section.fields(CRT_VALUES, lengths.each())?;
    let end = CRT_VALUES + lengths.total();
    section.reserved(end, area.end - end)?;
    let values = crt_values(section, CRT_LENGTHS, CrtComponents { p, q, dp, dq, u }, n)?;
    Ok((values, n))
}

/// The private values of a section in which either all or none of a key's fields are present.
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

/// Reads the byte of usage and translation (XLATE-OK) at `at`.
pub(crate) fn read_usage(section: &Section<'_>, at: usize) -> Result<(Usage, bool), PkaTokenError> {
    let byte = section.byte(at)?;
    let usage = match byte & !TRANSLATABLE {
        0x00 => Usage::SignatureOnly,
        0x80 => Usage::KeyManagement,
        0xC0 => Usage::KeyManagementOnly,
        0xA0 => Usage::TlsOnly,
        _ => return Err(section.problem(at, Problem::Value)),
    };
    Ok((usage, byte & TRANSLATABLE != 0))
}

/// The byte of usage and translation for these attributes.
pub(crate) fn usage_byte(attributes: &Attributes) -> u8 {
    attributes.usage.bits() | if attributes.translatable { TRANSLATABLE } else { 0 }
}

/// The section of a clear key, or of a skeleton if no key is given. The caller has bounded the
/// lengths.
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
