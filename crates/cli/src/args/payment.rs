//! What the commands over payment verbs have in common: formats, how keys are derived, and many requests as lines.

use clap::{Args, ValueEnum, ValueHint};
use serde::{Deserialize, Deserializer, Serializer};
use std::path::PathBuf;
use std::str::FromStr;
use zeroize::Zeroizing;

/// Where many requests come from, and how answers are printed.
#[derive(Args, Debug, Clone, Default)]
pub struct Many {
    /// Many requests: a file with one in each line (- for standard input). What is given beside it is that of each line
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub lines: Option<PathBuf>,
    /// Domain whose master key wraps the keys
    #[arg(long, default_value_t = 0)]
    pub domain: u16,
    /// Print JSON; with --lines also read it
    #[arg(long)]
    pub json: bool,
}

/// What stands below every command that takes lines.
pub const LINES_HELP: &str = "\
With --lines each line has options without their dashes, as NAME=VALUE NAME=VALUE, and with --json as an object:
  {\"NAME\": \"VALUE\", \"id\": 7}
There is an answer for each line, in their order; one that failed begins with `error:`, or has the field `error`.
Exit code 3 if one of them failed, else 4 if one does not verify.";

/// Format of a PIN block.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockFormat {
    /// ISO 9564 format 0 (ANSI X9.8), with the PAN
    #[value(name = "iso-0")]
    Iso0,
    /// ISO 9564 format 1, without a PAN
    #[value(name = "iso-1")]
    Iso1,
    /// ISO 9564 format 2, for chip cards
    #[value(name = "iso-2")]
    Iso2,
    /// ISO 9564 format 3, with the PAN and random digits
    #[value(name = "iso-3")]
    Iso3,
    /// ISO 9564 format 4, of 16 bytes under AES, with the PAN
    #[value(name = "iso-4")]
    Iso4,
    /// VISA-2
    #[value(name = "visa-2")]
    Visa2,
    /// VISA-3
    #[value(name = "visa-3")]
    Visa3,
    /// VISA-4
    #[value(name = "visa-4")]
    Visa4,
    /// ECI-2
    #[value(name = "eci-2")]
    Eci2,
    /// ECI-3
    #[value(name = "eci-3")]
    Eci3,
    /// IBM 3621
    #[value(name = "3621")]
    Ibm3621,
    /// IBM 3624
    #[value(name = "3624")]
    Ibm3624,
    /// IBM 4704, encrypting PIN pad
    #[value(name = "4704-epp")]
    Epp4704,
}

impl BlockFormat {
    /// As PIN profiles name it.
    pub const fn keyword(self) -> &'static str {
        match self {
            Self::Iso0 => "ISO-0",
            Self::Iso1 => "ISO-1",
            Self::Iso2 => "ISO-2",
            Self::Iso3 => "ISO-3",
            Self::Iso4 => "ISO-4",
            Self::Visa2 => "VISA-2",
            Self::Visa3 => "VISA-3",
            Self::Visa4 => "VISA-4",
            Self::Eci2 => "ECI-2",
            Self::Eci3 => "ECI-3",
            Self::Ibm3621 => "3621",
            Self::Ibm3624 => "3624",
            Self::Epp4704 => "4704-EPP",
        }
    }

    /// Whether there are digits of a PAN in its blocks.
    pub const fn has_pan(self) -> bool {
        matches!(self, Self::Iso0 | Self::Iso3 | Self::Iso4 | Self::Visa4)
    }
}

/// What a key is that is derived by DUKPT with AES.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkingKey {
    /// TDES of two parts
    Tdes2,
    /// TDES of three parts
    Tdes3,
    /// AES-128
    Aes128,
    /// AES-192
    Aes192,
    /// AES-256
    Aes256,
}

/// How the digits of a PIN are found in a block that leaves it open.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
#[value(rename_all = "lower")]
#[allow(missing_docs)] // CCA's keywords
pub enum Extraction {
    Pinblock,
    Paddigit,
    Hexdigit,
    Padexist,
    Pinlen04,
    Pinlen05,
    Pinlen06,
    Pinlen07,
    Pinlen08,
    Pinlen09,
    Pinlen10,
    Pinlen11,
    Pinlen12,
    Pinlen13,
    Pinlen14,
    Pinlen15,
    Pinlen16,
}

/// A clear PIN, which is neither shown nor left in memory.
#[derive(Clone, Default)]
pub struct ClearPin(pub Zeroizing<String>);

impl std::fmt::Debug for ClearPin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a clear PIN")
    }
}

/// The name that a value has on the command line, where there is one.
pub fn name<T: ValueEnum>(value: T) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// Values of the command line in lines: by their names.
pub mod by_name {
    use super::*;

    /// Its name.
    pub fn serialize<T: ValueEnum + Copy, S: Serializer>(
        value: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => serializer.serialize_some(&name(*value)),
            None => serializer.serialize_none(),
        }
    }

    /// From its name, in any case.
    pub fn deserialize<'de, T: ValueEnum, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<T>, D::Error> {
        let known = |text: String| {
            T::from_str(&text, true).map_err(|_| {
                let known: Vec<String> = T::value_variants()
                    .iter()
                    .filter_map(|value| Some(value.to_possible_value()?.get_name().to_owned()))
                    .collect();
                serde::de::Error::custom(format!("{text:?} is none of {}", known.join(", ")))
            })
        };
        Option::<String>::deserialize(deserializer)?.map(known).transpose()
    }
}

/// Whether something is meant, in a line: `true`, as a word or as JSON has it.
pub fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    number(deserializer).map(Option::unwrap_or_default)
}

/// A number in a line, or its digits.
pub fn number<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de> + FromStr,
    D: Deserializer<'de>,
{
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written<T> {
        Number(T),
        Digits(String),
    }
    match Option::<Written<T>>::deserialize(deserializer)? {
        None => Ok(None),
        Some(Written::Number(number)) => Ok(Some(number)),
        Some(Written::Digits(digits)) => digits
            .parse()
            .map(Some)
            .map_err(|_| serde::de::Error::custom(format!("{digits:?} is no number that this may be"))),
    }
}
