//! Why a workload is not run, or its figures are thrown away.

use crate::load::operation::Operation;
use std::io;
use wire::code::Codes;
use wire::control::Personality;

/// A workload that makes no sense, or that its interface does not serve.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// A number is out of range; the text names it and the range.
    Range(String),
    /// The operation does not take data of this length.
    Bytes {
        /// The operation that was asked for.
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
        /// The personality of the cards.
        personality: Personality,
    },
    /// The facility has no clear-key call for the operation.
    Facility(Operation),
    /// The home has too few ready cards of this personality.
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
    /// A helper at another level refused, with this text.
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

/// The reason for a missing figure.
#[derive(Debug)]
pub enum LabError {
    /// The workload is refused.
    Refused(Refusal),
    /// An answer differs from the expected one: the figures are worthless and thrown away.
    WrongAnswer {
        /// The operation.
        operation: Operation,
        /// The job, from 0.
        job: usize,
        /// The difference, for people.
        what: &'static str,
    },
    /// The engine refused.
    Engine {
        /// The operation.
        operation: Operation,
        /// Error text of the engine.
        cause: String,
    },
    /// A verb ended with unexpected codes.
    Codes {
        /// The verb's name.
        verb: &'static str,
        /// The codes.
        codes: Codes,
    },
    /// The facility refused or failed.
    Facility {
        /// The failed action, with its object.
        what: &'static str,
        /// Error text of the facility.
        cause: String,
    },
    /// A home cannot be made or opened.
    Home(home::HomeError),
    /// A file, a process or a clock failed.
    Io {
        /// The failed action, with its object.
        what: &'static str,
        /// The cause.
        cause: io::Error,
    },
    /// A measured program failed: its name and its error text.
    Program(String),
    /// The run was interrupted.
    Interrupted,
}

impl LabError {
    /// Makes a [`LabError::Io`] of a file's or of JSON's error; `what` is the failed action.
    pub fn io<E: Into<io::Error>>(what: &'static str) -> impl FnOnce(E) -> Self {
        move |cause| Self::Io { what, cause: cause.into() }
    }

    /// Makes a [`LabError::Facility`] of an error; `what` is the failed action.
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
