//! Sockets of UDP, and the filter by which threads and the IKE daemon share a port.
//!
//! ```text
//! port 4500:  socket 0 .. count-1  threads, by SPI        bound first
//!             socket count         the IKE daemon's       bound last, and again whenever it restarts
//! ```
//!
//! The kernel numbers the sockets of a port in the order in which they were bound. The filter
//! (`SO_ATTACH_REUSEPORT_CBPF`) is one for all of them and sees the payload. A payload that is no longer than an ESP
//! header, or begins with four zero bytes, is the daemon's (RFC 3948, 2).

use crate::bounds::THREADS_MAX;
use crate::error::OpenError;
use nix::sys::socket::{SockaddrStorage, setsockopt, sockopt};
use rustix::net::sockopt::{Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// The firewall mark (`SO_MARK`) of all packets that leave outside, by which rules of routing keep them from the TUN;
/// the library that is preloaded into IKE daemons marks their sockets with it, too.
pub const MARK: u32 = 0x0000_E500;

/// Size of a socket's send buffer and of its receive buffer, in bytes.
pub(crate) const SOCKET_BYTES: usize = 8 << 20;

/// Opens `count` sockets of one address that share its port, one for each thread, with the filter. An IKE daemon binds
/// its own socket afterwards. Buffers are smaller if the caller lacks CAP_NET_ADMIN in the first user namespace.
///
/// # Errors
/// [`OpenError`] if the system refuses a step; its cause is EINVAL for a count outside 1 to [`THREADS_MAX`].
pub fn open_udp(address: SocketAddr, count: usize) -> Result<Vec<OwnedFd>, OpenError> {
    let failed =
        |operation| move |cause: std::io::Error| OpenError::new(operation, format!("UDP {address}"), cause);
    if count == 0 || count > THREADS_MAX {
        return Err(failed("opening")(nix::errno::Errno::EINVAL.into()));
    }
    let mut sockets = Vec::with_capacity(count);
    for _ in 0..count {
        let family = match address.ip() {
            IpAddr::V4(_) => AddressFamily::INET,
            IpAddr::V6(_) => AddressFamily::INET6,
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(family, SocketType::DGRAM, flags, None)
            .map_err(std::io::Error::from)
            .map_err(failed("opening"))?;
        set_up(&socket, address.ip()).map_err(failed("setting up"))?;
        if address.is_ipv6() {
            rustix::net::sockopt::set_ipv6_v6only(&socket, true)
                .map_err(std::io::Error::from)
                .map_err(failed("setting up"))?;
        }
        rustix::net::sockopt::set_socket_reuseport(&socket, true)
            .map_err(std::io::Error::from)
            .map_err(failed("setting up"))?;
        setsockopt(&socket, sockopt::UdpGroSegment, &true)
            .map_err(std::io::Error::from)
            .map_err(failed("setting up"))?;
        sockets.push(socket);
    }
    // Bound one after the other, so that they get the first numbers of the port.
    for socket in &sockets {
        nix::sys::socket::bind(socket.as_raw_fd(), &SockaddrStorage::from(address))
            .map_err(std::io::Error::from)
            .map_err(failed("binding"))?;
    }
    let ike = u32::try_from(count).unwrap_or(u32::MAX);
    attach_filter(&sockets[0], 0, ike, ike).map_err(failed("attaching the filter to"))?;
    Ok(sockets)
}

/// Sets up a socket that sends and receives outside: the mark, DF on all packets, reports of errors and of header
/// fields, large buffers.
pub(crate) fn set_up(socket: &impl AsFd, address: IpAddr) -> std::io::Result<()> {
    use rustix::net::sockopt::{
        set_ip_mtu_discover, set_ip_recvtos, set_ipv6_mtu_discover, set_ipv6_recvtclass,
        set_socket_recv_buffer_size, set_socket_recv_buffer_size_force, set_socket_send_buffer_size,
        set_socket_send_buffer_size_force,
    };
    setsockopt(socket, sockopt::Mark, &MARK)?;
    match address {
        IpAddr::V4(_) => {
            set_ip_mtu_discover(socket, Ipv4PathMtuDiscovery::PROBE)?;
            set_ip_recvtos(socket, true)?;
            setsockopt(socket, sockopt::Ipv4RecvTtl, &true)?;
            setsockopt(socket, sockopt::Ipv4PacketInfo, &true)?;
            setsockopt(socket, sockopt::Ipv4RecvErr, &true)?;
        }
        IpAddr::V6(_) => {
            set_ipv6_mtu_discover(socket, Ipv6PathMtuDiscovery::PROBE)?;
            setsockopt(socket, sockopt::Ipv6DontFrag, &true)?;
            set_ipv6_recvtclass(socket, true)?;
            setsockopt(socket, sockopt::Ipv6RecvHopLimit, &true)?;
            setsockopt(socket, sockopt::Ipv6RecvPacketInfo, &true)?;
            setsockopt(socket, sockopt::Ipv6RecvErr, &true)?;
        }
    }
    if set_socket_recv_buffer_size_force(socket, SOCKET_BYTES).is_err() {
        set_socket_recv_buffer_size(socket, SOCKET_BYTES)?;
    }
    if set_socket_send_buffer_size_force(socket, SOCKET_BYTES).is_err() {
        set_socket_send_buffer_size(socket, SOCKET_BYTES)?;
    }
    Ok(())
}

/// Attaches the filter to the sockets of a port, through any of them. ESP goes to one of `count` sockets by its SPI.
/// The first of these has the number `first`, which is the number of sockets that others bound before. All else goes to
/// the socket with the number `ike`. A number that no socket has leaves the choice to the kernel.
///
/// # Errors
/// The error of `setsockopt`; EINVAL for a count of 0.
pub fn attach_filter(socket: &impl AsFd, first: u32, count: u32, ike: u32) -> std::io::Result<()> {
    if count == 0 {
        return Err(nix::errno::Errno::EINVAL.into());
    }
    let mut program = filter(first, count, ike);
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    Ok(setsockopt(socket, sockopt::AttachReusePortCbpf, &program)?)
}

/// The filter as a program in the classic BPF of Linux.
fn filter(first: u32, count: u32, ike: u32) -> [libc::sock_filter; 8] {
    use libc::{
        BPF_A, BPF_ABS, BPF_ADD, BPF_ALU, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_K, BPF_LD, BPF_LEN, BPF_MOD,
        BPF_RET, BPF_W,
    };
    let step = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    [
        step(BPF_LD | BPF_W | BPF_LEN, 0, 0, 0),
        // A payload of at most 8 bytes, the length of an ESP header, is the daemon's.
        step(BPF_JMP | BPF_JGE | BPF_K, 0, 5, 9),
        step(BPF_LD | BPF_W | BPF_ABS, 0, 0, 0),
        step(BPF_JMP | BPF_JEQ | BPF_K, 3, 0, 0),
        step(BPF_ALU | BPF_MOD | BPF_K, 0, 0, count),
        step(BPF_ALU | BPF_ADD | BPF_K, 0, 0, first),
        step(BPF_RET | BPF_A, 0, 0, 0),
        step(BPF_RET | BPF_K, 0, 0, ike),
    ]
}
