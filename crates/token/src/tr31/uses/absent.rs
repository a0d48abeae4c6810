//! Codes of X9.143 that mean no key here, each with its reason: every usage of the standard's table is either in
//! [`ROWS`](super::ROWS) or here.

use super::{ANY_MODE, of_algorithm};
use std::fmt;

/// Codes that mean no key here.
struct AbsentCodes {
    usages: &'static [&'static [u8; 2]],
    /// Letters of the algorithms; empty for every one.
    algorithms: &'static [u8],
    why: &'static str,
}

const ABSENT: &[AbsentCodes] = &[
    absent(
        &[b"B1"],
        b"",
        "an initial key of DUKPT is for a terminal; here base keys (B0) derive the keys of transactions",
    ),
    absent(&[b"B2"], b"", "no verb makes variants of base keys, which X9.143 deprecates"),
    absent(&[b"B3"], b"", "no verb derives keys by other rules than those of X9.24 and of EMV"),
    absent(&[b"C0"], b"A", "card verification values are computed with TDES"),
    absent(
        &[b"D1", b"E7", b"K2", b"K3", b"S0", b"S1", b"S2"],
        b"",
        "keys of RSA and of elliptic curves come in CCA's own tokens (PKA_Key_Import)",
    ),
    absent(&[b"D2"], b"", "decimalization tables are not enciphered here"),
    absent(
        &[b"E0", b"E1", b"E2", b"E3", b"E4", b"E5", b"E6"],
        b"A",
        "the block does not say which keys of cards an AES key makes, and by which verb",
    ),
    absent(&[b"I0"], b"", "an initialization vector is no key"),
    absent(&[b"K4"], b"", "blocks of ISO 20038 (version E) are not made or read"),
    absent(&[b"M0", b"M1", b"M3"], b"A", "CBC-MACs (ISO 9797-1, algorithms 1 and 3) are computed with TDES"),
    absent(&[b"M2", b"M4", b"M5", b"M8"], b"", "no verb computes MACs by this algorithm of ISO 9797-1"),
    absent(&[b"M7"], b"TDA", "a key of HMAC has the algorithm H"),
    absent(&[b"P1"], b"", "the usage names no method; keys that make PINs by one have V0, V1 or V2"),
    absent(&[b"V0", b"V1", b"V2"], b"A", "the methods of PINs here compute with TDES"),
    absent(&[b"V3", b"V4", b"V5"], b"", "no verb verifies PINs by X9.132"),
];

const fn absent(
    usages: &'static [&'static [u8; 2]],
    algorithms: &'static [u8],
    why: &'static str,
) -> AbsentCodes {
    AbsentCodes { usages, algorithms, why }
}

/// Every usage of X9.143 (2021, table 2).
pub const USAGES: &[[u8; 2]] = &[
    *b"B0", *b"B1", *b"B2", *b"B3", *b"C0", *b"D0", *b"D1", *b"D2", *b"D3", *b"E0", *b"E1", *b"E2", *b"E3",
    *b"E4", *b"E5", *b"E6", *b"E7", *b"I0", *b"K0", *b"K1", *b"K2", *b"K3", *b"K4", *b"M0", *b"M1", *b"M2",
    *b"M3", *b"M4", *b"M5", *b"M6", *b"M7", *b"M8", *b"P0", *b"P1", *b"S0", *b"S1", *b"S2", *b"V0", *b"V1",
    *b"V2", *b"V3", *b"V4", *b"V5",
];
/// Every algorithm of X9.143 (2021, table 3): AES, DES, elliptic curves, HMAC, RSA, DSA, TDES.
pub const ALGORITHMS: &[u8] = b"ADEHRST";
/// Every mode of use of X9.143 (2021, table 4).
pub const MODES: &[u8] = b"BCDEGNSTVXY";

/// Why usage, algorithm and mode of a block mean no key here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyAbsent {
    /// The usage is not in the table of X9.143; digits are for the makers of systems.
    Usage,
    /// The algorithm is not in the table of X9.143.
    Algorithm,
    /// The mode is not in the table of X9.143.
    Mode,
    /// The usage comes in with other modes alone.
    OtherModes(Vec<u8>),
    /// The usage comes in with other algorithms alone.
    OtherAlgorithms(Vec<u8>),
    /// No key here has this use.
    NoKey(&'static str),
}

impl fmt::Display for WhyAbsent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = |letters: &[u8]| {
            letters.iter().map(|letter| char::from(*letter).to_string()).collect::<Vec<_>>().join(", ")
        };
        match self {
            Self::Usage => f.write_str("X9.143 has no such usage; it may be its maker's own"),
            Self::Algorithm => f.write_str("X9.143 has no such algorithm"),
            Self::Mode => f.write_str("X9.143 has no such mode of use"),
            Self::OtherModes(modes) => write!(f, "the usage comes in with the modes {}", listed(modes)),
            Self::OtherAlgorithms(algorithms) => {
                write!(f, "the usage comes in with the algorithms {}", listed(algorithms))
            }
            Self::NoKey(why) => f.write_str(why),
        }
    }
}

/// Why the codes of a block mean no key here; `None` if they mean one.
pub fn why_absent(usage: [u8; 2], algorithm: u8, mode: u8) -> Option<WhyAbsent> {
    if super::rows(usage, algorithm, mode).next().is_some() {
        return None;
    }
    let named = ABSENT.iter().find(|codes| {
        codes.usages.contains(&&usage)
            && (codes.algorithms.is_empty() || codes.algorithms.contains(&algorithm))
    });
    let mut modes: Vec<u8> =
        of_algorithm(algorithm).filter(|row| row.usage == usage).map(|row| row.mode).collect();
    modes.sort_unstable();
    modes.dedup();
    Some(match named {
        _ if !USAGES.contains(&usage) => WhyAbsent::Usage,
        _ if !ALGORITHMS.contains(&algorithm) => WhyAbsent::Algorithm,
        _ if !MODES.contains(&mode) => WhyAbsent::Mode,
        Some(codes) => WhyAbsent::NoKey(codes.why),
        None if !modes.is_empty() => WhyAbsent::OtherModes(modes),
        None => WhyAbsent::OtherAlgorithms(
            ALGORITHMS
                .iter()
                .copied()
                .filter(|other| super::rows(usage, *other, ANY_MODE).next().is_some())
                .collect(),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::super::{ROWS, rows};
    use super::*;

    /// Every usage has rows or a reason for each algorithm; no reason is given for what comes in.
    #[test]
    fn every_code_of_the_standard_comes_in_or_has_its_reason() {
        let (mut in_rows, mut absent) = (0, 0);
        for usage in USAGES {
            for algorithm in ALGORITHMS {
                for mode in MODES {
                    match why_absent(*usage, *algorithm, *mode) {
                        None => in_rows += 1,
                        Some(WhyAbsent::Usage | WhyAbsent::Algorithm | WhyAbsent::Mode) => {
                            panic!("{usage:?} {algorithm} {mode} is in the standard's tables")
                        }
                        Some(WhyAbsent::OtherModes(list) | WhyAbsent::OtherAlgorithms(list)) => {
                            assert!(!list.is_empty(), "{usage:?} {algorithm} {mode}: no reason");
                            absent += 1;
                        }
                        Some(WhyAbsent::NoKey(_)) => absent += 1,
                    }
                }
            }
        }
        assert_eq!(in_rows + absent, USAGES.len() * ALGORITHMS.len() * MODES.len());
        for codes in ABSENT {
            for usage in codes.usages {
                assert!(USAGES.contains(*usage), "{usage:?}");
                let comes_in = |algorithm: &u8| {
                    (codes.algorithms.is_empty() || codes.algorithms.contains(algorithm))
                        && MODES.iter().any(|mode| rows(**usage, *algorithm, *mode).next().is_some())
                };
                assert!(!ALGORITHMS.iter().any(comes_in), "{usage:?} comes in");
            }
        }
        assert!(ROWS.iter().all(|row| USAGES.contains(&row.usage) && MODES.contains(&row.mode)));
    }

    #[test]
    fn what_the_standard_does_not_have_is_named() {
        assert_eq!(why_absent(*b"10", b'T', b'B'), Some(WhyAbsent::Usage));
        assert_eq!(why_absent(*b"P0", b'Q', b'B'), Some(WhyAbsent::Algorithm));
        assert_eq!(why_absent(*b"P0", b'T', b'Z'), Some(WhyAbsent::Mode));
        assert_eq!(why_absent(*b"P0", b'T', b'X'), Some(WhyAbsent::OtherModes(b"BDEN".to_vec())));
        assert_eq!(why_absent(*b"P0", b'H', b'E'), Some(WhyAbsent::OtherAlgorithms(b"ADT".to_vec())));
        assert_eq!(why_absent(*b"P0", b'T', b'E'), None);
        let said = why_absent(*b"M4", b'T', b'C').map(|why| why.to_string());
        assert_eq!(said.as_deref(), Some("no verb computes MACs by this algorithm of ISO 9797-1"));
    }
}
