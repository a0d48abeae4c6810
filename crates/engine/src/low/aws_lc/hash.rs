//! Hash functions: MD5 (RFC 1321), RIPEMD-160, SHA-1 and SHA-2 (FIPS 180-4), SHA-3 (FIPS 202).

use crate::low::sha::ShaFamily;
use crate::low::wipe;
use aws_lc_sys as lc;
use std::ptr;

/// A running hash. Copies continue independently; every copy is wiped when dropped.
pub(crate) enum HashContext {
    Md5(lc::MD5_CTX),
    Ripemd160(lc::RIPEMD160_CTX),
    Sha1(lc::SHA_CTX),
    Sha224(lc::SHA256_CTX),
    Sha256(lc::SHA256_CTX),
    Sha384(lc::SHA512_CTX),
    Sha512(lc::SHA512_CTX),
    Sha3(Sha3Context),
}

/// The output lengths of SHA-3 in bytes.
#[derive(Clone, Copy)]
pub(crate) enum Sha3Bytes {
    B28,
    B32,
    B48,
    B64,
}

macro_rules! started {
    ($variant:ident, $context:ty, $init:ident) => {{
        let mut context = std::mem::MaybeUninit::<$context>::zeroed();
        // SAFETY: zeros are valid for this plain structure, and the function fills all that it needs.
        unsafe {
            lc::$init(context.as_mut_ptr());
            HashContext::$variant(context.assume_init())
        }
    }};
}

impl HashContext {
    pub(crate) fn md5() -> HashContext {
        started!(Md5, lc::MD5_CTX, MD5_Init)
    }
    pub(crate) fn ripemd160() -> HashContext {
        started!(Ripemd160, lc::RIPEMD160_CTX, RIPEMD160_Init)
    }
    pub(crate) fn sha1() -> HashContext {
        started!(Sha1, lc::SHA_CTX, SHA1_Init)
    }
    pub(crate) fn sha224() -> HashContext {
        started!(Sha224, lc::SHA256_CTX, SHA224_Init)
    }
    pub(crate) fn sha256() -> HashContext {
        started!(Sha256, lc::SHA256_CTX, SHA256_Init)
    }
    pub(crate) fn sha384() -> HashContext {
        started!(Sha384, lc::SHA512_CTX, SHA384_Init)
    }
    pub(crate) fn sha512() -> HashContext {
        started!(Sha512, lc::SHA512_CTX, SHA512_Init)
    }
    /// A SHA-3 hash. Panics only if there is no memory for the state.
    pub(crate) fn sha3(bytes: Sha3Bytes) -> HashContext {
        HashContext::Sha3(Sha3Context::new(bytes))
    }

    /// Adds text to the hash.
    pub(crate) fn update(&mut self, text: &[u8]) {
        let (data, bytes) = (text.as_ptr().cast(), text.len());
        // SAFETY: each context was started by its own `Init`; pointer and length come from one slice; these
        // functions cannot fail.
        unsafe {
            match self {
                HashContext::Md5(context) => lc::MD5_Update(context, data, bytes),
                HashContext::Ripemd160(context) => lc::RIPEMD160_Update(context, data, bytes),
                HashContext::Sha1(context) => lc::SHA1_Update(context, data, bytes),
                HashContext::Sha224(context) => lc::SHA224_Update(context, data, bytes),
                HashContext::Sha256(context) => lc::SHA256_Update(context, data, bytes),
                HashContext::Sha384(context) => lc::SHA384_Update(context, data, bytes),
                HashContext::Sha512(context) => lc::SHA512_Update(context, data, bytes),
                HashContext::Sha3(context) => lc::EVP_DigestUpdate(context.0, data, bytes),
            }
        };
    }

    /// Ends the hash: returns the digest, followed by zeros. The hash must not be used afterwards. It is not moved,
    /// since that would leave a copy of its state.
    pub(crate) fn finish(&mut self) -> [u8; 64] {
        let mut digest = [0; 64];
        let out = digest.as_mut_ptr();
        // SAFETY: each context was started by its own `Init`; the library reads and writes the context and its digest,
        // of at most 64 bytes, whatever the context has been used for. A second call gives a digest of nothing.
        unsafe {
            match self {
                HashContext::Md5(context) => lc::MD5_Final(out, context),
                HashContext::Ripemd160(context) => lc::RIPEMD160_Final(out, context),
                HashContext::Sha1(context) => lc::SHA1_Final(out, context),
                HashContext::Sha224(context) => lc::SHA224_Final(out, context),
                HashContext::Sha256(context) => lc::SHA256_Final(out, context),
                HashContext::Sha384(context) => lc::SHA384_Final(out, context),
                HashContext::Sha512(context) => lc::SHA512_Final(out, context),
                HashContext::Sha3(context) => lc::EVP_DigestFinal_ex(context.0, out, ptr::null_mut()),
            }
        };
        digest
    }

    /// The chaining state of a hash at a block boundary, in big-endian words, and the length of the text so far in
    /// bytes. `None` inside a block, and for SHA-3.
    pub(crate) fn chaining(&self) -> Option<(Vec<u8>, u64)> {
        fn words32(h: &[u32], low: u32, high: u32, pending: u32) -> Option<(Vec<u8>, u64)> {
            let bits = (u64::from(high) << 32) | u64::from(low);
            (pending == 0).then(|| (h.iter().flat_map(|word| word.to_be_bytes()).collect(), bits / 8))
        }
        match self {
            HashContext::Md5(c) => words32(&c.h, c.Nl, c.Nh, c.num),
            HashContext::Ripemd160(c) => words32(&c.h, c.Nl, c.Nh, c.num),
            HashContext::Sha1(c) => words32(&c.h, c.Nl, c.Nh, c.num),
            HashContext::Sha224(c) | HashContext::Sha256(c) => words32(&c.h, c.Nl, c.Nh, c.num),
            HashContext::Sha384(c) | HashContext::Sha512(c) => (c.num == 0 && c.Nh == 0)
                .then(|| (c.h.iter().flat_map(|word| word.to_be_bytes()).collect(), c.Nl / 8)),
            HashContext::Sha3(_) => None,
        }
    }

    /// The chaining state of SHA-1, or of SHA-2 with 32-bit words, at a block boundary. `None` for other hashes, and
    /// inside a block.
    pub(crate) fn chaining_words(&self) -> Option<[u32; 8]> {
        match self {
            HashContext::Sha1(lc::SHA_CTX { h: [a, b, c, d, e], num: 0, .. }) => {
                Some([*a, *b, *c, *d, *e, 0, 0, 0])
            }
            HashContext::Sha224(c) | HashContext::Sha256(c) => (c.num == 0).then_some(c.h),
            _ => None,
        }
    }

    /// The chaining state of SHA-2 with 64-bit words, at a block boundary. `None` for other hashes, and inside a block.
    pub(crate) fn wide_chaining_words(&self) -> Option<[u64; 8]> {
        match self {
            HashContext::Sha384(c) | HashContext::Sha512(c) => (c.num == 0).then_some(c.h),
            _ => None,
        }
    }

    /// Lets `compress` take `bytes` bytes of whole text blocks into the chaining value of SHA-1. False, without calling
    /// it, inside a block and for other hashes.
    #[must_use]
    pub(crate) fn take_sha1_blocks(&mut self, bytes: u64, compress: impl FnOnce(&mut [u32; 5])) -> bool {
        let HashContext::Sha1(c @ lc::SHA_CTX { num: 0, .. }) = self else { return false };
        compress(&mut c.h);
        let bits = (u64::from(c.Nh) << 32 | u64::from(c.Nl)).wrapping_add(bytes.wrapping_mul(8));
        (c.Nl, c.Nh) = (bits as u32, (bits >> 32) as u32);
        true
    }

    /// Continues from a chaining state of [`HashContext::chaining`]. False, with no change, for SHA-3, a wrong number
    /// of words, or a length that is not whole blocks or too long.
    #[must_use]
    pub(crate) fn set_chaining(&mut self, words: &[u8], text_bytes: u64) -> bool {
        fn set32(h: &mut [u32], words: &[u8]) -> bool {
            let (words, []) = words.as_chunks::<4>() else { return false };
            if words.len() != h.len() {
                return false;
            }
            for (to, from) in h.iter_mut().zip(words) {
                *to = u32::from_be_bytes(*from);
            }
            true
        }
        let Some(bits) = text_bytes.checked_mul(8) else { return false };
        let (low, high) = (bits as u32, (bits >> 32) as u32);
        macro_rules! set {
            ($c:ident) => {
                text_bytes.is_multiple_of(64) && set32(&mut $c.h, words) && {
                    ($c.Nl, $c.Nh, $c.num) = (low, high, 0);
                    true
                }
            };
        }
        match self {
            HashContext::Md5(c) => set!(c),
            HashContext::Ripemd160(c) => set!(c),
            HashContext::Sha1(c) => set!(c),
            HashContext::Sha224(c) | HashContext::Sha256(c) => set!(c),
            HashContext::Sha384(c) | HashContext::Sha512(c) => {
                let (words, []) = words.as_chunks::<8>() else { return false };
                if words.len() != c.h.len() || !text_bytes.is_multiple_of(128) {
                    return false;
                }
                for (to, from) in c.h.iter_mut().zip(words) {
                    *to = u64::from_be_bytes(*from);
                }
                (c.Nl, c.Nh, c.num) = (bits, 0, 0);
                true
            }
            HashContext::Sha3(_) => false,
        }
    }
}

/// Compresses whole blocks into a chaining value, with the library's best code for one text.
pub(crate) fn compress_alone(family: ShaFamily, words: &mut [u32; 8], blocks: &[[u8; 64]]) {
    match family {
        ShaFamily::Sha1 => {
            let mut context = HashContext::sha1();
            if let HashContext::Sha1(c) = &mut context {
                c.h.copy_from_slice(&words[..5]);
            }
            context.update(blocks.as_flattened());
            if let HashContext::Sha1(c) = &context {
                words[..5].copy_from_slice(&c.h);
            }
        }
        // The library's code compresses one block before it looks at their number.
        ShaFamily::Sha256 if blocks.is_empty() => {}
        // SAFETY: eight words are a chaining value, and the pointer is of as many blocks, of which there is one at
        // least.
        ShaFamily::Sha256 => unsafe {
            lc::SHA256_TransformBlocks(words.as_mut_ptr(), blocks.as_ptr().cast(), blocks.len());
        },
    }
}

/// As [`compress_alone`], for SHA-384 and SHA-512.
pub(crate) fn compress_alone_wide(words: &mut [u64; 8], blocks: &[[u8; 128]]) {
    let mut context = HashContext::sha512();
    if let HashContext::Sha512(c) = &mut context {
        c.h = *words;
    }
    context.update(blocks.as_flattened());
    if let HashContext::Sha512(c) = &context {
        *words = c.h;
    }
}

impl Clone for HashContext {
    fn clone(&self) -> HashContext {
        match self {
            HashContext::Md5(c) => HashContext::Md5(*c),
            HashContext::Ripemd160(c) => HashContext::Ripemd160(*c),
            HashContext::Sha1(c) => HashContext::Sha1(*c),
            HashContext::Sha224(c) => HashContext::Sha224(*c),
            HashContext::Sha256(c) => HashContext::Sha256(*c),
            HashContext::Sha384(c) => HashContext::Sha384(*c),
            HashContext::Sha512(c) => HashContext::Sha512(*c),
            HashContext::Sha3(c) => HashContext::Sha3(c.clone()),
        }
    }
}

impl Drop for HashContext {
    fn drop(&mut self) {
        // SAFETY: all but SHA-3, which wipes itself, are plain words and bytes.
        unsafe {
            match self {
                HashContext::Md5(context) => wipe(context),
                HashContext::Ripemd160(context) => wipe(context),
                HashContext::Sha1(context) => wipe(context),
                HashContext::Sha224(context) | HashContext::Sha256(context) => wipe(context),
                HashContext::Sha384(context) | HashContext::Sha512(context) => wipe(context),
                HashContext::Sha3(_) => {}
            }
        }
    }
}

/// SHA-3 through the library's general interface, the only one for it. The state is on the heap.
pub(crate) struct Sha3Context(*mut lc::EVP_MD_CTX);

// SAFETY: the context is owned by this value alone and the library ties it to no thread.
unsafe impl Send for Sha3Context {}
// SAFETY: shared access only copies it, which reads.
unsafe impl Sync for Sha3Context {}

impl Sha3Context {
    fn new(bytes: Sha3Bytes) -> Sha3Context {
        // SAFETY: these take no arguments and return pointers to static descriptions.
        let digest = unsafe {
            match bytes {
                Sha3Bytes::B28 => lc::EVP_sha3_224(),
                Sha3Bytes::B32 => lc::EVP_sha3_256(),
                Sha3Bytes::B48 => lc::EVP_sha3_384(),
                Sha3Bytes::B64 => lc::EVP_sha3_512(),
            }
        };
        // SAFETY: takes no arguments; the result is checked.
        let context = unsafe { lc::EVP_MD_CTX_new() };
        // SAFETY: a fresh context, if there is one, and a static description.
        let started =
            !context.is_null() && unsafe { lc::EVP_DigestInit_ex(context, digest, ptr::null_mut()) } == 1;
        assert!(started, "no memory for a hash state");
        Sha3Context(context)
    }
}

impl Clone for Sha3Context {
    fn clone(&self) -> Sha3Context {
        // SAFETY: takes no arguments; the result is checked.
        let context = unsafe { lc::EVP_MD_CTX_new() };
        // SAFETY: a fresh context, if there is one, and one that was started.
        let copied = !context.is_null() && unsafe { lc::EVP_MD_CTX_copy_ex(context, self.0) } == 1;
        assert!(copied, "no memory for a hash state");
        Sha3Context(context)
    }
}

impl Drop for Sha3Context {
    fn drop(&mut self) {
        // SAFETY: made by `EVP_MD_CTX_new`, owned by this value alone; the library wipes what it frees.
        unsafe { lc::EVP_MD_CTX_free(self.0) }
    }
}
