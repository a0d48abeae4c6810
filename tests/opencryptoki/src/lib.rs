//! Debian's openCryptoki as it is packaged, over the C library and a home's cards, without root and without an
//! installation.
//!
//! `scripts/need test` unpacks the packages into `target/opencryptoki`. A command runs in namespaces of its own, in
//! which they lie over `/usr`, with tokens that are new: slot 0 is openCryptoki's own in software, slot 1 that of CCA.
#![forbid(unsafe_code)]

use needs::Need;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use system_tests::program;

/// openCryptoki's library, as its programs see it.
pub const MODULE: &str = "/usr/lib/x86_64-linux-gnu/opencryptoki/libopencryptoki.so.0";
/// Warnings are errors.
const CC_FLAGS: [&str; 5] = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"];
/// Namespaces of mounts, of shared memory, and of processes, so that openCryptoki's daemon ends with the command.
const NAMESPACES: [&str; 5] = ["--mount", "--ipc", "--pid", "--fork", "--kill-child"];
/// What an unprivileged user adds to them.
const AS_USER: [&str; 2] = ["--user", "--map-root-user"];
/// What has to work in them.
const TRIAL: &str =
    "mount -t tmpfs tmpfs /run && mount -t overlay overlay -o lowerdir=\"$0\"/usr:/usr /usr && pkcsslotd -h";

/// The unpacked packages, and a way to run commands with them.
pub struct Packages {
    folder: PathBuf,
    namespaces: Vec<&'static str>,
}

impl Packages {
    /// Those that were fetched, if this machine can run them; else says what it lacks.
    pub fn find() -> Option<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/opencryptoki");
        let Ok(folder) = folder.canonicalize() else {
            needs::did_without(Need::OpenCryptoki, true);
            return None;
        };
        let ways = [[&AS_USER[..], &NAMESPACES[..]].concat(), NAMESPACES.to_vec()];
        let namespaces = ways.into_iter().find(|way| {
            let mut trial = Command::new("unshare");
            trial.args(way).args(["sh", "-c", TRIAL]).arg(&folder);
            trial.stdout(Stdio::null()).stderr(Stdio::null());
            trial.status().is_ok_and(|status| status.success())
        });
        needs::did_without(Need::Namespaces, namespaces.is_none());
        Some(Self { folder, namespaces: namespaces? })
    }

    /// A command with these packages and their daemon, the C library and a home; nothing else of the surroundings names
    /// a home.
    pub fn command(&self, home: &Path) -> Command {
        self.in_state("started", home)
    }

    /// The same on a machine on which the packages are installed, and nothing is done yet.
    pub fn installed(&self, home: &Path) -> Command {
        self.in_state("installed", home)
    }

    fn in_state(&self, state: &str, home: &Path) -> Command {
        let library = program("libcsulcca.so");
        let mut command = Command::new("unshare");
        for name in ["CRYPTAND_CREDENTIAL_FILE", "CSU_DEFAULT_ADAPTER", "CSU_DEFAULT_DOMAIN"] {
            command.env_remove(name);
        }
        command.env("LD_LIBRARY_PATH", library.parent().expect("a file lies in a folder"));
        command.env("CRYPTAND_HOME", home);
        command.args(&self.namespaces).arg("sh").arg(client("inside.sh")).arg(&self.folder).arg(state);
        command
    }
}

/// A program or script of this crate.
pub fn client(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clients").join(name)
}

/// Compiles a program of this crate into a folder.
///
/// # Panics
/// If the compiler refuses it.
pub fn compile(folder: &Path, source: &str) -> PathBuf {
    let program = folder.join(Path::new(source).file_stem().expect("a source has a name"));
    let mut command = Command::new("cc");
    let output = command.args(CC_FLAGS).arg("-o").arg(&program).arg(client(source)).arg("-ldl").output();
    let output = output.expect("cc can be executed");
    assert!(output.status.success(), "{source}: {}", String::from_utf8_lossy(&output.stderr));
    program
}
