//! Workloads and reports on real cards: everything that the lab can measure is served and answered rightly.

use lab::load::operation::Operation;
use lab::load::target::{Needs, Target};
use lab::load::{Interface, LabError, Refusal, Workload};
use lab::report::{self, Report};
use lab::sweeps::Plan;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wire::control::{LevelLimit, Personality};
use wire::verb::Verb;

fn target(needs: Needs) -> Target {
    Target::throwaway(&needs, Arc::new(AtomicBool::new(false))).expect("a throw-away home")
}

fn workload(operation: Operation, interface: Interface) -> Workload {
    let bytes = if operation.takes_bytes() { 48 } else { 0 };
    Workload { bytes, seconds: 0.001, jobs: 3, interface, ..Workload::of(operation) }
}

/// Making keys of 2048 bits and more takes seconds now and then.
fn is_slow(operation: Operation) -> bool {
    matches!(operation, Operation::Verb { verb: Verb::PkaKeyGenerate, key: Some(key) } if key.bits > 1024)
}

#[test]
fn every_operation_of_a_card_is_served_and_its_answers_are_right() {
    let mut target = target(Needs { coprocessors: 2, accelerators: 1, ..Needs::default() });
    let mut served = 0;
    for operation in Operation::all().into_iter().filter(|operation| !is_slow(*operation)) {
        let workload = workload(operation, Interface::Card);
        if let Err(refusal) = workload.check() {
            assert!(matches!(refusal, Refusal::Personality { .. }), "{operation}: {refusal}");
            continue;
        }
        let run = target.run(&workload).unwrap_or_else(|error| panic!("{operation}: {error}"));
        assert!(run.operations >= 3 && run.ops_per_s > 0.0, "{operation}");
        // Of answers that take work to check, the first one of each job is: before the run.
        let is_sampled = ["pka-encrypt", "ecdsa"].iter().any(|name| operation.to_string().starts_with(name));
        assert!(run.answers_compared > 0 || is_sampled, "{operation}");
        served += 1;
    }
    assert!(served > 70, "{served}");
    for name in ["rsa1024-crt", "key-generate", "digital-signature-generate-rsa1024-crt"] {
        let run = target.run(&workload(name.parse().unwrap(), Interface::Facility)).unwrap();
        assert!(run.operations > 0 && run.answers_compared > 0, "{name}");
    }
}

#[test]
fn jobs_are_spread_over_cards_and_threads() {
    let mut target = target(Needs { coprocessors: 3, ..Needs::default() });
    let mac = workload("tdes-mac".parse().unwrap(), Interface::Card);
    // More jobs than one queue has slots, on three cards, by two threads.
    let many = Workload { jobs: 200, cards: 3, processors: 2, seconds: 0.02, ..mac.clone() };
    let run = target.run(&many).unwrap();
    assert!(run.operations >= 200 && run.cards == 3);
    assert!(run.processor_s.cards > 0.0 && run.processor_s.caller > 0.0);
    let open = Workload { rate: Some(2000.0), seconds: 0.05, ..mac.clone() };
    assert_eq!(target.run(&open).unwrap().operations, 100);
    let refused = target.run(&Workload { cards: 4, ..mac.clone() });
    assert!(matches!(refused, Err(LabError::Refused(Refusal::TooFewCards { asked: 4, ready: 3, .. }))));
    let personality = Some(Personality::Accelerator);
    let clear = workload("rsa512-crt".parse().unwrap(), Interface::Card);
    let refused = target.run(&Workload { personality, ..clear });
    assert!(matches!(refused, Err(LabError::Refused(Refusal::TooFewCards { ready: 0, .. }))));
}

#[test]
fn cards_can_be_held_to_a_level() {
    let level = Some(LevelLimit::Portable);
    let mut target = target(Needs { level, ..Needs::default() });
    let aes = Workload { level, ..workload("aes128-cbc-encipher".parse().unwrap(), Interface::Card) };
    assert_eq!(target.run(&aes).unwrap().level, "portable");
    let avx2 = target.run(&Workload { level: Some(LevelLimit::Avx2), ..aes });
    assert!(matches!(avx2, Err(LabError::Refused(Refusal::Level { .. }))));
}

#[test]
fn an_interrupted_run_leaves_nothing_behind() {
    let stop = Arc::new(AtomicBool::new(false));
    let mut target = Target::throwaway(&Needs::default(), Arc::clone(&stop)).unwrap();
    let folder = target.folder().unwrap().to_owned();
    let status = target.status().unwrap();
    let pids: Vec<u32> = status
        .cards
        .iter()
        .map(|card| card.pid)
        .chain([status.daemon_pid])
        .chain(status.keeper_pid)
        .collect();
    let endless = Workload { seconds: 1e6, ..workload("des-mac".parse().unwrap(), Interface::Card) };
    std::thread::scope(|scope| {
        let run = scope.spawn(|| target.run(&endless));
        // Whenever the flag rises, the run ends: before its first request, or among them.
        stop.store(true, Ordering::Relaxed);
        assert!(matches!(run.join().unwrap(), Err(LabError::Interrupted)));
    });
    drop(target);
    assert!(!folder.exists());
    for pid in pids {
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let ended = state.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z'));
        assert!(ended, "process {pid} lives on: {state}");
    }
}

#[test]
fn a_report_of_real_cards_is_written() {
    let cases = ["des-cbc-encipher", "des-mac", "pka-decrypt-rsa512-crt", "rsa512-public", "key-generate"];
    let cases = cases.map(|name| Workload { jobs: 7, ..workload(name.parse().unwrap(), Interface::Card) });
    let native = workload("sha1".parse().unwrap(), Interface::Native);
    let plan = Plan::of(cases.into_iter().chain([native]).collect());
    let needs =
        Needs { coprocessors: plan.coprocessors, accelerators: plan.accelerators, ..Needs::default() };
    let mut target = target(needs);
    let folder = tempfile::tempdir().unwrap();
    let plan = Plan {
        thoroughness: lab::experiment::Thoroughness { passes: 2, seconds: 0.01, seconds_max: None },
        ..plan
    };
    let report = report::run(&plan, &mut target, folder.path(), &mut |_| ()).unwrap();
    assert_eq!((report.results.0.len(), report.left_out.len()), (6, 0), "{:?}", report.left_out);
    let files = report.write(folder.path()).unwrap();
    assert!(Report::read(&files.json).unwrap() == report);
    assert!(report::compare(&report, &report).contains("6 within the spread"));
    assert!(Path::new(&files.html).metadata().unwrap().len() > 100_000);
}
