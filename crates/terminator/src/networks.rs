//! Ranges of client addresses.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// Addresses with a common prefix, or all clients of Unix sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Addresses whose first bits are the same.
    Prefix {
        /// The first address of the range; bits behind the prefix are 0.
        address: IpAddr,
        /// Length of the prefix in bits.
        bits: u8,
    },
    /// All clients of Unix sockets.
    Unix,
}

impl Network {
    /// Reads `unix`, an address, or an address with the length of its prefix, such as `192.0.2.0/24`.
    ///
    /// # Errors
    /// A text that says what is wrong with `text`.
    pub fn from_text(text: &str) -> Result<Self, String> {
        if text == "unix" {
            return Ok(Self::Unix);
        }
        let none = || {
            format!(
                "\"{text}\" is neither an address, nor one with a prefix, such as 192.0.2.0/24, nor \"unix\""
            )
        };
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| none())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            None => most,
            Some(bits) if bits.bytes().all(|byte| byte.is_ascii_digit()) => {
                bits.parse().ok().filter(|bits| *bits <= most).ok_or_else(none)?
            }
            Some(_) => return Err(none()),
        };
        if masked(address, bits) != address {
            return Err(format!(
                "\"{text}\" has bits behind its prefix: {}/{bits} is meant",
                masked(address, bits)
            ));
        }
        Ok(Self::Prefix { address, bits })
    }

    /// Whether the client's address is in this range; `None` is a client of a Unix socket, which has no address.
    pub(crate) fn has(&self, client: Option<SocketAddr>) -> bool {
        match (self, client) {
            (Self::Unix, None) => true,
            (Self::Prefix { address, bits }, Some(client)) => {
                let ip = client.ip().to_canonical();
                ip.is_ipv4() == address.is_ipv4() && masked(ip, *bits) == *address
            }
            _ => false,
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prefix { address, bits } => write!(f, "{address}/{bits}"),
            Self::Unix => f.write_str("unix"),
        }
    }
}

fn masked(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(ip) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
            IpAddr::V4((ip.to_bits() & mask).into())
        }
        IpAddr::V6(ip) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
            IpAddr::V6((ip.to_bits() & mask).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_of_the_networks_whose_prefix_they_have() {
        let has = |network: &str, client: &str| {
            Network::from_text(network).unwrap().has(Some(client.parse().unwrap()))
        };
        assert!(has("192.0.2.0/24", "192.0.2.255:1") && !has("192.0.2.0/24", "192.0.3.0:1"));
        assert!(has("192.0.2.1", "192.0.2.1:1") && !has("192.0.2.1", "192.0.2.2:1"));
        assert!(has("0.0.0.0/0", "[::ffff:192.0.2.1]:1") && !has("0.0.0.0/0", "[2000::1]:1"));
        assert!(has("2000::/3", "[3fff::1]:1") && !has("2000::/3", "[4000::1]:1"));
        assert!(has("::/0", "[2000::1]:1") && !has("::/0", "192.0.2.1:1") && !has("unix", "192.0.2.1:1"));
        assert!(Network::Unix.has(None) && !Network::from_text("::/0").unwrap().has(None));
        for wrong in
            ["", "x", "192.0.2.0/33", "192.0.2.0/", "192.0.2.0/+8", "::/129", "192.0.2.1/24", "1.2.3.4:5"]
        {
            assert!(Network::from_text(wrong).is_err(), "{wrong}");
        }
    }
}
