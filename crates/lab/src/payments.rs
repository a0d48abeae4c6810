//! `make bench`, the part on payments: what one card does with 64 requests outstanding, beside open packages that
//! compute the same cases with clear keys on one core; one request alone; two cards; and where the time of a request
//! goes.
//!
//! - [`packages`]: the packages, as processes that are told cases. [`rates`]: the operations, beside them.
//! - [`alone`]: one request at a time, and two cards. [`passes`]: the steps of a batch, by a program that runs them in
//!   process.
//!
//! Sides run in turn, and every answer is compared: those of the card with what it must say, those of the packages with
//! the card's.

mod alone;
mod packages;
mod passes;
mod rates;

use crate::cards::own;
use crate::experiment::promise::{Measure, Options, Part};
use crate::load::LabError;
use crate::load::target::{Needs, Target};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) use passes::UNIT as PASS_UNIT;
pub(crate) use rates::{TRANSLATE, UNIT as RATE_UNIT};

/// A side works this many times as long as a side of an engine row.
const LONGER: f64 = 5.0;
/// Requests outstanding.
const JOBS: usize = 64;

/// Rounds and seconds with which rows are measured.
#[derive(Clone, Copy, Debug)]
struct Effort<'a> {
    rounds: usize,
    /// Seconds that each side works in a round.
    seconds: f64,
    stop: &'a Arc<AtomicBool>,
}

impl Effort<'_> {
    fn go_on(&self) -> Result<(), LabError> {
        if self.stop.load(Ordering::Relaxed) { Err(LabError::Interrupted) } else { Ok(()) }
    }
}

/// Measures the rows that match the filter; `progress` is told the name of the next.
///
/// # Errors
/// [`LabError`] where a card or a package answers wrongly or fails; [`LabError::Interrupted`].
pub fn run(
    options: &Options,
    stop: &Arc<AtomicBool>,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Measure>, LabError> {
    let effort = Effort { rounds: options.rounds.max(1), seconds: seconds(options), stop };
    let mut rows = Vec::new();
    let mut taken = passes::Taken::default();
    let wanted: Vec<_> = rates::rows().filter(|row| options.wants(&row.case)).collect();
    let is_alone = options.wants(alone::ALONE_RUST) || options.wants(alone::ALONE_PYTHON);
    if !wanted.is_empty() || is_alone {
        progress("payments: one card");
        // Card and caller are each bound to a processor of its own if the machine has two; packages run on the card's.
        let needs = Needs { processor: own(1), ..Needs::default() };
        let mut target = Target::throwaway(&needs, Arc::clone(stop))?;
        if !wanted.is_empty() {
            rows.extend(rates::run(&wanted, &mut target, effort, &mut taken, progress)?);
        }
        if is_alone {
            progress(alone::ALONE_RUST);
            rows.extend(alone::one(&mut target, effort)?);
        }
    }
    if options.wants(alone::TWO_CARDS) {
        progress(alone::TWO_CARDS);
        rows.push(alone::two_cards(effort)?);
    }
    if options.wants(passes::GROUP) {
        progress(passes::GROUP);
        rows.extend(passes::run(effort, &taken)?);
    }
    rows.iter_mut().for_each(|row| row.part = Part::Payments);
    Ok(rows)
}

pub(crate) fn seconds(options: &Options) -> f64 {
    options.seconds * LONGER
}

/// The text above the rates.
pub(crate) const REMARK: &str = "One card with 64 requests outstanding, each under keys of its own; caller and card bound to a processor each. Sides run \
     in turn. Beside it stand other people's packages on the card's processor, one thread, the same cases with keys in the \
     clear, prepared before (jPOS holds them under master keys of its own, in its process). Their answers are compared with \
     the card's, in each round. AES DUKPT has no package that could be installed. Published: two cards of 2005.";

/// The text above the rows of one request and of two cards.
pub(crate) const REMARK_ALONE: &str = "## One request alone, and two cards\n\nThe caller has a processor of its own, where there are two. Two cards and their \
     caller share those of the machine.";

/// The text above the steps.
pub(crate) const REMARK_PASSES: &str = "## Time per pass\n\nThe verbs in process (`crates/cca/examples/pin_passes.rs`), on one processor, in batches of 64 \
     requests with keys of their own, and of one, in the median of the batches. A pass is each step with the name of what is \
     computed; the others are code between the passes. The last rows are what a card's processor takes for a request beyond \
     these steps, with 64 outstanding: to take requests out of queues, check their rights and copy tokens and answers, and \
     to wait for the caller.";
