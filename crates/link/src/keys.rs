//! The key table: tokens of opened labels, written by the daemon, read by cards.
//!
//! A request names an entry and the generation that it had when the label was opened
//! ([`KeyReference`]). The generation is also the entry's seqlock: odd while the entry is written,
//! and different after each change. A reader whose reference names another generation, before or
//! after its copy, has a stale reference and never has to try again.
//!
//! ```text
//! page 0      0 magic, 8 version, 16 units that were ever used, 24 units, 32 first generation
//! page 1      a line of 64 bytes for each unit: 0 generation, 8 tenant, 16 note length, 24 token length, 32 uses,
//!             40 the unit that continues the one of this line
//! then        units of 512 bytes: an entry is a chain of them, with its note (up to 128 bytes), then its token (up to
//!             16 KiB)
//! ```
//! The lines lie apart from the units, so that no byte of a token can be read as a generation. The line of a unit that
//! continues an entry is that of an empty entry. A chain takes whichever units are free, so that a long token finds
//! room wherever as many units are free as it needs.
//!
//! Generations of a new table begin at a random number. So a reference into a table that was lost names nothing in the
//! table that took its place.
//!
//! The table is a file in the home's run folder, not a sealed memory: a new daemon finds it there
//! and continues its generations, while cards keep their mapping. Only the daemon's user can enter
//! that folder.

use crate::head::Head;
use crate::memory::{self, Access, Inherit, JoinError, Mapping, PAGE_BYTES, invalid};
use crate::{protocol, world};
use rustix::fs::{Mode, OFlags};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use wire::KeyReference;
use wire::bounds::{
    FRAME_BYTES, KEY_TABLE_UNIT_BYTES, KEY_TABLE_UNITS_PER_LABEL, LABELS, LABELS_DEFAULT, TOKEN_BYTES_MAX,
};
use wire::uses::Uses;

/// Longest note of an entry in bytes: data for a later daemon, such as the entry's label.
pub const NOTE_BYTES_MAX: usize = 128;

const HEAD: Head = Head::new(*b"cryptKT\0", 4);

/// Offset of the number of units that were ever used; later ones are not read, so that their pages are not brought
/// into memory.
const USED: usize = 16;
/// Offset of the number of units.
const UNITS: usize = 24;
/// Offset of the generation that the first entry of each unit begins with.
const FIRST: usize = 32;

const GENERATION: usize = 0;
const TENANT: usize = 8;
const NOTE_LENGTH: usize = 16;
const TOKEN_LENGTH: usize = 24;
const USES: usize = 32;
const NEXT: usize = 40;

/// Offset at which the lines begin.
const LINES: usize = PAGE_BYTES;
/// Numbers of units are multiples of this one, so that units begin at a page.
const UNITS_STEP: usize = PAGE_BYTES / FRAME_BYTES;

const _: () = assert!(NOTE_BYTES_MAX.is_multiple_of(8) && NOTE_BYTES_MAX < KEY_TABLE_UNIT_BYTES);
const _: () = assert!(TOKEN_BYTES_MAX.is_multiple_of(8));

/// Number of units of a table with room for this many labels.
pub const fn key_table_units_for(labels: u32) -> usize {
    (labels as usize * KEY_TABLE_UNITS_PER_LABEL).next_multiple_of(UNITS_STEP)
}

/// Length of a table of this many units in bytes.
pub const fn key_table_bytes(units: usize) -> usize {
    LINES + units * (FRAME_BYTES + KEY_TABLE_UNIT_BYTES)
}

/// Number of units of a table of this length; none if no table is that long.
fn units_of(bytes: u64) -> Option<usize> {
    let units = usize::try_from(bytes).ok()?.checked_sub(LINES)? / (FRAME_BYTES + KEY_TABLE_UNIT_BYTES);
    let (least, most) = (key_table_units_for(*LABELS.start()), key_table_units_for(*LABELS.end()));
    let is_right = key_table_bytes(units) as u64 == bytes && units.is_multiple_of(UNITS_STEP);
    (is_right && (least..=most).contains(&units)).then_some(units)
}

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
    shared: Shared,
    file: OwnedFd,
    /// Units of those ever used that belong to no entry; the last is used next.
    free: Vec<u32>,
}

impl KeyTable {
    /// Opens the table at a path; if the file is missing or empty, makes an empty one of this many
    /// [units](key_table_units_for). An entry that a daemon was writing when it died is revoked. There must be one
    /// writer at a time: the daemon holds its home's lock.
    ///
    /// # Errors
    /// Of the system calls; `InvalidInput` if the file is not a key table of this version.
    ///
    /// # Panics
    /// If no table has this many units.
    pub fn open(path: &Path, units: usize) -> io::Result<Self> {
        assert!(units_of(key_table_bytes(units) as u64) == Some(units), "a table of {units} units");
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?;
        if rustix::fs::fstat(&file)?.st_size == 0 {
            rustix::fs::ftruncate(&file, key_table_bytes(units) as u64)?;
        }
        let (mapping, units) = map(file.as_fd(), Access::Write).map_err(invalid)?;
        if HEAD.words().iter().all(|(place, _)| mapping.load(*place) == 0) && mapping.load(FIRST) == 0 {
            // Before the magic: a daemon that ends in between leaves a file that the next one begins again.
            mapping.store(UNITS, units as u64);
            mapping.store(FIRST, first_generation());
        }
        HEAD.begin_or_check(&mapping).map_err(invalid)?;
        let mut table = Self { shared: Shared::of(mapping, units).map_err(invalid)?, file, free: Vec::new() };
        table.find_free();
        Ok(table)
    }

    /// Revokes what is no entry, or has a unit that another one has too, and notes which units are free.
    fn find_free(&mut self) {
        let used = self.shared.used();
        let begins = |slot: &u32| self.shared.load(*slot, TOKEN_LENGTH) != 0 || !self.is_even(*slot);
        let found: Vec<(u32, Option<Vec<u32>>)> =
            (0..used).filter(begins).map(|slot| (slot, self.whole(slot))).collect();
        // What a disk may have lost is told by units that are claimed twice: of none of those is known whose they are.
        let mut claims = vec![0_u32; used as usize];
        for (slot, chain) in &found {
            for unit in chain.as_deref().unwrap_or(&[*slot]) {
                claims[*unit as usize] += 1;
            }
        }
        let mut is_taken = vec![false; used as usize];
        for (slot, chain) in found {
            match chain.filter(|chain| chain.iter().all(|unit| claims[*unit as usize] == 1)) {
                Some(chain) => chain.iter().for_each(|unit| is_taken[*unit as usize] = true),
                None => self.empty(slot, &[]),
            }
        }
        self.free = (0..used).rev().filter(|unit| !is_taken[*unit as usize]).collect();
        // What an entry left that was torn or is gone.
        for unit in &self.free {
            self.shared.wipe(*unit);
            self.shared.store(*unit, NEXT, 0);
        }
    }

    fn is_even(&self, slot: u32) -> bool {
        self.shared.generation(slot).is_multiple_of(2)
    }

    /// The units of the entry that begins here, if it can be read back.
    fn whole(&self, slot: u32) -> Option<Vec<u32>> {
        let chain = self.shared.chain(slot).filter(|_| self.is_even(slot))?;
        self.shared.length(slot, NOTE_LENGTH, NOTE_BYTES_MAX)?;
        self.shared.uses(slot)?;
        Some(chain)
    }

    /// A descriptor of the table for a card: read-only.
    ///
    /// # Errors
    /// No descriptor is left, or no `/proc`.
    pub fn read_only(&self) -> io::Result<OwnedFd> {
        memory::read_only(self.file.as_fd())
    }

    /// Number of units of the table.
    pub fn units(&self) -> usize {
        self.shared.units
    }

    /// Number of units that belong to no entry.
    pub fn free(&self) -> usize {
        self.shared.units - self.shared.used() as usize + self.free.len()
    }

    /// Makes an entry, for all uses; `None` if fewer [units](key_table_units) are free than it needs.
    ///
    /// # Panics
    /// As [`KeyTable::put_noted`].
    pub fn put(&mut self, tenant: u32, token: &[u8]) -> Option<KeyReference> {
        self.put_noted(tenant, Uses::ALL, &[], token)
    }

    /// As [`KeyTable::put`], for these uses, with a note that [`KeyTable::entry`] returns, to this
    /// daemon or a later one.
    ///
    /// # Panics
    /// If the token is empty or longer than [`TOKEN_BYTES_MAX`], or the note is longer than [`NOTE_BYTES_MAX`]. The key
    /// store holds no such token.
    pub fn put_noted(&mut self, tenant: u32, uses: Uses, note: &[u8], token: &[u8]) -> Option<KeyReference> {
        assert!(!token.is_empty(), "an entry holds a token");
        assert!(token.len() <= TOKEN_BYTES_MAX && note.len() <= NOTE_BYTES_MAX, "longer than an entry holds");
        let chain = self.take(key_table_units(token.len()))?;
        let (shared, slot) = (&self.shared, *chain.first()?);
        let odd = shared.begin_write(slot);
        for pair in chain.windows(2) {
            shared.store(pair[0], NEXT, u64::from(pair[1]));
        }
        shared.store(slot, TENANT, u64::from(tenant));
        shared.store(slot, USES, u64::from(uses.bits()));
        shared.store(slot, NOTE_LENGTH, note.len() as u64);
        shared.store(slot, TOKEN_LENGTH, token.len() as u64);
        shared.mapping.copy_from_private(shared.unit(slot), note);
        let mut rest = token;
        for (at, bytes) in shared.pieces(&chain, token.len()) {
            let (piece, others) = rest.split_at(bytes);
            shared.mapping.copy_from_private(at, piece);
            rest = others;
        }
        Some(KeyReference { slot, generation: shared.end_write(slot, odd) })
    }

    /// The units of a new entry; `None` if fewer are free.
    fn take(&mut self, count: usize) -> Option<Vec<u32>> {
        if count > self.free() {
            return None;
        }
        let again = self.free.len().saturating_sub(count);
        let mut chain = self.free.split_off(again);
        chain.reverse();
        let used = self.shared.used();
        let new = used..used + (count - chain.len()) as u32;
        self.shared.mapping.store(USED, u64::from(new.end));
        chain.extend(new);
        Some(chain)
    }

    /// Changes the uses that an entry allows of its key, at once; references to the entry stay
    /// valid.
    ///
    /// # Panics
    /// If there is no such unit.
    pub fn set_uses(&mut self, slot: u32, uses: Uses) {
        self.shared.store(slot, USES, u64::from(uses.bits()));
    }

    /// Empties an entry; references to it become stale. Does nothing where no entry begins.
    pub fn revoke(&mut self, slot: u32) {
        let Some(chain) = self.shared.chain(slot) else { return };
        self.empty(slot, &chain);
        self.free.extend(chain.into_iter().rev());
    }

    fn empty(&self, slot: u32, chain: &[u32]) {
        let odd = self.shared.begin_write(slot);
        for place in [TENANT, USES, NOTE_LENGTH, TOKEN_LENGTH] {
            self.shared.store(slot, place, 0);
        }
        for unit in chain {
            self.shared.wipe(*unit);
            self.shared.store(*unit, NEXT, 0);
        }
        self.shared.end_write(slot, odd);
    }

    /// An entry; `None` if none begins at this unit.
    pub fn entry(&self, slot: u32) -> Option<KeyTableEntry> {
        let shared = &self.shared;
        let chain = shared.chain(slot)?;
        let note_bytes = shared.length(slot, NOTE_LENGTH, NOTE_BYTES_MAX)?;
        let (mut note, mut token) = (Vec::new(), Vec::new());
        shared.mapping.copy_to_private(shared.unit(slot), note_bytes, &mut note);
        for (at, bytes) in shared.pieces(&chain, shared.length(slot, TOKEN_LENGTH, TOKEN_BYTES_MAX)?) {
            shared.mapping.append_to_private(at, bytes, &mut token);
        }
        let reference = KeyReference { slot, generation: shared.generation(slot) };
        let (tenant, uses) = (shared.load(slot, TENANT) as u32, shared.uses(slot)?);
        Some(KeyTableEntry { reference, tenant, uses, note, token })
    }

    /// Number of units that were ever used: no entry begins behind them.
    pub fn used(&self) -> u32 {
        self.shared.used()
    }
}

/// A card's view of the key table.
#[derive(Debug)]
pub struct KeyTableView {
    shared: Shared,
}

impl KeyTableView {
    /// Joins the table as a reader.
    ///
    /// # Errors
    /// [`JoinError`] if the descriptor is not a key table of this version.
    pub fn join(fd: BorrowedFd<'_>) -> Result<Self, JoinError> {
        let (mapping, units) = map(fd, Access::Read)?;
        HEAD.check(&mapping)?;
        Ok(Self { shared: Shared::of(mapping, units)? })
    }

    /// Replaces the content of `token` by the token that the reference names, if the token is
    /// `tenant`'s, and returns the uses that its entry allows.
    ///
    /// # Errors
    /// [`Stale`]; `token` is then empty.
    pub fn read(&self, reference: KeyReference, tenant: u32, token: &mut Vec<u8>) -> Result<Uses, Stale> {
        token.clear();
        let read = self.copy(reference, tenant, token);
        if read.is_none() {
            token.clear();
        }
        read.ok_or(Stale)
    }

    fn copy(&self, reference: KeyReference, tenant: u32, token: &mut Vec<u8>) -> Option<Uses> {
        let (shared, slot) = (&self.shared, reference.slot);
        if slot >= shared.used() {
            return None;
        }
        let generation = shared.mapping.word(shared.line(slot) + GENERATION);
        if !reference.generation.is_multiple_of(2) || protocol::look(generation) != reference.generation {
            return None;
        }
        let (owner, uses) = (shared.load(slot, TENANT), shared.uses(slot)?);
        let bytes = shared.length(slot, TOKEN_LENGTH, TOKEN_BYTES_MAX)?;
        // Most tokens take one unit: no list is made of theirs.
        let (mut unit, mut at) = (slot, NOTE_BYTES_MAX);
        loop {
            let piece = (bytes - token.len()).min(KEY_TABLE_UNIT_BYTES - at);
            shared.mapping.append_to_private(shared.unit(unit) + at, piece, token);
            if token.len() == bytes {
                break;
            }
            (unit, at) = (shared.next(unit)?, 0);
        }
        let whole = protocol::is_unchanged(generation, reference.generation);
        (whole && bytes != 0 && owner == u64::from(tenant)).then_some(uses)
    }
}

/// The table, as either end has it.
#[derive(Debug)]
struct Shared {
    mapping: Mapping,
    units: usize,
}

impl Shared {
    /// A mapping with room for this many units, whose head must state as many.
    fn of(mapping: Mapping, units: usize) -> Result<Self, JoinError> {
        match mapping.load(UNITS) {
            stated if stated == units as u64 => Ok(Self { mapping, units }),
            stated => {
                let expected =
                    usize::try_from(stated).map_or(u64::MAX, |units| key_table_bytes(units) as u64);
                Err(JoinError::Size { expected, found: key_table_bytes(units) as u64 })
            }
        }
    }

    /// Units that were ever used.
    fn used(&self) -> u32 {
        self.mapping.load(USED).min(self.units as u64) as u32
    }

    /// Offset of the line of a unit.
    fn line(&self, unit: u32) -> usize {
        assert!((unit as usize) < self.units, "the daemon gives out existing units");
        LINES + unit as usize * FRAME_BYTES
    }

    /// Offset of a unit.
    fn unit(&self, unit: u32) -> usize {
        assert!((unit as usize) < self.units, "the daemon gives out existing units");
        LINES + self.units * FRAME_BYTES + unit as usize * KEY_TABLE_UNIT_BYTES
    }

    fn load(&self, unit: u32, place: usize) -> u64 {
        self.mapping.load(self.line(unit) + place)
    }

    fn store(&self, unit: u32, place: usize, value: u64) {
        self.mapping.store(self.line(unit) + place, value);
    }

    fn length(&self, slot: u32, place: usize, max: usize) -> Option<usize> {
        usize::try_from(self.load(slot, place)).ok().filter(|length| *length <= max)
    }

    fn uses(&self, slot: u32) -> Option<Uses> {
        Uses::from_bits(u32::try_from(self.load(slot, USES)).ok()?).ok()
    }

    fn generation(&self, slot: u32) -> u64 {
        self.load(slot, GENERATION)
    }

    /// The unit that continues another.
    fn next(&self, unit: u32) -> Option<u32> {
        u32::try_from(self.load(unit, NEXT)).ok().filter(|next| *next < self.used())
    }

    /// The units of the entry that begins here; none where none does, or its units are not all there.
    fn chain(&self, slot: u32) -> Option<Vec<u32>> {
        let bytes = (slot < self.used()).then(|| self.length(slot, TOKEN_LENGTH, TOKEN_BYTES_MAX))??;
        if bytes == 0 {
            return None;
        }
        let mut chain = vec![slot];
        while chain.len() < key_table_units(bytes) {
            chain.push(self.next(*chain.last()?)?);
        }
        Some(chain)
    }

    /// Where the token of an entry of these units lies: offsets, and lengths in bytes.
    fn pieces(&self, chain: &[u32], token_bytes: usize) -> impl Iterator<Item = (usize, usize)> {
        let mut rest = token_bytes;
        chain.iter().enumerate().map(move |(index, unit)| {
            let at = if index == 0 { NOTE_BYTES_MAX } else { 0 };
            let bytes = rest.min(KEY_TABLE_UNIT_BYTES - at);
            rest -= bytes;
            (self.unit(*unit) + at, bytes)
        })
    }

    /// Zeroes a unit.
    fn wipe(&self, unit: u32) {
        self.mapping.copy_from_private(self.unit(unit), &[0; KEY_TABLE_UNIT_BYTES]);
    }

    fn begin_write(&self, slot: u32) -> u64 {
        let generation = self.mapping.writable(self.line(slot) + GENERATION);
        let first = self.mapping.load(FIRST);
        if self.generation(slot) < first {
            self.store(slot, GENERATION, first);
        }
        protocol::begin_write(generation)
    }

    fn end_write(&self, slot: u32, odd: u64) -> u64 {
        protocol::end_write(self.mapping.writable(self.line(slot) + GENERATION), odd)
    }
}

/// Maps a table, and says of how many units it is by its length.
fn map(fd: BorrowedFd<'_>, access: Access) -> Result<(Mapping, usize), JoinError> {
    let found = rustix::fs::fstat(fd)
        .map_err(|errno| JoinError::System { operation: "fstat", cause: errno.into() })?
        .st_size as u64;
    let expected = key_table_bytes(key_table_units_for(LABELS_DEFAULT));
    let units = units_of(found).ok_or(JoinError::Size { expected: expected as u64, found })?;
    Ok((Mapping::file(fd, key_table_bytes(units), access, Inherit::Shared)?, units))
}

/// The generation that the entries of a new table begin with: random, even, not 0, and far below 2^64.
fn first_generation() -> u64 {
    ((world::random() >> 2) & !1) | (1 << 20)
}

/// Number of units that an entry with a token of this length takes.
pub const fn key_table_units(token_bytes: usize) -> usize {
    (NOTE_BYTES_MAX + token_bytes).div_ceil(KEY_TABLE_UNIT_BYTES)
}
