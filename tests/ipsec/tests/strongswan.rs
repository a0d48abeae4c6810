//! strongSwan over the data plane, and strongSwan with its own ESP in user space as its peer.

use ipsec_tests::{Charon, Config, Host, Kernel, Ping, Plane, SUITES, Site, Suite, bulk, ping};
use std::time::Duration;

/// A host with the data plane and a daemon on it.
fn ours<'h>(host: &'h Host, settings: &str) -> (Plane<'h>, Charon<'h>) {
    (Plane::start(host, &["--weak-suites"]), Charon::start(host, Kernel::Ours, settings))
}

/// All pings are answered, of sizes about those of a path's MTU.
fn pings(a: &Host) {
    for bytes in [0, 56, 1300, 1400, 4000] {
        let answers = ping(a, "10.1.0.1", "10.2.0.1", 3, bytes);
        assert_eq!(answers, Ping { sent: 3, answered: 3 }, "{bytes}");
    }
}

fn suites_as(initiator: bool, suites: &[Suite]) {
    let Some(site) = Site::new() else { return };
    let [a, b] = site.pair();
    let (_plane, one) = ours(&a, "");
    let two = Charon::start(&b, Kernel::Libipsec, "");
    for suite in suites {
        one.load(&Config::between(1, 2).with_esp(suite.proposal));
        two.load(&Config::between(2, 1).with_esp(suite.proposal));
        if initiator {
            one.initiate()
        } else {
            two.initiate()
        }
        assert_eq!((one.installed(), two.installed()), (1, 1), "{}", suite.proposal);
        pings(&a);
        let bytes = bulk(&a, "10.1.0.1", &b, "10.2.0.1", Duration::from_secs(1));
        assert!(bytes > 1_000_000, "{}: {bytes} bytes", suite.proposal);
        one.swanctl("--terminate --ike net");
    }
}

#[test]
fn suites_of_libipsec_as_initiator() {
    suites_as(true, &SUITES);
}

#[test]
fn suites_of_libipsec_as_responder() {
    suites_as(false, &SUITES);
}
