//! The world of a thread: the system, or a world that the simulation gave it.

use super::{Ended, Event};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd};
use rustix::net::SendFlags;
use rustix::thread::futex;
use rustix::time::ClockId;
use std::cell::RefCell;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::sync::{
    Arc, LockResult, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError,
    TryLockResult,
};
use std::time::{Duration, Instant};
use wire::frame::ReplyHeader;
use wire::registers::RegisterSet;

const _: () = assert!(
    option_env!("CRYPTAND_SIMULATION").is_some(),
    "the feature `world` is for the simulation alone: build it in crates/sim, whose settings say so"
);

/// What the simulation tells of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// When the process was started, in clock ticks.
    pub start_ticks: u64,
    /// Whether a signal stopped the process.
    pub is_stopped: bool,
}

/// The descriptors that a waiting thread polls, and the events of them that it waits for.
#[derive(Clone)]
pub struct Question(Arc<[PollFd<'static>]>);

impl Question {
    /// Which of these have an event now, by one poll(2). To be called while the threads wait, and while nothing
    /// closes a descriptor.
    pub fn ask<'q>(questions: impl Iterator<Item = &'q Self> + Clone) -> Vec<bool> {
        let mut fds: Vec<PollFd<'_>> =
            questions.clone().flat_map(|question| question.0.iter().cloned()).collect();
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let polled = rustix::event::poll(&mut fds, Some(&now));
        let mut left = &fds[..];
        questions
            .map(|question| {
                let (own, others) = left.split_at(question.0.len());
                left = others;
                polled.is_err() || own.iter().any(|fd| !fd.revents().is_empty())
            })
            .collect()
    }

    fn of(fds: &[PollFd<'_>]) -> Self {
        let of = |fd: &PollFd<'_>| {
            // SAFETY: only the lifetime changes. The descriptors are polled while their thread waits in `poll`, which
            // borrows them.
            unsafe { std::mem::transmute::<PollFd<'_>, PollFd<'static>>(fd.clone()) }
        };
        Self(fds.iter().map(of).collect())
    }
}

/// A world, in place of the system. A function that may let others run unwinds, and does not
/// return, in a process that was killed meanwhile. While the process unwinds, none of them waits.
#[allow(missing_docs, reason = "each answers the function of its name")]
pub trait World: Send + Sync {
    fn now(&self) -> Instant;
    fn tsc(&self) -> u64;
    fn unix_ms(&self) -> u64;
    fn processor(&self) -> u32;
    fn processors(&self) -> u64;
    fn step(&self, place: &'static str);
    fn saw(&self, event: Event<'_>);
    fn tamper(&self, header: &mut ReplyHeader);
    fn taken(&self, taken: bool) -> bool;
    fn lacks(&self, lacks: bool) -> bool;
    fn needs(&self, registers: RegisterSet) -> RegisterSet;
    fn fault(&self, place: &'static str) -> io::Result<()>;
    /// Waits until the answer is yes, or the timeout has passed; without a question, only for the
    /// timeout. True if the wait was interrupted.
    fn wait(&self, place: &'static str, question: Option<&Question>, timeout: Option<Duration>) -> bool;
    /// Whether a ring of a doorbell reaches it.
    fn ring(&self) -> bool;
    /// Waits until one of these words is woken.
    fn futex_wait(&self, words: &[usize], timeout: Duration);
    /// Wakes one thread that waits for this word, or all.
    fn futex_wake(&self, word: usize, all: bool);
    fn mapped(&self, base: usize, bytes: usize, fd: BorrowedFd<'_>);
    fn unmapped(&self, base: usize);
    /// A name for a socket of the calling process that no other socket has.
    fn socket_name(&self) -> Vec<u8>;
    /// The process of the socket with this name.
    fn named(&self, name: &[u8]) -> Option<u32>;
    fn start_process(&self, arguments: &[&str], control: OwnedFd) -> io::Result<u32>;
    fn open_process(&self, pid: u32) -> io::Result<OwnedFd>;
    fn kill(&self, process: BorrowedFd<'_>);
    fn resume(&self, process: BorrowedFd<'_>);
    fn reap(&self, process: BorrowedFd<'_>) -> Option<Ended>;
    fn process(&self, pid: u32) -> Option<Process>;
    fn pid(&self) -> u32;
    fn is_killed(&self) -> bool;
    fn spawn(&self, name: &str, work: Box<dyn FnOnce() + Send>) -> io::Result<Box<dyn Join>>;
}

/// A thread of a world.
pub trait Join: Send {
    /// Waits until the thread has ended.
    fn join(self: Box<Self>);
}

thread_local! {
    static WORLD: RefCell<Option<Arc<dyn World>>> = const { RefCell::new(None) };
    static AT_END: RefCell<Vec<fn()>> = const { RefCell::new(Vec::new()) };
}

/// How often a thread looks again whether a lock is free.
const LOCK_LOOK: Duration = Duration::from_micros(1);

/// Puts the calling thread into a world, until the thread ends.
pub fn enter(world: Arc<dyn World>) {
    WORLD.with(|own| *own.borrow_mut() = Some(world));
}

fn world() -> Option<Arc<dyn World>> {
    WORLD.try_with(|own| own.borrow().clone()).ok().flatten()
}

/// The monotonic clock, or the world's clock.
pub fn now() -> Instant {
    world().map_or_else(Instant::now, |world| world.now())
}

/// The processor time that the calling thread has used, in nanoseconds. In a simulation nothing
/// takes the processor away, so it is the elapsed time.
pub fn processor_ns() -> u64 {
    let system = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    };
    world().map_or_else(system, |world| (world.tsc() as f64 * 1e3 / TSC_PER_US) as u64)
}

/// The time of day, or the world's, in milliseconds since 1970.
pub fn unix_ms() -> u64 {
    let system = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    world().map_or_else(|| system().map_or(0, |since| since.as_millis() as u64), |world| world.unix_ms())
}

/// Sleeps for this time, as the world does.
pub fn sleep(span: Duration) {
    match world() {
        Some(world) => {
            world.wait("sleep", None, Some(span));
        }
        None => std::thread::sleep(span),
    }
}

/// Counts of the time-stamp counter in a microsecond of simulated time.
const TSC_PER_US: f64 = 1000.0;

pub(crate) fn tsc() -> Option<u64> {
    world().map(|world| world.tsc())
}

pub(crate) fn tsc_per_us() -> Option<f64> {
    world().map(|_| TSC_PER_US)
}

pub(crate) fn processor() -> i64 {
    world().map_or_else(|| rustix::thread::sched_getcpu() as i64, |world| i64::from(world.processor()))
}

/// Number of processors that the process may use.
pub fn processors() -> u64 {
    let count = || std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    world().map_or_else(count, |world| world.processors())
}

/// A place where other threads may run, and the process may die.
pub fn step(place: &'static str) {
    if let Some(world) = world() {
        world.step(place);
    }
}

/// Locks a mutex that other threads of the process may hold while they wait for something. One in which a thread
/// panicked is locked as well.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    locked(|| mutex.try_lock(), || mutex.lock())
}

/// As [`lock`], for reading.
pub fn read<T: ?Sized>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    locked(|| lock.try_read(), || lock.read())
}

/// As [`lock`], for writing.
pub fn write<T: ?Sized>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    locked(|| lock.try_write(), || lock.write())
}

/// In a world no thread waits for a lock as the system would have it: who holds the lock has given its turn away, and
/// would not get it back.
fn locked<G>(try_lock: impl Fn() -> TryLockResult<G>, lock: impl FnOnce() -> LockResult<G>) -> G {
    let Some(world) = world() else { return lock().unwrap_or_else(PoisonError::into_inner) };
    loop {
        match try_lock() {
            Ok(guard) => return guard,
            Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {}
        }
        // Its thread unwinds and does not wait, while the one that holds it waits for its turn.
        assert!(!std::thread::panicking(), "a lock is needed that was held across a step");
        world.wait("lock", None, Some(LOCK_LOOK));
    }
}

/// Calls this when the calling thread ends in its world. Thread-local values are dropped when the system's thread ends,
/// which is later, at no certain time.
pub fn at_end(of_thread: fn()) {
    if world().is_some() {
        let _ = AT_END.try_with(|ends| ends.borrow_mut().push(of_thread));
    }
}

/// The end of the calling thread in its world.
pub fn end_thread() {
    let ends = AT_END.try_with(RefCell::take).unwrap_or_default();
    ends.into_iter().for_each(|end| end());
}

/// Tells the world an event.
pub fn saw(event: Event<'_>) {
    if let Some(world) = world() {
        world.saw(event);
    }
}

pub(crate) fn tamper(header: &mut ReplyHeader) {
    if let Some(world) = world() {
        world.tamper(header);
    }
}

pub(crate) fn taken(taken: bool) -> bool {
    world().map_or(taken, |world| world.taken(taken))
}

/// Whether a card lacks what it is waited for: as given, or as the simulation changes it.
pub fn lacks(lacks: bool) -> bool {
    world().map_or(lacks, |world| world.lacks(lacks))
}

/// The registers that a request may need, by which a card is chosen: as given, or as the simulation
/// changes them.
pub fn needs(registers: RegisterSet) -> RegisterSet {
    world().map_or(registers, |world| world.needs(registers))
}

pub(crate) fn fault(place: &'static str) -> io::Result<()> {
    world().map_or(Ok(()), |world| world.fault(place))
}

fn span_of(timeout: &Timespec) -> Duration {
    let seconds = u64::try_from(timeout.tv_sec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_nanos(u64::try_from(timeout.tv_nsec).unwrap_or(0))
}

/// poll(2), waiting as the world waits.
///
/// # Errors
/// Error of the system, or an interruption.
pub fn poll(fds: &mut [PollFd<'_>], timeout: Option<&Timespec>) -> rustix::io::Result<usize> {
    let Some(world) = world() else { return rustix::event::poll(fds, timeout) };
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let timeout = timeout.map(span_of);
    world.step("poll");
    if timeout != Some(Duration::ZERO) {
        let is_ready = rustix::event::poll(fds, Some(&now)) != Ok(0);
        if !is_ready && world.wait("poll", Some(&Question::of(fds)), timeout) {
            return Err(rustix::io::Errno::INTR);
        }
    }
    rustix::event::poll(fds, Some(&now))
}

/// Waits until a descriptor has events, if the thread is in a world; returns how long the following
/// wait may take.
pub fn before_wait(fd: impl AsFd, timeout: Duration) -> Duration {
    if world().is_none() {
        return timeout;
    }
    let timeout = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() };
    let _ = poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&timeout));
    Duration::ZERO
}

pub(crate) fn before_send(fd: BorrowedFd<'_>, waits: bool) {
    step("send");
    if waits && world().is_some() {
        while poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::OUT)], None) == Err(rustix::io::Errno::INTR)
        {
        }
    }
}

pub(crate) fn before_receive(fd: BorrowedFd<'_>, waits: bool) {
    step("receive");
    if waits && world().is_some() {
        while poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], None) == Err(rustix::io::Errno::INTR) {
        }
    }
}

pub(crate) fn ring(socket: BorrowedFd<'_>) {
    step("ring");
    if world().is_none_or(|world| world.ring()) {
        let _ = rustix::net::send(socket, &[0], SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
    }
}

pub(crate) fn futex_wait(word: &AtomicU32, expected: u32, timeout: &Timespec) {
    match world() {
        Some(world) => {
            world.step("futex wait");
            if word.load(Ordering::Relaxed) == expected {
                world.futex_wait(&[address(word)], span_of(timeout));
            }
        }
        None => {
            let flags = futex::Flags::empty();
            let _ = futex::wait(word, flags, expected, Some(timeout));
        }
    }
}

pub(crate) fn futex_wake(word: &AtomicU32) {
    match world() {
        Some(world) => {
            world.step("futex wake");
            world.futex_wake(address(word), false);
        }
        None => {
            let _ = futex::wake(word, futex::Flags::empty(), 1);
        }
    }
}

pub(crate) fn futex_wake_all(word: &AtomicU32) {
    match world() {
        Some(world) => {
            world.step("futex wake");
            world.futex_wake(address(word), true);
        }
        None => {
            let _ = futex::wake(word, futex::Flags::empty(), i32::MAX as u32);
        }
    }
}

pub(crate) fn futex_wait_any(waiters: &[futex::Wait], span: Duration) -> bool {
    let Some(world) = world() else { return false };
    world.step("futex wait");
    // The system compares the words; with an instant in the past it does not wait.
    let past = Timespec { tv_sec: 0, tv_nsec: 0 };
    let looked = futex::waitv(waiters, futex::WaitvFlags::empty(), Some(&past), ClockId::Monotonic);
    if looked != Err(rustix::io::Errno::AGAIN) {
        let addresses: Vec<usize> = waiters.iter().map(|waiter| waiter.uaddr.ptr.addr()).collect();
        world.futex_wait(&addresses, span);
    }
    true
}

fn address(word: &AtomicU32) -> usize {
    std::ptr::from_ref(word).addr()
}

pub(crate) fn mapped(base: usize, bytes: usize, fd: BorrowedFd<'_>) {
    if let Some(world) = world() {
        world.mapped(base, bytes, fd);
    }
}

pub(crate) fn unmapped(base: usize) {
    if let Some(world) = world() {
        world.unmapped(base);
    }
}

pub(crate) fn connecting(socket: BorrowedFd<'_>) {
    if let Some(world) = world()
        && let Ok(name) = rustix::net::SocketAddrUnix::new_abstract_name(&world.socket_name())
    {
        world.step("connect");
        let _ = rustix::net::bind(socket, &name);
    }
}

pub(crate) fn peer(socket: BorrowedFd<'_>) -> Option<u32> {
    let world = world()?;
    let address = rustix::net::getpeername(socket).ok()??;
    let address = rustix::net::SocketAddrUnix::try_from(address).ok()?;
    world.named(address.abstract_name()?)
}

/// Whether the calling thread's processes are simulated.
pub fn is_simulated() -> bool {
    world().is_some()
}

/// Starts a simulated process.
///
/// # Errors
/// Error of the world; `Unsupported` outside of a simulation.
pub fn start_process(arguments: &[&str], control: OwnedFd) -> io::Result<u32> {
    world().map_or_else(
        || Err(io::ErrorKind::Unsupported.into()),
        |world| world.start_process(arguments, control),
    )
}

pub(crate) fn open_process(pid: u32) -> Option<io::Result<OwnedFd>> {
    world().map(|world| world.open_process(pid))
}

pub(crate) fn kill(process: BorrowedFd<'_>) -> bool {
    world().inspect(|world| world.kill(process)).is_some()
}

pub(crate) fn resume(process: BorrowedFd<'_>) -> bool {
    world().inspect(|world| world.resume(process)).is_some()
}

pub(crate) fn reap(process: BorrowedFd<'_>) -> Option<Option<Ended>> {
    world().map(|world| world.reap(process))
}

/// State of a simulated process, if there is such a process; none outside of a simulation.
pub fn process(pid: u32) -> Option<Option<Process>> {
    world().map(|world| world.process(pid))
}

/// Whether the calling process was killed and now only releases its memory and descriptors. Then it
/// must do nothing that would tell others of its end.
pub fn is_killed() -> bool {
    world().is_some_and(|world| world.is_killed())
}

/// A random number; in a simulated world one of its time.
pub fn random() -> u64 {
    world().map_or_else(|| RandomState::new().hash_one(pid()), |world| world.unix_ms() << 24)
}

/// Number of the calling process.
pub fn pid() -> u32 {
    world().map_or_else(std::process::id, |world| world.pid())
}

/// A thread of the calling process.
pub struct Thread(Kind);

enum Kind {
    System(std::thread::JoinHandle<()>),
    Simulated(Box<dyn Join>),
}

impl Thread {
    /// Waits until the thread has ended.
    pub fn join(self) {
        match self.0 {
            Kind::System(thread) => drop(thread.join()),
            Kind::Simulated(thread) => thread.join(),
        }
    }
}

/// Starts a thread.
///
/// Error of the system, or of the world.
/// Error of the system, or of the world.
pub fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<Thread> {
    let kind = match world() {
        Some(world) => Kind::Simulated(world.spawn(name, Box::new(work))?),
        None => Kind::System(std::thread::Builder::new().name(name.into()).spawn(work)?),
    };
    Ok(Thread(kind))
}

/// A channel between threads whose receiver waits as the world waits.
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let (sender, receiver) = mpsc::channel();
    let event = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC).ok().map(Arc::new);
    (Sender { event: event.clone(), sender: Some(sender) }, Receiver { receiver, event })
}

/// The sending end of [`channel`].
pub struct Sender<T> {
    sender: Option<mpsc::Sender<T>>,
    event: Option<Arc<OwnedFd>>,
}

/// The receiving end of [`channel`].
pub struct Receiver<T> {
    receiver: mpsc::Receiver<T>,
    event: Option<Arc<OwnedFd>>,
}

impl<T> Sender<T> {
    fn tell(&self) {
        if let Some(event) = &self.event {
            let _ = rustix::io::write(&**event, &1_u64.to_ne_bytes());
        }
    }

    /// As [`mpsc::Sender::send`].
    ///
    /// # Errors
    /// The receiver is gone.
    pub fn send(&self, value: T) -> Result<(), mpsc::SendError<T>> {
        step("give");
        let Some(sender) = &self.sender else { return Err(mpsc::SendError(value)) };
        let sent = sender.send(value);
        self.tell();
        sent
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.sender = None;
        self.tell();
    }
}

impl<T: Send> Receiver<T> {
    /// As [`mpsc::Receiver::try_recv`].
    ///
    /// # Errors
    /// No value is there, or the sender is gone.
    pub fn try_recv(&self) -> Result<T, mpsc::TryRecvError> {
        self.receiver.try_recv()
    }

    /// As [`mpsc::Receiver::recv`].
    ///
    /// # Errors
    /// The sender is gone.
    pub fn recv(&self) -> Result<T, mpsc::RecvError> {
        if world().is_none() {
            return self.receiver.recv();
        }
        loop {
            match self.receiver.try_recv() {
                Ok(value) => return Ok(value),
                Err(mpsc::TryRecvError::Disconnected) => return Err(mpsc::RecvError),
                Err(mpsc::TryRecvError::Empty) => {}
            }
            let Some(event) = &self.event else { return Err(mpsc::RecvError) };
            let _ = poll(&mut [PollFd::new(&**event, PollFlags::IN)], None);
            let _ = rustix::io::read(&**event, &mut [0_u8; 8][..]);
        }
    }
}
