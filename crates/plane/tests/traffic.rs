//! Real traffic through both ends of a tunnel, in namespaces: everything arrives, and nothing of it is seen outside.

use crate::common::tunnel::{End, Way, inside, outside};
use crate::common::{self, Capture, Net, PATIENCE, Space, ip, is_nothing, with_rights};
use ipsec::{AesKey, Encryption, Event, Integrity, Mode, Reason, Suite};
use needs::uninterrupted;
use plane::{BATCH_CLASSES, Loss};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

/// What all that is sent is made of, and nobody may see outside.
const MARKER: &[u8] = b"nobody outside may read this; ";

fn marked(bytes: usize) -> Vec<u8> {
    MARKER.iter().copied().cycle().take(bytes).collect()
}

fn shows(packets: &[Vec<u8>]) -> usize {
    packets.iter().filter(|packet| packet.windows(MARKER.len()).any(|part| part == MARKER)).count()
}

/// How many packets outside carry ESP: as protocol 50, or in UDP. Frames of Ethernet.
fn carries(packets: &[Vec<u8>], way: Way) -> usize {
    let protocol = if way.in_udp { 17 } else { 50 };
    let is_it = |frame: &&Vec<u8>| match frame[14] >> 4 {
        4 => !way.is_v6 && frame[14 + 9] == protocol,
        _ => way.is_v6 && frame[14 + 6] == protocol,
    };
    packets.iter().filter(is_it).count()
}

/// Sends so many bytes of TCP from one namespace to the other; all arrive as they were.
fn send_tcp(from: &Space, to: &Space, address: IpAddr, bytes: usize) {
    let listener = to.run(|| TcpListener::bind(SocketAddr::new(address, 0)).unwrap());
    let port = listener.local_addr().unwrap().port();
    let text = marked(bytes);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            let mut read = Vec::new();
            stream.read_to_end(&mut read).unwrap();
            read
        });
        let mut stream =
            from.run(|| TcpStream::connect_timeout(&SocketAddr::new(address, port), PATIENCE).unwrap());
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(&text).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        assert!(reader.join().unwrap() == text, "{bytes} bytes to {address}");
    });
}

fn bind(space: &Space, address: IpAddr) -> UdpSocket {
    let socket = space.run(|| UdpSocket::bind(SocketAddr::new(address, 0)).unwrap());
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

/// Sends datagrams of several lengths, the longest in pieces; all arrive.
fn send_udp(from: &Space, to: &Space, ends: (IpAddr, IpAddr)) {
    let (sender, receiver) = (bind(from, ends.0), bind(to, ends.1));
    for bytes in [1, 64, 1200, 5000] {
        sender.send_to(&marked(bytes), receiver.local_addr().unwrap()).unwrap();
        let mut read = vec![0; 8000];
        let received = uninterrupted(|| receiver.recv_from(&mut read));
        let (count, source) = received.unwrap_or_else(|error| panic!("{bytes} bytes: {error}"));
        assert_eq!((&read[..count], source.ip()), (&marked(bytes)[..], ends.0));
    }
}

fn traffic_passes(way: Way) {
    with_rights(|| {
        let net = Net::new();
        let ends = [0, 1].map(|number| End::start(&net, number, way));
        let capture = Capture::begin(&net.middle);
        for is_v6 in [false, true] {
            let [first, second] = inside(is_v6);
            send_udp(&net.first, &net.second, (first, second));
            send_udp(&net.second, &net.first, (second, first));
            send_tcp(&net.first, &net.second, second, 4 << 20);
            send_tcp(&net.second, &net.first, first, 1 << 20);
        }
        let packets = capture.end();
        assert_eq!(shows(&packets), 0, "clear text was seen outside");
        assert!(
            carries(&packets, way) > 100,
            "{} of {} packets are ESP",
            carries(&packets, way),
            packets.len()
        );
        for end in &ends {
            let all = end.shared.counters().all;
            assert!(all.esp.sealed > 100 && all.esp.opened > 100);
            let wrong =
                [Reason::Unauthenticated, Reason::Replayed, Reason::TooOld, Reason::Clear, Reason::NoPolicy];
            assert!(wrong.iter().all(|reason| all.esp.dropped(*reason) == 0), "{:?}", all.esp);
            assert_eq!(
                all.lost(Loss::TunMalformed) + all.lost(Loss::NoSocket) + all.lost(Loss::Send),
                0,
                "{all:?}"
            );
        }
        // Many packets at a time, both ways; as protocol 50 the kernel brings each alone, and how many wait is chance.
        let (sender, receiver) = (ends[0].shared.counters().all, ends[1].shared.counters().all);
        let many = |batches: [u64; BATCH_CLASSES]| batches[4..].iter().sum::<u64>();
        assert!(many(sender.sealed_batches) > 10 && sender.tun_reads < sender.esp.sealed, "{sender:?}");
        if way.in_udp {
            assert!(many(receiver.opened_batches) > 10, "{receiver:?}");
            assert!(sender.sends < sender.sent_packets, "{sender:?}");
            assert!(receiver.tun_writes < receiver.tun_packets, "{receiver:?}");
        }
        ends.into_iter().for_each(End::stop);
    });
}

#[test]
fn udp_over_ipv4() {
    traffic_passes(Way::UDP);
}

#[test]
fn udp_over_ipv6() {
    traffic_passes(Way { is_v6: true, ..Way::UDP });
}

#[test]
fn protocol_50_over_ipv4() {
    traffic_passes(Way { in_udp: false, ..Way::UDP });
}

#[test]
fn protocol_50_over_ipv6() {
    traffic_passes(Way { in_udp: false, is_v6: true, ..Way::UDP });
}

#[test]
fn two_threads_share_an_sa() {
    let suite = Suite::Separate(Encryption::AesCbc(AesKey::Bits128), Integrity::Sha1);
    traffic_passes(Way { threads: 2, suite, ..Way::UDP });
}

/// In transport mode TCP between the ends is protected and all else passes in clear.
fn transport_passes(way: Way) {
    with_rights(|| {
        let net = Net::new();
        let ends = [0, 1].map(|number| End::start(&net, number, way));
        let [first, second] = outside(way.is_v6);
        for (space, peer) in [(&net.first, second), (&net.second, first)] {
            let family = if way.is_v6 { "-6" } else { "-4" };
            let own = if peer == first { second } else { first };
            space.ip(&format!("{family} route add {peer} dev inner src {own} table 77"));
        }
        let capture = Capture::begin(&net.middle);
        send_tcp(&net.first, &net.second, second, 1 << 20);
        send_tcp(&net.second, &net.first, first, 1 << 20);
        let packets = capture.end();
        assert_eq!(shows(&packets), 0, "clear text was seen outside");
        assert!(carries(&packets, way) > 50);
        let capture = Capture::begin(&net.middle);
        send_udp(&net.first, &net.second, (first, second));
        assert!(shows(&capture.end()) > 0, "what no policy protects passes in clear");
        assert!(ends[0].shared.counters().all.bypassed >= 4);
        ends.into_iter().for_each(End::stop);
    });
}

#[test]
fn transport_mode_in_udp() {
    transport_passes(Way { mode: Mode::Transport, ..Way::UDP });
}

#[test]
fn transport_mode_over_ipv6() {
    let way = Way { mode: Mode::Transport, in_udp: false, is_v6: true, ..Way::UDP };
    transport_passes(way);
}

/// A packet of TCP that is whole, with options of IPv4 that say nothing, between two addresses. Its checksum above IP
/// is nobody's here.
fn with_options(source: Ipv4Addr, destination: Ipv4Addr) -> Vec<u8> {
    let text = marked(100);
    let mut packet = vec![0x46, 0, 0, 0, 0, 1, 0x40, 0, 64, 6, 0, 0];
    packet.extend(source.octets());
    packet.extend(destination.octets());
    // Three that do nothing, and the end of the list (RFC 791, 3.1).
    packet.extend([1, 1, 1, 0]);
    packet.extend([0x1b, 0x58, 0x1b, 0x58, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
    packet.extend(&text);
    packet
}

/// In transport mode ESP stands behind the options of IPv4 (RFC 4303, 3.1.1), and the other end has them again where
/// the kernel shows them: not of UDP.
#[test]
fn transport_mode_leaves_options_before_esp() {
    with_rights(|| {
        for in_udp in [false, true] {
            let net = Net::new();
            let way = Way { mode: Mode::Transport, in_udp, ..Way::UDP };
            let ends = [0, 1].map(|number| End::start(&net, number, way));
            let [IpAddr::V4(first), IpAddr::V4(second)] = outside(false) else { panic!("not IPv4") };
            net.first.ip(&format!("-4 route add {second} dev inner src {first} table 77"));
            let raw = |space: &Space, protocol| {
                space.run(|| {
                    let kind = rustix::net::SocketType::RAW;
                    rustix::net::socket(rustix::net::AddressFamily::INET, kind, Some(protocol)).unwrap()
                })
            };
            let receiver = UdpSocket::from(raw(&net.second, rustix::net::ipproto::TCP));
            receiver.set_read_timeout(Some(PATIENCE)).unwrap();
            let sender = UdpSocket::from(raw(&net.first, rustix::net::ipproto::RAW));
            let capture = Capture::begin(&net.middle);
            sender.send_to(&with_options(first, second), (second, 0)).unwrap();
            let mut read = [0; 2000];
            let count = uninterrupted(|| receiver.recv(&mut read)).unwrap();
            let packets = capture.end();
            let protocol = if in_udp { 17 } else { 50 };
            let is_it = |frame: &&Vec<u8>| {
                frame[14] == 0x46 && frame[14 + 9] == protocol && frame[34..38] == [1, 1, 1, 0]
            };
            assert!(packets.iter().any(|packet| is_it(&packet)), "in UDP: {in_udp}");
            assert_eq!(shows(&packets), 0, "clear text was seen outside");
            let header_bytes = if in_udp { 20 } else { 24 };
            assert_eq!((read[0] & 15) * 4, header_bytes);
            assert!(read[..count].ends_with(&marked(100)));
            ends.into_iter().for_each(End::stop);
        }
    });
}

/// A path that is narrower than was said is learnt: from what a router says at the first end, whose device is wider,
/// and at the second from its own device.
#[test]
fn a_narrow_path_is_learnt() {
    with_rights(|| {
        let ways = [
            Way::UDP,
            Way { is_v6: true, ..Way::UDP },
            Way { in_udp: false, ..Way::UDP },
            Way { in_udp: false, is_v6: true, ..Way::UDP },
        ];
        for (way, sender) in ways.into_iter().flat_map(|way| [(way, 0), (way, 1)]) {
            let net = Net::new();
            net.middle.ip("link set middle2 mtu 1380");
            net.second.ip("link set outer mtu 1380");
            let ends = [0, 1].map(|number| End::start(&net, number, way));
            let mut spaces = [&net.first, &net.second];
            if sender == 1 {
                spaces.reverse();
            }
            for is_v6 in [false, true] {
                send_tcp(spaces[0], spaces[1], inside(is_v6)[1 - sender], 1 << 20);
            }
            let all = ends[sender].shared.counters().all;
            assert!(all.paths_learnt == 1 && all.told > 0, "{way:?} from {sender}: {all:?}");
            ends.into_iter().for_each(End::stop);
        }
    });
}

/// What is protected is dropped, not sent, while its SA is missing; that is asked for, and sockets of an address come
/// and go.
#[test]
fn without_an_sa_nothing_leaves() {
    with_rights(|| {
        let net = Net::new();
        let ends = [0, 1].map(|number| End::start(&net, number, Way::UDP));
        let [first, second] = inside(false);
        let (sender, receiver) = (bind(&net.first, first), bind(&net.second, second));
        let address = receiver.local_addr().unwrap();
        let good = (*ends[0].shared.tables()).clone();
        let capture = Capture::begin(&net.middle);
        ends[0].shared.publish(plane::Tables { sad: Default::default(), ..good.clone() });
        assert!(ends[0].shared.take_events().is_empty());
        sender.send_to(MARKER, address).unwrap();
        common::wait_until("an event", || {
            let fd = ends[0].shared.event_fd();
            let mut fds = [rustix::event::PollFd::from_borrowed_fd(fd, rustix::event::PollFlags::IN)];
            rustix::event::poll(&mut fds, Some(&rustix::event::Timespec::default())).unwrap() == 1
        });
        let events = ends[0].shared.take_events();
        assert!(matches!(events[..], [Event::Acquire { policy: 1, .. }]), "{events:?}");
        // Nor without a socket.
        ends[0].shared.publish(good);
        let socket = SocketAddr::new(outside(false)[0], ipsec::NAT_PORT);
        assert!(ends[0].shared.remove_sockets(socket));
        assert!(!ends[0].shared.remove_sockets(socket));
        sender.send_to(MARKER, address).unwrap();
        common::wait_until("a drop", || ends[0].shared.counters().all.lost(Loss::NoSocket) == 1);
        receiver.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        assert!(is_nothing(&uninterrupted(|| receiver.recv(&mut [0; 100])).unwrap_err()));
        assert_eq!(shows(&capture.end()), 0);
        // With both it does.
        let sockets = net.first.run(|| plane::open_udp(socket, 1).unwrap());
        ends[0].shared.add_sockets(socket, sockets).unwrap();
        receiver.set_read_timeout(Some(PATIENCE)).unwrap();
        sender.send_to(MARKER, address).unwrap();
        assert_eq!(uninterrupted(|| receiver.recv(&mut [0; 100])).unwrap(), MARKER.len());
        ends.into_iter().for_each(End::stop);
    });
}

/// What a policy protects is not taken in clear, nor what was sealed for another; what no policy is against goes to
/// where it is for.
#[test]
fn a_datagram_that_is_not_esp_stops_nothing() {
    with_rights(|| {
        let net = Net::new();
        let ends = [0, 1].map(|number| End::start(&net, number, Way::UDP));
        let target = SocketAddr::new(outside(false)[1], ipsec::NAT_PORT);
        let forger = bind(&net.middle, ip("198.51.100.254"));
        for datagram in [&[0xff][..], &[0; 40], &[1; 7], &[0x77; 60], &[]] {
            forger.send_to(datagram, target).unwrap();
        }
        let known = [&0x1001_u32.to_be_bytes()[..], &[0; 60]].concat();
        forger.send_to(&known, target).unwrap();
        let count = |reason| ends[1].shared.counters().all.esp.dropped(reason);
        common::wait_until("all of them", || count(Reason::Unauthenticated) + count(Reason::TooOld) == 1);
        let all = ends[1].shared.counters().all;
        assert_eq!(
            (all.lost(Loss::Keepalive), all.lost(Loss::NotEsp), count(Reason::UnknownSpi)),
            (1, 2, 1),
            "{all:?}"
        );
        // An error of ICMP: nobody listens there, and the socket goes on.
        let [first, second] = inside(false);
        send_udp(&net.first, &net.second, (first, second));
        ends.into_iter().for_each(End::stop);
    });
}
