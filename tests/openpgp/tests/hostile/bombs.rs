//! Compression bombs, packet bombs and nesting: refused early, in bounded memory.

use cryptand_sop::holders::Openers;
use deflate::{Backend, Deflater};
use openpgp::body::seipd1::Sealer;
use openpgp::packet::{Length, Tag, header};
use openpgp::{PlainSessionKey, SymmetricKeyAlgorithm};
use openpgp_tests::ours::{Kept, Ours, engine, input, now};
use openpgp_tests::peer::Opening;
use openpgp_tests::run::{Files, Run, program};
use pipeline::{Decrypt, Error, Limits, Unauthenticated};

const CIPHER: SymmetricKeyAlgorithm = SymmetricKeyAlgorithm::AES128;
const KEY: [u8; 16] = [7; 16];
/// More than is let through before the expansion is looked at.
const BOMB_BYTES: usize = 100 << 20;

fn packet(tag: Tag, body: &[u8]) -> Vec<u8> {
    let mut packet = header(tag, Length::Definite(body.len() as u64));
    packet.extend_from_slice(body);
    packet
}

fn literal(text: &[u8]) -> Vec<u8> {
    let mut body = b"b\0\0\0\0\0".to_vec();
    body.extend_from_slice(text);
    packet(Tag::LiteralData, &body)
}

fn compressed(packets: &[u8]) -> Vec<u8> {
    let mut body = vec![1];
    Deflater::new(9, Backend::ZlibRs).block(&[], packets, true, &mut body);
    packet(Tag::CompressedData, &body)
}

/// Around these packets a body that authenticates.
fn sealed(packets: &[u8]) -> Vec<u8> {
    let mut sealer = Sealer::new(engine(), CIPHER, &KEY).expect("a key of its length");
    let mut body = sealer.begin();
    let mut text = packets.to_vec();
    sealer.update(&mut text);
    body.extend_from_slice(&text);
    body.extend_from_slice(&sealer.finish());
    packet(Tag::SymEncryptedProtectedData, &body)
}

fn open(message: &[u8], limits: Limits) -> Result<Vec<u8>, Error> {
    open_with(PlainSessionKey::V3_4 { sym_alg: CIPHER, key: KEY.to_vec().into() }, message, limits)
}

fn open_with(session_key: PlainSessionKey, message: &[u8], limits: Limits) -> Result<Vec<u8>, Error> {
    let openers = Openers { session_keys: vec![session_key], ..Openers::default() };
    let what = Decrypt {
        session_keys: &openers,
        verifiers: None,
        must_be_signed: false,
        unauthenticated: Unauthenticated::WriteWithWarning,
        has_local_lines: false,
        limits,
        now: now(),
    };
    let out = Kept::default();
    pipeline::decrypt(input(message), out.output(), &what, &Ours::default().run())?;
    Ok(out.bytes())
}

#[test]
fn honest_messages_pass() {
    let limits = Limits::default();
    for packets in
        [literal(b"text"), compressed(&literal(b"text")), compressed(&compressed(&literal(b"text")))]
    {
        assert_eq!(open(&sealed(&packets), limits).unwrap(), b"text");
    }
    let padded = [packet(Tag::Padding, &[1; 100]), packet(Tag::Marker, b"PGP"), literal(b"text")].concat();
    assert_eq!(open(&sealed(&padded), limits).unwrap(), b"text");
}

#[test]
fn nesting_is_bounded() {
    let mut packets = literal(b"text");
    for _ in 0..16 {
        packets = compressed(&packets);
    }
    assert_eq!(open(&sealed(&packets), Limits::default()).unwrap(), b"text");
    packets = compressed(&packets);
    assert!(matches!(open(&sealed(&packets), Limits::default()), Err(Error::Limit { what: "nesting", .. })));
    for _ in 0..500 {
        packets = compressed(&packets);
    }
    assert!(matches!(open(&sealed(&packets), Limits::default()), Err(Error::Limit { what: "nesting", .. })));
}

#[test]
fn expansion_is_bounded() {
    // Once compressed, zeros are honest; twice, they are a bomb: 100 MiB out of less than a kilobyte.
    let once = compressed(&literal(&vec![0; BOMB_BYTES]));
    let twice = compressed(&once);
    assert!(twice.len() < 2000, "{}", twice.len());
    let result = open(&sealed(&twice), Limits::default());
    assert!(
        matches!(result, Err(Error::Limit { what: "expansion", .. })),
        "{:?}",
        result.map(|text| text.len())
    );
    let bounded = Limits { text_bytes_max: Some(1 << 20), ..Limits::default() };
    let result = open(&sealed(&once), bounded);
    assert!(matches!(result, Err(Error::Limit { what: "text", .. })), "{:?}", result.map(|text| text.len()));
    super::memory_is_bounded();
}

#[test]
fn packets_are_bounded() {
    let signatures = packet(Tag::Signature, &[4; 30]).repeat(100_000);
    let one_pass = packet(Tag::OnePassSignature, &[3, 0, 10, 22, 1, 2, 3, 4, 5, 6, 7, 8, 0]).repeat(100_000);
    let paddings = packet(Tag::Padding, &[1; 8]).repeat(100_000);
    let markers = packet(Tag::Marker, b"PGP").repeat(100_000);
    for many in [&signatures, &one_pass, &paddings, &markers] {
        let packets = [many, &literal(b"text")[..]].concat();
        assert!(open(&sealed(&packets), Limits::default()).is_err());
        assert!(open(&[many, &sealed(&literal(b"text"))[..]].concat(), Limits::default()).is_err());
    }
    // Session-key packets that are for nobody here.
    let strangers = packet(Tag::PublicKeyEncryptedSessionKey, &[3, 1, 2, 3, 4, 5, 6, 7, 8, 1, 0, 8, 255]);
    let packets = [strangers.repeat(100_000), sealed(&literal(b"text"))].concat();
    assert!(matches!(open(&packets, Limits::default()), Err(Error::Limit { what: "packets", .. })));
    // One that says that it is longer than memory.
    let huge = [vec![0xc1, 0xff, 0xff, 0xff, 0xff, 0xff], vec![3; 1000]].concat();
    assert!(open(&huge, Limits::default()).is_err());
    super::memory_is_bounded();
}

#[test]
fn chunks_of_any_length_that_are_said_are_bounded() {
    // Version, AES-128, OCB, chunk length, salt, and the tag of nothing.
    let mut body = [2, 7, 2, 0].to_vec();
    body.resize(4 + 32 + 16, 0);
    for chunk_bits in 17..=u8::MAX {
        body[3] = chunk_bits;
        let session_key = PlainSessionKey::V6 { key: KEY.to_vec().into() };
        let error = open_with(session_key, &packet(Tag::SymEncryptedProtectedData, &body), Limits::default());
        assert!(error.unwrap_err().to_string().contains("2^22"), "{chunk_bits}");
    }
}

/// A passphrase packet of version 6, with Argon2 of so many passes over so much memory.
fn demanding(passes: u8, memory_bits: u8) -> Vec<u8> {
    let s2k = [&[4][..], &[7; 16], &[passes, 4, memory_bits]].concat();
    let aes_gcm = [9, 3];
    packet(
        Tag::SymKeyEncryptedSessionKey,
        &[&[6, 35], &aes_gcm[..], &[20], &s2k, &[1; 12], &[2; 48]].concat(),
    )
}

#[test]
fn passphrase_packets_that_ask_for_too_much_together_are_refused_before_the_first() {
    let body = packet(Tag::SymEncryptedProtectedData, &[&[2, 9, 3, 6][..], &[0; 32], &[0; 48]].concat());
    let message = |passes: u8, memory_bits: u8, count: usize| {
        [demanding(passes, memory_bits).repeat(count), body.clone()].concat()
    };
    let opened = |message: &[u8]| {
        let opening = Opening { passphrase: Some("open sesame"), ..Opening::default() };
        Ours::default().open(message, &opening).map(|_| ())
    };
    for (passes, memory_bits, count) in [(1, 21, 5), (4, 21, 2), (255, 20, 32), (1, 31, 1)] {
        let failed = opened(&message(passes, memory_bits, count));
        assert!(matches!(&failed, Err(Error::NotOpened(why)) if why.why.contains("Argon2")), "{failed:?}");
    }
    // Within the bound they are tried.
    let failed = opened(&message(1, 8, 32));
    assert!(matches!(&failed, Err(Error::NotOpened(why)) if !why.why.contains("Argon2")), "{failed:?}");
    let files = Files::new();
    files.add("message.pgp", &message(1, 21, 5));
    files.add("passphrase", b"open sesame\n");
    let typed = ["decrypt", "--passphrase-file", "passphrase", "-o", "out", "message.pgp"];
    let run = Run::new(program("cryptand")).args(typed).within(&files.path("."));
    let done = run.env("CRYPTAND_KEYRING", files.path("keys")).finish();
    assert_eq!(done.status.code(), Some(4), "{done}");
    assert!(done.errors.contains("10240 MiB of Argon2 in all"), "{done}");
    super::memory_is_bounded();
}
