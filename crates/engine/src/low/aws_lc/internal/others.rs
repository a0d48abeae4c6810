//! The same where the processor is not x86-64: the library's schedules are in forms of its own, and no level is told by
//! its features.

/// All zero: the words are those of x86-64.
pub(crate) fn feature_words() -> [u32; 4] {
    crate::low::aws_lc::memory::link();
    [0; 4]
}

/// False: no kernel reads the library's key schedules here, whatever instructions made them.
#[inline]
pub(crate) fn aes_hardware() -> bool {
    false
}

/// False: the library takes one block after the other, by its own choice of instructions.
pub(crate) fn aes_ecb_hardware(_key: &aws_lc_sys::AES_KEY, _encrypt: bool, _data: &mut [u8]) -> bool {
    false
}
