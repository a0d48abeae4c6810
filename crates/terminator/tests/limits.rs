//! Bounds: what is beyond them ends, and says so in the log.

use crate::support::{self, Client, Folder, PATIENCE, ask, close, ecdsa};
use openssl::ssl::SslVersion;
use rustix::process::Signal;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

fn settings(limits: &str) -> String {
    format!(
        "
[limits]
{limits}
[[certificate]]
chain = \"one.pem\"
key = \"one.key\"
[[listener]]
address = \"127.0.0.1:0\"
answer = \"served\\n\"
"
    )
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.certify("one", &ecdsa(), &["one.test"]);
    folder
}

fn connect(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).unwrap()
}

/// Everything until the end, which may be a reset.
fn rest(stream: &mut TcpStream) -> Vec<u8> {
    let (mut got, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return got,
            Ok(count) => got.extend_from_slice(&buffer[..count]),
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
                return got;
            }
        }
    }
}

fn count(log: &[serde_json::Value], end: &str) -> usize {
    log.iter().filter(|entry| entry["end"].as_str().unwrap().starts_with(end)).count()
}

#[test]
fn connections_beyond_the_bound_are_closed_and_room_is_given_back() {
    let folder = folder();
    for limits in ["connections = 2", "connections_per_address = 2"] {
        let server = folder.serve(&settings(limits));
        let client = Client::new(SslVersion::TLS1_3);
        let mut first = client.connect(server.address(), "one.test").unwrap();
        let mut second = client.connect(server.address(), "one.test").unwrap();
        assert!(rest(&mut connect(server.address())).is_empty());
        assert_eq!((ask(&mut first), ask(&mut second)), ("served\n".into(), "served\n".into()));
        first.shutdown().unwrap();
        // Its room is given back before the end is told.
        let _ = first.read(&mut [0; 1]);
        drop(first);
        let mut third = loop {
            // The loop of the first may still be at its end when another one accepts the third.
            if let Ok(stream) = client.connect(server.address(), "one.test") {
                break stream;
            }
        };
        assert_eq!(ask(&mut third), "served\n");
        drop((second, third));
        let log = server.stop();
        assert!(count(&log, "full: ") >= 1, "{log:?}");
        std::fs::remove_file(folder.path("access.log")).unwrap();
        std::fs::remove_file(folder.path("notify")).unwrap();
    }
}

#[test]
fn handshakes_and_idle_connections_have_their_time() {
    let folder = folder();
    let server = folder.serve(&settings("handshake_seconds = 1\nidle_seconds = 1"));
    let mut silent = connect(server.address());
    let mut half = connect(server.address());
    half.write_all(&[22, 3, 1, 0, 200, 1]).unwrap();
    let mut idle = Client::new(SslVersion::TLS1_3).connect(server.address(), "one.test").unwrap();
    assert_eq!(ask(&mut idle), "served\n");
    for client in [&mut silent, &mut half] {
        // `user_canceled` and `close_notify`.
        assert_eq!(rest(client), [21, 3, 3, 0, 2, 1, 90, 21, 3, 3, 0, 2, 1, 0]);
    }
    assert!(rest(idle.get_mut()).len() < 1000);
    let log = server.stop();
    assert_eq!((count(&log, "handshake-timeout"), count(&log, "idle")), (2, 1), "{log:?}");
}

#[test]
fn failed_connections_wait_and_their_number_is_bounded() {
    let folder = folder();
    // One for each of the two loops.
    let server = folder.serve(&settings("failed_connections = 2"));
    let garbage = |address| {
        let mut stream = connect(address);
        // A ClientHello of one byte.
        stream.write_all(&[22, 3, 1, 0, 5, 1, 0, 0, 1, 0]).unwrap();
        stream
    };
    let mut streams: Vec<TcpStream> = (0..6).map(|_| garbage(server.address())).collect();
    // Of each loop only the last waits for 10 s and more; the others end when it comes.
    let (ended, is_ended) = std::sync::mpsc::channel();
    for mut stream in streams.drain(..) {
        let ended = ended.clone();
        std::thread::spawn(move || {
            rest(&mut stream);
            let _ = ended.send(());
        });
    }
    for _ in 0..4 {
        is_ended.recv_timeout(PATIENCE).unwrap();
    }
    // A stop waits for none of them.
    let log = server.stop();
    assert_eq!(count(&log, "protocol"), 6, "{log:?}");
}

#[test]
fn without_descriptors_connections_wait_and_are_served_later() {
    let folder = folder();
    folder.settings(&settings("idle_seconds = 86400"));
    let mut command = std::process::Command::new("/bin/sh");
    command.args(["-c", "ulimit -n 24; exec \"$0\" \"$@\""]).arg(support::program());
    let server = folder.serve_as(command);
    let address = server.address();
    let mut first: Vec<TcpStream> = (0..30).map(|_| connect(address)).collect();
    // This one is behind all of them: it is served once they are gone.
    let waiting = std::thread::spawn(move || {
        let mut stream = Client::new(SslVersion::TLS1_3).connect(address, "one.test").unwrap();
        ask(&mut stream)
    });
    let is_short = || server.said().matches("connections wait, none can be accepted: ").count();
    while is_short() == 0 {
        std::thread::yield_now();
    }
    let last = first.split_off(29);
    drop(first);
    assert_eq!(waiting.join().unwrap(), "served\n");
    // Said once, and not each time that it is tried again.
    assert_eq!(is_short(), 1, "{}", server.said());
    drop((last, server));
}

#[test]
fn a_stop_waits_for_connections_and_a_second_one_does_not() {
    let folder = folder();
    for is_twice in [false, true] {
        let mut server = folder.serve(&settings("idle_seconds = 86400"));
        let address = server.address();
        let mut stream = Client::new(SslVersion::TLS1_3).connect(address, "one.test").unwrap();
        server.signal(Signal::TERM);
        // Nothing is accepted any more: until the loops know, a connection is one that nobody takes.
        while TcpStream::connect(address).is_ok() {}
        assert_eq!(ask(&mut stream), "served\n");
        if is_twice {
            server.signal(Signal::TERM);
            assert!(rest(stream.get_mut()).len() < 1000);
        } else {
            close(stream);
        }
        assert!(server.wait().success());
        std::fs::remove_file(folder.path("notify")).unwrap();
    }
    let log = std::fs::read_to_string(folder.path("access.log")).unwrap();
    assert!(log.contains("\"end\":\"stopped\"") && log.contains("\"end\":\"done\""), "{log}");
}
