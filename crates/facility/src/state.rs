//! The state of a facility in one process: connection, queues, labels.
//!
//! A child of fork finds its parent's state, which it must not use, and links a new one behind it.
//! Finding the own state takes no lock, since a thread that does not exist in the child may have held it.

use crate::Options;
use crate::cards::shares::Shares;
use crate::control::connection::Connection;
use crate::labels::Labels;
use crate::local::caller::Caller;
use home::Home;
use std::sync::{Mutex, OnceLock};

/// The connection, shares and labels of one process.
pub(crate) struct FacilityState {
    /// The process, by [`link::fork::epoch`].
    epoch: u64,
    pub connection: Connection,
    pub shares: Shares,
    /// Labels that any thread has opened.
    pub labels: Labels,
    pub caller: Caller,
    /// Held while the one suspect is in flight.
    pub alone: Mutex<()>,
    /// The state of a child of fork.
    next: OnceLock<Box<FacilityState>>,
}

impl FacilityState {
    /// An empty state for this process.
    pub fn new(home: &Home, options: &Options) -> Self {
        Self {
            epoch: link::fork::epoch(),
            connection: Connection::new(home.clone(), options),
            shares: Shares::new(),
            labels: Labels::default(),
            caller: Caller::new(),
            alone: Mutex::new(()),
            next: OnceLock::new(),
        }
    }

    /// The state of this process: this one, or in a child of fork the child's own.
    pub fn of_this_process(&self, home: &Home, options: &Options) -> &Self {
        let epoch = link::fork::epoch();
        let mut state = self;
        while state.epoch != epoch {
            state = state.next.get_or_init(|| {
                // The child's copies of the parent's descriptors: with them open, the daemon would
                // take the parent for alive after its end.
                state.connection.abandon();
                state.shares.abandon();
                Box::new(Self::new(home, options))
            });
        }
        state
    }
}
