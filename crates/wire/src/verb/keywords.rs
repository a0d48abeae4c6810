//! Keywords of rule arrays, as data: groups of keywords that exclude each other, and rules between
//! keywords.

use super::Direction;
use crate::bounds::{KEYWORD_BYTES, KEYWORDS_MAX};
use crate::code::{self, Codes};

pub(super) use super::groups::*;
pub(super) use super::rules::*;

/// One keyword of a rule array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keyword {
    /// 1 to 8 characters, without padding.
    pub text: &'static str,
    /// The 8 padded bytes as a number, the first byte highest.
    pub word: u64,
}

impl Keyword {
    /// The keyword of this text.
    ///
    /// # Panics
    /// If the text is empty or longer than a keyword.
    pub const fn new(text: &'static str) -> Self {
        Self { text, word: word(text) }
    }
}

/// A keyword as a number.
///
/// # Panics
/// If the text is empty or longer than a keyword.
pub(super) const fn word(text: &str) -> u64 {
    crate::point::keywords::word(text)
}

/// Whether a keyword of a group must be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A keyword of the group must be given.
    Required,
    /// No keyword need be given, and none is assumed.
    Optional,
    /// No keyword need be given: the one at this place in the group is assumed.
    Default(usize),
}

/// A group of keywords of which at most one is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// Name of the group: that of its enumeration.
    pub name: &'static str,
    /// The keywords of the group.
    pub words: &'static [Keyword],
    /// Whether a keyword of the group must be given.
    pub need: Need,
    /// Whether a missing keyword is reported before an unknown keyword of the rule array.
    pub is_missed_first: bool,
}

/// A rule about which keywords go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// If all of the first keywords are given, none of the second may be given.
    Excludes(&'static [&'static str], &'static [&'static str]),
    /// If all of the first keywords are given, one of the second must be given. An empty first list
    /// holds always.
    Needs(&'static [&'static str], &'static [&'static str]),
    /// This keyword is known and refused.
    Refused(&'static str),
    /// This keyword asks for a function that is not served, and is refused with these codes.
    Unserved(&'static str, Codes),
}

/// The keywords of one verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleArray {
    /// The least number of keywords in a rule array.
    pub least: usize,
    /// The greatest number of keywords in a rule array.
    pub most: usize,
    /// Groups of the verb's keywords.
    pub groups: &'static [Group],
    /// Rules between the verb's keywords.
    pub rules: &'static [Rule],
    /// Whether further keywords are allowed, depending on other arguments: usages of key types.
    pub open: bool,
    /// Of a rule array that travels both ways: the number of elements that it returns, by the given
    /// keywords, as [`Length::Keyed`](super::Length::Keyed). The caller's field has room for that
    /// number, whatever its count says.
    pub answers: &'static [(&'static [&'static str], usize)],
    /// The keywords of the groups, one group after the other: a set of keywords has a bit for each place here.
    pub(super) words: &'static [u64],
    /// The groups, as sets of keywords.
    pub(super) sets: &'static [GroupSet],
    /// The rules, as sets of keywords.
    pub(super) conditions: &'static [Condition],
}

/// A set of keywords of a rule array or a verb: one bit for each.
pub(super) type Set = u64;

/// A group as a set of keywords.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GroupSet {
    all: Set,
    /// The keyword that is assumed if none is given.
    default: Set,
    /// Whether a missing keyword is refused before, and after, unknown keywords.
    missed: (bool, bool),
}

/// A rule over sets of keywords.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Excludes(Set, Set),
    Needs(Set, Set),
    Refused(Set, Codes),
}

/// Number of keywords of these groups.
pub(super) const fn count(groups: &[Group]) -> usize {
    first(groups, groups.len())
}

/// Place of a group's first keyword among the keywords of all groups.
pub(super) const fn first(groups: &[Group], group: usize) -> usize {
    let (mut before, mut count) = (0, 0);
    while before < group {
        count += groups[before].words.len();
        before += 1;
    }
    count
}

/// The keywords of these groups, one group after the other.
///
/// # Panics
/// If a keyword stands in two groups, or there are more keywords than a set holds.
pub(super) const fn flat<const N: usize>(groups: &[Group]) -> [u64; N] {
    assert!(N <= Set::BITS as usize, "more keywords than a set holds");
    let (mut words, mut at, mut group) = ([0; N], 0, 0);
    while group < groups.len() {
        let mut index = 0;
        while index < groups[group].words.len() {
            let word = groups[group].words[index].word;
            assert!(place(&words, word).is_none(), "a keyword stands in two groups");
            words[at] = word;
            at += 1;
            index += 1;
        }
        group += 1;
    }
    words
}

/// Groups as sets of keywords.
pub(super) const fn group_sets<const N: usize>(groups: &[Group]) -> [GroupSet; N] {
    let mut sets = [GroupSet { all: 0, default: 0, missed: (false, false) }; N];
    let mut index = 0;
    while index < N {
        let (group, first) = (&groups[index], first(groups, index));
        let is_required = matches!(group.need, Need::Required);
        sets[index] = GroupSet {
            all: below(group.words.len()) << first,
            default: match group.need {
                Need::Default(at) => 1 << (first + at),
                Need::Required | Need::Optional => 0,
            },
            missed: (is_required && group.is_missed_first, is_required),
        };
        index += 1;
    }
    sets
}

/// The set of the first `count` keywords.
const fn below(count: usize) -> Set {
    if count == Set::BITS as usize { Set::MAX } else { (1 << count) - 1 }
}

const fn place(words: &[u64], word: u64) -> Option<usize> {
    let mut at = 0;
    while at < words.len() {
        if words[at] == word {
            return Some(at);
        }
        at += 1;
    }
    None
}

const fn set(words: &[u64], texts: &[&str]) -> Set {
    let (mut set, mut index) = (0, 0);
    while index < texts.len() {
        match place(words, word(texts[index])) {
            Some(at) => set |= 1 << at,
            None => panic!("a rule speaks of a keyword that no group of the verb has"),
        }
        index += 1;
    }
    set
}

/// Rules over these keywords as sets.
///
/// # Panics
/// If a rule names a keyword that is not there: the rule would never hold.
pub(super) const fn conditions<const N: usize>(words: &[u64], rules: &[Rule]) -> [Condition; N] {
    let (mut conditions, mut index) = ([Condition::Refused(0, code::KEYWORD); N], 0);
    while index < N {
        conditions[index] = match rules[index] {
            Rule::Excludes(when, others) => Condition::Excludes(set(words, when), set(words, others)),
            Rule::Needs(when, others) => Condition::Needs(set(words, when), set(words, others)),
            Rule::Refused(text) => Condition::Refused(set(words, &[text]), code::KEYWORD),
            Rule::Unserved(text, codes) => Condition::Refused(set(words, &[text]), codes),
        };
        index += 1;
    }
    conditions
}

/// The choices of a rule array: for each group the keyword that was given, or its default.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choices {
    chosen: Set,
    others: u32,
}

const _: () = assert!(KEYWORDS_MAX <= u32::BITS as usize);

impl Choices {
    /// The choice of a group whose keywords begin at `first`.
    #[inline]
    pub(super) fn of<T: Choice>(self, first: usize) -> T::Given {
        let own = (self.chosen >> first) & const { below(T::GROUP.words.len()) };
        T::given((own != 0).then(|| own.trailing_zeros() as usize))
    }

    /// The keywords that are in no group of the verb.
    #[inline]
    pub(super) fn others(self, words: &[[u8; KEYWORD_BYTES]]) -> Others<'_> {
        Others { words, places: self.others }
    }
}

/// A group of keywords as an enumeration.
pub trait Choice: Copy {
    /// Type of a request's choice: the enumeration, or an `Option` of it if the group is optional
    /// without a default.
    type Given: Copy;
    /// The group that the enumeration stands for.
    const GROUP: Group;
    /// The choice, from the place in the group of the keyword that is given or assumed. For a
    /// required group the place is always known.
    fn given(place: Option<usize>) -> Self::Given;
}

/// Keywords of a rule array that are in no group of its verb.
#[derive(Clone, Copy, Debug)]
pub struct Others<'a> {
    words: &'a [[u8; KEYWORD_BYTES]],
    places: u32,
}

impl<'a> Others<'a> {
    /// Whether there are no such keywords.
    pub fn is_empty(self) -> bool {
        self.places == 0
    }

    /// The keywords, with their padding, in the order of the rule array.
    pub fn iter(self) -> impl Iterator<Item = &'a [u8; KEYWORD_BYTES]> {
        let is_other = move |index: &usize| (self.places >> index) & 1 == 1;
        self.words.iter().enumerate().filter(move |(index, _)| is_other(index)).map(|(_, word)| word)
    }
}

impl RuleArray {
    /// Whether a keyword is always refused, whatever other keywords are given.
    pub fn refuses(&self, word: &str) -> bool {
        let is_word =
            |rule: &Rule| matches!(rule, Rule::Refused(text) | Rule::Unserved(text, _) if *text == word);
        self.rules.iter().any(is_word)
    }

    /// Whether the verb serves some rule array with this keyword: the keyword is not refused by
    /// name, and does not exclude all keywords of a required group.
    pub fn serves(&self, word: &str) -> bool {
        let excludes = |other: &str| {
            self.rules.iter().any(|rule| match rule {
                Rule::Excludes([when], others) => {
                    (*when == word && others.contains(&other)) || (*when == other && others.contains(&word))
                }
                Rule::Refused(refused) | Rule::Unserved(refused, _) => *refused == other,
                _ => false,
            })
        };
        let goes_with = |group: &Group| {
            let own = group.words.iter().any(|keyword| keyword.text == word);
            own || group.need != Need::Required || group.words.iter().any(|one| !excludes(one.text))
        };
        !self.refuses(word) && self.groups.iter().all(goes_with)
    }

    /// All keywords of the groups.
    pub fn words(&self) -> impl Iterator<Item = &'static Keyword> + use<> {
        self.groups.iter().flat_map(|group| group.words)
    }

    /// Number of elements that the caller's field has room for if a rule array travels this way:
    /// its count, or what its keywords ask for.
    pub fn room(&self, direction: Direction, count: usize, words: &[u64]) -> usize {
        let is_given = |text: &&str| words.contains(&word(text));
        let asked = || self.answers.iter().find(|(given, _)| given.iter().all(is_given));
        match direction {
            Direction::In | Direction::Out => count,
            Direction::InOut => asked().map_or(count, |(_, elements)| count.max(*elements)),
        }
    }

    /// The greatest number of elements that an answer may have, if a rule array of `count` elements
    /// travels this way.
    pub fn most_given(&self, direction: Direction, count: usize) -> usize {
        match direction {
            Direction::In => 0,
            Direction::Out => count,
            Direction::InOut => self.answers.iter().map(|(_, elements)| *elements).max().unwrap_or(0),
        }
    }

    /// Checks a rule array of the verb.
    ///
    /// # Errors
    /// 8/35 for a wrong number of keywords; 8/34 for two keywords of one group, or none of a group
    /// that is [missed first](Group::is_missed_first); 8/33 for an unknown keyword; 8/34 for a
    /// missing one; 8/33, or codes of its own, for a refused one, given or assumed; 8/34 for
    /// keywords that do not go together. In this order.
    pub fn check(&self, words: &[u64]) -> Result<(), Codes> {
        if !(self.least..=self.most).contains(&words.len()) {
            return Err(code::KEYWORD_COUNT);
        }
        self.choose(words.iter().copied()).map(drop)
    }

    /// As [`RuleArray::check`], without the number of keywords; returns the choices.
    #[inline]
    pub(super) fn choose(&self, given: impl Iterator<Item = u64>) -> Result<Choices, Codes> {
        let (mut chosen, mut others, mut doubled): (Set, u32, _) = (0, 0, false);
        let mut bit = 1;
        for word in given {
            match self.words.iter().position(|known| *known == word) {
                Some(at) => {
                    doubled |= chosen & (1 << at) != 0;
                    chosen |= 1 << at;
                }
                None => others |= bit,
            }
            bit <<= 1;
        }
        let mut missed = (false, false);
        for set in self.sets {
            let own = chosen & set.all;
            doubled |= own & own.wrapping_sub(1) != 0;
            if own == 0 {
                chosen |= set.default;
                missed = (missed.0 | set.missed.0, missed.1 | set.missed.1);
            }
        }
        if doubled || missed.0 {
            return Err(code::KEYWORD_COMBINATION);
        }
        if others != 0 && !self.open {
            return Err(code::KEYWORD);
        }
        if missed.1 {
            return Err(code::KEYWORD_COMBINATION);
        }
        for condition in self.conditions {
            match *condition {
                Condition::Refused(word, codes) if chosen & word != 0 => return Err(codes),
                Condition::Excludes(when, others) if chosen & when == when && chosen & others != 0 => {
                    return Err(code::KEYWORD_COMBINATION);
                }
                Condition::Needs(when, others) if chosen & when == when && chosen & others == 0 => {
                    return Err(code::KEYWORD_COMBINATION);
                }
                _ => {}
            }
        }
        Ok(Choices { chosen, others })
    }
}

/// The keywords of a rule array, each as a number; `None` if the bytes are not whole keywords.
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
        assert_eq!(check(Verb::OneWayHash, &["SHA3-256", "LAST"]), Ok(()));
    }

    #[test]
    fn rules_hold_whatever_the_order() {
        assert_eq!(check(Verb::SymmetricAlgorithmEncipher, &["GCM", "AES", "ONLY"]), Ok(()));
        let refused = check(Verb::SymmetricAlgorithmEncipher, &["FINAL", "GCM", "AES"]);
        assert_eq!(refused, Err(code::KEYWORD_COMBINATION));
        // An empty rule array is refused as the keyword that it stands for.
        assert_eq!(check(Verb::DigitalSignatureGenerate, &[]), Err(code::KEYWORD));
        assert_eq!(check(Verb::DigitalSignatureGenerate, &["ISO-9796"]), Err(code::KEYWORD));
        assert_eq!(check(Verb::DigitalSignatureGenerate, &["X9.31", "SHA-256"]), Ok(()));
        assert_eq!(check(Verb::DigitalSignatureGenerate, &["X9.31"]), Err(code::KEYWORD_COMBINATION));
    }

    #[test]
    fn refusals_have_an_order() {
        let most = ["SHA-256"; 3];
        assert_eq!(check(Verb::OneWayHash, &most), Err(code::KEYWORD_COUNT));
        assert_eq!(
            check(Verb::PkaKeyTokenBuild, &["NO-SUCH", "SIG-ONLY", "KM-ONLY"]),
            Err(code::KEYWORD_COMBINATION)
        );
        assert_eq!(check(Verb::PkaKeyTokenBuild, &["NO-SUCH", "SIG-ONLY"]), Err(code::KEYWORD));
        assert_eq!(check(Verb::PkaKeyTokenBuild, &["NO-SUCH", "RSA-CRT"]), Err(code::KEYWORD));
        assert_eq!(check(Verb::OneWayHash, &["NO-SUCH"]), Err(code::KEYWORD));
        assert_eq!(check(Verb::OneWayHash, &["ONLY"]), Err(code::KEYWORD_COMBINATION));
        assert_eq!(check(Verb::PkaKeyTokenBuild, &["SIG-ONLY"]), Err(code::KEYWORD_COMBINATION));
        assert_eq!(check(Verb::PkaKeyTokenBuild, &["RSA-PUBL", "SIG-ONLY"]), Err(code::KEYWORD_COMBINATION));
        assert_eq!(check(Verb::PkaKeyTokenBuild, &["RSA-CRT", "SIG-ONLY"]), Ok(()));
    }

    #[test]
    fn keywords_of_no_group_are_left_to_their_verb() {
        let entry = Verb::KeyTokenBuild.entry();
        let words = ["UKPT", "INTERNAL", "DOUBLE"].map(|text| word(text).to_be_bytes());
        let given = words.iter().map(|word| u64::from_be_bytes(*word));
        let others = entry.keywords.choose(given).unwrap().others(&words);
        assert_eq!(others.iter().collect::<Vec<_>>(), [b"UKPT    "]);
        assert!(!others.is_empty());
    }

    #[test]
    fn only_verbs_with_a_rule_array_have_keywords() {
        for entry in TABLE {
            let has_array = entry
                .parameters
                .iter()
                .any(|parameter| matches!(parameter.kind, crate::verb::Kind::Keywords(_)));
            assert!(has_array || entry.keywords.most == 0, "{}", entry.name);
        }
    }

    #[test]
    fn a_rule_array_that_returns_elements_has_room_for_them() {
        let array = RuleArray { answers: &[(&["FIRST"], 9), (&["LAST"], 0), (&[], 4)], ..EMPTY };
        let both = |count, words: &[u64]| array.room(Direction::InOut, count, words);
        assert_eq!((both(1, &[word("FIRST")]), both(12, &[word("FIRST")])), (9, 12));
        assert_eq!((both(1, &[word("LAST")]), both(1, &[]), both(5, &[])), (1, 4, 5));
        for direction in [Direction::In, Direction::Out] {
            assert_eq!(array.room(direction, 3, &[word("FIRST")]), 3);
        }
        let most = [Direction::In, Direction::Out, Direction::InOut].map(|way| array.most_given(way, 20));
        assert_eq!(most, [0, 20, 9]);
    }

    const EMPTY: RuleArray = RuleArray {
        least: 0,
        most: 0,
        groups: &[],
        rules: &[],
        open: false,
        answers: &[],
        words: &[],
        sets: &[],
        conditions: &[],
    };

    #[test]
    fn a_rule_array_is_whole_keywords() {
        assert_eq!(words(b"CBC     ECB     ").unwrap().collect::<Vec<_>>(), [word("CBC"), word("ECB")]);
        assert!(words(b"CBC").is_none());
    }
}
