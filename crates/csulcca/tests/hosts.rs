//! Programs in C call the library over real homes: those that link it, those that load it, those that fork, close what
//! they did not open, or go on when a daemon has ended.

use home::{PointItem, RoleSettings};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use system_tests::{Installation, mac_key, settings};
use tempfile::TempDir;
use wire::role::GUEST;
use wire::tenant::{Credential, Tenant};
use wire::verb::{RecordWriting, key_records_write as krw};
use wire::{Label, code};

mod fields;
mod lists;
mod newest;

/// Warnings are errors.
const CC_FLAGS: [&str; 5] = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror"];
/// A program in which each access outside of a field is a fault.
const SANITIZED: [&str; 2] = ["-fsanitize=address", "-fno-omit-frame-pointer"];
/// What is at once, on a machine however slow.
const AT_ONCE: Duration = Duration::from_secs(5);

/// The folder of the library, which is built with the tests.
fn library_folder() -> PathBuf {
    let folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    assert!(folder.join("libcsulcca.so").exists(), "{} has no libcsulcca.so", folder.display());
    folder
}

/// Compiles a program of this crate.
fn compile(folder: &Path, source: &str, links: bool, flags: &[&str]) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = folder.join(Path::new(source).file_stem().unwrap());
    let mut command = Command::new("cc");
    command
        .args(CC_FLAGS)
        .args(flags)
        .arg("-I")
        .arg(root.join("include"))
        .arg("-o")
        .arg(&program)
        .arg(root.join(source));
    if links {
        command.arg("-L").arg(library_folder()).arg("-lcsulcca");
    }
    let output = command.args(["-ldl", "-lpthread"]).output().expect("cc can be executed");
    assert!(output.status.success(), "{source}: {}", String::from_utf8_lossy(&output.stderr));
    program
}

/// A command with the library in the loader's path, and nothing of the surroundings that names a home.
fn command(program: &Path, home: &Path) -> Command {
    let mut command = Command::new(program);
    for name in ["CRYPTAND_CREDENTIAL_FILE", "CSU_DEFAULT_ADAPTER", "CSU_DEFAULT_DOMAIN"] {
        command.env_remove(name);
    }
    command.env("LD_LIBRARY_PATH", library_folder()).env("CRYPTAND_HOME", home);
    command
}

/// A running `host.c`.
struct Host {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Host {
    fn start(folder: &TempDir, home: &Path, variables: &[(&str, &OsStr)]) -> Self {
        let program = folder.path().join("host");
        if !program.exists() {
            compile(folder.path(), "tests/hosts/host.c", false, &[]);
        }
        let mut command = command(&program, home);
        command.envs(variables.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output }
    }

    fn answer(&mut self, line: &str) -> String {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        answer.trim_end().to_owned()
    }

    /// Makes a key, and notes the MAC that it makes.
    fn begin(&mut self) {
        assert_eq!(self.answer("generate"), "0/0");
        assert_eq!(self.answer("expect"), "0/0");
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.input = None;
        let ended = self.child.wait();
        assert!(std::thread::panicking() || ended.unwrap().success(), "the program ended by a fault");
    }
}

fn installation() -> Installation {
    let installation = Installation::new(1, 0);
    installation.until_ready();
    installation
}

/// What a program that links the library says, compiled with these flags and started by this command.
fn said_by(installation: &Installation, source: &str, flags: &[&str], starter: &[&str]) -> String {
    let folder = TempDir::new().unwrap();
    let program = compile(folder.path(), source, true, flags);
    let mut all = starter.iter().map(PathBuf::from).chain([program]);
    let mut command = command(&all.next().unwrap(), installation.home.folder());
    // What the library holds until the process ends is no leak.
    let output = command.args(all).env("ASAN_OPTIONS", "detect_leaks=0").output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{source}: {said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

#[test]
fn programs_that_link_it_run() {
    let installation = installation();
    let run = |source: &str| said_by(&installation, source, &[], &[]);
    let said = run("examples/mac.c");
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].len() == 16 && lines[0].bytes().all(|digit| digit.is_ascii_hexdigit()), "{said}");
    assert_eq!(lines[1..], ["pay 10 to Bob: verifies", "pay 99 to Eve: DOES NOT VERIFY"]);
    let said = run("examples/pin.c");
    let lines: Vec<&str> = said.lines().collect();
    let serial = "FFFF9876543210E00001";
    assert_eq!(lines[..2], [format!("{serial}: the PIN is right"), format!("{serial}: the PIN is WRONG")]);
    assert_eq!(lines[2..], ["9876543210E00001: refused, 8/2050"]);
    assert_eq!(run("tests/hosts/habits.c"), "done\n");
    assert_eq!(run("tests/hosts/queries.c"), "done\n");
}

/// What `long.c` hashes.
fn long_text() -> Vec<u8> {
    (0..(3usize << 20) + 24).map(|at| (at * 7 + at / 251) as u8).collect()
}

#[test]
fn texts_longer_than_a_request_are_cut() {
    let hash = engine::sha256(&long_text()).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(said_by(&installation(), "tests/hosts/long.c", &[], &[]), format!("{hash}\ndone\n"));
}

#[test]
fn no_access_is_outside_of_a_field_of_the_heap() {
    let installation = installation();
    let valgrind = ["valgrind", "--quiet", "--error-exitcode=1", "--undef-value-errors=no"];
    for source in [
        "examples/mac.c",
        "examples/pin.c",
        "tests/hosts/habits.c",
        "tests/hosts/queries.c",
        "tests/hosts/long.c",
    ] {
        let plain = said_by(&installation, source, &SANITIZED, &[]);
        assert!(!plain.is_empty(), "{source}");
        said_by(&installation, source, &[], &valgrind);
    }
}

#[test]
fn threads_forks_closed_descriptors_and_a_closed_library_change_no_answer() {
    let (folder, installation) = (TempDir::new().unwrap(), installation());
    for threads in [2, 32] {
        let mut host = Host::start(&folder, installation.home.folder(), &[]);
        // The home is opened by all of them at once.
        assert_eq!(host.answer(&format!("first {threads}")), "0 wrong");
        host.begin();
        let (work, fork) = (format!("threads {threads}"), format!("forks {threads}"));
        for line in [&work, &fork, "forks 0", "close", "reload", &work] {
            assert_eq!(host.answer(line), "0 wrong", "{line}, {threads}");
        }
        // Twelve hundred children, a hundred at a time.
        for round in 3..=6 {
            assert_eq!(host.answer("forks 0"), "0 wrong", "{round}, {threads}");
        }
        assert_eq!(host.answer("version"), "0/0 17 8.3.0   00000000");
    }
}

#[test]
fn without_a_daemon_a_call_fails_at_once_and_with_one_the_next_call_works() {
    let folder = TempDir::new().unwrap();
    let mut installation = Installation::stopped(&settings(1, 0));
    let nowhere = folder.path().join("nowhere");
    for home in [&nowhere, installation.home.folder()] {
        let mut host = Host::start(&folder, home, &[]);
        let begin = Instant::now();
        assert_eq!(host.answer("generate"), code_text(code::NO_CARD));
        assert!(begin.elapsed() < AT_ONCE, "{:?}", begin.elapsed());
    }
    let mut host = Host::start(&folder, installation.home.folder(), &[]);
    assert_eq!(host.answer("generate"), code_text(code::NO_CARD));
    installation.start();
    installation.until_ready();
    host.begin();
    // A daemon that dies leaves its cards behind; one that is stopped takes them along.
    installation.kill_daemon();
    installation.start();
    assert_eq!(host.answer("mac"), "0/0");
    installation.facility().shutdown(true).unwrap();
    installation.wait_stopped();
    installation.start();
    for _ in 0..2 {
        assert_eq!(host.answer("threads 32"), "0 wrong");
    }
}

fn code_text(codes: wire::Codes) -> String {
    format!("{}/{}", codes.return_code, codes.reason_code)
}

#[test]
fn a_label_is_a_key() {
    let (folder, installation) = (TempDir::new().unwrap(), installation());
    let facility = installation.facility();
    let create = krw::Ask {
        key_label_1: &Label::new("TEST.MAC").unwrap().to_field(),
        key_token_1: &mac_key(&facility),
        key_label_2: &[b' '; 64],
        ..krw::Ask::new(RecordWriting::Create)
    };
    assert!(facility.ask(0, &create).unwrap().codes().is_ok());
    let mut host = Host::start(&folder, installation.home.folder(), &[]);
    // The key has one length, and the MAC is one of two: what opened the label says so.
    assert_eq!(host.answer("mac TEST.MAC"), code_text(code::KEY_USAGE));
    assert_eq!(host.answer("mac TEST.OTHER"), code_text(code::LABEL_NOT_FOUND));
    assert_eq!(host.answer("mac not.a.label"), code_text(code::LABEL_FORMAT));
}

/// The file of a tenant's credential.
fn credential(folder: &TempDir, number: u8) -> (Credential, OsString) {
    let credential = Credential([number; 32]);
    let path = folder.path().join(format!("credential-{number}"));
    fs::write(&path, facility::credential::to_text(&credential).as_bytes()).unwrap();
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    (credential, path.into())
}

/// A tenant whose programs show a credential.
fn tenant(name: &str, number: u32, credential: &Credential, role: &str) -> Tenant {
    let hash = engine::sha256(&credential.0);
    Tenant {
        credential_sha256: Some(hash.iter().map(|byte| format!("{byte:02x}")).collect()),
        role: Some(role.into()),
        ..Tenant::new(name, number)
    }
}

#[test]
fn a_role_permits_token_bytes_and_a_variable_names_card_and_domain() {
    let folder = TempDir::new().unwrap();
    let [(guest, guest_file), (program, program_file)] = [1, 2].map(|number| credential(&folder, number));
    let mut settings = settings(2, 0);
    settings.cards.domains = 2;
    settings.tenant_number_next = 10;
    settings.roles.push(RoleSettings {
        name: "program".into(),
        base: Some(GUEST.into()),
        allow: vec![PointItem::new("token-bytes").unwrap()],
        deny: Vec::new(),
        labels: Vec::new(),
    });
    settings.tenants = vec![tenant("guest", 1, &guest, GUEST), tenant("program", 2, &program, "program")];
    let mut installation = Installation::stopped(&settings);
    installation.start();
    installation.until_ready();
    let home = installation.home.folder();
    let file = "CRYPTAND_CREDENTIAL_FILE";

    let mut host = Host::start(&folder, home, &[(file, &guest_file)]);
    assert_eq!(host.answer("generate"), "0/0");
    assert_eq!(host.answer("mac"), code_text(code::ACCESS_DENIED));
    let mut host = Host::start(&folder, home, &[(file, &program_file)]);
    host.begin();

    let first_answer = |name: &str, value: &str| {
        let mut host = Host::start(&folder, home, &[(name, value.as_ref())]);
        host.answer("generate")
    };
    for (name, value) in [
        ("CSU_DEFAULT_ADAPTER", "CRP02"),
        ("CSU_DEFAULT_ADAPTER", "DEV-ANY"),
        ("CSU_DEFAULT_DOMAIN", "1"),
        ("CSU_DEFAULT_DOMAIN", "DOM-ANY"),
    ] {
        assert_eq!(first_answer(name, value), "0/0", "{name}={value}");
    }
    for (name, value, codes) in [
        // Not in this home.
        ("CSU_DEFAULT_ADAPTER", "CRP03", code::NO_CARD),
        ("CSU_DEFAULT_DOMAIN", "2", code::NO_CARD),
        // Not in any.
        ("CSU_DEFAULT_ADAPTER", "CRP65", code::DEFAULT_RESOURCE),
        ("CSU_DEFAULT_ADAPTER", "2", code::DEFAULT_RESOURCE),
        ("CSU_DEFAULT_DOMAIN", "16", code::DEFAULT_RESOURCE),
        ("CSU_DEFAULT_DOMAIN", "sixteen", code::DEFAULT_RESOURCE),
    ] {
        assert_eq!(first_answer(name, value), code_text(codes), "{name}={value}");
    }
}
