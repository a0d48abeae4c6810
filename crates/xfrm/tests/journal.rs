//! What outlives the process that held the keys.

use crate::common::*;
use netlink_packet_xfrm::XfrmMessage;
use netlink_packet_xfrm::monitor::PolicyExpireMessage;
use xfrm::{Change, JournalError, Keeper, Unkeeping, Unkept, Xfrm};

const EXPIRE: u32 = 2;

fn filled() -> (Bench, u32) {
    let mut bench = Bench::new();
    bench.ok(out_sa(0x2000));
    let answers = bench.ask(allocate(0x1000, 0x1fff));
    let Some(XfrmMessage::AddSa(reserved)) = &answers[0].message else { panic!("an SPI") };
    bench.ok(in_sa(0x3000));
    bench.ok(XfrmMessage::AddPolicy(out_policy()));
    bench.ok(XfrmMessage::AddPolicy(policy(0, "10.2.2.0", "10.1.1.0", vec![template(FAR, NEAR)])));
    bench.ok(XfrmMessage::AddPolicy(policy(2, "10.2.2.0", "10.1.1.0", vec![template(FAR, NEAR)])));
    (bench, reserved.user_sa_info.id.spi)
}

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn policies_come_back_and_lost_sas_are_rekeyed() {
    let (bench, reserved) = filled();
    let journal = bench.xfrm.journal(bench.time(), bench.wall);
    assert!(!holds(&journal, &KEY) && !holds(&journal, b"salt"), "no key outlives its process");
    let mut next = Bench::new();
    next.xfrm.restore(&journal, next.time(), next.wall).expect("it was written here");
    let policies = |bench: &Bench| {
        let listed = bench.xfrm.list_policies();
        listed
            .map(|policy| (policy.index, policy.direction, policy.selector, policy.action))
            .collect::<Vec<_>>()
    };
    assert_eq!(policies(&next), policies(&bench));
    assert_eq!(next.xfrm.protected().count(), 1);
    // Who subscribes is told of the pair once, softly: by its inbound SA.
    next.hello(1, 0);
    assert!(next.answers(1).is_empty());
    next.hello(1, EXPIRE);
    assert_eq!(next.sa_events(), [(0x3000, false)]);
    next.hello(1, EXPIRE);
    assert!(next.answers(1).is_empty());
    // What charon does then: counters are asked for, a negotiation of before may end, the old pair is deleted.
    assert!(next.get(NEAR, 0x3000).is_none());
    next.ok(XfrmMessage::UpdateSa(sa(FAR, NEAR, 0x3000, vec![gcm()])));
    assert!(next.xfrm.sad().inbound(0x3000).is_none(), "keys whose numbers are not known are not used again");
    next.ok(XfrmMessage::UpdateSa(sa(FAR, NEAR, reserved, vec![gcm()])));
    assert!(next.xfrm.sad().inbound(reserved).is_some());
    next.ok(XfrmMessage::DeleteSa(name(NEAR, 0x3000)));
    next.ok(XfrmMessage::DeleteSa(name(FAR, 0x2000)));
    assert_eq!(next.errno(XfrmMessage::DeleteSa(name(FAR, 0x2000))), ESRCH);
    next.hello(2, EXPIRE);
    assert!(next.answers(2).is_empty());
}

#[test]
fn a_second_loss_forgets_nothing() {
    let (bench, _) = filled();
    let journal = bench.xfrm.journal(bench.time(), bench.wall);
    let mut next = Bench::new();
    next.xfrm.restore(&journal, next.time(), next.wall).expect("it was written here");
    let again = next.xfrm.journal(next.time(), next.wall);
    let mut third = Bench::new();
    third.xfrm.restore(&again, third.time(), third.wall).expect("and here");
    third.hello(1, EXPIRE);
    assert_eq!(third.sa_events(), [(0x3000, false)]);
    third.pass(xfrm::LOST_SECONDS);
    third.answers(1);
    third.hello(2, EXPIRE);
    assert!(third.answers(2).is_empty(), "some day nobody needs to know");
}

#[test]
fn records_that_make_no_sense_leave_nothing_in_the_tables() {
    let (bench, _) = filled();
    let journal = bench.xfrm.journal(bench.time(), bench.wall);
    let read = |journal: &[u8]| {
        let mut xfrm = Xfrm::new(engine(), xfrm::Settings::default());
        let read = xfrm.restore(journal, ipsec::Time::default(), 0);
        assert!(read.is_ok() || (xfrm.spd().is_empty() && xfrm.sad().is_empty()));
        read
    };
    assert_eq!(read(&journal), Ok(()));
    assert_eq!(read(b""), Ok(()), "no record, no policy");
    assert_eq!(read(&journal[..journal.len() - 1]).err(), Some(last_record(&journal)));
    for at in 0..journal.len() {
        let mut changed = journal.clone();
        changed[at] ^= 0x10;
        let _ = read(&changed);
    }
    // A request that is none of those that are recorded.
    let mut other = journal.clone();
    other[4..6].copy_from_slice(&0x12_u16.to_ne_bytes());
    assert_eq!(read(&other), Err(JournalError::Record { at: 0 }));
}

fn last_record(journal: &[u8]) -> JournalError {
    let mut at = 0;
    loop {
        let length = u32::from_ne_bytes(journal[at..at + 4].try_into().unwrap()) as usize;
        if at + length.next_multiple_of(4) >= journal.len() {
            return JournalError::Record { at };
        }
        at += length.next_multiple_of(4);
    }
}

/// Keeps every record, as a worker does.
#[derive(Default)]
struct Kept(Vec<u8>);

impl Keeper for Kept {
    fn keep(&mut self, _: &Change<'_>, record: &[u8]) -> Result<(), Unkept> {
        self.0.extend_from_slice(record);
        Ok(())
    }
}

#[test]
fn records_say_what_the_journal_says() {
    let mut bench = Bench::new();
    let mut kept = Kept::default();
    let policy_at =
        |number: u8| policy(1, &format!("10.1.{number}.0"), "10.2.2.0", vec![template(NEAR, FAR)]);
    let mut steps: Vec<XfrmMessage> =
        (0..4).map(|number| XfrmMessage::AddPolicy(policy_at(number))).collect();
    let mut other = policy_at(1);
    other.user_policy_info.priority = 7;
    steps.push(XfrmMessage::UpdatePolicy(other));
    steps.push(XfrmMessage::DeletePolicy(policy_name(&policy_at(2))));
    steps.extend([out_sa(0x2000), in_sa(0x3000), out_sa(0x2001)]);
    steps.push(XfrmMessage::DeleteSa(name(FAR, 0x2000)));
    steps.push(allocate(0x1000, 0x1fff));
    let shown = |xfrm: &Xfrm| {
        let policies: Vec<_> =
            xfrm.list_policies().map(|policy| (policy.index, policy.selector, policy.priority)).collect();
        let reserved: Vec<u32> =
            xfrm.list_sas(ipsec::Time::default()).filter(|sa| sa.until.is_some()).map(|sa| sa.spi).collect();
        (policies, reserved)
    };
    for step in steps.into_iter().chain([XfrmMessage::FlushPolicy(Default::default())]) {
        bench.keep(&mut kept, step);
        kept.0.extend_from_slice(&bench.xfrm.take_names().expect("few"));
        let [mut of_records, mut of_journal] = [Bench::new(), Bench::new()];
        of_records.xfrm.restore(&kept.0, bench.time(), bench.wall).expect("records");
        let journal = bench.xfrm.journal(bench.time(), bench.wall);
        of_journal.xfrm.restore(&journal, bench.time(), bench.wall).expect("a journal");
        assert_eq!(shown(&of_records.xfrm), shown(&of_journal.xfrm));
        assert_eq!(shown(&of_records.xfrm).0, shown(&bench.xfrm).0);
        of_records.hello(1, EXPIRE);
        of_journal.hello(1, EXPIRE);
        assert_eq!(of_records.sa_events(), of_journal.sa_events(), "the same SAs are lost");
    }
    assert!(!holds(&kept.0, &KEY), "no key outlives its process");
}

/// Refuses every change.
struct Refusing;

impl Keeper for Refusing {
    fn keep(&mut self, _: &Change<'_>, _: &[u8]) -> Result<(), Unkept> {
        Err(Unkept { errno: ENOSPC, text: "the journal is full".to_owned() })
    }
}

#[test]
fn what_does_not_hold_outside_is_refused_and_nothing_changes() {
    let (mut bench, _) = filled();
    bench.hello(1, u32::MAX);
    let shown = |bench: &Bench| {
        (bench.xfrm.list_policies().collect::<Vec<_>>(), bench.xfrm.versions(), bench.xfrm.sad().len())
    };
    let before = shown(&bench);
    let mut other = out_policy();
    other.user_policy_info.priority = 7;
    let mut expired = PolicyExpireMessage::default();
    expired.expire.pol = out_policy().user_policy_info;
    expired.expire.hard = 1;
    for refused in [
        XfrmMessage::AddPolicy(policy(1, "10.9.9.0", "10.2.2.0", vec![template(NEAR, FAR)])),
        XfrmMessage::UpdatePolicy(other),
        XfrmMessage::DeletePolicy(policy_name(&out_policy())),
        XfrmMessage::PolicyExpire(expired),
        XfrmMessage::FlushPolicy(Default::default()),
    ] {
        let answers = bench.keep(&mut Refusing, refused);
        assert_eq!(answers.len(), 1, "one refusal, and no event");
        assert_eq!((answers[0].errno, answers[0].text().as_str()), (Some(ENOSPC), "the journal is full"));
        assert_eq!(shown(&bench), before);
    }
    // SAs have nothing to hold outside.
    let answers = bench.keep(&mut Refusing, XfrmMessage::DeleteSa(name(FAR, 0x2000)));
    assert_eq!(answers.last().and_then(|answer| answer.errno), Some(0));
}

#[test]
fn a_policy_whose_time_is_over_stays_until_its_end_holds_outside() {
    let mut bench = Bench::new();
    let mut short = out_policy();
    short.user_policy_info.lifetime_cfg.hard_add_expires_seconds = 3;
    bench.ok(XfrmMessage::AddPolicy(short));
    bench.hello(1, EXPIRE);
    let (time, wall) = (ipsec::Time::seconds(bench.now + 5), bench.wall + 5);
    bench.xfrm.tick(time, wall, &mut Refusing, &mut bench.out);
    assert_eq!((bench.xfrm.list_policies().count(), bench.answers(1).len()), (1, 0));
    bench.xfrm.tick(time, wall, &mut Unkeeping, &mut bench.out);
    assert_eq!((bench.xfrm.list_policies().count(), bench.answers(1).len()), (0, 1));
}
