//! Errors of commands, and their exit codes.

mod exit;
mod openpgp;

use facility::FacilityError;
use facility::keys::{About, GenerateError, SkeletonError};
use home::limits::{Limited, NotStarted};
use std::env::consts::ARCH;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use wire::Codes;
use wire::control::{HealthState, Refusal};

pub use self::exit::Exit;
pub use self::openpgp::PgpFailure;

/// A failed command: the text names operation, object and cause, and what to do next if that is known.
#[derive(Debug)]
pub enum Failure {
    /// Invalid input on the command line: exit code 2, as for unknown options.
    Usage(String),
    /// The daemon and the card program are missing at the places where this program looks.
    ProgramsMissing {
        /// Path of this program.
        own: std::path::PathBuf,
    },
    /// The home cannot be used.
    Home(home::HomeError),
    /// An attempt to start the daemon of a home whose daemon a service manager's unit runs.
    InBackground {
        /// The home's folder.
        folder: PathBuf,
    },
    /// The facility, a card or the daemon refused or failed.
    Facility(FacilityError),
    /// A card or a tenant was not changed.
    Change {
        /// The card or the tenant.
        object: String,
        /// The facility's error.
        cause: FacilityError,
        /// Advice for the user, if there is any.
        next: Option<Next>,
    },
    /// A verb was answered with a return code of 8 or more.
    Verb {
        /// The verb's name.
        verb: &'static str,
        /// Return code and reason code.
        codes: Codes,
    },
    /// A payment verb was answered with a return code of 8 or more; the message adds a hint.
    Payment {
        /// The verb's name.
        verb: &'static str,
        /// Return code and reason code.
        codes: Codes,
        /// Advice: which key, point or command may help.
        hint: String,
    },
    /// Some of many request lines failed or do not verify; the output tells which.
    Lines {
        /// Number of lines.
        lines: u64,
        /// Number of lines that failed.
        failed: u64,
        /// Number of lines that do not verify.
        not_verified: u64,
    },
    /// No key record has the label.
    NoRecord(wire::Label),
    /// There is no such thing; the text names it.
    Missing(String),
    /// There is such a thing already; the text names it.
    Exists(String),
    /// A file or a token is damaged, or not of its kind; the text names it.
    Damaged(String),
    /// A command of development homes alone, in a home whose master keys are real.
    RealKeys {
        /// The home's folder.
        home: PathBuf,
        /// The command.
        what: &'static str,
    },
    /// A folder that was to be restored from is not a backup.
    NotABackup {
        /// The folder's path.
        folder: std::path::PathBuf,
        /// The folder's defect.
        cause: home::HomeError,
    },
    /// A change of master keys would leave records under no master key.
    Lost {
        /// Number of records that would be lost.
        records: u64,
        /// Number of lost records that the command allows.
        allowed: u64,
    },
    /// Master keys in use are in no sealed copy, and the command would lose them or rest records on them.
    NotSealed {
        /// The command's effect on the master keys, for the message.
        risk: &'static str,
        /// Key records of the home.
        records: u64,
    },
    /// A register is not in the state that an officer's order needs; the text names the register and the orders that it
    /// accepts.
    RegisterState(String),
    /// The home to be made exists already.
    Made {
        /// The home's folder.
        folder: PathBuf,
        /// The next command, for people.
        next: String,
    },
    /// The keeper refused an officer.
    Officer(wire::control::OfficerRefusal),
    /// Reading or writing failed.
    Io {
        /// The attempted operation and its object.
        operation: String,
        /// The system's error.
        cause: io::Error,
    },
    /// A program that this one starts is missing at the places where this one looks.
    ProgramMissing {
        /// The program's name.
        name: &'static str,
        /// The program's purpose, as a clause after "which".
        does: &'static str,
        /// Path of this program.
        own: std::path::PathBuf,
    },
    /// This program cannot be held to an instruction-set level.
    Level(level::LevelError),
    /// The engine cannot be used.
    Engine(engine::EngineError),
    /// The peer answered something else than was asked.
    Unexpected(&'static str),
    /// A stopped home was not copied; the text is the daemon program's message.
    NotCopied(String),
    /// A restored home's records cannot all be read.
    Restored {
        /// The new home's folder.
        folder: PathBuf,
        /// The report of the check.
        said: String,
    },
    /// An OpenPGP command failed: exit codes of its own.
    OpenPgp(PgpFailure),
    /// Key records that could not be put under the current master keys.
    NotReenciphered(usize),
    /// Key records that could not be renewed.
    NotRenewed(usize),
    /// The checked use is not permitted.
    Refused(String),
    /// The daemon does not answer: exit code 6.
    Down(FacilityError),
    /// The home is not healthy, which was printed already: exit code 4 for degraded, 5 for sealed, 6 for down.
    Unwell(HealthState),
    /// Running processes were not replaced by the installed programs, or not all.
    Upgrade(String),
    /// The person answered no.
    Declined,
}

/// Advice about a change that the home refuses.
#[derive(Clone, Copy, Debug)]
pub enum Next {
    /// List the stored decimalisation tables.
    Tables,
    /// List the counted failures of PINs.
    Failures,
    /// Choose a label without a record.
    Label,
}

impl Next {
    const fn text(self) -> &'static str {
        match self {
            Self::Tables => "`cryptand pin table list` shows those that are stored",
            Self::Failures => "`cryptand pin failures list --all` shows what is counted",
            Self::Label => "choose another label, or `cryptand key delete` this one",
        }
    }
}

impl Failure {
    /// For `map_err`: an I/O failure of the given operation.
    pub fn io(operation: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Io { operation: operation.into(), cause }
    }

    /// For `map_err`: a thread that was not started.
    pub fn thread(cause: io::Error) -> Self {
        Self::Io {
            operation: "start a thread".to_owned(),
            cause: io::Error::other(NotStarted(&cause).to_string()),
        }
    }

    /// For `map_err`: a failed change of a card or a tenant.
    pub fn change(object: impl Into<String>) -> impl FnOnce(FacilityError) -> Self {
        move |cause| Self::Change { object: object.into(), cause, next: None }
    }

    /// For `map_err`: a failed change, with advice for the case that the home refuses it.
    pub fn change_of(object: impl Into<String>, next: Next) -> impl FnOnce(FacilityError) -> Self {
        move |cause| {
            let is_refused = matches!(cause, FacilityError::Refused { .. });
            Self::Change { object: object.into(), next: is_refused.then_some(next), cause }
        }
    }

    /// Whether a change was refused for what it says of its object, and not because of its caller or a lost daemon.
    pub fn is_of_its_object(&self) -> bool {
        matches!(
            self,
            Self::Change { cause: FacilityError::Refused { refusal: Refusal::Invalid(_), .. }, .. }
        )
    }

    /// Whether standard output was closed by its reader.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Io { cause, .. } if cause.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The exit code: that of the kind of failure, and of `health` and `status` that of the home's state.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Unwell(HealthState::Healthy) => 0,
            Self::Unwell(HealthState::Degraded) => 4,
            Self::Unwell(HealthState::Sealed) => 5,
            Self::Unwell(HealthState::Down) | Self::Down(_) => 6,
            Self::OpenPgp(failure) => failure.exit_code(),
            _ => self.kind() as u8,
        }
    }

    fn kind(&self) -> Exit {
        match self {
            Self::Usage(_) | Self::Level(level::LevelError::Variable(_)) => Exit::Usage,
            Self::Verb { codes, .. } | Self::Payment { codes, .. } => Exit::of_codes(*codes),
            Self::Lines { failed: 0, .. } => Exit::NotVerified,
            Self::Lines { .. } | Self::RealKeys { .. } | Self::Refused(_) => Exit::Refused,
            Self::Lost { .. } | Self::NotSealed { .. } | Self::RegisterState(_) => Exit::Refused,
            Self::NoRecord(_) | Self::Missing(_) => Exit::Missing,
            Self::Made { .. } | Self::Exists(_) => Exit::Exists,
            Self::Damaged(_) | Self::Restored { .. } => Exit::Damaged,
            Self::NotABackup { cause: home::HomeError::Missing { .. }, .. } => Exit::Missing,
            Self::NotABackup { .. } => Exit::Damaged,
            Self::Home(error) => Exit::of_home(error),
            Self::Facility(error) | Self::Change { cause: error, .. } => Exit::of_facility(error),
            Self::Officer(refusal) => Exit::of_officer(refusal),
            Self::Io { cause, .. } => Exit::of_io(cause),
            Self::ProgramsMissing { .. } | Self::ProgramMissing { .. } => Exit::Missing,
            _ => Exit::Failed,
        }
    }
}

impl From<SkeletonError> for Failure {
    /// A usage error that names the option.
    fn from(SkeletonError { kind, about, cause }: SkeletonError) -> Self {
        let option = match about {
            About::Usage => "--usage",
            About::DerivedUsage => "--derived-usage",
            About::Derives => "--derives",
        };
        Self::Usage(format!("{}: {option}: {cause}", kind.name()))
    }
}

impl From<GenerateError> for Failure {
    fn from(error: GenerateError) -> Self {
        match error {
            GenerateError::Skeleton(error) => error.into(),
            GenerateError::Facility(FacilityError::Verb { verb, codes }) => {
                Self::Verb { verb: verb.entry().name, codes }
            }
            GenerateError::Facility(error) => error.into(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Missing(text) | Self::Exists(text) | Self::Damaged(text) => {
                f.write_str(text)
            }
            Self::NotReenciphered(count) => {
                write!(
                    f,
                    "{count} record(s) are not under a current master key; do not change master keys again before they are"
                )
            }
            Self::NotRenewed(count) => {
                write!(
                    f,
                    "{count} record(s) not renewed; leave open_compatible in [tokens] on until they are"
                )
            }
            Self::Lost { records, allowed: 0 } => write!(
                f,
                "{records} key record(s) are under the old master key, which no register would hold after this, and no card \
                 could use them again: `cryptand key reencipher` brings them under the current one; or, to lose them: \
                 --lose {records}"
            ),
            Self::Lost { records, allowed } => {
                write!(
                    f,
                    "{records} key record(s) would be left under no master key, not {allowed}: nothing was set"
                )
            }
            Self::NotSealed { risk, records } => write!(
                f,
                "master keys in use are in no sealed copy: {risk}, and with them what they open of {records} key record(s). \
                 `cryptand master-key seal` first; --lose-keys does it without"
            ),
            Self::Refused(why) => write!(f, "refused by {why}"),
            Self::ProgramsMissing { own } => f.write_str(&programs_missing(ARCH, own)),
            Self::ProgramMissing { name, does, own } => f.write_str(&program_missing(ARCH, name, does, own)),
            Self::Home(error) | Self::Facility(FacilityError::Home(error)) => {
                error.fmt(f)?;
                match error {
                    home::HomeError::Missing { .. } | home::HomeError::NotAHome { .. } => {
                        f.write_str("; with --insecure-dev, one for trying things out")
                    }
                    _ => Ok(()),
                }
            }
            Self::InBackground { folder } => write!(
                f,
                "{}: by its settings ([daemon] autostart, service) the home's daemon is a service manager's, and is not started \
                 in the background: start its unit (`systemctl start cryptand`)",
                folder.display()
            ),
            Self::Facility(error) => error.fmt(f),
            Self::Change { object, cause, next } => {
                match cause {
                    FacilityError::Refused { refusal: Refusal::Invalid(why), .. } if why.contains(object) => {
                        f.write_str(why)?;
                    }
                    _ => write!(f, "{object}: {cause}")?,
                }
                if let Some(next) = next {
                    return write!(f, "; {}", next.text());
                }
                match cause {
                    FacilityError::Refused { refusal: Refusal::NoSuchCard, .. } => {
                        f.write_str("; `cryptand card list` shows those there are")
                    }
                    FacilityError::Refused { refusal: Refusal::NoSuchTenant(_), .. } => {
                        f.write_str("; `cryptand tenant list` shows those there are")
                    }
                    _ => Ok(()),
                }
            }
            Self::Verb { verb, codes } => {
                write!(f, "{verb}: {codes}")?;
                match *codes {
                    // What a parameter or a keyword is about.
                    Codes { return_code: 8, reason_code: 21 | 25 | 33 | 34 | 35 } => {
                        write!(f, "; `cryptand verb {verb}` describes its parameters and keywords")
                    }
                    // What the key is for, or which algorithm's it is.
                    Codes { return_code: 8, reason_code: 27 | 31 | 39 | 47 } => write!(
                        f,
                        "; `cryptand key show LABEL` says what the key is, `cryptand verb {verb}` which keywords there are"
                    ),
                    wire::code::ACCESS_DENIED => f.write_str(
                        "; `cryptand role check WHO LABEL VERB` says which point of a role it takes",
                    ),
                    wire::code::LABEL_NOT_FOUND => f.write_str("; `cryptand key list` shows those there are"),
                    wire::code::MASTER_KEY_NOT_LOADED => f.write_str("; `cryptand health` says what to do"),
                    _ => Ok(()),
                }
            }
            Self::Payment { verb, codes, hint } => write!(f, "{verb}: {codes}; {hint}"),
            Self::Lines { lines, failed, not_verified } => {
                write!(
                    f,
                    "of {lines} lines {failed} failed, and {not_verified} do not verify: each says so in its place"
                )
            }
            Self::NoRecord(label) => write!(
                f,
                "{label}: {} ({}/{}); `cryptand key list` shows those there are",
                wire::code::LABEL_NOT_FOUND.meaning().unwrap_or_default(),
                wire::code::LABEL_NOT_FOUND.return_code,
                wire::code::LABEL_NOT_FOUND.reason_code
            ),
            Self::RealKeys { home, what } => write!(
                f,
                "{}: its master keys are real, and `cryptand {what}` is for development homes alone (`cryptand init --insecure-dev`)",
                home.display()
            ),
            Self::NotABackup {
                folder,
                cause: home::HomeError::Missing { .. } | home::HomeError::NotAHome { .. },
            } => {
                write!(f, "{}: not a backup; name a folder that `cryptand backup` wrote", folder.display())
            }
            Self::NotABackup { folder, cause } => write!(f, "the backup {}: {cause}", folder.display()),
            Self::RegisterState(why) => f.write_str(why),
            Self::Made { folder, next } => {
                write!(f, "{}: a home already, and nothing was done; {next}", folder.display())
            }
            Self::Officer(refusal) => refusal.fmt(f),
            Self::Io { operation, cause } => write!(f, "cannot {operation}: {}", Limited(cause)),
            Self::Level(error) => error.fmt(f),
            Self::Engine(error) => error.fmt(f),
            Self::Unexpected(what) => {
                write!(f, "{what}: an answer of an unexpected kind; do all programs have the same version?")
            }
            Self::NotCopied(said) => write!(f, "the stopped home was not copied: {said}"),
            Self::Restored { folder, said } => {
                write!(f, "{}: the restored home is not readable, remove it: {said}", folder.display())
            }
            Self::OpenPgp(failure) => failure.fmt(f),
            Self::Down(error) => error.fmt(f),
            Self::Unwell(state) => write!(f, "the home is {}", state.name()),
            Self::Upgrade(why) => f.write_str(why),
            Self::Declined => f.write_str("nothing was done"),
        }
    }
}

impl<T: Into<PgpFailure>> From<T> for Failure {
    fn from(error: T) -> Self {
        Self::OpenPgp(error.into())
    }
}

impl From<home::HomeError> for Failure {
    fn from(error: home::HomeError) -> Self {
        Self::Home(error)
    }
}

impl From<facility::FacilityError> for Failure {
    fn from(error: facility::FacilityError) -> Self {
        Self::Facility(error)
    }
}

impl From<level::LevelError> for Failure {
    fn from(error: level::LevelError) -> Self {
        Self::Level(error)
    }
}

/// The architecture that cards are built, tested and measured for.
const CARDS_ARCH: &str = "x86_64";

/// The message that `cryptand-daemon` and `cryptand-card` are nowhere beside the program `own`, on this architecture.
fn programs_missing(arch: &str, own: &Path) -> String {
    if arch != CARDS_ARCH {
        return format!(
            "cards are served on x86-64 alone: on {arch} there are the commands for files and for OpenPGP's keys"
        );
    }
    format!(
        "cryptand-daemon and cryptand-card are not in {}; \
         build all three with `make`, or install them with `make install`",
        places(own)
    )
}

/// The places where `home::Programs` looks for programs that belong to `own`.
fn places(own: &Path) -> String {
    let folder = own.parent().unwrap_or(own);
    let here = folder.display();
    if folder.ends_with("bin") { format!("{here} or {here}/../libexec/cryptand") } else { here.to_string() }
}

/// The message that the program `name` is nowhere beside the program `own`, on this architecture.
fn program_missing(arch: &str, name: &str, does: &str, own: &Path) -> String {
    if arch != CARDS_ARCH {
        return format!("{name}, which {does}, is made for x86-64 alone, and this is {arch}");
    }
    format!(
        "{name}, which {does}, is not in {}; build it with `make`, or install it with `make install`",
        places(own)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_cards_are_not_made_nobody_is_told_to_look_for_them() {
        let own = Path::new("/opt/bin/cryptand");
        let lab_missing = |arch: &str, own: &Path| program_missing(arch, "cryptand-lab", "measures", own);
        for missing in [&programs_missing as &dyn Fn(&str, &Path) -> String, &lab_missing] {
            let (here, elsewhere) = (missing(CARDS_ARCH, own), missing("aarch64", own));
            assert!(here.contains("/opt/bin/../libexec/cryptand") && here.contains("make install"), "{here}");
            assert!(elsewhere.contains("x86-64 alone") && elsewhere.contains("aarch64"), "{elsewhere}");
            assert!(!elsewhere.contains("/opt"), "{elsewhere}");
            // Only a `bin` has the programs of its installation beside it.
            let alone = missing(CARDS_ARCH, Path::new("/home/me/cryptand"));
            assert!(alone.contains("/home/me;") && !alone.contains("libexec"), "{alone}");
        }
    }
}
