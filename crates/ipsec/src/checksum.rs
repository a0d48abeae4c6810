//! The checksum of IP, TCP and UDP (RFC 1071).

use crate::address::{self, Family};
use engine::Engine;
use std::net::IpAddr;

/// The sum of 16-bit words, added to `begun`: for headers; [`long_sum`] is for longer texts. An odd byte at the end is
/// the upper half of a word, so only the last part of a text may have one.
#[inline]
pub fn sum(begun: u64, bytes: &[u8]) -> u64 {
    // Sums in either order of bytes differ by their order alone (RFC 1071, 2B): words in the machine's order need no
    // swap each.
    let (words, rest) = bytes.as_chunks::<4>();
    let mut all = 0_u64;
    for word in words {
        all = all.wrapping_add(u64::from(u32::from_le_bytes(*word)));
    }
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    all += u64::from(u32::from_le_bytes(last));
    begun + u64::from((!fold(all)).swap_bytes())
}

/// As [`sum`], by the engine's kernels, for longer texts.
#[inline]
pub fn long_sum(engine: &Engine, begun: u64, bytes: &[u8]) -> u64 {
    begun + u64::from(engine.ones_complement_sum(bytes))
}

/// The checksum of a sum: folded to 16 bits and complemented.
#[inline]
pub fn fold(mut sum: u64) -> u16 {
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// The sum of the pseudo-header (RFC 9293, 3.1; RFC 8200, 8.1) for `bytes` bytes above IP. Both addresses must be of
/// one family.
#[inline]
pub fn pseudo_header(source: IpAddr, destination: IpAddr, protocol: u8, bytes: usize) -> u64 {
    let mut words = [0; 32];
    words[..16].copy_from_slice(&address::number(source).to_be_bytes());
    words[16..].copy_from_slice(&address::number(destination).to_be_bytes());
    debug_assert_eq!(Family::of(source), Family::of(destination));
    sum(u64::from(protocol) + bytes as u64, &words)
}

/// Writes the checksum of a header of IPv4 without options.
pub fn write_ipv4(header: &mut [u8; 20]) {
    header[10..12].fill(0);
    let checksum = fold(sum(0, header));
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
}

/// The checksum after a word under it has changed (RFC 1624, equation 3).
pub(crate) fn changed(checksum: u16, from: u16, to: u16) -> u16 {
    fold(u64::from(!checksum) + u64::from(!from) + u64::from(to))
}

/// Writes the checksum of a segment of TCP or a datagram of UDP; leaves other protocols, and segments that are too
/// short, as they are. NAT's changes of addresses made the old checksum wrong, and the ICV has shown that the bytes are
/// right (RFC 3948, 3.1.2).
pub(crate) fn write_transport(source: IpAddr, destination: IpAddr, protocol: u8, segment: &mut [u8]) {
    let at = match protocol {
        TCP => 16,
        UDP => 6,
        _ => return,
    };
    let begun = pseudo_header(source, destination, protocol, segment.len());
    let Some(field) = segment.get_mut(at..at + 2) else { return };
    // A datagram of UDP over IPv4 may have no checksum.
    if protocol == UDP && field == [0, 0] && Family::of(source) == Family::V4 {
        return;
    }
    field.fill(0);
    let mut checksum = fold(sum(begun, segment));
    if protocol == UDP && checksum == 0 {
        checksum = u16::MAX;
    }
    segment[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
}

const TCP: u8 = 6;
const UDP: u8 = 17;

#[cfg(test)]
mod tests {
    use super::*;

    /// The header of RFC 1071's successor examples that textbooks use: 45 00 00 73 … has checksum b861.
    #[test]
    fn checksum_of_a_known_header() {
        let mut header =
            [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0, 0, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0, 0xc7];
        write_ipv4(&mut header);
        assert_eq!(header[10..12], [0xb8, 0x61]);
        assert_eq!(fold(sum(0, &header)), 0, "a right header sums to nothing");
    }

    #[test]
    fn sums_of_any_length_are_those_of_words() {
        let mut random = seeded::Random(5);
        for bytes in 0..200 {
            let text = if bytes % 3 == 0 { vec![0xff; bytes] } else { random.bytes(bytes) };
            let word = |pair: &[u8]| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0));
            let plain: u64 = text.chunks(2).map(word).sum();
            assert_eq!(fold(sum(77, &text)), fold(77 + plain), "{bytes} bytes");
        }
    }

    #[test]
    fn a_changed_word_changes_the_checksum_as_a_new_sum_does() {
        let mut random = seeded::Random(4);
        for _ in 0..1000 {
            let mut header: [u8; 20] = random.array();
            write_ipv4(&mut header);
            let before = u16::from_be_bytes([header[10], header[11]]);
            let from = u16::from_be_bytes([header[0], header[1]]);
            header[1] = random.number() as u8;
            let to = u16::from_be_bytes([header[0], header[1]]);
            write_ipv4(&mut header);
            assert_eq!(changed(before, from, to), u16::from_be_bytes([header[10], header[11]]));
        }
    }
}
