//! Numbers of private RSA keys, completed and checked against each other in words, in a time that depends on their
//! lengths and on the public exponent alone.
//!
//! The bound library inverts and divides bit by bit where numbers are secret: completing and checking a key takes it as
//! long as ten signatures of a full pass. Where the public exponent is one word, a few multiplications do the same.
//! With `k = -(p - 1)^-1 mod e`, which is a word, `(1 + k (p - 1)) / e` is the inverse of `e` modulo `p - 1`, and is
//! less.

use crate::low::{wipe_bytes, wipe_lanes};
use std::ops::Deref;
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq, ConstantTimeLess};

const WORD_BYTES: usize = 8;
/// Steps after which the binary algorithm of Euclid has ended for any two words.
const EUCLID_STEPS: usize = 128;

/// A secret big-endian number; wiped when dropped.
pub(crate) struct Bytes(Vec<u8>);

impl Bytes {
    /// Zero, in this many bytes.
    pub(crate) fn zero(bytes: usize) -> Bytes {
        Bytes(vec![0; bytes])
    }

    pub(crate) fn as_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        wipe_bytes(&mut self.0);
    }
}

/// The private exponents of a key, big-endian.
pub(crate) struct Exponents {
    /// The inverse of the public exponent modulo (p - 1)(q - 1).
    pub(crate) d: Bytes,
    /// The inverse of the public exponent modulo p - 1.
    pub(crate) dp: Bytes,
    /// The inverse of the public exponent modulo q - 1.
    pub(crate) dq: Bytes,
}

impl Exponents {
    /// Those of a key of these numbers, big-endian; `None` unless p and q are odd, n is their product, and e is odd,
    /// above one, and has an inverse modulo p - 1 and modulo q - 1. Whether p and q are prime is not looked at.
    pub(crate) fn of(n: &[u8], e: u64, p: &[u8], q: &[u8]) -> Option<Exponents> {
        let words = n.len().div_ceil(WORD_BYTES).max(1);
        let [n, p, q] = [n, p, q].map(|bytes| Words::of(bytes, words));
        let (n, mut p, mut q) = (n?, p?, q?);
        let is_odd = |number: &Words| number.0[0] & 1 == 1;
        if e < 2 || e.is_multiple_of(2) || !is_odd(&p) || !is_odd(&q) {
            return None;
        }
        if !bool::from(p.times(&q).equals(&n)) {
            return None;
        }
        // Odd numbers less one.
        p.0[0] -= 1;
        q.0[0] -= 1;
        let (dp, dq) = (p.inverse_modulo(e)?, q.inverse_modulo(e)?);
        let mut totient = p.times(&q);
        // It is below n.
        totient.shorten(words);
        let d = totient.inverse_modulo(e)?;
        Some(Exponents { d: d.bytes(), dp: dp.bytes(), dq: dq.bytes() })
    }

    /// Whether these big-endian numbers are the second and third exponent; leading zeros are allowed.
    pub(crate) fn are(&self, dp: &[u8], dq: &[u8]) -> bool {
        let words = self.dp.len() / WORD_BYTES;
        let [own_dp, own_dq] = [&self.dp, &self.dq].map(|bytes| Words::of(bytes, words));
        let [dp, dq] = [dp, dq].map(|bytes| Words::of(bytes, words));
        let equal = |own: Option<Words>, other: Option<Words>| {
            own.zip(other).map_or(Choice::from(0), |(own, other)| own.equals(&other))
        };
        (equal(own_dp, dp) & equal(own_dq, dq)).into()
    }
}

/// Whether `inverse` is below an odd `p`, and the inverse of `q` modulo it; all big-endian.
pub(crate) fn is_inverse(inverse: &[u8], q: &[u8], p: &[u8]) -> bool {
    let words = [inverse, q, p].map(<[u8]>::len).into_iter().max().unwrap_or(0).div_ceil(WORD_BYTES).max(1);
    let [inverse, q, p] = [inverse, q, p].map(|bytes| Words::of(bytes, words));
    let (Some(inverse), Some(q), Some(p)) = (inverse, q, p) else { return false };
    if p.0[0] & 1 == 0 {
        return false;
    }
    let mut one = Words::zero(2 * words);
    one.0[0] = 1;
    let (product, one) = (p.reduced(inverse.times(&q)), p.reduced(one));
    (inverse.is_less(&p) & product.equals(&one)).into()
}

/// A secret number, from its least word on; wiped when dropped.
struct Words(Vec<u64>);

impl Drop for Words {
    fn drop(&mut self) {
        wipe_lanes(&mut self.0);
    }
}

impl Words {
    fn zero(words: usize) -> Words {
        Words(vec![0; words])
    }

    /// A big-endian number in this many words; `None` if it has more.
    fn of(bytes: &[u8], words: usize) -> Option<Words> {
        let mut number = Words::zero(words);
        let mut excess = 0;
        for (index, chunk) in bytes.rchunks(WORD_BYTES).enumerate() {
            let word = chunk.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
            match number.0.get_mut(index) {
                Some(place) => *place = word,
                None => excess |= word,
            }
        }
        bool::from(excess.ct_eq(&0)).then_some(number)
    }

    fn bytes(&self) -> Bytes {
        let mut bytes = Bytes::zero(WORD_BYTES * self.0.len());
        for (chunk, word) in bytes.as_mut().rchunks_exact_mut(WORD_BYTES).zip(&self.0) {
            chunk.copy_from_slice(&word.to_be_bytes());
        }
        bytes
    }

    /// Leaves out the words behind this many, which are zero.
    fn shorten(&mut self, words: usize) {
        debug_assert!(self.0[words..].iter().all(|word| *word == 0));
        self.0.truncate(words);
    }

    /// Whether both are the same number; the shorter one is taken to go on with zeros.
    fn equals(&self, other: &Words) -> Choice {
        let words = self.0.len().max(other.0.len());
        let at = |number: &Words, index: usize| number.0.get(index).copied().unwrap_or(0);
        let difference = (0..words).fold(0, |all, index| all | (at(self, index) ^ at(other, index)));
        difference.ct_eq(&0)
    }

    /// Whether it is less than another of as many words.
    fn is_less(&self, other: &Words) -> Choice {
        let borrow = self.0.iter().zip(&other.0).fold(false, |borrow, (a, b)| a.borrowing_sub(*b, borrow).1);
        Choice::from(u8::from(borrow))
    }

    /// The product with another number, in as many words as both have.
    fn times(&self, other: &Words) -> Words {
        let mut product = Words::zero(self.0.len() + other.0.len());
        for (index, word) in self.0.iter().enumerate() {
            let carry = add_product(&mut product.0[index..][..other.0.len()], *word, &other.0);
            product.0[index + other.0.len()] = carry;
        }
        product
    }

    /// `product / 2^(64 words) mod self` (Montgomery), for an odd `self` of half as many words, where the product is
    /// below `2^(64 words) * self`.
    fn reduced(&self, mut product: Words) -> Words {
        let words = self.0.len();
        let negated = inverse_of_odd(self.0[0]).wrapping_neg();
        let mut top = 0;
        for index in 0..words {
            let factor = product.0[index].wrapping_mul(negated);
            let carry = add_product(&mut product.0[index..][..words], factor, &self.0);
            let (sum, first) = product.0[index + words].overflowing_add(carry);
            let (sum, second) = sum.overflowing_add(top);
            product.0[index + words] = sum;
            top = u64::from(first | second);
        }
        // Below twice the modulus: it is subtracted once, or not at all.
        let mut result = Words(product.0[words..].to_vec());
        let mut less = Words::zero(words);
        let mut borrow = false;
        for (index, (a, b)) in result.0.iter().zip(&self.0).enumerate() {
            (less.0[index], borrow) = a.borrowing_sub(*b, borrow);
        }
        let keeps = Choice::from(u8::from(borrow)) & top.ct_eq(&0);
        for (kept, less) in result.0.iter_mut().zip(&less.0) {
            *kept = u64::conditional_select(less, kept, keeps);
        }
        result
    }

    /// The inverse of an odd word above one modulo this number, below it; `None` if there is none.
    fn inverse_modulo(&self, e: u64) -> Option<Words> {
        let (inverse, is_there) = self.inverse_in_word(e);
        if !bool::from(is_there) {
            return None;
        }
        // 1 + k * self is a multiple of e.
        let mut multiple = self.times(&Words(vec![e.wrapping_sub(inverse)]));
        let mut carry = 1;
        for word in &mut multiple.0 {
            let (sum, over) = word.overflowing_add(carry);
            (*word, carry) = (sum, u64::from(over));
        }
        // Exact division from the least word on, by multiplications.
        let inverse = inverse_of_odd(e);
        let mut owed = 0;
        for word in &mut multiple.0 {
            let (rest, under) = word.overflowing_sub(owed);
            *word = rest.wrapping_mul(inverse);
            owed = high(*word, e) + u64::from(under);
        }
        multiple.shorten(self.0.len());
        Some(multiple)
    }

    /// The inverse of this number modulo an odd word above one, and whether there is one.
    fn inverse_in_word(&self, e: u64) -> (u64, Choice) {
        let negated = inverse_of_odd(e).wrapping_neg();
        // Each step divides by 2^64 modulo e.
        let step = |sum: u128| {
            let low = sum as u64;
            // The low words cancel out: their sum carries unless both are zero.
            let carry = u128::from(!low.ct_eq(&0).unwrap_u8() & 1);
            (sum >> 64) + u128::from(high(low.wrapping_mul(negated), e)) + carry
        };
        let rest = self.0.iter().fold(0, |rest, word| step(rest + u128::from(*word)));
        let (inverse, is_there) = inverse_of_word(below(rest, e), e);
        let inverse = self.0.iter().fold(u128::from(inverse), |rest, _| step(rest));
        (below(inverse, e), is_there)
    }
}

/// A number of at most `e + 1`, modulo `e`.
fn below(number: u128, e: u64) -> u64 {
    let (less, borrow) = number.overflowing_sub(u128::from(e));
    u64::conditional_select(&(less as u64), &(number as u64), Choice::from(u8::from(borrow)))
}

/// The inverse of a word below an odd `e` above one modulo it, and whether there is one.
fn inverse_of_word(word: u64, e: u64) -> (u64, Choice) {
    // u * word = a and v * word = b modulo e, all the time; b stays odd.
    let (mut a, mut b, mut u, mut v) = (word, e, 1_u64, 0_u64);
    for _ in 0..EUCLID_STEPS {
        let is_odd = Choice::from((a & 1) as u8);
        let swaps = is_odd & a.ct_lt(&b);
        u64::conditional_swap(&mut a, &mut b, swaps);
        u64::conditional_swap(&mut u, &mut v, swaps);
        a = u64::conditional_select(&a, &a.wrapping_sub(b), is_odd);
        let (difference, borrow) = u.overflowing_sub(v);
        let corrected =
            u64::conditional_select(&difference, &difference.wrapping_add(e), Choice::from(u8::from(borrow)));
        u = u64::conditional_select(&u, &corrected, is_odd);
        a >>= 1;
        let even = u128::from(u) + u128::from(u64::conditional_select(&0, &e, Choice::from((u & 1) as u8)));
        u = (even >> 1) as u64;
    }
    (v, b.ct_eq(&1))
}

/// The inverse of an odd word modulo 2^64.
fn inverse_of_odd(word: u64) -> u64 {
    // Right in the last three bits; each step doubles the number of right ones.
    (0..5).fold(word, |inverse, _| inverse.wrapping_mul(2_u64.wrapping_sub(word.wrapping_mul(inverse))))
}

/// The high word of a product.
fn high(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

/// Adds a multiple of a number to as many words; returns the carry.
fn add_product(sum: &mut [u64], factor: u64, number: &[u64]) -> u64 {
    let mut carry = 0;
    for (sum, word) in sum.iter_mut().zip(number) {
        let wide = u128::from(*word) * u128::from(factor) + u128::from(*sum) + u128::from(carry);
        (*sum, carry) = (wide as u64, (wide >> 64) as u64);
    }
    carry
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random words (xorshift); small ones and those near the end of the range among them.
    fn words() -> impl FnMut() -> u64 {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            match state >> 60 {
                0 => state & 0xFF,
                1 => u64::MAX - (state & 0xFF),
                2 => state & 0xFFFF_FFFF,
                _ => state,
            }
        }
    }

    fn gcd(mut a: u128, mut b: u128) -> u128 {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    }

    /// Remainder and inverses by trial, of small numbers.
    #[test]
    fn inverses_are_those_found_by_trial() {
        for e in (3..200_u64).step_by(2) {
            for number in 0..2 * e {
                let found = (1..e).find(|inverse| number * inverse % e == 1);
                let (inverse, is_there) = Words(vec![number]).inverse_in_word(e);
                assert_eq!(bool::from(is_there), found.is_some(), "{number} modulo {e}");
                assert!(found.is_none_or(|found| found == inverse), "{number} modulo {e}");
                // As the second of two words.
                let (inverse, is_there) = Words(vec![0, number]).inverse_in_word(e);
                let shifted = (u128::from(number) << 64) % u128::from(e);
                if bool::from(is_there) {
                    assert_eq!(shifted * u128::from(inverse) % u128::from(e), 1, "{number} modulo {e}");
                } else {
                    assert_eq!(found, None);
                }
            }
        }
    }

    #[test]
    fn inverses_modulo_any_odd_word_are_inverses() {
        let mut random = words();
        for _ in 0..20_000 {
            let number = [random(), random(), random()];
            let e = random().max(2) | 1;
            let (inverse, is_there) = Words(number.to_vec()).inverse_in_word(e);
            let wide = u128::from(e);
            let rest = number.iter().rev().fold(0, |rest, word| ((rest << 64) + u128::from(*word)) % wide);
            assert!(inverse < e, "{number:?} modulo {e}");
            assert_eq!(bool::from(is_there), gcd(rest, wide) == 1, "{number:?} modulo {e}");
            assert!(!bool::from(is_there) || rest * u128::from(inverse) % wide == 1, "{number:?} modulo {e}");
        }
    }

    #[test]
    fn exponents_of_any_two_odd_numbers_are_inverses() {
        let (mut random, mut made_of) = (words(), 0);
        for _ in 0..20_000 {
            let [p, q, e] = [random(), random(), random()].map(|word| (word >> 32) | 1);
            let n = p * q;
            let [n_bytes, p_bytes, q_bytes] = [n, p, q].map(u64::to_be_bytes);
            let made = Exponents::of(&n_bytes, e, &p_bytes, &q_bytes);
            let has_inverses =
                [p, q].iter().all(|prime| gcd(u128::from(prime - 1), u128::from(e)) == 1) && e > 1;
            assert_eq!(made.is_some(), has_inverses, "{p} {q} {e}");
            if let Some(made) = made {
                made_of += 1;
                let word = |bytes: &Bytes| u64::from_be_bytes((**bytes).try_into().unwrap());
                for (exponent, modulus) in
                    [(&made.d, (p - 1) * (q - 1)), (&made.dp, p - 1), (&made.dq, q - 1)]
                {
                    let product = u128::from(word(exponent)) * u128::from(e);
                    assert!(word(exponent) < modulus && product % u128::from(modulus) == 1, "{p} {q} {e}");
                }
                assert!(made.are(&made.dp, &made.dq) && !made.are(&made.dp, &[0; 8]));
                assert!(!made.are(&[&[1][..], &made.dp].concat(), &made.dq));
                assert!(made.are(&[&[0][..], &made.dp].concat(), &made.dq));
            }
            let other = (n ^ 4).to_be_bytes();
            assert!(Exponents::of(&other, e, &p_bytes, &q_bytes).is_none());
        }
        assert!(made_of > 1000, "{made_of}");
    }

    #[test]
    fn an_inverse_modulo_an_odd_number_is_known() {
        let (mut random, mut right) = (words(), 0);
        for _ in 0..20_000 {
            let (p, q, inverse) = (random() | 1, random(), random());
            let is_known = |inverse: u64, q: u64| {
                let [inverse, q, p] = [inverse, q, p].map(u64::to_be_bytes);
                is_inverse(&inverse, &q, &p)
            };
            let is_one = |inverse: u64, q: u64| {
                u128::from(q) * u128::from(inverse) % u128::from(p) == 1 % u128::from(p) && inverse < p
            };
            assert_eq!(is_known(inverse, q), is_one(inverse, q), "{inverse} {q} {p}");
            // One that is right, of a small number, by the inverse of p modulo it; and its neighbours.
            let q = (q % 200) | 1;
            let of_p = (1..q).find(|of_p| u128::from(p) * u128::from(*of_p) % u128::from(q) == 1);
            if let Some(of_p) = of_p.filter(|_| q < p) {
                let inverse = ((1 + u128::from(q - of_p) * u128::from(p)) / u128::from(q)) as u64;
                right += 1;
                for (inverse, q) in [(inverse, q), (inverse, q + 2), (inverse ^ 1, q), (0, q)] {
                    assert_eq!(is_known(inverse, q), is_one(inverse, q), "{inverse} {q} {p}");
                }
                assert!(is_known(inverse, q));
            }
        }
        assert!(right > 1000, "{right}");
    }
}
