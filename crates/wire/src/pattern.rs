//! Patterns of labels, and the allowed uses of keys under labels that match.

use crate::Label;
use crate::bounds::{KEYWORD_BYTES, LABEL_BYTES};
use crate::uses::Uses;
use serde::{Deserialize, Serialize};

/// A pattern of labels: a label in which each `*` stands for any number of characters, dots
/// included. At least one label matches it.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LabelPattern(String);

/// Why a text is not a pattern of labels.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatternError {
    /// The pattern is empty.
    Empty,
    /// More than 64 characters.
    TooLong(String),
    /// A character that no label has.
    Character(String),
    /// No label can match the pattern, by the rules of labels.
    Unmatchable(String),
}

impl std::fmt::Display for PatternError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Empty => f.write_str("the label pattern is empty; `*` matches every label"),
            Self::TooLong(text) => write!(f, "label pattern {text:?}: at most {LABEL_BYTES} characters"),
            Self::Character(text) => {
                write!(f, "label pattern {text:?}: patterns hold A-Z, 0-9, #, $, @, dots and `*` only")
            }
            Self::Unmatchable(text) => write!(
                f,
                "label pattern {text:?}: no label can match it; labels are 1 to {TOKENS_MAX} names of 1 to \
                 {KEYWORD_BYTES} characters with dots between them, and no name begins with a digit"
            ),
        }
    }
}

impl std::error::Error for PatternError {}

impl LabelPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// [`PatternError`] says which rule the text breaks.
    pub fn new(text: &str) -> Result<Self, PatternError> {
        if text.is_empty() {
            return Err(PatternError::Empty);
        }
        if text.len() > LABEL_BYTES {
            return Err(PatternError::TooLong(text.to_owned()));
        }
        let allowed = |c: u8| {
            c.is_ascii_uppercase() || c.is_ascii_digit() || matches!(c, b'#' | b'$' | b'@' | b'.' | b'*')
        };
        if !text.bytes().all(allowed) {
            return Err(PatternError::Character(text.to_owned()));
        }
        if !is_matchable(text.as_bytes()) {
            return Err(PatternError::Unmatchable(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }

    /// The pattern of every label.
    pub fn every() -> Self {
        Self("*".to_owned())
    }

    /// The text of the pattern.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a label matches the pattern.
    pub fn matches(&self, label: &Label) -> bool {
        let (pattern, text) = (self.0.as_bytes(), label.as_str().as_bytes());
        let (mut at, mut position) = (0, 0);
        // The place after the last star that was met, and how far the text had been read then.
        let mut star = None;
        while position < text.len() {
            match pattern.get(at) {
                Some(b'*') => {
                    star = Some((at + 1, position));
                    at += 1;
                }
                Some(byte) if *byte == text[position] => (at, position) = (at + 1, position + 1),
                _ => match star {
                    Some((after, from)) => {
                        star = Some((after, from + 1));
                        (at, position) = (after, from + 1);
                    }
                    None => return false,
                },
            }
        }
        pattern[at..].iter().all(|byte| *byte == b'*')
    }
}

impl TryFrom<String> for LabelPattern {
    type Error = PatternError;
    fn try_from(text: String) -> Result<Self, PatternError> {
        Self::new(&text)
    }
}

impl From<LabelPattern> for String {
    fn from(pattern: LabelPattern) -> String {
        pattern.0
    }
}

impl std::fmt::Display for LabelPattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::fmt::Debug for LabelPattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LabelPattern({})", self.0)
    }
}

/// Labels by a pattern, and the uses that are allowed of their keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelRule {
    /// The labels that the rule is for.
    pub pattern: LabelPattern,
    /// The uses that the rule allows.
    pub uses: Uses,
}

/// The uses that several rules together allow for a label: everything that any matching rule
/// allows.
pub fn uses_of(rules: &[LabelRule], label: &Label) -> Uses {
    let matching = rules.iter().filter(|rule| rule.pattern.matches(label));
    matching.fold(Uses::NONE, |sum, rule| sum.union(rule.uses))
}

/// At most this many names in a label.
const TOKENS_MAX: usize = 7;

/// Whether any label can match a pattern. A state is a place in a label: how many names have begun,
/// and how many characters the last of them has.
fn is_matchable(pattern: &[u8]) -> bool {
    const STATES: usize = TOKENS_MAX * (KEYWORD_BYTES + 1);
    let mut reached = [false; STATES];
    reached[0] = true;
    for byte in pattern {
        let before = reached;
        match byte {
            // A star: no character, or any further ones; each round adds one, until nothing
            // changes.
            b'*' => {
                for _ in 0..STATES {
                    let now = reached;
                    for (state, is_reached) in now.into_iter().enumerate() {
                        let after = [step(state, b'A'), step(state, b'.')];
                        after
                            .into_iter()
                            .flatten()
                            .filter(|_| is_reached)
                            .for_each(|next| reached[next] = true);
                    }
                }
            }
            byte => {
                reached = [false; STATES];
                for (state, _) in before.into_iter().enumerate().filter(|(_, is_reached)| *is_reached) {
                    if let Some(next) = step(state, *byte) {
                        reached[next] = true;
                    }
                }
            }
        }
    }
    // A label does not end in a dot.
    (0..STATES).any(|state| reached[state] && !state.is_multiple_of(KEYWORD_BYTES + 1))
}

/// The state after one more character; `None` if no label can go on with it.
fn step(state: usize, byte: u8) -> Option<usize> {
    let (token, characters) = (state / (KEYWORD_BYTES + 1), state % (KEYWORD_BYTES + 1));
    match byte {
        b'.' if characters > 0 && token + 1 < TOKENS_MAX => Some((token + 1) * (KEYWORD_BYTES + 1)),
        b'.' => None,
        byte if byte.is_ascii_digit() && characters == 0 => None,
        _ if characters < KEYWORD_BYTES => Some(state + 1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matches(pattern: &str, label: &str) -> bool {
        LabelPattern::new(pattern).unwrap().matches(&Label::new(label).unwrap())
    }

    #[test]
    fn stars_stand_for_any_characters() {
        for (pattern, label) in [
            ("*", "A.B"),
            ("SHOP.*", "SHOP.MAC"),
            ("SHOP.*", "SHOP.EU.MAC"),
            ("*.MAC", "SHOP.EU.MAC"),
            ("A*B*C", "AXBXBXC"),
            ("SHOP*", "SHOP"),
            ("SHOP**", "SHOPS"),
            ("A.B", "A.B"),
        ] {
            assert!(matches(pattern, label), "{pattern} {label}");
        }
        for (pattern, label) in
            [("SHOP.*", "SHOP"), ("SHOP.*", "SHOPS.MAC"), ("*.MAC", "MAC"), ("A.B", "A.BC"), ("A*C", "AB")]
        {
            assert!(!matches(pattern, label), "{pattern} {label}");
        }
    }

    #[test]
    fn what_no_label_matches_is_refused() {
        use PatternError as E;
        assert_eq!(LabelPattern::new(""), Err(E::Empty));
        assert!(matches!(LabelPattern::new(&"A".repeat(65)), Err(E::TooLong(_))));
        for malformed in ["shop.*", "A B", "A?", "A-B", "É", "A\n"] {
            assert!(matches!(LabelPattern::new(malformed), Err(E::Character(_))), "{malformed}");
        }
        for never in [
            ".",
            "A.",
            ".A",
            "A..B",
            "A.1",
            "1*",
            "ABCDEFGHI",
            "*ABCDEFGHI*",
            "A.B.C.D.E.F.G.*",
            "*.",
            "*.1*A",
        ] {
            let refused = LabelPattern::new(never).unwrap_err();
            assert!(matches!(&refused, E::Unmatchable(text) if text == never), "{never}");
            assert!(refused.to_string().contains(never));
        }
        for sometimes in ["*1", "A.*.*.*.*.*.*", "*ABCDEFGH*", "#.$.@"] {
            assert!(LabelPattern::new(sometimes).is_ok(), "{sometimes}");
        }
    }

    #[test]
    fn matching_rules_add_up() {
        let rule = |pattern: &str, uses| LabelRule { pattern: LabelPattern::new(pattern).unwrap(), uses };
        let rules = [rule("SHOP.*", Uses::MAC_VERIFY), rule("*.EU", Uses::MAC_GENERATE)];
        let uses = |label: &str| uses_of(&rules, &Label::new(label).unwrap());
        assert_eq!(uses("SHOP.A"), Uses::MAC_VERIFY);
        assert_eq!(uses("SHOP.EU"), Uses::MAC_VERIFY.union(Uses::MAC_GENERATE));
        assert_eq!(uses("BANK.A"), Uses::NONE);
    }

    proptest! {
        #[test]
        fn a_label_with_parts_starred_matches_and_is_a_pattern(
            label in "[A-Z#][A-Z0-9]{0,7}(\\.[A-Z@][A-Z0-9]{0,7}){0,6}",
            from in 0usize..64,
            length in 0usize..64,
        ) {
            let (from, to) = (from.min(label.len()), (from + length).min(label.len()));
            let starred = format!("{}*{}", &label[..from], &label[to.max(from)..]);
            prop_assume!(starred.len() <= LABEL_BYTES);
            prop_assert!(matches(&starred, &label));
        }

        #[test]
        fn what_matches_any_label_is_a_pattern(
            pattern in "[A1.*]{1,12}",
            label in "A[A1]{0,3}(\\.A[A1]{0,3}){0,3}",
        ) {
            // Matched without asking whether it is a pattern.
            let unchecked = LabelPattern(pattern.clone());
            if unchecked.matches(&Label::new(&label).unwrap()) {
                prop_assert!(LabelPattern::new(&pattern).is_ok(), "{pattern} {label}");
            }
        }
    }
}
