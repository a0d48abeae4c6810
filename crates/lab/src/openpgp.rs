//! OpenPGP files, measured as people use them: whole programs on whole files, beside other programs.
//!
//! - [`input`]: the text, made from a seed; [`desk`]: where it lies, keys, tools and how each is told what to do.
//! - [`process`]: running programs, with what the kernel books for them; [`file`]: what the lab itself does with files
//!   as such a program, rPGP among it.
//! - [`memory`]: the steps of a message from memory to memory; [`bound`]: what they say of a row.
//! - [`promised`]: the promised measures, with [`cases`] and [`many`].
//! - [`tables`]: the published tables of the Encryption Facility, for the report.

pub mod bound;
pub mod cases;
pub mod desk;
pub mod file;
pub mod input;
pub mod many;
pub mod memory;
pub mod process;
pub mod promised;
pub mod tables;

use crate::load::LabError;

/// Does the work that this process was started for; none if it was started for no such work.
pub fn serve_if_asked() -> Option<Result<(), LabError>> {
    process::serve_if_asked().or_else(file::serve_if_asked)
}
