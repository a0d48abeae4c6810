//! Blocks pass through stages: in order if a stage carries state from block to block, in any order otherwise.
//!
//! A flow is a line of stages with a fixed number of blocks. Or it is two such lines with a [`Work::Between`] that may
//! make many pieces of output from one piece of input (inflate). Every thread takes a block that is ready for one of
//! the thread's stages. The bottleneck stage comes first, then the stage nearest to the end. So a block mostly stays
//! with one thread, in its cache, from stage to stage, and no stage idles while there is work for it. The bottleneck
//! stage stays with one thread as long as that is awake.
//!
//! ```text
//!   free -> source -> stage -> stage -+-> free          one line
//!
//!   free -> source -> stage -> between +-> free          first line
//!                     free ----^   '-> stage -> stage -+-> free     second line
//! ```
//!
//! Sequential: the source and stages [`Work::InOrder`], [`Work::Between`]. Parallel: [`Work::AnyOrder`].

use crate::block::Block;
use crate::crew::{Crew, Member};
use crate::error::Error;
use crate::summary::Stage;
use crate::times::Times;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The way in which a stage works on blocks.
pub(crate) enum Work<'a> {
    /// One block at a time, in the order of the stream.
    InOrder(Mutex<InOrder<'a>>),
    /// Many blocks in parallel, in any order.
    AnyOrder(AnyOrder<'a>),
    /// From blocks of the first line to blocks of the second.
    Between(Mutex<Between<'a>>),
    /// The source, if a block's contents can be planned without reading. `plan` does so in the order of the stream and
    /// takes hardly any time; then many blocks are filled in parallel.
    Planned { plan: Mutex<InOrder<'a>>, fill: AnyOrder<'a> },
}

/// The function of [`Work::InOrder`].
pub(crate) type InOrder<'a> = Box<dyn FnMut(&mut Block) -> Result<(), Error> + Send + 'a>;
/// The function of [`Work::AnyOrder`].
pub(crate) type AnyOrder<'a> = Box<dyn Fn(&mut Block) -> Result<(), Error> + Send + Sync + 'a>;
/// The function of [`Work::Between`]: takes from the first block and fills the second.
pub(crate) type Between<'a> = Box<dyn FnMut(&mut Block, &mut Block) -> Result<Passed, Error> + Send + 'a>;

/// The result of one call of a [`Work::Between`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Passed {
    /// The input block is used up.
    pub(crate) is_input_used: bool,
    /// The output block can go on to the next stage.
    pub(crate) is_output_ready: bool,
    /// The output was inflated, which takes longer than all other stages.
    pub(crate) is_inflated: bool,
}

/// A stage with its work.
pub(crate) struct Step<'a> {
    stage: Stage,
    work: Work<'a>,
    /// Whether the stage is the flow's bottleneck, which has priority over all others.
    is_bottleneck: bool,
}

impl<'a> Step<'a> {
    pub(crate) fn in_order(
        stage: Stage,
        work: impl FnMut(&mut Block) -> Result<(), Error> + Send + 'a,
    ) -> Self {
        Self { stage, work: Work::InOrder(Mutex::new(Box::new(work))), is_bottleneck: false }
    }

    pub(crate) fn any_order(
        stage: Stage,
        work: impl Fn(&mut Block) -> Result<(), Error> + Send + Sync + 'a,
    ) -> Self {
        Self { stage, work: Work::AnyOrder(Box::new(work)), is_bottleneck: false }
    }

    pub(crate) fn planned(
        stage: Stage,
        plan: impl FnMut(&mut Block) -> Result<(), Error> + Send + 'a,
        fill: impl Fn(&mut Block) -> Result<(), Error> + Send + Sync + 'a,
    ) -> Self {
        let work = Work::Planned { plan: Mutex::new(Box::new(plan)), fill: Box::new(fill) };
        Self { stage, work, is_bottleneck: false }
    }

    pub(crate) fn between(
        stage: Stage,
        work: impl FnMut(&mut Block, &mut Block) -> Result<Passed, Error> + Send + 'a,
    ) -> Self {
        Self { stage, work: Work::Between(Mutex::new(Box::new(work))), is_bottleneck: false }
    }

    pub(crate) fn bottleneck(mut self) -> Self {
        self.is_bottleneck = true;
        self
    }
}

/// The stages of a flow, and the length of its blocks.
pub(crate) struct Flow<'a> {
    /// The stages in order. The first one is the source: it gets an empty block each time, and marks the last one.
    pub(crate) steps: Vec<Step<'a>>,
    /// Length of a block's memory in bytes.
    pub(crate) block_bytes: usize,
    /// Length of the memory of the second line's blocks in bytes, which is taken when it is needed.
    pub(crate) second_block_bytes: usize,
}

impl Flow<'_> {
    /// Runs until the last block has left the last stage, or until a stage fails.
    pub(crate) fn run(
        self,
        crew: &Crew,
        times: &Times,
        interrupted: Option<&AtomicBool>,
    ) -> Result<(), Error> {
        let floor = Floor::new(&self, crew, times, interrupted);
        std::thread::scope(|scope| {
            for member in &crew.members()[1..] {
                let floor = &floor;
                std::thread::Builder::new()
                    .name("cryptand-worker".to_owned())
                    .spawn_scoped(scope, move || {
                        member.settle();
                        floor.work(member);
                    })
                    .map_err(|cause| floor.fail(no_thread(cause)))
                    .ok();
            }
            let was_settled = crew.members()[0].settle();
            floor.work(&crew.members()[0]);
            crew.members()[0].unsettle(was_settled);
        });
        let state = floor.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.failed.map_or(Ok(()), Err)
    }
}

fn no_thread(cause: std::io::Error) -> Error {
    Error::request(format!("no thread could be started: {cause}; ask for fewer"))
}

/// State that the threads share.
struct Floor<'f, 'a> {
    flow: &'f Flow<'a>,
    /// Place of the stage between the two lines.
    border: Option<usize>,
    /// Whether a stage has priority over all others.
    has_bottleneck: bool,
    times: &'f Times,
    interrupted: Option<&'f AtomicBool>,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    lines: [Line; 2],
    queues: Vec<StageQueue>,
    failed: Option<Error>,
    is_done: bool,
    idle: usize,
    /// For each member, the bottleneck stage that it had last.
    held: Vec<Option<usize>>,
}

/// The blocks of a line, and how many were made and finished.
#[derive(Default)]
struct Line {
    free: Vec<Block>,
    made: u64,
    finished: u64,
    total: Option<u64>,
}

impl Line {
    /// An empty block: the one that this member filled last, since its memory is in the member's cache. Without such a
    /// block, the one that was freed first, which is in nobody's cache.
    fn take(&mut self, member: &Member) -> Option<Block> {
        let free = self.free.iter().enumerate();
        let own = free.filter(|(_, block)| block.owner == member.number());
        let own = own.max_by_key(|(_, block)| block.index).map(|(at, _)| at);
        let mut block = match own {
            Some(at) => self.free.remove(at),
            None if self.free.is_empty() => return None,
            None => self.free.remove(0),
        };
        block.owner = member.number();
        Some(block)
    }
}

/// The blocks that wait before a stage.
#[derive(Default)]
struct StageQueue {
    waiting: BTreeMap<u64, Block>,
    next: u64,
    is_busy: bool,
    /// An input block that a [`Work::Between`] has not used up.
    rest: Option<Block>,
    /// Whether a [`Work::Between`] inflates, according to its last call.
    inflates: bool,
}

struct Task {
    step: usize,
    block: Block,
    /// The output block, if the work is [`Work::Between`].
    output: Option<Block>,
}

impl<'f, 'a> Floor<'f, 'a> {
    fn new(flow: &'f Flow<'a>, crew: &Crew, times: &'f Times, interrupted: Option<&'f AtomicBool>) -> Self {
        let border = flow.steps.iter().position(|step| matches!(step.work, Work::Between(_)));
        let line = |count: usize, bytes: usize| Line {
            free: (0..count).map(|_| Block::new(bytes)).collect(),
            ..Line::default()
        };
        let fit = |memory_bytes: usize, bytes: usize| (memory_bytes / bytes.max(1)).max(1);
        // Stages behind the border work in order, so more blocks would only wait there.
        let seconds =
            crew.blocks().min(SECOND_BLOCKS_MAX).min(fit(MEMORY_BYTES_MAX, flow.second_block_bytes));
        let seconds = if border.is_some() { seconds } else { 0 };
        let left_bytes = MEMORY_BYTES_MAX.saturating_sub(seconds * flow.second_block_bytes);
        let first = line(crew.blocks().min(fit(left_bytes, flow.block_bytes)), flow.block_bytes);
        let second = line(seconds, 0);
        let state = State {
            lines: [first, second],
            queues: flow.steps.iter().map(|_| StageQueue::default()).collect(),
            failed: None,
            is_done: false,
            idle: 0,
            held: vec![None; crew.members().len()],
        };
        let has_bottleneck = flow.steps.iter().any(|step| step.is_bottleneck);
        let (state, changed) = (Mutex::new(state), Condvar::new());
        Self { flow, border, has_bottleneck, times, interrupted, state, changed }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, error: Error) {
        let mut state = self.lock();
        state.failed.get_or_insert(error);
        self.changed.notify_all();
    }

    fn work(&self, member: &Member) {
        let _alarm = Alarm(self);
        let mut state = self.lock();
        // The clock is read once between two tasks, so the time of choosing a task counts for the next one.
        let mut clock = self.times.start();
        let mut has_performed = false;
        loop {
            if self.interrupted.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
                state.failed.get_or_insert(Error::Interrupted);
            }
            if state.failed.is_some() || state.is_done {
                self.changed.notify_all();
                return;
            }
            let Some(task) = self.pick(&mut state, member) else {
                if state.failed.is_some() {
                    continue;
                }
                // Work that this member handed on and may not do itself is for another member. Idle members are woken
                // for it only once; otherwise they would wake each other for ever.
                if std::mem::take(&mut has_performed) && state.idle > 0 && self.has_ready(&state) {
                    self.changed.notify_all();
                }
                state.idle += 1;
                let woken = self.changed.wait_timeout(state, INTERRUPTION_LOOKED_AT_EVERY);
                state = woken.unwrap_or_else(PoisonError::into_inner).0;
                state.idle -= 1;
                continue;
            };
            if state.idle > 0 && self.is_worth_waking(&state, member) {
                self.changed.notify_all();
            }
            drop(state);
            let (task, result) = self.perform_all(task, member, &mut clock);
            has_performed = true;
            state = self.lock();
            match result {
                Ok(passed) => self.hand_on(&mut state, task, passed),
                Err(error) => {
                    state.failed.get_or_insert(error);
                }
            }
        }
    }

    /// Performs a task, and the stages that may follow it at once: the block stays in the cache, and the shared state
    /// is not locked.
    fn perform_all(&self, mut task: Task, member: &Member, clock: &mut u64) -> (Task, Result<Passed, Error>) {
        loop {
            let result = self.perform(&mut task);
            let stage = self.flow.steps[task.step].stage;
            *clock = self.times.stop(*clock, stage, member.is_offloaded());
            if result.is_err() || !self.may_follow(task.step, member) {
                return (task, result);
            }
            task.step += 1;
        }
    }

    /// Whether the same thread may go on with the block to the next stage at once, whatever other blocks wait for.
    fn may_follow(&self, step: usize, member: &Member) -> bool {
        let is_free = |step: &Step<'_>| matches!(step.work, Work::AnyOrder(_) | Work::Planned { .. });
        let next = self.flow.steps.get(step + 1).filter(|next| is_free(next) && member.does(next.stage));
        !self.has_bottleneck && is_free(&self.flow.steps[step]) && next.is_some()
    }

    fn perform(&self, task: &mut Task) -> Result<Passed, Error> {
        let step = &self.flow.steps[task.step];
        match (&step.work, &mut task.output) {
            (Work::InOrder(work), _) => {
                let mut work = work.lock().unwrap_or_else(PoisonError::into_inner);
                work(&mut task.block).map(|()| Passed::default())
            }
            (Work::AnyOrder(work) | Work::Planned { fill: work, .. }, _) => {
                work(&mut task.block).map(|()| Passed::default())
            }
            (Work::Between(work), Some(output)) => {
                let mut work = work.lock().unwrap_or_else(PoisonError::into_inner);
                work(&mut task.block, output)
            }
            (Work::Between(_), None) => Ok(Passed::default()),
        }
    }

    /// Whether any stage can work now.
    fn has_ready(&self, state: &State) -> bool {
        (0..self.flow.steps.len()).any(|step| self.is_ready(state, step))
    }

    /// Whether there is work for a sleeping thread. Work that this thread will do next itself counts only if there is
    /// enough of it. Waking a thread and letting it sleep again costs as much as enciphering some ten kilobytes.
    fn is_worth_waking(&self, state: &State, member: &Member) -> bool {
        (0..self.flow.steps.len()).any(|step| {
            let is_anothers = !member.does(self.flow.steps[step].stage) || self.is_bottleneck(state, step);
            self.is_ready(state, step) && (is_anothers || self.ready_blocks(state, step) >= WOKEN_FOR_BLOCKS)
        })
    }

    /// Number of blocks that wait for a stage, whether the stage may take them now or not.
    fn ready_blocks(&self, state: &State, step: usize) -> usize {
        if step == 0 { state.lines[0].free.len() } else { state.queues[step].waiting.len() }
    }

    /// Whether a stage can work now: it has a block, is not busy, and has room for its output.
    fn is_ready(&self, state: &State, step: usize) -> bool {
        let queue = &state.queues[step];
        match &self.flow.steps[step].work {
            Work::InOrder(_) | Work::Planned { .. } if step == 0 => {
                !queue.is_busy && state.lines[0].total.is_none() && !state.lines[0].free.is_empty()
            }
            Work::Planned { .. } => false,
            Work::InOrder(_) => !queue.is_busy && queue.waiting.contains_key(&queue.next),
            Work::AnyOrder(_) => !queue.waiting.is_empty(),
            Work::Between(_) => {
                !queue.is_busy
                    && (queue.rest.is_some() || queue.waiting.contains_key(&queue.next))
                    && !state.lines[1].free.is_empty()
            }
        }
    }

    /// The stage that a member turns to. This is the bottleneck that the member holds, else a bottleneck that nobody
    /// holds, else the ready stage nearest to the end, else another member's bottleneck. A member that holds a
    /// bottleneck keeps that stage's state in its cache. It leaves the rest to others, which keep in their caches what
    /// belongs to it, for example the pages of a file.
    fn choose(&self, state: &State, member: &Member) -> Option<usize> {
        let can = |&step: &usize| member.does(self.flow.steps[step].stage) && self.is_ready(state, step);
        let own = state.held[member.number()].filter(can);
        if own.is_some() {
            return own;
        }
        let steps = || (0..self.flow.steps.len()).rev().filter(can);
        let is_bottleneck = |step: &usize| self.is_bottleneck(state, *step);
        let free = |step: &usize| is_bottleneck(step) && !state.held.contains(&Some(*step));
        let mut chosen = steps().find(free);
        chosen = chosen.or_else(|| steps().find(|step| !is_bottleneck(step)));
        chosen.or_else(|| steps().next())
    }

    /// Whether a stage holds up all others, as far as is known.
    fn is_bottleneck(&self, state: &State, step: usize) -> bool {
        self.flow.steps[step].is_bottleneck || state.queues[step].inflates
    }

    fn pick(&self, state: &mut State, member: &Member) -> Option<Task> {
        let step = self.choose(state, member)?;
        if self.is_bottleneck(state, step) {
            state.held.iter_mut().filter(|held| **held == Some(step)).for_each(|held| *held = None);
            state.held[member.number()] = Some(step);
        }
        let work = &self.flow.steps[step].work;
        if step == 0 {
            return self.begin(state, work, member);
        }
        state.queues[step].is_busy = !matches!(work, Work::AnyOrder(_));
        let queue = &mut state.queues[step];
        let block = match work {
            Work::AnyOrder(_) => queue.waiting.pop_first()?.1,
            Work::InOrder(_) | Work::Planned { .. } => queue.waiting.remove(&queue.next)?,
            Work::Between(_) => queue.rest.take().map_or_else(|| queue.waiting.remove(&queue.next), Some)?,
        };
        let output = match work {
            Work::Between(_) => {
                let mut output = state.lines[1].take(member)?;
                output.clear();
                Some(output)
            }
            _ => None,
        };
        Some(Task { step, block, output })
    }

    /// A task for the source, with an empty block; `None` if there is no block, or if planning failed.
    fn begin(&self, state: &mut State, work: &Work<'_>, member: &Member) -> Option<Task> {
        let line = &mut state.lines[0];
        let mut block = line.take(member)?;
        block.clear();
        block.index = line.made;
        line.made += 1;
        if let Work::Planned { plan, .. } = work {
            let planned = plan.lock().unwrap_or_else(PoisonError::into_inner)(&mut block);
            if let Err(error) = planned {
                state.failed.get_or_insert(error);
                return None;
            }
            line.total = block.is_last.then_some(line.made);
        } else {
            state.queues[0].is_busy = true;
        }
        Some(Task { step: 0, block, output: None })
    }

    /// Puts the blocks of a finished task where they go next.
    fn hand_on(&self, state: &mut State, task: Task, passed: Passed) {
        let Task { step, block, output } = task;
        state.queues[step].is_busy = false;
        if let Some(output) = output {
            self.hand_over(state, step, (block, output), passed);
            return;
        }
        if step == 0 && block.is_last {
            state.lines[0].total = Some(block.index + 1);
        }
        if step > 0 && matches!(self.flow.steps[step].work, Work::InOrder(_)) {
            state.queues[step].next += 1;
        }
        self.go_on(state, step, block);
    }

    fn hand_over(&self, state: &mut State, step: usize, blocks: (Block, Block), passed: Passed) {
        let (input, mut output) = blocks;
        state.queues[step].inflates = passed.is_inflated;
        if passed.is_input_used {
            state.queues[step].next += 1;
            state.lines[0].finished += 1;
            state.lines[0].free.push(input);
        } else {
            state.queues[step].rest = Some(input);
        }
        let line = &mut state.lines[1];
        if !passed.is_output_ready {
            line.free.push(output);
            return;
        }
        output.index = line.made;
        line.made += 1;
        if output.is_last {
            line.total = Some(line.made);
        }
        self.go_on(state, step, output);
    }

    fn go_on(&self, state: &mut State, step: usize, block: Block) {
        if step + 1 < self.flow.steps.len() {
            state.queues[step + 1].waiting.insert(block.index, block);
            return;
        }
        let line = &mut state.lines[usize::from(self.border.is_some())];
        line.finished += 1;
        line.free.push(block);
        state.is_done = line.total == Some(line.finished);
    }
}

/// When dropped by a panic, makes the flow fail, so that other threads do not wait for ever.
struct Alarm<'r, 'f, 'a>(&'r Floor<'f, 'a>);

impl Drop for Alarm<'_, '_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail(Error::Interrupted);
        }
    }
}

/// Bytes of memory of all blocks at the start; pieces made from a block's piece take at most as much again.
const MEMORY_BYTES_MAX: usize = 16 << 20;
/// At most this many blocks in the second line.
const SECOND_BLOCKS_MAX: usize = 6;
/// This many blocks before a stage are worth waking a thread for, although an awake one could take them too.
const WOKEN_FOR_BLOCKS: usize = 2;
/// Interval at which a thread that waits for work looks whether a signal came.
const INTERRUPTION_LOOKED_AT_EVERY: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of blocks, each given by its owner and its number.
    fn line(blocks: &[(usize, u64)]) -> Line {
        let block = |&(owner, index): &(usize, u64)| {
            let mut block = Block::new(1);
            (block.owner, block.index) = (owner, index);
            block
        };
        Line { free: blocks.iter().map(block).collect(), ..Line::default() }
    }

    #[test]
    fn a_thread_takes_the_block_that_it_had_last_and_of_others_the_oldest() {
        let crew = Crew::equals(2);
        let mut line = line(&[(0, 3), (1, 4), (0, 6), (0, 5)]);
        let mut take =
            |member: usize| line.take(&crew.members()[member]).map(|block| (block.owner, block.index));
        assert_eq!(take(1), Some((1, 4)));
        assert_eq!(take(1), Some((1, 3)));
        assert_eq!(take(0), Some((0, 6)));
        assert_eq!((take(0), take(0), take(1)), (Some((0, 5)), None, None));
    }
}
