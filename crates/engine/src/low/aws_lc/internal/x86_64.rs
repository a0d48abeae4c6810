//! The features that the library found in an x86-64 processor, and code that it runs with them.

unsafe extern "C" {
    /// Written by the library's set-up, which Rust cannot see: `mut` tells the compiler that it changes.
    #[link_name = "aws_lc_0_47_0_OPENSSL_ia32cap_P"]
    static mut OPENSSL_IA32CAP: [u32; 4];
    #[link_name = "aws_lc_0_47_0_aes_hw_ecb_encrypt"]
    fn aes_hw_ecb_encrypt(
        input: *const u8,
        output: *mut u8,
        bytes: usize,
        key: *const aws_lc_sys::AES_KEY,
        encrypt: std::ffi::c_int,
    );
}

/// The four words of processor features that the library uses: EDX and ECX of CPUID leaf 1, EBX and ECX of leaf 7,
/// after `OPENSSL_ia32cap` was applied.
pub(crate) fn feature_words() -> [u32; 4] {
    crate::low::aws_lc::memory::link();
    // SAFETY: takes no arguments; it runs the library's set-up, which is idempotent and thread-safe.
    unsafe { aws_lc_sys::CRYPTO_library_init() };
    // SAFETY: the words are written once, by the set-up that has just been completed, and only read
    // from then on; no reference to them is made.
    unsafe { (&raw const OPENSSL_IA32CAP).read() }
}

/// Whether the library's AES key schedules have the form of the processor's AES instructions. The library decides that
/// by this word alone, for each key.
#[inline]
pub(crate) fn aes_hardware() -> bool {
    const AES_NI: u32 = 1 << 25;
    // SAFETY: read-only after the library's set-up, which ran before any key schedule could be made; no reference
    // to it is made.
    unsafe { (&raw const OPENSSL_IA32CAP[1]).read() & AES_NI != 0 }
}

/// Whole AES blocks in ECB mode through the processor's AES instructions, several blocks in flight. Returns false, with
/// no change, if the library does not use those instructions.
pub(crate) fn aes_ecb_hardware(key: &aws_lc_sys::AES_KEY, encrypt: bool, data: &mut [u8]) -> bool {
    if !aes_hardware() || !data.len().is_multiple_of(16) {
        return false;
    }
    if !data.is_empty() {
        // SAFETY: the AES instructions are there (checked above), so the schedule was made in their
        // format; input and output are the same exclusive slice, whole blocks long, which the
        // function allows.
        unsafe {
            aes_hw_ecb_encrypt(data.as_ptr(), data.as_mut_ptr(), data.len(), key, encrypt.into());
        }
    }
    true
}
