//! The command line of `cryptand pin`.

use super::Json;
use clap::Subcommand;
use wire::pin::{DecimalisationTable, Digest};

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
    /// Show and clear the wrong PINs that are counted
    #[command(subcommand)]
    Failures(PinFailures),
}

const FAILURE_EXAMPLES: &str = "\
Examples:
  cryptand pin failures list                       those that are refused
  cryptand pin failures list --all --json
  cryptand pin failures clear 5f0c6a1be2d94c8f7a3be1905d24c617
  cryptand pin failures clear --all

After ten wrong PINs of one card within a day its verifications are refused (8/90), after many of one key within an hour those
of the key ([pin] in settings.toml), until the time is over or somebody clears them. What is listed are keyed hashes: neither a
key nor a PAN can be told from them.";

/// `cryptand pin failures`.
#[derive(Subcommand, Debug)]
#[command(after_help = FAILURE_EXAMPLES)]
pub enum PinFailures {
    /// Show what verifications are refused, and until when
    #[command(after_help = FAILURE_EXAMPLES)]
    List {
        /// Show also where wrong PINs are counted and nothing is refused yet
        #[arg(long)]
        all: bool,
        /// How it is printed
        #[command(flatten)]
        output: Json,
    },
    /// Forget wrong PINs: verifications are not refused any more
    #[command(after_help = FAILURE_EXAMPLES)]
    Clear {
        /// What `list` shows in its first column
        #[arg(required_unless_present = "all", conflicts_with = "all", value_name = "ID")]
        digests: Vec<Digest>,
        /// Everything
        #[arg(long)]
        all: bool,
    },
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
