//! As much of HTTP as a scrape needs: GET and HEAD of `/metrics`, `/health` and `/`, one request per connection.
//!
//! Anyone who can reach the address can connect. So a request is bounded in length and time, an answer
//! in time, and the connections in number; a thread serves each. The crate `httparse` parses requests. A full HTTP
//! library with its runtime would do nothing more that is needed,
//! and would have to be held to the same bounds.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The content that the server answers with.
pub trait Site {
    /// The metrics, as text.
    fn metrics(&self) -> String;
    /// Whether the home serves, and how well, as JSON.
    fn health(&self) -> (bool, String);
}

/// Limits of a connection, and of the number of connections.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Upper bound of connections at a time; further ones are refused.
    pub connections_max: usize,
    /// Time from a connection's start until its request is complete.
    pub request_within: Duration,
    /// Time from the request until the client has taken the answer.
    pub answer_within: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connections_max: 8,
            request_within: Duration::from_secs(5),
            answer_within: Duration::from_secs(20),
        }
    }
}

/// Longest request, in bytes, with its header lines.
const REQUEST_BYTES_MAX: usize = 8 * 1024;
/// Upper bound of header lines in a request.
const HEADERS_MAX: usize = 64;
/// How many bytes of a refused request are still read: closing the connection with unread data would discard the
/// answer.
const REST_BYTES_MAX: usize = 64 * 1024;
/// Pause after a failed accept, whose likely cause is a lack of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Answers every connection; does not return while the listener can be used.
///
/// # Errors
/// The listener's.
pub fn serve(listener: &TcpListener, bounds: Bounds, site: &(dyn Site + Sync)) -> io::Result<()> {
    let connections = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        loop {
            let mut stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if is_lasting(&error) => return Err(error),
                Err(_) => {
                    std::thread::sleep(ACCEPT_PAUSE);
                    continue;
                }
            };
            if connections.load(Ordering::Relaxed) >= bounds.connections_max {
                // The refusal is not waited for: bytes that do not fit into the socket at once are lost.
                let _ = stream.set_nonblocking(true);
                let _ = stream.write_all(&Answer::status("503 Service Unavailable").bytes(false));
                continue;
            }
            connections.fetch_add(1, Ordering::Relaxed);
            let connections = &connections;
            let thread = std::thread::Builder::new().name("scrape".to_owned());
            let spawned = thread.spawn_scoped(scope, move || {
                // A connection that breaks is the client's loss alone.
                let _ = answer(&mut stream, bounds, site);
                connections.fetch_sub(1, Ordering::Relaxed);
            });
            if spawned.is_err() {
                connections.fetch_sub(1, Ordering::Relaxed);
            }
        }
    })
}

fn is_lasting(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
}

fn answer(stream: &mut TcpStream, bounds: Bounds, site: &(dyn Site + Sync)) -> io::Result<()> {
    let (answer, is_head) = match read_request(stream, Instant::now() + bounds.request_within)? {
        Asked::Page { path, is_head } => (Answer::of(&path, site), is_head),
        Asked::OtherMethod => (Answer::status("405 Method Not Allowed"), false),
        Asked::TooLong => (Answer::status("431 Request Header Fields Too Large"), false),
        Asked::Nonsense => (Answer::status("400 Bad Request"), false),
    };
    let bytes = answer.bytes(is_head);
    let end = Instant::now() + bounds.answer_within;
    write_within(stream, &bytes, end)?;
    stream.shutdown(Shutdown::Write)?;
    read_rest(stream, end)
}

/// The page that a client requests, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Asked {
    Page { path: String, is_head: bool },
    OtherMethod,
    TooLong,
    Nonsense,
}

fn read_request(stream: &mut TcpStream, end: Instant) -> io::Result<Asked> {
    let mut request = vec![0; REQUEST_BYTES_MAX];
    let mut length = 0;
    loop {
        if length == request.len() {
            return Ok(Asked::TooLong);
        }
        stream.set_read_timeout(Some(left(end)?))?;
        match stream.read(&mut request[length..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        if let Some(asked) = asked(&request[..length]) {
            return Ok(asked);
        }
    }
}

/// The meaning of a request, of which `request` has arrived so far; none while the request is incomplete.
fn asked(request: &[u8]) -> Option<Asked> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(request) {
        Ok(httparse::Status::Partial) => None,
        Ok(httparse::Status::Complete(_)) => {
            let is_head = parsed.method == Some("HEAD");
            if !is_head && parsed.method != Some("GET") {
                return Some(Asked::OtherMethod);
            }
            let path = parsed.path.unwrap_or_default();
            let path = path.split(['?', '#']).next().unwrap_or_default().to_owned();
            Some(Asked::Page { path, is_head })
        }
        Err(httparse::Error::TooManyHeaders) => Some(Asked::TooLong),
        Err(_) => Some(Asked::Nonsense),
    }
}

/// An answer: status, type, body.
struct Answer {
    status: &'static str,
    content: &'static str,
    body: String,
}

impl Answer {
    fn of(path: &str, site: &(dyn Site + Sync)) -> Self {
        match path {
            "/metrics" => {
                Self { status: "200 OK", content: "text/plain; version=0.0.4; charset=utf-8", body: site.metrics() }
            }
            "/health" => {
                let (serves, body) = site.health();
                let status = if serves { "200 OK" } else { "503 Service Unavailable" };
                Self { status, content: "application/json", body }
            }
            "/" => Self {
                status: "200 OK",
                content: "text/html; charset=utf-8",
                body: "<!doctype html><title>Cryptand</title><a href=\"/metrics\">metrics</a> <a href=\"/health\">health</a>\n".to_owned(),
            },
            _ => Self::status("404 Not Found"),
        }
    }

    fn status(status: &'static str) -> Self {
        Self { status, content: "text/plain; charset=utf-8", body: format!("{status}\n") }
    }

    fn bytes(&self, is_head: bool) -> Vec<u8> {
        let Self { status, content, body } = self;
        let allow = if status.starts_with("405") { "Allow: GET, HEAD\r\n" } else { "" };
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {content}\r\nContent-Length: {length}\r\n{allow}Connection: close\r\n\r\n"
        );
        let mut bytes = head.into_bytes();
        if !is_head {
            bytes.extend_from_slice(body.as_bytes());
        }
        bytes
    }
}

fn write_within(stream: &mut TcpStream, mut bytes: &[u8], end: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(left(end)?))?;
        match stream.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn read_rest(stream: &mut TcpStream, end: Instant) -> io::Result<()> {
    let (mut rest, mut buffer) = (0, [0; 4096]);
    while rest < REST_BYTES_MAX {
        stream.set_read_timeout(Some(left(end)?))?;
        match stream.read(&mut buffer)? {
            0 => break,
            read => rest += read,
        }
    }
    Ok(())
}

/// The time left until `end`; [`io::ErrorKind::TimedOut`] once `end` has passed.
fn left(end: Instant) -> io::Result<Duration> {
    let left = end.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::SocketAddr;

    /// A site with a page of this many bytes; it reports that it serves unless the page is empty.
    struct Pages(usize);

    impl Site for Pages {
        fn metrics(&self) -> String {
            "m".repeat(self.0)
        }

        fn health(&self) -> (bool, String) {
            (self.0 != 0, "{}".to_owned())
        }
    }

    /// Starts a server for the rest of the process, with these bounds and a page of `page_bytes` bytes.
    fn server(bounds: Bounds, page_bytes: usize) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || serve(&listener, bounds, &Pages(page_bytes)));
        address
    }

    fn connect(address: SocketAddr) -> TcpStream {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    fn rest(mut stream: TcpStream) -> String {
        let mut answer = Vec::new();
        // A connection that is reset has ended as well.
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    }

    fn ask(address: SocketAddr, request: &[u8]) -> String {
        let mut stream = connect(address);
        stream.write_all(request).unwrap();
        rest(stream)
    }

    fn until_served(address: SocketAddr) {
        let end = Instant::now() + Duration::from_secs(60);
        while !ask(address, b"GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200 ") {
            assert!(Instant::now() < end, "not served again");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Every request gets one verdict, however it is split into pieces; a page has a path without a query.
        #[test]
        fn any_request_is_read_or_refused(
            start in prop::sample::select(vec!["GET /metrics HTTP/1.1\r\n", "HEAD / HTTP/1.0\r\n", "PUT ", "", "\r\n"]),
            pieces in prop::collection::vec(prop_oneof![
                "[ -~]{0,40}".prop_map(String::into_bytes),
                "[A-Za-z-]{1,12}: [ -~]{0,20}\r\n".prop_map(String::into_bytes),
                prop::collection::vec(any::<u8>(), 0..20),
                Just(b"\r\n".to_vec()),
                Just(b"\n".to_vec()),
            ], 0..80),
        ) {
            let request = [start.as_bytes(), &pieces.concat()].concat();
            let whole = asked(&request);
            let first = (0..request.len()).find_map(|end| asked(&request[..end]));
            prop_assert!(first.is_none() || first == whole, "{:?} and {:?}", first, whole);
            if let Some(Asked::Page { path, .. }) = whole {
                prop_assert!(!path.contains(['?', '#', ' ', '\r', '\n']), "{}", path);
            }
        }
    }

    #[test]
    fn what_is_asked_is_answered() {
        let address = server(Bounds::default(), 70_000);
        for (request, status, body_bytes) in [
            ("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", "200", 70_000),
            ("GET /metrics?a=b HTTP/1.0\r\n\r\n", "200", 70_000),
            ("HEAD /metrics HTTP/1.1\r\n\r\n", "200", 0),
            ("GET / HTTP/1.1\r\n\r\n", "200", 98),
            ("GET /health HTTP/1.1\r\n\r\n", "200", 2),
            ("GET /health/ HTTP/1.1\r\n\r\n", "404", 14),
            ("GET /metrics/.. HTTP/1.1\r\n\r\n", "404", 14),
            ("POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", "405", 23),
            ("nonsense\r\n\r\n", "400", 16),
            ("GET /metrics\r\n\r\n", "400", 16),
        ] {
            let answer = ask(address, request.as_bytes());
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request}: {answer:.100}");
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            assert_eq!(body.len(), body_bytes, "{request}: {head}");
            let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap();
            assert!(body.is_empty() || length == body.len().to_string());
        }
        let down = ask(server(Bounds::default(), 0), b"GET /health HTTP/1.1\r\n\r\n");
        assert!(down.starts_with("HTTP/1.1 503 "), "{down}");
    }

    #[test]
    fn a_request_that_is_too_long_is_refused() {
        let address = server(Bounds::default(), 10);
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(REQUEST_BYTES_MAX));
        assert!(ask(address, long.as_bytes()).starts_with("HTTP/1.1 431 "));
        let many = format!("GET /metrics HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(HEADERS_MAX + 1));
        assert!(ask(address, many.as_bytes()).starts_with("HTTP/1.1 431 "));
    }

    #[test]
    fn a_client_that_does_not_go_on_is_let_go() {
        let bounds = Bounds {
            request_within: Duration::from_millis(50),
            answer_within: Duration::from_millis(50),
            connections_max: 1,
        };
        let mut silent = connect(server(bounds, 10));
        silent.write_all(b"GET /met").unwrap();
        assert_eq!(rest(silent), "");
        // Takes the head of the answer and nothing more until the server has given it up.
        let address = server(bounds, 64 << 20);
        let mut slow = connect(address);
        slow.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        let mut head = [0; 12];
        slow.read_exact(&mut head).unwrap();
        assert_eq!(&head, b"HTTP/1.1 200");
        // After the server gives a connection up, there is room for another.
        until_served(address);
        assert!(rest(slow).len() < 64 << 20);
    }

    #[test]
    fn connections_beyond_the_bound_are_refused_and_later_ones_served() {
        let address = server(Bounds { connections_max: 2, ..Bounds::default() }, 10);
        let held = [connect(address), connect(address)];
        // The server accepts in order: with the third, the first two have their threads.
        assert!(ask(address, b"").starts_with("HTTP/1.1 503 "));
        drop(held);
        until_served(address);
    }
}
