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
use crate::attached::{Attached, Class};
use crate::control::Control;
use crate::cost::{Costs, Kind};
use crate::life::Life;
use crate::limits::Limiter;
use crate::pace::Pace;
use crate::records::Recorder;
use crate::timing::{Held, Timing, Untimed};
use crate::turns::Turns;
use cca::{Batch, Incoming, Processor};
use link::world::{self, Event};
use link::{
    CardAccounts, CardQueue, Counter, Doorbell, KeyTableView, Records, StatusPage, Woken, ns_to_tsc, tsc,
    tsc_to_ns,
};
use std::cell::RefCell;
use std::time::Duration;
use wire::bounds::BATCH_MAX;
use wire::control::{CardStart, PollMode};
use wire::frame::{BULK_NONE, Outcome, ReplyHeader};
use wire::grant::Grant;
use wire::{Codes, KeyReference, code};

mod collect;
mod hold;
mod owed;

use owed::Answered;

/// How often a card that has work looks at its control channels, in nanoseconds.
pub const CONTROL_EVERY_NS: u64 = 1_000_000;
/// How often a card that could fill a long pass further lets others have its processor before it begins.
const YIELDS_MAX: u32 = 6;
/// It stops to do so once that has taken as long as this many passes.
const YIELD_PASSES_MAX: u64 = 4;
/// A batch goes on beyond the lanes of dear operations only while it stays below this cost, in nanoseconds:
/// cheap requests share the fixed cost of a pass, dear ones do not wait for each other. The most requests
/// under DES keys that a batch takes stay below it, eight of RSA-1024 do not.
const CHEAP_BATCH_NS: u64 = 100_000;
/// Tenants that push against a limit do not begin a pass alone before this part of the last one has gone
/// by since it answered others: those may come back into the same pass, and would else wait for one more.
const LEAVES_WAY_SHARE: u64 = 4;
/// Nor for longer than this, in nanoseconds.
const LEAVES_WAY_NS_MAX: u64 = 200_000;
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

/// Requests that a batch may take, by class.
#[derive(Clone, Copy, Default)]
struct There {
    of: [usize; 2],
    /// All of tenants that are held to a limit and would have more.
    only_pushing: bool,
}

impl There {
    fn all(self) -> usize {
        self.of[0] + self.of[1]
    }

    fn of(self, class: Class) -> usize {
        self.of[class as usize]
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
    /// What tenants have in flight on all cards.
    pub accounts: CardAccounts,
    /// What it records of its work.
    pub records: Records,
}

/// A card that serves.
pub struct Server<T = Untimed> {
    /// What it was started as.
    pub start: CardStart,
    /// Where it stands in its life.
    pub life: Life,
    /// Its page.
    pub status: StatusPage,
    records: Recorder,
    /// Master keys and verbs.
    pub processor: Processor,
    /// Its queues.
    pub queues: Vec<Attached>,
    /// Turns among tenants.
    turns: Turns,
    /// Their limits.
    limits: Limiter,
    doorbell: Doorbell,
    tokens: Tokens,
    admission: Admission,
    lanes: Lanes,
    /// What the last batch was made of.
    class: Class,
    /// By class.
    paces: [Pace; 2],
    /// Duration of the last pass.
    pass_ns: u64,
    costs: Costs,
    batch: Batch,
    /// Indices of the queues that the last sweep found work in, in order.
    active: Vec<usize>,
    /// The last sweep held requests back.
    holds_back: bool,
    /// By tenant: its queues with work, of the batch that is being put together.
    lines: Vec<collect::Line>,
    /// Tenants with work, of that batch.
    with_work: Vec<usize>,
    /// Queue that the last request was taken from.
    last: usize,
    taken: Vec<Taken>,
    /// The queue and slot of a request that shares no batch and has the next one.
    alone: Option<(u64, u32)>,
    /// The running batch is of one request that shares none.
    runs_alone: bool,
    /// Whom the last pass answered.
    answered: Answered,
    /// When the last pass ended, if it answered a tenant that was not held to a limit; 0 if it did not.
    answered_free_tsc: u64,
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
        let Memories { status, doorbell, keys, accounts, records } = memories;
        Self {
            admission: Admission::new(start.personality),
            start,
            life,
            status,
            records: Recorder::new(records),
            processor,
            queues: Vec::new(),
            turns: Turns::default(),
            limits: Limiter::new(accounts),
            doorbell,
            tokens: Tokens { table: keys, token: RefCell::default() },
            lanes,
            class: Class::Cheap,
            paces: [Pace::new(lanes.most), Pace::new(lanes.dear)],
            pass_ns: 0,
            costs: Costs::new(),
            batch: Batch::new(),
            active: Vec::new(),
            holds_back: false,
            lines: Vec::new(),
            with_work: Vec::new(),
            last: 0,
            taken: Vec::with_capacity(BATCH_MAX),
            alone: None,
            runs_alone: false,
            answered: Answered::default(),
            answered_free_tsc: 0,
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
        let mut there = There::default();
        loop {
            let room = self.show_due(there.all());
            if there.all() == 0 || at_ticks_only || room == 0 {
                let woken = self.idle(control, room);
                looked = tsc();
                control.flush();
                if woken.extra != 0 && control.attend(self).is_break() {
                    return End::Stopped;
                }
                self.status.set_heartbeat(looked);
                there = if at_ticks_only && !woken.work { There::default() } else { self.sweep() };
                if there.all() == 0 || room == 0 {
                    continue;
                }
            }
            let ready = self.wait_for_more(there);
            self.collect(ready);
            let answered = self.taken.len();
            let begin = tsc();
            let mut sound = true;
            if answered != 0 {
                // Those that wait longer, and those that now run.
                self.status.set_queue_length((there.all().max(answered) + self.held.len()) as u64);
                // Requests whose answers a timed card holds have had their turn: there it says nothing.
                self.status.set_claimants(if T::TIMED { 0 } else { self.active.len() as u64 });
                self.set_due(begin);
                world::saw(Event::Running);
                let worked = (self.class == Class::Dear).then(world::processor_ns);
                self.processor.run(&mut self.batch);
                let worked = worked.map(|before| world::processor_ns().saturating_sub(before));
                let end = tsc();
                sound = self.reply(begin, end);
                self.account(begin, end, worked);
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
            if answered != 0 {
                let left = there.of(self.class);
                self.paces[self.class as usize].passed(answered, left, now.wrapping_sub(begin));
            }
            self.status.set_queue_length((there.all() + self.held.len()) as u64);
            self.status.set_heartbeat(now);
            if now.wrapping_sub(looked) >= control_every {
                looked = now;
                control.flush();
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
        self.forget_held(queue, ended.tenant);
        if self.turns.leave(ended.tenant) {
            self.limits.forget(ended.tenant);
            // Its index may be another's soon.
            self.answered.forget(ended.tenant);
        }
        self.active.clear();
        true
    }

    /// Joins a queue whose grant takes so many bytes to tell a later daemon of.
    pub fn begin_queue(&mut self, queue: CardQueue, grant: Grant, grant_bytes: usize) {
        let tenant = self.turns.join(grant.tenant, grant.limits.weight, grant.share_percent);
        self.limits.set(tenant, grant.account, grant.limits);
        self.queues.push(Attached::new(queue, grant, grant_bytes, tenant));
    }

    /// What a queue may do from now on, and all queues of its tenant: limits, weight and share hold at
    /// once. Whose a queue is and which domain it uses stays.
    pub fn regrant(&mut self, grant: Grant) {
        let found = self.queues.iter_mut().find(|attached| attached.grant.queue == grant.queue);
        let Some(attached) = found else { return };
        let Grant { rights, share_percent, limits, .. } = grant;
        attached.grant = Grant { rights, share_percent, limits, ..attached.grant.clone() };
        let (tenant, account) = (attached.tenant, attached.grant.account);
        self.turns.set(tenant, limits.weight, share_percent);
        self.limits.set(tenant, account, limits);
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
        let spin = !self.holds_back && self.pass_ns <= link::PASS_SPIN_MAX_NS && self.client_is_elsewhere();
        let timeout = self.until_wake(control.sleep_max());
        let (extra, count) = control.descriptors();
        let pending = || self.has_news();
        let extra = &extra[..count];
        let woken = self.doorbell.wait(&self.status, self.start.poll, spin, extra, Some(timeout), pending);
        // Nothing of an error can be mended here; the channels tell what is wrong with them.
        woken.unwrap_or(Woken { work: true, rung: false, extra: 1 })
    }

    /// Whether any queue has something that was not held back, or the time of what was has come.
    fn has_news(&self) -> bool {
        self.queues.iter().any(Attached::has_news) || (self.holds_back && tsc() >= self.limits.wake_at())
    }

    /// How long until the card must look for itself: at what was held back, or at the latest. One that
    /// looks at ticks looks at that then, too.
    fn until_wake(&self, sleep_max: Duration) -> Duration {
        let at_ticks_only = matches!(self.start.poll, PollMode::Every { .. });
        match self.limits.wake_at() {
            u64::MAX => sleep_max,
            _ if at_ticks_only => sleep_max,
            at => Duration::from_nanos(tsc_to_ns(at.saturating_sub(tsc()))).min(sleep_max),
        }
    }

    /// Whether the client served last runs on another processor.
    fn client_is_elsewhere(&self) -> bool {
        self.queues.get(self.last).is_some_and(|last| last.queue.client_is_elsewhere())
    }

    /// Looks at every queue; returns how many requests a batch may take.
    fn sweep(&mut self) -> There {
        self.active.clear();
        self.limits.begin_sweep();
        let mut there = There::default();
        let (limits, costs, admission) = (&mut self.limits, &self.costs, &self.admission);
        let (look_into, serves) = (costs.any_is_dear(), self.life.serves());
        self.holds_back = false;
        for (index, attached) in self.queues.iter_mut().enumerate() {
            let waiting = attached.sweep();
            if waiting == 0 {
                continue;
            }
            // A card that does not serve says so at once, whatever the limits.
            let count = if serves { limits.room(attached.tenant, waiting, tsc) } else { waiting };
            if count == 0 {
                attached.hold_back();
                self.holds_back = true;
                continue;
            }
            let dear = if look_into {
                attached.classify(|verb, payload_bytes| {
                    let kind = admission.row(verb).map(|row| costs.kind(row, payload_bytes as usize));
                    kind.filter(|kind| costs.is_dear(*kind))
                })
            } else {
                attached.declassify();
                0
            };
            let dear = dear.min(count) as usize;
            there.of[Class::Dear as usize] += dear;
            there.of[Class::Cheap as usize] += count as usize - dear;
            self.active.push(index);
        }
        let pushes = |index: &usize| limits.pushes(self.queues[*index].tenant);
        there.only_pushing = serves && self.active.iter().all(pushes);
        there
    }

    /// Lets others have this processor before a long pass that could be fuller: where there are more cards
    /// than processors, the clients that were just answered are among them. They sleep while a long pass
    /// runs, and so do not use up their time here by polling, as for cheap requests ([`Server::idle`]).
    fn let_others_run(&mut self, mut there: There) -> There {
        let pace = Class::Dear as usize;
        if !self.paces[pace].could_gain(there.of(Class::Dear)) {
            return there;
        }
        let until = tsc().saturating_add(ns_to_tsc(self.pass_ns.saturating_mul(YIELD_PASSES_MAX)));
        for _ in 0..YIELDS_MAX {
            rustix::thread::sched_yield();
            there = self.sweep();
            if !self.paces[pace].could_gain(there.of(Class::Dear)) || tsc() >= until {
                break;
            }
        }
        there
    }

    /// The learned wait: until as many requests of a class are there as may come back, or its time is
    /// over. Not where the client needs this processor to send them. Which classes may begin.
    /// What only tenants at their limits brought waits for those that were just answered a little longer.
    fn wait_for_more(&mut self, mut there: There) -> [bool; 2] {
        let waits = !T::TIMED && self.client_is_elsewhere();
        if !T::TIMED && self.pass_ns > link::PASS_SPIN_MAX_NS {
            there = self.let_others_run(there);
        }
        if !T::TIMED && self.turns.tenants() > 1 {
            there = self.wait_for_owed(there);
        }
        let may_leave_way = waits && !self.start.separate_tenants;
        let leaves_way_ns = (self.pass_ns / LEAVES_WAY_SHARE).min(LEAVES_WAY_NS_MAX);
        let free_until = self.answered_free_tsc.saturating_add(ns_to_tsc(leaves_way_ns));
        loop {
            let is_ready = |class: Class| match there.of(class) {
                0 => false,
                count if waits => self.paces[class as usize].is_ready(count, tsc),
                _ => true,
            };
            let ready = [Class::Cheap, Class::Dear].map(is_ready);
            let leaves_way = may_leave_way && there.only_pushing && tsc() < free_until;
            if (ready != [false; 2] && !leaves_way) || there.all() == 0 {
                return ready;
            }
            std::hint::spin_loop();
            there = self.sweep();
        }
    }

    /// Takes one request into the batch, or answers it with a refusal. Returns its length.
    fn take(&mut self, index: usize, slot: u32) -> usize {
        let attached = &mut self.queues[index];
        attached.took(slot);
        let header = match attached.queue.take(slot, &mut self.payload) {
            Ok(header) => header,
            Err(violation) => {
                attached.abandon();
                if self.life.serves() {
                    self.limits.leave(attached.tenant, tsc);
                }
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
            world::saw(Event::Admitted(payload));
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
                self.records.took(attached.grant.account, row, header.queued_tsc, length);
            }
            Err(outcome) => {
                self.status.add(Counter::Refused, 1);
                self.records.refused(attached.grant.account);
                let now = tsc();
                answer(attached, slot, &header_of(outcome, Codes::new(0, 0), 0, now, now), &[]);
                attached.queue.wake();
                if self.life.serves() {
                    self.limits.leave(attached.tenant, || now);
                }
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
        for (place, (taken, reply)) in self.taken.iter().zip(self.batch.answers()).enumerate() {
            self.records.answered(place, reply.payload.len());
            sound &= reply.codes != code::SELF_CHECK;
            let header = header_of(reply.outcome, reply.codes, fill, begin, end);
            answer(&mut self.queues[taken.queue], taken.slot, &header, &reply.payload);
        }
        for taken in &self.taken {
            let attached = &mut self.queues[taken.queue];
            attached.queue.wake();
            self.limits.leave(attached.tenant, || end);
        }
        self.batch.clear();
        sound
    }

    /// Books a pass; of a dear one it is known for how long it worked, in nanoseconds, and that is its cost: what
    /// others take of this processor meanwhile makes no request dear.
    fn account(&mut self, begin: u64, end: u64, worked: Option<u64>) {
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
        let (kinds, costs) = (&self.kinds, &self.costs);
        let bytes = self.records.passed(begin, end, |place| costs.ns(kinds[place]));
        self.count_bytes(bytes);
        let cost_ns = worked.unwrap_or(pass_ns);
        self.settle(estimated, cost_ns);
        if !self.runs_alone {
            self.costs.learn(&self.kinds, cost_ns);
        }
        let with_cost = self.taken.iter().zip(&self.kinds);
        let queues = &self.queues;
        self.answered.set(with_cost.map(|(taken, kind)| (queues[taken.queue].tenant, self.costs.ns(*kind))));
        let free = |taken: &Taken| !self.limits.pushes(self.queues[taken.queue].tenant);
        self.answered_free_tsc = if self.taken.iter().any(free) { end } else { 0 };
        self.status.add(Counter::Requests, count);
        self.status.add(Counter::Batches, 1);
        self.status.add(Counter::FillSum, count);
        self.status.add(Counter::BusyTsc, span);
        self.status.set_pass(pass_ns);
        self.pass_ns = pass_ns;
        self.limits.set_pass(pass_ns);
    }

    /// Charges a tenant that had a pass for itself with that, rather than with what its requests cost at the
    /// average fill: the lanes that it leaves empty are its own, as they are where its client wishes to share
    /// no pass. No more than a full pass, though: one that was interrupted is not held against it.
    fn settle(&mut self, estimated: u64, cost_ns: u64) {
        let tenant_of = |taken: &Taken| self.queues[taken.queue].tenant;
        let Some(tenant) = self.taken.first().map(tenant_of) else { return };
        if self.taken.iter().any(|taken| tenant_of(taken) != tenant) {
            return;
        }
        let lanes = (self.lanes.dear.max(1) as u64).div_ceil(self.taken.len() as u64);
        let full_ns = if self.runs_alone { u64::MAX } else { estimated.saturating_mul(lanes) };
        self.turns.charge_instead(tenant, estimated, cost_ns.min(full_ns));
    }

    fn count_bytes(&self, (bytes_in, bytes_out): (u64, u64)) {
        self.status.add(Counter::BytesIn, bytes_in);
        self.status.add(Counter::BytesOut, bytes_out);
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
