//! How long a pass of a card takes at the most, whatever its clients ask for: for each verb the requests that take
//! longest, of the kept inputs of the fuzz target `verb` and of what [`fuzz_targets::passes`] makes of them at their
//! extremes.
//!
//! A pass has as many of a request as a card takes that knows nothing of its cost ([`card::work`]). Times are of the
//! processor, so that other programs on the machine do not count. `cargo run --release -p fuzz-targets --example
//! pass_times -- 10` prints ten requests of each verb instead of one, `-- 1 avx2` one of each with kernels of that
//! level; exits with 1 where a pass takes longer than 60 ms.

use card::work::{WORK_NS_MAX, work_ns};
use engine::Level;
use fuzz_targets::passes::{Passes, without_request};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use wire::bounds::{BATCH_BYTES_MAX, BATCH_MAX};

/// What SECURITY.md says of a pass.
const PASS_MAX: Duration = Duration::from_millis(60);
/// A request that takes less than this alone is not tried with others: a batch of 512 stays below the bound.
const SHORT: Duration = Duration::from_micros(90);

fn main() -> ExitCode {
    let rows = std::env::args().nth(1).and_then(|rows| rows.parse().ok()).unwrap_or(1);
    let level = std::env::args().nth(2).map(|name| name.parse::<Level>().expect("a level"));
    let mut passes = Passes::new(level);
    let level = passes.level();
    let found = passes.extremes(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/verb"));
    println!("{} requests; verbs without any: {:?}", found.len(), without_request(&found));
    let mut worst: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for extreme in &found {
        let payloads = extreme.payloads();
        let Some(first) = payloads.first() else { continue };
        let one = passes.run(extreme.verb, &payloads, 1);
        if !one.is_answered {
            continue;
        }
        let (mut count, mut work, mut bytes) = (0, 0, 0);
        for payload in payloads.iter().cycle() {
            if count == BATCH_MAX || work >= WORK_NS_MAX || bytes >= BATCH_BYTES_MAX {
                break;
            }
            work += work_ns(level, extreme.verb, payload, &[], |_| false);
            bytes += payload.len();
            count += 1;
        }
        let time = if one.time < SHORT { one.time } else { passes.run(extreme.verb, &payloads, count).time };
        let row = (time, one.time, count, first.len(), one.codes, &extreme.name);
        worst.entry(extreme.verb.entry().name).or_default().push(row);
    }
    let mut all: Vec<_> = worst
        .into_iter()
        .flat_map(|(verb, mut of)| {
            of.sort_by_key(|(time, ..)| Reverse(*time));
            of.truncate(rows);
            of.into_iter().map(move |row| (row, verb))
        })
        .collect();
    all.sort_by_key(|((time, ..), _)| Reverse(*time));
    for ((time, one, count, bytes, codes, name), verb) in &all {
        let ms = |time: &Duration| time.as_secs_f64() * 1e3;
        println!(
            "{:>8.2} ms a pass of {count:>3}, {:>7.2} ms alone: {verb}, {name}, {bytes} bytes, {codes}",
            ms(time),
            ms(one)
        );
    }
    let is_long = all.first().is_some_and(|((time, ..), _)| *time > PASS_MAX);
    if is_long { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
