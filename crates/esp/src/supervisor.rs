//! The supervisor: the process with privileges and without keys. It makes the device, rules, routes, the egress filter
//! and sockets, starts the worker, and restarts a worker that ended.
//!
//! Rules, routes and the egress filter outlive the worker: while no worker serves, traffic that policies protect is
//! dropped and never sent in clear. They also outlive a supervisor that is killed or has [`Serve::keep`] set; the next
//! supervisor finds and takes over both them and the journal.

use crate::folder::PlaneFolder;
use crate::messages::{FilterRow, LISTED_MAX, Notice, Order, Refused, Start};
use command_fds::{CommandFdExt, FdMapping};
use confine::sandbox::SOCKET_DESCRIPTOR;
use ipnet::IpNet;
use link::{Channel, ChannelError, Listener, PidFd};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use options::ipsec::{MTU_MIN, THREADS_MAX};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{RecvFlags, SendFlags, SocketFlags};
use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

mod asked;
mod claim;
mod error;
pub mod filter;
mod left;
mod net;
mod repair;
mod routes;
mod sockets;

pub use asked::Asked;
use asked::{CLIENTS_MAX, REQUEST_BYTES_MAX};
use claim::Claim;
pub use error::ServeError;
use error::{file, system};
use filter::Filter;
pub use left::clear;
use net::{Link, Net, News};
pub use net::{NetError, RULE_PRIORITY, TABLE};
use routes::{Change, Routes};
use sockets::Sockets;

/// File name of the worker's program.
const WORKER: &str = "cryptand-esp-worker";
/// Upper bound of what sealing adds to a packet, in bytes: in UDP over IPv6 with the longest suite. The device's MTU is
/// that of the links outside less these bytes.
const OVERHEAD_BYTES: u32 = 100;
// The command line's bound of threads must be the packet path's.
const _: () = assert!(THREADS_MAX as usize == plane::bounds::THREADS_MAX);
/// A worker that lived for less than this is not restarted at once.
const SHORT_LIFE: Duration = Duration::from_secs(5);
/// The wait before a worker that lived too short is restarted; it doubles with each such worker.
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// Upper bound of the wait before a restart.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// How long a worker whose channel has ended may take to end.
const END_WAIT: Duration = Duration::from_secs(1);
/// How long the supervisor waits for a worker to read an order from its channel.
const ORDER_WAIT: Duration = Duration::from_secs(5);
/// How long a worker may take from its start until it serves, in seconds.
pub const START_SECONDS: u64 = 20;

/// Settings with which a supervisor serves a data plane.
#[derive(Clone, Debug)]
pub struct Serve {
    /// The folder of the data plane's sockets; None for the environment's, else the default.
    pub folder: Option<PathBuf>,
    /// Name of the TUN device.
    pub device: String,
    /// MTU of the device in bytes; None for the least of all links outside, less what sealing adds.
    pub mtu: Option<u32>,
    /// Threads of the packet path; None for one on each processor.
    pub threads: Option<usize>,
    /// Whether 3DES and NULL may be used.
    pub weak_suites: bool,
    /// Whether rules and routes stay when the supervisor ends.
    pub keep: bool,
    /// Whether there is an egress filter; without one programs that name a link send in clear.
    pub egress_filter: bool,
}

/// Why the supervisor's loop ends.
enum End {
    /// A signal.
    Told,
    /// `cryptand ipsec down`, which waits until its connection closes: the connection stays open until everything is
    /// taken away.
    Down {
        /// The open connections, kept until the supervisor has finished.
        _asked: Vec<OwnedFd>,
    },
}

/// Serves until a signal or a request ends it. `ready` is called once, when the first worker serves. After an error,
/// rules and routes stay if they were there before or a worker has served: traffic that policies protect is dropped.
///
/// # Errors
/// [`ServeError`].
pub fn serve(settings: &Serve, ready: impl FnOnce()) -> Result<(), ServeError> {
    let plane = PlaneFolder::of(settings.folder.as_deref());
    let claim = Claim::take(&plane)?;
    let signals = take_signals()?;
    raise_descriptors();
    raise_locked_memory();
    let mut net = Net::open()?;
    let has_journal = fs::metadata(plane.journal()).is_ok_and(|journal| journal.len() > 0);
    let is_needed = has_journal || claim.noted().is_some() || !net.routed(None)?.is_empty();
    let end = Supervisor::new(settings, &plane, &claim).and_then(|mut supervisor| {
        let end = supervisor.run(&signals, ready);
        supervisor.end_worker();
        end
    });
    let keep = match &end {
        Ok(End::Down { .. }) => false,
        Ok(End::Told) => settings.keep,
        Err(ServeError::Lost(_)) => true,
        Err(_) => is_needed,
    };
    if keep {
        left::remove_sockets(&plane);
    } else if let Err(cause) = left::take_away(&plane, &claim, &mut net) {
        tell!("{cause}");
    }
    end.map(drop)
}

/// Raises the limit of locked memory to the most that this process may have. The worker inherits the limit: it keeps
/// keys in such memory, and refuses SAs when none is left.
fn raise_locked_memory() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let unlimited = Rlimit { current: None, maximum: None };
    if setrlimit(Resource::Memlock, unlimited).is_err() {
        let limit = getrlimit(Resource::Memlock);
        let _ = setrlimit(Resource::Memlock, Rlimit { current: limit.maximum, ..limit });
    }
}

/// Raises the limit of descriptors as far as this process may: every address takes a socket for each thread.
fn raise_descriptors() {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit { current: limit.maximum, ..limit };
    // If raising is refused, there is room for fewer addresses.
    let _ = rustix::process::setrlimit(rustix::process::Resource::Nofile, raised);
}

fn take_signals() -> Result<SignalFd, ServeError> {
    let set: SigSet = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP].into_iter().collect();
    set.thread_block()
        .and_then(|()| SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC))
        .map_err(|errno| system("waiting for signals")(errno.into()))
}

/// A listener of sequenced packets, for this user. Its path appears only once it listens, so that a program that waits
/// for the path can connect at once.
fn listen(path: &Path) -> Result<OwnedFd, ServeError> {
    let new = path.with_extension("new");
    let listener = Listener::bind(&new).and_then(|listener| {
        fs::rename(&new, path)?;
        Ok(listener.into_fd())
    });
    listener.map_err(file("listening at", path))
}

/// The listener of observers: a stream, for this user and group.
fn observe(path: &Path) -> Result<OwnedFd, ServeError> {
    let listener = fs::remove_file(path)
        .or_else(|cause| if cause.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(cause) })
        .and_then(|()| UnixListener::bind(path))
        .and_then(|listener| {
            fs::set_permissions(path, fs::Permissions::from_mode(0o660))?;
            listener.set_nonblocking(true)?;
            Ok(OwnedFd::from(listener))
        });
    listener.map_err(file("listening at", path))
}

struct Supervisor<'c> {
    settings: Serve,
    plane: PlaneFolder,
    claim: &'c Claim,
    net: Net,
    news: News,
    device: Link,
    mtu: u32,
    outside_mtu: u32,
    addresses: BTreeSet<IpAddr>,
    sockets: Sockets,
    routes: Routes,
    /// None if the settings ask for no egress filter.
    filter: Option<Filter>,
    /// The fault of the egress filter that was logged last; None if there is none.
    refused: Option<Refused>,
    /// Whether a destination of policies may lack both its routes, so that its packets leave by the system's other
    /// routes.
    is_open: bool,
    /// When the next repair of missing state is due; None if nothing is missing.
    retry_at: Option<Instant>,
    /// Destinations whose routes are to be checked once the last of several messages has come.
    touched: BTreeSet<IpNet>,
    /// Whether a worker has restored the state of earlier workers: until then routes stay although no policy asks for
    /// them.
    restored: bool,
    xfrm: OwnedFd,
    observe: OwnedFd,
    asked: OwnedFd,
    clients: Vec<OwnedFd>,
    threads: usize,
    worker: Option<Worker>,
    starts: u64,
    wait: Duration,
    start_at: Option<Instant>,
}

struct Worker {
    channel: Channel,
    child: Child,
    since: Instant,
    /// Deadline by which the worker must serve; None once it serves.
    ready_by: Option<Instant>,
    /// Whether the worker has restored the state of earlier workers, and waits for [`Order::Serve`].
    waits: bool,
    /// Whether the worker was told that the egress filter is in force.
    has_filter: bool,
}

impl<'c> Supervisor<'c> {
    fn new(settings: &Serve, plane: &PlaneFolder, claim: &'c Claim) -> Result<Supervisor<'c>, ServeError> {
        let mut net = Net::open()?;
        let news = News::listen()?;
        // The supervisor holds the device, so that it exists before a worker has its queues and stays when none has.
        let device = repair::make_device(&mut net, &settings.device)?;
        claim.note(&device.name).map_err(file("writing", &plane.lock()))?;
        let links = net.links()?;
        let outside = links.iter().filter(|link| link.up && !link.loopback && link.index != device.index);
        let least = outside.map(|link| link.mtu).min().unwrap_or(1500);
        let mtu = settings.mtu.unwrap_or(least.saturating_sub(OVERHEAD_BYTES).max(MTU_MIN));
        net.set_up(&device, mtu)?;
        net.add_rules()?;
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = settings.threads.unwrap_or(processors).clamp(1, usize::from(THREADS_MAX));
        let mut sockets = Sockets::new(threads);
        sockets.open_wildcards()?;
        sockets.open_held();
        let addresses = net.addresses()?;
        let routes = Routes::left(net.routed(None)?.into_keys());
        let mut filter = settings.egress_filter.then(|| Filter::new(&device.name));
        if let Some(filter) = &mut filter
            && let Err(refused) = filter.open()
        {
            tell!("{}; policies that protect are refused until it can be set", refused.text);
        }
        if filter.is_none()
            && let Err(cause) = filter::clear()
        {
            tell!("removing the egress filter of an earlier data plane: {cause}");
        }
        let asked = listen(&plane.plane_socket())?;
        let _ = rustix::io::ioctl_fionbio(&asked, true);
        let observe = observe(&plane.observe_socket())?;
        // The last: programs that wait for the data plane look out for it.
        let xfrm = listen(&plane.xfrm_socket())?;
        Ok(Supervisor {
            settings: settings.clone(),
            plane: plane.clone(),
            claim,
            net,
            news,
            device,
            mtu,
            outside_mtu: least,
            addresses,
            sockets,
            routes,
            filter,
            refused: None,
            is_open: false,
            retry_at: None,
            touched: BTreeSet::new(),
            restored: false,
            xfrm,
            observe,
            asked,
            clients: Vec::new(),
            threads,
            worker: None,
            starts: 0,
            wait: FIRST_WAIT,
            start_at: None,
        })
    }

    fn run(&mut self, signals: &SignalFd, ready: impl FnOnce()) -> Result<End, ServeError> {
        let mut ready = Some(ready);
        self.start_worker()?;
        loop {
            let deadline = self
                .start_at
                .into_iter()
                .chain(self.retry_at)
                .chain(self.worker.iter().filter_map(|worker| worker.ready_by))
                .min();
            let timeout = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            let timeout = timeout.map(|left| rustix::event::Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: i64::from(left.subsec_nanos()),
            });
            let mut polled = vec![
                PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(self.news.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(self.asked.as_fd(), PollFlags::IN),
            ];
            polled.extend(self.worker.iter().map(|worker| PollFd::new(&worker.channel, PollFlags::IN)));
            let filter_at = polled.len();
            let news = self.filter.as_ref().and_then(Filter::news);
            polled.extend(news.map(|news| PollFd::new(news, PollFlags::IN)));
            let fixed = polled.len();
            polled.extend(self.clients.iter().map(|client| PollFd::new(client, PollFlags::IN)));
            match poll(&mut polled, timeout.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(ServeError::Lost(errno.into())),
            }
            let happened: Vec<bool> = polled.iter().map(|polled| !polled.revents().is_empty()).collect();
            drop(polled);
            let has_worker = filter_at == 4;
            if happened[0] && matches!(signals.read_signal(), Ok(Some(_))) {
                return Ok(End::Told);
            }
            if happened[1] {
                let news = self.news.take(self.net.port(), self.device.index);
                if news.addresses {
                    self.take_addresses();
                }
                if news.ours || news.addresses {
                    self.repair();
                }
            }
            if filter_at < fixed && happened[filter_at] {
                self.repair_filter();
            }
            if has_worker && happened[3] && self.hear(&mut ready) {
                let status = self.worker_ended();
                if ready.is_some() {
                    return Err(ServeError::Worker(status));
                }
            }
            if self.answer(&happened[fixed..]) {
                return Ok(End::Down { _asked: std::mem::take(&mut self.clients) });
            }
            if happened[2] {
                self.accept();
            }
            self.go_on();
            self.end_late_worker();
            if self.start_at.is_some_and(|at| at <= Instant::now())
                && let Err(cause) = self.start_worker()
            {
                // Until the next worker serves, traffic that policies protect is dropped.
                self.wait = (self.wait * 2).min(LONGEST_WAIT);
                tell!("{cause}; it is tried again in {:.1} s", self.wait.as_secs_f64());
                self.start_at = Some(Instant::now() + self.wait);
            }
        }
    }

    fn start_worker(&mut self) -> Result<(), ServeError> {
        self.start_at = None;
        self.routes.begin();
        if let Some(filter) = &mut self.filter {
            filter.begin();
        }
        let has_filter = self.filter.as_ref().is_some_and(Filter::is_whole);
        let (own, theirs) = Channel::pair().map_err(system("making the worker's channel"))?;
        let wait = rustix::net::sockopt::set_socket_timeout(
            &own,
            rustix::net::sockopt::Timeout::Send,
            Some(ORDER_WAIT),
        );
        wait.map_err(|errno| system("making the worker's channel")(errno.into()))?;
        let own_path = std::env::current_exe().map_err(system("finding this program's own path"))?;
        let program = home::program_beside(&own_path, WORKER).ok_or_else(|| {
            let cause = io::Error::new(
                io::ErrorKind::NotFound,
                format!("{WORKER} is missing: reinstall, or build it"),
            );
            system("starting the worker")(cause)
        })?;
        let mut command = Command::new(program);
        command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null());
        let mapping = FdMapping { parent_fd: theirs.into_fd(), child_fd: SOCKET_DESCRIPTOR };
        command
            .fd_mappings(vec![mapping])
            .map_err(|error| system("handing the worker its channel")(io::Error::other(error.to_string())))?;
        let child = command.spawn().map_err(system("starting the worker"))?;
        // The command holds the worker's end of the channel open.
        drop(command);
        let since = Instant::now();
        let ready_by = Some(since + Duration::from_secs(START_SECONDS));
        let mut worker = Worker { channel: own, child, since, ready_by, waits: false, has_filter };
        let told = self.begin(&worker.channel, has_filter);
        self.starts += 1;
        if let Err(cause) = told {
            tell!("starting the worker: {cause}");
            let _ = worker.child.kill();
        }
        self.worker = Some(worker);
        Ok(())
    }

    /// Kills a worker that does not serve by its deadline; its end is then noticed by its channel.
    fn end_late_worker(&mut self) {
        let Some(worker) = &mut self.worker else { return };
        if worker.ready_by.take_if(|by| *by <= Instant::now()).is_some() {
            tell!("the worker does not serve after {START_SECONDS} s, and is ended");
            let _ = worker.child.kill();
        }
    }

    /// Sends a worker its start message, sockets and addresses, then [`Order::Begin`].
    fn begin(&self, channel: &Channel, has_filter: bool) -> Result<(), ChannelError> {
        let path = self.plane.journal();
        let journal =
            OpenOptions::new().create(true).truncate(false).read(true).write(true).mode(0o600).open(&path);
        let journal =
            journal.map_err(|cause| ChannelError::System { operation: "opening the journal", cause })?;
        let start = Start {
            device: self.device.name.clone(),
            threads: self.threads,
            outside_mtu: self.outside_mtu as usize,
            weak_suites: self.settings.weak_suites,
            egress_filter: has_filter,
            restarts: self.starts,
        };
        let descriptors = [self.xfrm.as_fd(), self.observe.as_fd(), journal.as_fd(), self.claim.as_fd()];
        channel.send(&Order::Start(start), &descriptors)?;
        for address in self.sockets.addresses() {
            self.sockets.hand_over(address, channel)?;
        }
        tell_addresses(channel, &self.addresses)?;
        channel.send(&Order::Begin, &[])
    }

    /// Handles the messages of the worker; true if the worker's channel has ended.
    fn hear(&mut self, ready: &mut Option<impl FnOnce()>) -> bool {
        loop {
            let Some(worker) = &self.worker else { return false };
            match worker.channel.try_recv::<Notice>() {
                Ok((Notice::Ready { lacks }, _)) => {
                    if self.starts <= 1 && !lacks.is_empty() {
                        tell!("the worker's sandbox lacks: {}", lacks.join(", "));
                    }
                    self.worker.iter_mut().for_each(|worker| worker.ready_by = None);
                    if let Some(ready) = ready.take() {
                        ready();
                    }
                }
                Ok((Notice::Routes { number, add, remove, last, whole }, _)) => {
                    self.routes.change(&add, &remove);
                    self.touched.extend(add.iter().chain(&remove).map(|pair| pair.destination));
                    if last {
                        let touched = std::mem::take(&mut self.touched);
                        let mut refused = self.set_routes(&self.changes_of(&touched));
                        refused.take_if(|_| !whole);
                        if refused.is_some() {
                            self.routes.change(&[], &add);
                            self.set_routes(&self.changes_of(&touched));
                        }
                        let Some(worker) = &self.worker else { return false };
                        if worker.channel.send(&Order::Routed { number, refused }, &[]).is_err() {
                            return true;
                        }
                    }
                }
                Ok((Notice::Filter { number, add, remove, whole }, _)) => {
                    let refused = self.change_filter(&add, &remove).filter(|_| whole);
                    let Some(worker) = &self.worker else { return false };
                    if worker.channel.send(&Order::Routed { number, refused }, &[]).is_err() {
                        return true;
                    }
                }
                Ok((Notice::Restored, _)) => {
                    self.restored = true;
                    self.routes.restored();
                    self.set_all_routes();
                    if let Some(Err(refused)) = self.filter.as_mut().map(Filter::restored) {
                        self.tell_refused(refused);
                    }
                    // The filter must be in force before the worker lets packets pass or seals them.
                    self.worker.iter_mut().for_each(|worker| worker.waits = true);
                }
                Err(ChannelError::WouldBlock) => return false,
                Err(_) => return true,
            }
        }
    }

    /// Adds policies to the egress filter and removes others; the refusal, if there was one.
    fn change_filter(&mut self, add: &[FilterRow], remove: &[FilterRow]) -> Option<Refused> {
        let refused = self.filter.as_mut()?.change(add, remove).err()?;
        tell!("{}", refused.text);
        Some(refused)
    }

    fn changes_of(&self, destinations: &BTreeSet<IpNet>) -> Vec<Change> {
        self.routes.changes_of(destinations, &self.addresses, !self.restored)
    }

    fn set_all_routes(&mut self) {
        self.is_open = false;
        self.set_routes(&self.routes.changes(&self.addresses, !self.restored));
    }

    /// Sets and removes routes; returns the first refusal of the kernel.
    fn set_routes(&mut self, changes: &[Change]) -> Option<Refused> {
        let mut refused = None;
        for change in changes.iter().copied() {
            let mut is_told = false;
            let set = match change {
                Change::Set { destination, source, first } => {
                    // The route that drops comes first, so that the route to the device never stands without it.
                    let dropped = if first { self.net.set_blackhole(destination) } else { Ok(()) };
                    self.is_open |= dropped.is_err();
                    dropped.and_then(|()| {
                        is_told = first && !self.routes.half_done(destination);
                        self.net.set_route(destination, &self.device, source)
                    })
                }
                Change::Remove { destination } => self.net.remove_routes(destination),
            };
            match set {
                Ok(()) => self.routes.done(&change),
                Err(cause) => {
                    if !is_told {
                        tell!("{cause}");
                    }
                    refused.get_or_insert(Refused { errno: cause.errno(), text: cause.to_string() });
                }
            }
        }
        refused
    }

    fn take_addresses(&mut self) {
        let addresses = match self.net.addresses() {
            Ok(addresses) if addresses == self.addresses => return,
            Ok(addresses) => addresses,
            Err(cause) => return tell!("{cause}"),
        };
        self.addresses = addresses;
        if let Some(worker) = &mut self.worker {
            // A worker that has ended is noticed by its channel.
            if let Err(ChannelError::WouldBlock) = tell_addresses(&worker.channel, &self.addresses) {
                tell!("the worker takes no orders, and is ended");
                let _ = worker.child.kill();
            }
        }
    }

    /// Plans the start of the next worker; returns the exit status of this one as text.
    fn worker_ended(&mut self) -> String {
        let Some(mut worker) = self.worker.take() else { return String::new() };
        drop(worker.channel);
        // A worker that ends by itself gets time to log its reason and to exit with its own status.
        let _ = PidFd::open(worker.child.id()).and_then(|process| process.wait_dead(Some(END_WAIT)));
        let _ = worker.child.kill();
        let status = worker.child.wait().map_or_else(|cause| cause.to_string(), |status| status.to_string());
        let lived = worker.since.elapsed();
        self.wait = if lived < SHORT_LIFE { (self.wait * 2).min(LONGEST_WAIT) } else { FIRST_WAIT };
        let wait = if lived < SHORT_LIFE { self.wait } else { Duration::ZERO };
        tell!(
            "the worker ended ({status}) after {:.1} s; what policies protect is dropped until the next one serves, in {:.1} s",
            lived.as_secs_f64(),
            wait.as_secs_f64()
        );
        self.start_at = Some(Instant::now() + wait);
        status
    }

    fn accept(&mut self) {
        while let Ok(client) =
            rustix::net::accept_with(&self.asked, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)
        {
            // The mode of the socket's path keeps others out as well, unless somebody changes it.
            let own = rustix::process::geteuid();
            if !rustix::net::sockopt::socket_peercred(&client).is_ok_and(|peer| peer.uid == own) {
                continue;
            }
            // Requests and answers are short: the oldest connection is idle.
            if self.clients.len() >= CLIENTS_MAX {
                self.clients.remove(0);
            }
            self.clients.push(client);
        }
    }

    /// Answers the clients that have sent a request; true if one of them asked for the end.
    fn answer(&mut self, happened: &[bool]) -> bool {
        let mut down = false;
        let clients = std::mem::take(&mut self.clients);
        for (index, client) in clients.into_iter().enumerate() {
            if !happened.get(index).copied().unwrap_or_default() {
                self.clients.push(client);
                continue;
            }
            let mut buffer = [0; REQUEST_BYTES_MAX];
            let asked = match rustix::net::recv(&client, &mut buffer, RecvFlags::DONTWAIT) {
                Ok((_, 0)) => continue,
                Ok((_, bytes)) => Asked::read(&buffer[..bytes.min(REQUEST_BYTES_MAX)]),
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {
                    self.clients.push(client);
                    continue;
                }
                Err(_) => continue,
            };
            let done = asked.and_then(|asked| match asked {
                Asked::Bind(address) => self.bind(address),
                Asked::Down => {
                    down = true;
                    Ok(())
                }
            });
            let answer = done.map_or_else(|why| format!("error {why}"), |()| "ok".to_owned());
            if rustix::net::send(&client, answer.as_bytes(), SendFlags::NOSIGNAL | SendFlags::DONTWAIT)
                .is_ok()
            {
                self.clients.push(client);
            }
        }
        down
    }

    fn bind(&mut self, address: std::net::SocketAddr) -> Result<(), String> {
        if self.sockets.open(address).map_err(|cause| cause.to_string())?
            && let Some(worker) = &self.worker
        {
            self.sockets.hand_over(address, &worker.channel).map_err(|cause| cause.to_string())?;
        }
        Ok(())
    }

    fn end_worker(&mut self) {
        if let Some(mut worker) = self.worker.take() {
            drop(worker.channel);
            let _ = worker.child.kill();
            let _ = worker.child.wait();
        }
    }
}

/// Keeps the kernel from sending packets of its own into the device. If its settings cannot be written, policies decide
/// about such packets.
fn quiet(device: &str) {
    // No link-local address, and so none to announce (RFC 4861, 6.3.7).
    for (setting, value) in [("addr_gen_mode", "1"), ("router_solicitations", "0"), ("accept_ra", "0")] {
        let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{device}/{setting}"), value);
    }
}

fn tell_addresses(channel: &Channel, addresses: &BTreeSet<IpAddr>) -> Result<(), ChannelError> {
    let listed: Vec<IpAddr> = addresses.iter().copied().collect();
    let mut parts = listed.chunks(LISTED_MAX).peekable();
    if parts.peek().is_none() {
        return channel.send(&Order::Addresses { addresses: Vec::new(), more: false }, &[]);
    }
    while let Some(part) = parts.next() {
        let order = Order::Addresses { addresses: part.to_vec(), more: parts.peek().is_some() };
        channel.send(&order, &[])?;
    }
    Ok(())
}
