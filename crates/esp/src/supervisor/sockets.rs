//! The UDP sockets of the data plane. The supervisor opens and keeps them, so that they precede an IKE daemon's sockets
//! even when workers die.
//!
//! The kernel numbers sockets that share an address in the order of their binding, and the filter names sockets by
//! number. The socket of an IKE daemon that outlived the supervisor is the first; when the daemon binds anew, after
//! asking the supervisor, its socket is the last.

use crate::messages::Order;
use link::{Channel, ChannelError};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use wire::bounds::CONTROL_DESCRIPTORS_MAX;

/// Upper bound of addresses that sockets are bound to.
pub const ADDRESSES_MAX: usize = 64;
/// Lists of this network namespace's UDP sockets, by family (proc_net(5)).
const PROC_FILES: [&str; 2] = ["/proc/net/udp", "/proc/net/udp6"];

/// Sockets by the address that they are bound to, one for every thread.
pub struct Sockets {
    threads: usize,
    open: BTreeMap<SocketAddr, Vec<OwnedFd>>,
}

/// Why an address gets no sockets.
#[derive(Debug)]
pub enum SocketsError {
    /// Sockets of [`ADDRESSES_MAX`] addresses are open already.
    Full,
    /// The port is not the one for ESP in UDP.
    Port(u16),
    /// The system refused a socket.
    Open(plane::OpenError),
}

impl fmt::Display for SocketsError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SocketsError::Full => write!(out, "there are sockets of {ADDRESSES_MAX} addresses"),
            SocketsError::Port(port) => {
                write!(out, "ESP is carried in UDP on port {}, not {port} (RFC 3948)", ipsec::NAT_PORT)
            }
            SocketsError::Open(cause) => {
                write!(out, "{cause}")?;
                if cause.cause().kind() == std::io::ErrorKind::AddrInUse {
                    out.write_str(", and start it after this, through `cryptand ipsec run` or with the drop-in of its unit")?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for SocketsError {}

impl Sockets {
    /// No sockets yet; each address is to get one for each of `threads`.
    pub fn new(threads: usize) -> Sockets {
        Sockets { threads, open: BTreeMap::new() }
    }

    /// Opens the sockets of the wildcard addresses of both families. A kernel without IPv6 gets those of IPv4 only.
    ///
    /// # Errors
    /// [`SocketsError`].
    pub fn open_wildcards(&mut self) -> Result<(), SocketsError> {
        self.open(SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), ipsec::NAT_PORT))?;
        match self.open(SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), ipsec::NAT_PORT)) {
            Err(SocketsError::Open(cause)) if lacks_family(cause.cause()) => Ok(()),
            other => other.map(drop),
        }
    }

    /// Opens sockets of the addresses to which programs are bound that outlived an earlier supervisor: a datagram goes
    /// to a socket of its exact address before a wildcard one. A failure is logged: that program then gets all
    /// datagrams to its address, ESP too.
    pub fn open_held(&mut self) {
        for address in held() {
            if !self.open.contains_key(&address)
                && let Err(cause) = self.open(address)
            {
                tell!("{address}: {cause}");
            }
        }
    }

    /// Opens the sockets of an address; false if they were open already.
    ///
    /// # Errors
    /// [`SocketsError`].
    pub fn open(&mut self, address: SocketAddr) -> Result<bool, SocketsError> {
        if address.port() != ipsec::NAT_PORT {
            return Err(SocketsError::Port(address.port()));
        }
        if let Some(sockets) = self.open.get(&address) {
            // The program that asks is about to bind.
            filter(address, sockets, bound(address).saturating_sub(sockets.len()));
            return Ok(false);
        }
        if self.open.len() >= ADDRESSES_MAX {
            return Err(SocketsError::Full);
        }
        let foreign = bound(address);
        let sockets = plane::open_udp(address, self.threads).map_err(SocketsError::Open)?;
        filter(address, &sockets, foreign);
        self.open.insert(address, sockets);
        Ok(true)
    }

    /// Hands the sockets of an address to a worker.
    ///
    /// # Errors
    /// [`ChannelError`].
    pub fn hand_over(&self, address: SocketAddr, channel: &Channel) -> Result<(), ChannelError> {
        let Some(sockets) = self.open.get(&address) else { return Ok(()) };
        let mut parts = sockets.chunks(CONTROL_DESCRIPTORS_MAX).peekable();
        while let Some(part) = parts.next() {
            let descriptors: Vec<_> = part.iter().map(AsFd::as_fd).collect();
            channel.send(&Order::Sockets { address, more: parts.peek().is_some() }, &descriptors)?;
        }
        Ok(())
    }

    /// The addresses with open sockets.
    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        self.open.keys().copied()
    }
}

fn lacks_family(cause: &std::io::Error) -> bool {
    let lacks = [rustix::io::Errno::AFNOSUPPORT, rustix::io::Errno::ADDRNOTAVAIL];
    cause.raw_os_error().is_some_and(|code| lacks.iter().any(|errno| errno.raw_os_error() == code))
}

/// Attaches the filter that fits: without foreign sockets, IKE's is the next one to be bound; else it is the first.
fn filter(address: SocketAddr, sockets: &[OwnedFd], foreign: usize) {
    let Some(socket) = sockets.first() else { return };
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let (first, ike) = if foreign == 0 { (0, number(sockets.len())) } else { (number(foreign), 0) };
    if let Err(cause) = plane::attach_filter(socket, first, number(sockets.len()), ike) {
        tell!("attaching the filter that tells IKE from ESP to {address}: {cause}");
    }
}

/// Number of sockets bound to this address, the data plane's and others' (proc_net(5)). If that cannot be read, 0: as
/// if no daemon was there before.
fn bound(address: SocketAddr) -> usize {
    let wanted = proc_address(address);
    local_addresses(file_of(address)).iter().filter(|local| **local == wanted).count()
}

/// The addresses on the port for ESP that have a bound socket.
fn held() -> BTreeSet<SocketAddr> {
    let all = PROC_FILES.into_iter().flat_map(local_addresses);
    all.filter_map(|text| read_proc_address(&text))
        .filter(|address| address.port() == ipsec::NAT_PORT)
        .collect()
}

fn file_of(address: SocketAddr) -> &'static str {
    if address.is_ipv4() { PROC_FILES[0] } else { PROC_FILES[1] }
}

/// Local addresses of a file's sockets, as hexadecimal text.
fn local_addresses(file: &str) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().skip(1).filter_map(|line| line.split_whitespace().nth(1).map(str::to_owned)).collect()
}

/// An address as `/proc/net/udp` and `udp6` write it: words of four bytes in the processor's order, then the port.
fn proc_address(address: SocketAddr) -> String {
    use std::fmt::Write as _;
    let bytes = match address.ip() {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    let mut text = String::new();
    for word in bytes.chunks_exact(4) {
        let word = word.try_into().map(u32::from_ne_bytes).unwrap_or_default();
        let _ = write!(text, "{word:08X}");
    }
    let _ = write!(text, ":{:04X}", address.port());
    text
}

/// The address that a text of that form stands for; None for any other text.
fn read_proc_address(text: &str) -> Option<SocketAddr> {
    let (words, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let mut bytes = Vec::with_capacity(16);
    for at in (0..words.len()).step_by(8) {
        let word = u32::from_str_radix(words.get(at..at + 8)?, 16).ok()?;
        bytes.extend(word.to_ne_bytes());
    }
    let v4 = <[u8; 4]>::try_from(bytes.as_slice()).map(IpAddr::from);
    let address = v4.or_else(|_| <[u8; 16]>::try_from(bytes.as_slice()).map(IpAddr::from)).ok()?;
    Some(SocketAddr::new(address, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_as_the_kernel_writes_them() {
        let written = |text: &str| proc_address(text.parse().unwrap());
        assert_eq!(written("127.0.0.1:4500"), "0100007F:1194");
        assert_eq!(written("0.0.0.0:500"), "00000000:01F4");
        assert_eq!(written("[::1]:4500"), "00000000000000000000000001000000:1194");
        for text in ["192.0.2.1:4500", "[2001:db8::1]:4500", "[::]:500"] {
            assert_eq!(read_proc_address(&written(text)), text.parse().ok());
        }
        for text in ["", "0100007F", "0100007F:", "0100007:1194", "0100007F01:1194", "0100007G:1194", ":1194"]
        {
            assert_eq!(read_proc_address(text), None, "{text}");
        }
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        assert_eq!(bound(socket.local_addr().unwrap()), 1);
        let socket = std::net::UdpSocket::bind("[::1]:0").unwrap();
        assert_eq!(bound(socket.local_addr().unwrap()), 1);
    }
}
