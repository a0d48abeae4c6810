//! The error of this crate's functions.

use facility::FacilityError;
use std::fmt;
use wire::{Codes, Label};

/// Why a certificate cannot be made, read or checked.
#[derive(Debug)]
#[non_exhaustive]
pub enum CertificateError {
    /// A card cannot be reached, or has no such label.
    Facility(FacilityError),
    /// A card refused a verb.
    Verb {
        /// The verb's name.
        verb: &'static str,
        /// The label of the key that it was asked for.
        label: Label,
        /// The verb's return and reason code.
        codes: Codes,
    },
    /// The key under a label cannot sign certificates.
    Key {
        /// The label of the key.
        label: Label,
        /// Why it cannot, for people.
        cause: String,
    },
    /// A name, or another content that was asked for, fits no certificate.
    Wanted(String),
    /// A file or key record is not a chain of certificates, or a file not revocation lists.
    Chain(String),
}

impl fmt::Display for CertificateError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Facility(error) => error.fmt(out),
            Self::Verb { verb, label, codes } => write!(out, "{label}: {verb} answered {codes}"),
            Self::Key { label, cause } => write!(out, "{label}: {cause}"),
            Self::Wanted(cause) | Self::Chain(cause) => out.write_str(cause),
        }
    }
}

impl std::error::Error for CertificateError {}

impl From<FacilityError> for CertificateError {
    fn from(error: FacilityError) -> Self {
        Self::Facility(error)
    }
}
