//! Requests of programs to the supervisor on `plane.sock`, a line of text in each packet: `bind ADDRESS:4500`, before
//! an IKE daemon binds there, and `down`. Answers are `ok` or `error WHY`.

use std::net::SocketAddr;

/// Longest request, in bytes.
pub const REQUEST_BYTES_MAX: usize = 128;
/// Upper bound of programs connected at once.
pub const CLIENTS_MAX: usize = 32;

/// A request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asked {
    /// Opens the data plane's sockets of this address, so that those of the asking program are bound after them.
    Bind(SocketAddr),
    /// Ends the data plane, and removes its rules, routes and device.
    Down,
}

impl Asked {
    /// Reads a request.
    ///
    /// # Errors
    /// Why the bytes are no request, as text for the answer.
    pub fn read(bytes: &[u8]) -> Result<Asked, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "a request is text".to_owned())?;
        let text = text.trim_end_matches(['\n', '\0']);
        match text.split_once(' ') {
            None if text == "down" => Ok(Asked::Down),
            Some(("bind", address)) => {
                let address =
                    address.parse().map_err(|_| format!("{address:?} is no address with a port"))?;
                Ok(Asked::Bind(address))
            }
            _ => Err(format!("unknown request {text:?}: it is bind ADDRESS:PORT or down")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_and_others_refused() {
        let address = "192.0.2.1:4500".parse().unwrap();
        assert_eq!(Asked::read(b"bind 192.0.2.1:4500"), Ok(Asked::Bind(address)));
        assert_eq!(Asked::read(b"bind [::]:4500\n"), Ok(Asked::Bind("[::]:4500".parse().unwrap())));
        assert_eq!(Asked::read(b"down"), Ok(Asked::Down));
        for wrong in
            [&b""[..], b"bind", b"bind ", b"bind 192.0.2.1", b"bind nowhere:4500", b"down now", b"\xff\xfe"]
        {
            assert!(Asked::read(wrong).is_err(), "{wrong:?}");
        }
    }
}
