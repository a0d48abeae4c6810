//! Another process, by a pidfd, which unlike a pid never refers to a later process.

use crate::world::{self, Ended};
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};
use rustix::time::Timespec;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// A process descriptor (pidfd).
#[derive(Debug)]
pub struct PidFd {
    fd: OwnedFd,
}

impl PidFd {
    /// Opens the process that has this number now.
    ///
    /// # Errors
    /// `ESRCH` if no process has this number; otherwise of the system call.
    pub fn open(pid: u32) -> io::Result<Self> {
        if let Some(simulated) = world::open_process(pid) {
            return Ok(Self { fd: simulated? });
        }
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::from(rustix::io::Errno::SRCH))?;
        Ok(Self { fd: rustix::process::pidfd_open(pid, PidfdFlags::empty())? })
    }

    /// Takes a descriptor that was received; its first use shows whether it is a pidfd.
    pub fn from_fd(fd: OwnedFd) -> Self {
        Self { fd }
    }

    /// Another descriptor of the same process.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { fd: self.fd.try_clone()? })
    }

    /// Whether the process has ended, even if its parent has not collected it yet. A stopped
    /// process has not ended. False if the kernel cannot say.
    pub fn is_dead(&self) -> bool {
        self.wait_dead(Some(Duration::ZERO)).unwrap_or(false)
    }

    /// Waits until the process has ended; false after the timeout. `None` waits for ever.
    ///
    /// # Errors
    /// Of the system call; an interruption by a signal counts as one.
    pub fn wait_dead(&self, timeout: Option<Duration>) -> io::Result<bool> {
        let mut fds = [PollFd::new(&self.fd, PollFlags::IN)];
        let timeout = timeout.map(timespec);
        world::poll(&mut fds, timeout.as_ref())?;
        Ok(fds[0].revents().contains(PollFlags::IN))
    }

    /// Sends SIGKILL, which also ends a stopped process; no error if the process has ended already.
    ///
    /// # Errors
    /// This process is not permitted to send the signal.
    pub fn kill(&self) -> io::Result<()> {
        if world::kill(self.fd.as_fd()) {
            return Ok(());
        }
        match rustix::process::pidfd_send_signal(&self.fd, Signal::KILL) {
            Err(rustix::io::Errno::SRCH) => Ok(()),
            other => Ok(other?),
        }
    }

    /// Lets a stopped process go on.
    ///
    /// # Errors
    /// Of `pidfd_send_signal`; none if the process has ended already.
    pub fn resume(&self) -> io::Result<()> {
        if world::resume(self.fd.as_fd()) {
            return Ok(());
        }
        match rustix::process::pidfd_send_signal(&self.fd, Signal::CONT) {
            Err(rustix::io::Errno::SRCH) => Ok(()),
            other => Ok(other?),
        }
    }

    /// Collects a child that has ended, so that it leaves the process table, and returns how it
    /// ended; none while the child runs.
    ///
    /// # Errors
    /// `ECHILD` if the process is not a child of this one, or is collected already.
    pub fn reap(&self) -> io::Result<Option<Ended>> {
        if let Some(ended) = world::reap(self.fd.as_fd()) {
            return Ok(ended);
        }
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        let status = rustix::process::waitid(WaitId::PidFd(self.fd.as_fd()), options)?;
        Ok(status.map(|status| match status.terminating_signal() {
            Some(signal) => Ended::Signal(signal),
            None => Ended::Code(status.exit_status().unwrap_or_default()),
        }))
    }

    /// The descriptor, to be handed to another process.
    pub fn into_fd(self) -> OwnedFd {
        self.fd
    }
}

impl AsFd for PidFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A span for the kernel; a span that the kernel cannot take becomes its longest.
pub(crate) fn timespec(span: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(span.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(span.subsec_nanos()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_child_is_seen_to_live_and_die() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let pidfd = PidFd::open(child.id()).unwrap();
        assert!(!pidfd.is_dead());
        assert_eq!(pidfd.reap().unwrap(), None);
        pidfd.kill().unwrap();
        assert!(pidfd.wait_dead(None).unwrap());
        assert!(pidfd.is_dead());
        assert_eq!(pidfd.reap().unwrap(), Some(Ended::Signal(libc::SIGKILL)));
        pidfd.kill().unwrap();
        assert!(child.wait().is_err());
    }

    #[test]
    fn the_code_of_a_child_that_ends_by_itself_is_told() {
        let mut child = Command::new("/bin/sh").args(["-c", "exit 3"]).spawn().unwrap();
        let pidfd = PidFd::open(child.id()).unwrap();
        assert!(pidfd.wait_dead(None).unwrap());
        assert_eq!(pidfd.reap().unwrap(), Some(Ended::Code(3)));
        assert!(child.wait().is_err());
    }

    #[test]
    fn no_process_has_number_0_or_more_than_31_bits() {
        for pid in [0, u32::MAX] {
            assert_eq!(PidFd::open(pid).unwrap_err().raw_os_error(), Some(libc::ESRCH));
        }
    }
}
