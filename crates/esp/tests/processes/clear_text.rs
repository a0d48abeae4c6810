//! What policies protect never leaves in clear, whatever ends; and leaves again, sealed, once there are SAs.

use crate::net::{
    Capture, FAR_INSIDE, FAR_INSIDE_V6, NEAR_INSIDE, NEAR_INSIDE_V6, Net, Seen, arrives, send_for, udp,
    wait_until, with_rights,
};
use crate::plane::{Plane, both, key};
use crate::xfrm::{EXPIRES, Xfrm};
use netlink_packet_xfrm::XfrmMessage;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// Long enough for a packet to leave, where one would.
const MOMENT: Duration = Duration::from_millis(150);

pub fn nothing_leaves(net: &Net, when: &str) {
    let capture = Capture::begin(&net.far);
    send_for(&net.near, MOMENT);
    let seen = capture.seen();
    assert_eq!(seen.clear, 0, "{when}: {seen:?}");
}

/// Datagrams arrive, and not in clear.
fn traffic_passes(net: &Net) {
    let capture = Capture::begin(&net.far);
    for (near, far) in [(NEAR_INSIDE, FAR_INSIDE), (NEAR_INSIDE_V6, FAR_INSIDE_V6)] {
        let (near, far) = (udp(&net.near, near), udp(&net.far, far));
        arrives(&near, &far);
        arrives(&far, &near);
    }
    let seen = capture.seen();
    assert!(seen.clear == 0 && seen.all > 0, "{seen:?}");
}

/// That the capture sees what it is to see.
fn clear_text_is_seen(net: &Net) {
    let capture = Capture::begin(&net.far);
    send_for(&net.near, MOMENT);
    let seen = capture.seen();
    assert!(seen.clear > 10, "without policies it leaves: {seen:?}");
}

#[test]
fn before_the_first_sa_and_after_the_last_one() {
    with_rights(|| {
        let net = Net::new();
        let plane = Plane::start(&net.near, &[]);
        clear_text_is_seen(&net);
        plane.protect(true);
        nothing_leaves(&net, "before the first SA");
        plane.key(0x1001);
        let capture = Capture::begin(&net.far);
        send_for(&net.near, MOMENT);
        let Seen { clear, all } = capture.seen();
        assert!(clear == 0 && all > 10, "sealed it leaves: {clear} of {all} in clear");
        plane.xfrm().ok(XfrmMessage::FlushSa(Default::default()));
        nothing_leaves(&net, "after the last SA");
        plane.xfrm().ok(XfrmMessage::FlushPolicy(Default::default()));
        clear_text_is_seen(&net);
    });
}

#[test]
fn while_workers_are_killed_under_traffic() {
    with_rights(|| {
        let net = Net::new();
        let [near, far] = both(&net);
        key(0x1001, [&near, &far]);
        traffic_passes(&net);
        let capture = Capture::begin(&net.far);
        let mut events = Xfrm::connect(&near.xfrm_socket(), EXPIRES);
        assert_eq!(events.dump().len(), 2);
        std::thread::scope(|scope| {
            let load = scope.spawn(|| send_for(&net.near, Duration::from_millis(1200)));
            near.kill_worker();
            near.kill_worker();
            load.join().unwrap();
        });
        assert_eq!(capture.seen().clear, 0, "while the worker was killed twice");
        assert!(events.receive().is_none(), "the connection ends with the worker");
        // Policies are there again; the SAs are lost, and IKE daemons are told so by events that ask for others.
        let events = Xfrm::connect(&near.xfrm_socket(), EXPIRES);
        assert_eq!(near.status()["policies"], 6);
        assert_eq!(near.status()["restarts"], 2);
        // One of both of a pair: IKE daemons rekey both by it.
        let told = events.receive().expect("events").into_iter().find_map(|answer| match answer.message {
            Some(XfrmMessage::Expire(expire)) => Some((expire.expire.state.id.spi, expire.expire.hard)),
            _ => None,
        });
        assert_eq!(told, Some((0x1002, 0)));
        key(0x2001, [&near, &far]);
        traffic_passes(&net);
    });
}

#[test]
fn after_the_supervisor_was_killed_and_until_the_next_one_has_sas() {
    with_rights(|| {
        let net = Net::new();
        let [mut near, far] = both(&net);
        key(0x1001, [&near, &far]);
        let capture = Capture::begin(&net.far);
        let worker = near.worker();
        near.stop(Signal::SIGKILL);
        send_for(&net.near, MOMENT);
        assert_eq!(capture.seen().clear, 0, "after the supervisor was killed");
        wait_until("the worker ends with its supervisor", || {
            kill(Pid::from_raw(worker as i32), None).is_err()
        });
        let capture = Capture::begin(&net.far);
        near.restart(&[]);
        assert_eq!(near.status()["policies"], 6);
        send_for(&net.near, MOMENT);
        assert_eq!(capture.seen().clear, 0, "while the next one has no SAs");
        key(0x2001, [&near, &far]);
        traffic_passes(&net);
        assert!(near.down().status.success());
        near.ended();
        assert_eq!(net.near.traces(), "");
    });
}

#[test]
fn a_supervisor_that_is_told_to_keep_leaves_what_drops() {
    with_rights(|| {
        let net = Net::new();
        let mut plane = Plane::start(&net.near, &["--keep"]);
        plane.protect(true);
        plane.stop(Signal::SIGTERM);
        nothing_leaves(&net, "after it ended");
        plane.restart(&["--keep"]);
        assert_eq!(plane.status()["policies"], 6);
        nothing_leaves(&net, "after it began again");
        // One that is not told so takes it away.
        plane.stop(Signal::SIGTERM);
        plane.restart(&[]);
        plane.stop(Signal::SIGTERM);
        assert_eq!(net.near.traces(), "");
        clear_text_is_seen(&net);
    });
}

#[test]
fn when_the_device_is_removed_or_set_down_by_hand() {
    with_rights(|| {
        let net = Net::new();
        let [near, far] = both(&net);
        for (words, spi) in [
            ("link del cryptand0", 0x1001),
            ("link set cryptand0 down", 0x2001),
            ("link del cryptand0", 0x3001),
        ] {
            let capture = Capture::begin(&net.far);
            let before = near.worker();
            net.near.ip(words);
            send_for(&net.near, MOMENT);
            assert_eq!(capture.seen().clear, 0, "after ip {words}");
            if words.contains("del") {
                near.wait_for_another(before);
            }
            wait_until("the routes to the device", || {
                let routes = net.near.ip("-4 route show table 58624");
                routes.contains("10.2.0.0/16 dev cryptand0")
            });
            key(spi, [&near, &far]);
            traffic_passes(&net);
        }
    });
}

#[test]
fn when_rules_or_routes_are_removed_by_hand() {
    with_rights(|| {
        let net = Net::new();
        let plane = Plane::start(&net.near, &[]);
        plane.protect(true);
        let before = net.near.traces();
        for words in [
            "rule del priority 200",
            "-6 rule del priority 200",
            "route flush table 58624",
            "-6 route flush table 58624",
            "route del blackhole 10.2.0.0/16 table 58624",
            "route del 10.2.0.0/16 dev cryptand0 table 58624",
        ] {
            net.near.ip(words);
            wait_until(&format!("what it was before ip {words}"), || net.near.traces() == before);
        }
        nothing_leaves(&net, "after all was put back");
    });
}

/// As an IKE daemon has it that makes routes of its own (table 220 of charon).
#[test]
fn past_the_routes_that_ike_daemons_make() {
    with_rights(|| {
        let net = Net::new();
        net.near.ip("rule add priority 220 lookup 220");
        net.near.ip("route add 10.2.0.0/16 via 192.0.2.2 dev outer src 10.1.0.1 table 220");
        let plane = Plane::start(&net.near, &[]);
        plane.protect(true);
        nothing_leaves(&net, "with a route of charon");
        plane.kill_worker();
        nothing_leaves(&net, "with another worker");
    });
}

#[test]
fn when_the_journal_cannot_be_read() {
    with_rights(|| {
        let net = Net::new();
        let mut plane = Plane::start(&net.near, &[]);
        plane.protect(true);
        plane.stop(Signal::SIGKILL);
        let journal = fs::File::options().write(true).open(plane.folder.join("journal")).unwrap();
        let bytes = journal.metadata().unwrap().len();
        for place in (0..bytes).step_by(4096) {
            journal.write_all_at(&[0xff; 64], place).unwrap();
        }
        assert!(!plane.try_start(&[]), "a journal that is damaged");
        plane.ended();
        assert!(
            plane.log().contains("the journal") && plane.log().contains("cryptand ipsec down"),
            "{}",
            plane.log()
        );
        nothing_leaves(&net, "after a start that failed");
        // What is said to help, helps.
        let down = plane.down();
        assert!(down.status.success(), "{}", String::from_utf8_lossy(&down.stderr));
        assert_eq!(net.near.traces(), "");
        assert!(!plane.folder.join("journal").exists());
        plane.restart(&[]);
        assert_eq!(plane.status()["policies"], 0);
    });
}

#[test]
fn when_the_next_worker_cannot_be_started() {
    with_rights(|| {
        let net = Net::new();
        // Programs of its own, so that the worker's can be taken away.
        let programs = tempfile::tempdir().unwrap();
        let mut plane = Plane::start_from(programs.path(), &net.near, &[]);
        plane.protect(true);
        let worker = programs.path().join("cryptand-esp-worker");
        fs::rename(&worker, programs.path().join("away")).unwrap();
        kill(Pid::from_raw(plane.worker() as i32), Signal::SIGKILL).unwrap();
        wait_until("the supervisor says so", || plane.log().contains("cryptand-esp-worker is missing"));
        nothing_leaves(&net, "without the worker's program");
        fs::rename(programs.path().join("away"), &worker).unwrap();
        plane.wait_for_another(0);
        assert_eq!(plane.status()["policies"], 6);
        nothing_leaves(&net, "with it");
        plane.stop(Signal::SIGTERM);
    });
}
