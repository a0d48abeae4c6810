//! Signatures in the encoding of certificates and TLS.

use pkcs1::der::asn1::{SequenceOf, UintRef};
use pkcs1::der::{Decode, Encode};

/// Bytes of a number of the longest curve, P-521.
const NUMBER_BYTES_MAX: usize = 66;

/// An ECDSA signature as certificates and TLS encode it: ECDSA-Sig-Value in DER (RFC 3279, 2.2.3). `numbers` is what a
/// card gives: two big-endian numbers of equal length, one after the other. `None` if it is empty, of odd length, or
/// longer than two numbers of P-521.
pub fn ecdsa_sig_value(numbers: &[u8]) -> Option<Vec<u8>> {
    if numbers.is_empty() || !numbers.len().is_multiple_of(2) || numbers.len() > 2 * NUMBER_BYTES_MAX {
        return None;
    }
    let (r, s) = numbers.split_at(numbers.len() / 2);
    let mut both = SequenceOf::<UintRef<'_>, 2>::new();
    both.add(UintRef::new(r).ok()?).ok()?;
    both.add(UintRef::new(s).ok()?).ok()?;
    both.to_der().ok()
}

/// The reverse: what a card verifies of an ECDSA-Sig-Value, each number of `bytes` bytes, as the curve's are. `None` if
/// it is not one, or if a number is longer.
pub fn ecdsa_numbers(der: &[u8], bytes: usize) -> Option<Vec<u8>> {
    let both = SequenceOf::<UintRef<'_>, 2>::from_der(der).ok()?;
    let mut numbers = Vec::with_capacity(2 * bytes);
    for number in both.iter() {
        let number = number.as_bytes();
        numbers.resize(numbers.len() + bytes.checked_sub(number.len())?, 0);
        numbers.extend_from_slice(number);
    }
    (numbers.len() == 2 * bytes).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use openssl::bn::BigNum;
    use openssl::ecdsa::EcdsaSig;

    #[test]
    fn signatures_are_those_that_openssl_writes() {
        for bytes in [28, 32, 48, 66] {
            for (r, s) in [(1_u8, 0x7f_u8), (0x80, 0xff), (0, 0)] {
                let mut numbers = vec![0x5a; 2 * bytes];
                (numbers[0], numbers[bytes]) = (r, s);
                let half = |half: &[u8]| BigNum::from_slice(half).unwrap();
                let theirs =
                    EcdsaSig::from_private_components(half(&numbers[..bytes]), half(&numbers[bytes..]));
                let der = theirs.unwrap().to_der().unwrap();
                assert_eq!(ecdsa_sig_value(&numbers).unwrap(), der);
                assert_eq!(ecdsa_numbers(&der, bytes).unwrap(), numbers);
                assert_eq!(ecdsa_numbers(&der, bytes - 1).is_none(), (r, s) != (0, 0));
            }
        }
        assert_eq!(ecdsa_sig_value(&[0, 0]).unwrap(), [0x30, 6, 2, 1, 0, 2, 1, 0]);
        for wrong in [0, 3, 134] {
            assert_eq!(ecdsa_sig_value(&vec![1; wrong]), None);
        }
        let one = [0x30, 3, 2, 1, 5];
        let three = [0x30, 9, 2, 1, 5, 2, 1, 6, 2, 1, 7];
        let behind = [0x30, 6, 2, 1, 5, 2, 1, 6, 0];
        for wrong in [&[][..], &[0x30, 0], &one, &three, &behind, &behind[..7], &[7; 64]] {
            assert_eq!(ecdsa_numbers(wrong, 32), None, "{wrong:?}");
        }
    }
}
