//! Ciphers in ECB, CBC and CTR.

use super::choices::Choices;
use super::peer::theirs;
use super::{BLOCKS_MAX, ENGINES, ITEMS_MAX};
use engine::{CipherAlgorithm, CipherDirection, CipherItem, Mode};

/// Batches of cipher requests at every level, item by item as OpenSSL has it.
pub fn engine_ciphers(data: &[u8]) {
    let mut choices = Choices::new(data);
    let mode = [Mode::Ecb, Mode::Cbc, Mode::Ctr][choices.below(3)];
    let direction = [CipherDirection::Encipher, CipherDirection::Decipher][choices.below(2)];
    let count = choices.below(ITEMS_MAX) + 1;
    let mixed = choices.below(2) == 0;
    let mut algorithm = CipherAlgorithm::ALL[choices.below(6)];
    let requests: Vec<_> = (0..count)
        .map(|_| {
            if mixed {
                algorithm = CipherAlgorithm::ALL[choices.below(6)];
            }
            let block = algorithm.block_bytes();
            let ragged = if choices.below(16) == 0 { choices.below(block) } else { 0 };
            let bytes = choices.below(BLOCKS_MAX) * block + ragged;
            let key = choices.bytes(algorithm.key_bytes());
            (algorithm, key, choices.bytes(block), choices.bytes(bytes))
        })
        .collect();
    for engine in &*ENGINES {
        let keys: Vec<_> = requests
            .iter()
            .map(|(algorithm, key, ..)| engine.cipher_key(*algorithm, key).expect("a key of its length"))
            .collect();
        let mut texts: Vec<_> = requests.iter().map(|(.., text)| text.clone()).collect();
        let mut items: Vec<_> = keys
            .iter()
            .zip(&requests)
            .zip(&mut texts)
            .map(|((key, (_, _, chain, _)), text)| CipherItem::new(key, chain, text))
            .collect();
        engine.cipher_batch(mode, direction, &mut items);
        let results: Vec<_> = items.iter().map(|item| (item.result, item.chain)).collect();
        for (((algorithm, key, chain, text), ours), (result, chain_out)) in
            requests.iter().zip(&texts).zip(results)
        {
            let block = algorithm.block_bytes();
            if mode != Mode::Ctr && !text.len().is_multiple_of(block) {
                assert!(result.is_err() && ours == text, "a ragged text is refused and left alone");
                continue;
            }
            assert!(result.is_ok());
            let (expected, expected_chain) = theirs(*algorithm, mode, direction, key, chain, text);
            assert_eq!(ours, &expected, "{algorithm} {mode} {direction:?} at {}", engine.level());
            assert_eq!(chain_out[..block], expected_chain, "{algorithm} {mode} at {}", engine.level());
        }
    }
}
