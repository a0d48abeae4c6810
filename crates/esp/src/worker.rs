//! The worker: the process with keys and without privileges. It answers programs as the kernel's XFRM does, and its
//! threads carry packets.
//!
//! ```text
//! its start message -> device, raw sockets, engine -> first part of the sandbox -> threads, without SAs or policies -> second part
//!   -> the journal of earlier workers -> routes and the egress filter, as it says -> packets and requests
//! ```
//! A change is in force before its request is answered: threads have the new tables, routes lead into the device, and
//! the journal has its records.

use crate::messages::{Notice, Order, Start};
use crate::observed::Question;
use confine::arena;
use confine::sandbox::{self, Kept, PACKET_RULES, SandboxError};
use confine::scheduling;
use engine::{Engine, Options};
use home::limits::NotStarted;
use ipsec::{PolicyDirection, Time};
use link::{Channel, ChannelError};
use plane::{PathMtus, Shared, Tables};
use rustix::event::{PollFd, PollFlags, poll};
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use xfrm::{Client, Outbox, Xfrm};

mod clients;
mod journal;
mod keeping;
mod metrics;
mod observers;
mod rows;

use clients::Clients;
pub use journal::{Journal, SLOT_BYTES};
use keeping::Keeping;
use observers::Observers;

/// Upper bound of the worker's descriptors: clients, observers, and sockets of all addresses for every thread.
const DESCRIPTORS_MAX: u64 = 16_384;
/// Free memory that a request needs that adds something, in bytes, and the second figure more for each SA and policy.
/// Tables are copied to be changed, and the journal is at times written anew.
const ROOM_BYTES: usize = 1 << 19;
const ROOM_ENTRY_BYTES: usize = 1200;
/// How long threads may take to switch to published tables before SAs missing there are ended. Threads look every few
/// milliseconds, unless other programs have the processors.
const TABLES_WAIT: Duration = Duration::from_secs(1);
/// How often the SAs' limits by time are checked.
const TICK: Duration = Duration::from_secs(1);

/// Why the worker ended.
#[derive(Debug)]
pub enum WorkerError {
    /// The channel to the supervisor failed or ended.
    Channel(ChannelError),
    /// The first message was no start message of a supervisor.
    Start,
    /// The engine could not start.
    Engine(engine::EngineError),
    /// The device could not be opened.
    Device(plane::OpenError),
    /// The sandbox could not be entered.
    Sandbox(SandboxError),
    /// The journal of the earlier worker cannot be read: the reason.
    Journal(String),
    /// A thread of the packet path ended.
    Thread,
    /// Another operation of the system failed.
    System {
        /// The operation, as a verb form for the message.
        operation: &'static str,
        /// The error of the system.
        cause: io::Error,
    },
}

impl fmt::Display for WorkerError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WorkerError::Channel(cause) => write!(out, "the supervisor: {cause}"),
            WorkerError::Start => out.write_str(
                "descriptor 3 is no channel of a supervisor; this program is started by `cryptand ipsec up`",
            ),
            WorkerError::Engine(cause) => cause.fmt(out),
            WorkerError::Device(cause) => cause.fmt(out),
            WorkerError::Sandbox(cause) => cause.fmt(out),
            WorkerError::Thread => {
                out.write_str("a thread that carries packets ended, as it does when its device is removed")
            }
            WorkerError::Journal(why) => write!(
                out,
                "the journal of policies cannot be read ({why}), so that what they protect stays dropped: `cryptand ipsec down` clears it, then start IKE anew"
            ),
            WorkerError::System { operation, cause } => write!(out, "{operation}: {}", NotStarted(cause)),
        }
    }
}

impl std::error::Error for WorkerError {}

fn system<E: Into<io::Error>>(operation: &'static str) -> impl Fn(E) -> WorkerError {
    move |cause| WorkerError::System { operation, cause: cause.into() }
}

/// Runs the program: at the instruction-set level of the environment, until the supervisor's channel ends.
///
/// # Errors
/// Why the worker could not begin, or cannot go on.
pub fn main() -> Result<(), String> {
    let limit = level::hold(None).map_err(|cause| cause.to_string())?;
    let options = Options { limit: limit.map(level::engine_level), ..Options::default() };
    match run(options) {
        // The supervisor ends its worker by closing the channel.
        Ok(()) | Err(WorkerError::Channel(ChannelError::Closed)) => Ok(()),
        Err(cause) => Err(cause.to_string()),
    }
}

fn run(options: Options) -> Result<(), WorkerError> {
    let descriptor = sandbox::inherited_socket().map_err(|_| WorkerError::Start)?;
    let channel = Channel::from_fd(descriptor).map_err(|_| WorkerError::Start)?;
    let (order, descriptors) = channel.recv::<Order>().map_err(WorkerError::Channel)?;
    let Order::Start(start) = order else { return Err(WorkerError::Start) };
    let Ok([listener, observe, journal, lock]) = <[OwnedFd; 4]>::try_from(descriptors) else {
        return Err(WorkerError::Start);
    };
    rustix::io::ioctl_fionbio(&listener, true).map_err(system("preparing the listening socket"))?;
    let queues = plane::open_tun(&start.device, start.threads, true).map_err(WorkerError::Device)?;
    let raw = plane::open_raw().map_err(WorkerError::Device)?;
    let engine = Engine::new(options).map_err(WorkerError::Engine)?;
    // Lazy initialisation needs files, which the sandbox takes away, so it is done here.
    engine.random(&mut [0; 32]);
    rustix::param::page_size();
    let own_user = rustix::process::geteuid().as_raw();
    let shared = Shared::new(engine, start.threads).map_err(system("making what threads share"))?;
    let shared = Arc::new(shared);
    let entered = sandbox::enter_before_threads().map_err(WorkerError::Sandbox)?;
    let lacks: Vec<String> = confine::lacks(&entered).into_iter().map(str::to_owned).collect();
    // A stopped worker does not see its channel end, and would keep the lock; the kernel ends it with the supervisor.
    // Steps of the sandbox that change credentials would undo this setting.
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
        .map_err(system("asking to be ended with the supervisor"))?;
    let start_threads = || plane::spawn(&shared, queues, Vec::new(), raw);
    scheduling::as_batch(start_threads).map_err(system("starting threads"))?;
    let kept = Kept { descriptors: DESCRIPTORS_MAX, file_bytes: 2 * SLOT_BYTES, calls: PACKET_RULES };
    sandbox::confine_threads(kept).map_err(WorkerError::Sandbox)?;
    let doors = Doors { listener, observe, _lock: lock, own_user };
    let mut worker = Worker::new(channel, start, shared, engine, doors, lacks);
    worker.restore(journal)?;
    worker.serve()
}

/// The worker's listeners and its lock.
struct Doors {
    /// Listener for programs that send XFRM requests.
    listener: OwnedFd,
    /// Listener for observers.
    observe: OwnedFd,
    /// The lock of the folder. While it is held no other supervisor begins: that would bind its sockets beside these.
    _lock: OwnedFd,
    /// The only user whose programs may change SAs and policies: the worker's own.
    own_user: u32,
}

struct Worker {
    keeping: Keeping,
    start: Start,
    shared: Arc<Shared>,
    engine: Engine,
    doors: Doors,
    lacks: Vec<String>,
    xfrm: Xfrm,
    clients: Clients,
    observers: Observers,
    /// Whether the journal of earlier workers was taken up.
    is_restored: bool,
    local: Arc<HashSet<IpAddr>>,
    path_mtus: Arc<PathMtus>,
    /// Addresses of this machine from messages that announced a further one.
    partial: Vec<IpAddr>,
    partial_sockets: BTreeMap<SocketAddr, Vec<OwnedFd>>,
    published: (u64, u64),
    began: Instant,
    ticked: Instant,
}

impl Worker {
    fn new(
        channel: Channel,
        start: Start,
        shared: Arc<Shared>,
        engine: Engine,
        doors: Doors,
        lacks: Vec<String>,
    ) -> Worker {
        let settings = xfrm::Settings { weak_suites: start.weak_suites, ..xfrm::Settings::default() };
        let xfrm = Xfrm::new(engine, settings);
        Worker {
            keeping: Keeping::new(channel),
            shared,
            engine,
            doors,
            lacks,
            published: xfrm.versions(),
            xfrm,
            clients: Clients::default(),
            observers: Observers::default(),
            is_restored: false,
            local: Arc::default(),
            path_mtus: Arc::new(PathMtus { default: start.outside_mtu, ..PathMtus::default() }),
            start,
            partial: Vec::new(),
            partial_sockets: BTreeMap::new(),
            began: Instant::now(),
            ticked: Instant::now(),
        }
    }

    fn now(&self) -> Time {
        self.shared.now()
    }

    /// Number of policies in all directions.
    fn policy_count(&self) -> usize {
        PolicyDirection::ALL.into_iter().map(|direction| self.xfrm.spd().len(direction)).sum()
    }

    /// Takes up an earlier worker's journal: its policies, so that their traffic does not pass as unprotected, and the
    /// names of lost SAs.
    fn restore(&mut self, journal: OwnedFd) -> Result<(), WorkerError> {
        loop {
            match self.keeping.channel().recv::<Order>().map_err(WorkerError::Channel)? {
                (Order::Begin, _) => break,
                (order, descriptors) => self.obey(order, descriptors),
            }
        }
        // Without the journal's policies, traffic that they protect would leave in clear.
        let unreadable = |why: String| WorkerError::Journal(why);
        let (journal, earlier) =
            Journal::open(journal.into(), self.engine).map_err(|cause| unreadable(cause.to_string()))?;
        let restored = self.xfrm.restore(&earlier, self.now(), wall());
        restored.map_err(|cause| unreadable(cause.to_string()))?;
        self.keeping.begin(journal, self.xfrm.list_policies())?;
        self.keeping.say(&Notice::Restored)?;
        for (order, descriptors) in self.keeping.take_orders() {
            self.obey(order, descriptors);
        }
        // Users take a data plane that serves for one with its egress filter in force.
        loop {
            match self.keeping.channel().recv::<Order>().map_err(WorkerError::Channel)? {
                (Order::Serve, _) => break,
                (order, descriptors) => self.obey(order, descriptors),
            }
        }
        self.is_restored = true;
        self.publish();
        let lacks = self.lacks.clone();
        self.keeping.say(&Notice::Ready { lacks })
    }

    fn serve(&mut self) -> Result<(), WorkerError> {
        loop {
            self.observers.end_old();
            let timeout = self.timeout();
            let mut clients: Vec<(Client, bool)> = Vec::new();
            let happened: Vec<PollFlags> = {
                let event = self.shared.event_fd();
                let mut polled = vec![
                    PollFd::new(self.keeping.channel(), PollFlags::IN),
                    PollFd::from_borrowed_fd(event, PollFlags::IN),
                    PollFd::new(&self.doors.listener, PollFlags::IN),
                    PollFd::new(&self.doors.observe, wanted(self.observers.has_room(), false)),
                ];
                for (client, socket, writes) in self.clients.polled() {
                    clients.push((client, writes));
                    polled.push(PollFd::from_borrowed_fd(socket, wanted(true, writes)));
                }
                for (socket, writes) in self.observers.polled() {
                    polled.push(PollFd::from_borrowed_fd(socket, wanted(!writes, writes)));
                }
                match poll(&mut polled, timeout.as_ref()) {
                    Ok(_) | Err(rustix::io::Errno::INTR) => {}
                    Err(errno) => return Err(system("waiting for events")(errno)),
                }
                polled.iter().map(PollFd::revents).collect()
            };
            if !happened[0].is_empty() {
                self.take_orders()?;
            }
            let mut out = Outbox::default();
            if !happened[1].is_empty() {
                self.take_events(&mut out);
                if self.shared.has_ended() {
                    return Err(WorkerError::Thread);
                }
            }
            let (of_clients, of_observers) = happened[4..].split_at(clients.len());
            for ((client, _), happened) in clients.into_iter().zip(of_clients) {
                if !happened.is_empty() {
                    self.take_requests(client, *happened, &mut out);
                }
            }
            if self.ticked.elapsed() >= TICK {
                self.tick(&mut out);
            }
            self.commit()?;
            self.send(&mut out);
            if !happened[2].is_empty() {
                self.clients.accept(&self.doors.listener, self.doors.own_user);
            }
            self.show(of_observers);
            if !happened[3].is_empty() {
                self.observers.accept(&self.doors.observe);
            }
        }
    }

    /// Time until limits are next checked or an observer's time is over; None if nothing is to be checked or closed.
    fn timeout(&self) -> Option<rustix::event::Timespec> {
        let is_left = self.shared.reap();
        let is_idle = self.xfrm.sad().is_empty() && self.xfrm.due().is_none() && !is_left;
        let tick = (!is_idle).then(|| TICK.saturating_sub(self.ticked.elapsed()));
        let left = tick.into_iter().chain(self.observers.next_end()).min()?;
        Some(rustix::event::Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        })
    }

    fn take_orders(&mut self) -> Result<(), WorkerError> {
        loop {
            match self.keeping.channel().try_recv::<Order>() {
                Ok((order, descriptors)) => self.obey(order, descriptors),
                Err(ChannelError::WouldBlock) => return Ok(()),
                Err(cause) => return Err(WorkerError::Channel(cause)),
            }
        }
    }

    fn obey(&mut self, order: Order, descriptors: Vec<OwnedFd>) {
        match order {
            Order::Addresses { addresses, more } => {
                self.partial.extend(addresses);
                if !more {
                    let addresses = std::mem::take(&mut self.partial);
                    self.xfrm.set_local(addresses.iter().copied());
                    self.local = Arc::new(addresses.into_iter().collect());
                    // Until the policies are restored threads take no packet: tables without policies would let all
                    // pass in clear.
                    if self.is_restored {
                        self.publish();
                    }
                }
            }
            Order::Sockets { address, more } => {
                self.partial_sockets.entry(address).or_default().extend(descriptors);
                if !more && let Some(sockets) = self.partial_sockets.remove(&address) {
                    // The supervisor sends the sockets of an address only once, one for each thread.
                    if let Err(cause) = self.shared.add_sockets(address, sockets) {
                        tell!("the sockets of {address}: {cause}");
                    }
                }
            }
            Order::EgressFilter(is_set) => self.start.egress_filter = is_set,
            Order::Start(_) | Order::Begin | Order::Serve | Order::Routed { .. } => {}
        }
    }

    /// Sends waiting datagrams, and continues dumps whose readers keep up.
    fn send(&mut self, out: &mut Outbox) {
        loop {
            while let Some((client, datagram)) = out.take() {
                if !self.clients.send(client, datagram) {
                    self.end_client(client);
                }
            }
            let dumping: Vec<Client> = self
                .clients
                .polled()
                .filter(|(client, _, waits)| !waits && self.xfrm.is_dumping(*client))
                .map(|(client, ..)| client)
                .collect();
            if dumping.is_empty() {
                break;
            }
            for client in dumping {
                self.xfrm.continue_dump(client, self.now(), wall(), out);
            }
        }
        // The kernel's XFRM reports this by ENOBUFS. The disconnected programs have missed events, and ask anew when
        // they connect again.
        let overrun: Vec<Client> = out.take_overrun().collect();
        for client in overrun {
            self.end_client(client);
        }
    }

    fn take_requests(&mut self, client: Client, happened: PollFlags, out: &mut Outbox) {
        if happened.contains(PollFlags::OUT) && !self.clients.flush(client) {
            return self.end_client(client);
        }
        if happened.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) {
            let (now, wall) = (self.shared.now(), wall());
            let wanted = ROOM_BYTES + ROOM_ENTRY_BYTES * (self.xfrm.sad().len() + self.policy_count());
            self.xfrm.set_full(arena::room(wanted) < wanted);
            let (xfrm, keeping) = (&mut self.xfrm, &mut self.keeping);
            let take = |datagram: &mut [u8]| xfrm.request(client, datagram, now, wall, keeping, out);
            if !self.clients.receive(client, take) {
                self.end_client(client);
            }
        }
    }

    fn end_client(&mut self, client: Client) {
        self.clients.close(client);
        self.xfrm.forget(client);
    }

    fn take_events(&mut self, out: &mut Outbox) {
        let (now, wall) = (self.now(), wall());
        for event in self.shared.take_events() {
            self.xfrm.event(&event, now, wall, out);
        }
    }

    fn tick(&mut self, out: &mut Outbox) {
        self.ticked = Instant::now();
        self.xfrm.tick(self.shared.now(), wall(), &mut self.keeping, out);
    }

    /// Brings changes into force: publishes tables, then removes idle routes and keeps names of SAs.
    fn commit(&mut self) -> Result<(), WorkerError> {
        if self.xfrm.versions() != self.published {
            self.publish();
        }
        if self.xfrm.has_removed() {
            // A thread that does not switch in time drops packets for ended SAs.
            self.shared.wait_taken_up(TABLES_WAIT);
            self.xfrm.close_removed();
        }
        let (now, wall) = (self.now(), wall());
        let names = self.xfrm.take_names();
        self.keeping.finish(names, || self.xfrm.journal(now, wall))?;
        for (order, descriptors) in self.keeping.take_orders() {
            self.obey(order, descriptors);
        }
        Ok(())
    }

    fn publish(&mut self) {
        self.published = self.xfrm.versions();
        self.shared.publish(Tables {
            sad: Arc::new(self.xfrm.sad().clone()),
            spd: Arc::new(self.xfrm.spd().clone()),
            local: Arc::clone(&self.local),
            path_mtus: Arc::clone(&self.path_mtus),
        });
    }

    fn show(&mut self, happened: &[PollFlags]) {
        if happened.is_empty() {
            return;
        }
        let happened: Vec<bool> = happened.iter().map(|happened| !happened.is_empty()).collect();
        let mut observers = std::mem::take(&mut self.observers);
        observers.go_on(&happened, |question| self.answer(question));
        self.observers = observers;
    }

    fn answer(&self, question: Question) -> Vec<u8> {
        let json = |value: serde_json::Result<Vec<u8>>| value.unwrap_or_default();
        match question {
            Question::Status => json(serde_json::to_vec(&self.status())),
            Question::Sas => json(serde_json::to_vec(&self.sas())),
            Question::Policies => json(serde_json::to_vec(&self.policies())),
            Question::Metrics => self.metrics().into_bytes(),
        }
    }
}

fn wanted(reads: bool, writes: bool) -> PollFlags {
    let mut flags = PollFlags::empty();
    flags.set(PollFlags::IN, reads);
    flags.set(PollFlags::OUT, writes);
    flags
}

/// Seconds since 1970, for the times of adding and first use that programs show.
fn wall() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
