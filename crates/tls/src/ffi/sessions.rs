//! The library's callbacks for sessions that a server keeps.

use crate::sessions::SessionStore;
use s2n_tls::config::Config;
use s2n_tls_sys::{
    s2n_config, s2n_config_set_cache_delete_callback, s2n_config_set_cache_retrieve_callback,
    s2n_config_set_cache_store_callback, s2n_config_set_session_cache_onoff,
    s2n_config_set_session_tickets_onoff, s2n_connection, s2n_get_server_name,
};
use std::ffi::{CStr, c_int, c_void};
use std::slice::{from_raw_parts, from_raw_parts_mut};
use std::sync::Arc;

/// Longest session number in bytes (RFC 5246, 7.4.1.2), and longest entry in bytes: a sealed session has some 100.
const NUMBER_BYTES_MAX: u64 = 32;
const ENTRY_BYTES_MAX: u64 = 4096;

/// Context of the callbacks: the store of sessions, and the policy that they belong to.
pub(crate) struct Cache {
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) policy: &'static str,
}

/// The library's own configuration. As for connections, the binding is just this pointer.
fn of_library(config: &Config) -> *mut s2n_config {
    const { assert!(size_of::<Config>() == size_of::<*mut s2n_config>()) };
    // SAFETY: both are one pointer: as large as one, it has no room for anything beside it.
    unsafe { std::mem::transmute_copy::<Config, *mut s2n_config>(config) }
}

/// Has the library keep sessions in `cache`, which must outlive the configuration and all its connections; false if the
/// library refuses.
pub(crate) fn keep_sessions(config: &Config, cache: &Cache, with_tickets: bool) -> bool {
    let data = std::ptr::from_ref(cache).cast_mut().cast::<c_void>();
    let config = of_library(config);
    // SAFETY: the configuration was just built, and nobody else has it; the cache outlives it, as the caller sees to.
    unsafe {
        s2n_config_set_cache_store_callback(config, Some(store), data) == 0
            && s2n_config_set_cache_retrieve_callback(config, Some(retrieve), data) == 0
            && s2n_config_set_cache_delete_callback(config, Some(delete), data) == 0
            && s2n_config_set_session_cache_onoff(config, 1) == 0
            && s2n_config_set_session_tickets_onoff(config, u8::from(with_tickets)) == 0
    }
}

/// A session's name in the store: policy, server name and number, separated so that none can be read as part of
/// another. `None` for a number of no valid length.
///
/// # Safety
/// `connection` is the library's own, and there are `count` bytes at `number`.
unsafe fn name(
    cache: &Cache,
    connection: *mut s2n_connection,
    number: *const c_void,
    count: u64,
) -> Option<Vec<u8>> {
    if number.is_null() || count == 0 || count > NUMBER_BYTES_MAX {
        return None;
    }
    // SAFETY: as the caller says; the name is text of the connection that ends with a zero.
    let (number, server) = unsafe {
        let server = s2n_get_server_name(connection);
        let server = if server.is_null() { c"" } else { CStr::from_ptr(server) };
        (from_raw_parts(number.cast::<u8>(), count as usize), server)
    };
    let server = server.to_bytes().to_ascii_lowercase();
    Some([cache.policy.as_bytes(), &[0], &server, &[0], number].concat())
}

unsafe extern "C" fn store(
    connection: *mut s2n_connection,
    cache: *mut c_void,
    _seconds: u64,
    number: *const c_void,
    count: u64,
    entry: *const c_void,
    entry_bytes: u64,
) -> c_int {
    // SAFETY: the data that `keep_sessions` has set; the library hands in its own connection and what lies at both
    // pointers.
    unsafe {
        let cache = &*cache.cast::<Cache>();
        let Some(name) = name(cache, connection, number, count) else { return -1 };
        if entry.is_null() || entry_bytes > ENTRY_BYTES_MAX {
            return -1;
        }
        cache.store.store(name, from_raw_parts(entry.cast::<u8>(), entry_bytes as usize));
    }
    0
}

unsafe extern "C" fn retrieve(
    connection: *mut s2n_connection,
    cache: *mut c_void,
    number: *const c_void,
    count: u64,
    entry: *mut c_void,
    entry_bytes: *mut u64,
) -> c_int {
    // SAFETY: as in `store`; the library has room for as many bytes as it says, and wants as many.
    unsafe {
        let cache = &*cache.cast::<Cache>();
        let Some(name) = name(cache, connection, number, count) else { return -1 };
        if entry.is_null() || entry_bytes.is_null() || *entry_bytes > ENTRY_BYTES_MAX {
            return -1;
        }
        let into = from_raw_parts_mut(entry.cast::<u8>(), *entry_bytes as usize);
        if cache.store.retrieve(&name, into) { 0 } else { -1 }
    }
}

unsafe extern "C" fn delete(
    connection: *mut s2n_connection,
    cache: *mut c_void,
    number: *const c_void,
    count: u64,
) -> c_int {
    // SAFETY: as in `store`.
    unsafe {
        let cache = &*cache.cast::<Cache>();
        let Some(name) = name(cache, connection, number, count) else { return -1 };
        cache.store.delete(&name);
    }
    0
}
