//! What can go wrong, as statuses for programs and texts for people.

use facility::FacilityError;
use std::fmt;
use wire::Codes;

/// The result of a call or of a request. The numbers are those of the C interface, and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// The call or request succeeded.
    Ok = 0,
    /// As many requests are in flight as the loop permits: collect first.
    Again = -1,
    /// An argument that is not valid.
    Invalid = -2,
    /// The number is no handle, or one that was closed.
    Handle = -3,
    /// The key is not one of this handle.
    Key = -4,
    /// The handle belongs to the process that this one is a forked child of.
    Forked = -5,
    /// The host has closed descriptors that it did not open.
    Closed = -6,
    /// Another thread is in a call with this handle.
    Busy = -7,
    /// There is no home, or part of it cannot be read.
    Home = -8,
    /// The caller is not permitted to do this.
    Denied = -9,
    /// No daemon, or no card that serves the request, was found within the time to wait for one. The request did not
    /// run.
    Unavailable = -10,
    /// A card or the daemon refused the operation; its codes say why.
    Refused = -11,
    /// There was no answer, or one without sense. The request may have run, which does no harm.
    Failed = -12,
    /// A fault in this library.
    Fault = -13,
}

impl Status {
    /// All statuses, in the order of their numbers.
    pub const ALL: [Self; 14] = [
        Self::Ok,
        Self::Again,
        Self::Invalid,
        Self::Handle,
        Self::Key,
        Self::Forked,
        Self::Closed,
        Self::Busy,
        Self::Home,
        Self::Denied,
        Self::Unavailable,
        Self::Refused,
        Self::Failed,
        Self::Fault,
    ];

    /// Name of the status in the C interface, without the prefix.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Again => "AGAIN",
            Self::Invalid => "INVALID",
            Self::Handle => "HANDLE",
            Self::Key => "KEY",
            Self::Forked => "FORKED",
            Self::Closed => "CLOSED",
            Self::Busy => "BUSY",
            Self::Home => "HOME",
            Self::Denied => "DENIED",
            Self::Unavailable => "UNAVAILABLE",
            Self::Refused => "REFUSED",
            Self::Failed => "FAILED",
            Self::Fault => "FAULT",
        }
    }
}

/// Why a call or a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffloadError {
    /// The status, for programs.
    pub status: Status,
    /// A card's or the daemon's return and reason code, with [`Status::Refused`].
    pub codes: Option<Codes>,
    /// Operation, object and cause, for people. Nothing in it is secret.
    pub text: String,
}

impl OffloadError {
    pub(crate) fn new(status: Status, text: impl Into<String>) -> Self {
        Self { status, codes: None, text: text.into() }
    }

    /// A failure on the way to the cards, in the operation that `what` names.
    pub(crate) fn of(what: impl fmt::Display, error: &FacilityError) -> Self {
        let status = match error {
            FacilityError::Verb { codes, .. } => return Self::refused(what, *codes, error),
            FacilityError::Refused { .. } => return Self::refused(what, error.codes(), error),
            FacilityError::Full { .. } => Status::Again,
            FacilityError::Arguments { .. } | FacilityError::TooLong { .. } | FacilityError::Domain(_) => {
                Status::Invalid
            }
            FacilityError::Home(_) | FacilityError::Credential { .. } => Status::Home,
            FacilityError::Denied { .. }
            | FacilityError::Forbidden { .. }
            | FacilityError::Quarantined { .. } => Status::Denied,
            FacilityError::Forked { .. } => Status::Forked,
            error if error.ran() == facility::Ran::No => Status::Unavailable,
            _ => Status::Failed,
        };
        Self::new(status, format!("{what}: {error}"))
    }

    /// A card's refusal, as its answer states it.
    pub(crate) fn refused(what: impl fmt::Display, codes: Codes, cause: &impl fmt::Display) -> Self {
        Self { status: Status::Refused, codes: Some(codes), text: format!("{what}: {cause}") }
    }
}

impl fmt::Display for OffloadError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl std::error::Error for OffloadError {}
