//! The functions of the C library that carry messages. Safety, of all: as in `ffi`.
//!
//! The C library's own calls may be ended by pthread_cancel(3), which unwinds: nothing that is held across them may
//! need to be dropped.

use crate::connection::waits_for_nothing;
use crate::ffi::give;
use crate::ffi_border::{data_plane, failed, inside, inside_always, of_ours};
use crate::ffi_real as real;
use crate::ours::{self, Next};
use libc::{c_int, c_void, iovec, msghdr, size_t, sockaddr, socklen_t, ssize_t};
use rustix::io::Errno;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::{ptr, slice};

/// Upper bound of connections that one call tries.
const CONNECTIONS_MAX: usize = 4;
/// Upper bound of the parts of a message that are searched for requests. iproute2 sends each request as a part.
const PARTS_MAX: usize = 64;

/// Bytes of a caller; none if the pointer is null or the length is impossible.
///
/// # Safety
/// `bytes` points to `length` bytes, unless it is null, and nobody writes them meanwhile.
unsafe fn slice<'a>(bytes: *const c_void, length: usize) -> &'a [u8] {
    if bytes.is_null() || length > isize::MAX as usize {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(bytes.cast(), length) }
}

/// Sends on a socket of ours, and connects anew if its connection has ended. `call` has the C library send with the
/// flags that it gets.
fn send_parts(fd: BorrowedFd<'_>, flags: c_int, parts: &[&[u8]], call: impl Fn(c_int) -> ssize_t) -> ssize_t {
    for _ in 0..CONNECTIONS_MAX {
        inside_always(|| ours::asks(fd, parts));
        // A netlink socket has no other end that could go away: so no SIGPIPE.
        let sent = call(flags | libc::MSG_NOSIGNAL);
        if sent >= 0 {
            return sent;
        }
        let errno = real::errno();
        inside_always(|| ours::has_not_asked(fd, parts));
        real::set_errno(errno);
        if !matches!(errno, libc::EPIPE | libc::ECONNRESET | libc::ENOTCONN | libc::ENOTSOCK) {
            return sent;
        }
        let next = inside(|| {
            let plane = data_plane().ok_or(Errno::CONNREFUSED)?;
            let may_wait = flags & libc::MSG_DONTWAIT == 0 && !waits_for_nothing(fd);
            Ok(ours::ended_at_send(fd, plane, may_wait))
        });
        match next {
            Ok(Next::Again) => {}
            Ok(Next::Foreign) => return call(flags),
            Ok(Next::Wait) => return failed(Errno::CONNREFUSED),
            Ok(Next::Fail(error)) | Err(error) => return failed(error),
        }
    }
    failed(Errno::CONNRESET)
}

/// Reads from a socket of ours. `call` has the C library read; `seen` is the memory that it reads into, and its length
/// in bytes.
fn receive(
    fd: BorrowedFd<'_>,
    flags: c_int,
    seen: (*const c_void, usize),
    call: impl Fn(c_int) -> ssize_t,
) -> ssize_t {
    let mut connections = 0;
    while connections < CONNECTIONS_MAX {
        let read = call(flags);
        if read > 0 {
            if flags & libc::MSG_PEEK == 0 {
                // SAFETY: the C library has written that many bytes there, as its caller let it.
                let bytes = unsafe { slice(seen.0, seen.1.min(read.unsigned_abs())) };
                inside_always(|| ours::answered(fd, bytes));
            }
            return read;
        }
        let errno = real::errno();
        match errno {
            // The data plane ended with requests unread; what it answered before can still be read.
            libc::ECONNRESET if read < 0 => {
                connections += 1;
                continue;
            }
            libc::ENOTSOCK | libc::ENOTCONN if read < 0 => {}
            _ if read < 0 => return read,
            // The caller wanted no bytes, and did not ask how many there are.
            _ if seen.1 == 0 && flags & libc::MSG_TRUNC == 0 => return read,
            _ => {}
        }
        let next = inside(|| data_plane().map(|plane| ours::ended_at_read(fd, plane)).ok_or(Errno::NOBUFS));
        match next {
            Ok(Next::Again) => connections += 1,
            Ok(Next::Foreign) => {
                real::set_errno(errno);
                return read;
            }
            Ok(Next::Wait) => {
                if flags & libc::MSG_DONTWAIT != 0 || waits_for_nothing(fd) {
                    return failed(Errno::AGAIN);
                }
                let mut descriptor = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
                // SAFETY: it is one descriptor.
                if unsafe { real::poll(&raw mut descriptor, 1, -1) } < 0 {
                    return -1;
                }
            }
            Ok(Next::Fail(error)) | Err(error) => return failed(error),
        }
    }
    failed(Errno::AGAIN)
}

/// send(2), as [`sendto`] without an address.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn send(
    fd: c_int,
    bytes: *const c_void,
    length: size_t,
    flags: c_int,
) -> ssize_t {
    // SAFETY: the caller's promise.
    unsafe { sendto(fd, bytes, length, flags, ptr::null(), 0) }
}

/// sendto(2): an XFRM socket sends to the data plane, whatever the address.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn sendto(
    fd: c_int,
    bytes: *const c_void,
    length: size_t,
    flags: c_int,
    address: *const sockaddr,
    address_length: socklen_t,
) -> ssize_t {
    let Some(ours) = of_ours(fd) else {
        // SAFETY: the caller's promise.
        return unsafe { real::sendto(fd, bytes, length, flags, address, address_length) };
    };
    // SAFETY: the caller's promise.
    let parts = unsafe { [slice(bytes, length)] };
    // SAFETY: the caller's promise; the address of the kernel is where the connection goes.
    send_parts(ours, flags, &parts, |flags| unsafe { real::sendto(fd, bytes, length, flags, ptr::null(), 0) })
}

/// The parts of a message, at most [`PARTS_MAX`] of them.
///
/// # Safety
/// `parts` points to `count` descriptions of bytes that nobody writes meanwhile.
unsafe fn gather<'a>(parts: *const iovec, count: usize) -> [&'a [u8]; PARTS_MAX] {
    let mut gathered: [&[u8]; PARTS_MAX] = [&[]; PARTS_MAX];
    if !parts.is_null() {
        for (at, place) in gathered.iter_mut().enumerate().take(count) {
            // SAFETY: the caller's promise.
            *place = unsafe {
                let part = ptr::read_unaligned(parts.add(at));
                slice(part.iov_base, part.iov_len)
            };
        }
    }
    gathered
}

/// sendmsg(2): an XFRM socket sends to the data plane, whatever the address.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    let Some(ours) = of_ours(fd).filter(|_| !message.is_null()) else {
        // SAFETY: the caller's promise.
        return unsafe { real::sendmsg(fd, message, flags) };
    };
    // SAFETY: the caller's promise.
    let mut message = unsafe { ptr::read_unaligned(message) };
    // The connection goes to the kernel's address anyway, and control messages have no meaning on it.
    (message.msg_name, message.msg_namelen) = (ptr::null_mut(), 0);
    (message.msg_control, message.msg_controllen) = (ptr::null_mut(), 0);
    // SAFETY: the caller's promise.
    let parts = unsafe { gather(message.msg_iov, message.msg_iovlen) };
    // SAFETY: the caller's promise.
    send_parts(ours, flags, &parts, |flags| unsafe { real::sendmsg(fd, &raw const message, flags) })
}

/// write(2), for an XFRM socket as [`sendto`].
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn write(fd: c_int, bytes: *const c_void, length: size_t) -> ssize_t {
    if of_ours(fd).is_some() {
        // SAFETY: the caller's promise.
        return unsafe { sendto(fd, bytes, length, 0, ptr::null(), 0) };
    }
    // SAFETY: the caller's promise.
    unsafe { real::write(fd, bytes, length) }
}

/// A message of these parts, without an address and without control messages.
fn message(parts: *const iovec, count: c_int) -> msghdr {
    // SAFETY: zero bytes are a message without parts.
    let mut message: msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = parts.cast_mut();
    message.msg_iovlen = usize::try_from(count).unwrap_or(0);
    message
}

/// writev(2), for an XFRM socket as [`sendmsg`].
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn writev(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    if of_ours(fd).is_some() {
        let message = message(parts, count);
        // SAFETY: the caller's promise.
        return unsafe { sendmsg(fd, &raw const message, 0) };
    }
    // SAFETY: the caller's promise.
    unsafe { real::writev(fd, parts, count) }
}

/// recv(2), as [`recvfrom`] without an address.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn recv(fd: c_int, bytes: *mut c_void, length: size_t, flags: c_int) -> ssize_t {
    // SAFETY: the caller's promise.
    unsafe { recvfrom(fd, bytes, length, flags, ptr::null_mut(), ptr::null_mut()) }
}

/// recvfrom(2): an XFRM socket reads from the data plane; the sender's address is the kernel's.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn recvfrom(
    fd: c_int,
    bytes: *mut c_void,
    length: size_t,
    flags: c_int,
    address: *mut sockaddr,
    address_length: *mut socklen_t,
) -> ssize_t {
    let Some(ours) = of_ours(fd) else {
        // SAFETY: the caller's promise.
        return unsafe { real::recvfrom(fd, bytes, length, flags, address, address_length) };
    };
    // SAFETY: the caller's promise.
    let read = receive(ours, flags, (bytes, length), |flags| unsafe {
        real::recvfrom(fd, bytes, length, flags, ptr::null_mut(), ptr::null_mut())
    });
    if read >= 0 {
        // SAFETY: the caller's promise.
        unsafe { give(&ours::address(0, 0), address.cast(), address_length) };
    }
    read
}

/// recvmsg(2): an XFRM socket reads from the data plane; the sender's address is the kernel's.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    let Some(ours) = of_ours(fd).filter(|_| !message.is_null()) else {
        // SAFETY: the caller's promise.
        return unsafe { real::recvmsg(fd, message, flags) };
    };
    // SAFETY: the caller's promise.
    let mut copy = unsafe { ptr::read_unaligned(message) };
    let (name, mut name_length) = (copy.msg_name, copy.msg_namelen);
    (copy.msg_name, copy.msg_namelen) = (ptr::null_mut(), 0);
    let seen = if copy.msg_iovlen == 0 || copy.msg_iov.is_null() {
        (ptr::null(), 0)
    } else {
        // SAFETY: the caller's promise: there is one part at least.
        let first = unsafe { ptr::read_unaligned(copy.msg_iov) };
        (first.iov_base.cast_const(), first.iov_len)
    };
    let message_copy = &raw mut copy;
    // SAFETY: the caller's promise.
    let read = receive(ours, flags, seen, |flags| unsafe { real::recvmsg(fd, message_copy, flags) });
    if read >= 0 {
        // SAFETY: the caller's promise.
        unsafe {
            if !name.is_null() {
                give(&ours::address(0, 0), name, &raw mut name_length);
            }
            (*message).msg_namelen = name_length;
            (*message).msg_controllen = copy.msg_controllen;
            (*message).msg_flags = copy.msg_flags;
        }
    }
    read
}

/// read(2), for an XFRM socket as [`recv`].
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn read(fd: c_int, bytes: *mut c_void, length: size_t) -> ssize_t {
    if of_ours(fd).is_some() {
        // SAFETY: the caller's promise.
        return unsafe { recv(fd, bytes, length, 0) };
    }
    // SAFETY: the caller's promise.
    unsafe { real::read(fd, bytes, length) }
}

/// readv(2), for an XFRM socket as [`recvmsg`].
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn readv(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    if of_ours(fd).is_some() {
        let mut message = message(parts, count);
        // SAFETY: the caller's promise.
        return unsafe { recvmsg(fd, &raw mut message, 0) };
    }
    // SAFETY: the caller's promise.
    unsafe { real::readv(fd, parts, count) }
}

/// recv(2) in programs that were compiled with checks (_FORTIFY_SOURCE). `room` is the size of the memory: if it is
/// less than `length`, the C library ends the program.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn __recv_chk(
    fd: c_int,
    bytes: *mut c_void,
    length: size_t,
    room: size_t,
    flags: c_int,
) -> ssize_t {
    if length <= room && of_ours(fd).is_some() {
        // SAFETY: the caller's promise.
        return unsafe { recv(fd, bytes, length, flags) };
    }
    // SAFETY: the caller's promise.
    unsafe { real::__recv_chk(fd, bytes, length, room, flags) }
}

/// recvfrom(2) in programs that were compiled with checks, as `__recv_chk`.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn __recvfrom_chk(
    fd: c_int,
    bytes: *mut c_void,
    length: size_t,
    room: size_t,
    flags: c_int,
    address: *mut sockaddr,
    address_length: *mut socklen_t,
) -> ssize_t {
    if length <= room && of_ours(fd).is_some() {
        // SAFETY: the caller's promise.
        return unsafe { recvfrom(fd, bytes, length, flags, address, address_length) };
    }
    // SAFETY: the caller's promise.
    unsafe { real::__recvfrom_chk(fd, bytes, length, room, flags, address, address_length) }
}

/// read(2) in programs that were compiled with checks, as `__recv_chk`.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn __read_chk(
    fd: c_int,
    bytes: *mut c_void,
    length: size_t,
    room: size_t,
) -> ssize_t {
    if length <= room && of_ours(fd).is_some() {
        // SAFETY: the caller's promise.
        return unsafe { read(fd, bytes, length) };
    }
    // SAFETY: the caller's promise.
    unsafe { real::__read_chk(fd, bytes, length, room) }
}
