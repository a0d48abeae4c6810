//! `cryptand master-key` and `cryptand unseal`: the officers' commands. Parts and passphrases leave this
//! process only encrypted to the keeper's start-up key.

mod loss;
pub mod part;
mod sheet;

use crate::args::{MasterKey, PartName, RegisterName};
use crate::failure::Failure;
use crate::output::{print, print_json, table};
use crate::prompt;
use crate::session;
use facility::{Facility, FacilityError, officer};
use home::{SERVICE_FILE, Service};
use part::{RegisterPart, Source};
use std::io::{self, IsTerminal};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use subtle::ConstantTimeEq;
use wire::control::{
    MasterKeyPattern, NewState, OfficerOrder, OfficerRefusal, OfficerReply, PURPOSE_PASSPHRASE, Part,
    PendingOrder, Register, RegisterRow, Sealed, TwoOfficers,
};

/// Shortest passphrase that seals master keys, in characters.
const PASSPHRASE_CHARACTERS_MIN: usize = 12;

/// Runs the subcommands of `cryptand master-key`.
pub fn run(asked: Option<&Path>, order: &MasterKey) -> Result<(), Failure> {
    let facility = keeper(asked)?;
    if matches!(order, MasterKey::Load { .. } | MasterKey::Set { .. }) {
        check_unsealed(asked, &facility)?;
    }
    match *order {
        MasterKey::Load { register, part, domain, random, from_stdin } => {
            let wanted = RegisterPart { domain, register: register.into(), part: part.into() };
            let (register, part) = (wanted.register.name(), part_name(wanted.part));
            let of_domain = if domain == 0 { String::new() } else { format!(" --domain {domain}") };
            let to_draw = format!("cryptand master-key load {register} {part}{of_domain} --random");
            part::load(&facility, wanted, Source::of(random, from_stdin), &to_draw)
        }
        MasterKey::Clear { register, domain } => {
            done(&facility, OfficerOrder::ClearNew { domain, register: register.into() })
        }
        MasterKey::Set { domain, lose, without_seal } => {
            loss::check(&facility, domain, lose)?;
            if !set(&facility, domain)? {
                return Ok(());
            }
            if without_seal || !io::stdin().is_terminal() {
                eprintln!("set; seal the new keys with `cryptand master-key seal`");
                return Ok(());
            }
            eprintln!("set; until they are sealed the new keys are lost if the keeper ends");
            seal(&facility).inspect_err(|_| eprintln!("not sealed: `cryptand master-key seal`, now"))
        }
        MasterKey::Pending => pending(&facility),
        MasterKey::Confirm { number } => {
            carry_out(&facility, OfficerOrder::Confirm { number })?;
            eprintln!("confirmed, and carried out");
            Ok(())
        }
        MasterKey::Seal => seal(&facility),
        MasterKey::Show { json } => show(&facility, json),
        MasterKey::Sheet { html } => sheet::run(asked, &facility, html),
    }
}

/// `cryptand unseal`: asks for the passphrase of the sealed copy, and has the keeper unseal the master keys.
pub fn unseal(asked: Option<&Path>) -> Result<(), Failure> {
    let facility = keeper(asked)?;
    // Checked before the prompt: if a passphrase is asked for needlessly, the officer takes it for accepted.
    if !rows(&facility)?.is_empty() {
        return Err(Failure::Officer(OfficerRefusal::AlreadyUnsealed));
    }
    let passphrase = prompt::secret("Passphrase of the master keys: ")?;
    let sealed = sealed(&facility, PURPOSE_PASSPHRASE, passphrase.as_bytes())?;
    done(&facility, OfficerOrder::Unseal { sealed })?;
    eprintln!("unsealed: coprocessors serve secure keys");
    Ok(())
}

/// Puts all complete new keys of a domain into use. True if they are in use at once; false if another officer has to
/// confirm first.
pub fn set(facility: &impl Orders, domain: u16) -> Result<bool, Failure> {
    match (carry_out(facility, OfficerOrder::Set { domain }), rows(facility)) {
        (Err(Failure::Officer(OfficerRefusal::RegisterState)), Ok(rows)) => {
            Err(Failure::RegisterState(incomplete(&rows, domain)))
        }
        (outcome, _) => outcome,
    }
}

/// Why the new keys of a domain cannot be put into use, and the commands that complete them.
fn incomplete(rows: &[RegisterRow], domain: u16) -> String {
    let of_domain = if domain == 0 { String::new() } else { format!(" --domain {domain}") };
    let partial = rows.iter().find(|row| row.domain == domain && row.new_state == NewState::Partial);
    match partial.map(|row| row.register.name()) {
        Some(name) => format!(
            "the new {name} key of domain {domain} lacks its last part: `cryptand master-key load {name} last{of_domain}` \
             completes it, `cryptand master-key clear {name}{of_domain}` gives it up"
        ),
        None => format!(
            "domain {domain} has no new key: `cryptand master-key load REGISTER first{of_domain}` begins one, and another officer's \
             `load REGISTER last{of_domain}` completes it"
        ),
    }
}

/// Refuses to load keys into a home whose own keys are sealed, before anything is drawn, typed or counted. The keeper
/// refuses as well. For a service only the keeper refuses: no other user sees its sealed copy.
fn check_unsealed(asked: Option<&Path>, keeper: &Keeper) -> Result<(), Failure> {
    let Keeper::OfHome(facility) = keeper else { return Ok(()) };
    let holds_keys = |row: &RegisterRow| row.current_pattern.is_some() || row.old_pattern.is_some();
    if session::open_home(asked)?.sealed_registers().exists() && !rows(facility)?.iter().any(holds_keys) {
        return Err(Failure::Officer(OfficerRefusal::NotUnsealed));
    }
    Ok(())
}

/// Asks for a passphrase, twice, and seals the registers under it.
pub fn seal(facility: &impl Orders) -> Result<(), Failure> {
    if rows(facility)?.is_empty() {
        return Err(Failure::RegisterState(
            "no master keys are loaded, so there is nothing to seal: `cryptand unseal` opens those that were sealed, \
             `cryptand master-key load` gives new ones"
                .to_owned(),
        ));
    }
    let passphrase = prompt::until_valid(|| {
        let passphrase = prompt::secret("Passphrase that seals the master keys: ")?;
        if passphrase.chars().count() < PASSPHRASE_CHARACTERS_MIN {
            let text = format!("the passphrase has fewer than {PASSPHRASE_CHARACTERS_MIN} characters");
            return Err(Failure::Usage(text));
        }
        let again = prompt::secret("Once more: ")?;
        if !bool::from(again.as_bytes().ct_eq(passphrase.as_bytes())) {
            return Err(Failure::Usage("the two passphrases differ".to_owned()));
        }
        Ok(passphrase)
    })?;
    let secret = |passphrase: &str| sealed(facility, PURPOSE_PASSPHRASE, passphrase.as_bytes());
    let first = OfficerOrder::SealUnder { sealed: secret(&passphrase)?, former: None };
    let done = match carry_out(facility, first) {
        // Only a user who may read the keeper's folder can see whether there is a sealed copy.
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
    let rows = rows(facility)?;
    if json {
        return print_json(&rows);
    }
    print(&registers(&rows))
}

/// The registers of every domain that holds any key.
pub fn rows(facility: &impl Orders) -> Result<Vec<RegisterRow>, Failure> {
    match facility.order(OfficerOrder::Registers)? {
        OfficerReply::Registers(rows) => Ok(rows),
        OfficerReply::Refused(refusal) => Err(Failure::Officer(refusal)),
        _ => Err(Failure::Unexpected("the registers")),
    }
}

/// The registers as a table for people.
pub fn registers(rows: &[RegisterRow]) -> String {
    table(
        &["domain", "register", "new", "new pattern", "current pattern", "old pattern", "sealed"],
        rows.iter().flat_map(cells).map(Vec::from),
    )
}

/// A register as one line of a table, or as two where a pattern is longer than 8 bytes: domain, register, state of the
/// new register, patterns of the new, the current and the old key, and whether they are sealed.
fn cells(row: &RegisterRow) -> Vec<[String; 7]> {
    let state = match row.new_state {
        NewState::Empty => "empty",
        NewState::Partial => "partial",
        NewState::Full => "full",
    };
    let patterns = [&row.new_pattern, &row.current_pattern, &row.old_pattern].map(halves);
    let [new, current, old] = patterns.each_ref().map(|[first, _]| first.clone());
    let sealed = if row.is_sealed { "yes" } else { "NO" };
    let [domain, register] = [row.domain.to_string(), row.register.name().to_owned()];
    let mut lines = vec![[domain, register, state.to_owned(), new, current, old, sealed.to_owned()]];
    let [new, current, old] = patterns.map(|[_, second]| second);
    if [&new, &current, &old].into_iter().any(|half| !half.is_empty()) {
        let none = String::new;
        lines.push([none(), none(), none(), new, current, old, none()]);
    }
    lines
}

/// The first 8 bytes of a pattern and the rest, in hexadecimal; a dash if there is no pattern.
fn halves(pattern: &Option<MasterKeyPattern>) -> [String; 2] {
    let Some(pattern) = pattern else { return ["-".to_owned(), String::new()] };
    let (first, second) = pattern.bytes().split_at(8);
    [first, second].map(prompt::to_hexadecimal)
}

fn sealed(facility: &impl Orders, purpose: &[u8], secret: &[u8]) -> Result<Sealed, Failure> {
    let key = match facility.order(OfficerOrder::StartupKey)? {
        OfficerReply::StartupKey(key) => key,
        OfficerReply::Refused(refusal) => return Err(Failure::Officer(refusal)),
        _ => return Err(Failure::Unexpected("the keeper's start-up key")),
    };
    officer::seal(&key, purpose, secret).map_err(|_| Failure::Unexpected("the keeper's start-up key"))
}

/// Gives an order and prints whether it is done or waits for another officer's confirmation. True if it is done.
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

/// A receiver of officers' orders.
pub trait Orders {
    /// Gives an order; returns the reply.
    fn order(&self, order: OfficerOrder) -> Result<OfficerReply, FacilityError>;
}

impl Orders for Facility {
    fn order(&self, order: OfficerOrder) -> Result<OfficerReply, FacilityError> {
        self.officer(order)
    }
}

/// The keeper: of a home of one user, reached through its daemon, or of a system service, reached directly.
pub(super) enum Keeper {
    OfHome(Facility),
    OfService {
        keeper: officer::Keeper,
        /// Home of the service's daemon, if the service's file names one.
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

/// The keeper to address: the service's if no home is named, and for every home of the service. The home's own settings
/// are not used for this: its daemon can write them, and could direct officers elsewhere.
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

/// Environment variable that names a service file other than the installed one.
const SERVICE_VARIABLE: &str = "CRYPTAND_SERVICE";

fn done(facility: &impl Orders, order: OfficerOrder) -> Result<(), Failure> {
    match facility.order(order)? {
        OfficerReply::Done => Ok(()),
        OfficerReply::Refused(refusal) => Err(Failure::Officer(refusal)),
        _ => Err(Failure::Unexpected("the keeper")),
    }
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
