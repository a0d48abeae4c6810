//! The sieve of the search for primes: finds the candidates that have a small factor.
//!
//! The candidate is reduced modulo words, each a product of several primes, by Montgomery reduction without multiplying
//! the radix back in: a factor coprime to the modulus does not change divisibility. That costs one pair of
//! multiplications per word and modulus, with several moduli in flight.
//!
//! A candidate is secret until it is rejected: branches depend only on the reason to reject it.

use crate::low::rsa::{LANES, Secret};

/// The longest candidate, in words of 64 bits.
pub(super) const PRIME_WORDS_MAX: usize = 32;
/// The sieve's primes are below this many times the length of a candidate in bits: about there, another prime costs as
/// much as the rounds it saves.
const SIEVE_LIMIT: usize = 8;
/// The number of moduli of the sieve that are in flight together.
const SIEVE_STEP: usize = 8;

/// Small odd primes, several to a word, for candidates of one length.
pub(super) struct Sieve {
    words: Vec<[SieveWord; SIEVE_STEP]>,
    primes: Vec<SievePrime>,
}

/// A product of small primes, with its constants for Montgomery reduction.
#[derive(Clone, Copy)]
struct SieveWord {
    modulus: u64,
    /// -1 / modulus mod 2^64
    negated_inverse: u64,
    /// The result of reducing the number 1, to test the primes that divide the public exponent.
    one: u64,
    /// The range of its primes in the list of all.
    first: usize,
    end: usize,
}

#[derive(Clone, Copy)]
struct SievePrime {
    /// A number is divisible by the prime if its product with this is at most `limit`.
    inverse: u64,
    limit: u64,
    divides_e: bool,
}

impl Sieve {
    /// A sieve for candidates of `bits` bits and a public exponent.
    pub(super) fn new(bits: usize, e: &[u8]) -> Sieve {
        let words_of_candidate = bits.div_ceil(64);
        let mut words = Vec::new();
        let mut primes = Vec::new();
        let mut word = SieveWord { modulus: 1, negated_inverse: 0, one: 0, first: 0, end: 0 };
        for prime in small_primes(SIEVE_LIMIT * bits) {
            match word.modulus.checked_mul(prime).filter(|product| *product < u64::MAX >> 1) {
                Some(product) => word.modulus = product,
                None => {
                    words.push(word);
                    word = SieveWord { modulus: prime, first: word.end, ..word };
                }
            }
            word.end += 1;
            let remainder = e.iter().fold(0, |remainder, byte| (remainder << 8 | u64::from(*byte)) % prime);
            let inverse = inverse(prime);
            primes.push(SievePrime { inverse, limit: u64::MAX / prime, divides_e: remainder == 0 });
        }
        words.push(word);
        for word in &mut words {
            word.negated_inverse = inverse(word.modulus).wrapping_neg();
            word.one = (0..words_of_candidate).fold(0, |rest, at| word.reduce(rest, u64::from(at == 0)));
        }
        // The last step is filled up with copies of the first word.
        words.resize(words.len().next_multiple_of(SIEVE_STEP), words[0]);
        Sieve { words: words.as_chunks().0.to_vec(), primes }
    }

    /// Whether no prime divides the candidate, and no prime that divides the public exponent divides the candidate less
    /// one. Ends at the first step that rejects.
    pub(super) fn passes(&self, candidate: &[u8]) -> bool {
        let mut words = Secret::<{ PRIME_WORDS_MAX / LANES }>::zero();
        let words = words.0.as_mut_slice();
        let mut filled = 0;
        for piece in candidate.rchunks(8) {
            let mut bytes = [0; 8];
            bytes[8 - piece.len()..].copy_from_slice(piece);
            words[filled / LANES].0[filled % LANES] = u64::from_be_bytes(bytes);
            filled += 1;
        }
        self.words.iter().all(|step| {
            let mut rests = [0; SIEVE_STEP];
            for at in 0..filled {
                let candidate_word = words[at / LANES].0[at % LANES];
                for (rest, word) in rests.iter_mut().zip(step) {
                    *rest = word.reduce(*rest, candidate_word);
                }
            }
            let mut divisible = false;
            for (rest, word) in rests.iter().zip(step) {
                for prime in &self.primes[word.first..word.end] {
                    divisible |= prime.divides(*rest);
                    divisible |= prime.divides_e & prime.divides(rest.abs_diff(word.one));
                }
            }
            !divisible
        })
    }
}

impl SieveWord {
    /// (rest + word) / 2^64 modulo the modulus; the result may be one above it.
    fn reduce(&self, rest: u64, word: u64) -> u64 {
        let sum = u128::from(rest) + u128::from(word);
        let multiple = (sum as u64).wrapping_mul(self.negated_inverse);
        // Below 2^65 + 2^127, so nothing overflows.
        (sum.wrapping_add(u128::from(multiple).wrapping_mul(u128::from(self.modulus))) >> 64) as u64
    }
}

impl SievePrime {
    fn divides(&self, number: u64) -> bool {
        number.wrapping_mul(self.inverse) <= self.limit
    }
}

/// 1 / number mod 2^64 of an odd number, by Newton's iteration: first correct to 3 bits, then to twice as many with
/// each step.
fn inverse(number: u64) -> u64 {
    (0..5).fold(number, |inverse, _| inverse.wrapping_mul(2u64.wrapping_sub(number.wrapping_mul(inverse))))
}

/// The odd primes below a limit (Eratosthenes).
fn small_primes(limit: usize) -> Vec<u64> {
    let mut composite = vec![false; limit];
    let mut primes = Vec::new();
    for number in (3..limit).step_by(2) {
        if !composite[number] {
            primes.push(number as u64);
            (number * number..limit).step_by(number).for_each(|multiple| composite[multiple] = true);
        }
    }
    primes
}

#[cfg(test)]
mod tests {
    use super::*;
    use seeded::Random;

    #[test]
    fn the_sieve_rejects_exactly_what_its_primes_divide() {
        let mut random = Random(1);
        let small = small_primes(SIEVE_LIMIT * 256);
        assert_eq!((small.len(), small[0], small[308 - 1]), (308, 3, 2039));
        for e in [&[1, 0, 1][..], &[3], &[105], &[7, 0xf7]] {
            let sieve = Sieve::new(256, e);
            let e = e.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
            let mut counts = [0; 2];
            for _ in 0..2000 {
                let candidate: [u8; 32] = random.array();
                let modulo = |prime: u64| {
                    candidate.iter().fold(0, |rest, byte| (rest << 8 | u64::from(*byte)) % prime)
                };
                let expected =
                    small.iter().all(|prime| modulo(*prime) != 0 && (e % prime != 0 || modulo(*prime) != 1));
                assert_eq!(sieve.passes(&candidate), expected);
                counts[usize::from(expected)] += 1;
            }
            assert!(counts[0] > 1000 && counts[1] > 20, "{counts:?}");
        }
    }
}
