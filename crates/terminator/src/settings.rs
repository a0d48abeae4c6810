//! The operator's settings: one file in TOML. [`MANUAL`] is a settings file with every key, and explains each.

mod observing;
mod raw;
mod service;

use crate::networks::Network;
use crate::sessions::CacheSettings;
use facility::Label;
pub use observing::{MetricsAt, Observing, StatusAt};
use raw::{RawCertificate, RawClients, RawListener, RawSettings};
pub use service::{Backends, Exchange, Service};
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tls::{Policy, Protocols};
use toml::Spanned;

/// The settings file that is its own manual.
pub const MANUAL: &str = include_str!("settings/manual.toml");

/// Longest settings file, in bytes: enough for 10,000 certificates.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// At most this many certificates, and at most this many listeners.
const CERTIFICATES_MAX: usize = 20_000;
const LISTENERS_MAX: usize = 64;
/// Period of the keys that seal kept sessions, if no tickets are given.
const PERIOD_WITHOUT_TICKETS: Duration = Duration::from_secs(12 * 3600);
/// At most this many files of revocation lists for a certificate.
const LISTS_MAX: usize = 64;
/// At most this many loops, which are threads that serve connections.
const LOOPS_MAX: u32 = 256;

/// A value of the settings, with its line in the file, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At<T> {
    /// The value of the setting.
    pub value: T,
    /// The line of the setting in the file, from 1.
    pub line: usize,
}

/// An error in settings, or in something that they name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Path of the settings file.
    pub file: PathBuf,
    /// Line in the file, from 1; `None` for the file as a whole.
    pub line: Option<usize>,
    /// The setting's key; empty if no single key is wrong.
    pub key: String,
    /// What is wrong, for people.
    pub cause: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if !self.key.is_empty() {
            write!(f, ", {}", self.key)?;
        }
        write!(f, ": {}", self.cause)
    }
}

impl std::error::Error for Wrong {}

/// The contents of a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Path of the settings file.
    pub file: PathBuf,
    /// The user that the program becomes once its addresses are bound; `None` to stay the same user.
    pub user: Option<At<String>>,
    /// Number of threads that serve connections; `None` for one a processor.
    pub loops: Option<u32>,
    /// How long connections may go on after a request to stop.
    pub stop: Duration,
    /// The home whose labels are used.
    pub home: Option<HomeSettings>,
    /// Where connections are logged.
    pub log: LogSettings,
    /// How long a ticket key is the newest; `None` if no tickets are given.
    pub ticket_period: Option<Duration>,
    /// File of ticket keys, shared with other machines; `None` to make keys here.
    pub ticket_file: Option<At<PathBuf>>,
    /// Bounds of kept TLS 1.2 sessions, for clients that take no tickets; `None` to keep no sessions.
    pub cache: Option<CacheSettings>,
    /// Bounds of connections.
    pub limits: Limits,
    /// Where metrics and status are served, and whether files are watched.
    pub observing: Observing,
    /// Certificates, in the order of the file: a certificate's place is the number of its key.
    pub certificates: Vec<CertificateSettings>,
    /// Listeners, in the order of the file.
    pub listeners: Vec<ListenerSettings>,
}

/// The home whose labels are used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HomeSettings {
    /// The home's folder.
    pub folder: At<PathBuf>,
    /// The domain of requests to its cards.
    pub domain: u16,
    /// File of the credential that tells the daemon the process's tenant; `None` if the process's user tells it.
    pub credential: Option<At<PathBuf>>,
}

/// Target and form of the access log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSettings {
    /// Where the log goes.
    pub target: LogTarget,
    /// Form of the log's lines.
    pub format: LogFormat,
    /// Line of the target, for errors.
    pub line: usize,
}

/// Where a log goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogTarget {
    /// The log is switched off.
    None,
    /// Standard output.
    Stdout,
    /// A file, appended to.
    File(PathBuf),
}

/// Form of a log's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// `key=value` words, for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Bounds of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// At most this many connections at a time.
    pub connections: u32,
    /// At most this many connections from one address; `None` for no such bound.
    pub per_address: Option<u32>,
    /// At most this many failed connections are kept open for the library's delay.
    pub failed: u32,
    /// Longest time from accepting to the end of the handshake.
    pub handshake: Duration,
    /// Longest time without a byte in either direction.
    pub idle: Duration,
    /// Longest time until a backend accepts a connection.
    pub connect: Duration,
    /// Bytes that are buffered in each direction of a connection before no more are read.
    pub buffer_bytes: usize,
}

/// A certificate chain and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateSettings {
    /// File of the chain; `None` for the chain that is stored under the key's label.
    pub chain: Option<At<PathBuf>>,
    /// Where the chain's private key is.
    pub key: KeySettings,
    /// File of an OCSP response that is shown with the certificate.
    pub ocsp: Option<At<PathBuf>>,
    /// The policy for the certificate's names; `None` for the listener's policy.
    pub policy: Option<At<Policy>>,
    /// Whether the certificate is shown to clients that ask for no name or an unknown one; `None` if the settings do
    /// not say.
    pub is_default: Option<bool>,
    /// The demand for clients' certificates; `None` to ask for none.
    pub clients: Option<ClientsSettings>,
}

/// The demand for clients' certificates, and what they are checked against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientsSettings {
    /// File of the authorities' certificates.
    pub ca: At<PathBuf>,
    /// Files of revocation lists.
    pub lists: Vec<At<PathBuf>>,
    /// Whether a client without a certificate is refused.
    pub is_required: bool,
    /// At most this many certificates may stand between a client's and an authority's.
    pub depth: u8,
    /// Line of the table in the settings file.
    pub line: usize,
}

impl CertificateSettings {
    /// The place of the chain for errors: its line and key in the file, and the words before the cause.
    pub(crate) fn chain_place(&self) -> (usize, &'static str, String) {
        match (&self.chain, &self.key) {
            (Some(chain), _) => (chain.line, "chain", format!("{}: ", chain.value.display())),
            (None, KeySettings::Label(label)) => {
                (label.line, "label", format!("the chain beside {}: ", label.value))
            }
            (None, KeySettings::File(path)) => (path.line, "key", String::new()),
        }
    }
}

/// Where a private key is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySettings {
    /// In a file, read into this process.
    File(At<PathBuf>),
    /// On cards, under a label.
    Label(At<Label>),
}

/// An address to be served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenerSettings {
    /// The address or socket that it listens at.
    pub place: At<ListenAt>,
    /// The TLS policy that it offers.
    pub policy: At<Policy>,
    /// Application protocols that clients may choose from; `None` if the listener does not take part in the choice.
    pub protocols: Option<Protocols>,
    /// Networks of proxies that must name a connection's client by the PROXY protocol; `None` if no proxy does.
    pub accept_proxy: Option<Vec<Network>>,
    /// Whether backends get a header of the PROXY protocol.
    pub sends_proxy: bool,
    /// The use that the listener makes of its connections: forwarding, or answering by itself.
    pub service: Service,
}

/// Where a listener listens.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ListenAt {
    /// An address, bound by this program.
    Address(SocketAddr),
    /// A socket that the service manager hands in, by its name (`FileDescriptorName=`).
    Handed(String),
}

impl fmt::Display for ListenAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => write!(f, "{address}"),
            Self::Handed(name) => write!(f, "socket {name}"),
        }
    }
}

impl Settings {
    /// Reads a settings file.
    ///
    /// # Errors
    /// [`Wrong`], with file, line and key.
    pub fn read(file: &Path) -> Result<Self, Wrong> {
        let text = read_bounded(file, FILE_BYTES_MAX).map_err(|cause| Wrong {
            file: file.to_owned(),
            line: None,
            key: String::new(),
            cause,
        })?;
        let text = String::from_utf8(text).map_err(|_| Wrong {
            file: file.to_owned(),
            line: None,
            key: String::new(),
            cause: "it is not UTF-8 text".to_owned(),
        })?;
        Self::from_text(file, &text)
    }

    /// Reads the text of a settings file; relative paths in it start at the file's folder.
    ///
    /// # Errors
    /// [`Wrong`], with file, line and key.
    pub fn from_text(file: &Path, text: &str) -> Result<Self, Wrong> {
        let read = SettingsText::new(file, text);
        let raw: RawSettings = toml::from_str(text).map_err(|error| read.syntax(&error))?;
        read.settings(raw)
    }

    /// The policies that a certificate is served under.
    pub(crate) fn policies_of(&self, certificate: &CertificateSettings) -> impl Iterator<Item = Policy> {
        let own = certificate.policy.as_ref().map(|policy| policy.value);
        let listeners = self.listeners.iter().map(|listener| listener.policy.value);
        own.into_iter().chain(listeners.filter(move |_| own.is_none()))
    }

    /// All policies that names are served under; a policy may occur several times.
    pub(crate) fn policies(&self) -> impl Iterator<Item = Policy> {
        let own = self.certificates.iter().filter_map(|certificate| certificate.policy.as_ref());
        self.listeners.iter().map(|listener| &listener.policy).chain(own).map(|policy| policy.value)
    }

    /// How long a key that seals sessions is the newest. Kept sessions need such keys even if no tickets are given.
    pub(crate) fn key_period(&self) -> Option<Duration> {
        self.ticket_period.or_else(|| self.cache.map(|_| PERIOD_WITHOUT_TICKETS))
    }

    /// An error about a line of this file.
    pub fn wrong(&self, line: usize, key: &str, cause: impl fmt::Display) -> Wrong {
        Wrong { file: self.file.clone(), line: Some(line), key: key.to_owned(), cause: cause.to_string() }
    }
}

/// Reads a file of at most `bytes_max` bytes; the error names the cause, but not the file.
pub(crate) fn read_bounded(file: &Path, bytes_max: u64) -> Result<Vec<u8>, String> {
    use std::io::Read;
    let opened = std::fs::File::open(file).map_err(|cause| format!("cannot be opened: {cause}"))?;
    // Room for the whole file and for the look behind its end: a vector that grows would leave copies of a key behind.
    let length = opened.metadata().map_or(0, |metadata| metadata.len()).min(bytes_max);
    let mut bytes = Vec::with_capacity(length as usize + 64);
    opened.take(bytes_max + 1).read_to_end(&mut bytes).map_err(|cause| format!("cannot be read: {cause}"))?;
    if bytes.len() as u64 > bytes_max {
        return Err(format!("is longer than {bytes_max} bytes"));
    }
    Ok(bytes)
}

/// A settings file's text, with the file's path.
struct SettingsText<'a> {
    file: &'a Path,
    text: &'a str,
    /// Offsets of the line ends, since the lines of tens of thousands of places are looked up.
    ends: Vec<usize>,
}

impl<'a> SettingsText<'a> {
    fn new(file: &'a Path, text: &'a str) -> Self {
        Self { file, text, ends: text.match_indices('\n').map(|(at, _)| at).collect() }
    }
}

impl SettingsText<'_> {
    fn line(&self, at: usize) -> usize {
        self.ends.partition_point(|end| *end < at) + 1
    }

    fn at<T>(&self, value: Spanned<T>) -> At<T> {
        let line = self.line(value.span().start);
        At { value: value.into_inner(), line }
    }

    fn wrong(&self, line: usize, key: &str, cause: impl fmt::Display) -> Wrong {
        Wrong { file: self.file.to_owned(), line: Some(line), key: key.to_owned(), cause: cause.to_string() }
    }

    /// An error of the TOML reader, with its line and the key in that line.
    fn syntax(&self, error: &toml::de::Error) -> Wrong {
        let line = error.span().map_or(1, |span| self.line(span.start));
        let of_line = self.text.lines().nth(line - 1).unwrap_or_default().trim();
        let key = of_line.split('=').next().unwrap_or_default().trim();
        self.wrong(line, key, error.message().replace('\n', "; "))
    }

    fn path(&self, path: At<PathBuf>) -> At<PathBuf> {
        let folder = self.file.parent().unwrap_or(Path::new(""));
        At { value: folder.join(path.value), line: path.line }
    }

    fn number(
        &self,
        key: &str,
        given: Option<Spanned<u64>>,
        default: u64,
        least: u64,
        most: u64,
    ) -> Result<u64, Wrong> {
        let Some(given) = given else { return Ok(default) };
        let given = self.at(given);
        if (least..=most).contains(&given.value) {
            return Ok(given.value);
        }
        Err(self.wrong(given.line, key, format!("{} is not from {least} to {most}", given.value)))
    }

    fn settings(&self, raw: RawSettings) -> Result<Settings, Wrong> {
        let loops = raw.loops.map(|loops| self.number("loops", Some(loops), 1, 1, u64::from(LOOPS_MAX)));
        let stop = self.number("stop_seconds", raw.stop_seconds, 30, 0, 86_400)?;
        let home = raw.home.map(|home| self.home(home)).transpose()?;
        let log = self.log(raw.log)?;
        let (hours, file) = raw.tickets.map_or((None, None), |tickets| (tickets.rotate_hours, tickets.file));
        let ticket_file = file.map(|file| self.path(self.at(file)));
        if let (Some(file), Some(_)) = (&ticket_file, &hours) {
            let cause = "keys of a file are rotated by who writes it: take out `rotate_hours`";
            return Err(self.wrong(file.line, "file", cause));
        }
        let hours = self.number("rotate_hours", hours, 12, 0, 168)?;
        let (kept, seconds) =
            raw.sessions.map_or((None, None), |sessions| (sessions.cache, sessions.seconds));
        let sessions = self.number("cache", kept, 0, 0, 1 << 24)? as u32;
        let lifetime = Duration::from_secs(self.number("seconds", seconds, 300, 1, 86_400)?);
        let limits = self.limits(raw.limits)?;
        let observing = self.observing(raw.metrics, raw.status, raw.reload)?;
        if raw.listener.is_empty() || raw.listener.len() > LISTENERS_MAX {
            let cause = format!(
                "there must be 1 to {LISTENERS_MAX} tables of this name, and not {}",
                raw.listener.len()
            );
            return Err(self.wrong(self.line(self.text.len()), "[[listener]]", cause));
        }
        if raw.certificate.is_empty() || raw.certificate.len() > CERTIFICATES_MAX {
            let cause = format!(
                "there must be 1 to {CERTIFICATES_MAX} tables of this name, and not {}",
                raw.certificate.len()
            );
            return Err(self.wrong(self.line(self.text.len()), "[[certificate]]", cause));
        }
        let certificates = raw.certificate.into_iter().map(|raw| self.certificate(raw, home.is_some()));
        let certificates = certificates.collect::<Result<Vec<_>, _>>()?;
        let mut listeners: Vec<ListenerSettings> = Vec::new();
        for raw in raw.listener {
            let listener = self.listener(raw)?;
            if listeners.iter().any(|other| other.place.value == listener.place.value) {
                let key = listener_key(&listener.place.value);
                let cause = format!("{} is listened at twice", listener.place.value);
                return Err(self.wrong(listener.place.line, key, cause));
            }
            listeners.push(listener);
        }
        Ok(Settings {
            file: self.file.to_owned(),
            user: raw.user.map(|user| self.at(user)),
            loops: loops.transpose()?.map(|loops| loops as u32),
            stop: Duration::from_secs(stop),
            home,
            log,
            ticket_period: Some(Duration::from_secs(hours * 3600)).filter(|period| !period.is_zero()),
            ticket_file,
            cache: Some(CacheSettings { sessions, lifetime }).filter(|_| sessions > 0),
            limits,
            observing,
            certificates,
            listeners,
        })
    }

    fn home(&self, raw: raw::RawHome) -> Result<HomeSettings, Wrong> {
        let domain = self.number("domain", raw.domain, 0, 0, wire::bounds::DOMAINS_MAX as u64 - 1)?;
        Ok(HomeSettings {
            folder: self.path(self.at(raw.folder)),
            domain: domain as u16,
            credential: raw.credential.map(|path| self.path(self.at(path))),
        })
    }

    fn log(&self, raw: Option<raw::RawLog>) -> Result<LogSettings, Wrong> {
        let raw = raw.unwrap_or_default();
        let (target, line) = match raw.access.map(|target| self.at(target)) {
            None => (LogTarget::Stdout, 1),
            Some(At { value, line }) => match value.as_str() {
                "stdout" => (LogTarget::Stdout, line),
                "none" => (LogTarget::None, line),
                "" => return Err(self.wrong(line, "access", "it names no file")),
                path => (LogTarget::File(self.path(At { value: path.into(), line }).value), line),
            },
        };
        let format = match raw.format.map(|format| self.at(format)) {
            None => LogFormat::Text,
            Some(At { value, line }) => match value.as_str() {
                "text" => LogFormat::Text,
                "json" => LogFormat::Json,
                other => {
                    return Err(self.wrong(
                        line,
                        "format",
                        format!("\"{other}\" is neither \"text\" nor \"json\""),
                    ));
                }
            },
        };
        Ok(LogSettings { target, format, line })
    }

    fn limits(&self, raw: Option<raw::RawLimits>) -> Result<Limits, Wrong> {
        let raw = raw.unwrap_or_default();
        let seconds =
            |key, given, default| self.number(key, given, default, 1, 86_400).map(Duration::from_secs);
        let per_address =
            self.number("connections_per_address", raw.connections_per_address, 0, 0, 1 << 20)? as u32;
        Ok(Limits {
            connections: self.number("connections", raw.connections, 10_000, 1, 1 << 20)? as u32,
            per_address: Some(per_address).filter(|most| *most > 0),
            failed: self.number("failed_connections", raw.failed_connections, 1_000, 0, 1 << 20)? as u32,
            handshake: seconds("handshake_seconds", raw.handshake_seconds, 10)?,
            idle: seconds("idle_seconds", raw.idle_seconds, 300)?,
            connect: seconds("connect_seconds", raw.connect_seconds, 10)?,
            buffer_bytes: self.number("buffer_kib", raw.buffer_kib, 64, 16, 16 << 10)? as usize * 1024,
        })
    }

    fn certificate(
        &self,
        raw: Spanned<RawCertificate>,
        has_home: bool,
    ) -> Result<CertificateSettings, Wrong> {
        let raw = self.at(raw);
        let key = match (raw.value.key, raw.value.label) {
            (Some(file), None) => KeySettings::File(self.path(self.at(file))),
            (None, Some(label)) => {
                let label = self.at(label);
                if !has_home {
                    let cause = "a label is in a home, and there is no [home] with its folder";
                    return Err(self.wrong(label.line, "label", cause));
                }
                let value =
                    Label::new(&label.value).map_err(|cause| self.wrong(label.line, "label", cause))?;
                KeySettings::Label(At { value, line: label.line })
            }
            (Some(_), Some(label)) => {
                return Err(self.wrong(
                    self.at(label).line,
                    "label",
                    "the key is in a file already: name one of both",
                ));
            }
            (None, None) => {
                let cause = "it has neither a `key`, which is a file, nor a `label`, which is on cards";
                return Err(self.wrong(raw.line, "[[certificate]]", cause));
            }
        };
        let chain = raw.value.chain.map(|chain| self.path(self.at(chain)));
        if chain.is_none() && matches!(key, KeySettings::File(_)) {
            let cause = "a `key` in a file needs its `chain` in a file";
            return Err(self.wrong(raw.line, "[[certificate]]", cause));
        }
        Ok(CertificateSettings {
            chain,
            key,
            ocsp: raw.value.ocsp.map(|path| self.path(self.at(path))),
            policy: raw.value.policy.map(|policy| self.policy(policy)).transpose()?,
            is_default: raw.value.default,
            clients: raw.value.clients.map(|clients| self.clients(clients)).transpose()?,
        })
    }

    fn clients(&self, raw: Spanned<RawClients>) -> Result<ClientsSettings, Wrong> {
        let raw = self.at(raw);
        if raw.value.crl.len() > LISTS_MAX {
            let cause = format!("there may be {LISTS_MAX}, and not {}", raw.value.crl.len());
            return Err(self.wrong(raw.line, "crl", cause));
        }
        let most = u64::from(certificates::CLIENT_DEPTH_MAX);
        Ok(ClientsSettings {
            ca: self.path(self.at(raw.value.ca)),
            lists: raw.value.crl.into_iter().map(|path| self.path(self.at(path))).collect(),
            is_required: raw.value.required.unwrap_or(true),
            depth: self.number("depth", raw.value.depth, 1, 0, most)? as u8,
            line: raw.line,
        })
    }

    fn policy(&self, named: Spanned<String>) -> Result<At<Policy>, Wrong> {
        let At { value, line } = self.at(named);
        let names = Policy::ALL.map(|policy| format!("\"{}\"", policy.name())).join(", ");
        let policy = Policy::from_name(&value)
            .ok_or_else(|| self.wrong(line, "policy", format!("\"{value}\" is none of {names}")))?;
        Ok(At { value: policy, line })
    }

    fn listener(&self, raw: Spanned<RawListener>) -> Result<ListenerSettings, Wrong> {
        let raw = self.at(raw);
        let (line, raw) = (raw.line, raw.value);
        let place = match (raw.address, raw.socket) {
            (Some(address), None) => {
                let At { value, line } = self.at(address);
                let address = value.parse().map_err(|_| {
                    let cause =
                        format!("\"{value}\" is no address with a port, such as 0.0.0.0:443 or [::]:443");
                    self.wrong(line, "address", cause)
                })?;
                At { value: ListenAt::Address(address), line }
            }
            (None, Some(socket)) => {
                let At { value, line } = self.at(socket);
                At { value: ListenAt::Handed(value), line }
            }
            (Some(_), Some(socket)) => {
                let cause = "it has an `address` already: name one of both";
                return Err(self.wrong(self.at(socket).line, "socket", cause));
            }
            (None, None) => {
                let cause = "it has neither an `address` nor a `socket` of the service manager";
                return Err(self.wrong(line, "[[listener]]", cause));
            }
        };
        let policy = raw.policy.map(|policy| self.policy(policy)).transpose()?;
        let policy = policy.unwrap_or(At { value: Policy::default(), line });
        let mut service = self.service(line, raw.backends, raw.answer, raw.exchange)?;
        let protocols = self.protocols(raw.alpn)?;
        self.backends_by_protocol(&mut service, protocols.as_ref(), raw.alpn_backends)?;
        let accept_proxy = self.accept_proxy(raw.accept_proxy)?;
        let sends_proxy = self.send_proxy(&service, raw.send_proxy)?;
        Ok(ListenerSettings { place, policy, protocols, accept_proxy, sends_proxy, service })
    }
}

/// The key of the setting that says where a listener listens.
pub(crate) fn listener_key(place: &ListenAt) -> &'static str {
    match place {
        ListenAt::Address(_) => "address",
        ListenAt::Handed(_) => "socket",
    }
}
