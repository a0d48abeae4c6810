//! Chained DES over many streams at once: CBC encipherment and CBC-MACs. The blocks of one stream wait for each other,
//! so each stream has a lane.
//!
//! ```text
//! queue, longest first:  a a a a a a|b b b b b|c c c c|d d d|e e|f|g
//! round 1, four lanes:   a b c d     until enough lanes have ended
//! round 2, four lanes:   a b e f     whatever went on keeps its place, the ended ones are refilled
//!
//! first, whole lines:    lane 0  a: line after line, read and written where it lies, as long as every lane has one
//!                        lane 1  b
//!                        ...
//! then steps:            lane 0  [a0 a1 a2 a3 a4 a5 a6 a7]  a piece of at most eight blocks of each
//!                        lane 1  [b0 b1 b2 b3 b4 .  .  . ]  a lane that ends within it takes its
//!                        lane 2  [c0 c1 c2 c3 c4 c5 c6 c7]  chaining value from its own last block;
//!                        ...                                what comes after is thrown away
//! ```
//!
//! 1. Longest first, so that no long stream begins when all others have ended, and neighbours end together.
//! 2. Refilling a lane means setting the keys of all lanes, since the kernels process all of them at once. That costs
//!    about as much as a block of TDES, so it is done when a third of the lanes have ended.
//! 3. While streams wait, a step ends when that third has ended; otherwise it takes whole pieces.
//! 4. The rest of a round continues in a form of fewer lanes as soon as that is cheaper. In a form whose time depends
//!    on the filled lanes, a round ends with that third even if no stream waits.
//! 5. Requests of one length, the common case, need steps only for a last part of a line: one comparison finds the
//!    number of lines that all lanes have, and the kernel takes all of them at once. The same holds for mixed lengths
//!    until the shortest text of a round ends; then blocks are copied to pieces and back, one step at a time.
//! 6. If all streams of a round end in it, as requests of one length do, the last step of X9.19 runs at once under the
//!    keys that are set. For other streams it runs in one pass at the end.
//!
//! `docs/understand/engine.md`, *Streams where they lie*, shows how the time is spent.
//!
//! Dropped: a step per block (gathering one block of each stream takes a third of the time); a step as long as the
//! shortest stream (many short steps for mixed lengths); keys, chaining values and the first piece of a lane set up in
//! one loop (4 % slower than three loops); prefetching the next lines of each stream while a piece is processed (2 %
//! for 512 streams that are copied, nothing for those that are not, and nothing for fewer).

use super::forms::{self, Forms, Job, KeyColumns};
use super::{DesKey, Entry, Program};
use crate::low::cpu::Cpu;
use crate::low::des::lines::Lines;
use crate::low::des::{BLOCK_BYTES, Block, Form, PIECE_BLOCKS, Piece, Stage, wipe_pieces};
use crate::low::wipe_bytes;
use std::cmp::Reverse;

/// The streams of a batch, by their index in its table.
pub(crate) trait Streams {
    /// The key of a stream.
    fn key(&self, stream: usize) -> &DesKey;

    /// The place that keeps a stream's chaining value between rounds.
    fn chain(&mut self, stream: usize) -> &mut Block;

    /// The number of whole lines that come next in a stream with `left` blocks left, and to which nothing must be
    /// added.
    fn lines(&self, stream: usize, left: usize) -> usize;

    /// Lends the rest of the queue's texts as whole lines to `work`. The queue has one to `LANES` streams.
    fn lend<const LANES: usize>(&mut self, queue: &[Entry], work: impl LineWork);

    /// Copies the next blocks, at most a piece of the `left` blocks, to the start of `piece`. The rest of the piece
    /// does not matter.
    fn load(&self, stream: usize, left: usize, piece: &mut Piece);

    /// Stores the first `count` blocks, now enciphered. `left` is as for [`Streams::load`].
    fn store(&mut self, stream: usize, left: usize, piece: &Piece, count: usize);
}

/// Work on the texts of streams, which are lent as whole lines.
pub(crate) trait LineWork {
    fn run<L: Lines + ?Sized>(self, lines: &mut L);
}

/// Runs all streams of the queue to their ends; the order of the queue changes.
pub(crate) fn run<S: Streams>(cpu: Cpu, program: Program, streams: &mut S, queue: &mut [Entry]) {
    // Sorting equal lengths changes nothing, and takes one comparison each.
    queue.sort_unstable_by_key(|entry| Reverse(entry.left));
    let mut ended = 0;
    while ended < queue.len() {
        let waiting = &mut queue[ended..];
        let lanes = waiting.len();
        ended += forms::in_fitting_form(cpu, lanes, Round { cpu, program, streams, waiting });
    }
    let late = to_front(queue, |entry| entry.wants_last_step);
    let mut late = &queue[..late];
    while !late.is_empty() {
        let done = forms::in_fitting_form(cpu, late.len(), LastSteps { streams, late });
        late = &late[done..];
    }
}

/// Runs streams in one form until lanes must be refilled. The output is the number of streams that ended, which are
/// then at the front of `waiting`.
struct Round<'r, S> {
    cpu: Cpu,
    program: Program,
    streams: &'r mut S,
    waiting: &'r mut [Entry],
}

impl<S: Streams> Job for Round<'_, S> {
    type Output = usize;

    fn run<F: Form, const LANES: usize>(self, token: F::Token) -> usize {
        const { assert!(F::LANES == LANES) }
        let Round { cpu, program, streams, waiting } = self;
        let refills = waiting.len() > LANES || Forms::of(cpu).is_by_lane(LANES);
        let lanes = waiting.len().min(LANES);
        let queue = &mut waiting[..lanes];
        let lanes_min = Forms::of(cpu).lanes_min(LANES);
        let ends_wanted = lanes.div_ceil(REFILL_SHARE);
        let has_last_step = queue.iter().any(|entry| entry.wants_last_step);

        let mut keys = F::empty_keys(token);
        let key_parts = if has_last_step { Program::RETAIL.key_parts } else { program.key_parts };
        let mut chains = begin::<F, S, LANES>(token, &mut keys, key_parts, streams, queue);
        // The last chaining value of each lane that has ended, since `chains` continues with meaningless values.
        let mut ends = chains;
        let mut ended = queue.iter().filter(|entry| entry.left == 0).count();
        if ended == 0 {
            ended = take_lines::<F, S, LANES>(token, &keys, program, streams, queue, &mut chains);
            ends = chains;
        }
        let goes_on =
            |ended| ended < lanes && (ended < ends_wanted || !refills) && lanes - ended >= lanes_min;
        if goes_on(ended) {
            let mut pieces = [Piece([[0; BLOCK_BYTES]; PIECE_BLOCKS]); LANES];
            while goes_on(ended) {
                let count = if refills { step_to_refill(queue, ends_wanted) } else { longest_step(queue) };
                for (piece, entry) in pieces.iter_mut().zip(&*queue) {
                    if entry.left > 0 {
                        streams.load(entry.item as usize, entry.left, piece);
                    }
                }
                let (chains, pieces) = (&mut chains[..lanes], &mut pieces[..lanes]);
                F::cbc_encipher(token, &keys, program.stages, chains, pieces, count);
                ended += take_step(streams, queue, pieces, chains, &mut ends, count);
            }
            wipe_pieces(&mut pieces[..lanes]);
        }
        if has_last_step && ended == lanes {
            // Computed in `chains`, which is no longer needed: every lane has ended.
            chains = ends;
            F::blocks(token, &keys, Program::RETAIL.stages, &mut chains[..lanes]);
            for ((end, last), entry) in ends.iter_mut().zip(&chains).zip(&mut *queue) {
                if entry.wants_last_step {
                    *end = *last;
                    entry.wants_last_step = false;
                }
            }
        }
        for ((entry, chain), end) in queue.iter().zip(&chains).zip(&ends) {
            *streams.chain(entry.item as usize) = if entry.left > 0 { *chain } else { *end };
        }
        wipe_bytes(chains[..lanes].as_flattened_mut());
        wipe_bytes(ends[..lanes].as_flattened_mut());
        if ended == lanes { lanes } else { to_front(queue, |entry| entry.left == 0) }
    }
}

/// Advances every lane by the whole lines that all of them have. Returns how many streams ended; none may have ended
/// before.
#[inline]
fn take_lines<F: Form, S: Streams, const LANES: usize>(
    token: F::Token,
    keys: &F::Keys,
    program: Program,
    streams: &mut S,
    queue: &mut [Entry],
    chains: &mut [Block; LANES],
) -> usize {
    let lines = |entry: &Entry| streams.lines(entry.item as usize, entry.left);
    let pieces = queue.iter().fold(usize::MAX, |fewest, entry| fewest.min(lines(entry)));
    if pieces == 0 {
        return 0;
    }
    let chains = &mut chains[..queue.len()];
    streams.lend::<LANES>(queue, Pieces::<F> { token, keys, stages: program.stages, chains, pieces });
    let mut ended = 0;
    for entry in queue {
        entry.left -= pieces * PIECE_BLOCKS;
        ended += usize::from(entry.left == 0);
    }
    ended
}

/// CBC over this many pieces of each lane.
struct Pieces<'r, F: Form> {
    token: F::Token,
    keys: &'r F::Keys,
    stages: &'static [Stage],
    chains: &'r mut [Block],
    pieces: usize,
}

impl<F: Form> LineWork for Pieces<'_, F> {
    fn run<L: Lines + ?Sized>(self, lines: &mut L) {
        F::cbc_lines(self.token, self.keys, self.stages, self.chains, lines, self.pieces);
    }
}

/// The last step of X9.19 for streams that ended at different times. The output is the number of streams done.
struct LastSteps<'r, S> {
    streams: &'r mut S,
    late: &'r [Entry],
}

impl<S: Streams> Job for LastSteps<'_, S> {
    type Output = usize;

    fn run<F: Form, const LANES: usize>(self, token: F::Token) -> usize {
        let LastSteps { streams, late } = self;
        let late = &late[..late.len().min(LANES)];
        let mut keys = F::empty_keys(token);
        let Program { stages, key_parts } = Program::RETAIL;
        let mut chains = begin::<F, S, LANES>(token, &mut keys, key_parts, streams, late);
        F::blocks(token, &keys, stages, &mut chains[..late.len()]);
        for (entry, chain) in late.iter().zip(&chains) {
            *streams.chain(entry.item as usize) = *chain;
        }
        wipe_bytes(chains[..late.len()].as_flattened_mut());
        late.len()
    }
}

/// Sets the keys of the streams, and returns their chaining values.
#[inline]
fn begin<F: Form, S: Streams, const LANES: usize>(
    token: F::Token,
    keys: &mut F::Keys,
    key_parts: usize,
    streams: &mut S,
    queue: &[Entry],
) -> [Block; LANES] {
    let mut columns = KeyColumns::<LANES>::new();
    let mut chains = [[0; BLOCK_BYTES]; LANES];
    for (chain, entry) in chains.iter_mut().zip(queue) {
        let stream = entry.item as usize;
        columns.push(streams.key(stream));
        *chain = *streams.chain(stream);
    }
    columns.set::<F>(token, keys, key_parts);
    chains
}

/// The number of blocks in the next step if no stream waits.
fn longest_step(queue: &[Entry]) -> usize {
    queue.iter().fold(0, |longest, entry| longest.max(entry.left)).min(PIECE_BLOCKS)
}

/// The number of blocks in the next step if streams wait: until `ends_wanted` lanes have ended since the round began,
/// but at most a piece.
fn step_to_refill(queue: &[Entry], ends_wanted: usize) -> usize {
    let mut ends = [0; PIECE_BLOCKS + 1];
    for entry in queue {
        ends[entry.left.min(PIECE_BLOCKS)] += 1;
    }
    let mut ended = ends[0];
    for (count, ends) in ends.iter().enumerate().take(PIECE_BLOCKS).skip(1) {
        ended += ends;
        if ended >= ends_wanted {
            return count;
        }
    }
    PIECE_BLOCKS
}

/// Stores the step's blocks and advances every lane; returns how many streams ended.
#[inline]
fn take_step<S: Streams>(
    streams: &mut S,
    queue: &mut [Entry],
    pieces: &[Piece],
    chains: &[Block],
    ends: &mut [Block],
    count: usize,
) -> usize {
    let mut ended = 0;
    for (((entry, piece), chain), end) in queue.iter_mut().zip(pieces).zip(chains).zip(ends) {
        if entry.left == 0 {
            continue;
        }
        let taken = entry.left.min(count);
        streams.store(entry.item as usize, entry.left, piece, taken);
        entry.left -= taken;
        if entry.left == 0 {
            *end = if taken == count { *chain } else { piece.0[taken - 1] };
            ended += 1;
        }
    }
    ended
}

/// Moves the wanted entries to the front, and returns their number.
fn to_front(queue: &mut [Entry], is_wanted: impl Fn(&Entry) -> bool) -> usize {
    let mut front = 0;
    for index in 0..queue.len() {
        if is_wanted(&queue[index]) {
            queue.swap(index, front);
            front += 1;
        }
    }
    front
}

/// A round ends while others wait once one in this many of its lanes has ended. Ending it earlier sets keys too often,
/// later leaves lanes idle. Of 2, 3, 4, 6, 8 and 12, over TDES and X9.19 of 1 to 100 blocks, 3 is best or within 5 % of
/// it; 12 is a tenth slower.
const REFILL_SHARE: usize = 3;
