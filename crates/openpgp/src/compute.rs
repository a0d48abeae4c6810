//! The engine that this crate uses, its hash algorithms, and its random generator in the form that rPGP's functions
//! need.

use crate::HashAlgorithm;
use engine::{Engine, Options};
use std::sync::OnceLock;

/// The engine for operations with keys, one for the process, at the machine's best level and without weak algorithms.
///
/// # Panics
/// If known-answer tests of the machine's cryptography fail.
pub fn engine() -> &'static Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    ENGINE.get_or_init(|| {
        Engine::new(Options::default()).expect("the library's known answers hold on this machine")
    })
}

/// The engine's value for a hash; `None` if the engine does not support it.
pub(crate) fn engine_hash(hash: HashAlgorithm) -> Option<engine::HashAlgorithm> {
    Some(match hash {
        HashAlgorithm::Sha1 => engine::HashAlgorithm::Sha1,
        HashAlgorithm::Sha224 => engine::HashAlgorithm::Sha224,
        HashAlgorithm::Sha256 => engine::HashAlgorithm::Sha256,
        HashAlgorithm::Sha384 => engine::HashAlgorithm::Sha384,
        HashAlgorithm::Sha512 => engine::HashAlgorithm::Sha512,
        HashAlgorithm::Sha3_256 => engine::HashAlgorithm::Sha3_256,
        HashAlgorithm::Sha3_512 => engine::HashAlgorithm::Sha3_512,
        _ => return None,
    })
}

/// The engine's random generator.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EngineRandom;

impl rand::RngCore for EngineRandom {
    fn next_u32(&mut self) -> u32 {
        let mut bytes = [0; 4];
        engine().random(&mut bytes);
        u32::from_le_bytes(bytes)
    }

    fn next_u64(&mut self) -> u64 {
        let mut bytes = [0; 8];
        engine().random(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    fn fill_bytes(&mut self, out: &mut [u8]) {
        engine().random(out);
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), rand::Error> {
        self.fill_bytes(out);
        Ok(())
    }
}

impl rand::CryptoRng for EngineRandom {}

/// `N` random bytes.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    engine().random(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngCore;

    #[test]
    fn values_differ() {
        assert_ne!(EngineRandom.next_u64(), EngineRandom.next_u64());
        assert_ne!(random::<32>(), random::<32>());
    }
}
