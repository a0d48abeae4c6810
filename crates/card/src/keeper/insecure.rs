//! Master keys of a development home: derived from a public number.
//!
//! ```text
//! key = SHA-256("cryptand insecure development" || register || domain u16 || seed u64)
//! ```
//! with the register as its name in lower case and numbers in little-endian; for the registers of
//! 24 bytes the first 24, each byte with odd parity. The same seed gives the same keys on every
//! machine, so that tests and examples can show tokens.

use super::registers::Registers;
use engine::{Engine, HashAlgorithm, HashItem};
use wire::control::Register;
use zeroize::Zeroize;

const LABEL: &[u8] = b"cryptand insecure development";

/// Fills the current registers of every domain with keys derived from a seed.
pub fn fill(engine: &Engine, registers: &mut Registers, seed: u64) {
    for domain in 0..registers.domains() {
        for register in Register::ALL {
            let mut key = key(engine, register, domain, seed);
            // The domain exists and the key has the register's length.
            let _ = registers.put_current(domain, register, &key[..register.key_bytes()]);
            key.zeroize();
        }
    }
}

/// Bytes of which the first [`Register::key_bytes`] are the key of a register.
fn key(engine: &Engine, register: Register, domain: u16, seed: u64) -> [u8; 32] {
    let name: &[u8] = match register {
        Register::Sym => b"sym",
        Register::Asym => b"asym",
        Register::Aes => b"aes",
        Register::Apka => b"apka",
    };
    let input = [LABEL, name, &domain.to_le_bytes(), &seed.to_le_bytes()].concat();
    let mut items = [HashItem::new(&input)];
    engine.hash_batch(HashAlgorithm::Sha256, &mut items);
    let mut key = [0; 32];
    key.copy_from_slice(&items[0].digest[..32]);
    if register.key_bytes() == 24 {
        for byte in &mut key {
            let even = byte.count_ones().is_multiple_of(2);
            *byte ^= u8::from(even);
        }
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn keys_differ_and_repeat() {
        let engine = Engine::new(engine::Options::default()).unwrap();
        let mut seen = HashSet::new();
        for register in Register::ALL {
            for (domain, seed) in [(0, 1), (1, 1), (0, 2)] {
                let key = key(&engine, register, domain, seed);
                assert!(seen.insert(key));
                assert_eq!(key, super::key(&engine, register, domain, seed));
            }
        }
        let sym = key(&engine, Register::Sym, 0, 1);
        assert!(sym.iter().all(|byte| byte.count_ones() % 2 == 1));
    }

    #[test]
    fn the_derivation_is_as_written() {
        // SHA-256 of the label, "aes", 0000 and 0100000000000000, by another implementation.
        let engine = Engine::new(engine::Options::default()).unwrap();
        let hex: String =
            key(&engine, Register::Aes, 0, 1).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "031eaa52c12931e060c70edffa4e194178cf89df8aab4471412361a1dd455525");
    }

    #[test]
    fn every_register_of_every_domain_is_filled() {
        let engine = Engine::new(engine::Options::default()).unwrap();
        let mut registers = Registers::new(3);
        fill(&engine, &mut registers, 7);
        for domain in 0..3 {
            let handout = registers.handout(domain).unwrap();
            for (register, pair) in Register::ALL.into_iter().zip(&handout.keys) {
                assert_eq!(pair.current.len(), register.key_bytes());
                assert!(pair.old.is_empty());
            }
        }
    }
}
