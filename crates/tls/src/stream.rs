//! Data of a connection, which both halves read and write in the same way.

use s2n_tls::connection::Connection;
use s2n_tls::error::Error;
use std::task::Poll;

/// What reading gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// So many bytes of the client's data.
    Bytes(usize),
    /// Nothing before the client sends more.
    NeedsBytes,
    /// The client has said that it sends no more.
    End,
}

/// Why not all was written.
pub(crate) enum Unwritten {
    /// The library did not take all, though the buffer does.
    Stuck,
    /// The library.
    Library(Error),
}

/// The other side's data.
///
/// # Errors
/// Of the library.
pub(crate) fn read(library: &mut Connection, into: &mut [u8]) -> Result<Read, Error> {
    match library.poll_recv(into) {
        Poll::Ready(Ok(0)) => Ok(Read::End),
        Poll::Ready(Ok(count)) => Ok(Read::Bytes(count)),
        Poll::Pending => Ok(Read::NeedsBytes),
        Poll::Ready(Err(error)) => Err(error),
    }
}

/// Data for the other side, all of it.
///
/// # Errors
/// [`Unwritten`].
pub(crate) fn write(library: &mut Connection, mut bytes: &[u8]) -> Result<(), Unwritten> {
    while !bytes.is_empty() {
        match library.poll_send(bytes) {
            Poll::Ready(Ok(count)) => bytes = bytes.get(count..).unwrap_or_default(),
            Poll::Pending => return Err(Unwritten::Stuck),
            Poll::Ready(Err(error)) => return Err(Unwritten::Library(error)),
        }
    }
    Ok(())
}
