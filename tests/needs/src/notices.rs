//! What a service manager is told, received by tests.

use std::io::{ErrorKind, Result};
use std::os::unix::net::UnixDatagram;

/// Receives a datagram, whatever interrupts the wait. The system ends a wait with a time-out for any signal and does
/// not begin it again: a child that ends while another thread of the test starts one sends such a signal.
///
/// # Errors
/// That of the system, such as [`ErrorKind::WouldBlock`] after the socket's time-out.
pub fn received<'b>(socket: &UnixDatagram, buffer: &'b mut [u8]) -> Result<&'b [u8]> {
    loop {
        match socket.recv(buffer) {
            Ok(count) => return Ok(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
