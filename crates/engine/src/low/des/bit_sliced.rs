//! Bit-sliced DES (FIPS 46-3): a word holds the same bit of as many blocks as it has bits.
//!
//! ```text
//!              lane 0   lane 1   lane 2  ...  lane n-1         n = 64, 256 or 512: the bits of a word
//! left[0]      L1       L1       L1           L1               bit numbers of the standard, less one
//! left[1]      L2       L2       L2           L2
//! ...
//! right[31]    R32      R32      R32          R32              64 words: the state of n blocks
//! ```
//!
//! With separate bits, all permutations (IP, E, P, PC1, PC2, the shifts of the key) are only names of words and cost
//! nothing. What remains are the S-boxes as circuits of gates ([`super::circuits_ternary`],
//! [`super::circuits_binary`]), and sums. No table is read, and no branch depends on data.
//!
//! 1. The state stays in memory. 64 words do not fit in 32 registers. But a round reads each word of the right half
//!    once or twice and each of the left once, as operands in memory, and loads do not limit a round.
//! 2. A key is 28 + 28 words, rotated between rounds. Each half is stored twice in a row, so that a rotated half is a
//!    window that starts later. All rounds of both directions run one piece of code, 400 instructions.
//! 3. The halves are not swapped: they change their names after every round.
//! 4. Between the stages of a program FP and the next IP cancel. Both are applied while blocks are loaded and stored,
//!    by the choice of words.
//! 5. The sum with the left half is part of the gate that ends an output of a circuit, if that gate has an input to
//!    spare.
//! 6. One stream runs two passes in turns, a round of each. A round ends with a chain of gates and stores, and loads of
//!    the next round wait for them. The other pass fills that time, a tenth of it.
//! 7. Streams of CBC are transposed, eight blocks of each, so that a row is the same block of some of them. The state
//!    of a MAC is the chaining value, and nothing is stored before the last block. For enciphered streams, chaining
//!    values are added as rows, and the rows must be made.
//! 8. Counters are made in slices: a sum of 64 words with carries instead of a transposition.
//!
//! Bounds: a pass has 64 x [`Word::BLOCKS`] lanes, a state is 64 words, and a schedule [`SCHEDULE`] words. Three
//! schedules of 512 lanes are 21 KiB and two states 8 KiB, which together fit in the first-level cache.
//!
//! Tried and dropped: the loop over rounds in one body with the round, where the compiler keeps the state in registers
//! that it lacks (1.6 times the time). Chaining in slices, onto the state that the block before left: it saves no
//! operation compared with adding rows as they are read, but occupies words that the transposition can use. Copied
//! pieces transposed into a second buffer of 32 KiB instead of in place (1.08 times the time of a pass). Left out:
//! unrolled rounds with the names of rotated key words written into them; sixteen of them are 45 KB, which the cache of
//! decoded instructions cannot hold.

mod macs;

use super::super::{wipe, wipe_bytes};
use super::bit_sliced_round::{SCHEDULE, STARTS};
use super::bit_sliced_words::{Halves, Merge, Rows, Turned, Word, Words};
use super::lines::Lines;
use super::macs::{Macs, Texts};
use super::{BLOCK_BYTES, Block, Form, KEYS_MAX, PIECE_BLOCKS, Piece, Stage, wipe_pieces};
use std::marker::PhantomData;
use std::mem::{self, MaybeUninit};
use std::slice;

/// The bit-sliced form in these words.
pub(crate) struct BitSliced<W>(PhantomData<W>);

/// Schedules for all lanes of a pass. Only schedules that were set are read or wiped.
pub(crate) struct Keys<W: Word> {
    schedules: [[MaybeUninit<W>; SCHEDULE]; KEYS_MAX],
    is_set: [bool; KEYS_MAX],
}

impl<W: Word> Keys<W> {
    fn schedule(&self, index: usize) -> &[W; SCHEDULE] {
        assert!(self.is_set[index], "a program names keys that were set");
        // SAFETY: the flag is raised after `W::schedule` or `W::schedule_of_one`, which write each word of it, as
        // `Word` promises; an array of MaybeUninit<W> has the layout of an array of W.
        unsafe { &*(&raw const self.schedules[index]).cast() }
    }
}

impl<W: Word> Drop for Keys<W> {
    fn drop(&mut self) {
        for (schedule, is_set) in self.schedules.iter_mut().zip(self.is_set) {
            if is_set {
                // SAFETY: any bytes are a valid MaybeUninit; words own nothing, as `Word` promises.
                unsafe { wipe(schedule) }
            }
        }
    }
}

/// The blocks of a pass, one word for each bit: two halves of 32 words.
struct State<W: Word> {
    words: Words<W, 64>,
    /// Whether the right half is stored first.
    is_swapped: bool,
}

impl<W: Word> State<W> {
    fn new(token: W::Token) -> State<W> {
        State { words: Words::zeros(token), is_swapped: false }
    }

    fn halves(&mut self) -> Halves<'_, W> {
        let ([first, second], _) = self.words.0.as_chunks_mut() else { unreachable!("64 words") };
        if self.is_swapped {
            Halves { left: second, right: first }
        } else {
            Halves { left: first, right: second }
        }
    }
}

impl<W: Word> Form for BitSliced<W> {
    const LANES: usize = 64 * W::BLOCKS;
    type Token = W::Token;
    type Keys = Keys<W>;

    fn empty_keys(_token: W::Token) -> Keys<W> {
        let schedules = [const { [const { MaybeUninit::uninit() }; SCHEDULE] }; KEYS_MAX];
        Keys { schedules, is_set: [false; KEYS_MAX] }
    }

    fn set_keys(token: W::Token, keys: &mut Keys<W>, index: usize, own: &[Block]) {
        let mut state = State::<W>::new(token);
        load(token, own.as_flattened(), state.halves());
        W::schedule(token, state.halves(), &mut keys.schedules[index]);
        keys.is_set[index] = true;
    }

    fn set_key(token: W::Token, keys: &mut Keys<W>, index: usize, key: &Block) {
        W::schedule_of_one(token, u64::from_be_bytes(*key), &mut keys.schedules[index]);
        keys.is_set[index] = true;
    }

    fn blocks(token: W::Token, keys: &Keys<W>, program: &[Stage], blocks: &mut [Block]) {
        stream(token, keys, program, blocks.as_flattened_mut(), &mut Mode::Ecb);
    }

    fn macs<T: Texts>(token: W::Token, keys: &Keys<W>, macs: &Macs<'_, T>, chains: &mut [Block]) {
        assert!(chains.len() <= Self::LANES);
        self::macs::macs(token, keys, macs, chains);
    }

    fn cbc_encipher(
        token: W::Token,
        keys: &Keys<W>,
        program: &[Stage],
        chains: &mut [Block],
        pieces: &mut [Piece],
        count: usize,
    ) {
        assert!(pieces.len() <= Self::LANES && chains.len() == pieces.len());
        assert!((1..=PIECE_BLOCKS).contains(&count));
        if pieces.len() == Self::LANES {
            return cbc_pieces(token, keys, program, chains, pieces, count);
        }
        let (mut all_chains, mut all) = (W::no_pass(), W::no_pieces());
        let (all_chains, all) = (all_chains.as_mut(), all.as_mut());
        all_chains[..chains.len()].copy_from_slice(chains);
        all[..pieces.len()].copy_from_slice(pieces);
        cbc_pieces(token, keys, program, all_chains, all, count);
        chains.copy_from_slice(&all_chains[..chains.len()]);
        pieces.copy_from_slice(&all[..pieces.len()]);
        // These hold text that was not enciphered, and a MAC's chaining values.
        wipe_bytes(all_chains[..chains.len()].as_flattened_mut());
        wipe_pieces(&mut all[..pieces.len()]);
    }

    fn cbc_lines<L: Lines + ?Sized>(
        token: W::Token,
        keys: &Keys<W>,
        program: &[Stage],
        chains: &mut [Block],
        lines: &mut L,
        pieces: usize,
    ) {
        let lanes = lines.lanes();
        assert!((1..=Self::LANES).contains(&lanes) && chains.len() == lanes);
        let mut all_chains = W::no_pass();
        let all_chains = all_chains.as_mut();
        all_chains[..lanes].copy_from_slice(chains);
        if L::WRITTEN {
            cbc_lines(token, keys, program, all_chains, lines, pieces);
        } else {
            mac_lines(token, keys, program, all_chains, lines, pieces);
        }
        chains.copy_from_slice(&all_chains[..lanes]);
        wipe_bytes(all_chains.as_flattened_mut());
    }

    fn ecb(token: W::Token, keys: &Keys<W>, program: &[Stage], data: &mut [u8]) {
        let (blocks, _) = data.as_chunks_mut::<BLOCK_BYTES>();
        stream(token, keys, program, blocks.as_flattened_mut(), &mut Mode::Ecb);
    }

    fn cbc_decipher(token: W::Token, keys: &Keys<W>, program: &[Stage], chain: &mut Block, data: &mut [u8]) {
        let (blocks, _) = data.as_chunks_mut::<BLOCK_BYTES>();
        stream(token, keys, program, blocks.as_flattened_mut(), &mut Mode::Cbc(chain));
    }

    fn ctr(token: W::Token, keys: &Keys<W>, program: &[Stage], counter: &mut u64, data: &mut [u8]) {
        stream(token, keys, program, data, &mut Mode::Ctr(counter));
    }
}

/// The mode for the blocks of one stream.
enum Mode<'a> {
    Ecb,
    /// CBC decipherment, with the ciphertext block before the stream.
    Cbc(&'a mut Block),
    /// CTR, with the next counter.
    Ctr(&'a mut u64),
}

/// Processes one stream in place, two passes at a time as long as more than one is left.
fn stream<W: Word>(token: W::Token, keys: &Keys<W>, program: &[Stage], data: &mut [u8], mode: &mut Mode<'_>) {
    let pass_bytes = 64 * W::BLOCKS * BLOCK_BYTES;
    let (mut one, mut two) = (State::<W>::new(token), None);
    for bytes in data.chunks_mut(2 * pass_bytes) {
        let (first, second) = bytes.split_at_mut(pass_bytes.min(bytes.len()));
        take(token, first, mode, one.halves());
        if second.is_empty() {
            run(token, keys, program, [&mut one]);
            give(token, one.halves(), first, mode, None);
        } else {
            let two = two.get_or_insert_with(|| State::<W>::new(token));
            take(token, second, mode, two.halves());
            run(token, keys, program, [&mut one, two]);
            // The second pass is stored before the first is overwritten.
            let last = second.last_chunk().copied();
            give(token, two.halves(), second, mode, first.last_chunk().copied());
            give(token, one.halves(), first, mode, None);
            if let (Mode::Cbc(chain), Some(last)) = (&mut *mode, last) {
                **chain = last;
            }
        }
    }
}

/// Loads a part of a stream, or its counters, into the state of a pass.
fn take<W: Word>(token: W::Token, bytes: &[u8], mode: &mut Mode<'_>, state: Halves<'_, W>) {
    if let Mode::Ctr(counter) = mode {
        W::count(token, **counter, state);
        **counter = counter.wrapping_add(bytes.len().div_ceil(BLOCK_BYTES) as u64);
    } else {
        load(token, bytes, state);
    }
}

/// Stores the result in its place. For CBC, `before` is the ciphertext block before the part; `None` for the first
/// part.
fn give<W: Word>(
    token: W::Token,
    state: Halves<'_, W>,
    bytes: &mut [u8],
    mode: &mut Mode<'_>,
    before: Option<Block>,
) {
    let merge = match (mode, before, bytes.last_chunk()) {
        (Mode::Ecb, ..) => Merge::Put,
        (Mode::Ctr(_), ..) => Merge::Add,
        (Mode::Cbc(_), Some(before), _) => Merge::AddBefore(before),
        (Mode::Cbc(chain), None, last) => {
            Merge::AddBefore(mem::replace(chain, last.copied().unwrap_or_default()))
        }
    };
    let (blocks, _) = bytes.as_chunks_mut();
    if blocks.len() == 64 * W::BLOCKS {
        W::store(token, state, blocks, W::BLOCKS, merge);
        return;
    }
    let mut pass = W::no_pass();
    let padded = pass.as_mut();
    padded.as_flattened_mut()[..bytes.len()].copy_from_slice(bytes);
    W::store(token, state, padded, W::BLOCKS, merge);
    bytes.copy_from_slice(&padded.as_flattened()[..bytes.len()]);
    wipe_bytes(padded.as_flattened_mut());
}

/// Loads whole blocks, at most a pass, as the state.
fn load<W: Word>(token: W::Token, bytes: &[u8], state: Halves<'_, W>) {
    let (blocks, _) = bytes.as_chunks();
    if blocks.len() == 64 * W::BLOCKS {
        W::load(token, Rows { blocks, stride: W::BLOCKS }, None, state);
        return;
    }
    let mut pass = W::no_pass();
    let padded = pass.as_mut();
    padded[..blocks.len()].copy_from_slice(blocks);
    W::load(token, Rows { blocks: padded, stride: W::BLOCKS }, None, state);
    wipe_bytes(padded.as_flattened_mut());
}

/// CBC over the first `count` blocks of one piece per lane, with a chaining value for each lane.
fn cbc_pieces<W: Word>(
    token: W::Token,
    keys: &Keys<W>,
    program: &[Stage],
    chains: &mut [Block],
    pieces: &mut [Piece],
    count: usize,
) {
    W::turn(token, pieces);
    let turned = Turned { row: PIECE_BLOCKS * W::BLOCKS, block: W::BLOCKS };
    cbc_turned(token, keys, program, chains, flattened(pieces), turned, count);
    W::turn_back(token, pieces);
}

/// CBC enciphering of streams in place.
fn cbc_lines<W: Word, L: Lines + ?Sized>(
    token: W::Token,
    keys: &Keys<W>,
    program: &[Stage],
    chains: &mut [Block],
    lines: &mut L,
    pieces: usize,
) {
    let mut turned = W::no_pieces();
    let turned = turned.as_mut();
    for piece in 0..pieces {
        W::turn_in(token, lines, piece, turned);
        cbc_turned(token, keys, program, chains, flattened(turned), W::TURNED, PIECE_BLOCKS);
        W::turn_out(token, turned, lines, piece);
    }
    // Ciphertext, except in lanes without a stream, which hold a copy of another's text under keys of their own.
    wipe_pieces(turned);
}

/// MACs of streams: the state is the chaining value, which stays in slices between blocks.
fn mac_lines<W: Word, L: Lines + ?Sized>(
    token: W::Token,
    keys: &Keys<W>,
    program: &[Stage],
    chains: &mut [Block],
    lines: &L,
    pieces: usize,
) {
    let mut turned = W::no_pieces();
    let turned = turned.as_mut();
    let (mut state, mut text) = (State::<W>::new(token), State::<W>::new(token));
    W::load(token, Rows { blocks: chains, stride: W::BLOCKS }, None, state.halves());
    for piece in 0..pieces {
        W::turn_in(token, lines, piece, turned);
        for index in 0..PIECE_BLOCKS {
            let rows = Rows { blocks: &flattened(turned)[index * W::TURNED.block..], stride: W::TURNED.row };
            W::load(token, rows, None, text.halves());
            W::add(token, state.halves(), text.halves());
            run(token, keys, program, [&mut state]);
        }
    }
    W::store(token, state.halves(), chains, W::BLOCKS, Merge::Put);
    wipe_pieces(turned);
}

/// CBC over `count` blocks of each lane, which are already transposed.
fn cbc_turned<W: Word>(
    token: W::Token,
    keys: &Keys<W>,
    program: &[Stage],
    chains: &mut [Block],
    blocks: &mut [Block],
    turned: Turned,
    count: usize,
) {
    let mut state = State::<W>::new(token);
    for index in 0..count {
        let text = Rows { blocks: &blocks[index * turned.block..], stride: turned.row };
        let before = match index.checked_sub(1) {
            Some(before) => Rows { blocks: &blocks[before * turned.block..], stride: turned.row },
            None => Rows { blocks: chains, stride: W::BLOCKS },
        };
        W::load(token, text, Some(before), state.halves());
        run(token, keys, program, [&mut state]);
        W::store(token, state.halves(), &mut blocks[index * turned.block..], turned.row, Merge::Put);
    }
    for (row, chains) in chains.chunks_exact_mut(W::BLOCKS).enumerate() {
        chains.copy_from_slice(&blocks[(count - 1) * turned.block + row * turned.row..][..W::BLOCKS]);
    }
}

/// Runs a program over the state of one pass, or of two that take turns.
fn run<W: Word, const PASSES: usize>(
    token: W::Token,
    keys: &Keys<W>,
    program: &[Stage],
    mut states: [&mut State<W>; PASSES],
) {
    for stage in program {
        let schedule = keys.schedule(stage.key);
        for round in 0..16 {
            let start = STARTS[if stage.encipher { round } else { 15 - round }];
            let Some(key) = schedule[start..].first_chunk() else { return };
            for state in &mut states {
                let Halves { left, right } = state.halves();
                W::round(token, left, right, key);
                state.is_swapped = !state.is_swapped;
            }
        }
        for state in &mut states {
            // The output of a stage is R16 L16.
            state.is_swapped = !state.is_swapped;
        }
    }
}

/// The blocks of all pieces, as one slice.
fn flattened(pieces: &mut [Piece]) -> &mut [Block] {
    // SAFETY: a piece is exactly its eight blocks, in C layout; the slice covers the same memory.
    unsafe { slice::from_raw_parts_mut(pieces.as_mut_ptr().cast(), PIECE_BLOCKS * pieces.len()) }
}

#[cfg(test)]
mod tests;
