//! The key derivation function of ANSI X9.63, 5.6.3 (SEC 1, 3.6.1): `H(Z | 1 | S) | H(Z | 2 | S) | ...`, cut to the
//! length of the key, with counters of four bytes, Z the secret that the parties agree on and S what they know.

use engine::{Engine, HashAlgorithm, SecretBytes};
use wire::{Codes, code};
use zeroize::Zeroize;

/// A key of `bytes` bytes.
///
/// # Errors
/// 8/783 for a hash that the settings do not enable; 16/336 for a key of more than 2^32 - 1 digests.
pub(crate) fn derive(
    engine: &Engine,
    hash: HashAlgorithm,
    secret: &SecretBytes,
    shared: &[u8],
    bytes: usize,
) -> Result<SecretBytes, Codes> {
    let mut hashed = SecretBytes::new(secret.len() + COUNTER_BYTES + shared.len());
    hashed[..secret.len()].copy_from_slice(secret);
    hashed[secret.len() + COUNTER_BYTES..].copy_from_slice(shared);
    let mut key = SecretBytes::new(bytes);
    for (index, block) in key.chunks_mut(hash.digest_bytes()).enumerate() {
        let counter = u32::try_from(index + 1).map_err(|_| code::SELF_CHECK)?;
        hashed[secret.len()..][..COUNTER_BYTES].copy_from_slice(&counter.to_be_bytes());
        let mut digest = engine.hash(hash, &hashed).map_err(|_| code::WEAK_ALGORITHM)?;
        block.copy_from_slice(&digest[..block.len()]);
        digest.zeroize();
    }
    Ok(key)
}

const COUNTER_BYTES: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Options;

    fn bytes(hexadecimal: &str) -> Vec<u8> {
        let digit = |at| u8::from_str_radix(&hexadecimal[at..at + 2], 16).unwrap();
        (0..hexadecimal.len()).step_by(2).map(digit).collect()
    }

    /// Vectors of NIST's Cryptographic Algorithm Validation Program for ANSI X9.63: see the head of the file.
    #[test]
    fn published_vectors() {
        let engine = Engine::new(Options::default()).unwrap();
        let mut tried = Vec::new();
        for line in include_str!("known/x963.txt").lines().filter(|line| !line.starts_with('#')) {
            let fields: Vec<&str> = line.split(' ').collect();
            let [name, secret, shared, key] = fields[..] else { panic!("{line}") };
            let hash = HashAlgorithm::ALL.into_iter().find(|hash| hash.name() == name).unwrap();
            let shared = bytes(shared.trim_matches('-'));
            let (secret, key) = (SecretBytes::from_slice(&bytes(secret)), bytes(key));
            assert_eq!(*derive(&engine, hash, &secret, &shared, key.len()).unwrap(), key[..], "{line}");
            tried.push(name);
        }
        tried.dedup();
        assert_eq!(tried, ["SHA-224", "SHA-256", "SHA-384", "SHA-512"]);
    }

    #[test]
    fn a_shorter_key_is_the_start_of_a_longer_one() {
        let engine = Engine::new(Options::default()).unwrap();
        let secret = SecretBytes::from_slice(&[9; 66]);
        let long = derive(&engine, HashAlgorithm::Sha256, &secret, b"both", 100).unwrap();
        for length in [0, 1, 31, 32, 33, 64, 65, 99] {
            let short = derive(&engine, HashAlgorithm::Sha256, &secret, b"both", length).unwrap();
            assert_eq!(*short, long[..length]);
        }
    }
}
