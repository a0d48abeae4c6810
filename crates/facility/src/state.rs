//! The state of a facility in one process: connection, queues, labels.
//!
//! A child of fork finds its parent's state, which it must not use, and links a new one behind it.
//! Finding the own state takes no lock, since a thread that does not exist in the child may have held it.

use crate::Options;
use crate::cards::pool::Pool;
use crate::control::connection::Connection;
use crate::local::caller::Caller;
use crate::request::labels::Labels;
use home::Home;
use std::sync::{Mutex, OnceLock};

/// The connection, queues and labels of one process.
pub(crate) struct State {
    /// The process, by [`link::fork::epoch`].
    epoch: u64,
    pub connection: Connection,
    pub pool: Pool,
    pub labels: Labels,
    pub caller: Caller,
    /// Held while the one suspect is in flight.
    pub alone: Mutex<()>,
    /// The state of a child of fork.
    next: OnceLock<Box<State>>,
}

impl State {
    /// An empty state for this process.
    pub fn new(home: &Home, options: &Options) -> Self {
        Self {
            epoch: link::fork::epoch(),
            connection: Connection::new(home.clone(), options),
            pool: Pool::default(),
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
                state.pool.abandon();
                Box::new(Self::new(home, options))
            });
        }
        state
    }
}
