//! What tests assert of the verbs, from `crates/cca/tests/exercised/*.txt`.

use crate::sources;
use std::collections::{BTreeMap, BTreeSet};

/// What tests assert of one verb.
#[derive(Default)]
pub struct Exercised {
    /// Whether it was answered with return code 0 or 4.
    pub done: bool,
    /// With which keywords it was.
    pub keywords: BTreeSet<String>,
    /// Keywords that were refused because the verb does not serve them.
    pub unserved: BTreeSet<String>,
    /// Return and reason codes other than 0/0.
    pub codes: BTreeSet<String>,
}

/// By the name of the verb.
pub fn exercised() -> BTreeMap<String, Exercised> {
    let mut verbs: BTreeMap<String, Exercised> = BTreeMap::new();
    for source in sources("crates/cca/tests/exercised", "txt") {
        for paragraph in source.text.split("\n\n").skip(1) {
            let (verb, kinds) = paragraph.split_once('\n').unwrap_or((paragraph, ""));
            let own = verbs.entry(verb.trim().to_owned()).or_default();
            for line in kinds.lines() {
                let mut words = line.split_whitespace();
                let into = match words.next() {
                    Some("done") => {
                        own.done = true;
                        &mut own.keywords
                    }
                    Some("unserved") => &mut own.unserved,
                    Some("codes") => &mut own.codes,
                    other => panic!("{}: {other:?} is no kind of line", source.path),
                };
                into.extend(words.map(str::to_owned));
            }
        }
    }
    verbs
}
