//! The caller's memory.

use std::ffi::{c_long, c_void};

const _: () = assert!(size_of::<c_long>() == size_of::<i64>());

/// A pointer of the caller's: to a `long`, or to bytes. Its target may be unaligned and may overlap another one, so no
/// reference is made of it.
#[derive(Clone, Copy)]
pub(crate) struct Pointer(*mut u8);

impl Pointer {
    pub fn of(pointer: *mut c_void) -> Self {
        Self(pointer.cast())
    }

    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// # Safety
    /// It points to a `long`.
    pub unsafe fn integer(self) -> i64 {
        // SAFETY: the caller's promise.
        unsafe { self.0.cast::<i64>().read_unaligned() }
    }

    /// # Safety
    /// It points to a `long`.
    pub unsafe fn set_integer(self, value: i64) {
        // SAFETY: the caller's promise.
        unsafe { self.0.cast::<i64>().write_unaligned(value) }
    }

    /// Appends `bytes` bytes from the caller's memory.
    ///
    /// # Safety
    /// The pointer points to at least `bytes` bytes, unless `bytes` is 0.
    pub unsafe fn append_to(self, out: &mut Vec<u8>, bytes: usize) {
        let begin = out.len();
        out.resize(begin + bytes, 0);
        if bytes != 0 {
            // SAFETY: the caller's promise; what was just made is nobody else's.
            unsafe { self.0.copy_to_nonoverlapping(out[begin..].as_mut_ptr(), bytes) };
        }
    }

    /// # Safety
    /// It points to `N` bytes.
    pub unsafe fn first<const N: usize>(self) -> [u8; N] {
        // SAFETY: the caller's promise; an array of bytes has no alignment.
        unsafe { self.0.cast::<[u8; N]>().read() }
    }

    /// # Safety
    /// The pointer points to at least as many writable bytes as `bytes` has, unless that is empty.
    pub unsafe fn write(self, bytes: &[u8]) {
        if !bytes.is_empty() {
            // SAFETY: the caller's promise; what is written is a copy in memory of the library's.
            unsafe { self.0.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        }
    }
}

/// Wipes at the speed of a fill. The compiler must keep the fill, since it has to assume that the zeros are read.
pub(crate) fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    std::hint::black_box(bytes);
}
