//! Revocation lists without extensions: those of version 1, and those of version 2 in which only entries have
//! extensions (RFC 5280, 5.1). `openssl ca` writes such a list if its settings name neither a number nor extensions.
//! The library that builds paths reads none of them.

use crate::chain::parsed;
use pki_types::CertificateDer;
use std::collections::HashSet;
use webpki::{EndEntityCert, Error};
use x509_parser::asn1_rs::{Any, FromDer};
use x509_parser::revocation_list::CertificateRevocationList;

/// A revocation list without extensions, and what is needed to verify its signature.
pub(crate) struct PlainList {
    /// The issuer's name (DER without tag and length).
    issuer: Vec<u8>,
    /// When the list was made, and when the next one is due, in seconds since 1970.
    this_update: i64,
    next_update: i64,
    /// Serial numbers of the revoked certificates, without leading zeros.
    revoked: HashSet<Vec<u8>>,
    signed: Vec<u8>,
    /// Content of the signature algorithm's identifier.
    algorithm: Vec<u8>,
    signature: Vec<u8>,
}

impl PlainList {
    /// The list in DER, of which `read` is the parsed form; `None` if the list itself has extensions.
    ///
    /// # Errors
    /// A text that says what is wrong with the list.
    pub(crate) fn new(
        der: &[u8],
        read: &CertificateRevocationList<'_>,
    ) -> Result<Option<Self>, &'static str> {
        match read.version() {
            Some(version) if version.0 != 1 => return Err("it is of an unknown version"),
            None if !read.extensions().is_empty() => return Err("version 1 has no extensions"),
            _ if !read.extensions().is_empty() => return Ok(None),
            _ => {}
        }
        let next_update = read.next_update().ok_or("it does not say when the next one is due")?.timestamp();
        if read.tbs_cert_list.signature != read.signature_algorithm {
            return Err("it names two algorithms of its signature");
        }
        let mut revoked = HashSet::new();
        for entry in read.iter_revoked_certificates() {
            // A critical extension could say that the entry is another authority's.
            if entry.iter_extensions().any(|extension| extension.critical) {
                return Err("an entry has an extension that must be understood and is not");
            }
            revoked.insert(without_zeros(entry.raw_serial()).to_vec());
        }
        let parts = parts(der).ok_or("it does not hold together")?;
        let issuer = content(read.issuer().as_raw()).ok_or("it does not hold together")?;
        if read.signature_value.unused_bits != 0 {
            return Err("its signature does not end with a byte");
        }
        Ok(Some(Self {
            issuer: issuer.to_vec(),
            this_update: read.last_update().timestamp(),
            next_update,
            revoked,
            signed: parts.0.to_vec(),
            algorithm: parts.1.to_vec(),
            signature: read.signature_value.data.to_vec(),
        }))
    }

    /// Whether this list names `name` as its issuer (DER without tag and length).
    pub(crate) fn is_of(&self, name: &[u8]) -> bool {
        self.issuer == name
    }

    /// Verifies the list's signature with the key of a certificate in DER, which must be allowed to sign lists.
    ///
    /// # Errors
    /// [`Error`] if the certificate is malformed or may not sign lists, or if the signature is wrong.
    pub(crate) fn verify(&self, issuer: &[u8]) -> Result<(), Error> {
        let usage = parsed(issuer).map_err(|_| Error::BadDer)?;
        if usage.key_usage().map_err(|_| Error::BadDer)?.is_some_and(|usage| !usage.value.crl_sign()) {
            return Err(Error::IssuerNotCrlSigner);
        }
        let der = CertificateDer::from(issuer);
        let issuer = EndEntityCert::try_from(&der)?;
        // ECDSA has one algorithm for each curve, all with the same identifier.
        let algorithms = webpki::ALL_VERIFICATION_ALGS;
        let fit = algorithms.iter().filter(|one| one.signature_alg_id().as_ref() == self.algorithm);
        let is_right =
            fit.into_iter().any(|one| issuer.verify_signature(*one, &self.signed, &self.signature).is_ok());
        if is_right { Ok(()) } else { Err(Error::InvalidCrlSignatureForPublicKey) }
    }

    /// Checks that the list does not revoke the certificate with this serial number. `issuer` is its signer's
    /// certificate in DER; `now` is in seconds since 1970.
    ///
    /// # Errors
    /// [`Error::CertRevoked`]; or why the list does not count: its signature, or its time.
    fn check(&self, serial: &[u8], issuer: &[u8], now: i64) -> Result<(), Error> {
        self.verify(issuer)?;
        if now < self.this_update {
            return Err(Error::UnknownRevocationStatus);
        }
        if self.revoked.contains(without_zeros(serial)) {
            return Err(Error::CertRevoked);
        }
        if now > self.next_update {
            let time = |at: i64| {
                pki_types::UnixTime::since_unix_epoch(std::time::Duration::from_secs(at.max(0) as u64))
            };
            return Err(Error::CrlExpired { time: time(now), next_update: time(self.next_update) });
        }
        Ok(())
    }
}

/// Checks a certificate against the lists of its signer. The certificate is given by its serial number, the content of
/// its signer's name, and the signer's certificate in DER. If `is_needed`, one of the lists must let it pass; otherwise
/// only a revocation is an error.
///
/// # Errors
/// [`Error::CertRevoked`]; if a list is needed, why no list of the signer lets the certificate pass.
pub(crate) fn check(
    lists: &[PlainList],
    (serial, name, issuer): (&[u8], &[u8], &[u8]),
    now: i64,
    is_needed: bool,
) -> Result<(), Error> {
    let mut found = Err(Error::UnknownRevocationStatus);
    for list in lists.iter().filter(|list| list.is_of(name)) {
        match list.check(serial, issuer, now) {
            Err(Error::CertRevoked) => return Err(Error::CertRevoked),
            said if found.is_err() => found = said,
            _ => {}
        }
    }
    if is_needed { found } else { Ok(()) }
}

/// The signed part of a list in DER, and the content of its signature algorithm's identifier.
fn parts(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let inside = content(der)?;
    let (rest, _) = Any::from_der(inside).ok()?;
    let algorithm = Any::from_der(rest).ok()?.1.data;
    Some((inside.get(..inside.len() - rest.len())?, algorithm))
}

fn content(der: &[u8]) -> Option<&[u8]> {
    Any::from_der(der).ok().map(|(_, element)| element.data)
}

fn without_zeros(number: &[u8]) -> &[u8] {
    &number[number.iter().take_while(|byte| **byte == 0).count()..]
}
