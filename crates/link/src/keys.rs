//! The key table: tokens of opened labels, written by the daemon, read by cards.
//!
//! A request names an entry and the generation that it had when the label was opened
//! ([`KeyReference`]). The generation is the entry's seqlock as well: odd while it is written, and
//! another one after each change. A reader that finds another generation than its reference names,
//! before or after its copy, has a stale reference; it never has to try again.
//!
//! ```text
//! entry (4096 bytes)   0 generation, 8 tenant, 16 note length, 24 token length,
//!                      64 note (up to 128), 192 token (up to 3500)
//! ```
//!
//! The table is a file in the home's run folder, not a sealed memory: a new daemon finds it there
//! and goes on with the generations of the old one, while cards keep their mapping. Only the daemon's
//! user can enter that folder.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::Ordering;

use rustix::fs::{Mode, OFlags};

use wire::KeyReference;
use wire::bounds::{KEY_TABLE_ENTRIES, KEY_TABLE_ENTRY_BYTES, TOKEN_BYTES_MAX};

use crate::memory::{self, Access, Inherit, JoinError, Mapping, PAGE_BYTES};
use crate::protocol;
use crate::queue::invalid;

/// Longest note of an entry: what the daemon wants to know about it again, such as its label.
pub const NOTE_BYTES_MAX: usize = 128;

const TABLE_MAGIC: u64 = u64::from_le_bytes(*b"cryptKT\0");
const TABLE_VERSION: u64 = 1;
const TABLE_BYTES: usize = PAGE_BYTES + KEY_TABLE_ENTRIES * KEY_TABLE_ENTRY_BYTES;

const MAGIC: usize = 0;
const VERSION: usize = 8;
/// Entries from here on were never written: nobody need look at them, so that their pages, 16 MiB
/// of them, are not brought into memory.
const USED: usize = 16;

const GENERATION: usize = 0;
const TENANT: usize = 8;
const NOTE_LENGTH: usize = 16;
const TOKEN_LENGTH: usize = 24;
const NOTE: usize = 64;
const TOKEN: usize = NOTE + NOTE_BYTES_MAX;

const _: () = assert!(TOKEN + TOKEN_BYTES_MAX.next_multiple_of(8) <= KEY_TABLE_ENTRY_BYTES);

/// The reference names an entry that is not, or no longer, this tenant's key. Which of these it is,
/// is not said: a tenant learns nothing of another's entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stale;

impl std::fmt::Display for Stale {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the key reference is not valid for this tenant; open the label again")
    }
}

impl std::error::Error for Stale {}

/// An entry in use, as the daemon reads it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What names it.
    pub reference: KeyReference,
    /// Whose it is.
    pub tenant: u32,
    /// What was noted with it.
    pub note: Vec<u8>,
    /// Its token.
    pub token: Vec<u8>,
}

/// The daemon's end of the key table: the only writer.
#[derive(Debug)]
pub struct KeyTable {
    mapping: Mapping,
    file: OwnedFd,
}

impl KeyTable {
    /// Opens the table at a path, or makes an empty one where there is none. An entry that a daemon
    /// was writing when it died is revoked. There must be one writer at a time: the daemon holds its home's lock.
    ///
    /// # Errors
    /// Of the system calls; `InvalidInput` where the file is not a key table of this version.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?;
        if rustix::fs::fstat(&file)?.st_size == 0 {
            rustix::fs::ftruncate(&file, TABLE_BYTES as u64)?;
        }
        let mapping =
            Mapping::file(file.as_fd(), TABLE_BYTES, Access::Write, Inherit::Shared).map_err(invalid)?;
        if mapping.load(MAGIC) == 0 && mapping.load(VERSION) == 0 {
            mapping.store(VERSION, TABLE_VERSION);
            mapping.store(MAGIC, TABLE_MAGIC);
        }
        check_head(&mapping).map_err(invalid)?;
        let table = Self { mapping, file };
        for slot in 0..table.used() {
            if !table.generation(slot).is_multiple_of(2) {
                table.write(slot, 0, &[], &[]);
            }
        }
        Ok(table)
    }

    /// A descriptor of the table for a card: read-only.
    ///
    /// # Errors
    /// No descriptor left, or no `/proc`.
    pub fn read_only(&self) -> io::Result<OwnedFd> {
        memory::read_only(self.file.as_fd())
    }

    /// Replaces an entry; references to what it held become stale.
    ///
    /// # Panics
    /// As [`KeyTable::put_noted`].
    pub fn put(&self, slot: u32, tenant: u32, token: &[u8]) -> KeyReference {
        self.put_noted(slot, tenant, &[], token)
    }

    /// As [`KeyTable::put`], with a note that [`KeyTable::entry`] gives back, to this daemon or a later one.
    ///
    /// # Panics
    /// If the slot is not below [`KEY_TABLE_ENTRIES`], the token is empty or longer than
    /// [`TOKEN_BYTES_MAX`], or the note longer than [`NOTE_BYTES_MAX`]: the key store holds no such token.
    pub fn put_noted(&self, slot: u32, tenant: u32, note: &[u8], token: &[u8]) -> KeyReference {
        assert!(!token.is_empty(), "an entry holds a token");
        KeyReference { slot, generation: self.write(slot, tenant, note, token) }
    }

    /// Empties an entry; references to it become stale.
    ///
    /// # Panics
    /// If the slot is not below [`KEY_TABLE_ENTRIES`].
    pub fn revoke(&self, slot: u32) {
        self.write(slot, 0, &[], &[]);
    }

    /// An entry; `None` where it is empty or does not exist.
    pub fn entry(&self, slot: u32) -> Option<Entry> {
        let base = entry_offset(slot).filter(|_| slot < self.used())?;
        let token_bytes = length(&self.mapping, base + TOKEN_LENGTH, TOKEN_BYTES_MAX)?;
        let note_bytes = length(&self.mapping, base + NOTE_LENGTH, NOTE_BYTES_MAX)?;
        if token_bytes == 0 {
            return None;
        }
        let (mut note, mut token) = (Vec::new(), Vec::new());
        self.mapping.copy_to_private(base + NOTE, note_bytes, &mut note);
        self.mapping.copy_to_private(base + TOKEN, token_bytes, &mut token);
        let reference = KeyReference { slot, generation: self.generation(slot) };
        Some(Entry { reference, tenant: self.mapping.load(base + TENANT) as u32, note, token })
    }

    /// Every entry in use.
    pub fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        (0..self.used()).filter_map(|slot| self.entry(slot))
    }

    fn used(&self) -> u32 {
        self.mapping.load(USED).min(KEY_TABLE_ENTRIES as u64) as u32
    }

    fn generation(&self, slot: u32) -> u64 {
        entry_offset(slot).map_or(0, |base| self.mapping.load(base + GENERATION))
    }

    fn write(&self, slot: u32, tenant: u32, note: &[u8], token: &[u8]) -> u64 {
        assert!(token.len() <= TOKEN_BYTES_MAX && note.len() <= NOTE_BYTES_MAX, "longer than an entry holds");
        let base = entry_offset(slot).expect("the daemon gives out existing slots");
        if slot >= self.used() {
            self.mapping.store(USED, u64::from(slot) + 1);
        }
        let generation = self.mapping.writable(base + GENERATION);
        let odd = protocol::begin_write(generation);
        let before = length(&self.mapping, base + TOKEN_LENGTH, TOKEN_BYTES_MAX).unwrap_or(TOKEN_BYTES_MAX);
        self.mapping.store(base + TENANT, u64::from(tenant));
        self.mapping.store(base + NOTE_LENGTH, note.len() as u64);
        self.mapping.store(base + TOKEN_LENGTH, token.len() as u64);
        self.mapping.copy_from_private(base + NOTE, note);
        self.mapping.copy_from_private(base + TOKEN, token);
        for at in (token.len().next_multiple_of(8)..before.next_multiple_of(8)).step_by(8) {
            self.mapping.store(base + TOKEN + at, 0);
        }
        protocol::end_write(generation, odd)
    }
}

/// A card's view of the key table.
#[derive(Debug)]
pub struct KeyTableView {
    mapping: Mapping,
}

impl KeyTableView {
    /// Joins the table as a reader.
    ///
    /// # Errors
    /// [`JoinError`] where the descriptor is not a key table of this version.
    pub fn join(fd: BorrowedFd<'_>) -> Result<Self, JoinError> {
        let mapping = Mapping::file(fd, TABLE_BYTES, Access::Read, Inherit::Shared)?;
        check_head(&mapping)?;
        Ok(Self { mapping })
    }

    /// Replaces the content of `token` by the token that the reference names, where it is `tenant`'s.
    ///
    /// # Errors
    /// [`Stale`]; `token` is then empty.
    pub fn read(&self, reference: KeyReference, tenant: u32, token: &mut Vec<u8>) -> Result<(), Stale> {
        let read = self.copy(reference, tenant, token);
        if read.is_none() {
            token.clear();
        }
        read.ok_or(Stale)
    }

    fn copy(&self, reference: KeyReference, tenant: u32, token: &mut Vec<u8>) -> Option<()> {
        let base = entry_offset(reference.slot)?;
        let generation = self.mapping.word(base + GENERATION);
        if !reference.generation.is_multiple_of(2) || protocol::look(generation) != reference.generation {
            return None;
        }
        let owner = self.mapping.load(base + TENANT);
        let bytes = length(&self.mapping, base + TOKEN_LENGTH, TOKEN_BYTES_MAX)?;
        self.mapping.copy_to_private(base + TOKEN, bytes, token);
        let whole = protocol::is_unchanged(generation, reference.generation);
        (whole && bytes != 0 && owner == u64::from(tenant)).then_some(())
    }
}

fn entry_offset(slot: u32) -> Option<usize> {
    ((slot as usize) < KEY_TABLE_ENTRIES).then(|| PAGE_BYTES + slot as usize * KEY_TABLE_ENTRY_BYTES)
}

fn length(mapping: &Mapping, offset: usize, max: usize) -> Option<usize> {
    usize::try_from(mapping.load(offset)).ok().filter(|length| *length <= max)
}

fn check_head(mapping: &Mapping) -> Result<(), JoinError> {
    match (mapping.load(MAGIC), mapping.word(VERSION).load(Ordering::Relaxed)) {
        (TABLE_MAGIC, TABLE_VERSION) => Ok(()),
        (TABLE_MAGIC, found) => Err(JoinError::Version { found }),
        (found, _) => Err(JoinError::Magic { found }),
    }
}
