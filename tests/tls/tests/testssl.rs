//! testssl.sh finds nothing at a server of labels under `modern`.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};
use tls_tests::Place;

/// What it may find, since nothing here could be otherwise, and why.
const INHERENT: [(&str, &str); 3] = [
    ("cert_revocation", "certificates that keys sign themselves name no lists and no responder"),
    ("HSTS", "a header of HTTP: the server behind says it, and the answer for tests does not"),
    ("security_headers", "the same"),
];
/// What it must have looked at and found good: of a run that broke off, nothing would be found either.
const GOOD: [&str; 28] = [
    "SSLv2",
    "SSLv3",
    "TLS1_2",
    "TLS1_3",
    "cipherlist_NULL",
    "cipherlist_aNULL",
    "cipherlist_EXPORT",
    "cipherlist_LOW",
    "cipherlist_STRONG",
    "PFS",
    "PFS_ECDHE_curves",
    "cipher_order",
    "protocol_negotiated",
    "heartbleed",
    "CCS",
    "ticketbleed",
    "ROBOT",
    "secure_renego",
    "secure_client_renego",
    "CRIME_TLS",
    "POODLE_SSL",
    "SWEET32",
    "FREAK",
    "DROWN",
    "LOGJAM",
    "BEAST",
    "LUCKY13",
    "RC4",
];

#[test]
fn nothing_is_found_under_modern() {
    // The same names, so that clients without a name are served: much of it looks without one.
    let names = "web.test *.web.test";
    let place = Place::new(&[("WEB.RSA", "rsa2048-tls", names), ("WEB.P256", "p256-sign", names)]);
    let server = place.serve("modern");
    let found = place.path("found.json");
    let output = Command::new("testssl")
        .args(["--quiet", "--color", "0", "--warnings", "batch", "--nodns", "none", "--ip", "127.0.0.1"])
        .args(["--protocols", "--standard", "--fs", "--server-preference", "--server-defaults", "--headers"])
        .args(["--vulnerable", "--add-ca", "trusted.pem", "--jsonfile"])
        .arg(&found)
        .arg(format!("web.test:{}", server.port()))
        // What it leaves behind lies in the folder; it waits long for a machine that does other things.
        .current_dir(place.path(""))
        .envs([("TMPDIR", place.path("").display().to_string()), ("MAX_WAITSOCK", "60".to_owned())])
        .env("LANG", "C.UTF-8")
        .stdin(Stdio::null())
        .output()
        .expect("testssl runs: `scripts/need test` installs it");
    let text = String::from_utf8_lossy(&output.stdout);
    let json = fs::read_to_string(&found).unwrap_or_else(|error| panic!("{error}: {text}"));
    let findings: Vec<Value> = serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}"));
    let id = |finding: &Value| finding["id"].as_str().unwrap().split(' ').next().unwrap().to_owned();
    let is_found = |finding: &&Value| {
        let is_nothing =
            ["OK", "INFO", "WARN", "DEBUG"].contains(&finding["severity"].as_str().unwrap_or_default());
        !is_nothing && INHERENT.iter().all(|(one, _)| id(finding) != *one)
    };
    let bad: Vec<&Value> = findings.iter().filter(is_found).collect();
    assert!(bad.is_empty(), "{bad:#?}");
    let severities: BTreeMap<String, &str> =
        findings.iter().map(|finding| (id(finding), finding["severity"].as_str().unwrap())).collect();
    for id in GOOD {
        assert_eq!(severities.get(id), Some(&"OK"), "{id}: {text}");
    }
    // A list that names more than is there hides what comes later.
    for (id, why) in INHERENT {
        assert!(severities.contains_key(id), "{id} ({why}) is found no more");
    }
    let log = server.stop();
    let ends = |start: &str| {
        log.iter().filter(|entry| entry["end"].as_str().is_some_and(|end| end.starts_with(start))).count()
    };
    assert_eq!((ends("internal"), ends("key")), (0, 0), "{log:?}");
}
