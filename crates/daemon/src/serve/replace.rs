//! Replacing processes that run an older program than the installed one, while requests run.
//!
//! ```text
//! check --> the keeper, its keys handed over --> each card, one after the other --> the daemon, in its own process
//! ```
//! An administrator's command orders each step after the previous one was answered: nothing here continues by itself,
//! and whatever ends in between leaves older and newer processes of one version of the control protocol, which work
//! together.
//!
//! The daemon goes last. Requests under way are finished first; requests that come meanwhile are refused as
//! [`Refusal::Stopping`], and clients ask the next daemon. That daemon is the installed program in this very process: a
//! service manager sees no end, and cards and keeper are met as after a daemon that was killed.

use super::change::{Awaits, Changing};
use super::{Daemon, Doors, Ended};
use crate::supervise::card::Card;
use crate::supervise::program::{FileMark, Program};
use home::StoppedBy;
use link::world;
use std::time::{Duration, Instant};
use wire::control::{ClientReply, Outdated, Refusal, Upgrade};

/// A replacement of the daemon by the installed program that is about to happen.
pub(super) struct Replacing {
    client: u64,
    program: Program,
    until: Instant,
}

impl Replacing {
    /// The client that asked for the replacement.
    pub(super) fn client(&self) -> u64 {
        self.client
    }
}

impl Daemon {
    /// Begins a step of an upgrade.
    pub(super) fn upgrade(&mut self, client: u64, step: Upgrade) -> Result<(), Refusal> {
        if self.service.is_some() && step != Upgrade::Daemon && step != Upgrade::Check {
            return Err(Refusal::Invalid(UNITS.into()));
        }
        if self.changing.is_some() || self.replacing.is_some() {
            return Err(Refusal::Invalid(
                "another change is being carried out; try again when it is done".into(),
            ));
        }
        match step {
            Upgrade::Check => {
                self.open_installed()?;
                self.reply(client, &ClientReply::Done, &[]);
            }
            Upgrade::Card { card } => {
                (self.program, _) = self.open_installed()?;
                let before = self.cards.get(&card).filter(|card| card.wanted.is_some());
                let before = before.ok_or(Refusal::NoSuchCard)?;
                let generation = before.generation;
                if before.process.is_none() {
                    // The card is started from the installed program anyway, whenever it is started.
                    self.reply(client, &ClientReply::Done, &[]);
                    return Ok(());
                }
                tracing::info!(card, "replaced: by the installed program");
                let until = world::now() + super::change::CHANGE_WAIT;
                self.changing =
                    Some(Changing { client, awaits: Awaits::Successor { card, generation }, until });
                self.stop_card(card);
            }
            Upgrade::Keeper { lose_keys } => {
                let (program, _) = self.open_installed()?;
                // The keeper hands its keys over, or stays; but if it died meanwhile its keys would be lost.
                self.may_end_keeper(lose_keys, "replacing the keeper risks them")?;
                self.program = program;
                self.replace_keeper()?;
                self.reply(client, &ClientReply::Done, &[]);
            }
            Upgrade::Daemon => {
                let (_, program) = self.open_installed()?;
                self.replacing = Some(Replacing { client, program, until: world::now() + FINISH_WAIT });
            }
        }
        Ok(())
    }

    /// Opens the installed card program and the installed daemon.
    fn open_installed(&self) -> Result<(Program, Program), Refusal> {
        let programs = &self.settings.programs;
        let open = |path| {
            Program::open(path, programs.manifest.as_deref()).map_err(|error| Refusal::Storage {
                operation: "open the installed programs".into(),
                cause: error.to_string(),
            })
        };
        Ok((open(&programs.card)?, open(&programs.daemon)?))
    }

    /// Whether the daemon is to be replaced, and nothing is in progress that the next daemon could not continue.
    pub(super) fn may_be_replaced(&self) -> bool {
        self.replacing.is_some() && self.is_idle()
    }

    /// Whether nothing is in progress at the key store, the keeper or a card.
    fn is_idle(&self) -> bool {
        let keeper = &self.keeper;
        self.continuations.is_empty()
            && self.changing.is_none()
            && keeper.asks.is_empty()
            && keeper.held.is_none()
            && keeper.spreading.is_empty()
            && self.cards.values().all(|card| card.is_settled() && is_told(card))
    }

    /// Abandons a replacement if the operations in progress do not end.
    pub(super) fn replacement_on_time(&mut self, now: Instant) {
        if let Some(replacing) = self.replacing.take_if(|replacing| replacing.until <= now) {
            let why = "earlier requests to the daemon take too long; try again when they are done";
            self.refuse(replacing.client, Refusal::Invalid(why.into()));
        }
    }

    /// When the replacement of the daemon is given up.
    pub(super) fn replacement_due(&self) -> Option<Instant> {
        self.replacing.as_ref().map(|replacing| replacing.until)
    }

    /// Ends like a killed daemon: cards and keeper keep running, for the next daemon.
    pub(super) fn leave(mut self, Replacing { client, program, .. }: Replacing) -> Ended {
        // Until the next daemon has the lock, no program is to start another one.
        if let Err(error) = self.home.note_stopped(world::unix_ms() / 1000, StoppedBy::Signal) {
            tracing::warn!("programs may start the next daemon by themselves: {error}");
        }
        self.doors.close(&mut self.poller);
        Doors::remove(&self.home);
        self.reply(client, &ClientReply::Done, &[]);
        self.refuse_unread();
        tracing::info!("replaced by the installed program, in this process");
        Ended::Replaced(program)
    }

    /// The processes that run other programs than the installed ones. In a system service only the daemon is reported:
    /// it does not start the others.
    pub(super) fn outdated(&self) -> Outdated {
        let programs = &self.settings.programs;
        let (card, daemon) = (FileMark::at(&programs.card), FileMark::at(&programs.daemon));
        let is_other = |runs: Option<FileMark>, installed| {
            runs.is_some_and(|runs| Some(runs) != installed) && self.service.is_none()
        };
        let runs = |of: &&Card| of.process.is_some() && is_other(of.program, card);
        Outdated {
            daemon: self.own_program.is_some_and(|own| Some(own) != daemon),
            keeper: self.keeper.process.is_some() && is_other(self.keeper.program, card),
            cards: self.cards.values().filter(runs).map(|card| card.index).collect(),
        }
    }
}

/// Whether no order of the daemon is still in flight to the card.
fn is_told(card: &Card) -> bool {
    card.process.as_ref().is_none_or(|process| process.channel.is_empty())
}

/// Keeper, launcher and cards of a system service are not the daemon's to replace.
const UNITS: &str = "keeper and cards of a system service are started by units of their own: `systemctl restart cryptand-keeper \
    cryptand-launcher cryptand`, then `cryptand unseal` as an officer";
/// How long requests under way may take before the replacement of the daemon is given up.
const FINISH_WAIT: Duration = Duration::from_secs(60);
