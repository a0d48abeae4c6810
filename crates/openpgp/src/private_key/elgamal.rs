//! ElGamal (RFC 9580, 5.1.4): PKCS#1 blocks under a group of prime order, by the engine's constant-time
//! exponentiation.

use super::PrivateKeyError;
use crate::certificate::KeyPacket;
use crate::compute::engine;
use crate::numbers::{mpis, padded};
use engine::{PrimeField, SecretBytes, pkcs1_v15_encrypt_pad, pkcs1_v15_encrypt_unpad};
use pgp::types::{Mpi, PkeskBytes};
use zeroize::Zeroizing;

/// An ElGamal private key.
pub(crate) struct Elgamal {
    field: PrimeField,
    /// -x modulo the order, so that deciphering needs no inverse.
    exponent: SecretBytes,
}

impl Elgamal {
    /// A key from the fields of both halves: p, g, y; and x.
    ///
    /// # Errors
    /// [`PrivateKeyError::Malformed`] if the halves do not belong together.
    pub(crate) fn new(public: &[u8], secret: &[u8]) -> Result<Self, PrivateKeyError> {
        let malformed = || PrivateKeyError::Malformed { cause: "the ElGamal key is inconsistent".to_owned() };
        let [p, g, y] = mpis(public).ok_or_else(malformed)?;
        let [x] = mpis(secret).ok_or_else(malformed)?;
        let field = PrimeField::new(p).ok_or_else(malformed)?;
        let bytes = field.bytes();
        let x = padded(x, bytes).ok_or_else(malformed)?;
        let g = padded(g, bytes).ok_or_else(malformed)?;
        let y = padded(y, bytes).ok_or_else(malformed)?;
        // The halves are compared, since the passphrase does not protect the public one.
        if !field.power(&g, &x).is_some_and(|power| power.ct_eq(&y)) {
            return Err(malformed());
        }
        let exponent = field.negated_exponent(&x).ok_or_else(malformed)?;
        Ok(Self { field, exponent })
    }

    /// Deciphers the two numbers of a packet and removes the padding.
    pub(crate) fn decrypt(&self, first: &[u8], second: &[u8]) -> Result<SecretBytes, PrivateKeyError> {
        let opened = || {
            let first = padded(first, self.field.bytes())?;
            let second = padded(second, self.field.bytes())?;
            let mask = self.field.power(&first, &self.exponent)?;
            let block = self.field.product(&second, &mask)?;
            pkcs1_v15_encrypt_unpad(&block).ok()
        };
        opened().ok_or(PrivateKeyError::NotOpened)
    }
}

/// Enciphers `plain` for a public key.
pub(crate) fn encrypt(key: &KeyPacket, plain: &[u8]) -> Result<PkeskBytes, String> {
    let fields = key.fields();
    let sealed = || {
        let [p, g, y] = mpis(&fields)?;
        let field = PrimeField::new(p)?;
        let bytes = field.bytes();
        let mut ephemeral = Zeroizing::new(vec![0; bytes]);
        engine().random(&mut ephemeral);
        let (g, y) = (padded(g, bytes)?, padded(y, bytes)?);
        let block = pkcs1_v15_encrypt_pad(plain, bytes).ok()?;
        let first = field.power(&g, &ephemeral)?;
        let second = field.product(&block, &field.power(&y, &ephemeral)?)?;
        Some(PkeskBytes::Elgamal { first: Mpi::from_slice(&first), second: Mpi::from_slice(&second) })
    };
    sealed().ok_or_else(|| "its ElGamal parameters are not served".to_owned())
}
