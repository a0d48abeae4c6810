//! Verbs that test keys in tokens of any form, narrow what the tokens permit, and change their form.

mod external;
mod key_test2;
mod parse;
pub mod parse2;
mod restrict;
mod translate2;

/// Room for any token, as clients state it.
const ROOM: i64 = 725;
