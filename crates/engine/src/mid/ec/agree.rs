//! X25519 (RFC 7748, 5) of up to eight requests at once.

use crate::low::cpu::Avx512;
use crate::low::curves::{DIGITS, LANES, Number, Secret, load_bytes, store_bytes, x25519};
use crate::low::wipe_bytes;

/// Bytes of a private, a public and a shared value.
const BYTES: usize = 32;
/// The public value of the base point (RFC 7748, 4.1).
pub(super) const BASE: [u8; BYTES] = {
    let mut base = [0; BYTES];
    base[0] = 9;
    base
};

/// The results of eight requests; wiped when dropped.
pub(super) struct Shared(Secret<DIGITS>);

impl Shared {
    /// Computes them for so many requests (one to eight), given the private and the public value of each. Lanes left over
    /// repeat one.
    pub(super) fn compute<'a>(
        &mut self,
        token: Option<Avx512>,
        filled: usize,
        request: impl Fn(usize) -> [&'a [u8; BYTES]; 2],
    ) {
        let (mut scalars, mut points) = (Secret::<DIGITS>::zero(), Secret::<DIGITS>::zero());
        for lane in 0..LANES {
            let [private, public] = request(if lane < filled { lane } else { 0 });
            let (mut scalar, mut point) = (*private, *public);
            // RFC 7748, 5: three bits of the scalar are cleared, one is set; the point's highest bit is not looked at.
            scalar[0] &= 0xf8;
            scalar[31] = scalar[31] & 0x7f | 0x40;
            point[31] &= 0x7f;
            load(&mut scalars.0, lane, &mut scalar);
            load(&mut points.0, lane, &mut point);
        }
        x25519(token, &scalars.0, &points.0, &mut self.0.0);
    }

    /// Nothing yet.
    pub(super) fn none() -> Shared {
        Shared(Secret::zero())
    }

    /// Writes one lane's; false, and zeros, if it is zero, as it is where the point has a small order.
    #[must_use]
    pub(super) fn store(&self, lane: usize, out: &mut [u8; BYTES]) -> bool {
        let fits = store_bytes(&self.0.0, lane, out);
        out.reverse();
        let any = out.iter().fold(0, |any, byte| any | byte);
        fits && any != 0
    }
}

/// Puts a little-endian number into a lane, and wipes it.
fn load(rows: &mut Number, lane: usize, bytes: &mut [u8; BYTES]) {
    bytes.reverse();
    load_bytes(rows, lane, bytes);
    wipe_bytes(bytes);
}
