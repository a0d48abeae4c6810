//! A thread that loses its processor between taking up tables and reading: tables published meanwhile hold for what it
//! reads.

use super::*;
use crate::{open_raw, open_tun, open_udp};
use engine::{Engine, Options};
use ipsec::{
    Action, AesKey, Direction, KeyBytes, NAT_PORT, Policy, PolicyDirection, Reason, Sa, SaParameters, Sad,
    Selector, Spd, Suite,
};
use needs::Need;
use nix::sched::{CloneFlags, unshare};
use std::net::UdpSocket;
use std::process::Command;

const SPI: u32 = 0x1001;
const OUTSIDE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), NAT_PORT);
const INSIDE: &str = "10.9.0.1";
const THERE: &str = "10.9.0.2";

/// Runs a test in a network namespace of its own, with a thread whose looks the test runs itself.
fn with_thread(test: impl FnOnce(&Shared, Thread) + Send + 'static) {
    if needs::lacks(Need::Root) {
        return;
    }
    let done = std::thread::spawn(|| {
        let queues = unshare(CloneFlags::CLONE_NEWNET).ok().and_then(|()| open_tun("plane0", 1, false).ok());
        if needs::did_without(Need::Tun, queues.is_none()) {
            return;
        }
        // Else the kernel sends packets on the device by itself.
        let _ = std::fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
        for words in ["link set lo up", "link set plane0 up", "addr add 10.9.0.1/24 dev plane0"] {
            assert!(Command::new("ip").args(words.split(' ')).status().unwrap().success(), "ip {words}");
        }
        let shared = Arc::new(Shared::new(Engine::new(Options::default()).unwrap(), 1).unwrap());
        shared.add_sockets(OUTSIDE, open_udp(OUTSIDE, 1).unwrap()).unwrap();
        let queue = queues.unwrap().0.remove(0);
        let mut thread = Thread::new(&shared, 0, queue, &Arc::new(open_raw().unwrap())).unwrap();
        shared.publish(Tables::default());
        thread.change();
        test(&shared, thread);
    });
    done.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

fn inbound(shared: &Shared) -> Tables {
    let suite = Suite::AesGcm16(AesKey::Bits128);
    let keys = KeyBytes { encryption: &[0x5a; 20], integrity: &[] };
    let ends = (OUTSIDE.ip(), OUTSIDE.ip());
    let parameters = SaParameters {
        source: Endpoint::new(ends.0, NAT_PORT),
        destination: Endpoint::new(ends.1, NAT_PORT),
        in_udp: true,
        ..SaParameters::tunnel(SPI, Direction::In, suite, keys, ends)
    };
    let mut sad = Sad::new();
    sad.add(Arc::new(Sa::new(&shared.engine, &parameters, false).unwrap())).unwrap();
    Tables { sad: Arc::new(sad), ..Tables::default() }
}

#[test]
fn a_datagram_of_an_sa_that_was_added_in_the_middle_of_a_look_is_not_unknown() {
    with_thread(|shared, mut thread| {
        thread.refresh();
        shared.publish(inbound(shared));
        let forged = [&SPI.to_be_bytes()[..], &1_u32.to_be_bytes(), &[0; 60]].concat();
        let sender = UdpSocket::bind((OUTSIDE.ip(), 0)).unwrap();
        // Over loopback, a datagram has arrived once it was sent.
        sender.send_to(&forged, OUTSIDE).unwrap();
        thread.take_datagrams(SOCKETS);
        let counted = thread.core.figures().esp;
        assert_eq!((counted.dropped(Reason::UnknownSpi), counted.dropped(Reason::Unauthenticated)), (0, 1));
    });
}

#[test]
fn a_packet_that_a_policy_blocks_since_the_middle_of_a_look_does_not_leave() {
    with_thread(|shared, mut thread| {
        thread.refresh();
        let mut spd = Spd::new();
        let selector = Selector::all(ipsec::Family::V4);
        let policy = Policy { id: 1, selector, priority: 1, action: Action::Discard };
        spd.add(PolicyDirection::Out, policy).unwrap();
        shared.publish(Tables { spd: Arc::new(spd), ..Tables::default() });
        let sender = UdpSocket::bind((INSIDE, 0)).unwrap();
        sender.send_to(b"a packet", (THERE, 7)).unwrap();
        thread.take_packets().unwrap();
        let counted = thread.core.figures();
        assert_eq!((counted.bypassed, counted.esp.dropped(Reason::Blocked)), (0, 1));
    });
}
