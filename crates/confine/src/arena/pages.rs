//! Pages for secrets from the kernel: `memfd_secret`, else locked, else only kept out of dumps.

use argon2::Block;
use rustix::mm::{Advice, MapFlags, MlockFlags, ProtFlags};
use std::os::fd::{FromRawFd, OwnedFd};

/// Length of a page in bytes.
pub const PAGE_BYTES: usize = 4096;
/// Fewer further bytes are not worth a mapping.
const FURTHER_BYTES_MIN: usize = 1 << 20;

/// How well pages are protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageKind {
    /// `memfd_secret`: never swapped, dumped, traced, or mapped by the kernel.
    Secret,
    /// Never swapped, kept out of dumps.
    Locked,
    /// Only kept out of dumps: the kernel may write them to a swap device.
    Plain,
}

/// Pages that were zero when they were mapped.
pub struct Pages {
    /// First byte of the pages.
    pub start: *mut u8,
    /// Length of the pages in bytes.
    pub bytes: usize,
    /// How well the pages are protected.
    pub kind: PageKind,
}

/// The region of a program: `wanted` bytes, or less if the limit of locked memory demands it, but
/// at least `least`. If not even `least` bytes can be locked, `wanted` bytes that are not locked.
/// `None` if the system has no memory.
pub fn region(wanted: usize, least: usize) -> Option<Pages> {
    // A privileged program may lock more than its limit; only trying shows that.
    for bytes in [wanted, lockable(wanted)].into_iter().filter(|bytes| *bytes >= least) {
        if let Some(pages) = secret(bytes).or_else(|| locked(bytes)) {
            return Some(pages);
        }
    }
    plain(wanted)
}

/// Further pages, protected as these are: `wanted` bytes, or the half, the quarter and so on that can be locked. `None`
/// if less than [`FURTHER_BYTES_MIN`] can be.
pub fn further(wanted: usize, kind: PageKind) -> Option<Pages> {
    let mut bytes = wanted.next_multiple_of(PAGE_BYTES);
    while bytes >= FURTHER_BYTES_MIN {
        let pages = match kind {
            PageKind::Secret => secret(bytes),
            PageKind::Locked => locked(bytes),
            PageKind::Plain => plain(bytes),
        };
        if pages.is_some() {
            return pages;
        }
        bytes = (bytes / 2).next_multiple_of(PAGE_BYTES);
    }
    None
}

/// Pages for the one computation that would not fit the region, Argon2id: locked if the limit
/// allows it, always kept out of dumps; wiped and unmapped at the end.
pub struct WorkPages {
    pages: Pages,
    blocks: usize,
}

const _: () = assert!(align_of::<Block>() <= PAGE_BYTES);

impl WorkPages {
    /// Pages for this many blocks; if `must_be_locked`, only locked ones. `None` if the system does
    /// not provide them.
    pub fn new(blocks: usize, must_be_locked: bool) -> Option<Self> {
        let bytes = blocks.checked_mul(size_of::<Block>())?.checked_next_multiple_of(PAGE_BYTES)?;
        let pages = mapped(bytes, MapFlags::PRIVATE | MapFlags::LOCKED, PageKind::Locked);
        let pages = pages.or_else(|| plain(bytes).filter(|_| !must_be_locked))?;
        Some(Self { pages, blocks })
    }

    /// The blocks, all zero at first.
    pub fn blocks(&mut self) -> &mut [Block] {
        // SAFETY: the pages were mapped for this value alone, zeroed, live as long as it and hold
        // this many blocks. Blocks are arrays of words: any bytes are a block, and a page is
        // aligned as blocks are.
        unsafe { std::slice::from_raw_parts_mut(self.pages.start.cast(), self.blocks) }
    }
}

impl Drop for WorkPages {
    fn drop(&mut self) {
        // SAFETY: the pages of this value, which nobody uses any more.
        unsafe {
            super::wipe(self.pages.start, self.pages.bytes);
            release(self.pages.start, self.pages.bytes);
        }
    }
}

/// Unmaps pages.
///
/// # Safety
/// They were mapped here with this length, and nobody uses them any more.
unsafe fn release(start: *mut u8, bytes: usize) {
    // SAFETY: by the contract of this function.
    let _ = unsafe { rustix::mm::munmap(start.cast(), bytes) };
}

/// The limit of locked memory in bytes; none if there is no limit.
pub fn lock_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Memlock).current
}

/// Number of bytes that the limit of locked memory allows, in whole pages, at most `wanted`.
fn lockable(wanted: usize) -> usize {
    let limit = lock_limit().map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    limit.min(wanted) / PAGE_BYTES * PAGE_BYTES
}

fn secret(bytes: usize) -> Option<Pages> {
    // SAFETY: `memfd_secret` takes flags only; the result is checked before it is owned.
    let descriptor = unsafe { libc::syscall(libc::SYS_memfd_secret, libc::O_CLOEXEC) };
    let descriptor = i32::try_from(descriptor).ok().filter(|descriptor| *descriptor >= 0)?;
    // SAFETY: the kernel just made this descriptor for us.
    let memory = unsafe { OwnedFd::from_raw_fd(descriptor) };
    rustix::fs::ftruncate(&memory, bytes as u64).ok()?;
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice touches no memory in use.
    let start =
        unsafe { rustix::mm::mmap(std::ptr::null_mut(), bytes, protection, MapFlags::SHARED, &memory, 0) };
    Some(Pages { start: start.ok()?.cast(), bytes, kind: PageKind::Secret })
}

fn locked(bytes: usize) -> Option<Pages> {
    let pages = plain(bytes)?;
    // SAFETY: the pages were mapped above. They are locked as they are touched, so that an arena
    // costs only the memory that is used.
    match unsafe { rustix::mm::mlock_with(pages.start.cast(), bytes, MlockFlags::ONFAULT) } {
        Ok(()) => Some(Pages { kind: PageKind::Locked, ..pages }),
        Err(_) => {
            // SAFETY: mapped above, used by nobody.
            unsafe { release(pages.start, bytes) };
            None
        }
    }
}

fn plain(bytes: usize) -> Option<Pages> {
    mapped(bytes, MapFlags::PRIVATE, PageKind::Plain)
}

/// Maps pages that are kept out of dumps.
fn mapped(bytes: usize, flags: MapFlags, kind: PageKind) -> Option<Pages> {
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice touches no memory in use.
    let start = unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), bytes, protection, flags) };
    let start = start.ok()?;
    // SAFETY: the pages were mapped above; the advice does not change their content.
    let advised = unsafe { rustix::mm::madvise(start, bytes, Advice::LinuxDontDump) };
    if advised.is_err() {
        // SAFETY: mapped above, used by nobody.
        unsafe { release(start.cast(), bytes) };
        return None;
    }
    Some(Pages { start: start.cast(), bytes, kind })
}
