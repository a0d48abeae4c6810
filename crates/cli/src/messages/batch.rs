//! Many files in one command: one output each, errors collected.

use super::names::Pair;
use super::screen::Screen;
use super::summary::{self, FailureReport, FileReport};
use crate::args::openpgp::ShowOptions;
use crate::failure::{Failure, PgpFailure};
use crate::output::{json, print_json};
use openpgp::Fingerprint;
use pipeline::Summary;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Longest average length of files that are worked on side by side: longer files use several threads each.
const SMALL_BYTES_MAX: u64 = 1 << 20;
/// Smallest number of files that are worked on side by side.
const FILES_MIN: usize = 4;

/// The result for one file.
pub struct Done {
    /// The pipeline's summary.
    pub summary: Summary,
    /// The file in which the signatures were found, if that file was not named.
    pub signatures_in: Option<String>,
}

impl From<Summary> for Done {
    fn from(summary: Summary) -> Self {
        Self { summary, signatures_in: None }
    }
}

/// Prints a command's result for each file.
pub struct Reporter<'a> {
    show: &'a ShowOptions,
    screen: &'a Screen,
    /// Whether standard output carries a message or a text, and reports go to standard error.
    is_stdout_taken: bool,
    /// Names certificates for people.
    name: &'a (dyn Fn(&Fingerprint) -> Option<String> + Sync),
}

impl<'a> Reporter<'a> {
    /// A reporter with these options.
    pub fn new(
        show: &'a ShowOptions,
        screen: &'a Screen,
        is_stdout_taken: bool,
        name: &'a (dyn Fn(&Fingerprint) -> Option<String> + Sync),
    ) -> Self {
        Self { show, screen, is_stdout_taken, name }
    }

    /// Prints the result for one file.
    fn done(&self, input: &str, output: Option<&str>, done: &Done) -> Result<(), Failure> {
        let Done { summary, signatures_in } = done;
        if self.show.json {
            return self.print_json(&FileReport::new(input, output, summary));
        }
        if !self.show.quiet {
            let line = summary::line(summary, signatures_in.as_deref());
            let mut verdicts = summary::signatures(&summary.signatures, self.name);
            // An opened message's form comes first, or a verified message's verdict.
            let (first, rest) = match summary.form {
                None if !verdicts.is_empty() => {
                    (verdicts.remove(0), verdicts.into_iter().chain([line]).collect())
                }
                _ => (line, verdicts),
            };
            let arrow = output.map_or_else(String::new, |output| format!(" -> {output}"));
            self.screen.say(&format!("{input}{arrow}: {first}"));
            for line in rest {
                self.screen.say(&format!("  {line}"));
            }
        }
        if self.show.verbose {
            self.screen.say(summary::table(summary).trim_end());
        }
        Ok(())
    }

    /// Prints why one of several files failed.
    fn failed(&self, input: &str, failure: &Failure) -> Result<(), Failure> {
        if self.show.json {
            self.print_json(&FailureReport::new(input, failure))?;
        }
        self.screen.say(&format!("cryptand: {failure}"));
        Ok(())
    }

    fn print_json(&self, value: &impl serde::Serialize) -> Result<(), Failure> {
        if self.is_stdout_taken {
            self.screen.say(&json(value)?);
            return Ok(());
        }
        self.screen.aside(|| print_json(value))
    }
}

/// Works on every pair. If several pairs are given, each failure is printed and the work continues. `work` is told
/// whether other pairs run beside it; it should then keep to its own thread.
pub fn run(
    pairs: &[Pair],
    threads: usize,
    reporter: &Reporter<'_>,
    interrupted: &AtomicBool,
    work: impl Fn(&Pair, bool) -> Result<Done, Failure> + Sync,
) -> Result<(), Failure> {
    if let [pair] = pairs {
        let outcome = work(pair, false);
        reporter.screen.clear();
        return match outcome {
            Ok(done) => reporter.done(&pair.name(), pair.output().as_deref(), &done),
            // A signal at a prompt looks like a missing answer.
            Err(_) if interrupted.load(Ordering::Relaxed) => Err(PgpFailure::Interrupted.into()),
            Err(failure) => {
                if reporter.show.json {
                    reporter.print_json(&FailureReport::new(&pair.name(), &failure))?;
                }
                Err(failure)
            }
        };
    }
    let are_small = pairs.len() >= FILES_MIN && bytes_of(pairs) / pairs.len() as u64 <= SMALL_BYTES_MAX;
    let workers = if are_small { threads.clamp(1, pairs.len()) } else { 1 };
    let next = AtomicUsize::new(0);
    let codes = Mutex::new(Vec::new());
    let broken = Mutex::new(None);
    let one = || {
        while let Some(pair) = pairs.get(next.fetch_add(1, Ordering::Relaxed)) {
            if interrupted.load(Ordering::Relaxed) {
                return;
            }
            let told = match work(pair, workers > 1) {
                Ok(done) => reporter.done(&pair.name(), pair.output().as_deref(), &done),
                Err(failure) => {
                    codes.lock().unwrap_or_else(PoisonError::into_inner).push(failure.exit_code());
                    reporter.failed(&pair.name(), &failure)
                }
            };
            if let Err(failure) = told {
                // Nobody reads the reports any more: the remaining files are skipped.
                next.store(pairs.len(), Ordering::Relaxed);
                *broken.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..workers {
            // Where this user may have no more threads, there are fewer.
            if std::thread::Builder::new().spawn_scoped(scope, one).is_err() {
                break;
            }
        }
        one();
    });
    reporter.screen.clear();
    if interrupted.load(Ordering::Relaxed) {
        return Err(PgpFailure::Interrupted.into());
    }
    if let Some(failure) = broken.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(failure);
    }
    let codes = codes.into_inner().unwrap_or_else(PoisonError::into_inner);
    match codes.first() {
        None => Ok(()),
        Some(first) => {
            let exit_code = if codes.iter().all(|code| code == first) { *first } else { 1 };
            Err(PgpFailure::Several { failed_count: codes.len(), count: pairs.len(), exit_code }.into())
        }
    }
}

/// Input bytes of all pairs, as far as they are known.
pub fn bytes_of(pairs: &[Pair]) -> u64 {
    let length = |pair: &Pair| pair.input.as_ref()?.metadata().ok().map(|metadata| metadata.len());
    pairs.iter().filter_map(length).sum()
}
