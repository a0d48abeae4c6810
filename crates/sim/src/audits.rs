//! Answers that cards hold until their records are durable, in an audit log on a slow disk.

use crate::plan::Sabotage;
use crate::stage::Stage;
use card::held::{Until, Waits};
use link::{Doorbell, world};
use rustix::net::SendFlags;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// One answer in this many waits for a record.
const RECORDED_IN: u32 = 3;

/// Which answers of a card wait for a record; the records are written by a thread of the card, several at once.
pub struct Audits {
    stage: Arc<Stage>,
    doorbell: PathBuf,
    random: fastrand::Rng,
    log: Arc<Log>,
}

/// State that both threads share. One thread runs at a time: nothing happens between a look and what follows from it.
#[derive(Default)]
struct Log {
    /// Records asked for.
    asked: AtomicU64,
    /// Requested records that are durable.
    durable: AtomicU64,
    /// Whether the writing thread runs.
    writing: AtomicBool,
}

impl Audits {
    /// The rule of a card that is rung at this doorbell.
    pub fn new(stage: Arc<Stage>, doorbell: &Path, seed: u64) -> Self {
        let random = fastrand::Rng::with_seed(seed);
        Self { stage, doorbell: doorbell.to_owned(), random, log: Arc::default() }
    }

    fn begin_to_write(&mut self) {
        if self.log.writing.swap(true, Ordering::Relaxed) {
            return;
        }
        let (stage, log, doorbell) = (Arc::clone(&self.stage), Arc::clone(&self.log), self.doorbell.clone());
        let (mut random, pid) = (fastrand::Rng::with_seed(self.random.u64(..)), world::pid());
        let write = move || {
            let longest_us = if stage.state().plan.calm { 300 } else { 400_000 };
            loop {
                let up_to = log.asked.load(Ordering::Relaxed);
                world::sleep(Duration::from_micros(random.u64(1..longest_us)));
                log.durable.store(up_to, Ordering::Relaxed);
                stage.state().oracle.recorded(pid, up_to);
                world::step("ring of the log");
                if let Ok(bell) = Doorbell::connect(&doorbell) {
                    let _ = rustix::net::send(&bell, &[], SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
                }
                if log.asked.load(Ordering::Relaxed) == up_to {
                    return log.writing.store(false, Ordering::Relaxed);
                }
            }
        };
        if world::spawn("log", write).is_err() {
            self.log.writing.store(false, Ordering::Relaxed);
        }
    }
}

impl Waits for Audits {
    fn until(&mut self, _now_tsc: u64, _slot: usize) -> Until {
        let pid = world::pid();
        let waits = self.random.u32(0..RECORDED_IN) == 0;
        let sequence = self.log.asked.load(Ordering::Relaxed) + u64::from(waits);
        let mut state = self.stage.state();
        let number = state.own().and_then(|process| process.taken.pop_front()).flatten();
        state.oracle.audit(number, waits.then_some((pid, sequence)));
        drop(state);
        if !waits {
            return Until::Now;
        }
        self.log.asked.store(sequence, Ordering::Relaxed);
        self.begin_to_write();
        Until::Recorded(sequence)
    }

    fn durable(&self) -> u64 {
        if self.stage.state().plan.sabotage == Some(Sabotage::ForgetsRecords) {
            return u64::MAX;
        }
        self.log.durable.load(Ordering::Relaxed)
    }
}
