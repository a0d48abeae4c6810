//! What the kernel tells a process at its start. The only unsafe code of this room.
#![allow(unsafe_code, reason = "getauxval has no safe form in the libraries in use")]

/// Whether the program was started with rights that its starter does not have: by set-id bits or
/// capabilities of its file, or by a security module (AT_SECURE, getauxval(3)).
pub(crate) fn is_secure() -> bool {
    // SAFETY: getauxval takes any number, and reads what the kernel placed beside the process's
    // arguments.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}
