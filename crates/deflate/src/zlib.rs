//! The frame of ZLIB (RFC 1950): two octets before the deflate stream, the Adler-32 of the text after it.

use zlib_rs::adler32::{adler32, adler32_combine};

/// The two octets before the deflate stream that was made at `level`: deflate with a window of 32 KiB, no preset
/// dictionary (RFC 1950, 2.2).
#[must_use]
pub fn zlib_header(level: u8) -> [u8; 2] {
    let level_class = match level {
        0..=1 => 0u8,
        2..=5 => 1,
        6 => 2,
        _ => 3,
    };
    let flags = level_class << 6;
    let remainder = u16::from_be_bytes([METHOD_AND_WINDOW, flags]) % CHECK_DIVISOR;
    let check = (CHECK_DIVISOR - remainder) % CHECK_DIVISOR;
    [METHOD_AND_WINDOW, flags | u8::try_from(check).expect("below 31")]
}

/// Whether two octets open a ZLIB stream that can be read here: deflate, no preset dictionary, a right check.
pub(crate) fn is_zlib_header(octets: [u8; 2]) -> bool {
    let [method, flags] = octets;
    u16::from_be_bytes(octets).is_multiple_of(CHECK_DIVISOR)
        && method & 0x0f == METHOD_DEFLATE
        && method >> 4 <= WINDOW_CLASS_MAX
        && flags & FLAG_DICTIONARY == 0
}

/// The check value of ZLIB (Adler-32); the values of pieces can be combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adler32(u32);

impl Adler32 {
    /// The check value of an empty text.
    #[must_use]
    pub fn new() -> Self {
        Self(1)
    }

    /// Continues the check value over the next piece of the text.
    pub fn update(&mut self, text: &[u8]) {
        self.0 = adler32(self.0, text);
    }

    /// Appends a piece of `other_len` bytes whose sum `other` was computed separately, from [`Adler32::new`].
    pub fn combine(&mut self, other: Self, other_len: u64) {
        self.0 = adler32_combine(self.0, other.0, other_len);
    }

    /// The value; it follows the deflate stream in big-endian order.
    #[must_use]
    pub fn value(self) -> u32 {
        self.0
    }
}

impl Default for Adler32 {
    fn default() -> Self {
        Self::new()
    }
}

const METHOD_DEFLATE: u8 = 8;
/// log2 of the largest window in bytes, minus 8: 2^(7 + 8) bytes.
const WINDOW_CLASS_MAX: u8 = 7;
const METHOD_AND_WINDOW: u8 = WINDOW_CLASS_MAX << 4 | METHOD_DEFLATE;
const FLAG_DICTIONARY: u8 = 0x20;
const CHECK_DIVISOR: u16 = 31;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_those_of_zlib() {
        // What Python's zlib writes at levels 1, 2, 6 and 9.
        for (level, header) in [(1, [0x78, 0x01]), (2, [0x78, 0x5e]), (6, [0x78, 0x9c]), (9, [0x78, 0xda])] {
            assert_eq!(zlib_header(level), header);
        }
        for level in 0..=255 {
            assert!(is_zlib_header(zlib_header(level)));
        }
    }

    #[test]
    fn other_headers_are_refused() {
        let right = |method: u8, flags: u8| {
            let flags = flags & !0x1f;
            let remainder = u16::from_be_bytes([method, flags]) % 31;
            [method, flags | u8::try_from((31 - remainder) % 31).unwrap()]
        };
        assert!(is_zlib_header(right(0x08, 0)), "a window of 256 bytes is a window");
        assert!(!is_zlib_header(right(0x88, 0)), "a window above 32 KiB");
        assert!(!is_zlib_header(right(0x77, 0)), "another method");
        assert!(!is_zlib_header(right(0x78, FLAG_DICTIONARY)), "a preset dictionary");
        assert!(!is_zlib_header([0x78, 0x02]), "a wrong check");
    }

    #[test]
    fn the_sum_of_pieces_is_the_sum_of_the_whole() {
        let text: Vec<u8> = (0..100_000u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
        let mut whole = Adler32::new();
        whole.update(&text);
        for cut in [0, 1, 5551, 5552, 5553, 65520, 65521, 65522, text.len()] {
            let (mut left, mut right) = (Adler32::new(), Adler32::new());
            left.update(&text[..cut]);
            right.update(&text[cut..]);
            left.combine(right, (text.len() - cut) as u64);
            assert_eq!(left, whole, "cut at {cut}");
        }
        let mut wikipedia = Adler32::default();
        wikipedia.update(b"Wikipedia");
        assert_eq!(wikipedia.value(), 0x11e6_0398);
    }
}
