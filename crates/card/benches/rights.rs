//! What rights cost a request: the role of its queue with the point of its verb, and the points of its keywords, beside
//! the one test of a bit that the least of them would be. In nanoseconds, the best of several rounds that take turns.
//! Keywords are asked of a role that permits them all, and of one that permits no other than those of the request,
//! which is the dearest. Fails where the role and the dearest keywords together are not below [`BOUND_NS`].

use card::roles::Roles;
use std::hint::black_box;
use std::time::Instant;
use wire::point::{Point, PointSet, keywords};
use wire::role::Role;
use wire::verb::Verb;

const ROUNDS: usize = 20;
const CALLS: u32 = 1_000_000;
/// What rights may cost a request.
const BOUND_NS: f64 = 20.0;

fn main() {
    let mut roles = Roles::default();
    for number in 0..64 {
        roles.define(Role { number, points: PointSet::EVERYTHING }, false);
    }
    let mac =
        [keywords::word("X9.19OPT"), keywords::word("ONLY"), keywords::word("MACLEN8")].map(u64::to_be_bytes);
    let hash = [keywords::word("SHA3-512"), keywords::word("ONLY")].map(u64::to_be_bytes);
    let one = |role: u16| {
        let points = roles.points(black_box(role));
        points.permits(black_box(Point::TokenBytes)) && points.permits(black_box(Point::MacGenerate))
    };
    let words = |verb: Verb, words: &[[u8; 8]], points: &PointSet| {
        keywords::forbidden(black_box(verb), black_box(words), black_box(points)).is_none()
    };
    let everything = PointSet::EVERYTHING;
    let (narrow_mac, narrow_hash) = (narrow(Verb::MacGenerate, &mac), narrow(Verb::OneWayHash, &hash));
    let bit = |word: u32| black_box(word) & black_box(1 << 5) != 0;
    let names = [
        "one bit",
        "role, verb and tokens",
        "keywords of a MAC",
        "narrow role",
        "keywords of a hash",
        "narrow role",
    ];
    let mut best = [f64::MAX; 6];
    for _ in 0..ROUNDS {
        let rounds: [f64; 6] = [
            ns(bit),
            ns(|at| one((at % 64) as u16)),
            ns(|_| words(Verb::MacGenerate, &mac, &everything)),
            ns(|_| words(Verb::MacGenerate, &mac, &narrow_mac)),
            ns(|_| words(Verb::OneWayHash, &hash, &everything)),
            ns(|_| words(Verb::OneWayHash, &hash, &narrow_hash)),
        ];
        best.iter_mut().zip(rounds).for_each(|(best, round)| *best = best.min(round));
    }
    for (name, ns) in names.into_iter().zip(best) {
        println!("{name:24} {ns:6.2} ns");
    }
    let sum = best[1] + best[2..].iter().fold(0.0_f64, |dearest, ns| dearest.max(*ns));
    println!("{:24} {sum:6.2} ns, < {BOUND_NS}", "all of a request");
    if sum >= BOUND_NS {
        std::process::exit(1);
    }
}

/// A role that permits everything but the points of keywords that are not among these.
fn narrow(verb: Verb, words: &[[u8; 8]]) -> PointSet {
    let mut points = PointSet::EVERYTHING;
    keywords::of(verb).iter().filter(|row| !row.applies(words)).for_each(|row| points.deny(row.point));
    points
}

/// Nanoseconds of one call.
fn ns(mut call: impl FnMut(u32) -> bool) -> f64 {
    let begin = Instant::now();
    for at in 0..CALLS {
        black_box(call(at));
    }
    begin.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
}
