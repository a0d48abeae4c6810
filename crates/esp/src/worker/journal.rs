//! The journal of a data plane: what the next worker must know when this one dies. The supervisor opens the file, in memory of the system (`/run`);
//! the worker writes it, and never a key.
//!
//! ```text
//! 0      slot A    4-byte magic, 4-byte version, 8-byte number, 8-byte length, 32-byte SHA-256 of all this and that of the content; the content
//! SLOT   slot B
//! ```
//! Slots are written in turns: one that was being written when the worker died does not agree with its digest, and the other is read.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use engine::{Engine, HashAlgorithm};

/// Length of a slot in bytes: more than the journal of as many SAs and policies as there can be.
pub const SLOT_BYTES: u64 = xfrm::JOURNAL_BYTES_MAX as u64 + (1 << 20);
const MAGIC: [u8; 4] = *b"ESPJ";
const VERSION: u32 = 1;
const DIGEST_BYTES: usize = 32;
const FIELDS_BYTES: usize = 24;
const HEADER_BYTES: usize = FIELDS_BYTES + DIGEST_BYTES;

/// The file, and which slot is next.
pub struct Journal {
    file: File,
    engine: Engine,
    number: u64,
}

impl Journal {
    /// Reads what an earlier worker wrote: the newest slot that agrees with its digest, or nothing of an empty file.
    ///
    /// # Errors
    /// `InvalidData` where something was written, and no slot agrees with its digest: whoever went on without it would let through
    /// in clear what it protects. Of the system.
    pub fn open(file: File, engine: Engine) -> io::Result<(Journal, Option<Vec<u8>>)> {
        let mut newest: Option<(u64, Vec<u8>)> = None;
        for slot in 0..2 {
            let Some(found) = read_slot(&file, &engine, slot) else { continue };
            if newest.as_ref().is_none_or(|(number, _)| *number < found.0) {
                newest = Some(found);
            }
        }
        if newest.is_none() && file.read_at(&mut [0], 0)? > 0 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let number = newest.as_ref().map_or(0, |(number, _)| *number);
        Ok((Journal { file, engine, number }, newest.map(|(_, content)| content)))
    }

    /// Writes what the next worker must know.
    ///
    /// # Errors
    /// Of the system; `InvalidInput` where it is longer than a slot. The slot before is still there.
    pub fn write(&mut self, content: &[u8]) -> io::Result<()> {
        if content.len() as u64 > SLOT_BYTES - HEADER_BYTES as u64 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let number = self.number + 1;
        let fields = fields(number, content.len());
        let digest = digest(&self.engine, &fields, content).ok_or(io::ErrorKind::Unsupported)?;
        let slot = (number % 2) * SLOT_BYTES;
        self.file.write_all_at(content, slot + HEADER_BYTES as u64)?;
        self.file.write_all_at(&[&fields[..], &digest].concat(), slot)?;
        self.number = number;
        Ok(())
    }
}

fn fields(number: u64, length: usize) -> [u8; FIELDS_BYTES] {
    let mut fields = [0; FIELDS_BYTES];
    fields[..4].copy_from_slice(&MAGIC);
    fields[4..8].copy_from_slice(&VERSION.to_le_bytes());
    fields[8..16].copy_from_slice(&number.to_le_bytes());
    fields[16..].copy_from_slice(&(length as u64).to_le_bytes());
    fields
}

/// None where the engine has no such hash, which it always has.
fn digest(engine: &Engine, fields: &[u8], content: &[u8]) -> Option<[u8; DIGEST_BYTES]> {
    let hash = |bytes: &[u8]| -> Option<[u8; DIGEST_BYTES]> {
        engine.hash(HashAlgorithm::Sha256, bytes).ok()?.first_chunk().copied()
    };
    hash(&[fields, &hash(content)?].concat())
}

fn read_slot(file: &File, engine: &Engine, slot: u64) -> Option<(u64, Vec<u8>)> {
    let mut header = [0; HEADER_BYTES];
    file.read_exact_at(&mut header, slot * SLOT_BYTES).ok()?;
    let (read, digest_read) = header.split_at(FIELDS_BYTES);
    let word = |place: usize| -> Option<u64> {
        Some(u64::from_le_bytes(read.get(place..place + 8)?.try_into().ok()?))
    };
    let (number, length) = (word(8)?, word(16)?);
    if number == u64::MAX
        || length > SLOT_BYTES - HEADER_BYTES as u64
        || read != fields(number, length as usize)
    {
        return None;
    }
    let mut content = vec![0; length as usize];
    file.read_exact_at(&mut content, slot * SLOT_BYTES + HEADER_BYTES as u64).ok()?;
    let agrees = digest(engine, read, &content).is_some_and(|digest| digest == digest_read);
    agrees.then_some((number, content))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine() -> Engine {
        Engine::new(engine::Options::default()).unwrap()
    }

    #[test]
    fn the_newest_whole_slot_is_read() {
        let file = tempfile::tempfile().unwrap();
        let reopen = || file.try_clone().unwrap();
        let (mut journal, found) = Journal::open(reopen(), engine()).unwrap();
        assert_eq!(found, None);
        journal.write(b"first").unwrap();
        journal.write(b"second").unwrap();
        journal.write(b"third, and longer").unwrap();
        let (mut journal, found) = Journal::open(reopen(), engine()).unwrap();
        assert_eq!(found.as_deref(), Some(&b"third, and longer"[..]));
        journal.write(b"fourth").unwrap();
        assert_eq!(Journal::open(reopen(), engine()).unwrap().1.as_deref(), Some(&b"fourth"[..]));
    }

    #[test]
    fn a_slot_that_was_cut_or_changed_is_not_believed() {
        let file = tempfile::tempfile().unwrap();
        let (mut journal, _) = Journal::open(file.try_clone().unwrap(), engine()).unwrap();
        journal.write(b"whole").unwrap();
        journal.write(b"damaged").unwrap();
        let read = || Journal::open(file.try_clone().unwrap(), engine()).unwrap().1;
        // The second slot is the one at the beginning of the file.
        for place in 0..HEADER_BYTES as u64 + 7 {
            let mut byte = [0];
            file.read_exact_at(&mut byte, place).unwrap();
            file.write_all_at(&[byte[0] ^ 1], place).unwrap();
            assert_eq!(read().as_deref(), Some(&b"whole"[..]), "byte {place}");
            file.write_all_at(&byte, place).unwrap();
        }
        assert_eq!(read().as_deref(), Some(&b"damaged"[..]));
        file.set_len(HEADER_BYTES as u64 + 3).unwrap();
        let unreadable = Journal::open(file.try_clone().unwrap(), engine()).err().unwrap();
        assert_eq!(unreadable.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn what_is_longer_than_a_slot_is_refused_and_the_last_one_stays() {
        let file = tempfile::tempfile().unwrap();
        let (mut journal, _) = Journal::open(file.try_clone().unwrap(), engine()).unwrap();
        journal.write(b"kept").unwrap();
        assert!(journal.write(&vec![0; SLOT_BYTES as usize]).is_err());
        assert_eq!(Journal::open(file, engine()).unwrap().1.as_deref(), Some(&b"kept"[..]));
    }
}
