//! Exchanges: the program answers messages by their lengths alone.

use crate::support::{Client, Folder, VERSIONS, close, ecdsa, output, path_text};
use openssl::ssl::SslVersion;
use std::io::{Read, Write};
use std::process::Command;

fn settings(receive: u64, send: u64) -> String {
    format!(
        "
[[certificate]]
chain = \"one.pem\"
key = \"one.key\"
[[listener]]
address = \"127.0.0.1:0\"
exchange = {{ receive = {receive}, send = {send} }}
"
    )
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.certify("one", &ecdsa(), &["one.test"]);
    folder
}

#[test]
fn each_message_is_answered_however_it_is_split() {
    let folder = folder();
    let server = folder.serve(&settings(2048, 5000));
    for version in VERSIONS {
        let mut stream = Client::new(version).connect(server.address(), "one.test").unwrap();
        let mut got = vec![0; 5000];
        for split in [2048, 1024, 1, 2047] {
            for piece in vec![7; 2048].chunks(split) {
                stream.write_all(piece).unwrap();
            }
            stream.read_exact(&mut got).unwrap();
        }
        // Three at once, and a byte more than that, which nothing answers.
        stream.write_all(&[7; 3 * 2048 + 1]).unwrap();
        stream.read_exact(&mut [0; 15_000]).unwrap();
        stream.shutdown().unwrap();
        assert_eq!(stream.read(&mut got).unwrap(), 0);
        close(stream);
    }
    let log = server.stop();
    assert_eq!(log.len(), 2);
    for entry in log {
        assert_eq!(entry["bytes_in"], 7 * 2048 + 1);
        assert_eq!(entry["bytes_out"], 35_000);
        assert_eq!(entry["end"], "done");
    }
}

#[test]
fn python_downloads_more_than_memory_is_held_for() {
    let folder = folder();
    let bytes = 300 << 20;
    let server = folder.serve(&settings(0, bytes));
    let script = "
import socket, ssl, sys
port, trusted, version = sys.argv[1:]
context = ssl.create_default_context(cafile=trusted)
context.maximum_version = {'1.2': ssl.TLSVersion.TLSv1_2, '1.3': ssl.TLSVersion.TLSv1_3}[version]
with context.wrap_socket(socket.create_connection(('127.0.0.1', int(port))), server_hostname='one.test') as stream:
    count, room = 0, bytearray(1 << 20)
    while count < 300 << 20:
        got = stream.recv_into(room)
        assert got > 0 and room[:got].strip(b'.') == b''
        count += got
    print(count)
    stream.unwrap()
";
    let port = server.address().port().to_string();
    let trusted = folder.path("one.pem");
    for version in ["1.2", "1.3"] {
        let arguments = ["-c", script, &port, path_text(&trusted), version];
        let (is_done, said) = output(Command::new("python3").args(arguments), b"");
        assert!(is_done && said == format!("{bytes}\n"), "python, {version}: {said}");
    }
    let held = std::fs::read_to_string(format!("/proc/{}/status", server.pid().as_raw_pid())).unwrap();
    let peak = held.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak < 100 << 10, "{peak} KiB were held");
    let log = server.stop();
    assert!(log.iter().all(|entry| entry["bytes_out"] == bytes && entry["end"] == "done"), "{log:?}");
}

#[test]
fn what_a_client_sends_unasked_is_passed_over() {
    let folder = folder();
    for (receive, send) in [(0, 0), (0, 100), (100, 0)] {
        let server = folder.serve(&settings(receive, send));
        let mut stream = Client::new(SslVersion::TLS1_3).connect(server.address(), "one.test").unwrap();
        stream.write_all(&[7; 300_000]).unwrap();
        stream.shutdown().unwrap();
        let mut got = Vec::new();
        stream.read_to_end(&mut got).unwrap();
        assert_eq!(got.len() as u64, send);
        drop(stream);
        let log = server.stop();
        assert_eq!((&log[0]["bytes_in"], &log[0]["end"]), (&300_000.into(), &"done".into()));
        std::fs::remove_file(folder.path("access.log")).unwrap();
        std::fs::remove_file(folder.path("notify")).unwrap();
    }
}
