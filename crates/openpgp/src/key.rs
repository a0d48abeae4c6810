//! A single key: its packet, public or private, its lock, its check of signatures, and the framing of session keys for
//! it.

mod error;
mod frame;
mod lock;
mod packet;
mod secret;
mod verifying;

pub use error::PrivateKeyError;
pub use frame::{bytes, session_key_of};
pub(crate) use frame::{is_aes_only, is_same_family, with_checksum};
pub use lock::Locking;
pub use packet::KeyPacket;
pub(crate) use packet::{curve_and_point, derivation, unserved_curve};
pub(crate) use secret::SecretPacket;
pub(crate) use verifying::Verifying;
