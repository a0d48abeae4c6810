//! Policies as daemons add, read, replace and delete them.

use crate::common::*;
use ipsec::{Action, PolicyDirection};
use netlink_packet_xfrm::policy::{
    self, DelGetMessage, FlushMessage, GetSpdInfoMessage, NewSpdInfoMessage, SpdInfoAttrs,
};
use netlink_packet_xfrm::state::{GetSadInfoMessage, NewSadInfoMessage, SadInfoAttrs};
use netlink_packet_xfrm::{UserPolicyInfo, XfrmAttrs, XfrmMessage};

fn shown(bench: &mut Bench, name: DelGetMessage) -> Option<policy::ModifyMessage> {
    match bench.ask(XfrmMessage::GetPolicy(name)).remove(0).message {
        Some(XfrmMessage::AddPolicy(policy)) => Some(policy),
        _ => None,
    }
}

#[test]
fn policies_are_added_replaced_and_deleted() {
    let mut bench = Bench::new();
    let mut message = out_policy();
    assert_eq!(bench.errno(XfrmMessage::GetPolicy(policy_name(&message))), ENOENT);
    bench.ok(XfrmMessage::AddPolicy(message.clone()));
    assert_eq!(bench.errno(XfrmMessage::AddPolicy(message.clone())), EEXIST);
    let first = shown(&mut bench, policy_name(&message)).expect("it is shown");
    let index = first.user_policy_info.index;
    assert_eq!((index & 7, first.user_policy_info.lifetime_cur.add_time), (1, bench.wall));
    assert!(first.nlas.contains(&XfrmAttrs::Template(vec![template(NEAR, FAR)])));
    message.user_policy_info.priority = 5;
    bench.ok(XfrmMessage::UpdatePolicy(message.clone()));
    let mut by_index = DelGetMessage::default();
    (by_index.user_policy_id.index, by_index.user_policy_id.direction) = (index, 1);
    let second = shown(&mut bench, by_index.clone()).expect("it keeps its index");
    assert_eq!(second.user_policy_info.priority, 5);
    let held: Vec<_> = bench.xfrm.spd().iter(PolicyDirection::Out).collect();
    assert_eq!((held.len(), held[0].priority, held[0].id), (1, 5, index));
    assert!(
        matches!(held[0].action, Action::Protect(template) if template.ends == Some((ip(NEAR), ip(FAR))))
    );
    by_index.user_policy_id.direction = 0;
    assert_eq!(bench.errno(XfrmMessage::DeletePolicy(by_index)), ENOENT);
    bench.ok(XfrmMessage::DeletePolicy(policy_name(&message)));
    assert_eq!(bench.errno(XfrmMessage::DeletePolicy(policy_name(&message))), ENOENT);
    assert!(bench.xfrm.spd().is_empty());
    // UPDPOLICY adds what is not there; an index that is free may be asked for.
    message.user_policy_info.index = 8 * 100 + 1;
    bench.ok(XfrmMessage::UpdatePolicy(message.clone()));
    assert_eq!(shown(&mut bench, policy_name(&message)).unwrap().user_policy_info.index, 801);
    bench.ok(XfrmMessage::FlushPolicy(FlushMessage::default()));
    assert_eq!(bench.xfrm.list_policies().count(), 0);
}

#[test]
fn policies_that_make_no_sense_are_named() {
    let mut bench = Bench::new();
    type Change = fn(&mut UserPolicyInfo);
    let cases: [(Change, &str); 8] = [
        (|info| info.share = 4, "Invalid policy share"),
        (|info| info.action = 2, "Invalid policy action"),
        (|info| info.selector.family = 0, "Invalid selector family"),
        (|info| info.selector.prefixlen_s = 33, "Invalid prefix length in selector (must be <= 32 for IPv4)"),
        (|info| info.direction = 3, "Invalid policy direction"),
        (|info| info.direction = 4, "Invalid policy direction"),
        (|info| info.index = 8, "Policy index doesn't match direction"),
        (|info| info.selector.sport_mask = 0xffff, "ports are selected without a protocol"),
    ];
    for (change, text) in cases {
        let mut message = out_policy();
        change(&mut message.user_policy_info);
        assert_eq!(bench.refusal(XfrmMessage::AddPolicy(message)), (EINVAL, text.to_owned()));
    }
    let mut with = |direction, templates: Vec<_>| {
        bench.refusal(XfrmMessage::AddPolicy(policy(direction, "10.1.1.0", "10.2.2.0", templates)))
    };
    let one = || template(NEAR, FAR);
    let mut optional = one();
    optional.optional = 1;
    let refusal = with(1, vec![optional]);
    assert_eq!(refusal, (EINVAL, "Mode in optional template not allowed in outbound policy".to_owned()));
    let mut transport = one();
    (transport.mode, transport.optional) = (0, 1);
    assert_eq!(
        with(1, vec![transport]).0,
        EOPNOTSUPP,
        "what goes out never leaves in clear for want of an SA"
    );
    assert_eq!(with(1, vec![one(), one()]).0, EOPNOTSUPP);
    assert_eq!(with(1, vec![one(); 7]), (EINVAL, "Template count must be <= XFRM_MAX_DEPTH (6)".to_owned()));
    let mut other = one();
    other.id.proto = 51;
    assert_eq!(with(1, vec![other]).0, EOPNOTSUPP);
    other.id.proto = 6;
    assert_eq!(with(1, vec![other]), (EINVAL, "Invalid XFRM protocol in template".to_owned()));
    other.mode = 7;
    assert_eq!(with(1, vec![other]), (EINVAL, "Mode in template must be < XFRM_MODE_MAX (5)".to_owned()));
    let mut open = one();
    open.saddr = field(ip("0.0.0.0"));
    assert_eq!(with(1, vec![open]).0, EOPNOTSUPP);
    assert_eq!(with(0, vec![open]).0, 0, "inbound any source may be meant");
    assert!(bench.xfrm.spd().iter(PolicyDirection::Out).next().is_none());
}

#[test]
fn actions_and_directions() {
    let mut bench = Bench::new();
    bench.ok(XfrmMessage::AddPolicy(policy(0, "10.2.2.0", "10.1.1.0", vec![])));
    let mut block = policy(2, "10.2.2.0", "10.1.1.0", vec![]);
    block.user_policy_info.action = 1;
    bench.ok(XfrmMessage::AddPolicy(block));
    let mut optional = template(FAR, NEAR);
    optional.optional = 1;
    bench.ok(XfrmMessage::AddPolicy(policy(2, "10.3.3.0", "10.1.1.0", vec![optional])));
    bench.ok(XfrmMessage::AddPolicy(policy(1, "fd00::", "fd01::", vec![template(NEAR, FAR)])));
    let actions: Vec<_> =
        bench.xfrm.list_policies().map(|policy| (policy.direction, policy.action)).collect();
    assert!(matches!(actions[0], (PolicyDirection::Out, Action::Protect(_))));
    assert_eq!(actions[1], (PolicyDirection::Forward, Action::Bypass));
    assert_eq!(actions[2], (PolicyDirection::Forward, Action::Discard));
    assert_eq!(actions[3], (PolicyDirection::In, Action::Bypass));
    assert_eq!(bench.xfrm.protected().count(), 1);
    // Counts, as `ip xfrm policy count` and charon ask for them.
    let answers = bench.ask(XfrmMessage::GetSpdInfo(GetSpdInfoMessage { flags: u32::MAX }));
    let Some(XfrmMessage::NewSpdInfo(NewSpdInfoMessage { flags, nlas })) = &answers[0].message else {
        panic!("counts")
    };
    assert_eq!(*flags, u32::MAX);
    let counts = nlas.iter().find_map(|attribute| match attribute {
        SpdInfoAttrs::SpdInfo(info) => Some((info.incnt, info.outcnt, info.fwdcnt)),
        _ => None,
    });
    assert_eq!(counts, Some((1, 1, 2)));
    bench.ok(out_sa(0x1000));
    let answers = bench.ask(XfrmMessage::GetSadInfo(GetSadInfoMessage { flags: 0 }));
    let Some(XfrmMessage::NewSadInfo(NewSadInfoMessage { nlas, .. })) = &answers[0].message else {
        panic!("counts")
    };
    assert!(nlas.contains(&SadInfoAttrs::SadCount(1)));
}

#[test]
fn policies_end_by_their_own_lifetimes() {
    let mut bench = Bench::new();
    bench.hello(1, 2);
    let mut message = out_policy();
    message.user_policy_info.lifetime_cfg.soft_add_expires_seconds = 50;
    message.user_policy_info.lifetime_cfg.hard_add_expires_seconds = 100;
    bench.ok(XfrmMessage::AddPolicy(message));
    let told = |bench: &mut Bench| {
        let events = bench.answers(1).into_iter().filter_map(|answer| match answer.message {
            Some(XfrmMessage::PolicyExpire(message)) => Some(message.expire.hard),
            _ => None,
        });
        events.collect::<Vec<_>>()
    };
    assert_eq!(bench.xfrm.due(), Some(ipsec::Time::seconds(1050)));
    bench.pass(49);
    assert!(told(&mut bench).is_empty());
    bench.pass(1);
    assert_eq!(told(&mut bench), [0]);
    bench.pass(50);
    assert_eq!(told(&mut bench), [1]);
    assert!(bench.xfrm.spd().is_empty());
    assert_eq!(bench.xfrm.due(), None);
}
