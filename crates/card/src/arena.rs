//! The secret arena: heap and stack of a card program.
//!
//! Everything that the program allocates lies in memory that is kept for secrets: pages of
//! `memfd_secret` (which even the kernel does not map), or, where the kernel has none, locked pages
//! kept out of dumps. Nothing has to be marked as secret, so nothing can be forgotten: master keys,
//! unwrapped keys, frames of verbs, batch scratch and the C library's contexts are all there, and so
//! is the stack, once [`on_arena_stack`] has moved it. A block is wiped when it is freed.
//!
//! ```text
//! up to 1 KiB     free lists, one per 16 bytes         \
//! up to 4 MiB     free lists, four per doubling         > cut from the region, then from chunks
//! above           pages of their own, returned when freed
//! ```
//! The region is made at the first allocation, as large as the locked-memory limit allows. Blocks
//! beyond it come from further chunks, which are locked where the limit allows, and kept out of
//! dumps always. [`report`] says what was had.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::{Cell, UnsafeCell};
use std::sync::atomic::{AtomicBool, Ordering};

mod pages;
mod stack;
pub use pages::Kind;
use pages::Pages;
pub use stack::{STACK_BYTES, on_arena_stack};

/// Most bytes that the arena takes from the system, in bytes.
pub const ARENA_BYTES_MAX: usize = 768 << 20;
/// Wanted length of the region made first, in bytes.
const REGION_BYTES: usize = 32 << 20;
/// Length of a further chunk, in bytes.
const CHUNK_BYTES: usize = 4 << 20;
/// Largest block that is cut from a region or chunk, in bytes.
const BLOCK_BYTES_MAX: usize = 4 << 20;
/// Every block begins at a multiple of this, in bytes.
const GRAIN: usize = 16;
/// Blocks up to this length have a class per [`GRAIN`], in bytes.
const FINE_BYTES_MAX: usize = 1024;
const FINE_CLASSES: usize = FINE_BYTES_MAX / GRAIN;
const CLASSES: usize = FINE_CLASSES + 4 * (BLOCK_BYTES_MAX / FINE_BYTES_MAX).trailing_zeros() as usize;

const _: () = assert!(CHUNK_BYTES >= BLOCK_BYTES_MAX && REGION_BYTES >= CHUNK_BYTES);

/// What the arena of this program got from the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Kind of the region made first; none before the first allocation.
    pub region: Option<Kind>,
    /// Length of that region in bytes.
    pub region_bytes: usize,
    /// Bytes ever had beyond the region.
    pub beyond_bytes: usize,
    /// Whether any of those could not be locked.
    pub beyond_plain: bool,
}

/// The program's arena, as its global allocator.
pub struct SecretHeap {
    _private: (),
}

static HEAP: Heap = Heap::new();

impl SecretHeap {
    /// The allocator; all of them share the one arena of the process.
    pub const fn new() -> Self {
        Self { _private: () }
    }
}

impl Default for SecretHeap {
    fn default() -> Self {
        Self::new()
    }
}

/// What the arena has; zeros in a program whose global allocator is another.
pub fn report() -> Report {
    HEAP.report()
}

// SAFETY: `Heap` hands out blocks of at least the asked length and alignment that overlap no other
// live block, and never unwinds.
unsafe impl GlobalAlloc for SecretHeap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HEAP.alloc(layout)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller gives back a block of `alloc` with its layout.
        unsafe { HEAP.dealloc(block, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        HEAP.alloc_zeroed(layout)
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: as for `dealloc`; `new_size` with this alignment is a valid layout by contract.
        unsafe { HEAP.realloc(block, layout, new_size) }
    }
}

/// Where a block of a layout comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Class(usize),
    Pages(usize),
}

impl Source {
    /// The source of `size` bytes; `None` if the length cannot be had at all.
    fn of(size: usize) -> Option<Self> {
        if size <= FINE_BYTES_MAX {
            Some(Self::Class(size.max(1).div_ceil(GRAIN) - 1))
        } else if size <= BLOCK_BYTES_MAX {
            // Four steps per doubling: 1280, 1536, 1792, 2048, 2560, ...
            let doubling = (size - 1).ilog2() as usize;
            let step = (size - 1) >> (doubling - 2) & 3;
            Some(Self::Class(FINE_CLASSES + 4 * (doubling - FINE_BYTES_MAX.ilog2() as usize) + step))
        } else {
            Some(Self::Pages(size.checked_next_multiple_of(pages::PAGE_BYTES)?))
        }
    }

    /// Length of the block in bytes.
    fn bytes(self) -> usize {
        match self {
            Self::Class(class) if class < FINE_CLASSES => (class + 1) * GRAIN,
            Self::Class(class) => {
                let (doubling, step) = ((class - FINE_CLASSES) / 4, (class - FINE_CLASSES) % 4);
                (FINE_BYTES_MAX << doubling) / 4 * (5 + step)
            }
            Self::Pages(bytes) => bytes,
        }
    }
}

/// A free block: its first word names the next one, the rest is zero.
struct Free {
    next: *mut Free,
}

thread_local! {
    /// Free blocks of each class. A thread's own, so that no lock is needed for most blocks; a card
    /// has one thread. What a thread has here when it ends is not used again.
    static FREE: [Cell<*mut Free>; CLASSES] = const { [const { Cell::new(std::ptr::null_mut()) }; CLASSES] };
}

struct Inner {
    /// What is left of the region or chunk that blocks are cut from; it is zero.
    rest: *mut u8,
    rest_bytes: usize,
    taken_bytes: usize,
    report: Report,
}

struct Heap {
    busy: AtomicBool,
    inner: UnsafeCell<Inner>,
}

// SAFETY: `inner` is reached only through `with`, which holds `busy`; the pointers in it belong to
// memory that only this heap manages.
unsafe impl Sync for Heap {}

impl Heap {
    const fn new() -> Self {
        let report = Report { region: None, region_bytes: 0, beyond_bytes: 0, beyond_plain: false };
        let inner = Inner { rest: std::ptr::null_mut(), rest_bytes: 0, taken_bytes: 0, report };
        Self { busy: AtomicBool::new(false), inner: UnsafeCell::new(inner) }
    }

    fn with<T>(&self, work: impl FnOnce(&mut Inner) -> T) -> T {
        while self.busy.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            std::hint::spin_loop();
        }
        // SAFETY: `busy` was taken by this thread alone, and nothing in `work` re-enters or unwinds.
        let result = work(unsafe { &mut *self.inner.get() });
        self.busy.store(false, Ordering::Release);
        result
    }

    fn report(&self) -> Report {
        self.with(|inner| inner.report)
    }

    fn alloc(&self, layout: Layout) -> *mut u8 {
        self.obtain(layout, false)
    }

    fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.obtain(layout, true)
    }

    #[inline]
    fn obtain(&self, layout: Layout, zeroed: bool) -> *mut u8 {
        if layout.align() > GRAIN {
            return self.obtain_aligned(layout);
        }
        let Some(source) = Source::of(layout.size()) else { return std::ptr::null_mut() };
        let block = self.take(source);
        if zeroed && !block.is_null() {
            // SAFETY: the block has at least `GRAIN` bytes. All of it but the link of the free list
            // is zero already.
            unsafe { block.cast::<*mut Free>().write(std::ptr::null_mut()) };
        }
        block
    }

    #[inline]
    fn take(&self, source: Source) -> *mut u8 {
        match source {
            Source::Class(class) => {
                let head = FREE.with(|free| free[class].get());
                if head.is_null() {
                    return self.with(|inner| inner.cut(source.bytes()));
                }
                // SAFETY: a block of this thread's free list is memory of the arena that nobody uses.
                let next = unsafe { (*head).next };
                FREE.with(|free| free[class].set(next));
                head.cast()
            }
            Source::Pages(bytes) => {
                self.with(|inner| inner.pages(bytes)).map_or(std::ptr::null_mut(), |pages| pages.start)
            }
        }
    }

    /// A block with room to move its start to the alignment; the word before the start names the
    /// block. The contents are zero.
    fn obtain_aligned(&self, layout: Layout) -> *mut u8 {
        let Some(source) = aligned_source(layout) else { return std::ptr::null_mut() };
        let block = self.take(source);
        if block.is_null() {
            return block;
        }
        let offset = (block as usize + GRAIN).next_multiple_of(layout.align()) - block as usize;
        // SAFETY: `aligned_source` asked for the size, the alignment and one grain, so that
        // `offset <= align + GRAIN` leaves `size` bytes behind it and a word before it.
        unsafe {
            block.cast::<*mut Free>().write(std::ptr::null_mut());
            let start = block.add(offset);
            start.cast::<*mut u8>().sub(1).write(block);
            start
        }
    }

    /// # Safety
    /// `block` came from this heap for `layout` and is given back once.
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let (block, source) = if layout.align() > GRAIN {
            // SAFETY: `obtain_aligned` wrote the word before the start of this block.
            (unsafe { block.cast::<*mut u8>().sub(1).read() }, aligned_source(layout))
        } else {
            (block, Source::of(layout.size()))
        };
        let Some(source) = source else { return };
        // SAFETY: the whole block is `source.bytes()` long and nobody else uses it any more.
        unsafe { wipe(block, source.bytes()) };
        match source {
            Source::Class(class) => FREE.with(|lists| {
                let free = block.cast::<Free>();
                // SAFETY: the block is ours again, aligned to 16 and at least 16 bytes long.
                unsafe { free.write(Free { next: lists[class].get() }) };
                lists[class].set(free);
            }),
            Source::Pages(bytes) => {
                // SAFETY: these pages came from `pages::chunk` with this length.
                unsafe { pages::release(block, bytes) };
                self.with(|inner| inner.taken_bytes -= bytes);
            }
        }
    }

    /// # Safety
    /// As [`Heap::dealloc`]; the new size with the same alignment is a valid layout.
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if layout.align() <= GRAIN && Source::of(layout.size()) == Source::of(new_size) {
            return block;
        }
        let Ok(new_layout) = Layout::from_size_align(new_size, layout.align()) else {
            return std::ptr::null_mut();
        };
        let new = self.alloc(new_layout);
        if !new.is_null() {
            // SAFETY: both blocks have at least the smaller size, and a live block overlaps no other.
            unsafe {
                std::ptr::copy_nonoverlapping(block, new, layout.size().min(new_size));
                self.dealloc(block, layout);
            }
        }
        new
    }
}

fn aligned_source(layout: Layout) -> Option<Source> {
    Source::of(layout.size().checked_add(layout.align())?.checked_add(GRAIN)?)
}

impl Inner {
    /// Cuts a block off what is left; a new chunk where that is too short. The remainder of the
    /// one before is lost: less than one block in four megabytes.
    fn cut(&mut self, bytes: usize) -> *mut u8 {
        if self.rest_bytes < bytes {
            let pages = if self.report.region.is_none() { self.region() } else { self.pages(CHUNK_BYTES) };
            let Some(pages) = pages else { return std::ptr::null_mut() };
            self.rest = pages.start;
            self.rest_bytes = pages.bytes;
        }
        let block = self.rest;
        // SAFETY: `bytes <= rest_bytes`, so this stays within the region or at its end.
        self.rest = unsafe { block.add(bytes) };
        self.rest_bytes -= bytes;
        block
    }

    fn region(&mut self) -> Option<Pages> {
        let pages = pages::region(REGION_BYTES, CHUNK_BYTES)?;
        self.taken_bytes += pages.bytes;
        self.report.region = Some(pages.kind);
        self.report.region_bytes = pages.bytes;
        Some(pages)
    }

    fn pages(&mut self, bytes: usize) -> Option<Pages> {
        if self.taken_bytes.checked_add(bytes)? > ARENA_BYTES_MAX {
            return None;
        }
        let pages = pages::chunk(bytes)?;
        self.taken_bytes += bytes;
        self.report.beyond_bytes += bytes;
        self.report.beyond_plain |= pages.kind == Kind::Plain;
        Some(pages)
    }
}

/// Overwrites with zeros in a way that is not removed as a dead store.
///
/// # Safety
/// `bytes` bytes from `start` may be written.
unsafe fn wipe(start: *mut u8, bytes: usize) {
    // SAFETY: by the contract of this function.
    unsafe { std::ptr::write_bytes(start, 0, bytes) };
    // Whoever looks at the memory after this point sees the zeros.
    std::hint::black_box(start);
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn layout(size: usize, align: usize) -> Layout {
        Layout::from_size_align(size, align).unwrap()
    }

    #[test]
    fn a_class_holds_its_sizes_and_no_smaller_class_would() {
        let mut before = 0;
        for class in 0..CLASSES {
            let bytes = Source::Class(class).bytes();
            assert!(bytes > before && bytes.is_multiple_of(GRAIN), "class {class}");
            assert_eq!(Source::of(bytes), Some(Source::Class(class)));
            assert_eq!(Source::of(before + 1), Some(Source::Class(class)));
            before = bytes;
        }
        assert_eq!(before, BLOCK_BYTES_MAX);
        assert_eq!(Source::of(before + 1), Some(Source::Pages(before + pages::PAGE_BYTES)));
        assert_eq!(Source::of(usize::MAX), None);
    }

    #[test]
    fn a_freed_block_is_wiped_and_used_again() {
        let heap = Heap::new();
        for size in [1, 64, 1000, 5000, BLOCK_BYTES_MAX] {
            let layout = layout(size, 8);
            let block = heap.alloc(layout);
            assert!(!block.is_null());
            // SAFETY: the block has `size` bytes; after `dealloc` the heap keeps it mapped, and
            // this test knows that nothing else uses this heap.
            unsafe {
                block.write_bytes(0xA5, size);
                heap.dealloc(block, layout);
                let rest = std::slice::from_raw_parts(block.add(8.min(size)), size - 8.min(size));
                assert!(rest.iter().all(|byte| *byte == 0), "{size}");
                assert_eq!(heap.alloc_zeroed(layout), block);
                assert!(std::slice::from_raw_parts(block, size).iter().all(|byte| *byte == 0), "{size}");
                heap.dealloc(block, layout);
            }
        }
    }

    #[test]
    fn more_than_the_bound_is_refused_and_pages_return() {
        let heap = Heap::new();
        assert!(heap.alloc(layout(ARENA_BYTES_MAX + 1, 16)).is_null());
        let half = layout(ARENA_BYTES_MAX / 2 + 1, 16);
        for _ in 0..3 {
            let block = heap.alloc(layout(8 << 20, 16));
            assert!(!block.is_null());
            // SAFETY: allocated above.
            unsafe { heap.dealloc(block, layout(8 << 20, 16)) };
        }
        assert_eq!(heap.with(|inner| inner.taken_bytes), 0);
        let first = heap.alloc(half);
        assert!(heap.alloc(half).is_null());
        // Unmapped without the wiping, which would touch every page.
        // SAFETY: allocated above from pages of its own.
        unsafe { pages::release(first, half.size().next_multiple_of(pages::PAGE_BYTES)) };
    }

    #[test]
    fn the_region_says_what_it_is() {
        let heap = Heap::new();
        assert_eq!(heap.report().region, None);
        assert!(!heap.alloc(layout(1, 1)).is_null());
        let report = heap.report();
        assert!(report.region.is_some() && report.region_bytes >= CHUNK_BYTES);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn blocks_keep_what_is_written(steps in proptest::collection::vec((0usize..20_000, 0u32..8, any::<u8>()), 1..120)) {
            let heap = Heap::new();
            let mut live: Vec<(*mut u8, Layout, u8)> = Vec::new();
            let check = |block: *mut u8, size: usize, byte: u8| {
                // SAFETY: a live block of at least `size` bytes, all of them written.
                let bytes = unsafe { std::slice::from_raw_parts(block, size) };
                bytes.iter().all(|b| *b == byte)
            };
            for (index, (size, align, byte)) in steps.into_iter().enumerate() {
                let layout = layout(size + 1, 1 << (align * 2).min(12));
                if index % 3 == 2 {
                    let (block, old, old_byte) = live.swap_remove(size % live.len());
                    prop_assert!(check(block, old.size(), old_byte));
                    // SAFETY: a live block with its layout; the new one is filled anew.
                    let grown = unsafe {
                        let grown = heap.realloc(block, old, size + 1);
                        prop_assert!(check(grown, old.size().min(size + 1), old_byte));
                        grown.write_bytes(byte, size + 1);
                        grown
                    };
                    live.push((grown, Layout::from_size_align(size + 1, old.align()).unwrap(), byte));
                } else {
                    let block = heap.alloc(layout);
                    prop_assert!(!block.is_null() && (block as usize).is_multiple_of(layout.align()));
                    // SAFETY: a new block of this size.
                    unsafe { block.write_bytes(byte, layout.size()) };
                    live.push((block, layout, byte));
                }
            }
            for (block, layout, byte) in live {
                prop_assert!(check(block, layout.size(), byte));
                // SAFETY: a live block with its layout.
                unsafe { heap.dealloc(block, layout) };
            }
        }
    }
}
