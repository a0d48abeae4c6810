//! What outlives the process that held the keys.

mod common;

use common::*;
use netlink_packet_xfrm::XfrmMessage;
use xfrm::{JournalError, Xfrm};

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
fn a_journal_that_was_changed_is_not_read() {
    let (bench, _) = filled();
    let journal = bench.xfrm.journal(bench.time(), bench.wall);
    let read = |journal: &[u8]| {
        let mut xfrm = Xfrm::new(engine(), xfrm::Settings::default());
        let read = xfrm.restore(journal, ipsec::Time::default(), 0);
        assert!(read.is_ok() || (xfrm.spd().is_empty() && xfrm.sad().is_empty()));
        read
    };
    assert_eq!(read(&journal), Ok(()));
    for at in 0..journal.len() {
        let mut changed = journal.clone();
        changed[at] ^= 0x10;
        assert!(read(&changed).is_err(), "byte {at}");
        assert!(read(&journal[..at]).is_err());
    }
    assert_eq!(read(b""), Err(JournalError::Unknown));
    assert_eq!(read(&[&journal[..], &[0]].concat()), Err(JournalError::Length));
}
