//! Signatures over texts of every kind, alone and inside of encrypted messages; and samples that standards print.

use super::keys::{gpg_key, of_ours_v4, of_ours_v6, of_sequoia_and_pgpainless, pysequoia};
use openpgp::CompressionAlgorithm;
use openpgp_tests::gpg::Gpg;
use openpgp_tests::ours::{Ours, certificate, private};
use openpgp_tests::peer::{KINDS, Key, Kind, Opening, Peer, Sealing};
use openpgp_tests::samples;
use openpgp_tests::sq::Sq;
use pipeline::Compression;

/// Texts that the cleartext framework has to take care of.
const TEXTS: [&str; 7] = [
    "",
    "one line",
    "one line\n",
    "- a dash\n-- two\nFrom here\n\n",
    "spaces at the end   \nand\ttabs\t\n",
    "CR LF\r\nand LF\nmixed\r\n",
    "-----BEGIN PGP MESSAGE-----\n\nno\n-----END PGP MESSAGE-----\n",
];

/// Without the white space at line ends, which cleartext signatures do not cover.
fn trimmed(text: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(text).into_owned();
    text.split('\n').map(str::trim_end).collect::<Vec<_>>().join("\n").into_bytes()
}

#[test]
fn texts_of_every_kind_are_signed_both_ways() {
    let gpg = Gpg::new();
    let signer = gpg_key("curve25519");
    let peers: [&dyn Peer; 3] = [&gpg, &Sq, pysequoia()];
    for text in TEXTS {
        for kind in KINDS {
            for peer in peers {
                for is_text in [false, true] {
                    let ours = Ours { is_text, ..Ours::default() };
                    let name = format!("{text:?}, {kind:?}, {}, text: {is_text}", peer.name());
                    // A key of sq's own, as it cannot be told passphrases; gpg's is open.
                    let signed = ours.sign(text.as_bytes(), kind, signer).expect("signed");
                    let read = peer.verify(&signed, text.as_bytes(), kind, signer);
                    let read = read.unwrap_or_else(|error| panic!("{name}: {error}"));
                    assert!(kind.is_same(&trimmed(&read), &trimmed(text.as_bytes())), "{name}: {read:?}");
                }
                let signed = peer.sign(text.as_bytes(), kind, signer).expect("signed");
                let read = Ours::default().verify(&signed, text.as_bytes(), kind, signer);
                let name = format!("{text:?}, {kind:?}, by {}", peer.name());
                let read = read.unwrap_or_else(|error| panic!("{name}: {error}"));
                assert!(kind.is_same(&trimmed(&read), &trimmed(text.as_bytes())), "{name}: {read:?}");
            }
        }
    }
}

#[test]
fn messages_are_signed_and_encrypted_in_one() {
    let gpg = Gpg::new();
    let recipient = gpg_key("rsa2048");
    let signer = &of_sequoia_and_pgpainless()[0];
    let text = b"signed and sealed\n";
    let peers: [&dyn Peer; 2] = [&gpg, &Sq];
    let sealing = Sealing { recipients: &[recipient], signer: Some(signer), ..Sealing::default() };
    let opening = Opening { key: Some(recipient), signer: Some(signer), ..Opening::default() };
    for peer in peers {
        for algorithm in [CompressionAlgorithm::Uncompressed, CompressionAlgorithm::ZIP] {
            let ours = Ours { compression: Compression { algorithm, level: 6 }, ..Ours::default() };
            let message = ours.encrypt(text, &sealing).expect("a message");
            assert_eq!(peer.decrypt(&message, &opening).as_deref(), Ok(&text[..]), "{}", peer.name());
        }
        let message = peer.encrypt(text, &sealing).expect("a message");
        assert_eq!(Ours::default().decrypt(&message, &opening).as_deref(), Ok(&text[..]), "{}", peer.name());
        let another = Opening { signer: Some(recipient), ..opening };
        assert!(Ours::default().decrypt(&message, &another).is_err(), "signed by somebody else");
    }
    let (v6, signer) = (&of_ours_v6()[0], &of_ours_v6()[2]);
    let sealing = Sealing { recipients: &[v6], signer: Some(signer), ..Sealing::default() };
    let opening = Opening { key: Some(v6), signer: Some(signer), ..Opening::default() };
    let message = Ours::default().encrypt(text, &sealing).expect("a message");
    assert_eq!(pysequoia().decrypt(&message, &opening).as_deref(), Ok(&text[..]));
    let message = pysequoia().encrypt(text, &sealing).expect("a message");
    assert_eq!(Ours::default().decrypt(&message, &opening).as_deref(), Ok(&text[..]));
}

#[test]
fn several_recipients_and_passphrases_open_one_message() {
    let gpg = Gpg::new();
    let (by_gpg, by_sq, by_us) = (gpg_key("nistp256"), &of_sequoia_and_pgpainless()[0], &of_ours_v4()[0]);
    let sealing = Sealing {
        recipients: &[by_gpg, by_sq, by_us],
        passphrases: &["first", "second"],
        ..Sealing::default()
    };
    let text = b"for many";
    let message = Ours::default().encrypt(text, &sealing).expect("a message");
    let by_key = |key| Opening { key: Some(key), ..Opening::default() };
    let by_passphrase = |passphrase| Opening { passphrase: Some(passphrase), ..Opening::default() };
    assert_eq!(gpg.decrypt(&message, &by_key(by_gpg)).as_deref(), Ok(&text[..]));
    assert_eq!(Sq.decrypt(&message, &by_key(by_sq)).as_deref(), Ok(&text[..]));
    assert_eq!(Ours::default().decrypt(&message, &by_key(by_us)).as_deref(), Ok(&text[..]));
    // gpg tries the first one alone.
    assert_eq!(Gpg::new().decrypt(&message, &by_passphrase("first")).as_deref(), Ok(&text[..]));
    for passphrase in ["first", "second"] {
        assert_eq!(Ours::default().decrypt(&message, &by_passphrase(passphrase)).as_deref(), Ok(&text[..]));
    }
    assert!(Ours::default().decrypt(&message, &by_passphrase("third")).is_err());
}

fn key_of(secret: &[u8]) -> Key {
    let mut key = Key {
        name: "sample".to_owned(),
        user_id: String::new(),
        secret: secret.to_vec(),
        certificate: Vec::new(),
        passphrase: None,
    };
    key.certificate = private(&key).certificate().to_bytes();
    assert_eq!(certificate(&key).fingerprint(), private(&key).certificate().fingerprint());
    key
}

#[test]
fn encrypted_samples_of_the_standards_are_read() {
    for sample in samples::ENCRYPTED {
        let key = (!sample.key.is_empty()).then(|| key_of(sample.key));
        let opening = Opening {
            key: key.as_ref(),
            passphrase: (!sample.passphrase.is_empty()).then_some(sample.passphrase),
            signer: None,
        };
        let text = Ours::default().decrypt(sample.message, &opening);
        let text = text.unwrap_or_else(|error| panic!("{}: {error}", sample.name));
        assert_eq!(text.len(), sample.text_bytes, "{}", sample.name);
        assert!(sample.text.is_none_or(|expected| expected == text), "{}", sample.name);
        let wrong = Opening { passphrase: Some("another"), ..Opening::default() };
        assert!(Ours::default().decrypt(sample.message, &wrong).is_err(), "{}", sample.name);
    }
}

#[test]
fn signed_samples_of_the_standards_are_verified() {
    let signer = key_of(samples::RFC9580_KEY);
    for (kind, message) in
        [(Kind::Inline, samples::RFC9580_INLINE), (Kind::Cleartext, samples::RFC9580_CLEARTEXT)]
    {
        let text = Ours::default().verify(message, &[], kind, &signer).expect("a valid signature");
        assert!(kind.is_same(&text, samples::RFC9580_SIGNED_TEXT), "{text:?}");
        let other = &of_ours_v6()[0];
        assert!(Ours::default().verify(message, &[], kind, other).is_err());
    }
    let signer = key_of(samples::RFC9980_MLDSA_KEY);
    let (signature, text) = (samples::RFC9980_MLDSA_SIGNATURE, samples::RFC9980_SIGNED_TEXT);
    Ours::default().verify(signature, text, Kind::Detached, &signer).expect("a valid signature");
    assert!(Ours::default().verify(signature, b"Testing", Kind::Detached, &signer).is_err());
}
