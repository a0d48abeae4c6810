//! Secrets sealed to the holder of an X25519 key, for one purpose, and texts locked under a one-time key.
//!
//! ```text
//! (x, X)  ephemeral key pair of the sender     (s, S)  key pair of the recipient
//! key  =  HKDF-SHA256 (RFC 5869; salt X || S, input X25519(x, S), info = purpose), 32 bytes
//! sent =  X, AES-256-GCM(key, nonce = 12 zero bytes, associated data = purpose, secret), tag last
//! ```
//! Each key enciphers one message, so its nonce may be zero. A secret that opens was sealed to this recipient and for
//! this purpose, but by an unknown sender.

use crate::algorithm::CipherDirection;
use crate::high::hkdf::hkdf_sha256;
use crate::low::cpu::Cpu;
use crate::mid::aes::gcm::{self, GcmItem, GcmKey};
use crate::mid::ec::{x25519, x25519_keypair};
use crate::secret::SecretBytes;

const KEY_BYTES: usize = 32;
const TAG_BYTES: usize = 16;
const NONCE: [u8; 12] = [0; 12];

/// A sealed secret as it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedSecret {
    /// The sender's ephemeral public key.
    pub share: [u8; 32],
    /// Ciphertext and tag: 16 bytes longer than the secret.
    pub ciphertext: Vec<u8>,
}

/// The key pair that secrets are sealed to; the private key is zero when dropped.
pub struct SealingKey {
    private: Box<SecretBytes>,
    public: [u8; 32],
}

impl SealingKey {
    /// A new random key pair.
    pub fn generate() -> Self {
        let (private, public) = x25519_keypair();
        Self { private: Box::new(private), public }
    }

    /// The public key to which senders seal.
    pub fn public(&self) -> [u8; 32] {
        self.public
    }

    /// Opens a sealed secret; `None` for any fault.
    pub fn open(&self, purpose: &[u8], share: &[u8; 32], ciphertext: &[u8]) -> Option<SecretBytes> {
        let private = self.private.as_slice().first_chunk()?;
        let shared = x25519(private, share).ok()?;
        let key = derive(share, &self.public, &shared, purpose)?;
        unlock(key.first_chunk()?, purpose, ciphertext)
    }
}

impl std::fmt::Debug for SealingKey {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("SealingKey").field("public", &self.public).finish_non_exhaustive()
    }
}

/// Seals a secret to a recipient's public key. `None` for a point of small order: no recipient has one, and anyone
/// could compute its shared secret.
pub fn seal_to(recipient: &[u8; 32], purpose: &[u8], secret: &[u8]) -> Option<SealedSecret> {
    let (private, share) = x25519_keypair();
    let shared = x25519(private.as_slice().first_chunk()?, recipient).ok()?;
    let key = derive(&share, recipient, &shared, purpose)?;
    Some(SealedSecret { share, ciphertext: lock(key.first_chunk()?, purpose, secret) })
}

/// AES-256-GCM with a zero nonce: ciphertext, then its 16-byte tag. The key must never be used again.
///
/// # Panics
/// If the secret is longer than the 64 GiB that GCM takes.
pub fn lock(key: &[u8; KEY_BYTES], associated: &[u8], secret: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(secret.len() + TAG_BYTES);
    out.extend_from_slice(secret);
    // At the portable level: no engine here says which kernels are allowed, and each key seals only one text.
    let key = GcmKey::new(Cpu::PORTABLE, key).expect("32 bytes are an AES-256 key");
    let mut items = [GcmItem::encipher(&key, &NONCE, associated, &mut out)];
    gcm::batch(Cpu::PORTABLE, CipherDirection::Encipher, &mut items);
    let [GcmItem { tag, result, .. }] = items;
    result.expect("a secret of a length that GCM takes");
    out.extend_from_slice(&tag);
    out
}

/// Opens the result of [`lock`] under the same key and associated data; `None` for anything else.
pub fn unlock(key: &[u8; KEY_BYTES], associated: &[u8], ciphertext: &[u8]) -> Option<SecretBytes> {
    let (text, tag) = ciphertext.split_at_checked(ciphertext.len().checked_sub(TAG_BYTES)?)?;
    let mut out = SecretBytes::from_slice(text);
    let key = GcmKey::new(Cpu::PORTABLE, key).ok()?;
    let mut items = [GcmItem::decipher(&key, &NONCE, associated, &mut out, tag)];
    gcm::batch(Cpu::PORTABLE, CipherDirection::Decipher, &mut items);
    let [GcmItem { result, .. }] = items;
    result.ok().map(|()| out)
}

fn derive(share: &[u8; 32], recipient: &[u8; 32], shared: &[u8], purpose: &[u8]) -> Option<SecretBytes> {
    let mut salt = [0; 64];
    salt[..32].copy_from_slice(share);
    salt[32..].copy_from_slice(recipient);
    let mut key = SecretBytes::new(KEY_BYTES);
    hkdf_sha256(&salt, shared, purpose, &mut key).ok()?;
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(key: &SealingKey, purpose: &[u8], sealed: &SealedSecret) -> Option<Vec<u8>> {
        key.open(purpose, &sealed.share, &sealed.ciphertext).map(|secret| secret.to_vec())
    }

    #[test]
    fn a_secret_opens_where_and_for_what_it_was_sealed() {
        let key = SealingKey::generate();
        let sealed = seal_to(&key.public(), b"a purpose", b"a key part").unwrap();
        assert_eq!(opened(&key, b"a purpose", &sealed).unwrap(), b"a key part");
        assert!(opened(&key, b"another", &sealed).is_none());
        assert!(opened(&SealingKey::generate(), b"a purpose", &sealed).is_none());
        let again = seal_to(&key.public(), b"a purpose", b"a key part").unwrap();
        assert_ne!(again.share, sealed.share);
        assert_ne!(again.ciphertext, sealed.ciphertext);
    }

    #[test]
    fn a_changed_message_does_not_open() {
        let key = SealingKey::generate();
        let sealed = seal_to(&key.public(), b"a purpose", &[7; 24]).unwrap();
        for at in 0..sealed.ciphertext.len() {
            let mut changed = sealed.clone();
            changed.ciphertext[at] ^= 1;
            assert!(opened(&key, b"a purpose", &changed).is_none(), "byte {at}");
            changed.ciphertext.truncate(at);
            assert!(opened(&key, b"a purpose", &changed).is_none(), "cut to {at}");
        }
        let mut changed = sealed.clone();
        changed.share[3] ^= 1;
        assert!(opened(&key, b"a purpose", &changed).is_none());
        // A share of small order gives a shared secret that everyone knows.
        changed.share = [0; 32];
        assert!(opened(&key, b"a purpose", &changed).is_none());
        assert!(seal_to(&[0; 32], b"a purpose", b"x").is_none());
    }

    #[test]
    fn the_derivation_is_fixed() {
        // Computed with another implementation (pyca/cryptography): X = 1..=32, S = 33..=64,
        // shared secret 65..=96, purpose "cryptand master-key part", secret "part".
        let counted = |from: u8| -> [u8; 32] { std::array::from_fn(|index| from + index as u8) };
        let purpose = b"cryptand master-key part";
        let key = derive(&counted(1), &counted(33), &counted(65), purpose).unwrap();
        let ciphertext = lock(key.first_chunk().unwrap(), purpose, b"part");
        let hex: String = ciphertext.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "d75cf6c41f05c55acdc64e17d0fcb91bd433084b");
    }
}
