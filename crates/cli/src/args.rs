//! The command line: every command and option is defined once, here, or in `measuring` or `options` where another
//! program reads it too. Manual pages, completions and `--help` are generated from these definitions.

pub mod agent;
mod card;
pub mod cvv;
pub mod dukpt;
pub mod emv;
pub mod fpe;
mod groups;
mod ipsec;
mod key;
mod keyblock;
pub mod mac;
pub mod openpgp;
#[cfg(test)]
mod pages;
pub mod payment;
pub mod pgp;
pub mod pin;
mod role;
mod tenant;
pub mod terminal;
pub mod time;
mod tls;
mod token;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use std::path::PathBuf;

pub use agent::Agent;
pub use card::{Card, CardOptions};
pub use cvv::Cvv;
pub use dukpt::Dukpt;
pub use emv::Emv;
pub use fpe::Fpe;
pub use groups::command;
pub use ipsec::{Ipsec, IpsecMetrics};
pub use key::{Component, ImportedUse, Key, PairEnd, PartStep, StoreName};
pub use keyblock::{BlockExport, BlockVersion, GivenBlock, Keyblock};
pub use mac::Mac;
pub use measuring::{LevelName, Measuring, PersonalityName};
pub use openpgp::{Decrypt, Encrypt, Sign, Verify};
pub use options::cert::Cert;
pub use pgp::{Pgp, PgpKey};
pub use pin::{Pin, PinFailures, PinTable};
pub use role::{Role, RoleCheck};
pub use tenant::{Clearable, Tenant, TenantOptions};
pub use terminal::Terminal;
pub use time::{Expiry, expiry, moment};
pub use tls::Tls;
pub use token::Token;

/// Encrypts files with OpenPGP, and keeps keys where no other program can read them.
///
/// Such keys are in cards: sandboxed processes that compute for other programs and never hand a key out. A home is the
/// folder of one installation of cards: settings, key store, sealed master keys. `init` makes a home, `serve` starts
/// its cards. `encrypt`, `decrypt`, `sign`, `verify` and `pgp` need no home, unless a private key is on its cards.
#[derive(Parser, Debug)]
#[command(name = "cryptand", version, max_term_width = 110, after_help = EXAMPLES, disable_help_subcommand = true)]
pub struct Arguments {
    /// Folder of the installation
    #[arg(
        long,
        global = true,
        env = "CRYPTAND_HOME",
        value_name = "DIR",
        value_hint = ValueHint::DirPath,
        help_heading = EVERY_COMMAND
    )]
    pub home: Option<PathBuf>,

    /// Highest instruction-set level of this command, and of a daemon and cards that it starts. The default is
    /// CRYPTAND_LEVEL in the environment, else the machine's best
    #[arg(long, global = true, value_name = "LEVEL", help_heading = EVERY_COMMAND)]
    pub level: Option<LevelName>,

    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// Heading of the options that every command takes; the command's own come first.
const EVERY_COMMAND: &str = "Every command";

const EXAMPLES: &str = "\
Examples:
  cryptand encrypt -r alice@example.org FILE       OpenPGP: writes FILE.pgp
  cryptand decrypt FILE.pgp
  cryptand init --insecure-dev --home /tmp/dev     a home for trying things out
  cryptand serve --home /tmp/dev                   start its cards
  cryptand speed tdes-mac --jobs 8 --interface card
  cryptand report --quick --output report          measure, compare with the published figures

CRYPTAND_CREDENTIAL_FILE names the file of a tenant's credential: with it, a command runs as that tenant.
The home is --home, else $CRYPTAND_HOME, else $XDG_DATA_HOME/cryptand/home.
The level is --level, else $CRYPTAND_LEVEL, else the machine's best.";

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Encrypt files with OpenPGP, and sign them in the same pass
    Encrypt(Box<Encrypt>),
    /// Decrypt OpenPGP files, and verify who signed them
    Decrypt(Box<Decrypt>),
    /// Sign files with OpenPGP
    Sign(Box<Sign>),
    /// Verify OpenPGP signatures
    Verify(Box<Verify>),
    /// Generate, import, export, list, expire and revoke OpenPGP keys
    #[command(subcommand)]
    Pgp(Box<Pgp>),
    /// Hold unlocked private keys for a time, in a process of their own
    #[command(subcommand)]
    Agent(Agent),
    /// Make a home: settings, key store, master keys
    Init(Init),
    /// Unseal the master keys by their passphrase
    ///
    /// Needed after each start of the keeper, which holds them.
    Unseal,
    /// Start the daemon and the cards of a home, and stay until stopped
    Serve(Serve),
    /// Stop the daemon and the cards of a home
    ///
    /// Only `serve` or the home's unit starts them again. Refused while master keys in use are in no sealed copy, which
    /// end with the keeper.
    Stop(Stop),
    /// Read the settings file again, and change the cards accordingly
    Reload,
    /// Replace running processes by newly installed programs
    ///
    /// Requests are served meanwhile.
    Upgrade(Upgrade),
    /// Show cards, master-key registers and what this machine lacks
    ///
    /// Exit codes are those of `health`.
    Status(Json),
    /// Say whether the home serves, and what is wrong
    ///
    /// Exit codes: 0 healthy, 4 degraded, 5 sealed, 6 down.
    Health(Json),
    /// Watch cards and tenants at work
    Top(Top),
    /// Serve what `top` shows to Prometheus, or print it once
    Metrics(Metrics),
    /// List, add, change, quiesce and remove cards
    ///
    /// The other cards serve meanwhile.
    #[command(subcommand)]
    Card(Card),
    /// Manage who shares the cards, and how much of them each may use
    #[command(subcommand)]
    Tenant(Tenant),
    /// Show what may be done with keys, by whom, under which labels
    #[command(subcommand)]
    Role(Role),
    /// List, make, show, test and delete keys under labels
    #[command(subcommand)]
    Key(Key),
    /// Bring keys in and out in key blocks of TR-31
    #[command(subcommand)]
    Keyblock(Keyblock),
    /// Show what key tokens say, without a card
    #[command(subcommand)]
    Token(Token),
    /// Load parts of master keys, set and seal them
    #[command(subcommand)]
    MasterKey(MasterKey),
    /// Translate, verify and make PINs; decimalisation tables, wrong PINs
    #[command(subcommand)]
    Pin(Pin),
    /// Call a CCA verb, with parameters and answer as JSON
    Verb(Verb),
    /// Make and derive keys of terminals (DUKPT), show serial numbers
    #[command(subcommand)]
    Dukpt(Dukpt),
    /// Play a terminal with DUKPT, in a development home alone
    #[command(subcommand)]
    Terminal(Terminal),
    /// Make and verify card verification values; join their keys
    #[command(subcommand)]
    Cvv(Cvv),
    /// Derive keys of chip cards; cryptograms, MACs, changes of PINs
    #[command(subcommand)]
    Emv(Emv),
    /// Make and verify MACs of texts: DES, AES, HMAC
    #[command(subcommand)]
    Mac(Mac),
    /// Encipher and decipher texts that keep their format (FF1)
    #[command(subcommand)]
    Fpe(Fpe),
    /// Ask for certificates of keys on cards, and check chains
    #[command(subcommand)]
    Cert(Cert),
    /// Terminate TLS with private keys on cards, and forward to servers
    #[command(subcommand)]
    Tls(Tls),
    /// Seal and open packets where the kernel has no ESP
    #[command(subcommand)]
    Ipsec(Ipsec),
    #[command(flatten)]
    Measure(Measuring),
    /// Back up a home, serving or stopped; or check a backup
    Backup(Backup),
    /// Make a home from a backup
    Restore(Restore),
    /// Print the help of a command, or a page of the documentation
    ///
    /// `cryptand help topics` lists the pages. On a terminal a page goes through $PAGER, else through less.
    Help {
        /// A command, such as `key generate`, or a page, such as `keyblocks`
        #[arg(value_name = "COMMAND|TOPIC")]
        topic: Vec<String>,
    },
    /// Print a shell's completions
    #[command(hide = true)]
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Write manual pages
    #[command(hide = true)]
    Man {
        /// Into this folder
        folder: PathBuf,
    },
}

/// `cryptand init`.
#[derive(Args, Debug)]
pub struct Init {
    /// Make a development home: master keys that anyone can compute, and sample keys. Never for real keys
    #[arg(long)]
    pub insecure_dev: bool,
    /// Derive the development keys from this number
    #[arg(long, requires = "insecure_dev", default_value_t = 1, value_parser = clap::value_parser!(u64).range(0..=i64::MAX as u64))]
    pub seed: u64,
    /// Cards that hold secure keys
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub coprocessors: u32,
    /// Cards for clear-key RSA
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub accelerators: u32,
    /// Domains of each coprocessor, each with master keys of its own
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub domains: u16,
    /// Serve single DES, RSA below 1024 bits and MD5 too (on in development homes)
    #[arg(long)]
    pub weak_algorithms: bool,
    /// Most memory, in MiB, for deriving a key from the passphrase of the master keys
    #[arg(long, default_value_t = *home::SEAL_MEMORY_MIB.end(), value_name = "MIB")]
    pub seal_memory: u32,
    /// Make the home without master keys; load them later with `cryptand master-key`
    #[arg(long, conflicts_with = "insecure_dev")]
    pub no_master_keys: bool,
    /// An officer unseals the master keys by typing the passphrase after each start of the keeper (the default if there
    /// is no terminal to ask at)
    #[arg(long, conflicts_with_all = ["unattended", "service"])]
    pub attended: bool,
    /// The keeper unseals itself with the credential `cryptand-passphrase` of the daemon's unit
    #[arg(long, conflicts_with_all = ["insecure_dev", "service"])]
    pub unattended: bool,
    /// Draw each part at random and show it to its officer, who types it back
    #[arg(long, conflicts_with_all = ["insecure_dev", "no_master_keys", "from_stdin", "service"])]
    pub random: bool,
    /// Read parts and passphrase as lines of standard input, which need not be a terminal: for tests and for parts that
    /// were drawn elsewhere
    #[arg(long, conflicts_with_all = ["insecure_dev", "no_master_keys"])]
    pub from_stdin: bool,
    /// Make the home of the system service that this file describes: its officers give the master keys to its keeper
    #[arg(long, conflicts_with_all = ["insecure_dev", "no_master_keys", "domains"], value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub service: Option<PathBuf>,
}

/// `cryptand serve`.
#[derive(Args, Debug)]
pub struct Serve {
    /// Return as soon as the cards are ready, leaving the daemon in the background
    #[arg(long)]
    pub background: bool,
    /// Make a development home first, where there is no home: anyone can compute its master keys
    #[arg(long)]
    pub insecure_dev: bool,
}

/// `cryptand stop`.
#[derive(Args, Debug)]
pub struct Stop {
    /// Stop although master keys in use are in no sealed copy: they are lost, and the records under them
    #[arg(long)]
    pub lose_keys: bool,
}

/// `cryptand upgrade`, after new programs were installed. The keeper hands its keys to a new one, cards are replaced
/// one after the other, then the daemon. Programs with another version of the control protocol are refused, and nothing
/// is changed.
#[derive(Args, Debug)]
pub struct Upgrade {
    /// Say what would be replaced, and replace nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Replace the keeper although master keys in use are in no sealed copy: if it fails they are lost
    #[arg(long)]
    pub lose_keys: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Output for programs.
#[derive(Args, Debug)]
pub struct Json {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `cryptand top`: rate, utilisation, ITR, queue and service times, batch fill, polls and wake-ups.
#[derive(Args, Debug)]
pub struct Top {
    /// Seconds between two readings
    #[arg(long, default_value_t = 1.0, value_name = "SECONDS")]
    pub interval: f64,
    /// Print one JSON line for each reading instead of the live view
    #[arg(long)]
    pub json: bool,
    /// Print plain tables of one interval, and end
    #[arg(long, conflicts_with = "count")]
    pub once: bool,
    /// Print plain tables (or JSON), and end after this many readings (0: until stopped)
    #[arg(long, value_name = "N")]
    pub count: Option<u64>,
}

/// `cryptand metrics`.
#[derive(Args, Debug)]
pub struct Metrics {
    /// Serve http://ADDRESS/metrics until stopped, instead of printing once. Whoever can reach the address can
    /// read tenants' names and their activity
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1, default_missing_value = LISTEN_DEFAULT)]
    pub listen: Option<std::net::SocketAddr>,
    /// Tenants shown by name on each card: those with an account number below this. All others are one sum
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(0..=wire::bounds::TENANTS_MAX as i64))]
    pub tenants: u32,
}

/// Where `cryptand metrics --listen` listens.
const LISTEN_DEFAULT: &str = "127.0.0.1:9418";

/// A master-key register.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterName {
    /// DES keys, 24 bytes
    Sym,
    /// Older RSA tokens, 24 bytes
    Asym,
    /// AES keys, 32 bytes
    Aes,
    /// RSA and EC keys, 32 bytes
    Apka,
}

/// Which part of a master key.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartName {
    /// Starts a new key
    First,
    /// Any number between
    Middle,
    /// Completes it
    Last,
}

/// `cryptand master-key`.
#[derive(Subcommand, Debug)]
pub enum MasterKey {
    /// Load one part: typed as hexadecimal on a terminal, twice
    Load {
        /// Which register
        register: RegisterName,
        /// Which part
        part: PartName,
        /// The domain
        #[arg(long, default_value_t = 0)]
        domain: u16,
        /// Draw the part at random and show it on the terminal, for the officer to write down and type back
        #[arg(long, conflicts_with = "from_stdin")]
        random: bool,
        /// Read the part as a line of standard input, which need not be a terminal: for tests and for parts that were
        /// drawn elsewhere
        #[arg(long)]
        from_stdin: bool,
    },
    /// Clear a new register
    Clear {
        /// Which register
        register: RegisterName,
        /// The domain
        #[arg(long, default_value_t = 0)]
        domain: u16,
    },
    /// Put all complete new keys of a domain into use, at once, and seal them. The current keys become the old ones,
    /// and the old ones are discarded: refused while key records are under those. The passphrase is asked for on a
    /// terminal; without one `seal` is a step of its own
    Set {
        /// The domain
        #[arg(long, default_value_t = 0)]
        domain: u16,
        /// How many key records may be left under no master key, so that no card can use them, or `all` to set without
        /// counting
        #[arg(long, value_name = "N|all", value_parser = parse_loss)]
        lose: Option<Loss>,
        /// Leave the new keys unsealed: they are lost if the keeper ends before `seal`
        #[arg(long)]
        without_seal: bool,
    },
    /// Seal the master keys under a passphrase, replacing the sealed copy in the home
    Seal,
    /// Show the order of another officer that waits to be confirmed (in a system service)
    Pending,
    /// Confirm another officer's order, and carry it out (in a system service)
    Confirm {
        /// The number that `pending` shows
        number: u64,
    },
    /// Print a sheet for a ceremony, to be signed and kept: home, machine, date, patterns. It holds no secret
    Sheet {
        /// Print it as a page for a browser
        #[arg(long)]
        html: bool,
    },
    /// Show the registers
    Show {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Key records that a change of master keys may leave unusable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Exactly this many.
    Records(u64),
    /// However many there are.
    All,
}

fn parse_loss(typed: &str) -> Result<Loss, String> {
    match typed {
        "all" => Ok(Loss::All),
        number => number.parse().map(Loss::Records).map_err(|_| "a number of records, or all".to_owned()),
    }
}

/// `cryptand verb`.
#[derive(Args, Debug)]
#[command(after_long_help = VERB_EXAMPLES)]
pub struct Verb {
    /// Name or entry point (mac-generate, CSNBMGN); without one, the table is listed
    #[arg(conflicts_with = "lines")]
    pub name: Option<String>,
    /// Parameters as a JSON object: integers, "hex:00ff", "text:ABC", "label:A.B", rule_array as a list of the verb's
    /// keywords; @FILE reads them from a file, - from standard input. Without parameters the verb is described
    pub parameters: Option<String>,
    /// Domain to call it in
    #[arg(long, default_value_t = 0)]
    pub domain: u16,
    /// Write the bytes of this output parameter to a file instead of printing them (repeat for more)
    #[arg(long = "output", alias = "out", value_name = "PARAMETER=FILE", conflicts_with = "lines")]
    pub out: Vec<String>,
    /// Call a verb for each line of standard input, a JSON object with "verb", "parameters" and optionally "domain" and
    /// "id", and answer with one line each: for programs in any language, over one connection
    #[arg(long)]
    pub lines: bool,
}

/// Below the help of `cryptand verb`.
const VERB_EXAMPLES: &str = "\
Exit codes: 0 done; 1 nothing could be called; 2 the command line or a parameter is wrong; 3 the verb refused, with its return and
reason code; 4 a value or a signature does not verify (4/1, 4/19, 4/429); 7 no key record has the label; 8 one has it already.

Examples:
  cryptand verb mac-generate                  parameters, keywords and an example
  cryptand verb mac-generate '{\"key_identifier\": \"label:PAY.MAC.KEY1\", \"text\": \"text:hello\", \"rule_array\": [\"X9.19OPT\"]}'
  cryptand verb --lines < calls.jsonl > answers.jsonl";

/// `cryptand backup`.
#[derive(Args, Debug)]
pub struct Backup {
    /// A folder that does not exist yet, or - for a tar archive on standard output
    #[arg(value_hint = ValueHint::DirPath)]
    pub folder: PathBuf,
    /// Write nothing: read every record of this backup, and compare its sealed master keys with the home's
    #[arg(long)]
    pub verify: bool,
}

/// `cryptand restore`.
#[derive(Args, Debug)]
pub struct Restore {
    /// The backup's folder, or that of a copied home
    #[arg(value_hint = ValueHint::DirPath)]
    pub folder: PathBuf,
    /// Keep these settings of the backup without asking
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    pub keep: Vec<Carried>,
    /// Restore without these settings
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    pub leave_out: Vec<Carried>,
    /// Keep all settings of the backup without asking
    #[arg(long, conflicts_with_all = ["keep", "leave_out"])]
    pub yes: bool,
}

/// Settings of a backup that let others in, or are weaker than those of a new home.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// Users, groups and observers of [access], and their role
    Access,
    /// Access-control points of group `legacy` in roles
    Legacy,
    /// Accepting tokens in compatible form
    Compatible,
    /// Weak algorithms
    Weak,
    /// Master keys that anyone can compute
    Development,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::error::ErrorKind;
    use clap::{Arg, CommandFactory};

    #[test]
    fn definitions_are_sound() {
        Arguments::command().debug_assert();
        command().debug_assert();
    }

    /// Calls a function with every option that takes a value, and the commands that it is typed behind.
    fn each_option(command: &clap::Command, path: &[String], visit: &mut impl FnMut(&[String], &Arg)) {
        let options = command.get_arguments().filter(|argument| !argument.is_positional());
        options.filter(|option| option.get_action().takes_values()).for_each(|option| visit(path, option));
        for below in command.get_subcommands() {
            each_option(below, &[path, &[below.get_name().to_owned()]].concat(), visit);
        }
    }

    #[test]
    fn a_negative_number_is_judged_by_the_option_that_it_follows() {
        let (mut options, mut refused) = (0, 0);
        each_option(&command(), &["cryptand".to_owned()], &mut |path, option| {
            let name = match (option.get_long(), option.get_short()) {
                (Some(long), _) => format!("--{long}"),
                (None, short) => format!("-{}", short.unwrap()),
            };
            let typed = match option.is_require_equals_set() {
                true => vec![format!("{name}=-1")],
                false => vec![name.clone(), "-1".to_owned()],
            };
            options += 1;
            let line = [path, &typed].concat();
            let Err(error) = command().try_get_matches_from(&line) else { return };
            let text = error.to_string();
            match error.kind() {
                ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
                    let told = text.lines().next().unwrap_or_default();
                    let is_named = told.split(['\'', ' ', '[']).any(|word| word == name);
                    assert!(is_named, "{line:?}: {text}");
                    refused += 1;
                }
                // The value was taken, and the rest of the line is missing or forbids the option.
                ErrorKind::MissingRequiredArgument
                | ErrorKind::MissingSubcommand
                | ErrorKind::ArgumentConflict => {}
                _ => panic!("{line:?}: {text}"),
            }
        });
        assert!(options > 200 && refused > 100, "{options} options, {refused} refuse");
    }
}
