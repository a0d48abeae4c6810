//! The queues of a share of a process: made at first use, chosen by least expected wait, dropped when their card's
//! death is known.
//!
//! A first request to a kind of card attaches one queue, to the card with the fewest queues. More
//! cards are attached when an idle one would promise the answer sooner than the attached ones, and more
//! queues on a card when all slots are taken, up to a bound. So a single caller keeps only one card awake, and
//! a busy process uses as many cards as help it.
//!
//! The pool asks the daemon for its list of cards repeatedly while that may help: often after a
//! card was lost, and ever more rarely while nothing changes, so that twenty processes under load together ask a
//! daemon whose cards do not change only some times a second.

mod answered;
mod ask;

use crate::cards::figures::{Figures, Reading};
use crate::cards::roster::{Counted, Roster};
use crate::cards::route::{self, Around, Candidate, Chosen, Selection, Words};
use crate::control::connection::Connection;
use crate::error::FacilityError;
use ask::More;
use link::{ClientQueue, InFlight, LinkError, PidFd, StatusView, world};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Duration;
use wire::bounds::{CARDS_MAX, DOMAINS_MAX, QUEUE_SLOTS_MAX};
use wire::control::{CardRow, CardState, Personality};
use wire::registers::RegisterSet;
use wire::verb::{Entry, Kernel};

pub(crate) use answered::AnsweredSlots;
pub(crate) use ask::KEYS_WAIT;

/// Upper bound of queues that one share of a process attaches to one card and domain: with 64 slots each, 1,024
/// requests in flight.
pub const QUEUES_PER_CARD_AND_DOMAIN_MAX: usize = 16;
/// A share attaches further queues to a card only while the whole process has fewer than this many there.
pub const QUEUES_PER_CARD_OF_PROCESS_MAX: usize = 32;
/// For at most as many queues as one of these says, a choice uses arrays of this length instead of [`CARDS_MAX`].
const QUEUES_FEW: usize = 4;
const QUEUES_SEVERAL: usize = 16;
const _: () = assert!(CARDS_MAX <= 64, "sets of cards are 64-bit masks");

/// One queue.
pub(crate) struct Attached {
    /// Index of its card.
    pub card: u32,
    /// Personality of the card: coprocessor or accelerator.
    pub personality: Personality,
    /// Generation of the card's process.
    pub generation: u64,
    /// Domain of the queue.
    pub domain: u16,
    /// Number of the queue within the daemon.
    pub number: u64,
    /// The queue itself.
    pub queue: ClientQueue,
    /// Place of this queue in an event loop's table of queues.
    pub place: AtomicU32,
    /// What is known about the card; all queues to one process of it share this.
    figures: Arc<Figures>,
    /// Whether the daemon listed the card without keys when the queue was made; valid until the card publishes its
    /// keys.
    was_sealed: bool,
    /// Number of the connection that the queue was made over.
    connection: u64,
    lost: AtomicBool,
    /// Whose the request in each slot is, for threads that look for answers to many requests.
    owners: Box<[AtomicU64; QUEUE_SLOTS_MAX]>,
    _counted: Counted,
}

impl Attached {
    /// Counts a request as answered, abandoned, or lost with its card.
    pub fn done(&self) {
        self.figures.done();
    }

    /// Whether the queue has what a request needs of it, used by others or not.
    fn has_place_for(&self, want: &Want) -> bool {
        !want.long || self.queue.blocks() > 0
    }

    /// Whether the queue is no longer used for sending.
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// Whether it is lost, or its card's process is gone; then it is marked as lost.
    pub fn is_of_no_use(&self, roster: &Roster) -> bool {
        if !self.is_lost() && roster.is_gone(self.card, self.generation) {
            self.lost.store(true, Ordering::Relaxed);
        }
        self.is_lost()
    }

    /// Number of the connection that it was made over.
    pub fn connection(&self) -> u64 {
        self.connection
    }

    /// Which of these registers its card claims to hold for the queue's domain; before the card has
    /// joined the queue all of them, unless the daemon listed it without keys.
    fn holds(&self, registers: RegisterSet) -> RegisterSet {
        if registers.is_empty() {
            return registers;
        }
        let presumed = if self.was_sealed { RegisterSet::NONE } else { RegisterSet::ALL };
        self.queue.registers().unwrap_or(presumed).and(registers)
    }

    fn is_full(&self, bytes: usize) -> bool {
        !self.queue.has_room(bytes)
    }

    fn candidate(&self, slot: usize, now_ns: u64, now_tsc: u64) -> Option<Candidate> {
        self.figures.candidate(slot, now_ns, || {
            let status = self.queue.status();
            let heartbeat = status.heartbeat();
            Reading {
                is_ready: status.state().serves(),
                queue_length: status.queue_length(),
                claimants: status.claimants(),
                heartbeat,
                since_heartbeat_ns: link::tsc_to_ns(now_tsc.saturating_sub(heartbeat)),
                processor: status.processor(),
                service: status.service(slot),
            }
        })
    }
}

/// What a request needs of a card.
#[derive(Clone, Copy)]
pub(crate) struct Want {
    /// Row of the verb table.
    pub entry: &'static Entry,
    /// The domain.
    pub domain: u16,
    /// Which cards the caller allows.
    pub selection: Selection,
    /// A card that said it cannot serve now.
    pub avoid: Option<u32>,
    /// Master-key registers that it may need: it goes to cards that hold them, if any does.
    pub registers: RegisterSet,
    /// Cards that answered that they hold no master key for the request, a bit each: the request is sent only to cards
    /// that hold one and have not been tried.
    pub tried: u64,
    /// Whether the request must have a batch of its own, because a card died with it.
    pub alone: bool,
    /// Whether the request holds a clear key, or its reply may.
    pub secret: bool,
    /// Whether the request or its reply is too long for a slot: the queue must have bulk blocks.
    pub long: bool,
}

impl Want {
    /// Notes that a card answered that it holds no key for the request: the request then goes to a card that does.
    pub fn note_without_keys(&mut self, card: u32) {
        self.tried |= bit(card);
        if self.registers.is_empty() {
            self.registers = RegisterSet::ALL;
        }
    }

    fn admits(&self, card: u32, personality: Personality) -> bool {
        route::personalities(self.entry).contains(&personality)
            && self.selection.admits(card, personality)
            && self.avoid != Some(card)
            && self.tried & bit(card) == 0
    }

    /// The same request, without the notes of which cards it was sent to.
    fn anywhere(&self) -> Self {
        Self { avoid: None, tried: 0, ..*self }
    }

    /// Position of a personality in the order in which cards are attached.
    fn rank(&self, personality: Personality) -> usize {
        let order = route::personalities(self.entry);
        order.iter().position(|other| *other == personality).unwrap_or(order.len())
    }
}

/// Why a request was not sent.
#[derive(Debug)]
pub(crate) enum NotSent {
    /// All slots of all cards that serve the request are in use, or, for a long request, all blocks.
    Full,
    /// No card that serves the request is ready; one may be ready in a moment.
    NotReady,
    /// Anything else.
    Failed(FacilityError),
}

/// The queues of a share or of an event loop, by card.
pub(crate) type Table = RwLock<Vec<Arc<Attached>>>;

/// All queues of a share or of an event loop.
pub(crate) struct Pool {
    table: Arc<Table>,
    /// What the process knows of its cards.
    roster: Arc<Roster>,
    /// Card chosen last, counted from 1.
    last: AtomicU64,
}

/// A queue, and what its card promises.
struct Choice {
    attached: Arc<Attached>,
    promise: Chosen,
    /// Cards of the domain that queues are attached to.
    cards: u64,
    /// Whether its card holds none of the registers that the request may need.
    lacks: bool,
}

impl Pool {
    /// A pool without queues.
    pub fn new(roster: &Arc<Roster>) -> Self {
        Self { table: roster.table(), roster: Arc::clone(roster), last: AtomicU64::new(0) }
    }

    /// Sends a request to the card with the least expected wait; `running` is the number of threads of this process
    /// that compute. With `force`, the daemon is asked again about its cards if none serves it.
    pub fn send(
        &self,
        connection: &Connection,
        want: &Want,
        payload: &[u8],
        reply_bytes: usize,
        running: u64,
        force: bool,
    ) -> Result<(Arc<Attached>, InFlight), NotSent> {
        let mut full = false;
        let mut skip = Vec::new();
        let mut widened = false;
        loop {
            let bytes = payload.len().max(reply_bytes);
            let (queues, chosen) = self.choose_of_all(connection.forsaken(), want, bytes, running, &skip);
            let lacks = chosen.as_ref().is_some_and(|choice| choice.lacks);
            // The cards that hold the request's keys may be full: then their slots are waited for.
            let chosen = chosen.filter(|_| !(lacks && full));
            let may_widen = match &chosen {
                Some(choice) => (lacks || choice.wants_another()) && self.may_widen(want, choice),
                None if want.tried != 0 => !self.roster.is_left_in_peace(),
                None => !full || !(self.roster.is_left_in_peace() || self.is_refused_everywhere(want)),
            };
            if may_widen && !widened {
                let more = match &chosen {
                    Some(_) if lacks => More::WithKeys,
                    Some(_) => More::Sooner,
                    None if want.tried != 0 && !full => More::WithKeys,
                    None => More::Any,
                };
                // Once for each request: a queue was attached, or none could be. With `More::WithKeys` this repeats
                // until every card that may hold the keys was looked at.
                widened = more != More::WithKeys;
                match self.widen(connection, want, force, more, queues) {
                    Ok(true) => continue,
                    // Another thread may have attached the card that holds the keys.
                    Ok(false) if more == More::WithKeys => {
                        widened = true;
                        continue;
                    }
                    Ok(false) => {}
                    // The attached queues suffice.
                    Err(_) if chosen.is_some() || full => widened = true,
                    Err(error) => return Err(error),
                }
            }
            let Some(Choice { attached, .. }) = chosen else { break };
            match attached.submit(want, payload, reply_bytes) {
                Ok(in_flight) => return Ok((attached, in_flight)),
                // The slots of a dead card stay full.
                Err(LinkError::Full | LinkError::BulkFull) if attached.queue.is_dead() => {
                    self.lose(&attached);
                }
                Err(LinkError::Full | LinkError::BulkFull) => {
                    full = true;
                    skip.push(attached.number);
                    widened = false;
                }
                Err(LinkError::TooLong { bytes }) => return Err(too_long(want, bytes)),
                Err(_) => self.lose(&attached),
            }
        }
        Err(if full { NotSent::Full } else { self.why_none(want, force) })
    }

    /// Writes a request into a queue of the card with the least expected wait, to be handed over later, without asking
    /// the daemon. Returns also whether the daemon should be asked for one more queue.
    pub fn stage(
        &self,
        forsaken: u64,
        want: &Want,
        payload: &[u8],
        reply_bytes: usize,
    ) -> (Result<(Arc<Attached>, InFlight), NotSent>, bool) {
        let (mut full, mut skip) = (false, Vec::new());
        let bytes = payload.len().max(reply_bytes);
        while let Some(choice) = self.choose(forsaken, want, bytes, 0, &skip) {
            if choice.lacks && full {
                break;
            }
            let wants_more = (choice.lacks || choice.wants_another()) && self.may_widen(want, &choice);
            let attached = choice.attached;
            match attached.stage(want, payload, reply_bytes) {
                Ok(in_flight) => return (Ok((attached, in_flight)), wants_more),
                Err(LinkError::Full | LinkError::BulkFull) => {
                    full = true;
                    skip.push(attached.number);
                }
                Err(LinkError::TooLong { bytes }) => return (Err(too_long(want, bytes)), false),
                Err(_) => self.lose(&attached),
            }
        }
        (Err(if full { NotSent::Full } else { NotSent::NotReady }), !self.roster.is_left_in_peace())
    }

    /// Whether there is a queue to a card that holds a key for this, even without a free slot.
    pub fn has_holder(&self, forsaken: u64, want: &Want) -> bool {
        self.choose(forsaken, want, 0, 0, &[]).is_some_and(|choice| !choice.lacks)
    }

    /// Takes a queue out of use that its card ended, or whose card died; then also the other queues to the same
    /// process of the card. A card that lives may have ended this one alone.
    pub fn lose(&self, attached: &Arc<Attached>) {
        if !attached.lost.load(Ordering::Relaxed) {
            self.lose_where(attached, |other| other.queue.is_dead());
        }
    }

    fn lose_where(&self, attached: &Arc<Attached>, is_useless: impl Fn(&Attached) -> bool) {
        // The queue may be another share's, whose pool drops it later.
        attached.lost.store(true, Ordering::Relaxed);
        if attached.queue.pidfd().is_some_and(PidFd::is_dead) {
            self.roster.ended(attached.card, attached.generation);
        }
        self.write().retain(|other| {
            let is_same = (other.card, other.generation) == (attached.card, attached.generation);
            let is_lost = Arc::ptr_eq(other, attached) || (is_same && is_useless(other));
            other.lost.fetch_or(is_lost, Ordering::Relaxed);
            !is_lost
        });
        self.roster.lost(attached.card);
    }

    /// As [`Pool::lose`], for a card that broke the rules: its process is not attached to again.
    pub fn shun(&self, attached: &Arc<Attached>) {
        self.roster.shun(attached.card, attached.generation);
        self.lose_where(attached, |_| true);
    }

    /// In a child of fork: closes the descriptors of the parent's queues, unless another thread of
    /// the parent was changing the table at the fork, or waited to.
    pub fn abandon(&self) {
        let queues = match self.table.try_write() {
            Ok(mut table) => std::mem::take(&mut *table),
            // Threads that the child does not have read it for ever.
            Err(_) => self.table.try_read().map(|table| table.clone()).unwrap_or_default(),
        };
        for attached in queues {
            let queue = attached.queue.clone();
            drop(attached);
            queue.abandon();
        }
    }

    /// Reads the status page of a card that a queue is attached to.
    pub fn look_at<T>(&self, card: u32, read: impl FnOnce(&StatusView) -> T) -> Option<T> {
        let table = self.read();
        let attached = table.iter().find(|attached| attached.card == card)?;
        Some(read(attached.queue.status()))
    }

    /// Number of requests in flight on all queues.
    pub fn in_flight(&self) -> u64 {
        let table = self.read();
        let mut last: Option<&Arc<Figures>> = None;
        let each = table.iter().filter(|attached| {
            let is_next = last.is_none_or(|last| !Arc::ptr_eq(last, &attached.figures));
            last = Some(&attached.figures);
            is_next
        });
        each.map(|attached| attached.figures.own()).sum()
    }

    /// Processors that this process may use, or that its cards were seen on, whichever are more.
    pub fn processors(&self) -> u64 {
        let seen = self.read().iter().fold(0, |seen, attached| seen | attached.figures.processor());
        world::processors().max(u64::from(seen.count_ones()))
    }

    /// How long a request would wait before a card began with it, in nanoseconds. None where no card is
    /// attached to that serves it.
    pub fn wait_ns(&self, connection: &Connection, want: &Want) -> Option<u64> {
        let choice = self.choose(connection.forsaken(), want, 0, 0, &[])?;
        Some(choice.promise.promise_ns.saturating_sub(choice.promise.pass_ns))
    }

    /// Whether the daemon's list of cards was obtained after the last loss of a card.
    pub fn is_current(&self) -> bool {
        self.roster.is_current()
    }

    /// Whether there is a queue to a card that serves this, ready or not.
    pub fn has_queue(&self, want: &Want) -> bool {
        let anywhere = want.anywhere();
        let serves = |attached: &Arc<Attached>| {
            attached.domain == want.domain
                && !attached.is_of_no_use(&self.roster)
                && attached.has_place_for(want)
                && anywhere.admits(attached.card, attached.personality)
        };
        self.read().iter().any(serves)
    }

    /// Whether a queue that serves this has a free slot, and a block if it needs one.
    fn has_room(&self, want: &Want) -> bool {
        let bytes = if want.long { usize::MAX } else { 0 };
        let serves = |attached: &Arc<Attached>| {
            attached.domain == want.domain
                && !attached.is_of_no_use(&self.roster)
                && attached.has_place_for(want)
                && want.admits(attached.card, attached.personality)
        };
        self.read().iter().any(|attached| serves(attached) && !attached.is_full(bytes))
    }

    /// Whether a queue is one of these.
    pub fn has(&self, attached: &Arc<Attached>) -> bool {
        self.read().iter().any(|own| Arc::ptr_eq(own, attached))
    }

    /// The queues, for waiting.
    pub fn all(&self) -> Vec<Arc<Attached>> {
        self.read().clone()
    }

    /// Number of queues in use.
    pub fn queues(&self) -> usize {
        self.read().len()
    }

    /// A queue for a request if it or its reply is this many bytes long, except those with a number in `skip`.
    fn choose(&self, forsaken: u64, want: &Want, bytes: usize, running: u64, skip: &[u64]) -> Option<Choice> {
        self.choose_of_all(forsaken, want, bytes, running, skip).1
    }

    /// As [`Pool::choose`], and of how many queues it chose.
    fn choose_of_all(
        &self,
        forsaken: u64,
        want: &Want,
        bytes: usize,
        running: u64,
        skip: &[u64],
    ) -> (usize, Option<Choice>) {
        let table = self.read();
        let queues = table.len();
        // Most processes have few queues, and small arrays are cleared faster.
        let (choice, has_lost) = if queues <= QUEUES_FEW {
            self.choose_of::<QUEUES_FEW>(&table, forsaken, want, bytes, running, skip)
        } else if queues <= QUEUES_SEVERAL {
            self.choose_of::<QUEUES_SEVERAL>(&table, forsaken, want, bytes, running, skip)
        } else {
            self.choose_of::<CARDS_MAX>(&table, forsaken, want, bytes, running, skip)
        };
        drop(table);
        if has_lost {
            self.roster.drop_lost();
        }
        (queues, choice)
    }

    fn choose_of<const CARDS: usize>(
        &self,
        table: &[Arc<Attached>],
        forsaken: u64,
        want: &Want,
        bytes: usize,
        running: u64,
        skip: &[u64],
    ) -> (Option<Choice>, bool) {
        let slot = want.entry.verb.slot();
        let now_tsc = link::tsc();
        let now_ns = link::tsc_to_ns(now_tsc).max(1);
        let last = self.last.load(Ordering::Relaxed);
        // One queue for each card that serves, and what its card says.
        let mut places = [0; CARDS];
        let mut said = [Candidate::default(); CARDS];
        let mut held = [RegisterSet::NONE; CARDS];
        let (mut count, mut cards, mut stay) = (0, 0, None);
        let mut at: Option<u32> = None;
        let mut has_lost = false;
        for (place, attached) in table.iter().enumerate() {
            if attached.is_of_no_use(&self.roster) {
                has_lost = true;
                continue;
            }
            if attached.domain != want.domain
                || attached.connection <= forsaken
                || !attached.has_place_for(want)
            {
                continue;
            }
            cards |= bit(attached.card);
            if !want.admits(attached.card, attached.personality) || skip.contains(&attached.number) {
                continue;
            }
            match at {
                // A further queue of the same card: for when the first is full.
                Some(card) if card == attached.card => {
                    let first: &mut Candidate = &mut said[count - 1];
                    if first.is_full && !attached.is_full(bytes) {
                        first.is_full = false;
                        places[count - 1] = place;
                    }
                }
                _ if count == CARDS => break,
                _ => {
                    let Some(candidate) = attached.candidate(slot, now_ns, now_tsc) else { continue };
                    if u64::from(attached.card) + 1 == last {
                        stay = Some(count);
                    }
                    (places[count], said[count]) = (place, candidate);
                    said[count].is_full = attached.is_full(bytes);
                    held[count] = attached.holds(want.registers);
                    count += 1;
                    at = Some(attached.card);
                }
            }
        }
        // Cards that lack the keys are left out, where another card has them.
        let most = held[..count].iter().fold(RegisterSet::NONE, |most, held| most.or(*held));
        let lacks = most.is_empty() && !want.registers.is_empty();
        if lacks && want.tried != 0 {
            return (None, has_lost);
        }
        if !most.is_empty() {
            // Which registers the request needs depends on its keys, which are not opened here. A card that holds every
            // register that any card holds can run whatever another card can.
            let has_all = held[..count].contains(&most);
            let mut kept = 0;
            for index in 0..count {
                if if has_all { held[index] == most } else { !held[index].is_empty() } {
                    if stay == Some(index) {
                        stay = Some(kept);
                    } else if stay == Some(kept) {
                        stay = None;
                    }
                    if kept != index {
                        (places[kept], said[kept]) = (places[index], said[index]);
                    }
                    kept += 1;
                }
            }
            count = kept;
            stay = stay.filter(|stay| *stay < count);
        }
        if count > 1 && want.entry.kernel != Kernel::One {
            for (candidate, place) in said[..count].iter_mut().zip(&places) {
                *candidate = candidate.with_words(|| words_of(table, &table[*place], now_ns));
            }
        }
        // Of the rest the one that promises to answer first.
        let around = Around { processors: world::processors(), running, stay, dice: dice() };
        let Some(chosen) = route::choose(&said[..count], &around) else {
            return (None, has_lost);
        };
        let attached = Arc::clone(&table[places[chosen.index]]);
        let number = u64::from(attached.card) + 1;
        if number != last {
            self.last.store(number, Ordering::Relaxed);
        }
        (Some(Choice { attached, promise: chosen, cards, lacks }), has_lost)
    }

    /// Whether the daemon lately gave no further queue to any card that serves this.
    fn is_refused_everywhere(&self, want: &Want) -> bool {
        let full = self.roster.full();
        full != 0 && !self.roster.lists_any(want.selection.cards.unwrap_or(u64::MAX) & !full)
    }

    /// Whether a card may exist that is not attached yet; costs a few loads.
    fn may_widen(&self, want: &Want, choice: &Choice) -> bool {
        let is_due = self.roster.is_time_to_ask();
        if self.roster.is_silent() {
            return is_due;
        }
        let full = if choice.lacks { 0 } else { self.roster.full() };
        is_due || self.roster.lists_any(want.selection.cards.unwrap_or(u64::MAX) & !choice.cards & !full)
    }

    /// Why no queue serves this: no such card in the home, none that can be trusted, no such domain, or
    /// none ready. That no card can be trusted is concluded only from a list obtained just now: another
    /// process may have replaced one that cannot.
    pub fn why_none(&self, want: &Want, is_fresh: bool) -> NotSent {
        let rows = self.roster.rows();
        let anywhere = want.anywhere();
        let admitted = || rows.rows.iter().filter(|row| anywhere.admits(row.index, row.personality));
        let shunned = self.roster.shunned();
        let is_shunned = |row: &CardRow| shunned.get(&row.index) == Some(&row.generation);
        let is_hopeless = |row: &CardRow| is_shunned(row) || row.state == CardState::Failed;
        if rows.answered && admitted().next().is_none() {
            NotSent::Failed(FacilityError::NotServed { verb: want.entry.verb })
        } else if rows.answered && is_fresh && admitted().any(is_shunned) && admitted().all(is_hopeless) {
            // Waiting for them to become ready would be in vain: they are.
            NotSent::Failed(FacilityError::CardsUnsound { verb: want.entry.verb })
        } else if usize::from(want.domain) >= DOMAINS_MAX {
            NotSent::Failed(FacilityError::Domain(want.domain))
        } else {
            NotSent::NotReady
        }
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Vec<Arc<Attached>>> {
        world::read(&self.table)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Vec<Arc<Attached>>> {
        world::write(&self.table)
    }
}

impl Attached {
    fn submit(&self, want: &Want, payload: &[u8], reply_bytes: usize) -> Result<InFlight, LinkError> {
        let slot = self.queue.claim()?;
        self.own(slot.slot(), 0, 0);
        let in_flight = self.queue.submit_request(slot, &written(want, payload, reply_bytes))?;
        self.figures.sent();
        Ok(in_flight)
    }

    /// As [`Attached::submit`], to be handed over later.
    fn stage(&self, want: &Want, payload: &[u8], reply_bytes: usize) -> Result<InFlight, LinkError> {
        let slot = self.queue.claim()?;
        let in_flight = self.queue.stage(slot, &written(want, payload, reply_bytes))?;
        self.figures.sent();
        Ok(in_flight)
    }
}

/// What the queues of the table to a card's process say of its requests.
fn words_of(table: &[Arc<Attached>], card: &Attached, now_ns: u64) -> Words {
    let figures = &card.figures;
    let of_card = table.iter().filter(|other| Arc::ptr_eq(&other.figures, figures));
    let (uncollected, waiting) = of_card.fold((0, 0), |(uncollected, waiting), other| {
        let answered = u64::from(other.queue.uncollected().count_ones());
        (uncollected + answered, waiting + u64::from(other.queue.waiting()))
    });
    // Other threads of the share may collect or send meanwhile.
    let takes_none = waiting != 0 && waiting >= figures.own().saturating_sub(uncollected);
    let waited_ns = figures.waited_ns(takes_none, now_ns);
    Words { uncollected, waiting, waited_ns, is_asleep: card.queue.status().is_asleep() }
}

/// The request to write into a slot, with its flags.
fn written<'a>(want: &Want, payload: &'a [u8], reply_bytes_max: usize) -> link::Request<'a> {
    let (verb, alone, secret) = (want.entry.verb as u16, want.alone, want.secret);
    link::Request { verb, payload, reply_bytes_max, alone, secret }
}

fn too_long(want: &Want, bytes: usize) -> NotSent {
    let (verb, bytes_max) = (want.entry.verb, wire::bounds::BULK_BYTES_MAX);
    NotSent::Failed(FacilityError::TooLong { verb, bytes, bytes_max })
}

impl Choice {
    /// Whether a card that this process is not attached to could promise the answer sooner.
    fn wants_another(&self) -> bool {
        self.promise.another_ns < self.promise.promise_ns
    }
}

/// The value of the time-stamp counter when this span has passed from now.
pub(super) fn after(span: Duration) -> u64 {
    link::tsc().saturating_add(span_tsc(span))
}

/// A span in counts of the time-stamp counter.
fn span_tsc(span: Duration) -> u64 {
    link::ns_to_tsc(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
}

/// A random number for choosing among cards (xorshift); 0 while the thread ends.
fn dice() -> u64 {
    thread_local! {
        static DICE: Cell<u64> = const { Cell::new(0) };
    }
    let roll = |state: &Cell<u64>| {
        let mut word = match state.get() {
            0 => link::tsc() ^ u64::from(world::pid()) << 32 | 1,
            word => word,
        };
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        state.set(word);
        word
    };
    DICE.try_with(roll).unwrap_or(0)
}

pub(super) fn bit(card: u32) -> u64 {
    1_u64.checked_shl(card).unwrap_or(0)
}
