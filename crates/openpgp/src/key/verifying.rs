//! Verification of signatures for which rPGP's own is slow or incomplete.
//!
//! An attacker can add two thousand signatures to a certificate that claim to be its owner's, and each must be
//! verified. The engine verifies them if it supports the algorithm, and the signed data ([`Subject`]) is hashed once
//! for all of them.
//!
//! For ECDSA over secp256k1, both values of s are accepted. If a signature (r, s) is valid, the pair (r, n - s) is
//! valid as well. OpenPGP has no rule which of them is written, and GnuPG writes both; the library behind rPGP accepts
//! only the lower s.

use super::packet::curve_and_point;
use crate::compute::{engine, engine_hash};
use crate::numbers::{mpis, padded};
use crate::signed::Subject;
use crate::{Fingerprint, HashAlgorithm, KeyId, Timestamp};
use engine::{EcPublicKey, EcdsaVerifyItem, RsaPublicKey, ed25519_verify, pkcs1_v15_verify};
use pgp::crypto::public_key::PublicKeyAlgorithm;
use pgp::errors::Result;
use pgp::packet::{Signature, SignatureConfig, SignatureType, SignatureVersion, SubpacketData};
use pgp::ser::Serialize;
use pgp::types::{
    EcdsaPublicParams, EddsaLegacyPublicParams, KeyDetails, KeyVersion, Mpi, PublicParams, SignatureBytes,
    VerifyingKey,
};
use std::cell::OnceCell;
use std::fmt;
use std::io::Write;

/// A key that verifies signatures with the engine if it can, else with rPGP.
pub(crate) struct Verifying<'a, K> {
    key: &'a K,
    /// The key in the engine's form, made when it is first needed; `None` if the engine does not support it.
    prepared: OnceCell<Option<Prepared>>,
    /// Key ID and fingerprint, computed when they are first needed: each is a hash.
    names: OnceCell<(KeyId, Fingerprint)>,
}

impl<'a, K: VerifyingKey> Verifying<'a, K> {
    /// Prepares a key to verify any number of signatures.
    pub(crate) fn new(key: &'a K) -> Self {
        Self { key, prepared: OnceCell::new(), names: OnceCell::new() }
    }

    /// Whether this key made the signature over these keys or user ids, and the signature is valid.
    pub(crate) fn holds(&self, signature: &Signature, subject: &Subject) -> bool {
        let (Some(config), Some(bytes)) = (signature.config(), signature.signature()) else { return false };
        // Other people's signatures may be among the owner's, but not among those that bind keys of one certificate.
        let is_binding = matches!(
            config.typ,
            SignatureType::SubkeyBinding | SignatureType::SubkeyRevocation | SignatureType::KeyBinding
        );
        if !subject.takes(config.typ)
            || !self.is_of_version(config)
            || !is_binding && !self.is_named(signature)
        {
            return false;
        }
        let Some(digest) = subject.digest(signature, config) else { return false };
        // RFC 9980: a hash has at least 256 bits.
        let is_long_enough = !config.pub_alg.is_pqc() || digest.len() >= 32;
        // The first octets of the digest are only a hint. They are judged for version 6 alone (RFC 9580, 5.2.4), since
        // version 4 signatures with wrong octets are in use.
        let is_begun = config.version() != SignatureVersion::V6
            || signature.signed_hash_value().is_some_and(|start| digest.starts_with(&start));
        is_long_enough && is_begun && self.fits(config.hash_alg, &digest, bytes)
    }

    /// Whether versions fit. Version 6 signatures are made by version 6 keys (RFC 9580, 5.2.3), and name a fingerprint
    /// of version 6 (5.2.3.35).
    fn is_of_version(&self, config: &SignatureConfig) -> bool {
        let is_v6 = config.version() == SignatureVersion::V6;
        let version = if is_v6 { KeyVersion::V6 } else { KeyVersion::V4 };
        is_v6 == (self.key.version() == KeyVersion::V6)
            && config.hashed_subpackets().all(|subpacket| match &subpacket.data {
                SubpacketData::IssuerFingerprint(issuer) => issuer.version() == Some(version),
                _ => true,
            })
    }

    /// Whether a signature names this key as its issuer, or names no issuer.
    fn is_named(&self, signature: &Signature) -> bool {
        let (ids, fingerprints) = (signature.issuer_key_id(), signature.issuer_fingerprint());
        let names = || (self.key.legacy_key_id(), self.key.fingerprint());
        let (id, fingerprint) = self.names.get_or_init(names);
        ids.is_empty() && fingerprints.is_empty() || ids.contains(&id) || fingerprints.contains(&fingerprint)
    }

    /// Whether a signature by this key over the digest is valid. Not [`VerifyingKey::verify`], whose errors may cost
    /// more than the check: each records a backtrace if the environment asks for them.
    fn fits(&self, hash: HashAlgorithm, digest: &[u8], signature: &SignatureBytes) -> bool {
        if let Some(holds) = self.by_engine(hash, digest, signature) {
            return holds;
        }
        let is_secp256k1 =
            matches!(self.key.public_params(), PublicParams::ECDSA(EcdsaPublicParams::Secp256k1 { .. }));
        let by_rpgp = |signature: &SignatureBytes| self.key.verify(hash, digest, signature).is_ok();
        by_rpgp(signature) || is_secp256k1 && with_other_s(signature).is_some_and(|other| by_rpgp(&other))
    }

    /// The engine's verdict; `None` for an algorithm, hash or length that it does not support.
    fn by_engine(&self, hash: HashAlgorithm, digest: &[u8], signature: &SignatureBytes) -> Option<bool> {
        let prepared = self.prepared.get_or_init(|| Prepared::new(self.key.public_params())).as_ref()?;
        match (prepared, signature) {
            (Prepared::Rsa(public), SignatureBytes::Mpis(numbers)) => {
                let ([number], hash) = (&numbers[..], engine_hash(hash)?) else { return None };
                rsa_holds(public, hash, digest, number.as_ref())
            }
            (Prepared::Ecdsa(public), SignatureBytes::Mpis(numbers)) => {
                let scalar_bytes = public.curve().scalar_bytes();
                let Some(scalars) = scalars(numbers, scalar_bytes) else { return Some(false) };
                let mut items = [EcdsaVerifyItem::new(public, digest, &scalars)];
                engine().ecdsa_verify_batch(&mut items);
                Some(items[0].result.is_ok())
            }
            (Prepared::Ed25519(public), SignatureBytes::Mpis(numbers)) => {
                Some(scalars(numbers, 32).is_some_and(|it| ed25519_verify(public, digest, &it).is_ok()))
            }
            (Prepared::Ed25519(public), SignatureBytes::Native(bytes)) => {
                Some(ed25519_verify(public, digest, bytes).is_ok())
            }
            _ => None,
        }
    }
}

/// A key in the engine's form.
enum Prepared {
    Rsa(RsaPublicKey),
    Ecdsa(EcPublicKey),
    Ed25519([u8; 32]),
}

impl Prepared {
    /// `None` if the engine does not support the key.
    fn new(params: &PublicParams) -> Option<Self> {
        match params {
            PublicParams::RSA(_) => {
                let fields = params.to_bytes().ok()?;
                let [n, e] = mpis(&fields)?;
                RsaPublicKey::new(n, e).ok().map(Self::Rsa)
            }
            PublicParams::ECDSA(_) => {
                let (curve, point) = curve_and_point(params)?;
                EcPublicKey::from_bytes(curve, &point).ok().map(Self::Ecdsa)
            }
            PublicParams::EdDSALegacy(EddsaLegacyPublicParams::Ed25519 { key }) => {
                Some(Self::Ed25519(key.to_bytes()))
            }
            PublicParams::Ed25519(params) => Some(Self::Ed25519(params.key.to_bytes())),
            _ => None,
        }
    }
}

/// Whether an RSA signature is valid (RFC 8017, 8.2.2); `None` if the engine refuses a weak key.
fn rsa_holds(
    public: &RsaPublicKey,
    hash: engine::HashAlgorithm,
    digest: &[u8],
    signature: &[u8],
) -> Option<bool> {
    let Some(sealed) = padded(signature, public.modulus_bytes()) else { return Some(false) };
    let mut block = vec![0; public.modulus_bytes()];
    match engine().rsa_public(public, &sealed, &mut block) {
        Ok(()) => Some(pkcs1_v15_verify(hash, digest, &block).is_ok()),
        // A key that the engine refuses may be accepted by rPGP.
        Err(_) if public.is_weak() => None,
        Err(_) => Some(false),
    }
}

/// Both numbers, padded to this length, one behind the other; `None` unless there are exactly two that are not longer.
fn scalars(numbers: &[Mpi], bytes: usize) -> Option<Vec<u8>> {
    let [r, s] = numbers else { return None };
    let (r, s) = (padded(r.as_ref(), bytes)?, padded(s.as_ref(), bytes)?);
    Some([&r[..], &s[..]].concat())
}

impl<K: KeyDetails> fmt::Debug for Verifying<'_, K> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Verifying({:X})", self.key.fingerprint())
    }
}

impl<K: VerifyingKey> VerifyingKey for Verifying<'_, K> {
    fn verify(&self, hash: HashAlgorithm, digest: &[u8], signature: &SignatureBytes) -> Result<()> {
        let failed = || std::io::Error::other("the signature does not hold");
        if self.fits(hash, digest, signature) { Ok(()) } else { Err(failed().into()) }
    }
}

/// The signature with n - s in place of s; `None` if s is larger than n.
fn with_other_s(signature: &SignatureBytes) -> Option<SignatureBytes> {
    let SignatureBytes::Mpis(integers) = signature else { return None };
    let [r, s] = integers.as_slice() else { return None };
    let mut padded = [0; ORDER.len()];
    let begin = padded.len().checked_sub(s.as_ref().len())?;
    padded[begin..].copy_from_slice(s.as_ref());
    let mut other = [0; ORDER.len()];
    let mut borrows = false;
    for index in (0..ORDER.len()).rev() {
        let (difference, first) = ORDER[index].overflowing_sub(padded[index]);
        let (difference, second) = difference.overflowing_sub(u8::from(borrows));
        other[index] = difference;
        borrows = first || second;
    }
    (!borrows).then(|| SignatureBytes::Mpis(vec![r.clone(), Mpi::from_slice(&other)]))
}

impl<K: KeyDetails> KeyDetails for Verifying<'_, K> {
    fn version(&self) -> KeyVersion {
        self.key.version()
    }

    fn legacy_key_id(&self) -> KeyId {
        self.key.legacy_key_id()
    }

    fn fingerprint(&self) -> Fingerprint {
        self.key.fingerprint()
    }

    fn algorithm(&self) -> PublicKeyAlgorithm {
        self.key.algorithm()
    }

    fn created_at(&self) -> Timestamp {
        self.key.created_at()
    }

    fn legacy_v3_expiration_days(&self) -> Option<u16> {
        self.key.legacy_v3_expiration_days()
    }

    fn public_params(&self) -> &PublicParams {
        self.key.public_params()
    }
}

impl<K: Serialize> Serialize for Verifying<'_, K> {
    fn to_writer<W: Write>(&self, out: &mut W) -> Result<()> {
        self.key.to_writer(out)
    }

    fn write_len(&self) -> usize {
        self.key.write_len()
    }
}

/// Order of the group of secp256k1 (SEC 2, 2.4.1).
const ORDER: [u8; 32] = [
    0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE, 0xBA,
    0xAE, 0xDC, 0xE6, 0xAF, 0x48, 0xA0, 0x3B, 0xBF, 0xD2, 0x5E, 0x8C, 0xD0, 0x36, 0x41, 0x41,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn signature(s: &[u8]) -> SignatureBytes {
        SignatureBytes::Mpis(vec![Mpi::from_slice(&[7]), Mpi::from_slice(s)])
    }

    #[test]
    fn the_other_of_the_other_is_the_same() {
        for s in [&[1][..], &[0xFF; 31], &ORDER[..31]] {
            let once = with_other_s(&signature(s)).unwrap();
            assert_ne!(once, signature(s));
            assert_eq!(with_other_s(&once), Some(signature(s)));
        }
    }

    #[test]
    fn what_is_not_below_the_order_has_no_other() {
        assert_eq!(with_other_s(&signature(&[0xFF; 32])), None);
        assert_eq!(with_other_s(&signature(&[1; 33])), None);
        assert_eq!(with_other_s(&SignatureBytes::Native(vec![0; 64].into())), None);
    }
}
