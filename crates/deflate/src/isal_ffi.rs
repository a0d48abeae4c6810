//! Intel's ISA-L (`libisal.so.2`, Debian package `libisal2`), found when the program runs.
//!
//! Only the fields and functions that are used are declared. The layouts are those of `igzip_lib.h` 2.24 to 2.32, held
//! by assertions below. Earlier releases have the same file name and other layouts of `struct inflate_state`. They lack
//! the function [`SINCE_2_24`] and are not used.
//!
//! The library is not used on architectures other than x86-64, which have other kernels. Those of 2.30 for aarch64 read
//! beyond the end of a text, and `tests/borders.rs` ends by a signal with them.

use crate::inflated::{InflateError, Inflated};
use libloading::Library;
use std::ffi::{OsStr, c_int};
use std::mem::{MaybeUninit, offset_of, size_of};
use std::ptr;
use std::sync::OnceLock;
use zeroize::Zeroize;

/// Whether the library is installed and has the functions that are called.
pub(crate) fn is_available() -> bool {
    functions().is_some()
}

/// ISA-L's deflater: compresses pieces to raw deflate.
pub(crate) struct Deflater {
    functions: &'static Functions,
    stream: Box<Stream>,
    level_buffer: Box<[u8]>,
}

// SAFETY: the pointers to text and room are set for the length of one call, which has the deflater to itself; of those
// that stay, one is to the library's constant tables, and one to the level buffer, which is the deflater's own and lies
// on the heap.
unsafe impl Send for Deflater {}

impl Deflater {
    /// A deflater at ISA-L's `level`, 1 to 3; `None` if the library is not installed.
    pub(crate) fn new(level: u32) -> Option<Self> {
        let functions = functions()?;
        let mut stream = zeroed_stream();
        // SAFETY: the stream is as large as the library's.
        unsafe { (functions.deflate_init)(&raw mut *stream) };
        stream.level = level;
        let level_buffer = vec![0; LEVEL_BUFFER_BYTES].into_boxed_slice();
        Some(Self { functions, stream, level_buffer })
    }

    /// Appends `text` to `out`, as [`crate::Deflater::block`] says, looking back at most 2^`window_bits` bytes;
    /// `window_bits` is at most 15. `dictionary` is at most 32 KiB.
    pub(crate) fn block(
        &mut self,
        window_bits: u16,
        dictionary: &[u8],
        text: &[u8],
        is_last: bool,
        out: &mut Vec<u8>,
    ) {
        let dictionary = &dictionary[dictionary.len().saturating_sub(1 << window_bits)..];
        self.stream.level_buffer = self.level_buffer.as_mut_ptr();
        self.stream.level_buffer_size = length(self.level_buffer.len());
        // SAFETY: the stream was initialised by the library, and its level and a buffer that is large enough are set.
        unsafe { (self.functions.deflate_reset)(&raw mut *self.stream) };
        self.stream.hist_bits = window_bits;
        if !dictionary.is_empty() {
            let bytes = length(dictionary.len());
            // SAFETY: a reset stream takes a dictionary, which the library copies, and does not write to.
            let code = unsafe {
                (self.functions.deflate_set_dict)(&raw mut *self.stream, dictionary.as_ptr(), bytes)
            };
            assert_eq!(code, COMPRESSED, "a reset stream takes a dictionary");
        }
        let mut pieces = text.chunks(CALL_BYTES_MAX).peekable();
        loop {
            let piece = pieces.next().unwrap_or_default();
            let is_end = pieces.peek().is_none();
            self.stream.flush = u16::from(is_end && !is_last) * SYNC_FLUSH;
            self.stream.end_of_stream = u16::from(is_end && is_last);
            self.piece(piece, out);
            if is_end {
                break;
            }
        }
    }

    /// Compresses one piece of text, and makes room until the library has no more output.
    fn piece(&mut self, text: &[u8], out: &mut Vec<u8>) {
        self.stream.next_in = text.as_ptr();
        self.stream.avail_in = length(text.len());
        let mut room = text.len() / ROOM_SHARE + ROOM_BYTES_MIN;
        loop {
            out.reserve(room);
            let spare = out.spare_capacity_mut();
            let spare = &mut spare[..room];
            self.stream.next_out = spare.as_mut_ptr().cast();
            self.stream.avail_out = length(room);
            // SAFETY: the stream is initialised; it reads within `text` and writes within the spare capacity, both
            // of which live past the call.
            let code = unsafe { (self.functions.deflate)(&raw mut *self.stream) };
            leave_wide_registers();
            assert_eq!(code, COMPRESSED, "a prepared stream compresses");
            let left = self.stream.avail_out as usize;
            let written = room - left;
            // SAFETY: the library has written `written` bytes from the start of the spare capacity.
            unsafe { out.set_len(out.len() + written) };
            if left > 0 && self.stream.avail_in == 0 {
                break;
            }
            room = ROOM_BYTES_MIN + self.stream.avail_in as usize / ROOM_SHARE;
        }
        self.stream.next_in = ptr::null();
        self.stream.next_out = ptr::null_mut();
    }
}

impl Drop for Deflater {
    fn drop(&mut self) {
        // Both hold text, or symbols that it was compressed to.
        self.stream.internal_state.zeroize();
        self.level_buffer.zeroize();
    }
}

/// ISA-L's inflater: reads raw deflate.
pub(crate) struct Inflater {
    functions: &'static Functions,
    state: Box<InflateState>,
}

// SAFETY: the pointers in the state are set for the length of one call, which has the inflater to itself.
unsafe impl Send for Inflater {}

impl Inflater {
    /// An inflater at the start of a stream; `None` if the library is not installed.
    pub(crate) fn new() -> Option<Self> {
        let functions = functions()?;
        let mut state = zeroed_state();
        // SAFETY: the state is as large as the library's.
        unsafe { (functions.inflate_init)(&raw mut *state) };
        Some(Self { functions, state })
    }

    /// Inflates a piece, as [`crate::Inflater::inflate`] says; input and room are below 4 GiB.
    pub(crate) fn inflate(&mut self, input: &[u8], out: &mut [u8]) -> Result<Inflated, InflateError> {
        let state = &mut *self.state;
        state.next_in = input.as_ptr();
        state.avail_in = length(input.len());
        state.next_out = out.as_mut_ptr();
        state.avail_out = length(out.len());
        // SAFETY: the state is initialised; the library reads within `input` and writes within `out`.
        let code = unsafe { (self.functions.inflate)(&raw mut *state) };
        leave_wide_registers();
        state.next_in = ptr::null();
        state.next_out = ptr::null_mut();
        if code != DECOMPRESSED {
            return Err(InflateError::Stream);
        }
        let produced = out.len() - state.avail_out as usize;
        let is_end = state.block_state == BLOCK_FINISH;
        let mut consumed = input.len() - state.avail_in as usize;
        // The library reads up to eight bytes ahead. Unused bytes are given back if the library can go on without more
        // input; at the end of the stream they belong to what follows. In the middle of a block's header the state also
        // keeps the input behind it, so that nothing can be given back.
        if is_end || (state.avail_out == 0 && state.block_state != BLOCK_HEADER) {
            consumed -= state.give_back(consumed);
        }
        Ok(Inflated { consumed, produced, is_end })
    }
}

impl Drop for Inflater {
    fn drop(&mut self) {
        // The buffers still hold the last 32 KiB of text.
        self.state.buffers.zeroize();
    }
}

impl InflateState {
    /// Takes whole bytes that were read ahead out of the state, at most `bytes_max`; returns how many.
    fn give_back(&mut self, bytes_max: usize) -> usize {
        let bits = u32::try_from(self.read_in_length).unwrap_or(0);
        let bytes = ((bits / 8) as usize).min(bytes_max);
        let bits = bits - 8 * u32::try_from(bytes).expect("at most eight");
        self.read_in &= 1u64.checked_shl(bits).map_or(u64::MAX, |bit| bit - 1);
        self.read_in_length = i32::try_from(bits).expect("at most 64");
        bytes
    }
}

/// `struct isal_zstream` of `igzip_lib.h`: the deflater's state.
#[repr(C)]
struct Stream {
    next_in: *const u8,
    avail_in: u32,
    total_in: u32,
    next_out: *mut u8,
    avail_out: u32,
    total_out: u32,
    hufftables: *const u8,
    level: u32,
    level_buffer_size: u32,
    level_buffer: *mut u8,
    end_of_stream: u16,
    flush: u16,
    gzip_flag: u16,
    hist_bits: u16,
    internal_state: [u64; 10290],
}

/// `struct inflate_state` of `igzip_lib.h`: the inflater's state.
#[repr(C)]
struct InflateState {
    next_out: *mut u8,
    avail_out: u32,
    total_out: u32,
    next_in: *const u8,
    read_in: u64,
    avail_in: u32,
    read_in_length: i32,
    codes: [u32; 5280],
    block_state: c_int,
    dictionary_length: u32,
    is_final_block: u32,
    check: [u32; 2],
    hist_bits: u32,
    stored_bytes_left: i32,
    /// Literals, lengths and copies that found no room.
    overflows: [i32; 4],
    wrapper_flag: i16,
    header_bytes_held: i16,
    text_held_end: i32,
    text_held_start: i32,
    buffers: [u32; 16538],
}

const _: () = {
    assert!(size_of::<Stream>() == 82384 && offset_of!(Stream, internal_state) == 64);
    assert!(offset_of!(Stream, level_buffer) == 48 && offset_of!(Stream, flush) == 58);
    assert!(offset_of!(Stream, next_in) == 0 && offset_of!(Stream, avail_in) == 8);
    assert!(offset_of!(Stream, next_out) == 16 && offset_of!(Stream, avail_out) == 24);
    assert!(offset_of!(Stream, hufftables) == 32 && offset_of!(Stream, level) == 40);
    assert!(offset_of!(Stream, level_buffer_size) == 44 && offset_of!(Stream, end_of_stream) == 56);
    assert!(offset_of!(Stream, gzip_flag) == 60 && offset_of!(Stream, hist_bits) == 62);
    assert!(offset_of!(InflateState, next_out) == 0 && offset_of!(InflateState, avail_out) == 8);
    assert!(offset_of!(InflateState, next_in) == 16 && offset_of!(InflateState, avail_in) == 32);
    assert!(offset_of!(InflateState, codes) == 40 && offset_of!(InflateState, stored_bytes_left) == 21184);
    assert!(size_of::<InflateState>() == 87368 && offset_of!(InflateState, block_state) == 21160);
    assert!(
        offset_of!(InflateState, is_final_block) == 21168 && offset_of!(InflateState, overflows) == 21188
    );
    assert!(
        offset_of!(InflateState, header_bytes_held) == 21206
            && offset_of!(InflateState, text_held_end) == 21208
    );
    assert!(offset_of!(InflateState, buffers) == 21216);
    assert!(offset_of!(InflateState, read_in) == 24 && offset_of!(InflateState, read_in_length) == 36);
};

fn zeroed_stream() -> Box<Stream> {
    // SAFETY: every field is an integer, or a pointer that may be null.
    Box::new(unsafe { MaybeUninit::<Stream>::zeroed().assume_init() })
}

fn zeroed_state() -> Box<InflateState> {
    // SAFETY: every field is an integer, or a pointer that may be null.
    Box::new(unsafe { MaybeUninit::<InflateState>::zeroed().assume_init() })
}

/// Clears the upper parts of the vector registers, which the library leaves as its kernels had them: on Intel's
/// processors the instructions of SSE, SHA's among them, then wait for these parts, and SHA-1 takes a hundred times as
/// long.
fn leave_wide_registers() {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx") {
        // SAFETY: the processor has AVX. Callers keep nothing in the upper parts: a function that is called need not
        // preserve them.
        unsafe { std::arch::x86_64::_mm256_zeroupper() };
    }
}

/// The functions that are called, in a library that is never unloaded.
struct Functions {
    deflate_init: unsafe extern "C" fn(*mut Stream),
    deflate_reset: unsafe extern "C" fn(*mut Stream),
    /// `igzip_lib.h` declares a pointer to mutable bytes; the function only reads them.
    deflate_set_dict: unsafe extern "C" fn(*mut Stream, *const u8, u32) -> c_int,
    deflate: unsafe extern "C" fn(*mut Stream) -> c_int,
    inflate_init: unsafe extern "C" fn(*mut InflateState),
    inflate: unsafe extern "C" fn(*mut InflateState) -> c_int,
    _library: Library,
}

fn functions() -> Option<&'static Functions> {
    if !cfg!(target_arch = "x86_64") {
        return None;
    }
    static FUNCTIONS: OnceLock<Option<Functions>> = OnceLock::new();
    // SAFETY: the file of this name in the system's folders is ISA-L, whose start-up code chooses kernels for this
    // processor.
    FUNCTIONS.get_or_init(|| unsafe { load(FILE.as_ref()) }).as_ref()
}

/// Loads the library and looks up its functions; `None` if the file does not exist, or is older than the layouts.
///
/// # Safety
/// If the file exists, it is a release of ISA-L of this major version: its start-up code runs.
unsafe fn load(file: &OsStr) -> Option<Functions> {
    // SAFETY: by contract.
    let library = unsafe { Library::new(file) }.ok()?;
    // SAFETY: the function is not called; only its presence is asked for.
    unsafe { library.get::<unsafe extern "C" fn()>(SINCE_2_24) }.ok()?;
    // SAFETY: these are the prototypes of `igzip_lib.h`, the same from 2.24 on.
    unsafe {
        Some(Functions {
            deflate_init: *library.get(b"isal_deflate_init\0").ok()?,
            deflate_reset: *library.get(b"isal_deflate_reset\0").ok()?,
            deflate_set_dict: *library.get(b"isal_deflate_set_dict\0").ok()?,
            deflate: *library.get(b"isal_deflate\0").ok()?,
            inflate_init: *library.get(b"isal_inflate_init\0").ok()?,
            inflate: *library.get(b"isal_inflate\0").ok()?,
            _library: library,
        })
    }
}

fn length(bytes: usize) -> u32 {
    u32::try_from(bytes).expect("no call is given as much as 4 GiB")
}

const FILE: &str = "libisal.so.2";
/// A function that appeared together with the layout of `struct inflate_state` that is declared here. 2.23 has a field
/// less; 2.22 and earlier have tables of other lengths.
const SINCE_2_24: &[u8] = b"isal_gzip_header_init\0";
/// Longest text of one call, in bytes: the library counts in 32 bits.
const CALL_BYTES_MAX: usize = 1 << 30;
/// Level buffer in bytes: `ISAL_DEF_LVL3_DEFAULT`, the largest default of the three levels. Measured with buffers of 16
/// to 128 thousand symbols, the default 64 is within 2 % of the best in time and in size.
const LEVEL_BUFFER_BYTES: usize = 348_160;
/// The output room that is first made for a piece is the text's length divided by this, plus [`ROOM_BYTES_MIN`].
const ROOM_SHARE: usize = 2;
const ROOM_BYTES_MIN: usize = 16 << 10;
const SYNC_FLUSH: u16 = 1;
const COMPRESSED: c_int = 0;
const DECOMPRESSED: c_int = 0;
/// `ISAL_BLOCK_HDR`: part of a block's header is read.
const BLOCK_HEADER: c_int = 1;
/// `ISAL_BLOCK_FINISH`: all is read, and all text is delivered.
const BLOCK_FINISH: c_int = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Stub libraries that export no more than a release's function names.
    #[test]
    fn a_release_of_other_layouts_is_not_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let names =
            ["deflate_init", "deflate_reset", "deflate_set_dict", "deflate", "inflate_init", "inflate"];
        let mut text: String = names.map(|name| format!("void isal_{name}(void) {{}}\n")).concat();
        let mut is_used = |release: &str, more: &str| {
            text.push_str(more);
            let (source, library) = (folder.path().join("isal.c"), folder.path().join(release));
            std::fs::write(&source, &text).expect("the source is written");
            let made = Command::new(&compiler).args(["-shared", "-o"]).args([&library, &source]).status();
            assert!(made.expect("a C compiler").success());
            // SAFETY: the library has no start-up code, and nothing of it is called.
            unsafe { load(library.as_os_str()) }.is_some()
        };
        assert!(!is_used("2.23", ""));
        assert!(is_used("2.24", "void isal_gzip_header_init(void) {}\n"));
    }
}
