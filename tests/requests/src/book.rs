//! Private keys under AES transport keys by their layouts alone: tokens opened and made by OpenSSL.

use crate::wrapped::pattern;
use openssl::aes::{AesKey, unwrap_key, wrap_key};
use openssl::bn::BigNumContext;
use openssl::ec::{EcGroup, EcKey, PointConversionForm};
use openssl::nid::Nid;
use openssl::pkey::Private;
use openssl::rsa::Rsa;
use openssl::sha::sha256;

/// The key that a payload of AESKW holds behind this hash; of no hash behind eight random bytes.
fn unwrapped(key: &[u8], payload: &[u8], hash: Option<[u8; 32]>, bytes: usize) -> Option<Vec<u8>> {
    let mut out = vec![0; payload.len() - 8];
    let front = if hash.is_some() { 36 } else { 8 };
    let padding = out.len().checked_sub(front + bytes)?;
    let initial = match hash {
        Some(_) => [0xA6, 0xA6, 0xA6, 0xA6, 0xA6, 0xA6, 8 * padding as u8, 32],
        None => [0xA6, 0xA6, 0xA6, 0xA6, 0xA6, 0xA6, 0, 0],
    };
    unwrap_key(&AesKey::new_decrypt(key).unwrap(), Some(initial), &mut out, payload).ok()?;
    let is_bound = hash.is_none_or(|hash| out[..4] == [0; 4] && out[4..36] == hash);
    (is_bound && out[front + bytes..].iter().all(|byte| *byte == 0))
        .then(|| out[front..front + bytes].to_vec())
}

fn wrapped(key: &[u8], value: &[u8], hash: Option<[u8; 32]>) -> Vec<u8> {
    let front = hash.map_or(vec![0xC3; 8], |hash| [&[0; 4][..], &hash].concat());
    let padding = (front.len() + value.len()).next_multiple_of(8) - front.len() - value.len();
    let kind = if hash.is_some() { 32 } else { 0 };
    let initial = [0xA6, 0xA6, 0xA6, 0xA6, 0xA6, 0xA6, 8 * padding as u8, kind];
    let rest = [&front[..], value, &vec![0; padding]].concat();
    let mut out = vec![0; rest.len() + 8];
    wrap_key(&AesKey::new_encrypt(key).unwrap(), Some(initial), &mut out, &rest).unwrap();
    out
}

/// The two bytes of a token from here on, as a number.
pub fn half(token: &[u8], at: usize) -> usize {
    usize::from(u16::from_be_bytes([token[at], token[at + 1]]))
}

/// Offsets in a section of X'30' or X'31': end of the associated data and begin of the key field, begin of the modulus,
/// its length, length of the private values.
pub fn layout(section: &[u8]) -> (usize, usize, usize, usize) {
    match section[0] {
        0x30 => (56, 122, half(section, 52), half(section, 54)),
        0x31 => (68, 134, half(section, 62), (0..5).map(|index| half(section, 52 + 2 * index)).sum()),
        other => panic!("section {other:#x}"),
    }
}

/// The private values of an external RSA token under a transport key, by another library.
pub fn opened_rsa(kek: &[u8], token: &[u8]) -> Option<Vec<u8>> {
    let section = &token[8..8 + half(token, 10)];
    let (opk_at, modulus_at, n, bytes) = layout(section);
    assert_eq!(section[opk_at + 48..opk_at + 64], pattern(kek), "the pattern of the transport key");
    let opk = unwrapped(kek, &section[opk_at..opk_at + 48], None, 32)?;
    let public = &token[8 + section.len()..];
    let e = &public[12..12 + half(public, 6)];
    let hash = sha256(&[&section[10..opk_at], &section[modulus_at..modulus_at + n], e].concat());
    unwrapped(&opk, &section[modulus_at + n..], Some(hash), bytes)
}

/// An external token of an RSA key, made by another library.
pub fn foreign_rsa(key: &Rsa<Private>, section: u8, kek: &[u8]) -> Vec<u8> {
    let (n, e) = (key.n().to_vec(), key.e().to_vec());
    let values: Vec<Vec<u8>> = match section {
        0x30 => vec![key.d().to_vec()],
        _ => [key.p(), key.q(), key.dmp1(), key.dmq1(), key.iqmp()].map(|part| part.unwrap().to_vec()).into(),
    };
    let (opk_at, lengths_at): (usize, usize) = if section == 0x30 { (56, 54) } else { (68, 52) };
    let mut bytes = vec![0; opk_at];
    bytes[0] = section;
    bytes[5] = opk_at as u8 - 10;
    (bytes[10], bytes[11]) = if section == 0x30 { (2, 0x82) } else { (3, 0x42) };
    bytes[14] = 2;
    bytes[50] = 0x80;
    for (index, value) in values.iter().enumerate() {
        bytes[lengths_at + 2 * index..][..2].copy_from_slice(&(value.len() as u16).to_be_bytes());
    }
    let n_at = if section == 0x30 { 52 } else { 62 };
    bytes[n_at..n_at + 2].copy_from_slice(&(n.len() as u16).to_be_bytes());
    let opk = [0x5A; 32];
    let hash = sha256(&[&bytes[10..], &n, &e].concat());
    let payload = wrapped(&opk, &values.concat(), Some(hash));
    bytes[6..8].copy_from_slice(&(payload.len() as u16).to_be_bytes());
    let mut section = [&bytes[..], &wrapped(kek, &opk, None), &pattern(kek), &[0; 2], &n, &payload].concat();
    let length = section.len() as u16;
    section[2..4].copy_from_slice(&length.to_be_bytes());
    let public = [&[4, 0, 0, 12 + e.len() as u8, 0, 0, 0, e.len() as u8][..]].concat();
    let public = [&public[..], &((8 * n.len()) as u16).to_be_bytes(), &[0, 0], &e].concat();
    let whole = 8 + section.len() + public.len();
    [&[0x1E, 0][..], &(whole as u16).to_be_bytes(), &[0; 4], &section, &public].concat()
}

/// The private value of an external token of a curve under a transport key, by another library.
pub fn opened_ecc(kek: &[u8], token: &[u8]) -> Option<Vec<u8>> {
    let section = &token[8..8 + half(token, 10)];
    assert_eq!((section[0], section[4], section[5], section[10]), (0x20, 1, 2, 0x42));
    assert_eq!(section[16..24], pattern(kek)[..8]);
    assert_eq!(section[24..72], [0; 48], "no key field outside");
    let payload_at = 76 + half(section, 72);
    let following = &token[8 + section.len()..];
    let hash = sha256(&[&section[76..payload_at], &section[11..12], following].concat());
    unwrapped(kek, &section[payload_at..], Some(hash), half(section, 12).div_ceil(8))
}

/// A P-256 key of another library, under the transport key.
pub fn foreign_ecc(kek: &[u8], point_of: Option<&EcKey<Private>>) -> Vec<u8> {
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    let key = EcKey::generate(&group).unwrap();
    let mut context = BigNumContext::new().unwrap();
    let form = PointConversionForm::UNCOMPRESSED;
    let shown = point_of.unwrap_or(&key).public_key().to_bytes(&group, form, &mut context).unwrap();
    let mut associated = [0; 16];
    (associated[3], associated[8], associated[10], associated[11]) = (16, 1, 0x80, 0x42);
    let public = [&[0x21, 0, 0, 79, 0, 0, 0, 0, 0, 0, 1, 0, 0, 65][..], &shown].concat();
    let hash = sha256(&[&associated[..], &[0], &public].concat());
    let payload = wrapped(kek, &key.private_key().to_vec_padded(32).unwrap(), Some(hash));
    let mut section = vec![0; 76];
    (section[0], section[4], section[5], section[8], section[10]) = (0x20, 1, 2, 0x80, 0x42);
    (section[12], section[15], section[73], section[75]) = (1, 16, 16, payload.len() as u8);
    section[16..24].copy_from_slice(&pattern(kek)[..8]);
    section.extend_from_slice(&associated);
    section.extend_from_slice(&payload);
    section[3] = section.len() as u8;
    let whole = 8 + section.len() + public.len();
    [&[0x1E, 0][..], &(whole as u16).to_be_bytes(), &[0; 4], &section, &public].concat()
}
