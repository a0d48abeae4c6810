//! `cryptand ipsec down`.

use std::os::fd::OwnedFd;
use std::process::ExitCode;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType};

use super::Failure;
use crate::place::Place;
use crate::supervisor;

/// Asks the supervisor to end, and waits until it has. Where none serves, what one has left is taken away.
pub fn run(place: &Place) -> Result<ExitCode, Failure> {
    let socket = match connect(place) {
        Ok(socket) => socket,
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::CONNREFUSED) => return clear(place),
        Err(other) => return Err(format!("asking at {}: {other}", place.plane_socket().display())),
    };
    let error = |errno: rustix::io::Errno| format!("asking at {}: {errno}", place.plane_socket().display());
    rustix::net::send(&socket, b"down", SendFlags::NOSIGNAL).map_err(error)?;
    let mut buffer = [0; 512];
    let (_, bytes) = rustix::net::recv(&socket, &mut buffer, RecvFlags::empty()).map_err(error)?;
    match std::str::from_utf8(&buffer[..bytes]) {
        Ok("ok") => {}
        Ok(answer) => return Err(answer.trim_start_matches("error ").to_owned()),
        Err(_) => return Err("the data plane answered what is no text".to_owned()),
    }
    // The connection ends with the supervisor, which takes everything else away before.
    let _ = rustix::net::recv(&socket, &mut buffer, RecvFlags::empty());
    Ok(ExitCode::SUCCESS)
}

/// Takes away what one has left that was killed, or kept it.
fn clear(place: &Place) -> Result<ExitCode, Failure> {
    match supervisor::clear(place) {
        Ok(true) => Ok(ExitCode::SUCCESS),
        Ok(false) => Err(format!("no data plane serves {}", place.folder().display())),
        Err(cause) => Err(cause.to_string()),
    }
}

fn connect(place: &Place) -> Result<OwnedFd, rustix::io::Errno> {
    let address = SocketAddrUnix::new(place.plane_socket())?;
    let socket =
        rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    rustix::net::connect(&socket, &address)?;
    Ok(socket)
}
