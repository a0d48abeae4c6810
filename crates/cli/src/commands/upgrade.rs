//! `cryptand upgrade`: replaces processes of a home that run older programs by the installed ones, while requests run.
//!
//! ```text
//! versions compared, programs compared with their manifest -> the keeper, which hands its keys over -> each card
//!   -> the daemon, in its own process
//! ```
//! The keeper is first, so that each card is replaced only once: a card that has its keys from the previous keeper
//! would miss changes of them. If it is interrupted, the processes still work together, and the next run does the rest.

use super::unsealed;
use crate::args::Upgrade as Typed;
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::session;
use facility::{Facility, FacilityError};
use serde::Serialize;
use std::path::Path;
use std::process::Command;
use wire::control::{CONTROL_VERSION, Outdated, Personality, Refusal, Status, Upgrade};

/// The result of the upgrade, as JSON prints it.
#[derive(Default, Serialize)]
struct Outcome {
    dry_run: bool,
    /// Processes that were replaced; with `dry_run`, those that would be.
    replaced: Vec<String>,
    /// Processes that run on, each with the reason.
    kept: Vec<Kept>,
}

/// A process that was not replaced.
#[derive(Serialize)]
struct Kept {
    process: String,
    cause: String,
}

/// Replaces the processes that run an older program.
pub fn run(asked: Option<&Path>, typed: &Typed) -> Result<(), Failure> {
    let &Typed { dry_run, lose_keys, json } = typed;
    let home = session::open_home(asked)?;
    home.check_trust()?;
    let programs = home.settings()?.programs;
    let facility = session::connect(asked)?;
    // The running daemon has greeted this program, so its version is the one that the installed programs must have.
    for program in [&programs.daemon, &programs.card] {
        same_version(program)?;
    }
    let status = facility.status()?;
    if let Some(apart) = &status.apart {
        return Err(Failure::Upgrade(format!(
            "{}: keeper and cards run as users of their own ({}, {}), in units that a service manager starts: `systemctl restart \
             cryptand-keeper cryptand-launcher cryptand`, then `cryptand unseal` as an officer; clients wait meanwhile",
            home.folder().display(),
            apart.keeper,
            apart.cards
        )));
    }
    // If a keeper dies while handing its keys over, unsealed keys are lost.
    if status.outdated.keeper && !dry_run && !lose_keys {
        unsealed::check(&status, "replacing the keeper risks them")?;
    }
    facility.upgrade(Upgrade::Check)?;
    let mut outcome = Outcome { dry_run, ..Outcome::default() };
    if dry_run {
        outcome.replaced = steps(&status, status.outdated.keeper).into_iter().map(name).collect();
    } else {
        replace(&facility, &status, lose_keys, &mut outcome)?;
    }
    match json {
        true => print_json(&outcome),
        false => print(&text(&outcome)),
    }
}

fn replace(
    facility: &Facility,
    status: &Status,
    lose_keys: bool,
    outcome: &mut Outcome,
) -> Result<(), Failure> {
    let mut keeper = status.outdated.keeper;
    if keeper {
        eprintln!("the keeper ...");
        let step = Upgrade::Keeper { lose_keys };
        match facility.upgrade(step) {
            Ok(()) => outcome.replaced.push(name(step)),
            // The previous keeper stays: cards and daemon can work with it, since its version is the same.
            Err(FacilityError::Refused {
                refusal: refusal @ (Refusal::Invalid(_) | Refusal::Storage { .. } | Refusal::NoKeeper),
                ..
            }) => {
                keeper = false;
                let cause =
                    format!("{refusal}; it stays, and after a restart of its own it needs `cryptand unseal`");
                outcome.kept.push(Kept { process: name(step), cause });
            }
            Err(error) => return Err(error.into()),
        }
    }
    for step in steps(status, keeper) {
        if matches!(step, Upgrade::Keeper { .. }) {
            continue;
        }
        eprintln!("{} ...", name(step));
        facility.upgrade(step)?;
        outcome.replaced.push(name(step));
    }
    let Outdated { daemon, keeper, cards } = facility.status()?.outdated;
    if daemon || !cards.is_empty() || (keeper && outcome.kept.is_empty()) {
        let why =
            "programs were installed meanwhile, or a process did not follow: run `cryptand upgrade` again";
        return Err(Failure::Upgrade(why.to_owned()));
    }
    Ok(())
}

/// The processes to replace, in order. With the keeper, every coprocessor is replaced: otherwise it would not get
/// changes of the new keeper's keys.
fn steps(status: &Status, keeper: bool) -> Vec<Upgrade> {
    let outdated = &status.outdated;
    let is_meant = |card: &&wire::control::CardRow| {
        outdated.cards.contains(&card.index) || (keeper && card.personality == Personality::Coprocessor)
    };
    let cards = status.cards.iter().filter(is_meant).map(|card| Upgrade::Card { card: card.index });
    let first = keeper.then_some(Upgrade::Keeper { lose_keys: false }).into_iter();
    first.chain(cards).chain(outdated.daemon.then_some(Upgrade::Daemon)).collect()
}

/// Refuses an installed program with another version of the control protocol: it could not work with the running ones.
fn same_version(program: &Path) -> Result<(), Failure> {
    home::trust::file(program)?;
    let said = Command::new(program).arg("--version").env_clear().output();
    let said = said.map_err(Failure::io(format!("run {}", program.display())))?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let protocol = text.lines().find_map(|line| line.strip_prefix("control protocol "));
    if protocol.and_then(|number| number.parse().ok()) == Some(CONTROL_VERSION) {
        return Ok(());
    }
    let version = protocol.unwrap_or("an earlier one, which it does not name");
    Err(Failure::Upgrade(format!(
        "{}: it speaks version {version} of the control protocol, what runs speaks {CONTROL_VERSION}: they cannot run side by \
         side, and nothing was changed. Stop the home and start it: `cryptand stop`, `cryptand serve` (or restart its unit), \
         `cryptand unseal`; clients of the other version are refused",
        program.display()
    )))
}

fn name(step: Upgrade) -> String {
    match step {
        Upgrade::Check => "the installed programs".to_owned(),
        Upgrade::Keeper { .. } => "keeper".to_owned(),
        Upgrade::Card { card } => format!("card {card}"),
        Upgrade::Daemon => "daemon".to_owned(),
    }
}

fn text(outcome: &Outcome) -> String {
    let mut text = match (outcome.replaced.is_empty(), outcome.dry_run) {
        (true, _) if outcome.kept.is_empty() => "every process runs the installed program\n".to_owned(),
        (true, _) => String::new(),
        (false, true) => format!("to be replaced: {}\n", outcome.replaced.join(", ")),
        (false, false) => format!("replaced: {}\n", outcome.replaced.join(", ")),
    };
    for Kept { process, cause } in &outcome.kept {
        text.push_str(&format!("{process}: not replaced: {cause}\n"));
    }
    text
}
