//! Held answers in the request loop: which are held, and when they are released.

use super::{Server, Taken, answer};
use crate::control::Control;
use crate::held::{Held, HeldAnswer, Until, Waits};
use link::{Counter, Woken, tsc, tsc_to_ns};
use std::time::Duration;
use wire::control::PollMode;
use wire::frame::ReplyHeader;
use zeroize::Zeroizing;

/// The answers that a card holds, and the rules for that.
#[derive(Default)]
pub(super) struct Holding {
    /// The rules by which answers are held; `None` if there are none.
    rule: Option<Box<dyn Waits>>,
    held: Held,
    /// The conditions for the answers of the running batch, by place; empty if no answer waits.
    until: Vec<Until>,
    /// Number up to which failures of PINs are durable.
    recorded: u64,
}

impl Holding {
    pub(super) fn new(rule: Option<Box<dyn Waits>>) -> Self {
        Self { rule, ..Self::default() }
    }

    /// Number of held answers.
    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether the card stands for one that has lanes of its own, see [`Waits::has_own_lanes`].
    pub(super) fn has_own_lanes(&self) -> bool {
        self.rule.as_ref().is_some_and(|rule| rule.has_own_lanes())
    }

    /// Number of further requests that may be taken now.
    pub(super) fn room(&mut self, now: u64) -> usize {
        self.rule.as_mut().map_or(usize::MAX, |rule| rule.room(now))
    }

    /// Asks the rules for the conditions of the answers of the batch that begins.
    pub(super) fn decide(&mut self, begin: u64, taken: &[Taken]) {
        self.until.clear();
        if let Some(rule) = &mut self.rule {
            self.until.extend(taken.iter().map(|taken| rule.until(begin, taken.verb_slot)));
        }
    }

    /// The condition for the answer at this place of the batch.
    pub(super) fn until(&self, place: usize) -> Until {
        self.until.get(place).copied().unwrap_or(Until::Now)
    }

    /// Has the answer at this place of the batch wait for the record of this number.
    pub(super) fn record(&mut self, place: usize, number: u64) {
        if self.until.len() <= place {
            self.until.resize(place + 1, Until::Now);
        }
        self.until[place] = Until::Recorded(number);
    }

    /// When the answer at this place of a batch that began at `begin` is due, on a card with lanes of its own.
    pub(super) fn due(&self, place: usize, begin: u64) -> u64 {
        match self.until(place) {
            Until::Time(tsc) => tsc.max(begin),
            Until::Now | Until::Recorded(_) => begin,
        }
    }

    /// The time from one answer to the next ([`Waits::spacing`]); 0 without rules.
    pub(super) fn spacing(&self, slot: usize) -> u64 {
        self.rule.as_ref().map_or(0, |rule| rule.spacing(slot))
    }

    /// Whether a held answer's record is durable by now.
    pub(super) fn is_recorded(&self) -> bool {
        self.held.is_recorded(self.durable())
    }

    /// Number up to which records are durable, by the rules or by the daemon's word.
    fn durable(&self) -> u64 {
        self.rule.as_ref().map_or(0, |rule| rule.durable()).max(self.recorded)
    }

    /// Notes that records are durable up to this number, by the daemon's word.
    pub(super) fn recorded(&mut self, number: u64) {
        self.recorded = number.max(self.recorded);
    }

    pub(super) fn hold(&mut self, answer: HeldAnswer) {
        self.held.hold(answer);
    }
}

impl Server {
    /// Shows the answers that are due, with `there` requests waiting; returns how many more requests
    /// may be taken.
    pub(super) fn show_due(&mut self, there: usize) -> usize {
        if self.holding.rule.is_none() && self.holding.held.is_empty() {
            return usize::MAX;
        }
        let now = tsc();
        if self.show_until(now) {
            self.status.set_queue_length((there + self.holding.len()) as u64);
        }
        self.holding.room(now)
    }

    /// Shows every answer that waits for a time: an answer that was worked out is not lost to an order that comes
    /// before it is due. Answers that wait for a record go on waiting.
    pub fn show_all(&mut self) {
        self.show_until(u64::MAX);
    }

    /// Drops the answers for a queue of this tenant that has ended.
    pub(super) fn forget_held(&mut self, queue: u64, tenant: usize) {
        for _ in 0..self.holding.held.forget_queue(queue) {
            self.limits.leave(tenant, tsc);
        }
    }

    /// Holds the answer at a place of the batch until this condition is met.
    pub(super) fn hold(&mut self, place: usize, until: Until, header: ReplyHeader) {
        let (taken, reply) = (self.collecting.taken[place], &self.collecting.batch.answers()[place]);
        self.holding.hold(HeldAnswer {
            until,
            queue: self.queues[taken.queue].grant.queue,
            slot: taken.slot,
            header,
            payload: Zeroizing::new(reply.payload.clone()),
        });
    }

    fn show_until(&mut self, until: u64) -> bool {
        let mut shown = 0;
        let durable = self.holding.durable();
        while let Some(held) = self.holding.held.take_due(until, durable) {
            let queue = self.queues.iter_mut().find(|attached| attached.grant.queue == held.queue);
            // Held answers go when their queue does.
            let Some(attached) = queue else { continue };
            let header = ReplyHeader { end_tsc: tsc(), ..held.header };
            // As a secret, whatever the verb: a reply that nobody reports as collected is wiped when its slot is used
            // again.
            answer(attached, held.slot, &header, &held.payload, true);
            attached.queue.wake();
            self.limits.leave(attached.tenant, tsc);
            shown += 1;
        }
        self.status.add(Counter::Requests, shown);
        shown != 0
    }

    /// Whether the card must not sleep as if no answer were held: it has no room, or an answer is due at a time.
    pub(super) fn is_holding(&self, room: usize) -> bool {
        room == 0 || self.holding.held.next_due().is_some()
    }

    /// Sleeps until an answer is due or there is something to do. Without room the card does not
    /// say that it sleeps: a client that rang could not be served.
    pub(super) fn idle_holding(&mut self, control: &Control, room: usize) -> Woken {
        let due = self.holding.held.next_due().unwrap_or(u64::MAX);
        let room_at = self.holding.rule.as_mut().map_or(u64::MAX, |rule| rule.room_at());
        let until = if room == 0 { due.min(room_at) } else { due };
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
