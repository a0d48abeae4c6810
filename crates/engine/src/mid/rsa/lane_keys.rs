//! Data of a key in addition to the library's object, from which a batch of eight loads its numbers.

use crate::low::aws_lc::rsa::{Part, RsaObject};
use crate::low::cpu::Avx512;
use crate::low::rsa::{DIGIT_BITS, DIGITS_MAX, LANES, Moduli, Row, Secret, digits_for, load_bytes};
use crate::secret::SecretBytes;
use std::array;
use std::sync::OnceLock;

/// At most this many digits in a prime: half of the longest modulus. A key with a longer prime uses only the library.
pub(super) const PRIME_DIGITS_MAX: usize = DIGITS_MAX / 2;
/// Bytes in which a key stores a digit.
const DIGIT_BYTES: usize = 8;
/// Lengths of primes in bits for which the library has 52-bit vectors of its own. For other lengths, a single request
/// by primes is as fast or faster in lanes, with both primes side by side: 1.2 times for RSA-1024, twice for RSA-1536.
const LIBRARY_VECTOR_PRIMES: [usize; 3] = [1024, 1536, 2048];
/// The library multiplies moduli of a multiple of this many words fastest. For other lengths above
/// [`LIBRARY_FASTER_BITS_MAX`], a single request by modulus and exponent is 1.1 to 1.6 times faster in lanes.
const LIBRARY_STEP_WORDS: usize = 8;
const LIBRARY_FASTER_BITS_MAX: usize = 1024;

/// The properties that the keys of one group of eight share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// Public operations.
    Public { digits: usize },
    /// Private operations by modulus and exponent.
    ModulusExponent { digits: usize },
    /// Private operations by primes.
    Crt { digits: usize, prime_digits: usize },
}

/// A key: the library's object, and data with which an operation allocates nothing.
pub(super) struct LaneKey {
    pub(super) object: RsaObject,
    /// Modulus and public exponent, big-endian, without leading zeros.
    pub(super) n: Box<[u8]>,
    pub(super) e: Box<[u8]>,
    /// `None` if only the library can use the key.
    pub(super) shape: Option<Shape>,
    /// The public exponent, if it is below 2^64.
    pub(super) short_e: Option<u64>,
    /// Length in bits of the longest private exponent that such a key can have.
    pub(super) exponent_bits: usize,
    /// Whether a single request is faster in lanes than with the library.
    pub(super) alone_in_lanes: bool,
    /// Computed in lanes, for all keys of a pass together, at the first use there. That takes no longer than three
    /// passes of public operations, and keys that are never used in lanes do not pay for it.
    pub(super) constants: OnceLock<Constants>,
}

impl LaneKey {
    pub(super) fn public(object: RsaObject) -> LaneKey {
        LaneKey::new(object, 0, false, |digits| Some(Shape::Public { digits }))
    }

    pub(super) fn by_exponent(object: RsaObject) -> LaneKey {
        // As long as the modulus even if d is shorter, so that the time does not reveal the length of d.
        let bits = object.modulus_bits().max(object.part_bits(Part::D));
        let alone_in_lanes =
            bits > LIBRARY_FASTER_BITS_MAX && !bits.div_ceil(64).is_multiple_of(LIBRARY_STEP_WORDS);
        LaneKey::new(object, bits, alone_in_lanes, |digits| {
            (bits <= DIGIT_BITS * digits).then_some(Shape::ModulusExponent { digits })
        })
    }

    pub(super) fn by_primes(object: RsaObject) -> LaneKey {
        let bits = object.part_bits(Part::P).max(object.part_bits(Part::Q));
        let alone_in_lanes = !LIBRARY_VECTOR_PRIMES.contains(&bits);
        LaneKey::new(object, bits, alone_in_lanes, |digits| {
            let prime_digits = digits_for(bits).filter(|digits| *digits <= PRIME_DIGITS_MAX)?;
            Some(Shape::Crt { digits, prime_digits })
        })
    }

    fn new(
        object: RsaObject,
        exponent_bits: usize,
        alone_in_lanes: bool,
        shape: impl Fn(usize) -> Option<Shape>,
    ) -> LaneKey {
        let part = |part| {
            let mut bytes = vec![0; object.part_bytes(part).unwrap_or(0)];
            let written = object.part(part, &mut bytes);
            debug_assert!(written);
            bytes.into_boxed_slice()
        };
        let (n, e) = (part(Part::N), part(Part::E));
        let short_e = (e.len() <= 8).then(|| e.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)));
        let shape = digits_for(object.modulus_bits()).and_then(shape);
        LaneKey { object, n, e, shape, short_e, exponent_bits, alone_in_lanes, constants: OnceLock::new() }
    }
}

/// The numbers of a key that are loaded into lanes, in the order in which they are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Number {
    N,
    NRadix,
    /// The private exponent; absent for a key by primes.
    D,
    P,
    PRadix,
    Q,
    QRadix,
    Dp,
    Dq,
    Qinv,
}

/// The moduli among the numbers, each with its Montgomery constant (R^2 mod n).
const MODULI: [(Part, Number, Number); 3] = [
    (Part::N, Number::N, Number::NRadix),
    (Part::P, Number::P, Number::PRadix),
    (Part::Q, Number::Q, Number::QRadix),
];

/// The numbers that are no moduli.
const REST: [(Part, Number); 4] =
    [(Part::D, Number::D), (Part::Dp, Number::Dp), (Part::Dq, Number::Dq), (Part::Qinv, Number::Qinv)];

impl Shape {
    /// The place of a number and its length, both in digits; `None` if keys of the shape lack it.
    pub(super) fn place(self, number: Number) -> Option<(usize, usize)> {
        let at = number as usize;
        match (self, number) {
            (
                Shape::Public { digits } | Shape::ModulusExponent { digits } | Shape::Crt { digits, .. },
                Number::N | Number::NRadix,
            ) => Some((at * digits, digits)),
            (Shape::ModulusExponent { digits }, Number::D) => Some((at * digits, digits)),
            (Shape::Public { .. } | Shape::ModulusExponent { .. }, _) | (Shape::Crt { .. }, Number::D) => {
                None
            }
            (Shape::Crt { digits, prime_digits }, _) => {
                Some((2 * digits + (at - Number::P as usize) * prime_digits, prime_digits))
            }
        }
    }

    /// The number of digits of all numbers together.
    fn digits_of_all(self) -> usize {
        match self {
            Shape::Public { digits } => 2 * digits,
            Shape::ModulusExponent { digits } => 3 * digits,
            Shape::Crt { digits, prime_digits } => 2 * digits + 7 * prime_digits,
        }
    }

    /// The number of digits of the modulus.
    pub(super) fn digits(self) -> usize {
        match self {
            Shape::Public { digits } | Shape::ModulusExponent { digits } | Shape::Crt { digits, .. } => {
                digits
            }
        }
    }
}

/// The numbers of one key as digits; wiped when dropped.
pub(super) struct Constants {
    shape: Shape,
    digits: SecretBytes,
}

impl Constants {
    fn empty(shape: Shape) -> Constants {
        Constants { shape, digits: SecretBytes::new(DIGIT_BYTES * shape.digits_of_all()) }
    }

    fn take(&mut self, number: Number, rows: &[Row], lane: usize) {
        let Some((at, digits)) = self.shape.place(number) else { return };
        let kept = &mut self.digits[DIGIT_BYTES * at..][..DIGIT_BYTES * digits];
        for (kept, row) in kept.chunks_exact_mut(DIGIT_BYTES).zip(rows) {
            kept.copy_from_slice(&row.0[lane].to_le_bytes());
        }
    }

    pub(super) fn give(&self, number: Number, rows: &mut [Row], lane: usize) {
        let Some((at, digits)) = self.shape.place(number) else { return };
        let kept = &self.digits[DIGIT_BYTES * at..][..DIGIT_BYTES * digits];
        let (kept, _) = kept.as_chunks::<DIGIT_BYTES>();
        for (kept, row) in kept.iter().zip(rows) {
            row.0[lane] = u64::from_le_bytes(*kept);
        }
    }
}

/// Computes the constants of all eight keys in lanes, and stores them in the keys that have none.
#[cold]
pub(super) fn prepare(token: Option<Avx512>, shape: Shape, keys: &[&LaneKey; LANES]) {
    let mut made: [Constants; LANES] = array::from_fn(|_| Constants::empty(shape));
    for (part, number, radix) in MODULI {
        let Some((_, digits)) = shape.place(number) else { continue };
        let mut rows = Secret::<DIGITS_MAX>::zero();
        let rows = &mut rows.0[..digits];
        load_parts(keys, part, rows);
        let mut moduli = Moduli::room(digits);
        moduli.set(token, rows);
        for (lane, made) in made.iter_mut().enumerate() {
            made.take(number, moduli.n(), lane);
            made.take(radix, moduli.rr(), lane);
        }
    }
    for (part, number) in REST {
        let Some((_, digits)) = shape.place(number) else { continue };
        let mut rows = Secret::<DIGITS_MAX>::zero();
        let rows = &mut rows.0[..digits];
        load_parts(keys, part, rows);
        made.iter_mut().enumerate().for_each(|(lane, made)| made.take(number, rows, lane));
    }
    for (key, constants) in keys.iter().zip(made) {
        // One key may be in several lanes, and another thread may have been faster: all results are equal.
        let _ = key.constants.set(constants);
    }
}

/// Loads each number at the full length of its digits, so that the time does not reveal its own length.
fn load_parts(keys: &[&LaneKey; LANES], part: Part, rows: &mut [Row]) {
    let mut bytes = SecretBytes::new((DIGIT_BITS * rows.len()).div_ceil(8));
    for (lane, key) in keys.iter().enumerate() {
        let written = key.object.part(part, bytes.as_mut());
        debug_assert!(written);
        load_bytes(rows, lane, &bytes);
    }
}
