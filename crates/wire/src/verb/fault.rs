//! Why the arguments of a request are refused.

use crate::code::{self, Codes};

/// Why an argument is refused, with the codes that the verb answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The argument at this position is refused.
    Refused {
        /// Position of the parameter in the verb table.
        position: usize,
        /// The codes that the verb answers with.
        codes: Codes,
    },
    /// The key at this position is an unresolved reference: the verb does not run.
    Reference {
        /// Position of the parameter in the verb table.
        position: usize,
    },
    /// An output needs more room than its length parameter says: 8/72, or 4/16 for a rule array
    /// ([`too_small`](super::too_small)).
    TooSmall {
        /// Position of the length parameter in the verb table.
        position: usize,
        /// Bytes, or elements of a rule array, that the output needs.
        needed: usize,
    },
}

impl Fault {
    /// The codes that the verb answers with; `None` if it does not run. The other codes of a rule
    /// array that is too small come from [`too_small`](super::too_small) alone.
    pub fn codes(self) -> Option<Codes> {
        match self {
            Self::Refused { codes, .. } => Some(codes),
            Self::Reference { .. } => None,
            Self::TooSmall { .. } => Some(code::BUFFER_TOO_SMALL),
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused { position, codes } => write!(f, "argument {position}: {codes}"),
            Self::Reference { position } => {
                write!(f, "argument {position} is a key reference that is not resolved")
            }
            Self::TooSmall { position, needed } => {
                write!(f, "the field whose length is argument {position} is too small: {needed} are needed")
            }
        }
    }
}

impl std::error::Error for Fault {}
