//! A running server: ours or nginx, on a processor, with what the kernel books for it.

use super::desk::{Desk, TlsKey};
use crate::cards::bound;
use crate::load::LabError;
use rustix::process::{Pid, Signal, kill_process};
use std::fmt::Write;
use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long a server may take until it accepts connections.
const START_MAX: Duration = Duration::from_secs(60);
/// How long a server may take to end.
const STOP_MAX: Duration = Duration::from_secs(5);
/// The beginning of the line that our server prints once it serves.
const LISTENING: &str = "listening at ";
/// Lines of a server's standard error that are kept.
const SAID_LINES_MAX: usize = 3;

/// Who holds a server's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyHolder {
    /// The server's process, which reads the key from a file.
    Process,
    /// Cards of the home in this folder.
    Cards(PathBuf),
}

/// The work of a server on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// It answers a request of HTTP with this many bytes of text.
    Answer(usize),
    /// Each message of the first length is answered with one of the second.
    Exchange {
        /// Bytes of a message.
        receive: u64,
        /// Bytes of its answer.
        send: u64,
    },
    /// It forwards bytes to and from a backend.
    Backend(SocketAddr),
}

/// The way in which sessions are resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sessions {
    /// Every handshake is a full one.
    None,
    /// Resumption by tickets.
    Tickets,
    /// Resumption by session IDs, from a cache.
    Ids {
        /// Entries of the cache.
        entries: u32,
        /// Seconds that an entry lives.
        seconds: u32,
    },
}

/// The settings of a server.
#[derive(Clone, Debug)]
pub struct Serving {
    /// Kind of the server's key.
    pub kind: TlsKey,
    /// Who holds the key.
    pub holder: KeyHolder,
    /// The policy of versions and suites: `modern`, `compatible`, `legacy-insecure`.
    pub policy: &'static str,
    /// The way in which sessions are resumed.
    pub sessions: Sessions,
    /// Whether clients must show a certificate of the desk's authority.
    pub asks_clients: bool,
    /// The work on a connection.
    pub work: Work,
    /// Number of threads, or of nginx's workers.
    pub loops: usize,
    /// Processor that the server is bound to; none leaves it to the system.
    pub processor: Option<u32>,
    /// Level that the engine and the library are held to; none for the machine's best.
    pub level: Option<&'static str>,
    /// File of a tenant's credential; none to serve as the home's owner.
    pub credential: Option<PathBuf>,
}

impl Serving {
    /// A server of handshakes with a kind of key, with one loop.
    pub fn handshakes(kind: TlsKey, holder: KeyHolder, processor: Option<u32>) -> Self {
        Self {
            kind,
            holder,
            policy: "modern",
            sessions: Sessions::None,
            asks_clients: false,
            work: Work::Answer(32),
            loops: 1,
            processor,
            level: None,
            credential: None,
        }
    }

    /// The settings file of our server that listens at `address`.
    pub fn settings(&self, desk: &Desk, address: SocketAddr) -> String {
        let path = |path: &Path| format!("{:?}", path.display().to_string());
        let mut text = format!("loops = {}\nstop_seconds = 1\n", self.loops);
        if let KeyHolder::Cards(home) = &self.holder {
            let _ = write!(text, "[home]\nfolder = {}\n", path(home));
            if let Some(credential) = &self.credential {
                let _ = writeln!(text, "credential = {}", path(credential));
            }
        }
        text += "[log]\naccess = \"none\"\n[limits]\nconnections = 100000\nbuffer_kib = 64\n";
        let rotate = if self.sessions == Sessions::Tickets { 12 } else { 0 };
        let _ = write!(text, "[tickets]\nrotate_hours = {rotate}\n");
        if let Sessions::Ids { entries, seconds } = self.sessions {
            let _ = write!(text, "[sessions]\ncache = {entries}\nseconds = {seconds}\n");
        }
        let _ = write!(text, "[[certificate]]\nchain = {}\ndefault = true\n", path(&desk.chain(self.kind)));
        match self.holder {
            KeyHolder::Process => {
                let _ = writeln!(text, "key = {}", path(&desk.key(self.kind)));
            }
            KeyHolder::Cards(_) => {
                let _ = writeln!(text, "label = \"{}\"", self.kind.label());
            }
        }
        if self.asks_clients {
            let _ = write!(text, "[certificate.clients]\nca = {}\n", path(&desk.authority()));
        }
        let _ = write!(text, "[[listener]]\naddress = \"{address}\"\npolicy = \"{}\"\n", self.policy);
        match self.work {
            Work::Answer(bytes) => {
                let _ = writeln!(text, "answer = \"{}\"", "x".repeat(bytes));
            }
            Work::Exchange { receive, send } => {
                let _ = writeln!(text, "exchange = {{ receive = {receive}, send = {send} }}");
            }
            Work::Backend(backend) => {
                let _ = writeln!(text, "backends = [\"{backend}\"]");
            }
        }
        text
    }

    /// The configuration of nginx for the same service; none if nginx cannot do it.
    pub fn nginx(&self, desk: &Desk, address: SocketAddr, is_tls13: bool, suite: &str) -> Option<String> {
        let nginx = desk.nginx()?;
        let mut text = String::new();
        let stream = |text: &mut String| {
            let module = nginx.stream.as_ref()?;
            let _ = writeln!(text, "load_module {};", module.display());
            Some(())
        };
        let is_stream = matches!(self.work, Work::Backend(_));
        if is_stream {
            stream(&mut text)?;
        }
        let folder = desk.path("");
        let _ = write!(
            text,
            "daemon off;\nworker_processes {};\npid {}nginx-{}.pid;\nerror_log stderr error;\nevents {{ worker_connections 8192; }}\n",
            self.loops,
            folder.display(),
            address.port()
        );
        let _ = writeln!(text, "{} {{", if is_stream { "stream" } else { "http" });
        if !is_stream {
            let _ = writeln!(
                text,
                "access_log off; client_header_buffer_size 4k; keepalive_requests 1000000000; keepalive_timeout 3600s;"
            );
            for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
                let _ = writeln!(text, "{kind}_temp_path {}nginx-{kind};", folder.display());
            }
        }
        let (chain, key) = (desk.chain(self.kind), desk.key(self.kind));
        let _ = writeln!(
            text,
            "ssl_certificate {}; ssl_certificate_key {}; ssl_ecdh_curve X25519;",
            chain.display(),
            key.display()
        );
        let _ = match is_tls13 {
            true => writeln!(text, "ssl_protocols TLSv1.3; ssl_conf_command Ciphersuites {suite};"),
            false => {
                writeln!(text, "ssl_protocols TLSv1.2; ssl_ciphers {}:@SECLEVEL=0;", suite)
            }
        };
        text += match self.sessions {
            Sessions::None => "ssl_session_tickets off; ssl_session_cache off;\n",
            Sessions::Tickets => "ssl_session_tickets on; ssl_session_cache off;\n",
            Sessions::Ids { .. } => "ssl_session_tickets off; ssl_session_cache shared:lab:50m;\n",
        };
        if self.asks_clients {
            let _ = writeln!(
                text,
                "ssl_verify_client on; ssl_client_certificate {};",
                desk.authority().display()
            );
        }
        let _ = write!(text, "server {{ listen {address} ssl backlog=4096; ");
        let _ = match self.work {
            Work::Answer(bytes) => {
                write!(
                    text,
                    "server_name _; location / {{ default_type text/plain; return 200 \"{}\"; }} ",
                    "x".repeat(bytes)
                )
            }
            Work::Backend(backend) => write!(text, "proxy_pass {backend}; proxy_buffer_size 64k; "),
            Work::Exchange { .. } => return None,
        };
        text += "}\n}\n";
        Some(text)
    }
}

/// A running server. It ends when it is dropped.
pub struct Server {
    child: Child,
    said: PathBuf,
    /// Address at which the server listens.
    pub address: SocketAddr,
    /// Time from the start to the first accepted connection.
    pub started_in: Duration,
}

/// Number of the next server, for the names of its files.
static NUMBER: AtomicU32 = AtomicU32::new(0);

impl Server {
    /// Starts `cryptand tls serve`.
    ///
    /// # Errors
    /// [`LabError::Program`] with what it says, [`LabError::Io`].
    pub fn ours(desk: &Desk, serving: &Serving) -> Result<Self, LabError> {
        let address = free()?;
        Self::with_settings(desk, &serving.settings(desk, address), address, serving)
    }

    /// As [`Server::ours`], with the caller's settings.
    ///
    /// # Errors
    /// As [`Server::ours`].
    pub fn with_settings(
        desk: &Desk,
        settings: &str,
        address: SocketAddr,
        serving: &Serving,
    ) -> Result<Self, LabError> {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let settings = desk.write(&format!("serve-{number}.toml"), settings)?;
        let mut command = Command::new(desk.ours());
        command.args(["tls", "serve"]).arg(settings);
        if let Some(level) = serving.level {
            command.env("CRYPTAND_LEVEL", level);
        }
        Self::start(desk, command, address, serving.processor, LISTENING)
    }

    /// Starts nginx with a configuration of [`Serving::nginx`].
    ///
    /// # Errors
    /// As [`Server::ours`].
    pub fn nginx(
        desk: &Desk,
        program: &Path,
        configuration: &str,
        address: SocketAddr,
        processor: Option<u32>,
    ) -> Result<Self, LabError> {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let file = desk.write(&format!("nginx-{number}.conf"), configuration)?;
        let mut command = Command::new(program);
        command.arg("-c").arg(file).arg("-p").arg(desk.path("")).args(["-e", "stderr"]);
        Self::start(desk, command, address, processor, "")
    }

    fn start(
        desk: &Desk,
        mut command: Command,
        address: SocketAddr,
        processor: Option<u32>,
        ready: &str,
    ) -> Result<Self, LabError> {
        let what = "start a TLS server";
        let said = desk.path(&format!("said-{}", address.port()));
        let file = fs::File::create(&said).map_err(LabError::io(what))?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
        let begin = Instant::now();
        let child = bound(processor, || command.spawn()).map_err(LabError::io(what))?;
        let mut server = Self { child, said, address, started_in: Duration::ZERO };
        // Our server binds its addresses before it reads certificates, and prints a line when it serves.
        while !(server.has_said(ready) && TcpStream::connect(address).is_ok()) {
            let ended = server.child.try_wait().map_err(LabError::io(what))?;
            if ended.is_some() || begin.elapsed() > START_MAX {
                return Err(LabError::Program(format!("a TLS server does not start: {}", server.said())));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        server.started_in = begin.elapsed();
        Ok(server)
    }

    fn has_said(&self, text: &str) -> bool {
        text.is_empty() || fs::read_to_string(&self.said).is_ok_and(|said| said.contains(text))
    }

    /// The last lines of the server's standard error.
    pub fn said(&self) -> String {
        let text = fs::read_to_string(&self.said).unwrap_or_default();
        let lines: Vec<&str> = text.trim().lines().collect();
        lines[lines.len().saturating_sub(SAID_LINES_MAX)..].join("; ")
    }

    /// Process IDs of the server and its workers.
    pub fn pids(&self) -> Vec<u32> {
        let own = self.child.id();
        let children = fs::read_to_string(format!("/proc/{own}/task/{own}/children")).unwrap_or_default();
        let children = children.split_whitespace().filter_map(|pid| pid.parse().ok());
        std::iter::once(own).chain(children).collect()
    }

    /// Memory of the server's processes, in bytes; memory that several processes share is divided among them.
    pub fn memory_bytes(&self) -> u64 {
        self.pids().into_iter().filter_map(proportional_bytes).sum()
    }

    /// Sends a signal to the server.
    ///
    /// # Errors
    /// [`LabError::Io`].
    pub fn signal(&self, signal: Signal) -> Result<(), LabError> {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal)
            .map_err(|errno| LabError::Io { what: "signal a TLS server", cause: errno.into() })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.signal(Signal::TERM);
        let end = Instant::now() + STOP_MAX;
        while Instant::now() < end {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An address that is free now.
///
/// # Errors
/// [`LabError::Io`].
pub fn free() -> Result<SocketAddr, LabError> {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    listener.map_err(LabError::io("find a free port"))
}

/// Proportional set size of a process in bytes.
fn proportional_bytes(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}
