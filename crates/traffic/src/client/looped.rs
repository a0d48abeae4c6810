//! A loop of requests and responses over a fixed number of connections. In a closed loop each transaction begins when
//! another one ends. In an open loop it begins at its due time, and its latency counts from then, even if no connection
//! was free.

use super::exchange::{Exchange, Turn, name};
use super::{Share, Shared, Stage, Tally, random};
use crate::failure::DriveFailure;
use crate::pattern::PIECE_BYTES_MAX;
use crate::plan::Plan;
use crate::wake::WAKE;
use options::ipsec::Workload;
use pacing::{Pace, TIMER};
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use streams::{Server, WATCHED};

const EVENTS_MAX: usize = 512;
/// How often timeouts and pauses are checked.
const LOOK: Duration = Duration::from_millis(20);
/// Pause of a slot after an error: the first, doubled with each further error up to the last.
const PAUSES: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(500)];
/// After this number of errors, without one completed transaction before, the loop gives up.
const FIRST_ERRORS_MAX: u32 = 8;

#[derive(Default)]
struct Slot {
    /// Number of the slot's connections so far, which tells events of this connection from those of an earlier one.
    uses: u32,
    connection: Option<Exchange>,
    /// End of the slot's pause, and the number of its errors in a row.
    due: Option<Instant>,
    errors: u32,
}

pub(super) struct Looped<'a> {
    plan: &'a Plan,
    shared: &'a Shared,
    server: Server,
    epoll: OwnedFd,
    slots: Vec<Slot>,
    /// Slots without a request under way.
    idle: VecDeque<usize>,
    pace: Option<Pace>,
    seed: u64,
    tally: Tally,
    stage: Stage,
    /// Whether a transaction was ever completed, and the number of errors before.
    has_done: bool,
    first_errors: u32,
    scratch: Vec<u8>,
}

impl<'a> Looped<'a> {
    pub fn new(share: Share<'a>) -> Result<Self, DriveFailure> {
        let Share { plan, shared, connections, number } = share;
        let system = DriveFailure::system("make what waits for connections");
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(&system)?;
        shared.wake.watch(&epoll).map_err(&system)?;
        let pace = plan.rate.map(|rate| Pace::new(&epoll, rate, number, plan.threads));
        Ok(Self {
            plan,
            shared,
            server: Server::Tcp(plan.target),
            pace: pace.transpose().map_err(&system)?,
            epoll,
            slots: (0..connections).map(|_| Slot::default()).collect(),
            idle: (0..connections).collect(),
            seed: random().map_err(system)?,
            tally: Tally::default(),
            stage: Stage::WarmUp,
            has_done: false,
            first_errors: 0,
            scratch: vec![0; PIECE_BYTES_MAX],
        })
    }

    pub fn run(mut self) -> Result<Tally, DriveFailure> {
        let mut events = Vec::<Event>::with_capacity(EVENTS_MAX);
        let mut looked = Instant::now();
        loop {
            let now = Instant::now();
            if self.turn(now) == Stage::Over {
                return Ok(self.tally);
            }
            self.begin(now)?;
            if let Some(pace) = &mut self.pace {
                pace.set(now).map_err(DriveFailure::system("set a timer"))?;
            }
            let timeout = Timespec { tv_sec: 0, tv_nsec: LOOK.as_nanos() as i64 };
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&timeout)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(DriveFailure::system("wait for connections")(errno)),
            }
            for event in &events {
                // The structure is packed: the fields are copied before use.
                let (data, flags) = (event.data, event.flags);
                match data.u64() {
                    TIMER | WAKE => {}
                    data => self.hear(data, flags)?,
                }
            }
            let now = Instant::now();
            if now.saturating_duration_since(looked) >= LOOK {
                looked = now;
                self.look(now)?;
            }
        }
    }

    /// Takes note of the run's stage; a new stage clears or closes the counts.
    fn turn(&mut self, now: Instant) -> Stage {
        let stage = self.shared.stage();
        if stage != self.stage {
            self.stage = stage;
            match stage {
                Stage::Measured => self.tally = Tally::default(),
                Stage::Over => self.tally.never = self.pace.as_ref().map_or(0, |pace| pace.behind(now)),
                Stage::WarmUp => {}
            }
        }
        stage
    }

    /// Begins all due transactions, as far as slots are free.
    fn begin(&mut self, now: Instant) -> Result<(), DriveFailure> {
        while !self.idle.is_empty() {
            let since = match &mut self.pace {
                None => now,
                Some(pace) => {
                    let Some(due) = pace.due_by(now) else { return Ok(()) };
                    pace.begin();
                    self.tally.begin(now.saturating_duration_since(due));
                    due
                }
            };
            let Some(number) = self.idle.pop_front() else { return Ok(()) };
            self.ask(number, since, now)?;
        }
        Ok(())
    }

    fn ask(&mut self, number: usize, since: Instant, now: Instant) -> Result<(), DriveFailure> {
        let Some(slot) = self.slots.get_mut(number) else { return Ok(()) };
        if let Some(connection) = &mut slot.connection {
            connection.ask(since, now);
            return self.go_on(number);
        }
        slot.uses = slot.uses.wrapping_add(1) & (u32::MAX >> 1);
        self.seed = self.seed.wrapping_add(1);
        let data = EventData::new_u64(u64::from(slot.uses) << 32 | number as u64);
        let connected =
            Exchange::connect(&self.server, self.plan.header(self.seed), since, now).and_then(|connection| {
                epoll::add(&self.epoll, connection.socket(), data, WATCHED)?;
                Ok(connection)
            });
        match connected {
            Ok(connection) => {
                slot.connection = Some(connection);
                Ok(())
            }
            Err(errno) => self.fail(number, &name(errno)),
        }
    }

    fn hear(&mut self, data: u64, flags: EventFlags) -> Result<(), DriveFailure> {
        let (number, uses) = ((data & u64::from(u32::MAX)) as usize, (data >> 32) as u32);
        let Some(slot) = self.slots.get_mut(number).filter(|slot| slot.uses == uses) else { return Ok(()) };
        let Some(connection) = &mut slot.connection else { return Ok(()) };
        connection.hear(flags);
        self.go_on(number)
    }

    fn go_on(&mut self, number: usize) -> Result<(), DriveFailure> {
        loop {
            let Some(slot) = self.slots.get_mut(number) else { return Ok(()) };
            let Some(connection) = &mut slot.connection else { return Ok(()) };
            match connection.go_on(&mut self.scratch) {
                Turn::Wait => return Ok(()),
                Turn::Wrong => return Err(DriveFailure::Wrong(self.plan.workload)),
                Turn::Failed(why) => return self.fail(number, &why),
                Turn::Done => {}
            }
            let now = Instant::now();
            let (sent, received) = (connection.bytes_sent, connection.bytes_received);
            (connection.bytes_sent, connection.bytes_received) = (0, 0);
            let took = now.saturating_duration_since(connection.since);
            slot.errors = 0;
            if self.plan.workload == Workload::Crr {
                slot.connection = None;
            }
            self.has_done = true;
            self.shared.done.fetch_add(1, Ordering::Relaxed);
            if self.turn(now) == Stage::Measured {
                self.tally.transactions += 1;
                self.tally.bytes_sent += sent;
                self.tally.bytes_received += received;
                self.tally.latency.record(took);
            }
            // A connection that stays begins its next transaction here, without a round through the loop.
            let Some(slot) = self.slots.get_mut(number) else { return Ok(()) };
            let is_next =
                self.pace.is_none() && self.stage != Stage::Over && self.plan.workload != Workload::Crr;
            match &mut slot.connection {
                Some(connection) if is_next => connection.ask(now, now),
                _ => {
                    self.idle.push_back(number);
                    return Ok(());
                }
            }
        }
    }

    /// Counts an error; the slot begins again after a pause.
    fn fail(&mut self, number: usize, why: &str) -> Result<(), DriveFailure> {
        self.shared.failed.fetch_add(1, Ordering::Relaxed);
        self.tally.fail(why);
        self.first_errors += u32::from(!self.has_done);
        if self.first_errors >= FIRST_ERRORS_MAX {
            return Err(DriveFailure::Target { target: self.plan.target_text.clone(), why: why.to_owned() });
        }
        let Some(slot) = self.slots.get_mut(number) else { return Ok(()) };
        // A free slot must not be used before its pause is over.
        self.idle.retain(|idle| *idle != number);
        slot.connection = None;
        let pause = PAUSES[0].saturating_mul(1 << slot.errors.min(16)).min(PAUSES[1]);
        slot.errors = slot.errors.saturating_add(1);
        slot.due = Some(Instant::now() + pause);
        Ok(())
    }

    /// Ends transactions past their timeout, and frees slots whose pause is over.
    fn look(&mut self, now: Instant) -> Result<(), DriveFailure> {
        for number in 0..self.slots.len() {
            let Some(slot) = self.slots.get_mut(number) else { continue };
            if slot.due.is_some_and(|due| due <= now) {
                slot.due = None;
                self.idle.push_back(number);
                continue;
            }
            let connection = slot.connection.as_ref().filter(|connection| !connection.is_idle());
            if connection.is_some_and(|it| now.saturating_duration_since(it.begun) > self.plan.timeout) {
                self.fail(number, "timeout")?;
            }
        }
        Ok(())
    }
}
