//! Plans, runs and pages of made-up houses, which measure nothing.

use super::outcome::tests::run as made_run;
use super::*;
use crate::experiment::judged::{Judged, Verdict};
use crate::kit::chart::tests::clipped;
use crate::published::{Sheet, claims, measurements, read_measurements};
use std::collections::{BTreeMap, HashSet};

/// Houses in which timed cards have their expected rates: as many jobs as a tenant may have in flight, up to the full
/// rate, spread evenly.
struct MadeUpHouses {
    runs: BTreeMap<String, usize>,
    interrupt_after: usize,
    fail: fn(&Case) -> bool,
}

impl MadeUpHouses {
    fn new() -> Self {
        Self { runs: BTreeMap::new(), interrupt_after: usize::MAX, fail: |_| false }
    }
}

impl Houses for MadeUpHouses {
    fn run(&mut self, case: &Case, _: f64) -> Result<Run, LabError> {
        if self.runs.values().sum::<usize>() == self.interrupt_after {
            return Err(LabError::Interrupted);
        }
        if (self.fail)(case) {
            return Err(LabError::Facility { what: "make up", cause: "asked to".to_owned() });
        }
        *self.runs.entry(case.id()).or_default() += 1;
        let loads: Vec<Vec<(u32, f64)>> = case.loads.iter().map(|load| load_of(case, load)).collect();
        let loads: Vec<&[(u32, f64)]> = loads.iter().map(Vec::as_slice).collect();
        let mut run = made_run(&loads);
        for card in &mut run.cards {
            let full = case.rig.card(card.card).and_then(|timed| timed.rates(models::PRIVATE));
            card.utilisation = full.map_or(0.5, |full| card.ops_per_s / full.full);
        }
        Ok(run)
    }
}

fn load_of(case: &Case, load: &Load) -> Vec<(u32, f64)> {
    let cards: Vec<u32> = (0..u64::BITS).filter(|index| load.cards >> index & 1 == 1).collect();
    let limit = match case.rig.tenants[load.tenant].limits.in_flight_max {
        0 => load.jobs,
        most => load.jobs.min(most as usize),
    };
    let rates = case.rig.card(cards[0]).and_then(|card| card.rates(load.operation));
    let (one, full) = rates.map_or((10_000.0, 40_000.0), |rates| (rates.one_job, rates.full));
    let window = case.rig.card(cards[0]).map_or(0, |card| card.poll_us);
    // Answers that are collected at intervals take whole intervals.
    let taken = 1.0 / one;
    let taken =
        if window > 0 { (taken * 1e6 / f64::from(window)).ceil() * f64::from(window) / 1e6 } else { taken };
    let tick = matches!(case.rig.caller_poll, wire::control::PollMode::Every { .. });
    let one = if tick { 100.0 } else { 1.0 / taken };
    let all = (limit as f64 * one).min(cards.len() as f64 * full)
        / if case.loads.len() > 2 { case.loads.len() as f64 } else { 1.0 };
    cards.iter().map(|card| (*card, all / cards.len() as f64)).collect()
}

pub(crate) fn made() -> Outcomes {
    let folder = tempfile::tempdir().unwrap();
    let plan = Plan::new(Extent::Full, None);
    run(&plan, &mut MadeUpHouses::new(), "avx512", folder.path(), &mut |_| ()).unwrap().0
}

#[test]
fn every_case_has_a_name_of_its_own_and_its_cards() {
    for extent in [Extent::Quick, Extent::Full] {
        let plan = Plan::new(extent, None);
        let names: HashSet<String> = plan.cases.iter().map(Case::id).collect();
        assert_eq!(names.len(), plan.cases.len());
        for case in &plan.cases {
            assert!(
                !case.loads.is_empty() && case.loads.iter().all(|load| load.tenant < case.rig.tenants.len())
            );
            let there = Rig::first(case.rig.cards.len());
            assert!(case.cards() != 0 && case.cards() & !there == 0, "{}", case.id());
        }
        for experiment in Experiment::ALL {
            let only = Plan::new(extent, Some(experiment));
            assert!(!only.cases.is_empty() && only.cases.iter().all(|case| case.experiment == experiment));
        }
    }
    let full: HashSet<String> = Plan::new(Extent::Full, None).cases.iter().map(Case::id).collect();
    assert!(Plan::new(Extent::Quick, None).cases.iter().all(|case| full.contains(&case.id())));
}

#[test]
fn a_quick_plan_is_short_and_few_houses_are_started() {
    let (quick, full) = (Plan::new(Extent::Quick, None), Plan::new(Extent::Full, None));
    let uncut =
        Plan { thoroughness: Thoroughness { seconds_max: None, ..quick.thoroughness }, ..quick.clone() };
    assert!(seconds(&quick) <= 30.0 && seconds(&uncut) < 60.0, "{}", seconds(&uncut));
    assert!(seconds(&full) > 300.0 && seconds(&full) < 1800.0, "{}", seconds(&full));
    // Cases that the same processes serve are neighbours, so that no house is started twice.
    for plan in [&quick, &full] {
        let firsts: Vec<&Rig> = plan.groups().map(|group| &group[0].rig).collect();
        for (index, rig) in firsts.iter().enumerate() {
            let same_experiment = |other: &&&Rig| other.is_served_like(rig);
            let again = firsts[..index].iter().filter(same_experiment).count();
            assert!(again <= 3, "{again} houses like one before");
        }
    }
}

#[test]
fn a_case_that_fails_is_left_out_once_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut houses = MadeUpHouses { fail: |case| case.name.starts_with("one-shared"), ..MadeUpHouses::new() };
    let plan = Plan::new(Extent::Full, Some(Experiment::Balance));
    let (outcomes, left_out) = run(&plan, &mut houses, "avx512", folder.path(), &mut |_| ()).unwrap();
    assert_eq!((outcomes.0.len(), left_out.len()), (1, 1));
    assert!(
        left_out[0].fault && left_out[0].case == "balance/one-shared" && left_out[0].why.contains("asked to")
    );
}

#[test]
fn statements_are_held_against_the_outcomes() {
    let outcomes = made();
    let judged = judge(&claims(), &outcomes);
    let of = |id: &str| -> &Judged { judged.iter().find(|judged| judged.id == id).unwrap() };
    for id in [
        "zvm.c.shared-pcica-flat",
        "zvm.c.dedicated-ratio-max-util",
        "zvm.c.dedicated-max-rate",
        "zvm.c.dedicated-pcixcc2-scaling",
        "zvm.c.dedicated-pcixcc1-over-pcica1",
        "zvm.c.shared-1guest-limit",
        "zvm.c.30g-over-1g",
        "ztpf.c.balance-50-50",
        "ztpf.c.prefers-dedicated",
        "z990.c.pcica-48-96",
        "lnx.c.poll-off-limit",
    ] {
        assert_eq!(of(id).verdict, Verdict::Confirmed, "{id}: {:?}", of(id).measured);
    }
    assert!((of("zvm.c.dedicated-ratio-max-util").measured.unwrap() - 13.3).abs() < 0.1);
    assert!(of("zvm.c.shared-pcica-flat").compared.contains("timed cards"));
    // Cards that a limit of eight keeps idle count against the full rate.
    let mut poor = outcomes.clone();
    for outcome in poor.0.iter_mut().filter(|outcome| outcome.name == "pcica/6/own") {
        outcome.utilisation = crate::kit::statistics::Summary::of(&[0.13]).unwrap();
    }
    let judged = judge(&claims(), &poor);
    let refuted = judged.iter().find(|judged| judged.id == "zvm.c.dedicated-max-rate").unwrap();
    assert_eq!((refuted.verdict.clone(), refuted.measured), (Verdict::Refuted, Some(13.0)));
    assert!(judge(&claims(), &Outcomes::default()).is_empty());
}

#[test]
fn the_page_shows_every_experiment_with_table_and_chart() {
    let outcomes = made();
    let section = section(&outcomes, &measurements()).into_string();
    assert_eq!(clipped(&section), Vec::<String>::new());
    for experiment in Experiment::ALL {
        let start = section.find(&format!("id=\"queues-{experiment}\"")).unwrap();
        let part = &section[start..];
        let part = &part[..part[1..].find("<h3").map_or(part.len(), |end| end + 1)];
        assert!(
            part.contains("<svg") && part.contains("<table>") && part.contains("class=\"m\""),
            "{experiment}"
        );
    }
    for number in ["NaN", ">inf", "infinity"] {
        assert!(!section.contains(number), "{number}");
    }
    // 871.50 shared and 13.0 % of table t2, 1.23 of t4, the 2.65 of table t5's 3470.93 over 1309.
    for published in [">872</td>", ">13.0 %</td>", ">1.23</td>", ">3,471</td>", ">3.98</td>"] {
        assert!(section.contains(published), "{published}");
    }
    assert!(super::section(&Outcomes::default(), &measurements()).into_string().is_empty());
}

#[test]
fn every_figure_is_a_row() {
    let mut sheet = Sheet::new(Vec::new());
    rows(&mut sheet, &made());
    let rows = read_measurements(&sheet.finish()).unwrap();
    let of = |id: &str| rows.iter().find(|row| row.id() == id).unwrap_or_else(|| panic!("{id}"));
    let row = of("cryptand.shared.pcica.6.window.ops");
    assert_eq!((row.value, row.engine_count, row.field("guests")), (Some(871.46), Some(6), "1"));
    assert!(row.field("note").starts_with("timed; 5 runs"));
    assert_eq!(of("cryptand.balance.both-shared.server.card1").value, Some(50.0));
    assert!(of("cryptand.jobs.accelerator.1.96.ops").field("note").starts_with("5 runs"));
}
