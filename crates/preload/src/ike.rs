//! The UDP sockets of an IKE daemon: they carry a mark, by which their packets go around the data plane, and share port
//! 4500 with it.

use crate::MARK;
use crate::connection::{readable, to};
use crate::ffi_kernel;
use crate::paths::{PlanePaths, shown};
use crate::said::Cause;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, ipproto, recv, send, sockopt};
use std::fmt::Write;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// The port of IKE (RFC 7296).
const IKE: u16 = 500;
/// The port that IKE shares with ESP in UDP (RFC 3948).
const SHARED: u16 = 4500;
/// How long the data plane may take to open its sockets.
const PLANE_WAIT: Duration = Duration::from_secs(2);
/// Longest question about an address, in bytes.
const QUESTION_BYTES: usize = 80;
/// Longest answer to it, in bytes.
const ANSWER_BYTES: usize = 256;

static UNMARKED: Cause = Cause::new();
static UNSHARED: Cause = Cause::new();

/// Whether a descriptor is a UDP socket.
pub fn is_udp(fd: BorrowedFd<'_>) -> bool {
    matches!(sockopt::socket_domain(fd), Ok(AddressFamily::INET | AddressFamily::INET6))
        && sockopt::socket_type(fd) == Ok(SocketType::DGRAM)
        && matches!(sockopt::socket_protocol(fd), Ok(Some(ipproto::UDP)))
}

/// Has the packets of a socket go around the data plane, as a policy of the socket that lets them pass would.
pub fn bypass(fd: BorrowedFd<'_>) -> Result<(), Errno> {
    ffi_kernel::mark(fd, MARK).inspect_err(|refused| {
        UNMARKED.tell(format_args!(
            "IKE's sockets cannot be marked, and their packets may be taken for traffic: {refused}: run this program as root or with CAP_NET_ADMIN"
        ));
    })
}

/// Prepares a socket for being bound: on port 500 or 4500 it is marked, and it shares 4500 with the data plane. A
/// failure is told and does not stop the bind: IKE works without ESP in UDP.
pub fn before_bind(fd: BorrowedFd<'_>, address: SocketAddr, paths: Option<&PlanePaths>) {
    if !matches!(address.port(), IKE | SHARED) || !is_udp(fd) {
        return;
    }
    // `bypass` has told its error, and bind(2) goes on regardless.
    let _ = bypass(fd);
    if address.port() != SHARED {
        return;
    }
    let Some(paths) = paths else { return };
    let mut answer = Text::<ANSWER_BYTES>::new();
    let asked = ask(paths, address, &mut answer);
    // A data plane that comes later can share the port only if all of the port's sockets have SO_REUSEPORT.
    let shared = sockopt::set_socket_reuseport(fd, true);
    if let Err(refused) = asked.and(shared) {
        let (path, said) = (shown(&paths.plane), answer.shown());
        UNSHARED.tell(format_args!(
            "the data plane at {path} does not share {address}: {refused}{said}: IKE goes on, ESP in UDP does not; start cryptand-esp before this program"
        ));
    }
}

/// Asks the data plane to open its sockets of an address; `answer` gets what it replies.
fn ask(paths: &PlanePaths, address: SocketAddr, answer: &mut Text<ANSWER_BYTES>) -> Result<(), Errno> {
    let mut question = Text::<QUESTION_BYTES>::new();
    write!(question, "bind {address}").map_err(|_| Errno::INVAL)?;
    let plane = to(&paths.plane)?;
    send(&plane, question.bytes(), SendFlags::NOSIGNAL)?;
    if !readable(plane.as_fd(), PLANE_WAIT) {
        return Err(Errno::TIMEDOUT);
    }
    let (length, _) = recv(&plane, &mut answer.bytes[..], RecvFlags::DONTWAIT)?;
    answer.length = length;
    match answer.bytes() {
        b"ok" => Ok(()),
        b"" => Err(Errno::CONNRESET),
        _ => Err(Errno::ADDRINUSE),
    }
}

/// A text of at most `BYTES` bytes, without an allocation.
struct Text<const BYTES: usize> {
    bytes: [u8; BYTES],
    length: usize,
}

impl<const BYTES: usize> Text<BYTES> {
    const fn new() -> Self {
        Self { bytes: [0; BYTES], length: 0 }
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    /// Why the data plane refused, as the end of a line for people.
    fn shown(&self) -> Shown<'_> {
        let text = std::str::from_utf8(self.bytes()).unwrap_or_default();
        Shown(text.strip_prefix("error ").unwrap_or_default())
    }
}

impl<const BYTES: usize> Write for Text<BYTES> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let place = self.bytes.get_mut(self.length..self.length + text.len()).ok_or(std::fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.length += text.len();
        Ok(())
    }
}

/// A reason in brackets, if there is one, without control characters.
struct Shown<'a>(&'a str);

impl std::fmt::Display for Shown<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        out.write_str(" (")?;
        self.0.chars().filter(|character| !character.is_control()).try_for_each(|one| out.write_char(one))?;
        out.write_char(')')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_question_fits() {
        let mut question = Text::<QUESTION_BYTES>::new();
        let address: SocketAddr =
            "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff%4294967295]:65535".parse().unwrap();
        write!(question, "bind {address}").unwrap();
        assert!(question.bytes().ends_with(b":65535"));
        let mut short = Text::<4>::new();
        assert!(write!(short, "bind").is_ok() && write!(short, "x").is_err());
    }

    #[test]
    fn reasons_are_shown_without_control_characters() {
        let mut answer = Text::<ANSWER_BYTES>::new();
        write!(answer, "error in use\x1b[2J").unwrap();
        assert_eq!(answer.shown().to_string(), " (in use[2J)");
        assert_eq!(Text::<ANSWER_BYTES>::new().shown().to_string(), "");
    }
}
