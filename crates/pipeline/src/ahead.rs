//! Reads a regular file ahead of the computation, without a thread: the kernel fills the buffers of an io_uring meanwhile.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::AtomicBool;

use crate::source::LONG_BYTES_MIN;
use crate::uring_ffi::Ring;

/// A file that is read from one place to another, in order.
pub(crate) struct Ahead {
    ring: Ring,
    /// Where what is asked for ends: what comes behind is read by plain calls.
    end: u64,
    /// What the buffers were asked for, oldest first.
    asked: VecDeque<Piece>,
    /// Where the next piece to ask for begins.
    next: u64,
}

/// What a buffer was asked for.
struct Piece {
    slot: usize,
    at: u64,
    bytes: usize,
    /// How much of it is there, once it was waited for.
    filled: Option<usize>,
}

impl Ahead {
    /// Reads ahead from `begin` to `end`; `ring` makes the ring, or says that there is none. None also where it does not
    /// pay: for little, and where the file lies in memory, so that a read is a copy that the caller makes sooner itself.
    pub(crate) fn new(
        file: &File,
        begin: u64,
        end: u64,
        ring: impl FnOnce(&File, usize, usize) -> Option<Ring>,
    ) -> Option<Self> {
        if end.saturating_sub(begin) < LONG_BYTES_MIN || is_in_memory(file) {
            return None;
        }
        Some(Self::over(ring(file, DEPTH, BUFFER_BYTES)?, begin, end))
    }

    fn over(ring: Ring, begin: u64, end: u64) -> Self {
        let mut ahead = Self { ring, end, asked: VecDeque::new(), next: begin };
        (0..ahead.ring.depth()).for_each(|slot| ahead.ask(slot));
        ahead
    }

    fn ask(&mut self, slot: usize) {
        let left = usize::try_from(self.end - self.next).unwrap_or(usize::MAX);
        let bytes = left.min(self.ring.buffer_bytes());
        if bytes > 0 {
            self.ring.read(slot, bytes, self.next);
            self.asked.push_back(Piece { slot, at: self.next, bytes, filled: None });
            self.next += bytes as u64;
        }
    }

    /// Reads what is there from a place, which lies behind all that was read; nothing at the end only.
    ///
    /// # Errors
    /// The system's; [`io::ErrorKind::Interrupted`] also where the flag is set.
    pub(crate) fn read_at(
        &mut self,
        memory: &mut [u8],
        at: u64,
        interrupted: Option<&AtomicBool>,
    ) -> io::Result<usize> {
        while let Some(piece) = self.asked.front_mut() {
            let filled = match piece.filled {
                Some(filled) => filled,
                None => self.ring.wait(piece.slot, interrupted)?.min(piece.bytes),
            };
            piece.filled = Some(filled);
            let from = usize::try_from(at - piece.at).unwrap_or(usize::MAX);
            if from < filled {
                let bytes = memory.len().min(filled - from);
                memory[..bytes].copy_from_slice(&self.ring.buffer(piece.slot)[from..from + bytes]);
                return Ok(bytes);
            }
            if filled < piece.bytes {
                // The file ends sooner than it said, or the ring failed: a plain call knows, and goes on from here.
                break;
            }
            let slot = piece.slot;
            self.asked.pop_front();
            self.ask(slot);
        }
        self.ring.parts(0).0.read_at(memory, at)
    }
}

/// Whether a file lies in memory and nowhere else. Encryption through rings took 1.0 to 1.1 of the elapsed time there
/// that plain calls took, and 0.9 of it and of the processor time on a disk.
pub(crate) fn is_in_memory(file: &File) -> bool {
    rustix::fs::fstatfs(file).is_ok_and(|stat| IN_MEMORY.contains(&(stat.f_type as u64)))
}

/// Linux's numbers of tmpfs and ramfs.
const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];
/// Reads under way at once.
const DEPTH: usize = 4;
/// Length of each in bytes.
const BUFFER_BYTES: usize = 512 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn file_of(bytes: usize) -> (File, Vec<u8>) {
        let text: Vec<u8> = (0..bytes).map(|at| (at / 7 + at / 1021 * 31) as u8).collect();
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&text, 0).unwrap();
        (file, text)
    }

    /// Pieces of an odd length, so that borders of buffers fall anywhere.
    fn read(ahead: &mut Ahead, from: u64) -> Vec<u8> {
        let mut text = Vec::new();
        let mut memory = vec![0; 1777];
        loop {
            match ahead.read_at(&mut memory, from + text.len() as u64, None).unwrap() {
                0 => return text,
                read => text.extend_from_slice(&memory[..read]),
            }
        }
    }

    #[test]
    fn it_gives_what_plain_reads_give() {
        let (file, text) = file_of(100_000);
        for (begin, end) in [(0, 100_000), (5, 99_999), (0, 5000), (99_000, 100_000), (0, 1)] {
            let Some(ring) = Ring::new(&file, 3, 5000) else { return };
            assert_eq!(read(&mut Ahead::over(ring, begin, end), begin), &text[begin as usize..]);
        }
    }

    #[test]
    fn a_file_that_became_shorter_ends_there_and_one_that_grew_goes_on() {
        let (file, text) = file_of(100_000);
        for bytes in [0, 4999, 5000, 62_345] {
            let Some(ring) = Ring::new(&file, 3, 5000) else { return };
            file.set_len(bytes).unwrap();
            assert_eq!(read(&mut Ahead::over(ring, 0, 100_000), 0), &text[..bytes as usize]);
            file.write_all_at(&text, 0).unwrap();
        }
        let Some(ring) = Ring::new(&file, 3, 5000) else { return };
        let mut ahead = Ahead::over(ring, 0, 100_000);
        file.write_all_at(b"more", 100_000).unwrap();
        assert_eq!(read(&mut ahead, 0), [&text[..], b"more"].concat());
    }

    #[test]
    fn what_the_ring_leaves_is_read_plainly() {
        let (file, text) = file_of(30_000);
        let Some(ring) = Ring::new(&file, 3, 5000) else { return };
        let mut ahead = Ahead::over(ring, 0, 30_000);
        for (slot, done) in [(0, 0), (1, 17), (2, 4999)] {
            ahead.ring.cut(slot, done);
            ahead.ring.buffer(slot)[done..].fill(0);
        }
        assert_eq!(read(&mut ahead, 0), text);
    }

    #[test]
    fn without_a_ring_there_is_none() {
        let (file, _) = file_of(1);
        assert!(Ahead::new(&file, 0, LONG_BYTES_MIN, |_, _, _| None).is_none());
        let asked = |_: &File, _, _| -> Option<Ring> { panic!("a ring for a short file") };
        assert!(Ahead::new(&file, 0, LONG_BYTES_MIN - 1, asked).is_none());
    }
}
