//! Whether a program that needs the daemon of a home may start it.
//!
//! | who starts the daemon | allowed |
//! |---|---|
//! | a person or a service manager: `cryptand serve`, the daemon's program | always; the mark of an
//! earlier stop is removed |
//! | a program that needs the daemon | as `[daemon] autostart` says, and not after a stop |
//!
//! A stop writes a file into the home before the daemon stops taking requests, so that no program that finds no daemon
//! starts the next one. A starting daemon checks the file again once it holds the home's lock.

use crate::{Home, HomeError, Settings, read_bounded, write_durably};
use std::fmt;
use std::fs;
use std::path::PathBuf;

/// Why no program may start the daemon of a home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoAutostart {
    /// The home was stopped, at this time.
    Stopped {
        /// Time of the stop in UTC, as text.
        at: String,
    },
    /// The last daemon was started by a service manager, which also starts the next one.
    Service,
    /// The settings forbid it.
    Settings,
}

impl fmt::Display for NoAutostart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped { at } => write!(
                f,
                "the home was stopped at {at}, and no program starts it by itself before `cryptand serve` or its unit did"
            ),
            Self::Service => f.write_str(
                "no daemon serves this home, and a service manager started the last one: start its unit (`systemctl start \
                 cryptand`); `autostart = true` below [daemon] in the settings would let programs start it",
            ),
            Self::Settings => f.write_str(
                "no daemon serves this home, and by [daemon] in the settings no program starts it: start its unit, or run \
                 `cryptand serve`",
            ),
        }
    }
}

/// Who stopped a daemon on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoppedBy {
    /// An administrator's `cryptand stop`.
    Command,
    /// A signal. A machine that shuts down sends one too, so it counts only until the next boot.
    Signal,
}

impl Home {
    /// The file that marks the home as stopped.
    pub fn stopped_path(&self) -> PathBuf {
        self.folder.join("stopped")
    }

    /// Records that the daemon was stopped, at this time in seconds since 1970.
    ///
    /// # Errors
    /// [`HomeError::Io`], most likely on a full disk: programs may then start the next daemon.
    pub fn note_stopped(&self, unix_s: u64, by: StoppedBy) -> Result<(), HomeError> {
        let boot = match by {
            StoppedBy::Command => String::new(),
            StoppedBy::Signal => this_boot(),
        };
        write_durably(&self.stopped_path(), format!("{}\n{boot}\n", utc(unix_s)).as_bytes())
    }

    /// Removes the mark of the last stop.
    ///
    /// # Errors
    /// [`HomeError::Io`] if the file cannot be removed.
    pub fn forget_stopped(&self) -> Result<(), HomeError> {
        let path = self.stopped_path();
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(HomeError::io("remove", &path)(error))
            }
            _ => Ok(()),
        }
    }

    /// Whether a program that needs the daemon may start it if none runs.
    ///
    /// # Errors
    /// [`NoAutostart`] says why not.
    pub fn may_autostart(&self, settings: &Settings) -> Result<(), NoAutostart> {
        if let Some(at) = self.stopped_at() {
            return Err(NoAutostart::Stopped { at });
        }
        match settings.daemon.autostart {
            Some(true) => Ok(()),
            Some(false) => Err(NoAutostart::Settings),
            None if settings.service.is_some() || self.is_of_service_manager() => Err(NoAutostart::Service),
            None => Ok(()),
        }
    }

    /// When the home was stopped; none if it is not marked as stopped, or a signal stopped it
    /// before this boot.
    fn stopped_at(&self) -> Option<String> {
        let text = match read_bounded(&self.stopped_path()) {
            Err(HomeError::Io { cause, .. }) if cause.kind() == std::io::ErrorKind::NotFound => return None,
            // A file that cannot be read still marks a stop.
            text => text.unwrap_or_default(),
        };
        let mut lines = text.lines();
        let shown = |line: &str| line.chars().filter(|c| !c.is_control()).take(TIME_CHARS_MAX).collect();
        let at: String = lines.next().map(shown).unwrap_or_default();
        let boot = lines.next().unwrap_or_default();
        let is_past = !boot.is_empty() && boot != this_boot();
        (!is_past).then(|| if at.is_empty() { "an unknown time".to_owned() } else { at })
    }

    /// Whether a service manager started the last daemon, by what that daemon wrote into the lock
    /// file.
    fn is_of_service_manager(&self) -> bool {
        let text = read_bounded(&self.lock()).unwrap_or_default();
        text.lines().nth(1) == Some(OF_SERVICE_MANAGER)
    }
}

/// The second line of the lock file of a daemon that a service manager started.
pub const OF_SERVICE_MANAGER: &str = "service";

/// The identifier of this boot; empty if the system does not give one.
fn this_boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// A time in words for people, with years of four digits.
fn utc(unix_s: u64) -> String {
    // Days since the first of March of the year 0, so that a leap day is the last of its year (proleptic Gregorian
    // calendar; 146,097 days are 400 years).
    let (days, second) = (unix_s / 86_400 + 719_468, unix_s % 86_400);
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// At most this many characters of the time in the file are shown.
const TIME_CHARS_MAX: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Programs;

    fn home() -> (tempfile::TempDir, Home, Settings) {
        let base = tempfile::tempdir().unwrap();
        let programs = Programs { daemon: "/x/daemon".into(), card: "/x/card".into(), manifest: None };
        let settings = Settings::new(programs);
        let home = Home::create(&base.path().join("home"), &settings).unwrap();
        (base, home, settings)
    }

    #[test]
    fn a_stop_counts_until_it_is_forgotten() {
        let (_base, home, mut settings) = home();
        assert_eq!(home.may_autostart(&settings), Ok(()));
        for by in [StoppedBy::Command, StoppedBy::Signal] {
            home.note_stopped(951_782_400, by).unwrap();
            settings.daemon.autostart = Some(true);
            let stopped = NoAutostart::Stopped { at: "2000-02-29 00:00:00 UTC".into() };
            assert_eq!(home.may_autostart(&settings), Err(stopped));
            home.forget_stopped().unwrap();
            home.forget_stopped().unwrap();
            assert_eq!(home.may_autostart(&settings), Ok(()));
        }
    }

    #[test]
    fn a_signal_counts_until_the_machine_starts_again_and_what_does_not_read_counts() {
        let (_base, home, settings) = home();
        fs::write(home.stopped_path(), "2026-01-01 00:00:00 UTC\nanother-boot\n").unwrap();
        assert_eq!(home.may_autostart(&settings), Ok(()));
        for text in [&b""[..], b"\xFF\xFE", b"\x1b[31m\n\n"] {
            fs::write(home.stopped_path(), text).unwrap();
            let refused = home.may_autostart(&settings).unwrap_err();
            assert!(matches!(&refused, NoAutostart::Stopped { at } if !at.contains('\x1b')), "{refused}");
        }
    }

    #[test]
    fn the_settings_go_before_who_started_the_last_daemon() {
        let (_base, home, mut settings) = home();
        fs::write(home.lock(), format!("77\n{OF_SERVICE_MANAGER}\n")).unwrap();
        assert_eq!(home.may_autostart(&settings), Err(NoAutostart::Service));
        settings.daemon.autostart = Some(true);
        assert_eq!(home.may_autostart(&settings), Ok(()));
        fs::write(home.lock(), "77\n").unwrap();
        settings.daemon.autostart = Some(false);
        assert_eq!(home.may_autostart(&settings), Err(NoAutostart::Settings));
        settings.daemon.autostart = None;
        assert_eq!(home.may_autostart(&settings), Ok(()));
        settings.service = Some("/etc/service.toml".into());
        assert_eq!(home.may_autostart(&settings), Err(NoAutostart::Service));
    }

    #[test]
    fn times_read_as_the_calendar_says() {
        for (unix_s, text) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (1_709_251_199, "2024-02-29 23:59:59 UTC"),
            (1_709_251_200, "2024-03-01 00:00:00 UTC"),
            (4_102_444_800, "2100-01-01 00:00:00 UTC"),
            (u64::from(u32::MAX), "2106-02-07 06:28:15 UTC"),
        ] {
            assert_eq!(utc(unix_s), text);
        }
    }
}
