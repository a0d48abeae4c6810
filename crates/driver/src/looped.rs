//! A loop: a fixed number of connections in one thread. In a closed loop each connection begins when another one ends;
//! in an open loop each begins at its due time.

use crate::cache::Cache;
use crate::library::Library;
use crate::plan::{End, Plan};
use crate::socket::Socket;
use crate::tally::Tally;
use crate::transaction::{Around, Counted, Kind, Step, Transaction, of_connect};
use pacing::Pace;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use streams::WATCHED;

const EVENTS_MAX: usize = 512;
const SCRATCH_BYTES: usize = 64 << 10;
/// How often deadlines and the run's end are checked.
const LOOK: Duration = Duration::from_millis(20);
/// Pause of a slot after an error: the first, doubled with each further error up to the last.
const PAUSES: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(500)];
/// How long connections may take to end once the run is over.
const DRAIN_MAX: Duration = Duration::from_secs(2);

/// Stage of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Stage {
    /// Nothing is counted.
    WarmUp,
    /// Everything is counted.
    Measured,
    /// No new transaction begins.
    Over,
}

/// State shared by the loops and the thread that conducts the run.
pub(crate) struct Shared {
    stage: AtomicU8,
    /// Transactions that began within the measured time.
    begun: AtomicU64,
    /// Transactions completed, and failed, so far, for the report of progress.
    pub(crate) done: AtomicU64,
    pub(crate) failed: AtomicU64,
    /// Number of loops that have ended.
    pub(crate) ended: AtomicU64,
}

impl Shared {
    pub(crate) fn new() -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            stage: AtomicU8::new(Stage::WarmUp as u8),
            begun: zero(),
            done: zero(),
            failed: zero(),
            ended: zero(),
        }
    }

    pub(crate) fn set(&self, stage: Stage) {
        self.stage.store(stage as u8, Ordering::Release);
    }

    pub(crate) fn stage(&self) -> Stage {
        match self.stage.load(Ordering::Acquire) {
            0 => Stage::WarmUp,
            1 => Stage::Measured,
            _ => Stage::Over,
        }
    }
}

#[derive(Default)]
struct Slot {
    uses: u32,
    transaction: Option<Box<Transaction>>,
    /// End of the slot's pause, and the number of its errors in a row.
    due: Option<Instant>,
    errors: u32,
}

/// One thread's connections, with their counts.
pub(crate) struct Looped<'a> {
    plan: &'a Plan,
    shared: &'a Shared,
    library: &'a Library,
    epoll: OwnedFd,
    slots: Vec<Slot>,
    /// Free slots, and connections with more to do after the others' turns.
    idle: Vec<usize>,
    again: Vec<u64>,
    /// Connections that wait for a signature with the client's key.
    signing: Vec<u64>,
    live: usize,
    /// The due times of an open loop; None for a closed loop.
    pace: Option<Pace>,
    cache: Cache,
    /// Resumptions owed so far: the plan's share is added for each connection, and 1 is taken for each resumption
    /// tried.
    owed: f64,
    next_name: usize,
    tally: Tally,
    scratch: Vec<u8>,
    over_since: Option<Instant>,
}

/// Counts messages into a tally, within the measured time only.
struct OfTally<'a> {
    tally: &'a mut Tally,
    is_counted: bool,
    is_over: bool,
}

impl Counted for OfTally<'_> {
    fn sent(&mut self, bytes: u64) {
        if self.is_counted {
            self.tally.bytes_sent += bytes;
        }
    }

    fn received(&mut self, bytes: u64) {
        if self.is_counted {
            self.tally.bytes_received += bytes;
        }
    }

    fn message(&mut self, first_byte: Option<Duration>, all: Duration) {
        if self.is_counted {
            self.tally.messages += 1;
            self.tally.message.record(all);
            if let Some(time) = first_byte {
                self.tally.first_byte.record(time);
            }
        }
    }

    fn is_over(&self) -> bool {
        self.is_over
    }
}

impl<'a> Looped<'a> {
    /// A loop of `connections`. Its number determines the server name to begin with. With a rate, which is that of all
    /// loops together, the loop is open.
    pub(crate) fn new(
        plan: &'a Plan,
        shared: &'a Shared,
        library: &'a Library,
        connections: usize,
        number: usize,
        rate: Option<f64>,
    ) -> Result<Self, Errno> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        Ok(Self {
            plan,
            shared,
            library,
            pace: rate.map(|rate| Pace::new(&epoll, rate, number, plan.threads)).transpose()?,
            epoll,
            slots: (0..connections).map(|_| Slot::default()).collect(),
            idle: (0..connections).rev().collect(),
            again: Vec::new(),
            signing: Vec::new(),
            live: 0,
            cache: Cache::new(plan.cache_size.div_ceil(plan.threads), plan.cache_lifetime),
            owed: 0.0,
            next_name: number,
            tally: Tally::new(),
            scratch: vec![0; SCRATCH_BYTES],
            over_since: None,
        })
    }

    /// Runs until the run is over, and returns the counts.
    pub(crate) fn run(mut self) -> Result<Tally, Errno> {
        let mut events = Vec::<Event>::with_capacity(EVENTS_MAX);
        let mut looked = Instant::now();
        loop {
            if self.pace.is_some() {
                self.begin_due()?
            } else {
                self.begin_idle()
            }
            for data in std::mem::take(&mut self.again) {
                self.go_on(data, None);
            }
            self.sign();
            let now = Instant::now();
            if now - looked >= LOOK {
                looked = now;
                self.look(now);
            }
            if self.is_over(now) {
                return Ok(self.tally);
            }
            let can_begin = self.pace.is_none() && !self.idle.is_empty();
            let wait = if self.again.is_empty() && !can_begin { LOOK } else { Duration::ZERO };
            let timeout = Timespec { tv_sec: 0, tv_nsec: wait.as_nanos() as i64 };
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&timeout)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
            for event in &events {
                // The structure is packed: the fields are copied before use.
                let (data, flags) = (event.data, event.flags);
                self.go_on(data.u64(), Some(flags));
            }
            self.sign();
        }
    }

    fn is_over(&mut self, now: Instant) -> bool {
        if self.shared.stage() != Stage::Over && !self.all_begun() {
            return false;
        }
        if self.over_since.is_none()
            && matches!(self.plan.end, End::After(_))
            && let Some(pace) = &self.pace
        {
            self.tally.never = pace.behind(now);
        }
        let since = *self.over_since.get_or_insert(now);
        let is_drained = self.live == 0;
        // In a run of a number of transactions all are awaited, each within its timeout.
        is_drained || (self.shared.stage() == Stage::Over && now - since >= DRAIN_MAX)
    }

    fn all_begun(&self) -> bool {
        matches!(self.plan.end, End::Transactions(count) if self.shared.begun.load(Ordering::Relaxed) >= count)
    }

    /// Whether the next transaction is measured; None if no more may begin.
    fn admit(&self) -> Option<bool> {
        match (self.shared.stage(), self.plan.end) {
            (Stage::Over, _) => None,
            (Stage::WarmUp, _) => Some(false),
            (Stage::Measured, End::After(_)) => Some(true),
            (Stage::Measured, End::Transactions(count)) => {
                (self.shared.begun.fetch_add(1, Ordering::Relaxed) < count).then_some(true)
            }
        }
    }

    fn begin_idle(&mut self) {
        while let Some(at) = self.idle.pop() {
            let Some(is_measured) = self.admit() else {
                self.idle.clear();
                return;
            };
            self.begin(at, is_measured, Instant::now());
        }
    }

    /// Begins all due connections as far as slots are free; the timer is set for the next due time.
    fn begin_due(&mut self) -> Result<(), Errno> {
        loop {
            let now = Instant::now();
            let Some(pace) = &mut self.pace else { return Ok(()) };
            let Some(due) = pace.due_by(now) else { return pace.set(now) };
            // Without a free slot, the next connection that ends lets this one begin.
            let Some(at) = self.idle.pop() else { return Ok(()) };
            let Some(is_measured) = self.admit() else {
                self.idle.clear();
                return Ok(());
            };
            if let Some(pace) = &mut self.pace {
                pace.begin();
            }
            if is_measured {
                self.tally.begin(now - due);
            }
            self.begin(at, is_measured, due);
        }
    }

    fn begin(&mut self, at: usize, is_measured: bool, began: Instant) {
        let names = self.plan.names.len().max(1);
        let name = self.next_name % names;
        self.next_name = (name + 1) % names;
        self.owed += self.plan.resume;
        let is_owed = self.owed >= 1.0 - 1e-9;
        let mut session = None;
        if is_owed {
            self.owed -= 1.0;
            session = self.cache.next(name, began);
        }
        let descriptor = match self.plan.target.connect() {
            Ok((descriptor, _)) => descriptor,
            Err(errno) => return self.failed(at, of_connect(errno), is_measured),
        };
        let slot = &mut self.slots[at];
        slot.uses = slot.uses.wrapping_add(1);
        let data = u64::from(slot.uses) << 32 | at as u64;
        if let Err(errno) = epoll::add(&self.epoll, &descriptor, EventData::new_u64(data), WATCHED) {
            return self.failed(at, of_connect(errno), is_measured);
        }
        let wants_session = self.plan.resume > 0.0;
        let socket = Socket::new(descriptor);
        let transaction = Transaction::new(socket, name, session, began, is_measured, wants_session);
        slot.transaction = Some(Box::new(transaction));
        self.live += 1;
    }

    fn go_on(&mut self, data: u64, events: Option<EventFlags>) {
        let at = (data & u64::from(u32::MAX)) as usize;
        let Some(slot) = self.slots.get_mut(at).filter(|slot| u64::from(slot.uses) == data >> 32) else {
            return;
        };
        let Some(transaction) = &mut slot.transaction else { return };
        if let Some(events) = events {
            transaction.socket.hear(events);
        }
        let stage = self.shared.stage();
        let is_counted = match self.plan.end {
            End::After(_) => stage == Stage::Measured,
            End::Transactions(_) => transaction.is_measured,
        };
        let mut counted = OfTally { tally: &mut self.tally, is_counted, is_over: stage == Stage::Over };
        let mut around = Around {
            plan: self.plan,
            library: self.library,
            scratch: &mut self.scratch,
            counted: &mut counted,
        };
        match transaction.go_on(&mut around) {
            Step::Wait => {}
            Step::Again => self.again.push(data),
            Step::Sign => self.signing.push(data),
            Step::End => self.end(at),
        }
    }

    /// Makes all pending signatures together, and continues the connections that asked. No connection waits beyond the
    /// round in which it asks.
    fn sign(&mut self) {
        let plan = self.plan;
        let Some(signer) = &plan.signer else { return };
        let waiting = std::mem::take(&mut self.signing);
        let (mut asking, mut requests) = (Vec::new(), Vec::new());
        for data in waiting {
            if let Some(request) = self.transaction(data).and_then(Transaction::request) {
                asking.push(data);
                requests.push(request);
            }
        }
        for (data, signed) in asking.into_iter().zip(signer.sign(&requests)) {
            if let Some(transaction) = self.transaction(data) {
                transaction.signed(signed);
            }
            self.go_on(data, None);
        }
    }

    /// The connection with this event data (slot and use); None if it has ended.
    fn transaction(&mut self, data: u64) -> Option<&mut Transaction> {
        let at = (data & u64::from(u32::MAX)) as usize;
        let slot = self.slots.get_mut(at).filter(|slot| u64::from(slot.uses) == data >> 32)?;
        slot.transaction.as_deref_mut()
    }

    /// Ends a slot's connection: counts the result, and frees the slot or lets it pause.
    fn end(&mut self, at: usize) {
        let Some(mut transaction) = self.slots[at].transaction.take() else { return };
        self.live -= 1;
        if let Some(session) = transaction.session().filter(|_| transaction.taken.error.is_none()) {
            // RFC 8446, C.4: a ticket of TLS 1.3 is used once.
            let is_used_once =
                transaction.taken.agreed.as_ref().is_some_and(|agreed| agreed.version == "TLSv1.3");
            self.cache.keep(transaction.name, session, is_used_once, Instant::now());
        }
        let taken = std::mem::take(&mut transaction.taken);
        let is_measured = transaction.is_measured;
        // Closes the socket before the slot's next connection begins.
        drop(transaction);
        if let Some(kind) = taken.error {
            return self.failed(at, kind, is_measured);
        }
        self.slots[at].errors = 0;
        self.idle.push(at);
        self.shared.done.fetch_add(1, Ordering::Relaxed);
        if !self.is_counted(is_measured) {
            return;
        }
        self.tally.transactions += 1;
        if taken.is_resumed {
            self.tally.resumed += 1;
        } else {
            self.tally.full += 1;
        }
        if let Some(agreed) = &taken.agreed {
            self.tally.agree(agreed);
        }
        for (times, time) in [
            (&mut self.tally.connect, taken.connect),
            (&mut self.tally.handshake, taken.handshake),
            (&mut self.tally.transaction, taken.transaction),
        ] {
            if let Some(time) = time {
                times.record(time);
            }
        }
    }

    fn is_counted(&self, is_measured: bool) -> bool {
        match self.plan.end {
            End::After(_) => self.shared.stage() == Stage::Measured,
            End::Transactions(_) => is_measured,
        }
    }

    fn failed(&mut self, at: usize, kind: Kind, is_measured: bool) {
        self.shared.failed.fetch_add(1, Ordering::Relaxed);
        if self.is_counted(is_measured) {
            self.tally.fail(kind);
        }
        // In an open loop the next due time serves as the pause.
        if self.pace.is_some() {
            return self.idle.push(at);
        }
        let slot = &mut self.slots[at];
        let pause = PAUSES[0] * 2_u32.pow(slot.errors.min(10));
        slot.errors += 1;
        slot.due = Some(Instant::now() + pause.min(PAUSES[1]));
    }

    /// Ends connections past their deadlines, and frees slots whose pause is over.
    fn look(&mut self, now: Instant) {
        for at in 0..self.slots.len() {
            let slot = &mut self.slots[at];
            if slot.due.is_some_and(|due| due <= now) {
                slot.due = None;
                self.idle.push(at);
            }
            if let Some(transaction) = &mut slot.transaction
                && transaction.deadline(self.plan.timeout) <= now
            {
                transaction.expire();
                self.end(at);
            }
        }
    }
}
