//! Listening sockets: bound here, or handed in by a service manager (sd_listen_fds(3)).

use crate::settings::ListenAt;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Length of the queue of connections that wait to be accepted; the kernel has a bound of its own
/// (`net.core.somaxconn`).
const BACKLOG: i32 = 4096;
/// First descriptor that a service manager hands in.
const FIRST_HANDED: i32 = 3;
/// At most this many descriptors are taken from a service manager.
const HANDED_MAX: i32 = 1024;

/// Sockets that this process listens at.
#[derive(Default)]
pub(crate) struct Sockets {
    open: HashMap<ListenAt, Arc<OwnedFd>>,
    /// Names that several handed-in sockets share, so that none of these sockets can be chosen.
    ambiguous: Vec<String>,
    handed: HashMap<String, Arc<OwnedFd>>,
}

impl Sockets {
    /// The sockets that a service manager handed in. To be called once, before anything opens descriptors.
    pub(crate) fn from_environment() -> Self {
        let variable = |name| std::env::var(name).ok();
        let is_ours = variable("LISTEN_PID").and_then(|pid| pid.parse().ok()) == Some(getpid().as_raw_pid());
        let count = variable("LISTEN_FDS").and_then(|count| count.parse::<i32>().ok()).filter(|_| is_ours);
        let names = variable("LISTEN_FDNAMES").unwrap_or_default();
        let mut names = names.split(':');
        let mut sockets = Self::default();
        // Duplicated through this process's own descriptor. The originals stay open until the process ends, as the
        // manager keeps them open too.
        let Ok(own) = pidfd_open(getpid(), PidfdFlags::empty()) else { return sockets };
        for at in 0..count.unwrap_or(0).clamp(0, HANDED_MAX) {
            let name = names.next().filter(|name| !name.is_empty()).unwrap_or("unknown");
            if let Ok(socket) = pidfd_getfd(&own, FIRST_HANDED + at, PidfdGetfdFlags::empty())
                && rustix::io::ioctl_fionbio(&socket, true).is_ok()
                && sockets.handed.insert(name.to_owned(), Arc::new(socket)).is_some()
            {
                sockets.ambiguous.push(name.to_owned());
            }
        }
        sockets
    }

    /// The socket for a listener: the one that is already open, or a new one.
    ///
    /// # Errors
    /// A text that says why there is no socket, for people.
    pub(crate) fn open(&mut self, place: &ListenAt) -> Result<Arc<OwnedFd>, String> {
        if let Some(socket) = self.open.get(place) {
            return Ok(Arc::clone(socket));
        }
        let socket = match place {
            ListenAt::Address(address) => {
                Arc::new(bind(address).map_err(|errno| format!("cannot listen at {address}: {errno}"))?)
            }
            ListenAt::Handed(name) if self.ambiguous.contains(name) => {
                return Err(format!(
                    "the service manager handed in several sockets of the name \"{name}\": give each a unit and a name \
                     (FileDescriptorName=) of its own"
                ));
            }
            ListenAt::Handed(name) => {
                let socket = self.handed.get(name).ok_or_else(|| {
                    format!(
                        "the service manager handed in no socket of the name \"{name}\" (FileDescriptorName=)"
                    )
                })?;
                if sockopt::socket_acceptconn(socket) != Ok(true) {
                    return Err(format!(
                        "what the service manager handed in as \"{name}\" is no socket that listens (ListenStream=)"
                    ));
                }
                Arc::clone(socket)
            }
        };
        // Data is sent at once. Connections inherit this from their listening socket, without a call for each. Unix
        // sockets have no such option, so an error is ignored.
        let _ = sockopt::set_tcp_nodelay(&socket, true);
        self.open.insert(place.clone(), Arc::clone(&socket));
        Ok(socket)
    }

    /// The address of a listener's socket, as the system gives it.
    pub(crate) fn address(&self, place: &ListenAt) -> String {
        let name = self.open.get(place).and_then(|socket| rustix::net::getsockname(socket).ok());
        let address = name.and_then(|name| SocketAddr::try_from(name).ok());
        address.map_or_else(|| place.to_string(), |address| address.to_string())
    }

    /// Drops the sockets of places that are no longer wanted.
    pub(crate) fn keep(&mut self, wanted: impl Fn(&ListenAt) -> bool) {
        self.open.retain(|place, _| wanted(place));
    }
}

fn bind(address: &SocketAddr) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    // A restart can bind the address although connections of the former process are still open.
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    rustix::net::bind(&socket, address)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket)
}
