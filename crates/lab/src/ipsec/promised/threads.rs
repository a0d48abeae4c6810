//! Threads that seal and open by one SA at a time, or by an SA each, without sockets.

use super::sides::Bench;
use crate::experiment::promise::Measure;
use crate::ipsec::suite::Suite;
use crate::kit::machine::processors_online;
use crate::kit::statistics::compare;
use crate::load::{LabError, thread_seconds};
use ::ipsec::{
    Arrival, Direction, Endpoint, Frame, HEAD_ROOM, KeyBytes, OpenItem, Sa, SaParameters, Sad, SealItem,
    TAIL_ROOM, Time, WINDOW_MAX, Worker,
};
use engine::Engine;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// SPI of the first SA; those of further ones follow.
const SPI: u32 = 4096;
/// Packets of a batch, and bytes of a packet.
const TOGETHER: usize = 47;
const BYTES: usize = 1424;
/// Batches that a thread seals before it opens them; those of all threads fit the largest window.
const BATCHES: usize = 32;

/// Rows of the same work by one thread and by two.
pub(super) fn threads(bench: &Bench) -> Result<Vec<Measure>, LabError> {
    let engine = library_engine()?;
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
                let rates = rates(&engine, suite, count, Sharing::OneSa, bench.effort.seconds)?;
                to.iter_mut().zip(rates).for_each(|(to, (rate, _))| to.push(rate));
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

/// The SAs of several threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sharing {
    /// All threads have one SA.
    OneSa,
    /// Each thread has an SA.
    AnSaEach,
}

/// An engine as data planes have it.
pub(super) fn library_engine() -> Result<Engine, LabError> {
    let failed = |cause: &dyn std::fmt::Debug| LabError::Program(format!("an engine: {cause:?}"));
    Engine::new(engine::Options::default()).map_err(|cause| failed(&cause))
}

/// Packets a second that `threads` threads together seal, and open, each with the processors that they used. The run,
/// which also makes and compares packets, takes `seconds`.
pub(super) fn rates(
    engine: &Engine,
    suite: Suite,
    threads: usize,
    sharing: Sharing,
    seconds: f64,
) -> Result<[(f64, f64); 2], LabError> {
    let (begin, most) = (Instant::now(), Duration::from_secs_f64(seconds));
    let (mut packets, mut spent) = (0, [(Duration::ZERO, 0.0); 2]);
    while packets == 0 || begin.elapsed() < most {
        let round = round(engine, suite, threads, sharing)?;
        for ((time, processor_s), of_round) in spent.iter_mut().zip(round) {
            *time += of_round.0;
            *processor_s += of_round.1;
        }
        packets += threads * BATCHES * TOGETHER;
    }
    Ok(spent.map(|(time, processor_s)| {
        let seconds = time.as_secs_f64();
        (packets as f64 / seconds, processor_s / seconds)
    }))
}

/// Seals, then opens, the packets of all threads; gives for each the time from the first start to the last end, and the
/// threads' processor time, in seconds.
fn round(
    engine: &Engine,
    suite: Suite,
    threads: usize,
    sharing: Sharing,
) -> Result<[(Duration, f64); 2], LabError> {
    let refused = |cause: &dyn std::fmt::Debug| LabError::Program(format!("an SA: {cause:?}"));
    let sas = if sharing == Sharing::OneSa { 1 } else { threads };
    let ends: (IpAddr, IpAddr) = ([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
    let make = |direction, sa: usize| {
        let (encryption, integrity) = suite.keys(true, sa);
        let keys = KeyBytes { encryption: &encryption, integrity: &integrity };
        let tunnel = SaParameters::tunnel(SPI + sa as u32, direction, suite.of_library(), keys, ends);
        Sa::new(engine, &SaParameters { window: WINDOW_MAX, ..tunnel }, true).map_err(|cause| refused(&cause))
    };
    let out = (0..sas).map(|sa| make(Direction::Out, sa)).collect::<Result<Vec<_>, LabError>>()?;
    let mut sad = Sad::new();
    for sa in 0..sas {
        sad.add(Arc::new(make(Direction::In, sa)?)).map_err(|cause| refused(&cause))?;
    }
    let (sad, arrival) = (&sad, Arrival::new(Endpoint::new(ends.0, 0), ends.1));
    let start = &Start { waiting: AtomicUsize::new(0), threads };
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|thread| {
                let out = &out[thread % sas];
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
                    let sealing = (Instant::now(), thread_seconds());
                    items.chunks_mut(TOGETHER).for_each(|batch| worker.seal(Time::default(), batch));
                    let sealed = (Instant::now(), thread_seconds());
                    let mut items: Vec<_> =
                        items.into_iter().map(|item| OpenItem::new(item.frame, arrival)).collect();
                    start.wait(2);
                    let opening = (Instant::now(), thread_seconds());
                    items.chunks_mut(TOGETHER).for_each(|batch| worker.open(sad, Time::default(), batch));
                    let opened = (Instant::now(), thread_seconds());
                    let is_right =
                        |item: &OpenItem<'_, '_>| item.outcome.is_done() && item.frame.bytes() == packet();
                    items.iter().all(is_right).then_some([(sealing, sealed), (opening, opened)])
                })
            })
            .collect();
        let lost = || LabError::Program("threads that share an SA lose packets".to_owned());
        let times: Option<Vec<[(Moment, Moment); 2]>> =
            running.into_iter().map(|thread| thread.join().ok().flatten()).collect();
        let times = times.ok_or_else(lost)?;
        Ok([0, 1].map(|at| {
            let of_threads = times.iter().map(|of_thread| of_thread[at]);
            let begin = of_threads.clone().map(|(begin, _)| begin.0).min();
            let end = of_threads.clone().map(|(_, end)| end.0).max();
            let time = begin.zip(end).map_or(Duration::ZERO, |(begin, end)| end - begin);
            (time, of_threads.map(|(begin, end)| end.1 - begin.1).sum())
        }))
    })
}

/// A time, and the processor time of the thread so far, in seconds.
type Moment = (Instant, f64);

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
    fn threads_seal_and_open_by_one_sa_and_by_an_sa_each() {
        let engine = library_engine().unwrap();
        for suite in Suite::ALL {
            for (threads, sharing) in [(2, Sharing::OneSa), (3, Sharing::AnSaEach)] {
                let spent = round(&engine, suite, threads, sharing).unwrap();
                assert!(spent.iter().all(|(time, seconds)| !time.is_zero() && *seconds > 0.0), "{spent:?}");
            }
        }
    }
}
