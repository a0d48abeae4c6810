//! One connection from its start to its end.

use crate::http::{Answer, Came};
use crate::library::{Client, Library};
use crate::plan::{Plan, Work};
use crate::signing::Signed;
use crate::socket::Socket;
use crate::tally::Agreed;
use rustix::io::Errno;
use std::borrow::Cow;
use std::time::{Duration, Instant};
use tls::{Cause, Failure, KeyRequest, Progress, Read};
use zeroize::Zeroizing;

/// Rounds of one connection before the others' turn.
const ROUNDS_MAX: usize = 16;
/// Upper bound of bytes that are enciphered at a time.
const WRITTEN_MAX: usize = 64 << 10;
/// The contents of messages.
static MESSAGE: [u8; WRITTEN_MAX] = [b'x'; WRITTEN_MAX];
/// How long a connection that has finished its work waits for the server to close.
const CLOSING_MAX: Duration = Duration::from_secs(1);

/// What a connection waits for after a step.
pub(crate) enum Step {
    /// The connection waits for the socket.
    Wait,
    /// The connection has more to do, after the others' turns.
    Again,
    /// The connection waits for its signature ([`Transaction::request`], [`Transaction::signed`]).
    Sign,
    /// The connection is finished.
    End,
}

/// Name of an error's kind, by which errors are counted.
pub(crate) type Kind = Cow<'static, str>;

enum Phase {
    Connecting,
    Handshake,
    Message,
    Closing { until: Instant },
}

/// Results of a transaction: the times of its finished parts, the parameters and the error.
#[derive(Default)]
pub(crate) struct Taken {
    pub(crate) connect: Option<Duration>,
    pub(crate) handshake: Option<Duration>,
    pub(crate) transaction: Option<Duration>,
    pub(crate) agreed: Option<Agreed>,
    pub(crate) is_resumed: bool,
    pub(crate) error: Option<Kind>,
}

/// Counters that a transaction updates while it runs, since it may run for long.
pub(crate) trait Counted {
    /// Counts bytes of messages that were sent.
    fn sent(&mut self, bytes: u64);
    /// Counts bytes of answers that were received.
    fn received(&mut self, bytes: u64);
    /// Counts an answered message: time to the first byte of its answer, if it has one, and time of the whole.
    fn message(&mut self, first_byte: Option<Duration>, all: Duration);
    /// Whether no more messages are to be sent.
    fn is_over(&self) -> bool;
}

/// The surroundings of a connection during a step.
pub(crate) struct Around<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) library: &'a Library,
    pub(crate) scratch: &'a mut [u8],
    pub(crate) counted: &'a mut dyn Counted,
}

/// State of the message under way.
#[derive(Default)]
struct Message {
    began: Option<Instant>,
    /// Bytes that were enciphered so far, then bytes of the answer received so far.
    written: u64,
    received: u64,
    first_byte: Option<Instant>,
    answer: Answer,
}

/// One connection with its handshake and messages.
pub(crate) struct Transaction {
    pub(crate) socket: Socket,
    client: Option<Client>,
    phase: Phase,
    /// Index of the server name in the plan's list.
    pub(crate) name: usize,
    session: Option<Zeroizing<Vec<u8>>>,
    message: Message,
    messages: u64,
    pub(crate) began: Instant,
    phase_began: Instant,
    pub(crate) taken: Taken,
    /// Whether the transaction began within the measured time.
    pub(crate) is_measured: bool,
    wants_session: bool,
    /// The pending request for a signature, until it is taken.
    request: Option<KeyRequest>,
    is_signing: bool,
}

impl Transaction {
    /// A connection that is being set up; `began` is its start, or in an open loop the due time.
    pub(crate) fn new(
        socket: Socket,
        name: usize,
        session: Option<Zeroizing<Vec<u8>>>,
        began: Instant,
        is_measured: bool,
        wants_session: bool,
    ) -> Self {
        Self {
            socket,
            client: None,
            phase: Phase::Connecting,
            name,
            session,
            message: Message::default(),
            messages: 0,
            began,
            phase_began: Instant::now(),
            taken: Taken::default(),
            is_measured,
            wants_session,
            request: None,
            is_signing: false,
        }
    }

    /// When the present phase times out.
    pub(crate) fn deadline(&self, timeout: Duration) -> Instant {
        match self.phase {
            Phase::Closing { until } => until,
            _ => self.phase_began + timeout,
        }
    }

    /// Ends the transaction as timed out, unless only the server's close was awaited.
    pub(crate) fn expire(&mut self) {
        if !matches!(self.phase, Phase::Closing { .. }) {
            self.taken.error.get_or_insert(Cow::Borrowed("timeout"));
        }
    }

    /// The session for resumption, if one is wanted and the server gave one.
    pub(crate) fn session(&mut self) -> Option<Zeroizing<Vec<u8>>> {
        self.client.as_mut().filter(|_| self.wants_session)?.session()
    }

    /// Goes on as far as possible without waiting.
    pub(crate) fn go_on(&mut self, around: &mut Around<'_>) -> Step {
        for _ in 0..ROUNDS_MAX {
            let moved = match self.phase {
                Phase::Connecting => self.connecting(around),
                Phase::Handshake => self.handshake(around).map(Some),
                Phase::Message => self.message(around),
                Phase::Closing { .. } => self.closing(around),
            };
            match moved {
                Ok(Some(true)) => {}
                Ok(Some(false)) if self.request.is_some() => return Step::Sign,
                Ok(Some(false)) => return Step::Wait,
                Ok(None) => return Step::End,
                Err(kind) => {
                    self.taken.error = Some(kind);
                    return Step::End;
                }
            }
        }
        Step::Again
    }

    fn connecting(&mut self, around: &mut Around<'_>) -> Result<Option<bool>, Kind> {
        if !self.socket.is_connected().map_err(of_connect)? {
            return Ok(Some(false));
        }
        let now = Instant::now();
        self.taken.connect = Some(now - self.began);
        let name = around.plan.names.get(self.name).map(String::as_str);
        let session = self.session.take();
        let client = Client::new(around.library, name, session.as_deref().map(Vec::as_slice));
        self.client = Some(client.map_err(|failure| of_failure(&failure))?);
        self.phase = Phase::Handshake;
        self.phase_began = now;
        Ok(Some(true))
    }

    fn handshake(&mut self, around: &mut Around<'_>) -> Result<bool, Kind> {
        let Some(client) = &mut self.client else { return Ok(false) };
        let progress = client.handshake();
        let sent = send_out(client, &mut self.socket);
        match progress.map_err(|failure| of_failure(&failure))? {
            Progress::Done => {
                let now = Instant::now();
                self.taken.handshake = Some(now - self.phase_began);
                self.agree(around.plan)?;
                self.phase_began = now;
                if around.plan.work == Work::Nothing {
                    self.close(now)?;
                } else {
                    self.phase = Phase::Message;
                    self.message.began = Some(now);
                }
                Ok(true)
            }
            Progress::NeedsKey => {
                sent.map_err(of_system)?;
                if !self.is_signing {
                    self.request = Some(client.take_request().ok_or(Cow::Borrowed("key"))?);
                    self.is_signing = true;
                }
                Ok(false)
            }
            Progress::NeedsVerdict => Err(Cow::Borrowed("key")),
            Progress::NeedsBytes => {
                sent.map_err(of_system)?;
                receive(client, &mut self.socket, around.scratch)
            }
        }
    }

    /// The pending request for a signature; each is returned only once.
    pub(crate) fn request(&mut self) -> Option<KeyRequest> {
        self.request.take()
    }

    /// Takes the signature; None if the key cannot make it.
    pub(crate) fn signed(&mut self, signed: Signed) {
        self.is_signing = false;
        if let Some(client) = &mut self.client {
            client.answer(signed);
        }
    }

    /// Reads the negotiated parameters; an error if they are not the wanted ones.
    fn agree(&mut self, plan: &Plan) -> Result<(), Kind> {
        let Some(client) = &self.client else { return Ok(()) };
        let facts = client.facts();
        self.taken.is_resumed = facts.is_resumed;
        let version = match facts.version {
            "TLS1.3" => "TLSv1.3",
            "TLS1.2" => "TLSv1.2",
            "TLS1.1" => "TLSv1.1",
            "TLS1.0" => "TLSv1",
            other => other,
        };
        let group = facts.group.map(|group| if group == "x25519" { "X25519".to_owned() } else { group });
        let agreed = Agreed { version: Cow::Borrowed(version), suite: facts.cipher, group };
        let wanted = &plan.wanted;
        let other = if wanted.version.is_some_and(|version| version != agreed.version) {
            Some("other-version")
        } else if wanted.suite.as_ref().is_some_and(|suite| *suite != agreed.suite) {
            Some("other-suite")
        } else if wanted.group.is_some() && agreed.group.is_some() && wanted.group != agreed.group {
            Some("other-group")
        } else {
            None
        };
        self.taken.agreed = Some(agreed);
        other.map_or(Ok(()), |kind| Err(Cow::Borrowed(kind)))
    }

    fn message(&mut self, around: &mut Around<'_>) -> Result<Option<bool>, Kind> {
        let Some(client) = &mut self.client else { return Ok(None) };
        let is_last = self.messages + 1 == around.plan.messages;
        let (send, receive_bytes) = match &around.plan.work {
            Work::Nothing => return Ok(None),
            Work::Messages { send, receive, .. } => (*send, Some(*receive)),
            Work::Http { .. } => (1, None),
        };
        send_out(client, &mut self.socket).map_err(of_system)?;
        while self.message.written < send && client.outgoing().is_empty() {
            let count = match &around.plan.work {
                Work::Http { .. } => {
                    let bytes = around.plan.request(self.name, is_last).unwrap_or_default();
                    client.write(&bytes).map_err(|failure| of_failure(&failure))?;
                    around.counted.sent(bytes.len() as u64);
                    1
                }
                Work::Messages { send, packets, .. } => {
                    let packet = send.div_ceil(*packets);
                    let of_packet = packet - self.message.written % packet;
                    let count = of_packet.min(send - self.message.written).min(WRITTEN_MAX as u64);
                    client.write(&MESSAGE[..count as usize]).map_err(|failure| of_failure(&failure))?;
                    around.counted.sent(count);
                    count
                }
                Work::Nothing => return Ok(None),
            };
            self.message.written += count;
            send_out(client, &mut self.socket).map_err(of_system)?;
        }
        if self.message.written == send && client.outgoing().is_empty() && receive_bytes == Some(0) {
            return self.answered_in_full(around);
        }
        match client.read(around.scratch).map_err(|failure| of_failure_in_message(&failure))? {
            Read::End => Err(Cow::Borrowed("short-answer")),
            Read::NeedsBytes => receive(client, &mut self.socket, around.scratch).map(Some),
            Read::Bytes(count) => {
                self.message.first_byte.get_or_insert_with(Instant::now);
                self.message.received += count as u64;
                around.counted.received(count as u64);
                let is_all = match receive_bytes {
                    Some(bytes) if self.message.received > bytes => return Err(Cow::Borrowed("wrong-bytes")),
                    Some(bytes) => self.message.received == bytes,
                    None => match self.message.answer.take(around.scratch.get(..count).unwrap_or_default()) {
                        Came::Part => false,
                        Came::All => true,
                        Came::Wrong => return Err(Cow::Borrowed("wrong-bytes")),
                        Came::Status(status) => return Err(Cow::Owned(format!("http {status}"))),
                    },
                };
                if is_all { self.answered_in_full(around) } else { Ok(Some(true)) }
            }
        }
    }

    fn answered_in_full(&mut self, around: &mut Around<'_>) -> Result<Option<bool>, Kind> {
        let now = Instant::now();
        let began = self.message.began.unwrap_or(now);
        around.counted.message(self.message.first_byte.map(|at| at - began), now - began);
        self.messages += 1;
        self.phase_began = now;
        if self.messages < around.plan.messages && !around.counted.is_over() {
            self.message = Message { began: Some(now), ..Message::default() };
        } else {
            self.close(now)?;
        }
        Ok(Some(true))
    }

    fn close(&mut self, now: Instant) -> Result<(), Kind> {
        self.taken.transaction = Some(now - self.began);
        self.phase = Phase::Closing { until: now + CLOSING_MAX };
        if let Some(client) = &mut self.client {
            client.close().map_err(|failure| of_failure(&failure))?;
        }
        Ok(())
    }

    /// Waits for the server to close. In TLS 1.3 a server may refuse a client after the client's handshake is over.
    fn closing(&mut self, around: &mut Around<'_>) -> Result<Option<bool>, Kind> {
        let Some(client) = &mut self.client else { return Ok(None) };
        let is_sent = send_out(client, &mut self.socket).is_ok();
        match client.read(around.scratch) {
            Ok(Read::Bytes(_)) => Ok(Some(true)),
            // The end of TCP follows; once both ends have closed, no connection is left behind.
            Ok(Read::End) => self.wait_for_end(around),
            Ok(Read::NeedsBytes) => match receive(client, &mut self.socket, around.scratch) {
                Ok(moved) if is_sent || moved => Ok(Some(moved)),
                _ => Ok(None),
            },
            Err(failure) if around.plan.work == Work::Nothing => match failure.cause {
                Cause::Alert(number) if number != 0 => {
                    self.taken.transaction = None;
                    Err(of_failure(&failure))
                }
                _ => Ok(None),
            },
            Err(_) => Ok(None),
        }
    }

    fn wait_for_end(&mut self, around: &mut Around<'_>) -> Result<Option<bool>, Kind> {
        match self.socket.read(around.scratch) {
            Ok(None) => Ok(Some(false)),
            Ok(Some(0)) | Err(_) => Ok(None),
            Ok(Some(_)) => Ok(Some(true)),
        }
    }
}

/// Sends pending TLS records as far as the socket takes them.
fn send_out(client: &mut Client, socket: &mut Socket) -> Result<(), Errno> {
    while !client.outgoing().is_empty() {
        let count = socket.write(client.outgoing())?;
        if count == 0 {
            return Ok(());
        }
        client.sent(count);
    }
    Ok(())
}

/// Passes received bytes to the TLS library; false if there are none.
fn receive(client: &mut Client, socket: &mut Socket, scratch: &mut [u8]) -> Result<bool, Kind> {
    match socket.read(scratch).map_err(of_system)? {
        None => Ok(false),
        Some(0) => {
            client.receive_end();
            Ok(true)
        }
        Some(count) => {
            client.receive(scratch.get(..count).unwrap_or_default());
            Ok(true)
        }
    }
}

/// The kind of an error in connecting.
pub(crate) fn of_connect(errno: Errno) -> Kind {
    match errno {
        // EAGAIN: the queue of a Unix socket is full.
        Errno::CONNREFUSED | Errno::AGAIN => Cow::Borrowed("refused"),
        Errno::NOENT => Cow::Borrowed("no-socket"),
        Errno::HOSTUNREACH | Errno::NETUNREACH => Cow::Borrowed("unreachable"),
        Errno::ADDRNOTAVAIL => Cow::Borrowed("no-ports"),
        errno => of_system(errno),
    }
}

fn of_system(errno: Errno) -> Kind {
    match errno {
        Errno::CONNRESET | Errno::PIPE => Cow::Borrowed("reset"),
        Errno::TIMEDOUT => Cow::Borrowed("timeout"),
        Errno::MFILE | Errno::NFILE => Cow::Borrowed("descriptors"),
        errno => Cow::Owned(format!("system {}", errno.raw_os_error())),
    }
}

fn of_failure(failure: &Failure) -> Kind {
    match failure.cause {
        Cause::Alert(number) => Cow::Owned(format!("alert {number}")),
        cause => Cow::Borrowed(cause.name()),
    }
}

/// The kind of an error while an answer was awaited: a cut connection means a short answer.
fn of_failure_in_message(failure: &Failure) -> Kind {
    if failure.cause == Cause::Cut { Cow::Borrowed("short-answer") } else { of_failure(failure) }
}
