//! The frame of every function that the host calls: the loading of the library, forks of the host, and how the host's
//! own state is left as it was.

use crate::ffi_real::{errno, find_all, set_errno};
use crate::ours;
use crate::paths::{PlanePaths, paths};
use crate::table::{DescriptorTable, maybe_ours};
use rustix::io::Errno;
use std::cell::RefCell;
use std::ffi::CStr;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::os::fd::BorrowedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::MutexGuard;

/// The environment variable that names the folder of the data plane.
const VARIABLE: &CStr = c"CRYPTAND_ESP";

unsafe extern "C" {
    /// secure_getenv(3).
    fn secure_getenv(name: *const libc::c_char) -> *mut libc::c_char;
}

/// The function that the loader calls before the host's first function.
#[cfg_attr(not(test), used, unsafe(link_section = ".init_array"))]
#[cfg_attr(test, allow(dead_code))]
static LOADED: extern "C" fn() = loaded;

extern "C" fn loaded() {
    find_all();
    let _ = data_plane();
    // SAFETY: the three functions stay where they are: the library is never unloaded.
    unsafe { libc::pthread_atfork(Some(before_fork), Some(after_fork), Some(after_fork)) };
}

thread_local! {
    /// The lock on the table while this thread forks: so a child begins with a table that nobody is changing. It has no
    /// destructor.
    static HELD: RefCell<Option<ManuallyDrop<MutexGuard<'static, DescriptorTable>>>> = const { RefCell::new(None) };
}

extern "C" fn before_fork() {
    let _ = HELD.try_with(|held| held.replace(Some(ManuallyDrop::new(ours::table()))));
}

extern "C" fn after_fork() {
    let _ = HELD.try_with(|held| held.take().map(ManuallyDrop::into_inner));
}

/// The paths of the data plane. A program with more rights than its user (set-user-ID) ignores the user's environment.
pub fn data_plane() -> Option<&'static PlanePaths> {
    paths(|| {
        // SAFETY: the name ends in a zero byte.
        let value = unsafe { secure_getenv(VARIABLE.as_ptr()) };
        // SAFETY: what is not null ends in a zero byte, and stays while the library is loaded or its first function
        // runs.
        (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) }.to_bytes().to_vec())
    })
}

/// Runs `work` with all signals blocked, so that no handler of the host runs while the table is locked. Afterwards
/// `errno` and the signal mask are as before. A panic becomes EIO.
pub fn inside<T>(work: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
    let before = errno();
    let mut all = MaybeUninit::uninit();
    let mut signals = MaybeUninit::uninit();
    // SAFETY: the first call fills `all`, the second reads it and fills `signals`.
    let blocked = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), signals.as_mut_ptr()) == 0
    };
    let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(Errno::IO));
    if blocked {
        // SAFETY: `signals` was filled.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, signals.as_ptr(), std::ptr::null_mut()) };
    }
    set_errno(before);
    result
}

/// As [`inside`], for work that cannot fail.
pub fn inside_always(work: impl FnOnce()) {
    let _ = inside(|| {
        work();
        Ok(())
    });
}

/// A result as a C function returns it: for an error, -1 with `errno` set.
pub fn returned(result: Result<i32, Errno>) -> i32 {
    result.unwrap_or_else(|error| failed(error) as i32)
}

/// Sets `errno`, and gives the -1 that a function returns when it fails.
pub fn failed(error: Errno) -> isize {
    set_errno(error.raw_os_error());
    -1
}

/// A descriptor of the host, if it may be ours; `None` if it surely is not.
pub fn of_ours<'a>(fd: i32) -> Option<BorrowedFd<'a>> {
    maybe_ours(fd).then(|| borrowed(fd))
}

/// A descriptor that the host owns, and has open while it calls.
pub fn borrowed<'a>(fd: i32) -> BorrowedFd<'a> {
    // SAFETY: it is not -1: callers check. One that is not open is refused by the kernel.
    unsafe { BorrowedFd::borrow_raw(fd) }
}
