//! `cryptand cert`: requests and certificates of keys on a card, read by OpenSSL, and chains checked.

use super::bench::Bench;
use openssl::x509::{X509, X509Req};
use serde_json::Value;

#[test]
fn a_key_on_a_card_gets_a_certificate() {
    let bench = Bench::development();
    bench.succeeds(&["key", "generate", "WEB.EC1", "--type", "p256-sign"], "");
    let public = bench.succeeds(&["key", "public-key", "WEB.EC1", "--pem"], "");
    let request = bench.succeeds(&["cert", "request", "WEB.EC1", "shop.example", "192.0.2.7"], "");
    let asked = X509Req::from_pem(request.as_bytes()).unwrap();
    let key = asked.public_key().unwrap();
    assert!(asked.verify(&key).unwrap());
    assert_eq!(key.public_key_to_pem().unwrap(), public.as_bytes());

    let file = bench.path("chain.pem");
    let file = file.to_str().unwrap();
    let made = ["cert", "self-signed", "WEB.EC1", "shop.example", "--days", "30", "--output", file];
    bench.succeeds(&made, "");
    assert!(X509::from_pem(&std::fs::read(file).unwrap()).unwrap().verify(&key).unwrap());
    assert!(bench.fails(&made, "", 1).contains(file), "a file that is there stays");
    let shown: Value = serde_json::from_str(&bench.succeeds(&["cert", "show", file, "--json"], "")).unwrap();
    assert_eq!(shown[0]["names"], serde_json::json!(["shop.example"]));
    assert!(bench.succeeds(&["cert", "show", file], "").contains("elliptic curve of 256 bits"));

    let check = ["cert", "check", file, "--label", "WEB.EC1", "--name", "shop.example"];
    assert_eq!(bench.succeeds(&check, ""), "nothing is wrong\n");
    // What is found is on standard output; the error is that something was.
    let found = |arguments: &[&str], expected: &str| {
        let output = bench.run(&[&["cert", "check", file], arguments].concat(), "");
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.code() == Some(4) && text.contains(expected), "{arguments:?}: {text}");
    };
    found(&["--name", "other.example"], "not for other.example");
    found(&["--label", "DEV.RSA2048.KEY"], "not the one under DEV.RSA2048.KEY");
    let warned = bench.succeeds(&["cert", "check", file, "--soon", "60"], "");
    assert!(warned.starts_with("warning: certificate 1: expires in "), "{warned}");
}

#[test]
fn what_cannot_be_done_says_why() {
    let bench = Bench::development();
    let refused = |arguments: &[&str], code: i32, expected: &str| {
        let error = bench.fails(&[&["cert"], arguments].concat(), "", code);
        assert!(error.contains(expected), "{arguments:?}: {error}");
    };
    refused(&["request", "NO.SUCH", "shop.example"], 3, "NO.SUCH");
    refused(&["request", "DEV.TDES.DATA", "shop.example"], 3, "DEV.TDES.DATA");
    refused(&["request", "DEV.RSA2048.KEY", "shop..example"], 2, "is no name");
    refused(&["request", "DEV.RSA2048.KEY"], 2, "NAME");
    refused(&["self-signed", "DEV.RSA2048.KEY", "shop.example", "--days", "0"], 2, "0");
    refused(&["show", "/no/such.pem"], 1, "/no/such.pem");
    refused(&["show", "-"], 2, "no certificate in it");
}
