//! The key table: tokens of opened labels, written by the daemon, read by cards.
//!
//! A request names an entry and the generation that it had when the label was opened
//! ([`KeyReference`]). The generation is also the entry's seqlock: odd while the entry is written,
//! and different after each change. A reader whose reference names another generation, before or
//! after its copy, has a stale reference and never has to try again.
//!
//! ```text
//! page 0      0 magic, 8 version, 16 entries that were ever written
//! page 1      a line of 64 bytes for each entry: 0 generation, 8 tenant, 16 note length, 24 token length,
//!             32 uses
//! page 65     units of a page: an entry is a run of them from its own on, with its note (up to 128 bytes),
//!             then its token (up to 16 KiB)
//! ```
//! The lines lie apart from the units, so that no byte of a token can be read as a generation. The
//! writer knows to which run a unit belongs: the line of a unit that continues an entry is that of
//! an empty entry.
//!
//! The table is a file in the home's run folder, not a sealed memory: a new daemon finds it there
//! and continues its generations, while cards keep their mapping. Only the daemon's user can enter
//! that folder.

use crate::head::Head;
use crate::memory::{self, Access, Inherit, JoinError, Mapping, PAGE_BYTES, invalid};
use crate::protocol;
use rustix::fs::{Mode, OFlags};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use wire::KeyReference;
use wire::bounds::{FRAME_BYTES, KEY_TABLE_ENTRIES, KEY_TABLE_UNIT_BYTES, TOKEN_BYTES_MAX};
use wire::uses::Uses;

/// Longest note of an entry in bytes: data for a later daemon, such as the entry's label.
pub const NOTE_BYTES_MAX: usize = 128;

const HEAD: Head = Head::new(*b"cryptKT\0", 3);
/// Length of a key table in bytes.
pub const KEY_TABLE_BYTES: usize = UNITS + KEY_TABLE_ENTRIES * KEY_TABLE_UNIT_BYTES;

/// Offset of the number of entries that were ever written; later entries are not read, so that
/// their pages are not brought into memory.
const USED: usize = 16;

const GENERATION: usize = 0;
const TENANT: usize = 8;
const NOTE_LENGTH: usize = 16;
const TOKEN_LENGTH: usize = 24;
const USES: usize = 32;

/// Offsets at which the lines and the units begin.
const LINES: usize = PAGE_BYTES;
const UNITS: usize = LINES + KEY_TABLE_ENTRIES * FRAME_BYTES;

const _: () = assert!(UNITS.is_multiple_of(PAGE_BYTES) && NOTE_BYTES_MAX.is_multiple_of(8));
const _: () = assert!(TOKEN_BYTES_MAX.is_multiple_of(8));

/// The reference names an entry that is not, or no longer, this tenant's key. The two cases are not
/// distinguished, so that a tenant learns nothing about entries of others.
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
pub struct KeyTableEntry {
    /// The reference that names the entry.
    pub reference: KeyReference,
    /// Tenant that the entry belongs to.
    pub tenant: u32,
    /// The uses that the entry allows of its key.
    pub uses: Uses,
    /// The note that was written with the entry.
    pub note: Vec<u8>,
    /// Token of the entry.
    pub token: Vec<u8>,
}

/// The daemon's end of the key table: the only writer.
#[derive(Debug)]
pub struct KeyTable {
    mapping: Mapping,
    file: OwnedFd,
}

impl KeyTable {
    /// Opens the table at a path, or makes an empty one if the file is missing or empty. An entry
    /// that a daemon was writing when it died is revoked. There must be one writer at a time: the
    /// daemon holds its home's lock.
    ///
    /// # Errors
    /// Of the system calls; `InvalidInput` if the file is not a key table of this version.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?;
        if rustix::fs::fstat(&file)?.st_size == 0 {
            rustix::fs::ftruncate(&file, KEY_TABLE_BYTES as u64)?;
        }
        let mapping =
            Mapping::file(file.as_fd(), KEY_TABLE_BYTES, Access::Write, Inherit::Shared).map_err(invalid)?;
        HEAD.begin_or_check(&mapping).map_err(invalid)?;
        let table = Self { mapping, file };
        for slot in 0..table.used() {
            if !table.generation(slot).is_multiple_of(2) {
                table.revoke(slot);
            }
        }
        Ok(table)
    }

    /// A descriptor of the table for a card: read-only.
    ///
    /// # Errors
    /// No descriptor is left, or no `/proc`.
    pub fn read_only(&self) -> io::Result<OwnedFd> {
        memory::read_only(self.file.as_fd())
    }

    /// Replaces an entry, for all uses; references to the former entry become stale.
    ///
    /// # Panics
    /// As [`KeyTable::put_noted`].
    pub fn put(&self, slot: u32, tenant: u32, token: &[u8]) -> KeyReference {
        self.put_noted(slot, tenant, Uses::ALL, &[], token)
    }

    /// As [`KeyTable::put`], for these uses, with a note that [`KeyTable::entry`] returns, to this
    /// daemon or a later one. No other entry may have the units.
    ///
    /// # Panics
    /// If the [units](key_table_units) from `slot` on do not all exist, the token is empty or
    /// longer than [`TOKEN_BYTES_MAX`], or the note is longer than [`NOTE_BYTES_MAX`]. The key
    /// store holds no such token.
    pub fn put_noted(&self, slot: u32, tenant: u32, uses: Uses, note: &[u8], token: &[u8]) -> KeyReference {
        assert!(!token.is_empty(), "an entry holds a token");
        KeyReference { slot, generation: self.write(slot, tenant, uses, note, token) }
    }

    /// Changes the uses that an entry allows of its key, at once; references to the entry stay
    /// valid.
    ///
    /// # Panics
    /// If the slot is not below [`KEY_TABLE_ENTRIES`].
    pub fn set_uses(&self, slot: u32, uses: Uses) {
        let base = line(slot).expect("the daemon gives out existing slots");
        self.mapping.store(base + USES, u64::from(uses.bits()));
    }

    /// Empties an entry; references to it become stale.
    ///
    /// # Panics
    /// If the slot is not below [`KEY_TABLE_ENTRIES`].
    pub fn revoke(&self, slot: u32) {
        self.write(slot, 0, Uses::NONE, &[], &[]);
    }

    /// An entry; `None` if it is empty or does not exist.
    pub fn entry(&self, slot: u32) -> Option<KeyTableEntry> {
        let base = line(slot).filter(|_| slot < self.used())?;
        let (unit, token_bytes) = token_at(&self.mapping, slot)?;
        let note_bytes = length(&self.mapping, base + NOTE_LENGTH, NOTE_BYTES_MAX)?;
        if token_bytes == 0 {
            return None;
        }
        let (mut note, mut token) = (Vec::new(), Vec::new());
        self.mapping.copy_to_private(unit, note_bytes, &mut note);
        self.mapping.copy_to_private(unit + NOTE_BYTES_MAX, token_bytes, &mut token);
        let reference = KeyReference { slot, generation: self.generation(slot) };
        let (tenant, uses) = (self.mapping.load(base + TENANT) as u32, uses(&self.mapping, base)?);
        Some(KeyTableEntry { reference, tenant, uses, note, token })
    }

    /// Every entry in use.
    pub fn entries(&self) -> impl Iterator<Item = KeyTableEntry> + '_ {
        (0..self.used()).filter_map(|slot| self.entry(slot))
    }

    fn used(&self) -> u32 {
        self.mapping.load(USED).min(KEY_TABLE_ENTRIES as u64) as u32
    }

    fn generation(&self, slot: u32) -> u64 {
        line(slot).map_or(0, |base| self.mapping.load(base + GENERATION))
    }

    fn write(&self, slot: u32, tenant: u32, uses: Uses, note: &[u8], token: &[u8]) -> u64 {
        assert!(token.len() <= TOKEN_BYTES_MAX && note.len() <= NOTE_BYTES_MAX, "longer than an entry holds");
        let end = slot as usize + key_table_units(token.len());
        assert!(end <= KEY_TABLE_ENTRIES, "the daemon gives out existing slots");
        let base = line(slot).expect("the daemon gives out existing slots");
        let unit = unit(slot);
        if slot >= self.used() {
            self.mapping.store(USED, u64::from(slot) + 1);
        }
        let generation = self.mapping.writable(base + GENERATION);
        let odd = protocol::begin_write(generation);
        let before = token_at(&self.mapping, slot).map_or(0, |(_, bytes)| bytes);
        self.mapping.store(base + TENANT, u64::from(tenant));
        self.mapping.store(base + USES, u64::from(uses.bits()));
        self.mapping.store(base + NOTE_LENGTH, note.len() as u64);
        self.mapping.store(base + TOKEN_LENGTH, token.len() as u64);
        self.mapping.copy_from_private(unit, note);
        self.mapping.copy_from_private(unit + NOTE_BYTES_MAX, token);
        for at in (token.len().next_multiple_of(8)..before.next_multiple_of(8)).step_by(8) {
            self.mapping.store(unit + NOTE_BYTES_MAX + at, 0);
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
    /// [`JoinError`] if the descriptor is not a key table of this version.
    pub fn join(fd: BorrowedFd<'_>) -> Result<Self, JoinError> {
        let mapping = Mapping::file(fd, KEY_TABLE_BYTES, Access::Read, Inherit::Shared)?;
        HEAD.check(&mapping)?;
        Ok(Self { mapping })
    }

    /// Replaces the content of `token` by the token that the reference names, if the token is
    /// `tenant`'s, and returns the uses that its entry allows.
    ///
    /// # Errors
    /// [`Stale`]; `token` is then empty.
    pub fn read(&self, reference: KeyReference, tenant: u32, token: &mut Vec<u8>) -> Result<Uses, Stale> {
        let read = self.copy(reference, tenant, token);
        if read.is_none() {
            token.clear();
        }
        read.ok_or(Stale)
    }

    fn copy(&self, reference: KeyReference, tenant: u32, token: &mut Vec<u8>) -> Option<Uses> {
        let base = line(reference.slot)?;
        let generation = self.mapping.word(base + GENERATION);
        if !reference.generation.is_multiple_of(2) || protocol::look(generation) != reference.generation {
            return None;
        }
        let (owner, uses) = (self.mapping.load(base + TENANT), uses(&self.mapping, base)?);
        let (unit, bytes) = token_at(&self.mapping, reference.slot)?;
        self.mapping.copy_to_private(unit + NOTE_BYTES_MAX, bytes, token);
        let whole = protocol::is_unchanged(generation, reference.generation);
        (whole && bytes != 0 && owner == u64::from(tenant)).then_some(uses)
    }
}

/// Number of units that an entry with a token of this length takes.
pub const fn key_table_units(token_bytes: usize) -> usize {
    (NOTE_BYTES_MAX + token_bytes).div_ceil(KEY_TABLE_UNIT_BYTES)
}

/// Offset of an entry's line; none if the entry does not exist.
fn line(slot: u32) -> Option<usize> {
    ((slot as usize) < KEY_TABLE_ENTRIES).then(|| LINES + slot as usize * FRAME_BYTES)
}

/// Offset of the first unit of an existing entry.
fn unit(slot: u32) -> usize {
    UNITS + slot as usize * KEY_TABLE_UNIT_BYTES
}

/// Offset of an entry's first unit, and the length of its token in bytes; none if the token does
/// not lie within the table.
fn token_at(mapping: &Mapping, slot: u32) -> Option<(usize, usize)> {
    let bytes = length(mapping, line(slot)? + TOKEN_LENGTH, TOKEN_BYTES_MAX)?;
    (slot as usize + key_table_units(bytes) <= KEY_TABLE_ENTRIES).then(|| (unit(slot), bytes))
}

fn length(mapping: &Mapping, offset: usize, max: usize) -> Option<usize> {
    usize::try_from(mapping.load(offset)).ok().filter(|length| *length <= max)
}

fn uses(mapping: &Mapping, base: usize) -> Option<Uses> {
    Uses::from_bits(u32::try_from(mapping.load(base + USES)).ok()?).ok()
}
