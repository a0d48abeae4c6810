//! The status pages that a card writes about itself and everyone else reads. They hold its state,
//! and how long each verb takes, by its slot in the verb table.
//!
//! A [`StatusPage`] is the card's end, a [`StatusView`] anyone else's, mapped read-only. A reader
//! finds the card's claim about itself: good for choosing a card and for deciding whether to ring
//! its doorbell, and for nothing else. Each field is one atomic word; several fields read together
//! are not a snapshot.

use crate::head::Head;
use crate::memory::{self, Access, Inherit, JoinError, Mapping, PAGE_BYTES, invalid};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicU64;
use wire::bounds::VERB_SLOTS;
use wire::control::CardState;

const HEAD: Head = Head::new(*b"cryptST\0", 5);

// One line for fields that never change. Two for fields that every submission reads, written only
// when they change. Others for fields that every batch writes: readers of one line do not disturb
// the writer of another.
const ASLEEP: usize = 64;
const PROCESSOR: usize = 72;
const STATE: usize = 128;
const QUEUE_LENGTH: usize = 136;
const PASS: usize = 144;
const CLAIMANTS: usize = 152;
const HEARTBEAT: usize = 192;
const COUNTERS: usize = 256;
const SERVICE: usize = 1024;
const SERVICE_STRIDE: usize = 48;
/// Verb slots are numbered from 0 on, so that of these pages only those exist whose verbs are asked
/// for.
const STATUS_BYTES: usize = (SERVICE + VERB_SLOTS * SERVICE_STRIDE).next_multiple_of(PAGE_BYTES);

const _: () = assert!(COUNTERS + Counter::ALL.len() * 8 <= SERVICE);

/// The events that a card counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Counter {
    /// Requests answered.
    Requests = 0,
    /// Batches run.
    Batches = 1,
    /// Sum of the number of requests of each batch.
    FillSum = 2,
    /// Time-stamp counts spent on batches.
    BusyTsc = 3,
    /// Sweeps over the queues.
    Polls = 4,
    /// Times that the card went to sleep.
    Sleeps = 5,
    /// Times that the doorbell woke the card.
    Wakeups = 6,
    /// Requests refused before they ran: grant, key reference, personality, form.
    Refused = 7,
    /// Queues ended because their client broke the rules of the link.
    Offences = 8,
    /// Payload bytes of requests.
    BytesIn = 9,
    /// Payload bytes of replies.
    BytesOut = 10,
}

impl Counter {
    /// Every counter.
    pub const ALL: [Self; 11] = [
        Self::Requests,
        Self::Batches,
        Self::FillSum,
        Self::BusyTsc,
        Self::Polls,
        Self::Sleeps,
        Self::Wakeups,
        Self::Refused,
        Self::Offences,
        Self::BytesIn,
        Self::BytesOut,
    ];

    /// Name of the counter in snake case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Batches => "batches",
            Self::FillSum => "fill_sum",
            Self::BusyTsc => "busy_tsc",
            Self::Polls => "polls",
            Self::Sleeps => "sleeps",
            Self::Wakeups => "wakeups",
            Self::Refused => "refused",
            Self::Offences => "offences",
            Self::BytesIn => "bytes_in",
            Self::BytesOut => "bytes_out",
        }
    }

    const fn offset(self) -> usize {
        COUNTERS + self as usize * 8
    }
}

/// How long the requests of one verb take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceTime {
    /// Number of requests that were measured.
    pub requests: u64,
    /// Sum of the times of these requests in nanoseconds.
    pub sum_ns: u64,
    /// Moving average in nanoseconds, the last pass counting one eighth; 0 before the first.
    pub average_ns: u64,
    /// Moving average of the number of requests that one pass answered together, in sixteenths.
    pub fill_16ths: u64,
    /// Moving average of the time that the requests of one pass took together, in nanoseconds.
    pub pass_ns: u64,
    /// As `fill_16ths`, over passes that left requests behind: the greatest number that a pass
    /// takes. 0 before the first such pass.
    pub full_16ths: u64,
}

/// The card's end of its status page.
#[derive(Debug)]
pub struct StatusPage {
    mapping: Mapping,
}

impl StatusPage {
    /// Makes the page of a card's process of this generation, as the daemon does. The descriptor is
    /// the card's, for writing. The state is [`CardState::Created`], everything else zero.
    ///
    /// # Errors
    /// Of the system calls.
    pub fn create(generation: u64) -> io::Result<OwnedFd> {
        let fd = memory::create_sealed("cryptand status", STATUS_BYTES)?;
        let mapping =
            Mapping::sealed(fd.as_fd(), STATUS_BYTES, Access::Write, Inherit::Shared).map_err(invalid)?;
        HEAD.begin(&mapping, generation);
        Ok(fd)
    }

    /// A descriptor of the same page for readers.
    ///
    /// # Errors
    /// No descriptor is left, or no `/proc`.
    pub fn read_only(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
        memory::read_only(fd)
    }

    /// Joins the page as the card.
    ///
    /// # Errors
    /// [`JoinError`] if the descriptor is not such a page, open for writing.
    pub fn join(fd: BorrowedFd<'_>) -> Result<Self, JoinError> {
        Ok(Self { mapping: map(fd, Access::Write)? })
    }

    /// Generation of the card's process, as the daemon set it.
    pub fn generation(&self) -> u64 {
        Head::generation(&self.mapping)
    }

    /// Publishes the card's state.
    pub fn set_state(&self, state: CardState) {
        self.mapping.store(STATE, u64::from(state as u32));
    }

    /// Publishes which processor the card runs on, if it has changed.
    pub fn set_processor(&self, processor: u32) {
        self.store_changed(PROCESSOR, u64::from(processor) + 1);
    }

    /// Publishes, by the time-stamp counter, that the card is at work now.
    pub fn set_heartbeat(&self, tsc: u64) {
        self.mapping.store(HEARTBEAT, tsc);
    }

    /// Publishes how many requests wait or run: when a pass begins and when it has ended.
    pub fn set_queue_length(&self, requests: u64) {
        self.store_changed(QUEUE_LENGTH, requests);
    }

    /// Publishes how many queues have requests that wait or run: when a pass begins.
    pub fn set_claimants(&self, queues: u64) {
        self.store_changed(CLAIMANTS, queues);
    }

    /// Publishes how long the last pass took, in nanoseconds; stored as the next power of two.
    pub fn set_pass(&self, ns: u64) {
        self.store_changed(PASS, ns.checked_next_power_of_two().unwrap_or(u64::MAX));
    }

    /// Adds this number to a counter.
    pub fn add(&self, counter: Counter, count: u64) {
        let offset = counter.offset();
        self.mapping.store(offset, self.mapping.load(offset).wrapping_add(count));
    }

    /// Counts a request for the verb with this slot of the verb table that took `ns` nanoseconds; a
    /// slot beyond [`VERB_SLOTS`] is not counted.
    pub fn add_service(&self, slot: usize, ns: u64) {
        self.add_services(slot, 1, ns);
    }

    /// As [`StatusPage::add_service`] for several requests of one pass that took `ns` nanoseconds
    /// each. The pass was full if the published queue length exceeds their number.
    pub fn add_services(&self, slot: usize, requests: u64, ns: u64) {
        if slot >= VERB_SLOTS || requests == 0 {
            return;
        }
        let at = SERVICE + slot * SERVICE_STRIDE;
        let before = service_at(&self.mapping, at);
        self.count_services(slot, requests, ns);
        self.mapping.store(at + 16, moved(before.average_ns, ns));
        self.mapping.store(at + 24, moved(before.fill_16ths, requests.saturating_mul(16)));
        self.mapping.store(at + 32, moved(before.pass_ns, ns.saturating_mul(requests)));
        if self.mapping.load(QUEUE_LENGTH) > requests {
            self.mapping.store(at + 40, moved(before.full_16ths, requests.saturating_mul(16)));
        }
    }

    /// Counts requests for a verb whose other requests in the pass were refused. The verb's
    /// averages, by which clients choose among cards, stay as they are.
    pub fn count_services(&self, slot: usize, requests: u64, ns: u64) {
        if slot >= VERB_SLOTS {
            return;
        }
        let at = SERVICE + slot * SERVICE_STRIDE;
        let before = service_at(&self.mapping, at);
        self.mapping.store(at, before.requests.wrapping_add(requests));
        self.mapping.store(at + 8, before.sum_ns.wrapping_add(ns.wrapping_mul(requests)));
    }

    /// Stores a word only if it changes: readers otherwise keep its cache line.
    fn store_changed(&self, offset: usize, value: u64) {
        if self.mapping.load(offset) != value {
            self.mapping.store(offset, value);
        }
    }

    pub(crate) fn asleep(&self) -> &AtomicU64 {
        self.mapping.writable(ASLEEP)
    }
}

/// Anyone's view of a card's status page.
#[derive(Debug)]
pub struct StatusView {
    mapping: Mapping,
}

impl StatusView {
    /// Joins the page as a reader.
    ///
    /// # Errors
    /// [`JoinError`] if the descriptor is not such a page.
    pub fn join(fd: BorrowedFd<'_>) -> Result<Self, JoinError> {
        Ok(Self { mapping: map(fd, Access::Read)? })
    }

    /// Generation of the card's process.
    pub fn generation(&self) -> u64 {
        Head::generation(&self.mapping)
    }

    /// The card's state; a number without meaning reads as [`CardState::Failed`].
    pub fn state(&self) -> CardState {
        let number = u32::try_from(self.mapping.load(STATE)).ok();
        number.and_then(CardState::from_number).unwrap_or(CardState::Failed)
    }

    /// Whether the card sleeps or is about to.
    pub fn is_asleep(&self) -> bool {
        self.mapping.load(ASLEEP) != 0
    }

    /// The processor that the card last published; none before that.
    pub fn processor(&self) -> Option<u32> {
        self.mapping.load(PROCESSOR).checked_sub(1).and_then(|number| u32::try_from(number).ok())
    }

    /// Time-stamp counter when the card was last at work; 0 before that.
    pub fn heartbeat(&self) -> u64 {
        self.mapping.load(HEARTBEAT)
    }

    /// Number of requests that wait or run, as last published.
    pub fn queue_length(&self) -> u64 {
        self.mapping.load(QUEUE_LENGTH)
    }

    /// Number of queues that had requests when the last pass began; 0 before the first pass, or if
    /// the card does not publish it.
    pub fn claimants(&self) -> u64 {
        self.mapping.load(CLAIMANTS)
    }

    /// How long the last pass took in nanoseconds, rounded up to a power of two; 0 before the first.
    pub fn pass_ns(&self) -> u64 {
        self.mapping.load(PASS)
    }

    /// Value of a counter since the card's process started.
    pub fn count(&self, counter: Counter) -> u64 {
        self.mapping.load(counter.offset())
    }

    /// How long requests for the verb with this slot of the verb table take; zeros beyond [`VERB_SLOTS`].
    pub fn service(&self, slot: usize) -> ServiceTime {
        if slot < VERB_SLOTS {
            service_at(&self.mapping, SERVICE + slot * SERVICE_STRIDE)
        } else {
            ServiceTime::default()
        }
    }

    pub(crate) fn asleep(&self) -> &AtomicU64 {
        self.mapping.word(ASLEEP)
    }
}

/// A moving average after one more value, which counts one eighth.
fn moved(average: u64, value: u64) -> u64 {
    if average == 0 { value } else { average - average / 8 + value / 8 }
}

fn map(fd: BorrowedFd<'_>, access: Access) -> Result<Mapping, JoinError> {
    // A child of fork keeps the page: nothing in it is private, and reading it does no harm.
    let mapping = Mapping::sealed(fd, STATUS_BYTES, access, Inherit::Shared)?;
    HEAD.check(&mapping)?;
    Ok(mapping)
}

fn service_at(mapping: &Mapping, at: usize) -> ServiceTime {
    ServiceTime {
        requests: mapping.load(at),
        sum_ns: mapping.load(at + 8),
        average_ns: mapping.load(at + 16),
        fill_16ths: mapping.load(at + 24),
        pass_ns: mapping.load(at + 32),
        full_16ths: mapping.load(at + 40),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (StatusPage, StatusView) {
        let fd = StatusPage::create(7).unwrap();
        let reader = StatusPage::read_only(fd.as_fd()).unwrap();
        (StatusPage::join(fd.as_fd()).unwrap(), StatusView::join(reader.as_fd()).unwrap())
    }

    #[test]
    fn what_the_card_says_is_read() {
        let (page, view) = pair();
        assert_eq!((view.generation(), view.state(), view.processor()), (7, CardState::Created, None));
        page.set_state(CardState::Ready);
        page.set_processor(0);
        page.set_queue_length(3);
        page.set_claimants(2);
        page.set_heartbeat(99);
        page.set_pass(1_025);
        for counter in Counter::ALL {
            page.add(counter, 1 + counter as u64);
            page.add(counter, 1);
        }
        page.add_service(VERB_SLOTS - 1, 800);
        page.add_services(VERB_SLOTS - 1, 2, 1600);
        page.add_service(VERB_SLOTS, 1);

        assert_eq!((view.state(), view.processor()), (CardState::Ready, Some(0)));
        assert_eq!((view.queue_length(), view.claimants()), (3, 2));
        assert_eq!((view.heartbeat(), view.is_asleep()), (99, false));
        assert_eq!(view.pass_ns(), 2_048);
        page.set_pass(u64::MAX);
        assert_eq!(view.pass_ns(), u64::MAX);
        for counter in Counter::ALL {
            assert_eq!(view.count(counter), 2 + counter as u64, "{}", counter.name());
        }
        let service = view.service(VERB_SLOTS - 1);
        assert_eq!((service.requests, service.sum_ns, service.average_ns), (3, 4000, 900));
        assert_eq!((service.fill_16ths, service.pass_ns), (18, 1100));
        // Three requests wait or run: both passes, over one and over two of them, left some behind.
        assert_eq!(service.full_16ths, 18);
        assert_eq!(view.service(VERB_SLOTS), ServiceTime::default());
        page.count_services(VERB_SLOTS - 1, 2, 90_000);
        page.count_services(VERB_SLOTS, 2, 90_000);
        let counted = ServiceTime { requests: 5, sum_ns: 184_000, ..service };
        assert_eq!(view.service(VERB_SLOTS - 1), counted);
    }

    #[test]
    fn a_reader_cannot_join_as_the_card_nor_another_memory_as_the_page() {
        let fd = StatusPage::create(1).unwrap();
        let reader = StatusPage::read_only(fd.as_fd()).unwrap();
        assert!(matches!(StatusPage::join(reader.as_fd()), Err(JoinError::System { .. })));
        let other = memory::create_sealed("test", STATUS_BYTES).unwrap();
        assert!(matches!(StatusView::join(other.as_fd()), Err(JoinError::Magic { found: 0 })));
    }
}
