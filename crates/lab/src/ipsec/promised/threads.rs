//! One SA that two threads use at a time, without sockets, beside one thread.

use super::sides::Bench;
use crate::experiment::promise::Measure;
use crate::ipsec::suite::Suite;
use crate::kit::machine::processors_online;
use crate::kit::statistics::compare;
use crate::load::LabError;
use ::ipsec::{
    Arrival, Direction, Endpoint, Frame, HEAD_ROOM, KeyBytes, OpenItem, Sa, SaParameters, Sad, SealItem,
    TAIL_ROOM, Time, WINDOW_MAX, Worker,
};
use engine::Engine;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Packets of a batch, and bytes of a packet.
const TOGETHER: usize = 47;
const BYTES: usize = 1424;
/// Batches that a thread seals before it opens them; those of all threads fit the largest window.
const BATCHES: usize = 32;

/// Rows of the same work by one thread and by two.
pub(super) fn threads(bench: &Bench) -> Result<Vec<Measure>, LabError> {
    let failed = |cause: &dyn std::fmt::Debug| LabError::Program(format!("an engine: {cause:?}"));
    let engine = Engine::new(engine::Options::default()).map_err(|cause| failed(&cause))?;
    let mut rows = Vec::new();
    for suite in [Suite::Gcm, Suite::CbcSha1] {
        let (mut one, mut two): ([Vec<f64>; 2], [Vec<f64>; 2]) = Default::default();
        for round in 0..bench.effort.rounds {
            let turns = [1, 2];
            for turn in 0..turns.len() {
                if bench.stop.load(Ordering::Relaxed) {
                    return Err(LabError::Interrupted);
                }
                let count = turns[(turn + round) % turns.len()];
                let to = if count == 1 { &mut one } else { &mut two };
                let rates = rates(&engine, suite, count, bench.effort.seconds)?;
                to.iter_mut().zip(rates).for_each(|(to, rate)| to.push(rate));
            }
        }
        for (at, direction) in ["seal", "open"].into_iter().enumerate() {
            let case = format!("one SA by two threads at once, in process, {}: {direction}", suite.name());
            let bound = format!(
                "{TOGETHER} packets of {BYTES} bytes in a batch, no sockets; this machine has {} processors",
                processors_online()
            );
            let row = Measure::alone(&case, "packets/s", &two[at], None);
            rows.push(row.against("one thread", compare(&two[at], &one[at])).bounded_by(bound));
        }
    }
    Ok(rows)
}

/// Packets a second that `threads` threads together seal, and open. The run, which also makes and compares packets,
/// takes `seconds`.
fn rates(engine: &Engine, suite: Suite, threads: usize, seconds: f64) -> Result<[f64; 2], LabError> {
    let (begin, most) = (Instant::now(), Duration::from_secs_f64(seconds));
    let (mut packets, mut times) = (0, [Duration::ZERO; 2]);
    while packets == 0 || begin.elapsed() < most {
        let round = round(engine, suite, threads)?;
        times.iter_mut().zip(round).for_each(|(time, of_round)| *time += of_round);
        packets += threads * BATCHES * TOGETHER;
    }
    Ok(times.map(|time| packets as f64 / time.as_secs_f64()))
}

/// Seals, then opens, the packets of all threads; gives for each the time from the first start to the last end.
fn round(engine: &Engine, suite: Suite, threads: usize) -> Result<[Duration; 2], LabError> {
    let refused = |cause: &dyn std::fmt::Debug| LabError::Program(format!("an SA: {cause:?}"));
    let (encryption, integrity) = suite.keys(true);
    let keys = KeyBytes { encryption: &encryption, integrity: &integrity };
    let ends: (IpAddr, IpAddr) = ([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
    let make = |direction| {
        let tunnel = SaParameters::tunnel(4096, direction, suite.of_library(), keys, ends);
        Sa::new(engine, &SaParameters { window: WINDOW_MAX, ..tunnel }, true).map_err(|cause| refused(&cause))
    };
    let out = make(Direction::Out)?;
    let mut sad = Sad::new();
    sad.add(Arc::new(make(Direction::In)?)).map_err(|cause| refused(&cause))?;
    let (out, sad, arrival) = (&out, &sad, Arrival::new(Endpoint::new(ends.0, 0), ends.1));
    let start = &Start { waiting: AtomicUsize::new(0), threads };
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(move || {
                    let room = [&[0; HEAD_ROOM][..], &packet(), &[0; TAIL_ROOM]].concat();
                    let mut memory = vec![room; BATCHES * TOGETHER];
                    let mut worker = Worker::new(*engine);
                    let mut items: Vec<_> = memory
                        .iter_mut()
                        .filter_map(|memory| Frame::new(memory, HEAD_ROOM, HEAD_ROOM + BYTES))
                        .map(|frame| SealItem::new(out, frame))
                        .collect();
                    start.wait(1);
                    let sealing = Instant::now();
                    items.chunks_mut(TOGETHER).for_each(|batch| worker.seal(Time::default(), batch));
                    let sealed = Instant::now();
                    let mut items: Vec<_> =
                        items.into_iter().map(|item| OpenItem::new(item.frame, arrival)).collect();
                    start.wait(2);
                    let opening = Instant::now();
                    items.chunks_mut(TOGETHER).for_each(|batch| worker.open(sad, Time::default(), batch));
                    let opened = Instant::now();
                    let is_right =
                        |item: &OpenItem<'_, '_>| item.outcome.is_done() && item.frame.bytes() == packet();
                    items.iter().all(is_right).then_some([(sealing, sealed), (opening, opened)])
                })
            })
            .collect();
        let lost = || LabError::Program("threads that share an SA lose packets".to_owned());
        let times: Option<Vec<[(Instant, Instant); 2]>> =
            running.into_iter().map(|thread| thread.join().ok().flatten()).collect();
        let times = times.ok_or_else(lost)?;
        Ok([0, 1].map(|at| {
            let begin = times.iter().map(|of_thread| of_thread[at].0).min();
            let end = times.iter().map(|of_thread| of_thread[at].1).max();
            begin.zip(end).map_or(Duration::ZERO, |(begin, end)| end - begin)
        }))
    })
}

/// A barrier whose threads wait without sleeping: the measured work is shorter than being woken.
struct Start {
    waiting: AtomicUsize,
    threads: usize,
}

impl Start {
    /// Waits until all threads have called `wait` for the `time`-th time.
    fn wait(&self, time: usize) {
        self.waiting.fetch_add(1, Ordering::AcqRel);
        while self.waiting.load(Ordering::Acquire) < self.threads * time {
            std::thread::yield_now();
        }
    }
}

/// A packet of IPv4.
fn packet() -> Vec<u8> {
    let mut packet = vec![7; BYTES];
    packet[..20].fill(0);
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&(BYTES as u16).to_be_bytes());
    packet[8..10].copy_from_slice(&[64, 253]);
    packet[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    packet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_threads_seal_and_open_by_one_sa() {
        let engine = Engine::new(engine::Options::default()).unwrap();
        for suite in Suite::ALL {
            round(&engine, suite, 2).unwrap();
        }
    }
}
