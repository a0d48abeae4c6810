//! A client that sends raw bytes to the daemon and to cards, without the client library and without
//! its checks.

pub mod message;
pub mod queue;

use crate::PATIENCE;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

/// Longest control message that the daemon reads, in bytes, as the protocol states it.
pub const MESSAGE_BYTES_MAX: usize = 64 * 1024;
/// Descriptors that this client takes and sends with one message: more than the protocol allows.
pub const DESCRIPTORS_MAX: usize = 64;

/// A connection to the daemon.
#[derive(Debug)]
pub struct Connection {
    socket: OwnedFd,
}

/// What came over a [`Connection`].
#[derive(Debug)]
pub enum Came {
    /// A message and its descriptors.
    Message(Vec<u8>, Vec<OwnedFd>),
    /// The daemon closed the connection.
    End,
}

impl Connection {
    /// Connects to a socket; none where the kernel or the daemon refuses that at once.
    ///
    /// # Errors
    /// Of the system calls.
    pub fn open(path: &Path) -> Result<Self, Errno> {
        let socket =
            rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
        Ok(Self { socket })
    }

    /// Sends bytes with descriptors, as one message.
    ///
    /// # Errors
    /// Of the system call, such as a connection that the daemon has closed.
    ///
    /// # Panics
    /// With more than [`DESCRIPTORS_MAX`] descriptors.
    pub fn send(&self, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> Result<(), Errno> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() {
            assert!(ancillary.push(SendAncillaryMessage::ScmRights(descriptors)), "too many descriptors");
        }
        rustix::net::sendmsg(&self.socket, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL)?;
        Ok(())
    }

    /// Waits for what comes next.
    ///
    /// # Panics
    /// If nothing comes within [`PATIENCE`]: every message has an answer, or ends the connection.
    pub fn receive(&self) -> Came {
        let mut waiting = [PollFd::new(&self.socket, PollFlags::IN)];
        let patience = Timespec { tv_sec: PATIENCE.as_secs().cast_signed(), tv_nsec: 0 };
        let ready = rustix::event::poll(&mut waiting, Some(&patience)).expect("poll works");
        assert!(ready == 1, "the daemon neither answers nor ends the connection");
        let mut bytes = vec![0; MESSAGE_BYTES_MAX];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let received = rustix::net::recvmsg(
            &self.socket,
            &mut [IoSliceMut::new(&mut bytes)],
            &mut ancillary,
            RecvFlags::CMSG_CLOEXEC,
        );
        let count = match received {
            Ok(received) => received.bytes,
            Err(Errno::CONNRESET) => 0,
            Err(errno) => panic!("receive: {errno}"),
        };
        let mut descriptors = Vec::new();
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(received) = message {
                descriptors.extend(received);
            }
        }
        if count == 0 {
            return Came::End;
        }
        bytes.truncate(count);
        Came::Message(bytes, descriptors)
    }

    /// Sends bytes without descriptors, and waits for what comes next.
    ///
    /// # Panics
    /// As [`Connection::receive`].
    pub fn ask(&self, bytes: &[u8]) -> Came {
        match self.send(bytes, &[]) {
            Ok(()) => self.receive(),
            Err(_closed) => Came::End,
        }
    }
}
