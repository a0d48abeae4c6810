//! How a request reaches a card: shared-memory queues, doorbells, and the control sockets over which
//! both are handed out. This crate moves bytes between processes that do not trust each other; it knows
//! nothing of keys and verbs beyond the headers of [`wire::frame`].
//!
//! | need | type | held by |
//! |---|---|---|
//! | make the memory of a queue | [`QueueMemory`] | daemon |
//! | submit requests, wait for replies | [`ClientQueue`] | client |
//! | take requests, answer them | [`CardQueue`] | card |
//! | sleep until there is work | [`Doorbell`] | card |
//! | be woken, as an event loop, by any of many queues | [`Completion`] | client |
//! | publish and read the state of a card | [`StatusPage`], [`StatusView`] | card; anyone |
//! | count the requests that tenants have in flight on all cards | [`Accounts`], [`CardAccounts`] |
//! daemon; card |
//! | tokens of opened labels | [`KeyTable`], [`KeyTableView`] | daemon; card |
//! | failures of PINs by digest | [`FailureTable`], [`FailureView`] | daemon; card |
//! | control messages with descriptors | [`Channel`], [`Listener`] | everyone |
//! | watch a process | [`PidFd`] | everyone |
//! | wait for another thread | [`Latch`] | client |
//! | time-stamp counter | [`tsc`], [`tsc_to_ns`] | everyone |
//!
//! # The way of a request
//! The client claims a slot, writes a frame into memory that only it can write, and toggles the
//! slot's bit in one submission word. The card compares that word with its own copy, copies the
//! frame once and checks the copy. It writes the reply into memory that only it can write and
//! stores the request's sequence into the slot's reply word. No system call is made while both are awake.
//! Replies come per slot, in any order; any thread of the client may claim any free slot.
//!
//! # Waiting
//! A waiter spins for at most [`CLIENT_SPIN_NS`], and only if the card was awake when the request
//! was submitted, runs on another processor, and spinning has paid lately. Then it sets its slot's
//! bit in a waiting mask and sleeps on the reply word (FUTEX_WAIT, which reads a word of memory
//! that the waiter cannot write); the card wakes it if the bit is set. After
//! [`wire::bounds::LIVENESS_WAIT_NS`] the waiter wakes by itself and looks at the card's pidfd. A
//! thread that waits for any of many requests sleeps instead on one word of each queue, and is
//! woken once a round. In that word the card counts its rounds of answers. A card spins for at most
//! [`CARD_SPIN_NS`], or [`CARD_SPIN_LONG_NS`] if work comes back soon, then sleeps on its doorbell.
//! An event loop hands over its requests at the end of a round ([`ClientQueue::stage`],
//! [`ClientQueue::hand_over`]), and sees by one word of a queue which requests are answered
//! ([`ClientQueue::answered`]). Before it sleeps it asks all its queues to wake it by one
//! completion socket ([`ClientQueue::arm`]). [`wire::control::PollMode`] chooses among these on
//! either side.
//!
//! That neither side can sleep through the other's message is model-checked with loom, on the source
//! that is used: `cargo test --release --manifest-path crates/link/loom/Cargo.toml`.
//!
//! # What it costs
//! `cargo run --release -p cryptand-link --example round_trip` prints it. Two virtual processors of an AMD EPYC,
//! empty work: 0.2 us a round trip while both sides spin on processors that share a cache, 0.6 us where
//! they do not; 5 to 16 us where both sleep; 2 us on one processor. A sweep over 100 idle queues takes
//! 0.06 us, over 1,000 1.8 us: each has a page of its own, and the misses of address translation
//! add up. Claiming, submitting, taking, answering and collecting 64 bytes takes 0.2 us of processor time.
//!
//! # Decisions
//! - **Two memories per queue, one a direction.** A descriptor open for reading only cannot be
//!   mapped for writing. So neither side can change what the other said, and the card need not
//!   suspect its own words (reply words). The memories are sealed against resizing, and their
//!   inodes are of mode 0600: no other user can open the read-only descriptor anew for writing
//!   through `/proc`. Within one user id that is possible; the unit of protection is the user id.
//! - **Bulk blocks lie in the same sparse memory** as the slots, rather than in another memory made
//!   at first need. Untouched pages cost nothing but addresses, and there is no message to the
//!   daemon, no further descriptor and no intermediate state. The module `queue` says what each
//!   block is for; the rule for callers is at [`ClientQueue::submit_with_room`].
//! - **A clear key does not stay in shared memory.** If the sender says that a request holds one
//!   ([`Request::secret`]), the client wipes its part when it has collected the reply. A word of
//!   the queue tells the card, which wipes its own part ([`CardQueue::wipe_released`]): each side
//!   only writes its own memory.
//! - **Both masks and the submission word share one line**, which the card reads anyway.
//! - **Lines are fetched before they are written** (`Mapping::will_write`): between processors that
//!   share no cache a round trip is six moves of a line, of which two then overlap with others. Measured
//!   there: 0.6 us instead of 0.75, and a 64-byte payload costs nothing on top.
//! - **A card's memory of what it took is private**: which slots are taken, which blocks are lent.
//!   A client that hands over a slot twice or lends a block twice breaks a rule
//!   ([`Violation`]) and loses its queue, and no one else notices.
//! - **No reference to shared bytes.** Everything is copied in relaxed atomic words, measured at
//!   15 to 50 GB/s. The module `memory` lists each way this could be unsound, and the answer.
//! - **A generation ends with its process.** A client that finds the pidfd dead gives the queue
//!   back; its memory is unmapped and never joined to another card.
//! - **fork.** A child has none of its parent's queue mappings (DONTFORK), and is told so at its next
//!   call ([`LinkError::Forked`]) by a page that the kernel wipes on fork ([`fork::epoch`]). There
//!   is no atfork handler. The child closes its copies of the descriptors when it drops the queue or
//!   abandons it ([`ClientQueue::abandon`]); it sends nothing and unmaps nothing. The status page
//!   stays mapped: it is read-only and public.

mod accounts;
mod address;
mod card;
mod channel;
mod client;
mod clock;
mod completion;
mod doorbell;
mod error;
mod failures;
pub mod fork;
mod head;
mod keys;
mod latch;
mod memory;
mod process;
mod protocol;
mod queue;
mod samples;
mod slots;
mod status;
pub mod world;

/// The atomics of [`protocol`], of [`slots`] and of the accounts: here the real ones.
mod atomics {
    pub(crate) use std::sync::atomic::{AtomicU64, Ordering, fence};
}

pub use accounts::{Accounts, CardAccounts};
pub use card::{CardParts, CardQueue};
pub use channel::{Channel, ChannelError, Listener, Peer};
pub use client::Request;
pub use client::any::{sleep_until_answer, sleep_until_any, spin_until_answer, spin_until_any};
pub use client::{CLIENT_SPIN_NS, ClientParts, ClientQueue, InFlight, PASS_SPIN_MAX_NS, Slot, until_tick};
pub use clock::{ns_to_tsc, tell_tsc_hz, tsc, tsc_hz, tsc_per_us, tsc_to_ns};
pub use completion::Completion;
pub use doorbell::{CARD_SPIN_LONG_NS, CARD_SPIN_NS, Doorbell, EXTRA_DESCRIPTORS_MAX, Woken};
pub use error::{LinkError, ReplyError, Violation};
pub use failures::{FailureTable, FailureView};
pub use keys::{
    KeyTable, KeyTableEntry, KeyTableView, NOTE_BYTES_MAX, Stale, key_table_bytes, key_table_units,
    key_table_units_for,
};
pub use latch::Latch;
pub use memory::JoinError;
pub use process::PidFd;
pub use queue::QueueMemory;
pub use samples::{
    BUCKETS, Counts, Histogram, ROSTER_MAX, Roster, RowSamples, RowWriter, SAMPLE_NS_MAX, SampleSubject,
    Samples, SamplesView, Span, bucket,
};
pub use status::{Counter, ServiceTime, StatusPage, StatusView};
pub use world::Ended;
