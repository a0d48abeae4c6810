//! Key labels and references to opened keys.

use crate::bounds::{KEYWORD_BYTES, LABEL_BYTES};
use serde::{Deserialize, Serialize};

/// A validated key label: 1 to 7 name tokens of 1 to 8 characters `A-Z 0-9 # $ @`, joined by `.`,
/// none of which begins with a digit; at most 64 characters, kept without its blank padding.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Label(String);

/// Why a text is not a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LabelError {
    /// Nothing but padding.
    Empty,
    /// More than 64 characters.
    TooLong,
    /// More than seven name tokens.
    TooManyTokens,
    /// An empty name token or one of more than 8 characters.
    TokenLength,
    /// A name token that begins with a digit.
    TokenStart,
    /// A character outside of `A-Z 0-9 # $ @ .`.
    Character,
}

impl std::fmt::Display for LabelError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Empty => "the label is empty",
            Self::TooLong => "the label has more than 64 characters",
            Self::TooManyTokens => "the label has more than 7 names",
            Self::TokenLength => "each name in a label has 1 to 8 characters",
            Self::TokenStart => "a name in a label begins with a digit",
            Self::Character => "a label holds A-Z, 0-9, #, $, @ and dots only",
        })
    }
}

impl std::error::Error for LabelError {}

impl Label {
    /// Reads a label; trailing blanks are padding.
    ///
    /// # Errors
    /// [`LabelError`] says which rule the text breaks.
    pub fn new(text: &str) -> Result<Self, LabelError> {
        let text = text.trim_end_matches(' ');
        if text.is_empty() {
            return Err(LabelError::Empty);
        }
        if text.len() > LABEL_BYTES {
            return Err(LabelError::TooLong);
        }
        let allowed =
            |c: u8| c.is_ascii_uppercase() || c.is_ascii_digit() || matches!(c, b'#' | b'$' | b'@' | b'.');
        if !text.bytes().all(allowed) {
            return Err(LabelError::Character);
        }
        if text.split('.').count() > 7 {
            return Err(LabelError::TooManyTokens);
        }
        for token in text.split('.') {
            if token.is_empty() || token.len() > KEYWORD_BYTES {
                return Err(LabelError::TokenLength);
            }
            if token.as_bytes()[0].is_ascii_digit() {
                return Err(LabelError::TokenStart);
            }
        }
        Ok(Self(text.to_owned()))
    }

    /// Reads the 64-byte, blank-padded field of a verb.
    ///
    /// # Errors
    /// As [`Label::new`].
    pub fn from_field(field: &[u8]) -> Result<Self, LabelError> {
        Self::new(std::str::from_utf8(field).map_err(|_| LabelError::Character)?)
    }

    /// The label without padding.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The label as the 64-byte, blank-padded field of a verb.
    pub fn to_field(&self) -> [u8; LABEL_BYTES] {
        let mut field = [b' '; LABEL_BYTES];
        field[..self.0.len()].copy_from_slice(self.0.as_bytes());
        field
    }

    /// Whether a key-identifier field names a label (first byte X'20' to X'FE') rather than holding a token.
    pub fn is_label_field(field: &[u8]) -> bool {
        field.first().is_some_and(|byte| (0x20..=0xFE).contains(byte))
    }
}

impl TryFrom<String> for Label {
    type Error = LabelError;
    fn try_from(text: String) -> Result<Self, LabelError> {
        Self::new(&text)
    }
}

impl From<Label> for String {
    fn from(label: Label) -> String {
        label.0
    }
}

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::fmt::Debug for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Label({})", self.0)
    }
}

/// Names an entry of the key table: which one, and the generation that it had when the label was
/// opened. An entry whose generation has moved on (deleted, revoked, replaced) is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KeyReference {
    /// Number of the unit of the key table at which the entry begins.
    pub slot: u32,
    /// Generation of the entry; never 0.
    pub generation: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_their_rules() {
        let accepted = ["A", "DEV.TDES.MAC", "$A.#B.@C1", "A.B.C.D.E.F.G", "ABCDEFGH.ABCDEFGH   "];
        for text in accepted {
            let label = Label::new(text).unwrap();
            assert_eq!(label.as_str(), text.trim_end());
            assert_eq!(Label::from_field(&label.to_field()).unwrap(), label);
            assert!(Label::is_label_field(&label.to_field()));
        }
        let refused = [
            ("", LabelError::Empty),
            ("    ", LabelError::Empty),
            ("a", LabelError::Character),
            ("A B", LabelError::Character),
            ("A..B", LabelError::TokenLength),
            ("ABCDEFGHI", LabelError::TokenLength),
            ("A.1B", LabelError::TokenStart),
            ("A.B.C.D.E.F.G.H", LabelError::TooManyTokens),
        ];
        for (text, error) in refused {
            assert_eq!(Label::new(text).unwrap_err(), error, "{text:?}");
        }
        assert_eq!(Label::new(&"A".repeat(65)).unwrap_err(), LabelError::TooLong);
        assert_eq!(Label::from_field(&[0xFF; 64]).unwrap_err(), LabelError::Character);
    }
}
