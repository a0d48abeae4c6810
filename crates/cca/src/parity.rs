//! Parity of DES keys: every byte odd.

/// Whether every byte has odd parity.
pub(crate) fn is_odd(key: &[u8]) -> bool {
    key.iter().fold(true, |odd, byte| odd & (byte.count_ones() % 2 == 1))
}

/// Sets the low bit of every byte so that its parity is odd.
pub(crate) fn make_odd(bytes: &mut [u8]) {
    for byte in bytes {
        *byte ^= u8::from(byte.count_ones().is_multiple_of(2));
    }
}

/// Sets the low bit of every byte so that its parity is even.
pub(crate) fn make_even(bytes: &mut [u8]) {
    for byte in bytes {
        *byte ^= u8::from(byte.count_ones() % 2 == 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parity_is_in_the_low_bit() {
        let mut bytes: Vec<u8> = (0..=255).collect();
        let before = bytes.clone();
        make_odd(&mut bytes);
        assert!(is_odd(&bytes));
        assert!(bytes.iter().zip(&before).all(|(after, before)| after & 0xFE == before & 0xFE));
        make_even(&mut bytes);
        assert!(bytes.iter().all(|byte| byte.count_ones() % 2 == 0));
        assert!(!is_odd(&bytes));
    }
}
