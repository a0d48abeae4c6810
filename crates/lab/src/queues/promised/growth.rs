//! Verbs as callers, cards and keys rise: threads that call or keep tickets in flight, event loops, and processes.
//!
//! All sides of a group run in turn, and each is compared with a multiple of what one caller of one card did in these
//! rounds. A caller and a card each need a processor of their own to show how the rate grows; with fewer, rows say how
//! many, and show what sharing them costs.

use super::labels::Labelled;
use super::scale::first_cards;
use super::{Effort, home_of, one};
use crate::experiment::growth::{self, COUNTS, GrowthRun, Linear, Series, Workers};
use crate::experiment::promise::{Measure, Options, Promise};
use crate::kit::machine::processors_online;
use crate::load::helper::Helper;
use crate::load::operation::{Mac, Operation, Payment, RsaForm};
use crate::load::target::{Needs, Processes, Target};
use crate::load::{Interface, LabError, LoadOutcome, Measurement, Refusal, Workload, thread_seconds};
use facility::Facility;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Instant;
use wire::verb::Verb;

/// Requests that a caller keeps in flight, unless it calls.
const JOBS: usize = 64;
/// Cards up to which growth is promised.
const CARDS_PROMISED: usize = 8;
/// Numbers of keys under labels.
const LABELS: [usize; 3] = [1, 1_000, 20_000];
/// Places for the labels in the home's key table: those of RSA keys need all of a place.
const LABEL_PLACES: u32 = 20_480;

type Labels = fn(&Target, &Facility, usize) -> Result<Labelled, LabError>;

/// An operation that is measured.
struct Subject {
    name: &'static str,
    operation: Operation,
    bytes: usize,
    /// Makes keys under labels; none for an operation without a key.
    labels: Option<Labels>,
}

const SUBJECTS: [Subject; 5] = [
    Subject {
        name: "empty verbs",
        operation: Operation::Verb { verb: Verb::Null, key: None },
        bytes: 0,
        labels: None,
    },
    Subject {
        name: "X9.19 of 64 bytes",
        operation: Operation::Mac(Mac::X919),
        bytes: 64,
        labels: Some(Labelled::macs),
    },
    Subject {
        name: "PIN translations",
        operation: Operation::Payment(Payment::PinTranslate),
        bytes: 0,
        labels: Some(Labelled::translating),
    },
    Subject {
        name: "RSA-2048 signatures",
        operation: Operation::rsa_verb(Verb::DigitalSignatureGenerate, 2048, RsaForm::Crt),
        bytes: 0,
        labels: Some(Labelled::signing),
    },
    Subject {
        name: "ECDSA P-256 signatures",
        operation: Operation::EcdsaP256Sign,
        bytes: 0,
        labels: Some(Labelled::signing_ecdsa),
    },
];

/// What the callers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Threads of one process, each with one call after another.
    Calls,
    /// Threads of one process, each with tickets.
    Tickets,
    /// Event loops of one process.
    Loops,
    /// Processes, each with one thread with tickets.
    Processes,
    /// Threads of one process, each with tickets under labels at random.
    Labels,
}

impl Way {
    const ALL: [Self; 5] = [Self::Calls, Self::Tickets, Self::Loops, Self::Processes, Self::Labels];

    const fn name(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Tickets => "tickets",
            Self::Loops => "event loops",
            Self::Processes => "processes",
            Self::Labels => "keys",
        }
    }

    /// A caller's name, and its plural.
    const fn callers(self) -> [&'static str; 2] {
        match self {
            Self::Calls | Self::Tickets | Self::Labels => ["thread", "threads"],
            Self::Loops => ["loop", "loops"],
            Self::Processes => ["process", "processes"],
        }
    }

    /// The sides on a machine of `processors`, one caller of one card first: each number of callers on each number of
    /// cards by tickets, as many callers as cards in the other ways.
    fn sides(self, processors: usize) -> Vec<Side> {
        let callers = growth::counts(processors).into_iter();
        let cards_max = COUNTS[COUNTS.len() - 1];
        match self {
            Self::Tickets => callers
                .flat_map(|callers| {
                    let cards = COUNTS.into_iter().filter(|cards| *cards <= processors);
                    cards.map(move |cards| Side { callers, cards, labels: None })
                })
                .collect(),
            Self::Calls | Self::Loops | Self::Processes => {
                callers.map(|callers| Side { callers, cards: callers.min(cards_max), labels: None }).collect()
            }
            Self::Labels => callers
                .flat_map(|callers| {
                    let cards = callers.min(cards_max);
                    LABELS.map(|labels| Side { callers, cards, labels: Some(labels) })
                })
                .collect(),
        }
    }
}

/// A side: the number of callers, and of the cards that they call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Side {
    callers: usize,
    cards: usize,
    /// Number of keys under labels; none for a key of its own of each request in flight.
    labels: Option<usize>,
}

impl Side {
    fn name(self, way: Way) -> String {
        let [one, many] = way.callers();
        let callers = if self.callers == 1 { format!("1 {one}") } else { format!("{} {many}", self.callers) };
        let cards = if self.cards == 1 { "1 card".to_owned() } else { format!("{} cards", self.cards) };
        let labels = match self.labels {
            None => String::new(),
            Some(1) => ", 1 label".to_owned(),
            Some(labels) => format!(", {labels} labels"),
        };
        format!("{callers} on {cards}{labels}")
    }

    /// How many times the rate of one caller of one card it would have by linear growth: those who are fewer decide.
    fn times(self) -> usize {
        self.callers.min(self.cards)
    }

    /// What is promised of it on a machine of `processors`: growth where each caller has a card, and each a processor.
    fn promise(self, way: Way, processors: usize) -> Option<Promise> {
        let is_promised =
            way == Way::Tickets && self.callers == self.cards && self.callers + self.cards <= processors;
        (is_promised && (2..=CARDS_PROMISED).contains(&self.cards)).then_some(Promise::RatioAtLeast(0.8))
    }
}

/// The numbers of callers on each number of cards, with the processors that they need.
pub(crate) const SERIES: [Series; 5] = {
    const fn on(what: &'static str, at: usize) -> Series {
        Series { what, each: 1, cards: COUNTS[at] }
    }
    [
        on("callers on 1 card:", 0),
        on("callers on 2 cards:", 1),
        on("callers on 4 cards:", 2),
        on("callers on 8 cards:", 3),
        on("callers on 12 cards:", 4),
    ]
};

/// Measures the groups that the filter wants; `progress` is told what comes next.
///
/// # Errors
/// [`LabError`] of the first group that fails.
pub(super) fn run(
    effort: Effort,
    options: &Options,
    stop: &Arc<AtomicBool>,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Measure>, LabError> {
    let processors = processors_online();
    let mut rows = Vec::new();
    for subject in &SUBJECTS {
        for way in Way::ALL {
            let name = format!("growth of {}: {}", subject.name, way.name());
            if options.wants(&name) && (way != Way::Labels || subject.labels.is_some()) {
                progress(&name);
                rows.extend(measure(subject, way, processors, effort, stop)?);
            }
        }
    }
    let note = growth::note(&SERIES, processors).filter(|_| !rows.is_empty());
    rows.extend(note);
    Ok(rows)
}

fn measure(
    subject: &Subject,
    way: Way,
    processors: usize,
    effort: Effort,
    stop: &Arc<AtomicBool>,
) -> Result<Vec<Measure>, LabError> {
    let sides = way.sides(processors);
    let mut callers = Callers::start(subject, way, &sides, effort, stop)?;
    let runs = growth::in_turn(effort.rounds, sides.len(), |at| callers.run(sides[at], stop))?;
    let Some((first, of_first)) = sides.first().zip(runs.first()) else { return Ok(Vec::new()) };
    let of = first.name(way);
    let rows = sides.iter().zip(&runs).enumerate().map(|(at, (side, runs))| {
        let case = format!("{}, {}: {}", subject.name, way.name(), side.name(way));
        let linear = Linear { times: side.times(), of: &of, runs: of_first };
        let row = growth::row(&case, "ops/s", runs, (at > 0).then_some(&linear), processors);
        Measure { promise: side.promise(way, processors), ..row }
    });
    Ok(rows.collect())
}

/// The callers of a group, and the cards that they call.
struct Callers<'a> {
    subject: &'a Subject,
    way: Way,
    effort: Effort,
    target: Target,
    facility: Facility,
    /// Processes that call.
    helpers: Vec<Helper>,
    /// The keys under labels of each thread.
    labelled: Vec<Labelled>,
}

impl<'a> Callers<'a> {
    fn start(
        subject: &'a Subject,
        way: Way,
        sides: &[Side],
        effort: Effort,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, LabError> {
        let most = |of: fn(&Side) -> usize| sides.iter().map(of).max().unwrap_or(1);
        let (callers, cards) = (most(|side| side.callers), most(|side| side.cards));
        let labels = most(|side| side.labels.unwrap_or(0));
        let needs = Needs { coprocessors: cards, ..Needs::default() };
        let (target, facility) = home_of(&needs, stop, |settings| {
            if labels > 0 {
                settings.daemon.labels = LABEL_PLACES;
            }
        })?;
        let mut made =
            Self { subject, way, effort, target, facility, helpers: Vec::new(), labelled: Vec::new() };
        match (way, subject.labels) {
            (Way::Processes, _) => made.start_helpers(callers)?,
            (Way::Labels, Some(make)) => {
                let keys = make(&made.target, &made.facility, labels)?;
                made.labelled = vec![keys; callers];
                // So that no side opens labels: that is another row.
                in_threads(&mut made.labelled, |keys| keys.once(0..labels, stop))?;
            }
            (Way::Calls | Way::Tickets | Way::Loops | Way::Labels, _) => {}
        }
        Ok(made)
    }

    /// Starts processes, and lets each make its keys.
    fn start_helpers(&mut self, callers: usize) -> Result<(), LabError> {
        let folder = self.target.folder().ok_or(Refusal::NoHome)?.to_owned();
        let first = Workload { seconds: 0.001, ..self.work(1, 1) };
        for _ in 0..callers {
            let mut helper = Helper::beside(&folder)?;
            helper.run(&first)?;
            self.helpers.push(helper);
        }
        Ok(())
    }

    fn work(&self, callers: usize, cards: usize) -> Workload {
        let is_calling = self.way == Way::Calls;
        let jobs = if is_calling { callers } else { callers * JOBS };
        let interface = if is_calling { Interface::Facility } else { Interface::Card };
        let bytes = self.subject.bytes;
        Workload {
            bytes,
            cards,
            processors: callers,
            interface,
            ..self.effort.work(self.subject.operation, jobs)
        }
    }

    fn run(&mut self, side: Side, stop: &AtomicBool) -> Result<GrowthRun, LabError> {
        let (spent, idle) = growth::with_idle(|| match self.way {
            Way::Processes => self.processes(side),
            Way::Labels => self.labels(side, stop),
            Way::Calls | Way::Tickets | Way::Loops => self.threads(side),
        });
        let Spent { rate, callers, cards } = spent?;
        let [_, name] = self.way.callers();
        let workers = [
            Workers { name, count: side.callers, in_use: callers },
            Workers { name: "cards", count: side.cards, in_use: cards },
        ];
        Ok(GrowthRun { rate, workers: workers.to_vec(), idle })
    }

    fn threads(&mut self, side: Side) -> Result<Spent, LabError> {
        let facility = first_cards(&self.facility, side.cards);
        let work = self.work(side.callers, side.cards);
        let outcome = match self.way {
            Way::Loops => self.target.looped(&facility, &work, true)?,
            _ => one(&mut self.target, &facility, &work)?,
        };
        Ok(Spent::of(&outcome))
    }

    fn processes(&mut self, side: Side) -> Result<Spent, LabError> {
        let work = self.work(1, side.cards);
        let runs = in_threads(&mut self.helpers[..side.callers], |helper| helper.run(&work))?;
        let sum = |of: fn(&Measurement) -> f64| runs.iter().map(of).sum::<f64>();
        let in_use = |seconds: f64, run: &Measurement| seconds / run.seconds.max(f64::MIN_POSITIVE);
        let cards: f64 = runs.iter().map(|run| in_use(run.processor_s.cards, run)).sum();
        Ok(Spent {
            rate: sum(|run| run.ops_per_s),
            callers: runs.iter().map(|run| in_use(run.processor_s.caller, run)).sum(),
            // Each of them has seen all that the cards did.
            cards: cards / side.callers as f64,
        })
    }

    fn labels(&mut self, side: Side, stop: &AtomicBool) -> Result<Spent, LabError> {
        let facility = first_cards(&self.facility, side.cards);
        let processes = Processes::of(&self.target.status()?);
        let (labels, seconds) = (side.labels.unwrap_or(1), self.effort.seconds);
        let threads = &mut self.labelled[..side.callers];
        threads.iter_mut().for_each(|keys| keys.call_through(&facility));
        let (begin, before) = (Instant::now(), processes.seconds().1);
        let runs = in_threads(threads, |keys| {
            let (begin, before) = (Instant::now(), thread_seconds());
            let rate = keys.at_random(labels, seconds, stop)?;
            Ok((rate, (thread_seconds() - before) / begin.elapsed().as_secs_f64()))
        })?;
        let cards = (processes.seconds().1 - before) / begin.elapsed().as_secs_f64();
        Ok(Spent {
            rate: runs.iter().map(|(rate, _)| rate).sum(),
            callers: runs.iter().map(|(_, in_use)| in_use).sum(),
            cards,
        })
    }
}

/// The rate of a run, and the processors that its callers and its cards used.
struct Spent {
    rate: f64,
    callers: f64,
    cards: f64,
}

impl Spent {
    fn of(outcome: &LoadOutcome) -> Self {
        let seconds = outcome.seconds.max(f64::MIN_POSITIVE);
        Self {
            rate: outcome.ops_per_s,
            callers: outcome.caller_s / seconds,
            cards: outcome.cards_s / seconds,
        }
    }
}

/// Works on each of these in a thread of its own, all at once.
///
/// # Errors
/// That of the first that fails.
fn in_threads<T: Send, O: Send>(
    each: &mut [T],
    work: impl Fn(&mut T) -> Result<O, LabError> + Sync,
) -> Result<Vec<O>, LabError> {
    let work = &work;
    thread::scope(|scope| {
        let threads: Vec<_> = each.iter_mut().map(|one| scope.spawn(move || work(one))).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_processors_show_one_caller_and_two_and_say_what_they_share() {
        let names = |way: Way| way.sides(2).into_iter().map(|side| side.name(way)).collect::<Vec<_>>();
        assert_eq!(
            names(Way::Tickets),
            ["1 thread on 1 card", "1 thread on 2 cards", "2 threads on 1 card", "2 threads on 2 cards"]
        );
        assert_eq!(names(Way::Processes), ["1 process on 1 card", "2 processes on 2 cards"]);
        assert_eq!(
            names(Way::Labels)[..2],
            ["1 thread on 1 card, 1 label", "1 thread on 1 card, 1000 labels"]
        );
        let sides = Way::Tickets.sides(2);
        assert!(sides.iter().all(|side| side.promise(Way::Tickets, 2).is_none()), "{sides:?}");
        assert_eq!(sides.iter().map(|side| side.times()).collect::<Vec<_>>(), [1, 1, 1, 2]);
    }

    #[test]
    fn the_sides_of_a_series_are_those_that_are_measured() {
        for processors in [1, 2, 6, 24, 64] {
            let sides = Way::Tickets.sides(processors);
            for series in SERIES {
                for callers in COUNTS.into_iter().chain(growth::counts(processors)) {
                    let is_there =
                        sides.iter().any(|side| (side.callers, side.cards) == (callers, series.cards));
                    let is_stated = series.is_measured(callers, processors);
                    assert_eq!(is_there, is_stated, "{callers} on {} on {processors}", series.cards);
                }
            }
        }
    }

    #[test]
    fn growth_is_promised_where_each_has_a_processor() {
        let promised = |processors: usize| {
            let sides = Way::Tickets.sides(processors).into_iter();
            let promised = sides.filter(|side| side.promise(Way::Tickets, processors).is_some());
            promised.map(|side| side.cards).collect::<Vec<_>>()
        };
        assert!(promised(3).is_empty());
        assert_eq!(promised(8), [2, 4]);
        assert_eq!(promised(24), [2, 4, 8]);
    }

    #[test]
    fn a_label_finds_a_place() {
        assert!(LABELS.iter().all(|labels| *labels <= LABEL_PLACES as usize));
        assert!(SUBJECTS.iter().filter(|subject| subject.labels.is_none()).count() == 1);
    }
}
