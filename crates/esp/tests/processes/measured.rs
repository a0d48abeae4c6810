//! How many packets leave in clear, of as many sends as one asks for, in every way that a program has, while worker and
//! supervisor are killed.
//!
//! `CRYPTAND_SENDS` says how many sends: 10,000 if it is not set, 100,000 in `make test-all`. What was sent, killed and
//! seen is printed:
//!
//! ```text
//! CRYPTAND_SENDS=100000 cargo test --release -p esp --test processes measured -- --nocapture
//! ```

use crate::net::{
    Capture, FAR, FAR_INSIDE, FAR_INSIDE_V6, MARKER, NEAR, NEAR_INSIDE, NEAR_INSIDE_V6, Net, ip, send_for,
    wait_until, with_rights,
};
use crate::paths::{
    BROADCAST, GROUP, INSIDE, NOBODY, OUTSIDE, PORT, WAYS, become_nobody, bound, number_option, outer,
    prepare, protect, send,
};
use crate::plane::Plane;
use crate::xfrm;
use nix::libc;
use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{MsgFlags, SockaddrStorage, bind, connect, sendmsg};
use nix::unistd::Pid;
use std::collections::{BTreeMap, BTreeSet};
use std::io::IoSlice;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// So many sends without a filter show what the capture sees.
const CONTROL: usize = 4000;
/// So long a datagram is cut by the stack of its sender.
const LONG_BYTES: usize = 4000;

/// Between two sends of a thread: they are spread over what is killed meanwhile.
const PAUSE: Duration = Duration::from_micros(300);

/// A way to send, by what its packets are known, and one send by it.
struct Sender {
    name: String,
    sign: Sign,
    send: Box<dyn FnMut()>,
}

/// By what packets of a way are known on the wire.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Sign {
    /// What [`content`] has of this number.
    Number(u8),
    /// They begin connections to there.
    TcpTo(IpAddr),
}

/// What shows in each piece of a packet that it left in clear, and by which way.
fn content(number: u8, bytes: usize) -> Vec<u8> {
    let marked = [MARKER, b" #", &[number]].concat();
    marked.iter().copied().cycle().take(bytes.max(marked.len())).collect()
}

/// Those of a program without rights: of the thread that runs this, which has none afterwards.
fn of_nobody() -> Vec<Sender> {
    let link = outer();
    become_nobody();
    let mut senders = Vec::new();
    let mut add = |name: String, sign, send: Box<dyn FnMut()>| senders.push(Sender { name, sign, send });
    let mut number = 0;
    for (ends, where_to) in [(INSIDE, "inside"), (OUTSIDE, "on the link")] {
        for (way, bytes) in WAYS.into_iter().flat_map(|way| [(way, 0), (way, LONG_BYTES)]) {
            for (from, to) in ends {
                let (from, to) = (ip(from), SocketAddr::new(ip(to), PORT));
                let (socket, content) = (prepare(way, from, link), content(number, bytes));
                let family = if from.is_ipv4() { "IPv4" } else { "IPv6" };
                let cut = if bytes > 0 { ", in pieces" } else { "" };
                add(
                    format!("{way:?}, {family} {where_to}{cut}"),
                    Sign::Number(number),
                    Box::new(move || _ = send(&socket, way, link, (from, to), &content)),
                );
                number += 1;
            }
        }
    }
    let datagram = |kind, protocol, from: &str, to: SocketAddr, content: Vec<u8>| {
        let family = if to.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
        let socket = bound(family, kind, protocol);
        bind(socket.as_raw_fd(), &SockaddrStorage::from(SocketAddr::new(ip(from), 0))).unwrap();
        number_option(&socket, libc::SOL_SOCKET, libc::SO_BROADCAST, 1);
        let to = SockaddrStorage::from(to);
        (socket.as_raw_fd(), move || {
            _ = sendmsg(socket.as_raw_fd(), &[IoSlice::new(&content)], &[], MsgFlags::empty(), Some(&to))
        })
    };
    for (name, to) in [("multicast", GROUP), ("broadcast", BROADCAST)] {
        let (_, send) =
            datagram(libc::SOCK_DGRAM, 0, NEAR, SocketAddr::new(ip(to), PORT), content(number, 0));
        add(name.to_owned(), Sign::Number(number), Box::new(send));
        number += 1;
    }
    for (family, from, to, protocol, kind) in [
        ("IPv4", NEAR_INSIDE, FAR_INSIDE, libc::IPPROTO_ICMP, 8),
        ("IPv6", NEAR_INSIDE_V6, FAR_INSIDE_V6, libc::IPPROTO_ICMPV6, 128),
    ] {
        // An echo request, whose checksum the kernel makes.
        let echo = [&[kind, 0, 0, 0, 0, 0, 0, 1][..], &content(number, 0)].concat();
        let (_, send) = datagram(libc::SOCK_DGRAM, protocol, from, SocketAddr::new(ip(to), 0), echo);
        add(format!("echo, {family}"), Sign::Number(number), Box::new(send));
        number += 1;
        // The mark of the data plane takes a right.
        let (descriptor, send) =
            datagram(libc::SOCK_DGRAM, 0, from, SocketAddr::new(ip(to), PORT), content(number, 0));
        let mark = plane::MARK as i32;
        // SAFETY: the value outlives the call, which reads as many bytes; the sender keeps the descriptor open.
        let set = unsafe {
            libc::setsockopt(descriptor, libc::SOL_SOCKET, libc::SO_MARK, std::ptr::from_ref(&mark).cast(), 4)
        };
        assert_eq!((set, std::io::Error::last_os_error().raw_os_error()), (-1, Some(libc::EPERM)));
        add(format!("with the mark, which is refused, {family}"), Sign::Number(number), Box::new(send));
        number += 1;
        let domain = if ip(to).is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
        let (from, to) = (SocketAddr::new(ip(from), 0), SocketAddr::new(ip(to), PORT));
        let connect_once = move || {
            let socket = bound(domain, libc::SOCK_STREAM, 0);
            bind(socket.as_raw_fd(), &SockaddrStorage::from(from)).unwrap();
            let _ = connect(socket.as_raw_fd(), &SockaddrStorage::from(to));
        };
        add(format!("TCP, {family}"), Sign::TcpTo(to.ip()), Box::new(connect_once));
    }
    senders
}

/// Raw sockets of root, without the mark.
fn of_root() -> Vec<Sender> {
    let ends = [(libc::AF_INET, NEAR_INSIDE, FAR_INSIDE), (libc::AF_INET6, NEAR_INSIDE_V6, FAR_INSIDE_V6)];
    let senders = ends.into_iter().enumerate().map(|(at, (family, from, to))| {
        let socket = bound(family, libc::SOCK_RAW, 47);
        bind(socket.as_raw_fd(), &SockaddrStorage::from(SocketAddr::new(ip(from), 0))).unwrap();
        let (content, to) = (content(200 + at as u8, 0), SockaddrStorage::from(SocketAddr::new(ip(to), 0)));
        let send = move || {
            _ = sendmsg(socket.as_raw_fd(), &[IoSlice::new(&content)], &[], MsgFlags::empty(), Some(&to))
        };
        Sender {
            sign: Sign::Number(200 + at as u8),
            name: format!("raw, of root, {}", if at == 0 { "IPv4" } else { "IPv6" }),
            send: Box::new(send),
        }
    });
    senders.collect()
}

/// Of a frame of IP: where it goes, and its protocol.
fn read(frame: &[u8]) -> Option<(IpAddr, u8)> {
    match frame.get(12..14)? {
        [8, 0] => Some((<[u8; 4]>::try_from(frame.get(30..34)?).ok()?.into(), frame[23])),
        [0x86, 0xdd] => Some((<[u8; 16]>::try_from(frame.get(38..54)?).ok()?.into(), frame[20])),
        _ => None,
    }
}

/// Whether a frame is of something that policies are for, as it was sent.
fn is_clear(frame: &[u8]) -> bool {
    let inside = [FAR_INSIDE, FAR_INSIDE_V6, GROUP, BROADCAST].map(ip);
    let is_marked = || frame.windows(MARKER.len()).any(|part| part == MARKER);
    read(frame).is_some_and(|(to, _)| inside.contains(&to)) || is_marked()
}

/// Of which way a frame is that left in clear.
fn sign(frame: &[u8]) -> Option<Sign> {
    let marked = [MARKER, b" #"].concat();
    let after = |place: usize| frame.get(place + marked.len()).map(|number| Sign::Number(*number));
    let numbered = frame.windows(marked.len()).position(|part| part == marked).and_then(after);
    numbered.or_else(|| read(frame).filter(|(_, protocol)| *protocol == 6).map(|(to, _)| Sign::TcpTo(to)))
}

/// Whether a frame is of ESP, as protocol 50 or in UDP.
fn is_sealed(frame: &[u8]) -> bool {
    let port = 4500_u16.to_be_bytes();
    frame.get(12..14) == Some(&[8, 0])
        && (frame.get(23) == Some(&50) || frame.get(23) == Some(&17) && frame.get(36..38) == Some(&port))
}

#[derive(Default, Debug)]
struct Measured {
    tried: usize,
    clear: usize,
    sealed: usize,
    /// How often each way was tried, and those of which something was seen.
    ways: BTreeMap<String, usize>,
    seen: BTreeSet<String>,
    /// Ends of workers and of supervisors.
    kills: [usize; 2],
    time: Duration,
}

/// Sends so often, from threads with and without rights, while processes are killed.
fn measure(net: &Net, plane: &mut Plane<'_>, sends: usize, kills: bool) -> Measured {
    let tried = AtomicUsize::new(0);
    let is_over = || tried.load(Ordering::Acquire) >= sends;
    let capture = Capture::begin(&net.far);
    let begun = Instant::now();
    let run = |make: fn() -> Vec<Sender>| {
        net.near.run(|| {
            let mut senders = make();
            let mut times = 0;
            while !is_over() {
                for sender in &mut senders {
                    (sender.send)();
                    tried.fetch_add(1, Ordering::AcqRel);
                    std::thread::sleep(PAUSE);
                }
                times += 1;
            }
            let of = |sender: Sender| (sender.sign, (sender.name, times));
            senders.into_iter().map(of).collect::<BTreeMap<_, _>>()
        })
    };
    let (mut measured, mut signs) = (Measured::default(), BTreeMap::new());
    std::thread::scope(|scope| {
        let threads = [of_nobody, of_root].map(|make| scope.spawn(move || run(make)));
        for round in (0_u32..).take_while(|_| kills && !is_over()) {
            plane.key(0x1001 + 2 * round);
            // While it seals.
            std::thread::sleep(Duration::from_millis(50));
            let worker = plane.worker();
            kill(Pid::from_raw(worker as i32), Signal::SIGKILL).unwrap();
            measured.kills[0] += 1;
            if round % 3 == 2 {
                plane.stop(if round % 2 == 0 { Signal::SIGTERM } else { Signal::SIGKILL });
                measured.kills[1] += 1;
                std::thread::sleep(Duration::from_millis(20));
                plane.restart(&["--keep"]);
            } else {
                plane.wait_for_another(worker);
            }
        }
        for thread in threads {
            signs.extend(thread.join().unwrap());
        }
    });
    measured.time = begun.elapsed();
    let frames = capture.end();
    let clear: Vec<&Vec<u8>> = frames.iter().filter(|frame| is_clear(frame)).collect();
    let seen = clear.iter().filter_map(|frame| signs.get(&sign(frame)?));
    measured.seen = seen.map(|(name, _)| name.clone()).collect();
    measured.ways = signs.into_values().collect();
    measured.clear = clear.len();
    measured.tried = tried.into_inner();
    measured.sealed = frames.iter().filter(|frame| is_sealed(frame)).count();
    measured
}

fn begin<'n>(net: &'n Net, options: &[&str]) -> Plane<'n> {
    net.near.write("/proc/sys/net/ipv4/ping_group_range", &format!("0 {NOBODY}"));
    let plane = Plane::start(&net.near, options);
    // Neighbours answer: the first packet that leaves is seen.
    wait_until("both families leave where no policy is for them", || {
        let capture = Capture::begin(&net.far);
        send_for(&net.near, Duration::from_millis(50));
        let frames = capture.end();
        let arrives = |to: &str| frames.iter().filter_map(|frame| read(frame)).any(|found| found.0 == ip(to));
        arrives(FAR_INSIDE) && arrives(FAR_INSIDE_V6)
    });
    plane.protect(true);
    protect(&plane, false);
    for many in [GROUP, BROADCAST] {
        plane.xfrm().ok(xfrm::policy(1, (NEAR, many), 32, (NEAR, FAR)));
    }
    plane
}

#[test]
fn packets_in_clear_of_many_sends_while_processes_are_killed() {
    let sends = match (std::env::var("CRYPTAND_SENDS"), std::env::var_os("CRYPTAND_TEST_ALL")) {
        (Ok(text), _) => text.parse().expect("CRYPTAND_SENDS is a number"),
        (_, Some(_)) => 100_000,
        _ => 10_000,
    };
    with_rights(|| {
        // What would leave is seen: without the filter.
        let net = Net::new();
        let mut plane = begin(&net, &["--no-egress-filter"]);
        // Those by which a link is named that Linux takes past routes, whatever the family.
        let is_by_routes = |name: &str| {
            ["Routed", "DontRoute", "UnicastLink", "PacketInfo"].iter().any(|way| name.starts_with(way))
        };
        let mut seen = BTreeSet::new();
        wait_until("every way that leads past routes is seen", || {
            let control = measure(&net, &mut plane, CONTROL, false);
            eprintln!("without the filter: {} of {} sends in clear", control.clear, control.tried);
            seen.extend(control.seen);
            control.ways.keys().all(|name| is_by_routes(name) || seen.contains(name))
        });
        eprintln!("without the filter {} ways are seen: {seen:?}", seen.len());
        drop(plane);

        let net = Net::new();
        let mut plane = begin(&net, &["--keep"]);
        let measured = measure(&net, &mut plane, sends, true);
        let [workers, supervisors] = measured.kills;
        eprintln!(
            "with the filter: {} of {} sends in clear, in {} ways; {} packets sealed; {workers} workers and {supervisors} supervisors ended, in {:.1} s",
            measured.clear,
            measured.tried,
            measured.ways.len(),
            measured.sealed,
            measured.time.as_secs_f64(),
        );
        assert_eq!(measured.clear, 0, "{measured:?}");
        assert!(
            measured.tried >= sends && workers > 1 && supervisors > 0 && measured.sealed > 0,
            "{measured:?}"
        );
        assert!(plane.down().status.success());
    });
}
