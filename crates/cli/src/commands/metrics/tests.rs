//! The whole page, judged by the rules of the text format.

use super::page::page;
use crate::watch::{CardLook, Look};
use facility::CardCounters;
use facility::observe::{Counts, RowSamples, Snapshot};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use wire::control::{CardRow, CardState, Personality};
use wire::registers::{HeldRegisters, RegisterSet};

/// Samples by name and labels.
type Samples = BTreeMap<(String, Vec<(String, String)>), f64>;

fn records(requests: u64) -> RowSamples {
    let mut records =
        RowSamples { counts: Counts { requests, ..Counts::default() }, ..RowSamples::default() };
    for number in 0..requests {
        records.queue.record(number * 1_000);
        records.service.record(40_000 + number);
    }
    records
}

fn card(index: u32, snapshot: Option<Snapshot>) -> CardLook {
    let row = CardRow {
        index,
        generation: 3,
        personality: Personality::Coprocessor,
        state: CardState::Ready,
        pid: 1,
        level: "avx2".to_owned(),
        lanes: 8,
        queues: 2,
        isolation: Default::default(),
        start_us: 1,
        restarts: 2,
        poll: Default::default(),
        processors: None,
        dedicated: Vec::new(),
    };
    CardLook { row, snapshot }
}

fn look() -> Look {
    let snapshot = |first: u32| Snapshot {
        counters: CardCounters { requests: 60, ..CardCounters::default() },
        registers: HeldRegisters::NONE.with(0, RegisterSet::ALL).with(2, RegisterSet::ALL),
        total: records(60),
        accounts: (first..first + 4).map(|account| (account, records(10 + u64::from(account)))).collect(),
        verbs: vec![(0, records(20)), (5, records(40)), (4_000, records(1))],
        ..Snapshot::default()
    };
    let names = [(0, "plain"), (1, "a\"b\\c\nd"), (2, "plain"), (3, "(others)"), (4, "last")];
    Look {
        at: Instant::now(),
        trouble: None,
        cards: vec![card(0, Some(snapshot(0))), card(7, Some(snapshot(2))), card(9, None)],
        names: names.map(|(account, name)| (account, name.to_owned())).into(),
        status: None,
    }
}

/// Labels of a sample as they are written, and its value.
fn parse(line: &str) -> (String, Vec<(String, String)>, f64) {
    let name_end = line.find(['{', ' ']).expect("a name");
    let (name, mut rest) = line.split_at(name_end);
    assert!(
        name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_' || byte.is_ascii_digit()),
        "{line}"
    );
    let mut labels = Vec::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        loop {
            let (label, after) = rest.split_once("=\"").expect("a label");
            let (mut value, mut characters) = (String::new(), after.char_indices());
            let end = loop {
                match characters.next().expect("the end of a value") {
                    (_, '\\') => match characters.next() {
                        Some((_, 'n')) => value.push('\n'),
                        Some((_, same @ ('\\' | '"'))) => value.push(same),
                        other => panic!("escape {other:?} in {line}"),
                    },
                    (at, '"') => break at,
                    (_, character) => value.push(character),
                }
            };
            labels.push((label.to_owned(), value));
            rest = &after[end + 1..];
            match rest.split_at(1) {
                (",", after) => rest = after,
                ("}", after) => {
                    rest = after;
                    break;
                }
                _ => panic!("{line}"),
            }
        }
    }
    let value = rest.strip_prefix(' ').expect("a space before the value");
    (name.to_owned(), labels, value.parse().expect("a number"))
}

/// Checks a page by the rules of the format; returns its samples.
pub fn check(text: &str) -> Samples {
    assert!(text.ends_with('\n'));
    let (mut families, mut samples) = (BTreeSet::new(), BTreeMap::new());
    let (mut family, mut kind) = (String::new(), String::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, words) = help.split_once(' ').expect("a text");
            assert!(!words.is_empty() && families.insert(name.to_owned()), "{name} twice, or without help");
            let of =
                lines.next().and_then(|line| line.strip_prefix("# TYPE ")).expect("a type after the help");
            let (typed, of) = of.split_once(' ').expect("a kind");
            assert_eq!(typed, name);
            (family, kind) = (name.to_owned(), of.to_owned());
            assert_eq!(kind == "counter", name.ends_with("_total"), "{name}");
            continue;
        }
        let (name, labels, value) = parse(line);
        let suffix = name.strip_prefix(&family).unwrap_or_else(|| panic!("{name} stands below {family}"));
        let allowed: &[&str] = if kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
        assert!(allowed.contains(&suffix) && value >= 0.0, "{line}");
        assert!(samples.insert((name, labels), value).is_none(), "{line} twice");
    }
    check_histograms(&samples);
    samples
}

fn check_histograms(samples: &Samples) {
    let mut buckets: BTreeMap<_, Vec<(f64, f64)>> = BTreeMap::new();
    for ((name, labels), value) in samples {
        let Some(family) = name.strip_suffix("_bucket") else { continue };
        let (mut labels, edge) = (labels.clone(), labels.last().expect("an edge").clone());
        labels.pop();
        assert_eq!(edge.0, "le");
        let edge: f64 = edge.1.replace("+Inf", "inf").parse().expect("an edge");
        buckets.entry((family.to_owned(), labels)).or_default().push((edge, *value));
    }
    for ((family, labels), mut edges) in buckets {
        edges.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert!(edges.is_sorted_by(|a, b| a.1 <= b.1), "{family}: {edges:?}");
        let (last, all) = *edges.last().expect("buckets");
        assert!(last.is_infinite());
        assert_eq!(samples[&(family.clone() + "_count", labels.clone())], all);
        assert!(samples.contains_key(&(family + "_sum", labels)));
    }
}

#[test]
fn the_page_keeps_the_rules_whatever_tenants_are_called() {
    let text = page(&look(), Duration::from_millis(3), 128);
    let samples = check(&text);
    let tenants: BTreeSet<String> = samples
        .iter()
        .filter(|((name, _), _)| name == "cryptand_tenant_requests_total")
        .map(|((_, labels), _)| labels[2].1.clone())
        .collect();
    // Two of one name are told apart; one without a name has a number.
    let expected = ["#5", "(others)", "a\"b\\c\nd", "last", "plain", "plain#2"].map(str::to_owned);
    assert_eq!(tenants, expected.into());
    let sum: f64 = samples
        .iter()
        .filter(|((name, labels), _)| name == "cryptand_tenant_requests_total" && labels[0].1 == "0")
        .map(|(_, value)| value)
        .sum();
    assert_eq!(sum, 46.0);
}

#[test]
fn the_number_of_series_is_bounded_by_the_tenants_asked_for() {
    let all = check(&page(&look(), Duration::ZERO, 128));
    let few = check(&page(&look(), Duration::ZERO, 3));
    let none = check(&page(&look(), Duration::ZERO, 0));
    assert!(none.len() < few.len() && few.len() < all.len());
    let requests = |samples: &Samples| -> f64 {
        let of_tenants = samples.iter().filter(|((name, _), _)| name == "cryptand_tenant_requests_total");
        of_tenants.map(|(_, value)| value).sum()
    };
    assert_eq!((requests(&few), requests(&none)), (requests(&all), requests(&all)));
}

#[test]
fn without_a_daemon_the_cards_are_told_on() {
    let look = Look { trouble: Some("gone".to_owned()), ..look() };
    let samples = check(&page(&look, Duration::ZERO, 128));
    assert_eq!(samples[&("cryptand_daemon_up".to_owned(), vec![])], 0.0);
    assert!(samples.keys().any(|(name, _)| name == "cryptand_card_requests_total"));
    let nothing = Look { cards: Vec::new(), ..look };
    check(&page(&nothing, Duration::ZERO, 128));
}
