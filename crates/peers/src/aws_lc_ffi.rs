//! AWS-LC, in the build that the engine links, called directly by the fastest interface for each operation.

use crate::RsaNumbers;
use aws_lc_sys as lc;
use std::mem::MaybeUninit;
use std::ptr;

/// An AES key schedule for one direction.
pub struct Aes(lc::AES_KEY);

impl Aes {
    /// Prepares a key; `None` if its length is not an AES one.
    pub fn new(key: &[u8], encipher: bool) -> Option<Aes> {
        let mut schedule = MaybeUninit::uninit();
        let bits = 8 * key.len() as u32;
        // SAFETY: reads `bits / 8` bytes of the key, writes the schedule; the result says whether it did.
        let set = unsafe {
            match encipher {
                true => lc::AES_set_encrypt_key(key.as_ptr(), bits, schedule.as_mut_ptr()),
                false => lc::AES_set_decrypt_key(key.as_ptr(), bits, schedule.as_mut_ptr()),
            }
        };
        // SAFETY: zero means that the schedule was written.
        (set == 0).then(|| Aes(unsafe { schedule.assume_init() }))
    }

    /// CBC in place, with a key for this direction; updates the chaining value.
    pub fn cbc(&self, encipher: bool, chain: &mut [u8; 16], data: &mut [u8]) {
        assert!(data.len().is_multiple_of(16));
        let text = data.as_mut_ptr();
        // SAFETY: whole blocks of one exclusive slice, in place, which the library allows.
        unsafe {
            lc::AES_cbc_encrypt(text, text, data.len(), &self.0, chain.as_mut_ptr(), i32::from(encipher));
        }
    }

    /// CTR in place, from the start of a block; updates the counter.
    pub fn ctr(&self, counter: &mut [u8; 16], data: &mut [u8]) {
        let (mut rest, mut used) = ([0; 16], 0);
        let text = data.as_mut_ptr();
        // SAFETY: one exclusive slice, in place, which the library allows; the others are arrays of ours.
        unsafe {
            lc::AES_ctr128_encrypt(
                text,
                text,
                data.len(),
                &self.0,
                counter.as_mut_ptr(),
                rest.as_mut_ptr(),
                &mut used,
            );
        }
    }

    /// CFB with segments of 128 bits, enciphered in place, from the start of a segment; updates the chaining value.
    pub fn cfb_encipher(&self, chain: &mut [u8; 16], data: &mut [u8]) {
        let mut used = 0;
        let text = data.as_mut_ptr();
        // SAFETY: one exclusive slice, in place, which the library allows; the others are ours.
        unsafe {
            lc::AES_cfb128_encrypt(text, text, data.len(), &self.0, chain.as_mut_ptr(), &mut used, 1);
        }
    }
}

/// AES-128 in ECB with a prepared key, by the EVP interface, whose kernel processes several blocks at a time.
pub struct AesEcb(*mut lc::EVP_CIPHER_CTX);

impl AesEcb {
    /// Prepares a key for one direction.
    pub fn new(key: &[u8; 16], encipher: bool) -> AesEcb {
        // SAFETY: a context of ours, checked; the key has the cipher's length.
        unsafe {
            let context = lc::EVP_CIPHER_CTX_new();
            assert!(!context.is_null());
            let (cipher, engine, iv) = (lc::EVP_aes_128_ecb(), ptr::null_mut(), ptr::null());
            let set = lc::EVP_CipherInit_ex(context, cipher, engine, key.as_ptr(), iv, i32::from(encipher));
            assert_eq!((set, lc::EVP_CIPHER_CTX_set_padding(context, 0)), (1, 1));
            AesEcb(context)
        }
    }

    /// Enciphers or deciphers whole blocks in place.
    pub fn update(&mut self, data: &mut [u8]) {
        assert!(data.len().is_multiple_of(16));
        let (mut bytes, text) = (0, data.as_mut_ptr());
        // SAFETY: one exclusive slice, in place, which the library allows.
        let done = unsafe { lc::EVP_CipherUpdate(self.0, text, &mut bytes, text, data.len() as i32) };
        assert_eq!(done, 1);
    }
}

impl Drop for AesEcb {
    fn drop(&mut self) {
        // SAFETY: made by `new`, not used after this.
        unsafe { lc::EVP_CIPHER_CTX_free(self.0) }
    }
}

/// AES-GCM with a prepared key.
pub struct Gcm(lc::EVP_AEAD_CTX);

impl Gcm {
    /// Prepares a key; `None` if its length is not an AES one.
    pub fn new(key: &[u8]) -> Option<Gcm> {
        let mut context = MaybeUninit::zeroed();
        // SAFETY: a context is zeroed before it is made ready; key and length come from one slice.
        let set = unsafe {
            let algorithm = match key.len() {
                16 => lc::EVP_aead_aes_128_gcm(),
                32 => lc::EVP_aead_aes_256_gcm(),
                _ => return None,
            };
            lc::EVP_AEAD_CTX_init(
                context.as_mut_ptr(),
                algorithm,
                key.as_ptr(),
                key.len(),
                16,
                ptr::null_mut(),
            )
        };
        // SAFETY: one means that the context is ready.
        (set == 1).then(|| Gcm(unsafe { context.assume_init() }))
    }

    /// Enciphers in place; returns the tag.
    pub fn seal(&self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8]) -> [u8; 16] {
        let (mut tag, mut tag_bytes) = ([0; 16], 0);
        let text = data.as_mut_ptr();
        // SAFETY: one exclusive slice, in place, which the library allows; every length is of its slice.
        let done = unsafe {
            lc::EVP_AEAD_CTX_seal_scatter(
                &self.0,
                text,
                tag.as_mut_ptr(),
                &mut tag_bytes,
                tag.len(),
                nonce.as_ptr(),
                nonce.len(),
                text,
                data.len(),
                ptr::null(),
                0,
                aad.as_ptr(),
                aad.len(),
            )
        };
        assert_eq!((done, tag_bytes), (1, 16));
        tag
    }
}

impl Drop for Gcm {
    fn drop(&mut self) {
        // SAFETY: made ready by `new`, not used after this.
        unsafe { lc::EVP_AEAD_CTX_cleanup(&mut self.0) }
    }
}

/// A DES key schedule.
pub struct Des(lc::DES_key_schedule);

impl Des {
    /// Prepares a key of one part, without a parity check.
    pub fn new(key: &[u8; 8]) -> Des {
        let mut schedule = MaybeUninit::uninit();
        let block = lc::DES_cblock_st { bytes: *key };
        // SAFETY: reads the key, writes the whole schedule.
        Des(unsafe {
            lc::DES_set_key_unchecked(&block, schedule.as_mut_ptr());
            schedule.assume_init()
        })
    }

    /// CBC in place; updates the chaining value.
    pub fn cbc(&self, encipher: bool, chain: &mut [u8; 8], data: &mut [u8]) {
        assert!(data.len().is_multiple_of(8));
        let text = data.as_mut_ptr();
        let mut block = lc::DES_cblock_st { bytes: *chain };
        // SAFETY: whole blocks of one exclusive slice, in place, which the library allows.
        unsafe {
            lc::DES_ncbc_encrypt(text, text, data.len(), &self.0, &mut block, i32::from(encipher));
        }
        *chain = block.bytes;
    }

    /// ECB of whole blocks in place.
    pub fn ecb(&self, encipher: bool, data: &mut [u8]) {
        for block in data.as_chunks_mut::<8>().0 {
            let mut inout = lc::DES_cblock_st { bytes: *block };
            let pointer = &raw mut inout;
            // SAFETY: one block of ours, in place, which the library allows.
            unsafe { lc::DES_ecb_encrypt(pointer, pointer, &self.0, i32::from(encipher)) }
            *block = inout.bytes;
        }
    }
}

/// A triple-DES key schedule.
pub struct Tdes([Des; 3]);

impl Tdes {
    /// Prepares a three-part key.
    pub fn new(key: &[u8; 24]) -> Tdes {
        let [first, second, third] = [0, 8, 16].map(|at| {
            let mut part = [0; 8];
            part.copy_from_slice(&key[at..at + 8]);
            Des::new(&part)
        });
        Tdes([first, second, third])
    }

    /// CBC in place; updates the chaining value.
    pub fn cbc(&self, encipher: bool, chain: &mut [u8; 8], data: &mut [u8]) {
        assert!(data.len().is_multiple_of(8));
        let [a, b, c] = &self.0;
        let text = data.as_mut_ptr();
        let mut block = lc::DES_cblock_st { bytes: *chain };
        // SAFETY: whole blocks of one exclusive slice, in place, which the library allows.
        unsafe {
            let direction = i32::from(encipher);
            lc::DES_ede3_cbc_encrypt(text, text, data.len(), &a.0, &b.0, &c.0, &mut block, direction);
        }
        *chain = block.bytes;
    }

    /// ECB of whole blocks in place.
    pub fn ecb(&self, encipher: bool, data: &mut [u8]) {
        let [a, b, c] = &self.0;
        for block in data.as_chunks_mut::<8>().0 {
            let mut inout = lc::DES_cblock_st { bytes: *block };
            let pointer = &raw mut inout;
            // SAFETY: one block of ours, in place, which the library allows.
            unsafe { lc::DES_ecb3_encrypt(pointer, pointer, &a.0, &b.0, &c.0, i32::from(encipher)) }
            *block = inout.bytes;
        }
    }
}

/// SHA-1 of a text in one call.
pub fn sha1(text: &[u8]) -> [u8; 20] {
    let mut digest = [0; 20];
    // SAFETY: pointer and length come from one slice; the digest has the length of SHA-1.
    unsafe { lc::SHA1(text.as_ptr(), text.len(), digest.as_mut_ptr()) };
    digest
}

/// SHA-256 of a text in one call.
pub fn sha256(text: &[u8]) -> [u8; 32] {
    let mut digest = [0; 32];
    // SAFETY: pointer and length come from one slice; the digest has the length of SHA-256.
    unsafe { lc::SHA256(text.as_ptr(), text.len(), digest.as_mut_ptr()) };
    digest
}

/// HMAC with a prepared key.
pub struct Hmac(lc::HMAC_CTX);

impl Hmac {
    /// Prepares a key for SHA-256 or, if `sha256` is false, for SHA-1.
    pub fn new(sha256: bool, key: &[u8]) -> Hmac {
        let mut context = MaybeUninit::uninit();
        // SAFETY: the context is initialised before it is used; pointer and length come from one slice.
        unsafe {
            lc::HMAC_CTX_init(context.as_mut_ptr());
            let hash = if sha256 { lc::EVP_sha256() } else { lc::EVP_sha1() };
            let pointer = context.as_mut_ptr();
            let set = lc::HMAC_Init_ex(pointer, key.as_ptr().cast(), key.len(), hash, ptr::null_mut());
            assert_eq!(set, 1);
            Hmac(context.assume_init())
        }
    }

    /// The MAC of a text: writes the first 32 bytes with SHA-256, the first 20 with SHA-1.
    pub fn mac(&mut self, text: &[u8], mac: &mut [u8; 32]) {
        let mut bytes = 0;
        // SAFETY: a context made ready by `new`; without a key and a hash it begins anew. The MAC is as long
        // as the longest of the two hashes.
        let done = unsafe {
            lc::HMAC_Init_ex(&mut self.0, ptr::null(), 0, ptr::null(), ptr::null_mut())
                & lc::HMAC_Update(&mut self.0, text.as_ptr(), text.len())
                & lc::HMAC_Final(&mut self.0, mac.as_mut_ptr(), &mut bytes)
        };
        assert_eq!(done, 1);
    }
}

impl Drop for Hmac {
    fn drop(&mut self) {
        // SAFETY: made ready by `new`, not used after this.
        unsafe { lc::HMAC_CTX_cleanup(&mut self.0) }
    }
}

/// CMAC over AES-128 with a prepared key.
pub struct Cmac(*mut lc::CMAC_CTX);

impl Cmac {
    /// Prepares an AES-128 key for CMAC.
    pub fn new(key: &[u8; 16]) -> Cmac {
        // SAFETY: a context of ours, checked; pointer and length come from one array.
        unsafe {
            let context = lc::CMAC_CTX_new();
            assert!(!context.is_null());
            let cipher = lc::EVP_aes_128_cbc();
            assert_eq!(lc::CMAC_Init(context, key.as_ptr().cast(), 16, cipher, ptr::null_mut()), 1);
            Cmac(context)
        }
    }

    /// Writes the MAC of a text.
    pub fn mac(&mut self, text: &[u8], mac: &mut [u8; 16]) {
        let mut bytes = 0;
        // SAFETY: a live context with a key, begun anew.
        let done = unsafe {
            lc::CMAC_Reset(self.0)
                & lc::CMAC_Update(self.0, text.as_ptr(), text.len())
                & lc::CMAC_Final(self.0, mac.as_mut_ptr(), &mut bytes)
        };
        assert_eq!((done, bytes), (1, 16));
    }
}

impl Drop for Cmac {
    fn drop(&mut self) {
        // SAFETY: made by `new`, not used after this.
        unsafe { lc::CMAC_CTX_free(self.0) }
    }
}

/// An RSA key with the library's precomputed constants.
pub struct Rsa {
    key: *mut lc::RSA,
    modulus_bytes: usize,
}

impl Rsa {
    /// Makes the key; `None` if the library refuses the numbers.
    pub fn new(numbers: &RsaNumbers<'_>) -> Option<Rsa> {
        let number = |bytes: &[u8]| {
            // SAFETY: pointer and length come from one slice.
            unsafe { lc::BN_bin2bn(bytes.as_ptr(), bytes.len(), ptr::null_mut()) }
        };
        // SAFETY: a new key of ours takes the numbers over, each made for it.
        let (key, set) = unsafe {
            let key = lc::RSA_new();
            let mut set = lc::RSA_set0_key(key, number(numbers.n), number(numbers.e), number(numbers.d));
            if let Some([p, q, dp, dq, qinv]) = numbers.crt {
                set &= lc::RSA_set0_factors(key, number(p), number(q));
                set &= lc::RSA_set0_crt_params(key, number(dp), number(dq), number(qinv));
            }
            (key, set)
        };
        let rsa = Rsa { key, modulus_bytes: numbers.n.len() };
        (set == 1).then_some(rsa)
    }

    /// The raw private-key operation, blinded and verified by the library.
    pub fn private(&mut self, input: &[u8], output: &mut [u8]) {
        assert!(input.len() == self.modulus_bytes && output.len() == self.modulus_bytes);
        let (mut bytes, length) = (0, output.len());
        // SAFETY: a live key; every length is of its slice.
        let done = unsafe {
            let (from, to) = (input.as_ptr(), output.as_mut_ptr());
            lc::RSA_sign_raw(self.key, &mut bytes, to, length, from, input.len(), lc::RSA_NO_PADDING)
        };
        assert_eq!((done, bytes), (1, length));
    }

    /// The raw public-key operation.
    pub fn public(&mut self, input: &[u8], output: &mut [u8]) {
        assert!(input.len() == self.modulus_bytes && output.len() == self.modulus_bytes);
        let (mut bytes, length) = (0, output.len());
        // SAFETY: a live key; every length is of its slice.
        let done = unsafe {
            let (from, to) = (input.as_ptr(), output.as_mut_ptr());
            lc::RSA_encrypt(self.key, &mut bytes, to, length, from, input.len(), lc::RSA_NO_PADDING)
        };
        assert_eq!((done, bytes), (1, length));
    }
}

impl Drop for Rsa {
    fn drop(&mut self) {
        // SAFETY: made by `new`, not used after this.
        unsafe { lc::RSA_free(self.key) }
    }
}

/// A private key of P-256 with its public part.
pub struct P256(*mut lc::EC_KEY);

impl P256 {
    /// Makes the key of a big-endian scalar; `None` if the scalar is no private key.
    pub fn new(scalar: &[u8; 32]) -> Option<P256> {
        // SAFETY: live objects, made here and freed once; the key takes copies.
        unsafe {
            let group = lc::EC_GROUP_new_by_curve_name(lc::NID_X9_62_prime256v1);
            let key = lc::EC_KEY_new();
            let number = lc::BN_bin2bn(scalar.as_ptr(), scalar.len(), ptr::null_mut());
            let point = lc::EC_POINT_new(group);
            let (none, numbers) = (ptr::null(), ptr::null_mut());
            let made = lc::EC_KEY_set_group(key, group) == 1
                && lc::EC_KEY_set_private_key(key, number) == 1
                && lc::EC_POINT_mul(group, point, number, none, ptr::null(), numbers) == 1
                && lc::EC_KEY_set_public_key(key, point) == 1;
            lc::BN_clear_free(number);
            lc::EC_POINT_clear_free(point);
            let key = P256(key);
            made.then_some(key)
        }
    }

    /// Writes an ECDSA signature in DER; returns its length in bytes.
    pub fn sign(&self, digest: &[u8; 32], out: &mut [u8; 80]) -> usize {
        let mut bytes = 0;
        // SAFETY: a live key, whose signatures have at most 72 bytes.
        let done =
            unsafe { lc::ECDSA_sign(0, digest.as_ptr(), digest.len(), out.as_mut_ptr(), &mut bytes, self.0) };
        assert!(done == 1 && bytes as usize <= out.len());
        bytes as usize
    }

    /// Whether an ECDSA signature in DER is valid for the digest.
    pub fn verify(&self, digest: &[u8; 32], signature: &[u8]) -> bool {
        let (digest_at, bytes) = (digest.as_ptr(), signature.len());
        // SAFETY: a live key; every length is of its slice.
        unsafe { lc::ECDSA_verify(0, digest_at, digest.len(), signature.as_ptr(), bytes, self.0) == 1 }
    }
}

impl Drop for P256 {
    fn drop(&mut self) {
        // SAFETY: made by `new`, not used after this.
        unsafe { lc::EC_KEY_free(self.0) }
    }
}

/// X25519: the shared value of a private and a public value.
pub fn x25519(private: &[u8; 32], public: &[u8; 32]) -> [u8; 32] {
    let mut shared = [0; 32];
    // SAFETY: three arrays of 32 bytes each.
    let made = unsafe { lc::X25519(shared.as_mut_ptr(), private.as_ptr(), public.as_ptr()) };
    assert_eq!(made, 1);
    shared
}

/// The X25519 public value of a private value.
pub fn x25519_public(private: &[u8; 32]) -> [u8; 32] {
    let mut public = [0; 32];
    // SAFETY: two arrays of 32 bytes each.
    unsafe { lc::X25519_public_from_private(public.as_mut_ptr(), private.as_ptr()) };
    public
}
