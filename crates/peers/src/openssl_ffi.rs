//! The system's OpenSSL 3 (`libcrypto.so.3`), loaded when the program runs.
//!
//! Each operation uses OpenSSL's fastest interface. Ciphers use the EVP interface with a context kept ready for each
//! key. DES uses the low-level calls, because its EVP interface is in the legacy provider and takes microseconds to set
//! up a key. Hashes use them too, because the EVP interface fetches the hash anew, and raw RSA with a prepared key.
//!
//! All functions and constants are of the stable ABI of OpenSSL 3: its shared library keeps its name for as
//! long as these types hold.

use crate::table_ffi::functions;
use crate::{Missing, RsaNumbers, cause};
use libloading::Library;
use std::ffi::{CStr, CString, c_char, c_int, c_long, c_uchar, c_uint, c_ulong, c_void};
use std::marker::PhantomData;
use std::ptr;
use std::sync::OnceLock;

const FILE: &str = "libcrypto.so.3";
const PACKAGE: &str = "libssl3";

type Any = *mut c_void;
type Bytes = *const c_uchar;
type Out = *mut c_uchar;

functions! {
    /// Functions in use. Opaque objects of the library are all `*mut c_void` here.
    struct Functions {
        OpenSSL_version: fn(c_int) -> *const c_char;
        EVP_CIPHER_fetch: fn(Any, *const c_char, *const c_char) -> Any;
        EVP_CIPHER_free: fn(Any);
        EVP_CIPHER_get_key_length: fn(Any) -> c_int;
        EVP_CIPHER_get_iv_length: fn(Any) -> c_int;
        EVP_CIPHER_get_block_size: fn(Any) -> c_int;
        EVP_CIPHER_CTX_new: fn() -> Any;
        EVP_CIPHER_CTX_free: fn(Any);
        EVP_CIPHER_CTX_set_padding: fn(Any, c_int) -> c_int;
        EVP_CIPHER_CTX_ctrl: fn(Any, c_int, c_int, Any) -> c_int;
        EVP_CipherInit_ex: fn(Any, Any, Any, Bytes, Bytes, c_int) -> c_int;
        EVP_CipherUpdate: fn(Any, Out, *mut c_int, Bytes, c_int) -> c_int;
        EVP_CipherFinal_ex: fn(Any, Out, *mut c_int) -> c_int;
        DES_set_key_unchecked: fn(Bytes, *mut DesSchedule);
        DES_ncbc_encrypt: fn(Bytes, Out, c_long, *const DesSchedule, Out, c_int);
        DES_encrypt1: fn(*mut c_uint, *const DesSchedule, c_int);
        DES_encrypt3: fn(*mut c_uint, *const DesSchedule, *const DesSchedule, *const DesSchedule);
        DES_decrypt3: fn(*mut c_uint, *const DesSchedule, *const DesSchedule, *const DesSchedule);
        SHA1_Init: fn(*mut ShaContext) -> c_int;
        SHA1_Update: fn(*mut ShaContext, *const c_void, usize) -> c_int;
        SHA1_Final: fn(Out, *mut ShaContext) -> c_int;
        SHA256_Init: fn(*mut ShaContext) -> c_int;
        SHA256_Update: fn(*mut ShaContext, *const c_void, usize) -> c_int;
        SHA256_Final: fn(Out, *mut ShaContext) -> c_int;
        EVP_sha1: fn() -> Any;
        EVP_sha256: fn() -> Any;
        EVP_aes_128_cbc: fn() -> Any;
        HMAC_CTX_new: fn() -> Any;
        HMAC_CTX_free: fn(Any);
        HMAC_Init_ex: fn(Any, *const c_void, c_int, Any, Any) -> c_int;
        HMAC_Update: fn(Any, Bytes, usize) -> c_int;
        HMAC_Final: fn(Any, Out, *mut c_uint) -> c_int;
        CMAC_CTX_new: fn() -> Any;
        CMAC_CTX_free: fn(Any);
        CMAC_Init: fn(Any, *const c_void, usize, Any, Any) -> c_int;
        CMAC_Update: fn(Any, *const c_void, usize) -> c_int;
        CMAC_Final: fn(Any, Out, *mut usize) -> c_int;
        BN_bin2bn: fn(Bytes, c_int, Any) -> Any;
        BN_new: fn() -> Any;
        BN_set_word: fn(Any, c_ulong) -> c_int;
        BN_free: fn(Any);
        RSA_new: fn() -> Any;
        RSA_free: fn(Any);
        RSA_set0_key: fn(Any, Any, Any, Any) -> c_int;
        RSA_set0_factors: fn(Any, Any, Any) -> c_int;
        RSA_set0_crt_params: fn(Any, Any, Any, Any) -> c_int;
        RSA_private_encrypt: fn(c_int, Bytes, Out, Any, c_int) -> c_int;
        RSA_public_encrypt: fn(c_int, Bytes, Out, Any, c_int) -> c_int;
        RSA_generate_key_ex: fn(Any, c_int, Any, Any) -> c_int;
    }
}

/// `DES_key_schedule`: sixteen pairs of words.
#[repr(C, align(8))]
#[derive(Clone)]
struct DesSchedule([u32; 32]);

/// `SHA_CTX` (96 bytes) and `SHA256_CTX` (112): room for either.
#[repr(C, align(8))]
struct ShaContext([u64; 16]);

const EVP_CTRL_AEAD_GET_TAG: c_int = 0x10;
const RSA_NO_PADDING: c_int = 3;

/// The library, loaded once and never unloaded.
pub struct OpenSsl {
    functions: Functions,
    version: String,
    /// Never unloaded: the library registers handlers that run when the process ends.
    _library: Library,
}

/// Loads the library once; later calls return the first result.
pub fn openssl() -> Result<&'static OpenSsl, Missing> {
    static LOADED: OnceLock<Result<OpenSsl, Missing>> = OnceLock::new();
    LOADED.get_or_init(OpenSsl::load).as_ref().map_err(Clone::clone)
}

impl OpenSsl {
    fn load() -> Result<OpenSsl, Missing> {
        let missing = |error: libloading::Error| Missing {
            library: "OpenSSL 3",
            package: PACKAGE,
            cause: cause(&error),
        };
        // SAFETY: what the library does when it is loaded concerns itself only; its file name stands for the
        // ABI that the table of functions was written from; it is kept loaded with the table.
        unsafe {
            let library = Library::new(FILE).map_err(missing)?;
            let functions = Functions::find(&library).map_err(missing)?;
            let text = CStr::from_ptr((functions.OpenSSL_version)(0));
            let version = text.to_string_lossy().split_whitespace().take(2).collect::<Vec<_>>().join(" ");
            Ok(OpenSsl { functions, version, _library: library })
        }
    }

    /// The library's name and version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// SHA-1 of a text in one call.
    pub fn sha1(&self, text: &[u8]) -> [u8; 20] {
        let mut context = ShaContext([0; 16]);
        let mut digest = [0; 20];
        // SAFETY: the context has room for the library's; pointer and length come from one slice; the digest
        // has the length of SHA-1.
        unsafe {
            (self.functions.SHA1_Init)(&mut context);
            (self.functions.SHA1_Update)(&mut context, text.as_ptr().cast(), text.len());
            (self.functions.SHA1_Final)(digest.as_mut_ptr(), &mut context);
        }
        digest
    }

    /// SHA-256 of a text in one call.
    pub fn sha256(&self, text: &[u8]) -> [u8; 32] {
        let mut context = ShaContext([0; 16]);
        let mut digest = [0; 32];
        // SAFETY: as for SHA-1.
        unsafe {
            (self.functions.SHA256_Init)(&mut context);
            (self.functions.SHA256_Update)(&mut context, text.as_ptr().cast(), text.len());
            (self.functions.SHA256_Final)(digest.as_mut_ptr(), &mut context);
        }
        digest
    }

    /// The MAC of whole blocks by the optional procedure of X9.19, from the raw key. Sets up both key schedules and
    /// enciphers the text in CBC under the left one into `room`. The last block is then deciphered under the right one
    /// and enciphered under the left.
    pub fn x919(&self, key: &[u8; 16], text: &[u8], room: &mut [u8]) -> [u8; 8] {
        assert!(text.len().is_multiple_of(8) && room.len() >= text.len());
        let [left, right] = [0, 8].map(|at| self.des_schedule(&key[at..at + 8]));
        let mut chain = [0; 8];
        // SAFETY: `room` is as long as the text, which is whole blocks; the chaining value is one.
        unsafe {
            let (from, to, length) = (text.as_ptr(), room.as_mut_ptr(), text.len() as c_long);
            (self.functions.DES_ncbc_encrypt)(from, to, length, &left, chain.as_mut_ptr(), 1);
        }
        let mut block = halves(&chain);
        // SAFETY: two words of ours and live schedules.
        unsafe {
            (self.functions.DES_encrypt1)(block.as_mut_ptr(), &right, 0);
            (self.functions.DES_encrypt1)(block.as_mut_ptr(), &left, 1);
        }
        joined(block)
    }

    fn des_schedule(&self, key: &[u8]) -> DesSchedule {
        assert!(key.len() == 8);
        let mut schedule = DesSchedule([0; 32]);
        // SAFETY: reads eight bytes of the key, writes the schedule.
        unsafe { (self.functions.DES_set_key_unchecked)(key.as_ptr(), &mut schedule) };
        schedule
    }

    fn number(&self, bytes: &[u8]) -> Any {
        // SAFETY: pointer and length come from one slice; the number is new.
        unsafe { (self.functions.BN_bin2bn)(bytes.as_ptr(), bytes.len() as c_int, ptr::null_mut()) }
    }

    /// Generates an RSA key and discards it, to measure the time.
    pub fn rsa_generate(&self, bits: usize) {
        // SAFETY: key and exponent are new, used by the library for the length of the call, and freed.
        let done = unsafe {
            let (key, exponent) = ((self.functions.RSA_new)(), (self.functions.BN_new)());
            (self.functions.BN_set_word)(exponent, 65537);
            let done = (self.functions.RSA_generate_key_ex)(key, bits as c_int, exponent, ptr::null_mut());
            (self.functions.BN_free)(exponent);
            (self.functions.RSA_free)(key);
            done
        };
        assert_eq!(done, 1);
    }
}

fn halves(block: &[u8; 8]) -> [c_uint; 2] {
    let [a, b, c, d, e, f, g, h] = *block;
    [c_uint::from_le_bytes([a, b, c, d]), c_uint::from_le_bytes([e, f, g, h])]
}

fn joined(halves: [c_uint; 2]) -> [u8; 8] {
    let mut block = [0; 8];
    block[..4].copy_from_slice(&halves[0].to_le_bytes());
    block[4..].copy_from_slice(&halves[1].to_le_bytes());
    block
}

/// A two-part triple-DES key, in the low-level interface.
pub struct Tdes2 {
    library: &'static OpenSsl,
    schedules: [DesSchedule; 2],
}

impl Tdes2 {
    /// Prepares a two-part key.
    pub fn new(library: &'static OpenSsl, key: &[u8; 16]) -> Tdes2 {
        Tdes2 { library, schedules: [0, 8].map(|at| library.des_schedule(&key[at..at + 8])) }
    }

    /// Enciphers or deciphers one block.
    pub fn block(&self, encipher: bool, block: &[u8; 8]) -> [u8; 8] {
        let [first, second] = &self.schedules;
        let functions = &self.library.functions;
        let mut halves = halves(block);
        // SAFETY: two words of ours and live schedules.
        unsafe {
            let run = if encipher { functions.DES_encrypt3 } else { functions.DES_decrypt3 };
            run(halves.as_mut_ptr(), first, second, first);
        }
        joined(halves)
    }
}

/// A DES key, in the low-level interface.
pub struct Des {
    library: &'static OpenSsl,
    schedule: DesSchedule,
}

impl Des {
    /// Prepares a key of one part, without a parity check.
    pub fn new(library: &'static OpenSsl, key: &[u8; 8]) -> Des {
        Des { library, schedule: library.des_schedule(key) }
    }

    /// CBC in place; updates the chaining value.
    pub fn cbc(&self, encipher: bool, chain: &mut [u8; 8], data: &mut [u8]) {
        assert!(data.len().is_multiple_of(8));
        let (text, length) = (data.as_mut_ptr(), data.len() as c_long);
        // SAFETY: whole blocks of one exclusive slice, in place, which the library allows.
        unsafe {
            let way = c_int::from(encipher);
            (self.library.functions.DES_ncbc_encrypt)(
                text,
                text,
                length,
                &self.schedule,
                chain.as_mut_ptr(),
                way,
            );
        }
    }

    /// ECB of whole blocks in place.
    pub fn ecb(&self, encipher: bool, data: &mut [u8]) {
        for block in data.as_chunks_mut::<8>().0 {
            let mut words = halves(block);
            // SAFETY: two words of ours and a live schedule.
            unsafe {
                let way = c_int::from(encipher);
                (self.library.functions.DES_encrypt1)(words.as_mut_ptr(), &self.schedule, way);
            }
            *block = joined(words);
        }
    }
}

/// A cipher with its key set up, in the EVP interface: CBC, ECB, CTR, CFB, GCM or OCB.
pub struct Cipher {
    library: &'static OpenSsl,
    context: Any,
    iv_bytes: usize,
    /// The length of every text must be a multiple of this: the library would hold back an incomplete block and later
    /// write it beyond the text.
    block_bytes: usize,
    _not_shared: PhantomData<*mut ()>,
}

impl Cipher {
    /// Prepares a key for the cipher with this OpenSSL name, such as `AES-128-CBC`. `None` if OpenSSL lacks the cipher
    /// or the key's length is wrong.
    pub fn new(library: &'static OpenSsl, name: &str, encipher: bool, key: &[u8]) -> Option<Cipher> {
        let name = CString::new(name).ok()?;
        let functions = &library.functions;
        let bytes = |length: c_int| usize::try_from(length).unwrap_or(0);
        // SAFETY: the name ends with a zero; the context is new and freed on drop; the key has the length that
        // the cipher asks for, and the cipher lives until it is freed.
        unsafe {
            let cipher = (functions.EVP_CIPHER_fetch)(ptr::null_mut(), name.as_ptr(), ptr::null());
            if cipher.is_null() {
                return None;
            }
            if bytes((functions.EVP_CIPHER_get_key_length)(cipher)) != key.len() {
                (functions.EVP_CIPHER_free)(cipher);
                return None;
            }
            let made = Cipher {
                library,
                context: (functions.EVP_CIPHER_CTX_new)(),
                iv_bytes: bytes((functions.EVP_CIPHER_get_iv_length)(cipher)),
                block_bytes: bytes((functions.EVP_CIPHER_get_block_size)(cipher)).max(1),
                _not_shared: PhantomData,
            };
            let way = c_int::from(encipher);
            let nothing = ptr::null_mut();
            let set =
                (functions.EVP_CipherInit_ex)(made.context, cipher, nothing, key.as_ptr(), ptr::null(), way);
            (functions.EVP_CIPHER_free)(cipher);
            (functions.EVP_CIPHER_CTX_set_padding)(made.context, 0);
            (set == 1).then_some(made)
        }
    }

    /// Begins a text with a chaining value, a counter or a nonce, at least as long as the cipher's (GCM and OCB: 12
    /// bytes).
    pub fn start(&mut self, iv: &[u8]) {
        assert!(iv.len() >= self.iv_bytes);
        let nothing = ptr::null_mut();
        // SAFETY: a live context; the cipher reads as many bytes as its initialization vector has, and there
        // are so many.
        let set = unsafe {
            let init = self.library.functions.EVP_CipherInit_ex;
            init(self.context, nothing, nothing, ptr::null(), iv.as_ptr(), -1)
        };
        assert_eq!(set, 1);
    }

    /// Processes the next part of the text in place; whole blocks, unless the cipher takes any length.
    pub fn update(&mut self, data: &mut [u8]) {
        let length = self.length(data);
        let (mut bytes, text) = (0, data.as_mut_ptr());
        // SAFETY: one exclusive slice, in place, which the library allows; without padding, whole blocks come
        // out as they go in.
        let done = unsafe {
            let update = self.library.functions.EVP_CipherUpdate;
            update(self.context, text, &mut bytes, text, length)
        };
        assert_eq!(done, 1);
    }

    /// The length of a text, which must be whole blocks, as the C type that OpenSSL takes.
    fn length(&self, data: &[u8]) -> c_int {
        assert!(data.len().is_multiple_of(self.block_bytes));
        c_int::try_from(data.len()).expect("a text of less than 2 GiB")
    }

    /// Enciphers a whole text in place and returns the tag; OCB texts must be whole blocks.
    pub fn seal(&mut self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8]) -> [u8; 16] {
        // Only the authenticated ciphers used here have a nonce of this length.
        assert_eq!(self.iv_bytes, nonce.len());
        self.start(nonce);
        let functions = &self.library.functions;
        let (text_bytes, aad_bytes) =
            (self.length(data), c_int::try_from(aad.len()).expect("less than 2 GiB"));
        let (mut bytes, mut last, mut tag) = (0, [0; 16], [0; 16]);
        let text = data.as_mut_ptr();
        // SAFETY: a live context; one exclusive slice, in place, which the library allows; OCB holds a part of
        // a block back, and there is none; the tag has its 16 bytes.
        let done = unsafe {
            let nowhere = ptr::null_mut();
            (functions.EVP_CipherUpdate)(self.context, nowhere, &mut bytes, aad.as_ptr(), aad_bytes)
                & (functions.EVP_CipherUpdate)(self.context, text, &mut bytes, text, text_bytes)
                & (functions.EVP_CipherFinal_ex)(self.context, last.as_mut_ptr(), &mut bytes)
                & (functions.EVP_CIPHER_CTX_ctrl)(
                    self.context,
                    EVP_CTRL_AEAD_GET_TAG,
                    16,
                    tag.as_mut_ptr().cast(),
                )
        };
        assert_eq!(done, 1);
        tag
    }
}

impl Drop for Cipher {
    fn drop(&mut self) {
        // SAFETY: made by `new`, not used after this.
        unsafe { (self.library.functions.EVP_CIPHER_CTX_free)(self.context) }
    }
}

/// HMAC with a prepared key.
pub struct Hmac {
    library: &'static OpenSsl,
    context: Any,
}

impl Hmac {
    /// Prepares a key for SHA-256 or, if `sha256` is false, for SHA-1.
    pub fn new(library: &'static OpenSsl, sha256: bool, key: &[u8]) -> Hmac {
        let functions = &library.functions;
        // SAFETY: a new context, freed on drop; pointer and length come from one slice.
        unsafe {
            let context = (functions.HMAC_CTX_new)();
            let hash = if sha256 { (functions.EVP_sha256)() } else { (functions.EVP_sha1)() };
            let bytes = key.len() as c_int;
            let set = (functions.HMAC_Init_ex)(context, key.as_ptr().cast(), bytes, hash, ptr::null_mut());
            assert_eq!(set, 1);
            Hmac { library, context }
        }
    }

    /// The MAC of a text: writes the first 32 bytes with SHA-256, the first 20 with SHA-1.
    pub fn mac(&mut self, text: &[u8], mac: &mut [u8; 32]) {
        let functions = &self.library.functions;
        let (mut bytes, nothing) = (0, ptr::null_mut());
        // SAFETY: a live context; without a key and a hash it begins anew. The MAC is as long as the longest
        // of the two hashes.
        let done = unsafe {
            (functions.HMAC_Init_ex)(self.context, ptr::null(), 0, nothing, nothing)
                & (functions.HMAC_Update)(self.context, text.as_ptr(), text.len())
                & (functions.HMAC_Final)(self.context, mac.as_mut_ptr(), &mut bytes)
        };
        assert_eq!(done, 1);
    }
}

impl Drop for Hmac {
    fn drop(&mut self) {
        // SAFETY: made by `new`, not used after this.
        unsafe { (self.library.functions.HMAC_CTX_free)(self.context) }
    }
}

/// CMAC over AES-128 with a prepared key.
pub struct Cmac {
    library: &'static OpenSsl,
    context: Any,
}

impl Cmac {
    /// Prepares an AES-128 key for CMAC.
    pub fn new(library: &'static OpenSsl, key: &[u8; 16]) -> Cmac {
        let functions = &library.functions;
        // SAFETY: a new context, freed on drop; pointer and length come from one array.
        unsafe {
            let context = (functions.CMAC_CTX_new)();
            let (cipher, nothing) = ((functions.EVP_aes_128_cbc)(), ptr::null_mut());
            assert_eq!((functions.CMAC_Init)(context, key.as_ptr().cast(), 16, cipher, nothing), 1);
            Cmac { library, context }
        }
    }

    /// Writes the MAC of a text.
    pub fn mac(&mut self, text: &[u8], mac: &mut [u8; 16]) {
        let functions = &self.library.functions;
        let (mut bytes, nothing) = (0, ptr::null_mut());
        // SAFETY: a live context with a key; without key and cipher it begins anew.
        let done = unsafe {
            (functions.CMAC_Init)(self.context, ptr::null(), 0, nothing, nothing)
                & (functions.CMAC_Update)(self.context, text.as_ptr().cast(), text.len())
                & (functions.CMAC_Final)(self.context, mac.as_mut_ptr(), &mut bytes)
        };
        assert_eq!((done, bytes), (1, 16));
    }
}

impl Drop for Cmac {
    fn drop(&mut self) {
        // SAFETY: made by `new`, not used after this.
        unsafe { (self.library.functions.CMAC_CTX_free)(self.context) }
    }
}

/// An RSA key. The library computes its constants at the first use and keeps them.
pub struct Rsa {
    library: &'static OpenSsl,
    key: Any,
    modulus_bytes: usize,
}

impl Rsa {
    /// Makes the key; `None` if the library refuses the numbers.
    pub fn new(library: &'static OpenSsl, numbers: &RsaNumbers<'_>) -> Option<Rsa> {
        let functions = &library.functions;
        let number = |bytes: &[u8]| library.number(bytes);
        // SAFETY: a new key takes the numbers over, each made for it.
        let (key, set) = unsafe {
            let key = (functions.RSA_new)();
            let mut set =
                (functions.RSA_set0_key)(key, number(numbers.n), number(numbers.e), number(numbers.d));
            if let Some([p, q, dp, dq, qinv]) = numbers.crt {
                set &= (functions.RSA_set0_factors)(key, number(p), number(q));
                set &= (functions.RSA_set0_crt_params)(key, number(dp), number(dq), number(qinv));
            }
            (key, set)
        };
        let rsa = Rsa { library, key, modulus_bytes: numbers.n.len() };
        (set == 1).then_some(rsa)
    }

    /// The raw private-key operation, blinded; for a key with primes also verified by the library.
    pub fn private(&mut self, input: &[u8], output: &mut [u8]) {
        assert!(input.len() == self.modulus_bytes && output.len() == self.modulus_bytes);
        // SAFETY: a live key; input and output are as long as its modulus.
        let bytes = unsafe {
            let operation = self.library.functions.RSA_private_encrypt;
            operation(input.len() as c_int, input.as_ptr(), output.as_mut_ptr(), self.key, RSA_NO_PADDING)
        };
        assert_eq!(bytes, output.len() as c_int);
    }

    /// The raw public-key operation.
    pub fn public(&mut self, input: &[u8], output: &mut [u8]) {
        assert!(input.len() == self.modulus_bytes && output.len() == self.modulus_bytes);
        // SAFETY: a live key; input and output are as long as its modulus.
        let bytes = unsafe {
            let operation = self.library.functions.RSA_public_encrypt;
            operation(input.len() as c_int, input.as_ptr(), output.as_mut_ptr(), self.key, RSA_NO_PADDING)
        };
        assert_eq!(bytes, output.len() as c_int);
    }
}

impl Drop for Rsa {
    fn drop(&mut self) {
        // SAFETY: made by `new`, not used after this.
        unsafe { (self.library.functions.RSA_free)(self.key) }
    }
}
