//! What the library has in C alone, on connections and configurations of its binding for Rust.

use s2n_tls::callbacks::CertValidationInfo;
use s2n_tls::config::Builder;
use s2n_tls::connection::Connection;
use s2n_tls::error::Error;
use s2n_tls_sys::{
    s2n_blocked_status, s2n_connection, s2n_connection_get_client_cert_chain, s2n_flush, s2n_get_server_name,
};
use std::ffi::{CStr, c_int};
use std::ptr::null_mut;

/// Content type of alerts, and their levels (RFC 8446, 5.1 and 6).
const ALERT: u8 = 21;
pub(crate) const WARNING: u8 = 1;
pub(crate) const FATAL: u8 = 2;

/// `struct s2n_blob` (utils/s2n_blob.h): bytes that it does not own have nothing allocated, and do not grow.
#[repr(C)]
struct Blob {
    data: *mut u8,
    size: u32,
    allocated: u32,
    growable: u32,
}

/// `s2n_result` (utils/s2n_result.h): zero where it went well.
#[repr(C)]
struct Outcome {
    error: c_int,
}

unsafe extern "C" {
    /// Writes a record under the keys that the connection writes with now (tls/s2n_record.h). The library's interface
    /// sends no alert of a caller's choice: this is the function by which it sends its own. The tests of certificates
    /// of clients look at the alerts, and fail where another version changes it.
    fn s2n_record_write(connection: *mut s2n_connection, content: u8, bytes: *mut Blob) -> Outcome;
}

unsafe extern "C" {
    /// Gives free memory back to the kernel (malloc_trim(3), of glibc).
    fn malloc_trim(pad: usize) -> c_int;
}

/// Gives back to the kernel what is free of the memory that C and Rust share: after thousands of
/// certificates are gone, or hundreds of connections had their buffers released.
pub fn give_back_memory() {
    // SAFETY: a call without conditions, from any thread; it looks at free memory alone.
    unsafe { malloc_trim(0) };
}

/// The library's own connection. The binding gives it out to nobody, but is that pointer and nothing else: as large as
/// one, it has no room for anything beside it.
fn of_library(connection: &mut Connection) -> *mut s2n_connection {
    const { assert!(size_of::<Connection>() == size_of::<*mut s2n_connection>()) };
    // SAFETY: both are one pointer, as said above; the copy is used while the connection is borrowed.
    unsafe { std::mem::transmute_copy::<Connection, *mut s2n_connection>(connection) }
}

/// Sends an alert, its level and its number, under whatever keys the connection has by now; false where that cannot be
/// done.
pub(crate) fn alert(connection: &mut Connection, mut bytes: [u8; 2]) -> bool {
    let connection = of_library(connection);
    let mut blob = Blob { data: bytes.as_mut_ptr(), size: 2, allocated: 0, growable: 0 };
    let mut blocked: s2n_blocked_status::Type = 0;
    // SAFETY: the connection is alive, and nobody else uses it; the blob outlives the call, which reads its two bytes.
    unsafe {
        // What lies ready goes before it: the library writes records into an empty buffer alone.
        s2n_flush(connection, &mut blocked) == 0
            && s2n_record_write(connection, ALERT, &mut blob).error == 0
            && s2n_flush(connection, &mut blocked) == 0
    }
}

/// What a client has shown, while the handshake goes on: the binding gives it out only later.
pub(crate) fn client_chain(connection: &mut Connection) -> Option<Vec<u8>> {
    let (mut bytes, mut length) = (null_mut(), 0);
    // SAFETY: the connection is alive; the library hands out memory of its own that is read before it goes on.
    unsafe {
        let found = s2n_connection_get_client_cert_chain(of_library(connection), &mut bytes, &mut length);
        (found == 0 && !bytes.is_null()).then(|| std::slice::from_raw_parts(bytes, length as usize).to_vec())
    }
}

/// Takes a final dot off the name that a client said. The name with it is the same host's, but the library finds no
/// chain for it, and it would go on to backends as another name (RFC 6066, section 3, has no names with one).
pub(crate) fn take_final_dot(connection: &mut Connection) {
    // SAFETY: the connection is alive, and nobody else uses it; the library says where in it the name lies, as text
    // that ends with a zero: one of its bytes before that zero becomes one.
    unsafe {
        let name = s2n_get_server_name(of_library(connection)).cast_mut();
        if name.is_null() {
            return;
        }
        if let [.., _, b'.'] = CStr::from_ptr(name).to_bytes() {
            *name.add(CStr::from_ptr(name).count_bytes() - 1) = 0;
        }
    }
}

/// Has the library take every certificate of a client, for a callback to decide.
pub(crate) fn leave_to_callback(builder: &mut Builder) -> Result<(), Error> {
    // SAFETY: a warning, and no condition on memory: whoever calls this sets a callback that accepts what its caller
    // has verified.
    unsafe { builder.disable_x509_verification()? };
    Ok(())
}

/// Tells the library what was decided of a client's certificates.
pub(crate) fn resolve(
    info: CertValidationInfo,
    connection: &mut Connection,
    is_accepted: bool,
) -> Result<(), Error> {
    // SAFETY: the connection is the one that asked: its own future calls, and it is alive.
    unsafe { if is_accepted { info.accept(connection) } else { info.reject(connection) } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use s2n_tls::enums::Mode;
    use s2n_tls_sys::{s2n_connection_get_config, s2n_connection_get_ctx, s2n_mode};

    #[test]
    fn a_connection_is_its_pointer_and_nothing_else() {
        for (mode, expected) in [(Mode::Server, s2n_mode::SERVER), (Mode::Client, s2n_mode::CLIENT)] {
            let mut connection = Connection::new(mode);
            let mut config = null_mut();
            let pointer = of_library(&mut connection);
            // SAFETY: alive until the end of the block.
            unsafe {
                assert_eq!(s2n_tls_sys::s2n_connection_get_mode(pointer), expected);
                assert!(!s2n_connection_get_ctx(pointer).is_null());
                assert!(s2n_connection_get_config(pointer, &mut config) != 0 && config.is_null());
            }
        }
    }
}
