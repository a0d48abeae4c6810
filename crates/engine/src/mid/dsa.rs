//! DSA (FIPS 186-4): signatures with existing keys. Keys are not generated.

use crate::low::aws_lc::dsa::{DsaObject, DsaParts};
use crate::mid::prime_field::PrimeField;
use crate::secret::{SecretBytes, is_below};
use std::fmt;

/// The allowed lengths of the order, in bytes (FIPS 186-4, 4.2).
const ORDER_BYTES: [usize; 3] = [20, 28, 32];
/// The longest prime, in bytes.
const PRIME_BYTES_MAX: usize = 512;

/// A private key; wiped when dropped.
///
/// The time of a signature depends only on lengths; the nonce is random.
pub struct DsaPrivateKey {
    object: DsaObject,
    order_bytes: usize,
}

impl DsaPrivateKey {
    /// A key of prime, order, generator, public value and private value, big-endian; leading zeros are allowed. `None`
    /// unless the prime has 512 to 4096 bits, the order 160, 224 or 256, all numbers are in range, and the public value
    /// belongs to the private one. Whether prime and order are prime is not checked.
    pub fn new(p: &[u8], q: &[u8], g: &[u8], y: &[u8], x: &[u8]) -> Option<DsaPrivateKey> {
        let [p, q] = [p, q].map(stripped);
        if p.len() > PRIME_BYTES_MAX
            || !ORDER_BYTES.contains(&q.len())
            || q.first().is_none_or(|first| first & 0x80 == 0)
            || q.last().is_none_or(|last| last % 2 == 0)
        {
            return None;
        }
        let field = PrimeField::new(p)?;
        // Padded to the order's length, so that the number's own length does not show in the library.
        let x = padded(x, q.len())?;
        let [padded_g, padded_y] = [padded(g, field.bytes())?, padded(y, field.bytes())?];
        if !is_in_range(&x, q) || !field.power(&padded_g, &x)?.ct_eq(&padded_y) {
            return None;
        }
        let parts = DsaParts { p, q, g: stripped(g), y: stripped(y), x: &x };
        Some(DsaPrivateKey { object: DsaObject::new(&parts), order_bytes: q.len() })
    }

    /// Length of r and of s in bytes.
    pub fn order_bytes(&self) -> usize {
        self.order_bytes
    }

    /// Signs the first bytes of a digest, as many as the order has. The result is r, then s, big-endian. `None` if
    /// signing shows that the numbers are no valid key.
    pub fn sign(&self, digest: &[u8]) -> Option<Vec<u8>> {
        let mut signature = vec![0; 2 * self.order_bytes];
        self.object.sign(digest, &mut signature).then_some(signature)
    }
}

impl fmt::Debug for DsaPrivateKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "DsaPrivateKey({} bytes)", self.order_bytes)
    }
}

fn stripped(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|octet| **octet == 0).count();
    &number[zeros..]
}

/// Pads a number with zeros in front; `None` if it is longer than `bytes`.
fn padded(number: &[u8], bytes: usize) -> Option<SecretBytes> {
    let number = if number.len() > bytes { stripped(number) } else { number };
    let zeros = bytes.checked_sub(number.len())?;
    let mut out = SecretBytes::new(bytes);
    out.as_mut()[zeros..].copy_from_slice(number);
    Some(out)
}

/// Whether a secret number is above zero and below an order of the same length; no branch depends on the number.
fn is_in_range(number: &[u8], order: &[u8]) -> bool {
    let any = number.iter().fold(0, |any, octet| any | octet);
    is_below(number, order) & (any != 0)
}
