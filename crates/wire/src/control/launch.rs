//! The launcher of a system service: it starts cards as a user of their own, and ends them, as the daemon asks.

use super::LevelLimit;
use serde::{Deserialize, Serialize};

/// From the daemon to the launcher, one on each connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LaunchOrder {
    /// Starts a card; answered by [`LaunchReply::Started`]. Descriptors: the card's end of its control channel.
    Start {
        /// [`CONTROL_VERSION`](super::CONTROL_VERSION) of the daemon.
        version: u16,
        /// Highest instruction-set level of the card; none for no limit.
        level: Option<LevelLimit>,
    },
    /// Kills a card that this launcher started; answered by [`LaunchReply::Done`], also if the card
    /// has ended already.
    End {
        /// Process id of the card.
        pid: u32,
    },
}

/// From the launcher to the daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LaunchReply {
    /// The card runs.
    Started {
        /// Process id of the card.
        pid: u32,
    },
    /// The card was ended.
    Done,
    /// The order was refused, for this reason, in words for people.
    Refused(String),
}
