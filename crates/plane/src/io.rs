//! The sockets and the queue of one thread.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use ipsec::{Arrival, Endpoint, Family, Frame, Inner, Outer};
use nix::errno::Errno;
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, sendmsg};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::bounds::{ERRORS_MAX, FULL_WAIT_MS, SEGMENTED_BYTES_MAX, SEGMENTS_MAX};
use crate::core::Ways;
use crate::counters::{Figures, Loss};
use crate::outbound::Placed;
use crate::raw::Raw;
use crate::tun::Queue;

/// A socket of UDP of this thread.
pub(crate) struct Socket {
    pub(crate) address: SocketAddr,
    pub(crate) fd: OwnedFd,
}

/// The sockets and the queue of one thread.
pub(crate) struct Io {
    pub(crate) queue: Queue,
    pub(crate) sockets: Vec<Option<Socket>>,
    pub(crate) raw: Arc<Raw>,
    pub(crate) figures: Figures,
    /// Whether the wait of this look for something that is full was spent.
    pub(crate) is_spent: bool,
}

/// A datagram as a socket gave it.
pub(crate) struct Received {
    pub(crate) bytes: usize,
    pub(crate) segment: Option<usize>,
    pub(crate) arrival: Option<Arrival>,
}

/// An error of a path: a packet to there was longer than so many bytes.
pub(crate) struct PathError {
    pub(crate) peer: IpAddr,
    pub(crate) mtu: usize,
    /// The SPI of the packet, where the error quotes as much of it.
    pub(crate) spi: Option<u32>,
    /// Whether this machine itself says so.
    pub(crate) is_local: bool,
}

/// Bytes of control messages: addresses, TOS, TTL and segment, or an error with an address, for either family.
pub(crate) const CONTROL_BYTES: usize = 256;

fn storage(endpoint: Endpoint) -> SockaddrStorage {
    SocketAddr::new(endpoint.address, endpoint.port).into()
}

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

/// Reads errors that the kernel keeps for a socket; those of paths are given.
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

/// How often sending is tried again after errors.
const ATTEMPTS_MAX: usize = 2;

/// How sending went.
enum Sent {
    All,
    /// Longer than the device or the path lets through; of several together perhaps only that they are together.
    TooLong,
    Lost(Loss),
}

impl Io {
    /// Waits until something can be written to again, at most [`FULL_WAIT_MS`] in a look; false when that is spent.
    fn wait(is_spent: &mut bool, fd: BorrowedFd<'_>) -> bool {
        if *is_spent {
            return false;
        }
        let wait = Timespec { tv_sec: 0, tv_nsec: FULL_WAIT_MS * 1_000_000 };
        let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::OUT)];
        // Full for the whole of it, or writable, or interrupted: the next attempt tells.
        *is_spent = !matches!(poll(&mut fds, Some(&wait)), Ok(1..));
        !*is_spent
    }

    /// The socket that an SA sends by: bound to its address and port, or to its port at any address; whether it is the latter.
    fn socket_of(&self, source: Endpoint) -> Option<(BorrowedFd<'_>, bool)> {
        let exact = SocketAddr::new(source.address, source.port);
        let mut any = None;
        for socket in self.sockets.iter().flatten() {
            if socket.address == exact {
                return Some((socket.fd.as_fd(), false));
            }
            let ip = socket.address.ip();
            if ip.is_unspecified()
                && socket.address.port() == source.port
                && Family::of(ip) == Family::of(source.address)
            {
                any = Some((socket.fd.as_fd(), true));
            }
        }
        any
    }

    /// Sends packets of one kind, each with the length of the first but for the last, which may be shorter.
    fn send_run(&mut self, memory: &[u8], packets: &[Placed]) {
        let first = &packets[0];
        let mut is_spent = self.is_spent;
        let sent = match self.way(&first.outer) {
            None => Sent::Lost(Loss::NoSocket),
            Some((fd, is_any)) => send(fd, is_any, memory, packets, &mut is_spent),
        };
        self.is_spent = is_spent;
        self.figures.sends += 1;
        match sent {
            Sent::All => {
                self.figures.sent_packets += packets.len() as u64;
                self.figures.sent_bytes +=
                    packets.iter().map(|packet| (packet.end - packet.start) as u64).sum::<u64>();
            }
            // One alone is too long when it is told so alone, and only then the kernel says what would fit.
            Sent::TooLong if packets.len() > 1 => {
                packets.chunks(1).for_each(|packet| self.send_run(memory, packet));
            }
            Sent::TooLong => self.figures.lose(Loss::TooLong, 1),
            Sent::Lost(loss) => self.figures.lose(loss, packets.len()),
        }
    }

    fn way(&self, outer: &Outer) -> Option<(BorrowedFd<'_>, bool)> {
        if outer.in_udp {
            return self.socket_of(outer.source);
        }
        // Its own address is said with every packet.
        self.raw.pair(Family::of(outer.source.address)).map(|pair| (pair.esp.as_fd(), true))
    }

    /// Sends a packet whose headers are written here, because routers may cut it.
    fn send_cuttable(&mut self, memory: &mut [u8], packet: &Placed) {
        self.figures.sends += 1;
        let frame = Frame::new(&mut memory[..packet.end], packet.start, packet.end);
        let written = frame.and_then(|mut frame| {
            packet.outer.write(&mut frame).ok()?;
            Some(frame.place())
        });
        let bytes = (packet.end - packet.start) as u64;
        match written {
            Some((start, end)) if self.in_clear(&memory[start..end]) => {
                self.figures.sent_packets += 1;
                self.figures.sent_bytes += bytes;
            }
            _ => self.figures.lose(Loss::Send, 1),
        }
    }
}

/// Whether two packets can go in one call.
fn go_together(first: &Outer, second: &Outer) -> bool {
    first.source == second.source
        && first.destination == second.destination
        && first.in_udp == second.in_udp
        && first.traffic_class == second.traffic_class
        && first.dont_fragment == second.dont_fragment
}

fn send(fd: BorrowedFd<'_>, is_any: bool, memory: &[u8], packets: &[Placed], is_spent: &mut bool) -> Sent {
    let first = &packets[0];
    let outer = &first.outer;
    let segment = (first.end - first.start) as u16;
    let (tos, class) = (outer.traffic_class, i32::from(outer.traffic_class));
    let v4_info;
    let v6_info;
    let mut said: [Option<ControlMessage<'_>>; 3] = [None, None, None];
    if packets.len() > 1 {
        said[0] = Some(ControlMessage::UdpGsoSegments(&segment));
    }
    match outer.source.address {
        IpAddr::V4(address) => {
            if tos != 0 {
                said[1] = Some(ControlMessage::Ipv4Tos(&tos));
            }
            if is_any {
                let nowhere = libc::in_addr { s_addr: 0 };
                let source = libc::in_addr { s_addr: u32::from_ne_bytes(address.octets()) };
                v4_info = libc::in_pktinfo { ipi_ifindex: 0, ipi_spec_dst: source, ipi_addr: nowhere };
                said[2] = Some(ControlMessage::Ipv4PacketInfo(&v4_info));
            }
        }
        IpAddr::V6(address) => {
            if class != 0 {
                said[1] = Some(ControlMessage::Ipv6TClass(&class));
            }
            if is_any {
                v6_info = libc::in6_pktinfo {
                    ipi6_addr: libc::in6_addr { s6_addr: address.octets() },
                    ipi6_ifindex: 0,
                };
                said[2] = Some(ControlMessage::Ipv6PacketInfo(&v6_info));
            }
        }
    }
    let mut used = [ControlMessage::UdpGsoSegments(&segment); 3];
    let mut count = 0;
    for message in said.into_iter().flatten() {
        used[count] = message;
        count += 1;
    }
    // Neighbours are one part.
    let mut parts = [IoSlice::new(&[]); SEGMENTS_MAX];
    let (mut part, mut start) = (0, first.start);
    for (packet, next) in packets.iter().zip(packets[1..].iter().map(Some).chain([None])) {
        if next.is_none_or(|next| next.start != packet.end) {
            parts[part] = IoSlice::new(&memory[start..packet.end]);
            part += 1;
            start = next.map_or(0, |next| next.start);
        }
    }
    let to = storage(outer.destination);
    let mut attempts = 0;
    loop {
        match sendmsg(fd.as_raw_fd(), &parts[..part], &used[..count], MsgFlags::MSG_DONTWAIT, Some(&to)) {
            Ok(_) => return Sent::All,
            Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN | Errno::ENOBUFS) => {
                if !Io::wait(is_spent, fd) {
                    return Sent::Lost(Loss::SocketFull);
                }
            }
            Err(Errno::EMSGSIZE) => return Sent::TooLong,
            Err(Errno::EINVAL | Errno::EIO) if packets.len() > 1 => return Sent::TooLong,
            // What an earlier packet met is told once, with the next call, and then forgotten.
            Err(_) if attempts < ATTEMPTS_MAX => attempts += 1,
            Err(_) => return Sent::Lost(Loss::Send),
        }
    }
}

impl Ways for Io {
    #[inline]
    fn to_tun(&mut self, parts: &[IoSlice<'_>], packets: usize) {
        loop {
            self.figures.tun_writes += 1;
            match self.queue.write(parts) {
                Ok(_) => {
                    self.figures.tun_packets += packets as u64;
                    return;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if !Io::wait(&mut self.is_spent, self.queue.as_fd()) {
                        return self.figures.lose(Loss::TunFull, packets);
                    }
                }
                Err(_) => return self.figures.lose(Loss::TunWrite, packets),
            }
        }
    }

    fn outside(&mut self, memory: &mut [u8], packets: &[Placed]) {
        let mut rest = packets;
        while let Some(first) = rest.first() {
            if !first.outer.dont_fragment && first.outer.source.address.is_ipv4() {
                self.send_cuttable(memory, first);
                rest = &rest[1..];
                continue;
            }
            let bytes = first.end - first.start;
            let (mut count, mut total) = (1, bytes);
            if first.outer.in_udp {
                for next in &rest[1..] {
                    let more = next.end - next.start;
                    let is_short = more < bytes;
                    if more > bytes
                        || count >= SEGMENTS_MAX
                        || total + more > SEGMENTED_BYTES_MAX
                        || !go_together(&first.outer, &next.outer)
                    {
                        break;
                    }
                    count += 1;
                    total += more;
                    if is_short {
                        break;
                    }
                }
            }
            let (run, next) = rest.split_at(count);
            self.send_run(memory, run);
            rest = next;
        }
    }

    fn in_clear(&mut self, packet: &[u8]) -> bool {
        let Ok(inner) = Inner::read(packet) else { return false };
        let Some(pair) = self.raw.pair(inner.flow.family()) else { return false };
        let to = storage(Endpoint::new(inner.flow.destination(), 0));
        loop {
            let parts = [IoSlice::new(packet)];
            match sendmsg(pair.any.as_raw_fd(), &parts, &[], MsgFlags::MSG_DONTWAIT, Some(&to)) {
                Ok(_) => return true,
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN | Errno::ENOBUFS) => {
                    if !Io::wait(&mut self.is_spent, pair.any.as_fd()) {
                        return false;
                    }
                }
                Err(_) => return false,
            }
        }
    }
}
