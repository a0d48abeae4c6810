//! Tests of every form that looks up in vectors, against the plain twin and OpenSSL.

use super::lines::Line;
use super::mdc::{self, Pair};
use super::plain::{self, Plain};
use super::{BLOCK_BYTES, Block, Form, PIECE_BLOCKS, Piece, Stage};
use crate::low::cpu::{Avx2, Avx512, Cpu};
use openssl::symm::{Cipher, Crypter, Mode};
use seeded::Random;

/// The token of a kernel; `None` if the processor lacks its instructions.
pub(crate) trait Token: Copy {
    fn had() -> Option<Self>;
}

impl Token for Avx2 {
    fn had() -> Option<Avx2> {
        Cpu::up_to_avx2().avx2
    }
}

impl Token for Avx512 {
    fn had() -> Option<Avx512> {
        Cpu::up_to_avx512().avx512
    }
}

const ENCIPHER: [Stage; 3] = [Stage::encipher(0), Stage::decipher(1), Stage::encipher(2)];
const DECIPHER: [Stage; 3] = [Stage::decipher(2), Stage::encipher(1), Stage::decipher(0)];
const PROGRAMS: [&[Stage]; 6] = [
    &[Stage::encipher(0)],
    &[Stage::decipher(0)],
    &ENCIPHER,
    &DECIPHER,
    &[Stage::encipher(0), Stage::decipher(1), Stage::encipher(0)],
    &[Stage::decipher(1), Stage::encipher(0)],
];

/// The number of random cases: a million, or a hundredth of that in an ordinary run.
fn cases() -> usize {
    if std::env::var_os("CRYPTAND_TEST_ALL").is_some_and(|all| all == "1") { 1_000_000 } else { 10_000 }
}

/// Three random keys for each lane, and the kernel's schedules of them.
fn own_keys<F: Form<Token: Token>>(
    token: F::Token,
    random: &mut Random,
    lanes: usize,
) -> (Vec<[Block; 3]>, F::Keys) {
    let own: Vec<_> = (0..lanes).map(|_| [random.array(), random.array(), random.array()]).collect();
    let mut keys = F::empty_keys(token);
    for index in 0..3 {
        let part: Vec<_> = own.iter().map(|keys| keys[index]).collect();
        F::set_keys(token, &mut keys, index, &part);
    }
    (own, keys)
}

pub(crate) fn every_program_at_every_number_of_lanes<F: Form<Token: Token>>() {
    let Some(token) = F::Token::had() else { return };
    let mut random = Random(0x3141_5926);
    let mut done = 0;
    for lanes in (0..=F::LANES).rev().cycle() {
        let (own, keys) = own_keys::<F>(token, &mut random, lanes);
        for program in PROGRAMS {
            let text = random.arrays(lanes);
            let mut blocks = text.clone();
            F::blocks(token, &keys, program, &mut blocks);
            for (lane, (block, text)) in blocks.iter().zip(text).enumerate() {
                assert_eq!(*block, plain::block(&own[lane], program, text), "{program:?} {lane} of {lanes}");
            }
            done += lanes;
        }
        if done >= cases() {
            break;
        }
    }
}

fn openssl_cbc(mode: Mode, keys: &[Block; 3], chain: Block, text: &[u8]) -> Vec<u8> {
    let mut peer = Crypter::new(Cipher::des_ede3_cbc(), mode, &keys.concat(), Some(&chain)).unwrap();
    peer.pad(false);
    let mut out = vec![0; text.len() + BLOCK_BYTES];
    let count = peer.update(text, &mut out).unwrap();
    out.truncate(count);
    out
}

pub(crate) fn cbc_of_many_streams_at_every_count<F: Form<Token: Token>>() {
    let Some(token) = F::Token::had() else { return };
    let mut random = Random(0x2718_2818);
    let mut done = 0;
    for lanes in (0..=F::LANES).cycle() {
        let (own, keys) = own_keys::<F>(token, &mut random, lanes);
        let mut chains = random.arrays(lanes);
        let mut expected_chains = chains.clone();
        // Each call continues the chain of the one before.
        for count in (1..=PIECE_BLOCKS).rev() {
            let mut pieces: Vec<_> =
                (0..lanes).map(|_| Piece(random.arrays(PIECE_BLOCKS).try_into().unwrap())).collect();
            let texts = pieces.clone();
            F::cbc_encipher(token, &keys, &ENCIPHER, &mut chains, &mut pieces, count);
            for lane in 0..lanes {
                let mut expected = texts[lane].0.concat();
                let head = &mut expected[..count * BLOCK_BYTES];
                let enciphered = openssl_cbc(Mode::Encrypt, &own[lane], expected_chains[lane], head);
                head.copy_from_slice(&enciphered);
                expected_chains[lane] = *enciphered.last_chunk().unwrap();
                assert_eq!(pieces[lane].0.concat(), expected, "{count} blocks, {lane} of {lanes}");
            }
            assert_eq!(chains, expected_chains);
            done += lanes * count;
        }
        if done >= cases() {
            break;
        }
    }
}

/// Streams in place, of different lengths and one after the other in memory, with `pieces` pieces taken of each. The
/// memory around them is unchanged. Tests enciphering, and MACs.
pub(crate) fn lines_of_many_streams<F: Form<Token: Token>>() {
    let Some(token) = F::Token::had() else { return };
    let mut random = Random(0x1414_0202);
    let mut done = 0;
    for lanes in (1..=F::LANES).cycle() {
        let (own, keys) = own_keys::<F>(token, &mut random, lanes);
        let mut chains = random.arrays(lanes);
        // Each call continues the chains of the one before.
        for pieces in [0, 1, 2, 3] {
            let texts: Vec<Vec<u8>> =
                (0..lanes).map(|lane| random.bytes(LINE_BYTES * (pieces + lane % 3))).collect();
            let mut ours = texts.clone();
            let (mut expected_chains, mut mac_chains) = (chains.clone(), chains.clone());
            let reading: Vec<&[Line]> = texts.iter().map(|text| text.as_chunks().0).collect();
            let mut writing: Vec<&mut [Line]> = ours.iter_mut().map(|text| text.as_chunks_mut().0).collect();
            F::cbc_lines(token, &keys, &ENCIPHER, &mut mac_chains, &mut reading.clone()[..], pieces);
            F::cbc_lines(token, &keys, &ENCIPHER, &mut chains, &mut writing[..], pieces);
            for lane in 0..lanes {
                let mut expected = texts[lane].clone();
                let head = &mut expected[..LINE_BYTES * pieces];
                let enciphered = openssl_cbc(Mode::Encrypt, &own[lane], expected_chains[lane], head);
                head.copy_from_slice(&enciphered);
                if let Some(last) = enciphered.last_chunk() {
                    expected_chains[lane] = *last;
                }
                assert_eq!(ours[lane], expected, "{pieces} pieces, {lane} of {lanes}");
            }
            assert_eq!(chains, expected_chains, "{pieces} pieces, {lanes} lanes");
            assert_eq!(mac_chains, expected_chains, "MACs of {pieces} pieces, {lanes} lanes");
            done += lanes * pieces * PIECE_BLOCKS;
        }
        if done >= cases() {
            break;
        }
    }
}

const LINE_BYTES: usize = size_of::<Line>();

pub(crate) fn one_stream_at_every_border<F: Form<Token: Token>>() {
    let Some(token) = F::Token::had() else { return };
    let mut random = Random(0x1618_0339);
    let own = [random.array(), random.array(), random.array()];
    let (mut keys, mut plain_keys) = (F::empty_keys(token), Plain::empty_keys(()));
    for (index, key) in own.iter().enumerate() {
        F::set_key(token, &mut keys, index, key);
        Plain::set_key((), &mut plain_keys, index, key);
    }
    // A group, a pass and two passes, each with one block less and more; several passes and a rest.
    for count in [0, 1, 7, 8, 9, 63, 64, 65, 71, 127, 128, 129, 191, 192, 193, 255, 256, 257, 500] {
        for program in PROGRAMS {
            let text = random.bytes(count * BLOCK_BYTES);
            let (mut ours, mut theirs) = (text.clone(), text.clone());
            F::ecb(token, &keys, program, &mut ours);
            Plain::ecb((), &plain_keys, program, &mut theirs);
            assert!(ours == theirs, "ECB of {count} blocks, {program:?}");

            let mut chain = random.array();
            let mut plain_chain = chain;
            let expected = openssl_cbc(Mode::Decrypt, &own, chain, &text);
            (ours, theirs) = (text.clone(), text);
            F::cbc_decipher(token, &keys, program, &mut chain, &mut ours);
            Plain::cbc_decipher((), &plain_keys, program, &mut plain_chain, &mut theirs);
            assert!(ours == theirs && chain == plain_chain, "CBC of {count} blocks, {program:?}");
            assert!(program != DECIPHER || ours == expected);
        }
        // The counter wraps within the longer texts; the last block may have any length.
        for cut in 0..BLOCK_BYTES {
            let text = random.bytes((count * BLOCK_BYTES).saturating_sub(cut));
            let (mut ours, mut theirs) = (text.clone(), text);
            let mut counter = 100_u64.wrapping_neg();
            let mut plain_counter = counter;
            F::ctr(token, &keys, &ENCIPHER, &mut counter, &mut ours);
            Plain::ctr((), &plain_keys, &ENCIPHER, &mut plain_counter, &mut theirs);
            assert!(ours == theirs && counter == plain_counter, "CTR of {count} blocks less {cut} bytes");
        }
    }
}

/// SP 800-67, section 3.3.2: enciphering twice under a weak key, or under both keys of a semi-weak pair, restores the
/// text.
pub(crate) fn weak_keys_cancel<F: Form<Token: Token>>() {
    let Some(token) = F::Token::had() else { return };
    let pairs: [(u64, u64); 10] = [
        (0x0101010101010101, 0x0101010101010101),
        (0xfefefefefefefefe, 0xfefefefefefefefe),
        (0xe0e0e0e0f1f1f1f1, 0xe0e0e0e0f1f1f1f1),
        (0x1f1f1f1f0e0e0e0e, 0x1f1f1f1f0e0e0e0e),
        (0x011f011f010e010e, 0x1f011f010e010e01),
        (0x01e001e001f101f1, 0xe001e001f101f101),
        (0x01fe01fe01fe01fe, 0xfe01fe01fe01fe01),
        (0x1fe01fe00ef10ef1, 0xe01fe01ff10ef10e),
        (0x1ffe1ffe0efe0efe, 0xfe1ffe1ffe0efe0e),
        (0xe0fee0fef1fef1fe, 0xfee0fee0fef1fef1),
    ];
    let mut random = Random(0x5772_1566);
    for pairs in pairs.chunks(F::LANES) {
        let [first, second]: [Vec<_>; 2] = [
            pairs.iter().map(|pair| pair.0.to_be_bytes()).collect(),
            pairs.iter().map(|pair| pair.1.to_be_bytes()).collect(),
        ];
        let mut keys = F::empty_keys(token);
        F::set_keys(token, &mut keys, 0, &first);
        F::set_keys(token, &mut keys, 1, &second);
        let text = random.arrays(pairs.len());
        let mut blocks = text.clone();
        F::blocks(token, &keys, &[Stage::encipher(0)], &mut blocks);
        assert!(blocks.iter().zip(&text).all(|(block, text)| block != text));
        F::blocks(token, &keys, &[Stage::encipher(1)], &mut blocks);
        assert_eq!(blocks, text);
    }
}

/// A program may combine a key that all lanes share with keys of their own, and a key may be set again.
pub(crate) fn one_key_for_all_beside_keys_for_each<F: Form<Token: Token>>() {
    let Some(token) = F::Token::had() else { return };
    let mut random = Random(0x1732_0508);
    for lanes in [1, 2, F::LANES] {
        let (mut own, mut keys) = own_keys::<F>(token, &mut random, lanes);
        for index in [1, 0, 2] {
            let shared = random.array();
            F::set_key(token, &mut keys, index, &shared);
            own.iter_mut().for_each(|own| own[index] = shared);
            let text = random.arrays(lanes);
            let mut blocks = text.clone();
            F::blocks(token, &keys, &ENCIPHER, &mut blocks);
            for ((own, text), block) in own.iter().zip(text).zip(blocks) {
                assert_eq!(block, plain::block(own, &ENCIPHER, text), "{lanes} lanes");
            }
        }
    }
}

pub(crate) fn parity_bits_are_not_looked_at<F: Form<Token: Token>>() {
    let Some(token) = F::Token::had() else { return };
    let mut random = Random(0x1414_2135);
    let own = random.arrays(F::LANES);
    let mut keys = F::empty_keys(token);
    F::set_keys(token, &mut keys, 0, &own);
    F::set_keys(token, &mut keys, 1, &own.iter().map(|key| key.map(|byte| byte ^ 1)).collect::<Vec<_>>());
    let text = random.arrays(F::LANES);
    let mut blocks = text.clone();
    F::blocks(token, &keys, &[Stage::encipher(0), Stage::decipher(1)], &mut blocks);
    assert_eq!(blocks, text);
}

/// Hashes as many blocks as the shortest text has, by the form's own function and by passes of blocks; both must agree.
pub(crate) fn mdc_of_up_to_four_texts<F: Form<Token: Token>>() {
    let Some(token) = F::Token::had() else { return };
    let mut random = Random(0x3DC4);
    let step = |state: Pair, inputs: Pair| {
        let mut outputs = inputs;
        for (key, output) in mdc::keys(&state).iter().zip(&mut outputs) {
            *output = plain::des(key, true, *output);
        }
        mdc::after(&inputs, &outputs)
    };
    for (count, blocks, four) in (0..=mdc::MDC_TEXTS_MAX)
        .flat_map(|count| (0..20).flat_map(move |blocks| [false, true].map(|four| (count, blocks, four))))
    {
        let texts: Vec<Vec<Block>> = (0..count).map(|text| random.arrays(blocks + text * 5 % 3)).collect();
        let texts: Vec<&[Block]> = texts.iter().map(|text| &text[..]).collect();
        let before: Vec<Pair> = (0..count).map(|_| [random.array(), random.array()]).collect();
        let mut expected = before.clone();
        for (state, text) in expected.iter_mut().zip(&texts) {
            for block in &text[..blocks] {
                let before = *state;
                *state = step(before, [*block; 2]);
                if four {
                    *state = step(*state, mdc::crossed(before));
                }
            }
        }
        let (mut ours, mut passes) = (before.clone(), before);
        F::mdc(token, four, &mut ours, &texts);
        mdc::in_passes::<F>(token, four, &mut passes, &texts);
        assert_eq!(ours, expected, "{count} texts of {blocks} blocks, {four}");
        assert_eq!(passes, expected, "{count} texts of {blocks} blocks, {four}, in passes");
    }
}

/// Declares the tests above for one form.
macro_rules! form_tests {
    ($form:ty) => {
        #[test]
        fn every_program_at_every_number_of_lanes() {
            $crate::low::des::tests::every_program_at_every_number_of_lanes::<$form>();
        }

        #[test]
        fn mdc_of_up_to_four_texts() {
            $crate::low::des::tests::mdc_of_up_to_four_texts::<$form>();
        }

        #[test]
        fn cbc_of_many_streams_at_every_count() {
            $crate::low::des::tests::cbc_of_many_streams_at_every_count::<$form>();
        }

        #[test]
        fn lines_of_many_streams() {
            $crate::low::des::tests::lines_of_many_streams::<$form>();
        }

        #[test]
        fn one_stream_at_every_border() {
            $crate::low::des::tests::one_stream_at_every_border::<$form>();
        }

        #[test]
        fn weak_keys_cancel() {
            $crate::low::des::tests::weak_keys_cancel::<$form>();
        }

        #[test]
        fn one_key_for_all_beside_keys_for_each() {
            $crate::low::des::tests::one_key_for_all_beside_keys_for_each::<$form>();
        }

        #[test]
        fn parity_bits_are_not_looked_at() {
            $crate::low::des::tests::parity_bits_are_not_looked_at::<$form>();
        }
    };
}
pub(crate) use form_tests;
