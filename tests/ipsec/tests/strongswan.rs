//! strongSwan over the data plane, and strongSwan with its own ESP in user space as its peer.

use ipsec_tests::{
    Capture, Charon, Config, Host, Kernel, Ping, Pings, Plane, SUITES, Site, Suite, bulk, clear, is_esp,
    ping, until,
};
use std::time::Duration;

/// A host with the data plane and a daemon on it.
fn ours<'h>(host: &'h Host, settings: &str) -> (Plane<'h>, Charon<'h>) {
    (Plane::start(host, &["--weak-suites"]), Charon::start(host, Kernel::Ours, settings))
}

/// All pings are answered, of sizes about those of a path's MTU.
fn pings(a: &Host, what: &str) {
    for bytes in [0, 56, 1300, 1400, 4000] {
        let answers = ping(a, "10.1.0.1", "10.2.0.1", 3, bytes);
        assert_eq!(answers, Ping { sent: 3, answered: 3 }, "{what}: {bytes} bytes");
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
        pings(&a, suite.proposal);
        bulk(&a, "10.1.0.1", &b, "10.2.0.1", 4_000_000);
        bulk(&b, "10.2.0.1", &a, "10.1.0.1", 4_000_000);
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

/// Both daemons, with a tunnel between them that `a` has established.
fn tunnel<'h>(hosts: &'h [Host; 2], config: &Config, peer: &Config) -> (Plane<'h>, Charon<'h>, Charon<'h>) {
    let [a, b] = hosts;
    let (plane, one) = ours(a, "");
    let two = Charon::start(b, Kernel::Libipsec, "");
    two.load(peer);
    one.load(config);
    (plane, one, two)
}

#[test]
fn a_packet_that_a_trap_is_for_establishes_the_tunnel() {
    let Some(site) = Site::new() else { return };
    let hosts = site.pair();
    let config = Config::between(1, 2).child("start_action = trap");
    let (_plane, one, two) = tunnel(&hosts, &config, &Config::between(2, 1));
    assert_eq!((one.installed(), two.installed()), (0, 0));
    let pings = Pings::start(&hosts[0], "10.1.0.1", "10.2.0.1", 10);
    let took = pings.until_answered();
    assert!(took < Duration::from_secs(1), "{took:?}");
    one.until_log("creating acquire job", 1);
    assert_eq!((one.installed(), two.installed()), (1, 1));
    // One packet asks once, whatever comes behind it.
    assert_eq!(one.log().matches("establishing CHILD_SA net").count(), 1);
}

#[test]
fn rekeying_loses_nothing() {
    let Some(site) = Site::new() else { return };
    let hosts = site.pair();
    let (_plane, one, two) = tunnel(&hosts, &Config::between(1, 2), &Config::between(2, 1));
    one.initiate();
    let pings = Pings::start(&hosts[0], "10.1.0.1", "10.2.0.1", 5);
    for round in 0..4 {
        let (from, to) = if round % 2 == 0 { (&one, &two) } else { (&two, &one) };
        from.swanctl("--rekey --child net");
        from.until_log("CHILD_SA net{", round + 2);
        pings.until_answered();
        from.swanctl("--rekey --ike net");
        until("both have the other IKE_SA", || {
            [from, to].iter().all(|charon| charon.swanctl("--list-sas").matches("ESTABLISHED").count() == 1)
        });
        pings.until_answered();
    }
    let answers = pings.end();
    assert!(answers.sent > 20, "{answers:?}");
    assert_eq!(answers.sent, answers.answered);
    until("old associations go", || one.installed() == 1 && two.installed() == 1);
}

#[test]
fn reauthentication_is_survived() {
    let Some(site) = Site::new() else { return };
    let hosts = site.pair();
    let (plane, one, two) = {
        let [a, b] = &hosts;
        let (plane, one) = ours(a, "make_before_break = yes");
        (plane, one, Charon::start(b, Kernel::Libipsec, ""))
    };
    one.load(&Config::between(1, 2));
    two.load(&Config::between(2, 1));
    one.initiate();
    let pings = Pings::start(&hosts[0], "10.1.0.1", "10.2.0.1", 5);
    pings.until_answered();
    one.swanctl("--rekey --ike net --reauth");
    one.until_log("CHILD_SA net{2} established", 1);
    pings.until_answered();
    let early = plane.dropped();
    one.until_log("IKE_SA deleted", 1);
    pings.until_answered();
    let answers = pings.end();
    // The peer seals by its new SA before its answer is here and the daemon can add that: what comes in between is of
    // no SA that is known, as many as the daemon takes time for. From then on nothing is dropped.
    assert_eq!(plane.dropped(), early);
    let unknown =
        early.iter().filter_map(|line| line.strip_prefix("unknown-spi")?.trim().parse::<u32>().ok());
    assert!(answers.sent - answers.answered <= 1 + unknown.sum::<u32>(), "{answers:?}, {early:?}");
    assert_eq!((one.installed(), two.installed()), (1, 1));
}

#[test]
fn limits_are_told_before_they_are_reached() {
    let Some(site) = Site::new() else { return };
    let hosts = site.pair();
    for (limit, soft) in [
        ("rekey_time = 2s\nlife_time = 8s\nrand_time = 0", "by time"),
        ("rekey_time = 0\nrekey_bytes = 2000000\nlife_bytes = 40000000\nrand_bytes = 0", "by bytes"),
        ("rekey_time = 0\nrekey_packets = 500\nlife_packets = 20000\nrand_packets = 0", "by packets"),
    ] {
        let (plane, one, two) = tunnel(&hosts, &Config::between(1, 2).child(limit), &Config::between(2, 1));
        one.initiate();
        let pings = Pings::start(&hosts[0], "10.1.0.1", "10.2.0.1", 10);
        bulk(&hosts[0], "10.1.0.1", &hosts[1], "10.2.0.1", 5_000_000);
        one.until_log("creating rekey job for CHILD_SA", 1);
        one.until_log("outbound CHILD_SA net{2} established", 1);
        pings.until_answered();
        pings.end();
        // The peer may drop of the bulk what comes faster than it opens.
        assert_eq!(plane.dropped(), [""; 0], "{soft}");
        one.stop();
        two.stop();
        plane.stop();
        for host in &hosts {
            host.forget();
        }
    }
}

#[test]
fn what_is_past_its_hard_limit_carries_nothing() {
    let Some(site) = Site::new() else { return };
    let hosts = site.pair();
    let config = Config::between(1, 2).child("rekey_time = 0\nlife_time = 5s\nrand_time = 0");
    let (_plane, one, two) = tunnel(&hosts, &config, &Config::between(2, 1));
    one.initiate();
    one.until_log("creating delete job for CHILD_SA", 1);
    // strongSwan makes another in its place.
    one.until_log("CHILD_SA net{2} established", 1);
    let answers = ping(&hosts[0], "10.1.0.1", "10.2.0.1", 5, 56);
    assert_eq!(answers, Ping { sent: 5, answered: 5 });
    until("the old one goes", || one.installed() == 1 && two.installed() == 1);
}

#[test]
fn a_dead_peer_is_noticed_and_comes_back() {
    let Some(site) = Site::new() else { return };
    let hosts = site.pair();
    let config =
        Config::between(1, 2).connection("dpd_delay = 1s\nkeyingtries = 0").child("dpd_action = restart");
    let (_plane, one, two) = tunnel(&hosts, &config, &Config::between(2, 1));
    one.initiate();
    assert_eq!(ping(&hosts[0], "10.1.0.1", "10.2.0.1", 3, 56).answered, 3);
    two.kill();
    one.until_log("sending DPD request", 1);
    one.until_log("giving up after", 1);
    let capture = Capture::start(&site, &hosts[0]);
    ping(&hosts[0], "10.1.0.1", "10.2.0.1", 5, 56);
    // A daemon that listens and has not loaded its connection yet refuses it, after which its peer tries no more.
    hosts[1].run(
        "nft add table inet loading; \
         nft 'add chain inet loading in { type filter hook input priority 0 ; }'; \
         nft 'add rule inet loading in udp dport { 500, 4500 } drop'",
    );
    two.restart();
    hosts[1].run("nft delete table inet loading");
    until("the tunnel is back", || one.installed() == 1 && two.installed() == 1);
    assert_eq!(ping(&hosts[0], "10.1.0.1", "10.2.0.1", 3, 56).answered, 3);
    let packets = capture.stop(&site);
    assert!(packets.iter().any(|packet| is_esp(packet)), "{} packets, none of ESP", packets.len());
    assert_eq!(clear(&packets), [""; 0]);
}
