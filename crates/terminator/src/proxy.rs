//! The PROXY protocol, versions 1 and 2: a header in which a proxy names a connection's client, before the connection's
//! first byte (HAProxy's `proxy-protocol.txt`).

mod write;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

pub use write::{ClientCertificate, Said};

/// Longest header that is accepted, in bytes. Senders rarely exceed the standard's 536 bytes; certificates of clients
/// make some headers longer.
pub const HEADER_BYTES_MAX: usize = 16 << 10;

/// The first bytes of version 2; no other protocol begins with them.
const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";
/// Length of signature, version and command, family and transport, and length, in bytes.
const FIXED_BYTES: usize = 16;
const LOCAL: u8 = 0x20;
const PROXY: u8 = 0x21;
const UNSPECIFIED: u8 = 0x00;
const TCP_OVER_IPV4: u8 = 0x11;
const TCP_OVER_IPV6: u8 = 0x21;
/// Length of both addresses of UNIX sockets in bytes; each is a path.
const UNIX_ADDRESSES_BYTES: usize = 2 * 108;
const CRC32C: u8 = 0x03;

/// The first bytes of a header of version 1; and the longest such header, a line with its end, in bytes.
const WORD: &[u8; 6] = b"PROXY ";
const LINE_BYTES_MAX: usize = 107;

/// The origin of a connection, as its proxy states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The connection is the proxy's own, such as a check whether the server is there.
    Local,
    /// The client's address is not an IP address and port of TCP.
    Unknown,
    /// The connection is a client's.
    Client {
        /// The client's address.
        client: SocketAddr,
        /// The address that the client connected to.
        server: SocketAddr,
    },
}

/// How much of a header has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More bytes of the header are to come.
    NeedsBytes,
    /// The header is complete.
    Done {
        /// The origin that the header states.
        origin: Origin,
        /// Length of the header in bytes; the bytes behind it belong to the connection.
        bytes: usize,
    },
}

/// Why bytes are not a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The bytes begin otherwise than a header.
    NoHeader,
    /// The version, command, family or transport is unknown.
    Kind,
    /// The header is longer than [`HEADER_BYTES_MAX`], or than a line of version 1 may be.
    Length,
    /// The header is too short for its addresses, or they are malformed.
    Addresses,
    /// Fields behind the addresses go beyond the header's end, or a checksum is malformed or the second one.
    Fields,
    /// The checksum is wrong.
    Checksum,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoHeader => "no header",
            Self::Kind => "an unknown version, command or family",
            Self::Length => "a header that is too long",
            Self::Addresses => "no addresses",
            Self::Fields => "wrong fields",
            Self::Checksum => "a wrong checksum",
        })
    }
}

impl std::error::Error for Malformed {}

/// Reads the header that the bytes begin with.
///
/// # Errors
/// [`Malformed`]: no further bytes can make it a header.
pub fn read(bytes: &[u8]) -> Result<Progress, Malformed> {
    let begins = |with: &[u8]| {
        let both = bytes.len().min(with.len());
        bytes.get(..both) == with.get(..both)
    };
    if begins(&SIGNATURE) {
        return binary(bytes);
    }
    if begins(WORD) {
        return line(bytes);
    }
    Err(Malformed::NoHeader)
}

fn binary(bytes: &[u8]) -> Result<Progress, Malformed> {
    let Some((fixed, rest)) = bytes.split_first_chunk::<FIXED_BYTES>() else {
        // An unknown command is reported as soon as it is there.
        return match bytes.get(12) {
            Some(&(LOCAL | PROXY)) | None => Ok(Progress::NeedsBytes),
            Some(_) => Err(Malformed::Kind),
        };
    };
    let (command, family) = (fixed[12], fixed[13]);
    let length = usize::from(u16::from_be_bytes([fixed[14], fixed[15]]));
    let is_known = matches!(family >> 4, 0..=3) && matches!(family & 0x0f, 0..=2);
    if !matches!(command, LOCAL | PROXY) || (command == PROXY && !is_known) {
        return Err(Malformed::Kind);
    }
    if FIXED_BYTES + length > HEADER_BYTES_MAX {
        return Err(Malformed::Length);
    }
    let Some(content) = rest.get(..length) else { return Ok(Progress::NeedsBytes) };
    let done = |origin| Ok(Progress::Done { origin, bytes: FIXED_BYTES + length });
    // For the proxy's own connections, the rest of the header is not looked at.
    if command == LOCAL {
        return done(Origin::Local);
    }
    let addresses = match family >> 4 {
        0 => 0,
        1 => 2 * (4 + 2),
        2 => 2 * (16 + 2),
        _ => UNIX_ADDRESSES_BYTES,
    };
    let (addresses, fields) = content.split_at_checked(addresses).ok_or(Malformed::Addresses)?;
    let header = &bytes[..FIXED_BYTES + length];
    check_fields(header, header.len() - fields.len())?;
    done(match family {
        TCP_OVER_IPV4 => client(addresses, |at| Ipv4Addr::from(at).into()),
        TCP_OVER_IPV6 => client(addresses, |at| Ipv6Addr::from(at).into()),
        _ => Origin::Unknown,
    })
}

/// The client's and the server's address and port. `content` begins with both addresses, the client's first, followed
/// by both ports.
fn client<const N: usize>(content: &[u8], address: impl Fn([u8; N]) -> IpAddr) -> Origin {
    let of = |at: usize| {
        let bytes = content.get(at * N..)?.first_chunk::<N>()?;
        let port = content.get(2 * (N + at)..)?.first_chunk::<2>()?;
        Some(SocketAddr::new(address(*bytes).to_canonical(), u16::from_be_bytes(*port)))
    };
    match (of(0), of(1)) {
        (Some(client), Some(server)) => Origin::Client { client, server },
        _ => Origin::Unknown,
    }
}

/// Checks the fields that fill the rest of a header. One of them may be a checksum over the whole header, with zeros in
/// the checksum's place. A second one is refused, since each costs a pass over the header.
fn check_fields(header: &[u8], mut at: usize) -> Result<(), Malformed> {
    let mut has_checksum = false;
    while at < header.len() {
        let (start, rest) = header[at..].split_first_chunk::<3>().ok_or(Malformed::Fields)?;
        let length = usize::from(u16::from_be_bytes([start[1], start[2]]));
        let value = rest.get(..length).ok_or(Malformed::Fields)?;
        at += 3;
        if start[0] == CRC32C {
            if std::mem::replace(&mut has_checksum, true) {
                return Err(Malformed::Fields);
            }
            let sent = value.try_into().map(u32::from_be_bytes).map_err(|_| Malformed::Fields)?;
            let zeroed = header.iter().enumerate().map(|(place, byte)| {
                let is_own = (at..at + length).contains(&place);
                if is_own { 0 } else { *byte }
            });
            if crc32c(zeroed) != sent {
                return Err(Malformed::Checksum);
            }
        }
        at += length;
    }
    Ok(())
}

/// CRC-32C (RFC 3720, B.4).
fn crc32c(bytes: impl Iterator<Item = u8>) -> u32 {
    !bytes.fold(!0_u32, |sum, byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| (sum >> 1) ^ (0x82f6_3b78 & (sum & 1).wrapping_neg()))
    })
}

fn line(bytes: &[u8]) -> Result<Progress, Malformed> {
    let most = &bytes[..bytes.len().min(LINE_BYTES_MAX)];
    let Some(end) = most.windows(2).position(|pair| pair == b"\r\n") else {
        return if most.len() == LINE_BYTES_MAX { Err(Malformed::Length) } else { Ok(Progress::NeedsBytes) };
    };
    let text = most.get(WORD.len()..end).ok_or(Malformed::Addresses)?;
    let text = std::str::from_utf8(text).map_err(|_| Malformed::Addresses)?;
    let mut words = text.split(' ');
    let origin = match words.next() {
        // The rest of the line is ignored.
        Some("UNKNOWN") => Origin::Unknown,
        Some("TCP4") => client_of::<Ipv4Addr>(words)?,
        Some("TCP6") => client_of::<Ipv6Addr>(words)?,
        _ => return Err(Malformed::Kind),
    };
    Ok(Progress::Done { origin, bytes: end + 2 })
}

fn client_of<'a, A: std::str::FromStr + Into<IpAddr>>(
    words: impl Iterator<Item = &'a str>,
) -> Result<Origin, Malformed> {
    let words: Vec<&str> = words.collect();
    let [client, server, client_port, server_port] = words[..] else { return Err(Malformed::Addresses) };
    let of = |address: &str, port: &str| {
        let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port.parse().ok().filter(|_| is_number).ok_or(Malformed::Addresses)?;
        let address: A = address.parse().map_err(|_| Malformed::Addresses)?;
        Ok(SocketAddr::new(address.into().to_canonical(), port))
    };
    Ok(Origin::Client { client: of(client, client_port)?, server: of(server, server_port)? })
}

#[cfg(test)]
mod tests;
