//! `ip xfrm` of iproute2, unmodified: SAs and policies by hand, lists, events.

use ipsec_tests::{Plane, Site, within};
use std::time::Duration;

/// A pair of tunnel SAs, and the policies that ask for them, as Linux's manual page has them.
const ADD: &str = "
ip xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1001 reqid 7 mode tunnel aead 'rfc4106(gcm(aes))' 0x000102030405060708090a0b0c0d0e0f10111213 128 replay-window 64
ip xfrm state add src 192.0.2.2 dst 192.0.2.1 proto esp spi 0x1002 reqid 7 mode tunnel auth-trunc 'hmac(sha256)' 0x000102030405060708090a0b0c0d0e0f000102030405060708090a0b0c0d0e0f 128 enc 'cbc(aes)' 0x000102030405060708090a0b0c0d0e0f replay-window 32
ip xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out priority 100 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 7 mode tunnel
ip xfrm policy add src 10.2.0.0/16 dst 10.1.0.0/16 dir in priority 100 tmpl src 192.0.2.2 dst 192.0.2.1 proto esp reqid 7 mode tunnel
";

#[test]
fn what_is_added_is_listed_counted_and_deleted() {
    let Some(site) = Site::new() else { return };
    let a = site.numbered("a", 1);
    let plane = Plane::start(&a, &[]);
    plane.run(ADD);
    let states = plane.run("ip xfrm state");
    for part in [
        "src 192.0.2.1 dst 192.0.2.2",
        "proto esp spi 0x00001001 reqid 7 mode tunnel",
        "replay_window 64,",
        "replay-window 32",
        "aead rfc4106(gcm(aes)) 0x000102030405060708090a0b0c0d0e0f10111213 128",
        "auth-trunc hmac(sha256) 0x000102030405060708090a0b0c0d0e0f000102030405060708090a0b0c0d0e0f 128",
        "enc cbc(aes) 0x000102030405060708090a0b0c0d0e0f",
    ] {
        assert!(states.contains(part), "{part} is not in\n{states}");
    }
    let policies = plane.run("ip xfrm policy");
    for part in ["src 10.1.0.0/16 dst 10.2.0.0/16", "dir out priority 100", "dir in priority 100"] {
        assert!(policies.contains(part), "{part} is not in\n{policies}");
    }
    assert!(plane.run("ip xfrm state count").contains("SAD count 2"));
    assert!(plane.run("ip xfrm policy count").contains("IN  1"), "{}", plane.run("ip xfrm policy count"));
    let one = plane.run("ip xfrm state get src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1001");
    assert!(one.contains("spi 0x00001001") && !one.contains("spi 0x00001002"), "{one}");
    let one = plane.run("ip xfrm policy get src 10.1.0.0/16 dst 10.2.0.0/16 dir out");
    assert!(one.contains("dir out"), "{one}");
    // The kernel's own tables have none of it.
    assert_eq!(a.run("ip xfrm state; ip xfrm policy"), "");
    plane.run("ip xfrm state delete src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1001");
    assert!(!plane.tries("ip xfrm state delete src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1001"));
    plane.run("ip xfrm policy delete src 10.1.0.0/16 dst 10.2.0.0/16 dir out");
    assert!(plane.run("ip xfrm state count").contains("SAD count 1"));
    plane.run("ip xfrm state flush; ip xfrm policy flush");
    assert_eq!(plane.run("ip xfrm state; ip xfrm policy"), "");
}

#[test]
fn an_identifier_is_allocated_and_filled() {
    let Some(site) = Site::new() else { return };
    let a = site.numbered("a", 1);
    let plane = Plane::start(&a, &[]);
    let allocated = plane.run(
        "ip xfrm state allocspi src 192.0.2.2 dst 192.0.2.1 proto esp mode tunnel min 0x2000 max 0x2000",
    );
    assert!(allocated.contains("spi 0x00002000"), "{allocated}");
    plane.run("ip xfrm state update src 192.0.2.2 dst 192.0.2.1 proto esp spi 0x2000 mode tunnel aead 'rfc4106(gcm(aes))' 0x000102030405060708090a0b0c0d0e0f10111213 128");
    assert!(plane.run("ip xfrm state").contains("aead rfc4106(gcm(aes))"));
}

#[test]
fn what_makes_no_sense_is_refused_as_the_kernel_refuses_it() {
    let Some(site) = Site::new() else { return };
    let a = site.numbered("a", 1);
    let plane = Plane::start(&a, &[]);
    let refused = |what: &str| {
        let said = plane.run(&format!("ip xfrm {what} 2>&1 && echo accepted || true"));
        assert!(!said.contains("accepted"), "{what}: {said}");
        said
    };
    let state = "state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1001 mode tunnel";
    assert!(
        refused(&format!("{state} enc 'cbc(serpent)' 0x00010203040506070809"))
            .contains("algorithm not found")
    );
    refused(&format!("{state} aead 'rfc4106(gcm(aes))' 0x00 128"));
    refused(
        "state add src 192.0.2.1 dst 192.0.2.2 proto ah spi 0x1001 mode tunnel auth 'hmac(sha1)' 0x0001020304050607080900010203040506070809",
    );
    refused("state get src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x9999");
    refused("policy get src 10.1.0.0/16 dst 10.2.0.0/16 dir out");
    plane.run(ADD);
    assert!(
        refused(ADD.trim().lines().next().unwrap().strip_prefix("ip xfrm ").unwrap()).contains("File exists")
    );
}

#[test]
fn a_monitor_hears_what_others_do() {
    let Some(site) = Site::new() else { return };
    let a = site.numbered("a", 1);
    let plane = Plane::start(&a, &[]);
    a.start("monitor", &Plane::environment(), &["stdbuf", "-oL", "ip", "xfrm", "monitor"]);
    // It says nothing when it begins to listen: what is done is done until it is heard.
    let heard = within(Duration::from_secs(10), || {
        plane.run("ip xfrm state flush; ip xfrm policy flush");
        plane.run(ADD);
        a.log("monitor").contains("spi 0x00001001")
    });
    assert!(heard, "{}", a.log("monitor"));
    plane.run("ip xfrm state delete src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1001; ip xfrm policy flush");
    a.until_log("monitor", "Deleted src 192.0.2.1 dst 192.0.2.2", 1);
    a.until_log("monitor", "Flushed policy", 1);
}
