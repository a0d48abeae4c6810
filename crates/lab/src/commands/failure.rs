//! Why a command failed, and the exit code that says whose fault it was.

use lab::load::LabError;
use level::LevelError;
use std::{fmt, io};

/// A failed command.
#[derive(Debug)]
pub enum Failure {
    /// Something typed makes no sense: exit code 2, as for unknown options.
    Usage(String),
    /// This program cannot be held to an instruction-set level.
    Level(LevelError),
    /// A measurement failed.
    Lab(LabError),
    /// Reading or writing failed.
    Io {
        /// The action that failed, with the file or stream.
        operation: String,
        /// The error of the system.
        cause: io::Error,
    },
    /// The number of promises that were not kept.
    NotKept(usize),
    /// No rate keeps the latency that was asked for.
    NoKnee {
        /// The bound in microseconds.
        bound_us: f64,
    },
}

impl Failure {
    /// Makes an I/O failure of an error, for `map_err`; `operation` is the action that failed.
    pub fn io(operation: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Io { operation: operation.into(), cause }
    }

    /// Whether standard output was closed by its reader.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Io { cause, .. } if cause.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The exit code: 2 for a usage error, 1 for every other failure.
    pub fn exit_code(&self) -> u8 {
        if matches!(self, Self::Usage(_) | Self::Level(LevelError::Variable(_))) { 2 } else { 1 }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) => f.write_str(text),
            Self::Level(error) => error.fmt(f),
            Self::Lab(error) => error.fmt(f),
            Self::Io { operation, cause } => write!(f, "cannot {operation}: {cause}"),
            Self::NotKept(count) => write!(f, "{count} promise(s) not kept on this machine, in this run"),
            Self::NoKnee { bound_us } => {
                write!(f, "no rate keeps 99 % of the requests within {bound_us} us; allow more with --p99")
            }
        }
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        Self::Lab(error)
    }
}

impl From<LevelError> for Failure {
    fn from(error: LevelError) -> Self {
        Self::Level(error)
    }
}
