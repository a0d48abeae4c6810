//! Kinds of cards, and the ways in which a card waits.

use serde::{Deserialize, Serialize};

/// The kind of card that a process is, which decides the verbs that it serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Personality {
    /// Clear-key RSA, batched.
    Accelerator,
    /// Secure keys under a master key, and clear-key RSA.
    Coprocessor,
}

/// How a card and its clients wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PollMode {
    /// Never sleep.
    Spin,
    /// Spin a few microseconds while the peer was active lately, then sleep.
    #[default]
    Adaptive,
    /// Sleep as soon as there is nothing to do.
    Sleep,
    /// Look for requests or answers at fixed intervals, as the timer of the original cards did.
    Every {
        /// The interval in microseconds.
        interval_us: u32,
    },
}
