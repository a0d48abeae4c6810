//! Errors that end a supervisor, or keep it from starting.

use super::net::NetError;
use super::sockets::SocketsError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a supervisor ended, or did not start.
#[derive(Debug)]
pub enum ServeError {
    /// An operation on a file or folder failed.
    File {
        /// The operation, as a verb form for the message.
        operation: &'static str,
        /// Path of the file or folder.
        path: PathBuf,
        /// The error of the system.
        cause: io::Error,
    },
    /// Another supervisor serves this folder.
    Taken(PathBuf),
    /// Another supervisor of the same user serves the network namespace from another folder. The number is its process,
    /// or 0 if that is in another PID namespace.
    Namespace(u32),
    /// Setting rules, routes or links failed.
    Net(NetError),
    /// Opening the device failed.
    Device(plane::OpenError),
    /// Opening the UDP sockets failed.
    Sockets(SocketsError),
    /// The first worker ended before it served: its exit status. The reason stands on standard error.
    Worker(String),
    /// The supervisor served, and cannot go on: rules and routes stay.
    Lost(io::Error),
    /// Another operation of the system failed.
    System {
        /// The operation, as a verb form for the message.
        operation: &'static str,
        /// The error of the system.
        cause: io::Error,
    },
}

impl fmt::Display for ServeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServeError::File { operation, path, cause } => {
                write!(out, "{operation} {}: {cause}", path.display())
            }
            ServeError::Taken(folder) => write!(
                out,
                "another data plane serves {}: `cryptand ipsec down` ends it, --folder names another",
                folder.display()
            ),
            ServeError::Namespace(process) => write!(
                out,
                "another data plane serves this network namespace (process {process}), from another folder: `cryptand ipsec down --folder DIR` with that folder ends it"
            ),
            ServeError::Net(cause) => cause.fmt(out),
            ServeError::Device(cause) => {
                cause.fmt(out)?;
                // The error of tun(4) for a link that is no TUN or has other queues, and for an impossible link name.
                let is_name = cause.cause().kind() == io::ErrorKind::InvalidInput;
                if is_name {
                    out.write_str("; another link may have that name, or no link can: --device gives another name, of at most 15 bytes")?;
                }
                Ok(())
            }
            ServeError::Sockets(cause) => cause.fmt(out),
            ServeError::Worker(how) => write!(out, "the worker ended before it served ({how})"),
            ServeError::Lost(cause) => write!(
                out,
                "waiting for events: {cause}; what policies protect stays dropped until the next data plane serves, or `cryptand ipsec down` clears it"
            ),
            ServeError::System { operation, cause } => write!(out, "{operation}: {cause}"),
        }
    }
}

impl std::error::Error for ServeError {}

impl From<NetError> for ServeError {
    fn from(cause: NetError) -> Self {
        ServeError::Net(cause)
    }
}

impl From<SocketsError> for ServeError {
    fn from(cause: SocketsError) -> Self {
        ServeError::Sockets(cause)
    }
}

pub(super) fn system(operation: &'static str) -> impl Fn(io::Error) -> ServeError {
    move |cause| ServeError::System { operation, cause }
}

pub(super) fn file<'p>(operation: &'static str, path: &'p Path) -> impl Fn(io::Error) -> ServeError + 'p {
    move |cause| ServeError::File { operation, path: path.to_owned(), cause }
}
