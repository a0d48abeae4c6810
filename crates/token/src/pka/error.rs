//! Why a PKA token is refused: the section, the offset in it and the rule; and the codes of a verb
//! that refuses it.

use wire::Codes;
use wire::code;

/// A token that breaks a rule of its layout. The writer of the token is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PkaTokenError {
    /// Identifier of the section (X'04' public, ...); 0 for the header.
    pub section: u8,
    /// Offset in the section of the field at fault.
    pub offset: usize,
    /// The rule that is broken.
    pub problem: Problem,
}

/// A rule of the layout that a token breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// A length reaches beyond the section or the token, or leaves bytes over.
    OutOfArea,
    /// A version that is not served.
    Version,
    /// A token or section of a kind that is not served.
    NotServed,
    /// A section at a place where it may not stand.
    Order,
    /// A reserved byte is not zero.
    Reserved,
    /// A field holds a value that has no meaning in it.
    Value,
    /// An elliptic curve that is not served.
    Curve,
    /// Two fields contradict each other.
    Inconsistent,
    /// A hash over the token's own bytes does not match.
    Hash,
}

impl PkaTokenError {
    /// Return and reason code for a verb that refuses the token.
    pub const fn codes(&self) -> Codes {
        if self.section == 0 && matches!(self.problem, Problem::NotServed) {
            return code::TOKEN_INVALID;
        }
        match self.problem {
            Problem::OutOfArea => code::OUT_OF_AREA,
            Problem::Version | Problem::NotServed => code::TOKEN_VERSION,
            Problem::Curve => code::CURVE,
            Problem::Order | Problem::Hash => code::TOKEN_INVALID,
            Problem::Reserved | Problem::Value | Problem::Inconsistent => code::PKA_FIELD,
        }
    }
}

impl std::fmt::Display for PkaTokenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.section {
            0 => write!(f, "PKA token header, offset {}: {}", self.offset, self.problem),
            section => {
                write!(f, "PKA token section X'{section:02X}', offset {}: {}", self.offset, self.problem)
            }
        }
    }
}

impl std::error::Error for PkaTokenError {}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::OutOfArea => "a length does not fit its area",
            Self::Version => "a version that is not served",
            Self::NotServed => "a kind that is not served",
            Self::Order => "a section that may not stand there",
            Self::Reserved => "a reserved byte is not zero",
            Self::Value => "a value without meaning",
            Self::Curve => "a curve that is not served",
            Self::Inconsistent => "contradicts another field",
            Self::Hash => "a hash over the token does not agree",
        })
    }
}
