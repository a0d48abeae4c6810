//! Packets through the engine: one call for all packets of each AEAD; of the others, one call for their ciphers and
//! another for their MACs.

use super::{HasPacket, Scratch, Work};
use crate::esp::HEADER_BYTES;
use crate::keys::{Keys, Salt};
use crate::sa::Sa;
use engine::{
    ChaChaItem, CipherDirection, CipherItem, CipherKey, Engine, GcmItem, HmacItem, HmacKey, Mode, RandomBlock,
};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// Kinds of suites whose packets share calls of the engine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Gcm,
    ChaCha,
    Separate,
}

impl Kind {
    pub(crate) fn of(sa: &Sa) -> Kind {
        match sa.keys {
            Keys::Gcm { .. } => Kind::Gcm,
            Keys::ChaCha { .. } => Kind::ChaCha,
            Keys::Separate(_) => Kind::Separate,
        }
    }
}

/// Length of the IV of an AEAD, in bytes.
const AEAD_IV_BYTES: usize = 8;
/// Length of the ICV of an AEAD, in bytes.
const AEAD_ICV_BYTES: usize = 16;
/// Length of the high half of an extended number, which does not travel, in bytes.
const HIGH_BYTES: usize = 4;

/// Enciphers and authenticates every packet that is good: header, payload, padding and trailer are in place.
pub(crate) fn seal<I: HasPacket>(engine: &Engine, random: &mut RandomBlock, works: &mut [Work<'_, '_, I>]) {
    for group in works.chunk_by_mut(|first, second| Kind::of(first.sa) == Kind::of(second.sa)) {
        match Kind::of(group[0].sa) {
            Kind::Gcm => seal_gcm(engine, group),
            Kind::ChaCha => seal_chacha(engine, group),
            Kind::Separate => seal_separate(engine, random, group),
        }
    }
}

/// Authenticates and deciphers every packet that is good; a packet whose ICV is wrong is not good any more.
pub(crate) fn open<I: HasPacket>(engine: &Engine, works: &mut [Work<'_, '_, I>]) {
    for group in works.chunk_by_mut(|first, second| Kind::of(first.sa) == Kind::of(second.sa)) {
        match Kind::of(group[0].sa) {
            Kind::Gcm => open_gcm(engine, group),
            Kind::ChaCha => open_chacha(engine, group),
            Kind::Separate => open_separate(engine, group),
        }
    }
}

/// A packet of an AEAD in its parts.
struct Parts<'p> {
    nonce: &'p [u8],
    aad: &'p [u8],
    text: &'p mut [u8],
    icv: &'p mut [u8],
    good: &'p mut bool,
}

/// The parts of a packet. The nonce is salt and IV (RFC 4106, 4; RFC 7634, 2). The AAD is SPI and number, with the high
/// half of an extended number (RFC 4106, 5).
#[inline]
fn parts<'p, I: HasPacket>(work: &'p mut Work<'_, '_, I>, salt: &Salt) -> Parts<'p> {
    let Work { sa, item, number, good, scratch: Scratch { nonce, aad, .. }, .. } = work;
    let packet = item.packet();
    let text_end = packet.len() - AEAD_ICV_BYTES;
    let (before, icv) = packet.split_at_mut(text_end);
    let (header, text) = before.split_at_mut(HEADER_BYTES + AEAD_IV_BYTES);
    nonce[..salt.len()].copy_from_slice(&salt[..]);
    nonce[salt.len()..].copy_from_slice(&header[HEADER_BYTES..]);
    let aad = if sa.extended {
        aad[..4].copy_from_slice(&header[..4]);
        aad[4..].copy_from_slice(&number.to_be_bytes());
        &aad[..]
    } else {
        &header[..HEADER_BYTES]
    };
    Parts { nonce: &nonce[..], aad, text, icv, good }
}

/// Writes the IV of an AEAD: the number, which no other packet under its key has (RFC 4106, 3.1; RFC 7634, 2).
#[inline]
fn write_aead_iv<I: HasPacket>(work: &mut Work<'_, '_, I>) {
    let number = work.number.to_be_bytes();
    work.item.packet()[HEADER_BYTES..HEADER_BYTES + AEAD_IV_BYTES].copy_from_slice(&number);
}

fn gcm_key(sa: &Sa) -> Option<(&engine::GcmKey, &Salt)> {
    match &sa.keys {
        Keys::Gcm { key, salt } => Some((key, salt)),
        _ => None,
    }
}

fn chacha_key(sa: &Sa) -> Option<(&engine::ChaChaKey, &Salt)> {
    match &sa.keys {
        Keys::ChaCha { key, salt } => Some((key, salt)),
        _ => None,
    }
}

fn seal_gcm<I: HasPacket>(engine: &Engine, works: &mut [Work<'_, '_, I>]) {
    let (mut items, mut icvs) = (Vec::with_capacity(works.len()), Vec::with_capacity(works.len()));
    for work in works.iter_mut().filter(|work| work.good) {
        let Some((key, salt)) = gcm_key(work.sa) else { continue };
        write_aead_iv(work);
        let Parts { nonce, aad, text, icv, .. } = parts(work, salt);
        items.push(GcmItem::encipher(key, nonce, aad, text));
        icvs.push(icv);
    }
    engine.gcm_batch(CipherDirection::Encipher, &mut items);
    for (item, icv) in items.iter().zip(icvs) {
        debug_assert_eq!(item.result, Ok(()));
        icv.copy_from_slice(&item.tag);
    }
}

fn open_gcm<I: HasPacket>(engine: &Engine, works: &mut [Work<'_, '_, I>]) {
    let (mut items, mut goods) = (Vec::with_capacity(works.len()), Vec::with_capacity(works.len()));
    for work in works.iter_mut().filter(|work| work.good) {
        let Some((key, salt)) = gcm_key(work.sa) else { continue };
        let Parts { nonce, aad, text, icv, good } = parts(work, salt);
        items.push(GcmItem::decipher(key, nonce, aad, text, icv));
        goods.push(good);
    }
    engine.gcm_batch(CipherDirection::Decipher, &mut items);
    for (item, good) in items.iter().zip(goods) {
        *good = item.result.is_ok();
    }
}

fn seal_chacha<I: HasPacket>(engine: &Engine, works: &mut [Work<'_, '_, I>]) {
    let (mut items, mut icvs) = (Vec::with_capacity(works.len()), Vec::with_capacity(works.len()));
    for work in works.iter_mut().filter(|work| work.good) {
        let Some((key, salt)) = chacha_key(work.sa) else { continue };
        write_aead_iv(work);
        let Parts { nonce, aad, text, icv, .. } = parts(work, salt);
        items.push(ChaChaItem::encipher(key, nonce, aad, text));
        icvs.push(icv);
    }
    engine.chacha_batch(CipherDirection::Encipher, &mut items);
    for (item, icv) in items.iter().zip(icvs) {
        debug_assert_eq!(item.result, Ok(()));
        icv.copy_from_slice(&item.tag);
    }
}

fn open_chacha<I: HasPacket>(engine: &Engine, works: &mut [Work<'_, '_, I>]) {
    let (mut items, mut goods) = (Vec::with_capacity(works.len()), Vec::with_capacity(works.len()));
    for work in works.iter_mut().filter(|work| work.good) {
        let Some((key, salt)) = chacha_key(work.sa) else { continue };
        let Parts { nonce, aad, text, icv, good } = parts(work, salt);
        items.push(ChaChaItem::decipher(key, nonce, aad, text, icv));
        goods.push(good);
    }
    engine.chacha_batch(CipherDirection::Decipher, &mut items);
    for (item, good) in items.iter().zip(goods) {
        *good = item.result.is_ok();
    }
}

fn separate_keys(sa: &Sa) -> Option<(Option<&CipherKey>, &HmacKey)> {
    match &sa.keys {
        Keys::Separate(keys) => Some((keys.cipher.as_ref(), &keys.mac)),
        _ => None,
    }
}

fn seal_separate<I: HasPacket>(engine: &Engine, random: &mut RandomBlock, works: &mut [Work<'_, '_, I>]) {
    for work in works.iter_mut().filter(|work| work.good) {
        // Unpredictable (RFC 3602, 3): none is derived from another packet's.
        let iv_bytes = work.sa.suite.iv_bytes();
        random.fill(&mut work.item.packet()[HEADER_BYTES..HEADER_BYTES + iv_bytes]);
    }
    cbc(engine, CipherDirection::Encipher, works);
    let macs = macs(engine, works);
    for (work, mac) in works.iter_mut().filter(|work| work.good).zip(macs.iter()) {
        let icv_bytes = work.sa.suite.icv_bytes();
        let packet = work.item.packet();
        let end = packet.len() - icv_bytes;
        packet[end..].copy_from_slice(&mac[..icv_bytes]);
    }
}

fn open_separate<I: HasPacket>(engine: &Engine, works: &mut [Work<'_, '_, I>]) {
    for work in works.iter_mut().filter(|work| work.good) {
        let icv_bytes = work.sa.suite.icv_bytes();
        let packet = work.item.packet();
        let end = packet.len() - icv_bytes;
        work.scratch.icv[..icv_bytes].copy_from_slice(&packet[end..]);
    }
    let macs = macs(engine, works);
    for (work, mac) in works.iter_mut().filter(|work| work.good).zip(macs.iter()) {
        let icv_bytes = work.sa.suite.icv_bytes();
        work.good = mac[..icv_bytes].ct_eq(&work.scratch.icv[..icv_bytes]).into();
    }
    cbc(engine, CipherDirection::Decipher, works);
}

/// Enciphers or deciphers the texts of all packets whose suite has a cipher, in place.
fn cbc<I: HasPacket>(engine: &Engine, direction: CipherDirection, works: &mut [Work<'_, '_, I>]) {
    let mut items = Vec::with_capacity(works.len());
    for work in works.iter_mut().filter(|work| work.good) {
        let Some((Some(key), _)) = separate_keys(work.sa) else { continue };
        let suite = work.sa.suite;
        let packet = work.item.packet();
        let end = packet.len() - suite.icv_bytes();
        let (header, text) = packet[..end].split_at_mut(HEADER_BYTES + suite.iv_bytes());
        items.push(CipherItem::new(key, &header[HEADER_BYTES..], text));
    }
    engine.cipher_batch(Mode::Cbc, direction, &mut items);
    debug_assert!(items.iter().all(|item| item.result.is_ok()));
}

/// The MACs of all good packets, in their order; the first bytes of a MAC are the ICV. A MAC is over everything before
/// the ICV, and over the high half of an extended number, which takes the ICV's place meanwhile (RFC 4303, 2.2.1). The
/// MACs are wiped: nobody may learn the right one of a forged packet.
fn macs<I: HasPacket>(engine: &Engine, works: &mut [Work<'_, '_, I>]) -> Zeroizing<Vec<[u8; 64]>> {
    let mut items = Vec::with_capacity(works.len());
    for work in works.iter_mut().filter(|work| work.good) {
        let Some((_, key)) = separate_keys(work.sa) else { continue };
        let (icv_bytes, extended) = (work.sa.suite.icv_bytes(), work.sa.extended);
        let number = work.number;
        let packet = work.item.packet();
        let mut end = packet.len() - icv_bytes;
        if extended {
            packet[end..end + HIGH_BYTES].copy_from_slice(&number.to_be_bytes()[..HIGH_BYTES]);
            end += HIGH_BYTES;
        }
        items.push(HmacItem::new(key, &packet[..end]));
    }
    engine.hmac_batch(&mut items);
    Zeroizing::new(items.into_iter().map(|item| item.mac).collect())
}
