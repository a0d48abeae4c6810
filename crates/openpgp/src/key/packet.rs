//! The public half of a key, primary or sub, as one type.

use super::verifying::Verifying;
use crate::{Fingerprint, HashAlgorithm, KeyId, SymmetricKeyAlgorithm, Timestamp};
use engine::Curve;
use pgp::crypto::ecc_curve::ECCCurve;
use pgp::crypto::public_key::PublicKeyAlgorithm;
use pgp::errors::Result;
use pgp::packet::{PacketTrait, PublicKey, PublicSubkey};
use pgp::ser::Serialize;
use pgp::types::{
    EcdhPublicParams, EcdsaPublicParams, EddsaLegacyPublicParams, EncryptionKey, EskType, KeyDetails,
    KeyVersion, PkeskBytes, PublicParams, SignatureBytes, VerifyingKey,
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
    /// Whether the packet is a primary key's.
    pub fn is_primary(&self) -> bool {
        matches!(self, Self::Primary(_))
    }

    /// Whether the private half computes outside of the engine, in code that is not held to constant time: Ed448, X448,
    /// secp256k1, and post-quantum algorithms.
    pub fn is_experimental(&self) -> bool {
        matches!(
            self.public_params(),
            PublicParams::ECDSA(EcdsaPublicParams::Secp256k1 { .. })
                | PublicParams::Ed448(_)
                | PublicParams::X448(_)
                | PublicParams::MlKem768X25519(_)
                | PublicParams::MlKem1024X448(_)
                | PublicParams::MlDsa65Ed25519(_)
                | PublicParams::MlDsa87Ed448(_)
                | PublicParams::SlhDsaShake128s(_)
                | PublicParams::SlhDsaShake128f(_)
                | PublicParams::SlhDsaShake256s(_)
        )
    }

    /// Writes the packet with its header to `out`.
    pub(crate) fn to_writer_with_header(&self, out: &mut impl Write) -> Result<()> {
        match self {
            Self::Primary(key) => key.to_writer_with_header(out),
            Self::Sub(key) => key.to_writer_with_header(out),
        }
    }

    /// The algorithm-specific fields of the packet (RFC 9580, 5.5.5).
    pub(crate) fn fields(&self) -> Vec<u8> {
        self.public_params().to_bytes().unwrap_or_default()
    }

    /// The curve's name (RFC 9580, 9.2), or its object identifier if it has no name here. `None` for algorithms without
    /// a choice of curves.
    pub fn curve(&self) -> Option<String> {
        curve(self.public_params()).map(name_of)
    }
}

fn curve(params: &PublicParams) -> Option<ECCCurve> {
    match params {
        PublicParams::ECDSA(params) => Some(params.curve()),
        PublicParams::ECDH(params) => Some(params.curve()),
        PublicParams::EdDSALegacy(params) => Some(params.curve()),
        _ => None,
    }
}

fn name_of(curve: ECCCurve) -> String {
    match curve {
        ECCCurve::Unknown(identifier) => identifier.to_string(),
        known => known.name().to_owned(),
    }
}

/// The engine's value for a curve; `None` if the engine does not support it.
pub(crate) fn engine_curve(curve: &ECCCurve) -> Option<Curve> {
    match curve {
        ECCCurve::P256 => Some(Curve::P256),
        ECCCurve::P384 => Some(Curve::P384),
        ECCCurve::P521 => Some(Curve::P521),
        ECCCurve::BrainpoolP256r1 => Some(Curve::BrainpoolP256r1),
        ECCCurve::BrainpoolP384r1 => Some(Curve::BrainpoolP384r1),
        _ => None,
    }
}

/// Curve and point of an ECDSA or ECDH key on a curve that the engine supports. In the packet, the curve's name comes
/// first, with its length in one octet, then the point (RFC 9580, 5.5.5.4 and 5.5.5.6).
pub(crate) fn curve_and_point(params: &PublicParams) -> Option<(Curve, Vec<u8>)> {
    let curve = engine_curve(&curve(params)?)?;
    let fields = params.to_bytes().ok()?;
    let point = fields.get(1 + usize::from(*fields.first()?)..)?;
    let bits = u16::from_be_bytes(*point.first_chunk()?);
    Some((curve, point.get(2..2 + usize::from(bits).div_ceil(8))?.to_vec()))
}

/// Hash and cipher that ECDH derives its key with (RFC 9580, 11.5); `None` for unknown curves.
pub(crate) fn derivation(params: &EcdhPublicParams) -> Option<(HashAlgorithm, SymmetricKeyAlgorithm)> {
    use EcdhPublicParams::{
        Brainpool256, Brainpool384, Brainpool512, Curve25519Legacy, P256, P384, P521, Unsupported,
    };
    match params {
        Curve25519Legacy { hash, alg_sym, .. }
        | P256 { hash, alg_sym, .. }
        | P384 { hash, alg_sym, .. }
        | P521 { hash, alg_sym, .. }
        | Brainpool256 { hash, alg_sym, .. }
        | Brainpool384 { hash, alg_sym, .. }
        | Brainpool512 { hash, alg_sym, .. } => Some((*hash, *alg_sym)),
        Unsupported { .. } => None,
    }
}

/// A description of a key on an unsupported curve, whose signatures cannot be checked either; `None` for other keys.
pub(crate) fn unserved_curve(key: &impl KeyDetails) -> Option<String> {
    let params = key.public_params();
    let is_served = match params {
        PublicParams::ECDSA(params) => params.is_supported() || engine_curve(&params.curve()).is_some(),
        PublicParams::EdDSALegacy(EddsaLegacyPublicParams::Unsupported { .. }) => false,
        PublicParams::ECDH(EcdhPublicParams::Brainpool512 { .. }) => false,
        PublicParams::ECDH(params) => params.is_supported(),
        _ => true,
    };
    let curve = curve(params).filter(|_| !is_served)?;
    Some(format!("{:?}, curve not supported: {}", key.algorithm(), name_of(curve)))
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
        both!(self, key => Verifying::new(key).verify(hash, digest, signature))
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
