//! A log file of bounded length.

use crate::rows::reserve;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Disk space reserved for further lines of a log, in bytes: on a full disk the log still records which operations
/// failed for lack of space.
const RESERVED_BYTES: u64 = 256 << 10;
/// Length that a log is kept to, in bytes; as much again is kept aside as `*.old.log`.
pub const LOG_BYTES_MAX: u64 = 8 << 20;

/// Opens a log for appending, accessible to its owner only. A log longer than `bytes_max` is renamed to `*.old.log`
/// first.
///
/// # Errors
/// The error of the system call that failed.
pub fn open(path: &Path, bytes_max: u64) -> io::Result<File> {
    if path.metadata().is_ok_and(|found| found.len() > bytes_max) {
        std::fs::rename(path, path.with_extension("old.log"))?;
    }
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

/// A log file that is renamed to `*.old.log` and begun anew whenever it is longer than `bytes_max`.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    file: File,
    bytes: u64,
    bytes_max: u64,
    /// Offset up to which disk space is reserved, in bytes.
    reserved: u64,
}

impl Log {
    /// Opens a log for appending, and reserves disk space for further lines.
    ///
    /// # Errors
    /// The error of the system call that failed.
    pub fn open(path: &Path, bytes_max: u64) -> io::Result<Self> {
        let file = open(path, bytes_max)?;
        let bytes = file.metadata()?.len();
        let mut log = Self { path: path.to_owned(), file, bytes, bytes_max, reserved: 0 };
        log.reserve();
        Ok(log)
    }

    /// Reserves space for further lines once half of the last reservation is used. On a full disk the old reservation
    /// stays.
    fn reserve(&mut self) {
        let wanted = self.bytes + RESERVED_BYTES;
        if self.reserved < wanted - RESERVED_BYTES / 2 && reserve(&self.file, wanted).is_ok() {
            self.reserved = wanted;
        }
    }
}

impl Write for Log {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        if self.bytes > self.bytes_max {
            self.file = open(&self.path, self.bytes_max)?;
            (self.bytes, self.reserved) = (0, 0);
        }
        let written = self.file.write(text)?;
        self.bytes += written as u64;
        self.reserve();
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_keeps_its_newest_lines_and_no_more_than_twice_its_length() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("daemon.log");
        let mut log = Log::open(&path, 1000).unwrap();
        for line in 0..500 {
            writeln!(log, "line {line}").unwrap();
        }
        let read = |path: &Path| std::fs::read_to_string(path).unwrap();
        let (new, old) = (read(&path), read(&folder.path().join("daemon.old.log")));
        assert!(new.ends_with("line 499\n") && new.len() <= 1100 && old.len() <= 1100);
        assert!((old + &new).contains("line 400\n"));
    }
}
