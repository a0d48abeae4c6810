//! What every library with a C interface needs, so that such a library is a list of names.
//!
//! | file | holds |
//! |---|---|
//! | `entry_points` | the macro that makes exported functions of a list of names |
//! | `call` | one call: what its name stands for, and its codes; no panic leaves it |
//! | `fields` | the arguments of a verb: measured by its row, copied in, and its answer copied out |
//! | `memory` | reads and writes of the caller's memory |
//! | `segments` | texts that are longer than one request carries |
//! | `process` | the one home and facility of the process, through fork and closed descriptors |
//! | `own` | what a function does that has no row in the verb table |
//! | `lists` | key records listed into a file |
//! | `resources` | which card a thread uses and which domain the process does |
//!
//! A field of the caller is copied before it is looked at, and outputs are written when the verb has answered: fields
//! may overlap.

mod call;
mod chosen;
mod entry_points;
mod fields;
mod lists;
mod memory;
mod own;
mod process;
mod resources;
mod segments;

pub use call::{Body, call};
pub use entry_points::{Prototype, is_given};
pub use own::Own;
pub use process::Witness;
pub use segments::CUT_TEXT_BYTES_MAX;
