//! Signing and verifying without encryption.

mod common;

use common::*;
use openpgp::{CompressionAlgorithm, Timestamp};
use pipeline::{
    Compression, Error, Limits, LiteralMode, Output, Sign, SignatureKind, Summary, Verdict, Verify,
};
use tempfile::tempdir;

fn sign_by<'a>(signers: &'a [openpgp::signature::Signer], kind: SignatureKind) -> Sign<'a> {
    Sign {
        signers,
        kind,
        is_text: false,
        compression: NO_COMPRESSION,
        literal: literal(),
        armor: true,
        now: *NOW,
    }
}

fn verify_with(known: &Known) -> Verify<'_> {
    Verify {
        verifiers: known,
        detached: None,
        limits: Limits::default(),
        now: *NOW,
        not_before: None,
        not_after: None,
    }
}

fn signed(text: &[u8], what: &Sign<'_>) -> Vec<u8> {
    let memory = Memory::default();
    pipeline::sign(input(text, true), memory.output(), what, &run(None, 2)).unwrap();
    memory.bytes()
}

fn verified(message: &[u8], what: &Verify<'_>) -> Result<(Vec<u8>, Summary), Error> {
    let memory = Memory::default();
    let output: Option<Output> = what.detached.is_none().then(|| memory.output());
    let result = pipeline::verify(input(message, false), output, what, &run(None, 2));
    if result.is_err() {
        assert!(memory.bytes().is_empty(), "text left although no signature holds");
    }
    result.map(|summary| (memory.bytes(), summary))
}

#[test]
fn inline_messages_hold_and_changed_ones_do_not() {
    for is_v6 in [false, true] {
        let people = [Person::new("Ada", is_v6), Person::new("Bob", is_v6)];
        let signers: Vec<_> = people.iter().map(Person::signer).collect();
        let known = Known(people.iter().map(|person| person.certificate.clone()).collect());
        for algorithm in [CompressionAlgorithm::Uncompressed, CompressionAlgorithm::ZIP] {
            for (bytes, armor) in [(0, true), (1, false), (600_000, true), (600_000, false)] {
                let compression = Compression { algorithm, level: 6 };
                let what = Sign { compression, armor, ..sign_by(&signers, SignatureKind::Inline) };
                let text = text(bytes);
                let message = signed(&text, &what);
                let (read, summary) = verified(&message, &verify_with(&known)).unwrap();
                assert!(read == text);
                assert_eq!(summary.signatures.len(), 2);
                let is_good = |verdict: &Verdict| matches!(verdict, Verdict::Good { is_text: false, .. });
                assert!(summary.signatures.iter().all(|signature| is_good(&signature.verdict)));
                if !armor && bytes > 1 && algorithm == CompressionAlgorithm::Uncompressed {
                    let mut changed = message.clone();
                    let at = changed.len() / 2;
                    changed[at] ^= 1;
                    let failed = verified(&changed, &verify_with(&known));
                    assert!(failed.is_err(), "{bytes}");
                }
            }
        }
    }
}

#[test]
fn strangers_do_not_count() {
    let (ada, bob) = (Person::new("Ada", false), Person::new("Bob", false));
    let message = signed(b"text", &sign_by(&[ada.signer()], SignatureKind::Inline));
    let known = Known(vec![bob.certificate.clone()]);
    let failed = verified(&message, &verify_with(&known));
    let Err(Error::NoValidSignature { signatures }) = failed else { panic!("{failed:?}") };
    assert_eq!(signatures[0].verdict, Verdict::Unchecked);
}

#[test]
fn detached_signatures_of_bytes_and_of_text() {
    let ada = Person::new("Ada", false);
    let known = Known(vec![ada.certificate.clone()]);
    let signers = [ada.signer()];
    for armor in [false, true] {
        let what = Sign { armor, ..sign_by(&signers, SignatureKind::Detached) };
        let text = text(600_000);
        let signature = signed(&text, &what);
        let verify = Verify { detached: Some(&signature), ..verify_with(&known) };
        assert!(verified(&text, &verify).is_ok());
        assert!(matches!(verified(&text[1..], &verify), Err(Error::NoValidSignature { .. })));
    }
    let what = Sign { is_text: true, ..sign_by(&signers, SignatureKind::Detached) };
    let signature = signed(b"a\nb\n", &what);
    let verify = Verify { detached: Some(&signature), ..verify_with(&known) };
    assert!(verified(b"a\r\nb\r\n", &verify).is_ok());
    assert!(verified(b"a\nb \n", &verify).is_err());
    for nonsense in [&b""[..], b"no signature", b"-----BEGIN PGP SIGNATURE-----\n\n"] {
        let failed = verified(b"text", &Verify { detached: Some(nonsense), ..verify_with(&known) });
        assert!(failed.is_err());
    }
}

#[test]
fn cleartext_stays_readable() {
    for is_v6 in [false, true] {
        let ada = Person::new("Ada", is_v6);
        let known = Known(vec![ada.certificate.clone()]);
        let long = text(3 << 20);
        for text in [&b"hello\n- world\n"[..], b"-----BEGIN\nx\n", b"\n", &long] {
            let mut text = text.to_vec();
            if !text.ends_with(b"\n") {
                text.push(b'\n');
            }
            let message = signed(&text, &sign_by(&[ada.signer()], SignatureKind::Cleartext));
            assert!(message.starts_with(b"-----BEGIN PGP SIGNED MESSAGE-----\n"));
            let (read, _) = verified(&message, &verify_with(&known)).unwrap();
            assert!(read == text, "{:?}", String::from_utf8_lossy(&read[..read.len().min(100)]));
            let mut changed = message.clone();
            let at = changed.windows(2).position(|two| two == b"\n\n").unwrap() + 2;
            changed[at] ^= 1;
            assert!(verified(&changed, &verify_with(&known)).is_err());
        }
    }
}

#[test]
fn signatures_count_in_their_window_only() {
    let ada = Person::new("Ada", false);
    let known = Known(vec![ada.certificate.clone()]);
    let message = signed(b"text", &sign_by(&[ada.signer()], SignatureKind::Inline));
    let at = |seconds: u32| Some(Timestamp::from_secs(NOW.as_secs() + seconds - 10));
    let verify = |not_before, not_after| {
        verified(&message, &Verify { not_before, not_after, ..verify_with(&known) }).is_ok()
    };
    assert!(verify(at(9), at(11)));
    assert!(verify(at(10), at(10)));
    assert!(!verify(at(11), None));
    assert!(!verify(None, at(9)));
}

#[test]
fn a_file_gets_its_name_only_with_a_good_signature() {
    let (ada, bob) = (Person::new("Ada", false), Person::new("Bob", false));
    let message = signed(&text(600_000), &sign_by(&[ada.signer()], SignatureKind::Inline));
    let folder = tempdir().unwrap();
    let out = folder.path().join("out");
    let verify = |person: &Person| {
        let known = Known(vec![person.certificate.clone()]);
        let output = Output::Path { path: out.clone(), overwrite: false };
        pipeline::verify(input(&message, true), Some(output), &verify_with(&known), &run(None, 2))
    };
    assert!(verify(&bob).is_err());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    verify(&ada).unwrap();
    assert!(std::fs::read(&out).unwrap() == text(600_000));
}

#[test]
fn text_mode_is_said() {
    let ada = Person::new("Ada", false);
    let known = Known(vec![ada.certificate.clone()]);
    let mut what = sign_by(&[], SignatureKind::Inline);
    let signers = [ada.signer()];
    what.signers = &signers;
    what.is_text = true;
    what.literal.mode = LiteralMode::Utf8;
    let (read, summary) = verified(&signed(b"a\nb", &what), &verify_with(&known)).unwrap();
    // Text lies in a message with the line ends of the network (RFC 9580, 5.9).
    assert_eq!(read, b"a\r\nb");
    assert!(matches!(summary.signatures[0].verdict, Verdict::Good { is_text: true, .. }));
}

#[test]
fn nobody_signs_is_refused_and_an_encrypted_message_is_not_verified() {
    let memory = Memory::default();
    let nobody = sign_by(&[], SignatureKind::Inline);
    let failed = pipeline::sign(input(b"text", true), memory.output(), &nobody, &run(None, 1));
    assert!(matches!(failed, Err(Error::Request { .. })));
    let given = Given::new(form(openpgp::Protection::SeipdV1));
    let what = pipeline::Encrypt { session_key: Some(&given.0), ..encrypt_of(openpgp::Protection::SeipdV1) };
    let message = sealed(input(b"text", true), &what, &run(None, 1)).unwrap();
    assert!(matches!(verified(&message, &verify_with(&Known(Vec::new()))), Err(Error::Malformed { .. })));
    let signed = signed(b"text", &sign_by(&[Person::new("Ada", false).signer()], SignatureKind::Inline));
    let failed = opened(&signed, &decrypt_with(&given), &run(None, 1));
    assert!(matches!(failed, Err(Error::Malformed { .. })), "{failed:?}");
}
