//! Clients of Java and Go: versions, suites, groups, and sessions that go on over a reload.

use std::path::Path;
use std::process::{Command, Stdio};
use tls_tests::{Place, Server, said};

const KEYS: [(&str, &str, &str); 2] =
    [("WEB.RSA", "rsa2048-tls", "rsa.test"), ("WEB.P256", "p256-sign", "p256.test")];

fn runs(program: &str, argument: &str) -> bool {
    let mut command = Command::new(program);
    command.arg(argument).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Of each connection of the log: version and whether it went on with a session.
fn resumed(server: Server<'_>) -> Vec<(String, bool)> {
    let log = server.stop();
    assert!(log.iter().all(|entry| entry["end"] == "done" || entry["end"] == "cut"), "{log:?}");
    // Cards are asked for full handshakes, and for no session that goes on.
    let is_right = |entry: &serde_json::Value| {
        let is_of_label = entry["key"].as_str().is_some_and(|key| key.starts_with("label WEB."));
        if entry["resumed"] == true {
            entry["key_us"].is_null()
        } else {
            is_of_label && entry["key_us"].is_u64()
        }
    };
    assert!(log.iter().all(is_right), "{log:?}");
    let text = |entry: &serde_json::Value| entry["version"].as_str().unwrap().to_owned();
    log.iter().map(|entry| (text(entry), entry["resumed"] == true)).collect()
}

#[test]
fn java_is_served_with_both_versions_and_goes_on_with_its_sessions() {
    if needs::did_without(needs::Need::Java, !runs("java", "-version")) {
        return;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/Client.java");
    let place = Place::new(&KEYS);
    let server = place.serve("compatible");
    let client = |name: &str, version: &str, suite: &str, count: &str| {
        let mut command = Command::new("java");
        command.arg(&source).args([name, &server.port()]).arg(place.trusted()).args([version, suite, count]);
        said(&mut command)
    };
    for (name, version, suite, expected) in [
        ("rsa.test", "TLSv1.3", "-", "TLSv1.3 TLS_"),
        ("p256.test", "TLSv1.2", "-", "TLSv1.2 TLS_ECDHE_ECDSA_"),
        ("rsa.test", "TLSv1.2", "TLS_RSA_WITH_AES_128_GCM_SHA256", "TLSv1.2 TLS_RSA_WITH_AES_128_GCM_SHA256"),
    ] {
        let text = client(name, version, suite, "2");
        assert!(text.lines().count() == 2 && text.lines().all(|line| line.starts_with(expected)), "{text}");
        assert!(text.lines().all(|line| line.ends_with(" served")), "{text}");
    }
    let connections = resumed(server);
    assert_eq!(connections.len(), 6);
    let of_newest = connections.iter().filter(|(version, _)| version == "TLS1.3");
    assert_eq!(of_newest.filter(|(_, is_resumed)| *is_resumed).count(), 1, "{connections:?}");
}

#[test]
fn go_is_served_with_every_version_suite_and_group_that_both_have() {
    if needs::did_without(needs::Need::Go, !runs("go", "version")) {
        return;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/client.go");
    let place = Place::new(&KEYS);
    let client = place.path("client");
    said(Command::new("go").args(["build", "-o"]).arg(&client).arg(&source));
    let server = place.serve("compatible");
    let asked = |name: &str, version: &str, suite: &str, group: &str, count: &str| {
        let mut command = Command::new(&client);
        command.args([name, &server.port()]).arg(place.trusted()).args([version, suite, group, count]);
        said(&mut command)
    };
    for (name, version, suite, group, expected) in [
        ("rsa.test", "1.3", "-", "X25519MLKEM768", "TLS 1.3 TLS_"),
        ("p256.test", "1.3", "-", "X25519", "TLS 1.3 TLS_"),
        ("p256.test", "1.3", "-", "CurveP256", "TLS 1.3 TLS_"),
        (
            "rsa.test",
            "1.2",
            "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
            "X25519",
            "TLS 1.2 TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        ),
        (
            "p256.test",
            "1.2",
            "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
            "CurveP256",
            "TLS 1.2 TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        ),
        (
            "rsa.test",
            "1.2",
            "TLS_RSA_WITH_AES_128_GCM_SHA256",
            "-",
            "TLS 1.2 TLS_RSA_WITH_AES_128_GCM_SHA256",
        ),
    ] {
        let text = asked(name, version, suite, group, "2");
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() == 2 && lines.iter().all(|line| line.starts_with(expected)), "{text}");
        assert!(group == "-" || lines[0].contains(&format!(" {group} ")), "{group}: {text}");
        assert!(lines[0].ends_with(" false served") && lines[1].ends_with(" true served"), "tickets: {text}");
    }
    server.reload();
    let text = asked("rsa.test", "1.3", "-", "-", "2");
    assert!(text.contains("X25519MLKEM768") && text.ends_with(" true served\n"), "{text}");
    let connections = resumed(server);
    assert_eq!(connections.iter().filter(|(_, is_resumed)| *is_resumed).count(), 7, "{connections:?}");
}

#[test]
fn what_a_policy_does_not_offer_is_refused() {
    if needs::did_without(needs::Need::Go, !runs("go", "version")) {
        return;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/client.go");
    let place = Place::new(&KEYS);
    let client = place.path("client");
    said(Command::new("go").args(["build", "-o"]).arg(&client).arg(&source));
    let server = place.serve("modern");
    for (version, suite) in [("1.0", "-"), ("1.2", "TLS_RSA_WITH_AES_128_GCM_SHA256")] {
        let mut command = Command::new(&client);
        command.args(["rsa.test", &server.port()]).arg(place.trusted()).args([version, suite, "-", "1"]);
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            !output.status.success() && text.contains("remote error: tls: "),
            "{version} {suite}: {text}"
        );
    }
}
