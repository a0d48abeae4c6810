//! Keys by themselves: the samples of the standards, every kind of new key, and everything that must be refused.

use crate::keys_support::{
    self, FORM, now, one, one_private, packets, passphrase, passphrase_packet, public_packet, signatures,
};
use openpgp::body::grammar::{Limits, Outer, OuterEvent};
use openpgp::certificate::{Certificate, CertificateError, Unusable, is_announced, strongest_form};
use openpgp::form::CHUNK_BITS_WRITTEN;
use openpgp::generate::{
    CertificateAlgorithms, NewKey, Reason, add_user_id, expire, generate, revoke, revoke_subkey,
    revoke_user_id,
};
use openpgp::private_key::{Locking, PrivateCertificate};
use openpgp::session_key::{
    self, ARGON2_MEMORY_BITS_MAX, ARGON2_WORK_MAX, S2k, SessionKeyPacket, check_demands, for_passphrase,
    for_recipient, open_passphrase,
};
use openpgp::signature::{Checked, Checker, Context, INTENDED_MAX, Issuer, Maker, Signer, Verdict, hash_for};
use openpgp::{
    AeadAlgorithm, Fingerprint, Form, PrivateKey, PrivateKeyError, Protection, SymmetricKeyAlgorithm,
    Timestamp,
};
use pgp::armor::Dearmor;
use pgp::composed::{Message, PlainSessionKey};
use pgp::packet::{PacketHeader, Subpacket, SubpacketData, SymKeyEncryptedSessionKey};
use pgp::ser::Serialize;
use pgp::types::{KeyDetails, Tag};
use std::io::Read;
use std::sync::Arc;

const TEXT: &[u8] = b"what is said\nto nobody else\n";

macro_rules! sample {
    ($name:literal) => {
        include_bytes!(concat!("keys_samples/", $name, ".asc"))
    };
}

fn dearmored(armored: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    Dearmor::new(armored).read_to_end(&mut bytes).unwrap();
    bytes
}

/// The text of a message, by its session key and another reader.
fn text(armored: &[u8], session_key: PlainSessionKey) -> Vec<u8> {
    let (message, _) = Message::from_armor(armored).unwrap();
    message.decrypt_with_session_key(session_key).unwrap().as_data_vec().unwrap()
}

fn later(seconds: u32) -> Timestamp {
    Timestamp::from_secs(now().as_secs() + seconds)
}

fn ago(seconds: u32) -> Timestamp {
    Timestamp::from_secs(now().as_secs() - seconds)
}

fn seipd_v2(cipher: SymmetricKeyAlgorithm, aead: AeadAlgorithm) -> Form {
    Form { cipher, protection: Protection::SeipdV2 { aead, chunk_bits: CHUNK_BITS_WRITTEN } }
}

fn plain(kind: CertificateAlgorithms, is_v6: bool) -> PrivateCertificate {
    let what = NewKey { kind, is_v6, announces_seipd_v2: is_v6, ..NewKey::new("a@b.example", ago(1000)) };
    generate(&what, None).unwrap()
}

fn primary(private: &PrivateCertificate) -> Arc<dyn PrivateKey> {
    private.unlock_key(&private.certificate().fingerprint(), None).unwrap()
}

fn signed(key: &Arc<dyn PrivateKey>, text: &[u8], made: Timestamp) -> Vec<u8> {
    let signer = Signer { key: Arc::clone(key), hash: hash_for(key.public(), &[]), user_id: None };
    let mut maker = Maker::new(&[signer], false, &[], made).unwrap();
    maker.update(text);
    maker.finish().unwrap()
}

fn checked(certificate: &Certificate, signature: &[u8], text: &[u8]) -> Checked {
    let certificate = Arc::new(certificate.clone());
    let mut checker = Checker::new();
    signatures(signature).into_iter().for_each(|signature| checker.signature(signature));
    text.chunks(5).for_each(|piece| checker.update(piece));
    let mut checked = checker.finish(&|_: &Issuer| vec![Arc::clone(&certificate)], &Context::Clear, now());
    assert_eq!(checked.len(), 1);
    checked.remove(0)
}

fn is_good(checked: &Checked) -> bool {
    matches!(checked.verdict, Verdict::Good { .. })
}

fn why(checked: &Checked) -> &str {
    match &checked.verdict {
        Verdict::Bad { why } => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn keys_of_rfc_9580_open_its_message() {
    let certificate = one_private(sample!("rfc9580-a4-key"));
    let armored = sample!("rfc9580-a8-x25519-ocb");
    let packet = public_packet(&dearmored(armored));
    let locked = one_private(sample!("rfc9580-a5-locked-key"));
    let pass = passphrase("correct horse battery staple");
    assert_eq!(locked.certificate(), certificate.certificate());
    assert_eq!(locked.unlock(Some(&passphrase("correct horse"))).unwrap_err(), PrivateKeyError::Locked);
    for keys in [certificate.unlock(None).unwrap(), locked.unlock(Some(&pass)).unwrap()] {
        let key = keys.iter().find(|key| session_key::matches(&packet, key.public())).unwrap();
        assert_eq!(text(armored, key.open(&packet).unwrap()), b"Hello, world!");
    }
    let valid = certificate.certificate().check(now()).unwrap();
    assert!(valid.announces().seipd_v2);
    assert_eq!(valid.user_ids(), [""; 0]);
    assert_eq!(valid.encryption_keys().unwrap().len(), 1);
}

/// The first two octets of the hash are a hint: those of version 4 are not looked at, those of version 6 must be right
/// (RFC 9580, 5.2.4).
#[test]
fn wrong_hash_octets_make_signatures_of_keys_invalid_in_version_6_alone() {
    for is_v6 in [false, true] {
        let whole = plain(CertificateAlgorithms::Curve25519, is_v6).certificate().to_bytes();
        let mut changed = Vec::new();
        let mut count = 0;
        for (header, mut body) in packets(&whole) {
            if header.tag() == Tag::Signature {
                let length = |at: usize| match is_v6 {
                    true => 4 + u32::from_be_bytes(body[at..at + 4].try_into().unwrap()) as usize,
                    false => 2 + usize::from(u16::from_be_bytes(body[at..at + 2].try_into().unwrap())),
                };
                let hint = 4 + length(4) + length(4 + length(4));
                body[hint] ^= 0xFF;
                count += 1;
            }
            header.to_writer(&mut changed).unwrap();
            changed.extend(body);
        }
        assert!(count >= 2, "a user id or the key, and a subkey, are bound");
        let changed = one(&changed);
        let checked = changed.check(now());
        let keys =
            checked.as_ref().ok().and_then(|valid| valid.encryption_keys().ok().map(|keys| keys.len()));
        assert_eq!(keys, (!is_v6).then_some(1), "version 6: {is_v6}");
        assert_eq!(one(&whole).check(now()).unwrap().encryption_keys().unwrap().len(), 1);
    }
}

#[test]
fn passphrases_of_rfc_9580_open_its_messages() {
    let pass = passphrase("password");
    for armored in [
        &sample!("rfc9580-aead-eax")[..],
        sample!("rfc9580-aead-ocb"),
        sample!("rfc9580-aead-gcm"),
        sample!("rfc9580-argon2-aes256"),
    ] {
        let packet = passphrase_packet(&dearmored(armored));
        let opened = open_passphrase(&packet, &pass).unwrap();
        assert_eq!(text(armored, opened.session_key), b"Hello, world!");
        if let Some(wrong) = open_passphrase(&packet, &passphrase("passwort")) {
            assert!(wrong.is_guess, "only version 4 cannot tell");
        }
    }
}

#[test]
fn post_quantum_keys_of_rfc_9980_open_and_verify() {
    for (key, armored) in [
        (&sample!("rfc9980-v4-eddsa-key")[..], &sample!("rfc9980-v4-eddsa-message-seipdv1")[..]),
        (sample!("rfc9980-v6-mldsa-65-key"), sample!("rfc9980-v6-mldsa-65-message")),
    ] {
        let certificate = one_private(key);
        let packet = public_packet(&dearmored(armored));
        let keys = certificate.unlock(None).unwrap();
        let key = keys.iter().find(|key| session_key::matches(&packet, key.public())).unwrap();
        assert_eq!(text(armored, key.open(&packet).unwrap()), b"Testing\n");
    }
    let certificate = one(sample!("rfc9980-v6-mldsa-65-key"));
    let signature = dearmored(sample!("rfc9980-v6-mldsa-65-signature"));
    let good = checked(&certificate, &signature, b"Testing\n");
    assert!(is_good(&good), "{good:?}");
    assert!(!is_good(&checked(&certificate, &signature, b"Testing")));
}

#[test]
fn every_kind_of_new_key_signs_and_opens() {
    for (kind, is_v6) in [
        (CertificateAlgorithms::Curve25519, false),
        (CertificateAlgorithms::Curve25519, true),
        (CertificateAlgorithms::Rsa { bits: 2048 }, false),
        (CertificateAlgorithms::Rsa { bits: 3072 }, true),
        (CertificateAlgorithms::P256, false),
        (CertificateAlgorithms::P384, true),
        (CertificateAlgorithms::P521, false),
        (CertificateAlgorithms::Curve448, true),
        (CertificateAlgorithms::MlDsa65MlKem768, true),
        (CertificateAlgorithms::MlDsa87MlKem1024, true),
    ] {
        let name = format!("{kind:?}, version 6: {is_v6}");
        let pass = passphrase("open me");
        let what = NewKey { kind, is_v6, announces_seipd_v2: is_v6, ..NewKey::new("a@b.example", ago(1000)) };
        let made = generate(&what, Some(&pass)).unwrap();
        let private = one_private(made.to_armor().as_bytes());
        assert_eq!(private.to_bytes(), made.to_bytes(), "{name}");
        assert_eq!(private.unlock(None).unwrap_err(), PrivateKeyError::Locked, "{name}");
        let keys = private.unlock(Some(&pass)).unwrap();
        let certificate = one(&private.certificate().to_bytes());
        let valid = certificate.check(now()).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert_eq!(valid.user_ids(), ["a@b.example"], "{name}");

        let form = strongest_form(&[valid.announces()]);
        assert_eq!(matches!(form.protection, Protection::SeipdV2 { .. }), is_v6, "{name}");
        assert!(is_announced(form, &valid.announces()), "{name}");
        for form in [form, FORM, seipd_v2(SymmetricKeyAlgorithm::AES128, AeadAlgorithm::Ocb)] {
            for is_hidden in [false, true] {
                let session_key = session_key::generate(form);
                let mut key = valid.encryption_keys().unwrap().remove(0);
                key.is_hidden = is_hidden;
                let packet = public_packet(&for_recipient(&key, &session_key, form).unwrap());
                assert!(session_key::matches(&packet, keys[1].public()), "{name}");
                assert!(
                    !session_key::matches(&packet, keys[0].public())
                        || matches!(kind, CertificateAlgorithms::Rsa { .. }) && is_hidden
                );
                assert_eq!(keys[1].open(&packet).unwrap(), session_key, "{name} {form}");
            }
        }
        let signature = signed(&keys[0], TEXT, now());
        let good = checked(&certificate, &signature, TEXT);
        assert!(is_good(&good), "{name}: {good:?}");
        assert!(why(&checked(&certificate, &signature, b"other")).contains("does not hold"), "{name}");
    }
}

#[test]
fn passphrases_seal_and_open_every_form() {
    let pass = passphrase("open me");
    let ciphers =
        [SymmetricKeyAlgorithm::AES128, SymmetricKeyAlgorithm::AES192, SymmetricKeyAlgorithm::AES256];
    let mut forms = vec![FORM, Form { cipher: SymmetricKeyAlgorithm::TripleDES, ..FORM }];
    for cipher in ciphers {
        for aead in [AeadAlgorithm::Eax, AeadAlgorithm::Ocb, AeadAlgorithm::Gcm] {
            forms.push(seipd_v2(cipher, aead));
        }
        for aead in [AeadAlgorithm::Ocb, AeadAlgorithm::Eax] {
            let protection = Protection::GnupgAead { aead, chunk_bits: CHUNK_BITS_WRITTEN };
            forms.push(Form { cipher, protection });
        }
    }
    let fast = S2k::Iterated { count: 0 };
    for form in forms {
        let session_key = session_key::generate(form);
        let sealed = for_passphrase(&pass, &session_key, form, fast).unwrap();
        let opened = open_passphrase(&read_packet(&sealed), &pass).unwrap();
        assert_eq!(session_key::bytes(&opened.session_key), session_key::bytes(&session_key), "{form}");
        assert_eq!(opened.is_guess, form.protection == Protection::SeipdV1, "{form}");
        if !opened.is_guess {
            assert!(open_passphrase(&read_packet(&sealed), &passphrase("open you")).is_none(), "{form}");
            let mut changed = sealed.clone();
            *changed.last_mut().unwrap() ^= 1;
            assert!(open_passphrase(&read_packet(&changed), &pass).is_none(), "{form}");
        }
    }
}

/// A packet for a passphrase as messages are read.
fn read_packet(bytes: &[u8]) -> SymKeyEncryptedSessionKey {
    let mut outer = Outer::new(Limits { nesting_max: 1, packets_max: 1 });
    match outer.step(bytes).unwrap().event {
        OuterEvent::SessionKey(SessionKeyPacket::Passphrase(packet)) => packet,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_passphrase_packet_that_is_not_served_says_so() {
    let sealed =
        for_passphrase(&passphrase("p"), &session_key::generate(FORM), FORM, S2k::Iterated { count: 0 })
            .unwrap();
    assert_eq!(session_key::unserved(&read_packet(&sealed)), None);
    let at = sealed.iter().position(|octet| *octet == 4).unwrap();
    for (at, octet, named) in [(at, 9, "version 9"), (at + 1, 99, "cipher")] {
        let mut changed = sealed.clone();
        changed[at] = octet;
        let said = session_key::unserved(&read_packet(&changed)).unwrap();
        assert!(said.contains(named), "{said}");
    }
}

#[test]
fn signatures_that_name_their_recipients_hold_for_these_alone() {
    let (alice, bob) =
        (plain(CertificateAlgorithms::Curve25519, false), plain(CertificateAlgorithms::Curve25519, true));
    let certificate = Arc::new(alice.certificate().clone());
    let (own, other) = (bob.certificate().fingerprint(), certificate.fingerprint());
    let signed_for = |recipients: &[Fingerprint]| {
        let key = primary(&alice);
        let signer = Signer { hash: hash_for(key.public(), &[]), key, user_id: None };
        let mut maker = Maker::new(&[signer], false, recipients, ago(10)).unwrap();
        maker.update(TEXT);
        maker.finish().unwrap()
    };
    let holds = |signature: &[u8], context: &Context| {
        let mut checker = Checker::new();
        signatures(signature).into_iter().for_each(|signature| checker.signature(signature));
        checker.update(TEXT);
        let checked = checker.finish(&|_: &Issuer| vec![Arc::clone(&certificate)], context, now());
        is_good(&checked[0])
    };
    let opened_by = |fingerprint: &Fingerprint| Context::Encrypted { opened_by: Some(fingerprint.clone()) };
    let (to_none, to_both) = (signed_for(&[]), signed_for(&[other.clone(), own.clone()]));
    let to_other = signed_for(std::slice::from_ref(&other));
    let too_many = signed_for(&vec![other.clone(); INTENDED_MAX + 1]);
    for (signature, here, passed_on, in_the_open) in [
        (&to_none, true, true, true),
        (&to_both, true, true, false),
        (&to_other, false, true, false),
        (&too_many, true, true, true),
    ] {
        assert_eq!(holds(signature, &opened_by(&own)), here);
        assert_eq!(holds(signature, &opened_by(&other)), passed_on);
        assert_eq!(holds(signature, &Context::Clear), in_the_open);
        // Who has a passphrase or the session key is not told by any key.
        assert!(holds(signature, &Context::Encrypted { opened_by: None }));
    }
}

#[test]
fn another_makers_name_beside_the_right_one_hides_nothing() {
    let private = plain(CertificateAlgorithms::Curve25519, false);
    let certificate = Arc::new(private.certificate().clone());
    let other = plain(CertificateAlgorithms::Curve25519, false).certificate().fingerprint();
    let signature = signed(&primary(&private), TEXT, ago(10));
    let known = |issuer: &Issuer| match issuer {
        Issuer::Fingerprint(fingerprint) if !certificate.has_key(fingerprint) => Vec::new(),
        _ => vec![Arc::clone(&certificate)],
    };
    for more in [1, 20] {
        let mut changed = signatures(&signature).remove(0);
        for _ in 0..more {
            let data = SubpacketData::IssuerFingerprint(other.clone());
            changed.unhashed_subpacket_insert(0, Subpacket::regular(data).unwrap()).unwrap();
        }
        let mut checker = Checker::new();
        checker.signature(changed);
        checker.update(TEXT);
        let checked = checker.finish(&known, &Context::Clear, now());
        assert!(is_good(&checked[0]), "{more} more: {:?}", checked[0]);
    }
}

#[test]
fn a_primary_key_that_is_too_short_binds_nothing() {
    for (bits, is_read) in [(512, false), (768, false), (1024, true)] {
        let mut body = vec![4, 0x60, 0, 0, 0, 1];
        body.extend(u16::try_from(bits).unwrap().to_be_bytes());
        body.extend(vec![0xff; bits / 8]);
        body.extend([0, 17, 1, 0, 1]);
        let header = PacketHeader::new_fixed(Tag::PublicKey, u32::try_from(body.len()).unwrap());
        let certificate = one(&[header.to_bytes().unwrap(), body].concat());
        let refused = certificate.check(now()).unwrap_err();
        match is_read {
            true => assert!(matches!(refused, Unusable::Unbound { .. }), "{bits}: {refused}"),
            false => assert!(refused.to_string().contains(&format!("{bits} bits")), "{bits}: {refused}"),
        }
    }
}

#[test]
fn what_is_critical_and_unknown_is_not_passed_over_and_long_user_ids_are() {
    let certificate = plain(CertificateAlgorithms::Curve25519, false).certificate().clone();
    let with = |tag: Tag, body: &[u8]| {
        let header = PacketHeader::new_fixed(tag, u32::try_from(body.len()).unwrap());
        let packet = [header.to_bytes().unwrap(), body.to_vec()].concat();
        Certificate::parse_all(&[certificate.to_bytes(), packet].concat()).map(|mut all| all.remove(0))
    };
    for number in [22, 39] {
        let failed = with(Tag::from(number), b"what is this").unwrap_err();
        assert!(failed.to_string().contains(&format!("type {number}, which is critical")), "{failed}");
    }
    for passed_over in [Tag::from(40), Tag::from(60), Tag::Marker] {
        assert_eq!(with(passed_over, b"PGP"), Ok(certificate.clone()), "{passed_over:?}");
    }
    assert_eq!(with(Tag::UserId, &[b'x'; 16 << 10]).unwrap().user_ids().len(), 2);
    assert_eq!(with(Tag::UserId, &[b'x'; (16 << 10) + 1]).unwrap().user_ids().len(), 1);
}

#[test]
fn absurd_argon2_is_refused_before_it_is_begun() {
    let form = seipd_v2(SymmetricKeyAlgorithm::AES256, AeadAlgorithm::Ocb);
    let session_key = session_key::generate(form);
    let small = S2k::Argon2 { passes: 1, lanes: 1, memory_bits: 4 };
    let pass = passphrase("p");
    let sealed = for_passphrase(&pass, &session_key, form, small).unwrap();
    assert!(open_passphrase(&passphrase_packet(&sealed), &pass).is_some());
    // Version, count, cipher, mode, length, type and salt stand before passes, lanes and memory.
    let at = sealed.iter().position(|octet| *octet == 6).unwrap() + 5 + 1 + 16;
    assert_eq!(sealed[at..at + 3], [1, 1, 4]);
    for [passes, lanes, memory_bits] in [[1, 1, 31], [255, 1, 21], [1, 255, 20], [5, 1, 21]] {
        let mut absurd = sealed.clone();
        absurd[at..at + 3].copy_from_slice(&[passes, lanes, memory_bits]);
        assert!(open_passphrase(&passphrase_packet(&absurd), &pass).is_none());
        let packet = SessionKeyPacket::Passphrase(passphrase_packet(&absurd));
        check_demands(&[packet]).unwrap_err();
    }
    // The packets of a message share one bound.
    let packets = |[passes, lanes, memory_bits]: [u8; 3], count: usize| {
        let mut one = sealed.clone();
        one[at..at + 3].copy_from_slice(&[passes, lanes, memory_bits]);
        vec![SessionKeyPacket::Passphrase(passphrase_packet(&one)); count]
    };
    check_demands(&[]).unwrap();
    check_demands(&packets([1, 4, ARGON2_MEMORY_BITS_MAX], 4)).unwrap();
    check_demands(&packets([3, 4, 16], 32)).unwrap();
    for (demand, count) in [([1, 4, ARGON2_MEMORY_BITS_MAX], 5), ([4, 4, 20], 3), ([255, 1, 21], 32)] {
        let demands = check_demands(&packets(demand, count)).unwrap_err();
        assert!(demands.work > ARGON2_WORK_MAX, "{demands}");
    }
    assert!(check_demands(&packets([1, 17, 8], 1)).unwrap_err().is_too_wide);
}

#[test]
fn several_signers_share_a_pass() {
    let privates = [
        plain(CertificateAlgorithms::Curve25519, false),
        plain(CertificateAlgorithms::Curve25519, true),
        plain(CertificateAlgorithms::P384, false),
    ];
    let keys: Vec<_> = privates.iter().map(primary).collect();
    let signers: Vec<_> = keys
        .iter()
        .map(|key| Signer { key: Arc::clone(key), hash: hash_for(key.public(), &[]), user_id: None })
        .collect();
    let mut maker = Maker::new(&signers, true, &[], now()).unwrap();
    let before = maker.one_pass();
    maker.update(TEXT);
    let after = maker.finish().unwrap();

    let mut checker = Checker::new();
    for (header, body) in keys_support::packets(&before) {
        checker.one_pass(&pgp::packet::OnePassSignature::try_from_reader(header, &body[..]).unwrap());
    }
    checker.update(&String::from_utf8(TEXT.to_vec()).unwrap().replace('\n', "\r\n").into_bytes());
    for signature in signatures(&after) {
        assert!(checker.trailing(signature));
    }
    assert!(!checker.trailing(signatures(&after).remove(0)), "one more than was announced");
    let known: Vec<_> = privates[..2].iter().map(|it| Arc::new(it.certificate().clone())).collect();
    let found = |issuer: &Issuer| {
        known
            .iter()
            .filter(|it| matches!(issuer, Issuer::Fingerprint(fpr) if it.has_key(fpr)))
            .cloned()
            .collect()
    };
    let checked = checker.finish(&found, &Context::Clear, now());
    assert!(is_good(&checked[0]) && is_good(&checked[1]), "{checked:?}");
    assert_eq!(checked[2].verdict, Verdict::Unknown);
    assert_eq!(checked[2].issuer, Issuer::Fingerprint(privates[2].certificate().fingerprint()));
    assert!(checked.iter().all(|it| it.is_text));
}

#[test]
fn an_announced_signature_that_does_not_come_is_bad() {
    let private = plain(CertificateAlgorithms::Curve25519, false);
    let key = primary(&private);
    let signer = Signer { hash: hash_for(key.public(), &[]), key, user_id: None };
    let maker = Maker::new(&[signer], false, &[], now()).unwrap();
    let mut checker = Checker::new();
    for (header, body) in keys_support::packets(&maker.one_pass()) {
        checker.one_pass(&pgp::packet::OnePassSignature::try_from_reader(header, &body[..]).unwrap());
    }
    let checked = checker.finish(&|_: &Issuer| Vec::new(), &Context::Clear, now());
    assert!(why(&checked[0]).contains("does not follow"));
}

#[test]
fn signatures_count_only_while_their_key_does() {
    let private = plain(CertificateAlgorithms::Curve25519, false);
    let key = primary(&private);
    let certificate = private.certificate();
    let old = signed(&key, TEXT, ago(500));
    assert!(is_good(&checked(certificate, &old, TEXT)));
    assert!(why(&checked(certificate, &signed(&key, TEXT, later(500)), TEXT)).contains("future"));
    assert!(why(&checked(certificate, &signed(&key, TEXT, ago(2000)), TEXT)).contains("not valid before"));

    let expired = expire(certificate, key.as_ref(), Some(ago(100)), ago(900)).unwrap();
    assert!(is_good(&checked(&expired, &old, TEXT)));
    assert!(why(&checked(&expired, &signed(&key, TEXT, ago(50)), TEXT)).contains("expired"));

    let retired = revoke(certificate, key.as_ref(), Reason::Retired, "", ago(100)).unwrap();
    assert!(is_good(&checked(&retired, &old, TEXT)));
    assert!(why(&checked(&retired, &signed(&key, TEXT, ago(50)), TEXT)).contains("retired"));
    for reason in [Reason::Compromised, Reason::None] {
        let lost = revoke(certificate, key.as_ref(), reason, "a laptop", ago(100)).unwrap();
        assert!(why(&checked(&lost, &old, TEXT)).contains("a laptop"));
    }
    // The subkey that opens session keys does not sign.
    let opener = private.unlock(None).unwrap().remove(1);
    assert!(matches!(
        opener.sign(openpgp::HashAlgorithm::Sha256, &[0; 32]),
        Err(PrivateKeyError::Unsupported { .. })
    ));
}

#[test]
fn of_self_signatures_of_one_second_the_last_one_counts() {
    for is_v6 in [false, true] {
        let private = plain(CertificateAlgorithms::Curve25519, is_v6);
        let key = primary(&private);
        let second = private.certificate().created();
        let ends = [Some(later(1000)), None, Some(later(500)), Some(later(2000))];
        let mut certificate = private.certificate().clone();
        for end in ends {
            certificate = expire(&certificate, key.as_ref(), end, second).unwrap();
            assert_eq!(certificate.check(now()).unwrap().expiration(), end, "{is_v6}");
        }
        // Who merges the change into what it had before agrees.
        let mut copy = private.certificate().clone();
        copy.merge(&certificate).unwrap();
        assert_eq!(copy.check(now()).unwrap().expiration(), ends[3]);
        // A signature of an earlier second stays behind, wherever it stands.
        let earlier = ago(2);
        let next = Timestamp::from_secs(earlier.as_secs() + 1);
        let before = expire(&certificate, key.as_ref(), None, next).unwrap();
        let after = expire(&before, key.as_ref(), Some(later(3000)), earlier).unwrap();
        assert_eq!(after.check(now()).unwrap().expiration(), None);
    }
}

#[test]
fn changes_change_what_they_say() {
    for is_v6 in [false, true] {
        let private = plain(CertificateAlgorithms::Curve25519, is_v6);
        let key = primary(&private);
        let certificate = private.certificate();
        let fingerprint = certificate.fingerprint();
        let end = later(1000);
        let limited = expire(certificate, key.as_ref(), Some(end), ago(10)).unwrap();
        assert_eq!(limited.check(now()).unwrap().expiration(), Some(end));
        let refused = limited.check(end).unwrap_err();
        assert_eq!(refused, Unusable::Expired { fingerprint: fingerprint.clone(), expired: end });
        assert!(refused.to_string().contains(&format!("{fingerprint:X}")));
        let endless = expire(&limited, key.as_ref(), None, ago(5)).unwrap();
        assert_eq!(endless.check(end).unwrap().expiration(), None);
        // A copy from before takes the change over, and nothing is lost.
        let mut copy = certificate.clone();
        copy.merge(&endless).unwrap();
        copy.merge(&endless).unwrap();
        assert_eq!(copy, endless);

        let two = add_user_id(&endless, key.as_ref(), "c@d.example", ago(4)).unwrap();
        assert_eq!(two.check(now()).unwrap().user_ids(), ["a@b.example", "c@d.example"]);
        assert!(add_user_id(&two, key.as_ref(), "c@d.example", now()).is_err());
        let one = revoke_user_id(&two, key.as_ref(), "a@b.example", "", ago(3)).unwrap();
        assert_eq!(one.check(now()).unwrap().user_ids(), ["c@d.example"]);
        assert!(revoke_user_id(&two, key.as_ref(), "e@f.example", "", now()).is_err());

        let subkey = certificate.keys()[1].fingerprint();
        let without =
            revoke_subkey(&one, key.as_ref(), &subkey, Reason::Compromised, "gone", ago(2)).unwrap();
        let refused = without.check(now()).unwrap().encryption_keys().unwrap_err();
        assert!(
            matches!(&refused, Unusable::Revoked { fingerprint, .. } if *fingerprint == subkey),
            "{refused:?}"
        );
        assert!(!without.check(now()).unwrap().signing_keys().unwrap().is_empty());
    }
}

#[test]
fn another_key_changes_nothing() {
    let (mine, other) =
        (plain(CertificateAlgorithms::Curve25519, false), plain(CertificateAlgorithms::Curve25519, false));
    let stranger = primary(&other);
    assert!(revoke(mine.certificate(), stranger.as_ref(), Reason::None, "", now()).is_err());
    let mut certificate = mine.certificate().clone();
    assert!(matches!(certificate.merge(other.certificate()), Err(CertificateError::Different { .. })));

    // A stranger's revocation, moved over, has no effect.
    let revoked = revoke(other.certificate(), stranger.as_ref(), Reason::None, "", now()).unwrap();
    let mut forged = certificate.inner().clone();
    forged.details.revocation_signatures = revoked.inner().details.revocation_signatures.clone();
    Certificate::new(forged).check(now()).unwrap();
}

#[test]
fn a_key_for_signatures_alone_has_no_other() {
    for (kind, is_v6) in [
        (CertificateAlgorithms::Curve25519, true),
        (CertificateAlgorithms::P256, false),
        (CertificateAlgorithms::Rsa { bits: 2048 }, false),
    ] {
        let what = NewKey { kind, is_v6, is_signing_only: true, ..NewKey::new("a@b.example", ago(1000)) };
        let private = generate(&what, None).unwrap();
        let certificate = private.certificate();
        assert_eq!((certificate.keys().len(), private.locking().len()), (1, 1));
        let valid = certificate.check(now()).unwrap();
        assert!(matches!(valid.encryption_keys(), Err(Unusable::NoEncryptionKey { .. })));
        let signature = signed(&primary(&private), TEXT, ago(10));
        assert!(is_good(&checked(certificate, &signature, TEXT)));
    }
}

#[test]
fn what_is_not_bound_is_not_used() {
    let (mine, other) =
        (plain(CertificateAlgorithms::Curve25519, false), plain(CertificateAlgorithms::Curve25519, false));
    let fingerprint = mine.certificate().fingerprint();
    // Without its user id's signature nothing binds the key.
    let mut bare = mine.certificate().inner().clone();
    bare.details.users.clear();
    assert_eq!(Certificate::new(bare).check(now()).unwrap_err(), Unusable::Unbound { fingerprint });
    // A stranger's subkey with its binding is not ours.
    let mut mixed = mine.certificate().inner().clone();
    mixed.public_subkeys = other.certificate().inner().public_subkeys.clone();
    let refused = Certificate::new(mixed).check(now()).unwrap().encryption_keys().unwrap_err();
    let subkey = other.certificate().keys()[1].fingerprint();
    assert_eq!(refused, Unusable::Unbound { fingerprint: subkey });
    // Nor is a subkey without any.
    let mut alone = mine.certificate().inner().clone();
    alone.public_subkeys[0].signatures.clear();
    let refused = Certificate::new(alone).check(now()).unwrap().encryption_keys().unwrap_err();
    assert!(matches!(refused, Unusable::Unbound { .. }));
    // Without a subkey there is nothing to encrypt to.
    let mut none = mine.certificate().inner().clone();
    none.public_subkeys.clear();
    let refused = Certificate::new(none).check(now()).unwrap().encryption_keys().unwrap_err();
    assert!(matches!(refused, Unusable::NoEncryptionKey { .. }));
    // A key is not valid before it was made.
    assert!(matches!(mine.certificate().check(ago(2000)), Err(Unusable::NotYetValid { .. })));
}

#[test]
fn a_changed_bit_is_never_taken() {
    let private = plain(CertificateAlgorithms::Curve25519, false);
    let bytes = private.certificate().to_bytes();
    let subkey = private.certificate().keys()[1].fingerprint();
    for at in 0..8 * bytes.len() {
        let mut changed = bytes.clone();
        changed[at / 8] ^= 1 << (at % 8);
        let Ok(certificates) = Certificate::parse_all(&changed) else { continue };
        for certificate in certificates {
            let Ok(valid) = certificate.check(now()) else { continue };
            // What is left valid is what was signed.
            assert_eq!(certificate.fingerprint(), private.certificate().fingerprint(), "bit {at}");
            assert!(valid.user_ids() == ["a@b.example"], "bit {at}");
            for key in valid.encryption_keys().unwrap_or_default() {
                assert_eq!(key.key.fingerprint(), subkey, "bit {at}");
            }
        }
    }
}

#[test]
fn exchanged_halves_are_noticed() {
    // Keys of version 4 under a passphrase do not protect their public half: a changed one must not be computed with.
    for kind in [
        CertificateAlgorithms::Curve25519,
        CertificateAlgorithms::Rsa { bits: 2048 },
        CertificateAlgorithms::P256,
    ] {
        let pass = passphrase("p");
        let [mine, other] = [(), ()].map(|()| {
            let what = NewKey { kind, ..NewKey::new("a@b.example", ago(1000)) };
            generate(&what, Some(&pass)).unwrap()
        });
        let public = |private: &PrivateCertificate| {
            keys_support::packets(&private.certificate().to_bytes())[0].1.clone()
        };
        let (own, foreign) = (public(&mine), public(&other));
        let bytes = mine.to_bytes();
        let at = bytes.windows(own.len()).position(|window| window == own).unwrap();
        let mut mixed = bytes.to_vec();
        if own.len() == foreign.len() {
            mixed[at..at + own.len()].copy_from_slice(&foreign);
            let mixed = one_private(&mixed);
            let failed = mixed.unlock_key(&other.certificate().fingerprint(), Some(&pass)).unwrap_err();
            assert!(matches!(failed, PrivateKeyError::Malformed { .. }), "{kind:?}: {failed:?}");
        }
    }
}

#[test]
fn locks_are_taken_off_and_put_on() {
    let pass = passphrase("p");
    for is_v6 in [false, true] {
        let open = plain(CertificateAlgorithms::Curve25519, is_v6);
        assert!(!open.is_locked());
        assert!(open.locking().iter().all(|(_, locking)| *locking == Locking::Open));
        let locked = open.with_passphrase(None, Some(&pass)).unwrap();
        assert!(locked.is_locked());
        assert!(matches!(locked.with_passphrase(None, None), Err(PrivateKeyError::Locked)));
        assert!(matches!(locked.with_passphrase(Some(&passphrase("q")), None), Err(PrivateKeyError::Locked)));
        let again = one_private(&locked.to_bytes()).with_passphrase(Some(&pass), None).unwrap();
        assert_eq!(again.to_bytes(), open.to_bytes());
        assert!(!format!("{open:?}{again:?}").contains("Plain"), "nothing secret is shown");
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    for what in [
        NewKey { kind: CertificateAlgorithms::Rsa { bits: 1024 }, ..NewKey::new("a", now()) },
        NewKey { kind: CertificateAlgorithms::Rsa { bits: 2049 }, ..NewKey::new("a", now()) },
        NewKey { kind: CertificateAlgorithms::Rsa { bits: 8192 }, ..NewKey::new("a", now()) },
        NewKey { kind: CertificateAlgorithms::MlDsa65MlKem768, ..NewKey::new("a", now()) },
        NewKey { kind: CertificateAlgorithms::Curve448, ..NewKey::new("a", now()) },
        NewKey { expires: Some(ago(1)), ..NewKey::new("a", now()) },
    ] {
        assert!(generate(&what, None).is_err(), "{what:?}");
    }
    let curve = plain(CertificateAlgorithms::Curve25519, true)
        .certificate()
        .check(now())
        .unwrap()
        .encryption_keys()
        .unwrap()
        .remove(0);
    let form = Form { cipher: SymmetricKeyAlgorithm::TripleDES, ..FORM };
    assert!(for_recipient(&curve, &session_key::generate(form), form).is_err());
}

#[test]
fn rubbish_is_refused() {
    for bytes in [
        &b""[..],
        b"hello",
        b"-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n!!!!\n",
        &[0x99],
        &[0xff; 100],
        &[0x80; 100],
    ] {
        assert!(Certificate::parse_all(bytes).is_err(), "{bytes:?}");
        assert!(PrivateCertificate::parse_all(bytes).is_err(), "{bytes:?}");
    }
    let public = plain(CertificateAlgorithms::Curve25519, false).certificate().to_bytes();
    assert!(matches!(PrivateCertificate::parse_all(&public), Err(CertificateError::NotPrivate { .. })));
    for end in 0..public.len() {
        let _ = Certificate::parse_all(&public[..end]);
    }
    let bob = one_private(sample!("draft-bre-bob-key"));
    for end in (0..bob.to_bytes().len()).step_by(7) {
        let _ = PrivateCertificate::parse_all(&bob.to_bytes()[..end]);
    }
    bob.certificate().check(now()).unwrap().encryption_keys().unwrap();
}

/// Numbers from a seed (xorshift64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

/// Keys changed in a few places, cut, doubled and mixed: whatever comes of them, nothing panics.
#[test]
fn mutated_keys_end_no_program() {
    let pass = passphrase("p");
    let seeds: Vec<Vec<u8>> = [
        dearmored(sample!("rfc9580-a4-key")),
        dearmored(sample!("draft-bre-bob-key")),
        dearmored(sample!("rfc9980-v4-eddsa-key")),
        plain(CertificateAlgorithms::P256, false).to_bytes().to_vec(),
        plain(CertificateAlgorithms::Curve25519, false).to_bytes().to_vec(),
        plain(CertificateAlgorithms::Curve448, true).to_bytes().to_vec(),
    ]
    .into();
    let mutations: usize = std::env::var("MUTATIONS").map_or(2000, |count| count.parse().unwrap());
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    for _ in 0..mutations {
        let mut bytes = seeds[numbers.below(seeds.len())].clone();
        for _ in 0..=numbers.below(4) {
            let at = numbers.below(bytes.len());
            match numbers.below(6) {
                0 => bytes.truncate(at.max(1)),
                1 => bytes[at] = numbers.next() as u8,
                2 => bytes[at] ^= 1 << numbers.below(8),
                3 => bytes[at] = [0, 1, 0x7f, 0x80, 0xfe, 0xff][numbers.below(6)],
                4 => {
                    let piece = bytes[at..bytes.len().min(at + numbers.below(64))].to_vec();
                    let to = numbers.below(bytes.len());
                    bytes.splice(to..to, piece);
                }
                _ => {
                    let other = &seeds[numbers.below(seeds.len())];
                    let from = numbers.below(other.len());
                    bytes.splice(at.., other[from..].iter().copied());
                }
            }
            if bytes.is_empty() {
                bytes.push(0x99);
            }
        }
        for private in PrivateCertificate::parse_each(&bytes).unwrap_or_default().into_iter().flatten() {
            let written = private.to_bytes();
            assert_eq!(one_private(&written).to_bytes(), written);
            if private.locking().iter().all(|(_, locking)| *locking == Locking::Open) {
                let _ = private.unlock(Some(&pass));
            }
        }
        for certificate in Certificate::parse_each(&bytes).unwrap_or_default().into_iter().flatten() {
            let written = certificate.to_bytes();
            assert_eq!(one(&written).to_bytes(), written);
            if let Ok(valid) = certificate.check(now()) {
                let _ = (valid.encryption_keys(), valid.signing_keys(), strongest_form(&[valid.announces()]));
            }
        }
    }
}
