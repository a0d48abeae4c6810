//! Powers of eight lanes with AVX-512 IFMA, and the kernel's safe entry points.
//!
//! Fixed windows of five bits (Menezes, van Oorschot, Vanstone: Handbook of Applied Cryptography, 14.82): the powers 0
//! to 31 of the base, then for each window five squarings and one multiplication, even if by the power 0. In between,
//! all numbers stay in Montgomery form and below 2n.
//!
//! 1. Exponents differ between lanes, so each lane needs another power. All 32 powers are read and blended by the bits
//!    of the window: 32 loads and 31 blends a row. For two tables of 20 digits that is 1,280 loads from the
//!    second-level cache. Done at once they took a fifth of an operation. Split into halves of a row between the sums
//!    of the five squarings (see `ifma.rs`), they take 4 %.
//! 2. The table is ordered by digit and then by power, so that a row is selected from 2 KiB in sequence.
//! 3. The last factor of a public power is the base in plain form: the result then leaves Montgomery form at no cost.
//! 4. R^2 mod n costs some forty doublings of a number near 2^(52 * digits) and a few Montgomery squarings, each
//!    of which doubles t in 2^t * R.
//!
//! The stack holds four numbers and one table per chain, with room for 10, 20, 40 or 80 digits: 45 KiB for a power of
//! 20 digits, 180 KiB for one of 80 or a pair of 40. All of it is wiped.
//!
//! A pair of RSA-2048's 1024-bit powers takes 8 * 224,000 cycles; the limit of two multiplications each cycle is 8 *
//! 202,000.
//!
//! The difference is the selection of powers (4 %) and the waits for digits of the quotient (4 %): without either it
//! would be 8 * 209,000.
//!
//! Tried and dropped:
//! - Windows of four bits: more multiplications for fewer loads. The same at 10 digits, 1 % slower at 20, 2 %
//!   at 40.
//! - The whole selection of a row at the end of each strip, where the quotient's digits wait: it delays them more than
//!   it fills. Parts at the start of a strip, or of a quarter of a row: 2 % slower.
//! - Selecting from the last row to the first every other time, so that part of the table is found in the first-level
//!   cache: the same, so the loads do not take the time.

use super::ifma::{self, square};
use super::ifma_chain::{Chain, ENTRIES, WINDOW, load, store};
use super::ifma_form::{double, enter, enter_one, leave, put, subtract_once};
use super::{BLOCK, DIGIT_BITS, LANES, Moduli, Row};
use crate::low::cpu::Avx512;
use std::arch::x86_64::*;

/// Scratch numbers of one chain, for up to D digits; wiped when dropped.
struct Work<const D: usize>([[Row; D]; 4]);
/// The powers of one base, for up to D digits, ordered by digit and then by power; wiped when dropped.
struct Table<const D: usize>([[Row; ENTRIES]; D]);

impl<const D: usize> Drop for Work<D> {
    fn drop(&mut self) {
        // SAFETY: rows are plain numbers; all bytes zero is one.
        unsafe { crate::low::wipe(&mut self.0) }
    }
}

impl<const D: usize> Drop for Table<D> {
    fn drop(&mut self) {
        // SAFETY: rows are plain numbers; all bytes zero is one.
        unsafe { crate::low::wipe(&mut self.0) }
    }
}

impl<const D: usize> Work<D> {
    fn new() -> Work<D> {
        Work([[Row::ZERO; D]; 4])
    }

    fn rows(&mut self) -> &mut [Row] {
        self.0.as_flattened_mut()
    }
}

impl<const D: usize> Table<D> {
    fn new() -> Table<D> {
        Table([[Row::ZERO; ENTRIES]; D])
    }
}

/// Runs a function with scratch for the number of digits. The arguments are only names, so that no expression of the
/// caller is evaluated inside the unsafe block. Needs the token, so that no call is possible without it.
macro_rules! sized {
    ($token:ident, $digits:ident, $name:ident($($argument:ident),*)) => {{
        let _: Avx512 = $token;
        // SAFETY: the token proves all features that the functions ask for, which ask for nothing else.
        unsafe {
            match $digits {
                ..=10 => $name::<10>($($argument),*),
                ..=20 => $name::<20>($($argument),*),
                ..=40 => $name::<40>($($argument),*),
                _ => $name::<80>($($argument),*),
            }
        }
    }};
}

/// See [`super::power`].
pub(super) fn power(
    token: Avx512,
    m: &Moduli,
    base: &[Row],
    exponent: &[Row],
    exponent_bits: usize,
    out: &mut [Row],
) {
    let digits = m.digits;
    sized!(token, digits, power_sized(m, base, exponent, exponent_bits, out))
}

/// See [`super::power_pair`].
pub(super) fn power_pair(
    token: Avx512,
    m: [&Moduli; 2],
    base: [&[Row]; 2],
    exponent: [&[Row]; 2],
    exponent_bits: usize,
    out: [&mut [Row]; 2],
) {
    if m[0].digits > PAIR_DIGITS_MAX {
        for (at, out) in out.into_iter().enumerate() {
            power(token, m[at], base[at], exponent[at], exponent_bits, out);
        }
        return;
    }
    let digits = m[0].digits;
    sized!(token, digits, power_pair_sized(m, base, exponent, exponent_bits, out))
}

/// See [`super::power_public_vartime`].
pub(super) fn power_public_vartime(
    token: Avx512,
    m: &Moduli,
    base: &[Row],
    exponents: &[u64; LANES],
    out: &mut [Row],
) {
    let digits = m.digits;
    sized!(token, digits, power_public_sized(m, base, exponents, out))
}

/// See [`super::multiply`].
pub(super) fn multiply(token: Avx512, m: &Moduli, a: &[Row], b: &[Row], out: &mut [Row]) {
    let digits = m.digits;
    sized!(token, digits, multiply_sized(m, a, b, out))
}

/// See [`super::reduce`].
pub(super) fn reduce(token: Avx512, m: &Moduli, wide: &[Row], out: &mut [Row]) {
    let digits = m.digits;
    sized!(token, digits, reduce_sized(m, wide, out))
}

/// R^2 mod n with R = 2^(52 * digits).
pub(super) fn radix_square(token: Avx512, m: &Moduli, out: &mut [Row]) {
    let digits = m.digits;
    sized!(token, digits, radix_square_sized(m, out))
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn power_sized<const D: usize>(
    m: &Moduli,
    base: &[Row],
    exponent: &[Row],
    exponent_bits: usize,
    out: &mut [Row],
) {
    let (mut work, mut table) = (Work::<D>::new(), Table::<D>::new());
    let mut chains = [Chain::new(m, work.rows())];
    enter(&mut chains[0], base);
    raise(&mut chains, [&mut table.0], [exponent], exponent_bits);
    leave(&mut chains);
    put(&chains[0], out);
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn power_pair_sized<const D: usize>(
    m: [&Moduli; 2],
    base: [&[Row]; 2],
    exponent: [&[Row]; 2],
    exponent_bits: usize,
    out: [&mut [Row]; 2],
) {
    let (mut works, mut tables) = ([Work::<D>::new(), Work::new()], [Table::<D>::new(), Table::new()]);
    let [a, b] = &mut works;
    let mut chains = [Chain::new(m[0], a.rows()), Chain::new(m[1], b.rows())];
    for (chain, base) in chains.iter_mut().zip(base) {
        enter(chain, base);
    }
    let [a, b] = &mut tables;
    raise(&mut chains, [&mut a.0, &mut b.0], exponent, exponent_bits);
    leave(&mut chains);
    for (chain, out) in chains.iter().zip(out) {
        put(chain, out);
    }
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn power_public_sized<const D: usize>(m: &Moduli, base: &[Row], exponents: &[u64; LANES], out: &mut [Row]) {
    let (mut work, mut powers) = (Work::<D>::new(), Work::<D>::new());
    let mut chains = [Chain::new(m, work.rows())];
    let [one, first, ..] = &mut powers.0;
    let (one, first) = (&mut one[..m.digits], &mut first[..m.digits]);
    enter_one(&mut chains[0]);
    put(&chains[0], one);
    enter(&mut chains[0], base);
    put(&chains[0], first);
    let any = exponents.iter().fold(0, |any, exponent| any | exponent);
    let all_odd = exponents.iter().all(|exponent| exponent & 1 == 1);
    let bits = (u64::BITS - any.leading_zeros()) as usize;
    // The power for the first bit, or one if the exponents have no bit.
    fill_factor(&mut chains[0], one, first, exponents, bits.saturating_sub(1));
    let Chain { x, factor, .. } = &mut chains[0];
    x[..factor.len()].copy_from_slice(factor);
    for bit in (0..bits.saturating_sub(1)).rev() {
        square(&mut chains);
        if any >> bit & 1 == 1 && !(bit == 0 && all_odd) {
            fill_factor(&mut chains[0], one, first, exponents, bit);
            ifma::multiply(&mut chains);
        }
    }
    if bits > 1 && all_odd {
        // A last factor in plain form leaves the result in plain form, below 3n.
        chains[0].factor.as_flattened_mut().copy_from_slice(base);
        ifma::multiply(&mut chains);
        subtract_once(&mut chains[0]);
        subtract_once(&mut chains[0]);
    } else {
        leave(&mut chains);
    }
    put(&chains[0], out);
}

/// factor = first in the lanes whose exponent has the bit, else one.
#[target_feature(enable = "avx512f")]
fn fill_factor(chain: &mut Chain, one: &[Row], first: &[Row], exponents: &[u64; LANES], bit: usize) {
    let lanes = (0..LANES).fold(0, |lanes, lane| lanes | ((exponents[lane] >> bit & 1) as u8) << lane);
    for ((factor, one), first) in chain.factor.as_flattened_mut().iter_mut().zip(one).zip(first) {
        store(factor, _mm512_mask_blend_epi64(lanes, load(one), load(first)));
    }
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn multiply_sized<const D: usize>(m: &Moduli, a: &[Row], b: &[Row], out: &mut [Row]) {
    let mut work = Work::<D>::new();
    let mut chains = [Chain::new(m, work.rows())];
    enter(&mut chains[0], a);
    chains[0].factor.as_flattened_mut().copy_from_slice(b);
    ifma::multiply(&mut chains);
    subtract_once(&mut chains[0]);
    put(&chains[0], out);
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn reduce_sized<const D: usize>(m: &Moduli, wide: &[Row], out: &mut [Row]) {
    let mut work = Work::<D>::new();
    let mut chains = [Chain::new(m, work.rows())];
    let [chain] = &mut chains;
    chain.x.as_flattened_mut().copy_from_slice(wide);
    chain.factor.copy_from_slice(chain.rr);
    ifma::reduce(&mut chains);
    ifma::multiply(&mut chains);
    subtract_once(&mut chains[0]);
    put(&chains[0], out);
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn radix_square_sized<const D: usize>(m: &Moduli, out: &mut [Row]) {
    let radix_bits = DIGIT_BITS * m.digits;
    let mut work = Work::<D>::new();
    let mut chains = [Chain::new(m, work.rows())];
    // Starts in each lane with the largest power of two below n, and doubles it up to 2^(radix_bits + start).
    let squarings = (radix_bits / 32).ilog2();
    let start = radix_bits >> squarings;
    let mut doublings = [0; LANES];
    for (lane, doublings) in doublings.iter_mut().enumerate() {
        let top = m.n().iter().rposition(|row| row.0[lane] != 0).unwrap_or(0);
        let bit = (u64::BITS - 1).saturating_sub(m.n()[top].0[lane].leading_zeros()) as usize;
        chains[0].x.as_flattened_mut()[top].0[lane] = 1 << bit;
        *doublings = radix_bits + start - (DIGIT_BITS * top + bit);
    }
    let most = doublings.iter().fold(0, |most, count| most.max(*count));
    for left in (1..=most).rev() {
        let lanes = (0..LANES).fold(0, |lanes, lane| lanes | u8::from(doublings[lane] >= left) << lane);
        double(&mut chains[0], lanes);
    }
    // x is 2^radix_bits times 2^t; squaring doubles t.
    for step in (0..squarings).rev() {
        square(&mut chains);
        subtract_once(&mut chains[0]);
        if radix_bits >> step & 1 == 1 {
            double(&mut chains[0], !0);
        }
    }
    put(&chains[0], out);
}

/// x = x^exponent in each chain; x is in Montgomery form before and after.
#[target_feature(enable = "avx512f,avx512ifma")]
fn raise<'a, const C: usize>(
    chains: &mut [Chain<'a>; C],
    mut tables: [&'a mut [[Row; ENTRIES]]; C],
    exponents: [&[Row]; C],
    exponent_bits: usize,
) {
    make_tables(chains, &mut tables);
    let tables = tables.map(|table| &*table);
    for at in (0..exponent_bits.div_ceil(WINDOW)).rev() {
        let first = at * WINDOW;
        let width = WINDOW.min(exponent_bits - first);
        for c in 0..C {
            chains[c].begin_selection(tables[c], window(exponents[c], first, width));
        }
        if first + width == exponent_bits {
            for chain in &mut *chains {
                chain.end_selection();
                let Chain { x, factor, .. } = chain;
                x[..factor.len()].copy_from_slice(factor);
            }
        } else {
            for _ in 0..WINDOW {
                square(chains);
            }
            for chain in &mut *chains {
                chain.end_selection();
            }
            ifma::multiply(chains);
        }
    }
    if exponent_bits == 0 {
        for chain in chains {
            enter_one(chain);
        }
    }
}

/// Computes the powers of x from 0 on. Even powers are squares; odd ones take one more multiplication.
#[target_feature(enable = "avx512f,avx512ifma")]
fn make_tables<const C: usize>(chains: &mut [Chain; C], tables: &mut [&mut [[Row; ENTRIES]]; C]) {
    for (chain, table) in chains.iter_mut().zip(tables.iter_mut()) {
        chain.factor.copy_from_slice(&chain.x[..chain.n.len()]);
        keep(chain, table, 1);
        enter_one(chain);
        keep(chain, table, 0);
    }
    for power in 2..ENTRIES {
        if power % 2 == 0 {
            for (chain, table) in chains.iter_mut().zip(tables.iter()) {
                for (row, entries) in
                    chain.x.as_flattened_mut().iter_mut().zip(table.iter()).take(BLOCK * chain.n.len())
                {
                    *row = entries[power / 2];
                }
            }
            square(chains);
        } else {
            ifma::multiply(chains);
        }
        for (chain, table) in chains.iter().zip(tables.iter_mut()) {
            keep(chain, table, power);
        }
    }
}

/// Stores x in the table as this power.
fn keep(chain: &Chain, table: &mut [[Row; ENTRIES]], power: usize) {
    for (row, entries) in chain.x[..chain.n.len()].as_flattened().iter().zip(table) {
        entries[power] = *row;
    }
}

/// `width` bits of the exponents, from bit `first` on.
#[target_feature(enable = "avx512f")]
fn window(exponent: &[Row], first: usize, width: usize) -> __m512i {
    let (at, shift) = (first / DIGIT_BITS, first % DIGIT_BITS);
    let row = |at: usize| exponent.get(at).map_or(_mm512_setzero_si512(), |row| load(row));
    let low = _mm512_srl_epi64(row(at), _mm_cvtsi64_si128(shift as i64));
    let high = _mm512_sll_epi64(row(at + 1), _mm_cvtsi64_si128((DIGIT_BITS - shift) as i64));
    _mm512_and_si512(_mm512_or_si512(low, high), _mm512_set1_epi64((1 << width) - 1))
}

/// Above this many digits, the two powers of a pair are computed one after the other: the waits that pairing fills no
/// longer matter, and one table keeps the stack small.
const PAIR_DIGITS_MAX: usize = 40;
