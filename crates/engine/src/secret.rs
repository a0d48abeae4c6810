//! Secret bytes: wiped when dropped, compared in constant time, never shown; and secret numbers compared.

use crate::low::wipe_bytes;
use std::fmt;
use std::ops::{Deref, DerefMut};
use subtle::ConstantTimeEq;

/// The greatest length of a secret that is kept inline, in bytes.
const INLINE_BYTES_MAX: usize = 64;

/// A secret of a length fixed when it is made. Up to 64 bytes are kept inline, more on the heap.
///
/// All of it is zero after it is dropped. Moving a value may leave an unwiped copy at the old place: keep long-lived
/// secrets in a `Box` or `Arc`.
#[derive(Clone)]
pub struct SecretBytes(Storage);

#[derive(Clone)]
enum Storage {
    Inline { bytes: [u8; INLINE_BYTES_MAX], len: usize },
    Heap(Box<[u8]>),
}

impl SecretBytes {
    /// `len` zero bytes, to be filled in place.
    pub fn new(len: usize) -> SecretBytes {
        SecretBytes(if len <= INLINE_BYTES_MAX {
            Storage::Inline { bytes: [0; INLINE_BYTES_MAX], len }
        } else {
            Storage::Heap(vec![0; len].into_boxed_slice())
        })
    }

    /// A copy of `bytes`, which the caller must still wipe.
    pub fn from_slice(bytes: &[u8]) -> SecretBytes {
        let mut secret = SecretBytes::new(bytes.len());
        secret.as_mut().copy_from_slice(bytes);
        secret
    }

    /// The secret bytes.
    pub fn as_slice(&self) -> &[u8] {
        match &self.0 {
            Storage::Inline { bytes, len } => &bytes[..*len],
            Storage::Heap(bytes) => bytes,
        }
    }

    /// Whether both have equal length and content; the time depends only on the lengths.
    pub fn ct_eq(&self, other: &[u8]) -> bool {
        self.as_slice().ct_eq(other).into()
    }
}

impl AsMut<[u8]> for SecretBytes {
    fn as_mut(&mut self) -> &mut [u8] {
        match &mut self.0 {
            Storage::Inline { bytes, len } => &mut bytes[..*len],
            Storage::Heap(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for SecretBytes {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl Deref for SecretBytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl DerefMut for SecretBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.as_mut()
    }
}

impl PartialEq for SecretBytes {
    fn eq(&self, other: &SecretBytes) -> bool {
        self.ct_eq(other.as_slice())
    }
}

impl Eq for SecretBytes {}

impl fmt::Debug for SecretBytes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "SecretBytes({} bytes)", self.len())
    }
}

impl Drop for SecretBytes {
    fn drop(&mut self) {
        match &mut self.0 {
            Storage::Inline { bytes, .. } => wipe_bytes(bytes),
            Storage::Heap(bytes) => wipe_bytes(bytes),
        }
    }
}

/// Whether `value` is below `modulus`, both big-endian and of one length. The time depends on that length alone: no
/// branch and no address depends on the numbers, which may be secret.
///
/// # Panics
/// If the lengths differ.
pub fn is_below(value: &[u8], modulus: &[u8]) -> bool {
    assert_eq!(value.len(), modulus.len(), "numbers of one length are compared");
    let mut borrow = 0u16;
    for (value, modulus) in value.iter().zip(modulus).rev() {
        let difference = u16::from(*value).wrapping_sub(u16::from(*modulus)).wrapping_sub(borrow);
        borrow = difference >> 15;
    }
    borrow == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_secrets_hold_what_they_were_given() {
        for len in [0, 1, 63, 64, 65, 4096] {
            let bytes: Vec<u8> = (0..len).map(|i| i as u8).collect();
            let secret = SecretBytes::from_slice(&bytes);
            assert_eq!(secret.as_slice(), bytes);
            assert_eq!(secret.clone(), secret);
            assert!(secret.ct_eq(&bytes));
            let mut other = secret.clone();
            if let Some(last) = other.last_mut() {
                *last ^= 1;
                assert_ne!(other, secret);
            }
            assert!(!secret.ct_eq(&[bytes.as_slice(), &[0]].concat()));
        }
    }

    #[test]
    fn numbers_are_compared_whole() {
        let modulus = 0x80_0001_u32;
        for value in [0_u32, 1, 0x7F_FFFF, 0x80_0000, 0x80_0001, 0x80_0002, 0x80_0100, 0x81_0000, 0xFF_0000] {
            let is_less = is_below(&value.to_be_bytes(), &modulus.to_be_bytes());
            assert_eq!(is_less, value < modulus, "{value:#x}");
        }
        for value in 0..=u16::MAX {
            for modulus in [0_u16, 1, 0xFF, 0x100, 0x101, 0x7FFF, 0x8000, 0xFF00, 0xFFFF] {
                let is_less = is_below(&value.to_be_bytes(), &modulus.to_be_bytes());
                assert_eq!(is_less, value < modulus, "{value:#x} {modulus:#x}");
            }
        }
        assert!(!is_below(&[], &[]));
    }

    #[test]
    #[should_panic = "of one length"]
    fn numbers_of_two_lengths_are_not_compared() {
        is_below(&[1], &[0, 2]);
    }

    #[test]
    fn debug_shows_the_length_only() {
        assert_eq!(format!("{:?}", SecretBytes::from_slice(b"secret")), "SecretBytes(6 bytes)");
    }
}
