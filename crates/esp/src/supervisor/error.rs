//! Why a supervisor ended, or did not begin.

use super::net::NetError;
use super::sockets::SocketsError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why it ended, or did not begin.
#[derive(Debug)]
pub enum ServeError {
    /// A file or folder.
    File {
        /// What was done with it.
        operation: &'static str,
        /// Which.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// Another one serves the folder.
    Taken(PathBuf),
    /// Another one, of the same user, serves the network namespace from another folder: its process, 0 where that is in
    /// another namespace of processes.
    Namespace(u32),
    /// Rules, routes, links.
    Net(NetError),
    /// The device.
    Device(plane::OpenError),
    /// Sockets.
    Sockets(SocketsError),
    /// The first worker ended before it served: how. Why stands on standard error.
    Worker(String),
    /// It served, and cannot go on: rules and routes stay.
    Lost(io::Error),
    /// Something else of the system.
    System {
        /// What was done.
        operation: &'static str,
        /// What it said.
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
                // What tun(4) says to a link that is none of its own, or has other queues, and to a name that no link
                // can have.
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
