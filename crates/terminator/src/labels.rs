//! Private keys under labels: a handshake's operation becomes a verb of a card, and the verb's answer becomes the
//! handshake's.

use certificates::PublicKey;
use engine::HashAlgorithm;
pub(crate) use facility::private_keys::Field;
use facility::private_keys::{self, Padding, SignatureRequest};
use facility::{Completions, FacilityError, Label, Reply};
use tls::{Hash, KeyOperation, KeyRequest, Scheme};
use wire::verb::{Verb, digital_signature_generate as dsg, tls_premaster as tlsp};
use zeroize::Zeroizing;

/// Why an operation was not sent to a card.
#[derive(Debug)]
pub(crate) enum NotSent {
    /// Keys under labels do not serve this operation: signatures over SHA-1 and SHA-224.
    NotServed,
    /// The request could not be sent to a card.
    Facility(FacilityError),
}

/// Sends a private key operation to a card; the answer is collected by `number`. Does not block.
///
/// # Errors
/// [`NotSent`].
pub(crate) fn submit(
    completions: &mut Completions,
    number: u64,
    domain: u16,
    label: &Field,
    request: &KeyRequest,
) -> Result<(), NotSent> {
    let sent = match &request.work {
        KeyOperation::Premaster { ciphertext } => {
            completions.ask(number, domain, &private_keys::premaster(label, ciphertext))
        }
        KeyOperation::Sign { scheme, hash, digest } => {
            let hash = match hash {
                Hash::Sha256 => HashAlgorithm::Sha256,
                Hash::Sha384 => HashAlgorithm::Sha384,
                Hash::Sha512 => HashAlgorithm::Sha512,
                Hash::Sha1 | Hash::Sha224 => return Err(NotSent::NotServed),
            };
            let padding = match scheme {
                Scheme::RsaPkcs1 => Padding::RsaPkcs1,
                Scheme::RsaPss => Padding::RsaPss,
                Scheme::Ecdsa => Padding::Ecdsa,
            };
            let request = SignatureRequest::new(label, padding, hash, digest).ok_or(NotSent::NotServed)?;
            completions.ask(number, domain, &request.ask())
        }
    };
    sent.map_err(NotSent::Facility)
}

/// Checks whether the key under a label opens premaster secrets, by a ciphertext of zeros. Blocks until a card answers,
/// so only starts and reloads call it.
///
/// # Errors
/// A text that says what is wrong, for people.
pub(crate) fn opens_premasters(
    facility: &facility::Facility,
    domain: u16,
    label: &Label,
    modulus_bytes: usize,
) -> Result<(), String> {
    let (field, zeros) = (label.to_field(), vec![0; modulus_bytes]);
    let answered = facility.ask(domain, &private_keys::premaster(&field, &zeros));
    let answered = answered.map_err(|error| format!("{label}: {error}"))?;
    match answered.codes() {
        codes if codes.is_ok() => Ok(()),
        wire::code::KEY_USAGE => Err(format!(
            "{label} is not made for RSA key exchange: `key generate --type rsa2048-tls` makes such a key"
        )),
        codes => Err(format!("{label}: no premaster is opened: {codes}")),
    }
}

/// The handshake's answer from a card's reply; `None` if the card refused.
pub(crate) fn answer(is_ecdsa: bool, reply: &Reply) -> Option<Zeroizing<Vec<u8>>> {
    if !reply.codes().is_ok() {
        return None;
    }
    if reply.verb() == Verb::TlsPremaster {
        return Some(Zeroizing::new(reply.arguments().bytes(tlsp::PREMASTER_SECRET).to_vec()));
    }
    let signature = reply.arguments().bytes(dsg::SIGNATURE_FIELD);
    let signature = if is_ecdsa { certificates::ecdsa_sig_value(signature)? } else { signature.to_vec() };
    Some(Zeroizing::new(signature))
}

/// Checks whether the key under a label belongs to a certificate. Blocks until a card answers, so only starts and
/// reloads call it.
///
/// # Errors
/// A text that says what is wrong, for people.
pub(crate) fn compare(
    facility: &facility::Facility,
    domain: u16,
    label: &Label,
    certificate: &tls::PublicKey,
) -> Result<(), String> {
    let public = certificates::public_key(facility, domain, label).map_err(|error| error.to_string())?;
    let is_same = match (&public, certificate) {
        (PublicKey::Curve(_, own), tls::PublicKey::Ec { point, .. }) => own == point,
        (
            PublicKey::Rsa { modulus: own, exponent: own_exponent },
            tls::PublicKey::Rsa { modulus, exponent },
        ) => own == modulus && own_exponent == exponent,
        _ => false,
    };
    if is_same { Ok(()) } else { Err(format!("{label}: it is another key than the certificate's")) }
}
