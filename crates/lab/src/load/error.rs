//! Why a workload is not run, or its figures are thrown away.

use crate::load::operation::Operation;
use std::io;
use wire::code::Codes;
use wire::control::Personality;

/// A workload that makes no sense, or that its interface does not serve.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// A number is out of range; which, and what can be run.
    Range(String),
    /// The operation does not take data of this length.
    Bytes {
        /// The operation.
        operation: Operation,
        /// The length asked for.
        bytes: usize,
        /// Length of the block that the data must fill.
        block_bytes: usize,
    },
    /// A verb has no native form.
    NeedsCard(Operation),
    /// Cards of this personality do not serve the operation.
    Personality {
        /// The operation.
        operation: Operation,
        /// The personality.
        personality: Personality,
    },
    /// The facility has no clear-key call for the operation.
    Facility(Operation),
    /// The home has fewer such cards that are ready.
    TooFewCards {
        /// The personality.
        personality: Personality,
        /// Cards asked for.
        asked: usize,
        /// Cards that are ready.
        ready: usize,
    },
    /// The level is above what this machine or process can give.
    Level {
        /// The level asked for.
        asked: &'static str,
        /// The level of this process, or of a card.
        got: String,
    },
    /// The other library has no such operation, or is not there.
    Peer(Operation),
    /// A helper at another level refused; what it said.
    Helper(String),
    /// The target has no home, so there is no card and no facility.
    NoHome,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bytes { operation, bytes, block_bytes } => {
                write!(f, "{operation} does not take {bytes} bytes: 1 to {} are served", super::BYTES_MAX)?;
                if *block_bytes > 1 { write!(f, ", multiples of {block_bytes}") } else { Ok(()) }
            }
            Self::NeedsCard(operation) => {
                write!(f, "{operation} is a verb: measure it with `--interface card` or `facility`")
            }
            Self::Personality { operation, personality: Personality::Accelerator } => {
                write!(f, "{operation} is not served by accelerators: they do clear-key RSA")
            }
            Self::Personality { operation, personality: Personality::Coprocessor } => {
                write!(f, "{operation} is not served by coprocessors: no verb does it")
            }
            Self::Facility(operation) => {
                write!(
                    f,
                    "{operation} is not a clear-key call of the facility: measure it natively or on a card"
                )
            }
            Self::TooFewCards { personality, asked, ready } => {
                let name = match personality {
                    Personality::Accelerator => "accelerators",
                    Personality::Coprocessor => "coprocessors",
                };
                write!(f, "{asked} {name} asked for, {ready} ready: change the settings of the home")
            }
            Self::Level { asked, got } => {
                write!(f, "level {asked} asked for, but what does the work runs at {got}")
            }
            Self::Peer(operation) => write!(f, "{operation} is not measured by the peer's own benchmark"),
            Self::Range(why) | Self::Helper(why) => f.write_str(why),
            Self::NoHome => f.write_str("cards and the facility need a home: give one, or let one be made"),
        }
    }
}

impl std::error::Error for Refusal {}

/// Why there is no figure.
#[derive(Debug)]
pub enum LabError {
    /// The workload is refused.
    Refused(Refusal),
    /// An answer differs from what it must be: the figures are worthless and thrown away.
    WrongAnswer {
        /// The operation.
        operation: Operation,
        /// The job, from 0.
        job: usize,
        /// What is wrong with the answer.
        what: &'static str,
    },
    /// The engine refused.
    Engine {
        /// The operation.
        operation: Operation,
        /// What the engine said.
        cause: String,
    },
    /// A verb ended with codes that it must not end with here.
    Codes {
        /// The verb's name.
        verb: &'static str,
        /// The codes.
        codes: Codes,
    },
    /// The facility refused or failed.
    Facility {
        /// What was tried.
        what: &'static str,
        /// What the facility said.
        cause: String,
    },
    /// A home cannot be made or opened.
    Home(home::HomeError),
    /// A file, a process or a clock failed.
    Io {
        /// What was tried.
        what: &'static str,
        /// The cause.
        cause: io::Error,
    },
    /// A program that is measured failed; what it was and what it said.
    Program(String),
    /// The run was interrupted.
    Interrupted,
}

impl LabError {
    /// A [`LabError::Io`] for this attempt, of whatever is one: a file's error, or that of JSON.
    pub fn io<E: Into<io::Error>>(what: &'static str) -> impl FnOnce(E) -> Self {
        move |cause| Self::Io { what, cause: cause.into() }
    }

    /// A [`LabError::Facility`] for this attempt.
    pub fn facility<E: std::fmt::Display>(what: &'static str) -> impl FnOnce(E) -> Self {
        move |cause| Self::Facility { what, cause: cause.to_string() }
    }
}

impl std::fmt::Display for LabError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(refusal) => write!(f, "{refusal}"),
            Self::WrongAnswer { operation, job, what } => {
                write!(f, "{operation}, job {job}: {what}; no figure is given for wrong answers")
            }
            Self::Engine { operation, cause } => write!(f, "{operation}: the engine refuses: {cause}"),
            Self::Codes { verb, codes } => write!(f, "{verb} ended with {codes}"),
            Self::Facility { what, cause } => write!(f, "cannot {what}: {cause}"),
            Self::Home(error) => write!(f, "{error}"),
            Self::Io { what, cause } => write!(f, "cannot {what}: {cause}"),
            Self::Program(why) => f.write_str(why),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for LabError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            Self::Home(error) => Some(error),
            Self::Io { cause, .. } => Some(cause),
            _ => None,
        }
    }
}

impl From<Refusal> for LabError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<home::HomeError> for LabError {
    fn from(error: home::HomeError) -> Self {
        Self::Home(error)
    }
}
