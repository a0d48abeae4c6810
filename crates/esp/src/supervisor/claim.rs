//! The claim of a data plane to its folder and its network namespace, whose rules, routes and ports two data planes
//! could not share.

use super::error::{ServeError, file, system};
use crate::folder::PlaneFolder;
use link::Channel;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::thread;
use std::time::{Duration, Instant};

/// Name of a socket without a path, which exists once in a network namespace (unix(7), abstract).
const NAME: &[u8] = b"cryptand-esp";
/// How long to wait for a dead supervisor's worker to end, or for a starting supervisor to listen.
const LOCK_WAIT: Duration = Duration::from_secs(10);
/// How often the lock is tried meanwhile: there is no notice of its release except a wait without a bound.
const LOCK_LOOK: Duration = Duration::from_millis(50);
/// Longest name of a device that is read from the lock, in bytes (`IFNAMSIZ` of netdevice(7) is 16).
const NOTE_BYTES_MAX: usize = 16;

/// The claim to a folder and to this network namespace, held until it is dropped.
pub struct Claim {
    lock: File,
    _namespace: Option<OwnedFd>,
}

impl Claim {
    /// Makes the folder if it is missing, and claims folder and namespace.
    ///
    /// # Errors
    /// [`ServeError::Taken`], [`ServeError::Namespace`]; [`ServeError::File`] for the folder or the lock.
    pub fn take(plane: &PlaneFolder) -> Result<Claim, ServeError> {
        let folder = plane.folder();
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(folder)
            .map_err(file("making the folder", folder))?;
        let path = plane.lock();
        let lock =
            OpenOptions::new().create(true).truncate(false).read(true).write(true).mode(0o600).open(&path);
        let lock = lock.map_err(file("opening", &path))?;
        let began = Instant::now();
        loop {
            match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                // The worker of a dead supervisor holds the lock, and its sockets, until it has ended.
                Err(Errno::WOULDBLOCK) if !answers(plane) && began.elapsed() < LOCK_WAIT => {
                    thread::sleep(LOCK_LOOK);
                }
                Err(Errno::WOULDBLOCK) => return Err(ServeError::Taken(folder.to_owned())),
                Err(errno) => return Err(file("locking", &path)(errno.into())),
            }
        }
        Ok(Claim { lock, _namespace: namespace()? })
    }

    /// Notes in the lock file that a device of this name, with rules and routes, is to be removed at the end.
    ///
    /// # Errors
    /// The error of the write.
    pub fn note(&self, device: &str) -> io::Result<()> {
        self.lock.set_len(0)?;
        self.lock.write_all_at(device.as_bytes(), 0)
    }

    /// The device that an earlier supervisor noted and did not remove.
    pub fn noted(&self) -> Option<String> {
        let mut note = [0; NOTE_BYTES_MAX];
        let bytes = self.lock.read_at(&mut note, 0).ok().filter(|bytes| *bytes > 0)?;
        Some(String::from_utf8_lossy(&note[..bytes]).into_owned())
    }

    /// Clears the note: everything was removed.
    pub fn forget(&self) {
        // A note that stays makes the next supervisor look for the device in vain.
        let _ = self.lock.set_len(0);
    }
}

impl AsFd for Claim {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.lock.as_fd()
    }
}

/// Whether a supervisor listens in this folder.
fn answers(plane: &PlaneFolder) -> bool {
    Channel::connect_now(&plane.plane_socket()).is_ok()
}

/// Claims the name in this network namespace; None if a program of another user has it, so that no other user can keep
/// the supervisor from serving.
fn namespace() -> Result<Option<OwnedFd>, ServeError> {
    let failed = |errno: Errno| system("taking the network namespace")(errno.into());
    let address = SocketAddrUnix::new_abstract_name(NAME).map_err(failed)?;
    let socket = || {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).map_err(failed)
    };
    let own = socket()?;
    match rustix::net::bind(&own, &address) {
        Ok(()) => {
            rustix::net::listen(&own, 1).map_err(failed)?;
            return Ok(Some(own));
        }
        Err(Errno::ADDRINUSE) => {}
        Err(errno) => return Err(failed(errno)),
    }
    let other = socket()?;
    // A full queue belongs to a listening socket.
    let holder = match rustix::net::connect(&other, &address) {
        Ok(()) => socket_peercred(&other).ok(),
        Err(_) => None,
    };
    match holder {
        Some(holder) if holder.uid == rustix::process::geteuid() => {
            Err(ServeError::Namespace(u32::try_from(holder.pid.as_raw_nonzero().get()).unwrap_or(0)))
        }
        _ => {
            tell!(
                "a program that is not this user's has the name @cryptand-esp: another data plane in this network namespace would not be noticed"
            );
            Ok(None)
        }
    }
}
