//! The loops that serve connections: one a thread, each with its own sockets, cards and timers. A loop blocks on
//! nothing but its one epoll descriptor.

use crate::labels::{self, NotSent};
use crate::limits::Counts;
use crate::log::{Entry, Log};
use crate::material::{KeyPlace, Material};
use crate::metrics::KeyError;
use crate::session::{Around, Listener, Session, Step};
use crate::settings::Limits;
use facility::{Completions, Facility, Reply};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::io::Errno;
use rustix::net::SocketFlags;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use streams::WATCHED;
use tls::{Facts, KeyRequest};

/// At most this many events are read at once.
const EVENTS_MAX: usize = 256;
/// At most this many connections are accepted from a listener before others get their turn.
const ACCEPTED_MAX: usize = 64;
/// At most this many bytes are read at once.
const SCRATCH_BYTES: usize = 64 << 10;
/// How long accepting pauses if the system has no descriptor or memory for a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// After this time without a byte, a connection frees memory that it needs only for bytes; also the interval of looking
/// for such connections.
const REST_AFTER: Duration = Duration::from_secs(1);
/// After this many connections that freed memory, a loop gives free memory back to the kernel.
const RESTED_MIN: usize = 256;

/// Event data that is not of a connection's sockets: the highest bit, and a number for the source.
const OTHER: u64 = 1 << 63;
const MAILBOX: u64 = OTHER | 1 << 32;
const COMPLETIONS: u64 = OTHER | 2 << 32;
/// A connection's number has its slot in the low bits, and above them how often the slot was used before. Event data
/// adds one bit: whether it is of the backend's socket.
const SLOT_BITS: u32 = 32;
const USES_MAX: u64 = (1 << 30) - 1;

/// Everything that is served from now on.
pub(crate) struct Generation {
    pub(crate) material: Arc<Material>,
    pub(crate) listeners: Vec<(Arc<Listener>, Arc<OwnedFd>)>,
    pub(crate) limits: Limits,
    pub(crate) log: Log,
}

/// A command to a loop.
pub(crate) enum Command {
    /// Serve this generation; connections go on as they began.
    Serve(Arc<Generation>),
    /// Accept nothing more. End when all connections have ended, or at this time.
    Stop(Instant),
}

/// Takes commands for a loop.
pub(crate) struct Mailbox {
    commands: Mutex<VecDeque<Command>>,
    bell: OwnedFd,
}

impl Mailbox {
    pub(crate) fn new() -> io::Result<Self> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { commands: Mutex::default(), bell })
    }

    pub(crate) fn put(&self, command: Command) {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner).push_back(command);
        // The write fails if the counter is full, but then the bell rings already.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    fn take(&self) -> Option<Command> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

#[derive(Default)]
struct Slot {
    uses: u64,
    session: Option<Box<Session>>,
    /// Whether the connection is in the list of connections that go on by themselves.
    is_again: bool,
    /// Whether the connection is in the list of connections that have memory to free.
    is_warm: bool,
    /// The earliest timer that is set for the connection.
    timer_at: Option<Instant>,
}

/// Everything that a loop is made from.
pub(crate) struct WorkerParts {
    /// The loop's number, from 0.
    pub(crate) number: usize,
    pub(crate) mailbox: Arc<Mailbox>,
    pub(crate) generation: Arc<Generation>,
    pub(crate) counts: Arc<Counts>,
    /// How many loops there are.
    pub(crate) loops: usize,
    /// The domain of requests to the home's cards.
    pub(crate) domain: u16,
}

/// One loop that serves connections.
pub(crate) struct Worker {
    number: usize,
    epoll: OwnedFd,
    mailbox: Arc<Mailbox>,
    generation: Arc<Generation>,
    is_accepting: bool,
    accept_again: Option<Instant>,
    counts: Arc<Counts>,
    /// Number of loops: bounds that loops do not share are divided by it.
    loops: usize,
    completions: Option<Completions>,
    domain: u16,
    slots: Vec<Slot>,
    free: Vec<u32>,
    live: usize,
    /// At least one deadline of each connection; it may have moved since.
    timers: BinaryHeap<Reverse<(Instant, u64)>>,
    /// Failed connections that are held open until their deadline, the oldest first.
    lingering: VecDeque<u64>,
    again: Vec<u64>,
    /// Connections that did something since they freed memory, and when they are looked at next.
    warm: Vec<u64>,
    look_at: Option<Instant>,
    /// How many connections freed memory, or ended, since memory was given back to the kernel.
    rested: usize,
    stop_at: Option<Instant>,
    now: Instant,
    scratch: Vec<u8>,
}

impl Worker {
    /// A loop that is ready to serve; with cards, if a home is given.
    ///
    /// # Errors
    /// The system has no descriptor for the loop, or refuses to watch the sockets.
    pub(crate) fn new(parts: WorkerParts, cards: Option<&Facility>) -> io::Result<Self> {
        let WorkerParts { number, mailbox, generation, counts, loops, domain } = parts;
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &mailbox.bell, EventData::new_u64(MAILBOX), EventFlags::IN)?;
        let completions = cards.map(Facility::completions).transpose().map_err(io::Error::other)?;
        if let Some(completions) = &completions {
            epoll::add(&epoll, completions, EventData::new_u64(COMPLETIONS), EventFlags::IN)?;
        }
        let mut worker = Self {
            number,
            epoll,
            mailbox,
            generation,
            is_accepting: false,
            accept_again: None,
            counts,
            loops,
            completions,
            domain,
            slots: Vec::new(),
            free: Vec::new(),
            live: 0,
            timers: BinaryHeap::new(),
            lingering: VecDeque::new(),
            again: Vec::new(),
            warm: Vec::new(),
            look_at: None,
            rested: 0,
            stop_at: None,
            now: Instant::now(),
            scratch: vec![0; SCRATCH_BYTES],
        };
        worker.watch_listeners()?;
        Ok(worker)
    }

    /// Serves until a command to stop is carried out.
    ///
    /// # Errors
    /// The system's error if the loop can no longer wait for events.
    pub(crate) fn run(&mut self) -> io::Result<()> {
        let (mut events, mut reply) = (Vec::<Event>::with_capacity(EVENTS_MAX), Reply::new());
        loop {
            self.collect(&mut reply);
            for id in std::mem::take(&mut self.again) {
                if let Some(slot) = self.slot(id) {
                    slot.is_again = false;
                }
                self.go_on(id);
            }
            self.expire();
            if self.stop_at.is_some() && self.live == 0 {
                return Ok(());
            }
            // Ends the round: hands the requests of this round to the cards.
            if self.completions.as_mut().is_some_and(|completions| !completions.arm()) {
                continue;
            }
            let timeout = self.timeout();
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), timeout.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            self.now = Instant::now();
            // Before the sockets' events: these clients have waited the longest. During a round no card rings for an
            // answer; the round ends with looking for answers again.
            self.collect(&mut reply);
            for event in &events {
                // The structure is packed, so its fields are copied before use.
                let (data, flags) = (event.data, event.flags);
                match data.u64() {
                    MAILBOX => self.obey(),
                    COMPLETIONS => {}
                    listener if listener & OTHER != 0 => self.accept((listener & !OTHER) as usize),
                    data => self.hear(data, flags),
                }
            }
        }
    }

    fn timeout(&self) -> Option<Timespec> {
        if !self.again.is_empty() {
            return Some(Timespec { tv_sec: 0, tv_nsec: 0 });
        }
        let of_connection = self.timers.peek().map(|Reverse((at, _))| *at);
        let next =
            [of_connection, self.accept_again, self.look_at, self.stop_at].into_iter().flatten().min()?;
        let span = next.saturating_duration_since(Instant::now());
        Some(Timespec { tv_sec: span.as_secs() as i64, tv_nsec: i64::from(span.subsec_nanos()) })
    }

    fn obey(&mut self) {
        let _ = rustix::io::read(&self.mailbox.bell, &mut [0; 8]);
        while let Some(command) = self.mailbox.take() {
            self.ignore_listeners();
            match command {
                Command::Serve(generation) if self.stop_at.is_none() => {
                    let former = std::mem::replace(&mut self.generation, generation);
                    // The last loop that leaves a generation drops thousands of certificates, whose memory goes back to
                    // the kernel.
                    if Arc::into_inner(former)
                        .is_some_and(|former| Arc::into_inner(former.material).is_some())
                    {
                        tls::give_back_memory();
                    }
                }
                Command::Serve(_) => {}
                Command::Stop(at) => {
                    // The sockets are closed when the last loop has released them; further clients are then refused at
                    // once.
                    let Generation { material, limits, log, .. } = &*self.generation;
                    let (material, limits, log) = (Arc::clone(material), *limits, log.clone());
                    self.generation = Arc::new(Generation { material, listeners: Vec::new(), limits, log });
                    self.stop_at = Some(self.stop_at.map_or(at, |before| before.min(at)));
                    for id in std::mem::take(&mut self.lingering) {
                        self.end(id);
                    }
                }
            }
            if let Err(errno) = self.watch_listeners() {
                self.generation
                    .log
                    .say(format!("a loop cannot watch its listeners, and tries again: {errno}"));
                self.accept_again = Some(Instant::now() + ACCEPT_PAUSE);
            }
        }
    }

    /// Watches all listeners; on an error, watches none.
    fn watch_listeners(&mut self) -> Result<(), Errno> {
        self.accept_again = None;
        self.is_accepting = true;
        for (at, (_, socket)) in self.generation.listeners.iter().enumerate() {
            // The kernel wakes one loop for each connection.
            let flags = EventFlags::IN | EventFlags::EXCLUSIVE;
            if let Err(errno) = epoll::add(&self.epoll, socket, EventData::new_u64(OTHER | at as u64), flags)
            {
                self.ignore_listeners();
                return Err(errno);
            }
        }
        Ok(())
    }

    fn ignore_listeners(&mut self) {
        if std::mem::take(&mut self.is_accepting) {
            for (_, socket) in &self.generation.listeners {
                let _ = epoll::delete(&self.epoll, socket);
            }
        }
    }

    fn accept(&mut self, at: usize) {
        let generation = Arc::clone(&self.generation);
        let Some((listener, socket)) = generation.listeners.get(at) else { return };
        for _ in 0..ACCEPTED_MAX {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let (client, address) = match rustix::net::acceptfrom_with(socket, flags) {
                Ok(accepted) => accepted,
                Err(Errno::AGAIN) => {
                    self.counts.have_enough();
                    return;
                }
                Err(errno) if is_of_client(errno) => continue,
                Err(errno) => {
                    if self.counts.run_short() {
                        let name = &listener.name;
                        generation
                            .log
                            .say(format!("{name}: connections wait, none can be accepted: {errno}"));
                    }
                    self.ignore_listeners();
                    self.accept_again = Some(self.now + ACCEPT_PAUSE);
                    return;
                }
            };
            // Clients of a Unix socket have no address.
            let unknown = SocketAddr::from(([0, 0, 0, 0], 0));
            let peer = address.and_then(|address| SocketAddr::try_from(address).ok());
            // An IPv4 client at a socket for both families gets its IPv4 address.
            let peer = peer.map(|peer| SocketAddr::new(peer.ip().to_canonical(), peer.port()));
            let address = peer.unwrap_or(unknown);
            let limits = &generation.limits;
            let mut per_address = limits.per_address;
            if let Some(networks) = &listener.accept_proxy {
                if !networks.iter().any(|network| network.has(peer)) {
                    let end = "refused: accept_proxy";
                    listener.metrics.of(self.number).refused(end);
                    generation.log.write(&refused(address, listener, end));
                    continue;
                }
                // The bound counts for the address that the proxy will name.
                per_address = None;
            }
            match self.counts.enter(address.ip(), limits.connections, per_address) {
                Ok(permit) => {
                    let material = Arc::clone(&generation.material);
                    let session =
                        Session::new(client, address, Arc::clone(listener), material, permit, self.now);
                    if let Ok(session) = session {
                        self.begin(session);
                    }
                }
                Err(full) => {
                    listener.metrics.of(self.number).refused(full.name());
                    generation.log.write(&refused(address, listener, full.name()));
                }
            }
        }
        // The listener reports the remaining connections again.
    }

    fn begin(&mut self, session: Session) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            (self.slots.len() - 1) as u32
        });
        let entry = &mut self.slots[slot as usize];
        entry.uses = (entry.uses + 1) & USES_MAX;
        let id = entry.uses << SLOT_BITS | u64::from(slot);
        if epoll::add(&self.epoll, &session.client().socket, EventData::new_u64(id << 1), WATCHED).is_err() {
            self.free.push(slot);
            return;
        }
        (entry.is_again, entry.is_warm, entry.timer_at) = (false, false, None);
        session.listener().metrics.of(self.number).accepted();
        entry.session = Some(Box::new(session));
        self.live += 1;
        self.go_on(id);
    }

    fn session(&mut self, id: u64) -> Option<&mut Session> {
        self.slot(id)?.session.as_deref_mut()
    }

    fn hear(&mut self, data: u64, events: EventFlags) {
        let (id, of_backend) = (data >> 1, data & 1 == 1);
        if let Some(session) = self.session(id) {
            session.hear(of_backend, events);
            self.go_on(id);
        }
    }

    /// Lets a connection act, and counts its progress; `None` if the connection no longer exists.
    fn step(&mut self, id: u64, act: impl FnOnce(&mut Session, &mut Around<'_>) -> Step) -> Option<Step> {
        let generation = Arc::clone(&self.generation);
        let slot = self.slots.get_mut((id & ((1 << SLOT_BITS) - 1)) as usize)?;
        if slot.uses != id >> SLOT_BITS {
            return None;
        }
        let mut around = Around {
            epoll: &self.epoll,
            backend_data: id << 1 | 1,
            scratch: &mut self.scratch,
            now: self.now,
            limits: &generation.limits,
            others_wait: self.completions.as_ref().is_some_and(|cards| cards.in_flight() > 0),
        };
        let session = slot.session.as_deref_mut()?;
        let before = session.seen();
        let step = act(session, &mut around);
        let counters = session.listener().metrics.of(self.number);
        counters.went_on(before, session.seen(), session.agreed());
        Some(step)
    }

    fn go_on(&mut self, id: u64) {
        let step = self.step(id, Session::go_on);
        self.after(id, step);
        self.arm(id);
        if let Some(slot) = self.slot(id)
            && slot.session.is_some()
            && !std::mem::replace(&mut slot.is_warm, true)
        {
            self.warm.push(id);
            self.look_at = self.look_at.or(Some(self.now + REST_AFTER));
        }
    }

    /// Lets idle connections free memory.
    fn rest(&mut self, now: Instant) {
        let mut warm = std::mem::take(&mut self.warm);
        let looked_at = warm.len();
        warm.retain(|id| {
            let Some(slot) = self.slot(*id) else { return false };
            let Some(session) = slot.session.as_deref_mut() else { return false };
            slot.is_warm = !session.rest(REST_AFTER, now);
            slot.is_warm
        });
        self.rested += looked_at - warm.len();
        self.warm = warm;
        // Freed memory lies between memory in use; only after many connections are whole pages free.
        if self.rested >= RESTED_MIN {
            self.rested = 0;
            tls::give_back_memory();
        }
        self.look_at = (!self.warm.is_empty()).then_some(now + REST_AFTER);
    }

    /// Sets a timer for a connection's deadline, if that comes before the connection's present timer.
    fn arm(&mut self, id: u64) {
        let limits = self.generation.limits;
        let Some(slot) = self.slot(id) else { return };
        let Some(deadline) = slot.session.as_ref().map(|session| session.deadline(&limits)) else { return };
        if slot.timer_at.is_none_or(|at| deadline < at) {
            slot.timer_at = Some(deadline);
            self.timers.push(Reverse((deadline, id)));
        }
    }

    fn slot(&mut self, id: u64) -> Option<&mut Slot> {
        let slot = self.slots.get_mut((id & ((1 << SLOT_BITS) - 1)) as usize)?;
        (slot.uses == id >> SLOT_BITS).then_some(slot)
    }

    fn after(&mut self, id: u64, mut step: Option<Step>) {
        while let Some(now) = step.take() {
            match now {
                Step::Wait => {}
                Step::Again => {
                    if let Some(slot) = self.slot(id)
                        && !std::mem::replace(&mut slot.is_again, true)
                    {
                        self.again.push(id);
                    }
                }
                Step::Ask(request) => {
                    if !self.ask(id, &request) {
                        let (now, number) = (self.now, self.number);
                        if let Some(session) = self.session(id) {
                            session.listener().metrics.of(number).key_failed(KeyError::NotAsked);
                            session.answered(None, now);
                        }
                        step = self.step(id, Session::go_on);
                    }
                }
                Step::Linger => {
                    let number = self.number;
                    if let Some(session) = self.session(id) {
                        let counters = session.listener().metrics.of(number);
                        counters.ended(session.end(), session.seen().handshake.is_some());
                        counters.held();
                    }
                    self.lingering.push_back(id);
                    let most = (self.generation.limits.failed as usize).div_ceil(self.loops);
                    let is_late = self.stop_at.is_some();
                    while self.lingering.len() > most || (is_late && !self.lingering.is_empty()) {
                        if let Some(oldest) = self.lingering.pop_front() {
                            self.end(oldest);
                        }
                    }
                }
                Step::End => self.end(id),
            }
        }
    }

    /// Sends a private key operation to the cards; false if it cannot be sent.
    fn ask(&mut self, id: u64, request: &KeyRequest) -> bool {
        let domain = self.domain;
        let Some(material) = self.session(id).map(|session| Arc::clone(session.material())) else {
            return true;
        };
        let Some(KeyPlace::Label(label)) = material.key(request.key).map(|key| &key.place) else {
            return false;
        };
        let Some(completions) = &mut self.completions else { return false };
        match labels::submit(completions, id, domain, label, request) {
            Ok(()) => true,
            Err(NotSent::NotServed) => {
                let why = "a key was not asked: labels sign with SHA-256, SHA-384 and SHA-512 alone";
                self.generation.log.say(why.to_owned());
                false
            }
            Err(NotSent::Facility(error)) => {
                self.generation.log.say(format!("a key was not asked: {error}"));
                false
            }
        }
    }

    /// Takes the answers of cards, and lets their connections go on.
    fn collect(&mut self, reply: &mut Reply) {
        while let Some((id, answer)) = self.completions.as_mut().and_then(|cards| cards.collect(reply)) {
            // The time of the answer rather than of the last event, so that the log states how long the key took.
            self.now = Instant::now();
            let now = self.now;
            let Some(is_ecdsa) = self.session(id).map(|session| session.asked_ecdsa()) else { continue };
            let mut failed = KeyError::Refused;
            let answer = match answer {
                Ok(()) => {
                    let answer = labels::answer(is_ecdsa, reply);
                    if answer.is_none() {
                        self.generation.log.say(format!("a card refused: {}", reply.codes()));
                    }
                    answer
                }
                Err(error) => {
                    self.generation.log.say(format!("a key gave no answer: {error}"));
                    failed = KeyError::NoAnswer;
                    None
                }
            };
            let (number, has_answer) = (self.number, answer.is_some());
            let Some(session) = self.session(id) else { continue };
            session.answered(answer, now);
            let counters = session.listener().metrics.of(number);
            match session.key_time().filter(|_| has_answer) {
                Some(time) => counters.key_took(time),
                None => counters.key_failed(failed),
            }
            self.go_on(id);
        }
    }

    /// Acts on all deadlines that have come.
    fn expire(&mut self) {
        let now = Instant::now();
        if self.accept_again.is_some_and(|at| at <= now) && self.watch_listeners().is_err() {
            self.accept_again = Some(now + ACCEPT_PAUSE);
        }
        if self.stop_at.is_some_and(|at| at <= now) && self.live > 0 {
            self.end_all();
        }
        if self.look_at.is_some_and(|at| at <= now) {
            self.rest(now);
        }
        let limits = self.generation.limits;
        while let Some(Reverse((at, id))) = self.timers.peek().copied() {
            if at > now {
                break;
            }
            self.timers.pop();
            let Some(slot) = self.slot(id) else { continue };
            slot.timer_at = slot.timer_at.filter(|timer| *timer > at);
            let Some(session) = self.session(id) else { continue };
            if session.deadline(&limits) > now {
                self.arm(id);
                continue;
            }
            self.now = now;
            let step = self.step(id, Session::expire);
            self.after(id, step);
            // The connection got more time, for example to try another backend.
            self.arm(id);
        }
    }

    fn end_all(&mut self) {
        for at in 0..self.slots.len() {
            let slot = &mut self.slots[at];
            if let Some(session) = &mut slot.session {
                session.stop("stopped");
                let id = slot.uses << SLOT_BITS | at as u64;
                self.end(id);
            }
        }
    }

    /// Closes a connection, counts its end, and writes it into the log.
    fn end(&mut self, id: u64) {
        let at = id & ((1 << SLOT_BITS) - 1);
        let Some(slot) = self.slots.get_mut(at as usize).filter(|slot| slot.uses == id >> SLOT_BITS) else {
            return;
        };
        let Some(session) = slot.session.take() else { return };
        let counters = session.listener().metrics.of(self.number);
        if session.is_lingering() {
            counters.released();
        } else {
            counters.ended(session.end(), session.seen().handshake.is_some());
        }
        self.generation.log.write(&session.entry(self.now));
        self.free.push(at as u32);
        self.live -= 1;
        // Usually at the front, since held connections end in the order in which they began.
        if session.is_lingering()
            && let Some(place) = self.lingering.iter().position(|other| *other == id)
        {
            self.lingering.remove(place);
        }
    }
}

/// Whether an error of accepting means that the client is gone already, or that a packet filter refuses it (accept(2)).
fn is_of_client(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::CONNABORTED
            | Errno::INTR
            | Errno::PERM
            | Errno::PROTO
            | Errno::NETDOWN
            | Errno::NOPROTOOPT
            | Errno::HOSTDOWN
            | Errno::NONET
            | Errno::HOSTUNREACH
            | Errno::NETUNREACH
    )
}

fn refused<'a>(client: SocketAddr, listener: &'a Listener, end: &str) -> Entry<'a> {
    Entry {
        client,
        listener: &listener.name,
        facts: Facts::default(),
        client_certificate: None,
        refused_certificate: None,
        key: None,
        key_time: None,
        handshake: None,
        duration: Duration::ZERO,
        bytes_in: 0,
        bytes_out: 0,
        backend: None,
        end: end.to_owned(),
    }
}
