//! Why the data plane could not open what it needs.

use std::{fmt, io};

/// An operation that failed: on which object, its cause, and a remedy.
#[derive(Debug)]
pub struct OpenError {
    operation: &'static str,
    object: String,
    cause: io::Error,
    remedy: &'static str,
}

impl OpenError {
    pub(crate) fn new(
        operation: &'static str,
        object: impl Into<String>,
        cause: impl Into<io::Error>,
    ) -> OpenError {
        let cause = cause.into();
        let remedy = match cause.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => {
                "run it with CAP_NET_ADMIN and CAP_NET_RAW, or in a user and network namespace"
            }
            Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => "load the module tun: modprobe tun",
            Some(libc::EBUSY) => "another program has it: stop that one, or choose another name",
            Some(libc::EADDRINUSE) => "another program has the port without SO_REUSEPORT: stop it",
            Some(libc::EADDRNOTAVAIL) => "the address is not on this machine: choose one that is",
            Some(libc::EAFNOSUPPORT) => "this kernel has no such family of addresses",
            _ => "",
        };
        OpenError { operation, object: object.into(), cause, remedy }
    }

    /// The cause: an error of the system, or one about the arguments.
    pub fn cause(&self) -> &io::Error {
        &self.cause
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}: {}", self.operation, self.object, self.cause)?;
        if self.remedy.is_empty() { Ok(()) } else { write!(out, "; {}", self.remedy) }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}
