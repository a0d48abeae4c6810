//! Daemon and data plane killed under load, in any order: nothing goes over the wire in clear, and traffic is back when
//! they are, with strongSwan within a second.

use ipsec_tests::{
    Capture, Charon, Config, Host, Kernel, PATIENCE, Pings, Plane, Pluto, Site, clear, is_esp, load,
};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// From when all are back to the first packet that is answered, with strongSwan.
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

/// What happens one after another, until traffic is to be back.
type Order = &'static [Step];

const DAEMON: [Order; 2] = [&[KillDaemon, StartDaemon]; 2];
const WORKER: [Order; 2] = [&[KillWorker]; 2];
const PLANE: [Order; 2] = [&[KillPlane, StartPlane]; 2];
const ANY_ORDER: [Order; 5] = [
    &[KillDaemon, KillPlane, StartPlane, StartDaemon],
    &[KillDaemon, KillPlane, StartDaemon, StartPlane],
    &[KillPlane, KillDaemon, StartPlane, StartDaemon],
    &[KillPlane, KillDaemon, StartDaemon, StartPlane],
    &[KillDaemon, KillWorker, StartDaemon],
];

/// An IKE daemon on the data plane, with a trap for what is behind the tunnel.
trait Daemon {
    fn kill(&self);
    /// Starts it again, as far as that goes without the data plane.
    fn begin(&self);
    /// Waits until it serves, and has its trap.
    fn serves(&self);
}

impl Daemon for Charon<'_> {
    fn kill(&self) {
        self.kill();
    }

    fn begin(&self) {
        self.begin();
    }

    fn serves(&self) {
        self.serves();
    }
}

impl Daemon for Pluto<'_> {
    fn kill(&self) {
        self.kill();
    }

    fn begin(&self) {
        self.begin();
    }

    fn serves(&self) {
        self.serves();
        self.whack("--route --name net");
    }
}

fn strongswan(host: &Host) -> Box<dyn Daemon + '_> {
    let charon = Charon::start(host, Kernel::Ours, "");
    charon.load(&Config::between(1, 2).child("start_action = trap"));
    Box::new(charon)
}

fn libreswan(host: &Host) -> Box<dyn Daemon + '_> {
    // By that its peer forgets the SAs of a daemon that was killed.
    let pluto = Pluto::start(host, 1, 2, &["phase2alg=aes_gcm128-null", "initial-contact=yes"]);
    pluto.whack("--route --name net");
    Box::new(pluto)
}

/// Kills and starts in these orders; answers come within that time each time.
fn kills(daemon: fn(&Host) -> Box<dyn Daemon + '_>, within: Duration, orders: &[Order]) {
    let Some(site) = Site::new() else { return };
    let [a, b] = site.pair();
    // Where there is a way out for what is behind the tunnel, packets in clear would take it.
    a.run("ip route add default via 192.0.2.2");
    let plane = Plane::start(&a, &[]);
    let one = daemon(&a);
    let two = Charon::start(&b, Kernel::Libipsec, "");
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
        if order.contains(&StartDaemon) {
            one.serves();
        }
        let start = Instant::now();
        pings.until_answered();
        let took = start.elapsed();
        eprintln!("{order:?}: answered after {took:?}");
        assert!(took < within, "{order:?}: {took:?}");
    }
    let packets = capture.stop(&site);
    assert!(packets.iter().filter(|packet| is_esp(packet)).count() > 1000);
    assert_eq!(clear(&packets), [""; 0]);
}

#[test]
fn a_daemon_that_is_killed() {
    kills(strongswan, RETURN, &DAEMON);
}

#[test]
fn a_worker_that_is_killed() {
    kills(strongswan, RETURN, &WORKER);
}

#[test]
fn a_data_plane_that_is_killed() {
    kills(strongswan, RETURN, &PLANE);
}

#[test]
fn both_in_any_order() {
    kills(strongswan, RETURN, &ANY_ORDER);
}

#[test]
fn libreswan_that_is_killed() {
    kills(libreswan, PATIENCE, &DAEMON);
}

/// Libreswan rekeys where it is told that SAs are lost.
#[test]
fn a_worker_that_is_killed_under_libreswan() {
    kills(libreswan, PATIENCE, &WORKER);
}

#[test]
fn a_data_plane_that_is_killed_under_libreswan() {
    kills(libreswan, PATIENCE, &PLANE);
}

#[test]
fn libreswan_and_data_plane_in_any_order() {
    kills(libreswan, PATIENCE, &ANY_ORDER);
}
