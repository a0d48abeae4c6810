//! Every row of the verb table through all crates: routed to the card or daemon that serves it, admitted only there,
//! with costs, samples, answers, fuzzing and documentation. A row that some crate does not handle fails here by its
//! name.

use card::admit::{Admission, Holder, Keys};
use card::cost::Costs;
use card::lanes::Lanes;
use engine::Engine;
use facility::{Facility, Options, Selection};
use fuzz_targets::{chosen, dictionaries};
use link::{StatusPage, StatusView};
use std::collections::HashSet;
use std::fs;
use std::os::fd::AsFd;
use system_tests::Installation;
use wire::control::Personality;
use wire::frame::{Arguments, Outcome};
use wire::key::KeyReference;
use wire::point::PointSet;
use wire::role::{BuiltIn, OWNER};
use wire::uses::Uses;
use wire::verb::{Entry, Executor, TABLE, Verb};

/// A key table without keys.
struct NoKeys;

impl Keys for NoKeys {
    fn append(&self, _: KeyReference, _: u32, _: &mut Vec<u8>) -> Option<Uses> {
        None
    }
}

fn serves(personality: Personality, executor: Executor) -> bool {
    match executor {
        Executor::AnyCard => true,
        Executor::Coprocessor => personality == Personality::Coprocessor,
        Executor::Daemon => false,
    }
}

const PERSONALITIES: [Personality; 2] = [Personality::Coprocessor, Personality::Accelerator];

/// The request of a verb that gives no argument.
fn empty(entry: &Entry) -> Vec<u8> {
    let mut payload = Vec::new();
    Arguments::new(entry.verb).write_request(&mut payload).unwrap();
    payload
}

#[test]
fn every_row_is_routed_served_and_recorded() {
    let mut installation = Installation::stopped(&system_tests::settings(1, 1));
    installation.start();
    let cards = installation.until_ready();
    let options = Options { in_caller: false, ..Options::default() };
    let facility = Facility::open(installation.home.folder(), options).unwrap();
    let observed = PERSONALITIES.map(|personality| {
        let card = cards.iter().find(|card| card.personality == personality).expect("one of each");
        (card.index, facility.observe(card.index).unwrap())
    });
    let owner = BuiltIn::from_name(OWNER).expect("a role that every home has");
    for entry in TABLE {
        // What no role has that every home has, is refused before it is taken.
        if !owner.points.permits(entry.point) {
            assert!(facility.call(0, &Arguments::new(entry.verb)).is_err(), "{}", entry.name);
            continue;
        }
        let recorded = || {
            observed.each_ref().map(|(_, observation)| {
                let verbs = observation.snapshot().verbs.into_iter();
                let row =
                    verbs.filter(|(slot, _)| *slot == entry.verb.slot()).map(|(_, row)| row.counts.requests);
                row.sum::<u64>()
            })
        };
        let before = recorded();
        let mut expected = before;
        let call = |facility: &Facility| {
            let reply = facility.call(0, &Arguments::new(entry.verb));
            let reply = reply.unwrap_or_else(|error| panic!("{} is not served: {error}", entry.name));
            assert_eq!(reply.verb(), entry.verb);
            assert!(reply.codes().return_code < 12, "{}: {}", entry.name, reply.codes());
        };
        if entry.executor == Executor::Daemon {
            call(&facility);
        }
        for (index, personality) in PERSONALITIES.into_iter().enumerate() {
            if serves(personality, entry.executor) {
                call(&facility.with_selection(Selection::card(observed[index].0)));
                expected[index] += 1;
            }
        }
        // A card writes its samples once the answers of the batch are out.
        installation
            .until(&format!("{} is recorded by who served it", entry.name), |_| recorded() == expected);
    }
}

#[test]
fn every_row_is_admitted_where_it_is_served_and_by_its_point() {
    for entry in TABLE {
        for personality in PERSONALITIES {
            let check = |points: &PointSet| {
                let holder = Holder { tenant: 1, points };
                let admission = Admission::new(personality);
                admission
                    .check(entry.verb as u16, &mut empty(entry), holder, &NoKeys)
                    .map(|admitted| admitted.slot)
                    .map_err(|refused| refused.outcome)
            };
            let mut others = PointSet::EVERYTHING;
            others.deny(entry.point);
            let (admitted, denied) = match serves(personality, entry.executor) {
                true => (Ok(entry.verb.slot()), Err(Outcome::Denied)),
                false => (Err(Outcome::NotServed), Err(Outcome::NotServed)),
            };
            assert_eq!(check(&PointSet::EVERYTHING), admitted, "{} on {personality:?}", entry.name);
            assert_eq!(check(&others), denied, "{} on {personality:?}", entry.name);
        }
        assert_eq!(entry.point.entry().name, entry.name);
    }
}

#[test]
fn every_row_has_costs_and_times_of_its_own() {
    let engine = Engine::new(engine::Options::default()).unwrap();
    let mut costs = Costs::new(Lanes::of_engine(&engine));
    let page = StatusPage::create(1).unwrap();
    let (writer, reader) =
        (StatusPage::join(page.as_fd()).unwrap(), StatusPage::read_only(page.as_fd()).unwrap());
    let reader = StatusView::join(reader.as_fd()).unwrap();
    for entry in TABLE {
        let kind = costs.kind(entry.verb.slot(), 64);
        let others = |costs: &Costs| -> Vec<u64> {
            let others = TABLE.iter().filter(|other| other.slot != entry.slot);
            others.map(|other| costs.ns(costs.kind(other.verb.slot(), 64))).collect()
        };
        let before = (costs.ns(kind), others(&costs));
        for _ in 0..100 {
            costs.learn(&[kind], |_| false, 50_000_000);
        }
        assert!(costs.ns(kind) > 10 * before.0, "{}: {}", entry.name, costs.ns(kind));
        assert_eq!(others(&costs), before.1, "{} is costed as another verb", entry.name);

        assert_eq!(reader.service(entry.verb.slot()).requests, 0, "{}", entry.name);
        writer.add_service(entry.verb.slot(), 1_000);
        assert_eq!(reader.service(entry.verb.slot()).requests, 1, "{}", entry.name);
    }
}

#[test]
fn every_row_is_fuzzed() {
    let made: HashSet<String> = dictionaries::made("verb").into_iter().collect();
    for entry in TABLE {
        assert_eq!(chosen(entry.slot).name, entry.name);
        for keyword in entry.keywords.words() {
            assert!(made.contains(&format!("\"{:<8}\"", keyword.text)), "{}: {}", entry.name, keyword.text);
        }
        for target in ["frame_request", "frame_reply"] {
            let (_, fuzzed) =
                fuzz_targets::TARGETS.iter().find(|(name, _)| *name == target).expect("a target");
            fuzzed(&[&[entry.slot], &empty(entry)[..]].concat());
        }
    }
}

#[test]
fn every_row_is_documented() {
    let page =
        |name: &str| fs::read_to_string(house_tests::root().join("docs/reference").join(name)).unwrap();
    let families = house_tests::sources("docs/reference/verbs", "md");
    let verbs: String = families.into_iter().map(|page| page.text).collect();
    let roles = page("roles.md");
    for entry in TABLE {
        let section = verbs.split("\n## ").find(|section| section.lines().next() == Some(entry.name));
        let section = section.unwrap_or_else(|| panic!("docs/reference/verbs has no section {}", entry.name));
        assert!(section.contains(entry.entry_point), "{}", entry.name);
        for parameter in entry.parameters {
            assert!(
                section.contains(&format!("| {} |", parameter.name)),
                "{}.{}",
                entry.name,
                parameter.name
            );
        }
        for keyword in entry.keywords.words() {
            assert!(section.contains(&format!("`{}`", keyword.text)), "{}: {}", entry.name, keyword.text);
        }
        assert!(
            roles.contains(&format!("| {} |", entry.name)),
            "docs/reference/roles.md has no point {}",
            entry.name
        );
        assert_eq!(Verb::from_name(entry.name), Some(entry.verb));
    }
}
