//! Patterns of labels, where `*` stands for any characters.

use serde::{Deserialize, Serialize};
use wire::bounds::LABEL_BYTES;

/// A checked pattern: characters of labels and `*`, at most 64 of them. Runs of `*` are one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern(String);

impl TryFrom<String> for Pattern {
    type Error = PatternError;
    fn try_from(text: String) -> Result<Self, PatternError> {
        Self::new(&text)
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.0
    }
}

/// Why a pattern is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternError {
    /// More than 64 characters.
    TooLong(usize),
    /// A character that no label holds.
    Character(char),
}

impl std::fmt::Display for PatternError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooLong(length) => {
                write!(f, "a label pattern of {length} characters; at most {LABEL_BYTES}")
            }
            Self::Character(c) => {
                write!(f, "{c:?} in a label pattern; allowed are A-Z, 0-9, #, $, @, dots and *")
            }
        }
    }
}

impl std::error::Error for PatternError {}

impl Pattern {
    /// Reads a pattern; the empty one stands for all labels, trailing blanks are padding.
    ///
    /// # Errors
    /// [`PatternError`].
    pub fn new(text: &str) -> Result<Self, PatternError> {
        let text = text.trim_end_matches(' ');
        if text.len() > LABEL_BYTES {
            return Err(PatternError::TooLong(text.len()));
        }
        let allowed = |c: char| {
            c.is_ascii_uppercase() || c.is_ascii_digit() || matches!(c, '#' | '$' | '@' | '.' | '*')
        };
        if let Some(c) = text.chars().find(|c| !allowed(*c)) {
            return Err(PatternError::Character(c));
        }
        if text.is_empty() {
            return Ok(Self("*".into()));
        }
        let mut pattern = String::with_capacity(text.len());
        for c in text.chars() {
            if c != '*' || !pattern.ends_with('*') {
                pattern.push(c);
            }
        }
        Ok(Self(pattern))
    }

    /// The characters before the first `*`, with which every matching label begins.
    pub fn prefix(&self) -> &str {
        self.0.split('*').next().unwrap_or_default()
    }

    /// Whether a label matches. It takes at most as many steps as the product of both lengths.
    pub fn matches(&self, label: &str) -> bool {
        let (pattern, text) = (self.0.as_bytes(), label.as_bytes());
        let (mut p, mut t) = (0, 0);
        // Where to continue when the characters after the last `*` do not fit: that `*` takes one more.
        let mut retry = None;
        while t < text.len() {
            if pattern.get(p) == Some(&b'*') {
                retry = Some((p + 1, t));
                p += 1;
            } else if pattern.get(p) == Some(&text[t]) {
                p += 1;
                t += 1;
            } else if let Some((after, taken)) = retry {
                retry = Some((after, taken + 1));
                p = after;
                t = taken + 1;
            } else {
                return false;
            }
        }
        pattern[p..].iter().all(|byte| *byte == b'*')
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plain(pattern: &[u8], text: &[u8]) -> bool {
        match (pattern.first(), text.first()) {
            (None, None) => true,
            (Some(b'*'), _) => plain(&pattern[1..], text) || (!text.is_empty() && plain(pattern, &text[1..])),
            (Some(a), Some(b)) => a == b && plain(&pattern[1..], &text[1..]),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn matching_agrees_with_the_definition(pattern in "[AB*]{0,7}", label in "[AB]{1,9}") {
            let checked = Pattern::new(&pattern).unwrap();
            let defined = pattern.is_empty() || plain(pattern.as_bytes(), label.as_bytes());
            prop_assert_eq!(checked.matches(&label), defined);
            prop_assert!(!checked.matches(&label) || label.starts_with(checked.prefix()));
        }
    }

    #[test]
    fn what_no_label_holds_is_refused() {
        assert_eq!(Pattern::new("A%"), Err(PatternError::Character('%')));
        assert_eq!(Pattern::new("a*"), Err(PatternError::Character('a')));
        assert_eq!(Pattern::new(&"*".repeat(65)), Err(PatternError::TooLong(65)));
        assert!(Pattern::new("").unwrap().matches("ANY.LABEL"));
    }

    #[test]
    fn a_hostile_pattern_costs_little() {
        let pattern = Pattern::new(&"*A".repeat(31)).unwrap();
        assert!(!pattern.matches(&format!("{}B", "A".repeat(63))));
    }
}
