//! Ending the waits of loops from another thread.

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

/// What it says in an epoll instance: neither a slot nor the timer has that number.
pub(crate) const WAKE: u64 = u64::MAX - 1;

/// A flag that loops wait for beside their sockets.
#[derive(Clone, Debug)]
pub(crate) struct Wake(Arc<OwnedFd>);

impl Wake {
    pub fn new() -> Result<Self, Errno> {
        Ok(Self(Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)))
    }

    /// Has a loop told of it, until it is cleared.
    pub fn watch(&self, epoll: impl AsFd) -> Result<(), Errno> {
        epoll::add(epoll, &*self.0, EventData::new_u64(WAKE), EventFlags::IN)
    }

    /// Has a loop not told of it any more.
    pub fn forget(&self, epoll: impl AsFd) -> Result<(), Errno> {
        epoll::delete(epoll, &*self.0)
    }

    /// Ends the waits.
    pub fn set(&self) {
        // A counter that is full is set.
        let _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }

    /// Begins to wait again.
    pub fn clear(&self) {
        let mut count = [0; 8];
        let _ = rustix::io::read(&*self.0, &mut count);
    }
}
