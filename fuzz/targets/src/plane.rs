//! What the data plane reads from its TUN, and from outside.

use engine::{Engine, Options};
use ipsec::*;
use plane::{Arrivals, Batch, Core, Placed, Shared, Superpacket, Tables, VNET_BYTES, Vnet, Ways};
use std::io::IoSlice;
use std::sync::{Arc, OnceLock};

const SPI: u32 = 4096;

fn engine() -> Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    *ENGINE.get_or_init(|| Engine::new(Options::default()).expect("an engine"))
}

fn shared() -> Arc<Shared> {
    static SHARED: OnceLock<Arc<Shared>> = OnceLock::new();
    let make = || {
        let engine = engine();
        let shared = Shared::new(engine, 1).expect("one thread");
        shared.publish(tables(&engine));
        Arc::new(shared)
    };
    Arc::clone(SHARED.get_or_init(make))
}

/// An SA of each direction between 192.0.2.1 and 192.0.2.2; packets for 10/8 and fd00::/8 are protected, others pass.
fn tables(engine: &Engine) -> Tables {
    let (mut sad, mut spd) = (Sad::new(), Spd::new());
    let ends = ([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
    for (direction, mode, spi) in [
        (Direction::Out, Mode::Tunnel, SPI),
        (Direction::In, Mode::Tunnel, SPI),
        (Direction::In, Mode::Transport, SPI + 1),
    ] {
        let keys = KeyBytes { encryption: &[], integrity: &[0x5a; 20] };
        let suite = Suite::Separate(Encryption::Null, Integrity::Sha1);
        let parameters = SaParameters {
            request: 1,
            mode,
            window: 0,
            source: Endpoint::new(ends.0, NAT_PORT),
            destination: Endpoint::new(ends.1, NAT_PORT),
            in_udp: true,
            ..SaParameters::tunnel(spi, direction, suite, keys, ends)
        };
        sad.add(Arc::new(Sa::new(engine, &parameters, true).expect("an SA"))).expect("room");
    }
    let template = Template { request: 1, mode: Mode::Tunnel, ends: Some(ends), spi: None };
    let prefixes =
        [(Family::V4, Prefix::new([10, 0, 0, 0].into(), 8)), (Family::V6, Prefix::new([0xfd; 16].into(), 8))];
    for (family, destination) in prefixes {
        let fields = SelectorFields { destination, ..Selector::all(family).fields() };
        let selector = Selector::new(&fields).expect("a prefix");
        let policy = Policy { id: 1, selector, priority: 1, action: Action::Protect(template) };
        for direction in PolicyDirection::ALL {
            spd.add(direction, policy).expect("room");
        }
    }
    Tables { sad: Arc::new(sad), spd: Arc::new(spd), ..Tables::default() }
}

/// Keeps what leaves.
#[derive(Default)]
struct Kept {
    tun: Vec<Vec<u8>>,
    packets: usize,
    sealed: Vec<Vec<u8>>,
    clear: Vec<Vec<u8>>,
}

impl Ways for Kept {
    fn to_tun(&mut self, parts: &[IoSlice<'_>], packets: usize) {
        self.tun.push(parts.iter().flat_map(|part| part.iter().copied()).collect());
        self.packets += packets;
    }

    fn outside(&mut self, memory: &mut [u8], packets: &[Placed]) {
        self.sealed.extend(packets.iter().map(|packet| memory[packet.start..packet.end].to_vec()));
    }

    fn in_clear(&mut self, packet: &[u8]) -> bool {
        self.clear.push(packet.to_vec());
        true
    }
}

fn cut(bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let packets = Superpacket::read(bytes).ok()?;
    let write = |number| {
        let mut packet = vec![0; packets.frame_bytes(number)];
        packets.write(&engine(), number, &mut packet);
        packet
    };
    Some((0..packets.frames()).map(write).collect())
}

/// A read of the TUN: the kernel's header and what follows it. All packets within are packets of IP; those that are
/// protected leave sealed or not at all, and what was sealed is opened to what it was.
pub fn vnet_header(data: &[u8]) {
    let shared = shared();
    let tables = shared.tables();
    let packets = cut(data);
    for packet in packets.iter().flatten() {
        let inner = Inner::read(packet).expect("a packet");
        assert_eq!(inner.bytes, packet.len());
    }
    let (mut core, mut kept) = (Core::new(&shared), Kept::default());
    let mut batch = Batch::new(&tables, Time::default());
    core.take(&mut batch, &mut kept, data);
    core.seal(&mut batch, &mut kept);
    let Some(packets) = packets else {
        return assert!(kept.sealed.is_empty() && kept.clear.is_empty() && kept.tun.is_empty());
    };
    let is_protected = |packet: &[u8]| {
        let destination = Inner::read(packet).expect("a packet").flow.destination();
        match destination {
            std::net::IpAddr::V4(address) => address.octets()[0] == 10,
            std::net::IpAddr::V6(address) => address.octets()[0] == 0xfd,
        }
    };
    assert!(kept.clear.iter().all(|packet| !is_protected(packet)));
    assert!(kept.sealed.is_empty() || is_protected(&packets[0]));
    // In transport between two threads nothing is lost: they open to what was cut.
    let (mut arrivals, mut opened) = (Arrivals::default(), Kept::default());
    for packet in &kept.sealed {
        core.room(&arrivals)[..packet.len()].copy_from_slice(packet);
        let arrival = Arrival::new(Endpoint::new([192, 0, 2, 1].into(), NAT_PORT), [192, 0, 2, 2].into());
        core.add(&mut arrivals, &tables, arrival, packet.len(), None);
        if arrivals.is_full() {
            core.open(&mut arrivals, &tables, Time::default(), &mut opened, true);
        }
    }
    core.open(&mut arrivals, &tables, Time::default(), &mut opened, true);
    assert_eq!(opened.packets, kept.sealed.len());
    if kept.sealed.len() == packets.len() {
        let again: Vec<_> = opened.tun.iter().flat_map(|bytes| cut(bytes).expect("well made")).collect();
        assert_eq!(again.len(), packets.len());
    }
}

/// Datagrams from outside, as the kernel puts them together: two bytes of length for those within, then all of them;
/// and the same bytes as a whole packet of IP, as a raw socket brings it. What is written to the TUN is packets, each
/// in one write or in superpackets that are cut to as many.
pub fn outer_datagram(data: &[u8]) {
    let Some((segment, data)) = data.split_first_chunk::<2>() else { return };
    let segment = usize::from(u16::from_be_bytes(*segment));
    let shared = shared();
    let tables = shared.tables();
    let (mut core, mut kept) = (Core::new(&shared), Kept::default());
    let mut arrivals = Arrivals::default();
    let data = &data[..data.len().min(core.room(&arrivals).len())];
    let arrival = Arrival::new(Endpoint::new([192, 0, 2, 1].into(), NAT_PORT), [192, 0, 2, 2].into());
    for segment in [Some(segment), None] {
        core.room(&arrivals)[..data.len()].copy_from_slice(data);
        core.add(&mut arrivals, &tables, arrival, data.len(), segment);
        core.open(&mut arrivals, &tables, Time::default(), &mut kept, true);
    }
    core.room(&arrivals)[..data.len()].copy_from_slice(data);
    core.add_whole(&mut arrivals, data.len());
    core.open(&mut arrivals, &tables, Time::default(), &mut kept, true);
    let mut count = 0;
    for written in &kept.tun {
        let vnet = written.first_chunk::<VNET_BYTES>().expect("a header");
        assert!(Vnet::read(vnet).is_some());
        count += cut(written).expect("well made").len();
    }
    assert_eq!(count, kept.packets);
    assert!(kept.sealed.is_empty() && kept.clear.is_empty());
}
