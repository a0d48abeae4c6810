//! Waiting until the first of several requests is answered, on any queues and cards.
//!
//! A card counts its rounds: how often it answered requests of a queue, one or many at once. One
//! system call waits on the rounds of up to [`WATCHED_MAX`] queues. So a thread with many requests
//! in flight is woken by the first card that answers, and once for all requests that were answered
//! together.

use super::death::span_until;
use super::{ClientQueue, InFlight, Inner};
use crate::clock::{ns_to_tsc, tsc};
use crate::error::LinkError;
use crate::protocol;
use crate::world;
use rustix::io::Errno;
use rustix::thread::futex;
use rustix::time::{ClockId, Timespec};
use std::time::{Duration, Instant};

/// At most this many queues are watched by one sleep: the kernel's limit.
const WATCHED_MAX: usize = 128;
/// How long to sleep if some queue cannot be watched.
const UNWATCHED_WAIT: Duration = Duration::from_micros(100);

/// Spins for the first answer, as [`wire::control::PollMode::Adaptive`] does. It does not spin if a
/// card that works for one of them runs on this processor. Nor does it if no card is awake, all
/// have long passes, or spinning was in vain lately. True if one of the requests is over
/// ([`InFlight::is_over`]). Requests that were collected are skipped.
pub fn spin_until_any<'a>(requests: impl Iterator<Item = &'a InFlight> + Clone) -> bool {
    let watched = || requests.clone().filter(|request| !request.collected.get());
    let bounds = watched().map(|request| (&*request.inner, request.awake));
    spin(bounds, || watched().any(InFlight::is_over))
}

/// As [`spin_until_any`], for the answers that `is_answered` looks for on these queues.
pub fn spin_until_answer<'a>(
    queues: impl Iterator<Item = &'a ClientQueue>,
    is_answered: impl Fn() -> bool,
) -> bool {
    spin(queues.map(|queue| (&*queue.inner, false)), is_answered)
}

fn spin<'a>(queues: impl Iterator<Item = (&'a Inner, bool)>, is_over: impl Fn() -> bool) -> bool {
    if is_over() {
        return true;
    }
    let mut longest = None;
    let mut last = std::ptr::null();
    for (inner, awake) in queues {
        if std::ptr::eq(inner, last) {
            continue;
        }
        last = inner;
        match inner.spin_bound(awake) {
            Some(bound) if longest.is_none_or(|(longest, _)| bound > longest) => {
                longest = Some((bound, inner));
            }
            None if !inner.card_is_elsewhere() && !inner.status.is_asleep() => return false,
            _ => {}
        }
    }
    let Some((bound, inner)) = longest.filter(|(_, inner)| inner.spinning_pays()) else { return false };
    let begin = tsc();
    let bound = ns_to_tsc(bound.as_nanos() as u64);
    let seen = loop {
        if is_over() {
            break true;
        }
        if tsc().wrapping_sub(begin) >= bound {
            break false;
        }
        std::hint::spin_loop();
    };
    inner.learn(seen);
    seen
}

/// Sleeps until one of these requests is answered, the deadline has passed, or it is time to check
/// that their cards live ([`wire::bounds::LIVENESS_WAIT_NS`]). The sleep may also end without a
/// cause: check all requests afterwards. Requests that were collected are skipped.
///
/// # Errors
/// [`LinkError::Forked`], or [`LinkError::Violation`] of one of the queues.
pub fn sleep_until_any<'a>(
    requests: impl Iterator<Item = &'a InFlight> + Clone,
    deadline: Option<Instant>,
) -> Result<(), LinkError> {
    let watched = || requests.clone().filter(|request| !request.collected.get());
    let look = || {
        let mut looked = watched().map(|request| request.inner.is_answered(request));
        looked.find(|look| *look != Ok(false)).unwrap_or(Ok(false))
    };
    watch(watched().map(|request| &*request.inner), look, deadline)
}

/// As [`sleep_until_any`], for the answers that `is_answered` looks for on these queues.
///
/// # Errors
/// [`LinkError::Forked`].
pub fn sleep_until_answer<'a>(
    queues: impl Iterator<Item = &'a ClientQueue>,
    is_answered: impl Fn() -> bool,
    deadline: Option<Instant>,
) -> Result<(), LinkError> {
    watch(queues.map(|queue| &*queue.inner), || Ok(is_answered()), deadline)
}

fn watch<'a>(
    inners: impl Iterator<Item = &'a Inner>,
    look: impl Fn() -> Result<bool, LinkError>,
    deadline: Option<Instant>,
) -> Result<(), LinkError> {
    let mut queues: [Option<&Inner>; WATCHED_MAX] = [None; WATCHED_MAX];
    let mut waiters = [futex::Wait::new(); WATCHED_MAX];
    let mut count = 0;
    let mut is_all = true;
    let mut looked = Ok(false);
    let mut last = std::ptr::null();
    for inner in inners {
        if !inner.request.is_present() {
            looked = Err(LinkError::Forked);
            break;
        }
        let is_known = |other: &Option<&Inner>| other.is_some_and(|other| std::ptr::eq(other, inner));
        if std::ptr::eq(last, inner) || queues[..count].iter().any(is_known) {
            continue;
        }
        if count == WATCHED_MAX {
            is_all = false;
            break;
        }
        last = inner;
        protocol::join_crowd(inner.request.writable(inner.layout.crowd()));
        let word = inner.layout.rounds();
        let before = protocol::look(inner.reply.word(word));
        let waiter = &mut waiters[count];
        waiter.val = u64::from(before as u32);
        waiter.uaddr = futex::WaitPtr::new(inner.reply.futex(word).as_ptr().cast());
        waiter.flags = futex::WaitFlags::SIZE_U32;
        queues[count] = Some(inner);
        count += 1;
    }
    if looked == Ok(false) {
        // The rounds were read before: an answer that is not seen here ends a later round.
        looked = look();
    }
    if looked == Ok(false)
        && count > 0
        && let Some(span) = span_until(deadline)
    {
        sleep(&waiters[..count], if is_all { span } else { span.min(UNWATCHED_WAIT) });
    }
    for inner in queues[..count].iter().flatten() {
        protocol::leave_crowd(inner.request.writable(inner.layout.crowd()));
    }
    looked.map(|_| ())
}

fn sleep(waiters: &[futex::Wait], span: Duration) {
    if world::futex_wait_any(waiters, span) {
        return;
    }
    let now = rustix::time::clock_gettime(ClockId::Monotonic);
    let nanoseconds = now.tv_nsec + i64::from(span.subsec_nanos());
    let until = Timespec {
        tv_sec: now.tv_sec.saturating_add(span.as_secs() as i64) + nanoseconds / 1_000_000_000,
        tv_nsec: nanoseconds % 1_000_000_000,
    };
    // Woken, changed since, interrupted or timed out: the caller checks again in any case.
    let slept = futex::waitv(waiters, futex::WaitvFlags::empty(), Some(&until), ClockId::Monotonic);
    if matches!(slept, Err(Errno::NOSYS | Errno::PERM)) {
        // A kernel before 5.16, or a sandbox without the call.
        world::sleep(span.min(UNWATCHED_WAIT));
    }
}
