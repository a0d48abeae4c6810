//! The ways to name a key: an address, a fingerprint, a key ID, a part of a user ID, or a file.

use std::path::PathBuf;

/// The kinds of names that a command line gives for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// A file of certificates: a name with a `/`.
    File(PathBuf),
    /// A fingerprint of a primary key or a subkey: 40 or 64 hexadecimal digits, lower case here.
    Fingerprint(String),
    /// A key ID: 16 hexadecimal digits, lower case here.
    KeyId(String),
    /// An address: `alice@example.org` or `<alice@example.org>`, lower case here.
    Address(String),
    /// A part of a user ID, lower case here.
    Part(String),
    /// A key ID of 8 hexadecimal digits: refused, since keys with a given ID are easily made.
    ShortKeyId,
    /// A name that is too short to look for.
    Vague,
}

/// Shortest part of a user ID, in bytes.
const PART_BYTES_MIN: usize = 2;

impl Who {
    /// Reads a name as it was typed.
    pub fn parse(text: &str) -> Self {
        if text.contains('/') {
            return Self::File(PathBuf::from(text));
        }
        let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
        let digits: String = digits.chars().filter(|c| !matches!(c, ' ' | ':')).collect();
        if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            match digits.len() {
                40 | 64 => return Self::Fingerprint(digits.to_lowercase()),
                16 => return Self::KeyId(digits.to_lowercase()),
                8 => return Self::ShortKeyId,
                _ => {}
            }
        }
        let text = text.trim();
        let bare = text.strip_prefix('<').and_then(|text| text.strip_suffix('>')).unwrap_or(text);
        if bare.contains('@') && !bare.contains(['<', '>', ' ']) {
            return Self::Address(bare.to_lowercase());
        }
        if text.len() < PART_BYTES_MIN { Self::Vague } else { Self::Part(text.to_lowercase()) }
    }
}

/// The address of a user ID, in lower case: between its last angle brackets, or all of it if it is
/// one word with an `@`. None if there is no address.
pub fn address(user_id: &str) -> Option<String> {
    let between =
        user_id.rsplit_once('<').and_then(|(_, rest)| rest.split_once('>')).map(|(address, _)| address);
    let bare = (!user_id.contains([' ', '<', '>'])).then_some(user_id);
    between.or(bare).filter(|address| address.contains('@')).map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_of_seven_kinds() {
        let v4 = "D1A66E1A23B182C9980F788CFBFCC82A015E7330";
        assert_eq!(Who::parse(v4), Who::Fingerprint(v4.to_lowercase()));
        assert_eq!(Who::parse(&format!("0x{v4}")), Who::Fingerprint(v4.to_lowercase()));
        assert_eq!(
            Who::parse("D1A6 6E1A 23B1 82C9 980F  788C FBFC C82A 015E 7330"),
            Who::Fingerprint(v4.to_lowercase())
        );
        assert_eq!(Who::parse(&"ab".repeat(32)), Who::Fingerprint("ab".repeat(32)));
        assert_eq!(Who::parse("FBFCC82A015E7330"), Who::KeyId("fbfcc82a015e7330".to_owned()));
        assert_eq!(Who::parse("015E7330"), Who::ShortKeyId);
        assert_eq!(Who::parse("x"), Who::Vague);
        assert_eq!(Who::parse("Alice@Example.org"), Who::Address("alice@example.org".to_owned()));
        assert_eq!(Who::parse("<alice@example.org>"), Who::Address("alice@example.org".to_owned()));
        assert_eq!(Who::parse("Alice Lovelace"), Who::Part("alice lovelace".to_owned()));
        assert_eq!(Who::parse("./alice.asc"), Who::File("./alice.asc".into()));
        assert_eq!(Who::parse(""), Who::Vague);
        assert_eq!(Who::parse("é"), Who::Part("é".to_owned()));
    }

    #[test]
    fn an_address_is_what_stands_in_the_last_brackets() {
        let cases = [
            ("Alice <Alice@example.org>", Some("alice@example.org")),
            ("alice@example.org", Some("alice@example.org")),
            ("<alice@example.org>", Some("alice@example.org")),
            // A user who puts another's address into the comment does not get that user's mail.
            ("Mallory <alice@example.org> <mallory@example.net>", Some("mallory@example.net")),
            ("alice@example.org Mallory", None),
            ("Alice", None),
            ("Alice <alice>", None),
        ];
        for (user_id, expected) in cases {
            assert_eq!(address(user_id).as_deref(), expected, "{user_id}");
        }
    }
}
