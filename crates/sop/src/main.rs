//! The program `cryptand-sop`.
#![forbid(unsafe_code)]

use cryptand_sop::Tool;
use sop::cli::Variant;

fn main() {
    sop::cli::main(&mut Tool::program(), Variant::Full)
}
