//! The store: who is meant by a name, what an import changes, several writers at once.

use crate::{Change, FindError, Keyring, KeyringError, Who};
use openpgp::certificate::Certificate;
use openpgp::generate::{NewKey, Reason, generate, revoke};
use openpgp::private_key::PrivateCertificate;
use openpgp::{Passphrase, Timestamp};
use pgp::packet::PacketTrait;
use std::sync::Arc;

const NOW: u32 = 1_800_000_000;
const DAY: u32 = 86_400;

fn at(seconds: u32) -> Timestamp {
    Timestamp::from_secs(seconds)
}

/// A key that was made two days ago, and expires this number of seconds after now.
fn key(user_id: &str, expires: Option<i64>) -> PrivateCertificate {
    let mut what = NewKey::new(user_id, at(NOW - 2 * DAY));
    what.expires = expires.map(|after| at((i64::from(NOW) + after) as u32));
    generate(&what, None).unwrap()
}

fn store() -> (tempfile::TempDir, Keyring) {
    let folder = tempfile::tempdir().unwrap();
    let store = Keyring::open(&folder.path().join("deep/pgp"));
    (folder, store)
}

fn put(store: &mut Keyring, certificate: &Certificate) {
    store.import("a test", &certificate.to_bytes()).unwrap().remove(0).unwrap();
}

fn find(store: &Keyring, who: &str) -> Result<Arc<Certificate>, FindError> {
    store.find(who, at(NOW)).unwrap()
}

#[test]
fn every_name_of_a_key_finds_it() {
    let (_folder, mut store) = store();
    let alice = key("Alice Lovelace <Alice@example.org>", None);
    put(&mut store, alice.certificate());
    put(&mut store, key("Bob <bob@example.org>", None).certificate());
    let keys = alice.certificate().keys();
    let mut names =
        vec!["alice@example.org".to_owned(), "<alice@EXAMPLE.org>".to_owned(), "lovelace".to_owned()];
    for key in &keys {
        use pgp::types::KeyDetails;
        names.push(format!("{:X}", key.fingerprint()));
        names.push(format!("0x{}", key.legacy_key_id()));
    }
    for name in names {
        assert_eq!(find(&store, &name).unwrap().fingerprint(), alice.certificate().fingerprint(), "{name}");
    }
    for name in ["carol@example.org", "lice@example.org", &"ab".repeat(20), "0123456789abcdef"] {
        assert_eq!(find(&store, name), Err(FindError::Missing { who: name.to_owned() }));
    }
    assert_eq!(find(&store, "DEADBEEF"), Err(FindError::ShortKeyId { who: "DEADBEEF".to_owned() }));
}

#[test]
fn of_several_the_only_valid_one_is_meant() {
    let (_folder, mut store) = store();
    let address = "a@example.org";
    let expired = key("A <a@example.org>", Some(-i64::from(DAY)));
    put(&mut store, expired.certificate());
    // Alone it is found, for the caller to say that it has expired.
    assert!(find(&store, address).unwrap().check(at(NOW)).is_err());
    let valid = key("A <a@example.org>", None);
    put(&mut store, valid.certificate());
    assert_eq!(find(&store, address).unwrap().fingerprint(), valid.certificate().fingerprint());
    let second = key("Other <a@example.org>", None);
    put(&mut store, second.certificate());
    let Err(FindError::Ambiguous { candidates, .. }) = find(&store, address) else { panic!("two fit") };
    assert_eq!(candidates.len(), 2, "the expired one is not a candidate");
    let signer = second.unlock(None).unwrap().remove(0);
    let revoked = revoke(second.certificate(), signer.as_ref(), Reason::Retired, "", at(NOW - DAY)).unwrap();
    put(&mut store, &revoked);
    assert_eq!(find(&store, address).unwrap().fingerprint(), valid.certificate().fingerprint());
}

#[test]
fn a_user_id_that_its_owner_did_not_sign_finds_nothing() {
    let (_folder, mut store) = store();
    let mallory = key("Mallory <mallory@example.net>", None);
    let alice = key("Alice <alice@example.org>", None);
    // Alice's user id with Alice's signature, in Mallory's certificate.
    let mut inner = mallory.certificate().inner().clone();
    inner.details.users.extend(alice.certificate().inner().details.users.iter().cloned());
    put(&mut store, &Certificate::new(inner));
    assert_eq!(store.candidates(&Who::parse("alice@example.org")).unwrap().len(), 1);
    assert!(matches!(find(&store, "alice@example.org"), Err(FindError::Missing { .. })));
    assert!(find(&store, "mallory@example.net").is_ok());
    put(&mut store, alice.certificate());
    let found = find(&store, "alice@example.org").unwrap();
    assert_eq!(found.fingerprint(), alice.certificate().fingerprint());
}

#[test]
fn an_import_takes_what_it_can_and_loses_nothing() {
    let (_folder, mut store) = store();
    let locked =
        key("A <a@example.org>", None).with_passphrase(None, Some(&Passphrase::new(b"p".to_vec()))).unwrap();
    let imported = store.import("x", &locked.to_bytes()).unwrap().remove(0).unwrap();
    assert_eq!((imported.certificate, imported.private), (Change::New, Some(Change::New)));
    // The same keys without their lock do not take its place.
    let open = locked.with_passphrase(Some(&Passphrase::new(b"p".to_vec())), None).unwrap();
    let imported = store.import("x", &open.to_bytes()).unwrap().remove(0).unwrap();
    assert_eq!((imported.certificate, imported.private), (Change::Unchanged, Some(Change::Unchanged)));
    let fingerprint = locked.certificate().fingerprint();
    assert!(store.private(&fingerprint).unwrap().unwrap().is_locked());
    for bad in [&b""[..], b"nonsense", &locked.to_bytes()[..40]] {
        let outcome = store.import("x", bad);
        assert!(outcome.is_err() || outcome.unwrap().iter().all(Result::is_err));
    }
    assert!(
        store.private(&fingerprint).unwrap().is_some() && store.certificate(&fingerprint).unwrap().is_some()
    );
    // A file that was damaged is told, and passed over.
    std::fs::write(store.folder().join("certs/zz.pgp"), "nonsense").unwrap();
    let again = Keyring::open(store.folder());
    assert_eq!(again.certificates().unwrap().len(), 1);
    assert_eq!(again.problems().unwrap().len(), 1);
}

/// The packet of a certificate's last revocation.
fn revocation_of(revoked: &Certificate) -> Vec<u8> {
    let mut packet = Vec::new();
    let revocation = revoked.inner().details.revocation_signatures.last().unwrap();
    revocation.to_writer_with_header(&mut packet).unwrap();
    packet
}

#[test]
fn a_revocation_by_itself_is_taken_over() {
    let (_folder, mut store) = store();
    let (alice, bob) = (key("A <a@example.org>", None), key("B <b@example.org>", None));
    let revoked_by = |private: &PrivateCertificate, by: &PrivateCertificate| {
        let signer = by.unlock(None).unwrap().remove(0);
        revoke(private.certificate(), signer.as_ref(), Reason::Compromised, "", at(NOW - DAY)).unwrap()
    };
    let revocation = revocation_of(&revoked_by(&alice, &alice));
    // Of a key that is not there.
    let failed = store.import("x", &revocation).unwrap().remove(0).unwrap_err().to_string();
    assert!(failed.contains("not in the key store"), "{failed}");
    store.put_private(&alice).unwrap();
    put(&mut store, bob.certificate());
    let imported = store.import("x", &revocation).unwrap().remove(0).unwrap();
    let fingerprint = alice.certificate().fingerprint();
    assert_eq!((imported.fingerprint.clone(), imported.certificate), (fingerprint.clone(), Change::Updated));
    assert!(store.certificate(&fingerprint).unwrap().unwrap().check(at(NOW)).is_err());
    assert!(store.private(&fingerprint).unwrap().unwrap().certificate().check(at(NOW)).is_err());
    assert_eq!(store.import("x", &revocation).unwrap().remove(0).unwrap().certificate, Change::Unchanged);
    // One that was changed, and signatures of another kind.
    let mut changed = revocation_of(&revoked_by(&bob, &bob));
    *changed.last_mut().unwrap() ^= 1;
    assert!(store.import("x", &changed).unwrap().remove(0).is_err());
    assert!(find(&store, "b@example.org").unwrap().check(at(NOW)).is_ok());
    // As GnuPG keeps its own: a colon before the first line, which somebody takes off on purpose.
    let disabled = b"This is a revocation.\n\n:-----BEGIN PGP PUBLIC KEY BLOCK-----\n\niQ==\n";
    let failed = store.import("x", disabled).unwrap_err().to_string();
    assert!(failed.contains("colon"), "{failed}");
}

#[test]
fn what_would_not_be_read_again_is_not_written() {
    let (_folder, mut store) = store();
    let alice = key("A <a@example.org>", None);
    let mut bytes = alice.certificate().to_bytes();
    // Subkeys of an algorithm that nobody knows, which are kept as they are.
    for _ in 0..17 {
        let body = vec![4; 1 << 20];
        bytes.extend([0xce, 0xff]);
        bytes.extend(u32::try_from(body.len()).unwrap().to_be_bytes());
        bytes.extend(body);
    }
    let failed = store.import("x", &bytes).unwrap().remove(0).unwrap_err();
    assert!(matches!(failed, KeyringError::TooLong { .. }), "{failed}");
    assert!(store.certificates().unwrap().is_empty() && store.problems().unwrap().is_empty());
}

#[test]
fn writers_at_once_lose_nothing() {
    let (folder, store) = store();
    let path = store.folder().to_owned();
    let keys: Vec<_> = (0..8).map(|index| key(&format!("K{index} <k{index}@example.org>"), None)).collect();
    std::thread::scope(|scope| {
        for key in &keys {
            let mut store = Keyring::open(&path);
            scope.spawn(move || -> Result<(), KeyringError> {
                store.put_private(key)?;
                let place = crate::CardPlace { home: "/h".into(), domain: 0, label: "L".to_owned() };
                store.put_card(&key.certificate().fingerprint(), place)
            });
        }
    });
    let store = Keyring::open(&path);
    assert_eq!(store.certificates().unwrap().len(), 8);
    assert_eq!(store.privates().unwrap().len(), 8);
    assert_eq!(store.cards().unwrap().len(), 8);
    assert!(store.problems().unwrap().is_empty());
    drop(folder);
}
