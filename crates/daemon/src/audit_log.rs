//! The files of an auditor's lines: one for what administrators do, one for what everybody else does.
//!
//! ```text
//! log/audit.log          administrators: nothing that anybody else does is written to it or rotates it
//! log/audit-guests.log   everybody else, within bounds for each user and for all
//! ```
//! Each is for the daemon's user alone, and has one file aside (`*.old.log`) and room of its own on the disk. The same
//! lines go to standard error, and so to the journal.

use crate::log::{LOG_BYTES_MAX, Log};
use home::Home;
use std::io::{self, Write};
use std::path::PathBuf;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

/// The target of lines that stand in these files, and so not in `daemon.log`.
pub const TARGET: &str = "audit";

/// The two files of an auditor's lines.
pub struct AuditLog {
    administrators: Kept,
    guests: Kept,
}

/// One file of lines; it is not open while it cannot be written.
struct Kept {
    path: PathBuf,
    log: Option<Log>,
    /// Why the last line was not written.
    failed: Option<String>,
}

impl AuditLog {
    /// Opens the files of a home. A file that cannot be opened is tried again with each line.
    pub fn open(home: &Home) -> Self {
        let [administrators, guests] =
            ["audit.log", "audit-guests.log"].map(|name| Kept::open(home.logs().join(name)));
        Self { administrators, guests }
    }

    /// Writes a line, about somebody who administers the home or about somebody else.
    pub fn write(&mut self, administers: bool, text: &str) {
        let mut line = String::with_capacity(text.len() + 48);
        // Writing into a string does not fail.
        let _ = tracing_subscriber::fmt::time().format_time(&mut Writer::new(&mut line));
        line.push_str("  INFO audit ");
        line.push_str(text);
        line.push('\n');
        let kept = if administers { &mut self.administrators } else { &mut self.guests };
        kept.write(&line);
    }

    /// Why lines are not written, in words; `None` if they are.
    pub fn trouble(&self) -> Option<String> {
        let of = |kept: &Kept| Some(format!("{}: {}", kept.path.display(), kept.failed.as_ref()?));
        of(&self.administrators).or_else(|| of(&self.guests))
    }
}

impl Kept {
    fn open(path: PathBuf) -> Self {
        let mut kept = Self { path, log: None, failed: None };
        let opened = kept.opened().map(drop);
        kept.note(opened);
        kept
    }

    fn opened(&mut self) -> io::Result<&mut Log> {
        match &mut self.log {
            Some(log) => Ok(log),
            none => Ok(none.insert(Log::open(&self.path, LOG_BYTES_MAX)?)),
        }
    }

    fn write(&mut self, line: &str) {
        let written = self.opened().and_then(|log| log.write_all(line.as_bytes()));
        self.note(written);
    }

    fn note(&mut self, outcome: io::Result<()>) {
        let failed = outcome.err().map(|cause| cause.to_string());
        if let Some(cause) = failed.as_ref().filter(|_| self.failed.is_none()) {
            tracing::error!("{}: lines for an auditor are not written: {cause}", self.path.display());
        }
        if failed.is_some() {
            self.log = None;
        }
        self.failed = failed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use home::{Programs, Settings};
    use std::fs;
    use std::path::Path;

    fn made(folder: &Path) -> Home {
        let programs = Programs { daemon: "/d".into(), card: "/c".into(), manifest: None };
        Home::create(&folder.join("home"), &Settings::new(programs)).unwrap()
    }

    #[test]
    fn guests_neither_write_to_the_file_of_administrators_nor_rotate_it() {
        let folder = tempfile::tempdir().unwrap();
        let home = made(folder.path());
        fs::create_dir_all(home.logs()).unwrap();
        let mut log = AuditLog::open(&home);
        log.write(true, "act=\"master-key set\"");
        let line = format!("act=\"{}\"", "x".repeat(1000));
        for _ in 0..20_000 {
            log.write(false, &line);
        }
        assert_eq!(log.trouble(), None);
        let kept = fs::read_to_string(home.logs().join("audit.log")).unwrap();
        assert_eq!(kept.lines().count(), 1);
        assert!(kept.ends_with(" INFO audit act=\"master-key set\"\n"), "{kept}");
        assert!(!home.logs().join("audit.old.log").exists());
        assert!(home.logs().join("audit-guests.old.log").exists());
    }

    /// All that one tenant may write at the end of a day and at the beginning of the next, in lines as long as they may
    /// be.
    #[test]
    fn one_tenant_alone_takes_a_day_to_drive_a_line_out() {
        use crate::audit::{GUESTS_LINE_BYTES_MAX, guests_days};
        use crate::bounded::{DAY, Written};
        let folder = tempfile::tempdir().unwrap();
        let home = made(folder.path());
        fs::create_dir_all(home.logs()).unwrap();
        let mut log = AuditLog::open(&home);
        let line = "x".repeat(GUESTS_LINE_BYTES_MAX);
        let read = |name: &str| fs::read_to_string(home.logs().join(name)).unwrap_or_default();
        let (mut days, begin) = (guests_days(), std::time::Instant::now());
        // The file is nearly full: a line written now is the soonest to be rotated away.
        for _ in 0..8_800 {
            log.write(false, &line);
        }
        log.write(false, "act=\"key-record-delete\"");
        assert!(!home.logs().join("audit-guests.old.log").exists());
        for now in [begin, begin + DAY] {
            for _ in 0..50_000 {
                if days.take(7, now) != Written::LeftOut {
                    log.write(false, &line);
                }
            }
        }
        assert!(home.logs().join("audit-guests.old.log").exists());
        assert!((read("audit-guests.log") + &read("audit-guests.old.log")).contains("key-record-delete"));
    }

    /// The attack succeeds if one file takes the lines of everybody without a bound.
    #[test]
    fn in_one_file_the_lines_of_strangers_drive_the_others_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("one.log");
        let mut log = Log::open(&path, 10_000).unwrap();
        writeln!(log, "act=\"master-key set\"").unwrap();
        for _ in 0..1_000 {
            writeln!(log, "disconnected: {}", "x".repeat(60)).unwrap();
        }
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(!(read("one.log") + &read("one.old.log")).contains("master-key set"));
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named_until_it_can() {
        let folder = tempfile::tempdir().unwrap();
        let home = made(folder.path());
        fs::create_dir_all(home.logs().join("audit.log")).unwrap();
        let mut log = AuditLog::open(&home);
        assert!(log.trouble().unwrap().contains("audit.log"));
        log.write(false, "act=\"use key\"");
        log.write(true, "act=\"stop\"");
        assert!(log.trouble().is_some());
        fs::remove_dir(home.logs().join("audit.log")).unwrap();
        log.write(true, "act=\"stop\"");
        assert_eq!(log.trouble(), None);
    }
}
