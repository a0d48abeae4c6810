//! The keyword groups of the verb table take and refuse what the verbs do.

use verb_requests::support::*;
use wire::bounds::KEYWORDS_MAX;
use wire::point::PointSet;
use wire::verb::{
    Direction, Entry, Executor, Group, Kind, Need, TABLE, Verb, control_vector_generate, key_test, key_test2,
    key_token_build, key_token_build2, restrict_key_attribute, symmetric_algorithm_encipher,
};
use wire::{Codes, code};

/// The control vector of a double-length DATA key.
const DATA_VECTOR: [u8; 16] = [0, 0, 0x7D, 0, 3, 0x41, 0, 0, 0, 0, 0x7D, 0, 3, 0x21, 0, 0];

/// Refusals for keywords alone.
const SAYS_NO: [Codes; 5] = [
    code::KEYWORD,
    code::KEYWORD_COMBINATION,
    code::KEYWORD_COUNT,
    code::WRAPPING_TYPE,
    code::REGISTER_STATE,
];

/// A request whose other arguments are such that keywords decide first.
fn plain(entry: &Entry, token: &[u8]) -> Request {
    let mut request = Request::new(entry.verb);
    for (position, parameter) in entry.parameters.iter().enumerate() {
        if matches!(parameter.kind, Kind::Key { .. }) && parameter.direction != Direction::Out {
            request = request.bytes(position, token);
        }
    }
    use key_test2::{VERIFICATION_PATTERN, VERIFICATION_PATTERN_LENGTH};
    match entry.verb {
        Verb::KeyTokenBuild => request
            .bytes(key_token_build::KEY_TYPE, "DATA    ")
            .bytes(key_token_build::CONTROL_VECTOR, DATA_VECTOR)
            .bytes(key_token_build::KEY_VALUE, [1; 32]),
        // What else a type needs is told with codes of its own.
        Verb::KeyTokenBuild2 => request.integer(key_token_build2::TARGET_KEY_TOKEN_LENGTH, 2500),
        Verb::SymmetricAlgorithmEncipher | Verb::SymmetricAlgorithmDecipher => {
            request.integer(symmetric_algorithm_encipher::BLOCK_SIZE, 16)
        }
        // What no role permits that does not name it is told before what keywords say together.
        Verb::EcDiffieHellman | Verb::Tr31KeyExport | Verb::Tr31KeyImport => {
            request.points(&PointSet::EVERYTHING)
        }
        Verb::ControlVectorGenerate => request.bytes(control_vector_generate::KEY_TYPE, "DATA    "),
        Verb::RestrictKeyAttribute => {
            use restrict_key_attribute::{KEK_KEY_IDENTIFIER_LENGTH, KEY_IDENTIFIER_LENGTH};
            let length = token.len() as i64;
            request.integer(KEY_IDENTIFIER_LENGTH, length).integer(KEK_KEY_IDENTIFIER_LENGTH, length)
        }
        Verb::KeyTest2 => request.counted(VERIFICATION_PATTERN_LENGTH, VERIFICATION_PATTERN, [0; 16]),
        Verb::KeyTest => request.bytes(key_test::VALUE_1, [0; 8]).bytes(key_test::VALUE_2, [0; 8]),
        _ => request,
    }
}

/// Every choice of none or one keyword of each group.
fn choices(groups: &[Group]) -> Vec<Vec<&'static str>> {
    groups.iter().fold(vec![Vec::new()], |before, group| {
        let with = |choice: &Vec<&'static str>, text| choice.iter().copied().chain([text]).collect();
        let further = before.iter().flat_map(|choice| {
            group.words.iter().map(|keyword| with(choice, keyword.text)).collect::<Vec<_>>()
        });
        let further: Vec<_> = further.collect();
        before.into_iter().chain(further).collect()
    })
}

fn is_refused(entry: &Entry, words: &[&str]) -> bool {
    let words: Vec<u64> = words.iter().map(|text| wire::point::keywords::word(text)).collect();
    entry.keywords.check(&words).is_err()
}

fn with_keywords() -> impl Iterator<Item = &'static Entry> {
    let takes = |entry: &&Entry| {
        let has_array = entry.parameters.iter().any(|parameter| {
            // One that only goes out takes no keywords.
            matches!(parameter.kind, Kind::Keywords(_)) && parameter.direction != Direction::Out
        });
        has_array && entry.executor != Executor::Daemon
    };
    TABLE.iter().filter(takes)
}

#[test]
fn the_table_takes_and_refuses_what_the_verbs_do() {
    let mut processor = processor();
    let token = imported(&mut processor, "DES", &[0x13; 8]);
    let (mut taken, mut refused, mut differing) = (0, 0, Vec::new());
    for entry in with_keywords() {
        for words in choices(entry.keywords.groups) {
            // In a role that is asked nothing: the table says what goes together, a role what of it is permitted.
            let request = plain(entry, &token).rules(&words).points(&PointSet::EVERYTHING);
            let codes = request.run(&mut processor).codes;
            let says_no = SAYS_NO.contains(&codes);
            // What the algorithm of a token forbids, the token has to be read for.
            let by_token = entry.verb == Verb::KeyTest
                && codes == code::KEYWORD_COMBINATION
                && (words.contains(&"TOKEN")
                    || entry.keywords.groups[1].words.iter().all(|w| !words.contains(&w.text)));
            let expected = is_refused(entry, &words);
            // A length that the algorithm does not have is told before what the keywords say together.
            let by_length = expected && codes == code::KEY_LENGTH_KEYWORD;
            if !(says_no == expected || by_token || by_length) {
                differing.push(format!("{} {words:?}: {codes}, the table: {expected}", entry.name));
            }
            *if expected { &mut refused } else { &mut taken } += 1;
        }
    }
    differing.truncate(20);
    assert!(differing.is_empty(), "{differing:#?}");
    assert!(taken > 1_000 && refused > 1_000, "{taken} {refused}");
}

#[test]
fn doubled_unknown_and_too_many_keywords_are_refused_by_both() {
    let mut processor = processor();
    let token = imported(&mut processor, "DES", &[0x13; 8]);
    for entry in with_keywords() {
        let needed = entry.keywords.groups.iter().filter(|group| group.need == Need::Required);
        let needed: Vec<_> = needed.map(|group| group.words[0].text).collect();
        let mut tries: Vec<Vec<&str>> = vec![["NO-SUCH"; KEYWORDS_MAX + 1].to_vec()];
        tries.push(needed.iter().copied().chain(["no-such"]).collect());
        for group in entry.keywords.groups {
            let text = group.words[0].text;
            tries.push(needed.iter().copied().chain([text, text]).collect());
            tries.push(needed.iter().copied().filter(|word| *word != text).collect());
            tries.last_mut().unwrap().push("no-such");
        }
        tries.push(vec![needed.first().copied().unwrap_or("no-such"); entry.keywords.most.min(31) + 1]);
        for words in tries {
            let request = plain(entry, &token).rules(&words).points(&PointSet::EVERYTHING);
            let codes = request.run(&mut processor).codes;
            let says_no = SAYS_NO.contains(&codes);
            assert!(says_no, "{} {words:?}: {codes}", entry.name);
            // Words that the table leaves to other arguments are the verb's to refuse.
            assert!(entry.keywords.open || is_refused(entry, &words), "{} {words:?}", entry.name);
        }
    }
}
