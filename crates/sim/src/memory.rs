//! The shared memories of a run: the meaning of each word, and the check that dead processes write nothing.

use rustix::fs::OFlags;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

/// How many bytes of a memory are compared: heads and slots; blocks for long texts lie behind.
const LOOKED_BYTES: usize = 320 * 1024;

/// A mapping of a shared memory.
pub struct Memory {
    process: Option<usize>,
    bytes: usize,
    inode: u64,
    /// The memory itself, where the process that mapped it can write it.
    written: Option<OwnedFd>,
}

/// Hashes, taken at its death, of the memories that only a killed process could write.
pub struct LastWords(Vec<(OwnedFd, u64, usize)>);

impl Memory {
    /// A mapping of this length by this process.
    ///
    /// # Errors
    /// The system's error.
    pub fn new(process: Option<usize>, bytes: usize, fd: BorrowedFd<'_>) -> io::Result<Self> {
        let is_written = rustix::fs::fcntl_getfl(fd)?.contains(OFlags::RDWR);
        let written = if is_written { Some(fd.try_clone_to_owned()?) } else { None };
        Ok(Self { process, bytes, inode: rustix::fs::fstat(fd)?.st_ino, written })
    }
}

impl Memory {
    /// Writes into a memory that its process may write, for the test of the oracle.
    pub fn scribble(&self) {
        if let Some(fd) = &self.written {
            let _ = rustix::io::pwrite(fd, b"scribble", 4_000);
        }
    }
}

/// The word at an address: inode and offset.
pub fn word(memories: &BTreeMap<usize, Memory>, address: usize) -> (u64, usize) {
    match memories.range(..=address).next_back() {
        Some((base, memory)) if address - base < memory.bytes => (memory.inode, address - base),
        _ => (0, address),
    }
}

impl LastWords {
    /// Hashes of the memories that this process alone can write.
    pub fn of(memories: &BTreeMap<usize, Memory>, process: usize) -> Self {
        let own = memories.values().filter(|memory| memory.process == Some(process));
        let mut words = Vec::new();
        for memory in own {
            let is_shared = memories.values().any(|other| {
                other.inode == memory.inode && other.process != Some(process) && other.written.is_some()
            });
            let copy = memory.written.as_ref().filter(|_| !is_shared).and_then(|fd| fd.try_clone().ok());
            if let Some(fd) = copy {
                let hash = hash(&fd);
                words.push((fd, hash, memory.bytes));
            }
        }
        Self(words)
    }

    /// Length of a memory that was written since its hash was taken.
    pub fn changed(&self) -> Option<usize> {
        self.0.iter().find(|(fd, before, _)| hash(fd) != *before).map(|(_, _, bytes)| *bytes)
    }
}

fn hash(fd: &OwnedFd) -> u64 {
    let mut bytes = vec![0; LOOKED_BYTES];
    let count = rustix::io::pread(fd, &mut bytes, 0).unwrap_or(0);
    let words = bytes[..count].as_chunks::<8>().0;
    words.iter().fold(count as u64, |hash, word| {
        (hash ^ u64::from_le_bytes(*word)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
    })
}
