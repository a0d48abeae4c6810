//! `cryptand-tls drive` against this server: what it counts is what the server's own log says.

use crate::support::{Folder, ecdsa, program, rsa};
use openssl::asn1::Asn1Time;
use openssl::bn::BigNum;
use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, Private};
use openssl::x509::extension::BasicConstraints;
use openssl::x509::{X509, X509NameBuilder};
use options::tls::Drive;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::process::{Command, Stdio};

const SETTINGS: &str = "
[[certificate]]
chain = \"one.pem\"
key = \"one.key\"
default = false
[[listener]]
address = \"127.0.0.1:0\"
policy = \"compatible\"
answer = \"served\\n\"
";

/// Drives, and gives the exit code, the JSON and what it said.
fn drive(target: &str, options: Value) -> (Option<i32>, Value, String) {
    let usual = Drive {
        target: target.to_owned(),
        json: true,
        connections: 8,
        sni: Some("one.test".to_owned()),
        timeout: 120.0,
        ..Drive::default()
    };
    let typed = options::changed(&usual, options.as_object().unwrap().clone()).unwrap();
    let typed = serde_json::to_string(&typed).unwrap();
    let done = Command::new(program()).args(["drive", &typed]).stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    (done.status.code(), serde_json::from_slice(&done.stdout).unwrap_or_default(), said)
}

fn driven(address: SocketAddr, options: Value) -> Value {
    let (code, result, said) = drive(&address.to_string(), options);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(result["errors"], json!({}), "{result}");
    result
}

#[test]
fn what_is_counted_is_what_the_server_logs() {
    let folder = Folder::new();
    folder.certify("one", &rsa(), &["one.test"]);
    let server = folder.serve(SETTINGS);
    let address = server.address();
    let (mut all, mut resumed) = (0, 0);
    for options in [
        json!({"transactions": 30, "tls": "1.3"}),
        json!({"transactions": 30, "tls": "1.2", "threads": 2}),
        json!({"transactions": 30, "http": "/", "resume": 100.0}),
        json!({"transactions": 30, "http": "/", "resume": 50.0, "tls": "1.2"}),
        json!({"transactions": 30, "resume": 100.0, "tls": "1.3"}),
        json!({"transactions": 30, "suite": "AES128-GCM-SHA256", "http": "/"}),
        json!({"transactions": 30, "group": "P-256"}),
        json!({"transactions": 30, "group": "X25519MLKEM768"}),
        json!({"transactions": 30, "http": "/", "ca": folder.path("one.pem")}),
    ] {
        let result = driven(address, options.clone());
        let number = |key: &str| result[key].as_u64().unwrap();
        assert_eq!(number("transactions"), 30, "{options}: {result}");
        assert_eq!(number("full") + number("resumed"), 30, "{options}: {result}");
        let wants = options["resume"].as_f64().unwrap_or_default();
        assert!((number("resumed") > 0) == (wants > 0.0), "{options}: {result}");
        assert!(number("resumed") as f64 <= 0.3 * wants, "{options}: {result}");
        all += 30;
        resumed += number("resumed");
    }
    let log = server.stop();
    assert_eq!(log.len(), all, "{log:?}");
    assert_eq!(log.iter().filter(|entry| entry["resumed"] == true).count() as u64, resumed);
    assert!(log.iter().all(|entry| entry["end"] == "done"), "{log:?}");
}

#[test]
fn errors_are_told_by_their_kinds() {
    let folder = Folder::new();
    folder.certify("one", &rsa(), &["one.test"]);
    folder.certify("other", &rsa(), &["one.test"]);
    let server = folder.serve(SETTINGS);
    let address = server.address().to_string();
    for (options, kind) in [
        (json!({"sni": "unknown.test"}), "alert 112"),
        (json!({"ca": folder.path("other.pem")}), "certificate"),
        (json!({"suite": "ECDHE-RSA-AES256-GCM-SHA384"}), "other-suite"),
        (json!({"send": 1, "receive": 1, "timeout": 0.3}), "timeout"),
    ] {
        let mut options = options;
        options["transactions"] = json!(4);
        let (code, result, said) = drive(&address, options.clone());
        assert_eq!(code, Some(1), "{options}: {said}");
        assert_eq!(result["errors"], json!({kind: 4}), "{options}");
    }
    drop(server);
    let (code, result, said) = drive(&address, json!({"transactions": 4}));
    assert_eq!((code, &result["errors"]), (Some(1), &json!({"refused": 4})), "{said}");
    let (code, _, said) = drive(&address, json!({"transactions": 4, "connections": 0}));
    assert!(code == Some(2) && said.contains("--connections"), "{said}");
}

#[test]
fn open_loops_keep_their_rate_and_tell_overload() {
    let folder = Folder::new();
    folder.certify("one", &rsa(), &["one.test"]);
    let server = folder.serve(SETTINGS);
    let result = driven(server.address(), json!({"transactions": 30, "rate": 200.0, "threads": 2}));
    assert_eq!((&result["transactions"], &result["starts"]["begun"]), (&json!(30), &json!(30)), "{result}");
    assert_eq!((&result["starts"]["never"], &result["knee"]), (&json!(0), &Value::Null), "{result}");
    // The last one was to begin after 29 parts of 200 of a second.
    assert!(result["seconds"].as_f64().unwrap() >= 0.14, "{result}");
    // One at a time cannot be a million a second: what was due and could not begin counts, and times begin when it was
    // due.
    let result = driven(server.address(), json!({"seconds": 0.3, "rate": 1e6, "connections": 1}));
    let starts = &result["starts"];
    let number = |key: &str| starts[key].as_u64().unwrap();
    assert!(number("begun") + number("never") > 250_000, "{result}");
    assert!(number("late") > 0 && number("late") <= number("begun"), "{result}");
    assert!(result["warnings"][0].as_str().unwrap().starts_with("overload"), "{result}");
    let max = |of: &Value| of["max"].as_f64().unwrap();
    assert!(max(&result["transaction_us"]) > max(&result["handshake_us"]), "{result}");
    // What fails is not tried again before the next is due.
    drop(server);
    let (code, result, _) = drive("127.0.0.1:1", json!({"transactions": 12, "rate": 500.0}));
    assert_eq!((code, &result["errors"]), (Some(1), &json!({"refused": 12})), "{result}");
}

#[test]
fn the_knee_is_the_highest_rate_that_held() {
    let folder = Folder::new();
    folder.certify("one", &rsa(), &["one.test"]);
    let server = folder.serve(SETTINGS);
    let address = server.address().to_string();
    let search = |options: Value| {
        let (code, result, said) = drive(&address, options);
        let knee = result["knee"].clone();
        let steps = knee["steps"].as_array().unwrap().clone();
        assert!(!steps.is_empty(), "{said} {result}");
        let held = steps.iter().filter(|step| step["holds"] == true);
        let highest = held.map(|step| step["rate"].as_f64().unwrap()).fold(0.0, f64::max);
        assert_eq!(knee["rate"].as_f64().unwrap_or_default(), highest, "{knee}");
        assert_eq!(code, Some(i32::from(knee["rate"].is_null())), "{said}");
        if !knee["rate"].is_null() {
            // What is told beside it was measured at it.
            assert_eq!(result["starts"]["rate"], knee["rate"]);
        }
        (knee, said)
    };
    let (knee, _) = search(json!({"find_knee": true, "seconds": 0.1, "within": 5000.0}));
    assert!(knee["closed_loop_per_second"].as_f64().unwrap() > 0.0 && knee["within_ms"] == 5000.0, "{knee}");
    // No handshake takes less than a microsecond.
    let (knee, said) = search(json!({"find_knee": true, "seconds": 0.1, "within": 0.001, "rate": 150.0}));
    assert!(knee["rate"].is_null() && said.contains("no rate"), "{knee} {said}");
    assert_eq!(knee["closed_loop_per_second"], Value::Null);
}

#[test]
fn gnutls_offers_exactly_what_is_asked_for() {
    let folder = Folder::new();
    folder.certify("one", &rsa(), &["one.test"]);
    let server = folder.serve(&SETTINGS.replace("compatible", "legacy-insecure"));
    let one = folder.path("one.pem");
    let options = json!({"transactions": 6, "library": "gnutls"});
    let (code, _, said) = drive(&server.address().to_string(), options);
    if code == Some(1) && said.contains("libgnutls30") {
        eprintln!("left out: {said}");
        return;
    }
    for (version, suite) in [
        ("1.2", "RC4-MD5"),
        ("1.2", "DES-CBC3-SHA"),
        ("1.2", "AES128-GCM-SHA256"),
        ("1.2", "ECDHE-RSA-AES128-GCM-SHA256"),
        ("1.3", "TLS_AES_128_GCM_SHA256"),
    ] {
        let options = json!({"transactions": 6, "library": "gnutls", "tls": version, "suite": suite, "ca": one,
            "http": "/"});
        let result = driven(server.address(), options);
        assert_eq!((&result["library"], &result["full"]), (&json!("gnutls"), &json!(6)), "{result}");
        assert_eq!(result["negotiated"][0]["suite"], suite, "{result}");
    }
    for (version, by) in [("1.2", "ticket"), ("1.3", "ticket")] {
        let options = json!({"transactions": 40, "library": "gnutls", "tls": version, "http": "/", "resume": 100.0,
            "resume_by": by});
        let result = driven(server.address(), options);
        assert!(result["resumed"].as_u64().unwrap() > 0, "{result}");
    }
    let other = json!({"transactions": 6, "library": "gnutls", "ca": one, "sni": "two.test"});
    let (code, result, _) = drive(&server.address().to_string(), other);
    assert_eq!((code, &result["errors"]), (Some(1), &json!({"alert 112": 6})), "{result}");
    let nonsense = json!({"library": "gnutls", "priority": "NONSENSE"});
    let (code, _, said) = drive(&server.address().to_string(), nonsense);
    assert!(code == Some(1) && said.contains("NONSENSE"), "{said}");
}

/// A client's certificate, or an authority's. Neither names a host.
fn issued(whose: &str, issuer: Option<&(X509, PKey<Private>)>, key: &PKey<Private>) -> X509 {
    let mut builder = X509::builder().unwrap();
    builder.set_version(2).unwrap();
    let mut serial = [0; 8];
    openssl::rand::rand_bytes(&mut serial).unwrap();
    serial[0] = serial[0] & 0x7f | 0x40;
    builder.set_serial_number(&BigNum::from_slice(&serial).unwrap().to_asn1_integer().unwrap()).unwrap();
    let mut name = X509NameBuilder::new().unwrap();
    name.append_entry_by_text("O", whose).unwrap();
    let name = name.build();
    builder.set_subject_name(&name).unwrap();
    builder.set_issuer_name(issuer.map_or(&*name, |(above, _)| above.subject_name())).unwrap();
    builder.set_not_before(&Asn1Time::days_from_now(0).unwrap()).unwrap();
    builder.set_not_after(&Asn1Time::days_from_now(30).unwrap()).unwrap();
    builder.set_pubkey(key).unwrap();
    let mut basic = BasicConstraints::new();
    if whose == "an authority" {
        basic.critical().ca();
    }
    builder.append_extension(basic.build().unwrap()).unwrap();
    builder.sign(issuer.map_or(key, |(_, above)| above), MessageDigest::sha256()).unwrap();
    builder.build()
}

#[test]
fn certificates_of_clients_open_and_wrong_ones_are_told_by_their_alerts() {
    let folder = Folder::new();
    folder.certify("one", &rsa(), &["one.test"]);
    let key = ecdsa();
    let authority = (issued("an authority", None, &key), key);
    folder.write("clients.pem", authority.0.to_pem().unwrap());
    for (name, issuer, key) in
        [("rsa", Some(&authority), rsa()), ("curve", Some(&authority), ecdsa()), ("stranger", None, ecdsa())]
    {
        folder.write(&format!("{name}.pem"), issued("a client", issuer, &key).to_pem().unwrap());
        folder.write(&format!("{name}.key"), key.private_key_to_pem_pkcs8().unwrap());
    }
    let settings =
        SETTINGS.replace("[[listener]]", "[certificate.clients]\nca = \"clients.pem\"\n[[listener]]");
    let server = folder.serve(&settings);
    let address = server.address().to_string();
    for version in ["1.2", "1.3"] {
        let shown = |name: &str| {
            let [chain, key] = ["pem", "key"].map(|kind| folder.path(&format!("{name}.{kind}")));
            let options =
                json!({"transactions": 6, "tls": version, "client_certificate": chain, "client_key": key});
            drive(&address, options)
        };
        for name in ["rsa", "curve"] {
            let (code, result, said) = shown(name);
            assert_eq!((code, &result["full"]), (Some(0), &json!(6)), "{name}, {version}: {said} {result}");
        }
        let (code, result, _) = shown("stranger");
        assert_eq!((code, &result["errors"]), (Some(1), &json!({"alert 48": 6})), "{version}: {result}");
        let none = if version == "1.3" { "alert 116" } else { "alert 40" };
        let (code, result, _) = drive(&address, json!({"transactions": 6, "tls": version}));
        assert_eq!((code, &result["errors"]), (Some(1), &json!({none: 6})), "{version}: {result}");
    }
    let [chain, key] = ["rsa.pem", "curve.key"].map(|name| folder.path(name));
    let (code, _, said) = drive(&address, json!({"client_certificate": chain, "client_key": key}));
    assert!(code == Some(2) && said.contains("--client-key") && said.contains("curve.key"), "{said}");
    let log = server.stop();
    let ends = |end: &str| log.iter().filter(|entry| entry["end"].as_str().unwrap().starts_with(end)).count();
    assert_eq!((ends("done"), ends("client-certificate (")), (24, 24), "{log:?}");
}
