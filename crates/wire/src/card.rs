//! What a card is for, and how it waits.

use serde::{Deserialize, Serialize};

/// What a card is for.
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
    /// Sleep at once.
    Sleep,
    /// Look at fixed intervals, as the timer of the originals did.
    Every {
        /// The interval in microseconds.
        interval_us: u32,
    },
}
