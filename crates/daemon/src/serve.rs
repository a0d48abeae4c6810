//! The daemon itself: one thread that waits for clients, cards, the keeper, the storage thread and
//! signals, and handles each event without ever blocking on one of them.
//!
//! | need | module |
//! |---|---|
//! | the sockets that connections come through | [`doors`] |
//! | connections, greetings, requests | [`client`] |
//! | queues: attach, detach, adoption | [`queues`] |
//! | changes of tenants and cards, settings read anew | [`change`] |
//! | tenants: listed, matched again after a change | [`tenants`] |
//! | labels and records | [`records`] |
//! | roles of queues at their cards | [`roles`] |
//! | tenants that cards die with | [`quarantine`] |
//! | who holds queues, and was refused more | [`holders`] |
//! | wrong PINs | [`pins`] |
//! | starting, watching, adopting, stopping processes | [`cards`], [`keeper`] |
//! | older programs replaced by the installed ones | [`replace`] |
//! | opening a home; the order of starting and stopping | [`start`], [`stop`] |

mod audit;
mod cards;
mod change;
mod client;
mod doors;
mod health;
mod holders;
mod keeper;
mod pins;
mod quarantine;
mod queries;
mod queues;
mod ready;
mod records;
mod replace;
mod roles;
mod run_folder;
mod start;
mod stop;
mod successor;
mod tenants;
mod upgrade;

use crate::access::{Access, UserNames};
use crate::audit_log::AuditLog;
use crate::bounded::Allowance;
use crate::card_roles::CardRoles;
use crate::error::DaemonError;
use crate::labels::OpenLabels;
use crate::poller::{Happened, Poller, Source};
use crate::quarantine::{Quarantine, SuspectRow};
use crate::queue_refusals::RefusalCounts;
use crate::rights::RightsTable;
use crate::rows::Rows;
use crate::serials::Serials;
use crate::service::Link;
use crate::storage::Storage;
use crate::supervise::card::{Card, ProcessRow};
use crate::supervise::generations::Generations;
use crate::supervise::keeper::Keeper;
use crate::supervise::program::{FileMark, Program};
use crate::tenants::{AccountRows, Tenants};
use change::Changing;
use client::Client;
use doors::Doors;
use home::{Home, Settings, StoppedBy};
use link::{Accounts, KeyTable, world};
use nix::sys::signal::Signal;
use nix::sys::signalfd::SignalFd;
use pins::Pins;
use queues::{Queue, QueueRow};
use records::Continuation;
use replace::Replacing;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::time::{Duration, Instant};
use wire::control::LevelLimit;

pub use ready::Ready;
pub use start::{StartedBy, check, copy_stopped};

/// A running daemon.
pub struct Daemon {
    home: Home,
    /// The instruction-set limit that this daemon was started with; the settings below have it applied already.
    level: Option<LevelLimit>,
    settings: Settings,
    /// The content of the settings file when it was last read or written.
    filed: Settings,
    access: Access,
    user_names: UserNames,
    tenants: Tenants,
    account_rows: AccountRows,
    rights: RightsTable,
    serials: Serials,
    /// The roles that each card was told of.
    card_roles: BTreeMap<u32, CardRoles>,
    /// The change that is being carried out.
    changing: Option<Changing>,
    program: Program,
    /// The file that this process runs.
    own_program: Option<FileMark>,
    /// Set while a newer program is to replace the daemon.
    replacing: Option<Replacing>,
    poller: Poller,
    doors: Doors,
    signals: SignalFd,
    storage: Storage,
    /// When to ask the store again for other hosts' changes, after it failed to answer.
    outside_again: Option<Instant>,
    continuations: HashMap<u64, Continuation>,
    // Ordered maps: whatever is done to several clients or cards is done in the same order every time.
    clients: BTreeMap<u64, Client>,
    next_client: u64,
    cards: BTreeMap<u32, Card>,
    keeper: Keeper,
    /// Keeper and launcher of the system service that the home belongs to; none for a home of one user.
    service: Option<Link>,
    queues: BTreeMap<u64, Queue>,
    next_queue: u64,
    /// Memory prepared for the next queue.
    spare: Option<queues::Ready>,
    free_rows: Vec<u32>,
    next_row: u32,
    queue_rows: Rows<QueueRow>,
    /// How often bounds kept tenants from a further queue.
    queue_refusals: RefusalCounts,
    process_rows: Rows<ProcessRow>,
    generations: Generations,
    key_table: KeyTable,
    accounts: Accounts,
    labels: OpenLabels,
    /// Whether a connection or a queue ended since entries of absent tenants were last removed.
    someone_left: bool,
    /// Tenants that cards have died with.
    quarantine: Quarantine,
    quarantine_rows: Rows<SuspectRow>,
    /// Number of rows of that file that are in use.
    quarantine_written: u32,
    /// Counts of wrong PINs; `None` if they cannot be kept.
    pins: Option<Pins>,
    /// Coprocessors whose keeper is gone, to be replaced one after the other.
    renewals: Vec<u32>,
    ready: Ready,
    /// Why the start failed; `None` while it may still succeed.
    not_started: Option<String>,
    /// The files of the auditor's lines.
    audit_log: AuditLog,
    /// The allowance of auditor's lines about refused requests.
    refused_lines: Allowance,
    /// The allowance of auditor's lines about what guests did.
    guests_lines: Allowance,
    /// The allowance of auditor's lines about guests within a day, by tenant.
    guests_days: Allowance,
    /// The allowance of log lines that others cause.
    strangers: Allowance,
    /// The allowance of log lines about others that cards cause, by card.
    of_cards: Allowance,
    /// The status line last shown to the service manager.
    shown: health::Shown,
    /// When the home was last backed up, in seconds since 1970.
    backup_unix_s: Option<u64>,
    looked: Instant,
    /// Set once the daemon stops, for good.
    stopping: bool,
    /// Held as long as the daemon lives.
    lock: File,
}

/// How a daemon ended.
#[derive(Debug)]
pub enum Ended {
    /// The daemon was told to stop, and everything that it started has ended.
    Stopped,
    /// The daemon is to execute this program in its own process; cards and keeper keep running.
    Replaced(Program),
}

impl Daemon {
    /// Serves until it is told to stop, and until everything that it started has ended, or until it is replaced.
    ///
    /// # Errors
    /// [`DaemonError::System`] if the daemon cannot wait for events; [`DaemonError::NotServing`] if somebody waits for
    /// the home to serve and it does not begin to.
    pub fn run(mut self) -> Result<Ended, DaemonError> {
        while !self.has_stopped() {
            if self.may_be_replaced()
                && let Some(replacing) = self.replacing.take()
            {
                return Ok(self.leave(replacing));
            }
            let now = world::now();
            let timeout = self.next_time(now).saturating_duration_since(now);
            let happened = self
                .poller
                .wait(timeout)
                .map_err(DaemonError::system("wait for events of", self.home.folder()))?;
            for event in happened {
                self.dispatch(event);
            }
            self.on_time(world::now());
            self.settle();
        }
        let (folder, why) = (self.home.folder().to_owned(), self.not_started.take());
        self.finish();
        why.map_or(Ok(Ended::Stopped), |why| Err(DaemonError::NotServing { folder, why }))
    }

    fn dispatch(&mut self, event: Happened) {
        match event.source {
            Source::Listener(door) => self.accept(door),
            Source::Signals => self.take_signals(),
            Source::Storage => self.take_outcomes(),
            Source::Failures => self.failures_written(),
            Source::Outside => self.ask_outside(),
            Source::Client(client) => self.client_event(client, event),
            Source::CardChannel(index) => self.card_channel_event(index, event),
            Source::CardProcess(index) => self.card_process_event(index),
            Source::KeeperChannel => self.keeper_channel_event(event),
            Source::KeeperProcess => self.keeper_process_event(),
            Source::Owner(row) => self.owner_event(row),
        }
    }

    fn take_signals(&mut self) {
        while let Ok(Some(info)) = self.signals.read_signal() {
            match Signal::try_from(info.ssi_signo as i32) {
                Ok(Signal::SIGCHLD) => self.look_for_stopped(),
                Ok(Signal::SIGTERM | Signal::SIGINT) => {
                    tracing::info!("stopping: told by a signal");
                    self.stop(StoppedBy::Signal);
                }
                Ok(Signal::SIGHUP) => {
                    if let Err(refusal) = self.reload(None) {
                        tracing::error!("the settings were not taken over: {refusal}");
                    }
                }
                _ => {}
            }
        }
    }

    /// Does everything that is due by now.
    fn on_time(&mut self, now: Instant) {
        self.cards_on_time(now);
        self.keeper_on_time(now);
        self.clients_on_time(now);
        if self.doors.on_time(now) {
            self.listen_again();
        }
        self.quarantine_on_time(now);
        self.replacement_on_time(now);
        if self.outside_again.is_some_and(|at| at <= now) {
            self.ask_outside();
        }
        if now.saturating_duration_since(self.looked) >= LOOK_EVERY {
            self.looked = now;
            self.failures_on_time();
            self.tell_left_out();
            self.look_for_stopped();
            self.look_for_stuck(now);
            for card in self.cards.values_mut() {
                if let Some(process) = &mut card.process {
                    process.channel.flush();
                }
            }
            self.listen_again();
        }
    }

    /// When something is due next, at most [`LOOK_EVERY`] after the last look.
    fn next_time(&self, now: Instant) -> Instant {
        let look = self.looked + LOOK_EVERY;
        let times = self.cards.values().filter_map(|card| card.phase.due());
        let times = times.chain(self.keeper.phase.due()).chain(self.change_due()).chain(self.outside_again);
        let times = times.chain(self.doors.due());
        let times = times.chain(self.quarantine.due()).chain(self.replacement_due());
        times.fold(look, Instant::min).max(now)
    }

    /// Takes the steps that follow from the present state, whichever event led to it.
    fn settle(&mut self) {
        self.renew_next();
        self.settle_keeper();
        self.hasten_missed();
        self.settle_change(world::now());
        // A card that is ready but has no master keys yet is about to serve.
        let is_settled = |card: &Card| card.is_settled() && (!card.is_ready() || self.serves(card));
        let is_settled = self.keeper.is_settled() && self.cards.values().all(is_settled);
        if is_settled {
            self.started();
        }
        self.show_health(world::now());
    }

    fn listen_again(&mut self) {
        if !self.stopping {
            self.doors.open(&mut self.poller);
        }
    }
}

/// How often processes are checked that cannot report by themselves that they are suspended or hang:
/// those that an earlier daemon started, and all that make no progress.
const LOOK_EVERY: Duration = Duration::from_millis(500);
