//! The queues whose requests are in the running pass, by number. This record outlives the card.
//!
//! A card records a queue before it examines any of its requests, and clears the roster when the
//! pass is over. If the card has died, the holder of the samples reads in the roster whose requests
//! were in the pass. Only the card's thread that runs the pass writes it; a request can change it
//! only by taking over the card.

use super::{PAGE_BYTES, ROSTER, Samples, SamplesView};
use std::sync::atomic::{Ordering, fence};

/// At most this many queues are named; for a pass with more, the roster only says that there were
/// more.
pub const ROSTER_MAX: usize = PAGE_BYTES / 8 - 1;

const QUEUES: usize = ROSTER + 8;

/// The content of a roster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roster {
    /// The queues, each once, in the order in which the pass took requests from them.
    pub queues: Vec<u64>,
    /// Whether the pass had more queues than the roster names.
    pub has_more: bool,
}

impl Samples {
    /// Records that requests of this queue are in the pass from now on, as the `at`th queue of the
    /// pass.
    #[inline]
    pub fn enroll(&self, at: usize, queue: u64) {
        if at < ROSTER_MAX {
            self.mapping.store(QUEUES + at * 8, queue);
        }
        self.mapping.store(ROSTER, at as u64 + 1);
        // The code after this may end this process: the compiler must not move it before the
        // stores.
        fence(Ordering::Release);
    }

    /// Records that the pass is over.
    #[inline]
    pub fn dismiss(&self) {
        fence(Ordering::Release);
        self.mapping.store(ROSTER, 0);
    }
}

impl SamplesView {
    /// The queues whose requests the card holds, or held when it died. Any content is read without
    /// harm.
    pub fn roster(&self) -> Roster {
        let count = usize::try_from(self.mapping.load(ROSTER)).unwrap_or(usize::MAX);
        let mut queues = Vec::new();
        for at in 0..count.min(ROSTER_MAX) {
            let queue = self.mapping.load(QUEUES + at * 8);
            if !queues.contains(&queue) {
                queues.push(queue);
            }
        }
        Roster { queues, has_more: count > ROSTER_MAX }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn what_the_pass_holds_is_read_until_it_is_over() {
        let fd = Samples::create(1).unwrap();
        let reader = Samples::read_only(fd.as_fd()).unwrap();
        let (samples, view) =
            (Samples::join(fd.as_fd()).unwrap(), SamplesView::join(reader.as_fd()).unwrap());
        assert_eq!(view.roster(), Roster::default());
        for (at, queue) in [7, u64::MAX, 9].into_iter().enumerate() {
            samples.enroll(at, queue);
        }
        assert_eq!(view.roster(), Roster { queues: vec![7, u64::MAX, 9], has_more: false });
        // The card's end may be gone.
        drop(samples);
        assert_eq!(view.roster().queues.len(), 3);
        let samples = Samples::join(fd.as_fd()).unwrap();
        samples.dismiss();
        assert_eq!(view.roster(), Roster::default());
        samples.enroll(0, 4);
        assert_eq!(view.roster().queues, [4]);
    }

    #[test]
    fn more_queues_than_there_is_room_for_are_more() {
        let fd = Samples::create(1).unwrap();
        let samples = Samples::join(fd.as_fd()).unwrap();
        let view = SamplesView::join(Samples::read_only(fd.as_fd()).unwrap().as_fd()).unwrap();
        (0..ROSTER_MAX).for_each(|at| samples.enroll(at, at as u64));
        assert!(!view.roster().has_more);
        samples.enroll(ROSTER_MAX, 5);
        let roster = view.roster();
        assert_eq!((roster.queues.len(), roster.has_more), (ROSTER_MAX, true));
        samples.mapping.store(ROSTER, u64::MAX);
        assert!(view.roster().has_more);
    }
}
