//! The command line of `cryptand terminal`.

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use std::path::PathBuf;

/// `cryptand terminal`.
#[derive(Subcommand, Debug)]
pub enum Terminal {
    /// Encipher a PIN block, as a terminal does
    ///
    /// The PIN is an argument, or stands in a line: test PINs alone. With AES DUKPT iso-4 goes under an AES key as long
    /// as the base key, and iso-0 and iso-3 under a TDES key of two parts.
    #[command(after_help = EXAMPLES)]
    Pin {
        #[command(flatten)]
        of: OfTerminal,
        /// The PIN, of 4 to 12 digits
        #[arg(long, value_name = "DIGITS")]
        pin: Option<String>,
        /// The PAN, with its check digit
        #[arg(long, value_name = "DIGITS")]
        pan: Option<String>,
        /// The form of the block; iso-0 of TDES DUKPT, iso-4 of AES DUKPT
        #[arg(long)]
        format: Option<TerminalFormat>,
    },
    /// Make a MAC: by X9.19 (retail MAC) of TDES DUKPT, a CMAC of AES DUKPT
    #[command(after_help = EXAMPLES)]
    Mac {
        #[command(flatten)]
        of: OfTerminal,
        #[command(flatten)]
        way: Way,
        /// What the MAC is of, as text
        #[arg(long, conflicts_with = "hex")]
        text: Option<String>,
        /// What the MAC is of, in hexadecimal
        #[arg(long)]
        hex: Option<String>,
        /// Bytes of the MAC
        #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(4..=16))]
        bytes: u8,
    },
    /// Encipher data in CBC, with zeros as the initial chaining value
    ///
    /// Data are whole blocks, of 8 bytes with TDES DUKPT and of 16 with AES DUKPT: nothing is padded.
    #[command(after_help = EXAMPLES)]
    Data {
        #[command(flatten)]
        of: OfTerminal,
        #[command(flatten)]
        way: Way,
        /// The data, in hexadecimal
        #[arg(long)]
        hex: Option<String>,
        /// Decipher them
        #[arg(long)]
        decipher: bool,
    },
}

/// The terminal: its key and its transactions.
#[derive(Args, Clone, Debug)]
pub struct OfTerminal {
    /// File of the base key (BDK), in hexadecimal (- for standard input)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, required_unless_present = "initial")]
    pub base: Option<PathBuf>,
    /// File of the terminal's initial key, in hexadecimal (- for standard input)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "base")]
    pub initial: Option<PathBuf>,
    /// The key serial number: 20 hexadecimal digits of TDES DUKPT, or 16, before which FFFF is meant; 24 of AES DUKPT
    #[arg(long)]
    pub ksn: Option<String>,
    /// This many transactions, each with the next serial number, in lines as `pin translate --lines` takes them
    #[arg(long, value_name = "N", conflicts_with = "lines", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub count: Option<u32>,
    /// A transaction for each line of this file (- for standard input): options as `ksn=... pan=... pin=...`, which go
    /// before those of the command line
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub lines: Option<PathBuf>,
}

/// Which of the keys of a transaction.
#[derive(Args, Clone, Copy, Debug)]
pub struct Way {
    /// The key of what the host answers
    #[arg(long)]
    pub response: bool,
    /// Of AES DUKPT: the key of both directions, as `dukpt derive` has it by itself
    #[arg(long, conflicts_with = "response")]
    pub both: bool,
}

/// Form of a PIN block that terminals make.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalFormat {
    /// 8 bytes, with the PAN
    #[value(name = "iso-0")]
    Iso0,
    /// 8 bytes, with the PAN and a random filling
    #[value(name = "iso-3")]
    Iso3,
    /// 16 bytes, under AES
    #[value(name = "iso-4")]
    Iso4,
}

const EXAMPLES: &str = "\
Examples:
  echo 0123456789ABCDEFFEDCBA9876543210 > bdk
  cryptand terminal pin --base bdk --ksn FFFF9876543210E00001 --pan 4012345678909 --pin 1234
  cryptand terminal pin --base bdk --ksn FFFF9876543210E00001 --pan 4012345678909 --pin 1234 --count 1000 > blocks.txt
  cryptand terminal mac --base bdk --ksn FFFF9876543210E00001 --text 'pay 10 to Bob'
  cryptand terminal data --base bdk --ksn FFFF9876543210E00001 --hex 00112233445566778899AABBCCDDEEFF";
