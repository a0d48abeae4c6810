//! What stays in the lowest layer, and what no layer touches.

use std::fs;
use std::path::{Path, PathBuf};

fn files(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    fs::read_dir(path).unwrap().flat_map(|entry| files(&entry.unwrap().path())).collect()
}

/// What of a file is built not for tests only: tests, at its bottom or in a `tests.rs`, may use the whole crate.
fn code(file: &Path) -> String {
    if file.ends_with("tests.rs") {
        return String::new();
    }
    let text = fs::read_to_string(file).unwrap();
    text.split("#[cfg(test)]\nmod tests").next().unwrap().to_owned()
}

/// What a layer may name is in the table of floors of the house tests.
#[test]
fn unsafe_code_and_the_library_stay_in_the_lowest_layer() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let is_low = |file: &PathBuf| file.starts_with(source.join("low")) || *file == source.join("low.rs");
    for file in files(&source).iter().filter(|file| !is_low(file)) {
        let code = code(file);
        let lines = code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
        for (at, line) in lines {
            for word in ["unsafe ", "aws_lc_sys"] {
                assert!(!line.contains(word), "{}:{}: {word} outside low", file.display(), at + 1);
            }
        }
    }
}

/// The crate does no I/O and reads neither clock nor environment.
#[test]
fn nothing_outside_is_touched() {
    for file in files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        let code = code(&file);
        for word in [
            "std::env",
            "std::fs",
            "std::io",
            "std::net",
            "std::process",
            "std::thread",
            "std::time",
            "println!",
        ] {
            assert!(!code.contains(word), "{} uses {word}", file.display());
        }
    }
}
