//! What the commands of `cryptand pin` say of PIN blocks, each once.

use crate::args::payment::{BlockFormat, ClearPin, Extraction, WorkingKey, by_name, number};
use clap::{Args, ValueEnum, ValueHint};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What a block is like.
#[derive(Args, Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Form {
    /// Format of the block (iso-0 unless given)
    #[arg(long, value_enum)]
    #[serde(with = "by_name")]
    pub format: Option<BlockFormat>,
    /// PAN with its check digit: 8 to 19 digits
    #[arg(long)]
    pub pan: Option<String>,
    /// Pad digit of formats that have one
    #[arg(long, value_name = "DIGIT")]
    pub pad: Option<String>,
}

/// A block that comes in.
#[derive(Args, Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Given {
    /// The PIN block: 16 hexadecimal digits, of iso-4 32
    #[arg(long, value_name = "HEX")]
    pub block: Option<String>,
    /// What it is like
    #[command(flatten)]
    #[serde(flatten)]
    pub form: Form,
    /// How the PIN is found in formats that leave it open: pinblock, paddigit, hexdigit, padexist, pinlen04 to pinlen16
    #[arg(long, value_enum, value_name = "KEYWORD", hide_possible_values = true)]
    #[serde(with = "by_name")]
    pub extraction: Option<Extraction>,
}

/// A block whose PIN is verified, or used.
#[derive(Args, Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Block {
    /// The block
    #[command(flatten)]
    #[serde(flatten)]
    pub given: Given,
    /// Label of the key that the block is under: IPINENC; where there is a --ksn the base key (KEYGENKY, or DKYGENKY of
    /// AES)
    #[arg(long, value_name = "LABEL")]
    pub block_key: Option<String>,
}

/// A block that is made.
#[derive(Args, Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct NewBlock {
    /// Label of the OPINENC key that the block comes under
    #[arg(long, value_name = "LABEL")]
    pub block_key: Option<String>,
    /// What it is like
    #[command(flatten)]
    #[serde(flatten)]
    pub form: Form,
    /// Its number
    #[command(flatten)]
    #[serde(flatten)]
    pub numbered: Numbered,
}

/// The number of a block that is made.
#[derive(Args, Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Numbered {
    /// Sequence number of a new block of 3621 and 4704-epp: up to four digits
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=9999))]
    #[serde(deserialize_with = "number")]
    pub sequence: Option<u16>,
}

/// The transaction that the key of a block is derived for.
#[derive(Args, Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Transaction {
    /// Key serial number of the terminal's transaction: 20 hexadecimal digits for TDES DUKPT, 24 for AES DUKPT
    #[arg(long, value_name = "HEX")]
    pub ksn: Option<String>,
    /// With AES DUKPT: what the key of the transaction is (aes128 for iso-4, otherwise tdes2)
    #[arg(long, value_enum, value_name = "KIND")]
    #[serde(with = "by_name")]
    pub working_key: Option<WorkingKey>,
}

/// The block that another becomes.
#[derive(Args, Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Target {
    /// Label of the key that it comes under: OPINENC; with --to-ksn the base key; for iso-4 PINPROT
    #[arg(long, value_name = "LABEL")]
    pub to: Option<String>,
    /// Format of the new block. Without it the block goes under the other key as it is, and its PIN is not looked at
    #[arg(long, value_enum)]
    #[serde(with = "by_name")]
    pub to_format: Option<BlockFormat>,
    /// PAN of the new block, where it is another: roles refuse that, but with --change-mac
    #[arg(long, value_name = "PAN")]
    pub to_pan: Option<String>,
    /// Pad digit of the new block
    #[arg(long, value_name = "DIGIT")]
    pub to_pad: Option<String>,
    /// Key serial number of the new block
    #[arg(long, value_name = "HEX")]
    pub to_ksn: Option<String>,
    /// As --working-key, of the new block
    #[arg(long, value_enum, value_name = "KIND")]
    #[serde(with = "by_name")]
    pub to_working_key: Option<WorkingKey>,
    /// Its number
    #[command(flatten)]
    #[serde(flatten)]
    pub numbered: Numbered,
}

/// What proves that another PAN takes the place of one.
#[derive(Args, Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Change {
    /// Proof that --to-pan takes the place of --pan, both of iso-4: CMAC of 32 hexadecimal digits
    #[arg(long, value_name = "HEX", requires = "change_key")]
    pub change_mac: Option<String>,
    /// Label of the AES MAC key with VERIFY and PTR2AUTH that the proof is under
    #[arg(long, value_name = "LABEL")]
    pub change_key: Option<String>,
    /// What the proof is a CMAC of (fields unless given)
    #[arg(long, value_enum, value_name = "WHAT")]
    #[serde(with = "by_name")]
    pub change_of: Option<ChangeOf>,
}

/// How two PANs lie in what a CMAC is made of, the old one first.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeOf {
    /// The PAN fields of their blocks of iso-4, of 16 bytes each (PANAUTI4)
    Fields,
    /// Their digits as characters; both have equally many (PANAUTAS)
    Digits,
}

/// The block that another is compared with.
#[derive(Args, Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Reference {
    /// Compare with the PIN of this block instead: 16 hexadecimal digits
    #[arg(long, value_name = "HEX", conflicts_with_all = ["pin_key", "method"])]
    pub reference: Option<String>,
    /// Label of the key that the other block is under: IPINENC; with --reference-ksn the base key
    #[arg(long, value_name = "LABEL")]
    pub reference_key: Option<String>,
    /// Format of the other block (that of --format unless given)
    #[arg(long, value_enum, value_name = "FORMAT")]
    #[serde(with = "by_name")]
    pub reference_format: Option<BlockFormat>,
    /// PAN of the other block (that of --pan unless given)
    #[arg(long, value_name = "PAN")]
    pub reference_pan: Option<String>,
    /// Pad digit of the other block (that of --pad unless given)
    #[arg(long, value_name = "DIGIT")]
    pub reference_pad: Option<String>,
    /// How the PIN is found in the other block, where it has a format of its own
    #[arg(long, value_enum, value_name = "KEYWORD", hide_possible_values = true)]
    #[serde(with = "by_name")]
    pub reference_extraction: Option<Extraction>,
    /// Key serial number of the other block
    #[arg(long, value_name = "HEX")]
    pub reference_ksn: Option<String>,
    /// As --working-key, of the other block
    #[arg(long, value_enum, value_name = "KIND")]
    #[serde(with = "by_name")]
    pub reference_working_key: Option<WorkingKey>,
    /// Compare the last digits alone, so many of them, which both PINs have: PINs that end alike
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=16), requires = "reference")]
    #[serde(deserialize_with = "number")]
    pub reference_digits: Option<u8>,
}

/// A clear PIN, by a file or by a line.
#[derive(Args, Debug, Clone, Default)]
pub struct Clear {
    /// Read the clear PIN from this file (- for standard input)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub pin_file: Option<PathBuf>,
    /// The PIN itself.
    #[arg(skip)]
    pub pin: Option<ClearPin>,
}
