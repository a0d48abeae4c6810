//! SAs that take each other's place under load: no packet is dropped for it.

use crate::net::{FAR, FAR_INSIDE, MARKER, NEAR, NEAR_INSIDE, Net, ip, udp, wait_until, with_rights};
use crate::plane::{Plane, both, key};
use crate::xfrm;
use serde_json::Value;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How often an SA takes the place of another.
const REKEYINGS: u32 = 400;
/// Senders, more than there are threads that seal.
const SENDERS: usize = 3;
/// Why a packet may be dropped that has nothing to do with SAs: whoever sends is faster than the wire.
const BY_LOAD: [&str; 2] = ["socket-full", "tun-full"];

fn drops(plane: &Plane<'_>) -> Vec<Value> {
    let drops = plane.status()["drops"].as_array().unwrap().clone();
    let is_by_load = |drops: &Value| BY_LOAD.iter().any(|reason| drops["reason"] == *reason);
    drops.into_iter().filter(|drops| !is_by_load(drops)).collect()
}

/// The old SA is removed as soon as the new one is there, as the responder of an IKE daemon does.
#[test]
fn an_sa_that_takes_the_place_of_another_under_load_loses_no_packet() {
    with_rights(|| {
        let net = Net::new();
        let [near, far] = both(&net);
        key(0x1001, [&near, &far]);
        let (stop, sent) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..SENDERS {
                scope.spawn(|| {
                    let socket = udp(&net.near, NEAR_INSIDE);
                    while !stop.load(Ordering::Relaxed) {
                        // Where the device is full the sender is told.
                        let done = socket.send_to(MARKER, (ip(FAR_INSIDE), 7));
                        sent.fetch_add(u64::from(done.is_ok()), Ordering::Relaxed);
                    }
                });
            }
            let (mut near, mut far) = (near.xfrm(), far.xfrm());
            let mut old = 0x1001;
            for new in (0..REKEYINGS).map(|number| 0x2000 + number) {
                let before = sent.load(Ordering::Relaxed);
                far.ok(xfrm::sa(NEAR, FAR, new));
                near.ok(xfrm::sa(NEAR, FAR, new));
                near.ok(xfrm::removal(FAR, old));
                old = new;
                wait_until("packets go by it", || sent.load(Ordering::Relaxed) > before);
            }
            stop.store(true, Ordering::Relaxed);
        });
        assert_eq!(drops(&near), Vec::<Value>::new(), "of {} packets", sent.load(Ordering::Relaxed));
        assert_eq!(near.status()["sas"], 2);
    });
}
