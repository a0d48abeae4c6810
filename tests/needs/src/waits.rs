//! Waits of tests that a signal must not end.

use std::io::{ErrorKind, Result};

/// Reads from a socket with a time-out, whatever interrupts the wait. The system ends a wait with a time-out for any
/// signal and does not begin it again: the process was stopped for a while, or a child ended while another thread of
/// the test started one.
///
/// # Errors
/// That of `read`, such as [`ErrorKind::WouldBlock`] after the socket's time-out.
pub fn uninterrupted<T>(mut read: impl FnMut() -> Result<T>) -> Result<T> {
    loop {
        match read() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
