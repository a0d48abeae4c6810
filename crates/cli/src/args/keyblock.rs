//! `cryptand keyblock`.

use super::PairEnd;
use crate::kind::{self, TypedKind};
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use std::path::PathBuf;

/// `cryptand keyblock`.
#[derive(Subcommand, Debug)]
pub enum Keyblock {
    /// Record the key of a key block under a label
    ///
    /// The protection key is an IMPORTER key: of DES for blocks of version B, of AES for those of D, best with
    /// IMPTT31D,VARDRV-D, which opens blocks and nothing else. What the key is for, the block says; --as says which of
    /// two keys is meant where the block does not, and DKYL1 that an EMV key derives those of cards. In a file, a
    /// header that means no key here ends it with exit code 2; what is no block, with 5; a block that is wrong, with 3.
    #[command(after_help = IMPORT_EXAMPLES)]
    Import {
        #[command(flatten)]
        block: GivenBlock,
        /// The label for the key
        #[arg(long)]
        label: String,
        /// The label of the protection key
        #[arg(long, value_name = "LABEL")]
        under: String,
        /// A keyword of TR31_Key_Import, such as EXPORTER or PINVER; may be repeated
        #[arg(long = "as", value_name = "KEYWORD")]
        keywords: Vec<String>,
        /// A kind of payments (zpk, tdes3-zpk, zmk, kbpk, tmk, cvk, pvk; see `key generate`): of a pair both keys,
        /// LABEL.OUT and LABEL.IN or LABEL.GEN and LABEL.VER, or the one that the block's mode allows
        #[arg(
            long = "type",
            value_name = "TYPE",
            value_parser = kind::TypedParser,
            hide_possible_values = true,
            conflicts_with = "keywords"
        )]
        kind: Option<TypedKind>,
        /// Of a pair: this key alone
        #[arg(long, value_name = "END", requires = "kind")]
        only: Option<PairEnd>,
        /// Domain whose master key wraps it
        #[arg(long, default_value_t = 0)]
        domain: u16,
    },
    /// Write the key of a label as a key block
    ///
    /// The protection key is an EXPORTER key: of DES for version B, of AES for D, best with EXPTT31D,VARDRV-D, which
    /// protects blocks and nothing else. A key leaves under a usage and a mode only if it cannot come back with more
    /// uses. The block goes to standard output, or to a file.
    #[command(after_help = EXPORT_EXAMPLES)]
    Export {
        /// The label of the key
        #[arg(long)]
        label: String,
        /// The label of the protection key
        #[arg(long, value_name = "LABEL")]
        under: String,
        /// Version of the block
        #[arg(long, value_name = "VERSION")]
        version: BlockVersion,
        /// What the key is for, as X9.143 has it: P0, D0, M3 and others; cv for the control vector alone
        #[arg(long)]
        usage: String,
        /// What the receiver may do with it, as X9.143 has it: B, C, D, E, G, V, X
        #[arg(long)]
        mode: Option<String>,
        /// Whether it may leave again: in ways of the standard (e), no (n), in others too (s)
        #[arg(long, value_name = "HOW", default_value = "e")]
        exportability: BlockExport,
        /// Put the control vector of a DES key beside usage and mode: with it an EMV key of DKYL1 comes back as that
        #[arg(long)]
        vector: bool,
        /// Make a block of version A, B or C no longer than its key needs, which tells how long the key is
        #[arg(long)]
        unpadded: bool,
        /// Into this file, which must not exist
        #[arg(long = "output", alias = "out", value_name = "FILE", value_hint = ValueHint::FilePath)]
        out: Option<PathBuf>,
        /// Record the block under this label, which must be new; a block has no use but to be imported, shown, and read
        /// by `key show --raw`
        #[arg(long, value_name = "LABEL", conflicts_with = "out")]
        record: Option<String>,
        /// Domain whose master key wraps it
        #[arg(long, default_value_t = 0)]
        domain: u16,
    },
    /// Print what the header of a key block says, without a card
    ///
    /// One under a label is read from its record, without a use of it. Nothing tells whether a block is what its maker
    /// made of it: its MAC is looked at where it is imported. What is no block ends it with exit code 5 and the place.
    Show {
        #[command(flatten)]
        block: GivenBlock,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// A block that is in a file, or recorded.
#[derive(Args, Clone, Debug)]
pub struct GivenBlock {
    /// File that holds the block as text (- for standard input)
    #[arg(value_hint = ValueHint::FilePath, required_unless_present = "recorded")]
    pub block: Option<PathBuf>,
    /// The label that the block is recorded under (`cryptand key write --store aes` records one)
    #[arg(long, value_name = "LABEL", conflicts_with = "block")]
    pub recorded: Option<String>,
}

/// Version of a block.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockVersion {
    /// TDES, by variants; in no role that does not name it
    A,
    /// TDES, by derived keys
    B,
    /// TDES, by variants; in no role that does not name it
    C,
    /// AES, by derived keys
    D,
}

/// Whether a key may leave again.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockExport {
    /// In ways of the standard
    E,
    /// No
    N,
    /// In others too
    S,
}

const IMPORT_EXAMPLES: &str = "\
Examples:
  cryptand keyblock import partner.tr31 --label PAY.ZPK.IN --under PAY.KBPK.IN
  cryptand keyblock import partner.tr31 --label PAY.ZPK --under PAY.KBPK.IN --type zpk
  cryptand keyblock import - --label PAY.KEK --under PAY.KBPK.IN --as EXPORTER <partner.tr31
  cryptand keyblock import imk.tr31 --label EMV.AC --under PAY.KBPK.IN --as DKYL1
  cryptand keyblock import --recorded PARTNER.BLOCK1 --label PAY.ZPK.IN --under PAY.KBPK.IN
";

const EXPORT_EXAMPLES: &str = "\
Examples:
  cryptand keyblock export --label PAY.ZPK.OUT --under PAY.KBPK.OUT --version d --usage P0 --mode E
  cryptand keyblock export --label EMV.AC --under PAY.KBPK.OUT --version d --usage E0 --mode X --vector
  cryptand keyblock export --label PAY.MAC.KEY1 --under PAY.KBPK.OUT --version b --usage M3 --mode C --exportability n --output mac.tr31
";
