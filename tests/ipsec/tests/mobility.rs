//! Addresses that change: MOBIKE, a peer behind NAT, addresses that a gateway gives.

use ipsec_tests::{Charon, Config, Host, Kernel, Ping, Pings, Plane, Site, ping, until};

/// A host with the data plane and a daemon on it.
fn ours(host: &Host) -> (Plane<'_>, Charon<'_>) {
    (Plane::start(host, &[]), Charon::start(host, Kernel::Ours, ""))
}

/// A connection whose ends are known by names rather than addresses.
fn named(from: u8, to: u8) -> Config {
    let mut config = Config::between(from, to);
    config.names = Some((format!("host{from}.test"), format!("host{to}.test")));
    config
}

#[test]
fn a_host_that_moves_keeps_its_tunnel() {
    let Some(site) = Site::new() else { return };
    let [a, b] = site.pair();
    // strongSwan would take whichever path answers first.
    b.run("ip -6 address flush dev eth0");
    let (_plane, one) = ours(&a);
    let two = Charon::start(&b, Kernel::Libipsec, "");
    let mut config = named(1, 2).connection("mobike = yes");
    config.local.clear();
    one.load(&config);
    let mut config = named(2, 1).connection("mobike = yes");
    config.remote.clear();
    two.load(&config);
    one.initiate();
    let pings = Pings::start(&a, "10.1.0.1", "10.2.0.1", 20);
    pings.until_answered();
    a.run("ip address add 192.0.2.11/24 dev eth0; ip address delete 192.0.2.1/24 dev eth0; ip address replace 192.0.2.11/24 dev eth0");
    two.until_log("from 192.0.2.11[4500]", 1);
    until("the other end follows", || two.swanctl("--list-sas").contains("192.0.2.11"));
    pings.until_answered();
    assert_eq!(ping(&b, "10.2.0.1", "10.1.0.1", 3, 56), Ping { sent: 3, answered: 3 });
    assert_eq!((one.installed(), two.installed()), (1, 1));
}

#[test]
fn a_peer_that_moves_keeps_its_tunnel() {
    let Some(site) = Site::new() else { return };
    let [a, b] = site.pair();
    // strongSwan would take whichever path answers first.
    a.run("ip -6 address flush dev eth0");
    let (_plane, one) = ours(&a);
    let two = Charon::start(&b, Kernel::Libipsec, "");
    let mut config = named(1, 2).connection("mobike = yes");
    config.remote.clear();
    one.load(&config);
    let mut config = named(2, 1).connection("mobike = yes");
    config.local.clear();
    two.load(&config);
    two.initiate();
    let pings = Pings::start(&a, "10.1.0.1", "10.2.0.1", 20);
    pings.until_answered();
    b.run("ip address add 192.0.2.12/24 dev eth0; ip address delete 192.0.2.2/24 dev eth0; ip address replace 192.0.2.12/24 dev eth0");
    one.until_log("from 192.0.2.12[4500]", 1);
    pings.until_answered();
    assert_eq!((one.installed(), two.installed()), (1, 1));
}

/// Host `n` between the wire and a network 198.51.100.0/24 with host `b`, whose packets have `n`'s address outside, and
/// ports from `ports`.
fn behind_nat(site: &Site) -> [Host; 2] {
    let n = site.host("n", &["192.0.2.3/24"], &[]);
    let b = site.host("b", &["198.51.100.2/24"], &["10.2.0.1/32"]);
    site.run(&format!(
        "ip link add br1 type bridge; ip link set br1 up; ip link set to-b master br1; \
         ip link add to-n1 type veth peer name eth1 netns {}; ip link set to-n1 master br1 up",
        n.pid()
    ));
    n.run(
        "ip link set eth1 up; ip address add 198.51.100.1/24 dev eth1; echo 1 >/proc/sys/net/ipv4/ip_forward",
    );
    b.run("ip route add default via 198.51.100.1");
    translate(&n, "192.0.2.3:10000-10999");
    // Ways that nobody uses are forgotten after a second.
    n.run("for of in '' _stream; do echo 1 >/proc/sys/net/netfilter/nf_conntrack_udp_timeout$of; done");
    [n, b]
}

/// Has a host translate to an address and ports, and forget what it translated before.
fn translate(n: &Host, to: &str) {
    n.run(&format!(
        "nft flush ruleset; nft add table ip nat; \
         nft 'add chain ip nat out {{ type nat hook postrouting priority 100 ; }}'; \
         nft add rule ip nat out oifname eth0 meta l4proto udp snat to {to}; "
    ));
}

#[test]
fn a_mapping_that_changes_is_followed() {
    let Some(site) = Site::new() else { return };
    let a = site.numbered("a", 1);
    let [n, b] = behind_nat(&site);
    let (_plane, one) = ours(&a);
    let two = Charon::start(&b, Kernel::Libipsec, "keep_alive = 1s");
    let mut config = named(1, 2).connection("mobike = no");
    config.remote.clear();
    one.load(&config);
    let mut config = named(2, 1).connection("mobike = no");
    config.local.clear();
    two.load(&config);
    two.initiate();
    let pings = Pings::start(&b, "10.2.0.1", "10.1.0.1", 20);
    pings.until_answered();
    // Another port, then another address, as after a restart of the box in between.
    n.run("ip address add 192.0.2.33/24 dev eth0");
    for (round, to) in ["192.0.2.3:20000-20999", "192.0.2.33:30000-30999"].iter().enumerate() {
        translate(&n, to);
        // What was translated is forgotten: nothing comes for longer than a way stays open, and packets that come then
        // open another.
        n.run("ip link set eth1 down; sleep 1.5; ip link set eth1 up; ip link set eth0 down; ip link set eth0 up");
        n.run("ip address replace 192.0.2.3/24 dev eth0; ip address replace 192.0.2.33/24 dev eth0");
        pings.until_answered();
        one.until_log("NAT mappings of CHILD_SA", round + 1);
        assert_eq!(ping(&a, "10.1.0.1", "10.2.0.1", 3, 56), Ping { sent: 3, answered: 3 });
    }
    assert_eq!((one.installed(), two.installed()), (1, 1));
}

#[test]
fn an_address_that_the_gateway_gives_is_used() {
    let Some(site) = Site::new() else { return };
    let [a, b] = site.pair();
    let (_plane, one) = ours(&a);
    let two = Charon::start(&b, Kernel::Libipsec, "");
    let mut config = Config::between(1, 2).connection("vips = 0.0.0.0");
    config.local_ts.clear();
    one.load(&config);
    let mut config = Config::between(2, 1).connection("pools = given");
    config.remote_ts.clear();
    config.sections = "pools {\ngiven {\naddrs = 10.3.0.7/32\n}\n}\n".to_owned();
    two.load(&config);
    one.initiate();
    assert!(a.run("ip address").contains("10.3.0.7/32"));
    assert_eq!(ping(&a, "10.3.0.7", "10.2.0.1", 3, 56), Ping { sent: 3, answered: 3 });
    assert_eq!(ping(&b, "10.2.0.1", "10.3.0.7", 3, 56), Ping { sent: 3, answered: 3 });
    one.swanctl("--terminate --ike net");
    until("the address goes", || !a.run("ip address").contains("10.3.0.7/32"));
}
