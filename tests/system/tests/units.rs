//! The units of the system service: accepted by the service manager's own checker, closed as far as it can tell, and no
//! tighter than the programs can bear, which run here under each unit's list of system calls.

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use system_tests::{Installation, program, settings};

/// The most that `systemd-analyze security` may find a unit exposed, in tenths.
const EXPOSURE_MAX: u32 = 24;

fn packaging() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging")
}

fn units() -> Vec<PathBuf> {
    let files = fs::read_dir(packaging()).unwrap().map(|entry| entry.unwrap().path());
    let units: Vec<_> = files.filter(|path| path.extension().is_some_and(|kind| kind == "service")).collect();
    assert!(units.len() >= 2, "{units:?}");
    units
}

/// Whether the service manager's checker is there; says so where it is not.
fn has_checker() -> bool {
    let found = Command::new("systemd-analyze").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !found {
        eprintln!("not run: systemd-analyze is not installed (Debian package systemd)");
    }
    found
}

fn analyze(arguments: &[&str]) -> (bool, String) {
    let output = Command::new("systemd-analyze").args(arguments).output().unwrap();
    let said = [&output.stdout[..], &output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

/// What the unit says of a key, line by line.
fn said(unit: &Path, key: &str) -> Vec<String> {
    let text = fs::read_to_string(unit).unwrap();
    text.lines().filter_map(|line| Some(line.strip_prefix(key)?.strip_prefix('=')?.to_owned())).collect()
}

#[test]
fn units_are_valid_and_closed() {
    if !has_checker() {
        return;
    }
    let base = tempfile::tempdir().unwrap();
    let prefix = base.path().join("prefix");
    for unit in units() {
        let name = unit.file_name().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&unit).unwrap().replace("@PREFIX@", prefix.to_str().unwrap());
        // The checker wants programs that are there.
        for line in text.lines().filter_map(|line| line.strip_prefix("ExecStart=")) {
            let program = Path::new(line.split(' ').next().unwrap());
            fs::create_dir_all(program.parent().unwrap()).unwrap();
            fs::write(program, "").unwrap();
            fs::set_permissions(program, PermissionsExt::from_mode(0o755)).unwrap();
        }
        let installed = base.path().join(name);
        fs::write(&installed, text).unwrap();
        let installed = installed.to_str().unwrap();
        let (accepted, said) = analyze(&["verify", "--man=no", "--generators=no", installed]);
        assert!(accepted && !said.contains(name), "{name}: {said}");
        let threshold = format!("--threshold={EXPOSURE_MAX}");
        let (closed, said) = analyze(&["security", "--offline=true", "--no-pager", &threshold, installed]);
        assert!(closed, "{name}: {said}");
    }
}

#[test]
fn units_bound_memory_and_say_who_goes_first_where_it_runs_out() {
    for unit in units() {
        for key in
            ["User", "MemoryMax", "TasksMax", "OOMScoreAdjust", "UMask", "LimitCORE", "SystemCallFilter"]
        {
            assert!(!said(&unit, key).is_empty(), "{} says nothing of {key}", unit.display());
        }
    }
}

/// The system calls that the unit lets pass, by name: groups as the checker knows them.
fn allowed(unit: &Path) -> BTreeSet<String> {
    let expand = |word: &str| -> Vec<String> {
        let mut names = vec![word.to_owned()];
        while let Some(at) = names.iter().position(|name| name.starts_with('@')) {
            let group = names.swap_remove(at);
            let (known, said) = analyze(&["syscall-filter", "--no-pager", &group]);
            assert!(known, "{said}");
            let words = said.lines().skip(1).map(str::trim).filter(|word| !word.is_empty());
            names.extend(words.filter(|word| !word.starts_with('#')).map(str::to_owned));
        }
        names
    };
    let mut allowed: BTreeSet<String> = expand("@default").into_iter().collect();
    for line in said(unit, "SystemCallFilter") {
        let (removes, words) = match line.strip_prefix('~') {
            Some(rest) => (true, rest),
            None => (false, line.as_str()),
        };
        for name in words.split(' ').flat_map(expand) {
            let _ = if removes { allowed.remove(&name) } else { allowed.insert(name) };
        }
    }
    allowed
}

/// As the service manager makes it of the unit; none, and said so, where this machine does not tell the numbers of calls.
fn filter(unit: &str) -> Option<BpfProgram> {
    let folder = format!("/usr/include/{}-linux-gnu/asm", std::env::consts::ARCH);
    let known = ["unistd_64.h", "unistd.h"].iter().find_map(|name| {
        let text = fs::read_to_string(format!("{folder}/{name}")).ok()?;
        let call = |line: &str| {
            let (name, number) = line.strip_prefix("#define __NR_")?.split_once(' ')?;
            Some((name.to_owned(), number.trim().parse::<i64>().ok()?))
        };
        let calls: BTreeMap<_, _> = text.lines().filter_map(call).collect();
        (calls.len() > 200).then_some(calls)
    });
    let Some(known) = known else {
        eprintln!("not run: {folder} does not tell the numbers of system calls (Debian package libc6-dev)");
        return None;
    };
    let names = allowed(&packaging().join(unit));
    let rules = names.iter().filter_map(|name| Some((*known.get(name)?, Vec::new()))).collect();
    let (no, yes) = (SeccompAction::KillProcess, SeccompAction::Allow);
    let filter = SeccompFilter::new(rules, no, yes, std::env::consts::ARCH.try_into().unwrap());
    Some(filter.unwrap().try_into().unwrap())
}

/// Has a program run as under the unit: its list of system calls, no new privileges, no memory that is written and
/// executed, its umask.
fn under(filter: &BpfProgram, program: &Path) -> Command {
    const PR_SET_MDWE: libc::c_int = 65;
    let (filter, mut command) = (filter.clone(), Command::new(program));
    // SAFETY: only system calls are made between fork and exec; what they take was made before.
    unsafe {
        command.pre_exec(move || {
            libc::umask(0o077);
            // Kernels before 6.3 do not know it.
            libc::prctl(PR_SET_MDWE, 1, 0, 0, 0);
            seccompiler::apply_filter(&filter).map_err(|_| std::io::Error::last_os_error())
        });
    }
    command.stdin(Stdio::null());
    command
}

#[test]
fn the_daemon_and_its_cards_work_under_the_calls_of_their_unit() {
    if !has_checker() {
        return;
    }
    let Some(filter) = filter("cryptand.service") else { return };
    // The list is in force: what it leaves out ends a process.
    let died = under(&filter, Path::new("/bin/true")).status().unwrap();
    assert!(died.success(), "{died}");
    let reboot = "import ctypes; ctypes.CDLL(None).syscall(169, 0, 0, 0, 0)";
    let died =
        under(&filter, Path::new("/usr/bin/python3")).args(["-c", reboot]).stderr(Stdio::null()).status();
    assert_eq!(died.unwrap().signal(), Some(libc::SIGSYS));

    let mut unbound = Installation::new(1, 1);
    let expected: Vec<_> = unbound.until_ready().into_iter().map(|card| card.isolation.missing).collect();
    unbound.kill_daemon();
    let mut installation = Installation::stopped(&settings(1, 1));
    installation.start_as(under(&filter, &program("cryptand-daemon")));
    let cards = installation.until_ready();
    // Each step into the sandbox that is taken without the unit is taken under it.
    assert_eq!(cards.into_iter().map(|card| card.isolation.missing).collect::<Vec<_>>(), expected);
    let facility = installation.facility();
    let key = system_tests::mac_key(&facility);
    facility.call(0, &system_tests::mac_request(&key, &[7; 64])).unwrap();
    let folder = installation.beside("backup");
    fs::create_dir(&folder).unwrap();
    facility.backup(&folder).unwrap();
    facility.reload().unwrap();

    let Some(metrics) = self::filter("cryptand-metrics.service") else { return };
    let mut command = under(&metrics, &program("cryptand"));
    let page = command.arg("--home").arg(installation.home.folder()).arg("metrics").output().unwrap();
    let text = String::from_utf8_lossy(&page.stdout);
    assert!(page.status.success() && text.contains("cryptand_card_requests_total"), "{page:?}");
    facility.shutdown().unwrap();
}
