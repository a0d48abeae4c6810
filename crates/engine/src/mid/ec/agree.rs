//! X25519 (RFC 7748, 5): shared secrets of up to eight requests at once, and public values.

use crate::low::cpu::Avx512;
use crate::low::curves::{
    BaseTable, DIGITS, LANES, Number, QUOTIENTS_MAX, Secret, base_fraction, load_bytes, quotients,
    store_bytes, x25519,
};
use crate::low::wipe_bytes;

/// Length of a private, public or shared value in bytes.
const BYTES: usize = 32;
/// At most this many public values are computed at once.
pub(super) const PUBLICS_MAX: usize = QUOTIENTS_MAX * LANES;

/// The shared secrets of eight requests; wiped when dropped.
pub(super) struct Shared(Secret<DIGITS>);

impl Shared {
    /// Computes the shared secrets of `filled` requests (one to eight); `request` returns the private and public value
    /// of each. Unused lanes repeat the first.
    pub(super) fn compute<'a>(
        &mut self,
        token: Option<Avx512>,
        filled: usize,
        request: impl Fn(usize) -> [&'a [u8; BYTES]; 2],
    ) {
        let (mut scalars, mut points) = (Secret::<DIGITS>::zero(), Secret::<DIGITS>::zero());
        for lane in 0..LANES {
            let [private, public] = request(if lane < filled { lane } else { 0 });
            load_scalar(&mut scalars.0, lane, private);
            // RFC 7748, 5: the highest bit of a point is ignored.
            let mut point = *public;
            point[31] &= 0x7f;
            load(&mut points.0, lane, &mut point);
        }
        x25519(token, &scalars.0, &points.0, &mut self.0.0);
    }

    /// Room for results, without any.
    pub(super) fn none() -> Shared {
        Shared(Secret::zero())
    }

    /// Writes the shared secret of a lane. If it is zero, as for a point of small order, returns false and writes
    /// zeros.
    #[must_use]
    pub(super) fn store(&self, lane: usize, out: &mut [u8; BYTES]) -> bool {
        store(&self.0.0, lane, out)
    }
}

/// Public values of up to [`PUBLICS_MAX`] private ones.
pub(super) struct Publics {
    /// Fractions first, and the values in their place after the division.
    numbers: [Secret<{ 2 * DIGITS }>; QUOTIENTS_MAX],
}

impl Publics {
    /// Room for results, without any.
    pub(super) fn none() -> Publics {
        Publics { numbers: std::array::from_fn(|_| Secret::zero()) }
    }

    /// Computes the public values of `filled` private ones, at least one.
    pub(super) fn compute<'a>(
        &mut self,
        token: Option<Avx512>,
        filled: usize,
        private: impl Fn(usize) -> &'a [u8; BYTES],
    ) {
        let eights = filled.div_ceil(LANES).min(QUOTIENTS_MAX);
        let mut scalars = Secret::<DIGITS>::zero();
        for (eight, fraction) in self.numbers[..eights].iter_mut().enumerate() {
            for lane in 0..LANES {
                let at = eight * LANES + lane;
                load_scalar(&mut scalars.0, lane, private(if at < filled { at } else { 0 }));
            }
            base_fraction(token, BaseTable::get(token), &scalars.0, &mut fraction.0);
        }
        quotients(token, &mut self.numbers[..eights]);
    }

    /// Writes a public value. Returns false if it is zero, which happens only after a fault.
    #[must_use]
    pub(super) fn store(&self, at: usize, out: &mut [u8; BYTES]) -> bool {
        let number = self.numbers.get(at / LANES).and_then(|numbers| numbers.0.first_chunk());
        number.is_some_and(|number| store(number, at % LANES, out))
    }
}

/// Puts a private value into a lane, with three bits cleared and one set (RFC 7748, 5).
fn load_scalar(rows: &mut Number, lane: usize, private: &[u8; BYTES]) {
    let mut scalar = *private;
    scalar[0] &= 0xf8;
    scalar[31] = scalar[31] & 0x7f | 0x40;
    load(rows, lane, &mut scalar);
}

/// Puts a little-endian number into a lane, and wipes `bytes`.
fn load(rows: &mut Number, lane: usize, bytes: &mut [u8; BYTES]) {
    bytes.reverse();
    load_bytes(rows, lane, bytes);
    wipe_bytes(bytes);
}

/// Writes the number of a lane, little-endian; false if it is zero or exceeds 256 bits.
#[must_use]
fn store(rows: &Number, lane: usize, out: &mut [u8; BYTES]) -> bool {
    let fits = store_bytes(rows, lane, out);
    out.reverse();
    let any = out.iter().fold(0, |any, byte| any | byte);
    fits && any != 0
}
