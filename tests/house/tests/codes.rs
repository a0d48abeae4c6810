//! Each pair of return and reason code has one meaning.

use std::collections::BTreeMap;
use std::path::Path;

#[test]
fn no_two_errors_share_their_codes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/wire/src/code.rs");
    let text = std::fs::read_to_string(&path).unwrap();
    let list = text.rsplit_once("\ncodes! {").unwrap().1;
    let mut seen = BTreeMap::new();
    for line in list.lines().filter(|line| line.contains(" / ")) {
        let (name, rest) = line.split_once(" = ").unwrap();
        let codes = rest.split(',').next().unwrap().trim();
        let other = seen.insert(codes.to_owned(), name.trim().to_owned());
        assert_eq!(other, None, "{codes} is also {}", name.trim());
    }
    assert!(seen.len() > 30, "{} codes were read", seen.len());
}
