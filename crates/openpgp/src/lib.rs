//! OpenPGP (RFC 9580; RFC 4880; RFC 9980) without input and output: functions take bytes and a time, and return bytes
//! and events.
//!
//! # Which module for which need
//!
//! | need | module |
//! |---|---|
//! | how a message is protected: cipher, mode, chunk length | [`form`] |
//! | packet headers, partial lengths, armor | [`packet`] |
//! | bulk bodies: SEIPDv1, SEIPDv2, GnuPG's AEAD packet; the grammar of their contents | [`body`] |
//! | certificates: permitted uses at a given time, announced features | [`certificate`] |
//! | private keys in this process, and the trait for keys elsewhere | [`private_key`] |
//! | session keys for recipients and passphrases, and opening them | [`session_key`] |
//! | signatures over messages | [`signature`] |
//! | new keys, and changes of keys | [`generate`] |
//!
//! Keys, signature packets and the parsing of small packets come from rPGP (`pgp`), whose types for algorithms are
//! re-exported here. Bulk bodies and operations with private keys run in the engine, if it supports the algorithm. Bulk
//! bodies use the engine that the caller hands over, and keys the engine of the process ([`engine()`]). Keys that are
//! elsewhere, such as on a card, are implementations of [`PrivateKey`].
//!
//! ```
//! use openpgp::generate::{NewKey, generate};
//! use openpgp::session_key;
//! use openpgp::{Form, Protection, SymmetricKeyAlgorithm, Timestamp};
//!
//! let now = Timestamp::from_secs(1_700_000_000);
//! let alice = generate(&NewKey::new("Alice <alice@example.org>", now), None)?;
//! let certificate = alice.certificate().check(now)?;
//! let form = Form { cipher: SymmetricKeyAlgorithm::AES256, protection: Protection::SeipdV1 };
//! let session_key = session_key::generate(form);
//! let packet = session_key::for_recipient(&certificate.encryption_keys()?[0], &session_key, form)?;
//! // A public-key encrypted session key packet (RFC 9580, 5.1): tag 1, in the packet format of today.
//! assert_eq!(packet[0], 0b1100_0001);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Versions and platforms
//!
//! Versions are 0.x: the interface may change with the minor version. The crate needs Linux on x86-64 or aarch64, the
//! standard library and Rust 1.91.
#![forbid(unsafe_code)]

mod aead;
pub mod body;
pub mod certificate;
mod compute;
pub mod form;
pub mod generate;
mod key;
mod numbers;
pub mod packet;
pub mod passphrase;
pub mod private_key;
mod s2k;
pub mod session_key;
pub mod signature;
mod signed;

pub use compute::engine;
pub use form::{Form, Protection};
pub use key::PrivateKeyError;
pub use passphrase::Passphrase;
pub use pgp::composed::PlainSessionKey;
pub use pgp::crypto::aead::AeadAlgorithm;
pub use pgp::crypto::hash::HashAlgorithm;
pub use pgp::crypto::sym::SymmetricKeyAlgorithm;
pub use pgp::types::{CompressionAlgorithm, Fingerprint, KeyId, Timestamp};
pub use private_key::PrivateKey;
