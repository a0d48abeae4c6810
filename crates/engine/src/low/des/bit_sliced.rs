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
//! With the bits apart, all permutations (IP, E, P, PC1, PC2, the shifts of the key) are names of words and
//! cost nothing; what is left are the S-boxes as circuits of gates ([`super::circuits_ternary`],
//! [`super::circuits_binary`]) and sums. No table is read and nothing branches on data.
//!
//! 1. The state stays in memory. 64 words do not fit in 32 registers, but a round reads each word of the
//!    right half once or twice, each of the left once, as operands in memory, and loads are not what bounds
//!    a round.
//! 2. A key is 28 + 28 words, rotated between rounds. Each half is stored twice in a row, so that a rotated
//!    half is a window that starts later, and all rounds of both ways run one piece of code, 400 instructions.
//! 3. The halves are not swapped: they change their names after every round.
//! 4. Between the stages of a program FP and the next IP cancel. Both are applied while blocks are loaded
//!    and stored, as places where words go.
//! 5. The sum with the left half is the gate that ends an output of a circuit, where that gate has an input
//!    to spare.
//! 6. One stream runs two passes in turns, a round of each. A round ends with a chain of gates, stores, and
//!    loads of the next round that wait for them; the other pass fills that time, a tenth of it.
//! 7. Counters are made sliced: a sum of 64 words with carries instead of a transposition.
//!
//! Bounds: a pass has 64 x [`Word::BLOCKS`] lanes, a state is 64 words, a schedule [`SCHEDULE`] words; three
//! schedules of 512 lanes are 21 KiB and two states 8 KiB, together inside the first-level cache.
//!
//! Tried and dropped: the loop over rounds in one body with the round, where the compiler keeps the state in
//! registers that it does not have (1.6 times the time); chaining in slices, onto the state that the block before
//! left, which spares no operation over adding rows as they are read, but keeps words that the transposition can
//! use; streams turned into a second buffer of 32 KiB instead of in place (1.08 times the time of a pass).
//! Left out: rounds unrolled with the names of rotated key words written into them; sixteen of them are 45 KB, which
//! the cache of decoded instructions does not hold.

mod macs;

use std::marker::PhantomData;
use std::mem::{self, MaybeUninit};
use std::slice;

use super::super::{wipe, wipe_bytes};
use super::bit_sliced_round::{SCHEDULE, STARTS};
use super::bit_sliced_words::{Halves, Merge, Word, Words};
use super::macs::{Macs, Texts};
use super::{BLOCK_BYTES, Block, Form, KEYS_MAX, PIECE_BLOCKS, Piece, Stage, wipe_pieces};

/// The form of these words.
pub(crate) struct BitSliced<W>(PhantomData<W>);

/// Schedules for all lanes of a pass. Only those that were set are looked at, then and when wiped.
pub(crate) struct Keys<W: Word> {
    schedules: [[MaybeUninit<W>; SCHEDULE]; KEYS_MAX],
    is_set: [bool; KEYS_MAX],
}

impl<W: Word> Keys<W> {
    fn schedule(&self, index: usize) -> &[W; SCHEDULE] {
        assert!(self.is_set[index], "a program names keys that were set");
        // SAFETY: the flag is raised after `W::schedule` or `W::schedule_of_one`, which write each word of it, as `Word`
        // promises; an array of MaybeUninit<W> has the layout of an array of W.
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

/// The state of a pass.
struct State<W: Word> {
    words: Words<W, 64>,
    /// Whether the right half comes first.
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
        assert!(pieces.len() <= Self::LANES && chains.len() == pieces.len() && count <= PIECE_BLOCKS);
        let Some(last) = count.checked_sub(1) else { return };
        for (piece, chain) in pieces.iter_mut().zip(&*chains) {
            piece.0[0] = sum(piece.0[0], *chain);
        }
        if pieces.len() == Self::LANES {
            cbc_pass(token, keys, program, pieces, count);
        } else if !pieces.is_empty() {
            let mut all = W::no_pieces();
            all.as_mut()[..pieces.len()].copy_from_slice(pieces);
            cbc_pass(token, keys, program, all.as_mut(), count);
            pieces.copy_from_slice(&all.as_mut()[..pieces.len()]);
            // Text that was not enciphered, and of a MAC its chaining values.
            wipe_pieces(&mut all.as_mut()[..pieces.len()]);
        }
        for (piece, chain) in pieces.iter().zip(chains) {
            *chain = piece.0[last];
        }
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

/// What is done with the blocks of one stream.
enum Mode<'a> {
    Ecb,
    /// Decipherment; the block of ciphertext before.
    Cbc(&'a mut Block),
    /// The next counter.
    Ctr(&'a mut u64),
}

/// One stream in place, two passes at a time as long as there is more than one.
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
            // The second before the first is overwritten.
            let last = second.last_chunk().copied();
            give(token, two.halves(), second, mode, first.last_chunk().copied());
            give(token, one.halves(), first, mode, None);
            if let (Mode::Cbc(chain), Some(last)) = (&mut *mode, last) {
                **chain = last;
            }
        }
    }
}

/// A part of a stream to the state of a pass.
fn take<W: Word>(token: W::Token, bytes: &[u8], mode: &mut Mode<'_>, state: Halves<'_, W>) {
    if let Mode::Ctr(counter) = mode {
        W::count(token, **counter, state);
        **counter = counter.wrapping_add(bytes.len().div_ceil(BLOCK_BYTES) as u64);
    } else {
        load(token, bytes, state);
    }
}

/// What became of it back to its place; `before` is the block before it where it is not the first.
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

/// Whole blocks, at most a pass.
fn load<W: Word>(token: W::Token, bytes: &[u8], state: Halves<'_, W>) {
    let (blocks, _) = bytes.as_chunks();
    if blocks.len() == 64 * W::BLOCKS {
        W::load(token, blocks, W::BLOCKS, false, state);
        return;
    }
    let mut pass = W::no_pass();
    let padded = pass.as_mut();
    padded[..blocks.len()].copy_from_slice(blocks);
    W::load(token, padded, W::BLOCKS, false, state);
    wipe_bytes(padded.as_flattened_mut());
}

/// The first blocks of a piece per lane, chained.
fn cbc_pass<W: Word>(token: W::Token, keys: &Keys<W>, program: &[Stage], pieces: &mut [Piece], count: usize) {
    let mut state = State::<W>::new(token);
    W::turn(token, pieces);
    for index in 0..count {
        let (stride, rows) = (PIECE_BLOCKS * W::BLOCKS, flattened(pieces));
        if let Some(before) = index.checked_sub(1) {
            W::load(token, &rows[before * W::BLOCKS..], stride, true, state.halves());
        } else {
            W::load(token, rows, stride, false, state.halves());
        }
        run(token, keys, program, [&mut state]);
        W::store(token, state.halves(), &mut rows[index * W::BLOCKS..], stride, Merge::Put);
    }
    W::turn_back(token, pieces);
}

/// A program over the states of one pass, or of two that take turns.
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

fn sum(one: Block, other: Block) -> Block {
    (u64::from_ne_bytes(one) ^ u64::from_ne_bytes(other)).to_ne_bytes()
}

/// The blocks of all pieces.
fn flattened(pieces: &mut [Piece]) -> &mut [Block] {
    // SAFETY: a piece is exactly its eight blocks, in C layout; the slice covers the same memory.
    unsafe { slice::from_raw_parts_mut(pieces.as_mut_ptr().cast(), PIECE_BLOCKS * pieces.len()) }
}

/// Every bit-sliced form against OpenSSL and the plain twin.
#[cfg(test)]
mod tests {
    use openssl::symm::{Cipher, Crypter, Mode};
    use seeded::Random;

    use super::super::super::cpu::Cpu;
    use super::super::bit_sliced_portable::BitSliced64;
    use super::super::plain::Plain;
    use super::*;

    /// What is called for each form that this processor has.
    trait Check {
        fn run<F: Form>(&self, token: F::Token);
    }

    fn at_every_level(check: &impl Check) {
        check.run::<BitSliced64>(());
        if let Some(token) = Cpu::up_to_avx2().avx2 {
            check.run::<super::super::bit_sliced_avx2::BitSliced256>(token);
        }
        if let Some(token) = Cpu::up_to_avx512().avx512 {
            check.run::<super::super::bit_sliced_avx512::BitSliced512>(token);
        }
    }

    const PROGRAMS: [&[Stage]; 6] = [
        &[Stage::encipher(0)],
        &[Stage::decipher(2)],
        &[Stage::encipher(0), Stage::decipher(1), Stage::encipher(2)],
        &[Stage::decipher(2), Stage::encipher(1), Stage::decipher(0)],
        &[Stage::encipher(0), Stage::decipher(1), Stage::encipher(0)],
        &[Stage::decipher(1), Stage::encipher(0)],
    ];

    /// Borders: a block, a row of each form (4, 8), a pass of each form and one beside it.
    const COUNTS: [usize; 17] = [0, 1, 3, 4, 5, 7, 8, 9, 63, 64, 65, 255, 256, 257, 511, 512, 513];

    fn keys(random: &mut Random) -> [Block; KEYS_MAX] {
        std::array::from_fn(|_| random.array())
    }

    /// Blocks through a program by OpenSSL: a stage is its triple DES under one key three times.
    fn peer(keys: &[Block; KEYS_MAX], program: &[Stage], blocks: &mut [Block]) {
        for stage in program {
            let mode = if stage.encipher { Mode::Encrypt } else { Mode::Decrypt };
            let mut crypter =
                Crypter::new(Cipher::des_ede3_ecb(), mode, &[keys[stage.key]; 3].concat(), None).unwrap();
            crypter.pad(false);
            let input = blocks.concat();
            let mut output = vec![0; input.len() + 8];
            assert_eq!(crypter.update(&input, &mut output).unwrap(), input.len());
            for (block, bytes) in blocks.iter_mut().zip(output.chunks(8)) {
                block.copy_from_slice(bytes);
            }
        }
    }

    fn same_keys<F: Form>(token: F::Token, own: &[Block; KEYS_MAX]) -> F::Keys {
        let mut keys = F::empty_keys(token);
        for (index, key) in own.iter().enumerate() {
            F::set_key(token, &mut keys, index, key);
        }
        keys
    }

    fn own_keys<F: Form>(token: F::Token, own: &[[Block; KEYS_MAX]]) -> F::Keys {
        let mut keys = F::empty_keys(token);
        for index in 0..KEYS_MAX {
            let own: Vec<Block> = own.iter().map(|keys| keys[index]).collect();
            F::set_keys(token, &mut keys, index, &own);
        }
        keys
    }

    /// Whether all is tested, or a hundredth.
    fn share(all: usize) -> usize {
        let is_all = std::env::var_os("CRYPTAND_TEST_ALL").is_some_and(|value| value == "1");
        if is_all { all } else { all.div_ceil(100) }
    }

    struct OneStream;

    impl Check for OneStream {
        fn run<F: Form>(&self, token: F::Token) {
            let mut random = Random(1);
            for count in COUNTS.into_iter().chain([1023, 1024, 1025]) {
                for program in PROGRAMS {
                    let own = keys(&mut random);
                    let keys = same_keys::<F>(token, &own);
                    let text = random.arrays(count);
                    let mut expected = text.clone();
                    peer(&own, program, &mut expected);

                    let mut data = text.concat();
                    F::ecb(token, &keys, program, &mut data);
                    assert_eq!(data, expected.concat(), "ECB of {count} blocks, {program:?}");

                    if count <= F::LANES {
                        let mut blocks = text.clone();
                        F::blocks(token, &keys, program, &mut blocks);
                        assert_eq!(blocks, expected, "{count} blocks, {program:?}");
                    }

                    let start = random.array();
                    let before = [&[start], &text[..]].concat();
                    let chained: Vec<Block> =
                        expected.iter().zip(&before).map(|(one, other)| sum(*one, *other)).collect();
                    let (mut chain, mut data) = (start, text.concat());
                    F::cbc_decipher(token, &keys, program, &mut chain, &mut data);
                    assert_eq!(data, chained.concat(), "CBC of {count} blocks, {program:?}");
                    assert_eq!(chain, before[count]);
                }
            }
        }
    }

    #[test]
    fn one_stream_is_as_openssl_has_it() {
        at_every_level(&OneStream);
    }

    struct Counter;

    impl Check for Counter {
        fn run<F: Form>(&self, token: F::Token) {
            let mut random = Random(2);
            for count in COUNTS {
                // Carries within a pass, over the low half and over the whole counter.
                for first in [0, random.number(), 0xffff_fff0, u64::MAX - 1, u64::MAX - 300] {
                    let own = keys(&mut random);
                    let keys = same_keys::<F>(token, &own);
                    for over in [0, 1, 7] {
                        let bytes = (count * 8).saturating_sub(over);
                        let blocks = bytes.div_ceil(8);
                        let mut stream: Vec<Block> =
                            (0..blocks as u64).map(|index| first.wrapping_add(index).to_be_bytes()).collect();
                        peer(&own, PROGRAMS[2], &mut stream);
                        let text: Vec<u8> = random.arrays::<8>(blocks).concat()[..bytes].to_vec();
                        let expected: Vec<u8> =
                            text.iter().zip(stream.concat()).map(|(one, other)| one ^ other).collect();
                        let (mut counter, mut data) = (first, text);
                        F::ctr(token, &keys, PROGRAMS[2], &mut counter, &mut data);
                        assert_eq!(data, expected, "{bytes} bytes from {first:#x}");
                        assert_eq!(counter, first.wrapping_add(blocks as u64));
                    }
                }
            }
        }
    }

    #[test]
    fn counters_count_as_openssl_enciphers_them() {
        at_every_level(&Counter);
    }

    struct OwnKeys;

    impl Check for OwnKeys {
        fn run<F: Form>(&self, token: F::Token) {
            let mut random = Random(3);
            for program in PROGRAMS {
                for lanes in COUNTS.into_iter().filter(|lanes| *lanes <= F::LANES) {
                    let own: Vec<_> = (0..lanes).map(|_| keys(&mut random)).collect();
                    let keys = own_keys::<F>(token, &own);
                    let mut blocks = random.arrays(lanes);
                    let mut expected = blocks.clone();
                    for (block, own) in expected.iter_mut().zip(&own) {
                        peer(own, program, std::slice::from_mut(block));
                    }
                    F::blocks(token, &keys, program, &mut blocks);
                    assert_eq!(blocks, expected, "{lanes} lanes, {program:?}");
                }
            }
        }
    }

    #[test]
    fn each_lane_has_its_key() {
        at_every_level(&OwnKeys);
    }

    struct Chains;

    impl Check for Chains {
        fn run<F: Form>(&self, token: F::Token) {
            let mut random = Random(4);
            for lanes in COUNTS.into_iter().filter(|lanes| *lanes <= F::LANES) {
                let program = PROGRAMS[lanes % PROGRAMS.len()];
                let own: Vec<_> = (0..lanes).map(|_| keys(&mut random)).collect();
                let keys = own_keys::<F>(token, &own);
                let mut chains = random.arrays(lanes);
                // Two calls one after the other: the chain goes on.
                for count in [1 + lanes % PIECE_BLOCKS, PIECE_BLOCKS, 1] {
                    let mut pieces: Vec<Piece> =
                        (0..lanes).map(|_| Piece(std::array::from_fn(|_| random.array()))).collect();
                    let (mut expected, mut expected_chains) = (pieces.clone(), chains.clone());
                    for ((own, chain), piece) in own.iter().zip(&mut expected_chains).zip(&mut expected) {
                        for block in &mut piece.0[..count] {
                            *block = sum(*block, *chain);
                            peer(own, program, std::slice::from_mut(block));
                            *chain = *block;
                        }
                    }
                    F::cbc_encipher(token, &keys, program, &mut chains, &mut pieces, count);
                    assert!(
                        pieces.iter().zip(&expected).all(|(one, other)| one.0 == other.0),
                        "{lanes} lanes, {count}"
                    );
                    assert_eq!(chains, expected_chains, "{lanes} lanes, {count}");
                }
            }
        }
    }

    #[test]
    fn chains_go_on_in_each_lane() {
        at_every_level(&Chains);
    }

    struct Many;

    impl Check for Many {
        fn run<F: Form>(&self, token: F::Token) {
            let mut random = Random(5);
            // A million blocks, a key each.
            for _ in 0..share(1_000_000).div_ceil(F::LANES) {
                let own: Vec<_> = (0..F::LANES).map(|_| keys(&mut random)).collect();
                let keys = own_keys::<F>(token, &own);
                let mut blocks = random.arrays(F::LANES);
                let mut expected = blocks.clone();
                for (block, own) in expected.iter_mut().zip(&own) {
                    let mut crypter =
                        Crypter::new(Cipher::des_ede3_ecb(), Mode::Encrypt, own.as_flattened(), None)
                            .unwrap();
                    let (input, mut output) = (*block, [0; 16]);
                    assert_eq!(crypter.update(&input, &mut output).unwrap(), 8);
                    block.copy_from_slice(&output[..8]);
                }
                F::blocks(token, &keys, PROGRAMS[2], &mut blocks);
                assert_eq!(blocks, expected);
            }
        }
    }

    #[test]
    fn many_blocks_under_many_keys() {
        at_every_level(&Many);
    }

    struct Twin;

    impl Check for Twin {
        fn run<F: Form>(&self, token: F::Token) {
            let mut random = Random(6);
            // Weak and semi-weak keys among them, and keys that differ in parity only.
            let special =
                [0x0101010101010101_u64, 0xfefefefefefefefe, 0x1f1f1f1f0e0e0e0e, 0x01fe01fe01fe01fe, 0, !0];
            for special in special {
                let own = [special.to_be_bytes(), random.array(), special.to_be_bytes()];
                for program in PROGRAMS {
                    let mut expected = random.arrays::<8>(9).concat();
                    let mut data = expected.clone();
                    Plain::ecb((), &same_keys::<Plain>((), &own), program, &mut expected);
                    F::ecb(token, &same_keys::<F>(token, &own), program, &mut data);
                    assert_eq!(data, expected);
                }
            }
        }
    }

    #[test]
    fn weak_keys_are_keys() {
        at_every_level(&Twin);
    }

    fn check_wiped<W: Word>(token: W::Token) {
        let own = keys(&mut Random(7));
        let mut place = MaybeUninit::new(same_keys::<BitSliced<W>>(token, &own));
        let bytes = KEYS_MAX * SCHEDULE * size_of::<W>();
        let count = |place: &MaybeUninit<Keys<W>>| {
            // SAFETY: the field lies within the place.
            let schedules = unsafe { &raw const (*place.as_ptr()).schedules };
            // SAFETY: all three keys were set, so each byte of the schedules was written; words have no padding.
            let bytes = unsafe { slice::from_raw_parts(schedules.cast::<u8>(), bytes) };
            bytes.iter().filter(|byte| **byte == 0xff).count()
        };
        assert!(count(&place) > bytes / 4);
        // SAFETY: initialised above, not used as a value after this.
        unsafe { place.assume_init_drop() }
        assert_eq!(count(&place), 0);
    }

    /// Both functions over a schedule of ones and over one of zeros: a word that was not written would differ.
    fn check_whole<W: Word>(token: W::Token) {
        let bytes = |schedule: &[MaybeUninit<W>; SCHEDULE]| {
            // SAFETY: each byte was initialised before the schedule was made; words have no padding.
            unsafe { slice::from_raw_parts(schedule.as_ptr().cast::<u8>(), size_of_val(schedule)) }.to_vec()
        };
        let own = Random(8).arrays(64 * W::BLOCKS);
        for of_one in [false, true] {
            let made = [0u8, 0xff].map(|before| {
                let mut schedule = [const { MaybeUninit::<W>::uninit() }; SCHEDULE];
                // SAFETY: the bytes are the schedule's own; any are a valid MaybeUninit.
                unsafe { schedule.as_mut_ptr().write_bytes(before, SCHEDULE) }
                let mut state = State::<W>::new(token);
                load(token, own.as_flattened(), state.halves());
                if of_one {
                    W::schedule_of_one(token, u64::from_be_bytes(own[0]), &mut schedule);
                } else {
                    W::schedule(token, state.halves(), &mut schedule);
                }
                bytes(&schedule)
            });
            assert_eq!(made[0], made[1], "a schedule of {}", if of_one { "one key" } else { "a key a lane" });
        }
    }

    #[test]
    fn schedules_are_written_as_a_whole() {
        check_whole::<u64>(());
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(token) = Cpu::up_to_avx2().avx2 {
                check_whole::<super::super::bit_sliced_avx2::Word256>(token);
            }
            if let Some(token) = Cpu::up_to_avx512().avx512 {
                check_whole::<super::super::bit_sliced_avx512::Word512>(token);
            }
        }
    }

    #[test]
    fn keys_are_wiped() {
        check_wiped::<u64>(());
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(token) = Cpu::up_to_avx2().avx2 {
                check_wiped::<super::super::bit_sliced_avx2::Word256>(token);
            }
            if let Some(token) = Cpu::up_to_avx512().avx512 {
                check_wiped::<super::super::bit_sliced_avx512::Word512>(token);
            }
        }
    }
}
