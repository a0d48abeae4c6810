//! Session keys: made for a form, sealed to recipients and passphrases, opened again.
//!
//! | need | function |
//! |---|---|
//! | a new one | [`generate`] |
//! | the packet for a recipient (RFC 9580, 5.1) | [`for_recipient`] |
//! | the packet for a passphrase (RFC 9580, 5.3) | [`for_passphrase`], [`S2k`] |
//! | whether a packet may be for a key | [`matches()`] |
//! | what a private key opens, so that a failure does not show | [`open`], [`Unsealed`] |
//! | the session key in what a key elsewhere deciphered | [`session_key_of`] |
//! | what a passphrase opens, and whether the packets demand too much or are not served | [`open_passphrase`], [`check_demands`], [`unserved`] |
//!
//! [`crate::PrivateKey::open`] itself tells a packet that does not open from one that does: for callers whose answer
//! nobody else sees.

mod argon2;
mod ecdh;
mod hashed;
mod passphrase;
mod plain;
mod recipient;
mod rejection;

use crate::compute::engine;
use crate::{Form, PlainSessionKey, Protection};
use pgp::packet::{PublicKeyEncryptedSessionKey, SymKeyEncryptedSessionKey};
use pgp::types::KeyDetails;
use zeroize::Zeroizing;

pub use argon2::{ARGON2_LANES_MAX, ARGON2_MEMORY_BITS_MAX, ARGON2_WORK_MAX, TooDemanding, check_demands};
pub use passphrase::{Opened, S2k, for_passphrase, open_passphrase, unserved};
pub(crate) use passphrase::{is_fit_for_v6, parse as parse_passphrase_packet, s2k_key};
pub use plain::session_key_of;
pub(crate) use plain::{is_aes_only, with_checksum};
pub use recipient::{SealError, for_recipient};
pub use rejection::{Unsealed, fails_silently, open};

/// A packet before a body that holds its session key.
#[derive(Clone, Debug)]
pub enum SessionKeyPacket {
    /// For a public key.
    Public(PublicKeyEncryptedSessionKey),
    /// For a passphrase.
    Passphrase(SymKeyEncryptedSessionKey),
}

/// A new session key for a form.
pub fn generate(form: Form) -> PlainSessionKey {
    let mut key = Zeroizing::new(vec![0; form.cipher.key_size()]);
    engine().random(&mut key);
    of_bytes(form, key)
}

/// A session key out of its bytes, of the length of the form's cipher.
pub fn of_bytes(form: Form, key: Zeroizing<Vec<u8>>) -> PlainSessionKey {
    match form.protection {
        Protection::SeipdV1 | Protection::GnupgAead { .. } => {
            PlainSessionKey::V3_4 { sym_alg: form.cipher, key: key.into() }
        }
        Protection::SeipdV2 { .. } => PlainSessionKey::V6 { key: key.into() },
    }
}

/// The bytes of a session key.
pub fn bytes(session_key: &PlainSessionKey) -> &[u8] {
    match session_key {
        PlainSessionKey::V3_4 { key, .. } | PlainSessionKey::V5 { key } | PlainSessionKey::V6 { key } => {
            key.as_ref()
        }
    }
}

/// Whether a packet may be for a key: it names it, or nobody (a wildcard, RFC 9580, 5.1.1); and their algorithms fit.
pub fn matches(packet: &PublicKeyEncryptedSessionKey, key: &dyn KeyDetails) -> bool {
    let is_named = match packet {
        PublicKeyEncryptedSessionKey::V3 { id, .. } => id.is_wildcard() || *id == key.legacy_key_id(),
        PublicKeyEncryptedSessionKey::V6 { fingerprint, .. } => {
            fingerprint.as_ref().is_none_or(|fingerprint| *fingerprint == key.fingerprint())
        }
        PublicKeyEncryptedSessionKey::Other { .. } => false,
    };
    is_named && packet.algorithm().is_ok_and(|algorithm| plain::is_same_family(algorithm, key.algorithm()))
}
