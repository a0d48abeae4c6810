//! The risky settings of a backup: those that let others in, or are weaker than in a new home.
//! `restore` asks about each.

use crate::args::{Carried, Restore};
use crate::failure::Failure;
use crate::prompt;
use home::{Access, PointItem, Settings};
use std::io::{self, IsTerminal};
use wire::control::{TokenForm, TokenForms};

impl Carried {
    const ALL: [Self; 5] = [Self::Access, Self::Legacy, Self::Compatible, Self::Weak, Self::Development];

    fn name(self) -> &'static str {
        match self {
            Self::Access => "access",
            Self::Legacy => "legacy",
            Self::Compatible => "compatible",
            Self::Weak => "weak",
            Self::Development => "development",
        }
    }

    /// This setting's description in the home's settings; `None` if the settings lack it.
    fn found(self, settings: &Settings) -> Option<String> {
        match self {
            Self::Access => {
                let Access { users, groups, observers, role } = &settings.access;
                let lists = [("users", users), ("groups", groups), ("observers", observers)];
                let mut named: Vec<String> = lists
                    .into_iter()
                    .filter(|(_, names)| !names.is_empty())
                    .map(|(list, names)| format!("{list} {}", names.join(", ")))
                    .collect();
                named.extend(role.iter().map(|role| format!("role {role}")));
                (!named.is_empty())
                    .then(|| format!("[access] lets others use the home: {}", named.join("; ")))
            }
            Self::Legacy => {
                let roles: Vec<_> =
                    settings.roles.iter().filter(|role| role.allow.iter().any(is_legacy)).collect();
                let names: Vec<_> = roles.iter().map(|role| role.name.as_str()).collect();
                let said = "roles permit what undoes the one purpose of RSA keys (legacy):";
                (!names.is_empty()).then(|| format!("{said} {}", names.join(", ")))
            }
            Self::Compatible => {
                let opens = settings.tokens.open_compatible || settings.tokens.form == TokenForm::Compatible;
                let said = "[tokens] opens compatible tokens, of which parts can be put together";
                opens.then(|| said.to_owned())
            }
            Self::Weak => {
                let said = "weak_algorithms serves single DES, MD5 and RSA below 1024 bits";
                settings.weak_algorithms.then(|| said.to_owned())
            }
            Self::Development => settings.development.map(|development| {
                let seed = development.insecure_seed;
                format!("[development] derives the master keys from {seed}: anyone can compute them")
            }),
        }
    }

    fn leave_out(self, settings: &mut Settings) {
        match self {
            Self::Access => settings.access = Access::default(),
            Self::Legacy => {
                settings.roles.iter_mut().for_each(|role| role.allow.retain(|item| !is_legacy(item)));
            }
            Self::Compatible => {
                settings.tokens = TokenForms { form: TokenForm::Authenticated, open_compatible: false };
            }
            Self::Weak => settings.weak_algorithms = false,
            Self::Development => settings.development = None,
        }
    }
}

fn is_legacy(item: &PointItem) -> bool {
    item.points().iter().any(|point| point.entry().group.is_legacy())
}

/// Asks for each risky setting that the home brings whether to keep it, and removes the declined ones. Settings that
/// options decide are not asked about. If no terminal can ask, this fails and changes nothing.
pub fn decide(settings: &mut Settings, typed: &Restore) -> Result<(), Failure> {
    let found: Vec<(Carried, String)> =
        Carried::ALL.into_iter().filter_map(|carried| Some((carried, carried.found(settings)?))).collect();
    let is_said =
        |carried: &Carried| typed.yes || typed.keep.contains(carried) || typed.leave_out.contains(carried);
    let open: Vec<_> = found.iter().filter(|(carried, _)| !is_said(carried)).collect();
    if !open.is_empty() && !io::stdin().is_terminal() {
        let list: String =
            open.iter().map(|(carried, said)| format!("\n  {}: {said}", carried.name())).collect();
        let names: Vec<_> = open.iter().map(|(carried, _)| carried.name()).collect();
        let names = names.join(",");
        return Err(Failure::Usage(format!(
            "the backup has settings that nobody can be asked about here, nothing was restored; \
             --keep {names} takes them over, --leave-out {names} does not:{list}"
        )));
    }
    for (carried, said) in &found {
        let leaves_out = if is_said(carried) {
            typed.leave_out.contains(carried)
        } else {
            match prompt::confirm(&format!("{said}. Keep it?"), false) {
                Ok(()) => false,
                Err(Failure::Declined) => true,
                Err(failure) => return Err(failure),
            }
        };
        if leaves_out {
            carried.leave_out(settings);
        }
        eprintln!("{}: {}", if leaves_out { "left out" } else { "kept" }, said);
    }
    Ok(())
}
