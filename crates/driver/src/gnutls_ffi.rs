//! GnuTLS (`libgnutls.so.30`, Debian package `libgnutls30`), loaded at run time: as a client for one exact suite, and
//! for suites that other libraries no longer offer.
//!
//! Only the functions in use are declared, by `gnutls/gnutls.h` of 3.7. The library has no access to sockets: received
//! bytes and bytes to send lie in a [`Wire`], which its two callbacks read and write.

use libloading::Library;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::OnceLock;
use zeroize::Zeroizing;

/// The library's file, and the oldest release allowed: the first one with TLS 1.3.
const FILE: &str = "libgnutls.so.30";
const RELEASE: &CStr = c"3.6.5";
/// Flags of `gnutls_init`: client, non-blocking, no signals, no tickets.
const CLIENT: c_uint = 1 << 1 | 1 << 3 | 1 << 6;
const NO_TICKETS: c_uint = 1 << 10;
const PEM: c_int = 1;
const CERTIFICATE: c_int = 1;
const NAME_DNS: c_int = 1;
const SHUT_WR: c_int = 1;
const TICKET_CAME: c_uint = 1 << 7;
/// `gnutls_protocol_t`.
const TLS_1_2: c_int = 4;
const TLS_1_3: c_int = 5;
const AGAIN: c_int = -28;
const INTERRUPTED: c_int = -52;
/// `EAGAIN`, as the library takes it.
const ERRNO_AGAIN: c_int = 11;
/// Upper bound of a cached session, in bytes.
const SESSION_BYTES_MAX: usize = 64 << 10;

type Handle = *mut c_void;

#[repr(C)]
struct Datum {
    data: *const u8,
    size: c_uint,
}

impl Datum {
    fn of(bytes: &[u8]) -> Result<Self, String> {
        let size = c_uint::try_from(bytes.len()).map_err(|_| "too long".to_owned())?;
        Ok(Self { data: bytes.as_ptr(), size })
    }
}

macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) $(-> $answer:ty)?;)*) => {
        struct Functions {
            $($name: unsafe extern "C" fn($($argument),*) $(-> $answer)?,)*
            /// The loaded library, to which the functions belong.
            _library: Library,
        }

        impl Functions {
            fn of(library: Library) -> Result<Self, libloading::Error> {
                Ok(Self {
                    // SAFETY: each is declared as the library's header declares it, and the library stays as long as
                    // they do.
                    $($name: unsafe { *library.get(concat!("gnutls_", stringify!($name), "\0").as_bytes())? },)*
                    _library: library,
                })
            }
        }
    };
}

functions! {
    check_version: fn(*const c_char) -> *const c_char;
    strerror: fn(c_int) -> *const c_char;
    certificate_allocate_credentials: fn(*mut Handle) -> c_int;
    certificate_free_credentials: fn(Handle);
    certificate_set_x509_trust_mem: fn(Handle, *const Datum, c_int) -> c_int;
    certificate_set_x509_key_mem: fn(Handle, *const Datum, *const Datum, c_int) -> c_int;
    priority_init: fn(*mut Handle, *const c_char, *mut *const c_char) -> c_int;
    priority_deinit: fn(Handle);
    init: fn(*mut Handle, c_uint) -> c_int;
    deinit: fn(Handle);
    priority_set: fn(Handle, Handle) -> c_int;
    credentials_set: fn(Handle, c_int, Handle) -> c_int;
    server_name_set: fn(Handle, c_int, *const c_void, usize) -> c_int;
    session_set_verify_cert: fn(Handle, *const c_char, c_uint);
    transport_set_ptr: fn(Handle, Handle);
    transport_set_push_function: fn(Handle, unsafe extern "C" fn(Handle, *const c_void, usize) -> isize);
    transport_set_pull_function: fn(Handle, unsafe extern "C" fn(Handle, *mut c_void, usize) -> isize);
    transport_set_pull_timeout_function: fn(Handle, unsafe extern "C" fn(Handle, c_uint) -> c_int);
    transport_set_errno: fn(Handle, c_int);
    handshake: fn(Handle) -> c_int;
    record_recv: fn(Handle, *mut c_void, usize) -> isize;
    record_send: fn(Handle, *const c_void, usize) -> isize;
    bye: fn(Handle, c_int) -> c_int;
    alert_get: fn(Handle) -> c_int;
    session_is_resumed: fn(Handle) -> c_int;
    session_get_data: fn(Handle, *mut c_void, *mut usize) -> c_int;
    session_set_data: fn(Handle, *const c_void, usize) -> c_int;
    session_get_flags: fn(Handle) -> c_uint;
    protocol_get_version: fn(Handle) -> c_int;
    kx_get: fn(Handle) -> c_int;
    kx_get_name: fn(c_int) -> *const c_char;
    cipher_get: fn(Handle) -> c_int;
    cipher_get_name: fn(c_int) -> *const c_char;
    mac_get: fn(Handle) -> c_int;
    mac_get_name: fn(c_int) -> *const c_char;
    group_get: fn(Handle) -> c_int;
    group_get_name: fn(c_int) -> *const c_char;
}

/// The library's functions, or why it cannot be used.
fn functions() -> Result<&'static Functions, String> {
    static FUNCTIONS: OnceLock<Result<Functions, String>> = OnceLock::new();
    let found = FUNCTIONS.get_or_init(|| {
        let missing = |why: &dyn std::fmt::Display| {
            format!("GnuTLS ({FILE}, Debian package libgnutls30) cannot be used: {why}")
        };
        // SAFETY: loading the library runs its initialisers, which prepare it for use and nothing else.
        let library = unsafe { Library::new(FILE) }.map_err(|error| missing(&error))?;
        let functions = Functions::of(library).map_err(|error| missing(&error))?;
        // SAFETY: the text ends with a zero.
        if unsafe { (functions.check_version)(RELEASE.as_ptr()) }.is_null() {
            return Err(missing(&format!("it is older than {}", RELEASE.to_string_lossy())));
        }
        Ok(functions)
    });
    found.as_ref().map_err(Clone::clone)
}

/// A constant text of the library; empty for a null pointer.
fn text(of_library: *const c_char) -> &'static str {
    if of_library.is_null() {
        return "";
    }
    // SAFETY: names and messages are constants of the library, which is never unloaded, and end with a zero.
    unsafe { CStr::from_ptr(of_library) }.to_str().unwrap_or_default()
}

/// Settings of all connections: priorities, roots, the client's certificate.
pub(crate) struct Settings {
    functions: &'static Functions,
    credentials: Handle,
    priorities: Handle,
    checks: bool,
    flags: c_uint,
}

// SAFETY: after `new` credentials and priorities are only read, which the library allows from several threads.
unsafe impl Send for Settings {}
// SAFETY: as above.
unsafe impl Sync for Settings {}

impl Settings {
    /// Makes settings from a priority string, roots in PEM (None: certificates are not checked), and a chain with its
    /// key in PEM.
    ///
    /// Errors: the library is missing or too old, or refuses one of them.
    pub(crate) fn new(
        priorities: &str,
        roots: Option<&[u8]>,
        own: Option<(&[u8], &[u8])>,
        has_tickets: bool,
    ) -> Result<Self, String> {
        let functions = functions()?;
        let flags = if has_tickets { CLIENT } else { CLIENT | NO_TICKETS };
        let mut settings = Self {
            functions,
            credentials: ptr::null_mut(),
            priorities: ptr::null_mut(),
            checks: roots.is_some(),
            flags,
        };
        // SAFETY: the handle is written where it is told to; `Drop` frees it.
        let made = unsafe { (functions.certificate_allocate_credentials)(&raw mut settings.credentials) };
        settings.check("GnuTLS", made)?;
        let string = CString::new(priorities).map_err(|_| "a priority string with a zero".to_owned())?;
        // SAFETY: the string ends with a zero; where it is wrong is not asked for.
        let made = unsafe {
            (functions.priority_init)(&raw mut settings.priorities, string.as_ptr(), ptr::null_mut())
        };
        settings.check(&format!("priorities {priorities}"), made)?;
        if let Some(pem) = roots {
            let pem = Datum::of(pem)?;
            // SAFETY: the credentials are there, and the datum lives past the call, which copies it.
            let count = unsafe {
                (functions.certificate_set_x509_trust_mem)(settings.credentials, &raw const pem, PEM)
            };
            if count == 0 {
                return Err("--ca: no certificates in PEM".to_owned());
            }
            settings.check("--ca", count)?;
        }
        if let Some((chain, key)) = own {
            let (chain, key) = (Datum::of(chain)?, Datum::of(key)?);
            // SAFETY: as above, for both.
            let set = unsafe {
                (functions.certificate_set_x509_key_mem)(
                    settings.credentials,
                    &raw const chain,
                    &raw const key,
                    PEM,
                )
            };
            settings.check("--client-certificate", set)?;
        }
        Ok(settings)
    }

    fn check(&self, what: &str, code: c_int) -> Result<(), String> {
        if code >= 0 {
            return Ok(());
        }
        // SAFETY: any number is taken.
        Err(format!("{what}: {}", text(unsafe { (self.functions.strerror)(code) })))
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        // SAFETY: each was made by the library or is null, and no session is left that uses it: sessions borrow from a
        // run that ends before.
        unsafe {
            if !self.priorities.is_null() {
                (self.functions.priority_deinit)(self.priorities);
            }
            if !self.credentials.is_null() {
                (self.functions.certificate_free_credentials)(self.credentials);
            }
        }
    }
}

/// Buffers of received bytes and of bytes to send.
struct Wire {
    session: Handle,
    functions: &'static Functions,
    incoming: Vec<u8>,
    /// Number of received bytes that the library has read.
    at: usize,
    has_ended: bool,
    outgoing: Vec<u8>,
}

impl Wire {
    /// Received bytes that the library has not read.
    fn rest(&self) -> usize {
        self.incoming.len() - self.at
    }
}

/// An error code that the library returned in place of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code(pub(crate) c_int);

/// Negotiated parameters, by the library's names.
pub(crate) struct Agreed {
    pub(crate) version: &'static str,
    pub(crate) exchange: &'static str,
    pub(crate) cipher: &'static str,
    pub(crate) mac: &'static str,
    pub(crate) group: &'static str,
    pub(crate) is_resumed: bool,
}

/// A client's connection.
pub(crate) struct Session {
    handle: Handle,
    functions: &'static Functions,
    wire: Box<Wire>,
    /// The expected name of the certificate, kept alive because the library keeps its address.
    _name: Option<CString>,
}

impl Session {
    /// A connection that asks for a server name and offers a session, if either is given.
    pub(crate) fn new(settings: &Settings, name: Option<&str>, offered: Option<&[u8]>) -> Result<Self, Code> {
        let functions = settings.functions;
        let mut handle = ptr::null_mut();
        // SAFETY: the handle is written where it is told to.
        let made = unsafe { (functions.init)(&raw mut handle, settings.flags) };
        if made < 0 {
            return Err(Code(made));
        }
        let wire = Wire {
            session: handle,
            functions,
            incoming: Vec::new(),
            at: 0,
            has_ended: false,
            outgoing: Vec::new(),
        };
        let name = name.and_then(|name| CString::new(name).ok());
        let address = name.as_ref().map_or(ptr::null(), |name| name.as_ptr());
        let bytes = name.as_ref().map_or(0, |name| name.as_bytes().len());
        let mut session = Self { handle, functions, wire: Box::new(wire), _name: name };
        // SAFETY: the session is there, settings outlive it, wire and name lie on the heap as long as it, and
        // bytes live past the calls, which copy them.
        unsafe {
            let wire: *mut Wire = &raw mut *session.wire;
            (functions.transport_set_ptr)(handle, wire.cast());
            (functions.transport_set_push_function)(handle, push);
            (functions.transport_set_pull_function)(handle, pull);
            (functions.transport_set_pull_timeout_function)(handle, is_there);
            let mut codes = vec![
                (functions.priority_set)(handle, settings.priorities),
                (functions.credentials_set)(handle, CERTIFICATE, settings.credentials),
            ];
            if bytes > 0 {
                codes.push((functions.server_name_set)(handle, NAME_DNS, address.cast(), bytes));
            }
            if settings.checks {
                (functions.session_set_verify_cert)(handle, address, 0);
            }
            if let Some(offered) = offered {
                codes.push((functions.session_set_data)(handle, offered.as_ptr().cast(), offered.len()));
            }
            match codes.into_iter().find(|code| *code < 0) {
                Some(code) => Err(Code(code)),
                None => Ok(session),
            }
        }
    }

    pub(crate) fn receive(&mut self, bytes: &[u8]) {
        self.wire.incoming.extend_from_slice(bytes);
    }

    pub(crate) fn receive_end(&mut self) {
        self.wire.has_ended = true;
    }

    pub(crate) fn outgoing(&self) -> &[u8] {
        &self.wire.outgoing
    }

    pub(crate) fn sent(&mut self, bytes: usize) {
        self.wire.outgoing.drain(..bytes.min(self.wire.outgoing.len()));
    }

    /// Continues the handshake; true once it is complete.
    pub(crate) fn handshake(&mut self) -> Result<bool, Code> {
        // SAFETY: the session and its wire are there, and nobody else uses them meanwhile.
        match unsafe { (self.functions.handshake)(self.handle) } {
            AGAIN | INTERRUPTED => Ok(false),
            code if code < 0 => Err(Code(code)),
            _ => Ok(true),
        }
    }

    /// Reads plaintext and returns its length: 0 at the end, None if more bytes must be received first.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> Result<Option<usize>, Code> {
        loop {
            let before = self.wire.rest();
            // SAFETY: as above; the library writes no more than the room that it is told of.
            let count =
                unsafe { (self.functions.record_recv)(self.handle, into.as_mut_ptr().cast(), into.len()) };
            let rest = self.wire.rest();
            match usize::try_from(count) {
                Ok(count) => return Ok(Some(count)),
                Err(_) if ![AGAIN, INTERRUPTED].contains(&(count as c_int)) => {
                    return Err(Code(count as c_int));
                }
                // The library consumed a ticket: data may lie behind it.
                Err(_) if rest > 0 && rest < before => {}
                Err(_) => return Ok(None),
            }
        }
    }

    /// Enciphers all bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Code> {
        let mut rest = bytes;
        while !rest.is_empty() {
            // SAFETY: as above; the library reads no more than it is told of. The wire takes all that it is given.
            let count =
                unsafe { (self.functions.record_send)(self.handle, rest.as_ptr().cast(), rest.len()) };
            let count = usize::try_from(count).map_err(|_| Code(count as c_int))?;
            rest = rest.get(count..).unwrap_or_default();
        }
        Ok(())
    }

    /// Queues the close notification: nothing more is sent.
    pub(crate) fn close(&mut self) {
        // SAFETY: as above. Without waiting for the other side nothing fails that is not seen later.
        unsafe { (self.functions.bye)(self.handle, SHUT_WR) };
    }

    /// Number of the alert received last.
    pub(crate) fn alert(&self) -> u8 {
        // SAFETY: as above.
        unsafe { (self.functions.alert_get)(self.handle) as u8 }
    }

    /// The session for resumption; in TLS 1.3 only after a ticket was received.
    pub(crate) fn session(&mut self) -> Option<Zeroizing<Vec<u8>>> {
        // SAFETY: as above; the library writes no more than the room that it is told of, and says how much that was.
        unsafe {
            let is_13 = (self.functions.protocol_get_version)(self.handle) == TLS_1_3;
            if is_13 && (self.functions.session_get_flags)(self.handle) & TICKET_CAME == 0 {
                return None;
            }
            let mut session = Zeroizing::new(vec![0; SESSION_BYTES_MAX]);
            let mut count = session.len();
            let got =
                (self.functions.session_get_data)(self.handle, session.as_mut_ptr().cast(), &raw mut count);
            (got == 0).then(|| Zeroizing::new(session.get(..count).unwrap_or_default().to_vec()))
        }
    }

    /// The negotiated parameters.
    pub(crate) fn agreed(&self) -> Agreed {
        let (of, handle) = (self.functions, self.handle);
        // SAFETY: as above; names are asked for by numbers that the library gave.
        unsafe {
            let group = (of.group_get)(handle);
            Agreed {
                version: match (of.protocol_get_version)(handle) {
                    TLS_1_3 => "TLS1.3",
                    TLS_1_2 => "TLS1.2",
                    _ => "older",
                },
                exchange: text((of.kx_get_name)((of.kx_get)(handle))),
                cipher: text((of.cipher_get_name)((of.cipher_get)(handle))),
                mac: text((of.mac_get_name)((of.mac_get)(handle))),
                group: if group == 0 { "" } else { text((of.group_get_name)(group)) },
                is_resumed: (of.session_is_resumed)(handle) != 0,
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: the session is there, and its wire as well.
        unsafe { (self.functions.deinit)(self.handle) };
    }
}

/// Callback: appends the library's bytes to those to send.
unsafe extern "C" fn push(wire: Handle, bytes: *const c_void, count: usize) -> isize {
    // SAFETY: the library calls this within calls of a session, with that session's wire, which nothing else refers to
    // then, and with so many bytes.
    let (wire, bytes) =
        unsafe { (&mut *wire.cast::<Wire>(), std::slice::from_raw_parts(bytes.cast(), count)) };
    wire.outgoing.extend_from_slice(bytes);
    count as isize
}

/// Callback: gives received bytes to the library; 0 at the end.
unsafe extern "C" fn pull(wire: Handle, into: *mut c_void, room: usize) -> isize {
    // SAFETY: as in `push`.
    let wire = unsafe { &mut *wire.cast::<Wire>() };
    let count = room.min(wire.incoming.len() - wire.at);
    if count == 0 {
        if wire.has_ended {
            return 0;
        }
        // SAFETY: the session is that of the call.
        unsafe { (wire.functions.transport_set_errno)(wire.session, ERRNO_AGAIN) };
        return -1;
    }
    // SAFETY: so many bytes are there from that place, and the library has room for them elsewhere.
    unsafe { ptr::copy_nonoverlapping(wire.incoming.as_ptr().add(wire.at), into.cast(), count) };
    wire.at += count;
    if wire.at == wire.incoming.len() {
        wire.incoming.clear();
        wire.at = 0;
    }
    count as isize
}

/// Callback: whether received bytes are there; does not wait.
unsafe extern "C" fn is_there(wire: Handle, _milliseconds: c_uint) -> c_int {
    // SAFETY: as in `push`.
    let wire = unsafe { &*wire.cast::<Wire>() };
    c_int::from(wire.at < wire.incoming.len() || wire.has_ended)
}
