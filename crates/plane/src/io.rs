//! The sockets and the queue of one thread, and what is read from them: datagrams, and errors about paths.
//! [`crate::send`] sends.

use crate::bounds::ERRORS_MAX;
use crate::counters::Figures;
use crate::raw::Raw;
use crate::shared::Shared;
use crate::tun::Queue;
use ipsec::{Arrival, Endpoint};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};
use std::io::IoSliceMut;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// A socket of UDP of this thread.
pub(crate) struct Socket {
    pub(crate) address: SocketAddr,
    pub(crate) fd: OwnedFd,
}

/// The sockets and the queue of one thread.
pub(crate) struct Io {
    pub(crate) shared: Arc<Shared>,
    pub(crate) queue: Queue,
    pub(crate) sockets: Vec<Option<Socket>>,
    pub(crate) raw: Arc<Raw>,
    pub(crate) figures: Figures,
    /// Whether a wait for a full socket or TUN was in vain in this look: then it waits no more.
    pub(crate) is_spent: bool,
}

/// A datagram as read from a socket: its length, the length of its segments, and where it came from.
pub(crate) struct Received {
    pub(crate) bytes: usize,
    pub(crate) segment: Option<usize>,
    pub(crate) arrival: Option<Arrival>,
}

/// An error about a path: a packet to `peer` was longer than `mtu` bytes.
pub(crate) struct PathError {
    pub(crate) peer: IpAddr,
    pub(crate) mtu: usize,
    /// The SPI of the packet, if the error quotes it.
    pub(crate) spi: Option<u32>,
    /// Whether the error comes from this machine itself.
    pub(crate) is_local: bool,
}

/// Bytes of control messages: addresses, TOS, TTL and segment, or an error with an address, for either family.
pub(crate) const CONTROL_BYTES: usize = 256;

fn socket_address(address: &SockaddrStorage) -> Option<SocketAddr> {
    if let Some(v4) = address.as_sockaddr_in() {
        return Some(SocketAddr::new(v4.ip().into(), v4.port()));
    }
    address.as_sockaddr_in6().map(|v6| SocketAddr::new(v6.ip().into(), v6.port()))
}

/// Reads one datagram; never waits.
pub(crate) fn receive(
    fd: BorrowedFd<'_>,
    memory: &mut [u8],
    control: &mut [u8],
    bound: IpAddr,
) -> nix::Result<Received> {
    let mut parts = [IoSliceMut::new(memory)];
    let message =
        recvmsg::<SockaddrStorage>(fd.as_raw_fd(), &mut parts, Some(control), MsgFlags::MSG_DONTWAIT)?;
    let (mut segment, mut destination) = (None, bound);
    let (mut traffic_class, mut hop_limit) = (0, 64);
    for said in message.cmsgs()? {
        match said {
            ControlMessageOwned::UdpGroSegments(bytes) => segment = usize::try_from(bytes).ok(),
            ControlMessageOwned::Ipv4Tos(tos) => traffic_class = tos,
            ControlMessageOwned::Ipv6TClass(class) => traffic_class = class as u8,
            ControlMessageOwned::Ipv4Ttl(hops) | ControlMessageOwned::Ipv6HopLimit(hops) => {
                hop_limit = u8::try_from(hops).unwrap_or(hop_limit);
            }
            ControlMessageOwned::Ipv4PacketInfo(info) => {
                destination = IpAddr::from(info.ipi_addr.s_addr.to_ne_bytes());
            }
            ControlMessageOwned::Ipv6PacketInfo(info) => destination = IpAddr::from(info.ipi6_addr.s6_addr),
            _ => {}
        }
    }
    let arrival = message.address.as_ref().and_then(socket_address).map(|source| Arrival {
        source: Endpoint::new(source.ip(), source.port()),
        destination,
        traffic_class,
        hop_limit,
    });
    Ok(Received { bytes: message.bytes, segment, arrival })
}

/// Reads at most [`ERRORS_MAX`] errors that the kernel keeps for a socket, and passes those about paths (EMSGSIZE) to
/// `learn`.
pub(crate) fn read_errors(fd: BorrowedFd<'_>, control: &mut [u8], mut learn: impl FnMut(PathError)) {
    for _ in 0..ERRORS_MAX {
        let mut quoted = [0; 64];
        let mut parts = [IoSliceMut::new(&mut quoted)];
        let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
        let Ok(message) = recvmsg::<SockaddrStorage>(fd.as_raw_fd(), &mut parts, Some(&mut *control), flags)
        else {
            return;
        };
        let (peer, bytes) = (message.address.as_ref().and_then(socket_address), message.bytes);
        let error = message.cmsgs().ok().and_then(|mut said| {
            said.find_map(|said| match said {
                ControlMessageOwned::Ipv4RecvErr(error, _) | ControlMessageOwned::Ipv6RecvErr(error, _) => {
                    Some(error)
                }
                _ => None,
            })
        });
        let (Some(peer), Some(error)) = (peer, error) else { continue };
        if error.ee_errno != libc::EMSGSIZE as u32 || error.ee_info == 0 {
            continue;
        }
        let spi = quoted.first_chunk().filter(|_| bytes >= 4).map(|spi| u32::from_be_bytes(*spi));
        learn(PathError {
            peer: peer.ip(),
            mtu: error.ee_info as usize,
            spi,
            is_local: error.ee_origin == libc::SO_EE_ORIGIN_LOCAL,
        });
    }
}
