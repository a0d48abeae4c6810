//! Makes new private keys.

use super::{CertificateAlgorithms, GenerateError, NewKey, asked};
use crate::Timestamp;
use crate::certificate::policy::MODULUS_BITS_MIN;
use crate::compute::{EngineRandom, engine};
use crate::key::{KeyPacket, SecretPacket};
use crate::numbers::push_mpi;
use engine::RSA_BITS_MAX;
use pgp::composed::KeyType;
use pgp::crypto::ecc_curve::ECCCurve;
use pgp::crypto::public_key::PublicKeyAlgorithm;
use pgp::packet::{PubKeyInner, PublicKey, PublicSubkey};
use pgp::types::{KeyVersion, PublicParams, RsaPublicParams};
use zeroize::Zeroizing;

/// The public exponent of new RSA keys: 65537.
const RSA_EXPONENT: [u8; 3] = [1, 0, 1];

/// A new primary key; and a subkey that messages are encrypted to, unless the key is for signing only.
pub(super) fn keys(what: &NewKey) -> Result<(SecretPacket, Option<SecretPacket>), GenerateError> {
    check(what)?;
    let version = if what.is_v6 { KeyVersion::V6 } else { KeyVersion::V4 };
    let with_subkey = |subkey: &dyn Fn() -> Result<SecretPacket, GenerateError>| {
        (!what.is_signing_only).then(subkey).transpose()
    };
    let ec = |curve: ECCCurve| [KeyType::ECDSA(curve.clone()), KeyType::ECDH(curve)];
    let types = match what.kind {
        CertificateAlgorithms::Rsa { bits } => {
            let key = |is_primary| rsa(bits, version, what.created, is_primary);
            return Ok((key(true)?, with_subkey(&|| key(false))?));
        }
        CertificateAlgorithms::Curve25519 if what.is_v6 => [KeyType::Ed25519, KeyType::X25519],
        CertificateAlgorithms::Curve25519 => {
            [KeyType::Ed25519Legacy, KeyType::ECDH(ECCCurve::Curve25519Legacy)]
        }
        CertificateAlgorithms::Curve448 => [KeyType::Ed448, KeyType::X448],
        CertificateAlgorithms::P256 => ec(ECCCurve::P256),
        CertificateAlgorithms::P384 => ec(ECCCurve::P384),
        CertificateAlgorithms::P521 => ec(ECCCurve::P521),
        CertificateAlgorithms::MlDsa65MlKem768 => [KeyType::MlDsa65Ed25519, KeyType::MlKem768X25519],
        CertificateAlgorithms::MlDsa87MlKem1024 => [KeyType::MlDsa87Ed448, KeyType::MlKem1024X448],
    };
    let [primary, subkey] = types;
    let key = |kind, is_primary| by_library(kind, version, what.created, is_primary);
    Ok((key(&primary, true)?, with_subkey(&|| key(&subkey, false))?))
}

fn check(what: &NewKey) -> Result<(), GenerateError> {
    match what.kind {
        CertificateAlgorithms::Rsa { bits }
            if !(MODULUS_BITS_MIN..=RSA_BITS_MAX).contains(&bits) || !bits.is_multiple_of(8) =>
        {
            Err(asked(format!(
                "RSA keys are made with {MODULUS_BITS_MIN} to {RSA_BITS_MAX} bits, in steps of 8"
            )))
        }
        CertificateAlgorithms::MlDsa65MlKem768 | CertificateAlgorithms::MlDsa87MlKem1024 if !what.is_v6 => {
            Err(asked("post-quantum keys are of version 6 (RFC 9980)"))
        }
        CertificateAlgorithms::Curve448 if !what.is_v6 => {
            Err(asked("keys on Curve448 are made in version 6"))
        }
        _ => Ok(()),
    }
}

fn by_library(
    kind: &KeyType,
    version: KeyVersion,
    created: Timestamp,
    is_primary: bool,
) -> Result<SecretPacket, GenerateError> {
    let (params, secret) = kind.generate(EngineRandom).map_err(asked)?;
    let public = public(version, kind.to_alg(), created, params, is_primary)?;
    let mut written = Zeroizing::new(Vec::with_capacity(secret.write_len(KeyVersion::V6) + 1));
    secret.to_writer(&mut *written, KeyVersion::V6).map_err(asked)?;
    // The fields follow the usage octet; in version 6 nothing follows them.
    let fields = written.get(1..).unwrap_or_default();
    Ok(SecretPacket::unlocked(public, fields))
}

fn rsa(
    bits: usize,
    version: KeyVersion,
    created: Timestamp,
    is_primary: bool,
) -> Result<SecretPacket, GenerateError> {
    let key = engine().rsa_generate(bits, &RSA_EXPONENT).map_err(asked)?;
    let inconsistent = || asked("the new RSA key has no primes");
    let (p, q) = (key.p().ok_or_else(inconsistent)?, key.q().ok_or_else(inconsistent)?);
    let inverse = key.qinv().ok_or_else(inconsistent)?;
    // The engine's first prime is the larger one, while in packets the smaller one comes first (RFC 9580, 5.5.5.1).
    let mut fields = Zeroizing::new(Vec::with_capacity(bits));
    for number in [&key.d(), &q, &p, &inverse] {
        push_mpi(&mut fields, number);
    }
    let params = rsa_params(&key.n(), &key.e())?;
    Ok(SecretPacket::unlocked(
        public(version, PublicKeyAlgorithm::RSA, created, params, is_primary)?,
        &fields,
    ))
}

/// The public half of an RSA key that is elsewhere, from modulus and exponent, both big-endian. `created` is part of
/// the packet and so decides its fingerprint.
///
/// # Errors
/// [`GenerateError::Asked`] if the numbers are not an RSA key.
pub fn rsa_public(
    n: &[u8],
    e: &[u8],
    is_v6: bool,
    created: Timestamp,
    is_primary: bool,
) -> Result<KeyPacket, GenerateError> {
    let version = if is_v6 { KeyVersion::V6 } else { KeyVersion::V4 };
    public(version, PublicKeyAlgorithm::RSA, created, rsa_params(n, e)?, is_primary)
}

/// RSA's public parameters from modulus and exponent.
fn rsa_params(n: &[u8], e: &[u8]) -> Result<PublicParams, GenerateError> {
    let mut fields = Vec::new();
    push_mpi(&mut fields, n);
    push_mpi(&mut fields, e);
    RsaPublicParams::try_from_reader(&fields[..]).map(PublicParams::RSA).map_err(asked)
}

/// The packet of a public key, primary or sub.
fn public(
    version: KeyVersion,
    algorithm: PublicKeyAlgorithm,
    created: Timestamp,
    params: PublicParams,
    is_primary: bool,
) -> Result<KeyPacket, GenerateError> {
    let inner = PubKeyInner::new(version, algorithm, created, None, params).map_err(asked)?;
    if is_primary {
        PublicKey::from_inner(inner).map(KeyPacket::Primary).map_err(asked)
    } else {
        PublicSubkey::from_inner(inner).map(KeyPacket::Sub).map_err(asked)
    }
}
