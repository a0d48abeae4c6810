//! Processor time of stages.

use crate::summary::{Stage, StageTime, Summary};
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The stages, in the order of [`Stage`].
const STAGES: [Stage; 4] = [Stage::Read, Stage::Compress, Stage::Cipher, Stage::Write];

/// Processor time per stage, on the caller's processors and on offloaded ones.
#[derive(Default)]
pub(crate) struct Times {
    nanoseconds: [[AtomicU64; 2]; STAGES.len()],
}

impl Times {
    /// The calling thread's present processor time, in nanoseconds.
    pub(crate) fn start(&self) -> u64 {
        thread_nanoseconds()
    }

    /// Adds the calling thread's processor time since `since` to a stage; returns the thread's present processor time.
    pub(crate) fn stop(&self, since: u64, stage: Stage, is_offloaded: bool) -> u64 {
        let now = thread_nanoseconds();
        let booked = &self.nanoseconds[stage as usize][usize::from(is_offloaded)];
        booked.fetch_add(now.saturating_sub(since), Ordering::Relaxed);
        now
    }

    /// The times that were added, for each stage.
    pub(crate) fn per_stage(&self) -> Vec<StageTime> {
        let read = |cell: &AtomicU64| Duration::from_nanos(cell.load(Ordering::Relaxed));
        let times = STAGES.into_iter().zip(&self.nanoseconds);
        times
            .map(|(stage, [caller, other])| StageTime { stage, caller: read(caller), offloaded: read(other) })
            .filter(|time| !(time.caller + time.offloaded).is_zero())
            .collect()
    }

    /// The sum of all times on offloaded processors.
    pub(crate) fn offloaded(&self) -> Duration {
        self.per_stage().iter().map(|time| time.offloaded).sum()
    }
}

/// Processor time of the whole process.
fn process_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

fn thread_nanoseconds() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// Measures one call, from its beginning.
pub(crate) struct Account {
    begun: Instant,
    cpu_before: Duration,
    /// Processor time per stage.
    pub(crate) times: Times,
}

impl Account {
    pub(crate) fn open() -> Self {
        Self { begun: Instant::now(), cpu_before: process_time(), times: Times::default() }
    }

    /// A summary with the figures that every call has. The length of the input stands for the length of the text.
    pub(crate) fn close(&self, input_bytes: u64, output_bytes: u64) -> Summary {
        let cpu_all = process_time().saturating_sub(self.cpu_before);
        Summary {
            form: None,
            input_bytes,
            output_bytes,
            text_bytes: input_bytes,
            elapsed: self.begun.elapsed(),
            stages: self.times.per_stage(),
            cpu_caller: cpu_all.saturating_sub(self.times.offloaded()),
            cpu_all,
            signatures: Vec::new(),
            opened_by: None,
            session_key: None,
            literal_name: Vec::new(),
            literal_modified: None,
        }
    }
}
