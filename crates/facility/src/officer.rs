//! What officers send to the keeper: key parts and passphrases, sealed at the officer's terminal.
//!
//! ```text
//! (x, X)  ephemeral X25519 key pair         S  start-up key of the keeper
//! key  =  HKDF-SHA256 (RFC 5869; salt X || S, input X25519(x, S), info = purpose), 32 bytes
//! sent =  X, AES-256-GCM(key, nonce = 12 zero bytes, associated data = purpose, secret), tag last
//! ```
//! Each key enciphers one message, so that its nonce may be zero. The daemon passes it on unread.

use engine::{CipherDirection, Engine, GcmItem};
use wire::control::Sealed;
use zeroize::Zeroizing;

const NONCE: [u8; 12] = [0; 12];

/// Why a secret was not sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealError {
    /// The start-up key is a point that no keeper has: what would be derived from it is public.
    StartupKey,
    /// The engine's self-test failed on this machine.
    Engine,
}

impl std::fmt::Display for SealError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::StartupKey => "the keeper's start-up key is not valid; ask for it again",
            Self::Engine => "the engine fails its self-test on this machine",
        })
    }
}

impl std::error::Error for SealError {}

/// Seals a secret to the start-up key of a keeper, for one purpose:
/// [`PURPOSE_PART`](wire::control::PURPOSE_PART) or
/// [`PURPOSE_PASSPHRASE`](wire::control::PURPOSE_PASSPHRASE). The secret stays the caller's to wipe.
///
/// # Errors
/// [`SealError`].
pub fn seal(startup_key: &[u8; 32], purpose: &[u8], secret: &[u8]) -> Result<Sealed, SealError> {
    let (private, share) = engine::x25519_keypair();
    let private: Zeroizing<[u8; 32]> =
        Zeroizing::new(private.as_slice().try_into().map_err(|_| SealError::Engine)?);
    let shared = engine::x25519(&private, startup_key).map_err(|_| SealError::StartupKey)?;
    let key = derive(&share, startup_key, shared.as_slice(), purpose)?;
    let engine = Engine::new(engine::Options::default()).map_err(|_| SealError::Engine)?;
    let key = engine.gcm_key(key.as_slice()).map_err(|_| SealError::Engine)?;
    let mut text = Zeroizing::new(secret.to_vec());
    let mut items = [GcmItem::encipher(&key, &NONCE, purpose, &mut text)];
    engine.gcm_batch(CipherDirection::Encipher, &mut items);
    let [GcmItem { tag, result, .. }] = items;
    result.map_err(|_| SealError::Engine)?;
    let mut ciphertext = text.to_vec();
    ciphertext.extend_from_slice(&tag);
    Ok(Sealed { share, ciphertext })
}

fn derive(
    share: &[u8; 32],
    startup_key: &[u8; 32],
    shared: &[u8],
    purpose: &[u8],
) -> Result<Zeroizing<[u8; 32]>, SealError> {
    let mut salt = [0; 64];
    salt[..32].copy_from_slice(share);
    salt[32..].copy_from_slice(startup_key);
    let mut key = Zeroizing::new([0; 32]);
    engine::hkdf_sha256(&salt, shared, purpose, key.as_mut_slice()).map_err(|_| SealError::Engine)?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::control::{PURPOSE_PART, PURPOSE_PASSPHRASE};

    /// The keeper's side.
    fn open(private: &[u8; 32], public: &[u8; 32], purpose: &[u8], sealed: &Sealed) -> Option<Vec<u8>> {
        let shared = engine::x25519(private, &sealed.share).ok()?;
        let key = derive(&sealed.share, public, shared.as_slice(), purpose).ok()?;
        let engine = Engine::new(engine::Options::default()).ok()?;
        let key = engine.gcm_key(key.as_slice()).ok()?;
        let (text, tag) = sealed.ciphertext.split_at(sealed.ciphertext.len() - 16);
        let mut out = text.to_vec();
        let mut items = [GcmItem::decipher(&key, &NONCE, purpose, &mut out, tag)];
        engine.gcm_batch(CipherDirection::Decipher, &mut items);
        let [GcmItem { result, .. }] = items;
        result.ok().map(|()| out)
    }

    #[test]
    fn a_sealed_secret_opens_for_its_purpose_only() {
        let (secret, public) = engine::x25519_keypair();
        let private: [u8; 32] = secret.as_slice().try_into().unwrap();
        let sealed = seal(&public, PURPOSE_PART, &[7; 24]).unwrap();
        assert_eq!(open(&private, &public, PURPOSE_PART, &sealed).unwrap(), [7; 24]);
        assert_eq!(open(&private, &public, PURPOSE_PASSPHRASE, &sealed), None);
        assert_ne!(seal(&public, PURPOSE_PART, &[7; 24]).unwrap(), sealed);
    }

    #[test]
    fn a_point_of_small_order_is_refused() {
        assert_eq!(seal(&[0; 32], PURPOSE_PART, b"x").unwrap_err(), SealError::StartupKey);
    }
}
