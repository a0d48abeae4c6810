//! The command line of `cryptand fpe`.

use super::payment::{LINES_HELP, Many};
use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};

/// `cryptand fpe`.
#[derive(Subcommand, Debug)]
pub enum Fpe {
    /// Encipher a text into one of as many characters of the same alphabet (FF1)
    #[command(after_help = examples())]
    Encipher(Box<Typed>),
    /// Decipher such a text
    ///
    /// A text of the format comes out whatever the key and the tweak are.
    #[command(after_help = examples())]
    Decipher(Box<Typed>),
}

/// `cryptand fpe encipher` and `decipher`.
#[derive(Args, Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Typed {
    /// Label of the key: AES CIPHER with FF1
    #[arg(long, value_name = "LABEL")]
    pub key: Option<String>,
    /// The text: decimal digits, or characters of --alphabet
    #[arg(long)]
    pub text: Option<String>,
    /// The tweak: decimal digits; with --alphabet any characters, or those of --tweak-alphabet. It keeps equal texts of
    /// different records apart
    #[arg(long)]
    pub tweak: Option<String>,
    /// Characters of texts, of which the first one stands for zero
    #[arg(long, value_name = "CHARACTERS")]
    pub alphabet: Option<String>,
    /// Characters of tweaks
    #[arg(long, value_name = "CHARACTERS", requires = "alphabet")]
    pub tweak_alphabet: Option<String>,
    /// Many at once
    #[command(flatten)]
    #[serde(skip)]
    pub many: Many,
}

fn examples() -> String {
    format!(
        "\
Examples:
  cryptand key generate PAN.STORE --type aes256-cipher --usage FF1
  cryptand fpe encipher --key PAN.STORE --text 4123456789012345 --tweak 0042
  cryptand fpe encipher --key PAN.STORE --lines pans.txt >stored.txt
  cryptand fpe decipher --key PAN.STORE --alphabet 0123456789ABCDEF --text 0A1B2C3D

{LINES_HELP}"
    )
}
