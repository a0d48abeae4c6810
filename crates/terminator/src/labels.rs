//! Private keys that are labels: what a handshake asks for becomes a verb of a card, and the verb's answer the handshake's.

use certificates::PublicKey;
use facility::{Completions, FacilityError, Label, Reply};
use tls::{Hash, KeyRequest, Scheme, Work};
use wire::frame::Arguments;
use wire::verb::{Verb, digital_signature_generate as dsg, tls_premaster as tlsp};
use zeroize::Zeroizing;

/// Longest signature in bytes: that of RSA with 4,096 bits.
const SIGNATURE_BYTES_MAX: i64 = 512;
/// What a label is in a verb.
pub(crate) type Field = [u8; 64];

/// Why an operation was not sent to a card.
#[derive(Debug)]
pub(crate) enum NotSent {
    /// Keys of labels do not do this: signatures over SHA-1 and SHA-224.
    NotServed,
    /// The facility.
    Facility(FacilityError),
}

/// Sends a private key operation to a card, under a number by which its answer is collected. It waits for nothing.
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
    let (scheme, hash, digest) = match &request.work {
        Work::Sign { scheme, hash, digest } => (scheme, hash, digest),
        Work::Premaster { ciphertext } => {
            let arguments = premaster(label, ciphertext);
            return completions.submit(number, domain, &arguments).map_err(NotSent::Facility);
        }
    };
    let (word, of_engine) = match hash {
        Hash::Sha256 => (b"SHA-256 ", engine::HashAlgorithm::Sha256),
        Hash::Sha384 => (b"SHA-384 ", engine::HashAlgorithm::Sha384),
        Hash::Sha512 => (b"SHA-512 ", engine::HashAlgorithm::Sha512),
        Hash::Sha1 | Hash::Sha224 => return Err(NotSent::NotServed),
    };
    let (keywords, data) = match scheme {
        Scheme::RsaPkcs1 => (b"PKCS-1.1".to_vec(), [engine::digest_info_prefix(of_engine), digest].concat()),
        // The length of the salt, which is that of the hash (RFC 8446, 4.2.3), stands before the digest.
        Scheme::RsaPss => {
            ([&b"PKCS-PSS"[..], word].concat(), [&(digest.len() as u32).to_be_bytes()[..], digest].concat())
        }
        Scheme::Ecdsa => (b"ECDSA   ".to_vec(), digest.clone()),
    };
    let mut arguments = Arguments::new(Verb::DigitalSignatureGenerate);
    arguments
        .set_integer(dsg::RULE_ARRAY_COUNT, keywords.len() as i64 / 8)
        .set_bytes(dsg::RULE_ARRAY, &keywords)
        .set_integer(dsg::PKA_PRIVATE_KEY_ID_LENGTH, label.len() as i64)
        .set_bytes(dsg::PKA_PRIVATE_KEY_ID, label)
        .set_integer(dsg::HASH_LENGTH, data.len() as i64)
        .set_bytes(dsg::HASH, &data)
        .set_integer(dsg::SIGNATURE_FIELD_LENGTH, SIGNATURE_BYTES_MAX);
    completions.submit(number, domain, &arguments).map_err(NotSent::Facility)
}

/// Asks for the premaster of RSA key exchange.
fn premaster<'a>(label: &'a Field, ciphertext: &'a [u8]) -> Arguments<'a> {
    let mut arguments = Arguments::new(Verb::TlsPremaster);
    arguments
        .set_integer(tlsp::ENCRYPTED_PREMASTER_LENGTH, ciphertext.len() as i64)
        .set_bytes(tlsp::ENCRYPTED_PREMASTER, ciphertext)
        .set_integer(tlsp::RSA_PRIVATE_KEY_LENGTH, label.len() as i64)
        .set_bytes(tlsp::RSA_PRIVATE_KEY, label);
    arguments
}

/// Whether the key under a label opens premasters, tried with a ciphertext of zeros. It waits for a card, and belongs to starts and
/// reloads.
///
/// # Errors
/// What is wrong, for people.
pub(crate) fn opens_premasters(
    facility: &facility::Facility,
    domain: u16,
    label: &Label,
    modulus_bytes: usize,
) -> Result<(), String> {
    let (field, zeros) = (label.to_field(), vec![0; modulus_bytes]);
    let reply =
        facility.call(domain, &premaster(&field, &zeros)).map_err(|error| format!("{label}: {error}"))?;
    match reply.codes() {
        codes if codes.is_ok() => Ok(()),
        wire::code::KEY_USAGE => Err(format!(
            "{label} is not made for RSA key exchange: `key generate --type rsa2048-tls` makes such a key"
        )),
        codes => Err(format!("{label}: no premaster is opened: {codes}")),
    }
}

/// What the handshake gets of a card's answer; none where the card refused.
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

/// Whether the key under a label is that of a certificate. It waits for a card, and belongs to starts and reloads.
///
/// # Errors
/// What is wrong, for people.
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
