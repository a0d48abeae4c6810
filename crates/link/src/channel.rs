//! Control sockets: whole messages of [`wire::control`] with descriptors, and who sent them.
//!
//! A channel is a sequenced-packet socket: a message arrives whole and by itself, or not at all. A
//! message that is too long, carries too many descriptors, or does not
//! decode is an error of the peer, and is discarded.

use crate::address;
use crate::process::{PidFd, timespec};
use crate::world;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::cell::Cell;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::time::Duration;
use wire::bounds::{CONTROL_BYTES_MAX, CONTROL_DESCRIPTORS_MAX};
use wire::control::{self, MessageError};
use zeroize::Zeroize;

/// Length of the backlog: connections that wait to be accepted.
const BACKLOG: i32 = 256;

/// Length of a thread's receive buffer in bytes. It is longer than a message because an allocator
/// takes a buffer of this length from the system, as zero pages that exist once touched: most
/// messages touch one page.
const BUFFER_BYTES: usize = 4 * CONTROL_BYTES_MAX;

thread_local! {
    /// The receive buffer of this thread, wiped; empty before its first message and while it
    /// receives one.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Why a message was not sent or received.
#[derive(Debug)]
#[non_exhaustive]
pub enum ChannelError {
    /// The peer closed its end, or is gone.
    Closed,
    /// No message is there yet, or no room for one.
    WouldBlock,
    /// No message came before the deadline.
    TimedOut,
    /// The message breaks a rule of [`wire::control`]: the sender is at fault.
    Message(MessageError),
    /// More descriptors than [`CONTROL_DESCRIPTORS_MAX`], or more than this process may have open.
    Descriptors,
    /// A system call failed.
    System {
        /// Name of the call.
        operation: &'static str,
        /// Error of the call.
        cause: io::Error,
    },
}

impl std::fmt::Display for ChannelError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Closed => f.write_str("the other end of the control socket is closed"),
            Self::WouldBlock => f.write_str("the control socket is not ready"),
            Self::TimedOut => f.write_str("no answer on the control socket in time"),
            Self::Message(error) => error.fmt(f),
            Self::Descriptors => {
                write!(
                    f,
                    "a control message with more than {CONTROL_DESCRIPTORS_MAX} descriptors, or none left here"
                )
            }
            Self::System { operation, cause } => write!(f, "{operation} on the control socket: {cause}"),
        }
    }
}

impl std::error::Error for ChannelError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Message(error) => Some(error),
            Self::System { cause, .. } => Some(cause),
            _ => None,
        }
    }
}

impl From<MessageError> for ChannelError {
    fn from(error: MessageError) -> Self {
        Self::Message(error)
    }
}

impl ChannelError {
    fn system(operation: &'static str, errno: Errno) -> Self {
        match errno {
            Errno::AGAIN => Self::WouldBlock,
            Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN => Self::Closed,
            Errno::TOOMANYREFS => Self::Descriptors,
            other => Self::System { operation, cause: other.into() },
        }
    }
}

/// The process at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Number of the process when it connected. The number may mean another process later.
    pub pid: u32,
    /// Effective user id of the process when it connected.
    pub uid: u32,
    /// Effective group id of the process when it connected.
    pub gid: u32,
}

/// One end of a control socket.
#[derive(Debug)]
pub struct Channel {
    socket: OwnedFd,
}

impl Channel {
    /// Two connected ends.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn pair() -> io::Result<(Self, Self)> {
        world::fault("socketpair")?;
        let (one, other) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        Ok((Self { socket: one }, Self { socket: other }))
    }

    /// Connects to the listener at a path of any length.
    ///
    /// # Errors
    /// Of the system calls; `NotFound` and `ConnectionRefused` if nobody listens.
    pub fn connect(path: &Path) -> io::Result<Self> {
        Ok(Self { socket: address::connect(path, SocketType::SEQPACKET)? })
    }

    /// As [`Channel::connect`], without blocking; no later call on the channel blocks either.
    ///
    /// # Errors
    /// As [`Channel::connect`], and `WouldBlock` if the backlog is full.
    pub fn connect_now(path: &Path) -> io::Result<Self> {
        Ok(Self { socket: address::connect_now(path, SocketType::SEQPACKET)? })
    }

    /// Takes a socket that was handed over.
    ///
    /// # Errors
    /// `InvalidInput` if the descriptor is not a sequenced-packet socket.
    pub fn from_fd(socket: OwnedFd) -> io::Result<Self> {
        check_kind(&socket)?;
        Ok(Self { socket })
    }

    /// The socket, to be handed over.
    pub fn into_fd(self) -> OwnedFd {
        self.socket
    }

    /// Another descriptor of the same end.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { socket: self.socket.try_clone()? })
    }

    /// Sends a message, waiting for room. The encoded message is wiped afterwards.
    ///
    /// # Errors
    /// [`ChannelError`], but never [`ChannelError::TimedOut`].
    pub fn send<T: Serialize>(
        &self,
        message: &T,
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<(), ChannelError> {
        self.send_flagged(message, descriptors, SendFlags::NOSIGNAL)
    }

    /// As [`Channel::send`], but does not wait: [`ChannelError::WouldBlock`] if there is no room.
    ///
    /// # Errors
    /// As [`Channel::send`], and [`ChannelError::WouldBlock`].
    pub fn try_send<T: Serialize>(
        &self,
        message: &T,
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<(), ChannelError> {
        self.send_flagged(message, descriptors, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)
    }

    fn send_flagged<T: Serialize>(
        &self,
        message: &T,
        descriptors: &[BorrowedFd<'_>],
        flags: SendFlags,
    ) -> Result<(), ChannelError> {
        if descriptors.len() > CONTROL_DESCRIPTORS_MAX {
            return Err(ChannelError::Descriptors);
        }
        let mut bytes = control::encode(message)?;
        let sent = self.send_bytes(&bytes, descriptors, flags);
        bytes.zeroize();
        sent
    }

    fn send_bytes(
        &self,
        bytes: &[u8],
        descriptors: &[BorrowedFd<'_>],
        flags: SendFlags,
    ) -> Result<(), ChannelError> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(CONTROL_DESCRIPTORS_MAX))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
            return Err(ChannelError::Descriptors);
        }
        world::before_send(self.socket.as_fd(), !flags.contains(SendFlags::DONTWAIT));
        loop {
            match rustix::net::sendmsg(&self.socket, &[IoSlice::new(bytes)], &mut ancillary, flags) {
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(ChannelError::system("send", errno)),
            }
        }
    }

    /// Waits for a message; returns it with its descriptors, which are closed on exec.
    ///
    /// # Errors
    /// [`ChannelError`]; after [`ChannelError::Message`] or [`ChannelError::Descriptors`] the peer
    /// broke the rules, and the channel should be closed.
    pub fn recv<T: DeserializeOwned>(&self) -> Result<(T, Vec<OwnedFd>), ChannelError> {
        self.recv_flagged(RecvFlags::empty())
    }

    /// As [`Channel::recv`], but does not wait: [`ChannelError::WouldBlock`] if no message is
    /// there.
    ///
    /// # Errors
    /// As [`Channel::recv`].
    pub fn try_recv<T: DeserializeOwned>(&self) -> Result<(T, Vec<OwnedFd>), ChannelError> {
        self.recv_flagged(RecvFlags::DONTWAIT)
    }

    /// As [`Channel::recv`], waiting no longer than `timeout`.
    ///
    /// # Errors
    /// [`ChannelError::TimedOut`], or as [`Channel::recv`].
    pub fn recv_timeout<T: DeserializeOwned>(
        &self,
        timeout: Duration,
    ) -> Result<(T, Vec<OwnedFd>), ChannelError> {
        let deadline = world::now().checked_add(timeout);
        loop {
            match self.try_recv() {
                Err(ChannelError::WouldBlock) => {}
                other => return other,
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(world::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(ChannelError::TimedOut);
            }
            let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
            match world::poll(&mut fds, left.map(timespec).as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(ChannelError::system("poll", errno)),
            }
        }
    }

    /// Whether a message or the end of the connection is there to be received. A signal is neither.
    pub fn has_news(&self) -> bool {
        let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
        loop {
            match world::poll(&mut fds, Some(&timespec(Duration::ZERO))) {
                Err(Errno::INTR) => {}
                polled => return polled != Ok(0),
            }
        }
    }

    fn recv_flagged<T: DeserializeOwned>(&self, flags: RecvFlags) -> Result<(T, Vec<OwnedFd>), ChannelError> {
        let mut bytes = BUFFER.try_with(Cell::take).unwrap_or_default();
        if bytes.is_empty() {
            bytes = vec![0; BUFFER_BYTES];
        }
        let received = self.recv_bytes(&mut bytes[..CONTROL_BYTES_MAX], flags);
        // Pages without received bytes are not touched: touching would allocate them.
        let written = match &received {
            Ok((count, _)) => *count,
            Err(ChannelError::WouldBlock | ChannelError::Closed) => 0,
            Err(_) => CONTROL_BYTES_MAX,
        };
        let read =
            received.and_then(|(count, descriptors)| Ok((control::decode(&bytes[..count])?, descriptors)));
        bytes[..written].zeroize();
        // A thread that ends has no place to keep the buffer.
        let _ = BUFFER.try_with(|buffer| buffer.set(bytes));
        read
    }

    fn recv_bytes(&self, bytes: &mut [u8], flags: RecvFlags) -> Result<(usize, Vec<OwnedFd>), ChannelError> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(CONTROL_DESCRIPTORS_MAX))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        world::before_receive(self.socket.as_fd(), !flags.contains(RecvFlags::DONTWAIT));
        let mut was_reset = false;
        let received = loop {
            let mut parts = [IoSliceMut::new(bytes)];
            match rustix::net::recvmsg(
                &self.socket,
                &mut parts,
                &mut ancillary,
                flags | RecvFlags::CMSG_CLOEXEC,
            ) {
                Ok(received) => break received,
                Err(Errno::INTR) => {}
                // The peer closed its end before it had read everything: its earlier messages are
                // still there.
                Err(Errno::CONNRESET) if !was_reset => was_reset = true,
                Err(errno) => return Err(ChannelError::system("receive", errno)),
            }
        };
        // The descriptors are taken out first, so that they are closed whatever is wrong with the
        // message.
        let mut descriptors = Vec::new();
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(received) = message {
                descriptors.extend(received);
            }
        }
        if received.flags.contains(ReturnFlags::CTRUNC) || descriptors.len() > CONTROL_DESCRIPTORS_MAX {
            return Err(ChannelError::Descriptors);
        }
        if received.flags.contains(ReturnFlags::TRUNC) {
            return Err(MessageError::TooLong(received.bytes.max(CONTROL_BYTES_MAX + 1)).into());
        }
        // No message is empty: this is the end of the connection.
        if received.bytes == 0 {
            return Err(ChannelError::Closed);
        }
        Ok((received.bytes, descriptors))
    }

    /// The process that connected, or made the pair, at the other end (SO_PEERCRED), in the numbers
    /// of this process's namespaces. A process of a PID namespace outside of this process's has the
    /// number 0.
    ///
    /// # Errors
    /// Of the system call.
    pub fn peer(&self) -> io::Result<Peer> {
        let credentials = so_peercred(self.socket.as_fd())?;
        let pid = world::peer(self.socket.as_fd()).unwrap_or_else(|| credentials.pid.unsigned_abs());
        Ok(Peer { pid, uid: credentials.uid, gid: credentials.gid })
    }

    /// The process at the other end, without a race: by SO_PEERPIDFD, or before Linux 6.5 by opening
    /// its pid and comparing start time and user before and after.
    ///
    /// # Errors
    /// `ESRCH` if the process has ended, or its number belongs to another process by now.
    pub fn peer_pidfd(&self) -> io::Result<PidFd> {
        if let Some(pid) = world::peer(self.socket.as_fd()) {
            return PidFd::open(pid);
        }
        match so_peerpidfd(self.socket.as_fd()) {
            Ok(fd) => Ok(PidFd::from_fd(fd)),
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOPROTOOPT | libc::EINVAL)) => {
                self.peer_pidfd_by_number()
            }
            Err(error) => Err(error),
        }
    }

    fn peer_pidfd_by_number(&self) -> io::Result<PidFd> {
        let gone = || io::Error::from(Errno::SRCH);
        let peer = self.peer()?;
        let before = Identity::of(peer.pid).ok_or_else(gone)?;
        let pidfd = PidFd::open(peer.pid)?;
        let after = Identity::of(peer.pid).ok_or_else(gone)?;
        // If the descriptor's process still lives after both looks, it is the process that was
        // looked at.
        if before != after || after.uid != peer.uid || pidfd.is_dead() {
            return Err(gone());
        }
        Ok(pidfd)
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A listening control socket.
#[derive(Debug)]
pub struct Listener {
    socket: OwnedFd,
}

impl Listener {
    /// Listens at a path of any length, replacing a socket that lies there. Only this user can
    /// connect.
    ///
    /// # Errors
    /// Of the system calls; `AlreadyExists` if something other than a socket lies there.
    pub fn bind(path: &Path) -> io::Result<Self> {
        Self::bind_mode(path, Mode::RUSR | Mode::WUSR)
    }

    /// As [`Listener::bind`], but any user who can reach the path can connect; rights are decided
    /// by [`Channel::peer`].
    ///
    /// # Errors
    /// As [`Listener::bind`].
    pub fn bind_for_all(path: &Path) -> io::Result<Self> {
        Self::bind_mode(path, Mode::from_raw_mode(0o666))
    }

    fn bind_mode(path: &Path, mode: Mode) -> io::Result<Self> {
        let listen = |socket: &OwnedFd| rustix::net::listen(socket, BACKLOG);
        Ok(Self { socket: address::bind_mode(path, SocketType::SEQPACKET, mode, listen)? })
    }

    /// Takes a listening socket that was handed over.
    ///
    /// # Errors
    /// `InvalidInput` if the descriptor is not a listening sequenced-packet socket.
    pub fn from_fd(socket: OwnedFd) -> io::Result<Self> {
        check_kind(&socket)?;
        if !rustix::net::sockopt::socket_acceptconn(&socket)? {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the socket does not listen"));
        }
        Ok(Self { socket })
    }

    /// The socket, to be handed over.
    pub fn into_fd(self) -> OwnedFd {
        self.socket
    }

    /// Waits for the next connection.
    ///
    /// # Errors
    /// Of the system call.
    pub fn accept(&self) -> io::Result<Channel> {
        loop {
            match rustix::net::accept_with(&self.socket, SocketFlags::CLOEXEC) {
                Ok(socket) => return Ok(Channel { socket }),
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// The next connection, if one waits. The socket must have been made non-blocking with
    /// [`Listener::set_nonblocking`].
    ///
    /// # Errors
    /// Of the system call.
    pub fn try_accept(&self) -> io::Result<Option<Channel>> {
        match self.accept() {
            Ok(channel) => Ok(Some(channel)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sets whether [`Listener::accept`] waits.
    ///
    /// # Errors
    /// Of the system call.
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        Ok(rustix::io::ioctl_fionbio(&self.socket, nonblocking)?)
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn check_kind(socket: &OwnedFd) -> io::Result<()> {
    match rustix::net::sockopt::socket_type(socket) {
        Ok(SocketType::SEQPACKET) => Ok(()),
        Ok(_) | Err(Errno::NOTSOCK) => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "a control socket is a sequenced-packet socket"))
        }
        Err(errno) => Err(errno.into()),
    }
}

/// Uses the system's own structure, since rustix's has no room for a process id of 0.
fn so_peercred(socket: BorrowedFd<'_>) -> io::Result<libc::ucred> {
    let mut credentials = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, the size of `credentials`, through the pointer, and any
    // numbers make one.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut credentials).cast(),
            &raw mut length,
        )
    };
    if result == 0 { Ok(credentials) } else { Err(io::Error::last_os_error()) }
}

fn so_peerpidfd(socket: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mut fd: libc::c_int = -1;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, the size of `fd`, through the pointer.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERPIDFD,
            (&raw mut fd).cast(),
            &raw mut length,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel made this descriptor for us just now, and nobody else knows of it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Start time and user of a process, which distinguish it from a later process of the same number.
#[derive(Debug, PartialEq, Eq)]
struct Identity {
    start: u64,
    uid: u32,
}

impl Identity {
    fn of(pid: u32) -> Option<Self> {
        let folder = format!("/proc/{pid}");
        let stat = std::fs::read_to_string(format!("{folder}/stat")).ok()?;
        // Field 22, the start time; field 2 is in parentheses and may hold any characters.
        let start = stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.parse().ok()?;
        let status = std::fs::read_to_string(format!("{folder}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
        let uid = line.split_ascii_whitespace().nth(1)?.parse().ok()?;
        Some(Self { start, uid })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_found_by_its_number_where_the_kernel_gives_no_descriptor() {
        let (one, _other) = Channel::pair().unwrap();
        assert!(!one.peer_pidfd_by_number().unwrap().is_dead());
        assert!(Identity::of(std::process::id()).is_some());
        assert_eq!(Identity::of(u32::MAX), None);
    }
    /// Environment variable that tells this test that it is the process in the namespace.
    const WITHIN: &str = "CRYPTAND_TEST_WITHIN_NAMESPACE";

    #[test]
    fn a_peer_beyond_the_own_namespace_has_no_number_and_is_a_process_all_the_same() {
        if std::env::var_os(WITHIN).is_some() {
            let socket = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
            let channel = Channel::from_fd(socket).unwrap();
            assert_eq!(channel.peer().unwrap().pid, 0);
            // Process ids lead nowhere here; if the kernel gives no descriptor of the peer, that is
            // an error.
            assert!(channel.peer_pidfd_by_number().is_err());
            assert!(
                channel.peer_pidfd().is_ok_and(|pidfd| !pidfd.is_dead())
                    || so_peerpidfd(channel.as_fd()).is_err()
            );
            println!("within");
            return;
        }
        let (_ours, theirs) = Channel::pair().unwrap();
        let name =
            "channel::tests::a_peer_beyond_the_own_namespace_has_no_number_and_is_a_process_all_the_same";
        let within = std::process::Command::new("unshare")
            .args(["--user", "--map-current-user", "--pid", "--fork", "--"])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env(WITHIN, "1")
            .stdin(theirs.into_fd())
            .output();
        let within = match within {
            Ok(output) => output,
            Err(error) => return eprintln!("not tested: unshare: {error}"),
        };
        let said = String::from_utf8_lossy(&within.stdout);
        if !said.contains("running 1 test") {
            return eprintln!("not tested: {}", String::from_utf8_lossy(&within.stderr));
        }
        assert!(within.status.success() && said.contains("within"), "{said}");
    }
}
