//! Loading a part of a master key, typed or drawn. The register is checked first, so that nobody draws or types a part
//! that would be refused. Before it is loaded, a typed part is typed again, and a drawn part is typed back from the
//! officer's note: if an officer could not give the part again, the key could not be loaded again.

use super::{Orders, part_name, rows, sealed};
use crate::failure::Failure;
use crate::prompt;
use crate::session;
use std::io::{self, IsTerminal};
use subtle::ConstantTimeEq;
use wire::control::{
    NewState, OfficerOrder, OfficerRefusal, OfficerReply, Part, Register, RegisterRow, purpose_of_part,
};
use zeroize::Zeroizing;

/// Where a part comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// An officer types the part twice, on a terminal.
    Terminal,
    /// The part is a line of standard input.
    Lines,
    /// The part is drawn, shown on a terminal, and typed back.
    Drawn,
}

impl Source {
    /// The source that these two flags select.
    pub fn of(random: bool, from_stdin: bool) -> Self {
        match (random, from_stdin) {
            (true, _) => Self::Drawn,
            (false, true) => Self::Lines,
            (false, false) => Self::Terminal,
        }
    }

    /// Refuses if a part could end up in a pipe, a file or a log.
    ///
    /// # Errors
    /// [`Failure::Usage`] names the standard stream that is not a terminal, and the other way to give a part.
    pub fn check(self) -> Result<(), Failure> {
        let elsewhere = "Draw parts elsewhere (`openssl rand -hex 32`, 24 for sym and asym) and give them by --from-stdin";
        match self {
            Self::Terminal if !io::stdin().is_terminal() => Err(Failure::Usage(
                "a part of a master key is typed on a terminal, and standard input is none; --from-stdin reads parts as \
                 lines of it all the same"
                    .to_owned(),
            )),
            Self::Drawn if !io::stdin().is_terminal() => Err(Failure::Usage(format!(
                "a part that is drawn is typed back on a terminal, and standard input is none. {elsewhere}"
            ))),
            Self::Terminal | Self::Drawn if !io::stderr().is_terminal() => Err(Failure::Usage(format!(
                "what officers are shown is shown on a terminal, and standard error is none: a part that is drawn would stay in \
                 a file or a pipe. {elsewhere}"
            ))),
            _ => Ok(()),
        }
    }
}

/// A part of a master key: the domain and the register that take it, and which part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterPart {
    /// The domain's number.
    pub domain: u16,
    /// The register that takes the part.
    pub register: Register,
    /// Which part of the key: first, middle or last.
    pub part: Part,
}

impl RegisterPart {
    fn question(&self) -> String {
        let Self { domain, register, part } = *self;
        let (name, part, length) = (register.name(), part_name(part), register.key_bytes());
        format!("Domain {domain}, {name}, {part} part ({length} bytes): ")
    }
}

/// Asks an officer for one part and loads it; `to_draw` is the command that draws one instead.
///
/// # Errors
/// [`Failure::Usage`] for what was typed; [`Failure::RegisterState`] and [`Failure::Officer`] where the part is not
/// taken, before anything was asked for or drawn where that is known.
pub fn load(
    facility: &impl Orders,
    wanted: RegisterPart,
    source: Source,
    to_draw: &str,
) -> Result<(), Failure> {
    source.check()?;
    may_load(facility, wanted)?;
    let bytes = match source {
        Source::Terminal => typed(wanted, to_draw)?,
        Source::Lines => line(wanted)?,
        Source::Drawn => drawn(wanted)?,
    };
    let RegisterPart { domain, register, part } = wanted;
    let sealed = sealed(facility, &purpose_of_part(domain, register, part), &bytes)?;
    match facility.order(OfficerOrder::LoadPart { domain, register, part, sealed })? {
        OfficerReply::PartLoaded { part_pattern, key_pattern } => {
            eprintln!("  pattern of this part: {}", prompt::to_hexadecimal(part_pattern.bytes()));
            if let Some(pattern) = key_pattern {
                eprintln!("  pattern of the whole key: {}", prompt::to_hexadecimal(pattern.bytes()));
            }
            Ok(())
        }
        OfficerReply::Refused(refusal) => Err(why_not(facility, wanted, refusal)),
        _ => Err(Failure::Unexpected("master-key load")),
    }
}

fn may_load(facility: &impl Orders, wanted: RegisterPart) -> Result<(), Failure> {
    let RegisterPart { domain, register, part } = wanted;
    match facility.order(OfficerOrder::MayLoad { domain, register, part })? {
        OfficerReply::Done => Ok(()),
        OfficerReply::Refused(refusal) => Err(why_not(facility, wanted, refusal)),
        _ => Err(Failure::Unexpected("master-key load")),
    }
}

fn why_not(facility: &impl Orders, wanted: RegisterPart, refusal: OfficerRefusal) -> Failure {
    match (refusal, rows(facility)) {
        (OfficerRefusal::RegisterState, Ok(rows)) => Failure::RegisterState(state(&rows, wanted)),
        _ => Failure::Officer(refusal),
    }
}

/// Why the register does not take this part, and what it takes.
fn state(rows: &[RegisterRow], wanted: RegisterPart) -> String {
    let name = wanted.register.name();
    let domain = wanted.domain;
    let of_domain = if domain == 0 { String::new() } else { format!(" --domain {domain}") };
    let found = rows.iter().find(|row| row.domain == domain && row.register == wanted.register);
    match found.map_or(NewState::Empty, |row| row.new_state) {
        NewState::Empty => format!(
            "the {name} register of domain {domain} has no first part yet: `cryptand master-key load {name} first{of_domain}`"
        ),
        NewState::Partial => format!(
            "the {name} register of domain {domain} has its first part already: `cryptand master-key load {name} \
             last{of_domain}` completes it, `cryptand master-key clear {name}{of_domain}` begins anew"
        ),
        NewState::Full => format!(
            "the new {name} key of domain {domain} is complete: `cryptand master-key set{of_domain}` puts it into use, \
             `cryptand master-key clear {name}{of_domain}` begins anew"
        ),
    }
}

/// Asks once for a part in hexadecimal digits, of the register's length.
fn once(question: &str, wanted: RegisterPart, when_empty: &str) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let bytes = prompt::hexadecimal(&prompt::secret(question)?)?;
    let (name, length, given) = (wanted.register.name(), wanted.register.key_bytes(), bytes.len());
    match given {
        0 => Err(Failure::Usage(when_empty.to_owned())),
        _ if given != length => {
            Err(Failure::Usage(format!("a part of {name} has {length} bytes, not {given}")))
        }
        _ => Ok(bytes),
    }
}

fn line(wanted: RegisterPart) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let name = wanted.register.name();
    let empty = format!("an empty line in the place of a part of {name}: nothing is drawn with --from-stdin");
    once(&wanted.question(), wanted, &empty)
}

fn typed(wanted: RegisterPart, to_draw: &str) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let empty = format!(
        "nothing was typed, and nothing is drawn unasked: type the part; or end this with Ctrl-C, and draw one with `{to_draw}`"
    );
    prompt::until_valid(|| {
        let bytes = once(&wanted.question(), wanted, &empty)?;
        let again = once("  The same once more: ", wanted, "the second time nothing was typed")?;
        if bool::from(bytes.ct_eq(&again)) {
            Ok(bytes)
        } else {
            Err(Failure::Usage("the two differ, and nothing was loaded: type the part".to_owned()))
        }
    })
}

fn drawn(wanted: RegisterPart) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let mut bytes = Zeroizing::new(vec![0; wanted.register.key_bytes()]);
    session::engine()?.random(&mut bytes);
    loop {
        let digits = Zeroizing::new(prompt::to_hexadecimal(&bytes));
        eprintln!("{}\n  drawn, keep it: {}", wanted.question(), *digits);
        prompt::hand_over("  Note it, then press Enter: the screen is cleared, and you type it back. ")?;
        match once(&format!("{}typed back: ", wanted.question()), wanted, "nothing was typed") {
            Ok(back) if bool::from(back.ct_eq(&bytes)) => return Ok(bytes),
            Ok(_) => eprintln!("  that is not what was drawn; nothing was loaded, here it is again"),
            Err(Failure::Usage(why)) => eprintln!("  {why}; nothing was loaded, here it is again"),
            Err(failure) => return Err(failure),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_register_that_refuses_says_what_it_takes() {
        let wanted = |domain| RegisterPart { domain, register: Register::Aes, part: Part::First };
        let row = |new_state| RegisterRow {
            domain: 2,
            register: Register::Aes,
            new_state,
            new_pattern: None,
            current_pattern: None,
            old_pattern: None,
            is_sealed: true,
        };
        for (state_of, expected) in [
            (NewState::Empty, "load aes first --domain 2"),
            (NewState::Partial, "load aes last --domain 2"),
            (NewState::Full, "set --domain 2"),
        ] {
            let said = state(&[row(state_of)], wanted(2));
            assert!(said.contains(expected), "{said}");
        }
        // Of a domain that holds nothing there are no rows.
        let said = state(&[row(NewState::Full)], wanted(0));
        assert!(said.contains("`cryptand master-key load aes first`"), "{said}");
    }
}
