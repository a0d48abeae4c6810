//! What an OCSP response says (RFC 6960, 4.2.1): a server that shows one spares its clients the question (RFC 6066, 8).

use crate::certificate::time;
use crate::der::{ENUMERATED, GENERALIZED_TIME, INTEGER, OBJECT_IDENTIFIER, OCTET_STRING, Reader, SEQUENCE};
use std::fmt;

/// Tags of fields that may be missing, and of the statuses.
const BYTES: u8 = 0xa0;
const VERSION: u8 = 0xa0;
const RESPONDER_BY_NAME: u8 = 0xa1;
const RESPONDER_BY_KEY: u8 = 0xa2;
const NEXT_UPDATE: u8 = 0xa0;
const GOOD: u8 = 0x80;
const REVOKED: u8 = 0xa1;
const UNKNOWN: u8 = 0x82;

const BASIC: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x30, 0x01, 0x01];
const SHA1: &[u8] = &[0x2b, 0x0e, 0x03, 0x02, 0x1a];
const SHA256: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01];

/// A response that says something of certificates. Its signature is not verified: clients do that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OcspResponse {
    /// What it says of each.
    pub answers: Vec<OcspAnswer>,
}

/// What is said of one certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OcspAnswer {
    /// What the hashes are made with.
    pub hash: OcspHash,
    /// Hash of the issuer's name, as DER.
    pub issuer_name: Vec<u8>,
    /// Hash of the bits of the issuer's public key.
    pub issuer_key: Vec<u8>,
    /// The certificate's number, as [`crate::Certificate::serial`].
    pub serial: Vec<u8>,
    /// What it says.
    pub status: OcspStatus,
    /// Second since 1970 from which on it holds.
    pub this_update: i64,
    /// Second until which there is nothing newer; none where there always may be.
    pub next_update: Option<i64>,
}

/// What identifies an issuer's name and key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OcspHash {
    /// SHA-1, as nearly all have it: nothing rests on it here.
    Sha1,
    /// SHA-256.
    Sha256,
    /// Another one.
    Other,
}

/// The status of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OcspStatus {
    /// It is not revoked.
    Good,
    /// It is revoked.
    Revoked,
    /// The responder does not know it.
    Unknown,
}

/// Why bytes are no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OcspError {
    /// They do not hold together, or are of a kind that is not in use.
    Unreadable,
    /// The responder says that it has no answer: its reason (RFC 6960, 4.2.1).
    Unsuccessful(u8),
}

impl fmt::Display for OcspError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Unsuccessful(reason) = self else { return f.write_str("it is no OCSP response in DER") };
        let reason = match reason {
            1 => "malformed request",
            2 => "internal error",
            3 => "try later",
            5 => "signature required",
            6 => "unauthorized",
            _ => "another reason",
        };
        write!(f, "the responder had no answer ({reason})")
    }
}

impl std::error::Error for OcspError {}

impl OcspResponse {
    /// Reads a response in DER.
    ///
    /// # Errors
    /// [`OcspError`].
    pub fn from_der(der: &[u8]) -> Result<Self, OcspError> {
        let mut all = Reader::new(der);
        let mut fields = all.take(SEQUENCE).filter(|_| all.is_empty()).ok_or(OcspError::Unreadable)?.inside();
        match fields.take(ENUMERATED).map(|status| status.content) {
            Some([0]) => {}
            Some([reason]) => return Err(OcspError::Unsuccessful(*reason)),
            _ => return Err(OcspError::Unreadable),
        }
        let answers = fields.take(BYTES).and_then(|bytes| answers(bytes.inside()));
        let answers = answers.filter(|answers| !answers.is_empty()).ok_or(OcspError::Unreadable)?;
        Ok(Self { answers })
    }
}

fn answers(mut bytes: Reader<'_>) -> Option<Vec<OcspAnswer>> {
    let mut bytes = bytes.take(SEQUENCE)?.inside();
    if bytes.take(OBJECT_IDENTIFIER)?.content != BASIC {
        return None;
    }
    let mut basic = bytes.take(OCTET_STRING)?.inside().take(SEQUENCE)?.inside();
    let mut data = basic.take(SEQUENCE)?.inside();
    data.take_if(VERSION);
    data.take_if(RESPONDER_BY_NAME).or_else(|| data.take_if(RESPONDER_BY_KEY))?;
    data.take(GENERALIZED_TIME)?;
    let (mut list, mut answers) = (data.take(SEQUENCE)?.inside(), Vec::new());
    while !list.is_empty() {
        answers.push(answer(list.take(SEQUENCE)?.inside())?);
    }
    Some(answers)
}

fn answer(mut fields: Reader<'_>) -> Option<OcspAnswer> {
    let mut of = fields.take(SEQUENCE)?.inside();
    let hash = match of.take(SEQUENCE)?.inside().take(OBJECT_IDENTIFIER)?.content {
        SHA1 => OcspHash::Sha1,
        SHA256 => OcspHash::Sha256,
        _ => OcspHash::Other,
    };
    let (issuer_name, issuer_key) = (of.take(OCTET_STRING)?, of.take(OCTET_STRING)?);
    let serial = of.take(INTEGER)?.content.to_vec();
    let status = match fields.next()?.tag {
        GOOD => OcspStatus::Good,
        REVOKED => OcspStatus::Revoked,
        UNKNOWN => OcspStatus::Unknown,
        _ => return None,
    };
    let this_update = time(fields.take(GENERALIZED_TIME)?)?;
    let next_update = match fields.take_if(NEXT_UPDATE) {
        Some(next) => Some(time(next.inside().take(GENERALIZED_TIME)?)?),
        None => None,
    };
    let (issuer_name, issuer_key) = (issuer_name.content.to_vec(), issuer_key.content.to_vec());
    Some(OcspAnswer { hash, issuer_name, issuer_key, serial, status, this_update, next_update })
}
