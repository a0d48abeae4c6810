//! Notices whether a file has changed since it was read.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A file's device, inode, size, and times of modification and change; a later content of the file differs in one of
/// them.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct FileState([i64; 7]);

impl FileState {
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let of = std::fs::metadata(path).ok()?;
        let (device, file, size) = (of.dev() as i64, of.ino() as i64, of.size() as i64);
        Some(Self([device, file, size, of.mtime(), of.mtime_nsec(), of.ctime(), of.ctime_nsec()]))
    }
}
