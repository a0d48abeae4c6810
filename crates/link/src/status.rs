//! The status pages that a card writes about itself and everyone else reads: one with its state, followed by how
//! long each verb takes, by its slot in the verb table.
//!
//! A [`StatusPage`] is the card's end, a [`StatusView`] anyone else's, mapped read-only. What a reader finds is the
//! card's claim about itself: good for choosing a card and for deciding whether to ring its doorbell, and nothing else.
//! Each field is one atomic word; several fields read together are not a snapshot.

use crate::head::Head;
use crate::memory::{self, Access, Inherit, JoinError, Mapping, PAGE_BYTES, invalid};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicU64;
use wire::bounds::VERB_SLOTS;
use wire::control::CardState;

const HEAD: Head = Head::new(*b"cryptST\0", 5);

// One line for what never changes, two for what every submission reads, written only where it has
// changed, others for what every batch writes: readers of one do not disturb the writer of another.
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
/// Slots are given out from 0 on, so that of these pages only those exist whose verbs are asked for.
const STATUS_BYTES: usize = (SERVICE + VERB_SLOTS * SERVICE_STRIDE).next_multiple_of(PAGE_BYTES);

const _: () = assert!(COUNTERS + Counter::ALL.len() * 8 <= SERVICE);

/// What a card counts.
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
    /// Times that the doorbell woke it.
    Wakeups = 6,
    /// Requests refused before they ran: grant, key reference, personality, form.
    Refused = 7,
    /// Queues ended because their client broke the rules of the link.
    Offences = 8,
    /// Payload bytes taken in.
    BytesIn = 9,
    /// Payload bytes given out.
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

    /// Its name in snake case.
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
    /// Requests measured.
    pub requests: u64,
    /// Sum of their times in nanoseconds.
    pub sum_ns: u64,
    /// Moving average in nanoseconds, the last pass counting one eighth; 0 before the first.
    pub average_ns: u64,
    /// Moving average of how many went through one pass together, in sixteenths.
    pub fill_16ths: u64,
    /// Moving average of how long those took together, in nanoseconds.
    pub pass_ns: u64,
    /// As the fill, over passes that left requests behind: what a pass takes at the most. 0 where none
    /// did yet.
    pub full_16ths: u64,
}

/// The card's end of its status page.
#[derive(Debug)]
pub struct StatusPage {
    mapping: Mapping,
}

impl StatusPage {
    /// Makes the page of a card's process of this generation, as the daemon does; the descriptor is
    /// the card's, for writing. State [`CardState::Created`], all else zero.
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
    /// No descriptor left, or no `/proc`.
    pub fn read_only(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
        memory::read_only(fd)
    }

    /// Joins the page as the card.
    ///
    /// # Errors
    /// [`JoinError`] where the descriptor is not such a page, open for writing.
    pub fn join(fd: BorrowedFd<'_>) -> Result<Self, JoinError> {
        Ok(Self { mapping: map(fd, Access::Write)? })
    }

    /// Generation of the card's process, as the daemon set it.
    pub fn generation(&self) -> u64 {
        Head::generation(&self.mapping)
    }

    /// Says where the card stands in its life.
    pub fn set_state(&self, state: CardState) {
        self.mapping.store(STATE, u64::from(state as u32));
    }

    /// Says which processor the card runs on, where that has changed.
    pub fn set_processor(&self, processor: u32) {
        self.store_changed(PROCESSOR, u64::from(processor) + 1);
    }

    /// Says, by the time-stamp counter, that the card is at work now.
    pub fn set_heartbeat(&self, tsc: u64) {
        self.mapping.store(HEARTBEAT, tsc);
    }

    /// Says how many requests wait or run; when a pass begins and when it has ended.
    pub fn set_queue_length(&self, requests: u64) {
        self.store_changed(QUEUE_LENGTH, requests);
    }

    /// Says how many queues have requests that wait or run; when a pass begins.
    pub fn set_claimants(&self, queues: u64) {
        self.store_changed(CLAIMANTS, queues);
    }

    /// Says how long the last pass took, in nanoseconds; kept as the next power of two.
    pub fn set_pass(&self, ns: u64) {
        self.store_changed(PASS, ns.checked_next_power_of_two().unwrap_or(u64::MAX));
    }

    /// Counts.
    pub fn add(&self, counter: Counter, count: u64) {
        let offset = counter.offset();
        self.mapping.store(offset, self.mapping.load(offset).wrapping_add(count));
    }

    /// Counts a request for the verb with this slot of the verb table that took `ns` nanoseconds; one
    /// beyond [`VERB_SLOTS`] is not counted.
    pub fn add_service(&self, slot: usize, ns: u64) {
        self.add_services(slot, 1, ns);
    }

    /// As [`StatusPage::add_service`] for several requests of one pass that took `ns` nanoseconds each.
    /// The queue length as it was said when the pass began tells whether the pass was full.
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

    /// Counts requests for a verb of a pass whose others for it were refused: its averages stay, by which clients
    /// choose among cards.
    pub fn count_services(&self, slot: usize, requests: u64, ns: u64) {
        if slot >= VERB_SLOTS {
            return;
        }
        let at = SERVICE + slot * SERVICE_STRIDE;
        let before = service_at(&self.mapping, at);
        self.mapping.store(at, before.requests.wrapping_add(requests));
        self.mapping.store(at + 8, before.sum_ns.wrapping_add(ns.wrapping_mul(requests)));
    }

    /// Leaves the line with its readers where nothing has changed.
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
    /// [`JoinError`] where the descriptor is not such a page.
    pub fn join(fd: BorrowedFd<'_>) -> Result<Self, JoinError> {
        Ok(Self { mapping: map(fd, Access::Read)? })
    }

    /// Generation of the card's process.
    pub fn generation(&self) -> u64 {
        Head::generation(&self.mapping)
    }

    /// Where the card stands; a number without meaning reads as [`CardState::Failed`].
    pub fn state(&self) -> CardState {
        let number = u32::try_from(self.mapping.load(STATE)).ok();
        number.and_then(CardState::from_number).unwrap_or(CardState::Failed)
    }

    /// Whether the card sleeps or is about to.
    pub fn is_asleep(&self) -> bool {
        self.mapping.load(ASLEEP) != 0
    }

    /// Processor that the card last said it runs on.
    pub fn processor(&self) -> Option<u32> {
        self.mapping.load(PROCESSOR).checked_sub(1).and_then(|number| u32::try_from(number).ok())
    }

    /// Time-stamp counter when the card was last at work; 0 before that.
    pub fn heartbeat(&self) -> u64 {
        self.mapping.load(HEARTBEAT)
    }

    /// Requests that wait or run.
    pub fn queue_length(&self) -> u64 {
        self.mapping.load(QUEUE_LENGTH)
    }

    /// Queues that had requests when the last pass began; 0 before the first, or where the card does not say.
    pub fn claimants(&self) -> u64 {
        self.mapping.load(CLAIMANTS)
    }

    /// How long the last pass took in nanoseconds, rounded up to a power of two; 0 before the first.
    pub fn pass_ns(&self) -> u64 {
        self.mapping.load(PASS)
    }

    /// A count since the card's process started.
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
        // Three are said to wait or run: both passes, over one and over two of them, left some behind.
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
