//! Limits of the system that a test takes away from a program.

use crate::{Need, did_without};
use std::process::{Command, Stdio};

/// A command that starts the program given as its next argument as one whose user may have no inotify instance; none where the
/// machine lacks the namespace that this takes. The program has the same process id, and its user is root to it.
#[must_use]
pub fn without_inotify() -> Option<Command> {
    let command = || {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "sh", "-c"]);
        command.args(["echo 0 >/proc/sys/user/max_inotify_instances && exec \"$@\"", "sh"]);
        command
    };
    let tried = command().arg("true").stderr(Stdio::null()).status();
    let is_lacking = !tried.is_ok_and(|status| status.success());
    (!did_without(Need::Namespaces, is_lacking)).then(command)
}

/// Whether this test's own user may have one more inotify instance.
#[must_use]
pub fn has_inotify() -> bool {
    rustix::fs::inotify::init(rustix::fs::inotify::CreateFlags::CLOEXEC).is_ok()
}
