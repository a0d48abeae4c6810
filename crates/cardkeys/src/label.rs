//! RSA keys that are labels in a home: a card decrypts session keys (CSNDPKD) and signs (CSNDDSG), and the private
//! numbers are never in this process.

use facility::private_keys::{self, MODULUS_BYTES_MAX};
use facility::{Answered, Facility};
use openpgp::certificate::KeyPacket;
use openpgp::generate::rsa_public;
use openpgp::private_key::digest_info;
use openpgp::session_key::session_key_of;
use openpgp::{HashAlgorithm, PlainSessionKey, PrivateKey, PrivateKeyError, Timestamp};
use pgp::packet::PublicKeyEncryptedSessionKey;
use pgp::types::{KeyDetails, KeyVersion, Mpi, PkeskBytes, SignatureBytes};
use std::fmt;
use wire::Label;
use wire::code::{self, Codes};
use wire::verb::{RsaFormat, SignatureFormat, TypedAsk, pka_decrypt};

/// Offset of the public section in a public key token; the section's identifier; the exponent's offset in the section.
const SECTION_AT: usize = 8;
const PUBLIC_SECTION: u8 = 0x04;
const EXPONENT_AT: usize = 12;
/// Codes with which a card refuses to decipher a block: a bad format, or a number that is not below the modulus. Both
/// become [`PrivateKeyError::NotOpened`].
const NOT_OPENED: [Codes; 2] = [code::RSA_BLOCK, code::TEXT_LENGTH];

/// An RSA key that a home's key store holds under a label; its operations run on a card.
#[derive(Clone)]
pub struct LabelKey {
    facility: Facility,
    domain: u16,
    label: Label,
    public: KeyPacket,
}

impl LabelKey {
    /// The key under `label`, whose public half `public` is in a certificate. Compares `public` with the public half
    /// from the card, so that a replaced record is noticed before anything is signed with the key.
    ///
    /// # Errors
    /// [`PrivateKeyError::Card`] if the card cannot be reached, has no such label, or has another key under it.
    pub fn new(
        facility: Facility,
        domain: u16,
        label: Label,
        public: KeyPacket,
    ) -> Result<Self, PrivateKeyError> {
        let (n, e) = numbers(&facility, domain, &label)?;
        let (is_v6, created) = (public.version() == KeyVersion::V6, public.created_at());
        let own = rsa_public(&n, &e, is_v6, created, public.is_primary());
        if own.map_err(|error| failed(&label, error))?.fingerprint() != public.fingerprint() {
            return Err(failed(&label, format!("it is not the key {:X} any more", public.fingerprint())));
        }
        Ok(Self { facility, domain, label, public })
    }

    /// The key under `label`, for a certificate that is yet to be made. `created` is written into the key's public
    /// half, and so decides its fingerprint.
    ///
    /// # Errors
    /// [`PrivateKeyError::Card`] as for [`LabelKey::new`].
    pub fn fresh(
        facility: Facility,
        domain: u16,
        label: Label,
        role: Role,
        is_v6: bool,
        created: Timestamp,
    ) -> Result<Self, PrivateKeyError> {
        let (n, e) = numbers(&facility, domain, &label)?;
        let public = rsa_public(&n, &e, is_v6, created, role == Role::Primary);
        let public = public.map_err(|error| failed(&label, error))?;
        Ok(Self { facility, domain, label, public })
    }

    /// The packet of the key's public half.
    pub fn packet(&self) -> &KeyPacket {
        &self.public
    }

    /// The label that the key has in the home.
    pub fn label(&self) -> &Label {
        &self.label
    }

    fn ask<A: TypedAsk>(&self, ask: &A) -> Result<Answered<A::Of>, PrivateKeyError> {
        self.facility.ask(self.domain, ask).map_err(|error| failed(&self.label, error))
    }
}

/// Place of a key in its certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Certifies and signs.
    Primary,
    /// Opens session keys.
    Subkey,
}

impl PrivateKey for LabelKey {
    fn public(&self) -> &dyn KeyDetails {
        &self.public
    }

    fn open(&self, packet: &PublicKeyEncryptedSessionKey) -> Result<PlainSessionKey, PrivateKeyError> {
        let Ok(PkeskBytes::Rsa { mpi }) = packet.values() else { return Err(PrivateKeyError::NotOpened) };
        if mpi.is_empty() || mpi.len() > MODULUS_BYTES_MAX {
            return Err(PrivateKeyError::NotOpened);
        }
        let ask = pka_decrypt::Ask {
            enciphered_key: mpi.as_ref(),
            rsa_private_key: (&self.label).into(),
            key_value: MODULUS_BYTES_MAX,
            ..pka_decrypt::Ask::new(RsaFormat::Pkcs1)
        };
        let answered = self.ask(&ask)?;
        if NOT_OPENED.contains(&answered.codes()) {
            return Err(PrivateKeyError::NotOpened);
        }
        complete(&self.label, answered.codes())?;
        let is_v6 = matches!(packet, PublicKeyEncryptedSessionKey::V6 { .. });
        session_key_of(is_v6, answered.got().key_value)
    }

    fn sign(&self, hash: HashAlgorithm, digest: &[u8]) -> Result<SignatureBytes, PrivateKeyError> {
        let info = digest_info(hash, digest)?;
        let label = self.label.to_field();
        let answered = self.ask(&private_keys::signature(&label, SignatureFormat::Pkcs11, &info))?;
        complete(&self.label, answered.codes())?;
        let signature = Mpi::from_slice(answered.got().signature_field);
        Ok(SignatureBytes::Mpis(vec![signature]))
    }
}

/// Modulus and exponent of the key under a label.
fn numbers(facility: &Facility, domain: u16, label: &Label) -> Result<(Vec<u8>, Vec<u8>), PrivateKeyError> {
    let answered = facility.ask(domain, &private_keys::public_key(&label.to_field()));
    let answered = answered.map_err(|error| failed(label, error))?;
    complete(label, answered.codes())?;
    public_numbers(answered.got().target_key_token)
        .ok_or_else(|| failed(label, "its public key token does not hold together, or it is not an RSA key"))
}

/// Modulus and exponent in a public key token: header of 8 bytes; then the section X'04' with the lengths of the
/// exponent at 6 and of the modulus at 10, both big-endian, and the exponent at 12.
fn public_numbers(token: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let section = token.get(SECTION_AT..)?;
    let length = |at: usize| Some(usize::from(u16::from_be_bytes(*section.get(at..)?.first_chunk()?)));
    if *section.first()? != PUBLIC_SECTION {
        return None;
    }
    let (exponent_bytes, modulus_bytes) = (length(6)?, length(10)?);
    let (exponent, rest) = section.get(EXPONENT_AT..)?.split_at_checked(exponent_bytes)?;
    Some((rest.get(..modulus_bytes)?.to_vec(), exponent.to_vec()))
}

fn complete(label: &Label, codes: Codes) -> Result<(), PrivateKeyError> {
    if codes.has_output() { Ok(()) } else { Err(failed(label, format!("the verb answered {codes}"))) }
}

fn failed(label: &Label, cause: impl fmt::Display) -> PrivateKeyError {
    PrivateKeyError::Card { label: label.as_str().to_owned(), cause: cause.to_string() }
}

impl fmt::Debug for LabelKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "LabelKey({}, {:X})", self.label.as_str(), self.public.fingerprint())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_token_is_read_and_a_cut_one_is_not() {
        let section = [4, 0, 0, 19, 0, 0, 0, 3, 0, 32, 0, 4, 1, 0, 1, 9, 8, 7, 6];
        let token = [&[0x1e, 0, 0, 27, 0, 0, 0, 0][..], &section].concat();
        assert_eq!(public_numbers(&token), Some((vec![9, 8, 7, 6], vec![1, 0, 1])));
        for end in 0..token.len() {
            assert_eq!(public_numbers(&token[..end]), None);
        }
        let mut private = token;
        private[8] = 0x30;
        assert_eq!(public_numbers(&private), None);
    }
}
