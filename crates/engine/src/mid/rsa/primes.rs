//! Generates RSA keys by a search in lanes: probable primes by FIPS 186-5, A.1.3 and B.3.1.
//!
//! Two groups of eight candidates go through each pass, interleaved. A candidate is an odd random number of the
//! required length, at least the square root of 2 times the least number of that length. The product of two then has
//! its full length. It has no small factor: a sieve rejects six of seven odd numbers for a fiftieth of the cost of a
//! round. It is not 1 modulo any small factor of the public exponent. A candidate that passes one round of Miller-Rabin
//! goes by itself through a pass of eight more rounds, one per lane.
//!
//! - Rounds. Table B.1 requires 4, 3 and 2 for 1024, 1536 and 2048 bits and an error of 2^-100. The bound of Damgard,
//!   Landrock and Pomerance, k^(3/2) 2^t t^(-1/2) 4^(2 - sqrt(tk)), gives 8 for 512 bits and 17 for 256. One pass after
//!   the first makes 9, three make 25: see [`passes`].
//! - Bases are random numbers of all digits, reduced by the kernel. One residue is then at most a quarter more likely
//!   than another, which the rounds above the table's compensate. Drawing again, as B.3.1 does, would need a comparison
//!   with a secret.
//! - Miller-Rabin of a secret. The exponent is (w - 1) / 2^a, with a for each lane. But every lane makes [`TWOS_USUAL`]
//!   squarings or, if any lane of eight has a larger a, [`TWOS_MAX`]. The time then reveals only that such a lane, one
//!   prime in four thousand, is there, and nothing else of its a.
//! - Branches depend only on the reasons to reject a candidate, never on one that is kept: of a prime only its
//!   primality is revealed.
//! - It is seven to ten times as fast as the library's own generation. For RSA-2048 the kernels take three fifths of
//!   the time, the library's part for the two primes a quarter, the sieve a thirteenth.
//! - Steps. A search runs in steps, between which its thread can do other work ([`KeySearch`]): one pass in lanes or,
//!   without lanes, a slice of a round of one candidate by the bound library. Bases of such rounds have one bit less
//!   than the candidate, so that they are below it.
//! - Dropped: incremental search (adding 2 to one start), which sieves for less but favours primes after long gaps and
//!   is not the standard's procedure.

use super::lane_keys::PRIME_DIGITS_MAX;
use super::sieve::{PRIME_WORDS_MAX, Sieve};
use crate::low::aws_lc::prime::PrimeTest;
use crate::low::aws_lc::random;
use crate::low::aws_lc::rsa::{KeyMaking, RsaObject};
use crate::low::cpu::Avx512;
use crate::low::rsa::{
    DIGIT_BITS, DIGIT_MASK, LANES, Moduli, Row, Secret, digits_for, equal_lanes, load_bytes, multiply,
    power_pair, store_bytes,
};
use crate::low::wipe_bytes;
use crate::secret::SecretBytes;
use std::array;

/// The longest prime, in bytes.
const PRIME_BYTES_MAX: usize = 8 * PRIME_WORDS_MAX;
/// A candidate less one may be divisible by two at most this often: less than a digit, so high that chance never draws
/// an excluded one.
const TWOS_MAX: u32 = DIGIT_BITS as u32 - 1;
/// Most candidates less one are divisible by two at most this often; one in four thousand is not.
const TWOS_USUAL: u32 = 12;
/// The first 64 bits of the square root of 2; those of a candidate must be greater.
const SQUARE_ROOT_OF_2: u64 = 0xb504_f333_f9de_6484;
/// After this many unusable pairs of primes the search gives up; one pair in thousands is unusable.
const PAIRS_MAX: usize = 100;
/// The number of random bytes drawn at a time.
const RANDOM_BYTES: usize = 8 * PRIME_BYTES_MAX;

/// Generates a key in Chinese-remainder form with p > q, tested by one operation. `bits` is a multiple of 8 from 512 to
/// 4096; `e` is odd, above one, and at most half as long. `None` if the library fails internally.
pub(crate) fn generate(token: Option<Avx512>, bits: usize, e: &[u8]) -> Option<RsaObject> {
    let mut search = KeySearch::in_lanes(token, bits, e)?;
    loop {
        if let Some(ended) = search.step() {
            return ended;
        }
    }
}

/// A search for a key, as in [`generate`], that runs in steps. All that it holds is wiped when it is dropped.
pub(crate) struct KeySearch {
    search: Search,
    e: Vec<u8>,
    pairs_left: usize,
    /// The key being made from two primes.
    making: Option<KeyMaking>,
}

impl KeySearch {
    /// A search in lanes. Without kernels, the plain twins are used, which takes long.
    fn in_lanes(token: Option<Avx512>, bits: usize, e: &[u8]) -> Option<KeySearch> {
        let search = Search::new(token, bits / 2, e)?;
        Some(KeySearch { search, e: e.to_vec(), pairs_left: PAIRS_MAX, making: None })
    }

    /// A search in lanes if the machine has them, else one candidate after the other by the bound library.
    pub(crate) fn new(token: Option<Avx512>, bits: usize, e: &[u8]) -> Option<KeySearch> {
        let mut search = KeySearch::in_lanes(token, bits, e)?;
        search.search.is_single = token.is_none();
        Some(search)
    }

    /// Runs one step: a pass over candidates, a slice of a round of one candidate, or a step of making the key from two
    /// primes. `None` until the end; then the key, or `None` in its place if the library fails internally or too many
    /// pairs were unusable.
    pub(crate) fn step(&mut self) -> Option<Option<RsaObject>> {
        if let Some(making) = &mut self.making {
            let ended = making.step()?;
            self.making = None;
            self.pairs_left = self.pairs_left.saturating_sub(1);
            return (ended.is_some() || self.pairs_left == 0).then_some(ended);
        }
        if self.search.primes.len() < 2 {
            return self.search.step().is_none().then_some(None);
        }
        let (p, q) = (self.search.primes.pop()?, self.search.primes.pop()?);
        self.making = Some(KeyMaking::new(p.bytes(), q.bytes(), &self.e));
        None
    }
}

/// The number of passes of eight rounds that a candidate must survive after its first round. That makes 9 rounds from
/// 512 bits on, and 25 below.
fn passes(bits: usize) -> usize {
    if bits >= 512 { 1 } else { 3 }
}

/// A candidate or prime, big-endian; wiped when dropped. It always has room for the longest, so that it is on the heap
/// and leaves nothing behind when it is moved.
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

    /// How often two divides the candidate less one; 64 if more than 63 times.
    fn twos(&self) -> u32 {
        let mut bottom = [0; 8];
        bottom.copy_from_slice(&self.bytes()[self.bytes - 8..]);
        (u64::from_be_bytes(bottom) & !1).trailing_zeros()
    }
}

struct Search {
    token: Option<Avx512>,
    bits: usize,
    digits: usize,
    sieve: Sieve,
    random: Random,
    /// Candidates that passed a round and are not yet confirmed.
    likely: Vec<Candidate>,
    /// Confirmed primes.
    primes: Vec<Candidate>,
    /// Whether candidates go through rounds of the bound library, one by one.
    is_single: bool,
    /// The candidate that is in such a round now.
    single: Option<Single>,
}

/// A candidate with rounds of the bound library.
struct Single {
    candidate: Candidate,
    test: PrimeTest,
    /// The number of squarings in each of its rounds.
    squarings: u32,
    rounds: usize,
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
            primes: Vec::new(),
            is_single: false,
            single: None,
        })
    }

    /// Runs one step. `None` if the library fails internally.
    fn step(&mut self) -> Option<()> {
        if self.is_single {
            return self.step_single();
        }
        match (self.likely.pop(), self.likely.pop()) {
            (Some(a), Some(b)) => {
                let pair = [a, b];
                let confirmed = self.confirm(&pair);
                let primes = pair.into_iter().zip(confirmed).filter(|(_, is_prime)| *is_prime);
                self.primes.extend(primes.map(|(prime, _)| prime));
            }
            (alone, _) => {
                self.likely.extend(alone);
                self.find_likely();
            }
        }
        Some(())
    }

    /// Runs a slice of a round of the current candidate, or of a new one. `None` if the library fails internally.
    fn step_single(&mut self) -> Option<()> {
        let mut single = match self.single.take() {
            Some(single) => single,
            None => {
                let candidate = self.candidate();
                let twos = candidate.twos();
                let test = PrimeTest::new(candidate.bytes(), self.bits, twos)?;
                let squarings = if twos <= TWOS_USUAL { TWOS_USUAL } else { TWOS_MAX };
                Single { candidate, test, squarings, rounds: 0 }
            }
        };
        if !single.test.is_in_round() {
            let mut base = Candidate::new(self.bits);
            self.random.fill(base.bytes_mut());
            // Below the candidate, whose top bit is set.
            let above = 8 * base.bytes - self.bits;
            base.bytes_mut()[0] &= 0x7f >> above;
            single.test.begin_round(base.bytes())?;
        }
        match single.test.go_on(single.squarings)? {
            None => self.single = Some(single),
            Some(true) => {
                single.rounds += 1;
                match single.rounds > LANES * passes(self.bits) {
                    true => self.primes.push(single.candidate),
                    false => self.single = Some(single),
                }
            }
            Some(false) => {}
        }
        Some(())
    }

    /// Runs a pass over new candidates; those that pass one round become likely.
    fn find_likely(&mut self) {
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

    /// A random odd number of the required length without small factors.
    fn candidate(&mut self) -> Candidate {
        let mut candidate = Candidate::new(self.bits);
        let (last, above) = (candidate.bytes - 1, 8 * candidate.bytes - self.bits);
        loop {
            let bytes = candidate.bytes_mut();
            self.random.fill(bytes);
            // Sets the top bit of the length, and clears the bits above.
            bytes[0] = bytes[0] & (0xff >> above) | 0x80 >> above;
            bytes[last] |= 1;
            let mut top = [0; 16];
            top.copy_from_slice(&bytes[..16]);
            let top = (u128::from_be_bytes(top) << above >> 64) as u64;
            let is_wide = top > SQUARE_ROOT_OF_2;
            if is_wide && candidate.twos() <= TWOS_MAX && self.sieve.passes(candidate.bytes()) {
                return candidate;
            }
        }
    }

    /// Runs one round of Miller-Rabin (FIPS 186-5, B.3.1) in each lane of two groups of eight, with random bases.
    /// Returns the lanes that passed, as bits.
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

/// Splits w - 1 = 2^a * m for the odd w of each lane: writes m and returns a, which is at most [`TWOS_MAX`].
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

/// Steps 4.5 to 4.7 of B.3.1 for z = base^m: returns the lanes in which z is 1, or becomes w - 1 after fewer than a
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

/// Random bytes, drawn many at a time and wiped when they are handed out.
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
            random::fill(&mut self.bytes);
            self.used = 0;
        }
        let piece = &mut self.bytes[self.used..self.used + out.len()];
        out.copy_from_slice(piece);
        wipe_bytes(piece);
        self.used += out.len();
    }

    /// Fills every lane with random digits.
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
                for single in [false, true] {
                    search.is_single = single;
                    while search.primes.len() < 2 {
                        search.step().unwrap();
                    }
                    for prime in std::mem::take(&mut search.primes) {
                        assert_eq!(BigNum::from_slice(prime.bytes()).unwrap().num_bits() as usize, bits);
                        assert!(is_prime(prime.bytes()));
                        // The square of each prime has full length, so every product has.
                        let number = BigNum::from_slice(prime.bytes()).unwrap();
                        assert_eq!((&number * &number).num_bits() as usize, 2 * bits);
                    }
                }
            }
        }
    }

    /// Primes pass and other numbers do not, whatever power of two divides the number less one.
    #[test]
    fn rounds_know_primes() {
        let mut scratch = BigNumContext::new().unwrap();
        for token in [None, Cpu::up_to_avx512().avx512] {
            for bits in [256, 512] {
                let mut search = Search::new(token, bits, &[3]).unwrap();
                for twos in (1..=TWOS_USUAL + 1).chain([20, TWOS_MAX]).map(|twos| twos as i32) {
                    // w = odd * 2^twos + 1, and the next number of that form that is prime.
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
                    // A composite number of this length passes a round with a probability far below 2^-40.
                    assert_eq!(search.round(&eights), [u8::MAX, 0], "{bits} bits, 2^{twos}");
                    for (number, expected) in [(&w, true), (&composite, false)] {
                        let mut candidate = Candidate::new(bits);
                        candidate.bytes_mut().copy_from_slice(&number.to_vec());
                        let mut test = PrimeTest::new(candidate.bytes(), bits, candidate.twos()).unwrap();
                        for base in 2..10 {
                            let squarings = if twos as u32 <= TWOS_USUAL { TWOS_USUAL } else { TWOS_MAX };
                            let mut bytes = Candidate::new(bits);
                            let last = bytes.bytes - 3;
                            bytes.bytes_mut()[last..].copy_from_slice(&[1, base, 7]);
                            test.begin_round(bytes.bytes()).unwrap();
                            let slices = std::iter::from_fn(|| Some(test.go_on(squarings).unwrap()));
                            let passed = slices.flatten().next().unwrap();
                            assert_eq!(passed, expected, "{bits} bits, 2^{twos}, base {base}");
                        }
                    }
                }
            }
        }
    }

    /// Numbers that pass Fermat's test for most bases: Carmichael numbers (6k + 1)(12k + 1)(18k + 1).
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
            // At most a quarter of the bases pass, so sixteen never do.
            assert!((first.count_ones() + second.count_ones()) <= 12, "{first:b} {second:b}");
        }
    }
}
