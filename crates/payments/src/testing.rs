//! What the tests encipher with.

use engine::{CipherAlgorithm, CipherDirection, Engine, Mode, Options};

/// Bytes of hexadecimal digits.
pub(crate) fn hex<const N: usize>(text: &str) -> [u8; N] {
    assert_eq!(text.len(), 2 * N);
    std::array::from_fn(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap())
}

/// Enciphers whole blocks, each by itself.
pub(crate) fn encipher<const N: usize>(algorithm: CipherAlgorithm, key: &[u8], block: &[u8; N]) -> [u8; N] {
    let engine = Engine::new(Options { weak_algorithms: true, ..Options::default() }).unwrap();
    let (mut chain, mut text) = ([0; 16], *block);
    engine.cipher(algorithm, Mode::Ecb, CipherDirection::Encipher, key, &mut chain, &mut text).unwrap();
    text
}

/// Enciphers one block under a DES key of two parts.
pub(crate) fn tdes(key: &[u8; 16], block: &[u8; 8]) -> [u8; 8] {
    encipher(CipherAlgorithm::Tdes2, key, block)
}

/// Enciphers one block under a DES key.
pub(crate) fn des(key: &[u8; 8], block: &[u8; 8]) -> [u8; 8] {
    encipher(CipherAlgorithm::Des, key, block)
}

/// The key that vectors of PIN methods share.
pub(crate) const KEY: &str = "0123456789ABCDEFFEDCBA9876543210";
