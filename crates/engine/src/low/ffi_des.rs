//! DES and triple DES (FIPS 46-3, SP 800-67) key schedules and their modes over whole buffers, in place.
//!
//! The library's DES reads tables at places that depend on the key: the one exception to the rule that
//! secrets steer no addresses.

use aws_lc_sys::{
    DES_DECRYPT, DES_ENCRYPT, DES_cblock, DES_ecb_encrypt, DES_ecb3_encrypt, DES_ede3_cbc_encrypt,
    DES_key_schedule, DES_ncbc_encrypt, DES_set_key_unchecked,
};

use super::{wipe, wipe_bytes};

/// Block length of DES in bytes.
pub(crate) const DES_BLOCK_BYTES: usize = 8;

/// Text that a MAC enciphers into scratch in one go.
const SCRATCH_BYTES: usize = 1024;

const EMPTY: DES_key_schedule = DES_key_schedule { subkeys: [[0; 2]; 16] };

/// The key schedule of single DES; serves both directions; zero when dropped.
pub(crate) struct DesSchedule(DES_key_schedule);

impl DesSchedule {
    /// A schedule of zeros, to be filled in place.
    pub(crate) const fn empty() -> DesSchedule {
        DesSchedule(EMPTY)
    }

    /// Fills the schedule. Parity bits are not looked at.
    pub(crate) fn set(&mut self, key: &[u8; 8]) {
        set_schedule(key, &mut self.0);
    }

    /// ECB over whole blocks.
    pub(crate) fn ecb(&self, encipher: bool, data: &mut [u8]) {
        debug_assert!(data.len().is_multiple_of(DES_BLOCK_BYTES));
        for block in data.chunks_exact_mut(DES_BLOCK_BYTES) {
            let block = block.as_mut_ptr().cast::<DES_cblock>();
            // SAFETY: one whole block in and out at the same place; the function reads it before it
            // writes; a DES_cblock is eight bytes with no alignment.
            unsafe { DES_ecb_encrypt(block, block, &self.0, direction(encipher)) }
        }
    }

    /// CBC over whole blocks; `chain` takes the chaining value.
    pub(crate) fn cbc(&self, encipher: bool, chain: &mut [u8; 8], data: &mut [u8]) {
        debug_assert!(data.len().is_multiple_of(DES_BLOCK_BYTES));
        let bytes = data.len() - data.len() % DES_BLOCK_BYTES;
        // SAFETY: the first `bytes` bytes of one exclusive slice, whole blocks, in place, each block read
        // before it is written; `chain` is one block.
        unsafe {
            DES_ncbc_encrypt(
                data.as_ptr(),
                data.as_mut_ptr(),
                bytes,
                &self.0,
                chain.as_mut_ptr().cast(),
                direction(encipher),
            );
        }
    }

    /// CBC over whole blocks of a text that is not to be changed; only the chaining value comes out.
    pub(crate) fn cbc_mac(&self, chain: &mut [u8; 8], text: &[u8]) {
        through_scratch(text, |part, scratch| {
            // SAFETY: `through_scratch` hands out whole blocks and a scratch of at least that length; the
            // two do not overlap; `chain` is one block.
            unsafe {
                DES_ncbc_encrypt(
                    part.as_ptr(),
                    scratch.as_mut_ptr(),
                    part.len(),
                    &self.0,
                    chain.as_mut_ptr().cast(),
                    DES_ENCRYPT,
                );
            }
        });
    }
}

impl Drop for DesSchedule {
    fn drop(&mut self) {
        // SAFETY: a schedule is plain words.
        unsafe { wipe(&mut self.0) }
    }
}

/// The three key schedules of triple DES; serves both directions; zero when dropped.
pub(crate) struct TdesSchedule([DES_key_schedule; 3]);

impl TdesSchedule {
    /// Schedules of zeros, to be filled in place.
    pub(crate) const fn empty() -> TdesSchedule {
        TdesSchedule([EMPTY; 3])
    }

    /// Fills the schedules from a key of two parts (the third is the first again) or of three. False for any
    /// other length. Parity bits are not looked at.
    #[must_use]
    pub(crate) fn set(&mut self, key: &[u8]) -> bool {
        let (parts, []) = key.as_chunks::<8>() else { return false };
        let (first, second, third) = match parts {
            [first, second] => (first, second, None),
            [first, second, third] => (first, second, Some(third)),
            _ => return false,
        };
        set_schedule(first, &mut self.0[0]);
        set_schedule(second, &mut self.0[1]);
        match third {
            Some(third) => set_schedule(third, &mut self.0[2]),
            None => self.0[2] = self.0[0],
        }
        true
    }

    /// ECB over whole blocks.
    pub(crate) fn ecb(&self, encipher: bool, data: &mut [u8]) {
        debug_assert!(data.len().is_multiple_of(DES_BLOCK_BYTES));
        let [first, second, third] = &self.0;
        for block in data.chunks_exact_mut(DES_BLOCK_BYTES) {
            let block = block.as_mut_ptr().cast::<DES_cblock>();
            // SAFETY: as in `DesSchedule::ecb`.
            unsafe { DES_ecb3_encrypt(block, block, first, second, third, direction(encipher)) }
        }
    }

    /// CBC over whole blocks; `chain` takes the chaining value.
    pub(crate) fn cbc(&self, encipher: bool, chain: &mut [u8; 8], data: &mut [u8]) {
        debug_assert!(data.len().is_multiple_of(DES_BLOCK_BYTES));
        let bytes = data.len() - data.len() % DES_BLOCK_BYTES;
        let [first, second, third] = &self.0;
        // SAFETY: as in `DesSchedule::cbc`.
        unsafe {
            DES_ede3_cbc_encrypt(
                data.as_ptr(),
                data.as_mut_ptr(),
                bytes,
                first,
                second,
                third,
                chain.as_mut_ptr().cast(),
                direction(encipher),
            );
        }
    }

    /// CBC over whole blocks of a text that is not to be changed; only the chaining value comes out.
    pub(crate) fn cbc_mac(&self, chain: &mut [u8; 8], text: &[u8]) {
        let [first, second, third] = &self.0;
        through_scratch(text, |part, scratch| {
            // SAFETY: as in `DesSchedule::cbc_mac`.
            unsafe {
                DES_ede3_cbc_encrypt(
                    part.as_ptr(),
                    scratch.as_mut_ptr(),
                    part.len(),
                    first,
                    second,
                    third,
                    chain.as_mut_ptr().cast(),
                    DES_ENCRYPT,
                );
            }
        });
    }
}

impl Drop for TdesSchedule {
    fn drop(&mut self) {
        // SAFETY: schedules are plain words.
        unsafe { wipe(&mut self.0) }
    }
}

fn set_schedule(key: &[u8; 8], schedule: &mut DES_key_schedule) {
    // SAFETY: eight bytes in, one schedule out, both exclusive or shared as the function needs.
    unsafe { DES_set_key_unchecked(key.as_ptr().cast(), schedule) }
}

fn direction(encipher: bool) -> std::ffi::c_int {
    if encipher { DES_ENCRYPT } else { DES_DECRYPT }
}

/// Hands the whole blocks of a text to `encipher` in parts that fit the scratch, then wipes the scratch.
fn through_scratch(text: &[u8], mut encipher: impl FnMut(&[u8], &mut [u8])) {
    let mut scratch = [0; SCRATCH_BYTES];
    let whole = text.len() - text.len() % DES_BLOCK_BYTES;
    for part in text[..whole].chunks(SCRATCH_BYTES) {
        encipher(part, &mut scratch);
    }
    wipe_bytes(&mut scratch[..whole.min(SCRATCH_BYTES)]);
}
