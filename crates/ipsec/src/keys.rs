//! The keys of an SA, prepared once; zero when dropped.

use crate::suite::{SALT_BYTES, Suite};
use engine::{CHACHA_KEY_BYTES, ChaChaKey, CipherKey, Engine, GcmKey, HmacKey, KeyError};
use zeroize::Zeroizing;

/// Keys as IKE hands them over.
#[derive(Clone, Copy)]
pub struct KeyBytes<'a> {
    /// Key of the cipher; for an AEAD, with the salt behind it. Empty for no encryption.
    pub encryption: &'a [u8],
    /// Key of the MAC; empty for an AEAD.
    pub integrity: &'a [u8],
}

pub(crate) enum Keys {
    Gcm { key: GcmKey, salt: Salt },
    ChaCha { key: ChaChaKey, salt: Salt },
    Separate(Box<SeparateKeys>),
}

/// Cipher and MAC keys in one allocation that does not move, since both hold keys in the value itself.
pub(crate) struct SeparateKeys {
    pub(crate) cipher: Option<CipherKey>,
    pub(crate) mac: HmacKey,
}

pub(crate) type Salt = Zeroizing<[u8; SALT_BYTES]>;

impl Keys {
    /// Prepares the keys of a suite. The caller has checked that both have the lengths that the suite asks for; other
    /// errors of the engine are passed on.
    pub(crate) fn new(engine: &Engine, suite: Suite, bytes: KeyBytes<'_>) -> Result<Keys, KeyError> {
        Ok(match suite {
            Suite::AesGcm16(key) => {
                let (key, salt) = bytes.encryption.split_at(key.bytes());
                Keys::Gcm { key: engine.gcm_key(key)?, salt: salt_of(salt) }
            }
            Suite::ChaCha20Poly1305 => {
                let (key, salt) = bytes.encryption.split_at(CHACHA_KEY_BYTES);
                Keys::ChaCha { key: engine.chacha_key(key)?, salt: salt_of(salt) }
            }
            Suite::Separate(encryption, integrity) => Keys::Separate(Box::new(SeparateKeys {
                cipher: match encryption.cipher() {
                    Some(cipher) => Some(engine.cipher_key(cipher, bytes.encryption)?),
                    None => None,
                },
                mac: engine.hmac_key(integrity.hash(), bytes.integrity)?,
            })),
        })
    }
}

impl Keys {
    /// Has the parts of the keys that a batch reads fetched into the cache.
    #[inline]
    pub(crate) fn prefetch(&self) {
        match self {
            Keys::Gcm { key, .. } => key.prefetch(),
            Keys::ChaCha { .. } => {}
            Keys::Separate(keys) => engine::prefetch(&**keys),
        }
    }
}

fn salt_of(bytes: &[u8]) -> Salt {
    let mut salt = Zeroizing::new([0; SALT_BYTES]);
    for (to, from) in salt.iter_mut().zip(bytes) {
        *to = *from;
    }
    salt
}
