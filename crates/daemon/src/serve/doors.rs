//! The sockets that connections come through: one for administrators, one for guests, one for observers.
//!
//! Each has a backlog of its own, so that a flood of guests does not keep an administrator out.

use crate::access::Door;
use crate::error::DaemonError;
use crate::poller::{Interest, Poller, Source};
use home::Home;
use link::{Channel, Listener};
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

/// The sockets.
pub(super) struct Doors {
    administrators: Watched,
    guests: Watched,
    observers: Watched,
}

struct Watched {
    listener: Listener,
    door: Door,
    /// Whether connections are accepted: not while descriptors have run out, or while stopping.
    is_open: bool,
}

impl Doors {
    /// Makes the sockets, the administrators' first: whoever finds the other one has had the chance.
    pub(super) fn make(home: &Home) -> Result<Self, DaemonError> {
        let (admin, guest, earlier) = (home.admin_socket(), home.guest_socket(), home.earlier_socket());
        let observe = home.observe_socket();
        let made = |door, listener: io::Result<Listener>| {
            let listener = listener?;
            listener.set_nonblocking(true)?;
            Ok(Watched { listener, door, is_open: false })
        };
        let failed = |path: &Path| DaemonError::system("listen at", path.to_owned());
        let administrators = made(Door::Administrators, Listener::bind(&admin)).map_err(failed(&admin))?;
        let observers = made(Door::Observers, Listener::bind_for_all(&observe)).map_err(failed(&observe))?;
        let guests = made(Door::Guests, Listener::bind_for_all(&guest)).map_err(failed(&guest))?;
        let _ = fs::remove_file(&earlier);
        symlink("guest.sock", &earlier).map_err(failed(&earlier))?;
        Ok(Self { administrators, guests, observers })
    }

    /// Removes what [`Doors::make`] made.
    pub(super) fn remove(home: &Home) {
        for path in [home.earlier_socket(), home.guest_socket(), home.observe_socket(), home.admin_socket()] {
            let _ = fs::remove_file(path);
        }
    }

    /// Accepts connections from here on, where it does not yet.
    pub(super) fn open(&mut self, poller: &mut Poller) {
        for watched in self.each() {
            if !watched.is_open {
                let source = Source::Listener(watched.door);
                watched.is_open = poller.watch(&watched.listener, source, Interest::Reading).is_ok();
            }
        }
    }

    /// Accepts none until [`Doors::open`].
    pub(super) fn close(&mut self, poller: &mut Poller) {
        for watched in self.each() {
            poller.forget(&watched.listener);
            watched.is_open = false;
        }
    }

    /// The next connection that waits.
    pub(super) fn accept(&self, door: Door) -> io::Result<Option<Channel>> {
        match door {
            Door::Administrators => self.administrators.listener.try_accept(),
            Door::Guests => self.guests.listener.try_accept(),
            Door::Observers => self.observers.listener.try_accept(),
        }
    }

    fn each(&mut self) -> [&mut Watched; 3] {
        [&mut self.administrators, &mut self.guests, &mut self.observers]
    }
}
