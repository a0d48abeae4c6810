//! `cryptand key generate`.

use super::bench::Bench;
use serde_json::{Value, json};

/// Every kind that the help lists, but for the slow ones of RSA.
const KINDS: &[&str] = &[
    "des-data",
    "des-cipher",
    "des-encipher",
    "des-decipher",
    "des-mac",
    "des-macver",
    "des-cvarenc",
    "des-cvardec",
    "des-cvarpine",
    "des-cvarxcvl",
    "des-cvarxcvr",
    "tdes-data",
    "tdes-datac",
    "tdes-datam",
    "tdes-datamv",
    "tdes-cipher",
    "tdes-encipher",
    "tdes-decipher",
    "tdes-cipherxi",
    "tdes-cipherxo",
    "tdes-cipherxl",
    "tdes-mac",
    "tdes-macver",
    "tdes-ipinenc",
    "tdes-opinenc",
    "tdes-exporter",
    "tdes-okeyxlat",
    "tdes-importer",
    "tdes-ikeyxlat",
    "tdes-imp-pka",
    "tdes-dkygenky",
    "tdes3-data",
    "tdes3-cipher",
    "tdes3-mac",
    "tdes3-ipinenc",
    "tdes3-opinenc",
    "tdes3-exporter",
    "tdes3-importer",
    "aes128",
    "aes192",
    "aes256",
    "aes128-cipher",
    "aes192-cipher",
    "aes256-cipher",
    "aes128-mac",
    "aes192-mac",
    "aes256-mac",
    "aes128-exporter",
    "aes192-exporter",
    "aes256-exporter",
    "aes128-importer",
    "aes192-importer",
    "aes256-importer",
    "aes256-pincalc",
    "aes128-dkygenky",
    "aes256-secmsg",
    "hmac-sha1",
    "hmac-sha224",
    "hmac-sha256",
    "hmac-sha384",
    "hmac-sha512",
    "rsa1024-sign",
    "rsa1024-keymgmt-me",
    "rsa2048-transport",
    "rsa2048-tls",
    "rsa2048-sign-me",
    "p224-sign",
    "p256-sign",
    "p384-sign",
    "p521-sign",
    "secp256k1-sign",
    "brainpool256-sign",
    "brainpool384-sign",
    "ed25519-sign",
    "p224-agree",
    "p256-agree",
    "p384-agree",
    "p521-agree",
    "secp256k1-agree",
    "brainpool256-agree",
    "brainpool384-agree",
];

/// Kinds that need keywords, or take some.
const WITH_USAGE: &[(&str, &[&str])] = &[
    ("tdes-keygenky", &["--usage", "UKPT"]),
    ("tdes-secmsg", &["--usage", "smpin,NO-XPORT"]),
    ("tdes-pingen", &["--usage", "ibm-pin,NOOFFSET"]),
    ("tdes-pinver", &["--usage", "VISA-PVV"]),
    ("tdes3-pingen", &["--usage", "IBM-PIN"]),
    ("tdes3-pinver", &["--usage", "IBM-PIN"]),
    ("tdes-dkygenky", &["--usage", "DKYL2,DALL"]),
    ("tdes-importer", &["--usage", "IMPORT,OPIM"]),
    ("tdes3-importer", &["--usage", "KBPK"]),
    ("aes256-pinprot", &["--usage", "ENCRYPT,EPINGEN"]),
    ("aes128-pinprw", &["--usage", "GENONLY"]),
    ("aes256-dkygenky", &["--usage", "D-MAC,DKYL1", "--derived-usage", "VERIFY,CMAC"]),
    ("hmac-sha256", &["--usage", "VERIFY"]),
    ("rsa1024-sign", &["--usage", "XLATE-OK"]),
    ("p256-agree", &["--derives", "tdes-exporter"]),
];

#[test]
fn keys_of_every_kind_are_made_and_tested() {
    let bench = Bench::development();
    let plain = KINDS.iter().map(|kind| (*kind, &[][..]));
    for (at, (kind, options)) in plain.chain(WITH_USAGE.iter().copied()).enumerate() {
        let label = format!("A.K{at}");
        bench.succeeds(&[&["key", "generate", &label, "--type", kind], options].concat(), "");
        let is_pair =
            ["rsa", "p2", "p3", "p5", "secp", "brain", "ed"].iter().any(|start| kind.starts_with(start));
        if is_pair {
            assert!(bench.fails(&["key", "test", &label], "", 2).contains("public-key"));
        } else {
            let values = bench.succeeds(&["key", "test", &label], "");
            assert_eq!(values.contains("check value"), !kind.starts_with("hmac"), "{kind}: {values}");
        }
    }
}

#[test]
fn a_kind_does_what_its_keywords_say_and_nothing_else() {
    let bench = Bench::development();
    let generate = ["key", "generate", "A.GCM", "--type", "aes256-cipher", "--usage", "GCM,NOEX-SYM"];
    bench.succeeds(&generate, "");
    assert!(bench.fails(&generate, "", 8).contains("exists"));
    let cbc = json!({"rule_array": ["AES", "CBC", "KEYIDENT"], "key_identifier": "label:A.GCM", "block_size": 16,
        "initialization_vector": format!("hex:{}", "00".repeat(16)), "clear_text": "text:sixteen bytes...",
        "chain_data": format!("hex:{}", "00".repeat(32))});
    let answer = bench.verb("CSNBSAE", &cbc);
    assert_eq!((&answer["return_code"], &answer["reason_code"]), (&json!(8), &json!(39)), "{answer}");

    // Two keys of one curve agree on one key: what one enciphers under it, the other deciphers.
    for label in ["A.P256", "B.P256"] {
        bench.succeeds(&["key", "generate", label, "--type", "p256-agree"], "");
    }
    let agreed = |private: &str, public: &str| -> Value {
        let parameters = json!({"rule_array": ["DERIV02", "SHA-256"], "private_key_identifier": private,
            "public_key_identifier": public, "party_identifier": "text:A and B", "key_bit_length": 128});
        let answer = bench.verb("CSNDEDH", &parameters);
        assert_eq!(answer["return_code"], 0, "{answer}");
        answer["output_key_identifier"].clone()
    };
    let (one, two) = (agreed("label:A.P256", "label:B.P256"), agreed("label:B.P256", "label:A.P256"));
    let crypted = |verb: &str, key: &Value, name: &str, text: &Value| {
        let mut parameters = cbc.clone();
        parameters.as_object_mut().unwrap().remove("clear_text");
        (parameters["key_identifier"], parameters[name]) = (key.clone(), text.clone());
        let answer = bench.verb(verb, &parameters);
        assert_eq!(answer["return_code"], 0, "{answer}");
        answer
    };
    let enciphered = crypted("CSNBSAE", &one, "clear_text", &"text:sixteen bytes...".into());
    let deciphered = crypted("CSNBSAD", &two, "cipher_text", &enciphered["cipher_text"]);
    assert_eq!(
        deciphered["clear_text"],
        format!("hex:{}", super::bench::hex(b"sixteen bytes...")),
        "{deciphered}"
    );
}

/// Signatures of each curve here, verified by a partner with OpenSSL; and a partner's, verified under a label.
#[test]
fn public_keys_of_curves_go_out_and_come_in_as_pem() {
    use openssl::ecdsa::EcdsaSig;
    let bench = Bench::development();
    let digest = openssl::sha::sha256(b"an order");
    for (at, curve) in ["p256", "p521", "secp256k1", "brainpool384"].into_iter().enumerate() {
        let label = format!("SIGN.K{at}");
        bench.succeeds(&["key", "generate", &label, "--type", &format!("{curve}-sign")], "");
        let pem = bench.succeeds(&["key", "public-key", &label, "--pem"], "");
        let public = openssl::ec::EcKey::public_key_from_pem(pem.as_bytes()).unwrap();
        let signed = bench.verb(
            "CSNDDSG",
            &json!({"rule_array": ["ECDSA"], "pka_private_key_id": format!("label:{label}"),
                "hash": format!("hex:{}", super::bench::hex(&digest))}),
        );
        assert_eq!(signed["return_code"], 0, "{signed}");
        let digits = signed["signature_field"].as_str().unwrap().strip_prefix("hex:").unwrap();
        let (r, s) = digits.split_at(digits.len() / 2);
        let number = |digits| openssl::bn::BigNum::from_hex_str(digits).unwrap();
        let signature = EcdsaSig::from_private_components(number(r), number(s)).unwrap();
        assert!(signature.verify(&digest, &public).unwrap(), "{curve}");

        // The same key as a partner's.
        let partner = format!("PARTNER.K{at}");
        bench.succeeds(&["key", "import-public", &partner, "-"], &pem);
        let check = json!({"rule_array": ["ECDSA"], "pka_public_key_id": format!("label:{partner}"),
            "hash": format!("hex:{}", super::bench::hex(&digest)), "signature_field": signed["signature_field"]});
        assert_eq!(bench.verb("CSNDDSV", &check)["return_code"], 0);
        assert_eq!(bench.succeeds(&["key", "public-key", &partner, "--pem"], ""), pem);
    }
    bench.succeeds(&["key", "generate", "SIGN.ED", "--type", "ed25519-sign"], "");
    let pem = bench.succeeds(&["key", "public-key", "SIGN.ED", "--pem"], "");
    assert!(openssl::pkey::PKey::public_key_from_pem(pem.as_bytes()).is_ok());
    let error = bench.fails(&["key", "public-key", "DEV.AES128.DATA"], "", 3);
    assert!(error.contains("8/"), "{error}");
}

#[test]
fn what_is_not_made_is_refused_with_the_way_on() {
    let bench = Bench::development();
    let refused = |options: &[&str], code: i32, expected: &str| {
        let error = bench.fails(&[&["key", "generate", "A.KEY"], options].concat(), "", code);
        assert!(error.contains(expected), "{error}");
    };
    refused(&["--type", "exporter"], 2, "which of these: tdes-exporter, tdes3-exporter, aes128-exporter");
    refused(&["--type", "tdes-ohno"], 2, "after `tdes-` there are data, datac");
    refused(&["--type", "ohno"], 2, "`cryptand key generate --help` lists them");
    refused(&["--type", "tdes-mac", "--usage", "GCM"], 2, "GCM is no keyword of tdes-mac");
    refused(&["--type", "tdes-mac", "--derives", "aes128"], 2, "for keys that agree");
    refused(&["--type", "tdes-mac", "--derived-usage", "VERIFY"], 2, "for keys that derive others");
    refused(&["--type", "p256-agree", "--derives", "hmac-sha256"], 2, "exporter and importer");
    refused(&["--type", "aes128", "--usage", "CBC"], 2, "aes128-cipher has");
    refused(&["--type", "aes128-kdkgenky"], 2, "after `aes128-` there are");
    assert_eq!(bench.succeeds(&["key", "list", "A.*"], "").lines().count(), 1, "nothing was recorded");
}
