//! The commands of `cryptand pin` that call PIN verbs.

use crate::args::payment::{BlockFormat, ClearPin, Extraction, Many, WorkingKey, by_name, number};
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
    /// Label of the key that it comes under: OPINENC; with --to-ksn the base key; for iso-4 PINPROT
    #[arg(long, value_name = "LABEL")]
    pub to: Option<String>,
    /// The PIN block: 16 hexadecimal digits, of iso-4 32
    #[arg(long, value_name = "HEX")]
    pub block: Option<String>,
    /// Its format (iso-0 unless given)
    #[arg(long, value_enum)]
    #[serde(with = "by_name")]
    pub format: Option<BlockFormat>,
    /// Format of the new block. Without it the block goes under the other key as it is, and its PIN is not looked at
    #[arg(long, value_enum)]
    #[serde(with = "by_name")]
    pub to_format: Option<BlockFormat>,
    /// PAN with its check digit: 8 to 19 digits
    #[arg(long)]
    pub pan: Option<String>,
    /// PAN of the new block, where it is another: roles refuse that, but with --change-mac
    #[arg(long, value_name = "PAN")]
    pub to_pan: Option<String>,
    /// Key serial number of the terminal's transaction: 20 hexadecimal digits for TDES DUKPT, 24 for AES DUKPT
    #[arg(long, value_name = "HEX")]
    pub ksn: Option<String>,
    /// The same of the new block
    #[arg(long, value_name = "HEX")]
    pub to_ksn: Option<String>,
    /// With AES DUKPT: what the key of the transaction is (aes128 for iso-4, otherwise tdes2)
    #[arg(long, value_enum, value_name = "KIND")]
    #[serde(with = "by_name")]
    pub working_key: Option<WorkingKey>,
    /// The same of the new block
    #[arg(long, value_enum, value_name = "KIND")]
    #[serde(with = "by_name")]
    pub to_working_key: Option<WorkingKey>,
    /// Pad digit of formats that have one
    #[arg(long, value_name = "DIGIT")]
    pub pad: Option<String>,
    /// Pad digit of the new block
    #[arg(long, value_name = "DIGIT")]
    pub to_pad: Option<String>,
    /// How the PIN is found in formats that leave it open: pinblock, paddigit, hexdigit, padexist, pinlen04 to pinlen16
    #[arg(long, value_enum, value_name = "KEYWORD", hide_possible_values = true)]
    #[serde(with = "by_name")]
    pub extraction: Option<Extraction>,
    /// Sequence number of a new block of 3621 and 4704-epp: up to four digits
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=9999))]
    #[serde(deserialize_with = "number")]
    pub sequence: Option<u16>,
    /// Proof that --to-pan takes the place of --pan, both of iso-4: CMAC of 32 hexadecimal digits, of both PAN fields
    #[arg(long, value_name = "HEX", requires = "change_key")]
    pub change_mac: Option<String>,
    /// Label of the AES MAC key with VERIFY and PTR2AUTH that the proof is under
    #[arg(long, value_name = "LABEL")]
    pub change_key: Option<String>,
    /// Many at once
    #[command(flatten)]
    #[serde(skip)]
    pub many: Many,
}

/// A block whose PIN is verified, or used.
#[derive(Args, Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Block {
    /// The PIN block: 16 hexadecimal digits
    #[arg(long, value_name = "HEX")]
    pub block: Option<String>,
    /// Label of the key that it is under: IPINENC; with --ksn the base key (KEYGENKY, or DKYGENKY of AES)
    #[arg(long, value_name = "LABEL")]
    pub block_key: Option<String>,
    /// Its format (iso-0 unless given)
    #[arg(long, value_enum)]
    #[serde(with = "by_name")]
    pub format: Option<BlockFormat>,
    /// PAN with its check digit: 8 to 19 digits
    #[arg(long)]
    pub pan: Option<String>,
    /// Pad digit of formats that have one
    #[arg(long, value_name = "DIGIT")]
    pub pad: Option<String>,
    /// How the PIN is found in formats that leave it open: pinblock, paddigit, hexdigit, padexist, pinlen04 to pinlen16
    #[arg(long, value_enum, value_name = "KEYWORD", hide_possible_values = true)]
    #[serde(with = "by_name")]
    pub extraction: Option<Extraction>,
}

/// A block that is made.
#[derive(Args, Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct NewBlock {
    /// Label of the OPINENC key that the block comes under
    #[arg(long, value_name = "LABEL")]
    pub block_key: Option<String>,
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
    /// Sequence number of 3621 and 4704-epp: up to four digits
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=9999))]
    #[serde(deserialize_with = "number")]
    pub sequence: Option<u16>,
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
    /// Key serial number of the transaction: 20 hexadecimal digits for TDES DUKPT, 24 for AES DUKPT
    #[arg(long, value_name = "HEX")]
    pub ksn: Option<String>,
    /// How the PIN is computed
    #[command(flatten)]
    #[serde(flatten)]
    pub rule: Rule,
    /// Compare with the PIN of this block instead: 16 hexadecimal digits
    #[arg(long, value_name = "HEX", conflicts_with_all = ["pin_key", "method"])]
    pub reference: Option<String>,
    /// Label of the IPINENC key that the other block is under
    #[arg(long, value_name = "LABEL")]
    pub reference_key: Option<String>,
    /// Format of the other block (that of --format unless given)
    #[arg(long, value_enum, value_name = "FORMAT")]
    #[serde(with = "by_name")]
    pub reference_format: Option<BlockFormat>,
    /// PAN of the other block (that of --pan unless given)
    #[arg(long, value_name = "PAN")]
    pub reference_pan: Option<String>,
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
    #[serde(rename = "pin-file")]
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
    /// Read the clear PIN from this file (- for standard input) in place of a block
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "block")]
    #[serde(skip)]
    pub pin_file: Option<PathBuf>,
    /// The PIN, of the file or of a line.
    #[arg(skip)]
    #[serde(skip)]
    pub pin: Option<ClearPin>,
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
    /// Read the clear PIN from this file (- for standard input)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "random")]
    #[serde(skip)]
    pub pin_file: Option<PathBuf>,
    /// The PIN, of the file or of a line.
    #[arg(skip)]
    #[serde(skip)]
    pub pin: Option<ClearPin>,
    /// A random PIN of four digits, which nobody sees
    #[arg(long)]
    pub random: bool,
    /// Many at once
    #[command(flatten)]
    #[serde(skip)]
    pub many: Many,
}
