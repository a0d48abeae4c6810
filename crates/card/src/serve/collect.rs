//! Which requests make up the next batch: tenants by their turns, queues of a tenant one after the other,
//! cheap requests apart from dear ones.
//!
//! A pass answers nobody before its end, so a cheap request that shared one with dear ones would take as
//! long as they do. Apart, it waits for no more than the pass that runs when it comes: its tenant, whose
//! clock stands behind that of one who asks for dear things, has the next turn. A batch is filled with
//! requests of the class of its first, also of tenants whose turn is later, which they pay for: eight
//! tenants with one request each fill eight lanes. Dear requests are filled up with their own kind only:
//! one of RSA-4096 that rode with seven of RSA-1024 would share no lanes with them, cost as much as eight
//! of its like, and be charged for one.

use super::{BATCH_BYTES_MAX, CHEAP_BATCH_NS, Server};
use crate::attached::Class;
use crate::cost::Kind;
use crate::timing::Timing;
use link::tsc;
use wire::bounds::BATCH_MAX;

/// The queues of one tenant that have work.
#[derive(Default)]
pub(super) struct Line {
    /// Indices of queues, in order.
    queues: Vec<usize>,
    /// Position of the one that is looked at next.
    at: usize,
    /// The queue that was taken from last: the one after it has the next turn.
    last: usize,
}

/// The batch as far as it is put together.
#[derive(Default)]
struct Filling {
    /// Requests that there is room for.
    count_max: usize,
    cost: u64,
    bytes: usize,
    class: Option<Class>,
    /// Of all requests, where they are dear.
    kind: Option<Kind>,
    /// The tenant of all requests.
    only: Option<usize>,
}

impl<T: Timing> Server<T> {
    /// Takes the requests of the next batch, of the classes that are ready.
    pub(super) fn collect(&mut self, ready: [bool; 2]) {
        self.batch.clear();
        self.taken.clear();
        self.kinds.clear();
        self.runs_alone = false;
        let now = tsc();
        if self.collect_alone(now) {
            return;
        }
        let count_max = if T::TIMED { self.timing.free(now) } else { BATCH_MAX };
        let mut filling = Filling { count_max, ..Filling::default() };
        self.line_up();
        while !self.is_full(&filling) {
            let kept_to = filling.only.filter(|_| self.start.separate_tenants);
            let Some(tenant) = kept_to.or_else(|| self.turns.next()) else { break };
            let class = filling.class.or_else(|| self.class_of(tenant, ready));
            let found =
                class.and_then(|class| Some((class, self.next_request(tenant, class, filling.kind)?)));
            let Some((class, (index, slot))) = found else {
                if kept_to.is_some() {
                    break;
                }
                self.turns.pass_over();
                continue;
            };
            let (alone, kind) = (self.queues[index].queue.is_alone(slot), self.queues[index].dear_kind(slot));
            if alone && !self.taken.is_empty() {
                self.alone = Some((self.queues[index].grant.queue, slot));
                break;
            }
            if !self.enter(tenant, now) {
                if kept_to.is_some() {
                    break;
                }
                self.turns.pass_over();
                continue;
            }
            let cost = self.take_in(index, slot, &mut filling);
            if kept_to.is_some() {
                self.turns.charge(tenant, cost);
            } else {
                self.turns.taken(cost);
            }
            if !self.taken.is_empty() {
                (filling.class, filling.kind, filling.only) = (Some(class), kind, Some(tenant));
                if alone {
                    self.runs_alone = true;
                    break;
                }
            }
        }
        self.class = filling.class.unwrap_or(self.class);
    }

    /// Takes one request; returns its estimated cost in nanoseconds.
    fn take_in(&mut self, index: usize, slot: u32, filling: &mut Filling) -> u64 {
        /// A refusal costs little, but a flood of them must not keep the turn.
        const REFUSAL_NS: u64 = 1_000;
        let before = self.taken.len();
        filling.bytes += self.take(index, slot);
        self.last = index;
        let Some(kind) = self.kinds.get(before) else { return REFUSAL_NS };
        let cost = self.costs.ns(*kind);
        filling.cost += cost;
        cost
    }

    /// Takes the request that had to wait for a batch of its own; false where there is none.
    fn collect_alone(&mut self, now: u64) -> bool {
        let Some((queue, slot)) = self.alone.take() else { return false };
        let index = self.queues.iter().position(|attached| attached.grant.queue == queue);
        let Some(index) = index.filter(|index| self.queues[*index].queue.pending() & (1 << slot) != 0) else {
            return false;
        };
        let tenant = self.queues[index].tenant;
        if !self.enter(tenant, now) {
            return false;
        }
        let cost = self.take_in(index, slot, &mut Filling::default());
        self.turns.charge(tenant, cost);
        self.runs_alone = !self.taken.is_empty();
        if self.runs_alone {
            self.class = if self.costs.is_dear(self.kinds[0]) { Class::Dear } else { Class::Cheap };
        }
        self.runs_alone
    }

    /// Whether a request of the tenant may be taken now. What is only refused is in nobody's way.
    fn enter(&mut self, tenant: usize, now: u64) -> bool {
        !self.life.serves() || self.limits.enter(tenant, now)
    }

    fn is_full(&self, filling: &Filling) -> bool {
        let count = self.taken.len();
        count >= BATCH_MAX.min(filling.count_max)
            || filling.bytes >= BATCH_BYTES_MAX
            || (count >= self.lanes.dear && filling.cost >= CHEAP_BATCH_NS)
    }

    /// Lines up the queues with work under their tenants, and the tenants for their turns.
    fn line_up(&mut self) {
        for tenant in self.with_work.drain(..) {
            self.lines[tenant].queues.clear();
        }
        self.lines.resize_with(self.turns.indices().max(self.lines.len()), Line::default);
        for index in &self.active {
            let tenant = self.queues[*index].tenant;
            let line = &mut self.lines[tenant];
            if line.queues.is_empty() {
                self.with_work.push(tenant);
            }
            line.queues.push(*index);
        }
        for tenant in &self.with_work {
            let line = &mut self.lines[*tenant];
            line.at = line.queues.partition_point(|index| *index <= line.last);
        }
        self.turns.begin(&self.with_work);
    }

    /// The class in which a tenant begins a batch: where it has both, the one that was not served last.
    fn class_of(&self, tenant: usize, ready: [bool; 2]) -> Option<Class> {
        let has = |class: &Class| {
            let queues = &self.lines[tenant].queues;
            ready[*class as usize]
                && queues.iter().any(|index| self.queues[*index].next(*class, None).is_some())
        };
        [self.class.other(), self.class].into_iter().find(has)
    }

    /// The next waiting request of this class and kind in the queues of a tenant, queue by queue. Queues in
    /// which there is none any more are left out from the next round on.
    fn next_request(&mut self, tenant: usize, class: Class, kind: Option<Kind>) -> Option<(usize, u32)> {
        let (line, queues) = (&mut self.lines[tenant], &self.queues);
        for _ in 0..=line.queues.len() {
            let Some(index) = line.queues.get(line.at).copied() else {
                line.queues.retain(|index| queues[*index].next(class, kind).is_some());
                line.at = 0;
                continue;
            };
            line.at += 1;
            if let Some(slot) = queues[index].next(class, kind) {
                line.last = index;
                return Some((index, slot));
            }
        }
        None
    }
}
