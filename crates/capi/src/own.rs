//! What the library does itself, without a verb of the table.

use crate::lists;
use crate::resources::{self, Change};
use std::ffi::c_void;
use wire::Codes;
use wire::control::Store;

/// What a function does that has no row in the verb table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own {
    /// Allocates a card or a domain.
    Allocate,
    /// Deallocates a card or a domain.
    Deallocate,
    /// Lists records of DES keys into a file.
    ListDes,
    /// Lists records of AES keys into a file.
    ListAes,
    /// Lists records of PKA keys into a file.
    ListPka,
}

impl Own {
    /// How many pointers the function takes, without those of the codes.
    pub(crate) const fn pointers(self) -> usize {
        match self {
            Self::Allocate | Self::Deallocate | Self::ListDes => 4,
            Self::ListAes | Self::ListPka => 6,
        }
    }

    /// Runs the function.
    ///
    /// # Errors
    /// As [`resources::run`] and [`lists::run`].
    ///
    /// # Safety
    /// There are as many pointers as [`Own::pointers`] says, each null or as those functions say.
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
