//! Premaster secrets of TLS: 48 bytes in a block of PKCS#1 v1.5 (RFC 5246, section 7.4.7.1), opened without an error.
//!
//! Whoever learns which blocks are well formed opens any block, and signs (Bleichenbacher, CRYPTO '98). A block that is
//! not gives 48 other bytes instead. They are made of the private key and the ciphertext, not at random: a caller that
//! sends a ciphertext twice would know random bytes by their difference. So even whoever may use the key learns of a
//! block whose content is unknown nothing at all.

use engine::{Engine, HashAlgorithm, HmacKey, SecretBytes};
use subtle::{Choice, ConstantTimeEq};
use token::pka::SplitValues;
use wire::{Codes, code};
use zeroize::Zeroizing;

/// Bytes of a premaster secret.
pub(crate) const PREMASTER_BYTES: usize = 48;
type Premaster = [u8; PREMASTER_BYTES];
/// Separates the key of the substitutes from every other hash of a private key.
const LABEL: &[u8] = b"cryptand tls-premaster substitute";

/// Makes the substitutes for premaster secrets that do not open: HMAC-SHA-384 under the private numbers of the key.
pub(crate) struct Substitutes(HmacKey);

impl Substitutes {
    /// The substitutes of a private key.
    ///
    /// # Errors
    /// None occurs: the hash is not a weak one.
    pub(crate) fn new(engine: &Engine, split: &SplitValues<'_>) -> Result<Self, Codes> {
        let parts: &[&[u8]] = match split {
            SplitValues::Me { d } => &[d],
            SplitValues::Crt(components) => &[components.p, components.q],
        };
        let mut secret = SecretBytes::new(parts.iter().map(|part| part.len()).sum());
        let mut at = 0;
        for part in parts {
            secret[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        let key = engine.hmac_key(HashAlgorithm::Sha384, &secret).map_err(|_| code::SELF_CHECK)?;
        Ok(Self(key))
    }

    /// The substitute for a ciphertext.
    pub(crate) fn of(&self, ciphertext: &[u8]) -> SecretBytes {
        let mut inner = self.0.begin();
        inner.update(LABEL);
        inner.update(ciphertext);
        SecretBytes::from_slice(&self.0.end(inner)[..PREMASTER_BYTES])
    }
}

/// The premaster secret of a deciphered block, or the substitute if the block does not hold 48 bytes; in constant time.
pub(crate) fn open(block: &[u8], substitute: &SecretBytes, is_whole: Choice) -> Zeroizing<Premaster> {
    let (head, secret) = block.split_at(block.len() - PREMASTER_BYTES);
    // 00 02, eight and more bytes that are not zero, 00.
    let padding = &head[2..head.len() - 1];
    let mut is_right = is_whole & head[0].ct_eq(&0) & head[1].ct_eq(&2) & head[head.len() - 1].ct_eq(&0);
    for byte in padding {
        is_right &= !byte.ct_eq(&0);
    }
    let mut opened = Zeroizing::new([0; PREMASTER_BYTES]);
    for ((out, right), other) in opened.iter_mut().zip(secret).zip(substitute.iter()) {
        // The mask is hidden for each byte: the compiler, which knows that the verdict is 0 or 1, would else branch on
        // it.
        let mask = std::hint::black_box(0u8.wrapping_sub(is_right.unwrap_u8()));
        *out = other ^ (mask & (other ^ right));
    }
    opened
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_but_the_right_one_gives_the_substitute() {
        let substitute = SecretBytes::from_slice(&[9; PREMASTER_BYTES]);
        let good = [&[0, 2][..], &[1; 77], &[0], &[3; PREMASTER_BYTES]].concat();
        let yes = Choice::from(1);
        assert_eq!(open(&good, &substitute, yes)[..], [3; PREMASTER_BYTES]);
        assert_eq!(open(&good, &substitute, Choice::from(0))[..], substitute[..]);
        for at in 0..good.len() - PREMASTER_BYTES {
            let mut bad = good.clone();
            bad[at] = if matches!(at, 0 | 79) { 1 } else { 0 };
            assert_eq!(open(&bad, &substitute, yes)[..], substitute[..], "byte {at}");
        }
    }
}
