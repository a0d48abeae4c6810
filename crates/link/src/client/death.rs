//! Queues that are of no more use: their card is dead, has ended them or broke the rules, or they
//! are the parent's.

use super::Inner;
use crate::error::{LinkError, Violation};
use crate::process::PidFd;
use crate::world;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};
use wire::bounds::LIVENESS_WAIT_NS;

const LIVENESS_WAIT: Duration = Duration::from_nanos(LIVENESS_WAIT_NS);

impl Inner {
    #[inline]
    pub(super) fn check(&self) -> Result<(), LinkError> {
        if !self.request.is_present() {
            return Err(LinkError::Forked);
        }
        if self.is_broken.load(Ordering::Acquire)
            && let Some(violation) = *world::lock(&self.broken)
        {
            return Err(LinkError::Violation(violation));
        }
        if self.dead.load(Ordering::Relaxed) { Err(LinkError::Dead) } else { Ok(()) }
    }

    pub(super) fn is_dead(&self) -> bool {
        if self.dead.load(Ordering::Relaxed) {
            return true;
        }
        let Some(pidfd) = self.pidfd() else { return true };
        let ended = self.reply.load(self.layout.ended()) != 0;
        fence(Ordering::Acquire);
        let dead = ended || pidfd.is_dead();
        if dead {
            self.dead.store(true, Ordering::Relaxed);
        }
        dead
    }

    pub(super) fn pidfd(&self) -> Option<&PidFd> {
        self.request.is_present().then_some(&self.pidfd)
    }

    /// In a child of fork, for a queue that is never dropped: closes its descriptors, once.
    pub(super) fn close(&self) {
        if self.is_closed.swap(true, Ordering::Relaxed) {
            return;
        }
        for descriptor in [self.doorbell.as_raw_fd(), self.pidfd.as_fd().as_raw_fd()] {
            // SAFETY: the descriptors are the queue's own, which nobody uses where its memory is absent, and the
            // queue, which would close them, is not dropped.
            drop(unsafe { OwnedFd::from_raw_fd(descriptor) });
        }
    }

    pub(super) fn break_off(&self, violation: Violation) -> LinkError {
        let mut broken = world::lock(&self.broken);
        let first = *broken.get_or_insert(violation);
        self.is_broken.store(true, Ordering::Release);
        LinkError::Violation(first)
    }
}

/// When to look at the pidfd again. By the clock, so that a process whose sleeps are all cut short
/// by a busy interval timer notices a death as well.
pub(super) struct Liveness {
    next: Instant,
}

impl Liveness {
    pub fn new() -> Self {
        Self { next: world::now() + LIVENESS_WAIT }
    }

    pub fn is_due(&mut self) -> bool {
        let now = world::now();
        let due = now >= self.next;
        if due {
            self.next = now + LIVENESS_WAIT;
        }
        due
    }
}

/// The time left until the deadline; `None` without a deadline.
pub(super) fn span_of(deadline: Option<Instant>) -> Option<Duration> {
    deadline.map(|deadline| deadline.saturating_duration_since(world::now()))
}

/// How long to sleep before looking again: until the deadline, and no longer than [`LIVENESS_WAIT`].
/// `None` after the deadline.
pub(super) fn span_until(deadline: Option<Instant>) -> Option<Duration> {
    match span_of(deadline) {
        Some(Duration::ZERO) => None,
        Some(left) => Some(left.min(LIVENESS_WAIT)),
        None => Some(LIVENESS_WAIT),
    }
}
