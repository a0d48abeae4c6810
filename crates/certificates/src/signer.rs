//! The key under a label as a signer of certificates: the card signs, and the private numbers are never in this
//! process.

use crate::CertificateError;
use engine::{HashAlgorithm, sha256};
use facility::Facility;
use facility::private_keys::{self, Padding, SignatureRequest};
use keyfiles::{PublicKey, ecdsa_sig_value};
use rcgen::{PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_RSA_SHA256, SignatureAlgorithm};
use token::pka::ecc::EccCurve;
use wire::Label;

/// Signs certificates with the key under a label: RSA, P-256 or P-384.
pub struct LabelSigner {
    facility: Facility,
    domain: u16,
    label: Label,
    public: PublicKey,
    bits: Vec<u8>,
    scheme: Scheme,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheme {
    RsaSha256,
    P256Sha256,
    P384Sha384,
}

impl LabelSigner {
    /// A signer with the key under a label, whose public half a card gives.
    ///
    /// # Errors
    /// [`CertificateError::Key`] for a key that TLS does not take; else as [`public_key`].
    pub fn new(facility: Facility, domain: u16, label: Label) -> Result<Self, CertificateError> {
        let public = public_key(&facility, domain, &label)?;
        let unfit = |cause: String| CertificateError::Key { label: label.clone(), cause };
        let scheme = match &public {
            PublicKey::Rsa { .. } => Scheme::RsaSha256,
            PublicKey::Curve(EccCurve::P256, _) => Scheme::P256Sha256,
            PublicKey::Curve(EccCurve::P384, _) => Scheme::P384Sha384,
            PublicKey::Curve(curve, _) => {
                let cause = "a certificate of TLS here is of RSA, P-256 or P-384";
                return Err(unfit(format!("a key of {}: {cause}", curve.name())));
            }
        };
        let bits = public.to_bits().map_err(|error| unfit(error.to_string()))?;
        Ok(Self { facility, domain, label, public, bits, scheme })
    }

    /// The public half of the key.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    fn signature(&self, message: &[u8]) -> Result<Vec<u8>, CertificateError> {
        let hash = |algorithm| {
            engine::Engine::new(engine::Options::default()).map(|engine| engine.hash(algorithm, message))
        };
        let (padding, algorithm, digest) = match self.scheme {
            Scheme::RsaSha256 => (Padding::RsaPkcs1, HashAlgorithm::Sha256, sha256(message).to_vec()),
            Scheme::P256Sha256 => (Padding::Ecdsa, HashAlgorithm::Sha256, sha256(message).to_vec()),
            Scheme::P384Sha384 => {
                let digest = hash(HashAlgorithm::Sha384).ok().and_then(Result::ok);
                let digest = digest.ok_or_else(|| self.unfit("SHA-384 cannot be computed"))?;
                let bytes = HashAlgorithm::Sha384.digest_bytes();
                (Padding::Ecdsa, HashAlgorithm::Sha384, digest[..bytes].to_vec())
            }
        };
        let request = SignatureRequest::new(&self.label.to_field(), padding, algorithm, &digest);
        let request = request.ok_or_else(|| self.unfit("a digest that cards do not sign"))?;
        let answered = self.facility.ask(self.domain, &request.ask())?;
        if !answered.codes().has_output() {
            let (label, codes) = (self.label.clone(), answered.codes());
            return Err(CertificateError::Verb { verb: "digital-signature-generate", label, codes });
        }
        let signature = answered.got().signature_field;
        if self.scheme == Scheme::RsaSha256 {
            return Ok(signature.to_vec());
        }
        ecdsa_sig_value(signature).ok_or_else(|| self.unfit("a signature of an impossible length"))
    }

    fn unfit(&self, cause: &str) -> CertificateError {
        CertificateError::Key { label: self.label.clone(), cause: cause.to_owned() }
    }
}

impl rcgen::PublicKeyData for LabelSigner {
    fn der_bytes(&self) -> &[u8] {
        &self.bits
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        match self.scheme {
            Scheme::RsaSha256 => &PKCS_RSA_SHA256,
            Scheme::P256Sha256 => &PKCS_ECDSA_P256_SHA256,
            Scheme::P384Sha384 => &PKCS_ECDSA_P384_SHA384,
        }
    }
}

impl rcgen::SigningKey for LabelSigner {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        self.signature(message).map_err(|error| rcgen::Error::PemError(error.to_string()))
    }
}

/// The public key under a label, as a card gives it.
///
/// # Errors
/// [`CertificateError`] if no card answers, the card refuses, or its answer is no public key.
pub fn public_key(facility: &Facility, domain: u16, label: &Label) -> Result<PublicKey, CertificateError> {
    let answered = facility.ask(domain, &private_keys::public_key(&label.to_field()))?;
    if !answered.codes().has_output() {
        let (label, codes) = (label.clone(), answered.codes());
        return Err(CertificateError::Verb { verb: "pka-public-key-extract", label, codes });
    }
    PublicKey::of_token(answered.got().target_key_token)
        .map_err(|cause| CertificateError::Key { label: label.clone(), cause })
}
