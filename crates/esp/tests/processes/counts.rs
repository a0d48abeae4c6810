//! What is counted of policies: known packets, to the last one, while tables are published anew.

use crate::commands::ask;
use crate::net::{FAR, FAR_INSIDE, MARKER, NEAR, NEAR_INSIDE, Net, udp, wait_until, with_rights};
use crate::plane::{Plane, both, key};
use crate::xfrm;
use netlink_packet_xfrm::XfrmMessage;
use serde_json::{Value, json};
use std::net::UdpSocket;

/// Traffic from this side to that one, as policies name it.
const TRAFFIC: &str = "10.1.0.0/16 to 10.2.0.0/16";
/// Its one flow, as a policy of its own.
const FLOW: &str = "10.1.0.1/32 to 10.2.0.1/32";
/// A marked datagram with headers of UDP and IPv4.
const BYTES: usize = MARKER.len() + 8 + 20;

/// Packets and bytes that a policy let by, and what it dropped.
fn counts(plane: &Plane<'_>, direction: &str, selector: &str) -> (u64, u64, Value) {
    let policies: Vec<Value> = serde_json::from_str(&plane.shows("policy", true)).unwrap();
    let found = policies.iter().find(|row| row["direction"] == direction && row["selector"] == selector);
    let row = found.unwrap_or_else(|| panic!("{direction} {selector} in {policies:?}"));
    (row["packets"].as_u64().unwrap(), row["bytes"].as_u64().unwrap(), row["drops"].clone())
}

fn send(sender: &UdpSocket, receiver: &UdpSocket, packets: usize) {
    for _ in 0..packets {
        sender.send_to(MARKER, receiver.local_addr().unwrap()).unwrap();
    }
}

/// Sends datagrams, one at a time, and takes them.
fn pass(sender: &UdpSocket, receiver: &UdpSocket, packets: usize) {
    for _ in 0..packets {
        send(sender, receiver, 1);
        let mut read = [0; 100];
        wait_until("it arrives", || receiver.recv(&mut read).is_ok());
    }
}

fn out_policy(inside: (&str, &str), bits: u8, priority: u32, is_block: bool) -> XfrmMessage {
    let mut message = xfrm::policy(1, inside, bits, (NEAR, FAR));
    if let XfrmMessage::AddPolicy(policy) = &mut message {
        (policy.user_policy_info.priority, policy.user_policy_info.action) = (priority, is_block.into());
    }
    message
}

fn update(message: XfrmMessage) -> XfrmMessage {
    let XfrmMessage::AddPolicy(policy) = message else { panic!("{message:?}") };
    XfrmMessage::UpdatePolicy(policy)
}

#[test]
fn each_packet_counts_for_its_policy() {
    with_rights(|| {
        let net = Net::new();
        let [near, far] = both(&net);
        let (sender, receiver) = (udp(&net.near, NEAR_INSIDE), udp(&net.far, FAR_INSIDE));
        send(&sender, &receiver, 3);
        let no_sa = json!([{ "reason": "no-sa", "packets": 3 }]);
        wait_until("they are dropped", || counts(&near, "out", TRAFFIC) == (0, 0, no_sa.clone()));
        key(0x1001, [&near, &far]);
        pass(&sender, &receiver, 7);
        let bytes = |packets| packets * BYTES as u64;
        assert_eq!(counts(&near, "out", TRAFFIC), (7, bytes(7), no_sa.clone()));
        assert_eq!(counts(&far, "in", TRAFFIC), (7, bytes(7), json!([])));
        assert_eq!(counts(&far, "fwd", TRAFFIC), (0, 0, json!([])));
        // Tables that are published for another policy, and for this one, which is updated in its place.
        for round in 0..5 {
            let mut requests = near.xfrm();
            requests.ok(out_policy((&format!("10.3.{round}.0"), "10.4.0.0"), 24, 5, false));
            requests.ok(update(out_policy((NEAR_INSIDE, FAR_INSIDE), 16, 200 + round, false)));
            pass(&sender, &receiver, 4);
        }
        assert_eq!(counts(&near, "out", TRAFFIC), (27, bytes(27), no_sa.clone()));
        assert_eq!(counts(&far, "in", TRAFFIC), (27, bytes(27), json!([])));
        // A better one blocks: what it drops is its own.
        near.xfrm().ok(out_policy((NEAR_INSIDE, FAR_INSIDE), 32, 1, true));
        send(&sender, &receiver, 2);
        let blocked = json!([{ "reason": "blocked", "packets": 2 }]);
        wait_until("they are blocked", || counts(&near, "out", FLOW) == (0, 0, blocked.clone()));
        assert_eq!(counts(&near, "out", TRAFFIC), (27, bytes(27), no_sa));
        let metrics = ask(&near, "metrics\n");
        let labels = "direction=\"out\",source=\"10.1.0.0/16\",destination=\"10.2.0.0/16\"";
        for line in [
            format!("cryptand_ipsec_policy_packets_total{{{labels}}} 27"),
            format!("cryptand_ipsec_policy_bytes_total{{{labels}}} {}", bytes(27)),
            format!("cryptand_ipsec_policy_dropped_packets_total{{{labels},reason=\"no-sa\"}} 3"),
            format!("cryptand_ipsec_policy_dropped_packets_total{{{labels},reason=\"blocked\"}} 0"),
            "cryptand_ipsec_policy_dropped_packets_total{direction=\"out\",source=\"10.1.0.1/32\",destination=\"10.2.0.1/32\",reason=\"blocked\"} 2".to_owned(),
            "cryptand_ipsec_policies_not_shown 0".to_owned(),
            "cryptand_ipsec_sas_not_replaced 0".to_owned(),
        ] {
            assert!(metrics.lines().any(|shown| shown == line), "{line} in {metrics}");
        }
        // Removed and added again it begins at nothing.
        let mut requests = near.xfrm();
        requests.ok(XfrmMessage::FlushPolicy(Default::default()));
        xfrm::policies(true).into_iter().for_each(|policy| requests.ok(policy));
        assert_eq!(counts(&near, "out", TRAFFIC), (0, 0, json!([])));
        assert!(near.shows("policy", false).lines().next().unwrap().ends_with("packets  bytes  dropped"));
    });
}

/// What `cryptand ipsec metrics` says of SAs that have none to follow.
fn not_replaced(plane: &Plane<'_>) -> String {
    let metrics = ask(plane, "metrics\n");
    let line = metrics.lines().find_map(|line| line.strip_prefix("cryptand_ipsec_sas_not_replaced "));
    line.unwrap_or_else(|| panic!("{metrics}")).to_owned()
}

#[test]
fn an_sa_past_its_soft_limit_counts_until_another_is_there() {
    with_rights(|| {
        let net = Net::new();
        let [near, far] = both(&net);
        far.key(0x1001);
        let mut limited = xfrm::sa(NEAR, FAR, 0x1001);
        if let XfrmMessage::AddSa(sa) = &mut limited {
            sa.user_sa_info.lifetime_cfg.soft_packet_limit = 3;
        }
        near.xfrm().ok(limited);
        let (sender, receiver) = (udp(&net.near, NEAR_INSIDE), udp(&net.far, FAR_INSIDE));
        pass(&sender, &receiver, 2);
        assert_eq!(not_replaced(&near), "0");
        pass(&sender, &receiver, 1);
        assert_eq!(not_replaced(&near), "1");
        // The other way it is no other.
        near.xfrm().ok(xfrm::sa(FAR, NEAR, 0x1002));
        assert_eq!(not_replaced(&near), "1");
        near.xfrm().ok(xfrm::sa(NEAR, FAR, 0x2001));
        assert_eq!(not_replaced(&near), "0");
    });
}
