//! ESP written a second time: straight from the RFCs, whole packets in and out, with OpenSSL's functions.

use super::RawKeys;
use ipsec::{AesKey, Encryption, Integrity, Suite};
use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::sign::Signer;
use openssl::symm::{Cipher, Crypter, Mode, decrypt_aead, encrypt_aead};

/// What stands in a packet before it is enciphered.
pub struct Plain<'a> {
    pub spi: u32,
    pub number: u64,
    pub extended: bool,
    pub iv: &'a [u8],
    /// Payload and TFC padding.
    pub payload: &'a [u8],
    pub next_header: u8,
}

fn gcm(key: AesKey) -> Cipher {
    match key {
        AesKey::Bits128 => Cipher::aes_128_gcm(),
        AesKey::Bits192 => Cipher::aes_192_gcm(),
        AesKey::Bits256 => Cipher::aes_256_gcm(),
    }
}

fn cbc(encryption: Encryption) -> Option<Cipher> {
    match encryption {
        Encryption::Null => None,
        Encryption::AesCbc(AesKey::Bits128) => Some(Cipher::aes_128_cbc()),
        Encryption::AesCbc(AesKey::Bits192) => Some(Cipher::aes_192_cbc()),
        Encryption::AesCbc(AesKey::Bits256) => Some(Cipher::aes_256_cbc()),
        Encryption::TdesCbc => Some(Cipher::des_ede3_cbc()),
    }
}

fn aead(suite: Suite) -> Option<Cipher> {
    match suite {
        Suite::AesGcm16(key) => Some(gcm(key)),
        Suite::ChaCha20Poly1305 => Some(Cipher::chacha20_poly1305()),
        Suite::Separate(..) => None,
    }
}

fn header(spi: u32, number: u64) -> Vec<u8> {
    [spi.to_be_bytes(), (number as u32).to_be_bytes()].concat()
}

fn aad(spi: u32, number: u64, extended: bool) -> Vec<u8> {
    if extended { [&spi.to_be_bytes()[..], &number.to_be_bytes()].concat() } else { header(spi, number) }
}

fn mac(integrity: Integrity, key: &[u8], text: &[u8]) -> Vec<u8> {
    let (digest, bytes) = match integrity {
        Integrity::Sha1 => (MessageDigest::sha1(), 12),
        Integrity::Sha256 => (MessageDigest::sha256(), 16),
        Integrity::Sha512 => (MessageDigest::sha512(), 32),
    };
    let key = PKey::hmac(key).unwrap();
    let mut signer = Signer::new(digest, &key).unwrap();
    signer.update(text).unwrap();
    let mut mac = signer.sign_to_vec().unwrap();
    mac.truncate(bytes);
    mac
}

fn run_cbc(cipher: Cipher, mode: Mode, key: &[u8], iv: &[u8], text: &[u8]) -> Vec<u8> {
    let mut crypter = Crypter::new(cipher, mode, key, Some(iv)).unwrap();
    crypter.pad(false);
    let mut out = vec![0; text.len() + cipher.block_size()];
    let done = crypter.update(text, &mut out).unwrap();
    out.truncate(done);
    out
}

/// Bytes that payload, padding and trailer are a multiple of.
fn align(suite: Suite) -> usize {
    match suite {
        Suite::Separate(Encryption::AesCbc(_), _) => 16,
        Suite::Separate(Encryption::TdesCbc, _) => 8,
        _ => 4,
    }
}

/// The packet from SPI to ICV.
pub fn seal(suite: Suite, keys: &RawKeys, plain: &Plain<'_>) -> Vec<u8> {
    let mut text = plain.payload.to_vec();
    let mut padding = 0;
    while !(text.len() + 2).is_multiple_of(align(suite)) {
        padding += 1;
        text.push(padding);
    }
    text.extend([padding, plain.next_header]);
    let mut packet = header(plain.spi, plain.number);
    packet.extend_from_slice(plain.iv);
    if let Some(cipher) = aead(suite) {
        let (key, salt) = keys.encryption.split_at(keys.encryption.len() - 4);
        let nonce = [salt, plain.iv].concat();
        let mut tag = [0; 16];
        let aad = aad(plain.spi, plain.number, plain.extended);
        packet.extend(encrypt_aead(cipher, key, Some(&nonce), &aad, &text, &mut tag).unwrap());
        packet.extend(tag);
        return packet;
    }
    let Suite::Separate(encryption, integrity) = suite else { unreachable!("the others are AEADs") };
    match cbc(encryption) {
        None => packet.extend(text),
        Some(cipher) => packet.extend(run_cbc(cipher, Mode::Encrypt, &keys.encryption, plain.iv, &text)),
    }
    let high = ((plain.number >> 32) as u32).to_be_bytes();
    let authenticated = [&packet[..], if plain.extended { &high[..] } else { &[] }].concat();
    packet.extend(mac(integrity, &keys.integrity, &authenticated));
    packet
}

/// Payload, with TFC padding, and next header of a packet with this number; None where it is not authentic or its
/// padding is wrong.
pub fn open(
    suite: Suite,
    keys: &RawKeys,
    number: u64,
    extended: bool,
    packet: &[u8],
) -> Option<(Vec<u8>, u8)> {
    let spi = u32::from_be_bytes(packet[..4].try_into().unwrap());
    let text = if let Some(cipher) = aead(suite) {
        let (key, salt) = keys.encryption.split_at(keys.encryption.len() - 4);
        let (body, tag) = packet.split_at(packet.len() - 16);
        let nonce = [salt, &body[8..16]].concat();
        decrypt_aead(cipher, key, Some(&nonce), &aad(spi, number, extended), &body[16..], tag).ok()?
    } else {
        let Suite::Separate(encryption, integrity) = suite else { unreachable!("the others are AEADs") };
        let icv_bytes = mac(integrity, &keys.integrity, b"").len();
        let (body, icv) = packet.split_at(packet.len() - icv_bytes);
        let high = ((number >> 32) as u32).to_be_bytes();
        let authenticated = [body, if extended { &high[..] } else { &[] }].concat();
        if mac(integrity, &keys.integrity, &authenticated) != icv {
            return None;
        }
        match cbc(encryption) {
            None => body[8..].to_vec(),
            Some(cipher) => {
                let (iv, text) = body[8..].split_at(cipher.block_size());
                run_cbc(cipher, Mode::Decrypt, &keys.encryption, iv, text)
            }
        }
    };
    let (before, trailer) = text.split_at(text.len() - 2);
    let payload = before.len().checked_sub(trailer[0].into())?;
    let is_counted = before[payload..].iter().enumerate().all(|(at, byte)| usize::from(*byte) == at + 1);
    is_counted.then(|| (before[..payload].to_vec(), trailer[1]))
}
