//! The command line of `cryptand pin`.

use super::Json;
use clap::Subcommand;
use wire::pin::DecimalisationTable;

const EXAMPLES: &str = "\
Examples:
  cryptand pin table list
  cryptand pin table add 9876543210123456
  cryptand pin table remove 9876543210123456

A table says which decimal digit stands for each hexadecimal one. PIN verbs take those that are stored, from every role:
with a table of his own choice somebody who may verify PINs finds one in two dozen tries.";

/// `cryptand pin`.
#[derive(Subcommand, Debug)]
pub enum Pin {
    /// Show, add and remove the decimalisation tables that PIN verbs take
    #[command(subcommand)]
    Table(PinTable),
}

/// `cryptand pin table`.
#[derive(Subcommand, Debug)]
#[command(after_help = EXAMPLES)]
pub enum PinTable {
    /// Show the stored tables
    List(Json),
    /// Store a table
    ///
    /// It has at least 8 different digits, and none more than four times. All cards take it, also after a restart.
    #[command(after_help = EXAMPLES)]
    Add {
        /// 16 decimal digits, for the hexadecimal ones from 0 to F
        table: DecimalisationTable,
    },
    /// Take a stored table away
    Remove {
        /// 16 decimal digits
        table: DecimalisationTable,
    },
}
