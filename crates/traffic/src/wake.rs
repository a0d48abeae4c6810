//! An event that ends the waits of loops from another thread.

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

/// The event's number in an epoll instance: neither a slot nor the timer has it.
pub(crate) const WAKE: u64 = u64::MAX - 1;

/// An event that loops wait for beside their sockets.
#[derive(Clone, Debug)]
pub(crate) struct Wake(Arc<OwnedFd>);

impl Wake {
    pub fn new() -> Result<Self, Errno> {
        Ok(Self(Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)))
    }

    /// Adds the event to a loop's epoll instance.
    pub fn watch(&self, epoll: impl AsFd) -> Result<(), Errno> {
        epoll::add(epoll, &*self.0, EventData::new_u64(WAKE), EventFlags::IN)
    }

    /// Removes the event from a loop's epoll instance.
    pub fn forget(&self, epoll: impl AsFd) -> Result<(), Errno> {
        epoll::delete(epoll, &*self.0)
    }

    /// Sets the event, which ends the waits.
    pub fn set(&self) {
        // A write fails only if the counter is full, and the event so is set already.
        let _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }

    /// Clears the event.
    pub fn clear(&self) {
        let mut count = [0; 8];
        let _ = rustix::io::read(&*self.0, &mut count);
    }
}
