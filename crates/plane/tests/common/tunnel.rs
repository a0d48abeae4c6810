//! Both ends of a tunnel, in the namespaces of a net.

use crate::common::{Net, Space, ip};
use engine::{Engine, Options};
use ipsec::*;
use plane::{PathMtus, Shared, Tables, open_raw, open_tun, open_udp, spawn};
use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;

/// How packets travel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Way {
    pub is_v6: bool,
    pub in_udp: bool,
    pub mode: Mode,
    pub suite: Suite,
    pub threads: usize,
}

impl Way {
    pub const UDP: Way = Way {
        is_v6: false,
        in_udp: true,
        mode: Mode::Tunnel,
        suite: Suite::AesGcm16(AesKey::Bits128),
        threads: 1,
    };
}

/// One end.
pub struct End {
    pub shared: Arc<Shared>,
    threads: Vec<JoinHandle<std::io::Result<()>>>,
}

/// The addresses outside, of the first end and the second.
pub fn outside(is_v6: bool) -> [IpAddr; 2] {
    if is_v6 { ["2001:db8:1::1", "2001:db8:2::1"].map(ip) } else { ["192.0.2.1", "198.51.100.1"].map(ip) }
}

/// Those inside.
pub fn inside(is_v6: bool) -> [IpAddr; 2] {
    if is_v6 { ["fd09::1", "fd09::2"].map(ip) } else { ["10.9.0.1", "10.9.0.2"].map(ip) }
}

/// An SA of the end with this number, by its direction.
pub fn sa(engine: &Engine, way: Way, number: usize, direction: Direction) -> Sa {
    let from_first = (number == 0) == (direction == Direction::Out);
    let fill = |bytes: usize| vec![if from_first { 0x5a } else { 0xa5 }; bytes];
    let encryption: Vec<u8> =
        fill(way.suite.encryption_key_bytes()).iter().zip(0..).map(|(byte, at)| byte ^ at).collect();
    let integrity = fill(way.suite.integrity_key_bytes());
    let keys = KeyBytes { encryption: &encryption, integrity: &integrity };
    let [first, second] = outside(way.is_v6);
    let ends = if from_first { (first, second) } else { (second, first) };
    let port = if way.in_udp { NAT_PORT } else { 0 };
    let parameters = SaParameters {
        mode: way.mode,
        source: Endpoint::new(ends.0, port),
        destination: Endpoint::new(ends.1, port),
        in_udp: way.in_udp,
        window: 4096,
        request: 1,
        ..SaParameters::tunnel(if from_first { 0x1001 } else { 0x1002 }, direction, way.suite, keys, ends)
    };
    Sa::new(engine, &parameters, true).unwrap()
}

/// Policies that protect what is inside, or in transport mode TCP between the ends.
pub fn policies(way: Way, number: usize) -> Spd {
    let mut spd = Spd::new();
    let [first, second] = outside(way.is_v6);
    let (local, peer) = if number == 0 { (first, second) } else { (second, first) };
    for direction in PolicyDirection::ALL {
        let is_out = direction == PolicyDirection::Out;
        let ends = if is_out { (local, peer) } else { (peer, local) };
        let template = Template { request: 1, mode: way.mode, ends: Some(ends), spi: None };
        let action = Action::Protect(template);
        let mut add = |fields: SelectorFields| {
            let selector = Selector::new(&fields).unwrap();
            spd.add(direction, Policy { id: 1, selector, priority: 1, action }).unwrap();
        };
        if way.mode == Mode::Transport {
            let family = Family::of(local);
            let (source, destination) = (Prefix::one(ends.0), Prefix::one(ends.1));
            add(SelectorFields { source, destination, protocol: Some(6), ..Selector::all(family).fields() });
            continue;
        }
        for (family, net) in
            [(Family::V4, Prefix::new(ip("10.9.0.0"), 24)), (Family::V6, Prefix::new(ip("fd09::"), 64))]
        {
            add(SelectorFields { source: net, destination: net, ..Selector::all(family).fields() });
        }
    }
    spd
}

impl End {
    /// The end with this number, 0 or 1.
    pub fn start(net: &Net, number: usize, way: Way) -> End {
        let space = [&net.first, &net.second][number];
        let engine = Engine::new(Options::default()).unwrap();
        let shared = Arc::new(Shared::new(engine, way.threads).unwrap());
        let mut sad = Sad::new();
        for direction in [Direction::Out, Direction::In] {
            sad.add(Arc::new(sa(&engine, way, number, direction))).unwrap();
        }
        let local = [false, true].iter().flat_map(|is_v6| [outside(*is_v6)[number], inside(*is_v6)[number]]);
        shared.publish(Tables {
            sad: Arc::new(sad),
            spd: Arc::new(policies(way, number)),
            local: Arc::new(local.collect::<HashSet<_>>()),
            path_mtus: Arc::new(PathMtus::default()),
        });
        let threads = space.run(|| {
            let queues = open_tun("inner", way.threads, false).unwrap();
            let address = SocketAddr::new(outside(way.is_v6)[number], NAT_PORT);
            let udp = vec![(address, open_udp(address, way.threads).unwrap())];
            spawn(&shared, queues, udp, open_raw().unwrap()).unwrap()
        });
        set_up(space, number, way);
        End { shared, threads }
    }

    /// Ends its threads.
    pub fn stop(self) {
        self.shared.stop();
        for thread in self.threads {
            thread.join().unwrap().unwrap();
        }
    }
}

/// Addresses and routes of the TUN; what carries the mark goes past it.
fn set_up(space: &Space, number: usize, way: Way) {
    let path = Path { family: Family::of(outside(way.is_v6)[number]), in_udp: way.in_udp };
    let mtu = inner_mtu(way.suite, path, way.mode, 1500);
    space.ip(&format!("link set inner mtu {mtu} up"));
    for is_v6 in [false, true] {
        let bits = if is_v6 { "64 nodad" } else { "24" };
        let [address, bits] = [inside(is_v6)[number].to_string(), bits.to_string()];
        let (bits, flags) = bits.split_once(' ').unwrap_or((&bits, ""));
        space.ip(format!("addr add {address}/{bits} dev inner {flags}").trim_end());
        let family = if is_v6 { "-6" } else { "-4" };
        space.ip(&format!("{family} rule add not fwmark {} lookup 77 priority 100", plane::MARK));
    }
}
