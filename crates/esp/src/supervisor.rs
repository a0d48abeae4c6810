//! The supervisor: it has the rights, and no keys. It makes device, rules, routes and sockets, starts the worker, and starts another where that ends.
//!
//! Rules and routes outlive the worker: what policies protect is dropped while none serves, and never sent in clear. They outlive the supervisor too, where it is killed or told so by
//! [`Serve::keep`]; the next one finds them, and the journal, and begins with them.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use std::collections::BTreeSet;

use command_fds::{CommandFdExt, FdMapping};
use confine::sandbox::SOCKET_DESCRIPTOR;
use link::{Channel, ChannelError, Listener};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FlockOperation, flock};
use rustix::net::{RecvFlags, SendFlags, SocketFlags};

use crate::messages::{LISTED_MAX, Notice, Order, Start};
use crate::place::Place;

mod asked;
mod net;
mod routes;
mod sockets;

use asked::{Asked, CLIENTS_MAX, REQUEST_BYTES_MAX};
use net::{AddressNews, Link, Net};
pub use net::{NetError, RULE_PRIORITY, TABLE};
use routes::{Change, Routes};
use sockets::{Sockets, SocketsError};

/// The worker's program.
const WORKER: &str = "cryptand-esp-worker";
/// What a packet grows by at most when it is sealed, in bytes: in UDP over IPv6 with the longest suite. The device's MTU is less than that of
/// the links outside by so much.
const OVERHEAD_BYTES: u32 = 100;
/// Least MTU of the device, in bytes: what IPv6 asks for (RFC 8200, 5).
const MTU_MIN: u32 = 1280;
/// A worker that ended sooner than this after its start is not started again at once.
const SHORT_LIFE: Duration = Duration::from_secs(5);
/// The wait before the first such start; it doubles with each.
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// The longest such wait.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// How long a worker may take to say that it serves, in seconds, before the command that started it is told that it does not.
pub const START_SECONDS: u64 = 20;

/// How a data plane is served.
#[derive(Clone, Debug)]
pub struct Serve {
    /// The folder of its sockets.
    pub folder: Option<PathBuf>,
    /// Name of its TUN.
    pub device: String,
    /// MTU of the device in bytes; None for the least of all links outside, less what sealing adds.
    pub mtu: Option<u32>,
    /// Threads; None for one on each processor.
    pub threads: Option<usize>,
    /// Whether 3DES and NULL may be used.
    pub weak_suites: bool,
    /// Whether rules and routes stay when it ends.
    pub keep: bool,
}

/// Why it ended, or did not begin.
#[derive(Debug)]
pub enum ServeError {
    /// A file or folder.
    File {
        /// What was done with it.
        operation: &'static str,
        /// Which.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// Another one serves the folder.
    Taken(PathBuf),
    /// Rules, routes, links.
    Net(NetError),
    /// The device.
    Device(plane::OpenError),
    /// Sockets.
    Sockets(SocketsError),
    /// The first worker ended before it served: how. Why stands on standard error.
    Worker(String),
    /// Something else of the system.
    System {
        /// What was done.
        operation: &'static str,
        /// What it said.
        cause: io::Error,
    },
}

impl fmt::Display for ServeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServeError::File { operation, path, cause } => {
                write!(out, "{operation} {}: {cause}", path.display())
            }
            ServeError::Taken(folder) => write!(
                out,
                "another data plane serves {}: `cryptand ipsec down` ends it, --folder names another",
                folder.display()
            ),
            ServeError::Net(cause) => cause.fmt(out),
            ServeError::Device(cause) => cause.fmt(out),
            ServeError::Sockets(cause) => cause.fmt(out),
            ServeError::Worker(how) => write!(out, "the worker ended before it served ({how})"),
            ServeError::System { operation, cause } => write!(out, "{operation}: {cause}"),
        }
    }
}

impl std::error::Error for ServeError {}

impl From<NetError> for ServeError {
    fn from(cause: NetError) -> Self {
        ServeError::Net(cause)
    }
}

impl From<SocketsError> for ServeError {
    fn from(cause: SocketsError) -> Self {
        ServeError::Sockets(cause)
    }
}

fn system(operation: &'static str) -> impl Fn(io::Error) -> ServeError {
    move |cause| ServeError::System { operation, cause }
}

fn file<'p>(operation: &'static str, path: &'p Path) -> impl Fn(io::Error) -> ServeError + 'p {
    move |cause| ServeError::File { operation, path: path.to_owned(), cause }
}

/// Why the loop ends.
enum End {
    /// A signal.
    Told,
    /// `cryptand ipsec down`.
    Down,
}

/// Serves until a signal or a request ends it. `ready` is called once, when the first worker serves.
///
/// # Errors
/// [`ServeError`].
pub fn serve(settings: &Serve, ready: impl FnOnce()) -> Result<(), ServeError> {
    let place = Place::of(settings.folder.as_deref());
    let lock = take(&place)?;
    let signals = take_signals()?;
    let mut supervisor = Supervisor::new(settings, &place, lock)?;
    let end = supervisor.run(&signals, ready);
    let keep = settings.keep && matches!(end, Ok(End::Told));
    supervisor.end(keep);
    for socket in [place.xfrm_socket(), place.plane_socket(), place.observe_socket()] {
        let _ = fs::remove_file(socket);
    }
    if !keep {
        let _ = fs::remove_file(place.journal());
    }
    end.map(drop)
}

/// Makes the folder and locks it.
fn take(place: &Place) -> Result<File, ServeError> {
    let folder = place.folder();
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(folder)
        .map_err(file("making the folder", folder))?;
    let path = place.lock();
    let lock = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
    let lock = lock.map_err(file("opening", &path))?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(lock),
        Err(rustix::io::Errno::WOULDBLOCK) if answers(place) => Err(ServeError::Taken(folder.to_owned())),
        // The worker of a supervisor that is dead holds the lock until it has ended, and its sockets with it.
        Err(rustix::io::Errno::WOULDBLOCK) => {
            flock(&lock, FlockOperation::LockExclusive)
                .map_err(|errno| file("locking", &path)(errno.into()))?;
            Ok(lock)
        }
        Err(errno) => Err(file("locking", &path)(errno.into())),
    }
}

/// Whether a supervisor listens.
fn answers(place: &Place) -> bool {
    Channel::connect_now(&place.plane_socket()).is_ok()
}

fn take_signals() -> Result<SignalFd, ServeError> {
    let set: SigSet = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP].into_iter().collect();
    set.thread_block()
        .and_then(|()| SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC))
        .map_err(|errno| system("waiting for signals")(errno.into()))
}

/// A listener of sequenced packets, for this user. Its path comes into being when it listens already: who looks out for the path can connect at once.
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

struct Supervisor {
    settings: Serve,
    place: Place,
    lock: File,
    net: Net,
    news: AddressNews,
    device: Link,
    outside_mtu: u32,
    addresses: BTreeSet<IpAddr>,
    sockets: Sockets,
    routes: Routes,
    /// Whether a worker has restored what earlier ones knew: until then routes that nobody asked for stay.
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
}

impl Supervisor {
    fn new(settings: &Serve, place: &Place, lock: File) -> Result<Supervisor, ServeError> {
        let mut net = Net::open()?;
        let news = AddressNews::listen()?;
        // So that the device is there before its queues have a worker, and stays when they have none.
        plane::open_tun(&settings.device, 1, true).map(drop).map_err(ServeError::Device)?;
        let links = net.links()?;
        let missing = || io::Error::new(io::ErrorKind::NotFound, "the device that was made is not there");
        let device = links.iter().find(|link| link.name == settings.device);
        let device = device.ok_or_else(|| system("finding the device")(missing()))?.clone();
        let outside = links.iter().filter(|link| link.up && !link.loopback && link.index != device.index);
        let least = outside.map(|link| link.mtu).min().unwrap_or(1500);
        let mtu = settings.mtu.unwrap_or(least.saturating_sub(OVERHEAD_BYTES).max(MTU_MIN));
        quiet(&device.name);
        net.set_up(&device, mtu)?;
        net.add_rules()?;
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = settings.threads.unwrap_or(processors).clamp(1, plane::bounds::THREADS_MAX);
        let mut sockets = Sockets::new(threads);
        sockets.open_wildcards()?;
        let addresses = net.addresses()?;
        let routes = Routes::left(net.routed()?);
        let asked = listen(&place.plane_socket())?;
        let _ = rustix::io::ioctl_fionbio(&asked, true);
        let observe = observe(&place.observe_socket())?;
        // The last: programs that wait for the data plane look out for it.
        let xfrm = listen(&place.xfrm_socket())?;
        Ok(Supervisor {
            settings: settings.clone(),
            place: place.clone(),
            lock,
            net,
            news,
            device,
            outside_mtu: least,
            addresses,
            sockets,
            routes,
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
            let timeout = self.start_at.map(|at| at.saturating_duration_since(Instant::now()));
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
            let fixed = polled.len();
            polled.extend(self.clients.iter().map(|client| PollFd::new(client, PollFlags::IN)));
            match poll(&mut polled, timeout.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(system("waiting for events")(errno.into())),
            }
            let happened: Vec<bool> = polled.iter().map(|polled| !polled.revents().is_empty()).collect();
            drop(polled);
            let has_worker = fixed == 4;
            if happened[0] && matches!(signals.read_signal(), Ok(Some(_))) {
                return Ok(End::Told);
            }
            if happened[1] && self.news.take() {
                self.take_addresses();
            }
            if has_worker && happened[3] && self.hear(&mut ready) {
                let status = self.worker_ended();
                if ready.is_some() {
                    return Err(ServeError::Worker(status));
                }
            }
            if happened[2] {
                self.accept();
            }
            if self.answer(&happened[fixed..]) {
                return Ok(End::Down);
            }
            if self.start_at.is_some_and(|at| at <= Instant::now()) {
                self.start_worker()?;
            }
        }
    }

    fn start_worker(&mut self) -> Result<(), ServeError> {
        self.start_at = None;
        self.routes.begin();
        let (own, theirs) = Channel::pair().map_err(system("making the worker's channel"))?;
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
        // The command keeps the worker's end open.
        drop(command);
        let worker = Worker { channel: own, child, since: Instant::now() };
        let told = self.begin(&worker.channel);
        self.starts += 1;
        self.worker = Some(worker);
        if let Err(cause) = told {
            tell!("starting the worker: {cause}");
        }
        Ok(())
    }

    /// Says to a worker all that it begins with.
    fn begin(&self, channel: &Channel) -> Result<(), ChannelError> {
        let path = self.place.journal();
        let journal =
            OpenOptions::new().create(true).truncate(false).read(true).write(true).mode(0o600).open(&path);
        let journal =
            journal.map_err(|cause| ChannelError::System { operation: "opening the journal", cause })?;
        let start = Start {
            device: self.device.name.clone(),
            threads: self.threads,
            outside_mtu: self.outside_mtu as usize,
            weak_suites: self.settings.weak_suites,
            restarts: self.starts,
        };
        let descriptors = [self.xfrm.as_fd(), self.observe.as_fd(), journal.as_fd(), self.lock.as_fd()];
        channel.send(&Order::Start(start), &descriptors)?;
        for address in self.sockets.addresses() {
            self.sockets.hand_over(address, channel)?;
        }
        tell_addresses(channel, &self.addresses)?;
        channel.send(&Order::Begin, &[])
    }

    /// Takes what the worker says; whether it is gone.
    fn hear(&mut self, ready: &mut Option<impl FnOnce()>) -> bool {
        loop {
            let Some(worker) = &self.worker else { return false };
            match worker.channel.try_recv::<Notice>() {
                Ok((Notice::Ready { lacks }, _)) => {
                    if self.starts <= 1 && !lacks.is_empty() {
                        tell!("the worker's sandbox lacks: {}", lacks.join(", "));
                    }
                    if let Some(ready) = ready.take() {
                        ready();
                    }
                }
                Ok((Notice::Routes { number, add, remove, last }, _)) => {
                    self.routes.change(&add, &remove);
                    if last {
                        self.set_routes();
                        let Some(worker) = &self.worker else { return false };
                        if worker.channel.send(&Order::Routed { number }, &[]).is_err() {
                            return true;
                        }
                    }
                }
                Ok((Notice::Restored, _)) => {
                    self.restored = true;
                    self.routes.restored();
                    self.set_routes();
                }
                Err(ChannelError::WouldBlock) => return false,
                Err(_) => return true,
            }
        }
    }

    fn set_routes(&mut self) {
        for change in self.routes.changes(&self.addresses, !self.restored) {
            let set = match change {
                Change::Set { destination, source, first } => {
                    // The one that drops comes first: at no time is the other missing without it.
                    let dropped = if first { self.net.set_blackhole(destination) } else { Ok(()) };
                    dropped.and_then(|()| self.net.set_route(destination, &self.device, source))
                }
                Change::Remove { destination } => self.net.remove_routes(destination),
            };
            match set {
                Ok(()) => self.routes.done(&change),
                Err(cause) => tell!("{cause}"),
            }
        }
    }

    fn take_addresses(&mut self) {
        let addresses = match self.net.addresses() {
            Ok(addresses) if addresses == self.addresses => return,
            Ok(addresses) => addresses,
            Err(cause) => return tell!("{cause}"),
        };
        self.addresses = addresses;
        self.set_routes();
        if let Some(worker) = &self.worker {
            // A worker that is gone is noticed by its channel.
            let _ = tell_addresses(&worker.channel, &self.addresses);
        }
    }

    /// Sees to the next one; how this one ended.
    fn worker_ended(&mut self) -> String {
        let Some(mut worker) = self.worker.take() else { return String::new() };
        drop(worker.channel);
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
            if self.clients.len() < CLIENTS_MAX {
                self.clients.push(client);
            }
        }
    }

    /// Answers those that have asked; whether one of them asked for the end.
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

    fn end(&mut self, keep: bool) {
        if let Some(mut worker) = self.worker.take() {
            drop(worker.channel);
            let _ = worker.child.kill();
            let _ = worker.child.wait();
        }
        if keep {
            return;
        }
        let destinations: Vec<_> = self.routes.destinations().collect();
        let removed = destinations.into_iter().map(|destination| self.net.remove_routes(destination));
        let removed: Vec<_> = removed.collect();
        let rules = self.net.remove_rules();
        let device = self.net.remove_link(&self.device);
        for cause in removed.into_iter().chain([rules, device]).filter_map(Result::err) {
            tell!("{cause}");
        }
    }
}

/// Keeps the kernel from sending packets of its own into the device. Where the settings cannot be written, policies decide about such packets.
fn quiet(device: &str) {
    // No address of the link's own, and so none to announce (RFC 4861, 6.3.7).
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
