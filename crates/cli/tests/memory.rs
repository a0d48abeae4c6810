//! What `cryptand status` says of secret memory and Landlock, where the limit of locked memory is low.

use serde_json::Value;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const CAP_IPC_LOCK: libc::c_ulong = 14;

fn cryptand(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cryptand"));
    command.arg("--home").arg(home).args(arguments).env_remove("CRYPTAND_HOME").stdin(Stdio::null());
    command
}

/// Holds a command, and all that it starts, to a limit of locked memory, root included.
fn limited(mut command: Command, bytes: u64) -> Command {
    // SAFETY: between fork and exec only system calls are made, which are async-signal-safe and touch no memory.
    unsafe {
        command.pre_exec(move || {
            let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
            // Root locks beyond every limit by this capability; who is not root has none to drop.
            let _ = libc::prctl(libc::PR_CAPBSET_DROP, CAP_IPC_LOCK);
            match libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const limit) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
    }
    command
}

fn done(mut command: Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

#[test]
fn status_names_what_is_not_locked_and_what_to_do() {
    let base = tempfile::tempdir().unwrap();
    let home = base.path().join("home");
    done(cryptand(&home, &["init", "--insecure-dev", "--seed", "7"]));
    for (limit, pages, says) in
        [(64 << 10, "unlocked", "none of its"), (6 << 20, "", "its secret memory is 6.0 MiB")]
    {
        done(limited(cryptand(&home, &["serve", "--background"]), limit));
        let shown = done(cryptand(&home, &["status"]));
        let status: Value = serde_json::from_str(&done(cryptand(&home, &["status", "--json"]))).unwrap();
        done(cryptand(&home, &["stop"]));
        for who in ["card 0", "the keeper"] {
            let mut lines = shown.lines().filter(|line| line.starts_with(who));
            assert!(
                lines.any(|line| line.contains(says) && line.contains("RLIMIT_MEMLOCK")),
                "{who}: {shown}"
            );
            assert!(
                shown.contains(&format!("{who} runs under Landlock, ABI version "))
                    || shown.contains(&format!("{who} runs without Landlock")),
                "{shown}"
            );
        }
        for isolation in [&status["cards"][0]["isolation"], &status["keeper_isolation"]] {
            let memory = &isolation["memory"];
            assert_eq!(memory["limit_bytes"], limit, "{isolation}");
            assert_eq!(memory["pages"] == "unlocked", pages == "unlocked", "{isolation}");
            assert!(isolation["landlock_abi"].is_null() || isolation["landlock_abi"].as_u64() >= Some(1));
        }
    }
}
