//! The world that actors live in, as [`link::world`] asks for it.

use crate::memory::Memory;
use crate::plan::{Role, Sabotage};
use crate::stage::{On, Stage, me};
use crate::{oracle, programs};
use link::Ended;
use link::world::{Event, Join, Process, Question, World};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wire::frame::ReplyHeader;
use wire::registers::RegisterSet;

impl World for Stage {
    fn now(&self) -> Instant {
        let mut state = self.state();
        if me().is_some() {
            state.now_ns += 20;
        }
        self.instant(state.now_ns)
    }

    fn tsc(&self) -> u64 {
        // Never zero, which stands for "not yet" in places.
        1_000_000_000 + self.take_step("spin", true)
    }

    fn unix_ms(&self) -> u64 {
        1_800_000_000_000 + self.state().now_ns / 1_000_000
    }

    fn processor(&self) -> u32 {
        self.state().own().map_or(0, |process| process.processor)
    }

    fn processors(&self) -> u64 {
        self.state().plan.processors
    }

    fn step(&self, place: &'static str) {
        self.take_step(place, false);
    }

    fn saw(&self, event: Event<'_>) {
        match event {
            Event::Admitted(payload) => {
                let number = oracle::number_in(payload);
                let mut state = self.state();
                if let Some(process) = state.own() {
                    process.admitted.extend(number);
                    process.taken.push_back(number);
                }
            }
            Event::Running => {
                self.take_step("run", false);
                {
                    let mut state = self.state();
                    let admitted = state.own().map(|process| {
                        process.taken.clear();
                        std::mem::take(&mut process.admitted)
                    });
                    state.run_batch(admitted.unwrap_or_default());
                    let longest_ns = if state.plan.calm { 10_000 } else { 120_000 };
                    let pass_ns = state.random.u64(500..longest_ns);
                    state.now_ns += pass_ns;
                }
                self.take_step("ran", false);
                if let Some(process) = self.state().own() {
                    process.running.clear();
                }
            }
            Event::Holds(registers) => {
                let holds = registers.contains(crate::officer::REGISTER);
                let mut state = self.state();
                let now_ns = state.now_ns;
                if let Some(process) = state.own() {
                    process.holds_ns = if holds { process.holds_ns.or(Some(now_ns)) } else { None };
                    process.expects = false;
                }
            }
            Event::Expects(registers) => {
                if let Some(process) = self.state().own() {
                    process.expects = registers.contains(crate::officer::REGISTER);
                }
            }
            Event::Storing(label) => {
                if let Some(number) = oracle::number_of(label) {
                    self.state().oracle.executed(number);
                }
            }
        }
    }

    fn tamper(&self, header: &mut ReplyHeader) {
        let mut state = self.state();
        if !state.own().is_some_and(|process| process.lies) || state.random.u32(0..6) != 0 {
            return;
        }
        match state.random.u32(0..4) {
            0 => header.sequence = state.random.u64(..),
            1 => header.payload_bytes = u32::MAX - state.random.u32(0..1000),
            2 => header.bulk = state.random.u32(0..1000),
            _ => header.sequence = header.sequence.wrapping_add(64),
        }
        state.oracle.disturbed();
        state.say(|| "the card answers nonsense".to_owned());
    }

    fn taken(&self, taken: bool) -> bool {
        taken && !self.state().sabotages(Sabotage::ForgetsTaken)
    }

    fn lacks(&self, lacks: bool) -> bool {
        lacks && self.state().plan.sabotage != Some(Sabotage::SpreadsAtOnce)
    }

    fn needs(&self, registers: RegisterSet) -> RegisterSet {
        if self.state().plan.sabotage == Some(Sabotage::IgnoresKeys) { RegisterSet::NONE } else { registers }
    }

    fn fault(&self, place: &'static str) -> io::Result<()> {
        let mut state = self.state();
        let is_scarce = state.now_ns < state.scarce_until_ns;
        if me().is_none() || !is_scarce || state.random.u32(0..5) != 0 {
            return Ok(());
        }
        state.oracle.disturbed();
        state.say(|| format!("{place} fails: nothing left"));
        let errno = if place == "mmap" { rustix::io::Errno::NOMEM } else { rustix::io::Errno::MFILE };
        Err(errno.into())
    }

    fn wait(&self, place: &'static str, question: Option<&Question>, timeout: Option<Duration>) -> bool {
        self.await_event(place, question.map_or(On::Time, |question| On::Question(question.clone())), timeout)
    }

    fn ring(&self) -> bool {
        !self.state().sabotages(Sabotage::LosesRings)
    }

    fn futex_wait(&self, words: &[usize], timeout: Duration) {
        let words = {
            let state = self.state();
            words.iter().map(|address| state.word(*address)).collect()
        };
        self.await_event("asleep", On::Words(words), Some(timeout));
    }

    fn futex_wake(&self, word: usize, all: bool) {
        let mut state = self.state();
        if !state.sabotages(Sabotage::LosesWakes) {
            let word = state.word(word);
            let all = all && !state.sabotages(Sabotage::WakesOne);
            state.wake(word, all);
        }
    }

    fn mapped(&self, base: usize, bytes: usize, fd: BorrowedFd<'_>) {
        let mut state = self.state();
        let process = state.own_index();
        if let Ok(memory) = Memory::new(process, bytes, fd) {
            state.memories.insert(base, memory);
        }
    }

    fn unmapped(&self, base: usize) {
        let mut state = self.state();
        let memory = state.memories.remove(&base);
        if let Some(memory) = memory
            && state.own().is_some_and(|process| process.killed)
            && state.sabotages(Sabotage::WritesDead)
        {
            memory.scribble();
        }
    }

    fn socket_name(&self) -> Vec<u8> {
        let mut state = self.state();
        state.sockets += 1;
        let pid = state.own().map_or(0, |process| process.pid);
        // The name differs from names of other runs in this process, and of other processes.
        let stage = std::ptr::from_ref(self).addr();
        format!("cryptand-sim {} {stage:x} {} {pid}", std::process::id(), state.sockets).into_bytes()
    }

    fn named(&self, name: &[u8]) -> Option<u32> {
        let text = std::str::from_utf8(name).ok()?;
        text.strip_prefix("cryptand-sim ")?.rsplit(' ').next()?.parse().ok()
    }

    fn start_process(&self, arguments: &[&str], control: OwnedFd) -> io::Result<u32> {
        let role = if arguments == ["--keeper"] { Role::Keeper } else { Role::Card };
        let index = match role {
            Role::Keeper => Stage::start_process(self, role, move || programs::keeper(control))?,
            _ => {
                let stage = self.this();
                Stage::start_process(self, role, move || programs::card(control, &stage))?
            }
        };
        Ok(self.state().processes[index].pid)
    }

    fn open_process(&self, pid: u32) -> io::Result<OwnedFd> {
        let gone = || io::Error::from(rustix::io::Errno::SRCH);
        self.seen(pid).ok_or_else(gone)?;
        let state = self.state();
        let process = state.processes.iter().find(|process| process.pid == pid).ok_or_else(gone)?;
        process.end.try_clone()
    }

    fn kill(&self, process: BorrowedFd<'_>) {
        let mut state = self.state();
        if let Some(index) = state.index_of(process) {
            state.kill(index, "by the daemon");
        }
    }

    fn resume(&self, process: BorrowedFd<'_>) {
        let mut state = self.state();
        if let Some(index) = state.index_of(process) {
            state.resume(index);
        }
    }

    fn reap(&self, process: BorrowedFd<'_>) -> Option<Ended> {
        let mut state = self.state();
        let (index, own) = (state.index_of(process)?, state.own_index());
        let process = &mut state.processes[index];
        process.reaped |= process.dead;
        // The system tells only a parent how its child ended.
        if process.crashed && process.parent != own {
            return None;
        }
        process.dead.then_some(Ended::Signal(if process.crashed { 6 } else { 9 }))
    }

    fn process(&self, pid: u32) -> Option<Process> {
        self.seen(pid)
    }

    fn pid(&self) -> u32 {
        self.state().own().map_or(0, |process| process.pid)
    }

    fn is_killed(&self) -> bool {
        std::thread::panicking() && self.state().own().is_some_and(|process| process.killed)
    }

    fn spawn(&self, name: &str, work: Box<dyn FnOnce() + Send>) -> io::Result<Box<dyn Join>> {
        let process = self.state().own_index().ok_or(io::ErrorKind::Other)?;
        let stage = self.this();
        let actor = self.start_actor(process, name.to_owned(), work)?;
        Ok(Box::new(Joined { stage, actor }))
    }
}

struct Joined {
    stage: Arc<Stage>,
    actor: usize,
}

impl Join for Joined {
    fn join(self: Box<Self>) {
        self.stage.await_event("join", On::Actor(self.actor), None);
    }
}
