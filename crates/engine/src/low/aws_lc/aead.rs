//! AES in Galois/Counter Mode (SP 800-38D) and ChaCha20-Poly1305 (RFC 8439), in place.

use crate::low::{wipe, wipe_bytes};
use aws_lc_sys::{
    EVP_AEAD, EVP_AEAD_CTX, EVP_AEAD_CTX_cleanup, EVP_AEAD_CTX_init, EVP_AEAD_CTX_open_gather,
    EVP_AEAD_CTX_seal_scatter, EVP_AEAD_CTX_zero, EVP_aead_aes_128_gcm, EVP_aead_aes_192_gcm,
    EVP_aead_aes_256_gcm, EVP_aead_chacha20_poly1305,
};
use std::mem::MaybeUninit;
use std::ptr;

/// Length of a whole tag in bytes.
pub(crate) const TAG_BYTES: usize = 16;

/// A prepared key in the mode's form, in one allocation that does not move; wiped when dropped.
pub(crate) struct AeadContext(Box<EVP_AEAD_CTX>);

// SAFETY: the context is plain data once made (the library's state of either mode holds no pointers to itself and no
// locks); every later use reads it only.
unsafe impl Send for AeadContext {}
// SAFETY: as for Send; seal and open take the context as const and keep their state on the stack.
unsafe impl Sync for AeadContext {}

impl AeadContext {
    /// AES-GCM. None unless `key` is 16, 24 or 32 bytes long.
    pub(crate) fn gcm(key: &[u8]) -> Option<AeadContext> {
        // SAFETY: these take no arguments and return pointers to static descriptions.
        let aead = unsafe {
            match key.len() {
                16 => EVP_aead_aes_128_gcm(),
                24 => EVP_aead_aes_192_gcm(),
                32 => EVP_aead_aes_256_gcm(),
                _ => return None,
            }
        };
        AeadContext::new(aead, key)
    }

    /// ChaCha20-Poly1305. `None` only if there is no memory.
    pub(crate) fn chacha20_poly1305(key: &[u8; 32]) -> Option<AeadContext> {
        // SAFETY: takes no arguments and returns a pointer to a static description.
        AeadContext::new(unsafe { EVP_aead_chacha20_poly1305() }, key)
    }

    /// Prepares a key, which must have the length that `aead` asks for.
    fn new(aead: *const EVP_AEAD, key: &[u8]) -> Option<AeadContext> {
        let mut context = Box::<EVP_AEAD_CTX>::new_uninit();
        // SAFETY: writes zeros over the whole context, for which zeros are valid.
        unsafe { EVP_AEAD_CTX_zero(context.as_mut_ptr()) };
        // SAFETY: every byte of it was just initialised.
        let mut context = unsafe { context.assume_init() };
        // SAFETY: a zeroed context, a static description, and a key of the length that it asks for.
        let made = unsafe {
            EVP_AEAD_CTX_init(&mut *context, aead, key.as_ptr(), key.len(), TAG_BYTES, ptr::null_mut())
        };
        (made == 1).then_some(AeadContext(context))
    }

    /// Enciphers `data` in place and writes the whole tag. False if the mode refuses the nonce or the text's length.
    /// GCM takes any nonce but an empty one and 2^36 - 32 bytes, ChaCha20-Poly1305 12 bytes and 2^38 - 64.
    #[inline]
    #[must_use]
    pub(crate) fn seal(&self, nonce: &[u8], aad: &[u8], data: &mut [u8], tag: &mut [u8; TAG_BYTES]) -> bool {
        let mut tag_bytes = 0;
        // SAFETY: every pointer goes with the length of its own slice; input and output are the same
        // exclusive slice, which the function allows; there is no extra input.
        let sealed = unsafe {
            EVP_AEAD_CTX_seal_scatter(
                &*self.0,
                data.as_mut_ptr(),
                tag.as_mut_ptr(),
                &mut tag_bytes,
                tag.len(),
                nonce.as_ptr(),
                nonce.len(),
                data.as_ptr(),
                data.len(),
                ptr::null(),
                0,
                aad.as_ptr(),
                aad.len(),
            )
        };
        sealed == 1 && tag_bytes == TAG_BYTES
    }

    /// Verifies the tag, whole or cut to its first bytes, and deciphers `data` in place. If the tag is wrong, false,
    /// and `data` is wiped.
    #[must_use]
    pub(crate) fn open(&self, nonce: &[u8], aad: &[u8], data: &mut [u8], tag: &[u8]) -> bool {
        let opened = if tag.len() == TAG_BYTES {
            open_with(&self.0, nonce, aad, data, tag)
        } else {
            // The library compares the number of bytes that the context states: a copy of it states fewer.
            let Ok(tag_bytes) = u8::try_from(tag.len()) else {
                wipe_bytes(data);
                return false;
            };
            let mut shortened = Shortened(Box::new_uninit());
            let copy = shortened.0.as_mut_ptr();
            // SAFETY: from one allocation to another of the same type, and never by way of the stack, where the key
            // would stay; the copy owns nothing, as both modes keep their state inside the context, and is whole before
            // its length is set and a reference to it is made.
            let copy = unsafe {
                ptr::copy_nonoverlapping(&raw const *self.0, copy, 1);
                (*copy).tag_len = tag_bytes;
                &*copy
            };
            open_with(copy, nonce, aad, data, tag)
        };
        if !opened {
            wipe_bytes(data);
        }
        opened
    }
}

impl Drop for AeadContext {
    fn drop(&mut self) {
        // SAFETY: the context was initialised by `EVP_AEAD_CTX_init` and is not used again; its memory is
        // plain data.
        unsafe {
            EVP_AEAD_CTX_cleanup(&mut *self.0);
            wipe(&mut *self.0);
        }
    }
}

/// Room for a copy of a context; wiped when dropped.
struct Shortened(Box<MaybeUninit<EVP_AEAD_CTX>>);

impl Drop for Shortened {
    fn drop(&mut self) {
        // SAFETY: any bytes are a valid MaybeUninit, and the copy owns nothing.
        unsafe { wipe(&mut *self.0) }
    }
}

fn open_with(context: &EVP_AEAD_CTX, nonce: &[u8], aad: &[u8], data: &mut [u8], tag: &[u8]) -> bool {
    // SAFETY: every pointer goes with the length of its own slice; input and output are the same exclusive
    // slice, which the function allows.
    let opened = unsafe {
        EVP_AEAD_CTX_open_gather(
            context,
            data.as_mut_ptr(),
            nonce.as_ptr(),
            nonce.len(),
            data.as_ptr(),
            data.len(),
            tag.as_ptr(),
            tag.len(),
            aad.as_ptr(),
            aad.len(),
        )
    };
    if opened != 1 {
        super::bignum::clear_errors();
    }
    opened == 1
}
