//! Programs connected to the XFRM socket, which stands for the kernel's: a sequenced-packet socket each, one datagram
//! of netlink messages at a time.

use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{RecvFlags, SendFlags, SocketFlags};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use xfrm::Client;
use zeroize::Zeroizing;

/// Upper bound of programs connected at once.
pub const CLIENTS_MAX: usize = 256;
/// Longest datagram that is taken, in bytes: charon's longest requests have some 2 KiB.
pub const DATAGRAM_BYTES_MAX: usize = 64 << 10;
/// Upper bound of replies and events that wait for one program, in bytes; dumps are held elsewhere. A program that
/// leaves more unread is disconnected.
const QUEUED_BYTES_MAX: usize = 4 << 20;
/// Upper bound of waiting bytes for all programs together: memory of secrets is short. The program whose datagram would
/// exceed it is disconnected.
const ALL_QUEUED_BYTES_MAX: usize = 16 << 20;
/// Upper bound of one program's requests before the next program's turn.
const TURN: usize = 64;

/// The programs, by number.
#[derive(Default)]
pub struct Clients {
    open: BTreeMap<u64, Connection>,
    last: u64,
    queued_bytes: usize,
}

struct Connection {
    socket: OwnedFd,
    queued: VecDeque<Zeroizing<Vec<u8>>>,
    queued_bytes: usize,
}

impl Clients {
    /// Number of connected programs.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Accepts the programs that wait at the listener, if they run as the worker's own user: no other may change SAs
    /// and policies.
    pub fn accept(&mut self, listener: &OwnedFd, own_user: u32) {
        while let Ok(socket) =
            rustix::net::accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)
        {
            let is_own = socket_peercred(&socket).is_ok_and(|peer| peer.uid.as_raw() == own_user);
            if is_own && self.open.len() < CLIENTS_MAX {
                self.last += 1;
                let connection = Connection { socket, queued: VecDeque::new(), queued_bytes: 0 };
                self.open.insert(self.last, connection);
            }
        }
    }

    /// Each program with its socket, and whether datagrams wait to be sent.
    pub fn polled(&self) -> impl Iterator<Item = (Client, BorrowedFd<'_>, bool)> {
        self.open.iter().map(|(number, connection)| {
            (Client(*number), connection.socket.as_fd(), !connection.queued.is_empty())
        })
    }

    /// Takes the requests of a program, up to one turn's; false if it is gone. Each datagram is wiped after `take`.
    pub fn receive(&mut self, client: Client, mut take: impl FnMut(&mut [u8])) -> bool {
        let Some(connection) = self.open.get_mut(&client.0) else { return false };
        let mut buffer = Zeroizing::new(vec![0; DATAGRAM_BYTES_MAX]);
        for _ in 0..TURN {
            match rustix::net::recv(
                &connection.socket,
                &mut buffer[..],
                RecvFlags::DONTWAIT | RecvFlags::TRUNC,
            ) {
                Ok((_, 0)) => return false,
                Ok((_, bytes)) if bytes > DATAGRAM_BYTES_MAX => return false,
                Ok((_, bytes)) => take(&mut buffer[..bytes]),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return true,
                Err(_) => return false,
            }
        }
        true
    }

    /// Sends a datagram, or keeps it until there is room; false if the program is gone, or leaves too much unread.
    pub fn send(&mut self, client: Client, datagram: Zeroizing<Vec<u8>>) -> bool {
        let Some(connection) = self.open.get_mut(&client.0) else { return false };
        let before = connection.queued_bytes;
        connection.queued_bytes += datagram.len();
        connection.queued.push_back(datagram);
        let is_there = connection.flush().is_ok();
        self.queued_bytes = self.queued_bytes - before + connection.queued_bytes;
        is_there && connection.queued_bytes <= QUEUED_BYTES_MAX && self.queued_bytes <= ALL_QUEUED_BYTES_MAX
    }

    /// Sends waiting datagrams as far as there is room; false if the program is gone.
    pub fn flush(&mut self, client: Client) -> bool {
        let Some(connection) = self.open.get_mut(&client.0) else { return false };
        let before = connection.queued_bytes;
        let is_there = connection.flush().is_ok();
        self.queued_bytes = self.queued_bytes - before + connection.queued_bytes;
        is_there
    }

    /// Closes the connection of a program.
    pub fn close(&mut self, client: Client) {
        if let Some(connection) = self.open.remove(&client.0) {
            self.queued_bytes -= connection.queued_bytes;
        }
    }
}

impl Connection {
    fn flush(&mut self) -> io::Result<()> {
        while let Some(datagram) = self.queued.front() {
            match rustix::net::send(&self.socket, datagram, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(_) => {
                    self.queued_bytes -= datagram.len();
                    self.queued.pop_front();
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(()),
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }
}
