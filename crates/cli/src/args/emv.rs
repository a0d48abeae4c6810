//! `cryptand emv`.

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use std::path::PathBuf;

/// `cryptand emv`.
#[derive(Subcommand, Debug)]
pub enum Emv {
    /// Derive a card's master key from the issuer's, and write its token to a file
    ///
    /// The issuer's key is a DKYGENKY key of level 1 under a label. The token is for this home, or with --under for
    /// whoever has the other half of the EXPORTER key of that label.
    #[command(after_help = EXAMPLES)]
    CardKey(Box<CardKey>),
    /// Verify a card's request cryptogram (ARQC), and make the response (ARPC)
    ///
    /// Without --response-code and --status it is verified alone. Exit code 4: it does not verify, and there is no
    /// response.
    #[command(after_help = EXAMPLES)]
    Arqc(Box<Arqc>),
    /// Make the MAC of a script's command
    ///
    /// With --counter under the key of the session as Visa derives it, of an issuer's key of level 0; with --arqc as
    /// EMV does (common session key), of one of level 1.
    #[command(after_help = EXAMPLES)]
    ScriptMac(Box<ScriptMac>),
    /// Make the enciphered data of a command that gives a card a new PIN
    ///
    /// The PIN comes in a block of ISO-0 or ISO-3, and nobody sees it. Visa's cards take it XORed with a part of their
    /// key for cryptograms (--cryptograms), with --counter; those of EMV and MasterCard in a block of ISO-2, with
    /// --arqc. script-mac makes the MAC of the whole command.
    #[command(after_help = EXAMPLES)]
    PinChange(Box<PinChange>),
}

/// A card.
#[derive(Args, Debug)]
pub struct Card {
    /// PAN: 8 to 19 digits
    #[arg(long)]
    pub pan: String,
    /// Sequence number of the PAN: two digits
    #[arg(long, default_value = "00", value_name = "DIGITS")]
    pub sequence: String,
    /// How the card's key is derived from the issuer's; B differs for PANs of more than 16 digits
    #[arg(long, value_enum, default_value = "a", value_name = "OPTION")]
    pub option: CardOption,
    /// Domain whose master key wraps the issuer's key
    #[arg(long, default_value_t = 0)]
    pub domain: u16,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// How a card's key is derived.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardOption {
    /// Of the last sixteen digits
    A,
    /// Of all digits, by SHA-1
    B,
}

/// How data are filled to whole blocks of eight bytes.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// With zeros, unless they are whole blocks already
    Zeros,
    /// With a bit and zeros (80 00 ...), always
    Bit,
    /// Not at all: they are whole blocks, as the card padded them
    None,
}

/// What a card's master key is for.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardUse {
    /// Application cryptograms
    Ac,
    /// MACs of scripts
    Mac,
    /// Enciphered data of scripts
    Enc,
    /// Data
    Data,
}

/// By whose rules.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Visa, cryptogram version 10
    Visa,
    /// MasterCard, M/CHIP 2.1
    Mc,
    /// EMV: common session key
    Emv,
    /// EMV 2000: tree with two branches
    Tree2,
    /// EMV 2000: tree with four branches
    Tree4,
}

/// `cryptand emv card-key`.
#[derive(Args, Debug)]
pub struct CardKey {
    /// Label of the issuer's key
    pub issuer: String,
    #[command(flatten)]
    pub card: Card,
    /// What the key is for
    #[arg(long = "use", value_enum)]
    pub purpose: CardUse,
    /// Label of the EXPORTER key that it leaves under
    #[arg(long, value_name = "LABEL")]
    pub under: Option<String>,
    /// File that the token is written to, which must not be there
    #[arg(long = "output", alias = "out", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
}

/// `cryptand emv arqc`.
#[derive(Args, Debug)]
pub struct Arqc {
    /// Label of the issuer's key for cryptograms
    pub issuer: String,
    #[command(flatten)]
    pub card: Card,
    /// By whose rules the cryptogram was made
    #[arg(long, value_enum, default_value = "emv")]
    pub scheme: Scheme,
    /// Transaction counter (ATC): 4 hexadecimal digits
    #[arg(long, value_name = "HEX")]
    pub counter: String,
    /// File with the data that the cryptogram is of, as bytes (- for standard input)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub data: PathBuf,
    /// How the data are filled; by default with zeros for Visa, with a bit and zeros for others
    #[arg(long, value_enum, value_name = "PADDING")]
    pub padding: Option<Padding>,
    /// The cryptogram: 16 hexadecimal digits
    #[arg(long, value_name = "HEX")]
    pub arqc: String,
    /// The terminal's unpredictable number: 8 hexadecimal digits, for MasterCard
    #[arg(long, value_name = "HEX")]
    pub unpredictable: Option<String>,
    /// Authorisation response code of the response by method 1: two characters
    #[arg(long, value_name = "CODE")]
    pub response_code: Option<String>,
    /// Card status update of the response by method 2: 8 hexadecimal digits
    #[arg(long, value_name = "HEX", conflicts_with = "response_code")]
    pub status: Option<String>,
    /// The issuer's own data of the response by method 2: up to 16 hexadecimal digits
    #[arg(long, value_name = "HEX", requires = "status")]
    pub own: Option<String>,
    /// Label of the issuer's key for responses, where MasterCard's issuer has one
    #[arg(long, value_name = "LABEL")]
    pub response_issuer: Option<String>,
}

/// `cryptand emv script-mac`.
#[derive(Args, Debug)]
pub struct ScriptMac {
    /// Label of the issuer's key for MACs
    pub issuer: String,
    #[command(flatten)]
    pub card: Card,
    /// Transaction counter (ATC) of Visa's session: 4 hexadecimal digits
    #[arg(long, value_name = "HEX", conflicts_with = "arqc")]
    pub counter: Option<String>,
    /// The cryptogram that EMV's session is of: 16 hexadecimal digits
    #[arg(long, value_name = "HEX", required_unless_present = "counter")]
    pub arqc: Option<String>,
    /// File with what the MAC is of, as bytes (- for standard input)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub command: PathBuf,
}

/// `cryptand emv pin-change`.
#[derive(Args, Debug)]
pub struct PinChange {
    /// Label of the issuer's key for enciphered data: a DKYGENKY key of level 0 for PINs
    pub issuer: String,
    #[command(flatten)]
    pub card: Card,
    /// By whose rules the card takes it
    #[arg(long, value_enum, default_value = "emv")]
    pub scheme: Scheme,
    /// The cryptogram that the session of EMV or MasterCard is of: 16 hexadecimal digits, one more for each command
    #[arg(long, value_name = "HEX")]
    pub arqc: Option<String>,
    /// Transaction counter (ATC) of Visa's session, or of the trees: 4 hexadecimal digits
    #[arg(long, value_name = "HEX", conflicts_with = "arqc")]
    pub counter: Option<String>,
    /// Label of the issuer's key for cryptograms, for Visa
    #[arg(long, value_name = "LABEL")]
    pub cryptograms: Option<String>,
    /// Block of ISO-0 with the new PIN: 16 hexadecimal digits
    #[arg(long, value_name = "HEX")]
    pub block: String,
    /// Label of the key that the blocks are under
    #[arg(long, value_name = "LABEL")]
    pub block_key: String,
    /// Block of ISO-0 with the PIN that the card has now, where Visa's card takes both
    #[arg(long, value_name = "HEX")]
    pub current_block: Option<String>,
    /// Format of the blocks
    #[arg(long, value_enum, default_value = "iso-0", value_name = "FORMAT")]
    pub format: ChangedFormat,
}

/// Formats of blocks that a new PIN comes in.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangedFormat {
    /// ISO 9564-1, format 0
    #[value(name = "iso-0")]
    Iso0,
    /// ISO 9564-1, format 3
    #[value(name = "iso-3")]
    Iso3,
}

const EXAMPLES: &str = "\
Examples:
  cryptand key generate EMV.AC --type tdes-dkygenky --usage DKYL1,DMAC
  cryptand emv card-key EMV.AC --use ac --pan 4012345678901234 --output card.tok
  cryptand emv arqc EMV.AC --pan 4012345678901234 --sequence 01 --counter 001C \\
      --data transaction.bin --arqc 0123456789ABCDEF --response-code 00
  cryptand key generate EMV.SMI --type tdes-dkygenky --usage DKYL1,DMAC
  cryptand emv script-mac EMV.SMI --pan 4012345678901234 --arqc 0123456789ABCDEF \\
      --command script.bin
  cryptand key generate EMV.PIN --type tdes-dkygenky --usage DKYL0,DMPIN
  cryptand emv pin-change EMV.PIN --pan 4012345678901234 --arqc 0123456789ABCDEF \\
      --block 1B9C1845EB993A7A --block-key PINS.IN
";
