//! Which requests make up the next batch: tenants by their turns, queues of a tenant one after the other,
//! cheap requests apart from expensive ("dear") ones.
//!
//! All answers of a pass come at its end, so a cheap request that shared a pass with expensive ones would take as long
//! as they do. Apart, it waits only for the pass that is running when it comes: its tenant's clock is behind that of a
//! tenant with expensive requests, so it has the next turn. A batch is filled with requests of the same tier as its
//! first, also from tenants whose turn is later, who pay for them: eight tenants with one request each fill eight
//! lanes. An expensive batch has requests of one kind only: one RSA-4096 operation among seven of RSA-1024 would share
//! no lanes with them, cost as much as eight of RSA-4096, and be charged for one. What requests [say
//! themselves](crate::work) of how long they take bounds every batch. A request for an RSA key is the last that is
//! collected: it is [set aside](super::generating).

use super::{Server, Taken, room};
use crate::attached::{Attached, Tier};
use crate::cost::RequestKind;
use crate::work::WORK_NS_MAX;
use cca::Batch;
use link::tsc;
use wire::bounds::{BATCH_BYTES_MAX, BATCH_MAX};
use wire::tenant::Confinement;

/// A batch goes on beyond one filling of its kernel's lanes only while it stays below this cost, in nanoseconds: cheap
/// requests share the fixed cost of a pass, dear ones do not wait for each other.
const BATCH_NS: u64 = 100_000;
/// The same bound for batches that fill the wide form of a kernel, with which they take about half of this time.
const WIDE_BATCH_NS: u64 = 2_000_000;

/// The queues of one tenant that have work.
#[derive(Default)]
pub(super) struct Line {
    /// Indices of queues, in order.
    queues: Vec<usize>,
    /// Position in `queues` of the queue that is looked at next.
    at: usize,
    /// Index of the queue that was taken from last: the one after it has the next turn.
    last: usize,
    /// Whether its requests share no pass with another tenant's.
    is_apart: bool,
}

/// The batch that is put together, and then runs.
pub(super) struct Collecting {
    pub batch: Batch,
    pub taken: Vec<Taken>,
    pub kinds: Vec<RequestKind>,
    /// Whether each request was refused, once the batch has run.
    pub refused: Vec<bool>,
    /// Number of requests that were put back.
    pub parked: u64,
    /// Whether one of the requests is dear.
    pub has_dear: bool,
    /// Time that the requests take as far as they tell it themselves, in nanoseconds ([`crate::work`]).
    pub work_ns: u64,
    /// Indices of the queues that the last sweep found work in, in order.
    pub active: Vec<usize>,
    /// Whether the last sweep held requests back.
    pub holds_back: bool,
    /// Number of the pass, from 1.
    pub pass: u64,
    /// Index of the queue that the last request was taken from.
    pub last: usize,
    /// Whether the running batch is one request that shares no pass.
    pub runs_alone: bool,
    /// By tenant: its queues with work.
    lines: Vec<Line>,
    /// Indices of the tenants with work.
    with_work: Vec<usize>,
    /// The queue and slot of a request that shares no batch and has the next one.
    alone: Option<(u64, u32)>,
    /// Free secret memory in bytes after everything was forgotten that can be made again; `None` once a queue has
    /// ended.
    pub emptied: Option<usize>,
}

impl Default for Collecting {
    fn default() -> Self {
        Self {
            batch: Batch::new(),
            taken: Vec::with_capacity(BATCH_MAX),
            kinds: Vec::with_capacity(BATCH_MAX),
            refused: Vec::with_capacity(BATCH_MAX),
            parked: 0,
            has_dear: false,
            work_ns: 0,
            active: Vec::new(),
            holds_back: false,
            pass: 0,
            last: 0,
            runs_alone: false,
            lines: Vec::new(),
            with_work: Vec::new(),
            alone: None,
            emptied: None,
        }
    }
}

/// The batch that is being put together, as far as it is filled.
#[derive(Default)]
struct Filling {
    /// Upper bound of its requests.
    count_max: usize,
    cost: u64,
    bytes: usize,
    /// Secret memory that the batch may still take, in bytes.
    room: usize,
    tier: Option<Tier>,
    /// The kind of all its requests, if they are dear.
    kind: Option<RequestKind>,
    /// The tenant of its last request, and so of all requests if that tenant is kept apart.
    only: Option<usize>,
    /// Whether no further request may join.
    is_closed: bool,
}

impl Server {
    /// Takes the requests of the next batch, from the tiers that are ready.
    pub(super) fn collect(&mut self, ready: [bool; 2]) {
        self.collecting.batch.clear();
        self.collecting.taken.clear();
        self.collecting.kinds.clear();
        self.collecting.refused.clear();
        self.collecting.has_dear = false;
        self.collecting.work_ns = 0;
        self.collecting.runs_alone = false;
        self.collecting.pass += 1;
        let now = tsc();
        if self.collect_found() || self.collect_alone(now) {
            return;
        }
        let count_max = self.holding.room(now);
        let mut filling = Filling { count_max, room: room::of_pass(), ..Filling::default() };
        self.line_up();
        while !self.is_full(&filling) {
            let kept_to = filling.only.filter(|only| self.is_kept_apart(*only));
            let Some(tenant) = kept_to.or_else(|| self.turns.next()) else { break };
            if filling.only.is_some_and(|only| only != tenant) && self.is_kept_apart(tenant) {
                self.turns.pass_over();
                continue;
            }
            let tier = filling.tier.or_else(|| self.tier_of(tenant, ready));
            let found = tier.and_then(|tier| Some((tier, self.next_request(tenant, tier, filling.kind)?)));
            let Some((tier, (index, slot))) = found else {
                if kept_to.is_some() {
                    break;
                }
                self.turns.pass_over();
                continue;
            };
            let (alone, kind) = (self.queues[index].queue.is_alone(slot), self.queues[index].dear_kind(slot));
            if alone && !self.collecting.taken.is_empty() {
                self.collecting.alone = Some((self.queues[index].grant.queue, slot));
                break;
            }
            if !self.has_room(index, slot, &mut filling.room) {
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
            if !self.collecting.taken.is_empty() {
                if let (None, Some(kind)) = (filling.kind, kind) {
                    let only = self.is_kept_apart(tenant).then_some(tenant);
                    filling.count_max = filling.count_max.min(self.fill_of(kind, only));
                }
                (filling.tier, filling.kind, filling.only) = (Some(tier), kind, Some(tenant));
                if alone {
                    self.collecting.runs_alone = true;
                    break;
                }
            }
        }
        self.pacing.tier = filling.tier.unwrap_or(self.pacing.tier);
    }

    /// Whether the requests of a tenant with work share no pass with another tenant's: because no tenant's do, or
    /// because a card has died with its requests and others', so that the next death shows whose requests caused it.
    fn is_kept_apart(&self, tenant: usize) -> bool {
        self.start.separate_tenants || self.collecting.lines[tenant].is_apart
    }

    /// Takes one request; returns its estimated cost in nanoseconds.
    fn take_in(&mut self, index: usize, slot: u32, filling: &mut Filling) -> u64 {
        /// Charge for a refused request, in nanoseconds: it costs little, but a flood of them must not keep the turn.
        const REFUSAL_NS: u64 = 1_000;
        let before = self.collecting.taken.len();
        let seen = self.queues[index].dear_kind(slot);
        let bytes = self.take(index, slot, room::payload_max(filling.room));
        filling.room = filling.room.saturating_sub(room::needed(bytes));
        filling.bytes += bytes;
        self.collecting.last = index;
        let Some(kind) = self.collecting.kinds.get(before) else { return REFUSAL_NS };
        let costs = &self.accounting.costs;
        let cost = costs.ns(*kind);
        filling.cost += cost;
        self.collecting.has_dear |= costs.is_dear(*kind);
        // A client may write another request into a slot after it was looked into: only now is the request known for
        // sure.
        let is_other = match seen {
            Some(seen) => seen != *kind,
            None => costs.any_is_dear() && costs.is_always_dear(*kind),
        };
        filling.is_closed |= kind.is_generation() || is_other;
        cost
    }

    /// Takes the request that had to wait for a batch of its own; false if there is none, or if it may not be taken
    /// now.
    fn collect_alone(&mut self, now: u64) -> bool {
        let Some((queue, slot)) = self.collecting.alone.take() else { return false };
        let index = self.queues.iter().position(|attached| attached.grant.queue == queue);
        let Some(index) = index.filter(|index| self.queues[*index].queue.pending() & (1 << slot) != 0) else {
            return false;
        };
        let tenant = self.queues[index].tenant;
        if !self.enter(tenant, now) {
            return false;
        }
        let mut filling = Filling { room: room::of_pass(), ..Filling::default() };
        self.has_room(index, slot, &mut filling.room);
        let cost = self.take_in(index, slot, &mut filling);
        self.turns.charge(tenant, cost);
        self.collecting.runs_alone = !self.collecting.taken.is_empty();
        if self.collecting.runs_alone {
            self.pacing.tier = if self.accounting.costs.is_dear(self.collecting.kinds[0]) {
                Tier::Dear
            } else {
                Tier::Cheap
            };
        }
        self.collecting.runs_alone
    }

    /// Whether a request of the tenant may be taken now. A card that does not serve takes any request, only to refuse
    /// it.
    fn enter(&mut self, tenant: usize, now: u64) -> bool {
        !self.life.serves() || self.limits.enter(tenant, now)
    }

    /// How many requests of a dear kind, of which one was taken, make up a pass; with `only`, all of them are that
    /// tenant's. It is one filling of its kernel's lanes, or several whole ones while requests are there and short.
    /// Requests that would begin one more filling wait for a pass of their own, rather than have all others wait for
    /// them.
    fn fill_of(&self, kind: RequestKind, only: Option<usize>) -> usize {
        let queues = self.collecting.active.iter().map(|index| &self.queues[*index]);
        let may_join = |queue: &&Attached| only.is_none_or(|tenant| queue.tenant == tenant);
        let there = 1 + queues.filter(may_join).map(|queue| queue.count(kind)).sum::<usize>();
        let (lanes, wide, cost) = (
            self.accounting.costs.lanes(kind),
            self.accounting.costs.lanes_wide(kind),
            self.accounting.costs.ns(kind),
        );
        if wide > lanes && there >= wide && wide as u64 * cost <= WIDE_BATCH_NS {
            return wide;
        }
        let short = BATCH_NS / (lanes as u64 * cost).max(1);
        lanes * (there / lanes).min(short as usize).max(1)
    }

    fn is_full(&self, filling: &Filling) -> bool {
        let count = self.collecting.taken.len();
        let is_long = filling.kind.is_none() && filling.cost >= BATCH_NS;
        let most = filling.tier.map_or(BATCH_MAX, |tier| self.pacing.paces[tier as usize].most());
        let is_full = count >= BATCH_MAX.min(filling.count_max).min(most) || filling.bytes >= BATCH_BYTES_MAX;
        let is_heavy = self.collecting.work_ns >= WORK_NS_MAX;
        is_full || is_long || is_heavy || filling.is_closed
    }

    /// Lines up the queues with work under their tenants, and the tenants for their turns.
    fn line_up(&mut self) {
        for tenant in self.collecting.with_work.drain(..) {
            self.collecting.lines[tenant].queues.clear();
        }
        self.collecting
            .lines
            .resize_with(self.turns.indices().max(self.collecting.lines.len()), Line::default);
        for index in &self.collecting.active {
            let tenant = self.queues[*index].tenant;
            let line = &mut self.collecting.lines[tenant];
            if line.queues.is_empty() {
                self.collecting.with_work.push(tenant);
                line.is_apart = false;
            }
            line.queues.push(*index);
            line.is_apart |= self.queues[*index].grant.confinement == Confinement::Apart;
        }
        for tenant in &self.collecting.with_work {
            let line = &mut self.collecting.lines[*tenant];
            line.at = line.queues.partition_point(|index| *index <= line.last);
        }
        self.turns.begin(&self.collecting.with_work);
    }

    /// The tier in which a tenant begins a batch: if it has requests of both, the tier that was not served last.
    fn tier_of(&self, tenant: usize, ready: [bool; 2]) -> Option<Tier> {
        let has = |tier: &Tier| {
            let queues = &self.collecting.lines[tenant].queues;
            ready[*tier as usize]
                && queues.iter().any(|index| self.queues[*index].next(*tier, None).is_some())
        };
        [self.pacing.tier.other(), self.pacing.tier].into_iter().find(has)
    }

    /// The next waiting request of this tier and kind in the queues of a tenant, queue by queue. Queues without such a
    /// request are left out from the next round on.
    fn next_request(&mut self, tenant: usize, tier: Tier, kind: Option<RequestKind>) -> Option<(usize, u32)> {
        let (line, queues) = (&mut self.collecting.lines[tenant], &self.queues);
        for _ in 0..=line.queues.len() {
            let Some(index) = line.queues.get(line.at).copied() else {
                line.queues.retain(|index| queues[*index].next(tier, kind).is_some());
                line.at = 0;
                continue;
            };
            line.at += 1;
            if let Some(slot) = queues[index].next(tier, kind) {
                line.last = index;
                return Some((index, slot));
            }
        }
        None
    }
}
