//! Intel's multi-buffer library for IPsec (`libIPSec_MB.so.1`, version 1.3), found when the program runs.
//!
//! Jobs are filled in place in the library's ring and submitted. The library works on several at once and returns each
//! when it is done. A job takes at most 32 KiB here (Debian's 1.3 fails silently above). Only the fields and functions
//! in use are declared. The layouts are those of `intel-ipsec-mb.h` 1.3; assertions below check them.

use crate::table_ffi::functions;
use crate::{Missing, cause};
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::offset_of;
use std::sync::OnceLock;

const FILE: &str = "libIPSec_MB.so.1";
const PACKAGE: &str = "libipsec-mb1";
/// The library version that these layouts belong to.
const VERSION: u32 = 1 << 16 | 3 << 8;
/// Longest text of a job, in bytes.
pub const JOB_BYTES_MAX: usize = 32 << 10;

functions! {
    /// The functions that the shared library exports; all others are called through the manager.
    struct Functions {
        imb_get_version: fn() -> u32;
        imb_get_version_str: fn() -> *const c_char;
        alloc_mb_mgr: fn(u64) -> *mut Manager;
        free_mb_mgr: fn(*mut Manager);
        init_mb_mgr_sse: fn(*mut Manager);
        init_mb_mgr_avx2: fn(*mut Manager);
        init_mb_mgr_avx512: fn(*mut Manager);
    }
}

type JobFunction = unsafe extern "C" fn(*mut Manager) -> *mut RawJob;
type KeyFunction = unsafe extern "C" fn(*const c_void, *mut c_void, *mut c_void);
type GcmFunction = unsafe extern "C" fn(
    *const GcmKeyData,
    *mut GcmContextData,
    *mut u8,
    *const u8,
    u64,
    *const u8,
    *const u8,
    u64,
    *mut u8,
    u64,
);

/// The head of `IMB_MGR`. Only the library makes one, so that it is used through a pointer.
#[repr(C)]
struct Manager {
    flags: u64,
    features: u64,
    reserved: [u64; 5],
    used_arch: u32,
    imb_errno: c_int,
    get_next_job: JobFunction,
    submit_job: JobFunction,
    submit_job_nocheck: JobFunction,
    get_completed_job: JobFunction,
    flush_job: JobFunction,
    queue_size: *const c_void,
    keyexp_128: KeyFunction,
    keyexp_192: KeyFunction,
    keyexp_256: KeyFunction,
    cmac_subkey_gen_128: KeyFunction,
    xcbc_keyexp: *const c_void,
    des_key_sched: unsafe extern "C" fn(*mut u64, *const c_void) -> c_int,
    sha1_one_block: unsafe extern "C" fn(*const c_void, *mut c_void),
    sha224_one_block: *const c_void,
    sha256_one_block: unsafe extern "C" fn(*const c_void, *mut c_void),
    others: [*const c_void; 9],
    gcm128_enc: GcmFunction,
    gcm_others: [*const c_void; 23],
    gcm128_pre: unsafe extern "C" fn(*const c_void, *mut GcmKeyData),
}

/// `IMB_JOB`.
#[repr(C)]
struct RawJob {
    enc_keys: *const c_void,
    dec_keys: *const c_void,
    key_len_in_bytes: u64,
    src: *const u8,
    dst: *mut u8,
    cipher_start_src_offset_in_bytes: u64,
    msg_len_to_cipher_in_bytes: u64,
    hash_start_src_offset_in_bytes: u64,
    msg_len_to_hash_in_bytes: u64,
    iv: *const u8,
    iv_len_in_bytes: u64,
    auth_tag_output: *mut u8,
    auth_tag_output_len_in_bytes: u64,
    hash_fields: [*const c_void; 3],
    status: c_int,
    cipher_mode: c_int,
    cipher_direction: c_int,
    hash_alg: c_int,
    chain_order: c_int,
    user_data: [*mut c_void; 2],
    custom_functions: [*const c_void; 2],
    sgl_state: c_int,
    cipher_fields: *mut c_void,
}

#[repr(C, align(64))]
struct GcmKeyData([u8; 1024]);
#[repr(C, align(64))]
struct GcmContextData([u8; 128]);

const _: () = {
    assert!(offset_of!(Manager, get_next_job) == 64 && offset_of!(Manager, flush_job) == 96);
    assert!(offset_of!(Manager, keyexp_128) == 112 && offset_of!(Manager, cmac_subkey_gen_128) == 136);
    assert!(offset_of!(Manager, des_key_sched) == 152 && offset_of!(Manager, sha1_one_block) == 160);
    assert!(offset_of!(Manager, gcm128_enc) == 256 && offset_of!(Manager, gcm128_pre) == 448);
    assert!(offset_of!(RawJob, msg_len_to_cipher_in_bytes) == 48 && offset_of!(RawJob, iv) == 72);
    assert!(offset_of!(RawJob, hash_fields) == 104 && offset_of!(RawJob, status) == 128);
    assert!(offset_of!(RawJob, user_data) == 152 && size_of::<RawJob>() == 200);
};

const STATUS_COMPLETED: c_int = 3;
const CIPHER_CBC: c_int = 1;
const CIPHER_CNTR: c_int = 2;
const CIPHER_NULL: c_int = 3;
const CIPHER_DES: c_int = 7;
const CIPHER_DES3: c_int = 10;
const HASH_HMAC_SHA_1: c_int = 1;
const HASH_HMAC_SHA_256: c_int = 3;
const HASH_NULL: c_int = 8;
const HASH_AES_CMAC: c_int = 12;
const HASH_SHA_1: c_int = 13;
const HASH_SHA_256: c_int = 15;
const ENCRYPT: c_int = 1;
const DECRYPT: c_int = 2;
const ORDER_CIPHER_HASH: c_int = 1;
const ORDER_HASH_CIPHER: c_int = 2;
const FLAG_SHANI_OFF: u64 = 1;

/// Counts of the jobs that the library has returned, and of those it failed.
#[derive(Default)]
struct Back {
    jobs: usize,
    refused: usize,
}

struct Loaded {
    functions: Functions,
    version: String,
    _library: Library,
}

/// The highest instruction set that the library may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// SSE without the SHA instructions. Debian's build always uses the AES instructions.
    Sse,
    /// AVX2 with the AES instructions.
    Avx2,
    /// AVX-512.
    Avx512,
}

/// The library, with one manager.
pub struct IpsecMb {
    loaded: &'static Loaded,
    manager: *mut Manager,
}

impl IpsecMb {
    /// Makes a manager. A prepared key can be used with every manager of the same reach.
    pub fn new(reach: Reach) -> Result<IpsecMb, Missing> {
        static LOADED: OnceLock<Result<Loaded, Missing>> = OnceLock::new();
        let loaded = LOADED.get_or_init(load).as_ref().map_err(Clone::clone)?;
        let flags = if reach == Reach::Sse { FLAG_SHANI_OFF } else { 0 };
        // SAFETY: the manager is the library's own; initialising it checks what the processor has.
        unsafe {
            let manager = (loaded.functions.alloc_mb_mgr)(flags);
            assert!(!manager.is_null(), "no memory for a manager");
            match reach {
                Reach::Sse => (loaded.functions.init_mb_mgr_sse)(manager),
                Reach::Avx2 => (loaded.functions.init_mb_mgr_avx2)(manager),
                Reach::Avx512 => (loaded.functions.init_mb_mgr_avx512)(manager),
            }
            let made = IpsecMb { loaded, manager };
            match (*manager).imb_errno {
                0 => Ok(made),
                error => Err(missing(format!("it does not start, error {error}"))),
            }
        }
    }

    /// The library's name and version.
    pub fn version(&self) -> &str {
        &self.loaded.version
    }

    fn head(&self) -> &Manager {
        // SAFETY: made by the library, alive until this value is dropped; its head is written once, before.
        unsafe { &*self.manager }
    }

    /// Prepares an AES-128 key.
    pub fn aes128(&self, key: &[u8; 16]) -> AesKey {
        let mut made = AesKey { encipher: Schedule([0; 240]), decipher: Schedule([0; 240]) };
        // SAFETY: reads 16 bytes, writes eleven round keys to each.
        unsafe {
            let (to, back) = (made.encipher.0.as_mut_ptr(), made.decipher.0.as_mut_ptr());
            (self.head().keyexp_128)(key.as_ptr().cast(), to.cast(), back.cast());
        }
        made
    }

    /// Prepares a key of DES or, with three parts, triple DES.
    pub fn des(&self, key: &[u8]) -> DesKey {
        assert!(key.len() == 8 || key.len() == 24);
        let mut made = Box::new(DesParts { parts: [[0; 16]; 3], pointers: [std::ptr::null(); 3] });
        for (index, part) in key.as_chunks::<8>().0.iter().enumerate() {
            // SAFETY: reads eight bytes, writes sixteen words.
            unsafe { (self.head().des_key_sched)(made.parts[index].as_mut_ptr(), part.as_ptr().cast()) };
        }
        for index in 0..3 {
            made.pointers[index] = made.parts[index].as_ptr().cast();
        }
        DesKey(made)
    }

    /// Prepares an HMAC key of at most 64 bytes.
    pub fn hmac(&self, sha256: bool, key: &[u8]) -> HmacKey {
        assert!(key.len() <= 64);
        let mut made = HmacKey { inner: Schedule([0; 240]), outer: Schedule([0; 240]), sha256 };
        for (state, pad) in [(&mut made.inner, 0x36), (&mut made.outer, 0x5c)] {
            let mut block = [pad; 64];
            block.iter_mut().zip(key).for_each(|(byte, key_byte)| *byte ^= key_byte);
            let compress = if sha256 { self.head().sha256_one_block } else { self.head().sha1_one_block };
            // SAFETY: reads one block, writes a state of 20 or 32 bytes.
            unsafe { compress(block.as_ptr().cast(), state.0.as_mut_ptr().cast()) };
        }
        made
    }

    /// Prepares a CMAC key.
    pub fn cmac(&self, key: &[u8; 16]) -> CmacKey {
        let mut made = CmacKey { key: self.aes128(key), subkeys: [Schedule([0; 240]), Schedule([0; 240])] };
        let [whole, partial] = &mut made.subkeys;
        // SAFETY: reads the expanded key, writes one block to each.
        unsafe {
            let expanded = made.key.encipher.0.as_ptr();
            (self.head().cmac_subkey_gen_128)(
                expanded.cast(),
                whole.0.as_mut_ptr().cast(),
                partial.0.as_mut_ptr().cast(),
            );
        }
        made
    }

    /// Prepares an AES-128 key for GCM.
    pub fn gcm(&self, key: &[u8; 16]) -> GcmKey {
        let mut data = Box::new(GcmKeyData([0; 1024]));
        // SAFETY: reads 16 bytes, writes 1,008 at most.
        unsafe { (self.head().gcm128_pre)(key.as_ptr().cast(), &mut *data) };
        GcmKey(data)
    }

    /// AES-128-GCM: enciphers in place; returns the tag.
    pub fn gcm_seal(&mut self, key: &GcmKey, nonce: &[u8; 12], aad: &[u8], data: &mut [u8]) -> [u8; 16] {
        let (mut context, mut tag) = (GcmContextData([0; 128]), [0; 16]);
        let (text, length) = (data.as_mut_ptr(), data.len() as u64);
        // SAFETY: one exclusive slice, in place, which the library allows; every length is of its slice; the
        // context has room for the library's 88 bytes.
        unsafe {
            (self.head().gcm128_enc)(
                &*key.0,
                &mut context,
                text,
                text,
                length,
                nonce.as_ptr(),
                aad.as_ptr(),
                aad.len() as u64,
                tag.as_mut_ptr(),
                16,
            );
        }
        tag
    }

    /// Runs all jobs. Does not panic before the library has returned every job, since it writes to their texts.
    pub fn run(&mut self, jobs: &mut [Job<'_>]) {
        assert!(jobs.iter().all(|job| job.bytes() <= JOB_BYTES_MAX), "a job is too long for the library");
        let mut back = Back::default();
        for job in &mut *jobs {
            // SAFETY: the ring always has a free job, since every one that is submitted is taken back when it
            // is full; the job's references are exclusive and live until the last job is done, below.
            unsafe {
                let raw = (self.head().get_next_job)(self.manager);
                job.fill(&mut *raw);
                self.collect(self.head().submit_job, &mut back);
            }
        }
        loop {
            let before = back.jobs;
            // SAFETY: as above; a flush that gives no job back leaves none in the ring.
            unsafe { self.collect(self.head().flush_job, &mut back) };
            if back.jobs == before {
                break;
            }
        }
        assert_eq!((back.jobs, back.refused), (jobs.len(), 0), "the library refused or lost a job");
    }

    /// Submits the next job, or flushes, and counts the returned jobs.
    unsafe fn collect(&self, function: JobFunction, back: &mut Back) {
        // SAFETY: the caller has filled the next job, or flushes.
        let mut raw = unsafe { function(self.manager) };
        while !raw.is_null() {
            back.jobs += 1;
            // SAFETY: what comes back is a job of the ring.
            back.refused += usize::from(unsafe { (*raw).status } != STATUS_COMPLETED);
            // SAFETY: takes no part but the manager.
            raw = unsafe { (self.head().get_completed_job)(self.manager) };
        }
    }
}

impl Drop for IpsecMb {
    fn drop(&mut self) {
        // SAFETY: made by `new`, not used after this.
        unsafe { (self.loaded.functions.free_mb_mgr)(self.manager) }
    }
}

fn missing(cause: String) -> Missing {
    Missing { library: "ipsec-mb 1.3", package: PACKAGE, cause }
}

fn load() -> Result<Loaded, Missing> {
    // SAFETY: what the library does when it is loaded concerns itself only; the functions of its version are
    // the same in every release, and nothing else is called before that is looked at. It is kept loaded.
    unsafe {
        let library = Library::new(FILE).map_err(|error| missing(cause(&error)))?;
        let functions = Functions::find(&library).map_err(|error| missing(cause(&error)))?;
        let version = CStr::from_ptr((functions.imb_get_version_str)()).to_string_lossy().into_owned();
        if (functions.imb_get_version)() & 0xffff00 != VERSION {
            return Err(missing(format!("version {version} has another layout than 1.3")));
        }
        Ok(Loaded { functions, version: format!("ipsec-mb {version}"), _library: library })
    }
}

/// Round keys or a hash state, with the alignment that the library needs.
#[repr(C, align(64))]
#[derive(Clone)]
struct Schedule([u8; 240]);

/// An AES-128 key for both directions.
pub struct AesKey {
    encipher: Schedule,
    decipher: Schedule,
}

/// A key of DES or three-part triple DES.
pub struct DesKey(Box<DesParts>);

struct DesParts {
    parts: [[u64; 16]; 3],
    /// Pointers to `parts`, which never move: the library takes an array of pointers for triple DES.
    pointers: [*const c_void; 3],
}

/// An HMAC key with SHA-1 or SHA-256: the hash states after the padded keys.
pub struct HmacKey {
    inner: Schedule,
    outer: Schedule,
    sha256: bool,
}

/// A CMAC key with AES-128: its schedule and the two subkeys.
pub struct CmacKey {
    key: AesKey,
    subkeys: [Schedule; 2],
}

/// A key for GCM.
pub struct GcmKey(Box<GcmKeyData>);

/// A hash or MAC, of which 16, 20 or 32 bytes are written.
pub type Tag = [u8; 32];

/// The cipher of a job, and its key.
pub enum JobCipher<'a> {
    /// AES-128 in CBC.
    AesCbc(&'a AesKey),
    /// AES-128 in CTR.
    AesCtr(&'a AesKey),
    /// DES in CBC.
    DesCbc(&'a DesKey),
    /// Triple DES in CBC.
    TdesCbc(&'a DesKey),
}

/// One job: a text to encipher or decipher in place, or to hash.
pub enum Job<'a> {
    /// Enciphers or deciphers a text.
    Cipher {
        /// The cipher and its key.
        work: JobCipher<'a>,
        /// True to encipher, false to decipher.
        encipher: bool,
        /// Chaining value or counter, which is not updated. DES uses the first eight bytes.
        iv: &'a [u8; 16],
        /// The text, in place.
        data: &'a mut [u8],
    },
    /// Hashes a text with SHA-1 or SHA-256.
    Hash {
        /// True for SHA-256, false for SHA-1.
        sha256: bool,
        /// The text to hash.
        data: &'a [u8],
        /// Receives the digest.
        tag: &'a mut Tag,
    },
    /// HMAC with SHA-1 or SHA-256.
    Hmac {
        /// The prepared key.
        key: &'a HmacKey,
        /// The text to authenticate.
        data: &'a [u8],
        /// Receives the MAC.
        tag: &'a mut Tag,
    },
    /// CMAC with AES-128.
    Cmac {
        /// The prepared key.
        key: &'a CmacKey,
        /// The text to authenticate.
        data: &'a [u8],
        /// Receives the MAC.
        tag: &'a mut Tag,
    },
}

impl Job<'_> {
    fn bytes(&self) -> usize {
        match self {
            Job::Cipher { data, .. } => data.len(),
            Job::Hash { data, .. } | Job::Hmac { data, .. } | Job::Cmac { data, .. } => data.len(),
        }
    }

    fn fill(&mut self, raw: &mut RawJob) {
        match self {
            Job::Cipher { work, encipher, iv, data } => {
                raw.src = data.as_ptr();
                raw.dst = data.as_mut_ptr();
                raw.cipher_start_src_offset_in_bytes = 0;
                raw.msg_len_to_cipher_in_bytes = data.len() as u64;
                raw.iv = iv.as_ptr();
                raw.cipher_direction = if *encipher { ENCRYPT } else { DECRYPT };
                raw.chain_order = if *encipher { ORDER_CIPHER_HASH } else { ORDER_HASH_CIPHER };
                raw.hash_alg = HASH_NULL;
                let (mode, keys, key_bytes, iv_bytes) = match work {
                    JobCipher::AesCbc(key) => (CIPHER_CBC, aes_keys(key), 16, 16),
                    JobCipher::AesCtr(key) => (CIPHER_CNTR, aes_keys(key), 16, 16),
                    JobCipher::DesCbc(key) => (CIPHER_DES, [key.0.pointers[0]; 2], 8, 8),
                    JobCipher::TdesCbc(key) => (CIPHER_DES3, [key.0.pointers.as_ptr().cast(); 2], 24, 8),
                };
                raw.cipher_mode = mode;
                [raw.enc_keys, raw.dec_keys] = keys;
                raw.key_len_in_bytes = key_bytes;
                raw.iv_len_in_bytes = iv_bytes;
            }
            Job::Hash { sha256, data, tag } => {
                let (algorithm, bytes) = if *sha256 { (HASH_SHA_256, 32) } else { (HASH_SHA_1, 20) };
                fill_hash(raw, algorithm, data, tag, bytes);
            }
            Job::Hmac { key, data, tag } => {
                let (algorithm, bytes) =
                    if key.sha256 { (HASH_HMAC_SHA_256, 32) } else { (HASH_HMAC_SHA_1, 20) };
                fill_hash(raw, algorithm, data, tag, bytes);
                raw.hash_fields[0] = key.inner.0.as_ptr().cast();
                raw.hash_fields[1] = key.outer.0.as_ptr().cast();
            }
            Job::Cmac { key, data, tag } => {
                fill_hash(raw, HASH_AES_CMAC, data, tag, 16);
                raw.hash_fields[0] = key.key.encipher.0.as_ptr().cast();
                raw.hash_fields[1] = key.subkeys[0].0.as_ptr().cast();
                raw.hash_fields[2] = key.subkeys[1].0.as_ptr().cast();
            }
        }
    }
}

fn aes_keys(key: &AesKey) -> [*const c_void; 2] {
    [key.encipher.0.as_ptr().cast(), key.decipher.0.as_ptr().cast()]
}

fn fill_hash(raw: &mut RawJob, algorithm: c_int, data: &[u8], tag: &mut Tag, bytes: u64) {
    raw.src = data.as_ptr();
    raw.dst = std::ptr::null_mut();
    raw.cipher_mode = CIPHER_NULL;
    raw.cipher_direction = ENCRYPT;
    raw.chain_order = ORDER_HASH_CIPHER;
    raw.hash_alg = algorithm;
    raw.msg_len_to_cipher_in_bytes = 0;
    raw.hash_start_src_offset_in_bytes = 0;
    raw.msg_len_to_hash_in_bytes = data.len() as u64;
    raw.auth_tag_output = tag.as_mut_ptr();
    raw.auth_tag_output_len_in_bytes = bytes;
}
