//! An experiment from end to end: a house of two timed cards, two tenants with credentials, real answers.
//!
//! Needs the programs of the house beside the test's own, as `make test` builds them.

use lab::experiment::Thoroughness;
use lab::queues::{Experiment, Extent, FIRST_CARD, Plan, RealHouses, balance, run};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

#[test]
fn two_timed_cards_are_shared_and_then_divided() {
    let folder = tempfile::tempdir().unwrap();
    let thoroughness = Thoroughness { passes: 1, seconds: 0.1, seconds_max: None };
    let plan = Plan { thoroughness, ..Plan::new(Extent::Full, Some(Experiment::Balance)) };
    let mut houses = RealHouses::new(Arc::new(AtomicBool::new(false)));
    let (outcomes, left_out) = run(&plan, &mut houses, "any", folder.path(), &mut |_| ()).unwrap();
    assert!(left_out.is_empty(), "{left_out:?}");
    let of = |name| outcomes.of(Experiment::Balance, name).unwrap();
    for outcome in [of(balance::BOTH_SHARED), of(balance::ONE_SHARED)] {
        // Each of 32 jobs asks at least once, and every answer is compared.
        assert!(outcome.timed && outcome.answers_compared >= 32, "{outcome:?}");
        assert!(
            outcome.ops_per_s.median > 0.0 && outcome.p50_ns.median > 0.0 && outcome.utilisation.median > 0.0
        );
        // No card is faster than it may be: an answer takes its service time, 1 / 457 s at the least.
        assert!(outcome.p50_ns.median >= 1e9 / 457.0, "{outcome:?}");
        for each in &outcome.each {
            let all: f64 = each.shares.values().map(|share| share.median).sum();
            assert!((all - 1.0).abs() < 1e-9, "{each:?}");
        }
    }
    // Of the cards of its own a tenant leaves nothing to others.
    let divided = of(balance::ONE_SHARED);
    let client = &divided.each[balance::CLIENT];
    assert_eq!(client.shares.keys().copied().collect::<Vec<_>>(), [balance::SHARED_CARD]);
    assert!(divided.each[balance::SERVER].shares.contains_key(&FIRST_CARD));
    // A journal that holds every run leaves nothing to do, and gives the same again.
    let (again, _) = run(&plan, &mut houses, "any", folder.path(), &mut |_| ()).unwrap();
    assert_eq!(again, outcomes);
}
