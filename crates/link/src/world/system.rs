//! The real world: each function is the system call of its name.

use super::{Ended, Event};
use rustix::event::{PollFd, Timespec};
use rustix::net::SendFlags;
use rustix::thread::futex;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::AtomicU32;
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

/// Milliseconds since 1970.
#[inline]
pub fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Sleeps for a span.
#[inline]
pub fn sleep(span: Duration) {
    std::thread::sleep(span);
}

/// The time-stamp counter of a simulated world: none.
#[inline]
pub(crate) fn tsc() -> Option<u64> {
    None
}

/// The rate of that counter: none.
#[inline]
pub(crate) fn tsc_per_us() -> Option<f64> {
    None
}

/// The processor that the calling thread runs on; negative where unknown.
#[inline]
pub(crate) fn processor() -> i64 {
    rustix::thread::sched_getcpu() as i64
}

/// How many processors this process may use; asked once.
pub fn processors() -> u64 {
    static PROCESSORS: OnceLock<u64> = OnceLock::new();
    let count = || std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    *PROCESSORS.get_or_init(count)
}

/// A place where, in a simulation, others may run, and the process may die.
#[inline]
pub fn step(_place: &'static str) {}

/// Tells the simulation something.
#[inline]
pub fn saw(_event: Event<'_>) {}

/// Where the simulation may have a card answer nonsense.
#[inline]
pub(crate) fn tamper(_header: &mut ReplyHeader) {}

/// What the simulation makes of a card's word for having taken a request.
#[inline]
pub(crate) fn taken(taken: bool) -> bool {
    taken
}

/// What the simulation makes of a card's not having what it is waited for.
#[inline]
pub fn lacks(lacks: bool) -> bool {
    lacks
}

/// What the simulation makes of the registers that a request may need: a card is chosen by them.
#[inline]
pub fn needs(registers: RegisterSet) -> RegisterSet {
    registers
}

/// Where memory or descriptors may run out in a simulation.
///
/// # Errors
/// Never here.
#[inline]
pub(crate) fn fault(_place: &'static str) -> io::Result<()> {
    Ok(())
}

/// poll(2).
///
/// # Errors
/// That of the system.
#[inline]
pub fn poll(fds: &mut [PollFd<'_>], timeout: Option<&Timespec>) -> rustix::io::Result<usize> {
    rustix::event::poll(fds, timeout)
}

/// How long to wait in the call for a descriptor's events that follows: as given.
#[inline]
pub fn before_wait(_fd: impl AsFd, timeout: Duration) -> Duration {
    timeout
}

/// Flags of a send that waits for room.
#[inline]
pub(crate) fn before_send(_fd: BorrowedFd<'_>, _waits: bool) {}

/// Before a receive that waits.
#[inline]
pub(crate) fn before_receive(_fd: BorrowedFd<'_>, _waits: bool) {}

/// Sends a byte that says "look"; an error says that it has been said already, or nobody is there.
#[inline]
pub(crate) fn ring(socket: BorrowedFd<'_>) {
    let _ = rustix::net::send(socket, &[0], SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
}

/// FUTEX_WAIT; whatever woke it, the caller looks again.
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

/// Whether waiting for several words was done here: never.
#[inline]
pub(crate) fn futex_wait_any(_waiters: &[futex::Wait], _span: Duration) -> bool {
    false
}

/// A memory was mapped.
#[inline]
pub(crate) fn mapped(_base: usize, _bytes: usize, _fd: BorrowedFd<'_>) {}

/// A memory is about to be unmapped.
#[inline]
pub(crate) fn unmapped(_base: usize) {}

/// Before a socket is connected.
#[inline]
pub(crate) fn connecting(_socket: BorrowedFd<'_>) {}

/// The process at the other end, where the simulation knows it: none.
#[inline]
pub(crate) fn peer(_socket: BorrowedFd<'_>) -> Option<u32> {
    None
}

/// Whether processes are simulated: no.
#[inline]
pub fn is_simulated() -> bool {
    false
}

/// Starts a simulated process.
///
/// # Errors
/// Always: there are none here.
pub fn start_process(_arguments: &[&str], _control: OwnedFd) -> io::Result<u32> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A descriptor of a simulated process: none.
#[inline]
pub(crate) fn open_process(_pid: u32) -> Option<io::Result<OwnedFd>> {
    None
}

/// Whether a simulated process was killed: none is.
#[inline]
pub(crate) fn kill(_process: BorrowedFd<'_>) -> bool {
    false
}

/// Whether a simulated process was resumed: none is.
#[inline]
pub(crate) fn resume(_process: BorrowedFd<'_>) -> bool {
    false
}

/// Whether a simulated process has ended and was collected: there is none.
#[inline]
pub(crate) fn reap(_process: BorrowedFd<'_>) -> Option<Option<Ended>> {
    None
}

/// Start and state of a simulated process: there is none.
#[inline]
pub fn process(_pid: u32) -> Option<Option<Process>> {
    None
}

/// What is told of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// When it was started, in clock ticks.
    pub start_ticks: u64,
    /// Whether a signal stopped it.
    pub is_stopped: bool,
}

/// Whether the calling process was killed, and only gives back what the system would take: never here.
#[inline]
pub fn is_killed() -> bool {
    false
}

/// Number of the calling process.
#[inline]
pub fn pid() -> u32 {
    std::process::id()
}

/// A thread of this process.
pub struct Thread(JoinHandle<()>);

impl Thread {
    /// Waits until it has ended.
    pub fn join(self) {
        let _ = self.0.join();
    }
}

/// Starts a thread.
///
/// # Errors
/// That of the system.
pub fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<Thread> {
    std::thread::Builder::new().name(name.into()).spawn(work).map(Thread)
}
