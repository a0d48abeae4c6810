//! The engine of this crate, and its generator in the form that rPGP's functions take.

use engine::{Engine, Options};
use std::sync::OnceLock;

/// The engine for operations with keys: best level, no weak algorithms.
pub(crate) fn engine() -> Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    *ENGINE.get_or_init(|| {
        Engine::new(Options::default()).expect("the library's known answers hold on this machine")
    })
}

/// The engine's generator.
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

/// So many random bytes.
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
