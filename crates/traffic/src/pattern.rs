//! The contents of messages: bytes that both ends know, by their place in the stream.
//!
//! The period is prime, so that no length of a segment, a block or a page has a multiple equal to it. Bytes that a
//! tunnel repeats, swaps or leaves out are therefore wrong on arrival.

use std::sync::LazyLock;

/// Bytes after which the pattern repeats.
const PERIOD: usize = 8191;
/// Upper bound of bytes written at once.
pub(crate) const PIECE_BYTES_MAX: usize = 128 << 10;

static TABLE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    // Xorshift (Marsaglia, 2003): any numbers that do not repeat within the period would do.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    let period: Vec<u8> = (0..PERIOD).map(|_| next()).collect();
    period.iter().copied().cycle().take(PERIOD + PIECE_BYTES_MAX).collect()
});

/// The position in the pattern of one direction of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PatternPosition(usize);

impl PatternPosition {
    /// The start of the client's bytes, by the seed of its header.
    pub fn of_requests(seed: u64) -> Self {
        Self((seed % PERIOD as u64) as usize)
    }

    /// The start of the server's bytes, by the same seed.
    pub fn of_responses(seed: u64) -> Self {
        Self((Self::of_requests(seed).0 + PERIOD / 2) % PERIOD)
    }

    /// The next `count` bytes, or the first [`PIECE_BYTES_MAX`] of them.
    pub fn bytes(self, count: usize) -> &'static [u8] {
        &TABLE[self.0..self.0 + count.min(PIECE_BYTES_MAX)]
    }

    /// Advances by `count` bytes.
    pub fn advance(&mut self, count: usize) {
        self.0 = (self.0 + count) % PERIOD;
    }

    /// Whether `bytes` are the next bytes of the pattern; advances behind them.
    pub fn check(&mut self, bytes: &[u8]) -> bool {
        // Compares a period at a time, so that the pattern stays in the nearest cache.
        let mut ok = true;
        for piece in bytes.chunks(PERIOD) {
            ok &= *piece == TABLE[self.0..self.0 + piece.len()];
            self.advance(piece.len());
        }
        ok
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_known_by_their_place() {
        let mut sent = Vec::new();
        let mut position = PatternPosition::of_requests(77);
        for count in [1, 8190, 8191, 8192, 70_000, PIECE_BYTES_MAX + 1, 3] {
            let bytes = position.bytes(count);
            assert_eq!(bytes.len(), count.min(PIECE_BYTES_MAX));
            sent.extend_from_slice(bytes);
            position.advance(bytes.len());
        }
        for cut in [1, 1448, 8191, 65_536, sent.len()] {
            let mut position = PatternPosition::of_requests(77);
            assert!(sent.chunks(cut).all(|piece| position.check(piece)));
        }
        assert_ne!(PatternPosition::of_requests(77), PatternPosition::of_responses(77));
    }

    #[test]
    fn what_a_tunnel_may_do_wrong_is_seen() {
        let position = PatternPosition::of_requests(5);
        let good = position.bytes(10_000).to_vec();
        let check = |bytes: &[u8]| position.clone().check(bytes);
        assert!(check(&good));
        for at in [0, 1, 8190, 8191, 9999] {
            let mut wrong = good.clone();
            wrong[at] ^= 1;
            assert!(!check(&wrong), "{at}");
        }
        for segment in [1, 16, 536, 1400, 1448, 4096] {
            // A segment twice, one left out, two swapped.
            let twice = [&good[..segment], &good[..segment], &good[segment..]].concat();
            let without = [&good[..segment], &good[2 * segment..]].concat();
            let swapped = [&good[segment..2 * segment], &good[..segment], &good[2 * segment..]].concat();
            assert!(!check(&twice) && !check(&without) && !check(&swapped), "{segment}");
        }
    }
}
