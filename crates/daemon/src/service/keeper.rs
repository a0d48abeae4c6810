//! The program `cryptand-keeper`: admits cards and officers, by their user ids, to the process that holds the master
//! keys.
//!
//! ```text
//!   card.sock     the cards' user     connection handed on: registers go to it, and to nothing else
//!   officer.sock  named officers      orders handed on, with the user id; answers back
//!   daemon.sock   the daemon's user   is told which cards hold what; nothing that it sends is ever read
//! ```
//! The registers are in a separate process, the sandboxed program of cards, which has no files and cannot distinguish
//! users. So this program opens the sockets, asks the kernel who connects, and stores the sealed registers. It sees
//! officers' secrets sealed to the other process, and no key.

use crate::access::UserNames;
use crate::audit::{Act, Ended, process_name};
use crate::audit_log::TARGET;
use crate::bounded::Allowance;
use crate::manager::notify;
use crate::outbox::Outbox;
use crate::supervise::program::Program;
use crate::unattended::{self, read_sealed};
use home::{Service, ServiceUsers};
use link::{Channel, ChannelError, Listener, world};
use rustix::event::{PollFd, PollFlags, Timespec};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, ExitCode};
use std::time::{Duration, Instant};
use wire::bounds::CARDS_MAX;
use wire::control::{
    CONTROL_VERSION, CardGreeting, ClientReply, ClientRequest, KeeperNotice, KeeperOrder, MessageError,
    OfficerOrder, OfficerRefusal, OfficerReply, Refusal, Unattended, Unseal, Unsealing,
};

/// Upper bound of the connections of one officer.
const CONNECTIONS_OF_OFFICER: usize = 4;
/// Upper bound of the cards that have connected and not said yet which they are.
const NEWCOMERS_MAX: usize = CARDS_MAX;
/// How long a peer may take with its first message.
const GREETING_WAIT: Duration = Duration::from_secs(10);
/// How often peers that took longer are looked for.
const LOOK_EVERY: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// Runs `cryptand-keeper` with the arguments of this process.
pub fn main() -> ExitCode {
    super::run("cryptand-keeper", |users| users.keeper, serve)
}

/// An officer's connection.
struct Officer {
    user: u32,
    pid: u32,
    channel: Channel,
    since: Instant,
    greeted: bool,
    /// Whether an order is in progress: the next one is read after its answer.
    busy: bool,
}

/// A message to the process with the keys that it has not answered yet.
enum Ask {
    /// The order to start, or the order to report what the daemon is then told.
    Ready,
    /// A card's connection was handed over.
    Serve,
    /// An officer's order.
    Officer { id: u64, act: Act },
}

/// An order that was carried out, except that some cards have not got the new keys of these domains yet.
struct Spreading {
    id: u64,
    reply: ClientReply,
    domains: u16,
}

/// One attempt of the keeper to unseal itself, noted in a file while it lasts: a process that ends in the middle of it,
/// for want of memory, say, is started again, and must not try the same for ever.
struct Attempt {
    mark: PathBuf,
}

impl Attempt {
    fn begin(&self, sealed: &std::path::Path) -> (Unattended, Option<OwnedFd>) {
        if self.mark.exists() {
            let why = "the attempt before this one ended the keeper: is there memory for it (MemoryMax= of the unit)?";
            return (Unattended::Nothing(why.to_owned()), None);
        }
        let (unattended, credential) = unattended::find(sealed);
        match home::write_durably(&self.mark, b"") {
            Ok(()) => (unattended, credential),
            Err(cause) => (Unattended::Nothing(format!("the attempt cannot be noted: {cause}")), None),
        }
    }

    fn end(&self) {
        match std::fs::remove_file(&self.mark) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
                tracing::warn!("{} stays, and ends the next attempt: {cause}", self.mark.display());
            }
            _ => {}
        }
    }
}

struct Keeper {
    users: ServiceUsers,
    sealed: PathBuf,
    seal_memory_mib: u32,
    holder: Outbox<KeeperOrder>,
    process: Child,
    cards_door: Listener,
    officers_door: Listener,
    daemon_door: Listener,
    daemon: Option<Channel>,
    newcomers: Vec<(Channel, Instant)>,
    officers: BTreeMap<u64, Officer>,
    next_officer: u64,
    asks: VecDeque<Ask>,
    spreading: Vec<Spreading>,
    is_ready: bool,
    attempt: Attempt,
    user_names: UserNames,
    /// The allowance of log lines about peers that are refused.
    strangers: Allowance,
}

fn serve(service: &Service, users: &ServiceUsers) -> Result<(), String> {
    if users.officers.is_empty() {
        tracing::warn!("no officers are named: nobody can load or unseal master keys");
    }
    let program =
        Program::open(&service.card, service.manifest.as_deref()).map_err(|error| error.to_string())?;
    let listen = |path: PathBuf| -> Result<Listener, String> {
        let failed = |cause: io::Error| format!("listen at {}: {cause}", path.display());
        let listener = Listener::bind_for_all(&path).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(listener)
    };
    let (ours, theirs) = Channel::pair().map_err(|cause| format!("make a channel: {cause}"))?;
    let started =
        program.command(&["--keeper"], theirs.into_fd(), None).and_then(|mut command| command.spawn());
    let process = started.map_err(|cause| format!("run {}: {cause}", service.card.display()))?;
    let mut keeper = Keeper {
        users: users.clone(),
        sealed: service.sealed.clone(),
        seal_memory_mib: service.seal_memory_mib,
        holder: Outbox::new(ours),
        process,
        cards_door: listen(service.card_socket())?,
        officers_door: listen(service.officer_socket())?,
        daemon_door: listen(service.daemon_socket())?,
        daemon: None,
        newcomers: Vec::new(),
        officers: BTreeMap::new(),
        next_officer: 0,
        asks: VecDeque::new(),
        spreading: Vec::new(),
        is_ready: false,
        attempt: Attempt { mark: service.sealed.with_extension("trying") },
        user_names: UserNames::default(),
        strangers: Allowance::default(),
    };
    let (version, domains) = (CONTROL_VERSION, service.domains);
    let (unattended, credential) = match service.unseal {
        Unseal::Attended => (None, None),
        Unseal::Unattended => {
            let (unattended, credential) = keeper.attempt.begin(&service.sealed);
            (Some(unattended), credential)
        }
    };
    keeper.asks.push_back(Ask::Ready);
    let start = KeeperOrder::Start { version, domains, insecure_seed: None, service: true, unattended };
    keeper.holder.send(start, credential.into_iter().collect());
    let ended = keeper.run();
    let _ = keeper.process.kill();
    let _ = keeper.process.wait();
    ended
}

impl Keeper {
    fn run(&mut self) -> Result<(), String> {
        loop {
            self.wait()?;
            self.strangers.tell_left_out(world::now());
            self.holder.flush();
            self.hear_holder()?;
            // No peer is let in before the process with the keys is ready.
            if self.is_ready {
                let now = world::now();
                self.admit(now);
                self.hear_cards(now);
                self.hear_officers(now);
                self.look_at_daemon();
            }
            if self.holder.is_broken() {
                return Err("the process that holds the keys takes no orders".into());
            }
        }
    }

    fn wait(&mut self) -> Result<(), String> {
        let of_holder = if self.holder.is_waiting() { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        let mut watched = vec![PollFd::new(&self.holder, of_holder)];
        if self.is_ready {
            let doors = [&self.cards_door, &self.officers_door, &self.daemon_door];
            watched.extend(doors.into_iter().map(|door| PollFd::new(door, PollFlags::IN)));
        }
        let idle = self.officers.values().filter(|officer| !officer.busy).map(|officer| &officer.channel);
        let channels =
            self.daemon.iter().chain(self.newcomers.iter().map(|(channel, _)| channel)).chain(idle);
        watched.extend(channels.map(|channel| PollFd::new(channel, PollFlags::IN)));
        match world::poll(&mut watched, Some(&LOOK_EVERY)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(errno) => Err(format!("wait for messages: {errno}")),
        }
    }

    fn order(&mut self, order: KeeperOrder, ask: Ask) {
        self.asks.push_back(ask);
        self.holder.send(order, Vec::new());
    }

    fn hear_holder(&mut self) -> Result<(), String> {
        loop {
            match self.holder.receive::<KeeperNotice>() {
                Ok((notice, _)) => self.notice(notice)?,
                Err(ChannelError::WouldBlock) => return Ok(()),
                Err(ChannelError::Closed) => {
                    let ended = self.process.wait().map(|status| status.to_string()).unwrap_or_default();
                    return Err(format!("the process that holds the keys has ended: {ended}"));
                }
                Err(error) => return Err(format!("the process that holds the keys: {error}")),
            }
        }
    }

    fn notice(&mut self, notice: KeeperNotice) -> Result<(), String> {
        match notice {
            KeeperNotice::Holds(_) | KeeperNotice::Lagging(_) => self.tell_daemon(&notice),
            KeeperNotice::Spread { domain } => {
                self.tell_daemon(&notice);
                self.spread(domain);
            }
            answer => match (self.asks.pop_front(), answer) {
                (Some(Ask::Ready), ready @ KeeperNotice::Ready { .. }) => {
                    if !self.is_ready {
                        self.is_ready = true;
                        self.attempt.end();
                        if let KeeperNotice::Ready { isolation, unsealing, .. } = &ready {
                            match isolation.missing.as_slice() {
                                [] => tracing::info!("ready"),
                                missing => tracing::warn!("ready; this machine lacks {}", missing.join(", ")),
                            }
                            match unsealing {
                                Unsealing::Attended => {}
                                Unsealing::Unattended => tracing::info!("unsealed by the credential"),
                                Unsealing::Failed(why) => tracing::warn!(
                                    "SEALED, not unsealed by the credential: {why}; an officer unseals it: `cryptand unseal`"
                                ),
                            }
                        }
                        notify("READY=1");
                    }
                    self.tell_daemon(&ready);
                }
                (Some(Ask::Serve), KeeperNotice::Done) => {}
                (Some(Ask::Officer { id, act }), KeeperNotice::Officer { reply, store, spreads }) => {
                    self.done(id, &act, reply, store, spreads);
                }
                _ => return Err("the process that holds the keys answers what was not asked".into()),
            },
        }
        Ok(())
    }

    /// Handles the answer to an officer's order: stores the sealed keys, and replies now, or when all cards have the
    /// new keys.
    fn done(&mut self, id: u64, act: &Act, reply: OfficerReply, store: Option<Vec<u8>>, spreads: u16) {
        let stored = store.map_or(Ok(()), |blob| home::write_durably(&self.sealed, &blob));
        let reply = match stored {
            Ok(()) => reply,
            Err(cause) => {
                tracing::error!("the sealed master keys were not written: {cause}");
                self.holder.send(KeeperOrder::NotStored, Vec::new());
                OfficerReply::Refused(OfficerRefusal::NotStored)
            }
        };
        let reply = ClientReply::Officer(reply);
        self.audit(id, act, &Ended::by(&reply));
        match spreads {
            0 => self.answer(id, reply),
            domains => self.spreading.push(Spreading { id, reply, domains }),
        }
        self.show_daemon();
    }

    /// Writes the audit line about an officer's order, in the daemon's form ([`crate::audit`]).
    fn audit(&mut self, id: u64, act: &Act, ended: &Ended) {
        if !act.always && !ended.denied {
            return;
        }
        // Orders are answered while their connection is kept.
        let Some(Officer { user, pid, .. }) = self.officers.get(&id) else { return };
        let (user, pid) = (*user, *pid);
        let (name, process) = (self.user_names.of(user), process_name(pid));
        let (act, object, result) = (act.what, &act.object, &ended.how);
        let line = format!(
            "act={act:?} object={object:?} result={result:?} user={user} name={name:?} pid={pid} process={process:?}"
        );
        tracing::info!(target: TARGET, "audit {line}");
    }

    /// Notes that every card has the new keys of a domain, and replies to orders that waited only for that.
    fn spread(&mut self, domain: u16) {
        for mut of in std::mem::take(&mut self.spreading) {
            of.domains &= !1_u16.checked_shl(domain.into()).unwrap_or(0);
            match of.domains {
                0 => self.answer(of.id, of.reply),
                _ => self.spreading.push(of),
            }
        }
        self.show_daemon();
    }

    fn answer(&mut self, id: u64, reply: ClientReply) {
        let Some(officer) = self.officers.get_mut(&id) else { return };
        officer.busy = false;
        if officer.channel.try_send(&reply, &[]).is_err() {
            self.officers.remove(&id);
        }
    }

    /// Reports to the daemon what the registers hold, by patterns.
    fn show_daemon(&mut self) {
        if self.daemon.is_some() {
            self.order(KeeperOrder::Adopt, Ask::Ready);
        }
    }

    fn tell_daemon(&mut self, notice: &KeeperNotice) {
        // A daemon that does not read is given up; it connects again, and is told everything.
        self.daemon.take_if(|daemon| daemon.try_send(notice, &[]).is_err());
    }

    /// Admits peers to each socket by the user id that the kernel reports.
    fn admit(&mut self, now: Instant) {
        while let Ok(Some(channel)) = self.cards_door.try_accept() {
            let is_card = channel.peer().is_ok_and(|peer| peer.uid == self.users.cards);
            if is_card && self.newcomers.len() < NEWCOMERS_MAX {
                self.newcomers.push((channel, now));
            } else {
                refused(&mut self.strangers, &channel, "a card");
            }
        }
        while let Ok(Some(channel)) = self.officers_door.try_accept() {
            let peer = channel.peer().ok().filter(|peer| self.users.officers.contains(&peer.uid));
            let Some((user, pid)) = peer.map(|peer| (peer.uid, peer.pid)) else {
                refused(&mut self.strangers, &channel, "an officer");
                let _ = channel.try_send(&ClientReply::Refused(Refusal::Denied), &[]);
                continue;
            };
            if self.officers.values().filter(|of| of.user == user).count() < CONNECTIONS_OF_OFFICER {
                self.next_officer += 1;
                let officer = Officer { user, pid, channel, since: now, greeted: false, busy: false };
                self.officers.insert(self.next_officer, officer);
            }
        }
        while let Ok(Some(channel)) = self.daemon_door.try_accept() {
            if channel.peer().is_ok_and(|peer| peer.uid == self.users.daemon) {
                self.daemon = Some(channel);
                self.show_daemon();
            } else {
                refused(&mut self.strangers, &channel, "the daemon");
            }
        }
    }

    /// Hands cards that have said which they are to the process with the keys; drops cards that said nothing in time.
    fn hear_cards(&mut self, now: Instant) {
        let mut index = 0;
        while let Some((channel, since)) = self.newcomers.get(index) {
            match channel.try_recv::<CardGreeting>() {
                Err(ChannelError::WouldBlock) if now.saturating_duration_since(*since) < GREETING_WAIT => {
                    index += 1;
                }
                Ok((CardGreeting { version: CONTROL_VERSION, served }, _)) => {
                    let (channel, _) = self.newcomers.swap_remove(index);
                    self.asks.push_back(Ask::Serve);
                    self.holder.send(KeeperOrder::Serve(served), vec![channel.into_fd()]);
                }
                _ => drop(self.newcomers.swap_remove(index)),
            }
        }
    }

    fn hear_officers(&mut self, now: Instant) {
        let idle = self.officers.iter().filter(|(_, officer)| !officer.busy);
        for id in idle.map(|(id, _)| *id).collect::<Vec<_>>() {
            let Some(officer) = self.officers.get_mut(&id) else { continue };
            match officer.channel.try_recv::<ClientRequest>() {
                Ok((ClientRequest::Hello { version: CONTROL_VERSION, .. }, _)) if !officer.greeted => {
                    officer.greeted = true;
                    self.answer(id, ClientReply::Done);
                }
                Ok((ClientRequest::Hello { version, .. }, _)) => {
                    let refusal = Refusal::Version { daemon: CONTROL_VERSION, client: version };
                    self.answer(id, ClientReply::Refused(refusal));
                    self.officers.remove(&id);
                }
                Ok((ClientRequest::Officer(order), _)) if officer.greeted => self.take(id, order),
                Err(ChannelError::WouldBlock)
                    if officer.greeted || now.saturating_duration_since(officer.since) < GREETING_WAIT => {}
                Err(ChannelError::Message(MessageError::Version(version))) => {
                    let refusal = Refusal::Version { daemon: CONTROL_VERSION, client: version };
                    self.answer(id, ClientReply::Refused(refusal));
                    self.officers.remove(&id);
                }
                Ok(_) => {
                    self.answer(id, ClientReply::Refused(Refusal::Denied));
                    self.officers.remove(&id);
                }
                Err(_) => drop(self.officers.remove(&id)),
            }
        }
    }

    /// Passes an officer's order on, as that officer's.
    fn take(&mut self, id: u64, order: OfficerOrder) {
        let Some(officer) = self.officers.get_mut(&id) else { return };
        let sealed_registers = match if order.needs_sealed() { read_sealed(&self.sealed) } else { Ok(None) } {
            Ok(sealed) => sealed,
            Err(cause) => {
                let operation = format!("read {}", self.sealed.display());
                let refusal = Refusal::Storage { operation, cause: cause.to_string() };
                return self.answer(id, ClientReply::Refused(refusal));
            }
        };
        officer.busy = true;
        let (user, act) = (officer.user, Act::of_officer(&order));
        let seal_memory_mib = self.seal_memory_mib;
        let order = KeeperOrder::Officer { order, sealed_registers, seal_memory_mib, officer: Some(user) };
        self.order(order, Ask::Officer { id, act });
    }

    /// The daemon must not send anything here. If it does, or is gone, its connection is closed.
    fn look_at_daemon(&mut self) {
        self.daemon.take_if(|daemon| daemon.has_news());
    }
}

fn refused(strangers: &mut Allowance, channel: &Channel, what: &str) {
    if let Ok(peer) = channel.peer() {
        let text = format_args!("refused: user {} came as {what}", peer.uid);
        strangers.warn(peer.uid, Some(peer.pid), world::now(), text);
    }
}
