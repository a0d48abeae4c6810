//! Cards killed one after the other under full load: whether a request is lost, whether something that may
//! run once runs twice, and how soon the rate is back.
//!
//! Threads keep as many requests in flight as the cards take; each carries a value of its own, and each answer
//! is compared with what it must be. Another thread writes key records, the class of verbs that must not run
//! twice: a label that was never used and is said to exist was written twice. Answers are counted in windows of
//! [`WINDOW`]. The rate is *back* with the first window from which on it is, over [`STEADY`] windows, at least
//! [`BACK`] of what it was in the half second before the kill; or, on a machine that others use too, what one in
//! [`ONE_IN`] stretches of as many windows falls to without any kill, but never less than [`BACK_LEAST`].

mod requests;

use crate::experiment::promise::{Measure, Part, Promise};
use crate::kit::statistics::median;
use crate::load::requests::{Maker, Tokens};
use crate::load::target::{Needs, Target};
use crate::load::{LabError, Refusal, keys};
use engine::Engine;
use facility::{Facility, FacilityError, Options, Reply, Ticket};
use requests::Requests;
use rustix::process::{Pid, Signal, kill_process};
use seeded::Random;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use wire::Label;
use wire::code::LABEL_EXISTS;
use wire::control::{self, CardRow, CardState, Store};
use wire::verb::{Filled, TypedAsk};

/// Length of a window.
pub const WINDOW: Duration = Duration::from_millis(10);
/// Share of the rate before a kill at which the rate is back.
pub const BACK: f64 = 0.9;
/// The lower bound of this share, if the rate falls as low without a kill.
pub const BACK_LEAST: f64 = 0.75;
/// One stretch in this many between kills may fall below [`BACK`].
pub const ONE_IN: usize = 20;
/// Windows over which the rate must stay back.
pub const STEADY: usize = 10;
/// The promise: the rate is back within this after each kill, in milliseconds.
const BACK_MS: f64 = 200.0;
/// Time between two kills.
const KILL_EVERY: Duration = Duration::from_secs(1);
/// How long the load runs before the first kill.
const WARM_UP: Duration = Duration::from_secs(2);
/// Windows from one kill to the next.
const PER_KILL: usize = (KILL_EVERY.as_millis() / WINDOW.as_millis()) as usize;
/// Windows before a kill whose median is the rate before it.
const BEFORE: usize = 50;
/// Threads that keep the load up, and the requests that each has in flight.
const LOADERS: usize = 2;
const IN_FLIGHT: usize = 48;
/// Time between two key records: each is on the disk before it is acknowledged.
const RECORD_EVERY: Duration = Duration::from_millis(20);
/// How long a card may take to come back before the run is given up.
const PATIENCE: Duration = Duration::from_secs(60);

/// The time of a kill, and the index of the card.
type Kill = (Instant, u32);

/// The outcome of a run that kills cards.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaultOutcome {
    /// Cards killed.
    pub kills: usize,
    /// Requests answered rightly.
    pub answered: u64,
    /// Requests that failed or were answered wrongly.
    pub lost: u64,
    /// The error of the first lost request.
    pub first_loss: Option<String>,
    /// Key records acknowledged.
    pub records: u64,
    /// Key records that were written twice, or that exist although nothing asked for them.
    pub twice: u64,
    /// Share of the rate before a kill at which it counts as back.
    pub back_at: f64,
    /// How long each kill was felt, in milliseconds: up to the next kill at the most.
    pub back_ms: Vec<f64>,
    /// Time from each kill until the new card answered requests, in milliseconds: up to the next kill at the most.
    pub replaced_ms: Vec<f64>,
    /// From start to ready of each card that came back, in milliseconds.
    pub start_ms: Vec<f64>,
    /// Median number of answers in a window: before the first kill, and after it.
    pub rate: (f64, f64),
}

/// Kills a random card of two every second, for `seconds`; gives the rows on lost requests, key records and recovery.
///
/// # Errors
/// [`LabError::Facility`] where the home does not start, or a card does not come back; [`LabError::Interrupted`].
pub fn run(
    seconds: f64,
    stop: &Arc<AtomicBool>,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Measure>, LabError> {
    progress(&format!("cards killed under load for {seconds} s"));
    kill_cards(2, seconds, stop).map(|outcome| rows(&outcome))
}

/// Kills a random card of a throw-away home with `cards` coprocessors every second, for `seconds`.
///
/// # Errors
/// As [`run`].
pub fn kill_cards(cards: usize, seconds: f64, stop: &Arc<AtomicBool>) -> Result<FaultOutcome, LabError> {
    let needs = Needs { coprocessors: cards, ..Needs::default() };
    let target = Target::throwaway(&needs, Arc::clone(stop))?;
    let folder = target.folder().ok_or(Refusal::NoHome)?;
    let facility = open(folder)?;
    let engine = crate::load::target::engine()?;
    let mut tokens = Tokens::default();
    let token = Maker::new(&engine, &facility, &mut tokens).data_key(&keys::des_key(0, 8), false, 0)?;
    let load = Load::new(seconds, token);
    let (killed, ended) = std::thread::scope(|scope| {
        let (load, engine) = (&load, &engine);
        let mut threads: Vec<_> =
            (0..LOADERS).map(|loader| scope.spawn(move || load.ask(engine, folder, loader))).collect();
        threads.push(scope.spawn(move || load.write_records(folder)));
        let killed = load.kill(&facility, stop);
        load.done.store(true, Ordering::Relaxed);
        let ended = threads.into_iter().try_for_each(|thread| {
            thread.join().unwrap_or_else(|_| Err(failed("keep the load up", "a thread panicked")))
        });
        (killed, ended)
    });
    let (kills, start_ms) = killed?;
    ended?;
    let there =
        facility.records(Some(Store::Des), "KILLS.*").map_err(|error| failed("list records", error))?;
    let mut outcome = load.outcome(&kills);
    outcome.start_ms = start_ms;
    // Records whose request got an error may exist as well.
    outcome.twice += (there.len() as u64).saturating_sub(outcome.records + outcome.lost);
    Ok(outcome)
}

/// The rows of an outcome, with their promises.
fn rows(outcome: &FaultOutcome) -> Vec<Measure> {
    let kills = format!("{} cards killed, one a second", outcome.kills);
    let row = |case: String, unit: &str, runs: &[f64], promise| Measure {
        part: Part::Kills,
        ..Measure::alone(&case, unit, runs, promise)
    };
    let none = Some(Promise::Below(1.0));
    let back = Some(Promise::Below(BACK_MS));
    let worst = |runs: &[f64]| runs.iter().copied().fold(0.0, f64::max);
    let lost = match &outcome.first_loss {
        None => format!("{kills}: lost of {} requests", outcome.answered),
        Some(first) => format!("{kills}: lost of {} requests (the first: {first})", outcome.answered),
    };
    let twice = format!("{kills}: executed twice of {} verbs of class once", outcome.records);
    let (before, under) = outcome.rate;
    let rate = format!("{:.0} % of the rate", 100.0 * outcome.back_at);
    vec![
        row(lost, "requests", &[outcome.lost as f64], none),
        row(twice, "verbs", &[outcome.twice as f64], none),
        row(format!("{kills}: {rate} back after"), "ms, median", &outcome.back_ms, back),
        row(format!("{kills}: {rate} back after, the worst"), "ms", &[worst(&outcome.back_ms)], back),
        row(format!("{kills}: its successor answers after"), "ms, median", &outcome.replaced_ms, None),
        row(
            format!("{kills}: its successor answers after, the worst"),
            "ms",
            &[worst(&outcome.replaced_ms)],
            back,
        ),
        row(format!("{kills}: from start to ready"), "ms, median", &outcome.start_ms, None),
        row(format!("{kills}: rate meanwhile"), "requests a window", &[under], None)
            .beside("before the first kill", before),
    ]
}

/// The load: the state that its threads share.
struct Load {
    token: Vec<u8>,
    begin: Instant,
    seconds: f64,
    done: AtomicBool,
    /// Answers of each window since the beginning.
    windows: Vec<AtomicU32>,
    /// Cards that answered in each window, one bit each.
    cards: Vec<AtomicU64>,
    answered: AtomicU64,
    lost: AtomicU64,
    first_loss: Mutex<Option<String>>,
    records: AtomicU64,
    twice: AtomicU64,
}

impl Load {
    fn new(seconds: f64, token: Vec<u8>) -> Self {
        // A card that is slow to come back delays the kills; answers after the last window are not counted.
        let length = WARM_UP.as_secs_f64() + seconds + 2.0 * KILL_EVERY.as_secs_f64();
        let windows = (length / WINDOW.as_secs_f64()) as usize;
        Self {
            token,
            begin: Instant::now(),
            seconds,
            done: AtomicBool::new(false),
            windows: (0..windows).map(|_| AtomicU32::new(0)).collect(),
            cards: (0..windows).map(|_| AtomicU64::new(0)).collect(),
            answered: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            first_loss: Mutex::new(None),
            records: AtomicU64::new(0),
            twice: AtomicU64::new(0),
        }
    }

    /// Keeps requests in flight until the run is done, each with a value that no other request in flight has.
    fn ask(&self, engine: &Engine, folder: &Path, loader: usize) -> Result<(), LabError> {
        let facility = open(folder)?;
        let requests = Requests::new(engine, &facility, loader)?;
        let mut asked: Vec<usize> = (0..IN_FLIGHT).collect();
        let mut filled = Filled::default();
        let begun = asked.iter().map(|at| facility.submit(0, &requests.ask(*at).arguments(&mut filled)));
        let mut tickets =
            begun.collect::<Result<Vec<Ticket>, _>>().map_err(|error| failed("begin the load", error))?;
        // Tickets whose answers were collected, to be sent off again.
        let mut free = Vec::with_capacity(IN_FLIGHT);
        let (mut next, mut reply) = (IN_FLIGHT, Reply::new());
        loop {
            match Ticket::wait_any(&mut tickets) {
                Some(index) => {
                    let answer = tickets[index].try_wait_into(&mut reply);
                    self.judge(answer, requests.is_answered(asked[index], &reply), &reply);
                    free.push(index);
                }
                None if self.done.load(Ordering::Relaxed) => return Ok(()),
                None => std::thread::yield_now(),
            }
            while !self.done.load(Ordering::Relaxed)
                && let Some(index) = free.pop()
            {
                (asked[index], next) = (next, next + 1);
                let ask = requests.ask(asked[index]);
                let request = ask.arguments(&mut filled);
                let Err(error) = facility.submit_into(&mut tickets[index], 0, &request) else { continue };
                free.push(index);
                // No slot is free: nothing was sent, and the next answer brings one.
                if !matches!(error, FacilityError::Full { .. }) {
                    self.lose(error.to_string());
                }
                break;
            }
        }
    }

    /// Counts an answer as right or lost.
    fn judge(&self, answer: Option<Result<(), FacilityError>>, is_right: bool, reply: &Reply) {
        match answer {
            Some(Ok(())) if is_right => self.count(reply.timing().map_or(0, |timing| timing.card)),
            Some(Ok(())) => self.lose(format!("a wrong answer, {}", reply.codes())),
            Some(Err(error)) => self.lose(error.to_string()),
            None => self.lose("no answer where one was said to be".to_owned()),
        }
    }

    fn count(&self, card: u32) {
        self.answered.fetch_add(1, Ordering::Relaxed);
        let window = (self.begin.elapsed().as_nanos() / WINDOW.as_nanos()) as usize;
        if let (Some(answers), Some(cards)) = (self.windows.get(window), self.cards.get(window)) {
            answers.fetch_add(1, Ordering::Relaxed);
            cards.fetch_or(bit(card), Ordering::Relaxed);
        }
    }

    fn lose(&self, why: String) {
        self.lost.fetch_add(1, Ordering::Relaxed);
        self.first_loss.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
    }

    /// Creates key records under labels that were never used.
    fn write_records(&self, folder: &Path) -> Result<(), LabError> {
        let facility = open(folder)?;
        for number in 0u64.. {
            if self.done.load(Ordering::Relaxed) {
                break;
            }
            let label =
                Label::new(&format!("KILLS.N{number}")).map_err(|error| failed("name a label", error))?;
            match facility.record_create(Store::Des, &label, &self.token) {
                Ok(()) => {
                    self.records.fetch_add(1, Ordering::Relaxed);
                }
                Err(FacilityError::Refused { refusal: control::Refusal::Verb(LABEL_EXISTS), .. }) => {
                    self.twice.fetch_add(1, Ordering::Relaxed);
                }
                Err(error) => self.lose(error.to_string()),
            }
            std::thread::sleep(RECORD_EVERY);
        }
        Ok(())
    }

    /// Kills a random card every second; returns the kills, and the time of each new card from start to ready in
    /// milliseconds.
    fn kill(&self, facility: &Facility, stop: &AtomicBool) -> Result<(Vec<Kill>, Vec<f64>), LabError> {
        let end = self.begin + WARM_UP + Duration::from_secs_f64(self.seconds);
        let (mut kills, mut start_ms) = (Vec::new(), Vec::new());
        let mut next = self.begin + WARM_UP;
        let mut chance = Random(0);
        while next < end {
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
            if stop.load(Ordering::Relaxed) {
                return Err(LabError::Interrupted);
            }
            let cards = ready(facility)?;
            if !kills.is_empty() {
                let youngest = cards.iter().max_by_key(|card| card.restarts);
                start_ms.extend(youngest.map(|card| card.start_us as f64 / 1000.0));
            }
            let victim = &cards[chance.below(cards.len())];
            let pid =
                Pid::from_raw(victim.pid as i32).ok_or_else(|| failed("kill a card", "it has no process"))?;
            kills.push((Instant::now(), victim.index));
            kill_process(pid, Signal::KILL).map_err(|error| failed("kill a card", error))?;
            next += KILL_EVERY;
        }
        // The last killed card gets the same time to come back as the others.
        std::thread::sleep(KILL_EVERY);
        ready(facility)?;
        Ok((kills, start_ms))
    }

    fn outcome(&self, kills: &[Kill]) -> FaultOutcome {
        let windows: Vec<f64> =
            self.windows.iter().map(|window| f64::from(window.load(Ordering::Relaxed))).collect();
        let window_of = |at: Instant| ((at - self.begin).as_nanos() / WINDOW.as_nanos()) as usize;
        let cards: Vec<u64> = self.cards.iter().map(|cards| cards.load(Ordering::Relaxed)).collect();
        let killed: Vec<(usize, u32)> = kills.iter().map(|(at, card)| (window_of(*at), *card)).collect();
        let kills: Vec<usize> = killed.iter().map(|(window, _)| *window).collect();
        let last = kills.last().map_or(0, |last| last + PER_KILL);
        let windows = &windows[..windows.len().min(last)];
        let first = kills.first().map_or(windows.len(), |first| (*first).min(windows.len()));
        let (before, under) = windows.split_at(first);
        let back_at = back_at(windows, &kills);
        FaultOutcome {
            kills: kills.len(),
            answered: self.answered.load(Ordering::Relaxed),
            lost: self.lost.load(Ordering::Relaxed),
            first_loss: self.first_loss.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            records: self.records.load(Ordering::Relaxed),
            twice: self.twice.load(Ordering::Relaxed),
            back_at,
            back_ms: back(windows, &kills, back_at),
            replaced_ms: replaced(&cards, &killed),
            start_ms: Vec::new(),
            rate: (median(&before[before.len().saturating_sub(2 * BEFORE)..]), median(under)),
        }
    }
}

/// The share of the rate before a kill at which the rate counts as back: [`BACK`], or less if the rate falls lower
/// between kills.
fn back_at(windows: &[f64], kills: &[usize]) -> f64 {
    let mut quiet: Vec<f64> = Vec::new();
    for kill in kills {
        let (from, rate) = (kill.saturating_sub(BEFORE), before(windows, *kill));
        let stretches = (from..).take_while(|from| from + STEADY <= *kill);
        quiet.extend(stretches.map(|from| mean(windows, from) / rate).filter(|share| share.is_finite()));
    }
    quiet.sort_by(f64::total_cmp);
    quiet.get(quiet.len() / ONE_IN).map_or(BACK, |low| low.clamp(BACK_LEAST, BACK))
}

/// Milliseconds from each kill, given by its window, until the rate was back at this share.
fn back(windows: &[f64], kills: &[usize], share: f64) -> Vec<f64> {
    let felt = |(index, kill): (usize, &usize)| {
        let rate = share * before(windows, *kill);
        let end = kills.get(index + 1).copied().unwrap_or(windows.len());
        let windows = (*kill..end).find(|from| mean(windows, *from) >= rate).unwrap_or(end) - kill;
        windows as f64 * WINDOW.as_secs_f64() * 1000.0
    };
    kills.iter().enumerate().map(felt).collect()
}

/// The rate in the half second before a kill.
fn before(windows: &[f64], kill: usize) -> f64 {
    median(&windows[kill.saturating_sub(BEFORE)..kill.min(windows.len())])
}

/// The rate over [`STEADY`] windows.
fn mean(windows: &[f64], from: usize) -> f64 {
    let of = &windows[from.min(windows.len())..(from + STEADY).min(windows.len())];
    of.iter().sum::<f64>() / STEADY as f64
}

/// Milliseconds from each kill, given by window and card index, until that card answered again.
fn replaced(cards: &[u64], killed: &[(usize, u32)]) -> Vec<f64> {
    let felt = |(kill, card): &(usize, u32)| {
        // Answers from before the kill are collected a moment later.
        let answers = |from: &usize| cards.get(*from).is_some_and(|cards| cards & bit(*card) != 0);
        let windows = (kill + 2..kill + PER_KILL).find(answers).unwrap_or(kill + PER_KILL) - kill;
        windows as f64 * WINDOW.as_secs_f64() * 1000.0
    };
    killed.iter().map(felt).collect()
}

fn bit(card: u32) -> u64 {
    1u64.checked_shl(card).unwrap_or(0)
}

/// The rows of all cards, once all of them are ready.
fn ready(facility: &Facility) -> Result<Vec<CardRow>, LabError> {
    let end = Instant::now() + PATIENCE;
    loop {
        let cards = facility.cards().map_err(|error| failed("ask for the cards", error))?;
        if !cards.is_empty() && cards.iter().all(|card| card.state == CardState::Ready) {
            return Ok(cards);
        }
        if Instant::now() > end {
            return Err(failed("wait for a killed card", format!("not back within {PATIENCE:?}")));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn open(folder: &Path) -> Result<Facility, LabError> {
    // With clear keys, requests served in the caller would never reach a card, killed or not.
    let options = Options { in_caller: false, ..Options::default() };
    Facility::open(folder, options).map_err(|error| failed("open the home", error))
}

fn failed(what: &'static str, cause: impl std::fmt::Display) -> LabError {
    LabError::Facility { what, cause: cause.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_until_the_rate_is_back_is_found() {
        let mut windows = vec![100.0; 400];
        assert_eq!(back(&windows, &[100, 200], BACK), [0.0, 0.0]);
        windows[100..107].fill(10.0);
        windows[110..112].fill(0.0);
        windows[200..].fill(50.0);
        // The two idle windows after the first dip count to it: the rate is not steady before.
        assert_eq!(back(&windows, &[100, 200], BACK), [110.0, 2000.0]);
        assert_eq!(back(&windows, &[400], BACK), [0.0]);
        assert!(back(&windows, &[], BACK).is_empty());
    }

    #[test]
    fn a_rate_that_falls_without_kills_is_back_where_it_is_otherwise() {
        let mut windows = vec![100.0; 1000];
        let kills: Vec<usize> = (1..10).map(|kill| kill * 100).collect();
        assert_eq!(back_at(&windows, &kills), BACK);
        assert_eq!(back_at(&windows, &[]), BACK);
        for kill in &kills {
            windows[kill - 30..kill - 20].fill(80.0);
        }
        // A stretch that lies half in the low part is at 90: one in twenty is at 83 or below.
        let noisy = back_at(&windows, &kills);
        assert!((0.8..0.85).contains(&noisy), "{noisy}");
        for kill in &kills {
            windows[kill - 30..kill - 10].fill(1.0);
        }
        assert_eq!(back_at(&windows, &kills), BACK_LEAST);
    }

    #[test]
    fn a_successor_is_told_from_what_was_answered_before() {
        let mut cards = vec![0b01; 300];
        cards[..=11].fill(0b11);
        cards[17..].fill(0b11);
        assert_eq!(replaced(&cards, &[(10, 1), (100, 0), (290, 5)]), [70.0, 20.0, 1000.0]);
    }

    #[test]
    fn a_lost_request_and_a_late_card_are_not_kept() {
        let outcome = FaultOutcome {
            kills: 3,
            answered: 1000,
            lost: 1,
            first_loss: Some("it died".to_owned()),
            records: 10,
            twice: 0,
            back_at: 0.9,
            back_ms: vec![20.0, 30.0, 500.0],
            replaced_ms: vec![50.0, 60.0],
            start_ms: vec![40.0],
            rate: (100.0, 90.0),
        };
        let rows = rows(&outcome);
        let kept: Vec<bool> = rows.iter().map(Measure::is_kept).collect();
        assert_eq!(kept, [false, true, true, false, true, true, true, true]);
        assert!(rows[2].case.contains("90 % of the rate back"), "{}", rows[2].case);
        assert!(rows[0].case.contains("it died") && rows.iter().all(|row| row.part == Part::Kills));
        assert_eq!(rows[7].ratio, Some(0.9));
    }
}
