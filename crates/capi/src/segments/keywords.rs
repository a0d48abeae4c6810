//! How the keywords of a verb say which segment of a text comes.

use wire::bounds::KEYWORD_BYTES;

/// The keywords by which a verb says which segment of a text comes.
pub(super) struct SegmentKeywords {
    /// Keywords of the first of several segments, of one between, and of the last; a verb with two keywords has no last
    /// one.
    first: &'static str,
    between: &'static str,
    last: Option<&'static str>,
    /// The keyword of a whole text, if there is one.
    only: Option<&'static str>,
    /// The keyword that is assumed if the caller gives none.
    default: &'static str,
    /// Methods that pad or otherwise end a text; their segments before the last are done by CBC.
    ending: &'static [&'static str],
}

pub(super) const SEGMENTS: SegmentKeywords = SegmentKeywords {
    first: "FIRST",
    between: "MIDDLE",
    last: Some("LAST"),
    only: Some("ONLY"),
    default: "ONLY",
    ending: &[],
};
pub(super) const DES: SegmentKeywords = SegmentKeywords {
    first: "INITIAL",
    between: "CONTINUE",
    last: None,
    only: None,
    default: "INITIAL",
    ending: &["X9.23", "CUSP", "IPS"],
};
pub(super) const AES: SegmentKeywords = SegmentKeywords {
    first: "INITIAL",
    between: "CONTINUE",
    last: Some("FINAL"),
    only: Some("ONLY"),
    default: "INITIAL",
    ending: &["PKCS-PAD"],
};

/// Where in the caller's text a segment lies.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SegmentPosition {
    First,
    Between,
    Last,
}

impl SegmentKeywords {
    fn all(&self) -> impl Iterator<Item = &'static str> {
        [Some(self.first), Some(self.between), self.last, self.only].into_iter().flatten()
    }

    /// The segment keyword that the caller gives, else the default.
    fn given(&self, words: &[u64]) -> &'static str {
        self.all().find(|text| words.contains(&word(text))).unwrap_or(self.default)
    }

    /// Whether the caller's text goes on from an earlier call.
    pub(super) fn goes_on(&self, words: &[u64]) -> bool {
        let given = self.given(words);
        given == self.between || self.last == Some(given)
    }

    /// The keywords of one segment: the caller's, with the keyword of that segment.
    pub(super) fn of(&self, words: &[u64], position: SegmentPosition) -> Vec<u64> {
        let (given, goes_on) = (self.given(words), self.goes_on(words));
        let ends = self.last == Some(given) || self.only == Some(given);
        let own = match (position, self.last) {
            (SegmentPosition::First, _) if !goes_on => self.first,
            (SegmentPosition::Last, Some(last)) if ends => last,
            _ => self.between,
        };
        let is_own = |given: &u64| self.all().any(|text| *given == word(text));
        let method = |given: u64| {
            let is_ending = self.ending.iter().any(|text| given == word(text));
            if is_ending && position != SegmentPosition::Last { word("CBC") } else { given }
        };
        let others = words.iter().filter(|given| !is_own(given)).map(|given| method(*given));
        others.chain([word(own)]).collect()
    }
}

/// A keyword as a number.
pub(super) fn word(text: &str) -> u64 {
    let mut bytes = [b' '; KEYWORD_BYTES];
    bytes[..text.len()].copy_from_slice(text.as_bytes());
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(keywords: &SegmentKeywords, given: &[&str], position: SegmentPosition) -> Vec<String> {
        let words: Vec<u64> = given.iter().map(|text| word(text)).collect();
        let text = |word: u64| String::from_utf8(word.to_be_bytes().to_vec()).unwrap().trim_end().to_owned();
        keywords.of(&words, position).into_iter().map(text).collect()
    }

    fn all(keywords: &SegmentKeywords, given: &[&str]) -> [Vec<String>; 3] {
        [SegmentPosition::First, SegmentPosition::Between, SegmentPosition::Last]
            .map(|position| of(keywords, given, position))
    }

    #[test]
    fn a_text_begins_and_ends_as_the_caller_says() {
        for (given, expected) in [
            (&["SHA-1"][..], ["FIRST", "MIDDLE", "LAST"]),
            (&["ONLY", "SHA-1"], ["FIRST", "MIDDLE", "LAST"]),
            (&["SHA-1", "FIRST"], ["FIRST", "MIDDLE", "MIDDLE"]),
            (&["SHA-1", "MIDDLE"], ["MIDDLE", "MIDDLE", "MIDDLE"]),
            (&["LAST", "SHA-1"], ["MIDDLE", "MIDDLE", "LAST"]),
        ] {
            assert_eq!(all(&SEGMENTS, given), expected.map(|word| ["SHA-1", word]), "{given:?}");
        }
        assert_eq!(all(&AES, &["AES", "ONLY"])[2], ["AES", "FINAL"]);
        assert_eq!(all(&AES, &["AES"])[2], ["AES", "CONTINUE"]);
        assert_eq!(all(&AES, &["AES", "FINAL"])[0], ["AES", "CONTINUE"]);
    }

    #[test]
    fn only_the_last_segment_is_padded() {
        assert_eq!(all(&DES, &["X9.23"]), [["CBC", "INITIAL"], ["CBC", "CONTINUE"], ["X9.23", "CONTINUE"]]);
        assert_eq!(all(&DES, &[]), [["INITIAL"], ["CONTINUE"], ["CONTINUE"]]);
        let padded = all(&AES, &["AES", "PKCS-PAD", "ONLY"]);
        assert_eq!(padded[0], ["AES", "CBC", "INITIAL"]);
        assert_eq!(padded[2], ["AES", "PKCS-PAD", "FINAL"]);
    }
}
