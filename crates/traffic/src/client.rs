//! The client's end: loops of connections, a thread each, and their counts.

mod datagrams;
mod exchange;
mod looped;
mod stream;

use crate::failure::DriveFailure;
use crate::plan::Plan;
use crate::wake::Wake;
use options::ipsec::Workload;
use pacing::{LATE, Times};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

/// Upper bound of different kinds of errors that are counted apart.
const ERROR_KINDS_MAX: usize = 32;

/// Stage of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Stage {
    /// Nothing is counted.
    WarmUp,
    /// Everything is counted.
    Measured,
    /// No new transaction begins.
    Over,
}

/// State shared by the loops and the thread that conducts the run.
pub(crate) struct Shared {
    stage: AtomicU8,
    /// Transactions, bytes and errors so far, for the report of progress.
    pub done: AtomicU64,
    pub bytes: AtomicU64,
    pub failed: AtomicU64,
    /// Ends the waits of all loops.
    pub wake: Wake,
}

impl Shared {
    pub fn new() -> Result<Self, Errno> {
        let zero = || AtomicU64::new(0);
        let (done, bytes, failed) = (zero(), zero(), zero());
        Ok(Self { stage: AtomicU8::new(Stage::WarmUp as u8), done, bytes, failed, wake: Wake::new()? })
    }

    pub fn set(&self, stage: Stage) {
        self.stage.store(stage as u8, Ordering::Release);
        if stage == Stage::Over {
            self.wake.set();
        }
    }

    pub fn stage(&self) -> Stage {
        match self.stage.load(Ordering::Acquire) {
            0 => Stage::WarmUp,
            1 => Stage::Measured,
            _ => Stage::Over,
        }
    }
}

/// Counts of datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DatagramCounts {
    pub sent: u64,
    pub received: u64,
    pub duplicates: u64,
    pub late: u64,
    /// Sent, then received datagrams from the first of the warm-up to the last of the run.
    pub sent_in_all: u64,
    pub received_in_all: u64,
}

/// Counts and times within the measured window.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub transactions: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    pub latency: Times,
    pub errors: BTreeMap<String, u64>,
    /// Starts of an open loop: begun ones, late ones among these, and due ones that never began.
    pub begun: u64,
    pub late: u64,
    pub never: u64,
    pub datagrams: DatagramCounts,
}

impl Tally {
    /// Counts a start that began `after` its due time.
    pub fn begin(&mut self, after: Duration) {
        self.begun += 1;
        self.late += u64::from(after > LATE);
    }

    /// Counts an error.
    pub fn fail(&mut self, kind: &str) {
        match self.errors.get_mut(kind) {
            Some(count) => *count += 1,
            None => {
                let kind = if self.errors.len() < ERROR_KINDS_MAX { kind } else { "others" };
                *self.errors.entry(kind.to_owned()).or_default() += 1;
            }
        }
    }

    /// Adds another loop's counts and times.
    pub fn add(&mut self, other: &Self) {
        self.transactions += other.transactions;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.latency.add(&other.latency);
        for (kind, count) in &other.errors {
            *self.errors.entry(kind.clone()).or_default() += count;
        }
        self.begun += other.begun;
        self.late += other.late;
        self.never += other.never;
        let (own, other) = (&mut self.datagrams, &other.datagrams);
        own.sent += other.sent;
        own.received += other.received;
        own.duplicates += other.duplicates;
        own.late += other.late;
        own.sent_in_all += other.sent_in_all;
        own.received_in_all += other.received_in_all;
    }
}

/// A loop's share of a run.
pub(crate) struct Share<'a> {
    pub plan: &'a Plan,
    pub shared: &'a Shared,
    /// Connections of this loop, then the loop's number.
    pub connections: usize,
    pub number: usize,
}

impl Share<'_> {
    /// Runs the loop until the run is over.
    pub fn run(self) -> Result<Tally, DriveFailure> {
        match self.plan.workload {
            Workload::Rr | Workload::Crr | Workload::Ping => looped::Looped::new(self)?.run(),
            Workload::Stream | Workload::Download => stream::run(&self),
            Workload::Udp => datagrams::run(&self),
        }
    }
}

/// A random number, which no other run is expected to have.
pub(crate) fn random() -> Result<u64, Errno> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(u64::from_ne_bytes(bytes))
}
