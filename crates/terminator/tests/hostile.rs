//! Clients that mean harm: floods within a handshake.

use crate::support::{Client, Folder, ask, close, ecdsa};
use openssl::ssl::{Ssl, SslConnector, SslMethod, SslStream, SslVerifyMode, SslVersion};
use std::io::{self, Read, Write};
use std::net::TcpStream;

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
