//! Command lines as other programs write them, and those that are refused.

use cryptand_sop::words::{Words, read};
use std::ffi::OsString;

/// The draft's exit codes: a missing argument, an unknown option or an unknown value of one, text that is not UTF-8.
const MISSING_ARG: u8 = 19;
const UNSUPPORTED_OPTION: u8 = 37;
const EXPECTED_TEXT: u8 = 53;

fn read_line(line: &str) -> Words {
    read(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
}

#[test]
fn what_is_known_stays_as_it_is() {
    for line in [
        "generate-key --no-armor --with-key-password pw Alice",
        "--debug verify --not-before 2020-01-01 --not-after=now sig cert",
        "decrypt --verify-not-before now key",
        "sign --as=text key",
        "inline-sign --as clearsigned key",
        "encrypt -- --armor -",
        "inline-detach --signatures-out=x",
        "verify --help",
        "--help",
        "-h",
        "frobnicate",
    ] {
        assert_eq!(read_line(line), Words::Plain, "{line}");
    }
}

#[test]
fn other_programs_words_are_taken() {
    for (line, otherwise) in [
        ("encrypt --armor cert", "encrypt cert"),
        ("verify --not-before - --not-after=- sig cert", "verify sig cert"),
        ("decrypt --verify-not-before=- --verify-not-after - key", "decrypt key"),
        ("sign --armor --with-key-password --armor key", "sign --with-key-password --armor key"),
    ] {
        let words = otherwise.split_whitespace().map(OsString::from).collect();
        assert_eq!(read_line(line), Words::Otherwise(words), "{line}");
    }
}

#[test]
fn what_is_missing_or_unknown_has_its_number() {
    for (line, number) in [
        ("", MISSING_ARG),
        ("--debug", MISSING_ARG),
        ("verify", MISSING_ARG),
        ("verify --not-after now", MISSING_ARG),
        ("list-profiles", MISSING_ARG),
        ("inline-detach --no-armor", MISSING_ARG),
        ("sign --as clearsigned key", UNSUPPORTED_OPTION),
        ("encrypt --as=mime cert", UNSUPPORTED_OPTION),
        ("verify --not-before=2020-13-45 sig cert", UNSUPPORTED_OPTION),
        ("validate-userid --validate-at yesterday Alice cert", UNSUPPORTED_OPTION),
        ("armor --label=frob", UNSUPPORTED_OPTION),
    ] {
        assert!(matches!(read_line(line), Words::Refused { code, .. } if code == number), "{line}");
    }
}

#[test]
fn a_user_id_is_text() {
    use std::os::unix::ffi::OsStringExt;
    let other = OsString::from_vec(b"A\xff".to_vec());
    for words in [&["generate-key"][..], &["certify-userid", "--userid"]] {
        let typed: Vec<_> = words.iter().map(OsString::from).chain([other.clone()]).collect();
        assert!(matches!(read(&typed), Words::Refused { code: EXPECTED_TEXT, .. }), "{words:?}");
    }
    let file = ["sign".into(), other];
    assert_eq!(read(&file), Words::Plain);
}
