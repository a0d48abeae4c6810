//! A socket of a connection.

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::time::Duration;
use streams::Side;

/// A socket whose end is seen.
pub(crate) struct Socket {
    side: Side,
    has_ended: bool,
}

impl Socket {
    /// A socket that connects.
    pub(crate) fn new(descriptor: OwnedFd) -> Self {
        Self { side: Side::connecting(descriptor), has_ended: false }
    }

    pub(crate) fn hear(&mut self, events: EventFlags) {
        self.side.hear(events);
    }

    /// Whether the connection is there; its error where it is not to be had.
    pub(crate) fn is_connected(&mut self) -> Result<bool, Errno> {
        if !self.side.can_write {
            return Ok(false);
        }
        rustix::net::sockopt::socket_error(&self.side.socket).and_then(|error| error).map(|()| true)
    }

    /// So many bytes; 0 at the end; none where nothing is there.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> Result<Option<usize>, Errno> {
        if self.has_ended {
            return Ok(Some(0));
        }
        let count = self.side.read(into)?;
        self.has_ended = count == Some(0);
        Ok(count)
    }

    /// How many bytes it took.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<usize, Errno> {
        self.side.write(bytes)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Neither end keeps a connection that both have ended: the ports of one machine are enough for any rate.
        if self.has_ended {
            let _ = rustix::net::sockopt::set_socket_linger(&self.side.socket, Some(Duration::ZERO));
        }
    }
}
