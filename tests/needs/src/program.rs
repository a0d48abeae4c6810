//! Programs that a test makes in order to run them.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// Longest path of a folder below which tests have homes with sockets, whose paths have 107 bytes at most (unix(7)).
const SHORT_BYTES: usize = 40;

/// A new folder of the caller's alone, removed when dropped, whose path is short enough for sockets in homes in it:
/// where `TMPDIR` says, or in `/tmp` if that is too long.
///
/// # Panics
///
/// If none can be made.
#[must_use]
pub fn short_folder() -> TempDir {
    let named = std::env::temp_dir();
    let at = if named.as_os_str().len() <= SHORT_BYTES { named } else { "/tmp".into() };
    let mut builder = tempfile::Builder::new();
    // gpg warns of homes that others may read.
    let made = builder.prefix("c").permissions(Permissions::from_mode(0o700)).tempdir_in(&at);
    made.unwrap_or_else(|error| panic!("a folder in {}: {error}", at.display()))
}

/// Copies the program `from` to `to`, which may be executed at once.
///
/// Another process copies: if this one had `to` open for writing, a child that another thread forks meanwhile would
/// hold the descriptor until its own exec, and until then whoever executes `to` is told ETXTBSY (execve(2)).
///
/// # Panics
///
/// If it cannot be copied.
pub fn copy_program(from: &Path, to: &Path) {
    let done = Command::new("cp").arg("--").arg(from).arg(to).status().expect("cp runs");
    assert!(done.success(), "{} is not copied to {}", from.display(), to.display());
}

/// Makes the executable script `path` of `text`, which may be executed at once, by its owner alone (see
/// [`copy_program`]).
///
/// # Panics
///
/// If it cannot be written.
pub fn write_script(path: &Path, text: &str) {
    let draft = path.with_extension("draft");
    fs::write(&draft, text).expect("a script is written");
    copy_program(&draft, path);
    fs::remove_file(&draft).expect("a script's draft goes");
    fs::set_permissions(path, Permissions::from_mode(0o700)).expect("a script is made executable");
}
