//! Sends packets: of ESP by the socket of their SA, many in one call; whole packets by raw sockets; and packets to the
//! TUN.
//!
//! | packets | socket | together |
//! |---|---|---|
//! | ESP in UDP | UDP, bound to the SA's end | to one peer, of one length but for the last (`UDP_SEGMENT`) |
//! | ESP as protocol 50 | raw, headers written here | to one peer (`sendmmsg`) |
//! | ESP in UDP that routers may cut | raw, headers written here: a socket of UDP sets DF | no |
//! | ESP in UDP behind options or extension headers | raw, with its own headers | no |
//! | longer than their path, and not cut inside | raw, in pieces | no |
//! | in clear | raw | no |

use crate::bounds::{FULL_WAIT_MS, SEGMENTED_BYTES_MAX, SEGMENTS_MAX};
use crate::core::{Placed, Ways};
use crate::counters::Loss;
use crate::io::Io;
use ipsec::{Endpoint, Family, Frame, Inner, Outer, fragment_outside};
use nix::errno::Errno;
use nix::sys::socket::{ControlMessage, MsgFlags, SockaddrStorage, sendmsg};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::addr::SocketAddrArg;
use rustix::net::{MMsgHdr, SendAncillaryBuffer, SendFlags, sendmmsg};
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

fn storage(endpoint: Endpoint) -> SockaddrStorage {
    SocketAddr::new(endpoint.address, endpoint.port).into()
}

/// How often sending is tried again after errors.
const ATTEMPTS_MAX: usize = 2;

/// The result of sending.
enum Sent {
    All,
    /// The packet is longer than the device or the path takes. Several packets may only be too long together.
    TooLong,
    Lost(Loss),
}

impl Io {
    /// Waits at most [`FULL_WAIT_MS`] until something can be written to again; false if it cannot. From then on,
    /// nothing is waited for in this look.
    fn wait(is_spent: &mut bool, fd: BorrowedFd<'_>) -> bool {
        if *is_spent {
            return false;
        }
        let wait = Timespec { tv_sec: 0, tv_nsec: FULL_WAIT_MS * 1_000_000 };
        let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::OUT)];
        // A wait that timed out or was interrupted is the last of this look.
        *is_spent = !matches!(poll(&mut fds, Some(&wait)), Ok(1..));
        !*is_spent
    }

    /// The socket that an SA sends by: one bound to the SA's address and port, else one bound to its port at any
    /// address. The flag is true for the latter.
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

    /// Sends packets with the same headers outside by a UDP socket. Each is as long as the first, but the last may be
    /// shorter.
    fn send_run(&mut self, memory: &[u8], packets: &[Placed]) {
        let first = &packets[0];
        let mut is_spent = self.is_spent;
        let sent = match self.socket_of(first.outer.source) {
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
            // Only an error about a single packet says that it is too long, and only then the kernel states what would
            // fit.
            Sent::TooLong if packets.len() > 1 => {
                packets.chunks(1).for_each(|packet| self.send_run(memory, packet));
            }
            Sent::TooLong => self.figures.lose(Loss::TooLong, 1),
            Sent::Lost(loss) => self.figures.lose(loss, packets.len()),
        }
    }

    /// Sends a packet that is longer than its path, in pieces.
    fn send_cut(&mut self, memory: &mut [u8], packet: &Placed, mtu: usize) {
        let Some(mut frame) = Frame::new(&mut memory[..packet.end], packet.start, packet.end) else {
            return self.figures.lose(Loss::NoRoom, 1);
        };
        if packet.outer.write(&mut frame).is_err() {
            return self.figures.lose(Loss::NoRoom, 1);
        }
        let Ok(pieces) = fragment_outside(frame.bytes_mut(), mtu, self.shared.next_piece_id()) else {
            return self.figures.lose(Loss::TooLong, 1);
        };
        let to = storage(Endpoint::new(packet.outer.destination.address, 0));
        let family = Family::of(packet.outer.source.address);
        for piece in &pieces {
            self.figures.sends += 1;
            if !self.send_raw(family, piece, &to) {
                // Without one of its pieces, the packet's other pieces are of no use.
                return self.figures.lose(Loss::Send, 1);
            }
        }
        self.figures.cut += 1;
        self.figures.sent_packets += 1;
        self.figures.sent_bytes += (packet.end - packet.start) as u64;
    }

    /// Sends a packet of IP with its own headers by the raw socket, which bears the mark; false if that failed.
    fn send_raw(&mut self, family: Family, packet: &[u8], to: &SockaddrStorage) -> bool {
        let Some(pair) = self.raw.pair(family) else { return false };
        let parts = [IoSlice::new(packet)];
        loop {
            match sendmsg(pair.any.as_raw_fd(), &parts, &[], MsgFlags::MSG_DONTWAIT, Some(to)) {
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

    /// Sends packets to one address, and writes the headers outside before each. The memory there is free, or holds a
    /// packet that has left.
    fn send_headed(&mut self, memory: &mut [u8], packets: &[Placed]) {
        let first = &packets[0].outer;
        let Some(pair) = self.raw.pair(Family::of(first.source.address)) else {
            return self.figures.lose(Loss::NoSocket, packets.len());
        };
        let mut places = Vec::with_capacity(packets.len());
        for packet in packets {
            let frame = Frame::new(&mut memory[..packet.end], packet.start, packet.end);
            match frame.map(|mut frame| packet.outer.write(&mut frame).map(|()| frame.place())) {
                Some(Ok(place)) => places.push(place),
                _ => self.figures.lose(Loss::NoRoom, 1),
            }
        }
        let parts: Vec<_> = places.iter().map(|(start, end)| [IoSlice::new(&memory[*start..*end])]).collect();
        let mut nothing: Vec<_> = parts.iter().map(|_| SendAncillaryBuffer::default()).collect();
        let to = SocketAddr::new(first.destination.address, 0).as_any();
        let mut messages: Vec<_> = parts
            .iter()
            .zip(&mut nothing)
            .map(|(part, nothing)| MMsgHdr::new_with_addr(&to, part, nothing))
            .collect();
        let mut rest = &mut messages[..];
        let (mut done, mut attempts) = (0, 0);
        while !rest.is_empty() {
            self.figures.sends += 1;
            let loss = match sendmmsg(&pair.any, rest, SendFlags::DONTWAIT) {
                Ok(sent) => {
                    self.figures.sent_packets += sent as u64;
                    let sent_bytes =
                        packets[done..].iter().take(sent).map(|packet| packet.end - packet.start);
                    self.figures.sent_bytes += sent_bytes.sum::<usize>() as u64;
                    done += sent;
                    attempts = 0;
                    rest = &mut rest[sent..];
                    continue;
                }
                Err(rustix::io::Errno::INTR) => continue,
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::NOBUFS) => {
                    if Io::wait(&mut self.is_spent, pair.any.as_fd()) {
                        continue;
                    }
                    return self.figures.lose(Loss::SocketFull, rest.len());
                }
                Err(rustix::io::Errno::MSGSIZE) => Loss::TooLong,
                // The kernel reports the error of an earlier packet once, with the next call, and then forgets it.
                Err(_) if attempts < ATTEMPTS_MAX => {
                    attempts += 1;
                    continue;
                }
                Err(_) => Loss::Send,
            };
            // Only the first of the packets failed.
            self.figures.lose(loss, 1);
            (done, attempts) = (done + 1, 0);
            rest = &mut rest[1..];
        }
    }
}

/// Whether two packets can go in one call: all of their headers outside are the same.
fn go_together(first: &Outer, second: &Outer) -> bool {
    first.source == second.source
        && first.destination == second.destination
        && first.in_udp == second.in_udp
        && first.is_whole == second.is_whole
        && first.traffic_class == second.traffic_class
        && first.dont_fragment == second.dont_fragment
}

/// How many of the next packets go in one call: each is as long as the first, but the last may be shorter.
fn together(packets: &[Placed]) -> usize {
    let first = &packets[0];
    let bytes = first.end - first.start;
    let (mut count, mut total) = (1, bytes);
    for next in &packets[1..] {
        let more = next.end - next.start;
        if more > bytes
            || next.cut.is_some()
            || count >= SEGMENTS_MAX
            || total + more > SEGMENTED_BYTES_MAX
            || !go_together(&first.outer, &next.outer)
        {
            break;
        }
        count += 1;
        total += more;
        if more < bytes {
            break;
        }
    }
    count
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
    // Packets that lie side by side in memory make one part.
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
            // The kernel reports the error of an earlier packet once, with the next call, and then forgets it.
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
            let is_cuttable = !first.outer.dont_fragment && first.outer.source.address.is_ipv4();
            let by_udp = first.outer.in_udp && !is_cuttable && !first.outer.is_whole;
            if let Some(mtu) = first.cut {
                self.send_cut(memory, first, mtu);
                rest = &rest[1..];
                continue;
            }
            let count = if by_udp {
                together(rest)
            } else if first.outer.in_udp {
                1
            } else {
                let to_same = |next: &&Placed| {
                    !next.outer.in_udp
                        && next.cut.is_none()
                        && next.outer.destination == first.outer.destination
                };
                rest.iter().take(SEGMENTS_MAX).take_while(to_same).count()
            };
            let (run, next) = rest.split_at(count);
            if by_udp {
                self.send_run(memory, run);
            } else {
                self.send_headed(memory, run);
            }
            rest = next;
        }
    }

    fn in_clear(&mut self, packet: &[u8]) -> bool {
        let Ok(inner) = Inner::read(packet) else { return false };
        let to = storage(Endpoint::new(inner.flow.destination(), 0));
        self.send_raw(inner.flow.family(), packet, &to)
    }
}
