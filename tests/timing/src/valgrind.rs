//! Requests to memcheck, valgrind's watch over memory: which bytes count as secret.
//!
//! Memcheck reports every branch and every address that depends on bytes that were never written. Bytes that
//! are *marked* count as never written, so the same reports show where a secret influences a branch or an address.
//!
//! A request is a sequence of rotations that changes nothing, followed by an exchange of a register with
//! itself; valgrind recognises it, a processor runs over it (valgrind manual, "The Client Request
//! mechanism").

use std::arch::asm;

/// Whether the program runs under valgrind.
pub fn is_watching() -> bool {
    request(RUNNING_ON_VALGRIND, 0, 0) != 0
}

/// The bytes are secret from here on.
pub fn mark(bytes: &mut [u8]) {
    request(MAKE_MEM_UNDEFINED, bytes.as_mut_ptr() as u64, bytes.len() as u64);
}

fn request(code: u64, first: u64, second: u64) -> u64 {
    let arguments = [code, first, second, 0, 0, 0];
    let mut result = 0u64;
    // SAFETY: the four rotations add up to 128 bits and leave rdi as it was, the exchange leaves rbx as it
    // was. Under valgrind the request reads the six words behind rax, and changes only what valgrind knows
    // about the named bytes, never the bytes themselves.
    unsafe {
        asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") arguments.as_ptr(),
            inout("rdx") result,
            out("rdi") _,
            options(nostack),
        );
    }
    result
}

const RUNNING_ON_VALGRIND: u64 = 0x1001;
/// Requests of the tool whose name begins with these two letters.
const MEMCHECK: u64 = (b'M' as u64) << 24 | (b'C' as u64) << 16;
const MAKE_MEM_UNDEFINED: u64 = MEMCHECK + 1;
