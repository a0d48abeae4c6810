//! The state that the threads and their control share: tables, events, figures, and sockets that come and go.

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

/// A snapshot of the tables that decide about packets. Each change is published as another snapshot.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// The table of SAs (SAD).
    pub sad: Arc<Sad>,
    /// The table of policies (SPD).
    pub spd: Arc<Spd>,
    /// Addresses of this machine: packets to them come in, other packets are forwarded.
    pub local: Arc<HashSet<IpAddr>>,
    /// MTU of the paths to peers, as routes and devices state them; an MTU that is learnt of a path lowers it.
    pub path_mtus: Arc<PathMtus>,
}

/// The state that threads and their control share.
pub struct Shared {
    pub(crate) engine: Engine,
    started: Instant,
    tables: Mutex<Arc<Tables>>,
    /// Earlier tables that a thread may still hold.
    retired: Mutex<Vec<Arc<Tables>>>,
    version: AtomicU64,
    taken_up: Arc<TakenUp>,
    events: Mutex<Vec<Event>>,
    /// Number of events that wait, so that threads keep theirs while there is no room.
    waiting: AtomicUsize,
    event_fd: OwnedFd,
    stopped: AtomicBool,
    ended: AtomicBool,
    pub(crate) paths: Paths,
    /// Pieces of packets: the pieces of one packet may come by queues of several threads.
    pub(crate) gathering: Mutex<Gathering>,
    /// The identification of the packet that is cut next.
    piece_id: AtomicU32,
    pub(crate) threads: Vec<Seat>,
    addresses: Mutex<HashSet<SocketAddr>>,
}

/// The state of one thread that its control reads and writes.
pub(crate) struct Seat {
    pub(crate) window: Window,
    wake: OwnedFd,
    changes: Mutex<Vec<Change>>,
    /// The version of the tables that the thread was last woken for.
    woken_for: AtomicU64,
    /// The version of the tables that the thread uses from its next look on.
    looks_by: AtomicU64,
    taken_up: Arc<TakenUp>,
}

/// Wakes the callers of [`Shared::wait_taken_up`] when a thread has taken up tables.
#[derive(Default)]
struct TakenUp {
    guard: Mutex<()>,
    news: Condvar,
}

/// A socket that is added or removed.
pub(crate) enum Change {
    Add(SocketAddr, OwnedFd),
    Remove(SocketAddr),
}

/// The figures of all threads, and of each.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// The sum of all threads' figures.
    pub all: Figures,
    /// The figures of each thread.
    pub threads: Vec<Figures>,
}

/// Why [`Shared::add_sockets`] refused sockets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SocketError {
    /// There must be one socket for each thread.
    Count {
        /// Number of sockets that were given.
        sockets: usize,
        /// Number of threads.
        threads: usize,
    },
    /// There are sockets of this address already.
    Exists(SocketAddr),
    /// There are sockets of [`ADDRESSES_MAX`] addresses already.
    Full,
}

impl Shared {
    /// The state for a number of threads, 1 to [`THREADS_MAX`].
    ///
    /// # Errors
    /// EINVAL for another number of threads; the error of the system if it gives no descriptors.
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

    /// Number of threads.
    pub fn thread_count(&self) -> usize {
        self.threads.len()
    }

    /// The time since this state was made: the clock of SAs and threads.
    pub fn now(&self) -> Time {
        Time(self.started.elapsed())
    }

    /// Hands tables to the threads, which take them up with their next batch. Threads that sleep are woken, so that the
    /// keys of the earlier tables go.
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

    /// Waits at most `wait` until no thread uses older tables than those published last; returns whether that is so.
    /// Until then a packet that came before may be routed to an SA that only older tables have. So an SA is taken out
    /// of the tables first, and ended after this.
    pub fn wait_taken_up(&self, wait: Duration) -> bool {
        let version = self.version();
        let is_late = |seat: &Seat| seat.looks_by.load(Ordering::Acquire) < version;
        let guard = lock(&self.taken_up.guard);
        let waited =
            self.taken_up.news.wait_timeout_while(guard, wait, |()| self.threads.iter().any(is_late));
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// Frees earlier tables that no thread holds any more, with the keys of SAs that are gone. Returns whether some are
    /// left, for a later call. The thread that held tables last does not free them: memory is used again only if the
    /// thread that allocated it frees it.
    pub fn reap(&self) -> bool {
        let mut retired = lock(&self.retired);
        retired.retain(|tables| Arc::strong_count(tables) > 1);
        !retired.is_empty()
    }

    /// The tables that were published last.
    pub fn tables(&self) -> Arc<Tables> {
        Arc::clone(&lock(&self.tables))
    }

    /// An identification for a packet that is cut outside; each packet gets another.
    pub(crate) fn next_piece_id(&self) -> u32 {
        loop {
            let id = self.piece_id.fetch_add(1, Ordering::Relaxed);
            // For IPv4, low bits of 0 become 1, which is the next packet's identification.
            if id as u16 != 0 {
                return id;
            }
        }
    }

    /// Number of the tables that were published last; it grows with each publication.
    #[inline]
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Whether tables were ever published.
    pub(crate) fn is_published(&self) -> bool {
        self.version() > 0
    }

    /// Takes the events that wait, and makes [`Shared::event_fd`] unreadable.
    pub fn take_events(&self) -> Vec<Event> {
        let _ = rustix::io::read(&self.event_fd, &mut [0; 8]);
        let mut events = lock(&self.events);
        self.waiting.store(0, Ordering::Relaxed);
        std::mem::take(&mut *events)
    }

    /// A descriptor that is readable while events wait.
    pub fn event_fd(&self) -> BorrowedFd<'_> {
        self.event_fd.as_fd()
    }

    /// Whether there is room for as many events as one thread can hold.
    pub(crate) fn has_room(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) + EVENTS_MAX <= EVENTS_WAITING_MAX
    }

    /// Adds the events of a thread, and makes [`Shared::event_fd`] readable.
    pub(crate) fn tell(&self, more: Vec<Event>) {
        let mut events = lock(&self.events);
        events.extend(more);
        self.waiting.store(events.len(), Ordering::Relaxed);
        drop(events);
        let _ = rustix::io::write(&self.event_fd, &1_u64.to_ne_bytes());
    }

    /// The figures of the threads so far.
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

    /// Has the threads close their sockets of an address; returns whether there were any.
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

    /// Has the threads end after their current batches.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.wake();
    }

    /// Whether a thread has ended without [`Shared::stop`]: packets of its queue and its sockets are lost.
    /// [`Shared::event_fd`] becomes readable then.
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Notes that a thread has ended.
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
            // If the counter is full, the descriptor is readable anyway.
            let _ = rustix::io::write(&seat.wake, &1_u64.to_ne_bytes());
        }
    }
}

impl Seat {
    /// A descriptor that is readable when tables, sockets or the end await the thread.
    pub(crate) fn wake_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// Makes [`Seat::wake_fd`] unreadable, and takes the sockets that come or go. The thread calls this between two
    /// looks, and takes up tables before each look: so from here on it uses the tables that it was woken for.
    pub(crate) fn take_changes(&self) -> Vec<Change> {
        let _ = rustix::io::read(&self.wake, &mut [0; 8]);
        let version = self.woken_for.load(Ordering::Acquire);
        if self.looks_by.swap(version, Ordering::AcqRel) != version {
            // A caller that has checked, but does not wait yet, holds this lock, and would miss the news.
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
