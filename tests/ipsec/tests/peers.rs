//! The peers by themselves: what the other tests take for granted of strongSwan and of their networks.

use ipsec_tests::{Charon, Config, Kernel, Ping, Site, bulk, ping};

#[test]
fn two_strongswans_carry_traffic() {
    let Some(site) = Site::new() else { return };
    let [a, b] = site.pair();
    assert_eq!(ping(&a, "192.0.2.1", "192.0.2.2", 3, 56), Ping { sent: 3, answered: 3 });
    let (one, two) = (Charon::start(&a, Kernel::Libipsec, ""), Charon::start(&b, Kernel::Libipsec, ""));
    one.load(&Config::between(1, 2));
    two.load(&Config::between(2, 1));
    one.initiate();
    assert_eq!((one.installed(), two.installed()), (1, 1));
    assert_eq!(ping(&a, "10.1.0.1", "10.2.0.1", 5, 1000), Ping { sent: 5, answered: 5 });
    bulk(&a, "10.1.0.1", &b, "10.2.0.1", 4_000_000);
}
