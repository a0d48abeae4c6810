//! What subscribers are told.

use crate::common::*;
use ipsec::{Direction, Endpoint, Event, Flow, SaName};
use netlink_packet_xfrm::{EncapTmpl, XfrmAttrs, XfrmMessage};

const ACQUIRE: u32 = 1;
const EXPIRE: u32 = 2;
const SA: u32 = 4;
const POLICY: u32 = 8;
const MAPPING: u32 = 128;

fn tell(bench: &mut Bench, event: &Event) {
    let now = bench.time();
    bench.xfrm.event(event, now, bench.wall, &mut bench.out);
}

#[test]
fn a_missing_sa_is_asked_for_until_it_is_there() {
    let mut bench = Bench::new();
    bench.ok(XfrmMessage::AddPolicy(out_policy()));
    let index = bench.xfrm.protected().next().unwrap().index;
    let flow = Flow::new(ip("10.1.1.5"), ip("10.2.2.6"), 17, (1234, 53)).unwrap();
    let event = Event::Acquire { policy: index, flow };
    tell(&mut bench, &event);
    assert!(bench.answers(1).is_empty());
    assert_eq!(bench.xfrm.list_sas(bench.time()).count(), 0, "nobody listens, so nobody is waited for");
    bench.hello(1, ACQUIRE);
    tell(&mut bench, &event);
    tell(&mut bench, &event);
    let answers = bench.answers(1);
    assert_eq!(answers.len(), 2, "who was not ready is asked again");
    let Some(XfrmMessage::Acquire(again)) = &answers[1].message else { panic!("an ACQUIRE") };
    let Some(XfrmMessage::Acquire(message)) = &answers[0].message else { panic!("an ACQUIRE") };
    assert_eq!(message.acquire.seq, again.acquire.seq);
    let acquire = &message.acquire;
    assert_eq!((acquire.id.daddr, acquire.saddr), (field(ip(FAR)), field(ip(NEAR))));
    assert_eq!((acquire.selector.dport, acquire.selector.sport, acquire.selector.proto), (53, 1234, 17));
    assert_eq!((acquire.policy.index, acquire.aalgos), (index, u32::MAX));
    assert_ne!(acquire.seq, 0);
    assert!(message.nlas.contains(&XfrmAttrs::Template(vec![template(NEAR, FAR)])));
    assert_eq!(bench.xfrm.list_sas(bench.time()).count(), 1);
    bench.ok(out_sa(0x1000));
    assert_eq!(bench.xfrm.list_sas(bench.time()).count(), 1, "it takes the place of what was asked for");
    bench.ok(XfrmMessage::DeleteSa(name(FAR, 0x1000)));
    tell(&mut bench, &event);
    let Some(XfrmMessage::Acquire(again)) = &bench.answers(1)[0].message else { panic!("an ACQUIRE") };
    assert_ne!(again.acquire.seq, acquire.seq);
    // Without an answer it is asked again after its time.
    bench.pass(xfrm::LARVAL_SECONDS);
    bench.answers(1);
    tell(&mut bench, &event);
    assert_eq!(bench.answers(1).len(), 1);
}

#[test]
fn a_policy_that_is_put_again_is_asked_for_again() {
    let mut bench = Bench::new();
    bench.ok(XfrmMessage::AddPolicy(out_policy()));
    let index = bench.xfrm.protected().next().unwrap().index;
    let flow = Flow::new(ip("10.1.1.5"), ip("10.2.2.6"), 17, (1234, 53)).unwrap();
    let event = Event::Acquire { policy: index, flow };
    bench.hello(1, ACQUIRE);
    tell(&mut bench, &event);
    assert_eq!(bench.answers(1).len(), 1);
    // A daemon that was asked before it knew the policy puts it again when it does.
    bench.ok(XfrmMessage::UpdatePolicy(out_policy()));
    assert_eq!(bench.xfrm.list_sas(bench.time()).count(), 0);
    tell(&mut bench, &event);
    assert_eq!(bench.answers(1).len(), 1);
    // An SPI that is reserved for the same request says that the negotiation has begun.
    bench.ask(allocate(0x2000, 0x2000));
    tell(&mut bench, &event);
    assert!(bench.answers(1).is_empty());
}

#[test]
fn limits_by_time_are_told_and_end() {
    let mut bench = Bench::new();
    bench.hello(1, EXPIRE);
    let mut message = sa(NEAR, FAR, 0x1000, vec![gcm()]);
    message.user_sa_info.lifetime_cfg.soft_add_expires_seconds = 60;
    message.user_sa_info.lifetime_cfg.hard_add_expires_seconds = 90;
    bench.ok(XfrmMessage::AddSa(message));
    assert_eq!(bench.xfrm.due(), Some(ipsec::Time::seconds(1060)));
    bench.pass(60);
    bench.pass(1);
    assert_eq!(bench.sa_events(), [(0x1000, false)]);
    assert!(bench.get(FAR, 0x1000).is_some());
    bench.pass(29);
    assert_eq!(bench.sa_events(), [(0x1000, true)]);
    assert!(bench.get(FAR, 0x1000).is_none());
    // An event about one that was replaced since does not end the other.
    bench.ok(out_sa(0x1000));
    let sa = SaName { direction: Direction::Out, spi: 0x1000, destination: ip(FAR), request: 7 };
    tell(&mut bench, &Event::Expire { sa, hard: true });
    assert!(bench.answers(1).is_empty());
    assert!(bench.get(FAR, 0x1000).is_some());
    bench.xfrm.sad().outbound(0x1000, ip(FAR)).unwrap().expire();
    tell(&mut bench, &Event::Expire { sa, hard: true });
    assert_eq!(bench.sa_events(), [(0x1000, true)]);
    assert!(bench.xfrm.sad().is_empty());
}

#[test]
fn a_peer_that_moved_is_told_and_followed() {
    for follow_mappings in [true, false] {
        let mut bench = Bench::with(xfrm::Settings { follow_mappings, ..xfrm::Settings::default() });
        bench.hello(1, MAPPING);
        let encap = |encap_sport, encap_dport| {
            let encap_oa = field(ip("0.0.0.0"));
            XfrmAttrs::EncapsulationTemplate(EncapTmpl { encap_type: 2, encap_sport, encap_dport, encap_oa })
        };
        bench.ok(XfrmMessage::AddSa(sa(FAR, NEAR, 0x1000, vec![gcm(), encap(4500, 4501)])));
        let key = aead("rfc4106(gcm(aes))", &[9; 20], 128);
        bench.ok(XfrmMessage::AddSa(sa(NEAR, FAR, 0x2000, vec![key, encap(4501, 4500)])));
        let sa = bench.xfrm.sad().inbound(0x1000).unwrap().name();
        let (from, to) = (Endpoint::new(ip(FAR), 4500), Endpoint::new(ip("203.0.113.77"), 61_000));
        tell(&mut bench, &Event::Mapping { sa, from, to });
        let answers = bench.answers(1);
        let Some(XfrmMessage::Mapping(message)) = &answers[0].message else { panic!("a MAPPING") };
        let map = &message.map;
        assert_eq!((map.id.spi, map.reqid, map.old_sport, map.new_sport), (0x1000, 7, 4500, 61_000));
        assert_eq!((map.old_saddr, map.new_saddr), (field(from.address), field(to.address)));
        let peers = [0x1000, 0x2000].map(|spi| match spi {
            0x1000 => bench.xfrm.sad().inbound(spi).unwrap().peer(),
            _ => bench.xfrm.sad().outbound(spi, ip(FAR)).unwrap().peer(),
        });
        assert_eq!(peers, if follow_mappings { [to; 2] } else { [from; 2] });
    }
}

#[test]
fn changes_are_told_to_those_who_watch() {
    let mut bench = Bench::new();
    bench.hello(2, SA | POLICY);
    bench.send(1, out_sa(0x1000), REQUEST);
    let events = bench.answers(2);
    assert!(matches!(&events[0].message, Some(XfrmMessage::AddSa(sa)) if sa.user_sa_info.id.spi == 0x1000));
    bench.send(1, XfrmMessage::DeleteSa(name(FAR, 0x1000)), REQUEST);
    assert!(matches!(&bench.answers(2)[0].message, Some(XfrmMessage::DeleteSa(_))));
    bench.send(1, XfrmMessage::AddPolicy(out_policy()), REQUEST);
    assert!(matches!(&bench.answers(2)[0].message, Some(XfrmMessage::AddPolicy(_))));
    bench.send(1, XfrmMessage::FlushPolicy(Default::default()), REQUEST);
    assert!(matches!(&bench.answers(2)[0].message, Some(XfrmMessage::FlushPolicy(_))));
    bench.xfrm.forget(xfrm::Client(2));
    bench.send(1, out_sa(0x1000), REQUEST);
    assert!(bench.answers(2).is_empty());
}
