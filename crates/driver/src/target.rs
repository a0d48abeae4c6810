//! Where connections go to.

use crate::names::is_name;
use crate::outside::Outside;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// Longest path of a Unix socket, in bytes (unix(7)).
const UNIX_PATH_BYTES_MAX: usize = 107;

/// A server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// TCP.
    Tcp(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
}

impl Target {
    /// Reads `host:port` or `unix:/path`; the name of a host is looked up once.
    pub(crate) fn from_text(text: &str, outside: &dyn Outside) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            if path.is_empty() || path.len() > UNIX_PATH_BYTES_MAX || path.contains('\0') {
                return Err(format!("{text}: the path of a socket has 1 to {UNIX_PATH_BYTES_MAX} bytes"));
            }
            return Ok(Self::Unix(path.into()));
        }
        if let Ok(address) = text.parse() {
            return Ok(Self::Tcp(address));
        }
        if text.rsplit_once(':').is_none_or(|(host, port)| !is_name(host) || port.parse::<u16>().is_err()) {
            return Err(format!("{text}: neither host:port nor unix:/path"));
        }
        outside.address(text).map(Self::Tcp)
    }

    /// The host's name as typed, where it is one: what is asked for if no name is given.
    pub(crate) fn host_of(text: &str) -> Option<&str> {
        let (host, _) = text.rsplit_once(':').filter(|_| !text.starts_with("unix:"))?;
        let is_name = host.parse::<std::net::IpAddr>().is_err() && !host.starts_with('[');
        is_name.then_some(host)
    }

    /// Begins to connect.
    pub(crate) fn connect(&self) -> Result<OwnedFd, Errno> {
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
            Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
            Err(errno) => Err(errno),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outside::Machine;

    #[test]
    fn targets_read() {
        assert_eq!(
            Target::from_text("127.0.0.1:443", &Machine),
            Ok(Target::Tcp(([127, 0, 0, 1], 443).into()))
        );
        assert!(matches!(Target::from_text("[::1]:443", &Machine), Ok(Target::Tcp(SocketAddr::V6(_)))));
        assert_eq!(Target::from_text("unix:/run/s", &Machine), Ok(Target::Unix("/run/s".into())));
        for wrong in
            ["", "127.0.0.1", "127.0.0.1:", "host:70000", ":443", "a b:443", "a\r\nX: y:443", "unix:"]
        {
            assert!(Target::from_text(wrong, &Machine).is_err(), "{wrong}");
        }
        assert_eq!(Target::host_of("www.example.org:443"), Some("www.example.org"));
        assert_eq!(Target::host_of("127.0.0.1:443"), None);
        assert_eq!(Target::host_of("[::1]:443"), None);
        assert_eq!(Target::host_of("unix:/a:b"), None);
    }
}
