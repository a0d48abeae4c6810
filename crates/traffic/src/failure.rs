//! Errors that end a run without a result.

use crate::namespaces::NamespaceError;
use options::ipsec::Workload;
use rustix::io::Errno;
use std::fmt;
use std::io;
use std::time::Duration;

/// Why a run has no result.
#[derive(Debug)]
pub enum DriveFailure {
    /// The options make no sense.
    Usage(String),
    /// The server cannot be reached.
    Target {
        /// Address of the server.
        target: String,
        /// The reason.
        why: String,
    },
    /// Bytes arrived that differ from those sent.
    Wrong(Workload),
    /// A stream arrived only in part.
    Lost {
        /// Bytes that were sent.
        sent: u64,
        /// Bytes that the server counted.
        received: u64,
    },
    /// The server closed a stream before its end.
    Closed,
    /// No byte of a stream moved for this long.
    Stands(Duration),
    /// No transaction was completed.
    Nothing,
    /// A failed operation of the system, and its error.
    System(&'static str, io::Error),
    /// The load in a namespace failed with this exit code, and has printed the reason.
    Elsewhere(i32),
    /// Making the namespaces failed.
    Namespaces(NamespaceError),
}

impl DriveFailure {
    /// The exit code: 2 for options that make no sense, 1 for the rest.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Elsewhere(code) => u8::try_from(*code).unwrap_or(1),
            _ => 1,
        }
    }

    pub(crate) fn system(what: &'static str) -> impl Fn(Errno) -> Self + Copy {
        move |errno| Self::System(what, errno.into())
    }

    pub(crate) fn io(what: &'static str) -> impl Fn(io::Error) -> Self + Copy {
        move |error| Self::System(what, error)
    }

    pub(crate) fn target(target: &str) -> impl Fn(Errno) -> Self {
        move |errno| Self::Target { target: target.to_owned(), why: io::Error::from(errno).to_string() }
    }
}

impl fmt::Display for DriveFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(why) => f.write_str(why),
            Self::Target { target, why } => write!(
                f,
                "connect to {target}: {why}; `cryptand ipsec drive serve` must run there, and the way to it be open"
            ),
            Self::Wrong(workload) => write!(
                f,
                "{workload}: bytes arrived that are not those that were sent: something on the way changes, repeats or swaps them"
            ),
            Self::Lost { sent, received } => {
                write!(f, "stream: {sent} bytes were sent and {received} arrived, without an error")
            }
            Self::Closed => f.write_str(
                "the server closed a connection before its end: contents were wrong there, it has too many connections, or it was stopped",
            ),
            Self::Stands(time) => {
                write!(f, "not a byte moved for {} s: the way to the server is interrupted", time.as_secs_f64())
            }
            Self::Nothing => f.write_str("not one transaction was done: give it more --seconds, or look at the way to the server"),
            Self::System(what, error) => write!(f, "cannot {what}: {error}"),
            Self::Elsewhere(code) => write!(f, "the load in the namespace ended with {code}"),
            Self::Namespaces(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for DriveFailure {}
