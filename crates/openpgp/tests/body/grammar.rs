//! What may stand around a body and inside of it, and what is refused.

use super::message::{
    LIMITS, Refused, engine, forms, literal, open, packet, read_inner, sealed, session_key,
};
use openpgp::body::BodyError;
use openpgp::body::grammar::{
    DataMode, Inner, InnerEvent, Limits, LiteralHeader, Outer, OuterEvent, PACKET_BYTES_MAX,
    compressed_header, literal_header,
};
use openpgp::packet::{PacketError, Tag};
use openpgp::{CompressionAlgorithm, Timestamp};

fn compressed(packets: &[u8]) -> Vec<u8> {
    let header = compressed_header(CompressionAlgorithm::Uncompressed);
    packet(Tag::CompressedData, &[&header[..], packets].concat(), 9)
}

/// A one-pass signature of version 3 by an unknown key, and a signature of a version to come.
fn one_pass() -> Vec<u8> {
    packet(Tag::OnePassSignature, &[3, 0, 8, 22, 1, 2, 3, 4, 5, 6, 7, 8, 1], 9)
}

fn signature() -> Vec<u8> {
    packet(Tag::Signature, &[99, 1, 2, 3], 9)
}

fn events(packets: &[u8], piece_bytes: usize) -> Result<Vec<String>, BodyError> {
    let mut inner = Inner::new(LIMITS);
    let mut names = Vec::new();
    for piece in packets.chunks(piece_bytes) {
        let mut at = 0;
        loop {
            let step = inner.step(&piece[at..])?;
            at += step.consumed;
            match step.event {
                InnerEvent::More => break,
                InnerEvent::Text(_) if names.last().is_some_and(|name| name == "Text") => {}
                event => {
                    let name = format!("{event:?}");
                    names.push(name.split(|c: char| !c.is_alphabetic()).next().unwrap().to_string());
                }
            }
        }
    }
    while let Some(event) = inner.finish()? {
        names.push(format!("{event:?}"));
    }
    Ok(names)
}

#[test]
fn signed_messages() {
    let malformed = packet(Tag::Signature, &[4, 0], 9);
    let signed = [one_pass(), one_pass(), literal(b"hello", 9), signature(), malformed].concat();
    for piece_bytes in [1, 5, 1000] {
        let names = events(&signed, piece_bytes).unwrap();
        let expected = ["OnePass", "OnePass", "Literal", "Text", "TextEnd", "Signature", "UnknownSignature"];
        assert_eq!(names, expected);
    }
    let old_form = [signature(), literal(b"", 9)].concat();
    assert_eq!(events(&old_form, 3).unwrap(), ["Signature", "Literal", "TextEnd"]);
    let around_compressed = [one_pass(), compressed(&literal(b"hello", 9)), signature()].concat();
    assert_eq!(read_inner(&around_compressed, 4).unwrap(), b"hello");
}

#[test]
fn what_is_passed_over() {
    let marker = packet(Tag::Marker, b"PGP", 9);
    let padding = packet(Tag::Padding, &[0; 100_000], 20);
    let private = packet(Tag::from(60), &[1; 100_000], 20);
    let later = packet(Tag::from(45), b"of a version to come", 16);
    let around = [marker, padding, private, later].concat();
    let packets = [&around[..], &literal(b"hello", 9), &around].concat();
    assert_eq!(read_inner(&packets, 333).unwrap(), b"hello");
    for form in forms() {
        let message = [&around[..], &sealed(&engine(), form, &packets, 9), &around].concat();
        assert_eq!(open(&engine(), &message, &session_key(&form), 333).unwrap(), b"hello");
    }
}

#[test]
fn refused_inside() {
    let hello = literal(b"hello", 9);
    let unexpected = |tag| BodyError::Unexpected { tag };
    let secret = packet(Tag::SecretKey, b"", 9);
    let critical = packet(Tag::from(30), b"", 9);
    let encrypted = packet(Tag::SymEncryptedProtectedData, &[1], 9);
    for (packets, error) in [
        (vec![], BodyError::Incomplete),
        (one_pass(), BodyError::Incomplete),
        ([one_pass(), hello.clone()].concat(), BodyError::Incomplete),
        ([hello.clone(), signature()].concat(), unexpected(Tag::Signature)),
        ([hello.clone(), hello.clone()].concat(), unexpected(Tag::LiteralData)),
        ([compressed(&hello), hello.clone()].concat(), unexpected(Tag::LiteralData)),
        ([hello.clone(), one_pass()].concat(), unexpected(Tag::OnePassSignature)),
        (secret, unexpected(Tag::SecretKey)),
        (critical, unexpected(Tag::from(30))),
        (encrypted, unexpected(Tag::SymEncryptedProtectedData)),
        (packet(Tag::LiteralData, b"b\x05name", 9), BodyError::Short { tag: Tag::LiteralData }),
        (packet(Tag::LiteralData, b"", 9), BodyError::Short { tag: Tag::LiteralData }),
        (packet(Tag::CompressedData, b"", 9), BodyError::Short { tag: Tag::CompressedData }),
        (hello[..hello.len() - 1].to_vec(), PacketError::Truncated.into()),
        (b"hello".to_vec(), PacketError::NotAPacket { octet: b'h' }.into()),
    ] {
        for piece_bytes in [1, 1000] {
            assert_eq!(read_inner(&packets, piece_bytes), Err(error.clone()));
        }
    }
}

#[test]
fn bounds() {
    let long = packet(Tag::Signature, &vec![4; PACKET_BYTES_MAX + 1], 20);
    let bytes_max = PACKET_BYTES_MAX;
    assert_eq!(read_inner(&long, 100), Err(BodyError::TooLong { tag: Tag::Signature, bytes_max }));

    let many = [signature().repeat(16), literal(b"", 9)].concat();
    assert_eq!(read_inner(&many, 100), Err(BodyError::TooManyPackets { packets_max: 16 }));
    let few = [signature().repeat(15), literal(b"", 9)].concat();
    assert_eq!(read_inner(&few, 100), Ok(vec![]));
    // Packets outside of a compressed packet count with those inside.
    let spread = [signature().repeat(8), compressed(&few)].concat();
    assert_eq!(read_inner(&spread, 100), Err(BodyError::TooManyPackets { packets_max: 16 }));

    let deep = compressed(&compressed(&literal(b"hello", 9)));
    assert_eq!(read_inner(&deep, 100).unwrap(), b"hello");
    assert_eq!(read_inner(&compressed(&deep), 100), Err(BodyError::TooDeep { nesting_max: 2 }));
}

#[test]
fn compressed_data_may_end_with_the_stream() {
    let packets = [&[0xa3, 0][..], &literal(b"hello", 9)].concat();
    assert_eq!(read_inner(&packets, 3).unwrap(), b"hello");
}

#[test]
fn refused_around() {
    let form = forms()[2];
    let body = sealed(&engine(), form, &literal(b"hello", 9), 9);
    let refused = |message: &[u8]| match open(&engine(), message, &session_key(&form), 10) {
        Err(Refused::Body(error)) => error,
        other => panic!("{other:?}"),
    };
    let unexpected = |tag| BodyError::Unexpected { tag };
    assert_eq!(refused(b""), BodyError::Incomplete);
    assert_eq!(refused(&packet(Tag::PublicKeyEncryptedSessionKey, &[3, 0], 9)), BodyError::Incomplete);
    assert_eq!(refused(&[&body[..], &body].concat()), unexpected(Tag::SymEncryptedProtectedData));
    assert_eq!(refused(&[&body[..], &literal(b"", 9)].concat()), unexpected(Tag::LiteralData));
    assert_eq!(refused(&packet(Tag::SymEncryptedData, &[0; 40], 9)), BodyError::NotProtected);
    assert_eq!(refused(&packet(Tag::PublicKey, &[4], 9)), unexpected(Tag::PublicKey));
    let tag = Tag::SymEncryptedProtectedData;
    assert_eq!(refused(&packet(tag, &[], 9)), BodyError::Short { tag });
    assert_eq!(refused(&packet(tag, &[2, 9, 3], 9)), BodyError::Short { tag });
    assert_eq!(refused(&packet(tag, &[3, 9, 3, 0], 9)), BodyError::Version { tag, version: 3 });
    let v2 =
        |cipher, aead, bits| refused(&packet(tag, &[&[2, cipher, aead, bits][..], &[0; 32]].concat(), 9));
    assert_eq!(v2(9, 3, 17), BodyError::ChunkBits { bits: 17, bits_max: 16 });
    assert!(matches!(v2(2, 3, 0), BodyError::Cipher(_)));
    assert!(matches!(v2(9, 4, 0), BodyError::Aead(_)));
    let gnupg = |aead| refused(&packet(Tag::GnupgAeadData, &[&[1, 9, aead, 0][..], &[0; 32]].concat(), 9));
    assert!(matches!(gnupg(3), BodyError::Aead(_)));
    let many = packet(Tag::Marker, b"PGP", 9).repeat(17);
    assert_eq!(refused(&many), BodyError::TooManyPackets { packets_max: 16 });
}

#[test]
fn session_keys_before_a_body() {
    // RFC 9580, A.9.1: a session key for a passphrase; then one that cannot be read.
    let known = [
        0xc3, 0x40, 0x06, 0x1e, 0x07, 0x01, 0x0b, 0x03, 0x08, 0xa5, 0xae, 0x57, 0x9d, 0x1f, 0xc5, 0xd8, 0x2b,
        0xff, 0x69, 0x22, 0x4f, 0x91, 0x99, 0x93, 0xb3, 0x50, 0x6f, 0xa3, 0xb5, 0x9a, 0x6a, 0x73, 0xcf, 0xf8,
        0xc5, 0xef, 0xc5, 0xf4, 0x1c, 0x57, 0xfb, 0x54, 0xe1, 0xc2, 0x26, 0x81, 0x5d, 0x78, 0x28, 0xf5, 0xf9,
        0x2c, 0x45, 0x4e, 0xb6, 0x5e, 0xbe, 0x00, 0xab, 0x59, 0x86, 0xc6, 0x8e, 0x6e, 0x7c, 0x55,
    ];
    let unknown = packet(Tag::PublicKeyEncryptedSessionKey, &[77, 1, 2, 3], 9);
    let form = forms()[2];
    let message = [&known[..], &unknown, &sealed(&engine(), form, &literal(b"hello", 9), 9)].concat();
    for piece_bytes in [1, 1000] {
        let mut outer = Outer::new(LIMITS);
        let mut names = String::new();
        for piece in message.chunks(piece_bytes) {
            let mut at = 0;
            loop {
                let step = outer.step(&piece[at..]).unwrap();
                at += step.consumed;
                match step.event {
                    OuterEvent::More => break,
                    OuterEvent::SessionKey(_) => names += "known ",
                    OuterEvent::UnknownSessionKey => names += "unknown ",
                    OuterEvent::Protected(protected) => {
                        assert!(protected.takes(&session_key(&form)));
                        assert!(!protected.takes(&session_key(&forms()[0])));
                        assert_eq!(protected.form(form.cipher), form);
                        names += "body ";
                    }
                    OuterEvent::BodyEnd => names += "end",
                    OuterEvent::Body(_) => {}
                    OuterEvent::NotEncrypted(tag) => panic!("{tag:?}"),
                }
            }
        }
        // rPGP knows packets of unknown versions as such.
        assert!(names == "known unknown body end" || names == "known known body end", "{names}");
    }
}

#[test]
fn a_message_that_is_not_encrypted_is_read_on() {
    let message = [one_pass(), literal(b"hello", 9), signature()].concat();
    for piece_bytes in [1, 2, 3, 14, 15, 16, 1000] {
        let mut pieces = message.chunks(piece_bytes);
        let mut outer = Outer::new(LIMITS);
        let (mut piece, mut at) = (pieces.next().unwrap(), 0);
        let tag = loop {
            let step = outer.step(&piece[at..]).unwrap();
            at += step.consumed;
            match step.event {
                OuterEvent::NotEncrypted(tag) => break tag,
                OuterEvent::More => (piece, at) = (pieces.next().unwrap(), 0),
                event => panic!("{event:?}"),
            }
        };
        assert_eq!(tag, Tag::OnePassSignature);
        let mut inner = outer.into_inner().unwrap();
        let mut text = Vec::new();
        loop {
            let step = inner.step(&piece[at..]).unwrap();
            match step.event {
                InnerEvent::Text(range) => text.extend_from_slice(&piece[at..][range]),
                InnerEvent::More => {
                    let Some(next) = pieces.next() else { break };
                    (piece, at) = (next, 0);
                    continue;
                }
                _ => {}
            }
            at += step.consumed;
        }
        while inner.finish().unwrap().is_some() {}
        assert_eq!(text, b"hello");
    }
}

#[test]
fn literal_headers_are_read_as_written() {
    for name_bytes in [0, 1, 255] {
        for mode in [DataMode::Binary, DataMode::Utf8, DataMode::Text, DataMode::Other(7)] {
            let modified = Timestamp::from_secs(u32::MAX - 3);
            let header = LiteralHeader { mode, name: vec![b'n'; name_bytes], modified };
            let stream = packet(Tag::LiteralData, &literal_header(&header), 9);
            let mut inner = Inner::new(Limits { packets_max: 1, nesting_max: 0 });
            let step = inner.step(&stream).unwrap();
            let InnerEvent::Literal(read) = step.event else { panic!("{step:?}") };
            assert_eq!(read, header);
        }
    }
}
