//! `cryptand mac` over labels, files and lines, with one home for all of it.
//! Needs `cryptand-daemon` and `cryptand-card` beside the command, as `make test` builds them.

use crate::keys::check_value::cmac_of;
use crate::served::Served;
use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::sign::Signer;
use openssl::symm::{Cipher, Crypter, Mode};

/// NIST SP 800-38B, D.1, example 2.
const AES: &str = "2B7E151628AED2A6ABF7158809CF4F3C";
const TEXT: &str = "6BC1BEE22E409F96E93D7E117393172A";
const CODE: &str = "070A16B46B4D4144F79BDD9DD04A287C";
const TDES: &str = "0123456789ABCDEFFEDCBA9876543210";

fn bytes(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

/// Two parts of a key.
fn parts(key: &str) -> [String; 2] {
    let mask = bytes(&"10".repeat(key.len() / 2));
    let other: Vec<u8> = bytes(key).iter().zip(&mask).map(|(one, two)| one ^ two).collect();
    [hex(&mask), hex(&other)]
}

fn enter(home: &Served, label: &str, more: &[&str], key: &str) {
    let [one, two] = parts(key);
    home.key(label, more, [&one, &two]);
}

/// TDES in CBC without padding.
fn tdes(key: &[u8], mode: Mode, text: &[u8]) -> Vec<u8> {
    let mut crypter = Crypter::new(Cipher::des_ede3_cbc(), mode, key, Some(&[0; 8])).unwrap();
    crypter.pad(false);
    let mut out = vec![0; text.len() + 8];
    let count = crypter.update(text, &mut out).unwrap();
    out.truncate(count);
    out
}

/// ISO 9797-1 algorithm 3, padded with zeros.
fn retail(text: &[u8]) -> Vec<u8> {
    let mut text = text.to_vec();
    text.resize(text.len().next_multiple_of(8), 0);
    let (left, right) = (bytes(TDES)[..8].repeat(3), bytes(TDES)[8..].repeat(3));
    let last = tdes(&left, Mode::Encrypt, &text);
    let last = tdes(&right, Mode::Decrypt, &last[last.len() - 8..]);
    tdes(&left, Mode::Encrypt, &last)
}

fn hmac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let key = PKey::hmac(key).unwrap();
    Signer::new(MessageDigest::sha512(), &key).unwrap().sign_oneshot_to_vec(text).unwrap()
}

#[test]
fn macs_are_made_and_verified() {
    let home = Served::new();
    enter(&home, "PAY.MAC", &["aes128-mac"], AES);
    enter(&home, "POS.MAC", &["tdes-mac"], TDES);
    enter(&home, "POS.VER", &["tdes-macver"], TDES);
    let long = AES.repeat(4);
    enter(&home, "PAY.HMAC", &["hmac-sha512"], &long);
    let made = |key: &str, method: &str, more: &[&str]| {
        home.ok(&[&["mac", "generate", "--key", key, "--method", method], more].concat())
    };
    assert_eq!(made("PAY.MAC", "aes-cmac", &["--hex", TEXT]), CODE);
    assert_eq!(made("PAY.MAC", "aes-cmac", &["--hex", TEXT, "--length", "8"]), CODE[..16]);
    assert_eq!(made("PAY.MAC", "aes-cmac", &["--hex", TEXT, "--json"]), format!("{{\"mac\":\"{CODE}\"}}"));
    assert_eq!(made("POS.MAC", "x9.19", &["--hex", TEXT]), hex(&retail(&bytes(TEXT))));
    assert_eq!(made("PAY.HMAC", "hmac-sha512", &["--hex", TEXT]), hex(&hmac(&bytes(&long), &bytes(TEXT))));

    // Of files and of standard input, in one segment and in several.
    let file = home.path("text");
    for length in [0, 5, 512 << 10, (512 << 10) + 1, (1 << 20) + 4096, 1_500_001] {
        let text: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
        std::fs::write(&file, &text).unwrap();
        for (key, method, expected) in [
            ("PAY.MAC", "aes-cmac", cmac_of(&bytes(AES), &text)),
            ("PAY.HMAC", "hmac-sha512", hmac(&bytes(&long), &text)),
            ("POS.MAC", "x9.19", retail(if text.is_empty() { &[0; 8] } else { &text })),
        ] {
            if (method, length) == ("x9.19", 0) {
                continue;
            }
            assert_eq!(made(key, method, &["--data", &file]), hex(&expected), "{method}, {length} bytes");
            let verify = ["mac", "verify", "--key", key, "--method", method, "--data", &file, "--mac"];
            let right = hex(&expected);
            assert_eq!(home.ok(&[&verify[..], &[&right]].concat()), "the MAC verifies");
            let wrong = right.replace(&right[..2], if right.starts_with("00") { "01" } else { "00" });
            assert_eq!(home.refused(&[&verify[..], &[&wrong]].concat()).0, 4, "{method}, {length} bytes");
        }
    }
    let piped =
        home.given(&["mac", "generate", "--key", "POS.MAC", "--method", "x9.19", "--data", "-"], "12345678");
    assert_eq!(piped, hex(&retail(b"12345678")));

    // Lines.
    let lines = format!("hex={TEXT} mac={CODE}\nhex=00 mac={CODE}\nhex=0 mac={CODE}\n");
    let verify = ["mac", "verify", "--key", "PAY.MAC", "--method", "aes-cmac", "--lines", "-"];
    let output = home.run(&verify, &lines);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.starts_with("verified\nnot verified\nerror: --hex: "), "{said}");
    let lines = format!("{{\"id\": 7, \"hex\": \"{TEXT}\", \"method\": \"AES-CMAC\"}}\n");
    let generate = ["mac", "generate", "--key", "PAY.MAC", "--lines", "-", "--json"];
    assert_eq!(home.given(&generate, &lines), format!("{{\"id\":7,\"mac\":\"{CODE}\"}}"));

    // Refusals name the key, or the option.
    for (arguments, exit, expected) in [
        (
            &["generate", "--key", "POS.VER", "--method", "x9.19", "--hex", TEXT][..],
            3,
            "--key takes a MAC key of double length",
        ),
        (
            &["generate", "--key", "POS.MAC", "--method", "x9.9", "--hex", TEXT],
            3,
            "--key takes a MAC key of single length",
        ),
        (
            &["generate", "--key", "POS.MAC", "--method", "aes-cmac", "--hex", TEXT],
            3,
            "--key takes an AES MAC key",
        ),
        (
            &["generate", "--key", "PAY.HMAC", "--method", "hmac-sha256", "--hex", TEXT],
            3,
            "HMAC key for SHA-256",
        ),
        (
            &["generate", "--key", "PAY.MCA", "--method", "aes-cmac", "--hex", TEXT],
            7,
            "those there are, such as PAY.MAC",
        ),
        (
            &["generate", "--key", "PAY.MCA", "--method", "aes-cmac", "--data", &file],
            7,
            "those there are, such as PAY.MAC",
        ),
        (&["generate", "--key", "pay.mac", "--method", "aes-cmac", "--hex", TEXT], 2, "; PAY.MAC is one"),
        (
            &["generate", "--key", "PAY.MAC", "--method", "aes-cmac"],
            2,
            "the text is missing: --data FILE, or --hex",
        ),
        (&["generate", "--key", "PAY.MAC", "--hex", TEXT], 2, "--method is missing"),
        (&["generate", "--method", "aes-cmac", "--hex", TEXT], 2, "--key is missing"),
        (
            &["generate", "--key", "PAY.MAC", "--method", "cmac", "--hex", TEXT],
            2,
            "possible values: x9.9, x9.19",
        ),
        (
            &["generate", "--key", "PAY.MAC", "--method", "aes-cmac", "--data", "/nowhere/at/all"],
            7,
            "read /nowhere/at/all",
        ),
        (&["verify", "--key", "PAY.MAC", "--method", "aes-cmac", "--hex", TEXT], 2, "--mac is missing"),
        (
            &["verify", "--key", "PAY.MAC", "--method", "aes-cmac", "--hex", TEXT, "--mac", "00"],
            2,
            "--mac: a MAC of aes-cmac has 8 to 16 bytes, not 1",
        ),
    ] {
        let (code, said) = home.refused(&[&["mac"], arguments].concat());
        assert_eq!((code, said.contains(expected)), (exit, true), "{arguments:?}: {said}");
    }
}

/// A tenant that may use one label learns nothing of the others, however near it comes to them.
#[test]
fn labels_of_others_are_not_named() {
    let mut home = Served::new();
    for label in ["PAY.MAC", "SHOQ.MAC"] {
        home.ok(&["key", "generate", label, "--type", "aes128-mac"]);
    }
    // The owner, who may see it, is told of the label that is one slip away.
    let near = ["mac", "generate", "--key", "SHOP.MAC", "--method", "aes-cmac", "--hex", TEXT];
    assert!(home.refused(&near).1.contains("such as SHOQ.MAC"));
    home.ok(&["tenant", "add", "shop", "--label", "SHOP.*"]);
    let file = home.path("credential");
    home.ok(&["tenant", "credential", "shop", "--output", &file]);
    home.credential = Some(file);
    for label in ["PAY.MAC", "PAY.MCA", "PAY.MA"] {
        let (code, said) =
            home.refused(&["mac", "generate", "--key", label, "--method", "aes-cmac", "--hex", TEXT]);
        assert_eq!(
            (code, said.contains("such as"), said.contains("8/90") || said.contains("permit")),
            (3, false, true),
            "{label}: {said}"
        );
    }
    let (_, said) = home.refused(&near);
    assert!(said.contains("8/30") && !said.contains("such as") && !said.contains("SHOQ.MAC"), "{said}");
}
