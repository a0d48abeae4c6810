//! The eight bits of DSCP and ECN between inner and outer headers (RFC 4301, 5.1.2; RFC 6040).

/// The rule for the DSCP of an outer header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DscpRule {
    /// The DSCP of the inner header.
    #[default]
    Copy,
    /// This DSCP, 0 to 63: it tells nothing of the traffic inside.
    Set(u8),
}

/// Not ECN-capable transport.
const NOT_ECT: u8 = 0b00;
/// ECN-capable transport, codepoint 1.
const ECT_1: u8 = 0b01;
/// Congestion was experienced.
const CE: u8 = 0b11;
const ECN: u8 = 0b11;

/// The eight bits of an outer header. Without `ecn` it is in compatibility mode: Not-ECT (RFC 6040, 4.3).
pub(crate) fn outer(inner: u8, dscp: DscpRule, ecn: bool) -> u8 {
    let dscp = match dscp {
        DscpRule::Copy => inner & !ECN,
        DscpRule::Set(dscp) => dscp << 2,
    };
    dscp | if ecn { inner & ECN } else { NOT_ECT }
}

/// The eight bits of an inner header once the outer one is gone (RFC 6040, figure 4). `None` if the packet must be
/// dropped: congestion cannot be told to a transport that does not know ECN.
pub(crate) fn opened(inner: u8, outer: u8, dscp: bool, ecn: bool) -> Option<u8> {
    let kept = if dscp { outer & !ECN } else { inner & !ECN };
    if !ecn {
        return Some(kept | inner & ECN);
    }
    let ecn = match (inner & ECN, outer & ECN) {
        (NOT_ECT, CE) => return None,
        (NOT_ECT, _) => NOT_ECT,
        (CE, _) | (_, CE) => CE,
        (_, ECT_1) => ECT_1,
        (inner, _) => inner,
    };
    Some(kept | ecn)
}

// DSCP has six bits, ECN two.
#[cfg(test)]
#[allow(clippy::unusual_byte_groupings)]
mod tests {
    use super::*;

    /// RFC 6040, figure 4, row by row: Not-ECT, ECT(0), ECT(1), CE inside.
    #[test]
    fn codepoints_are_those_of_the_figure() {
        let outer_codepoints = [0b00, 0b10, 0b01, 0b11];
        let rows = [
            (0b00, [Some(0b00), Some(0b00), Some(0b00), None]),
            (0b10, [Some(0b10), Some(0b10), Some(0b01), Some(0b11)]),
            (0b01, [Some(0b01), Some(0b01), Some(0b01), Some(0b11)]),
            (0b11, [Some(0b11), Some(0b11), Some(0b11), Some(0b11)]),
        ];
        for (inner, expected) in rows {
            for (codepoint, expected) in outer_codepoints.into_iter().zip(expected) {
                let (inner, outer) = (0b101000_00 | inner, 0b001010_00 | codepoint);
                assert_eq!(opened(inner, outer, false, true), expected.map(|ecn| 0b101000_00 | ecn));
                assert_eq!(opened(inner, outer, true, true), expected.map(|ecn| 0b001010_00 | ecn));
                assert_eq!(opened(inner, outer, false, false), Some(inner));
            }
        }
    }

    #[test]
    fn outer_bits_follow_the_rule() {
        assert_eq!(outer(0b101110_11, DscpRule::Copy, true), 0b101110_11);
        assert_eq!(outer(0b101110_11, DscpRule::Copy, false), 0b101110_00);
        assert_eq!(outer(0b101110_10, DscpRule::Set(10), true), 0b001010_10);
    }
}
