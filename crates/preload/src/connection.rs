//! Connections to the data plane, and the descriptors that take their place while there is no data plane.

use crate::message::{hello, refusal};
use crate::paths::PlanePaths;
use crate::said::Cause;
use crate::table::OpenDescriptor;
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

/// How long socket(2), or a request, waits for a data plane that is being restarted.
pub const RETURN_WAIT: Duration = Duration::from_secs(2);
/// Time between attempts to connect to a socket that is in its folder but does not listen yet: no event tells when it
/// does.
const LISTEN_WAIT: Duration = Duration::from_millis(20);
/// Time between looks for a data plane if no inotify(7) tells that it comes.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Bytes of inotify(7) events that one call reads.
const NOTICES_BYTES: usize = 4096;

static UNTOLD: Cause = Cause::new();

/// A connection to one of the data plane's sockets; calls on it do not wait.
pub fn to(path: &CStr) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket)
}

/// A connection for a socket of the host, with the hello sent on it.
pub fn greeted(paths: &PlanePaths, entry: &OpenDescriptor) -> Result<OwnedFd, Errno> {
    let socket = to(&paths.xfrm)?;
    greet(socket.as_fd(), entry)?;
    Ok(socket)
}

/// Sends the hello, which tells whose a connection is.
pub fn greet(socket: BorrowedFd<'_>, entry: &OpenDescriptor) -> Result<(), Errno> {
    let bytes = hello(entry.port, entry.groups, entry.options);
    send(socket, &bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT).map(drop)
}

/// A descriptor that becomes readable when a data plane comes to these paths; if the system has no inotify(7) for this
/// user, a timer that tells when to look for one.
pub fn notifier(paths: &PlanePaths) -> Result<OwnedFd, Errno> {
    let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
    let told = inotify::init(flags).and_then(|notifier| arm(notifier.as_fd(), paths).map(|()| notifier));
    told.inspect(|_| UNTOLD.ended()).or_else(|lacking| {
        UNTOLD.tell(format_args!(
            "the data plane is looked for every {} ms, since its folder is not watched: {lacking}{}",
            LOOK_EVERY.as_millis(),
            help(lacking)
        ));
        ticker()
    })
}

/// The end of a message: which limit to raise, if inotify(7) has come to one; else empty.
fn help(lacking: Errno) -> &'static str {
    match lacking {
        Errno::MFILE => ": raise fs.inotify.max_user_instances, or this program's limit of descriptors",
        Errno::NFILE => ": raise fs.file-max",
        Errno::NOSPC => ": raise fs.inotify.max_user_watches",
        _ => "",
    }
}

/// A timer that becomes readable every `LOOK_EVERY`.
fn ticker() -> Result<OwnedFd, Errno> {
    let every = Timespec { tv_sec: 0, tv_nsec: LOOK_EVERY.as_nanos() as _ };
    let ticker = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
    let time = Itimerspec { it_interval: every, it_value: every };
    timerfd_settime(&ticker, TimerfdTimerFlags::empty(), &time)?;
    Ok(ticker)
}

/// Has a notifier watch the data plane's folder, or the folder above while there is none.
fn arm(notifier: BorrowedFd<'_>, paths: &PlanePaths) -> Result<(), Errno> {
    let flags = inotify::WatchFlags::CREATE | inotify::WatchFlags::MOVED_TO;
    inotify::add_watch(notifier, &*paths.folder, flags)
        .or_else(|_| inotify::add_watch(notifier, &*paths.above, flags))
        .map(drop)
}

/// Takes the events of a notifier, and has it watch again: the folder itself may have come.
pub fn rearm(notifier: BorrowedFd<'_>, paths: &PlanePaths) -> Result<(), Errno> {
    let mut bytes = [0; NOTICES_BYTES];
    while readable(notifier, Duration::ZERO) && read(notifier, &mut bytes)? > 0 {}
    match arm(notifier, paths) {
        // The notifier is a timer, which goes on by itself.
        Err(Errno::INVAL) => Ok(()),
        armed => armed,
    }
}

/// Waits at most `time` until there is something to read; returns whether there is.
pub fn readable(fd: BorrowedFd<'_>, time: Duration) -> bool {
    let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() };
    poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&time)).is_ok_and(|ready| ready > 0)
}

/// A connection to a data plane that may be restarting: waits at most `time` for its return.
pub fn after_return(paths: &PlanePaths, entry: &OpenDescriptor, time: Duration) -> Result<OwnedFd, Errno> {
    let end = Instant::now() + time;
    let mut told = notifier(paths)?;
    loop {
        let refused = match greeted(paths, entry) {
            Ok(socket) => return Ok(socket),
            Err(refused) => refused,
        };
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(refused);
        }
        let listens_soon = refused != Errno::NOENT;
        let is_told = readable(told.as_fd(), if listens_soon { left.min(LISTEN_WAIT) } else { left });
        if is_told && rearm(told.as_fd(), paths).is_err() {
            told = notifier(paths)?;
        }
    }
}

/// Whether a data plane was, or is, at these paths (its folder exists): then waiting for its return is worth while.
pub fn was_there(paths: &PlanePaths) -> bool {
    rustix::fs::stat(&*paths.folder).is_ok()
}

/// A socket that holds an error for each request that was not answered, and then ends.
pub fn refusals(entry: &OpenDescriptor, errno: i32) -> Result<OwnedFd, Errno> {
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

/// Device and inode of the file that a descriptor is open on; `None` if it is not open.
pub fn identity(fd: BorrowedFd<'_>) -> Option<(u64, u64)> {
    fstat(fd).ok().map(|stat| (stat.st_dev, stat.st_ino))
}

/// Whether calls on a descriptor return rather than wait (O_NONBLOCK).
pub fn waits_for_nothing(fd: BorrowedFd<'_>) -> bool {
    fcntl_getfl(fd).is_ok_and(|flags| flags.contains(rustix::fs::OFlags::NONBLOCK))
}

/// Gives `new` the O_NONBLOCK of `old`, whose place it will take; returns whether `old` is closed by exec.
pub fn like(new: BorrowedFd<'_>, old: BorrowedFd<'_>) -> Result<bool, Errno> {
    fcntl_setfl(new, fcntl_getfl(old)? & rustix::fs::OFlags::NONBLOCK)?;
    Ok(fcntl_getfd(old)?.contains(FdFlags::CLOEXEC))
}

/// Sets the flags that a program asked of a socket: O_NONBLOCK unless `waits`, FD_CLOEXEC unless `inherited`.
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
