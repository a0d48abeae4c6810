//! The cards of a home: what their pages say, which of them a request goes to, and the queues to them.

pub(crate) mod counters;
mod figures;
pub mod observe;
pub(crate) mod pool;
pub(crate) mod route;
