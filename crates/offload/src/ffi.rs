//! The functions of `cryptand-offload.h`, which says what each does.
//!
//! What callers point to is copied before it is read. No panic leaves a function, and no function waits unless the
//! header says so.

use crate::error::{OffloadError, Status};
use crate::given::{self, STRUCTURE_BYTES_MAX, invalid};
use crate::handles;
use crate::offload::{Finished, Key, LoopOptions, Offload};
use crate::work::{ANSWER_BYTES_MAX, Answer, CIPHERTEXT_BYTES_MAX, PublicKeyKind};
use facility::{Options, credential};
use home::place;
use std::cell::RefCell;
use std::ffi::{CStr, OsStr, c_char, c_int, c_uint};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::ptr;
use std::time::Duration;
use wire::bounds::LABEL_BYTES;
use zeroize::Zeroize;

/// Version of the C interface: it grows by functions and by fields at the ends of structures.
const ABI: c_int = 1;
/// Longest path in bytes, with the zero byte at its end.
const PATH_BYTES_MAX: usize = 4096;
/// Longest text of an error in bytes, with the zero byte at its end.
const TEXT_BYTES: usize = 512;
/// Longest digest in bytes.
const DIGEST_BYTES_MAX: usize = 64;

thread_local! {
    /// Why the last call of a thread failed. The text has no destructor, which could run before the thread's last call.
    static TEXT: RefCell<[u8; TEXT_BYTES]> = const { RefCell::new([0; TEXT_BYTES]) };
}

/// `struct cryptand_offload_options`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CryptandOffloadOptions {
    domain: u32,
    in_flight_max: u32,
    card_wait_ms: u32,
    answer_wait_ms: u32,
}

/// `struct cryptand_offload_result`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CryptandOffloadResult {
    /// The number that the caller gave the request.
    pub id: u64,
    /// A [`Status`].
    pub status: i32,
    /// An [`Operation`](crate::Operation).
    pub operation: u32,
    /// A card's return code, with [`Status::Refused`].
    pub return_code: u32,
    /// A card's reason code, with [`Status::Refused`].
    pub reason_code: u32,
    /// A [`PublicKeyKind`], for a public key.
    pub kind: u32,
    /// Length of the answer in bytes.
    pub length: u32,
    /// The answer, in the first `length` bytes.
    pub bytes: [u8; ANSWER_BYTES_MAX],
    /// Why there is no answer; ends with a zero byte.
    pub text: [u8; TEXT_BYTES],
}

const _: () =
    assert!(size_of::<CryptandOffloadOptions>() == 16 && size_of::<CryptandOffloadResult>() == 1568);

impl std::fmt::Debug for CryptandOffloadResult {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("CryptandOffloadResult").field("id", &self.id).finish_non_exhaustive()
    }
}

impl CryptandOffloadResult {
    /// A result without a request, whose fields are all zero.
    pub const fn empty() -> Self {
        Self {
            id: 0,
            status: 0,
            operation: 0,
            return_code: 0,
            reason_code: 0,
            kind: PublicKeyKind::Other as u32,
            length: 0,
            bytes: [0; ANSWER_BYTES_MAX],
            text: [0; TEXT_BYTES],
        }
    }

    /// The result of a request that has ended.
    pub fn of(finished: &Finished) -> Self {
        let mut result = Self { id: finished.id, operation: finished.operation as u32, ..Self::empty() };
        let mut put = |bytes: &[u8]| {
            result.bytes[..bytes.len()].copy_from_slice(bytes);
            result.length = bytes.len() as u32;
        };
        match &finished.answer {
            Ok(Answer::Signature(bytes)) => put(bytes),
            Ok(Answer::Premaster(secret)) => put(&secret[..]),
            Ok(Answer::PublicKey(kind, der)) => {
                put(der);
                result.kind = *kind as u32;
            }
            Err(error) => {
                result.status = error.status as i32;
                let codes = error.codes.map(|codes| (codes.return_code as u32, codes.reason_code as u32));
                (result.return_code, result.reason_code) = codes.unwrap_or_default();
                put_text(&error.text, &mut result.text);
            }
        }
        result
    }
}

/// Writes a text with a zero byte behind it, cut at a letter where it is too long.
fn put_text(text: &str, place: &mut [u8; TEXT_BYTES]) {
    let end = text.floor_char_boundary(TEXT_BYTES - 1);
    place.fill(0);
    place[..end].copy_from_slice(&text.as_bytes()[..end]);
}

/// Runs the body of a function; an error becomes the returned status and the text of the thread.
fn guarded(body: impl FnOnce() -> Result<c_int, OffloadError>) -> c_int {
    let error = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(value)) => return value,
        Ok(Err(error)) => error,
        Err(_) => OffloadError::new(Status::Fault, "a fault in libcryptand-offload; standard error shows it"),
    };
    // A thread that is ending has no text any more, so none is kept.
    let _ = TEXT.try_with(|place| place.try_borrow_mut().map(|mut place| put_text(&error.text, &mut place)));
    error.status as c_int
}

/// A copy of `length` bytes.
///
/// # Safety
/// `bytes` is null, or points to `length` bytes if these are at most `most`.
unsafe fn copied(
    operation: &str,
    bytes: *const u8,
    length: usize,
    most: usize,
) -> Result<Vec<u8>, OffloadError> {
    given::length(operation, length, most)?;
    if bytes.is_null() {
        return Err(invalid(format!("{operation}: a null pointer in place of {length} bytes")));
    }
    let mut copy = vec![0; length];
    // SAFETY: the caller's promise; the copy is nobody else's.
    unsafe { ptr::copy_nonoverlapping(bytes, copy.as_mut_ptr(), length) };
    Ok(copy)
}

/// A copy of a text, without the zero byte at its end.
///
/// # Safety
/// `text` is null, or points to bytes of which one of the first `room` is zero, or as many as that.
unsafe fn text_of(operation: &str, text: *const c_char, room: usize) -> Result<Vec<u8>, OffloadError> {
    if text.is_null() {
        return Err(invalid(format!("{operation}: a null pointer in place of a text")));
    }
    let mut copy = Vec::new();
    while copy.len() < room {
        // SAFETY: the caller's promise: no byte behind the zero is looked at.
        match unsafe { text.cast::<u8>().add(copy.len()).read() } {
            0 => return Ok(copy),
            byte => copy.push(byte),
        }
    }
    Err(invalid(format!("{operation}: a text of {room} bytes or more, where at most {} may be", room - 1)))
}

/// `cryptand_offload_abi`.
#[unsafe(no_mangle)]
pub extern "C" fn cryptand_offload_abi() -> c_int {
    ABI
}

/// `cryptand_offload_open`.
///
/// # Safety
/// `home` and `credential_file` are null or texts that end with a zero byte, `options` is null or points to
/// `options_bytes` bytes, and `handle` to a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cryptand_offload_open(
    home: *const c_char,
    credential_file: *const c_char,
    options: *const CryptandOffloadOptions,
    options_bytes: usize,
    handle: *mut u64,
) -> c_int {
    guarded(|| {
        if handle.is_null() {
            return Err(invalid("open: a null pointer in place of the handle's"));
        }
        // SAFETY: the caller's promise.
        unsafe { handle.write_unaligned(0) };
        let (options, of_loop) = match options.is_null() {
            true => Default::default(),
            false => {
                let (what, most) = ("open: the options", STRUCTURE_BYTES_MAX);
                // SAFETY: the caller's promise.
                given::options(&unsafe { copied(what, options.cast(), options_bytes, most) }?)?
            }
        };
        let path = |text: *const c_char| match text.is_null() {
            true => Ok(None),
            false => {
                // SAFETY: the caller's promise.
                let bytes = unsafe { text_of("open", text, PATH_BYTES_MAX) }?;
                Ok(Some(PathBuf::from(OsStr::from_bytes(&bytes))))
            }
        };
        let (home, credential_file) = (path(home)?, path(credential_file)?);
        let number = handles::open(|| open(home, credential_file, options, of_loop))?;
        // SAFETY: the caller's promise.
        unsafe { handle.write_unaligned(number) };
        Ok(0)
    })
}

fn open(
    home: Option<PathBuf>,
    credential_file: Option<PathBuf>,
    options: Options,
    of_loop: LoopOptions,
) -> Result<Offload, OffloadError> {
    let failed = |error: facility::FacilityError| OffloadError::of("open", &error);
    let home = match home {
        Some(home) => home,
        None => place::of_program().map_err(|error| failed(error.into()))?.ok_or_else(|| {
            OffloadError::new(Status::Home, "open: no home is named, nor by CRYPTAND_HOME, and none is found")
        })?,
    };
    let credential = match credential_file {
        Some(path) if path == Path::new("") => None,
        Some(path) => Some(credential::read(&path).map_err(failed)?),
        None => credential::from_environment().map_err(failed)?,
    };
    Offload::open(&home, Options { credential, in_caller: false, ..options }, of_loop)
}

/// `cryptand_offload_descriptor`.
#[unsafe(no_mangle)]
pub extern "C" fn cryptand_offload_descriptor(handle: u64) -> c_int {
    guarded(|| handles::with(handle, "descriptor", |offload| Ok(offload.as_fd().as_raw_fd())))
}

/// `cryptand_offload_key`.
///
/// # Safety
/// `label` is null or a text that ends with a zero byte, and `key` points to a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cryptand_offload_key(handle: u64, label: *const c_char, key: *mut u64) -> c_int {
    guarded(|| {
        if key.is_null() {
            return Err(invalid("key: a null pointer in place of the key's"));
        }
        // SAFETY: the caller's promise.
        let text = unsafe { text_of("key: the label", label, LABEL_BYTES + 1) }?;
        let text = given::label(&text)?;
        let found = handles::with(handle, "key", |offload| offload.key(text))?;
        // SAFETY: the caller's promise.
        unsafe { key.write_unaligned(found.0) };
        Ok(0)
    })
}

/// `cryptand_offload_sign`.
///
/// # Safety
/// `digest` is null or points to `digest_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cryptand_offload_sign(
    handle: u64,
    id: u64,
    key: u64,
    scheme: c_uint,
    digest: *const u8,
    digest_bytes: usize,
) -> c_int {
    guarded(|| {
        let scheme = given::scheme(scheme)?;
        // SAFETY: the caller's promise.
        let digest = unsafe { copied("sign: the digest", digest, digest_bytes, DIGEST_BYTES_MAX) }?;
        handles::with(handle, "sign", |offload| offload.sign(id, Key(key), scheme, &digest)).map(|()| 0)
    })
}

/// `cryptand_offload_premaster`.
///
/// # Safety
/// `ciphertext` is null or points to `ciphertext_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cryptand_offload_premaster(
    handle: u64,
    id: u64,
    key: u64,
    ciphertext: *const u8,
    ciphertext_bytes: usize,
) -> c_int {
    guarded(|| {
        let what = "premaster: the ciphertext";
        // SAFETY: the caller's promise.
        let ciphertext = unsafe { copied(what, ciphertext, ciphertext_bytes, CIPHERTEXT_BYTES_MAX) }?;
        handles::with(handle, "premaster", |offload| offload.premaster(id, Key(key), &ciphertext)).map(|()| 0)
    })
}

/// `cryptand_offload_public_key`.
#[unsafe(no_mangle)]
pub extern "C" fn cryptand_offload_public_key(handle: u64, id: u64, key: u64) -> c_int {
    guarded(|| handles::with(handle, "public_key", |offload| offload.public_key(id, Key(key))).map(|()| 0))
}

/// `cryptand_offload_cancel`.
#[unsafe(no_mangle)]
pub extern "C" fn cryptand_offload_cancel(handle: u64, id: u64) -> c_int {
    guarded(|| handles::with(handle, "cancel", |offload| Ok(c_int::from(offload.cancel(id)))))
}

/// `cryptand_offload_collect`.
///
/// # Safety
/// `result` is null or points to `result_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cryptand_offload_collect(
    handle: u64,
    result: *mut CryptandOffloadResult,
    result_bytes: usize,
) -> c_int {
    guarded(|| {
        let least = size_of::<CryptandOffloadResult>();
        if result.is_null() || result_bytes < least {
            let given = if result.is_null() { 0 } else { result_bytes };
            return Err(invalid(format!("collect: room of {given} bytes for a result of {least}")));
        }
        handles::with(handle, "collect", |offload| {
            let Some(finished) = offload.collect() else { return Ok(0) };
            let mut found = CryptandOffloadResult::of(&finished);
            // SAFETY: the caller's promise, and it has the room.
            unsafe { result.write_unaligned(found) };
            found.bytes.zeroize();
            Ok(1)
        })
    })
}

/// `cryptand_offload_arm`.
#[unsafe(no_mangle)]
pub extern "C" fn cryptand_offload_arm(handle: u64) -> c_int {
    guarded(|| handles::with(handle, "arm", |offload| Ok(c_int::from(offload.arm()))))
}

/// `cryptand_offload_flush`.
#[unsafe(no_mangle)]
pub extern "C" fn cryptand_offload_flush(handle: u64) -> c_int {
    guarded(|| {
        handles::with(handle, "flush", |offload| {
            offload.flush();
            Ok(0)
        })
    })
}

/// `cryptand_offload_wait`.
#[unsafe(no_mangle)]
pub extern "C" fn cryptand_offload_wait(handle: u64, milliseconds: c_int) -> c_int {
    guarded(|| {
        let span = u64::try_from(milliseconds).ok().map(Duration::from_millis);
        handles::with(handle, "wait", |offload| Ok(c_int::from(offload.wait(span))))
    })
}

/// `cryptand_offload_in_flight`.
#[unsafe(no_mangle)]
pub extern "C" fn cryptand_offload_in_flight(handle: u64) -> c_int {
    guarded(|| handles::with(handle, "in_flight", |offload| Ok(offload.in_flight() as c_int)))
}

/// `cryptand_offload_close`.
#[unsafe(no_mangle)]
pub extern "C" fn cryptand_offload_close(handle: u64) -> c_int {
    guarded(|| handles::close(handle).map(|()| 0))
}

/// `cryptand_offload_text`.
#[unsafe(no_mangle)]
pub extern "C" fn cryptand_offload_text() -> *const c_char {
    const ENDING: &CStr = c"the thread is ending";
    let place = TEXT.try_with(|place| place.as_ptr().cast_const().cast());
    place.unwrap_or(ENDING.as_ptr())
}

/// `cryptand_offload_status_name`.
#[unsafe(no_mangle)]
pub extern "C" fn cryptand_offload_status_name(status: c_int) -> *const c_char {
    let name = match Status::ALL.into_iter().find(|known| *known as c_int == status) {
        Some(Status::Ok) => c"OK",
        Some(Status::Again) => c"AGAIN",
        Some(Status::Invalid) => c"INVALID",
        Some(Status::Handle) => c"HANDLE",
        Some(Status::Key) => c"KEY",
        Some(Status::Forked) => c"FORKED",
        Some(Status::Closed) => c"CLOSED",
        Some(Status::Busy) => c"BUSY",
        Some(Status::Home) => c"HOME",
        Some(Status::Denied) => c"DENIED",
        Some(Status::Unavailable) => c"UNAVAILABLE",
        Some(Status::Refused) => c"REFUSED",
        Some(Status::Failed) => c"FAILED",
        Some(Status::Fault) => c"FAULT",
        None => c"UNKNOWN",
    };
    name.as_ptr()
}
