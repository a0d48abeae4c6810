//! A socket of a connection.

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use std::os::fd::OwnedFd;
use std::time::Duration;

/// A socket, and what it would do without waiting, as far as is known: the kernel tells of each change once.
pub(crate) struct Socket {
    pub(crate) descriptor: OwnedFd,
    can_read: bool,
    can_write: bool,
    /// The server has closed: its end follows what it sent.
    is_closing: bool,
    has_ended: bool,
}

impl Socket {
    pub(crate) fn new(descriptor: OwnedFd) -> Self {
        Self { descriptor, can_read: false, can_write: false, is_closing: false, has_ended: false }
    }

    pub(crate) fn hear(&mut self, events: EventFlags) {
        let is_broken = events.intersects(EventFlags::HUP | EventFlags::ERR);
        self.is_closing |= is_broken || events.contains(EventFlags::RDHUP);
        self.can_read |= self.is_closing || events.contains(EventFlags::IN);
        self.can_write |= is_broken || events.contains(EventFlags::OUT);
    }

    /// Whether the connection is there; its error where it is not to be had.
    pub(crate) fn is_connected(&mut self) -> Result<bool, Errno> {
        if !self.can_write {
            return Ok(false);
        }
        rustix::net::sockopt::socket_error(&self.descriptor).and_then(|error| error).map(|()| true)
    }

    /// So many bytes; 0 at the end; none where nothing is there.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> Result<Option<usize>, Errno> {
        if self.has_ended {
            return Ok(Some(0));
        }
        if !self.can_read {
            return Ok(None);
        }
        loop {
            match rustix::net::recv(&self.descriptor, &mut *into, RecvFlags::DONTWAIT) {
                Ok((count, _)) => {
                    if count == 0 || (count < into.len() && !self.is_closing) {
                        self.can_read = false;
                    }
                    self.has_ended |= count == 0;
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
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<usize, Errno> {
        if !self.can_write || bytes.is_empty() {
            return Ok(0);
        }
        loop {
            match rustix::net::send(&self.descriptor, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
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

impl Drop for Socket {
    fn drop(&mut self) {
        // Neither end keeps a connection that both have ended: the ports of one machine are enough for any rate.
        if self.has_ended {
            let _ = rustix::net::sockopt::set_socket_linger(&self.descriptor, Some(Duration::ZERO));
        }
    }
}

/// What every socket is watched for: each change is told once.
pub(crate) const WATCHED: EventFlags =
    EventFlags::IN.union(EventFlags::OUT).union(EventFlags::RDHUP).union(EventFlags::ET);
