//! Ciphers and MACs for the tests.

use engine::{CipherAlgorithm, CipherDirection, Engine, Mode, Options};

/// The bytes of a text of hexadecimal digits.
pub(crate) fn hex<const N: usize>(text: &str) -> [u8; N] {
    assert_eq!(text.len(), 2 * N);
    std::array::from_fn(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap())
}

/// Enciphers whole blocks, each by itself (ECB).
pub(crate) fn encipher<const N: usize>(algorithm: CipherAlgorithm, key: &[u8], block: &[u8; N]) -> [u8; N] {
    let engine = Engine::new(Options { weak_algorithms: true, ..Options::default() }).unwrap();
    let (mut chain, mut text) = ([0; 16], *block);
    engine.cipher(algorithm, Mode::Ecb, CipherDirection::Encipher, key, &mut chain, &mut text).unwrap();
    text
}

/// Enciphers one block under a two-part DES key.
pub(crate) fn tdes(key: &[u8; 16], block: &[u8; 8]) -> [u8; 8] {
    encipher(CipherAlgorithm::Tdes2, key, block)
}

/// Enciphers one block under a one-part DES key.
pub(crate) fn des(key: &[u8; 8], block: &[u8; 8]) -> [u8; 8] {
    encipher(CipherAlgorithm::Des, key, block)
}

/// The key of the published vectors of PIN methods.
pub(crate) const KEY: &str = "0123456789ABCDEFFEDCBA9876543210";

/// Enciphers or deciphers whole blocks in CBC mode.
pub(crate) fn cbc(
    algorithm: CipherAlgorithm,
    direction: CipherDirection,
    key: &[u8],
    vector: &[u8],
    text: &[u8],
) -> Vec<u8> {
    let engine = Engine::new(Options { weak_algorithms: true, ..Options::default() }).unwrap();
    let (mut chain, mut text) = (vector.to_vec(), text.to_vec());
    engine.cipher(algorithm, Mode::Cbc, direction, key, &mut chain, &mut text).unwrap();
    text
}

/// The CMAC of a message (NIST SP 800-38B), by its definition.
pub(crate) fn cmac(algorithm: CipherAlgorithm, key: &[u8], message: &[u8]) -> Vec<u8> {
    let aes =
        matches!(algorithm, CipherAlgorithm::Aes128 | CipherAlgorithm::Aes192 | CipherAlgorithm::Aes256);
    let (block, residue) = if aes { (16, 0x87) } else { (8, 0x1B) };
    let encipher = |text: &[u8]| cbc(algorithm, CipherDirection::Encipher, key, &vec![0; block], text);
    let double = |value: &[u8]| -> Vec<u8> {
        let mut twice: Vec<u8> =
            (0..block).map(|at| value[at] << 1 | value.get(at + 1).map_or(0, |next| next >> 7)).collect();
        twice[block - 1] ^= residue * (value[0] >> 7);
        twice
    };
    let mut subkey = double(&encipher(&vec![0; block]));
    let mut padded = message.to_vec();
    if padded.is_empty() || !padded.len().is_multiple_of(block) {
        subkey = double(&subkey);
        padded.push(0x80);
        padded.resize(padded.len().next_multiple_of(block), 0);
    }
    let last = padded.len() - block;
    for (byte, mask) in padded[last..].iter_mut().zip(&subkey) {
        *byte ^= mask;
    }
    encipher(&padded).split_off(last)
}

/// The retail MAC of whole blocks (ISO 9797-1, algorithm 3).
pub(crate) fn retail_mac(key: &[u8; 16], message: &[u8]) -> [u8; 8] {
    let (before, last) = message.split_last_chunk::<8>().unwrap();
    let chain = if before.is_empty() {
        [0; 8]
    } else {
        let text = cbc(CipherAlgorithm::Des, CipherDirection::Encipher, &key[..8], &[0; 8], before);
        *text.last_chunk().unwrap()
    };
    tdes(key, &std::array::from_fn(|at| chain[at] ^ last[at]))
}
