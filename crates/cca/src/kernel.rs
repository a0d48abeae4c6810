//! The means that a pass works with.

use crate::registers::Domain;
use crate::search::Found;
use engine::Engine;
use wire::control::TokenForms;

/// What kernel work may use: the engine, the master keys of every domain, and which forms of internal tokens are made
/// and taken.
pub(crate) struct Kernel<'k> {
    pub(crate) engine: &'k Engine,
    pub(crate) domains: &'k mut [Domain],
    pub(crate) tokens: TokenForms,
    /// A key that was searched for before the batch ran.
    pub(crate) found: &'k mut Option<Found>,
}
