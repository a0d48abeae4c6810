//! The numbers in key packets: multiprecision integers (RFC 9580, 3.2).

/// Longest number in bits, the same as in GnuPG.
const MPI_BITS_MAX: u16 = 16_384;

/// Exactly `N` numbers, big-endian; `None` if there are fewer, if bytes follow, or if a number is too long.
pub(crate) fn mpis<const N: usize>(mut fields: &[u8]) -> Option<[&[u8]; N]> {
    let mut numbers = [&[][..]; N];
    for number in &mut numbers {
        let (bits, rest) = fields.split_first_chunk::<2>()?;
        let bits = u16::from_be_bytes(*bits);
        if bits > MPI_BITS_MAX {
            return None;
        }
        let (octets, rest) = rest.split_at_checked(usize::from(bits).div_ceil(8))?;
        (*number, fields) = (octets, rest);
    }
    fields.is_empty().then_some(numbers)
}

/// A number padded with leading zeros to `bytes` bytes; `None` if it is longer.
pub(crate) fn padded(number: &[u8], bytes: usize) -> Option<zeroize::Zeroizing<Vec<u8>>> {
    let zeros = bytes.checked_sub(number.len())?;
    let mut out = zeroize::Zeroizing::new(vec![0; bytes]);
    out[zeros..].copy_from_slice(number);
    Some(out)
}

/// Appends a number without leading zeros, after its length in bits.
pub(crate) fn push_mpi(out: &mut Vec<u8>, number: &[u8]) {
    let zeros = number.iter().take_while(|octet| **octet == 0).count();
    let number = &number[zeros..];
    let bits = 8 * number.len() - number.first().map_or(0, |first| first.leading_zeros() as usize);
    out.extend_from_slice(&u16::try_from(bits).unwrap_or(u16::MAX).to_be_bytes());
    out.extend_from_slice(number);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_are_written() {
        let mut fields = Vec::new();
        push_mpi(&mut fields, &[0, 0, 1, 255]);
        push_mpi(&mut fields, &[0x80]);
        push_mpi(&mut fields, &[0]);
        assert_eq!(fields, [0, 9, 1, 255, 0, 8, 0x80, 0, 0]);
        assert_eq!(mpis::<3>(&fields), Some([&[1, 255][..], &[0x80], &[]]));
        assert_eq!(mpis::<2>(&fields), None);
        assert_eq!(mpis::<4>(&fields), None);
        for end in 0..fields.len() {
            assert_eq!(mpis::<3>(&fields[..end]), None);
        }
        assert_eq!(padded(&[1, 2], 3).as_deref(), Some(&vec![0, 1, 2]));
        assert_eq!(padded(&[1, 2], 1), None);
    }
}
