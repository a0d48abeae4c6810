//! Mapping of our errors to the draft's exit codes. These are numbers without detail, so the details go to standard
//! error first.

use openpgp::PrivateKeyError;
use openpgp::certificate::{CertificateError, Unusable};
use pipeline::{Error as PipelineError, NotOpened};
use sop::errors::Error;
use std::fmt::Display;
use std::io;

/// Prints the cause, and returns the draft's error.
pub(crate) fn told(cause: impl Display, error: Error) -> Error {
    eprintln!("cryptand-sop: {cause}");
    error
}

/// Bytes are no certificate or key.
pub(crate) fn of_certificate(error: &CertificateError) -> Error {
    told(error, Error::BadData)
}

/// A certificate cannot be encrypted to.
pub(crate) fn of_recipient(error: &Unusable) -> Error {
    let kind = match error {
        Unusable::Unsupported { .. } => Error::UnsupportedAsymmetricAlgo,
        _ => Error::CertCannotEncrypt,
    };
    told(error, kind)
}

/// A key cannot sign.
pub(crate) fn of_signer(error: &Unusable) -> Error {
    told(error, Error::KeyCannotSign)
}

/// A private key did not do its part.
pub(crate) fn of_private_key(error: &PrivateKeyError) -> Error {
    let kind = match error {
        PrivateKeyError::Locked => Error::KeyIsProtected,
        PrivateKeyError::Unsupported { .. } => Error::UnsupportedAsymmetricAlgo,
        PrivateKeyError::Malformed { .. } => Error::BadData,
        PrivateKeyError::NotOpened => Error::CannotDecrypt,
        // A card that did not do it, for one.
        _ => Error::UnspecifiedFailure,
    };
    told(error, kind)
}

/// A message was not made, opened or verified.
pub(crate) fn of_pipeline(error: PipelineError) -> Error {
    let kind = match &error {
        PipelineError::Malformed { .. } | PipelineError::Truncated { .. } | PipelineError::Limit { .. } => {
            Error::BadData
        }
        PipelineError::Unsupported { .. } => Error::BadData,
        PipelineError::NotOpened(NotOpened { is_locked: true, .. }) => Error::KeyIsProtected,
        PipelineError::Unauthentic { .. } | PipelineError::NotOpened(_) => Error::CannotDecrypt,
        PipelineError::NoValidSignature { .. } => Error::NoSignature,
        PipelineError::Input { cause, .. } if cause.kind() == io::ErrorKind::InvalidData => {
            Error::ExpectedText
        }
        PipelineError::PrivateKey(error) => return of_private_key(error),
        PipelineError::OutputExists { .. } => Error::OutputExists,
        _ => Error::UnspecifiedFailure,
    };
    told(error, kind)
}
