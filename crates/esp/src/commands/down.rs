//! `cryptand ipsec down`: ends a data plane, or removes what a dead one left.

use super::Failure;
use crate::folder::PlaneFolder;
use crate::supervisor;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::sockopt::{Timeout, set_socket_timeout, socket_peercred};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType};
use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::time::Duration;

/// How long a supervisor may take to answer, and then to take everything away. It is longer than the supervisor's waits
/// for a worker and for the kernel, and than removing the routes of a full policy table.
const ANSWER_WAIT: Duration = Duration::from_secs(30);

/// Asks the supervisor to end, and waits until it has. If none serves, removes what an earlier one left.
pub fn run(plane: &PlaneFolder) -> Result<ExitCode, Failure> {
    let socket = match connect(plane) {
        Ok(socket) => socket,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::CONNREFUSED) => return clear(plane),
        Err(other) => return Err(format!("asking at {}: {other}", plane.plane_socket().display())),
    };
    let error = |errno: Errno| match (errno, socket_peercred(&socket)) {
        (Errno::AGAIN, Ok(supervisor)) => format!(
            "asking at {}: no answer within {} seconds from the supervisor, process {process}: `kill -KILL {process}`, and then this again, takes everything away",
            plane.plane_socket().display(),
            ANSWER_WAIT.as_secs(),
            process = supervisor.pid.as_raw_nonzero(),
        ),
        _ => format!("asking at {}: {errno}", plane.plane_socket().display()),
    };
    rustix::net::send(&socket, b"down", SendFlags::NOSIGNAL).map_err(error)?;
    let mut buffer = [0; 512];
    // A call on a socket with a timeout is not resumed by the kernel after this process was stopped.
    let mut receive = || {
        let received = retry_on_intr(|| rustix::net::recv(&socket, &mut buffer, RecvFlags::empty()));
        received.map(|(_, bytes)| buffer[..bytes].to_vec())
    };
    let answer = receive().map_err(error)?;
    match std::str::from_utf8(&answer) {
        Ok("ok") => {}
        Ok(answer) => return Err(answer.trim_start_matches("error ").to_owned()),
        Err(_) => return Err("the data plane answered what is no text".to_owned()),
    }
    // The connection closes when the supervisor ends, after everything else is taken away.
    match receive() {
        Err(Errno::AGAIN) => Err(error(Errno::AGAIN)),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Removes what a supervisor left that was killed, or that ended with `keep`.
fn clear(plane: &PlaneFolder) -> Result<ExitCode, Failure> {
    match supervisor::clear(plane) {
        Ok(true) => Ok(ExitCode::SUCCESS),
        Ok(false) => Err(format!(
            "no data plane serves {}, and none has left anything: --folder names another",
            plane.folder().display()
        )),
        Err(cause) => Err(cause.to_string()),
    }
}

fn connect(plane: &PlaneFolder) -> Result<OwnedFd, Errno> {
    let address = SocketAddrUnix::new(plane.plane_socket())?;
    let socket =
        rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    for timeout in [Timeout::Send, Timeout::Recv] {
        set_socket_timeout(&socket, timeout, Some(ANSWER_WAIT))?;
    }
    rustix::net::connect(&socket, &address)?;
    Ok(socket)
}
