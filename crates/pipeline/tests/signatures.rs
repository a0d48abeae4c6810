//! Signing and verifying without encryption.

use crate::common::*;
use openpgp::session_key::for_recipient;
use openpgp::{AeadAlgorithm, CompressionAlgorithm, Protection, Timestamp};
use pipeline::{
    Compression, Decrypt, Encrypt, Error, Limits, Literal, LiteralMode, Output, Sign, SignatureKind, Summary,
    Verdict, Verify,
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
        has_local_lines: false,
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

/// A packet of the new format with a length of five octets.
fn packet(tag: u8, body: &[u8]) -> Vec<u8> {
    let bytes = u32::try_from(body.len()).unwrap().to_be_bytes();
    [&[0xc0 | tag, 0xff][..], &bytes, body].concat()
}

#[test]
fn compressed_packets_that_are_not_compressed_are_read_and_nested_to_a_bound() {
    let ada = Person::new("Ada", false);
    let known = Known(vec![ada.certificate.clone()]);
    let signers = [ada.signer()];
    for (bytes, algorithm) in [(10, CompressionAlgorithm::Uncompressed), (600_000, CompressionAlgorithm::ZIP)]
    {
        let compression = Compression { algorithm, level: 6 };
        let what = Sign { armor: false, compression, ..sign_by(&signers, SignatureKind::Inline) };
        let text = text(bytes);
        let mut message = signed(&text, &what);
        let own_depth = u32::from(algorithm != CompressionAlgorithm::Uncompressed);
        for depth in own_depth + 1..=17 {
            message = packet(8, &[&[0][..], &message].concat());
            match verified(&message, &verify_with(&known)) {
                Ok((read, _)) => assert!(depth <= 16 && read == text, "{depth}"),
                Err(error) => assert!(depth == 17, "{depth}: {error}"),
            }
        }
        let whole = signed(&text, &what);
        let cut = packet(8, &[&[0][..], &whole[..whole.len() / 2]].concat());
        assert!(verified(&cut, &verify_with(&known)).is_err());
    }
}

#[test]
fn a_signed_text_that_is_passed_on_is_not_signed_for_its_reader() {
    let (ada, eve, bob) = (Person::new("Ada", false), Person::new("Eve", false), Person::new("Bob", true));
    let known = Known(vec![ada.certificate.clone()]);
    let keys = |person: &Person| Keys { private: person.keys.clone(), passphrases: Vec::new() };
    for protection in [Protection::SeipdV1, seipd_v2(AeadAlgorithm::Ocb, 8)] {
        let form = form(protection);
        let session_key = openpgp::session_key::generate(form);
        let message_to = |recipients: &[openpgp::certificate::EncryptionKey]| {
            let signers = [ada.signer()];
            let what = Encrypt {
                recipients,
                signers: &signers,
                session_key: Some(&session_key),
                ..encrypt_of(protection)
            };
            sealed(input(b"text", true), &what, &run(None, 1)).unwrap()
        };
        let verdict = |message: &[u8], person: &Person| {
            let keys = keys(person);
            let what = Decrypt { verifiers: Some(&known), ..decrypt_with(&keys) };
            let (read, summary) = opened(message, &what, &run(None, 1)).unwrap();
            assert_eq!(read, b"text");
            summary.signatures[0].verdict.clone()
        };
        let to_both = message_to(&[eve.encryption_keys(), bob.encryption_keys()].concat());
        for person in [&eve, &bob] {
            assert!(matches!(verdict(&to_both, person), Verdict::Good { .. }));
        }
        // What Eve got, under a session key packet of her making for Bob.
        let to_eve = message_to(&eve.encryption_keys());
        assert!(matches!(verdict(&to_eve, &eve), Verdict::Good { .. }));
        let for_bob = for_recipient(&bob.encryption_keys()[0], &session_key, form).unwrap();
        let passed_on = [for_bob, to_eve].concat();
        let Verdict::Bad { why } = verdict(&passed_on, &bob) else { panic!("it counts") };
        assert!(why.contains("other recipients"), "{why}");
        // One that stays unnamed is not told by the signature either, which the others can read.
        let mut hidden = bob.encryption_keys();
        hidden[0].is_hidden = true;
        let message = message_to(&[eve.encryption_keys(), hidden].concat());
        for person in [&eve, &bob] {
            assert!(matches!(verdict(&message, person), Verdict::Good { .. }));
        }
    }
}

#[test]
fn text_has_the_line_ends_of_the_system_where_that_is_asked() {
    let ada = Person::new("Ada", false);
    let known = Known(vec![ada.certificate.clone()]);
    let keys = Keys { private: ada.keys.clone(), passphrases: Vec::new() };
    let (recipients, signers) = (ada.encryption_keys(), [ada.signer()]);
    let long = String::from_utf8(text(600_000)).unwrap().replace(';', "\n");
    for text in ["", "one\n\ntwo \u{e4}\n", "no end", "\n", &long] {
        for mode in [LiteralMode::Binary, LiteralMode::Utf8] {
            let literal = Literal { mode, ..literal() };
            let what = Encrypt {
                recipients: &recipients,
                signers: &signers,
                literal: literal.clone(),
                ..encrypt_of(Protection::SeipdV1)
            };
            let message = sealed(input(text.as_bytes(), true), &what, &run(None, 2)).unwrap();
            let in_message = match mode {
                LiteralMode::Binary => text.to_owned(),
                LiteralMode::Utf8 => text.replace('\n', "\r\n"),
            };
            for (has_local_lines, expected) in [(true, text), (false, &in_message[..])] {
                let what = Decrypt { verifiers: Some(&known), has_local_lines, ..decrypt_with(&keys) };
                let (read, summary) = opened(&message, &what, &run(None, 2)).unwrap();
                assert!(read == expected.as_bytes());
                assert!(matches!(summary.signatures[0].verdict, Verdict::Good { .. }));
            }
            let what = Sign { literal, ..sign_by(&signers, SignatureKind::Inline) };
            let message = signed(text.as_bytes(), &what);
            let verify = Verify { has_local_lines: true, ..verify_with(&known) };
            assert!(verified(&message, &verify).unwrap().0 == text.as_bytes());
        }
    }
}

#[test]
fn what_is_no_text_is_not_taken_for_text() {
    let ada = Person::new("Ada", false);
    let (recipients, signers) = (ada.encryption_keys(), [ada.signer()]);
    let refused = |result: Result<Summary, Error>| match result {
        Err(Error::Input { cause, .. }) => {
            assert_eq!(cause.kind(), std::io::ErrorKind::InvalidData);
        }
        other => panic!("{other:?}"),
    };
    let long = [&text(600_000)[..], &[0xff], b"rest"].concat();
    for bytes in [&b"\xff"[..], b"cut \xc3", &long] {
        let literal = Literal { mode: LiteralMode::Utf8, ..literal() };
        let what =
            Encrypt { recipients: &recipients, literal: literal.clone(), ..encrypt_of(Protection::SeipdV1) };
        refused(pipeline::encrypt(input(bytes, true), Memory::default().output(), &what, &run(None, 2)));
        for kind in [SignatureKind::Inline, SignatureKind::Detached, SignatureKind::Cleartext] {
            let what = Sign { is_text: true, literal: literal.clone(), ..sign_by(&signers, kind) };
            refused(pipeline::sign(input(bytes, true), Memory::default().output(), &what, &run(None, 2)));
        }
    }
}

#[test]
fn of_two_packets_for_one_key_the_one_that_fits_is_found() {
    let ada = Person::new("Ada", false);
    let keys = Keys { private: ada.keys.clone(), passphrases: Vec::new() };
    let recipients = ada.encryption_keys();
    for protection in [Protection::SeipdV1, seipd_v2(AeadAlgorithm::Ocb, 8)] {
        let form = form(protection);
        let what = Encrypt { recipients: &recipients, ..encrypt_of(protection) };
        let message = sealed(input(b"text", true), &what, &run(None, 1)).unwrap();
        let other = || for_recipient(&recipients[0], &openpgp::session_key::generate(form), form).unwrap();
        let message = [other(), other(), message].concat();
        let (read, _) = opened(&message, &decrypt_with(&keys), &run(None, 1)).unwrap();
        assert_eq!(read, b"text");
    }
}

#[test]
fn an_unknown_critical_packet_beside_a_signature_is_not_passed_over() {
    let ada = Person::new("Ada", false);
    let known = Known(vec![ada.certificate.clone()]);
    let signers = [ada.signer()];
    let what = Sign { armor: false, ..sign_by(&signers, SignatureKind::Detached) };
    let signature = signed(b"text", &what);
    for (tag, is_read) in [(22, false), (39, false), (40, true), (63, true)] {
        let signatures = [signature.clone(), packet(tag, b"?")].concat();
        let verify = Verify { detached: Some(&signatures), ..verify_with(&known) };
        let result = pipeline::verify(input(b"text", true), None, &verify, &run(None, 1));
        assert_eq!(result.is_ok(), is_read, "{tag}: {result:?}");
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
