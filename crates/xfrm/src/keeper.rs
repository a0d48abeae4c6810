//! Steps outside the tables before policies change: routes that keep traffic in, and a journal that the next process
//! reads.
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
        /// Direction of both policies.
        direction: PolicyDirection,
        /// The policy with the same selector, if there is one.
        before: Option<&'c Policy>,
        /// The policy as it will be.
        after: &'c Policy,
    },
    /// A policy is removed.
    Remove {
        /// Direction of the policy.
        direction: PolicyDirection,
        /// The policy that is removed.
        policy: &'c Policy,
    },
    /// All policies are removed.
    Clear,
}

/// Why a change is not made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unkept {
    /// The error number, as programs read it from errno.
    pub errno: i32,
    /// Text of the extended acknowledgement: the operation that failed, its object and the reason.
    pub text: String,
}

impl From<Unkept> for Refusal {
    fn from(unkept: Unkept) -> Refusal {
        Refusal::new(unkept.errno, unkept.text)
    }
}

/// Makes changes of policies hold outside the tables.
pub trait Keeper {
    /// Makes a change hold outside the tables, which are changed once this succeeds. `record` is for the journal: in
    /// the next process [`crate::Xfrm::restore`] takes it behind the records before it.
    ///
    /// # Errors
    /// [`Unkept`]: then the change is not made, and the client that asked for it is told why. Nothing may be left of
    /// the change.
    fn keep(&mut self, change: &Change<'_>, record: &[u8]) -> Result<(), Unkept>;
}

/// The keeper of tables without a packet path: every change is made.
#[derive(Clone, Copy, Default, Debug)]
pub struct Unkeeping;

impl Keeper for Unkeeping {
    fn keep(&mut self, _: &Change<'_>, _: &[u8]) -> Result<(), Unkept> {
        Ok(())
    }
}
