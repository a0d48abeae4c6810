//! What `--version` says: the version, the revision of the sources, and the level of this machine.

use engine::{Engine, Options};
use home::program_beside;
use std::fs;

/// The file beside the programs with the revision of their sources: `make build` writes it, and it is installed.
const FILE: &str = "revision";

/// Such as `0.1.0 (revision 1a2b3c4d5e6f, level avx2)`.
pub fn text() -> String {
    let path = std::env::current_exe().ok().and_then(|own| program_beside(&own, FILE));
    let found = path.and_then(|path| fs::read_to_string(path).ok());
    let revision = found.as_deref().and_then(revision).unwrap_or("unknown");
    let level = Engine::new(Options::default()).map_or("unknown", |engine| engine.level().name());
    format!("{} (revision {revision}, level {level})", env!("CARGO_PKG_VERSION"))
}

/// A revision of git, with `+` behind it where files differed.
fn revision(text: &str) -> Option<&str> {
    let text = text.trim_end();
    let digits = text.strip_suffix('+').unwrap_or(text);
    let is_one = (7..=64).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_one.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_revisions_are_shown() {
        assert_eq!(revision("1a2b3c4d5e6f\n"), Some("1a2b3c4d5e6f"));
        assert_eq!(revision("1a2b3c4d5e6f+\n"), Some("1a2b3c4d5e6f+"));
        for other in ["", "\n", "1a2b", "unknown", "1a2b3c4d\u{1b}[31m", "1a2b3c4 1a2b3c4"] {
            assert_eq!(revision(other), None, "{other:?}");
        }
    }
}
