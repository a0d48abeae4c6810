//! The command line of `cryptand pgp`.

use super::openpgp::{KeyOptions, StoreOptions};
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  cryptand pgp generate 'Alice <alice@example.org>'
  gpg --export-secret-keys | cryptand pgp import
  cryptand pgp import bob.asc
  cryptand pgp list
  cryptand pgp export alice@example.org > alice.asc
  cryptand pgp expire alice@example.org 2y
  cryptand pgp revoke alice@example.org --reason retired

WHO is an address, a fingerprint, a key ID of 16 digits or a part of a user ID.";

const IMPORT_EXAMPLES: &str = "\
Examples:
  gpg --export | cryptand pgp import               certificates of others
  gpg --export-secret-keys | cryptand pgp import   your private keys
  cryptand pgp import bob.asc
  cryptand --home DIR pgp import --card --label BATCH.RSA.KEY batch.asc";

const GENERATE_EXAMPLES: &str = "\
Examples:
  cryptand pgp generate 'Alice <alice@example.org>'
  cryptand pgp generate --algorithm rsa4096 --expires 1y 'Batch <batch@example.org>'
  cryptand pgp generate --for-gnupg 'Carol <carol@example.org>'
  cryptand --home DIR pgp generate --label BATCH.RSA.KEY 'Batch <batch@example.org>'

With --label the private key is the RSA key of that label on the cards of a
home: only its certificate lies in the key store, and `decrypt` and `sign` go to
the card.";

/// `cryptand pgp`.
#[derive(Subcommand, Debug)]
#[command(after_help = EXAMPLES)]
pub enum Pgp {
    /// What is done with keys
    #[command(flatten)]
    Key(PgpKey),
    /// What is none of these
    #[command(external_subcommand)]
    Other(Vec<OsString>),
}

/// The commands of `cryptand pgp`.
#[derive(Subcommand, Debug)]
pub enum PgpKey {
    /// Make a key, with its private half under a passphrase
    #[command(after_help = GENERATE_EXAMPLES)]
    Generate(Generate),
    /// Import certificates and private keys, also those of GnuPG and others
    #[command(after_help = IMPORT_EXAMPLES)]
    Import(Import),
    /// Write certificates, for others
    Export(Export),
    /// Show the keys of the store
    List(List),
    /// Delete certificates, and private keys if asked to
    Delete(Delete),
    /// Change when a key expires
    Expire(Expire),
    /// Revoke a key for ever
    Revoke(Revoke),
    /// Change the passphrase of a private key
    Passphrase(ChangePassphrase),
    /// Show or set the key that signs, and whether messages are encrypted to it too
    Default(SetDefault),
}

/// `cryptand pgp generate`.
#[derive(Args, Debug)]
pub struct Generate {
    /// Whose key it is, such as 'Alice <alice@example.org>'; the first one is the primary one
    #[arg(value_name = "USER-ID", required = true)]
    pub user_ids: Vec<String>,
    /// Algorithm of the keys
    #[arg(long, default_value = "curve25519", conflicts_with = "label")]
    pub algorithm: KeyAlgorithm,
    /// Version of the key packets: 4 is read by everything, 6 is RFC 9580 (default: 4 where the algorithm has it)
    #[arg(long = "key-version", value_name = "N", value_parser = key_version)]
    pub version: Option<u8>,
    /// Do not announce AEAD (SEIPDv2), which GnuPG cannot read: for a key whose private half GnuPG will use.
    /// Without this option the key announces AEAD, and messages to it are faster
    #[arg(long)]
    pub for_gnupg: bool,
    /// When it expires: 2y, 18m, 90d, a date such as 2028-01-31, or never
    #[arg(long, default_value = "3y", value_name = "WHEN", value_parser = super::expiry)]
    pub expires: super::Expiry,
    /// Leave the private key without a passphrase: whoever reads the file has the key
    #[arg(long)]
    pub no_passphrase: bool,
    /// The private key is the RSA key with this label, on the cards of a home
    #[arg(long, value_name = "LABEL")]
    pub label: Option<String>,
    /// With --label: a second label for the subkey that decrypts messages
    #[arg(long, value_name = "LABEL", requires = "label")]
    pub encryption_label: Option<String>,
    /// With --label: domain of the cards
    #[arg(long, default_value_t = 0, value_name = "N", requires = "label")]
    pub domain: u16,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// The key store, and the new passphrase (--key-passphrase-file)
    #[command(flatten)]
    pub keys: KeyOptions,
}

/// `cryptand pgp import`.
#[derive(Args, Debug)]
pub struct Import {
    /// Files; - or nothing for standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
    /// The private half of the certificate is the RSA key with a label, on the cards of a home
    #[arg(long, requires = "label")]
    pub card: bool,
    /// With --card: the label
    #[arg(long, value_name = "LABEL", requires = "card")]
    pub label: Vec<String>,
    /// With --card: domain of the cards
    #[arg(long, default_value_t = 0, value_name = "N", requires = "card")]
    pub domain: u16,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Folder of the key store
    #[command(flatten)]
    pub store: StoreOptions,
}

/// `cryptand pgp export`.
#[derive(Args, Debug)]
pub struct Export {
    /// Whose; without, all
    #[arg(value_name = "WHO")]
    pub who: Vec<String>,
    /// With the private halves, locked as they are
    #[arg(long)]
    pub private: bool,
    /// Bytes instead of ASCII armor
    #[arg(long)]
    pub binary: bool,
    /// A file instead of standard output
    #[arg(short = 'o', long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Replace a file that is there
    #[arg(long)]
    pub force: bool,
    /// Folder of the key store
    #[command(flatten)]
    pub store: StoreOptions,
}

/// `cryptand pgp list`.
#[derive(Args, Debug)]
pub struct List {
    /// Whose; without, all
    #[arg(value_name = "WHO")]
    pub who: Vec<String>,
    /// Only keys with a private half here or on a card
    #[arg(long)]
    pub private: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Folder of the key store
    #[command(flatten)]
    pub store: StoreOptions,
}

/// `cryptand pgp delete`.
#[derive(Args, Debug)]
pub struct Delete {
    /// Whose
    #[arg(value_name = "WHO", required = true)]
    pub who: Vec<String>,
    /// Delete the private half too; messages encrypted to this key alone are then lost
    #[arg(long)]
    pub private: bool,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
    /// Folder of the key store
    #[command(flatten)]
    pub store: StoreOptions,
}

/// `cryptand pgp expire`.
#[derive(Args, Debug)]
pub struct Expire {
    /// Whose
    #[arg(value_name = "WHO")]
    pub who: String,
    /// When: 2y, 18m, 90d, a date such as 2028-01-31, or never
    #[arg(value_name = "WHEN", value_parser = super::expiry)]
    pub expires: super::Expiry,
    /// The key store, and the key's passphrase
    #[command(flatten)]
    pub keys: KeyOptions,
}

/// `cryptand pgp revoke`.
#[derive(Args, Debug)]
pub struct Revoke {
    /// Whose
    #[arg(value_name = "WHO")]
    pub who: String,
    /// Reason: earlier signatures stay valid only with superseded and retired
    #[arg(long, default_value = "unspecified")]
    pub reason: ReasonName,
    /// Explanation, for people
    #[arg(long, default_value = "", value_name = "TEXT")]
    pub comment: String,
    /// Only this user ID
    #[arg(long, value_name = "USER-ID")]
    pub user_id: Option<String>,
    /// Write the revoked certificate there, and leave the store as it is: a revocation to keep for later
    #[arg(short = 'o', long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
    /// The key store, and the key's passphrase
    #[command(flatten)]
    pub keys: KeyOptions,
}

/// `cryptand pgp passphrase`.
#[derive(Args, Debug)]
pub struct ChangePassphrase {
    /// Whose
    #[arg(value_name = "WHO")]
    pub who: String,
    /// The new passphrase: first line of a file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub new_passphrase_file: Option<PathBuf>,
    /// The same from an open descriptor
    #[arg(long, value_name = "N", conflicts_with = "new_passphrase_file")]
    pub new_passphrase_fd: Option<u32>,
    /// Remove the passphrase: whoever reads the file has the key
    #[arg(long, conflicts_with_all = ["new_passphrase_file", "new_passphrase_fd"])]
    pub no_passphrase: bool,
    /// The key store, and the key's current passphrase
    #[command(flatten)]
    pub keys: KeyOptions,
}

/// `cryptand pgp default`.
#[derive(Args, Debug)]
pub struct SetDefault {
    /// The key that signs by default
    #[arg(value_name = "WHO")]
    pub who: Option<String>,
    /// Whether `encrypt` also encrypts to it
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub to_self: Option<bool>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Folder of the key store
    #[command(flatten)]
    pub store: StoreOptions,
}

/// Algorithms of new keys.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyAlgorithm {
    /// Ed25519 and X25519
    Curve25519,
    /// RSA of 2,048 bits
    Rsa2048,
    /// RSA of 3,072 bits
    Rsa3072,
    /// RSA of 4,096 bits
    Rsa4096,
    /// NIST P-256
    P256,
    /// NIST P-384
    P384,
    /// NIST P-521
    P521,
    /// Ed448 and X448; experimental: not constant time
    Curve448,
    /// ML-DSA-65 with Ed25519, ML-KEM-768 with X25519 (RFC 9980; version 6); experimental: not constant time
    PostQuantum,
}

/// Why a key is revoked (RFC 9580, 5.2.3.31).
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReasonName {
    /// No reason: none of its signatures is trusted
    Unspecified,
    /// Another key replaces it
    Superseded,
    /// Somebody else may have the private key
    Compromised,
    /// It is no longer used
    Retired,
}

fn key_version(text: &str) -> Result<u8, String> {
    match text {
        "4" => Ok(4),
        "6" => Ok(6),
        _ => Err("versions are 4 and 6".to_owned()),
    }
}
