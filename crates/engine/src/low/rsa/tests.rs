//! Compares every level with OpenSSL's numbers, and the kernels with their plain twin.

use super::*;
use crate::low::cpu::Cpu;
use openssl::bn::{BigNum, BigNumContext, BigNumRef};
use seeded::Random;

/// OpenSSL numbers from a seed.
trait Numbers {
    /// A number of exactly `bits` bits.
    fn bits(&mut self, bits: usize) -> BigNum;
    /// An odd number above 1 of exactly `bits` bits, sometimes with runs of ones or zeros.
    fn odd(&mut self, bits: usize) -> BigNum;
    /// A number below the bound: near its ends, with digits of all ones, or any.
    fn under(&mut self, bound: &BigNumRef) -> BigNum;
}

impl Numbers for Random {
    fn bits(&mut self, bits: usize) -> BigNum {
        let mut number = BigNum::from_slice(&self.bytes(bits.div_ceil(8))).unwrap();
        if number.num_bits() as usize > bits {
            number.mask_bits(bits as i32).unwrap();
        }
        if bits > 0 {
            number.set_bit(bits as i32 - 1).unwrap();
        }
        number
    }

    fn odd(&mut self, bits: usize) -> BigNum {
        let mut number = match self.below(4) {
            0 => run(bits, true),
            1 => run(bits, false),
            _ => self.bits(bits),
        };
        for _ in 0..self.below(3) {
            let bit = self.below(bits - 1) as i32;
            if number.is_bit_set(bit) { number.clear_bit(bit) } else { number.set_bit(bit) }.unwrap();
        }
        number.set_bit(0).unwrap();
        number
    }

    fn under(&mut self, bound: &BigNumRef) -> BigNum {
        let number = match self.below(8) {
            0 => BigNum::new().unwrap(),
            1 => BigNum::from_u32(1).unwrap(),
            2 => minus(bound, 1),
            3 => run(bound.num_bits() as usize - 1, true),
            _ => self.bits(bound.num_bits() as usize),
        };
        modulo(&number, bound)
    }
}

/// 2^bits - 1 if `ones`, else 2^(bits - 1).
fn run(bits: usize, ones: bool) -> BigNum {
    let mut number = BigNum::new().unwrap();
    if ones {
        for bit in 0..bits {
            number.set_bit(bit as i32).unwrap();
        }
    } else {
        number.set_bit(bits as i32 - 1).unwrap();
    }
    number
}

fn minus(number: &BigNumRef, word: u32) -> BigNum {
    let mut result = number.to_owned().unwrap();
    result.sub_word(word).unwrap();
    result
}

fn modulo(number: &BigNumRef, n: &BigNumRef) -> BigNum {
    let mut result = BigNum::new().unwrap();
    result.nnmod(number, n, &mut BigNumContext::new().unwrap()).unwrap();
    result
}

fn times(a: &BigNumRef, b: &BigNumRef) -> BigNum {
    let mut result = BigNum::new().unwrap();
    result.checked_mul(a, b, &mut BigNumContext::new().unwrap()).unwrap();
    result
}

fn raised(base: &BigNumRef, exponent: &BigNumRef, n: &BigNumRef) -> BigNum {
    let mut result = BigNum::new().unwrap();
    result.mod_exp(base, exponent, n, &mut BigNumContext::new().unwrap()).unwrap();
    result
}

impl Moduli {
    fn new(token: Option<Avx512>, n: &[Row]) -> Moduli {
        let mut moduli = Moduli::room(n.len());
        moduli.set(token, n);
        moduli
    }
}

fn rows(numbers: &[BigNum], digits: usize) -> Vec<Row> {
    // Earlier contents of the rows must not matter.
    let mut rows = vec![Row([u64::MAX; LANES]); digits];
    for (lane, number) in numbers.iter().enumerate() {
        load_bytes(&mut rows, lane, &number.to_vec());
    }
    rows
}

fn numbers(rows: &[Row]) -> Vec<BigNum> {
    assert!(rows.iter().all(|row| row.0.iter().all(|digit| *digit <= DIGIT_MASK)));
    let mut bytes = vec![0; (rows.len() * DIGIT_BITS).div_ceil(8)];
    let number = |lane| {
        assert!(store_bytes(rows, lane, &mut bytes));
        BigNum::from_slice(&bytes).unwrap()
    };
    (0..LANES).map(number).collect()
}

fn eight(one: impl FnMut(usize) -> BigNum) -> Vec<BigNum> {
    (0..LANES).map(one).collect()
}

/// The kernel of this processor, if it has one, and the plain twin.
fn levels() -> Vec<Option<Avx512>> {
    match Cpu::up_to_avx512().avx512 {
        Some(token) => vec![Some(token), None],
        None => vec![None],
    }
}

/// `all` cases in `make test-all`, else a hundredth; the plain twin is slow and gets a tenth of those.
fn cases(all: usize, level: Option<Avx512>) -> usize {
    let is_all = std::env::var("CRYPTAND_TEST_ALL").is_ok_and(|value| value == "1");
    let count = if is_all { all } else { all / 100 };
    if level.is_some() { count } else { count.div_ceil(10) }
}

/// Lengths of moduli around every digit and block boundary of a kernel, and RSA's own.
fn lengths() -> Vec<usize> {
    let borders = (1..=15)
        .chain([20, 25, 30, 40])
        .flat_map(|k| [52 * k - 2, 52 * k - 1, 52 * k, 52 * k + 1, 52 * k + 2]);
    borders.chain([256, 384, 512, 768, 1024, 1536, 2048]).collect()
}

#[test]
fn digits_leave_two_bits() {
    for bits in 2..=52 * DIGITS_MAX - 2 {
        let digits = digits_for(bits).unwrap();
        assert!(digits.is_multiple_of(BLOCK) && digits * DIGIT_BITS >= bits + 2);
        assert!((digits - BLOCK) * DIGIT_BITS < bits + 2);
    }
    assert_eq!(digits_for(52 * DIGITS_MAX - 1), None);
    assert_eq!(
        [256, 512, 1024, 1536, 2048, 3072, 4096].map(|bits| digits_for(bits).unwrap()),
        [5, 10, 20, 30, 40, 60, 80]
    );
}

#[test]
fn bytes_go_in_and_out() {
    let mut random = Random(1);
    for digits in (BLOCK..=DIGITS_MAX).step_by(BLOCK) {
        for _ in 0..20 {
            let sizes: [usize; LANES] = std::array::from_fn(|_| random.below(digits * DIGIT_BITS) + 1);
            let given = eight(|lane| random.bits(sizes[lane]));
            let rows = rows(&given, digits);
            assert_eq!(numbers(&rows), given);
            for (lane, given) in given.iter().enumerate() {
                let mut bytes = vec![0; given.num_bytes() as usize];
                assert!(store_bytes(&rows, lane, &mut bytes) && bytes == given.to_vec());
                assert!(!store_bytes(&rows, lane, &mut bytes[1..]));
                let mut longer = vec![1; digits * 8];
                assert!(store_bytes(&rows, lane, &mut longer));
                assert_eq!(BigNum::from_slice(&longer).unwrap(), *given);
            }
        }
    }
}

#[test]
fn equal_lanes_are_found() {
    let mut random = Random(2);
    for digits in [5, 20] {
        let a = rows(&eight(|_| random.bits(digits * DIGIT_BITS)), digits);
        assert_eq!(equal_lanes(&a, &a), 0xff);
        for lane in 0..LANES {
            for (row, bit) in [(0, 0), (digits - 1, 0), (digits - 1, 51), (3, 17)] {
                let mut b = a.clone();
                b[row].0[lane] ^= 1 << bit;
                assert_eq!(equal_lanes(&a, &b), !(1 << lane));
            }
        }
        let mut longer = a.clone();
        longer.push(Row::ZERO);
        assert_eq!(equal_lanes(&a, &longer), 0xff);
        longer[digits].0[3] = 1;
        assert_eq!((equal_lanes(&a, &longer), equal_lanes(&longer, &a)), (!8, !8));
    }
}

#[test]
fn the_radix_is_squared() {
    let mut random = Random(3);
    for level in levels() {
        for bits in lengths() {
            // The longest modulus determines the number of digits; the others may be much shorter.
            let n = eight(|lane| {
                if lane < 4 {
                    random.odd(bits)
                } else {
                    let bits = 2 + random.below(bits - 1);
                    random.odd(bits)
                }
            });
            let digits = digits_for(bits).unwrap();
            let m = Moduli::new(level, &rows(&n, digits));
            let square = run(2 * DIGIT_BITS * digits + 1, false);
            assert_eq!(numbers(m.rr()), eight(|lane| modulo(&square, &n[lane])), "{bits}");
        }
    }
}

#[test]
fn products_reductions_and_differences() {
    let mut random = Random(4);
    for level in levels() {
        for bits in lengths().into_iter().chain([3072, 4096, 52 * DIGITS_MAX - 2]) {
            let digits = digits_for(bits).unwrap();
            let n = eight(|_| random.odd(bits));
            let m = Moduli::new(level, &rows(&n, digits));
            let mut out = vec![Row::ZERO; digits];
            for round in 0..cases(1000, level).min(20) {
                // The left operand may be any number of this many digits: all ones first.
                let a = eight(|_| {
                    if round == 0 { run(52 * digits, true) } else { random.under(&run(52 * digits, true)) }
                });
                let b = eight(|lane| if round == 0 { minus(&n[lane], 1) } else { random.under(&n[lane]) });
                multiply(level, &m, &rows(&a, digits), &rows(&b, digits), &mut out);
                assert_eq!(
                    numbers(&out),
                    eight(|lane| modulo(&times(&a[lane], &b[lane]), &n[lane])),
                    "{bits}"
                );

                let bounds = eight(|lane| times(&n[lane], &run(52 * digits + 1, false)));
                let wide =
                    eight(
                        |lane| if round == 0 { minus(&bounds[lane], 1) } else { random.under(&bounds[lane]) },
                    );
                reduce(level, &m, &rows(&wide, 2 * digits), &mut out);
                assert_eq!(numbers(&out), eight(|lane| modulo(&wide[lane], &n[lane])), "{bits}");

                let a = eight(|lane| random.under(&n[lane]));
                subtract(&m, &rows(&a, digits), &rows(&b, digits), &mut out);
                assert_eq!(numbers(&out), eight(|lane| modulo(&(&a[lane] - &b[lane]), &n[lane])), "{bits}");
            }
        }
    }
}

fn check_powers(level: Option<Avx512>, bits: usize, exponent_bits: usize, random: &mut Random) {
    let digits = digits_for(bits).unwrap();
    let mut case = || {
        let n = eight(|_| random.odd(bits));
        let base = eight(|lane| random.under(&n[lane]));
        let exponent = eight(|_| random.under(&run(exponent_bits + 1, false)));
        let expected = rows(&eight(|lane| raised(&base[lane], &exponent[lane], &n[lane])), digits);
        (
            Moduli::new(level, &rows(&n, digits)),
            rows(&base, digits),
            rows(&exponent, exponent_bits / 52 + 1),
            expected,
        )
    };
    let [a, b] = [case(), case()];
    let [mut x, mut y] = [vec![Row::ZERO; digits], vec![Row::ZERO; digits]];
    power(level, &a.0, &a.1, &a.2, exponent_bits, &mut x);
    assert_eq!(numbers(&x), numbers(&a.3), "{bits} {exponent_bits}");
    x.fill(Row::ZERO);
    power_pair(level, [&a.0, &b.0], [&a.1, &b.1], [&a.2, &b.2], exponent_bits, [&mut x, &mut y]);
    assert_eq!(numbers(&x), numbers(&a.3), "{bits} {exponent_bits}");
    assert_eq!(numbers(&y), numbers(&b.3), "{bits} {exponent_bits}");
}

#[test]
fn powers_at_digit_borders() {
    let mut random = Random(5);
    for level in levels() {
        for bits in lengths() {
            let exponent_bits = if level.is_some() { bits } else { bits.min(60) };
            check_powers(level, bits, exponent_bits, &mut random);
        }
    }
}

#[test]
fn powers_of_rsa_lengths() {
    let mut random = Random(6);
    for level in levels() {
        for (bits, all) in [(512, 1000), (1024, 1000), (2048, 500), (4096, 200)] {
            for _ in 0..cases(all, level) {
                check_powers(level, bits, if level.is_some() { bits } else { 100 }, &mut random);
            }
        }
    }
}

#[test]
fn powers_with_exponents_of_every_short_length() {
    let mut random = Random(7);
    for level in levels() {
        for exponent_bits in (0..12).chain(50..56).chain(100..110) {
            check_powers(level, 300, exponent_bits, &mut random);
        }
    }
}

#[test]
fn powers_with_public_exponents() {
    let mut random = Random(8);
    for level in levels() {
        for bits in lengths() {
            let digits = digits_for(bits).unwrap();
            let n = eight(|_| random.odd(bits));
            let m = Moduli::new(level, &rows(&n, digits));
            for exponents in [
                [65537; LANES],
                [3; LANES],
                [1; LANES],
                [0; LANES],
                [u64::MAX; LANES],
                [0, 1, 2, 3, 17, 65537, 1 << 63, u64::MAX],
                std::array::from_fn(|lane| random.number() >> (7 * lane)),
            ] {
                let base = eight(|lane| random.under(&n[lane]));
                let mut out = vec![Row::ZERO; digits];
                power_public_vartime(level, &m, &rows(&base, digits), &exponents, &mut out);
                let expected = |lane: usize| {
                    let exponent = BigNum::from_slice(&exponents[lane].to_be_bytes()).unwrap();
                    raised(&base[lane], &exponent, &n[lane])
                };
                assert_eq!(numbers(&out), eight(expected), "{bits} {exponents:?}");
            }
        }
    }
}

/// The kernel alone, with the largest operands that its bounds allow and with digits of all ones, for which a sum could
/// overflow or a carry be lost.
#[cfg(target_arch = "x86_64")]
#[test]
fn largest_operands_of_the_kernel() {
    use super::ifma_chain::Chain;

    let Some(token) = Cpu::up_to_avx512().avx512 else { return };
    for digits in (BLOCK..=DIGITS_MAX).step_by(BLOCK) {
        let bits = DIGIT_BITS * digits;
        let n = run(bits - 2, true);
        let ones = run(bits, true);
        // Both below 2n; or one below n and the other any number.
        let double = minus(&(&n + &n), 1);
        for (x, factor) in [(&double, &double), (&ones, &minus(&n, 1)), (&minus(&n, 1), &ones)] {
            let m = Moduli::new(Some(token), &rows(&eight(|_| minus(&n, 0)), digits));
            let mut scratch = [vec![Row::ZERO; 4 * digits], vec![Row::ZERO; 4 * digits]];
            let mut check = |of: &dyn Fn(&mut [Chain]), expected: &BigNum| {
                for chains in [1, 2] {
                    for scratch in &mut scratch {
                        for (row, value) in scratch.iter_mut().zip(rows(&eight(|_| minus(x, 0)), 2 * digits))
                        {
                            *row = value;
                        }
                        let factor = rows(&eight(|_| minus(factor, 0)), digits);
                        scratch[2 * digits..3 * digits].copy_from_slice(&factor);
                    }
                    let [a, b] = &mut scratch;
                    // SAFETY: the token proves the features.
                    let mut pair = unsafe { [Chain::new(&m, a), Chain::new(&m, b)] };
                    of(&mut pair[..chains]);
                    for scratch in &scratch[..chains] {
                        for result in numbers(&scratch[..digits]) {
                            assert!(result <= double, "{digits} {chains}");
                            assert_eq!(
                                modulo(&(&result << bits as i32), &n),
                                modulo(expected, &n),
                                "{digits} {chains}"
                            );
                        }
                    }
                }
            };
            // SAFETY: the token proves the features.
            check(&|chains| unsafe { ifma::multiply(chains) }, &times(x, factor));
            // SAFETY: as above.
            check(&|chains| unsafe { ifma::reduce(chains) }, x);
            if x == factor {
                // SAFETY: as above.
                check(&|chains| unsafe { ifma::square(chains) }, &times(x, x));
            }
        }
    }
}
