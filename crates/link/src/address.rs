//! Binding and connecting Unix sockets with paths of any length.
//!
//! The address of a Unix socket holds 108 bytes. A longer path is reached through a descriptor of
//! its folder: `/proc/self/fd/<folder>/<name>`.

use crate::world;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Binds a new socket at a path, replacing a socket that lies there. Only this user can connect.
pub(crate) fn bind(path: &Path, kind: SocketType) -> io::Result<OwnedFd> {
    bind_mode(path, kind, Mode::RUSR | Mode::WUSR, |_| Ok(()))
}

/// As [`bind`], with this mode of the socket's file, and made ready by a function. A socket that
/// others may connect to is made beside the path, and moved there once it is ready and has its
/// mode. Who connects meanwhile meets the former socket or the new one, and is not refused.
pub(crate) fn bind_mode(
    path: &Path,
    kind: SocketType,
    mode: Mode,
    ready: impl FnOnce(&OwnedFd) -> rustix::io::Result<()>,
) -> io::Result<OwnedFd> {
    let for_others = mode.intersects(Mode::RWXG | Mode::RWXO);
    let made = if for_others { beside(path) } else { path.to_owned() };
    if for_others {
        is_socket(path)?;
    }
    if is_socket(&made)? {
        rustix::fs::unlink(&made)?;
    }
    let socket = rustix::net::socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
    // The socket's own mode becomes the mode of the file when it is made, so the file's mode is
    // never wider.
    rustix::fs::fchmod(&socket, mode)?;
    with_address(&made, |address| rustix::net::bind(&socket, address))?;
    rustix::fs::chmodat(CWD, &made, mode, AtFlags::empty())?;
    ready(&socket)?;
    if for_others {
        rustix::fs::rename(&made, path)?;
    }
    Ok(socket)
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    name.into()
}

/// A new socket connected to the one at a path.
pub(crate) fn connect(path: &Path, kind: SocketType) -> io::Result<OwnedFd> {
    connect_as(path, kind, SocketFlags::CLOEXEC)
}

/// As [`connect`], without blocking: `WouldBlock` if the backlog is full.
pub(crate) fn connect_now(path: &Path, kind: SocketType) -> io::Result<OwnedFd> {
    connect_as(path, kind, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)
}

fn connect_as(path: &Path, kind: SocketType, flags: SocketFlags) -> io::Result<OwnedFd> {
    let socket = rustix::net::socket_with(AddressFamily::UNIX, kind, flags, None)?;
    world::connecting(socket.as_fd());
    with_address(path, |address| rustix::net::connect(&socket, address))?;
    Ok(socket)
}

/// Whether a socket lies at a path.
///
/// # Errors
/// `AlreadyExists` if something else lies there.
fn is_socket(path: &Path) -> io::Result<bool> {
    match rustix::fs::lstat(path) {
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(errno.into()),
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Socket => Ok(true),
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
    }
}

fn with_address(path: &Path, call: impl FnOnce(&SocketAddrUnix) -> rustix::io::Result<()>) -> io::Result<()> {
    if let Ok(address) = SocketAddrUnix::new(path) {
        return Ok(call(&address)?);
    }
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    let folder = rustix::fs::open(folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let short = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()))
        .join(OsStr::from_bytes(name.as_bytes()));
    Ok(call(&SocketAddrUnix::new(&short)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// A client that connects while a daemon starts was refused like a client without permission.
    #[test]
    fn a_socket_for_all_is_met_with_its_mode_while_another_takes_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("guest.sock");
        let mode = Mode::from_raw_mode(0o666);
        let bind = || bind_mode(&path, SocketType::SEQPACKET, mode, |socket| rustix::net::listen(socket, 64));
        let mut listeners = vec![bind().unwrap()];
        let (is_over, has_begun) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let client = scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let found = rustix::fs::lstat(&path).map(|stat| Mode::from_raw_mode(stat.st_mode));
                    // Nobody accepts: a connection for which no room is left was not refused.
                    let met = connect_now(&path, SocketType::SEQPACKET).map(drop);
                    let is_met =
                        met.as_ref().err().is_none_or(|error| error.kind() == io::ErrorKind::WouldBlock);
                    has_begun.store(true, Ordering::Relaxed);
                    if found != Ok(mode) || !is_met {
                        return Err(format!("{found:?}, {met:?}"));
                    }
                }
                Ok(())
            });
            while !has_begun.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            for _ in 0..400 {
                listeners.push(bind().unwrap());
                std::thread::yield_now();
            }
            is_over.store(true, Ordering::Relaxed);
            client.join().unwrap().unwrap();
        });
        let left: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(left, [path]);
    }

    #[test]
    fn what_is_no_socket_is_left_where_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, b"text").unwrap();
        for mode in [0o600, 0o666] {
            let bound = bind_mode(&path, SocketType::SEQPACKET, Mode::from_raw_mode(mode), |_| Ok(()));
            assert_eq!(bound.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        }
        assert_eq!(std::fs::read(&path).unwrap(), b"text");
    }
}
