//! `cryptand cert`, as typed.

use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  cryptand key generate WEB.EC1 --type p256-sign
  cryptand cert request WEB.EC1 shop.example www.shop.example > shop.csr
  cryptand cert self-signed WEB.EC1 localhost 127.0.0.1 --days 30 --output test.pem
  cryptand cert check chain.pem --label WEB.EC1 --name shop.example
  cryptand cert install WEB.EC1 chain.pem
  cryptand cert show WEB.EC1";

/// `cryptand cert`.
#[derive(Subcommand, Debug)]
#[command(after_help = EXAMPLES)]
pub enum Cert {
    /// Ask for a certificate of a key on a card: prints a request (PKCS #10) that an authority takes
    Request(CertMake),
    /// Make a certificate that its own key signs, for tests and for clients that are given it
    SelfSigned {
        #[command(flatten)]
        make: CertMake,
        /// Days that it is valid
        #[arg(long, default_value_t = 90, value_parser = clap::value_parser!(u32).range(1..=36_500))]
        days: u32,
    },
    /// Put a chain beside its key in the key store, in place of the one that lies there, if clients will take it;
    /// servers that name the label use it from their next start or reload
    Install {
        /// The label of the first certificate's key
        label: String,
        /// PEM file, the server's own certificate first, then who issued it, and so on (- for standard input)
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// Domain of the key
        #[arg(long, default_value_t = 0)]
        domain: u16,
        /// A name or an address that it must be for (repeat for more)
        #[arg(long = "name", value_name = "NAME")]
        names: Vec<String>,
        /// PEM file of the roots that clients trust; without, the last certificate is one
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        roots: Option<PathBuf>,
    },
    /// Print what the certificates of a file, or beside a label, say
    Show {
        /// PEM file (- for standard input), or a label where no file is called so
        #[arg(value_name = "FILE|LABEL", value_hint = ValueHint::FilePath)]
        of: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Print the certificates themselves, as a PEM file
        #[arg(long, conflicts_with = "json")]
        pem: bool,
    },
    /// Say what clients would refuse of a chain: order, signatures, names, expiry, key; exit code 4 if they would
    Check {
        /// PEM file, the server's own certificate first (- for standard input), or the label that the chain lies
        /// beside, where no file is called so
        #[arg(value_name = "FILE|LABEL", value_hint = ValueHint::FilePath)]
        of: PathBuf,
        /// The first certificate must be of the key under this label; without, of the label that it lies beside
        #[arg(long)]
        label: Option<String>,
        /// Domain of the key
        #[arg(long, default_value_t = 0)]
        domain: u16,
        /// A name or an address that it must be for (repeat for more)
        #[arg(long = "name", value_name = "NAME")]
        names: Vec<String>,
        /// PEM file of the roots that clients trust, such as /etc/ssl/certs/ca-certificates.crt; without, the last
        /// certificate is one
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        roots: Option<PathBuf>,
        /// Warn if a certificate ends within so many days
        #[arg(long, value_name = "DAYS", default_value_t = 14)]
        soon: u32,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// What a certificate is to say.
#[derive(Args, Debug)]
pub struct CertMake {
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
