//! Errors of parsing a certificate, and reasons why a certificate must not be used.

use crate::{Fingerprint, Timestamp};
use std::fmt;

/// Why bytes are not a certificate, or not a private key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CertificateError {
    /// The bytes contain no key packet.
    NoKey,
    /// The ASCII armor is malformed.
    Armor {
        /// The defect, for people.
        cause: String,
    },
    /// A packet is malformed.
    Packet {
        /// The defect, and the kind of packet that has it.
        cause: String,
    },
    /// The key has an unsupported version, algorithm, curve or length.
    Unserved {
        /// The kind of the key, for people.
        kind: String,
    },
    /// There are more packets than [`super::PACKETS_MAX`].
    TooManyPackets,
    /// There are more signatures that claim to be the owner's than [`super::OWN_SIGNATURES_MAX`].
    TooManySignatures,
    /// A private key was asked for, but the bytes contain only a public one.
    NotPrivate {
        /// Fingerprint of the public key.
        fingerprint: Fingerprint,
    },
    /// Two certificates that were to be merged have different primary keys.
    Different {
        /// Fingerprint of the first certificate.
        one: Fingerprint,
        /// Fingerprint of the second certificate.
        other: Fingerprint,
    },
}

impl fmt::Display for CertificateError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoKey => out.write_str("no OpenPGP key is in it"),
            Self::Armor { cause } => write!(out, "the ASCII armor is malformed: {cause}"),
            Self::Packet { cause } => write!(out, "malformed OpenPGP key: {cause}"),
            Self::Unserved { kind } => write!(out, "the key is of a kind that is not served: {kind}"),
            Self::TooManyPackets => {
                write!(out, "a certificate with more than {} packets is not read", super::PACKETS_MAX)
            }
            Self::TooManySignatures => write!(
                out,
                "more than {} signatures on it say that its owner made them, and are not all checked; fetch it from \
                 its owner",
                super::OWN_SIGNATURES_MAX
            ),
            Self::NotPrivate { fingerprint } => {
                write!(out, "the key {fingerprint:X} is public only: its private half is not in it")
            }
            Self::Different { one, other } => {
                write!(out, "certificates of different keys are not merged: {one:X} and {other:X}")
            }
        }
    }
}

impl std::error::Error for CertificateError {}

/// Why a certificate, or one of its keys, must not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unusable {
    /// The key has expired.
    Expired {
        /// Fingerprint of the key that expired.
        fingerprint: Fingerprint,
        /// When the key expired.
        expired: Timestamp,
    },
    /// The key is not yet valid.
    NotYetValid {
        /// Fingerprint of the key.
        fingerprint: Fingerprint,
        /// When the key was made.
        created: Timestamp,
    },
    /// The owner has revoked the key.
    Revoked {
        /// Fingerprint of the key that was revoked.
        fingerprint: Fingerprint,
        /// When the revocation was made.
        revoked: Option<Timestamp>,
        /// The owner's reason: its kind, and the text with it.
        reason: String,
    },
    /// No valid signature of the primary key binds the key: no user ID, direct-key or subkey binding signature is
    /// valid.
    Unbound {
        /// Fingerprint of the key.
        fingerprint: Fingerprint,
    },
    /// No key of the certificate is for encryption.
    NoEncryptionKey {
        /// Fingerprint of the certificate.
        fingerprint: Fingerprint,
    },
    /// No key of the certificate is for signatures.
    NoSigningKey {
        /// Fingerprint of the certificate.
        fingerprint: Fingerprint,
    },
    /// The key, or a signature that binds it, is too weak.
    Weak {
        /// Fingerprint of the key.
        fingerprint: Fingerprint,
        /// The weakness, for people.
        why: String,
    },
    /// The key's algorithm is not supported.
    Unsupported {
        /// Fingerprint of the key.
        fingerprint: Fingerprint,
        /// Name of the algorithm.
        algorithm: String,
    },
}

impl Unusable {
    /// Fingerprint of the key or certificate that the error is about.
    pub fn fingerprint(&self) -> &Fingerprint {
        match self {
            Self::Expired { fingerprint, .. }
            | Self::NotYetValid { fingerprint, .. }
            | Self::Revoked { fingerprint, .. }
            | Self::Unbound { fingerprint }
            | Self::NoEncryptionKey { fingerprint }
            | Self::NoSigningKey { fingerprint }
            | Self::Weak { fingerprint, .. }
            | Self::Unsupported { fingerprint, .. } => fingerprint,
        }
    }
}

impl fmt::Display for Unusable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expired { fingerprint, expired } => {
                write!(out, "the key {fingerprint:X} expired on {}", Day(*expired))
            }
            Self::NotYetValid { fingerprint, created } => {
                write!(out, "the key {fingerprint:X} is not valid before {}", Day(*created))
            }
            Self::Revoked { fingerprint, reason, .. } => {
                write!(out, "the key {fingerprint:X} was revoked by its owner: {reason}")
            }
            Self::Unbound { fingerprint } => {
                write!(out, "the key {fingerprint:X} is not bound by any valid signature of its owner")
            }
            Self::NoEncryptionKey { fingerprint } => {
                write!(out, "the certificate {fingerprint:X} has no key for encryption")
            }
            Self::NoSigningKey { fingerprint } => {
                write!(out, "the certificate {fingerprint:X} has no key for signatures")
            }
            Self::Weak { fingerprint, why } => write!(out, "the key {fingerprint:X} is too weak: {why}"),
            Self::Unsupported { fingerprint, algorithm } => {
                write!(out, "the key {fingerprint:X} is of an algorithm that is not served: {algorithm}")
            }
        }
    }
}

impl std::error::Error for Unusable {}

/// Displays a day as `YYYY-MM-DD`, UTC.
struct Day(Timestamp);

impl fmt::Display for Day {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Days are counted from 0000-03-01, in eras of 400 years: in a year that begins in March, the leap day comes
        // last.
        let days = u64::from(self.0.as_secs()) / 86_400 + 719_468;
        let (era, day_of_era) = (days / 146_097, days % 146_097);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let year = era * 400 + year_of_era + u64::from(month <= 2);
        write!(out, "{year:04}-{month:02}-{day:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (seconds, day) in [
            (0, "1970-01-01"),
            (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (1_547_855_999, "2019-01-18"),
            (1_547_856_000, "2019-01-19"),
            (u32::MAX, "2106-02-07"),
        ] {
            assert_eq!(Day(Timestamp::from_secs(seconds)).to_string(), day);
        }
    }
}
