//! Raw sockets: protocol 50 both ways, and whole packets of IP that leave beside every policy.

use crate::error::OpenError;
use crate::udp::{SOCKET_BYTES, set_up};
use ipsec::{ESP_PROTOCOL, Family};
use nix::sys::socket::{setsockopt, sockopt};
use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType, ipproto};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;

/// The raw sockets of a data plane; those of IPv6 are missing where the kernel has none.
pub struct Raw {
    pub(crate) v4: Pair,
    pub(crate) v6: Option<Pair>,
}

/// Those of one family.
pub(crate) struct Pair {
    /// Receives protocol 50, and errors about it.
    pub(crate) esp: OwnedFd,
    /// Sends any packet, header included.
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

/// Opens them. Needs CAP_NET_RAW and CAP_NET_ADMIN.
///
/// # Errors
/// [`OpenError`].
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
        // That a device is too narrow is told there.
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
