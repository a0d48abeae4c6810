//! Why there is no certificate.

use facility::FacilityError;
use std::fmt;
use wire::{Codes, Label};

/// Why there is no certificate.
#[derive(Debug)]
#[non_exhaustive]
pub enum CertificateError {
    /// A card cannot be reached, or has no such label.
    Facility(FacilityError),
    /// A verb refused.
    Verb {
        /// Its name.
        verb: &'static str,
        /// The label.
        label: Label,
        /// Its codes.
        codes: Codes,
    },
    /// The key under a label is none that signs certificates.
    Key {
        /// The label.
        label: Label,
        /// What it is.
        cause: String,
    },
    /// A name, or what else was asked for, fits no certificate.
    Wanted(String),
    /// A file is no chain of certificates.
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
