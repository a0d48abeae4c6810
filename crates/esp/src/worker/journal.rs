//! The journal of a data plane: records for the next worker of policies and of the names of SAs. The supervisor opens
//! the file, in memory of the system (`/run`); the worker writes it, and never a key.
//!
//! ```text
//! 0      slot A    4-byte magic, 4-byte version, 8-byte number, 8-byte end of the pieces, 32-byte SHA-256 of these fields and the chain
//!                  pieces: 8-byte length, records
//! SLOT   slot B
//! chain: zeros, then for each piece the SHA-256 of the chain so far and the SHA-256 of the piece
//! ```
//!
//! A change appends a piece, and then counts it in the slot's header: a piece without its header was never
//! acknowledged, and is not read. Once the pieces are long, all records still valid are written to the other slot as
//! one piece. That slot's header stays empty until the piece is written. A slot whose header does not agree with its
//! pieces is therefore damaged, and the whole journal is refused. An older state could let packets pass in clear that a
//! later piece protects.

use engine::{Engine, HashAlgorithm};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Length of a slot in bytes: room for two journals of the most SAs and policies, and for one mebibyte more.
pub const SLOT_BYTES: u64 = 2 * xfrm::JOURNAL_BYTES_MAX as u64 + (1 << 20);
/// The pieces behind the first one are long once they have as many bytes as the first, and at least this many.
const GROWTH_BYTES_MIN: u64 = 1 << 20;
const MAGIC: [u8; 4] = *b"ESPJ";
const VERSION: u32 = 2;
const DIGEST_BYTES: usize = 32;
const FIELDS_BYTES: usize = 24;
const HEADER_BYTES: usize = FIELDS_BYTES + DIGEST_BYTES;
const LENGTH_BYTES: usize = 8;

type Digest = [u8; DIGEST_BYTES];

/// The journal's file, and the slot in use.
pub struct Journal {
    file: File,
    engine: Engine,
    current: Slot,
}

/// The extent of a slot's pieces.
#[derive(Clone, Copy, Default)]
struct Slot {
    /// Number of the slot's use: slots are written in turns, an odd number is in the second.
    number: u64,
    /// Length of the slot's pieces, in bytes.
    end: u64,
    chain: Digest,
    /// Bytes of the first piece.
    first: u64,
}

impl Slot {
    fn place(&self) -> u64 {
        (self.number % 2) * SLOT_BYTES
    }
}

impl Journal {
    /// Reads the records that an earlier worker wrote; an empty file has none.
    ///
    /// # Errors
    /// `InvalidData` if a slot does not agree with its header: without its policies, packets that they protect would
    /// leave in clear. Else the error of the system.
    pub fn open(file: File, engine: Engine) -> io::Result<(Journal, Vec<u8>)> {
        let slots = [read_slot(&file, &engine, 0)?, read_slot(&file, &engine, SLOT_BYTES)?];
        let newest = slots.into_iter().flatten().max_by_key(|(slot, _)| slot.number);
        let (current, records) = newest.unwrap_or_default();
        Ok((Journal { file, engine, current }, records))
    }

    /// Adds records. They are in the file once this returns.
    ///
    /// # Errors
    /// The error of the system; `StorageFull` if the slot has no room. Nothing is added then.
    pub fn append(&mut self, records: &[u8]) -> io::Result<()> {
        self.current = self.write(self.current, records)?;
        Ok(())
    }

    /// Whether [`Journal::replace`] would make the journal shorter by half.
    pub fn is_long(&self) -> bool {
        self.current.end - self.current.first > self.current.first.max(GROWTH_BYTES_MIN)
    }

    /// Replaces all records by these.
    ///
    /// # Errors
    /// The error of the system; `StorageFull` if the records are longer than a slot. The earlier records are still
    /// there, and can be added to.
    pub fn replace(&mut self, records: &[u8]) -> io::Result<()> {
        let number = self.current.number + 1;
        let other = Slot { number, ..Slot::default() };
        self.file.write_all_at(&[0; HEADER_BYTES], other.place())?;
        self.current = self.write(other, records)?;
        Ok(())
    }

    /// Writes a piece behind the pieces of a slot, and then the slot's header.
    fn write(&self, slot: Slot, records: &[u8]) -> io::Result<Slot> {
        let end = slot.end + (LENGTH_BYTES + records.len()) as u64;
        if HEADER_BYTES as u64 + end > SLOT_BYTES {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let chain = link(&self.engine, &slot.chain, records).ok_or(io::ErrorKind::Unsupported)?;
        let first = if slot.end == 0 { end } else { slot.first };
        let next = Slot { end, chain, first, ..slot };
        let header = header(&self.engine, &next).ok_or(io::ErrorKind::Unsupported)?;
        let place = slot.place() + HEADER_BYTES as u64 + slot.end;
        let length = (records.len() as u64).to_le_bytes();
        self.file.write_all_at(&length, place)?;
        self.file.write_all_at(records, place + LENGTH_BYTES as u64)?;
        self.file.write_all_at(&header, slot.place())?;
        Ok(next)
    }
}

/// The digest of bytes; None if the engine lacks SHA-256, which no engine does.
fn sha256(engine: &Engine, bytes: &[u8]) -> Option<Digest> {
    engine.hash(HashAlgorithm::Sha256, bytes).ok()?.first_chunk().copied()
}

fn link(engine: &Engine, chain: &Digest, piece: &[u8]) -> Option<Digest> {
    sha256(engine, &[&chain[..], &sha256(engine, piece)?].concat())
}

fn header(engine: &Engine, slot: &Slot) -> Option<[u8; HEADER_BYTES]> {
    let mut header = [0; HEADER_BYTES];
    header[..4].copy_from_slice(&MAGIC);
    header[4..8].copy_from_slice(&VERSION.to_le_bytes());
    header[8..16].copy_from_slice(&slot.number.to_le_bytes());
    header[16..FIELDS_BYTES].copy_from_slice(&slot.end.to_le_bytes());
    let digest = sha256(engine, &[&header[..FIELDS_BYTES], &slot.chain].concat())?;
    header[FIELDS_BYTES..].copy_from_slice(&digest);
    Some(header)
}

/// The state and records of a slot; None if it was never written, or its first write was cut short.
fn read_slot(file: &File, engine: &Engine, place: u64) -> io::Result<Option<(Slot, Vec<u8>)>> {
    let mut read = [0; HEADER_BYTES];
    let bytes = read_at_most(file, &mut read, place)?;
    if read[..bytes].iter().all(|byte| *byte == 0) {
        return Ok(None);
    }
    let damaged = || io::Error::from(io::ErrorKind::InvalidData);
    let word = |at: usize| read[at..at + 8].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
    let (number, end) = (word(8), word(16));
    if number == u64::MAX || end > SLOT_BYTES - HEADER_BYTES as u64 {
        return Err(damaged());
    }
    let mut pieces = vec![0; end as usize];
    if read_at_most(file, &mut pieces, place + HEADER_BYTES as u64)? < pieces.len() {
        return Err(damaged());
    }
    let mut slot = Slot { number, end, ..Slot::default() };
    let mut records = Vec::with_capacity(pieces.len());
    let mut rest = pieces.as_slice();
    while !rest.is_empty() {
        let (length, behind) = rest.split_first_chunk::<LENGTH_BYTES>().ok_or_else(damaged)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| damaged())?;
        let (piece, behind) = behind.split_at_checked(length).ok_or_else(damaged)?;
        slot.chain = link(engine, &slot.chain, piece).ok_or_else(damaged)?;
        if slot.first == 0 {
            slot.first = (LENGTH_BYTES + length) as u64;
        }
        records.extend_from_slice(piece);
        rest = behind;
    }
    let agrees = header(engine, &slot).is_some_and(|header| header == read) && slot.place() == place;
    if agrees { Ok(Some((slot, records))) } else { Err(damaged()) }
}

/// Reads until the memory is full or the file ends; returns the number of bytes.
fn read_at_most(file: &File, memory: &mut [u8], place: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < memory.len() {
        match file.read_at(&mut memory[done..], place + done as u64) {
            Ok(0) => break,
            Ok(bytes) => done += bytes,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(cause),
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine() -> Engine {
        Engine::new(engine::Options::default()).unwrap()
    }

    fn open(file: &File) -> io::Result<(Journal, Vec<u8>)> {
        Journal::open(file.try_clone().unwrap(), engine())
    }

    fn read(file: &File) -> Vec<u8> {
        open(file).unwrap().1
    }

    #[test]
    fn what_was_added_is_read_until_it_is_replaced() {
        let file = tempfile::tempfile().unwrap();
        let (mut journal, found) = open(&file).unwrap();
        assert_eq!(found, b"");
        for (piece, all) in [("one,", "one,"), ("", "one,"), ("two,", "one,two,"), ("three", "one,two,three")]
        {
            journal.append(piece.as_bytes()).unwrap();
            assert_eq!(read(&file), all.as_bytes());
        }
        journal.replace(b"all, ").unwrap();
        assert_eq!(read(&file), b"all, ");
        journal.append(b"four").unwrap();
        let (mut journal, found) = open(&file).unwrap();
        assert_eq!(found, b"all, four");
        journal.append(b", five").unwrap();
        journal.replace(b"six").unwrap();
        assert_eq!(read(&file), b"six");
    }

    /// Bytes that are as a worker left them that died while it wrote.
    #[test]
    fn a_piece_that_its_header_does_not_name_is_not_read() {
        let file = tempfile::tempfile().unwrap();
        let (mut journal, _) = open(&file).unwrap();
        journal.append(b"kept").unwrap();
        let end = HEADER_BYTES as u64 + journal.current.end;
        file.write_all_at(&[9, 0, 0, 0, 0, 0, 0, 0, 1, 2], end).unwrap();
        assert_eq!(read(&file), b"kept");
        // The next one takes its place.
        let (mut journal, _) = open(&file).unwrap();
        journal.append(b", too").unwrap();
        assert_eq!(read(&file), b"kept, too");
        // The other slot was begun, and has no header yet.
        file.write_all_at(&[0; HEADER_BYTES], SLOT_BYTES).unwrap();
        file.write_all_at(b"some", SLOT_BYTES + HEADER_BYTES as u64).unwrap();
        assert_eq!(read(&file), b"kept, too");
    }

    #[test]
    fn a_slot_that_was_changed_or_cut_keeps_everything_from_being_read() {
        let file = tempfile::tempfile().unwrap();
        let (mut journal, _) = open(&file).unwrap();
        journal.append(b"first").unwrap();
        journal.append(b"second").unwrap();
        let end = HEADER_BYTES as u64 + journal.current.end;
        let is_damaged = || open(&file).err().is_some_and(|cause| cause.kind() == io::ErrorKind::InvalidData);
        for place in 0..end {
            let mut byte = [0];
            file.read_exact_at(&mut byte, place).unwrap();
            file.write_all_at(&[byte[0] ^ 1], place).unwrap();
            assert!(is_damaged(), "byte {place}");
            file.write_all_at(&byte, place).unwrap();
        }
        assert_eq!(read(&file), b"firstsecond");
        // An older slot is no help: what came later would be forgotten.
        journal.replace(b"newer").unwrap();
        file.write_all_at(b"x", SLOT_BYTES + HEADER_BYTES as u64 + 9).unwrap();
        assert!(is_damaged());
        file.set_len(HEADER_BYTES as u64 + 3).unwrap();
        assert!(is_damaged());
    }

    #[test]
    fn what_finds_no_room_is_refused_and_the_rest_stays() {
        let file = tempfile::tempfile().unwrap();
        let (mut journal, _) = open(&file).unwrap();
        journal.append(b"kept").unwrap();
        let long = vec![0; SLOT_BYTES as usize];
        for refused in [journal.append(&long), journal.replace(&long)] {
            assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::StorageFull);
        }
        journal.append(b", still").unwrap();
        assert_eq!(read(&file), b"kept, still");
    }

    #[test]
    fn it_is_long_once_what_was_added_outweighs_the_rest() {
        let file = tempfile::tempfile().unwrap();
        let (mut journal, _) = open(&file).unwrap();
        let piece = vec![0; GROWTH_BYTES_MIN as usize];
        journal.append(b"first").unwrap();
        assert!(!journal.is_long());
        journal.append(&piece).unwrap();
        assert!(journal.is_long());
        journal.replace(&[&piece[..], &piece].concat()).unwrap();
        journal.append(&piece).unwrap();
        assert!(!journal.is_long());
        journal.append(&[&piece[..], b"more"].concat()).unwrap();
        assert!(journal.is_long() && open(&file).unwrap().0.is_long());
    }
}
