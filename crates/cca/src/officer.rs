//! Secrets on their way from an officer's terminal to the keeper, sealed to its start-up key.
//!
//! ```text
//! (x, X)  ephemeral key pair of the sender     (s, S)  start-up key of the keeper
//! key  =  HKDF-SHA256(salt = X || S, input = X25519(x, S), info = purpose), 32 bytes
//! sent =  X, AES-256-GCM(key, nonce = 12 zero bytes, associated data = purpose, secret)
//! ```
//! Each key encrypts one message, so the nonce may be zero. What opens was sealed to this start of
//! the keeper, for this purpose, by someone; who that was the user id of the terminal tells.

use engine::{CipherDirection, Engine, GcmItem};
use wire::control::Sealed;
use zeroize::Zeroizing;

const KEY_BYTES: usize = 32;
const TAG_BYTES: usize = 16;
const NONCE: [u8; 12] = [0; 12];

/// Seals a secret to a keeper's start-up key, for one of the purposes of [`wire::control`].
///
/// `None` where `startup_key` is no point that a keeper would have.
pub fn seal(engine: &Engine, startup_key: &[u8; 32], purpose: &[u8], secret: &[u8]) -> Option<Sealed> {
    let (private, share) = engine::x25519_keypair();
    let private = Zeroizing::new(<[u8; 32]>::try_from(private.as_slice()).ok()?);
    let shared = engine::x25519(&private, startup_key).ok()?;
    let key = derive(&share, startup_key, shared.as_slice(), purpose)?;
    Some(Sealed { share, ciphertext: lock(engine, &key, purpose, secret) })
}

/// The keeper's key pair of one start.
pub struct StartupKey {
    private: Zeroizing<[u8; 32]>,
    public: [u8; 32],
}

impl StartupKey {
    /// A new key pair.
    pub fn generate() -> Self {
        let (secret, public) = engine::x25519_keypair();
        let mut private = Zeroizing::new([0; 32]);
        private.copy_from_slice(secret.as_slice());
        Self { private, public }
    }

    /// What officers seal to.
    pub fn public(&self) -> [u8; 32] {
        self.public
    }

    /// Opens a secret; `None` whatever is wrong with it.
    pub fn open(&self, engine: &Engine, purpose: &[u8], sealed: &Sealed) -> Option<Zeroizing<Vec<u8>>> {
        let shared = engine::x25519(&self.private, &sealed.share).ok()?;
        let key = derive(&sealed.share, &self.public, shared.as_slice(), purpose)?;
        unlock(engine, &key, purpose, &sealed.ciphertext)
    }
}

fn derive(
    share: &[u8; 32],
    startup_key: &[u8; 32],
    shared: &[u8],
    purpose: &[u8],
) -> Option<Zeroizing<[u8; KEY_BYTES]>> {
    let mut salt = [0; 64];
    salt[..32].copy_from_slice(share);
    salt[32..].copy_from_slice(startup_key);
    let mut key = Zeroizing::new([0; KEY_BYTES]);
    engine::hkdf_sha256(&salt, shared, purpose, key.as_mut_slice()).ok()?;
    Some(key)
}

/// AES-256-GCM with a zero nonce, for a key that is used once: ciphertext, then its tag.
///
/// # Panics
/// If the secret is longer than the 64 GiB that GCM takes.
pub fn lock(engine: &Engine, key: &[u8; KEY_BYTES], associated: &[u8], secret: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(secret.len() + TAG_BYTES);
    out.extend_from_slice(secret);
    let key = engine.gcm_key(key).expect("32 bytes are an AES-256 key");
    let mut items = [GcmItem::encipher(&key, &NONCE, associated, &mut out)];
    engine.gcm_batch(CipherDirection::Encipher, &mut items);
    let [GcmItem { tag, result, .. }] = items;
    result.expect("a secret of a length that GCM takes");
    out.extend_from_slice(&tag);
    out
}

/// Opens what [`lock`] made with the same key and associated data; `None` for anything else.
pub fn unlock(
    engine: &Engine,
    key: &[u8; KEY_BYTES],
    associated: &[u8],
    ciphertext: &[u8],
) -> Option<Zeroizing<Vec<u8>>> {
    let (text, tag) = ciphertext.split_at_checked(ciphertext.len().checked_sub(TAG_BYTES)?)?;
    let mut out = Zeroizing::new(text.to_vec());
    let key = engine.gcm_key(key).ok()?;
    let mut items = [GcmItem::decipher(&key, &NONCE, associated, &mut out, tag)];
    engine.gcm_batch(CipherDirection::Decipher, &mut items);
    let [GcmItem { result, .. }] = items;
    result.ok().map(|()| out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::control::{PURPOSE_PART, PURPOSE_PASSPHRASE};

    fn engine() -> Engine {
        Engine::new(engine::Options::default()).unwrap()
    }

    #[test]
    fn a_secret_opens_where_and_for_what_it_was_sealed() {
        let (engine, key) = (engine(), StartupKey::generate());
        let sealed = seal(&engine, &key.public(), PURPOSE_PART, b"a key part").unwrap();
        assert_eq!(key.open(&engine, PURPOSE_PART, &sealed).unwrap().as_slice(), b"a key part");
        assert!(key.open(&engine, PURPOSE_PASSPHRASE, &sealed).is_none());
        assert!(StartupKey::generate().open(&engine, PURPOSE_PART, &sealed).is_none());
        let again = seal(&engine, &key.public(), PURPOSE_PART, b"a key part").unwrap();
        assert_ne!(again.share, sealed.share);
        assert_ne!(again.ciphertext, sealed.ciphertext);
    }

    #[test]
    fn a_changed_message_does_not_open() {
        let (engine, key) = (engine(), StartupKey::generate());
        let sealed = seal(&engine, &key.public(), PURPOSE_PART, &[7; 24]).unwrap();
        for at in 0..sealed.ciphertext.len() {
            let mut changed = sealed.clone();
            changed.ciphertext[at] ^= 1;
            assert!(key.open(&engine, PURPOSE_PART, &changed).is_none(), "byte {at}");
            changed.ciphertext.truncate(at);
            assert!(key.open(&engine, PURPOSE_PART, &changed).is_none(), "cut to {at}");
        }
        let mut changed = sealed.clone();
        changed.share[3] ^= 1;
        assert!(key.open(&engine, PURPOSE_PART, &changed).is_none());
        // A share of small order gives a shared secret that everyone knows.
        changed.share = [0; 32];
        assert!(key.open(&engine, PURPOSE_PART, &changed).is_none());
        assert!(seal(&engine, &[0; 32], PURPOSE_PART, b"x").is_none());
    }

    #[test]
    fn the_derivation_is_fixed() {
        // Computed with another implementation (pyca/cryptography): X = 1..=32, S = 33..=64,
        // shared secret 65..=96, purpose "cryptand master-key part", secret "part".
        let counted = |from: u8| -> [u8; 32] { std::array::from_fn(|index| from + index as u8) };
        let key = derive(&counted(1), &counted(33), &counted(65), PURPOSE_PART).unwrap();
        let ciphertext = lock(&engine(), &key, PURPOSE_PART, b"part");
        let hex: String = ciphertext.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "d75cf6c41f05c55acdc64e17d0fcb91bd433084b");
    }
}
