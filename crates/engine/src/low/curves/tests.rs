//! Each kernel gives the results of its plain twin, and both those of the library.

use super::*;
use crate::low::aws_lc::ec::{EcKey, Group};
use crate::low::aws_lc::xcurve;
use crate::low::cpu::Cpu;
use seeded::Random;
use std::cell::Cell;

/// One bit of one lane to be flipped, once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) step: Step,
    pub(crate) row: usize,
    pub(crate) lane: usize,
    pub(crate) bit: usize,
}

thread_local! {
    pub(crate) static FAULT: Cell<Option<Fault>> = const { Cell::new(None) };
}

pub(crate) fn step(step: Step, rows: &mut [Row]) {
    if let Some(fault) = FAULT.get().filter(|fault| fault.step == step) {
        rows[fault.row % rows.len()].0[fault.lane] ^= 1 << fault.bit;
        FAULT.set(None);
    }
}

fn tokens() -> [Option<Avx512>; 2] {
    [None, Cpu::up_to_avx512().avx512]
}

fn rows_of(numbers: &[[u8; 32]; LANES]) -> Number {
    let mut rows = [Row::ZERO; DIGITS];
    for (lane, number) in numbers.iter().enumerate() {
        load_bytes(&mut rows, lane, number);
    }
    rows
}

fn lane_of(rows: &Number, lane: usize) -> [u8; 32] {
    let mut bytes = [0; 32];
    assert!(store_bytes(rows, lane, &mut bytes));
    bytes
}

fn hex(text: &str) -> [u8; 32] {
    std::array::from_fn(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap())
}

/// The order of P-256.
const N: &str = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551";

/// x and y of scalar * G for each lane; zeros for the neutral point.
fn multiples(token: Option<Avx512>, scalars: &[[u8; 32]; LANES]) -> [([u8; 32], [u8; 32]); LANES] {
    let mut point = [Row::ZERO; 3 * DIGITS];
    let [mut used, mut z_inverse, mut unused, mut x, mut y] = [[Row::ZERO; DIGITS]; 5];
    let scalar = rows_of(scalars);
    base_multiple(token, Table::get(token), &scalar, &mut point, &mut used);
    assert_eq!(used, scalar);
    let z = point[2 * DIGITS..].try_into().unwrap();
    inverses(token, &z, &scalar, &mut z_inverse, &mut unused);
    affine(token, &point, &z_inverse, &mut x, &mut y);
    // Out of Montgomery form.
    for number in [&mut x, &mut y] {
        let left = p256_field::leave::<p256_field::Prime, Words>(&vector::load(number));
        vector::store(&left, number);
    }
    std::array::from_fn(|lane| (lane_of(&x, lane), lane_of(&y, lane)))
}

#[test]
fn multiples_of_the_generator_are_the_librarys() {
    let mut random = Random(1);
    // The scalars include every power of two, small numbers and their negatives: digits of every size, windows of
    // zeros, and sums that meet an equal or opposite entry. They also include 0 and the order itself.
    let mut scalars: Vec<[u8; 32]> = random.arrays(300);
    scalars.iter_mut().for_each(|scalar| scalar[0] &= 0x7f);
    for bit in 0..255 {
        let mut scalar = [0; 32];
        scalar[31 - bit / 8] = 1 << (bit % 8);
        scalars.push(scalar);
        scalars.push(minus(&hex(N), &scalar));
    }
    for small in 0..=130u8 {
        let mut scalar = [0; 32];
        scalar[31] = small;
        scalars.push(scalar);
        scalars.push(minus(&hex(N), &scalar));
    }
    scalars.push(hex(N));
    scalars.resize(scalars.len().next_multiple_of(LANES), [0xff; 32]);
    for token in tokens() {
        for eight in scalars.as_chunks::<LANES>().0 {
            for (scalar, (x, y)) in eight.iter().zip(multiples(token, eight)) {
                match EcKey::from_private(Group::P256, scalar) {
                    Some(key) => assert_eq!(key.public().unwrap()[1..], [x, y].concat(), "{scalar:02x?}"),
                    // Zero, the order, or above it.
                    None if *scalar == [0xff; 32] => {}
                    None => assert_eq!((x, y), ([0; 32], [0; 32]), "{scalar:02x?}"),
                }
            }
        }
    }
}

fn minus(a: &[u8; 32], b: &[u8; 32]) -> [u8; 32] {
    let (mut out, mut borrow) = ([0; 32], 0i16);
    for at in (0..32).rev() {
        let digit = i16::from(a[at]) - i16::from(b[at]) + borrow;
        out[at] = digit as u8;
        borrow = digit >> 8;
    }
    out
}

#[test]
fn x25519_is_the_librarys() {
    let mut random = Random(2);
    for token in tokens() {
        for _ in 0..if token.is_some() { 40 } else { 4 } {
            let mut scalars: [[u8; 32]; LANES] = std::array::from_fn(|_| random.array());
            let mut points: [[u8; 32]; LANES] = std::array::from_fn(|_| random.array());
            for (scalar, point) in scalars.iter_mut().zip(&mut points) {
                scalar[0] = scalar[0] & 0x7f | 0x40;
                scalar[31] &= 0xf8;
                point[0] &= 0x7f;
            }
            let mut out = [Row::ZERO; DIGITS];
            x25519(token, &rows_of(&scalars), &rows_of(&points), &mut out);
            for lane in 0..LANES {
                let (mut scalar, mut point, mut got) = (scalars[lane], points[lane], lane_of(&out, lane));
                [&mut scalar, &mut point, &mut got].into_iter().for_each(|bytes| bytes.reverse());
                let mut expected = [0; 32];
                assert!(xcurve::x25519(&scalar, &point, &mut expected));
                assert_eq!(got, expected);
            }
        }
    }
}

/// Numbers at the limits of digits and of the prime give least remainders in any form: RFC 7748 accepts all.
#[test]
fn x25519_of_points_at_the_borders() {
    let prime: [u8; 32] = hex("7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffed");
    let mut points = vec![[0; 32], prime, [0xff; 32]];
    points[2][0] = 0x7f;
    for small in 1..=19u8 {
        let mut above = prime;
        above[31] = above[31].wrapping_add(small);
        points.push(above);
        let mut below = prime;
        below[31] -= small;
        points.push(below);
        points.push([[0; 31].as_slice(), &[small]].concat().try_into().unwrap());
    }
    for bit in 0..255 {
        let mut point = [0; 32];
        point[31 - bit / 8] = 1 << (bit % 8);
        points.push(point);
    }
    points.resize(points.len().next_multiple_of(LANES), [9; 32]);
    let mut scalar = [0xa5; 32];
    (scalar[0], scalar[31]) = (0x5a, 0xa0);
    for (at, token) in tokens().into_iter().enumerate() {
        let points = if token.is_none() { &points[..64] } else { &points[..] };
        for eight in points.as_chunks::<LANES>().0 {
            let mut out = [Row::ZERO; DIGITS];
            x25519(token, &rows_of(&[scalar; LANES]), &rows_of(eight), &mut out);
            for (lane, point) in eight.iter().enumerate() {
                let (mut scalar, mut point, mut got) = (scalar, *point, lane_of(&out, lane));
                [&mut scalar, &mut point, &mut got].into_iter().for_each(|bytes| bytes.reverse());
                let mut expected = [0; 32];
                if !xcurve::x25519(&scalar, &point, &mut expected) {
                    expected = [0; 32];
                }
                assert_eq!(got, expected, "{at}: {point:02x?}");
            }
        }
    }
}

/// Compares public values with the library's, for big-endian scalars as RFC 7748, 5, makes them.
fn check_public_values(token: Option<Avx512>, scalars: &[[u8; 32]]) {
    let mut fractions: Vec<Secret<{ 2 * DIGITS }>> = Vec::new();
    let eights = scalars.as_chunks::<LANES>().0;
    fractions.resize_with(eights.len(), Secret::zero);
    for (eight, fraction) in eights.iter().zip(&mut fractions) {
        base_fraction(token, BaseTable::get(token), &rows_of(eight), &mut fraction.0);
    }
    quotients(token, &mut fractions);
    for (eight, fraction) in eights.iter().zip(&fractions) {
        for (lane, scalar) in eight.iter().enumerate() {
            let mut got = lane_of(fraction.0.first_chunk().unwrap(), lane);
            let mut scalar = *scalar;
            [&mut scalar, &mut got].into_iter().for_each(|bytes| bytes.reverse());
            assert_eq!(got, xcurve::x25519_public(&scalar), "{scalar:02x?}");
        }
    }
}

#[test]
fn public_values_are_the_librarys() {
    let mut random = Random(3);
    for token in tokens() {
        let rounds = if token.is_some() { 400 } else { 4 };
        for eights in (1..=QUOTIENTS_MAX).cycle().take(rounds) {
            let mut scalars: Vec<[u8; 32]> = random.arrays(LANES * eights);
            (scalars[1], scalars[2], scalars[3]) = ([0; 32], [0xff; 32], [0x5a; 32]);
            for scalar in &mut scalars {
                scalar[0] = scalar[0] & 0x7f | 0x40;
                scalar[31] &= 0xf8;
            }
            check_public_values(token, &scalars);
        }
    }
}

/// Every entry of the table, and its opposite, by itself in its window.
#[test]
fn the_base_table_holds_multiples_of_the_base_point() {
    let tables = tokens().map(BaseTable::new);
    assert_eq!(tables[0].windows(), tables[1].windows());
    assert_eq!(tables[0].start(), tables[1].start());
    let Some(token) = tokens()[1] else { return };
    let mut scalars = Vec::new();
    for window in 0..x25519_table::WINDOWS {
        for number in 1..=64_u128 {
            let from = 7 * window + 3;
            scalars.push(with_bits(number, from));
            // 128 - `number` in this window: the digit -`number` here, and one in the window above.
            if window + 1 < x25519_table::WINDOWS {
                scalars.push(with_bits(128 - number, from));
            }
        }
    }
    scalars.resize(scalars.len().next_multiple_of(LANES), with_bits(0, 0));
    for some in scalars.chunks(LANES * QUOTIENTS_MAX) {
        check_public_values(Some(token), some);
    }
}

/// 2^254 plus `number` from bit `from` on, without the bits from 254 on.
fn with_bits(number: u128, from: usize) -> [u8; 32] {
    let mut scalar = [0; 32];
    for bit in (0..7).filter(|bit| number >> bit & 1 == 1 && from + bit < 254) {
        scalar[31 - (from + bit) / 8] |= 1 << ((from + bit) % 8);
    }
    scalar[0] |= 0x40;
    scalar
}

/// The table, computed by kernels or plainly, holds the library's multiples.
#[test]
fn the_table_holds_multiples_of_the_generator() {
    let tables = tokens().map(Table::new);
    assert_eq!(tables[0].windows(), tables[1].windows());
    let windows = tables[1].windows();
    for (at, window) in windows.iter().enumerate() {
        for number in [1, 2, 3, 15, 31, 32, 63, 64] {
            if number >> (256 - 7 * at).min(7) != 0 {
                continue;
            }
            let mut scalar = [0; 32];
            let bit = 7 * at;
            let wide = u128::from(number as u64) << (bit % 8);
            for byte in 0..2 {
                if let Some(place) = 31usize.checked_sub(bit / 8 + byte) {
                    scalar[place] = (wide >> (8 * byte)) as u8;
                }
            }
            let Some(key) = EcKey::from_private(Group::P256, &scalar) else { continue };
            let mut numbers = [[Row::ZERO; DIGITS]; 2];
            for (digit, entries) in numbers.as_flattened_mut().iter_mut().zip(window.as_flattened()) {
                digit.0[0] = entries[(number - 1) / LANES].0[(number - 1) % LANES];
            }
            let plain = numbers.map(|number| {
                let left = p256_field::leave::<p256_field::Prime, Words>(&vector::load(&number));
                let mut rows = [Row::ZERO; DIGITS];
                vector::store(&left, &mut rows);
                lane_of(&rows, 0)
            });
            assert_eq!(key.public().unwrap()[1..], *plain.as_flattened(), "{number} in window {at}");
        }
    }
}
