//! A reader of tokens in Python, written from the published layouts and docs/reference/tokens.md, takes tokens of every
//! kind that verbs make.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use twin_tests::Maker;

/// Tokens of each kind: with `CRYPTAND_TEST_ALL` those of `make test-all`.
fn each() -> usize {
    if std::env::var_os("CRYPTAND_TEST_ALL").is_some() { 10_000 } else { 300 }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What the reader says of these lines.
fn read(lines: &[String]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens");
    let mut file = File::create(&path).unwrap();
    for line in lines {
        writeln!(file, "{line}").unwrap();
    }
    let python = root().join("target/reader/bin/python");
    assert!(python.exists(), "{}: `scripts/need test` makes it", python.display());
    Command::new(python)
        .args(["-m", "reader"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(File::open(&path).unwrap())
        .output()
        .unwrap()
}

#[test]
fn every_token_is_read_and_unwrapped() {
    let seed = 0x746F_6B65_6E73;
    let mut maker = Maker::new(seed);
    let lines = [vec![maker.keys()], maker.lines(each())].concat();
    let output = read(&lines);
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "seed {seed:#x}: {error}");
    let counts: serde_json::Value = serde_json::from_str(&out).unwrap();
    for kind in ["des", "aes", "variable", "rsa", "ecc"] {
        assert_eq!(counts[kind], each(), "{kind}: {counts}");
    }
    assert!(counts["refused"].as_u64().unwrap() > each() as u64 / 10, "{counts}");
}

#[test]
fn a_token_that_holds_something_else_is_told() {
    let mut maker = Maker::new(7);
    let keys = maker.keys();
    for line in maker.lines(2) {
        let mut request: serde_json::Value = serde_json::from_str(&line).unwrap();
        if request["refused"].is_null() {
            request["expected"] = serde_json::json!({ "kind": "another" });
        } else {
            request = serde_json::json!({ "token": request["token"], "expected": {} });
        }
        let output = read(&[keys.clone(), request.to_string()]);
        assert!(!output.status.success(), "{request}");
    }
    // Under other master keys nothing opens.
    let other = Maker::new(8).keys();
    let (token, _) = (maker.lines(1), ());
    for line in token.iter().filter(|line| line.contains("\"bound\":true")) {
        assert!(!read(&[other.clone(), line.clone()]).status.success(), "{line}");
    }
}
