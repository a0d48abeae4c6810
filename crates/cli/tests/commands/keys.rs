//! Keys: made, entered by partners, shown, exchanged.

use super::{Bench, bytes, sample_key};
use serde_json::{Value, json};

#[test]
fn a_development_home_holds_its_documented_keys() {
    let bench = Bench::development();
    let rows: Value = serde_json::from_str(&bench.succeeds(&["key", "list", "--json"])).unwrap();
    let labels: Vec<_> = rows.as_array().unwrap().iter().map(|row| row["label"].as_str().unwrap()).collect();
    let expected = [
        "DEV.AES128.DATA",
        "DEV.AES192.DATA",
        "DEV.AES256.DATA",
        "DEV.DES.DATA",
        "DEV.RSA2048.KEY",
        "DEV.TDES.DATA",
    ];
    assert_eq!(labels, expected);

    let answer = bench.verb(
        "symmetric-algorithm-encipher",
        json!({
            "rule_array": ["AES", "CBC", "KEYIDENT", "INITIAL"],
            "key_identifier": "label:DEV.AES128.DATA",
            "initialization_vector": format!("hex:{}", "00".repeat(16)),
            "clear_text": format!("hex:{}", "5A".repeat(32)),
            "block_size": 16,
            "chain_data": format!("hex:{}", "00".repeat(32)),
        }),
    );
    assert_eq!(answer["return_code"], 0, "{answer}");
    let key = sample_key("DEV.AES128.DATA", 7, 16);
    let cipher = openssl::symm::Cipher::aes_128_cbc();
    let expected = openssl::symm::encrypt(cipher, &key, Some(&[0; 16]), &[0x5A; 32]).unwrap();
    assert_eq!(bytes(&answer["cipher_text"]), expected[..32]);
    assert!(bench.succeeds(&["status"]).contains("INSECURE"));
}

#[test]
fn keys_are_generated_used_shown_and_deleted() {
    let bench = Bench::development();
    bench.succeeds(&["key", "generate", "PAY.MAC.KEY1", "--type", "tdes-mac"]);
    let make =
        json!({"key_identifier": "label:PAY.MAC.KEY1", "text": "text:hello", "rule_array": ["X9.19OPT"]});
    let mac = bench.verb("CSNBMGN", make);
    assert_eq!(mac["return_code"], 0, "{mac}");
    let check = |mac: &str| json!({"key_identifier": "label:PAY.MAC.KEY1", "text": "text:hello", "rule_array": ["X9.19OPT"], "mac": mac});
    let value = format!("hex:{}", &mac["mac"].as_str().unwrap()[4..12]);
    assert_eq!(bench.verb("mac-verify", check(&value))["return_code"], 0);
    assert_eq!(bench.verb("mac-verify", check("hex:00000000"))["reason_code"], 1);
    // A check that fails is no success to a shell.
    let wrong = bench.fails(&["verb", "mac-verify", &check("hex:00000000").to_string()], "", 4);
    assert!(wrong.contains("mac-verify: 4/1 (the value does not verify)"), "{wrong}");

    assert!(bench.succeeds(&["key", "test", "PAY.MAC.KEY1"]).contains("pattern"));
    assert!(bench.succeeds(&["key", "test", "DEV.AES256.DATA"]).contains("\npattern"));
    assert!(bench.fails(&["key", "test", "DEV.RSA2048.KEY"], "", 2).contains("public-key"));
    assert!(bench.succeeds(&["key", "show", "PAY.MAC.KEY1"]).contains("PAY.MAC.KEY1"));
    assert!(bench.succeeds(&["key", "public-key", "DEV.RSA2048.KEY"]).starts_with("1E00"));
    assert!(
        bench.fails(&["key", "generate", "PAY.MAC.KEY1", "--type", "tdes-mac"], "", 8).contains("exists")
    );
    assert!(bench.fails(&["key", "delete", "PAY.MAC.KEY1"], "", 2).contains("nothing was done: --yes"));
    bench.succeeds(&["key", "delete", "PAY.MAC.KEY1", "--yes"]);
    let again = bench.run(&["serve", "--background"], "");
    assert!(String::from_utf8_lossy(&again.stderr).contains("2 card(s) serve already"));
    assert!(
        bench
            .fails(&["key", "show", "PAY.MAC.KEY1"], "", 7)
            .contains("PAY.MAC.KEY1: no key record has this label (8/30)")
    );
    let gone = bench.verb(
        "key-test",
        json!({"rule_array": ["KEY-ENC", "GENERATE"], "key_identifier": "label:PAY.MAC.KEY1"}),
    );
    assert_eq!((&gone["return_code"], &gone["reason_code"]), (&json!(8), &json!(30)), "{gone}");
}

#[test]
fn check_values_are_those_that_a_partner_computes() {
    let bench = Bench::development();
    let ecb = |cipher: openssl::symm::Cipher, key: &[u8], block: usize| {
        let made = openssl::symm::encrypt(cipher, key, None, &vec![0; block]).unwrap();
        made[..3].iter().map(|byte| format!("{byte:02X}")).collect::<String>()
    };
    use openssl::symm::Cipher;
    let aes = sample_key("DEV.AES256.DATA", 7, 32);
    let zeros = ecb(Cipher::aes_256_ecb(), &aes, 16);
    let cmac: String =
        crate::keys::check_value::cmac(&aes)[..5].iter().map(|byte| format!("{byte:02X}")).collect();
    let mut key: Vec<u8> = sample_key("DEV.TDES.DATA", 7, 16);
    key.iter_mut().for_each(|byte| *byte = (*byte & 0xFE) | u8::from((*byte >> 1).count_ones() % 2 == 0));
    let tdes = ecb(Cipher::des_ede3(), &[&key[..], &key[..8]].concat(), 8);
    let begins = format!("check value {}\nCMAC {cmac}\nENC-ZERO {zeros}\npattern ", &cmac[..6]);
    assert!(bench.succeeds(&["key", "test", "DEV.AES256.DATA"]).starts_with(&begins), "{begins}");
    let begins = format!("check value {tdes}\nENC-ZERO {tdes}\nrandom ");
    assert!(bench.succeeds(&["key", "test", "DEV.TDES.DATA"]).starts_with(&begins), "{begins}");
    for (label, value, is) in [
        ("DEV.AES256.DATA", &cmac[..4], "CMAC, 2 bytes"),
        ("DEV.AES256.DATA", &cmac[..6], "CMAC, 3 bytes"),
        ("DEV.AES256.DATA", &cmac, "CMAC, 5 bytes"),
        ("DEV.AES256.DATA", &format!("{cmac}000000"), "CMAC, 5 bytes of 8: cards tell no more"),
        ("DEV.AES256.DATA", &zeros, "ENC-ZERO, 3 bytes"),
        ("DEV.TDES.DATA", &tdes, "ENC-ZERO, 3 bytes"),
    ] {
        let said = bench.succeeds(&["key", "test", label, "--check-value", value]);
        assert_eq!(said, format!("{label}: the same key ({is})\n"));
    }
    let error = bench.fails(&["key", "test", "DEV.TDES.DATA", "--check-value", &zeros], "", 4);
    assert!(error.contains("4/1") && error.contains(&format!("is {tdes}, not {zeros}")), "{error}");
    for value in ["12", "112233445566778899"] {
        let error = bench.fails(&["key", "test", "DEV.TDES.DATA", "--check-value", value], "", 2);
        assert!(error.contains("2 to 8 bytes"), "{error}");
    }
    // What one Key_Test gave is what another compares.
    let shown: Value =
        serde_json::from_str(&bench.succeeds(&["key", "test", "DEV.TDES.DATA", "--json"])).unwrap();
    let value = |name: &str| shown[name].as_str().unwrap().to_owned();
    let compare = |label: &str, code| {
        let output = bench
            .run(&["key", "test", label, "--random", &value("random"), "--pattern", &value("pattern")], "");
        assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
    };
    compare("DEV.TDES.DATA", 0);
    compare("DEV.DES.DATA", 4);
}

#[test]
fn public_keys_go_out_and_come_in_as_pem() {
    let bench = Bench::development();
    let pem = bench.succeeds(&["key", "public-key", "DEV.RSA2048.KEY", "--pem"]);
    let ours = openssl::rsa::Rsa::public_key_from_pem(pem.as_bytes()).unwrap();
    assert_eq!(ours.size(), 256);

    // A partner signs with OpenSSL, and the card verifies under a label.
    let partner = openssl::rsa::Rsa::generate(2048).unwrap();
    let file = bench.base.path().join("partner.pem");
    std::fs::write(&file, partner.public_key_to_pem().unwrap()).unwrap();
    bench.succeeds(&["key", "import-public", "PARTNER.KEY", file.to_str().unwrap()]);
    let mut signature = vec![0; 256];
    let digest = openssl::sha::sha256(b"an order");
    let info =
        [&[0x30, 0x31, 0x30, 0x0D, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1, 5, 0, 4, 0x20], &digest[..]];
    partner.private_encrypt(&info.concat(), &mut signature, openssl::rsa::Padding::PKCS1).unwrap();
    let hex =
        |bytes: &[u8]| format!("hex:{}", bytes.iter().map(|byte| format!("{byte:02X}")).collect::<String>());
    let check = |signature: &[u8]| {
        json!({"rule_array": ["PKCS-1.1"], "pka_public_key_id": "label:PARTNER.KEY",
            "hash": hex(&info.concat()), "signature_field": hex(signature)})
        .to_string()
    };
    bench.succeeds(&["verb", "digital-signature-verify", &check(&signature)]);
    signature[200] ^= 1;
    let wrong = bench.fails(&["verb", "digital-signature-verify", &check(&signature)], "", 4);
    assert!(wrong.contains("4/429"), "{wrong}");
    let private = bench.base.path().join("private.pem");
    std::fs::write(&private, partner.private_key_to_pem().unwrap()).unwrap();
    let refused = bench.fails(&["key", "import-public", "OTHER.KEY", private.to_str().unwrap()], "", 5);
    assert!(refused.contains("private key"), "{refused}");
}

#[test]
fn keys_that_verbs_make_go_under_labels() {
    let bench = Bench::development();
    let called = |name: &str, parameters: Value| {
        let answer = bench.verb(name, parameters);
        assert_eq!(answer["return_code"], 0, "{name}: {answer}");
        answer
    };
    let reason = |name: &str, parameters: Value| bench.verb(name, parameters)["reason_code"].clone();
    let record = |label: &str| called("CSNBKRR", json!({"key_label": label}))["key_token"].clone();
    let import = |label: &str| json!({"clear_key": "hex:0123456789abcdef", "target_key_identifier": label});
    assert_eq!(reason("clear-key-import", import("label:NEW.DES")), 30, "there is no such record");
    for label in ["label:NEW.DES", "label:NEW.MAC", "label:NEW.VER"] {
        called("des-key-record-create", json!({"key_label": label}));
    }
    let imported = called("clear-key-import", import("label:NEW.DES"));
    assert_eq!(bytes(&imported["target_key_identifier"]), format!("{:<64}", "NEW.DES").as_bytes());
    // Known answer of single DES: the key and text of FIPS 81.
    let text = json!({"key_identifier": "label:NEW.DES", "rule_array": ["CBC"], "plaintext": "hex:4e6f772069732074",
        "initialization_vector": "hex:0000000000000000"});
    assert_eq!(bytes(&called("encipher", text)["ciphertext"]), bytes(&json!("hex:3fa40e8a984d4815")));
    // Over a key that is there.
    let before = record("label:NEW.DES");
    called("clear-key-import", import("label:NEW.DES"));
    assert_eq!(record("label:NEW.DES"), before, "the same key under the same master key");

    let pair = |first: &str, second: &str| {
        json!({"key_form": "text:OPOP", "key_length": "text:DOUBLE", "key_type_1": "text:MAC", "key_type_2": "text:MACVER",
            "generated_key_identifier_1": first, "generated_key_identifier_2": second})
    };
    called("key-generate", pair("label:NEW.MAC", "label:NEW.VER"));
    let text = "text:a text";
    let mac = called(
        "mac-generate",
        json!({"key_identifier": "label:NEW.MAC", "text": text, "rule_array": ["X9.19OPT"]}),
    );
    called(
        "mac-verify",
        json!({"key_identifier": "label:NEW.VER", "text": text, "rule_array": ["X9.19OPT"], "mac": mac["mac"]}),
    );
    let kept = (record("label:NEW.MAC"), record("label:NEW.VER"));
    assert_eq!(reason("key-generate", pair("label:NEW.MAC", "label:NO.SUCH")), 30);
    assert_eq!(reason("key-generate", pair("label:NEW.MAC", "label:NEW.MAC")), 21);
    assert_eq!((record("label:NEW.MAC"), record("label:NEW.VER")), kept, "neither is written");

    bench.succeeds(&["key", "generate", "A.TRANSP", "--type", "rsa2048-transport"]);
    let rsa = "label:A.TRANSP";
    let exported = called(
        "symmetric-key-export",
        json!({"rule_array": ["AES", "PKCSOAEP"], "source_key_identifier": "label:DEV.AES256.DATA", "rsa_public_key_identifier": rsa}),
    );
    let import = |label: &str| {
        json!({"rule_array": ["AES", "PKCSOAEP"], "rsa_enciphered_key": exported["rsa_enciphered_key"],
            "rsa_private_key_identifier": rsa, "target_key_identifier": label})
    };
    let answer = called("symmetric-key-import", import("label:DEV.AES128.DATA"));
    assert_eq!(answer["target_key_identifier_length"], 64);
    let pattern = |label: &str| bench.succeeds(&["key", "test", label]);
    assert_eq!(pattern("DEV.AES128.DATA"), pattern("DEV.AES256.DATA"));
    assert_eq!(reason("symmetric-key-import", import("label:NEW.MAC")), 30, "a record of another store");
    assert_eq!(record("label:NEW.MAC"), kept.0);
}

#[test]
fn tokens_are_written_and_replaced_as_files() {
    let bench = Bench::development();
    let file = bench.base.path().join("token");
    let token = bench.command(&["key", "show", "DEV.AES128.DATA", "--raw"]).output().unwrap().stdout;
    assert_eq!(token.len(), 64);
    std::fs::write(&file, &token).unwrap();
    let path = file.to_str().unwrap();
    bench.succeeds(&["key", "write", "A.COPY", path]);
    assert!(bench.fails(&["key", "write", "A.COPY", path], "", 8).contains("exists"));
    bench.succeeds(&["key", "write", "A.COPY", path, "--replace"]);
    let pattern = |label: &str| bench.succeeds(&["key", "test", label]);
    assert_eq!(pattern("A.COPY"), pattern("DEV.AES128.DATA"));
    assert!(bench.succeeds(&["key", "list", "A.*"]).contains("A.COPY"));
    assert!(!bench.succeeds(&["key", "list", "A.*"]).contains("DEV"));
    std::fs::write(&file, "not a token").unwrap();
    assert!(bench.fails(&["key", "write", "B.COPY", path], "", 5).contains("not a key token"));
    assert!(bench.fails(&["key", "write", "B.COPY", "/nonexistent"], "", 7).contains("/nonexistent"));
}

#[test]
fn compatible_records_are_renewed_by_one_command() {
    let bench = Bench::development();
    let form = |form: &str, open: bool| {
        bench.succeeds(&["stop"]);
        let path = bench.home().join("settings.toml");
        let text = std::fs::read_to_string(&path).unwrap();
        let mut text: toml::Table = text.parse().unwrap();
        let tokens = text["tokens"].as_table_mut().unwrap();
        tokens["form"] = form.into();
        tokens["open_compatible"] = open.into();
        std::fs::write(&path, text.to_string()).unwrap();
        bench.succeeds(&["serve", "--background"]);
    };
    form("compatible", true);
    let types = [
        ("A.DATA", "tdes-data"),
        ("A.MAC", "tdes-mac"),
        ("A.VER", "tdes-macver"),
        ("A.CIPHER", "tdes-cipher"),
        ("A.AES", "aes256"),
        ("B.AES", "aes128"),
    ];
    for (label, kind) in types {
        bench.succeeds(&["key", "generate", label, "--type", kind]);
    }
    // An RSA key under the ASYM master key: the CRT form of a key of 2048 bits with the exponent 65537.
    let structure = json!("hex:080000000003000000000000000000000000010001");
    let words = json!(["RSA-CRT", "SIG-ONLY"]);
    let built = json!({"rule_array": words, "key_values_structure": structure});
    let skeleton = bench.verb("pka-key-token-build", built)["token"].clone();
    let asked = json!({"rule_array": ["MASTER"], "skeleton_key_token": skeleton});
    let made = bench.verb("pka-key-generate", asked)["generated_key_identifier"].clone();
    let created = json!({"key_label": "label:A.RSA", "key_token": made});
    bench.succeeds(&["verb", "pka-key-record-create", &created.to_string()]);
    let public_key = || bench.succeeds(&["key", "public-key", "A.RSA", "--pem"]);
    let public = public_key();
    let pattern = |label: &str| bench.succeeds(&["key", "test", label]);
    let before = [pattern("A.AES"), pattern("B.AES")];
    let token = |label: &str| bench.succeeds(&["key", "show", label]);
    let renew = |arguments: &[&str], code: i32| -> Value {
        let output = bench.run(&[&["key", "renew", "--json"], arguments].concat(), "");
        assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    // Nothing is renewed as long as cards make that form.
    let refused = renew(&["A.*"], 1);
    assert!(refused["records"][0]["failed"].as_str().unwrap().contains("[tokens]"), "{refused}");

    form("authenticated", true);
    let old = token("A.MAC");
    let would = renew(&["--dry-run"], 0);
    let labels = |value: &Value| -> Vec<String> {
        let rows = value["records"].as_array().unwrap().iter();
        rows.map(|row| row["label"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(labels(&would), ["A.CIPHER", "A.DATA", "A.MAC", "A.VER", "A.AES", "B.AES", "A.RSA"]);
    assert_eq!((token("A.MAC") == old, would["dry_run"].as_bool()), (true, Some(true)));
    let done = renew(&["A.*"], 0);
    assert_eq!(labels(&done), ["A.CIPHER", "A.DATA", "A.MAC", "A.VER", "A.AES", "A.RSA"]);
    assert_ne!(token("A.MAC"), old);
    // The one that is left opens only as long as compatible ones do.
    form("authenticated", false);
    assert!(!bench.fails(&["key", "test", "B.AES"], "", 3).is_empty());
    assert_eq!((pattern("A.AES"), public_key()), (before[0].clone(), public));
    let signed = json!({"rule_array": ["PKCS-1.1"], "pka_private_key_id": "label:A.RSA", "hash": "hex:00"});
    bench.succeeds(&["verb", "digital-signature-generate", &signed.to_string()]);
    for label in ["A.DATA", "A.MAC", "A.VER", "A.CIPHER"] {
        pattern(label);
    }
    assert_eq!(labels(&renew(&["A.*"], 0)), Vec::<String>::new());
    form("authenticated", true);
    assert!(bench.succeeds(&["key", "renew"]).contains("B.AES"));
    assert_eq!(pattern("B.AES"), before[1]);
}
