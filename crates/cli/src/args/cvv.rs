//! The command line of `cryptand cvv`.

use super::payment::{LINES_HELP, Many, number};
use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};

/// `cryptand cvv`.
#[derive(Subcommand, Debug)]
pub enum Cvv {
    /// Make card verification values: CVV, CVC, iCVV, CVV2
    #[command(after_help = make_examples())]
    Make(Box<Make>),
    /// Verify card verification values
    ///
    /// Exit code 4: it does not verify.
    #[command(after_help = verify_examples())]
    Verify(Box<Verify>),
    /// Join a pair of keys of single length into one, as key blocks have it
    ///
    /// The new key makes, or verifies, the values of the pair.
    #[command(after_help = JOIN_EXAMPLES)]
    Join {
        /// Label of the first key: CVVKEY-A
        a: String,
        /// Label of the second key: CVVKEY-B
        b: String,
        /// Label for the new key
        #[arg(long)]
        label: String,
        /// Domain whose master key wraps the keys
        #[arg(long, default_value_t = 0)]
        domain: u16,
    },
}

/// A card, and the key of its values.
#[derive(Args, Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Printed {
    /// Label of the key (CVK): MAC with CVVKEY-A, of double length; to verify also MACVER
    #[arg(long, value_name = "LABEL")]
    pub key: Option<String>,
    /// Label of the second key of a pair of single length: CVVKEY-B
    #[arg(long, value_name = "LABEL")]
    pub key_b: Option<String>,
    /// PAN: 13 to 19 digits
    #[arg(long)]
    pub pan: Option<String>,
    /// Expiration date: four digits in the order that the scheme says, YYMM of CVV and MMYY of CVV2 with most
    #[arg(long, value_name = "DIGITS")]
    pub expires: Option<String>,
    /// Service code: three digits; 000 of CVV2, 999 of iCVV
    #[arg(long, value_name = "DIGITS")]
    pub service_code: Option<String>,
}

/// `cryptand cvv make`.
#[derive(Args, Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Make {
    /// The card
    #[command(flatten)]
    #[serde(flatten)]
    pub card: Printed,
    /// Digits of the value: 1 to 5 (3 unless given)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=5))]
    #[serde(deserialize_with = "number")]
    pub digits: Option<u8>,
    /// Many at once
    #[command(flatten)]
    #[serde(skip)]
    pub many: Many,
}

/// `cryptand cvv verify`.
#[derive(Args, Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Verify {
    /// The card
    #[command(flatten)]
    #[serde(flatten)]
    pub card: Printed,
    /// The value: 1 to 5 digits
    #[arg(long, value_name = "DIGITS")]
    pub value: Option<String>,
    /// Many at once
    #[command(flatten)]
    #[serde(skip)]
    pub many: Many,
}

fn make_examples() -> String {
    format!(
        "\
Examples:
  cryptand key generate ISSUER.CVK --type tdes-mac --usage CVVKEY-A
  cryptand cvv make --key ISSUER.CVK --pan 4123456789012345 --expires 8701 --service-code 101
  cryptand cvv make --key ISSUER.CVK --service-code 999 --lines cards.txt

{LINES_HELP}"
    )
}

fn verify_examples() -> String {
    format!(
        "\
Examples:
  cryptand cvv verify --key ISSUER.CVK --pan 4123456789012345 --expires 8701 --service-code 101 --value 561
  cryptand cvv verify --key ISSUER.A --key-b ISSUER.B --lines cards.json --json

{LINES_HELP}"
    )
}

const JOIN_EXAMPLES: &str = "\
Examples:
  cryptand cvv join ISSUER.A ISSUER.B --label ISSUER.CVK
";
