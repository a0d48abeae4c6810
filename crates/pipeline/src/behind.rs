//! Writes a regular file behind the computation, without a thread: the kernel empties the buffers of an io_uring meanwhile.

use std::fs::File;
use std::io::{self, IoSlice};
use std::os::unix::fs::FileExt;
use std::sync::atomic::AtomicBool;

use crate::ahead::is_in_memory;
use crate::uring_ffi::Ring;

/// A file that is written from one place on, in order.
pub(crate) struct Behind {
    ring: Ring,
    /// What each buffer holds: where it goes, and its length in bytes.
    pieces: Vec<(u64, usize)>,
    /// The buffer that is filled now.
    slot: usize,
    at: u64,
}

impl Behind {
    /// Writes from `at` on; `ring` makes the ring, or says that there is none. None also where the file lies in memory: a
    /// write is a copy then, and the ring would add another.
    pub(crate) fn new(
        file: &File,
        at: u64,
        ring: impl FnOnce(&File, usize, usize) -> Option<Ring>,
    ) -> Option<Self> {
        if is_in_memory(file) {
            return None;
        }
        Some(Self::over(ring(file, DEPTH, BUFFER_BYTES)?, at))
    }

    fn over(ring: Ring, at: u64) -> Self {
        let pieces = vec![(0, 0); ring.depth()];
        Self { ring, pieces, slot: 0, at }
    }

    /// Takes all slices, one after the other. What goes wrong with them may be said by a later call.
    ///
    /// # Errors
    /// The system's; [`io::ErrorKind::Interrupted`] where the flag is set.
    pub(crate) fn write(
        &mut self,
        slices: &[IoSlice<'_>],
        interrupted: Option<&AtomicBool>,
    ) -> io::Result<()> {
        for slice in slices {
            let mut rest = &slice[..];
            while !rest.is_empty() {
                let filled = self.pieces[self.slot].1;
                let some = rest.len().min(self.ring.buffer_bytes() - filled);
                self.ring.buffer(self.slot)[filled..filled + some].copy_from_slice(&rest[..some]);
                self.pieces[self.slot].1 += some;
                rest = &rest[some..];
                if filled + some == self.ring.buffer_bytes() {
                    self.send();
                    self.settle(self.slot, interrupted)?;
                }
            }
        }
        Ok(())
    }

    /// Writes the buffer that was filled, and goes on to the next.
    fn send(&mut self) {
        let bytes = self.pieces[self.slot].1;
        self.pieces[self.slot].0 = self.at;
        self.ring.write(self.slot, bytes, self.at);
        self.at += bytes as u64;
        self.slot = (self.slot + 1) % self.ring.depth();
    }

    /// Waits until a buffer is written, and empties it.
    fn settle(&mut self, slot: usize, interrupted: Option<&AtomicBool>) -> io::Result<()> {
        let (at, bytes) = self.pieces[slot];
        if bytes > 0 {
            let done = self.ring.wait(slot, interrupted)?.min(bytes);
            // What the ring left; the plain call says what is wrong.
            let (file, buffer) = self.ring.parts(slot);
            file.write_all_at(&buffer[done..bytes], at + done as u64)?;
            self.pieces[slot].1 = 0;
        }
        Ok(())
    }

    /// Waits until all is written.
    ///
    /// # Errors
    /// As [`Behind::write`].
    pub(crate) fn finish(mut self, interrupted: Option<&AtomicBool>) -> io::Result<()> {
        if self.pieces[self.slot].1 > 0 {
            self.send();
        }
        for slot in 0..self.pieces.len() {
            self.settle(slot, interrupted)?;
        }
        Ok(())
    }
}

/// Writes under way at once, and one that is filled.
const DEPTH: usize = 4;
/// Length of each in bytes.
const BUFFER_BYTES: usize = 512 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_writes_what_plain_writes_write() {
        let text: Vec<u8> = (0..100_000_usize).map(|at| (at / 7 + at / 1021 * 31) as u8).collect();
        for (begin, piece) in [(0, 1777), (9, 5000), (3, 40_000), (0, 100_000)] {
            let file = tempfile::tempfile().unwrap();
            let Some(ring) = Ring::new(&file, 3, 5000) else { return };
            let mut behind = Behind::over(ring, begin);
            for piece in text.chunks(piece) {
                let (one, other) = piece.split_at(piece.len() / 3);
                behind.write(&[IoSlice::new(one), IoSlice::new(&[]), IoSlice::new(other)], None).unwrap();
            }
            behind.finish(None).unwrap();
            let mut written = vec![0; text.len() + 1];
            assert_eq!(file.read_at(&mut written, begin).unwrap(), text.len());
            assert_eq!(written[..text.len()], text);
        }
    }

    #[test]
    fn what_the_ring_leaves_is_written_plainly() {
        let file = tempfile::tempfile().unwrap();
        let Some(ring) = Ring::new(&file, 3, 5000) else { return };
        let mut behind = Behind::over(ring, 0);
        behind.write(&[IoSlice::new(&[7; 12_000])], None).unwrap();
        for (slot, done) in [(0, 0), (1, 17)] {
            behind.ring.cut(slot, done);
            file.write_all_at(&vec![0; 5000 - done], (slot * 5000 + done) as u64).unwrap();
        }
        behind.finish(None).unwrap();
        let mut written = vec![0; 12_001];
        assert_eq!(file.read_at(&mut written, 0).unwrap(), 12_000);
        assert_eq!(written[..12_000], [7; 12_000]);
    }

    #[test]
    fn what_cannot_be_written_is_said_at_the_latest_at_the_end() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        for bytes in [1, 5000, 20_000] {
            let Some(ring) = Ring::new(&full, 3, 5000) else { return };
            let mut behind = Behind::over(ring, 0);
            let written = behind.write(&[IoSlice::new(&vec![0; bytes])], None);
            let failed = written.and_then(|()| behind.finish(None)).unwrap_err();
            assert_eq!(failed.kind(), io::ErrorKind::StorageFull);
        }
    }
}
