//! Where connections are forwarded to.

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::fmt;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// Longest path of a Unix socket, in bytes (unix(7)).
const UNIX_PATH_BYTES_MAX: usize = 107;

/// A server behind this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backend {
    /// TCP.
    Tcp(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
}

impl Backend {
    /// Reads `ADDRESS:PORT` or `unix:/path`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn from_text(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            if !path.starts_with('/') || path.len() > UNIX_PATH_BYTES_MAX || path.contains('\0') {
                return Err(format!(
                    "\"{text}\": the path must begin with / and have {UNIX_PATH_BYTES_MAX} bytes at most"
                ));
            }
            return Ok(Self::Unix(path.into()));
        }
        text.parse().map(Self::Tcp).map_err(|_| {
            format!("\"{text}\" is neither an address with a port, such as 127.0.0.1:8080, nor unix:/path; names are not looked up")
        })
    }

    /// Begins to connect; true where that is done already.
    ///
    /// # Errors
    /// Of the system.
    pub(crate) fn connect(&self) -> Result<(OwnedFd, bool), Errno> {
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

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}
