//! Multiples of X25519's base point for [`super::x25519_base`], by the coordinates of edwards25519
//! (RFC 7748, 4.1: -x^2 + y^2 = 1 + d x^2 y^2).
//!
//! Scalars are multiples of 8 (RFC 7748, 5), so the sum is an eighth of the scalar times 8 B. That eighth has 252 bits,
//! of which the highest is always set. The sum starts with its multiple, and the other 251 bits take 36 windows, 270
//! KiB. An entry is y + x, y - x and 2dxy, which saves a product per addition.

use super::windows::{ENTRIES, Entries, WINDOW};
use super::{DIGITS, Entry, Extended, LANES, Row, add_entry_to, entry_of};
use crate::low::cpu::Avx512;
use std::sync::OnceLock;

/// Windows for 251 bits and the sign of the highest.
pub(super) const WINDOWS: usize = 36;

/// The base point (RFC 7748, 4.1, and RFC 8032, 5.1).
const BASE: [[u64; DIGITS]; 2] = [
    digits([0x2169_36d3_cd6e_53fe, 0xc0a4_e231_fdd6_dc5c, 0x692c_c760_9525_a7b2, 0xc956_2d60_8f25_d51a]),
    digits([0x6666_6666_6666_6666, 0x6666_6666_6666_6666, 0x6666_6666_6666_6666, 0x6666_6666_6666_6658]),
];

/// Digits of 51 bits from 64-bit words, the highest word first.
pub(super) const fn digits(words: [u64; 4]) -> [u64; DIGITS] {
    const MASK: u64 = (1 << 51) - 1;
    let [d, c, b, a] = words;
    [a & MASK, (a >> 51 | b << 13) & MASK, (b >> 38 | c << 26) & MASK, (c >> 25 | d << 39) & MASK, d >> 12]
}

/// Each number of an entry, for all entries of a window.
pub(super) type Window = [[Entries; DIGITS]; 3];

/// The multiples of all windows, and 2^254 B, which are public.
pub(crate) struct Table {
    windows: Box<[Window]>,
    start: [u64; 4 * DIGITS],
}

impl Table {
    /// The table of this process, computed at the first call; kernels take some milliseconds.
    pub(crate) fn get(token: Option<Avx512>) -> &'static Table {
        static TABLE: OnceLock<Table> = OnceLock::new();
        TABLE.get_or_init(|| Table::new(token))
    }

    /// Computes the table, one window a lane.
    pub(super) fn new(token: Option<Avx512>) -> Table {
        let mut windows = vec![[[[Row::ZERO; ENTRIES / LANES]; DIGITS]; 3]; WINDOWS];
        let mut start = [0; 4 * DIGITS];
        let mut first = base(token);
        times_two(token, &mut first, 3);
        for group in windows.chunks_mut(LANES) {
            let mut point: Extended = first;
            for lane in 0..group.len() {
                point.iter_mut().zip(&first).for_each(|(point, first)| point.0[lane] = first.0[lane]);
                times_two(token, &mut first, WINDOW);
            }
            let [mut entry, mut once] = [[Row::ZERO; 3 * DIGITS]; 2];
            entry_of(token, &point, &mut once);
            for number in 0..ENTRIES {
                if number != 0 {
                    add_entry_to(token, &mut point, &once);
                }
                entry_of(token, &point, &mut entry);
                for (lane, window) in group.iter_mut().enumerate() {
                    for (digit, entries) in entry.iter().zip(window.as_flattened_mut()) {
                        entries[number / LANES].0[number % LANES] = digit.0[lane];
                    }
                }
            }
            // The start is the highest window's entry 64: 64 times 8 B times 2^(7 * 35), which is 2^254 B.
            start.iter_mut().zip(&point).for_each(|(start, row)| *start = row.0[group.len() - 1]);
        }
        Table { windows: windows.into_boxed_slice(), start }
    }

    pub(super) fn windows(&self) -> &[Window] {
        &self.windows
    }

    /// X, Y, Z and T of 2^254 B, where sums start.
    pub(super) fn start(&self) -> &[u64; 4 * DIGITS] {
        &self.start
    }
}

/// The base point in every lane.
fn base(token: Option<Avx512>) -> Extended {
    let mut point = [Row::ZERO; 4 * DIGITS];
    let (mut affine, mut entry) = (point, [Row::ZERO; 3 * DIGITS]);
    for (row, digit) in affine.iter_mut().zip(BASE.as_flattened()) {
        *row = Row([*digit; LANES]);
    }
    // Z is 1. Adding to the neutral point (0 : 1 : 1) computes T.
    let one = Row([1; LANES]);
    (affine[2 * DIGITS], point[DIGITS], point[2 * DIGITS]) = (one, one, one);
    entry_of(token, &affine, &mut entry);
    add_entry_to(token, &mut point, &entry);
    point
}

fn times_two(token: Option<Avx512>, point: &mut Extended, times: usize) {
    let mut entry: Entry = [Row::ZERO; 3 * DIGITS];
    for _ in 0..times {
        entry_of(token, point, &mut entry);
        add_entry_to(token, point, &entry);
    }
}
