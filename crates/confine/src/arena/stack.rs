//! A stack in the arena: the frames of functions hold secrets as well.
//!
//! Parts of keys that a function spills stay below the stack pointer until they are overwritten. A
//! program that runs on a stack of its arena leaves none of them in memory that could be swapped,
//! dumped or read from outside. The page below the stack cannot be touched: a stack overflow ends
//! the process.

use std::alloc::{Layout, alloc, handle_alloc_error};
use std::ffi::c_void;

/// Length of the stack in bytes.
pub const STACK_BYTES: usize = 1 << 20;
const PAGE_BYTES: usize = super::pages::PAGE_BYTES;

/// Runs `work` on a stack from the global allocator. To be called once in a program: the memory of
/// the stack is never given back.
///
/// A panic in `work` ends the process.
///
/// # Panics
/// If the kernel does not protect the page below the stack.
pub fn on_arena_stack<T, W: FnOnce() -> T>(work: W) -> T {
    let layout = const {
        match Layout::from_size_align(STACK_BYTES + PAGE_BYTES, PAGE_BYTES) {
            Ok(layout) => layout,
            Err(_) => panic!("whole pages"),
        }
    };
    // SAFETY: the layout is not of size zero.
    let lowest = unsafe { alloc(layout) };
    if lowest.is_null() {
        handle_alloc_error(layout);
    }
    // SAFETY: the page is the first of the block above, which nobody else knows of.
    let guarded =
        unsafe { rustix::mm::mprotect(lowest.cast(), PAGE_BYTES, rustix::mm::MprotectFlags::empty()) };
    guarded.expect("a page of one's own can be protected");

    let mut call = Call { work: Some(work), result: None };
    // SAFETY: the top lies at the end of the block, aligned to a page and so to what the calling
    // conventions ask for; `run` is told the address of `call`, which outlives the call.
    unsafe {
        let top = lowest.add(PAGE_BYTES + STACK_BYTES);
        switch(top, run::<T, W>, (&raw mut call).cast());
    }
    call.result.expect("the work was run")
}

struct Call<T, W> {
    work: Option<W>,
    result: Option<T>,
}

/// # Safety
/// `call` points to a `Call<T, W>` that nobody else uses meanwhile.
unsafe extern "C" fn run<T, W: FnOnce() -> T>(call: *mut c_void) {
    // SAFETY: by contract.
    let call = unsafe { &mut *call.cast::<Call<T, W>>() };
    call.result = call.work.take().map(|work| work());
}

/// Calls `function` with `argument` on the stack that ends at `top`, and returns to the present
/// stack.
///
/// # Safety
/// Below `top`, aligned to 16 bytes, lies enough memory of the caller's for everything that
/// `function` does; `function` may be called with `argument` and does not unwind.
#[cfg(target_arch = "x86_64")]
unsafe fn switch(top: *mut u8, function: unsafe extern "C" fn(*mut c_void), argument: *mut c_void) {
    // SAFETY: by contract. The old stack pointer waits in a register that the callee preserves.
    unsafe {
        std::arch::asm!(
            "mov r12, rsp",
            "mov rsp, {top}",
            "call {function}",
            "mov rsp, r12",
            top = in(reg) top,
            function = in(reg) function,
            in("rdi") argument,
            out("r12") _,
            clobber_abi("C"),
        );
    }
}

/// Calls `function` with `argument` on the stack that ends at `top`, as on x86-64.
///
/// # Safety
/// As on x86-64.
#[cfg(target_arch = "aarch64")]
unsafe fn switch(top: *mut u8, function: unsafe extern "C" fn(*mut c_void), argument: *mut c_void) {
    // SAFETY: by contract. The old stack pointer waits in a register that the callee preserves.
    unsafe {
        std::arch::asm!(
            "mov x20, sp",
            "mov sp, {top}",
            "blr {function}",
            "mov sp, x20",
            top = in(reg) top,
            function = in(reg) function,
            in("x0") argument,
            out("x20") _,
            clobber_abi("C"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_runs_there_and_its_result_comes_back() {
        let outside = std::hint::black_box(0u8);
        let text = String::from("a result");
        let (result, inside) = on_arena_stack(|| {
            let inside = std::hint::black_box(0u8);
            (text + " and more", std::ptr::from_ref(&inside) as usize)
        });
        assert_eq!(result, "a result and more");
        let outside = std::ptr::from_ref(&outside) as usize;
        assert!(outside.abs_diff(inside) > STACK_BYTES);
    }

    #[test]
    fn most_of_it_can_be_used() {
        fn deep(left: usize) -> usize {
            let frame = std::hint::black_box([left; 128]);
            if left == 0 { frame[0] } else { deep(left - 1) + frame[1] }
        }
        assert_eq!(on_arena_stack(|| deep(850)), 850 * 851 / 2);
    }
}
