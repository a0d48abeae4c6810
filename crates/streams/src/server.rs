//! Addresses of servers, and connections to them.

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::fmt;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// The longest path of a Unix socket, in bytes (unix(7)).
pub const UNIX_PATH_BYTES_MAX: usize = 107;

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Server {
    /// A TCP address and port.
    Tcp(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl Server {
    /// The Unix socket at `path`; `None` if the path is empty, too long or has a zero byte.
    pub fn unix(path: &str) -> Option<Self> {
        let is_path = (1..=UNIX_PATH_BYTES_MAX).contains(&path.len()) && !path.contains('\0');
        is_path.then(|| Self::Unix(path.into()))
    }

    /// Begins to connect. Returns the socket, and whether it is connected already. TCP sends small messages at once
    /// (TCP_NODELAY).
    ///
    /// # Errors
    /// The [`Errno`] of socket(2), setsockopt(2) or connect(2).
    pub fn connect(&self) -> Result<(OwnedFd, bool), Errno> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let family = match self {
            Self::Tcp(SocketAddr::V4(_)) => AddressFamily::INET,
            Self::Tcp(SocketAddr::V6(_)) => AddressFamily::INET6,
            Self::Unix(_) => AddressFamily::UNIX,
        };
        let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
        let connected = match self {
            Self::Tcp(address) => {
                rustix::net::sockopt::set_tcp_nodelay(&socket, true)?;
                rustix::net::connect(&socket, address)
            }
            Self::Unix(path) => rustix::net::connect(&socket, &SocketAddrUnix::new(path)?),
        };
        match connected {
            Ok(()) => Ok((socket, true)),
            Err(Errno::INPROGRESS) => Ok((socket, false)),
            Err(errno) => Err(errno),
        }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_sockets_have_bounds() {
        assert_eq!(Server::unix("/run/s").unwrap().to_string(), "unix:/run/s");
        assert!(Server::unix(&"a".repeat(107)).is_some());
        for wrong in ["", "a\0b", &"a".repeat(108)] {
            assert_eq!(Server::unix(wrong), None);
        }
    }
}
