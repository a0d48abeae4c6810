//! The public half of a key, primary or sub, as one type.

use super::either_s::EitherS;
use crate::{Fingerprint, HashAlgorithm, KeyId, Timestamp};
use pgp::crypto::public_key::PublicKeyAlgorithm;
use pgp::errors::Result;
use pgp::packet::{PacketTrait, PublicKey, PublicSubkey};
use pgp::ser::Serialize;
use pgp::types::{
    EncryptionKey, EskType, KeyDetails, KeyVersion, PkeskBytes, PublicParams, SignatureBytes, VerifyingKey,
};
use std::io::Write;

/// The packet of a public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyPacket {
    /// A primary key.
    Primary(PublicKey),
    /// A subkey.
    Sub(PublicSubkey),
}

impl KeyPacket {
    /// Whether it is a primary key.
    pub fn is_primary(&self) -> bool {
        matches!(self, Self::Primary(_))
    }

    /// Writes the packet with its header.
    pub(crate) fn to_writer_with_header(&self, out: &mut impl Write) -> Result<()> {
        match self {
            Self::Primary(key) => key.to_writer_with_header(out),
            Self::Sub(key) => key.to_writer_with_header(out),
        }
    }

    /// The algorithm-specific fields as the packet has them (RFC 9580, 5.5.5).
    pub(crate) fn fields(&self) -> Vec<u8> {
        self.public_params().to_bytes().unwrap_or_default()
    }
}

macro_rules! both {
    ($self:ident, $key:ident => $body:expr) => {
        match $self {
            KeyPacket::Primary($key) => $body,
            KeyPacket::Sub($key) => $body,
        }
    };
}

impl KeyDetails for KeyPacket {
    fn version(&self) -> KeyVersion {
        both!(self, key => key.version())
    }

    fn legacy_key_id(&self) -> KeyId {
        both!(self, key => key.legacy_key_id())
    }

    fn fingerprint(&self) -> Fingerprint {
        both!(self, key => key.fingerprint())
    }

    fn algorithm(&self) -> PublicKeyAlgorithm {
        both!(self, key => key.algorithm())
    }

    fn created_at(&self) -> Timestamp {
        both!(self, key => key.created_at())
    }

    fn legacy_v3_expiration_days(&self) -> Option<u16> {
        both!(self, key => key.legacy_v3_expiration_days())
    }

    fn public_params(&self) -> &PublicParams {
        both!(self, key => key.public_params())
    }
}

impl VerifyingKey for KeyPacket {
    fn verify(&self, hash: HashAlgorithm, digest: &[u8], signature: &SignatureBytes) -> Result<()> {
        both!(self, key => EitherS(key).verify(hash, digest, signature))
    }
}

impl EncryptionKey for KeyPacket {
    fn encrypt<R: rand::CryptoRng + rand::Rng>(
        &self,
        random: R,
        plain: &[u8],
        kind: EskType,
    ) -> Result<PkeskBytes> {
        both!(self, key => key.encrypt(random, plain, kind))
    }
}

impl Serialize for KeyPacket {
    fn to_writer<W: Write>(&self, out: &mut W) -> Result<()> {
        both!(self, key => key.to_writer(out))
    }

    fn write_len(&self) -> usize {
        both!(self, key => key.write_len())
    }
}
