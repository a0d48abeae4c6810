//! Pages for secrets from the kernel: `memfd_secret`, else locked, else only kept out of dumps.

use rustix::mm::{Advice, MapFlags, MlockFlags, ProtFlags};
use std::os::fd::{FromRawFd, OwnedFd};

/// Length of a page in bytes.
pub const PAGE_BYTES: usize = 4096;

/// How well pages are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `memfd_secret`: never swapped, dumped, traced, or mapped by the kernel.
    Secret,
    /// Never swapped, kept out of dumps.
    Locked,
    /// Kept out of dumps.
    Plain,
}

/// Zeroed pages.
pub struct Pages {
    /// Their first byte.
    pub start: *mut u8,
    /// Their length in bytes.
    pub bytes: usize,
    /// How well they are kept.
    pub kind: Kind,
}

/// The region that a program begins with: `wanted` bytes, less where the locked-memory limit
/// demands it, but at least `least`. `None` if the system has no memory at all.
pub fn region(wanted: usize, least: usize) -> Option<Pages> {
    // A privileged program may lock beyond its limit, which only trying shows.
    for bytes in [wanted, lockable(wanted)].into_iter().filter(|bytes| *bytes >= least) {
        if let Some(pages) = secret(bytes).or_else(|| locked(bytes)) {
            return Some(pages);
        }
    }
    plain(wanted)
}

/// Pages beyond the region.
pub fn chunk(bytes: usize) -> Option<Pages> {
    locked(bytes).or_else(|| plain(bytes))
}

/// Gives pages of [`chunk`] back.
///
/// # Safety
/// They were mapped by [`chunk`] with this length, and nobody uses them any more.
pub unsafe fn release(start: *mut u8, bytes: usize) {
    // SAFETY: by the contract of this function.
    let _ = unsafe { rustix::mm::munmap(start.cast(), bytes) };
}

/// How much the locked-memory limit allows, in whole pages, at most `wanted`.
fn lockable(wanted: usize) -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Memlock).current;
    let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
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
    Some(Pages { start: start.ok()?.cast(), bytes, kind: Kind::Secret })
}

fn locked(bytes: usize) -> Option<Pages> {
    let pages = plain(bytes)?;
    // SAFETY: the pages were mapped above. Locked as they are touched, so that an arena costs what
    // is used of it.
    match unsafe { rustix::mm::mlock_with(pages.start.cast(), bytes, MlockFlags::ONFAULT) } {
        Ok(()) => Some(Pages { kind: Kind::Locked, ..pages }),
        Err(_) => {
            // SAFETY: mapped above, used by nobody.
            unsafe { release(pages.start, bytes) };
            None
        }
    }
}

fn plain(bytes: usize) -> Option<Pages> {
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice touches no memory in use.
    let start =
        unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), bytes, protection, MapFlags::PRIVATE) };
    let start = start.ok()?;
    // SAFETY: the pages were mapped above; the advice changes nothing of what they hold.
    let advised = unsafe { rustix::mm::madvise(start, bytes, Advice::LinuxDontDump) };
    if advised.is_err() {
        // SAFETY: mapped above, used by nobody.
        unsafe { release(start.cast(), bytes) };
        return None;
    }
    Some(Pages { start: start.cast(), bytes, kind: Kind::Plain })
}
