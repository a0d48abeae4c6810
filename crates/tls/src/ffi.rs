//! The library's byte callbacks over buffers of ours, and functions that it has in C alone. The only unsafe code of
//! this room.
#![allow(
    unsafe_code,
    reason = "the library takes its bytes through functions of C with a pointer to their context"
)]

mod raw;
mod sessions;

pub use raw::give_back_memory;
pub(crate) use raw::{FATAL, WARNING, alert, client_chain, leave_to_callback, resolve, take_final_dot};
pub(crate) use sessions::{Cache, keep_sessions};

use errno::{Errno, set_errno};
use s2n_tls::config::Builder;
use s2n_tls::connection::Connection;
use s2n_tls::enums::Mode;
use s2n_tls::error::Error;
use std::ffi::c_void;
use std::ptr::NonNull;

/// Bytes on their way between the library and the caller.
#[derive(Default)]
pub(crate) struct Buffers {
    incoming: Vec<u8>,
    taken: usize,
    has_ended: bool,
    outgoing: Vec<u8>,
    sent: usize,
}

impl Buffers {
    pub(crate) fn receive(&mut self, bytes: &[u8]) {
        make_room(&mut self.incoming, &mut self.taken);
        self.incoming.extend_from_slice(bytes);
    }

    pub(crate) fn receive_end(&mut self) {
        self.has_ended = true;
    }

    fn incoming_bytes(&self) -> usize {
        self.incoming.len() - self.taken
    }

    pub(crate) fn outgoing(&self) -> &[u8] {
        &self.outgoing[self.sent..]
    }

    pub(crate) fn sent(&mut self, bytes: usize) {
        self.sent = (self.sent + bytes).min(self.outgoing.len());
        if self.sent == self.outgoing.len() {
            empty(&mut self.outgoing);
            self.sent = 0;
        }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        make_room(&mut self.outgoing, &mut self.sent);
        self.outgoing.extend_from_slice(bytes);
    }

    /// The next bytes of the other side, at most `length`: empty at the end of the stream, `None` if more may come
    /// later.
    fn next(&self, length: usize) -> Option<&[u8]> {
        let count = length.min(self.incoming_bytes());
        if count == 0 && !self.has_ended {
            return None;
        }
        Some(&self.incoming[self.taken..self.taken + count])
    }

    fn take(&mut self, count: usize) {
        self.taken += count;
        if self.taken == self.incoming.len() {
            empty(&mut self.incoming);
            self.taken = 0;
        }
    }
}

/// Removes the front part of a buffer that is done with, once it is more than half of it. Otherwise a buffer that is
/// never quite empty would keep all bytes that ever went through.
fn make_room(buffer: &mut Vec<u8>, done: &mut usize) {
    if *done > buffer.len() / 2 {
        buffer.drain(..*done);
        *done = 0;
    }
}

/// Frees a buffer's memory: there are thousands of idle connections, and memory for the next record costs less than its
/// system call.
fn empty(buffer: &mut Vec<u8>) {
    *buffer = Vec::new();
}

/// A connection of the library with the buffers that its callbacks use.
pub(crate) struct Wired {
    /// The connection stands before the buffers that it points to, since fields are dropped in this order.
    connection: Connection,
    buffers: Shared,
}

/// Buffers that the library also reaches, but only within methods of the connection.
struct Shared(NonNull<Buffers>);

impl Wired {
    pub(crate) fn new(mode: Mode) -> Result<Self, Error> {
        let mut connection = Connection::new(mode);
        let buffers = Shared(NonNull::from(Box::leak(Box::<Buffers>::default())));
        connection.set_receive_callback(Some(receive))?.set_send_callback(Some(send))?;
        let context = buffers.0.as_ptr().cast::<c_void>();
        let mut wired = Self { connection, buffers };
        // SAFETY: the buffers outlive the connection, as the order of the fields says.
        unsafe {
            wired.connection.set_receive_context(context)?.set_send_context(context)?;
        }
        Ok(wired)
    }

    pub(crate) fn library(&mut self) -> &mut Connection {
        &mut self.connection
    }

    pub(crate) fn library_now(&self) -> &Connection {
        &self.connection
    }

    pub(crate) fn buffers(&mut self) -> &mut Buffers {
        // SAFETY: alive until `Shared` is dropped; the borrow of `self` keeps the library, which would reach them too,
        // from running.
        unsafe { self.buffers.0.as_mut() }
    }

    pub(crate) fn buffers_now(&self) -> &Buffers {
        // SAFETY: as above; whoever changes them borrows `self` mutably.
        unsafe { self.buffers.0.as_ref() }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: made by `Box` in `Wired::new`, and the connection, the last that points to them, is dropped already.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// Has a client accept every server certificate.
pub(crate) fn trust_everybody(builder: &mut Builder) -> Result<(), Error> {
    // SAFETY: the function is marked unsafe for its effect on a connection's security, not on memory; the caller makes
    // that effect known to its user.
    unsafe { builder.disable_x509_verification() }.map(|_| ())
}

unsafe extern "C" fn receive(context: *mut c_void, into: *mut u8, length: u32) -> libc::c_int {
    // SAFETY: the context is the buffers of the connection that calls (`Wired::new`), and nobody else reaches them
    // during the call.
    let buffers = unsafe { &mut *context.cast::<Buffers>() };
    let Some(bytes) = buffers.next(length as usize) else {
        set_errno(Errno(libc::EAGAIN));
        return -1;
    };
    let count = bytes.len();
    // SAFETY: the library hands in `length` bytes of its own memory to write to, and these are at most as many.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), into, count) };
    buffers.take(count);
    count as libc::c_int
}

unsafe extern "C" fn send(context: *mut c_void, from: *const u8, length: u32) -> libc::c_int {
    // SAFETY: as in `receive`.
    let buffers = unsafe { &mut *context.cast::<Buffers>() };
    // SAFETY: the library hands in that many bytes to read.
    buffers.send(unsafe { std::slice::from_raw_parts(from, length as usize) });
    length as libc::c_int
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_that_is_never_empty_keeps_no_more_than_what_is_under_way() {
        let mut buffers = Buffers::default();
        let chunk: Vec<u8> = (0..=255).cycle().take(64 << 10).collect();
        let (mut sent, mut given) = (0_usize, 0_usize);
        for _ in 0..1000 {
            buffers.send(&chunk);
            given += chunk.len();
            // Sends all but the last seven bytes.
            let rest = buffers.outgoing().len() - 7;
            let matches =
                buffers.outgoing().iter().take(rest).zip(sent..).all(|(byte, at)| *byte == at as u8);
            assert!(matches, "the bytes stay in order");
            buffers.sent(rest);
            sent += rest;
            assert!(buffers.outgoing.capacity() <= 4 * chunk.len(), "{}", buffers.outgoing.capacity());
        }
        assert_eq!(given - sent, 7);
    }
}
