//! New RSA keys by search in lanes: probable primes by FIPS 186-5, A.1.3 and B.3.1.
//!
//! Two eights of candidates go through each pass, interleaved. A candidate is an odd random number of the
//! wanted length and at least the square root of 2 times the least such, so that the product of two has its
//! full length. It has no small factor (a sieve rejects six of seven odd numbers for a fiftieth of what a
//! round costs) and, where the public exponent has small factors, is not 1 modulo one of them. What passes one
//! round of Miller-Rabin goes alone through a pass of eight more rounds, one a lane.
//!
//! - Rounds. Table B.1 asks for 4, 3 and 2 of 1024, 1536 and 2048 bits for an error of 2^-100; the bound of
//!   Damgard, Landrock and Pomerance, k^(3/2) 2^t t^(-1/2) 4^(2 - sqrt(tk)), gives 8 of 512 bits and 17 of
//!   256. One pass after the first makes 9, three make 25: see [`passes`].
//! - Bases are random numbers of all digits, reduced by the kernel. A residue is then at most a quarter more
//!   likely than another, which the rounds above the table's outweigh; to draw again, as B.3.1 does, would
//!   compare with a secret.
//! - Miller-Rabin of a secret. The exponent is (w - 1) / 2^a with a of the lane, but every lane goes through
//!   [`TWOS_USUAL`] squarings, and if any lane of eight has a larger a, through [`TWOS_MAX`]. The time then
//!   tells that such a lane is there, of one prime in four thousand, and no more of its a.
//! - Only what rejects a candidate, never what it leaves unrejected, steers a branch: nothing is learned
//!   about a prime but that it is one.
//! - It is seven to ten times as fast as the library's own generation. Of RSA-2048's time the kernels take
//!   three fifths, what the library makes of the two primes a quarter, the sieve a thirteenth.
//! - Dropped: incremental search (adding 2 to one start), which sieves for less but favours primes after
//!   long gaps and is not the standard's procedure.

use std::array;

use super::rsa_lane_keys::PRIME_DIGITS_MAX;
use super::rsa_sieve::{PRIME_WORDS_MAX, Sieve};
use crate::low::cpu::Avx512;
use crate::low::ffi_random;
use crate::low::ffi_rsa::RsaObject;
use crate::low::rsa::{
    DIGIT_BITS, DIGIT_MASK, LANES, Moduli, Row, Secret, digits_for, equal_lanes, load_bytes, multiply,
    power_pair, store_bytes,
};
use crate::low::wipe_bytes;
use crate::secret::SecretBytes;

/// Longest prime in bytes.
const PRIME_BYTES_MAX: usize = 8 * PRIME_WORDS_MAX;
/// Candidates less one are divisible by two at most this often: less than a digit, so that none that chance
/// will ever draw is left out.
const TWOS_MAX: u32 = DIGIT_BITS as u32 - 1;
/// Most are by two at most this often: one in four thousand is not.
const TWOS_USUAL: u32 = 12;
/// The first 64 bits of the square root of 2; a candidate's are above them.
const SQUARE_ROOT_OF_2: u64 = 0xb504_f333_f9de_6484;
/// Pairs of primes that may turn out not to serve before the search gives up; one in thousands does not.
const PAIRS_MAX: usize = 100;
/// Random bytes drawn at a time.
const RANDOM_BYTES: usize = 8 * PRIME_BYTES_MAX;

/// A new key in Chinese-remainder form with p > q, proven by one operation. `bits` is a multiple of 8 from
/// 512 to 4096; `e` is odd, above one, and at most half as long. None if the library fails inside.
pub(crate) fn generate(token: Option<Avx512>, bits: usize, e: &[u8]) -> Option<RsaObject> {
    let mut search = Search::new(token, bits / 2, e)?;
    for _ in 0..PAIRS_MAX {
        let [p, q] = search.two_primes();
        if let Some(key) = RsaObject::from_primes(p.bytes(), q.bytes(), e) {
            return Some(key);
        }
    }
    None
}

/// Passes of eight rounds that a candidate must survive after its first round: with it, 9 rounds from 512
/// bits on and 25 below.
fn passes(bits: usize) -> usize {
    if bits >= 512 { 1 } else { 3 }
}

/// A candidate or prime, big-endian; wiped when dropped. It has room for the longest, so that it lies on the
/// heap and leaves nothing behind where it is moved from.
struct Candidate {
    room: SecretBytes,
    bytes: usize,
}

impl Candidate {
    fn new(bits: usize) -> Candidate {
        Candidate { room: SecretBytes::new(PRIME_BYTES_MAX), bytes: bits.div_ceil(8) }
    }

    fn bytes(&self) -> &[u8] {
        &self.room[..self.bytes]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.room[..self.bytes]
    }
}

struct Search {
    token: Option<Avx512>,
    bits: usize,
    digits: usize,
    sieve: Sieve,
    random: Random,
    /// Survivors of a round, not yet confirmed.
    likely: Vec<Candidate>,
}

impl Search {
    fn new(token: Option<Avx512>, bits: usize, e: &[u8]) -> Option<Search> {
        let digits = digits_for(bits).filter(|digits| *digits <= PRIME_DIGITS_MAX)?;
        Some(Search {
            token,
            bits,
            digits,
            sieve: Sieve::new(bits, e),
            random: Random::new(),
            likely: Vec::new(),
        })
    }

    fn two_primes(&mut self) -> [Candidate; 2] {
        let mut primes: [Candidate; 2] = array::from_fn(|_| Candidate::new(self.bits));
        let mut found = 0;
        while found < 2 {
            let pair = self.two_likely();
            let confirmed = self.confirm(&pair);
            for (prime, is_prime) in pair.into_iter().zip(confirmed) {
                if is_prime && found < 2 {
                    primes[found] = prime;
                    found += 1;
                }
            }
        }
        primes
    }

    /// Two numbers that passed one round.
    fn two_likely(&mut self) -> [Candidate; 2] {
        loop {
            if self.likely.len() >= 2
                && let (Some(a), Some(b)) = (self.likely.pop(), self.likely.pop())
            {
                return [a, b];
            }
            let mut eights = array::from_fn(|_| Secret::<PRIME_DIGITS_MAX>::zero());
            for eight in &mut eights {
                for lane in 0..LANES {
                    let candidate = self.candidate();
                    load_bytes(&mut eight.0[..self.digits], lane, candidate.bytes());
                }
            }
            let passed = self.round(&eights);
            for (eight, passed) in eights.iter().zip(passed) {
                for lane in (0..LANES).filter(|lane| passed >> lane & 1 == 1) {
                    let mut likely = Candidate::new(self.bits);
                    let stored = store_bytes(&eight.0[..self.digits], lane, likely.bytes_mut());
                    debug_assert!(stored);
                    self.likely.push(likely);
                }
            }
        }
    }

    /// Whether each of two numbers passes all further rounds.
    fn confirm(&mut self, pair: &[Candidate; 2]) -> [bool; 2] {
        let mut eights = array::from_fn(|_| Secret::<PRIME_DIGITS_MAX>::zero());
        for (eight, number) in eights.iter_mut().zip(pair) {
            (0..LANES).for_each(|lane| load_bytes(&mut eight.0[..self.digits], lane, number.bytes()));
        }
        let mut passed = [true; 2];
        for _ in 0..passes(self.bits) {
            let lanes = self.round(&eights);
            passed = array::from_fn(|at| passed[at] && lanes[at] == u8::MAX);
        }
        passed
    }

    /// An odd number of the wanted length without small factors.
    fn candidate(&mut self) -> Candidate {
        let mut candidate = Candidate::new(self.bits);
        let bytes = candidate.bytes_mut();
        let (last, above) = (bytes.len() - 1, 8 * bytes.len() - self.bits);
        loop {
            self.random.fill(bytes);
            // The top bit of the length, and nothing above it.
            bytes[0] = bytes[0] & (0xff >> above) | 0x80 >> above;
            bytes[last] |= 1;
            let (mut top, mut bottom) = ([0; 16], [0; 8]);
            top.copy_from_slice(&bytes[..16]);
            bottom.copy_from_slice(&bytes[last - 7..]);
            let top = (u128::from_be_bytes(top) << above >> 64) as u64;
            let twos = (u64::from_be_bytes(bottom) & !1).trailing_zeros();
            if top > SQUARE_ROOT_OF_2 && twos <= TWOS_MAX && self.sieve.passes(bytes) {
                return candidate;
            }
        }
    }

    /// One round of Miller-Rabin (FIPS 186-5, B.3.1) in each lane of two eights, with random bases. Returns the
    /// lanes that passed, as bits.
    fn round(&mut self, eights: &[Secret<PRIME_DIGITS_MAX>; 2]) -> [u8; 2] {
        let (token, digits) = (self.token, self.digits);
        let numbers = eights.each_ref().map(|eight| &eight.0[..digits]);
        let mut moduli = [Moduli::room(digits), Moduli::room(digits)];
        moduli.iter_mut().zip(numbers).for_each(|(moduli, numbers)| moduli.set(token, numbers));
        let mut exponents = array::from_fn::<_, 2, _>(|_| Secret::<PRIME_DIGITS_MAX>::zero());
        let mut bases = array::from_fn::<_, 2, _>(|_| Secret::<PRIME_DIGITS_MAX>::zero());
        let mut powers = array::from_fn::<_, 2, _>(|_| Secret::<PRIME_DIGITS_MAX>::zero());
        let mut twos = [[0; LANES]; 2];
        for at in 0..2 {
            twos[at] = odd_part(numbers[at], &mut exponents[at].0[..digits]);
            self.random.rows(&mut bases[at].0[..digits]);
        }
        let [power_0, power_1] = powers.each_mut().map(|power| &mut power.0[..digits]);
        power_pair(
            token,
            [&moduli[0], &moduli[1]],
            bases.each_ref().map(|base| &base.0[..digits]),
            exponents.each_ref().map(|exponent| &exponent.0[..digits]),
            self.bits,
            [power_0, power_1],
        );
        array::from_fn(|at| passed(token, &moduli[at], &mut powers[at].0[..digits], &twos[at]))
    }
}

/// w - 1 = 2^a * m for the odd w of each lane: writes m and returns a, which is at most [`TWOS_MAX`].
fn odd_part(w: &[Row], m: &mut [Row]) -> [u32; LANES] {
    let mut twos = [0; LANES];
    for (lane, twos) in twos.iter_mut().enumerate() {
        let a = (w[0].0[lane] & !1).trailing_zeros() % DIGIT_BITS as u32;
        let mut digit = w[0].0[lane] & !1;
        for (at, m) in m.iter_mut().enumerate() {
            let next = w.get(at + 1).map_or(0, |row| row.0[lane]);
            m.0[lane] = (digit >> a | next << (DIGIT_BITS as u32 - a)) & DIGIT_MASK;
            digit = next;
        }
        *twos = a;
    }
    twos
}

/// Steps 4.5 to 4.7 of B.3.1 for z = base^m: the lanes in which it is 1, or becomes w - 1 by fewer than a
/// squarings. All lanes are squared equally often.
fn passed(token: Option<Avx512>, w: &Moduli, z: &mut [Row], twos: &[u32; LANES]) -> u8 {
    let mut one = [Row::ZERO; PRIME_DIGITS_MAX];
    one[0] = Row([1; LANES]);
    let mut minus_one = Secret::<PRIME_DIGITS_MAX>::zero();
    let minus_one = &mut minus_one.0[..z.len()];
    minus_one.copy_from_slice(w.n());
    minus_one[0].0.iter_mut().for_each(|digit| *digit &= !1);
    let mut square = Secret::<PRIME_DIGITS_MAX>::zero();
    let square = &mut square.0[..z.len()];

    let mut passed = equal_lanes(z, &one[..z.len()]) | equal_lanes(z, minus_one);
    let all_usual = twos.iter().all(|a| *a <= TWOS_USUAL);
    for squarings in 1..if all_usual { TWOS_USUAL } else { TWOS_MAX } {
        multiply(token, w, z, z, square);
        z.copy_from_slice(square);
        let counts = twos.iter().rev().fold(0, |bits, a| bits << 1 | u8::from(squarings < *a));
        passed |= equal_lanes(z, minus_one) & counts;
    }
    passed
}

/// Random bytes drawn many at a time and wiped as they are handed out.
struct Random {
    bytes: SecretBytes,
    used: usize,
}

impl Random {
    fn new() -> Random {
        Random { bytes: SecretBytes::new(RANDOM_BYTES), used: RANDOM_BYTES }
    }

    fn fill(&mut self, out: &mut [u8]) {
        if RANDOM_BYTES - self.used < out.len() {
            ffi_random::fill(&mut self.bytes);
            self.used = 0;
        }
        let piece = &mut self.bytes[self.used..self.used + out.len()];
        out.copy_from_slice(piece);
        wipe_bytes(piece);
        self.used += out.len();
    }

    /// Random digits in every lane.
    fn rows(&mut self, rows: &mut [Row]) {
        let mut bytes = [0; 8 * LANES];
        for row in rows {
            self.fill(&mut bytes);
            for (digit, bytes) in row.0.iter_mut().zip(bytes.as_chunks::<8>().0) {
                *digit = u64::from_le_bytes(*bytes) & DIGIT_MASK;
            }
        }
        wipe_bytes(&mut bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::low::cpu::Cpu;
    use openssl::bn::{BigNum, BigNumContext};

    fn is_prime(bytes: &[u8]) -> bool {
        let mut scratch = BigNumContext::new().unwrap();
        BigNum::from_slice(bytes).unwrap().is_prime(20, &mut scratch).unwrap()
    }

    #[test]
    fn primes_have_their_length_and_are_prime() {
        for token in [None, Cpu::up_to_avx512().avx512] {
            for bits in [256, 260, 380, 516] {
                let mut search = Search::new(token, bits, &[1, 0, 1]).unwrap();
                for _ in 0..if token.is_some() { 4 } else { 1 } {
                    for prime in search.two_primes() {
                        assert_eq!(BigNum::from_slice(prime.bytes()).unwrap().num_bits() as usize, bits);
                        assert!(is_prime(prime.bytes()));
                        // Its square has full length, so every product has.
                        let number = BigNum::from_slice(prime.bytes()).unwrap();
                        assert_eq!((&number * &number).num_bits() as usize, 2 * bits);
                    }
                }
            }
        }
    }

    /// Primes pass and others do not, whatever the power of two in the number less one.
    #[test]
    fn rounds_know_primes() {
        let mut scratch = BigNumContext::new().unwrap();
        for token in [None, Cpu::up_to_avx512().avx512] {
            for bits in [256, 512] {
                let mut search = Search::new(token, bits, &[3]).unwrap();
                for twos in (1..=TWOS_USUAL + 1).chain([20, TWOS_MAX]).map(|twos| twos as i32) {
                    // w = odd * 2^twos + 1, and the next such that is prime.
                    let (mut w, mut step) = (BigNum::new().unwrap(), BigNum::new().unwrap());
                    w.rand(bits as i32, openssl::bn::MsbOption::TWO_ONES, true).unwrap();
                    for bit in 0..=twos {
                        if bit == 0 || bit == twos {
                            w.set_bit(bit).unwrap()
                        } else {
                            w.clear_bit(bit).unwrap()
                        }
                    }
                    step.set_bit(twos + 1).unwrap();
                    while !w.is_prime(10, &mut scratch).unwrap() {
                        w = &w + &step;
                    }
                    let composite = &w + &step;
                    if composite.is_prime(10, &mut scratch).unwrap() || w.num_bits() != bits as i32 {
                        continue;
                    }
                    let mut eights: [_; 2] = array::from_fn(|_| Secret::<PRIME_DIGITS_MAX>::zero());
                    for (eight, number) in eights.iter_mut().zip([&w, &composite]) {
                        (0..LANES).for_each(|lane| {
                            load_bytes(&mut eight.0[..search.digits], lane, &number.to_vec());
                        });
                    }
                    // A composite number of this length passes a round with a chance of far below 2^-40.
                    assert_eq!(search.round(&eights), [u8::MAX, 0], "{bits} bits, 2^{twos}");
                }
            }
        }
    }

    /// Numbers that Fermat's test would let pass for most bases: Carmichael numbers (6k + 1)(12k + 1)(18k + 1).
    #[test]
    fn carmichael_numbers_fail() {
        let token = Cpu::up_to_avx512().avx512;
        let mut scratch = BigNumContext::new().unwrap();
        let mut search = Search::new(token, 256, &[3]).unwrap();
        let number = |value: u64| BigNum::from_dec_str(&value.to_string()).unwrap();
        let mut k = 1u64 << 54;
        let mut found = 0;
        while found < 2 {
            k += 1;
            let factors = [6, 12, 18].map(|factor| &(&number(k) * &number(factor)) + &number(1));
            let small = [5u64, 7, 11, 13, 17, 19, 23, 29, 31];
            let sieved = small.iter().any(|prime| {
                [6, 12, 18]
                    .iter()
                    .any(|factor| (u128::from(k) * factor + 1).is_multiple_of(u128::from(*prime)))
            });
            if sieved || !factors.iter().all(|factor| factor.is_prime(5, &mut scratch).unwrap()) {
                continue;
            }
            found += 1;
            let carmichael = &(&factors[0] * &factors[1]) * &factors[2];
            assert!((1..=TWOS_MAX as i32).any(|bit| carmichael.is_bit_set(bit)));
            let mut eights: [_; 2] = array::from_fn(|_| Secret::<PRIME_DIGITS_MAX>::zero());
            for eight in &mut eights {
                (0..LANES)
                    .for_each(|lane| load_bytes(&mut eight.0[..search.digits], lane, &carmichael.to_vec()));
            }
            let [first, second] = search.round(&eights);
            // At most a quarter of the bases lie; sixteen never do.
            assert!((first.count_ones() + second.count_ones()) <= 12, "{first:b} {second:b}");
        }
    }
}
