//! Replacing a keeper of an older program by one of the installed program.
//!
//! ```text
//! started --Ready--> asked to take over --Ready, the same keys--> the keeper; the older one ends
//!    '---- anything else: it is ended, and the older one stays
//! ```
//! The daemon waits for both keepers, as long as a program takes to start. Cards serve meanwhile, and no order can
//! change the keys between their handing over and the check. What passes between the keepers does not pass through the
//! daemon.

use super::keeper::KEEPER_ROW;
use super::{Daemon, Source};
use crate::outbox::Outbox;
use crate::poller::Interest;
use crate::supervise::card::{Phase, ProcessRow, Running};
use crate::supervise::process::Identity;
use link::{Channel, Listener, PidFd, world};
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;
use wire::control::{CONTROL_VERSION, Isolation, KeeperNotice, KeeperOrder, NewState, Refusal, RegisterRow};

struct Successor {
    identity: Identity,
    pidfd: PidFd,
    channel: Channel,
    registers: Vec<RegisterRow>,
    isolation: Isolation,
}

impl Daemon {
    /// Replaces the keeper by one of the installed program that has the same keys; on an error the older keeper stays.
    pub(super) fn replace_keeper(&mut self) -> Result<(), Refusal> {
        let keeper = &self.keeper;
        if !keeper.is_serving() {
            return Err(Refusal::NoKeeper);
        }
        let is_at_work =
            !keeper.asks.is_empty() || !keeper.spreading.is_empty() || !keeper.awaiting.is_empty();
        if is_at_work || keeper.held.is_some() {
            return Err(Refusal::Invalid("the keeper is at work for an officer or a card; ask again".into()));
        }
        if keeper.registers.iter().any(|row| row.new_state != NewState::Empty) {
            return Err(Refusal::Invalid(LOADING.into()));
        }
        let path = self.home.run().join("keeper-next.sock");
        let started = self.program.mark();
        let successor = self.successor(&path).map_err(|cause| Refusal::Storage {
            operation: "start the next keeper; the older one was left alone".into(),
            cause: cause.to_string(),
        })?;
        let Successor { identity, pidfd, channel, registers, isolation } = successor;
        // From here on a later daemon meets the successor; the older keeper ends with the connection to this daemon.
        let generation = self.keeper.generation + 1;
        let row = ProcessRow {
            identity,
            generation,
            card: None,
            keeper: Some(self.keeper.wanted),
            keeper_generation: generation,
            restarts: 0,
            program: started,
        };
        let placed = std::fs::rename(&path, self.home.keeper_listener());
        if let Err(error) = placed.and_then(|()| self.process_rows.write(KEEPER_ROW, &row)) {
            tracing::warn!("a later daemon will not find the keeper: {error}");
        }
        if let Some(mut older) = self.keeper.process.take() {
            self.poller.forget(&older.channel);
            self.poller.forget(&older.pidfd);
            older.channel.send(KeeperOrder::Stop, Vec::new());
            if !older.pidfd.wait_dead(Some(END_WAIT)).unwrap_or(false) {
                let _ = older.pidfd.kill();
                let _ = older.pidfd.wait_dead(Some(END_WAIT));
            }
            let _ = older.pidfd.reap();
        }
        let now = world::now();
        let watched = self.poller.watch(&channel, Source::KeeperChannel, Interest::Reading);
        let watched =
            watched.and_then(|()| self.poller.watch(&pidfd, Source::KeeperProcess, Interest::Reading));
        tracing::info!(pid = identity.pid, generation, "keeper replaced, with its master keys");
        let mut process = Running::new(identity, pidfd, Outbox::new(channel), now);
        process.serving = Some(now);
        let keeper = &mut self.keeper;
        (keeper.generation, keeper.phase) = (generation, Phase::Serving);
        (keeper.running_as, keeper.program) = (Some(keeper.wanted), started);
        (keeper.registers, keeper.isolation) = (registers, isolation);
        keeper.cards.clear();
        keeper.process = Some(process);
        if let Err(error) = watched {
            self.kill_keeper(&format!("it is not watched: {error}"), now);
        }
        Ok(())
    }

    /// Starts the next keeper, which has the keys of this one when this returns.
    fn successor(&mut self, path: &std::path::Path) -> io::Result<Successor> {
        let wanted = self.keeper.wanted;
        let listener = Listener::bind(path)?;
        let (channel, theirs) = Channel::pair()?;
        let log = self.home.logs().join("keeper.log");
        let started = self.program.start(&["--keeper"], theirs.into_fd(), self.settings.cards.level, &log)?;
        let outcome = (|| {
            let pidfd = PidFd::open(started.pid)?;
            let identity = Identity::of(started.pid).ok_or(io::ErrorKind::NotFound)?;
            let start = KeeperOrder::Start {
                version: CONTROL_VERSION,
                domains: wanted.domains,
                insecure_seed: wanted.insecure_seed,
                service: false,
                // The successor gets its keys from the keeper before.
                unattended: None,
            };
            let (mut registers, isolation) = ask(&channel, &start, &listener)?;
            if wanted.insecure_seed.is_none() {
                let (from, to) = Channel::pair()?;
                if let Some(process) = &mut self.keeper.process {
                    process.channel.send(KeeperOrder::HandOver, vec![to.into_fd()]);
                }
                (registers, _) = ask(&channel, &KeeperOrder::TakeOver, &from)?;
            }
            if !are_same(&registers, &self.keeper.registers) {
                return Err(io::Error::other("it did not get the master keys"));
            }
            Ok(Successor { identity, pidfd, channel, registers, isolation })
        })();
        if outcome.is_err() {
            started.abandon();
            let _ = std::fs::remove_file(path);
        }
        outcome
    }
}

/// Sends an order to a keeper that serves nobody yet, and waits until it is ready.
fn ask(
    channel: &Channel,
    order: &KeeperOrder,
    descriptor: &impl AsFd,
) -> io::Result<(Vec<RegisterRow>, Isolation)> {
    channel.send(order, &[descriptor.as_fd()]).map_err(io::Error::other)?;
    match channel.recv_timeout::<KeeperNotice>(READY_WAIT) {
        Ok((KeeperNotice::Ready { registers, isolation, .. }, _)) => Ok((registers, isolation)),
        Ok(_) => Err(io::Error::other("it answers what was not asked")),
        Err(error) => Err(io::Error::other(error)),
    }
}

/// Whether two lists of registers hold the same keys, by their patterns.
fn are_same(rows: &[RegisterRow], others: &[RegisterRow]) -> bool {
    let held = |row: &&RegisterRow| row.current_pattern.is_some() || row.old_pattern.is_some();
    let key = |row: &RegisterRow| (row.domain, row.register, row.current_pattern, row.old_pattern);
    rows.iter().filter(held).map(key).eq(others.iter().filter(held).map(key))
}

const LOADING: &str = "a new master key is being loaded, whose parts are not handed over: set or clear it first (`cryptand \
    master-key`), or leave the keeper as it is";
/// How long the next keeper may take to become ready.
const READY_WAIT: Duration = Duration::from_secs(10);
/// How long the older keeper may take to end.
const END_WAIT: Duration = Duration::from_secs(2);
