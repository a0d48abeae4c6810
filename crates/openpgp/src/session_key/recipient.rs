//! Session keys for recipients: public-key encrypted session key packets (RFC 9580, 5.1).

use super::{bytes, ecdh};
use crate::certificate::EncryptionKey;
use crate::compute::{EngineRandom, engine};
use crate::key::{KeyPacket, curve_and_point, is_aes_only, with_checksum};
use crate::numbers::mpis;
use crate::private_key::elgamal;
use crate::{Fingerprint, Form, KeyId, PlainSessionKey, Protection, SymmetricKeyAlgorithm};
use engine::{RsaPublicKey, pkcs1_v15_encrypt_pad};
use pgp::packet::PacketHeader;
use pgp::ser::Serialize;
use pgp::types::{EncryptionKey as _, EskType, KeyDetails, Mpi, PkeskBytes, PublicParams, Tag};
use std::fmt;

/// Why a session key was not enciphered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SealError {
    /// The key's algorithm is not supported, or not with this form.
    Unsupported {
        /// Fingerprint of the key.
        fingerprint: Fingerprint,
        /// The reason, for people: for example that the algorithm goes with AES alone.
        cause: String,
    },
    /// The passphrase cannot be used with these parameters.
    Passphrase {
        /// The reason, for people.
        cause: String,
    },
}

impl fmt::Display for SealError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported { fingerprint, cause } => {
                write!(out, "nothing was encrypted to the key {fingerprint:X}: {cause}")
            }
            Self::Passphrase { cause } => write!(out, "nothing was encrypted under the passphrase: {cause}"),
        }
    }
}

impl std::error::Error for SealError {}

/// The packet, with its header, that enciphers a session key to a recipient: version 6 for SEIPD version 2, else 3.
///
/// # Errors
/// [`SealError::Unsupported`].
pub fn for_recipient(
    key: &EncryptionKey,
    session_key: &PlainSessionKey,
    form: Form,
) -> Result<Vec<u8>, SealError> {
    let is_v6 = matches!(form.protection, Protection::SeipdV2 { .. });
    let unsupported = |cause: String| SealError::Unsupported { fingerprint: key.key.fingerprint(), cause };
    let cipher = (!is_v6).then_some(form.cipher);
    if !is_v6 && is_aes_only(key.key.algorithm()) && form.cipher == SymmetricKeyAlgorithm::TripleDES {
        return Err(unsupported("its algorithm goes with AES alone".to_owned()));
    }
    let values = seal(&key.key, cipher, bytes(session_key)).map_err(unsupported)?;
    let mut body = if is_v6 { vec![6] } else { vec![3] };
    if is_v6 {
        recipient_v6(&key.key, key.is_hidden, &mut body);
    } else {
        let id = if key.is_hidden { KeyId::WILDCARD } else { key.key.legacy_key_id() };
        body.extend_from_slice(id.as_ref());
    }
    body.push(u8::from(key.key.algorithm()));
    values.to_writer(&mut body).map_err(|error| unsupported(error.to_string()))?;
    let bytes = u32::try_from(body.len()).map_err(|error| unsupported(error.to_string()))?;
    let header = PacketHeader::new_fixed(Tag::PublicKeyEncryptedSessionKey, bytes);
    let mut packet = header.to_bytes().map_err(|error| unsupported(error.to_string()))?;
    packet.append(&mut body);
    Ok(packet)
}

/// Appends length, version and fingerprint of the key; only a length of zero if the key is hidden (5.1.2).
fn recipient_v6(key: &KeyPacket, is_hidden: bool, body: &mut Vec<u8>) {
    if is_hidden {
        body.push(0);
        return;
    }
    let fingerprint = key.fingerprint();
    let octets = fingerprint.as_bytes();
    body.push(u8::try_from(octets.len() + 1).unwrap_or(u8::MAX));
    body.push(u8::from(key.version()));
    body.extend_from_slice(octets);
}

fn seal(
    key: &KeyPacket,
    cipher: Option<SymmetricKeyAlgorithm>,
    session_key: &[u8],
) -> Result<PkeskBytes, String> {
    match key.public_params() {
        PublicParams::RSA(_) => rsa(key, &with_checksum(cipher, session_key)),
        PublicParams::Elgamal(_) if cipher.is_none() => {
            Err("ElGamal does not go with SEIPD version 2 (RFC 9580, 5.1.4)".to_owned())
        }
        PublicParams::Elgamal(_) => elgamal::encrypt(key, &with_checksum(cipher, session_key)),
        PublicParams::ECDH(params) if curve_and_point(key.public_params()).is_some() => {
            ecdh::seal(key, params, &with_checksum(cipher, session_key))
        }
        _ => {
            let plain = if is_aes_only(key.algorithm()) {
                [cipher.map(u8::from).as_slice(), session_key].concat().into()
            } else {
                with_checksum(cipher, session_key)
            };
            let kind = if cipher.is_some() { EskType::V3_4 } else { EskType::V6 };
            key.encrypt(EngineRandom, &plain, kind).map_err(|error| error.to_string())
        }
    }
}

fn rsa(key: &KeyPacket, plain: &[u8]) -> Result<PkeskBytes, String> {
    let fields = key.fields();
    let [n, e] = mpis(&fields).ok_or("its public half does not hold together")?;
    let public = RsaPublicKey::new(n, e).map_err(|error| error.to_string())?;
    let block = pkcs1_v15_encrypt_pad(plain, public.modulus_bytes()).map_err(|error| error.to_string())?;
    let mut sealed = vec![0; public.modulus_bytes()];
    engine().rsa_public(&public, &block, &mut sealed).map_err(|error| error.to_string())?;
    Ok(PkeskBytes::Rsa { mpi: Mpi::from_slice(&sealed) })
}
