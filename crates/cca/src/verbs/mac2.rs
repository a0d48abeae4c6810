//! What MAC_Generate2 and MAC_Verify2 share: the CMAC of an AES key (SP 800-38B), and the way to HMACs
//! ([`super::hmac`]).
//!
//! The key is an AES MAC key of variable length whose usage fields allow CMACs (8/39). FIRST and MIDDLE take whole
//! blocks of 16 bytes, and LAST at least one byte, since the last block is treated differently. The 128-byte chaining
//! vector is sealed ([`crate::chaining`]): it is accepted only for the same verb and key in the same domain (8/2036).
//! MACs are 8 bytes or more, as those of HMAC are.

use super::hmac::{self, Computed, Value};
use crate::call::Call;
use crate::chaining::{Chained, HMAC_CHAINING_BYTES, Sealer};
use crate::ground::Refusal;
use crate::pass::Mac;
use engine::MacAlgorithm;
use std::borrow::Cow;
use token::variable::{HmacHash, VariableUse};
use wire::code;
use wire::verb::{Buffer, HmacMethod, KeyedHash, Segment, VariableAlgorithm};

/// The parameters that MAC_Generate2 and MAC_Verify2 share, for CMAC and HMAC.
pub(super) struct Fields<'a> {
    pub(super) key_identifier: &'a [u8],
    pub(super) text: &'a [u8],
    pub(super) algorithm: VariableAlgorithm,
    pub(super) method: Option<KeyedHash>,
    pub(super) segment: Segment,
    pub(super) chaining_vector: Buffer<'a>,
}

/// A request for a CMAC or an HMAC, by its key's algorithm.
pub(super) enum Request<'a> {
    Cmac(Cmac<'a>),
    Hmac(hmac::Request<'a>),
}

/// A request for a CMAC.
pub(super) struct Cmac<'a> {
    key_identifier: &'a [u8],
    text: &'a [u8],
    segment: Segment,
    chaining_vector: Buffer<'a>,
}

/// The purpose of a MAC: to be returned, or to be compared inside the card.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    Generate,
    Verify,
}

impl<'a> Request<'a> {
    /// The request for a CMAC (AES) or an HMAC (HMAC) with these fields.
    ///
    /// # Errors
    /// 8/34 for an HMAC without a hash.
    pub(super) fn new(fields: Fields<'a>) -> Result<Self, Refusal> {
        let Fields { key_identifier, text, algorithm, method, segment, chaining_vector } = fields;
        if algorithm == VariableAlgorithm::Aes {
            return Ok(Self::Cmac(Cmac { key_identifier, text, segment, chaining_vector }));
        }
        let method = match method.ok_or(code::KEYWORD_COMBINATION)? {
            KeyedHash::Sha1 => HmacMethod::Sha1,
            KeyedHash::Sha224 => HmacMethod::Sha224,
            KeyedHash::Sha256 => HmacMethod::Sha256,
            KeyedHash::Sha384 => HmacMethod::Sha384,
            KeyedHash::Sha512 => HmacMethod::Sha512,
        };
        Ok(Self::Hmac(hmac::Request { key_identifier, text, method, segment, chaining_vector }))
    }

    /// Whether the text ends with this segment.
    pub(super) fn is_last(&self) -> bool {
        match self {
            Self::Cmac(request) => request.is_last(),
            Self::Hmac(request) => request.is_last(),
        }
    }

    /// Length of a whole MAC in bytes.
    pub(super) fn mac_bytes(&self) -> usize {
        match self {
            Self::Cmac(_) => BLOCK_BYTES,
            Self::Hmac(request) => request.mac_bytes(),
        }
    }

    /// Computes the MAC, or the chaining vector of a segment that is not the last.
    pub(super) async fn compute(&self, call: Call<'_, 'a>, purpose: Purpose) -> Result<Computed, Refusal> {
        let (cmac, hmac): (VariableUse, fn(HmacHash) -> VariableUse) = match purpose {
            Purpose::Generate => (VariableUse::CmacGenerate, VariableUse::HmacGenerate),
            Purpose::Verify => (VariableUse::CmacVerify, VariableUse::HmacVerify),
        };
        match self {
            Self::Cmac(request) => request.compute(call, cmac).await,
            Self::Hmac(request) => request.compute(call, hmac).await,
        }
    }
}

impl<'a> Cmac<'a> {
    fn is_last(&self) -> bool {
        matches!(self.segment, Segment::Only | Segment::Last)
    }

    /// Refuses a text that its segment does not take, and a chaining vector that is missing or has no room. Returns the
    /// vector that this segment continues from, if there is one.
    fn check(&self) -> Result<Option<&'a [u8; HMAC_CHAINING_BYTES]>, Refusal> {
        let is_right = match self.segment {
            Segment::Only => true,
            Segment::Last => !self.text.is_empty(),
            Segment::First | Segment::Middle => self.text.len().is_multiple_of(BLOCK_BYTES),
        };
        if !is_right {
            return Err(code::TEXT_LENGTH.into());
        }
        if !self.is_last() {
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

    async fn compute(&self, call: Call<'_, 'a>, usage: VariableUse) -> Result<Computed, Refusal> {
        let vector = self.check()?;
        let opening = call.key(self.key_identifier)?.variable()?.for_variable_use(usage)?;
        let sealing = (self.segment != Segment::Only).then(|| call.chaining_keys(Chained::Cmac));
        let key = opening.await;
        let sealing = match sealing {
            Some(sealing) => Some(sealing.await.chaining_keys()),
            None => None,
        };
        let key = key?;
        let renewal = key.renew(call, self.key_identifier)?;
        let verb = call.arguments.verb();
        let sealer = sealing.transpose()?.map(|keys| Sealer::of_cmac(keys, verb, &key.secret));
        let chain = match (&sealer, vector) {
            (Some(sealer), Some(vector)) => sealer.open_long(call.engine, vector)?,
            _ => [0; BLOCK_BYTES],
        };
        let algorithm = match key.secret.len() {
            16 => MacAlgorithm::CmacAes128,
            24 => MacAlgorithm::CmacAes192,
            _ => MacAlgorithm::CmacAes256,
        };
        let (text, last) = (Cow::Borrowed(self.text), self.is_last());
        let done = call.ask(Mac { algorithm, key: key.secret, chain, text, last }).await?;
        let value = match sealer {
            Some(sealer) if !last => Value::Chained(Box::new(sealer.seal_long(call.engine, &done.chain))),
            _ => {
                let mut mac = [0; 64];
                mac[..BLOCK_BYTES].copy_from_slice(&done.mac);
                Value::Mac(mac)
            }
        };
        let codes = key.age.codes();
        Ok(Computed { key_identifier: renewal.token().await?, value, codes })
    }
}

/// Length of a block, and of a whole MAC, in bytes.
const BLOCK_BYTES: usize = 16;
