//! One end of a connection.

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use std::os::fd::OwnedFd;

/// A socket, and what it would do without waiting, as far as is known: the kernel tells of each change once.
pub struct Side {
    /// The socket.
    pub socket: OwnedFd,
    /// Whether there may be something to read.
    pub can_read: bool,
    /// Whether there may be room to write.
    pub can_write: bool,
    /// The other side has closed: its end follows what it sent.
    pub is_closing: bool,
}

impl Side {
    /// A socket that is connected.
    pub fn new(socket: OwnedFd) -> Self {
        Self { socket, can_read: true, can_write: true, is_closing: false }
    }

    /// A socket that connects: nothing is tried before the kernel tells of it.
    pub fn connecting(socket: OwnedFd) -> Self {
        Self { socket, can_read: false, can_write: false, is_closing: false }
    }

    /// Takes in what the kernel tells.
    pub fn hear(&mut self, events: EventFlags) {
        let is_broken = events.intersects(EventFlags::HUP | EventFlags::ERR);
        self.is_closing |= is_broken || events.contains(EventFlags::RDHUP);
        self.can_read |= self.is_closing || events.contains(EventFlags::IN);
        self.can_write |= is_broken || events.contains(EventFlags::OUT);
    }

    /// So many bytes; 0 at the end; none where nothing is there.
    ///
    /// # Errors
    /// Of the system.
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

    /// How many bytes it took.
    ///
    /// # Errors
    /// Of the system.
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

/// What every socket of a connection is watched for: each change is told once.
pub const WATCHED: EventFlags =
    EventFlags::IN.union(EventFlags::OUT).union(EventFlags::RDHUP).union(EventFlags::ET);
