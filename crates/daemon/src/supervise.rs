//! Starting, watching and stopping cards and the keeper.

pub mod backoff;
pub mod card;
pub mod generations;
pub mod keeper;
pub mod plan;
pub mod process;
pub mod program;
