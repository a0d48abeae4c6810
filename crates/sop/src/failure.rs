//! Maps our errors to the draft's exit codes. These are numbers without detail, so the details go to standard error
//! first.

use openpgp::PrivateKeyError;
use openpgp::certificate::{CertificateError, Unusable};
use pipeline::{Error as PipelineError, NotOpened};
use sop::errors::Error;
use std::fmt::Display;
use std::io;

/// Prints the cause to standard error and returns the draft's error.
pub(crate) fn told(cause: impl Display, error: Error) -> Error {
    eprintln!("cryptand-sop: {cause}");
    error
}

/// The draft's error for bytes that are no certificate or key.
pub(crate) fn of_certificate(error: &CertificateError) -> Error {
    told(error, Error::BadData)
}

/// The draft's error for a certificate that cannot be encrypted to.
pub(crate) fn of_recipient(error: &Unusable) -> Error {
    let kind = match error {
        Unusable::Unsupported { .. } => Error::UnsupportedAsymmetricAlgo,
        _ => Error::CertCannotEncrypt,
    };
    told(error, kind)
}

/// The draft's error for a key that cannot sign.
pub(crate) fn of_signer(error: &Unusable) -> Error {
    told(error, Error::KeyCannotSign)
}

/// The draft's error for a private key's operation that failed.
pub(crate) fn of_private_key(error: &PrivateKeyError) -> Error {
    let kind = match error {
        PrivateKeyError::Locked => Error::KeyIsProtected,
        PrivateKeyError::Unsupported { .. } => Error::UnsupportedAsymmetricAlgo,
        PrivateKeyError::Malformed { .. } => Error::BadData,
        PrivateKeyError::NotOpened => Error::CannotDecrypt,
        // An operation that a card failed to do, for example.
        _ => Error::UnspecifiedFailure,
    };
    told(error, kind)
}

/// The draft's error for a message that was not made, opened or verified.
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
