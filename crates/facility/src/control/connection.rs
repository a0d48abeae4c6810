//! The control connection: one socket to the daemon, requests and answers in order.
//!
//! Queues work without a daemon, so a broken connection is noticed only at the next request to the daemon.
//! It is then made again, with bounded retries; if the caller wants that, the daemon is started.
//!
//! A living daemon ends a client's queues when the client closes its connection. So a connection is
//! kept even when an answer does not come in time: the late answer is discarded. If
//! a connection has to be closed, its queues end with it ([`Connection::forsaken`]).

use crate::Options;
use crate::control::start::{self, Started};
use crate::error::{FacilityError, ProtocolError, Ran};
use home::Home;
use link::{Channel, ChannelError, world};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use wire::control::{CONTROL_VERSION, ClientReply, ClientRequest, Refusal};
use wire::tenant::Credential;

/// How long to wait for an answer of the daemon. Backups and key store repairs take long.
pub(crate) const ANSWER_WAIT: Duration = Duration::from_secs(60);
/// How long a daemon may take to greet.
pub(crate) const GREETING_WAIT: Duration = Duration::from_secs(10);
/// Upper bound of requests whose late answers are still to be discarded.
const OUTSTANDING_MAX: usize = 16;
/// How long to wait for a daemon that went away, if the caller can wait.
pub(crate) const RECONNECT_WAIT: Duration = Duration::from_secs(10);
/// How long the list of cards that was requested with the greeting may be used. A later first request asks again.
const AHEAD_MAX: Duration = Duration::from_millis(10);
/// First and longest pause between two tries to connect.
const PAUSE_FIRST: Duration = Duration::from_millis(1);
const PAUSE_LONGEST: Duration = Duration::from_millis(100);

/// The daemon's greeting: the caller's tenant and role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Welcome {
    /// Tenant that the caller's queues belong to.
    pub tenant: u32,
    /// Name of the tenant; for a tenant that is only a user, the user's name or number.
    pub tenant_name: String,
    /// What the caller may do.
    pub role: String,
    /// Whether the home is for development, with keys that anyone can compute.
    pub insecure_dev: bool,
}

/// How patient a request is when no daemon answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Fail at once: the caller has another way.
    None,
    /// Wait for the daemon to come back, up to [`RECONNECT_WAIT`], or as long as for a card, if that is longer.
    Reconnect,
}

/// What to do when the daemon goes away between request and answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// Send the request again.
    Safe,
    /// Fail, and say that it may have run.
    Never,
}

struct Live {
    channel: Channel,
    welcome: Welcome,
    /// Requests sent whose answers have not come.
    outstanding: usize,
    /// When the list of cards was requested together with the greeting; none after any other request.
    asked_ahead: Option<Instant>,
    serial: u64,
}

/// One process's connection.
pub(crate) struct Connection {
    home: Home,
    start_daemon: bool,
    /// How long this process waits for a card, and for a daemon that knows of one.
    card_wait: Duration,
    /// Whether the connection goes through the observers' socket.
    observe: bool,
    /// Shown at every greeting.
    credential: Option<Credential>,
    live: Mutex<Option<Live>>,
    /// Number of the last connection made.
    serial: AtomicU64,
    forsaken: AtomicU64,
}

impl Connection {
    pub fn new(home: Home, options: &Options) -> Self {
        let Options { start_daemon, card_wait, observe, ref credential, .. } = *options;
        let (credential, live) = (credential.clone(), Mutex::new(None));
        let (serial, forsaken) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { home, start_daemon, card_wait, observe, credential, live, serial, forsaken }
    }

    /// Connects where not yet connected.
    pub fn welcome(&self, patience: Patience) -> Result<Welcome, FacilityError> {
        let mut live = world::lock(&self.live);
        Ok(self.ensure(&mut live, patience)?.welcome.clone())
    }

    /// In a child of fork: closes the child's copy of the parent's socket, unless another thread of
    /// the parent was using it at the fork.
    pub fn abandon(&self) {
        if let Ok(mut live) = self.live.try_lock() {
            *live = None;
        }
    }

    /// Number of the connection in use, counted from 1.
    pub fn serial(&self) -> u64 {
        self.serial.load(Ordering::Relaxed)
    }

    /// Number of the last connection that was closed although its daemon may live: queues made over it or an earlier
    /// one have ended, unless the daemon of their connection had gone away before.
    pub fn forsaken(&self) -> u64 {
        self.forsaken.load(Ordering::Relaxed)
    }

    /// Sends the daemon a request, and returns its answer with the descriptors that came with it. A refusal is
    /// an answer here, not an error.
    pub fn ask(
        &self,
        operation: &'static str,
        request: &ClientRequest,
        repeat: Repeat,
        patience: Patience,
        wait: Duration,
    ) -> Result<(ClientReply, Vec<OwnedFd>), FacilityError> {
        let mut live = world::lock(&self.live);
        // A daemon that went away while nothing was asked is not this request's loss; and it says nothing unasked.
        if live.as_ref().is_some_and(|live| live.outstanding == 0 && live.channel.has_news()) {
            *live = None;
        }
        let mut again = repeat == Repeat::Safe;
        let begin = world::now();
        let mut pause = PAUSE_FIRST;
        loop {
            let connected = self.ensure(&mut live, patience)?;
            if connected.outstanding >= OUTSTANDING_MAX {
                self.forsake(&mut live);
                continue;
            }
            let is_ahead = connected.asked_ahead.take().is_some_and(|at| world::elapsed(at) < AHEAD_MAX)
                && *request == ClientRequest::Cards;
            let sent = is_ahead
                || match connected.channel.send(request, &[]) {
                    Ok(()) => {
                        connected.outstanding += 1;
                        true
                    }
                    Err(ChannelError::Closed) => false,
                    Err(error) => return Err(failed(operation, error)),
                };
            if sent {
                match receive(connected, wait) {
                    // The daemon is stopping and has not begun with the request: it is sent to the next one.
                    Ok((ClientReply::Refused(Refusal::Stopping), _)) => {
                        *live = None;
                        if world::elapsed(begin) >= self.wait(patience) {
                            return Err(FacilityError::NotRunning { home: self.home.folder().to_owned() });
                        }
                        world::sleep(pause);
                        pause = (pause * 2).min(PAUSE_LONGEST);
                        continue;
                    }
                    Ok(answer) => return Ok(answer),
                    Err(ChannelError::Closed) => {}
                    Err(ChannelError::TimedOut) => {
                        return Err(FacilityError::DaemonSilent { operation, waited: wait });
                    }
                    // The answer came, but this process had no room for its descriptors. That is no reason to close the
                    // connection, which would end its queues with their requests in flight.
                    Err(error @ ChannelError::Descriptors) => return Err(failed(operation, error)),
                    Err(error) => {
                        self.forsake(&mut live);
                        return Err(failed(operation, error));
                    }
                }
            }
            *live = None;
            if sent && !again {
                let ran = if repeat == Repeat::Never { Ran::Maybe } else { Ran::No };
                return Err(FacilityError::DaemonGone { operation, ran });
            }
            // While a daemon is waited for, one that comes and goes again does not end the wait.
            again &= !sent || world::elapsed(begin) < self.wait(patience);
        }
    }

    /// Gives up a connection to a daemon that may live.
    fn forsake(&self, live: &mut Option<Live>) {
        if let Some(live) = live.take() {
            self.forsaken.fetch_max(live.serial, Ordering::Relaxed);
        }
    }

    fn ensure<'a>(
        &self,
        live: &'a mut Option<Live>,
        patience: Patience,
    ) -> Result<&'a mut Live, FacilityError> {
        let fresh = match live.take() {
            Some(present) => present,
            None => self.connect(patience)?,
        };
        Ok(live.insert(fresh))
    }

    fn connect(&self, patience: Patience) -> Result<Live, FacilityError> {
        let begin = world::now();
        let mut pause = PAUSE_FIRST;
        let mut started = false;
        loop {
            let failed = match self.connect_once() {
                Err(error @ FacilityError::NotRunning { .. }) => error,
                other => return other,
            };
            let (failed, wait) = match (self.start_daemon && !started).then(|| start::on_demand(&self.home)) {
                Some(Ok(Started::Ready)) => {
                    started = true;
                    continue;
                }
                // The other daemon is about to serve, or to end.
                Some(Ok(Started::OtherRuns)) => (failed, RECONNECT_WAIT),
                None if started => (failed, RECONNECT_WAIT),
                // Another user or a service manager, which may start the daemon, perhaps does.
                Some(Err(error @ FacilityError::NoAutostart { .. })) => (error, self.wait(patience)),
                Some(Err(error)) => return Err(error),
                None => (failed, self.wait(patience)),
            };
            if world::elapsed(begin) >= wait {
                return Err(failed);
            }
            world::sleep(pause);
            pause = (pause * 2).min(PAUSE_LONGEST);
        }
    }

    /// How long a daemon that is not there is waited for.
    fn wait(&self, patience: Patience) -> Duration {
        match patience {
            Patience::None => Duration::ZERO,
            Patience::Reconnect => self.card_wait.max(RECONNECT_WAIT),
        }
    }

    fn connect_once(&self) -> Result<Live, FacilityError> {
        let not_running = || FacilityError::NotRunning { home: self.home.folder().to_owned() };
        let credential = self.credential.clone();
        let mut asked_ahead = None;
        let channel = match self.observe {
            true => Channel::connect(&self.home.observe_socket()),
            false => connect(&self.home, credential.is_some(), Channel::connect),
        };
        let channel = channel.map_err(|cause| match cause.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => not_running(),
            io::ErrorKind::PermissionDenied => FacilityError::Denied { what: "the daemon's socket" },
            _ => FacilityError::Io { operation: "connect to the daemon", cause },
        })?;
        let hello = ClientRequest::Hello { version: CONTROL_VERSION, credential, completions: false };
        let answer = channel.send(&hello, &[]).and_then(|()| {
            // A first request needs the list of cards as well: requested with the greeting, it costs one wait for the
            // daemon instead of two. A daemon that took only the greeting shows that in its answer to the greeting.
            let is_ahead = !self.observe && channel.try_send(&ClientRequest::Cards, &[]).is_ok();
            asked_ahead = is_ahead.then(world::now);
            // Found out while the daemon is at work: a first request needs it as well.
            let _ = world::processors();
            channel.recv_timeout::<ClientReply>(GREETING_WAIT)
        });
        match answer {
            Ok((ClientReply::Welcome { tenant, tenant_name, role, insecure_dev, tsc_hz, .. }, _)) => {
                link::tell_tsc_hz(tsc_hz);
                let welcome = Welcome { tenant, tenant_name, role, insecure_dev };
                let serial = self.serial.fetch_add(1, Ordering::Relaxed) + 1;
                let outstanding = usize::from(asked_ahead.is_some());
                Ok(Live { channel, welcome, outstanding, asked_ahead, serial })
            }
            Ok((ClientReply::Refused(Refusal::Denied), _)) => Err(FacilityError::Denied { what: "the home" }),
            Ok((ClientReply::Refused(Refusal::Stopping), _)) => Err(not_running()),
            Ok((ClientReply::Refused(refusal), _)) => {
                Err(FacilityError::Refused { operation: "greet the daemon", refusal })
            }
            Ok(_) => Err(FacilityError::Protocol {
                operation: "greet the daemon",
                cause: ProtocolError::UnexpectedAnswer,
            }),
            // The daemon is just stopping, or just starting.
            Err(ChannelError::Closed) => Err(not_running()),
            Err(ChannelError::TimedOut) => {
                Err(FacilityError::DaemonSilent { operation: "greet the daemon", waited: GREETING_WAIT })
            }
            Err(error) => Err(failed("greet the daemon", error)),
        }
    }
}

/// Connects to the daemon of a home: through the socket for administrators if this process reaches that socket and
/// shows no credential. Else through the socket for guests, or, if there is none, the socket of a daemon of an earlier
/// release.
pub(crate) fn connect(
    home: &Home,
    has_credential: bool,
    mut connect: impl FnMut(&Path) -> io::Result<Channel>,
) -> io::Result<Channel> {
    use io::ErrorKind::{NotFound, PermissionDenied};
    let admin = |connect: &mut dyn FnMut(&Path) -> io::Result<Channel>| match connect(&home.admin_socket()) {
        Err(cause) if matches!(cause.kind(), NotFound | PermissionDenied) => None,
        connected => Some(connected),
    };
    if !has_credential && let Some(connected) = admin(&mut connect) {
        return connected;
    }
    let guest = match connect(&home.guest_socket()) {
        Err(cause) if cause.kind() == NotFound => connect(&home.earlier_socket())?,
        connected => connected?,
    };
    // A starting daemon makes the administrators' socket first: once another socket is there, the administrators'
    // socket is there as well.
    let admin = if has_credential { None } else { admin(&mut connect) };
    admin.unwrap_or(Ok(guest))
}

/// The answer to the last request; late answers to earlier requests are dropped.
fn receive(live: &mut Live, wait: Duration) -> Result<(ClientReply, Vec<OwnedFd>), ChannelError> {
    let end = world::now() + wait;
    loop {
        let left = end.saturating_duration_since(world::now());
        let answer = match live.channel.recv_timeout::<ClientReply>(left) {
            Err(ChannelError::Descriptors) => {
                live.outstanding -= 1;
                return Err(ChannelError::Descriptors);
            }
            answer => answer?,
        };
        live.outstanding -= 1;
        if live.outstanding == 0 {
            return Ok(answer);
        }
    }
}

fn failed(operation: &'static str, error: ChannelError) -> FacilityError {
    match error {
        ChannelError::System { cause, .. } => FacilityError::Io { operation, cause },
        error => FacilityError::Protocol { operation, cause: ProtocolError::Channel(error) },
    }
}
