//! Keys and session keys, both ways with Sequoia's sq.

use crate::keys_support::{FORM, Home, bodies, message, now, one, one_private, public_packet};
use openpgp::Timestamp;
use openpgp::generate::{CertificateAlgorithms, NewKey, generate};
use openpgp::session_key::{self, for_recipient};

const TEXT: &[u8] = b"what is said to sequoia\n";

#[test]
fn keys_of_sq_open_and_read() {
    for suite in ["cv25519", "rsa3k"] {
        let home = Home::new();
        home.run(
            "sq",
            &["key", "generate", "--userid", "a@b.example", "--cipher-suite", suite, "--export", "key.pgp"],
            b"",
        )
        .unwrap();
        let bytes = std::fs::read(home.path("key.pgp")).unwrap();
        let private = one_private(&bytes);
        let certificate = private.certificate();
        let valid = certificate.check(now()).unwrap();
        assert_eq!(valid.user_ids(), ["a@b.example"], "{suite}");
        assert!(!valid.signing_keys().unwrap().is_empty(), "{suite}");
        assert!(bodies(&one(&bytes).to_bytes()) == bodies(&certificate.to_bytes()));

        home.write("text", TEXT);
        home.run(
            "sq",
            &["encrypt", "--binary", "--recipient-cert", "key.pgp", "-o", "text.pgp", "text"],
            b"",
        )
        .unwrap();
        let packet = public_packet(&std::fs::read(home.path("text.pgp")).unwrap());
        let keys = private.unlock(None).unwrap();
        let key = keys.iter().find(|key| session_key::matches(&packet, key.public())).unwrap();
        key.open(&packet).unwrap();

        let session_key = session_key::generate(FORM);
        let recipient = valid.encryption_keys().unwrap().remove(0);
        let sealed = for_recipient(&recipient, &session_key, FORM).unwrap();
        home.write("ours.pgp", &message(&sealed, &session_key, TEXT));
        let read = home.run("sq", &["decrypt", "--recipient-key", "key.pgp", "ours.pgp"], b"").unwrap();
        assert_eq!(read, TEXT, "{suite}");
    }
}

#[test]
fn sq_reads_our_keys() {
    for kind in [
        CertificateAlgorithms::Curve25519,
        CertificateAlgorithms::Rsa { bits: 2048 },
        CertificateAlgorithms::P256,
        CertificateAlgorithms::P384,
        CertificateAlgorithms::P521,
    ] {
        let made = Timestamp::from_secs(now().as_secs() - 1000);
        let private = generate(&NewKey { kind, ..NewKey::new("a@b.example", made) }, None).unwrap();
        let home = Home::new();
        home.write("key.pgp", private.to_armor().as_bytes());
        home.write("text", TEXT);
        home.run(
            "sq",
            &["encrypt", "--binary", "--recipient-cert", "key.pgp", "-o", "text.pgp", "text"],
            b"",
        )
        .unwrap_or_else(|said| panic!("{kind:?}: {said}"));
        let packet = public_packet(&std::fs::read(home.path("text.pgp")).unwrap());
        private.unlock(None).unwrap()[1].open(&packet).unwrap();
        let read = home.run("sq", &["decrypt", "--recipient-key", "key.pgp", "text.pgp"], b"").unwrap();
        assert_eq!(read, TEXT, "{kind:?}");
        let shown = home.run("sq", &["inspect", "key.pgp"], b"").unwrap();
        let shown = String::from_utf8(shown).unwrap();
        assert!(
            shown.contains("a@b.example") && !shown.contains("Invalid") && !shown.contains("Bad Signature"),
            "{kind:?}: {shown}"
        );
    }
}
