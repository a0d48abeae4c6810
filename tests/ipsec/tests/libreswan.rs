//! Libreswan over the data plane, against strongSwan with its own ESP in user space.

use ipsec_tests::{Charon, Config, Kernel, Ping, Pings, Plane, Pluto, Site, bulk, ping, until};

/// What comes of pings of several sizes in both directions.
fn pings(a: &ipsec_tests::Host) {
    for bytes in [56, 1300, 4000] {
        assert_eq!(ping(a, "10.1.0.1", "10.2.0.1", 3, bytes), Ping { sent: 3, answered: 3 }, "{bytes}");
    }
}

#[test]
fn suites_as_initiator() {
    let Some(site) = Site::new() else { return };
    let [a, b] = site.pair();
    let _plane = Plane::start(&a, &["--weak-suites"]);
    let two = Charon::start(&b, Kernel::Libipsec, "");
    for (suite, peers) in [
        ("aes_gcm128-null", "aes128gcm16"),
        ("chacha20_poly1305", "chacha20poly1305"),
        ("aes128-sha1", "aes128-sha1"),
        ("aes256-sha2_256", "aes256-sha256"),
        ("aes256-sha2_512", "aes256-sha512"),
        ("3des-sha1", "3des-sha1"),
    ] {
        two.load(&Config::between(2, 1).with_esp(peers));
        let one = Pluto::start(&a, 1, 2, &[&format!("phase2alg={suite}")]);
        one.initiate();
        until("it is installed", || two.installed() == 1);
        pings(&a);
        bulk(&a, "10.1.0.1", &b, "10.2.0.1", 2_000_000);
        one.stop();
    }
}

#[test]
fn as_responder_with_rekeying_from_both_ends() {
    let Some(site) = Site::new() else { return };
    let [a, b] = site.pair();
    let _plane = Plane::start(&a, &[]);
    let one = Pluto::start(&a, 1, 2, &["phase2alg=aes128-sha2_256"]);
    let two = Charon::start(&b, Kernel::Libipsec, "");
    two.load(&Config::between(2, 1).with_esp("aes128-sha256"));
    two.initiate();
    pings(&a);
    let steady = Pings::start(&a, "10.1.0.1", "10.2.0.1", 10);
    steady.until_answered();
    two.swanctl("--rekey --child net");
    two.until_log("outbound CHILD_SA net{2} established", 1);
    steady.until_answered();
    one.whack("--rekey-ipsec --name net");
    two.until_log("CHILD_SA net{3} established", 1);
    steady.until_answered();
    two.swanctl("--rekey --ike net");
    two.until_log("IKE_SA net[2] rekeyed between", 1);
    let answers = steady.end();
    assert!(answers.sent > 10 && answers.sent - answers.answered <= 1, "{answers:?}");
}

#[test]
fn a_packet_that_a_trap_is_for_establishes_the_tunnel() {
    let Some(site) = Site::new() else { return };
    let [a, b] = site.pair();
    let _plane = Plane::start(&a, &[]);
    let one = Pluto::start(&a, 1, 2, &["phase2alg=aes_gcm128-null"]);
    let two = Charon::start(&b, Kernel::Libipsec, "");
    two.load(&Config::between(2, 1));
    one.whack("--route --name net");
    let steady = Pings::start(&a, "10.1.0.1", "10.2.0.1", 20);
    steady.until_answered();
    assert_eq!(two.installed(), 1);
    pings(&a);
}
