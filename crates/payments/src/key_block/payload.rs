//! The keys that protect a block, its payload, and the message of its MAC.

use super::attributes::Version;
use crate::mask::Mask;
use zeroize::Zeroizing;

/// Length in bytes of the length field in front of the key.
const LENGTH_BYTES: usize = 2;

/// The purpose of a key that is derived from the protection key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Enciphers the payload.
    Encipher,
    /// Makes the MAC.
    Authenticate,
}

impl Version {
    /// The byte that is XORed with every byte of the protection key in versions A and C; `None` in B and D.
    pub const fn variant(self, purpose: Purpose) -> Option<u8> {
        match (self, purpose) {
            (Self::A | Self::C, Purpose::Encipher) => Some(0x45),
            (Self::A | Self::C, Purpose::Authenticate) => Some(0x4D),
            (Self::B | Self::D, _) => None,
        }
    }

    /// Whether a protection key of this version may have this many bytes.
    pub const fn takes_key_of(self, bytes: usize) -> bool {
        match self {
            Self::A | Self::B | Self::C => matches!(bytes, 16 | 24),
            Self::D => matches!(bytes, 16 | 24 | 32),
        }
    }
}

/// How versions B and D derive a key from the protection key: the CMACs of [messages](Self::messages) in a row, cut to
/// the length of the protection key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Derivation {
    key_bytes: u8,
    cmac_bytes: u8,
    purpose: u8,
    algorithm: u8,
}

impl Derivation {
    /// `None` for versions A and C, and for a protection key of a wrong length.
    pub const fn new(version: Version, purpose: Purpose, key_bytes: usize) -> Option<Self> {
        if version.variant(purpose).is_some() || !version.takes_key_of(key_bytes) {
            return None;
        }
        let algorithm = match (version, key_bytes) {
            (Version::D, 16) => 2,
            (Version::D, 24) => 3,
            (Version::D, _) => 4,
            (_, 16) => 0,
            _ => 1,
        };
        let purpose = match purpose {
            Purpose::Encipher => 0,
            Purpose::Authenticate => 1,
        };
        Some(Self {
            key_bytes: key_bytes as u8,
            cmac_bytes: version.cipher_bytes() as u8,
            purpose,
            algorithm,
        })
    }

    /// The messages of the CMACs: number (1), purpose (2), zero, algorithm (2), length of the key in bits (2).
    pub fn messages(self) -> impl Iterator<Item = [u8; 8]> {
        let [high, low] = (u16::from(self.key_bytes) * 8).to_be_bytes();
        let count = self.key_bytes.div_ceil(self.cmac_bytes);
        (1..=count).map(move |number| [number, 0, self.purpose, 0, 0, self.algorithm, high, low])
    }

    /// Length of the derived key, and of the protection key, in bytes.
    pub const fn key_bytes(self) -> usize {
        self.key_bytes as usize
    }
}

/// How far the payload is padded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Padding {
    /// To whole blocks of the cipher: the length of the text reveals that of the key.
    Least,
    /// To the length for the longest key of its algorithm, if it is TDES or AES. The text then hides the key's length.
    Longest,
}

/// Length in bytes of the payload for a key of `key_bytes` bytes and this algorithm.
pub fn payload_bytes(version: Version, algorithm: u8, key_bytes: usize, padding: Padding) -> usize {
    let longest = match (padding, algorithm) {
        (Padding::Longest, b'A') => 32,
        (Padding::Longest, b'T') => 24,
        _ => 0,
    };
    key_bytes.max(longest).saturating_add(LENGTH_BYTES).next_multiple_of(version.cipher_bytes())
}

/// Length in bytes of the random padding behind the key in such a payload.
pub fn padding_bytes(version: Version, algorithm: u8, key_bytes: usize, padding: Padding) -> usize {
    payload_bytes(version, algorithm, key_bytes, padding) - LENGTH_BYTES - key_bytes
}

/// The clear payload: the length of the key in bits, the key, random bytes. `None` for a key of 8 KiB or more, or if
/// the payload is not whole blocks of the cipher.
pub fn payload(version: Version, key: &[u8], random: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let bits = u16::try_from(key.len().checked_mul(8)?).ok()?;
    // Allocated at full length: a vector that grows leaves copies of its bytes behind.
    let mut clear = Zeroizing::new(Vec::with_capacity(LENGTH_BYTES + key.len() + random.len()));
    clear.extend_from_slice(&bits.to_be_bytes());
    clear.extend_from_slice(key);
    clear.extend_from_slice(random);
    clear.len().is_multiple_of(version.cipher_bytes()).then_some(clear)
}

/// The length in bytes of the key in a clear payload of at most 4 KiB, from its first two bytes, and whether it is
/// valid. It must fit the payload, and the algorithm: DES keys have 8 bytes, TDES keys 16 or 24, AES keys 16, 24 or 32,
/// others any number. An invalid length is returned as 0.
pub fn key_length(clear: &[u8], algorithm: u8) -> (usize, Mask) {
    let Some((field, rest)) = clear.split_first_chunk::<LENGTH_BYTES>() else {
        return (0, Mask::NO);
    };
    let bits = u16::from_be_bytes(*field);
    let bytes = bits >> 3;
    let is = |length: u16| Mask::zero(u64::from(bits ^ (length << 3)));
    let is_length = match algorithm {
        b'D' => is(8),
        b'T' => is(16).or(is(24)),
        b'A' => is(16).or(is(24)).or(is(32)),
        _ => Mask::zero(u64::from(bits & 7)).and(Mask::zero(u64::from(bytes)).not()),
    };
    let room = rest.len().min(usize::from(u16::MAX >> 3)) as u16;
    // The difference is negative if the payload is too short.
    let has_room = Mask::zero(u64::from(room.wrapping_sub(bytes) >> 15));
    let verdict = is_length.and(has_room);
    let [high, low] = bytes.to_be_bytes().map(|byte| verdict.keep(byte));
    (usize::from(u16::from_be_bytes([high, low])), verdict)
}

/// The message of a block's MAC, in whole blocks of the cipher: the header, then the payload.
/// [`Version::authenticates_clear`] says whether clear or enciphered.
pub fn authenticated(header: &[u8], payload: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut all = Zeroizing::new(Vec::with_capacity(header.len() + payload.len()));
    all.extend_from_slice(header);
    all.extend_from_slice(payload);
    all
}

/// Whether `given` has the version's MAC length and equals the beginning of the computed MAC.
pub fn verifies(version: Version, made: &[u8], given: &[u8]) -> Mask {
    let length = version.mac_bytes();
    if given.len() != length || made.len() < length {
        return Mask::NO;
    }
    let differing = made.iter().zip(given).fold(0, |all, (own, other)| all | (own ^ other));
    Mask::zero(u64::from(differing))
}
