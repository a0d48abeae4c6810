//! What must hold outside the tables before policies change: routes that keep traffic in, and a journal that the next
//! process reads.
//!
//! ```text
//! request ──► read and checked ──► Keeper::keep ──► tables change ──► acknowledged
//!                                       └─ refuses ──► tables stay ──► refused, with its error and text
//! ```

use crate::refusal::Refusal;
use ipsec::{Policy, PolicyDirection};

/// A change of policies that is about to be made.
#[derive(Clone, Copy, Debug)]
pub enum Change<'c> {
    /// A policy is added, or takes the place of another.
    Put {
        /// Of which direction both are.
        direction: PolicyDirection,
        /// The one with the same selector, where there is one.
        before: Option<&'c Policy>,
        /// As it will be.
        after: &'c Policy,
    },
    /// A policy is removed.
    Remove {
        /// Its direction.
        direction: PolicyDirection,
        /// As it is.
        policy: &'c Policy,
    },
    /// All policies are removed.
    Clear,
}

/// Why a change is not made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unkept {
    /// As programs read it from errno.
    pub errno: i32,
    /// What failed, on what, and why: the text of the extended acknowledgement.
    pub text: String,
}

impl From<Unkept> for Refusal {
    fn from(unkept: Unkept) -> Refusal {
        Refusal::new(unkept.errno, unkept.text)
    }
}

/// Whoever sees to it that a change of policies holds beyond the tables.
pub trait Keeper {
    /// Has a change hold outside the tables, which are changed once this succeeds. `record` is what
    /// [`crate::Xfrm::restore`] takes behind the records before it, in the process after this one.
    ///
    /// # Errors
    /// [`Unkept`]: then the change is not made, and whoever asked for it is told why. Nothing must be left of it.
    fn keep(&mut self, change: &Change<'_>, record: &[u8]) -> Result<(), Unkept>;
}

/// For tables without a packet path: every change is made.
#[derive(Clone, Copy, Default, Debug)]
pub struct Unkeeping;

impl Keeper for Unkeeping {
    fn keep(&mut self, _: &Change<'_>, _: &[u8]) -> Result<(), Unkept> {
        Ok(())
    }
}
