//! System calls on descriptors that the host owns.
//!
//! They go past the C library, whose functions of these names are this library's own, and leave `errno` as it is.

use crate::table::Watch;
use libc::{c_int, c_long};
use rustix::io::Errno;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Runs a system call, and returns its error instead of leaving it in `errno`.
fn quietly(call: impl FnOnce() -> c_long) -> Result<(), Errno> {
    // SAFETY: the C library gives every thread its own word, which lives as long as the thread.
    let errno = unsafe { &mut *libc::__errno_location() };
    let before = *errno;
    let result = if call() < 0 { Err(Errno::from_raw_os_error(*errno)) } else { Ok(()) };
    *errno = before;
    result
}

/// Makes the number of `over` a copy of `new`; the file that `over` was open on is closed.
pub fn put_in_place(new: BorrowedFd<'_>, over: BorrowedFd<'_>, closed_by_exec: bool) -> Result<(), Errno> {
    let flags = if closed_by_exec { libc::O_CLOEXEC } else { 0 };
    // SAFETY: both are open; who holds the number of `over` goes on holding it.
    quietly(|| unsafe { libc::syscall(libc::SYS_dup3, new.as_raw_fd(), over.as_raw_fd(), flags) })
}

/// Puts a descriptor into an interest list; nothing happens if the list is gone.
pub fn watch(fd: BorrowedFd<'_>, watch: Watch) {
    let event = libc::epoll_event { events: watch.events, u64: watch.data };
    let event = std::ptr::from_ref(&event);
    // SAFETY: the kernel reads one event; a number that is no interest list's is refused.
    let _ = quietly(|| unsafe {
        libc::syscall(libc::SYS_epoll_ctl, watch.epoll, libc::EPOLL_CTL_ADD, fd.as_raw_fd(), event)
    });
}

/// Sets the firewall mark of a socket's packets.
pub fn mark(fd: BorrowedFd<'_>, mark: u32) -> Result<(), Errno> {
    let (value, length) = (std::ptr::from_ref(&mark), size_of::<u32>() as c_int);
    // SAFETY: the kernel reads the four bytes of `mark`.
    quietly(|| unsafe {
        libc::syscall(libc::SYS_setsockopt, fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_MARK, value, length)
    })
}
