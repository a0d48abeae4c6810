//! Lab only: the card program with cards whose answers come no sooner than those of a card of another speed.
//!
//! A machine of few processors cannot show what twelve cards do. A timed card can: it does the real work,
//! then holds each answer until it is due and sleeps meanwhile, so that many of them share a processor.
//! The program `cryptand-card-timed` is the card's own with [`Lanes`] for its timing, as
//! [`Settings`] beside it say. It is not installed, and no home but the lab's names it.
#![forbid(unsafe_code)]

mod lanes;
mod settings;

pub use lanes::Lanes;
pub use settings::{
    Card, DEPTH_MAX, POLL_US_MAX, Pace, SERVICE_US_MAX, SETTINGS_BYTES_MAX, Settings, SettingsError,
};
