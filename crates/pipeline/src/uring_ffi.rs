//! An io_uring over one file: reads and writes that proceed while the caller computes.
//!
//! This is all of the crate's unsafe code. The ring owns a fixed number of buffers: a buffer in flight belongs to
//! the kernel, and cannot be accessed until its completion was seen; dropping the ring cancels operations in flight
//! and waits for their completions. If an operation did not do all of its work, for any reason, the caller does the rest by a
//! plain call, which reports the error: short reads and writes, cancellation and unsupported operations are handled alike.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicBool, Ordering};

use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, Probe, opcode, squeue};
use rustix::io::Errno;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use zeroize::Zeroize;

/// A file and buffers, some of them in flight.
pub(crate) struct Ring {
    uring: IoUring,
    /// Open for as long as an operation could still name it.
    file: File,
    buffers: Option<Buffers>,
    slots: Vec<Slot>,
    buffer_bytes: usize,
}

/// What a buffer is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    /// The caller's; the last operation did so many bytes.
    Own { done: usize },
    /// The kernel's.
    InFlight,
}

impl Ring {
    /// A ring with this many buffers; none where the kernel does not allow one (a filter, a setting, its age), or
    /// memory or descriptors are short.
    pub(crate) fn new(file: &File, depth: usize, buffer_bytes: usize) -> Option<Self> {
        let file = file.try_clone().ok()?;
        // Each operation and its cancellation have room.
        let uring = IoUring::new(u32::try_from(2 * depth).ok()?).ok()?;
        let mut probe = Probe::new();
        uring.submitter().register_probe(&mut probe).ok()?;
        let needed = [opcode::Read::CODE, opcode::Write::CODE, opcode::AsyncCancel::CODE];
        // Without that argument a wait could not look whether a signal came.
        if !needed.iter().all(|&code| probe.is_supported(code)) || !uring.params().is_feature_ext_arg() {
            return None;
        }
        let buffers = Buffers::new(depth, buffer_bytes).ok()?;
        let slots = vec![Slot::Own { done: 0 }; depth];
        Some(Self { uring, file, buffers: Some(buffers), slots, buffer_bytes })
    }

    /// How many buffers there are.
    pub(crate) fn depth(&self) -> usize {
        self.slots.len()
    }

    /// The length of each in bytes.
    pub(crate) fn buffer_bytes(&self) -> usize {
        self.buffer_bytes
    }

    /// A buffer; empty while it is the kernel's.
    pub(crate) fn buffer(&mut self, slot: usize) -> &mut [u8] {
        self.parts(slot).1
    }

    /// The file, and a buffer as [`Ring::buffer`] gives it, for plain calls.
    pub(crate) fn parts(&mut self, slot: usize) -> (&File, &mut [u8]) {
        let buffer = match (&mut self.buffers, self.slots[slot]) {
            (Some(buffers), Slot::Own { .. }) => {
                // SAFETY: the buffer is not in flight, so nobody but the ring, which is borrowed, reaches it; the
                // memory is mapped for reading and writing, `buffer_bytes` long, and was zero when it was made.
                unsafe { std::slice::from_raw_parts_mut(buffers.at(slot).as_ptr(), self.buffer_bytes) }
            }
            _ => &mut [],
        };
        (&self.file, buffer)
    }

    /// Begins to read so many bytes from this place of the file. A buffer that is in flight stays so.
    pub(crate) fn read(&mut self, slot: usize, bytes: usize, at: u64) {
        self.begin(slot, bytes, |file, buffer, bytes| {
            opcode::Read::new(file, buffer, bytes).offset(at).build()
        });
    }

    /// Begins to write so many bytes to this place of the file. A buffer that is in flight stays so.
    pub(crate) fn write(&mut self, slot: usize, bytes: usize, at: u64) {
        self.begin(slot, bytes, |file, buffer, bytes| {
            opcode::Write::new(file, buffer, bytes).offset(at).build()
        });
    }

    fn begin(&mut self, slot: usize, bytes: usize, entry: impl FnOnce(Fd, *mut u8, u32) -> squeue::Entry) {
        let (uring, Some(buffers)) = (&mut self.uring, &self.buffers) else { return };
        if self.slots[slot] == Slot::InFlight {
            return;
        }
        self.slots[slot] = Slot::Own { done: 0 };
        let Ok(bytes) = u32::try_from(bytes.min(self.buffer_bytes)) else { return };
        let entry = entry(Fd(self.file.as_raw_fd()), buffers.at(slot).as_ptr(), bytes);
        let entry = entry.user_data(slot as u64);
        // SAFETY: the buffer is at least `bytes` long and stays mapped, and the file open, until the completion was
        // seen: `Drop` waits for it, or gives up the memory for good.
        if unsafe { uring.submission().push(&entry) }.is_ok() {
            self.slots[slot] = Slot::InFlight;
            // What is not taken now is taken by the next wait.
            uring.submit().ok();
        }
    }

    /// Waits for a buffer; gives how many bytes were read or written: fewer than asked, or none, where the caller has
    /// to do the rest.
    ///
    /// # Errors
    /// [`io::ErrorKind::Interrupted`] where the flag is set; the kernel's own where it refuses to wait. The buffer is
    /// still the kernel's then.
    pub(crate) fn wait(&mut self, slot: usize, interrupted: Option<&AtomicBool>) -> io::Result<usize> {
        loop {
            self.collect();
            if let Slot::Own { done } = self.slots[slot] {
                return Ok(done);
            }
            if interrupted.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            self.wait_for_some()?;
        }
    }

    /// Has an operation look as if it had done only so much.
    #[cfg(test)]
    pub(crate) fn cut(&mut self, slot: usize, bytes: usize) {
        self.wait(slot, None).unwrap();
        self.slots[slot] = Slot::Own { done: bytes };
    }

    /// Takes what is complete.
    fn collect(&mut self) {
        for completion in self.uring.completion() {
            // Cancellations have numbers behind the buffers'.
            let slot = usize::try_from(completion.user_data()).ok();
            if let Some(slot) = slot.and_then(|slot| self.slots.get_mut(slot)) {
                let done = usize::try_from(completion.result()).unwrap_or(0).min(self.buffer_bytes);
                *slot = Slot::Own { done };
            }
        }
    }

    /// Waits until there is a completion, a signal, or some time has passed.
    fn wait_for_some(&self) -> io::Result<()> {
        let time = Timespec::new().nsec(INTERRUPTION_LOOKED_AT_EVERY_NS);
        match self.uring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&time)) {
            Ok(_) => Ok(()),
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::TIME | Errno::INTR | Errno::AGAIN | Errno::BUSY) => Ok(()),
                _ => Err(error),
            },
        }
    }

    fn in_flight(&self) -> bool {
        self.slots.contains(&Slot::InFlight)
    }

    /// Asks the kernel to give up what is in flight, and waits for its word on each.
    fn give_up(&mut self) -> io::Result<()> {
        self.collect();
        let flying: Vec<u64> = (0..self.slots.len() as u64)
            .filter(|&slot| self.slots[slot as usize] == Slot::InFlight)
            .collect();
        for slot in flying {
            let entry = opcode::AsyncCancel::new(slot).build().user_data(u64::MAX);
            // SAFETY: a cancellation names no memory. Without room for it the operation ends by itself.
            unsafe { self.uring.submission().push(&entry) }.ok();
        }
        while self.in_flight() {
            self.wait_for_some()?;
            self.collect();
        }
        Ok(())
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        if self.give_up().is_err() {
            // The kernel may still write there: the memory is never given back.
            std::mem::forget(self.buffers.take());
            return;
        }
        // Text does not stay in freed memory.
        (0..self.slots.len()).for_each(|slot| self.buffer(slot).zeroize());
    }
}

/// Memory of buffers, each between pages that nobody can touch.
struct Buffers {
    all: NonNull<u8>,
    all_bytes: usize,
    stride: usize,
    page_bytes: usize,
}

// SAFETY: the mapping belongs to this value alone, and is reached through a borrow of its ring only.
unsafe impl Send for Buffers {}

impl Buffers {
    fn new(count: usize, bytes: usize) -> io::Result<Self> {
        let page_bytes = rustix::param::page_size();
        let inner_bytes = bytes.next_multiple_of(page_bytes);
        let stride = inner_bytes + page_bytes;
        let all_bytes = count * stride + page_bytes;
        // SAFETY: a new mapping at a place of the kernel's choice overlaps no other memory.
        let all = unsafe { mmap_anonymous(null_mut(), all_bytes, ProtFlags::empty(), MapFlags::PRIVATE) }?;
        let all = NonNull::new(all.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
        let buffers = Self { all, all_bytes, stride, page_bytes };
        for slot in 0..count {
            // SAFETY: these pages lie in the mapping just made, which nobody uses yet.
            unsafe {
                mprotect(
                    buffers.at(slot).as_ptr().cast(),
                    inner_bytes,
                    MprotectFlags::READ | MprotectFlags::WRITE,
                )
            }?;
        }
        Ok(buffers)
    }

    /// Where a buffer begins.
    fn at(&self, slot: usize) -> NonNull<u8> {
        let offset = self.page_bytes + slot * self.stride;
        debug_assert!(offset < self.all_bytes);
        // SAFETY: slots are counted by the ring that made the mapping for them, so the offset lies within it.
        unsafe { self.all.add(offset) }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: the whole mapping, made in `new`; no buffer of it is borrowed or in flight when its ring is gone.
        unsafe { munmap(self.all.as_ptr().cast(), self.all_bytes) }.ok();
    }
}

/// Whoever waits for a completion looks this often whether a signal came.
const INTERRUPTION_LOOKED_AT_EVERY_NS: u32 = 100_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    /// None where the kernel refuses rings: there is nothing to test here then.
    fn ring(file: &File) -> Option<Ring> {
        Ring::new(file, 3, 5000)
    }

    fn pipe() -> (File, File) {
        let (reader, writer) = io::pipe().unwrap();
        (File::from(std::os::fd::OwnedFd::from(reader)), File::from(std::os::fd::OwnedFd::from(writer)))
    }

    #[test]
    fn what_is_in_flight_is_cancelled_and_waited_for_before_its_memory_goes() {
        let (mut reader, mut writer) = pipe();
        let Some(mut ring) = ring(&reader) else { return };
        (0..3).for_each(|slot| ring.read(slot, 5000, 0));
        assert!(ring.in_flight());
        assert!(ring.buffer(0).is_empty(), "a buffer that is the kernel's can be had");
        ring.give_up().unwrap();
        assert!(!ring.in_flight(), "memory would go while the kernel may write to it");
        assert!((0..3).all(|slot| ring.buffer(slot).len() == 5000));
        ring.read(0, 5000, 0);
        drop(ring);
        // Had an operation outlived the ring, it would take these.
        writer.write_all(b"for the next reader").unwrap();
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "for the next reader");
    }

    #[test]
    fn a_wait_sees_the_flag_and_the_operation_goes_on() {
        let (reader, mut writer) = pipe();
        let Some(mut ring) = ring(&reader) else { return };
        ring.read(1, 5000, 0);
        let flag = AtomicBool::new(true);
        assert_eq!(ring.wait(1, Some(&flag)).unwrap_err().kind(), io::ErrorKind::Interrupted);
        assert!(ring.buffer(1).is_empty());
        writer.write_all(b"late").unwrap();
        assert_eq!(ring.wait(1, None).unwrap(), 4);
        assert_eq!(&ring.buffer(1)[..4], b"late");
    }

    #[test]
    fn no_operation_is_longer_than_its_buffer() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, vec![7; 30_000]).unwrap();
        let Some(mut ring) = ring(&File::open(&path).unwrap()) else { return };
        ring.read(0, 30_000, 0);
        ring.read(1, 5000, 29_000);
        assert_eq!((ring.wait(0, None).unwrap(), ring.wait(1, None).unwrap()), (5000, 1000));
        assert_eq!(ring.buffer(0), [7; 5000]);
        // What fails did nothing; the plain call says why.
        ring.write(2, 10, 0);
        assert_eq!(ring.wait(2, None).unwrap(), 0);
    }

    #[test]
    fn descriptors_that_run_short_give_no_ring() {
        assert!(Ring::new(&File::open("/dev/null").unwrap(), 1 << 20, 4096).is_none());
    }
}
