//! The functions of the C library that the host calls, but for those that carry messages: sockets, their addresses and
//! options, and descriptors. For descriptors that are not ours, each does what the C library does.
//!
//! Safety, of all: as the manual page of the function of that name says. What callers point to is read and written
//! within the lengths that they give.

use crate::ffi_border::{borrowed, data_plane, inside, inside_always, of_ours, returned};
use crate::ffi_real as real;
use crate::table::{Watch, maybe_ours, maybe_ours_between};
use crate::{ike, ours};
use libc::{c_int, c_long, c_uint, c_void, epoll_event, sockaddr, sockaddr_in, sockaddr_in6, socklen_t};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::IntoRawFd;
use std::ptr;

/// IP_XFRM_POLICY (Linux `uapi/linux/in.h`).
const IP_XFRM_POLICY: c_int = 17;
/// IPV6_XFRM_POLICY (Linux `uapi/linux/in6.h`).
const IPV6_XFRM_POLICY: c_int = 35;
/// UDP_ENCAP (Linux `uapi/linux/udp.h`).
const UDP_ENCAP: c_int = 100;
/// UDP_ENCAP_ESPINUDP, the largest value that is about ESP; larger ones are about other protocols.
const UDP_ENCAP_ESPINUDP: c_int = 2;
/// The bits of `kind` that state the type of socket; the other bits are flags.
const TYPE: c_int = 0xf;

/// socket(2): an XFRM netlink socket is opened as a connection to the data plane.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    let base = kind & TYPE;
    let is_datagram = base == libc::SOCK_RAW || base == libc::SOCK_DGRAM;
    if domain == libc::AF_NETLINK && protocol == libc::NETLINK_XFRM && is_datagram {
        let waits = kind & libc::SOCK_NONBLOCK == 0;
        let inherited = kind & libc::SOCK_CLOEXEC == 0;
        return returned(inside(|| {
            ours::open(data_plane(), base, waits, inherited).map(IntoRawFd::into_raw_fd)
        }));
    }
    // SAFETY: the caller's promise.
    let fd = unsafe { real::socket(domain, kind, protocol) };
    if maybe_ours(fd) {
        inside_always(|| ours::closed(fd));
    }
    fd
}

/// The bytes of an address; none if the pointer is null.
///
/// # Safety
/// `address` points to `length` bytes.
unsafe fn address_bytes<'a>(address: *const sockaddr, length: socklen_t) -> &'a [u8] {
    if address.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(address.cast(), length as usize) }
}

/// An address of the internet protocols; `None` if it is null, too short, or of another family.
///
/// # Safety
/// `address` points to `length` bytes.
unsafe fn internet_address(address: *const sockaddr, length: socklen_t) -> Option<SocketAddr> {
    let length = length as usize;
    if address.is_null() || length < size_of::<sockaddr_in>() {
        return None;
    }
    // SAFETY: the caller's promise; it is as long as an address of the family is, and read without regard to alignment.
    unsafe {
        match c_int::from(ptr::read_unaligned(address.cast::<libc::sa_family_t>())) {
            libc::AF_INET => {
                let found = ptr::read_unaligned(address.cast::<sockaddr_in>());
                let ip = Ipv4Addr::from(u32::from_be(found.sin_addr.s_addr));
                Some((ip, u16::from_be(found.sin_port)).into())
            }
            libc::AF_INET6 if length >= size_of::<sockaddr_in6>() => {
                let found = ptr::read_unaligned(address.cast::<sockaddr_in6>());
                let ip = Ipv6Addr::from(found.sin6_addr.s6_addr);
                Some(SocketAddrV6::new(ip, u16::from_be(found.sin6_port), 0, found.sin6_scope_id).into())
            }
            _ => None,
        }
    }
}

/// bind(2): an XFRM socket takes its port and groups; a UDP socket is prepared for IKE first.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn bind(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int {
    if let Some(ours) = of_ours(fd) {
        // SAFETY: the caller's promise.
        let bytes = unsafe { address_bytes(address, length) };
        return returned(inside(|| ours::bind(ours, bytes).map(|()| 0)));
    }
    // SAFETY: the caller's promise.
    if let Some(address) = unsafe { internet_address(address, length) }
        && fd >= 0
    {
        inside_always(|| ike::before_bind(borrowed(fd), address, data_plane()));
    }
    // SAFETY: the caller's promise.
    unsafe { real::bind(fd, address, length) }
}

/// connect(2): an XFRM socket is connected already, as a netlink socket is to the kernel.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn connect(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int {
    if of_ours(fd).is_some_and(|ours| inside(|| Ok(ours::entry(ours).is_some())) == Ok(true)) {
        return 0;
    }
    // SAFETY: the caller's promise.
    unsafe { real::connect(fd, address, length) }
}

/// Writes bytes to a caller's memory, as far as there is room, and their number to `length`.
///
/// # Safety
/// `room` points to as many bytes as `length` points to, unless either is null.
pub unsafe fn give(bytes: &[u8], room: *mut c_void, length: *mut socklen_t) {
    if length.is_null() {
        return;
    }
    // SAFETY: the caller's promise; no more is written than there is room for.
    unsafe {
        let fits = bytes.len().min(*length as usize);
        if !room.is_null() {
            ptr::copy_nonoverlapping(bytes.as_ptr(), room.cast(), fits);
        }
        *length = bytes.len() as socklen_t;
    }
}

/// getsockname(2): an XFRM socket has the netlink address of its port and groups.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn getsockname(
    fd: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
) -> c_int {
    let entry = of_ours(fd).and_then(|ours| inside(|| Ok(ours::entry(ours))).ok().flatten());
    let Some(entry) = entry else {
        // SAFETY: the caller's promise.
        return unsafe { real::getsockname(fd, address, length) };
    };
    // SAFETY: the caller's promise.
    unsafe { give(&ours::address(entry.port, entry.groups), address.cast(), length) };
    0
}

/// getsockopt(2): an XFRM socket gives the options of a netlink socket.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn getsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    length: *mut socklen_t,
) -> c_int {
    let entry = of_ours(fd).and_then(|ours| inside(|| Ok(ours::entry(ours))).ok().flatten());
    let Some(option) = entry.and_then(|entry| ours::option(&entry, level, name)) else {
        // SAFETY: the caller's promise.
        return unsafe { real::getsockopt(fd, level, name, value, length) };
    };
    // SAFETY: the caller's promise.
    unsafe { give(&option.to_ne_bytes(), value, length) };
    0
}

/// setsockopt(2): options of XFRM sockets, and those by which UDP sockets ask for ESP or pass policies, are carried out
/// here.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn setsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    length: socklen_t,
) -> c_int {
    let number = (!value.is_null() && length as usize >= size_of::<c_int>()).then(|| {
        // SAFETY: the caller's promise; it is long enough.
        unsafe { ptr::read_unaligned(value.cast::<c_int>()) }
    });
    if let Some(ours) = of_ours(fd) {
        match (level, name) {
            (libc::SOL_NETLINK, _) => {
                return returned(inside(|| ours::set_option(ours, name, number.unwrap_or(0)).map(|()| 0)));
            }
            // The bounds of netlink's queues have no meaning here: a connection has its own.
            (
                libc::SOL_SOCKET,
                libc::SO_SNDBUF | libc::SO_RCVBUF | libc::SO_SNDBUFFORCE | libc::SO_RCVBUFFORCE,
            ) => return 0,
            _ => {}
        }
    } else if fd >= 0 {
        let about_esp = number.is_some_and(|number| number <= UDP_ENCAP_ESPINUDP);
        let is_udp = || inside(|| Ok(ike::is_udp(borrowed(fd)))) == Ok(true);
        match (level, name) {
            (libc::IPPROTO_UDP, UDP_ENCAP) if about_esp && is_udp() => return 0,
            (libc::IPPROTO_IP, IP_XFRM_POLICY) | (libc::IPPROTO_IPV6, IPV6_XFRM_POLICY) => {
                return returned(inside(|| ike::bypass(borrowed(fd)).map(|()| 0)));
            }
            _ => {}
        }
    }
    // SAFETY: the caller's promise.
    unsafe { real::setsockopt(fd, level, name, value, length) }
}

/// close(2): an XFRM socket is also forgotten.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn close(fd: c_int) -> c_int {
    // Before the kernel can give the number to another file.
    if maybe_ours(fd) {
        inside_always(|| ours::closed(fd));
    }
    // SAFETY: the caller's promise.
    unsafe { real::close(fd) }
}

fn close_between(first: c_uint, last: c_uint) {
    inside_always(|| maybe_ours_between(first, last).for_each(ours::closed));
}

/// close_range(2): XFRM sockets in the range are also forgotten.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    // With CLOSE_RANGE_CLOEXEC nothing is closed now. With CLOSE_RANGE_UNSHARE descriptors are closed that the next
    // call on them finds to be gone.
    if flags == 0 {
        close_between(first, last);
    }
    // SAFETY: the caller's promise.
    unsafe { real::close_range(first, last, flags) }
}

/// closefrom(3): XFRM sockets from `first` on are also forgotten.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn closefrom(first: c_int) {
    close_between(first.max(0).unsigned_abs(), c_uint::MAX);
    // SAFETY: the caller's promise; the function returns nothing.
    unsafe { real::closefrom(first) };
}

/// Notes that `new`, if it is a descriptor, is a copy of `old`; returns `new`.
fn copied(old: c_int, new: c_int) -> c_int {
    if new >= 0 && new != old && (maybe_ours(old) || maybe_ours(new)) {
        inside_always(|| ours::copied(borrowed(old), new));
    }
    new
}

/// dup(2): the copy of an XFRM socket is also noted.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn dup(fd: c_int) -> c_int {
    // SAFETY: the caller's promise.
    copied(fd, unsafe { real::dup(fd) })
}

/// dup2(2): the copy of an XFRM socket is also noted.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn dup2(fd: c_int, new: c_int) -> c_int {
    // SAFETY: the caller's promise.
    copied(fd, unsafe { real::dup2(fd, new) })
}

/// dup3(2): the copy of an XFRM socket is also noted.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn dup3(fd: c_int, new: c_int, flags: c_int) -> c_int {
    // SAFETY: the caller's promise.
    copied(fd, unsafe { real::dup3(fd, new, flags) })
}

/// fcntl(2): a copy of an XFRM socket is also noted. On the platforms of this library, a third argument of any kind is
/// passed in the register of a `long`.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn fcntl(fd: c_int, command: c_int, argument: c_long) -> c_int {
    // SAFETY: the caller's promise.
    let result = unsafe { real::fcntl(fd, command, argument) };
    if matches!(command, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC) { copied(fd, result) } else { result }
}

/// fcntl(2) under the name that programs with large files call.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn fcntl64(fd: c_int, command: c_int, argument: c_long) -> c_int {
    // SAFETY: the caller's promise.
    let result = unsafe { real::fcntl64(fd, command, argument) };
    if matches!(command, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC) { copied(fd, result) } else { result }
}

/// epoll_ctl(2): interest lists of an XFRM socket are also noted, since a descriptor that takes its place must enter
/// them.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn epoll_ctl(
    epoll: c_int,
    operation: c_int,
    fd: c_int,
    event: *mut epoll_event,
) -> c_int {
    // SAFETY: the caller's promise.
    let result = unsafe { real::epoll_ctl(epoll, operation, fd, event) };
    if result == 0 && maybe_ours(fd) {
        if operation == libc::EPOLL_CTL_DEL {
            inside_always(|| ours::unwatched(fd, epoll));
        } else if !event.is_null() {
            // SAFETY: the caller's promise; the kernel has read it.
            let epoll_event { events, u64: data } = unsafe { ptr::read_unaligned(event) };
            inside_always(|| ours::watched(fd, Watch { epoll, events, data }));
        }
    }
    result
}
