//! Daemon and data plane killed under load, in any order: nothing goes over the wire in clear, and traffic is back within a second of their
//! return.

use ipsec_tests::{Capture, Charon, Config, Kernel, Pings, Plane, Site, clear, is_esp, load};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// From when all are back to the first packet that is answered.
const RETURN: Duration = Duration::from_secs(1);
/// For how long what was killed stays away.
const AWAY: Duration = Duration::from_millis(700);

/// What is killed, or comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The IKE daemon.
    KillDaemon,
    /// The whole data plane.
    KillPlane,
    /// The data plane's worker; its supervisor starts another.
    KillWorker,
    StartDaemon,
    StartPlane,
}

use Step::{KillDaemon, KillPlane, KillWorker, StartDaemon, StartPlane};

fn kills(orders: &[&[Step]]) {
    let Some(site) = Site::new() else { return };
    let [a, b] = site.pair();
    // Where there is a way out for what is behind the tunnel, packets in clear would take it.
    a.run("ip route add default via 192.0.2.2");
    let plane = Plane::start(&a, &[]);
    let one = Charon::start(&a, Kernel::Ours, "");
    let two = Charon::start(&b, Kernel::Libipsec, "");
    one.load(&Config::between(1, 2).child("start_action = trap"));
    two.load(&Config::between(2, 1));
    let capture = Capture::start(&site, &a);
    let pings = Pings::start(&a, "10.1.0.1", "10.2.0.1", 10);
    pings.until_answered();
    load(&a, "10.1.0.1", &b, "10.2.0.1");
    for order in orders {
        pings.until_answered();
        for step in *order {
            match step {
                KillDaemon => one.kill(),
                KillPlane => plane.kill(),
                KillWorker => plane.kill_worker(),
                StartDaemon => one.begin(),
                StartPlane => plane.restart(),
            }
            if matches!(step, KillDaemon | KillPlane) {
                sleep(AWAY);
            }
        }
        one.serves();
        let start = Instant::now();
        pings.until_answered();
        let took = start.elapsed();
        eprintln!("{order:?}: answered after {took:?}");
        assert!(took < RETURN, "{order:?}: {took:?}");
    }
    let packets = capture.stop(&site);
    assert!(packets.iter().filter(|packet| is_esp(packet)).count() > 1000);
    assert_eq!(clear(&packets), [""; 0]);
}

#[test]
fn a_daemon_that_is_killed() {
    kills(&[&[KillDaemon, StartDaemon], &[KillDaemon, StartDaemon]]);
}

#[test]
fn a_worker_that_is_killed() {
    kills(&[&[KillWorker], &[KillWorker]]);
}

#[test]
fn a_data_plane_that_is_killed() {
    kills(&[&[KillPlane, StartPlane], &[KillPlane, StartPlane]]);
}

#[test]
fn both_in_any_order() {
    kills(&[
        &[KillDaemon, KillPlane, StartPlane, StartDaemon],
        &[KillDaemon, KillPlane, StartDaemon, StartPlane],
        &[KillPlane, KillDaemon, StartPlane, StartDaemon],
        &[KillPlane, KillDaemon, StartDaemon, StartPlane],
        &[KillDaemon, KillWorker, StartDaemon],
    ]);
}
