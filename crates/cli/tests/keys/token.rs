//! `cryptand token show`: tokens of every family, from files, standard input, hexadecimal and base64, without a home;
//! damaged ones.

use super::bench::{Bench, hex};
use openssl::sha::{sha1, sha256};
use serde_json::Value;
use std::io::Write;
use std::process::{Command, Output, Stdio};
use token::control_vector::KeyForm;
use token::des::Origin;
use token::pka::ecc::{self, Derivation, EccAttributes, EccCurve, EccWrappedBuilder};
use token::pka::{
    self, AsymBuilder, ClearKey, Destination, Form, Source, TransportedBuilder, WrappedBuilder, clear_token,
    public_token, skeleton_token,
};
use token::variable::{Attributes, Completeness, Pedigree, VariableType, Wrapper};
use token::{AesToken, ControlVector, DesToken, KeyType, VariableToken};
use wire::control::TokenForm;

fn run(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_cryptand"))
        .args(["token", "show"])
        .args(arguments)
        .env("CRYPTAND_HOME", "/nonexistent/home")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that does not read its input closes it.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

/// The fields of a token, which are the same however it is given, and for people as for programs.
#[track_caller]
fn fields(token: &[u8]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, token).unwrap();
    let file = file.to_str().unwrap();
    let shown = |arguments: &[&str], input: &[u8]| -> Value {
        let output = run(arguments, input);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let one = shown(&["--json", file], b"");
    assert_eq!(one, shown(&["--json", "-"], token));
    assert_eq!(one, shown(&["--json", "-"], format!("\"hex:{}\"\n", hex(token)).as_bytes()));
    assert_eq!(one, shown(&["--json", "-"], (openssl::base64::encode_block(token) + "\n").as_bytes()));
    assert_eq!((&one["bytes"], &one["problem"]), (&token.len().into(), &Value::Null));
    let text = String::from_utf8(run(&[file], b"").stdout).unwrap();
    for (name, value) in one["fields"].as_object().unwrap() {
        let line = text.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap_or_default();
        assert!(line.ends_with(value.as_str().unwrap()), "{name}: {value} in\n{text}");
    }
    one["fields"].clone()
}

#[track_caller]
fn says(fields: &Value, expected: &[(&str, &str)]) {
    for (name, value) in expected {
        assert_eq!(fields[*name], *value, "{name} of {fields:#}");
    }
}

/// That a token is clear is said, and not what its key is.
#[track_caller]
fn hides(fields: &Value, key: &[u8]) {
    assert!(fields["key"].as_str().unwrap().starts_with("CLEAR"), "{fields:#}");
    assert!(!fields.to_string().contains(&hex(&key[..4])), "the key is shown: {fields:#}");
}

const MASTER: [u8; 8] = [0xAB; 8];

#[test]
fn des_tokens() {
    let vector = KeyType::Mac.vector_with(KeyForm::Double, ["ANSIX9.9", "NO-XPORT"]).unwrap();
    let skeleton = DesToken::skeleton(Origin::Internal, KeyForm::Double, vector).unwrap();
    let token = skeleton.with_key(MASTER, &[7; 16]).unwrap();
    says(
        &fields(&token.to_bytes()),
        &[
            ("kind", "DES, internal"),
            ("version", "X'00'"),
            ("type", "MAC"),
            ("usage", "NO-XPORT ANSIX9.9"),
            ("length", "16 bytes, two parts, which may be equal"),
            ("control vector", "11050C0003410000 11050C0003210000"),
            ("export", "prohibited, by the control vector (NO-XPORT)"),
            ("key", "wrapped under the sym master key"),
            ("master-key pattern", "ABABABABABABABAB"),
            ("wrapping", "compatible: CCA's original method (WRAP-ECB)"),
            ("token", "64 bytes"),
        ],
    );
    let own = skeleton.with_authenticated_key(MASTER, [7; 24]).unwrap();
    assert!(fields(&own.to_bytes())["wrapping"].as_str().unwrap().contains("earlier method"));
    let own = skeleton.with_checked_key(MASTER, [7; 24], [7; 7]).unwrap();
    says(&fields(&own.to_bytes()), &[("wrapping", "authenticated: this system's own")]);
    let leaving = KeyType::Mac.default_vector(KeyForm::Double).unwrap();
    let leaving = DesToken::skeleton(Origin::Internal, KeyForm::Double, leaving).unwrap();
    let bound = leaving.with_blocks_alone().unwrap().with_checked_key(MASTER, [7; 24], [7; 7]).unwrap();
    assert!(fields(&bound.to_bytes())["export"].as_str().unwrap().contains("exportability E"));
    let enhanced = skeleton.with_enhanced(true).with_key(MASTER, &[7; 16]).unwrap();
    assert!(fields(&enhanced.to_bytes())["wrapping"].as_str().unwrap().contains("WRAP-ENH"));
    let part = KeyType::Importer.vector_with(KeyForm::Double, ["KEY-PART", "OPIM"]).unwrap();
    let external = DesToken::skeleton(Origin::External, KeyForm::Double, part).unwrap();
    let found = fields(&external.with_key([0; 8], &[7; 16]).unwrap().to_bytes());
    says(&found, &[("kind", "DES, external"), ("type", "IMPORTER"), ("usage", "XPORT-OK KEY-PART OPIM")]);
    assert!(found["complete"].as_str().unwrap().starts_with("no"));
    assert!(found["key"].as_str().unwrap().contains("key-encrypting key"));
    assert_eq!(found["master-key pattern"], Value::Null);
    let zero = DesToken::skeleton(Origin::External, KeyForm::Triple, ControlVector::ZERO).unwrap();
    let expected = [("version", "X'01'"), ("key", "none: a skeleton"), ("export", "allowed")];
    says(&fields(&zero.to_bytes()), &expected);
    // Bits that no keyword sets are shown as bits.
    let odd = KeyType::Mac.default_vector(KeyForm::Single).unwrap().with_bits(0x9 << 60, true).unwrap();
    let odd = DesToken::skeleton(Origin::Internal, KeyForm::Single, odd).unwrap();
    says(&fields(&odd.to_bytes()), &[("usage", "what no keywords say: method 1001, bits 18-22 00110")]);
}

#[test]
fn aes_and_hmac_tokens() {
    let token = AesToken::wrapped(24, MASTER, TokenForm::Compatible, [7; 32]).unwrap().to_bytes();
    let expected = [
        ("kind", "AES, internal"),
        ("version", "X'04'"),
        ("length", "24 bytes"),
        ("key", "wrapped under the aes master key"),
        ("master-key pattern", "ABABABABABABABAB"),
    ];
    says(&fields(&token), &expected);
    hides(&fields(&AesToken::clear(&[0xE7; 16]).unwrap().to_bytes()), &[0xE7; 16]);
    says(&fields(&AesToken::skeleton(32).unwrap().to_bytes()), &[("key", "none: a skeleton")]);

    let words = ["ENCRYPT", "GCM", "NOEX-SYM", "XPRTCPAC"];
    let attributes = Attributes::new(VariableType::Cipher, words, None).unwrap();
    let attributes =
        attributes.with_user_data(b"theirs").unwrap().made(Pedigree::ClearParts, Completeness::OneMissing);
    let payload = VariableToken::default_payload(VariableType::Cipher);
    let internal = VariableToken::skeleton(Origin::Internal, payload, attributes.clone()).unwrap();
    let wrapped = internal.with_payload(Wrapper::Master([0xEF; 8]), vec![7; 64]).unwrap().to_bytes();
    says(
        &fields(&wrapped),
        &[
            ("kind", "AES, internal"),
            ("version", "X'05'"),
            ("type", "CIPHER"),
            ("usage", "ENCRYPT GCM"),
            ("usage fields", "8000 0400"),
            ("export", "NOEX-SYM XPRTUASY XPRTAASY NOEX-RAW XPRTCPAC XPRT-DES XPRT-AES XPRT-RSA"),
            ("management fields", "6800 8000 0404"),
            ("complete", "no: at least one more part is needed"),
            ("came from", "clear parts"),
            ("owner's data", "746865697273"),
            ("length", "16 bytes"),
            ("master-key pattern", "EFEFEFEFEFEFEFEF"),
        ],
    );
    let external = VariableToken::skeleton(Origin::External, payload, attributes).unwrap();
    for (under, payload, expected) in
        [(Wrapper::Key([1; 16]), 64, "key-encrypting key"), (Wrapper::Rsa(2), 256, "under an RSA key")]
    {
        let token = external.with_payload(under, vec![7; payload]).unwrap().to_bytes();
        let found = fields(&token);
        says(&found, &[("kind", "AES, external")]);
        assert!(found["key"].as_str().unwrap().contains(expected), "{found:#}");
    }
    let derived = Attributes::new(VariableType::Mac, ["VERIFY", "CMAC"], None).unwrap();
    let dky = Attributes::new(VariableType::DkyGenKy, ["D-MAC", "DKYL1"], Some(&derived)).unwrap();
    let payload = VariableToken::default_payload(VariableType::DkyGenKy);
    let token = VariableToken::skeleton(Origin::Internal, payload, dky).unwrap();
    let token = token.with_payload(Wrapper::Master(MASTER), vec![7; 80]).unwrap().to_bytes();
    let found = fields(&token);
    says(&found, &[("type", "DKYGENKY"), ("length", "hidden by the payload")]);
    assert!(found["derives"].as_str().unwrap().starts_with("MAC VERIFY CMAC"), "{found:#}");
    let hmac = Attributes::new(VariableType::Hmac, ["GENERATE", "SHA-256"], None).unwrap();
    let payload = VariableToken::default_payload(VariableType::Hmac);
    let token = VariableToken::skeleton(Origin::Internal, payload, hmac).unwrap();
    let found = fields(&token.with_clear_key(&[0xE7; 20]).unwrap().to_bytes());
    says(&found, &[("kind", "HMAC, internal"), ("usage", "GENERATE SHA-256"), ("length", "20 bytes")]);
    hides(&found, &[0xE7; 20]);
}

const N: [u8; 128] = [0xC5; 128];
const E: [u8; 3] = [1, 0, 1];
const D: [u8; 128] = [0xE7; 128];
const HALF: [u8; 64] = [0xE7; 64];

#[test]
fn tokens_of_key_pairs() {
    let hashes = &(sha1, sha256);
    let found = fields(&public_token(&N, &E).unwrap());
    let expected = [
        ("kind", "RSA, external"),
        ("modulus", "1024 bits"),
        ("exponent", "010001"),
        ("key", "public alone"),
    ];
    says(&found, &expected);
    assert!(found["sections"].as_str().unwrap().starts_with("X'04' RSA public key"));
    let me = ClearKey::Me { n: &N, e: &E, d: &D };
    let crt = pka::CrtComponents { p: &HALF, q: &HALF, dp: &HALF, dq: &HALF, u: &HALF };
    let crt = ClearKey::Crt { n: &N, e: &E, components: crt };
    let named = pka::Attributes {
        name: Some(*b"A.NAME                                                          "),
        ..pka::Attributes::default()
    };
    for (form, key, shown) in [
        (Form::Me1024, &me, "X'02': modulus and exponent, to 1024 bits"),
        (Form::Crt, &crt, "X'08': primes (CRT)"),
        (Form::MeAes, &me, "X'30': modulus and exponent"),
        (Form::CrtAes, &crt, "X'31': primes (CRT)"),
    ] {
        let found = fields(&clear_token(form, key, &named, hashes).unwrap());
        says(
            &found,
            &[("private key", shown), ("name", "A.NAME"), ("usage", "SIG-ONLY"), ("translation", "NO-XLATE")],
        );
        hides(&found, &D);
        let skeleton = skeleton_token(form, 1024, &E, &named, hashes).unwrap();
        says(&fields(&skeleton), &[("key", "none: a skeleton"), ("modulus", "1024 bits")]);
    }
    let attributes = pka::Attributes { usage: pka::Usage::KeyManagement, translatable: true, name: None };
    let builder =
        WrappedBuilder::new(Destination::Internal(Source::Random), &attributes, &N, &E, me.lengths(), hashes)
            .unwrap();
    let internal = builder.finish(&[7; 48], &MASTER, &vec![9; builder.payload_bytes()]);
    let expected = [
        ("kind", "RSA, internal"),
        ("usage", "KEY-MGMT"),
        ("translation", "XLATE-OK"),
        ("came from", "random numbers"),
        ("key", "wrapped under the apka master key"),
        ("master-key pattern", "ABABABABABABABAB"),
    ];
    says(&fields(&internal), &expected);

    let none = EccAttributes::default();
    let found = fields(&ecc::public_token(EccCurve::P256, &[4; 65]).unwrap());
    says(&found, &[("kind", "ECC, external"), ("curve", "P-256"), ("key", "public alone")]);
    hides(&fields(&ecc::clear_token(EccCurve::Ed25519, &[0xE7; 32], &[5; 32], &none).unwrap()), &[0xE7; 32]);
    let derivation = Derivation::from_bytes([0x02, 0x04, 0x01, 0x00]);
    let agreeing = EccAttributes { is_version_1: true, derivation, user_data: vec![0x5A; 3], ..none };
    let builder =
        EccWrappedBuilder::new(Destination::Internal(Source::Random), EccCurve::P521, &[4; 133], &agreeing)
            .unwrap();
    let found = fields(&builder.finish(&[7; 48], &MASTER, &vec![9; builder.payload_bytes()]));
    let expected = [
        ("kind", "ECC, internal"),
        ("curve", "P-521"),
        ("derives", "AES CIPHER keys of 256 bits"),
        ("owner's data", "5A5A5A"),
        ("master-key pattern", "ABABABABABABABAB"),
    ];
    says(&found, &expected);
    assert!(found["sections"].as_str().unwrap().contains("X'23' what is derived"), "{found:#}");
}

/// Private keys under other keys than the APKA master key.
#[test]
fn tokens_of_key_pairs_in_transit_and_of_older_forms() {
    let (hashes, none) = (&(sha1, sha256), pka::Attributes::default());
    let me = ClearKey::Me { n: &N, e: &E, d: &D };
    let crt = pka::CrtComponents { p: &HALF, q: &HALF, dp: &HALF, dq: &HALF, u: &HALF };
    let crt = ClearKey::Crt { n: &N, e: &E, components: crt };
    let transport = "wrapped under a key-encrypting key that is shared with another system";
    let (builder, secret) = TransportedBuilder::new(Form::Crt, &crt, &none, hashes).unwrap();
    let found = fields(&builder.finish(&[7; 20], &vec![9; secret.len()]));
    says(&found, &[("kind", "RSA, external"), ("private key", "X'08': primes (CRT)"), ("key", transport)]);
    let builder = WrappedBuilder::new(Destination::External, &none, &N, &E, me.lengths(), hashes).unwrap();
    let found = fields(&builder.finish(&[7; 48], &MASTER, &vec![9; builder.payload_bytes()]));
    says(&found, &[("key", transport), ("transport-key pattern", "ABABABABABABABAB")]);
    let attributes = EccAttributes::default();
    let builder =
        EccWrappedBuilder::new(Destination::External, EccCurve::P256, &[4; 65], &attributes).unwrap();
    let found = fields(&builder.finish(&[0; 48], &MASTER, &vec![9; builder.payload_bytes()]));
    says(
        &found,
        &[("kind", "ECC, external"), ("key", transport), ("transport-key pattern", "ABABABABABABABAB")],
    );

    let (mut builder, secret) = AsymBuilder::new(Source::Random, &crt, &none, hashes).unwrap();
    builder.put_key(&[0xCD; 16], &[7; pka::ASYM_OPK_FIELD_BYTES]);
    let found = fields(&builder.finish(&[7; 20], &vec![9; secret.len()]));
    let expected = [
        ("kind", "RSA, internal"),
        ("private key", "X'08': primes (CRT)"),
        ("key", "wrapped under the asym master key"),
        ("master-key pattern", "CDCDCDCDCDCDCDCDCDCDCDCDCDCDCDCD"),
    ];
    says(&found, &expected);
}

#[test]
fn key_blocks_labels_and_nothing() {
    let block = format!("D0112P0AE00E0000{}", "AB".repeat(48));
    for input in [block.clone(), block.clone() + "\n"] {
        let output = run(&["--json", "-"], input.as_bytes());
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        says(
            &found["fields"],
            &[
                ("kind", "TR-31 key block"),
                ("usage", "P0: enciphers PINs"),
                ("algorithm", "A: AES"),
                ("key version", "00"),
                ("token", "112 characters"),
            ],
        );
    }
    // One of hexadecimal digits alone is a block still.
    let block = format!("D0112D0AB00E0100KS08ABCD{}", "AB".repeat(44));
    let found: Value = serde_json::from_slice(&run(&["--json", "-"], block.as_bytes()).stdout).unwrap();
    says(
        &found["fields"],
        &[("usage", "D0: enciphers data"), ("optional blocks", "KS: key set identifier (8 characters)")],
    );
    // X9.143 has the methods of check values in digits.
    let optional = "KC0C018B9802KP0C00B63174";
    let block = format!("D0136K0AB00E0200{optional}{}", "AB".repeat(48));
    let found: Value = serde_json::from_slice(&run(&["--json", "-"], block.as_bytes()).stdout).unwrap();
    let expected = "KC: check value of the key, CMAC 8B9802 (12 characters), \
                    KP: check value of the protection key, ENC-ZERO B63174 (12 characters)";
    says(&found["fields"], &[("optional blocks", expected)]);
    let label = wire::Label::new("PAY.MAC.KEY1").unwrap().to_field();
    let output = run(&["--json", "-"], &label);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    says(&found["fields"], &[("label", "PAY.MAC.KEY1")]);
    says(&fields(&[0; 64]), &[("kind", "NULL token: no key"), ("token", "64 bytes")]);
    // What stands behind a token in its field is none of it.
    let aes = AesToken::skeleton(16).unwrap().to_bytes();
    says(&fields(&[&aes[..], &[0; 8]].concat()), &[("after the token", "8 bytes that are none of its own")]);
}

#[test]
fn what_is_damaged_or_no_token_is_refused_with_the_place() {
    let refused = |token: &[u8], expected: &str| {
        let output = run(&["-"], token);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(5), "{error}");
        assert!(
            error.starts_with("cryptand: standard input: ") && error.contains(expected),
            "{error}, without {expected}"
        );
        assert_eq!(error.lines().count(), 1, "{error}");
    };
    let mut token = AesToken::wrapped(16, [1; 8], TokenForm::Compatible, [7; 32]).unwrap().to_bytes();
    token[9] ^= 1;
    refused(&token, "token-validation value");
    token[9] ^= 1;
    token[48] = 1;
    token::tvv::seal(&mut token);
    refused(&token, "byte 48");
    refused(&token[..63], "63 bytes");
    let attributes = Attributes::new(VariableType::Cipher, [], None).unwrap();
    let payload = VariableToken::default_payload(VariableType::Cipher);
    let token = VariableToken::skeleton(Origin::Internal, payload, attributes).unwrap();
    let mut token = token.to_bytes().to_vec();
    token[31] = 1;
    refused(&token, "byte 31");
    let mut token = public_token(&N, &E).unwrap();
    token[8 + 6] = 7;
    refused(&token, "section X'04', offset");
    refused(&[0x03; 64], "byte 0 is X'03'");
    refused(b"\x1F\x00\x00\x08\x00\x00\x00\x00", "PKA token");
    refused(b"", "empty, and no token");
    refused(b"hello", "text, and neither a token");
    refused(b"D0113P0AE00E0000", "says 113 characters, of which 16");
    refused(&vec![b'x'; 60_000], "too long for a key token");
    // Of a form that is not served it prints what its header says.
    let me = ClearKey::Me { n: &N, e: &E, d: &D };
    let mut old =
        clear_token(Form::Me1024, &me, &pka::Attributes::default(), &(sha1, sha256)).unwrap().to_vec();
    (old[0], old[8 + 28]) = (0x1F, 0x02);
    let output = run(&["--json", "-"], &old);
    assert_eq!(output.status.code(), Some(5));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    says(&found["fields"], &[("kind", "PKA, internal"), ("key", "wrapped under the asym master key")]);
    assert!(found["problem"].as_str().unwrap().contains("not served"), "{found}");
    let output = run(&["/nonexistent/token"], b"");
    assert_eq!(output.status.code(), Some(7));
    assert!(String::from_utf8(output.stderr).unwrap().contains("/nonexistent/token"));
}

#[test]
fn a_record_is_shown_as_its_token_is() {
    let bench = Bench::development();
    for label in ["DEV.AES128.DATA", "DEV.TDES.DATA", "DEV.RSA2048.KEY"] {
        let raw = bench.command(&["key", "show", label, "--raw"]).output().unwrap().stdout;
        let record: Value =
            serde_json::from_str(&bench.succeeds(&["key", "show", label, "--json"], "")).unwrap();
        assert_eq!(record["fields"], fields(&raw), "{label}");
        assert_eq!(record["token"], hex(&raw));
        // `key write` reads what `token show` reads.
        let copy = format!("COPY.{}", &label[4..]);
        bench.succeeds(&["key", "write", &copy, "-"], &openssl::base64::encode_block(&raw));
        assert_eq!(bench.command(&["key", "show", &copy, "--raw"]).output().unwrap().stdout, raw);
    }
}
