//! Metrics and status of a running program: what they say after what clients did, and who may ask.

use crate::support::{Client, Folder, PATIENCE, Server, VERSIONS, ask, close, ecdsa, program, rsa};
use openssl::ssl::SslVersion;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

const SETTINGS: &str = "
[metrics]
address = \"127.0.0.1:0\"
[[certificate]]
chain = \"one.pem\"
key = \"one.key\"
[[certificate]]
chain = \"two.pem\"
key = \"two.key\"
[[listener]]
address = \"127.0.0.1:0\"
answer = \"served\\n\"
";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.certify("one", &ecdsa(), &["one.test", "www.one.test"]);
    folder.certify("two", &rsa(), &["two.test"]);
    folder
}

fn metrics_at(server: &Server<'_>) -> SocketAddr {
    let said = server.said();
    let at = said.lines().find_map(|line| line.strip_prefix("cryptand-tls: metrics at http://")).unwrap();
    at.strip_suffix("/metrics").unwrap().parse().unwrap()
}

/// Head and body of an answer.
fn exchange(mut stream: impl Read + Write, request: &str) -> (String, String) {
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    (head.to_owned(), body.to_owned())
}

fn connect(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).unwrap()
}

fn page(address: SocketAddr) -> String {
    let (head, body) = exchange(connect(address), "GET /metrics HTTP/1.0\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4"), "{head}");
    body
}

/// The samples of a page.
fn samples(page: &str) -> BTreeMap<String, f64> {
    let lines = page.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, value) = line.rsplit_once(' ').unwrap();
            (name.to_owned(), value.parse().unwrap())
        })
        .collect()
}

/// The page once it says what is waited for: counters are written when a connection's end was seen.
fn page_when(address: SocketAddr, is_there: impl Fn(&BTreeMap<String, f64>) -> bool) -> String {
    let end = Instant::now() + PATIENCE;
    loop {
        let page = page(address);
        if is_there(&samples(&page)) {
            return page;
        }
        assert!(Instant::now() < end, "{page}");
    }
}

fn promtool() -> Option<PathBuf> {
    let fetched = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/prometheus/usr/bin/promtool");
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let found = std::iter::once(fetched)
        .chain(std::env::split_paths(&paths).map(|path| path.join("promtool")))
        .find(|path| path.exists());
    needs::did_without(needs::Need::Prometheus, found.is_none());
    found
}

#[test]
fn what_clients_did_is_counted_and_told() {
    let folder = folder();
    let server = folder.serve(SETTINGS);
    let (address, metrics) = (server.address(), metrics_at(&server));
    let of = |name: &str, labels: &str| format!("cryptand_tls_{name}{{listener=\"127.0.0.1:0\"{labels}}}");
    for version in VERSIONS {
        for _ in 0..3 {
            let mut stream = Client::new(version).connect(address, "one.test").unwrap();
            assert_eq!(ask(&mut stream), "served\n");
            close(stream);
        }
    }
    assert!(Client::new(SslVersion::TLS1_3).connect(address, "nobody.test").is_err());
    let mut kept = Client::new(SslVersion::TLS1_3).connect(address, "two.test").unwrap();
    assert_eq!(ask(&mut kept), "served\n");
    let mut garbage = connect(address);
    garbage.write_all(&[22, 3, 1, 0, 5, 1, 0, 0, 1, 0]).unwrap();
    let page = page_when(metrics, |samples| {
        samples[&of("failed_connections_held", "")] == 1.0
            && samples[&of("connection_ends_total", ",end=\"done\"")] == 6.0
    });
    let samples = samples(&page);
    let at = |name: &str, labels: &str| samples[&of(name, labels)];
    assert_eq!(at("connections_total", ""), 9.0, "{page}");
    assert_eq!(at("connections", ""), 1.0, "{page}");
    let kind = |version, cipher| {
        format!(",version=\"{version}\",cipher=\"{cipher}\",group=\"x25519\",resumed=\"no\"")
    };
    let agreed = samples.iter().filter(|(name, _)| name.contains("cryptand_tls_handshakes_total"));
    assert_eq!(agreed.map(|(_, count)| count).sum::<f64>(), 7.0, "{page}");
    assert_eq!(at("handshakes_total", &kind("TLS1.3", "TLS_AES_128_GCM_SHA256")), 4.0, "{page}");
    assert_eq!(at("handshakes_total", &kind("TLS1.2", "ECDHE-ECDSA-AES128-GCM-SHA256")), 3.0, "{page}");
    assert!(!page.contains("\"other\",") && !page.contains("cipher=\"other\""), "{page}");
    assert_eq!(at("handshake_failures_total", ",cause=\"unknown-name\""), 1.0, "{page}");
    assert_eq!(at("handshake_failures_total", ",cause=\"protocol\""), 1.0, "{page}");
    assert_eq!(at("handshake_seconds_count", ",resumed=\"no\""), 7.0, "{page}");
    assert!(at("handshake_seconds_sum", ",resumed=\"no\"") > 0.0, "{page}");
    assert_eq!(at("bytes_total", ",direction=\"in\""), 7.0 * 27.0, "{page}");
    assert!(at("bytes_total", ",direction=\"out\"") > 7.0 * 60.0, "{page}");
    assert_eq!(samples["cryptand_tls_certificates"], 2.0, "{page}");
    let chain = folder.path("one.pem");
    let expiry = samples[&format!(
        "cryptand_tls_certificate_expiry_timestamp_seconds{{name=\"one.test\",kind=\"P-256\",chain=\"{}\"}}",
        chain.display()
    )];
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64();
    assert!((29.0..=30.0).contains(&((expiry - now) / 86_400.0)), "{page}");
    assert!(samples["cryptand_tls_ticket_key_timestamp_seconds{policy=\"modern\"}"] > now - 3600.0, "{page}");
    // Reloads, and what the alert rules speak of.
    server.reload();
    folder.settings(&SETTINGS.replace("two.pem", "nothing.pem"));
    server.reload();
    let page = page_when(metrics, |samples| samples.contains_key("cryptand_tls_last_reload_successful"));
    let page = if page.contains("outcome=\"refused\"} 1") {
        page
    } else {
        page_when(metrics, |samples| samples["cryptand_tls_reloads_total{outcome=\"refused\"}"] == 1.0)
    };
    assert!(page.contains("cryptand_tls_reloads_total{outcome=\"served\"} 1\n"), "{page}");
    assert!(page.contains("cryptand_tls_last_reload_successful 0\n"), "{page}");
    // The counters of a listener go on over reloads.
    assert!(page.contains(&format!("{} 9\n", of("connections_total", ""))), "{page}");
    let rules = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/prometheus/cryptand.rules.yml");
    let rules = fs::read_to_string(rules).unwrap();
    let words = rules.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let words: Vec<&str> = words.filter(|word| word.starts_with("cryptand_tls_")).collect();
    assert!(words.len() >= 4 && words.iter().all(|word| page.contains(word)), "{words:?}\n{page}");
    if let Some(promtool) = promtool() {
        let mut child = Command::new(promtool)
            .args(["check", "metrics"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        assert!(output.status.success() && said.is_empty(), "{}", String::from_utf8_lossy(&said));
    }
    drop((kept, garbage));
    server.stop();
}

#[test]
fn hostile_scrapers_are_bounded() {
    let folder = folder();
    let socket = folder.path("metrics.sock");
    let text = SETTINGS.replace("address = \"127.0.0.1:0\"\n[[cert", "socket = \"metrics.sock\"\n[[cert");
    let server = folder.serve(&text);
    let unix = || UnixStream::connect(&socket).unwrap();
    let status = |request: &str| exchange(unix(), request).0.lines().next().unwrap().to_owned();
    assert_eq!(status("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), "HTTP/1.1 200 OK");
    assert_eq!(status("HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), "HTTP/1.1 200 OK");
    assert_eq!(status("GET /etc/passwd HTTP/1.1\r\n\r\n"), "HTTP/1.1 404 Not Found");
    assert_eq!(status("POST /metrics HTTP/1.1\r\n\r\n"), "HTTP/1.1 405 Method Not Allowed");
    assert_eq!(status("\x16\x03\x01\r\n\r\n"), "HTTP/1.1 400 Bad Request");
    assert_eq!(
        status(&format!("GET /metrics HTTP/1.1\r\nX: {}", "x".repeat(20_000))),
        "HTTP/1.1 431 Request Header Fields Too Large"
    );
    // Some that say nothing, some that go at once, some that read nothing: more than there is room for.
    let silent: Vec<UnixStream> = (0..20).map(|_| unix()).collect();
    for _ in 0..20 {
        let _ = unix().write_all(b"GET /metrics HTTP/1.0\r\n\r\n");
    }
    // TLS is served meanwhile, and the status told.
    let mut stream = Client::new(SslVersion::TLS1_3).connect(server.address(), "one.test").unwrap();
    assert_eq!(ask(&mut stream), "served\n");
    close(stream);
    assert!(status_of(&folder)["listeners"].is_array());
    // Silence has its time: the next one is served.
    assert_eq!(status("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), "HTTP/1.1 200 OK");
    drop(silent);
    server.stop();
    assert!(!socket.exists() && !folder.path("tls.sock").exists(), "sockets stay behind");
}

fn asked(passed: &Value) -> std::process::Output {
    Command::new(program()).arg("status").arg(passed.to_string()).output().unwrap()
}

fn status_of(folder: &Folder) -> Value {
    let file = folder.path("tls.toml");
    let output = asked(&json!({"file": file.to_str(), "socket": null, "json": true, "over": 0}));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_status_is_told_to_people_and_programs() {
    let folder = folder();
    let server = folder.serve(SETTINGS);
    let mut kept = Client::new(SslVersion::TLS1_3).connect(server.address(), "two.test").unwrap();
    assert_eq!(ask(&mut kept), "served\n");
    let status = status_of(&folder);
    let listener = &status["listeners"][0];
    assert_eq!((&listener["open"], &listener["handshakes"]), (&json!(1), &json!(1)), "{status}");
    assert_eq!(listener["address"], server.address().to_string());
    assert_eq!(status["certificates"], 2);
    assert!(status["expiring_first"][0]["key"].as_str().unwrap().starts_with("file "), "{status}");
    folder.settings(&SETTINGS.replace("[metrics]", "unknown = 1\n[metrics]"));
    server.reload();
    folder.settings(SETTINGS);
    let file = folder.path("tls.toml");
    let output = asked(&json!({"file": file.to_str(), "socket": null, "json": false, "over": 1}));
    let text = String::from_utf8(output.stdout).unwrap();
    for part in [
        "last reload    REFUSED",
        "unknown field",
        "connections  1 open",
        "0 a second now",
        "one.test +1",
        "RSA-2048",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    // Another server does not take its socket away, and goes on without.
    let other = fs::metadata(folder.path("tls.sock")).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&other.permissions()) & 0o777, 0o600);
    drop(kept);
    server.stop();
    // Nobody answers, no status is told, nonsense.
    let of = |passed: &Value| {
        let output = asked(passed);
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, said) = of(&json!({"file": file.to_str(), "socket": null, "json": false, "over": 0}));
    assert!(code == 3 && said.contains("no cryptand-tls answers at "), "{said}");
    folder.settings(&format!("[status]\nsocket = \"none\"\n{SETTINGS}"));
    let (code, said) = of(&json!({"file": file.to_str(), "socket": null, "json": false, "over": 0}));
    assert!(code == 1 && said.contains("[status] says that no status is told"), "{said}");
    assert_eq!(of(&json!({"fil": 1})).0, 2);
}

#[test]
fn a_socket_that_was_left_behind_is_taken_and_one_in_use_is_not() {
    let folder = folder();
    let socket = folder.path("tls.sock");
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    let server = folder.serve(SETTINGS);
    assert!(status_of(&folder)["pid"].is_number());
    server.stop();
    fs::remove_file(folder.path("notify")).unwrap();
    let in_use = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let server = folder.serve(SETTINGS);
    assert!(server.said().contains("no status is told: another program listens at "), "{}", server.said());
    server.stop();
    assert!(socket.exists(), "it belongs to the other one");
    drop(in_use);
    // A file that is no socket is nobody's to take away.
    fs::remove_file(&socket).unwrap();
    fs::write(&socket, "precious").unwrap();
    folder.settings(&format!("[status]\nsocket = \"tls.sock\"\n{SETTINGS}"));
    let output = Command::new(program()).arg("serve").arg(folder.path("tls.toml")).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("tls.toml, line 7, socket: cannot listen at "), "{said}");
    assert_eq!(fs::read_to_string(&socket).unwrap(), "precious");
}

#[test]
fn a_program_that_accepts_nobody_is_not_waited_for() {
    let folder = folder();
    let socket = folder.path("tls.sock");
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    // It fills the queue.
    let _first = std::os::unix::net::UnixStream::connect(&socket).unwrap();
    let server = folder.serve(SETTINGS);
    assert!(server.said().contains("no status is told: another program listens at "), "{}", server.said());
    let output = asked(&json!({"file": null, "socket": socket, "json": false, "over": 0}));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(3) && said.contains("it accepts nobody"), "{said}");
    server.stop();
}

#[test]
fn what_is_wrong_with_the_settings_is_said_with_line_and_key() {
    let folder = folder();
    let tables = SETTINGS.split_once("[[certificate]]").unwrap().1;
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = format!("[metrics]\naddress = \"{}\"", taken.local_addr().unwrap());
    let cases = [
        ("[metrics]\naddress = \"localhost\"", "line 7, address: \"localhost\" is no address with a port"),
        (
            "[metrics]\naddress = \"[::1]:1\"\nsocket = \"x\"",
            "line 8, socket: metrics have an `address` already",
        ),
        ("[metrics]", "line 6, [metrics]: it has neither"),
        ("[metrics]\nport = 1", "line 7, port: unknown field"),
        ("[status]\nsocket = \"/\"", "line 7, socket: /: it must be a path"),
        ("[status]\nsock = \"x\"", "line 7, sock: unknown field"),
        ("[reload]\nwatch = 1", "line 7, watch: invalid type"),
        (&taken, "line 7, address: cannot listen at"),
    ];
    for (text, said) in cases {
        folder.settings(&format!("{text}\n[[certificate]]{tables}"));
        let output = Command::new(program()).arg("serve").arg(folder.path("tls.toml")).output().unwrap();
        let all = String::from_utf8(output.stderr).unwrap();
        assert!(
            !output.status.success() && all.contains(&format!("tls.toml, {said}")),
            "{said} is not in {all}"
        );
    }
}

#[test]
fn where_metrics_are_told_stays_until_a_restart() {
    let folder = folder();
    let server = folder.serve(SETTINGS);
    folder.settings(
        &SETTINGS.replace("address = \"127.0.0.1:0\"\n[[cert", "address = \"127.0.0.2:0\"\n[[cert"),
    );
    server.reload();
    assert!(
        server
            .said()
            .contains("[metrics] or [status]: where metrics and status are told is read at the start only"),
        "{}",
        server.said()
    );
    assert!(page(metrics_at(&server)).contains("cryptand_tls_build_info"));
    drop(server);
}
