//! Two network namespaces with a wire (veth(4)) between them, without root where a user may make user namespaces.
//!
//! Each namespace is held by a process that ends with this process, however that ends: its standard input is a pipe
//! from here. With the holder, the namespace, its devices and its routes are gone, and the kernel kills programs that
//! were started there. So nothing is left behind to be cleaned up by name.
//!
//! The work is done by `unshare`, `nsenter` and `setpriv` of util-linux and by `ip` of iproute2.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use std::ffi::OsStr;
use std::fmt;
use std::io::{self, BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::{Child, Command, Stdio};

/// Name of the wire's device at both ends.
pub const WIRE: &str = "wire0";
/// How long a program may take to end when it is asked to, in milliseconds; then it is killed.
const END_MS_MAX: i64 = 2000;
/// The line that a holder prints once its namespaces exist.
const READY: &str = "ready";
/// The command that runs a program in a PID namespace which ends with that program.
const TREE: [&str; 5] = ["unshare", "--pid", "--fork", "--kill-child", "--"];

/// An end of the pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The end of the clients.
    A,
    /// The end of the servers.
    B,
}

impl End {
    /// Both ends.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    /// The other end.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    /// Name of the end, for environments and messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::B => "b",
        }
    }

    const fn number(self) -> u8 {
        match self {
            Self::A => 1,
            Self::B => 2,
        }
    }

    /// IPv4 address of the end on the wire.
    #[must_use]
    pub const fn outer(self) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(10, 98, 0, self.number()))
    }

    /// IPv6 address of the end on the wire.
    #[must_use]
    pub const fn outer6(self) -> IpAddr {
        IpAddr::V6(Ipv6Addr::new(0xfd98, 0, 0, 0, 0, 0, 0, self.number() as u16))
    }

    /// IPv4 address for the end of a tunnel over the wire. No device has it before the tunnel sets it.
    #[must_use]
    pub const fn inner(self) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(10, 99, 0, self.number()))
    }

    /// IPv6 address for the end of a tunnel over the wire.
    #[must_use]
    pub const fn inner6(self) -> IpAddr {
        IpAddr::V6(Ipv6Addr::new(0xfd99, 0, 0, 0, 0, 0, 0, self.number() as u16))
    }
}

/// Settings of a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether each end has mounts of its own and an empty `/run`, for programs whose files have fixed names there.
    pub has_own_run: bool,
    /// Longest packet on the wire, in bytes; None for 1,500.
    pub mtu: Option<u16>,
    /// Makes a user namespace around the pair even if root does not need one.
    pub without_root: bool,
}

/// Why namespaces could not be made, or a program could not run there.
#[derive(Debug)]
pub enum NamespaceError {
    /// A program could not be started.
    Start {
        /// Name of the program.
        program: String,
        /// The error of the system.
        cause: io::Error,
    },
    /// A program ran and failed.
    Refused {
        /// The command, as it would be typed.
        command: String,
        /// The program's error text.
        why: String,
    },
}

impl fmt::Display for NamespaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start { program, cause } => write!(
                f,
                "cannot start {program}: {cause}; namespaces take the packages util-linux and iproute2"
            ),
            Self::Refused { command, why } => write!(
                f,
                "namespaces: `{command}` was refused: {why}; without root the kernel must allow user namespaces (kernel.unprivileged_userns_clone, user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns)"
            ),
        }
    }
}

impl std::error::Error for NamespaceError {}

/// Two namespaces with a wire between them; dropping the pair ends its programs, and removes the namespaces.
pub struct Pair {
    /// The processes that hold the namespaces, of A and of B.
    holders: Vec<Child>,
    /// Whether a user namespace is around both.
    is_user: bool,
    has_own_run: bool,
    programs: Vec<Kept>,
}

/// A program that runs until the pair is dropped.
struct Kept {
    child: Child,
    /// Whether the program is in a PID namespace of its own, whose processes end with it.
    is_tree: bool,
}

impl Pair {
    /// Makes the namespaces: the device [`WIRE`] is up at both ends with the addresses of [`End::outer`] and
    /// [`End::outer6`], `lo` is up.
    ///
    /// # Errors
    /// [`NamespaceError`].
    pub fn new(options: &Options) -> Result<Self, NamespaceError> {
        let is_user = options.without_root || !rustix::process::geteuid().is_root();
        let mut pair =
            Self { holders: Vec::new(), is_user, has_own_run: options.has_own_run, programs: Vec::new() };
        let mut first = Command::new("unshare");
        if is_user {
            first.args(["--user", "--map-root-user"]);
        }
        pair.hold(first)?;
        let second = match pair.holders.first() {
            Some(first) if is_user => {
                let mut command = Command::new("nsenter");
                command.args(["--preserve-credentials", "--user", "--target", &first.id().to_string()]);
                command.arg("unshare");
                command
            }
            _ => Command::new("unshare"),
        };
        pair.hold(second)?;
        let mtu = options.mtu.unwrap_or(1500).to_string();
        let other = pair.holders.get(1).map_or(0, Child::id).to_string();
        let wire = ["link", "add", WIRE, "mtu", &mtu, "type", "veth", "peer", "name", WIRE];
        pair.ip(End::A, wire.into_iter().chain(["mtu", &mtu, "netns", &other]))?;
        for end in End::BOTH {
            pair.ip(end, ["link", "set", "lo", "up"])?;
            pair.ip(end, ["address", "add", &format!("{}/24", end.outer()), "dev", WIRE])?;
            pair.ip(end, ["address", "add", &format!("{}/64", end.outer6()), "dev", WIRE, "nodad"])?;
            pair.ip(end, ["link", "set", WIRE, "up"])?;
            if options.has_own_run {
                pair.run(end, "mount", ["-t", "tmpfs", "tmpfs", "/run"])?;
            }
        }
        Ok(pair)
    }

    /// Starts the holder of a namespace, and waits until the namespace exists.
    fn hold(&mut self, mut command: Command) -> Result<(), NamespaceError> {
        command.arg("--net");
        if self.has_own_run {
            command.arg("--mount");
        }
        command.args(["sh", "-c", &format!("echo {READY} && exec cat")]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A signal from the terminal is for the owner of the pair only, who then drops the pair.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = started(&mut command)?;
        let mut said = String::new();
        let is_ready = match child.stdout.as_mut().map(|stdout| BufReader::new(stdout).read_line(&mut said)) {
            Some(Ok(_)) => said.trim_end() == READY,
            _ => false,
        };
        if is_ready {
            self.holders.push(child);
            return Ok(());
        }
        let _ = child.kill();
        let why = child.wait_with_output().map_or_else(
            |error| error.to_string(),
            |output| String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        );
        Err(NamespaceError::Refused { command: shown(&command), why })
    }

    /// Whether a user namespace is around both, as it is without root.
    #[must_use]
    pub fn is_user(&self) -> bool {
        self.is_user
    }

    /// Process number of an end's holder, whose `/proc/PID/ns/net` is the namespace.
    #[must_use]
    pub fn holder(&self, end: End) -> u32 {
        let at = usize::from(end.number()) - 1;
        self.holders.get(at).map_or(0, Child::id)
    }

    /// A command for a program at an end; the started process becomes the program. The kernel kills it when the
    /// starting thread ends.
    pub fn command(&self, end: End, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.arg("--target").arg(self.holder(end).to_string()).arg("--net");
        if self.is_user {
            command.args(["--user", "--preserve-credentials"]);
        }
        if self.has_own_run {
            command.arg("--mount");
            if let Ok(folder) = std::env::current_dir() {
                command.arg(format!("--wdns={}", folder.display()));
            }
        }
        // Set after the namespaces: entering a user namespace clears this setting (prctl(2)).
        command.args(["setpriv", "--pdeathsig", "KILL"]).arg(program);
        command
    }

    /// A command for a program at an end in a PID namespace of its own, whose processes are all killed when the program
    /// ends. The program is a child of the started process. A signal other than SIGKILL does not reach the program
    /// unless it handles that signal (`pid_namespaces(7)`).
    pub fn tree(&self, end: End, program: impl AsRef<OsStr>) -> Command {
        let mut command = self.command(end, TREE[0]);
        command.args(&TREE[1..]).arg(program);
        command
    }

    /// Runs a program at an end until it ends; returns its standard output.
    ///
    /// # Errors
    /// [`NamespaceError::Refused`] if the program fails.
    pub fn run<S: AsRef<OsStr>>(
        &self,
        end: End,
        program: &str,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<String, NamespaceError> {
        let mut command = self.command(end, program);
        command.args(arguments).stdin(Stdio::null());
        let output =
            command.output().map_err(|cause| NamespaceError::Start { program: program.to_owned(), cause })?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(NamespaceError::Refused { command: shown(&command), why: format!("{why} ({})", output.status) })
    }

    /// Runs `ip` at an end.
    ///
    /// # Errors
    /// As [`Pair::run`].
    pub fn ip<'a>(
        &self,
        end: End,
        arguments: impl IntoIterator<Item = &'a str>,
    ) -> Result<String, NamespaceError> {
        self.run(end, "ip", arguments)
    }

    /// Starts a command of [`Pair::command`] or [`Pair::tree`], which runs until the pair is dropped or until
    /// [`Pair::end`]; returns the process number.
    ///
    /// # Errors
    /// [`NamespaceError::Start`].
    pub fn keep(&mut self, command: &mut Command) -> Result<u32, NamespaceError> {
        let is_tree = command.get_args().any(|argument| argument == TREE[3]);
        let child = started(command)?;
        let pid = child.id();
        self.programs.push(Kept { child, is_tree });
        Ok(pid)
    }

    /// The child of a running program, for its pipes and its status.
    pub fn kept(&mut self, pid: u32) -> Option<&mut Child> {
        self.programs.iter_mut().map(|kept| &mut kept.child).find(|child| child.id() == pid)
    }

    /// Ends the program with this process number.
    pub fn end(&mut self, pid: u32) {
        if let Some(at) = self.programs.iter().position(|kept| kept.child.id() == pid) {
            end(self.programs.swap_remove(at));
        }
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        // The last one first, as it may need the earlier ones.
        while let Some(kept) = self.programs.pop() {
            end(kept);
        }
        for mut holder in self.holders.drain(..) {
            drop(holder.stdin.take());
            let _ = holder.kill();
            let _ = holder.wait();
        }
    }
}

/// Asks a program to end, and kills it if it does not.
fn end(Kept { mut child, is_tree }: Kept) {
    // The parent of a tree obeys no signal but SIGKILL, and neither does the tree's first process.
    if !is_tree && let (Ok(None), Some(pid)) = (child.try_wait(), Pid::from_raw(child.id() as i32)) {
        let _ = kill_process(pid, Signal::TERM);
        if let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) {
            let most = Timespec { tv_sec: END_MS_MAX / 1000, tv_nsec: END_MS_MAX % 1000 * 1_000_000 };
            let _ = poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&most));
        }
    }
    let _ = child.kill();
    let _ = child.wait();
}

fn started(command: &mut Command) -> Result<Child, NamespaceError> {
    command.spawn().map_err(|cause| NamespaceError::Start {
        program: command.get_program().to_string_lossy().into(),
        cause,
    })
}

/// A command as it would be typed.
fn shown(command: &Command) -> String {
    let words = [command.get_program()].into_iter().chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}
