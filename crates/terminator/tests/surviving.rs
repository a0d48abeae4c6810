//! Clients that stop, crawl, close half-way and reset, beside others that are served; and all of it while everything is
//! read again.

use crate::support::{Client, Folder, VERSIONS, ask, close, ecdsa, rsa};
use openssl::ssl::{SslConnector, SslMethod, SslStream, SslVerifyMode, SslVersion};
use rustix::net::sockopt::set_socket_linger;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const SETTINGS: &str = "
[limits]
handshake_seconds = 2
[[certificate]]
chain = \"one.pem\"
key = \"one.key\"
[[listener]]
address = \"127.0.0.1:0\"
answer = \"before\\n\"
";

/// A stream that ends for the client after so many writes, as if it had stopped there.
struct Stopping {
    stream: TcpStream,
    writes: usize,
}

impl Read for Stopping {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.stream.read(into)
    }
}

impl Write for Stopping {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writes = self.writes.checked_sub(1).ok_or(io::ErrorKind::BrokenPipe)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn connector(version: SslVersion) -> SslConnector {
    let mut builder = SslConnector::builder(SslMethod::tls_client()).unwrap();
    builder.set_verify(SslVerifyMode::NONE);
    builder.set_min_proto_version(Some(version)).unwrap();
    builder.set_max_proto_version(Some(version)).unwrap();
    builder.build()
}

fn begin<S: Read + Write>(connector: &SslConnector, stream: S) -> Option<SslStream<S>> {
    connector.configure().unwrap().verify_hostname(false).connect("one.test", stream).ok()
}

fn connect(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).unwrap()
}

/// How a client goes away.
#[derive(Clone, Copy, Debug)]
enum Going {
    Stays,
    ClosesHalf,
    Resets,
}

#[test]
fn clients_that_stop_at_each_message_harm_nobody() {
    let folder = Folder::new();
    folder.certify("one", &ecdsa(), &["one.test"]);
    let server = folder.serve(SETTINGS);
    let address = server.address();
    // The first flight as far as each of these bytes, the first flight, and the second one's begin.
    let mut staying: Vec<TcpStream> = Vec::new();
    for version in VERSIONS {
        let connector = connector(version);
        for going in [Going::Stays, Going::ClosesHalf, Going::Resets] {
            let mut streams: Vec<TcpStream> = Vec::new();
            for bytes in [0, 1, 5, 6, 9] {
                let mut stream = connect(address);
                stream.write_all(&[22, 3, 1, 0, 200, 1, 0, 0, 196][..bytes]).unwrap();
                streams.push(stream);
            }
            for writes in [0, 1] {
                let stream = connect(address);
                streams.push(stream.try_clone().unwrap());
                assert!(begin(&connector, Stopping { stream, writes }).is_none(), "{version:?} {writes}");
            }
            for stream in streams {
                match going {
                    Going::Stays => staying.push(stream),
                    Going::ClosesHalf => stream.shutdown(Shutdown::Write).unwrap(),
                    Going::Resets => set_socket_linger(&stream, Some(Duration::ZERO)).unwrap(),
                }
            }
        }
    }
    // One that sends a byte now and then does not get more time than others.
    let crawling = thread::spawn(move || {
        let mut stream = connect(address);
        let hello = [22, 3, 1, 2, 0].into_iter().chain(std::iter::repeat(1));
        for byte in hello {
            if stream.write_all(&[byte]).is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
    });
    let mut stream = Client::new(SslVersion::TLS1_3).connect(address, "one.test").unwrap();
    assert_eq!(ask(&mut stream), "before\n");
    close(stream);
    for mut stream in staying {
        // Ended by the server when its time is over, and not without a word: `close_notify`, or two enciphered alerts.
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let is_enciphered = answer.len() == 2 * (5 + 2 + 1 + 16) && answer[0] == 23;
        assert!(answer.ends_with(&[21, 3, 3, 0, 2, 1, 0]) || is_enciphered, "{answer:?}");
    }
    crawling.join().unwrap();
    let log = server.stop();
    let count =
        |end: &str| log.iter().filter(|entry| entry["end"].as_str().unwrap().starts_with(end)).count();
    assert_eq!(log.len(), 2 * 3 * 7 + 2, "{log:?}");
    assert_eq!(count("handshake-timeout"), 2 * 7 + 1, "{log:?}");
    assert_eq!(count("done"), 1, "{log:?}");
}

/// Seconds of mixed load; the longer test suites say more.
fn load_seconds() -> u64 {
    std::env::var("CRYPTAND_MIXED_LOAD_SECONDS").map_or(30, |seconds| seconds.parse().unwrap())
}

#[test]
fn mixed_load_with_reloads_each_second_loses_nothing_and_keeps_its_memory() {
    let folder = Folder::new();
    folder.certify("one", &ecdsa(), &["one.test"]);
    let server = folder.serve(SETTINGS);
    let address = server.address();
    let (is_over, served) = (AtomicBool::new(false), AtomicUsize::new(0));
    let memory = || {
        let status = fs::read_to_string(format!("/proc/{}/status", server.pid().as_raw_nonzero())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<usize>().unwrap()
    };
    let mut halves = [0_usize; 2];
    thread::scope(|scope| {
        for worker in 0..3 {
            let (is_over, served) = (&is_over, &served);
            scope.spawn(move || {
                let connector = connector(VERSIONS[worker % 2]);
                while !is_over.load(Ordering::Relaxed) {
                    let mut stream = begin(&connector, connect(address)).expect("nothing is lost");
                    assert!(["before\n", "after\n"].contains(&ask(&mut stream).as_str()));
                    close(stream);
                    served.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let is_over = &is_over;
        scope.spawn(move || {
            // Those that go without a word.
            for writes in (0..2).cycle() {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                let stream = connect(address);
                set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
                let _ = begin(&connector(SslVersion::TLS1_3), Stopping { stream, writes });
            }
        });
        let seconds = load_seconds();
        for second in 0..seconds {
            let begun = Instant::now();
            let answer = if second % 2 == 0 { "after" } else { "before" };
            folder.settings(&SETTINGS.replace("before", answer));
            folder.certify("one", &if second % 3 == 0 { rsa() } else { ecdsa() }, &["one.test"]);
            server.reload();
            let half = &mut halves[usize::from(second >= seconds / 2)];
            *half = memory().max(*half);
            thread::sleep(Duration::from_secs(1).saturating_sub(begun.elapsed()));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(!server.said().contains("not reloaded"), "{}", server.said());
    let [first, second] = halves;
    assert!(second <= first + first / 5, "{first} KiB, then {second} KiB");
    let log = server.stop();
    let done = log.iter().filter(|entry| entry["end"] == "done").count();
    assert_eq!(done, served.load(Ordering::Relaxed));
}
