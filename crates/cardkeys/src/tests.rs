//! Certificates whose private keys are labels in a home: a real daemon and card sign and open.

#[path = "../../openpgp/tests/keys_support.rs"]
mod keys_support;

use crate::{Accelerators, LabelKey, Role};
use facility::{Facility, Options, Selection};
use keys_support::{FORM, Home, message, now, public_packet};
use openpgp::certificate::Certificate;
use openpgp::generate::{CertificateAlgorithms, KeysOf, NewKey, Reason, certify, generate, revoke};
use openpgp::session_key::{self, for_recipient};
use openpgp::signature::{Maker, Signer, hash_for};
use openpgp::{PrivateKey, PrivateKeyError, Timestamp};
use std::sync::Arc;
use system_tests::{Installation, rsa_generate, rsa_skeleton};
use wire::Label;
use wire::control::Personality;
use wire::verb::pka_key_record_create;

const TEXT: &[u8] = b"what a card signs\n";

/// A new RSA key under a label.
fn store(facility: &Facility, label: &str) {
    let skeleton = rsa_skeleton(facility, 2048);
    let reply = facility.ask(0, &rsa_generate(&skeleton)).unwrap();
    assert!(reply.codes().has_output(), "PKA_Key_Generate: {}", reply.codes());
    let field = Label::new(label).unwrap().to_field();
    let new = pka_key_record_create::Ask::new();
    let ask = pka_key_record_create::Ask {
        key_label: &field,
        key_token: reply.got().generated_key_identifier,
        ..new
    };
    let codes = facility.ask(0, &ask).unwrap().codes();
    assert!(codes.has_output(), "PKA_Key_Record_Create: {codes}");
}

fn fresh(facility: &Facility, label: &str, role: Role, created: Timestamp) -> LabelKey {
    LabelKey::fresh(facility.clone(), 0, Label::new(label).unwrap(), role, false, created).unwrap()
}

fn made(facility: &Facility, created: Timestamp) -> (Certificate, LabelKey, LabelKey) {
    let primary = fresh(facility, "PGP.SIGN", Role::Primary, created);
    let subkey = fresh(facility, "PGP.OPEN", Role::Subkey, created);
    let keys = KeysOf { primary: &primary, encryption: Some(&subkey) };
    let what = NewKey::new("Card <card@example.org>", created);
    let certificate = certify(&what, primary.packet(), Some(subkey.packet()), &keys).unwrap();
    (certificate, primary, subkey)
}

#[test]
fn a_card_certifies_signs_and_opens_for_gpg() {
    let installation = Installation::new(1, 0);
    let facility = installation.facility();
    store(&facility, "PGP.SIGN");
    store(&facility, "PGP.OPEN");
    let created = Timestamp::from_secs(now().as_secs() - 100);
    let (certificate, primary, subkey) = made(&facility, created);

    let gpg = Home::new();
    gpg.gpg(&["--import"], certificate.to_armor().as_bytes()).unwrap();
    let encrypted = gpg.gpg(&["--recipient", "card@example.org", "--encrypt"], TEXT).unwrap();
    let packet = public_packet(&encrypted);
    assert!(session_key::matches(&packet, subkey.public()));
    // The same card key, found again by the certificate.
    let label = Label::new("PGP.OPEN").unwrap();
    let again = LabelKey::new(facility.clone(), 0, label, certificate.keys().remove(1)).unwrap();
    assert_eq!(again.open(&packet).unwrap(), subkey.open(&packet).unwrap());
    assert_eq!(primary.open(&packet).unwrap_err(), PrivateKeyError::NotOpened);
    let mut changed = encrypted.clone();
    changed[60] ^= 1;
    assert_eq!(subkey.open(&public_packet(&changed)).unwrap_err(), PrivateKeyError::NotOpened);

    let session_key = session_key::generate(FORM);
    let key = certificate.check(now()).unwrap().encryption_keys().unwrap().remove(0);
    let sealed = for_recipient(&key, &session_key, FORM).unwrap();
    let opened = subkey.open(&public_packet(&message(&sealed, &session_key, TEXT))).unwrap();
    assert_eq!(opened, session_key);

    let signer =
        Signer { hash: hash_for(primary.public(), &[]), key: Arc::new(primary.clone()), user_id: None };
    let mut maker = Maker::new(&[signer], false, &[], now()).unwrap();
    maker.update(TEXT);
    let signature = gpg.write("text.sig", &maker.finish().unwrap());
    let text = gpg.write("text", TEXT);
    gpg.gpg(&["--verify", signature.to_str().unwrap(), text.to_str().unwrap()], b"").unwrap();

    let revoked = revoke(&certificate, &primary, Reason::Superseded, "", now()).unwrap();
    gpg.gpg(&["--import"], &revoked.to_bytes()).unwrap();
    gpg.gpg(&["--recipient", "card@example.org", "--encrypt"], TEXT).unwrap_err();
}

#[test]
fn what_is_wrong_with_a_label_is_named() {
    let installation = Installation::new(1, 0);
    let facility = installation.facility();
    store(&facility, "PGP.SIGN");
    store(&facility, "PGP.OPEN");
    let (certificate, ..) = made(&facility, now());
    let key = certificate.keys().remove(0);
    for (label, cause) in [("PGP.OPEN", "not the key"), ("PGP.NONE", "PGP.NONE")] {
        let label = Label::new(label).unwrap();
        let failed = LabelKey::new(facility.clone(), 0, label.clone(), key.clone()).unwrap_err();
        assert!(
            matches!(&failed, PrivateKeyError::Card { label: named, .. } if named == label.as_str()),
            "{failed:?}"
        );
        assert!(failed.to_string().contains(cause), "{failed}");
    }
}

#[test]
fn clear_keys_of_this_process_are_computed_with_by_cards() {
    let installation = Installation::new(0, 1);
    let facility = Facility::open(installation.home.folder(), Options::default()).unwrap();
    let facility = facility.with_selection(Selection::personality(Personality::Accelerator));
    let created = Timestamp::from_secs(now().as_secs() - 100);
    let what =
        NewKey { kind: CertificateAlgorithms::Rsa { bits: 2048 }, ..NewKey::new("a@b.example", created) };
    let private = generate(&what, None).unwrap();
    let accelerators = Accelerators { facility, domain: 0 };
    let here = private.unlock(None).unwrap();
    let there = private.unlock_on(None, Some(&accelerators)).unwrap();
    let digest = [7; 32];
    let signed = |key: &Arc<dyn PrivateKey>| key.sign(openpgp::HashAlgorithm::Sha256, &digest).unwrap();
    assert_eq!(signed(&here[0]), signed(&there[0]));
    let session_key = session_key::generate(FORM);
    let key = private.certificate().check(now()).unwrap().encryption_keys().unwrap().remove(0);
    let sealed = for_recipient(&key, &session_key, FORM).unwrap();
    assert_eq!(there[1].open(&public_packet(&sealed)).unwrap(), session_key);
    // Without its cards the key does nothing rather than something else.
    drop(installation);
    assert!(matches!(
        there[0].sign(openpgp::HashAlgorithm::Sha256, &digest),
        Err(PrivateKeyError::Card { .. })
    ));
}
