//! What HMAC_Generate and HMAC_Verify share: keys, segments, and the computation itself.
//!
//! The hash is SHA-1, SHA-224, SHA-256, SHA-384 or SHA-512; the key one of HMAC whose usage fields allow it (8/39).
//! FIRST and MIDDLE take whole blocks of the hash (64 bytes; 128 for SHA-384 and SHA-512). The 128-byte chaining vector
//! that they leave is sealed ([`crate::chaining`]): MIDDLE and LAST accept only one from the same verb, hash, key and
//! domain (8/2036).
//!
//! A MAC is the first 8 bytes of the HMAC or more. If shorter MACs were verified, a caller who may only verify could
//! find a longer MAC byte by byte: four bytes by 2^32 requests, each further byte by 256.

use crate::call::Call;
use crate::chaining::{Chained, HMAC_CHAINING_BYTES, Sealer};
use crate::ground::Refusal;
use crate::pass::{Hash, HashOutput, HashText, Token};
use engine::HashAlgorithm;
use std::borrow::Cow;
use token::variable::{HmacHash, VariableUse};
use wire::verb::{Buffer, HmacMethod, Segment};
use wire::{Codes, code};

/// Shortest MAC that is made and verified, in bytes.
pub(super) const MAC_BYTES_MIN: usize = 8;

/// The parameters that HMAC_Generate and HMAC_Verify share.
pub(super) struct Request<'a> {
    pub(super) key_identifier: &'a [u8],
    pub(super) text: &'a [u8],
    pub(super) method: HmacMethod,
    pub(super) segment: Segment,
    pub(super) chaining_vector: Buffer<'a>,
}

/// The result of one segment, with the renewed token of the key.
pub(super) struct Computed {
    /// The renewed token of the key; `None` if the token needs no renewal.
    pub(super) key_identifier: Option<Token>,
    pub(super) value: Value,
    /// The codes for the age of the master key that wraps the token.
    pub(super) codes: Codes,
}

/// The result of one segment.
pub(super) enum Value {
    /// The HMAC, after the last segment: the bytes of the digest, then zeros.
    Mac([u8; 64]),
    /// The sealed chaining vector for the next segment.
    Chained(Box<[u8; HMAC_CHAINING_BYTES]>),
}

impl<'a> Request<'a> {
    /// Whether the text ends with this segment.
    pub(super) fn is_last(&self) -> bool {
        matches!(self.segment, Segment::Only | Segment::Last)
    }

    /// Length of a whole MAC in bytes.
    pub(super) fn mac_bytes(&self) -> usize {
        self.algorithm().digest_bytes()
    }

    fn algorithm(&self) -> HashAlgorithm {
        match self.method {
            HmacMethod::Sha1 => HashAlgorithm::Sha1,
            HmacMethod::Sha224 => HashAlgorithm::Sha224,
            HmacMethod::Sha256 => HashAlgorithm::Sha256,
            HmacMethod::Sha384 => HashAlgorithm::Sha384,
            HmacMethod::Sha512 => HashAlgorithm::Sha512,
        }
    }

    fn hash(&self) -> HmacHash {
        match self.method {
            HmacMethod::Sha1 => HmacHash::Sha1,
            HmacMethod::Sha224 => HmacHash::Sha224,
            HmacMethod::Sha256 => HmacHash::Sha256,
            HmacMethod::Sha384 => HmacHash::Sha384,
            HmacMethod::Sha512 => HmacHash::Sha512,
        }
    }

    /// Refuses a text that its segment does not take, and a chaining vector that is missing or has no room. Returns the
    /// vector that this segment continues from, if there is one.
    fn check(&self) -> Result<Option<&'a [u8; HMAC_CHAINING_BYTES]>, Refusal> {
        if !self.is_last() {
            if !self.text.len().is_multiple_of(self.algorithm().block_bytes()) {
                return Err(code::TEXT_LENGTH.into());
            }
            self.chaining_vector.holds(HMAC_CHAINING_BYTES)?;
        }
        match self.segment {
            Segment::Only | Segment::First => Ok(None),
            Segment::Middle | Segment::Last => {
                let vector = self.chaining_vector.given()?.first_chunk();
                Ok(Some(vector.ok_or(code::INVALID_PARAMETER)?))
            }
        }
    }

    /// Computes the MAC, or the chaining vector of a segment that is not the last.
    pub(super) async fn compute(
        &self,
        call: Call<'_, 'a>,
        usage: fn(HmacHash) -> VariableUse,
    ) -> Result<Computed, Refusal> {
        let vector = self.check()?;
        let opening = call.key(self.key_identifier)?.variable()?.for_variable_use(usage(self.hash()))?;
        let sealing = (self.segment != Segment::Only).then(|| call.chaining_keys(Chained::Hmac));
        let key = opening.await;
        let sealing = match sealing {
            Some(sealing) => Some(sealing.await.chaining_keys()),
            None => None,
        };
        let key = key?;
        let renewal = key.renew(call, self.key_identifier)?;
        let verb = call.arguments.verb();
        let sealer = sealing.transpose()?.map(|keys| Sealer::of_hmac(keys, verb, self.method, &key.secret));
        let state = match (&sealer, vector) {
            (Some(sealer), Some(vector)) => {
                Some(Cow::Owned(sealer.open_state(call.engine, vector)?.to_vec()))
            }
            _ => None,
        };
        let (algorithm, text, last) = (self.algorithm(), self.text, self.is_last());
        let work = HashText { algorithm, key: Some(key.secret), state, text, last };
        let value = match call.ask(Hash::Text(work)).await? {
            HashOutput::Digest(mac) => Value::Mac(mac),
            HashOutput::State(state) => {
                let sealer = sealer.ok_or(code::SELF_CHECK)?;
                Value::Chained(Box::new(sealer.seal_state(call.engine, &state)))
            }
            // These verbs make no HMAC with SHA-3.
            HashOutput::LongState(_) => return Err(code::SELF_CHECK.into()),
        };
        let codes = key.age.codes();
        Ok(Computed { key_identifier: renewal.token().await?, value, codes })
    }
}
