//! Errors about rule arrays: which keyword is wrong, and which would be right.

use crate::failure::Failure;
use wire::verb::{Entry, Group, Misfit, Need};

/// Refuses a rule array that the verb table refuses.
///
/// # Errors
/// [`Failure::Usage`] that names the verb, the keyword, and those that would be right.
pub fn check(entry: &Entry, words: &[u64]) -> Result<(), Failure> {
    let judged = entry.keywords.judge(words);
    judged.map_err(|misfit| Failure::Usage(format!("{}: {}", entry.name, told(entry, words, misfit))))
}

fn told(entry: &Entry, words: &[u64], misfit: Misfit) -> String {
    let array = entry.keywords;
    match misfit {
        Misfit::Count => {
            let takes = match (array.least, array.most) {
                (0, 0) => return format!("it takes no keywords, and {} are given", words.len()),
                (least, most) if least == most => least.to_string(),
                (least, most) => format!("{least} to {most}"),
            };
            format!("it takes {takes} keywords, and {} are given; {}", words.len(), all(array.groups))
        }
        Misfit::Unknown(word) => format!("the keyword {} is not known; {}", text(word), all(array.groups)),
        Misfit::Missing(group) => format!("a keyword is missing: {}", one_of(group)),
        Misfit::Several(group) => {
            let given: Vec<String> =
                words.iter().filter(|word| has(group, **word)).map(|word| text(*word)).collect();
            format!("{} are given, of {}", given.join(" and "), one_of(group))
        }
        Misfit::Refused(refused) | Misfit::Unserved(refused, _) => {
            let group = array.groups.iter().find(|group| group.words.iter().any(|word| word.text == refused));
            let others = group.map_or(&[][..], |group| group.words).iter().map(|keyword| keyword.text);
            let others: Vec<&str> = others.filter(|text| *text != refused).collect();
            let is_given = words.iter().any(|word| text(*word) == refused);
            let default = if is_given { "" } else { ", the default," };
            format!("{refused}{default} is not served; instead: {}", others.join(", "))
        }
        Misfit::Excluded(when, wrong) => format!("{wrong} does not go with {}", when.join(" and ")),
        Misfit::Lacking([], others) => format!("a keyword is missing: one of {}", others.join(", ")),
        Misfit::Lacking(when, others) => format!("{} needs one of {}", when.join(" and "), others.join(", ")),
    }
}

fn all(groups: &[Group]) -> String {
    if groups.is_empty() {
        return "there are none".to_owned();
    }
    groups.iter().map(one_of).collect::<Vec<_>>().join("; ")
}

fn one_of(group: &Group) -> String {
    let words: Vec<&str> = group.words.iter().map(|keyword| keyword.text).collect();
    let need = if group.need == Need::Required { "one of" } else { "at most one of" };
    format!("{need} {}", words.join(", "))
}

fn has(group: &Group, word: u64) -> bool {
    group.words.iter().any(|keyword| keyword.word == word)
}

fn text(word: u64) -> String {
    String::from_utf8_lossy(&word.to_be_bytes()).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::verb::Verb;

    fn refusal(verb: Verb, words: &[&str]) -> Option<String> {
        let words: Vec<u64> = words.iter().map(|text| wire::point::keywords::word(text)).collect();
        check(verb.entry(), &words).err().map(|failure| failure.to_string())
    }

    #[test]
    fn a_refusal_names_verb_keyword_and_what_would_be_right() {
        let (mac, aes) = (Verb::MacGenerate, Verb::SymmetricAlgorithmEncipher);
        let (sign, hash) = (Verb::DigitalSignatureGenerate, Verb::OneWayHash);
        let cases: &[(Verb, &[&str], &str)] = &[
            (mac, &["CBC"], "mac-generate: the keyword CBC is not known; at most one of X9.9-1, X9.19OPT,"),
            (mac, &["mac"], "mac-generate: the keyword mac is not known; at most one of X9.9-1"),
            (
                mac,
                &["LAST", "FIRST"],
                "mac-generate: LAST and FIRST are given, of at most one of ONLY, FIRST, MIDDLE, LAST",
            ),
            (aes, &["CBC"], "symmetric-algorithm-encipher: a keyword is missing: one of AES"),
            (
                aes,
                &[],
                "symmetric-algorithm-encipher: it takes 1 to 4 keywords, and 0 are given; one of AES; at",
            ),
            (aes, &["AES", "GCM", "FINAL"], "symmetric-algorithm-encipher: FINAL does not go with GCM"),
            (hash, &["LAST"], "one-way-hash: a keyword is missing: one of MD5, SHA-1,"),
            (sign, &["X9.31"], "digital-signature-generate: X9.31 needs one of SHA-1, SHA-224,"),
            (
                sign,
                &[],
                "digital-signature-generate: ISO-9796, the default, is not served; instead: PKCS-1.0,",
            ),
            (sign, &["ISO-9796"], "digital-signature-generate: ISO-9796 is not served; instead: PKCS-1.0,"),
            (
                Verb::AesKeyRecordCreate,
                &["AES"],
                "aes-key-record-create: it takes no keywords, and 1 are given",
            ),
            (
                Verb::PkaKeyImport,
                &["AES"],
                "pka-key-import: the keyword AES is not known; at most one of RSA, ECC",
            ),
        ];
        for (verb, words, expected) in cases {
            let said = refusal(*verb, words).unwrap_or_default();
            assert!(said.starts_with(expected), "{words:?}: {said}");
        }
        assert_eq!(refusal(mac, &["X9.19OPT", "HEX-9"]), None);
        // Usages of a key type are the verb's to judge.
        assert_eq!(refusal(Verb::KeyTokenBuild, &["INTERNAL", "XPORT-OK"]), None);
    }
}
