//! `cryptand token`.

use clap::{Subcommand, ValueHint};
use std::path::PathBuf;

/// `cryptand token`.
#[derive(Subcommand, Debug)]
pub enum Token {
    /// Print what a key token says: kind, type, uses, ways out, what it is wrapped under
    ///
    /// DES, AES and HMAC tokens of fixed and variable length, RSA tokens, those of elliptic curves, NULL tokens, and
    /// the headers of TR-31 key blocks; as bytes, in hexadecimal or in base64. Neither a card nor a home is asked. Of a
    /// clear key it is said that it is clear, and not what it is. What is no token, or is damaged, ends it with exit
    /// code 2 and the place; what could be read is printed before. `cryptand key show LABEL` prints the same of a
    /// record.
    #[command(after_help = EXAMPLES)]
    Show {
        /// File that holds the token (- for standard input)
        #[arg(value_hint = ValueHint::FilePath)]
        token: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

const EXAMPLES: &str = "\
Examples:
  cryptand token show key.tok
  echo 01000000... | cryptand token show -
  cryptand verb key-token-build ... --output key_token=key.tok
";
