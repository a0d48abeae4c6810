//! The units of the system service: accepted by the service manager's own checker with a low exposure, and no
//! tighter than the programs allow, which run here under each unit's system-call filter.

use crate::unit::{self, analyze, filter, has_checker, packaging, said, under};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use system_tests::{Installation, program, settings};

/// The most that `systemd-analyze security` may find a unit exposed, in tenths.
const EXPOSURE_MAX: u32 = 24;
/// The same of the one that makes devices and routes: as root, in the machine's own network.
const NETWORK_EXPOSURE_MAX: u32 = 35;

fn units() -> Vec<PathBuf> {
    let files = fs::read_dir(packaging()).unwrap().map(|entry| entry.unwrap().path());
    let units: Vec<_> = files.filter(|path| path.extension().is_some_and(|kind| kind == "service")).collect();
    assert!(units.len() >= 4, "{units:?}");
    units
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
        let most = if name == "cryptand-esp.service" { NETWORK_EXPOSURE_MAX } else { EXPOSURE_MAX };
        let threshold = format!("--threshold={most}");
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
    assert!(facility.ask(0, &system_tests::mac_request(&key, &[7; 64])).unwrap().codes().is_ok());
    let folder = installation.beside("backup");
    fs::create_dir(&folder).unwrap();
    facility.backup(&folder).unwrap();
    facility.reload().unwrap();

    let Some(metrics) = unit::filter("cryptand-metrics.service") else { return };
    let mut command = under(&metrics, &program("cryptand"));
    let page = command.arg("--home").arg(installation.home.folder()).arg("metrics").output().unwrap();
    let text = String::from_utf8_lossy(&page.stdout);
    assert!(page.status.success() && text.contains("cryptand_card_requests_total"), "{page:?}");
    facility.shutdown(true).unwrap();
}

#[test]
fn ipsecs_data_plane_works_under_the_calls_and_capabilities_of_its_unit() {
    if !has_checker() || needs::lacks(needs::Need::Root) || needs::lacks(needs::Need::Tun) {
        return;
    }
    let Some(filter) = filter("cryptand-esp.service") else { return };
    let folder = tempfile::tempdir().unwrap();
    // In a network of its own: it makes a device, rules and routes.
    let mut command = under(&filter, Path::new("/usr/bin/unshare"));
    let unit = packaging().join("cryptand-esp.service");
    let bounds = said(&unit, "CapabilityBoundingSet").join(" ");
    let bounds: String = bounds
        .split(' ')
        .map(|name| format!(",+{}", name.trim_start_matches("CAP_").to_lowercase()))
        .collect();
    command.args(["--net", "setpriv", "--inh-caps=-all", &format!("--bounding-set=-all{bounds}")]);
    command.arg(program("cryptand-esp")).args(["serve", "--folder"]).arg(folder.path());
    let mut served = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(served.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let mut asked = UnixStream::connect(folder.path().join("observe.sock")).unwrap();
    asked.write_all(b"status\n").unwrap();
    let mut status = String::new();
    asked.read_to_string(&mut status).unwrap();
    assert!(status.contains(r#""restarts":0"#) && status.contains(r#""lacks":[]"#), "{status}");
    let pid = rustix::process::Pid::from_child(&served);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(served.wait().unwrap().success());
}
