//! Lab only: the card program, with answers delayed to the speed of another card.
//!
//! The program `cryptand-card-timed` is the card's own with [`Lanes`] for its timing, which [`Settings`] in a file
//! beside the program describe. It is not installed, and only the lab's homes name it.
#![forbid(unsafe_code)]

mod lanes;
mod settings;

pub use lanes::Lanes;
pub use settings::{
    Card, DEPTH_MAX, POLL_US_MAX, Pace, SERVICE_US_MAX, SETTINGS_BYTES_MAX, Settings, SettingsError,
};
