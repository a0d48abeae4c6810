//! Miller-Rabin rounds of one number (FIPS 186-5, B.3.1) that run in slices, so that a search can let other requests
//! run in between.
//!
//! The library's exponentiation cannot be interrupted. So this code walks the windows itself, with the library's
//! Montgomery multiplication, which takes as long as the exponentiation does for each window. A window is five bits:
//! five squarings and one multiplication by a power from a table, all of which is read to choose it.

use super::bignum::{Bignum, Scratch, clear_errors, minus_one, to_bytes};
use crate::low::wipe_bytes;
use aws_lc_sys as lc;
use std::array;
use std::hint::black_box;
use std::ptr::NonNull;

/// Bits of the exponent per multiplication by a power.
const WINDOW_BITS: usize = 5;
const POWERS: usize = 1 << WINDOW_BITS;
/// A slice takes at most this many multiplications of words, but at least one window: 0.1 to 0.2 ms.
const SLICE_PRODUCTS: usize = 150_000;

/// A number under test. All values derived from it are wiped when dropped.
pub(crate) struct PrimeTest {
    /// The odd part of `number - 1`, as words, the lowest first.
    odd_part: Wiped,
    bits: usize,
    /// 1 and -1 in Montgomery form.
    one: Bignum,
    minus_one: Bignum,
    constants: Constants,
    scratch: Scratch,
    twos: u32,
    round: Option<Round>,
}

/// A round in progress.
struct Round {
    powers: Powers,
    /// The base to the power of the exponent's windows so far.
    z: Bignum,
    windows_left: usize,
}

/// Bytes that are wiped when dropped.
struct Wiped(Box<[u8]>);

impl Wiped {
    fn new(bytes: usize) -> Wiped {
        Wiped(vec![0; bytes].into_boxed_slice())
    }
}

impl Drop for Wiped {
    fn drop(&mut self) {
        wipe_bytes(&mut self.0);
    }
}

/// Montgomery constants, made for a secret modulus.
struct Constants(NonNull<lc::BN_MONT_CTX>);

impl Drop for Constants {
    fn drop(&mut self) {
        // SAFETY: made by the library and owned by this value alone; the library wipes what it frees.
        unsafe { lc::BN_MONT_CTX_free(self.0.as_ptr()) }
    }
}

impl PrimeTest {
    /// A test of an odd big-endian number of `bits` bits and at least two words. The number less one must be an odd
    /// multiple of two to the power of `twos`, which is below 64. `None` if the library fails internally.
    pub(crate) fn new(number: &[u8], bits: usize, twos: u32) -> Option<PrimeTest> {
        let scratch = Scratch::new();
        let w = Bignum::from_bytes(number);
        let less_one = minus_one(&w)?;
        let (one, minus_one) = (Bignum::new(), Bignum::new());
        // SAFETY: live numbers; the modulus is odd. The constants are made by the function for secret moduli.
        let constants = unsafe { lc::BN_MONT_CTX_new_consttime(w.0, scratch.0) };
        let Some(constants) = NonNull::new(constants).map(Constants) else {
            clear_errors();
            return None;
        };
        // SAFETY: live numbers, below the modulus as the functions ask.
        let made = unsafe {
            lc::BN_one(one.0) == 1
                && lc::BN_to_montgomery(one.0, one.0, constants.0.as_ptr(), scratch.0) == 1
                && lc::BN_to_montgomery(minus_one.0, less_one.0, constants.0.as_ptr(), scratch.0) == 1
        };
        if !made {
            clear_errors();
            return None;
        }
        let odd_part = odd_part(number, twos);
        Some(PrimeTest { odd_part, bits, one, minus_one, constants, scratch, twos, round: None })
    }

    /// Whether a round is in progress.
    pub(crate) fn is_in_round(&self) -> bool {
        self.round.is_some()
    }

    /// Begins a round with this base, big-endian and below the number. `None` if the library fails internally.
    pub(crate) fn begin_round(&mut self, base: &[u8]) -> Option<()> {
        let mut powers = Powers::new(self.odd_part.0.len());
        let (first, z) = (Bignum::from_bytes(base), Bignum::new());
        let constants = self.constants.0.as_ptr();
        // SAFETY: live objects; the base is below the modulus, as the function asks.
        let mut all = unsafe {
            lc::BN_to_montgomery(first.0, first.0, constants, self.scratch.0) == 1
                && lc::BN_copy(z.0, self.one.0) == z.0
        };
        for at in 0..POWERS {
            all &= powers.set(at, &z) && self.multiply(&z, &first);
        }
        // SAFETY: live numbers.
        all &= unsafe { lc::BN_copy(z.0, self.one.0) } == z.0;
        let windows_left = self.bits.div_ceil(WINDOW_BITS);
        self.round = Some(Round { powers, z, windows_left });
        all.then_some(())
    }

    /// Continues the current round by one slice. At its end, returns whether the number may be prime. The last slice
    /// makes `squarings` squarings, which must be at least the power of two in `number - 1`, whatever that is. `None`
    /// if the library fails internally.
    pub(crate) fn go_on(&mut self, squarings: u32) -> Option<Option<bool>> {
        let mut round = self.round.take()?;
        let words = self.odd_part.0.len() / 8;
        let slice = (SLICE_PRODUCTS / ((WINDOW_BITS + 1) * words * words)).max(1);
        let power = Bignum::new();
        for _ in 0..slice.min(round.windows_left) {
            round.windows_left -= 1;
            let window = self.window(WINDOW_BITS * round.windows_left);
            round.powers.choose(window, &power);
            let squared = (0..WINDOW_BITS).all(|_| self.multiply(&round.z, &round.z));
            if !(squared && self.multiply(&round.z, &power)) {
                return None;
            }
        }
        if round.windows_left != 0 {
            self.round = Some(round);
            return Some(None);
        }
        let z = round.z;
        let is = |number: &Bignum| {
            // SAFETY: live numbers.
            unsafe { lc::BN_equal_consttime(z.0, number.0) == 1 }
        };
        let mut passed = is(&self.one) | is(&self.minus_one);
        for squaring in 1..squarings {
            if !self.multiply(&z, &z) {
                return None;
            }
            passed |= is(&self.minus_one) & (squaring < self.twos);
        }
        Some(Some(passed))
    }

    /// a = a * b of numbers in Montgomery form.
    fn multiply(&self, a: &Bignum, b: &Bignum) -> bool {
        let constants = self.constants.0.as_ptr();
        // SAFETY: live objects, both numbers below the modulus; the result may be one of the factors.
        let done = unsafe { lc::BN_mod_mul_montgomery(a.0, a.0, b.0, constants, self.scratch.0) } == 1;
        if !done {
            clear_errors();
        }
        done
    }

    /// The window of the exponent that starts at `bit`.
    fn window(&self, bit: usize) -> u8 {
        let (byte, shift) = (bit / 8, bit % 8);
        let at = |byte: usize| self.odd_part.0.get(byte).map_or(0, |byte| u16::from(*byte));
        ((at(byte) | at(byte + 1) << 8) >> shift) as u8 & (POWERS - 1) as u8
    }
}

/// The odd part of `number - 1`, which is divisible by two `twos` times (below 64): the lowest byte first, in whole
/// words.
fn odd_part(number: &[u8], twos: u32) -> Wiped {
    let mut out = Wiped::new(number.len().next_multiple_of(8));
    let word = |end: usize| {
        let bytes = &number[end.saturating_sub(8)..end];
        bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte))
    };
    // The lowest bit is cleared: that subtracts one.
    let mut low = word(number.len()) & !1;
    for (at, place) in out.0.chunks_exact_mut(8).enumerate() {
        let end = number.len().saturating_sub(8 * (at + 1));
        let high = word(end);
        // Two shifts, since one shift cannot move by 64.
        place.copy_from_slice(&(low >> twos | high << (63 - twos) << 1).to_le_bytes());
        low = high;
    }
    out
}

/// The powers of a base, up to the exponent of a window of all ones, in Montgomery form, big-endian.
struct Powers {
    powers: Wiped,
    /// The power that was chosen last.
    chosen: Wiped,
    /// Length of one power in bytes.
    bytes: usize,
    /// Distance from one power to the next in bytes.
    stride: usize,
}

impl Powers {
    /// Bytes of each power that are read together.
    const COLUMN: usize = 32;

    fn new(bytes: usize) -> Powers {
        let stride = bytes.next_multiple_of(Powers::COLUMN);
        let powers = Wiped::new(POWERS * stride);
        Powers { powers, chosen: Wiped::new(stride), bytes, stride }
    }

    fn set(&mut self, at: usize, power: &Bignum) -> bool {
        let place = at * self.stride;
        to_bytes(power.0, &mut self.powers.0[place..place + self.bytes])
    }

    /// Sets a number to the power chosen by `window`. All powers are read, so that the time does not reveal which.
    fn choose(&mut self, window: u8, power: &Bignum) {
        let masks: [u64; POWERS] = array::from_fn(|at| {
            let differs = u64::from(window) ^ at as u64;
            black_box((differs.wrapping_sub(1) >> 63).wrapping_neg())
        });
        for (column, out) in self.chosen.0.chunks_exact_mut(Powers::COLUMN).enumerate() {
            let mut sum = [0; Powers::COLUMN / 8];
            for (row, mask) in self.powers.0.chunks_exact(self.stride).zip(&masks) {
                let words = row[column * Powers::COLUMN..][..Powers::COLUMN].as_chunks::<8>().0;
                for (sum, word) in sum.iter_mut().zip(words) {
                    *sum |= u64::from_ne_bytes(*word) & mask;
                }
            }
            for (out, word) in out.as_chunks_mut::<8>().0.iter_mut().zip(sum) {
                *out = word.to_ne_bytes();
            }
        }
        power.set_bytes(&self.chosen.0[..self.bytes]);
    }
}
