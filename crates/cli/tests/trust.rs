//! Homes that another user decides on: nothing of them is run or written, and the refusal names path and reason.
//! Each attack is seen to work where it is the process's own user who does the same.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Some user who is not this process's.
const STRANGER: u32 = 54321;

/// A home whose settings name a daemon that leaves a trace.
struct Place {
    base: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { base: tempfile::tempdir().unwrap() };
        let made = place.run(&["init", "--insecure-dev", "--seed", "7"]);
        assert!(made.status.success(), "{made:?}");
        let program = place.path("home/daemon");
        let script = format!("#!/bin/sh\ntouch '{}'\nexit 4\n", place.path("ran").display());
        needs::write_script(&program, &script);
        set_mode(&program, 0o755);
        let settings = place.path("home/settings.toml");
        let text = fs::read_to_string(&settings).unwrap();
        let lines = text.lines().map(|line| match line.starts_with("daemon = ") {
            true => format!("daemon = \"{}\"", program.display()),
            false => line.to_owned(),
        });
        let changed = lines.collect::<Vec<_>>().join("\n");
        assert_ne!(changed, text.trim_end(), "the settings name their daemon");
        fs::write(&settings, changed).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.base.path()).unwrap().join(name)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cryptand"));
        command.arg("--home").arg(self.path("home")).args(arguments).stdin(Stdio::null());
        command.env_remove("CRYPTAND_HOME").env_remove("CRYPTAND_LEVEL");
        command.env_remove("CRYPTAND_CREDENTIAL_FILE").output().unwrap()
    }

    /// Whether any command that starts a daemon ran the program; what each complained of.
    fn starts(&self) -> (bool, Vec<String>) {
        let mut complaints = Vec::new();
        for command in [&["serve"][..], &["serve", "--background"]] {
            let output = self.run(command);
            assert!(!output.status.success(), "{command:?}");
            complaints.push(String::from_utf8(output.stderr).unwrap());
        }
        (fs::remove_file(self.path("ran")).is_ok(), complaints)
    }

    /// Nothing ran, and every command named the path and the reason.
    fn refuses(&self, path: &Path, reason: &str) {
        let (ran, complaints) = self.starts();
        assert!(!ran, "{complaints:?}");
        for complaint in complaints {
            assert!(
                complaint.contains(&*path.to_string_lossy()) && complaint.contains(reason),
                "{complaint}"
            );
        }
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Gives a file away, which only root may.
fn give_away(path: &Path) -> bool {
    let given = chown(path, Some(STRANGER), None).is_ok();
    !needs::did_without(needs::Need::Root, !given)
}

#[test]
fn nobody_runs_what_the_owner_of_a_folder_names() {
    let place = Place::new();
    assert!(place.starts().0, "its own user's program runs");
    for name in ["home", "home/settings.toml", "home/daemon"] {
        let path = place.path(name);
        if !give_away(&path) {
            return;
        }
        place.refuses(&path, "belongs to user 54321");
        chown(&path, Some(nix::unistd::geteuid().as_raw()), None).unwrap();
    }
    let above = place.path("");
    assert!(give_away(&above));
    place
        .refuses(above.parent().unwrap().join(above.file_name().unwrap()).as_path(), "belongs to user 54321");
}

#[test]
fn nobody_runs_what_others_may_change() {
    let place = Place::new();
    for name in ["home", "home/settings.toml", "home/daemon"] {
        let path = place.path(name);
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
        for open in [mode | 0o002, mode | 0o022] {
            set_mode(&path, open);
            place.refuses(&path, "chmod go-w");
        }
        set_mode(&path, mode);
    }
    assert!(place.starts().0);
}

#[test]
fn links_and_pipes_in_the_place_of_settings_are_refused() {
    let place = Place::new();
    let (settings, elsewhere) = (place.path("home/settings.toml"), place.path("elsewhere.toml"));
    fs::rename(&settings, &elsewhere).unwrap();
    symlink(&elsewhere, &settings).unwrap();
    place.refuses(&settings, "a symbolic link");
    fs::remove_file(&settings).unwrap();
    assert!(Command::new("mkfifo").arg(&settings).status().unwrap().success());
    place.refuses(&settings, "a pipe");
    fs::remove_file(&settings).unwrap();
    fs::rename(&elsewhere, &settings).unwrap();
    let version = place.path("home/version");
    fs::rename(&version, &elsewhere).unwrap();
    symlink(&elsewhere, &version).unwrap();
    place.refuses(&version, "a symbolic link");
}

#[test]
fn a_planted_link_leads_no_write_elsewhere() {
    let place = Place::new();
    let (victim, planted) = (place.path("victim"), place.path("home/settings.toml.new"));
    fs::write(&victim, "precious").unwrap();
    symlink(&victim, &planted).unwrap();
    let home = home::Home::open(&place.path("home")).unwrap();
    let mut settings = home.settings().unwrap();
    settings.cards.accelerators = 3;
    home.write_settings(&settings).unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    assert_eq!(home.settings().unwrap(), settings);
    set_mode(&place.path("home"), 0o777);
    let error = home.write_settings(&settings).unwrap_err().to_string();
    assert!(error.contains("chmod go-w"), "{error}");
}

#[test]
fn no_home_is_made_where_others_could_replace_it() {
    let place = Place { base: tempfile::tempdir().unwrap() };
    set_mode(place.base.path(), 0o777);
    let output = place.run(&["init", "--insecure-dev", "--seed", "7"]);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && complaint.contains("chmod go-w"), "{complaint}");
    assert!(!place.path("home").exists());
    set_mode(place.base.path(), 0o1777);
    assert!(place.run(&["init", "--insecure-dev", "--seed", "7"]).status.success());
}
