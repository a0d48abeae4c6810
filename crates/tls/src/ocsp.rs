//! Reads OCSP responses (RFC 6960, 4.2.1). A server that shows one spares its clients a query to the responder (RFC
//! 6066, 8).

use crate::fields::{Fields, numbered};
use spki::ObjectIdentifier;
use spki::der::asn1::{AnyRef, GeneralizedTime};
use spki::der::{Tag, TagNumber, Tagged};
use std::fmt;

/// Tags of fields that may be missing, and of the statuses.
const BYTES: Tag = numbered(TagNumber::N0, true);
const VERSION: Tag = numbered(TagNumber::N0, true);
const RESPONDER_BY_NAME: Tag = numbered(TagNumber::N1, true);
const RESPONDER_BY_KEY: Tag = numbered(TagNumber::N2, true);
const NEXT_UPDATE: Tag = numbered(TagNumber::N0, true);
const GOOD: Tag = numbered(TagNumber::N0, false);
const REVOKED: Tag = numbered(TagNumber::N1, true);
const UNKNOWN: Tag = numbered(TagNumber::N2, false);

const BASIC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.48.1.1");
const SHA1: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.14.3.2.26");
const SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.1");

/// A successful response about one or more certificates. Its signature is not verified here: clients do that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OcspResponse {
    /// The answer for each certificate.
    pub answers: Vec<OcspAnswer>,
}

/// The answer for one certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OcspAnswer {
    /// The hash function of the two hashes below.
    pub hash: OcspHash,
    /// Hash of the issuer's name, as DER.
    pub issuer_name: Vec<u8>,
    /// Hash of the bits of the issuer's public key.
    pub issuer_key: Vec<u8>,
    /// The certificate's serial number, in the form of [`crate::Certificate::serial`].
    pub serial: Vec<u8>,
    /// The certificate's status.
    pub status: OcspStatus,
    /// Second since 1970 from which the status holds.
    pub this_update: i64,
    /// Second since 1970 by which a newer answer is available; `None` if one may be available at any time.
    pub next_update: Option<i64>,
}

/// The hash function that identifies an issuer's name and key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OcspHash {
    /// SHA-1, as nearly all responders use: no security rests on it here.
    Sha1,
    /// SHA-256, in hashes of 32 bytes.
    Sha256,
    /// Another hash function.
    Other,
}

/// The status of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OcspStatus {
    /// The certificate is not revoked.
    Good,
    /// The certificate is revoked.
    Revoked,
    /// The responder does not know the certificate.
    Unknown,
}

/// Why bytes are not a usable response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OcspError {
    /// The response is malformed, or not of the basic type.
    Unreadable,
    /// The responder gives no answer, for this reason (RFC 6960, 4.2.1).
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
        let fields = Fields::new(der).and_then(|mut all| all.sequence().filter(|_| all.is_empty()));
        let mut fields = fields.ok_or(OcspError::Unreadable)?;
        match fields.take(Tag::Enumerated).map(|status| status.value()) {
            Some([0]) => {}
            Some([reason]) => return Err(OcspError::Unsuccessful(*reason)),
            _ => return Err(OcspError::Unreadable),
        }
        let answers = fields.take(BYTES).and_then(|bytes| answers(bytes.value()));
        let answers = answers.filter(|answers| !answers.is_empty()).ok_or(OcspError::Unreadable)?;
        Ok(Self { answers })
    }
}

fn answers(bytes: &[u8]) -> Option<Vec<OcspAnswer>> {
    let mut bytes = Fields::new(bytes)?.sequence()?;
    if bytes.next::<ObjectIdentifier>()? != BASIC {
        return None;
    }
    let mut data = Fields::new(bytes.take(Tag::OctetString)?.value())?.sequence()?.sequence()?;
    data.take_if(VERSION);
    data.take_if(RESPONDER_BY_NAME).or_else(|| data.take_if(RESPONDER_BY_KEY))?;
    data.take(Tag::GeneralizedTime)?;
    let (mut list, mut answers) = (data.sequence()?, Vec::new());
    while !list.is_empty() {
        answers.push(answer(list.sequence()?)?);
    }
    Some(answers)
}

fn answer(mut fields: Fields<'_>) -> Option<OcspAnswer> {
    let mut of = fields.sequence()?;
    let hash = match of.sequence()?.next()? {
        SHA1 => OcspHash::Sha1,
        SHA256 => OcspHash::Sha256,
        _ => OcspHash::Other,
    };
    let (issuer_name, issuer_key) = (of.take(Tag::OctetString)?, of.take(Tag::OctetString)?);
    let serial = of.take(Tag::Integer)?.value().to_vec();
    let status = match fields.next::<AnyRef<'_>>()?.tag() {
        GOOD => OcspStatus::Good,
        REVOKED => OcspStatus::Revoked,
        UNKNOWN => OcspStatus::Unknown,
        _ => return None,
    };
    let this_update = generalized(&mut fields)?;
    let next_update = match fields.take_if(NEXT_UPDATE) {
        Some(next) => Some(generalized(&mut Fields::new(next.value())?)?),
        None => None,
    };
    let (issuer_name, issuer_key) = (issuer_name.value().to_vec(), issuer_key.value().to_vec());
    Some(OcspAnswer { hash, issuer_name, issuer_key, serial, status, this_update, next_update })
}

/// The next field, a GeneralizedTime, in seconds since 1970.
fn generalized(fields: &mut Fields<'_>) -> Option<i64> {
    fields.next().and_then(|time: GeneralizedTime| i64::try_from(time.to_unix_duration().as_secs()).ok())
}
