//! The layers look down only: what a file of each layer may name of this crate is written here, and
//! anything else fails.

use std::fs;
use std::path::{Path, PathBuf};

/// Files (or folders with the files of their names) under `src`, and the modules of this crate that they may use.
const ALLOWED: &[(&str, &[&str])] = &[
    ("low", &["low"]),
    ("algorithm.rs", &[]),
    ("error.rs", &["algorithm"]),
    ("secret.rs", &["low"]),
    ("level.rs", &["low"]),
    ("mid", &["algorithm", "error", "low", "mid", "secret"]),
    ("high", &["algorithm", "error", "high", "low", "mid", "secret"]),
    ("engine.rs", &["algorithm", "error", "high", "level", "low", "mid", "secret"]),
];

fn files(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    fs::read_dir(path).unwrap().flat_map(|entry| files(&entry.unwrap().path())).collect()
}

fn of_layer(source: &Path, layer: &str) -> Vec<PathBuf> {
    let path = source.join(layer);
    let head = path.is_dir().then(|| path.with_extension("rs"));
    head.into_iter().chain(files(&path)).collect()
}

/// What of a file is built not for tests only: tests, at its bottom or in a `tests.rs`, may use the whole crate.
fn code(file: &Path) -> String {
    if file.ends_with("tests.rs") {
        return String::new();
    }
    let text = fs::read_to_string(file).unwrap();
    text.split("#[cfg(test)]\nmod tests").next().unwrap().to_owned()
}

#[test]
fn each_layer_uses_only_those_below() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut checked = vec![source.join("lib.rs")];
    for (layer, allowed) in ALLOWED {
        for file in of_layer(&source, layer) {
            for (at, line) in
                code(&file).lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"))
            {
                for path in line.split("crate::").skip(1) {
                    let module = path.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
                    assert!(
                        allowed.contains(&module),
                        "{}:{}: {layer} may not use {module}",
                        file.display(),
                        at + 1
                    );
                }
                let is_low = *layer == "low";
                assert!(
                    is_low || !line.contains("unsafe "),
                    "{}:{}: unsafe outside low",
                    file.display(),
                    at + 1
                );
                assert!(
                    is_low || !line.contains("aws_lc_sys"),
                    "{}:{}: the library outside low",
                    file.display(),
                    at + 1
                );
            }
            checked.push(file);
        }
    }
    let mut all = files(&source);
    all.sort();
    checked.sort();
    assert_eq!(checked, all, "every file stands in a layer");
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
