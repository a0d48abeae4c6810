//! The scheduler: every actor is a thread, and one of them runs at a time.
//!
//! An actor gives up its turn at a step, when it waits, or when it ends; the seed decides which one
//! is next. If no actor can run, time jumps to the next instant at which one
//! can. A process is a set of actors; a killed one unwinds at its next turn, so that its
//! descriptors are closed and its memory unmapped as the system would do it.

use crate::memory::{self, LastWords, Memory};
use crate::oracle::Oracle;
use crate::plan::{Plan, Role, Sabotage};
use crate::said::Said;
use link::world::{Process as Seen, Question, World};
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

/// Payload with which a killed actor unwinds.
pub struct Killed;

/// Upper bound of steps in which no request begins or ends and no process starts or ends: beyond it an actor runs in
/// circles.
const STEPS_MAX: u64 = 4_000_000;
/// Longest timed wait that is stretched after vain waits, and the longest time to which it is stretched, in
/// nanoseconds.
const TICK_NS_MAX: u64 = 1_000_000;
/// Looks at the counter in a row that take no longer than they take, and how far they are counted.
const SPINS_SHORT: u32 = 16;
const SPINS_MAX: u32 = 1_000;
/// Steps at which an actor looks whether there is something to do.
const LOOKS: [&str; 2] = ["poll", "receive"];
/// How long a card must have had its key, and a daemon must have run, before every client must find the card, in
/// nanoseconds.
const KNOWN_NS: u64 = 200_000_000;
/// Stack of an actor; the wide kernels of cards need the most.
const STACK_BYTES: usize = 4 << 20;

thread_local! {
    static SELF: Cell<Option<usize>> = const { Cell::new(None) };
}

/// What an actor waits for, beside an instant.
pub enum On {
    /// Nothing but the instant.
    Time,
    /// An affirmative answer to this question.
    Question(Question),
    /// A wake-up of one of these words.
    Words(Vec<Word>),
    /// The end of another actor.
    Actor(usize),
}

/// A word of shared memory: inode and offset.
pub type Word = (u64, usize);

enum Status {
    /// Can go on at once, or has the turn.
    Ready,
    Waiting {
        on: On,
        until_ns: Option<u64>,
        /// When the actor goes on, if the awaited event has come.
        from_ns: Option<u64>,
    },
    Ended,
}

struct Actor {
    name: String,
    process: usize,
    status: Status,
    place: &'static str,
    woken: bool,
    /// Whether the awaited event had come, and the count of [`SimulationState::changes`] then.
    asked: Option<(u64, bool)>,
    /// Whether the actor may have changed something since its last step: true unless it only looked at the counter.
    acted: bool,
    /// Looks at the counter in a row.
    spins: u32,
    /// Ticks in a row at which nothing was done.
    ticks: u32,
    thread: Option<Thread>,
    join: Option<JoinHandle<()>>,
}

/// A simulated process.
pub struct Process {
    /// Kind of the process.
    pub role: Role,
    /// Process number.
    pub pid: u32,
    /// The process that started it.
    pub parent: Option<usize>,
    /// When it was started.
    pub start_ticks: u64,
    /// Processor that it says it runs on.
    pub processor: u32,
    /// Told to end, as by SIGKILL.
    pub killed: bool,
    /// Ended by a fault of its own.
    pub crashed: bool,
    /// Since when the process is stopped, as by SIGSTOP, in nanoseconds.
    pub stopped_ns: Option<u64>,
    /// Since when the process has not been stopped, in nanoseconds.
    pub undisturbed_ns: u64,
    /// Of cards: since when the card holds the master key that clients need.
    pub holds_ns: Option<u64>,
    /// Of cards: whether the card has the master key that is about to be current, and so opens tokens of cards that
    /// already use this key.
    pub expects: bool,
    /// All of its actors have ended.
    pub dead: bool,
    /// Collected by its parent.
    pub reaped: bool,
    /// Whether the process answers nonsense now and then.
    pub lies: bool,
    /// Requests that the process runs next.
    pub admitted: Vec<u64>,
    /// Everything that the process runs next, in order, each with its request number if it has one.
    pub taken: VecDeque<Option<u64>>,
    /// Requests that the process runs now.
    pub running: Vec<u64>,
    /// Pipe end that is readable from the death of the process on.
    pub end: OwnedFd,
    /// Inode of that pipe.
    pub inode: u64,
    tell: Option<OwnedFd>,
    last_words: Option<LastWords>,
}

/// Everything that the seed decides over.
pub struct SimulationState {
    /// The clock, in nanoseconds since the start.
    pub now_ns: u64,
    /// Random numbers from the seed: they decide every choice.
    pub random: fastrand::Rng,
    /// The plan of this seed.
    pub plan: Plan,
    /// Processes, in the order of their starts.
    pub processes: Vec<Process>,
    /// The checks of what must hold.
    pub oracle: Oracle,
    /// Memories by their address.
    pub memories: BTreeMap<usize, Memory>,
    /// Steps so far.
    pub steps: u64,
    /// All steps and their times, hashed.
    pub hash: u64,
    /// Sockets named so far.
    pub sockets: u64,
    /// The folder of the home.
    pub folder: PathBuf,
    /// Last log lines of the programs.
    pub said: Said,
    /// Until when memory and descriptors may run out.
    pub scarce_until_ns: u64,
    /// Wake-ups and requests that were tampered with by the test of the oracle.
    pub sabotaged: u32,
    actors: Vec<Actor>,
    /// How often an actor may have changed what others wait for.
    changes: u64,
    /// Whether an actor may have done so since, and it is not counted.
    unnoticed: bool,
    /// Progress counts, and the number of the step at which they last changed.
    progress: ((u64, usize), u64),
    over: bool,
    trace: bool,
}

/// The stage of one run.
pub struct Stage {
    state: Mutex<SimulationState>,
    current: AtomicUsize,
    begin: Instant,
    this: Weak<Self>,
    /// Told when the last actor has ended.
    done: std::sync::mpsc::SyncSender<()>,
}

const NOBODY: usize = usize::MAX;

impl Stage {
    /// An empty stage; the receiver hears of the end of the last actor.
    pub fn new(plan: Plan, trace: bool) -> (Arc<Self>, std::sync::mpsc::Receiver<()>) {
        let (done, ended) = std::sync::mpsc::sync_channel(1);
        let state = SimulationState {
            now_ns: 0,
            random: fastrand::Rng::with_seed(plan.seed),
            plan,
            processes: Vec::new(),
            oracle: Oracle::default(),
            memories: BTreeMap::new(),
            steps: 0,
            hash: 0xcbf2_9ce4_8422_2325,
            sockets: 0,
            scarce_until_ns: 0,
            folder: PathBuf::new(),
            said: Said::default(),
            sabotaged: 0,
            actors: Vec::new(),
            changes: 0,
            unnoticed: false,
            progress: ((0, 0), 0),
            over: false,
            trace,
        };
        let stage = Arc::new_cyclic(|this| Self {
            state: Mutex::new(state),
            current: AtomicUsize::new(NOBODY),
            begin: Instant::now(),
            this: Weak::clone(this),
            done,
        });
        (stage, ended)
    }

    /// The state, to be read or changed by the actor that has the turn.
    pub fn state(&self) -> MutexGuard<'_, SimulationState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The instant of a simulated time, given in nanoseconds since the start.
    pub fn instant(&self, ns: u64) -> Instant {
        self.begin + Duration::from_nanos(ns)
    }

    /// Starts a process with its first actor; returns its index.
    pub fn start_process(&self, role: Role, work: impl FnOnce() + Send + 'static) -> std::io::Result<usize> {
        let (end, tell) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let inode = rustix::fs::fstat(&end)?.st_ino;
        let process = {
            let mut state = self.state();
            let index = state.processes.len();
            let parent = me().map(|me| state.actors[me].process);
            let (lies, processor) = (state.plan.lies(role, index), state.random.u32(0..2));
            let (start_ticks, undisturbed_ns) = (state.now_ns / 10_000_000, state.now_ns);
            state.processes.push(Process {
                role,
                pid: 1000 + index as u32,
                parent,
                start_ticks,
                processor,
                killed: false,
                crashed: false,
                stopped_ns: None,
                undisturbed_ns,
                holds_ns: None,
                expects: false,
                dead: false,
                reaped: false,
                lies,
                admitted: Vec::new(),
                taken: VecDeque::new(),
                running: Vec::new(),
                end,
                inode,
                tell: Some(tell),
                last_words: None,
            });
            if role == Role::Keeper {
                state.oracle.master_keys.keeper_starts();
            }
            state.say(|| format!("{role} starts as process {}", 1000 + index));
            index
        };
        self.start_actor(process, role.to_string(), work)?;
        Ok(process)
    }

    /// Starts one more actor of a process; returns its number.
    pub fn start_actor(
        &self,
        process: usize,
        name: String,
        work: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<usize> {
        let number = {
            let mut state = self.state();
            let (status, place) = (Status::Ready, "start");
            state.actors.push(Actor {
                name: name.clone(),
                process,
                status,
                place,
                woken: false,
                asked: None,
                acted: true,
                spins: 0,
                ticks: 0,
                thread: None,
                join: None,
            });
            state.actors.len() - 1
        };
        let stage = self.this.upgrade().ok_or(std::io::ErrorKind::Other)?;
        let builder = std::thread::Builder::new().name(name).stack_size(STACK_BYTES);
        let join = builder.spawn(move || stage.act(number, work))?;
        let mut state = self.state();
        state.actors[number].thread = Some(join.thread().clone());
        state.actors[number].join = Some(join);
        Ok(number)
    }

    /// Gives the first turn.
    pub fn begin(&self) {
        let state = self.state();
        self.hand_over(state);
    }

    /// Waits until every thread has ended. To be called after the end of the last actor.
    pub fn join(&self) {
        let joins: Vec<_> = self.state().actors.iter_mut().filter_map(|actor| actor.join.take()).collect();
        for join in joins {
            let _ = join.join();
        }
    }

    fn act(self: Arc<Self>, number: usize, work: impl FnOnce()) {
        SELF.set(Some(number));
        link::world::enter(Arc::clone(&self) as Arc<dyn World>);
        self.state().said.enter();
        self.await_turn(number);
        let is_doomed = self.state().is_doomed(number);
        if !is_doomed {
            let acted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            if let Err(payload) = acted
                && !payload.is::<Killed>()
            {
                let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
                let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
                let mut state = self.state();
                let name = state.actors[number].name.clone();
                state.find(format!("{name} panicked: {text}"));
            }
        } else {
            drop(work);
        }
        if !self.state().sabotages(Sabotage::KeepsPlaces) {
            link::world::end_thread();
        }
        self.finish(number);
    }

    fn finish(&self, number: usize) {
        let mut state = self.state();
        state.actors[number].status = Status::Ended;
        state.changes += 1;
        let process = state.actors[number].process;
        let ended = |actor: &Actor| actor.process != process || matches!(actor.status, Status::Ended);
        if state.actors.iter().all(ended) {
            let process = &mut state.processes[process];
            process.dead = true;
            process.stopped_ns = None;
            if let Some(tell) = process.tell.take() {
                let _ = rustix::io::write(&tell, b"x");
            }
            let (role, pid, last_words) = (process.role, process.pid, process.last_words.take());
            state.say(|| format!("{role}, process {pid}, has ended"));
            if let Some(bytes) = last_words.and_then(|words| words.changed()) {
                state.find(format!(
                    "{role}, process {pid}, wrote after its death into a memory of {bytes} bytes"
                ));
            }
        }
        self.hand_over(state);
    }

    /// Gives the turn from the calling actor to the next one.
    fn hand_over(&self, mut state: MutexGuard<'_, SimulationState>) -> Option<usize> {
        let next = state.pick();
        let thread = next.and_then(|next| state.actors[next].thread.clone());
        drop(state);
        match (next, thread) {
            (Some(next), Some(thread)) => {
                self.current.store(next, Ordering::Release);
                thread.unpark();
            }
            _ => {
                self.current.store(NOBODY, Ordering::Release);
                let _ = self.done.try_send(());
            }
        }
        next
    }

    fn await_turn(&self, number: usize) {
        while self.current.load(Ordering::Acquire) != number {
            std::thread::park();
        }
    }

    /// Gives up the turn of the calling actor; returns at its next one, or unwinds.
    fn leave<'a>(&'a self, mut state: MutexGuard<'a, SimulationState>, number: usize) {
        let next = state.pick();
        if next != Some(number) {
            let thread = next.and_then(|next| state.actors[next].thread.clone());
            drop(state);
            if let (Some(next), Some(thread)) = (next, thread) {
                self.current.store(next, Ordering::Release);
                thread.unpark();
            }
            self.await_turn(number);
            state = self.state();
        }
        state.actors[number].status = Status::Ready;
        let is_doomed = state.is_doomed(number);
        drop(state);
        if is_doomed {
            std::panic::resume_unwind(Box::new(Killed));
        }
    }

    /// Takes a step of the calling actor; with `spin`, one of many looks that find nothing.
    pub fn take_step(&self, place: &'static str, spin: bool) -> u64 {
        let mut state = self.state();
        let Some(number) = acting() else { return state.now_ns };
        let looks = spin || LOOKS.contains(&place);
        let spins = if looks { (state.actors[number].spins + u32::from(spin)).min(SPINS_MAX) } else { 0 };
        state.actors[number].spins = spins;
        if !looks {
            state.actors[number].ticks = 0;
        }
        state.take_notice(number, !spin);
        state.now_ns += if spin { 60 } else { state.random.u64(50..800) };
        state.note(number, place);
        if !spin || spins > SPINS_SHORT {
            state.strike(number, place);
        }
        let turn = state.plan.steps_a_turn;
        let gives_up = state.random.u32(0..turn) == 0;
        if spin && spins > SPINS_SHORT && state.may_go_on(number) {
            // A long series of vain looks is shortened: the actor looks less often, and others act meanwhile.
            let from_ns = Some(state.now_ns + u64::from(spins) * 100);
            state.actors[number].status = Status::Waiting { on: On::Time, until_ns: None, from_ns };
            self.leave(state, number);
            return self.state().now_ns;
        }
        if state.over || gives_up || !state.may_go_on(number) {
            self.leave(state, number);
            return self.state().now_ns;
        }
        state.now_ns
    }

    /// Waits; returns whether it was interrupted for no reason.
    pub fn await_event(&self, place: &'static str, on: On, timeout: Option<Duration>) -> bool {
        let mut state = self.state();
        let Some(number) = acting() else { return true };
        state.note(number, place);
        state.take_notice(number, true);
        state.actors[number].asked = None;
        state.actors[number].spins = 0;
        state.strike(number, place);
        let ns = timeout.map(|timeout| u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX).max(1));
        let ns = ns.map(|ns| state.stretch(number, ns));
        let mut until_ns = ns.map(|ns| state.now_ns.saturating_add(ns));
        let mut is_early = false;
        if !matches!(on, On::Time | On::Actor(_)) && state.plan.spurious && state.random.u32(0..60) == 0 {
            let early_ns = state.now_ns + state.random.u64(1..2_000_000);
            if until_ns.is_none_or(|until_ns| early_ns < until_ns) {
                until_ns = Some(early_ns);
                is_early = true;
            }
        }
        state.actors[number].woken = false;
        state.actors[number].status = Status::Waiting { on, until_ns, from_ns: None };
        self.leave(state, number);
        is_early && until_ns.is_some_and(|until_ns| self.state().now_ns >= until_ns)
    }

    /// This stage.
    pub fn this(&self) -> Arc<Self> {
        self.this.upgrade().unwrap_or_else(|| unreachable!("borrowed from its own reference"))
    }

    /// What other processes can see of a process.
    pub fn seen(&self, pid: u32) -> Option<Seen> {
        let state = self.state();
        let process = state.processes.iter().find(|process| process.pid == pid)?;
        let is_gone = process.dead
            && (process.reaped || process.parent.is_none_or(|parent| state.processes[parent].dead));
        (!is_gone)
            .then_some(Seen { start_ticks: process.start_ticks, is_stopped: process.stopped_ns.is_some() })
    }
}

impl SimulationState {
    /// The process of the calling actor.
    pub fn own(&mut self) -> Option<&mut Process> {
        let process = self.actors[me()?].process;
        Some(&mut self.processes[process])
    }

    /// Index of the calling actor's process.
    pub fn own_index(&self) -> Option<usize> {
        Some(self.actors[me()?].process)
    }

    /// The process that a descriptor stands for.
    pub fn index_of(&self, descriptor: BorrowedFd<'_>) -> Option<usize> {
        let inode = rustix::fs::fstat(descriptor).ok()?.st_ino;
        self.processes.iter().position(|process| process.inode == inode)
    }

    /// Whether to break the code here in this way, as the plan says: at random, one time in three.
    pub fn sabotages(&mut self, how: Sabotage) -> bool {
        let does = self.plan.sabotage == Some(how) && self.random.u32(0..3) == 0;
        self.sabotaged += u32::from(does);
        does
    }

    /// The calling card runs these requests from now on; the oracle checks the limits of the requests' tenants.
    pub fn run_batch(&mut self, numbers: Vec<u64>) {
        let Some(own) = self.own_index() else { return };
        let opens = self.processes[own].holds_ns.is_some() || self.processes[own].expects;
        self.oracle.batch(&numbers, opens);
        self.processes[own].running = numbers;
        let living = self.processes.iter().filter(|process| !process.killed && !process.dead);
        let all: Vec<_> = living.flat_map(|process| process.running.iter().copied()).collect();
        self.oracle.in_flight(&self.processes[own].running, &all);
        let batch = std::mem::take(&mut self.processes[own].running);
        if self.plan.is_only_hostile()
            && let Some(finding) = self.oracle.hostile.wrong(&batch, self.now_ns)
        {
            self.find(finding);
        }
        if self.oracle.hostile.runs(&batch) {
            self.processes[own].crashed = true;
            self.kill(own, "by a poisoned request");
        }
        self.processes[own].running = batch;
    }

    /// Notes a violation, and ends the run: every actor unwinds.
    pub fn find(&mut self, finding: String) {
        self.say(|| format!("FINDING: {finding}"));
        self.oracle.findings.push(finding);
        self.over = true;
    }

    /// Prints a line of the trace.
    pub fn say(&self, text: impl FnOnce() -> String) {
        if self.trace {
            eprintln!("{:>14} {:>8} {}", millis(self.now_ns), self.steps, text());
        }
    }

    /// Kills a process: its actors only unwind from now on.
    pub fn kill(&mut self, process: usize, why: &str) {
        if !self.processes[process].dead && !self.processes[process].killed {
            self.processes[process].killed = true;
            let last_words = LastWords::of(&self.memories, process);
            self.processes[process].last_words = Some(last_words);
            let (role, pid) = (self.processes[process].role, self.processes[process].pid);
            self.oracle.disturbed();
            self.oracle.killed(pid);
            self.say(|| format!("{role}, process {pid}, is killed: {why}"));
        }
    }

    /// A card that has held the master key of clients since a while before this time, and can be used: neither it nor
    /// the daemon was stopped meanwhile, and nothing that the daemon needs for a queue ran out. None in plans with
    /// faults after which clients avoid a card.
    pub fn holder(&self, since_ns: u64) -> Option<u32> {
        let Plan { liars, scarcity, jumps, reloads, hostile, .. } = self.plan;
        if liars || scarcity || jumps || reloads > 0 || hostile > 0 {
            return None;
        }
        let lasts = |process: &&Process| {
            let lives = !process.dead && !process.killed && process.stopped_ns.is_none();
            lives && process.undisturbed_ns + KNOWN_NS <= since_ns
        };
        self.processes.iter().filter(lasts).find(|process| process.role == Role::Daemon)?;
        let holds =
            |process: &&Process| process.holds_ns.is_some_and(|holds_ns| holds_ns + KNOWN_NS <= since_ns);
        self.processes.iter().filter(lasts).find(holds).map(|process| process.pid)
    }

    /// Stops a process, as SIGSTOP does.
    pub fn stop(&mut self, process: usize) {
        if !self.processes[process].dead && self.processes[process].stopped_ns.is_none() {
            self.processes[process].stopped_ns = Some(self.now_ns);
            let (role, pid) = (self.processes[process].role, self.processes[process].pid);
            self.say(|| format!("{role}, process {pid}, is stopped"));
        }
    }

    /// Lets a stopped process go on.
    pub fn resume(&mut self, process: usize) {
        if self.processes[process].stopped_ns.take().is_some() {
            self.processes[process].undisturbed_ns = self.now_ns;
            let (role, pid) = (self.processes[process].role, self.processes[process].pid);
            self.say(|| format!("{role}, process {pid}, goes on"));
        }
    }

    /// Wakes one waiter of a word, or all.
    pub fn wake(&mut self, word: Word, all: bool) {
        let waits = |actor: &&mut Actor| {
            !actor.woken
                && matches!(&actor.status, Status::Waiting { on: On::Words(words), .. } if words.contains(&word))
        };
        let waiters = self.actors.iter_mut().filter(waits);
        waiters.take(if all { usize::MAX } else { 1 }).for_each(|actor| actor.woken = true);
    }

    /// The word at an address.
    pub fn word(&self, address: usize) -> Word {
        memory::word(&self.memories, address)
    }

    /// The actors that have not ended, and where each stands.
    pub fn standing(&self) -> String {
        let acting = self.actors.iter().filter(|actor| !matches!(actor.status, Status::Ended));
        let lines: Vec<_> = acting.map(|actor| format!("{} at {}", actor.name, actor.place)).collect();
        lines.join(", ")
    }

    fn is_doomed(&self, number: usize) -> bool {
        self.over || self.processes[self.actors[number].process].killed
    }

    fn may_go_on(&self, number: usize) -> bool {
        let process = &self.processes[self.actors[number].process];
        !process.killed && process.stopped_ns.is_none()
    }

    fn note(&mut self, number: usize, place: &'static str) {
        self.steps += 1;
        self.actors[number].place = place;
        let words = [self.now_ns, number as u64, place.len() as u64, u64::from(place.as_bytes()[0])];
        for word in words {
            self.hash = (self.hash ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
        }
        if self.trace && place != "spin" {
            let name = self.actors[number].name.clone();
            self.say(|| format!("{name}: {place}"));
        }
        let dead = self.processes.iter().filter(|process| process.dead).count();
        let progress = (self.oracle.progress(), self.processes.len() + dead);
        if std::mem::replace(&mut self.progress.0, progress) != progress {
            self.progress.1 = self.steps;
        }
        if self.steps - self.progress.1 == STEPS_MAX {
            let standing = self.standing();
            self.find(format!("{STEPS_MAX} steps, and nothing got on: {standing}"));
        }
    }

    /// How long an actor waits that asks to wait `ns`: one that ticks in vain for long ticks less often, like one that
    /// looks at the counter.
    fn stretch(&mut self, number: usize, ns: u64) -> u64 {
        if ns >= TICK_NS_MAX {
            return ns;
        }
        let ticks = self.actors[number].ticks.saturating_add(1);
        self.actors[number].ticks = ticks;
        ns.saturating_mul(1 + u64::from(ticks / SPINS_SHORT)).min(TICK_NS_MAX)
    }

    /// Lets a fault strike a process at this step, at random.
    fn strike(&mut self, number: usize, _place: &'static str) {
        let index = self.actors[number].process;
        if self.over || self.processes[index].killed || self.processes[index].stopped_ns.is_some() {
            return;
        }
        let role = self.processes[index].role;
        let (kill_in, stop_in) = self.plan.odds(role);
        if kill_in > 0 && self.random.u32(0..kill_in) == 0 && self.plan.spend(role) {
            self.kill(index, "at this step");
        } else if stop_in > 0 && self.random.u32(0..stop_in) == 0 && self.plan.spend(role) {
            self.stop(index);
        }
    }

    fn pick(&mut self) -> Option<usize> {
        let count = self.actors.len();
        loop {
            if self.over {
                return self.actors.iter().position(|actor| !matches!(actor.status, Status::Ended));
            }
            let first = self.random.usize(0..count.max(1));
            for step in 0..count {
                let number = (first + step) % count;
                if self.can_go_on(number) {
                    return Some(number);
                }
            }
            if self.actors.iter().all(|actor| matches!(actor.status, Status::Ended)) {
                return None;
            }
            // An actor that looked at the counter may have done something since.
            if std::mem::take(&mut self.unnoticed) {
                self.changes += 1;
                continue;
            }
            match self.next_instant() {
                Some(next_ns) => self.now_ns = self.now_ns.max(next_ns),
                None => {
                    let standing = self.standing();
                    self.find(format!("nothing can happen any more: {standing}"));
                }
            }
        }
    }

    /// Notes that an actor may have changed what others wait for since its last step; `acts` if it may change more
    /// before its next.
    fn take_notice(&mut self, number: usize, acts: bool) {
        let acted = std::mem::replace(&mut self.actors[number].acted, acts);
        self.changes += u64::from(acted);
        self.unnoticed = !acted || !acts;
    }

    /// Whether the descriptors that an actor waits for have an event; asks those of all waiting actors together, once
    /// for each change.
    fn has_event(&mut self, number: usize) -> bool {
        let changes = self.changes;
        let known = |actor: &Actor| actor.asked.filter(|(when, _)| *when == changes);
        if let Some((_, came)) = known(&self.actors[number]) {
            return came;
        }
        let processes = &self.processes;
        let waiting = self.actors.iter_mut().filter_map(|actor| match &actor.status {
            Status::Waiting { on: On::Question(question), from_ns: None, .. }
                if !processes[actor.process].killed =>
            {
                Some((question.clone(), &mut actor.asked))
            }
            _ => None,
        });
        let (questions, answers): (Vec<Question>, Vec<_>) = waiting.unzip();
        for (asked, came) in answers.into_iter().zip(Question::ask(questions.iter())) {
            *asked = Some((changes, came));
        }
        known(&self.actors[number]).is_some_and(|(_, came)| came)
    }

    fn can_go_on(&mut self, number: usize) -> bool {
        let process = &self.processes[self.actors[number].process];
        if matches!(self.actors[number].status, Status::Ended) {
            return false;
        }
        if process.killed {
            return true;
        }
        if process.stopped_ns.is_some() {
            return false;
        }
        let has_come = match &self.actors[number].status {
            Status::Ended => return false,
            Status::Ready => return true,
            Status::Waiting { from_ns: Some(from_ns), .. } => return *from_ns <= self.now_ns,
            Status::Waiting { on, until_ns, .. } => {
                until_ns.is_some_and(|until_ns| until_ns <= self.now_ns)
                    || match on {
                        On::Time => false,
                        On::Question(_) => self.has_event(number),
                        On::Words(_) => self.actors[number].woken,
                        On::Actor(other) => matches!(self.actors[*other].status, Status::Ended),
                    }
            }
        };
        if !has_come {
            return false;
        }
        // A woken actor runs after a random delay.
        let delay_ns = self.plan.delay_ns(&mut self.random);
        let from = self.now_ns + delay_ns;
        if let Status::Waiting { from_ns, .. } = &mut self.actors[number].status {
            *from_ns = Some(from);
        }
        delay_ns == 0
    }

    fn next_instant(&self) -> Option<u64> {
        let waiting = self.actors.iter().filter(|actor| self.processes[actor.process].stopped_ns.is_none());
        let instants = waiting.filter_map(|actor| match &actor.status {
            Status::Waiting { from_ns: Some(from_ns), .. } => Some(*from_ns),
            Status::Waiting { until_ns, .. } => *until_ns,
            _ => None,
        });
        instants.min()
    }
}

/// Number of the calling actor.
pub fn me() -> Option<usize> {
    SELF.try_with(Cell::get).ok().flatten()
}

/// Number of the calling actor, unless it is unwinding, when it must neither wait nor be waited for.
fn acting() -> Option<usize> {
    me().filter(|_| !std::thread::panicking())
}

/// A time in milliseconds.
pub fn millis(ns: u64) -> String {
    format!("{}.{:06} ms", ns / 1_000_000, ns % 1_000_000)
}
