//! Clients that mean harm: floods within a handshake, and downloads that are never quite taken.

mod support;

use openssl::ssl::{Ssl, SslConnector, SslMethod, SslStream, SslVerifyMode, SslVersion};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use support::{Client, Folder, ask, close, ecdsa};

/// Keeps what is written, and has nothing to read.
#[derive(Default)]
struct Tap(Vec<u8>);

impl Read for Tap {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::WouldBlock.into())
    }
}

impl Write for Tap {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The first flight of a client of TLS 1.3.
fn client_hello(name: &str) -> Vec<u8> {
    let mut builder = SslConnector::builder(SslMethod::tls_client()).unwrap();
    builder.set_verify(SslVerifyMode::NONE);
    builder.set_min_proto_version(Some(SslVersion::TLS1_3)).unwrap();
    let mut ssl = Ssl::new(builder.build().context()).unwrap();
    ssl.set_hostname(name).unwrap();
    let mut stream = SslStream::new(ssl, Tap::default()).unwrap();
    assert!(stream.connect().is_err(), "nobody answers");
    std::mem::take(&mut stream.get_mut().0)
}

/// Floods at a time.
const FLOODS: usize = 3;

#[test]
fn a_handshake_that_never_ends_takes_turns_and_is_ended() {
    let folder = Folder::new();
    folder.certify("one", &ecdsa(), &["one.test"]);
    let text = "[[certificate]]\nchain = \"one.pem\"\nkey = \"one.key\"\n\
                [[listener]]\naddress = \"127.0.0.1:0\"\nanswer = \"served\\n\"\n";
    let server = folder.serve(text);
    // RFC 8446, 5: such a record is dropped without further processing.
    let records = [20, 3, 3, 0, 1, 1].repeat(4096);
    // More than there are loops.
    let flooded: Vec<_> = (0..FLOODS)
        .map(|_| {
            let mut flood = TcpStream::connect(server.address()).unwrap();
            flood.write_all(&client_hello("one.test")).unwrap();
            let mut first = [0; 5];
            flood.read_exact(&mut first).unwrap();
            assert_eq!(first[0], 22, "the server's hello");
            let records = records.clone();
            std::thread::spawn(move || {
                let (mut sent, most) = (0_usize, 1 << 30);
                while sent < most {
                    match flood.write(&records) {
                        Ok(count) => sent += count,
                        Err(_) => break,
                    }
                }
                sent < most
            })
        })
        .collect();
    // Others are served meanwhile.
    let client = Client::new(SslVersion::TLS1_3);
    for _ in 0..5 {
        let mut stream = client.connect(server.address(), "one.test").unwrap();
        assert_eq!(ask(&mut stream), "served\n");
        close(stream);
    }
    assert!(flooded.into_iter().all(|flood| flood.join().unwrap()), "each is ended");
    let log = server.stop();
    let ended =
        log.iter().filter(|entry| entry["end"].as_str().is_some_and(|end| end.contains("without end")));
    assert_eq!(ended.count(), FLOODS, "{log:?}");
}

/// Most memory that a process has had, in bytes.
fn most_memory(pid: rustix::process::Pid) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

#[test]
fn a_download_that_is_never_quite_taken_is_not_kept() {
    const BYTES: usize = 64 << 20;
    let backend = TcpListener::bind("127.0.0.1:0").unwrap();
    let folder = Folder::new();
    folder.certify("one", &ecdsa(), &["one.test"]);
    let text = format!(
        "[[certificate]]\nchain = \"one.pem\"\nkey = \"one.key\"\n\
         [[listener]]\naddress = \"127.0.0.1:0\"\nbackends = [\"{}\"]\n",
        backend.local_addr().unwrap()
    );
    let server = folder.serve(&text);
    let sender = std::thread::spawn(move || {
        let (mut stream, _) = backend.accept().unwrap();
        stream.write_all(&vec![7; BYTES]).unwrap();
    });
    let mut stream = Client::new(SslVersion::TLS1_3).connect(server.address(), "one.test").unwrap();
    rustix::net::sockopt::set_socket_recv_buffer_size(stream.get_ref().as_fd(), 128 << 10).unwrap();
    let before = most_memory(server.pid());
    let (mut chunk, mut got) = ([0; 5000], 0);
    while got < BYTES {
        let count = stream.read(&mut chunk).unwrap();
        assert!(count > 0 && chunk[..count].iter().all(|byte| *byte == 7));
        got += count;
    }
    sender.join().unwrap();
    let grown = most_memory(server.pid()) - before;
    assert!(grown < 8 << 20, "{grown} bytes more than before for {BYTES}");
    drop(stream);
    server.stop();
}
