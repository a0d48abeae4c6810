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
    bind_mode(path, kind, Mode::RUSR | Mode::WUSR)
}

/// As [`bind`], with this mode of the socket's file.
pub(crate) fn bind_mode(path: &Path, kind: SocketType, mode: Mode) -> io::Result<OwnedFd> {
    remove_socket(path)?;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
    // The mode of the socket itself is what the file is made with, so that it is never wider.
    rustix::fs::fchmod(&socket, mode)?;
    with_address(path, |address| rustix::net::bind(&socket, address))?;
    rustix::fs::chmodat(CWD, path, mode, AtFlags::empty())?;
    Ok(socket)
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

fn remove_socket(path: &Path) -> io::Result<()> {
    match rustix::fs::lstat(path) {
        Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno.into()),
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Socket => {
            Ok(rustix::fs::unlink(path)?)
        }
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
