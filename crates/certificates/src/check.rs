//! Finds what clients would refuse in a chain, now or soon.

use crate::chain::{names, parsed};
use crate::{CertificateError, Chain, Name};
use facility::Facility;
use pki_types::{CertificateDer, ServerName, TrustAnchor, UnixTime};
use serde::Serialize;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert};
use wire::Label;
use x509_parser::public_key::PublicKey as X509Key;

/// Shortest RSA modulus that clients take, in bits (CA/Browser Forum, Baseline Requirements, section 6.1.5).
const RSA_BITS_MIN: usize = 2048;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Clients refuse the chain.
    Error,
    /// Clients accept the chain now, but soon will not.
    Warning,
}

/// A problem of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad the finding is.
    pub severity: Severity,
    /// Place of the certificate in the chain, from 1.
    pub certificate: usize,
    /// The problem, for people.
    pub what: String,
}

/// The conditions that a chain is checked against.
#[derive(Clone, Debug)]
pub struct Checked<'a> {
    /// The time at which the chain is judged.
    pub now: SystemTime,
    /// A certificate that expires within this time is a warning.
    pub soon: Duration,
    /// Names that the first certificate must be for.
    pub names: &'a [Name],
    /// Roots that clients trust, in DER; without any, the last certificate of the chain is taken for a root.
    pub roots: &'a [Vec<u8>],
}

impl Chain {
    /// The problems of the chain; empty if there are none.
    pub fn check(&self, against: &Checked<'_>) -> Vec<Finding> {
        let mut findings = Findings::default();
        let now = against.now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() as i64;
        for (at, der) in self.certificates.iter().enumerate() {
            let Ok(read) = parsed(der) else { continue };
            let (from, to) = (read.validity().not_before.timestamp(), read.validity().not_after.timestamp());
            let until = read.validity().not_after;
            if now < from {
                findings.error(at, format!("not valid before {}", read.validity().not_before));
            } else if now > to {
                findings.error(at, format!("expired on {until}"));
            } else if to - now < against.soon.as_secs() as i64 {
                findings.warning(at, format!("expires in {} days, on {until}", (to - now) / 86_400));
            }
            if let Ok(X509Key::RSA(rsa)) = read.public_key().parsed()
                && rsa.key_size() < RSA_BITS_MIN
            {
                findings.error(
                    at,
                    format!("an RSA key of {} bits; clients ask for {RSA_BITS_MIN}", rsa.key_size()),
                );
            }
            if at > 0 && !read.is_ca() {
                findings.error(at, "it is no authority, and issues the one before it".to_owned());
            }
            let usage = read.key_usage().ok().flatten().map(|usage| usage.value);
            if usage
                .is_some_and(|usage| if at > 0 { !usage.key_cert_sign() } else { !usage.digital_signature() })
            {
                let what = if at > 0 { "sign certificates" } else { "sign, as TLS needs it" };
                findings.error(at, format!("its key may not {what} (key usage)"));
            }
            if let Some(issuer) = self.certificates.get(at + 1).and_then(|der| parsed(der).ok())
                && read.issuer().as_raw() != issuer.subject().as_raw()
            {
                findings.error(
                    at,
                    format!("issued by {}, but the next certificate is {}", read.issuer(), issuer.subject()),
                );
            }
        }
        self.check_names(against, &mut findings);
        self.check_path(against, &mut findings);
        findings.0
    }

    /// Compares the first certificate's key with the key under a label; a finding if they differ.
    ///
    /// # Errors
    /// [`CertificateError`] if the public key under the label cannot be read.
    pub fn check_key(
        &self,
        facility: &Facility,
        domain: u16,
        label: &Label,
    ) -> Result<Option<Finding>, CertificateError> {
        let public = crate::signer::public_key(facility, domain, label)?;
        let der = public
            .to_der()
            .map_err(|error| CertificateError::Key { label: label.clone(), cause: error.to_string() })?;
        let own = self.certificates.first().and_then(|first| parsed(first).ok());
        if own.is_some_and(|own| own.public_key().raw == der) {
            return Ok(None);
        }
        let what = format!("its key is not the one under {label} ({})", public.named());
        Ok(Some(Finding { severity: Severity::Error, certificate: 1, what }))
    }

    fn check_names(&self, against: &Checked<'_>, findings: &mut Findings) {
        let Some(first) = self.certificates.first() else { return };
        let Ok(read) = parsed(first) else { return };
        if names(&read).is_empty() {
            findings.error(
                0,
                "it names no DNS name and no address: clients do not look at the subject".to_owned(),
            );
        }
        let der = CertificateDer::from(first.as_slice());
        let Ok(own) = EndEntityCert::try_from(&der) else { return };
        for name in against.names {
            // A name with * must stand in the certificate as it is.
            let asked = name.to_string();
            let is_covered = match asked.strip_prefix("*.") {
                Some(_) => names(&read).iter().any(|name| name.eq_ignore_ascii_case(&asked)),
                None => ServerName::try_from(asked.as_str())
                    .is_ok_and(|name| own.verify_is_valid_for_subject_name(&name).is_ok()),
            };
            if !is_covered {
                findings.error(0, format!("not for {asked}, but for {}", names(&read).join(", ")));
            }
        }
    }

    /// Checks signatures, purposes and constraints from the first certificate to a root.
    fn check_path(&self, against: &Checked<'_>, findings: &mut Findings) {
        let [first, others @ ..] = self.certificates.as_slice() else { return };
        let is_alone = others.is_empty() && against.roots.is_empty();
        if is_alone && parsed(first).is_ok_and(|own| own.issuer().as_raw() != own.subject().as_raw()) {
            let what = "its issuer is not in the file: signatures were not checked; --roots names a file that has it";
            return findings.warning(0, what.to_owned());
        }
        let der = CertificateDer::from(first.as_slice());
        let others: Vec<CertificateDer<'_>> =
            others.iter().map(|der| CertificateDer::from(der.as_slice())).collect();
        let roots: Vec<CertificateDer<'_>> = match against.roots {
            [] => vec![others.last().unwrap_or(&der).clone()],
            roots => roots.iter().map(|der| CertificateDer::from(der.as_slice())).collect(),
        };
        let anchors: Vec<TrustAnchor<'_>> =
            roots.iter().filter_map(|root| anchor_from_trusted_cert(root).ok()).collect();
        let own = match EndEntityCert::try_from(&der) {
            Ok(own) => own,
            Err(error) => return findings.error(0, format!("not as TLS needs it: {error}")),
        };
        let now = against.now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let verified = own.verify_for_usage(
            webpki::ALL_VERIFICATION_ALGS,
            &anchors,
            &others,
            UnixTime::since_unix_epoch(now),
            KeyUsage::server_auth(),
            None,
            None,
        );
        match verified {
            Ok(_) => {}
            // Already reported for the certificate in question.
            Err(webpki::Error::CertExpired { .. } | webpki::Error::CertNotValidYet { .. }) => {}
            Err(webpki::Error::UnknownIssuer) if !against.roots.is_empty() => findings.error(
                self.count() - 1,
                "no root that is trusted issued it: a certificate may be missing from the chain".to_owned(),
            ),
            Err(error) => findings.error(0, format!("clients do not accept the chain: {error}")),
        }
    }
}

#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn error(&mut self, at: usize, what: String) {
        self.0.push(Finding { severity: Severity::Error, certificate: at + 1, what });
    }

    fn warning(&mut self, at: usize, what: String) {
        self.0.push(Finding { severity: Severity::Warning, certificate: at + 1, what });
    }
}
