//! A pool's questions to the daemon, and how it uses the answers. The threads of a process ask and wait
//! ([`Pool::widen`]); an event loop asks, continues, and gets the answer later ([`Pool::question`]).

use super::{
    Attached, NotSent, Pool, QUEUES_PER_CARD_AND_DOMAIN_MAX, QUEUES_PER_CARD_OF_PROCESS_MAX, Want, bit,
    span_tsc,
};
use crate::cards::figures::Figures;
use crate::cards::roster::{Counted, ROWS_FRESH_MIN, Rows};
use crate::control::connection::{Connection, Patience, Repeat};
use crate::control::{refusals, unexpected};
use crate::error::{FacilityError, ProtocolError};
use link::{ClientParts, ClientQueue};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;
use wire::bounds::{BULK_BLOCKS, QUEUE_SLOTS_DEFAULT, QUEUE_SLOTS_MAX};
use wire::control::{CardRow, CardState, ClientReply, ClientRequest, Refusal};

/// How long to wait for an answer: if there is a queue to use meanwhile, and if there is none.
const OPPORTUNE_WAIT: Duration = Duration::from_millis(100);
const NEEDED_WAIT: Duration = Duration::from_secs(10);
/// How long to wait for an answer if a card has answered, or would, that it holds no key.
pub(crate) const KEYS_WAIT: Duration = Duration::from_secs(1);
/// Descriptors that come with a queue.
const QUEUE_DESCRIPTORS: usize = 5;
/// Names of the questions in errors.
pub(crate) const ASK_CARDS: &str = "ask for the cards";
pub(crate) const ATTACH: &str = "attach a queue";

/// Why one more queue is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum More {
    /// An idle card may answer sooner than the attached ones.
    Sooner,
    /// No attached card holds the request's keys, and another may.
    WithKeys,
    /// No queue can be used.
    Any,
}

impl Pool {
    /// Attaches one more queue: to a card that serves and has none yet, or, if no queue can be used and all cards
    /// have one, another queue to the card with the fewest. False if the bounds or the cards allow none. True also
    /// where another thread has made one meanwhile, so that there are more than the `queues` of before, and the request
    /// has room: the other thread's may be to another card, or have no blocks.
    pub(super) fn widen(
        &self,
        connection: &Connection,
        want: &Want,
        force: bool,
        more: More,
        queues: usize,
    ) -> Result<bool, NotSent> {
        let (mut rows, wait) = if more == More::Sooner {
            match self.roster.try_rows() {
                Some(rows) => (rows, OPPORTUNE_WAIT),
                // Another thread asks already, and there is a queue to use.
                None => return Ok(false),
            }
        } else {
            let wait = if more == More::WithKeys { KEYS_WAIT } else { NEEDED_WAIT };
            (self.roster.rows(), wait)
        };
        if more == More::Any && self.queues() > queues && self.has_room(want) {
            return Ok(true);
        }
        let mut again = true;
        loop {
            if force || self.is_due(&rows, want) {
                let answer =
                    connection.ask(ASK_CARDS, &ClientRequest::Cards, Repeat::Safe, Patience::None, wait);
                self.take_in_cards(&mut rows, answer.map(|(answer, _)| answer)).map_err(NotSent::Failed)?;
            }
            let Some(card) = self.next_card(&rows, want, more) else {
                if std::mem::take(&mut again) && more != More::Sooner && self.is_outdated(&rows, want) {
                    rows.asked = false;
                    continue;
                }
                return Ok(false);
            };
            spare_descriptors()
                .map_err(|cause| NotSent::Failed(FacilityError::Io { operation: ATTACH, cause }))?;
            let request = attach(card, want);
            let answer = connection.ask(ATTACH, &request, Repeat::Safe, Patience::None, wait);
            match self.take_in_queue(&mut rows, card, want.domain, connection.serial(), answer) {
                // What was known of the cards no longer holds: another one may be ready.
                Err(NotSent::NotReady) if again && !rows.asked => again = false,
                outcome => return outcome.map(|()| true),
            }
        }
    }

    /// What to ask the daemon, so that a request of this kind finds a queue: for its cards, or for a queue to one of
    /// them; with `more`, also if every card that serves it has a queue. None if a question is of no use now.
    pub fn question(&self, want: &Want, more: bool) -> Option<ClientRequest> {
        let rows = self.roster.rows();
        if want.tried != 0 && self.roster.is_left_in_peace() {
            return None;
        }
        if self.is_due(&rows, want) {
            return Some(ClientRequest::Cards);
        }
        match self.next_card(&rows, want, if more { More::Any } else { More::Sooner }) {
            Some(card) => spare_descriptors().is_ok().then(|| attach(card, want)),
            None if more && !self.roster.is_left_in_peace() && self.is_outdated(&rows, want) => {
                Some(ClientRequest::Cards)
            }
            None => None,
        }
    }

    /// Hears the daemon's answer about its cards.
    pub fn heard_cards(&self, answer: Result<ClientReply, FacilityError>) -> Result<(), FacilityError> {
        let mut rows = self.roster.rows();
        self.take_in_cards(&mut rows, answer)
    }

    /// Hears the daemon's answer to the question for a queue, on the connection of this number.
    pub fn heard_queue(
        &self,
        card: u32,
        domain: u16,
        connection: u64,
        answer: Result<(ClientReply, Vec<OwnedFd>), FacilityError>,
    ) -> Result<(), NotSent> {
        let mut rows = self.roster.rows();
        self.take_in_queue(&mut rows, card, domain, connection, answer)
    }

    fn is_due(&self, rows: &Rows, want: &Want) -> bool {
        // That no card holds the keys of a request is concluded only from a fresh list of cards.
        let is_old =
            || want.tried != 0 && link::tsc() >= rows.asked_tsc.saturating_add(span_tsc(ROWS_FRESH_MIN));
        !rows.asked || self.roster.is_time_to_ask() || is_old()
    }

    /// Whether a card that may serve a request was lost since the daemon told of it: it may be back, with other keys.
    fn is_outdated(&self, rows: &Rows, want: &Want) -> bool {
        let is_lost = |row: &CardRow| row.state.serves() && !self.roster.is_listed(row.index);
        rows.rows.iter().any(|row| is_lost(row) && want.admits(row.index, row.personality))
    }

    /// The card that the next queue is made at.
    fn next_card(&self, rows: &Rows, want: &Want, more: More) -> Option<u32> {
        let (shunned, table) = (self.roster.shunned(), self.read());
        let full = if more == More::Sooner { self.roster.full() } else { 0 };
        let needs_keys = want.tried != 0 || more == More::WithKeys;
        let suitable = rows
            .rows
            .iter()
            .filter(|row| self.roster.is_listed(row.index) && want.admits(row.index, row.personality))
            .filter(|row| !needs_keys || row.state == CardState::Ready)
            .filter(|row| full & bit(row.index) == 0)
            .filter(|row| shunned.get(&row.index) != Some(&row.generation));
        // Queues without bulk blocks do not count for a long request.
        let is_own = |other: &&Arc<Attached>, card| {
            other.card == card
                && other.domain == want.domain
                && other.has_place_for(want)
                && !other.is_of_no_use(&self.roster)
        };
        let own = |card| table.iter().filter(|other| is_own(other, card)).count();
        let bound = if more == More::Any && want.tried == 0 { QUEUES_PER_CARD_AND_DOMAIN_MAX } else { 1 };
        let places = suitable.filter_map(|row| {
            let own = own(row.index);
            let is_last = !want.registers.is_empty() && row.state == CardState::Sealed;
            let may_have = own == 0 || self.roster.queues(row.index) < QUEUES_PER_CARD_OF_PROCESS_MAX;
            (own < bound && may_have)
                .then(|| (is_last, own, want.rank(row.personality), row.queues, row.index))
        });
        places.min().map(|(.., card)| card)
    }

    fn take_in_cards(
        &self,
        rows: &mut Rows,
        answer: Result<ClientReply, FacilityError>,
    ) -> Result<(), FacilityError> {
        let has_lost = self.roster.heard(rows, answer.is_ok());
        let ClientReply::Cards(cards) = refusals(ASK_CARDS, answer?)? else {
            return Err(unexpected(ASK_CARDS));
        };
        self.roster.take_in(rows, cards, has_lost);
        self.roster.drop_lost();
        Ok(())
    }

    fn take_in_queue(
        &self,
        rows: &mut MutexGuard<'_, Rows>,
        card: u32,
        domain: u16,
        connection: u64,
        answer: Result<(ClientReply, Vec<OwnedFd>), FacilityError>,
    ) -> Result<(), NotSent> {
        match answer {
            Ok(_) => self.roster.spoke(),
            Err(_) => self.roster.fell_silent(),
        }
        let (answer, descriptors) = answer.map_err(NotSent::Failed)?;
        let (queue, row, slots) = match answer {
            ClientReply::Attached { queue, card, slots } => (queue, card, slots),
            ClientReply::Refused(Refusal::NoCardReady | Refusal::NoSuchCard) => {
                // It was ready a moment ago.
                rows.asked = false;
                self.roster.unlist(card);
                return Err(NotSent::NotReady);
            }
            answer => {
                if matches!(answer, ClientReply::Refused(Refusal::Full { .. })) {
                    self.roster.refused(card);
                }
                let error = refusals(ATTACH, answer).err().unwrap_or_else(|| unexpected(ATTACH));
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
            connection,
            number: queue,
            queue: joined,
            place: AtomicU32::new(u32::MAX),
            figures: Arc::new(Figures::new()),
            was_sealed: row.state == CardState::Sealed,
            lost: AtomicBool::new(false),
            owners: Box::new([const { AtomicU64::new(0) }; QUEUE_SLOTS_MAX]),
            _counted: Counted::new(&self.roster, row.index),
        };
        let mut table = self.write();
        let same = table.iter().find(|other| (other.card, other.generation) == (row.index, row.generation));
        let figures = same.map(|other| Arc::clone(&other.figures));
        table.push(Arc::new(Attached { figures: figures.unwrap_or(attached.figures), ..attached }));
        table.sort_by_key(|attached| (attached.card, attached.number));
        Ok(())
    }
}

/// Bulk blocks are asked for when something needs them: they are most of a queue's memory.
fn attach(card: u32, want: &Want) -> ClientRequest {
    let blocks = if want.long { BULK_BLOCKS as u32 } else { 0 };
    ClientRequest::Attach { card, domain: want.domain, slots: QUEUE_SLOTS_DEFAULT as u32, blocks }
}

/// Whether this process may open as many descriptors as a queue takes. Where it may not, the daemon is not
/// asked for one, which it would keep for this process.
fn spare_descriptors() -> std::io::Result<()> {
    let (one, _other) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let spare: Result<Vec<OwnedFd>, _> =
        (2..QUEUE_DESCRIPTORS).map(|_| rustix::io::fcntl_dupfd_cloexec(&one, 0)).collect();
    spare.map(drop).map_err(Into::into)
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
    Ok(ClientParts { request, reply, doorbell, status, pidfd, slots, queue, generation })
}
