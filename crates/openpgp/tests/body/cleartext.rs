//! Cleartext messages: read as written, against rPGP, whatever the pieces; what is none is refused.

use super::pieces;
use openpgp::HashAlgorithm;
use openpgp::packet::PacketError;
use openpgp::packet::armor::{ArmorKind, Armorer};
use openpgp::packet::cleartext::{Reader, Text, Writer};
use pgp::composed::{CleartextSignedMessage, KeyType, SecretKeyParamsBuilder, SignedSecretKey};
use pgp::packet::{Packet, PacketParser, PacketTrait};
use pgp::types::Password;
use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::StdRng;

/// The message, and the text that is signed.
fn written(text: &[u8], signature: &[u8], piece_bytes: usize) -> (Vec<u8>, Vec<u8>) {
    let mut writer = Writer::new();
    let (mut out, mut signed) = (Vec::new(), Vec::new());
    writer.begin(&[HashAlgorithm::Sha512], &mut out);
    for piece in text.chunks(piece_bytes) {
        writer.update(piece, &mut out, &mut signed).unwrap();
    }
    writer.finish(&mut out);
    let mut armorer = Armorer::new(ArmorKind::Signature, false);
    armorer.begin(&[], &mut out);
    armorer.update(signature, &mut out);
    armorer.finish(&mut out);
    (out, signed)
}

fn read(message: &[u8], piece_bytes: usize) -> Result<(Text, Vec<u8>, Vec<HashAlgorithm>), PacketError> {
    let mut reader = Reader::new();
    let mut text = Text::default();
    for piece in message.chunks(piece_bytes) {
        reader.update(piece, &mut text)?;
    }
    let hashes = reader.hashes().to_vec();
    reader.finish().map(|signatures| (text, signatures, hashes))
}

#[test]
fn the_text_stays_what_it_was() {
    for (text, signed, given) in [
        ("", "", ""),
        ("hello", "hello", "hello"),
        ("hello\n", "hello", "hello"),
        ("hello\n\n", "hello\r\n", "hello\n"),
        ("a\r\nb\nc\r\n", "a\r\nb\r\nc", "a\r\nb\nc"),
        ("- a\n-----BEGIN PGP SIGNATURE-----\n-", "- a\r\n-----BEGIN PGP SIGNATURE-----\r\n-", ""),
        ("a \t\n\t b \n", "a\r\n\t b", "a\n\t b"),
        (" \n\n x", "\r\n\r\n x", "\n\n x"),
    ] {
        for piece_bytes in [1, 2, 3, 100] {
            let (message, expected) = written(text.as_bytes(), b"a signature", piece_bytes);
            assert_eq!(String::from_utf8(expected).unwrap(), signed, "{text:?}");
            for piece_bytes in pieces(&message) {
                let (got, signature, hashes) = read(&message, piece_bytes).unwrap();
                assert_eq!(String::from_utf8(got.signed).unwrap(), signed, "{text:?} by {piece_bytes}");
                let given = if given.is_empty() { text } else { given };
                assert_eq!(String::from_utf8(got.text).unwrap(), given, "{text:?} by {piece_bytes}");
                assert_eq!(signature, b"a signature");
                assert_eq!(hashes, [HashAlgorithm::Sha512]);
            }
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_read_as_it_is_signed(
        text in "[-a \t\r\n]{0,60}",
        piece_bytes in 1usize..20,
    ) {
        let (message, signed) = written(text.as_bytes(), b"a signature", piece_bytes);
        let (got, ..) = read(&message, piece_bytes).unwrap();
        prop_assert_eq!(String::from_utf8(got.signed.clone()), String::from_utf8(signed));
        // What was given out is what is signed, but for the form of line ends.
        let given = String::from_utf8(got.text).unwrap().replace("\r\n", "\n");
        prop_assert_eq!(String::from_utf8(got.signed).unwrap().replace("\r\n", "\n"), given);
    }
}

#[test]
fn refusals() {
    let message = |head: &str, text: &str| {
        let (rest, _) = written(b"", b"a signature", 9);
        let rest = String::from_utf8(rest).unwrap();
        let signature = &rest[rest.find("-----BEGIN PGP SIGNATURE").unwrap()..];
        format!("-----BEGIN PGP SIGNED MESSAGE-----\n{head}\n{text}{signature}")
    };
    let refused = |message: &str, line| {
        for piece_bytes in pieces(message.as_bytes()) {
            let error = PacketError::ArmorLine { line };
            assert_eq!(read(message.as_bytes(), piece_bytes).err(), Some(error), "{message}");
        }
    };
    assert!(read(message("", "hello\n").as_bytes(), 5).is_ok());
    assert!(read(message("Hash: SHA256, SHA512\nHash: sha384\n", "hello\n").as_bytes(), 5).is_ok());
    refused(&message("Comment: you may trust this\n", "hello\n"), 2);
    refused(&message("Hash: SHA256\nthis too\n", "hello\n"), 3);
    refused(&message("", "-hello\n"), 3);
    refused(&message("", "-----BEGIN PGP MESSAGE-----\n"), 3);
    // White space is kept until it is known whether a line ends with it, but not without end.
    let spaces = message("", &format!("a{}b\n", " ".repeat(100_000)));
    assert_eq!(read(spaces.as_bytes(), 1000).err(), Some(PacketError::ArmorLine { line: 3 }));
    assert_eq!(read(b"hello\n", 2).err(), Some(PacketError::NoArmor));
}

#[test]
fn a_cut_anywhere_is_noticed() {
    let (message, _) = written(b"hello\n- there\n", b"a signature", 9);
    for cut in 0..message.len() - 1 {
        assert!(read(&message[..cut], 1000).is_err(), "cut to {cut}");
    }
}

fn key() -> SignedSecretKey {
    let mut key = SecretKeyParamsBuilder::default();
    key.key_type(KeyType::Ed25519Legacy).can_sign(true).primary_user_id("a test".into());
    key.build().unwrap().generate(StdRng::seed_from_u64(7)).unwrap()
}

#[test]
fn rpgp_signs_the_same_text() {
    let key = key();
    for text in ["hello", "hello\n", "- a\n--\n b \t\n\n c", "a\r\nb\n\n"] {
        let random = StdRng::seed_from_u64(8);
        let theirs = CleartextSignedMessage::sign(random, text, &*key, &Password::empty()).unwrap();
        let message = theirs.to_armored_bytes(Default::default()).unwrap();
        let (got, signatures, hashes) = read(&message, 5).unwrap();
        // rPGP takes the line end before the signature as one more than those of the text.
        assert_eq!(String::from_utf8(got.signed).unwrap(), theirs.signed_text(), "{text:?}");
        assert_eq!(hashes.len(), 1);
        let packets: Vec<_> = PacketParser::new(&signatures[..]).map(Result::unwrap).collect();
        assert!(matches!(&packets[..], [Packet::Signature(_)]));

        // Their signature over what is signed, in a message of ours.
        let signed = theirs.signed_text();
        let random = StdRng::seed_from_u64(8);
        let again = CleartextSignedMessage::sign(random, &signed, &*key, &Password::empty()).unwrap();
        let mut signature = Vec::new();
        again.signatures()[0].to_writer_with_header(&mut signature).unwrap();
        let (ours, expected) = written(format!("{signed}\n").as_bytes(), &signature, 7);
        assert_eq!(String::from_utf8(expected).unwrap(), signed);
        let (parsed, _) = CleartextSignedMessage::from_armor(&ours[..]).unwrap();
        parsed.verify(&key.primary_key.public_key()).unwrap();
    }
}
