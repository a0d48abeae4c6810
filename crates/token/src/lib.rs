//! Layouts of key tokens, control vectors and verification patterns: bytes in, fields out, and back.
//!
//! No key operation happens here: a wrapped key is bytes. Parsing and writing of one format stand in
//! one file, and whatever a parser accepts its writer gives back byte for byte, so that nothing in a
//! token can be changed without either a refusal or a visible change of a field.
//!
//! | need | module |
//! |---|---|
//! | what a key-identifier field holds, and what its key is wrapped under | [`describe()`], [`mod@describe`] |
//! | DES tokens of 64 bytes, internal and external | [`des`] |
//! | AES tokens of 64 bytes, version X'04' | [`aes`] |
//! | symmetric tokens of variable length, version X'05' | [`variable`] |
//! | what a DES key may be used for, and how that is written | [`control_vector`], [`key_type`], [`usage`] |
//! | RSA tokens of variable length, external and internal | [`pka`] |
//! | tokens of elliptic-curve keys | [`pka::ecc`] |
//! | headers of TR-31 key blocks | [`tr31`] |
//! | what keys of TR-31 blocks are here, and back | [`tr31::uses`] |
//! | what keys of transactions by DUKPT may become | [`transaction`] |
//! | token-validation values | [`tvv`] |
//! | verification patterns: constants and field lengths | [`pattern`] |
//! | values that no source read here prints | [`unconfirmed`], [`pka::unconfirmed`] |
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
