//! Reading and writing of a connection's data, the same for both ends.

use s2n_tls::connection::Connection;
use s2n_tls::error::Error;
use std::task::Poll;

/// The result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// This many bytes of the other side's data were read.
    Bytes(usize),
    /// No data until more bytes of the other side arrive.
    NeedsBytes,
    /// The other side has said that it sends no more.
    End,
}

/// Why not all data was written.
pub(crate) enum Unwritten {
    /// The library took only a part, although its buffer takes all.
    Stuck,
    /// The library's error.
    Library(Error),
}

/// Reads the other side's data into `into`.
///
/// # Errors
/// The library's error.
pub(crate) fn read(library: &mut Connection, into: &mut [u8]) -> Result<Read, Error> {
    match library.poll_recv(into) {
        Poll::Ready(Ok(0)) => Ok(Read::End),
        Poll::Ready(Ok(count)) => Ok(Read::Bytes(count)),
        Poll::Pending => Ok(Read::NeedsBytes),
        Poll::Ready(Err(error)) => Err(error),
    }
}

/// Writes all of the data for the other side.
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
