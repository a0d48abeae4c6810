//! DES at every level: batches of any make-up against OpenSSL request by request, lengths and numbers at the
//! borders of blocks, pieces, lanes and tables, weak keys, and the Monte Carlo procedure of SP 800-20.
//!
//! With `CRYPTAND_TEST_ALL=1` a million random requests of each kind and the full procedure, otherwise a
//! hundredth of them.

use engine::*;
use seeded::Random;

pub mod peer;
use peer::Peer;

/// The full number with `CRYPTAND_TEST_ALL`, else a hundredth.
fn count(full: usize) -> usize {
    if std::env::var_os("CRYPTAND_TEST_ALL").is_some_and(|value| value == "1") { full } else { full / 100 }
}

/// An engine per level that this machine has.
fn engines() -> Vec<Engine> {
    let engine = |limit| Engine::new(Options { limit: Some(limit), weak_algorithms: true }).unwrap();
    let best = Engine::new(Options::default()).unwrap().level();
    Level::ALL.into_iter().filter(|level| *level <= best).map(engine).collect()
}

/// Numbers of requests: around the lanes of every form, the numbers at which forms change, and the tables.
const BATCHES: [usize; 33] = [
    1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 25, 31, 32, 33, 36, 63, 64, 65, 127, 128, 129, 200, 255, 256,
    257, 384, 511, 512, 513, 1024, 1100,
];

/// Lengths in blocks: each batch draws from one of these lists.
const LENGTHS: [&[usize]; 7] = [
    &[1],
    &[0, 1, 2, 3],
    &[8],
    &[7, 8, 9, 15, 16, 17],
    &[1, 2, 5, 12, 30],
    &[62, 63, 64, 65, 127, 128, 129],
    &[1, 1, 1, 1, 1, 1, 1, 4, 33, 255, 511, 512, 513, 600],
];

const KINDS: [&[CipherAlgorithm]; 5] = [
    &[CipherAlgorithm::Des],
    &[CipherAlgorithm::Tdes2],
    &[CipherAlgorithm::Tdes3],
    &[CipherAlgorithm::Tdes2, CipherAlgorithm::Tdes3],
    &[CipherAlgorithm::Des, CipherAlgorithm::Tdes2, CipherAlgorithm::Tdes3, CipherAlgorithm::Aes128],
];

/// A request: what goes in, and what OpenSSL says comes out.
struct Case {
    algorithm: CipherAlgorithm,
    key: Vec<u8>,
    chain: [u8; 16],
    text: Vec<u8>,
}

/// Not more blocks in one batch than this: the longest lists are for few requests.
const BATCH_BLOCKS_MAX: usize = 40_000;

fn cases(random: &mut Random, mode: Mode) -> Vec<Case> {
    let (requests, kinds, lengths) = (random.pick(&BATCHES), random.pick(&KINDS), random.pick(&LENGTHS));
    let mut room = BATCH_BLOCKS_MAX;
    let mut cases = Vec::new();
    while cases.len() < requests && room > 0 {
        let algorithm = random.pick(kinds);
        let blocks = random.pick(lengths).min(room);
        room -= blocks.max(1);
        let mut bytes = blocks * algorithm.block_bytes();
        if mode == Mode::Ctr || random.below(50) == 0 {
            // Any length in CTR; elsewhere now and then one that is refused.
            bytes = bytes.saturating_sub(random.below(8));
        }
        let mut chain = [0; 16];
        chain.copy_from_slice(&random.bytes(16));
        if random.below(4) == 0 {
            // The counter's carry runs through.
            chain[1..8].fill(0xff);
        }
        let key = random.bytes(algorithm.key_bytes());
        cases.push(Case { algorithm, key, chain, text: random.bytes(bytes) });
    }
    cases
}

#[test]
fn batches_of_ciphers_are_what_openssl_says_of_each_request() {
    let engines = engines();
    let mut random = Random(1);
    let mut done = 0;
    while done < count(1_000_000) {
        let mode = random.pick(&[Mode::Ecb, Mode::Cbc, Mode::Ctr]);
        let direction = random.pick(&[CipherDirection::Encipher, CipherDirection::Decipher]);
        let cases = cases(&mut random, mode);
        done += cases.len();
        let expected: Vec<_> = cases.iter().map(|case| expected_cipher(case, mode, direction)).collect();
        for engine in &engines {
            check_ciphers(engine, mode, direction, &cases, &expected);
        }
    }
}

/// Few requests, which run in forms for few: every number of them, of lengths that end at different times and of one.
#[test]
fn few_ciphers_at_every_number_of_requests() {
    let engines = engines();
    let mut random = Random(8);
    for requests in (1..=37).chain([63, 64, 65]) {
        for lengths in [&[8][..], &[1, 2, 7, 8, 9, 16, 17]] {
            for mode in [Mode::Ecb, Mode::Cbc, Mode::Ctr] {
                let direction = random.pick(&[CipherDirection::Encipher, CipherDirection::Decipher]);
                let direction = if mode == Mode::Cbc { CipherDirection::Encipher } else { direction };
                let kinds = random.pick(&KINDS[..4]);
                let case = |random: &mut Random| {
                    let algorithm = random.pick(kinds);
                    let bytes =
                        8 * random.pick(lengths) - if mode == Mode::Ctr { random.below(8) } else { 0 };
                    let chain = random.bytes(16).try_into().unwrap();
                    Case {
                        algorithm,
                        key: random.bytes(algorithm.key_bytes()),
                        chain,
                        text: random.bytes(bytes),
                    }
                };
                let cases: Vec<_> = (0..requests).map(|_| case(&mut random)).collect();
                let expected: Vec<_> =
                    cases.iter().map(|case| expected_cipher(case, mode, direction)).collect();
                engines.iter().for_each(|engine| check_ciphers(engine, mode, direction, &cases, &expected));
            }
        }
    }
}

/// Texts under one key beside each other, which share passes, between others under keys of their own: as many and as
/// long as make one pass, several, and rests in every form.
#[test]
fn neighbours_under_one_key_are_what_each_would_be_alone() {
    let engines = engines();
    let mut random = Random(18);
    for round in 0..count(2_500) {
        let mode = random.pick(&[Mode::Ecb, Mode::Cbc, Mode::Ctr]);
        let direction = random.pick(&[CipherDirection::Encipher, CipherDirection::Decipher]);
        let lengths =
            random.pick(&[&[178][..], &[1, 8, 25, 178, 188], &[0, 1, 63, 64, 65], &[511, 512, 513, 1100]]);
        let algorithms = random.pick(&KINDS[..4]);
        let mut cases = Vec::new();
        for _ in 0..1 + random.below(3) {
            let algorithm = random.pick(algorithms);
            let key = random.bytes(algorithm.key_bytes());
            for _ in 0..random.pick(&[1, 2, 3, 17, 47]) {
                let bytes: usize = 8 * random.pick(lengths);
                let bytes = if mode == Mode::Ctr { bytes.saturating_sub(random.below(8)) } else { bytes };
                let (chain, text) = (random.array(), random.bytes(bytes));
                cases.push(Case { algorithm, key: key.clone(), chain, text });
            }
        }
        let expected: Vec<_> = cases.iter().map(|case| expected_cipher(case, mode, direction)).collect();
        for engine in &engines {
            // One prepared key for each run of equal ones: by that the engine knows them.
            let mut keys: Vec<CipherKey> = Vec::new();
            let mut places = Vec::new();
            for (at, case) in cases.iter().enumerate() {
                if at == 0 || cases[at - 1].key != case.key {
                    keys.push(engine.cipher_key(case.algorithm, &case.key).unwrap());
                }
                places.push(keys.len() - 1);
            }
            let mut texts: Vec<_> = cases.iter().map(|case| case.text.clone()).collect();
            let mut items: Vec<_> = cases
                .iter()
                .zip(&places)
                .zip(&mut texts)
                .map(|((case, place), text)| CipherItem::new(&keys[*place], &case.chain, text))
                .collect();
            engine.cipher_batch(mode, direction, &mut items);
            for (at, (item, (result, text, chain))) in items.iter().zip(&expected).enumerate() {
                let place = || {
                    format!(
                        "round {round}: {at} of {} {mode:?} {direction:?} {}",
                        cases.len(),
                        engine.level()
                    )
                };
                assert_eq!(item.result, *result, "{}", place());
                assert!(*item.data == **text, "{}", place());
                assert_eq!(item.chain, *chain, "{}", place());
            }
        }
    }
}

type Ciphered = (Result<(), CipherError>, Vec<u8>, [u8; 16]);

fn expected_cipher(case: &Case, mode: Mode, direction: CipherDirection) -> Ciphered {
    let (mut text, mut chain) = (case.text.clone(), case.chain);
    let (bytes, block_bytes) = (text.len(), case.algorithm.block_bytes());
    if mode != Mode::Ctr && !bytes.is_multiple_of(block_bytes) {
        return (Err(CipherError::TextLength { mode, bytes, block_bytes }), text, chain);
    }
    if block_bytes == 16 {
        // Not what is tested here: only that DES requests beside it are served, and it beside them.
        let engine = Engine::new(Options::default()).unwrap();
        engine.cipher(case.algorithm, mode, direction, &case.key, &mut chain, &mut text).unwrap();
    } else {
        let half = (&mut chain[..8]).try_into().unwrap();
        Peer::new(&case.key).run(mode, direction == CipherDirection::Encipher, half, &mut text);
    }
    (Ok(()), text, chain)
}

fn check_ciphers(
    engine: &Engine,
    mode: Mode,
    direction: CipherDirection,
    cases: &[Case],
    expected: &[Ciphered],
) {
    let keys: Vec<_> =
        cases.iter().map(|case| engine.cipher_key(case.algorithm, &case.key).unwrap()).collect();
    let mut texts: Vec<_> = cases.iter().map(|case| case.text.clone()).collect();
    let mut items: Vec<_> = cases
        .iter()
        .zip(&keys)
        .zip(&mut texts)
        .map(|((case, key), text)| CipherItem::new(key, &case.chain, text))
        .collect();
    engine.cipher_batch(mode, direction, &mut items);
    for (index, (item, (result, text, chain))) in items.iter().zip(expected).enumerate() {
        let place = || format!("{index} of {} {mode:?} {direction:?} {}", cases.len(), engine.level());
        assert_eq!(item.result, *result, "{}", place());
        assert!(*item.data == **text, "{}", place());
        assert_eq!(item.chain, *chain, "{}", place());
    }
}

const MACS: [&[MacAlgorithm]; 5] = [
    &[MacAlgorithm::X919],
    &[MacAlgorithm::X99, MacAlgorithm::X919],
    &[MacAlgorithm::CmacTdes2],
    &[MacAlgorithm::CmacTdes2, MacAlgorithm::CmacTdes3],
    &[
        MacAlgorithm::X99,
        MacAlgorithm::X919,
        MacAlgorithm::CmacTdes2,
        MacAlgorithm::CmacTdes3,
        MacAlgorithm::CmacAes128,
    ],
];

/// A segment of a text.
struct MacCase {
    algorithm: MacAlgorithm,
    key: Vec<u8>,
    chain: [u8; 16],
    text: Vec<u8>,
    last: bool,
}

#[test]
fn batches_of_macs_are_what_openssl_says_of_each_request() {
    let engines = engines();
    let mut random = Random(2);
    let mut done = 0;
    while done < count(1_000_000) {
        let (requests, kinds, lengths) = (random.pick(&BATCHES), random.pick(&MACS), random.pick(&LENGTHS));
        let partial = random.below(3) > 0;
        let mut room = BATCH_BLOCKS_MAX;
        let mut cases = Vec::new();
        while cases.len() < requests && room > 0 {
            let algorithm = random.pick(kinds);
            let blocks = random.pick(lengths).min(room);
            room -= blocks.max(1);
            let mut bytes = blocks * algorithm.block_bytes();
            if partial {
                bytes = bytes.saturating_sub(random.below(8));
            }
            let mut chain = [0; 16];
            if random.below(3) == 0 {
                chain[..algorithm.block_bytes()].copy_from_slice(&random.bytes(algorithm.block_bytes()));
            }
            let last = random.below(10) > 0;
            let (key, text) = (random.bytes(algorithm.key_bytes()), random.bytes(bytes));
            cases.push(MacCase { algorithm, key, chain, text, last });
        }
        done += cases.len();
        let expected: Vec<_> = cases.iter().map(expected_mac).collect();
        engines.iter().for_each(|engine| check_macs(engine, &cases, &expected));
    }
}

#[test]
fn few_macs_at_every_number_of_requests() {
    let engines = engines();
    let mut random = Random(9);
    for requests in (1..=37).chain([63, 64, 65]) {
        for lengths in [&[64][..], &[1, 7, 8, 9, 63, 64, 65, 130]] {
            for kinds in &MACS[..4] {
                let case = |random: &mut Random| {
                    let algorithm = random.pick(kinds);
                    let (key, bytes) = (random.bytes(algorithm.key_bytes()), random.pick(lengths));
                    MacCase { algorithm, key, chain: [0; 16], text: random.bytes(bytes), last: true }
                };
                let cases: Vec<_> = (0..requests).map(|_| case(&mut random)).collect();
                let expected: Vec<_> = cases.iter().map(expected_mac).collect();
                engines.iter().for_each(|engine| check_macs(engine, &cases, &expected));
            }
        }
    }
}

/// The result, the MAC and the chaining value.
type Maced = (Result<(), MacError>, [u8; 16], [u8; 16]);

fn expected_mac(case: &MacCase) -> Maced {
    let (bytes, block_bytes) = (case.text.len(), case.algorithm.block_bytes());
    let is_cmac = !matches!(case.algorithm, MacAlgorithm::X99 | MacAlgorithm::X919);
    if !case.last && bytes % block_bytes != 0 {
        return (Err(MacError::SegmentLength { bytes, block_bytes }), [0; 16], case.chain);
    }
    if case.last && bytes == 0 && is_cmac && case.chain != [0; 16] {
        return (Err(MacError::LastSegmentEmpty), [0; 16], case.chain);
    }
    if block_bytes == 16 {
        let engine = Engine::new(Options::default()).unwrap();
        let key = engine.mac_key(case.algorithm, &case.key).unwrap();
        let mut alone = [MacItem { chain: case.chain, last: case.last, ..MacItem::new(&key, &case.text) }];
        engine.mac_batch(&mut alone);
        return (alone[0].result, alone[0].mac, alone[0].chain);
    }
    let mut chain: [u8; 8] = case.chain[..8].try_into().unwrap();
    let mut text = case.text.clone();
    let peer = Peer::new(if is_cmac { &case.key } else { &case.key[..8] });
    if is_cmac && case.last {
        let mut subkey = [0; 8];
        peer.run(Mode::Ecb, true, &mut [0; 8], &mut subkey);
        let double = |value: u64| (value << 1) ^ if value >> 63 == 1 { 0x1b } else { 0 };
        let mut subkey = double(u64::from_be_bytes(subkey));
        if text.is_empty() || !text.len().is_multiple_of(8) {
            subkey = double(subkey);
            text.push(0x80);
        }
        text.resize(text.len().next_multiple_of(8), 0);
        let last = text.len() - 8;
        text[last..].iter_mut().zip(subkey.to_be_bytes()).for_each(|(byte, key_byte)| *byte ^= key_byte);
    }
    text.resize(text.len().next_multiple_of(8), 0);
    peer.run(Mode::Cbc, true, &mut chain, &mut text);
    if case.algorithm == MacAlgorithm::X919 && case.last {
        Peer::new(&case.key[8..]).run(Mode::Ecb, false, &mut [0; 8], &mut chain);
        peer.run(Mode::Ecb, true, &mut [0; 8], &mut chain);
    }
    let mut value = [0; 16];
    value[..8].copy_from_slice(&chain);
    (Ok(()), if case.last { value } else { [0; 16] }, value)
}

fn check_macs(engine: &Engine, cases: &[MacCase], expected: &[Maced]) {
    let keys: Vec<_> = cases.iter().map(|case| engine.mac_key(case.algorithm, &case.key).unwrap()).collect();
    let mut items: Vec<_> = cases
        .iter()
        .zip(&keys)
        .map(|(case, key)| MacItem { chain: case.chain, last: case.last, ..MacItem::new(key, &case.text) })
        .collect();
    engine.mac_batch(&mut items);
    for (index, (item, (result, mac, chain))) in items.iter().zip(expected).enumerate() {
        let place = || {
            let MacCase { algorithm, text, last, .. } = &cases[index];
            format!("{index} of {}: {algorithm} {} {last} {}", cases.len(), text.len(), engine.level())
        };
        assert_eq!(item.result, *result, "{}", place());
        assert_eq!(item.mac, *mac, "{}", place());
        assert_eq!(item.chain, *chain, "{}", place());
    }
}

/// Every length of one text around the borders of blocks and passes, in every mode, alone and with the key
/// in the call.
#[test]
fn one_text_at_every_border() {
    let lengths = (0..=66)
        .chain([127, 128, 129, 255, 256, 257, 319, 320, 321, 400])
        .chain([511, 512, 513, 575, 576, 577, 831, 832, 1023, 1024, 1025, 1400]);
    let lengths: Vec<usize> = lengths.collect();
    let engines = engines();
    let mut random = Random(3);
    for blocks in lengths {
        for mode in [Mode::Ecb, Mode::Cbc, Mode::Ctr] {
            for direction in [CipherDirection::Encipher, CipherDirection::Decipher] {
                let algorithm = random.pick(&CipherAlgorithm::ALL[..3]);
                let ragged = if mode == Mode::Ctr { random.below(8) } else { 0 };
                let text = random.bytes((8 * blocks).saturating_sub(ragged));
                let chain = random.bytes(16).try_into().unwrap();
                let case = Case { algorithm, key: random.bytes(algorithm.key_bytes()), chain, text };
                let expected = expected_cipher(&case, mode, direction);
                for engine in &engines {
                    let (mut data, mut chain) = (case.text.clone(), case.chain);
                    engine.cipher(algorithm, mode, direction, &case.key, &mut chain[..8], &mut data).unwrap();
                    assert!((data, chain) == (expected.1.clone(), expected.2), "{blocks} {mode:?}");
                }
            }
        }
    }
}

/// FIPS 74, weak keys, then pairs of semi-weak ones.
const WEAK: [u64; 4] = [0x0101010101010101, 0xfefefefefefefefe, 0xe0e0e0e0f1f1f1f1, 0x1f1f1f1f0e0e0e0e];
const SEMI_WEAK: [(u64, u64); 6] = [
    (0x011f011f010e010e, 0x1f011f010e010e01),
    (0x01e001e001f101f1, 0xe001e001f101f101),
    (0x01fe01fe01fe01fe, 0xfe01fe01fe01fe01),
    (0x1fe01fe00ef10ef1, 0xe01fe01ff10ef10e),
    (0x1ffe1ffe0efe0efe, 0xfe1ffe1ffe0efe0e),
    (0xe0fee0fef1fef1fe, 0xfee0fee0fef1fef1),
];

#[test]
fn weak_and_semi_weak_keys_undo_themselves_or_each_other() {
    let pairs: Vec<(u64, u64)> =
        WEAK.iter().map(|key| (*key, *key)).chain(SEMI_WEAK).chain(SEMI_WEAK.map(|(a, b)| (b, a))).collect();
    let text = Random(4).bytes(8 * 70);
    for engine in engines() {
        let key = |value: u64| engine.cipher_key(CipherAlgorithm::Des, &value.to_be_bytes()).unwrap();
        let run = |first: bool, direction: CipherDirection, data: &mut [Vec<u8>]| {
            let keys: Vec<_> = pairs.iter().map(|pair| key(if first { pair.0 } else { pair.1 })).collect();
            let mut items: Vec<_> =
                keys.iter().zip(data).map(|(key, text)| CipherItem::new(key, &[], text)).collect();
            engine.cipher_batch(Mode::Ecb, direction, &mut items);
        };
        for bytes in [8, 8 * 70] {
            let mut data = vec![text[..bytes].to_vec(); pairs.len()];
            run(true, CipherDirection::Encipher, &mut data);
            for ((first, _), data) in pairs.iter().zip(&data) {
                let mut expected = text[..bytes].to_vec();
                Peer::new(&first.to_be_bytes()).run(Mode::Ecb, true, &mut [0; 8], &mut expected);
                assert_eq!(*data, expected, "{first:016x} {}", engine.level());
            }
            run(false, CipherDirection::Encipher, &mut data);
            assert!(data.iter().all(|data| *data == text[..bytes]), "{}", engine.level());
        }
    }
}

#[test]
fn parity_bits_are_not_looked_at() {
    let mut random = Random(5);
    for engine in engines() {
        let key = random.bytes(24);
        let other: Vec<u8> = key.iter().map(|byte| byte ^ 1).collect();
        for mode in [Mode::Ecb, Mode::Cbc, Mode::Ctr] {
            let run = |key: &[u8]| {
                let mut data = vec![0x5a; 800];
                let direction = CipherDirection::Encipher;
                engine.cipher(CipherAlgorithm::Tdes3, mode, direction, key, &mut [7; 8], &mut data).unwrap();
                data
            };
            assert_eq!(run(&key), run(&other));
        }
    }
}

/// State of one chain of the Monte Carlo procedure.
#[derive(Clone, PartialEq, Debug)]
struct Chain {
    key: Vec<u8>,
    /// CV of the procedure.
    vector: [u8; 8],
    text: [u8; 8],
}

/// SP 800-20, 5.1.5 and its kin: so many rounds of so many operations, over all chains at once; `run` does
/// one operation on each chain's text and leaves the output there.
fn monte_carlo(
    mode: Mode,
    encipher: bool,
    (rounds, operations): (usize, usize),
    chains: &mut [Chain],
    mut run: impl FnMut(&mut [Chain]),
) {
    for _ in 0..rounds {
        // The last three outputs of each chain, the latest first.
        let mut outputs = vec![[[0u8; 8]; 3]; chains.len()];
        for operation in 0..operations {
            let inputs: Vec<_> = chains.iter().map(|chain| (chain.text, chain.vector)).collect();
            run(chains);
            for ((chain, (text, vector)), outputs) in chains.iter_mut().zip(inputs).zip(&mut outputs) {
                let output = chain.text;
                if mode == Mode::Cbc && encipher {
                    chain.text = if operation == 0 { vector } else { outputs[0] };
                    chain.vector = output;
                } else if mode == Mode::Cbc {
                    chain.vector = text;
                }
                *outputs = [output, outputs[0], outputs[1]];
            }
        }
        for (chain, outputs) in chains.iter_mut().zip(&outputs) {
            for (part, output) in chain.key.chunks_mut(8).zip(outputs) {
                for (byte, output) in part.iter_mut().zip(output) {
                    *byte ^= output;
                    *byte ^= u8::from(byte.count_ones() % 2 == 0);
                }
            }
        }
    }
}

#[test]
fn monte_carlo_ecb_encipher_beside_openssl() {
    check_monte_carlo(Mode::Ecb, true);
}

#[test]
fn monte_carlo_ecb_decipher_beside_openssl() {
    check_monte_carlo(Mode::Ecb, false);
}

#[test]
fn monte_carlo_cbc_encipher_beside_openssl() {
    check_monte_carlo(Mode::Cbc, true);
}

#[test]
fn monte_carlo_cbc_decipher_beside_openssl() {
    check_monte_carlo(Mode::Cbc, false);
}

fn check_monte_carlo(mode: Mode, encipher: bool) {
    let (rounds, operations) = (400, count(10_000));
    let mut random = Random(6);
    let algorithm_of = |key: &[u8]| {
        CipherAlgorithm::ALL.into_iter().find(|algorithm| algorithm.key_bytes() == key.len()).unwrap()
    };
    let direction = if encipher { CipherDirection::Encipher } else { CipherDirection::Decipher };
    let start: Vec<Chain> = [8, 16, 24]
        .map(|bytes| Chain {
            key: random.bytes(bytes),
            vector: random.bytes(8).try_into().unwrap(),
            text: random.bytes(8).try_into().unwrap(),
        })
        .into();
    let mut theirs = start.clone();
    monte_carlo(mode, encipher, (rounds, operations), &mut theirs, |chains| {
        for Chain { key, vector, text } in chains {
            Peer::new(key).run(mode, encipher, &mut vector.clone(), text);
        }
    });
    for engine in engines() {
        let mut ours = start.clone();
        monte_carlo(mode, encipher, (rounds, operations), &mut ours, |chains| {
            let keys: Vec<_> = chains
                .iter()
                .map(|chain| engine.cipher_key(algorithm_of(&chain.key), &chain.key).unwrap())
                .collect();
            let mut items: Vec<_> = chains
                .iter_mut()
                .zip(&keys)
                .map(|(chain, key)| CipherItem::new(key, &chain.vector, &mut chain.text))
                .collect();
            engine.cipher_batch(mode, direction, &mut items);
            assert!(items.iter().all(|item| item.result.is_ok()));
        });
        assert_eq!(ours, theirs, "{mode:?} {encipher} {}", engine.level());
    }
}

#[test]
fn a_batch_would_like_so_many_requests() {
    for engine in engines() {
        let wanted = match engine.level() {
            Level::Portable => 64,
            Level::Avx2 => 256,
            Level::Avx512 => 64,
        };
        for algorithm in &CipherAlgorithm::ALL[..3] {
            for mode in [Mode::Ecb, Mode::Cbc, Mode::Ctr] {
                let operation = Operation::Cipher(*algorithm, mode, CipherDirection::Encipher);
                assert_eq!(engine.lanes(operation), wanted, "{operation:?}");
            }
        }
        for algorithm in &MacAlgorithm::ALL[..4] {
            assert_eq!(engine.lanes(Operation::Mac(*algorithm)), wanted, "{algorithm}");
        }
    }
}

/// The last request of a text may be empty where nothing went before: what lies behind the chaining value of eight
/// bytes does not count. A request that is refused has no MAC, whatever stood there.
#[test]
fn an_empty_cmac_and_a_refused_one() {
    for engine in engines() {
        let key = engine.mac_key(MacAlgorithm::CmacTdes3, &Random(7).bytes(24)).unwrap();
        let mut items = [MacItem::new(&key, &[]), MacItem::new(&key, &[]), MacItem::new(&key, &[1; 7])];
        items[1].chain[8..].fill(1);
        items[2].last = false;
        items[2].mac.fill(1);
        engine.mac_batch(&mut items);
        assert_eq!(items[1].result, Ok(()));
        assert_eq!(items[1].mac, items[0].mac);
        assert_eq!(items[2].result, Err(MacError::SegmentLength { bytes: 7, block_bytes: 8 }));
        assert_eq!((items[2].chain, items[2].mac), ([0; 16], [0; 16]));
    }
}

/// The deepest batches on the stack that a card has, 1 MiB, and with three quarters of it in use by callers.
#[test]
fn batches_fit_a_small_stack() {
    let work = || {
        for engine in engines() {
            let cipher_key = engine.cipher_key(CipherAlgorithm::Tdes3, &[3; 24]).unwrap();
            let mac_key = engine.mac_key(MacAlgorithm::CmacTdes3, &[3; 24]).unwrap();
            let mut texts = vec![[1; 72]; 1100];
            for mode in [Mode::Ecb, Mode::Cbc, Mode::Ctr] {
                let mut items: Vec<_> =
                    texts.iter_mut().map(|text| CipherItem::new(&cipher_key, &[0; 8], text)).collect();
                engine.cipher_batch(mode, CipherDirection::Encipher, &mut items);
                assert!(items.iter().all(|item| item.result.is_ok()));
            }
            let mut items: Vec<_> = texts.iter().map(|text| MacItem::new(&mac_key, text)).collect();
            engine.mac_batch(&mut items);
            assert!(items.iter().all(|item| item.result.is_ok()));
        }
    };
    // Without optimisation each copy of a table has a place of its own.
    let stack_bytes = if cfg!(debug_assertions) { 2 << 20 } else { 256 << 10 };
    std::thread::Builder::new().stack_size(stack_bytes).spawn(work).unwrap().join().unwrap();
}
