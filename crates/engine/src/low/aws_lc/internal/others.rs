//! Replacements for processors other than x86-64: the library's key schedules have forms of its own, and its features
//! determine no level.

/// All zero: these are feature words of x86-64.
pub(crate) fn feature_words() -> [u32; 4] {
    crate::low::aws_lc::memory::link();
    [0; 4]
}

/// False: no kernel reads the library's key schedules here, whichever instructions made them.
#[inline]
pub(crate) fn aes_hardware() -> bool {
    false
}

/// False: the library enciphers one block after the other, with its own choice of instructions.
pub(crate) fn aes_ecb_hardware(_key: &aws_lc_sys::AES_KEY, _encrypt: bool, _data: &mut [u8]) -> bool {
    false
}
