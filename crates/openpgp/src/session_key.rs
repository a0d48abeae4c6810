//! Session keys: generated for a form, enciphered to recipients and passphrases, and opened again.
//!
//! | need | function |
//! |---|---|
//! | a new session key | [`generate`] |
//! | the packet for a recipient (RFC 9580, 5.1) | [`for_recipient`] |
//! | the packet for a passphrase (RFC 9580, 5.3) | [`for_passphrase`], [`S2k`] |
//! | check whether a packet may be for a key | [`matches()`] |
//! | decrypt with a private key, hiding failures | [`open`], [`Unsealed`] |
//! | the session key in a block that a key elsewhere deciphered | [`session_key_of`] |
//! | decrypt with a passphrase; refuse packets that demand too much or are unsupported | [`open_passphrase`],
//! [`check_demands`], [`unserved`] |
//!
//! [`crate::PrivateKey::open`] itself reveals whether a packet decrypts. Use it only if no attacker sees the answer.

mod ecdh;
mod passphrase;
mod recipient;
mod rejection;

use crate::compute::engine;
use crate::key::is_same_family;
use crate::s2k;
use crate::{Form, PlainSessionKey, Protection};
use pgp::packet::PublicKeyEncryptedSessionKey;
use pgp::types::KeyDetails;
use zeroize::Zeroizing;

pub use crate::body::grammar::SessionKeyPacket;
pub use crate::key::{bytes, session_key_of};
pub use crate::s2k::{ARGON2_LANES_MAX, ARGON2_MEMORY_BITS_MAX, ARGON2_WORK_MAX, S2k, TooDemanding};
pub use passphrase::{Opened, for_passphrase, open_passphrase, unserved};
pub use recipient::{SealError, for_recipient};
pub use rejection::{Unsealed, fails_silently, open};

/// A new random session key for a form.
pub fn generate(form: Form) -> PlainSessionKey {
    let mut key = Zeroizing::new(vec![0; form.cipher.key_size()]);
    engine().random(&mut key);
    of_bytes(form, key)
}

/// A session key from its bytes, which must have the length of the form's cipher.
pub fn of_bytes(form: Form, key: Zeroizing<Vec<u8>>) -> PlainSessionKey {
    match form.protection {
        Protection::SeipdV1 | Protection::GnupgAead { .. } => {
            PlainSessionKey::V3_4 { sym_alg: form.cipher, key: key.into() }
        }
        Protection::SeipdV2 { .. } => PlainSessionKey::V6 { key: key.into() },
    }
}

/// Whether a packet may be for a key: the packet names this key, or none (a wildcard, RFC 9580, 5.1.1), and their
/// algorithms fit.
pub fn matches(packet: &PublicKeyEncryptedSessionKey, key: &dyn KeyDetails) -> bool {
    let is_named = match packet {
        PublicKeyEncryptedSessionKey::V3 { id, .. } => id.is_wildcard() || *id == key.legacy_key_id(),
        PublicKeyEncryptedSessionKey::V6 { fingerprint, .. } => {
            fingerprint.as_ref().is_none_or(|fingerprint| *fingerprint == key.fingerprint())
        }
        PublicKeyEncryptedSessionKey::Other { .. } => false,
    };
    is_named && packet.algorithm().is_ok_and(|algorithm| is_same_family(algorithm, key.algorithm()))
}

/// Checks that the Argon2 of all packets of a message together is within the bounds. To be called before the first
/// passphrase is tried.
///
/// # Errors
/// [`TooDemanding`] if it is not.
pub fn check_demands(packets: &[SessionKeyPacket]) -> Result<(), TooDemanding> {
    s2k::check(packets.iter().filter_map(|packet| match packet {
        SessionKeyPacket::Passphrase(packet) => packet.s2k(),
        SessionKeyPacket::Public(_) => None,
    }))
}
