//! Keywords of rule arrays, as data: groups of words of which one may be given, and which go together.

use crate::bounds::KEYWORD_BYTES;
use crate::code::{self, Codes};

pub(super) use super::groups::*;

/// One keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keyword {
    /// 1 to 8 characters, without padding.
    pub text: &'static str,
    /// Its 8 padded bytes as a number, the first one highest.
    pub word: u64,
}

impl Keyword {
    /// Of this text.
    ///
    /// # Panics
    /// Where it is empty or longer than a keyword.
    pub const fn new(text: &'static str) -> Self {
        Self { text, word: word(text) }
    }
}

/// A keyword as a number.
///
/// # Panics
/// Where it is empty or longer than a keyword.
pub(super) const fn word(text: &str) -> u64 {
    crate::point::keywords::word(text)
}

/// Whether a keyword of a group must be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// One must.
    Required,
    /// None need be, and there is no keyword that would say the same.
    Optional,
    /// None need be: it is as if this one, by its place in the group, were given.
    Default(usize),
}

/// Keywords of which at most one is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// What they choose.
    pub name: &'static str,
    /// The keywords.
    pub words: &'static [Keyword],
    /// Whether one must be given.
    pub need: Need,
}

/// Which keywords go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Where all of the first are given, none of the second may be.
    Excludes(&'static [&'static str], &'static [&'static str]),
    /// Where all of the first are given - with none of them: always - one of the second must be.
    Needs(&'static [&'static str], &'static [&'static str]),
    /// This keyword is known and refused.
    Refused(&'static str),
}

/// The keywords of one verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleArray {
    /// Keywords of a rule array, at the least.
    pub least: usize,
    /// And at the most.
    pub most: usize,
    /// Its groups.
    pub groups: &'static [Group],
    /// Which go together.
    pub rules: &'static [Rule],
    /// Whether there are further keywords, which other arguments decide on: usages of key types.
    pub open: bool,
}

impl RuleArray {
    /// None.
    pub const NONE: Self = Self::of(0, 0, &[], &[]);

    /// Of these groups alone.
    pub const fn of(least: usize, most: usize, groups: &'static [Group], rules: &'static [Rule]) -> Self {
        assert!(least <= most && most <= crate::bounds::KEYWORDS_MAX);
        Self { least, most, groups, rules, open: false }
    }

    /// Of these groups and others.
    pub const fn open(least: usize, most: usize, groups: &'static [Group], rules: &'static [Rule]) -> Self {
        Self { open: true, ..Self::of(least, most, groups, rules) }
    }

    /// Every keyword that the groups name.
    pub fn words(&self) -> impl Iterator<Item = &'static Keyword> + use<> {
        self.groups.iter().flat_map(|group| group.words)
    }

    /// Whether a rule array is one of the verb's.
    ///
    /// # Errors
    /// 8/35 for a number of keywords that it does not take, 8/33 for one that it does not know or refuses, 8/34 for
    /// keywords that do not go together and for a missing one.
    pub fn check(&self, words: &[u64]) -> Result<(), Codes> {
        if !(self.least..=self.most).contains(&words.len()) {
            return Err(code::KEYWORD_COUNT);
        }
        let is_known = |word: &u64| self.words().any(|keyword| keyword.word == *word);
        if !self.open && !words.iter().all(is_known) {
            return Err(code::KEYWORD);
        }
        for group in self.groups {
            let given = words.iter().filter(|word| group.words.iter().any(|keyword| keyword.word == **word));
            match (given.count(), group.need) {
                (0, Need::Required) | (2.., _) => return Err(code::KEYWORD_COMBINATION),
                _ => {}
            }
        }
        let given = |text: &&str| words.contains(&word(text));
        for rule in self.rules {
            let codes = match rule {
                Rule::Refused(text) if given(text) => code::KEYWORD,
                Rule::Excludes(when, others) if when.iter().all(given) && others.iter().any(given) => {
                    code::KEYWORD_COMBINATION
                }
                Rule::Needs(when, others) if when.iter().all(given) && !others.iter().any(given) => {
                    code::KEYWORD_COMBINATION
                }
                _ => continue,
            };
            return Err(codes);
        }
        Ok(())
    }
}

/// The keywords of a rule array, each as a number; `None` where it is not whole keywords.
pub fn words(rule_array: &[u8]) -> Option<impl Iterator<Item = u64> + '_> {
    let (keywords, rest) = rule_array.as_chunks::<KEYWORD_BYTES>();
    rest.is_empty().then(|| keywords.iter().map(|keyword| u64::from_be_bytes(*keyword)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verb::{TABLE, Verb};

    fn check(verb: Verb, texts: &[&str]) -> Result<(), Codes> {
        let words: Vec<u64> = texts.iter().map(|text| word(text)).collect();
        verb.entry().keywords.check(&words)
    }

    #[test]
    fn one_of_a_group_and_those_that_are_required() {
        assert_eq!(check(Verb::MacGenerate, &[]), Ok(()));
        assert_eq!(check(Verb::MacGenerate, &["X9.19OPT", "FIRST", "HEX-9"]), Ok(()));
        assert_eq!(check(Verb::MacGenerate, &["X9.19OPT", "X9.9-1"]), Err(code::KEYWORD_COMBINATION));
        assert_eq!(check(Verb::MacGenerate, &["FIRST", "FIRST"]), Err(code::KEYWORD_COMBINATION));
        assert_eq!(check(Verb::MacGenerate, &["NO-SUCH"]), Err(code::KEYWORD));
        assert_eq!(check(Verb::MacGenerate, &["FIRST"; 4]), Err(code::KEYWORD_COUNT));
        assert_eq!(check(Verb::OneWayHash, &["FIRST"]), Err(code::KEYWORD_COMBINATION));
        assert_eq!(check(Verb::OneWayHash, &["SHA3-256", "LAST"]), Err(code::KEYWORD_COMBINATION));
    }

    #[test]
    fn rules_hold_whatever_the_order() {
        assert_eq!(check(Verb::SymmetricAlgorithmEncipher, &["GCM", "AES", "ONLY"]), Ok(()));
        let refused = check(Verb::SymmetricAlgorithmEncipher, &["FINAL", "GCM", "AES"]);
        assert_eq!(refused, Err(code::KEYWORD_COMBINATION));
        assert_eq!(check(Verb::DigitalSignatureGenerate, &[]), Err(code::KEYWORD_COMBINATION));
        assert_eq!(check(Verb::DigitalSignatureGenerate, &["ISO-9796"]), Err(code::KEYWORD));
        assert_eq!(check(Verb::DigitalSignatureGenerate, &["X9.31", "SHA-256"]), Ok(()));
        assert_eq!(check(Verb::DigitalSignatureGenerate, &["X9.31"]), Err(code::KEYWORD_COMBINATION));
    }

    // A rule over a word that no group of the verb has would never hold.
    #[test]
    fn rules_speak_of_the_verbs_own_words() {
        for entry in TABLE {
            let own: Vec<_> = entry.keywords.words().map(|keyword| keyword.text).collect();
            for (index, text) in own.iter().enumerate() {
                assert!(!own[index + 1..].contains(text), "{}: {text} in two groups", entry.name);
            }
            let has_array = entry
                .parameters
                .iter()
                .any(|parameter| matches!(parameter.kind, crate::verb::Kind::Keywords(_)));
            assert!(has_array || entry.keywords == RuleArray::NONE, "{}", entry.name);
            for rule in entry.keywords.rules {
                let (one, other): (&[&str], &[&str]) = match rule {
                    Rule::Excludes(when, others) | Rule::Needs(when, others) => (when, others),
                    Rule::Refused(text) => (std::slice::from_ref(text), &[]),
                };
                for text in one.iter().chain(other) {
                    assert!(own.contains(text), "{}: {text}", entry.name);
                }
            }
        }
    }

    #[test]
    fn a_rule_array_is_whole_keywords() {
        assert_eq!(words(b"CBC     ECB     ").unwrap().collect::<Vec<_>>(), [word("CBC"), word("ECB")]);
        assert!(words(b"CBC").is_none());
    }
}
