//! What a daemon and a process that keeps its records say to one another, over two sockets: one for jobs, and
//! one that is readable while there are changes to tell.

use daemon::store::{Done, Job};
use serde::{Deserialize, Serialize};
use wire::Label;

/// Where the socket of the records is.
pub const SOCKET_VARIABLE: &str = "CRYPTAND_TEST_RECORDS";

/// From the daemon.
#[derive(Debug, Serialize, Deserialize)]
pub enum Ask {
    /// The first message of the socket that tells.
    Tell,
    /// Do this.
    Run(Job),
    /// What did others change?
    Changed,
}

/// To the daemon.
#[derive(Debug, Serialize, Deserialize)]
pub enum Say {
    /// There is something to tell.
    News,
    /// It is done.
    Done(Done),
    /// A record of this label exists.
    Exists,
    /// There is no such record.
    NotFound,
    /// It failed.
    Failed,
    /// Others changed these.
    Changed(Vec<Label>),
    /// Others may have changed any.
    Any,
}
