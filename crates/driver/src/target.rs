//! The server's address.

use crate::names::is_name;
use crate::outside::Outside;
use streams::{Server, UNIX_PATH_BYTES_MAX};

/// Reads `host:port` or `unix:/path`; the name of a host is looked up once.
pub(crate) fn from_text(text: &str, outside: &dyn Outside) -> Result<Server, String> {
    if let Some(path) = text.strip_prefix("unix:") {
        return Server::unix(path)
            .ok_or_else(|| format!("{text}: the path of a socket has 1 to {UNIX_PATH_BYTES_MAX} bytes"));
    }
    if let Ok(address) = text.parse() {
        return Ok(Server::Tcp(address));
    }
    if text.rsplit_once(':').is_none_or(|(host, port)| !is_name(host) || port.parse::<u16>().is_err()) {
        return Err(format!("{text}: neither host:port nor unix:/path"));
    }
    outside.address(text).map(Server::Tcp)
}

/// The host's name as typed, unless it is an address: the server name to ask for if no other is given.
pub(crate) fn host_of(text: &str) -> Option<&str> {
    let (host, _) = text.rsplit_once(':').filter(|_| !text.starts_with("unix:"))?;
    let is_name = host.parse::<std::net::IpAddr>().is_err() && !host.starts_with('[');
    is_name.then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outside::Machine;
    use std::net::SocketAddr;

    #[test]
    fn targets_read() {
        assert_eq!(from_text("127.0.0.1:443", &Machine), Ok(Server::Tcp(([127, 0, 0, 1], 443).into())));
        assert!(matches!(from_text("[::1]:443", &Machine), Ok(Server::Tcp(SocketAddr::V6(_)))));
        assert_eq!(from_text("unix:/run/s", &Machine), Ok(Server::Unix("/run/s".into())));
        for wrong in
            ["", "127.0.0.1", "127.0.0.1:", "host:70000", ":443", "a b:443", "a\r\nX: y:443", "unix:"]
        {
            assert!(from_text(wrong, &Machine).is_err(), "{wrong}");
        }
        assert_eq!(host_of("www.example.org:443"), Some("www.example.org"));
        assert_eq!(host_of("127.0.0.1:443"), None);
        assert_eq!(host_of("[::1]:443"), None);
        assert_eq!(host_of("unix:/a:b"), None);
    }
}
