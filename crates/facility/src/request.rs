//! One request on its way: written, sent, perhaps sent again, answered.
//!
//! ```text
//! prepare --codes known here--> answered
//!    |
//!   send <--NotReady, stale key reference: nothing ran-----------------.
//!    |                                                                 |
//! in flight --reply--> interpret --------------------------------------'
//!    |                     |--no master key, and another card holds some--> send
//!    |                     '--Answered--> answered
//!    |'--card died, not taken--> send
//!    '--card died, taken--> once more, alone --card died, taken--> failed
//! ```
//!
//! Every request that a card had taken when it died may be the one that killed it. Each of these
//! suspects is sent once more, one at a time, and in a batch of its own: if that card dies as well,
//! it was the cause. It fails, and the others go on.
//!
//! This is the way of a call, whose thread waits. An event loop takes the same steps ([`step`]), and waits for none:
//!
//! | | a call | an event loop ([`completions`]) |
//! |---|---|---|
//! | the answer | waited for on its queue, as the poll mode says | looked for between other things |
//! | the daemon | asked, and its answer waited for | asked; requests go on when the answer has come |
//! | no card, or no slot | asks the daemon again, with pauses | the state `Waiting` |
//! | no attached card holds the keys | looks for one that does before it sends | sends, and asks for one that does |
//! | labels | opened before the request is sent | the state `Labels` |
//! | not ready | sleeps before it sends again | the state `Paused` |
//! | a card died with it | a lock lets one thread at a time send its suspect | the state `Suspect`, one at a time in flight |
//!
//! Calls do not go through the loop's states: one empty verb after another takes 1.08 to 1.11 of the time there, on two
//! processors of a virtual machine (`cryptand bench --only queues --filter "one after another"`).

pub(crate) mod completions;
pub(crate) mod filled;
mod mac;
pub mod private_keys;
mod step;
pub(crate) mod target;
pub(crate) mod ticket;

use crate::cards::pool::{Attached, NotSent, Pool, Want};
use crate::cards::route::{self, Selection};
use crate::cards::shares::Shares;
use crate::control::connection::{ANSWER_WAIT, Connection, Patience, Repeat};
use crate::control::{Opened, refusals, unexpected};
use crate::error::{FacilityError, ProtocolError, Ran};
use crate::labels::{Labels, NOT_YET, OpenLabel};
use crate::reply::{Reply, wipe_key};
use crate::request::target::{Held, Targets, WRITE_TARGETS};
use link::{InFlight, LinkError, world};
use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use token::Holds;
use wire::bounds::{
    BULK_BYTES_MAX, INLINE_BYTES_MAX, KEYWORD_BYTES, LABEL_BYTES, LIVENESS_WAIT_NS, TAKEN_MAX,
    TOKEN_BYTES_MAX,
};
use wire::code::{self, Codes};
use wire::control::{ClientReply, ClientRequest, PollMode, Refusal};
use wire::frame::{Argument, Arguments, FrameError, Outcome, ReplyHeader, Walk, replace_reference};
use wire::registers::RegisterSet;
use wire::secret::{carries_clear_key, gives_clear_key};
use wire::verb::{Class, Direction, Entry, Kind, Length, Parameter};
use wire::{KeyReference, Label};

pub(crate) use step::{Fate, is_broken};

/// Times that a request is sent again because cards died that had not taken it, or a key was replaced.
const RESENT_MAX: u32 = 16;
/// Times that the labels of a request are opened again because a card refused their references: another share may have
/// opened a label again meanwhile, and its entry may have given way again.
const REOPENED_MAX: u32 = 4;
/// Request buffers that a thread keeps for reuse.
const BUFFERS_KEPT: usize = 64;
/// Largest request buffer that is kept for reuse.
const BUFFER_KEPT_BYTES: usize = 64 * 1024;
/// First and longest pause while waiting for a card, or for a slot.
const PAUSE_FIRST: Duration = Duration::from_micros(50);
const PAUSE_LONGEST: Duration = Duration::from_millis(20);
/// Room in a reply beside what its arguments ask for: padding that a verb adds.
const REPLY_SLACK: usize = 64;

/// Name of the question for a label in error messages.
pub(crate) const OPEN_LABEL: &str = "open a key label";

/// What a request uses of its process.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    pub connection: &'a Connection,
    pub shares: &'a Shares,
    /// The queues of the thread's share.
    pub pool: &'a Pool,
    /// The labels of the thread's share.
    pub labels: &'a Labels,
    /// The labels that any thread has opened.
    pub process_labels: &'a Labels,
    /// Held while the one suspect is in flight.
    pub alone: &'a Mutex<()>,
    /// Threads of this process that compute on their own.
    pub running: u64,
    pub card_wait: Duration,
    pub answer_wait: Duration,
}

/// How long to stay with a request.
#[derive(Clone, Copy)]
pub(crate) enum Stay {
    /// Look once. Only the death of a card, and a card that cannot serve, make this wait.
    Look,
    /// Until it is answered.
    Wait(PollMode),
}

/// A label in a request: the position of its parameter, where its reference stands in the payload, and which reference
/// that is.
struct Labelled {
    position: usize,
    at: usize,
    label: Arc<OpenLabel>,
    sent: KeyReference,
}

/// Why a request was not written.
enum Unwritten {
    Label(Unopened),
    Argument(FrameError),
}

impl From<FrameError> for Unwritten {
    fn from(cause: FrameError) -> Self {
        Self::Argument(cause)
    }
}

/// A request from its writing to its answer: payload, labels, and where it is in flight.
pub(crate) struct Request {
    want: Want,
    payload: Vec<u8>,
    reply_bytes_max: usize,
    labels: Vec<Labelled>,
    labelled: u64,
    targets: Targets,
    deaths: u32,
    resent: u32,
    /// Times that a card could not serve it, and when the first said so.
    refused: u32,
    refused_first: Option<Instant>,
    /// Times that its labels were opened again.
    reopened: u32,
    looked_tsc: u64,
    /// When its answer was first looked for in vain; 0 before.
    awaited_tsc: u64,
    /// When it was last sent, by the time-stamp counter.
    sent_tsc: u64,
    /// The card that it was last sent to by an event loop.
    sent_to: Option<u32>,
    flight: Option<(Arc<Attached>, InFlight)>,
}

/// Result of preparing a request.
#[allow(clippy::large_enum_variant, reason = "lives on the stack of one call")]
pub(crate) enum Prepared {
    /// The request can be sent.
    Request(Request),
    /// The codes are known here already.
    Answered(Codes),
}

thread_local! {
    static BUFFERS: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

impl Request {
    /// Writes the request, with labels replaced by references.
    pub fn prepare(
        around: &Surroundings<'_>,
        domain: u16,
        selection: Selection,
        arguments: &Arguments<'_>,
    ) -> Result<Prepared, FacilityError> {
        // A target's record is opened by each request, since its content matters; a key is opened once.
        Self::prepare_with(
            around.labels,
            |label| around.process_labels.reference(label, |label| opened_key(around, label)),
            |label| open(around, label),
            domain,
            selection,
            arguments,
        )
    }

    /// As [`Request::prepare`], where `open_key` opens labels of keys that are not in the table, and `open_target`
    /// those of records that new tokens go to.
    pub fn prepare_with(
        labels: &Labels,
        open_key: impl FnMut(&Label) -> Result<KeyReference, Unopened>,
        open_target: impl FnMut(&Label) -> Result<Opened, Unopened>,
        domain: u16,
        selection: Selection,
        arguments: &Arguments<'_>,
    ) -> Result<Prepared, FacilityError> {
        let entry = arguments.verb().entry();
        let mut request = Self {
            want: Self::want(domain, selection, entry),
            payload: buffer(),
            reply_bytes_max: reply_bytes_max(entry, arguments),
            labels: Vec::new(),
            labelled: 0,
            targets: Targets::default(),
            deaths: 0,
            resent: 0,
            refused: 0,
            refused_first: None,
            reopened: 0,
            looked_tsc: 0,
            awaited_tsc: 0,
            sent_tsc: 0,
            sent_to: None,
            flight: None,
        };
        match request.write(labels, open_key, open_target, arguments) {
            Ok(()) => {}
            Err(Unwritten::Label(Unopened::Codes(codes))) => return Ok(Prepared::Answered(codes)),
            Err(Unwritten::Label(Unopened::Failed(error))) => return Err(error),
            Err(Unwritten::Argument(cause)) => {
                return Err(FacilityError::Arguments { verb: entry.verb, cause });
            }
        }
        if request.payload.len() > BULK_BYTES_MAX {
            return Err(FacilityError::TooLong {
                verb: entry.verb,
                bytes: request.payload.len(),
                bytes_max: BULK_BYTES_MAX,
            });
        }
        Ok(Prepared::Request(request))
    }

    /// What a request of this kind needs of a card.
    pub fn want(domain: u16, selection: Selection, entry: &'static Entry) -> Want {
        let secret = carries_clear_key(entry.verb);
        let registers = world::needs(entry.registers);
        let (avoid, tried) = (None, 0);
        Want { entry, domain, selection, avoid, registers, tried, alone: false, secret, long: false }
    }

    /// Writes the payload, with references in the place of labels.
    fn write(
        &mut self,
        labels: &Labels,
        mut open_key: impl FnMut(&Label) -> Result<KeyReference, Unopened>,
        open_target: impl FnMut(&Label) -> Result<Opened, Unopened>,
        arguments: &Arguments<'_>,
    ) -> Result<(), Unwritten> {
        let with_targets = self.open_targets(open_target, arguments).map_err(Unwritten::Label)?;
        if let Some(arguments) = &with_targets {
            self.reply_bytes_max = reply_bytes_max(self.want.entry, arguments);
        }
        let arguments = with_targets.as_ref().unwrap_or(arguments);
        self.want.secret = holds_clear_key(self.want.entry, arguments);
        let Self { payload, labels: places, labelled, .. } = self;
        arguments.write_request_by(payload, |key| {
            let Some(field) = label_field(key.bytes) else { return Ok(None) };
            let label = || Label::from_field(field).map_err(|_| Unopened::Codes(code::LABEL_FORMAT));
            let label = labels.resolve(field, label, &mut open_key).map_err(Unwritten::Label)?;
            let sent = label.reference();
            *labelled |= 1 << key.position;
            places.push(Labelled { position: key.position, at: key.at, label, sent });
            Ok(Some(sent))
        })
    }

    /// Notes the labels of records that new tokens go to, and opens them. Returns the arguments with the records'
    /// content in the place of the labels; none if there is no such label.
    fn open_targets<'a>(
        &mut self,
        mut open: impl FnMut(&Label) -> Result<Opened, Unopened>,
        arguments: &Arguments<'a>,
    ) -> Result<Option<Arguments<'a>>, Unopened> {
        let mut with_targets = None;
        for position in Targets::positions(self.want.entry) {
            let Some(field) = label_field(arguments.bytes(position)) else { continue };
            let label = Label::from_field(field).map_err(|_| Unopened::Codes(code::LABEL_FORMAT))?;
            self.targets.add(position, &label).map_err(Unopened::Codes)?;
            let held = held(open(&label))?;
            self.targets.holds(position, held);
            held.put(with_targets.get_or_insert_with(|| arguments.clone()), position);
        }
        Ok(with_targets)
    }

    /// Puts the content of a target's record into the payload.
    fn put_target(&mut self, position: usize, held: Held) {
        let verb = self.want.entry.verb;
        self.targets.holds(position, held);
        let mut payload = buffer();
        // The payload was written here, so it can be read and written again.
        if let Ok(mut arguments) = Arguments::read_request(verb, &self.payload) {
            held.put(&mut arguments, position);
            let _ = arguments.write_request(&mut payload);
        }
        self.keep_buffer();
        self.payload = payload;
        for field in Walk::request(verb, &self.payload).flatten() {
            let labelled = self.labels.iter_mut();
            for labelled in labelled.filter(|labelled| labelled.position == field.position) {
                labelled.at = field.range.start;
            }
        }
    }

    /// Wipes the payload where it can hold a clear key, and keeps its buffer for another request.
    fn keep_buffer(&mut self) {
        if self.want.secret {
            wipe_key(&mut self.payload);
        }
        let mut buffer = std::mem::take(&mut self.payload);
        if buffer.capacity() > 0 && buffer.capacity() <= BUFFER_KEPT_BYTES {
            buffer.clear();
            // While the thread ends there is no place to keep it.
            let _ = BUFFERS.try_with(|buffers| {
                let mut buffers = buffers.borrow_mut();
                if buffers.len() < BUFFERS_KEPT {
                    buffers.push(buffer);
                }
            });
        }
    }

    /// Notes whether it fits a slot.
    fn measure(&mut self) {
        self.want.long = self.payload.len().max(self.reply_bytes_max) > INLINE_BYTES_MAX;
    }

    /// Sends the request; where no card is ready, waits for one up to the bound.
    pub fn send(&mut self, around: &Surroundings<'_>, wait_for_slot: bool) -> Result<(), FacilityError> {
        let mut begin = None;
        let mut pause = PAUSE_FIRST;
        let mut pool = around.pool;
        self.measure();
        loop {
            let force = begin.is_some();
            let (payload, room) = (&self.payload, self.reply_bytes_max);
            let sent = pool.send(around.connection, &self.want, payload, room, around.running, force);
            let verb = self.want.entry.verb;
            let (bound, error) = match sent {
                Ok(flight) => {
                    self.flight = Some(flight);
                    self.awaited_tsc = 0;
                    self.sent_tsc = link::tsc();
                    return Ok(());
                }
                Err(NotSent::Full) if !wait_for_slot => {
                    let in_flight = around.shares.in_flight() as usize;
                    return Err(FacilityError::Full { in_flight });
                }
                Err(NotSent::Full) => {
                    let in_flight = around.shares.in_flight() as usize;
                    (around.answer_wait, FacilityError::Full { in_flight })
                }
                // The card that held the request's keys is gone: the search for a card begins anew.
                Err(NotSent::NotReady) if self.want.tried != 0 => {
                    self.want.tried = 0;
                    continue;
                }
                Err(NotSent::NotReady) => {
                    let personality = match route::personalities(self.want.entry) {
                        [only] => Some(*only),
                        _ => None,
                    };
                    let waited = around.card_wait;
                    (around.card_wait, FacilityError::NoCard { verb, personality, waited })
                }
                Err(NotSent::Failed(
                    error @ (FacilityError::NotRunning { .. }
                    | FacilityError::NoAutostart { .. }
                    | FacilityError::DaemonGone { .. }
                    | FacilityError::DaemonSilent { .. }),
                )) => (around.card_wait, error),
                // A tenant's queues may be taken by other shares of this process.
                Err(NotSent::Failed(
                    error @ FacilityError::Refused { refusal: Refusal::Full { .. }, .. },
                )) if std::ptr::eq(pool, around.pool) => {
                    pool = &around.shares.borrow(&self.want).ok_or(error)?.pool;
                    continue;
                }
                Err(NotSent::Failed(error)) => return Err(error),
            };
            if world::elapsed(*begin.get_or_insert_with(world::now)) >= bound {
                return Err(error);
            }
            // The only card there is may be the one that could not serve a moment ago.
            self.want.avoid = None;
            world::sleep(pause);
            pause = (pause * 2).min(PAUSE_LONGEST);
        }
    }

    /// Collects the answer into `reply`; false where there is none yet.
    pub fn collect(
        &mut self,
        around: &Surroundings<'_>,
        reply: &mut Reply,
        stay: Stay,
    ) -> Result<bool, FacilityError> {
        loop {
            match self.receive(around, reply, stay)? {
                Received::Nothing => return Ok(false),
                Received::Header(attached, header) => {
                    if self.interpret(around, reply, &attached, &header)? {
                        return Ok(true);
                    }
                }
                Received::Death { taken: true } => return self.again_alone(around, reply).map(|()| true),
                Received::Death { taken: false } => self.again_freely(around)?,
            }
        }
    }

    fn receive(
        &mut self,
        around: &Surroundings<'_>,
        reply: &mut Reply,
        stay: Stay,
    ) -> Result<Received, FacilityError> {
        let verb = self.want.entry.verb;
        let Some((attached, in_flight)) = &self.flight else {
            return Err(FacilityError::Forked { verb });
        };
        let looked = match stay {
            Stay::Look => match attached.queue.try_reply(in_flight, reply.buffer()) {
                Ok(None) if !may_be_dead(attached, &mut self.looked_tsc) => {
                    if !is_overdue(&mut self.awaited_tsc, around.answer_wait) {
                        return Ok(Received::Nothing);
                    }
                    Err(LinkError::TimedOut)
                }
                // The answer may have come between the look and the death.
                Ok(None) => attached.queue.try_reply(in_flight, reply.buffer()),
                looked => looked,
            },
            Stay::Wait(mode) => {
                let deadline = world::now() + around.answer_wait;
                attached.queue.wait(in_flight, mode, Some(deadline), reply.buffer()).map(Some)
            }
        };
        if let Err(LinkError::TimedOut) = looked {
            return Err(FacilityError::TimedOut { verb, waited: around.answer_wait });
        }
        let Some((attached, in_flight)) = self.flight.take() else {
            return Err(FacilityError::Forked { verb });
        };
        attached.done();
        match looked {
            Ok(Some(header)) => Ok(Received::Header(attached, header)),
            Ok(None) | Err(LinkError::Dead) => {
                around.pool.lose(&attached);
                Ok(Received::Death { taken: attached.queue.was_taken(&in_flight) })
            }
            Err(LinkError::Forked) => Err(FacilityError::Forked { verb }),
            Err(cause) => {
                // Nothing that this card says about the request can be believed.
                around.pool.shun(&attached);
                Err(FacilityError::Protocol { operation: "read a reply", cause: ProtocolError::Link(cause) })
            }
        }
    }

    /// Takes in a card's reply; false if the request was sent again.
    fn interpret(
        &mut self,
        around: &Surroundings<'_>,
        reply: &mut Reply,
        attached: &Arc<Attached>,
        header: &ReplyHeader,
    ) -> Result<bool, FacilityError> {
        match self.judge(around.pool, reply, attached, header)? {
            Judged::Answered => {
                if let Some(write) = self.write_of_targets(reply) {
                    let (repeat, patience) = (Repeat::Never, Patience::Reconnect);
                    let answer =
                        around.connection.ask(WRITE_TARGETS, &write, repeat, patience, ANSWER_WAIT)?.0;
                    self.targets.written(answer, reply)?;
                }
                return Ok(true);
            }
            Judged::NotReady => {
                self.pause_refused(around)?;
                self.want.avoid = Some(attached.card);
                self.send(around, true)?;
                return Ok(false);
            }
            // If no other card holds the request's keys, that refusal is the answer.
            Judged::WithoutKeys => return Ok(!self.send_to_holder(around)),
            Judged::StaleKey => {
                if let Some(codes) = self.reopen(around)? {
                    reply.fill(self.want.entry.verb, codes, &[]);
                    return Ok(true);
                }
            }
        }
        self.resent += 1;
        self.send(around, true)?;
        Ok(false)
    }

    /// Sends a request to a card that holds its keys and was not tried; false if there is none. Waits only for a slot
    /// of a card that holds them.
    fn send_to_holder(&mut self, around: &Surroundings<'_>) -> bool {
        let (begin, mut pause) = (world::now(), PAUSE_FIRST);
        loop {
            let (payload, room) = (&self.payload, self.reply_bytes_max);
            match around.pool.send(around.connection, &self.want, payload, room, around.running, false) {
                Ok(flight) => {
                    self.flight = Some(flight);
                    self.awaited_tsc = 0;
                    self.sent_tsc = link::tsc();
                    return true;
                }
                Err(NotSent::Full) if world::elapsed(begin) < around.answer_wait => world::sleep(pause),
                Err(_) => return false,
            }
            pause = (pause * 2).min(PAUSE_LONGEST);
        }
    }

    /// The request by which the daemon writes new tokens into their records before the answer is given; none if there
    /// are no such tokens.
    pub fn write_of_targets(&self, reply: &Reply) -> Option<ClientRequest> {
        self.targets.write(self.want.domain, reply)
    }

    /// What a card's reply means for the request, given that its frame is valid.
    fn judge(
        &mut self,
        pool: &Pool,
        reply: &mut Reply,
        attached: &Arc<Attached>,
        header: &ReplyHeader,
    ) -> Result<Judged, FacilityError> {
        let (verb, card) = (self.want.entry.verb, attached.card);
        let malformed = |cause| FacilityError::Protocol { operation: "read a reply", cause };
        match header.outcome {
            Outcome::Answered => {
                reply.accept(verb, header, self.labelled, card).map_err(|cause| {
                    pool.shun(attached);
                    malformed(cause)
                })?;
                let heeds_keys = !world::needs(RegisterSet::ALL).is_empty();
                let is_pure = self.want.entry.class == Class::Pure;
                if heeds_keys && is_pure && reply.codes() == code::MASTER_KEY_NOT_LOADED {
                    self.want.note_without_keys(card);
                    return Ok(Judged::WithoutKeys);
                }
                Ok(Judged::Answered)
            }
            Outcome::Malformed => Err(malformed(ProtocolError::Malformed)),
            Outcome::Denied => Err(FacilityError::Forbidden { verb }),
            Outcome::NotServed => Err(FacilityError::NotServed { verb }),
            Outcome::Quarantined => Err(FacilityError::Quarantined { verb }),
            Outcome::NotReady => Ok(Judged::NotReady),
            Outcome::Full => Err(FacilityError::CardFull { verb, card }),
            Outcome::KeyReference
                if self.reopened >= REOPENED_MAX || (self.labelled == 0 && self.targets.is_empty()) =>
            {
                Err(FacilityError::StaleKey { verb })
            }
            Outcome::KeyReference => {
                self.reopened += 1;
                Ok(Judged::StaleKey)
            }
        }
    }

    /// Before a request goes to another card because one could not serve it: at once the first time, then
    /// ever more slowly, for as long as a card is waited for.
    fn pause_refused(&mut self, around: &Surroundings<'_>) -> Result<(), FacilityError> {
        if let Some(pause) = self.pause_after_refusal(around.card_wait)? {
            world::sleep(pause);
        }
        Ok(())
    }

    /// The pause before a refused request goes to another card; none if it may go at once.
    fn pause_after_refusal(&mut self, card_wait: Duration) -> Result<Option<Duration>, FacilityError> {
        let first = *self.refused_first.get_or_insert_with(world::now);
        let waited = world::elapsed(first);
        if self.refused > 0 && waited >= card_wait {
            return Err(FacilityError::NoCard { verb: self.want.entry.verb, personality: None, waited });
        }
        let pause = PAUSE_FIRST.saturating_mul(1 << self.refused.min(16)).min(PAUSE_LONGEST);
        let pause = (self.refused > 0).then(|| pause.min(card_wait.saturating_sub(waited)));
        self.refused += 1;
        Ok(pause)
    }

    /// Opens the labels of the request again, and writes the new references into it.
    fn reopen(&mut self, around: &Surroundings<'_>) -> Result<Option<Codes>, FacilityError> {
        for labelled in &mut self.labels {
            let stale = labelled.sent;
            let renewed = |label: &Label| {
                around.process_labels.renewed(label, stale, |label| opened_key(around, label))
            };
            match labelled.label.refresh(stale, renewed) {
                Ok(reference) => {
                    labelled.sent = reference;
                    replace_reference(&mut self.payload, labelled.at, reference);
                }
                Err(unopened) => {
                    for labels in [around.labels, around.process_labels] {
                        labels.forget(&labelled.label.label);
                    }
                    return match unopened {
                        Unopened::Codes(codes) => Ok(Some(codes)),
                        Unopened::Failed(error) => Err(error),
                    };
                }
            }
        }
        for (position, label) in self.targets.labels() {
            match held(open(around, &label)) {
                Ok(held) => self.put_target(position, held),
                Err(Unopened::Codes(codes)) => return Ok(Some(codes)),
                Err(Unopened::Failed(error)) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Sends a request again that no card has taken.
    fn again_freely(&mut self, around: &Surroundings<'_>) -> Result<(), FacilityError> {
        self.resent += 1;
        if self.resent > RESENT_MAX {
            let verb = self.want.entry.verb;
            return Err(FacilityError::CardDied { verb, cards: self.deaths, ran: Ran::No });
        }
        self.send(around, true)
    }

    /// Sends a suspect once more: of this process's suspects the only one in flight, and on its card
    /// in a batch of its own, so that no other client's request is taken with it.
    fn again_alone(&mut self, around: &Surroundings<'_>, reply: &mut Reply) -> Result<(), FacilityError> {
        let verb = self.want.entry.verb;
        self.deaths += 1;
        if self.want.entry.class == Class::Once || self.deaths >= TAKEN_MAX {
            return Err(FacilityError::CardDied { verb, cards: self.deaths, ran: Ran::Maybe });
        }
        self.want.alone = true;
        let _alone = around.alone.lock().unwrap_or_else(PoisonError::into_inner);
        self.once_more(around, reply).map_err(|error| match error.ran() {
            Ran::Maybe => error,
            // This attempt did not run, but the card before may have run the request.
            Ran::No => FacilityError::CardDied { verb, cards: self.deaths, ran: Ran::Maybe },
        })
    }

    fn once_more(&mut self, around: &Surroundings<'_>, reply: &mut Reply) -> Result<(), FacilityError> {
        let verb = self.want.entry.verb;
        self.send(around, true)?;
        loop {
            match self.receive(around, reply, Stay::Wait(PollMode::Adaptive))? {
                Received::Header(attached, header) => {
                    if self.interpret(around, reply, &attached, &header)? {
                        return Ok(());
                    }
                }
                Received::Death { taken: false } => self.again_freely(around)?,
                Received::Death { taken: true } | Received::Nothing => {
                    return Err(FacilityError::CardDied { verb, cards: self.deaths + 1, ran: Ran::Maybe });
                }
            }
        }
    }

    /// Whether there is nothing to collect: neither an answer, nor a card that may have died since
    /// this was last looked for. A few loads.
    pub fn is_quiet(&mut self, now_tsc: u64, liveness_tsc: u64) -> bool {
        let Some((attached, in_flight)) = &self.flight else { return false };
        if self.looked_tsc == 0 {
            self.looked_tsc = now_tsc;
        }
        !in_flight.is_over()
            && now_tsc.wrapping_sub(self.looked_tsc) < liveness_tsc
            && attached.queue.check().is_ok()
    }

    /// When it was last sent, by the time-stamp counter.
    pub fn sent_tsc(&self) -> u64 {
        self.sent_tsc
    }

    /// Whether a timer of this interval has ticked since the request was sent.
    pub fn has_ticked(&self, now_tsc: u64, interval_us: u32) -> bool {
        let tick = |tsc| link::tsc_to_ns(tsc) / 1000 / u64::from(interval_us.max(1));
        tick(now_tsc) != tick(self.sent_tsc)
    }

    /// The card that the request is in flight on.
    pub fn card(&self) -> Option<u32> {
        self.flight.as_ref().map(|(attached, _)| attached.card)
    }

    /// The request in flight, to be waited for together with others.
    pub fn in_flight(&self) -> Option<&InFlight> {
        self.flight.as_ref().map(|(_, in_flight)| in_flight)
    }
}

/// What a card's reply means for its request.
pub(crate) enum Judged {
    /// It is answered.
    Answered,
    /// The card answers that it holds no master key for it: another may. The reply holds that answer.
    WithoutKeys,
    /// The card cannot serve it now; nothing ran.
    NotReady,
    /// A label's reference went stale; nothing ran.
    StaleKey,
}

enum Received {
    Nothing,
    Header(Arc<Attached>, ReplyHeader),
    /// The card died, with or without having taken the request.
    Death {
        taken: bool,
    },
}

impl Drop for Request {
    fn drop(&mut self) {
        if let Some((attached, _)) = self.flight.take() {
            attached.done();
        }
        self.keep_buffer();
    }
}

/// An empty buffer for a request, with room that it had before.
fn buffer() -> Vec<u8> {
    BUFFERS.try_with(|buffers| buffers.borrow_mut().pop()).ok().flatten().unwrap_or_default()
}

/// How often the kernel is asked whether a card has died, in counts of the time-stamp counter.
pub(crate) fn liveness_tsc() -> u64 {
    link::ns_to_tsc(LIVENESS_WAIT_NS / 4)
}

/// Whether the card has died; asks the kernel only now and then.
fn may_be_dead(attached: &Attached, looked_tsc: &mut u64) -> bool {
    let now = link::tsc();
    if *looked_tsc == 0 {
        *looked_tsc = now;
    }
    let is_due = now.wrapping_sub(*looked_tsc) >= liveness_tsc();
    if !is_due && attached.queue.check().is_ok() {
        return false;
    }
    *looked_tsc = now;
    attached.queue.is_dead()
}

/// Whether an answer has been looked for in vain for too long.
fn is_overdue(awaited_tsc: &mut u64, answer_wait: Duration) -> bool {
    let now = link::tsc();
    if *awaited_tsc == 0 {
        *awaited_tsc = now;
    }
    let answer_wait = u64::try_from(answer_wait.as_nanos()).unwrap_or(u64::MAX);
    now.wrapping_sub(*awaited_tsc) >= link::ns_to_tsc(answer_wait)
}

/// Why a label was not opened.
pub(crate) enum Unopened {
    /// The verb's codes for it.
    Codes(Codes),
    Failed(FacilityError),
}

impl Unopened {
    /// A copy for another request with the same label.
    pub fn again(&self) -> Self {
        match self {
            Self::Codes(codes) => Self::Codes(*codes),
            Self::Failed(error) => Self::Failed(error.again()),
        }
    }
}

fn open(around: &Surroundings<'_>, label: &Label) -> Result<Opened, Unopened> {
    let operation = OPEN_LABEL;
    let request = ClientRequest::OpenLabel { label: label.clone() };
    let answer = around.connection.ask(operation, &request, Repeat::Safe, Patience::Reconnect, ANSWER_WAIT);
    opened(operation, answer.map_err(Unopened::Failed)?.0)
}

/// The reference of a key's label, from the daemon.
fn opened_key(around: &Surroundings<'_>, label: &Label) -> Result<KeyReference, Unopened> {
    Ok(open(around, label)?.reference)
}

/// Content of a target's record, from the daemon's answer.
pub(crate) fn held(opened: Result<Opened, Unopened>) -> Result<Held, Unopened> {
    match opened {
        Ok(opened) if opened == NOT_YET => Ok(Held::NotYet),
        Ok(opened) => Ok(Held::Key(opened.reference)),
        Err(Unopened::Codes(code::TOKEN_INVALID)) => Ok(Held::Nothing),
        Err(unopened) => Err(unopened),
    }
}

/// The opened label in a daemon's answer, or why the label was not opened.
pub(crate) fn opened(operation: &'static str, answer: ClientReply) -> Result<Opened, Unopened> {
    match answer {
        ClientReply::Opened { reference, store, token_bytes } => Ok(Opened { reference, store, token_bytes }),
        ClientReply::Refused(Refusal::Verb(codes)) => Err(Unopened::Codes(codes)),
        ClientReply::Refused(Refusal::Denied) => Err(Unopened::Codes(code::ACCESS_DENIED)),
        answer => {
            Err(Unopened::Failed(refusals(operation, answer).err().unwrap_or_else(|| unexpected(operation))))
        }
    }
}

/// The field of a label; none for a token, and none for a field that is blank, which is a verb's
/// way of leaving a key out.
fn label_field(field: &[u8]) -> Option<&[u8; LABEL_BYTES]> {
    let field: &[u8; LABEL_BYTES] = field.try_into().ok()?;
    (token::Format::of(field) == token::Format::Label && field.iter().any(|byte| *byte != b' '))
        .then_some(field)
}

/// Whether a request or its reply may hold a clear key, and must be wiped. Of a verb that takes clear keys as well as
/// wrapped ones, wrapped keys and references need not be wiped. Bytes that only look like a token without a key may be
/// a clear key.
fn holds_clear_key(entry: &'static Entry, arguments: &Arguments<'_>) -> bool {
    let is_wrapped =
        |field| token::describe(field).is_ok_and(|described| matches!(described.holds, Holds::Wrapped(_)));
    let may_be_clear = |(position, parameter): (usize, &Parameter)| {
        parameter.secret
            && parameter.direction != Direction::Out
            && match (parameter.kind, arguments.at(position)) {
                (Kind::Key { .. }, Argument::Bytes(field)) => {
                    label_field(field).is_none() && !is_wrapped(field)
                }
                (_, argument) => matches!(argument, Argument::Bytes(_)),
            }
    };
    entry.secret && (gives_clear_key(entry.verb) || entry.parameters.iter().enumerate().any(may_be_clear))
}

/// Length of the longest reply that the arguments leave room for.
fn reply_bytes_max(entry: &'static Entry, arguments: &Arguments<'_>) -> usize {
    let mut bytes = REPLY_SLACK;
    for parameter in entry.parameters.iter().filter(|parameter| parameter.direction != Direction::In) {
        let (length, bound) = match parameter.kind {
            Kind::Integer => (4, usize::MAX),
            Kind::Bytes(length) => (length_of(length, arguments), usize::MAX),
            Kind::Key { length, .. } => (length_of(length, arguments), TOKEN_BYTES_MAX),
            Kind::Keywords(count) => {
                let count = usize::try_from(arguments.integer(count)).unwrap_or(0);
                let elements = entry.keywords.most_given(parameter.direction, count);
                (elements.saturating_mul(KEYWORD_BYTES), usize::MAX)
            }
        };
        bytes = bytes.saturating_add(length.min(bound).saturating_add(4));
    }
    bytes.min(BULK_BYTES_MAX)
}

fn length_of(length: Length, arguments: &Arguments<'_>) -> usize {
    match length {
        Length::By(position) => usize::try_from(arguments.integer(position)).unwrap_or(0),
        Length::Padded { by, block, .. } => usize::try_from(arguments.integer(by)).unwrap_or(0) + block,
        Length::Bits(position) => usize::try_from(arguments.integer(position)).unwrap_or(0).div_ceil(8),
        Length::Words(position) => {
            usize::try_from(arguments.integer(position)).unwrap_or(0).saturating_mul(KEYWORD_BYTES)
        }
        length => length.longest().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::verb::{Verb, encipher};

    #[test]
    fn a_blank_or_short_field_is_no_label() {
        let label = Label::new("A.B").unwrap().to_field();
        assert_eq!(label_field(&label), Some(&label));
        assert_eq!(label_field(&[b' '; 64]), None);
        assert_eq!(label_field(&[1; 64]), None);
        assert_eq!(label_field(b"A.B"), None);
    }

    #[test]
    fn a_request_is_secret_by_what_it_holds() {
        fn holds(verb: Verb, position: usize, argument: Argument<'_>) -> bool {
            let mut arguments = Arguments::new(verb);
            arguments.set(position, argument);
            holds_clear_key(verb.entry(), &arguments)
        }
        fn aes(argument: Argument<'_>) -> bool {
            let position = wire::verb::symmetric_algorithm_encipher::KEY_IDENTIFIER;
            holds(Verb::SymmetricAlgorithmEncipher, position, argument)
        }
        let reference = KeyReference { slot: 1, generation: 1 };
        assert!(!aes(Argument::Reference(reference)) && !aes(Argument::Absent));
        assert!(!aes(Argument::Bytes(&Label::new("A.B").unwrap().to_field())));
        // Clear keys, one of which begins as a null token does.
        for first in [0, 1, 0x1F, 0x41] {
            let mut key = [7; 16];
            key[0] = first;
            assert!(aes(Argument::Bytes(&key)), "{first}");
        }
        let mut wrapped = [0; 64];
        (wrapped[0], wrapped[4], wrapped[6]) = (1, 4, 0xC0);
        token::tvv::seal(&mut wrapped);
        assert!(!aes(Argument::Bytes(&wrapped)));
        let import = wire::verb::clear_key_import::CLEAR_KEY;
        assert!(holds(Verb::ClearKeyImport, import, Argument::Bytes(&[0; 8])));
        let generated = wire::verb::pka_key_generate::GENERATED_KEY_IDENTIFIER;
        assert!(holds(Verb::PkaKeyGenerate, generated, Argument::Absent));
        assert!(!holds(Verb::Encipher, encipher::KEY_IDENTIFIER, Argument::Bytes(&[0; 64])));
    }

    #[test]
    fn room_follows_the_arguments() {
        // By position: lengths without texts.
        let mut arguments = Arguments::new(Verb::Encipher);
        let small = reply_bytes_max(Verb::Encipher.entry(), &arguments);
        assert!(small < 300);
        arguments.set_integer(encipher::TEXT_LENGTH, 1 << 20);
        assert_eq!(reply_bytes_max(Verb::Encipher.entry(), &arguments), small + (1 << 20));
        for length in [i64::MAX, -1] {
            arguments.set_integer(encipher::TEXT_LENGTH, length);
            assert!(reply_bytes_max(Verb::Encipher.entry(), &arguments) <= BULK_BYTES_MAX);
        }
    }
}
