//! The commands of `cryptand pin` that call PIN verbs.

use super::blocks::{Block, Change, Clear, Given, NewBlock, Reference, Target, Transaction};
use crate::args::payment::{Many, by_name, flag, number};
use clap::{Args, ValueEnum, ValueHint};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// `cryptand pin translate`.
#[derive(Args, Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Translate {
    /// Label of the key that the block is under: IPINENC; with --ksn the base key (KEYGENKY, or DKYGENKY of AES); for
    /// iso-4 PINPROT
    #[arg(long, value_name = "LABEL")]
    pub from: Option<String>,
    /// The block
    #[command(flatten)]
    #[serde(flatten)]
    pub given: Given,
    /// How its key is derived
    #[command(flatten)]
    #[serde(flatten)]
    pub transaction: Transaction,
    /// What it becomes
    #[command(flatten)]
    #[serde(flatten)]
    pub target: Target,
    /// Whether the PAN changes
    #[command(flatten)]
    #[serde(flatten)]
    pub change: Change,
    /// Many at once
    #[command(flatten)]
    #[serde(skip)]
    pub many: Many,
}

/// How PINs are computed.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// IBM 3624, with an offset where --offset is given
    #[value(name = "ibm-3624")]
    Ibm,
    /// German banking pool, with an offset where --offset is given
    #[value(name = "gbp")]
    Gbp,
    /// VISA PVV
    #[value(name = "visa-pvv")]
    VisaPvv,
    /// VISA PVV of PINs of four digits alone
    #[value(name = "visa-pvv4")]
    VisaPvv4,
    /// Interbank
    #[value(name = "interbank")]
    Interbank,
}

/// A PIN key, and what a method computes with.
#[derive(Args, Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Rule {
    /// Label of the PIN key (PVK): PINVER, or PINGEN, which alone makes something
    #[arg(long, value_name = "LABEL")]
    pub pin_key: Option<String>,
    /// How PINs are computed (visa-pvv where there is a PVV, otherwise ibm-3624)
    #[arg(long, value_enum)]
    #[serde(with = "by_name")]
    pub method: Option<Method>,
    /// Validation data: 16 hexadecimal digits; of interbank 3 decimal ones
    #[arg(long, value_name = "HEX")]
    pub validation_data: Option<String>,
    /// Offset of ibm-3624 and gbp
    #[arg(long, value_name = "DIGITS")]
    pub offset: Option<String>,
    /// PVV: four digits
    #[arg(long, value_name = "DIGITS")]
    pub pvv: Option<String>,
    /// Key index (PVKI) of visa-pvv and interbank (1 unless given)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=9))]
    #[serde(deserialize_with = "number")]
    pub key_index: Option<u8>,
    /// Decimalisation table: one that the home stores (0123456789012345 unless given)
    #[arg(long, value_name = "DIGITS")]
    pub table: Option<String>,
    /// How many digits of the PIN are checked (4 unless given)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=16))]
    #[serde(deserialize_with = "number")]
    pub check_length: Option<u8>,
}

/// `cryptand pin verify`.
#[derive(Args, Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Verify {
    /// The block
    #[command(flatten)]
    #[serde(flatten)]
    pub block: Block,
    /// How its key is derived
    #[command(flatten)]
    #[serde(flatten)]
    pub transaction: Transaction,
    /// How the PIN is computed
    #[command(flatten)]
    #[serde(flatten)]
    pub rule: Rule,
    /// What it is compared with instead
    #[command(flatten)]
    #[serde(flatten)]
    pub reference: Reference,
    /// Many at once
    #[command(flatten)]
    #[serde(skip)]
    pub many: Many,
}

/// `cryptand pin generate`.
#[derive(Args, Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Generate {
    /// How the PIN is computed
    #[command(flatten)]
    #[serde(flatten)]
    pub rule: Rule,
    /// The block that it is put into
    #[command(flatten)]
    #[serde(flatten)]
    pub block: NewBlock,
    /// Digits of the PIN (4 unless given)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(4..=16))]
    #[serde(deserialize_with = "number")]
    pub length: Option<u8>,
    /// Write the clear PIN to this file, which must not be there (- for standard output), in place of a block
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "block_key")]
    #[serde(skip)]
    pub pin_file: Option<PathBuf>,
    /// Whether a clear PIN is asked for.
    #[arg(skip)]
    #[serde(rename = "pin-file", deserialize_with = "flag")]
    pub is_clear: bool,
    /// Many at once
    #[command(flatten)]
    #[serde(skip)]
    pub many: Many,
}

/// `cryptand pin offset`, `cryptand pin pvv`.
#[derive(Args, Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Alternate {
    /// The block that the PIN is in
    #[command(flatten)]
    #[serde(flatten)]
    pub block: Block,
    /// The PIN itself, in place of a block
    #[command(flatten)]
    #[serde(skip)]
    pub clear: Clear,
    /// How the PIN is computed
    #[command(flatten)]
    #[serde(flatten)]
    pub rule: Rule,
    /// Many at once
    #[command(flatten)]
    #[serde(skip)]
    pub many: Many,
}

/// `cryptand pin encrypt`.
#[derive(Args, Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Encrypt {
    /// The block
    #[command(flatten)]
    #[serde(flatten)]
    pub block: NewBlock,
    /// The PIN
    #[command(flatten)]
    #[serde(skip)]
    pub clear: Clear,
    /// A random PIN of four digits, which nobody sees
    #[arg(long, conflicts_with = "pin_file")]
    #[serde(deserialize_with = "flag")]
    pub random: bool,
    /// Many at once
    #[command(flatten)]
    #[serde(skip)]
    pub many: Many,
}
