//! The C library's heap, served by the global allocator of the Rust program.
//!
//! A program whose global allocator keeps its heap apart - a card's lies in secret memory - gets the
//! contexts and numbers of the C library there too.

use std::alloc::{Layout, alloc, dealloc};
use std::ffi::{c_char, c_int, c_void};

/// Before each block lies its layout's size; the block itself is aligned as C expects.
const PREFIX: usize = 16;
const ALIGNMENT: usize = 16;

/// Has the C library take its memory from Rust's global allocator from now on; every block is wiped
/// when it is freed. To be called at the start of a program, before the first [`crate::Engine`].
///
/// Returns `false` where it was called before; the first call holds.
pub fn serve_library_from_global_allocator() -> bool {
    // SAFETY: the three functions keep C's contract for `malloc`, `realloc` and `free`. The library
    // allocates nothing before its first use, so no block of another allocator reaches `free`; the
    // doc asks for that order, and the library refuses a second change.
    unsafe { aws_lc_sys::CRYPTO_set_mem_functions(Some(obtain), Some(resize), Some(release)) == 1 }
}

fn layout(size: usize) -> Option<Layout> {
    Layout::from_size_align(size.checked_add(PREFIX)?, ALIGNMENT).ok()
}

unsafe extern "C" fn obtain(size: usize, _file: *const c_char, _line: c_int) -> *mut c_void {
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

/// # Safety
/// `memory` is null or a live block of [`obtain`].
unsafe extern "C" fn release(memory: *mut c_void, _file: *const c_char, _line: c_int) {
    if memory.is_null() {
        return;
    }
    // SAFETY: by contract the block begins with its prefix, written by `obtain`, and has the size
    // that stands there.
    unsafe {
        let block = memory.cast::<u8>().sub(PREFIX);
        let size = block.cast::<usize>().read();
        aws_lc_sys::OPENSSL_cleanse(memory, size);
        if let Some(layout) = layout(size) {
            dealloc(block, layout);
        }
    }
}

/// # Safety
/// As [`release`].
unsafe extern "C" fn resize(
    memory: *mut c_void,
    size: usize,
    file: *const c_char,
    line: c_int,
) -> *mut c_void {
    // SAFETY: by contract; the copy stays within both blocks, which do not overlap.
    unsafe {
        let new = obtain(size, file, line);
        if !new.is_null() && !memory.is_null() {
            let old = memory.cast::<u8>().sub(PREFIX).cast::<usize>().read();
            std::ptr::copy_nonoverlapping(memory.cast::<u8>(), new.cast::<u8>(), old.min(size));
            release(memory, file, line);
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_keep_their_content_when_resized() {
        let (file, line) = (std::ptr::null(), 0);
        // SAFETY: the blocks are used within their sizes and released once.
        unsafe {
            let block = obtain(5, file, line);
            assert!((block as usize).is_multiple_of(ALIGNMENT));
            block.cast::<[u8; 5]>().write(*b"bytes");
            let longer = resize(block, 5000, file, line);
            assert_eq!(longer.cast::<[u8; 5]>().read(), *b"bytes");
            let shorter = resize(longer, 3, file, line);
            assert_eq!(shorter.cast::<[u8; 3]>().read(), *b"byt");
            release(shorter, file, line);
            release(std::ptr::null_mut(), file, line);
            assert!(obtain(usize::MAX, file, line).is_null());
        }
    }
}
