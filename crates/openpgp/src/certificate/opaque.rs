//! Subkeys of a kind that is not supported here: another version, algorithm, curve or lock.
//!
//! They are kept as they were read, with the signatures after them, and written again with the rest of the
//! certificate. They are not used.

use crate::compute::engine;
use pgp::packet::PacketHeader;
use pgp::ser::Serialize;
use pgp::types::Tag;
use std::fmt;
use zeroize::Zeroizing;

/// Length of the fields before those of the algorithm in a version 4 key packet, in bytes: version, time, algorithm.
const V4_START_BYTES: usize = 6;

/// A subkey as it was read, public or private; wiped when dropped.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Opaque {
    is_private: bool,
    body: Zeroizing<Vec<u8>>,
    /// The public half; `None` if it is not known where it ends.
    public: Option<Vec<u8>>,
    /// The signature packets that follow the subkey, with headers.
    signatures: Vec<u8>,
}

impl Opaque {
    pub(super) fn new(is_private: bool, body: &[u8]) -> Self {
        let public = if is_private { public_bytes(body).map(|end| &body[..end]) } else { Some(body) };
        let public = public.map(<[u8]>::to_vec);
        Self { is_private, body: Zeroizing::new(body.to_vec()), public, signatures: Vec::new() }
    }

    pub(super) fn add_signature(&mut self, header: PacketHeader, body: &[u8]) {
        self.signatures.extend(header.to_bytes().unwrap_or_default());
        self.signatures.extend_from_slice(body);
    }

    pub(crate) fn is_private(&self) -> bool {
        self.is_private
    }

    /// The public half with the same signatures; `None` if it is not known where the public half ends.
    pub(crate) fn public_half(&self) -> Option<Self> {
        let public = self.public.clone()?;
        let signatures = self.signatures.clone();
        Some(Self { is_private: false, body: public.clone().into(), public: Some(public), signatures })
    }

    /// Whether both are the same subkey, compared by the public halves if both are known.
    pub(crate) fn is_same_key(&self, other: &Self) -> bool {
        match (&self.public, &other.public) {
            (Some(one), Some(other)) => one == other,
            _ => self.body == other.body,
        }
    }

    /// Takes the signatures of another copy if they have more bytes in all.
    pub(super) fn merge(&mut self, other: &Self) {
        if other.signatures.len() > self.signatures.len() {
            self.signatures.clone_from(&other.signatures);
        }
    }

    /// A description: the fingerprint, if it can be computed, and the kind.
    pub(crate) fn name(&self) -> String {
        let version = self.body.first().copied().unwrap_or(0);
        let algorithm = self.body.get(V4_START_BYTES - 1).copied().unwrap_or(0);
        let kind = format!("version {version}, algorithm {algorithm}");
        match (version, &self.public) {
            (4, Some(public)) => format!("{} ({kind})", fingerprint_v4(public)),
            _ => kind,
        }
    }

    /// Appends the subkey's packet and its signatures, with headers.
    pub(crate) fn write(&self, out: &mut Zeroizing<Vec<u8>>) {
        let tag = if self.is_private { Tag::SecretSubkey } else { Tag::PublicSubkey };
        let bytes = u32::try_from(self.body.len()).unwrap_or(u32::MAX);
        let header = PacketHeader::new_fixed(tag, bytes).to_bytes().unwrap_or_default();
        // One allocation: growing would leave unwiped copies behind.
        let more = header.len() + self.body.len() + self.signatures.len();
        let mut all = Zeroizing::new(Vec::with_capacity(out.len() + more));
        for part in [&out[..], &header, &self.body, &self.signatures] {
            all.extend_from_slice(part);
        }
        *out = all;
    }
}

/// Length of the public half of a version 4 private key, by the fields of its algorithm (RFC 9580, 5.5.5). `None` for
/// other versions and unknown algorithms.
fn public_bytes(body: &[u8]) -> Option<usize> {
    let (start, rest) = body.split_at_checked(V4_START_BYTES)?;
    if start[0] != 4 {
        return None;
    }
    let end = match start[V4_START_BYTES - 1] {
        1..=3 => integers(rest, 2)?,
        16 => integers(rest, 3)?,
        17 => integers(rest, 4)?,
        18 => {
            let point = named_point(rest)?;
            point + 1 + usize::from(*rest.get(point)?)
        }
        19 | 22 => named_point(rest)?,
        _ => return None,
    };
    (end <= rest.len()).then_some(V4_START_BYTES + end)
}

/// Length of a curve's name and of a point on the curve.
fn named_point(rest: &[u8]) -> Option<usize> {
    let name = 1 + usize::from(*rest.first()?);
    Some(name + integers(rest.get(name..)?, 1)?)
}

/// Length of `count` multiprecision integers.
fn integers(rest: &[u8], count: usize) -> Option<usize> {
    let mut at = 0;
    for _ in 0..count {
        let bits = u16::from_be_bytes(*rest.get(at..)?.first_chunk()?);
        at += 2 + usize::from(bits).div_ceil(8);
    }
    Some(at)
}

fn fingerprint_v4(public: &[u8]) -> String {
    let bytes = u16::try_from(public.len()).unwrap_or(u16::MAX).to_be_bytes();
    let hashed = engine().hash(engine::HashAlgorithm::Sha1, &[&[0x99][..], &bytes, public].concat());
    let digest = hashed.map(|hashed| hashed[..20].to_vec()).unwrap_or_default();
    digest.iter().map(|octet| format!("{octet:02X}")).collect()
}

impl fmt::Debug for Opaque {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Opaque({})", self.name())
    }
}
