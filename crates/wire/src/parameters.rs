//! Verbs by their numbers, and their parameters: what frames, points and the verb table name alike.
//!
//! | file | holds |
//! |---|---|
//! | `types` | types for the declaration of a parameter in a row |
//! | `keyed` | lengths that depend on keywords |
//! | `table` | [`Verb`], and a module for each verb: positions of its parameters |

mod keyed;
mod table;
mod types;

pub(crate) use keyed::Keyed;
pub use table::*;
pub use types::*;
