//! The parts of its certificates that a server needs to know (RFC 5280).

use crate::fields::{Fields, numbered};
use pkcs1::RsaPublicKey;
use spki::der::asn1::AnyRef;
use spki::der::{Decode, Tag, TagNumber};
use spki::{ObjectIdentifier, SubjectPublicKeyInfoRef};

/// Tags of the version, of the unique identifiers and of the extensions.
const VERSION: Tag = numbered(TagNumber::N0, true);
const ISSUER_IDENTIFIER: Tag = numbered(TagNumber::N1, false);
const SUBJECT_IDENTIFIER: Tag = numbered(TagNumber::N2, false);
const EXTENSIONS: Tag = numbered(TagNumber::N3, true);
/// Tag of a DNS name among the alternative names.
const DNS_NAME: Tag = numbered(TagNumber::N2, false);

const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");
const ALTERNATIVE_NAMES: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.17");
/// The extension for TLS features that a server with the certificate has (RFC 7633), and the number of the feature OCSP
/// stapling.
const TLS_FEATURES: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.1.24");
const STATUS_REQUEST: u8 = 5;
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");

/// The contents of an X.509 certificate that are needed here. Nothing is verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// DNS names that the certificate is for, in lower case: its alternative names, or its common name if there are
    /// none.
    pub names: Vec<String>,
    /// First second of the certificate's validity, since 1970.
    pub not_before: i64,
    /// Last second of the certificate's validity, since 1970.
    pub not_after: i64,
    /// The certificate's public key.
    pub public_key: PublicKey,
    /// Subject, as DER.
    pub subject: Vec<u8>,
    /// Issuer, as DER.
    pub issuer: Vec<u8>,
    /// Serial number, as DER without tag and length.
    pub serial: Vec<u8>,
    /// Whether clients are to refuse the certificate without an OCSP response (RFC 7633).
    pub must_staple: bool,
}

/// The public key of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublicKey {
    /// An RSA key.
    Rsa {
        /// The modulus, big-endian, without leading zeros.
        modulus: Vec<u8>,
        /// The public exponent, big-endian, without leading zeros.
        exponent: Vec<u8>,
    },
    /// A key of an elliptic curve.
    Ec {
        /// The curve's object identifier, as DER without tag and length.
        curve: Vec<u8>,
        /// The point: X'04', then both coordinates (SEC 1, 2.3.3).
        point: Vec<u8>,
    },
    /// A key of another kind.
    Other,
}

impl PublicKey {
    /// Kind and size of the key: `RSA-2048`, `P-256` and so on.
    pub fn kind(&self) -> String {
        match self {
            Self::Rsa { modulus, .. } => {
                let first = modulus.first().copied().unwrap_or_default();
                format!("RSA-{}", (8 * modulus.len()).saturating_sub(first.leading_zeros() as usize))
            }
            Self::Ec { point, .. } => match point.len() {
                65 => "P-256".to_owned(),
                97 => "P-384".to_owned(),
                133 => "P-521".to_owned(),
                _ => "EC".to_owned(),
            },
            Self::Other => "other".to_owned(),
        }
    }
}

/// The fields of a certificate that are used here.
struct Parts<'a> {
    serial: &'a [u8],
    issuer: &'a [u8],
    validity: Fields<'a>,
    subject: &'a [u8],
    key: SubjectPublicKeyInfoRef<'a>,
    extensions: Option<AnyRef<'a>>,
}

impl<'a> Parts<'a> {
    fn of(der: &'a [u8]) -> Option<Self> {
        let mut fields = Fields::new(der)?.sequence()?.sequence()?;
        fields.take_if(VERSION);
        let serial = fields.take(Tag::Integer)?.value();
        fields.sequence()?;
        let issuer = fields.whole()?;
        let validity = fields.sequence()?;
        let subject = fields.whole()?;
        let key = fields.next()?;
        fields.take_if(ISSUER_IDENTIFIER);
        fields.take_if(SUBJECT_IDENTIFIER);
        Some(Self { serial, issuer, validity, subject, key, extensions: fields.take_if(EXTENSIONS) })
    }
}

impl Certificate {
    /// Reads a certificate in DER; `None` if it is malformed.
    pub fn from_der(der: &[u8]) -> Option<Self> {
        let mut parts = Parts::of(der)?;
        let (not_before, not_after) = (parts.validity.time()?, parts.validity.time()?);
        let public_key = public_key(&parts.key)?;
        let mut names = match parts.extensions {
            Some(extensions) => alternative_names(extensions)?,
            None => Vec::new(),
        };
        let must_staple = parts.extensions.and_then(has_must_staple).unwrap_or(false);
        if names.is_empty() {
            names.extend(common_name(parts.subject));
        }
        let [subject, issuer, serial] = [parts.subject, parts.issuer, parts.serial].map(<[u8]>::to_vec);
        Some(Self { names, not_before, not_after, public_key, subject, issuer, serial, must_staple })
    }
}

fn public_key(info: &SubjectPublicKeyInfoRef<'_>) -> Option<PublicKey> {
    let bits = info.subject_public_key.as_bytes()?;
    match info.algorithm.oid {
        RSA => {
            let key = RsaPublicKey::from_der(bits).ok()?;
            let [modulus, exponent] =
                [key.modulus, key.public_exponent].map(|number| number.as_bytes().to_vec());
            Some(PublicKey::Rsa { modulus, exponent })
        }
        EC => {
            let curve = info.algorithm.parameters_oid().ok()?.as_bytes().to_vec();
            Some(PublicKey::Ec { curve, point: bits.to_vec() })
        }
        _ => Some(PublicKey::Other),
    }
}

/// The bits of a certificate's public key, without the algorithm: OCSP identifies issuers by the hash of these bits.
pub(crate) fn key_bits(der: &[u8]) -> Option<Vec<u8>> {
    Parts::of(der)?.key.subject_public_key.as_bytes().map(<[u8]>::to_vec)
}

/// The fields in an extension's value: `Some(None)` if the extension is missing, `None` if the list is malformed.
fn extension<'a>(extensions: AnyRef<'a>, wanted: ObjectIdentifier) -> Option<Option<Fields<'a>>> {
    let mut extensions = Fields::new(extensions.value())?.sequence()?;
    while !extensions.is_empty() {
        let mut extension = extensions.sequence()?;
        let kind: ObjectIdentifier = extension.next()?;
        extension.take_if(Tag::Boolean);
        let value = extension.take(Tag::OctetString)?;
        if kind == wanted {
            return Some(Some(Fields::new(value.value())?.sequence()?));
        }
    }
    Some(None)
}

fn alternative_names(extensions: AnyRef<'_>) -> Option<Vec<String>> {
    let mut names = Vec::new();
    if let Some(mut list) = extension(extensions, ALTERNATIVE_NAMES)? {
        while !list.is_empty() {
            if let Some(name) = list.take_if(DNS_NAME) {
                names.extend(host_name(name.value()));
            } else {
                list.next::<AnyRef<'_>>()?;
            }
        }
    }
    Some(names)
}

fn has_must_staple(extensions: AnyRef<'_>) -> Option<bool> {
    let Some(mut features) = extension(extensions, TLS_FEATURES)? else { return Some(false) };
    while !features.is_empty() {
        if features.take(Tag::Integer)?.value() == [STATUS_REQUEST] {
            return Some(true);
        }
    }
    Some(false)
}

/// The last common name of a subject, which is the most specific one, if it is a host name.
fn common_name(subject: &[u8]) -> Option<String> {
    let (mut parts, mut found) = (Fields::new(subject)?.sequence()?, None);
    while !parts.is_empty() {
        let mut part = Fields::new(parts.take(Tag::Set)?.value())?.sequence()?;
        let kind: ObjectIdentifier = part.next()?;
        let value: AnyRef<'_> = part.next()?;
        if kind == COMMON_NAME {
            found = host_name(value.value());
        }
    }
    found
}

/// The bytes as a name that a client could ask for, in lower case; `None` if they are not such a name.
fn host_name(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    let is_name = !text.is_empty()
        && text.len() <= 253
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._*".contains(&byte));
    is_name.then(|| text.to_ascii_lowercase())
}
