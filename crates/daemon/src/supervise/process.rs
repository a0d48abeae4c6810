//! What the system tells of a process: its identity, whether it is stopped, how much memory it holds.

use link::{PidFd, world};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Read;

/// A process, told from a later one of the same number by its start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Process id.
    pub pid: u32,
    /// Start time in clock ticks since the machine's boot.
    pub start_ticks: u64,
}

impl Identity {
    /// The process that has this id now; `None` where there is none.
    pub fn of(pid: u32) -> Option<Self> {
        Some(Self { pid, start_ticks: stat(pid)?.start_ticks })
    }

    /// A descriptor of this very process; `None` where it has ended.
    pub fn open(&self) -> Option<PidFd> {
        let descriptor = PidFd::open(self.pid).ok()?;
        // Compared after the descriptor is open: a process that has this id and start time now had them then.
        (Self::of(self.pid)? == *self).then_some(descriptor)
    }
}

/// Whether a process is stopped by a signal.
pub fn is_stopped(pid: u32) -> bool {
    stat(pid).is_some_and(|stat| stat.state == b'T')
}

/// Resident memory of this process in bytes; 0 where the system does not tell.
pub fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}

/// Leaves no core file from here on, and lets no process of the same user trace this one or read its memory: seeds,
/// credentials and sealed passphrases pass through it. Programs that it starts can be traced again, and leave no core
/// file.
///
/// # Errors
/// The error of the system call that failed.
pub fn keep_out_of_dumps() -> std::io::Result<()> {
    use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Makes this program the leader of a session of its own, so that it outlives the session of its caller. A program that
/// was started at a terminal stays in the session that the terminal's signals reach.
pub fn own_session() {
    if !rustix::termios::isatty(rustix::stdio::stdin()) {
        // Refused to the leader of a process group, which a service manager or a shell has set apart already.
        let _ = rustix::process::setsid();
    }
}

struct Stat {
    state: u8,
    start_ticks: u64,
}

/// Upper bound of the length of `stat`, in bytes: a name of 64 bytes and 51 numbers of up to 20 digits.
const STAT_BYTES_MAX: usize = 1280;

/// Fields 3 and 22 of `/proc/<pid>/stat` (proc_pid_stat(5)); the name before them may hold anything.
fn stat(pid: u32) -> Option<Stat> {
    if let Some(simulated) = world::process(pid) {
        let world::Process { start_ticks, is_stopped } = simulated?;
        return Some(Stat { state: if is_stopped { b'T' } else { b'S' }, start_ticks });
    }
    // Read in one piece: this happens at every attach, and the system makes the text anew for each read.
    let mut text = [0; STAT_BYTES_MAX];
    let length = File::open(format!("/proc/{pid}/stat")).and_then(|mut file| file.read(&mut text)).ok()?;
    let text = &text[..length];
    let after_name = text.iter().rposition(|byte| *byte == b')')? + 2;
    let fields = std::str::from_utf8(text.get(after_name..)?).ok()?;
    let mut fields = fields.split(' ');
    let state = *fields.next()?.as_bytes().first()?;
    Some(Stat { state, start_ticks: fields.nth(18)?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_is_known_until_it_ends() {
        let own = Identity::of(std::process::id()).unwrap();
        assert!(own.open().is_some());
        assert!(!is_stopped(own.pid));
        assert!(resident_bytes() > 0);
        assert!(Identity { start_ticks: own.start_ticks + 1, ..own }.open().is_none());

        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let identity = Identity::of(child.id()).unwrap();
        let descriptor = identity.open().unwrap();
        descriptor.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(Identity::of(identity.pid).filter(|now| now == &identity), None);
        assert!(identity.open().is_none());
    }
}
