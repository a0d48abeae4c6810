//! Layouts of key tokens, control vectors and verification patterns: bytes in, fields out, and back.
//!
//! No key operation happens here: a wrapped key is bytes. One file holds the parser and the writer
//! of one format, and a writer returns byte for byte what the parser accepted. So every change of a
//! token is refused or changes a visible field.
//!
//! | need | module |
//! |---|---|
//! | the kind of content of a key-identifier field, and the key that wraps its key |
//! [`describe()`], [`mod@describe`] |
//! | DES tokens of 64 bytes, internal and external | [`des`] |
//! | AES tokens of 64 bytes, version X'04' | [`aes`] |
//! | symmetric tokens of variable length, version X'05' | [`variable`] |
//! | the uses of a DES key, and how they are encoded | [`control_vector`], [`key_type`], [`usage`]
//! |
//! | RSA tokens of variable length, external and internal | [`pka`] |
//! | tokens of elliptic-curve keys | [`pka::ecc`] |
//! | headers of TR-31 key blocks | [`tr31`] |
//! | types of keys in TR-31 blocks, in both directions | [`tr31::uses`] |
//! | types of keys that DUKPT derives for transactions | [`transaction`] |
//! | token-validation values | [`tvv`] |
//! | verification patterns: constants and field lengths | [`pattern`] |
//! | values that no source read here gives | [`unconfirmed`], [`pka::unconfirmed`] |
#![forbid(unsafe_code)]

pub mod aes;
pub mod control_vector;
pub mod derivation;
pub mod des;
pub mod describe;
pub mod error;
mod holds;
pub mod key_type;
pub mod pattern;
pub mod pka;
pub mod tr31;
pub mod transaction;
pub mod tvv;
pub mod unconfirmed;
pub mod usage;
pub mod variable;
mod vector_keywords;

pub use aes::AesToken;
pub use control_vector::ControlVector;
pub use des::DesToken;
pub use describe::{Description, Format, describe};
pub use error::TokenError;
pub use holds::{DescribeError, Holds, Under};
pub use key_type::KeyType;
pub use variable::VariableToken;

/// Length of a fixed-length DES or AES token in bytes.
pub const TOKEN_BYTES: usize = 64;
/// A null token of the fixed length.
pub const NULL_TOKEN: [u8; TOKEN_BYTES] = [0; TOKEN_BYTES];
