//! The threads of a flow: which stages each runs, on which processors.

use crate::run::{Async, Run};
use crate::summary::Stage;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// At most this many threads: more do not help, since sequential stages (reading, writing) hold them up.
const THREADS_MAX: usize = 32;
/// Blocks beyond one per thread: they wait before sequential stages.
const BLOCKS_WAITING: usize = 3;

/// The parallelism that a flow's stages allow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    /// Whether a stage compresses or inflates.
    pub(crate) compresses: bool,
    /// Whether several threads can compress side by side.
    pub(crate) compresses_in_parallel: bool,
    /// Whether several threads can encipher side by side.
    pub(crate) enciphers_in_parallel: bool,
    /// Whether there is so little work that a second thread costs more than it gives.
    pub(crate) is_small: bool,
}

/// The threads of a flow; the first is the caller's own.
pub(crate) struct Crew {
    members: Vec<Member>,
}

/// A thread of a crew, with its stages and its processors.
pub(crate) struct Member {
    /// The member's number, from 0, in the order of [`Crew::members`].
    number: usize,
    does: [bool; 4],
    processors: Option<CpuSet>,
    is_offloaded: bool,
}

impl Crew {
    /// The threads for this work, as the options of `run` ask.
    pub(crate) fn new(run: &Run<'_>, work: Work) -> Self {
        let offload: &[usize] = if work.is_small { &[] } else { run.offload_processors };
        let at_hand = if offload.is_empty() { processors() } else { offload.len() };
        let threads = run.threads.unwrap_or(at_hand).clamp(1, THREADS_MAX);
        let threads = if work.is_small { 1 } else { threads };
        match run.stages {
            None if offload.is_empty() => Self::of_equals(threads),
            _ if work.is_small => Self::of_equals(1),
            stages => Self::of_specialists(stages.unwrap_or(NO_STAGES), threads, offload, work),
        }
    }

    /// Threads that all run every stage.
    #[cfg(test)]
    pub(crate) fn equals(threads: usize) -> Self {
        Self::of_equals(threads)
    }

    fn of_equals(threads: usize) -> Self {
        let member = |number| Member { number, does: [true; 4], processors: None, is_offloaded: false };
        Self { members: (0..threads).map(member).collect() }
    }

    fn of_specialists(stages: Async, threads: usize, offload: &[usize], work: Work) -> Self {
        let has_offload = !offload.is_empty();
        let compresses_apart = (stages.compress || has_offload) && work.compresses;
        let enciphers_apart = stages.cipher || has_offload;
        let (own, other) = split_processors(offload);
        let only = |stage: Stage, is_offloaded: bool| {
            let mut does = [false; 4];
            does[stage as usize] = true;
            let processors = if is_offloaded { other } else { own };
            Member { number: 0, does, processors, is_offloaded }
        };
        let caller_does = [!stages.io, !compresses_apart, !enciphers_apart, !stages.io];
        let mut members = vec![Member { number: 0, does: caller_does, processors: own, is_offloaded: false }];
        if stages.io {
            members.push(only(Stage::Read, false));
            members.push(only(Stage::Write, false));
        }
        let count = |in_parallel: bool| if in_parallel { threads } else { 1 };
        if compresses_apart {
            let threads = count(work.compresses_in_parallel);
            members.extend((0..threads).map(|_| only(Stage::Compress, has_offload)));
        }
        if enciphers_apart {
            let threads = count(work.enciphers_in_parallel);
            members.extend((0..threads).map(|_| only(Stage::Cipher, has_offload)));
        }
        if caller_does == [false; 4] {
            members.remove(0);
        }
        (0..).zip(&mut members).for_each(|(number, member)| member.number = number);
        Self { members }
    }

    /// The threads, the caller's first.
    pub(crate) fn members(&self) -> &[Member] {
        &self.members
    }

    /// How many blocks keep all threads at work.
    pub(crate) fn blocks(&self) -> usize {
        if self.members.len() == 1 { 1 } else { self.members.len() + BLOCKS_WAITING }
    }
}

impl Member {
    /// The member's number in the crew, from 0.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// Whether this member runs the stage.
    pub(crate) fn does(&self, stage: Stage) -> bool {
        self.does[stage as usize]
    }

    /// Whether the member runs on processors that work is offloaded to.
    pub(crate) fn is_offloaded(&self) -> bool {
        self.is_offloaded
    }

    /// Moves the calling thread to the member's processors; returns the thread's former ones. A thread that may not
    /// move stays where it is.
    pub(crate) fn settle(&self) -> Option<CpuSet> {
        let processors = self.processors.as_ref()?;
        let before = sched_getaffinity(None).ok()?;
        sched_setaffinity(None, processors).ok()?;
        Some(before)
    }

    /// Moves the calling thread back to its former processors.
    pub(crate) fn unsettle(&self, before: Option<CpuSet>) {
        if let Some(before) = before {
            // If this fails, the processors have gone away; the thread then runs on the remaining ones.
            sched_setaffinity(None, &before).ok();
        }
    }
}

const NO_STAGES: Async = Async { io: false, compress: false, cipher: false };

/// The processors for the caller's own stages, and those for the offloaded stages; `None` leaves a thread where it is.
fn split_processors(offload: &[usize]) -> (Option<CpuSet>, Option<CpuSet>) {
    if offload.is_empty() {
        return (None, None);
    }
    let mut other = CpuSet::new();
    let in_range = offload.iter().filter(|&&processor| processor < CpuSet::MAX_CPU);
    in_range.for_each(|&processor| other.set(processor));
    let own = sched_getaffinity(None).ok().and_then(|mut own| {
        offload.iter().filter(|&&processor| processor < CpuSet::MAX_CPU).for_each(|&one| own.unset(one));
        (own.count() > 0).then_some(own)
    });
    (own, Some(other))
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get)
}
