//! Limits of the system that a test takes away from a program.

use crate::{Need, did_without};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::process::{Command, Stdio};

/// A command that starts the program given as its next argument as one whose user may have no inotify instance; none
/// where the machine lacks the namespace that this takes. The program has the same process id, and its user is root to
/// it.
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

/// Whether this process may have fewer descriptors than a test takes, which then ends without a judgement. Up to the
/// hard limit they are had.
///
/// # Panics
/// Where `CRYPTAND_TESTS_NEED` names descriptors.
pub fn lacks_descriptors(count: u64) -> bool {
    let most = getrlimit(Resource::Nofile).maximum;
    let is_raised = setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most }).is_ok();
    did_without(Need::Descriptors, !is_raised || most.is_some_and(|most| most < count))
}

/// Whether this test's own user may have one more inotify instance.
#[must_use]
pub fn has_inotify() -> bool {
    rustix::fs::inotify::init(rustix::fs::inotify::CreateFlags::CLOEXEC).is_ok()
}
