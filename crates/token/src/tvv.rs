//! Token-validation values: the last word of a fixed-length token.

use crate::TOKEN_BYTES;

/// The validation value of a token: the sum, modulo 2^32, of the fifteen big-endian words before it.
///
/// The value detects damage, not malice: anyone can compute it.
pub fn tvv(token: &[u8; TOKEN_BYTES]) -> u32 {
    token[..TVV_AT]
        .chunks_exact(4)
        .fold(0u32, |sum, word| sum.wrapping_add(u32::from_be_bytes([word[0], word[1], word[2], word[3]])))
}

/// Whether the validation value in a token is right.
pub fn is_valid(token: &[u8; TOKEN_BYTES]) -> bool {
    token[TVV_AT..] == tvv(token).to_be_bytes()
}

/// Computes the validation value and writes it into the token.
pub fn seal(token: &mut [u8; TOKEN_BYTES]) {
    let value = tvv(token);
    token[TVV_AT..].copy_from_slice(&value.to_be_bytes());
}

const TVV_AT: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_wraps() {
        let mut token = [0; TOKEN_BYTES];
        token[0] = 0x80;
        token[4] = 0x80;
        token[11] = 5;
        assert_eq!(tvv(&token), 5);
    }

    #[test]
    fn every_changed_bit_shows() {
        let mut token = [0; TOKEN_BYTES];
        for (index, byte) in token.iter_mut().enumerate() {
            *byte = index as u8;
        }
        seal(&mut token);
        assert!(is_valid(&token));
        for bit in 0..TOKEN_BYTES * 8 {
            token[bit / 8] ^= 0x80 >> (bit % 8);
            assert!(!is_valid(&token), "bit {bit}");
            token[bit / 8] ^= 0x80 >> (bit % 8);
        }
    }
}
