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

mod answering;
pub(crate) mod completions;
pub(crate) mod filled;
mod mac;
mod memory;
mod opening;
pub mod private_keys;
mod step;
pub(crate) mod target;
pub(crate) mod ticket;

use crate::cards::pool::{Attached, NotSent, Pool, Want};
use crate::cards::route::{self, Selection};
use crate::cards::shares::Shares;
use crate::control::Opened;
use crate::control::connection::Connection;
use crate::error::FacilityError;
use crate::labels::{Labels, OpenLabel};
use crate::reply::wipe_key;
use crate::request::target::{Held, Targets};
use link::{InFlight, world};
use memory::{holds_clear_key, reply_bytes_max};
use opening::{held, label_field, open, opened_key};
use std::cell::RefCell;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use wire::bounds::{BULK_BYTES_MAX, INLINE_BYTES_MAX};
use wire::code::{self, Codes};
use wire::control::Refusal;
use wire::frame::{Arguments, FrameError, Walk};
use wire::secret::carries_clear_key;
use wire::verb::Entry;
use wire::{KeyReference, Label};

pub(crate) use answering::{Judged, Stay, liveness_tsc};
pub(crate) use opening::{OPEN_LABEL, Unopened, opened};
pub(crate) use step::{Fate, is_broken};

/// Request buffers that a thread keeps for reuse.
const BUFFERS_KEPT: usize = 64;
/// Largest request buffer that is kept for reuse.
const BUFFER_KEPT_BYTES: usize = 64 * 1024;
/// First and longest pause while waiting for a card, or for a slot.
const PAUSE_FIRST: Duration = Duration::from_micros(50);
const PAUSE_LONGEST: Duration = Duration::from_millis(20);

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
