//! Bodies of every form, cipher, mode, compression and length: ours read by others, theirs by us.

use super::keys::{gpg_key, of_pysequoia_v6, of_sequoia_and_pgpainless, pgpainless, pysequoia};
use openpgp::{AeadAlgorithm, CompressionAlgorithm, Form, Protection, SymmetricKeyAlgorithm};
use openpgp_tests::gpg::Gpg;
use openpgp_tests::ours::{ALL, ALONE, Ours};
use openpgp_tests::peer::{Opening, Peer, Sealing};
use openpgp_tests::sq::Sq;
use pipeline::Compression;

const CIPHERS: [SymmetricKeyAlgorithm; 3] =
    [SymmetricKeyAlgorithm::AES128, SymmetricKeyAlgorithm::AES192, SymmetricKeyAlgorithm::AES256];
const MODES: [AeadAlgorithm; 3] = [AeadAlgorithm::Eax, AeadAlgorithm::Ocb, AeadAlgorithm::Gcm];
/// Chunks of 4 KiB, so that borders come often; and those that are written by default, of 256 KiB.
const CHUNK_BITS: [u8; 2] = [6, 12];

const PLAIN: Compression = Compression { algorithm: CompressionAlgorithm::Uncompressed, level: 1 };
const COMPRESSIONS: [Compression; 6] = [
    PLAIN,
    Compression { algorithm: CompressionAlgorithm::ZIP, level: 1 },
    Compression { algorithm: CompressionAlgorithm::ZIP, level: 6 },
    Compression { algorithm: CompressionAlgorithm::ZLIB, level: 1 },
    Compression { algorithm: CompressionAlgorithm::ZLIB, level: 5 },
    Compression { algorithm: CompressionAlgorithm::ZLIB, level: 9 },
];

fn with_mdc() -> Vec<Form> {
    let ciphers = CIPHERS.into_iter().chain([SymmetricKeyAlgorithm::TripleDES]);
    ciphers.map(|cipher| Form { cipher, protection: Protection::SeipdV1 }).collect()
}

fn with_aead(chunk_bits: u8) -> Vec<Form> {
    let pairs = CIPHERS.into_iter().flat_map(|cipher| MODES.map(|aead| (cipher, aead)));
    pairs
        .map(|(cipher, aead)| Form { cipher, protection: Protection::SeipdV2 { aead, chunk_bits } })
        .collect()
}

fn of_gnupg(chunk_bits: u8) -> Vec<Form> {
    let modes = [AeadAlgorithm::Eax, AeadAlgorithm::Ocb];
    let pairs = CIPHERS.into_iter().flat_map(|cipher| modes.map(|aead| (cipher, aead)));
    pairs
        .map(|(cipher, aead)| Form { cipher, protection: Protection::GnupgAead { aead, chunk_bits } })
        .collect()
}

/// Text of so many bytes that compresses a little, and is the same each time.
fn text(bytes: usize) -> Vec<u8> {
    let mut random = seeded::Random(1);
    let mut text = Vec::with_capacity(bytes + 8);
    while text.len() < bytes {
        let state = random.number();
        match state >> 60 {
            0..=7 => text.extend_from_slice(b"a line\r\n"),
            _ => text.extend_from_slice(&state.to_be_bytes()),
        }
    }
    text.truncate(bytes);
    text
}

/// Lengths around what a body is cut into: nothing, a block of the cipher, a chunk.
fn lengths(chunk: usize) -> [usize; 9] {
    [0, 1, 15, 16, 17, chunk - 1, chunk, chunk + 1, 3 * chunk + 5]
}

const PASSPHRASE: Opening<'static> = Opening { key: None, passphrase: Some("passphrase"), signer: None };
const FOR_PASSPHRASE: Sealing<'static> =
    Sealing { recipients: &[], passphrases: &["passphrase"], signer: None, options: &[] };

#[test]
fn every_form_compression_and_length_is_read_back() {
    // By a key: deriving keys from passphrases would take most of the time.
    let key = gpg_key("curve25519");
    let sealing = Sealing { recipients: &[key], ..Sealing::default() };
    let opening = Opening { key: Some(key), ..Opening::default() };
    let forms: Vec<Form> =
        with_mdc().into_iter().chain(with_aead(6)).chain(of_gnupg(6)).chain(with_aead(0)).collect();
    for (index, form) in forms.into_iter().enumerate() {
        for compression in COMPRESSIONS {
            let stages = if index % 2 == 0 { Some(ALONE) } else { Some(ALL) };
            let ours = Ours { form: Some(form), compression, stages, ..Ours::default() };
            for bytes in lengths(4096) {
                let name = format!("{form}, {compression:?}, {bytes} bytes");
                let text = text(bytes);
                let message = ours.encrypt(&text, &sealing).unwrap_or_else(|error| panic!("{name}: {error}"));
                assert_eq!(ours.decrypt(&message, &opening).as_deref(), Ok(&text[..]), "{name}");
            }
        }
    }
}

#[test]
fn long_messages_are_read_back_with_every_layout() {
    let key = gpg_key("curve25519");
    let sealing = Sealing { recipients: &[key], ..Sealing::default() };
    let opening = Opening { key: Some(key), ..Opening::default() };
    let text = text(5_000_001);
    let forms = [with_mdc()[0], with_mdc()[3], with_aead(12)[1], with_aead(12)[8], of_gnupg(12)[5]];
    for form in forms {
        for stages in [None, Some(ALONE), Some(ALL)] {
            for compression in [PLAIN, COMPRESSIONS[1], COMPRESSIONS[4]] {
                for armor in [false, true] {
                    let ours = Ours { form: Some(form), compression, armor, stages, is_text: false };
                    let name = format!("{ours:?}");
                    let message =
                        ours.encrypt(&text, &sealing).unwrap_or_else(|error| panic!("{name}: {error}"));
                    assert!(ours.decrypt(&message, &opening).as_deref() == Ok(&text[..]), "{name}");
                }
            }
        }
    }
}

#[test]
fn messages_with_mdc_are_read_by_gpg() {
    let gpg = Gpg::new();
    let key = gpg_key("curve25519");
    let sealing = Sealing { recipients: &[key], ..Sealing::default() };
    let opening = Opening { key: Some(key), ..Opening::default() };
    let mut lengths = lengths(65_536).into_iter().cycle();
    for form in with_mdc() {
        for compression in COMPRESSIONS {
            for armor in [false, true] {
                let text = text(lengths.next().unwrap());
                let ours = Ours { form: Some(form), compression, armor, ..Ours::default() };
                let name = format!("{ours:?}, {} bytes", text.len());
                let message = ours.encrypt(&text, &sealing).unwrap_or_else(|error| panic!("{name}: {error}"));
                let read = gpg.decrypt(&message, &opening).unwrap_or_else(|error| panic!("{name}: {error}"));
                assert!(read == text, "{name}: another text");
            }
        }
    }
    // Compressed into several blocks, and a body in several pieces.
    let text = text(6_000_000);
    for compression in COMPRESSIONS {
        let ours = Ours { form: Some(with_mdc()[2]), compression, ..Ours::default() };
        let message = ours.encrypt(&text, &FOR_PASSPHRASE).expect("a message");
        assert!(gpg.decrypt(&message, &PASSPHRASE).expect("gpg reads it") == text, "{compression:?}");
    }
}

#[test]
fn messages_with_mdc_are_read_by_sq_and_pgpainless() {
    let [by_sq, _, _, by_pgpainless, _] = of_sequoia_and_pgpainless() else { panic!("the list has five") };
    let mut lengths = lengths(65_536).into_iter().cycle();
    // Sequoia refuses TDES.
    for form in &with_mdc()[..3] {
        for compression in [PLAIN, COMPRESSIONS[1], COMPRESSIONS[5]] {
            let text = text(lengths.next().unwrap());
            let ours = Ours { form: Some(*form), compression, ..Ours::default() };
            let message = ours
                .encrypt(&text, &Sealing { recipients: &[by_sq], ..Sealing::default() })
                .expect("a message");
            let opening = Opening { key: Some(by_sq), ..Opening::default() };
            assert_eq!(Sq.decrypt(&message, &opening).as_deref(), Ok(&text[..]), "{ours:?}, {}", text.len());
        }
    }
    for compression in [PLAIN, COMPRESSIONS[1], COMPRESSIONS[4]] {
        let text = text(100_000);
        let ours = Ours { form: Some(with_mdc()[2]), compression, armor: true, ..Ours::default() };
        let sealing = Sealing { recipients: &[by_pgpainless], ..FOR_PASSPHRASE };
        let message = ours.encrypt(&text, &sealing).expect("a message");
        let opening = Opening { key: Some(by_pgpainless), ..Opening::default() };
        assert!(pgpainless().decrypt(&message, &opening).expect("it reads") == text, "{compression:?}");
    }
    let message = Ours { form: Some(with_mdc()[0]), ..Ours::default() }.encrypt(b"1", &FOR_PASSPHRASE);
    assert_eq!(pgpainless().decrypt(&message.expect("a message"), &PASSPHRASE).as_deref(), Ok(&b"1"[..]));
}

#[test]
fn messages_with_aead_are_read_by_pysequoia() {
    let key = &of_pysequoia_v6()[0];
    let sealing = Sealing { recipients: &[key], ..Sealing::default() };
    let opening = Opening { key: Some(key), ..Opening::default() };
    for chunk_bits in CHUNK_BITS {
        let mut lengths = lengths(64 << chunk_bits).into_iter().cycle();
        for form in with_aead(chunk_bits) {
            for compression in [PLAIN, COMPRESSIONS[1], COMPRESSIONS[5], COMPRESSIONS[2]] {
                let text = text(lengths.next().unwrap());
                let ours =
                    Ours { form: Some(form), compression, armor: text.len() % 2 == 1, ..Ours::default() };
                let message = ours.encrypt(&text, &sealing).expect("a message");
                let read = pysequoia().decrypt(&message, &opening);
                assert!(read.as_deref() == Ok(&text[..]), "{ours:?}, {} bytes: {:?}", text.len(), read.err());
            }
        }
    }
    for form in with_aead(12) {
        let message = Ours { form: Some(form), ..Ours::default() }.encrypt(b"by Argon2", &FOR_PASSPHRASE);
        let read = pysequoia().decrypt(&message.expect("a message"), &PASSPHRASE);
        assert_eq!(read.as_deref(), Ok(&b"by Argon2"[..]), "{form}");
    }
}

#[test]
fn gnupgs_aead_packet_is_read_by_sq() {
    // sq 0.27 knows the packet, and of its modes EAX; OCB is held by a sample of GnuPG 2.4.
    let key = &of_sequoia_and_pgpainless()[0];
    let sealing = Sealing { recipients: &[key], ..Sealing::default() };
    let opening = Opening { key: Some(key), ..Opening::default() };
    for chunk_bits in CHUNK_BITS {
        let forms = of_gnupg(chunk_bits)
            .into_iter()
            .filter(|form| matches!(form.protection, Protection::GnupgAead { aead: AeadAlgorithm::Eax, .. }));
        for (form, bytes) in forms.zip([0, 64 << chunk_bits, (64 << chunk_bits) + 1]) {
            let text = text(bytes);
            let message = Ours { form: Some(form), ..Ours::default() }.encrypt(&text, &sealing);
            let read = Sq.decrypt(&message.expect("a message"), &opening);
            assert!(read.as_deref() == Ok(&text[..]), "{form}, {bytes} bytes: {:?}", read.err());
        }
    }
}

#[test]
fn messages_of_gpg_are_read() {
    let gpg = Gpg::new();
    let key = gpg_key("curve25519");
    let opening = Opening { key: Some(key), ..Opening::default() };
    let ciphers = [
        "AES",
        "AES192",
        "AES256",
        "3DES",
        "CAST5",
        "BLOWFISH",
        "TWOFISH",
        "CAMELLIA128",
        "CAMELLIA192",
        "CAMELLIA256",
        "IDEA",
    ];
    let mut lengths = lengths(8192).into_iter().cycle();
    for cipher in ciphers {
        for compression in ["none", "zip", "zlib", "bzip2"] {
            let text = text(lengths.next().unwrap());
            let options = ["--cipher-algo", cipher, "--compress-algo", compression];
            let sealing = Sealing { recipients: &[key], options: &options, ..Sealing::default() };
            let message = gpg.encrypt(&text, &sealing).expect("gpg writes it");
            let read = Ours::default().decrypt(&message, &opening);
            let name = format!("{cipher}, {compression}, {} bytes", text.len());
            assert!(read.as_deref() == Ok(&text[..]), "{name}: {:?}", read.err());
        }
    }
    let text = text(3_000_000);
    for options in
        [&["--armor"][..], &["--compress-algo", "bzip2"], &["--textmode"], &["--compress-algo", "none"]]
    {
        let message = gpg.encrypt(&text, &Sealing { options, ..FOR_PASSPHRASE }).expect("gpg writes it");
        let read = Ours { stages: Some(ALL), ..Ours::default() }.decrypt(&message, &PASSPHRASE);
        // Text is written with CR LF, which this text has already.
        assert!(read.is_ok_and(|read| read == text || options == ["--textmode"]), "{options:?}");
    }
}

#[test]
fn messages_of_sq_pgpainless_and_pysequoia_are_read() {
    let key = &of_sequoia_and_pgpainless()[0];
    let opening = Opening { key: Some(key), ..Opening::default() };
    let v6 = &of_pysequoia_v6()[0];
    let v6_opening = Opening { key: Some(v6), ..Opening::default() };
    for bytes in lengths(262_144) {
        let text = text(bytes);
        for compression in ["none", "zip", "zlib", "bzip2"] {
            let options = ["--compression", compression];
            let sealing = Sealing { recipients: &[key], options: &options, ..Sealing::default() };
            let message = Sq.encrypt(&text, &sealing).expect("sq writes it");
            let read = Ours::default().decrypt(&message, &opening);
            assert!(read.as_deref() == Ok(&text[..]), "sq, {compression}, {bytes} bytes: {:?}", read.err());
        }
        let sealing = Sealing { recipients: &[v6], ..Sealing::default() };
        let message = pysequoia().encrypt(&text, &sealing).expect("pysequoia writes it");
        let read = Ours::default().decrypt(&message, &v6_opening);
        assert!(read.as_deref() == Ok(&text[..]), "pysequoia, {bytes} bytes: {:?}", read.err());
    }
    let text = text(100_000);
    let sealing = Sealing { recipients: &[key], ..FOR_PASSPHRASE };
    let message = pgpainless().encrypt(&text, &sealing).expect("pgpainless-cli writes it");
    assert!(Ours::default().decrypt(&message, &opening).expect("by key") == text);
    assert!(Ours::default().decrypt(&message, &PASSPHRASE).expect("by passphrase") == text);
    let message = pysequoia().encrypt(&text, &FOR_PASSPHRASE).expect("pysequoia writes it");
    assert!(Ours::default().decrypt(&message, &PASSPHRASE).expect("by passphrase") == text);
}
