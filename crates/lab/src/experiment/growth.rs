//! Rows of growth: a rate as workers rise, beside as many times the rate of one, with who was at work meanwhile, and
//! what the processors of the machine are too few to show.

use super::promise::{Measure, Other};
use crate::kit::machine::ProcessorTime;
use crate::kit::statistics::{Summary, compare, median};
use std::fmt::Write;

/// Numbers of workers, and of cards, that are measured as far as there are processors; above the last one its doubles.
pub(crate) const COUNTS: [usize; 5] = [1, 2, 4, 8, 12];
/// Processors from which on two callers and two cards have one each.
pub(crate) const PROCESSORS_MIN: usize = 4;
/// Share of its time from which on a worker counts as always at work.
const FULL: f64 = 0.95;
/// Share of idle time up to which all processors count as in use.
const IDLE_MAX: f64 = 0.1;
/// Processors that others use without being named.
const OTHERS_MAX: f64 = 0.1;

/// Threads or processes that do the same in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Workers {
    /// Their name, in the plural.
    pub name: &'static str,
    pub count: usize,
    /// Processors that they used together: seconds of processor time in a second.
    pub in_use: f64,
}

/// One run of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GrowthRun {
    pub rate: f64,
    pub workers: Vec<Workers>,
    /// Share of the time of this machine's processors that nobody used, 0 to 1; none if the system hides it.
    pub idle: Option<f64>,
}

/// What a row would be if it grew linearly: `times` the rate of these runs, which were made in the same rounds.
pub(crate) struct Linear<'a> {
    pub times: usize,
    /// What the runs are of.
    pub of: &'a str,
    pub runs: &'a [GrowthRun],
}

/// Rows that differ in the number of their workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Series {
    /// What there is a number of.
    pub what: &'static str,
    /// Processors that each of the number needs.
    pub each: usize,
    /// Cards that are there whatever the number is, each of which needs a processor too.
    pub cards: usize,
}

impl Series {
    /// Processors that a number needs so that all workers have one.
    pub const fn needs(&self, count: usize) -> usize {
        self.each * count + self.cards
    }

    /// Whether a number is measured on a machine of `processors`, which some of its workers may share.
    pub const fn is_measured(&self, count: usize, processors: usize) -> bool {
        count <= processors && self.cards <= processors
    }
}

/// The numbers of workers up to `most`, which is one of them.
pub(crate) fn counts(most: usize) -> Vec<usize> {
    let [.., last] = COUNTS;
    let above = (1..).map(|doubled| (last + last / 3) << (doubled - 1));
    let mut counts: Vec<usize> = COUNTS
        .into_iter()
        .chain(above.take_while(|count| *count < most))
        .filter(|count| *count < most)
        .collect();
    counts.push(most.max(1));
    counts
}

/// Runs sides in turn; each round begins with the next side. Gives the runs of each side in the order of the rounds.
///
/// # Errors
/// That of the first run that fails.
pub(crate) fn in_turn<E>(
    rounds: usize,
    sides: usize,
    mut run: impl FnMut(usize) -> Result<GrowthRun, E>,
) -> Result<Vec<Vec<GrowthRun>>, E> {
    let mut runs: Vec<Vec<GrowthRun>> = vec![Vec::new(); sides];
    for round in 0..rounds.max(1) {
        for turn in 0..sides {
            let side = (turn + round) % sides;
            runs[side].push(run(side)?);
        }
    }
    Ok(runs)
}

/// Runs a closure; gives with its result the share of the meantime in which this machine's processors were idle.
pub(crate) fn with_idle<T>(run: impl FnOnce() -> T) -> (T, Option<f64>) {
    let before = ProcessorTime::now();
    let result = run();
    let idle = before.and_then(|before| ProcessorTime::now()?.idle_since(before));
    (result, idle)
}

/// The row of a side, on a machine of `processors`.
pub(crate) fn row(
    case: &str,
    unit: &str,
    runs: &[GrowthRun],
    linear: Option<&Linear<'_>>,
    processors: usize,
) -> Measure {
    let rates: Vec<f64> = runs.iter().map(|run| run.rate).collect();
    let others = workers(runs).map(|(name, _, in_use)| Other {
        name: format!("{name}: processor seconds a second"),
        value: median(&in_use),
        spread: Summary::of(&in_use).map(|summary| (summary.min, summary.max)),
        ..Other::default()
    });
    let row = Measure { others: others.collect(), ..Measure::alone(case, unit, &rates, None) };
    let row = row.bounded_by(bound(runs, processors));
    let Some(Linear { times, of, runs: ones }) = linear else { return row };
    let ones: Vec<f64> = ones.iter().map(|run| *times as f64 * run.rate).collect();
    let peer = if *times == 1 { (*of).to_owned() } else { format!("{times} times {of}") };
    row.against(&peer, compare(&rates, &ones))
}

/// Name and number of each kind of workers, and the processors that they used, run by run.
fn workers(runs: &[GrowthRun]) -> impl Iterator<Item = (&'static str, usize, Vec<f64>)> {
    let kinds = runs.first().map_or(&[][..], |run| &run.workers);
    kinds.iter().enumerate().map(|(at, kind)| {
        let in_use = runs.iter().filter_map(|run| run.workers.get(at)).map(|workers| workers.in_use);
        (kind.name, kind.count, in_use.collect())
    })
}

/// What bounds a row: the workers who are always at work, and the processors where none is idle.
fn bound(runs: &[GrowthRun], processors: usize) -> String {
    let (mut limits, mut used, mut needed) = (Vec::new(), Vec::new(), 0);
    for (name, count, in_use) in workers(runs) {
        let in_use = median(&in_use);
        if in_use >= FULL * count as f64 {
            limits.push(format!("{name} at 100 %"));
        }
        used.push(format!("{name} {in_use:.2} of {count}"));
        needed += count;
    }
    let by_others = by_others(runs, processors);
    if let Some((by_others, _)) = by_others.filter(|(_, idle)| *idle <= IDLE_MAX) {
        let by_others =
            if by_others > OTHERS_MAX { format!(", {by_others:.2} by others") } else { String::new() };
        limits.push(format!("all {processors} processors in use{by_others}"));
    }
    if limits.is_empty() {
        limits.push("nobody at 100 %: they wait for each other".to_owned());
    }
    let shared = match needed > processors {
        true => format!("; {needed} processors are needed, {processors} are here"),
        false => String::new(),
    };
    format!("{}; processors in use: {}{shared}", limits.join("; "), used.join(", "))
}

/// Processors that others than the workers used, and the share of idle time; none if the system hides it.
fn by_others(runs: &[GrowthRun], processors: usize) -> Option<(f64, f64)> {
    let by_others = |run: &GrowthRun| {
        let own: f64 = run.workers.iter().map(|workers| workers.in_use).sum();
        run.idle.map(|idle| (processors as f64 * (1.0 - idle) - own, idle))
    };
    let (used, idle): (Vec<f64>, Vec<f64>) = runs.iter().filter_map(by_others).unzip();
    (!used.is_empty()).then(|| (median(&used), median(&idle)))
}

/// The rows that a machine of `processors` cannot show, as a remark; none if there are none.
pub(crate) fn note(series: &[Series], processors: usize) -> Option<Measure> {
    let left_out = |series: &Series| {
        let numbers = listed(series, processors, |count| !series.is_measured(count, processors));
        (!numbers.is_empty()).then(|| format!("{} {numbers}", series.what))
    };
    let left_out: Vec<String> = series.iter().filter_map(left_out).collect();
    let is_few = processors < PROCESSORS_MIN && series.iter().any(|series| series.needs(2) > processors);
    let few =
        if is_few { format!("growth needs {PROCESSORS_MIN} processors at least; ") } else { String::new() };
    let text =
        format!("{few}here are {processors}, too few (in brackets: how many) for {}", left_out.join("; "));
    (!left_out.is_empty()).then(|| Measure::note(&text, "not measured"))
}

/// The numbers of each series that a machine of `processors` can show, as a table of Markdown.
pub(crate) fn table(series: &[Series], processors: usize) -> String {
    let mut out = format!(
        "| in brackets: processors that it needs | measured on {processors} | measured, sharing them | not measured |\n|---|---|---|---|\n"
    );
    for series in series {
        let of = |wanted: &dyn Fn(usize) -> bool| listed(series, processors, wanted);
        let is_measured = |count| series.is_measured(count, processors);
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            series.what,
            of(&|count| is_measured(count) && series.needs(count) <= processors),
            of(&|count| is_measured(count) && series.needs(count) > processors),
            of(&|count| !is_measured(count))
        );
    }
    out
}

/// The numbers of a series that `is_wanted` finds, each with the processors that it needs.
fn listed(series: &Series, processors: usize, is_wanted: impl Fn(usize) -> bool) -> String {
    let mut numbers = COUNTS.to_vec();
    numbers.extend(counts(processors).into_iter().filter(|count| !COUNTS.contains(count)));
    numbers.sort_unstable();
    let wanted = numbers.into_iter().filter(|count| is_wanted(*count));
    wanted.map(|count| format!("{count} ({})", series.needs(count))).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLERS: Series = Series { what: "callers of 2 cards:", each: 1, cards: 2 };

    fn run(rate: f64, callers: f64, cards: f64, idle: f64) -> GrowthRun {
        let workers = [("callers", 1, callers), ("cards", 2, cards)];
        let workers = workers.map(|(name, count, in_use)| Workers { name, count, in_use });
        GrowthRun { rate, workers: workers.to_vec(), idle: Some(idle) }
    }

    #[test]
    fn numbers_rise_to_the_processors() {
        assert_eq!(counts(1), [1]);
        assert_eq!(counts(2), [1, 2]);
        assert_eq!(counts(6), [1, 2, 4, 6]);
        assert_eq!(counts(12), [1, 2, 4, 8, 12]);
        assert_eq!(counts(48), [1, 2, 4, 8, 12, 16, 32, 48]);
    }

    #[test]
    fn a_row_is_beside_linear_growth_round_by_round() {
        let (one, two) = (
            [run(100.0, 0.5, 0.5, 0.5), run(80.0, 0.5, 0.5, 0.5)],
            [run(150.0, 0.99, 1.0, 0.4), run(160.0, 0.97, 1.2, 0.4)],
        );
        let linear = Linear { times: 2, of: "one", runs: &one };
        let row = row("two", "ops/s", &two, Some(&linear), 4);
        assert_eq!((row.ours, row.peer_value, row.peer.as_str()), (155.0, Some(180.0), "2 times one"));
        assert_eq!((row.ratio, row.ratio_spread), (Some(0.875), Some((0.75, 1.0))));
        assert_eq!(row.others.len(), 2);
        assert_eq!(row.bound, "callers at 100 %; processors in use: callers 0.98 of 1, cards 1.10 of 2");
    }

    #[test]
    fn what_bounds_a_row_is_who_is_always_at_work() {
        let bound = |callers, cards, idle| bound(&[run(1.0, callers, cards, idle)], 2);
        assert!(
            bound(0.05, 1.95, 0.0)
                .starts_with("cards at 100 %; all 2 processors in use; processors in use: ")
        );
        assert!(bound(0.5, 1.0, 0.0).starts_with("all 2 processors in use, 0.50 by others; "));
        let nobody = bound(0.5, 1.0, 0.5);
        assert!(nobody.starts_with("nobody at 100 %"), "{nobody}");
        assert!(nobody.ends_with("; 3 processors are needed, 2 are here"), "{nobody}");
    }

    #[test]
    fn what_so_many_processors_cannot_show_is_said() {
        let note = note(&[CALLERS], 2).unwrap();
        assert_eq!(
            note.case,
            "growth needs 4 processors at least; here are 2, too few (in brackets: how many) for callers of 2 cards: 4 (6), \
             8 (10), 12 (14)"
        );
        assert!(note.is_note() && super::note(&[CALLERS], 12).is_none());
        let table = table(&[CALLERS], 3);
        assert!(
            table.ends_with("| callers of 2 cards: | 1 (3) | 2 (4), 3 (5) | 4 (6), 8 (10), 12 (14) |\n"),
            "{table}"
        );
    }

    #[test]
    fn sides_run_in_turn() {
        let mut order = Vec::new();
        let runs: Result<_, ()> = in_turn(2, 3, |side| {
            order.push(side);
            Ok(run(side as f64, 0.0, 0.0, 0.0))
        });
        assert_eq!(order, [0, 1, 2, 1, 2, 0]);
        assert!(
            runs.unwrap()
                .iter()
                .enumerate()
                .all(|(side, runs)| runs.iter().all(|run| run.rate == side as f64))
        );
        assert_eq!(in_turn(1, 1, |_| Err("broken")), Err("broken"));
    }
}
