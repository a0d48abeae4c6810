//! Calls on XFRM netlink sockets: connections to the data plane answer as the kernel would.
//!
//! A data plane that dies ends its connections. The call that notices makes a new connection, sends the hello again,
//! and puts the new connection in the place of the old one. Requests without an answer are refused with ECONNRESET:
//! they may have been carried out, and so are not sent again. While there is no data plane, the descriptor is an
//! inotify instance that becomes readable when one comes, or a timer that looks for one: so a program that polls is
//! woken.

use crate::connection::{self, RETURN_WAIT};
use crate::ffi_kernel;
use crate::paths::{PlanePaths, shown};
use crate::said::Cause;
use crate::table::{DescriptorState, DescriptorTable, OpenDescriptor, Watch};
use rustix::io::Errno;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// `sizeof(struct sockaddr_nl)`.
pub const ADDRESS_BYTES: usize = 12;
/// NETLINK_EXT_ACK in a hello.
const EXT_ACK: u32 = 1;
/// NETLINK_CAP_ACK in a hello.
const CAP_ACK: u32 = 2;

static TABLE: Mutex<DescriptorTable> = Mutex::new(DescriptorTable::new());
static ABSENT: Cause = Cause::new();
static FULL: Cause = Cause::new();
static UNWATCHED: Cause = Cause::new();

/// Locks the table. The lock must not be held while a call of the host waits.
pub fn table() -> MutexGuard<'static, DescriptorTable> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The next step, after a connection was found to have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Repeat the call.
    Again,
    /// Wait until the descriptor is readable: there is no data plane.
    Wait,
    /// Fail with this error.
    Fail(Errno),
    /// The descriptor is not ours: the kernel's result stands.
    Foreign,
}

/// The entry of a descriptor; `None` if it is not ours. The entry of a descriptor that was closed unseen is removed.
pub fn entry(fd: BorrowedFd<'_>) -> Option<OpenDescriptor> {
    checked(&mut table(), fd).map(|entry| *entry)
}

fn checked<'a>(table: &'a mut DescriptorTable, fd: BorrowedFd<'_>) -> Option<&'a mut OpenDescriptor> {
    let number = fd.as_raw_fd();
    let identity = table.get(number)?.identity;
    if connection::identity(fd) != Some(identity) {
        table.remove(number);
        return None;
    }
    table.get(number)
}

/// Opens a socket of NETLINK_XFRM, which is a connection to the data plane. `kind` is SOCK_RAW or SOCK_DGRAM.
pub fn open(paths: Option<&PlanePaths>, kind: i32, waits: bool, inherited: bool) -> Result<OwnedFd, Errno> {
    let Some(paths) = paths else {
        ABSENT.tell(format_args!(
            "CRYPTAND_ESP has to be an absolute path of at most 96 bytes: set it to the folder of the data plane"
        ));
        return Err(Errno::NAMETOOLONG);
    };
    let mut entry =
        OpenDescriptor::new(-1, (0, 0), kind, rustix::process::getpid().as_raw_pid().unsigned_abs());
    let socket = connection::greeted(paths, &entry).or_else(|refused| {
        if connection::was_there(paths) {
            connection::after_return(paths, &entry, RETURN_WAIT)
        } else {
            Err(refused)
        }
    });
    let socket = socket.inspect_err(|&refused| absent(paths, refused))?;
    ABSENT.ended();
    connection::with_flags(socket.as_fd(), waits, inherited)?;
    entry.fd = socket.as_raw_fd();
    entry.identity = connection::identity(socket.as_fd()).ok_or(Errno::BADF)?;
    if !table().insert(entry) {
        FULL.tell(format_args!("this program has too many XFRM sockets: close some"));
        return Err(Errno::MFILE);
    }
    Ok(socket)
}

fn absent(paths: &PlanePaths, refused: Errno) {
    let path = shown(&paths.xfrm);
    ABSENT.tell(format_args!(
        "no data plane answers at {path}: {refused}: start cryptand-esp, or set CRYPTAND_ESP to its folder"
    ));
}

/// Changes the fields of a hello, and sends the hello if they differ. Without a data plane, the next connection sends
/// it.
fn change(fd: BorrowedFd<'_>, change: impl FnOnce(&mut OpenDescriptor)) {
    let mut table = table();
    let Some(entry) = checked(&mut table, fd) else { return };
    let before = (entry.port, entry.groups, entry.options);
    change(entry);
    if before != (entry.port, entry.groups, entry.options) && entry.state == DescriptorState::Connected {
        // A connection that has ended is found by the call that reads.
        let _ = connection::greet(fd, entry);
    }
}

/// Binds to an address (`struct sockaddr_nl`): takes its groups, and its port unless that is 0.
pub fn bind(fd: BorrowedFd<'_>, address: &[u8]) -> Result<(), Errno> {
    let [a, b, _, _, port @ .., g, h, i, j] = address.first_chunk::<ADDRESS_BYTES>().ok_or(Errno::INVAL)?;
    if i32::from(u16::from_ne_bytes([*a, *b])) != libc::AF_NETLINK {
        return Err(Errno::INVAL);
    }
    let (port, groups) = (u32::from_ne_bytes(*port), u32::from_ne_bytes([*g, *h, *i, *j]));
    change(fd, |entry| {
        entry.groups = groups;
        if port != 0 {
            entry.port = port;
        }
    });
    Ok(())
}

/// An address as netlink gives it: the kernel's has port 0 and no groups.
pub fn address(port: u32, groups: u32) -> [u8; ADDRESS_BYTES] {
    let mut bytes = [0; ADDRESS_BYTES];
    bytes[..2].copy_from_slice(&(libc::AF_NETLINK as u16).to_ne_bytes());
    bytes[4..8].copy_from_slice(&port.to_ne_bytes());
    bytes[8..].copy_from_slice(&groups.to_ne_bytes());
    bytes
}

/// Sets an option of SOL_NETLINK: memberships of groups, and the forms of acknowledgements.
pub fn set_option(fd: BorrowedFd<'_>, name: i32, value: i32) -> Result<(), Errno> {
    let group = u32::try_from(value).ok().and_then(|value| value.checked_sub(1));
    let bit = group.and_then(|group| 1u32.checked_shl(group));
    let option = match name {
        libc::NETLINK_ADD_MEMBERSHIP | libc::NETLINK_DROP_MEMBERSHIP => {
            let bit = bit.ok_or(Errno::INVAL)?;
            let joins = name == libc::NETLINK_ADD_MEMBERSHIP;
            change(fd, |entry| entry.groups = if joins { entry.groups | bit } else { entry.groups & !bit });
            return Ok(());
        }
        libc::NETLINK_EXT_ACK => EXT_ACK,
        libc::NETLINK_CAP_ACK => CAP_ACK,
        // These options change how overruns and dumps are reported, which is always the same here.
        libc::NETLINK_BROADCAST_ERROR
        | libc::NETLINK_NO_ENOBUFS
        | libc::NETLINK_PKTINFO
        | libc::NETLINK_GET_STRICT_CHK => return Ok(()),
        _ => return Err(Errno::NOPROTOOPT),
    };
    change(fd, |entry| {
        entry.options = if value == 0 { entry.options & !option } else { entry.options | option }
    });
    Ok(())
}

/// The value of an option that the kernel would not tell of a connection, which is no netlink socket; `None` for other
/// options.
pub fn option(entry: &OpenDescriptor, level: i32, name: i32) -> Option<u32> {
    match (level, name) {
        (libc::SOL_SOCKET, libc::SO_DOMAIN) => Some(libc::AF_NETLINK as u32),
        (libc::SOL_SOCKET, libc::SO_PROTOCOL) => Some(libc::NETLINK_XFRM as u32),
        (libc::SOL_SOCKET, libc::SO_TYPE) => u32::try_from(entry.kind).ok(),
        (libc::SOL_SOCKET, libc::SO_ERROR) => Some(0),
        (libc::SOL_NETLINK, libc::NETLINK_LIST_MEMBERSHIPS) => Some(entry.groups),
        (libc::SOL_NETLINK, libc::NETLINK_EXT_ACK) => Some(u32::from(entry.options & EXT_ACK != 0)),
        (libc::SOL_NETLINK, libc::NETLINK_CAP_ACK) => Some(u32::from(entry.options & CAP_ACK != 0)),
        _ => None,
    }
}

/// Notes the requests in datagrams that are about to be sent.
pub fn asks(fd: BorrowedFd<'_>, datagrams: &[&[u8]]) {
    if let Some(entry) = table().get(fd.as_raw_fd()) {
        datagrams.iter().for_each(|datagram| entry.asks(datagram));
    }
}

/// Takes back what [`asks`] noted: the datagrams were not sent.
pub fn has_not_asked(fd: BorrowedFd<'_>, datagrams: &[&[u8]]) {
    if let Some(entry) = table().get(fd.as_raw_fd()) {
        datagrams.iter().for_each(|datagram| entry.has_not_asked(datagram));
    }
}

/// Notes the answers in a datagram that was read.
pub fn answered(fd: BorrowedFd<'_>, datagram: &[u8]) {
    if let Some(entry) = table().get(fd.as_raw_fd()) {
        entry.answered(datagram);
    }
}

/// Puts `new` in the place of a connection that has ended: under its number, with its flags, and in its interest lists.
fn replace(
    entry: &mut OpenDescriptor,
    fd: BorrowedFd<'_>,
    new: &OwnedFd,
    state: DescriptorState,
) -> Result<(), Errno> {
    let closed_by_exec = connection::like(new.as_fd(), fd)?;
    let identity = connection::identity(new.as_fd()).ok_or(Errno::BADF)?;
    ffi_kernel::put_in_place(new.as_fd(), fd, closed_by_exec)?;
    (entry.identity, entry.state) = (identity, state);
    for watch in entry.watches() {
        ffi_kernel::watch(fd, watch);
    }
    Ok(())
}

fn reconnected(entry: &mut OpenDescriptor, fd: BorrowedFd<'_>, new: &OwnedFd) -> Next {
    ABSENT.ended();
    entry.tired = false;
    replace(entry, fd, new, DescriptorState::Connected).map_or_else(Next::Fail, |()| Next::Again)
}

/// Has a descriptor wait for the data plane, or connects it if the data plane has come meanwhile.
fn wait(entry: &mut OpenDescriptor, fd: BorrowedFd<'_>, paths: &PlanePaths, refused: Errno) -> Next {
    absent(paths, refused);
    if entry.state != DescriptorState::Waiting || connection::rearm(fd, paths).is_err() {
        let waiting =
            connection::notifier(paths).and_then(|new| replace(entry, fd, &new, DescriptorState::Waiting));
        if let Err(lacking) = waiting {
            UNWATCHED.tell(format_args!(
                "this program has no descriptor to wait for the data plane with: {lacking}: raise RLIMIT_NOFILE"
            ));
            return Next::Fail(Errno::NOBUFS);
        }
        UNWATCHED.ended();
    }
    // The data plane may have come between the attempt and the watch of its folder.
    connection::greeted(paths, entry).map_or(Next::Wait, |new| reconnected(entry, fd, &new))
}

/// A call that reads has found that the connection of `fd` has ended.
pub fn ended_at_read(fd: BorrowedFd<'_>, paths: &PlanePaths) -> Next {
    let mut table = table();
    let Some(entry) = checked(&mut table, fd) else { return Next::Foreign };
    if entry.state == DescriptorState::Connected && entry.asked().next().is_some() {
        let refusals = connection::refusals(entry, libc::ECONNRESET);
        entry.forget_asked();
        return match refusals.and_then(|new| replace(entry, fd, &new, DescriptorState::Refusals)) {
            Ok(()) => Next::Again,
            Err(_) => Next::Fail(Errno::CONNRESET),
        };
    }
    match connection::greeted(paths, entry) {
        Ok(new) => reconnected(entry, fd, &new),
        Err(refused) => wait(entry, fd, paths, refused),
    }
}

/// A call that sends has found that the connection of `fd` has ended. None of the call's bytes were delivered.
pub fn ended_at_send(fd: BorrowedFd<'_>, paths: &PlanePaths, may_wait: bool) -> Next {
    let (copy, refused) = {
        let mut table = table();
        let Some(entry) = checked(&mut table, fd) else { return Next::Foreign };
        // Answers, or refusals, that the host has still to read go first.
        if entry.state != DescriptorState::Waiting
            && (entry.asked().next().is_some() || connection::unread(fd))
        {
            return Next::Fail(Errno::CONNRESET);
        }
        match connection::greeted(paths, entry) {
            Ok(new) => return reconnected(entry, fd, &new),
            Err(refused) => (*entry, refused),
        }
    };
    let time = if may_wait && !copy.tired { RETURN_WAIT } else { Duration::ZERO };
    let new = connection::after_return(paths, &copy, time);
    let mut table = table();
    let Some(entry) = checked(&mut table, fd) else { return Next::Foreign };
    if let Ok(new) = new {
        return reconnected(entry, fd, &new);
    }
    entry.tired = true;
    match wait(entry, fd, paths, refused) {
        // A send does not wait, whether or not there is a descriptor to wait with.
        Next::Wait | Next::Fail(_) => Next::Fail(Errno::CONNREFUSED),
        other => other,
    }
}

/// Notes that `new` is a copy of `old`, whatever it was before.
pub fn copied(old: BorrowedFd<'_>, new: i32) {
    let mut table = table();
    let copy = checked(&mut table, old).map(|entry| entry.copied_to(new));
    if let Some(copy) = copy {
        if !table.insert(copy) {
            FULL.tell(format_args!("this program has too many XFRM sockets: close some"));
        }
    } else {
        table.remove(new);
    }
}

/// Notes that a descriptor is closed.
pub fn closed(fd: i32) {
    table().remove(fd);
}

/// Notes that a descriptor enters an interest list of epoll, or that its events in the list change.
pub fn watched(fd: i32, watch: Watch) {
    if let Some(entry) = table().get(fd) {
        entry.watch(watch);
    }
}

/// Notes that a descriptor leaves an interest list of epoll.
pub fn unwatched(fd: i32, epoll: i32) {
    if let Some(entry) = table().get(fd) {
        entry.unwatch(epoll);
    }
}
