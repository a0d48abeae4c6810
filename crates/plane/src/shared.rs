//! What the threads and whoever controls them share: tables, events, figures, sockets that come and go.

use crate::bounds::{ADDRESSES_MAX, EVENTS_WAITING_MAX, THREADS_MAX};
use crate::counters::{Figures, Window};
use crate::lock::lock;
use crate::path::{PathMtus, Paths};
use engine::Engine;
use ipsec::{EVENTS_MAX, Event, Gathering, Sad, Spd, Time};
use rustix::event::{EventfdFlags, eventfd};
use std::collections::HashSet;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A snapshot of what decides about packets. Whoever changes it publishes another.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// SAs.
    pub sad: Arc<Sad>,
    /// Policies.
    pub spd: Arc<Spd>,
    /// Addresses of this machine: packets for them come in, others go through.
    pub local: Arc<HashSet<IpAddr>>,
    /// MTU of the paths to peers, as routes and devices say; what is learnt of a path lowers it.
    pub path_mtus: Arc<PathMtus>,
}

/// What threads and their control share.
pub struct Shared {
    pub(crate) engine: Engine,
    started: Instant,
    tables: Mutex<Arc<Tables>>,
    /// Earlier tables that a thread may still hold.
    retired: Mutex<Vec<Arc<Tables>>>,
    version: AtomicU64,
    taken_up: Arc<TakenUp>,
    events: Mutex<Vec<Event>>,
    /// How many wait, so that threads keep theirs while there is no room.
    waiting: AtomicUsize,
    event_fd: OwnedFd,
    stopped: AtomicBool,
    ended: AtomicBool,
    pub(crate) paths: Paths,
    /// Pieces of packets: those of one may come by queues of several threads.
    pub(crate) gathering: Mutex<Gathering>,
    /// The identification of the packet that is cut next.
    piece_id: AtomicU32,
    pub(crate) threads: Vec<Seat>,
    addresses: Mutex<HashSet<SocketAddr>>,
}

/// What the control has of one thread.
pub(crate) struct Seat {
    pub(crate) window: Window,
    wake: OwnedFd,
    changes: Mutex<Vec<Change>>,
    /// The version of the tables that it was woken for last.
    woken_for: AtomicU64,
    /// The version that it looks by from its next look on.
    looks_by: AtomicU64,
    taken_up: Arc<TakenUp>,
}

/// Tells whoever waits that a thread has taken up tables.
#[derive(Default)]
struct TakenUp {
    guard: Mutex<()>,
    news: Condvar,
}

/// A socket that comes or goes.
pub(crate) enum Change {
    Add(SocketAddr, OwnedFd),
    Remove(SocketAddr),
}

/// What all threads counted, and each.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Summed.
    pub all: Figures,
    /// By thread.
    pub threads: Vec<Figures>,
}

/// Why sockets were not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SocketError {
    /// There must be one for each thread.
    Count {
        /// As given.
        sockets: usize,
        /// Threads.
        threads: usize,
    },
    /// Sockets of this address are there.
    Exists(SocketAddr),
    /// There are sockets of [`ADDRESSES_MAX`] addresses.
    Full,
}

impl Shared {
    /// For so many threads, 1 to [`THREADS_MAX`].
    ///
    /// # Errors
    /// EINVAL for another number; what the system says where it gives no descriptors.
    pub fn new(engine: Engine, threads: usize) -> io::Result<Shared> {
        if threads == 0 || threads > THREADS_MAX {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let counter = || eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let taken_up: Arc<TakenUp> = Arc::default();
        let seats = (0..threads)
            .map(|_| {
                Ok(Seat {
                    window: Window::default(),
                    wake: counter()?,
                    changes: Mutex::default(),
                    woken_for: AtomicU64::new(0),
                    looks_by: AtomicU64::new(0),
                    taken_up: Arc::clone(&taken_up),
                })
            })
            .collect::<io::Result<_>>()?;
        let mut id = [0; 4];
        engine.random(&mut id);
        Ok(Shared {
            engine,
            started: Instant::now(),
            tables: Mutex::default(),
            retired: Mutex::default(),
            version: AtomicU64::new(0),
            taken_up,
            events: Mutex::default(),
            waiting: AtomicUsize::new(0),
            event_fd: counter()?,
            stopped: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            paths: Paths::default(),
            gathering: Mutex::default(),
            piece_id: AtomicU32::new(u32::from_ne_bytes(id)),
            threads: seats,
            addresses: Mutex::default(),
        })
    }

    /// How many threads it is for.
    pub fn thread_count(&self) -> usize {
        self.threads.len()
    }

    /// The time by which SAs are added and threads count: since this was made.
    pub fn now(&self) -> Time {
        Time(self.started.elapsed())
    }

    /// Hands tables to the threads, which take them up with their next batch; those that sleep are woken, so that keys
    /// of the last tables go.
    pub fn publish(&self, tables: Tables) {
        let old = std::mem::replace(&mut *lock(&self.tables), Arc::new(tables));
        let version = self.version.fetch_add(1, Ordering::Release) + 1;
        for seat in &self.threads {
            seat.woken_for.store(version, Ordering::Release);
        }
        lock(&self.retired).push(old);
        self.wake();
        self.reap();
    }

    /// Waits, for so long at most, until no thread looks by earlier tables than those that were published last; whether
    /// that is so. Until then a packet that came before may be routed to an SA that only the earlier ones have: whoever
    /// takes one out of the tables ends it after this.
    pub fn wait_taken_up(&self, wait: Duration) -> bool {
        let version = self.version();
        let is_late = |seat: &Seat| seat.looks_by.load(Ordering::Acquire) < version;
        let guard = lock(&self.taken_up.guard);
        let waited =
            self.taken_up.news.wait_timeout_while(guard, wait, |()| self.threads.iter().any(is_late));
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// Frees earlier tables, with the keys of SAs that are gone, as far as no thread holds them any more; whether some
    /// are left, for a later call. They are freed here and not by whichever thread was the last, since memory that is
    /// freed by another thread than it came from is not used again.
    pub fn reap(&self) -> bool {
        let mut retired = lock(&self.retired);
        retired.retain(|tables| Arc::strong_count(tables) > 1);
        !retired.is_empty()
    }

    /// The tables as published last.
    pub fn tables(&self) -> Arc<Tables> {
        Arc::clone(&lock(&self.tables))
    }

    /// Another for each packet that is cut outside.
    pub(crate) fn next_piece_id(&self) -> u32 {
        loop {
            let id = self.piece_id.fetch_add(1, Ordering::Relaxed);
            // With IPv4 that would be the next one's, too.
            if id as u16 != 0 {
                return id;
            }
        }
    }

    /// Another for each publication.
    #[inline]
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Whether tables were published.
    pub(crate) fn is_published(&self) -> bool {
        self.version() > 0
    }

    /// Takes the events that have come up, and makes [`Shared::event_fd`] unreadable.
    pub fn take_events(&self) -> Vec<Event> {
        let _ = rustix::io::read(&self.event_fd, &mut [0; 8]);
        let mut events = lock(&self.events);
        self.waiting.store(0, Ordering::Relaxed);
        std::mem::take(&mut *events)
    }

    /// A descriptor that is readable while there are events.
    pub fn event_fd(&self) -> BorrowedFd<'_> {
        self.event_fd.as_fd()
    }

    /// Whether there is room for the events of one thread.
    pub(crate) fn has_room(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) + EVENTS_MAX <= EVENTS_WAITING_MAX
    }

    /// Adds the events of a thread.
    pub(crate) fn tell(&self, more: Vec<Event>) {
        let mut events = lock(&self.events);
        events.extend(more);
        self.waiting.store(events.len(), Ordering::Relaxed);
        drop(events);
        let _ = rustix::io::write(&self.event_fd, &1_u64.to_ne_bytes());
    }

    /// What the threads counted so far.
    pub fn counters(&self) -> Totals {
        let threads: Vec<Figures> = self.threads.iter().map(|seat| seat.window.read()).collect();
        let mut all = Figures::default();
        threads.iter().for_each(|figures| all.add(figures));
        Totals { all, threads }
    }

    /// Hands sockets of an address to the threads, one to each.
    ///
    /// # Errors
    /// [`SocketError`]; the sockets are closed.
    pub fn add_sockets(&self, address: SocketAddr, sockets: Vec<OwnedFd>) -> Result<(), SocketError> {
        if sockets.len() != self.threads.len() {
            return Err(SocketError::Count { sockets: sockets.len(), threads: self.threads.len() });
        }
        let mut addresses = lock(&self.addresses);
        if addresses.contains(&address) {
            return Err(SocketError::Exists(address));
        }
        if addresses.len() >= ADDRESSES_MAX {
            return Err(SocketError::Full);
        }
        addresses.insert(address);
        for (seat, socket) in self.threads.iter().zip(sockets) {
            lock(&seat.changes).push(Change::Add(address, socket));
        }
        self.wake();
        Ok(())
    }

    /// Has the threads close their sockets of an address; whether there were any.
    pub fn remove_sockets(&self, address: SocketAddr) -> bool {
        let mut addresses = lock(&self.addresses);
        let was_there = addresses.remove(&address);
        if was_there {
            for seat in &self.threads {
                lock(&seat.changes).push(Change::Remove(address));
            }
            self.wake();
        }
        was_there
    }

    /// Ends the threads after their batches.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.wake();
    }

    /// Whether a thread ended that was not stopped: packets of its queue and its sockets are lost. [`Shared::event_fd`]
    /// becomes readable then.
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// A thread ends.
    pub(crate) fn end(&self) {
        if !self.is_stopped() {
            self.ended.store(true, Ordering::Release);
            self.tell(Vec::new());
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    fn wake(&self) {
        for seat in &self.threads {
            // A counter that is full is readable.
            let _ = rustix::io::write(&seat.wake, &1_u64.to_ne_bytes());
        }
    }
}

impl Seat {
    /// Becomes readable when there is something to look at.
    pub(crate) fn wake_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// Makes it unreadable, and takes what came. From here on the thread looks by the tables that it was woken for: it
    /// calls this between two looks, and takes up tables before each.
    pub(crate) fn take_changes(&self) -> Vec<Change> {
        let _ = rustix::io::read(&self.wake, &mut [0; 8]);
        let version = self.woken_for.load(Ordering::Acquire);
        if self.looks_by.swap(version, Ordering::AcqRel) != version {
            // Whoever has looked, and not begun to wait, is waited for.
            drop(lock(&self.taken_up.guard));
            self.taken_up.news.notify_all();
        }
        std::mem::take(&mut *lock(&self.changes))
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Shared({} threads)", self.threads.len())
    }
}

impl std::fmt::Display for SocketError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SocketError::Count { sockets, threads } => {
                write!(out, "{sockets} sockets were given for {threads} threads")
            }
            SocketError::Exists(address) => write!(out, "sockets of {address} are there"),
            SocketError::Full => write!(out, "there are sockets of {ADDRESSES_MAX} addresses: remove some"),
        }
    }
}

impl std::error::Error for SocketError {}
