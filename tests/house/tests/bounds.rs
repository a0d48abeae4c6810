//! No test waits without a bound: Cargo starts every program of tests by `scripts/bounded`, which ends one that does
//! not end, and all that it started. And no program ends where the system has no more threads for it.

use house_tests::{root, sources};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A shell script as Cargo names a program of tests.
fn program(name: &str, text: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("bounds/deps");
    fs::create_dir_all(&folder).unwrap();
    let (draft, path) = (folder.join(format!("{name}.draft")), folder.join(name));
    fs::write(&draft, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&draft, Permissions::from_mode(0o700)).unwrap();
    // Another process copies: no child of this one has it open for writing.
    assert!(Command::new("cp").arg(&draft).arg(&path).status().unwrap().success());
    path
}

fn bounded(program: &PathBuf, seconds: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(root().join("scripts/bounded"));
    command.arg(program).args(arguments).env("CRYPTAND_TEST_SECONDS", seconds);
    // This program of tests was itself started so.
    command.env_remove("CRYPTAND_TEST_RUN");
    command.output().unwrap()
}

/// Whether a process ends in a time that is longer than it takes to find it.
fn ends(pid: &str) -> bool {
    let begin = Instant::now();
    let state = || fs::read_to_string(format!("/proc/{pid}/stat"));
    while state().is_ok_and(|stat| !stat.contains(") Z ")) {
        if begin.elapsed() > Duration::from_secs(60) {
            return false;
        }
        sleep(Duration::from_millis(50));
    }
    true
}

#[test]
fn cargo_starts_tests_with_a_bound() {
    let settings: toml::Table =
        fs::read_to_string(root().join(".cargo/config.toml")).unwrap().parse().unwrap();
    let runner = settings["target"]["cfg(target_os = \"linux\")"]["runner"].as_str();
    assert_eq!(runner, Some("scripts/bounded"));
}

#[test]
fn a_test_that_does_not_end_is_ended_with_all_that_it_started() {
    // A session of its own, as a daemon has.
    let program = program("waits-1", "setsid sleep 1000 >/dev/null 2>&1 &\necho $!\nsleep 1000");
    let output = bounded(&program, "1", &[]);
    assert_eq!(output.status.signal(), Some(9), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("waits-1 has not ended in 1 s (CRYPTAND_TEST_SECONDS)"), "{said}");
    let pid = String::from_utf8_lossy(&output.stdout);
    assert!(ends(pid.trim()), "process {pid} is left");
}

#[test]
fn what_a_test_leaves_is_ended_and_its_status_stays() {
    let program = program("leaves-1", "setsid sleep 1000 >/dev/null 2>&1 &\necho $!\nexit 7");
    let output = bounded(&program, "600", &[]);
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    let (said, pid) = (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
    assert!(said.contains("leaves-1 has left processes") && said.contains("(sleep)"), "{said}");
    assert!(ends(pid.trim()), "process {pid} is left");
}

#[test]
fn benches_are_started_as_they_are() {
    let program = program("bench-1", "env");
    for arguments in [&["--bench"][..], &["--list"]] {
        let output = bounded(&program, "1", arguments);
        assert!(!String::from_utf8_lossy(&output.stdout).contains("CRYPTAND_TEST_RUN"), "{output:?}");
    }
    let tested = bounded(&program, "600", &["some test"]);
    assert!(String::from_utf8_lossy(&tested.stdout).contains("CRYPTAND_TEST_RUN="), "{tested:?}");
}

/// What `scripts/hostile` takes away is away, for its command alone, whose exit status it has.
#[test]
fn what_others_have_taken_is_taken() {
    let script = root().join("scripts/hostile");
    let run = |conditions: &[&str], command: &str| {
        let mut hostile = Command::new(&script);
        hostile.args(conditions).args(["--", "sh", "-c", command]).output().unwrap()
    };
    let tried = run(&["inotify", "tmp"], "true");
    let is_lacking = String::from_utf8_lossy(&tried.stderr).contains("a namespace of users and mounts");
    if needs::did_without(needs::Need::Namespaces, is_lacking) {
        return;
    }
    let said = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let limits = "ulimit -n; ulimit -l; cat /proc/sys/user/max_inotify_instances; exit 7";
    let output = run(&["inotify", "descriptors", "memory"], limits);
    assert_eq!((said(&output), output.status.code()), ("960\n64\n0\n".to_owned(), Some(7)), "{output:?}");
    let output = run(&["tmp"], "echo x >/tmp/file || echo full; echo x >$TMPDIR/file && cat $TMPDIR/file");
    assert_eq!(said(&output), "full\nx\n", "{output:?}");
    let output = run(&["user"], "id -u; grep CapEff /proc/self/status");
    assert_eq!(said(&output), "1000\nCapEff:\t0000000000000000\n", "{output:?}");
    let output = run(&["everything"], "true");
    assert!(!output.status.success() && said(&output).is_empty(), "{output:?}");
}

/// What only measures, or is only run by hand, may panic there.
const MEASURING: [&str; 4] = ["crates/lab/", "crates/peers/", "crates/traffic/", "crates/sim/"];

/// `spawn` of the standard library panics where no thread can be had; a `Builder` says so.
#[test]
fn programs_say_that_no_thread_can_be_had() {
    let panics = |line: &str| line.contains("thread::spawn(") || line.contains("scope.spawn(");
    let mut wrong = Vec::new();
    for source in sources("crates", "rs") {
        let is_product = source.path.contains("/src/") && !source.path.contains("/tests");
        if !is_product || MEASURING.iter().any(|room| source.path.starts_with(room)) {
            continue;
        }
        wrong.extend(
            source.code().filter(|(_, line)| panics(line)).map(|(at, _)| format!("{}:{at}", source.path)),
        );
    }
    assert!(wrong.is_empty(), "threads that are started without a Builder: {wrong:?}");
}
