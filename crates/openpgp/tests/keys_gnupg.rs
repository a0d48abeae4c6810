//! Keys, session keys and signatures, both ways with GnuPG.

use crate::keys_support::{
    FORM, Home, bodies, message, now, one, one_private, passphrase, passphrase_packet, public_packet,
    signatures,
};
use openpgp::certificate::{Certificate, Policy, Unusable};
use openpgp::generate::{CertificateAlgorithms, NewKey, Reason, expire, generate, revoke};
use openpgp::private_key::{Locking, PrivateCertificate};
use openpgp::session_key::{self, S2k, for_passphrase, for_recipient, open_passphrase};
use openpgp::signature::{Checker, Context, Issuer, Maker, Signer, Verdict, hash_for};
use openpgp::{HashAlgorithm, PrivateKey, PrivateKeyError, Timestamp};
use pgp::types::KeyDetails;
use std::sync::Arc;

const TEXT: &[u8] = b"what is said\nto nobody else\n";

/// Algorithms that gpg makes keys of, as `--quick-generate-key` and `--quick-add-key` name them: primary and subkey.
const KINDS: [(&str, &str); 10] = [
    ("rsa1024", "rsa1024"),
    ("rsa3072", "rsa2048"),
    ("ed25519", "cv25519"),
    ("nistp256", "nistp256"),
    ("nistp384", "nistp384"),
    ("nistp521", "nistp521"),
    ("secp256k1", "cv25519"),
    ("brainpoolP256r1", "brainpoolP256r1"),
    ("brainpoolP384r1", "brainpoolP384r1"),
    ("dsa2048", "elg2048"),
];

/// Exports of a key of gpg's: public, private; and a home that has it.
fn gpg_key(primary: &str, subkey: &str, passphrase: &str) -> (Home, Vec<u8>, Vec<u8>) {
    let home = Home::new();
    let pass = ["--passphrase", passphrase];
    home.gpg(&[&pass[..], &["--quick-generate-key", "a@b.example", primary, "sign", "never"]].concat(), b"")
        .unwrap();
    let listed = home.gpg(&["--with-colons", "--list-keys"], b"").unwrap();
    let listed = String::from_utf8(listed).unwrap();
    let fingerprint = listed.lines().find_map(|line| line.strip_prefix("fpr:::::::::")).unwrap();
    let fingerprint = fingerprint.trim_end_matches(':');
    home.gpg(&[&pass[..], &["--quick-add-key", fingerprint, subkey, "encrypt", "never"]].concat(), b"")
        .unwrap();
    let public = home.gpg(&["--export"], b"").unwrap();
    let private = home.gpg(&[&pass[..], &["--export-secret-keys"]].concat(), b"").unwrap();
    (home, public, private)
}

fn session_key_of_gpg(home: &Home, passphrase: &str, message: &[u8]) -> Vec<u8> {
    let file = home.write("message.gpg", message);
    let said = home.said(
        "gpg",
        &[
            "--batch",
            "--no-tty",
            "--pinentry-mode",
            "loopback",
            "--passphrase",
            passphrase,
            "--show-session-key",
            "--output",
            "/dev/null",
            "--yes",
            "--decrypt",
            file.to_str().unwrap(),
        ],
    );
    let start = said.find("session key: '").unwrap_or_else(|| panic!("{said}"));
    let (_, rest) = said[start..].split_once(':').unwrap();
    let (_, rest) = rest.split_once(':').unwrap();
    let hexadecimal = rest.split_once('\'').unwrap().0;
    (0..hexadecimal.len() / 2)
        .map(|at| u8::from_str_radix(&hexadecimal[2 * at..2 * at + 2], 16).unwrap())
        .collect()
}

fn signer(key: &Arc<dyn PrivateKey>) -> Signer {
    Signer { key: Arc::clone(key), hash: hash_for(key.public(), &[]), user_id: None }
}

fn sign(key: &Arc<dyn PrivateKey>, text: &[u8], is_text: bool) -> Vec<u8> {
    let mut maker = Maker::new(&[signer(key)], is_text, &[], now()).unwrap();
    maker.update(text);
    maker.finish().unwrap()
}

fn verdict(certificate: &Certificate, signature: &[u8], text: &[u8]) -> Verdict {
    let certificate = Arc::new(certificate.clone());
    let mut checker = Checker::new();
    for signature in signatures(signature) {
        checker.signature(signature);
    }
    checker.update(text);
    let known = |_: &Issuer| vec![Arc::clone(&certificate)];
    let mut checked = checker.finish(&known, &Context::Clear, now());
    assert_eq!(checked.len(), 1);
    checked.remove(0).verdict
}

#[test]
fn every_kind_of_key_works_both_ways() {
    std::thread::scope(|scope| {
        for (primary, subkey) in KINDS {
            scope.spawn(move || both_ways(primary, subkey));
        }
    });
}

fn both_ways(primary: &str, subkey: &str) {
    let name = format!("{primary} {subkey}");
    let pass = passphrase("open me");
    let (home, public, private) = gpg_key(primary, subkey, "open me");
    let certificate = one(&public);
    assert!(
        bodies(&certificate.to_bytes()) == bodies(&public),
        "{name}: the certificate is written as it was read"
    );
    let private_certificate = one_private(&private);
    assert!(
        bodies(&private_certificate.to_bytes()) == bodies(&private),
        "{name}: the private key is written as it was read"
    );
    assert_eq!(private_certificate.certificate().fingerprint(), certificate.fingerprint());
    assert!(private_certificate.is_locked());
    assert_eq!(private_certificate.unlock(None).unwrap_err(), PrivateKeyError::Locked, "{name}");
    assert_eq!(
        private_certificate.unlock(Some(&passphrase("open me?"))).unwrap_err(),
        PrivateKeyError::Locked,
        "{name}"
    );

    // What gpg encrypts is opened, and nothing else is.
    let encrypted = home.gpg(&["--recipient", "a@b.example", "--encrypt"], TEXT).unwrap();
    let packet = public_packet(&encrypted);
    let valid = certificate.check_with(now(), Policy { weak_keys: true }).unwrap();
    assert_eq!(valid.user_ids(), ["a@b.example"]);
    let encryption_key = valid.encryption_keys().unwrap().remove(0);
    assert!(session_key::matches(&packet, &encryption_key.key), "{name}");
    let key = private_certificate.unlock_key(&encryption_key.key.fingerprint(), Some(&pass)).unwrap();
    let opened = key.open(&packet).unwrap();
    assert_eq!(session_key::bytes(&opened), session_key_of_gpg(&home, "open me", &encrypted), "{name}");
    let mut changed = encrypted.clone();
    changed[40] ^= 1;
    assert_eq!(key.open(&public_packet(&changed)).unwrap_err(), PrivateKeyError::NotOpened, "{name}");

    // What we encrypt, gpg reads.
    let session_key = session_key::generate(FORM);
    let sealed = for_recipient(&encryption_key, &session_key, FORM).unwrap();
    let message = message(&sealed, &session_key, TEXT);
    let read = home.gpg(&["--passphrase", "open me", "--decrypt"], &message).unwrap();
    assert_eq!(read, TEXT, "{name}");

    // Signatures of gpg hold; ours hold for gpg.
    for (is_text, flags) in [(false, &[][..]), (true, &["--textmode"][..])] {
        let arguments = [&["--passphrase", "open me"], flags, &["--detach-sign"]].concat();
        let signature = home.gpg(&arguments, TEXT).unwrap();
        let good = verdict(&certificate, &signature, TEXT);
        let counts = !primary.starts_with("rsa1024");
        assert_eq!(matches!(good, Verdict::Good { .. }), counts, "{name}: {good:?}");
        let bad = verdict(&certificate, &signature, b"what was not said");
        assert!(matches!(bad, Verdict::Bad { .. }), "{name}: {bad:?}");
        let signing = private_certificate.unlock_key(&certificate.fingerprint(), Some(&pass)).unwrap();
        if primary.starts_with("dsa") {
            let failed = signing.sign(HashAlgorithm::Sha1, &[7; 20]).unwrap_err();
            assert!(matches!(failed, PrivateKeyError::Unsupported { .. }), "{name}: {failed:?}");
        }
        let text = home.write("text", TEXT);
        let signature = home.write("text.sig", &sign(&signing, TEXT, is_text));
        home.gpg(&["--verify", signature.to_str().unwrap(), text.to_str().unwrap()], b"")
            .unwrap_or_else(|said| panic!("{name}: {said}"));
    }

    // Under a new passphrase, and without one, gpg takes the key as well.
    for new in [Some(passphrase("another")), None] {
        let changed = private_certificate.with_passphrase(Some(&pass), new.as_ref()).unwrap();
        let other = Home::new();
        other.gpg(&["--import"], &changed.to_bytes()).unwrap();
        let words = if new.is_some() { "another" } else { "" };
        let read = other.gpg(&["--passphrase", words, "--decrypt"], &encrypted);
        assert_eq!(read.unwrap_or_else(|said| panic!("{name}: {said}")), TEXT, "{name}");
    }
}

#[test]
fn weak_keys_are_for_old_messages_only() {
    let (home, public, _) = gpg_key("rsa1024", "rsa1024", "");
    let certificate = one(&public);
    let valid = certificate.check(now()).unwrap();
    let refused = valid.encryption_keys().unwrap_err();
    assert!(matches!(refused, Unusable::Weak { .. }), "{refused:?}");
    assert!(refused.to_string().contains("1024 bits"), "{refused}");
    assert!(matches!(valid.signing_keys().unwrap_err(), Unusable::Weak { .. }));
    // Nor does what they sign count, and a primary key binds no strong subkey for anything new.
    let signature = home.gpg(&["--passphrase", "", "--detach-sign"], TEXT).unwrap();
    let Verdict::Bad { why } = verdict(&certificate, &signature, TEXT) else { panic!("it counts") };
    assert!(why.contains("1024 bits"), "{why}");
    let (_home, public, _) = gpg_key("rsa1024", "cv25519", "");
    let certificate = one(&public);
    let refused = certificate.check(now()).unwrap().encryption_keys().unwrap_err();
    assert_eq!(*refused.fingerprint(), certificate.fingerprint(), "{refused}");
}

#[test]
fn subkeys_that_are_not_served_are_kept() {
    let (home, public, private) = gpg_key("ed25519", "secp256k1", "p");
    let certificate = one_private(&private);
    assert!(bodies(&certificate.to_bytes()) == bodies(&private), "the private key is written as it was read");
    assert_eq!(one_private(&certificate.to_bytes()).unserved(), certificate.unserved());
    let [name] = &certificate.unserved()[..] else { panic!("{:?}", certificate.unserved()) };
    assert!(name.ends_with("(version 4, algorithm 18)"), "{name}");
    // What gpg says of it is what it is called here.
    let fingerprint = name.split(' ').next().unwrap();
    assert!(home.said("gpg", &["--with-subkey-fingerprint", "--list-keys"]).contains(fingerprint));
    assert!(bodies(&one(&public).to_bytes()) == bodies(&public), "the certificate is written as it was read");
    assert_eq!(certificate.certificate().unserved(), one(&public).unserved());
    // It comes along where the certificate is taken over, once.
    let mut merged = certificate.clone();
    merged.update(&one(&public)).unwrap();
    assert!(bodies(&merged.to_bytes()) == bodies(&private));
    let other = Home::new();
    other.gpg(&["--import"], &certificate.to_bytes()).unwrap();
    let said = other.said("gpg", &["--with-subkey-fingerprint", "--list-secret-keys"]);
    assert!(said.contains(fingerprint), "{said}");
    // Under another passphrase it stays as it is.
    let relocked = certificate.with_passphrase(Some(&passphrase("p")), None).unwrap();
    assert_eq!(relocked.unserved(), certificate.unserved());
}

#[test]
fn a_private_key_on_a_curve_that_is_not_served_is_called_so() {
    let (_home, _, private) = gpg_key("brainpoolP512r1", "brainpoolP512r1", "");
    let failed = one_private(&private).unlock(None).unwrap_err();
    assert!(matches!(failed, PrivateKeyError::Unsupported { .. }), "{failed}");
    assert!(failed.to_string().contains("curve not supported: brainpoolP512r1"), "{failed}");
}

#[test]
fn a_curve_that_is_not_served_is_named() {
    let (_home, public, _) = gpg_key("brainpoolP512r1", "brainpoolP512r1", "");
    let certificate = one(&public);
    assert_eq!(certificate.keys()[0].curve().as_deref(), Some("brainpoolP512r1"));
    let refused = certificate.check(now()).unwrap_err();
    assert_eq!(
        refused,
        Unusable::Unsupported {
            fingerprint: certificate.fingerprint(),
            algorithm: "ECDSA, curve not supported: brainpoolP512r1".to_owned()
        }
    );
    // A subkey alone: the rest of the certificate is good.
    let (_home, public, _) = gpg_key("nistp256", "brainpoolP512r1", "");
    let certificate = one(&public);
    let valid = certificate.check(now()).unwrap();
    let refused = valid.encryption_keys().unwrap_err();
    assert_eq!(
        refused,
        Unusable::Unsupported {
            fingerprint: certificate.keys()[1].fingerprint(),
            algorithm: "ECDH, curve not supported: brainpoolP512r1".to_owned()
        }
    );
    valid.signing_keys().unwrap();
}

#[test]
fn marks_of_keys_that_are_elsewhere_are_kept() {
    let (home, _, whole) = gpg_key("ed25519", "cv25519", "p");
    let subkeys = home.gpg(&["--passphrase", "p", "--export-secret-subkeys"], b"").unwrap();
    let private = one_private(&subkeys);
    let locking: Vec<Locking> = private.locking().into_iter().map(|(_, locking)| locking).collect();
    assert_eq!(locking, [Locking::Elsewhere { card: None }, Locking::Passphrase]);
    assert!(bodies(&private.to_bytes()) == bodies(&subkeys));
    let pass = passphrase("p");
    assert_eq!(private.unlock(Some(&pass)).unwrap().len(), 1);
    assert_eq!(one_private(&whole).unlock(Some(&pass)).unwrap().len(), 2);
    let primary = private.certificate().fingerprint();
    let failed = private.unlock_key(&primary, Some(&pass)).unwrap_err();
    assert!(matches!(failed, PrivateKeyError::Unsupported { .. }), "{failed:?}");
    let relocked = private.with_passphrase(Some(&pass), None).unwrap();
    Home::new().gpg(&["--import"], &relocked.to_bytes()).unwrap();
}

#[test]
fn passphrases_work_both_ways() {
    let home = Home::new();
    let pass = passphrase("open me");
    for cipher in ["AES256", "AES", "3DES", "CAST5"] {
        let arguments = ["--passphrase", "open me", "--cipher-algo", cipher, "--symmetric"];
        let encrypted = home.gpg(&arguments, TEXT).unwrap();
        let packet = passphrase_packet(&encrypted);
        let opened = open_passphrase(&packet, &pass).unwrap();
        assert!(opened.is_guess);
        let expected = session_key_of_gpg(&home, "open me", &encrypted);
        assert_eq!(session_key::bytes(&opened.session_key), expected, "{cipher}");
    }
    let session_key = session_key::generate(FORM);
    let sealed = for_passphrase(&pass, &session_key, FORM, S2k::for_form(FORM)).unwrap();
    let read = home.gpg(&["--passphrase", "open me", "--decrypt"], &message(&sealed, &session_key, TEXT));
    assert_eq!(read.unwrap(), TEXT);
}

#[test]
fn our_own_keys_are_good_for_gpg() {
    let made = Timestamp::from_secs(now().as_secs() - 1000);
    for kind in [
        CertificateAlgorithms::Curve25519,
        CertificateAlgorithms::Rsa { bits: 2048 },
        CertificateAlgorithms::P256,
        CertificateAlgorithms::P384,
        CertificateAlgorithms::P521,
    ] {
        let expires = Some(Timestamp::from_secs(now().as_secs() + 100_000));
        let user_ids =
            vec!["Alice <alice@example.org>".to_owned(), "Alice at work <a@work.example>".to_owned()];
        let what = NewKey { kind, user_ids, expires, ..NewKey::new("", made) };
        let pass = passphrase("open me");
        let private = generate(&what, Some(&pass)).unwrap();
        let home = Home::new();
        home.gpg(&["--import"], private.to_armor().as_bytes())
            .unwrap_or_else(|said| panic!("{kind:?}: {said}"));
        let listed = home.gpg(&["--with-colons", "--check-signatures"], b"").unwrap();
        let listed = String::from_utf8(listed).unwrap();
        assert_eq!(listed.lines().filter(|line| line.starts_with("sig:!:")).count(), 3, "{kind:?}: {listed}");
        assert!(!listed.contains("sig:-:") && !listed.contains("sig:%:"), "{kind:?}: {listed}");

        let encrypted = home.gpg(&["--recipient", "alice@example.org", "--encrypt"], TEXT).unwrap();
        let packet = public_packet(&encrypted);
        let keys = private.unlock(Some(&pass)).unwrap();
        let key = keys.iter().find(|key| session_key::matches(&packet, key.public())).unwrap();
        let opened = key.open(&packet).unwrap();
        assert_eq!(session_key::bytes(&opened), session_key_of_gpg(&home, "open me", &encrypted), "{kind:?}");
        let signature = home.gpg(&["--passphrase", "open me", "--detach-sign"], TEXT).unwrap();
        let good = verdict(private.certificate(), &signature, TEXT);
        assert!(matches!(good, Verdict::Good { .. }), "{kind:?}: {good:?}");
        let text = home.write("text", TEXT);
        let signature = home.write("text.sig", &sign(&keys[0], TEXT, false));
        home.gpg(&["--verify", signature.to_str().unwrap(), text.to_str().unwrap()], b"").unwrap();
    }
}

#[test]
fn gpg_sees_our_changes_and_we_see_its() {
    let pass = passphrase("p");
    let made = Timestamp::from_secs(now().as_secs() - 1000);
    let private = generate(&NewKey::new("a@b.example", made), Some(&pass)).unwrap();
    let primary = private.unlock_key(&private.certificate().fingerprint(), Some(&pass)).unwrap();
    let home = Home::new();
    home.gpg(&["--import"], &private.to_bytes()).unwrap();

    let past = Timestamp::from_secs(now().as_secs() - 10);
    let expired = expire(
        private.certificate(),
        primary.as_ref(),
        Some(past),
        Timestamp::from_secs(past.as_secs() - 100),
    )
    .unwrap();
    home.gpg(&["--import"], &expired.to_bytes()).unwrap();
    home.gpg(&["--recipient", "a@b.example", "--encrypt"], TEXT).unwrap_err();
    let refused = expired.check(now()).unwrap_err();
    assert_eq!(refused, Unusable::Expired { fingerprint: expired.fingerprint(), expired: past });

    let endless =
        expire(&expired, primary.as_ref(), None, Timestamp::from_secs(past.as_secs() - 50)).unwrap();
    home.gpg(&["--import"], &endless.to_bytes()).unwrap();
    home.gpg(&["--recipient", "a@b.example", "--encrypt"], TEXT).unwrap();
    assert_eq!(endless.check(now()).unwrap().expiration(), None);

    let fingerprint = format!("{:X}", endless.fingerprint());
    home.gpg(&["--passphrase", "p", "--quick-set-expire", &fingerprint, "1d"], b"").unwrap();
    // gpg drops the signature that it replaces; ours is kept, and both count at their times.
    let mut limited = endless.clone();
    limited.merge(&one(&home.gpg(&["--export"], b"").unwrap())).unwrap();
    let end = limited.check(now()).unwrap().expiration().unwrap().as_secs();
    assert!((80_000..90_000).contains(&(end - now().as_secs())), "{end}");

    let revoked = revoke(&limited, primary.as_ref(), Reason::Retired, "enough", now()).unwrap();
    let refused = revoked.check(now()).unwrap_err();
    assert!(refused.to_string().contains("retired (enough)"), "{refused}");
    revoked.check(past).unwrap();
    home.gpg(&["--import"], &revoked.to_bytes()).unwrap();
    home.gpg(&["--recipient", "a@b.example", "--encrypt"], TEXT).unwrap_err();
    assert!(home.said("gpg", &["--list-keys"]).contains("revoked"));
}

#[test]
fn armored_exports_of_several_keys_are_read() {
    let (first, _, _) = gpg_key("ed25519", "cv25519", "");
    first.gpg(&["--passphrase", "", "--quick-generate-key", "c@d.example", "rsa2048"], b"").unwrap();
    let armored = first.gpg(&["--armor", "--export"], b"").unwrap();
    assert_eq!(Certificate::parse_all(&armored).unwrap().len(), 2);
    let private = first.gpg(&["--armor", "--export-secret-keys"], b"").unwrap();
    assert_eq!(PrivateCertificate::parse_all(&private).unwrap().len(), 2);
    let twice = [&armored[..], b"\n", &private].concat();
    assert_eq!(Certificate::parse_all(&twice).unwrap().len(), 4);
    let again = one(Certificate::parse_all(&armored).unwrap()[0].to_armor().as_bytes());
    assert_eq!(again, Certificate::parse_all(&armored).unwrap()[0]);
}
