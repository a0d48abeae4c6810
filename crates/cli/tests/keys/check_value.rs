//! Check values of keys as partners have them: in parts, under labels, and in JSON.

use super::bench::{Bench, hex};
use openssl::sign::Signer;
use openssl::symm::{Cipher, encrypt};
use serde_json::{Value, json};

/// The first three bytes of the CMAC of a block of zeros, as of `openssl mac -macopt hexkey:.. CMAC`.
pub fn check_value(key: &[u8]) -> String {
    hex(&cmac(key)[..3])
}

/// The first three bytes of a block of zeros, enciphered.
pub fn older_check_value(key: &[u8]) -> String {
    hex(&enc_zero(key)[..3])
}

/// The CMAC of a block of zeros.
pub fn cmac(key: &[u8]) -> Vec<u8> {
    cmac_of(key, &[0; 16])
}

/// The CMAC of a text, by OpenSSL.
pub fn cmac_of(key: &[u8], text: &[u8]) -> Vec<u8> {
    use openssl::cipher::Cipher;
    let cipher = match key.len() {
        16 => Cipher::aes_128_cbc(),
        24 => Cipher::aes_192_cbc(),
        _ => Cipher::aes_256_cbc(),
    };
    let mut context = openssl::pkey_ctx::PkeyCtx::new_id(openssl::pkey::Id::CMAC).unwrap();
    context.keygen_init().unwrap();
    context.set_keygen_cipher(cipher).unwrap();
    context.set_keygen_mac_key(key).unwrap();
    let key = context.keygen().unwrap();
    Signer::new_without_digest(&key).unwrap().sign_oneshot_to_vec(text).unwrap()
}

fn enc_zero(key: &[u8]) -> Vec<u8> {
    let cipher = match key.len() {
        16 => Cipher::aes_128_ecb(),
        24 => Cipher::aes_192_ecb(),
        _ => Cipher::aes_256_ecb(),
    };
    encrypt(cipher, key, None, &[0; 16]).unwrap()
}

/// A component of a key and its check values, as partners' sheets have them.
const COMPONENT: &str = "0123456789ABCDEFFEDCBA98765432100123456789ABCDEFFEDCBA9876543210";

#[test]
fn a_component_is_taken_with_the_check_value_of_either_method() {
    let bench = Bench::development();
    for (at, value, is) in
        [(1, "8B9802", "CMAC, 3 bytes"), (2, "B63174", "ENC-ZERO, 3 bytes"), (3, "8B98", "CMAC, 2")]
    {
        let label = format!("A.KEK{at}");
        let part = ["key", "part", &label, "first", "--type", "aes256-importer", "--check-value", value];
        let output = bench.run(&part, COMPONENT);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        assert!(said.contains("this part: check value 8B9802 (CMAC; ENC-ZERO B63174)"), "{said}");
        assert!(said.contains(&format!("that of the sheet: {is}")), "{said}");
    }
    let part = ["key", "part", "A.KEK", "first", "--type", "aes256-importer", "--check-value", "8B9803"];
    let error = bench.fails(&part, COMPONENT, 2);
    assert!(error.contains("is 8B9802 (CMAC; ENC-ZERO B63174), not 8B9803; nothing was recorded"), "{error}");
}

/// Keys of every length and form, whose cards tell what OpenSSL computes.
#[test]
fn keys_of_aes_have_the_check_values_of_another_library() {
    let bench = Bench::development();
    for (at, (kind, bytes)) in
        [("aes128-importer", 16), ("aes192-mac", 24), ("aes256-exporter", 32)].into_iter().enumerate()
    {
        let label = format!("A.K{at}");
        let (one, other) = (vec![0x3A; bytes], (1..=bytes as u8).collect::<Vec<u8>>());
        bench.succeeds(&["key", "part", &label, "first", "--type", kind], &hex(&one));
        let said = bench.succeeds(&["key", "part", &label, "last"], &hex(&other));
        let key: Vec<u8> = one.iter().zip(&other).map(|(one, other)| one ^ other).collect();
        let (cmac, zeros) = (hex(&cmac(&key)[..5]), hex(&enc_zero(&key)[..3]));
        let values = format!("check value {}\nCMAC {cmac}\nENC-ZERO {zeros}\n", &cmac[..6]);
        assert!(said.starts_with(&values), "{said}");
        let shown: Value =
            serde_json::from_str(&bench.succeeds(&["key", "test", &label, "--json"], "")).unwrap();
        assert_eq!(
            (&shown["check_value"], &shown["check_value_method"]),
            (&json!(cmac[..6]), &json!("CMAC"))
        );
        assert_eq!((&shown["cmac"], &shown["enc_zero"]), (&json!(cmac), &json!(zeros)), "{shown}");
        for (value, method, compared) in [
            (&cmac[..4], "CMAC", 2),
            (&cmac, "CMAC", 5),
            (&zeros[..4], "ENC-ZERO", 2),
            (&zeros, "ENC-ZERO", 3),
        ] {
            let test = ["key", "test", &label, "--check-value", value, "--json"];
            let said: Value = serde_json::from_str(&bench.succeeds(&test, "")).unwrap();
            assert_eq!(said, json!({"label": label, "same": true, "method": method, "bytes": compared}));
        }
        let test = ["key", "test", &label, "--check-value", "00000000", "--json"];
        let output = bench.run(&test, "");
        assert_eq!(output.status.code(), Some(4));
        let said: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&said["same"], &said["method"]), (&json!(false), &Value::Null), "{said}");
    }
    bench.succeeds(&["key", "generate", "A.HMAC", "--type", "hmac-sha256"], "");
    let error = bench.fails(&["key", "test", "A.HMAC", "--check-value", "8B9802"], "", 2);
    assert!(error.contains("an HMAC key has no check value; compare with --pattern"), "{error}");
}

/// What a role does not permit is not passed off as the other value.
#[test]
fn a_role_may_be_told_one_of_the_two() {
    let role = |name: &str, denied: &str| {
        format!(
            "[[role]]\nname = \"{name}\"\nbase = \"guest\"\ndeny = [{denied}]\n\
             allow = [\"token-bytes\", \"record-list\", \"aes-key-record-read\"]\n[[role.labels]]\n\
             pattern = \"DEV.*\"\nuses = [\"test\", \"read\"]\n"
        )
    };
    let tenants = ["zero", "cmac", "none"].iter().enumerate();
    let tenants = tenants
        .map(|(at, name)| format!("[[tenant]]\nname = \"{name}\"\nnumber = {}\nrole = \"{name}\"\n", at + 1));
    let (cmac, both) = ("\"key-test2-aes-cmaczero\"", "\"key-test2-aes-cmaczero\", \"key-test\"");
    let roles = role("zero", cmac) + &role("cmac", "\"key-test\"") + &role("none", both);
    let bench = Bench::with_settings(&format!("\n{roles}\n{}", tenants.collect::<String>()));
    let whole = bench.succeeds(&["key", "test", "DEV.AES256.DATA"], "");
    let value =
        |name: &str| whole.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned();
    let tested = |name: &str, given: &[&str]| {
        let file = bench.path(name);
        if !file.exists() {
            bench.succeeds(&["tenant", "credential", name, "-o", file.to_str().unwrap()], "");
        }
        let mut command = bench.command(&[&["key", "test", "DEV.AES256.DATA"], given].concat());
        command.env("CRYPTAND_CREDENTIAL_FILE", &file);
        let output = Bench::fed(command, "");
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (code, shown, said) = tested("zero", &[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        !shown.contains("check value") && shown.contains(&format!("ENC-ZERO {}", value("ENC-ZERO"))),
        "{shown}"
    );
    assert!(said.contains("8/90, `key-test2-aes-cmaczero`"), "{said}");
    let (code, _, said) = tested("zero", &["--check-value", &value("CMAC")]);
    assert!(code == Some(4) && said.contains("not permitted"), "{said}");
    assert_eq!(tested("zero", &["--check-value", &value("ENC-ZERO")]).0, Some(0));
    assert_eq!(tested("cmac", &["--check-value", &value("CMAC")]).0, Some(0));
    assert_eq!(tested("cmac", &["--check-value", &value("ENC-ZERO")]).0, Some(4));
    let (code, _, said) = tested("none", &["--check-value", &value("CMAC")]);
    assert!(code == Some(3) && said.contains("key-test: the caller's role"), "{said}");
}
