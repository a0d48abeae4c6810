//! Programs without rights that choose their packets' path: by naming a link, or that nothing is to be routed. Without
//! the egress filter that leads past policies, with it nowhere.

use crate::net::{
    Capture, FAR, FAR_INSIDE, FAR_INSIDE_V6, FAR_OUTSIDE_V6, MARKER, NEAR, NEAR_INSIDE, NEAR_INSIDE_V6,
    NEAR_OUTSIDE_V6, Net, Space, ip, is_in_user_namespace, wait_until, with_rights,
};
use crate::plane::Plane;
use crate::spaces::join;
use crate::xfrm::{self, with_ports};
use netlink_packet_xfrm::XfrmMessage;
use netlink_sys::Socket;
use netlink_sys::protocols::NETLINK_NETFILTER;
use nix::libc;
use nix::sys::signal::Signal;
use nix::sys::socket::{
    AddressFamily, ControlMessage, MsgFlags, SockFlag, SockType, SockaddrStorage, bind, sendmsg, setsockopt,
    socket, sockopt,
};
use rustix::net::{Protocol, SendFlags, SocketFlags, SocketType};
use rustix::thread::{CapabilitySet, CapabilitySets};
use std::io::IoSlice;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

pub const NOBODY: u32 = 65_534;
/// To this port policies with ports are for; and one that none is for.
pub const PORT: u16 = 1701;
const OTHER_PORT: u16 = 9;
/// What every round of all ways sends at least, until something was seen.
const ROUNDS: usize = 40;
/// So often that is done before nothing is taken for nothing.
const TURNS: usize = 4;
/// And so often where something must be seen, once neighbours have answered.
const TURNS_MAX: usize = 400;

/// How a program says which way its packets go.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Way {
    /// As routes say.
    Routed,
    BindToDevice,
    /// `IP_UNICAST_IF`, `IPV6_UNICAST_IF`.
    UnicastLink,
    /// `IP_PKTINFO`, `IPV6_PKTINFO` with an index.
    PacketInfo,
    /// `MSG_DONTROUTE`.
    DontRoute,
    /// `SO_DONTROUTE`.
    DontRouteSocket,
    /// Both.
    BoundAndDontRoute,
}

pub const WAYS: [Way; 7] = [
    Way::Routed,
    Way::BindToDevice,
    Way::UnicastLink,
    Way::PacketInfo,
    Way::DontRoute,
    Way::DontRouteSocket,
    Way::BoundAndDontRoute,
];

/// Takes all rights from this thread, and makes it another user's where there is one.
pub fn become_nobody() {
    if !is_in_user_namespace() {
        for call in [libc::SYS_setresgid, libc::SYS_setresuid] {
            // SAFETY: the call takes three numbers; by the kernel's own call it changes this thread alone.
            assert_eq!(unsafe { libc::syscall(call, NOBODY, NOBODY, NOBODY) }, 0);
        }
    }
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, sets).unwrap();
}

pub fn number_option(socket: &OwnedFd, level: i32, option: i32, value: i32) {
    let bytes = size_of::<i32>() as u32;
    // SAFETY: the value outlives the call, which reads as many bytes.
    let set = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, option, std::ptr::from_ref(&value).cast(), bytes)
    };
    assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
}

/// A socket of UDP that sends to `to` in a way, by the link with this index.
pub fn prepare(way: Way, from: IpAddr, link: i32) -> OwnedFd {
    let family = if from.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let made =
        socket(family, SockType::Datagram, SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK, None).unwrap();
    if matches!(way, Way::BindToDevice | Way::BoundAndDontRoute) {
        setsockopt(&made, sockopt::BindToDevice, &"outer".into()).unwrap();
    }
    if way == Way::UnicastLink {
        // Their numbers, of linux/in.h and in6.h.
        match from {
            IpAddr::V4(_) => number_option(&made, libc::IPPROTO_IP, 50, link.to_be()),
            IpAddr::V6(_) => number_option(&made, libc::IPPROTO_IPV6, 76, link.to_be()),
        }
    }
    if way == Way::DontRouteSocket {
        number_option(&made, libc::SOL_SOCKET, libc::SO_DONTROUTE, 1);
    }
    bind(made.as_raw_fd(), &SockaddrStorage::from(SocketAddr::new(from, 0))).unwrap();
    made
}

/// Sends a datagram; whether the kernel took it.
pub fn send(socket: &OwnedFd, way: Way, link: i32, (from, to): (IpAddr, SocketAddr), content: &[u8]) -> bool {
    let (v4, v6);
    let mut said = Vec::new();
    if way == Way::PacketInfo {
        // Without an address there it would be the link's, which the policies here are not for.
        match from {
            IpAddr::V4(from) => {
                let source = libc::in_addr { s_addr: u32::from_ne_bytes(from.octets()) };
                let nothing = libc::in_addr { s_addr: 0 };
                v4 = libc::in_pktinfo { ipi_ifindex: link, ipi_spec_dst: source, ipi_addr: nothing };
                said.push(ControlMessage::Ipv4PacketInfo(&v4));
            }
            IpAddr::V6(from) => {
                let source = libc::in6_addr { s6_addr: from.octets() };
                v6 = libc::in6_pktinfo { ipi6_addr: source, ipi6_ifindex: link as u32 };
                said.push(ControlMessage::Ipv6PacketInfo(&v6));
            }
        }
    }
    let is_direct = matches!(way, Way::DontRoute | Way::BoundAndDontRoute);
    let flags = if is_direct { MsgFlags::from_bits_retain(libc::MSG_DONTROUTE) } else { MsgFlags::empty() };
    let to = SockaddrStorage::from(to);
    sendmsg(socket.as_raw_fd(), &[IoSlice::new(content)], &said, flags, Some(&to)).is_ok()
}

/// Number of the link outside, in the namespace of this thread.
pub fn outer() -> i32 {
    // SAFETY: the name ends with a zero byte.
    let link = unsafe { libc::if_nametoindex(c"outer".as_ptr()) } as i32;
    assert!(link > 1);
    link
}

/// Sends datagrams in all ways and both families as nobody, until told to end; how many were tried.
fn attack(
    space: &Space,
    ends: [(&str, &str); 2],
    port: u16,
    ways: &[Way],
    until: impl Fn(usize) -> bool + Send + Sync,
) -> usize {
    space.run(|| {
        let link = outer();
        become_nobody();
        let prepared: Vec<_> = ends
            .iter()
            .flat_map(|(from, to)| {
                ways.iter().map(move |way| (*way, ip(from), SocketAddr::new(ip(to), port)))
            })
            .map(|(way, from, to)| (way, prepare(way, from, link), (from, to)))
            .collect();
        let mut tried = 0;
        for round in 0.. {
            for (way, socket, ends) in &prepared {
                send(socket, *way, link, *ends, MARKER);
                tried += 1;
            }
            if until(round) {
                return tried;
            }
            std::thread::sleep(Duration::from_micros(500));
        }
        tried
    })
}

/// How many datagrams are seen in clear on the peer's link.
fn seen(net: &Net, run: impl FnOnce()) -> usize {
    let capture = Capture::begin(&net.far);
    run();
    capture.seen().clear
}

/// Whether a way leads past policies: some datagrams are seen. The first ones wait until the peer's address on the link
/// is known.
fn leaks(net: &Net, end: (&str, &str), port: u16, way: Way) -> bool {
    are_seen(net, end, port, way, TURNS)
}

/// Waits for a way to lead past policies.
fn leaks_at_last(net: &Net, end: (&str, &str), port: u16, way: Way) -> bool {
    are_seen(net, end, port, way, TURNS_MAX)
}

fn are_seen(net: &Net, end: (&str, &str), port: u16, way: Way, turns: usize) -> bool {
    (0..turns).any(|_| {
        let clear = seen(net, || {
            attack(&net.near, [end, end], port, &[way], |round| round >= ROUNDS);
        });
        clear > 0
    })
}

/// Destinations that are many.
pub const GROUP: &str = "239.1.2.3";
pub const BROADCAST: &str = "192.0.2.255";
pub const INSIDE: [(&str, &str); 2] = [(NEAR_INSIDE, FAR_INSIDE), (NEAR_INSIDE_V6, FAR_INSIDE_V6)];
pub const OUTSIDE: [(&str, &str); 2] = [(NEAR, FAR), (NEAR_OUTSIDE_V6, FAR_OUTSIDE_V6)];

/// Policies of both families for one port: in tunnel mode for what is inside, in transport mode between both ends,
/// which are on one link.
pub fn protect(plane: &Plane<'_>, is_tunnel: bool) {
    let mut client = plane.xfrm();
    for (near, far) in if is_tunnel { INSIDE } else { OUTSIDE } {
        let bits = if ip(near).is_ipv4() { 32 } else { 128 };
        let outside = if is_tunnel { (NEAR, FAR) } else { (near, far) };
        let policy = with_ports(xfrm::policy(1, (near, far), bits, outside), 17, (0, PORT));
        client.ok(if is_tunnel { policy } else { xfrm::transport(policy) });
    }
}

/// A message of nf_tables for IPv4, or one of a batch's bounds, with these attributes.
fn message(kind: u16, flags: u16, resource: u16, attributes: &[u8]) -> Vec<u8> {
    let length = 20 + attributes.len() as u32;
    let family = if kind == DELETE_TABLE { 0 } else { 2 };
    let head = [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), &flags.to_ne_bytes(), &[0; 8]].concat();
    [&head[..], &[family, 0], &resource.to_be_bytes(), attributes].concat()
}

/// `NFT_MSG_NEWTABLE` and `NFT_MSG_DELTABLE` of linux/netfilter/nf_tables.h, with the number of the subsystem.
const NEW_TABLE: u16 = 0x0a00;
const DELETE_TABLE: u16 = 0x0a02;

/// Has the kernel carry out messages in one step.
fn batch(space: &Space, messages: &[Vec<u8>]) -> Socket {
    let bounds = [0x10, 0x11].map(|kind| message(kind, 1, 10, &[]));
    let bytes = [&bounds[0][..], &messages.concat(), &bounds[1]].concat();
    space.run(|| {
        let mut socket = Socket::new(NETLINK_NETFILTER).unwrap();
        socket.bind_auto().unwrap();
        socket.send(&bytes, 0).unwrap();
        for _ in messages {
            let (answer, _) = socket.recv_from_full().unwrap();
            assert_eq!(answer[16..20], [0; 4], "{answer:?}");
        }
        socket
    })
}

/// Removes the tables of the filter, as `nft flush ruleset` does: all tables of all families, by a message without a
/// name.
fn remove_tables(space: &Space) {
    batch(space, &[message(DELETE_TABLE, 5, 0, &[])]);
}

/// The same, and keeps the names of those of IPv4 from everybody, until the socket is dropped (`NFT_TABLE_F_OWNER`).
fn take_tables(space: &Space) -> Socket {
    let owned = ["cryptand-esp-0", "cryptand-esp-1"].map(|name| {
        let name = [&19_u16.to_ne_bytes()[..], &1_u16.to_ne_bytes(), name.as_bytes(), &[0; 2]].concat();
        let flags = [&8_u16.to_ne_bytes()[..], &2_u16.to_ne_bytes(), &2_u32.to_be_bytes()].concat();
        message(NEW_TABLE, 0x405, 0, &[name, flags].concat())
    });
    let [one, other] = owned;
    batch(space, &[message(DELETE_TABLE, 5, 0, &[]), one, other])
}

/// Whether the kernel has a filter, as `check` says.
fn is_in_force(plane: &Plane<'_>) -> bool {
    let text = plane.shows("check", true);
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    found["egress_filter_in_force"].as_bool().unwrap()
}

#[test]
fn every_way_leads_past_routes_and_none_past_the_filter() {
    with_rights(|| {
        for (is_tunnel, ends) in [(true, INSIDE), (false, OUTSIDE)] {
            let net = Net::new();
            // By routes alone.
            let plane = Plane::start(&net.near, &["--no-egress-filter"]);
            assert!(plane.shows("status", false).contains("none: programs that name a link send in clear"));
            protect(&plane, is_tunnel);
            for way in WAYS {
                for end in ends {
                    let expected = leads_past_routes(way, is_tunnel, ip(end.0).is_ipv6());
                    let is = if expected { leaks_at_last } else { leaks };
                    let is = is(&net, end, PORT, way);
                    assert_eq!(is, expected, "{way:?} {end:?}, tunnel {is_tunnel}, by routes");
                }
            }
            assert!(plane.down().status.success());
            drop(plane);
            let plane = Plane::start(&net.near, &[]);
            protect(&plane, is_tunnel);
            let mut tried = 0;
            let clear = seen(&net, || {
                tried = attack(&net.near, ends, PORT, &WAYS, |round| round >= 200);
            });
            assert!(clear == 0 && tried > 2000, "tunnel {is_tunnel}: {clear} of {tried} in clear");
            // What no policy is for leaves in each of these ways, and as routed.
            for way in WAYS {
                for end in ends {
                    let is_routed = way == Way::Routed;
                    if is_routed || leads_past_routes(way, is_tunnel, ip(end.0).is_ipv6()) {
                        let is = leaks_at_last(&net, end, OTHER_PORT, way);
                        assert!(is, "{way:?} {end:?}, tunnel {is_tunnel}: of another port");
                    }
                }
            }
            // Without the tables, which nobody puts back once the supervisor is dead, it would leave.
            let mut plane = plane;
            plane.stop(Signal::SIGKILL);
            assert!(!leaks(&net, ends[0], PORT, Way::BindToDevice));
            remove_tables(&net.near);
            assert!(
                leaks_at_last(&net, ends[0], PORT, Way::BindToDevice),
                "without tables, tunnel {is_tunnel}"
            );
        }
    });
}

/// Which ways Linux takes past rules and routes of the data plane: with IPv6 only sockets that are bound to a link;
/// with IPv4 all that name one, and where nothing is to be routed what is on the link.
fn leads_past_routes(way: Way, is_off_link: bool, is_v6: bool) -> bool {
    match way {
        Way::Routed => false,
        Way::BindToDevice | Way::BoundAndDontRoute => true,
        Way::UnicastLink | Way::PacketInfo => !is_v6,
        Way::DontRoute | Way::DontRouteSocket => !is_v6 && !is_off_link,
    }
}

#[test]
fn nothing_leaves_while_processes_are_killed_and_tables_are_put_back() {
    with_rights(|| {
        let net = Net::new();
        let mut plane = Plane::start(&net.near, &[]);
        protect(&plane, true);
        protect(&plane, false);
        let capture = Capture::begin(&net.far);
        let (is_over, tried) = (AtomicBool::new(false), AtomicUsize::new(0));
        let is_over = &is_over;
        std::thread::scope(|scope| {
            for ends in [INSIDE, OUTSIDE] {
                let (net, tried) = (&net, &tried);
                scope.spawn(move || {
                    let sent = attack(&net.near, ends, PORT, &WAYS, |_| is_over.load(Ordering::Acquire));
                    tried.fetch_add(sent, Ordering::AcqRel);
                });
            }
            plane.kill_worker();
            plane.kill_worker();
            plane.stop(Signal::SIGKILL);
            plane.restart(&["--keep"]);
            plane.stop(Signal::SIGTERM);
            plane.restart(&[]);
            assert_eq!(plane.status()["policies"], 4);
            is_over.store(true, Ordering::Release);
        });
        let (clear, tried) = (capture.seen().clear, tried.load(Ordering::Acquire));
        assert!(clear == 0 && tried > 5000, "{clear} of {tried} in clear");
        for _ in 0..3 {
            remove_tables(&net.near);
            wait_until("the tables are put back", || is_in_force(&plane));
        }
        assert!(plane.log().contains("others changed the egress filter"), "{}", plane.log());
        assert!(
            !leaks(&net, INSIDE[0], PORT, Way::BindToDevice)
                && !leaks(&net, OUTSIDE[0], PORT, Way::PacketInfo)
        );
        plane.xfrm().ok(XfrmMessage::FlushPolicy(Default::default()));
        assert!(!is_in_force(&plane), "tables go with the last policy");
        assert!(leaks_at_last(&net, INSIDE[0], PORT, Way::BindToDevice), "what no policy is for leaves");
        protect(&plane, true);
        assert!(is_in_force(&plane) && plane.down().status.success());
        assert!(!is_in_force(&plane), "down takes them away");
    });
}

/// A data plane whose filter cannot be put back does not serve, and puts it back once it can: at its start, and while
/// it serves.
#[test]
fn a_worker_waits_for_a_filter_that_cannot_be_put_back() {
    const HELD: Duration = Duration::from_secs(3);
    with_rights(|| {
        let net = Net::new();
        let mut plane = Plane::start(&net.near, &[]);
        protect(&plane, true);
        plane.stop(Signal::SIGKILL);
        let taken = take_tables(&net.near);
        let begun = Instant::now();
        std::thread::scope(|scope| {
            let net = &net;
            scope.spawn(move || {
                // What policies let pass, and is led into the device: nobody takes it there.
                let clear = seen(net, || {
                    let is_over = |_| begun.elapsed() >= HELD;
                    attack(&net.near, INSIDE, OTHER_PORT, &[Way::Routed], is_over);
                });
                drop(taken);
                assert_eq!(clear, 0, "a worker that waits carries nothing");
            });
            plane.restart(&[]);
        });
        assert!(begun.elapsed() >= HELD, "it served without a filter");
        let text = plane.log();
        assert_eq!(
            text.matches("setting the egress filter (nf_tables): Operation not permitted").count(),
            1,
            "{text}"
        );
        assert!(text.contains("the egress filter is in force"), "{text}");
        let has_filter = |plane: &Plane<'_>| plane.status()["egress_filter"] == true;
        assert!(is_in_force(&plane) && has_filter(&plane));
        assert!(!leaks(&net, INSIDE[0], PORT, Way::BindToDevice));
        assert!(leaks_at_last(&net, INSIDE[0], OTHER_PORT, Way::Routed), "it carries what passes");
        // While it serves, it says so, and goes on.
        let taken = take_tables(&net.near);
        wait_until("the status says that there is none", || !has_filter(&plane));
        drop(taken);
        wait_until("the filter is put back", || is_in_force(&plane) && has_filter(&plane));
        assert!(!leaks(&net, INSIDE[0], PORT, Way::BindToDevice));
        assert!(plane.down().status.success());
    });
}

/// A network behind the near side, which forwards by rules of others.
fn with_lan() -> (Net, Space) {
    let (net, lan) = (Net::new(), Space::new());
    join(&lan, "lan", &net.near, "inner");
    for (space, link, number) in [(&lan, "lan", 9), (&net.near, "inner", 254)] {
        space.ip(&format!("addr add 10.1.0.{number}/24 dev {link}"));
        space.ip(&format!("addr add fd01::{number}/64 dev {link} nodad"));
        space.ip(&format!("link set {link} up"));
    }
    lan.ip("route add default via 10.1.0.254");
    lan.ip("-6 route add default via fd01::254");
    net.near.write("/proc/sys/net/ipv4/ip_forward", "1");
    net.near.write("/proc/sys/net/ipv6/conf/all/forwarding", "1");
    for family in ["-4", "-6"] {
        net.near.ip(&format!("{family} rule add priority 100 lookup main"));
    }
    (net, lan)
}

/// Rules of routing that stand before those of the data plane, for packets of this machine and those that go through
/// it.
#[test]
fn routes_of_others_lead_nothing_past_the_filter() {
    with_rights(|| {
        let (net, lan) = with_lan();
        let through = [("10.1.0.9", FAR_INSIDE), ("fd01::9", FAR_INSIDE_V6)];
        for options in [&["--no-egress-filter"][..], &[]] {
            let plane = Plane::start(&net.near, options);
            plane.protect(true);
            let is_filtered = options.is_empty();
            for (space, ends) in [(&net.near, INSIDE), (&lan, through)] {
                for end in ends {
                    let send = || {
                        let sender = crate::net::udp(space, end.0);
                        for _ in 0..200 {
                            let _ = sender.send_to(MARKER, SocketAddr::new(ip(end.1), PORT));
                        }
                    };
                    let turns = if is_filtered { TURNS } else { TURNS_MAX };
                    let clear = (0..turns).map(|_| seen(&net, send)).find(|clear| *clear > 0);
                    assert_eq!(
                        clear.is_none(),
                        is_filtered,
                        "{end:?}: {clear:?} in clear, filtered {is_filtered}"
                    );
                }
            }
            assert!(plane.down().status.success());
        }
    });
}

/// A later piece from the network behind to there, which says so much of its protocol.
fn later_piece(destination: &str, stated: u8) -> Vec<u8> {
    // Not what would be ports of the first one: any that looks like a better policy's.
    let content = [&OTHER_PORT.to_be_bytes()[..], &OTHER_PORT.to_be_bytes(), MARKER, &[0; 64]].concat();
    match ip(destination) {
        IpAddr::V4(destination) => {
            let bytes = ((20 + content.len()) as u16).to_be_bytes();
            let first = [0x45, 0, bytes[0], bytes[1], 0, 9, 0, 100, 64, stated, 0, 0, 10, 1, 0, 9];
            [&first[..], &destination.octets(), &content].concat()
        }
        IpAddr::V6(destination) => {
            let IpAddr::V6(source) = ip("fd01::9") else { unreachable!("of IPv6") };
            let bytes = ((8 + content.len()) as u16).to_be_bytes();
            let first = [0x60, 0, 0, 0, bytes[0], bytes[1], 44, 64];
            let header = [stated, 0, 0x03, 0x20, 0, 0, 0, 9];
            [&first[..], &source.octets(), &destination.octets(), &header, &content].concat()
        }
    }
}

/// Later pieces show no ports, and those of IPv6 state a protocol that nobody holds them to. They are dropped where a
/// policy may be for them, whatever they state.
#[test]
fn later_pieces_lead_nothing_past_the_filter_whatever_they_state() {
    with_rights(|| {
        let (net, lan) = with_lan();
        let [v4, v6] = [rustix::net::AddressFamily::INET, rustix::net::AddressFamily::INET6].map(|family| {
            let raw = Protocol::from_raw(std::num::NonZeroU32::new(255).unwrap());
            let flags = SocketFlags::CLOEXEC;
            lan.run(|| rustix::net::socket_with(family, SocketType::RAW, flags, Some(raw)).unwrap())
        });
        let leave = |destination: &str, stated: u8, turns: usize| {
            let to = SocketAddr::new(ip(destination), 0);
            let sender = if to.is_ipv4() { &v4 } else { &v6 };
            let piece = later_piece(destination, stated);
            let send = || {
                for _ in 0..50 {
                    let _ = rustix::net::sendto(sender, &piece, SendFlags::empty(), &to);
                }
            };
            (0..turns).any(|_| seen(&net, send) > 0)
        };
        // UDP as it is, TCP, nothing, and options, behind which the protocol would stand. With IPv4 the header says it
        // of each piece.
        let families = [
            ("10.1.0.9", FAR_INSIDE, "10.2.0.99", 32, &[17][..], &[6][..]),
            ("fd01::9", FAR_INSIDE_V6, "fd02::99", 128, &[17, 6, 59, 60], &[]),
        ];
        for options in [&["--no-egress-filter"][..], &[]] {
            // By a port, and by the protocol alone.
            for (port, (source, destination, elsewhere, bits, may_be, are_not)) in
                [(PORT, families[0]), (PORT, families[1]), (0, families[0]), (0, families[1])]
            {
                let plane = Plane::start(&net.near, options);
                let policy = xfrm::policy(1, (source, destination), bits, (NEAR, FAR));
                plane.xfrm().ok(with_ports(policy, 17, (0, port)));
                for stated in may_be {
                    let is_open = !options.is_empty();
                    let turns = if is_open { TURNS_MAX } else { TURNS };
                    let what = format!("{destination}, {stated}, port {port}");
                    assert_eq!(leave(destination, *stated, turns), is_open, "{what}");
                    assert!(leave(elsewhere, *stated, TURNS_MAX), "{what}: no policy is for it");
                }
                for stated in are_not {
                    assert!(
                        leave(destination, *stated, TURNS_MAX),
                        "{destination}, {stated}: not of its protocol"
                    );
                }
                assert!(plane.down().status.success());
            }
        }
    });
}

/// The better policy decides, as in the tables of the data plane.
#[test]
fn bypasses_and_priorities_hold_in_the_filter() {
    with_rights(|| {
        let net = Net::new();
        let plane = Plane::start(&net.near, &[]);
        plane.protect(true);
        let bypass = |end: (&str, &str), priority: u32| {
            let bits = if ip(end.0).is_ipv4() { 32 } else { 128 };
            let XfrmMessage::AddPolicy(mut policy) = xfrm::policy(1, end, bits, (NEAR, FAR)) else {
                unreachable!("a policy")
            };
            policy.nlas.clear();
            policy.user_policy_info.priority = priority;
            with_ports(XfrmMessage::AddPolicy(policy), 17, (0, PORT))
        };
        assert!(!leaks(&net, INSIDE[0], PORT, Way::BindToDevice));
        // Of two with one priority the older decides, for the next worker too.
        INSIDE.into_iter().for_each(|end| plane.xfrm().ok(bypass(end, 100)));
        assert!(!leaks(&net, INSIDE[0], PORT, Way::BindToDevice), "a younger one decides nothing");
        plane.kill_worker();
        assert!(!leaks(&net, INSIDE[0], PORT, Way::BindToDevice), "nor with the next worker");
        for end in INSIDE {
            let XfrmMessage::AddPolicy(policy) = bypass(end, 50) else { unreachable!("a policy") };
            plane.xfrm().ok(XfrmMessage::UpdatePolicy(policy));
        }
        for way in [Way::Routed, Way::BindToDevice, Way::PacketInfo, Way::UnicastLink] {
            assert!(leaks_at_last(&net, INSIDE[0], PORT, way), "{way:?}: a better one lets pass");
        }
        plane.kill_worker();
        assert!(leaks_at_last(&net, INSIDE[0], PORT, Way::BindToDevice), "with the next worker too");
        // Its packets alone.
        let clear = seen(&net, || {
            attack(&net.near, INSIDE, OTHER_PORT, &WAYS, |round| round >= ROUNDS);
        });
        assert_eq!(clear, 0);
    });
}

/// The addresses of packets on the wire that go to one of these.
fn packets_to(frames: &[Vec<u8>], address: IpAddr) -> usize {
    let is_to = |frame: &&Vec<u8>| match address {
        IpAddr::V4(address) => frame[12..14] == [8, 0] && frame.get(30..34) == Some(&address.octets()),
        IpAddr::V6(address) => frame[12..14] == [0x86, 0xdd] && frame.get(38..54) == Some(&address.octets()),
    };
    frames.iter().filter(is_to).count()
}

/// A socket that is bound to the link outside.
pub fn bound(family: i32, kind: i32, protocol: i32) -> OwnedFd {
    // SAFETY: the call takes numbers, and gives a descriptor that nobody else has.
    let made = unsafe { libc::socket(family, kind | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, protocol) };
    assert!(made >= 0, "{}", std::io::Error::last_os_error());
    // SAFETY: it was just made.
    let made = unsafe { <OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(made) };
    setsockopt(&made, sockopt::BindToDevice, &"outer".into()).unwrap();
    made
}

/// Connections, raw sockets of IP, and destinations that are many.
#[test]
fn neither_connections_nor_raw_sockets_nor_multicast_lead_past_the_filter() {
    with_rights(|| {
        for options in [&["--no-egress-filter"][..], &[]] {
            let net = Net::new();
            let plane = Plane::start(&net.near, options);
            plane.protect(true);
            for many in [GROUP, BROADCAST] {
                plane.xfrm().ok(xfrm::policy(1, (NEAR, many), 32, (NEAR, FAR)));
            }
            let is_filtered = options.is_empty();
            let send_all = |is_nobody: bool, kind, protocol, from: &str, to: SocketAddr| {
                net.near.run(|| {
                    if is_nobody {
                        become_nobody();
                    }
                    for _ in 0..20 {
                        let made = bound(libc::AF_INET, kind, protocol);
                        number_option(&made, libc::SOL_SOCKET, libc::SO_BROADCAST, 1);
                        let from = SockaddrStorage::from(SocketAddr::new(ip(from), 0));
                        bind(made.as_raw_fd(), &from).unwrap();
                        let to = SockaddrStorage::from(to);
                        if kind == libc::SOCK_STREAM {
                            let _ = nix::sys::socket::connect(made.as_raw_fd(), &to);
                        } else {
                            let parts = [IoSlice::new(MARKER)];
                            let _ = sendmsg(made.as_raw_fd(), &parts, &[], MsgFlags::empty(), Some(&to));
                        }
                    }
                });
            };
            for (what, is_nobody, kind, protocol, from, to) in [
                ("TCP", true, libc::SOCK_STREAM, 0, NEAR_INSIDE, FAR_INSIDE),
                ("raw", false, libc::SOCK_RAW, 47, NEAR_INSIDE, FAR_INSIDE),
                ("multicast", true, libc::SOCK_DGRAM, 0, NEAR, GROUP),
                ("broadcast", true, libc::SOCK_DGRAM, 0, NEAR, BROADCAST),
            ] {
                let turns = if is_filtered { TURNS } else { TURNS_MAX };
                let found = (0..turns).any(|_| {
                    let capture = Capture::begin(&net.far);
                    send_all(is_nobody, kind, protocol, from, SocketAddr::new(ip(to), PORT));
                    packets_to(&capture.end(), ip(to)) > 0
                });
                assert_eq!(found, !is_filtered, "{what}, filtered {is_filtered}");
            }
        }
    });
}
