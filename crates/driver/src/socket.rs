//! The socket of a connection.

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::time::Duration;
use streams::StreamSocket;

/// A socket that notes when the peer has ended.
pub(crate) struct Socket {
    side: StreamSocket,
    has_ended: bool,
}

impl Socket {
    /// Wraps a socket that is connecting.
    pub(crate) fn new(descriptor: OwnedFd) -> Self {
        Self { side: StreamSocket::connecting(descriptor), has_ended: false }
    }

    pub(crate) fn hear(&mut self, events: EventFlags) {
        self.side.hear(events);
    }

    /// Whether the connection is established; its error if connecting failed.
    pub(crate) fn is_connected(&mut self) -> Result<bool, Errno> {
        if !self.side.can_write {
            return Ok(false);
        }
        rustix::net::sockopt::socket_error(&self.side.socket).and_then(|error| error).map(|()| true)
    }

    /// Reads bytes and returns their number: 0 at the end, None if none are there yet.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> Result<Option<usize>, Errno> {
        if self.has_ended {
            return Ok(Some(0));
        }
        let count = self.side.read(into)?;
        self.has_ended = count == Some(0);
        Ok(count)
    }

    /// Writes bytes and returns how many the kernel took.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<usize, Errno> {
        self.side.write(bytes)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // After the peer's end a reset leaves no connection in TIME_WAIT, so that one machine's ports suffice for any
        // rate.
        if self.has_ended {
            let _ = rustix::net::sockopt::set_socket_linger(&self.side.socket, Some(Duration::ZERO));
        }
    }
}
