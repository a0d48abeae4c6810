//! Who starts a daemon: only an explicit command if the home was stopped, or if a service manager runs its daemon.

use facility::{Facility, FacilityError, Options};
use home::{NoAutostart, Settings};
use rustix::process::Signal;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use system_tests::load::Stop;
use system_tests::{
    Installation, PATIENCE, expected_mac, mac_key, mac_of, mac_request, null, program, settings, signal,
};
use wire::Label;
use wire::control::Store;

/// Of a program that needs the daemon, and may start it where the home allows that.
fn needing() -> Options {
    Options { start_daemon: true, card_wait: PATIENCE, ..Options::default() }
}

fn need(installation: &Installation) -> Result<Facility, FacilityError> {
    Facility::open(installation.home.folder(), needing())
}

fn refused(installation: &Installation) -> NoAutostart {
    match need(installation) {
        Err(FacilityError::NoAutostart { why, .. }) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_stopped_home_is_started_by_who_is_asked_to_alone() {
    let mut installation = Installation::new(1, 0);
    installation.until_ready();
    type Stop = fn(&mut Installation);
    let stops: [Stop; 3] = [
        |installation| installation.facility().shutdown(true).unwrap(),
        |installation| signal(installation.daemon_pid(), Signal::TERM),
        |installation| signal(installation.daemon_pid(), Signal::INT),
    ];
    for stop in stops {
        stop(&mut installation);
        installation.wait_stopped();
        let NoAutostart::Stopped { at } = refused(&installation) else { panic!() };
        assert!(at.ends_with(" UTC"), "{at}");
        let said = need(&installation).unwrap_err().to_string();
        assert!(said.contains("was stopped at 2") && said.contains("cryptand serve"), "{said}");
        // Asked for on demand, the program itself says the same: it may have been stopped meanwhile.
        let mut on_demand = Command::new(program("cryptand-daemon"));
        on_demand.arg("--on-demand");
        let said = installation.try_start_as(on_demand).unwrap_err();
        assert!(said.contains("exit status: 4") && said.contains("was stopped at"), "{said}");
        assert!(installation.home.stopped_path().exists());
        installation.start();
        assert!(!installation.home.stopped_path().exists());
        assert_eq!(need(&installation).unwrap().ask(0, &null()).unwrap().codes(), wire::code::OK);
    }
    // Whoever asks for it may be a program, too.
    installation.facility().shutdown(true).unwrap();
    installation.wait_stopped();
    facility::start_daemon(&installation.home).unwrap();
    let first = installation.facility().status().unwrap().daemon_pid;
    facility::start_daemon(&installation.home).unwrap();
    assert_eq!(installation.facility().status().unwrap().daemon_pid, first);
}

#[test]
fn a_daemon_that_was_killed_is_started_by_who_needs_it() {
    let mut installation = Installation::new(1, 0);
    let cards = installation.until_ready();
    installation.kill_daemon();
    assert_eq!(need(&installation).unwrap().ask(0, &null()).unwrap().codes(), wire::code::OK);
    assert_eq!(installation.until_ready()[0].pid, cards[0].pid);
}

#[test]
fn programs_at_work_do_not_start_a_daemon_that_is_stopped_and_started() {
    let mut installation = Installation::new(2, 0);
    installation.until_ready();
    let (stop, answered) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let _stop_all = Stop(&stop);
        for _ in 0..4 {
            // Opened before the first stop: who needs a daemon that is stopped is refused.
            let facility = Facility::open(installation.home.folder(), needing()).unwrap();
            let (stop, answered) = (&stop, &answered);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let _ = facility.ask(0, &null()).unwrap();
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for _ in 0..3 {
            let before = answered.load(Ordering::Relaxed);
            let end = Instant::now() + PATIENCE;
            while answered.load(Ordering::Relaxed) < before + 100 {
                assert!(Instant::now() < end, "no progress");
                std::thread::sleep(Duration::from_millis(1));
            }
            signal(installation.daemon_pid(), Signal::TERM);
            installation.wait_stopped();
            // Had one of them started another, this would find it.
            installation.start();
        }
    });
}

#[test]
fn where_the_settings_say_so_nobody_starts_it_who_needs_it() {
    let forbidding = |settings: Settings| Settings {
        daemon: home::DaemonSettings { autostart: Some(false), ..settings.daemon },
        ..settings
    };
    let mut installation = Installation::stopped(&forbidding(settings(1, 0)));
    assert_eq!(refused(&installation), NoAutostart::Settings);
    let said = need(&installation).unwrap_err().to_string();
    assert!(said.contains("[daemon]") && said.contains("cryptand serve"), "{said}");
    installation.start();
    installation.until_ready();
    installation.kill_daemon();
    assert_eq!(refused(&installation), NoAutostart::Settings);
    installation.start();
}

#[test]
fn a_service_managers_daemon_is_the_service_managers_to_start() {
    let mut installation = Installation::stopped(&settings(1, 0));
    let mut of_service = Command::new(program("cryptand-daemon"));
    of_service.env("NOTIFY_SOCKET", installation.beside("notify.sock"));
    installation.start_as(of_service);
    let cards = installation.until_ready();
    installation.kill_daemon();
    assert_eq!(refused(&installation), NoAutostart::Service);
    // One that finds another says so, and leaves it and what it noted alone.
    installation.start();
    let first = installation.daemon_pid();
    let said = installation.try_start_as(Command::new(program("cryptand-daemon"))).unwrap_err();
    assert!(said.contains("exit status: 3") && said.contains("cryptand stop"), "{said}");
    assert_eq!(installation.until_ready()[0].pid, cards[0].pid);
    assert_eq!(installation.facility().status().unwrap().daemon_pid, first);
    // Started by hand, it is nobody's.
    installation.kill_daemon();
    need(&installation).unwrap();
}

#[test]
fn programs_find_by_the_home_what_runs_in_the_folder_of_its_unit() {
    let mut installation = Installation::stopped(&settings(1, 0));
    let folder = installation.beside("unit");
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o711)).unwrap();
    let notify = installation.beside("notify");
    let by_unit = || {
        let mut command = Command::new(program("cryptand-daemon"));
        command.env("NOTIFY_SOCKET", &notify).env("RUNTIME_DIRECTORY", &folder);
        command
    };
    installation.start_as(by_unit());
    assert_eq!(std::fs::read_link(installation.home.run()).unwrap(), folder);
    let facility = installation.facility();
    let label = Label::new("UNIT.MAC").unwrap();
    facility.record_create(Store::Des, &label, &mac_key(&facility)).unwrap();
    let field = label.to_field();
    let signs = |facility: &Facility| {
        let reply = facility.ask(0, &mac_request(&field, b"a text")).unwrap();
        assert_eq!(mac_of(&reply), expected_mac(b"a text"));
    };
    signs(&facility);
    let before = installation.until_ready_with_keeper();
    installation.kill_daemon();
    signs(&facility);
    installation.start_as(by_unit());
    let after = installation.until_ready_with_keeper();
    assert_eq!((after.cards[0].pid, after.keeper_pid), (before.cards[0].pid, before.keeper_pid));
    signs(&facility);
    signs(&installation.facility());

    let (backup, other) = (installation.beside("backup"), installation.beside("other"));
    let runs = |home: &Path, arguments: &[&str]| {
        let mut command = Command::new(program("cryptand"));
        let output = command.arg("--home").arg(home).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    };
    let (home, backup) = (installation.home.folder(), backup.to_str().unwrap());
    runs(home, &["status"]);
    runs(home, &["backup", backup]);
    runs(home, &["stop"]);
    installation.wait_stopped();
    assert_eq!(std::fs::read_link(installation.home.run()).unwrap(), folder);
    runs(&other, &["restore", backup, "--yes"]);
    assert!(std::fs::symlink_metadata(other.join("run")).unwrap().is_dir());
}
