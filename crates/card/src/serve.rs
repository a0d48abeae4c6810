//! The request loop of a card: one thread that sweeps its queues, runs batches and answers.
//!
//! ```text
//! sweep -> learned wait -> take (copy, check) -> run -> reply -> sweep ...
//!   '-- nothing there: wait as the poll mode says, on the doorbell and the control channels
//! ```
//! Each request is copied once out of reach of its client and checked after that; what is refused
//! is answered at once and takes no part in the batch. Nothing of a request stays behind after its
//! batch. Control channels are looked at whenever the card waits, and every
//! [`CONTROL_EVERY_NS`] while it does not.
//!
//! The loop runs a batch to its end: while an RSA key is generated, the card answers nobody else.
//!
//! A timed card ([`crate::timing`]) holds the answers of a pass until they are due, and sleeps meanwhile.

use crate::admit::{Admission, Keys};
use crate::control::Control;
use crate::cost::{Costs, Kind};
use crate::life::Life;
use crate::pace::Pace;
use crate::timing::{Held, HeldAnswer, Timing, Untimed};
use crate::turns::Turns;
use cca::{Batch, Incoming, Processor};
use link::{CardQueue, Counter, Doorbell, KeyTableView, StatusPage, Woken, ns_to_tsc, tsc, tsc_to_ns};
use std::cell::RefCell;
use std::time::Duration;
use wire::bounds::BATCH_MAX;
use wire::control::{CardStart, PollMode};
use wire::frame::{BULK_NONE, Outcome, ReplyHeader};
use wire::grant::Grant;
use wire::{Codes, KeyReference, code};
use zeroize::Zeroizing;

/// How often a card that has work looks at its control channels, in nanoseconds.
pub const CONTROL_EVERY_NS: u64 = 1_000_000;
/// How long an idle card sleeps at the most before it looks for itself.
const SLEEP_MAX: Duration = Duration::from_secs(1);
/// A batch goes on beyond the lanes of dear operations only while it stays below this cost, in nanoseconds:
/// cheap requests share the fixed cost of a pass, dear ones do not wait for each other. The most requests
/// under DES keys that a batch takes stay below it, eight of RSA-1024 do not.
const CHEAP_BATCH_NS: u64 = 100_000;
/// Payload bytes that one batch takes, at the most but for its first request.
const BATCH_BYTES_MAX: usize = 8 << 20;

/// Requests that the engine would like in one batch.
#[derive(Clone, Copy, Debug)]
pub struct Lanes {
    /// Of the dear operations, those with RSA keys.
    pub dear: usize,
    /// Of the operation that gains from the most.
    pub most: usize,
}

/// A queue and what it may do.
pub struct Attached {
    /// The card's end of the link.
    pub queue: CardQueue,
    /// Decided by the daemon.
    pub grant: Grant,
    /// Index of the tenant in [`Turns`].
    pub tenant: usize,
    /// Length of the grant in the message that tells a later daemon of it, in bytes.
    pub grant_bytes: usize,
    /// Slots that the last sweep found and that were not taken since.
    waiting: u64,
    /// Requests that the running batch may still take from here.
    quota: u32,
    /// The slot after the one taken last: every slot has its turn.
    next_slot: u32,
}

impl Attached {
    /// A queue of the tenant at this index, with a grant of so many bytes.
    pub fn new(queue: CardQueue, grant: Grant, grant_bytes: usize, tenant: usize) -> Self {
        Self { queue, grant, tenant, grant_bytes, waiting: 0, quota: 0, next_slot: 0 }
    }

    /// Looks which slots wait; returns how many of them the next batch may take.
    fn sweep(&mut self) -> u32 {
        self.waiting = self.queue.pending();
        if self.waiting == 0 {
            return 0;
        }
        let limit = match self.grant.limits.in_flight_per_card_max {
            0 => u32::MAX,
            limit => limit,
        };
        self.quota = self.waiting.count_ones().min(limit);
        self.quota
    }

    /// The next waiting slot.
    fn next(&mut self) -> Option<u32> {
        if self.waiting == 0 || self.quota == 0 {
            return None;
        }
        let rotated = self.waiting.rotate_right(self.next_slot);
        let slot = (rotated.trailing_zeros() + self.next_slot) % u64::BITS;
        self.next_slot = (slot + 1) % u64::BITS;
        self.waiting &= !(1 << slot);
        self.quota -= 1;
        Some(slot)
    }

    fn has_work(&self) -> bool {
        self.waiting != 0 && self.quota != 0
    }
}

/// One request of the running batch.
#[derive(Clone, Copy)]
struct Taken {
    queue: usize,
    slot: u32,
    row: usize,
}

/// The tokens behind key references.
struct Tokens {
    table: KeyTableView,
    token: RefCell<Vec<u8>>,
}

impl Keys for Tokens {
    fn append(&self, reference: KeyReference, tenant: u32, out: &mut Vec<u8>) -> bool {
        let mut token = self.token.borrow_mut();
        let valid = self.table.read(reference, tenant, &mut token).is_ok();
        out.extend_from_slice(&token);
        valid
    }
}

/// Why the loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The daemon ordered it.
    Stopped,
    /// A result did not pass its own check; it was withheld.
    SelfCheck,
}

/// What a card shares with its clients and its daemon.
pub struct Memories {
    /// Its page.
    pub status: StatusPage,
    /// Where clients ring.
    pub doorbell: Doorbell,
    /// The tokens behind key references.
    pub keys: KeyTableView,
}

/// A card that serves.
pub struct Server<T = Untimed> {
    /// What it was started as.
    pub start: CardStart,
    /// Where it stands in its life.
    pub life: Life,
    /// Its page.
    pub status: StatusPage,
    /// Master keys and verbs.
    pub processor: Processor,
    /// Its queues.
    pub queues: Vec<Attached>,
    /// Turns among tenants.
    pub turns: Turns,
    doorbell: Doorbell,
    tokens: Tokens,
    admission: Admission,
    lanes: Lanes,
    /// The last batch went beyond the cost of a cheap one.
    was_dear: bool,
    pace: Pace,
    /// Duration of the last pass.
    pass_ns: u64,
    costs: Costs,
    batch: Batch,
    /// Indices of the queues that the last sweep found work in, in order.
    active: Vec<usize>,
    /// Queue that the last request was taken from.
    last: usize,
    taken: Vec<Taken>,
    /// The queue and slot of a request that shares no batch and has the next one.
    alone: Option<(u64, u32)>,
    kinds: Vec<Kind>,
    payload: Vec<u8>,
    resolved: Vec<u8>,
    /// Queues to be ended after the batch, and the rule that their clients broke.
    offences: Vec<(u64, String)>,
    timing: T,
    held: Held,
    /// When the answers of the running batch may be seen; of a timed card only.
    due: Vec<u64>,
}

impl<T: Timing> Server<T> {
    /// A card that has entered its sandbox.
    pub fn new(
        start: CardStart,
        life: Life,
        memories: Memories,
        processor: Processor,
        lanes: Lanes,
        timing: T,
    ) -> Self {
        let Memories { status, doorbell, keys } = memories;
        Self {
            admission: Admission::new(start.personality),
            start,
            life,
            status,
            processor,
            queues: Vec::new(),
            turns: Turns::default(),
            doorbell,
            tokens: Tokens { table: keys, token: RefCell::default() },
            lanes,
            was_dear: false,
            pace: Pace::new(lanes.most),
            pass_ns: 0,
            costs: Costs::new(),
            batch: Batch::new(),
            active: Vec::new(),
            last: 0,
            taken: Vec::with_capacity(BATCH_MAX),
            alone: None,
            kinds: Vec::with_capacity(BATCH_MAX),
            payload: Vec::new(),
            resolved: Vec::new(),
            offences: Vec::new(),
            timing,
            held: Held::default(),
            due: Vec::new(),
        }
    }

    /// Serves until the daemon orders the end or a check of the card's own fails.
    pub fn run(&mut self, control: &mut Control) -> End {
        let end = self.serve(control);
        self.show_all();
        end
    }

    fn serve(&mut self, control: &mut Control) -> End {
        let control_every = ns_to_tsc(CONTROL_EVERY_NS);
        let mut looked = tsc();
        let at_ticks_only = matches!(self.start.poll, PollMode::Every { .. });
        let mut there = 0;
        loop {
            let room = self.show_due(there);
            if there == 0 || at_ticks_only || room == 0 {
                let woken = self.idle(control, room);
                looked = tsc();
                if woken.extra != 0 && control.attend(self).is_break() {
                    return End::Stopped;
                }
                self.status.set_heartbeat(looked);
                there = if at_ticks_only && !woken.work { 0 } else { self.sweep() };
                if there == 0 || room == 0 {
                    continue;
                }
            }
            self.wait_for_more(there);
            self.collect();
            let answered = self.taken.len();
            let begin = tsc();
            let mut sound = true;
            if answered != 0 {
                self.set_due(begin);
                self.processor.run(&mut self.batch);
                let end = tsc();
                sound = self.reply(begin, end);
                self.account(begin, end);
            }
            for (queue, rule) in std::mem::take(&mut self.offences) {
                self.end_queue(queue);
                self.status.add(Counter::Offences, 1);
                control.offence(queue, rule);
            }
            if !sound {
                return End::SelfCheck;
            }
            let now = tsc();
            there = self.sweep();
            self.pace.set_lanes(if self.was_dear { self.lanes.dear } else { self.lanes.most });
            self.pace.passed(answered, there, now.wrapping_sub(begin));
            self.status.set_queue_length((there + self.held.len()) as u64);
            self.status.set_heartbeat(now);
            if now.wrapping_sub(looked) >= control_every {
                looked = now;
                if control.is_ready() && control.attend(self).is_break() {
                    return End::Stopped;
                }
                // Queues may have come and gone.
                there = self.sweep();
            }
        }
    }

    /// Ends a queue: unmaps its memory. Returns whether there was one.
    pub fn end_queue(&mut self, queue: u64) -> bool {
        let Some(index) = self.queues.iter().position(|attached| attached.grant.queue == queue) else {
            return false;
        };
        let ended = self.queues.swap_remove(index);
        self.turns.leave(ended.tenant);
        self.held.forget_queue(queue);
        self.active.clear();
        true
    }

    /// What a queue may do from now on.
    pub fn regrant(&mut self, grant: Grant) {
        if let Some(attached) = self.queues.iter_mut().find(|attached| attached.grant.queue == grant.queue) {
            attached.grant = grant;
        }
    }

    /// Waits as the poll mode says; `extra` is not 0 where a control channel may be ready.
    ///
    /// Where the client shares this processor the card sleeps, and is woken by the next request; so
    /// it does after a long pass, for which clients sleep too and may need this processor to wake up.
    /// To yield instead, so that the client brings several requests before the card runs again, was
    /// tried and dropped: a client that polls for its answers uses up its time slice first (470
    /// instead of 117,000 requests a second).
    fn idle(&mut self, control: &Control, room: usize) -> Woken {
        if T::TIMED && (room == 0 || !self.held.is_empty()) {
            return self.idle_holding(control, room);
        }
        let spin = self.pass_ns <= link::PASS_SPIN_MAX_NS && self.client_is_elsewhere();
        let queues = &self.queues;
        let pending = || queues.iter().any(|attached| attached.queue.pending() != 0);
        let (extra, count) = control.descriptors();
        let extra = &extra[..count];
        let woken = self.doorbell.wait(&self.status, self.start.poll, spin, extra, Some(SLEEP_MAX), pending);
        // Nothing of an error can be mended here; the channels tell what is wrong with them.
        woken.unwrap_or(Woken { work: true, rung: false, extra: 1 })
    }

    /// Whether the client served last runs on another processor.
    fn client_is_elsewhere(&self) -> bool {
        self.queues.get(self.last).is_some_and(|last| last.queue.client_is_elsewhere())
    }

    /// Looks at every queue; returns how many requests a batch may take.
    fn sweep(&mut self) -> usize {
        self.active.clear();
        let mut there = 0;
        for (index, attached) in self.queues.iter_mut().enumerate() {
            let count = attached.sweep();
            if count != 0 {
                self.active.push(index);
                there += count as usize;
            }
        }
        there
    }

    /// The learned wait: until as many requests are there as may come back, or its time is over.
    /// Not where the client needs this processor to send them.
    fn wait_for_more(&mut self, mut there: usize) {
        if T::TIMED || self.pace.enough(there) || !self.client_is_elsewhere() {
            return;
        }
        let Some(until) = self.pace.wait_until(there, tsc()) else { return };
        while !self.pace.enough(there) && tsc() < until {
            std::hint::spin_loop();
            there = self.sweep();
        }
    }

    /// Takes the requests of the next batch, tenant by tenant.
    fn collect(&mut self) {
        self.batch.clear();
        self.taken.clear();
        self.kinds.clear();
        if self.collect_alone() {
            return;
        }
        let count_max = if T::TIMED { self.timing.free(tsc()) } else { BATCH_MAX };
        let (mut cost, mut bytes, mut only) = (0, 0, None);
        let shared = self.turns.tenants() > 1;
        while self.taken.len() < count_max && !self.is_full(cost, bytes) {
            let tenant = if shared {
                let (queues, active) = (&self.queues, &self.active);
                let has_work = |tenant| {
                    active.iter().any(|index| queues[*index].tenant == tenant && queues[*index].has_work())
                };
                let Some(tenant) = self.turns.next(has_work) else { break };
                if self.start.separate_tenants && only.is_some_and(|only| only != tenant) {
                    break;
                }
                Some(tenant)
            } else {
                None
            };
            let Some((index, slot)) = self.next_request(tenant) else { break };
            let alone = self.queues[index].queue.is_alone(slot);
            if alone && !self.taken.is_empty() {
                self.alone = Some((self.queues[index].grant.queue, slot));
                break;
            }
            let before = self.taken.len();
            bytes += self.take(index, slot);
            if self.taken.len() != before {
                only = tenant;
                let request_ns = self.costs.ns(self.kinds[before]);
                cost += request_ns;
                if let Some(tenant) = tenant {
                    self.turns.charge(tenant, request_ns);
                }
            } else if let Some(tenant) = tenant {
                // A refusal costs little, but a flood of them must not keep the turn.
                self.turns.charge(tenant, 1_000);
            }
            if alone && !self.taken.is_empty() {
                break;
            }
        }
        self.was_dear = cost >= CHEAP_BATCH_NS;
    }

    /// Takes the request that had to wait for a batch of its own; false where there is none.
    fn collect_alone(&mut self) -> bool {
        let Some((queue, slot)) = self.alone.take() else { return false };
        let index = self.queues.iter().position(|attached| attached.grant.queue == queue);
        let Some(index) = index.filter(|index| self.queues[*index].queue.pending() & (1 << slot) != 0) else {
            return false;
        };
        self.queues[index].waiting &= !(1 << slot);
        self.take(index, slot);
        if let [taken] = self.taken[..] {
            let request_ns = self.costs.ns(self.kinds[0]);
            self.turns.charge(self.queues[taken.queue].tenant, request_ns);
            self.was_dear = request_ns >= CHEAP_BATCH_NS;
        }
        !self.taken.is_empty()
    }

    fn is_full(&self, cost: u64, bytes: usize) -> bool {
        let count = self.taken.len();
        count >= BATCH_MAX || bytes >= BATCH_BYTES_MAX || (count >= self.lanes.dear && cost >= CHEAP_BATCH_NS)
    }

    /// The next waiting slot of a queue of this tenant, queue by queue.
    fn next_request(&mut self, tenant: Option<usize>) -> Option<(usize, u32)> {
        let first = self.active.partition_point(|index| *index <= self.last);
        for step in 0..self.active.len() {
            let index = self.active[(first + step) % self.active.len()];
            let attached = &mut self.queues[index];
            if tenant.is_none_or(|tenant| attached.tenant == tenant)
                && let Some(slot) = attached.next()
            {
                self.last = index;
                return Some((index, slot));
            }
        }
        None
    }

    /// Takes one request into the batch, or answers it with a refusal. Returns its length.
    fn take(&mut self, index: usize, slot: u32) -> usize {
        let attached = &mut self.queues[index];
        let header = match attached.queue.take(slot, &mut self.payload) {
            Ok(header) => header,
            Err(violation) => {
                attached.waiting = 0;
                self.offences.push((attached.grant.queue, violation.to_string()));
                return 0;
            }
        };
        let admitted = if self.life.serves() {
            let grant = &attached.grant;
            self.admission.check(header.verb, &self.payload, grant, &self.tokens, &mut self.resolved)
        } else {
            Err(Outcome::NotReady)
        };
        let length = self.payload.len();
        let admitted = admitted.and_then(|admitted| {
            let payload = if admitted.references == 0 { &self.payload } else { &self.resolved };
            let incoming = Incoming { verb: admitted.verb, domain: attached.grant.domain, payload };
            self.batch.push(&incoming).map_err(|_| Outcome::NotReady)?;
            Ok(admitted.row)
        });
        // What a request brought - a clear key may be among it - stays with the batch alone.
        for copy in [&mut self.payload, &mut self.resolved] {
            copy.fill(0);
            std::hint::black_box(&*copy);
        }
        self.resolved.clear();
        match admitted {
            Ok(row) => {
                self.taken.push(Taken { queue: index, slot, row });
                self.kinds.push(self.costs.kind(row, length));
            }
            Err(outcome) => {
                self.status.add(Counter::Refused, 1);
                let now = tsc();
                answer(attached, slot, &header_of(outcome, Codes::new(0, 0), 0, now, now), &[]);
                attached.queue.wake();
            }
        }
        length
    }

    /// Answers the batch; `false` where a result was withheld because it failed its own check.
    fn reply(&mut self, begin: u64, end: u64) -> bool {
        if T::TIMED {
            return self.hold(begin);
        }
        let fill = self.taken.len() as u32;
        let mut sound = true;
        for (taken, reply) in self.taken.iter().zip(self.batch.answers()) {
            sound &= reply.codes != code::SELF_CHECK;
            let header = header_of(reply.outcome, reply.codes, fill, begin, end);
            answer(&mut self.queues[taken.queue], taken.slot, &header, &reply.payload);
        }
        for taken in &self.taken {
            self.queues[taken.queue].queue.wake();
        }
        self.batch.clear();
        sound
    }

    /// Books a pass.
    fn account(&mut self, begin: u64, end: u64) {
        if T::TIMED {
            return self.account_held(begin);
        }
        let span = end.wrapping_sub(begin);
        let count = self.taken.len() as u64;
        let pass_ns = tsc_to_ns(span);
        let estimated: u64 = self.kinds.iter().map(|kind| self.costs.ns(*kind)).sum();
        for run in self.taken.chunk_by(|a, b| a.row == b.row) {
            let first = (run.as_ptr() as usize - self.taken.as_ptr() as usize) / size_of::<Taken>();
            let share: u64 =
                self.kinds[first..first + run.len()].iter().map(|kind| self.costs.ns(*kind)).sum();
            let ns = (u128::from(pass_ns) * u128::from(share) / u128::from(estimated.max(1))) as u64;
            self.status.add_services(run[0].row, run.len() as u64, ns / run.len() as u64);
        }
        self.costs.learn(&self.kinds, pass_ns);
        self.status.add(Counter::Requests, count);
        self.status.add(Counter::Batches, 1);
        self.status.add(Counter::FillSum, count);
        self.status.add(Counter::BusyTsc, span);
        self.status.set_pass(pass_ns);
        self.pass_ns = pass_ns;
    }
}

/// What a timed card does besides.
impl<T: Timing> Server<T> {
    /// Asks when the answers of the batch that begins may be seen.
    fn set_due(&mut self, begin: u64) {
        if T::TIMED {
            let (timing, taken) = (&mut self.timing, &self.taken);
            self.due.clear();
            self.due.extend(taken.iter().map(|taken| timing.due(begin, taken.row).max(begin)));
        }
    }

    /// Holds the answers of the batch; `false` where a result was withheld because it failed its own check.
    fn hold(&mut self, begin: u64) -> bool {
        let fill = self.taken.len() as u32;
        let mut sound = true;
        for ((taken, due_tsc), reply) in self.taken.iter().zip(&self.due).zip(self.batch.answers()) {
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
    /// under way together, so that the costs of a card at work add up to the time that goes by.
    fn account_held(&mut self, begin: u64) {
        let together = self.held.len().max(1) as u64;
        let (mut sum, mut longest) = (0, 0);
        for (taken, due) in self.taken.iter().zip(&self.due) {
            let span = due - begin;
            sum += span / together;
            longest = span.max(longest);
            self.status.add_services(taken.row, 1, tsc_to_ns(span / together));
        }
        self.costs.learn(&self.kinds, tsc_to_ns(sum));
        self.status.add(Counter::Batches, 1);
        self.status.add(Counter::FillSum, self.taken.len() as u64);
        self.status.add(Counter::BusyTsc, sum);
        self.pass_ns = tsc_to_ns(longest);
        self.status.set_pass(self.pass_ns);
    }

    /// Shows the answers that are due, with `there` requests waiting; returns how many more requests
    /// may be taken.
    fn show_due(&mut self, there: usize) -> usize {
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

    fn show_until(&mut self, until: u64) -> bool {
        let mut shown = 0;
        while let Some(held) = self.held.take_due(until) {
            let queue = self.queues.iter_mut().find(|attached| attached.grant.queue == held.queue);
            // Held answers go when their queue does.
            let Some(attached) = queue else { continue };
            let header = ReplyHeader { end_tsc: tsc(), ..held.header };
            answer(attached, held.slot, &header, &held.payload);
            attached.queue.wake();
            shown += 1;
        }
        self.status.add(Counter::Requests, shown);
        shown != 0
    }

    /// Sleeps until an answer is due or there is something to do. Without a free lane the card does not
    /// say that it sleeps: a client that rang could not be served.
    fn idle_holding(&mut self, control: &Control, room: usize) -> Woken {
        let due = self.held.next_due().unwrap_or(u64::MAX);
        let until = if room == 0 { due.min(self.timing.free_at()) } else { due };
        let left = Duration::from_nanos(tsc_to_ns(until.saturating_sub(tsc()))).min(SLEEP_MAX);
        if room == 0 {
            return Woken { extra: u64::from(control.wait(left)), ..Woken::default() };
        }
        let poll = match self.start.poll {
            every @ PollMode::Every { .. } => every,
            _ => PollMode::Sleep,
        };
        let queues = &self.queues;
        let pending = || queues.iter().any(|attached| attached.queue.pending() != 0);
        let (extra, count) = control.descriptors();
        let woken = self.doorbell.wait(&self.status, poll, false, &extra[..count], Some(left), pending);
        woken.unwrap_or(Woken { work: true, rung: false, extra: 1 })
    }
}

fn header_of(outcome: Outcome, codes: Codes, batch_fill: u32, start_tsc: u64, end_tsc: u64) -> ReplyHeader {
    ReplyHeader {
        outcome,
        codes,
        payload_bytes: 0,
        sequence: 0,
        bulk: BULK_NONE,
        batch_fill,
        start_tsc,
        end_tsc,
    }
}

/// Puts a reply; an answer for which the request left no room was asked for in the wrong form.
fn answer(attached: &mut Attached, slot: u32, header: &ReplyHeader, payload: &[u8]) {
    if attached.queue.put_reply(slot, header, payload).is_err() {
        let malformed = ReplyHeader { outcome: Outcome::Malformed, codes: Codes::new(0, 0), ..*header };
        // The slot was taken and an empty payload fits: this cannot be refused.
        let _ = attached.queue.put_reply(slot, &malformed, &[]);
    }
}
