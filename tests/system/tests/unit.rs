//! What a unit of the service says, and programs run as under it.
#![allow(dead_code, reason = "each test program uses its own part of this")]

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub fn packaging() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging")
}

/// Whether the service manager's checker is there; says so where it is not.
pub fn has_checker() -> bool {
    let found = Command::new("systemd-analyze").arg("--version").stdout(Stdio::null()).status().is_ok();
    !needs::did_without(needs::Need::SystemdAnalyze, !found)
}

pub fn analyze(arguments: &[&str]) -> (bool, String) {
    let output = Command::new("systemd-analyze").args(arguments).output().unwrap();
    let said = [&output.stdout[..], &output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

/// What the unit says of a key, line by line.
pub fn said(unit: &Path, key: &str) -> Vec<String> {
    let text = fs::read_to_string(unit).unwrap();
    text.lines().filter_map(|line| Some(line.strip_prefix(key)?.strip_prefix('=')?.to_owned())).collect()
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

/// As the service manager makes it of the unit; none, and said so, where this machine does not tell the numbers of
/// calls.
pub fn filter(unit: &str) -> Option<BpfProgram> {
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
pub fn under(filter: &BpfProgram, program: &Path) -> Command {
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
