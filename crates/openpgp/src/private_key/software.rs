//! Private keys in this process. RSA, ElGamal, ECDH, X25519, DSA, ECDSA and Ed25519 use the engine; other algorithms
//! use rPGP, whose code for them is not held to constant time.

use super::elgamal::Elgamal;
use super::{PrivateKey, PrivateKeyError, RsaOperation, RsaProvider};
use crate::compute::{engine, engine_hash};
use crate::key::{
    KeyPacket, bytes, curve_and_point, derivation, is_aes_only, session_key_of, unserved_curve,
};
use crate::numbers::{mpis, padded};
use crate::{HashAlgorithm, PlainSessionKey, SymmetricKeyAlgorithm};
use engine::{
    DsaPrivateKey, EcPrivateKey, EcdsaSignItem, Ed25519Key, RSA_BITS_MAX, RsaPrivateKey, SecretBytes,
    pkcs1_v15_encrypt_unpad, pkcs1_v15_sign_pad, x25519, x25519_public,
};
use pgp::crypto::Signer;
use pgp::packet::PublicKeyEncryptedSessionKey;
use pgp::types::{
    EcdhPublicParams, EddsaLegacyPublicParams, EskType, KeyDetails, Mpi, PkeskBytes, PlainSecretParams,
    PublicParams, SignatureBytes,
};
use std::fmt;
use zeroize::Zeroizing;

/// A private key in this process; wiped when dropped.
pub(crate) struct SoftwareKey {
    public: KeyPacket,
    secret: Secret,
}

enum Secret {
    Rsa(RsaPrivateKey),
    /// RSA whose operations run elsewhere, and the modulus's length in bytes.
    Elsewhere(Box<dyn RsaOperation>, usize),
    Elgamal(Elgamal),
    /// ECDH on a curve that the engine supports.
    Ecdh(EcPrivateKey),
    /// X25519, in its own packets or in the legacy packets of ECDH.
    X25519(Zeroizing<[u8; 32]>),
    Ecdsa(EcPrivateKey),
    Dsa(DsaPrivateKey),
    Ed25519(Ed25519Key),
    Other(Box<PlainSecretParams>),
}

impl SoftwareKey {
    /// A key from its public half and its private fields. Both must belong together, since a passphrase does not
    /// protect the public half of version 4 keys.
    pub(crate) fn new(public: KeyPacket, fields: &[u8]) -> Result<Self, PrivateKeyError> {
        let secret = Secret::new(&public, fields)?;
        Ok(Self { public, secret })
    }

    /// The same key; if it is RSA, its operations run elsewhere from now on.
    pub(super) fn on(mut self, provider: &dyn RsaProvider) -> Result<Self, PrivateKeyError> {
        if let Secret::Rsa(key) = &self.secret {
            self.secret = Secret::Elsewhere(provider.take(key)?, key.modulus_bytes());
        }
        Ok(self)
    }

    fn unsupported(&self, operation: &'static str) -> PrivateKeyError {
        PrivateKeyError::Unsupported { operation, algorithm: format!("{:?}", self.public.algorithm()) }
    }

    /// Deciphers with RSA, ElGamal or ECDH: the session key with its frame.
    fn framed(&self, values: &PkeskBytes) -> Result<Zeroizing<Vec<u8>>, PrivateKeyError> {
        let copied = |secret: SecretBytes| Zeroizing::new(secret.as_slice().to_vec());
        match (&self.secret, values) {
            (Secret::Rsa(key), PkeskBytes::Rsa { mpi }) => open_rsa(key, mpi.as_ref()).map(copied),
            (Secret::Elsewhere(key, bytes), PkeskBytes::Rsa { mpi }) => {
                let sealed = padded(mpi.as_ref(), *bytes).ok_or(PrivateKeyError::NotOpened)?;
                let opened = pkcs1_v15_encrypt_unpad(&key.private(&sealed)?);
                opened.map(copied).map_err(|_| PrivateKeyError::NotOpened)
            }
            (Secret::Elgamal(key), PkeskBytes::Elgamal { first, second }) => {
                key.decrypt(first.as_ref(), second.as_ref()).map(copied)
            }
            (Secret::Ecdh(key), PkeskBytes::Ecdh { public_point, encrypted_session_key }) => {
                let shared = key.ecdh(public_point.as_ref()).map_err(|_| PrivateKeyError::NotOpened)?;
                self.unwrap_ecdh(&shared, encrypted_session_key)
            }
            (Secret::X25519(key), PkeskBytes::Ecdh { public_point, encrypted_session_key }) => {
                let point = legacy_point(public_point.as_ref()).ok_or(PrivateKeyError::NotOpened)?;
                let shared = x25519(key, &point).map_err(|_| PrivateKeyError::NotOpened)?;
                self.unwrap_ecdh(&shared, encrypted_session_key)
            }
            _ => Err(PrivateKeyError::NotOpened),
        }
    }

    /// ECDH's key derivation and unwrapping (RFC 9580, 11.5).
    fn unwrap_ecdh(&self, shared: &[u8], wrapped: &[u8]) -> Result<Zeroizing<Vec<u8>>, PrivateKeyError> {
        let PublicParams::ECDH(params) = self.public.public_params() else {
            return Err(PrivateKeyError::NotOpened);
        };
        let unsupported = || self.unsupported("open session keys");
        let (hash, cipher) = derivation(params).ok_or_else(unsupported)?;
        let fingerprint = self.public.fingerprint();
        pgp::crypto::ecdh::derive_session_key(
            shared,
            wrapped,
            wrapped.len(),
            params.curve(),
            hash,
            cipher,
            fingerprint.as_bytes(),
        )
        .map_err(|_| PrivateKeyError::NotOpened)
    }

    /// Opens X25519 in its own packets; in version 3 packets the cipher is in the clear.
    fn open_x25519(
        &self,
        key: &[u8; 32],
        values: &PkeskBytes,
        is_v6: bool,
    ) -> Result<PlainSessionKey, PrivateKeyError> {
        let not_opened = || PrivateKeyError::NotOpened;
        let PkeskBytes::X25519 { ephemeral, session_key, sym_alg } = values else { return Err(not_opened()) };
        let shared = x25519(key, ephemeral).map_err(|_| not_opened())?;
        let shared: Zeroizing<[u8; 32]> =
            Zeroizing::new(shared.as_slice().try_into().map_err(|_| not_opened())?);
        let own = x25519_public(key);
        let key = pgp::crypto::x25519::derive_session_key(*ephemeral, own, *shared, session_key)
            .map_err(|_| not_opened())?;
        bare(is_v6, *sym_alg, key)
    }

    fn open_other(
        &self,
        secret: &PlainSecretParams,
        values: &PkeskBytes,
        is_v6: bool,
    ) -> Result<PlainSessionKey, PrivateKeyError> {
        if !is_aes_only(self.public.algorithm()) {
            return Err(self.unsupported("open session keys"));
        }
        let kind = if is_v6 { EskType::V6 } else { EskType::V3_4 };
        let opened = secret
            .decrypt(self.public.public_params(), values, kind, &self.public)
            .map_err(|_| PrivateKeyError::NotOpened)?;
        bare(is_v6, opened.sym_algorithm(), Zeroizing::new(bytes(&opened).to_vec()))
    }
}

impl PrivateKey for SoftwareKey {
    fn public(&self) -> &dyn KeyDetails {
        &self.public
    }

    fn open(&self, packet: &PublicKeyEncryptedSessionKey) -> Result<PlainSessionKey, PrivateKeyError> {
        let is_v6 = matches!(packet, PublicKeyEncryptedSessionKey::V6 { .. });
        let values = packet.values().map_err(|_| PrivateKeyError::NotOpened)?;
        match &self.secret {
            Secret::Ecdsa(_) | Secret::Dsa(_) | Secret::Ed25519(_) => {
                Err(self.unsupported("open session keys"))
            }
            Secret::Other(secret) => self.open_other(secret, values, is_v6),
            Secret::X25519(key) if is_aes_only(self.public.algorithm()) => {
                self.open_x25519(key, values, is_v6)
            }
            _ => session_key_of(is_v6, &self.framed(values)?),
        }
    }

    fn sign(&self, hash: HashAlgorithm, digest: &[u8]) -> Result<SignatureBytes, PrivateKeyError> {
        let malformed = |cause: String| PrivateKeyError::Malformed { cause };
        match &self.secret {
            Secret::Rsa(key) => {
                let hash = engine_hash(hash).ok_or_else(|| self.unsupported("sign with this hash"))?;
                let bytes = key.modulus_bytes();
                let block =
                    pkcs1_v15_sign_pad(hash, digest, bytes).map_err(|error| malformed(error.to_string()))?;
                let mut signature = vec![0; bytes];
                engine()
                    .rsa_private(key, &block, &mut signature)
                    .map_err(|error| malformed(error.to_string()))?;
                Ok(SignatureBytes::Mpis(vec![Mpi::from_slice(&signature)]))
            }
            Secret::Elsewhere(key, bytes) => {
                let hash = engine_hash(hash).ok_or_else(|| self.unsupported("sign with this hash"))?;
                let block =
                    pkcs1_v15_sign_pad(hash, digest, *bytes).map_err(|error| malformed(error.to_string()))?;
                Ok(SignatureBytes::Mpis(vec![Mpi::from_slice(&key.private(&block)?)]))
            }
            Secret::Ecdsa(key) => {
                let mut items = [EcdsaSignItem::new(key, digest)];
                engine().ecdsa_sign_batch(&mut items);
                let [item] = items;
                item.result.map_err(|error| malformed(error.to_string()))?;
                let (r, s) = item.signature().split_at(key.curve().scalar_bytes());
                Ok(SignatureBytes::Mpis(vec![Mpi::from_slice(r), Mpi::from_slice(s)]))
            }
            Secret::Dsa(key) => {
                // For a digest shorter than the order, another text might be found (RFC 9580, 5.2.3.1).
                if digest.len() < key.order_bytes() {
                    return Err(self.unsupported("sign with this hash"));
                }
                let signature = key.sign(digest).ok_or_else(|| malformed("it does not sign".to_owned()))?;
                let (r, s) = signature.split_at(key.order_bytes());
                Ok(SignatureBytes::Mpis(vec![Mpi::from_slice(r), Mpi::from_slice(s)]))
            }
            Secret::Ed25519(key) => {
                let signature = key.sign(digest).map_err(|error| malformed(error.to_string()))?;
                if matches!(self.public.public_params(), PublicParams::EdDSALegacy(_)) {
                    let (r, s) = signature.split_at(32);
                    return Ok(SignatureBytes::Mpis(vec![Mpi::from_slice(r), Mpi::from_slice(s)]));
                }
                Ok(SignatureBytes::Native(signature.to_vec().into()))
            }
            Secret::Other(secret) => {
                sign_other(secret, hash, digest).unwrap_or_else(|| Err(self.unsupported("sign")))
            }
            Secret::Elgamal(_) | Secret::Ecdh(_) | Secret::X25519(_) => Err(self.unsupported("sign")),
        }
    }
}

impl Secret {
    fn new(public: &KeyPacket, fields: &[u8]) -> Result<Self, PrivateKeyError> {
        if let Some(algorithm) = unserved_curve(public) {
            return Err(PrivateKeyError::Unsupported { operation: "be used", algorithm });
        }
        let inconsistent =
            || PrivateKeyError::Malformed { cause: "its halves do not belong together".to_owned() };
        let ec = || -> Result<EcPrivateKey, PrivateKeyError> {
            let (curve, point) = curve_and_point(public.public_params()).ok_or_else(inconsistent)?;
            let [scalar] = mpis(fields).ok_or_else(inconsistent)?;
            let scalar = padded(scalar, curve.scalar_bytes()).ok_or_else(inconsistent)?;
            let key = EcPrivateKey::from_bytes(curve, &scalar).map_err(|_| inconsistent())?;
            if key.public_bytes() == point { Ok(key) } else { Err(inconsistent()) }
        };
        let public_fields = public.fields();
        match public.public_params() {
            PublicParams::RSA(_) => rsa(&public_fields, fields),
            PublicParams::Elgamal(_) => Elgamal::new(&public_fields, fields).map(Self::Elgamal),
            PublicParams::ECDH(EcdhPublicParams::Curve25519Legacy { p, .. }) => {
                let [number] = mpis(fields).ok_or_else(inconsistent)?;
                let mut key = array(number).ok_or_else(inconsistent)?;
                key.reverse(); // RFC 9580, 5.5.5.6.1.1: the number is written with its last octet first
                x25519_key(key, p.as_bytes())
            }
            PublicParams::X25519(params) => {
                let key = Zeroizing::new(fields.try_into().map_err(|_| inconsistent())?);
                x25519_key(key, params.key.as_bytes())
            }
            params @ PublicParams::ECDH(_) if curve_and_point(params).is_some() => ec().map(Self::Ecdh),
            params @ PublicParams::ECDSA(_) if curve_and_point(params).is_some() => ec().map(Self::Ecdsa),
            PublicParams::EdDSALegacy(EddsaLegacyPublicParams::Ed25519 { key }) => {
                let [number] = mpis(fields).ok_or_else(inconsistent)?;
                ed25519(&*array(number).ok_or_else(inconsistent)?, key.as_bytes())
            }
            PublicParams::Ed25519(params) => {
                let seed = Zeroizing::new(fields.try_into().map_err(|_| inconsistent())?);
                ed25519(&seed, params.key.as_bytes())
            }
            PublicParams::DSA(_) => {
                let [p, q, g, y] = mpis(&public_fields).ok_or_else(inconsistent)?;
                let [x] = mpis(fields).ok_or_else(inconsistent)?;
                DsaPrivateKey::new(p, q, g, y, x).map(Self::Dsa).ok_or_else(inconsistent)
            }
            params => {
                let secret = PlainSecretParams::try_from_reader_no_checksum(
                    fields,
                    public.version(),
                    public.algorithm(),
                    params,
                )
                .map_err(|error| PrivateKeyError::Malformed { cause: error.to_string() })?;
                let is_known = !matches!(secret, PlainSecretParams::Unknown { .. });
                let fits = PublicParams::try_from(&secret).is_ok_and(|own| own == *params);
                if is_known && !fits {
                    return Err(inconsistent());
                }
                Ok(Self::Other(Box::new(secret)))
            }
        }
    }
}

/// An RSA key from d, p, q and the inverse of p modulo q (RFC 9580, 5.5.5.1). p and q are exchanged, since the engine's
/// inverse is that of its second prime.
fn rsa(public: &[u8], fields: &[u8]) -> Result<Secret, PrivateKeyError> {
    let malformed = |cause: String| PrivateKeyError::Malformed { cause };
    let inconsistent = || malformed("the RSA key is inconsistent".to_owned());
    let [n, e] = mpis(public).ok_or_else(inconsistent)?;
    let bits = 8 * n.len() - n.first().map_or(0, |first| first.leading_zeros() as usize);
    if bits > RSA_BITS_MAX {
        let algorithm = format!("RSA of {bits} bits");
        return Err(PrivateKeyError::Unsupported { operation: "be used", algorithm });
    }
    let [_, p, q, p_inverse] = mpis(fields).ok_or_else(inconsistent)?;
    let key =
        RsaPrivateKey::from_primes(n, e, q, p, p_inverse).map_err(|error| malformed(error.to_string()))?;
    Ok(Secret::Rsa(key))
}

fn x25519_key(key: Zeroizing<[u8; 32]>, public: &[u8; 32]) -> Result<Secret, PrivateKeyError> {
    if x25519_public(&key) == *public {
        return Ok(Secret::X25519(key));
    }
    Err(PrivateKeyError::Malformed { cause: "its halves do not belong together".to_owned() })
}

fn ed25519(seed: &[u8; 32], public: &[u8; 32]) -> Result<Secret, PrivateKeyError> {
    let key = Ed25519Key::from_seed(seed);
    if key.public() == *public {
        return Ok(Secret::Ed25519(key));
    }
    Err(PrivateKeyError::Malformed { cause: "its halves do not belong together".to_owned() })
}

fn open_rsa(key: &RsaPrivateKey, sealed: &[u8]) -> Result<SecretBytes, PrivateKeyError> {
    let not_opened = |_| PrivateKeyError::NotOpened;
    let sealed = padded(sealed, key.modulus_bytes()).ok_or(PrivateKeyError::NotOpened)?;
    let mut block = Zeroizing::new(vec![0; key.modulus_bytes()]);
    engine().rsa_private(key, &sealed, &mut block).map_err(|_| PrivateKeyError::NotOpened)?;
    pkcs1_v15_encrypt_unpad(&block).map_err(not_opened)
}

/// A session key without frame, which must be for AES (RFC 9580, 5.1.6).
fn bare(
    is_v6: bool,
    cipher: Option<SymmetricKeyAlgorithm>,
    key: Zeroizing<Vec<u8>>,
) -> Result<PlainSessionKey, PrivateKeyError> {
    use SymmetricKeyAlgorithm::{AES128, AES192, AES256};
    match (is_v6, cipher) {
        (false, Some(sym_alg @ (AES128 | AES192 | AES256))) if sym_alg.key_size() == key.len() => {
            Ok(PlainSessionKey::V3_4 { sym_alg, key: key.into() })
        }
        (true, None) if matches!(key.len(), 16 | 24 | 32) => Ok(PlainSessionKey::V6 { key: key.into() }),
        _ => Err(PrivateKeyError::NotOpened),
    }
}

/// Signs with rPGP; `None` if the algorithm does not sign here.
fn sign_other(
    secret: &PlainSecretParams,
    hash: HashAlgorithm,
    digest: &[u8],
) -> Option<Result<SignatureBytes, PrivateKeyError>> {
    let signed = match secret {
        PlainSecretParams::ECDSA(key) => key.sign(hash, digest),
        PlainSecretParams::Ed448(key) => key.sign(hash, digest),
        PlainSecretParams::MlDsa65Ed25519(key) => key.sign(hash, digest),
        PlainSecretParams::MlDsa87Ed448(key) => key.sign(hash, digest),
        PlainSecretParams::SlhDsaShake128s(key) => key.sign(hash, digest),
        PlainSecretParams::SlhDsaShake128f(key) => key.sign(hash, digest),
        PlainSecretParams::SlhDsaShake256s(key) => key.sign(hash, digest),
        _ => return None,
    };
    Some(signed.map_err(|error| PrivateKeyError::Malformed { cause: error.to_string() }))
}

fn array(number: &[u8]) -> Option<Zeroizing<[u8; 32]>> {
    let padded = padded(number, 32)?;
    Some(Zeroizing::new(padded[..].try_into().ok()?))
}

/// A point of Curve25519 in the legacy form, which begins with an octet 0x40; `None` for other forms.
fn legacy_point(point: &[u8]) -> Option<[u8; 32]> {
    point.strip_prefix(&[0x40])?.try_into().ok()
}

impl fmt::Debug for SoftwareKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "SoftwareKey({:X})", self.public.fingerprint())
    }
}
