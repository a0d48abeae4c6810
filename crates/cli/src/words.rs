//! Names of cards' personalities and states.

use wire::control::{CardState, Personality};

/// The name of a personality.
pub fn personality(personality: Personality) -> &'static str {
    match personality {
        Personality::Accelerator => "accelerator",
        Personality::Coprocessor => "coprocessor",
    }
}

/// The name of a state.
pub fn state(state: CardState) -> &'static str {
    match state {
        CardState::Created => "created",
        CardState::Sealed => "sealed",
        CardState::Ready => "ready",
        CardState::Quiescing => "quiescing",
        CardState::Zeroized => "zeroized",
        CardState::Failed => "failed",
    }
}
