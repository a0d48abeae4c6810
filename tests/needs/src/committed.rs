//! Committed files that tests make of the code.

use std::path::Path;
use std::{env, fs};

/// Set in the environment, has tests write such files anew.
pub const BLESS: &str = "CRYPTAND_BLESS";

/// Whether tests write such files anew.
#[must_use]
pub fn is_blessed() -> bool {
    env::var_os(BLESS).is_some()
}

/// What writes a file anew, for messages: the tests that `cargo test` runs with these arguments.
#[must_use]
pub fn blessing(tests: &str) -> String {
    format!("{BLESS}=1 cargo test --release {tests}")
}

/// Compares a committed file with what a test has made of the code; where `CRYPTAND_BLESS` is set, writes it instead.
/// `tests` are the arguments of `cargo test` that run this test.
///
/// # Panics
///
/// If the two differ, with the file, the first line that does, and the command that writes it anew; or if the file
/// cannot be read or written.
pub fn assert_committed(path: &Path, made: &str, tests: &str) {
    let file = path.display();
    if is_blessed() {
        fs::write(path, made).unwrap_or_else(|error| panic!("{file}: {error}"));
        return;
    }
    let wrong = match fs::read_to_string(path) {
        Ok(committed) => difference(&committed, made),
        Err(error) => Some(error.to_string()),
    };
    if let Some(wrong) = wrong {
        panic!("{file}: {wrong}; `{}` writes it anew", blessing(tests));
    }
}

/// The first line in which two texts differ.
fn difference(committed: &str, made: &str) -> Option<String> {
    if committed == made {
        return None;
    }
    let (mut there, mut new) = (committed.split('\n'), made.split('\n'));
    let mut line = 1;
    loop {
        match (there.next(), new.next()) {
            (found, expected) if found == expected => line += 1,
            (Some(found), Some(expected)) => {
                return Some(format!("line {line} is {found:?}, and the code says {expected:?}"));
            }
            (Some(found), None) => {
                return Some(format!("line {line} is {found:?}, and the code has no such line"));
            }
            (None, expected) => {
                return Some(format!("line {line} is missing: {:?}", expected.unwrap_or_default()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_differs_is_named() {
        let told = |committed, made| difference(committed, made).unwrap_or_default();
        assert_eq!(told("a\nb\n", "a\nb\n"), "");
        assert_eq!(told("a\nb\nc\n", "a\nB\nC\n"), r#"line 2 is "b", and the code says "B""#);
        assert_eq!(told("a\nb", "a"), r#"line 2 is "b", and the code has no such line"#);
        assert_eq!(told("a", "a\nb"), r#"line 2 is missing: "b""#);
        // Ends of lines count.
        assert_eq!(told("a\n", "a"), r#"line 2 is "", and the code has no such line"#);
        assert_eq!(told("a\r\n", "a\n"), r#"line 1 is "a\r", and the code says "a""#);
    }

    #[test]
    fn a_difference_names_the_file_and_the_command() {
        if is_blessed() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.txt");
        fs::write(&path, "as made\n").unwrap();
        assert_committed(&path, "as made\n", "-p needs");
        let failed =
            std::panic::catch_unwind(|| assert_committed(&path, "otherwise\n", "-p needs")).unwrap_err();
        let message = failed.downcast::<String>().unwrap();
        let command = "`CRYPTAND_BLESS=1 cargo test --release -p needs` writes it anew";
        assert!(message.contains("page.txt: line 1") && message.ends_with(command), "{message}");
    }
}
