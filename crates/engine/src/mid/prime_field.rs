//! Arithmetic modulo a prime with secret exponents, for ElGamal and Diffie-Hellman in prime fields.

use crate::low::aws_lc::prime_field::PrimeModulus;
use crate::secret::SecretBytes;
use std::fmt;

/// The shortest prime, in bits.
const PRIME_BITS_MIN: usize = 512;
/// The longest prime, in bits.
const PRIME_BITS_MAX: usize = 8192;

/// The numbers below a prime. All numbers are big-endian and [`PrimeField::bytes`] long. Whether the modulus is prime
/// is not checked: if not, results are worthless, but nothing is unsafe.
///
/// The time of every function depends only on lengths, not on values.
pub struct PrimeField {
    modulus: PrimeModulus,
    bytes: usize,
}

impl PrimeField {
    /// The field of a big-endian prime; leading zeros are allowed. `None` unless the number is odd and 512 to 8192 bits
    /// long.
    pub fn new(prime: &[u8]) -> Option<PrimeField> {
        let zeros = prime.iter().take_while(|byte| **byte == 0).count();
        let prime = &prime[zeros..];
        let bits = 8 * prime.len() - prime.first().map_or(0, |first| first.leading_zeros() as usize);
        if !(PRIME_BITS_MIN..=PRIME_BITS_MAX).contains(&bits) || prime.last().is_none_or(|last| last % 2 == 0)
        {
            return None;
        }
        Some(PrimeField { modulus: PrimeModulus::new(prime)?, bytes: prime.len() })
    }

    /// Length of the prime and of every number in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// `base^exponent`. `None` unless the base is below the prime; the exponent may be any number of any length.
    pub fn power(&self, base: &[u8], exponent: &[u8]) -> Option<SecretBytes> {
        let mut out = SecretBytes::new(self.bytes);
        self.modulus.power(base, exponent, &mut out).then_some(out)
    }

    /// `a * b`. `None` unless both are below the prime.
    pub fn product(&self, a: &[u8], b: &[u8]) -> Option<SecretBytes> {
        let mut out = SecretBytes::new(self.bytes);
        self.modulus.product(a, b, &mut out).then_some(out)
    }

    /// The exponent that undoes another: `power(b, x)` times `power(b, negated_exponent(x))` is one, for every `b` but
    /// zero. `None` unless the exponent is at most the prime less one.
    pub fn negated_exponent(&self, exponent: &[u8]) -> Option<SecretBytes> {
        let mut out = SecretBytes::new(self.bytes);
        self.modulus.negated_exponent(exponent, &mut out).then_some(out)
    }
}

impl fmt::Debug for PrimeField {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "PrimeField({} bytes)", self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2^521 - 1.
    fn prime() -> Vec<u8> {
        let mut prime = vec![0xff; 66];
        prime[0] = 1;
        prime
    }

    fn number(value: u64) -> Vec<u8> {
        [&[0; 58][..], &value.to_be_bytes()].concat()
    }

    #[test]
    fn powers_and_products_are_those_of_small_numbers() {
        let field = PrimeField::new(&prime()).unwrap();
        assert_eq!(field.power(&number(3), &number(20)).unwrap().as_slice(), number(3_486_784_401));
        assert_eq!(field.power(&number(2), &number(521)).unwrap().as_slice(), number(1));
        assert_eq!(field.product(&number(6), &number(7)).unwrap().as_slice(), number(42));
        assert_eq!(field.power(&number(0), &number(5)).unwrap().as_slice(), number(0));
    }

    #[test]
    fn a_negated_exponent_gives_the_inverse() {
        let field = PrimeField::new(&prime()).unwrap();
        let (base, exponent) = (number(0x1234_5678), number(0x9876_5432_1012_3457));
        let negated = field.negated_exponent(&exponent).unwrap();
        let one = field
            .product(&field.power(&base, &exponent).unwrap(), &field.power(&base, &negated).unwrap())
            .unwrap();
        assert_eq!(one.as_slice(), number(1));
    }

    #[test]
    fn what_is_out_of_range_is_refused() {
        let field = PrimeField::new(&prime()).unwrap();
        assert!(field.power(&prime(), &number(2)).is_none());
        assert!(field.product(&prime(), &number(1)).is_none());
        assert!(field.negated_exponent(&[0xff; 66]).is_none());
        let mut even = prime();
        even[65] = 0xfe;
        for modulus in [&even[..], &[], &[0; 66], &[0xff; 63], &[0xff; 1025]] {
            assert!(PrimeField::new(modulus).is_none());
        }
    }
}
