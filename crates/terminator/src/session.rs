//! One client's connection: handshake, then bytes in both directions until both have ended.

mod answers;
mod proxied;
mod question;

use crate::limits::Permit;
use crate::log::Entry;
use crate::material::Material;
use crate::metrics::{OfListener, Seen};
use crate::networks::Network;
use crate::settings::{Limits, ListenAt, Service};
use answers::Messages;
use certificates::Client;
use question::Question;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::Shutdown;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use streams::{Server, StreamSocket, WATCHED};
use tls::{Acceptor, Cause, Connection, Facts, Failure, KeyRequest, Progress, Protocols, Read};
use zeroize::Zeroizing;

/// A listener with the settings that connections need.
pub(crate) struct Listener {
    pub(crate) place: ListenAt,
    pub(crate) name: String,
    pub(crate) acceptor: Acceptor,
    pub(crate) protocols: Option<Protocols>,
    /// Networks of proxies that name a connection's client; `None` if no proxy does.
    pub(crate) accept_proxy: Option<Vec<Network>>,
    /// Whether backends get a PROXY header.
    pub(crate) sends_proxy: bool,
    pub(crate) service: Service,
    /// For each list of backends, a counter that gives the next one its turn.
    pub(crate) turns: Vec<AtomicUsize>,
    pub(crate) metrics: Arc<OfListener>,
}

/// At most this many rounds of one connection before others get their turn.
const ROUNDS_MAX: usize = 16;
/// The version in which each direction ends by itself (RFC 8446, 6.1).
const BOTH_ENDS_APART: &str = "TLS1.3";
/// How long a refused client has for reading the alert: bytes that it sent meanwhile would turn the end into a reset,
/// which discards the alert.
const REFUSED_READS: Duration = Duration::from_secs(1);
/// The log's reason for connections that ended as both sides wanted.
const DONE: &str = "done";

/// A connection's next step.
pub(crate) enum Step {
    /// The connection waits for an event of one of its sockets.
    Wait,
    /// The connection goes on after others have had their turn.
    Again,
    /// The connection needs this private key operation to be sent and answered.
    Ask(KeyRequest),
    /// The connection is over, but stays open until its deadline, so that the time of its end tells nothing.
    Linger,
    /// The connection is over and can be closed.
    End,
}

/// A loop's state that a connection uses while it runs.
pub(crate) struct Around<'a> {
    pub(crate) epoll: &'a OwnedFd,
    /// Data under which the backend's events are reported.
    pub(crate) backend_data: u64,
    pub(crate) scratch: &'a mut [u8],
    pub(crate) now: Instant,
    pub(crate) limits: &'a Limits,
    /// Whether other connections wait for answers of cards.
    pub(crate) others_wait: bool,
}

enum Phase {
    /// A proxy's header is read.
    Header,
    Handshake,
    Connecting {
        since: Instant,
    },
    Forward,
    Answer,
    Lingering {
        until: Instant,
    },
}

/// Progress of a handshake.
enum Shaken {
    /// The handshake waits for a private key operation.
    Asks(KeyRequest),
    /// Whether the handshake had anything to do.
    Moved(bool),
}

/// At most this many bytes of a client are read in a handshake: two hellos of 64 KiB, and what surrounds them. The
/// library skips any number of meaningless records.
const HANDSHAKE_BYTES_MAX: usize = 256 << 10;

/// Bytes that the backend has not taken yet.
#[derive(Default)]
struct Pending {
    bytes: Vec<u8>,
    taken: usize,
}

impl Pending {
    fn rest(&self) -> &[u8] {
        &self.bytes[self.taken..]
    }

    fn push(&mut self, bytes: &[u8]) {
        // Taken bytes are removed once they are most of the buffer; otherwise a backend that always lags a little would
        // keep everything.
        if self.taken > self.bytes.len() / 2 {
            self.bytes.drain(..self.taken);
            self.taken = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    fn took(&mut self, count: usize) {
        self.taken += count;
        if self.taken == self.bytes.len() {
            // An idle connection keeps no memory for an empty buffer.
            *self = Self::default();
        }
    }
}

/// One client's connection.
pub(crate) struct Session {
    client: StreamSocket,
    address: SocketAddr,
    /// Bytes of a proxy's header so far, and the address that the header says the client connected to.
    header: Vec<u8>,
    server: Option<SocketAddr>,
    /// Present until the connection lingers.
    tls: Option<Connection>,
    phase: Phase,
    listener: Arc<Listener>,
    material: Arc<Material>,
    backend: Option<StreamSocket>,
    /// Place of the list of backends in the listener, place of the backend in the list, and how many backends were
    /// tried.
    list_at: usize,
    backend_at: usize,
    tried: usize,
    to_backend: Pending,
    /// Whether each side's data ended, and whether each side was told of the other's end.
    client_ended: bool,
    backend_ended: bool,
    client_told: bool,
    backend_told: bool,
    /// Whether the backend takes no more data.
    backend_is_deaf: bool,
    question: Question,
    /// Whether the last request of the connection was answered.
    was_last: bool,
    messages: Messages,
    began: Instant,
    active: Instant,
    handshake_took: Option<Duration>,
    /// Number of bytes that the client has sent in the handshake.
    handshake_bytes: usize,
    asked: Option<Instant>,
    asked_ecdsa: bool,
    key_time: Option<Duration>,
    /// The client that the certificate names: an unverified claim until the handshake is over.
    client_certificate: Option<Box<Client>>,
    bytes_in: u64,
    bytes_out: u64,
    facts: Facts,
    end: String,
    permit: Permit,
}

/// The reason of a connection's end, and how long the connection must stay open.
struct Over {
    end: String,
    delay: Duration,
    /// Whether the backend is to see an abort rather than an orderly end.
    is_cut: bool,
}

impl Over {
    fn of(end: impl Into<String>) -> Self {
        Self { end: end.into(), delay: Duration::ZERO, is_cut: false }
    }
}

type Moved = Result<bool, Over>;

impl Session {
    /// A session for a connection that was accepted.
    ///
    /// # Errors
    /// [`Failure`] if the library has no memory.
    pub(crate) fn new(
        socket: OwnedFd,
        address: SocketAddr,
        listener: Arc<Listener>,
        material: Arc<Material>,
        permit: Permit,
        now: Instant,
    ) -> Result<Self, Failure> {
        let mut tls = Connection::new(&listener.acceptor)?;
        if let Some(protocols) = &listener.protocols {
            tls.offer(protocols);
        }
        Ok(Self {
            client: StreamSocket::new(socket),
            address,
            tls: Some(tls),
            phase: if listener.accept_proxy.is_some() { Phase::Header } else { Phase::Handshake },
            header: Vec::new(),
            server: None,
            listener,
            material,
            backend: None,
            list_at: 0,
            backend_at: 0,
            tried: 0,
            to_backend: Pending::default(),
            client_ended: false,
            backend_ended: false,
            client_told: false,
            backend_told: false,
            backend_is_deaf: false,
            question: Question::default(),
            was_last: false,
            messages: Messages::default(),
            began: now,
            active: now,
            handshake_took: None,
            handshake_bytes: 0,
            asked: None,
            asked_ecdsa: false,
            key_time: None,
            client_certificate: None,
            bytes_in: 0,
            bytes_out: 0,
            facts: Facts::default(),
            end: String::new(),
            permit,
        })
    }

    pub(crate) fn client(&self) -> &StreamSocket {
        &self.client
    }

    pub(crate) fn listener(&self) -> &Arc<Listener> {
        &self.listener
    }

    /// Progress of the connection, for the counters.
    pub(crate) fn seen(&self) -> Seen {
        Seen { handshake: self.handshake_took, bytes_in: self.bytes_in, bytes_out: self.bytes_out }
    }

    /// The facts that the handshake agreed on, once it is over.
    pub(crate) fn agreed(&self) -> &Facts {
        &self.facts
    }

    /// The log's reason of the end; empty before the end.
    pub(crate) fn end(&self) -> &str {
        &self.end
    }

    /// How long the private key operation took, once it is answered.
    pub(crate) fn key_time(&self) -> Option<Duration> {
        self.key_time
    }

    pub(crate) fn material(&self) -> &Arc<Material> {
        &self.material
    }

    /// Notes events of the client's or the backend's socket.
    pub(crate) fn hear(&mut self, of_backend: bool, events: EventFlags) {
        match (&mut self.backend, of_backend) {
            (Some(backend), true) => backend.hear(events),
            (None, true) => {}
            (_, false) => self.client.hear(events),
        }
    }

    /// When the connection ends unless something happens before.
    pub(crate) fn deadline(&self, limits: &Limits) -> Instant {
        match self.phase {
            Phase::Header | Phase::Handshake => self.began + limits.handshake,
            Phase::Connecting { since } => since + limits.connect,
            Phase::Forward | Phase::Answer => self.active + limits.idle,
            Phase::Lingering { until } => until,
        }
    }

    /// Acts on a deadline that has come.
    pub(crate) fn expire(&mut self, around: &mut Around<'_>) -> Step {
        let end = match self.phase {
            Phase::Header => "handshake-timeout",
            Phase::Handshake => {
                if let Some(tls) = &mut self.tls {
                    tls.cancel();
                }
                let delay = REFUSED_READS;
                return self.over(Over { delay, ..Over::of("handshake-timeout") }, around.now);
            }
            Phase::Connecting { .. } => {
                self.backend = None;
                return match self.connect(around, "it does not accept".to_owned()) {
                    Ok(()) => Step::Again,
                    Err(over) => self.over(over, around.now),
                };
            }
            Phase::Forward | Phase::Answer => "idle",
            Phase::Lingering { .. } => return Step::End,
        };
        self.over(Over::of(end), around.now)
    }

    /// Whether the connection is over and stays open only until its deadline.
    pub(crate) fn is_lingering(&self) -> bool {
        matches!(self.phase, Phase::Lingering { .. })
    }

    /// Frees memory that is needed only while bytes come, if none came for `idle`. Returns false if it is too early.
    pub(crate) fn rest(&mut self, idle: Duration, now: Instant) -> bool {
        let is_idle = matches!(self.phase, Phase::Forward | Phase::Answer)
            && now.saturating_duration_since(self.active) >= idle;
        if let Some(tls) = self.tls.as_mut().filter(|_| is_idle) {
            tls.rest();
        }
        is_idle || self.is_lingering()
    }

    /// Sets the reason of the end, unless there is one already.
    pub(crate) fn stop(&mut self, end: &str) {
        if self.end.is_empty() {
            end.clone_into(&mut self.end);
        }
    }

    /// Whether the private key operation is an ECDSA signature.
    pub(crate) fn asked_ecdsa(&self) -> bool {
        self.asked_ecdsa
    }

    /// Takes the answer to the private key operation; `None` if it failed.
    pub(crate) fn answered(&mut self, answer: Option<Zeroizing<Vec<u8>>>, now: Instant) {
        let Some(asked) = self.asked.take() else { return };
        self.key_time = Some(now - asked);
        if let Some(tls) = &mut self.tls {
            tls.answer(answer);
        }
    }

    /// Advances the connection as far as possible without blocking; returns its next step.
    pub(crate) fn go_on(&mut self, around: &mut Around<'_>) -> Step {
        for _ in 0..ROUNDS_MAX {
            let moved = match self.phase {
                Phase::Header => self.read_header(around),
                Phase::Handshake => match self.handshake(around) {
                    Ok(Shaken::Asks(request)) => return Step::Ask(request),
                    Ok(Shaken::Moved(moved)) => Ok(moved),
                    Err(over) => Err(over),
                },
                Phase::Connecting { .. } => self.connecting(around),
                Phase::Forward => self.forward(around),
                Phase::Answer => self.answer(around),
                Phase::Lingering { .. } => return Step::Wait,
            };
            match moved {
                Ok(true) => {}
                Ok(false) => return Step::Wait,
                Err(over) => return self.over(over, around.now),
            }
        }
        Step::Again
    }

    /// Ends the connection: pending bytes for the client are sent as far as the socket takes them at once.
    fn over(&mut self, over: Over, now: Instant) -> Step {
        self.stop(&over.end);
        if let Some(mut tls) = self.tls.take() {
            let _ = send_out(&mut tls, &mut self.client);
            self.facts = tls.facts();
        }
        if let Some(backend) = self.backend.take().filter(|_| over.is_cut) {
            // An orderly end would tell the backend that all data came.
            let _ = rustix::net::sockopt::set_socket_linger(&backend.socket, Some(Duration::ZERO));
        }
        self.to_backend = Pending::default();
        if over.delay.is_zero() {
            return Step::End;
        }
        self.phase = Phase::Lingering { until: now + over.delay };
        Step::Linger
    }

    /// Continues the handshake with the bytes that were received, then receives once: so a client that never stops
    /// sending takes turns with others.
    fn handshake(&mut self, around: &mut Around<'_>) -> Result<Shaken, Over> {
        if self.asked.is_some() {
            return Ok(Shaken::Moved(false));
        }
        let Some(tls) = &mut self.tls else { return Ok(Shaken::Moved(false)) };
        let progress = tls.handshake();
        // Sent before anything else, so that a client waits no longer than needed. What precedes a signature helps a
        // client that is alone. If others wait for cards too, it is sent later together with the rest, by one call
        // instead of two.
        let holds = around.others_wait && matches!(progress, Ok(Progress::NeedsKey));
        let sent = if holds { Ok(false) } else { send_out(tls, &mut self.client) };
        match progress {
            Err(failure) => Err(failed(&failure, tls.delay())),
            Ok(Progress::Done) => {
                self.handshake_took = Some(around.now - self.began);
                self.active = around.now;
                self.facts = tls.facts();
                // Memory for the handshake's records is free for other connections at once, as this one may say nothing
                // for long.
                tls.rest();
                match &self.listener.service {
                    Service::Answer(_) => self.phase = Phase::Answer,
                    Service::Exchange(exchange) => {
                        self.messages = Messages::begin(exchange);
                        self.phase = Phase::Answer;
                    }
                    Service::Forward(lists) => {
                        let protocol = &self.facts.protocol;
                        let of_protocol = || lists.iter().position(|list| list.protocol == *protocol);
                        // The first list is for all other protocols.
                        self.list_at = protocol.as_ref().and_then(|_| of_protocol()).unwrap_or_default();
                        let turn = self.listener.turns.get(self.list_at);
                        let turn = turn.map_or(0, |turn| turn.fetch_add(1, Ordering::Relaxed));
                        self.backend_at = turn % self.backends().len().max(1);
                        self.connect(around, String::new())?;
                    }
                }
                Ok(Shaken::Moved(true))
            }
            Ok(Progress::NeedsKey) => {
                let Some(request) = tls.take_request() else { return Ok(Shaken::Moved(false)) };
                self.asked = Some(around.now);
                self.asked_ecdsa =
                    matches!(&request.work, tls::KeyOperation::Sign { scheme: tls::Scheme::Ecdsa, .. });
                Ok(Shaken::Asks(request))
            }
            Ok(Progress::NeedsVerdict) => {
                let Some(chain) = tls.take_client_chain() else { return Ok(Shaken::Moved(false)) };
                tls.judge(self.material.judge(&chain));
                let own = chain.certificates.into_iter().next();
                self.client_certificate = own.and_then(Client::from_der).map(Box::new);
                Ok(Shaken::Moved(true))
            }
            Ok(Progress::NeedsBytes) => {
                sent.map_err(of_client)?;
                if self.handshake_bytes > HANDSHAKE_BYTES_MAX {
                    return Err(Over::of("protocol: a handshake without end"));
                }
                Ok(Shaken::Moved(self.receive(around)?))
            }
        }
    }

    /// Receives bytes of the client; false if there are none.
    fn receive(&mut self, around: &mut Around<'_>) -> Moved {
        let Some(tls) = &mut self.tls else { return Ok(false) };
        match self.client.read(around.scratch).map_err(of_client)? {
            None => Ok(false),
            Some(0) => {
                tls.receive_end();
                Ok(true)
            }
            Some(count) => {
                self.active = around.now;
                if matches!(self.phase, Phase::Handshake) {
                    self.handshake_bytes += count;
                }
                tls.receive(around.scratch.get(..count).unwrap_or_default());
                Ok(true)
            }
        }
    }

    /// The backends for this connection.
    fn backends(&self) -> &[Server] {
        match &self.listener.service {
            Service::Forward(lists) => lists.get(self.list_at).map_or(&[], |backends| &backends.list),
            Service::Answer(_) | Service::Exchange(_) => &[],
        }
    }

    /// Begins to connect to the next backend that was not tried. `why` says why the last one was not reached, and goes
    /// into the error if none is left.
    fn connect(&mut self, around: &Around<'_>, mut why: String) -> Result<(), Over> {
        while self.tried < self.backends().len() {
            let at = (self.backend_at + usize::from(self.tried > 0)) % self.backends().len();
            (self.backend_at, self.tried) = (at, self.tried + 1);
            match self.backends()[at].connect() {
                Ok((socket, is_connected)) => {
                    let data = EventData::new_u64(around.backend_data);
                    epoll::add(around.epoll, &socket, data, WATCHED)
                        .map_err(|errno| Over::of(format!("backend: {errno}")))?;
                    let mut side = StreamSocket::new(socket);
                    side.can_write = is_connected;
                    self.backend = Some(side);
                    self.phase = Phase::Connecting { since: around.now };
                    if is_connected {
                        self.begin_forward();
                    }
                    return Ok(());
                }
                Err(errno) => why = errno.to_string(),
            }
        }
        Err(Over::of(format!("backend: {why}")))
    }

    fn connecting(&mut self, around: &mut Around<'_>) -> Moved {
        let Some(backend) = &mut self.backend else { return Ok(false) };
        if !backend.can_write && !backend.is_closing {
            return Ok(false);
        }
        match rustix::net::sockopt::socket_error(&backend.socket) {
            Ok(Ok(())) => {
                self.begin_forward();
                self.active = around.now;
            }
            Ok(Err(errno)) | Err(errno) => {
                self.backend = None;
                self.connect(around, errno.to_string())?;
            }
        }
        Ok(true)
    }

    /// Forwards available bytes in both directions.
    fn forward(&mut self, around: &mut Around<'_>) -> Moved {
        let moved_in = self.forward_in(around)?;
        let moved_out = self.forward_out(around)?;
        let is_sent = self.tls.as_ref().is_none_or(|tls| tls.outgoing().is_empty());
        let is_handed_on = self.backend_told || self.backend_is_deaf;
        if self.client_ended && self.backend_ended && is_sent && is_handed_on {
            return Err(Over::of(DONE));
        }
        Ok(moved_in || moved_out)
    }

    fn forward_in(&mut self, around: &mut Around<'_>) -> Moved {
        let mut moved = self.write_backend(around.now)?;
        let has_room = self.to_backend.rest().len() < around.limits.buffer_bytes;
        if !self.client_ended && has_room {
            moved |= self.read_client(around)?;
            self.write_backend(around.now)?;
        }
        if self.client_ended && !self.backend_told && self.to_backend.rest().is_empty() {
            self.backend_told = true;
            if let Some(backend) = &self.backend {
                let _ = rustix::net::shutdown(&backend.socket, Shutdown::Write);
            }
        }
        Ok(moved)
    }

    fn read_client(&mut self, around: &mut Around<'_>) -> Moved {
        let Some(tls) = &mut self.tls else { return Ok(false) };
        match tls.read(around.scratch) {
            Ok(Read::Bytes(count)) => {
                self.bytes_in += count as u64;
                self.active = around.now;
                if !self.backend_is_deaf {
                    self.to_backend.push(around.scratch.get(..count).unwrap_or_default());
                }
                Ok(true)
            }
            Ok(Read::NeedsBytes) => self.receive(around).map_err(|over| self.after_the_end(over)),
            Ok(Read::End) => {
                self.client_ended = true;
                if self.facts.version != BOTH_ENDS_APART {
                    // After its own end, the client takes no more data (RFC 5246, 7.2.1).
                    self.backend_ended = true;
                    let _ = tls.close();
                }
                Ok(true)
            }
            Err(failure) => {
                let over = failed(&failure, tls.delay());
                Err(self.after_the_end(over))
            }
        }
    }

    /// The end `over`; or an ordinary end if the client has all data, since an error of its connection does no harm
    /// then.
    fn after_the_end(&self, over: Over) -> Over {
        let has_all = self.backend_ended && self.tls.as_ref().is_none_or(|tls| tls.outgoing().is_empty());
        if has_all && over.delay.is_zero() { Over::of(DONE) } else { over }
    }

    fn write_backend(&mut self, now: Instant) -> Moved {
        let Some(backend) = &mut self.backend else { return Ok(false) };
        match backend.write(self.to_backend.rest()) {
            Ok(0) => Ok(false),
            Ok(count) => {
                self.to_backend.took(count);
                self.active = now;
                Ok(true)
            }
            Err(_) => {
                // Data that the backend sent before may still be readable.
                self.backend_is_deaf = true;
                self.to_backend = Pending::default();
                Ok(true)
            }
        }
    }

    fn forward_out(&mut self, around: &mut Around<'_>) -> Moved {
        let (Some(tls), Some(backend)) = (&mut self.tls, &mut self.backend) else { return Ok(false) };
        let mut moved = send_out(tls, &mut self.client).map_err(of_client)?;
        if !self.backend_ended && tls.outgoing().len() < around.limits.buffer_bytes {
            match backend.read(around.scratch) {
                Ok(None) => {}
                Ok(Some(0)) => {
                    self.backend_ended = true;
                    tls.close().map_err(|failure| failed(&failure, tls.delay()))?;
                    moved = true;
                }
                Ok(Some(count)) => {
                    self.bytes_out += count as u64;
                    let data = around.scratch.get(..count).unwrap_or_default();
                    tls.write(data).map_err(|failure| failed(&failure, tls.delay()))?;
                    moved = true;
                }
                Err(errno) => return Err(Over { is_cut: false, ..Over::of(format!("backend: {errno}")) }),
            }
            moved |= send_out(tls, &mut self.client).map_err(of_client)?;
        }
        if moved {
            self.active = around.now;
        }
        if self.backend_ended && !self.client_told && tls.outgoing().is_empty() {
            self.client_told = true;
            let _ = rustix::net::shutdown(&self.client.socket, Shutdown::Write);
        }
        Ok(moved)
    }

    /// The client that a verified certificate names; `None` before the end of the handshake, and without a certificate.
    pub(crate) fn client_certificate(&self) -> Option<&Client> {
        self.client_certificate.as_deref().filter(|_| self.handshake_took.is_some())
    }

    /// The connection's entry for the log.
    pub(crate) fn entry(&self, now: Instant) -> Entry<'_> {
        let facts = match &self.tls {
            Some(tls) => tls.facts(),
            None => self.facts.clone(),
        };
        let claimed = self.client_certificate.as_deref().filter(|_| self.handshake_took.is_none());
        let key = facts.key.and_then(|number| self.material.key(number)).map(|key| key.name.as_str());
        let backend = self.backends().get(self.backend_at).filter(|_| self.tried > 0);
        Entry {
            client: self.address,
            listener: &self.listener.name,
            key,
            facts,
            client_certificate: self.client_certificate().map(|client| client.subject.as_str()),
            refused_certificate: claimed.map(|client| client.subject.as_str()),
            key_time: self.key_time,
            handshake: self.handshake_took,
            duration: now - self.began,
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            backend: backend.map(ToString::to_string),
            end: self.end.clone(),
        }
    }
}

/// Sends pending bytes to the client, as far as the socket takes them; true if any were sent.
fn send_out(tls: &mut Connection, client: &mut StreamSocket) -> Result<bool, Errno> {
    let mut moved = false;
    loop {
        let count = client.write(tls.outgoing())?;
        if count == 0 {
            return Ok(moved);
        }
        tls.sent(count);
        moved = true;
    }
}

fn of_client(errno: Errno) -> Over {
    Over { is_cut: true, ..Over::of(format!("client: {errno}")) }
}

fn failed(failure: &Failure, delay: Duration) -> Over {
    let delay = match failure.cause {
        // No secret was used yet, so no delay is needed.
        Cause::UnknownName | Cause::UnknownProtocol => Duration::ZERO,
        Cause::Client => REFUSED_READS,
        _ => delay,
    };
    Over { end: failure.to_string(), delay, is_cut: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_backend_never_quite_takes_is_not_kept() {
        let (chunk, mut pending) = (vec![7; 64 << 10], Pending::default());
        for _ in 0..1000 {
            pending.push(&chunk);
            let most = pending.rest().len() - 7;
            pending.took(most);
            assert!(pending.rest() == [7; 7] && pending.bytes.capacity() <= 4 * chunk.len());
        }
    }
}
