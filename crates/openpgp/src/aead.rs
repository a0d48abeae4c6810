//! AEAD over one short text: session keys under passphrases, and locks of private keys.

use crate::compute::engine;
use crate::{AeadAlgorithm, SymmetricKeyAlgorithm};
use engine::{AeadItem, CipherDirection, GcmItem};

/// Length of a tag in bytes.
pub(crate) const TAG_BYTES: usize = 16;

/// Enciphers in place and returns the tag; `None` if the parameters do not fit together.
pub(crate) fn seal(
    (cipher, mode): (SymmetricKeyAlgorithm, AeadAlgorithm),
    key: &[u8],
    nonce: &[u8],
    aad: &[u8],
    text: &mut [u8],
) -> Option<[u8; TAG_BYTES]> {
    macro_rules! run {
        ($item:ident, $key:ident, $batch:ident) => {{
            let key = engine().$key(key).ok()?;
            let mut items = [$item::encipher(&key, nonce, aad, text)];
            engine().$batch(CipherDirection::Encipher, &mut items);
            let [item] = items;
            item.result.ok()?;
            Some(item.tag)
        }};
    }
    is_aes(cipher).then_some(())?;
    match mode {
        AeadAlgorithm::Gcm => run!(GcmItem, gcm_key, gcm_batch),
        AeadAlgorithm::Ocb => run!(AeadItem, ocb_key, ocb_batch),
        AeadAlgorithm::Eax => run!(AeadItem, eax_key, eax_batch),
        _ => None,
    }
}

/// Deciphers in place; `None` if the text does not authenticate, or if the parameters do not fit together.
pub(crate) fn open(
    (cipher, mode): (SymmetricKeyAlgorithm, AeadAlgorithm),
    key: &[u8],
    nonce: &[u8],
    aad: &[u8],
    text: &mut [u8],
    tag: &[u8; TAG_BYTES],
) -> Option<()> {
    macro_rules! run {
        ($item:ident, $key:ident, $batch:ident) => {{
            let key = engine().$key(key).ok()?;
            let mut items = [$item::decipher(&key, nonce, aad, text, tag)];
            engine().$batch(CipherDirection::Decipher, &mut items);
            let [item] = items;
            item.result.ok()
        }};
    }
    is_aes(cipher).then_some(())?;
    match mode {
        AeadAlgorithm::Gcm => run!(GcmItem, gcm_key, gcm_batch),
        AeadAlgorithm::Ocb => run!(AeadItem, ocb_key, ocb_batch),
        AeadAlgorithm::Eax => run!(AeadItem, eax_key, eax_batch),
        _ => None,
    }
}

/// Whether the cipher is AES, the only one that is allowed with these modes. The engine would take another cipher's key
/// of the same length for an AES key.
fn is_aes(cipher: SymmetricKeyAlgorithm) -> bool {
    use SymmetricKeyAlgorithm::{AES128, AES192, AES256};
    matches!(cipher, AES128 | AES192 | AES256)
}
