//! AES (FIPS 197) key schedules, the modes of SP 800-38A over whole buffers, in place, and the padded key wrap of SP
//! 800-38F.

use super::internal;
use crate::low::aes::{RoundKeys, Rounds};
use crate::low::{wipe, wipe_block, wipe_bytes};
use aws_lc_sys::{
    AES_DECRYPT, AES_ENCRYPT, AES_KEY, AES_cbc_encrypt, AES_cfb128_encrypt, AES_ctr128_encrypt,
    AES_ecb_encrypt, AES_set_decrypt_key, AES_set_encrypt_key, AES_unwrap_key_padded, AES_wrap_key_padded,
};

/// Block length of AES in bytes.
pub(crate) const AES_BLOCK_BYTES: usize = 16;

/// A wrapped key is at most this many bytes longer than the key.
const WRAPPING_BYTES_MAX: usize = 15;
/// A MAC enciphers this many bytes of text into scratch memory at a time.
const SCRATCH_BYTES: usize = 1024;
/// As [`SCRATCH_BYTES`], for a short text.
const SCRATCH_BYTES_SHORT: usize = 64;

/// A key schedule for one direction; wiped when dropped.
pub(crate) struct AesSchedule(AES_KEY);

impl AesSchedule {
    /// A schedule of zeros, to be filled in place.
    #[inline]
    pub(crate) const fn empty() -> AesSchedule {
        AesSchedule(AES_KEY { rd_key: [0; 60], rounds: 0 })
    }

    /// Fills the schedule for enciphering. False, leaving zeros, unless `key` is 16, 24 or 32 bytes long.
    #[inline]
    #[must_use]
    pub(crate) fn set_encipher(&mut self, key: &[u8]) -> bool {
        let Some(bits) = key_bits(key) else { return false };
        // SAFETY: `key` is `bits` long (just computed) and the schedule is an exclusive reference.
        unsafe { AES_set_encrypt_key(key.as_ptr(), bits, &mut self.0) == 0 }
    }

    /// Fills the schedule for deciphering. False, leaving zeros, unless `key` is 16, 24 or 32 bytes long.
    #[inline]
    #[must_use]
    pub(crate) fn set_decipher(&mut self, key: &[u8]) -> bool {
        let Some(bits) = key_bits(key) else { return false };
        // SAFETY: as in `set_encipher`.
        unsafe { AES_set_decrypt_key(key.as_ptr(), bits, &mut self.0) == 0 }
    }

    /// The round keys in the form of the AES instructions. `None` if the library does not use these, or the schedule is
    /// not filled.
    #[inline]
    pub(crate) fn round_keys(&self) -> Option<RoundKeys<'_>> {
        if !internal::aes_hardware() {
            return None;
        }
        // The library's count of rounds in this form omits the last one.
        let rounds = match self.0.rounds {
            9 => Rounds::Ten,
            11 => Rounds::Twelve,
            13 => Rounds::Fourteen,
            _ => return None,
        };
        let words: *const [u32; 60] = &self.0.rd_key;
        // SAFETY: 60 words are 15 blocks; bytes need no alignment and take any value; the borrow is that of
        // the schedule.
        Some(RoundKeys::new(unsafe { &*words.cast() }, rounds))
    }

    /// ECB over whole blocks, in the direction of the schedule; a partial last block is unchanged.
    pub(crate) fn ecb(&self, encipher: bool, data: &mut [u8]) {
        debug_assert!(data.len().is_multiple_of(AES_BLOCK_BYTES));
        if internal::aes_ecb_hardware(&self.0, encipher, data) {
            return;
        }
        let direction = if encipher { AES_ENCRYPT } else { AES_DECRYPT };
        for block in data.chunks_exact_mut(AES_BLOCK_BYTES) {
            // SAFETY: one whole block in and out at the same place, which the function allows.
            unsafe { AES_ecb_encrypt(block.as_ptr(), block.as_mut_ptr(), &self.0, direction) }
        }
    }

    /// CBC over whole blocks, in the direction of the schedule; updates the chaining value `chain`.
    pub(crate) fn cbc(&self, encipher: bool, chain: &mut [u8; 16], data: &mut [u8]) {
        debug_assert!(data.len().is_multiple_of(AES_BLOCK_BYTES));
        let bytes = data.len() - data.len() % AES_BLOCK_BYTES;
        if bytes == 0 {
            return;
        }
        let direction = if encipher { AES_ENCRYPT } else { AES_DECRYPT };
        // SAFETY: the first `bytes` bytes of one exclusive slice, whole blocks, in place, which the
        // function allows; `chain` is one block.
        unsafe {
            AES_cbc_encrypt(data.as_ptr(), data.as_mut_ptr(), bytes, &self.0, chain.as_mut_ptr(), direction);
        }
    }

    /// CTR with a big-endian counter of 128 bits, which starts at `counter`; that becomes the next unused value. The
    /// schedule must be for enciphering.
    pub(crate) fn ctr(&self, counter: &mut [u8; 16], data: &mut [u8]) {
        if data.is_empty() {
            return;
        }
        let mut keystream = [0; 16];
        let mut used = 0;
        // SAFETY: one exclusive slice in place, which the function allows; counter and keystream are one
        // block each; `used` starts at zero as the function asks of a new message.
        unsafe {
            AES_ctr128_encrypt(
                data.as_ptr(),
                data.as_mut_ptr(),
                data.len(),
                &self.0,
                counter.as_mut_ptr(),
                keystream.as_mut_ptr(),
                &mut used,
            );
        }
        wipe_block(&mut keystream);
    }

    /// CFB with feedback of whole blocks, over any length. `chain` is the last ciphertext block; `used` bytes into a
    /// block, that many bytes of ciphertext and then key stream. The schedule must be for enciphering, in both
    /// directions.
    pub(crate) fn cfb(&self, encipher: bool, chain: &mut [u8; 16], used: &mut usize, data: &mut [u8]) {
        if data.is_empty() {
            return;
        }
        let direction = if encipher { AES_ENCRYPT } else { AES_DECRYPT };
        let mut place = (*used % AES_BLOCK_BYTES) as std::ffi::c_int;
        // SAFETY: one exclusive slice in place, which the function allows; `chain` is one block and `place`
        // inside it.
        unsafe {
            AES_cfb128_encrypt(
                data.as_ptr(),
                data.as_mut_ptr(),
                data.len(),
                &self.0,
                chain.as_mut_ptr(),
                &mut place,
                direction,
            );
        }
        *used = place as usize;
    }

    /// Wraps a key by KWP of SP 800-38F (RFC 5649). `None` for an empty key or 2^32 bytes and more. The schedule must
    /// be for enciphering.
    pub(crate) fn wrap_padded(&self, key: &[u8]) -> Option<Vec<u8>> {
        let mut wrapped = vec![0; key.len().checked_add(WRAPPING_BYTES_MAX)?];
        let mut bytes = 0;
        // SAFETY: both slices have the lengths that are given with them, and do not overlap.
        let done = unsafe {
            AES_wrap_key_padded(
                &self.0,
                wrapped.as_mut_ptr(),
                &mut bytes,
                wrapped.len(),
                key.as_ptr(),
                key.len(),
            )
        };
        wrapped.truncate(bytes);
        (done == 1).then_some(wrapped)
    }

    /// Undoes [`AesSchedule::wrap_padded`] into `key`, which must be as long as `wrapped`. Returns the length of the
    /// key, whose bytes come first. `None` if unwrapping fails; `key` then holds arbitrary bytes. The schedule must be
    /// for deciphering.
    pub(crate) fn unwrap_padded(&self, wrapped: &[u8], key: &mut [u8]) -> Option<usize> {
        if wrapped.len() < AES_BLOCK_BYTES || !wrapped.len().is_multiple_of(8) || key.len() != wrapped.len() {
            return None;
        }
        let mut bytes = 0;
        // SAFETY: both slices have the lengths that are given with them, and do not overlap; the length of what is read
        // is a multiple of 8 and at least a block.
        let done = unsafe {
            AES_unwrap_key_padded(
                &self.0,
                key.as_mut_ptr(),
                &mut bytes,
                key.len(),
                wrapped.as_ptr(),
                wrapped.len(),
            )
        };
        (done == 1 && bytes <= key.len()).then_some(bytes)
    }

    /// Runs CBC over whole blocks of a text without changing it; only the chaining value is kept.
    #[inline]
    pub(crate) fn cbc_mac(&self, chain: &mut [u8; 16], text: &[u8]) {
        // For a short text, clearing the scratch memory takes a good part of the time.
        if text.len() <= SCRATCH_BYTES_SHORT {
            self.cbc_mac_over::<SCRATCH_BYTES_SHORT>(chain, text);
        } else {
            self.cbc_mac_over::<SCRATCH_BYTES>(chain, text);
        }
    }

    fn cbc_mac_over<const BYTES: usize>(&self, chain: &mut [u8; 16], text: &[u8]) {
        let mut scratch = [0; BYTES];
        let mut scratch_used = 0;
        let whole = text.len() - text.len() % AES_BLOCK_BYTES;
        for part in text[..whole].chunks(BYTES) {
            scratch_used = scratch_used.max(part.len());
            // SAFETY: `part` is whole blocks and not longer than the scratch it is enciphered into; the two
            // do not overlap; `chain` is one block.
            unsafe {
                AES_cbc_encrypt(
                    part.as_ptr(),
                    scratch.as_mut_ptr(),
                    part.len(),
                    &self.0,
                    chain.as_mut_ptr(),
                    AES_ENCRYPT,
                );
            }
        }
        wipe_bytes(&mut scratch[..scratch_used]);
    }
}

impl Drop for AesSchedule {
    fn drop(&mut self) {
        // SAFETY: a schedule is plain words.
        unsafe { wipe(&mut self.0) }
    }
}

fn key_bits(key: &[u8]) -> Option<std::ffi::c_uint> {
    match key.len() {
        16 => Some(128),
        24 => Some(192),
        32 => Some(256),
        _ => None,
    }
}
