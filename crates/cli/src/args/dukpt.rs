//! The command line of `cryptand dukpt`.

use super::payment::{LINES_HELP, Many, by_name};
use crate::kind;
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use facility::keys::NamedKind;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::path::PathBuf;

/// `cryptand dukpt`.
#[derive(Subcommand, Debug)]
pub enum Dukpt {
    /// Show the parts of a key serial number, and which come next, without a card
    ///
    /// Of TDES DUKPT (ANSI X9.24-1) it has 20 hexadecimal digits: key set, device, and a counter of 21 bits, of which
    /// at most ten are set. Of AES DUKPT (X9.24-3) it has 24: base key, device, and a counter of 32 bits, of which at
    /// most 16 are set. A counter that no terminal gets to ends it with exit code 2.
    #[command(after_help = EXAMPLES)]
    Show {
        /// The key serial number: 20 or 24 hexadecimal digits, or 16, before which FFFF is meant
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
    /// Of TDES it is a KEYGENKY key with UKPT, of AES a DKYGENKY key with A-DUKPT, which derives PIN keys. One that a
    /// partner has comes by `cryptand keyblock import` (usage B0), or in parts by `cryptand key part` with the type and
    /// the usage above.
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
    /// Derive the initial keys of terminals, each in a TR-31 block that goes into the terminal
    ///
    /// The block says usage B1, mode X, not exportable, and whose the key is (of TDES a block of version B with KS, of
    /// AES one of version D with IK). Whoever has the initial key of a terminal has all of its keys: the point
    /// unique-key-derive-initial is in no role that does not name it.
    #[command(after_help = initial_examples())]
    Initial(Box<Initial>),
    /// Derive keys of transactions, for what a terminal enciphers and signs beside its PINs
    ///
    /// The key is of a transaction alone. Its type says which of the transaction's keys it is: MACs (mac, macver), data
    /// (cipher, encipher, decipher) or PIN blocks (ipinenc, opinenc, pinprot). PIN commands derive their keys by
    /// themselves (--ksn).
    #[command(after_help = derive_examples())]
    Derive(Box<Derive>),
}

/// A terminal, or one of its transactions.
#[derive(Args, Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Of {
    /// Label of the base key (`cryptand dukpt base`): KEYGENKY with UKPT, of AES DKYGENKY with A-DUKPT
    #[arg(long, value_name = "LABEL")]
    pub base: Option<String>,
    /// Key serial number: 20 hexadecimal digits of TDES DUKPT (or 16, before which FFFF is meant), 24 of AES DUKPT; an
    /// initial key does not depend on its counter
    #[arg(long, value_name = "HEX")]
    pub ksn: Option<String>,
}

/// `cryptand dukpt initial`.
#[derive(Args, Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Initial {
    /// The terminal
    #[command(flatten)]
    #[serde(flatten)]
    pub of: Of,
    /// With AES: the kind of the base key, which the initial key has too (aes128 unless given)
    #[arg(long, value_enum)]
    #[serde(with = "by_name")]
    pub kind: Option<BaseKind>,
    /// Label of the key that the block is under: a DES EXPORTER key, with AES one of AES with WR-TR31
    #[arg(long, value_name = "LABEL")]
    pub under: Option<String>,
    /// Write the block to this file, which must not be there
    #[arg(long = "output", alias = "out", value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "lines")]
    #[serde(skip)]
    pub out: Option<PathBuf>,
    /// Many at once
    #[command(flatten)]
    #[serde(skip)]
    pub many: Many,
}

/// `cryptand dukpt derive`.
#[derive(Args, Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Derive {
    /// The transaction
    #[command(flatten)]
    #[serde(flatten)]
    pub of: Of,
    /// Kind of the key, as of `cryptand key generate`: tdes-mac, tdes-cipher, tdes-ipinenc, aes128-mac and others
    #[arg(long = "type", value_name = "TYPE", value_parser = kind::Parser, hide_possible_values = true)]
    #[serde(rename = "type", with = "kind_by_name")]
    pub kind: Option<NamedKind>,
    /// What it may do, in CCA's keywords, where that is not all that its kind may (AES keys of data: CBC unless a mode
    /// is given)
    #[arg(long, value_name = "KEYWORDS", value_delimiter = ',')]
    #[serde(deserialize_with = "keywords")]
    pub usage: Vec<String>,
    /// With AES: what the terminal does with a key of MACs or data (both unless given)
    #[arg(long, value_enum, value_name = "WHAT")]
    #[serde(with = "by_name")]
    pub terminal: Option<TerminalDoes>,
    /// Record the key under this label
    #[arg(long, conflicts_with_all = ["out", "lines", "json"])]
    #[serde(skip)]
    pub label: Option<String>,
    /// Write its token to this file, which must not be there
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["lines", "json"])]
    #[serde(skip)]
    pub out: Option<PathBuf>,
    /// Many at once
    #[command(flatten)]
    #[serde(skip)]
    pub many: Many,
}

/// What a terminal does with the key of a transaction, where AES DUKPT tells its sides apart. The key here does the
/// other.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalDoes {
    /// It makes MACs, or enciphers
    Makes,
    /// It verifies MACs, or deciphers
    Takes,
    /// Both
    Both,
}

/// Kinds of keys in lines: by their names.
mod kind_by_name {
    use super::*;

    /// Its name.
    pub fn serialize<S: Serializer>(kind: &Option<NamedKind>, serializer: S) -> Result<S::Ok, S::Error> {
        kind.map(NamedKind::name).serialize(serializer)
    }

    /// From its name.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<NamedKind>, D::Error> {
        let known = |name: String| {
            kind::parse(&name).map_err(|error| serde::de::Error::custom(format!("{name}: {error}")))
        };
        Option::<String>::deserialize(deserializer)?.map(known).transpose()
    }
}

/// Keywords in a line: an array, or with commas between them.
fn keywords<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Array(Vec<String>),
        Text(String),
    }
    Ok(match Written::deserialize(deserializer)? {
        Written::Array(words) => words,
        Written::Text(text) => text.split(',').map(str::to_owned).collect(),
    })
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

fn initial_examples() -> String {
    format!(
        "\
Examples:
  cryptand dukpt initial --base POS.BASE --ksn FFFF9876543210E00000 --under TERMINAL.KEK \\
      --output terminal.tr31
  cryptand dukpt initial --base POS.AES --ksn 123456789012345600000000 --under TERMINAL.KBPK
  cryptand dukpt initial --base POS.BASE --under TERMINAL.KEK --lines terminals.txt >blocks.txt

{LINES_HELP}"
    )
}

fn derive_examples() -> String {
    format!(
        "\
Examples:
  cryptand dukpt derive --base POS.BASE --ksn FFFF9876543210E00001 --type tdes-macver \\
      --label POS.MAC.T1
  cryptand dukpt derive --base POS.AES --ksn 123456789012345600000001 --type aes128-cipher \\
      --usage DECRYPT --terminal makes --output data.token
  cryptand dukpt derive --base POS.BASE --type tdes-mac --lines transactions.txt >tokens.txt

Without --label and --output the token is printed in hexadecimal, as `cryptand key write` reads it.
{LINES_HELP}"
    )
}

const EXAMPLES: &str = "\
Examples:
  cryptand dukpt base POS.BASE --kind tdes
  cryptand dukpt show FFFF9876543210E00001
  cryptand dukpt show 123456789012345600000001 --next 10 --json

PINs of terminals are translated and verified by `cryptand pin translate` and `cryptand pin verify`, with the base key's label and
--ksn.
";
