//! Checks clients' certificates against authorities and revocation lists (RFC 5280, 6).

use crate::CertificateError;
use crate::chain::{certificates, names, parsed, pem};
use crate::plain_lists::{self, PlainList};
use pkcs1::der::Document;
use pki_types::{CertificateDer, TrustAnchor, UnixTime};
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use webpki::{
    CertRevocationList, EndEntityCert, ExpirationPolicy, KeyUsage, OwnedCertRevocationList,
    RevocationOptionsBuilder, UnknownStatusPolicy, VerifiedPath, anchor_from_trusted_cert,
};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;
use x509_parser::revocation_list::CertificateRevocationList;

/// At most this many authorities; at most this many revocation lists for them.
const AUTHORITIES_MAX: usize = 2048;
const LISTS_MAX: usize = 256;
/// At most this many certificates may stand between a client's and an authority's: the library looks no further.
pub const CLIENT_DEPTH_MAX: u8 = 6;

/// Authorities that may sign clients' certificates, and their revocation lists.
pub struct Authorities {
    anchors: Vec<TrustAnchor<'static>>,
    /// First and last second of each authority's validity, since 1970.
    validity: Vec<(i64, i64)>,
    lists: Vec<CertRevocationList<'static>>,
    plain: Vec<PlainList>,
    depth: u8,
    /// The authorities' certificates, in DER.
    certificates: Vec<Vec<u8>>,
}

/// Why a client's certificate is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refused {
    /// The certificate, or one above it, has expired.
    Expired,
    /// The certificate, or one above it, is not valid yet.
    NotYetValid,
    /// No authority has signed the certificate, directly or through the certificates that came with it.
    UnknownAuthority,
    /// The certificate is not for clients (extended key usage), one above it is no authority, or a name constraint
    /// forbids it. Also if a revocation list's signer may not sign lists.
    WrongUse,
    /// The certificate, or one above it, was revoked.
    Revoked,
    /// A newer revocation list is overdue.
    StaleList,
    /// There are revocation lists, but none of the certificate's signer.
    NoList,
    /// More certificates than allowed stand between the client's and the authority's.
    TooDeep,
    /// A signature is wrong, or of a kind that is not accepted.
    Signature,
    /// The certificate is malformed, or says something that is not understood.
    Malformed,
}

impl Refused {
    /// All reasons for which a client's certificate is refused.
    pub const ALL: [Self; 10] = [
        Self::Expired,
        Self::NotYetValid,
        Self::UnknownAuthority,
        Self::WrongUse,
        Self::Revoked,
        Self::StaleList,
        Self::NoList,
        Self::TooDeep,
        Self::Signature,
        Self::Malformed,
    ];

    /// The reason in a few words, for logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::NotYetValid => "not yet valid",
            Self::UnknownAuthority => "unknown authority",
            Self::WrongUse => "wrong use",
            Self::Revoked => "revoked",
            Self::StaleList => "stale list",
            Self::NoList => "no list",
            Self::TooDeep => "too deep",
            Self::Signature => "signature",
            Self::Malformed => "malformed",
        }
    }

    /// The TLS alert that the client gets (RFC 8446, 6.2).
    pub const fn alert(self) -> u8 {
        match self {
            Self::Malformed | Self::Signature | Self::TooDeep => 42,
            Self::WrongUse => 43,
            Self::Revoked => 44,
            Self::Expired | Self::NotYetValid => 45,
            // Nothing is wrong with the certificate itself.
            Self::StaleList | Self::NoList => 46,
            Self::UnknownAuthority => 48,
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// Properties of a revocation list, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListFacts {
    /// Name of the list's signer.
    pub issuer: String,
    /// When the next list is due, in seconds since 1970; 0 if the list does not say.
    pub next_update: i64,
    /// How many certificates the list revokes.
    pub revoked: usize,
}

impl Authorities {
    /// Reads authorities from a PEM file. Between a client's certificate and an authority's there may be `depth`
    /// others, up to [`CLIENT_DEPTH_MAX`].
    ///
    /// # Errors
    /// [`CertificateError::Chain`], with the number of the certificate.
    pub fn from_pem(text: &str, depth: u8) -> Result<Self, CertificateError> {
        let (mut anchors, mut validity) = (Vec::new(), Vec::new());
        let certificates = certificates(text, AUTHORITIES_MAX)?;
        for (at, der) in certificates.iter().enumerate() {
            let wrong = |cause: &dyn fmt::Display| {
                CertificateError::Chain(format!("certificate {}: {cause}", at + 1))
            };
            let read = parsed(der).map_err(|cause| wrong(&cause))?;
            if !read.is_ca() {
                return Err(wrong(&format!("{} is no authority (basic constraints)", read.subject())));
            }
            validity.push((read.validity().not_before.timestamp(), read.validity().not_after.timestamp()));
            let der = CertificateDer::from(der.as_slice());
            anchors.push(anchor_from_trusted_cert(&der).map_err(|error| wrong(&error))?.to_owned());
        }
        Ok(Self {
            anchors,
            validity,
            certificates,
            lists: Vec::new(),
            plain: Vec::new(),
            depth: depth.min(CLIENT_DEPTH_MAX),
        })
    }

    /// Adds the revocation lists of a file: any number in PEM, or one in DER. With at least one list, each client's
    /// certificate needs a list of its signer, and so does each certificate above it except the authority's.
    ///
    /// # Errors
    /// [`CertificateError::Chain`], with the number of the list.
    pub fn add_lists(&mut self, file: &[u8]) -> Result<Vec<ListFacts>, CertificateError> {
        let mut added = Vec::new();
        for (at, der) in lists(file)?.iter().enumerate() {
            let wrong = |cause: &dyn fmt::Display| {
                CertificateError::Chain(format!("revocation list {}: {cause}", at + 1))
            };
            if self.lists.len() + self.plain.len() == LISTS_MAX {
                return Err(wrong(&format!("more than {LISTS_MAX} lists")));
            }
            let (facts, plain) = match CertificateRevocationList::from_der(der) {
                Ok(([], list)) => (
                    ListFacts {
                        issuer: list.issuer().to_string(),
                        next_update: list.next_update().map_or(0, |time| time.timestamp()),
                        revoked: list.iter_revoked_certificates().count(),
                    },
                    PlainList::new(der, &list).map_err(|cause| wrong(&cause))?,
                ),
                Ok(_) => return Err(wrong(&"bytes after its end")),
                Err(error) => return Err(wrong(&format!("not an X.509 revocation list: {error}"))),
            };
            match plain {
                Some(list) => {
                    self.knows(&list).map_err(|cause| wrong(&format!("of {}: {cause}", facts.issuer)))?;
                    self.plain.push(list);
                }
                None => {
                    let list = OwnedCertRevocationList::from_der(der).map_err(|error| wrong(&error))?;
                    self.lists.push(list.into());
                }
            }
            added.push(facts);
        }
        Ok(added)
    }

    /// Checks that a list that names an authority as its issuer is signed by it. Lists of intermediate issuers are
    /// checked when a client shows their certificates.
    fn knows(&self, list: &PlainList) -> Result<(), &'static str> {
        let named = self.anchors.iter().zip(&self.certificates);
        let mut named = named.filter(|(anchor, _)| list.is_of(anchor.subject.as_ref())).peekable();
        if named.peek().is_none() {
            return Ok(());
        }
        let mut why = "its signature is not the authority's";
        for (_, der) in named {
            match list.verify(der) {
                Ok(()) => return Ok(()),
                Err(webpki::Error::IssuerNotCrlSigner) => {
                    why = "the authority may not sign lists (key usage)"
                }
                Err(_) => {}
            }
        }
        Err(why)
    }

    /// The authorities' certificates in PEM, without other contents of the file.
    pub fn to_pem(&self) -> String {
        pem(&self.certificates)
    }

    /// How many authorities there are.
    pub fn count(&self) -> usize {
        self.anchors.len()
    }

    /// Checks whether a client with these certificates in DER, its own first, is let in at `now`. Possession of the
    /// private key is not checked here.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn check(&self, chain: &[Vec<u8>], now: SystemTime) -> Result<(), Refused> {
        let now = now.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let (first, others) = chain.split_first().ok_or(Refused::Malformed)?;
        let first = CertificateDer::from(first.as_slice());
        let others: Vec<CertificateDer<'_>> =
            others.iter().map(|der| CertificateDer::from(der.as_slice())).collect();
        let own = EndEntityCert::try_from(&first).map_err(|error| refused(&error))?;
        let lists: Vec<&CertRevocationList<'_>> = self.lists.iter().collect();
        let verify = |unknown: UnknownStatusPolicy| {
            let revocation = RevocationOptionsBuilder::new(&lists).map(|builder| {
                builder.with_status_policy(unknown).with_expiration_policy(ExpirationPolicy::Enforce).build()
            });
            // If the library has no lists, or accepts certificates that its lists do not cover, a plain list must cover
            // them.
            let is_needed = lists.is_empty() || unknown == UnknownStatusPolicy::Allow;
            let is_within = |path: &VerifiedPath<'_>| {
                let at = self.check_path(path, now.as_secs() as i64)?;
                self.check_plain(path, at, now.as_secs() as i64, is_needed)
            };
            let verified = own.verify_for_usage(
                webpki::ALL_VERIFICATION_ALGS,
                &self.anchors,
                &others,
                UnixTime::since_unix_epoch(now),
                KeyUsage::client_auth(),
                revocation.ok(),
                Some(&is_within),
            );
            verified.map(drop)
        };
        match verify(UnknownStatusPolicy::Deny) {
            Err(webpki::Error::UnknownRevocationStatus) if !lists.is_empty() && !self.plain.is_empty() => {
                verify(UnknownStatusPolicy::Allow)
            }
            verdict => verdict,
        }
        .map_err(|error| refused(&error))
    }

    /// Checks each certificate of a path against the plain lists; `at` is the place of the path's authority. If
    /// `is_needed`, a plain list of its signer must cover each certificate. Or the library has a list of that signer,
    /// which then counts for all the signer's certificates: the library does not tell which ones it checked.
    fn check_plain(
        &self,
        path: &VerifiedPath<'_>,
        at: usize,
        now: i64,
        is_needed: bool,
    ) -> Result<(), webpki::Error> {
        if self.plain.is_empty() {
            return Ok(());
        }
        let mut signed: &webpki::Cert<'_> = path.end_entity();
        let check = |signed: &webpki::Cert<'_>, issuer: &[u8]| {
            let has_other = self
                .lists
                .iter()
                .any(|list| list.issuer() == signed.issuer() && list.issuing_distribution_point().is_none());
            let of = (signed.serial(), signed.issuer(), issuer);
            plain_lists::check(&self.plain, of, now, is_needed && !has_other)
        };
        for issuer in path.intermediate_certificates() {
            check(signed, &issuer.der())?;
            signed = issuer;
        }
        let authority = self.certificates.get(at).ok_or(webpki::Error::UnknownIssuer)?;
        check(signed, authority)
    }

    /// Checks what the library does not: the length of a path, and that its authority is valid at `now`. Returns the
    /// authority's place.
    fn check_path(&self, path: &VerifiedPath<'_>, now: i64) -> Result<usize, webpki::Error> {
        if path.intermediate_certificates().count() > usize::from(self.depth) {
            return Err(webpki::Error::MaximumPathDepthExceeded);
        }
        let at = self.anchors.iter().position(|anchor| std::ptr::eq(anchor, path.anchor()));
        let time = |at: i64| UnixTime::since_unix_epoch(Duration::from_secs(at.max(0) as u64));
        let (at, (from, to)) =
            at.and_then(|at| Some((at, *self.validity.get(at)?))).ok_or(webpki::Error::UnknownIssuer)?;
        if now < from {
            return Err(webpki::Error::CertNotValidYet { time: time(now), not_before: time(from) });
        }
        if now > to {
            return Err(webpki::Error::CertExpired { time: time(now), not_after: time(to) });
        }
        Ok(at)
    }
}

impl fmt::Debug for Authorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorities")
            .field("authorities", &self.anchors.len())
            .field("lists", &(self.lists.len() + self.plain.len()))
            .field("depth", &self.depth)
            .finish_non_exhaustive()
    }
}

fn refused(error: &webpki::Error) -> Refused {
    use webpki::Error as E;
    match error {
        E::CertExpired { .. } => Refused::Expired,
        E::CertNotValidYet { .. } => Refused::NotYetValid,
        E::UnknownIssuer => Refused::UnknownAuthority,
        E::CertRevoked => Refused::Revoked,
        E::CrlExpired { .. } => Refused::StaleList,
        E::UnknownRevocationStatus => Refused::NoList,
        E::MaximumPathDepthExceeded | E::PathLenConstraintViolated => Refused::TooDeep,
        E::RequiredEkuNotFoundContext(_)
        | E::EmptyEkuExtension
        | E::CaUsedAsEndEntity
        | E::EndEntityUsedAsCa
        | E::NameConstraintViolation
        | E::IssuerNotCrlSigner => Refused::WrongUse,
        E::InvalidSignatureForPublicKey
        | E::InvalidCrlSignatureForPublicKey
        | E::UnsupportedSignatureAlgorithmContext(_)
        | E::UnsupportedSignatureAlgorithmForPublicKeyContext(_)
        | E::UnsupportedCrlSignatureAlgorithmContext(_)
        | E::UnsupportedCrlSignatureAlgorithmForPublicKeyContext(_)
        | E::SignatureAlgorithmMismatch => Refused::Signature,
        _ => Refused::Malformed,
    }
}

/// The revocation lists of a file, in DER.
fn lists(file: &[u8]) -> Result<Vec<Vec<u8>>, CertificateError> {
    const BEGIN: &str = "-----BEGIN X509 CRL-----";
    const END: &str = "-----END X509 CRL-----";
    // DER of a list begins with X'30', and no PEM text of lists does.
    if file.first() == Some(&0x30) {
        return Ok(vec![file.to_vec()]);
    }
    let wrong = |cause: String| CertificateError::Chain(cause);
    let text = std::str::from_utf8(file).map_err(|_| wrong("neither PEM nor DER".to_owned()))?;
    let (mut found, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.find(BEGIN) {
        rest = &rest[at..];
        let number = found.len() + 1;
        let end = rest.find(END).ok_or_else(|| wrong(format!("revocation list {number} has no end")))?;
        let (_, document) = Document::from_pem(&rest[..end + END.len()])
            .map_err(|error| wrong(format!("revocation list {number} is no PEM: {error}")))?;
        found.push(document.as_bytes().to_vec());
        if found.len() > LISTS_MAX {
            return Err(wrong(format!("more than {LISTS_MAX} lists")));
        }
        rest = &rest[end..];
    }
    if found.is_empty() {
        return Err(wrong("no revocation list in it (a line -----BEGIN X509 CRL-----)".to_owned()));
    }
    Ok(found)
}

/// A client, as its certificate names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// Subject, as RFC 4514 writes it, roughly.
    pub subject: String,
    /// The most specific common name.
    pub common_name: Option<String>,
    /// Alternative names: DNS names and addresses as they are, others as `email:...` and `uri:...`.
    pub names: Vec<String>,
    /// Serial number, in hexadecimal.
    pub serial: String,
    /// The certificate, in DER.
    pub der: Vec<u8>,
}

impl Client {
    /// The client that a certificate in DER names; `None` if the certificate is malformed.
    pub fn from_der(der: Vec<u8>) -> Option<Self> {
        let read: X509Certificate<'_> = parsed(&der).ok()?;
        let subject = read.subject().to_string();
        let common_name = read.subject().iter_common_name().filter_map(|name| name.as_str().ok()).last();
        let common_name = common_name.map(str::to_owned);
        let mut names = names(&read);
        if let Ok(Some(others)) = read.subject_alternative_name() {
            names.extend(others.value.general_names.iter().filter_map(|name| match name {
                GeneralName::RFC822Name(name) => Some(format!("email:{name}")),
                GeneralName::URI(name) => Some(format!("uri:{name}")),
                _ => None,
            }));
        }
        let serial = read.raw_serial().iter().map(|byte| format!("{byte:02x}")).collect();
        Some(Self { subject, common_name, names, serial, der })
    }
}
