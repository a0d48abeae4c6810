//! Requests and certificates signed on real cards, read by OpenSSL; chains of OpenSSL's making, checked.

use certificates::{Chain, Checked, LabelSigner, Name, Severity, Wanted, request, self_signed};
use openssl::asn1::Asn1Time;
use openssl::bn::BigNum;
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};
use openssl::x509::{X509, X509Name, X509Req};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use system_tests::{Installation, rsa_generate, rsa_skeleton_for, settings};
use wire::Label;
use wire::control::Store;
use wire::verb::PkaUsage;

fn names(given: &[&str]) -> Vec<Name> {
    given.iter().map(|name| Name::parse(name).unwrap()).collect()
}

/// A home that serves, with keys under labels.
fn installation() -> Installation {
    let mut installation = Installation::stopped(&settings(1, 0));
    installation.start();
    installation.until_ready();
    let facility = installation.facility();
    let record = |label: &str, skeleton: &[u8]| {
        let made = facility.ask(0, &rsa_generate(skeleton)).unwrap();
        let token = made.got().generated_key_identifier;
        facility.record_create(Store::Pka, &Label::new(label).unwrap(), token).unwrap();
    };
    record("WEB.RSA", &rsa_skeleton_for(&facility, 2048, PkaUsage::TlsOnly));
    for (label, curve) in [
        ("WEB.P256", token::pka::ecc::EccCurve::P256),
        ("WEB.P384", token::pka::ecc::EccCurve::P384),
        ("WEB.P521", token::pka::ecc::EccCurve::P521),
    ] {
        let attributes = token::pka::ecc::EccAttributes::default();
        record(label, &token::pka::ecc::skeleton_token(curve, &attributes).unwrap());
    }
    installation
}

#[test]
fn what_a_card_signed_is_what_openssl_reads() {
    let installation = installation();
    let facility = installation.facility();
    let wanted = Wanted {
        names: names(&["shop.example", "*.shop.example", "192.0.2.7", "2001:db8::7"]),
        organization: Some("Shop & Söhne".to_owned()),
        country: Some("DE".to_owned()),
        for_clients: false,
    };
    for label in ["WEB.RSA", "WEB.P256", "WEB.P384"] {
        let label = Label::new(label).unwrap();
        let signer = LabelSigner::new(facility.clone(), 0, label.clone()).unwrap();
        let asked = X509Req::from_pem(request(&signer, &wanted).unwrap().as_bytes()).unwrap();
        let public = asked.public_key().unwrap();
        assert!(asked.verify(&public).unwrap(), "{label}: signed by the key that it asks for");
        assert_eq!(public.public_key_to_pem().unwrap(), signer.public().to_pem().unwrap().into_bytes());
        let text = String::from_utf8(asked.to_text().unwrap()).unwrap();
        for expected in
            ["DNS:shop.example, DNS:*.shop.example", "IP Address:192.0.2.7", "2001:DB8", "Digital Signature"]
        {
            assert!(text.contains(expected), "{label}: {expected} is missing: {text}");
        }

        let now = SystemTime::now();
        let pem = self_signed(&signer, &wanted, now, 30).unwrap();
        let made = X509::from_pem(pem.as_bytes()).unwrap();
        assert!(made.verify(&public).unwrap());
        let chain = Chain::from_pem(&pem).unwrap();
        let [described] = chain.described().try_into().unwrap();
        assert_eq!(described.names, ["shop.example", "*.shop.example", "192.0.2.7", "2001:db8::7"]);
        assert!(!described.is_authority && described.subject.contains("Shop & Söhne"));
        let asked_for = names(&["shop.example", "a.shop.example", "*.shop.example", "192.0.2.7"]);
        let against = Checked { now, soon: Duration::ZERO, names: &asked_for, roots: &[] };
        assert_eq!(chain.check(&against), []);
        assert_eq!(chain.check_key(&facility, 0, &label).unwrap(), None);
    }
    let rsa = LabelSigner::new(facility.clone(), 0, Label::new("WEB.RSA").unwrap()).unwrap();
    let pem = self_signed(&rsa, &wanted, SystemTime::now(), 1).unwrap();
    let other = Chain::from_pem(&pem).unwrap().check_key(&facility, 0, &Label::new("WEB.P256").unwrap());
    assert!(other.unwrap().unwrap().what.contains("not the one under WEB.P256"));

    // What is refused, and why.
    let refused = |error: &dyn std::fmt::Display, expected: &str| {
        assert!(error.to_string().contains(expected), "{error}");
    };
    let p521 = LabelSigner::new(facility.clone(), 0, Label::new("WEB.P521").unwrap()).err().unwrap();
    refused(&p521, "RSA, P-256 or P-384");
    let none = LabelSigner::new(facility, 0, Label::new("NO.SUCH").unwrap()).err().unwrap();
    refused(&none, "NO.SUCH");
    refused(&request(&rsa, &Wanted::default()).unwrap_err(), "no name");
    refused(&self_signed(&rsa, &wanted, SystemTime::now(), 0).unwrap_err(), "0 days");
    let country = Wanted { country: Some("Germany".to_owned()), ..wanted };
    refused(&request(&rsa, &country).unwrap_err(), "two capital letters");
}

/// An authority of OpenSSL's.
struct Authority {
    key: PKey<Private>,
    certificate: X509,
}

fn named(common: &str) -> X509Name {
    let mut name = X509Name::builder().unwrap();
    name.append_entry_by_nid(Nid::COMMONNAME, common).unwrap();
    name.build()
}

fn key() -> PKey<Private> {
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap()
}

/// A certificate: of a subject, by an issuer, from and until so many days from now.
fn issue(
    subject: &str,
    key: &PKey<Private>,
    issuer: Option<&Authority>,
    is_authority: bool,
    days: (i64, i64),
) -> X509 {
    let mut builder = X509::builder().unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
    builder.set_version(2).unwrap();
    builder.set_serial_number(&BigNum::from_u32(7).unwrap().to_asn1_integer().unwrap()).unwrap();
    builder.set_subject_name(&named(subject)).unwrap();
    builder.set_pubkey(key).unwrap();
    builder.set_not_before(&Asn1Time::from_unix(now + days.0 * 86_400).unwrap()).unwrap();
    builder.set_not_after(&Asn1Time::from_unix(now + days.1 * 86_400).unwrap()).unwrap();
    if is_authority {
        builder.append_extension(BasicConstraints::new().critical().ca().build().unwrap()).unwrap();
    } else {
        let context = builder.x509v3_context(None, None);
        let names = SubjectAlternativeName::new().dns(subject).build(&context).unwrap();
        builder.append_extension(names).unwrap();
    }
    match issuer {
        Some(authority) => {
            builder.set_issuer_name(authority.certificate.subject_name()).unwrap();
            builder.sign(&authority.key, MessageDigest::sha256()).unwrap();
        }
        None => {
            builder.set_issuer_name(&named(subject)).unwrap();
            builder.sign(key, MessageDigest::sha256()).unwrap();
        }
    }
    builder.build()
}

fn authority(name: &str, issuer: Option<&Authority>) -> Authority {
    let key = key();
    let certificate = issue(name, &key, issuer, true, (-1, 100));
    Authority { key, certificate }
}

fn pem(certificates: &[&X509]) -> String {
    certificates.iter().map(|one| String::from_utf8(one.to_pem().unwrap()).unwrap()).collect()
}

#[test]
fn each_fault_of_a_chain_is_found_and_a_good_one_has_none() {
    let root = authority("Root", None);
    let middle = authority("Middle", Some(&root));
    let leaf = issue("shop.example", &key(), Some(&middle), false, (-1, 50));
    let asked = names(&["shop.example"]);
    let roots = vec![root.certificate.to_der().unwrap()];
    let check = |text: &str, names: &[Name], roots: &[Vec<u8>]| {
        let soon = Duration::from_secs(14 * 86_400);
        Chain::from_pem(text).unwrap().check(&Checked { now: SystemTime::now(), soon, names, roots })
    };
    let good = pem(&[&leaf, &middle.certificate, &root.certificate]);
    assert_eq!(check(&good, &asked, &roots), []);
    assert_eq!(check(&good, &asked, &[]), []);
    assert_eq!(check(&pem(&[&leaf, &middle.certificate]), &asked, &roots), []);

    let found = |text: &str, names: &[Name], roots: &[Vec<u8>], expected: &str, severity: Severity| {
        let findings = check(text, names, roots);
        let is_there = findings.iter().any(|one| one.what.contains(expected) && one.severity == severity);
        assert!(is_there, "{expected}: {findings:?}");
    };
    let error = Severity::Error;
    found(&pem(&[&leaf]), &asked, &roots, "missing from the chain", error);
    found(&pem(&[&leaf]), &asked, &[], "its issuer is not in the file", Severity::Warning);
    found(
        &pem(&[&leaf, &root.certificate, &middle.certificate]),
        &asked,
        &[],
        "the next certificate is",
        error,
    );
    found(&good, &names(&["other.example"]), &roots, "not for other.example", error);
    found(&good, &names(&["*.shop.example"]), &roots, "not for *.shop.example", error);
    let stranger = authority("Root", None);
    let forged = issue("shop.example", &key(), Some(&stranger), false, (-1, 50));
    found(&pem(&[&forged, &root.certificate]), &asked, &[], "do not accept", error);
    for (days, expected, severity) in [
        ((-9, -1), "expired on", error),
        ((1, 9), "not valid before", error),
        ((-1, 5), "expires in", Severity::Warning),
    ] {
        let leaf = issue("shop.example", &key(), Some(&middle), false, days);
        found(&pem(&[&leaf, &middle.certificate]), &asked, &roots, expected, severity);
    }
    let weak = PKey::from_rsa(openssl::rsa::Rsa::generate(1024).unwrap()).unwrap();
    let leaf_of_weak = issue("shop.example", &weak, Some(&middle), false, (-1, 50));
    found(&pem(&[&leaf_of_weak, &middle.certificate]), &asked, &roots, "1024 bits", error);
    // An ordinary certificate that issues another.
    let between = key();
    let no_authority = issue("Middle", &between, Some(&root), false, (-1, 50));
    let by_none = Authority { key: between, certificate: no_authority };
    let leaf = issue("shop.example", &key(), Some(&by_none), false, (-1, 50));
    for roots in [&roots[..], &[]] {
        found(&pem(&[&leaf, &by_none.certificate]), &asked, roots, "it is no authority", error);
    }
    found(&pem(&[&leaf, &by_none.certificate]), &asked, &roots, "clients do not accept", error);
}

#[test]
fn files_that_are_no_chains_are_refused_by_name() {
    let refused = |text: &str, expected: &str| {
        let error = Chain::from_pem(text).err().unwrap().to_string();
        assert!(error.contains(expected), "{error}");
    };
    refused("", "no certificate in it");
    refused("-----BEGIN CERTIFICATE-----\nAAAA\n", "certificate 1 has no end");
    refused("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n", "not an X.509 certificate");
    let leaf = issue("shop.example", &key(), None, false, (-1, 50));
    let text = pem(&[&leaf]);
    assert_eq!(Chain::from_pem(&format!("text\n{text}more\n{text}")).unwrap().count(), 2);
    refused(&text.repeat(33), "more than 32");
    // Cut anywhere, it is an error and no panic.
    for length in 0..text.len() - 1 {
        assert!(Chain::from_pem(&text[..length]).is_err(), "cut to {length}");
    }
}
