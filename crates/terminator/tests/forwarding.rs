//! Bytes in both directions: lengths, ends, and backends and clients that are slow or gone.

use crate::support::{Client, Folder, PATIENCE, VERSIONS, close, ecdsa};
use openssl::ssl::SslVersion;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::sync::mpsc::channel;
use std::thread;

fn settings(backends: &str) -> String {
    format!(
        "
[[certificate]]
chain = \"one.pem\"
key = \"one.key\"
[[listener]]
address = \"127.0.0.1:0\"
backends = [{backends}]
"
    )
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.certify("one", &ecdsa(), &["one.test"]);
    folder
}

/// Bytes that do not repeat soon.
fn text(bytes: usize) -> Vec<u8> {
    (0..bytes as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

fn backend() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("\"{}\"", listener.local_addr().unwrap());
    (listener, address)
}

/// Gives back what comes, until its end.
fn echo(mut stream: impl Read + Write) {
    let mut buffer = vec![0; 100_000];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(count) => {
                if stream.write_all(&buffer[..count]).is_err() {
                    return;
                }
            }
        }
    }
}

#[test]
fn megabytes_come_back_from_tcp_and_unix_backends() {
    let folder = folder();
    let (tcp, address) = backend();
    let unix = UnixListener::bind(folder.path("backend")).unwrap();
    let unix_address = format!("\"unix:{}\"", folder.path("backend").display());
    thread::spawn(move || tcp.incoming().for_each(|stream| echo(stream.unwrap())));
    thread::spawn(move || unix.incoming().for_each(|stream| echo(stream.unwrap())));
    let server = folder.serve(&settings(&format!("{address}, {unix_address}")));
    let sent = text(8 << 20);
    for version in VERSIONS {
        for _ in 0..2 {
            let mut stream = Client::new(version).connect(server.address(), "one.test").unwrap();
            // Both directions at once, through one connection: as much as fits is written, as much as is there is read.
            stream.get_ref().set_nonblocking(true).unwrap();
            let (mut written, mut back, mut buffer) = (0, Vec::new(), vec![0; 100_000]);
            while back.len() < sent.len() {
                if written < sent.len() {
                    match stream.ssl_write(&sent[written..(written + 16_384).min(sent.len())]) {
                        Ok(count) => written += count,
                        Err(error) => assert!(
                            error.io_error().is_none_or(|error| error.kind() == ErrorKind::WouldBlock)
                        ),
                    }
                }
                match stream.ssl_read(&mut buffer) {
                    Ok(count) => back.extend_from_slice(&buffer[..count]),
                    Err(error) => assert!(
                        error.io_error().is_none_or(|error| error.kind() == ErrorKind::WouldBlock),
                        "{error}"
                    ),
                }
            }
            assert!(back == sent);
            stream.get_ref().set_nonblocking(false).unwrap();
            close(stream);
        }
    }
    let log = server.stop();
    let bytes = sent.len() as u64;
    assert!(log.iter().all(|entry| entry["bytes_in"] == bytes && entry["bytes_out"] == bytes), "{log:?}");
    assert!(log.iter().all(|entry| entry["end"] == "done"), "{log:?}");
    let of = |prefix: &str| {
        log.iter().filter(|entry| entry["backend"].as_str().unwrap().starts_with(prefix)).count()
    };
    assert_eq!((of("127."), of("unix:")), (2, 2));
}

#[test]
fn a_client_that_has_ended_gets_the_rest_and_the_end() {
    let folder = folder();
    let (listener, address) = backend();
    let server = folder.serve(&settings(&address));
    let (asked, answer) = (text(300_000), text(2_000_000));
    let backend = thread::spawn({
        let (asked, answer) = (asked.clone(), answer.clone());
        move || {
            let mut stream = listener.accept().unwrap().0;
            let mut got = Vec::new();
            stream.read_to_end(&mut got).unwrap();
            assert!(got == asked);
            stream.write_all(&answer).unwrap();
        }
    });
    let mut stream = Client::new(SslVersion::TLS1_3).connect(server.address(), "one.test").unwrap();
    stream.write_all(&asked).unwrap();
    stream.shutdown().unwrap();
    let mut got = Vec::new();
    stream.read_to_end(&mut got).unwrap();
    assert!(got == answer);
    backend.join().unwrap();
    drop(stream);
    assert_eq!(server.stop()[0]["end"], "done");
}

#[test]
fn a_client_of_tls_1_2_that_has_ended_has_sent_everything() {
    let folder = folder();
    let (listener, address) = backend();
    let server = folder.serve(&settings(&address));
    let asked = text(300_000);
    let mut stream = Client::new(SslVersion::TLS1_2).connect(server.address(), "one.test").unwrap();
    stream.write_all(&asked).unwrap();
    stream.shutdown().unwrap();
    let mut got = Vec::new();
    listener.accept().unwrap().0.read_to_end(&mut got).unwrap();
    assert!(got == asked);
    // The server's own word that it has ended.
    assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0);
    assert_eq!(server.stop()[0]["end"], "done");
}

#[test]
fn a_backend_that_has_ended_may_still_be_sent_to() {
    let folder = folder();
    let (listener, address) = backend();
    let server = folder.serve(&settings(&address));
    let mut stream = Client::new(SslVersion::TLS1_3).connect(server.address(), "one.test").unwrap();
    let mut backend = listener.accept().unwrap().0;
    backend.write_all(b"all there is").unwrap();
    backend.shutdown(Shutdown::Write).unwrap();
    let mut got = Vec::new();
    stream.read_to_end(&mut got).unwrap();
    assert_eq!(got, b"all there is");
    let sent = text(500_000);
    stream.write_all(&sent).unwrap();
    stream.shutdown().unwrap();
    let mut got = Vec::new();
    backend.read_to_end(&mut got).unwrap();
    assert!(got == sent);
    assert_eq!(server.stop()[0]["end"], "done");
}

#[test]
fn a_client_that_is_cut_is_no_orderly_end_to_the_backend() {
    let folder = folder();
    let (listener, address) = backend();
    let server = folder.serve(&settings(&address));
    let mut stream = Client::new(SslVersion::TLS1_3).connect(server.address(), "one.test").unwrap();
    stream.write_all(b"half of a req").unwrap();
    let mut backend = listener.accept().unwrap().0;
    let mut got = [0; 13];
    backend.read_exact(&mut got).unwrap();
    // The end of the stream without the word for it.
    stream.get_ref().shutdown(Shutdown::Both).unwrap();
    assert_eq!(backend.read(&mut [0; 1]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert!(server.stop()[0]["end"].as_str().unwrap().starts_with("cut"));
}

#[test]
fn a_client_that_takes_nothing_stops_the_backend_and_goes_on_later() {
    let folder = folder();
    let (listener, address) = backend();
    let server = folder.serve(&settings(&address));
    let mut stream = Client::new(SslVersion::TLS1_3).connect(server.address(), "one.test").unwrap();
    let mut backend = listener.accept().unwrap().0;
    let sent = text(256 << 20 >> 2);
    let (stuck, is_stuck) = channel();
    let writer = thread::spawn({
        let sent = sent.clone();
        move || {
            // As much as buffers on the way hold; then the backend is stuck, for longer than anything is under way.
            backend.set_write_timeout(Some(std::time::Duration::from_secs(1))).unwrap();
            let mut written = 0;
            while written < sent.len() {
                match backend.write(&sent[written..]) {
                    Ok(count) => written += count,
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::WouldBlock);
                        let _ = stuck.send(written);
                    }
                }
            }
        }
    });
    let held = is_stuck.recv_timeout(PATIENCE).unwrap();
    assert!(held < sent.len() / 2, "{held} bytes are held on the way");
    let mut got = vec![0; sent.len()];
    stream.read_exact(&mut got).unwrap();
    assert!(got == sent);
    writer.join().unwrap();
    drop(server);
}

#[test]
fn backends_that_refuse_are_passed_over_and_none_is_an_end() {
    let folder = folder();
    let (gone, gone_address) = backend();
    drop(gone);
    let (listener, address) = backend();
    thread::spawn(move || listener.incoming().for_each(|stream| echo(stream.unwrap())));
    let missing = format!("\"unix:{}\"", folder.path("missing").display());
    let both = settings(&format!("{gone_address}, {missing}, {address}"));
    let none = "[[listener]]\naddress = \"127.0.0.2:0\"\nbackends = [GONE, MISSING]\n";
    let none = none.replace("GONE", &gone_address).replace("MISSING", &missing);
    let server = folder.serve(&format!("{both}{none}"));
    let [both, none] = server.addresses()[..] else { panic!() };
    for version in VERSIONS {
        for _ in 0..4 {
            let mut stream = Client::new(version).connect(both, "one.test").unwrap();
            stream.write_all(b"hello").unwrap();
            let mut got = [0; 5];
            stream.read_exact(&mut got).unwrap();
            assert_eq!(&got, b"hello");
            close(stream);
        }
        let mut stream = Client::new(version).connect(none, "one.test").unwrap();
        assert!(matches!(stream.read(&mut [0; 1]), Ok(0) | Err(_)));
    }
    let log = server.stop();
    let failed: Vec<_> = log.iter().filter(|entry| entry["end"] != "done").collect();
    assert_eq!((log.len(), failed.len()), (10, 2), "{log:?}");
    // That of the backend that was tried last.
    let missing =
        |entry: &&serde_json::Value| entry["end"] == "backend: No such file or directory (os error 2)";
    let refused = |entry: &&serde_json::Value| entry["end"] == "backend: Connection refused (os error 111)";
    assert!(failed.iter().all(|entry| missing(entry) || refused(entry)), "{failed:?}");
}

#[test]
fn a_backend_that_dies_ends_its_connections_alone() {
    let folder = folder();
    let (listener, address) = backend();
    let server = folder.serve(&settings(&address));
    let client = Client::new(SslVersion::TLS1_3);
    let mut first = client.connect(server.address(), "one.test").unwrap();
    let of_first = listener.accept().unwrap().0;
    let mut second = client.connect(server.address(), "one.test").unwrap();
    let mut of_second: TcpStream = listener.accept().unwrap().0;
    // Closed with something unread, which is a reset.
    first.write_all(b"unread").unwrap();
    of_first.peek(&mut [0; 6]).unwrap();
    drop(of_first);
    let told = first.ssl_read(&mut [0; 1]).unwrap_err();
    assert_ne!(told.code(), openssl::ssl::ErrorCode::ZERO_RETURN, "it is not told of an orderly end");
    second.write_all(b"on").unwrap();
    of_second.read_exact(&mut [0; 2]).unwrap();
    of_second.write_all(b"ok").unwrap();
    let mut got = [0; 2];
    second.read_exact(&mut got).unwrap();
    assert_eq!(&got, b"ok");
    drop(server);
}
