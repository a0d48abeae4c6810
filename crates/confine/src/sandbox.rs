//! The sandbox: the rights that a process with keys gives up before it serves its first request.
//!
//! [`enter`] takes the steps of [`STEPS`], in that order. Before that a program must have received
//! everything that it will ever need from outside: its start message, its memories and sockets,
//! entropy, its arena. If a mandatory step fails, the program ends. The names of steps that the
//! machine lacks are returned, to be shown to the operator.
//!
//! A program with serving threads takes the steps in two parts: [`enter_before_threads`], and
//! [`confine_threads`] once its threads run.

use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Resource, Rlimit};
use rustix::thread::{CapabilitySet, CapabilitySets, UnshareFlags};
use std::os::fd::{FromRawFd, OwnedFd};

mod policy;
pub use policy::{PACKET_RULES, RULES, Rule};

/// At most this many descriptors are open at once: sockets, and those of a message that is being
/// received.
const DESCRIPTORS_MAX: u64 = 256;
/// The descriptor of the socket with which a program is started.
pub const SOCKET_DESCRIPTOR: i32 = 3;
/// The user id that the kernel shows for a user whom a user namespace does not know.
const OVERFLOW_ID: u32 = 65534;

/// One step into the sandbox.
pub struct SandboxStep {
    /// Name of the step, as it is shown to people.
    pub name: &'static str,
    /// What an attacker could do without the step.
    pub why: &'static str,
    /// Whether a program must not serve without the step, even on a machine that lacks it.
    pub mandatory: bool,
    run: fn() -> Result<(), Trouble>,
}

/// Why a step failed.
enum Trouble {
    /// The machine lacks the feature, or does not permit it.
    Lacks(Errno),
    /// The step was begun and could not be finished: the program must end.
    Breaks(Errno),
}

impl From<Errno> for Trouble {
    fn from(cause: Errno) -> Self {
        Self::Lacks(cause)
    }
}

/// Every step, in the order in which they are taken.
pub const STEPS: &[SandboxStep] = &[
    SandboxStep {
        name: "user namespace",
        why: "the other namespaces need it, and identity within it is worth nothing outside",
        mandatory: false,
        run: user_namespace,
    },
    SandboxStep {
        name: "network namespace",
        why: "a socket made in spite of the policy could reach a network",
        mandatory: false,
        run: || unshare(UnshareFlags::NEWNET),
    },
    SandboxStep {
        name: "ipc namespace",
        why: "System V and POSIX message queues of other programs would be in reach",
        mandatory: false,
        run: || unshare(UnshareFlags::NEWIPC),
    },
    SandboxStep {
        name: "not dumpable",
        why: "another process of the same user could trace the program or read its memory",
        mandatory: true,
        run: || Ok(rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?),
    },
    // This comes after the step that keeps new tracers away: none can attach unseen between the
    // two.
    SandboxStep {
        name: "no tracer",
        why: "a debugger attached since the start would see every key",
        mandatory: true,
        run: refuse_tracer,
    },
    SandboxStep {
        name: "mount namespace",
        why: "a flaw in the policy would have the whole file system in reach",
        mandatory: false,
        run: empty_root,
    },
    SandboxStep {
        name: "no capabilities",
        why: "a program started by root, or first in its namespace, could undo what follows",
        mandatory: true,
        run: drop_capabilities,
    },
    SandboxStep {
        name: "no new privileges",
        why: "a program executed later could gain rights; the policy may not be set without it",
        mandatory: true,
        run: || Ok(rustix::thread::set_no_new_privs(true)?),
    },
    SandboxStep {
        name: LIMITS,
        why: "a crash could write a core file, a flaw could fork or fill tables",
        mandatory: true,
        run: || limit_resources(DESCRIPTORS_MAX, 0),
    },
    SandboxStep {
        name: LANDLOCK,
        why: "files could be opened in spite of the policy",
        mandatory: false,
        run: forbid_files,
    },
    SandboxStep {
        name: POLICY,
        why: "a flaw in the program would have the whole kernel to attack",
        mandatory: true,
        run: || Ok(policy::apply(&[])?),
    },
];

const LANDLOCK: &str = "landlock";
const LIMITS: &str = "resource limits";
const POLICY: &str = "system-call policy";
/// The last version of Landlock's interface whose rights the rules know.
const LANDLOCK_ABI_MAX: u32 = 6;

/// A mandatory step failed; the program must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SandboxError {
    /// Name of the step.
    pub step: &'static str,
    /// Error of the kernel.
    pub cause: Errno,
}

impl std::fmt::Display for SandboxError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the sandbox step `{}` failed: {}", self.step, self.cause)
    }
}

impl std::error::Error for SandboxError {}

/// The result of the steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entered {
    /// The steps that this machine lacks, by name.
    pub missing: Vec<&'static str>,
    /// Version of Landlock's interface that is enforced; none if Landlock is not enforced.
    pub landlock_abi: Option<u32>,
}

/// Takes every step. The calling thread must be the only one of its process.
///
/// # Errors
/// [`SandboxError`] for a mandatory step; the process is then partly confined and must end.
pub fn enter() -> Result<Entered, SandboxError> {
    take(|_| true)
}

/// Takes the steps that threads inherit: all but resource limits, which would forbid threads, and the system-call
/// policy. The calling thread must be the only one of its process.
///
/// # Errors
/// As [`enter`].
pub fn enter_before_threads() -> Result<Entered, SandboxError> {
    take(|step| step.name != LIMITS && step.name != POLICY)
}

/// The limits and system calls that a program keeps beyond those of all programs.
#[derive(Clone, Copy)]
pub struct Kept {
    /// At most this many descriptors may be open at once.
    pub descriptors: u64,
    /// Length in bytes up to which files may be written that are open already.
    pub file_bytes: u64,
    /// System calls that the program may make beside [`RULES`].
    pub calls: &'static [Rule],
}

/// Takes the remaining steps for all threads of the process, after [`enter_before_threads`]: no
/// further threads, and the system-call policy. Each thread must have begun to run the program's
/// own code: the policy does not allow what the C library does before.
///
/// # Errors
/// [`SandboxError`] for a step that failed; the process must then end.
pub fn confine_threads(kept: Kept) -> Result<(), SandboxError> {
    let error = |step| {
        move |trouble: Trouble| match trouble {
            Trouble::Lacks(cause) | Trouble::Breaks(cause) => SandboxError { step, cause },
        }
    };
    limit_resources(kept.descriptors, kept.file_bytes).map_err(error(LIMITS))?;
    policy::apply(kept.calls).map_err(Trouble::from).map_err(error(POLICY))
}

fn take(wanted: impl Fn(&SandboxStep) -> bool) -> Result<Entered, SandboxError> {
    let mut missing = Vec::new();
    let landlock_abi = landlock_abi();
    for step in STEPS.iter().filter(|step| wanted(step)) {
        match (step.run)() {
            Ok(()) => {}
            Err(Trouble::Lacks(_)) if !step.mandatory => missing.push(step.name),
            Err(Trouble::Lacks(cause) | Trouble::Breaks(cause)) => {
                return Err(SandboxError { step: step.name, cause });
            }
        }
    }
    let landlock_abi = landlock_abi.filter(|_| !missing.contains(&LANDLOCK));
    Ok(Entered { missing, landlock_abi })
}

/// Takes the socket with which the program was started, and closes every descriptor above it, which
/// the starter forgot to close.
///
/// # Errors
/// Error of the kernel if there is no such descriptor.
pub fn inherited_socket() -> Result<OwnedFd, Errno> {
    // SAFETY: `close_range` from 4 on closes descriptors that no part of this program, which has
    // just begun, can own.
    unsafe { libc::close_range(SOCKET_DESCRIPTOR as u32 + 1, u32::MAX, 0) };
    // SAFETY: only asks about the descriptor.
    let flags = unsafe { libc::fcntl(SOCKET_DESCRIPTOR, libc::F_SETFD, libc::FD_CLOEXEC) };
    if flags < 0 {
        return Err(Errno::BADF);
    }
    // SAFETY: the descriptor is open, as the line above showed, and this program, which calls this
    // once at its start, has no other owner of it.
    Ok(unsafe { OwnedFd::from_raw_fd(SOCKET_DESCRIPTOR) })
}

fn refuse_tracer() -> Result<(), Trouble> {
    let status = std::fs::read_to_string("/proc/self/status").map_err(|_| Errno::IO)?;
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    if tracer.map(str::trim) != Some("0") {
        return Err(Errno::PERM.into());
    }
    // Yama only: withdraws a permission that the program may have inherited. A kernel without Yama
    // refuses the call as unknown.
    match rustix::process::set_ptracer(rustix::process::PTracer::None) {
        Ok(()) | Err(Errno::INVAL) => Ok(()),
        Err(cause) => Err(cause.into()),
    }
}

/// A namespace that knows only the program's own user and group, so that a peer of the same user
/// can be told from any other.
fn user_namespace() -> Result<(), Trouble> {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    if user == OVERFLOW_ID {
        // Every other user would look like this user.
        return Err(Errno::NOTSUP.into());
    }
    unshare(UnshareFlags::NEWUSER)?;
    // Without the maps every peer would look like this user.
    let write = |path, text: String| std::fs::write(path, text).map_err(|_| Trouble::Breaks(Errno::PERM));
    write("/proc/self/setgroups", "deny".into())?;
    write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    write("/proc/self/gid_map", format!("{group} {group} 1"))
}

fn unshare(flags: UnshareFlags) -> Result<(), Trouble> {
    // SAFETY: none of these flags takes the descriptor table away from other threads, which is what
    // makes `unshare` unsafe.
    unsafe { rustix::thread::unshare_unsafe(flags) }.map_err(Trouble::Lacks)
}

/// Enters a mount namespace whose only file system is empty and read-only. If this cannot be
/// finished, as in containers whose rules forbid mounts, files are no closer than without it.
fn empty_root() -> Result<(), Trouble> {
    use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags};
    unshare(UnshareFlags::NEWNS)?;
    rustix::mount::mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    rustix::mount::mount("none", EMPTY_ROOT, "tmpfs", flags, c"size=4k,nr_inodes=2,mode=000")?;
    rustix::process::chdir(EMPTY_ROOT)?;
    // Both roots are at one place: the old root lies over the new one until it is unmounted.
    rustix::process::pivot_root(".", ".")?;
    rustix::mount::unmount(".", UnmountFlags::DETACH)?;
    rustix::process::chdir("/")?;
    Ok(rustix::mount::mount_remount("/", MountFlags::BIND | MountFlags::RDONLY | flags, c"")?)
}

/// A folder that every machine has; the empty file system is mounted over it.
const EMPTY_ROOT: &str = "/proc";

fn drop_capabilities() -> Result<(), Trouble> {
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(
        None,
        CapabilitySets { effective: none, permitted: none, inheritable: none },
    )?;
    Ok(())
}

fn limit_resources(descriptors: u64, file_bytes: u64) -> Result<(), Trouble> {
    for (resource, limit) in [
        (Resource::Core, 0),
        (Resource::Fsize, file_bytes),
        (Resource::Nproc, 0),
        (Resource::Nofile, descriptors),
    ] {
        rustix::process::setrlimit(resource, lowered(resource, limit))?;
    }
    Ok(())
}

/// Both limits at this value, or unchanged if they are lower.
fn lowered(resource: Resource, limit: u64) -> Rlimit {
    let now = rustix::process::getrlimit(resource);
    let limit = now.maximum.map_or(limit, |maximum| maximum.min(limit));
    Rlimit { current: Some(limit), maximum: Some(limit) }
}

/// The version of Landlock's interface under which the rules apply: the kernel's, or the last that
/// the rules know.
fn landlock_abi() -> Option<u32> {
    const VERSION_ALONE: libc::c_uint = 1;
    // SAFETY: without a rule set the call asks for a number and touches no memory.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<libc::c_void>(),
            0_usize,
            VERSION_ALONE,
        )
    };
    u32::try_from(version).ok().filter(|version| *version > 0).map(|version| version.min(LANDLOCK_ABI_MAX))
}

fn forbid_files() -> Result<(), Trouble> {
    use landlock::{ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetStatus, Scope};
    let confined = Ruleset::default()
        .handle_access(AccessFs::from_all(ABI::V5))
        .and_then(|ruleset| ruleset.handle_access(AccessNet::from_all(ABI::V4)))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(ABI::V6)))
        .and_then(Ruleset::create)
        .and_then(landlock::RulesetCreated::restrict_self);
    match confined {
        // Partly enforced: a kernel that knows files but not sockets yet.
        Ok(status) if status.ruleset != RulesetStatus::NotEnforced => Ok(()),
        _ => Err(Errno::NOSYS.into()),
    }
}
