//! Mounts that only a test sees.

use nix::sched::{CloneFlags, unshare};
use std::process::Command;
use std::thread;

/// Runs something where what is mounted is seen by nobody else, and gone with it.
pub fn with_own_mounts(run: impl FnOnce() + Send) {
    thread::scope(|scope| {
        let inside = scope.spawn(|| {
            unshare(CloneFlags::CLONE_NEWNS).unwrap();
            mount(&["--make-rprivate", "/"]);
            run();
        });
        inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

pub fn mount(words: &[&str]) {
    let output = Command::new("mount").args(words).output().unwrap();
    assert!(output.status.success(), "mount {words:?}: {}", String::from_utf8_lossy(&output.stderr));
}
