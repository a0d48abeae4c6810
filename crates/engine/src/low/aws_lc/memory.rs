//! The heap of the C library: the global allocator of the Rust program.
//!
//! If a program's global allocator keeps its heap apart (a card's heap is in secret memory), the contexts and numbers
//! of the C library are there too.
//!
//! The library looks for functions of these names as weak symbols, so these definitions apply from its first allocation
//! on. No block of another allocator can reach [`OPENSSL_memory_free`].

use std::alloc::{Layout, alloc, dealloc};
use std::ffi::c_void;

/// The size of each block is stored before it; the block itself is aligned as C expects.
const PREFIX: usize = 16;
const ALIGNMENT: usize = 16;

/// Keeps this module in every program that has an engine. A weak symbol alone does not pull an object file out of an
/// archive, and the library would use C's allocator.
pub(crate) fn link() {
    std::hint::black_box(OPENSSL_memory_alloc as extern "C" fn(usize) -> *mut c_void);
}

fn layout(size: usize) -> Option<Layout> {
    Layout::from_size_align(size.checked_add(PREFIX)?, ALIGNMENT).ok()
}

// SAFETY: no other crate defines this name: libraries of this family leave it to the program, and as a weak symbol.
#[unsafe(no_mangle)]
extern "C" fn OPENSSL_memory_alloc(size: usize) -> *mut c_void {
    let Some(layout) = layout(size) else { return std::ptr::null_mut() };
    // SAFETY: the layout is not of size zero; the prefix lies within the block and is aligned.
    unsafe {
        let block = alloc(layout);
        if block.is_null() {
            return std::ptr::null_mut();
        }
        block.cast::<usize>().write(size);
        block.add(PREFIX).cast()
    }
}

/// Wipes the block, then frees it.
///
/// # Safety
/// `memory` is null or a live block of [`OPENSSL_memory_alloc`], which nothing uses afterwards.
// SAFETY: as at `OPENSSL_memory_alloc`.
#[unsafe(no_mangle)]
unsafe extern "C" fn OPENSSL_memory_free(memory: *mut c_void) {
    if memory.is_null() {
        return;
    }
    // SAFETY: by contract the block begins with its prefix, written by `OPENSSL_memory_alloc`, and has the size
    // that stands there; of that size a layout was made before.
    unsafe {
        let block = memory.cast::<u8>().sub(PREFIX);
        let size = block.cast::<usize>().read();
        crate::low::wipe_raw(block.cast(), PREFIX + size);
        if let Some(layout) = layout(size) {
            dealloc(block, layout);
        }
    }
}

/// # Safety
/// `memory` is a live block of [`OPENSSL_memory_alloc`].
// SAFETY: as at `OPENSSL_memory_alloc`.
#[unsafe(no_mangle)]
unsafe extern "C" fn OPENSSL_memory_get_size(memory: *mut c_void) -> usize {
    // SAFETY: by contract the block begins with its prefix.
    unsafe { memory.cast::<u8>().sub(PREFIX).cast::<usize>().read() }
}

/// Moves a block to one of another size, and frees the old one. If it returns null, the old block is unchanged.
///
/// # Safety
/// As [`OPENSSL_memory_free`].
// SAFETY: as at `OPENSSL_memory_alloc`.
#[unsafe(no_mangle)]
unsafe extern "C" fn OPENSSL_memory_realloc(memory: *mut c_void, size: usize) -> *mut c_void {
    let new = OPENSSL_memory_alloc(size);
    if !new.is_null() && !memory.is_null() {
        // SAFETY: by contract; the copy stays within both blocks, which do not overlap.
        unsafe {
            let old = OPENSSL_memory_get_size(memory);
            std::ptr::copy_nonoverlapping(memory.cast::<u8>(), new.cast::<u8>(), old.min(size));
            OPENSSL_memory_free(memory);
        }
    }
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_keep_their_content_when_resized() {
        // SAFETY: the blocks are used within their sizes and released once.
        unsafe {
            let block = OPENSSL_memory_alloc(5);
            assert!((block as usize).is_multiple_of(ALIGNMENT));
            block.cast::<[u8; 5]>().write(*b"bytes");
            let longer = OPENSSL_memory_realloc(block, 5000);
            assert_eq!(longer.cast::<[u8; 5]>().read(), *b"bytes");
            let shorter = OPENSSL_memory_realloc(longer, 3);
            assert_eq!(shorter.cast::<[u8; 3]>().read(), *b"byt");
            assert_eq!(OPENSSL_memory_get_size(shorter), 3);
            OPENSSL_memory_free(shorter);
            OPENSSL_memory_free(std::ptr::null_mut());
            assert!(OPENSSL_memory_alloc(usize::MAX).is_null());
        }
    }

    /// In the library's own allocator, blocks lie eight bytes after an aligned address.
    #[test]
    #[cfg_attr(miri, ignore = "calls the library")]
    fn the_library_takes_its_blocks_here() {
        // SAFETY: a block of the library's is used within its size and released once.
        unsafe {
            let block = aws_lc_sys::OPENSSL_malloc(48);
            assert_eq!(OPENSSL_memory_get_size(block), 48);
            assert!((block as usize).is_multiple_of(ALIGNMENT));
            aws_lc_sys::OPENSSL_free(block);
        }
    }
}
