//! One tunnel between two namespaces, and its load.

use super::desk::Desk;
pub use super::ours::Status;
use super::suite::Suite;
use super::{ours, strongswan, wireguard};
use crate::load::{LabError, child};
use pacing::usage;
use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use traffic::command::{Itself, PORT, Serve};
use traffic::namespaces::{End, NamespaceError, Options as PairOptions, Pair};
use traffic::{Load, Report};

/// Environment variables that tell a process of this program to drive load, or to serve; their values are the options
/// as JSON.
const DRIVE: &str = "CRYPTAND_LAB_TRAFFIC";
const SERVE: &str = "CRYPTAND_LAB_TRAFFIC_SERVER";
/// Name under which the server's processor time is booked.
pub(super) const SERVER: &str = "server";
/// Seconds until the first data must pass a new tunnel.
const FIRST_SECONDS: f64 = 20.0;
/// How long a program may take to come up, and how often that is checked.
const START_MAX: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(10);
/// Bytes of an error text that are kept.
const COMPLAINT_BYTES_MAX: usize = 2000;

/// The protection between the ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TunnelKind {
    /// No protection.
    Plain,
    /// The kernel's ESP.
    Kernel(Suite),
    /// Our data plane.
    Ours {
        /// The suite.
        suite: Suite,
        /// Threads of each end.
        threads: usize,
        /// SAs from each end, each between addresses of its own.
        sas: usize,
        /// Level that the engine is held to; none for the machine's best.
        level: Option<&'static str>,
    },
    /// strongSwan's libipsec.
    Libipsec(Suite),
    /// wireguard-go: ChaCha20-Poly1305, and a protocol of its own.
    Wireguard,
}

impl TunnelKind {
    /// Our data plane with a suite, one thread at each end, at the machine's best level.
    pub const fn ours(suite: Suite) -> Self {
        Self::Ours { suite, threads: 1, sas: 1, level: None }
    }

    /// The name for people.
    pub fn name(self) -> String {
        match self {
            Self::Plain => "no tunnel".to_owned(),
            Self::Kernel(suite) => format!("the kernel's ESP, {}", suite.name()),
            Self::Ours { suite, threads, sas, level } => {
                let threads = if threads == 1 { String::new() } else { format!(", {threads} threads") };
                let sas = if sas == 1 { String::new() } else { format!(", {sas} SAs") };
                format!(
                    "ours, {}{threads}{sas}{}",
                    suite.name(),
                    level.map_or(String::new(), |level| format!(", {level}"))
                )
            }
            Self::Libipsec(suite) => format!("strongSwan libipsec, {}", suite.name()),
            Self::Wireguard => "wireguard-go".to_owned(),
        }
    }

    /// Number of SAs from each end.
    const fn sas(self) -> usize {
        match self {
            Self::Ours { sas, .. } => sas,
            Self::Plain | Self::Kernel(_) | Self::Libipsec(_) | Self::Wireguard => 1,
        }
    }

    /// Whether load uses up its keys within some seconds: a key of 3DES seals at most 2^20 packets here.
    pub const fn uses_keys_up(self) -> bool {
        matches!(self, Self::Ours { suite: Suite::TdesSha1, .. })
    }
}

/// A running tunnel with a server at its second end; dropping it ends all its processes.
pub struct Tunnel {
    pair: Pair,
    kind: TunnelKind,
    /// The folder of its programs' configuration.
    folder: PathBuf,
    /// Processes of the data planes, of the first and the second end.
    planes: Vec<(u32, End)>,
    server: u32,
    /// The server's addresses, one for each SA.
    targets: Vec<SocketAddr>,
}

impl Tunnel {
    /// Starts both data planes and a server.
    ///
    /// # Errors
    /// [`LabError::Program`] where a program is not there or refuses, [`LabError::Io`].
    pub fn start(desk: &Desk, kind: TunnelKind) -> Result<Self, LabError> {
        let mut pair =
            Pair::new(&PairOptions { has_own_run: true, ..PairOptions::default() }).map_err(refused)?;
        let folder = desk.folder()?;
        if kind != TunnelKind::Plain {
            for end in End::BOTH {
                // The tunnel of a suite has the address on the interface where its packets are made; wireguard-go has
                // it on its device.
                for sa in (0..kind.sas()).filter(|_| kind != TunnelKind::Wireguard) {
                    let address = format!("{}/32", ours::inner(end, sa));
                    pair.ip(end, ["address", "add", &address, "dev", "lo"]).map_err(refused)?;
                }
            }
        }
        let planes = match kind {
            TunnelKind::Plain => Vec::new(),
            TunnelKind::Kernel(suite) => ours::of_the_kernel(&pair, &folder, suite)?,
            TunnelKind::Ours { suite, threads, sas, level } => {
                ours::start(&mut pair, desk.ours()?, &folder, (suite, sas), (threads, level))?
            }
            TunnelKind::Libipsec(suite) => strongswan::start(&mut pair, desk.strongswan()?, &folder, suite)?,
            TunnelKind::Wireguard => wireguard::start(&mut pair, desk.wireguard()?)?,
        };
        let serve = Serve::at(format!("0.0.0.0:{PORT}"));
        let mut command = pair.command(End::B, own()?);
        command
            .env(SERVE, child::line("start a server", &serve)?)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let server = pair.keep(&mut command).map_err(refused)?;
        let stdout = pair.kept(server).and_then(|child| child.stdout.as_mut());
        let mut said = String::new();
        if let Some(stdout) = stdout {
            BufReader::new(stdout).read_line(&mut said).map_err(LabError::io("wait for a server"))?;
        }
        if said.is_empty() {
            return Err(LabError::Program("the server of the workloads ended before it served".to_owned()));
        }
        let there = |sa| if kind == TunnelKind::Plain { End::B.outer() } else { ours::inner(End::B, sa) };
        let targets = (0..kind.sas()).map(|sa| SocketAddr::from((there(sa), PORT))).collect();
        Ok(Self { pair, kind, folder, planes, server, targets })
    }

    /// The kind of this tunnel.
    pub fn kind(&self) -> TunnelKind {
        self.kind
    }

    /// The status of our data plane at an end.
    ///
    /// # Errors
    /// [`LabError::Io`] where none answers.
    pub fn status(&self, end: End) -> Result<Status, LabError> {
        ours::status(&self.folder, end)
    }

    /// Bytes that our data plane of an end has written to its log.
    ///
    /// # Errors
    /// [`LabError::Io`].
    pub fn log_bytes(&self, end: End) -> Result<u64, LabError> {
        ours::log_bytes(&self.folder, end)
    }

    /// The processes of the data plane of an end.
    pub fn processes(&self, end: End) -> Vec<u32> {
        let own: Vec<u32> = self.planes.iter().filter(|plane| plane.1 == end).map(|plane| plane.0).collect();
        own.iter().copied().chain(usage::descendants(&own)).collect()
    }

    /// A command that runs this program at the first end.
    pub(super) fn itself(&self) -> Result<Command, LabError> {
        Ok(self.pair.command(End::A, own()?))
    }

    /// Drives a load through the tunnel once. Address and processes of the options are set here. Processes are booked
    /// under the name of their end.
    ///
    /// # Errors
    /// [`LabError::Program`] where the load fails, [`LabError::Interrupted`].
    pub fn drive(&self, load: &Load, stop: &AtomicBool) -> Result<Report, LabError> {
        self.run(load, self.targets[0], self.booked().collect(), stop)
    }

    /// As [`Tunnel::drive`], with the server booked beside the data planes, as [`SERVER`].
    ///
    /// # Errors
    /// As [`Tunnel::drive`].
    pub fn drive_booking_both_ends(&self, load: &Load, stop: &AtomicBool) -> Result<Report, LabError> {
        self.run(load, self.targets[0], self.both_ends(), stop)
    }

    /// Drives a load through each SA at once, by a process for each; books as [`Tunnel::drive_booking_both_ends`] does.
    /// Gives the report of each SA.
    ///
    /// # Errors
    /// As [`Tunnel::drive`].
    pub fn drive_each(&self, load: &Load, stop: &AtomicBool) -> Result<Vec<Report>, LabError> {
        thread::scope(|scope| {
            let run = |target: &SocketAddr| {
                let target = *target;
                scope.spawn(move || self.run(load, target, self.both_ends(), stop))
            };
            let running: Vec<_> = self.targets.iter().map(run).collect();
            let joined = running.into_iter().map(|thread| thread.join());
            joined.map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        })
    }

    fn both_ends(&self) -> Vec<String> {
        self.booked().chain([format!("{}={SERVER}", self.server)]).collect()
    }

    fn booked(&self) -> impl Iterator<Item = String> {
        let of = |end: End| self.processes(end).into_iter().map(move |pid| format!("{pid}={}", end.name()));
        End::BOTH.into_iter().flat_map(of)
    }

    fn run(
        &self,
        load: &Load,
        target: SocketAddr,
        pid: Vec<String>,
        stop: &AtomicBool,
    ) -> Result<Report, LabError> {
        let what = "put load on a tunnel";
        let load = Load { target: target.to_string(), pid, wait: FIRST_SECONDS, json: true, ..load.clone() };
        let mut command = self.pair.command(End::A, own()?);
        let output = command.env(DRIVE, child::line(what, &load)?).stdin(Stdio::null()).output();
        let output = output.map_err(LabError::io(what))?;
        if stop.load(Ordering::Relaxed) {
            return Err(LabError::Interrupted);
        }
        if !output.status.success() {
            let mut said = output.stderr;
            said.truncate(COMPLAINT_BYTES_MAX);
            let said = String::from_utf8_lossy(&said);
            return Err(LabError::Program(format!(
                "{}: {}{}",
                self.kind.name(),
                said.trim(),
                self.dropped()
            )));
        }
        child::read(what, &String::from_utf8_lossy(&output.stdout))
    }

    /// The packets that our data planes have dropped, by reason, as text: the usual cause of a failed load.
    fn dropped(&self) -> String {
        let mut text = String::new();
        for end in End::BOTH.into_iter().filter(|_| matches!(self.kind, TunnelKind::Ours { .. })) {
            let drops = self.status(end).unwrap_or_default().drops;
            let drops = drops.iter().map(|drops| format!("{} ({})", drops.packets, drops.reason));
            let drops = drops.collect::<Vec<_>>().join(", ");
            if !drops.is_empty() {
                let _ = write!(text, "; packets that the data plane of end {} dropped: {drops}", end.name());
            }
        }
        text
    }
}

fn own() -> Result<PathBuf, LabError> {
    std::env::current_exe().map_err(LabError::io("find this program"))
}

/// The error for a namespace, or a program in one, that could not be had.
pub(super) fn refused(error: NamespaceError) -> LabError {
    LabError::Program(error.to_string())
}

/// Waits until `look` finds a value: programs do not report that they are ready.
pub(super) fn until<T>(what: &str, look: impl Fn() -> Option<T>) -> Result<T, LabError> {
    let begin = Instant::now();
    loop {
        if let Some(found) = look() {
            return Ok(found);
        }
        if begin.elapsed() >= START_MAX {
            return Err(LabError::Program(format!("{what} was not there within {} s", START_MAX.as_secs())));
        }
        thread::sleep(LOOK);
    }
}

/// Drives load or serves if this process was started for that; none otherwise.
pub(super) fn serve_if_asked() -> Option<Result<(), LabError>> {
    // This program makes the namespaces; the options need name no programs to start in them.
    let itself = Itself { program: PathBuf::new(), drive: Vec::new(), serve: Vec::new() };
    let done = if let Some(load) = std::env::var_os(DRIVE) {
        traffic::command::drive(&load.to_string_lossy(), &itself)
    } else {
        traffic::command::serve(&std::env::var_os(SERVE)?.to_string_lossy())
    };
    Some(done.map_err(|failure| LabError::Program(failure.to_string())))
}
