//! The search for the RSA key that a request generates, in steps between which a card serves others.
//!
//! Before a search everything in the request is checked that can be: its verb is begun, up to the point where it
//! requests the generation. When the key is found, the request runs as any other, and its verb is given that key.

use crate::prepared::rsa::key_codes;
use engine::{Engine, RsaKeyError, RsaPrivateKey, RsaSearch};
use wire::{Codes, code};

/// Searches for a key, where the exponent makes them rare.
pub(crate) const GENERATION_ATTEMPTS: usize = 4;
/// 65537, under which a failed generation is a fault of the hardware.
pub(crate) const COMMON_EXPONENT: &[u8] = &[1, 0, 1];

/// The key, or why there is none.
pub(crate) type Generated = Result<RsaPrivateKey, Codes>;

/// A search that goes on. What it holds is wiped when it is dropped.
pub struct Search {
    modulus_bits: usize,
    exponent: Vec<u8>,
    search: RsaSearch,
    attempts: usize,
}

/// The result of a search, for a request with the same modulus length and exponent. Wiped when it is dropped.
pub struct Found {
    modulus_bits: usize,
    exponent: Vec<u8>,
    answer: Generated,
}

impl Search {
    pub(crate) fn begin(engine: &Engine, modulus_bits: usize, exponent: Vec<u8>) -> Option<Self> {
        let search = engine.rsa_search(modulus_bits, &exponent).ok()?;
        Some(Self { modulus_bits, exponent, search, attempts: 1 })
    }

    /// Advances the search by one step; `None` while it has not ended. After the end the search is to be dropped.
    pub fn step(&mut self, engine: &Engine) -> Option<Found> {
        let answer = match self.search.step()? {
            // As in a pass: an exponent of many small factors leaves few primes.
            Err(RsaKeyError::Generation { .. }) if self.exponent != COMMON_EXPONENT => {
                let again = engine.rsa_search(self.modulus_bits, &self.exponent).ok();
                self.attempts += 1;
                match again.filter(|_| self.attempts <= GENERATION_ATTEMPTS) {
                    Some(again) => {
                        self.search = again;
                        return None;
                    }
                    None => Err(code::PKA_FIELD),
                }
            }
            ended => ended.map_err(key_codes),
        };
        Some(Found { modulus_bits: self.modulus_bits, exponent: std::mem::take(&mut self.exponent), answer })
    }
}

impl Found {
    /// The found key, if it has the requested length and exponent.
    pub(crate) fn answer(self, modulus_bits: usize, exponent: &[u8]) -> Option<Generated> {
        let is_it = (self.modulus_bits, &self.exponent[..]) == (modulus_bits, exponent);
        is_it.then_some(self.answer)
    }
}
