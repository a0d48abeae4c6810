//! The seeds of the suite, and that a seed says everything about its run.

use sim::{Plan, SimulationOutcome, run};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Runs these seeds, some at a time.
fn runs(seeds: std::ops::Range<u64>) -> Vec<SimulationOutcome> {
    let next = AtomicU64::new(seeds.start);
    let outcomes = Mutex::new(Vec::new());
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    let outcome = run(Plan::new(seed), false).unwrap();
                    outcomes.lock().unwrap().push(outcome);
                }
            });
        }
    });
    let mut outcomes = outcomes.into_inner().unwrap();
    outcomes.sort_by_key(|outcome| outcome.seed);
    outcomes
}

#[test]
fn a_seed_is_the_same_every_time() {
    assert_eq!(runs(1..40), runs(1..40));
}

#[test]
fn seeds_differ() {
    let mut hashes: Vec<u64> = runs(100..120).iter().map(|outcome| outcome.hash).collect();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), 20);
}

#[test]
fn seeds_bring_faults_and_work() {
    let outcomes = runs(200..260);
    let sum = |of: fn(&SimulationOutcome) -> u64| outcomes.iter().map(of).sum::<u64>();
    assert_eq!(outcomes.iter().filter(|outcome| !outcome.findings.is_empty()).count(), 0, "{outcomes:?}");
    // None of these kinds has died out: what is never seen is not tested.
    assert!(sum(|outcome| outcome.counts.answered) > 1_000);
    assert!(sum(|outcome| outcome.counts.faults) > 60);
    assert!(sum(|outcome| outcome.counts.not_run) > 0);
    assert!(sum(|outcome| outcome.counts.maybe_run) > 0);
    assert!(sum(|outcome| outcome.counts.twice) > 0);
    assert!(sum(|outcome| outcome.counts.bound) > 0);
    assert!(sum(|outcome| outcome.counts.clear) > 0);
    assert!(sum(|outcome| outcome.counts.forbidden) > 0);
    assert!(sum(|outcome| outcome.counts.outside) > 0);
    assert!(sum(|outcome| outcome.counts.recorded) > 0);
    assert!(sum(|outcome| outcome.counts.observed) > 0);
    assert!(sum(|outcome| outcome.counts.threads) > 100);
    assert!(sum(|outcome| outcome.counts.inherited) > 0);
    assert!(sum(|outcome| outcome.counts.kept) > 0);
}

/// Cards that tick all the time beside a tenant in quarantine, clients that look in vain for long, and a card that
/// opens tokens under a key that is not current yet: none of these is a finding.
#[test]
fn long_waits_and_keys_that_are_expected_are_no_findings() {
    for seed in [5_000_603, 5_000_972, 5_001_622] {
        let outcome = run(Plan::new(seed), false).unwrap();
        assert!(outcome.findings.is_empty() && outcome.counts.answered > 0, "{outcome:?}");
    }
}
