//! The facility against a daemon that the tests play.

mod completions;
mod fake;
mod requests;
mod shares;
