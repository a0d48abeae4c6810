//! Yielding to a client that shares this processor.
//!
//! A card that is woken by the first of several requests takes the processor from its client before the others are
//! sent, and would run them one by one: each pass as long as a full one. So before a long pass that could
//! be fuller, a card whose client is awake on this processor sleeps a sixteenth of that pass. A client that has
//! sent everything is asleep by then, and costs nothing. If sleeping brought nothing several times, it is
//! tried ever more rarely, so that a program with one request at a time pays next to nothing.

use super::{Server, There};
use crate::attached::Tier;
use link::world;
use rustix::time::Timespec;

/// The sleep is the duration of the pass that would begin, divided by this.
const SHARE: u64 = 16;
/// Upper bound of the sleep, in nanoseconds.
const SLEEP_NS_MAX: u64 = 200_000;
/// Lower bound of the sleep, in nanoseconds: a shorter sleep saves less than the two switches cost.
const SLEEP_NS_MIN: u64 = 10_000;
/// Upper bound of the sleeps in vain that count: after n of them the next sleep is made at one of 2^n occasions.
const MISSES_MAX: u32 = 6;

/// Whether sleeping has brought requests of late.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Habit {
    /// Sleeps in vain since the last sleep that brought requests, at most [`MISSES_MAX`].
    misses: u32,
    /// Number of occasions that are still to be passed over.
    skip: u32,
}

impl Habit {
    /// Counts an occasion, and returns whether to sleep.
    fn tries(&mut self) -> bool {
        let tries = self.skip == 0;
        self.skip = self.skip.saturating_sub(1);
        tries
    }

    /// Notes whether the sleep brought requests.
    fn saw(&mut self, brought: bool) {
        self.misses = if brought { 0 } else { (self.misses + 1).min(MISSES_MAX) };
        self.skip = (1 << self.misses) - 1;
    }
}

impl Server {
    /// Sleeps once if a client that is awake on this processor may bring more requests for the long pass that would
    /// begin. Returns the requests that are there then.
    pub(super) fn stand_aside(&mut self, there: There) -> There {
        let few = there.of(Tier::Cheap) == 0 && there.of(Tier::Dear) < self.lanes_there();
        if !few || !self.client_is_here() || !self.pacing.habit.tries() {
            return there;
        }
        let span = (self.longest_ns(usize::MAX) / SHARE).min(SLEEP_NS_MAX);
        if span < SLEEP_NS_MIN {
            return there;
        }
        let span = Timespec { tv_sec: 0, tv_nsec: span as _ };
        // An interruption ends the sleep early, and nothing else can go wrong.
        let _ = world::poll(&mut [], Some(&span));
        let after = self.sweep();
        self.pacing.habit.saw(after.all() > there.all());
        after
    }

    /// Whether a client with requests is awake on this processor.
    fn client_is_here(&self) -> bool {
        let is_here = |index: &usize| {
            let queue = &self.queues[*index].queue;
            !queue.client_is_elsewhere() && !queue.client_is_asleep()
        };
        self.collecting.active.iter().any(is_here)
    }

    /// The largest number of lanes among the kinds that wait first in a queue.
    fn lanes_there(&self) -> usize {
        let lanes = |index: &usize| {
            let attached = &self.queues[*index];
            let kind = attached.next(Tier::Dear, None).and_then(|slot| attached.dear_kind(slot));
            kind.map_or(1, |kind| self.accounting.costs.lanes(kind))
        };
        self.collecting.active.iter().map(lanes).max().unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_brings_nothing_is_tried_ever_more_seldom_and_at_once_again_when_it_pays() {
        let mut habit = Habit::default();
        let sleeps = (0..1_000).filter(|_| habit.tries().then(|| habit.saw(false)).is_some()).count();
        assert!((15..=25).contains(&sleeps), "{sleeps}");
        while !habit.tries() {}
        habit.saw(true);
        assert!((0..100).all(|_| {
            let tries = habit.tries();
            habit.saw(true);
            tries
        }));
    }
}
