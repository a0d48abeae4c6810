//! Debian's OpenSSL, curl and GnuTLS at a server whose keys are labels: versions, suites and groups, names, protocols,
//! sessions over reloads and rotations, and certificates of clients.

use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;
use tls_tests::{Place, Server, talk};

const KEYS: [(&str, &str, &str); 3] = [
    ("WEB.RSA", "rsa2048-tls", "rsa.test *.rsa.test"),
    ("WEB.P256", "p256-sign", "p256.test"),
    ("WEB.P384", "p384-sign", "p384.test"),
];
const POLICIES: [&str; 3] = ["modern", "compatible", "legacy-insecure"];
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: any\r\n\r\n";
const ANSWER: &str = "served\n";

/// A listener for each policy, at addresses of their own.
fn listeners() -> String {
    let listener = |(number, policy): (usize, &str)| {
        format!(
            "[[listener]]\naddress = \"127.0.0.{}:0\"\npolicy = \"{policy}\"\nanswer = \"served\\n\"\n",
            number + 1
        )
    };
    POLICIES.into_iter().enumerate().map(listener).collect()
}

/// The clients of a server.
struct Clients {
    addresses: Vec<String>,
    trusted: PathBuf,
}

impl Clients {
    fn new(place: &Place, server: &Server<'_>) -> Self {
        Self { addresses: server.addresses(), trusted: place.trusted() }
    }

    /// Address and port of the listener of a policy.
    fn at(&self, policy: &str) -> (&str, &str) {
        let number = POLICIES.iter().position(|one| *one == policy).unwrap();
        self.addresses[number].split_once(':').unwrap()
    }

    fn openssl(&self, policy: &str, name: &str, arguments: &str) -> (bool, String) {
        let mut command = Command::new("openssl");
        command.args(["s_client", "-verify_return_error", "-verify_hostname", name]).arg("-CAfile");
        command.arg(&self.trusted).args(["-servername", name]);
        let (address, port) = self.at(policy);
        command.args(["-connect", &format!("{address}:{port}")]);
        talk(command.args(arguments.split_whitespace()), REQUEST, ANSWER)
    }

    fn gnutls(&self, policy: &str, name: &str, priority: &str, arguments: &str) -> (bool, String) {
        let mut command = Command::new("gnutls-cli");
        command.args(["--priority", priority, "--sni-hostname", name, "--verify-hostname", name]);
        command.arg("--x509cafile").arg(&self.trusted).args(arguments.split_whitespace());
        let (address, port) = self.at(policy);
        talk(command.args(["--port", port, address]), REQUEST, ANSWER)
    }

    fn curl(&self, policy: &str, name: &str, arguments: &str) -> (bool, String) {
        let (address, port) = self.at(policy);
        let mut command = Command::new("curl");
        command.args(["--silent", "--show-error", "--verbose", "--max-time", "120", "--cacert"]);
        command.arg(&self.trusted).args(["--resolve", &format!("{name}:{port}:{address}")]);
        talk(command.args(arguments.split_whitespace()).arg(format!("https://{name}:{port}/")), b"", ANSWER)
    }
}

/// What the log must say of a connection: name, version, suite and group.
type Expected = (&'static str, &'static str, &'static str, &'static str);

fn entries(log: &[Value]) -> Vec<(String, String, String, String)> {
    let text = |entry: &Value, key: &str| entry[key].as_str().unwrap_or("-").to_owned();
    let row = |entry: &Value| {
        (text(entry, "sni"), text(entry, "version"), text(entry, "cipher"), text(entry, "group"))
    };
    let mut rows: Vec<_> = log.iter().map(row).collect();
    rows.sort();
    rows
}

#[test]
fn openssl_curl_and_gnutls_have_the_versions_suites_and_groups_of_each_policy() {
    let place = Place::new(&KEYS);
    let server = place.serve_with(&(place.certificates() + &listeners()));
    let clients = Clients::new(&place, &server);
    let mut expected: Vec<Expected> = Vec::new();
    for (policy, arguments, row) in [
        ("modern", "-tls1_3 -groups X25519", ("rsa.test", "TLS1.3", "TLS_AES_128_GCM_SHA256", "x25519")),
        (
            "modern",
            "-tls1_3 -groups P-256 -ciphersuites TLS_AES_256_GCM_SHA384",
            ("p256.test", "TLS1.3", "TLS_AES_256_GCM_SHA384", "secp256r1"),
        ),
        (
            "modern",
            "-tls1_3 -groups P-384 -ciphersuites TLS_CHACHA20_POLY1305_SHA256",
            ("p384.test", "TLS1.3", "TLS_CHACHA20_POLY1305_SHA256", "secp384r1"),
        ),
        (
            "modern",
            "-tls1_2 -groups X25519 -cipher ECDHE-RSA-AES128-GCM-SHA256",
            ("rsa.test", "TLS1.2", "ECDHE-RSA-AES128-GCM-SHA256", "x25519"),
        ),
        (
            "modern",
            "-tls1_2 -groups P-256 -cipher ECDHE-ECDSA-AES256-GCM-SHA384",
            ("p256.test", "TLS1.2", "ECDHE-ECDSA-AES256-GCM-SHA384", "secp256r1"),
        ),
        (
            "modern",
            "-tls1_2 -groups P-384 -cipher ECDHE-ECDSA-AES128-GCM-SHA256",
            ("p384.test", "TLS1.2", "ECDHE-ECDSA-AES128-GCM-SHA256", "secp384r1"),
        ),
        ("compatible", "-tls1_2 -cipher AES256-GCM-SHA384", ("rsa.test", "TLS1.2", "AES256-GCM-SHA384", "-")),
        ("compatible", "-tls1_2 -cipher AES128-SHA", ("rsa.test", "TLS1.2", "AES128-SHA", "-")),
        (
            "legacy-insecure",
            "-tls1 -cipher AES128-SHA:@SECLEVEL=0",
            ("rsa.test", "TLS1.0", "AES128-SHA", "-"),
        ),
        (
            "legacy-insecure",
            "-tls1_1 -cipher AES256-SHA:@SECLEVEL=0",
            ("rsa.test", "TLS1.1", "AES256-SHA", "-"),
        ),
    ] {
        let (_, text) = clients.openssl(policy, row.0, arguments);
        assert!(text.contains("\nserved\n"), "openssl {policy} {arguments}: {text}");
        assert!(text.contains("Verify return code: 0 (ok)"), "openssl {policy} {arguments}: {text}");
        expected.push(row);
    }
    for (policy, priority, row) in [
        (
            "modern",
            "NORMAL:-VERS-ALL:+VERS-TLS1.3:-GROUP-ALL:+GROUP-X25519:-CIPHER-ALL:+CHACHA20-POLY1305",
            ("p256.test", "TLS1.3", "TLS_CHACHA20_POLY1305_SHA256", "x25519"),
        ),
        (
            "modern",
            "NORMAL:-VERS-ALL:+VERS-TLS1.3:-GROUP-ALL:+GROUP-SECP384R1:-CIPHER-ALL:+AES-256-GCM",
            ("rsa.test", "TLS1.3", "TLS_AES_256_GCM_SHA384", "secp384r1"),
        ),
        (
            "modern",
            "NORMAL:-VERS-ALL:+VERS-TLS1.2:-GROUP-ALL:+GROUP-SECP256R1:-CIPHER-ALL:+AES-128-GCM",
            ("p384.test", "TLS1.2", "ECDHE-ECDSA-AES128-GCM-SHA256", "secp256r1"),
        ),
        (
            "compatible",
            "NORMAL:-VERS-ALL:+VERS-TLS1.2:-KX-ALL:+RSA:-CIPHER-ALL:+AES-128-GCM",
            ("rsa.test", "TLS1.2", "AES128-GCM-SHA256", "-"),
        ),
        (
            "legacy-insecure",
            "NORMAL:-VERS-ALL:+VERS-TLS1.0:-KX-ALL:+RSA:-CIPHER-ALL:+3DES-CBC",
            ("rsa.test", "TLS1.0", "DES-CBC3-SHA", "-"),
        ),
        (
            "legacy-insecure",
            "NORMAL:-VERS-ALL:+VERS-TLS1.2:-KX-ALL:+RSA:-CIPHER-ALL:+3DES-CBC",
            ("rsa.test", "TLS1.2", "DES-CBC3-SHA", "-"),
        ),
        (
            "legacy-insecure",
            "NORMAL:-VERS-ALL:+VERS-TLS1.2:-KX-ALL:+RSA:-CIPHER-ALL:+ARCFOUR-128:-MAC-ALL:+MD5",
            ("rsa.test", "TLS1.2", "RC4-MD5", "-"),
        ),
    ] {
        let (is_done, text) = clients.gnutls(policy, row.0, priority, "");
        assert!(is_done && text.contains("\nserved\n"), "gnutls {policy} {priority}: {text}");
        expected.push(row);
    }
    for (arguments, row) in [
        ("--tlsv1.3", ("p384.test", "TLS1.3", "TLS_AES_128_GCM_SHA256", "x25519")),
        (
            "--tls-max 1.2 --ciphers ECDHE-RSA-AES256-GCM-SHA384",
            ("rsa.test", "TLS1.2", "ECDHE-RSA-AES256-GCM-SHA384", "x25519"),
        ),
        (
            "--tls-max 1.2 --curves P-256 --ciphers ECDHE-ECDSA-AES128-GCM-SHA256",
            ("p256.test", "TLS1.2", "ECDHE-ECDSA-AES128-GCM-SHA256", "secp256r1"),
        ),
    ] {
        let (is_done, text) = clients.curl("modern", row.0, arguments);
        assert!(is_done && text.contains("served\n"), "curl {arguments}: {text}");
        expected.push(row);
    }
    let log = server.stop();
    let is_of_card = |entry: &Value| {
        entry["key"].as_str().is_some_and(|key| key.starts_with("label WEB.")) && entry["key_us"].is_u64()
    };
    assert!(log.iter().all(is_of_card), "{log:?}");
    let own = |row: Expected| (row.0.to_owned(), row.1.to_owned(), row.2.to_owned(), row.3.to_owned());
    let mut expected: Vec<_> = expected.into_iter().map(own).collect();
    expected.sort();
    assert_eq!(entries(&log), expected);
}

#[test]
fn what_a_policy_leaves_out_is_refused_with_an_alert() {
    let place = Place::new(&KEYS);
    let server = place.serve_with(&(place.certificates() + &listeners()));
    let clients = Clients::new(&place, &server);
    let mut refused = 0;
    for (policy, name, arguments) in [
        ("modern", "rsa.test", "-tls1_2 -cipher AES128-GCM-SHA256"),
        ("modern", "rsa.test", "-tls1_2 -cipher ECDHE-RSA-AES128-SHA"),
        ("modern", "rsa.test", "-tls1_2 -cipher DHE-RSA-AES128-GCM-SHA256"),
        ("modern", "rsa.test", "-tls1_1 -cipher AES128-SHA:@SECLEVEL=0"),
        ("modern", "rsa.test", "-tls1_3 -groups X448"),
        ("compatible", "rsa.test", "-tls1_1 -cipher AES128-SHA:@SECLEVEL=0"),
        // A key of a curve signs alone.
        ("compatible", "p256.test", "-tls1_2 -cipher AES128-GCM-SHA256"),
    ] {
        let (is_done, text) = clients.openssl(policy, name, arguments);
        let log = std::fs::read_to_string(place.path("access.log")).unwrap_or_default();
        assert!(!is_done && text.contains("SSL alert number"), "openssl {policy} {arguments}: {text}\n{log}");
        refused += 1;
    }
    for (policy, priority) in [
        ("compatible", "NORMAL:-VERS-ALL:+VERS-TLS1.2:-KX-ALL:+RSA:-CIPHER-ALL:+3DES-CBC"),
        ("compatible", "NORMAL:-VERS-ALL:+VERS-TLS1.2:-KX-ALL:+RSA:-CIPHER-ALL:+ARCFOUR-128"),
        ("legacy-insecure", "NORMAL:-VERS-ALL:+VERS-TLS1.2:-KX-ALL:+RSA:-CIPHER-ALL:+CAMELLIA-128-CBC"),
    ] {
        let (is_done, text) = clients.gnutls(policy, "rsa.test", priority, "");
        assert!(!is_done && text.contains("Received alert [40]"), "gnutls {policy} {priority}: {text}");
        refused += 1;
    }
    let log = server.stop();
    let ends = log
        .iter()
        .filter(|entry| entry["end"].as_str().is_some_and(|end| end.starts_with("nothing-in-common")));
    assert_eq!((log.len(), ends.count()), (refused, refused), "{log:?}");
}

#[test]
fn names_and_protocols_are_those_that_clients_ask_for() {
    let place = Place::new(&KEYS);
    let listeners = listeners().replace("answer", "alpn = [\"h2\", \"http/1.1\"]\nanswer");
    let server = place.serve_with(&(place.certificates() + &listeners));
    let clients = Clients::new(&place, &server);
    for version in ["-tls1_2", "-tls1_3"] {
        let (_, text) = clients.openssl("modern", "any.rsa.test", version);
        assert!(text.contains("\nserved\n") && text.contains("No ALPN negotiated"), "{text}");
        for (offered, agreed) in [("h2,http/1.1", "h2"), ("http/1.1,other", "http/1.1")] {
            let (_, text) = clients.openssl("modern", "p256.test", &format!("{version} -alpn {offered}"));
            assert!(text.contains(&format!("ALPN protocol: {agreed}\n")), "{offered}: {text}");
        }
        let (is_done, text) = clients.openssl("modern", "p256.test", &format!("{version} -alpn other"));
        assert!(!is_done && text.contains("SSL alert number 120"), "{text}");
        for name in ["other.test", "a.b.rsa.test", "test"] {
            let (is_done, text) = clients.openssl("modern", name, version);
            assert!(!is_done && text.contains("SSL alert number 112"), "{name}: {text}");
        }
    }
    for version in ["1.2", "1.3"] {
        let priority = format!("NORMAL:-VERS-ALL:+VERS-TLS{version}");
        let (is_done, text) = clients.gnutls("modern", "any.rsa.test", &priority, "--alpn http/1.1");
        assert!(is_done && text.contains("Application protocol: http/1.1"), "{text}");
        let (is_done, text) = clients.gnutls("modern", "p256.test", &priority, "--alpn other");
        assert!(!is_done && text.contains("Received alert [120]"), "{text}");
        let (is_done, text) = clients.gnutls("modern", "other.test", &priority, "");
        assert!(!is_done && text.contains("Received alert [112]"), "{text}");
        let (is_done, text) =
            clients.curl("modern", "any.rsa.test", &format!("--http1.1 --tls-max {version}"));
        assert!(is_done && text.contains("server accepted http/1.1"), "{text}");
        let (is_done, text) = clients.curl("modern", "other.test", &format!("--tls-max {version}"));
        assert!(!is_done && text.contains("unrecognized name"), "{text}");
    }
    let log = server.stop();
    let of = |end: &str| {
        log.iter().filter(|entry| entry["end"].as_str().is_some_and(|of| of.starts_with(end))).count()
    };
    assert_eq!((of("unknown-name"), of("unknown-protocol")), (6 + 2 + 2, 2 + 2), "{log:?}");
}

#[test]
fn sessions_go_on_over_reloads_and_rotations_until_their_key_is_gone() {
    let place = Place::new(&KEYS);
    place.cryptand(&["tls", "ticket-key", "ticket.keys"]);
    let server = place.serve_with(&format!(
        "[tickets]\nfile = \"ticket.keys\"\n{}{}",
        place.certificates(),
        listeners()
    ));
    let clients = Clients::new(&place, &server);
    let sessions = [
        ("-tls1_2", "rsa.test"),
        ("-tls1_3", "rsa.test"),
        ("-tls1_2", "p384.test"),
        ("-tls1_3", "p256.test"),
    ];
    let file = |version: &str, name: &str| place.path(&format!("{name}{version}.session"));
    let is_resumed = |version: &str, name: &str, way: &str| {
        let path = file(version, name);
        let (_, text) = clients.openssl("modern", name, &format!("{version} {way} {}", path.display()));
        assert!(text.contains("\nserved\n"), "{text}");
        text.contains("\nReused, TLS")
    };
    for (version, name) in sessions {
        assert!(!is_resumed(version, name, "-sess_out"));
    }
    for reload in 0..5 {
        for (version, name) in sessions {
            // A new key stands before the one that sealed them, twice; then only newer ones are kept.
            assert_eq!(is_resumed(version, name, "-sess_in"), reload < 4, "{version} {name} {reload}");
        }
        if reload > 0 {
            place.cryptand(&["tls", "ticket-key", "ticket.keys"]);
        }
        server.reload();
    }
    let log = server.stop();
    assert!(log.iter().all(|entry| entry["end"] == "done" || entry["end"] == "cut"), "{log:?}");
    let without_key = |entry: &Value| entry["key_us"].is_null() == (entry["resumed"] == true);
    assert!(log.iter().all(without_key), "{log:?}");
}

#[test]
fn sessions_are_found_by_ticket_and_by_number() {
    let place = Place::new(&KEYS);
    let server =
        place.serve_with(&format!("[sessions]\ncache = 100\n{}{}", place.certificates(), listeners()));
    let clients = Clients::new(&place, &server);
    for (policy, name, arguments) in [
        ("modern", "rsa.test", "-tls1_2 -no_ticket -reconnect"),
        ("modern", "p256.test", "-tls1_2 -reconnect"),
        ("compatible", "rsa.test", "-tls1_2 -no_ticket -reconnect -cipher AES128-GCM-SHA256"),
    ] {
        let (_, text) = clients.openssl(policy, name, arguments);
        let counted = (text.matches("\nNew, TLS").count(), text.matches("\nReused, TLS").count());
        // SSLv3 and TLSv1.2 are what OpenSSL calls the suite's first version.
        let old = (text.matches("\nNew, SSLv3").count(), text.matches("\nReused, SSLv3").count());
        assert_eq!((counted.0 + old.0, counted.1 + old.1), (1, 5), "{arguments}: {text}");
    }
    for (policy, name, priority, arguments) in [
        ("modern", "p384.test", "NORMAL:-VERS-ALL:+VERS-TLS1.2", "--resume"),
        ("modern", "p256.test", "NORMAL:-VERS-ALL:+VERS-TLS1.2", "--resume --noticket"),
        ("modern", "rsa.test", "NORMAL:-VERS-ALL:+VERS-TLS1.3", "--resume --waitresumption"),
        (
            "legacy-insecure",
            "rsa.test",
            "NORMAL:-VERS-ALL:+VERS-TLS1.2:-KX-ALL:+RSA:-CIPHER-ALL:+3DES-CBC",
            "--resume",
        ),
    ] {
        let (_, text) = clients.gnutls(policy, name, priority, arguments);
        assert!(text.contains("*** This is a resumed session"), "{priority} {arguments}: {text}");
        assert!(text.contains("\nserved\n"), "{priority} {arguments}: {text}");
    }
    drop(server);
}

#[test]
fn certificates_of_clients_are_asked_for_and_judged() {
    let place =
        Place::new(&[("WEB.CLOSED", "rsa2048-tls", "closed.test"), ("WEB.MAYBE", "p256-sign", "maybe.test")]);
    place.client_certificate("good");
    place.client_certificate("wrong");
    let asking = "[certificate.clients]\nca = \"good-ca.pem\"\n";
    let certificates = format!(
        "[[certificate]]\nlabel = \"WEB.CLOSED\"\n{asking}[[certificate]]\nlabel = \"WEB.MAYBE\"\n{asking}required = false\n"
    );
    let server = place.serve_with(&(certificates + &listeners()));
    let clients = Clients::new(&place, &server);
    let path = |file: String| place.path(&file).display().to_string();
    let mut refused = 0;
    for (name, shown, is_let_in) in [
        ("closed.test", "good", true),
        ("closed.test", "wrong", false),
        ("closed.test", "", false),
        ("maybe.test", "good", true),
        ("maybe.test", "wrong", false),
        ("maybe.test", "", true),
    ] {
        let (own, key) = (path(format!("{shown}.pem")), path(format!("{shown}.key")));
        for version in ["1.2", "1.3"] {
            let words = |certificate: &str, private: &str| match shown {
                "" => String::new(),
                _ => format!("{certificate} {own} {private} {key}"),
            };
            let option = if version == "1.2" { "-tls1_2" } else { "-tls1_3" };
            let openssl = clients.openssl("modern", name, &format!("{option} {}", words("-cert", "-key"))).1;
            let priority = format!("NORMAL:-VERS-ALL:+VERS-TLS{version}");
            let gnutls =
                clients.gnutls("modern", name, &priority, &words("--x509certfile", "--x509keyfile")).1;
            let curl =
                clients.curl("modern", name, &format!("--tls-max {version} {}", words("--cert", "--key"))).1;
            for (client, text) in [("openssl", openssl), ("gnutls", gnutls), ("curl", curl)] {
                let is_served = text.contains("served\n");
                assert_eq!(is_served, is_let_in, "{client} {version} {name} {shown:?}: {text}");
                assert!(is_served || text.contains("alert"), "{client} {version} {name} {shown:?}: {text}");
                refused += usize::from(!is_let_in);
            }
        }
    }
    let log = server.stop();
    let of = |end: &str| log.iter().filter(|entry| entry["end"] == end).count();
    let (unknown, none) = (of("client-certificate (unknown authority)"), of("client-certificate (none)"));
    assert_eq!((unknown, none, unknown + none), (12, 6, refused), "{log:?}");
    let named = log.iter().filter(|entry| entry["client_certificate"] == "CN=good").count();
    assert_eq!((named, log.len()), (12, 36), "{log:?}");
}
