//! Programs that a test makes in order to run them.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Copies the program `from` to `to`, which may be executed at once.
///
/// Another process copies: if this one had `to` open for writing, a child that another thread forks meanwhile would hold
/// the descriptor until its own exec, and until then whoever executes `to` is told ETXTBSY (execve(2)).
///
/// # Panics
///
/// If it cannot be copied.
pub fn copy_program(from: &Path, to: &Path) {
    let done = Command::new("cp").arg("--").arg(from).arg(to).status().expect("cp runs");
    assert!(done.success(), "{} is not copied to {}", from.display(), to.display());
}

/// Makes the executable script `path` of `text`, which may be executed at once, by its owner alone (see [`copy_program`]).
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
