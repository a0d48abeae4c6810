//! The key derivation of SP 800-108 in counter mode, with HMAC-SHA-256.

use crate::algorithm::HashAlgorithm;
use crate::high::hmac::HmacKey;
use crate::low::wipe_bytes;

const DIGEST_BYTES: usize = HashAlgorithm::Sha256.digest_bytes();

/// Fills `out` from a key: block `i` of 32 bytes is the HMAC of the 32-bit number `i` (from 1) and `fixed`, whose parts
/// form one text. The caller composes `fixed`: a label, a zero byte, a context and the length of the output in bits.
pub fn kbkdf_sha256(key: &[u8], fixed: &[&[u8]], out: &mut [u8]) {
    let key = HmacKey::new(HashAlgorithm::Sha256, key);
    for (counter, part) in (1u32..).zip(out.chunks_mut(DIGEST_BYTES)) {
        let counter = counter.to_be_bytes();
        let mut block = key.mac(&[&[&counter[..]], fixed].concat());
        part.copy_from_slice(&block[..part.len()]);
        wipe_bytes(&mut block);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Vec<u8> {
        text.as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect()
    }

    /// NIST's vectors, with the fixed input split into parts in several ways.
    #[test]
    fn gives_the_values_of_nist() {
        let text = include_str!("../../tests/vectors/KDF/kbkdf-ctr-hmac-sha256.txt");
        let mut count = 0;
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let [key, fixed, expected] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
            let (fixed, expected) = (bytes(fixed), bytes(expected));
            let mut out = vec![0; expected.len()];
            kbkdf_sha256(&bytes(key), &[&fixed], &mut out);
            assert_eq!(out, expected);
            kbkdf_sha256(&bytes(key), &[&fixed[..7], &[], &fixed[7..]], &mut out);
            assert_eq!(out, expected);
            count += 1;
        }
        assert_eq!(count, 40);
    }
}
