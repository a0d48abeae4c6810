//! The arithmetic of payments: what a verb computes before, between and after its ciphers. No cipher is here: functions
//! return blocks to encipher and take the results. Nothing is read from files or written to them.
//!
//! | need | item |
//! | a PIN in the clear | [`Pin`] |
//! | a PIN | [`Pin`] |
//! | PIN blocks of 8 bytes | [`Format`], [`Profile`], [`Layout`], [`block`] |
//! | PIN blocks of 16 bytes, ISO 9564-1 format 4 | [`iso4`] |
//! | PINs and offsets by IBM 3624 and the German banking pool | [`ibm3624`], [`Decimalisation`] |
//! | VISA PVV, Interbank PIN | [`visa`], [`interbank`] |
//! | CVV, CVC | [`cvv`] |
//! | card security codes of American Express | [`security_code`] |
//! | derived unique keys per transaction (ANSI X9.24) | [`dukpt`] |
//! | EMV: keys of cards and sessions, cryptograms, scripts, CVC3 | [`emv`] |
//! | format-preserving encryption | [`ff1`] |
//! | key blocks of TR-31 and X9.143 | [`key_block`] |
//!
//! From the clear PIN block on, everything is computed in constant time: no branch and no address depends on a digit,
//! on the length of a PIN, or on whether a block is valid. A verdict is a [`Mask`], which the caller asks once, at the
//! end.
#![forbid(unsafe_code)]

pub mod block;
pub mod cvv;
mod decimalisation;
mod digits;
pub mod dukpt;
pub mod emv;
pub mod ff1;
mod format;
pub mod ibm3624;
pub mod interbank;
pub mod iso4;
pub mod key_block;
mod mask;
mod pin;
mod profile;
mod scan;
pub mod security_code;
#[cfg(test)]
mod testing;
pub mod visa;

pub use decimalisation::{Decimalisation, TableFault};
pub use digits::{DigitFault, digits, hexadecimal};
pub use format::{Extraction, Format, Layout};
pub use mask::Mask;
pub use pin::Pin;
pub use profile::{Profile, ProfileFault};
