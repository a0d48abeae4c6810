//! AES key wrap with padding: KWP of SP 800-38F, RFC 5649, mechanism CKM_AES_KEY_WRAP_KWP of PKCS #11.

use crate::low::aws_lc::aes::AesSchedule;
use crate::secret::SecretBytes;

/// Wraps a key of any length but zero under an AES key. The result is 8 bytes longer than the key's length rounded up
/// to a multiple of 8.
///
/// `None` unless the wrapping key has 16, 24 or 32 bytes and the key 1 to 2^32 - 1.
pub fn key_wrap_padded(wrapping: &[u8], key: &[u8]) -> Option<Vec<u8>> {
    let mut schedule = AesSchedule::empty();
    if !schedule.set_encipher(wrapping) {
        return None;
    }
    schedule.wrap_padded(key)
}

/// Unwraps the key that [`key_wrap_padded`] wrapped. The time depends on the lengths, and on whether unwrapping
/// succeeds.
///
/// `None` for a wrapping key of another length, and for any fault of the wrapped key.
pub fn key_unwrap_padded(wrapping: &[u8], wrapped: &[u8]) -> Option<SecretBytes> {
    let mut schedule = AesSchedule::empty();
    if !schedule.set_decipher(wrapping) {
        return None;
    }
    let mut key = SecretBytes::new(wrapped.len());
    let bytes = schedule.unwrap_padded(wrapped, key.as_mut())?;
    Some(SecretBytes::from_slice(&key[..bytes]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use openssl::cipher::{Cipher, CipherRef};
    use openssl::cipher_ctx::{CipherCtx, CipherCtxFlags};

    fn bytes(text: &str) -> Vec<u8> {
        text.as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect()
    }

    /// Wraps with OpenSSL's id-aes-wrap-pad.
    fn openssl_wrap(wrapping: &[u8], key: &[u8]) -> Vec<u8> {
        let cipher: &CipherRef = match wrapping.len() {
            16 => Cipher::aes_128_wrap_pad(),
            24 => Cipher::aes_192_wrap_pad(),
            _ => Cipher::aes_256_wrap_pad(),
        };
        let mut context = CipherCtx::new().unwrap();
        context.set_flags(CipherCtxFlags::FLAG_WRAP_ALLOW);
        context.encrypt_init(Some(cipher), Some(wrapping), None).unwrap();
        let mut wrapped = Vec::new();
        context.cipher_update_vec(key, &mut wrapped).unwrap();
        context.cipher_final_vec(&mut wrapped).unwrap();
        wrapped
    }

    /// RFC 5649, section 6.
    #[test]
    fn gives_the_values_of_the_standard() {
        let wrapping = bytes("5840df6e29b02af1ab493b705bf16ea1ae8338f4dcc176a8");
        for (key, wrapped) in [
            (
                "c37b7e6492584340bed12207808941155068f738",
                "138bdeaa9b8fa7fc61f97742e72248ee5ae6ae5360d1ae6a5f54f373fa543b6a",
            ),
            ("466f7250617369", "afbeb0f07dfbf5419200f2ccb50bb24f"),
        ] {
            assert_eq!(key_wrap_padded(&wrapping, &bytes(key)).unwrap(), bytes(wrapped));
            assert_eq!(key_unwrap_padded(&wrapping, &bytes(wrapped)).unwrap().as_slice(), bytes(key));
        }
    }

    #[test]
    fn is_what_openssl_does_and_comes_back_unless_it_is_changed() {
        for wrapping in [&[7u8; 16][..], &[8; 24], &[9; 32]] {
            for length in 1..=72u8 {
                let key: Vec<u8> = (0..length).collect();
                let wrapped = key_wrap_padded(wrapping, &key).unwrap();
                assert_eq!(wrapped, openssl_wrap(wrapping, &key), "{length}");
                assert_eq!(key_unwrap_padded(wrapping, &wrapped).unwrap().as_slice(), key);
                for at in 0..wrapped.len() {
                    let mut changed = wrapped.clone();
                    changed[at] ^= 1 << (at % 8);
                    assert!(key_unwrap_padded(wrapping, &changed).is_none(), "{length}: byte {at}");
                }
                for cut in 0..wrapped.len() {
                    assert!(key_unwrap_padded(wrapping, &wrapped[..cut]).is_none(), "{length}: cut to {cut}");
                }
                assert!(key_unwrap_padded(wrapping, &[&wrapped[..], &[0; 8]].concat()).is_none());
            }
        }
    }

    #[test]
    fn other_lengths_wrap_nothing() {
        assert!(key_wrap_padded(&[1; 16], &[]).is_none());
        for length in [0, 8, 15, 17, 31, 33, 64] {
            assert!(key_wrap_padded(&vec![1; length], &[2; 16]).is_none());
            assert!(key_unwrap_padded(&vec![1; length], &[2; 24]).is_none());
        }
    }
}
