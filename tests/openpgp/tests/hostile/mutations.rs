//! 10,000 messages with something changed, cut, doubled or moved, through the whole pipeline. Each is refused,
//! or gives the original text: never another, never a panic; and memory stays bounded.

use openpgp::{AeadAlgorithm, CompressionAlgorithm, Form, Protection, SymmetricKeyAlgorithm};
use openpgp_tests::ours::{ALONE, Ours};
use openpgp_tests::peer::{Key, Kind, Opening, Peer, Sealing};
use openpgp_tests::samples;
use pipeline::Compression;
use seeded::Random;

/// How many in all.
const MUTATIONS: usize = 10_000;

/// One change. Half of them fall on the first bytes, where packets say what they are.
fn mutate(message: &[u8], numbers: &mut Random) -> Vec<u8> {
    let mut bytes = message.to_vec();
    let place = |numbers: &mut Random, length: usize| match numbers.below(2) {
        0 => numbers.below(length.min(256)),
        _ => numbers.below(length),
    };
    let at = place(numbers, bytes.len());
    let count = 1 + numbers.below(40).min(bytes.len() - at - 1);
    match numbers.below(8) {
        0 | 1 => bytes[at] ^= 1 << numbers.below(8),
        2 => bytes[at] = numbers.number() as u8,
        3 => bytes.truncate(at),
        4 => drop(bytes.drain(at..at + count)),
        5 => {
            let doubled = bytes[at..at + count].to_vec();
            let to = place(numbers, bytes.len());
            bytes.splice(to..to, doubled);
        }
        6 => {
            let more = numbers.bytes(count);
            bytes.splice(at..at, more);
        }
        _ => {
            let moved: Vec<u8> = bytes.drain(at..at + count).collect();
            let to = place(numbers, bytes.len());
            bytes.splice(to..to, moved);
        }
    }
    bytes
}

fn text() -> Vec<u8> {
    (0..700_u32)
        .flat_map(|line| format!("line {line} of a text that is long enough\n").into_bytes())
        .collect()
}

fn key() -> Key {
    let mut key = samples::gpg_rsa4096();
    // The shortest operation with a private key: there are many of them.
    key.secret = samples::RFC9580_KEY.to_vec();
    key.certificate = openpgp_tests::ours::private(&key).certificate().to_bytes();
    key
}

/// Encrypted messages of every kind of body.
fn encrypted(key: &Key) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let aes = SymmetricKeyAlgorithm::AES128;
    let aead = |aead| Protection::SeipdV2 { aead, chunk_bits: 6 };
    let forms = [
        Form { cipher: aes, protection: Protection::SeipdV1 },
        Form { cipher: aes, protection: aead(AeadAlgorithm::Ocb) },
        Form { cipher: aes, protection: aead(AeadAlgorithm::Gcm) },
        Form { cipher: aes, protection: aead(AeadAlgorithm::Eax) },
        Form { cipher: aes, protection: Protection::GnupgAead { aead: AeadAlgorithm::Ocb, chunk_bits: 6 } },
    ];
    for form in forms {
        for (algorithm, armor, signer) in [
            (CompressionAlgorithm::Uncompressed, false, None),
            (CompressionAlgorithm::ZIP, false, Some(key)),
            (CompressionAlgorithm::ZLIB, true, None),
        ] {
            let compression = Compression { algorithm, level: 6 };
            let ours = Ours { form: Some(form), compression, armor, stages: Some(ALONE), is_text: false };
            let sealing = Sealing { recipients: &[key], signer, ..Sealing::default() };
            let message = ours.encrypt(&text(), &sealing).expect("a message");
            all.push((format!("{ours:?}, signed: {}", signer.is_some()), message));
        }
    }
    all
}

#[test]
fn changed_messages_never_give_another_text() {
    let key = key();
    let text = text();
    let ours = Ours { stages: Some(ALONE), ..Ours::default() };
    let mut numbers = Random(20_261_122);
    let mut accepted = 0;
    let messages = encrypted(&key);
    let opening = Opening { key: Some(&key), passphrase: None, signer: None };
    for (name, message) in &messages {
        assert!(ours.open(message, &opening).expect("unchanged").0 == text, "{name}");
    }
    for round in 0..MUTATIONS * 4 / 5 {
        let (name, message) = &messages[round % messages.len()];
        let changed = mutate(message, &mut numbers);
        if let Ok((read, _)) = ours.open(&changed, &opening) {
            assert!(read == text, "{name}: round {round} gave another text");
            accepted += 1;
        }
    }
    // What nothing protects can change: whom a message is for, armor's header lines, unread packets.
    assert!(0 < accepted && accepted < MUTATIONS / 4, "{accepted} were accepted");
    let kinds = [Kind::Inline, Kind::Cleartext, Kind::Detached];
    let signed = kinds.map(|kind| (kind, ours.sign(&text, kind, &key).expect("signed")));
    for round in 0..MUTATIONS / 5 {
        let (kind, message) = &signed[round % signed.len()];
        let changed = mutate(message, &mut numbers);
        if let Ok(read) = ours.verify(&changed, &text, *kind, &key) {
            assert!(kind.is_same(&read, &text), "{kind:?}: round {round} verified another text");
        }
    }
    super::memory_is_bounded();
}
