//! SHA-3 (FIPS 202) whose state can be exported after a block and imported again.
//!
//! The bound library's interface to SHA-3 does not give access to the state; whole texts still use it. This code
//! follows the standard's description. Its time depends on the text's length, not its content.

use crate::low::{wipe_bytes, wipe_lanes};

/// Length of the state in bytes.
pub(super) const STATE_BYTES: usize = 200;
/// The longest block in bytes, that of SHA3-224.
const BLOCK_BYTES_MAX: usize = 144;
const ROUNDS: usize = 24;
/// The two bits that end a SHA-3 text, and the first bit of the padding.
const SUFFIX: u8 = 0x06;

/// A running hash; wiped when dropped.
#[derive(Clone)]
pub(super) struct Keccak {
    lanes: [u64; 25],
    /// Text that does not fill a block yet.
    pending: [u8; BLOCK_BYTES_MAX],
    pending_bytes: usize,
    block_bytes: usize,
    digest_bytes: usize,
}

impl Keccak {
    /// A hash with blocks and digests of these lengths in bytes.
    pub(super) fn new(block_bytes: usize, digest_bytes: usize) -> Keccak {
        Keccak {
            lanes: [0; 25],
            pending: [0; BLOCK_BYTES_MAX],
            pending_bytes: 0,
            block_bytes: block_bytes.min(BLOCK_BYTES_MAX),
            digest_bytes,
        }
    }

    /// Continues from an exported state.
    pub(super) fn of_state(state: &[u8; STATE_BYTES], block_bytes: usize, digest_bytes: usize) -> Keccak {
        let mut keccak = Keccak::new(block_bytes, digest_bytes);
        keccak.lanes.iter_mut().zip(state.as_chunks().0).for_each(|(lane, bytes)| {
            *lane = u64::from_le_bytes(*bytes);
        });
        keccak
    }

    /// The state, for export; `None` inside a block.
    pub(super) fn state(&self) -> Option<[u8; STATE_BYTES]> {
        let mut state = [0; STATE_BYTES];
        state
            .as_chunks_mut()
            .0
            .iter_mut()
            .zip(self.lanes)
            .for_each(|(bytes, lane)| *bytes = lane.to_le_bytes());
        (self.pending_bytes == 0).then_some(state)
    }

    /// Adds text to the hash.
    pub(super) fn update(&mut self, mut text: &[u8]) {
        while !text.is_empty() {
            let taken = text.len().min(self.block_bytes - self.pending_bytes);
            let (now, later) = text.split_at(taken);
            self.pending[self.pending_bytes..][..taken].copy_from_slice(now);
            self.pending_bytes += taken;
            text = later;
            if self.pending_bytes == self.block_bytes {
                self.absorb();
            }
        }
    }

    /// The digest: the bytes of the digest length, then zeros. The state must not be used afterwards.
    pub(super) fn finish(&mut self) -> [u8; 64] {
        self.pending[self.pending_bytes..].fill(0);
        self.pending[self.pending_bytes] = SUFFIX;
        self.pending[self.block_bytes - 1] |= 0x80;
        self.absorb();
        let mut digest = [0; 64];
        let bytes = self.lanes.iter().flat_map(|lane| lane.to_le_bytes());
        digest[..self.digest_bytes].iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        digest
    }

    fn absorb(&mut self) {
        let block = self.pending[..self.block_bytes].as_chunks().0;
        for (lane, bytes) in self.lanes.iter_mut().zip(block) {
            *lane ^= u64::from_le_bytes(*bytes);
        }
        permute(&mut self.lanes);
        self.pending_bytes = 0;
    }
}

impl Drop for Keccak {
    fn drop(&mut self) {
        wipe_lanes(&mut self.lanes);
        wipe_bytes(&mut self.pending);
    }
}

/// Keccak-f[1600] (FIPS 202, 3.2 and 3.3). Lane (x, y) has index 5y + x.
fn permute(lanes: &mut [u64; 25]) {
    for constant in CONSTANTS {
        // Theta.
        let column: [u64; 5] = std::array::from_fn(|x| (0..5).fold(0, |sum, y| sum ^ lanes[5 * y + x]));
        for (at, lane) in lanes.iter_mut().enumerate() {
            *lane ^= column[(at + 4) % 5] ^ column[(at + 1) % 5].rotate_left(1);
        }
        // Rho and pi.
        let (mut x, mut y, mut moved) = (1, 0, lanes[1]);
        for step in 0..24 {
            (x, y) = (y, (2 * x + 3 * y) % 5);
            let rotated = moved.rotate_left((step + 1) * (step + 2) / 2 % 64);
            moved = std::mem::replace(&mut lanes[5 * y + x], rotated);
        }
        // Chi.
        for row in lanes.as_chunks_mut::<5>().0 {
            let before = *row;
            for (x, lane) in row.iter_mut().enumerate() {
                *lane ^= !before[(x + 1) % 5] & before[(x + 2) % 5];
            }
        }
        // Iota.
        lanes[0] ^= constant;
    }
}

const CONSTANTS: [u64; ROUNDS] = constants();

/// The constants that iota adds, one per round, from a shift register (3.2.5).
const fn constants() -> [u64; ROUNDS] {
    let mut constants = [0; ROUNDS];
    let (mut register, mut round) = (1u8, 0);
    while round < ROUNDS {
        let mut power = 0;
        while power < 7 {
            if register & 1 != 0 {
                constants[round] |= 1 << ((1 << power) - 1);
            }
            register = (register << 1) ^ (if register & 0x80 != 0 { 0x71 } else { 0 });
            power += 1;
        }
        round += 1;
    }
    constants
}

#[cfg(test)]
mod tests {
    use super::*;
    use openssl::hash::{MessageDigest, hash};

    #[test]
    fn is_what_openssl_does_however_the_text_comes() {
        for (digest, digest_bytes, block_bytes) in [
            (MessageDigest::sha3_224(), 28, 144),
            (MessageDigest::sha3_256(), 32, 136),
            (MessageDigest::sha3_384(), 48, 104),
            (MessageDigest::sha3_512(), 64, 72),
        ] {
            for length in (0..300).chain([1000, 1001, 4096]) {
                let text: Vec<u8> = (0..length).map(|at| (at * 7 % 251) as u8).collect();
                let expected = hash(digest, &text).unwrap();
                for piece in [1, 7, block_bytes, 1000] {
                    let mut keccak = Keccak::new(block_bytes, digest_bytes);
                    for part in text.chunks(piece) {
                        keccak.update(part);
                        // After whole blocks, continues from the exported state alone.
                        if let Some(state) = keccak.state() {
                            keccak = Keccak::of_state(&state, block_bytes, digest_bytes);
                        }
                    }
                    let found = keccak.finish();
                    assert_eq!(found[..digest_bytes], expected[..], "{length} by {piece}");
                    assert!(found[digest_bytes..].iter().all(|byte| *byte == 0));
                }
            }
        }
    }
}
