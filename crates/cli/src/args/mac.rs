//! The command line of `cryptand mac`.

use super::payment::{LINES_HELP, Many, by_name, number};
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// `cryptand mac`.
#[derive(Subcommand, Debug)]
pub enum Mac {
    /// Make the MAC of a text
    #[command(after_help = generate_examples())]
    Generate(Box<Generate>),
    /// Verify the MAC of a text
    ///
    /// Exit code 4: it does not verify.
    #[command(after_help = verify_examples())]
    Verify(Box<Verify>),
}

/// A text, the key of its MAC, and how the MAC is computed.
#[derive(Args, Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Text {
    /// Label of the key: MAC, to verify also MACVER; AES MAC; HMAC
    #[arg(long, value_name = "LABEL")]
    pub key: Option<String>,
    /// How it is computed
    #[arg(long, value_enum, value_name = "METHOD")]
    #[serde(with = "by_name")]
    pub method: Option<MacName>,
    /// File with the text, as bytes of any number (- for standard input)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["hex", "lines"])]
    #[serde(skip)]
    pub data: Option<PathBuf>,
    /// The text in hexadecimal
    #[arg(long, value_name = "HEX")]
    pub hex: Option<String>,
}

/// `cryptand mac generate`.
#[derive(Args, Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Generate {
    /// The text
    #[command(flatten)]
    #[serde(flatten)]
    pub text: Text,
    /// Bytes of the MAC: 4, 6 or 8 of DES, 8 to 16 of aes-cmac, 8 to those of the hash of HMAC (the most unless given)
    #[arg(long, value_name = "BYTES")]
    #[serde(deserialize_with = "number")]
    pub length: Option<u8>,
    /// Many at once
    #[command(flatten)]
    #[serde(skip)]
    pub many: Many,
}

/// `cryptand mac verify`.
#[derive(Args, Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Verify {
    /// The text
    #[command(flatten)]
    #[serde(flatten)]
    pub text: Text,
    /// The MAC
    #[arg(long, value_name = "HEX")]
    pub mac: Option<String>,
    /// Many at once
    #[command(flatten)]
    #[serde(skip)]
    pub many: Many,
}

/// How a MAC is computed.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacName {
    /// ANSI X9.9, with DES: ISO 9797-1 algorithm 1
    #[value(name = "x9.9")]
    X99,
    /// ANSI X9.19, the retail MAC: ISO 9797-1 algorithm 3
    #[value(name = "x9.19")]
    X919,
    /// ISO 9797-1 algorithm 1 with TDES
    TdesMac,
    /// As x9.9, padded with X'80' as EMV has it
    Emv,
    /// As x9.19, padded with X'80' as EMV has it
    EmvDouble,
    /// CMAC with TDES (SP 800-38B)
    TdesCmac,
    /// CMAC with AES (SP 800-38B)
    AesCmac,
    /// HMAC with SHA-1
    HmacSha1,
    /// HMAC with SHA-224
    HmacSha224,
    /// HMAC with SHA-256
    HmacSha256,
    /// HMAC with SHA-384
    HmacSha384,
    /// HMAC with SHA-512
    HmacSha512,
}

fn generate_examples() -> String {
    format!(
        "\
Examples:
  cryptand key generate PAY.MAC --type aes256-mac
  cryptand mac generate --key PAY.MAC --method aes-cmac --data message.bin
  cryptand mac generate --key POS.MAC --method x9.19 --hex 0123456789ABCDEF --length 4
  cryptand mac generate --key PAY.MAC --method aes-cmac --lines texts.txt >macs.txt

x9.9, x9.19 and tdes-mac fill the last block up with zeros.
{LINES_HELP}"
    )
}

fn verify_examples() -> String {
    format!(
        "\
Examples:
  cryptand mac verify --key PAY.MAC --method aes-cmac --data message.bin \\
      --mac 070A16B46B4D4144F79BDD9DD04A287C
  cryptand mac verify --key PAY.MAC --method aes-cmac --lines macs.json --json

{LINES_HELP}"
    )
}
