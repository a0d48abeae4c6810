//! Reads the project's own sources, for the tests that check its rules.
#![forbid(unsafe_code)]

pub mod exercised;
pub mod keywords;

use std::fs;
use std::path::{Path, PathBuf};

/// The root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace exists")
}

/// A source file: its path from the root, and its text.
pub struct Source {
    /// Path from the root of the workspace, with `/`.
    pub path: String,
    /// The whole text.
    pub text: String,
}

impl Source {
    /// The lines that are code: with their numbers, without comment lines, and without the unit
    /// tests at the bottom of the file. An item of tests on one line, such as `mod tests;`, ends nothing.
    pub fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines: Vec<_> = self.text.lines().collect();
        let opens_tests =
            |pair: &[&str]| pair[0].trim() == "#[cfg(test)]" && !pair[1].trim_end().ends_with(';');
        let end = lines.windows(2).position(opens_tests).unwrap_or(lines.len());
        let numbered = lines.into_iter().take(end).enumerate().map(|(index, line)| (index + 1, line));
        numbered.filter(|(_, line)| !line.trim_start().starts_with("//"))
    }
}

/// Every file with this extension below a folder of the workspace.
pub fn sources(folder: &str, extension: &str) -> Vec<Source> {
    let root = root();
    let mut found = Vec::new();
    collect(&root, &root.join(folder), extension, &mut found);
    assert!(!found.is_empty(), "{folder}: no .{extension} file; was the folder renamed?");
    found
}

fn collect(root: &Path, folder: &Path, extension: &str, found: &mut Vec<Source>) {
    let mut entries: Vec<_> = fs::read_dir(folder).expect("a folder of the workspace").flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() && name != "target" && name != ".git" {
            collect(root, &path, extension, found);
        } else if path.extension().is_some_and(|found| found == extension) {
            let text = fs::read_to_string(&path).expect("sources are UTF-8");
            let path = path.strip_prefix(root).expect("below the root").to_string_lossy().into_owned();
            found.push(Source { path, text });
        }
    }
}
