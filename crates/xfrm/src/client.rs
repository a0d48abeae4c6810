//! The clients of the interface.

/// A client's connection, by the number that the caller gives it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Client(pub u64);
