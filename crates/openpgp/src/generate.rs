//! New keys, and changes of keys.
//!
//! | need | function |
//! |---|---|
//! | a new certificate with its private keys in this process | [`generate`] |
//! | a certificate for keys in another process, such as on cards | [`certify`], [`rsa_public`] |
//! | another expiration, revocation, another user id | [`expire`], [`revoke`], [`revoke_user_id`], [`add_user_id`] |
//! | a certification of somebody else's user id | [`certify_user_id`] |
//! | another passphrase | [`crate::private_key::PrivateCertificate::with_passphrase`] |
//!
//! Changes return a new certificate with the contents of the old one and one or more new signatures. Merged into copies
//! elsewhere, it changes them too.

mod bind;
mod changes;
mod fresh;

use crate::key::SecretPacket;
use crate::private_key::{PrivateCertificate, SoftwareKey};
use crate::{Passphrase, PrivateKey, PrivateKeyError, Timestamp};
use std::fmt;

pub use bind::{KeysOf, certify};
pub use changes::{Reason, add_user_id, certify_user_id, expire, revoke, revoke_subkey, revoke_user_id};
pub use fresh::rsa_public;

/// Algorithms of a new certificate: a primary key that certifies and signs, and a subkey that messages are
/// encrypted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateAlgorithms {
    /// RSA for both keys, 2048 to 4096 bits.
    Rsa {
        /// Length of the moduli in bits, a multiple of 8.
        bits: usize,
    },
    /// Ed25519 and X25519; in version 4 in the legacy forms that every program reads.
    Curve25519,
    /// Ed448 and X448.
    Curve448,
    /// ECDSA and ECDH on P-256.
    P256,
    /// ECDSA and ECDH on P-384.
    P384,
    /// ECDSA and ECDH on P-521.
    P521,
    /// ML-DSA-65 with Ed25519, and ML-KEM-768 with X25519 (RFC 9980); version 6 only.
    MlDsa65MlKem768,
    /// ML-DSA-87 with Ed448, and ML-KEM-1024 with X448 (RFC 9980); version 6 only.
    MlDsa87MlKem1024,
}

/// The properties of a new certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewKey {
    /// Algorithms of the keys.
    pub kind: CertificateAlgorithms,
    /// Whether the keys are of version 6 (RFC 9580) rather than of version 4. GnuPG needs version 4.
    pub is_v6: bool,
    /// User ids, the primary one first; there may be none.
    pub user_ids: Vec<String>,
    /// When the keys are made.
    pub created: Timestamp,
    /// When the certificate expires; `None` for never.
    pub expires: Option<Timestamp>,
    /// Whether SEIPD version 2 is announced, which programs older than RFC 9580 cannot read.
    pub announces_seipd_v2: bool,
    /// Whether the certificate has no key that messages are encrypted to.
    pub is_signing_only: bool,
}

impl NewKey {
    /// A certificate of version 4 on Curve25519 that never expires.
    pub fn new(user_id: &str, created: Timestamp) -> Self {
        Self {
            kind: CertificateAlgorithms::Curve25519,
            is_v6: false,
            user_ids: vec![user_id.to_owned()],
            created,
            expires: None,
            announces_seipd_v2: false,
            is_signing_only: false,
        }
    }
}

/// Why no key was made, or no change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GenerateError {
    /// The request is contradictory or cannot be carried out.
    Asked {
        /// The reason, for people.
        cause: String,
    },
    /// The private key failed to sign.
    Key(PrivateKeyError),
}

impl fmt::Display for GenerateError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked { cause } => out.write_str(cause),
            Self::Key(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for GenerateError {}

impl From<PrivateKeyError> for GenerateError {
    fn from(error: PrivateKeyError) -> Self {
        Self::Key(error)
    }
}

pub(crate) fn asked(cause: impl fmt::Display) -> GenerateError {
    GenerateError::Asked { cause: cause.to_string() }
}

/// Makes a new certificate with its private keys, which are locked if a passphrase is given.
///
/// # Errors
/// [`GenerateError::Asked`] for algorithms or sizes that do not go together, or an expiration before the creation.
pub fn generate(what: &NewKey, passphrase: Option<&Passphrase>) -> Result<PrivateCertificate, GenerateError> {
    let (primary, subkey) = fresh::keys(what)?;
    let key = |packet: &SecretPacket| -> Result<SoftwareKey, GenerateError> {
        Ok(SoftwareKey::new(packet.public().clone(), &packet.fields(None)?)?)
    };
    let signer = key(&primary)?;
    let encrypter = subkey.as_ref().map(key).transpose()?;
    let keys = KeysOf { primary: &signer, encryption: encrypter.as_ref().map(|key| key as &dyn PrivateKey) };
    let certificate = bind::bind(what, primary.public(), subkey.as_ref().map(SecretPacket::public), &keys)?;
    let packets = std::iter::once(primary).chain(subkey).collect();
    let private = PrivateCertificate::new(certificate, packets);
    match passphrase {
        Some(_) => Ok(private.with_passphrase(None, passphrase)?),
        None => Ok(private),
    }
}
