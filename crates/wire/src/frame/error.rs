//! Why a frame is refused.

use super::header::FRAME_VERSION;

/// Why a frame or its arguments are refused; the writer of the frame is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameError {
    /// The header's version is not [`FRAME_VERSION`].
    Version(u16),
    /// No verb has this number.
    Verb(u16),
    /// The payload is longer than the slot or bulk block that holds it: its length in bytes.
    PayloadLength(u32),
    /// No bulk block has this number.
    Bulk(u32),
    /// The payload ends before the argument at this position.
    Truncated {
        /// Position of the parameter in the verb table.
        position: usize,
    },
    /// Bytes are left after the last argument.
    Excess,
    /// The number of the reply's outcome has no meaning.
    Outcome(u16),
    /// The argument at this position is not of the table's kind.
    Kind {
        /// Position of the parameter in the verb table.
        position: usize,
    },
}

impl std::fmt::Display for FrameError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Version(version) => write!(f, "frame version {version} is not {FRAME_VERSION}"),
            Self::Verb(number) => write!(f, "no verb has number {number:#06x}"),
            Self::PayloadLength(length) => {
                write!(f, "a payload of {length} bytes does not fit where it lies")
            }
            Self::Bulk(block) => write!(f, "bulk block {block} does not exist"),
            Self::Truncated { position } => write!(f, "the payload ends before argument {position}"),
            Self::Excess => f.write_str("bytes are left after the last argument"),
            Self::Outcome(outcome) => write!(f, "outcome {outcome} has no meaning"),
            Self::Kind { position } => {
                write!(f, "argument {position} is not of the kind that the verb table gives")
            }
        }
    }
}

impl std::error::Error for FrameError {}
