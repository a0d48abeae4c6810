//! The commands for workloads: `cryptand ipsec drive` and `cryptand ipsec drive serve`.
//!
//! Each takes its options as one JSON object from the command line. With `namespaces` the program starts itself again
//! at each end of a [`Pair`]. A server runs at one end, the load at the other, with the chosen tunnel between the ends.

use crate::drive::Progress;
use crate::failure::DriveFailure;
use crate::namespaces::{End, NamespaceError, Options as PairOptions, Pair};
use crate::plan::{Plan, address};
use crate::report::Report;
use crate::server::{Counters, Options, Server};
use options::ipsec::Load;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Resource, Signal, getrlimit, kill_process, pidfd_open, setrlimit};
use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub use options::ipsec::{PORT, Serve};

/// How long one try to reach a server may take, and the pause between two tries.
const TRY_MAX: Duration = Duration::from_secs(1);
const TRY_AGAIN: Duration = Duration::from_millis(20);
/// How long a tunnel between namespaces may take to come up, in seconds.
const TUNNEL_SECONDS: f64 = 20.0;
/// How often the progress bar is drawn.
const DRAWN: Duration = Duration::from_millis(200);
/// The text before the address in a server's first line.
const SERVING: &str = "serving ";

/// Command lines with which this program starts itself for [`drive`] and [`serve`]; the options, as JSON, are the last
/// argument.
#[derive(Clone, Debug)]
pub struct Itself {
    /// The program.
    pub program: PathBuf,
    /// Arguments before the options of `drive`.
    pub drive: Vec<OsString>,
    /// Arguments before the options of `serve`.
    pub serve: Vec<OsString>,
}

/// `drive`: puts load on a server as the options say ([`Load`], as JSON), and writes the report to standard output.
///
/// # Errors
/// [`DriveFailure`].
pub fn drive(json: &str, itself: &Itself) -> Result<(), DriveFailure> {
    let typed: Load = serde_json::from_str(json).map_err(|error| DriveFailure::Usage(error.to_string()))?;
    let interrupted = interruption()?;
    if typed.namespaces {
        return between_namespaces(&typed, itself);
    }
    if typed.both_ends.is_some() {
        return Err(DriveFailure::Usage("--both-ends: of --namespaces alone".to_owned()));
    }
    if typed.wait > 0.0 {
        let target = address(&typed.target).map_err(DriveFailure::Usage)?;
        reach(target, typed.wait, &interrupted)?;
    }
    let plan = Plan::new(&typed).map_err(DriveFailure::Usage)?;
    let is_drawn = !typed.json && io::stderr().is_terminal();
    let mut drawn = None;
    let report = crate::drive(&plan, &interrupted, &mut |progress| {
        if is_drawn && drawn.is_none_or(|drawn: Instant| drawn.elapsed() >= DRAWN) {
            drawn = Some(Instant::now());
            draw(progress);
        }
    });
    if is_drawn {
        let _ = io::stderr().write_all(b"\r\x1b[K");
    }
    write(&report?, typed.json)
}

fn write(report: &Report, is_json: bool) -> Result<(), DriveFailure> {
    let text = if is_json {
        let json = serde_json::to_string(report).map_err(io::Error::from);
        json.map_err(DriveFailure::io("write the result"))? + "\n"
    } else {
        report.table()
    };
    io::stdout().write_all(text.as_bytes()).map_err(DriveFailure::io("write the result"))
}

/// `serve`: answers load ([`Serve`], as JSON) until a signal ends it; then prints its counts.
///
/// # Errors
/// [`DriveFailure`].
pub fn serve(json: &str) -> Result<(), DriveFailure> {
    let typed: Serve = serde_json::from_str(json).map_err(|error| DriveFailure::Usage(error.to_string()))?;
    let at = address(&typed.address).map_err(DriveFailure::Usage)?;
    let connections_max = typed.connections.max(1) as usize;
    let options = Options {
        threads: typed.threads.max(1) as usize,
        connections_max,
        address_connections_max: connections_max.div_ceil(2),
        ..Options::default()
    };
    descriptors();
    let server = Server::bind(at, options).map_err(DriveFailure::io("take the address of the server"))?;
    let waits = DriveFailure::io("wait for signals");
    let (mut told, tells) = UnixStream::pair().map_err(waits)?;
    for signal in [SIGINT, SIGTERM] {
        let tells = tells.try_clone().map_err(waits)?;
        signal_hook::low_level::pipe::register(signal, tells).map_err(waits)?;
    }
    let bound = server.address().map_err(DriveFailure::io("read the address of the server"))?;
    let mut stdout = io::stdout();
    let said = writeln!(stdout, "{SERVING}{bound}").and_then(|()| stdout.flush());
    said.map_err(DriveFailure::io("write the address of the server"))?;
    let stopper = server.stopper();
    let ending = stopper.clone();
    let waiting = std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        // Waits for a signal, or for the end below.
        let _ = told.read(&mut [0]);
        ending.stop();
    });
    let waiting = waiting.map_err(waits)?;
    let served = server.serve().map_err(DriveFailure::io("serve"));
    let _ = tells.shutdown(Shutdown::Both);
    let _ = waiting.join();
    let said = counters(&stopper.counters());
    stdout.write_all(said.as_bytes()).map_err(DriveFailure::io("write what was served"))?;
    served
}

fn counters(counters: &Counters) -> String {
    format!(
        "{} connections, {} responses; closed: {} with wrong contents, {} without a header, {} that did not move, {} too many; {} stray datagrams\n",
        counters.connections,
        counters.responses,
        counters.wrong,
        counters.malformed,
        counters.idle,
        counters.refused,
        counters.stray_datagrams
    )
}

/// Raises the limit of descriptors as far as this process may: each connection takes one.
fn descriptors() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // With a lower limit, connections wait until others end.
    let _ = setrlimit(Resource::Nofile, limit);
}

fn interruption() -> Result<Arc<AtomicBool>, DriveFailure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // A second signal ends the process at once.
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&interrupted))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&interrupted)))
            .map_err(DriveFailure::io("wait for signals"))?;
    }
    Ok(interrupted)
}

/// Tries to reach a server until it answers: there is no notice of its start.
fn reach(target: SocketAddr, seconds: f64, interrupted: &AtomicBool) -> Result<(), DriveFailure> {
    let begin = Instant::now();
    let most = Duration::try_from_secs_f64(seconds)
        .map_err(|_| DriveFailure::Usage("--wait: a number of seconds".to_owned()))?;
    loop {
        let why = match TcpStream::connect_timeout(&target, TRY_MAX) {
            Ok(_) => return Ok(()),
            Err(error) => error.to_string(),
        };
        if begin.elapsed() >= most || interrupted.load(Ordering::Relaxed) {
            return Err(DriveFailure::Target { target: target.to_string(), why });
        }
        std::thread::sleep(TRY_AGAIN);
    }
}

fn draw(progress: &Progress) {
    const WIDTH: usize = 30;
    let share = progress.passed.as_secs_f64() / progress.whole.as_secs_f64().max(1e-9);
    let filled = (share.clamp(0.0, 1.0) * WIDTH as f64) as usize;
    let bar: String = (0..WIDTH).map(|at| if at < filled { '#' } else { '.' }).collect();
    let what = if progress.is_measured { "measured" } else { "warming up" };
    let errors = if progress.failed > 0 { format!(", {} failed", progress.failed) } else { String::new() };
    let done = if progress.bytes > 0 {
        format!("{:.1} GB", progress.bytes as f64 / 1e9)
    } else {
        format!("{} done", progress.done)
    };
    let seconds = progress.passed.as_secs_f64();
    let _ = io::stderr().write_all(format!("\r[{bar}] {what} {seconds:.1} s, {done}{errors} ").as_bytes());
}

/// Runs server and load in namespaces of their own, with a tunnel between the two if one is asked for.
fn between_namespaces(typed: &Load, itself: &Itself) -> Result<(), DriveFailure> {
    let failed = DriveFailure::Namespaces;
    let mut pair = Pair::new(&PairOptions::default()).map_err(failed)?;
    let mut load = Load { namespaces: false, both_ends: None, ..typed.clone() };
    if let Some(text) = &typed.both_ends {
        for end in End::BOTH {
            let mut command = pair.tree(end, "sh");
            command.args(["-c", text]).stdin(Stdio::null()).stdout(Stdio::null());
            command.env("END", end.name());
            command.env("OUTER_LOCAL", end.outer().to_string());
            command.env("OUTER_REMOTE", end.other().outer().to_string());
            command.env("INNER_LOCAL", end.inner().to_string());
            command.env("INNER_REMOTE", end.other().inner().to_string());
            let pid = pair.keep(&mut command).map_err(failed)?;
            load.pid.push(format!("{pid}={}", end.name()));
        }
        load.with_children = true;
        load.wait = if load.wait > 0.0 { load.wait } else { TUNNEL_SECONDS };
    }
    let serve = Serve::at(format!("0.0.0.0:{PORT}"));
    let mut command = pair.command(End::B, &itself.program);
    command.args(&itself.serve).arg(json(&serve)?).stdin(Stdio::null()).stdout(Stdio::piped());
    let server = pair.keep(&mut command).map_err(failed)?;
    let mut said = String::new();
    if let Some(stdout) = pair.kept(server).and_then(|child| child.stdout.as_mut()) {
        let read = BufReader::new(stdout).read_line(&mut said);
        read.map_err(DriveFailure::io("read what the server says"))?;
    }
    if !said.starts_with(SERVING) {
        let why = "it ended before it served".to_owned();
        return Err(failed(NamespaceError::Refused { command: "drive serve".to_owned(), why }));
    }
    if load.target.is_empty() {
        let there = if typed.both_ends.is_some() { End::B.inner() } else { End::B.outer() };
        load.target = SocketAddr::from((there, PORT)).to_string();
    }
    let mut command = pair.command(End::A, &itself.program);
    command.args(&itself.drive).arg(json(&load)?).stdin(Stdio::null());
    let driver = pair.keep(&mut command).map_err(failed)?;
    let Some(child) = pair.kept(driver) else { return Err(DriveFailure::Elsewhere(1)) };
    match ended(child).map_err(DriveFailure::io("wait for the load"))? {
        status if status.success() => Ok(()),
        status => Err(DriveFailure::Elsewhere(status.code().unwrap_or(1))),
    }
}

/// Waits for a child. A terminal sends a signal to parent and child: the child then ends with a report of its time so
/// far.
fn ended(child: &mut Child) -> io::Result<ExitStatus> {
    let (told, tells) = UnixStream::pair()?;
    for signal in [SIGINT, SIGTERM] {
        signal_hook::low_level::pipe::register(signal, tells.try_clone()?)?;
    }
    if let Some(pid) = Pid::from_raw(child.id() as i32) {
        let process = pidfd_open(pid, PidfdFlags::empty())?;
        let mut waited = [PollFd::new(&process, PollFlags::IN), PollFd::new(&told, PollFlags::IN)];
        while matches!(poll(&mut waited, None), Err(Errno::INTR)) {}
        let is_told = waited.last().is_some_and(|told| !told.revents().is_empty());
        if is_told && child.try_wait()?.is_none() {
            let _ = kill_process(pid, Signal::TERM);
        }
    }
    child.wait()
}

fn json<T: Serialize>(options: &T) -> Result<String, DriveFailure> {
    serde_json::to_string(options).map_err(|error| DriveFailure::System("write options", error.into()))
}
