//! What the library does itself, without a verb of the table.

use crate::lists;
use crate::resources::{self, Change};
use std::ffi::c_void;
use wire::Codes;
use wire::control::Store;

/// What a function does that has no row in the verb table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own {
    /// A card or a domain is taken.
    Allocate,
    /// A card or a domain is given up.
    Deallocate,
    /// Records of DES keys are listed into a file.
    ListDes,
    /// Records of AES keys are.
    ListAes,
    /// Records of PKA keys are.
    ListPka,
}

impl Own {
    /// How many pointers it takes.
    pub(crate) const fn pointers(self) -> usize {
        match self {
            Self::Allocate | Self::Deallocate | Self::ListDes => 4,
            Self::ListAes | Self::ListPka => 6,
        }
    }

    /// Does it.
    ///
    /// # Errors
    /// As [`resources::run`] and [`lists::run`].
    ///
    /// # Safety
    /// There are as many pointers as it takes, each null or as those functions say.
    pub(crate) unsafe fn run(self, pointers: &[*mut c_void]) -> Result<Codes, Codes> {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Self::Allocate => resources::run(Change::Allocate, pointers),
                Self::Deallocate => resources::run(Change::Deallocate, pointers),
                Self::ListDes => lists::run(Store::Des, pointers),
                Self::ListAes => lists::run(Store::Aes, pointers),
                Self::ListPka => lists::run(Store::Pka, pointers),
            }
        }
    }
}
