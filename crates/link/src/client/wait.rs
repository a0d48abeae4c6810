//! Waiting for one reply: spinning, sleeping, or looking when a timer ticks.

use super::death::{Liveness, span_of, span_until};
use super::{ClientQueue, InFlight, Inner};
use crate::clock::{ns_to_tsc, tsc, tsc_to_ns};
use crate::doorbell::current_processor;
use crate::error::LinkError;
use crate::process::timespec;
use crate::protocol;
use crate::world;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use wire::bounds::LIVENESS_WAIT_NS;
use wire::control::PollMode;
use wire::frame::ReplyHeader;

/// How long a waiter that may spin polls for its reply before it sleeps, in nanoseconds: about the
/// cost of sleeping and being woken.
pub const CLIENT_SPIN_NS: u64 = 10_000;
/// Passes longer than this, in nanoseconds, are not worth spinning: clients sleep during such a
/// pass, and after it the card does not wait awake for its clients. Compared with the pass,
/// spinning would save little, and the client or another card may need the processor.
pub const PASS_SPIN_MAX_NS: u64 = 32_768;
/// After this many consecutive waits that spun in vain, a queue spins only in one wait of
/// [`SPIN_RETRY`].
const SPIN_MISSES_MAX: u32 = 4;
/// One wait in this many still spins: see [`SPIN_MISSES_MAX`].
const SPIN_RETRY: u32 = 16;
const CLIENT_SPIN: Duration = Duration::from_nanos(CLIENT_SPIN_NS);

impl ClientQueue {
    /// Waits for the reply as `mode` says, until the deadline; `None` waits for ever.
    ///
    /// # Errors
    /// [`LinkError::Dead`] if the card ended without a reply, [`LinkError::TimedOut`], or as
    /// [`ClientQueue::try_reply`].
    pub fn wait(
        &self,
        request: &InFlight,
        mode: PollMode,
        deadline: Option<Instant>,
        payload: &mut Vec<u8>,
    ) -> Result<ReplyHeader, LinkError> {
        // A timer looks when it ticks, and not earlier.
        if !matches!(mode, PollMode::Every { .. })
            && let Some(reply) = self.try_reply(request, payload)?
        {
            return Ok(reply);
        }
        let inner = &*self.inner;
        match mode {
            PollMode::Spin => {
                // Most answers come before the clock need be read for the time left.
                if !inner.spin(request, CLIENT_SPIN)? {
                    let bound = span_of(deadline).unwrap_or(Duration::MAX);
                    inner.spin(request, bound)?;
                }
            }
            PollMode::Adaptive => {
                if let Some(bound) = inner.spin_bound(request.awake).filter(|_| inner.spinning_pays()) {
                    let bound = bound.min(span_of(deadline).unwrap_or(Duration::MAX));
                    let seen = inner.spin(request, bound)?;
                    inner.learn(seen);
                }
            }
            PollMode::Sleep => {}
            PollMode::Every { interval_us } => {
                let interval = Duration::from_micros(u64::from(interval_us.max(1)));
                inner.look_every(request, interval, deadline)?;
            }
        }
        if let Some(reply) = self.try_reply(request, payload)? {
            return Ok(reply);
        }
        inner.sleep(request, deadline)?;
        // The card may have answered before it died, or before the deadline was noticed.
        match self.try_reply(request, payload)? {
            Some(reply) => Ok(reply),
            None if inner.is_dead() => Err(LinkError::Dead),
            None => Err(LinkError::TimedOut),
        }
    }
}

impl Inner {
    /// How long to spin for a reply before sleeping: two passes of the card and the cost of
    /// sleeping. `None` if the card was not `awake` at the submission and is asleep, runs on this
    /// processor, or makes long passes.
    pub(super) fn spin_bound(&self, awake: bool) -> Option<Duration> {
        let pass_ns = self.status.pass_ns();
        let spins =
            pass_ns <= PASS_SPIN_MAX_NS && (awake || !self.status.is_asleep()) && self.card_is_elsewhere();
        spins.then(|| Duration::from_nanos(CLIENT_SPIN_NS + 2 * pass_ns))
    }

    /// Whether spinning found an answer in the last waits; if not, one wait in [`SPIN_RETRY`] may
    /// still spin.
    pub(super) fn spinning_pays(&self) -> bool {
        let misses = self.spin_misses.load(Ordering::Relaxed);
        misses < SPIN_MISSES_MAX || {
            self.spin_misses.store(misses.wrapping_add(1).max(SPIN_MISSES_MAX), Ordering::Relaxed);
            misses.is_multiple_of(SPIN_RETRY)
        }
    }

    pub(super) fn learn(&self, seen: bool) {
        if seen {
            self.spin_misses.store(0, Ordering::Relaxed);
        } else {
            let misses = self.spin_misses.load(Ordering::Relaxed);
            self.spin_misses.store(misses.wrapping_add(1).max(1), Ordering::Relaxed);
        }
    }

    pub(super) fn card_is_elsewhere(&self) -> bool {
        match (self.status.processor(), current_processor()) {
            (Some(card), Some(here)) => card != here,
            _ => false,
        }
    }

    /// Polls for the reply without sleeping; true if it is there. Gives up after `bound`, or
    /// when the card is found dead.
    fn spin(&self, request: &InFlight, bound: Duration) -> Result<bool, LinkError> {
        let begin = tsc();
        let bound = ns_to_tsc(u64::try_from(bound.as_nanos()).unwrap_or(u64::MAX));
        let liveness = ns_to_tsc(LIVENESS_WAIT_NS);
        let mut next_look = liveness;
        loop {
            if self.is_answered(request)? {
                return Ok(true);
            }
            let spent = tsc().wrapping_sub(begin);
            if spent >= bound {
                return Ok(false);
            }
            if spent >= next_look {
                next_look = spent.saturating_add(liveness);
                if self.is_dead() {
                    return Ok(false);
                }
            }
            // Spins on the card's own processor, as the caller asked: at least lets the card run.
            // Checked now and then only.
            if spent & 0x3F == 0 && !self.card_is_elsewhere() {
                std::thread::yield_now();
            }
            std::hint::spin_loop();
        }
    }

    fn look_every(
        &self,
        request: &InFlight,
        interval: Duration,
        deadline: Option<Instant>,
    ) -> Result<(), LinkError> {
        let mut liveness = Liveness::new();
        loop {
            let tick = until_tick(interval);
            world::sleep(span_of(deadline).map_or(tick, |left| left.min(tick)));
            let is_late = span_of(deadline).is_some_and(|left| left.is_zero());
            if self.is_answered(request)? || is_late || (liveness.is_due() && self.is_dead()) {
                return Ok(());
            }
        }
    }

    /// Sleeps until the reply is there, the card is dead, or the deadline has passed.
    fn sleep(&self, request: &InFlight, deadline: Option<Instant>) -> Result<(), LinkError> {
        let waiting = self.request.writable(self.layout.waiting());
        let bit = 1 << request.slot;
        let word = self.layout.reply_word(request.slot);
        let mut liveness = Liveness::new();
        protocol::announce_wait(waiting, bit);
        world::step("announce wait");
        let slept = loop {
            let before = protocol::look(self.reply.word(word));
            match self.is_answered(request) {
                Ok(false) => {}
                Ok(true) => break Ok(()),
                Err(error) => break Err(error),
            }
            let Some(span) = span_until(deadline) else { break Ok(()) };
            // Returns at once if the word has changed since; whatever ended the sleep, the reply is
            // looked for again.
            world::futex_wait(self.reply.futex(word), before as u32, &timespec(span));
            if liveness.is_due() && self.is_dead() {
                break Ok(());
            }
        };
        protocol::announce_done(waiting, bit);
        slept
    }
}

/// Time until the timer of [`PollMode::Every`] with this interval ticks again. The ticks follow the
/// time-stamp counter, and are the same for all threads.
pub fn until_tick(interval: Duration) -> Duration {
    let interval_ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX).max(1);
    Duration::from_nanos(interval_ns - tsc_to_ns(tsc()) % interval_ns)
}
