//! Whole messages of every form: borders, levels, cuts, changes.

use super::message::{Refused, engine, forms, key_bytes, literal, open, packet, sealed, session_key, text};
use engine::{Engine, Level, Options};
use openpgp::body::chunked::{ChunkCipher, Header, TAG_BYTES};
use openpgp::form::CHUNK_BITS_MAX;
use openpgp::packet::Tag;
use openpgp::{AeadAlgorithm, Form, PlainSessionKey, Protection, SymmetricKeyAlgorithm};
use proptest::prelude::*;

#[test]
fn borders_of_chunks_and_pieces() {
    for form in forms() {
        // The header of the literal packet, and what makes the whole a border of chunks of 64 bytes.
        let overhead = literal(b"", 9).len();
        let borders = [64 - overhead, 128 - overhead, 512 - overhead, 640, 1024 - overhead];
        for bytes in [0, 1].into_iter().chain(borders.iter().flat_map(|at| [at - 1, *at, at + 1])) {
            let message = sealed(&engine(), form, &literal(&text(bytes), 9), 9);
            for piece_bytes in [1, 63, 64, 65, 80, 4096] {
                let opened = open(&engine(), &message, &session_key(&form), piece_bytes);
                assert_eq!(opened, Ok(text(bytes)), "{form} {bytes} by {piece_bytes}");
            }
        }
    }
}

#[test]
fn levels_agree() {
    let levels = Level::ALL.map(|limit| {
        Engine::new(Options { limit: Some(limit), ..Options::default() }).expect("the known answers")
    });
    for form in forms() {
        let form = match form.protection {
            Protection::SeipdV2 { aead, .. } => {
                Form { protection: Protection::SeipdV2 { aead, chunk_bits: 7 }, ..form }
            }
            _ => form,
        };
        for bytes in [0, 1000, 20_000] {
            for writer in &levels {
                let message = sealed(writer, form, &literal(&text(bytes), 12), 12);
                for reader in &levels {
                    assert_eq!(open(reader, &message, &session_key(&form), 3000), Ok(text(bytes)));
                }
            }
        }
    }
}

/// One header, so that all levels have the same nonces.
#[test]
fn levels_seal_to_the_same_bytes() {
    for form in forms() {
        let Ok(header) = Header::random(&engine(), form) else { continue };
        let key = key_bytes(&form);
        let bodies = Level::ALL.map(|limit| {
            let engine = Engine::new(Options { limit: Some(limit), ..Options::default() }).unwrap();
            let cipher = ChunkCipher::new(&engine, header.clone(), &key).unwrap();
            let mut run = text(50 * (64 + TAG_BYTES) + 30);
            cipher.seal_run(5, &mut run);
            let one_by_one: Vec<_> = text(50 * (64 + TAG_BYTES) + 30)
                .chunks_mut(64 + TAG_BYTES)
                .zip(5..)
                .flat_map(|(chunk, index)| {
                    let (chunk, _) = chunk.split_last_chunk_mut::<TAG_BYTES>().unwrap();
                    let tag = cipher.seal(index, chunk);
                    [chunk.to_vec(), tag.to_vec()].concat()
                })
                .collect();
            assert_eq!(run, one_by_one);
            (run, cipher.final_tag(3230, 51))
        });
        assert!(bodies.iter().all(|body| *body == bodies[0]), "{form}");
    }
}

#[test]
fn one_changed_bit_anywhere_is_refused() {
    for form in forms() {
        let message = sealed(&engine(), form, &literal(&text(700), 9), 9);
        assert!(message.len() > 512, "more than one piece");
        for at in 0..message.len() {
            for bit in 0..8 {
                let mut changed = message.clone();
                changed[at] ^= 1 << bit;
                let opened = open(&engine(), &changed, &session_key(&form), 4096);
                assert!(opened.is_err(), "{form}: bit {bit} of byte {at}");
            }
        }
    }
}

#[test]
fn a_cut_anywhere_is_refused() {
    for form in forms() {
        let packets = literal(&text(700), 9);
        let message = sealed(&engine(), form, &packets, 9);
        for cut in 0..message.len() {
            let opened = open(&engine(), &message[..cut], &session_key(&form), 4096);
            assert!(matches!(opened, Err(Refused::Body(_))), "{form}: cut to {cut}: {opened:?}");
        }
        // The same with framing that holds together: what was cut off is noticed by the body itself.
        let short = packet(Tag::SymEncryptedProtectedData, &[1], 9).len() - 1;
        let whole = sealed(&engine(), form, &packets, 20);
        let tag = if whole[0] == 0xd4 { Tag::GnupgAeadData } else { Tag::SymEncryptedProtectedData };
        let body = &whole[short + 1..];
        for cut in 0..body.len() {
            let opened = open(&engine(), &packet(tag, &body[..cut], 20), &session_key(&form), 4096);
            assert!(opened.is_err(), "{form}: body cut to {cut}");
        }
    }
}

#[test]
fn chunks_in_another_order_are_refused() {
    for form in forms() {
        let Ok(header) = Header::random(&engine(), form) else { continue };
        let key = key_bytes(&form);
        let cipher = ChunkCipher::new(&engine(), header, &key).unwrap();
        let mut run = text(4 * (64 + TAG_BYTES));
        cipher.seal_run(0, &mut run);
        let last = cipher.final_tag(256, 4);
        assert_eq!(cipher.check_final(256, 4, &last), Ok(()));
        assert!(cipher.check_final(255, 4, &last).is_err());
        assert!(cipher.check_final(192, 3, &last).is_err());
        let mut swapped = run.clone();
        swapped.copy_within(80..160, 0);
        assert!(cipher.open_run(0, &mut swapped).is_err());
        assert!(cipher.open_run(1, &mut run.clone()).is_err());
        assert_eq!(cipher.open_run(0, &mut run), Ok(()));
        assert_eq!(run[80..144], text(160)[80..144]);
        // Neither a longer chunk than the header says nor an empty one is a chunk.
        assert!(cipher.open(0, &mut [0; 65], &last).is_err());
        assert!(cipher.open_run(0, &mut [0; TAG_BYTES]).is_err());
        assert!(cipher.open_run(0, &mut [0; TAG_BYTES - 1]).is_err());
    }
}

#[test]
fn another_session_key_is_refused() {
    for form in forms() {
        let message = sealed(&engine(), form, &literal(&text(700), 9), 9);
        let mut other = vec![1; form.cipher.key_size()];
        other[0] = 2;
        let other = match session_key(&form) {
            PlainSessionKey::V6 { .. } => PlainSessionKey::V6 { key: other.into() },
            _ => PlainSessionKey::V3_4 { sym_alg: form.cipher, key: other.into() },
        };
        assert_eq!(open(&engine(), &message, &other, 100), Err(Refused::Unauthentic));
        for bytes in [0, 15, 33] {
            let short = PlainSessionKey::V3_4 { sym_alg: form.cipher, key: vec![0; bytes].into() };
            assert!(matches!(open(&engine(), &message, &short, 100), Err(Refused::Body(_))));
        }
    }
}

fn any_form() -> impl Strategy<Value = Form> {
    use SymmetricKeyAlgorithm::{AES128, AES192, AES256, TripleDES};
    let aes = proptest::sample::select(&[AES128, AES192, AES256][..]);
    let mode = proptest::sample::select(&[AeadAlgorithm::Eax, AeadAlgorithm::Ocb, AeadAlgorithm::Gcm][..]);
    let gnupg = proptest::sample::select(&[AeadAlgorithm::Eax, AeadAlgorithm::Ocb][..]);
    let bits = 0..=CHUNK_BITS_MAX;
    prop_oneof![
        proptest::sample::select(&[AES128, AES192, AES256, TripleDES][..])
            .prop_map(|cipher| Form { cipher, protection: Protection::SeipdV1 }),
        (aes.clone(), mode, bits.clone()).prop_map(|(cipher, aead, chunk_bits)| Form {
            cipher,
            protection: Protection::SeipdV2 { aead, chunk_bits }
        }),
        (aes, gnupg, bits).prop_map(|(cipher, aead, chunk_bits)| Form {
            cipher,
            protection: Protection::GnupgAead { aead, chunk_bits }
        }),
    ]
}

proptest! {
    #[test]
    fn what_is_sealed_opens(
        form in any_form(),
        text in proptest::collection::vec(any::<u8>(), 0..3000),
        inside in 9u8..13,
        around in 9u8..13,
        piece_bytes in 1usize..1000,
    ) {
        let message = sealed(&engine(), form, &literal(&text, inside), around);
        prop_assert_eq!(open(&engine(), &message, &session_key(&form), piece_bytes), Ok(text));
    }
}
