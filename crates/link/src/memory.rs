//! Memory shared with another process: making, sealing, mapping and copying it.
//!
//! No reference to its bytes ever exists. The only references are to `AtomicU64`, which another
//! process may change at any time; everything longer is copied with relaxed atomic words into or
//! out of private memory. So a reader checks a private copy.
//!
//! # Each way this could be unsound, and the answer
//! - *The file shrinks under the mapping (SIGBUS).* Memories are accepted only with the shrink,
//!   grow and seal seals set and of the exact size. The key table is a file that the daemon keeps
//!   in a folder that nobody else can enter.
//! - *An offset out of range.* [`Mapping::word`] and the copies check every offset against the
//!   length of the mapping; the check does not depend on anything that is read from it.
//! - *The other process writes while we read.* All access is by atomic words, or by assembly, which the
//!   compiler does not see; a torn text is a garbled claim, not undefined behaviour.
//! - *A write to a read-only mapping.* [`Mapping::writable`] asserts that the mapping is writable.
//! - *A child after fork.* The mapping is absent there (DONTFORK), and something else may be at its
//!   address. Every entry point of a queue compares [`crate::fork::epoch`] first, and so does `drop`.

use crate::fork;
use crate::world;
use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags};
use rustix::mm::{Advice, MapFlags, ProtFlags};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const _: () = assert!(cfg!(target_endian = "little"), "layouts and futex words assume little-endian");

/// Length of a page as the layouts use it.
pub(crate) const PAGE_BYTES: usize = 4096;
const WORD_BYTES: usize = 8;
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// Why a descriptor was not accepted as shared memory.
#[derive(Debug)]
#[non_exhaustive]
pub enum JoinError {
    /// A system call failed.
    System {
        /// Name of the call.
        operation: &'static str,
        /// Error of the call.
        cause: io::Error,
    },
    /// The memory is not as long as its kind requires.
    Size {
        /// The length that it must have, in bytes.
        expected: u64,
        /// The length that it has, in bytes.
        found: u64,
    },
    /// The memory could be resized by another process.
    Unsealed,
    /// The first word is not that of this kind of memory.
    Magic {
        /// The first word, as found.
        found: u64,
    },
    /// The layout is of another version.
    Version {
        /// The version of the layout that was found.
        found: u64,
    },
    /// The number of slots is not a power of two up to [`wire::bounds::QUEUE_SLOTS_MAX`], or not
    /// the number stated with the descriptor.
    Slots {
        /// The number of slots that was found.
        found: u64,
    },
    /// The memory belongs to another queue.
    Queue {
        /// The number of the queue that was found.
        found: u64,
    },
    /// The status page belongs to another process of the card.
    Generation {
        /// The generation that was found.
        found: u64,
    },
}

impl JoinError {
    pub(crate) fn system(operation: &'static str) -> impl FnOnce(rustix::io::Errno) -> Self {
        move |errno| Self::System { operation, cause: errno.into() }
    }
}

impl std::fmt::Display for JoinError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::System { operation, cause } => write!(f, "{operation} on shared memory: {cause}"),
            Self::Size { expected, found } => {
                write!(f, "shared memory of {found} bytes where {expected} were expected")
            }
            Self::Unsealed => f.write_str("shared memory that another process could resize"),
            Self::Magic { found } => write!(f, "shared memory of another kind ({found:#018x})"),
            Self::Version { found } => {
                write!(
                    f,
                    "shared memory of layout version {found}; stop all programs and start them from one installation"
                )
            }
            Self::Slots { found } => write!(f, "a queue of {found} slots"),
            Self::Queue { found } => write!(f, "memory of queue {found} was handed out for another queue"),
            Self::Generation { found } => write!(f, "the card is of generation {found} by now; attach again"),
        }
    }
}

impl std::error::Error for JoinError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::System { cause, .. } => Some(cause),
            _ => None,
        }
    }
}

/// A sealed memory of this many bytes, all zero and not yet backed by pages: nobody can resize it,
/// and only this user can open it anew.
pub(crate) fn create_sealed(name: &str, bytes: usize) -> io::Result<OwnedFd> {
    world::fault("memfd_create")?;
    let fd = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    // The inode of a memfd allows everyone everything: a process with a read-only descriptor could
    // open it for writing through /proc.
    rustix::fs::fchmod(&fd, Mode::RUSR | Mode::WUSR)?;
    rustix::fs::ftruncate(&fd, bytes as u64)?;
    rustix::fs::fcntl_add_seals(&fd, SEALS)?;
    Ok(fd)
}

/// Writes to a memory without mapping it.
pub(crate) fn write_at(fd: BorrowedFd<'_>, offset: usize, bytes: &[u8]) -> io::Result<()> {
    match rustix::io::pwrite(fd, bytes, offset as u64)? {
        written if written == bytes.len() => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

/// A second descriptor of the same file, for reading only.
pub(crate) fn read_only(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    world::fault("open")?;
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    Ok(rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
}

/// The accesses that a mapping allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// The part of a mapping that a child of fork gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inherit {
    /// The child has the same mapping.
    Shared,
    /// Nothing: the mapping's address may be used for other memory.
    Nothing,
}

/// Memory of a fixed length that other processes may read or write at any time.
///
/// A `Mapping` proves that `bytes` bytes at `base` stay mapped until it is dropped, in the process
/// that made it (with [`Inherit::Shared`] also in its children). It proves nothing about the
/// content.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
    access: Access,
    /// Epoch of the process that may touch the mapping; `None` if children may as well.
    epoch: Option<u64>,
}

// SAFETY: the mapping is owned by this value alone, and all access through `&self` is by atomics.
unsafe impl Send for Mapping {}
// SAFETY: as for Send.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps sealed memory of exactly this many bytes.
    pub(crate) fn sealed(
        fd: BorrowedFd<'_>,
        bytes: usize,
        access: Access,
        inherit: Inherit,
    ) -> Result<Self, JoinError> {
        let seals = rustix::fs::fcntl_get_seals(fd).map_err(|_| JoinError::Unsealed)?;
        if !seals.contains(SEALS) {
            return Err(JoinError::Unsealed);
        }
        Self::file(fd, bytes, access, inherit)
    }

    /// Maps a file of exactly this many bytes, which nobody may shrink as long as it is mapped.
    pub(crate) fn file(
        fd: BorrowedFd<'_>,
        bytes: usize,
        access: Access,
        inherit: Inherit,
    ) -> Result<Self, JoinError> {
        let found = rustix::fs::fstat(fd).map_err(JoinError::system("fstat"))?.st_size as u64;
        if found != bytes as u64 {
            return Err(JoinError::Size { expected: bytes as u64, found });
        }
        let protection = match access {
            Access::Read => ProtFlags::READ,
            Access::Write => ProtFlags::READ | ProtFlags::WRITE,
        };
        world::fault("mmap").map_err(|cause| JoinError::System { operation: "mmap", cause })?;
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
        let base = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), bytes, protection, MapFlags::SHARED, fd.as_fd(), 0)
        }
        .map_err(JoinError::system("mmap"))?;
        let base = NonNull::new(base.cast::<u8>()).expect("mmap does not return null");
        let epoch = match inherit {
            Inherit::Shared => None,
            Inherit::Nothing => Some(fork::epoch()),
        };
        world::mapped(base.as_ptr().addr(), bytes, fd);
        let mapping = Self { base, bytes, access, epoch };
        // Shared memory holds requests and replies: not for core dumps.
        mapping.advise(Advice::LinuxDontDump)?;
        if inherit == Inherit::Nothing {
            mapping.advise(Advice::LinuxDontFork)?;
        }
        Ok(mapping)
    }

    fn advise(&self, advice: Advice) -> Result<(), JoinError> {
        // SAFETY: the range is exactly our mapping; neither advice changes what it holds here.
        unsafe { rustix::mm::madvise(self.base.as_ptr().cast(), self.bytes, advice) }
            .map_err(JoinError::system("madvise"))
    }

    /// Whether this process has the mapping: false in a child of fork that did not inherit it. Such
    /// a child must not use any other method.
    #[inline]
    pub(crate) fn is_present(&self) -> bool {
        self.epoch.is_none_or(|epoch| epoch == fork::epoch())
    }

    /// A word of the mapping; if the mapping is read-only, use it for relaxed loads only.
    ///
    /// # Panics
    /// If the word does not lie within the mapping or its offset is no multiple of 8.
    #[inline]
    pub(crate) fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(WORD_BYTES) && offset <= self.bytes - WORD_BYTES);
        debug_assert!(self.is_present());
        // SAFETY: aligned (a mapping begins at a page) and within the mapping, which lives as long
        // as `self`; other processes change it as memory that is shared by atomics.
        unsafe { &*self.base.as_ptr().add(offset).cast::<AtomicU64>() }
    }

    /// A word of the mapping, for stores.
    ///
    /// # Panics
    /// As [`Mapping::word`], or if the mapping is read-only.
    #[inline]
    pub(crate) fn writable(&self, offset: usize) -> &AtomicU64 {
        assert!(self.access == Access::Write, "a store to memory that this side only reads");
        self.word(offset)
    }

    /// The low half of a word, for the futex calls of the kernel; this program never reads or
    /// writes it as such.
    #[inline]
    pub(crate) fn futex(&self, offset: usize) -> &AtomicU32 {
        let word: *const AtomicU64 = self.word(offset);
        // SAFETY: the low half of a valid word of a little-endian machine is valid and aligned.
        unsafe { &*word.cast::<AtomicU32>() }
    }

    /// Reads a word, relaxed.
    #[inline]
    pub(crate) fn load(&self, offset: usize) -> u64 {
        self.word(offset).load(Ordering::Relaxed)
    }

    /// Writes a word, relaxed.
    #[inline]
    pub(crate) fn store(&self, offset: usize, value: u64) {
        self.writable(offset).store(value, Ordering::Relaxed);
    }

    /// Fetches the cache line of a word for writing, so that its transfer from the other side's
    /// cache overlaps with the work before the first store. Only saves time.
    #[inline]
    pub(crate) fn will_write(&self, offset: usize) {
        let _word = self.writable(offset);
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a hint that changes neither memory nor registers; processors without it do nothing.
        unsafe {
            core::arch::asm!("prefetchw [{}]", in(reg) _word, options(nostack, preserves_flags));
        }
    }

    /// Fetches the cache line of a word for reading, so that several lines come from the other
    /// side's cache together, not one after the other. Only saves time.
    #[inline]
    pub(crate) fn will_read(&self, offset: usize) {
        let _word = self.word(offset);
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a hint that changes neither memory nor registers, and never faults.
        unsafe {
            core::arch::asm!("prefetcht0 [{}]", in(reg) _word, options(nostack, preserves_flags, readonly));
        }
    }

    /// Replaces the content of `out` by a private copy of `count` bytes; each byte is read once.
    ///
    /// # Panics
    /// If the bytes do not lie within the mapping or `offset` is no multiple of 8.
    pub(crate) fn copy_to_private(&self, offset: usize, count: usize, out: &mut Vec<u8>) {
        out.clear();
        self.append_to_private(offset, count, out);
    }

    /// As [`Mapping::copy_to_private`], behind the content of `out`.
    ///
    /// # Panics
    /// As [`Mapping::copy_to_private`].
    pub(crate) fn append_to_private(&self, offset: usize, count: usize, out: &mut Vec<u8>) {
        let words = count.div_ceil(WORD_BYTES);
        let source = self.words(offset, words);
        out.reserve(words * WORD_BYTES);
        copy_words_out(source, out.spare_capacity_mut());
        // SAFETY: `copy_words_out` initialised `words * 8 >= count` bytes behind the content.
        unsafe { out.set_len(out.len() + count) };
    }

    /// Writes `bytes` from private memory; the rest of the last word is zero.
    ///
    /// # Panics
    /// As [`Mapping::copy_to_private`], or if the mapping is read-only.
    pub(crate) fn copy_from_private(&self, offset: usize, bytes: &[u8]) {
        assert!(self.access == Access::Write, "a store to memory that this side only reads");
        let target = self.words(offset, bytes.len().div_ceil(WORD_BYTES));
        let done = copy_lines_in(bytes, target);
        let (chunks, tail) = bytes[done * WORD_BYTES..].as_chunks::<WORD_BYTES>();
        let target = &target[done..];
        for (word, chunk) in target.iter().zip(chunks) {
            word.store(u64::from_le_bytes(*chunk), Ordering::Relaxed);
        }
        if !tail.is_empty() {
            let mut last = [0; WORD_BYTES];
            last[..tail.len()].copy_from_slice(tail);
            target[chunks.len()].store(u64::from_le_bytes(last), Ordering::Relaxed);
        }
    }

    /// Overwrites `count` bytes, and the rest of their last word, with zeros.
    ///
    /// # Panics
    /// As [`Mapping::copy_from_private`].
    pub(crate) fn wipe(&self, offset: usize, count: usize) {
        assert!(self.access == Access::Write, "a store to memory that this side only reads");
        for word in self.words(offset, count.div_ceil(WORD_BYTES)) {
            word.store(0, Ordering::Relaxed);
        }
    }

    #[inline]
    fn words(&self, offset: usize, count: usize) -> &[AtomicU64] {
        let end = count.checked_mul(WORD_BYTES).and_then(|bytes| bytes.checked_add(offset));
        assert!(offset.is_multiple_of(WORD_BYTES) && end.is_some_and(|end| end <= self.bytes));
        debug_assert!(self.is_present());
        // SAFETY: as in `word`, for `count` words in a row.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(offset).cast::<AtomicU64>(), count) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if !self.is_present() {
            return;
        }
        world::unmapped(self.base.as_ptr().addr());
        // SAFETY: the mapping is ours, is present in this process, and no reference to it outlives `self`.
        let unmapped = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.bytes) };
        debug_assert!(unmapped.is_ok());
    }
}

/// Copies all of `source` to the beginning of `target`.
#[inline]
fn copy_words_out(source: &[AtomicU64], target: &mut [MaybeUninit<u8>]) {
    let (chunks, _) = target.as_chunks_mut::<WORD_BYTES>();
    assert!(source.len() <= chunks.len());
    let lines = whole_lines(source.len());
    // SAFETY: both have this many lines, and shared memory overlaps no private memory.
    unsafe { copy_lines(source.as_ptr().cast(), chunks.as_mut_ptr().cast(), lines) };
    let done = lines * LINE_WORDS;
    for (word, chunk) in source[done..].iter().zip(&mut chunks[done..]) {
        *chunk = word.load(Ordering::Relaxed).to_le_bytes().map(MaybeUninit::new);
    }
}

/// Copies the whole lines of `source` to the beginning of `target`, which has room for all of it;
/// returns the number of words copied.
#[inline]
fn copy_lines_in(source: &[u8], target: &[AtomicU64]) -> usize {
    let lines = whole_lines(source.len() / WORD_BYTES);
    assert!(lines * LINE_WORDS <= target.len());
    // SAFETY: both have this many lines, words may be stored to through a shared reference, and
    // shared memory overlaps no private memory.
    unsafe { copy_lines(source.as_ptr(), target.as_ptr().cast_mut().cast(), lines) };
    lines * LINE_WORDS
}

/// Words of a cache line.
const LINE_WORDS: usize = 8;

/// How many of these words are copied as whole lines.
#[inline]
const fn whole_lines(words: usize) -> usize {
    if cfg!(all(target_arch = "x86_64", not(miri))) { words / LINE_WORDS } else { 0 }
}

/// Copies lines one after the other, each byte read once and written once.
///
/// A copy by atomic words goes word by word: compilers join none of them. If another process writes
/// meanwhile, this copy may be torn elsewhere than between words, and is a claim either way. On
/// this architecture such loads and stores stay behind the loads, and before the stores, by which
/// the two sides hand memory to each other.
///
/// # Safety
/// `lines` cache lines may be read from `source` on and written from `target` on, and the two do
/// not overlap.
#[inline]
unsafe fn copy_lines(source: *const u8, target: *mut u8, lines: usize) {
    if lines == 0 {
        return;
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (source, target);
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads and writes exactly these lines, by the contract of this function. The compiler
    // does not reason about accesses in assembly: that another process writes there meanwhile is no
    // race of this program.
    unsafe {
        core::arch::asm!(
            "2:",
            "movdqu {a}, [{source}]",
            "movdqu {b}, [{source} + 16]",
            "movdqu {c}, [{source} + 32]",
            "movdqu {d}, [{source} + 48]",
            "movdqu [{target}], {a}",
            "movdqu [{target} + 16], {b}",
            "movdqu [{target} + 32], {c}",
            "movdqu [{target} + 48], {d}",
            "add {source}, 64",
            "add {target}, 64",
            "dec {lines}",
            "jnz 2b",
            source = inout(reg) source => _,
            target = inout(reg) target => _,
            lines = inout(reg) lines => _,
            a = out(xmm_reg) _,
            b = out(xmm_reg) _,
            c = out(xmm_reg) _,
            d = out(xmm_reg) _,
            options(nostack),
        );
    }
}

pub(crate) fn invalid(error: JoinError) -> io::Error {
    match error {
        JoinError::System { cause, .. } => cause,
        other => io::Error::new(io::ErrorKind::InvalidInput, other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(bytes: usize) -> (Mapping, Mapping) {
        let fd = create_sealed("test", bytes).unwrap();
        let reader = read_only(fd.as_fd()).unwrap();
        (
            Mapping::sealed(fd.as_fd(), bytes, Access::Write, Inherit::Nothing).unwrap(),
            Mapping::sealed(reader.as_fd(), bytes, Access::Read, Inherit::Nothing).unwrap(),
        )
    }

    #[test]
    fn copies_arrive_at_every_length() {
        let (writer, reader) = pair(PAGE_BYTES);
        let mut out = Vec::new();
        for length in (0..80).chain([PAGE_BYTES - 9, PAGE_BYTES - 8]) {
            let text: Vec<u8> = (0..length).map(|i| (i * 7 + length) as u8).collect();
            writer.copy_from_private(8, &text);
            reader.copy_to_private(8, length, &mut out);
            assert_eq!(out, text);
        }
    }

    #[test]
    #[should_panic(expected = "offset")]
    fn a_copy_beyond_the_end_is_refused() {
        let (_, reader) = pair(PAGE_BYTES);
        reader.copy_to_private(8, PAGE_BYTES, &mut Vec::new());
    }

    #[test]
    #[should_panic(expected = "only reads")]
    fn a_store_to_a_read_only_mapping_is_refused() {
        let (_, reader) = pair(PAGE_BYTES);
        reader.store(0, 1);
    }

    #[test]
    fn only_sealed_memory_of_the_right_size_is_mapped() {
        let sealed = create_sealed("test", PAGE_BYTES).unwrap();
        let map = |fd: &OwnedFd, bytes| Mapping::sealed(fd.as_fd(), bytes, Access::Read, Inherit::Shared);
        assert!(matches!(map(&sealed, 2 * PAGE_BYTES), Err(JoinError::Size { expected: 8192, found: 4096 })));
        assert!(rustix::fs::ftruncate(&sealed, 0).is_err());

        let unsealed = rustix::fs::memfd_create("test", MemfdFlags::ALLOW_SEALING).unwrap();
        rustix::fs::ftruncate(&unsealed, PAGE_BYTES as u64).unwrap();
        assert!(matches!(map(&unsealed, PAGE_BYTES), Err(JoinError::Unsealed)));
        let (pipe, _) = rustix::pipe::pipe().unwrap();
        assert!(matches!(map(&pipe, PAGE_BYTES), Err(JoinError::Unsealed)));
    }

    #[test]
    fn a_read_only_descriptor_cannot_be_mapped_for_writing() {
        let fd = create_sealed("test", PAGE_BYTES).unwrap();
        let reader = read_only(fd.as_fd()).unwrap();
        let mapped = Mapping::sealed(reader.as_fd(), PAGE_BYTES, Access::Write, Inherit::Shared);
        assert!(matches!(mapped, Err(JoinError::System { operation: "mmap", .. })));
        assert_eq!(rustix::fs::fstat(&fd).unwrap().st_mode & 0o777, 0o600);
    }
}
