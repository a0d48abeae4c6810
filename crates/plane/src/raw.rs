//! Raw sockets: protocol 50 in both directions, and whole packets of IP that leave without a policy.

use crate::error::OpenError;
use crate::udp::{SOCKET_BYTES, set_up};
use ipsec::{ESP_PROTOCOL, Family};
use nix::sys::socket::{setsockopt, sockopt};
use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType, ipproto};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;

/// The raw sockets of a data plane; `v6` is `None` if the kernel has no IPv6.
pub struct Raw {
    pub(crate) v4: Pair,
    pub(crate) v6: Option<Pair>,
}

/// The raw sockets of one family.
pub(crate) struct Pair {
    /// Receives protocol 50, and errors about it.
    pub(crate) esp: OwnedFd,
    /// Sends packets of IP with their headers.
    pub(crate) any: OwnedFd,
}

impl Raw {
    pub(crate) fn pair(&self, family: Family) -> Option<&Pair> {
        match family {
            Family::V4 => Some(&self.v4),
            Family::V6 => self.v6.as_ref(),
        }
    }
}

/// Opens the raw sockets. Needs CAP_NET_RAW and CAP_NET_ADMIN.
///
/// # Errors
/// [`OpenError`] if a socket cannot be opened or set up.
pub fn open_raw() -> Result<Raw, OpenError> {
    let v4 = pair(AddressFamily::INET, Ipv4Addr::UNSPECIFIED.into())?;
    let v6 = match pair(AddressFamily::INET6, Ipv6Addr::UNSPECIFIED.into()) {
        Err(error) if error.cause().raw_os_error() == Some(libc::EAFNOSUPPORT) => None,
        pair => Some(pair?),
    };
    Ok(Raw { v4, v6 })
}

fn pair(family: AddressFamily, any: IpAddr) -> Result<Pair, OpenError> {
    let failed =
        |cause: std::io::Error| OpenError::new("opening", format!("a raw socket of {}", name(any)), cause);
    let open = |protocol: Protocol| -> std::io::Result<OwnedFd> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        Ok(rustix::net::socket_with(family, SocketType::RAW, flags, Some(protocol))?)
    };
    let esp = open(ipproto::ESP).map_err(failed)?;
    set_up(&esp, any).map_err(failed)?;
    let whole = open(ipproto::RAW).map_err(failed)?;
    let set = || -> std::io::Result<()> {
        setsockopt(&whole, sockopt::Mark, &crate::MARK)?;
        // The error queue tells that a device's MTU is too small.
        match any {
            IpAddr::V4(_) => setsockopt(&whole, sockopt::Ipv4RecvErr, &true)?,
            IpAddr::V6(_) => setsockopt(&whole, sockopt::Ipv6RecvErr, &true)?,
        }
        let forced = rustix::net::sockopt::set_socket_send_buffer_size_force(&whole, SOCKET_BYTES);
        forced.or_else(|_| rustix::net::sockopt::set_socket_send_buffer_size(&whole, SOCKET_BYTES))?;
        Ok(())
    };
    set().map_err(failed)?;
    debug_assert_eq!(ipproto::ESP.as_raw().get(), u32::from(ESP_PROTOCOL));
    Ok(Pair { esp, any: whole })
}

fn name(any: IpAddr) -> &'static str {
    if any.is_ipv4() { "IPv4" } else { "IPv6" }
}
