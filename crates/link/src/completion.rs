//! The socket by which cards wake a client's event loop.
//!
//! One pair of datagram sockets serves all queues of a loop, on whatever cards. The daemon makes
//! the pair, keeps the cards' end for later queues, and gives the loop the other end. So a card
//! never sends to a socket that a client chose. A datagram says only "look"; a full socket has said
//! so already. Neither side can make the other wait. A card that sends without end costs the loop a
//! look each time. A card that sends nothing costs it the time until it checks whether its cards
//! live ([`wire::bounds::LIVENESS_WAIT_NS`]).

use crate::world;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// At most this many datagrams are discarded per poll; the others are discarded at the next poll.
const DRAIN_MAX: usize = 64;

/// The loop's end of a completion socket.
#[derive(Debug)]
pub struct Completion {
    socket: OwnedFd,
}

impl Completion {
    /// A new pair: the loop's end, then the cards' end. Both are non-blocking.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn pair() -> io::Result<(Self, OwnedFd)> {
        world::fault("socketpair")?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (socket, cards) = rustix::net::socketpair(AddressFamily::UNIX, SocketType::DGRAM, flags, None)?;
        Ok((Self { socket }, cards))
    }

    /// Takes a socket that was handed over.
    ///
    /// # Errors
    /// `InvalidInput` if the descriptor is not a datagram socket.
    pub fn from_fd(socket: OwnedFd) -> io::Result<Self> {
        match rustix::net::sockopt::socket_type(&socket) {
            Ok(SocketType::DGRAM) => Ok(Self { socket }),
            Ok(_) | Err(Errno::NOTSOCK) => {
                Err(io::Error::new(io::ErrorKind::InvalidInput, "a completion socket is a datagram socket"))
            }
            Err(errno) => Err(errno.into()),
        }
    }

    /// The socket, to be handed over.
    pub fn into_fd(self) -> OwnedFd {
        self.socket
    }

    /// Empties the socket, up to a bound. To be called when it is readable, before answers are looked for.
    pub fn drain(&self) {
        let mut byte = [0; 1];
        for _ in 0..DRAIN_MAX {
            // Without a place for control messages the kernel closes descriptors sent along.
            if rustix::net::recv(&self.socket, &mut byte, RecvFlags::DONTWAIT).is_err() {
                return;
            }
        }
    }
}

impl AsFd for Completion {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
