//! Armor: what is written is read, by rPGP too, whatever the pieces; what is none is refused.

use super::pieces;
use openpgp::packet::PacketError;
use openpgp::packet::armor::{ArmorKind, Armorer, Dearmorer};
use pgp::armor::{BlockType, Dearmor};
use proptest::prelude::*;
use std::io::Read;

const DATA_KINDS: [ArmorKind; 4] =
    [ArmorKind::Message, ArmorKind::PublicKey, ArmorKind::PrivateKey, ArmorKind::Signature];

fn armored(kind: ArmorKind, has_checksum: bool, data: &[u8], piece_bytes: usize) -> Vec<u8> {
    let mut armorer = Armorer::new(kind, has_checksum);
    let mut out = Vec::new();
    armorer.begin(&[("Comment", "a test")], &mut out);
    data.chunks(piece_bytes).for_each(|piece| armorer.update(piece, &mut out));
    armorer.finish(&mut out);
    out
}

fn read(text: &[u8], piece_bytes: usize) -> Result<(Option<ArmorKind>, Vec<u8>), PacketError> {
    let mut dearmorer = Dearmorer::new();
    let mut out = Vec::new();
    for piece in text.chunks(piece_bytes) {
        dearmorer.update(piece, &mut out)?;
    }
    let kind = dearmorer.kind();
    dearmorer.finish().map(|()| (kind, out))
}

fn read_by_rpgp(text: &[u8]) -> (BlockType, Vec<u8>) {
    let mut dearmor = Dearmor::new(text);
    dearmor.read_header().unwrap();
    let mut out = Vec::new();
    dearmor.read_to_end(&mut out).unwrap();
    (dearmor.typ.unwrap(), out)
}

#[test]
fn rpgp_reads_what_is_written() {
    for has_checksum in [false, true] {
        for bytes in [0, 1, 2, 3, 46, 47, 48, 49, 95, 96, 97, 1000, 100_000] {
            let data: Vec<u8> = (0..bytes).map(|at| (at * 37 % 253) as u8).collect();
            let text = armored(ArmorKind::Message, has_checksum, &data, 1000);
            assert_eq!(read_by_rpgp(&text), (BlockType::Message, data), "{bytes}");
        }
    }
}

#[test]
fn what_rpgp_writes_is_read() {
    let data: Vec<u8> = (0..1000).map(|at| (at * 37 % 253) as u8).collect();
    struct Raw(Vec<u8>);
    impl pgp::ser::Serialize for Raw {
        fn to_writer<W: std::io::Write>(&self, writer: &mut W) -> pgp::errors::Result<()> {
            writer.write_all(&self.0).map_err(Into::into)
        }
        fn write_len(&self) -> usize {
            self.0.len()
        }
    }
    let mut text = Vec::new();
    pgp::armor::write(&Raw(data.clone()), BlockType::Signature, &mut text, None, true).unwrap();
    assert_eq!(read(&text, 1), Ok((Some(ArmorKind::Signature), data.clone())));
    assert_eq!(read(&text, text.len()), Ok((Some(ArmorKind::Signature), data)));
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        data in proptest::collection::vec(any::<u8>(), 0..2000),
        kind in proptest::sample::select(&DATA_KINDS[..]),
        has_checksum: bool,
        written in 1usize..300,
        cut in 1usize..300,
    ) {
        let text = armored(kind, has_checksum, &data, written);
        prop_assert_eq!(read(&text, cut), Ok((Some(kind), data.clone())));
        // Other line ends, white space at the ends of lines, text before it, and none behind it.
        let changed = String::from_utf8(text).unwrap().replace('\n', " \t\r\n");
        let changed = format!("dear reader\n{}", changed.trim_end());
        prop_assert_eq!(read(changed.as_bytes(), cut), Ok((Some(kind), data)));
    }

    #[test]
    fn anything_is_refused_or_read_and_in_pieces_the_same(
        text in proptest::collection::vec(
            proptest::sample::select(&b"-----BEGIN PGP MESSAGE-----\n\n:=ABCD0123 \r"[..]), 0..200),
        cut in 1usize..50,
    ) {
        let begun = [b"-----BEGIN PGP MESSAGE-----\n\n", &text[..]].concat();
        for text in [&text, &begun] {
            prop_assert_eq!(read(text, cut).ok(), read(text, text.len().max(1)).ok());
        }
    }
}

#[test]
fn a_cut_anywhere_is_noticed() {
    let text = armored(ArmorKind::Message, true, &[7; 100], 100);
    let end = text.len() - 1;
    for cut in 0..end {
        assert!(read(&text[..cut], 1000).is_err(), "cut to {cut}");
    }
    assert!(read(&text[..end], 1000).is_ok());
}

#[test]
fn what_follows_the_block_is_left() {
    let text =
        [armored(ArmorKind::Signature, false, b"first", 9), armored(ArmorKind::Message, false, b"second", 9)]
            .concat();
    let mut out = Vec::new();
    let mut dearmorer = Dearmorer::new();
    let consumed = dearmorer.update(&text, &mut out).unwrap();
    assert!(dearmorer.is_done());
    assert_eq!(out, b"first");
    assert!(text[consumed..].starts_with(b"-----BEGIN PGP MESSAGE-----"));
}

#[test]
fn refusals() {
    let message = |lines: &str| {
        let text = format!("-----BEGIN PGP MESSAGE-----\n{lines}\n-----END PGP MESSAGE-----\n");
        pieces(text.as_bytes())
            .map(move |piece_bytes| read(text.as_bytes(), piece_bytes).map(|(_, data)| data))
    };
    for result in message("\nAAAA\nAA*A") {
        assert_eq!(result, Err(PacketError::ArmorLine { line: 4 }));
    }
    for result in message("\nAAAA\nAAA") {
        assert_eq!(result, Err(PacketError::ArmorLine { line: 5 }));
    }
    for result in message("\nAA==\nAAAA") {
        assert_eq!(result, Err(PacketError::ArmorLine { line: 4 }));
    }
    for result in message("no header\n\nAAAA") {
        assert_eq!(result, Err(PacketError::ArmorLine { line: 2 }));
    }
    for result in message(&format!("{}\nAAAA", "A: b\n".repeat(100))) {
        assert!(matches!(result, Err(PacketError::ArmorHeaders { .. })));
    }
    for result in message(&format!("Long: {}\n\nAAAA", "b".repeat(10_000))) {
        assert!(matches!(result, Err(PacketError::ArmorHeaders { .. })));
    }
    let other = b"-----BEGIN PGP MESSAGE-----\n\nAAAA\n-----END PGP SIGNATURE-----\n";
    assert_eq!(read(other, 100), Err(PacketError::ArmorKind));
    assert_eq!(read(b"dear reader\n", 100), Err(PacketError::NoArmor));
}
