//! Whole messages: made with what the room has for writers, opened with what it has for readers.

use engine::{Engine, Options};
use openpgp::body::chunked::{ChunkCipher, Header, TAG_BYTES};
use openpgp::body::grammar::{
    DataMode, Inner, InnerEvent, Limits, LiteralHeader, Outer, OuterEvent, Protected, literal_header,
};
use openpgp::body::seipd1::{self, Opener, Sealer};
use openpgp::body::{BodyError, Unauthentic};
use openpgp::packet::{PartialLengths, Tag};
use openpgp::{AeadAlgorithm, Form, PlainSessionKey, Protection, SymmetricKeyAlgorithm, Timestamp};
use std::sync::LazyLock;

pub const LIMITS: Limits = Limits { nesting_max: 2, packets_max: 16 };

/// A form of each kind that is written, with chunks of 64 bytes.
pub fn forms() -> Vec<Form> {
    use SymmetricKeyAlgorithm::{AES128, AES256, TripleDES};
    let v2 = |aead| Protection::SeipdV2 { aead, chunk_bits: 0 };
    let gnupg = |aead| Protection::GnupgAead { aead, chunk_bits: 0 };
    vec![
        Form { cipher: AES128, protection: Protection::SeipdV1 },
        Form { cipher: TripleDES, protection: Protection::SeipdV1 },
        Form { cipher: AES256, protection: v2(AeadAlgorithm::Gcm) },
        Form { cipher: AES128, protection: v2(AeadAlgorithm::Ocb) },
        Form { cipher: AES128, protection: v2(AeadAlgorithm::Eax) },
        Form { cipher: AES256, protection: gnupg(AeadAlgorithm::Ocb) },
        Form { cipher: AES128, protection: gnupg(AeadAlgorithm::Eax) },
    ]
}

pub fn engine() -> Engine {
    static ENGINE: LazyLock<Engine> =
        LazyLock::new(|| Engine::new(Options::default()).expect("the known answers"));
    *ENGINE
}

/// Bytes that do not repeat early.
pub fn text(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at * 131 % 251) as u8).collect()
}

pub fn key_bytes(form: &Form) -> Vec<u8> {
    text(form.cipher.key_size())
}

pub fn session_key(form: &Form) -> PlainSessionKey {
    let key = key_bytes(form).into();
    match form.protection {
        Protection::SeipdV2 { .. } => PlainSessionKey::V6 { key },
        _ => PlainSessionKey::V3_4 { sym_alg: form.cipher, key },
    }
}

/// A packet in pieces of 2^bits bytes, the last of any length.
pub fn packet(tag: Tag, body: &[u8], bits: u8) -> Vec<u8> {
    let mut lengths = PartialLengths::new(tag, bits);
    let (mut out, mut left) = (Vec::new(), body);
    loop {
        let piece = lengths.next(left.len() as u64, false).or_else(|| lengths.next(left.len() as u64, true));
        let Some(piece) = piece else { return out };
        out.extend_from_slice(&piece.header);
        let (now, rest) = left.split_at(piece.bytes as usize);
        out.extend_from_slice(now);
        left = rest;
    }
}

pub fn literal(text: &[u8], bits: u8) -> Vec<u8> {
    let header =
        LiteralHeader { mode: DataMode::Binary, name: b"name".to_vec(), modified: Timestamp::from_secs(7) };
    packet(Tag::LiteralData, &[&literal_header(&header), text].concat(), bits)
}

/// A message without packets of session keys.
pub fn sealed(engine: &Engine, form: Form, packets: &[u8], bits: u8) -> Vec<u8> {
    let key = &key_bytes(&form)[..];
    let (tag, body) = match form.protection {
        Protection::SeipdV1 => {
            let mut sealer = Sealer::new(engine, form.cipher, key).unwrap();
            let mut body = sealer.begin();
            let begin = body.len();
            body.extend_from_slice(packets);
            sealer.update(&mut body[begin..]);
            body.extend_from_slice(&sealer.finish());
            (Tag::SymEncryptedProtectedData, body)
        }
        _ => {
            let header = Header::random(engine, form).unwrap();
            let cipher = ChunkCipher::new(engine, header, key).unwrap();
            let mut body = cipher.header().to_bytes();
            let mut chunks = 0;
            for chunk in packets.chunks(cipher.chunk_bytes()) {
                let mut chunk = chunk.to_vec();
                let tag = cipher.seal(chunks, &mut chunk);
                body.extend_from_slice(&chunk);
                body.extend_from_slice(&tag);
                chunks += 1;
            }
            body.extend_from_slice(&cipher.final_tag(packets.len() as u64, chunks));
            (cipher.header().tag(), body)
        }
    };
    packet(tag, &body, bits)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    Body(BodyError),
    Unauthentic,
    NotEncrypted,
}

impl From<BodyError> for Refused {
    fn from(error: BodyError) -> Self {
        Self::Body(error)
    }
}

impl From<Unauthentic> for Refused {
    fn from(_: Unauthentic) -> Self {
        Self::Unauthentic
    }
}

/// Opens a message with its session key; gives its text.
pub fn open(
    engine: &Engine,
    message: &[u8],
    key: &PlainSessionKey,
    piece_bytes: usize,
) -> Result<Vec<u8>, Refused> {
    let mut outer = Outer::new(LIMITS);
    let (mut protected, mut body) = (None, Vec::new());
    for piece in message.chunks(piece_bytes) {
        let mut at = 0;
        loop {
            let step = outer.step(&piece[at..])?;
            match step.event {
                OuterEvent::More => break,
                OuterEvent::Protected(found) => protected = Some(found),
                OuterEvent::Body(range) => body.extend_from_slice(&piece[at..][range]),
                OuterEvent::NotEncrypted(_) => return Err(Refused::NotEncrypted),
                OuterEvent::SessionKey(_) | OuterEvent::UnknownSessionKey | OuterEvent::BodyEnd => {}
            }
            at += step.consumed;
        }
    }
    outer.finish()?;
    let protected = protected.expect("a whole message has a body");
    let packets = open_body(engine, &protected, key, &mut body, piece_bytes)?;
    read_inner(&packets, piece_bytes).map_err(Refused::Body)
}

fn open_body(
    engine: &Engine,
    protected: &Protected,
    key: &PlainSessionKey,
    body: &mut [u8],
    piece_bytes: usize,
) -> Result<Vec<u8>, Refused> {
    let (cipher, key) = protected.key(key)?;
    let mut packets = Vec::new();
    match protected {
        Protected::SeipdV1 => {
            let prefix_bytes = seipd1::prefix_bytes(cipher).min(body.len());
            let (prefix, body) = body.split_at_mut(prefix_bytes);
            let mut opener = Opener::new(engine, cipher, key, prefix)?;
            for piece in body.chunks_mut(piece_bytes) {
                let opened = opener.update(piece);
                packets.extend_from_slice(opened.before());
                packets.extend_from_slice(opened.text);
            }
            opener.finish()?;
        }
        Protected::Chunked(header) => {
            let cipher = ChunkCipher::new(engine, header.clone(), key)?;
            let (body, last) = body.split_last_chunk_mut::<TAG_BYTES>().ok_or(Unauthentic)?;
            cipher.open_run(0, body)?;
            let mut chunks = 0;
            for chunk in body.chunks(cipher.chunk_bytes() + TAG_BYTES) {
                packets.extend_from_slice(&chunk[..chunk.len() - TAG_BYTES]);
                chunks += 1;
            }
            cipher.check_final(packets.len() as u64, chunks, last)?;
        }
    }
    Ok(packets)
}

/// The text of a literal packet, possibly inside of packets that hold what is not compressed.
pub fn read_inner(packets: &[u8], piece_bytes: usize) -> Result<Vec<u8>, BodyError> {
    read_with(&mut Inner::new(LIMITS), packets, piece_bytes)
}

pub fn read_with(inner: &mut Inner, packets: &[u8], piece_bytes: usize) -> Result<Vec<u8>, BodyError> {
    let (mut text, mut compressed, mut nested) = (Vec::new(), Vec::new(), None);
    for piece in packets.chunks(piece_bytes) {
        let mut at = 0;
        loop {
            let step = inner.step(&piece[at..])?;
            match step.event {
                InnerEvent::More => break,
                InnerEvent::Text(range) => text.extend_from_slice(&piece[at..][range]),
                InnerEvent::Compressed(_) => nested = Some(inner.nested()?),
                InnerEvent::Data(range) => compressed.extend_from_slice(&piece[at..][range]),
                _ => {}
            }
            at += step.consumed;
        }
    }
    while inner.finish()?.is_some() {}
    match nested {
        Some(mut nested) => read_with(&mut nested, &compressed, piece_bytes),
        None => Ok(text),
    }
}
