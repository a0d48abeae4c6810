//! The application protocol that client and server agree on (RFC 7301).

use crate::hello::{ALPN, Fields, extension};
use std::fmt;
use std::sync::Arc;

/// Longest name of a protocol, in bytes (RFC 7301, 3.1).
const NAME_BYTES_MAX: usize = 255;
/// At most this many protocols of a server: the library compares each of the client's with all of them.
const PROTOCOLS_MAX: usize = 32;

/// The protocols of a server, the preferred one first. Clones are the same list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protocols(Arc<[String]>);

/// Why a list of protocols cannot be offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProtocolsError {
    /// The list has this many names: more than 32, or none.
    Count(usize),
    /// A name that is empty, longer than 255 bytes, or not of printable ASCII.
    Name(String),
    /// A name that is in the list twice.
    Twice(String),
}

impl fmt::Display for ProtocolsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => {
                write!(f, "there must be 1 to {PROTOCOLS_MAX} protocols, and not {count}")
            }
            Self::Name(name) => {
                write!(f, "{name:?} is no protocol: it must have 1 to {NAME_BYTES_MAX} printable characters")
            }
            Self::Twice(name) => write!(f, "\"{name}\" stands there twice"),
        }
    }
}

impl std::error::Error for ProtocolsError {}

impl Protocols {
    /// A list of protocol names, such as `h2` and `http/1.1`, the preferred one first.
    ///
    /// # Errors
    /// [`ProtocolsError`].
    pub fn new(names: impl IntoIterator<Item = String>) -> Result<Self, ProtocolsError> {
        let names: Vec<String> = names.into_iter().collect();
        if names.is_empty() || names.len() > PROTOCOLS_MAX {
            return Err(ProtocolsError::Count(names.len()));
        }
        for (at, name) in names.iter().enumerate() {
            // A client may send any bytes as a name; settings name registered protocols.
            if name.is_empty()
                || name.len() > NAME_BYTES_MAX
                || !name.bytes().all(|byte| byte.is_ascii_graphic())
            {
                return Err(ProtocolsError::Name(name.clone()));
            }
            if names[..at].contains(name) {
                return Err(ProtocolsError::Twice(name.clone()));
            }
        }
        Ok(Self(names.into()))
    }

    /// The names, the preferred one first.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// The server's first protocol that the client offers too; `None` if there is none in common.
    pub(crate) fn choose(&self, offered: &[&[u8]]) -> Option<&str> {
        self.0.iter().find(|name| offered.contains(&name.as_bytes())).map(String::as_str)
    }
}

/// The protocols that a ClientHello offers, given without its header of four bytes; `None` if its list is missing,
/// empty or malformed.
pub(crate) fn offered(hello: &[u8]) -> Option<Vec<&[u8]>> {
    let mut list = Fields(Fields(extension(hello, ALPN)?).counted_by_two()?);
    let mut names = Vec::new();
    while !list.0.is_empty() {
        names.push(list.counted_by_one()?);
    }
    Some(names).filter(|names| !names.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hello::hello_with as hello;

    #[test]
    fn the_servers_order_decides() {
        let of = |names: &[&str]| Protocols::new(names.iter().map(ToString::to_string));
        let server = of(&["h2", "http/1.1"]).unwrap();
        assert_eq!(server.choose(&[b"http/1.1", b"h2"]), Some("h2"));
        assert_eq!(server.choose(&[b"http/1.0", b"http/1.1"]), Some("http/1.1"));
        assert_eq!(server.choose(&[b"H2", b"h", b"h22"]), None);
        assert_eq!(of(&[]), Err(ProtocolsError::Count(0)));
        assert_eq!(of(&["x"; 33]), Err(ProtocolsError::Count(33)));
        assert_eq!(of(&["h2", "h2"]), Err(ProtocolsError::Twice("h2".into())));
        for wrong in ["", "h 2", "\u{e9}", &"x".repeat(256)] {
            assert_eq!(of(&[wrong]), Err(ProtocolsError::Name(wrong.into())));
        }
    }

    #[test]
    fn a_list_is_found_behind_other_extensions_and_a_cut_one_is_none() {
        let found = hello(&[0, 10, 0, 1, 7, 0, 16, 0, 8, 0, 6, 2, b'h', b'2', 2, b'h', b'3']);
        assert_eq!(offered(&found), Some(vec![&b"h2"[..], b"h3"]));
        for end in 0..found.len() {
            assert_eq!(offered(&found[..end]), None, "{end}");
        }
        for wrong in [&[][..], &[0, 16], &[0, 16, 0, 0], &[0, 16, 0, 2, 0, 0], &[0, 16, 0, 4, 0, 2, 5, b'h']]
        {
            assert_eq!(offered(&hello(wrong)), None, "{wrong:?}");
        }
    }
}
