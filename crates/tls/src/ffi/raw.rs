//! Functions that the library has in C alone, on the connections and configurations of its Rust binding.

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

/// `struct s2n_blob` (utils/s2n_blob.h). A blob that does not own its bytes has nothing allocated, and does not grow.
#[repr(C)]
struct Blob {
    data: *mut u8,
    size: u32,
    allocated: u32,
    growable: u32,
}

/// `s2n_result` (utils/s2n_result.h): zero for success.
#[repr(C)]
struct Outcome {
    error: c_int,
}

unsafe extern "C" {
    /// Writes a record under the connection's present keys (tls/s2n_record.h). The library's interface sends no alert
    /// of a caller's choice; with this function it sends its own. The tests of clients' certificates look at the
    /// alerts, and fail if another version of the library changes the function.
    fn s2n_record_write(connection: *mut s2n_connection, content: u8, bytes: *mut Blob) -> Outcome;
}

unsafe extern "C" {
    /// Gives free memory back to the kernel (malloc_trim(3), of glibc).
    fn malloc_trim(pad: usize) -> c_int;
}

/// Gives free memory of C and Rust, which share it, back to the kernel. For use after thousands of certificates are
/// gone, or hundreds of connections had their buffers released.
pub fn give_back_memory() {
    // SAFETY: a call without conditions, from any thread; it looks at free memory alone.
    unsafe { malloc_trim(0) };
}

/// The library's own connection. The binding does not give it out, but is just this pointer: a type as large as a
/// pointer has no room for anything else.
fn of_library(connection: &mut Connection) -> *mut s2n_connection {
    const { assert!(size_of::<Connection>() == size_of::<*mut s2n_connection>()) };
    // SAFETY: both are one pointer, as said above; the copy is used while the connection is borrowed.
    unsafe { std::mem::transmute_copy::<Connection, *mut s2n_connection>(connection) }
}

/// Sends an alert, its level and its number, under the connection's present keys; false if it cannot be sent.
pub(crate) fn alert(connection: &mut Connection, mut bytes: [u8; 2]) -> bool {
    let connection = of_library(connection);
    let mut blob = Blob { data: bytes.as_mut_ptr(), size: 2, allocated: 0, growable: 0 };
    let mut blocked: s2n_blocked_status::Type = 0;
    // SAFETY: the connection is alive, and nobody else uses it; the blob outlives the call, which reads its two bytes.
    unsafe {
        // Pending bytes go first: the library writes a record only into an empty buffer.
        s2n_flush(connection, &mut blocked) == 0
            && s2n_record_write(connection, ALERT, &mut blob).error == 0
            && s2n_flush(connection, &mut blocked) == 0
    }
}

/// The chain that a client has shown, while the handshake goes on; the binding gives it out only later.
pub(crate) fn client_chain(connection: &mut Connection) -> Option<Vec<u8>> {
    let (mut bytes, mut length) = (null_mut(), 0);
    // SAFETY: the connection is alive; the library hands out memory of its own that is read before it goes on.
    unsafe {
        let found = s2n_connection_get_client_cert_chain(of_library(connection), &mut bytes, &mut length);
        (found == 0 && !bytes.is_null()).then(|| std::slice::from_raw_parts(bytes, length as usize).to_vec())
    }
}

/// Removes a final dot from the name that a client sent. The name with the dot means the same host, but the library
/// finds no chain for it, and backends would see it as another name. RFC 6066, section 3, has no names with a final
/// dot.
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

/// Has the library accept every certificate of a client, so that a callback decides.
pub(crate) fn leave_to_callback(builder: &mut Builder) -> Result<(), Error> {
    // SAFETY: the function is marked unsafe as a warning, without a condition on memory. Callers set a callback that
    // accepts only what its own caller has verified.
    unsafe { builder.disable_x509_verification()? };
    Ok(())
}

/// Tells the library the verdict on a client's certificates.
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
