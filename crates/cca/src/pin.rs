//! PINs in the hands of a verb: what the PIN verbs share between their arguments and the arithmetic of [`payments`].
//!
//! | file | what it has |
//! |---|---|
//! | [`form`] | a profile, a PAN and a sequence number as the form of a PIN block |
//! | [`rules`] | what ANSI X9.8 forbids, and roles may permit |
//! | [`keys`] | keys of PIN blocks, as they are or derived for a transaction |
//! | [`data`] | the data array of the methods |
//! | [`derivation`] | which key of a transaction is derived, by TDES or by AES |
//! | [`side`] | a block of 8 bytes under DES, or of ISO-4 under AES, with its form and key |
//!
//! A verb looks at everything in its request before a block is clear. From then on nothing depends on what is in the
//! block but the answer: a wrong block goes the way of a right one, and is refused at the end with one code for
//! whatever is wrong ([`rules::wrong_block`]).

pub(crate) mod data;
pub(crate) mod derivation;
pub(crate) mod form;
pub(crate) mod keys;
pub(crate) mod rules;
pub(crate) mod side;

use crate::call::Call;
use crate::ground::Refusal;
use crate::pass::OneBlock;
pub(crate) use crate::pass::{BLOCK_BYTES, Block};
use engine::{CipherDirection, SecretBytes};
use wire::code;

/// A block through TDES.
///
/// # Errors
/// 8/39 for a key that has neither two parts nor three.
pub(crate) async fn cipher(
    call: Call<'_, '_>,
    key: &SecretBytes,
    direction: CipherDirection,
    block: &[u8; BLOCK_BYTES],
) -> Result<Block, Refusal> {
    let asked = OneBlock::new(direction, key, block).ok_or(code::KEY_USAGE)?;
    Ok(call.ask(asked).await?)
}
