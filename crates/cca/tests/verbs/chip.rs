//! The verbs of chip cards: keys that are derived from data, and cryptograms, by OpenSSL and as the Python package
//! pyemv 1.5.0 has them.

mod derive;
mod derive2;
mod icc;
mod messages;
mod transaction;

pub use verb_requests::chip::*;
