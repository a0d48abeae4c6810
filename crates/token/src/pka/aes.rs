//! The private sections X'30' (ME) and X'31' (CRT) with an AES object protection key.
//!
//! ```text
//! both    +4 length of the associated data | +6 payload length ppp | +8 zero (2)
//!         associated data: +10 version X'02' ME, X'03' CRT | +11 format | +12 source | +13 zero | +14 hash type
//!         | +15 SHA-256 of the sections after the public one (32) | +47 zero (3) | +50 usage | +51 zero
//! X'30'   +52 lengths of n, d | end | +56 key (48) | +104 pattern (16) | +120 zero (2) | +122 n | payload
//! X'31'   +52 lengths of p q dp dq U n | +64 zero (4) | end | +68 key (48) | +116 pattern (16) | +132 zero (2)
//!         | +134 n | payload
//! ```
//!
//! The payload of a clear section is the private values one after the other;
//! [`unconfirmed`](super::unconfirmed) describes that of a wrapped section. External tokens are
//! clear, or wrapped (format X'82' ME, X'42' CRT) under a transport key of AES; their source is
//! zero.

use super::build::{Attributes, ClearKey, Lengths};
use super::clear::{Read, crt_values, read_usage, usage_byte};
use super::error::{PkaTokenError, Problem};
use super::section::{FollowingHash, Section, halfword, start};
use super::unconfirmed::{
    CRT_ASSOCIATED_BYTES, CRT_LENGTHS, CRT_OPK, ME_EXPONENT_LENGTH, OPK_FIELD_BYTES, wrapped_payload_bytes,
};
use super::{CrtComponents, Destination, Form, Origin, PrivateSection, PrivateValues, SectionHash, Source};
use zeroize::Zeroizing;

/// Offset of the associated data.
pub(crate) const ASSOCIATED_AT: usize = 10;
const ME_ASSOCIATED_BYTES: usize = 46;
const ME_MODULUS_LENGTH: usize = 52;
const ME_OPK: usize = ASSOCIATED_AT + ME_ASSOCIATED_BYTES;
const PATTERN_FIELD_BYTES: usize = 16;
const HASH_TYPE: usize = 14;
const HASH_SHA256: u8 = 0x02;
const HASH: usize = 15;
const USAGE: usize = 50;

/// A wrapped private key, as it stands in a token.
#[derive(Clone, Copy)]
pub struct Wrapped<'a> {
    /// Verification pattern of the APKA master key, or in an external token of the transport key.
    pub pattern: &'a [u8; 8],
    /// The object protection key, wrapped under the master key or the transport key.
    pub opk: &'a [u8; OPK_FIELD_BYTES],
    /// The data that the payload's hash covers before modulus and public exponent.
    pub associated_data: &'a [u8],
    /// The private values, wrapped under the object protection key.
    pub payload: &'a [u8],
    /// Lengths of the private values within the unwrapped payload.
    pub lengths: Lengths,
}

/// The differences between the two forms.
struct Layout {
    form: Form,
    version: u8,
    clear: u8,
    transported: u8,
    internal: u8,
    associated_bytes: usize,
}

impl Layout {
    const ME: Self = Self {
        form: Form::MeAes,
        version: 0x02,
        clear: 0x00,
        transported: 0x82,
        internal: 0x02,
        associated_bytes: ME_ASSOCIATED_BYTES,
    };
    const CRT: Self = Self {
        form: Form::CrtAes,
        version: 0x03,
        clear: 0x40,
        transported: 0x42,
        internal: 0x08,
        associated_bytes: CRT_ASSOCIATED_BYTES,
    };

    const fn of(form: Form) -> &'static Self {
        if form.is_crt() { &Self::CRT } else { &Self::ME }
    }

    const fn opk(&self) -> usize {
        if self.form.is_crt() { CRT_OPK } else { ME_OPK }
    }

    const fn pattern(&self) -> usize {
        self.opk() + OPK_FIELD_BYTES
    }

    /// Offset of the modulus in the section.
    const fn modulus(&self) -> usize {
        self.pattern() + PATTERN_FIELD_BYTES + 2
    }
}

const _: () = assert!(Layout::ME.modulus() == 122 && Layout::CRT.modulus() == 134);

pub(crate) fn read<'a>(section: &Section<'a>, origin: Origin) -> Result<Read<'a>, PkaTokenError> {
    let layout = Layout::of(if section.id() == Form::CrtAes as u8 { Form::CrtAes } else { Form::MeAes });
    if section.halfword(4)? != layout.associated_bytes {
        return Err(section.problem(4, Problem::OutOfArea));
    }
    section.reserved(8, 2)?;
    if section.byte(10)? != layout.version {
        return Err(section.problem(10, Problem::Version));
    }
    let is_internal = origin == Origin::Internal;
    let format = section.byte(11)?;
    let wrapped = is_internal || format == layout.transported;
    if is_internal && format != layout.internal || !wrapped && format != layout.clear {
        return Err(section.problem(11, Problem::NotServed));
    }
    let source = match (is_internal, Source::from_byte(section.byte(12)?)) {
        (true, None) => return Err(section.problem(12, Problem::Value)),
        (true, source) => source,
        (false, _) => section.reserved(12, 1).map(|()| None)?,
    };
    section.reserved(13, 1)?;
    let following_hash = match section.byte(HASH_TYPE)? {
        HASH_SHA256 => FollowingHash::Sha256(section.array(HASH)?),
        0 if !wrapped => section.reserved(HASH, 32).map(|()| FollowingHash::Absent)?,
        _ => return Err(section.problem(HASH_TYPE, Problem::Value)),
    };
    section.reserved(47, 3)?;
    let (usage, translatable) = read_usage(section, USAGE)?;
    section.reserved(51, 1)?;

    let (lengths, modulus_bytes) = read_lengths(section, layout)?;
    section.reserved(layout.modulus() - 2, 2)?;
    let payload_bytes = section.halfword(6)?;
    let [modulus, payload] = section.fields(layout.modulus(), [modulus_bytes, payload_bytes])?;
    if layout.modulus() + modulus_bytes + payload_bytes != section.len() {
        return Err(section.problem(2, Problem::OutOfArea));
    }
    let expected = if wrapped { wrapped_payload_bytes(lengths.total()) } else { lengths.total() };
    if payload_bytes != expected {
        return Err(section.problem(6, Problem::Inconsistent));
    }
    let values = if wrapped {
        if modulus.is_empty() || lengths.each().contains(&0) {
            return Err(section.problem(52, Problem::Inconsistent));
        }
        let pattern = section.array::<PATTERN_FIELD_BYTES>(layout.pattern())?;
        section.reserved(layout.pattern() + 8, PATTERN_FIELD_BYTES - 8)?;
        let values = Wrapped {
            pattern: pattern.first_chunk().ok_or(section.problem(layout.pattern(), Problem::OutOfArea))?,
            opk: section.array(layout.opk())?,
            associated_data: section.range(ASSOCIATED_AT, layout.associated_bytes)?,
            payload,
            lengths,
        };
        if is_internal { PrivateValues::Wrapped(values) } else { PrivateValues::TransportedAes(values) }
    } else {
        section.reserved(layout.opk(), OPK_FIELD_BYTES + PATTERN_FIELD_BYTES)?;
        clear_values(section, lengths, payload, modulus)?
    };
    Ok(Read {
        section: PrivateSection { form: layout.form, usage, translatable, source, values },
        modulus,
        following_hash,
    })
}

fn read_lengths(section: &Section<'_>, layout: &Layout) -> Result<(Lengths, usize), PkaTokenError> {
    if !layout.form.is_crt() {
        let d = section.halfword(ME_EXPONENT_LENGTH)?;
        return Ok((Lengths::Me { d }, section.halfword(ME_MODULUS_LENGTH)?));
    }
    section.reserved(CRT_LENGTHS + 12, CRT_OPK - CRT_LENGTHS - 12)?;
    let mut lengths = [0; 6];
    for (index, length) in lengths.iter_mut().enumerate() {
        *length = section.halfword(CRT_LENGTHS + 2 * index)?;
    }
    let [p, q, dp, dq, u, n] = lengths;
    Ok((Lengths::Crt { p, q, dp, dq, u }, n))
}

fn clear_values<'a>(
    section: &Section<'a>,
    lengths: Lengths,
    payload: &'a [u8],
    modulus: &[u8],
) -> Result<PrivateValues<'a>, PkaTokenError> {
    match lengths.split(payload) {
        Some(SplitValues::Crt(components)) => crt_values(section, CRT_LENGTHS, components, modulus),
        Some(SplitValues::Me { d }) if d.is_empty() && modulus.is_empty() => Ok(PrivateValues::Skeleton),
        Some(SplitValues::Me { d }) if !d.is_empty() && !modulus.is_empty() => {
            Ok(PrivateValues::ClearMe { d })
        }
        _ => Err(section.problem(52, Problem::Inconsistent)),
    }
}

/// Private values split by their lengths.
pub enum SplitValues<'a> {
    /// The private exponent.
    Me {
        /// The private exponent.
        d: &'a [u8],
    },
    /// The CRT components.
    Crt(CrtComponents<'a>),
}

impl Lengths {
    pub(crate) fn each(&self) -> [usize; 5] {
        match *self {
            // The one value stands five times, so that "none is zero" holds for both forms.
            Self::Me { d } => [d; 5],
            Self::Crt { p, q, dp, dq, u } => [p, q, dp, dq, u],
        }
    }

    /// Length of all private values together, in bytes.
    pub fn total(&self) -> usize {
        match *self {
            Self::Me { d } => d,
            Self::Crt { p, q, dp, dq, u } => p + q + dp + dq + u,
        }
    }

    /// Splits private values that follow one another; `None` if `values` does not have their total
    /// length.
    pub fn split<'a>(&self, values: &'a [u8]) -> Option<SplitValues<'a>> {
        if values.len() != self.total() {
            return None;
        }
        match *self {
            Self::Me { .. } => Some(SplitValues::Me { d: values }),
            Self::Crt { p, q, dp, dq, .. } => {
                let (p, rest) = values.split_at_checked(p)?;
                let (q, rest) = rest.split_at_checked(q)?;
                let (dp, rest) = rest.split_at_checked(dp)?;
                let (dq, u) = rest.split_at_checked(dq)?;
                Some(SplitValues::Crt(CrtComponents { p, q, dp, dq, u }))
            }
        }
    }
}

/// Writes everything of a section before its key field, with the section's length; the caller has
/// bounded the lengths.
fn write_start(
    layout: &Layout,
    wrapped: Option<Destination>,
    attributes: &Attributes,
    n: &[u8],
    lengths: Lengths,
    following: &[u8],
    hashes: &impl SectionHash,
) -> Vec<u8> {
    let payload_bytes = match wrapped {
        Some(_) => wrapped_payload_bytes(lengths.total()),
        None => lengths.total(),
    };
    let mut bytes = start(layout.form as u8, layout.modulus() + n.len() + payload_bytes);
    bytes[4..6].copy_from_slice(&halfword(layout.associated_bytes));
    bytes[6..8].copy_from_slice(&halfword(payload_bytes));
    bytes[10] = layout.version;
    (bytes[11], bytes[12]) = match wrapped {
        Some(Destination::Internal(source)) => (layout.internal, source as u8),
        Some(Destination::External) => (layout.transported, 0),
        None => (layout.clear, 0),
    };
    if wrapped.is_some() || !following.is_empty() {
        bytes[HASH_TYPE] = HASH_SHA256;
    }
    if !following.is_empty() {
        bytes[HASH..HASH + 32].copy_from_slice(&hashes.sha256(following));
    }
    bytes[USAGE] = usage_byte(attributes);
    match lengths {
        Lengths::Me { d } => {
            bytes[ME_MODULUS_LENGTH..][..2].copy_from_slice(&halfword(n.len()));
            bytes[ME_EXPONENT_LENGTH..][..2].copy_from_slice(&halfword(d));
        }
        Lengths::Crt { p, q, dp, dq, u } => {
            for (index, length) in [p, q, dp, dq, u, n.len()].into_iter().enumerate() {
                bytes[CRT_LENGTHS + 2 * index..][..2].copy_from_slice(&halfword(length));
            }
        }
    }
    bytes[layout.modulus()..][..n.len()].copy_from_slice(n);
    bytes
}

/// The section of a clear key, or of a skeleton if no key is given.
pub(crate) fn write_clear(
    form: Form,
    key: Option<&ClearKey<'_>>,
    attributes: &Attributes,
    following: &[u8],
    hashes: &impl SectionHash,
) -> Zeroizing<Vec<u8>> {
    let layout = Layout::of(form);
    let (n, lengths) = match key {
        Some(key) => (key.modulus(), key.lengths()),
        None => (&[][..], Lengths::none(form)),
    };
    let mut bytes = Zeroizing::new(write_start(layout, None, attributes, n, lengths, following, hashes));
    let mut at = layout.modulus() + n.len();
    for value in key.iter().flat_map(|key| key.values()) {
        bytes[at..at + value.len()].copy_from_slice(value);
        at += value.len();
    }
    bytes
}

/// A wrapped section with empty key field, pattern and payload.
pub(crate) fn write_wrapped(
    destination: Destination,
    attributes: &Attributes,
    n: &[u8],
    lengths: Lengths,
    following: &[u8],
    hashes: &impl SectionHash,
) -> Vec<u8> {
    let layout = Layout::of(lengths.form());
    write_start(layout, Some(destination), attributes, n, lengths, following, hashes)
}

/// Ranges of a wrapped section that are filled once the key is wrapped.
pub(crate) struct WrappedFields {
    pub(crate) associated_data: std::ops::Range<usize>,
    pub(crate) opk: std::ops::Range<usize>,
    pub(crate) pattern: std::ops::Range<usize>,
    pub(crate) payload: std::ops::RangeFrom<usize>,
}

pub(crate) fn wrapped_fields(form: Form, modulus_bytes: usize) -> WrappedFields {
    let layout = Layout::of(form);
    WrappedFields {
        associated_data: ASSOCIATED_AT..ASSOCIATED_AT + layout.associated_bytes,
        opk: layout.opk()..layout.pattern(),
        pattern: layout.pattern()..layout.pattern() + 8,
        payload: layout.modulus() + modulus_bytes..,
    }
}
