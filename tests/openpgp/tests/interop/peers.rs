//! The peers among themselves: checks the test's drivers before they are used to judge Cryptand.

use super::keys::{gpg_key, of_sequoia_and_pgpainless, pgpainless, pysequoia, sqop};
use openpgp_tests::gpg::Gpg;
use openpgp_tests::peer::{KINDS, Key, Kind, Opening, Peer, Sealing};
use openpgp_tests::samples;
use openpgp_tests::sq::Sq;

const TEXT: &[u8] = b"A line.\n- A dash.\nThe last.\n";

fn exchange(writer: &dyn Peer, reader: &dyn Peer, key: &Key, signer: &Key) {
    let pair = format!("{} to {}, {}", writer.name(), reader.name(), key.name);
    let sealing = Sealing { recipients: &[key], signer: Some(signer), ..Sealing::default() };
    let message = writer.encrypt(TEXT, &sealing).unwrap_or_else(|error| panic!("{pair}: {error}"));
    // The stranger first: gpg keeps the keys that it was once given.
    let stranger = Opening { key: Some(signer), ..Opening::default() };
    assert!(reader.decrypt(&message, &stranger).is_err(), "{pair}: opened by another's key");
    let opening = Opening { key: Some(key), signer: Some(signer), ..Opening::default() };
    assert_eq!(reader.decrypt(&message, &opening).as_deref(), Ok(TEXT), "{pair}");
}

fn exchange_signatures(writer: &dyn Peer, reader: &dyn Peer, signer: &Key, other: &Key) {
    for kind in KINDS {
        let pair = format!("{} to {}, {}, {kind:?}", writer.name(), reader.name(), signer.name);
        let signed = writer.sign(TEXT, kind, signer).unwrap_or_else(|error| panic!("{pair}: {error}"));
        let read =
            reader.verify(&signed, TEXT, kind, signer).unwrap_or_else(|error| panic!("{pair}: {error}"));
        assert!(kind.is_same(&read, TEXT), "{pair}: {}", String::from_utf8_lossy(&read));
        assert!(reader.verify(&signed, TEXT, kind, other).is_err(), "{pair}: by another's certificate");
        if kind == Kind::Detached {
            let changed = &TEXT[1..];
            assert!(reader.verify(&signed, changed, kind, signer).is_err(), "{pair}: other text");
        }
    }
}

#[test]
fn peers_read_each_others_messages_and_signatures() {
    let (gpg_writes, gpg_reads) = (Gpg::new(), Gpg::new());
    let [sq_key, _, _, pgpainless_key, _] = of_sequoia_and_pgpainless() else { panic!("the list has five") };
    let gpg_key = gpg_key("curve25519");
    let (sqop, pgpainless) = (sqop(), pgpainless());
    let pairs: [(&dyn Peer, &dyn Peer, &Key); 6] = [
        (&gpg_writes, &Sq, sq_key),
        (&Sq, &gpg_reads, gpg_key),
        (&sqop, &pgpainless, pgpainless_key),
        (&pgpainless, &sqop, sq_key),
        // pysequoia does not look for signatures inside of compressed packets; sqop does not compress.
        (&sqop, pysequoia(), sq_key),
        (pysequoia(), &sqop, gpg_key),
    ];
    for (writer, reader, key) in pairs {
        let signer = if std::ptr::eq(key, sq_key) { gpg_key } else { sq_key };
        exchange(writer, reader, key, signer);
        exchange_signatures(writer, reader, signer, key);
    }
}

#[test]
fn peers_agree_about_passphrases() {
    let gpg = Gpg::new();
    let passphrase = "ein Paßwort";
    let (sqop, pgpainless) = (sqop(), pgpainless());
    let pairs: [(&dyn Peer, &dyn Peer); 3] = [(&gpg, &sqop), (&pgpainless, &gpg), (&sqop, pysequoia())];
    for (writer, reader) in pairs {
        let sealing = Sealing { passphrases: &[passphrase], ..Sealing::default() };
        let message = writer.encrypt(TEXT, &sealing).expect("a message");
        let opening = |passphrase| Opening { passphrase: Some(passphrase), ..Opening::default() };
        assert_eq!(reader.decrypt(&message, &opening(passphrase)).as_deref(), Ok(TEXT));
        assert!(reader.decrypt(&message, &opening("another")).is_err());
    }
}

#[test]
fn samples_are_what_they_are_said_to_be() {
    // pysequoia knows neither GnuPG's packet nor, in every build, post-quantum keys: those are cryptand's to read.
    for sample in samples::ENCRYPTED.iter().filter(|sample| sample.name.starts_with("RFC 9580")) {
        let key = Key {
            name: sample.name.to_owned(),
            user_id: String::new(),
            secret: sample.key.to_vec(),
            certificate: Vec::new(),
            passphrase: None,
        };
        let opening = Opening {
            key: (!sample.key.is_empty()).then_some(&key),
            passphrase: (!sample.passphrase.is_empty()).then_some(sample.passphrase),
            signer: None,
        };
        let text = pysequoia().decrypt(sample.message, &opening);
        assert_eq!(text.as_deref(), Ok(sample.text.expect("known")), "{}", sample.name);
    }
}
