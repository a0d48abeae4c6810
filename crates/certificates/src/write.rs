//! Requests and self-signed certificates, signed on a card.

use crate::{CertificateError, LabelSigner, Name};
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, KeyIdMethod,
    KeyUsagePurpose, SanType, SerialNumber,
};
use std::time::SystemTime;
use time::{Duration, OffsetDateTime};

/// Longest common name (RFC 5280, appendix A.1, ub-common-name).
const COMMON_NAME_CHARACTERS_MAX: usize = 64;
/// Bytes of a serial number: no two are alike (RFC 5280, section 4.1.2.2, allows 20).
const SERIAL_BYTES: usize = 16;
/// Bytes of a key identifier, the first of a SHA-256 (RFC 7093, section 2).
const KEY_ID_BYTES: usize = 20;
/// At most this many days a self-signed certificate is valid.
pub const DAYS_MAX: u32 = 36_500;

/// The contents that a certificate is to have.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Names that the certificate is for, at least one; the first is also the common name if it has at most 64
    /// characters.
    pub names: Vec<Name>,
    /// Organization of the subject.
    pub organization: Option<String>,
    /// Country of the subject, two letters.
    pub country: Option<String>,
    /// Whether clients may authenticate with the certificate too (extended key usage).
    pub for_clients: bool,
}

/// A request for a certificate (PKCS #10, RFC 2986) in PEM, signed by the key that it asks for.
///
/// # Errors
/// [`CertificateError`] for names that fit no certificate, or if the card does not sign.
pub fn request(signer: &LabelSigner, wanted: &Wanted) -> Result<String, CertificateError> {
    let request = params(signer, wanted)?.serialize_request(signer).map_err(refused)?;
    request.pem().map_err(refused)
}

/// A certificate that its own key signed, in PEM: for tests, and for clients that are configured to trust this
/// certificate.
///
/// # Errors
/// As [`request`]; also for zero days, or more than a hundred years.
pub fn self_signed(
    signer: &LabelSigner,
    wanted: &Wanted,
    now: SystemTime,
    days: u32,
) -> Result<String, CertificateError> {
    if days == 0 || days > DAYS_MAX {
        return Err(CertificateError::Wanted(format!("{days} days: 1 to {DAYS_MAX}")));
    }
    let mut params = params(signer, wanted)?;
    let mut serial = [0; SERIAL_BYTES];
    let engine = engine::Engine::new(engine::Options::default())
        .map_err(|error| CertificateError::Wanted(error.to_string()))?;
    engine.random(&mut serial);
    // Positive, and without a leading zero (RFC 5280, section 4.1.2.2).
    serial[0] = serial[0] & 0x7F | 0x40;
    params.serial_number = Some(SerialNumber::from_slice(&serial));
    params.is_ca = IsCa::ExplicitNoCa;
    // Clocks of clients may be behind.
    let now = OffsetDateTime::from(now);
    params.not_before = now - Duration::hours(1);
    params.not_after = now + Duration::days(i64::from(days));
    Ok(params.self_signed(signer).map_err(refused)?.pem())
}

fn params(signer: &LabelSigner, wanted: &Wanted) -> Result<CertificateParams, CertificateError> {
    let Some(first) = wanted.names.first() else {
        return Err(CertificateError::Wanted("no name: say what the certificate is for".to_owned()));
    };
    let mut params = CertificateParams::default();
    let mut subject = DistinguishedName::new();
    if let Some(country) = &wanted.country {
        if country.len() != 2 || !country.bytes().all(|byte| byte.is_ascii_uppercase()) {
            return Err(CertificateError::Wanted(format!("{country:?} is no country: two capital letters")));
        }
        subject.push(DnType::CountryName, country.as_str());
    }
    if let Some(organization) = &wanted.organization {
        subject.push(DnType::OrganizationName, organization.as_str());
    }
    let common = first.to_string();
    if common.chars().count() <= COMMON_NAME_CHARACTERS_MAX {
        subject.push(DnType::CommonName, common);
    }
    params.distinguished_name = subject;
    params.subject_alt_names = wanted
        .names
        .iter()
        .map(|name| match name {
            Name::Dns(name) => name.as_str().try_into().map(SanType::DnsName).map_err(refused),
            Name::Ip(address) => Ok(SanType::IpAddress(*address)),
        })
        .collect::<Result<_, _>>()?;
    // A key that signs (TLS 1.3, and 1.2 with ECDHE) needs the first usage. An RSA key to which TLS 1.2 enciphers
    // secrets also needs the second.
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    if matches!(signer.public(), keyfiles::PublicKey::Rsa { .. }) {
        params.key_usages.push(KeyUsagePurpose::KeyEncipherment);
    }
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    if wanted.for_clients {
        params.extended_key_usages.push(ExtendedKeyUsagePurpose::ClientAuth);
    }
    let bits = signer.public().to_bits().map_err(|error| CertificateError::Wanted(error.to_string()))?;
    let id = engine::sha256(&bits)[..KEY_ID_BYTES].to_vec();
    params.key_identifier_method = KeyIdMethod::PreSpecified(id);
    Ok(params)
}

/// The error for what the library refused: a name or text with characters that no certificate takes, or a card's error.
fn refused(error: rcgen::Error) -> CertificateError {
    match error {
        rcgen::Error::PemError(cause) => CertificateError::Wanted(cause),
        other => CertificateError::Wanted(other.to_string()),
    }
}
