//! The handle that callers hold: it checks what is allowed; the layers below do the work.

use crate::algorithm::{CipherAlgorithm, CipherDirection, Curve, HashAlgorithm, MacAlgorithm, Mode};
use crate::error::{
    CipherError, ColumnError, EcError, EngineError, HashError, KeyError, RsaError, RsaKeyError,
};
use crate::high::columns;
use crate::high::hmac::{self, HmacItem, HmacKey};
use crate::high::mac::{self, MacItem, MacKey};
use crate::high::mdc::{self, MdcItem};
use crate::level::{Level, LibraryFeatures};
use crate::low::aws_lc::random;
use crate::low::checksum;
use crate::low::cpu::Cpu;
use crate::mid::aes::cfb::{Cfb, CfbSha1};
use crate::mid::aes::eax::{self, EaxItem, EaxKey};
use crate::mid::aes::gcm::{self, GcmItem, GcmKey};
use crate::mid::aes::hctr2::{self, Hctr2Item, Hctr2Key};
use crate::mid::aes::ocb::{self, OcbItem, OcbKey};
use crate::mid::aes::wrap::{self, KeyWrapItem};
use crate::mid::chacha::{self, ChaChaItem, ChaChaKey};
use crate::mid::cipher::{self, CipherItem, CipherKey};
use crate::mid::columns::{Column, ColumnMut};
use crate::mid::des::columns::{DesColumns, KeyColumn, WrappedColumn};
use crate::mid::ec::batch::{X25519Item, X25519PublicItem};
use crate::mid::ec::{self, EcdsaSignItem, EcdsaVerifyItem};
use crate::mid::hash::{self, HashItem, HashState};
use crate::mid::random::RandomBlock;
use crate::mid::rsa::batch::{RsaPrivateItem, RsaPublicItem};
use crate::mid::rsa::{self, RsaPrivateKey, RsaPublicKey, RsaSearch};
use crate::mid::{aes, des};

/// Settings of an engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// The highest level to use; `None` for the best available.
    pub limit: Option<Level>,
    /// Whether single DES, X9.9, MD5 and RSA below 1024 bits are served.
    pub weak_algorithms: bool,
}

/// The operation of a batch, for [`Engine::lanes`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operation {
    /// [`Engine::cipher_batch`]
    Cipher(CipherAlgorithm, Mode, CipherDirection),
    /// [`Engine::gcm_batch`]
    Gcm(CipherDirection),
    /// [`Engine::mac_batch`]
    Mac(MacAlgorithm),
    /// [`Engine::hash_batch`]
    Hash(HashAlgorithm),
    /// [`Engine::hmac_batch`]
    Hmac(HashAlgorithm),
    /// [`Engine::rsa_private_batch`] with moduli of `bits` bits
    RsaPrivate {
        /// Length of the modulus in bits.
        bits: usize,
    },
    /// [`Engine::rsa_public_batch`] with moduli of `bits` bits
    RsaPublic {
        /// Length of the modulus in bits.
        bits: usize,
    },
    /// [`Engine::ecdsa_sign_batch`] with P-256
    EcdsaSign,
    /// [`Engine::ecdsa_verify_batch`]
    EcdsaVerify,
    /// [`Engine::x25519_batch`], [`Engine::x25519_public_batch`]
    X25519,
}

/// Clear-key functions in the caller's own thread. A cheap handle: copy it freely, use it from any thread.
///
/// No call keeps state for later calls, takes a lock of its own (each RSA key has one), reads a clock or does I/O.
#[derive(Clone, Copy, Debug)]
pub struct Engine {
    level: Level,
    cpu: Cpu,
    library: LibraryFeatures,
    weak_algorithms: bool,
}

impl Engine {
    /// An engine at the best level that the processor has, the library uses and the options allow. Runs one
    /// known-answer test of the library's ciphers and hash first.
    pub fn new(options: Options) -> Result<Engine, EngineError> {
        let library = LibraryFeatures::read();
        let wanted = options.limit.map_or(library.level(), |limit| limit.min(library.level()));
        let cpu = match wanted {
            Level::Portable => Cpu::PORTABLE,
            Level::Avx2 => Cpu::up_to_avx2(),
            Level::Avx512 => Cpu::up_to_avx512(),
        };
        let level = match cpu {
            Cpu { avx512: Some(_), .. } => Level::Avx512,
            Cpu { avx2: Some(_), .. } => Level::Avx2,
            _ => Level::Portable,
        };
        known_answers(cpu)?;
        Ok(Engine { level, cpu, library, weak_algorithms: options.weak_algorithms })
    }

    /// The level in use: the lowest of the requested limit, the library's level and the level of this crate's own
    /// kernels.
    pub fn level(&self) -> Level {
        self.level
    }

    /// The level at which the library really works. It is above [`Engine::level`] if a limit was requested but the
    /// process was not started with [`crate::level_environment`]; figures measured then do not show the limit.
    pub fn library_level(&self) -> Level {
        self.library.level()
    }

    /// The processor features that the library really uses.
    pub fn library_features(&self) -> LibraryFeatures {
        self.library
    }

    /// Whether weak algorithms are enabled.
    pub fn weak_algorithms(&self) -> bool {
        self.weak_algorithms
    }

    /// The number of requests that fills one batch: more per batch gain almost nothing. 1 if each request is computed
    /// by itself, so that a batch saves only calls.
    pub fn lanes(&self, operation: Operation) -> usize {
        match operation {
            Operation::Cipher(cipher, ..) if cipher.block_bytes() == 8 => des::forms::lanes(self.cpu),
            Operation::Mac(mac) if mac.block_bytes() == 8 => des::forms::lanes(self.cpu),
            Operation::Hash(hash) | Operation::Hmac(hash) => hash::lanes(self.cpu, hash),
            Operation::RsaPrivate { bits } | Operation::RsaPublic { bits } => {
                rsa::batch::lanes(self.cpu, bits)
            }
            Operation::Cipher(_, Mode::Cbc, CipherDirection::Encipher) => aes::streams::lanes(self.cpu),
            Operation::Mac(_) => aes::streams::lanes(self.cpu),
            Operation::EcdsaSign | Operation::X25519 => ec::batch::lanes(self.cpu),
            _ => 1,
        }
    }

    /// As [`Engine::lanes`], for the form that very large batches use, if there is one: it takes much less time per
    /// request, but much more for the whole batch. DES has one.
    pub fn lanes_wide(&self, operation: Operation) -> usize {
        let is_des = match operation {
            Operation::Cipher(cipher, ..) => cipher.block_bytes() == 8,
            Operation::Mac(mac) => mac.block_bytes() == 8,
            _ => false,
        };
        if is_des { des::forms::Forms::of(self.cpu).wide } else { self.lanes(operation) }
    }

    /// Prepares a cipher key. [`KeyError::WeakCipher`] for single DES unless weak algorithms are enabled. Triple-DES
    /// keys with equal parts are not refused.
    #[inline]
    pub fn cipher_key(&self, algorithm: CipherAlgorithm, key: &[u8]) -> Result<CipherKey, KeyError> {
        self.allow_cipher(algorithm)?;
        CipherKey::new(algorithm, key)
    }

    /// As [`Engine::cipher_key`], but single DES is always allowed: for DES inside a construction that is not itself
    /// weak (a step of X9.19, unwrapping a key part), never to encipher a caller's text.
    #[inline]
    pub fn cipher_key_internal(&self, algorithm: CipherAlgorithm, key: &[u8]) -> Result<CipherKey, KeyError> {
        CipherKey::new(algorithm, key)
    }

    /// Enciphers or deciphers many independent texts in place. Each item receives its own result.
    pub fn cipher_batch(&self, mode: Mode, direction: CipherDirection, items: &mut [CipherItem<'_>]) {
        cipher::batch(self.cpu, mode, direction, items);
    }

    /// Enciphers or deciphers one text in place, under a raw key. Nothing is allocated, and the key schedule is wiped
    /// before the return.
    ///
    /// `chain` is one block long and is used and updated as [`Mode`] says. For ECB it may have any length and is not
    /// touched.
    #[inline]
    pub fn cipher(
        &self,
        algorithm: CipherAlgorithm,
        mode: Mode,
        direction: CipherDirection,
        key: &[u8],
        chain: &mut [u8],
        data: &mut [u8],
    ) -> Result<(), CipherError> {
        self.allow_cipher(algorithm)?;
        cipher::with_raw_key(self.cpu, algorithm, mode, direction, key, chain, data)
    }

    /// Starts a text in AES-CFB with feedback of whole blocks (SP 800-38A, 6.3), under a key of 16, 24 or 32 bytes.
    pub fn cfb(&self, direction: CipherDirection, key: &[u8], iv: &[u8; 16]) -> Result<Cfb, KeyError> {
        Cfb::new(self.cpu, direction, key, iv).ok_or(KeyError::CfbKeyLength { bytes: key.len() })
    }

    /// As [`Engine::cfb`], and also computes SHA-1 of the plaintext.
    pub fn cfb_sha1(
        &self,
        direction: CipherDirection,
        key: &[u8],
        iv: &[u8; 16],
    ) -> Result<CfbSha1, KeyError> {
        CfbSha1::new(self.cpu, direction, key, iv).ok_or(KeyError::CfbKeyLength { bytes: key.len() })
    }

    /// Prepares an AES key of 16, 24 or 32 bytes for GCM.
    pub fn gcm_key(&self, key: &[u8]) -> Result<GcmKey, KeyError> {
        GcmKey::new(self.cpu, key)
    }

    /// Enciphers and authenticates, or verifies and deciphers, many independent texts in place. Short texts take less
    /// time in one batch than in several, under one key or each under its own.
    pub fn gcm_batch(&self, direction: CipherDirection, items: &mut [GcmItem<'_>]) {
        gcm::batch(self.cpu, direction, items);
    }

    /// Prepares a key of 32 bytes for ChaCha20-Poly1305 (RFC 8439).
    pub fn chacha_key(&self, key: &[u8]) -> Result<ChaChaKey, KeyError> {
        ChaChaKey::new(key)
    }

    /// Enciphers and authenticates, or verifies and deciphers, many independent texts in place, with ChaCha20-Poly1305.
    /// The bound library computes each by itself: a batch gains nothing.
    pub fn chacha_batch(&self, direction: CipherDirection, items: &mut [ChaChaItem<'_>]) {
        chacha::batch(direction, items);
    }

    /// Prepares an AES key of 16, 24 or 32 bytes for OCB.
    pub fn ocb_key(&self, key: &[u8]) -> Result<OcbKey, KeyError> {
        OcbKey::new(key)
    }

    /// Enciphers and authenticates, or verifies and deciphers, many independent texts in place, with OCB.
    pub fn ocb_batch(&self, direction: CipherDirection, items: &mut [OcbItem<'_>]) {
        ocb::batch(self.cpu, direction, items);
    }

    /// Prepares an AES key of 16, 24 or 32 bytes for EAX.
    pub fn eax_key(&self, key: &[u8]) -> Result<EaxKey, KeyError> {
        EaxKey::new(key)
    }

    /// Enciphers and authenticates, or verifies and deciphers, many independent texts in place, with EAX.
    pub fn eax_batch(&self, direction: CipherDirection, items: &mut [EaxItem<'_>]) {
        eax::batch(self.cpu, direction, items);
    }

    /// Prepares an AES key of 16, 24 or 32 bytes for HCTR2.
    pub fn hctr2_key(&self, key: &[u8]) -> Result<Hctr2Key, KeyError> {
        Hctr2Key::new(key)
    }

    /// Enciphers or deciphers many independent messages in place, with HCTR2. Each message keeps its length. A change
    /// of the ciphertext is not detected, unless the caller checks redundancy in the deciphered message.
    pub fn hctr2_batch(&self, direction: CipherDirection, items: &mut [Hctr2Item<'_>]) {
        hctr2::batch(self.cpu, direction, items);
    }

    /// Wraps or unwraps many independent keys in place by the function W of SP 800-38F (the six passes of RFC 3394).
    /// Each key has an initial value of its own, which the caller must check.
    pub fn key_wrap_batch(&self, direction: CipherDirection, items: &mut [KeyWrapItem<'_>]) {
        wrap::batch(self.cpu, direction, items);
    }

    /// Prepares a MAC key. [`KeyError::WeakMac`] for X9.9 unless weak algorithms are enabled.
    #[inline]
    pub fn mac_key(&self, algorithm: MacAlgorithm, key: &[u8]) -> Result<MacKey, KeyError> {
        if algorithm.is_weak() && !self.weak_algorithms {
            return Err(KeyError::WeakMac(algorithm));
        }
        MacKey::new(algorithm, key)
    }

    /// MACs of many independent texts or segments.
    pub fn mac_batch(&self, items: &mut [MacItem<'_>]) {
        mac::batch(self.cpu, items);
    }

    /// MACs of whole texts of one length, each under its own key. `macs` receives one block per text, in a row. Nothing
    /// is allocated per request, so that few and short requests take little more time than the kernel. A text that is
    /// empty or ends within a block is padded as by [`Engine::mac_batch`].
    ///
    /// # Errors
    /// [`ColumnError`], before any MAC is computed; with [`KeyError::WeakMac`] in it for X9.9 unless weak algorithms
    /// are enabled.
    #[inline]
    pub fn mac_columns<'k>(
        &self,
        algorithm: MacAlgorithm,
        keys: impl Into<KeyColumn<'k>>,
        texts: Column<'_>,
        macs: &mut [u8],
    ) -> Result<(), ColumnError> {
        if algorithm.is_weak() && !self.weak_algorithms {
            return Err(KeyError::WeakMac(algorithm).into());
        }
        columns::macs(self.cpu, algorithm, keys.into().0, texts, macs)
    }

    /// HMACs of whole texts of one length under keys of one length. `macs` receives one digest per text, in a row.
    ///
    /// # Errors
    /// [`ColumnError`], before any MAC is computed; with [`KeyError::WeakHash`] in it for MD5 unless weak algorithms
    /// are enabled.
    pub fn hmac_columns(
        &self,
        algorithm: HashAlgorithm,
        keys: Column<'_>,
        texts: Column<'_>,
        macs: &mut [u8],
    ) -> Result<(), ColumnError> {
        self.allow_hash(algorithm).map_err(|_| KeyError::WeakHash(algorithm))?;
        columns::hmacs(self.cpu, algorithm, keys, texts, macs)
    }

    /// Enciphers or deciphers texts of one length in place, in ECB or CBC, each under its own key. For CBC, `chains`
    /// holds one block per text, in a row: the initialization vector on entry, the last block of ciphertext on return.
    /// ECB ignores `chains`.
    ///
    /// # Errors
    /// [`ColumnError`], before any text is changed; with [`KeyError::WeakCipher`] in it for single DES unless weak
    /// algorithms are enabled.
    #[inline]
    pub fn cipher_columns<'k>(
        &self,
        algorithm: CipherAlgorithm,
        mode: Mode,
        direction: CipherDirection,
        keys: impl Into<KeyColumn<'k>>,
        chains: &mut [u8],
        texts: &mut ColumnMut<'_>,
    ) -> Result<(), ColumnError> {
        self.allow_cipher(algorithm)?;
        columns::cipher(self.cpu, algorithm, (mode, direction), keys.into().0, chains, texts)
    }

    /// As [`Engine::cipher_columns`] in ECB, but single DES is always allowed: for DES inside a construction that is
    /// not itself weak, as in [`Engine::cipher_key_internal`].
    ///
    /// # Errors
    /// [`ColumnError`], before any text is changed.
    #[inline]
    pub fn cipher_columns_internal<'k>(
        &self,
        algorithm: CipherAlgorithm,
        direction: CipherDirection,
        keys: impl Into<KeyColumn<'k>>,
        texts: &mut ColumnMut<'_>,
    ) -> Result<(), ColumnError> {
        columns::cipher(self.cpu, algorithm, (Mode::Ecb, direction), keys.into().0, &mut [], texts)
    }

    /// Unwraps keys of DES and TDES, one or several for each request of a batch, into `columns`, whose earlier keys are
    /// replaced. Each part of eight bytes is deciphered in ECB. Parity is neither adjusted nor checked. The later use
    /// of a key, not this call, checks whether weak algorithms are enabled.
    ///
    /// # Errors
    /// [`ColumnError`]; `columns` is empty then.
    pub fn unwrap_des_columns(
        &self,
        columns: &mut DesColumns,
        wrapped: &[WrappedColumn<'_>],
    ) -> Result<(), ColumnError> {
        des::columns::unwrap(self.cpu, columns, wrapped)
    }

    /// Digests of many independent texts. Unless weak algorithms are enabled, every item of an MD5 batch fails with
    /// [`HashError::Weak`].
    pub fn hash_batch(&self, algorithm: HashAlgorithm, items: &mut [HashItem<'_>]) {
        match self.allow_hash(algorithm) {
            Ok(()) => hash::batch(self.cpu, algorithm, items),
            Err(error) => items.iter_mut().for_each(|item| item.result = Err(error)),
        }
    }

    /// The digest of one text: the digest's bytes, then zeros.
    pub fn hash(&self, algorithm: HashAlgorithm, data: &[u8]) -> Result<[u8; 64], HashError> {
        self.allow_hash(algorithm)?;
        Ok(hash::digest(algorithm, &[data]))
    }

    /// The ones' complement sum (RFC 1071) of 16-bit words in network order. Its complement is the checksum of IP, TCP
    /// and UDP. A single last byte is the upper half of a word.
    #[inline]
    pub fn ones_complement_sum(&self, bytes: &[u8]) -> u16 {
        checksum::sum(self.cpu, bytes)
    }

    /// Starts a hash. [`HashError::Weak`] for a weak hash, unless this engine allows it.
    pub fn hash_state(&self, algorithm: HashAlgorithm) -> Result<HashState, HashError> {
        self.allow_hash(algorithm)?;
        Ok(HashState::new(algorithm))
    }

    /// Starts a hash of segments over several calls, each of which exports the state: [`HashState::export`], or for
    /// SHA-3 [`HashState::export_sha3`]. SHA-3 is slower in this form.
    pub fn hash_state_in_segments(&self, algorithm: HashAlgorithm) -> Result<HashState, HashError> {
        self.allow_hash(algorithm)?;
        Ok(HashState::in_segments(algorithm))
    }

    /// Continues a hash from an exported state, the bytes of [`HashState::export`] or [`HashState::export_sha3`].
    pub fn hash_state_import(&self, algorithm: HashAlgorithm, state: &[u8]) -> Result<HashState, HashError> {
        self.allow_hash(algorithm)?;
        HashState::import(algorithm, state)
    }

    /// Prepares an HMAC key of any length.
    pub fn hmac_key(&self, algorithm: HashAlgorithm, key: &[u8]) -> Result<HmacKey, KeyError> {
        self.allow_hash(algorithm).map_err(|_| KeyError::WeakHash(algorithm))?;
        Ok(HmacKey::new(algorithm, key))
    }

    /// HMACs of many independent texts. Each key determines its hash.
    pub fn hmac_batch(&self, items: &mut [HmacItem<'_>]) {
        hmac::batch(self.cpu, items);
    }

    /// Modification detection codes of many independent texts, or of parts of them. Allowed even if weak algorithms are
    /// not enabled: single DES enciphers no caller's text here.
    pub fn mdc_batch(&self, items: &mut [MdcItem<'_>]) {
        mdc::batch(self.cpu, items);
    }

    /// Fills `out` from the library's random generator. The generator reseeds after a fork, and ends the process if the
    /// machine has no entropy.
    pub fn random(&self, out: &mut [u8]) {
        random::fill(out);
    }

    /// A buffer of random bytes for one caller, from which many small values cost little.
    pub fn random_block(&self) -> RandomBlock {
        RandomBlock::new()
    }

    /// Generates an RSA key in Chinese-remainder form with p > q, tested by one operation. Sizes and exponents are
    /// those of [`RsaPrivateKey::generate`]. If the processor has lanes, they search both primes by the procedure of
    /// FIPS 186-5, A.1.3, at every size. [`RsaKeyError::Weak`] below 1024 bits unless weak algorithms are enabled.
    pub fn rsa_generate(&self, bits: usize, e: &[u8]) -> Result<RsaPrivateKey, RsaKeyError> {
        if (rsa::RSA_BITS_MIN..rsa::RSA_BITS_STRONG).contains(&bits) && !self.weak_algorithms {
            return Err(RsaKeyError::Weak { bits });
        }
        RsaPrivateKey::generate_with(self.cpu, bits, e)
    }

    /// As [`Engine::rsa_generate`], but in steps, at every level. Without lanes, a step is a slice of a Miller-Rabin
    /// round over the bound library's Montgomery multiplication.
    pub fn rsa_search(&self, bits: usize, e: &[u8]) -> Result<RsaSearch, RsaKeyError> {
        if (rsa::RSA_BITS_MIN..rsa::RSA_BITS_STRONG).contains(&bits) && !self.weak_algorithms {
            return Err(RsaKeyError::Weak { bits });
        }
        RsaPrivateKey::search_with(self.cpu, bits, e)
    }

    /// Raw private-key operations, each verified before its result is released. Keys below 1024 bits fail with
    /// [`crate::RsaError::Weak`] unless weak algorithms are enabled.
    pub fn rsa_private_batch(&self, items: &mut [RsaPrivateItem<'_>]) {
        rsa::batch::private_batch(self.cpu, self.weak_algorithms, items);
    }

    /// Raw public-key operations. Keys below 1024 bits fail with [`crate::RsaError::Weak`] unless weak algorithms are
    /// enabled.
    pub fn rsa_public_batch(&self, items: &mut [RsaPublicItem<'_>]) {
        rsa::batch::public_batch(self.cpu, self.weak_algorithms, items);
    }

    /// One raw private-key operation; input and output are as long as the modulus.
    pub fn rsa_private(&self, key: &RsaPrivateKey, input: &[u8], output: &mut [u8]) -> Result<(), RsaError> {
        let mut item = [RsaPrivateItem::new(key, input, output)];
        self.rsa_private_batch(&mut item);
        let [item] = item;
        item.result
    }

    /// One raw public-key operation; input and output are as long as the modulus.
    pub fn rsa_public(&self, key: &RsaPublicKey, input: &[u8], output: &mut [u8]) -> Result<(), RsaError> {
        let mut item = [RsaPublicItem::new(key, input, output)];
        self.rsa_public_batch(&mut item);
        let [item] = item;
        item.result
    }

    /// ECDSA signatures of many independent digests. Two or more with P-256 share lanes, if the processor has them; a
    /// check short of verification then precedes the release of each signature. See
    /// [`Engine::ecdsa_sign_verified_batch`].
    pub fn ecdsa_sign_batch(&self, items: &mut [EcdsaSignItem<'_>]) {
        ec::batch::ecdsa_sign_batch(self.cpu, false, items);
    }

    /// As [`Engine::ecdsa_sign_batch`], but each signature is verified under the key's public part before it is
    /// released. This also detects a key that changed in memory: [`EcError::Internal`]. Takes twice as long in lanes,
    /// and four times as long without.
    pub fn ecdsa_sign_verified_batch(&self, items: &mut [EcdsaSignItem<'_>]) {
        ec::batch::ecdsa_sign_batch(self.cpu, true, items);
    }

    /// Verifies many independent ECDSA signatures.
    pub fn ecdsa_verify_batch(&self, items: &mut [EcdsaVerifyItem<'_>]) {
        ec::batch::ecdsa_verify_batch(items);
    }

    /// Shared secrets by X25519 (RFC 7748, 6.1) of many independent pairs, in lanes if the processor has them.
    pub fn x25519_batch(&self, items: &mut [X25519Item<'_>]) {
        ec::batch::x25519_batch(self.cpu, items);
    }

    /// Public values of many X25519 private values, in lanes if the processor has them.
    pub fn x25519_public_batch(&self, items: &mut [X25519PublicItem<'_>]) {
        ec::batch::x25519_public_batch(self.cpu, items);
    }

    /// Generates a key on a curve that ECDSA and ECDH use.
    pub fn ec_generate(&self, curve: Curve) -> Result<ec::EcPrivateKey, EcError> {
        ec::EcPrivateKey::generate(curve)
    }

    #[inline]
    fn allow_cipher(&self, algorithm: CipherAlgorithm) -> Result<(), KeyError> {
        if algorithm.is_weak() && !self.weak_algorithms {
            return Err(KeyError::WeakCipher(algorithm));
        }
        Ok(())
    }

    fn allow_hash(&self, algorithm: HashAlgorithm) -> Result<(), HashError> {
        if algorithm.is_weak() && !self.weak_algorithms {
            return Err(HashError::Weak(algorithm));
        }
        Ok(())
    }
}

/// Tests one block of AES-128 (FIPS 197, C.1), many blocks of DES (FIPS 81, table B1) and one digest of SHA-256 (FIPS
/// 180-2, B.1).
fn known_answers(cpu: Cpu) -> Result<(), EngineError> {
    let check =
        |fits: bool, operation| if fits { Ok(()) } else { Err(EngineError::KnownAnswer { operation }) };
    let mut block = 0x00112233_44556677_8899aabb_ccddeeff_u128.to_be_bytes();
    let key = 0x00010203_04050607_08090a0b_0c0d0e0f_u128.to_be_bytes();
    let (ecb, encipher) = (Mode::Ecb, CipherDirection::Encipher);
    let done = cipher::with_raw_key(cpu, CipherAlgorithm::Aes128, ecb, encipher, &key, &mut [], &mut block);
    check(
        done.is_ok() && block == 0x69c4e0d8_6a7b0430_d8cdb780_70b4c55a_u128.to_be_bytes(),
        "AES-128 encipherment",
    )?;
    // Enough blocks that both the form for many and the form for few blocks run.
    let mut blocks = [*b"Now is t"; 520];
    let key = 0x01234567_89abcdef_u64.to_be_bytes();
    let text = blocks.as_flattened_mut();
    let done = cipher::with_raw_key(cpu, CipherAlgorithm::Des, ecb, encipher, &key, &mut [], text);
    let fits = blocks.iter().all(|block| *block == 0x3fa40e8a_984d4815_u64.to_be_bytes());
    check(done.is_ok() && fits, "DES encipherment")?;
    let digest = hash::digest(HashAlgorithm::Sha256, &[b"abc"]);
    check(digest[..8] == 0xba7816bf_8f01cfea_u64.to_be_bytes(), "SHA-256")
}
