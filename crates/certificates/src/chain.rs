//! The certificates of a PEM file, the server's own first, and what they say.

use crate::CertificateError;
use pkcs1::LineEnding;
use pkcs1::der::Document;
use serde::Serialize;
use std::net::IpAddr;
use time::OffsetDateTime;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;
use x509_parser::public_key::PublicKey as X509Key;

/// At most this many certificates in a chain; at most this many roots in a file, of which Debian's has 150.
const CERTIFICATES_MAX: usize = 32;
const ROOTS_MAX: usize = 2048;

/// A chain of certificates: the server's, then each issuer's.
pub struct Chain {
    pub(crate) certificates: Vec<Vec<u8>>,
}

/// The fields of a certificate that a listing shows, for people and programs.
#[derive(Clone, Debug, Serialize)]
pub struct Described {
    /// Subject, as RFC 4514 writes it, roughly.
    pub subject: String,
    /// Issuer, written like the subject.
    pub issuer: String,
    /// DNS names and IP addresses that the certificate is for.
    pub names: Vec<String>,
    /// First second at which the certificate is valid, as RFC 3339 writes it.
    pub not_before: String,
    /// Last second at which the certificate is valid, as RFC 3339 writes it.
    pub not_after: String,
    /// Last second at which the certificate is valid, in seconds since 1970.
    pub not_after_unix: i64,
    /// Kind and size of the certificate's RSA or elliptic-curve key; for other keys, the number of their algorithm.
    pub key: String,
    /// Algorithm of the signature on the certificate, by name or by number.
    pub signature: String,
    /// Whether the certificate may sign other certificates (basic constraints).
    pub is_authority: bool,
    /// Serial number, in hexadecimal.
    pub serial: String,
    /// SHA-256 of the certificate in DER, in hexadecimal.
    pub sha256: String,
}

impl Chain {
    /// The certificates of a PEM file, in its order; other blocks are skipped.
    ///
    /// # Errors
    /// [`CertificateError::Chain`] if the file has no certificate, too many, or a malformed one.
    pub fn from_pem(text: &str) -> Result<Self, CertificateError> {
        certificates(text, CERTIFICATES_MAX).map(|certificates| Self { certificates })
    }

    /// The certificates of a key record ([`wire::chain`]).
    ///
    /// # Errors
    /// As [`Self::from_pem`].
    pub fn from_der(bytes: &[u8]) -> Result<Self, CertificateError> {
        let wrong = |cause: String| CertificateError::Chain(cause);
        let certificates = wire::chain::certificates(bytes).map_err(|error| wrong(error.to_string()))?;
        for (at, der) in certificates.iter().enumerate() {
            parsed(der).map_err(|cause| wrong(format!("certificate {}: {cause}", at + 1)))?;
        }
        Ok(Self { certificates: certificates.into_iter().map(<[u8]>::to_vec).collect() })
    }

    /// The certificates as a key record holds them: in DER, one behind the other.
    ///
    /// # Errors
    /// [`CertificateError::Chain`] if they are too many or too long for a record.
    pub fn to_der(&self) -> Result<Vec<u8>, CertificateError> {
        let bytes = self.certificates.concat();
        wire::chain::certificates(&bytes).map_err(|error| CertificateError::Chain(error.to_string()))?;
        Ok(bytes)
    }

    /// The certificates as a PEM file has them.
    pub fn to_pem(&self) -> String {
        pem(&self.certificates)
    }

    /// How many certificates the chain has; at least one.
    pub fn count(&self) -> usize {
        self.certificates.len()
    }

    /// A description of each certificate, in the chain's order.
    pub fn described(&self) -> Vec<Described> {
        // Each certificate was parsed when the chain was made.
        self.certificates
            .iter()
            .filter_map(|der| parsed(der).ok().map(|read| described(&read, der)))
            .collect()
    }
}

/// Certificates in DER as the text of a PEM file.
pub(crate) fn pem(certificates: &[Vec<u8>]) -> String {
    let one = |der: &Vec<u8>| {
        // Bytes that were read as a certificate are not too long for PEM.
        Document::try_from(der.as_slice())
            .and_then(|document| document.to_pem("CERTIFICATE", LineEnding::LF))
            .unwrap_or_default()
    };
    certificates.iter().map(one).collect()
}

/// The certificates of a PEM file of roots, in DER.
///
/// # Errors
/// As [`Chain::from_pem`].
pub fn roots(text: &str) -> Result<Vec<Vec<u8>>, CertificateError> {
    certificates(text, ROOTS_MAX)
}

pub(crate) fn certificates(text: &str, most: usize) -> Result<Vec<Vec<u8>>, CertificateError> {
    const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
    const END: &str = "-----END CERTIFICATE-----";
    let wrong = |cause: String| CertificateError::Chain(cause);
    let (mut certificates, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.find(BEGIN) {
        rest = &rest[at..];
        let number = certificates.len() + 1;
        let end = rest.find(END).ok_or_else(|| wrong(format!("certificate {number} has no end")))?;
        let (_, document) = Document::from_pem(&rest[..end + END.len()])
            .map_err(|error| wrong(format!("certificate {number} is no PEM: {error}")))?;
        let der = document.as_bytes().to_vec();
        parsed(&der).map_err(|cause| wrong(format!("certificate {number}: {cause}")))?;
        certificates.push(der);
        if certificates.len() > most {
            return Err(wrong(format!("more than {most} certificates")));
        }
        rest = &rest[end..];
    }
    if certificates.is_empty() {
        return Err(wrong("no certificate in it (a line -----BEGIN CERTIFICATE-----)".to_owned()));
    }
    Ok(certificates)
}

/// Parses a certificate in DER that has nothing behind it; the error is a text for people.
pub(crate) fn parsed(der: &[u8]) -> Result<X509Certificate<'_>, String> {
    match X509Certificate::from_der(der) {
        Ok(([], read)) => Ok(read),
        Ok(_) => Err("bytes after its end".to_owned()),
        Err(error) => Err(format!("not an X.509 certificate: {error}")),
    }
}

fn described(read: &X509Certificate<'_>, der: &[u8]) -> Described {
    let time = |at: i64| {
        let at = OffsetDateTime::from_unix_timestamp(at).unwrap_or(OffsetDateTime::UNIX_EPOCH);
        at.format(&time::format_description::well_known::Rfc3339).unwrap_or_default()
    };
    let hexadecimal = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let (validity, key) = (read.validity(), read.public_key());
    let key = match key.parsed() {
        Ok(X509Key::RSA(rsa)) => format!("RSA of {} bits", rsa.key_size()),
        Ok(X509Key::EC(point)) => format!("elliptic curve of {} bits", point.key_size()),
        _ => key.algorithm.algorithm.to_id_string(),
    };
    Described {
        subject: read.subject().to_string(),
        issuer: read.issuer().to_string(),
        names: names(read),
        not_before: time(validity.not_before.timestamp()),
        not_after: time(validity.not_after.timestamp()),
        not_after_unix: validity.not_after.timestamp(),
        key,
        signature: signature_name(&read.signature_algorithm.algorithm.to_id_string()),
        is_authority: read.is_ca(),
        serial: hexadecimal(read.raw_serial()),
        sha256: hexadecimal(&engine::sha256(der)),
    }
}

/// DNS names and IP addresses among the certificate's alternative names.
pub(crate) fn names(read: &X509Certificate<'_>) -> Vec<String> {
    let Ok(Some(names)) = read.subject_alternative_name() else { return Vec::new() };
    let address = |bytes: &[u8]| match bytes.len() {
        4 => <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from),
        16 => <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from),
        _ => None,
    };
    let named = names.value.general_names.iter().filter_map(|name| match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => address(bytes).map(|address| address.to_string()),
        _ => None,
    });
    named.collect()
}

/// Name of the signature algorithm with this number (RFC 8017, RFC 5758, RFC 8410); an unknown number is returned as it
/// is.
fn signature_name(oid: &str) -> String {
    match oid {
        "1.2.840.113549.1.1.5" => "RSA with SHA-1",
        "1.2.840.113549.1.1.10" => "RSA PSS",
        "1.2.840.113549.1.1.11" => "RSA with SHA-256",
        "1.2.840.113549.1.1.12" => "RSA with SHA-384",
        "1.2.840.113549.1.1.13" => "RSA with SHA-512",
        "1.2.840.10045.4.3.2" => "ECDSA with SHA-256",
        "1.2.840.10045.4.3.3" => "ECDSA with SHA-384",
        "1.2.840.10045.4.3.4" => "ECDSA with SHA-512",
        "1.3.101.112" => "Ed25519",
        other => other,
    }
    .to_owned()
}
