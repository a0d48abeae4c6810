//! Algorithms by the kernel's names, and the suites that they make.
//!
//! Algorithms that a kernel would have and this data plane does not have (AES-CTR, -CCM, -GMAC, other hashes, other
//! lengths of ICVs) are answered as by a kernel that was built without them.

use crate::outbox::Writer;
use crate::refusal::Refusal;
use crate::view::{Attributes, View};
use crate::wire::{algorithm, attribute, errno};
use ipsec::{AesKey, Encryption, Integrity, KeyBytes, Suite};
use zeroize::Zeroizing;

/// A key, under the kernel's full name of its algorithm.
pub(crate) struct Key {
    name: &'static str,
    /// Length of the key in bits, as the request stated it.
    bits: u32,
    /// Length of the ICV in bits; 0 for a cipher.
    icv_bits: u32,
    /// The key, in one allocation that never grows.
    bytes: Zeroizing<Box<[u8]>>,
}

/// The algorithms of one SA, as listings give them back.
#[derive(Default)]
pub(crate) struct Algorithms {
    combined: Option<Key>,
    cipher: Option<Key>,
    mac: Option<Key>,
}

/// The MACs: long and short name, algorithm, bits of the ICV if a request states none, bits of the digest.
const MACS: [(&str, &str, Integrity, u32, u32); 3] = [
    ("hmac(sha1)", "sha1", Integrity::Sha1, 96, 160),
    // 96 bits are the kernel's historical default; RFC 4868 has 128, which programs ask for by ALG_AUTH_TRUNC.
    ("hmac(sha256)", "sha256", Integrity::Sha256, 96, 256),
    ("hmac(sha512)", "", Integrity::Sha512, 256, 512),
];
/// The ciphers: long and short name.
const CIPHERS: [(&str, &str); 3] =
    [("cbc(aes)", "aes"), ("cbc(des3_ede)", "des3_ede"), ("ecb(cipher_null)", "cipher_null")];
const GCM: &str = "rfc4106(gcm(aes))";
const CHACHA: &str = "rfc7539esp(chacha20,poly1305)";
/// Bits of the ICV of both AEADs.
const COMBINED_ICV_BITS: u32 = 128;

/// The name in an attribute, up to its zero; the last byte always counts as one.
fn name(value: View<'_>) -> &[u8] {
    let field = value.0.get(..algorithm::NAME_BYTES - 1).unwrap_or(&[]);
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    &field[..end]
}

/// The key behind a structure of `structure_bytes` bytes; `None` if the key is cut short.
fn key_bytes(value: View<'_>, structure_bytes: usize) -> Option<&[u8]> {
    let bytes = usize::try_from(value.u32(algorithm::KEY_BITS)).ok()?.div_ceil(8);
    value.from(structure_bytes).get(..bytes)
}

fn key(value: View<'_>, structure_bytes: usize, name: &'static str, icv_bits: u32) -> Option<Key> {
    let bytes = Zeroizing::new(key_bytes(value, structure_bytes)?.into());
    Some(Key { name, bits: value.u32(algorithm::KEY_BITS), icv_bits, bytes })
}

/// Refuses keys that are shorter than their attributes say, in the kernel's order.
pub(crate) fn check_lengths(attributes: &Attributes<'_>) -> Result<(), Refusal> {
    let whole = |kind, bytes| attributes.get(kind).is_none_or(|value| key_bytes(value, bytes).is_some());
    if !whole(attribute::ALG_AEAD, algorithm::WITH_ICV_BYTES) {
        return Err(Refusal::invalid("Invalid AEAD attribute length"));
    }
    if !whole(attribute::ALG_AUTH_TRUNC, algorithm::WITH_ICV_BYTES) {
        return Err(Refusal::invalid("Invalid AUTH_TRUNC attribute length"));
    }
    let plain = [attribute::ALG_AUTH, attribute::ALG_CRYPT, attribute::ALG_COMP];
    match plain.into_iter().all(|kind| whole(kind, algorithm::PLAIN_BYTES)) {
        true => Ok(()),
        false => Err(Refusal::invalid("Invalid AUTH/CRYPT/COMP attribute length")),
    }
}

impl Algorithms {
    /// The algorithms that a request names.
    pub(crate) fn read(attributes: &Attributes<'_>) -> Result<Algorithms, Refusal> {
        check_lengths(attributes)?;
        let cut = || Refusal::bare(errno::EINVAL);
        let mut read = Algorithms::default();
        if let Some(value) = attributes.get(attribute::ALG_AEAD) {
            let known = [GCM, CHACHA].into_iter().find(|known| known.as_bytes() == name(value));
            let icv_bits = value.u32(algorithm::ICV_BITS);
            let known = known
                .filter(|_| icv_bits == COMBINED_ICV_BITS)
                .ok_or(Refusal::new(errno::ENOSYS, "Requested AEAD algorithm not found"))?;
            read.combined = Some(key(value, algorithm::WITH_ICV_BYTES, known, icv_bits).ok_or_else(cut)?);
        }
        if let Some(value) = attributes.get(attribute::ALG_AUTH_TRUNC) {
            let (known, _, _, default_bits, digest_bits) =
                mac(value, "Requested AUTH_TRUNC algorithm not found")?;
            let icv_bits = match value.u32(algorithm::ICV_BITS) {
                0 => default_bits,
                bits if bits > digest_bits => {
                    return Err(Refusal::invalid("Invalid length requested for truncated ICV"));
                }
                bits => bits,
            };
            read.mac = Some(key(value, algorithm::WITH_ICV_BYTES, known, icv_bits).ok_or_else(cut)?);
        } else if let Some(value) = attributes.get(attribute::ALG_AUTH) {
            let (known, _, _, default_bits, _) = mac(value, "Requested AUTH algorithm not found")?;
            read.mac = Some(key(value, algorithm::PLAIN_BYTES, known, default_bits).ok_or_else(cut)?);
        }
        if let Some(value) = attributes.get(attribute::ALG_CRYPT) {
            let name = name(value);
            let named = |(long, short): &&(&str, &str)| name == long.as_bytes() || name == short.as_bytes();
            let (known, _) = CIPHERS
                .iter()
                .find(named)
                .ok_or(Refusal::new(errno::ENOSYS, "Requested CRYPT algorithm not found"))?;
            read.cipher = Some(key(value, algorithm::PLAIN_BYTES, known, 0).ok_or_else(cut)?);
        }
        Ok(read)
    }

    /// The suite that these algorithms make.
    pub(crate) fn suite(&self) -> Result<Suite, Refusal> {
        match (&self.combined, &self.cipher, &self.mac) {
            (Some(combined), None, None) if combined.name == CHACHA => Ok(Suite::ChaCha20Poly1305),
            (Some(combined), None, None) => {
                let bytes = combined.bytes.len().checked_sub(ipsec::SALT_BYTES);
                bytes.and_then(AesKey::of_bytes).map(Suite::AesGcm16).ok_or_else(|| {
                    let text = "Invalid key length: AES-GCM has 16, 24 or 32 bytes and 4 of salt";
                    Refusal::invalid(text)
                })
            }
            (None, Some(cipher), Some(mac)) => Ok(Suite::Separate(encryption(cipher)?, integrity(mac)?)),
            (None, Some(_), None) => {
                Err(Refusal::new(errno::ENOSYS, "Encryption without authentication is not served"))
            }
            (None, None, Some(_)) => {
                Err(Refusal::invalid("Missing CRYPT attribute: ecb(cipher_null) for no encryption"))
            }
            _ => Err(Refusal::bare(errno::EINVAL)),
        }
    }

    /// The keys of the suite that these algorithms make.
    pub(crate) fn keys(&self) -> KeyBytes<'_> {
        let encryption = self.combined.as_ref().or(self.cipher.as_ref());
        KeyBytes {
            encryption: encryption.map_or(&[], |key| &key.bytes),
            integrity: self.mac.as_ref().map_or(&[], |key| &key.bytes),
        }
    }

    /// Writes the algorithms as attributes, the MAC in both forms that it has.
    pub(crate) fn write(&self, writer: &mut Writer) {
        if let Some(key) = &self.combined {
            key.write(writer, attribute::ALG_AEAD, true);
        }
        if let Some(key) = &self.mac {
            key.write(writer, attribute::ALG_AUTH, false);
            key.write(writer, attribute::ALG_AUTH_TRUNC, true);
        }
        if let Some(key) = &self.cipher {
            key.write(writer, attribute::ALG_CRYPT, false);
        }
    }
}

impl Key {
    fn write(&self, writer: &mut Writer, kind: u16, with_icv: bool) {
        let mut field = [0; algorithm::NAME_BYTES];
        field[..self.name.len()].copy_from_slice(self.name.as_bytes());
        let icv_bits = self.icv_bits.to_ne_bytes();
        let icv_bits = if with_icv { &icv_bits[..] } else { &[] };
        writer.attribute(kind, &[&field, &self.bits.to_ne_bytes(), icv_bits, &self.bytes]);
    }
}

type Mac = (&'static str, &'static str, Integrity, u32, u32);

fn mac(value: View<'_>, missing: &'static str) -> Result<Mac, Refusal> {
    let name = name(value);
    let named = |mac: &&Mac| name == mac.0.as_bytes() || (!mac.1.is_empty() && name == mac.1.as_bytes());
    MACS.iter().find(named).copied().ok_or(Refusal::new(errno::ENOSYS, missing))
}

fn integrity(key: &Key) -> Result<Integrity, Refusal> {
    let known = MACS.iter().find(|mac| mac.0 == key.name).map(|mac| mac.2);
    known.filter(|known| 8 * known.icv_bytes() == key.icv_bits as usize).ok_or_else(|| {
        let served = known.map_or(0, |known| 8 * known.icv_bytes());
        let text = format!("{} is served with an ICV of {served} bits, not of {}", key.name, key.icv_bits);
        Refusal::new(errno::ENOSYS, text)
    })
}

fn encryption(key: &Key) -> Result<Encryption, Refusal> {
    match key.name {
        "ecb(cipher_null)" => Ok(Encryption::Null),
        "cbc(des3_ede)" => Ok(Encryption::TdesCbc),
        _ => AesKey::of_bytes(key.bytes.len())
            .map(Encryption::AesCbc)
            .ok_or_else(|| Refusal::invalid("Invalid key length: AES-CBC has 16, 24 or 32 bytes")),
    }
}
