//! One end of a connection, read and written without waiting.

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use std::os::fd::OwnedFd;

/// A socket, and whether a read or write is likely to succeed without waiting. The kernel reports each change once
/// (edge-triggered epoll).
pub struct StreamSocket {
    /// The socket, blocking or not: no read or write here waits.
    pub socket: OwnedFd,
    /// Whether there may be something to read.
    pub can_read: bool,
    /// Whether there may be room to write.
    pub can_write: bool,
    /// Whether the other side has closed. What it sent before can still be read.
    pub is_closing: bool,
}

impl StreamSocket {
    /// A connected socket.
    pub fn new(socket: OwnedFd) -> Self {
        Self { socket, can_read: true, can_write: true, is_closing: false }
    }

    /// A socket that is still connecting: it is not read or written before the kernel reports an event.
    pub fn connecting(socket: OwnedFd) -> Self {
        Self { socket, can_read: false, can_write: false, is_closing: false }
    }

    /// Notes the events that epoll reports for the socket.
    pub fn hear(&mut self, events: EventFlags) {
        let is_broken = events.intersects(EventFlags::HUP | EventFlags::ERR);
        self.is_closing |= is_broken || events.contains(EventFlags::RDHUP);
        self.can_read |= self.is_closing || events.contains(EventFlags::IN);
        self.can_write |= is_broken || events.contains(EventFlags::OUT);
    }

    /// Reads without waiting. Returns the number of bytes, 0 at the end of the stream, or `None` if there is nothing to
    /// read yet.
    ///
    /// # Errors
    /// The [`Errno`] of recv(2).
    pub fn read(&mut self, into: &mut [u8]) -> Result<Option<usize>, Errno> {
        if !self.can_read {
            return Ok(None);
        }
        loop {
            match rustix::net::recv(&self.socket, &mut *into, RecvFlags::DONTWAIT) {
                Ok((count, _)) => {
                    if count == 0 || (count < into.len() && !self.is_closing) {
                        self.can_read = false;
                    }
                    return Ok(Some(count));
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    self.can_read = false;
                    return Ok(None);
                }
                Err(errno) => return Err(errno),
            }
        }
    }

    /// Writes without waiting. Returns how many bytes the socket took, which may be 0.
    ///
    /// # Errors
    /// The [`Errno`] of send(2).
    pub fn write(&mut self, bytes: &[u8]) -> Result<usize, Errno> {
        if !self.can_write || bytes.is_empty() {
            return Ok(0);
        }
        loop {
            match rustix::net::send(&self.socket, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(count) => {
                    self.can_write = count == bytes.len();
                    return Ok(count);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    self.can_write = false;
                    return Ok(0);
                }
                Err(errno) => return Err(errno),
            }
        }
    }
}

/// The events that every socket of a connection is watched for, edge-triggered: each change is reported once.
pub const WATCHED: EventFlags =
    EventFlags::IN.union(EventFlags::OUT).union(EventFlags::RDHUP).union(EventFlags::ET);
