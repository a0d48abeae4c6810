//! `cryptand master-key` and `cryptand unseal`: what officers do. Parts and passphrases leave this
//! process only sealed to the keeper's start-up key.

use super::{print, print_json, table};
mod loss;

use crate::args::{MasterKey, PartName, RegisterName};
use crate::failure::Failure;
use crate::prompt;
use crate::session;
use facility::{Facility, FacilityError, officer};
use home::{SERVICE_FILE, Service};
use std::io::{self, IsTerminal};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use wire::control::{
    NewState, OfficerOrder, OfficerRefusal, OfficerReply, PURPOSE_PASSPHRASE, Part, PendingOrder, Register,
    RegisterRow, Sealed, TwoOfficers, purpose_of_part,
};
use zeroize::Zeroizing;

/// Shortest passphrase that seals master keys, in characters.
const PASSPHRASE_CHARACTERS_MIN: usize = 12;

/// `cryptand master-key`.
pub fn run(asked: Option<&Path>, order: &MasterKey) -> Result<(), Failure> {
    let facility = keeper(asked)?;
    match *order {
        MasterKey::Load { register, part, domain, random, from_stdin } => {
            let source = if random { Source::Drawn } else { Source::typed(from_stdin) };
            load_part(&facility, domain, register.into(), part.into(), source)
        }
        MasterKey::Clear { register, domain } => {
            done(&facility, OfficerOrder::ClearNew { domain, register: register.into() })
        }
        MasterKey::Set { domain, lose } => {
            loss::check(&facility, domain, lose)?;
            if set(&facility, domain)? {
                eprintln!("set; seal the new keys with `cryptand master-key seal`");
            }
            Ok(())
        }
        MasterKey::Pending => pending(&facility),
        MasterKey::Confirm { number } => {
            carry_out(&facility, OfficerOrder::Confirm { number })?;
            eprintln!("confirmed, and carried out");
            Ok(())
        }
        MasterKey::Seal => seal(&facility),
        MasterKey::Show { json } => show(&facility, json),
    }
}

/// `cryptand unseal`.
pub fn unseal(asked: Option<&Path>) -> Result<(), Failure> {
    let facility = keeper(asked)?;
    let passphrase = prompt::secret("Passphrase of the master keys: ")?;
    let sealed = sealed(&facility, PURPOSE_PASSPHRASE, passphrase.as_bytes())?;
    done(&facility, OfficerOrder::Unseal { sealed })?;
    eprintln!("unsealed: coprocessors serve secure keys");
    Ok(())
}

/// Where a part comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// An officer types it, on a terminal; an empty line draws one.
    Terminal,
    /// A line of standard input.
    Lines,
    /// It is drawn.
    Drawn,
}

impl Source {
    /// What is typed, or comes by standard input where that was asked for.
    pub fn typed(from_stdin: bool) -> Self {
        if from_stdin { Self::Lines } else { Self::Terminal }
    }

    /// Refuses what would leave a part where nobody meant it to be: in a pipe, a file or a log.
    pub fn check(self) -> Result<(), Failure> {
        match self {
            Self::Terminal if !io::stdin().is_terminal() => Err(Failure::Usage(
                "a part of a master key is typed on a terminal, and standard input is none; --from-stdin reads parts as \
                 lines of it all the same"
                    .to_owned(),
            )),
            Self::Terminal | Self::Drawn if !io::stderr().is_terminal() => Err(Failure::Usage(
                "a part that is drawn is shown on a terminal, once, and standard error is none: it would stay in a file or a \
                 pipe. Run this on a terminal; or draw parts elsewhere (`openssl rand -hex 32`, 24 for sym and asym) and give \
                 them by --from-stdin"
                    .to_owned(),
            )),
            _ => Ok(()),
        }
    }
}

/// Asks an officer for one part of a register and loads it; an empty line on a terminal draws one.
pub fn load_part(
    facility: &impl Orders,
    domain: u16,
    register: Register,
    part: Part,
    source: Source,
) -> Result<(), Failure> {
    source.check()?;
    let (name, length) = (register_name(register), register.key_bytes());
    let part_name = part_name(part);
    let mut bytes = Zeroizing::new(Vec::new());
    if source != Source::Drawn {
        let question = format!("Domain {domain}, {name}, {part_name} part ({length} bytes): ");
        bytes = prompt::until_valid(|| {
            let bytes = prompt::hexadecimal(&prompt::secret(&question)?)?;
            if !bytes.is_empty() && bytes.len() != length {
                let given = bytes.len();
                return Err(Failure::Usage(format!("a part of {name} has {length} bytes, not {given}")));
            }
            Ok(bytes)
        })?;
    }
    if bytes.is_empty() && source == Source::Lines {
        let said =
            format!("an empty line in the place of a part of {name}: nothing is drawn with --from-stdin");
        return Err(Failure::Usage(said));
    }
    if bytes.is_empty() {
        bytes = Zeroizing::new(vec![0; length]);
        session::engine()?.random(&mut bytes);
        let digits = Zeroizing::new(prompt::to_hexadecimal(&bytes));
        eprintln!("  drawn, keep it: {}", *digits);
    }
    let sealed = sealed(facility, &purpose_of_part(domain, register, part), &bytes)?;
    match facility.order(OfficerOrder::LoadPart { domain, register, part, sealed })? {
        OfficerReply::PartLoaded { part_pattern, key_pattern } => {
            eprintln!("  pattern of this part: {}", prompt::to_hexadecimal(&part_pattern));
            if let Some(pattern) = key_pattern {
                eprintln!("  pattern of the whole key: {}", prompt::to_hexadecimal(&pattern));
            }
            Ok(())
        }
        OfficerReply::Refused(refusal) => Err(Failure::Officer(refusal)),
        _ => Err(Failure::Unexpected("master-key load")),
    }
}

/// Puts all complete new keys of a domain into use.
/// Whether they are in use now, rather than when another officer confirms it.
pub fn set(facility: &impl Orders, domain: u16) -> Result<bool, Failure> {
    carry_out(facility, OfficerOrder::Set { domain })
}

/// Asks for a passphrase, twice, and seals the registers under it.
pub fn seal(facility: &impl Orders) -> Result<(), Failure> {
    let passphrase = prompt::until_valid(|| {
        let passphrase = prompt::secret("Passphrase that seals the master keys: ")?;
        if passphrase.chars().count() < PASSPHRASE_CHARACTERS_MIN {
            let text = format!("the passphrase has fewer than {PASSPHRASE_CHARACTERS_MIN} characters");
            return Err(Failure::Usage(text));
        }
        if *prompt::secret("Once more: ")? != *passphrase {
            return Err(Failure::Usage("the two passphrases differ".to_owned()));
        }
        Ok(passphrase)
    })?;
    let secret = |passphrase: &str| sealed(facility, PURPOSE_PASSPHRASE, passphrase.as_bytes());
    let first = OfficerOrder::SealUnder { sealed: secret(&passphrase)?, former: None };
    let done = match carry_out(facility, first) {
        // Whether there is a sealed copy shows only to who may see the keeper's files.
        Err(Failure::Officer(OfficerRefusal::FormerPassphrase)) => {
            let former = prompt::secret("Passphrase of the sealed copy that is replaced: ")?;
            let (sealed, former) = (secret(&passphrase)?, Some(secret(&former)?));
            carry_out(facility, OfficerOrder::SealUnder { sealed, former })?
        }
        done => done?,
    };
    if done {
        eprintln!("sealed");
    }
    Ok(())
}

fn show(facility: &impl Orders, json: bool) -> Result<(), Failure> {
    let rows = match facility.order(OfficerOrder::Registers)? {
        OfficerReply::Registers(rows) => rows,
        OfficerReply::Refused(refusal) => return Err(Failure::Officer(refusal)),
        _ => return Err(Failure::Unexpected("master-key show")),
    };
    if json {
        return print_json(&rows);
    }
    print(&registers(&rows))
}

/// The registers as a table for people.
pub fn registers(rows: &[RegisterRow]) -> String {
    let pattern =
        |pattern: &Option<[u8; 8]>| pattern.map_or("-".to_owned(), |bytes| prompt::to_hexadecimal(&bytes));
    table(
        &["domain", "register", "new", "new pattern", "current pattern", "old pattern", "sealed"],
        rows.iter().map(|row| {
            let state = match row.new_state {
                NewState::Empty => "empty",
                NewState::Partial => "partial",
                NewState::Full => "full",
            };
            vec![
                row.domain.to_string(),
                register_name(row.register).to_owned(),
                state.to_owned(),
                pattern(&row.new_pattern),
                pattern(&row.current_pattern),
                pattern(&row.old_pattern),
                if row.is_sealed { "yes" } else { "NO" }.to_owned(),
            ]
        }),
    )
}

fn sealed(facility: &impl Orders, purpose: &[u8], secret: &[u8]) -> Result<Sealed, Failure> {
    let key = match facility.order(OfficerOrder::StartupKey)? {
        OfficerReply::StartupKey(key) => key,
        OfficerReply::Refused(refusal) => return Err(Failure::Officer(refusal)),
        _ => return Err(Failure::Unexpected("the keeper's start-up key")),
    };
    officer::seal(&key, purpose, secret).map_err(|_| Failure::Unexpected("the keeper's start-up key"))
}

/// Has an order carried out, now or when another officer confirms it; which of the two, it says. True where it is done.
fn carry_out(facility: &impl Orders, order: OfficerOrder) -> Result<bool, Failure> {
    match facility.order(order)? {
        OfficerReply::Done => Ok(true),
        OfficerReply::Awaits(PendingOrder { number, .. }) => {
            eprintln!("waits for another officer, for 15 minutes: `cryptand master-key confirm {number}`");
            Ok(false)
        }
        OfficerReply::Refused(refusal) => Err(Failure::Officer(refusal)),
        _ => Err(Failure::Unexpected("the keeper")),
    }
}

fn pending(facility: &impl Orders) -> Result<(), Failure> {
    match facility.order(OfficerOrder::Pending)? {
        OfficerReply::Pending(None) => print("nothing waits\n"),
        OfficerReply::Pending(Some(PendingOrder { number, officer, what })) => {
            let what = match what {
                TwoOfficers::Set { domain } => format!("puts the new keys of domain {domain} into use"),
                TwoOfficers::Seal => "seals the master keys under a passphrase".to_owned(),
            };
            print(&format!("order {number} of the officer with user id {officer}: {what}\n"))
        }
        OfficerReply::Refused(refusal) => Err(Failure::Officer(refusal)),
        _ => Err(Failure::Unexpected("the keeper")),
    }
}

/// Who takes officers' orders.
pub trait Orders {
    /// Gives one.
    fn order(&self, order: OfficerOrder) -> Result<OfficerReply, FacilityError>;
}

impl Orders for Facility {
    fn order(&self, order: OfficerOrder) -> Result<OfficerReply, FacilityError> {
        self.officer(order)
    }
}

/// The keeper of a home of one's own, by its daemon, or that of a system service.
pub(super) enum Keeper {
    OfHome(Facility),
    OfService {
        keeper: officer::Keeper,
        /// The home of the service's daemon, where its file names it.
        home: Option<PathBuf>,
    },
}

impl Orders for Keeper {
    fn order(&self, order: OfficerOrder) -> Result<OfficerReply, FacilityError> {
        match self {
            Self::OfHome(facility) => facility.officer(order),
            Self::OfService { keeper, .. } => keeper.officer(order),
        }
    }
}

/// That of the service for its officers, where no home is named, and wherever the home is the service's: what a home says
/// of itself is its daemon's to write, and would lead officers elsewhere.
fn keeper(asked: Option<&Path>) -> Result<Keeper, Failure> {
    let file = std::env::var_os(SERVICE_VARIABLE).map_or_else(|| SERVICE_FILE.into(), PathBuf::from);
    if file.exists() {
        let service = Service::read(&file)?;
        let users = service.users()?;
        let is_its = match asked {
            Some(folder) => std::fs::metadata(folder).is_ok_and(|folder| folder.uid() == users.daemon),
            None => users.officers.contains(&rustix::process::geteuid().as_raw()),
        };
        if is_its {
            let keeper = officer::Keeper::meet(&service, &users)?;
            return Ok(Keeper::OfService { keeper, home: service.home });
        }
    }
    Ok(Keeper::OfHome(session::connect(asked)?))
}

/// Names another file of a service than that of the installed one.
const SERVICE_VARIABLE: &str = "CRYPTAND_SERVICE";

fn done(facility: &impl Orders, order: OfficerOrder) -> Result<(), Failure> {
    match facility.order(order)? {
        OfficerReply::Done => Ok(()),
        OfficerReply::Refused(refusal) => Err(Failure::Officer(refusal)),
        _ => Err(Failure::Unexpected("the keeper")),
    }
}

/// The name of a register.
pub fn register_name(register: Register) -> &'static str {
    register.name()
}

fn part_name(part: Part) -> &'static str {
    match part {
        Part::First => "first",
        Part::Middle => "middle",
        Part::Last => "last",
    }
}

impl From<RegisterName> for Register {
    fn from(name: RegisterName) -> Self {
        match name {
            RegisterName::Sym => Self::Sym,
            RegisterName::Asym => Self::Asym,
            RegisterName::Aes => Self::Aes,
            RegisterName::Apka => Self::Apka,
        }
    }
}

impl From<PartName> for Part {
    fn from(name: PartName) -> Self {
        match name {
            PartName::First => Self::First,
            PartName::Middle => Self::Middle,
            PartName::Last => Self::Last,
        }
    }
}
