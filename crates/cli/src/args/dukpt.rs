//! The command line of `cryptand dukpt`.

use clap::{Subcommand, ValueEnum};

/// `cryptand dukpt`.
#[derive(Subcommand, Debug)]
pub enum Dukpt {
    /// Show the parts of a key serial number, and which come next, without a card
    ///
    /// Of TDES DUKPT (ANSI X9.24-1) it has 20 hexadecimal digits: key set, device, and a counter of 21 bits, of which at most ten
    /// are set. Of AES DUKPT (X9.24-3) it has 24: base key, device, and a counter of 32 bits, of which at most 16 are set. A
    /// counter that no terminal gets to ends it with exit code 2.
    #[command(after_help = EXAMPLES)]
    Show {
        /// The key serial number: 20 or 24 hexadecimal digits
        ksn: String,
        /// How many of the next ones are shown
        #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=1000))]
        next: u32,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Generate a base derivation key (BDK), and record it under a label
    ///
    /// Of TDES it is a KEYGENKY key with UKPT, of AES a DKYGENKY key with A-DUKPT, which derives PIN keys. One that a partner has
    /// comes by `cryptand keyblock import` (usage B0), or in parts by `cryptand key part` with the type and the usage above.
    #[command(after_help = EXAMPLES)]
    Base {
        /// The label, such as POS.BASE
        label: String,
        /// By which algorithm terminals derive
        #[arg(long, value_enum, default_value = "aes128")]
        kind: BaseKind,
        /// Domain whose master key wraps it
        #[arg(long, default_value_t = 0)]
        domain: u16,
    },
}

/// Algorithm and length of a base key.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseKind {
    /// TDES of two parts
    Tdes,
    /// AES-128
    Aes128,
    /// AES-192
    Aes192,
    /// AES-256
    Aes256,
}

const EXAMPLES: &str = "\
Examples:
  cryptand dukpt base POS.BASE --kind tdes
  cryptand dukpt show FFFF9876543210E00001
  cryptand dukpt show 123456789012345600000001 --next 10 --json

PINs of terminals are translated and verified by `cryptand pin translate` and `cryptand pin verify`, with the base key's label and
--ksn.
";
