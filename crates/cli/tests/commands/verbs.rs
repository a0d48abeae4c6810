//! Verbs, with JSON and by lines.

use super::{Bench, bytes};
use serde_json::{Value, json};

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
    assert_eq!(again.status.code(), Some(8), "a record is not made twice");
    called("aes-key-record-delete", json!({"key_label": label, "rule_array": ["LABEL-DL"]}));
    assert!(!bench.succeeds(&["key", "list"]).contains("A.COPY"));
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
    assert!(bench.fails(&["key", "write", "MADE.KEY4", "-"], "neither", 5).contains("hexadecimal"));
    let unknown = bench.fails(&["verb", "key-generate", &make, "--out", "key_form=x"], "", 2);
    assert!(unknown.contains("gives no bytes as key_form"), "{unknown}");
}

/// What `verb NAME` prints to begin with is run as it stands, with the key that the first pages make.
#[test]
fn the_printed_example_of_a_mac_is_a_call_that_works() {
    let bench = Bench::development();
    bench.succeeds(&["key", "generate", "PAY.MAC.KEY1", "--type", "tdes-mac"]);
    let described = bench.succeeds(&["verb", "mac-generate"]);
    let line =
        described.lines().find_map(|line| line.trim().strip_prefix("cryptand verb mac-generate '")).unwrap();
    let answer: Value =
        serde_json::from_str(&bench.succeeds(&["verb", "mac-generate", line.trim_end_matches('\'')]))
            .unwrap();
    assert_eq!((&answer["return_code"], bytes(&answer["mac"]).len() >= 4), (&json!(0), true), "{answer}");
}
