//! Much of it: rekeyings under load, and a thousand SAs and policies.

use ipsec_tests::{Charon, Config, DEVICE, Kernel, Ping, Pings, Plane, Site, load, ping, until};
use std::fmt::Write as _;
use std::fs;

/// Rekeyings of the child, and of the IKE_SA, from both ends.
fn rekeyings(kernel: Kernel, children: usize, ikes: usize) {
    let Some(site) = Site::new() else { return };
    let [a, b] = site.pair();
    let plane = Plane::start(&a, &[]);
    let other = (kernel == Kernel::Ours).then(|| Plane::start(&b, &[]));
    let one = Charon::start(&a, Kernel::Ours, "");
    let two = Charon::start(&b, kernel, "");
    // Some seconds of the load.
    for (host, device) in [(&a, DEVICE), (&b, if kernel == Kernel::Ours { DEVICE } else { "ipsec0" })] {
        host.run(&format!("ip link set {device} txqueuelen 20000"));
    }
    // Threads that share an SA overtake each other: a window of 32, as strongSwan's is, is soon behind.
    let window = if kernel == Kernel::Ours { "replay_window = 512" } else { "" };
    one.load(&Config::between(1, 2).child(window));
    two.load(&Config::between(2, 1).child(window));
    one.initiate();
    let pings = Pings::start(&a, "10.1.0.1", "10.2.0.1", 5);
    load(&a, "10.1.0.1", &b, "10.2.0.1");
    for round in 0..children {
        let (from, to) = if round % 2 == 0 { (&one, &two) } else { (&two, &one) };
        if round % (children / ikes) == 0 {
            from.swanctl("--rekey --ike net");
            until("both have the other IKE_SA", || {
                [from, to]
                    .iter()
                    .all(|charon| charon.swanctl("--list-sas").matches("ESTABLISHED").count() == 1)
            });
        }
        from.swanctl("--rekey --child net");
        let name = format!("outbound CHILD_SA net{{{}}} established", round + 2);
        one.until_log(&name, 1);
        two.until_log(&name, 1);
    }
    let answers = pings.end();
    assert_eq!(plane.dropped(), [""; 0]);
    // libipsec may lose some.
    let mut may_lack = 2;
    if let Some(other) = other {
        assert_eq!(other.dropped(), [""; 0]);
        may_lack = 0;
    }
    // The load stops for nobody: where a thread waits for a processor, its queue is soon full.
    let overflowed = a.overflowed() + b.overflowed();
    let lack = u64::from(answers.sent - answers.answered);
    assert!(lack <= may_lack + overflowed, "{answers:?}, {overflowed} where nobody read in time");
}

#[test]
fn rekeyings_under_load_drop_nothing() {
    rekeyings(Kernel::Libipsec, 100, 20);
}

#[test]
fn rekeyings_between_two_of_ours_lose_nothing() {
    rekeyings(Kernel::Ours, 40, 8);
}

#[test]
fn a_thousand_associations_and_policies() {
    let Some(site) = Site::new() else { return };
    let [a, b] = site.pair();
    let planes = [Plane::start(&a, &[]), Plane::start(&b, &[])];
    let key = "aead 'rfc4106(gcm(aes))' 0x000102030405060708090a0b0c0d0e0f1011";
    for (host, plane, own, other) in [(&a, &planes[0], 1, 2), (&b, &planes[1], 2, 1)] {
        let mut batch = String::new();
        for number in 0..1000u32 {
            let (high, low) = (number / 250, number % 250);
            for (from, to, direction) in [(own, other, "out"), (other, own, "in")] {
                let spi = 0x1_0000 * from + number;
                let _ = writeln!(
                    batch,
                    "xfrm state add src 192.0.2.{from} dst 192.0.2.{to} proto esp spi {spi:#x} reqid {} mode tunnel {key}{:04x} 128",
                    number + 1,
                    1000 * from + number
                );
                let _ = writeln!(
                    batch,
                    "xfrm policy add src 10.{from}{high}.{low}.0/24 dst 10.{to}{high}.{low}.0/24 dir {direction} \
                     tmpl src 192.0.2.{from} dst 192.0.2.{to} proto esp reqid {} mode tunnel",
                    number + 1
                );
            }
        }
        let file = host.file("batch");
        fs::write(&file, batch).unwrap();
        plane.run(&format!("ip -batch {}", file.display()));
        assert!(plane.run("ip xfrm state count").contains("SAD count 2000"));
        let listed = plane.run("ip xfrm state; ip xfrm policy");
        assert_eq!((listed.matches("proto esp spi").count(), listed.matches("\tdir ").count()), (2000, 2000));
    }
    for number in [0u32, 1, 499, 998, 999] {
        let (high, low) = (number / 250, number % 250);
        let [from, to] = [1, 2].map(|host| format!("10.{host}{high}.{low}.1"));
        a.run(&format!("ip address add {from}/32 dev lo"));
        b.run(&format!("ip address add {to}/32 dev lo"));
        // The data planes are told of the addresses by the kernel.
        until("both know the addresses", || ping(&a, &from, &to, 1, 56).answered == 1);
        assert_eq!(ping(&a, &from, &to, 3, 56), Ping { sent: 3, answered: 3 }, "{number}");
    }
    planes[0].run("ip xfrm state flush; ip xfrm policy flush");
    assert_eq!(planes[0].run("ip xfrm state; ip xfrm policy"), "");
}
