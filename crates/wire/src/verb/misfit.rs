//! Why a verb refuses a rule array, in words for people: with the keyword that is wrong.

use super::keywords::{Group, Keyword, Need, Rule, RuleArray};
use crate::code::{self, Codes};

/// Why a verb refuses a rule array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// The rule array has fewer keywords than the verb needs, or more than it takes: 8/35.
    Count,
    /// More than one keyword of this group is given: 8/34.
    Several(&'static Group),
    /// The verb does not know this keyword: 8/33.
    Unknown(u64),
    /// No keyword of this group is given, and one must be: 8/34.
    Missing(&'static Group),
    /// This keyword is known and refused, given or as the default of its group: 8/33.
    Refused(&'static str),
    /// This keyword asks for a function that is not served, and is refused with these codes.
    Unserved(&'static str, Codes),
    /// This keyword does not go with the first keywords, all of which are given or defaults: 8/34.
    Excluded(&'static [&'static str], &'static str),
    /// All of the first keywords are given or defaults, and none of the second: 8/34.
    Lacking(&'static [&'static str], &'static [&'static str]),
}

impl Misfit {
    /// The codes that the verb answers with.
    pub fn codes(self) -> Codes {
        match self {
            Self::Count => code::KEYWORD_COUNT,
            Self::Unknown(_) | Self::Refused(_) => code::KEYWORD,
            Self::Unserved(_, codes) => codes,
            Self::Several(_) | Self::Missing(_) | Self::Excluded(..) | Self::Lacking(..) => {
                code::KEYWORD_COMBINATION
            }
        }
    }
}

impl RuleArray {
    /// As [`RuleArray::check`], with the cause of the error; cards use the other, which returns
    /// codes alone.
    ///
    /// # Errors
    /// [`Misfit`], in the order of [`RuleArray::check`].
    pub fn judge(&self, words: &[u64]) -> Result<(), Misfit> {
        if !(self.least..=self.most).contains(&words.len()) {
            return Err(Misfit::Count);
        }
        let own = |group: &Group, word: &u64| group.words.iter().any(|keyword| keyword.word == *word);
        let given = |group: &Group| words.iter().filter(|word| own(group, word)).count();
        if let Some(group) = self.groups.iter().find(|group| given(group) > 1) {
            return Err(Misfit::Several(group));
        }
        let missing = || self.groups.iter().filter(|group| group.need == Need::Required && given(group) == 0);
        if let Some(group) = missing().find(|group| group.is_missed_first) {
            return Err(Misfit::Missing(group));
        }
        let is_known = |word: &u64| self.open || self.groups.iter().any(|group| own(group, word));
        if let Some(word) = words.iter().find(|word| !is_known(word)) {
            return Err(Misfit::Unknown(*word));
        }
        if let Some(group) = missing().next() {
            return Err(Misfit::Missing(group));
        }
        let is_default = |keyword: &Keyword| {
            let default = |group: &Group| match group.need {
                Need::Default(at) => given(group) == 0 && group.words[at] == *keyword,
                Need::Required | Need::Optional => false,
            };
            self.groups.iter().any(default)
        };
        let chosen: Vec<&str> = self
            .words()
            .filter(|keyword| words.contains(&keyword.word) || is_default(keyword))
            .map(|keyword| keyword.text)
            .collect();
        let is_chosen = |text: &&str| chosen.contains(text);
        let misfit = self.rules.iter().find_map(|rule| match *rule {
            Rule::Refused(text) => is_chosen(&text).then_some(Misfit::Refused(text)),
            Rule::Unserved(text, codes) => is_chosen(&text).then_some(Misfit::Unserved(text, codes)),
            Rule::Excludes(when, others) => {
                let wrong = others.iter().find(|text| is_chosen(text))?;
                when.iter().all(&is_chosen).then_some(Misfit::Excluded(when, wrong))
            }
            Rule::Needs(when, others) => {
                let is_lacking = when.iter().all(&is_chosen) && !others.iter().any(&is_chosen);
                is_lacking.then_some(Misfit::Lacking(when, others))
            }
        });
        misfit.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verb::keywords::word;
    use crate::verb::{TABLE, Verb};

    #[test]
    fn a_misfit_says_which_keywords_it_is_about() {
        let judge = |verb: Verb, texts: &[&str]| {
            let words: Vec<u64> = texts.iter().map(|text| word(text)).collect();
            verb.entry().keywords.judge(&words).err()
        };
        let (mac, aes) = (Verb::MacGenerate, Verb::SymmetricAlgorithmEncipher);
        let group = |verb: Verb, index: usize| &verb.entry().keywords.groups[index];
        assert_eq!(judge(mac, &["FIRST", "LAST"]), Some(Misfit::Several(group(mac, 1))));
        assert_eq!(judge(mac, &["FIRST", "FIRST"]), Some(Misfit::Several(group(mac, 1))));
        assert_eq!(judge(mac, &["FIRST", "NO-SUCH"]), Some(Misfit::Unknown(word("NO-SUCH"))));
        assert_eq!(judge(aes, &["CBC"]), Some(Misfit::Missing(group(aes, 0))));
        assert_eq!(judge(aes, &[]), Some(Misfit::Count));
        assert_eq!(judge(aes, &["AES", "GCM", "FINAL"]), Some(Misfit::Excluded(&["GCM"], "FINAL")));
        let sign = Verb::DigitalSignatureGenerate;
        assert_eq!(judge(sign, &[]), Some(Misfit::Refused("ISO-9796")));
        let lacking = judge(sign, &["X9.31"]);
        assert!(matches!(lacking, Some(Misfit::Lacking(["X9.31"], hashes)) if hashes.contains(&"SHA-256")));
    }

    // Every pair of keywords of every verb with every third keyword, and a keyword that no verb
    // knows.
    #[test]
    fn what_is_judged_is_what_is_checked() {
        let (mut taken, mut refused) = (0, 0);
        for array in TABLE.iter().map(|entry| entry.keywords) {
            let own: Vec<u64> = array.words().map(|keyword| keyword.word).chain([word("NO-SUCH")]).collect();
            let mut tries = vec![Vec::new()];
            for one in &own {
                tries.push(vec![*one]);
                for other in &own {
                    tries.push(vec![*one, *other]);
                    tries.extend(own.iter().map(|third| vec![*one, *other, *third]));
                }
            }
            for words in tries {
                let judged = array.judge(&words).map_err(Misfit::codes);
                assert_eq!(judged, array.check(&words), "{words:x?}");
                *if judged.is_ok() { &mut taken } else { &mut refused } += 1;
            }
        }
        assert!(taken > 1_000 && refused > 10_000, "{taken} {refused}");
    }
}
