//! What a timed card does besides: it holds its answers until they are due.

use super::{Server, answer, header_of};
use crate::control::Control;
use crate::timing::{HeldAnswer, Timing};
use link::{Counter, Woken, tsc, tsc_to_ns};
use std::time::Duration;
use wire::code;
use wire::control::PollMode;
use wire::frame::ReplyHeader;
use zeroize::Zeroizing;

impl<T: Timing> Server<T> {
    /// Asks when the answers of the batch that begins may be seen.
    pub(super) fn set_due(&mut self, begin: u64) {
        if T::TIMED {
            let (timing, taken) = (&mut self.timing, &self.taken);
            self.due.clear();
            self.due.extend(taken.iter().map(|taken| timing.due(begin, taken.row).max(begin)));
        }
    }

    /// Holds the answers of the batch; `false` where a result was withheld because it failed its own check.
    pub(super) fn hold(&mut self, begin: u64) -> bool {
        let fill = self.taken.len() as u32;
        let mut sound = true;
        let taken = self.taken.iter().zip(&self.due);
        for (place, ((taken, due_tsc), reply)) in taken.zip(self.batch.answers()).enumerate() {
            self.records.answered(place, reply.payload.len());
            sound &= reply.codes != code::SELF_CHECK;
            self.held.hold(HeldAnswer {
                due_tsc: *due_tsc,
                queue: self.queues[taken.queue].grant.queue,
                slot: taken.slot,
                header: header_of(reply.outcome, reply.codes, fill, begin, *due_tsc),
                payload: Zeroizing::new(reply.payload.clone()),
            });
        }
        self.batch.clear();
        sound
    }

    /// Books a pass whose answers are held: a request costs its time over the number of those that are
    /// under way together, so that the costs of a card at work add up to the time that goes by. What clients
    /// read of a request is how soon a full card is done with it: by the former, a card that has few of them
    /// would seem slow, get fewer, and seem slower still.
    pub(super) fn account_held(&mut self, begin: u64) {
        let together = self.held.len().max(1) as u64;
        let (mut sum, mut longest) = (0, 0);
        for (taken, due) in self.taken.iter().zip(&self.due) {
            let span = due - begin;
            sum += span / together;
            longest = span.max(longest);
            let apart = match self.timing.spacing(taken.row) {
                0 => span / together,
                known => known,
            };
            self.status.add_services(taken.row, 1, tsc_to_ns(apart));
        }
        let bytes = self.records.held(begin, &self.due, together);
        self.count_bytes(bytes);
        self.costs.learn(&self.kinds, tsc_to_ns(sum));
        self.status.add(Counter::Batches, 1);
        self.status.add(Counter::FillSum, self.taken.len() as u64);
        self.status.add(Counter::BusyTsc, sum);
        self.pass_ns = tsc_to_ns(longest);
        self.limits.set_pass(self.pass_ns);
        self.status.set_pass(self.pass_ns);
    }

    /// Shows the answers that are due, with `there` requests waiting; returns how many more requests
    /// may be taken.
    pub(super) fn show_due(&mut self, there: usize) -> usize {
        if !T::TIMED {
            return usize::MAX;
        }
        let now = tsc();
        if self.show_until(now) {
            self.status.set_queue_length((there + self.held.len()) as u64);
        }
        self.timing.free(now)
    }

    /// Shows every answer at once: what was worked out is not lost to an order that comes before its time.
    pub fn show_all(&mut self) {
        if T::TIMED {
            self.show_until(u64::MAX);
        }
    }

    /// Drops the answers for a queue of this tenant that has ended.
    pub(super) fn forget_held(&mut self, queue: u64, tenant: usize) {
        if T::TIMED {
            for _ in 0..self.held.forget_queue(queue) {
                self.limits.leave(tenant, tsc);
            }
        }
    }

    fn show_until(&mut self, until: u64) -> bool {
        let mut shown = 0;
        while let Some(held) = self.held.take_due(until) {
            let queue = self.queues.iter_mut().find(|attached| attached.grant.queue == held.queue);
            // Held answers go when their queue does.
            let Some(attached) = queue else { continue };
            let header = ReplyHeader { end_tsc: tsc(), ..held.header };
            answer(attached, held.slot, &header, &held.payload);
            attached.queue.wake();
            self.limits.leave(attached.tenant, tsc);
            shown += 1;
        }
        self.status.add(Counter::Requests, shown);
        shown != 0
    }

    /// Sleeps until an answer is due or there is something to do. Without a free lane the card does not
    /// say that it sleeps: a client that rang could not be served.
    pub(super) fn idle_holding(&mut self, control: &Control, room: usize) -> Woken {
        let due = self.held.next_due().unwrap_or(u64::MAX);
        let until = if room == 0 { due.min(self.timing.free_at()) } else { due };
        let left = Duration::from_nanos(tsc_to_ns(until.saturating_sub(tsc()))).min(control.sleep_max());
        if room == 0 {
            return Woken { extra: u64::from(control.wait(left)), ..Woken::default() };
        }
        let poll = match self.start.poll {
            every @ PollMode::Every { .. } => every,
            _ => PollMode::Sleep,
        };
        let left = left.min(self.until_wake(control.sleep_max()));
        let pending = || self.has_news();
        let (extra, count) = control.descriptors();
        let woken = self.doorbell.wait(&self.status, poll, false, &extra[..count], Some(left), pending);
        woken.unwrap_or(Woken { work: true, rung: false, extra: 1 })
    }
}
