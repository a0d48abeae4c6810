//! Connections to the data plane, and what stands in a descriptor's place while there is none.

use crate::message::{hello, refusal};
use crate::place::Place;
use crate::said::Cause;
use crate::table::Entry;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{fcntl_getfl, fcntl_setfl, fstat, inotify};
use rustix::io::{Errno, FdFlags, fcntl_getfd, fcntl_setfd, read};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv, send,
    socket_with, socketpair,
};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// How long a socket that is asked for, or a request, waits for a data plane that is being restarted.
pub const RETURN_WAIT: Duration = Duration::from_secs(2);
/// A socket may stand in its folder before it listens, and nothing tells when it does: how often that is looked at.
const LISTEN_WAIT: Duration = Duration::from_millis(20);
/// How often a data plane is looked for where nothing tells that it comes.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Bytes of notifications that one call reads.
const NOTICES_BYTES: usize = 4096;

static UNTOLD: Cause = Cause::new();

/// A connection to one of the data plane's sockets, which waits for nothing.
pub fn to(path: &CStr) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket)
}

/// A connection for a socket of the host, which has said whose it is.
pub fn greeted(place: &Place, entry: &Entry) -> Result<OwnedFd, Errno> {
    let socket = to(&place.xfrm)?;
    greet(socket.as_fd(), entry)?;
    Ok(socket)
}

/// Says whose a connection is.
pub fn greet(socket: BorrowedFd<'_>, entry: &Entry) -> Result<(), Errno> {
    let bytes = hello(entry.port, entry.groups, entry.options);
    send(socket, &bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT).map(drop)
}

/// What becomes readable when a data plane comes to the place; where the system has no inotify(7) for this user,
/// whenever it is time to look for one.
pub fn notifier(place: &Place) -> Result<OwnedFd, Errno> {
    let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
    let told = inotify::init(flags).and_then(|notifier| arm(notifier.as_fd(), place).map(|()| notifier));
    told.inspect(|_| UNTOLD.ended()).or_else(|lacking| {
        UNTOLD.tell(format_args!(
            "the data plane is looked for every {} ms, since its folder is not watched: {lacking}{}",
            LOOK_EVERY.as_millis(),
            help(lacking)
        ));
        ticker()
    })
}

/// Which limit to raise, where it is one that inotify(7) has come to.
fn help(lacking: Errno) -> &'static str {
    match lacking {
        Errno::MFILE => ": raise fs.inotify.max_user_instances, or this program's limit of descriptors",
        Errno::NFILE => ": raise fs.file-max",
        Errno::NOSPC => ": raise fs.inotify.max_user_watches",
        _ => "",
    }
}

/// What becomes readable again and again.
fn ticker() -> Result<OwnedFd, Errno> {
    let every = Timespec { tv_sec: 0, tv_nsec: LOOK_EVERY.as_nanos() as _ };
    let ticker = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
    let time = Itimerspec { it_interval: every, it_value: every };
    timerfd_settime(&ticker, TimerfdTimerFlags::empty(), &time)?;
    Ok(ticker)
}

/// Has a notifier look at the folder; at the one above while there is none.
fn arm(notifier: BorrowedFd<'_>, place: &Place) -> Result<(), Errno> {
    let flags = inotify::WatchFlags::CREATE | inotify::WatchFlags::MOVED_TO;
    inotify::add_watch(notifier, &*place.folder, flags)
        .or_else(|_| inotify::add_watch(notifier, &*place.above, flags))
        .map(drop)
}

/// Takes what a notifier has told, and has it look again: the folder itself may have come.
pub fn rearm(notifier: BorrowedFd<'_>, place: &Place) -> Result<(), Errno> {
    let mut bytes = [0; NOTICES_BYTES];
    while readable(notifier, Duration::ZERO) && read(notifier, &mut bytes)? > 0 {}
    match arm(notifier, place) {
        // It is a timer, which goes on by itself.
        Err(Errno::INVAL) => Ok(()),
        armed => armed,
    }
}

/// Waits until there is something to read, not beyond a time.
pub fn readable(fd: BorrowedFd<'_>, time: Duration) -> bool {
    let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() };
    poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&time)).is_ok_and(|ready| ready > 0)
}

/// A connection, for which a data plane that is being restarted is waited for.
pub fn after_return(place: &Place, entry: &Entry, time: Duration) -> Result<OwnedFd, Errno> {
    let end = Instant::now() + time;
    let mut told = notifier(place)?;
    loop {
        let refused = match greeted(place, entry) {
            Ok(socket) => return Ok(socket),
            Err(refused) => refused,
        };
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(refused);
        }
        let listens_soon = refused != Errno::NOENT;
        let is_told = readable(told.as_fd(), if listens_soon { left.min(LISTEN_WAIT) } else { left });
        if is_told && rearm(told.as_fd(), place).is_err() {
            told = notifier(place)?;
        }
    }
}

/// Whether something was, or is being, served at the place: then waiting for its return is worth while.
pub fn was_there(place: &Place) -> bool {
    rustix::fs::stat(&*place.folder).is_ok()
}

/// What answers the requests of a socket with an error, and then ends.
pub fn refusals(entry: &Entry, errno: i32) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (near, far) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    for request in entry.asked() {
        send(&far, &refusal(&request, entry.port, errno), SendFlags::NOSIGNAL)?;
    }
    Ok(near)
}

/// Whether a connection holds messages that the host has not read.
pub fn unread(socket: BorrowedFd<'_>) -> bool {
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    recv(socket, &mut [0; 1], flags).is_ok_and(|(read, _)| read > 0)
}

/// Device and inode of what a descriptor is open on.
pub fn identity(fd: BorrowedFd<'_>) -> Option<(u64, u64)> {
    fstat(fd).ok().map(|stat| (stat.st_dev, stat.st_ino))
}

/// Whether calls on a descriptor return rather than wait.
pub fn waits_for_nothing(fd: BorrowedFd<'_>) -> bool {
    fcntl_getfl(fd).is_ok_and(|flags| flags.contains(rustix::fs::OFlags::NONBLOCK))
}

/// Gives a descriptor that is to take another's place its flags; whether that one is closed by exec.
pub fn like(new: BorrowedFd<'_>, old: BorrowedFd<'_>) -> Result<bool, Errno> {
    fcntl_setfl(new, fcntl_getfl(old)? & rustix::fs::OFlags::NONBLOCK)?;
    Ok(fcntl_getfd(old)?.contains(FdFlags::CLOEXEC))
}

/// Gives a descriptor the flags that a program asked of a socket.
pub fn with_flags(socket: BorrowedFd<'_>, waits: bool, inherited: bool) -> Result<(), Errno> {
    let kept = if waits { rustix::fs::OFlags::empty() } else { rustix::fs::OFlags::NONBLOCK };
    fcntl_setfl(socket, kept)?;
    fcntl_setfd(socket, if inherited { FdFlags::empty() } else { FdFlags::CLOEXEC })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_named_where_one_is_reached_and_nowhere_else() {
        for (lacking, limit) in [
            (Errno::MFILE, "fs.inotify.max_user_instances"),
            (Errno::NFILE, "fs.file-max"),
            (Errno::NOSPC, "fs.inotify.max_user_watches"),
        ] {
            assert!(help(lacking).contains(limit), "{lacking}");
        }
        for lacking in [Errno::NOENT, Errno::ACCESS, Errno::NOMEM, Errno::NOSYS, Errno::PERM] {
            assert_eq!(help(lacking), "");
        }
    }
}
