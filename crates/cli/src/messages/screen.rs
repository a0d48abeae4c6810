//! Output during the work: a progress bar with rate and time left, and lines that must not disturb it.

use super::narrow::Narrow;
use indicatif::{DecimalBytes, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use keyring::store::printable_lines;
use pipeline::Progress;
use std::fmt;
use std::io::{IsTerminal, stderr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time before the bar appears: shorter work shows no bar.
const PATIENCE: Duration = Duration::from_millis(400);

/// Upper bound of drawings of the bar per second.
const DRAWN_HERTZ: u8 = 20;

/// The progress bar, if one is shown, and the lines above it; one for all files of a command.
pub struct Screen {
    is_shown: bool,
    begin: Instant,
    bytes_done: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Input bytes of all files; none if unknown.
    bytes_total: Option<u64>,
    /// Whether the total covers all files, rather than the current one.
    is_total_fixed: bool,
    bar: Option<ProgressBar>,
}

impl Screen {
    /// The bar is shown on a terminal, unless `quiet`. `bytes_total` is the sum of several files; none for one file,
    /// whose length the pipeline reports.
    pub fn new(quiet: bool, bytes_total: Option<u64>) -> Self {
        let state = State { bytes_total, is_total_fixed: bytes_total.is_some(), bar: None };
        Self {
            is_shown: !quiet && stderr().is_terminal(),
            begin: Instant::now(),
            bytes_done: AtomicU64::new(0),
            state: Mutex::new(state),
        }
    }

    /// A line on standard error, above the bar. Names of files, which others may have given, do not steer the terminal.
    pub fn say(&self, line: &str) {
        let line = printable_lines(line);
        self.aside(|| eprintln!("{line}"));
    }

    /// Runs `work` with the terminal while the bar is hidden.
    pub fn aside<T>(&self, work: impl FnOnce() -> T) -> T {
        let bar = self.state().bar.clone();
        match bar {
            Some(bar) => bar.suspend(work),
            None => work(),
        }
    }

    /// A progress that drops warnings, for callers that handle their causes.
    pub fn without_warnings(&self) -> WithoutWarnings<'_> {
        WithoutWarnings(self)
    }

    /// Removes the bar.
    pub fn clear(&self) {
        if let Some(bar) = self.state().bar.take() {
            bar.finish_and_clear();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn show(&self, done: u64) {
        let mut state = self.state();
        let total = state.bytes_total;
        let bar = state.bar.get_or_insert_with(|| bar(total, self.begin.elapsed()));
        bar.set_position(done);
    }
}

/// A screen that drops warnings.
pub struct WithoutWarnings<'a>(&'a Screen);

impl Progress for WithoutWarnings<'_> {
    fn begin(&self, total: Option<u64>) {
        self.0.begin(total);
    }

    fn advance(&self, bytes: u64) {
        self.0.advance(bytes);
    }

    fn warn(&self, _text: &str) {}
}

impl Progress for Screen {
    fn begin(&self, total: Option<u64>) {
        let mut state = self.state();
        if !state.is_total_fixed {
            state.bytes_total = total;
        }
    }

    fn advance(&self, bytes: u64) {
        let done = self.bytes_done.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if self.is_shown && self.begin.elapsed() >= PATIENCE {
            self.show(done);
        }
    }

    fn warn(&self, text: &str) {
        self.say(&format!("cryptand: warning: {text}"));
    }
}

fn bar(total: Option<u64>, elapsed: Duration) -> ProgressBar {
    let bar = total.map_or_else(ProgressBar::no_length, ProgressBar::new).with_elapsed(elapsed);
    bar.set_draw_target(ProgressDrawTarget::term_like_with_hz(Box::new(Narrow), DRAWN_HERTZ));
    let template = if total.is_some() { TEMPLATE } else { TEMPLATE_ENDLESS };
    // The templates are ours and sound; the library's own look is no reason to fail.
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    // Average over the whole time: an estimate from the first steps of a late bar would be useless.
    let rate = |state: &ProgressState, out: &mut dyn fmt::Write| {
        let _ = write!(out, "{}/s", DecimalBytes(rate_of(state.pos(), state.elapsed()) as u64));
    };
    let left = |state: &ProgressState, out: &mut dyn fmt::Write| {
        let rate = rate_of(state.pos(), state.elapsed());
        let bytes = state.len().unwrap_or_default().saturating_sub(state.pos());
        if rate > 0.0 {
            let _ = write!(
                out,
                "{}",
                HumanDuration(Duration::from_secs_f64((bytes as f64 / rate).min(SECONDS_MAX)))
            );
        }
    };
    bar.with_style(style.with_key("rate", rate).with_key("left", left))
}

fn rate_of(bytes: u64, elapsed: Duration) -> f64 {
    bytes as f64 / elapsed.as_secs_f64().max(1e-3)
}

const TEMPLATE: &str = "{wide_bar} {decimal_bytes} of {decimal_total_bytes}, {rate}, {left} left";
const TEMPLATE_ENDLESS: &str = "{spinner} {decimal_bytes}, {rate}, {elapsed}";
/// Longest remaining time that is shown: a century, in seconds.
const SECONDS_MAX: f64 = 3.2e9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_sound_and_a_fixed_total_stays() {
        for total in [None, Some(5)] {
            let _ = bar(total, Duration::ZERO);
        }
        for template in [TEMPLATE, TEMPLATE_ENDLESS] {
            assert!(ProgressStyle::with_template(template).is_ok());
        }
        assert_eq!(rate_of(10_000, Duration::from_secs(2)), 5000.0);
        assert!(rate_of(u64::MAX, Duration::ZERO).is_finite());
        let screen = Screen::new(true, Some(10));
        screen.begin(Some(3));
        assert_eq!(screen.state().bytes_total, Some(10));
        let screen = Screen::new(true, None);
        screen.begin(Some(3));
        assert_eq!(screen.state().bytes_total, Some(3));
        screen.advance(2);
        screen.advance(1);
        assert_eq!(screen.bytes_done.load(Ordering::Relaxed), 3);
        assert!(screen.state().bar.is_none(), "tests have no terminal to draw on");
    }
}
