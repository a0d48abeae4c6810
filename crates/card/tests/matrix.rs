//! What each role may do with each key: every key type in every key parameter of the verb table, as token and by
//! reference, through admission and the verbs behind it, in every role that a home has and in those that have one group
//! of points alone.
//!
//! `matrix/roles.txt` is what came out; a change of it is a change of what roles may do, to be looked at in review.
//! `CRYPTAND_BLESS=1 cargo test --release -p card --test all matrix` writes it anew.

use card::admit::{Admission, Holder, Keys};
use cca::Batch;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use token::{Description, Holds, describe};
use verb_requests::support::{DOMAIN, Request};
use verb_requests::uses::samples::{Sample, samples};
use verb_requests::uses::ways::Others;
use wire::control::Personality;
use wire::frame::{Argument, Arguments, Outcome};
use wire::key::KeyReference;
use wire::point::{Group, POINTS, Point, PointSet};
use wire::role::BUILT_IN;
use wire::uses::Uses;
use wire::verb::{Direction, Entry, Executor, Kind, TABLE};

/// Tenant of all requests.
const TENANT: u32 = 4;

/// How a request has its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Token,
    Reference,
}

/// The tokens that references name, by their slots, and what may be done with all of them.
struct Table(Vec<Vec<u8>>, Uses);

impl Keys for Table {
    fn append(&self, reference: KeyReference, tenant: u32, out: &mut Vec<u8>) -> Option<Uses> {
        let token =
            self.0.get(reference.slot as usize).filter(|_| tenant == TENANT && reference.generation == 1)?;
        out.extend_from_slice(token);
        Some(self.1)
    }
}

fn is_wrapped(field: &[u8]) -> bool {
    !matches!(describe(field), Ok(Description { holds: Holds::Nothing | Holds::Public | Holds::Clear, .. }))
}

/// Whether a card that serves a queue in a role with these points does what is asked.
fn is_done(others: &mut Others, request: &Request, by: By, points: &PointSet, uses: Uses) -> bool {
    let (verb, whole) = (request.verb(), request.payload());
    let mut arguments = Arguments::read_request(verb, &whole).unwrap();
    let mut table = Table(Vec::new(), uses);
    if by == By::Reference {
        for (position, parameter) in verb.entry().parameters.iter().enumerate() {
            if !matches!(parameter.kind, Kind::Key { .. }) || parameter.direction == Direction::Out {
                continue;
            }
            let field = arguments.bytes(position).to_vec();
            if is_wrapped(&field) {
                let reference = KeyReference { slot: table.0.len() as u32, generation: 1 };
                arguments.set(position, Argument::Reference(reference));
                table.0.push(field);
            }
        }
    }
    let mut payload = Vec::new();
    arguments.write_request(&mut payload).unwrap();
    let holder = Holder { tenant: TENANT, points };
    let admission = Admission::new(Personality::Coprocessor);
    let Ok(admitted) = admission.check(verb as u16, &mut payload, holder, &table) else { return false };
    let mut batch = Batch::new();
    batch.lend().unwrap().extend_from_slice(&payload);
    batch.keep(verb, (0, DOMAIN), points, admitted.payload_bytes);
    others.processor.run(&mut batch);
    let answer = &batch.answers()[0];
    verb_requests::support::note_durable(&mut others.processor, answer);
    // A value that does not verify was verified.
    answer.outcome == Outcome::Answered && answer.codes.return_code < 8
}

/// Key parameters of the verbs that a card runs.
fn places() -> Vec<(&'static Entry, usize)> {
    let served = TABLE.iter().filter(|entry| entry.executor != Executor::Daemon);
    served
        .flat_map(|entry| {
            let is_key = |position: &usize| {
                let parameter = &entry.parameters[*position];
                matches!(parameter.kind, Kind::Key { .. }) && parameter.direction != Direction::Out
            };
            (0..entry.parameters.len()).filter(is_key).map(move |position| (entry, position))
        })
        .collect()
}

/// Names of the keys that are used in a place.
fn used(
    others: &mut Others,
    samples: &[Sample],
    (entry, position): (&'static Entry, usize),
    by: By,
    points: &PointSet,
    uses: Uses,
) -> BTreeSet<String> {
    let is_used = |sample: &&Sample| {
        let ways = others.ways(entry.verb, position, &sample.token);
        ways.iter().any(|way| is_done(others, way, by, points, uses))
    };
    samples.iter().filter(is_used).map(|sample| sample.name.clone()).collect()
}

fn everything() -> PointSet {
    PointSet::EVERYTHING
}

fn only(points: impl Iterator<Item = Point>) -> PointSet {
    let mut set = PointSet::NOTHING;
    points.for_each(|point| set.allow(point));
    set
}

#[test]
fn every_role_with_every_key_in_every_place() {
    let mut others = Others::new();
    let samples = samples(&mut others);
    let wrapped: BTreeSet<&str> = samples
        .iter()
        .filter(|sample| is_wrapped(&sample.token))
        .map(|sample| sample.name.as_str())
        .collect();
    let whole: BTreeMap<usize, BTreeSet<String>> = places()
        .into_iter()
        .enumerate()
        .map(|(at, place)| (at, used(&mut others, &samples, place, By::Token, &everything(), Uses::ALL)))
        .collect();
    let mut roles: Vec<(String, PointSet)> =
        BUILT_IN.iter().map(|role| (format!("role {}", role.name), role.points)).collect();
    roles.extend(Group::ALL.iter().copied().map(|group| {
        let points = POINTS.iter().filter(|entry| entry.group == group).map(|entry| entry.point);
        (format!("a role of the group {} alone", group.name()), only(points))
    }));
    let mut text = String::from(
        "What each role does with the keys of each key parameter: \"all\" are the keys of cca/tests/verbs/uses.txt that are\n\
         used there. Parameters where no key is used are left out. Made by tests/matrix.rs, which CRYPTAND_BLESS=1\n\
         lets write it anew.\n",
    );
    for (name, points) in &roles {
        let _ = write!(text, "\n{name}\n");
        for (at, place @ (entry, position)) in places().into_iter().enumerate() {
            for by in [By::Reference, By::Token] {
                let found = used(&mut others, &samples, place, by, points, Uses::ALL);
                let what = format!("{name}, {}, {by:?}: {found:?}", entry.name);
                assert!(found.is_subset(&whole[&at]), "{what} beyond {:?}", whole[&at]);
                assert!(points.permits(entry.point) || found.is_empty(), "{what} without the verb's point");
                let has_wrapped = found.iter().any(|name| wrapped.contains(name.as_str()));
                let may_have = by == By::Reference || points.permits(Point::TokenBytes);
                assert!(may_have || !has_wrapped, "{what} without the point of token bytes");
                let by = if by == By::Token { "as tokens" } else { "by reference" };
                let mut fact = |key: &str| {
                    let parameter = entry.parameters[position].name;
                    let _ = writeln!(text, "  {}.{parameter} {by}: {key}", entry.name);
                };
                match found.len() {
                    0 => {}
                    count if count == whole[&at].len() => fact("all"),
                    _ => found.iter().for_each(|key| fact(key)),
                }
            }
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/matrix/roles.txt");
    needs::assert_committed(&path, &text, "-p card --test all matrix");
}

/// What may be done with a label's key holds each request by reference: each use alone, and all but it.
#[test]
fn every_use_of_a_label_with_every_key_in_every_place() {
    let mut others = Others::new();
    let samples = samples(&mut others);
    let wrapped: Vec<Sample> = samples.into_iter().filter(|sample| is_wrapped(&sample.token)).collect();
    let mut held = 0;
    for place @ (entry, position) in places() {
        let asked = entry.parameters[position].uses;
        let whole = used(&mut others, &wrapped, place, By::Reference, &everything(), Uses::ALL);
        for (name, uses) in Uses::NAMES {
            let found = used(&mut others, &wrapped, place, By::Reference, &everything(), uses);
            let expected = if uses.contains(asked) { whole.clone() } else { BTreeSet::new() };
            assert_eq!(found, expected, "{} with a label for {name}", entry.name);
            held += usize::from(!whole.is_empty() && found.is_empty());
        }
    }
    assert!(held > 100, "{held} places were held");
}
