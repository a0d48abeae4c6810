//! Faults with files, with the real program: it ends with a clear error, nothing exists under the final name,
//! and the input is unchanged.

use openpgp_tests::run::{Files, Finished, Run, program};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

/// Exit codes, as `cryptand encrypt --help` has them.
const TYPED_WRONG: i32 = 2;
const NO_SUCH_KEY: i32 = 7;
const NOT_OPENED: i32 = 4;
const DAMAGED: i32 = 5;
const NO_SIGNATURE: i32 = 6;
const EXISTS: i32 = 8;

/// A folder with a key store in it.
struct Place {
    files: Files,
}

impl Place {
    /// With a key of Alice's.
    fn new() -> Self {
        let place = Self { files: Files::new() };
        place.run(&["pgp", "generate", "--no-passphrase", "Alice <alice@example.org>"]);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.files.path(name)
    }

    fn environment(&self) -> [(&'static str, PathBuf); 2] {
        [("CRYPTAND_KEYRING", self.path("keys")), ("HOME", self.path("home"))]
    }

    /// Runs the program in this folder, whatever comes of it.
    fn end_of(&self, arguments: &[&str]) -> Finished {
        let run = Run::new(program("cryptand")).args(arguments).within(&self.path("."));
        self.environment().into_iter().fold(run, |run, (name, value)| run.env(name, value)).finish()
    }

    /// Runs the program, which has to go well.
    fn run(&self, arguments: &[&str]) {
        let done = self.end_of(arguments);
        assert!(done.status.success(), "{done}");
    }

    /// Runs the program, which has to fail with this code; gives what it said.
    fn failure(&self, arguments: &[&str], code: i32) -> String {
        let done = self.end_of(arguments);
        assert_eq!(done.status.code(), Some(code), "{done}");
        assert!(!done.errors.trim().is_empty(), "it says why");
        done.errors
    }

    /// Starts the program.
    fn start(&self, arguments: &[&str]) -> Child {
        let mut command = Command::new(program("cryptand"));
        command.args(arguments).current_dir(self.path(".")).envs(self.environment());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().expect("it starts")
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        self.files.add(name, bytes);
    }

    fn read(&self, name: &str) -> Vec<u8> {
        self.files.read(name).unwrap()
    }

    fn has(&self, name: &str) -> bool {
        self.path(name).symlink_metadata().is_ok()
    }

    /// Names in the folder, hidden ones too.
    fn names(&self) -> BTreeSet<String> {
        let entries = fs::read_dir(self.path(".")).unwrap().flatten();
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
    }
}

fn text(bytes: usize) -> Vec<u8> {
    seeded::Random(1).bytes(bytes)
}

fn fifo(path: &Path) {
    let done = Run::new("mkfifo").arg(path).finish();
    assert!(done.status.success(), "{done}");
}

/// Files that a process has open, as the kernel names them.
fn open_files(child: &Child) -> Vec<PathBuf> {
    let entries = fs::read_dir(format!("/proc/{}/fd", child.id())).into_iter().flatten().flatten();
    entries.filter_map(|entry| fs::read_link(entry.path()).ok()).collect()
}

fn is_working_on_output(place: &Place, child: &Child, known: &BTreeSet<String>) -> bool {
    let folder = fs::canonicalize(place.path(".")).unwrap();
    let unnamed = open_files(child)
        .iter()
        .any(|path| path.starts_with(&folder) && path.to_string_lossy().contains("(deleted)"));
    unnamed || place.names() != *known
}

/// Kills the program when half of its input is read and its output has been begun.
fn killed_half_way(arguments: &[&str], input: &[u8], prepare: impl Fn(&Place), output: &str) {
    let (place, status) = signalled_half_way(Signal::KILL, arguments, input, prepare);
    assert_eq!(status.signal(), Some(Signal::KILL.as_raw()));
    assert!(!place.has(output), "{output} is there");
}

/// Sends the program a signal when half of its input is read and its output has been begun.
fn signalled_half_way(
    signal: Signal,
    arguments: &[&str],
    input: &[u8],
    prepare: impl Fn(&Place),
) -> (Place, ExitStatus) {
    let place = Place::new();
    prepare(&place);
    fifo(&place.path("input"));
    let before = place.names();
    let mut child = place.start(arguments);
    let mut pipe = OpenOptions::new().write(true).open(place.path("input")).unwrap();
    // A pipe holds 64 KiB: when this returns, nearly all of it was taken.
    pipe.write_all(&input[..input.len() / 2]).unwrap();
    assert!(is_working_on_output(&place, &child, &before), "{:?}", open_files(&child));
    kill_process(Pid::from_child(&child), signal).unwrap();
    (place, child.wait().unwrap())
}

#[test]
fn interrupted_it_removes_what_it_began() {
    let text = text(24 << 20);
    for signal in [Signal::INT, Signal::TERM] {
        let options = ["encrypt", "-q", "-r", "alice@example.org", "-o", "out.pgp", "input"];
        let (place, status) = signalled_half_way(signal, &options, &text, |_| {});
        assert_eq!(status.code(), Some(130), "{signal:?}: {status}");
        let names: Vec<String> = place.names().into_iter().collect();
        assert_eq!(names, ["input", "keys"], "{signal:?}");
    }
}

#[test]
fn killed_it_leaves_nothing_under_the_final_name() {
    let text = text(24 << 20);
    let nothing = |_: &Place| {};
    for options in [
        &["encrypt", "-q", "--mode", "gcm", "-r", "alice@example.org", "-o", "out.pgp", "input"][..],
        &["encrypt", "-q", "--mode", "cfb", "-r", "alice@example.org", "-o", "out.pgp", "input"],
        &["encrypt", "-q", "--compress", "zip", "-r", "alice@example.org", "-o", "out.pgp", "input"],
        &[
            "encrypt",
            "-q",
            "--async",
            "io,compress,cipher",
            "-r",
            "alice@example.org",
            "-o",
            "out.pgp",
            "input",
        ],
    ] {
        killed_half_way(options, &text, nothing, "out.pgp");
    }
    // By a passphrase: the message is made elsewhere.
    let elsewhere = Place::new();
    elsewhere.write("text", &text);
    elsewhere.write("passphrase", b"a passphrase\n");
    for mode in ["gcm", "cfb"] {
        elsewhere.run(&[
            "encrypt",
            "-q",
            "--mode",
            mode,
            "--passphrase-file",
            "passphrase",
            "--force",
            "-o",
            "message",
            "text",
        ]);
        let message = elsewhere.read("message");
        let prepare = |place: &Place| place.write("passphrase", b"a passphrase\n");
        let options = ["decrypt", "-q", "--passphrase-file", "passphrase", "-o", "out", "input"];
        killed_half_way(&options, &message, prepare, "out");
    }
}

#[test]
fn a_full_disk_is_an_error_that_names_the_output() {
    let place = Place::new();
    place.write("text", &text(3 << 20));
    let before = place.names();
    let cryptand = program("cryptand");
    // 512-byte blocks for a POSIX shell, 1,024-byte ones for others: either way less than the text.
    let limited = "ulimit -f 1024; trap '' XFSZ; exec \"$0\" \"$@\"";
    for mode in ["cfb", "ocb", "gcm"] {
        let run = Run::new("sh").args(["-c", limited]).arg(&cryptand);
        let run = run.args(["encrypt", "-q", "--mode", mode, "-r", "alice@example.org", "text"]);
        let run = run.within(&place.path("."));
        let done =
            place.environment().into_iter().fold(run, |run, (name, value)| run.env(name, value)).finish();
        assert_eq!(done.status.code(), Some(1), "{done}");
        assert!(done.errors.contains("text.pgp"), "{done}");
        assert_eq!(place.names(), before, "{mode}");
    }
    let said = place.failure(&["encrypt", "-q", "-r", "alice@example.org", "-o", "/dev/full", "text"], 1);
    assert!(said.contains("No space left"), "{said}");
    place.run(&["encrypt", "-q", "-r", "alice@example.org", "text"]);
    let said = place.failure(&["decrypt", "-q", "-o", "/dev/full", "text.pgp"], 1);
    assert!(said.contains("No space left"), "{said}");
}

#[test]
fn a_full_file_system_leaves_no_partial_file() {
    let place = Place::new();
    place.write("text", &text(3 << 20));
    fs::create_dir(place.path("small")).unwrap();
    let script = "mount -t tmpfs -o size=1m tmpfs small || exit 77
        \"$0\" encrypt -q -r alice@example.org -o small/text.pgp text; echo \"code $?\"; ls -A small";
    let run = Run::new("unshare").args(["--mount", "sh", "-c", script]).arg(program("cryptand"));
    let run = run.within(&place.path("."));
    let done = place.environment().into_iter().fold(run, |run, (name, value)| run.env(name, value)).finish();
    // Who may not mount has the limit of the test above.
    let may_not_mount = done.status.code() == Some(77) || done.errors.contains("Operation not permitted");
    if needs::did_without(needs::Need::Mount, may_not_mount) {
        return;
    }
    assert_eq!(String::from_utf8_lossy(&done.output), "code 1\n", "{done}");
}

#[test]
fn damaged_messages_are_refused_and_kept() {
    let place = Place::new();
    place.write("text", &text(300_000));
    for mode in ["cfb", "ocb", "gcm", "eax"] {
        place.run(&[
            "encrypt",
            "-q",
            "--mode",
            mode,
            "--force",
            "-r",
            "alice@example.org",
            "-o",
            "good.pgp",
            "text",
        ]);
        let good = place.read("good.pgp");
        let length = good.len();
        let mut damaged: Vec<Vec<u8>> =
            [length - 1, length - 17, length - 40, length / 2, 400].map(|at| good[..at].to_vec()).to_vec();
        for at in [length - 1, length - 18, length - 60, length / 2, 1000] {
            let mut changed = good.clone();
            changed[at] ^= 0x10;
            damaged.push(changed);
        }
        // A whole message behind it: what is drawn by chance may be packets that a reader passes over.
        damaged.push([&good[..], &good].concat());
        for (index, message) in damaged.iter().enumerate() {
            place.write("bad.pgp", message);
            let before = place.names();
            let done = place.end_of(&["decrypt", "-q", "-o", "out", "bad.pgp"]);
            assert_eq!(done.status.code(), Some(DAMAGED), "{mode}, {index}: {done}");
            assert_eq!(place.names(), before, "{mode}, {index}");
            assert!(place.read("bad.pgp") == *message, "{mode}, {index}: the input changed");
        }
    }
}

#[test]
fn other_keys_and_missing_keys_are_told_apart_from_damage() {
    let (place, other) = (Place::new(), Place::new());
    place.write("text", b"for Alice here");
    place.run(&["encrypt", "-q", "-r", "alice@example.org", "text"]);
    other.write("text.pgp", &place.read("text.pgp"));
    other.write("passphrase", b"guess\n");
    let before = other.names();
    other.failure(&["decrypt", "-q", "--batch", "text.pgp"], NOT_OPENED);
    other.failure(&["decrypt", "-q", "--batch", "--passphrase-file", "passphrase", "text.pgp"], NOT_OPENED);
    assert_eq!(other.names(), before);
    place.failure(&["encrypt", "-q", "-r", "nobody@example.org", "-o", "out.pgp", "text"], NO_SUCH_KEY);
    place.failure(
        &["decrypt", "-q", "--verify-with", "alice@example.org", "-o", "out", "text.pgp"],
        NO_SIGNATURE,
    );
    assert!(!place.has("out.pgp") && !place.has("out"));
    // A passphrase that is wrong for its message.
    place.write("right", b"right\n");
    place.write("wrong", b"wrong\n");
    for mode in ["cfb", "gcm"] {
        let options =
            ["--mode", mode, "--passphrase-file", "right", "--force", "-o", "by-passphrase.pgp", "text"];
        place.run(&[&["encrypt", "-q"], &options[..]].concat());
        let options =
            ["decrypt", "-q", "--batch", "--passphrase-file", "wrong", "-o", "out", "by-passphrase.pgp"];
        place.failure(&options, NOT_OPENED);
        assert!(!place.has("out"), "{mode}");
    }
}

#[test]
fn what_is_in_the_way_stays() {
    let place = Place::new();
    place.write("text", b"a text");
    fs::create_dir(place.path("text.pgp")).unwrap();
    let said = place.failure(&["encrypt", "-q", "-r", "alice@example.org", "text"], EXISTS);
    assert!(said.contains("text.pgp") && said.contains("folder"), "{said}");
    place.failure(&["encrypt", "-q", "--force", "-r", "alice@example.org", "text"], EXISTS);
    assert!(
        place.path("text.pgp").is_dir() && fs::read_dir(place.path("text.pgp")).unwrap().next().is_none()
    );
    place.write("there", b"precious");
    let options = ["encrypt", "-q", "-r", "alice@example.org", "-o", "there", "text"];
    place.failure(&options, EXISTS);
    assert_eq!(place.read("there"), b"precious");
    place.run(&[&options[..1], &["--force"], &options[1..]].concat());
    assert!(place.read("there") != b"precious");
    // A failure does not replace what was to be replaced.
    let mut damaged = place.read("there");
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    place.write("damaged.pgp", &damaged);
    place.write("precious", b"precious");
    place.failure(&["decrypt", "-q", "--force", "-o", "precious", "damaged.pgp"], DAMAGED);
    assert_eq!(place.read("precious"), b"precious");
    // An input is never its own output.
    place.failure(&["decrypt", "-q", "--force", "-o", "damaged.pgp", "damaged.pgp"], TYPED_WRONG);
    assert!(place.read("damaged.pgp") == damaged);
}

/// A file of so many zeros that take no room.
fn sparse(place: &Place, name: &str, bytes: u64) {
    File::create(place.path(name)).unwrap().set_len(bytes).unwrap();
}

#[test]
fn more_than_four_gib_go_through() {
    let place = Place::new();
    let bytes = (4_u64 << 30) + 3;
    sparse(&place, "zeros", bytes);
    let options = ["--mode", "gcm", "--compress", "zip", "-z", "1", "-o", "zeros.pgp", "zeros"];
    place.run(&[&["encrypt", "-q", "-r", "alice@example.org"], &options[..]].concat());
    let script = "\"$0\" decrypt -q --unauthenticated write -o - zeros.pgp | cmp - zeros && echo same";
    compare(&place, script);
}

/// Runs a pipe that says `same`.
fn compare(place: &Place, script: &str) {
    let run = Run::new("bash").args(["-o", "pipefail", "-c", script]).arg(program("cryptand"));
    let run = run.within(&place.path("."));
    let done = place.environment().into_iter().fold(run, |run, (name, value)| run.env(name, value)).finish();
    assert_eq!(String::from_utf8_lossy(&done.output), "same\n", "{done}");
}

#[test]
fn more_than_four_gib_without_compression_go_through() {
    // About a minute of two processors: in the long runs alone.
    if std::env::var_os("CRYPTAND_TEST_ALL").is_none() {
        return;
    }
    let place = Place::new();
    sparse(&place, "zeros", (4_u64 << 30) + 3);
    for mode in ["gcm", "ocb", "cfb"] {
        let script = format!(
            "\"$0\" encrypt -q --mode {mode} -r alice@example.org -o - zeros \
             | \"$0\" decrypt -q --unauthenticated write -o - | cmp - zeros && echo same"
        );
        compare(&place, &script);
    }
    place.write("passphrase", b"passphrase\n");
    let script = "GNUPGHOME=$PWD/gnupg; export GNUPGHOME; mkdir -m 700 gnupg
        \"$0\" encrypt -q --mode cfb --passphrase-file passphrase -o - zeros \
        | gpg --batch --quiet --pinentry-mode loopback --passphrase passphrase --decrypt \
        | cmp - zeros && echo same; gpgconf --kill all";
    compare(&place, script);
}
