//! Requests by position. Callers ask verbs by the types that are made from their rows, `wire::verb::NAME::Ask`, which
//! fill keywords, lengths, counts and room.

use house_tests::sources;
use std::collections::BTreeSet;

/// Files that fill arguments by position, with the reason.
const BY_POSITION: &[(&str, &str)] = &[
    ("crates/capi/src/fields.rs", "any verb, from the memory of a caller in C"),
    ("crates/card/src/admit.rs", "every key of every verb"),
    ("crates/cca/src/key/tests.rs", "a call without a request"),
    ("crates/cca/src/processor.rs", "requests of any verb, as a card takes them"),
    ("crates/cca/tests/pka/rsa/malformed.rs", "anything in any field"),
    ("crates/cli/src/commands/payment/call.rs", "any verb of payments, with keywords for a card to refuse"),
    ("crates/cli/src/parameters.rs", "any verb, from JSON"),
    ("crates/daemon/src/verbs.rs", "answers of any verb of the daemon"),
    ("crates/daemon/src/verbs/facility_query.rs", "wrong keywords, and negative lengths"),
    ("crates/daemon/src/verbs/tests.rs", "every verb of key records"),
    ("crates/facility/src/control/records.rs", "a token of another length, for the daemon to refuse"),
    ("crates/facility/src/reply.rs", "replies of any verb"),
    ("crates/facility/src/request/memory.rs", "one argument of any verb, and lengths without texts"),
    ("crates/lab/src/load/requests.rs", "what a verb's type wrote, set again for each call that is measured"),
    ("crates/python/src/values.rs", "any verb, from a caller in Python"),
    ("crates/wire/src/frame/arguments.rs", "the type itself"),
    ("crates/wire/src/frame/walk.rs", "frames, below the types of verbs"),
    ("crates/wire/src/verb/answer.rs", "rows of the test's own"),
    ("crates/wire/src/verb/ask.rs", "the types themselves"),
    ("crates/wire/tests/typed.rs", "the reading of requests that `Ask` did not write"),
    ("fuzz/targets/src/pins.rs", "fuzzed requests"),
    ("fuzz/targets/src/verbs.rs", "fuzzed requests"),
    ("tests/requests/src/pka.rs", "keywords as text, wrong ones among them"),
    ("tests/requests/src/support.rs", "any verb, right and wrong by one"),
    ("tests/system/tests/input.rs", "noise for every verb"),
    ("tests/system/tests/tenants/calls.rs", "every verb with a key, by the names of its parameters"),
    ("tests/table/tests/rows.rs", "every row of the table"),
    ("tests/twins/src/lib.rs", "any verb that makes a token"),
];

#[test]
fn verbs_are_asked_by_their_own_types() {
    // In two halves: this file fills none.
    let by_position = concat!("Arguments::", "new(");
    let sources = ["crates", "fuzz", "tests"].map(|folder| sources(folder, "rs"));
    let found = sources.iter().flatten().filter(|source| source.text.contains(by_position));
    let found: BTreeSet<&str> = found.map(|source| source.path.as_str()).collect();
    let named: BTreeSet<&str> = BY_POSITION.iter().map(|(path, _)| *path).collect();
    let further: Vec<_> = found.difference(&named).collect();
    assert!(
        further.is_empty(),
        "{further:?}: `Ask` fills lengths and counts; what it cannot has its reason here"
    );
    let former: Vec<_> = named.difference(&found).collect();
    assert!(former.is_empty(), "{former:?}: nothing is filled by position there");
}
