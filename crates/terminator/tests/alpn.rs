//! Application protocols: which one clients agree on with the server, and which backend they get then.

use crate::support::{Client, Folder, VERSIONS, close, ecdsa, output, path_text};
use openssl::ssl::SslVersion;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::thread;

fn folder() -> Folder {
    let folder = Folder::new();
    folder.certify("one", &ecdsa(), &["one.test"]);
    folder
}

fn settings(more: &str) -> String {
    format!(
        "
[[certificate]]
chain = \"one.pem\"
key = \"one.key\"
[[listener]]
address = \"127.0.0.1:0\"
{more}
"
    )
}

/// A backend that says its name and ends.
fn backend(name: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = stream.unwrap().write_all(name.as_bytes());
        }
    });
    format!("\"{address}\"")
}

fn connect(
    version: SslVersion,
    address: SocketAddr,
    protocols: &'static [u8],
) -> Result<openssl::ssl::SslStream<TcpStream>, String> {
    Client { protocols, ..Client::new(version) }.connect(address, "one.test")
}

#[test]
fn the_servers_order_decides_and_the_protocol_chooses_the_backend() {
    let folder = folder();
    let (all, h2, other) = (backend("all"), backend("h2"), backend("other"));
    let lists = format!("alpn_backends = {{ h2 = [{h2}], \"other/1\" = [{other}] }}");
    let server = folder.serve(&settings(&format!(
        "alpn = [\"h2\", \"http/1.1\", \"other/1\"]\nbackends = [{all}]\n{lists}"
    )));
    let mut expected = Vec::new();
    for version in VERSIONS {
        for (offered, agreed, backend) in [
            (&b""[..], None, "all"),
            (b"\x08http/1.1\x02h2", Some("h2"), "h2"),
            (b"\x08http/1.1", Some("http/1.1"), "all"),
            (b"\x02h3\x07other/1", Some("other/1"), "other"),
        ] {
            let mut stream = connect(version, server.address(), offered).unwrap();
            let told = stream.ssl().selected_alpn_protocol().map(|name| name.to_vec());
            assert_eq!(told.as_deref(), agreed.map(str::as_bytes));
            let mut got = String::new();
            stream.read_to_string(&mut got).unwrap();
            assert_eq!(got, backend);
            close(stream);
            expected.push(agreed);
        }
    }
    let mut logged: Vec<_> =
        server.stop().iter().map(|entry| entry["alpn"].as_str().map(str::to_owned)).collect();
    logged.sort();
    expected.sort_unstable();
    assert_eq!(logged.iter().map(Option::as_deref).collect::<Vec<_>>(), expected);
}

#[test]
fn clients_of_other_protocols_are_refused_unless_the_server_has_no_list() {
    let folder = folder();
    let server = folder.serve(&format!(
        "{}{}",
        settings("answer = \"served\\n\"\nalpn = [\"h2\"]"),
        "[[listener]]\naddress = \"127.0.0.2:0\"\nanswer = \"served\\n\"\n"
    ));
    let [with, without] = server.addresses()[..] else { panic!() };
    for version in VERSIONS {
        let error = connect(version, with, b"\x08http/1.1\x02h3").unwrap_err();
        assert!(error.contains("no application protocol"), "{error}");
        let stream = connect(version, without, b"\x08http/1.1\x02h3").unwrap();
        assert_eq!(stream.ssl().selected_alpn_protocol(), None);
        close(stream);
    }
    let log = server.stop();
    let ends: Vec<_> = log.iter().filter(|entry| entry["end"] == "unknown-protocol").collect();
    assert!(ends.len() == 2 && ends.iter().all(|entry| entry["alpn"].is_null()), "{log:?}");
}

#[test]
fn curl_openssl_and_python_agree() {
    let folder = folder();
    let server = folder.serve(&settings("answer = \"served\\n\"\nalpn = [\"http/1.1\"]"));
    let port = server.address().port();
    let trusted = folder.path("one.pem");
    let (is_done, said) = output(
        Command::new("curl")
            .args(["--http2", "--silent", "--verbose", "--resolve"])
            .arg(format!("one.test:{port}:127.0.0.1"))
            .arg("--cacert")
            .arg(&trusted)
            .arg(format!("https://one.test:{port}/")),
        b"",
    );
    assert!(is_done && said.contains("server accepted http/1.1") && said.contains("served\n"), "{said}");
    for version in ["-tls1_2", "-tls1_3"] {
        let (is_done, said) = output(
            Command::new("openssl")
                .args(["s_client", version, "-servername", "one.test", "-alpn", "h2,http/1.1"])
                .args(["-connect", &format!("127.0.0.1:{port}")]),
            b"",
        );
        assert!(is_done && said.contains("ALPN protocol: http/1.1"), "{said}");
    }
    let script = "
import socket, ssl, sys
port, trusted = sys.argv[1:]
context = ssl.create_default_context(cafile=trusted)
context.set_alpn_protocols(['h2', 'http/1.1'])
with context.wrap_socket(socket.create_connection(('127.0.0.1', int(port))), server_hostname='one.test') as stream:
    print(stream.selected_alpn_protocol())
";
    let arguments = ["-c", script, &port.to_string(), path_text(&trusted)];
    let (is_done, said) = output(Command::new("python3").args(arguments), b"");
    assert!(is_done && said == "http/1.1\n", "{said}");
    drop(server);
}
