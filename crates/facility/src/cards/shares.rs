//! The shares of a process: its threads have queues of their own.
//!
//! A process has as many shares as it may use processors, up to [`SHARES_MAX`]. A thread belongs to the share with the
//! fewest threads when it first sends a request, until it ends; the next thread takes its place, with queues that are
//! there already. So no more threads share what a request writes than there are threads for each processor:
//!
//! | for each share | for the process |
//! |---|---|
//! | queues, and what is remembered of their cards | the daemon's list of cards, processes of cards that are gone |
//! | references of labels that its threads used | references of labels that any thread used |
//! | | the connection to the daemon, clear keys of requests that run in the caller |
//!
//! Where the daemon refuses a share its first queue, because a tenant or a card has as many as it may, the share's
//! threads use the queues of another share for a while.

use super::pool::{Pool, Want, after};
use super::roster::Roster;
use crate::labels::Labels;
use link::world;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

/// Upper bound of the shares of a process, and so of the first queues that it attaches to a card.
pub const SHARES_MAX: usize = 16;
/// How long a share that was refused its first queue uses another's before it asks again.
const BORROWS: Duration = Duration::from_secs(10);

/// What the threads of one share use, and no other thread writes.
#[repr(align(128))]
pub(crate) struct Share {
    /// The queues.
    pub pool: Pool,
    /// The labels.
    pub labels: Labels,
    /// Until when the queues of the share `lender` are used, by the time-stamp counter.
    borrows_tsc: AtomicU64,
    lender: AtomicU32,
}

/// The shares of a process.
pub(crate) struct Shares {
    /// Tells the shares of one facility from those of another.
    id: u64,
    roster: Arc<Roster>,
    /// Threads of each share.
    threads: Arc<[AtomicU32]>,
    shares: Box<[OnceLock<Box<Share>>]>,
}

/// A thread's place in a share.
struct Member {
    of: u64,
    share: usize,
    threads: Weak<[AtomicU32]>,
}

impl Drop for Member {
    fn drop(&mut self) {
        if let Some(threads) = self.threads.upgrade() {
            threads[self.share].fetch_sub(1, Ordering::Relaxed);
        }
    }
}

thread_local! {
    static MEMBER_OF: RefCell<Vec<Member>> = const { RefCell::new(Vec::new()) };
}

/// Gives back the places of the calling thread.
fn leave_all() {
    let _ = MEMBER_OF.try_with(|members| members.borrow_mut().clear());
}

impl Shares {
    /// The shares of a process without queues.
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let count = usize::try_from(world::processors()).unwrap_or(SHARES_MAX).clamp(1, SHARES_MAX);
        Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            roster: Arc::default(),
            threads: (0..count).map(|_| AtomicU32::new(0)).collect(),
            shares: (0..count).map(|_| OnceLock::new()).collect(),
        }
    }

    /// Number of shares that there may be.
    pub fn most(&self) -> usize {
        self.shares.len()
    }

    /// Which share the calling thread belongs to.
    #[inline]
    pub fn own_index(&self) -> usize {
        let found = MEMBER_OF.try_with(|members| {
            let mut members = members.borrow_mut();
            match members.iter().find(|member| member.of == self.id) {
                Some(member) => member.share,
                None => self.join(&mut members),
            }
        });
        // A thread that is ending has no place any more.
        found.unwrap_or(0)
    }

    /// The share of the calling thread.
    #[inline]
    pub fn own(&self) -> &Share {
        let share = self.at(self.own_index());
        let borrows_tsc = share.borrows_tsc.load(Ordering::Relaxed);
        if borrows_tsc != 0 && link::tsc() < borrows_tsc {
            return self.at(share.lender.load(Ordering::Relaxed) as usize);
        }
        share
    }

    /// Gives the calling thread a place in the share with the fewest threads.
    #[cold]
    fn join(&self, members: &mut Vec<Member>) -> usize {
        members.retain(|member| member.threads.strong_count() != 0);
        let fewest =
            self.threads.iter().enumerate().min_by_key(|(_, threads)| threads.load(Ordering::Relaxed));
        let share = fewest.map_or(0, |(share, _)| share);
        self.threads[share].fetch_add(1, Ordering::Relaxed);
        if members.is_empty() {
            world::at_end(leave_all);
        }
        members.push(Member { of: self.id, share, threads: Arc::downgrade(&self.threads) });
        share
    }

    fn at(&self, share: usize) -> &Share {
        self.shares[share].get_or_init(|| {
            Box::new(Share {
                pool: Pool::new(&self.roster),
                labels: Labels::default(),
                borrows_tsc: AtomicU64::new(0),
                lender: AtomicU32::new(0),
            })
        })
    }

    /// A share with a queue for this, because the daemon refused the calling thread's share one; none if no share has
    /// one. A share that has no queue at all uses the other's for a while.
    pub fn borrow(&self, want: &Want) -> Option<&Share> {
        let lends = |(_, share): &(usize, &Share)| share.pool.has_queue(want);
        let shares = self.shares.iter().enumerate();
        let shares = shares.filter_map(|(index, share)| Some((index, &**share.get()?)));
        let (index, lender) = shares.filter(lends).min_by_key(|(index, _)| self.threads_of(*index))?;
        let own = self.own();
        if own.pool.queues() == 0 {
            own.lender.store(index as u32, Ordering::Relaxed);
            own.borrows_tsc.store(after(BORROWS).max(1), Ordering::Relaxed);
        }
        Some(lender)
    }

    fn threads_of(&self, share: usize) -> u32 {
        self.threads[share].load(Ordering::Relaxed)
    }

    /// All shares that were used.
    pub fn all(&self) -> impl Iterator<Item = &Share> {
        self.shares.iter().filter_map(|share| share.get().map(|share| &**share))
    }

    /// Number of requests in flight on all queues.
    pub fn in_flight(&self) -> u64 {
        self.all().map(|share| share.pool.in_flight()).sum()
    }

    /// Processors that this process may use, or that its cards were seen on, whichever are more.
    pub fn processors(&self) -> u64 {
        self.all().map(|share| share.pool.processors()).max().unwrap_or_else(world::processors)
    }

    /// In a child of fork: closes the descriptors of the parent's queues.
    pub fn abandon(&self) {
        self.all().for_each(|share| share.pool.abandon());
    }
}
