//! What the engine's bodies seal, rPGP opens, and the reverse.

use super::message::{engine, text};
use openpgp::body::chunked::{ChunkCipher, Header, TAG_BYTES};
use openpgp::body::seipd1::{self, Check, Decipherer, Opener, Sealer};
use openpgp::form::CHUNK_BITS_MAX;
use openpgp::{AeadAlgorithm, Form, Protection, SymmetricKeyAlgorithm};
use pgp::packet::{SymEncryptedProtectedData, SymEncryptedProtectedDataConfig};
use pgp::types::Seipdv1ReadMode;
use rand::SeedableRng;
use rand::rngs::StdRng;

const AEADS: [AeadAlgorithm; 3] = [AeadAlgorithm::Eax, AeadAlgorithm::Ocb, AeadAlgorithm::Gcm];
const AES: [SymmetricKeyAlgorithm; 3] =
    [SymmetricKeyAlgorithm::AES128, SymmetricKeyAlgorithm::AES192, SymmetricKeyAlgorithm::AES256];

#[test]
fn seipd1() {
    let mut ciphers = AES.to_vec();
    ciphers.extend([
        SymmetricKeyAlgorithm::TripleDES,
        SymmetricKeyAlgorithm::CAST5,
        SymmetricKeyAlgorithm::Blowfish,
    ]);
    ciphers.extend([
        SymmetricKeyAlgorithm::Twofish,
        SymmetricKeyAlgorithm::Camellia256,
        SymmetricKeyAlgorithm::IDEA,
    ]);
    for cipher in ciphers {
        let key = text(cipher.key_size());
        for bytes in [0, 1, 5, 6, 7, 13, 14, 15, 21, 22, 23, 64, 1000, 40_000, 100_001] {
            let clear = text(bytes);
            let mut sealer = Sealer::new(&engine(), cipher, &key).unwrap();
            let mut body = sealer.begin();
            let mut data = clear.clone();
            for piece in data.chunks_mut(bytes / 3 + 1) {
                sealer.update(piece);
            }
            body.extend_from_slice(&data);
            body.extend_from_slice(&sealer.finish());
            assert_eq!(body.len(), bytes + seipd1::overhead_bytes(cipher));
            assert_eq!(body[0], seipd1::VERSION);
            let by_rpgp = opened_by_rpgp(&body, &key, Some(cipher));
            assert_eq!(by_rpgp.as_deref(), Some(&clear[..]), "{cipher:?} {bytes}");

            let random = StdRng::seed_from_u64(7);
            let theirs = SymEncryptedProtectedData::encrypt_seipdv1(random, cipher, &key, &clear).unwrap();
            for piece_bytes in [1, 16, 21, 1 << 15, 1 << 20] {
                assert_eq!(opened(cipher, &key, theirs.data(), piece_bytes).as_deref(), Some(&clear[..]));
            }
            assert_eq!(opened_apart(cipher, &key, theirs.data()).as_deref(), Some(&clear[..]));
        }
    }
}

fn opened_by_rpgp(body: &[u8], key: &[u8], cipher: Option<SymmetricKeyAlgorithm>) -> Option<Vec<u8>> {
    let header = pgp::packet::PacketHeader::new_fixed(
        pgp::types::Tag::SymEncryptedProtectedData,
        body.len().try_into().unwrap(),
    );
    let packet = SymEncryptedProtectedData::try_from_reader(header, body).unwrap();
    packet.decrypt(key, cipher, Seipdv1ReadMode::Streaming).ok()
}

fn opened(cipher: SymmetricKeyAlgorithm, key: &[u8], body: &[u8], piece_bytes: usize) -> Option<Vec<u8>> {
    let (prefix, rest) = body.split_at(seipd1::prefix_bytes(cipher));
    let mut opener = Opener::new(&engine(), cipher, key, prefix).unwrap();
    assert!(opener.prefix_repeats());
    let (mut rest, mut clear) = (rest.to_vec(), Vec::new());
    for piece in rest.chunks_mut(piece_bytes) {
        let opened = opener.update(piece);
        clear.extend_from_slice(opened.before());
        clear.extend_from_slice(opened.text);
    }
    opener.finish().ok().map(|()| clear)
}

fn opened_apart(cipher: SymmetricKeyAlgorithm, key: &[u8], body: &[u8]) -> Option<Vec<u8>> {
    let decipherer = Decipherer::new(&engine(), cipher, key).unwrap();
    let piece_bytes = 3 * decipherer.block_bytes();
    let mut clear = Vec::new();
    for at in (0..body.len()).step_by(piece_bytes) {
        let mut piece = body[at..body.len().min(at + piece_bytes)].to_vec();
        decipherer.decipher_at(&body[at.saturating_sub(decipherer.block_bytes())..at], &mut piece);
        clear.extend_from_slice(&piece);
    }
    let (clear, code) = clear.split_at(clear.len() - seipd1::CODE_BYTES);
    let mut check = Check::new(&engine());
    clear.chunks(100).for_each(|piece| check.update(piece));
    check.finish(code).ok().map(|()| clear[seipd1::prefix_bytes(cipher)..].to_vec())
}

#[test]
fn seipd2() {
    for cipher in AES {
        let key = text(cipher.key_size());
        for aead in AEADS {
            // Every length once; for the other key lengths some, as rPGP takes its time.
            let is_some = |bits: &u8| cipher == SymmetricKeyAlgorithm::AES256 || bits.is_multiple_of(5);
            for chunk_bits in (0..=CHUNK_BITS_MAX).filter(is_some) {
                let chunk_bytes = 1usize << (chunk_bits + 6);
                for bytes in [0, 1, chunk_bytes - 1, chunk_bytes, chunk_bytes + 1] {
                    let form = Form { cipher, protection: Protection::SeipdV2 { aead, chunk_bits } };
                    exchange_with_rpgp(form, &key, &text(bytes));
                }
            }
            let form = Form { cipher, protection: Protection::SeipdV2 { aead, chunk_bits: 2 } };
            exchange_with_rpgp(form, &key, &text(70 * 256 + 100));
        }
    }
}

fn exchange_with_rpgp(form: Form, key: &[u8], clear: &[u8]) {
    let Protection::SeipdV2 { aead, chunk_bits } = form.protection else { panic!("the form is SEIPDv2") };
    let body = sealed(form, key, clear);
    assert_eq!(opened_by_rpgp(&body, key, None).as_deref(), Some(clear), "{form} {}", clear.len());

    let random = StdRng::seed_from_u64(7);
    let chunk_size = chunk_bits.try_into().unwrap();
    let theirs =
        SymEncryptedProtectedData::encrypt_seipdv2(random, form.cipher, aead, chunk_size, key, clear)
            .unwrap();
    let SymEncryptedProtectedDataConfig::V2 { salt, .. } = theirs.config() else {
        panic!("the packet is of version 2")
    };
    let mut body = vec![2, form.cipher.into(), aead.into(), chunk_bits];
    body.extend_from_slice(salt);
    body.extend_from_slice(theirs.data());
    assert_eq!(opened_chunks(&body, key).as_deref(), Some(clear), "{form} {}", clear.len());
}

fn sealed(form: Form, key: &[u8], clear: &[u8]) -> Vec<u8> {
    let engine = engine();
    let cipher = ChunkCipher::new(&engine, Header::random(&engine, form).unwrap(), key).unwrap();
    let mut body = cipher.header().to_bytes();
    let begin = body.len();
    for chunk in clear.chunks(cipher.chunk_bytes()) {
        body.extend_from_slice(chunk);
        body.extend_from_slice(&[0; TAG_BYTES]);
    }
    cipher.seal_run(0, &mut body[begin..]);
    let chunks = clear.len().div_ceil(cipher.chunk_bytes()) as u64;
    body.extend_from_slice(&cipher.final_tag(clear.len() as u64, chunks));
    assert_eq!(Some(body.len() as u64), cipher.body_bytes(clear.len() as u64));
    body
}

fn opened_chunks(body: &[u8], key: &[u8]) -> Option<Vec<u8>> {
    let (header, header_bytes) =
        Header::parse(pgp::types::Tag::SymEncryptedProtectedData, body).unwrap().unwrap();
    let cipher = ChunkCipher::new(&engine(), header, key).unwrap();
    let (body, last) = body[header_bytes..].split_last_chunk::<TAG_BYTES>()?;
    let mut clear = Vec::new();
    let mut chunks = 0;
    for chunk in body.chunks(cipher.chunk_bytes() + TAG_BYTES) {
        let (chunk, tag) = chunk.split_last_chunk::<TAG_BYTES>()?;
        let mut chunk = chunk.to_vec();
        cipher.open(chunks, &mut chunk, tag).ok()?;
        clear.extend_from_slice(&chunk);
        chunks += 1;
    }
    cipher.check_final(clear.len() as u64, chunks, last).ok().map(|()| clear)
}
