//! Blocks go through stages: in order where a stage carries something from block to block, in any order elsewhere.
//!
//! A flow is a line of stages with a fixed number of blocks, or two such lines with a [`Work::Between`] where one piece
//! of input may become many pieces of output (inflate). Every thread of the crew takes whichever block is ready for a stage
//! that the thread does, the stage that holds up all others first, then the one nearest to the end: so a block mostly
//! stays with one thread, in its cache, from stage to stage, and no stage idles while there is work for it.
//!
//! ```text
//!   free -> source -> stage -> stage -+-> free          one line
//!
//!   free -> source -> stage -> between +-> free          first line
//!                     free ----^   '-> stage -> stage -+-> free     second line
//! ```
//!
//! Sequential: the source and stages [`Work::InOrder`], [`Work::Between`]. Parallel: [`Work::AnyOrder`].

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::block::Block;
use crate::crew::{Crew, Member};
use crate::error::Error;
use crate::summary::Stage;
use crate::times::Times;

/// What a stage does with a block.
pub(crate) enum Work<'a> {
    /// One block at a time, in the order of the stream.
    InOrder(Mutex<InOrder<'a>>),
    /// Many blocks side by side.
    AnyOrder(AnyOrder<'a>),
    /// From the blocks of the first line to those of the second.
    Between(Mutex<Between<'a>>),
}

/// See [`Work::InOrder`].
pub(crate) type InOrder<'a> = Box<dyn FnMut(&mut Block) -> Result<(), Error> + Send + 'a>;
/// See [`Work::AnyOrder`].
pub(crate) type AnyOrder<'a> = Box<dyn Fn(&mut Block) -> Result<(), Error> + Send + Sync + 'a>;
/// Takes from the first block, fills the second.
pub(crate) type Between<'a> = Box<dyn FnMut(&mut Block, &mut Block) -> Result<Passed, Error> + Send + 'a>;

/// What a [`Work::Between`] did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Passed {
    /// The input block is used up.
    pub(crate) is_input_used: bool,
    /// The output block goes on.
    pub(crate) is_output_ready: bool,
}

/// A stage.
pub(crate) struct Step<'a> {
    stage: Stage,
    work: Work<'a>,
    /// Whether its own time bounds the flow's: it goes before all others.
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

/// Stages and the memory that goes through them.
pub(crate) struct Flow<'a> {
    /// The first is the source, in order: called with an empty block each time, it marks the last one.
    pub(crate) steps: Vec<Step<'a>>,
    /// Length in bytes of the memory of blocks.
    pub(crate) block_bytes: usize,
    /// Length in bytes of the memory of the second line's blocks.
    pub(crate) second_block_bytes: usize,
}

impl Flow<'_> {
    /// Runs until the last block left the last stage, or one stage failed.
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

/// What the threads share.
struct Floor<'f, 'a> {
    flow: &'f Flow<'a>,
    /// Stages, most urgent first.
    order: Vec<usize>,
    /// The stage between the lines.
    border: Option<usize>,
    times: &'f Times,
    interrupted: Option<&'f AtomicBool>,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    lines: [Line; 2],
    places: Vec<Place>,
    failed: Option<Error>,
    is_done: bool,
    idle: usize,
}

/// Blocks of a line.
#[derive(Default)]
struct Line {
    free: Vec<Block>,
    made: u64,
    finished: u64,
    total: Option<u64>,
}

/// Before a stage.
#[derive(Default)]
struct Place {
    waiting: BTreeMap<u64, Block>,
    next: u64,
    is_busy: bool,
    /// What a [`Work::Between`] has not used up.
    rest: Option<Block>,
}

struct Task {
    step: usize,
    block: Block,
    /// Where the work is [`Work::Between`].
    output: Option<Block>,
}

impl<'f, 'a> Floor<'f, 'a> {
    fn new(flow: &'f Flow<'a>, crew: &Crew, times: &'f Times, interrupted: Option<&'f AtomicBool>) -> Self {
        let mut order: Vec<usize> = (0..flow.steps.len()).rev().collect();
        order.sort_by_key(|&step| !flow.steps[step].is_bottleneck);
        let border = flow.steps.iter().position(|step| matches!(step.work, Work::Between(_)));
        let block_bytes = flow.block_bytes + flow.second_block_bytes;
        let blocks = crew.blocks().min((MEMORY_BYTES_MAX / block_bytes.max(1)).max(1));
        let line = |count: usize, bytes: usize| Line {
            free: (0..count).map(|_| Block::new(bytes)).collect(),
            ..Line::default()
        };
        let first = line(blocks, flow.block_bytes);
        let second = border.map_or_else(Line::default, |_| line(blocks, flow.second_block_bytes));
        let state = State {
            lines: [first, second],
            places: flow.steps.iter().map(|_| Place::default()).collect(),
            failed: None,
            is_done: false,
            idle: 0,
        };
        Self { flow, order, border, times, interrupted, state: Mutex::new(state), changed: Condvar::new() }
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
        // One look at the clock between two tasks: what choosing costs goes to the next one.
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
                // What this member handed on and may not do itself is another's; once only, or idle members would
                // wake one another for ever.
                if std::mem::take(&mut has_performed) && state.idle > 0 && self.has_ready(&state) {
                    self.changed.notify_all();
                }
                state.idle += 1;
                let woken = self.changed.wait_timeout(state, INTERRUPTION_LOOKED_AT_EVERY);
                state = woken.unwrap_or_else(PoisonError::into_inner).0;
                state.idle -= 1;
                continue;
            };
            if state.idle > 0 && self.has_ready(&state) {
                self.changed.notify_all();
            }
            drop(state);
            let (task, result) = self.perform(task);
            has_performed = true;
            let stage = self.flow.steps[task.step].stage;
            clock = self.times.stop(clock, stage, member.is_offloaded());
            state = self.lock();
            match result {
                Ok(passed) => self.hand_on(&mut state, task, passed),
                Err(error) => {
                    state.failed.get_or_insert(error);
                }
            }
        }
    }

    fn perform(&self, mut task: Task) -> (Task, Result<Passed, Error>) {
        let step = &self.flow.steps[task.step];
        let result = match (&step.work, &mut task.output) {
            (Work::InOrder(work), _) => {
                let mut work = work.lock().unwrap_or_else(PoisonError::into_inner);
                work(&mut task.block).map(|()| Passed::default())
            }
            (Work::AnyOrder(work), _) => work(&mut task.block).map(|()| Passed::default()),
            (Work::Between(work), Some(output)) => {
                let mut work = work.lock().unwrap_or_else(PoisonError::into_inner);
                work(&mut task.block, output)
            }
            (Work::Between(_), None) => Ok(Passed::default()),
        };
        (task, result)
    }

    /// Whether any stage has what it needs.
    fn has_ready(&self, state: &State) -> bool {
        self.order.iter().any(|&step| self.is_ready(state, step))
    }

    /// Whether a stage has what it needs.
    fn is_ready(&self, state: &State, step: usize) -> bool {
        let place = &state.places[step];
        match &self.flow.steps[step].work {
            Work::InOrder(_) if step == 0 => {
                !place.is_busy && state.lines[0].total.is_none() && !state.lines[0].free.is_empty()
            }
            Work::InOrder(_) => !place.is_busy && place.waiting.contains_key(&place.next),
            Work::AnyOrder(_) => !place.waiting.is_empty(),
            Work::Between(_) => {
                !place.is_busy
                    && (place.rest.is_some() || place.waiting.contains_key(&place.next))
                    && !state.lines[1].free.is_empty()
            }
        }
    }

    fn pick(&self, state: &mut State, member: &Member) -> Option<Task> {
        let does = |step: &usize| member.does(self.flow.steps[*step].stage);
        let step = *self.order.iter().filter(|step| does(step)).find(|&&step| self.is_ready(state, step))?;
        let work = &self.flow.steps[step].work;
        state.places[step].is_busy = !matches!(work, Work::AnyOrder(_));
        if step == 0 {
            let line = &mut state.lines[0];
            let mut block = line.free.pop()?;
            block.clear();
            block.index = line.made;
            line.made += 1;
            return Some(Task { step, block, output: None });
        }
        let place = &mut state.places[step];
        let block = match work {
            Work::AnyOrder(_) => place.waiting.pop_first()?.1,
            Work::InOrder(_) => place.waiting.remove(&place.next)?,
            Work::Between(_) => place.rest.take().map_or_else(|| place.waiting.remove(&place.next), Some)?,
        };
        let output = match work {
            Work::Between(_) => {
                let mut output = state.lines[1].free.pop()?;
                output.clear();
                Some(output)
            }
            _ => None,
        };
        Some(Task { step, block, output })
    }

    /// Puts the blocks of a task that was done where they go next.
    fn hand_on(&self, state: &mut State, task: Task, passed: Passed) {
        let Task { step, block, output } = task;
        state.places[step].is_busy = false;
        if let Some(output) = output {
            self.hand_over(state, step, (block, output), passed);
            return;
        }
        if step == 0 && block.is_last {
            state.lines[0].total = Some(block.index + 1);
        }
        if step > 0 && matches!(self.flow.steps[step].work, Work::InOrder(_)) {
            state.places[step].next += 1;
        }
        self.go_on(state, step, block);
    }

    fn hand_over(&self, state: &mut State, step: usize, blocks: (Block, Block), passed: Passed) {
        let (input, mut output) = blocks;
        if passed.is_input_used {
            state.places[step].next += 1;
            state.lines[0].finished += 1;
            state.lines[0].free.push(input);
        } else {
            state.places[step].rest = Some(input);
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
            state.places[step + 1].waiting.insert(block.index, block);
            return;
        }
        let line = &mut state.lines[usize::from(self.border.is_some())];
        line.finished += 1;
        line.free.push(block);
        state.is_done = line.total == Some(line.finished);
    }
}

/// A thread that panics does not leave the others waiting.
struct Alarm<'r, 'f, 'a>(&'r Floor<'f, 'a>);

impl Drop for Alarm<'_, '_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail(Error::Interrupted);
        }
    }
}

/// Memory of all blocks, as they begin; what is made of a piece takes as much again at most.
const MEMORY_BYTES_MAX: usize = 16 << 20;
/// Whoever waits for work looks this often whether a signal came.
const INTERRUPTION_LOOKED_AT_EVERY: Duration = Duration::from_millis(100);
