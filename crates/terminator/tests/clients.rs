//! Other people's clients, both versions, and which certificate they are shown.

use crate::support::{Client, Folder, VERSIONS, ask, close, ecdsa, output, path_text, program, rsa, shown};
use openssl::ec::{EcGroup, EcKey};
use openssl::nid::Nid;
use openssl::pkey::PKey;
use openssl::ssl::SslVersion;
use std::io::{Read, Write};
use std::process::Command;

const SETTINGS: &str = "
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

#[test]
fn curl_openssl_gnutls_and_python_are_served_with_both_versions() {
    let folder = Folder::new();
    folder.certify("one", &rsa(), &["one.test"]);
    folder.certify("two", &ecdsa(), &["two.test"]);
    let server = folder.serve(SETTINGS);
    let port = server.address().port();
    let mut served = 0;
    for (name, chain) in [("one.test", "one.pem"), ("two.test", "two.pem")] {
        let trusted = folder.path(chain);
        for version in ["1.2", "1.3"] {
            let (is_done, said) = output(
                Command::new("curl")
                    .args(["--silent", "--show-error", "--tls-max", version, "--resolve"])
                    .arg(format!("{name}:{port}:127.0.0.1"))
                    .arg("--cacert")
                    .arg(&trusted)
                    .arg(format!("https://{name}:{port}/")),
                b"",
            );
            assert!(is_done && said == "served\n", "curl, {version}, {name}: {said}");

            let (is_done, said) = output(
                Command::new("openssl")
                    .args(["s_client", "-verify_return_error", "-servername", name, "-CAfile"])
                    .arg(&trusted)
                    .arg(if version == "1.2" { "-tls1_2" } else { "-tls1_3" })
                    .args(["-connect", &format!("127.0.0.1:{port}")]),
                b"GET / HTTP/1.0\r\n\r\n",
            );
            assert!(is_done, "openssl, {version}, {name}: {said}");

            let priority = format!("NORMAL:-VERS-ALL:+VERS-TLS{version}");
            let (is_done, said) = output(
                Command::new("gnutls-cli")
                    .args(["--priority", &priority, "--sni-hostname", name, "--verify-hostname", name])
                    .arg("--x509cafile")
                    .arg(&trusted)
                    .args(["--port", &port.to_string(), "127.0.0.1"]),
                b"GET / HTTP/1.0\r\n\r\n",
            );
            assert!(is_done && said.contains("Handshake was completed"), "gnutls, {version}, {name}: {said}");

            let script = "
import socket, ssl, sys
name, port, trusted, version = sys.argv[1:]
context = ssl.create_default_context(cafile=trusted)
context.maximum_version = {'1.2': ssl.TLSVersion.TLSv1_2, '1.3': ssl.TLSVersion.TLSv1_3}[version]
with context.wrap_socket(socket.create_connection(('127.0.0.1', int(port))), server_hostname=name) as stream:
    stream.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n')
    text = b''
    while not text.endswith(b'served\\n'):
        text += stream.recv(4096)
    print(stream.version())
";
            let port = port.to_string();
            let arguments = ["-c", script, name, &port, path_text(&trusted), version];
            let (is_done, said) = output(Command::new("python3").args(arguments), b"");
            assert!(is_done && said == format!("TLSv{version}\n"), "python, {version}, {name}: {said}");
            served += 4;
        }
    }
    let log = server.stop();
    let of = |key: &str, value: &str| log.iter().filter(|entry| entry[key] == value).count();
    assert_eq!(
        (log.len(), of("version", "TLS1.2"), of("version", "TLS1.3")),
        (served, served / 2, served / 2)
    );
    assert_eq!((of("sni", "one.test"), of("sni", "two.test")), (served / 2, served / 2));
    let has_all = |entry: &serde_json::Value| {
        entry["cipher"].is_string()
            && entry["group"].is_string()
            && entry["key"].as_str().is_some_and(|key| key.starts_with("file "))
            && entry["handshake_us"].is_u64()
            && entry["resumed"] == false
    };
    assert!(log.iter().all(has_all), "{log:?}");
}

#[test]
fn an_answer_is_the_last_one_where_the_request_says_so() {
    let folder = Folder::new();
    folder.certify("one", &rsa(), &["one.test"]);
    folder.certify("two", &ecdsa(), &["two.test"]);
    let server = folder.serve(SETTINGS);
    for version in VERSIONS {
        for (request, said, is_last) in [
            ("GET / HTTP/1.0\r\n\r\n", "Connection: close\r\n", true),
            ("GET / HTTP/1.1\r\nconnection: Close\r\n\r\n", "Connection: close\r\n", true),
            // What comes behind it gets no answer.
            ("GET / HTTP/1.0\r\n\r\nGET / HTTP/1.1\r\n\r\n", "Connection: close\r\n", true),
            ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "Connection: keep-alive\r\n", false),
            ("GET / HTTP/1.1\r\n\r\n", "", false),
        ] {
            let mut stream = Client::new(version).connect(server.address(), "one.test").unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            let mut text = String::new();
            if is_last {
                stream.read_to_string(&mut text).unwrap();
            } else {
                while !text.ends_with("served\n") {
                    let mut buffer = [0; 4096];
                    let count = stream.read(&mut buffer).unwrap();
                    text += std::str::from_utf8(&buffer[..count]).unwrap();
                }
                assert_eq!(ask(&mut stream), "served\n");
            }
            let expected = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 7\r\n{said}\r\nserved\n"
            );
            assert_eq!(text, expected, "{version:?}: {request}");
            close(stream);
        }
    }
    // Programs that only read until the end.
    let url = format!("https://one.test:{}/", server.address().port());
    let resolve = format!("one.test:{}:127.0.0.1", server.address().port());
    let curl = ["--silent", "--insecure", "--http1.0", "--resolve", &resolve, &url];
    assert_eq!(output(Command::new("curl").args(curl), b""), (true, "served\n".to_owned()));
    let log = server.stop();
    assert!(log.len() == 11 && log.iter().all(|entry| entry["end"] == "done"), "{log:?}");
}

#[test]
fn names_choose_certificates_exactly_then_by_wildcard_and_unknown_ones_are_refused() {
    let folder = Folder::new();
    let one = folder.certify("one", &rsa(), &["one.test", "*.wild.test"]).to_der().unwrap();
    let two = folder.certify("two", &ecdsa(), &["two.test", "exact.wild.test"]).to_der().unwrap();
    let server = folder.serve(SETTINGS);
    for version in VERSIONS {
        let client = Client::new(version);
        for (name, expected) in [
            ("one.test", &one),
            ("ONE.test", &one),
            ("two.test", &two),
            ("any.wild.test", &one),
            ("exact.wild.test", &two),
            // The same names.
            ("one.test.", &one),
            ("two.test.", &two),
            ("exact.wild.test.", &two),
        ] {
            let mut stream = client.connect(server.address(), name).unwrap();
            assert_eq!(&shown(&stream), expected, "{version:?} {name}");
            assert_eq!(ask(&mut stream), "served\n");
            close(stream);
        }
        for name in ["", "three.test", "wild.test", "a.b.wild.test", "one.test.three", "two.test..", "."] {
            let error = client.connect(server.address(), name).unwrap_err();
            assert!(error.contains("unrecognized name"), "{version:?} {name:?}: {error}");
        }
    }
    let log = server.stop();
    assert_eq!(log.iter().filter(|entry| entry["end"] == "unknown-name").count(), 14);
    let done: Vec<_> = log.iter().filter(|entry| entry["end"] == "done").collect();
    assert_eq!(done.len(), 16);
    assert!(done.iter().all(|entry| !entry["sni"].as_str().unwrap().ends_with('.')), "{done:?}");
}

#[test]
fn a_default_is_shown_to_clients_without_a_known_name() {
    let folder = Folder::new();
    let one = folder.certify("one", &rsa(), &["one.test"]).to_der().unwrap();
    let two = folder.certify("two", &ecdsa(), &["two.test"]).to_der().unwrap();
    let settings = SETTINGS.replace("key = \"two.key\"", "key = \"two.key\"\ndefault = true");
    let server = folder.serve(&settings);
    for version in VERSIONS {
        let client = Client::new(version);
        for (name, expected) in [("", &two), ("three.test", &two), ("one.test", &one), ("one.test.", &one)] {
            let stream = client.connect(server.address(), name).unwrap();
            assert_eq!(&shown(&stream), expected, "{version:?} {name:?}");
        }
        for name in ["one.test..", "."] {
            let error = client.connect(server.address(), name).unwrap_err();
            assert!(error.contains("unrecognized name"), "{version:?} {name:?}: {error}");
        }
    }
}

#[test]
fn certificates_of_the_same_names_are_the_default_unless_the_settings_say_otherwise() {
    let folder = Folder::new();
    let one = folder.certify("one", &rsa(), &["one.test", "two.test"]).to_der().unwrap();
    let two = folder.certify("two", &ecdsa(), &["two.test", "one.test"]).to_der().unwrap();
    let alone = SETTINGS.replace("[[certificate]]\nchain = \"two.pem\"\nkey = \"two.key\"\n", "");
    let server = folder.serve(&alone);
    let client = Client::new(SslVersion::TLS1_3);
    assert_eq!(shown(&client.connect(server.address(), "").unwrap()), one);
    folder.settings(SETTINGS);
    server.reload();
    assert!([one, two].contains(&shown(&client.connect(server.address(), "").unwrap())));
    for settings in [&alone, SETTINGS] {
        folder.settings(&settings.replace("key = \"one.key\"", "key = \"one.key\"\ndefault = false"));
        server.reload();
        let error = client.connect(server.address(), "").unwrap_err();
        assert!(error.contains("unrecognized name"), "{error}");
    }
}

#[test]
fn a_name_with_both_kinds_of_keys_serves_clients_that_take_only_one() {
    let folder = Folder::new();
    let one = folder.certify("one", &rsa(), &["same.test"]).to_der().unwrap();
    let two = folder.certify("two", &ecdsa(), &["same.test"]).to_der().unwrap();
    let server = folder.serve(SETTINGS);
    for version in VERSIONS {
        for (signatures, expected) in [("rsa_pss_rsae_sha256", &one), ("ecdsa_secp256r1_sha256", &two)] {
            let client = Client { signatures: Some(signatures), ..Client::new(version) };
            let mut stream = client.connect(server.address(), "same.test").unwrap();
            assert_eq!(&shown(&stream), expected, "{version:?} {signatures}");
            assert_eq!(ask(&mut stream), "served\n");
        }
    }
}

#[test]
fn clients_that_take_both_kinds_of_keys_get_the_one_that_costs_less() {
    let folder = Folder::new();
    let p384 =
        PKey::from_ec_key(EcKey::generate(&EcGroup::from_curve_name(Nid::SECP384R1).unwrap()).unwrap());
    let rsa_der = folder.certify("one", &rsa(), &["same.test", "*.same.test"]).to_der().unwrap();
    for (scheme, other, key) in [
        ("ecdsa_secp256r1_sha256", "ecdsa_secp384r1_sha384", ecdsa()),
        ("ecdsa_secp384r1_sha384", "ecdsa_secp256r1_sha256", p384.unwrap()),
    ] {
        let ecdsa_der = folder.certify("two", &key, &["same.test", "*.same.test"]).to_der().unwrap();
        let listeners = ["compatible", "legacy-insecure"].map(|policy| {
            format!(
                "[[listener]]\naddress = \"127.0.0.1:0\"\npolicy = \"{policy}\"\nanswer = \"served\\n\"\n"
            )
        });
        let [compatible, legacy] = listeners.map(|listener| listener.replace("127.0.0.1", "127.0.0.2"));
        let server = folder.serve(&format!("{SETTINGS}{compatible}{}", legacy.replace("0.0.2", "0.0.3")));
        let addresses = server.addresses();
        for (at, address) in addresses.into_iter().enumerate() {
            for version in VERSIONS {
                for name in ["same.test", "other.same.test", ""] {
                    let both: &'static str = ["rsa_pss_rsae_sha256:", scheme].concat().leak();
                    let client = Client { signatures: Some(both), ..Client::new(version) };
                    let mut stream = client.connect(address, name).unwrap();
                    // The suites of the last policy begin with RSA's.
                    let is_rsa = at == 2 && version == SslVersion::TLS1_2;
                    let expected = if is_rsa { &rsa_der } else { &ecdsa_der };
                    assert!(shown(&stream) == *expected, "{address} {version:?} {name} {scheme}");
                    assert_eq!(ask(&mut stream), "served\n");
                    close(stream);
                }
            }
            // In TLS 1.3 a scheme is of one curve.
            let unfit: &'static str = ["rsa_pss_rsae_sha256:", other].concat().leak();
            let client = Client { signatures: Some(unfit), ..Client::new(SslVersion::TLS1_3) };
            assert_eq!(shown(&client.connect(address, "same.test").unwrap()), rsa_der);
        }
        server.stop();
        std::fs::remove_file(folder.path("notify")).unwrap();
    }
}

#[test]
fn policies_offer_what_they_say() {
    let folder = Folder::new();
    folder.certify("one", &rsa(), &["one.test"]);
    folder.certify("two", &ecdsa(), &["two.test"]);
    let listener = |policy: &str| {
        format!("[[listener]]\naddress = \"127.0.0.2:0\"\npolicy = \"{policy}\"\nanswer = \"served\\n\"\n")
    };
    let other = listener("compatible").replace("127.0.0.2", "127.0.0.3");
    let server = folder.serve(&format!("{SETTINGS}{}{other}", listener("legacy-insecure")));
    let [modern, legacy, compatible] = server.addresses()[..] else { panic!("{}", server.said()) };
    let rsa_exchange = Client { ciphers: Some("AES128-GCM-SHA256"), ..Client::new(SslVersion::TLS1_2) };
    let error = rsa_exchange.connect(modern, "one.test").unwrap_err();
    assert!(error.contains("handshake failure"), "{error}");
    for address in [legacy, compatible] {
        let client = Client { ciphers: Some("AES128-SHA"), ..Client::new(SslVersion::TLS1_2) };
        assert_eq!(ask(&mut client.connect(address, "one.test").unwrap()), "served\n");
    }
    let old = Client { ciphers: Some("AES128-SHA:@SECLEVEL=0"), ..Client::new(SslVersion::TLS1_1) };
    assert_eq!(ask(&mut old.connect(legacy, "one.test").unwrap()), "served\n");
    assert!(old.connect(compatible, "one.test").is_err());
    let log = server.stop();
    let of = |end: &str| {
        log.iter().filter(|entry| entry["end"].as_str().is_some_and(|of| of.starts_with(end))).count()
    };
    assert_eq!(of("nothing-in-common"), 2, "{log:?}");
}

#[test]
fn a_name_has_a_policy_of_its_own_in_both_directions() {
    let folder = Folder::new();
    for name in ["one", "two", "old"] {
        folder.certify(name, &rsa(), &[&format!("{name}.test")]);
    }
    let certificate = |name: &str, policy: &str| {
        format!("[[certificate]]\nchain = \"{name}.pem\"\nkey = \"{name}.key\"\n{policy}")
    };
    let listener = |address: &str, policy: &str| {
        format!("[[listener]]\naddress = \"{address}:0\"\nanswer = \"served\\n\"\npolicy = \"{policy}\"\n")
    };
    let listeners = listener("127.0.0.1", "modern") + &listener("127.0.0.2", "legacy-insecure");
    let text = certificate("one", "")
        + &certificate("two", "policy = \"modern\"\ndefault = true\n")
        + &certificate("old", "policy = \"legacy-insecure\"\n")
        + &listeners;
    let server = folder.serve(&text);
    let [modern, legacy] = server.addresses()[..] else { panic!("{}", server.said()) };
    let exchange = Client { ciphers: Some("AES128-GCM-SHA256"), ..Client::new(SslVersion::TLS1_2) };
    let oldest = Client { ciphers: Some("AES128-SHA:@SECLEVEL=0"), ..Client::new(SslVersion::TLS1) };
    for client in [&exchange, &oldest] {
        for (address, name, is_served) in [
            (modern, "one.test", false),
            (modern, "two.test", false),
            (modern, "old.test", true),
            (modern, "", false),
            (legacy, "one.test", true),
            (legacy, "two.test", false),
            (legacy, "old.test", true),
            (legacy, "", false),
        ] {
            let stream = client.connect(address, name);
            assert_eq!(stream.is_ok(), is_served, "{address} {name} {:?}", client.version);
            if let Ok(mut stream) = stream {
                assert_eq!(ask(&mut stream), "served\n");
            }
        }
    }
    for version in VERSIONS {
        for (address, name) in [(modern, "old.test"), (legacy, "two.test"), (legacy, "one.test")] {
            close(Client::new(version).connect(address, name).unwrap());
        }
    }
    server.stop();
    let check = |text: &str| {
        let file = folder.write("tls.toml", text);
        output(Command::new(program()).args(["serve", "--check-config"]).arg(file), b"")
    };
    let (is_good, said) = check(&text);
    assert!(
        is_good && said.contains("old.test: RSA-2048, file ") && said.contains("old.key, legacy-insecure, "),
        "{said}"
    );
    folder.certify("two", &ecdsa(), &["one.test"]);
    for (text, expected) in [
        (text.clone(), "line 5, chain: "),
        (
            certificate("one", "default = true\n")
                + &certificate("old", "policy = \"compatible\"\ndefault = true\n")
                + &listeners,
            "line 2, chain: ",
        ),
    ] {
        folder.certify("old", &ecdsa(), &["old.test"]);
        let (is_good, said) = check(&text);
        assert!(!is_good && said.contains(expected) && said.contains("have different policies"), "{said}");
    }
}
