//! Limits of the system: the limit behind an error of a system call, and the setting that raises
//! it.

use nix::libc::{EAGAIN, EMFILE, ENFILE, ENOLCK, ENOSPC};
use std::fmt;
use std::io;

/// Shows an error of a system call, with the limit behind it if there is one.
#[derive(Clone, Copy, Debug)]
pub struct Limited<'a>(pub &'a io::Error);

/// Shows an error of starting a process or a thread: only there EAGAIN means a limit.
#[derive(Clone, Copy, Debug)]
pub struct NotStarted<'a>(pub &'a io::Error);

impl fmt::Display for Limited<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(cause) = self;
        write!(f, "{cause}")?;
        match cause.raw_os_error() {
            Some(EMFILE) => f.write_str(
                ": this process may open no more files: raise `ulimit -n`, or LimitNOFILE= of its unit",
            ),
            Some(ENFILE) => f.write_str(": the system may open no more files: raise fs.file-max"),
            Some(ENOLCK) => {
                f.write_str(": the file system locks no more files, or none: move the home to another")
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for NotStarted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(cause) = self;
        if cause.raw_os_error() == Some(EAGAIN) {
            return write!(
                f,
                "{cause}: this user may have no more processes and threads: raise `ulimit -u`, or LimitNPROC= and TasksMax= of its unit"
            );
        }
        Limited(cause).fmt(f)
    }
}

/// An error of epoll_ctl(2), for which ENOSPC means a limit and not a full disk.
#[must_use]
pub fn watching(cause: io::Error) -> io::Error {
    if cause.raw_os_error() == Some(ENOSPC) {
        return io::Error::other("this user may watch no more descriptors: raise fs.epoll.max_user_watches");
    }
    cause
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::libc::ENOENT;

    #[test]
    fn errors_name_the_limit_that_they_mean() {
        let said = |code| Limited(&io::Error::from_raw_os_error(code)).to_string();
        assert!(said(EMFILE).contains("ulimit -n") && said(ENFILE).contains("fs.file-max"));
        assert!(said(ENOLCK).contains("locks"));
        assert_eq!(said(ENOENT), io::Error::from_raw_os_error(ENOENT).to_string());
        // A socket that would block has the same error as a thread that cannot be started.
        assert!(!said(EAGAIN).contains("ulimit"));
        let started = |code| NotStarted(&io::Error::from_raw_os_error(code)).to_string();
        assert!(watching(io::Error::from_raw_os_error(ENOSPC)).to_string().contains("fs.epoll"));
        assert_eq!(watching(io::Error::from_raw_os_error(ENOENT)).raw_os_error(), Some(ENOENT));
        assert!(started(EAGAIN).contains("ulimit -u") && started(EMFILE).contains("ulimit -n"));
    }
}
