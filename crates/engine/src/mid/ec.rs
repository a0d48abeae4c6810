//! Elliptic curves: ECDSA and ECDH on P-224, P-256, P-384, P-521, secp256k1, brainpoolP256r1 and brainpoolP384r1;
//! X25519 and Ed25519.

mod agree;
pub(crate) mod batch;
mod sign;

use crate::algorithm::Curve;
use crate::error::EcError;
use crate::low::aws_lc::ec::{EcKey, Group};
use crate::low::aws_lc::{random, xcurve};
use crate::low::wipe_bytes;
use crate::secret::SecretBytes;
use std::fmt;
use std::sync::OnceLock;

/// The lower layer's name of a curve; `None` for the curves that have separate functions.
fn group(curve: Curve) -> Option<Group> {
    match curve {
        Curve::P224 => Some(Group::P224),
        Curve::P256 => Some(Group::P256),
        Curve::P384 => Some(Group::P384),
        Curve::P521 => Some(Group::P521),
        Curve::Secp256k1 => Some(Group::Secp256k1),
        Curve::BrainpoolP256r1 => Some(Group::BrainpoolP256r1),
        Curve::BrainpoolP384r1 => Some(Group::BrainpoolP384r1),
        Curve::X25519 | Curve::Ed25519 => None,
    }
}

/// A private key on a curve that ECDSA and ECDH use; wiped when dropped.
pub struct EcPrivateKey {
    curve: Curve,
    key: EcKey,
    /// The public point, kept after the first use, since the library computes it anew each time.
    public: OnceLock<Vec<u8>>,
}

/// A public key on a curve that ECDSA and ECDH use.
pub struct EcPublicKey {
    curve: Curve,
    key: EcKey,
}

impl EcPrivateKey {
    /// Generates a key. [`EcError::PrivateKey`] for a curve that ECDSA and ECDH do not use.
    pub fn generate(curve: Curve) -> Result<EcPrivateKey, EcError> {
        let group = group(curve).ok_or(EcError::PrivateKey(curve))?;
        let key = EcKey::generate(group).ok_or(EcError::Internal(curve))?;
        Ok(EcPrivateKey { curve, key, public: OnceLock::new() })
    }

    /// The key of a big-endian scalar, as long as [`Curve::scalar_bytes`], above zero and below the order.
    pub fn from_bytes(curve: Curve, scalar: &[u8]) -> Result<EcPrivateKey, EcError> {
        let group = group(curve).ok_or(EcError::PrivateKey(curve))?;
        if scalar.len() != curve.scalar_bytes() {
            return Err(EcError::PrivateKey(curve));
        }
        let key = EcKey::from_private(group, scalar).ok_or(EcError::PrivateKey(curve))?;
        Ok(EcPrivateKey { curve, key, public: OnceLock::new() })
    }

    /// The curve on which the key was made.
    pub fn curve(&self) -> Curve {
        self.curve
    }

    /// The private scalar, big-endian.
    pub fn to_bytes(&self) -> SecretBytes {
        let mut scalar = SecretBytes::new(self.curve.scalar_bytes());
        let written = self.key.private(scalar.as_mut());
        debug_assert!(written);
        scalar
    }

    /// The public point, uncompressed: 4, then both coordinates (SEC 1, 2.3.3).
    pub fn public_bytes(&self) -> Vec<u8> {
        self.public_point().to_vec()
    }

    fn public_point(&self) -> &[u8] {
        self.public.get_or_init(|| self.key.public().unwrap_or_default())
    }

    /// The public key of the pair.
    pub fn public_key(&self) -> Result<EcPublicKey, EcError> {
        EcPublicKey::from_bytes(self.curve, &self.public_bytes())
    }

    /// The shared secret with a peer's public point (uncompressed or compressed): its x coordinate, as long as
    /// [`Curve::scalar_bytes`] (SP 800-56A, 5.7.1.2).
    pub fn ecdh(&self, peer: &[u8]) -> Result<SecretBytes, EcError> {
        let mut secret = SecretBytes::new(self.curve.scalar_bytes());
        if self.key.ecdh(peer, secret.as_mut()) { Ok(secret) } else { Err(EcError::PublicKey(self.curve)) }
    }
}

impl EcPublicKey {
    /// The key of a point, uncompressed or compressed (SEC 1, 2.3.3), which must be on the curve.
    pub fn from_bytes(curve: Curve, point: &[u8]) -> Result<EcPublicKey, EcError> {
        let group = group(curve).ok_or(EcError::PublicKey(curve))?;
        let key = EcKey::from_public(group, point).ok_or(EcError::PublicKey(curve))?;
        Ok(EcPublicKey { curve, key })
    }

    /// The curve on which the key lies.
    pub fn curve(&self) -> Curve {
        self.curve
    }

    /// The point, uncompressed: the byte 4, then x and y.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.key.public().unwrap_or_default()
    }
}

impl fmt::Debug for EcPrivateKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "EcPrivateKey({})", self.curve)
    }
}

impl fmt::Debug for EcPublicKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "EcPublicKey({})", self.curve)
    }
}

/// One ECDSA signature of a batch (FIPS 186-5, 6.4.1).
#[derive(Debug)]
pub struct EcdsaSignItem<'a> {
    /// The key to sign with.
    pub key: &'a EcPrivateKey,
    /// The digest. Bytes beyond the order's length are ignored.
    pub digest: &'a [u8],
    /// r, then s, big-endian, each as long as [`Curve::scalar_bytes`]; zeros follow.
    pub signature: [u8; 132],
    /// Whether the signature was made; set by the batch.
    pub result: Result<(), EcError>,
}

impl<'a> EcdsaSignItem<'a> {
    /// A request not yet run: the signature is zeros.
    pub fn new(key: &'a EcPrivateKey, digest: &'a [u8]) -> EcdsaSignItem<'a> {
        EcdsaSignItem { key, digest, signature: [0; 132], result: Ok(()) }
    }

    /// The bytes of r and s, without the zeros.
    pub fn signature(&self) -> &[u8] {
        &self.signature[..2 * self.key.curve.scalar_bytes()]
    }
}

/// One ECDSA verification of a batch (FIPS 186-5, 6.4.2).
#[derive(Debug)]
pub struct EcdsaVerifyItem<'a> {
    /// The key to verify with.
    pub key: &'a EcPublicKey,
    /// The digest. Bytes beyond the order's length are ignored.
    pub digest: &'a [u8],
    /// r, then s, big-endian, each as long as [`Curve::scalar_bytes`].
    pub signature: &'a [u8],
    /// The result of the request: [`EcError::Signature`] if the signature is not valid.
    pub result: Result<(), EcError>,
}

impl<'a> EcdsaVerifyItem<'a> {
    /// A verification not yet run.
    pub fn new(key: &'a EcPublicKey, digest: &'a [u8], signature: &'a [u8]) -> EcdsaVerifyItem<'a> {
        EcdsaVerifyItem { key, digest, signature, result: Ok(()) }
    }
}

/// Generates an X25519 private value, and its public value (RFC 7748, 6.1).
pub fn x25519_keypair() -> (SecretBytes, [u8; 32]) {
    let mut private = [0; 32];
    random::fill(&mut private);
    let pair = (SecretBytes::from_slice(&private), xcurve::x25519_public(&private));
    wipe_bytes(&mut private);
    pair
}

/// The public value of an X25519 private value.
pub fn x25519_public(private: &[u8; 32]) -> [u8; 32] {
    xcurve::x25519_public(private)
}

/// X25519 (RFC 7748, 5): the shared secret, 32 bytes. [`EcError::SmallOrder`] if it is all zeros (6.1).
pub fn x25519(private: &[u8; 32], public: &[u8; 32]) -> Result<SecretBytes, EcError> {
    let mut shared = [0; 32];
    let secret = match xcurve::x25519(private, public, &mut shared) {
        true => Ok(SecretBytes::from_slice(&shared)),
        false => Err(EcError::SmallOrder),
    };
    wipe_bytes(&mut shared);
    secret
}

const SEED_BYTES: usize = 32;

/// An Ed25519 key pair (RFC 8032, 5.1.5); wiped when dropped.
pub struct Ed25519Key {
    expanded: SecretBytes,
    public: [u8; 32],
}

impl Ed25519Key {
    /// Generates a key pair.
    pub fn generate() -> Ed25519Key {
        let mut seed = [0; 32];
        random::fill(&mut seed);
        let key = Ed25519Key::from_seed(&seed);
        wipe_bytes(&mut seed);
        key
    }

    /// The key pair of a seed, the 32 bytes that RFC 8032 calls the private key.
    pub fn from_seed(seed: &[u8; 32]) -> Ed25519Key {
        let (public, mut private) = xcurve::ed25519_from_seed(seed);
        let expanded = SecretBytes::from_slice(&private);
        wipe_bytes(&mut private);
        Ed25519Key { expanded, public }
    }

    /// The public key, 32 bytes.
    pub fn public(&self) -> [u8; 32] {
        self.public
    }

    /// The seed, the 32 bytes that RFC 8032 calls the private key.
    pub fn to_seed(&self) -> SecretBytes {
        SecretBytes::from_slice(&self.expanded[..SEED_BYTES])
    }

    /// The signature of a message (5.1.6).
    pub fn sign(&self, message: &[u8]) -> Result<[u8; 64], EcError> {
        let expanded =
            self.expanded.as_slice().try_into().map_err(|_| EcError::PrivateKey(Curve::Ed25519))?;
        xcurve::ed25519_sign(expanded, message).ok_or(EcError::Internal(Curve::Ed25519))
    }
}

impl fmt::Debug for Ed25519Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Ed25519Key")
    }
}

/// Verifies an Ed25519 signature (5.1.7): [`EcError::Signature`] if it is not valid, for any cause.
pub fn ed25519_verify(public: &[u8; 32], message: &[u8], signature: &[u8]) -> Result<(), EcError> {
    let signature = signature
        .try_into()
        .map_err(|_| EcError::SignatureLength { curve: Curve::Ed25519, bytes: signature.len() })?;
    if xcurve::ed25519_verify(public, message, signature) { Ok(()) } else { Err(EcError::Signature) }
}

/// Whether these bytes may be an Ed25519 public key. y must be below the field's prime (RFC 8032, 5.1.3), and not
/// belong to one of the eight points whose order divides the cofactor: for these anyone can make valid signatures. Not
/// checked: whether the curve has a point with this y. If not, no signature is valid.
pub fn is_ed25519_public(public: &[u8; 32]) -> bool {
    let mut y = *public;
    y[31] &= 0x7F;
    // Little-endian: the prime 2^255 - 19 is X'ED', then X'FF' 30 times, then X'7F'.
    let is_reduced = y[31] < 0x7F || y[1..31].iter().any(|byte| *byte != 0xFF) || y[0] < 0xED;
    is_reduced && !ED25519_SMALL_ORDER.contains(&y)
}

/// y of the points whose order is 1, 2, 4 or 8, without the sign of x.
const ED25519_SMALL_ORDER: [[u8; 32]; 5] = [
    [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    [
        0xEC, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
        0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F,
    ],
    [0; 32],
    [
        0x26, 0xE8, 0x95, 0x8F, 0xC2, 0xB2, 0x27, 0xB0, 0x45, 0xC3, 0xF4, 0x89, 0xF2, 0xEF, 0x98, 0xF0, 0xD5,
        0xDF, 0xAC, 0x05, 0xD3, 0xC6, 0x33, 0x39, 0xB1, 0x38, 0x02, 0x88, 0x6D, 0x53, 0xFC, 0x05,
    ],
    [
        0xC7, 0x17, 0x6A, 0x70, 0x3D, 0x4D, 0xD8, 0x4F, 0xBA, 0x3C, 0x0B, 0x76, 0x0D, 0x10, 0x67, 0x0F, 0x2A,
        0x20, 0x53, 0xFA, 0x2C, 0x39, 0xCC, 0xC6, 0x4E, 0xC7, 0xFD, 0x77, 0x92, 0xAC, 0x03, 0x7A,
    ],
];
