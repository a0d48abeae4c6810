//! Starts, reloads and stops the program.

use crate::limits::Counts;
use crate::log::{Log, Writer};
use crate::material::Material;
use crate::metrics::{ListenerFacts, Metrics};
use crate::observe::Doors;
use crate::said::say;
use crate::session::Listener;
use crate::settings::{HomeSettings, ListenerSettings, Service, Settings, Wrong, listener_key};
use crate::sockets::Sockets;
use crate::ticket_file;
use crate::tickets::Tickets;
use crate::watch::{Watch, files};
use crate::workers::{Command, Generation, Mailbox, Worker, WorkerParts};
use facility::{Facility, Options};
use home::limits::NotStarted;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::User;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use std::fmt;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// At most this many loops, if the settings do not say how many.
const LOOPS_MAX: usize = 64;

/// At most this many descriptors of a loop, besides those of connections. And at most this many of the rest of the
/// program: log, files, sockets of metrics and status, cards.
const DESCRIPTORS_OF_LOOP: usize = 4;
const DESCRIPTORS_OF_REST: usize = 64;

/// Why the program ended, or could not start.
#[derive(Debug)]
pub enum ServeError {
    /// The settings, or something that they name.
    Wrong(Wrong),
    /// An operation of the system failed.
    System {
        /// The operation that failed, for people.
        operation: &'static str,
        /// The system's error.
        cause: io::Error,
    },
    /// A loop ended by itself, after it reported why.
    Loop,
}

impl ServeError {
    /// The program's exit code: 1 for an error of the settings, 3 for an error of the system or of a loop.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Wrong(_) => 1,
            Self::System { .. } | Self::Loop => 3,
        }
    }
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wrong(wrong) => wrong.fmt(f),
            Self::System { operation, cause } => write!(f, "cannot {operation}: {}", NotStarted(cause)),
            Self::Loop => f.write_str("a loop ended by itself"),
        }
    }
}

impl std::error::Error for ServeError {}

impl From<Wrong> for ServeError {
    fn from(wrong: Wrong) -> Self {
        Self::Wrong(wrong)
    }
}

fn system<C: Into<io::Error>>(operation: &'static str) -> impl FnOnce(C) -> ServeError {
    move |cause| ServeError::System { operation, cause: cause.into() }
}

/// Reads a settings file and everything that it names, and prints what would be served. Binds no address.
///
/// # Errors
/// [`ServeError::Wrong`].
pub fn check(file: &Path) -> Result<(), ServeError> {
    let settings = Settings::read(file)?;
    // Root may check the settings of a server whose user is named in its unit alone.
    let own = Some(own_user()).filter(|own| *own != 0);
    let owner = user(&settings)?.map(|user| user.uid.as_raw()).or(own);
    let facility = settings.home.as_ref().map(|home| open_home(&settings, home)).transpose()?;
    let mut tickets = Tickets::default();
    refresh(&mut tickets, &settings, owner)?;
    let material = Material::load(&settings, None, facility.as_ref(), &tickets)?;
    let mut said: String = material.lines().map(|line| format!("{line}\n")).collect();
    said.extend(material.warnings().map(|warning| format!("warning: {warning}\n")));
    said.push_str(&format!("{}: nothing is wrong\n", file.display()));
    // The exit code tells as well that the settings are sound.
    let _ = io::stdout().write_all(said.as_bytes());
    Ok(())
}

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// [`ServeError`].
pub fn serve(file: &Path) -> Result<(), ServeError> {
    let mut sockets = Sockets::from_environment();
    // Before any thread starts: no thread is to be interrupted by a signal.
    let signals = signals().map_err(system("watch signals"))?;
    let settings = Settings::read(file)?;
    let user = user(&settings)?;
    for listener in &settings.listeners {
        sockets.open(&listener.place.value).map_err(|cause| of_listener(&settings, listener, cause))?;
    }
    // From here on everything is read as the program's final user, as at a reload.
    if let Some(user) = &user {
        become_user(user).map_err(|cause| of_user(&settings, cause))?;
    }
    // The process holds private keys, ticket keys and session keys: it makes no core file, and no other process of the
    // same user may read it. Becoming another user has reset this.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(system("keep this process out of core files"))?;
    let facility = settings.home.as_ref().map(|home| open_home(&settings, home)).transpose()?;
    let first = settings;
    let watch = watched(None, &first);
    // The settings may have changed before they were watched.
    let settings = if watch.is_some() { Settings::read(file)? } else { first.clone() };
    let watch = if settings == first { watch } else { watched(watch, &settings) };
    let mut tickets = Tickets::default();
    refresh(&mut tickets, &settings, Some(own_user()))?;
    let material = Material::load(&settings, None, facility.as_ref(), &tickets)?;
    let material = Arc::new(material);
    let (log, writer) = Log::open(&settings.log).map_err(|cause| of_log(&settings, &cause))?;
    let processors = std::thread::available_parallelism().map_or(1, usize::from).min(LOOPS_MAX);
    let loops = settings.loops.map_or(processors, |loops| loops as usize);
    let metrics = Arc::new(Metrics::new(&settings, loops, Arc::clone(&material), log.lines_lost()));
    let mut supervisor = Supervisor {
        sockets,
        settings,
        facility,
        tickets,
        material,
        log,
        metrics: Arc::clone(&metrics),
        watch,
        loops: Vec::new(),
    };
    let ended = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).map_err(system("make a descriptor"))?);
    // Before connections are served: a socket that cannot be bound ends the program.
    let doors = Doors::bind(&supervisor.settings)?;
    supervisor.start(&ended)?;
    let observer = doors.open(&supervisor.settings, metrics)?;
    supervisor.say();
    notify("READY=1");
    let done = supervisor.watch(&signals, &ended);
    if done.is_err() {
        // Loops that still serve would keep the log open, and with it this program running.
        supervisor.stop_all(Instant::now());
    }
    drop((supervisor, observer));
    Writer::finish(writer);
    done
}

fn signals() -> nix::Result<SignalFd> {
    let mut set = SigSet::empty();
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        set.add(signal);
    }
    set.thread_block()?;
    // Beyond the limit of a file's size, writing fails with an ordinary error instead of the signal.
    let mut size = SigSet::empty();
    size.add(Signal::SIGXFSZ);
    size.thread_block()?;
    SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC)
}

fn open_home(settings: &Settings, home: &HomeSettings) -> Result<Facility, Wrong> {
    let credential = match &home.credential {
        None => None,
        Some(path) => Some(
            facility::credential::read(&path.value)
                .map_err(|cause| settings.wrong(path.line, "credential", cause))?,
        ),
    };
    Facility::open(&home.folder.value, Options { credential, ..Options::default() })
        .map_err(|cause| settings.wrong(home.folder.line, "folder", cause))
}

/// Watches the files that the settings name, if the settings ask for it.
fn watched(before: Option<Watch>, settings: &Settings) -> Option<Watch> {
    let quiet = settings.observing.watch?;
    let mut watch = before.unwrap_or_else(|| Watch::new(quiet));
    watch.set_quiet(quiet);
    if let Err(cause) = watch.follow(files(settings)) {
        say(format_args!("{cause}"));
    }
    Some(watch)
}

fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Makes the ticket keys that are due, or reads them from their file. The file must be owned by root or by `user`, if
/// that is given.
fn refresh(tickets: &mut Tickets, settings: &Settings, user: Option<u32>) -> Result<(), Wrong> {
    let policies = settings.policies();
    let failed = |cause| settings.wrong(1, "[tickets]", format!("no key for tickets: {cause}"));
    tickets.keep(settings.cache, settings.ticket_period.is_some());
    if let Some(file) = &settings.ticket_file {
        let keys = ticket_file::read(&file.value, user).map_err(|cause| {
            settings.wrong(file.line, "file", format!("{}: {cause}", file.value.display()))
        })?;
        tickets.take_file(&keys, policies, now());
        return Ok(());
    }
    tickets.refresh(settings.key_period(), policies, now()).map(drop).map_err(failed)
}

/// The present time in seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn user(settings: &Settings) -> Result<Option<User>, Wrong> {
    let Some(name) = &settings.user else { return Ok(None) };
    let cause = match User::from_name(&name.value) {
        Ok(Some(user)) => return Ok(Some(user)),
        Ok(None) => format!("there is no user {}", name.value),
        Err(errno) => errno.to_string(),
    };
    Err(settings.wrong(name.line, "user", cause))
}

/// Becomes this user and gives up root's rights; does nothing if the process is this user's already.
fn become_user(user: &User) -> nix::Result<()> {
    if nix::unistd::geteuid() == user.uid {
        return Ok(());
    }
    let name = std::ffi::CString::new(user.name.as_str()).map_err(|_| nix::Error::EINVAL)?;
    nix::unistd::initgroups(&name, user.gid)?;
    nix::unistd::setgid(user.gid)?;
    nix::unistd::setuid(user.uid)
}

fn of_user(settings: &Settings, cause: nix::Error) -> Wrong {
    let line = settings.user.as_ref().map_or(1, |user| user.line);
    settings.wrong(line, "user", format!("the program cannot become this user: {cause}"))
}

fn of_listener(settings: &Settings, listener: &ListenerSettings, cause: String) -> Wrong {
    settings.wrong(listener.place.line, listener_key(&listener.place.value), cause)
}

fn of_log(settings: &Settings, cause: &io::Error) -> Wrong {
    settings.wrong(settings.log.line, "access", format!("the log cannot be opened: {cause}"))
}

fn notify(state: &str) {
    if let Err(cause) = home::notify(state) {
        say(format_args!("the service manager is not told {state}: {cause}"));
    }
}

struct Loop {
    mailbox: Arc<Mailbox>,
    thread: JoinHandle<()>,
}

/// State that lasts from one generation of settings to the next.
struct Supervisor {
    sockets: Sockets,
    settings: Settings,
    facility: Option<Facility>,
    tickets: Tickets,
    material: Arc<Material>,
    log: Log,
    metrics: Arc<Metrics>,
    watch: Option<Watch>,
    loops: Vec<Loop>,
}

impl Supervisor {
    fn generation(&mut self) -> Result<Arc<Generation>, Wrong> {
        let mut listeners = Vec::new();
        for listener in &self.settings.listeners {
            let place = &listener.place.value;
            let socket =
                self.sockets.open(place).map_err(|cause| of_listener(&self.settings, listener, cause))?;
            let acceptor = self.material.acceptor(listener.policy.value).ok_or_else(|| {
                self.settings.wrong(listener.policy.line, "policy", "nothing was read for it")
            })?;
            let listener = Listener {
                place: place.clone(),
                name: place.to_string(),
                acceptor: acceptor.clone(),
                protocols: listener.protocols.clone(),
                accept_proxy: listener.accept_proxy.clone(),
                sends_proxy: listener.sends_proxy,
                turns: match &listener.service {
                    Service::Forward(lists) => lists.iter().map(|_| AtomicUsize::new(0)).collect(),
                    Service::Answer(_) | Service::Exchange(_) => Vec::new(),
                },
                service: listener.service.clone(),
                metrics: self.metrics.listener(&place.to_string()),
            };
            listeners.push((Arc::new(listener), socket));
        }
        self.sockets.keep(|place| listeners.iter().any(|(listener, _)| listener.place == *place));
        self.tell();
        Ok(Arc::new(Generation {
            material: Arc::clone(&self.material),
            listeners,
            limits: self.settings.limits,
            log: self.log.clone(),
        }))
    }

    /// Sets the state that metrics and status show.
    fn tell(&self) {
        let of = |listener: &ListenerSettings| ListenerFacts {
            name: listener.place.value.to_string(),
            address: self.sockets.address(&listener.place.value),
            policy: listener.policy.value.name(),
            service: listener.service.to_string(),
        };
        let mut served = self.metrics.served();
        served.material = Arc::clone(&self.material);
        served.listeners = self.settings.listeners.iter().map(of).collect();
        served.tickets = self.tickets.newest().map(|(policy, since)| (policy.name(), since)).collect();
    }

    fn start(&mut self, ended: &Arc<OwnedFd>) -> Result<(), ServeError> {
        let generation = self.generation()?;
        let counts = Arc::new(Counts::default());
        let loops = self.metrics.loops;
        let domain = self.settings.home.as_ref().map_or(0, |home| home.domain);
        for number in 0..loops {
            let mailbox = Arc::new(Mailbox::new().map_err(system("make a descriptor"))?);
            let parts = WorkerParts {
                number,
                mailbox: Arc::clone(&mailbox),
                generation: Arc::clone(&generation),
                counts: Arc::clone(&counts),
                loops,
                domain,
            };
            let (cards, ended) = (self.facility.clone(), Ended { descriptor: Arc::clone(ended) });
            let (began, is_begun) = sync_channel(1);
            let thread = std::thread::Builder::new().name(format!("loop {number}")).spawn(move || {
                // The end is reported even if the loop panics.
                let _ended = ended;
                let made = Worker::new(parts, cards.as_ref());
                let (worker, said) = match made {
                    Ok(worker) => (Some(worker), Ok(())),
                    Err(cause) => (None, Err(cause)),
                };
                let _ = began.send(said);
                if let Some(Err(cause)) = worker.map(|mut worker| worker.run()) {
                    say(format_args!("loop {number} ended: {cause}"));
                }
            });
            let thread = thread.map_err(system("start a thread"))?;
            is_begun.recv().map_err(|_| ServeError::Loop)?.map_err(system("make a loop"))?;
            self.loops.push(Loop { mailbox, thread });
        }
        Ok(())
    }

    /// Waits for signals, for changed files, and for the ends of loops.
    fn watch(&mut self, signals: &SignalFd, ended: &OwnedFd) -> Result<(), ServeError> {
        let (mut is_stopping, mut over) = (false, 0);
        loop {
            let files = self.watch.as_ref().filter(|_| !is_stopping);
            let mut watched = vec![PollFd::new(signals, PollFlags::IN), PollFd::new(ended, PollFlags::IN)];
            let told = files.and_then(Watch::descriptor);
            watched.extend(told.map(|told| PollFd::from_borrowed_fd(told, PollFlags::IN)));
            let of_files =
                files.and_then(|files| Some(files.wakes()?.saturating_duration_since(Instant::now())));
            // An OCSP response that expires is no longer shown.
            let by_clock = [self.tickets.due_in(now()), self.material.stale_in(now())];
            let by_clock = by_clock.into_iter().flatten().min().filter(|_| !is_stopping);
            let due = [of_files, by_clock].into_iter().flatten().min();
            let due = due.map(|span| Timespec {
                tv_sec: span.as_secs() as i64,
                tv_nsec: i64::from(span.subsec_nanos()),
            });
            match rustix::event::poll(&mut watched, due.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(system("wait for signals")(errno)),
            }
            let is_heard = |at: usize| watched.get(at).is_some_and(|watched| !watched.revents().is_empty());
            let (of_signals, of_ended, of_files) = (is_heard(0), is_heard(1), is_heard(2));
            if of_ended {
                // Each loop adds one as its last act.
                let mut more = [0; 8];
                rustix::io::read(ended, &mut more).map_err(system("wait for loops"))?;
                over += u64::from_ne_bytes(more);
                if !is_stopping {
                    return Err(ServeError::Loop);
                }
                if over == self.loops.len() as u64 {
                    for each in self.loops.drain(..) {
                        let _ = each.thread.join();
                    }
                    return Ok(());
                }
            }
            let is_over = |span: Option<Duration>| span.is_some_and(|span| span.is_zero());
            let is_stale = is_over(self.material.stale_in(now()));
            let is_due = is_stale || is_over(self.tickets.due_in(now()));
            if !is_stopping && is_due {
                self.rotate()?;
            }
            if !is_stopping && is_stale {
                self.warn();
            }
            if let Some(watch) = self.watch.as_mut().filter(|_| !is_stopping) {
                if of_files || watch.descriptor().is_none() {
                    watch.hear(Instant::now());
                }
                if watch.take(Instant::now()) {
                    say(format_args!("files changed"));
                    self.reload();
                }
            }
            if !of_signals {
                continue;
            }
            let signal = signals.read_signal().map_err(system("read a signal"))?;
            match signal.and_then(|signal| Signal::try_from(signal.ssi_signo as i32).ok()) {
                Some(Signal::SIGHUP) if !is_stopping => self.reload(),
                Some(Signal::SIGTERM | Signal::SIGINT) => {
                    notify("STOPPING=1");
                    let at = Instant::now();
                    // A second signal ends connections without a wait.
                    let at = if is_stopping { at } else { at + self.settings.stop };
                    is_stopping = true;
                    // The sockets are closed when the loops have released them too.
                    self.stop_all(at);
                }
                _ => {}
            }
        }
    }

    /// Stops accepting; connections that are still open at the time `at` are ended.
    fn stop_all(&mut self, at: Instant) {
        self.sockets = Sockets::default();
        for each in &self.loops {
            each.mailbox.put(Command::Stop(at));
        }
    }

    /// Reports what is served at which address, for the service manager's log.
    fn say(&self) {
        for line in self.material.lines() {
            say(format_args!("certificate {line}"));
        }
        self.warn();
        for listener in &self.settings.listeners {
            let place = &listener.place.value;
            let (address, policy) = (self.sockets.address(place), listener.policy.value.name());
            say(format_args!("listening at {address}, {policy}, for {}", listener.service));
        }
    }

    fn warn(&self) {
        if let Some(warning) = short_of_descriptors(&self.settings, self.metrics.loops) {
            say(format_args!("warning: {warning}"));
        }
        for warning in self.material.warnings() {
            say(format_args!("warning: {warning}"));
        }
    }

    /// Serves with new ticket keys; open connections go on as they began.
    fn rotate(&mut self) -> Result<(), Wrong> {
        refresh(&mut self.tickets, &self.settings, Some(own_user()))?;
        self.material = Arc::new(self.material.with_tickets(&self.settings, &self.tickets)?);
        self.hand_out()
    }

    fn hand_out(&mut self) -> Result<(), Wrong> {
        let generation = self.generation()?;
        for each in &self.loops {
            each.mailbox.put(Command::Serve(Arc::clone(&generation)));
        }
        Ok(())
    }

    fn reload(&mut self) {
        notify("RELOADING=1");
        match self.try_reload() {
            Ok(()) => {
                self.metrics.reloaded(None);
                say(format_args!("reloaded {}", self.settings.file.display()));
                self.say();
            }
            Err(wrong) => {
                self.metrics.reloaded(Some(wrong.to_string()));
                say(format_args!("not reloaded, all goes on as before: {wrong}"));
            }
        }
        notify("READY=1");
    }

    fn try_reload(&mut self) -> Result<(), Wrong> {
        // Done first, even if the settings cannot be read: links in their path may lead elsewhere by now, and a change
        // made meanwhile is noticed.
        if let Some(watch) = &mut self.watch {
            // An error is reported below.
            let _ = watch.follow(files(&self.settings));
        }
        let settings = Settings::read(&self.settings.file)?;
        // Before the files are read, so that a change made meanwhile is noticed.
        self.watch = watched(self.watch.take(), &settings);
        if settings.home.as_ref().map(what_of_home) != self.settings.home.as_ref().map(what_of_home) {
            let line = settings.home.as_ref().map_or(1, |home| home.folder.line);
            return Err(settings.wrong(
                line,
                "[home]",
                "the home is read at the start only: restart the program",
            ));
        }
        if !settings.observing.is_bound_as(&self.settings.observing) {
            let cause = "where metrics and status are told is read at the start only: restart the program";
            return Err(settings.wrong(settings.observing.line(), "[metrics] or [status]", cause));
        }
        let mut tickets = self.tickets.clone();
        refresh(&mut tickets, &settings, Some(own_user()))?;
        let facility = self.facility.as_ref();
        let material = Material::load(&settings, Some(&self.material), facility, &tickets)?;
        if let Err(wrong) = self.open_all(&settings) {
            // New sockets would listen without anybody accepting.
            let old = &self.settings.listeners;
            self.sockets.keep(|place| old.iter().any(|listener| listener.place.value == *place));
            return Err(wrong);
        }
        self.settings = settings;
        self.tickets = tickets;
        self.material = Arc::new(material);
        self.hand_out()
    }
}

impl Supervisor {
    /// Opens the sockets and then the log that new settings name.
    fn open_all(&mut self, settings: &Settings) -> Result<(), Wrong> {
        for listener in &settings.listeners {
            let place = &listener.place.value;
            self.sockets.open(place).map_err(|cause| of_listener(settings, listener, cause))?;
        }
        self.log.reopen(&settings.log).map_err(|cause| of_log(settings, &cause))
    }
}

/// A warning if the process's limit of descriptors is too low for all connections that the settings permit. A forwarded
/// connection takes a second descriptor for its backend; without it the client is cut off instead of waiting.
fn short_of_descriptors(settings: &Settings, loops: usize) -> Option<String> {
    let is_forwarding =
        settings.listeners.iter().any(|listener| matches!(listener.service, Service::Forward(_)));
    let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).current?;
    let others = (DESCRIPTORS_OF_LOOP * loops + settings.listeners.len() + DESCRIPTORS_OF_REST) as u64;
    let wanted = 2 * u64::from(settings.limits.connections) + others;
    (is_forwarding && most < wanted).then(|| {
        format!(
            "this process may have {most} descriptors, and {} connections that are forwarded need {wanted}: raise `LimitNOFILE` or lower `connections`",
            settings.limits.connections
        )
    })
}

fn what_of_home(home: &HomeSettings) -> (&Path, u16, Option<&Path>) {
    (&home.folder.value, home.domain, home.credential.as_ref().map(|path| path.value.as_path()))
}

/// Reports the end of a loop when it is dropped, even by a panic.
struct Ended {
    descriptor: Arc<OwnedFd>,
}

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = rustix::io::write(&*self.descriptor, &1_u64.to_ne_bytes());
    }
}
