//! What is typed after `cryptand cert`.

use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{Args, Subcommand, ValueHint};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use wire::Label;

/// Most days that a self-signed certificate is valid.
pub const DAYS_MAX: u32 = 36_500;

/// What is handed on.
#[derive(Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct Passed {
    /// The home, where the command needs one.
    pub home: Option<PathBuf>,
    /// The command.
    pub command: Cert,
}

const EXAMPLES: &str = "\
Examples:
  cryptand key generate WEB.EC1 --type p256-sign
  cryptand cert request WEB.EC1 shop.example www.shop.example > shop.csr
  cryptand cert self-signed WEB.EC1 localhost 127.0.0.1 --days 30 --output test.pem
  cryptand cert check chain.pem --label WEB.EC1 --name shop.example
  cryptand cert install WEB.EC1 chain.pem
  cryptand cert show WEB.EC1";

/// `cryptand cert`.
#[derive(Subcommand, Serialize, Deserialize, Clone, Debug)]
#[serde(rename_all = "kebab-case")]
#[command(after_help = EXAMPLES)]
pub enum Cert {
    /// Ask for a certificate of a key on a card: prints a request (PKCS #10) that an authority takes
    Request(Make),
    /// Make a certificate that its own key signs, for tests and for clients that are given it
    SelfSigned(SelfSigned),
    /// Put a chain beside its key in the key store, in place of the one that lies there, if clients will take it;
    /// servers that name the label use it from their next start or reload
    Install(Install),
    /// Print what the certificates of a file, or beside a label, say
    Show(Show),
    /// Say what clients would refuse of a chain: order, signatures, names, expiry, key; exit code 4 if they would
    Check(Check),
}

impl Cert {
    /// Whether it works with labels of a home.
    #[must_use]
    pub fn needs_home(&self) -> bool {
        match self {
            Self::Request(_) | Self::SelfSigned(_) | Self::Install(_) => true,
            Self::Show(show) => show.of.label().is_some(),
            Self::Check(check) => check.label.is_some() || check.of.label().is_some(),
        }
    }

    /// The files that it names.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let files = match self {
            Self::Request(make) => [make.output.as_ref(), None],
            Self::SelfSigned(made) => [made.make.output.as_ref(), None],
            Self::Install(install) => [Some(&install.file), install.roots.as_ref()],
            Self::Show(show) => [show.of.file(), None],
            Self::Check(check) => [check.of.file(), check.roots.as_ref()],
        };
        files.into_iter().flatten().map(PathBuf::as_path)
    }
}

/// What a certificate is to say.
#[derive(Args, Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Make {
    /// The label of the key: of RSA, P-256 or P-384
    pub label: String,
    /// DNS names and IP addresses that it is for
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    /// Organization of the subject
    #[arg(long)]
    pub organization: Option<String>,
    /// Country of the subject, two capital letters
    #[arg(long)]
    pub country: Option<String>,
    /// For clients as well: they authenticate with it
    #[arg(long)]
    pub for_clients: bool,
    /// A new file for it; without, standard output
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Domain of the key
    #[arg(long, default_value_t = 0)]
    pub domain: u16,
}

/// `cryptand cert self-signed`.
#[derive(Args, Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct SelfSigned {
    /// What it is to say
    #[command(flatten)]
    pub make: Make,
    /// Days that it is valid
    #[arg(long, default_value_t = 90, value_parser = clap::value_parser!(u32).range(1..=i64::from(DAYS_MAX)))]
    pub days: u32,
}

/// `cryptand cert install`.
#[derive(Args, Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Install {
    /// The label of the first certificate's key
    pub label: String,
    /// PEM file, the server's own certificate first, then who issued it, and so on (- for standard input)
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Domain of the key
    #[arg(long, default_value_t = 0)]
    pub domain: u16,
    /// A name or an address that it must be for (repeat for more)
    #[arg(long = "name", value_name = "NAME")]
    pub names: Vec<String>,
    /// PEM file of the roots that clients trust; without, the last certificate is one
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub roots: Option<PathBuf>,
}

/// `cryptand cert show`.
#[derive(Args, Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Show {
    /// PEM file (- for standard input), or a label where no file is called so
    #[arg(
        value_name = "FILE|LABEL",
        value_hint = ValueHint::FilePath,
        value_parser = PathBufValueParser::new().map(Source::named)
    )]
    pub of: Source,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Print the certificates themselves, as a PEM file
    #[arg(long, conflicts_with = "json")]
    pub pem: bool,
}

/// `cryptand cert check`.
#[derive(Args, Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// PEM file, the server's own certificate first (- for standard input), or the label that the chain lies
    /// beside, where no file is called so
    #[arg(
        value_name = "FILE|LABEL",
        value_hint = ValueHint::FilePath,
        value_parser = PathBufValueParser::new().map(Source::named)
    )]
    pub of: Source,
    /// The first certificate must be of the key under this label; without, of the label that it lies beside
    #[arg(long)]
    pub label: Option<String>,
    /// Domain of the key
    #[arg(long, default_value_t = 0)]
    pub domain: u16,
    /// A name or an address that it must be for (repeat for more)
    #[arg(long = "name", value_name = "NAME")]
    pub names: Vec<String>,
    /// PEM file of the roots that clients trust, such as /etc/ssl/certs/ca-certificates.crt; without, the last
    /// certificate is one
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub roots: Option<PathBuf>,
    /// Warn if a certificate ends within so many days
    #[arg(long, value_name = "DAYS", default_value_t = 14)]
    pub soon: u32,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Where a chain is.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// In a PEM file; `-` is standard input.
    File(PathBuf),
    /// In a key store, beside this label.
    Label(String),
}

impl Source {
    /// The label of this name, where no file is called so. Names of files that are labels have no small letter and no
    /// folder.
    fn named(name: PathBuf) -> Self {
        match name.to_str().filter(|text| Label::new(text).is_ok() && !name.exists()) {
            Some(label) => Self::Label(label.to_owned()),
            None => Self::File(name),
        }
    }

    /// The label.
    #[must_use]
    pub fn label(&self) -> Option<&str> {
        match self {
            Self::File(_) => None,
            Self::Label(label) => Some(label),
        }
    }

    fn file(&self) -> Option<&PathBuf> {
        match self {
            Self::File(file) => Some(file),
            Self::Label(_) => None,
        }
    }
}
