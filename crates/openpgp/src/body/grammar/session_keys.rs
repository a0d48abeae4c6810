//! The packets that precede a body and hold the body's session key (RFC 9580, 5.1 and 5.3).

use crate::{AeadAlgorithm, SymmetricKeyAlgorithm};
use pgp::packet::{AeadProps, PacketHeader, PublicKeyEncryptedSessionKey, SymKeyEncryptedSessionKey};
use pgp::types::{StringToKey, Tag};

/// A packet that precedes a body and holds the body's session key.
#[derive(Clone, Debug)]
pub enum SessionKeyPacket {
    /// The session key is enciphered to a public key.
    Public(PublicKeyEncryptedSessionKey),
    /// The session key is enciphered under a passphrase.
    Passphrase(SymKeyEncryptedSessionKey),
}

impl SessionKeyPacket {
    /// Parses the body of a packet; `None` if it is malformed or of another type.
    pub(super) fn parse(header: PacketHeader, body: &[u8]) -> Option<Self> {
        match header.tag() {
            Tag::PublicKeyEncryptedSessionKey => {
                PublicKeyEncryptedSessionKey::try_from_reader(header, body).ok().map(Self::Public)
            }
            _ => for_passphrase(header, body).map(Self::Passphrase),
        }
    }
}

/// Parses the body of a passphrase packet; `None` if it is malformed.
fn for_passphrase(header: PacketHeader, body: &[u8]) -> Option<SymKeyEncryptedSessionKey> {
    v5_with_eax(header, body).or_else(|| SymKeyEncryptedSessionKey::try_from_reader(header, body).ok())
}

/// Parses GnuPG's version with EAX (draft-koch-librepgp, 5.3), for which rPGP reads OCB alone; `None` for other
/// packets.
fn v5_with_eax(header: PacketHeader, body: &[u8]) -> Option<SymKeyEncryptedSessionKey> {
    let [5, cipher, mode, rest @ ..] = body else { return None };
    if AeadAlgorithm::from(*mode) != AeadAlgorithm::Eax {
        return None;
    }
    let mut rest = rest;
    let s2k = StringToKey::try_from_reader(&mut rest).ok()?;
    let (iv, sealed) = rest.split_first_chunk()?;
    Some(SymKeyEncryptedSessionKey::V5 {
        packet_header: header,
        sym_algorithm: SymmetricKeyAlgorithm::from(*cipher),
        s2k,
        aead: AeadProps::Eax { iv: *iv },
        encrypted_key: sealed.to_vec().into(),
    })
}
