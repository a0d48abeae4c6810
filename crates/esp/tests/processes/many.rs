//! As many policies as there can be, and a worker that is killed with them.

use crate::net::{Capture, FAR, MARKER, NEAR, NEAR_INSIDE, Net, udp, with_rights};
use crate::plane::Plane;
use crate::xfrm::{self, Xfrm};
use ipsec::POLICIES_MAX;
use netlink_packet_xfrm::XfrmMessage;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::collections::BTreeSet;
use std::net::Ipv4Addr;

/// Requests whose answers are not waited for one by one, as many as a worker takes at once.
const TOGETHER: usize = 64;
/// What a worker needs for them, in bytes: it may be given less where locked memory is bounded.
const MEMORY_BYTES: u64 = 96 << 20;
/// Destinations that a packet goes to, between two looks.
const SENT: usize = 500;

/// The network of a policy: 10.64.0.0/24 and on.
fn network(number: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(Ipv4Addr::new(10, 64, 0, 0).to_bits() + (number << 8) as u32)
}

fn policy(number: usize) -> XfrmMessage {
    xfrm::policy(1, (NEAR_INSIDE, &network(number).to_string()), 24, (NEAR, FAR))
}

/// Adds the policies of these numbers.
fn add(client: &mut Xfrm, numbers: &[usize]) {
    for numbers in numbers.chunks(TOGETHER) {
        numbers.iter().for_each(|number| client.send(policy(*number), xfrm::ACK));
        let mut answered = 0;
        while answered < numbers.len() {
            for answer in client.receive().expect("answers") {
                assert_eq!(answer.errno, Some(0), "{}", answer.text);
                answered += 1;
            }
        }
    }
}

/// Which traffic policies are for.
fn selectors(plane: &Plane<'_>) -> BTreeSet<String> {
    let listed: Vec<Value> = serde_json::from_str(&plane.shows("policy", true)).unwrap();
    let all: BTreeSet<_> =
        listed.iter().map(|policy| policy["selector"].as_str().unwrap().to_owned()).collect();
    assert_eq!(all.len(), listed.len(), "each stands there once");
    all
}

/// Destinations with a route to the device, and with one that drops.
fn routed(net: &Net) -> [usize; 2] {
    let listed = net.near.ip("-4 route show table 58624");
    // A listing of the kernel may show a route twice that changes meanwhile.
    let routes: BTreeSet<&str> = listed.lines().filter(|line| line.contains("10.")).collect();
    ["dev cryptand0", "blackhole"].map(|kind| routes.iter().filter(|line| line.contains(kind)).count())
}

#[test]
fn all_are_there_after_a_worker_was_killed() {
    with_rights(|| {
        let net = Net::new();
        let plane = Plane::start(&net.near, &[]);
        let is_short = plane.status()["memory_bytes"].as_u64().unwrap() < MEMORY_BYTES;
        if needs::did_without(needs::Need::LockedMemory, is_short) {
            return;
        }
        let mut client = plane.xfrm();
        add(&mut client, &(0..POLICIES_MAX).collect::<Vec<_>>());
        let (errno, text) = client.refusal(policy(POLICIES_MAX));
        assert!(errno != 0 && text.contains(&POLICIES_MAX.to_string()), "{errno}: {text}");
        // What the filter's own changes tell is no change by others.
        let filter_is_changed = |plane: &Plane<'_>| plane.log().contains("others changed the egress filter");
        assert!(!filter_is_changed(&plane), "{}", plane.log());
        let before = selectors(&plane);
        assert_eq!((before.len(), routed(&net)), (POLICIES_MAX, [POLICIES_MAX; 2]));

        let socket = udp(&net.near, NEAR_INSIDE);
        let send = || {
            for number in (0..POLICIES_MAX).step_by(POLICIES_MAX / SENT) {
                // Where a route drops, the sender is told.
                let _ = socket.send_to(MARKER, (Ipv4Addr::from_bits(network(number).to_bits() + 1), 7));
            }
        };
        let capture = Capture::begin(&net.far);
        socket.send_to(MARKER, (network(POLICIES_MAX), 7)).unwrap();
        assert_ne!(capture.seen().clear, 0, "a packet that no policy protects is seen");
        let capture = Capture::begin(&net.far);
        let worker = plane.worker();
        kill(Pid::from_raw(worker as i32), Signal::SIGKILL).unwrap();
        plane.wait_for_another_while(worker, send);
        send();
        assert_eq!(capture.seen().clear, 0);

        assert_eq!(selectors(&plane), before);
        assert_eq!(routed(&net), [POLICIES_MAX; 2]);
        assert!(!filter_is_changed(&plane), "{}", plane.log());
        let mut client = plane.xfrm();
        client.ok(XfrmMessage::FlushPolicy(Default::default()));
        assert_eq!((plane.status()["policies"].as_u64(), routed(&net)), (Some(0), [0, 0]));
        assert!(plane.down().status.success());
        assert_eq!(net.near.traces(), "");
    });
}
