//! `cryptand-tls drive` against this server: what it counts is what the server's own log says.

mod support;

use serde_json::{Value, json};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use support::{Folder, program, rsa};

const SETTINGS: &str = "
[[certificate]]
chain = \"one.pem\"
key = \"one.key\"
[[listener]]
address = \"127.0.0.1:0\"
policy = \"compatible\"
answer = \"served\\n\"
";

/// Drives, and gives the exit code, the JSON and what it said.
fn drive(target: &str, options: Value) -> (Option<i32>, Value, String) {
    let mut typed =
        json!({"target": target, "json": true, "connections": 8, "sni": "one.test", "timeout": 120});
    let options = options.as_object().unwrap().clone();
    typed.as_object_mut().unwrap().extend(options);
    let done =
        Command::new(program()).args(["drive", &typed.to_string()]).stdin(Stdio::null()).output().unwrap();
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
