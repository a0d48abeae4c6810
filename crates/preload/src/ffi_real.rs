//! The functions of the C library whose names this library takes. They are looked up behind it, in the loader's order
//! (RTLD_NEXT).

use libc::{
    c_char, c_int, c_long, c_uint, c_void, epoll_event, iovec, msghdr, size_t, sockaddr, socklen_t, ssize_t,
};
use std::ffi::CStr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The address of a function, which is looked up once and kept in `known`; null if there is no such function.
fn find(known: &AtomicPtr<c_void>, name: &'static CStr) -> *mut c_void {
    let address = known.load(Ordering::Relaxed);
    if !address.is_null() {
        return address;
    }
    // SAFETY: the name ends in a zero byte; the handle is the loader's own.
    let address = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr().cast::<c_char>()) };
    known.store(address, Ordering::Relaxed);
    address
}

/// Sets `errno`.
pub fn set_errno(errno: c_int) {
    // SAFETY: the C library gives every thread its own word, which lives as long as the thread.
    unsafe { *libc::__errno_location() = errno };
}

/// The value of `errno`.
pub fn errno() -> c_int {
    // SAFETY: as in `set_errno`.
    unsafe { *libc::__errno_location() }
}

/// Defines functions that call those of the C library of the same names, and fail with ENOSYS if it has none. Also
/// makes the table by which [`find_all`] looks all of them up.
macro_rules! real {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {
        mod known {
            use super::{AtomicPtr, c_void};
            $(
                #[allow(non_upper_case_globals)]
                pub static $name: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
            )*
        }

        /// Address and name of each function.
        const NAMES: &[(&AtomicPtr<c_void>, &str)] = &[$((&known::$name, concat!(stringify!($name), "\0"))),*];

        $(
            /// Calls the C library's function of this name.
            ///
            /// # Safety
            /// As the manual page of the function says.
            // It may be ended by pthread_cancel(3), which unwinds: nothing of this function has to be dropped.
            pub unsafe extern "C-unwind" fn $name($($argument: $kind),*) -> $result {
                let name = concat!(stringify!($name), "\0");
                let name = CStr::from_bytes_with_nul(name.as_bytes()).unwrap_or_default();
                let address = find(&known::$name, name);
                if address.is_null() {
                    set_errno(libc::ENOSYS);
                    return -1;
                }
                // SAFETY: a function of this name in the C library has this type; further arguments of one that takes
                // any number are passed in the same registers.
                unsafe {
                    let function: unsafe extern "C-unwind" fn($($kind),*) -> $result = std::mem::transmute(address);
                    function($($argument),*)
                }
            }
        )*
    };
}

real! {
    socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
    bind(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int;
    connect(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int;
    getsockname(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int;
    getsockopt(fd: c_int, level: c_int, name: c_int, value: *mut c_void, length: *mut socklen_t) -> c_int;
    setsockopt(fd: c_int, level: c_int, name: c_int, value: *const c_void, length: socklen_t) -> c_int;
    sendto(fd: c_int, bytes: *const c_void, length: size_t, flags: c_int, address: *const sockaddr, address_length: socklen_t) -> ssize_t;
    sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t;
    write(fd: c_int, bytes: *const c_void, length: size_t) -> ssize_t;
    writev(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t;
    recvfrom(fd: c_int, bytes: *mut c_void, length: size_t, flags: c_int, address: *mut sockaddr, address_length: *mut socklen_t) -> ssize_t;
    recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t;
    read(fd: c_int, bytes: *mut c_void, length: size_t) -> ssize_t;
    readv(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t;
    __recv_chk(fd: c_int, bytes: *mut c_void, length: size_t, room: size_t, flags: c_int) -> ssize_t;
    __recvfrom_chk(fd: c_int, bytes: *mut c_void, length: size_t, room: size_t, flags: c_int, address: *mut sockaddr, address_length: *mut socklen_t) -> ssize_t;
    __read_chk(fd: c_int, bytes: *mut c_void, length: size_t, room: size_t) -> ssize_t;
    close(fd: c_int) -> c_int;
    dup(fd: c_int) -> c_int;
    dup2(fd: c_int, new: c_int) -> c_int;
    dup3(fd: c_int, new: c_int, flags: c_int) -> c_int;
    fcntl(fd: c_int, command: c_int, argument: c_long) -> c_int;
    fcntl64(fd: c_int, command: c_int, argument: c_long) -> c_int;
    close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int;
    closefrom(first: c_int) -> c_int;
    epoll_ctl(epoll: c_int, operation: c_int, fd: c_int, event: *mut epoll_event) -> c_int;
    poll(descriptors: *mut libc::pollfd, count: libc::nfds_t, time: c_int) -> c_int;
}

/// Looks up all functions, so that none is looked up in a signal handler or between a fork and an exec.
pub fn find_all() {
    for (known, name) in NAMES {
        if let Ok(name) = CStr::from_bytes_with_nul(name.as_bytes()) {
            find(known, name);
        }
    }
}
