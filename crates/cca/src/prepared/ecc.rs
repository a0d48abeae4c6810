//! Elliptic-curve keys that are prepared.

use crate::ground::Age;
use engine::{Curve, EcPrivateKey, EcPublicKey, Ed25519Key, Engine, SecretBytes, is_ed25519_public};
use token::pka::Usage;
use token::pka::ecc::EccCurve;
use wire::{Codes, code};

/// Bytes that a key of any curve takes while it is kept.
pub(crate) const KEPT_BYTES: usize = 3072;

/// The engine's value for a curve.
fn curve_of(curve: EccCurve) -> Curve {
    match curve {
        EccCurve::P224 => Curve::P224,
        EccCurve::P256 => Curve::P256,
        EccCurve::P384 => Curve::P384,
        EccCurve::P521 => Curve::P521,
        EccCurve::BrainpoolP256r1 => Curve::BrainpoolP256r1,
        EccCurve::BrainpoolP384r1 => Curve::BrainpoolP384r1,
        EccCurve::Ed25519 => Curve::Ed25519,
        EccCurve::Secp256k1 => Curve::Secp256k1,
    }
}

/// A private key of a curve.
pub(crate) enum PrivateKey {
    Weierstrass(EcPrivateKey),
    Edwards(Ed25519Key),
}

impl PrivateKey {
    /// Generates a key.
    ///
    /// # Errors
    /// 16/336 where the library fails.
    pub(crate) fn generate(engine: &Engine, curve: EccCurve) -> Result<Self, Codes> {
        if curve == EccCurve::Ed25519 {
            return Ok(Self::Edwards(Ed25519Key::generate()));
        }
        engine.ec_generate(curve_of(curve)).map(Self::Weierstrass).map_err(|_| code::SELF_CHECK)
    }

    /// Makes a key of a private value as long as the curve's.
    ///
    /// # Errors
    /// 8/770 for zero, and for what is not below the order.
    pub(crate) fn new(curve: EccCurve, value: &[u8]) -> Result<Self, Codes> {
        if curve == EccCurve::Ed25519 {
            let seed = value.try_into().map_err(|_| code::PKA_FIELD)?;
            return Ok(Self::Edwards(Ed25519Key::from_seed(seed)));
        }
        EcPrivateKey::from_bytes(curve_of(curve), value).map(Self::Weierstrass).map_err(|_| code::PKA_FIELD)
    }

    /// The private value.
    pub(crate) fn value(&self) -> SecretBytes {
        match self {
            Self::Weierstrass(key) => key.to_bytes(),
            Self::Edwards(key) => key.to_seed(),
        }
    }

    /// The public key that belongs to the private value.
    pub(crate) fn point(&self) -> Vec<u8> {
        match self {
            Self::Weierstrass(key) => key.public_bytes(),
            Self::Edwards(key) => key.public().to_vec(),
        }
    }
}

/// A private key ready for use, and what its token says of it.
pub(crate) struct PrivateContext {
    pub(crate) key: PrivateKey,
    pub(crate) curve: EccCurve,
    pub(crate) point: Vec<u8>,
    pub(crate) usage: Usage,
    /// Master key that wrapped the token, or its key-encrypting key; `None` for a clear token.
    pub(crate) age: Option<Age>,
}

impl PrivateContext {
    /// The context of a private value that was opened under a key-encrypting key of this age; `point` is its public
    /// key.
    ///
    /// # Errors
    /// 8/770 for a value that the curve does not have.
    pub(crate) fn of_value(
        curve: EccCurve,
        value: &[u8],
        point: &[u8],
        usage: Usage,
        age: Age,
    ) -> Result<Self, Codes> {
        let key = PrivateKey::new(curve, value)?;
        Ok(Self { key, curve, point: point.to_vec(), usage, age: Some(age) })
    }

    /// Codes of a verb that did everything with this key.
    pub(crate) fn codes(&self) -> Codes {
        self.age.map_or(code::OK, Age::codes)
    }
}

/// A public key of a curve.
pub(crate) enum PublicKey {
    Weierstrass(EcPublicKey),
    Edwards([u8; 32]),
}

/// A public key ready for use.
pub(crate) struct PublicContext {
    pub(crate) key: PublicKey,
    pub(crate) curve: EccCurve,
    pub(crate) point: Vec<u8>,
}

impl PublicContext {
    /// The context of a public key in the form of its curve.
    ///
    /// # Errors
    /// 8/770 for bytes that are no point of the curve, for the point at infinity and, of Ed25519, for a point of small
    /// order.
    pub(crate) fn new(curve: EccCurve, point: &[u8]) -> Result<Self, Codes> {
        let key = if curve == EccCurve::Ed25519 {
            let public = point.try_into().map_err(|_| code::PKA_FIELD)?;
            if !is_ed25519_public(&public) {
                return Err(code::PKA_FIELD);
            }
            PublicKey::Edwards(public)
        } else {
            let key = EcPublicKey::from_bytes(curve_of(curve), point).map_err(|_| code::PKA_FIELD)?;
            PublicKey::Weierstrass(key)
        };
        Ok(Self { key, curve, point: point.to_vec() })
    }
}

/// The secret that a private key and the public key of another party agree on (SP 800-56A, 5.7.1.2): a coordinate, as
/// long as the curve's prime. All of these curves have the cofactor 1, so that no point of them is of small order.
///
/// # Errors
/// 8/874 where both are not of one curve that agrees; 8/770 for a public key that agrees on nothing.
pub(crate) fn agree(key: &PrivateContext, peer: &PublicContext) -> Result<SecretBytes, Codes> {
    match (&key.key, &peer.key) {
        (PrivateKey::Weierstrass(private), PublicKey::Weierstrass(_)) if key.curve == peer.curve => {
            private.ecdh(&peer.point).map_err(|_| code::PKA_FIELD)
        }
        _ => Err(code::CURVE),
    }
}
