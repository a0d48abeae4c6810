//! The data plane at both ends: what strongSwan's own ESP in user space lacks.

use ipsec_tests::{Capture, Charon, Config, Host, Kernel, Ping, Plane, Site, bulk, clear, is_esp, ping};

/// Pings of several sizes, and bulk, in both directions.
fn carries(a: &Host, b: &Host, from: &str, to: &str, sizes: &[u32]) {
    for &bytes in sizes {
        assert_eq!(ping(a, from, to, 3, bytes), Ping { sent: 3, answered: 3 }, "{bytes} bytes");
        assert_eq!(ping(b, to, from, 3, bytes), Ping { sent: 3, answered: 3 }, "{bytes} bytes");
    }
    bulk(a, from, b, to, 5_000_000);
    bulk(b, to, a, from, 5_000_000);
}

/// Establishes a tunnel, has it carry traffic, and gives what the wire saw.
fn over(config: &Config, peer: &Config, from: &str, to: &str) -> Option<Vec<Vec<u8>>> {
    over_with(config, peer, from, to, &[56, 1300, 1500, 9000])
}

fn over_with(config: &Config, peer: &Config, from: &str, to: &str, sizes: &[u32]) -> Option<Vec<Vec<u8>>> {
    let site = Site::new()?;
    let [a, b] = site.pair();
    let _planes = [Plane::start(&a, &["--weak-suites"]), Plane::start(&b, &["--weak-suites"])];
    let (one, two) = (Charon::start(&a, Kernel::Ours, ""), Charon::start(&b, Kernel::Ours, ""));
    one.load(config);
    two.load(peer);
    let capture = Capture::start(&site, &a);
    one.initiate();
    assert_eq!((one.installed(), two.installed()), (1, 1));
    carries(&a, &b, from, to, sizes);
    one.swanctl("--rekey --child net");
    one.until_log("outbound CHILD_SA net{2} established", 1);
    carries(&a, &b, from, to, sizes);
    let packets = capture.stop(&site);
    assert!(packets.iter().filter(|packet| is_esp(packet)).count() > 100);
    assert_eq!(clear(&packets), [""; 0]);
    Some(packets)
}

/// Protocol 50 itself, without UDP.
fn bare(from: u8, to: u8, esp: &str) -> Config {
    let mut config = Config::between(from, to).with_esp(esp);
    config.connection = "encap = no".to_owned();
    config
}

fn is_bare(packet: &[u8]) -> bool {
    packet[0] >> 4 == 4 && packet[9] == 50 || packet[0] >> 4 == 6 && packet[6] == 50
}

#[test]
fn protocol_50_with_extended_sequence_numbers() {
    for esp in ["aes128gcm16-esn", "aes256-sha256-esn"] {
        let packets = over(&bare(1, 2, esp), &bare(2, 1, esp), "10.1.0.1", "10.2.0.1");
        let Some(packets) = packets else { return };
        assert!(packets.iter().filter(|packet| is_esp(packet)).all(|packet| is_bare(packet)), "{esp}");
    }
}

#[test]
fn suites_that_are_asked_for_seldom() {
    for esp in ["3des-sha512", "aes192-sha512"] {
        if over(&bare(1, 2, esp), &bare(2, 1, esp), "10.1.0.1", "10.2.0.1").is_none() {
            return;
        }
    }
}

/// IPv6 outside, and inside.
fn six(from: u8, to: u8, encapsulated: bool) -> Config {
    let mut config = Config::between(from, to);
    (config.local, config.remote) = (format!("2001:db8::{from}"), format!("2001:db8::{to}"));
    config.local_ts = format!("10.{from}.0.0/16,fd00:{from}::/32");
    config.remote_ts = format!("10.{to}.0.0/16,fd00:{to}::/32");
    config.connection = format!("encap = {}", if encapsulated { "yes" } else { "no" });
    config
}

#[test]
fn ipv6_outside() {
    for encapsulated in [false, true] {
        for (from, to) in [("10.1.0.1", "10.2.0.1"), ("fd00:1::1", "fd00:2::1")] {
            let Some(packets) = over(&six(1, 2, encapsulated), &six(2, 1, encapsulated), from, to) else {
                return;
            };
            let esp = packets.iter().filter(|packet| is_esp(packet));
            assert!(esp.clone().all(|packet| packet[0] >> 4 == 6 && is_bare(packet) != encapsulated));
        }
    }
}

/// Transport mode between the hosts themselves.
fn transport(from: u8, to: u8) -> Config {
    let mut config = bare(from, to, "aes128gcm16");
    (config.local_ts, config.remote_ts) = (String::new(), String::new());
    config.child("mode = transport")
}

#[test]
fn transport_mode_between_hosts() {
    // A fragment has no ports that a selector could be compared with, and no ESP in transport mode (RFC 4301, 3.1):
    // sizes below the MTU.
    let packets = over_with(&transport(1, 2), &transport(2, 1), "192.0.2.1", "192.0.2.2", &[56, 1300]);
    let Some(packets) = packets else { return };
    let icmp = packets.iter().filter(|packet| packet[0] >> 4 == 4 && packet[9] == 1);
    assert_eq!(icmp.count(), 0, "pings went over the wire in clear");
}
