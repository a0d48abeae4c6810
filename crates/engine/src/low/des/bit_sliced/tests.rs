//! Every bit-sliced form against OpenSSL and the plain twin.

use super::super::super::cpu::Cpu;
use super::super::bit_sliced_portable::BitSliced64;
use super::super::lines::Line;
use super::super::plain::Plain;
use super::*;
use openssl::symm::{Cipher, Crypter, Mode};
use seeded::Random;

fn sum(one: Block, other: Block) -> Block {
    (u64::from_ne_bytes(one) ^ u64::from_ne_bytes(other)).to_ne_bytes()
}

/// A check that runs for each form that this processor has.
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

/// Numbers of blocks at the limits: a block, a row of each form (4, 8), a pass of each form, and one more or less.
const COUNTS: [usize; 17] = [0, 1, 3, 4, 5, 7, 8, 9, 63, 64, 65, 255, 256, 257, 511, 512, 513];

fn keys(random: &mut Random) -> [Block; KEYS_MAX] {
    std::array::from_fn(|_| random.array())
}

/// Runs blocks through a program with OpenSSL; a stage is triple DES under the same key three times.
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

/// `all` if everything is tested (`CRYPTAND_TEST_ALL`), else a hundredth.
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
            // Carries within a pass, out of the low half and out of the whole counter.
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
            // Several calls one after the other, which continue the chain.
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

struct InPlace;

impl Check for InPlace {
    fn run<F: Form>(&self, token: F::Token) {
        let mut random = Random(9);
        let counts = COUNTS.into_iter().filter(|lanes| (1..=F::LANES).contains(lanes));
        let mut done = 0;
        for (round, lanes) in counts.cycle().enumerate() {
            let program = PROGRAMS[round % PROGRAMS.len()];
            let own: Vec<_> = (0..lanes).map(|_| keys(&mut random)).collect();
            let keys = own_keys::<F>(token, &own);
            let mut chains = random.arrays(lanes);
            for pieces in [0, 1, 2] {
                // Some texts are longer than the part that is used.
                let texts: Vec<Vec<u8>> =
                    (0..lanes).map(|lane| random.bytes(64 * (pieces + lane % 2))).collect();
                let (mut expected, mut expected_chains) = (texts.clone(), chains.clone());
                for ((own, chain), text) in own.iter().zip(&mut expected_chains).zip(&mut expected) {
                    for block in &mut text.as_chunks_mut().0[..8 * pieces] {
                        *block = sum(*block, *chain);
                        peer(own, program, std::slice::from_mut(block));
                        *chain = *block;
                    }
                }
                let mut ours = texts.clone();
                let mut mac_chains = chains.clone();
                let mut reading: Vec<&[Line]> = texts.iter().map(|text| text.as_chunks().0).collect();
                let mut writing: Vec<&mut [Line]> =
                    ours.iter_mut().map(|text| text.as_chunks_mut().0).collect();
                F::cbc_lines(token, &keys, program, &mut mac_chains, &mut reading[..], pieces);
                F::cbc_lines(token, &keys, program, &mut chains, &mut writing[..], pieces);
                assert!(ours == expected, "{lanes} lanes, {pieces} pieces");
                assert_eq!(chains, expected_chains, "{lanes} lanes, {pieces} pieces");
                assert_eq!(mac_chains, expected_chains, "MACs, {lanes} lanes, {pieces} pieces");
                done += lanes * pieces * PIECE_BLOCKS;
            }
            // Every number of lanes, and a million blocks.
            if done >= share(1_000_000) && round >= COUNTS.len() {
                break;
            }
        }
    }
}

#[test]
fn streams_are_enciphered_where_they_lie() {
    at_every_level(&InPlace);
}

struct Many;

impl Check for Many {
    fn run<F: Form>(&self, token: F::Token) {
        let mut random = Random(5);
        // A million blocks, each under its own key.
        for _ in 0..share(1_000_000).div_ceil(F::LANES) {
            let own: Vec<_> = (0..F::LANES).map(|_| keys(&mut random)).collect();
            let keys = own_keys::<F>(token, &own);
            let mut blocks = random.arrays(F::LANES);
            let mut expected = blocks.clone();
            for (block, own) in expected.iter_mut().zip(&own) {
                let mut crypter =
                    Crypter::new(Cipher::des_ede3_ecb(), Mode::Encrypt, own.as_flattened(), None).unwrap();
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

/// Runs both functions over a schedule of ones and over one of zeros: a word that was not written would differ.
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
