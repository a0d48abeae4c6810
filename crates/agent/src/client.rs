//! The client's side of the agent: reaches or starts a user's agent, and asks it.

use crate::message::{HeldKey, Refusal, Reply, Request, VERSION};
use crate::socket::AgentSocket;
use command_fds::{CommandFdExt, FdMapping};
use confine::sandbox::SOCKET_DESCRIPTOR;
use link::{Channel, ChannelError, Listener};
use openpgp::certificate::KeyPacket;
use openpgp::private_key::ClearKey;
use openpgp::{
    Fingerprint, HashAlgorithm, PlainSessionKey, PrivateKey, PrivateKeyError, SymmetricKeyAlgorithm,
};
use pgp::packet::PublicKeyEncryptedSessionKey;
use pgp::ser::Serialize;
use pgp::types::{KeyDetails, Mpi, SignatureBytes};
use rustix::fs::{FlockOperation, flock};
use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Longest wait for an answer. The slowest request that is served is one for an RSA key of 16384 bits.
const ANSWER_WAIT: Duration = Duration::from_secs(30);
/// At most this many bytes are read of what a failed agent writes to standard error.
const SAID_BYTES_MAX: u64 = 4096;

/// Why the agent was not reached, or did not do what it was asked.
#[derive(Debug)]
#[non_exhaustive]
pub enum AgentError {
    /// The folder of the socket cannot be used.
    Folder {
        /// The folder's path.
        folder: PathBuf,
        /// The error of the system call.
        cause: io::Error,
    },
    /// Another user's process listens at the socket.
    Stranger {
        /// Path of the socket.
        socket: PathBuf,
        /// The other user's id.
        uid: u32,
    },
    /// The program does not start, or ends before it answers.
    Start {
        /// Path of the program.
        program: PathBuf,
        /// The text that the program wrote to standard error, or the system's error.
        cause: String,
    },
    /// The connection failed.
    Channel(ChannelError),
    /// The agent refused the request.
    Refused(Refusal),
    /// The agent's answer does not fit the question.
    Answer,
}

impl fmt::Display for AgentError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder { folder, cause } => write!(out, "the agent's folder {}: {cause}", folder.display()),
            Self::Stranger { socket, uid } => {
                write!(
                    out,
                    "{}: a process of the user {uid} listens there; no key was sent",
                    socket.display()
                )
            }
            Self::Start { program, cause } => write!(out, "{} does not start: {cause}", program.display()),
            Self::Channel(cause) => write!(out, "the agent: {cause}"),
            Self::Refused(refusal) => write!(out, "the agent refused: {refusal}"),
            Self::Answer => out.write_str("the agent answered another question"),
        }
    }
}

impl std::error::Error for AgentError {}

impl From<ChannelError> for AgentError {
    fn from(error: ChannelError) -> Self {
        Self::Channel(error)
    }
}

/// A connection to a user's agent.
pub struct Agent {
    channel: Mutex<Channel>,
    pid: u32,
    lacks: Vec<String>,
}

impl Agent {
    /// Connects to the agent that runs; `None` if none runs.
    ///
    /// # Errors
    /// [`AgentError`].
    pub fn connect(socket: &AgentSocket) -> Result<Option<Self>, AgentError> {
        let channel = match Channel::connect(socket.path()) {
            Ok(channel) => channel,
            Err(error)
                if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) =>
            {
                return Ok(None);
            }
            Err(cause) => return Err(AgentError::Folder { folder: socket.path().to_owned(), cause }),
        };
        match Self::greet(socket, channel) {
            // The agent ended at this moment.
            Err(AgentError::Channel(ChannelError::Closed)) => Ok(None),
            outcome => outcome.map(Some),
        }
    }

    /// Connects to the agent that runs; if none runs, starts `program` as the agent and connects to it.
    ///
    /// # Errors
    /// [`AgentError`].
    pub fn connect_or_start(socket: &AgentSocket, program: &Path) -> Result<Self, AgentError> {
        let folder = |cause| AgentError::Folder { folder: socket.folder().to_owned(), cause };
        socket.make_folder().map_err(folder)?;
        // A lock serialises processes that start an agent at the same time: the second finds the first one's agent.
        let lock = socket.folder().join("agent.lock");
        let lock = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(lock);
        let lock = lock.map_err(folder)?;
        flock(&lock, FlockOperation::LockExclusive).map_err(|errno| folder(errno.into()))?;
        if let Some(agent) = Self::connect(socket)? {
            return Ok(agent);
        }
        let listener = Listener::bind(socket.path()).map_err(folder)?;
        let failed = |cause: String| AgentError::Start { program: program.to_owned(), cause };
        let mut child = start(program, listener).map_err(|cause| failed(cause.to_string()))?;
        let begun = match Channel::connect(socket.path()) {
            Ok(channel) => Self::greet(socket, channel),
            // The agent ended before it could be asked.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                Err(ChannelError::Closed.into())
            }
            Err(cause) => Err(folder(cause)),
        };
        begun.map_err(|error| match error {
            AgentError::Channel(ChannelError::Closed) => failed(said(&mut child)),
            error => error,
        })
    }

    fn greet(socket: &AgentSocket, channel: Channel) -> Result<Self, AgentError> {
        let own = rustix::process::geteuid().as_raw();
        let peer = channel
            .peer()
            .map_err(|cause| AgentError::Folder { folder: socket.folder().to_owned(), cause })?;
        if peer.uid != own {
            return Err(AgentError::Stranger { socket: socket.path().to_owned(), uid: peer.uid });
        }
        let mut agent = Self { channel: Mutex::new(channel), pid: 0, lacks: Vec::new() };
        match agent.ask(&Request::Hello { version: VERSION })? {
            Reply::Ready { version: VERSION, pid, lacks } => {
                (agent.pid, agent.lacks) = (pid, lacks);
                Ok(agent)
            }
            _ => Err(AgentError::Answer),
        }
    }

    /// Process id of the agent.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Names of the protections of the sandbox, and of the memory of secrets, that the agent lacks on this machine.
    pub fn lacks(&self) -> &[String] {
        &self.lacks
    }

    /// Has the agent hold a key for `seconds`, 1 to [`SECONDS_MAX`](crate::message::SECONDS_MAX). If the key is already
    /// held, its time starts anew.
    ///
    /// # Errors
    /// [`AgentError`].
    pub fn add(&self, key: &ClearKey, seconds: u32) -> Result<(), AgentError> {
        let request = Request::Add { is_primary: key.is_primary, body: key.body.clone(), seconds };
        self.done(&request).map(drop)
    }

    /// The keys that the agent holds, each with the time that it has left.
    ///
    /// # Errors
    /// [`AgentError`].
    pub fn held(&self) -> Result<Vec<HeldKey>, AgentError> {
        match self.ask(&Request::List)? {
            Reply::Held(rows) => Ok(rows),
            _ => Err(AgentError::Answer),
        }
    }

    /// Has the agent forget the keys with these fingerprints, or all its keys if `fingerprints` is empty. Returns how
    /// many were forgotten.
    ///
    /// # Errors
    /// [`AgentError`].
    pub fn forget(&self, fingerprints: &[Fingerprint]) -> Result<u32, AgentError> {
        let fingerprints = fingerprints.iter().map(|fingerprint| fingerprint.as_bytes().to_vec()).collect();
        self.done(&Request::Forget { fingerprints })
    }

    /// The private half of a key that the agent holds; whether the agent holds it shows with the first operation.
    pub fn key(self: &Arc<Self>, public: KeyPacket) -> AgentKey {
        AgentKey { agent: Arc::clone(self), public }
    }

    fn done(&self, request: &Request) -> Result<u32, AgentError> {
        match self.ask(request)? {
            Reply::Done { count } => Ok(count),
            _ => Err(AgentError::Answer),
        }
    }

    fn ask(&self, request: &Request) -> Result<Reply, AgentError> {
        // Locked from request to answer, since an answer does not name its request.
        let channel = self.channel.lock().unwrap_or_else(PoisonError::into_inner);
        channel.send(request, &[])?;
        match channel.recv_timeout(ANSWER_WAIT)? {
            (Reply::Refused(refusal), _) => Err(AgentError::Refused(refusal)),
            (reply, _) => Ok(reply),
        }
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Agent(process {})", self.pid)
    }
}

/// Starts the agent with the listener as descriptor [`SOCKET_DESCRIPTOR`]; this process keeps no copy of it.
fn start(program: &Path, listener: Listener) -> io::Result<Child> {
    let mut command = Command::new(program);
    // The starter's descriptors would keep its pipes and terminals open for as long as the agent lives.
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mapping = FdMapping { parent_fd: listener.into_fd(), child_fd: SOCKET_DESCRIPTOR };
    command.fd_mappings(vec![mapping]).map_err(|error| io::Error::other(error.to_string()))?;
    command.spawn()
}

/// The text that an ended agent wrote to standard error, at most [`SAID_BYTES_MAX`] bytes; its exit status if it wrote
/// nothing.
fn said(child: &mut Child) -> String {
    let mut text = String::new();
    if let Some(stderr) = child.stderr.take() {
        let _ = stderr.take(SAID_BYTES_MAX).read_to_string(&mut text);
    }
    let status = child.wait().map_or_else(|cause| cause.to_string(), |status| status.to_string());
    let text = text.trim();
    if text.is_empty() { status } else { text.trim_start_matches("cryptand-agent: ").to_owned() }
}

/// A private key that an agent holds.
#[derive(Clone, Debug)]
pub struct AgentKey {
    agent: Arc<Agent>,
    public: KeyPacket,
}

impl AgentKey {
    fn ask(&self, request: &Request, operation: &'static str) -> Result<Reply, PrivateKeyError> {
        self.agent.ask(request).map_err(|error| match error {
            AgentError::Refused(Refusal::NotOpened) => PrivateKeyError::NotOpened,
            AgentError::Refused(Refusal::NotHeld) => PrivateKeyError::Locked,
            AgentError::Refused(Refusal::Unsupported(algorithm)) => {
                PrivateKeyError::Unsupported { operation, algorithm }
            }
            error => PrivateKeyError::Holder { cause: error.to_string() },
        })
    }

    fn fingerprint(&self) -> Vec<u8> {
        self.public.fingerprint().as_bytes().to_vec()
    }
}

impl PrivateKey for AgentKey {
    fn public(&self) -> &dyn KeyDetails {
        &self.public
    }

    fn open(&self, packet: &PublicKeyEncryptedSessionKey) -> Result<PlainSessionKey, PrivateKeyError> {
        let is_v6 = matches!(packet, PublicKeyEncryptedSessionKey::V6 { .. });
        let packet = packet.to_bytes().map_err(|_| PrivateKeyError::NotOpened)?;
        let request = Request::Open { fingerprint: self.fingerprint(), packet };
        match self.ask(&request, "open session keys")? {
            Reply::SessionKey { cipher: None, key } if is_v6 => Ok(PlainSessionKey::V6 { key: key.into() }),
            Reply::SessionKey { cipher: Some(cipher), key } if !is_v6 => {
                Ok(PlainSessionKey::V3_4 { sym_alg: SymmetricKeyAlgorithm::from(cipher), key: key.into() })
            }
            _ => Err(PrivateKeyError::Holder { cause: AgentError::Answer.to_string() }),
        }
    }

    fn sign(&self, hash: HashAlgorithm, digest: &[u8]) -> Result<SignatureBytes, PrivateKeyError> {
        let fingerprint = self.fingerprint();
        let request = Request::Sign { fingerprint, hash: u8::from(hash), digest: digest.to_vec() };
        match self.ask(&request, "sign")? {
            Reply::Signature { is_native: false, parts } => {
                Ok(SignatureBytes::Mpis(parts.iter().map(|part| Mpi::from_slice(part)).collect()))
            }
            Reply::Signature { is_native: true, mut parts } if parts.len() == 1 => {
                Ok(SignatureBytes::Native(parts.remove(0).into()))
            }
            _ => Err(PrivateKeyError::Holder { cause: AgentError::Answer.to_string() }),
        }
    }
}
