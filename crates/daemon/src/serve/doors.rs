//! The sockets that connections come through: one for administrators, one for guests, one for observers.
//!
//! Each has its own backlog, so that a flood of guests does not keep an administrator out. Guests' and observers'
//! connections are accepted at a limited rate ([`Pace`]): a process that connects without end costs the daemon, and the
//! cards that share its processors, no more time than that. Meanwhile further connections wait in the backlog.

use crate::access::Door;
use crate::error::DaemonError;
use crate::poller::{Interest, Poller, Source};
use home::Home;
use link::{Channel, Listener, world};
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

/// The listening sockets of a home.
pub(super) struct Doors {
    administrators: Watched,
    guests: Watched,
    observers: Watched,
}

struct Watched {
    listener: Listener,
    door: Door,
    /// Whether connections are accepted: not while descriptors have run out, while stopping, or ahead of the pace.
    is_open: bool,
    /// The pace of accepting; `None` if it is unbounded.
    pace: Option<Pace>,
}

/// Connections that may be accepted now: a bucket that fills at a constant rate.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// Number of connections that may be accepted at once.
    left: u32,
    /// Time up to which the bucket has been filled.
    filled: Instant,
}

impl Pace {
    fn new(now: Instant) -> Self {
        Self { left: BURST, filled: now }
    }

    fn fill(&mut self, now: Instant) {
        let gained = now.saturating_duration_since(self.filled).as_nanos() / EVERY.as_nanos();
        let gained = u32::try_from(gained).unwrap_or(u32::MAX);
        if gained >= BURST - self.left {
            *self = Self::new(now);
        } else {
            self.left += gained;
            self.filled += EVERY * gained;
        }
    }

    /// Takes one connection out of the bucket, unless it is empty.
    fn take(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    fn is_empty(&self) -> bool {
        self.left == 0
    }

    /// When the bucket holds enough connections to be worth waking up for ([`WORTH_WAKING`]).
    fn due(&self) -> Instant {
        self.filled + EVERY * WORTH_WAKING.saturating_sub(self.left)
    }
}

impl Watched {
    /// Whether the socket waits for its pace.
    fn rests(&self) -> bool {
        self.pace.as_ref().is_some_and(Pace::is_empty)
    }

    /// When the socket accepts again; `None` if it does not wait for its pace.
    fn due(&self) -> Option<Instant> {
        self.pace.as_ref().filter(|pace| pace.is_empty()).map(Pace::due)
    }
}

impl Doors {
    /// Makes the sockets, the administrators' first: a client that finds another socket might have used that one.
    pub(super) fn make(home: &Home) -> Result<Self, DaemonError> {
        let (admin, guest, earlier) = (home.admin_socket(), home.guest_socket(), home.earlier_socket());
        let observe = home.observe_socket();
        let made = |door, listener: io::Result<Listener>| {
            let listener = listener?;
            listener.set_nonblocking(true)?;
            let pace = (door != Door::Administrators).then(|| Pace::new(world::now()));
            Ok(Watched { listener, door, is_open: false, pace })
        };
        let failed = |path: &Path| DaemonError::system("listen at", path.to_owned());
        let administrators = made(Door::Administrators, Listener::bind(&admin)).map_err(failed(&admin))?;
        let observers = made(Door::Observers, Listener::bind_for_all(&observe)).map_err(failed(&observe))?;
        let guests = made(Door::Guests, Listener::bind_for_all(&guest)).map_err(failed(&guest))?;
        let _ = fs::remove_file(&earlier);
        symlink("guest.sock", &earlier).map_err(failed(&earlier))?;
        Ok(Self { administrators, guests, observers })
    }

    /// Removes the files that [`Doors::make`] made.
    pub(super) fn remove(home: &Home) {
        for path in [home.earlier_socket(), home.guest_socket(), home.observe_socket(), home.admin_socket()] {
            let _ = fs::remove_file(path);
        }
    }

    /// Polls the sockets that are not polled yet, except those that wait for their pace.
    pub(super) fn open(&mut self, poller: &mut Poller) {
        for watched in self.each() {
            if !watched.is_open && !watched.rests() {
                let source = Source::Listener(watched.door);
                watched.is_open = poller.watch(&watched.listener, source, Interest::Reading).is_ok();
            }
        }
    }

    /// Accepts no connections until [`Doors::open`].
    pub(super) fn close(&mut self, poller: &mut Poller) {
        for watched in self.each() {
            poller.forget(&watched.listener);
            watched.is_open = false;
        }
    }

    /// When a socket that waits for its pace accepts again; `None` if none waits.
    pub(super) fn due(&self) -> Option<Instant> {
        [&self.guests, &self.observers].into_iter().filter_map(Watched::due).min()
    }

    /// Fills the buckets of waiting sockets that are due, and returns whether one of them may be polled again.
    pub(super) fn on_time(&mut self, now: Instant) -> bool {
        let mut goes_on = false;
        for watched in self.each() {
            if watched.due().is_some_and(|due| due <= now)
                && let Some(pace) = &mut watched.pace
            {
                pace.fill(now);
                goes_on = true;
            }
        }
        goes_on
    }

    /// The next waiting connection; `None` if there is none, or if the pace allows no more now.
    pub(super) fn accept(&mut self, door: Door, poller: &mut Poller) -> io::Result<Option<Channel>> {
        let watched = match door {
            Door::Administrators => &mut self.administrators,
            Door::Guests => &mut self.guests,
            Door::Observers => &mut self.observers,
        };
        if let Some(pace) = &mut watched.pace {
            pace.fill(world::now());
        }
        if watched.rests() {
            poller.forget(&watched.listener);
            watched.is_open = false;
            return Ok(None);
        }
        let accepted = watched.listener.try_accept()?;
        if let Some(pace) = watched.pace.as_mut().filter(|_| accepted.is_some()) {
            pace.take();
        }
        Ok(accepted)
    }

    fn each(&mut self) -> [&mut Watched; 3] {
        [&mut self.administrators, &mut self.guests, &mut self.observers]
    }
}

/// Upper bound of the connections accepted at once through a socket, after a while without any.
const BURST: u32 = 512;
/// Time in which one more connection may be accepted: 1,000 a second.
const EVERY: Duration = Duration::from_millis(1);
/// A socket that is not polled is polled again when this many connections may be accepted.
const WORTH_WAKING: u32 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes out up to `most` connections, and returns how many there were.
    fn taken(pace: &mut Pace, most: u32) -> u32 {
        let before = pace.left;
        (0..most).for_each(|_| pace.take());
        before - pace.left
    }

    #[test]
    fn a_flood_gets_its_burst_and_then_its_pace() {
        let begin = Instant::now();
        let mut pace = Pace::new(begin);
        assert_eq!(taken(&mut pace, 10_000), BURST);
        assert!(pace.is_empty());
        // It is asked for again and again, at odd times, for 998.667 ms.
        let mut accepted = 0;
        for step in 0..3_000 {
            pace.fill(begin + Duration::from_micros(333) * step);
            accepted += taken(&mut pace, 100);
        }
        assert_eq!(accepted, 998);
        assert_eq!(pace.due() - pace.filled, EVERY * WORTH_WAKING);
        pace.fill(begin + Duration::from_secs(3_600));
        assert_eq!(pace.left, BURST);
        // A clock that stands still, or goes back, gives nothing.
        assert_eq!(taken(&mut pace, BURST), BURST);
        pace.fill(begin);
        assert!(pace.is_empty());
    }
}
