//! How much memory messages take, with the real program. A program of its own: the peak that the kernel books for a
//! child is at least what its parent took when it was made, and other tests of the program would count.

use openpgp_tests::run::{Files, program};
use std::fs::File;
use std::process::{Child, Command, Stdio};

/// Most that any of them may take, in KiB.
const KIB_MAX: u64 = 64 * 1024;

fn start(files: &Files, arguments: &[&str]) -> Child {
    let mut command = Command::new(program("cryptand"));
    command.args(arguments).current_dir(files.path(".")).stdin(Stdio::null());
    command.env("CRYPTAND_KEYRING", files.path("keys")).env("HOME", files.path("home"));
    command.spawn().unwrap()
}

/// Peak memory of a run in KiB.
fn peak_kib(child: Child) -> u64 {
    // SAFETY: an all-zero rusage is valid, and wait4 fills it in.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let mut status = 0;
    // SAFETY: the child is ours and not waited for; both places live as long as the call.
    let pid = unsafe { libc::wait4(child.id() as i32, &mut status, 0, &mut usage) };
    assert_eq!(pid, child.id() as i32);
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "status {status}");
    usage.ru_maxrss as u64
}

#[test]
fn memory_is_bounded_whatever_the_length() {
    let files = Files::new();
    peak_kib(start(&files, &["pgp", "generate", "--no-passphrase", "Alice <alice@example.org>"]));
    File::create(files.path("zeros")).unwrap().set_len(400 << 20).unwrap();
    let to = ["-r", "alice@example.org", "--force", "-o", "zeros.pgp", "zeros"];
    for options in [
        &["--mode", "cfb"][..],
        &["--mode", "gcm", "--async", "io,compress,cipher", "--threads", "2"],
        &["--mode", "ocb", "--compress", "zip", "-z", "1"],
        &["--mode", "cfb", "--compress", "zlib", "-z", "6", "--armor"],
    ] {
        let kib = peak_kib(start(&files, &[&["encrypt", "-q"], options, &to[..]].concat()));
        assert!(kib < KIB_MAX, "{options:?}: {kib} KiB");
        let kib = peak_kib(start(&files, &["decrypt", "-q", "-o", "/dev/null", "zeros.pgp"]));
        assert!(kib < KIB_MAX, "decrypting, {options:?}: {kib} KiB");
    }
}
