//! What a server needs to know of its certificates (RFC 5280).

use crate::der::{
    BIT_STRING, BOOLEAN, Element, GENERALIZED_TIME, INTEGER, OBJECT_IDENTIFIER, OCTET_STRING, Reader,
    SEQUENCE, SET, UTC_TIME,
};

/// Tag of the version, of the unique identifiers and of the extensions.
const VERSION: u8 = 0xa0;
const ISSUER_IDENTIFIER: u8 = 0x81;
const SUBJECT_IDENTIFIER: u8 = 0x82;
const EXTENSIONS: u8 = 0xa3;
/// Tag of a DNS name among the alternative names.
const DNS_NAME: u8 = 0x82;

const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const ALTERNATIVE_NAMES: &[u8] = &[0x55, 0x1d, 0x11];
/// TLS features that a server with the certificate has (RFC 7633), and the number of the one that shows OCSP responses.
const TLS_FEATURES: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x01, 0x18];
const STATUS_REQUEST: u8 = 5;
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];

/// What an X.509 certificate says. Nothing of it is verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The DNS names that it is for, in lower case: its alternative names, or its common name where it has none.
    pub names: Vec<String>,
    /// First second of its life, since 1970.
    pub not_before: i64,
    /// Last second of its life, since 1970.
    pub not_after: i64,
    /// Its public key.
    pub public_key: PublicKey,
    /// Whom it is of, as DER.
    pub subject: Vec<u8>,
    /// Who signed it, as DER.
    pub issuer: Vec<u8>,
    /// Its number among the issuer's, as DER without tag and length.
    pub serial: Vec<u8>,
    /// Whether clients are to refuse it without an OCSP response (RFC 7633).
    pub must_staple: bool,
}

/// A public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublicKey {
    /// RSA.
    Rsa {
        /// The modulus, big-endian, without leading zeros.
        modulus: Vec<u8>,
        /// The public exponent, likewise.
        exponent: Vec<u8>,
    },
    /// Of an elliptic curve.
    Ec {
        /// The curve's object identifier, as DER without tag and length.
        curve: Vec<u8>,
        /// The point: X'04', then both coordinates (SEC 1, 2.3.3).
        point: Vec<u8>,
    },
    /// Of another kind.
    Other,
}

impl PublicKey {
    /// `RSA-2048`, `P-256` and so on.
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

impl Certificate {
    /// Reads a certificate in DER; none where it does not hold together.
    pub fn from_der(der: &[u8]) -> Option<Self> {
        let mut signed = Reader::new(der).take(SEQUENCE)?.inside();
        let mut fields = signed.take(SEQUENCE)?.inside();
        fields.take_if(VERSION);
        let serial = fields.take(INTEGER)?.content.to_vec();
        fields.take(SEQUENCE)?;
        let issuer = fields.take(SEQUENCE)?;
        let mut validity = fields.take(SEQUENCE)?.inside();
        let (not_before, not_after) = (time(validity.next()?)?, time(validity.next()?)?);
        let subject = fields.take(SEQUENCE)?;
        let public_key = public_key(fields.take(SEQUENCE)?)?;
        fields.take_if(ISSUER_IDENTIFIER);
        fields.take_if(SUBJECT_IDENTIFIER);
        let extensions = fields.take_if(EXTENSIONS);
        let mut names = match extensions {
            Some(extensions) => alternative_names(extensions)?,
            None => Vec::new(),
        };
        let must_staple = extensions.is_some_and(|extensions| has_must_staple(extensions).unwrap_or(false));
        if names.is_empty() {
            names.extend(common_name(subject));
        }
        let (subject, issuer) = (subject.whole.to_vec(), issuer.whole.to_vec());
        Some(Self { names, not_before, not_after, public_key, subject, issuer, serial, must_staple })
    }
}

fn public_key(info: Element<'_>) -> Option<PublicKey> {
    let mut info = info.inside();
    let mut algorithm = info.take(SEQUENCE)?.inside();
    let kind = algorithm.take(OBJECT_IDENTIFIER)?.content;
    // The first byte says how many bits are unused.
    let bits = info.take(BIT_STRING)?.content.strip_prefix(&[0])?;
    if kind == RSA {
        let mut numbers = Reader::new(bits).take(SEQUENCE)?.inside();
        let mut number = || numbers.take(INTEGER).map(|number| without_zeros(number.content).to_vec());
        return Some(PublicKey::Rsa { modulus: number()?, exponent: number()? });
    }
    if kind == EC {
        let curve = algorithm.take(OBJECT_IDENTIFIER)?.content.to_vec();
        return Some(PublicKey::Ec { curve, point: bits.to_vec() });
    }
    Some(PublicKey::Other)
}

/// The bits of a certificate's public key, without what says of which kind it is: OCSP names issuers by their hash.
pub(crate) fn key_bits(der: &[u8]) -> Option<Vec<u8>> {
    let mut fields = Reader::new(der).take(SEQUENCE)?.inside().take(SEQUENCE)?.inside();
    fields.take_if(VERSION);
    fields.take(INTEGER)?;
    // Algorithm, issuer, validity, subject.
    for _ in 0..4 {
        fields.take(SEQUENCE)?;
    }
    let mut info = fields.take(SEQUENCE)?.inside();
    info.take(SEQUENCE)?;
    info.take(BIT_STRING)?.content.strip_prefix(&[0]).map(<[u8]>::to_vec)
}

fn without_zeros(number: &[u8]) -> &[u8] {
    &number[number.iter().take_while(|byte| **byte == 0).count()..]
}

/// The value of an extension, if it is there.
fn extension<'a>(extensions: Element<'a>, wanted: &[u8]) -> Option<Option<Element<'a>>> {
    let mut extensions = extensions.inside().take(SEQUENCE)?.inside();
    while !extensions.is_empty() {
        let mut extension = extensions.take(SEQUENCE)?.inside();
        let kind = extension.take(OBJECT_IDENTIFIER)?.content;
        extension.take_if(BOOLEAN);
        let value = extension.take(OCTET_STRING)?;
        if kind == wanted {
            return Some(Some(value));
        }
    }
    Some(None)
}

fn alternative_names(extensions: Element<'_>) -> Option<Vec<String>> {
    let mut names = Vec::new();
    if let Some(value) = extension(extensions, ALTERNATIVE_NAMES)? {
        let mut list = value.inside().take(SEQUENCE)?.inside();
        while !list.is_empty() {
            let name = list.next()?;
            if name.tag == DNS_NAME {
                names.extend(host_name(name.content));
            }
        }
    }
    Some(names)
}

fn has_must_staple(extensions: Element<'_>) -> Option<bool> {
    let Some(value) = extension(extensions, TLS_FEATURES)? else { return Some(false) };
    let mut features = value.inside().take(SEQUENCE)?.inside();
    while !features.is_empty() {
        if features.take(INTEGER)?.content == [STATUS_REQUEST] {
            return Some(true);
        }
    }
    Some(false)
}

/// The last common name, which is the most specific one.
fn common_name(subject: Element<'_>) -> Option<String> {
    let (mut parts, mut found) = (subject.inside(), None);
    while !parts.is_empty() {
        let mut part = parts.take(SET)?.inside().take(SEQUENCE)?.inside();
        let is_common_name = part.take(OBJECT_IDENTIFIER)?.content == COMMON_NAME;
        let value = part.next()?.content;
        if is_common_name {
            found = host_name(value);
        }
    }
    found
}

/// A name that a client could ask for.
fn host_name(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    let is_name = !text.is_empty()
        && text.len() <= 253
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._*".contains(&byte));
    is_name.then(|| text.to_ascii_lowercase())
}

/// Seconds since 1970 of a time that ends in Z, as RFC 5280, 4.1.2.5 wants it.
pub(crate) fn time(element: Element<'_>) -> Option<i64> {
    let digits = element.content.strip_suffix(b"Z")?;
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = |digits: &[u8]| digits.iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
    let (year, rest) = match (element.tag, digits.len()) {
        (UTC_TIME, 12) => {
            let (year, rest) = digits.split_at(2);
            let year = number(year);
            (if year < 50 { 2000 + year } else { 1900 + year }, rest)
        }
        (GENERALIZED_TIME, 14) => {
            let (year, rest) = digits.split_at(4);
            (number(year), rest)
        }
        _ => return None,
    };
    let field = |at: usize| number(&rest[at..at + 2]);
    let (month, day, hour, minute, second) = (field(0), field(2), field(4), field(6), field(8));
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    Some(((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second)
}

/// Days since 1970 of a date of the Gregorian calendar: years begin in March, so that the leap day is the last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
    era * 146_097 + year * 365 + year / 4 - year / 100 + (month * 153 + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_counted_as_others_count_them() {
        let at = |tag, text: &str| time(Element { tag, content: text.as_bytes(), whole: &[] });
        assert_eq!(at(UTC_TIME, "700101000000Z"), Some(0));
        assert_eq!(at(UTC_TIME, "491231235959Z"), Some(2_524_607_999));
        assert_eq!(at(UTC_TIME, "240229120000Z"), Some(1_709_208_000));
        assert_eq!(at(GENERALIZED_TIME, "20500101000000Z"), Some(2_524_608_000));
        assert_eq!(at(GENERALIZED_TIME, "99991231235959Z"), Some(253_402_300_799));
        for wrong in
            ["", "Z", "7001010000Z", "701301000000Z", "700101240000Z", "70010100000xZ", "700101000000+0100"]
        {
            assert_eq!(at(UTC_TIME, wrong), None, "{wrong}");
        }
    }
}
