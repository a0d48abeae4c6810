//! OpenPGP messages: packets and grammar, armor, cleartext messages, bodies of each form.

use engine::{Engine, Options};
use openpgp::body::Unauthentic;
use openpgp::body::chunked::{ChunkCipher, Header, TAG_BYTES};
use openpgp::body::grammar::{Inner, InnerEvent, Limits, Outer, OuterEvent};
use openpgp::body::seipd1::{self, Check, Decipherer, Opener, Sealer};
use openpgp::packet::armor::{ArmorKind, Armorer, Dearmorer};
use openpgp::packet::cleartext::{Reader, Text, Writer};
use openpgp::packet::{Event, PacketError, Splitter};
use openpgp::{AeadAlgorithm, Form, Protection, SymmetricKeyAlgorithm};
use std::sync::LazyLock;

static ENGINE: LazyLock<Engine> =
    LazyLock::new(|| Engine::new(Options::default()).expect("the known answers"));
const LIMITS: Limits = Limits { nesting_max: 2, packets_max: 64 };

/// A stream of packets: the same in any slices, and through the readers of messages. The first byte says how long
/// the slices are.
pub fn openpgp_packets(data: &[u8]) {
    let Some((first, stream)) = data.split_first() else { return };
    let slice_bytes = usize::from(*first) + 1;
    assert_eq!(bodies(stream, slice_bytes), bodies(stream, stream.len().max(1)), "slices change nothing");
    let outer = around(stream, slice_bytes);
    assert_eq!(outer, around(stream, stream.len().max(1)), "slices change nothing");
    let inner = inside(stream, slice_bytes);
    assert_eq!(inner, inside(stream, stream.len().max(1)), "slices change nothing");
    assert!(outer.unwrap_or_default() + inner.unwrap_or_default() <= 2 * stream.len());
}

/// Tag and length of each packet.
fn bodies(stream: &[u8], slice_bytes: usize) -> Result<Vec<(u8, u64)>, PacketError> {
    let mut splitter = Splitter::new();
    let mut packets = Vec::new();
    for slice in stream.chunks(slice_bytes) {
        let mut at = 0;
        loop {
            let step = splitter.step(&slice[at..])?;
            at += step.consumed;
            match step.event {
                Event::Header(header) => packets.push((header.tag.into(), 0)),
                Event::Body => packets.last_mut().expect("behind a header").1 += step.consumed as u64,
                Event::More => break,
                Event::Framing | Event::End => {}
            }
        }
    }
    while splitter.finish()?.is_some() {}
    Ok(packets)
}

/// Bytes of the body of an encrypted message; none where it is no message.
fn around(stream: &[u8], slice_bytes: usize) -> Option<usize> {
    let (mut outer, mut body_bytes) = (Outer::new(LIMITS), 0);
    for slice in stream.chunks(slice_bytes) {
        let mut at = 0;
        loop {
            let step = outer.step(&slice[at..]).ok()?;
            match step.event {
                OuterEvent::More => break,
                OuterEvent::NotEncrypted(_) => return None,
                OuterEvent::Body(range) => body_bytes += slice[at..][range].len(),
                _ => {}
            }
            at += step.consumed;
        }
    }
    outer.finish().ok().map(|()| body_bytes)
}

/// Bytes of text, or of compressed data, of a message that is not encrypted; none where it is no message.
fn inside(stream: &[u8], slice_bytes: usize) -> Option<usize> {
    let (mut inner, mut text_bytes) = (Inner::new(LIMITS), 0);
    for slice in stream.chunks(slice_bytes) {
        let mut at = 0;
        loop {
            let step = inner.step(&slice[at..]).ok()?;
            match step.event {
                InnerEvent::More => break,
                InnerEvent::Text(range) | InnerEvent::Data(range) => text_bytes += slice[at..][range].len(),
                _ => {}
            }
            at += step.consumed;
        }
    }
    while inner.finish().ok()?.is_some() {}
    Some(text_bytes)
}

/// Armor: the same in any pieces; what was read is read again when it is written. The first byte says how long the
/// pieces are.
pub fn openpgp_armor(data: &[u8]) {
    let Some((first, text)) = data.split_first() else { return };
    let read = |text: &[u8], piece_bytes: usize| {
        let (mut dearmorer, mut out) = (Dearmorer::new(), Vec::new());
        for piece in text.chunks(piece_bytes) {
            dearmorer.update(piece, &mut out)?;
        }
        let kind = dearmorer.kind();
        dearmorer.finish().map(|()| (kind, out))
    };
    let found = read(text, usize::from(*first) + 1);
    assert_eq!(found.is_ok(), read(text, text.len().max(1)).is_ok());
    let Ok((Some(kind), found)) = found else { return };
    assert_eq!(read(text, text.len()), Ok((Some(kind), found.clone())));
    if kind == ArmorKind::SignedMessage {
        return;
    }
    let mut armorer = Armorer::new(kind, true);
    let mut again = Vec::new();
    armorer.begin(&[], &mut again);
    found.chunks(usize::from(*first) + 1).for_each(|piece| armorer.update(piece, &mut again));
    armorer.finish(&mut again);
    assert_eq!(read(&again, 100), Ok((Some(kind), found)));
}

/// A cleartext message, and a text for one. The first byte says how long the pieces are.
pub fn openpgp_cleartext(data: &[u8]) {
    let Some((first, input)) = data.split_first() else { return };
    let piece_bytes = usize::from(*first) + 1;
    let read = |message: &[u8], piece_bytes: usize| {
        let (mut reader, mut text) = (Reader::new(), Text::default());
        for piece in message.chunks(piece_bytes) {
            reader.update(piece, &mut text)?;
        }
        reader.finish().map(|signatures| (text, signatures))
    };
    assert_eq!(read(input, piece_bytes).ok(), read(input, input.len().max(1)).ok());
    let (mut writer, mut message, mut signed) = (Writer::new(), Vec::new(), Vec::new());
    writer.begin(&[], &mut message);
    for piece in input.chunks(piece_bytes) {
        if writer.update(piece, &mut message, &mut signed).is_err() {
            return;
        }
    }
    writer.finish(&mut message);
    message.extend_from_slice(b"-----BEGIN PGP SIGNATURE-----\n\nAAAA\n-----END PGP SIGNATURE-----\n");
    let (text, signatures) = read(&message, piece_bytes).expect("what was written is read");
    assert_eq!((text.signed, signatures), (signed, vec![0; 3]));
}

const CIPHERS: [SymmetricKeyAlgorithm; 5] = [
    SymmetricKeyAlgorithm::AES128,
    SymmetricKeyAlgorithm::AES192,
    SymmetricKeyAlgorithm::AES256,
    SymmetricKeyAlgorithm::TripleDES,
    SymmetricKeyAlgorithm::CAST5,
];

/// SEIPDv1: cipher, length of pieces, place of a change (two bytes) and the change; then a text, and also a body.
pub fn openpgp_seipd1(data: &[u8]) {
    let Some((&[cipher, pieces, high, low, change], rest)) = data.split_first_chunk() else { return };
    let cipher = CIPHERS[usize::from(cipher) % CIPHERS.len()];
    let piece_bytes = usize::from(pieces) + 1;
    assert_eq!(opened_seipd1(cipher, rest, piece_bytes), Err(Unauthentic), "nobody sealed this");

    let mut sealer = Sealer::new(&ENGINE, cipher, &key(cipher)).expect("a key of its length");
    let mut body = sealer.begin();
    let begin = body.len();
    body.extend_from_slice(rest);
    body[begin..].chunks_mut(piece_bytes).for_each(|piece| sealer.update(piece));
    body.extend_from_slice(&sealer.finish());
    assert_eq!(opened_seipd1(cipher, &body[1..], piece_bytes).as_deref(), Ok(rest));
    let at = usize::from(u16::from_be_bytes([high, low])) % (body.len() - 1) + 1;
    body[at] ^= change;
    assert_eq!(opened_seipd1(cipher, &body[1..], piece_bytes).is_ok(), change == 0);
}

/// By one thread's way and by that of several, which must agree.
fn opened_seipd1(
    cipher: SymmetricKeyAlgorithm,
    body: &[u8],
    piece_bytes: usize,
) -> Result<Vec<u8>, Unauthentic> {
    let prefix_bytes = seipd1::prefix_bytes(cipher);
    if body.len() < prefix_bytes + seipd1::CODE_BYTES {
        return Err(Unauthentic);
    }
    let (prefix, rest) = body.split_at(prefix_bytes);
    let mut opener = Opener::new(&ENGINE, cipher, &key(cipher), prefix).expect("a prefix of its length");
    let (mut rest, mut text) = (rest.to_vec(), Vec::new());
    for piece in rest.chunks_mut(piece_bytes) {
        let opened = opener.update(piece);
        text.extend_from_slice(opened.before());
        text.extend_from_slice(opened.text);
    }
    let result = opener.finish();

    let decipherer = Decipherer::new(&ENGINE, cipher, &key(cipher)).expect("a key of its length");
    let block_bytes = decipherer.block_bytes();
    let mut clear = body.to_vec();
    for at in (0..body.len()).step_by(piece_bytes * block_bytes) {
        let end = body.len().min(at + piece_bytes * block_bytes);
        decipherer.decipher_at(&body[at.saturating_sub(block_bytes)..at], &mut clear[at..end]);
    }
    let (clear, code) = clear.split_at(clear.len() - seipd1::CODE_BYTES);
    assert_eq!(clear[prefix_bytes..], text);
    let mut check = Check::new(&ENGINE);
    clear.chunks(piece_bytes).for_each(|piece| check.update(piece));
    assert_eq!(check.finish(code), result);
    result.map(|()| text)
}

fn key(cipher: SymmetricKeyAlgorithm) -> Vec<u8> {
    (0..cipher.key_size()).map(|at| at as u8).collect()
}

/// SEIPDv2: cipher, mode, chunk length, place of a change (two bytes) and the change; then a text, and also a body.
pub fn openpgp_seipd2(data: &[u8]) {
    chunks(data, |aead, chunk_bits| Protection::SeipdV2 { aead, chunk_bits });
}

/// GnuPG's packet 20: the same.
pub fn openpgp_gnupg_aead(data: &[u8]) {
    chunks(data, |aead, chunk_bits| Protection::GnupgAead { aead, chunk_bits });
}

fn chunks(data: &[u8], protection: impl Fn(AeadAlgorithm, u8) -> Protection) {
    let Some((&[cipher, aead, chunk_bits, high, low, change], rest)) = data.split_first_chunk() else {
        return;
    };
    // A header as it comes, and a body that nobody sealed.
    for tag in [openpgp::packet::Tag::SymEncryptedProtectedData, openpgp::packet::Tag::GnupgAeadData] {
        if let Ok(Some((header, header_bytes))) = Header::parse(tag, rest) {
            assert_eq!(header.to_bytes(), rest[..header_bytes], "reading and writing agree");
        }
    }
    let cipher = CIPHERS[usize::from(cipher) % 3];
    let aead = AeadAlgorithm::from(aead % 3 + 1);
    let form = Form { cipher, protection: protection(aead, chunk_bits % 4) };
    let Ok(header) = Header::random(&ENGINE, form) else { return };
    let cipher = ChunkCipher::new(&ENGINE, header, &key(cipher)).expect("a key of its length");
    assert_eq!(opened_chunks(&cipher, rest), Err(Unauthentic), "nobody sealed this");

    let mut body = Vec::new();
    let mut chunks = 0;
    for chunk in rest.chunks(cipher.chunk_bytes()) {
        let mut chunk = chunk.to_vec();
        let tag = cipher.seal(chunks, &mut chunk);
        body.extend_from_slice(&chunk);
        body.extend_from_slice(&tag);
        chunks += 1;
    }
    body.extend_from_slice(&cipher.final_tag(rest.len() as u64, chunks));
    assert_eq!(opened_chunks(&cipher, &body).as_deref(), Ok(rest));
    let at = usize::from(u16::from_be_bytes([high, low])) % body.len();
    body[at] ^= change;
    assert_eq!(opened_chunks(&cipher, &body).is_ok(), change == 0);
}

fn opened_chunks(cipher: &ChunkCipher, body: &[u8]) -> Result<Vec<u8>, Unauthentic> {
    let (body, last) = body.split_last_chunk::<TAG_BYTES>().ok_or(Unauthentic)?;
    let mut body = body.to_vec();
    cipher.open_run(0, &mut body)?;
    let (mut text, mut chunks) = (Vec::new(), 0);
    for chunk in body.chunks(cipher.chunk_bytes() + TAG_BYTES) {
        text.extend_from_slice(&chunk[..chunk.len() - TAG_BYTES]);
        chunks += 1;
    }
    cipher.check_final(text.len() as u64, chunks, last).map(|()| text)
}
