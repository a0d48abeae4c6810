//! The keeper: holds the unsealed master keys of a home and hands them to its coprocessors.
//!
//! It is a card without queues, in the same sandbox. It outlives the daemon, so that a restarted daemon
//! finds the keys unsealed. Officers' secrets reach it encrypted to a key pair made at its
//! start; the daemon forwards them and sees ciphertext. Each coprocessor has a socket pair to the
//! keeper, on which it gets the registers of every domain at first and after each change ([`spread`]).
//!
//! In a system service another program starts it and has the daemon's role here: it hands over connections of cards and
//! orders of officers, whom it identifies by the user ids of their processes. Some orders take two officers
//! ([`officers`]).

use crate::keeper::registers::Registers;
use engine::{Engine, SealingKey};
use link::{Channel, ChannelError, Listener, world};
use officers::Officers;
use passphrases::Passphrases;
use rustix::event::{PollFd, PollFlags, Timespec};
use spread::Spread;
use std::os::fd::OwnedFd;
use wire::bounds::DOMAINS_MAX;
use wire::control::{
    CONTROL_VERSION, Isolation, KeeperNotice, KeeperOrder, MasterKeyPattern, MessageError, OfficerOrder,
    OfficerRefusal, OfficerReply, PURPOSE_PASSPHRASE, Register, RegisterRow, Sealed, Unattended, Unsealing,
    purpose_of_part,
};
use zeroize::Zeroizing;

pub mod credential;
mod handover;
pub mod insecure;
pub mod memory;
pub mod officers;
pub mod passphrases;
pub mod registers;
pub mod sealed;
pub mod spread;

/// Upper bound of the connections that are open without having adopted the keeper.
const NEWCOMERS_MAX: usize = 4;
/// Upper bound of the secrets that are opened in one life of a keeper, each once.
const SHARES_MAX: usize = 4096;

const _: () = assert!(DOMAINS_MAX <= u16::BITS as usize);

/// Why a keeper could not begin.
#[derive(Debug)]
pub enum StartError {
    /// The control channel gave no message.
    Channel(ChannelError),
    /// The first message is another than the start message.
    Order,
    /// The daemon speaks another version of the control protocol.
    Version(u16),
    /// More domains than [`DOMAINS_MAX`], or none.
    Domains(u16),
    /// The start message came without a listener, or with one that does not listen.
    Listener(Option<std::io::Error>),
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Channel(cause) => write!(f, "no start message: {cause}"),
            Self::Order => f.write_str("the first message of the control channel is not the start message"),
            Self::Version(version) => write!(
                f,
                "the daemon speaks version {version} of the control protocol, this program {CONTROL_VERSION}; \
                 install both from one release"
            ),
            Self::Domains(domains) => write!(f, "{domains} domains; a home has 1 to {DOMAINS_MAX}"),
            Self::Listener(None) => f.write_str("the start message came without a listener"),
            Self::Listener(Some(cause)) => write!(f, "the listener: {cause}"),
        }
    }
}

impl std::error::Error for StartError {}

/// The contents of a keeper's start message.
pub struct Start {
    /// Number of domains, which count from 0.
    pub domains: u16,
    /// Seed of a development home.
    pub insecure_seed: Option<u64>,
    /// The listener for a later daemon, which does not block; `None` in a system service, where no daemon connects.
    pub listener: Option<Listener>,
    /// Memory that is free for one computation, in KiB.
    pub available_kib: u64,
    /// The sealed copy and passphrase with which it unseals itself; `None` if officers do it.
    pub unattended: Option<Key>,
}

/// The sealed registers that an unattended keeper is to open, and the passphrase for it; or why there is none.
pub type Key = Result<(Vec<u8>, Zeroizing<Vec<u8>>), String>;

/// Receives and checks the start message.
///
/// # Errors
/// [`StartError`] says what is wrong with the message.
pub fn receive(channel: &Channel) -> Result<Start, StartError> {
    let (order, descriptors) = channel.recv::<KeeperOrder>().map_err(|error| match error {
        ChannelError::Message(MessageError::Version(version)) => StartError::Version(version),
        error => StartError::Channel(error),
    })?;
    let KeeperOrder::Start { version, domains, insecure_seed, service, unattended } = order else {
        return Err(StartError::Order);
    };
    if version != CONTROL_VERSION {
        return Err(StartError::Version(version));
    }
    if domains == 0 || usize::from(domains) > DOMAINS_MAX {
        return Err(StartError::Domains(domains));
    }
    let mut descriptors = descriptors.into_iter();
    let listener = match service {
        true => None,
        false => {
            let listener = descriptors.next().ok_or(StartError::Listener(None))?;
            let listener = Listener::from_fd(listener).map_err(|cause| StartError::Listener(Some(cause)))?;
            listener.set_nonblocking(true).map_err(|cause| StartError::Listener(Some(cause)))?;
            Some(listener)
        }
    };
    let unattended = unattended.map(|unattended| match (unattended, descriptors.next()) {
        (Unattended::Nothing(why), _) => Err(why),
        (Unattended::Credential { sealed_registers }, Some(file)) => {
            credential::read(file).map(|passphrase| (sealed_registers, passphrase))
        }
        (Unattended::Credential { .. }, None) => Err("the credential did not come with the start".to_owned()),
    });
    Ok(Start { domains, insecure_seed, listener, available_kib: memory::available_kib(), unattended })
}

/// A keeper that serves.
pub struct Keeper {
    engine: Engine,
    registers: Registers,
    startup_key: SealingKey,
    /// Ephemeral shares of the secrets opened so far: a replayed secret is refused, since the same
    /// part combined twice cancels.
    shares: Vec<[u8; 32]>,
    /// Whether this keeper knows the content of the home's sealed copy: it opened or sealed that copy. Only then may
    /// the copy be replaced, or other keys come beside it.
    knows_sealed: bool,
    /// Whether a seed makes the keys at each start: then the home does not depend on a sealed copy.
    has_seed: bool,
    spread: Spread,
    daemon: Option<Channel>,
    newcomers: Vec<Channel>,
    listener: Option<Listener>,
    /// Orders that take two officers; none in a home of one user.
    officers: Option<Officers>,
    isolation: Isolation,
    /// The memory that sealing and unsealing may take.
    memory: sealed::Memory,
    /// The registers as they come back in a keeper that starts anew: as they were when they were sealed or unsealed, or
    /// as the seed of a development home makes them.
    sealed_rows: Vec<RegisterRow>,
    passphrases: Passphrases,
    /// How the keeper was unsealed as it started.
    unsealing: Unsealing,
    /// Whether a successor has its keys: then this keeper cannot be adopted.
    is_succeeded: bool,
    user: u32,
}

impl Keeper {
    /// A keeper that has entered its sandbox; registers of a development home are filled at once. Only
    /// `user` may adopt it.
    pub fn new(engine: Engine, start: Start, daemon: Channel, isolation: Isolation, user: u32) -> Self {
        let mut registers = Registers::new(start.domains);
        if let Some(seed) = start.insecure_seed {
            insecure::fill(&engine, &mut registers, seed);
        }
        // The keys of a seed are made again at each start; without a seed there are no keys yet.
        let sealed_rows = registers.rows(&|register, key| pattern(&engine, register, key));
        let mut keeper = Self {
            engine,
            registers,
            startup_key: SealingKey::generate(),
            shares: Vec::new(),
            knows_sealed: false,
            has_seed: start.insecure_seed.is_some(),
            spread: Spread::new(start.domains, world::now()),
            daemon: Some(daemon),
            newcomers: Vec::new(),
            officers: start.listener.is_none().then(Officers::default),
            listener: start.listener,
            memory: sealed::Memory { available_kib: start.available_kib, seal_kib_max: 0 },
            sealed_rows,
            passphrases: Passphrases::default(),
            unsealing: Unsealing::default(),
            is_succeeded: false,
            isolation,
            user,
        };
        keeper.unsealing = match start.unattended {
            // A seed makes the keys, whatever else is there.
            None => Unsealing::Attended,
            Some(_) if start.insecure_seed.is_some() => Unsealing::Attended,
            Some(Err(why)) => Unsealing::Failed(why),
            // Tried once: a copy that does not open now does not open later, and deriving a key takes all the free
            // memory.
            Some(Ok((blob, passphrase))) => match keeper.unseal(&blob, &passphrase) {
                Ok(_) => Unsealing::Unattended,
                Err(refusal) => Unsealing::Failed(format!("by the credential: {refusal}")),
            },
        };
        keeper
    }

    /// Serves until the daemon orders the end; in a system service, until the program that started it is gone.
    pub fn run(mut self) {
        self.notify(&self.ready());
        loop {
            // Before any wait: a keeper that has unsealed itself has keys to hand out, and nobody wakes it.
            for notice in self.spread.step(&mut self.registers, world::now()) {
                self.notify(&notice);
            }
            self.wait();
            self.admit_newcomers();
            while let Some(daemon) = &self.daemon {
                match daemon.try_recv::<KeeperOrder>() {
                    Ok((KeeperOrder::Stop, _)) => return,
                    Ok((order, descriptors)) => {
                        if let Some(notice) = self.obey(order, descriptors) {
                            self.notify(&notice);
                        }
                    }
                    Err(ChannelError::WouldBlock) => break,
                    Err(_) => self.daemon = None,
                }
            }
            self.hear_newcomers();
            if (self.officers.is_some() || self.is_succeeded) && self.daemon.is_none() {
                return;
            }
        }
    }

    /// Sleeps until a channel has something to say, or a card may have room again.
    fn wait(&mut self) {
        let mut watched: Vec<_> =
            self.listener.iter().map(|listener| PollFd::new(listener, PollFlags::IN)).collect();
        watched.extend(
            self.daemon.iter().chain(&self.newcomers).map(|channel| PollFd::new(channel, PollFlags::IN)),
        );
        watched.extend(self.spread.channels().map(|card| PollFd::from_borrowed_fd(card, PollFlags::IN)));
        let pause = self.spread.pause(world::now()).map(|pause| Timespec {
            tv_sec: i64::try_from(pause.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(pause.subsec_nanos()),
        });
        let _ = world::poll(&mut watched, pause.as_ref());
    }

    /// Carries out an order of the daemon, and returns the answer, if the order has one.
    fn obey(&mut self, order: KeeperOrder, descriptors: Vec<OwnedFd>) -> Option<KeeperNotice> {
        match order {
            KeeperOrder::Serve(served) => {
                if let Some(Ok(channel)) = descriptors.into_iter().next().map(Channel::from_fd) {
                    self.spread.serve(served, channel, world::now());
                }
                Some(KeeperNotice::Done)
            }
            KeeperOrder::NotStored => {
                self.sealed_rows.clear();
                None
            }
            KeeperOrder::Officer { order, sealed_registers, seal_memory_mib, officer } => {
                self.memory.seal_kib_max = seal_memory_mib.saturating_mul(1 << 10);
                let notice = match self.officer(officer, order, sealed_registers.as_deref()) {
                    Ok(Done { reply, store, spreads }) => KeeperNotice::Officer { reply, store, spreads },
                    Err(refusal) => {
                        let reply = OfficerReply::Refused(refusal);
                        KeeperNotice::Officer { reply, store: None, spreads: 0 }
                    }
                };
                Some(notice)
            }
            KeeperOrder::Adopt => Some(self.ready()),
            KeeperOrder::HandOver => {
                if let Some(Ok(to)) = descriptors.into_iter().next().map(Channel::from_fd) {
                    self.is_succeeded |= self.hand_over(&to);
                }
                None
            }
            KeeperOrder::TakeOver => {
                if let Some(Ok(from)) = descriptors.into_iter().next().map(Channel::from_fd) {
                    self.take_over(&from);
                }
                Some(self.ready())
            }
            // A second start is no order for a keeper that runs; `run` has dealt with the end.
            KeeperOrder::Start { .. } | KeeperOrder::Stop => None,
        }
    }

    /// Carries out an officer's order, or keeps it for a second officer's confirmation.
    fn officer(
        &mut self,
        officer: Option<u32>,
        order: OfficerOrder,
        sealed_registers: Option<&[u8]>,
    ) -> Result<Done, OfficerRefusal> {
        let now = world::now();
        let Some(officers) = &mut self.officers else {
            return self.carry_out(&order, sealed_registers);
        };
        let officer = officer.ok_or(OfficerRefusal::NotAnOfficer)?;
        match order {
            OfficerOrder::Pending => {
                let reply = OfficerReply::Pending(officers.pending(now));
                Ok(Done { reply, store: None, spreads: 0 })
            }
            OfficerOrder::Set { .. } | OfficerOrder::SealUnder { .. } => {
                self.check_settled(&order)?;
                self.check_unsealed(&order, sealed_registers)?;
                if let OfficerOrder::Set { domain } = order {
                    self.registers.may_set(domain)?;
                }
                // Who orders it can say the passphrase; who confirms it cannot any more.
                if matches!(order, OfficerOrder::SealUnder { former: None, .. }) && sealed_registers.is_some()
                {
                    return Err(OfficerRefusal::FormerPassphrase);
                }
                let officers = self.officers.as_mut().ok_or(OfficerRefusal::NotAnOfficer)?;
                let reply = OfficerReply::Awaits(officers.ask(officer, order, now)?);
                Ok(Done { reply, store: None, spreads: 0 })
            }
            OfficerOrder::Confirm { number } => {
                let order = officers.confirm(officer, number, now)?;
                let done = self.carry_out(&order, sealed_registers)?;
                self.note_done(officer, &order);
                Ok(done)
            }
            order => {
                officers.may(officer, &order)?;
                let done = self.carry_out(&order, sealed_registers)?;
                self.note_done(officer, &order);
                Ok(done)
            }
        }
    }

    fn note_done(&mut self, officer: u32, order: &OfficerOrder) {
        if let Some(officers) = &mut self.officers {
            officers.done(officer, order);
        }
    }

    /// Carries out an officer's order; an order that gives cards keys is only begun.
    fn carry_out(
        &mut self,
        order: &OfficerOrder,
        sealed_registers: Option<&[u8]>,
    ) -> Result<Done, OfficerRefusal> {
        self.check_settled(order)?;
        self.check_unsealed(order, sealed_registers)?;
        let mut spreads = 0;
        let reply = match order {
            OfficerOrder::StartupKey => OfficerReply::StartupKey(self.startup_key.public()),
            OfficerOrder::LoadPart { domain, register, part, sealed } => {
                let value = self.open(&purpose_of_part(*domain, *register, *part), sealed)?;
                let engine = &self.engine;
                let pattern_of = |register, key: &[u8]| pattern(engine, register, key);
                let patterns = self.registers.load_part(*domain, *register, *part, &value, &pattern_of)?;
                OfficerReply::PartLoaded { part_pattern: patterns.part, key_pattern: patterns.key }
            }
            OfficerOrder::MayLoad { domain, register, part } => {
                self.registers.may_load(*domain, *register, *part)?;
                OfficerReply::Done
            }
            OfficerOrder::ClearNew { domain, register } => {
                self.registers.clear_new(*domain, *register)?;
                OfficerReply::Done
            }
            OfficerOrder::Set { domain } => {
                self.registers.may_set(*domain)?;
                self.spread.begin(*domain, false, world::now());
                spreads = 1 << domain;
                OfficerReply::Done
            }
            OfficerOrder::SealUnder { sealed, former } => {
                let passphrase = self.open(PURPOSE_PASSPHRASE, sealed)?;
                let former =
                    former.as_ref().map(|former| self.open(PURPOSE_PASSPHRASE, former)).transpose()?;
                if self.registers.is_empty() {
                    return Err(OfficerRefusal::RegisterState);
                }
                if let Some(blob) = sealed_registers {
                    let former = former.ok_or(OfficerRefusal::FormerPassphrase)?;
                    self.unsealed(blob, &former)?;
                }
                let blob = sealed::seal(&self.engine, &self.registers, &passphrase, self.memory)?;
                self.knows_sealed = true;
                self.sealed_rows = self.rows();
                return Ok(Done { reply: OfficerReply::Done, store: Some(blob), spreads });
            }
            OfficerOrder::Unseal { sealed } => {
                let passphrase = self.open(PURPOSE_PASSPHRASE, sealed)?;
                if !self.registers.is_empty() {
                    return Err(OfficerRefusal::AlreadyUnsealed);
                }
                let blob = sealed_registers.ok_or(OfficerRefusal::NothingSealed)?;
                spreads = self.unseal(blob, &passphrase)?;
                OfficerReply::Done
            }
            OfficerOrder::Registers => OfficerReply::Registers(self.rows()),
            // One officer is enough here: nothing ever waits.
            OfficerOrder::Pending => OfficerReply::Pending(None),
            OfficerOrder::Confirm { .. } => return Err(OfficerRefusal::NothingPending),
        };
        Ok(Done { reply, store: None, spreads })
    }

    /// Opens sealed registers into the empty ones; returns the domains whose keys cards are now given, one bit each.
    fn unseal(&mut self, blob: &[u8], passphrase: &[u8]) -> Result<u16, OfficerRefusal> {
        let unsealed = self.unsealed(blob, passphrase)?;
        self.registers.adopt(unsealed)?;
        self.knows_sealed = true;
        self.sealed_rows = self.rows();
        let mut spreads = 0;
        for domain in 0..self.registers.domains() {
            self.spread.begin(domain, true, world::now());
            spreads |= 1 << domain;
        }
        Ok(spreads)
    }

    /// Refuses to change registers whose keys cards are being given, and to seal registers half-way through that.
    fn check_settled(&self, order: &OfficerOrder) -> Result<(), OfficerRefusal> {
        let is_settled = match order {
            OfficerOrder::StartupKey
            | OfficerOrder::Registers
            | OfficerOrder::Pending
            | OfficerOrder::Confirm { .. } => true,
            OfficerOrder::LoadPart { domain, .. }
            | OfficerOrder::MayLoad { domain, .. }
            | OfficerOrder::ClearNew { domain, .. }
            | OfficerOrder::Set { domain } => self.spread.is_settled(*domain),
            OfficerOrder::SealUnder { .. } | OfficerOrder::Unseal { .. } => self.spread.all_settled(),
        };
        if is_settled { Ok(()) } else { Err(OfficerRefusal::Spreading) }
    }

    /// Refuses to give keys before an existing sealed copy is opened: until then it is not known which keys the records
    /// are under, and other keys in cards or in the copy would take those away.
    fn check_unsealed(
        &self,
        order: &OfficerOrder,
        sealed_registers: Option<&[u8]>,
    ) -> Result<(), OfficerRefusal> {
        let gives_keys = matches!(
            order,
            OfficerOrder::LoadPart { .. }
                | OfficerOrder::MayLoad { .. }
                | OfficerOrder::Set { .. }
                | OfficerOrder::SealUnder { .. }
        );
        let is_unopened = sealed_registers.is_some() && !self.knows_sealed && !self.has_seed;
        if gives_keys && is_unopened { Err(OfficerRefusal::NotUnsealed) } else { Ok(()) }
    }

    /// Opens an officer's secret, once.
    fn open(&mut self, purpose: &[u8], sealed: &Sealed) -> Result<engine::SecretBytes, OfficerRefusal> {
        if self.shares.contains(&sealed.share) || self.shares.len() >= SHARES_MAX {
            return Err(OfficerRefusal::SealedSecret);
        }
        let secret = self
            .startup_key
            .open(purpose, &sealed.share, &sealed.ciphertext)
            .ok_or(OfficerRefusal::SealedSecret)?;
        self.shares.push(sealed.share);
        Ok(secret)
    }

    /// The registers of a sealed copy, if a passphrase may be tried now and is right.
    fn unsealed(&mut self, blob: &[u8], passphrase: &[u8]) -> Result<Registers, OfficerRefusal> {
        let now = world::now();
        self.passphrases.may_try(now)?;
        let opened = sealed::open(blob, passphrase, self.memory.available_kib);
        self.passphrases.tried(!matches!(opened, Err(OfficerRefusal::Passphrase)), now);
        opened
    }

    fn rows(&self) -> Vec<RegisterRow> {
        let mut rows = self.registers.rows(&|register, key| pattern(&self.engine, register, key));
        let keys = |row: &RegisterRow| (row.domain, row.register, row.current_pattern, row.old_pattern);
        for row in &mut rows {
            let is_empty = row.current_pattern.is_none() && row.old_pattern.is_none();
            row.is_sealed = is_empty || self.sealed_rows.iter().any(|sealed| keys(sealed) == keys(row));
        }
        rows
    }

    fn ready(&self) -> KeeperNotice {
        let (registers, cards) = (self.rows(), self.spread.cards());
        let unsealing = self.unsealing.clone();
        KeeperNotice::Ready { isolation: self.isolation.clone(), registers, cards, unsealing }
    }

    fn admit_newcomers(&mut self) {
        while let Some(Ok(Some(newcomer))) = self.listener.as_ref().map(Listener::try_accept) {
            let known = newcomer.peer().is_ok_and(|peer| peer.uid == self.user);
            if known && self.newcomers.len() < NEWCOMERS_MAX {
                self.newcomers.push(newcomer);
            }
        }
    }

    /// Makes a newcomer the daemon whose first message is the adoption; any other message ends the connection.
    fn hear_newcomers(&mut self) {
        let mut index = 0;
        while index < self.newcomers.len() {
            match self.newcomers[index].try_recv::<KeeperOrder>() {
                Err(ChannelError::WouldBlock) => index += 1,
                Ok((KeeperOrder::Adopt, _)) => {
                    self.daemon = Some(self.newcomers.swap_remove(index));
                    self.notify(&self.ready());
                }
                _ => drop(self.newcomers.swap_remove(index)),
            }
        }
    }

    /// Sends the daemon a notice. A daemon that does not read its answers is treated as gone.
    fn notify(&mut self, notice: &KeeperNotice) {
        if let Some(daemon) = &self.daemon
            && daemon.try_send(notice, &[]).is_err()
        {
            self.daemon = None;
        }
    }
}

/// The outcome of an officer's order.
struct Done {
    reply: OfficerReply,
    /// The sealed registers that the daemon is to store.
    store: Option<Vec<u8>>,
    /// Domains whose keys cards are given now, one bit each.
    spreads: u16,
}

fn pattern(engine: &Engine, register: Register, key: &[u8]) -> MasterKeyPattern {
    cca::patterns::master_key_pattern(engine, register, key)
}
