//! The thread that reports on the running program. It serves metrics over as much of HTTP as a scrape needs, and the
//! status at a socket of its own. The thread takes no part in serving, and no loop waits for it.
//!
//! Anyone who can reach the metrics' address can connect. So requests are bounded in length and time, answers in time,
//! and connections in number; further connections wait in the kernel's queue.

use crate::metrics::{Metrics, page};
use crate::report;
use crate::said::say;
use crate::settings::{MetricsAt, Settings, StatusAt, Wrong};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, Shutdown, SocketAddrUnix, SocketFlags, SocketType};
use std::fs::{self, Permissions};
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// At most this many connections at a time, for metrics and for the status each.
const CONNECTIONS_MAX: usize = 16;
/// Longest request with its header lines, in bytes; and at most this many header lines.
const REQUEST_BYTES_MAX: usize = 8 << 10;
const HEADERS_MAX: usize = 64;
/// Longest time from the start of a connection to its request, and from the request to the end.
const REQUEST_WITHIN: Duration = Duration::from_secs(5);
const ANSWER_WITHIN: Duration = Duration::from_secs(20);
/// Length of the kernel's queue of connections that wait to be accepted.
const QUEUE: i32 = 128;
/// At most this many bytes behind a request are still read, so that closing does not discard the answer.
const REST_BYTES_MAX: usize = 64 << 10;
/// A page is used again for this time before a new one is made.
const PAGE_FOR: Duration = Duration::from_millis(200);
/// How long accepting pauses if the system has no descriptor for a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Modes of the two sockets: everybody may read metrics, as far as the folder permits; only the owner may read the
/// status.
const METRICS_MODE: u32 = 0o666;
const STATUS_MODE: u32 = 0o600;

/// The running thread; when this is dropped, the thread ends and its sockets are removed.
pub(crate) struct Observer {
    bell: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
    /// The sockets' files, which are removed when the observer is dropped.
    _sockets: Vec<SocketFile>,
}

/// A socket's file, with the device and inode that it was made with.
struct SocketFile {
    path: PathBuf,
    of: [u64; 2],
}

/// Bound sockets, before a thread answers there.
pub(crate) struct Doors {
    doors: Vec<Door>,
    sockets: Vec<SocketFile>,
}

impl Doors {
    /// Binds the sockets that the settings name, and reports their places on standard error.
    ///
    /// # Errors
    /// [`Wrong`], with the socket that cannot be bound.
    pub(crate) fn bind(settings: &Settings) -> Result<Self, Wrong> {
        let (mut doors, mut sockets) = (Vec::new(), Vec::new());
        let at = settings.observing.metrics.as_ref();
        let wrong = |key: &str, cause: String| settings.wrong(at.map_or(1, |at| at.line), key, cause);
        match at.map(|at| &at.value) {
            None => {}
            Some(MetricsAt::Address(address)) => {
                let of = |cause: io::Error| wrong("address", format!("cannot listen at {address}: {cause}"));
                let listener = TcpListener::bind(address).map_err(of)?;
                listener.set_nonblocking(true).map_err(of)?;
                let address = listener.local_addr().map_err(of)?;
                say(format_args!("metrics at http://{address}/metrics"));
                doors.push(Door::new(Kind::Metrics, listener.into()));
            }
            Some(MetricsAt::Socket(path)) => {
                let (door, file) = bind(path, METRICS_MODE).map_err(|cause| wrong("socket", cause))?;
                say(format_args!("metrics at {}", path.display()));
                doors.push(Door::new(Kind::Metrics, door));
                sockets.push(file);
            }
        }
        let bound = match &settings.observing.status {
            StatusAt::None => None,
            StatusAt::Default(path) => match bind(path, STATUS_MODE) {
                Ok(bound) => Some(bound),
                Err(cause) => {
                    say(format_args!("no status is told: {cause}"));
                    None
                }
            },
            StatusAt::Socket(path) => Some(
                bind(&path.value, STATUS_MODE).map_err(|cause| settings.wrong(path.line, "socket", cause))?,
            ),
        };
        if let Some((door, file)) = bound {
            doors.push(Door::new(Kind::Status, door));
            sockets.push(file);
        }
        Ok(Self { doors, sockets })
    }

    /// Starts the thread that answers.
    ///
    /// # Errors
    /// [`Wrong`], if no thread or descriptor can be made.
    pub(crate) fn open(self, settings: &Settings, metrics: Arc<Metrics>) -> Result<Observer, Wrong> {
        let failed = |cause: io::Error| settings.wrong(1, "[metrics]", cause);
        let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).map_err(|errno| failed(errno.into()))?);
        let of_thread = Arc::clone(&bell);
        let Self { doors, sockets } = self;
        let thread = (!doors.is_empty()).then(|| {
            let answering = Answering { doors, metrics, page: None, accept_again: None };
            let thread = std::thread::Builder::new().name("observer".to_owned());
            thread.spawn(move || answering.run(&of_thread))
        });
        Ok(Observer { bell, thread: thread.transpose().map_err(failed)?, _sockets: sockets })
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        let _ = rustix::io::write(&*self.bell, &1_u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Another program may have put its own socket there.
        if file_of(&self.path).ok() == Some(self.of) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn file_of(path: &Path) -> io::Result<[u64; 2]> {
    fs::symlink_metadata(path).map(|file| [file.dev(), file.ino()])
}

/// Connects to a Unix socket without blocking: the queue of a stopped program may be full.
///
/// # Errors
/// The system's error; [`io::ErrorKind::WouldBlock`] if a program listens but does not accept.
pub(crate) fn connect(path: &Path) -> io::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

/// Binds a Unix socket. A socket file that a killed program left behind is removed first.
fn bind(path: &Path, mode: u32) -> Result<(OwnedFd, SocketFile), String> {
    let failed = |cause: io::Error| format!("cannot listen at {}: {cause}", path.display());
    if fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket()) {
        match connect(path).map_err(|cause| (cause.kind(), cause)) {
            Ok(_) | Err((io::ErrorKind::WouldBlock, _)) => {
                return Err(format!("another program listens at {}", path.display()));
            }
            Err((io::ErrorKind::ConnectionRefused, _)) => fs::remove_file(path).map_err(failed)?,
            Err((_, cause)) => return Err(failed(cause)),
        }
    }
    listen(path, mode).map_err(failed)
}

fn listen(path: &Path, mode: u32) -> io::Result<(OwnedFd, SocketFile)> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // The file is made with the socket's mode, less the process's mask, so nobody else can connect in between.
    rustix::fs::fchmod(&socket, Mode::from_raw_mode(mode))?;
    rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
    let file = SocketFile { path: path.to_owned(), of: file_of(path)? };
    permit(path, mode)?;
    rustix::net::listen(&socket, QUEUE)?;
    Ok((socket, file))
}

/// Restores the mode bits that the mask took from a socket's file. In a folder of another user, another file may be
/// there by now: no link is followed, and only an own socket is changed.
fn permit(path: &Path, mode: u32) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = fs::File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let facts = found.metadata()?;
    if facts.mode() & 0o777 == mode {
        return Ok(());
    }
    let is_own = facts.uid() == rustix::process::geteuid().as_raw() && facts.nlink() == 1;
    if !facts.file_type().is_socket() || !is_own {
        return Err(io::Error::other("another file was put there"));
    }
    fs::set_permissions(format!("/proc/self/fd/{}", found.as_raw_fd()), Permissions::from_mode(mode))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Metrics,
    Status,
}

struct Door {
    kind: Kind,
    socket: OwnedFd,
    guests: Vec<Guest>,
}

impl Door {
    fn new(kind: Kind, socket: OwnedFd) -> Self {
        Self { kind, socket, guests: Vec::new() }
    }
}

/// A client's connection to the socket of metrics or of the status.
struct Guest {
    socket: OwnedFd,
    doing: Doing,
    until: Instant,
}

enum Doing {
    /// The request arrives; these bytes of it are there.
    Asking(Vec<u8>),
    /// The answer is sent, up to this many bytes of it.
    Answered(Vec<u8>, usize),
    /// The answer is sent, and this many bytes behind the request were read and ignored.
    Leaving(usize),
}

struct Answering {
    doors: Vec<Door>,
    metrics: Arc<Metrics>,
    page: Option<(Instant, String)>,
    accept_again: Option<Instant>,
}

impl Answering {
    fn run(mut self, bell: &OwnedFd) {
        loop {
            let now = Instant::now();
            self.accept_again = self.accept_again.filter(|at| *at > now);
            for door in &mut self.doors {
                door.guests.retain(|guest| guest.until > now);
            }
            let mut polled = vec![PollFd::new(bell, PollFlags::IN)];
            for door in &self.doors {
                let has_room = door.guests.len() < CONNECTIONS_MAX && self.accept_again.is_none();
                polled.push(PollFd::new(
                    &door.socket,
                    if has_room { PollFlags::IN } else { PollFlags::empty() },
                ));
                for guest in &door.guests {
                    let is_sending = matches!(guest.doing, Doing::Answered(..));
                    polled.push(PollFd::new(
                        &guest.socket,
                        if is_sending { PollFlags::OUT } else { PollFlags::IN },
                    ));
                }
            }
            let guests = self.doors.iter().flat_map(|door| &door.guests).map(|guest| guest.until);
            let timeout = guests.chain(self.accept_again).min().map(|at| {
                // Rounded up, so that the time has come when the wait ends.
                let span = at.saturating_duration_since(now) + Duration::from_millis(1);
                Timespec { tv_sec: span.as_secs() as i64, tv_nsec: i64::from(span.subsec_nanos()) }
            });
            match rustix::event::poll(&mut polled, timeout.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => {
                    say(format_args!("metrics and status are not told any more: {errno}"));
                    return;
                }
            }
            let mut heard =
                polled.iter().map(|polled| !polled.revents().is_empty()).collect::<Vec<_>>().into_iter();
            drop(polled);
            if heard.next() == Some(true) {
                return;
            }
            for at in 0..self.doors.len() {
                let is_knocked_at = heard.next() == Some(true);
                let mut guests = std::mem::take(&mut self.doors[at].guests);
                guests.retain_mut(|guest| heard.next() != Some(true) || self.go_on(guest));
                self.doors[at].guests = guests;
                let has_room = self.doors[at].guests.len() < CONNECTIONS_MAX && self.accept_again.is_none();
                if is_knocked_at && has_room {
                    self.open(at);
                }
            }
        }
    }

    fn open(&mut self, at: usize) {
        let door = &mut self.doors[at];
        let socket =
            match rustix::net::accept_with(&door.socket, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                Ok(socket) => socket,
                Err(Errno::AGAIN | Errno::CONNABORTED | Errno::INTR) => return,
                Err(_) => {
                    self.accept_again = Some(Instant::now() + ACCEPT_PAUSE);
                    return;
                }
            };
        let now = Instant::now();
        let (doing, until) = match door.kind {
            Kind::Metrics => (Doing::Asking(Vec::new()), now + REQUEST_WITHIN),
            Kind::Status if !may_read(&socket) => return,
            Kind::Status => {
                (Doing::Answered(report::report(&self.metrics).into_bytes(), 0), now + ANSWER_WITHIN)
            }
        };
        self.doors[at].guests.push(Guest { socket, doing, until });
    }

    /// Goes on with a connection; false if it is over.
    fn go_on(&mut self, guest: &mut Guest) -> bool {
        match &mut guest.doing {
            Doing::Asking(request) => {
                let mut buffer = [0; REQUEST_BYTES_MAX];
                let count = match rustix::net::recv(&guest.socket, &mut buffer[..], RecvFlags::DONTWAIT) {
                    Ok((0, _)) => return false,
                    Ok((count, _)) => count,
                    Err(errno) => return errno == Errno::AGAIN || errno == Errno::INTR,
                };
                request.extend_from_slice(&buffer[..count]);
                let Some(asked) = asked(request) else { return true };
                let answer = match asked {
                    Asked::Metrics { is_head } => answer("200 OK", self.page(), is_head),
                    Asked::Other(status) => answer(status, &format!("{status}\n"), false),
                };
                guest.doing = Doing::Answered(answer, 0);
                guest.until = Instant::now() + ANSWER_WITHIN;
                true
            }
            Doing::Answered(bytes, sent) => {
                let rest = bytes.get(*sent..).unwrap_or_default();
                match rustix::net::send(&guest.socket, rest, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                    Ok(count) => *sent += count,
                    Err(errno) => return errno == Errno::AGAIN || errno == Errno::INTR,
                }
                if *sent == bytes.len() {
                    let _ = rustix::net::shutdown(&guest.socket, Shutdown::Write);
                    guest.doing = Doing::Leaving(0);
                }
                true
            }
            Doing::Leaving(read) => {
                match rustix::net::recv(&guest.socket, &mut [0; 4096][..], RecvFlags::DONTWAIT) {
                    Ok((0, _)) => return false,
                    Ok((count, _)) => *read += count,
                    Err(errno) => return errno == Errno::AGAIN || errno == Errno::INTR,
                }
                *read <= REST_BYTES_MAX
            }
        }
    }

    fn page(&mut self) -> &str {
        let now = Instant::now();
        let known = self.page.take().filter(|(at, _)| now - *at < PAGE_FOR);
        let (_, text) = self.page.insert(known.unwrap_or_else(|| (now, page::page(&self.metrics))));
        text
    }
}

/// Whether the client may read the status: root and the program's own user may.
fn may_read(socket: &OwnedFd) -> bool {
    let peer = rustix::net::sockopt::socket_peercred(socket).map(|peer| peer.uid);
    peer.is_ok_and(|uid| uid.is_root() || uid == rustix::process::geteuid())
}

#[derive(Debug, PartialEq, Eq)]
enum Asked {
    Metrics { is_head: bool },
    Other(&'static str),
}

/// The answer that a request calls for; `None` if the request is not complete yet.
fn asked(request: &[u8]) -> Option<Asked> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(request) {
        Ok(httparse::Status::Partial) if request.len() < REQUEST_BYTES_MAX => None,
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            Some(Asked::Other("431 Request Header Fields Too Large"))
        }
        Err(_) => Some(Asked::Other("400 Bad Request")),
        Ok(httparse::Status::Complete(_)) => {
            let is_head = parsed.method == Some("HEAD");
            if !is_head && parsed.method != Some("GET") {
                return Some(Asked::Other("405 Method Not Allowed"));
            }
            let path = parsed.path.unwrap_or_default().split('?').next();
            Some(if path == Some("/metrics") {
                Asked::Metrics { is_head }
            } else {
                Asked::Other("404 Not Found")
            })
        }
    }
}

fn answer(status: &str, body: &str, is_head: bool) -> Vec<u8> {
    let content = if status.starts_with("200") { "text/plain; version=0.0.4" } else { "text/plain" };
    let allow = if status.starts_with("405") { "Allow: GET, HEAD\r\n" } else { "" };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content}; charset=utf-8\r\nContent-Length: {}\r\n{allow}Connection: close\r\n\r\n",
        body.len()
    );
    let mut bytes = head.into_bytes();
    if !is_head {
        bytes.extend_from_slice(body.as_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_told_apart_and_bounded() {
        let other = |status| Some(Asked::Other(status));
        assert_eq!(asked(b"GET /metrics HTTP/1.1\r\nHost: x\r\n"), None);
        assert_eq!(asked(b"GET /metrics?x=1 HTTP/1.0\r\n\r\n"), Some(Asked::Metrics { is_head: false }));
        assert_eq!(
            asked(b"HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n"),
            Some(Asked::Metrics { is_head: true })
        );
        assert_eq!(asked(b"POST /metrics HTTP/1.1\r\n\r\n"), other("405 Method Not Allowed"));
        assert_eq!(asked(b"GET / HTTP/1.1\r\n\r\n"), other("404 Not Found"));
        assert_eq!(asked(b"\x16\x03\x01\x00\x05"), other("400 Bad Request"));
        let long = [&b"GET /metrics HTTP/1.1\r\nX: "[..], &[b'x'; REQUEST_BYTES_MAX]].concat();
        assert_eq!(asked(&long), other("431 Request Header Fields Too Large"));
        let many =
            [&b"GET /metrics HTTP/1.1\r\n"[..], &b"X: y\r\n".repeat(HEADERS_MAX + 1), b"\r\n"].concat();
        assert_eq!(asked(&many), other("431 Request Header Fields Too Large"));
    }
}
