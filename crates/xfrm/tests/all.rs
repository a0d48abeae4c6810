//! The state of the kernel's tables, through netlink messages.

mod common;
mod events;
mod hostile;
mod journal;
mod policies;
mod sas;
