//! Multiples of P-256's generator, for [`super::base_multiple`].
//!
//! Entries are affine and in Montgomery form. 37 windows take 185 KiB, part of the second-level cache. Windows of six
//! bits would take 43 additions and 108 KiB, windows of eight bits 33 and 330 KiB.

use super::p256_point::ONE;
use super::windows::{ENTRIES, Entries, WINDOW};
use super::{DIGITS, LANES, Number, Point, Row, add_to, affine, inverses};
use crate::low::cpu::Avx512;
use std::sync::OnceLock;

/// Windows for 256 bits and the sign of the highest.
pub(super) const WINDOWS: usize = 37;

/// The generator's coordinates in Montgomery form.
const GENERATOR: [[u64; DIGITS]; 2] = [
    [
        0x0003_0d41_8a91_43c1,
        0x000c_4fed_b601_79e7,
        0x0006_2251_075b_a95f,
        0x0005_c669_fb73_2b77,
        0x0000_8905_f76b_5375,
    ],
    [
        0x0005_357c_e955_60a8,
        0x0004_3a19_e45c_ddf2,
        0x0002_1f32_58b4_ab8e,
        0x000d_8552_e886_88dd,
        0x0000_571f_f18a_5885,
    ],
];

/// x and y of all entries of a window.
pub(super) type Window = [[Entries; DIGITS]; 2];

/// The multiples of all windows, which are public.
pub(crate) struct Table(Box<[Window]>);

impl Table {
    /// The table of this process, computed at the first call; kernels take some milliseconds.
    pub(crate) fn get(token: Option<Avx512>) -> &'static Table {
        static TABLE: OnceLock<Table> = OnceLock::new();
        TABLE.get_or_init(|| Table::new(token))
    }

    /// Computes the table, one window a lane.
    pub(super) fn new(token: Option<Avx512>) -> Table {
        let mut windows = vec![[[[Row::ZERO; ENTRIES / LANES]; DIGITS]; 2]; WINDOWS];
        let mut first = generator();
        for group in windows.chunks_mut(LANES) {
            let mut base: Point = first;
            for lane in 0..group.len() {
                base.iter_mut().zip(&first).for_each(|(base, first)| base.0[lane] = first.0[lane]);
                for _ in 0..WINDOW {
                    let point = first;
                    add_to(token, &mut first, &point);
                }
            }
            let mut entry = base;
            for number in 0..ENTRIES {
                let [x, y] = affine_of(token, &entry);
                for (lane, window) in group.iter_mut().enumerate() {
                    for (digit, entries) in x.iter().chain(&y).zip(window.as_flattened_mut()) {
                        entries[number / LANES].0[number % LANES] = digit.0[lane];
                    }
                }
                add_to(token, &mut entry, &base);
            }
        }
        Table(windows.into_boxed_slice())
    }

    pub(super) fn windows(&self) -> &[Window] {
        &self.0
    }
}

/// The generator in every lane.
fn generator() -> Point {
    let mut point = [Row::ZERO; 3 * DIGITS];
    let digits = GENERATOR.iter().flatten().chain(&ONE);
    for (row, digit) in point.iter_mut().zip(digits) {
        *row = Row([*digit; LANES]);
    }
    point
}

/// x and y of points, in Montgomery form.
fn affine_of(token: Option<Avx512>, point: &Point) -> [Number; 2] {
    let mut z = [Row::ZERO; DIGITS];
    z.copy_from_slice(&point[2 * DIGITS..]);
    let [mut z_inverse, mut unused, mut x, mut y] = [[Row::ZERO; DIGITS]; 4];
    inverses(token, &z, &[Row::ZERO; DIGITS], &mut z_inverse, &mut unused);
    affine(token, point, &z_inverse, &mut x, &mut y);
    [x, y]
}
