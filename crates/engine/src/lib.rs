//! Clear-key cryptographic functions in the caller's own thread, batched.
//!
//! # Which function for which need
//!
//! | need | function |
//! |---|---|
//! | encipher with a key that comes with each call, least overhead | [`Engine::cipher`] |
//! | encipher many texts under prepared keys | [`Engine::cipher_key`], [`Engine::cipher_batch`] |
//! | encipher and authenticate | [`Engine::gcm_key`], [`Engine::gcm_batch`]; also OCB and EAX: [`Engine::ocb_key`], [`Engine::ocb_batch`], [`Engine::eax_key`], [`Engine::eax_batch`], and ChaCha20-Poly1305: [`Engine::chacha_key`], [`Engine::chacha_batch`] |
//! | encipher keys and other short messages without adding bytes, bound to associated data | [`Engine::hctr2_key`], [`Engine::hctr2_batch`] |
//! | AES-CFB in pieces; with SHA-1 of the plaintext, as in OpenPGP | [`Engine::cfb`], [`Engine::cfb_sha1`] |
//! | MAC from a block cipher (X9.9, X9.19, CMAC), whole or in segments | [`Engine::mac_key`], [`Engine::mac_batch`] |
//! | MACs and short texts of many equal requests, with raw keys or keys unwrapped for them, least overhead | [`Column`], [`DesColumns`], [`Engine::mac_columns`], [`Engine::hmac_columns`], [`Engine::cipher_columns`], [`Engine::unwrap_des_columns`] |
//! | digest | [`sha1`], [`sha256`], which need no engine; [`Engine::hash`], [`Engine::hash_batch`]; in pieces, also over several calls: [`Engine::hash_state`], [`HashState::export`] |
//! | checksum of IP, TCP and UDP over long texts | [`Engine::ones_complement_sum`] |
//! | digest of 128 bits by MDC-2 or MDC-4, also over several calls | [`Engine::mdc_batch`] |
//! | MAC from a hash | [`Engine::hmac_key`], [`Engine::hmac_batch`] |
//! | random bytes | [`Engine::random`]; many small values: [`Engine::random_block`] |
//! | RSA, raw | [`RsaPrivateKey`], [`RsaPublicKey`], [`Engine::rsa_private_batch`], [`Engine::rsa_public_batch`], [`Engine::rsa_generate`], [`Engine::rsa_search`] |
//! | RSA padding | [`pkcs1_v15_sign_pad`], [`pkcs1_v15_encrypt_pad`], [`oaep_pad`], [`pss_encode`] and their inverses |
//! | ECDSA, ECDH | [`EcPrivateKey`], [`EcPublicKey`], [`Engine::ecdsa_sign_batch`], [`Engine::ecdsa_verify_batch`], [`EcPrivateKey::ecdh`] |
//! | DSA | [`DsaPrivateKey`] |
//! | X25519, Ed25519 | [`x25519`], [`x25519_keypair`], [`Ed25519Key`], [`ed25519_verify`], [`is_ed25519_public`] |
//! | powers in a prime field, with secret exponents | [`PrimeField`] |
//! | derive keys | [`hkdf_sha256`], [`kbkdf_sha256`] |
//! | wrap keys | [`key_wrap_padded`], [`key_unwrap_padded`]; many, each with an initial value of the caller's choice: [`Engine::key_wrap_batch`] |
//! | seal a secret to the holder of a key | [`seal_to`], [`SealingKey`]; under a key used once [`lock`], [`unlock`] |
//! | hold a secret | [`SecretBytes`] |
//! | compare secret numbers | [`is_below`] |
//!
//! # Batches
//!
//! A batch call takes many independent requests, each with its own key, chaining value and length, and
//! gives each its own result: a failure does not affect the others. [`Engine::lanes`] says how many requests
//! fill a kernel; any number is accepted.
//!
//! ```
//! use engine::{Engine, MacAlgorithm, MacItem, Options};
//!
//! let engine = Engine::new(Options::default())?;
//! // RFC 4493, section 4: the key, and example 2.
//! let key = engine.mac_key(MacAlgorithm::CmacAes128, &0x2b7e1516_28aed2a6_abf71588_09cf4f3c_u128.to_be_bytes())?;
//! let text = 0x6bc1bee2_2e409f96_e93d7e11_7393172a_u128.to_be_bytes();
//! let mut items = [MacItem::new(&key, &text), MacItem::new(&key, &text[..8])];
//! engine.mac_batch(&mut items);
//! assert_eq!(items[0].result, Ok(()));
//! assert_eq!(items[0].mac, 0x070a16b4_6b4d4144_f79bdd9d_d04a287c_u128.to_be_bytes());
//! assert_ne!(items[1].mac, items[0].mac);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Levels
//!
//! [`Engine::level`] names the instructions in use. A limit in [`Options`] binds this crate's own code; the
//! bound library is limited only by the environment in which it was loaded: [`level_environment`] gives
//! the variable, [`Engine::library_level`] the result.
//!
//! # Stack
//!
//! The wide kernels keep scratch data on the stack. With optimization it is up to 317 KiB for RSA of 4096 bits with
//! AVX-512 and 144 KiB for a batch of DES: a thread with less than 512 KiB must not call them.
//!
//! Without optimization each copy of a vector has a place of its own. The frames of RSA of 4096 bits with AVX-512 then
//! add up to about 1.8 MiB, which leaves little of the 2 MiB that threads have by default. Give such a thread 4 MiB, or
//! let Cargo optimize this crate alone, and the first figures hold:
//!
//! ```toml
//! [profile.dev.package.cryptand-engine]
//! opt-level = 3
//! ```
//!
//! `cargo run --release -p cryptand-engine --example stack` measures the stack of each group of functions at the levels
//! of a machine. Its test runs all of them in a thread with the stack stated here, as does `tests/rsa_lanes.rs` for
//! RSA. The 1.8 MiB are the sum of the compiled frames, not a measurement with AVX-512.
//!
//! # Memory
//!
//! The bound library takes its memory from the program's global allocator, as this crate does, and wipes each block
//! before it is freed.
//!
//! # Weak algorithms
//!
//! Single DES, X9.9, MD5 and RSA below 1024 bits are refused, by an error that names them, unless
//! [`Options::weak_algorithms`] is set.
//!
//! # Layers
//!
//! `low` holds the bound library and all `unsafe`; `mid` algorithms and batches; `high` MACs, padding and derivation;
//! [`Engine`] checks what is allowed. Each layer uses only lower ones; a test checks that. The crate does no I/O, reads
//! no clock and no environment, and starts no threads.
//!
//! # Versions and platforms
//!
//! Versions are 0.x: the interface may change with the minor version. The crate needs Linux on x86-64 or aarch64, the
//! standard library and Rust 1.91. All kernels are for x86-64; `docs/understand/engine.md` says what works, and how, on
//! aarch64.
#![deny(unsafe_code)]

mod algorithm;
mod engine;
mod error;
mod high;
mod level;
#[allow(unsafe_code)]
mod low;
mod mid;
mod secret;

pub use algorithm::{CipherAlgorithm, CipherDirection, Curve, HashAlgorithm, MacAlgorithm, Mode};
pub use engine::{Engine, Operation, Options};
pub use error::{
    CipherError, ColumnError, EcError, EngineError, HashError, HkdfLength, KeyError, MacError, PaddingError,
    RsaError, RsaKeyError,
};
pub use high::hkdf::hkdf_sha256;
pub use high::hmac::{HmacItem, HmacKey};
pub use high::kbkdf::kbkdf_sha256;
pub use high::key_wrap::{key_unwrap_padded, key_wrap_padded};
pub use high::mac::{MacItem, MacKey};
pub use high::mdc::{MDC_BYTES, MDC_START, MdcAlgorithm, MdcItem};
pub use high::padding::{
    digest_info_prefix, oaep_pad, oaep_unpad, pkcs1_v15_encrypt_pad, pkcs1_v15_encrypt_unpad,
    pkcs1_v15_sign_pad, pkcs1_v15_sign_pad_raw, pkcs1_v15_sign_unpad_vartime, pkcs1_v15_verify, pss_encode,
    pss_verify_vartime,
};
pub use high::sealing::{SealedSecret, SealingKey, lock, seal_to, unlock};
pub use level::{Level, LibraryFeatures, UnknownLevel, level_environment};
pub use low::prefetch;
pub use mid::aes::aead::{AEAD_TAG_BYTES_MIN, AeadItem};
pub use mid::aes::cfb::{Cfb, CfbSha1};
pub use mid::aes::eax::{EaxItem, EaxKey};
pub use mid::aes::gcm::{GCM_TAG_BYTES_MIN, GcmItem, GcmKey};
pub use mid::aes::hctr2::{Hctr2Item, Hctr2Key};
pub use mid::aes::ocb::{OcbItem, OcbKey};
pub use mid::aes::wrap::KeyWrapItem;
pub use mid::chacha::{CHACHA_KEY_BYTES, CHACHA_NONCE_BYTES, ChaChaItem, ChaChaKey};
pub use mid::cipher::{CipherItem, CipherKey};
pub use mid::columns::{Column, ColumnMut};
pub use mid::des::columns::{DesColumns, KeyColumn, WrappedColumn};
pub use mid::dsa::DsaPrivateKey;
pub use mid::ec::batch::{X25519Item, X25519PublicItem};
pub use mid::ec::{
    EcPrivateKey, EcPublicKey, EcdsaSignItem, EcdsaVerifyItem, Ed25519Key, ed25519_verify, is_ed25519_public,
    x25519, x25519_keypair, x25519_public,
};
pub use mid::hash::{HASH_STATE_BYTES, HashItem, HashState, SHA3_STATE_BYTES, sha1, sha256};
pub use mid::prime_field::PrimeField;
pub use mid::random::RandomBlock;
pub use mid::rsa::batch::{RsaPrivateItem, RsaPublicItem};
pub use mid::rsa::{
    RSA_BITS_MAX, RSA_BITS_MIN, RSA_BITS_STRONG, RsaCrt, RsaForm, RsaPrivateKey, RsaPublicKey, RsaSearch,
};
pub use secret::{SecretBytes, is_below};
