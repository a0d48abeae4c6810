//! `cryptand master-key` and `cryptand unseal`: what officers do. Parts and passphrases leave this
//! process only sealed to the keeper's start-up key.

use super::{print, print_json, table};
use crate::args::{MasterKey, PartName, RegisterName};
use crate::failure::Failure;
use crate::prompt;
use crate::session;
use facility::{Facility, officer};
use std::io::{self, IsTerminal};
use std::path::Path;
use wire::control::{
    NewState, OfficerOrder, OfficerReply, PURPOSE_PART, PURPOSE_PASSPHRASE, Part, Register, RegisterRow,
    Sealed,
};
use zeroize::Zeroizing;

/// Shortest passphrase that seals master keys, in characters.
const PASSPHRASE_CHARACTERS_MIN: usize = 12;

/// `cryptand master-key`.
pub fn run(asked: Option<&Path>, order: &MasterKey) -> Result<(), Failure> {
    let facility = session::connect(asked)?;
    match *order {
        MasterKey::Load { register, part, domain, random, from_stdin } => {
            let source = if random { Source::Drawn } else { Source::typed(from_stdin) };
            load_part(&facility, domain, register.into(), part.into(), source)
        }
        MasterKey::Clear { register, domain } => {
            done(&facility, OfficerOrder::ClearNew { domain, register: register.into() })
        }
        MasterKey::Set { domain } => {
            set(&facility, domain)?;
            eprintln!("set; seal the new keys with `cryptand master-key seal`");
            Ok(())
        }
        MasterKey::Seal => seal(&facility),
        MasterKey::Show { json } => show(&facility, json),
    }
}

/// `cryptand unseal`.
pub fn unseal(asked: Option<&Path>) -> Result<(), Failure> {
    let facility = session::connect(asked)?;
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
    facility: &Facility,
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
    let sealed = sealed(facility, PURPOSE_PART, &bytes)?;
    match facility.officer(OfficerOrder::LoadPart { domain, register, part, sealed })? {
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
pub fn set(facility: &Facility, domain: u16) -> Result<(), Failure> {
    done(facility, OfficerOrder::Set { domain })
}

/// Asks for a passphrase, twice, and seals the registers under it.
pub fn seal(facility: &Facility) -> Result<(), Failure> {
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
    let sealed = sealed(facility, PURPOSE_PASSPHRASE, passphrase.as_bytes())?;
    done(facility, OfficerOrder::SealUnder { sealed })?;
    eprintln!("sealed");
    Ok(())
}

fn show(facility: &Facility, json: bool) -> Result<(), Failure> {
    let rows = match facility.officer(OfficerOrder::Registers)? {
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
        &["domain", "register", "new", "new pattern", "current pattern", "old pattern"],
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
            ]
        }),
    )
}

fn sealed(facility: &Facility, purpose: &[u8], secret: &[u8]) -> Result<Sealed, Failure> {
    let key = match facility.officer(OfficerOrder::StartupKey)? {
        OfficerReply::StartupKey(key) => key,
        OfficerReply::Refused(refusal) => return Err(Failure::Officer(refusal)),
        _ => return Err(Failure::Unexpected("the keeper's start-up key")),
    };
    officer::seal(&key, purpose, secret).map_err(|_| Failure::Unexpected("the keeper's start-up key"))
}

fn done(facility: &Facility, order: OfficerOrder) -> Result<(), Failure> {
    match facility.officer(order)? {
        OfficerReply::Done => Ok(()),
        OfficerReply::Refused(refusal) => Err(Failure::Officer(refusal)),
        _ => Err(Failure::Unexpected("the keeper")),
    }
}

fn register_name(register: Register) -> &'static str {
    match register {
        Register::Sym => "sym",
        Register::Asym => "asym",
        Register::Aes => "aes",
        Register::Apka => "apka",
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
