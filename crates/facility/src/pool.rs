//! The queues of this process: made at first use, chosen by least work, dropped when their card dies.
//!
//! A first request to a kind of card attaches one queue, to the card with the fewest queues. More
//! cards are attached when the ones at hand are busy, and more queues on a card when all slots are
//! taken, up to a bound. So a lonely caller keeps one card awake, and a busy one uses all.

use crate::connection::{Connection, Patience, Repeat};
use crate::control::{refusals, unexpected};
use crate::error::{FacilityError, ProtocolError};
use crate::route::{self, Candidate, Selection};
use link::{ClientParts, ClientQueue, InFlight, LinkError, StatusView, world};
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};
use wire::bounds::{CARDS_MAX, DOMAINS_MAX, QUEUE_SLOTS_DEFAULT};
use wire::control::{CardRow, CardState, ClientReply, ClientRequest, Personality, Refusal};
use wire::verb::{Entry, TABLE};

/// Queues that one process attaches to one card and domain, at the most: with 64 slots each, 1,024
/// requests in flight.
pub const QUEUES_PER_CARD_AND_DOMAIN_MAX: usize = 16;
/// How long what the daemon said about its cards is believed where nothing forces a new question.
const ROWS_FRESH: Duration = Duration::from_millis(500);
/// As [`ROWS_FRESH`] right after a card was lost, which is back within a few tens of milliseconds; the
/// longer it stays away, the longer.
const ROWS_FRESH_MIN: Duration = Duration::from_millis(10);
/// The time since a loss over what is believed for how long then.
const LOST_OVER_FRESH: u64 = 8;
/// How long the daemon is left in peace after it did not answer, as long as there are queues to use.
const SILENT_PAUSE: Duration = Duration::from_secs(10);
/// How long an answer is waited for where there is a queue to use meanwhile, and where there is none.
const OPPORTUNE_WAIT: Duration = Duration::from_millis(100);
const NEEDED_WAIT: Duration = Duration::from_secs(10);
/// Descriptors that come with a queue.
const QUEUE_DESCRIPTORS: usize = 5;

const _: () = assert!(CARDS_MAX <= 64, "sets of cards are 64-bit masks");

/// One queue.
pub(crate) struct Attached {
    /// Index of its card.
    pub card: u32,
    /// What the card is for.
    pub personality: Personality,
    /// Which process of the card.
    pub generation: u64,
    /// Domain of the queue.
    pub domain: u16,
    /// Its number within the daemon.
    pub number: u64,
    /// The queue itself.
    pub queue: ClientQueue,
    /// The connection that it was made over.
    connection: u64,
    in_flight: AtomicU64,
    lost: AtomicBool,
}

impl Attached {
    fn is_ready(&self) -> bool {
        self.queue.status().state() == CardState::Ready
    }

    /// Requests in flight on this queue.
    pub fn in_flight(&self) -> u64 {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Counts a request as answered, given up, or lost with its card.
    pub fn done(&self) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
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
    /// To share no batch: a card died with it.
    pub alone: bool,
}

impl Want {
    fn admits(&self, group: &[Personality], card: u32, personality: Personality) -> bool {
        group.contains(&personality) && self.selection.admits(card, personality) && self.avoid != Some(card)
    }
}

/// Why a request was not sent.
#[derive(Debug)]
pub(crate) enum NotSent {
    /// All slots, or all blocks for long texts, of all cards that serve it are in use.
    Full,
    /// No card that serves it is ready; there may be one in a moment.
    NotReady,
    /// Anything else.
    Failed(FacilityError),
}

/// What the daemon last said about its cards.
#[derive(Default)]
struct Rows {
    rows: Vec<CardRow>,
    asked: Option<Instant>,
    /// Whether the daemon answered.
    answered: bool,
}

/// All queues of a process.
#[derive(Default)]
pub(crate) struct Pool {
    table: RwLock<Vec<Arc<Attached>>>,
    /// Held while a queue is made, so that threads that need the same one make it once.
    rows: Mutex<Rows>,
    /// Cards that were ready when the daemon was last asked.
    ready: AtomicU64,
    /// When that was, by the time-stamp counter; in the future where it is to be left in peace.
    asked_tsc: AtomicU64,
    /// Cards that were lost and are not attached anew.
    lost: AtomicU64,
    /// When the last of them was lost, by the time-stamp counter.
    lost_tsc: AtomicU64,
    /// For each card the process of it that broke the rules: nothing more is asked of it.
    shunned: Mutex<BTreeMap<u32, u64>>,
}

impl Pool {
    /// Sends a request to the card with the least work. With `force`, the daemon is asked anew
    /// about its cards where none serves it.
    pub fn send(
        &self,
        connection: &Connection,
        want: &Want,
        payload: &[u8],
        reply_bytes: usize,
        force: bool,
    ) -> Result<(Arc<Attached>, InFlight), NotSent> {
        let mut full = false;
        for group in route::personalities(want.entry) {
            let mut skip = Vec::new();
            let mut widened = false;
            loop {
                let chosen = self.choose(connection.forsaken(), want, group, &skip);
                let busy = chosen.as_ref().is_some_and(|attached| attached.in_flight() > 0);
                let may_widen = match &chosen {
                    Some(_) => busy && self.may_widen(want),
                    None => !full || !self.is_left_in_peace(),
                };
                if may_widen && !widened {
                    // Once for each request: either there is one more queue after it, or there is none.
                    widened = true;
                    match self.widen(connection, want, group, force, chosen.is_none()) {
                        Ok(true) => continue,
                        // What there is will do.
                        Err(_) if chosen.is_some() || full => {}
                        Err(error) => return Err(error),
                        Ok(false) => {}
                    }
                }
                let Some(attached) = chosen else { break };
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
                    Err(LinkError::TooLong { bytes }) => {
                        return Err(NotSent::Failed(FacilityError::TooLong {
                            verb: want.entry.verb,
                            bytes,
                            bytes_max: wire::bounds::BULK_BYTES_MAX,
                        }));
                    }
                    Err(_) => self.lose(&attached),
                }
            }
        }
        Err(if full { NotSent::Full } else { self.why_none(want) })
    }

    /// Takes a queue out of use, and with it all queues of the same process of its card: the card
    /// died, or broke the rules.
    pub fn lose(&self, attached: &Arc<Attached>) {
        if !attached.lost.load(Ordering::Relaxed) {
            self.write().retain(|other| {
                let is_lost = (other.card, other.generation) == (attached.card, attached.generation);
                other.lost.fetch_or(is_lost, Ordering::Relaxed);
                !is_lost
            });
            self.ready.fetch_and(!bit(attached.card), Ordering::Relaxed);
            self.lost_tsc.store(link::tsc(), Ordering::Relaxed);
            self.lost.fetch_or(bit(attached.card), Ordering::Relaxed);
        }
    }

    /// As [`Pool::lose`], for a card that broke the rules: its process is not attached to again.
    pub fn shun(&self, attached: &Arc<Attached>) {
        self.shunned().insert(attached.card, attached.generation);
        self.lose(attached);
    }

    fn shunned(&self) -> MutexGuard<'_, BTreeMap<u32, u64>> {
        self.shunned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long what the daemon said is believed now.
    fn fresh(&self) -> Duration {
        if self.lost.load(Ordering::Relaxed) == 0 {
            return ROWS_FRESH;
        }
        let since_tsc = link::tsc().saturating_sub(self.lost_tsc.load(Ordering::Relaxed));
        let since = Duration::from_nanos(link::tsc_to_ns(since_tsc / LOST_OVER_FRESH));
        since.clamp(ROWS_FRESH_MIN, ROWS_FRESH)
    }

    /// In a child of fork: closes the descriptors of the parent's queues, unless another thread of
    /// the parent held the table at the fork.
    pub fn abandon(&self) {
        if let Ok(mut table) = self.table.try_write() {
            table.clear();
        }
    }

    /// Reads the status page of a card that a queue is attached to.
    pub fn look_at<T>(&self, card: u32, read: impl FnOnce(&StatusView) -> T) -> Option<T> {
        let table = self.read();
        let attached = table.iter().find(|attached| attached.card == card)?;
        Some(read(attached.queue.status()))
    }

    /// Requests in flight on all queues.
    pub fn in_flight(&self) -> u64 {
        self.read().iter().map(|attached| attached.in_flight()).sum()
    }

    /// Queues in use.
    pub fn queues(&self) -> usize {
        self.read().len()
    }

    fn choose(
        &self,
        forsaken: u64,
        want: &Want,
        group: &[Personality],
        skip: &[u64],
    ) -> Option<Arc<Attached>> {
        let table = self.read();
        let mut serving = table.iter().filter(|attached| {
            attached.domain == want.domain
                && attached.connection > forsaken
                && want.admits(group, attached.card, attached.personality)
                && !attached.lost.load(Ordering::Relaxed)
                && !skip.contains(&attached.number)
        });
        // Where there is nothing to choose, nothing is read from the page that the card is writing:
        // each line of it comes from another processor. A card that is not ready will say so.
        let mut others = serving.clone();
        if let (Some(only), None) = (others.next(), others.next()) {
            return Some(Arc::clone(only));
        }
        let class = class(want.entry);
        let candidates = serving.clone().filter(|attached| attached.is_ready()).map(|attached| {
            let status = attached.queue.status();
            Candidate {
                waiting: status.queue_length().max(attached.in_flight()),
                service_ns: status.service(class).average_ns,
            }
        });
        let chosen = route::choose(candidates)?;
        serving.by_ref().filter(|attached| attached.is_ready()).nth(chosen).cloned()
    }

    /// Whether a card may exist that is not attached yet; costs a few loads.
    fn may_widen(&self, want: &Want) -> bool {
        if self.is_left_in_peace() {
            return false;
        }
        let since_tsc = link::tsc().saturating_sub(self.asked_tsc.load(Ordering::Relaxed));
        if since_tsc > link::ns_to_tsc(self.fresh().as_nanos() as u64) {
            return true;
        }
        let attached = self
            .read()
            .iter()
            .filter(|attached| attached.domain == want.domain)
            .fold(0, |cards, attached| cards | bit(attached.card));
        let allowed = want.selection.cards.unwrap_or(u64::MAX);
        self.ready.load(Ordering::Relaxed) & allowed & !attached != 0
    }

    /// Attaches one more queue: to a ready card that has none yet, or, where `more` is set and all
    /// have, another one to the card with the fewest. False where the bounds or the cards allow none.
    fn widen(
        &self,
        connection: &Connection,
        want: &Want,
        group: &[Personality],
        force: bool,
        more: bool,
    ) -> Result<bool, NotSent> {
        let (mut rows, wait) = if more {
            (self.rows.lock().unwrap_or_else(PoisonError::into_inner), NEEDED_WAIT)
        } else {
            match self.rows.try_lock() {
                Ok(rows) => (rows, OPPORTUNE_WAIT),
                // Another thread is at it, and there is a queue to use.
                Err(_) => return Ok(false),
            }
        };
        self.refresh(connection, &mut rows, force, wait).map_err(NotSent::Failed)?;
        let mut fewest: Option<(usize, u32, u32)> = None;
        let shunned = self.shunned();
        let table = self.read();
        let suitable = rows
            .rows
            .iter()
            .filter(|row| row.state == CardState::Ready && want.admits(group, row.index, row.personality))
            .filter(|row| shunned.get(&row.index) != Some(&row.generation));
        for row in suitable {
            let own = table.iter().filter(|other| other.card == row.index && other.domain == want.domain);
            let own = own.count();
            if own < if more { QUEUES_PER_CARD_AND_DOMAIN_MAX } else { 1 } {
                fewest = fewest.into_iter().chain([(own, row.queues, row.index)]).min();
            }
        }
        drop((table, shunned));
        match fewest {
            None => Ok(false),
            Some((_, _, card)) => self.attach(connection, &mut rows, card, want.domain, wait),
        }
    }

    /// Whether the daemon did not answer lately.
    fn is_left_in_peace(&self) -> bool {
        self.asked_tsc.load(Ordering::Relaxed) > link::tsc()
    }

    /// Notes that the daemon was asked, and is not to be asked again within this span and the usual
    /// one unless there is no other way.
    fn next_question(&self, pause: Duration) {
        let asked_tsc = link::tsc() + link::ns_to_tsc(pause.as_nanos() as u64);
        self.asked_tsc.store(asked_tsc, Ordering::Relaxed);
    }

    fn refresh(
        &self,
        connection: &Connection,
        rows: &mut MutexGuard<'_, Rows>,
        force: bool,
        wait: Duration,
    ) -> Result<(), FacilityError> {
        if !force && rows.asked.is_some_and(|asked| world::elapsed(asked) < self.fresh()) {
            return Ok(());
        }
        let operation = "ask for the cards";
        let answer = connection.ask(operation, &ClientRequest::Cards, Repeat::Safe, Patience::None, wait);
        rows.asked = Some(world::now());
        rows.answered = answer.is_ok();
        self.next_question(if rows.answered { Duration::ZERO } else { SILENT_PAUSE });
        let ClientReply::Cards(cards) = refusals(operation, answer?.0)? else {
            return Err(unexpected(operation));
        };
        let ready = cards.iter().filter(|row| row.state == CardState::Ready);
        self.ready.store(ready.fold(0, |cards, row| cards | bit(row.index)), Ordering::Relaxed);
        rows.rows = cards;
        Ok(())
    }

    fn attach(
        &self,
        connection: &Connection,
        rows: &mut MutexGuard<'_, Rows>,
        card: u32,
        domain: u16,
        wait: Duration,
    ) -> Result<bool, NotSent> {
        let operation = "attach a queue";
        spare_descriptors().map_err(|cause| NotSent::Failed(FacilityError::Io { operation, cause }))?;
        let slots = QUEUE_SLOTS_DEFAULT as u32;
        let request = ClientRequest::Attach { card: Some(card), personality: None, domain, slots };
        let answer = connection.ask(operation, &request, Repeat::Safe, Patience::None, wait);
        if answer.is_err() {
            self.next_question(SILENT_PAUSE);
        }
        let (answer, descriptors) = answer.map_err(NotSent::Failed)?;
        let (queue, row, slots) = match answer {
            ClientReply::Attached { queue, card, slots } => (queue, card, slots),
            ClientReply::Refused(Refusal::NoCardReady | Refusal::NoSuchCard) => {
                // It was ready a moment ago.
                rows.asked = None;
                self.ready.fetch_and(!bit(card), Ordering::Relaxed);
                return Err(NotSent::NotReady);
            }
            answer => {
                let error = refusals(operation, answer).err().unwrap_or_else(|| unexpected(operation));
                return Err(NotSent::Failed(error));
            }
        };
        let parts = parts(descriptors, slots, queue, row.generation).map_err(NotSent::Failed)?;
        let joined = match ClientQueue::join(parts) {
            Ok(joined) => joined,
            // The card was started again in between.
            Err(link::JoinError::Generation { .. }) => return Err(NotSent::NotReady),
            Err(cause) => {
                let cause = std::io::Error::other(cause);
                return Err(NotSent::Failed(FacilityError::Io { operation: "map a queue", cause }));
            }
        };
        let attached = Attached {
            card: row.index,
            personality: row.personality,
            generation: row.generation,
            domain,
            connection: connection.serial(),
            number: queue,
            queue: joined,
            in_flight: AtomicU64::new(0),
            lost: AtomicBool::new(false),
        };
        self.lost.fetch_and(!bit(attached.card), Ordering::Relaxed);
        let mut table = self.write();
        table.push(Arc::new(attached));
        table.sort_by_key(|attached| (attached.card, attached.number));
        Ok(true)
    }

    /// Why no queue serves this: no such card in the home, no such domain, or none ready.
    fn why_none(&self, want: &Want) -> NotSent {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let exists = rows.rows.iter().any(|row| {
            route::personalities(want.entry)
                .iter()
                .any(|group| Want { avoid: None, ..*want }.admits(group, row.index, row.personality))
        });
        if rows.answered && !exists {
            NotSent::Failed(FacilityError::NotServed { verb: want.entry.verb })
        } else if usize::from(want.domain) >= DOMAINS_MAX {
            NotSent::Failed(FacilityError::Domain(want.domain))
        } else {
            NotSent::NotReady
        }
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Vec<Arc<Attached>>> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Vec<Arc<Attached>>> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Attached {
    fn submit(&self, want: &Want, payload: &[u8], reply_bytes: usize) -> Result<InFlight, LinkError> {
        let (queue, verb) = (&self.queue, want.entry.verb as u16);
        let slot = queue.claim()?;
        let in_flight = if want.alone {
            queue.submit_alone(slot, verb, payload, reply_bytes)?
        } else {
            queue.submit_with_room(slot, verb, payload, reply_bytes)?
        };
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        Ok(in_flight)
    }
}

/// Whether this process may open as many descriptors as a queue takes. Where it may not, the daemon is not
/// asked for one, which it would keep for this process.
fn spare_descriptors() -> std::io::Result<()> {
    let (one, _other) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let spare: Result<Vec<OwnedFd>, _> =
        (2..QUEUE_DESCRIPTORS).map(|_| rustix::io::fcntl_dupfd_cloexec(&one, 0)).collect();
    spare.map(drop).map_err(Into::into)
}

fn bit(card: u32) -> u64 {
    1_u64.checked_shl(card).unwrap_or(0)
}

/// Kind of work of a verb in a card's status page: its position in the verb table.
fn class(entry: &'static Entry) -> usize {
    let offset = std::ptr::from_ref(entry).addr() - TABLE.as_ptr().addr();
    offset / size_of::<Entry>()
}

fn parts(
    descriptors: Vec<OwnedFd>,
    slots: u32,
    queue: u64,
    generation: u64,
) -> Result<ClientParts, FacilityError> {
    let came = descriptors.len();
    let descriptors: [OwnedFd; QUEUE_DESCRIPTORS] =
        descriptors.try_into().map_err(|_| FacilityError::Protocol {
            operation: "attach a queue",
            cause: ProtocolError::Descriptors { came, expected: QUEUE_DESCRIPTORS },
        })?;
    let [request, reply, doorbell, status, pidfd] = descriptors;
    Ok(ClientParts { request, reply, doorbell, status, pidfd, completion: None, slots, queue, generation })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_the_position_in_the_table() {
        for (position, entry) in TABLE.iter().enumerate() {
            assert_eq!(class(entry.verb.entry()), position);
        }
    }
}
