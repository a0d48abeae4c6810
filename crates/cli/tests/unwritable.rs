//! Output that cannot be written changes neither what a program does nor its exit code: full devices, closed
//! descriptors, and pipes that nobody reads.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Every program that is installed.
const PROGRAMS: &[&str] = &[
    "cryptand",
    "cryptand-agent",
    "cryptand-card",
    "cryptand-daemon",
    "cryptand-esp",
    "cryptand-esp-worker",
    "cryptand-keeper",
    "cryptand-lab",
    "cryptand-launcher",
    "cryptand-sop",
    "cryptand-tls",
];

/// Where standard error goes, in the shell's words: a file, and three places that take nothing.
const BESIDE: &str = "2>../said";
const UNWRITABLE: &[&str] = &["2>/dev/full", "2>&-", "2>&9"];

/// What a line of the shell came to: its exit code, and the files that are there afterwards.
type Came = (Option<i32>, BTreeMap<PathBuf, Length>);

/// Length of a file, of which a few bytes are chance: numbers of signatures are as short as they come (RFC 9580,
/// section 3.2), and armor makes four bytes of three.
#[derive(Clone, Copy, Debug)]
struct Length(u64);

impl PartialEq for Length {
    fn eq(&self, other: &Self) -> bool {
        (self.0 == 0) == (other.0 == 0) && self.0.abs_diff(other.0) <= 32
    }
}

/// Runs a line in a new folder with a prepared home of OpenPGP keys; descriptor 9 is a pipe that nobody reads.
fn came(prepare: &str, line: &str) -> Came {
    let base = tempfile::Builder::new().prefix("c").tempdir_in("/tmp").unwrap();
    let work = base.path().join("work");
    std::fs::create_dir(&work).unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let shell = |line: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).current_dir(&work).env("HOME", base.path());
        shell.env("XDG_DATA_HOME", base.path().join("data"));
        for variable in ["CRYPTAND_KEYRING", "CRYPTAND_AGENT", "XDG_RUNTIME_DIR", "CRYPTAND_HOME"] {
            shell.env_remove(variable);
        }
        let path = std::env::var("PATH").unwrap_or_default();
        shell.env("PATH", format!("{}:{path}", folder().display())).stdin(Stdio::null());
        shell
    };
    let prepared = shell(prepare).output().unwrap();
    assert!(prepared.status.success(), "{prepare}: {}", String::from_utf8_lossy(&prepared.stderr));
    // The pipe comes as standard output, and the shell moves it.
    let line = format!("exec 9>&1 >../answered; {line}");
    let status = shell(&line).stdout(writer).status().unwrap();
    let entries = std::fs::read_dir(&work).unwrap().map(|entry| entry.unwrap().path());
    let length =
        |path: &Path| path.metadata().map_or(0, |found| if found.is_file() { found.len() } else { 0 });
    let files = entries.map(|path| (path.file_name().unwrap().into(), Length(length(&path)))).collect();
    (status.code(), files)
}

/// The folder of the programs that were built.
fn folder() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_cryptand")).parent().unwrap()
}

#[test]
fn a_refusal_has_its_exit_code_though_nobody_hears_why() {
    for program in PROGRAMS {
        let beside = came("true", &format!("{program} --no-such-option {BESIDE}"));
        assert!(matches!(beside.0, Some(1..=64)), "{program}: {beside:?}");
        for unwritable in UNWRITABLE {
            let came = came("true", &format!("{program} --no-such-option {unwritable}"));
            assert_eq!(came, beside, "{program} {unwritable}");
        }
    }
}

/// An answer is a result: that it cannot be written is an error, but where its reader has heard enough.
#[test]
fn an_answer_that_cannot_be_written_is_an_error_and_no_panic() {
    for program in PROGRAMS {
        // Two are started by units alone, and answer nothing; what the SOP draft's program answers, its library prints.
        if ["cryptand-keeper", "cryptand-launcher", "cryptand-sop"].contains(program) {
            continue;
        }
        let code = |to: &str| came("true", &format!("{program} --version {to} {BESIDE}")).0;
        assert_eq!((code(""), code(">&9")), (Some(0), Some(0)), "{program}");
        assert!(matches!(code(">/dev/full"), Some(0 | 1)), "{program}: {:?}", code(">/dev/full"));
    }
}

#[test]
fn what_was_done_is_done_though_nobody_hears_of_it() {
    let keys = "cryptand pgp generate --no-passphrase 'Alice <alice@example.org>' >../alice 2>/dev/null; echo one >a; echo two >b; \
        mkdir d; echo three >d/c; mkfifo d/pipe; cryptand encrypt -q -r Alice -o made.pgp a; cryptand sign -q --detach -o a.sig a";
    for line in [
        "cryptand pgp generate --no-passphrase 'Bob <bob@example.org>'",
        // Progress, summary, and a warning.
        "cryptand encrypt -r Alice a b",
        "cryptand encrypt --archive -r Alice d",
        // The second of three fails, and the others are done all the same.
        "cryptand encrypt -r Alice a none b",
        "cryptand decrypt -v -o text made.pgp",
        "cryptand decrypt -o - a",
        "cryptand verify a.sig a",
        "cryptand verify a.sig b",
        "cryptand pgp list nobody",
        "cryptand --home nowhere status",
        "cryptand init nowhere/at/all",
        "cryptand tls serve none.toml",
        "cryptand ipsec status --folder none",
    ] {
        let beside = came(keys, &format!("{line} {BESIDE}"));
        for unwritable in UNWRITABLE {
            assert_eq!(came(keys, &format!("{line} {unwritable}")), beside, "{line} {unwritable}");
        }
    }
}
