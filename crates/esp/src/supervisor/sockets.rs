//! The UDP sockets of the data plane: opened by the supervisor, which keeps them, so that they have their place before an IKE daemon's whatever
//! becomes of workers.
//!
//! The kernel numbers the sockets that share an address in the order in which they were bound, and the filter names them by number. Where an IKE daemon outlived the
//! supervisor, its socket is the first; when it binds anew it is the last again, and asks before.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};

use link::{Channel, ChannelError};
use wire::bounds::CONTROL_DESCRIPTORS_MAX;

use crate::messages::Order;

/// Most addresses that sockets are bound to.
pub const ADDRESSES_MAX: usize = 64;

/// Sockets by the address that they are bound to, each with one for every thread.
pub struct Sockets {
    threads: usize,
    open: BTreeMap<SocketAddr, Vec<OwnedFd>>,
}

/// Why there are no sockets of an address.
#[derive(Debug)]
pub enum SocketsError {
    /// There are [`ADDRESSES_MAX`].
    Full,
    /// The port is not the one for ESP in UDP.
    Port(u16),
    /// Of the system.
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
    /// None yet; as many of each address as threads.
    pub fn new(threads: usize) -> Sockets {
        Sockets { threads, open: BTreeMap::new() }
    }

    /// Those of all addresses of both families. A kernel without IPv6 has those of IPv4 alone.
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

    /// Opens those of an address; whether they were not there.
    ///
    /// # Errors
    /// [`SocketsError`].
    pub fn open(&mut self, address: SocketAddr) -> Result<bool, SocketsError> {
        if address.port() != ipsec::NAT_PORT {
            return Err(SocketsError::Port(address.port()));
        }
        if let Some(sockets) = self.open.get(&address) {
            // Whoever asks is about to bind.
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

    /// Hands those of an address to a worker.
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

    /// The addresses.
    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        self.open.keys().copied()
    }
}

fn lacks_family(cause: &std::io::Error) -> bool {
    let lacks = [rustix::io::Errno::AFNOSUPPORT, rustix::io::Errno::ADDRNOTAVAIL];
    cause.raw_os_error().is_some_and(|code| lacks.iter().any(|errno| errno.raw_os_error() == code))
}

/// Attaches the filter that fits: with no socket of others the next one to be bound is IKE's, else the first one is.
fn filter(address: SocketAddr, sockets: &[OwnedFd], foreign: usize) {
    let Some(socket) = sockets.first() else { return };
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let (first, ike) = if foreign == 0 { (0, number(sockets.len())) } else { (number(foreign), 0) };
    if let Err(cause) = plane::attach_filter(socket, first, number(sockets.len()), ike) {
        tell!("attaching the filter that tells IKE from ESP to {address}: {cause}");
    }
}

/// How many sockets are bound to this address, ours and others' (proc_net(5)). Where that cannot be read, none: as when no daemon was there before.
fn bound(address: SocketAddr) -> usize {
    let file = if address.is_ipv4() { "/proc/net/udp" } else { "/proc/net/udp6" };
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let wanted = proc_address(address);
    text.lines().skip(1).filter(|line| line.split_whitespace().nth(1) == Some(wanted.as_str())).count()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_as_the_kernel_writes_them() {
        let written = |text: &str| proc_address(text.parse().unwrap());
        assert_eq!(written("127.0.0.1:4500"), "0100007F:1194");
        assert_eq!(written("0.0.0.0:500"), "00000000:01F4");
        assert_eq!(written("[::1]:4500"), "00000000000000000000000001000000:1194");
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        assert_eq!(bound(socket.local_addr().unwrap()), 1);
        let socket = std::net::UdpSocket::bind("[::1]:0").unwrap();
        assert_eq!(bound(socket.local_addr().unwrap()), 1);
    }
}
