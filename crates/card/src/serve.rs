//! The request loop of a card: one thread that sweeps its queues, runs batches and answers.
//!
//! ```text
//! sweep -> learned wait -> take (copy, check) -> run -> reply -> sweep ...
//!   '-- nothing there: wait as the poll mode says, on the doorbell and the control channels
//! ```
//! Each request is copied once, out of reach of its client, and then checked; a refused request
//! is answered at once and is not part of the batch. Nothing of a request remains after its
//! batch. Control channels are read whenever the card waits, and every
//! [`CONTROL_EVERY_NS`] while it does not.
//!
//! The loop runs a batch to its end. RSA keys are searched for between batches ([`generating`]).
//!
//! Answers that wait ([`crate::held`]) are held meanwhile, and their slots stay taken.

use crate::admit::{Admission, Holder, Keys, Refused};
use crate::attached::{Attached, Tier};
use crate::control::Control;
use crate::denials::Denials;
use crate::held::{Until, Waits};
use crate::lanes::Lanes;
use crate::life::Life;
use crate::limits::Limiter;
use crate::roles::Roles;
use crate::turns::Turns;
use crate::work::work_ns;
use cca::{Count, Processor};
use link::world::{self, Event};
use link::{
    CardAccounts, CardQueue, Counter, Doorbell, KeyTableView, Samples, StatusPage, Woken, ns_to_tsc, tsc,
    tsc_to_ns,
};
use std::cell::RefCell;
use std::time::Duration;
use wire::code::ACCESS_DENIED;
use wire::control::{CardStart, PollMode};
use wire::frame::{BULK_NONE, Outcome, ReplyHeader};
use wire::grant::Grant;
use wire::pin::verifies;
use wire::point::Point;
use wire::registers::{HeldRegisters, RegisterSet};
use wire::role::Role;
use wire::secret::gives_clear_key;
use wire::tenant::Confinement;
use wire::uses::Uses;
use wire::verb::{Entry, Verb};
use wire::{Codes, KeyReference};

mod accounting;
mod collect;
mod counting;
mod generating;
mod holding;
mod orders;
mod owed;
mod pacing;
mod room;
mod stand_aside;

use accounting::Accounting;
use collect::Collecting;
use counting::Counting;
use generating::Generating;
use holding::Holding;
use pacing::Pacing;

/// Time between two looks of a busy card at its control channels, in nanoseconds.
pub const CONTROL_EVERY_NS: u64 = 1_000_000;
/// Numbers of requests that a batch may take, by tier.
#[derive(Clone, Copy, Default)]
struct There {
    of: [usize; 2],
    /// Whether all these requests are of tenants that are held to a limit and would have more.
    only_pushing: bool,
}

impl There {
    fn all(self) -> usize {
        self.of[0] + self.of[1]
    }

    fn of(self, tier: Tier) -> usize {
        self.of[tier as usize]
    }
}

/// One request of the running batch.
#[derive(Clone, Copy)]
struct Taken {
    queue: usize,
    slot: u32,
    /// Slot of its verb in the verb table.
    verb_slot: usize,
    /// The request's first key reference; `None` if it has none.
    key: Option<KeyReference>,
}

/// The key table, from which admission gets the tokens behind key references, and room for one token.
struct Tokens {
    table: KeyTableView,
    token: RefCell<Vec<u8>>,
}

impl Keys for Tokens {
    fn append(&self, reference: KeyReference, tenant: u32, out: &mut Vec<u8>) -> Option<Uses> {
        let mut token = self.token.borrow_mut();
        let uses = self.table.read(reference, tenant, &mut token).ok();
        out.extend_from_slice(&token);
        uses
    }
}

/// Why the loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The daemon ordered the end.
    Stopped,
    /// A result failed its check, and was withheld.
    SelfCheck,
}

/// The memories that a card shares with its clients and its daemon.
pub struct Memories {
    /// The card's status page.
    pub status: StatusPage,
    /// The doorbell that clients ring.
    pub doorbell: Doorbell,
    /// The key table, with the tokens behind key references.
    pub keys: KeyTableView,
    /// Counts of the requests that each tenant has in flight on all cards.
    pub accounts: CardAccounts,
    /// The card's measurements of its work.
    pub samples: Samples,
}

/// A card that serves.
pub struct Server {
    /// The start order that the card got.
    pub start: CardStart,
    /// The state of the card in its life.
    pub life: Life,
    /// The card's status page.
    pub status: StatusPage,
    /// The processor: master keys and verbs.
    pub processor: Processor,
    /// The card's queues, with their grants.
    pub queues: Vec<Attached>,
    /// The roles that grants name.
    pub roles: Roles,
    /// The turns of tenants.
    turns: Turns,
    /// The limits of tenants.
    limits: Limiter,
    doorbell: Doorbell,
    tokens: Tokens,
    admission: Admission,
    collecting: Collecting,
    pacing: Pacing,
    accounting: Accounting,
    holding: Holding,
    generating: Generating,
    /// Failures of PINs that the daemon is told, and requests that wait for them.
    counting: Counting,
    /// Refusals for want of a right that the daemon is told.
    denials: Denials,
    /// Queues to be ended after the batch, and the rule that their clients broke.
    offences: Vec<(u64, String)>,
}

impl Server {
    /// A card that has entered its sandbox. Its answers are held by the rules `waits`; without rules they are not held.
    pub fn new(
        start: CardStart,
        life: Life,
        memories: Memories,
        processor: Processor,
        lanes: Lanes,
        waits: Option<Box<dyn Waits>>,
    ) -> Self {
        let Memories { status, doorbell, keys, accounts, samples } = memories;
        Self {
            admission: Admission::new(start.personality),
            life,
            status,
            processor,
            queues: Vec::new(),
            roles: Roles::default(),
            turns: Turns::default(),
            limits: Limiter::new(accounts),
            doorbell,
            tokens: Tokens { table: keys, token: RefCell::default() },
            collecting: Collecting::default(),
            pacing: Pacing::new(lanes.most(start.personality)),
            accounting: Accounting::new(lanes, samples),
            holding: Holding::new(waits),
            generating: Generating::default(),
            counting: Counting::default(),
            denials: Denials::default(),
            start,
            offences: Vec::new(),
        }
    }

    /// Serves until the daemon orders the end, or a result fails its check.
    pub fn run(&mut self, control: &mut Control) -> End {
        let end = self.serve(control);
        self.show_all();
        self.end_searches();
        end
    }

    fn serve(&mut self, control: &mut Control) -> End {
        let control_every = ns_to_tsc(CONTROL_EVERY_NS);
        let mut looked = tsc();
        let at_ticks_only = matches!(self.start.poll, PollMode::Every { .. });
        let mut there = There::default();
        loop {
            // What the daemon is told before anything else.
            if self.counting.has_unsent() {
                self.tell_guesses(control);
            }
            if !self.denials.is_empty() {
                self.tell_denials(control);
            }
            let room = self.show_due(there.all());
            // A search for an RSA key that is due: one step of it, unless a request whose turn is owed comes first.
            let has_found = self.generating.has_found();
            if !has_found && let Some(place) = self.next_search() {
                if there.all() == 0 && self.brings_owed(place) {
                    there = self.sweep();
                } else {
                    let left = there.all() + self.holding.len() + self.generating.len();
                    self.status.set_queue_length(left as u64);
                    self.step_search(place);
                    let now = tsc();
                    if now.wrapping_sub(looked) >= control_every {
                        looked = now;
                        control.flush();
                        if control.is_ready() && self.attend(control).is_break() {
                            return End::Stopped;
                        }
                    }
                    there = self.sweep();
                    continue;
                }
                if there.all() == 0 {
                    continue;
                }
            }
            // Nothing to do, or not before the next tick: sleep until a doorbell, a tick or the control channel.
            if !has_found && (there.all() == 0 || at_ticks_only || room == 0) {
                let woken = self.idle(control, room);
                looked = tsc();
                control.flush();
                if woken.extra != 0 && self.attend(control).is_break() {
                    return End::Stopped;
                }
                self.status.set_heartbeat(looked);
                there = if at_ticks_only && !woken.work { There::default() } else { self.sweep() };
                if there.all() == 0 || room == 0 {
                    continue;
                }
            }
            // A pass: wait for company, collect, compute, reply. A request whose key was found waits for no others.
            let ready = if has_found { [false; 2] } else { self.wait_for_more(there) };
            self.collect(ready);
            self.set_aside();
            let answered = self.collecting.taken.len();
            let begin = tsc();
            let mut sound = true;
            if answered != 0 {
                // Requests that wait longer, and those that now run.
                self.status.set_queue_length((there.all().max(answered) + self.holding.len()) as u64);
                // Requests that have a lane of their own have had their turn.
                let waits_its_turn = !self.holding.has_own_lanes();
                let claimants = if waits_its_turn { self.collecting.active.len() as u64 } else { 0 };
                self.status.set_claimants(claimants);
                self.holding.decide(begin, &self.collecting.taken);
                world::saw(Event::Running);
                let worked = self.collecting.has_dear.then(world::processor_ns);
                self.processor.run(&mut self.collecting.batch);
                let worked = worked.map(|before| world::processor_ns().saturating_sub(before));
                let end = tsc();
                sound = self.reply(begin, end);
                self.account(begin, end, worked);
            }
            // Queues that broke the rules end.
            for (queue, rule) in std::mem::take(&mut self.offences) {
                self.end_queue(queue);
                self.status.add(Counter::Offences, 1);
                control.offence(queue, rule);
            }
            if !sound {
                // The roster stays: it shows whose requests were in the pass.
                return End::SelfCheck;
            }
            self.accounting.samples.dismiss();
            // What the pass teaches the next one about waiting.
            let now = tsc();
            there = self.sweep();
            if answered != 0 {
                let left = there.of(self.pacing.tier);
                let pace = &mut self.pacing.paces[self.pacing.tier as usize];
                if self.pacing.tier == Tier::Dear {
                    pace.set_lanes(self.accounting.costs.lanes(self.collecting.kinds[0]));
                }
                pace.passed(answered, left, now.wrapping_sub(begin));
            }
            let set_aside = self.generating.len();
            self.status.set_queue_length((there.all() + self.holding.len() + set_aside) as u64);
            self.status.set_heartbeat(now);
            if now.wrapping_sub(looked) >= control_every {
                looked = now;
                control.flush();
                if control.is_ready() && self.attend(control).is_break() {
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
        self.forget_searches(queue);
        self.forget_parked(queue);
        if self.turns.leave(ended.tenant) {
            self.limits.forget(ended.tenant);
            // This index may soon be another tenant's.
            self.pacing.answered.forget(ended.tenant);
        }
        self.collecting.active.clear();
        self.collecting.emptied = None;
        true
    }

    /// Adds a queue whose grant takes this many bytes in the message to a later daemon.
    pub fn begin_queue(&mut self, queue: CardQueue, grant: Grant, grant_bytes: usize) {
        let tenant = self.turns.join(grant.tenant, grant.limits.weight, grant.share_percent);
        self.limits.set(tenant, grant.account, grant.limits);
        queue.set_registers(self.processor.registers().of(grant.domain));
        self.queues.push(Attached::new(queue, grant, grant_bytes, tenant));
    }

    /// Publishes which master keys the card holds: those of each queue's domain to its client, all of them to
    /// observers.
    pub fn tell_registers(&self) {
        let held = self.processor.registers();
        self.accounting.samples.set_registers(held);
        for attached in &self.queues {
            attached.queue.set_registers(held.of(attached.grant.domain));
        }
        world::saw(Event::Holds(held.of(0)));
    }

    /// Wipes all master keys. This is published to clients first, so that they do not send requests that would be
    /// refused.
    pub fn zeroize(&mut self) {
        self.accounting.samples.set_registers(HeldRegisters::NONE);
        self.queues.iter().for_each(|attached| attached.queue.set_registers(RegisterSet::NONE));
        self.processor.zeroize();
        self.tell_registers();
    }

    /// Notes a role that grants may name.
    pub fn define_role(&mut self, role: Role) {
        let is_used = self.queues.iter().any(|attached| attached.grant.role == role.number);
        self.roles.define(role, is_used);
    }

    /// Applies a new grant to a queue. Limits, weight and share hold at
    /// once for all queues of its tenant. The queue's tenant and domain do not change.
    pub fn regrant(&mut self, grant: Grant) {
        let found = self.queues.iter_mut().find(|attached| attached.grant.queue == grant.queue);
        let Some(attached) = found else { return };
        let Grant { queue, role, share_percent, limits, confinement, .. } = grant;
        attached.grant = Grant { role, share_percent, limits, confinement, ..attached.grant.clone() };
        let (tenant, account) = (attached.tenant, attached.grant.account);
        self.turns.set(tenant, limits.weight, share_percent);
        self.limits.set(tenant, account, limits);
        if confinement == Confinement::Refused {
            self.end_search(queue, Outcome::Quarantined);
        }
    }

    /// Waits as the poll mode says; `extra` is not 0 where a control channel may be ready.
    ///
    /// If the client shares this processor, the card sleeps, and is woken by the next request. Yielding instead, so
    /// that the client brings several requests before the card runs again, is worse: a client that polls for its
    /// answers uses up its time slice first (470 instead of 117,000 requests a second).
    ///
    /// After a long pass clients have slept, and a client with eight requests in flight brings them back within some
    /// microseconds: a card that slept too would have to be rung and woken before each of its passes. So the card stays
    /// awake for as long as that pays. Between two looks it yields this processor to another client that wakes up here,
    /// or to another card.
    fn idle(&mut self, control: &Control, room: usize) -> Woken {
        if self.is_holding(room) {
            return self.idle_holding(control, room);
        }
        let spin = !self.collecting.holds_back && self.client_is_elsewhere();
        let is_long = self.pacing.pass_ns > link::PASS_SPIN_MAX_NS;
        let timeout = self.until_wake(control.sleep_max());
        let (extra, count) = control.descriptors();
        let pending = || {
            let has_news = self.has_news();
            if is_long && !has_news {
                rustix::thread::sched_yield();
            }
            has_news
        };
        let extra = &extra[..count];
        let woken = self.doorbell.wait(&self.status, self.start.poll, spin, extra, Some(timeout), pending);
        // An error cannot be mended here: reading the channels tells what is wrong with them.
        woken.unwrap_or(Woken { work: true, rung: false, extra: 1 })
    }

    /// Whether a queue has a request that was not held back, held-back requests may be taken by now, or a held answer's
    /// record is durable.
    fn has_news(&self) -> bool {
        self.queues.iter().any(Attached::has_news)
            || (self.collecting.holds_back && tsc() >= self.limits.wake_at())
            || self.holding.is_recorded()
    }

    /// How long the card may wait before it must look at requests that were held back, at most `sleep_max`. A card that
    /// looks at ticks looks at such requests then, too.
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
        self.queues.get(self.collecting.last).is_some_and(|last| last.queue.client_is_elsewhere())
    }

    /// Sweeps all queues; returns how many requests a batch may take.
    fn sweep(&mut self) -> There {
        self.collecting.active.clear();
        self.limits.begin_sweep();
        let mut there = There::default();
        let (limits, costs) = (&mut self.limits, &self.accounting.costs);
        let (look_into, serves) = (costs.any_is_dear(), self.life.serves());
        self.collecting.holds_back = false;
        let generating = &self.generating;
        for (index, attached) in self.queues.iter_mut().enumerate() {
            let mut waiting = attached.sweep();
            if waiting != 0 && !generating.is_empty() && !generating.takes(attached.tenant) {
                waiting = attached.hold_back_verb(Verb::PkaKeyGenerate as u16);
            }
            if waiting == 0 {
                continue;
            }
            // A card that does not serve refuses at once, whatever the limits.
            let count = if serves { limits.room(attached.tenant, waiting, tsc) } else { waiting };
            if count == 0 {
                attached.hold_back();
                self.collecting.holds_back = true;
                continue;
            }
            let dear = if look_into {
                attached.classify(|verb, payload_bytes| {
                    let entry = Entry::of_number(verb);
                    let kind = entry.map(|entry| costs.kind(entry.slot as usize, payload_bytes as usize));
                    kind.filter(|kind| costs.is_dear(*kind))
                })
            } else {
                attached.declassify();
                0
            };
            let dear = dear.min(count) as usize;
            there.of[Tier::Dear as usize] += dear;
            there.of[Tier::Cheap as usize] += count as usize - dear;
            self.collecting.active.push(index);
        }
        let pushes = |index: &usize| limits.pushes(self.queues[*index].tenant);
        there.only_pushing = serves && self.collecting.active.iter().all(pushes);
        there
    }

    /// Takes one request into the batch, or refuses it, also if it is longer than `bytes_max`. Returns the length of
    /// its payload in bytes.
    fn take(&mut self, index: usize, slot: u32, bytes_max: usize) -> usize {
        let attached = &mut self.queues[index];
        attached.took(slot);
        // The caller never goes beyond the bound of a batch.
        let Ok(payload) = self.collecting.batch.lend() else { return 0 };
        let is_refused = attached.grant.confinement == Confinement::Refused;
        if !is_refused && attached.joins(self.collecting.pass) {
            // Before the request is examined, since the examination could end this process.
            self.accounting.samples.enroll(attached.grant.queue);
        }
        let header = match attached.queue.take_up_to(slot, payload, bytes_max) {
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
        let length = payload.len();
        let points = self.roles.points(attached.grant.role);
        let admitted = if is_refused {
            Err(Outcome::Quarantined)
        } else if !self.life.serves() {
            Err(Outcome::NotReady)
        } else if header.payload_bytes as usize > bytes_max {
            Err(Outcome::Full)
        } else {
            if header.verb == Verb::PkaKeyGenerate as u16 {
                self.generating.asks(payload);
            }
            let holder = Holder { tenant: attached.grant.tenant, points };
            let checked = self.admission.check(header.verb, payload, holder, &self.tokens);
            if let Err(Refused { outcome: Outcome::Denied, key }) = checked {
                self.denials.refused(&attached.grant, header.verb, &payload[..length], points, key);
            }
            checked.map_err(|refused| refused.outcome)
        };
        // A client may have written this over another request after that was looked into: it is to ask another card.
        let admitted = admitted.and_then(|admitted| match admitted.verb {
            Verb::PkaKeyGenerate if !self.generating.takes(attached.tenant) => Err(Outcome::NotReady),
            _ => Ok(admitted),
        });
        let admitted = admitted.and_then(|admitted| {
            let is_counted = verifies(admitted.verb) && !points.permits(Point::PinUncounted);
            let tenant = attached.grant.tenant;
            if is_counted && counting::refuses(&self.processor, tenant) {
                Err(Outcome::Denied)
            } else {
                Ok(admitted)
            }
        });
        if let Ok(admitted) = &admitted {
            world::saw(Event::Admitted(payload));
            let (own, tokens) = payload.split_at(admitted.payload_bytes);
            let (processor, domain) = (&self.processor, attached.grant.domain);
            let is_prepared = |token: &[u8]| processor.has_prepared(domain, token);
            let level = processor.engine().level();
            self.collecting.work_ns += work_ns(level, admitted.verb, own, tokens, is_prepared);
            let of = (attached.grant.tenant, attached.grant.domain);
            self.collecting.batch.keep(admitted.verb, of, points, admitted.payload_bytes);
        }
        let admitted = admitted.map(|admitted| (admitted.slot, admitted.key)).inspect_err(|_| {
            // Lending the payload's place anew wipes it.
            let _ = self.collecting.batch.lend();
        });
        match admitted {
            Ok((verb_slot, key)) => {
                self.collecting.taken.push(Taken { queue: index, slot, verb_slot, key });
                self.collecting.kinds.push(self.accounting.costs.kind(verb_slot, length));
                self.accounting.samples.took(attached.grant.account, verb_slot, header.queued_tsc, length);
            }
            Err(outcome) => self.refuse(index, slot, outcome),
        }
        length
    }

    /// Answers a request of the queue at this index that was taken, and does not run.
    fn refuse(&mut self, index: usize, slot: u32, outcome: Outcome) {
        let attached = &mut self.queues[index];
        self.status.add(Counter::Refused, 1);
        self.accounting.samples.refused(attached.grant.account);
        let now = tsc();
        answer(attached, slot, &header_of(outcome, Codes::new(0, 0), 0, now, now), &[], false);
        attached.queue.wake();
        if self.life.serves() {
            self.limits.leave(attached.tenant, || now);
        }
    }

    /// Answers the batch, and holds answers that must wait; `false` if a result was withheld because it failed its own
    /// check.
    fn reply(&mut self, begin: u64, end: u64) -> bool {
        let fill = self.collecting.taken.len() as u32;
        let (mut sound, mut parked) = (true, 0);
        for place in 0..self.collecting.taken.len() {
            let (taken, reply) = (self.collecting.taken[place], &self.collecting.batch.answers()[place]);
            self.accounting.samples.answered(place, reply.codes.return_code, reply.payload.len());
            sound &= !reply.is_unsound;
            let is_done = reply.outcome == Outcome::Answered && reply.codes.has_output();
            self.collecting.refused.push(!is_done);
            if reply.outcome == Outcome::Answered && reply.codes == ACCESS_DENIED {
                let verb = Entry::of_slot(taken.verb_slot).map_or(0, |entry| entry.verb as u16);
                self.denials.answered(&self.queues[taken.queue].grant, verb, taken.key);
            }
            let count = reply.count;
            if let Some(number) = count.and_then(|count| self.count(place, count)) {
                self.holding.record(place, number);
            }
            if matches!(count, Some(Count::Waits(_))) {
                self.accounting.samples.left(place);
                parked += 1;
                continue;
            }
            let reply = &self.collecting.batch.answers()[place];
            let header = header_of(reply.outcome, reply.codes, fill, begin, end);
            let is_secret = Entry::of_slot(taken.verb_slot).is_some_and(|entry| gives_clear_key(entry.verb));
            match self.holding.until(place) {
                Until::Now => {
                    answer(&mut self.queues[taken.queue], taken.slot, &header, &reply.payload, is_secret);
                }
                until => self.hold(place, until, header),
            }
        }
        for (place, taken) in self.collecting.taken.iter().enumerate() {
            if self.holding.until(place) == Until::Now {
                let attached = &mut self.queues[taken.queue];
                attached.queue.wake();
                self.limits.leave(attached.tenant, || end);
            }
        }
        self.collecting.batch.clear();
        self.collecting.parked = parked;
        self.unpark();
        sound
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

/// Puts a reply into the queue, where a reply that holds a secret does not stay. A request that left no room for its
/// answer is answered as malformed.
fn answer(attached: &mut Attached, slot: u32, header: &ReplyHeader, payload: &[u8], is_secret: bool) {
    let put = match is_secret {
        true => attached.queue.put_secret_reply(slot, header, payload),
        false => attached.queue.put_reply(slot, header, payload),
    };
    if put.is_err() {
        let malformed = ReplyHeader { outcome: Outcome::Malformed, codes: Codes::new(0, 0), ..*header };
        // The slot was taken and an empty payload fits: this cannot be refused.
        let _ = attached.queue.put_reply(slot, &malformed, &[]);
    }
}
