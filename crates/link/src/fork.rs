//! Tells a child of fork that it is one, without an atfork handler.
//!
//! One private page of the process is marked wipe-on-fork: the kernel hands every child a zeroed
//! page. The page holds the process's epoch, a number that no ancestor had; a queue remembers the
//! epoch in which it was made.

use rustix::mm::{Advice, MapFlags, ProtFlags};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The highest epoch assigned by this process or, in a child that has not assigned one, by its parent.
static EPOCH: AtomicU64 = AtomicU64::new(0);

/// Bytes of the page that are asked for; the kernel gives, and wipes, a whole page.
const WORD_BYTES: usize = size_of::<AtomicU64>();

/// A number that differs between a process and each of its ancestors by fork.
///
/// Costs one load. Without wipe-on-fork memory (a kernel before 4.14) the process id stands in.
#[inline]
pub fn epoch() -> u64 {
    match page() {
        Some(word) => match word.load(Ordering::Relaxed) {
            0 => begin(word),
            epoch => epoch,
        },
        None => u64::from(std::process::id()),
    }
}

#[cold]
fn begin(word: &AtomicU64) -> u64 {
    // The count moves before the page does: a child forked in between starts above both. Threads
    // may race here; the first store to the page decides.
    let epoch = EPOCH.fetch_add(1, Ordering::SeqCst) + 1;
    match word.compare_exchange(0, epoch, Ordering::SeqCst, Ordering::Relaxed) {
        Ok(_) => epoch,
        Err(decided) => decided,
    }
}

#[inline]
fn page() -> Option<&'static AtomicU64> {
    static PAGE: OnceLock<Option<&'static AtomicU64>> = OnceLock::new();
    *PAGE.get_or_init(|| {
        // SAFETY: a new private mapping at an address of the kernel's choice; it is never unmapped.
        unsafe {
            let base = rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                WORD_BYTES,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
            .ok()?;
            rustix::mm::madvise(base, WORD_BYTES, Advice::LinuxWipeOnFork).ok()?;
            Some(&*base.cast::<AtomicU64>())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_epoch_stays_the_same_in_one_process() {
        let first = epoch();
        assert_ne!(first, 0);
        assert_eq!(std::thread::spawn(epoch).join().unwrap(), first);
    }
}
