//! The counts that a card writes on its status page.

use crate::{Facility, FacilityError, Selection};
use link::{Counter, StatusView};
use wire::control::CardState;
use wire::verb::null;

/// What a card has done since its process began. The card writes these words of its page one by one, so they are not
/// read at one instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CardCounters {
    /// Generation of the card's process: counts of different generations do not compare.
    pub generation: u64,
    /// State of the card; none if the page holds an unknown state.
    pub state: Option<CardState>,
    /// Requests taken and not answered.
    pub queue_length: u64,
    /// Requests answered.
    pub requests: u64,
    /// Batches run.
    pub batches: u64,
    /// Time spent on batches, in nanoseconds.
    pub busy_ns: u64,
    /// Sweeps over the queues.
    pub polls: u64,
    /// Times that it went to sleep.
    pub sleeps: u64,
    /// Times that its doorbell woke it.
    pub wakeups: u64,
    /// Requests refused before they ran.
    pub refused: u64,
    /// Queues ended because their client broke the rules.
    pub offences: u64,
    /// Payload bytes taken in.
    pub bytes_in: u64,
    /// Payload bytes given out.
    pub bytes_out: u64,
}

impl CardCounters {
    pub(crate) fn read(page: &StatusView) -> Self {
        Self {
            generation: page.generation(),
            state: Some(page.state()),
            queue_length: page.queue_length(),
            requests: page.count(Counter::Requests),
            batches: page.count(Counter::Batches),
            busy_ns: link::tsc_to_ns(page.count(Counter::BusyTsc)),
            polls: page.count(Counter::Polls),
            sleeps: page.count(Counter::Sleeps),
            wakeups: page.count(Counter::Wakeups),
            refused: page.count(Counter::Refused),
            offences: page.count(Counter::Offences),
            bytes_in: page.count(Counter::BytesIn),
            bytes_out: page.count(Counter::BytesOut),
        }
    }
}

impl Facility {
    /// Counters of a card. Attaches a queue to it at first use.
    ///
    /// # Errors
    /// As [`Facility::call`], where the card cannot be attached to.
    pub fn counters(&self, card: u32) -> Result<CardCounters, FacilityError> {
        let pool = &self.state().shares.own().pool;
        if let Some(counters) = pool.look_at(card, CardCounters::read) {
            return Ok(counters);
        }
        let _ = self.with_selection(Selection::card(card)).ask(0, &null::Ask::new())?;
        // The queue may be lost again by now; then there is nothing to be read.
        Ok(pool.look_at(card, CardCounters::read).unwrap_or_default())
    }
}
