//! Columns at every level: batches of equal requests against OpenSSL request by request, at numbers of requests around
//! the lanes of every form, at every length around the borders of blocks and lines, side by side, at a distance and
//! scattered; keys that are unwrapped first; and what is refused.
//!
//! With `CRYPTAND_TEST_ALL=1` a million random requests of each kind, otherwise a hundredth of them.

use crate::des::peer::Peer;
use engine::*;
use seeded::Random;

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

/// Numbers of requests: around the lanes of every form and the numbers at which forms change.
const LANES: [usize; 26] = [
    0, 1, 2, 7, 8, 9, 16, 17, 23, 24, 25, 35, 36, 37, 63, 64, 65, 129, 200, 255, 256, 257, 511, 512, 513,
    1025,
];

const DES_MACS: [MacAlgorithm; 4] =
    [MacAlgorithm::X99, MacAlgorithm::X919, MacAlgorithm::CmacTdes2, MacAlgorithm::CmacTdes3];

const AES_MACS: [MacAlgorithm; 3] =
    [MacAlgorithm::CmacAes128, MacAlgorithm::CmacAes192, MacAlgorithm::CmacAes256];

/// Records of which each holds a piece, at a distance of `stride`.
struct Records {
    memory: Vec<u8>,
    bytes: usize,
    stride: usize,
    lanes: usize,
}

impl Records {
    /// The last piece ends with the memory.
    fn new(random: &mut Random, bytes: usize, lanes: usize) -> Records {
        let stride = bytes + random.pick(&[0, 0, 0, 1, 8, 16, 77]);
        let memory = random.bytes(lanes.saturating_sub(1) * stride + bytes);
        Records { memory, bytes, stride, lanes }
    }

    fn piece(&self, lane: usize) -> &[u8] {
        &self.memory[lane * self.stride..][..self.bytes]
    }

    fn pieces(&self) -> Vec<&[u8]> {
        (0..self.lanes).map(|lane| self.piece(lane)).collect()
    }

    fn column(&self) -> Column<'_> {
        Column::strided(&self.memory, self.bytes, self.stride, self.lanes).unwrap()
    }
}

/// What OpenSSL says a MAC of DES is.
fn des_mac(algorithm: MacAlgorithm, key: &[u8], text: &[u8]) -> Vec<u8> {
    let (mut text, mut chain) = (text.to_vec(), [0; 8]);
    match algorithm {
        MacAlgorithm::X99 | MacAlgorithm::X919 => {
            text.resize(text.len().next_multiple_of(8), 0);
            Peer::new(&key[..8]).run(Mode::Cbc, true, &mut chain, &mut text);
            if algorithm == MacAlgorithm::X919 {
                Peer::new(&key[8..]).run(Mode::Ecb, false, &mut [0; 8], &mut chain);
                Peer::new(&key[..8]).run(Mode::Ecb, true, &mut [0; 8], &mut chain);
            }
        }
        _ => {
            let peer = Peer::new(key);
            let mut subkey = [0; 8];
            peer.run(Mode::Ecb, true, &mut [0; 8], &mut subkey);
            let double = |block: [u8; 8]| {
                let value = u64::from_be_bytes(block);
                (value << 1 ^ if value >> 63 == 1 { 0x1b } else { 0 }).to_be_bytes()
            };
            subkey = double(subkey);
            if text.is_empty() || text.len() % 8 != 0 {
                subkey = double(subkey);
                text.push(0x80);
                text.resize(text.len().next_multiple_of(8), 0);
            }
            let last = text.len() - 8;
            text[last..].iter_mut().zip(subkey).for_each(|(byte, key_byte)| *byte ^= key_byte);
            peer.run(Mode::Cbc, true, &mut chain, &mut text);
        }
    }
    chain.to_vec()
}

fn check_macs(engines: &[Engine], algorithm: MacAlgorithm, keys: &Records, texts: &Records) {
    let expected: Vec<Vec<u8>> = (0..keys.lanes)
        .map(|lane| match algorithm.block_bytes() {
            8 => des_mac(algorithm, keys.piece(lane), texts.piece(lane)),
            _ => aes_mac(keys.piece(lane), texts.piece(lane)),
        })
        .collect();
    let (key_pieces, text_pieces) = (keys.pieces(), texts.pieces());
    for engine in engines {
        let place = || format!("{algorithm} {} x {} bytes, {}", texts.lanes, texts.bytes, engine.level());
        let mut macs = vec![0xee; texts.lanes * algorithm.block_bytes()];
        engine.mac_columns(algorithm, keys.column(), texts.column(), &mut macs).unwrap();
        assert!(macs == expected.concat(), "{}", place());
        if texts.lanes > 0 {
            macs.fill(0xee);
            let [keys, texts] = [&key_pieces, &text_pieces].map(|pieces| Column::scattered(pieces).unwrap());
            engine.mac_columns(algorithm, keys, texts, &mut macs).unwrap();
            assert!(macs == expected.concat(), "scattered: {}", place());
        }
    }
}

fn aes_mac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let key = openssl::pkey::PKey::cmac(
        &match key.len() {
            16 => openssl::symm::Cipher::aes_128_cbc(),
            24 => openssl::symm::Cipher::aes_192_cbc(),
            _ => openssl::symm::Cipher::aes_256_cbc(),
        },
        key,
    )
    .unwrap();
    let mut signer = openssl::sign::Signer::new_without_digest(&key).unwrap();
    signer.update(text).unwrap();
    signer.sign_to_vec().unwrap()
}

#[test]
fn macs_at_every_number_of_requests() {
    let engines = engines();
    let mut random = Random(1);
    for lanes in LANES {
        for algorithm in DES_MACS.into_iter().chain(AES_MACS) {
            let bytes = random.pick(&[0, 1, 8, 13, 64, 100, 128]);
            let keys = Records::new(&mut random, algorithm.key_bytes(), lanes);
            let texts = Records::new(&mut random, bytes, lanes);
            check_macs(&engines, algorithm, &keys, &texts);
        }
    }
}

#[test]
fn macs_of_every_length() {
    let engines = engines();
    let mut random = Random(2);
    for bytes in (0..=74).chain([120, 127, 128, 129, 136, 191, 192, 193, 1000]) {
        for algorithm in DES_MACS.into_iter().chain(AES_MACS) {
            for lanes in [1, 5, 24, 40] {
                let keys = Records::new(&mut random, algorithm.key_bytes(), lanes);
                let texts = Records::new(&mut random, bytes, lanes);
                check_macs(&engines, algorithm, &keys, &texts);
            }
        }
    }
}

#[test]
fn many_macs_are_what_openssl_says_of_each() {
    let engines = engines();
    let mut random = Random(3);
    let mut done = 0;
    while done < count(1_000_000) {
        let algorithm = random.pick(&DES_MACS);
        let (lanes, bytes) = (1 + random.below(600), random.below(150));
        let keys = Records::new(&mut random, algorithm.key_bytes(), lanes);
        let texts = Records::new(&mut random, bytes, lanes);
        check_macs(&engines, algorithm, &keys, &texts);
        done += lanes;
    }
}

/// The items of a batch and columns say the same.
#[test]
fn macs_are_those_of_a_batch() {
    let mut random = Random(4);
    for engine in engines() {
        for algorithm in MacAlgorithm::ALL {
            let keys = Records::new(&mut random, algorithm.key_bytes(), 70);
            let texts = Records::new(&mut random, 90, 70);
            let prepared: Vec<_> =
                keys.pieces().iter().map(|key| engine.mac_key(algorithm, key).unwrap()).collect();
            let mut items: Vec<_> =
                prepared.iter().zip(texts.pieces()).map(|(key, text)| MacItem::new(key, text)).collect();
            engine.mac_batch(&mut items);
            let block = algorithm.block_bytes();
            let mut macs = vec![0; 70 * block];
            engine.mac_columns(algorithm, keys.column(), texts.column(), &mut macs).unwrap();
            for (item, mac) in items.iter().zip(macs.chunks(block)) {
                assert_eq!(item.mac[..block], *mac, "{algorithm}");
            }
        }
    }
}

fn check_hmacs(
    engines: &[Engine],
    random: &mut Random,
    algorithm: HashAlgorithm,
    bytes: [usize; 2],
    lanes: usize,
) {
    let [keys, texts] = bytes.map(|bytes| Records::new(random, bytes, lanes));
    let digest = match algorithm {
        HashAlgorithm::Sha1 => openssl::hash::MessageDigest::sha1(),
        HashAlgorithm::Sha224 => openssl::hash::MessageDigest::sha224(),
        HashAlgorithm::Sha256 => openssl::hash::MessageDigest::sha256(),
        HashAlgorithm::Sha512 => openssl::hash::MessageDigest::sha512(),
        _ => openssl::hash::MessageDigest::sha3_256(),
    };
    let expected: Vec<Vec<u8>> = (0..lanes)
        .map(|lane| {
            let key = openssl::pkey::PKey::hmac(keys.piece(lane)).unwrap();
            let mut signer = openssl::sign::Signer::new(digest, &key).unwrap();
            signer.update(texts.piece(lane)).unwrap();
            signer.sign_to_vec().unwrap()
        })
        .collect();
    for engine in engines {
        let mut macs = vec![0xee; lanes * algorithm.digest_bytes()];
        engine.hmac_columns(algorithm, keys.column(), texts.column(), &mut macs).unwrap();
        assert!(macs == expected.concat(), "{algorithm} {lanes} x {bytes:?}, {}", engine.level());
    }
}

const HASHES: [HashAlgorithm; 5] = [
    HashAlgorithm::Sha1,
    HashAlgorithm::Sha224,
    HashAlgorithm::Sha256,
    HashAlgorithm::Sha512,
    HashAlgorithm::Sha3_256,
];

#[test]
fn hmacs_at_every_number_of_requests_and_length() {
    let engines = engines();
    let mut random = Random(9);
    for algorithm in HASHES {
        for lanes in (0..=35).chain([63, 64, 65]) {
            let bytes = [1 + random.below(150), random.below(200)];
            check_hmacs(&engines, &mut random, algorithm, bytes, lanes);
        }
        for bytes in (0..=130).chain([191, 192, 1000]) {
            check_hmacs(&engines, &mut random, algorithm, [20, bytes], 18);
        }
        for key_bytes in [1, 63, 64, 65, 127, 128, 129, 200] {
            check_hmacs(&engines, &mut random, algorithm, [key_bytes, 50], 18);
        }
    }
}

const CIPHERS: [CipherAlgorithm; 3] = [CipherAlgorithm::Des, CipherAlgorithm::Tdes2, CipherAlgorithm::Tdes3];

fn check_ciphers(engines: &[Engine], random: &mut Random, algorithm: CipherAlgorithm, lanes: usize) {
    let mode = random.pick(&[Mode::Ecb, Mode::Cbc]);
    let direction = random.pick(&[CipherDirection::Encipher, CipherDirection::Decipher]);
    let block = algorithm.block_bytes();
    let bytes = block * random.pick(&[0, 1, 1, 2, 3, 8, 9, 20]);
    let keys = Records::new(random, algorithm.key_bytes(), lanes);
    let texts = Records::new(random, bytes, lanes);
    let chains = random.bytes(lanes * block);
    let (mut expected, mut expected_chains) = (texts.memory.clone(), chains.clone());
    for lane in 0..lanes {
        let text = &mut expected[lane * texts.stride..][..bytes];
        let encipher = direction == CipherDirection::Encipher;
        if block == 8 {
            let chain = expected_chains[8 * lane..].first_chunk_mut().unwrap();
            Peer::new(keys.piece(lane)).run(mode, encipher, chain, text);
        } else {
            // What the engine says of one text, which its own tests compare.
            let chain = &mut expected_chains[block * lane..][..block];
            engines[0].cipher(algorithm, mode, direction, keys.piece(lane), chain, text).unwrap();
        }
    }
    for engine in engines {
        let (mut memory, mut chains) = (texts.memory.clone(), chains.clone());
        let mut column = ColumnMut::strided(&mut memory, bytes, texts.stride, lanes).unwrap();
        let given: &mut [u8] = if mode == Mode::Cbc { &mut chains } else { &mut [] };
        engine.cipher_columns(algorithm, mode, direction, keys.column(), given, &mut column).unwrap();
        let place = || format!("{algorithm} {mode} {direction:?} {lanes} x {bytes}, {}", engine.level());
        assert!(memory == expected, "{}", place());
        assert!(mode == Mode::Ecb || chains == expected_chains, "{}", place());
    }
}

#[test]
fn ciphers_at_every_number_of_requests() {
    let engines = engines();
    let mut random = Random(5);
    for lanes in LANES {
        for algorithm in CipherAlgorithm::ALL {
            for _ in 0..4 {
                check_ciphers(&engines, &mut random, algorithm, lanes);
            }
        }
    }
}

#[test]
fn many_ciphers_are_what_openssl_says_of_each() {
    let engines = engines();
    let mut random = Random(6);
    let mut done = 0;
    while done < count(1_000_000) {
        let (algorithm, lanes) = (random.pick(&CIPHERS), 1 + random.below(600));
        check_ciphers(&engines, &mut random, algorithm, lanes);
        done += lanes;
    }
}

/// The chain of a PIN translation: two keys of each request unwrapped, blocks deciphered with the one, changed in the
/// clear and enciphered with the other.
fn check_chain(engines: &[Engine], random: &mut Random, lanes: usize) {
    let algorithms = [random.pick(&CIPHERS[1..]), random.pick(&CIPHERS[1..])];
    let tokens = algorithms.map(|algorithm| Records::new(random, algorithm.key_bytes(), lanes));
    let under: Vec<Vec<u8>> = (0..6)
        .map(|_| {
            let bytes = random.pick(&[16, 24]);
            random.bytes(bytes)
        })
        .collect();
    // Every second time the same for all; the first key's otherwise one for all its parts, the other's one for each.
    let is_one = random.below(2) == 0;
    let under_of = |key: usize| -> Vec<&[u8]> {
        let parts = algorithms[key].key_bytes() / 8;
        match key {
            _ if is_one => vec![&under[0]],
            0 => vec![&under[1]],
            _ => under[2..2 + parts].iter().map(|key| &key[..]).collect(),
        }
    };
    let under = [under_of(0), under_of(1)];
    let start = random.bytes(8 * lanes);
    let mut expected = start.clone();
    for (lane, block) in expected.chunks_mut(8).enumerate() {
        for key in 0..2 {
            let mut clear = tokens[key].piece(lane).to_vec();
            for (part, bytes) in clear.chunks_mut(8).enumerate() {
                let under = under[key][part.min(under[key].len() - 1)];
                Peer::new(under).run(Mode::Ecb, false, &mut [0; 8], bytes);
            }
            Peer::new(&clear).run(Mode::Ecb, key == 1, &mut [0; 8], block);
            if key == 0 {
                block[0] ^= 0x5a;
            }
        }
    }
    let mut keys = DesColumns::new();
    for engine in engines {
        let wrapped: Vec<_> = (0..2)
            .map(|key| WrappedColumn {
                algorithm: algorithms[key],
                under: &under[key],
                keys: tokens[key].column(),
            })
            .collect();
        engine.unwrap_des_columns(&mut keys, &wrapped).unwrap();
        assert_eq!(keys.lanes(), lanes);
        let mut blocks = start.clone();
        let pass = |key: usize, direction, blocks: &mut [u8]| {
            let mut column = ColumnMut::contiguous(blocks, 8, lanes).unwrap();
            let own = keys.key(key).unwrap();
            engine.cipher_columns(algorithms[key], Mode::Ecb, direction, own, &mut [], &mut column).unwrap();
        };
        pass(0, CipherDirection::Decipher, &mut blocks);
        blocks.chunks_mut(8).for_each(|block| block[0] ^= 0x5a);
        pass(1, CipherDirection::Encipher, &mut blocks);
        assert!(blocks == expected, "{lanes} requests, {}", engine.level());
        assert!(keys.key(2).is_none());
    }
}

#[test]
fn keys_are_unwrapped_and_worked_with_at_every_number_of_requests() {
    let engines = engines();
    let mut random = Random(7);
    for lanes in LANES {
        check_chain(&engines, &mut random, lanes);
    }
    let mut done = 0;
    while done < count(1_000_000) {
        let lanes = 1 + random.below(600);
        check_chain(&engines, &mut random, lanes);
        done += lanes;
    }
}

/// MACs under keys that were unwrapped, each part under a key of its own, are those under the same keys in the clear.
#[test]
fn macs_under_unwrapped_keys() {
    let mut random = Random(8);
    for engine in engines() {
        for (algorithm, mac) in [
            (CipherAlgorithm::Tdes2, MacAlgorithm::X919),
            (CipherAlgorithm::Tdes2, MacAlgorithm::CmacTdes2),
            (CipherAlgorithm::Tdes3, MacAlgorithm::CmacTdes3),
            (CipherAlgorithm::Des, MacAlgorithm::X99),
        ] {
            for lanes in [1, 30, 300] {
                let under: Vec<Vec<u8>> = (0..algorithm.key_bytes() / 8).map(|_| random.bytes(16)).collect();
                let under: Vec<&[u8]> = under.iter().map(|key| &key[..]).collect();
                let clear = Records::new(&mut random, algorithm.key_bytes(), lanes);
                let mut tokens = clear.memory.clone();
                for token in tokens.chunks_mut(clear.stride) {
                    for (part, under) in token.chunks_mut(8).zip(&under) {
                        Peer::new(under).run(Mode::Ecb, true, &mut [0; 8], part);
                    }
                }
                let texts = Records::new(&mut random, 50, lanes);
                let (mut expected, mut macs) = (vec![0; 8 * lanes], vec![0; 8 * lanes]);
                engine.mac_columns(mac, clear.column(), texts.column(), &mut expected).unwrap();
                let mut keys = DesColumns::new();
                let column = Column::strided(&tokens, algorithm.key_bytes(), clear.stride, lanes).unwrap();
                let wrapped = [WrappedColumn { algorithm, under: &under, keys: column }];
                engine.unwrap_des_columns(&mut keys, &wrapped).unwrap();
                engine.mac_columns(mac, keys.key(0).unwrap(), texts.column(), &mut macs).unwrap();
                assert!(macs == expected, "{mac} {lanes}");
            }
        }
    }
}

#[test]
fn columns_that_do_not_fit_memory_are_refused() {
    let memory = [0; 100];
    assert!(Column::strided(&memory, 16, 28, 4).is_ok());
    assert_eq!(
        Column::strided(&memory, 16, 29, 4).err(),
        Some(ColumnError::Memory { bytes: 100, needed: 103 })
    );
    assert_eq!(
        Column::strided(&memory, 16, 15, 2).err(),
        Some(ColumnError::Stride { stride: 15, bytes: 16 })
    );
    assert_eq!(
        Column::contiguous(&memory, 51, 2).err(),
        Some(ColumnError::Memory { bytes: 100, needed: 102 })
    );
    let endless = Column::strided(&memory, 8, usize::MAX, 3).err();
    assert_eq!(endless, Some(ColumnError::Memory { bytes: 100, needed: usize::MAX }));
    assert!(Column::strided(&[], 8, 8, 0).is_ok() && Column::contiguous(&[], 0, 5).is_ok());
    let pieces: [&[u8]; 3] = [&[1; 8], &[2; 8], &[3; 9]];
    let unequal = ColumnError::Unequal { lane: 2, bytes: 9, expected: 8 };
    assert_eq!(Column::scattered(&pieces).err(), Some(unequal));
    assert_eq!(Column::scattered(&pieces[..2]).unwrap().lanes(), 2);
    let mut memory = memory;
    assert_eq!(
        ColumnMut::strided(&mut memory, 8, 7, 1).err(),
        Some(ColumnError::Stride { stride: 7, bytes: 8 })
    );
    assert_eq!(
        ColumnMut::contiguous(&mut memory, 8, 13).err(),
        Some(ColumnError::Memory { bytes: 100, needed: 104 })
    );
}

#[test]
fn macs_of_columns_that_do_not_fit_each_other_are_refused() {
    let engine = Engine::new(Options::default()).unwrap();
    let (keys, texts, mut macs) = ([1; 64], [2; 64], [0xee; 32]);
    let column = |memory, bytes, lanes| Column::contiguous(memory, bytes, lanes).unwrap();
    let mut refused = |algorithm, keys, texts, bytes: usize| {
        engine.mac_columns(algorithm, keys, texts, &mut macs[..bytes]).unwrap_err()
    };
    let x919 = MacAlgorithm::X919;
    assert_eq!(
        refused(x919, column(&keys, 16, 4), column(&texts, 16, 3), 32),
        ColumnError::Lanes { lanes: 3, expected: 4 }
    );
    assert_eq!(
        refused(x919, column(&keys, 16, 4), column(&texts, 16, 4), 31),
        ColumnError::Output { bytes: 31, needed: 32 }
    );
    let wrong_length = KeyError::MacKeyLength { algorithm: x919, bytes: 8 };
    assert_eq!(refused(x919, column(&keys, 8, 4), column(&texts, 16, 4), 32), ColumnError::Key(wrong_length));
    let x99 = MacAlgorithm::X99;
    assert_eq!(
        refused(x99, column(&keys, 8, 4), column(&texts, 16, 4), 32),
        ColumnError::Key(KeyError::WeakMac(x99))
    );
    assert_eq!(macs, [0xee; 32], "nothing was changed");
    let mut refused = |algorithm, keys, texts, bytes: usize| {
        engine.hmac_columns(algorithm, keys, texts, &mut macs[..bytes]).unwrap_err()
    };
    let sha1 = HashAlgorithm::Sha1;
    assert_eq!(
        refused(sha1, column(&keys, 20, 3), column(&texts, 16, 2), 32),
        ColumnError::Lanes { lanes: 2, expected: 3 }
    );
    assert_eq!(
        refused(sha1, column(&keys, 20, 2), column(&texts, 16, 2), 32),
        ColumnError::Output { bytes: 32, needed: 40 }
    );
    let md5 = HashAlgorithm::Md5;
    assert_eq!(
        refused(md5, column(&keys, 20, 2), column(&texts, 16, 2), 32),
        ColumnError::Key(KeyError::WeakHash(md5))
    );
    assert_eq!(macs, [0xee; 32], "nothing was changed");
}

#[test]
fn texts_in_columns_that_do_not_fit_are_refused() {
    let engine = Engine::new(Options::default()).unwrap();
    let (keys, mut texts, mut chains) = ([1; 64], [2; 64], [3; 32]);
    let tdes = CipherAlgorithm::Tdes2;
    let mut refused =
        |algorithm, mode, keys: (usize, usize), bytes, lanes, chain_bytes: usize, memory: &[u8; 64]| {
            let keys = Column::contiguous(memory, keys.0, keys.1).unwrap();
            let mut texts = ColumnMut::contiguous(&mut texts, bytes, lanes).unwrap();
            let direction = CipherDirection::Encipher;
            let chains = &mut chains[..chain_bytes];
            engine.cipher_columns(algorithm, mode, direction, keys, chains, &mut texts).unwrap_err()
        };
    let cbc = Mode::Cbc;
    assert_eq!(refused(tdes, cbc, (16, 4), 16, 3, 24, &keys), ColumnError::Lanes { lanes: 3, expected: 4 });
    assert_eq!(
        refused(tdes, cbc, (16, 4), 12, 4, 32, &keys),
        ColumnError::TextLength { bytes: 12, block_bytes: 8 }
    );
    assert_eq!(refused(tdes, cbc, (16, 4), 16, 4, 24, &keys), ColumnError::Output { bytes: 24, needed: 32 });
    assert_eq!(refused(tdes, Mode::Ctr, (16, 4), 16, 4, 32, &keys), ColumnError::Mode(Mode::Ctr));
    let wrong_length = KeyError::CipherKeyLength { algorithm: tdes, bytes: 8 };
    assert_eq!(refused(tdes, cbc, (8, 4), 16, 4, 32, &keys), ColumnError::Key(wrong_length));
    let des = CipherAlgorithm::Des;
    assert_eq!(refused(des, cbc, (8, 4), 16, 4, 32, &keys), ColumnError::Key(KeyError::WeakCipher(des)));
    assert_eq!(
        refused(CipherAlgorithm::Aes128, cbc, (16, 4), 16, 4, 32, &keys),
        ColumnError::Output { bytes: 32, needed: 64 }
    );
    assert_eq!((texts, chains), ([2; 64], [3; 32]), "nothing was changed");
}

#[test]
fn wrapped_keys_that_do_not_fit_are_refused_and_nothing_is_kept() {
    let engine = Engine::new(Options::default()).unwrap();
    let (tokens, under) = ([5; 64], [7; 24]);
    let mut keys = DesColumns::new();
    let good = |algorithm: CipherAlgorithm, lanes| {
        let keys = Column::contiguous(&tokens, algorithm.key_bytes(), lanes).unwrap();
        (algorithm, keys)
    };
    let mut unwrap = |columns: &[(CipherAlgorithm, Column<'_>)], under: &[&[u8]]| {
        let wrapped: Vec<_> =
            columns.iter().map(|&(algorithm, keys)| WrappedColumn { algorithm, under, keys }).collect();
        let done = engine.unwrap_des_columns(&mut keys, &wrapped);
        assert_eq!(keys.lanes(), if done.is_ok() { columns[0].1.lanes() } else { 0 });
        assert_eq!(keys.key(0).is_some(), done.is_ok());
        done
    };
    let tdes = CipherAlgorithm::Tdes2;
    assert_eq!(unwrap(&[good(tdes, 4)], &[&under]), Ok(()));
    assert_eq!(unwrap(&[good(tdes, 4)], &[&under, &under[..16]]), Ok(()));
    let none = ColumnError::WrappingKeys { keys: 0, parts: 2 };
    assert_eq!(unwrap(&[good(tdes, 4)], &[]), Err(none));
    let three = ColumnError::WrappingKeys { keys: 3, parts: 2 };
    assert_eq!(unwrap(&[good(tdes, 4)], &[&under[..]; 3]), Err(three));
    assert_eq!(unwrap(&[good(tdes, 4)], &[&under[..8]]), Err(ColumnError::WrappingKeyLength { bytes: 8 }));
    assert_eq!(
        unwrap(&[good(tdes, 4), good(tdes, 3)], &[&under]),
        Err(ColumnError::Lanes { lanes: 3, expected: 4 })
    );
    let wrong_length = KeyError::CipherKeyLength { algorithm: tdes, bytes: 24 };
    let (_, long) = good(CipherAlgorithm::Tdes3, 2);
    assert_eq!(unwrap(&[(tdes, long)], &[&under]), Err(ColumnError::Key(wrong_length)));
    let aes = good(CipherAlgorithm::Aes128, 2);
    assert_eq!(unwrap(&[aes], &[&under]), Err(ColumnError::NotDes));
    // Kept keys are of DES: an algorithm of AES with keys of that length does not take them.
    assert_eq!(unwrap(&[good(tdes, 2)], &[&under]), Ok(()));
    let texts = Column::contiguous(&tokens, 16, 2).unwrap();
    let mut macs = [0; 32];
    let done = engine.mac_columns(MacAlgorithm::CmacAes128, keys.key(0).unwrap(), texts, &mut macs);
    assert_eq!(done, Err(ColumnError::NotDes));
    keys.clear();
    assert!(keys.key(0).is_none() && keys.lanes() == 0);
}
