//! Checks of signatures where rPGP's are slow or narrow.
//!
//! RSA: by the engine. A stranger can put two thousand signatures on a certificate that say that its owner made them, and
//! each is checked.
//!
//! ECDSA over secp256k1, with either s: for each signature (r, s) the pair (r, n - s) holds as well. OpenPGP has no rule
//! which one is written, and GnuPG writes both; the library behind rPGP checks the lower one only.

use crate::private_key::engine_hash;
use crate::private_key::fields::{mpis, padded};
use crate::random::engine;
use crate::{Fingerprint, HashAlgorithm, KeyId, Timestamp};
use engine::{RsaPublicKey, pkcs1_v15_verify};
use pgp::crypto::public_key::PublicKeyAlgorithm;
use pgp::errors::Result;
use pgp::ser::Serialize;
use pgp::types::{
    EcdsaPublicParams, KeyDetails, KeyVersion, Mpi, PublicParams, SignatureBytes, VerifyingKey,
};
use std::cell::OnceCell;
use std::fmt;
use std::io::Write;

/// A key that checks signatures so.
pub(crate) struct Verifying<'a, K> {
    key: &'a K,
    /// The engine's form of an RSA key, once it was needed; none where it is another key, or one that is not served.
    rsa: OnceCell<Option<RsaPublicKey>>,
}

impl<'a, K: VerifyingKey> Verifying<'a, K> {
    /// For any number of signatures.
    pub(crate) fn new(key: &'a K) -> Self {
        Self { key, rsa: OnceCell::new() }
    }

    /// Whether a signature of RSA holds (RFC 8017, 8.2.2); none where it is another algorithm, or a hash or length that
    /// the engine does not serve.
    fn rsa_holds(&self, hash: HashAlgorithm, digest: &[u8], signature: &SignatureBytes) -> Option<bool> {
        let SignatureBytes::Mpis(numbers) = signature else { return None };
        let ([number], hash) = (&numbers[..], engine_hash(hash)?) else { return None };
        let public = self.rsa.get_or_init(|| rsa(self.key.public_params())).as_ref()?;
        let Some(sealed) = padded(number.as_ref(), public.modulus_bytes()) else { return Some(false) };
        let mut block = vec![0; public.modulus_bytes()];
        match engine().rsa_public(public, &sealed, &mut block) {
            Ok(()) => Some(pkcs1_v15_verify(hash, digest, &block).is_ok()),
            // What the engine refuses of a key, rPGP may take.
            Err(_) if public.is_weak() => None,
            Err(_) => Some(false),
        }
    }
}

impl<K: KeyDetails> fmt::Debug for Verifying<'_, K> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Verifying({:X})", self.key.fingerprint())
    }
}

impl<K: VerifyingKey> VerifyingKey for Verifying<'_, K> {
    fn verify(&self, hash: HashAlgorithm, digest: &[u8], signature: &SignatureBytes) -> Result<()> {
        let is_secp256k1 =
            matches!(self.key.public_params(), PublicParams::ECDSA(EcdsaPublicParams::Secp256k1 { .. }));
        if let Some(holds) = self.rsa_holds(hash, digest, signature) {
            let failed = || std::io::Error::other("the RSA signature does not hold");
            return if holds { Ok(()) } else { Err(failed().into()) };
        }
        match self.key.verify(hash, digest, signature) {
            Err(error) if is_secp256k1 => {
                let other = with_other_s(signature).ok_or(error)?;
                self.key.verify(hash, digest, &other)
            }
            outcome => outcome,
        }
    }
}

fn rsa(params: &PublicParams) -> Option<RsaPublicKey> {
    let PublicParams::RSA(_) = params else { return None };
    let fields = params.to_bytes().ok()?;
    let [n, e] = mpis(&fields)?;
    RsaPublicKey::new(n, e).ok()
}

/// The signature with n - s for s; none where s is not below n.
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
