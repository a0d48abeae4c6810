//! The command line of `cryptand pin`.

mod blocks;
mod verbs;

pub use blocks::{ChangeOf, Clear, Given, Numbered, Reference};
pub use verbs::{Alternate, Encrypt, Generate, Method, Rule, Translate, Verify};

use super::Json;
use super::payment::LINES_HELP;
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
    /// Put PIN blocks under another key, or into another format
    ///
    /// With --to-format the PIN is taken out of its block, which has to be right, and put into the new one; without it
    /// the block goes under the other key as it is. Keys are labels. By DUKPT --from or --to is the base key, and --ksn
    /// or --to-ksn says of which transaction.
    #[command(after_help = translate_examples())]
    Translate(Box<Translate>),
    /// Verify the PINs in blocks
    ///
    /// By an offset, a PVV or validation data under a PIN key, or with the PIN of another block (--reference; of the
    /// roles that come with a home the owner's alone has it), whole or by its last digits. Exit code 4: it does not
    /// verify. Wrong PINs are counted for all cards of the home (`cryptand pin failures`).
    #[command(after_help = verify_examples())]
    Verify(Box<Verify>),
    /// Make PINs by a method: into blocks, or clear into a file
    ///
    /// With --offset the block has the PIN that the offset leads to. A clear PIN goes to --pin-file alone.
    #[command(after_help = generate_examples())]
    Generate(Box<Generate>),
    /// Make the offset of a PIN that is in a block, or in a file
    #[command(after_help = offset_examples())]
    Offset(Box<Alternate>),
    /// Make the PVV of a PIN that is in a block, or in a file
    #[command(after_help = pvv_examples())]
    Pvv(Box<Alternate>),
    /// Put a clear or a random PIN into a block; in no role that does not name it
    ///
    /// Whoever may do it has a list of the blocks of all PINs: the point is clear-pin-encrypt. Otherwise PINs come in
    /// blocks of terminals, or by `generate`.
    #[command(after_help = encrypt_examples())]
    Encrypt(Box<Encrypt>),
    /// Show, add and remove the decimalisation tables that PIN verbs take
    #[command(subcommand)]
    Table(PinTable),
    /// Show and clear the wrong PINs that are counted
    #[command(subcommand)]
    Failures(PinFailures),
}

fn translate_examples() -> String {
    format!(
        "\
Examples:
  cryptand pin translate --from POS.ZONE --to HOST.ZONE --block 1B9C1845EB993A7A
  cryptand pin translate --from POS.ZONE --to HOST.ZONE --block 1B9C1845EB993A7A \\
      --pan 4012345678909 --to-format iso-3
  cryptand pin translate --from POS.BASE --ksn FFFF9876543210E00001 --to HOST.ZONE \\
      --block 1B9C1845EB993A7A --pan 4012345678909
  cryptand pin translate --from CARD.IN --to CARD.OUT --format iso-4 --block A912150391AB65A67E52883D81CE2D15 \\
      --pan 4111111111111111 --to-pan 4012345678901234 --change-key CARD.CHANGE --change-of digits \\
      --change-mac 8C1F0E6A3D5B27C8F4A1908E7D6C5B4A
  cryptand pin translate --from POS.BASE --to HOST.ZONE --lines blocks.txt >answers.txt

{LINES_HELP}"
    )
}

fn verify_examples() -> String {
    format!(
        "\
Examples:
  cryptand pin verify --block 1B9C1845EB993A7A --block-key HOST.IN --pan 4012345678909 \\
      --pin-key ISSUER.PVK --pvv 4021
  cryptand pin verify --block 1B9C1845EB993A7A --block-key POS.BASE --ksn FFFF9876543210E00001 \\
      --pan 4012345678909 --pin-key ISSUER.PINVER --validation-data 4012345678909000 --offset 1019
  cryptand pin verify --block 1B9C1845EB993A7A --block-key HOST.IN --pan 4012345678909 \\
      --reference 8F1A5C4B3E2D7190 --reference-key CARD.IN --reference-digits 4
  cryptand pin verify --block-key HOST.IN --pin-key ISSUER.PVK --lines pins.json --json

{LINES_HELP}"
    )
}

fn generate_examples() -> String {
    format!(
        "\
Examples:
  cryptand pin generate --pin-key ISSUER.PINGEN --validation-data 4012345678909000 \\
      --block-key PRINT.ZONE --pan 4012345678909
  cryptand pin generate --pin-key ISSUER.PINGEN --validation-data 4012345678909000 --pin-file pin.txt
  cryptand pin generate --pin-key ISSUER.PINGEN --validation-data 4012345678909000 --offset 1019 \\
      --block-key PRINT.ZONE --pan 4012345678909

{LINES_HELP}
With --pin-file - each answer is a clear PIN."
    )
}

fn offset_examples() -> String {
    format!(
        "\
Examples:
  cryptand pin offset --block 1B9C1845EB993A7A --block-key HOST.IN --pan 4012345678909 \\
      --pin-key ISSUER.PINGEN --validation-data 4012345678909000
  cryptand pin offset --pin-file - --pin-key ISSUER.PINGEN --validation-data 4012345678909000

{LINES_HELP}
A line may have a clear PIN (pin=...)."
    )
}

fn pvv_examples() -> String {
    format!(
        "\
Examples:
  cryptand pin pvv --block 1B9C1845EB993A7A --block-key HOST.IN --pan 4012345678909 \\
      --pin-key ISSUER.PINGEN --key-index 1
  cryptand pin pvv --pin-file - --pin-key ISSUER.PINGEN --pan 4012345678909

{LINES_HELP}
A line may have a clear PIN (pin=...)."
    )
}

fn encrypt_examples() -> String {
    format!(
        "\
Examples:
  cryptand pin encrypt --block-key PRINT.ZONE --pan 4012345678909 --random
  cryptand pin encrypt --block-key PRINT.ZONE --pan 4012345678909 --pin-file -

{LINES_HELP}
A line may have a clear PIN (pin=...)."
    )
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
