//! Big numbers of the bound library as owned values, each wiped when dropped.

use aws_lc_sys as lc;

/// A non-negative number.
pub(crate) struct Bignum(pub(super) *mut lc::BIGNUM);

// SAFETY: owned by this value alone and tied to no thread; nothing is changed through a shared reference.
unsafe impl Send for Bignum {}
// SAFETY: as for Send.
unsafe impl Sync for Bignum {}

impl Bignum {
    /// Zero. Panics only if there is no memory.
    pub(super) fn new() -> Bignum {
        // SAFETY: takes no arguments; the result is checked.
        let number = unsafe { lc::BN_new() };
        assert!(!number.is_null(), "no memory for a number");
        Bignum(number)
    }

    /// The number of big-endian bytes. Panics only if there is no memory.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Bignum {
        let number = Bignum::new();
        number.set_bytes(bytes);
        number
    }

    /// Sets the number to that of big-endian bytes. Panics only if there is no memory.
    pub(super) fn set_bytes(&self, bytes: &[u8]) {
        // SAFETY: pointer and length come from one slice; the number is ours.
        let filled = unsafe { lc::BN_bin2bn(bytes.as_ptr(), bytes.len(), self.0) };
        assert!(!filled.is_null(), "no memory for a number");
    }
}

impl Drop for Bignum {
    fn drop(&mut self) {
        // SAFETY: made by `BN_new` and owned by this value alone.
        unsafe { lc::BN_clear_free(self.0) }
    }
}

/// Scratch numbers that the library's functions need.
pub(super) struct Scratch(pub(super) *mut lc::BN_CTX);

impl Scratch {
    pub(super) fn new() -> Scratch {
        // SAFETY: takes no arguments; the result is checked.
        let scratch = unsafe { lc::BN_CTX_new() };
        assert!(!scratch.is_null(), "no memory for scratch numbers");
        Scratch(scratch)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // SAFETY: made by `BN_CTX_new` and owned by this value alone.
        unsafe { lc::BN_CTX_free(self.0) }
    }
}

/// Writes a number of the library, big-endian, over the whole slice; false if it does not fit or is null.
pub(super) fn to_bytes(number: *const lc::BIGNUM, out: &mut [u8]) -> bool {
    // SAFETY: a null pointer is not passed on; otherwise the callers pass numbers that outlive the call.
    !number.is_null() && unsafe { lc::BN_bn2bin_padded(out.as_mut_ptr(), out.len(), number) } == 1
}

/// Length of a number in bits; zero for null.
pub(super) fn bits(number: *const lc::BIGNUM) -> usize {
    if number.is_null() {
        return 0;
    }
    // SAFETY: not null; the callers pass numbers that outlive the call.
    unsafe { lc::BN_num_bits(number) as usize }
}

/// Clears the library's per-thread error queue, so that one failure does not affect the next call.
pub(crate) fn clear_errors() {
    // SAFETY: takes no arguments; touches this thread's queue only.
    unsafe { lc::ERR_clear_error() }
}

/// What the library has made or found good; `None`, with its error queue cleared, otherwise.
pub(super) fn checked<T>(is_good: bool, value: T) -> Option<T> {
    if !is_good {
        clear_errors();
    }
    is_good.then_some(value)
}

/// `value^-1 mod modulus`, in constant time for an even modulus; None if there is none.
pub(super) fn mod_inverse(value: &Bignum, modulus: &Bignum, scratch: &Scratch) -> Option<Bignum> {
    let inverse = Bignum::new();
    // SAFETY: four distinct live objects.
    let found = unsafe { lc::BN_mod_inverse(inverse.0, value.0, modulus.0, scratch.0) };
    if found.is_null() {
        clear_errors();
        return None;
    }
    Some(inverse)
}

/// `number - 1`; `None` if the number is zero or the library fails.
pub(super) fn minus_one(number: &Bignum) -> Option<Bignum> {
    let less = Bignum::new();
    // SAFETY: two live numbers and the library's constant one.
    let done = unsafe { lc::BN_usub(less.0, number.0, lc::BN_value_one()) };
    (done == 1).then_some(less)
}

/// `a * b`; `None` if the library fails.
pub(super) fn product(a: &Bignum, b: &Bignum, scratch: &Scratch) -> Option<Bignum> {
    let result = Bignum::new();
    // SAFETY: live objects; the result is distinct from the factors.
    let done = unsafe { lc::BN_mul(result.0, a.0, b.0, scratch.0) };
    (done == 1).then_some(result)
}
