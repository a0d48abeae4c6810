//! `cryptand key import`: private keys of OpenSSL's making, with which a card then works.

use super::bench::{Bench, hex};
use openssl::ec::{EcGroup, EcKey};
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::rsa::{Padding, Rsa};
use serde_json::json;

/// Writes a private key as PKCS#8, in PEM.
fn written(bench: &Bench, name: &str, key: &PKey<Private>) -> String {
    let path = bench.path(name);
    std::fs::write(&path, key.private_key_to_pem_pkcs8().unwrap()).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_servers_keys_come_under_the_master_key() {
    let bench = Bench::development();
    let rsa = Rsa::generate(2048).unwrap();
    let file = written(&bench, "server.key", &PKey::from_rsa(rsa.clone()).unwrap());
    bench.succeeds(&["key", "import", "WEB.RSA1", &file, "--use", "tls"], "");
    let public = bench.succeeds(&["key", "public-key", "WEB.RSA1", "--pem"], "");
    assert_eq!(public.as_bytes(), rsa.public_key_to_pem().unwrap());
    let shown = bench.succeeds(&["key", "show", "WEB.RSA1"], "");
    assert!(shown.contains("TLS-ONLY") && shown.contains("internal"), "{shown}");

    // What a client of TLS 1.2 sends.
    let secret: Vec<u8> = [3, 3].into_iter().chain(1..=46).collect();
    let mut block = vec![0; 256];
    rsa.public_encrypt(&secret, &mut block, Padding::PKCS1).unwrap();
    let asked =
        json!({"rsa_private_key": "label:WEB.RSA1", "encrypted_premaster": format!("hex:{}", hex(&block))});
    let opened = bench.verb("tls-premaster", &asked);
    assert_eq!(opened["premaster_secret"], format!("hex:{}", hex(&secret)), "{opened}");
    let data = json!({"rule_array": ["PKCS-1.2"], "rsa_private_key": "label:WEB.RSA1",
        "enciphered_key": format!("hex:{}", hex(&block))});
    assert_eq!(bench.verb("CSNDPKD", &data)["reason_code"], 39, "it opens nothing else");

    for (at, nid) in [Nid::X9_62_PRIME256V1, Nid::SECP384R1].into_iter().enumerate() {
        let key = EcKey::generate(&EcGroup::from_curve_name(nid).unwrap()).unwrap();
        let pem = String::from_utf8(key.private_key_to_pem().unwrap()).unwrap();
        let label = format!("WEB.EC{at}");
        bench.succeeds(&["key", "import", &label, "-", "--use", "tls"], &pem);
        let public = bench.succeeds(&["key", "public-key", &label, "--pem"], "");
        assert_eq!(public.as_bytes(), key.public_key_to_pem().unwrap());
        let digest = openssl::sha::sha256(b"a transcript");
        let signed = bench.verb(
            "CSNDDSG",
            &json!({"rule_array": ["ECDSA"], "pka_private_key_id": format!("label:{label}"),
                "hash": format!("hex:{}", hex(&digest))}),
        );
        let digits = signed["signature_field"].as_str().unwrap().strip_prefix("hex:").unwrap();
        let (r, s) = digits.split_at(digits.len() / 2);
        let number = |digits| openssl::bn::BigNum::from_hex_str(digits).unwrap();
        let signature = openssl::ecdsa::EcdsaSig::from_private_components(number(r), number(s)).unwrap();
        assert!(signature.verify(&digest, &key).unwrap());
    }
}

#[test]
fn what_cannot_be_imported_is_refused_with_the_way_on() {
    let bench = Bench::development();
    let rsa = Rsa::generate(2048).unwrap();
    let cipher = openssl::symm::Cipher::aes_128_cbc();
    let locked = PKey::from_rsa(rsa.clone()).unwrap();
    let locked = locked.private_key_to_pem_pkcs8_passphrase(cipher, b"word").unwrap();
    let refused = |input: &[u8], options: &[&str], code: i32, expected: &str| {
        let input = std::str::from_utf8(input).unwrap();
        let error = bench.fails(&[&["key", "import", "A.KEY", "-"], options].concat(), input, code);
        assert!(error.contains(expected), "{error}");
    };
    refused(&locked, &[], 5, "openssl pkey -in");
    refused(b"", &[], 5, "no PEM");
    refused(&rsa.public_key_to_pem().unwrap(), &[], 5, "PUBLIC KEY");
    refused(&rsa.private_key_to_pem().unwrap(), &["--use", "agree"], 5, "elliptic curves");
    let missing = bench.fails(&["key", "import", "A.KEY", "/no/such.pem"], "", 7);
    assert!(missing.contains("/no/such.pem"), "{missing}");
    // Numbers of two keys.
    let other = Rsa::generate(2048).unwrap();
    let owned = |number: &openssl::bn::BigNumRef| number.to_owned().unwrap();
    let mixed = Rsa::from_private_components(
        owned(rsa.n()),
        owned(rsa.e()),
        owned(rsa.d()),
        owned(other.p().unwrap()),
        owned(other.q().unwrap()),
        owned(other.dmp1().unwrap()),
        owned(other.dmq1().unwrap()),
        owned(other.iqmp().unwrap()),
    )
    .unwrap();
    refused(&mixed.private_key_to_pem().unwrap(), &[], 3, "8/770");
    assert_eq!(bench.succeeds(&["key", "list", "A.*"], "").lines().count(), 1, "nothing was recorded");
}
