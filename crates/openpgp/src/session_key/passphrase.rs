//! Session keys under passphrases: symmetric-key encrypted session key packets (RFC 9580, 5.3).

use super::{SealError, bytes};
use crate::compute::random;
use crate::s2k::{S2k, is_fit_for_v6, s2k_key};
use crate::{AeadAlgorithm, Form, Passphrase, PlainSessionKey, Protection, SymmetricKeyAlgorithm};
use pgp::packet::{AeadProps, PacketHeader, SymKeyEncryptedSessionKey};
use pgp::ser::Serialize;
use pgp::types::{StringToKey, Tag};
use zeroize::Zeroizing;

/// The packet, with its header, that enciphers a session key under a passphrase: version 6 for SEIPD version 2, 5 for
/// GnuPG's AEAD packet, else 4.
///
/// # Errors
/// [`SealError::Passphrase`].
pub fn for_passphrase(
    passphrase: &Passphrase,
    session_key: &PlainSessionKey,
    form: Form,
    s2k: S2k,
) -> Result<Vec<u8>, SealError> {
    let failed = |cause: String| SealError::Passphrase { cause };
    let s2k = s2k.specifier();
    match form.protection {
        Protection::SeipdV1 => v4(passphrase, session_key, form.cipher, &s2k).map_err(failed),
        Protection::GnupgAead { aead, .. } => {
            v5(passphrase, session_key, form.cipher, aead, &s2k).map_err(failed)
        }
        Protection::SeipdV2 { aead, .. } => {
            v6(passphrase, session_key, form.cipher, aead, &s2k).map_err(failed)
        }
    }
}

/// The version 4 packet: cipher and key, enciphered in CFB with a zero IV (5.3.1).
fn v4(
    passphrase: &Passphrase,
    session_key: &PlainSessionKey,
    cipher: SymmetricKeyAlgorithm,
    s2k: &StringToKey,
) -> Result<Vec<u8>, String> {
    let key = s2k_key(s2k, passphrase, cipher.key_size())?;
    let mut sealed = Zeroizing::new(Vec::with_capacity(1 + bytes(session_key).len()));
    sealed.push(u8::from(cipher));
    sealed.extend_from_slice(bytes(session_key));
    cipher
        .encrypt_with_iv_regular(&key, &vec![0; cipher.block_size()], &mut sealed)
        .map_err(|error| error.to_string())?;
    packet(&[&[4, u8::from(cipher)], &s2k.to_bytes().map_err(|error| error.to_string())?, &sealed])
}

/// GnuPG's version 5 packet: the key, enciphered by AEAD with the packet's start as associated data
/// (draft-koch-librepgp, 5.3).
fn v5(
    passphrase: &Passphrase,
    session_key: &PlainSessionKey,
    cipher: SymmetricKeyAlgorithm,
    aead: AeadAlgorithm,
    s2k: &StringToKey,
) -> Result<Vec<u8>, String> {
    let key = s2k_key(s2k, passphrase, cipher.key_size())?;
    let info = [0xc3, 5, u8::from(cipher), u8::from(aead)];
    let sealed = sealed(session_key, (cipher, aead), &key, &info)?;
    let s2k = s2k.to_bytes().map_err(|error| error.to_string())?;
    packet(&[&[5, u8::from(cipher), u8::from(aead)], &s2k, &sealed])
}

/// The version 6 packet: the key, enciphered by AEAD under a key that is derived once more (RFC 9580, 5.3.2).
fn v6(
    passphrase: &Passphrase,
    session_key: &PlainSessionKey,
    cipher: SymmetricKeyAlgorithm,
    aead: AeadAlgorithm,
    s2k: &StringToKey,
) -> Result<Vec<u8>, String> {
    let key = s2k_key(s2k, passphrase, cipher.key_size())?;
    let info = [0xc3, 6, u8::from(cipher), u8::from(aead)];
    let mut sealing = Zeroizing::new(key.to_vec());
    engine::hkdf_sha256(&[], &key, &info, &mut sealing).map_err(|error| error.to_string())?;
    let sealed = sealed(session_key, (cipher, aead), &sealing, &info)?;
    let s2k = s2k.to_bytes().map_err(|error| error.to_string())?;
    // Two octets are lengths: of the fields that follow, and of the specifier alone.
    let octet = |bytes: usize| u8::try_from(bytes).map_err(|error| error.to_string());
    let lengths =
        [octet(3 + s2k.len() + aead.nonce_size())?, u8::from(cipher), u8::from(aead), octet(s2k.len())?];
    packet(&[&[6], &lengths, &s2k, &sealed])
}

/// A random nonce, the session key enciphered with it, and the tag.
fn sealed(
    session_key: &PlainSessionKey,
    (cipher, aead): (SymmetricKeyAlgorithm, AeadAlgorithm),
    key: &[u8],
    info: &[u8],
) -> Result<Vec<u8>, String> {
    let nonce = &random::<16>()[..aead.nonce_size().min(16)];
    let mut text = Zeroizing::new(bytes(session_key).to_vec());
    let tag = crate::aead::seal((cipher, aead), key, nonce, info, &mut text)
        .ok_or_else(|| format!("{cipher:?} does not go with {aead:?}"))?;
    Ok([nonce, &text[..], &tag].concat())
}

fn packet(parts: &[&[u8]]) -> Result<Vec<u8>, String> {
    let body = parts.concat();
    let bytes = u32::try_from(body.len()).map_err(|error| error.to_string())?;
    let header = PacketHeader::new_fixed(Tag::SymKeyEncryptedSessionKey, bytes);
    let mut packet = header.to_bytes().map_err(|error| error.to_string())?;
    packet.extend_from_slice(&body);
    Ok(packet)
}

/// The part of a packet that is not supported whatever the passphrase is, for people; `None` if the passphrase decides.
pub fn unserved(packet: &SymKeyEncryptedSessionKey) -> Option<String> {
    match packet.sym_algorithm() {
        None => Some(format!("version {} of passphrase packets", u8::from(packet.version()))),
        Some(cipher) if cipher.key_size() == 0 => {
            Some(format!("the cipher {cipher:?} of a passphrase packet"))
        }
        Some(_) => None,
    }
}

/// The session key that a passphrase gave.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The session key; with its cipher if the packet is of version 4.
    pub session_key: PlainSessionKey,
    /// Whether the passphrase may still be wrong. Version 4 checks only the octet that names the cipher. If the session
    /// key is derived from the passphrase itself, nothing is checked.
    pub is_guess: bool,
}

/// The session key that a passphrase gives with a packet. `None` if the passphrase does not fit, or if the packet
/// demands more than is allowed or supported. For a message with several packets call [`super::check_demands`] first.
pub fn open_passphrase(packet: &SymKeyEncryptedSessionKey, passphrase: &Passphrase) -> Option<Opened> {
    let cipher = packet.sym_algorithm().filter(|cipher| cipher.key_size() != 0)?;
    let s2k = packet.s2k()?;
    let key = s2k_key(s2k, passphrase, cipher.key_size()).ok()?;
    let encrypted = packet.encrypted_key()?;
    match packet {
        SymKeyEncryptedSessionKey::V4 { .. } if encrypted.is_empty() => {
            let session_key = PlainSessionKey::V3_4 { sym_alg: cipher, key: key.into() };
            Some(Opened { session_key, is_guess: true })
        }
        SymKeyEncryptedSessionKey::V4 { .. } => {
            let mut plain = Zeroizing::new(encrypted.to_vec());
            cipher.decrypt_with_iv_regular(&key, &vec![0; cipher.block_size()], &mut plain).ok()?;
            let (cipher, key) = plain.split_first()?;
            let sym_alg = SymmetricKeyAlgorithm::from(*cipher);
            let fits = sym_alg.key_size() != 0 && sym_alg.key_size() == key.len();
            let session_key = PlainSessionKey::V3_4 { sym_alg, key: key.into() };
            fits.then_some(Opened { session_key, is_guess: true })
        }
        SymKeyEncryptedSessionKey::V5 { aead, .. } | SymKeyEncryptedSessionKey::V6 { aead, .. } => {
            let is_v6 = matches!(packet, SymKeyEncryptedSessionKey::V6 { .. });
            let session_key = open_aead(is_v6, cipher, aead, s2k, &key, encrypted)?;
            Some(Opened { session_key, is_guess: false })
        }
        SymKeyEncryptedSessionKey::Other { .. } => None,
    }
}

/// Opens versions 5 and 6: the key by AEAD, in version 6 under a key that is derived once more (5.3.2).
fn open_aead(
    is_v6: bool,
    cipher: SymmetricKeyAlgorithm,
    props: &AeadProps,
    s2k: &StringToKey,
    key: &[u8],
    encrypted: &[u8],
) -> Option<PlainSessionKey> {
    let mode = AeadAlgorithm::from(props);
    let nonce: &[u8] = match props {
        AeadProps::Eax { iv } => iv,
        AeadProps::Ocb { iv } => iv,
        AeadProps::Gcm { iv } => iv,
    };
    if is_v6 && !is_fit_for_v6(s2k) {
        return None;
    }
    let info = [0xc3, if is_v6 { 6 } else { 5 }, u8::from(cipher), u8::from(mode)];
    let mut sealing = Zeroizing::new(key.to_vec());
    if is_v6 {
        engine::hkdf_sha256(&[], key, &info, &mut sealing).ok()?;
    }
    let (text, tag) = encrypted.split_last_chunk::<16>()?;
    let mut text = Zeroizing::new(text.to_vec());
    crate::aead::open((cipher, mode), &sealing, nonce, &info, &mut text, tag)?;
    let fits = matches!(text.len(), 16 | 24 | 32);
    let key = (&text[..]).into();
    fits.then_some(if is_v6 { PlainSessionKey::V6 { key } } else { PlainSessionKey::V5 { key } })
}
