//! rustls at a server whose keys are labels, with cryptography of another stock: every version, suite and group that
//! both have, sessions, names, protocols, and certificates of clients.

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{
    AlertDescription, ClientConfig, ClientConnection, Error, HandshakeKind, ProtocolVersion, RootCertStore,
    StreamOwned, SupportedProtocolVersion, version,
};
use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use tls_tests::{Place, Server};

const KEYS: [(&str, &str, &str); 3] = [
    ("WEB.RSA", "rsa2048-tls", "rsa.test *.rsa.test"),
    ("WEB.P256", "p256-sign", "p256.test"),
    ("WEB.P384", "p384-sign", "p384.test"),
];
const BOTH: [&SupportedProtocolVersion; 2] = [&version::TLS12, &version::TLS13];

/// What a client was answered.
#[derive(Debug)]
struct Answer {
    kind: HandshakeKind,
    version: ProtocolVersion,
    suite: String,
    group: Option<String>,
    protocol: Option<String>,
}

/// A client that trusts the certificates of the place.
fn client(
    place: &Place,
    provider: CryptoProvider,
    versions: &[&'static SupportedProtocolVersion],
    own: Option<&str>,
) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(place.trusted()).unwrap() {
        roots.add(certificate.unwrap()).unwrap();
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots);
    let Some(own) = own else { return builder.with_no_client_auth() };
    let chain = CertificateDer::pem_file_iter(place.path(&format!("{own}.pem"))).unwrap();
    let key = PrivateKeyDer::from_pem_file(place.path(&format!("{own}.key"))).unwrap();
    builder.with_client_auth_cert(chain.map(Result::unwrap).collect(), key).unwrap()
}

/// Asks the server for an answer, and ends as it should.
fn ask(server: &Server<'_>, config: &Arc<ClientConfig>, name: &str) -> io::Result<Answer> {
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let library = ClientConnection::new(Arc::clone(config), name).unwrap();
    let socket = TcpStream::connect(format!("127.0.0.1:{}", server.port()))?;
    let mut stream = StreamOwned::new(library, socket);
    stream.write_all(b"GET / HTTP/1.1\r\nHost: any\r\n\r\n")?;
    let (mut text, mut part) = (Vec::new(), [0; 4096]);
    while !text.ends_with(b"served\n") {
        match stream.read(&mut part)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => text.extend_from_slice(&part[..count]),
        }
    }
    stream.conn.send_close_notify();
    stream.flush()?;
    let library = &stream.conn;
    Ok(Answer {
        kind: library.handshake_kind().unwrap(),
        version: library.protocol_version().unwrap(),
        suite: format!("{:?}", library.negotiated_cipher_suite().unwrap().suite()),
        group: library.negotiated_key_exchange_group().map(|group| format!("{:?}", group.name())),
        protocol: library.alpn_protocol().map(|name| String::from_utf8(name.to_vec()).unwrap()),
    })
}

/// The alert with which the server refuses.
fn refusal(answer: io::Result<Answer>) -> AlertDescription {
    let error = answer.expect_err("the server refuses");
    match error.get_ref().and_then(|of| of.downcast_ref::<Error>()) {
        Some(Error::AlertReceived(alert)) => *alert,
        _ => panic!("no alert: {error:?}"),
    }
}

/// The suite by OpenSSL's name, as the log has it.
fn of_openssl(suite: &str) -> String {
    match suite.strip_prefix("TLS13_") {
        Some(suite) => format!("TLS_{suite}"),
        None => suite
            .replace("TLS_", "")
            .replace("WITH_", "")
            .replace("AES_", "AES")
            .replace("POLY1305_SHA256", "POLY1305")
            .replace('_', "-"),
    }
}

#[test]
fn every_version_suite_and_group_that_both_have_agrees_and_goes_on_with_its_session() {
    if needs::lacks(needs::Need::Graviola) {
        return;
    }
    let place = Place::new(&KEYS);
    let server = place.serve("modern");
    let mut expected = Vec::new();
    let all = rustls_graviola::default_provider();
    for suite in &all.cipher_suites {
        for group in &all.kx_groups {
            let version = suite.version();
            if !group.usable_for_version(version.version) {
                continue;
            }
            let named = format!("{:?}", suite.suite());
            let name = if named.contains("ECDSA") { "p256.test" } else { "rsa.test" };
            let provider = CryptoProvider {
                cipher_suites: vec![*suite],
                kx_groups: vec![*group],
                ..rustls_graviola::default_provider()
            };
            let config = Arc::new(client(&place, provider, &[version], None));
            for kind in [HandshakeKind::Full, HandshakeKind::Resumed] {
                let answer = ask(&server, &config, name)
                    .unwrap_or_else(|error| panic!("{named} {:?} {kind:?}: {error}", group.name()));
                assert_eq!((answer.kind, answer.version), (kind, version.version), "{answer:?}");
                assert_eq!(answer.suite, named);
                let is_tls13 = version.version == ProtocolVersion::TLSv1_3;
                let has_group = is_tls13 || kind == HandshakeKind::Full;
                let of_group = format!("{:?}", group.name());
                assert!(!has_group || answer.group.as_deref() == Some(&of_group), "{answer:?}");
                expected.push((
                    name.to_owned(),
                    of_openssl(&named),
                    has_group.then(|| of_group.to_lowercase()),
                    kind == HandshakeKind::Resumed,
                ));
            }
        }
    }
    // 3 suites of TLS 1.3 with 4 groups, and 6 of TLS 1.2 with 3, each twice.
    assert_eq!(expected.len(), 2 * (3 * 4 + 6 * 3));
    let row = |entry: &Value| {
        assert!(entry["end"] == "done" || entry["end"] == "cut", "{entry}");
        assert_eq!(entry["key_us"].is_null(), entry["resumed"] == true, "{entry}");
        let text = |key: &str| entry[key].as_str().map(str::to_owned);
        let group = text("group").map(|group| group.to_lowercase());
        (text("sni").unwrap(), text("cipher").unwrap(), group, entry["resumed"] == true)
    };
    let mut found: Vec<_> = server.stop().iter().map(row).collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn sessions_go_on_over_a_reload() {
    if needs::lacks(needs::Need::Graviola) {
        return;
    }
    let place = Place::new(&KEYS);
    let server = place.serve("compatible");
    for version in BOTH {
        let config = Arc::new(client(&place, rustls_graviola::default_provider(), &[version], None));
        for name in ["rsa.test", "p256.test", "p384.test"] {
            assert_eq!(ask(&server, &config, name).unwrap().kind, HandshakeKind::Full);
        }
        server.reload();
        for name in ["p384.test", "p256.test", "rsa.test"] {
            assert_eq!(ask(&server, &config, name).unwrap().kind, HandshakeKind::Resumed);
        }
        // Another name of the same certificate has no session yet.
        assert_eq!(ask(&server, &config, "other.rsa.test").unwrap().kind, HandshakeKind::Full);
    }
    assert_eq!(server.stop().len(), 14);
}

#[test]
fn names_and_protocols_are_those_that_rustls_asks_for() {
    if needs::lacks(needs::Need::Graviola) {
        return;
    }
    let place = Place::new(&KEYS);
    let server = place.serve_with(&format!(
        "{}[[listener]]\naddress = \"127.0.0.1:0\"\nalpn = [\"h2\", \"http/1.1\"]\nanswer = \"served\\n\"\n",
        place.certificates()
    ));
    for version in BOTH {
        let of = |protocols: &[&str]| {
            let mut config = client(&place, rustls_graviola::default_provider(), &[version], None);
            config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
            Arc::new(config)
        };
        for (offered, agreed) in [
            (vec![], None),
            (vec!["http/1.1", "h2"], Some("h2")),
            (vec!["other", "http/1.1"], Some("http/1.1")),
        ] {
            let answer = ask(&server, &of(&offered), "any.rsa.test").unwrap();
            assert_eq!(answer.protocol.as_deref(), agreed, "{offered:?}");
        }
        let refused = refusal(ask(&server, &of(&["other"]), "p256.test"));
        assert_eq!(refused, AlertDescription::NoApplicationProtocol);
        for name in ["other.test", "a.b.rsa.test"] {
            assert_eq!(refusal(ask(&server, &of(&[]), name)), AlertDescription::UnrecognisedName, "{name}");
        }
    }
    let log = server.stop();
    let of = |end: &str| {
        log.iter().filter(|entry| entry["end"].as_str().is_some_and(|of| of.starts_with(end))).count()
    };
    assert_eq!((of("unknown-name"), of("unknown-protocol"), log.len()), (4, 2, 12), "{log:?}");
}

#[test]
fn certificates_of_rustls_are_asked_for_and_judged() {
    if needs::lacks(needs::Need::Graviola) {
        return;
    }
    let place =
        Place::new(&[("WEB.CLOSED", "rsa2048-tls", "closed.test"), ("WEB.MAYBE", "p256-sign", "maybe.test")]);
    place.client_certificate("good");
    place.client_certificate("wrong");
    let asking = "[certificate.clients]\nca = \"good-ca.pem\"\n";
    let server = place.serve_with(&format!(
        "[[certificate]]\nlabel = \"WEB.CLOSED\"\n{asking}[[certificate]]\nlabel = \"WEB.MAYBE\"\n{asking}required = false\n\
         [[listener]]\naddress = \"127.0.0.1:0\"\nanswer = \"served\\n\"\n"
    ));
    for version in BOTH {
        let with = |own: Option<&str>| {
            Arc::new(client(&place, rustls_graviola::default_provider(), &[version], own))
        };
        let (good, wrong, none) = (with(Some("good")), with(Some("wrong")), with(None));
        for name in ["closed.test", "maybe.test"] {
            // Twice: no session is begun under such a name.
            for _ in 0..2 {
                assert_eq!(ask(&server, &good, name).unwrap().kind, HandshakeKind::Full);
            }
            assert_eq!(refusal(ask(&server, &wrong, name)), AlertDescription::UnknownCA, "{name}");
        }
        assert_eq!(ask(&server, &none, "maybe.test").unwrap().kind, HandshakeKind::Full);
        let is_tls13 = version.version == ProtocolVersion::TLSv1_3;
        let expected =
            if is_tls13 { AlertDescription::CertificateRequired } else { AlertDescription::HandshakeFailure };
        assert_eq!(refusal(ask(&server, &none, "closed.test")), expected);
    }
    let log = server.stop();
    let named = log.iter().filter(|entry| entry["client_certificate"] == "CN=good").count();
    assert_eq!((named, log.len()), (8, 16), "{log:?}");
}
