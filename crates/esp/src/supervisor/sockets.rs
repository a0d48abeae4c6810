//! The UDP sockets of the data plane: opened by the supervisor, which keeps them, so that they have their place before an IKE daemon's whatever
//! becomes of workers.

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
                    out.write_str(", and start it through `cryptand ipsec run`")?;
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
        if self.open.contains_key(&address) {
            return Ok(false);
        }
        if self.open.len() >= ADDRESSES_MAX {
            return Err(SocketsError::Full);
        }
        let sockets = plane::open_udp(address, self.threads).map_err(SocketsError::Open)?;
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
