//! The secret arena: heap and stack of a process that holds keys, with the lengths that a card
//! needs.
//!
//! Everything that the program allocates lies in one region that is kept for secrets: pages of
//! `memfd_secret` (which even the kernel does not map), or, if the kernel has none, locked pages
//! kept out of dumps. Since nothing has to be marked as secret, nothing can be forgotten: master
//! keys, unwrapped keys, frames of verbs, batch scratch and the C library's contexts are all there.
//! The stack is there too, once [`on_arena_stack`] has moved it. A block is wiped when it is freed.
//!
//! ```text
//! up to 64 KiB    free lists, one per 16 bytes up to 1 KiB, then four per doubling
//! above           cut from the region, given back to it
//! ```
//! The whole region is mapped at the first allocation, [`ARENA_BYTES`] or as much as the limit of locked memory
//! allows. A program may [`add`] to it before it gives up mapping memory; it never grows by itself, and
//! allocations beyond it fail. A card checks for [`room`] before it takes a request, and
//! answers that it is full if there is none. Pages cost memory once they are touched. [`report`] describes the region.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::{Cell, UnsafeCell};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use talc::{ErrOnOom, Span, Talc};
use wire::bounds::{BATCH_BYTES_MAX, BULK_BYTES_MAX, PREPARED_KEYS_BYTES};

mod pages;
mod stack;
pub use pages::{PageKind, WorkPages};
pub use stack::{STACK_BYTES, on_arena_stack};

/// Wanted length of the region, in bytes: the stack, queues and tables, prepared keys, and the
/// memory of the largest pass.
pub const ARENA_BYTES: usize =
    (STACK_BYTES + TABLES_BYTES + PREPARED_KEYS_BYTES + COPIES * (BATCH_BYTES_MAX + BULK_BYTES_MAX))
        .next_multiple_of(1 << 20);
/// A region shorter than this, in bytes, is not worth locking: no card can start in it.
pub const ARENA_BYTES_MIN: usize = 4 << 20;
/// Part of the region for queues, grants, roles, tenants and costs, in bytes.
const TABLES_BYTES: usize = 32 << 20;
/// At most this many copies of a request's payload are in memory at once: its copy, its answer, and
/// those that its verb and the kernel's lanes make of it.
pub const COPIES: usize = 5;
/// Further memory of a request, in bytes: arguments, the computation, prepared keys.
pub const REQUEST_BYTES: usize = 24 << 10;
/// Every cached block begins at a multiple of this number of bytes.
const GRAIN: usize = 16;
/// Blocks up to this length, in bytes, have one class per [`GRAIN`].
const FINE_BYTES_MAX: usize = 1024;
/// Largest block that is kept in a free list, in bytes.
const CACHED_BYTES_MAX: usize = 64 << 10;
const FINE_CLASSES: usize = FINE_BYTES_MAX / GRAIN;
const CLASSES: usize = FINE_CLASSES + 4 * (CACHED_BYTES_MAX / FINE_BYTES_MAX).trailing_zeros() as usize;
/// [`room`] ignores pieces shorter than this, in bytes.
const ROOM_BYTES_MIN: usize = 16 << 10;
/// How often [`room`] halves the interval between a length that is free and one that is not.
const ROOM_STEPS: usize = 4;

/// The memory that the arena of this program got from the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// How the region is protected; none before the first allocation.
    pub region: Option<PageKind>,
    /// Length of the region in bytes.
    pub region_bytes: usize,
    /// Length that was asked for, in bytes; 0 before the first allocation.
    pub wanted_bytes: usize,
    /// The limit of locked memory when the region was mapped, in bytes; none if there was no limit.
    pub limit_bytes: Option<u64>,
    /// Number of bytes allocated, free lists included.
    pub used_bytes: usize,
    /// Greatest number of bytes that was ever allocated.
    pub peak_bytes: usize,
}

/// The program's arena, as its global allocator.
pub struct SecretHeap {
    _private: (),
}

static HEAP: Heap = Heap::new();

impl SecretHeap {
    /// The allocator; all its values share the one arena of the process.
    pub const fn new() -> Self {
        Self { _private: () }
    }
}

impl Default for SecretHeap {
    fn default() -> Self {
        Self::new()
    }
}

/// The arena's memory and use; zeros in a program with another global allocator.
pub fn report() -> Report {
    HEAP.with(|inner| inner.report)
}

/// Adds up to this many bytes to the region, protected as well as the region is: less if the limit of locked memory
/// demands it. Returns how many were added. The program must still be allowed to map memory. In a program with
/// another global allocator, nothing is added.
pub fn add(bytes: usize) -> usize {
    HEAP.with(|inner| inner.add(bytes))
}

/// Length that can be allocated in one piece now, in bytes: `wanted`, or less if that is not free.
/// All of it can also be allocated in pieces. In a program with another global allocator, `wanted`.
pub fn room(wanted: usize) -> usize {
    HEAP.room(wanted)
}

// SAFETY: `Heap` hands out blocks of at least the asked length and alignment that overlap no other
// live block, and never unwinds.
unsafe impl GlobalAlloc for SecretHeap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HEAP.obtain(layout).start
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

/// The class of blocks that serves a layout; `None` if such blocks are cut from the region.
fn class_of(layout: Layout) -> Option<usize> {
    let size = layout.size();
    if layout.align() > GRAIN || size > CACHED_BYTES_MAX {
        None
    } else if size <= FINE_BYTES_MAX {
        Some(size.max(1).div_ceil(GRAIN) - 1)
    } else {
        // Four steps per doubling: 1280, 1536, 1792, 2048, 2560, ...
        let doubling = (size - 1).ilog2() as usize;
        let step = (size - 1) >> (doubling - 2) & 3;
        Some(FINE_CLASSES + 4 * (doubling - FINE_BYTES_MAX.ilog2() as usize) + step)
    }
}

/// A layout as it is cut from the region: it begins at a multiple of [`GRAIN`] and ends with talc's
/// word before another. So free pieces do too, and a piece that is long enough for a block also has
/// room for its alignment. Otherwise pieces that never fit would be looked at for each block.
fn piece(layout: Layout) -> Option<Layout> {
    let bytes = layout.size().checked_next_multiple_of(GRAIN)?.checked_add(GRAIN - size_of::<usize>())?;
    Layout::from_size_align(bytes, layout.align().max(GRAIN)).ok()
}

/// Length of the blocks of a class in bytes.
const fn class_bytes(class: usize) -> usize {
    if class < FINE_CLASSES {
        return (class + 1) * GRAIN;
    }
    let (doubling, step) = ((class - FINE_CLASSES) / 4, (class - FINE_CLASSES) % 4);
    (FINE_BYTES_MAX << doubling) / 4 * (5 + step)
}

/// The layout in which the blocks of a class are cut.
const fn class_layout(class: usize) -> Layout {
    match Layout::from_size_align(class_bytes(class), GRAIN) {
        Ok(layout) => layout,
        Err(_) => panic!("a class has a short length"),
    }
}

/// A free block: its first word points to the next free block, the rest is zero.
struct Free {
    next: *mut Free,
}

thread_local! {
    /// Free blocks of each class, for this thread alone, so that most blocks need no lock; a card
    /// has one thread. Blocks that a thread has here when it ends are not used again.
    static FREE: [Cell<*mut Free>; CLASSES] = const { [const { Cell::new(std::ptr::null_mut()) }; CLASSES] };
}

/// The result of an allocation.
struct Had {
    /// First byte of the block; null if the allocation failed.
    start: *mut u8,
    /// Whether all of the block but its first word is zero.
    is_wiped: bool,
}

struct Inner {
    region: Talc<ErrOnOom>,
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
        let report = Report {
            region: None,
            region_bytes: 0,
            wanted_bytes: 0,
            limit_bytes: None,
            used_bytes: 0,
            peak_bytes: 0,
        };
        let inner = Inner { region: Talc::new(ErrOnOom), report };
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

    fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let had = self.obtain(layout);
        if !had.start.is_null() {
            let bytes = if had.is_wiped { size_of::<Free>().min(layout.size()) } else { layout.size() };
            // SAFETY: the block has the size of its layout.
            unsafe { had.start.write_bytes(0, bytes) };
        }
        had.start
    }

    #[inline]
    fn obtain(&self, layout: Layout) -> Had {
        let Some(class) = class_of(layout) else { return self.cut(layout) };
        let head = FREE.with(|free| free[class].get());
        if head.is_null() {
            return self.cut(class_layout(class));
        }
        // SAFETY: a block of this thread's free list is memory of the arena that nobody uses.
        let next = unsafe { (*head).next };
        FREE.with(|free| free[class].set(next));
        Had { start: head.cast(), is_wiped: true }
    }

    /// A block cut from the region; if no piece is free, after the free lists have been given back.
    #[cold]
    fn cut(&self, layout: Layout) -> Had {
        let start = self.with(|inner| inner.cut(layout)).or_else(|| {
            self.tidy();
            self.with(|inner| inner.cut(layout))
        });
        Had { start: start.map_or(std::ptr::null_mut(), NonNull::as_ptr), is_wiped: false }
    }

    /// Gives the blocks of this thread's free lists back to the region, where neighbouring pieces
    /// are joined.
    fn tidy(&self) {
        for class in 0..CLASSES {
            let mut head = FREE.with(|free| free[class].replace(std::ptr::null_mut()));
            while let Some(block) = NonNull::new(head) {
                // SAFETY: a block of this thread's free list is memory of the arena that nobody uses, cut as its class
                // is.
                unsafe {
                    head = block.as_ref().next;
                    self.with(|inner| inner.give_back(block.cast(), class_layout(class)));
                }
            }
        }
    }

    fn room(&self, wanted: usize) -> usize {
        if self.with(|inner| inner.report.region.is_none()) {
            return wanted;
        }
        if self.is_there(wanted) {
            return wanted;
        }
        self.tidy();
        // No piece as long as `more` is free; in the end one as long as `less` is.
        let (mut less, mut more) = (wanted, wanted);
        while !self.is_there(less) {
            more = less;
            less /= 2;
            if less < ROOM_BYTES_MIN {
                return 0;
            }
        }
        for _ in 0..ROOM_STEPS {
            let between = less + (more - less) / 2;
            if self.is_there(between) { less = between } else { more = between }
        }
        less
    }

    /// Whether this many bytes are free in one piece.
    fn is_there(&self, bytes: usize) -> bool {
        let Ok(layout) = Layout::from_size_align(bytes.max(1), GRAIN) else { return false };
        self.with(|inner| {
            let peak = inner.report.peak_bytes;
            let block = inner.cut(layout);
            inner.report.peak_bytes = peak;
            // SAFETY: cut a moment ago with this layout.
            block.inspect(|block| unsafe { inner.give_back(*block, layout) }).is_some()
        })
    }

    /// # Safety
    /// `block` came from this heap for `layout` and is given back once.
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let Some(class) = class_of(layout) else {
            // SAFETY: nobody else uses the block any more, which was cut with this layout.
            unsafe {
                wipe(block, layout.size());
                if let Some(block) = NonNull::new(block) {
                    self.with(|inner| inner.give_back(block, layout));
                }
            }
            return;
        };
        // SAFETY: the whole block has the length of its class and nobody else uses it any more.
        unsafe { wipe(block, class_bytes(class)) };
        FREE.with(|lists| {
            let free = block.cast::<Free>();
            // SAFETY: the block is ours again, aligned to 16 and at least 16 bytes long.
            unsafe { free.write(Free { next: lists[class].get() }) };
            lists[class].set(free);
        });
    }

    /// # Safety
    /// As [`Heap::dealloc`]; the new size with the same alignment is a valid layout.
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let Ok(new_layout) = Layout::from_size_align(new_size, layout.align()) else {
            return std::ptr::null_mut();
        };
        if class_of(layout).is_some() && class_of(layout) == class_of(new_layout) {
            return block;
        }
        let new = self.obtain(new_layout).start;
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

impl Inner {
    fn cut(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        if self.report.region.is_none() {
            self.reserve()?;
        }
        // SAFETY: a piece is not of size zero.
        let block = unsafe { self.region.malloc(piece(layout)?) }.ok()?;
        self.report.used_bytes += layout.size();
        self.report.peak_bytes = self.report.peak_bytes.max(self.report.used_bytes);
        Some(block)
    }

    /// # Safety
    /// `block` was cut with this layout, and nobody uses it any more.
    unsafe fn give_back(&mut self, block: NonNull<u8>, layout: Layout) {
        let Some(piece) = piece(layout) else { return };
        // SAFETY: by contract; this is what was cut for the layout.
        unsafe { self.region.free(block, piece) };
        self.report.used_bytes -= layout.size();
    }

    /// Maps the region: all memory that the arena will ever have.
    fn reserve(&mut self) -> Option<()> {
        let limit_bytes = pages::lock_limit();
        let had = pages::region(ARENA_BYTES, ARENA_BYTES_MIN)?;
        // SAFETY: the pages were mapped for this, and nobody else knows of them.
        unsafe { self.region.claim(Span::from_base_size(had.start, had.bytes)) }.ok()?;
        let (region, region_bytes) = (Some(had.kind), had.bytes);
        self.report = Report { region, region_bytes, wanted_bytes: ARENA_BYTES, limit_bytes, ..self.report };
        Some(())
    }

    /// Maps more memory; returns how many bytes.
    fn add(&mut self, bytes: usize) -> usize {
        let Some(kind) = self.report.region else { return 0 };
        self.report.wanted_bytes += bytes;
        let Some(had) = pages::further(bytes, kind) else { return 0 };
        // SAFETY: the pages were mapped for this, and nobody else knows of them.
        if unsafe { self.region.claim(Span::from_base_size(had.start, had.bytes)) }.is_err() {
            return 0;
        }
        self.report.region_bytes += had.bytes;
        had.bytes
    }
}

/// Overwrites with zeros in a way that the compiler does not remove as a dead store.
///
/// # Safety
/// `bytes` bytes from `start` may be written.
unsafe fn wipe(start: *mut u8, bytes: usize) {
    // SAFETY: by the contract of this function.
    unsafe { std::ptr::write_bytes(start, 0, bytes) };
    // Code that reads the memory after this point sees the zeros.
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
        let of = |size| class_of(layout(size, 8));
        let mut before = 0;
        for class in 0..CLASSES {
            let bytes = class_bytes(class);
            assert!(bytes > before && bytes.is_multiple_of(GRAIN), "class {class}");
            assert_eq!((of(bytes), of(before + 1)), (Some(class), Some(class)));
            before = bytes;
        }
        assert_eq!((before, of(before + 1)), (CACHED_BYTES_MAX, None));
        assert_eq!(class_of(layout(64, 2 * GRAIN)), None);
    }

    #[test]
    fn a_freed_block_is_wiped_and_used_again() {
        for size in [1, 64, 1000, 5000, CACHED_BYTES_MAX] {
            let layout = layout(size, 8);
            let block = HEAP.obtain(layout).start;
            assert!(!block.is_null());
            // SAFETY: the block has `size` bytes; after `dealloc` the heap keeps it in this thread's free list.
            unsafe {
                block.write_bytes(0xA5, size);
                HEAP.dealloc(block, layout);
                let rest = std::slice::from_raw_parts(block.add(8.min(size)), size - 8.min(size));
                assert!(rest.iter().all(|byte| *byte == 0), "{size}");
                assert_eq!(HEAP.alloc_zeroed(layout), block);
                assert!(std::slice::from_raw_parts(block, size).iter().all(|byte| *byte == 0), "{size}");
                HEAP.dealloc(block, layout);
            }
        }
    }

    #[test]
    fn a_long_block_is_zero_where_that_is_asked_for() {
        let layout = layout(CACHED_BYTES_MAX + 1, 64);
        for _ in 0..3 {
            let block = HEAP.alloc_zeroed(layout);
            // SAFETY: a block of this layout, given back once.
            unsafe {
                let bytes = std::slice::from_raw_parts_mut(block, layout.size());
                assert!(bytes.iter().all(|byte| *byte == 0));
                bytes.fill(0xA5);
                HEAP.dealloc(block, layout);
            }
        }
    }

    #[test]
    fn the_region_says_what_it_is_and_never_grows() {
        // SAFETY: a block of this layout, given back once.
        unsafe { HEAP.dealloc(HEAP.obtain(layout(1, 1)).start, layout(1, 1)) };
        let report = HEAP.with(|inner| inner.report);
        assert!(report.region.is_some() && report.region_bytes >= ARENA_BYTES_MIN);
        assert!(HEAP.obtain(layout(report.region_bytes, 16)).start.is_null());
        assert_eq!(HEAP.room(4096 * 16), 4096 * 16);
        assert!(HEAP.room(usize::MAX / 2) < report.region_bytes);
        assert_eq!(HEAP.with(|inner| inner.report.region_bytes), report.region_bytes);
    }

    #[test]
    fn whatever_is_free_begins_where_blocks_do() {
        const BYTES: usize = 1 << 20;
        let mut memory = vec![0_u128; BYTES / size_of::<u128>()];
        let report = Report {
            region: Some(PageKind::Locked),
            region_bytes: BYTES,
            wanted_bytes: BYTES,
            limit_bytes: None,
            used_bytes: 0,
            peak_bytes: 0,
        };
        let mut inner = Inner { region: Talc::new(ErrOnOom), report };
        // SAFETY: the memory outlives the region, and nobody else uses it; blocks are given back once, with their
        // layouts.
        unsafe {
            inner.region.claim(Span::from_base_size(memory.as_mut_ptr().cast(), BYTES)).unwrap();
            let mut live = Vec::new();
            for step in 0..4000_usize {
                let layout = layout(1 + step * 37 % 700, 1 << (step % 8));
                live.push((inner.cut(layout).unwrap(), layout));
                if step % 3 != 0 {
                    let (block, layout) = live.swap_remove(step * 7919 % live.len());
                    inner.give_back(block, layout);
                }
            }
            // Blocks of this layout take everything that is free, each from its beginning.
            let small = layout(2 * GRAIN - size_of::<usize>(), size_of::<usize>());
            let mut taken = 0;
            while let Ok(block) = inner.region.malloc(small) {
                assert!((block.as_ptr() as usize).is_multiple_of(GRAIN), "{block:?} after {taken} others");
                taken += 1;
            }
            assert!(taken > 1000, "{taken}");
        }
    }

    #[test]
    fn what_is_added_is_there_for_blocks() {
        let heap = Heap::new();
        assert_eq!(heap.with(|inner| inner.add(1 << 20)), 0, "nothing was mapped yet");
        let whole = layout(8 << 20, 16);
        // SAFETY: every block is given back once, with its layout, or never.
        unsafe {
            let mut taken = 0;
            while !heap.obtain(whole).start.is_null() {
                taken += 1;
            }
            let report = heap.with(|inner| inner.report);
            assert!(taken > 0 && report.region_bytes <= report.wanted_bytes, "{report:?}");
            let added = heap.with(|inner| inner.add(17 << 20));
            let after = heap.with(|inner| inner.report);
            assert_eq!(after.region_bytes, report.region_bytes + added);
            assert_eq!(after.wanted_bytes, report.wanted_bytes + (17 << 20));
            let blocks: Vec<_> = (0..added / (8 << 20)).map(|_| heap.obtain(whole).start).collect();
            assert!(blocks.iter().all(|block| !block.is_null()), "{} of {added} bytes", blocks.len());
            blocks.into_iter().for_each(|block| heap.dealloc(block, whole));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn blocks_keep_what_is_written(steps in proptest::collection::vec((0usize..20_000, 0u32..8, any::<u8>()), 1..120)) {
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
                        let grown = HEAP.realloc(block, old, size + 1);
                        prop_assert!(check(grown, old.size().min(size + 1), old_byte));
                        grown.write_bytes(byte, size + 1);
                        grown
                    };
                    live.push((grown, Layout::from_size_align(size + 1, old.align()).unwrap(), byte));
                } else {
                    let block = HEAP.obtain(layout).start;
                    prop_assert!(!block.is_null() && (block as usize).is_multiple_of(layout.align()));
                    // SAFETY: a new block of this size.
                    unsafe { block.write_bytes(byte, layout.size()) };
                    live.push((block, layout, byte));
                }
            }
            for (block, layout, byte) in live {
                prop_assert!(check(block, layout.size(), byte));
                // SAFETY: a live block with its layout.
                unsafe { HEAP.dealloc(block, layout) };
            }
        }
    }
}
