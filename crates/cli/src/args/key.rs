//! The command line of `cryptand key`.

use crate::kind::{self, TypedKind};
use clap::{Args, Subcommand, ValueEnum};
use facility::keys::NamedKind;
use std::path::PathBuf;

/// Which key store.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreName {
    /// DES and TDES keys
    Des,
    /// AES and HMAC keys
    Aes,
    /// RSA keys and those of elliptic curves
    Pka,
}

/// What an imported private key is for.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportedUse {
    /// Sign
    Sign,
    /// Serve TLS: sign and, with RSA, open premaster secrets of TLS 1.2
    Tls,
    /// RSA: sign digests and decipher data
    Keymgmt,
    /// RSA: import keys
    Transport,
    /// Curves: agree on keys
    Agree,
}

/// `cryptand key`.
#[derive(Subcommand, Debug)]
#[allow(clippy::enum_variant_names)] // `public-key` is what people look for
pub enum Key {
    /// List key records: label, store, kind of key, when it was written
    List {
        /// Labels that match this; `*` stands for anything
        #[arg(default_value = "*")]
        pattern: String,
        /// Only keys of this store
        #[arg(long)]
        store: Option<StoreName>,
        /// Show the check value of each symmetric key, which a card computes: of AES the CMAC of a block of zeros, of
        /// DES a block of zeros enciphered
        #[arg(long)]
        check_values: bool,
        /// Domain of the keys whose check values are shown
        #[arg(long, default_value_t = 0, requires = "check_values")]
        domain: u16,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Generate a key in a card and record it under a label
    #[command(after_help = kind::HELP)]
    Generate {
        /// The label, such as PAY.MAC.KEY1; of a pair, what stands before .OUT and .IN or .GEN and .VER
        label: String,
        /// Which kind of key; they are listed below
        #[arg(long = "type", value_name = "TYPE", value_parser = kind::TypedParser, hide_possible_values = true)]
        kind: TypedKind,
        /// Of a pair: this key alone
        #[arg(long, value_name = "END")]
        only: Option<PairEnd>,
        /// What it may do, in CCA's keywords, where that is not all that its kind may
        #[arg(long, value_name = "KEYWORDS", value_delimiter = ',')]
        usage: Vec<String>,
        /// Of a DKYGENKY key of AES: what the keys may do that it derives
        #[arg(long, value_name = "KEYWORDS", value_delimiter = ',')]
        derived_usage: Vec<String>,
        /// Of a key that agrees: which kind of key comes of it
        #[arg(long, value_name = "TYPE", value_parser = kind::Parser, hide_possible_values = true)]
        derives: Option<NamedKind>,
        /// Domain whose master key wraps it
        #[arg(long, default_value_t = 0)]
        domain: u16,
    },
    /// Enter a key in clear parts, each typed by another person: how two partners get their first shared key
    ///
    /// A part is typed on a terminal, twice, and is not shown; of a pipe it is a line. It is never an argument. Its
    /// check value is printed, then that of what the key is so far; compare them with what is on the sheets. The key is
    /// used by nothing until its last part is in. What was typed wrong is begun anew: `cryptand key delete LABEL`, then
    /// `first`.
    #[command(after_help = PART_EXAMPLES)]
    Part {
        /// The label, such as LINK.KEK1; of a pair, what stands before .OUT and .IN or .GEN and .VER
        label: String,
        /// Which part comes
        step: PartStep,
        /// With the first part: the kind of key, such as zmk, aes256-kbpk or tdes-importer; as of `key generate`. Of a
        /// pair each part goes into both keys
        #[arg(long = "type", value_name = "TYPE", value_parser = kind::TypedParser, hide_possible_values = true)]
        kind: Option<TypedKind>,
        /// With the first part of a pair: this key alone
        #[arg(long, value_name = "END", requires = "kind")]
        only: Option<PairEnd>,
        /// With the first part: what the key may do, where that is not all that its kind may (such as IMPORT,OPIM)
        #[arg(long, value_name = "KEYWORDS", value_delimiter = ',', requires = "kind")]
        usage: Vec<String>,
        /// With the first part of an AES or HMAC key: how many parts it needs at least
        #[arg(long, value_name = "N", requires = "kind", value_parser = clap::value_parser!(u8).range(2..=3))]
        parts: Option<u8>,
        /// The check value of this part on its sheet, of 2 to 8 bytes: another part is refused. Of AES it may be the
        /// CMAC of a block of zeros or, on older sheets, ENC-ZERO
        #[arg(long, value_name = "HEX")]
        check_value: Option<String>,
        /// Domain whose master key wraps it
        #[arg(long, default_value_t = 0)]
        domain: u16,
    },
    /// Record a key of a known value, in a development home alone
    ///
    /// For values that pages, samples and standards publish. The value is an argument, which others on the machine can
    /// read: a key that protects something comes in parts. A home with real master keys refuses it, with exit code 3.
    #[command(after_help = TEST_VALUE_EXAMPLES)]
    TestValue {
        /// The label, of a pair what stands before .OUT and .IN or .GEN and .VER
        label: String,
        /// The kind of the key, as of `key generate`
        #[arg(long = "type", value_name = "TYPE", value_parser = kind::TypedParser, hide_possible_values = true)]
        kind: TypedKind,
        /// Of a pair: this key alone
        #[arg(long, value_name = "END")]
        only: Option<PairEnd>,
        /// What the key may do, in CCA's keywords
        #[arg(long, value_name = "KEYWORDS", value_delimiter = ',')]
        usage: Vec<String>,
        /// The value, in hexadecimal
        #[arg(value_name = "HEX")]
        value: String,
        /// Domain whose master key wraps it
        #[arg(long, default_value_t = 0)]
        domain: u16,
    },
    /// Record test keys that standards and samples publish, under TEST.*, in a development home alone
    ///
    /// Those that are there are kept. They are the base keys of X9.24, keys of TR-31 and X9.143, and those of samples
    /// of jPOS, psec and pyemv. A home with real master keys refuses it, with exit code 3.
    TestKeys {
        /// Print them, with their values and sources, and record none
        #[arg(long)]
        list: bool,
        /// Domain whose master key wraps them
        #[arg(long, default_value_t = 0)]
        domain: u16,
    },
    /// Draw a component of a key at random, and print its sheet: the digits, their check values, a line to sign
    ///
    /// Each of the people who share a key draws one, on a machine and a printer that they trust, and types it by `key
    /// part`. Nothing is recorded, and no card is asked. The sheet holds a secret: it goes to standard output.
    #[command(after_help = COMPONENT_EXAMPLES)]
    Component(Component),
    /// Print the record of a key that people entered in parts, to be signed and kept. It holds no secret
    ///
    /// It has the check value of the key, or of both keys of a pair, and a line for each component.
    Sheet {
        /// The label, of a pair what stands before .OUT and .IN or .GEN and .VER
        label: String,
        /// The check value of a component; once for each, in the order of the people
        #[arg(long, value_name = "HEX")]
        component: Vec<String>,
        /// Print it as a page for a browser
        #[arg(long)]
        html: bool,
        /// Domain of the key
        #[arg(long, default_value_t = 0)]
        domain: u16,
    },
    /// Import a clear private key, of RSA or a curve: from then on only cards work with it
    ///
    /// The file keeps the key: destroy it and its copies, or better make a new key (`key generate`) and ask for a
    /// certificate of it.
    #[command(after_help = IMPORT_EXAMPLES)]
    Import {
        /// The label, such as WEB.RSA1
        label: String,
        /// PEM file with a private key in PKCS#8, PKCS#1 or SEC 1 form, not encrypted (- for standard input)
        file: PathBuf,
        /// What it is for from now on
        #[arg(long = "use", value_name = "USE", default_value = "sign")]
        use_of: ImportedUse,
        /// Domain whose master key wraps it
        #[arg(long, default_value_t = 0)]
        domain: u16,
    },
    /// Record an existing key token
    Write {
        /// The label
        label: String,
        /// File that holds the token, as bytes, in hexadecimal or in base64 (- for standard input)
        token: PathBuf,
        /// Replace the token of an existing record
        #[arg(long)]
        replace: bool,
    },
    /// Print a record's token: fields for people, --raw for programs
    Show {
        /// The label
        label: String,
        /// Write the token's bytes to standard output
        #[arg(long)]
        raw: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the public key of a key pair: as a token in hexadecimal, or --pem for programs like OpenSSL
    PublicKey {
        /// The label
        label: String,
        /// Domain of the key
        #[arg(long, default_value_t = 0)]
        domain: u16,
        /// As PEM (SubjectPublicKeyInfo)
        #[arg(long)]
        pem: bool,
    },
    /// Record a partner's public key, of RSA or a curve: to verify signatures, send keys, or agree on them
    ImportPublic {
        /// The label
        label: String,
        /// PEM file with a SubjectPublicKeyInfo or an RSAPublicKey, as `openssl pkey -pubout` writes it (- for standard
        /// input)
        file: PathBuf,
    },
    /// Print a key's check value and verification pattern, or compare them with a partner's: exit code 4 if they differ
    Test {
        /// The label
        label: String,
        /// Domain of the key
        #[arg(long, default_value_t = 0)]
        domain: u16,
        /// The partner's check value, its first 4 to 16 hexadecimal digits: of AES the CMAC of a block of zeros, or
        /// ENC-ZERO, a block of zeros encrypted, as of DES; the answer says which
        #[arg(long, value_name = "HEX", conflicts_with_all = ["random", "pattern"])]
        check_value: Option<String>,
        /// The random number that the partner's Key_Test gave with the pattern (DES keys)
        #[arg(long, value_name = "HEX", requires = "pattern")]
        random: Option<String>,
        /// The partner's verification pattern
        #[arg(long, value_name = "HEX")]
        pattern: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Convert records with tokens in compatible form to the authenticated form, under the current master key
    Renew {
        /// Labels that match this; `*` stands for anything
        #[arg(default_value = "*")]
        pattern: String,
        /// Say which would be renewed, and change nothing
        #[arg(long)]
        dry_run: bool,
        /// Renew them although master keys in use are in no sealed copy: if the keeper ends, records are lost with
        /// these
        #[arg(long)]
        lose_keys: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Put records that are under old master keys under the current ones: run it after each change of master keys, and
    /// before the next. Requests are served meanwhile; if it is interrupted, run it again
    Reencipher {
        /// Labels that match this; `*` stands for anything
        #[arg(default_value = "*")]
        pattern: String,
        /// Count the records that would change, and change nothing
        #[arg(long)]
        dry_run: bool,
        /// Change them although master keys in use are in no sealed copy: if the keeper ends, records are lost with
        /// these
        #[arg(long)]
        lose_keys: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Delete a record
    Delete {
        /// The label
        label: String,
        /// Keep the record, delete its token
        #[arg(long)]
        token_only: bool,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

/// `cryptand key component`.
#[derive(Args, Debug)]
pub struct Component {
    /// The label of the key, such as PAY.ZMK
    pub label: String,
    /// The kind of the key, as of `key part`
    #[arg(long = "type", value_name = "TYPE", value_parser = kind::TypedParser, hide_possible_values = true)]
    pub kind: TypedKind,
    /// Which of the components it is
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=9))]
    pub part: u8,
    /// How many components the key has
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(2..=9))]
    pub of: u8,
    /// Print it as a page for a browser
    #[arg(long)]
    pub html: bool,
}

const TEST_VALUE_EXAMPLES: &str = "\
Examples:
  cryptand key test-value POS.BASE --type tdes-keygenky --usage UKPT 0123456789ABCDEFFEDCBA9876543210
  cryptand key test-value PAY.ZPK --type zpk 3F419E1CB7079442AA37474C2EFBF8B8
  cryptand key test-keys";

const COMPONENT_EXAMPLES: &str = "\
Examples, one by each of three people:
  cryptand key component PAY.ZMK --type zmk --part 1 --of 3 | lp
  cryptand key component PAY.ZMK --type zmk --part 2 --of 3 | lp
  cryptand key component PAY.ZMK --type zmk --part 3 --of 3 | lp";

const IMPORT_EXAMPLES: &str = "\
Examples:
  cryptand key import WEB.RSA1 server.key --use tls
  openssl pkey -in encrypted.key | cryptand key import WEB.EC1 - --use tls
  shred -u server.key";

const PART_EXAMPLES: &str = "\
Examples, one at each person's terminal; the partner enters an importer:
  cryptand key part PAY.KBPK first --type aes256-kbpk    a pair: PAY.KBPK.OUT and PAY.KBPK.IN
  cryptand key part LINK.KEK1 first --type aes256-exporter
  cryptand key part LINK.KEK1 last --check-value 8CA64D
  cryptand key test LINK.KEK1                     the value that both sides have";

/// One key of a pair.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairEnd {
    /// Sends: enciphers, wraps
    Out,
    /// Receives: deciphers, unwraps
    In,
    /// Makes PINs and verifies them
    Gen,
    /// Verifies PINs
    Ver,
}

impl PairEnd {
    /// The last part of the key's label.
    pub const fn end(self) -> &'static str {
        match self {
            Self::Out => "OUT",
            Self::In => "IN",
            Self::Gen => "GEN",
            Self::Ver => "VER",
        }
    }
}

/// Which part of a key is entered.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartStep {
    /// The first one, which begins a record
    First,
    /// A further one; others may come
    Add,
    /// The last one, which completes the key
    Last,
    /// No part: the key is complete as it is
    Complete,
}
