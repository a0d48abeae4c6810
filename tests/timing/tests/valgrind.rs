//! Valgrind watches the engine's kernels over marked secrets, at the levels that it knows: portable and AVX2.

use engine::{Level, level_environment};
use std::process::{Command, Output};

/// No report reaches beyond this many frames.
const FRAMES: &str = "--num-callers=16";
const FOUND: i32 = 99;
const LEVEL_MISSING: i32 = 3;

fn watched(level: Level, more: &[&str]) -> Output {
    let mut command = Command::new("valgrind");
    command.args(["-q", "--error-limit=no", FRAMES]).arg(format!("--error-exitcode={FOUND}"));
    command.arg(env!("CARGO_BIN_EXE_marked_secrets")).arg(level.name()).args(more);
    if let Some((name, value)) = level_environment(level) {
        command.env(name, value);
    }
    command.output().expect("valgrind starts (apt-get install valgrind)")
}

fn no_secret_steers(level: Level) {
    let output = watched(level, &[]);
    let told = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(LEVEL_MISSING) {
        println!("not watched: {told}");
        return;
    }
    let at = told.find("==").unwrap_or(told.len());
    let before = told[..at].lines().next_back().unwrap_or_default();
    let reports: Vec<_> = told[at..].lines().take(60).collect();
    assert!(output.status.success(), "{level}: after \"{before}\":\n{}", reports.join("\n"));
    assert!(told.contains("all operations ran"), "it ended early: {told}");
}

#[test]
fn the_watch_sees_a_branch_on_a_secret() {
    assert_eq!(watched(Level::Portable, &["leak"]).status.code(), Some(FOUND));
}

#[test]
fn no_secret_steers_at_the_portable_level() {
    no_secret_steers(Level::Portable);
}

#[test]
fn no_secret_steers_at_avx2() {
    no_secret_steers(Level::Avx2);
}
