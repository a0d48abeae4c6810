//! The command as its user types it: real homes, real daemons and cards, exit codes and what is printed.
//! Needs `cryptand-daemon` and `cryptand-card` beside the command, as `make test` builds them.

use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// How long a test waits for what must happen.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

/// A throw-away home; its daemon is stopped when the test ends.
struct Bench {
    base: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        Self { base: tempfile::tempdir().unwrap() }
    }

    fn home(&self) -> PathBuf {
        self.base.path().join("home")
    }

    fn development() -> Self {
        let bench = Self::new();
        bench.succeeds(&["init", "--insecure-dev", "--seed", "7"]);
        bench.succeeds(&["serve", "--background"]);
        bench
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cryptand"));
        command
            .arg("--home")
            .arg(self.home())
            .args(arguments)
            .env_remove("CRYPTAND_HOME")
            .stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str], input: &str) -> Output {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that fails early closes its input; that is its right.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    fn succeeds_with(&self, arguments: &[&str], input: &str) -> String {
        let output = self.run(arguments, input);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?} failed: {error}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn succeeds(&self, arguments: &[&str]) -> String {
        self.succeeds_with(arguments, "")
    }

    fn fails(&self, arguments: &[&str], input: &str, code: i32) -> String {
        let output = self.run(arguments, input);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
        error
    }

    fn verb(&self, name: &str, parameters: Value) -> Value {
        let output = self.run(&["verb", name, &parameters.to_string()], "");
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{name}: {}", String::from_utf8_lossy(&output.stderr)))
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if self.home().exists() {
            let _ = self.command(&["stop"]).stderr(Stdio::null()).status();
        }
    }
}

/// The parts of two officers for each register, a line each, with these of the AES master key.
fn parts(aes_first: &str, aes_last: &str) -> String {
    let part = |salt: usize, bytes: usize| -> String {
        (0..bytes).map(|at| format!("{:02X}", (salt + 37 * at) % 256)).collect()
    };
    [(1, aes_first), (101, aes_last)]
        .map(|(salt, aes)| {
            format!("{}\n{}\n{aes}\n{}\n", part(salt, 24), part(salt + 2, 24), part(salt + 3, 32))
        })
        .concat()
}

fn bytes(value: &Value) -> Vec<u8> {
    let digits = value.as_str().unwrap().strip_prefix("hex:").unwrap();
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

/// The clear value of a sample key, as docs/officers.md defines it.
fn sample_key(label: &str, seed: u64, length: usize) -> Vec<u8> {
    openssl::sha::sha256(format!("cryptand sample key {label} {seed}").as_bytes())[..length].to_vec()
}

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
        bench.fails(&["key", "generate", "PAY.MAC.KEY1", "--type", "tdes-mac"], "", 1).contains("exists")
    );
    assert!(bench.fails(&["key", "delete", "PAY.MAC.KEY1"], "", 2).contains("nothing was done: --yes"));
    bench.succeeds(&["key", "delete", "PAY.MAC.KEY1", "--yes"]);
    let again = bench.run(&["serve", "--background"], "");
    assert!(String::from_utf8_lossy(&again.stderr).contains("2 card(s) serve already"));
    assert!(
        bench
            .fails(&["key", "show", "PAY.MAC.KEY1"], "", 3)
            .contains("PAY.MAC.KEY1: no key record has this label (8/30)")
    );
    let gone = bench.verb(
        "key-test",
        json!({"rule_array": ["KEY-ENC", "GENERATE"], "key_identifier": "label:PAY.MAC.KEY1"}),
    );
    assert_eq!((&gone["return_code"], &gone["reason_code"]), (&json!(8), &json!(30)), "{gone}");
}

#[test]
fn verbs_of_each_kind_are_called_with_json() {
    let bench = Bench::development();
    let called = |name: &str, parameters: Value| {
        let answer = bench.verb(name, parameters);
        assert_eq!(answer["return_code"], 0, "{name}: {answer}");
        answer
    };
    let key = "label:DEV.TDES.DATA";
    let text = "text:a text of any length";
    let sent = called("encipher", json!({"key_identifier": key, "rule_array": ["X9.23"], "plaintext": text}));
    assert_eq!(bytes(&sent["ciphertext"]).len(), 24);
    let back = json!({"key_identifier": key, "rule_array": ["X9.23"], "ciphertext": sent["ciphertext"]});
    assert_eq!(bytes(&called("decipher", back)["plaintext"]), b"a text of any length");

    let hash = called(
        "one-way-hash",
        json!({"rule_array": ["SHA-256"], "text": "text:abc", "hash_length": 32, "chaining_vector_length": 128}),
    );
    assert_eq!(bytes(&hash["hash"]), openssl::sha::sha256(b"abc"));

    let random = || {
        called("random-number-generate-long", json!({"rule_array": ["RANDOM"], "random_number_length": 20}))
    };
    let (first, second) = (random(), random());
    assert_eq!(bytes(&first["random_number"]).len(), 20);
    assert_ne!(first["random_number"], second["random_number"]);

    let rsa = "label:DEV.RSA2048.KEY";
    // DigestInfo of SHA-256: the key also deciphers, and signs nothing that has no structure.
    let digest = hash["hash"].as_str().unwrap().strip_prefix("hex:").unwrap();
    let info = format!("hex:3031300d060960864801650304020105000420{digest}");
    let signed = called(
        "digital-signature-generate",
        json!({"rule_array": ["PKCS-1.1"], "pka_private_key_id": rsa, "hash": info}),
    );
    let check = |signature: &Value| json!({"rule_array": ["PKCS-1.1"], "pka_public_key_id": rsa, "hash": info, "signature_field": signature});
    called("digital-signature-verify", check(&signed["signature_field"]));
    let refused = bench.verb("CSNDDSV", check(&json!(format!("hex:{}", "01".repeat(256)))));
    assert_eq!((&refused["return_code"], &refused["reason_code"]), (&json!(4), &json!(429)), "{refused}");

    let aes = "label:DEV.AES256.DATA";
    bench.succeeds(&["key", "generate", "A.TRANSP", "--type", "rsa2048-transport"]);
    let rsa = "label:A.TRANSP";
    let exported = called(
        "symmetric-key-export",
        json!({"rule_array": ["AES", "PKCSOAEP"], "source_key_identifier": aes, "rsa_public_key_identifier": rsa}),
    );
    let imported = called(
        "symmetric-key-import",
        json!({"rule_array": ["AES", "PKCSOAEP"], "rsa_enciphered_key": exported["rsa_enciphered_key"],
            "rsa_private_key_identifier": rsa}),
    );
    let shown: Value =
        serde_json::from_str(&bench.succeeds(&["key", "show", "DEV.AES256.DATA", "--json"])).unwrap();
    assert_eq!(
        bytes(&imported["target_key_identifier"]),
        bytes(&json!(format!("hex:{}", shown["token"].as_str().unwrap())))
    );

    let token = &imported["target_key_identifier"];
    let label = "label:A.COPY";
    called("aes-key-record-create", json!({"key_label": label, "key_token": token}));
    assert_eq!(called("CSNBAKRR", json!({"key_label": label}))["key_token"], *token);
    let again = bench.run(
        &["verb", "aes-key-record-create", &json!({"key_label": label, "key_token": token}).to_string()],
        "",
    );
    assert_eq!(again.status.code(), Some(3), "a record is not made twice");
    called("aes-key-record-delete", json!({"key_label": label, "rule_array": ["LABEL-DL"]}));
    assert!(!bench.succeeds(&["key", "list"]).contains("A.COPY"));
}

#[test]
fn check_values_are_those_that_a_partner_computes() {
    let bench = Bench::development();
    let ecb = |cipher: openssl::symm::Cipher, key: &[u8], block: usize| {
        let made = openssl::symm::encrypt(cipher, key, None, &vec![0; block]).unwrap();
        made[..3].iter().map(|byte| format!("{byte:02X}")).collect::<String>()
    };
    use openssl::symm::Cipher;
    let aes = ecb(Cipher::aes_256_ecb(), &sample_key("DEV.AES256.DATA", 7, 32), 16);
    let mut key: Vec<u8> = sample_key("DEV.TDES.DATA", 7, 16);
    key.iter_mut().for_each(|byte| *byte = (*byte & 0xFE) | u8::from((*byte >> 1).count_ones() % 2 == 0));
    let tdes = ecb(Cipher::des_ede3(), &[&key[..], &key[..8]].concat(), 8);
    for (label, value) in [("DEV.AES256.DATA", &aes), ("DEV.TDES.DATA", &tdes)] {
        let shown = bench.succeeds(&["key", "test", label]);
        assert!(shown.starts_with(&format!("check value {value}\n")), "{label}: {shown}");
        assert!(bench.succeeds(&["key", "test", label, "--check-value", value]).contains("the same key"));
    }
    assert!(bench.fails(&["key", "test", "DEV.TDES.DATA", "--check-value", &aes], "", 4).contains("4/1"));
    assert!(
        bench.fails(&["key", "test", "DEV.TDES.DATA", "--check-value", "12"], "", 2).contains("3 or 4 bytes")
    );
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
    let refused = bench.fails(&["key", "import-public", "OTHER.KEY", private.to_str().unwrap()], "", 2);
    assert!(refused.contains("private key"), "{refused}");
}

#[test]
fn verbs_are_described_called_by_lines_and_their_bytes_go_into_files() {
    let bench = Bench::development();
    let described = bench.succeeds(&["verb", "mac-generate"]);
    assert!(described.contains("X9.19OPT") && described.contains("key_identifier"), "{described}");
    // A key in another verb's place is told where to look.
    let call = json!({"key_identifier": "label:DEV.AES256.DATA", "text": "text:x"}).to_string();
    assert!(bench.fails(&["verb", "mac-generate", &call], "", 3).contains("cryptand key show"));

    let mac = json!({"key_identifier": "label:DEV.TDES.DATA", "text": "text:x", "rule_array": ["X9.19OPT"]});
    let wanted = bench.verb("mac-generate", mac.clone())["mac"].clone();
    let from_input = bench.succeeds_with(&["verb", "mac-generate", "-"], &mac.to_string());
    assert_eq!(serde_json::from_str::<Value>(&from_input).unwrap()["mac"], wanted);
    let lines = [
        json!({"id": 1, "verb": "mac-generate", "parameters": mac}).to_string(),
        "no JSON".to_owned(),
        String::new(),
        json!({"id": "b", "verb": "mac-make"}).to_string(),
        json!({"id": 3, "verb": "mac-generate", "parameters": {"text": "text:x"}}).to_string(),
        json!({"verb": "null"}).to_string(),
    ]
    .join("\n");
    let answers = bench.succeeds_with(&["verb", "--lines"], &lines);
    let answers: Vec<Value> = answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), 5);
    assert_eq!(
        (&answers[0]["id"], &answers[0]["mac"], &answers[0]["return_code"]),
        (&json!(1), &wanted, &json!(0))
    );
    assert!(answers[1]["error"].as_str().unwrap().contains("not a valid call"));
    assert!(answers[2]["id"] == "b" && answers[2]["error"].as_str().unwrap().contains("mac-make"));
    assert_eq!((&answers[3]["id"], &answers[3]["return_code"]), (&json!(3), &json!(8)));
    assert_eq!(answers[4]["return_code"], 0);

    // A token goes into a file, and from there under a label; so does what was printed.
    let file = bench.base.path().join("token");
    let make = json!({"key_form": "text:OP", "key_length": "text:DOUBLE", "key_type_1": "text:DATA",
        "key_type_2": "text:", "kek_key_identifier_1": "hex:", "kek_key_identifier_2": "hex:"})
    .to_string();
    let out = format!("generated_key_identifier_1={}", file.display());
    let printed = bench.succeeds(&["verb", "key-generate", &make, "--out", &out]);
    assert!(!printed.contains("generated_key_identifier_1"), "{printed}");
    assert_eq!(std::fs::read(&file).unwrap().len(), 64);
    bench.succeeds(&["key", "write", "MADE.KEY", file.to_str().unwrap()]);
    let shown: Value = serde_json::from_str(&bench.succeeds(&["key", "show", "MADE.KEY", "--json"])).unwrap();
    let token = shown["token"].as_str().unwrap();
    bench.succeeds_with(&["key", "write", "MADE.KEY2", "-"], &format!("\"hex:{token}\"\n"));
    bench.succeeds_with(&["key", "write", "MADE.KEY3", "-"], token);
    assert!(bench.fails(&["key", "write", "MADE.KEY4", "-"], "neither", 2).contains("hexadecimal"));
    let unknown = bench.fails(&["verb", "key-generate", &make, "--out", "key_form=x"], "", 2);
    assert!(unknown.contains("gives no bytes as key_form"), "{unknown}");
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
    assert!(bench.fails(&["key", "write", "A.COPY", path], "", 1).contains("exists"));
    bench.succeeds(&["key", "write", "A.COPY", path, "--replace"]);
    let pattern = |label: &str| bench.succeeds(&["key", "test", label]);
    assert_eq!(pattern("A.COPY"), pattern("DEV.AES128.DATA"));
    assert!(bench.succeeds(&["key", "list", "A.*"]).contains("A.COPY"));
    assert!(!bench.succeeds(&["key", "list", "A.*"]).contains("DEV"));
    std::fs::write(&file, "not a token").unwrap();
    assert!(bench.fails(&["key", "write", "B.COPY", path], "", 2).contains("not a key token"));
    assert!(bench.fails(&["key", "write", "B.COPY", "/nonexistent"], "", 1).contains("/nonexistent"));
}

#[test]
fn what_programs_read_is_json() {
    let bench = Bench::development();
    let read = |arguments: &[&str]| -> Value { serde_json::from_str(&bench.succeeds(arguments)).unwrap() };
    assert_eq!(read(&["status", "--json"])["cards"].as_array().unwrap().len(), 2);
    assert_eq!(read(&["master-key", "show", "--json"]).as_array().unwrap().len(), 4);
    assert_eq!(read(&["key", "show", "DEV.DES.DATA", "--json"])["store"], "des");
    let looks = bench.succeeds(&["top", "--json", "--count", "2", "--interval", "0.1"]);
    let looks: Vec<Value> = looks.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(looks.len(), 2);
    assert!(looks.iter().all(|look| look["cards"].as_array().unwrap().len() == 2), "{looks:?}");
    let columns = bench.succeeds(&["top", "--once", "--interval", "0.1"]);
    assert!(
        ["coproc", "ITR/S", "Q-P99", "S-MAX", "WAKE/S"].iter().all(|word| columns.contains(word)),
        "{columns}"
    );
    let measured = read(&["speed", "--operation", "aes128-cbc-encipher", "--seconds", "0.05", "--json"]);
    assert!(measured["ops_per_s"].as_f64().unwrap() > 0.0);
    let card = [
        "speed",
        "--operation",
        "tdes-mac",
        "--interface",
        "card",
        "--seconds",
        "0.05",
        "--jobs",
        "2",
        "--json",
    ];
    assert_eq!(read(&card)["cards"], 1);
}

#[test]
fn what_was_done_is_seen() {
    let bench = Bench::development();
    bench.verb("random-number-generate", json!({"form": "text:RANDOM  "}));
    let look: Value =
        serde_json::from_str(&bench.succeeds(&["top", "--json", "--once", "--interval", "0.05"])).unwrap();
    let verbs = look["verbs"].as_array().unwrap();
    let verb = verbs
        .iter()
        .find(|verb| verb["name"] == "random-number-generate")
        .unwrap_or_else(|| panic!("{look}"));
    let start = &verb["since_start"];
    assert_eq!(start["requests"], 1, "{look}");
    assert!(start["service_us"]["max"].as_f64().unwrap() > 0.0);
    assert!(start["queue_us"]["p50"].as_f64() <= start["queue_us"]["max"].as_f64());
    let page = bench.succeeds(&["metrics"]);
    let line = page.lines().find(|line| {
        line.starts_with("cryptand_verb_requests_total{") && line.contains("verb=\"random-number-generate\"")
    });
    assert!(line.is_some_and(|line| line.ends_with(" 1")), "{page}");
}

/// A child that is killed when the test ends.
struct Killed(std::process::Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn metrics_are_served_with_and_without_a_daemon() {
    use std::io::{BufRead, BufReader, Read};
    let bench = Bench::development();
    let child =
        bench.command(&["metrics", "--listen", "127.0.0.1:0"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut child = Killed(child);
    let mut said = String::new();
    BufReader::new(child.0.stderr.take().unwrap()).read_line(&mut said).unwrap();
    let address = said.trim().strip_prefix("http://").and_then(|rest| rest.strip_suffix("/metrics")).unwrap();
    let end = std::time::Instant::now() + PATIENCE;
    let scrape = || loop {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        // As many scrapes as are served at once may not have ended yet.
        if !answer.starts_with("HTTP/1.1 503 ") || std::time::Instant::now() > end {
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer:.200}");
            break answer;
        }
    };
    let up = scrape();
    assert!(up.contains("\ncryptand_daemon_up 1\n") && up.contains("state=\"ready\"} 1"), "{up}");
    bench.succeeds(&["stop"]);
    // A page that was just made is given again.
    while !scrape().contains("\ncryptand_daemon_up 0\n") {
        assert!(std::time::Instant::now() < end, "still up");
    }
    bench.succeeds(&["serve", "--background"]);
    while !scrape().contains("\ncryptand_daemon_up 1\n") {
        assert!(std::time::Instant::now() < end, "not up again");
    }
    let taken = bench.fails(&["metrics", "--listen", address], "", 1);
    assert!(taken.contains(address) && taken.contains("listen"), "{taken}");
}

#[test]
fn what_could_be_measured_is_listed_without_measuring() {
    let bench = Bench::new();
    let operations = bench.succeeds(&["speed", "--operation", "list"]);
    assert!(operations.lines().any(|line| line == "tdes-mac"), "{operations}");
    let folder = bench.base.path().join("report");
    let folder = folder.to_str().unwrap();
    let cases = bench.succeeds(&["report", "--plan", "--output", folder]);
    assert!(cases.lines().count() > 100, "{cases}");
    assert!(!Path::new(folder).exists(), "a plan writes nothing");
    let nothing =
        bench.fails(&["bench", "--only", "engine", "--one-level", "--filter", "no such row"], "", 2);
    assert!(nothing.contains("no such row"), "{nothing}");
    let compare = bench.fails(&["report", "compare", folder, folder], "", 1);
    assert!(compare.contains(folder), "{compare}");
}

#[test]
fn a_home_is_not_made_of_contradictions() {
    let cases: [(&[&str], &str, i32, &str); 8] = [
        (&["init", "--seed", "3"], "", 2, "--insecure-dev"),
        (&["init", "--insecure-dev", "--no-master-keys"], "", 2, "cannot be used with"),
        (&["init", "--insecure-dev", "--domains", "17"], "", 1, "1 to 16"),
        (&["init", "--no-master-keys", "--seal-memory", "63"], "", 1, "64 to 2048"),
        (&["init", "--insecure-dev", "--coprocessors", "many"], "", 2, "many"),
        (&["restore", "/nonexistent"], "", 1, "not a backup"),
        (&["serve"], "", 1, "cryptand init"),
        (&["unknown"], "", 2, "unknown"),
    ];
    for (arguments, input, code, expected) in cases {
        let bench = Bench::new();
        let error = bench.fails(arguments, input, code);
        assert!(error.contains(expected), "{arguments:?}: {error}");
        assert!(!bench.home().exists(), "{arguments:?} leaves nothing");
    }
}

#[test]
fn officers_who_err_are_told() {
    let bench = Bench::new();
    bench.succeeds(&["init", "--no-master-keys"]);
    bench.succeeds(&["serve", "--background"]);
    let load = |part: &str, input: &str, code: i32| {
        bench.fails(&["master-key", "load", "aes", part, "--from-stdin"], input, code)
    };
    assert!(load("first", "0\n", 2).contains("two digits"));
    assert!(load("first", "zz\n", 2).contains("hexadecimal"));
    assert!(load("first", "", 2).contains("standard input ended"));
    let part = "5A".repeat(32) + "\n";
    assert!(!load("last", &part, 1).is_empty(), "a last part without a first");
    bench.succeeds_with(&["master-key", "load", "aes", "first", "--from-stdin"], &part);
    assert!(!bench.fails(&["master-key", "set"], "", 1).is_empty(), "nothing is complete");
    assert!(bench.fails(&["master-key", "seal"], "short\n", 2).contains("fewer than 12"));
    let differ = bench.fails(&["master-key", "seal"], "a long passphrase\nanother passphrase\n", 2);
    assert!(differ.contains("differ"));
    bench.succeeds(&["master-key", "clear", "aes"]);
    assert!(load("first", "\n", 2).contains("nothing is drawn"));
    // Neither typed nor drawn where a part would end up in a pipe.
    let piped = bench.fails(&["master-key", "load", "aes", "first"], &part, 2);
    assert!(piped.contains("--from-stdin"), "{piped}");
    let drawn = bench.fails(&["master-key", "load", "aes", "first", "--random"], "", 2);
    assert!(drawn.contains("--from-stdin") && drawn.contains("openssl rand"), "{drawn}");
    let other = Bench::new();
    assert!(other.fails(&["init"], &part, 2).contains("--from-stdin"));
    assert!(!other.home().exists());
}

#[test]
fn officers_load_seal_and_unseal() {
    let bench = Bench::new();
    let aes_first = "11".repeat(32);
    let aes_last = "22".repeat(32);
    // Each officer: sym, asym, aes, apka.
    let input = parts(&aes_first, &aes_last) + "correct horse battery\ncorrect horse battery\n";
    bench.succeeds_with(&["init", "--from-stdin", "--seal-memory", "64"], &input);
    bench.succeeds(&["serve", "--background"]);

    let make = ["key", "generate", "A.B", "--type", "aes256"];
    assert!(bench.fails(&make, "", 3).contains("12/"), "no secure verb before unseal");
    assert!(bench.fails(&["unseal"], "wrong passphrase\n", 1).contains("passphrase"));
    bench.succeeds_with(&["unseal"], "correct horse battery\n");
    bench.succeeds(&make);

    // The pattern is that of the exclusive or of both parts: SHA-256(01 || key), first 8 bytes.
    let registers: Value = serde_json::from_str(&bench.succeeds(&["master-key", "show", "--json"])).unwrap();
    let aes = registers.as_array().unwrap().iter().find(|row| row["register"] == "aes").unwrap();
    let digest = openssl::sha::sha256(&[&[1][..], &[0x33; 32]].concat());
    assert_eq!(aes["current_pattern"], json!(digest[..8]));

    let again = bench.fails(&["master-key", "load", "aes", "first", "--from-stdin"], "00\n", 2);
    assert!(again.contains("32 bytes"), "{again}");
}

#[test]
fn a_backup_makes_the_same_home_elsewhere() {
    let bench = Bench::new();
    let input = parts(&"5A".repeat(32), &"C3".repeat(32)) + "pass phrase of mine\npass phrase of mine\n";
    bench.succeeds_with(&["init", "--from-stdin", "--seal-memory", "64"], &input);
    bench.succeeds(&["serve", "--background"]);
    bench.succeeds_with(&["unseal"], "pass phrase of mine\n");
    bench.succeeds(&["key", "generate", "A.B", "--type", "aes128"]);
    let pattern = |bench: &Bench| {
        let rule = json!({"rule_array": ["AES", "ECB", "KEYIDENT"], "key_identifier": "label:A.B",
            "clear_text": format!("hex:{}", "00".repeat(16)), "block_size": 16});
        bench.verb("symmetric-algorithm-encipher", rule)["cipher_text"].clone()
    };
    let before = pattern(&bench);
    let copy = bench.base.path().join("backup");
    let copy = copy.to_str().unwrap();
    bench.succeeds(&["backup", copy]);
    assert!(bench.fails(&["backup", copy], "", 1).contains("not empty"));

    // As an archive, and of the home as it is stopped: the same.
    let said = bench.succeeds(&["backup", "--verify", copy]);
    assert!(said.contains("1 key records are sound; with the sealed master keys of the home"), "{said}");
    let names = |path: &Path| {
        let mut names: Vec<_> =
            std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(
        names(Path::new(copy)),
        ["keys.sqlite", "master-keys.sealed", "pin-failures", "settings.toml", "version"]
    );
    bench.succeeds(&["stop"]);
    let archive = bench.run(&["backup", "-"], "");
    assert!(archive.status.success(), "{}", String::from_utf8_lossy(&archive.stderr));
    let unpacked = bench.base.path().join("unpacked");
    tar::Archive::new(&archive.stdout[..]).unpack(&unpacked).unwrap();
    let said = bench.succeeds(&["backup", "--verify", unpacked.to_str().unwrap()]);
    assert!(said.contains("1 key records are sound"), "{said}");
    assert_eq!(names(&unpacked), names(Path::new(copy)));
    // Nothing is left of either in the home, and a damaged one is found.
    assert!(names(&bench.home()).iter().all(|name| !name.to_string_lossy().starts_with("backup-")));
    let mut bytes = std::fs::read(unpacked.join("keys.sqlite")).unwrap();
    bytes.truncate(5_000);
    std::fs::write(unpacked.join("keys.sqlite"), bytes).unwrap();
    let damaged = bench.fails(&["backup", "--verify", unpacked.to_str().unwrap()], "", 1);
    assert!(!damaged.is_empty());
    std::fs::remove_dir_all(&unpacked).unwrap();

    let other = Bench::new();
    other.succeeds(&["restore", copy]);
    other.succeeds(&["serve", "--background"]);
    other.succeeds_with(&["unseal"], "pass phrase of mine\n");
    assert!(before.is_string());
    assert_eq!(pattern(&other), before);
}

#[test]
fn a_restored_home_keeps_what_was_asked_about() {
    let bench = Bench::development();
    let settings = bench.home().join("settings.toml");
    let text = std::fs::read_to_string(&settings).unwrap();
    let text = text.replace("open_compatible = false", "open_compatible = true");
    let text = text.replace("observers = []", "observers = [\"root\"]");
    let role = "\n[[role]]\nname = \"older\"\nbase = \"owner\"\nallow = [\"legacy\"]\n";
    std::fs::write(&settings, text + role).unwrap();
    bench.succeeds(&["reload"]);
    let copy = bench.base.path().join("backup");
    let copy = copy.to_str().unwrap();
    bench.succeeds(&["backup", copy]);

    // Nobody can be asked: nothing is done, and each setting is named.
    let other = Bench::new();
    let refused = other.fails(&["restore", copy], "", 2);
    assert!(refused.contains("--keep access,legacy,compatible,weak,development"), "{refused}");
    assert!(refused.contains("observers root") && refused.contains("older"), "{refused}");
    assert!(!other.home().exists());
    let refused = other.fails(&["restore", copy, "--keep", "access,weak", "--leave-out", "legacy"], "", 2);
    assert!(refused.contains("--keep compatible,development tak"), "{refused}");

    let restored = |bench: &Bench| -> toml::Value {
        toml::from_str(&std::fs::read_to_string(bench.home().join("settings.toml")).unwrap()).unwrap()
    };
    other.succeeds(&[
        "restore",
        copy,
        "--keep",
        "access,development",
        "--leave-out",
        "legacy,compatible,weak",
    ]);
    let settings = restored(&other);
    assert_eq!(settings["access"]["observers"][0].as_str(), Some("root"));
    assert!(settings.get("development").is_some());
    assert!(settings["role"][0].get("allow").is_none());
    assert_eq!(settings["tokens"]["open_compatible"].as_bool(), Some(false));
    assert_eq!(settings["weak_algorithms"].as_bool(), Some(false));

    let (all, none) = (Bench::new(), Bench::new());
    all.succeeds(&["restore", copy, "--yes"]);
    let settings = restored(&all);
    assert!(
        settings["role"][0]["allow"][0].as_str() == Some("legacy")
            && settings["weak_algorithms"].as_bool() == Some(true)
    );
    // A copied home is restored as a backup is.
    let home = bench.home();
    bench.succeeds(&["stop"]);
    let what = "access,legacy,compatible,weak,development";
    none.succeeds(&["restore", home.to_str().unwrap(), "--leave-out", what]);
    let settings = restored(&none);
    assert!(settings.get("development").is_none());
    assert_eq!(settings["access"]["observers"].as_array().map(Vec::len), Some(0));
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

#[test]
fn settings_change_the_cards_while_they_serve() {
    let bench = Bench::development();
    let cards = |bench: &Bench| {
        // While one is started, the home is degraded, and the exit code says so.
        let status: Value = serde_json::from_slice(&bench.run(&["status", "--json"], "").stdout).unwrap();
        status["cards"].as_array().unwrap().iter().filter(|card| card["state"] == "ready").count()
    };
    assert_eq!(cards(&bench), 2);
    let path = bench.home().join("settings.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("coprocessors = 1", "coprocesors = 2")).unwrap();
    assert!(bench.fails(&["reload"], "", 1).contains("coprocesors"));
    assert_eq!(cards(&bench), 2, "bad settings leave what runs");
    std::fs::write(&path, text.replace("coprocessors = 1", "coprocessors = 2")).unwrap();
    bench.succeeds(&["reload"]);
    let asked = std::time::Instant::now();
    while cards(&bench) != 3 {
        assert!(asked.elapsed() < PATIENCE, "{:?}", bench.run(&["status"], ""));
    }
}

#[test]
fn what_is_typed_wrong_is_named() {
    let bench = Bench::new();
    assert!(bench.fails(&["status"], "", 1).contains("no such folder"));
    assert!(bench.fails(&["speed", "--operation", "aes1-cbc-encipher"], "", 2).contains("aes1-cbc-encipher"));
    assert!(
        bench.fails(&["speed", "--operation", "aes128-cbc-encipher", "--bytes", "7"], "", 2).contains("7")
    );
    let refused = ["speed", "--operation", "tdes-mac", "--interface", "card", "--personality", "accelerator"];
    assert!(bench.fails(&refused, "", 2).contains("accelerator"));
    assert!(bench.fails(&["verb", "no-such-verb"], "", 2).contains("no-such-verb"));
    bench.succeeds(&["init", "--insecure-dev"]);
    assert!(bench.fails(&["init", "--insecure-dev"], "", 1).contains("a home already"));
    assert!(bench.fails(&["status"], "", 6).contains("cryptand serve"));
    bench.succeeds(&["serve", "--background"]);
    assert!(bench.fails(&["verb", "mac-generate", "{"], "", 2).contains("parameters"));
    assert!(bench.fails(&["verb", "mac-generate", "{\"texts\":1}"], "", 2).contains("texts"));
    assert!(bench.fails(&["verb", "mac-generate", "@/nonexistent"], "", 1).contains("/nonexistent"));
    assert!(bench.fails(&["verb", "mac-generate", "[]"], "", 2).contains("JSON object"));
    let unknown = r#"{"rule_array": ["X9.99"]}"#;
    assert!(
        bench
            .fails(&["verb", "mac-generate", unknown], "", 2)
            .contains("X9.99 is not known; at most one of X9.9-1")
    );
    let elsewhere =
        ["verb", "mac-generate", "--domain", "3", "{\"key_identifier\": \"label:DEV.TDES.DATA\"}"];
    assert!(bench.fails(&elsewhere, "", 1).contains("domain 3"));
    assert!(bench.fails(&["key", "show", "lower"], "", 2).contains("A-Z"));
    assert!(bench.fails(&["key", "generate", "A.B", "--type", "aes"], "", 2).contains("aes256"));
    assert!(bench.fails(&["top", "--interval", "0"], "", 2).contains("0.05"));
    assert!(bench.fails(&["metrics", "--listen", "9418"], "", 2).contains("9418"));
    assert!(bench.fails(&["metrics", "--tenants", "9999"], "", 2).contains("1024"));
}

#[test]
fn a_level_is_forced_by_flag_or_environment_and_shown() {
    let measured = |arguments: &[&str], level: Option<&str>| -> Result<Value, String> {
        let base = ["speed", "--operation", "sha256", "--bytes", "64", "--seconds", "0.01", "--json"];
        let mut command = Command::new(env!("CARGO_BIN_EXE_cryptand"));
        command.args(base).args(arguments).env_remove("CRYPTAND_LEVEL").env_remove("CRYPTAND_HOME");
        let output = command.envs(level.map(|level| ("CRYPTAND_LEVEL", level))).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        if output.status.success() { Ok(serde_json::from_slice(&output.stdout).unwrap()) } else { Err(said) }
    };
    // Without a home: the engine of the command itself.
    let own = |arguments: &[&str], level| measured(arguments, level).unwrap()["level"].clone();
    assert_eq!(own(&["--level", "portable"], None), "portable");
    assert_eq!(own(&[], Some("portable")), "portable");
    assert_eq!(own(&["--level", "portable"], Some("avx512")), "portable", "what is typed goes first");
    assert_eq!(own(&[], Some("")), own(&[], None), "empty is unset");
    assert_eq!(own(&[], Some("avx512")), own(&[], None), "a limit above the best changes nothing");
    let wrong = measured(&[], Some("avx1024")).unwrap_err();
    for word in ["CRYPTAND_LEVEL=avx1024", "portable", "avx2", "avx512"] {
        assert!(wrong.contains(word), "{wrong}");
    }
    let wrong = measured(&["--level", "avx1024"], None).unwrap_err();
    for word in ["--level", "avx1024", "portable", "avx2", "avx512"] {
        assert!(wrong.contains(word), "{wrong}");
    }
}

#[test]
fn cards_inherit_the_level_and_status_names_it() {
    let bench = Bench::new();
    bench.succeeds(&["init", "--insecure-dev"]);
    // A daemon that is told nonsense does not serve, and says why.
    let daemon = Path::new(env!("CARGO_BIN_EXE_cryptand")).with_file_name("cryptand-daemon");
    let refused =
        Command::new(daemon).arg("--home").arg(bench.home()).env("CRYPTAND_LEVEL", "x").output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("CRYPTAND_LEVEL=x"));

    bench.succeeds(&["--level", "portable", "serve", "--background"]);
    let status = || -> Value { serde_json::from_str(&bench.succeeds(&["status", "--json"])).unwrap() };
    let levels = |status: &Value| -> Vec<Value> {
        status["cards"].as_array().unwrap().iter().map(|card| card["level"].clone()).collect()
    };
    assert_eq!(levels(&status()), ["portable", "portable"]);
    // The settings cannot lift what the daemon was told.
    let path = bench.home().join("settings.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("# level =", "level = \"avx2\"")).unwrap();
    bench.succeeds(&["reload"]);
    assert_eq!(levels(&status()), ["portable", "portable"]);
    let engine = status()["engine"].clone();
    assert!(engine["lanes"].as_array().unwrap().iter().all(|kind| kind["lanes"].as_u64().unwrap() >= 1));
    let shown = bench.succeeds(&["--level", "portable", "status"]);
    assert!(shown.contains("level portable") && shown.contains("X9.19 MAC"), "{shown}");
    let on_card = ["speed", "--operation", "null", "--interface", "card", "--seconds", "0.01", "--json"];
    let answer: Value =
        serde_json::from_str(&bench.succeeds(&[&["--level", "portable"], &on_card[..]].concat())).unwrap();
    assert_eq!(answer["level"], "portable");
    bench.succeeds(&["stop"]);

    // Without the variable, the setting alone counts.
    bench.succeeds(&["serve", "--background"]);
    let unlike = |levels: Vec<Value>| levels.iter().all(|level| *level == "avx2" || *level == "portable");
    assert!(unlike(levels(&status())));
}

#[test]
fn parts_of_the_bench_run_alone() {
    let bench = Bench::new();
    let quick = ["--rounds", "1", "--seconds", "0.001", "--one-level", "--json"];
    let rows = |arguments: &[&str]| -> Vec<Value> {
        let output = bench.run(&[&["bench"], arguments, &quick[..]].concat(), "");
        // What is not kept in a millisecond is no failure of the command.
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{error}");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{error}"))
    };
    let engine = rows(&["--only", "engine", "--filter", "gcm seal, 1 kib"]);
    assert!(engine.iter().any(|row| row["case"] == "AES-128-GCM seal, 1 KiB" && row["part"] == "engine"));
    let timing = rows(&["--only", "timing", "--filter", "first byte or another one"]);
    assert_eq!((timing.len(), &timing[0]["unit"]), (1, &json!("t")));
    assert!(bench.fails(&["bench", "--rounds", "0"], "", 2).contains("1 to 1000"));
    assert!(bench.fails(&["bench", "--only", "all"], "", 2).contains("engine"));
}

#[test]
fn pages_are_made() {
    let bench = Bench::new();
    let folder = bench.base.path().join("man");
    std::fs::create_dir(&folder).unwrap();
    bench.succeeds(&["man", folder.to_str().unwrap()]);
    let page = |name: &str| std::fs::read_to_string(Path::new(&folder).join(name)).unwrap();
    assert!(page("cryptand.1").contains("cryptand"));
    assert!(page("cryptand-speed.1").contains("operation"));
    assert!(page("cryptand-metrics.1").contains("listen") && page("cryptand-top.1").contains("interval"));
    for shell in ["bash", "zsh", "fish"] {
        assert!(bench.succeeds(&["completions", shell]).contains("master-key"));
    }
}
