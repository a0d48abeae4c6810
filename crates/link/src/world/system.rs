//! The real world: each function is the system call of its name.

use super::{Ended, Event};
use rustix::event::{PollFd, Timespec};
use rustix::net::SendFlags;
use rustix::thread::futex;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicU32;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use wire::frame::ReplyHeader;
use wire::registers::RegisterSet;

pub use std::sync::mpsc::{Receiver, Sender, channel};

/// The monotonic clock.
#[inline]
pub fn now() -> Instant {
    Instant::now()
}

/// The processor time that the calling thread has used, in nanoseconds. A system call.
pub fn processor_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let nanoseconds = i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec);
    u64::try_from(nanoseconds).unwrap_or(0)
}

/// The time of day, in milliseconds since 1970.
#[inline]
pub fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Sleeps for this time.
#[inline]
pub fn sleep(span: Duration) {
    std::thread::sleep(span);
}

/// The time-stamp counter of a simulated world: none here.
#[inline]
pub(crate) fn tsc() -> Option<u64> {
    None
}

/// The rate of a simulated time-stamp counter: none here.
#[inline]
pub(crate) fn tsc_per_us() -> Option<f64> {
    None
}

/// The processor that the calling thread runs on; negative if unknown.
#[inline]
pub(crate) fn processor() -> i64 {
    rustix::thread::sched_getcpu() as i64
}

/// Number of processors that this process may use; asked once.
pub fn processors() -> u64 {
    static PROCESSORS: OnceLock<u64> = OnceLock::new();
    let count = || std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    *PROCESSORS.get_or_init(count)
}

/// A place where, in a simulation, other threads may run, and the process may die.
#[inline]
pub fn step(_place: &'static str) {}

/// Locks a mutex that other threads of the process may hold while they wait for something. One in which a thread
/// panicked is locked as well.
#[inline]
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// As [`lock`], for reading.
#[inline]
pub fn read<T: ?Sized>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// As [`lock`], for writing.
#[inline]
pub fn write<T: ?Sized>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

/// Calls this when the calling thread ends in a simulation; elsewhere its thread-local values are dropped by then.
#[inline]
pub fn at_end(_of_thread: fn()) {}

/// Tells the simulation an event.
#[inline]
pub fn saw(_event: Event<'_>) {}

/// A place where the simulation may change a card's answer.
#[inline]
pub(crate) fn tamper(_header: &mut ReplyHeader) {}

/// Whether a card says that it has taken a request: as given; the simulation may change it.
#[inline]
pub(crate) fn taken(taken: bool) -> bool {
    taken
}

/// Whether a card lacks what it is waited for: as given; the simulation may change it.
#[inline]
pub fn lacks(lacks: bool) -> bool {
    lacks
}

/// The registers that a request may need, by which a card is chosen: as given; the simulation may
/// change them.
#[inline]
pub fn needs(registers: RegisterSet) -> RegisterSet {
    registers
}

/// A place where memory or descriptors may run out in a simulation.
///
/// # Errors
/// Never, outside of a simulation.
#[inline]
pub(crate) fn fault(_place: &'static str) -> io::Result<()> {
    Ok(())
}

/// poll(2).
///
/// # Errors
/// Error of the system.
#[inline]
pub fn poll(fds: &mut [PollFd<'_>], timeout: Option<&Timespec>) -> rustix::io::Result<usize> {
    rustix::event::poll(fds, timeout)
}

/// How long the following wait for a descriptor's events may take: as given; in a simulation the
/// waiting is done here.
#[inline]
pub fn before_wait(_fd: impl AsFd, timeout: Duration) -> Duration {
    timeout
}

/// A place before a send; `_waits` says whether the send waits for room.
#[inline]
pub(crate) fn before_send(_fd: BorrowedFd<'_>, _waits: bool) {}

/// A place before a receive; `_waits` says whether it waits for a message.
#[inline]
pub(crate) fn before_receive(_fd: BorrowedFd<'_>, _waits: bool) {}

/// Sends a byte that says "look". An error is ignored: the socket is full, so that this is said
/// already, or nobody is there.
#[inline]
pub(crate) fn ring(socket: BorrowedFd<'_>) {
    let _ = rustix::net::send(socket, &[0], SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
}

/// FUTEX_WAIT; whatever ends the wait, the caller looks again.
#[inline]
pub(crate) fn futex_wait(word: &AtomicU32, expected: u32, timeout: &Timespec) {
    let _ = futex::wait(word, futex::Flags::empty(), expected, Some(timeout));
}

/// FUTEX_WAKE of one waiter.
#[inline]
pub(crate) fn futex_wake(word: &AtomicU32) {
    let _ = futex::wake(word, futex::Flags::empty(), 1);
}

/// Wakes every thread that sleeps on a word of shared memory.
#[inline]
pub(crate) fn futex_wake_all(word: &AtomicU32) {
    let _ = futex::wake(word, futex::Flags::empty(), i32::MAX as u32);
}

/// Whether the simulation has waited for several words: never here.
#[inline]
pub(crate) fn futex_wait_any(_waiters: &[futex::Wait], _span: Duration) -> bool {
    false
}

/// Tells the simulation that a memory was mapped.
#[inline]
pub(crate) fn mapped(_base: usize, _bytes: usize, _fd: BorrowedFd<'_>) {}

/// Tells the simulation that a memory is about to be unmapped.
#[inline]
pub(crate) fn unmapped(_base: usize) {}

/// Tells the simulation that a socket is about to be connected.
#[inline]
pub(crate) fn connecting(_socket: BorrowedFd<'_>) {}

/// The process at the other end, if the simulation knows it: none here.
#[inline]
pub(crate) fn peer(_socket: BorrowedFd<'_>) -> Option<u32> {
    None
}

/// Whether the calling thread's processes are simulated: no.
#[inline]
pub fn is_simulated() -> bool {
    false
}

/// Starts a simulated process.
///
/// # Errors
/// Always: `Unsupported`.
pub fn start_process(_arguments: &[&str], _control: OwnedFd) -> io::Result<u32> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A descriptor of a simulated process: none.
#[inline]
pub(crate) fn open_process(_pid: u32) -> Option<io::Result<OwnedFd>> {
    None
}

/// Whether a simulated process was killed: false, so the caller kills a real one.
#[inline]
pub(crate) fn kill(_process: BorrowedFd<'_>) -> bool {
    false
}

/// Whether a simulated process was resumed: false, so the caller resumes a real one.
#[inline]
pub(crate) fn resume(_process: BorrowedFd<'_>) -> bool {
    false
}

/// How a simulated process ended, if it is collected: none here, so the caller collects a real one.
#[inline]
pub(crate) fn reap(_process: BorrowedFd<'_>) -> Option<Option<Ended>> {
    None
}

/// State of a simulated process: none here.
#[inline]
pub fn process(_pid: u32) -> Option<Option<Process>> {
    None
}

/// What the simulation tells of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// When the process was started, in clock ticks.
    pub start_ticks: u64,
    /// Whether a signal stopped the process.
    pub is_stopped: bool,
}

/// Whether the calling process was killed and now only releases its memory and descriptors: never
/// here.
#[inline]
pub fn is_killed() -> bool {
    false
}

/// A random number, for what must not be guessed at by chance alone; no secret.
pub fn random() -> u64 {
    RandomState::new().hash_one(pid())
}

/// Number of the calling process.
#[inline]
pub fn pid() -> u32 {
    std::process::id()
}

/// A thread of this process.
pub struct Thread(JoinHandle<()>);

impl Thread {
    /// Waits until the thread has ended.
    pub fn join(self) {
        let _ = self.0.join();
    }
}

/// Starts a thread.
///
/// # Errors
/// Error of the system.
pub fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<Thread> {
    std::thread::Builder::new().name(name.into()).spawn(work).map(Thread)
}
