//! The cards of a home: reading their status pages, choosing one for a request, and the queues to them.

pub(crate) mod counters;
mod figures;
pub mod observe;
pub(crate) mod pool;
pub(crate) mod roster;
pub(crate) mod route;
pub(crate) mod shares;
