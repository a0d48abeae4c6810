//! Which algorithms a certificate and its signatures may rest on.
//!
//! - MD5 and RIPEMD-160: never.
//! - SHA-1: only in signatures of a key over itself that say they are older than [`SHA1_END_SECONDS`], as GnuPG has it:
//!   keys of that age are still in use, and forging such a signature needs a second preimage. Never in signatures
//!   over messages. Revocations are believed whatever SHA-1's age: to believe one too many does no harm.
//! - RSA, DSA and ElGamal below [`MODULUS_BITS_MIN`] bits: read, and signatures of them are checked down to
//!   [`MODULUS_BITS_READ_MIN`] bits, but nothing new is encrypted to them or signed by them unless asked.

use crate::HashAlgorithm;
use pgp::packet::{Signature, SignatureType};
use pgp::ser::Serialize;
use pgp::types::PublicParams;

/// SHA-1 counts in self-signatures made before 19 January 2019, here in seconds since 1970.
pub const SHA1_END_SECONDS: u32 = 1_547_856_000;
/// Shortest modulus in bits of RSA and of prime fields for anything new.
pub const MODULUS_BITS_MIN: usize = 2048;
/// Shortest modulus in bits that is read at all.
pub const MODULUS_BITS_READ_MIN: usize = 1024;

/// What is allowed beyond the ordinary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Keys below [`MODULUS_BITS_MIN`] bits may be encrypted to and signed with.
    pub weak_keys: bool,
}

/// Whether a signature of a key over itself may count, by its hash.
pub(crate) fn counts(signature: &Signature) -> Result<(), String> {
    let (Some(hash), Some(made)) = (signature.hash_alg(), signature.created()) else {
        return Err("a signature without hash or time".to_owned());
    };
    let is_revocation = matches!(
        signature.typ(),
        Some(SignatureType::KeyRevocation | SignatureType::SubkeyRevocation | SignatureType::CertRevocation)
    );
    match hash {
        HashAlgorithm::Md5 | HashAlgorithm::Ripemd160 => {
            Err(format!("its owner's signature uses {hash}"))
        }
        HashAlgorithm::Sha1 if !is_revocation && made.as_secs() >= SHA1_END_SECONDS => {
            Err("its owner's signature of 2019 or later uses SHA-1; he can renew it by changing the expiration time"
                .to_owned())
        }
        _ => Ok(()),
    }
}

/// Whether a hash may carry a signature over a message.
pub(crate) fn hash_for_messages(hash: HashAlgorithm) -> Result<(), String> {
    match hash {
        HashAlgorithm::Sha224
        | HashAlgorithm::Sha256
        | HashAlgorithm::Sha384
        | HashAlgorithm::Sha512
        | HashAlgorithm::Sha3_256
        | HashAlgorithm::Sha3_512 => Ok(()),
        HashAlgorithm::Md5 | HashAlgorithm::Sha1 | HashAlgorithm::Ripemd160 => {
            Err(format!("{hash} does not protect signatures any more"))
        }
        other => Err(format!("the hash {other:?} is not served")),
    }
}

/// Whether a key may be used for something new.
pub(crate) fn key_for_new(params: &PublicParams, policy: Policy) -> Result<(), String> {
    let bits_min = if policy.weak_keys { MODULUS_BITS_READ_MIN } else { MODULUS_BITS_MIN };
    key_of(params, bits_min)
}

/// Whether signatures of a key are checked.
pub(crate) fn key_for_old(params: &PublicParams) -> Result<(), String> {
    key_of(params, MODULUS_BITS_READ_MIN)
}

fn key_of(params: &PublicParams, bits_min: usize) -> Result<(), String> {
    match modulus_bits(params) {
        Some(bits) if bits < bits_min => Err(format!("its modulus has {bits} bits, fewer than {bits_min}")),
        _ => Ok(()),
    }
}

/// Length of the modulus in bits, for algorithms that have one: their first field.
pub(crate) fn modulus_bits(params: &PublicParams) -> Option<usize> {
    let has_modulus =
        matches!(params, PublicParams::RSA(_) | PublicParams::DSA(_) | PublicParams::Elgamal(_));
    let fields = has_modulus.then(|| params.to_bytes().ok())??;
    let bits = fields.first_chunk::<2>()?;
    Some(usize::from(u16::from_be_bytes(*bits)))
}
