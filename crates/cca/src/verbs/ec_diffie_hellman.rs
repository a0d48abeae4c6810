//! EC_Diffie-Hellman (CSNDEDH): a symmetric key from a private key of an elliptic curve and the public key of another
//! party.
//!
//! | keyword | what comes out |
//! |---|---|
//! | DERIV02 with SHA-224, SHA-256, SHA-384 or SHA-512 | a key by ANSI X9.63 from the secret and the party identifier (at most 256 bytes, may be empty) |
//! | PASSTHRU | the secret itself, as long as the curve's prime; off in every role that does not name its point |
//! | DERIV01, QSA-ECDH | refused with 8/33 |
//!
//! The private key is KEY-MGMT or KM-ONLY, under the master key, or in an external token under the key in the private
//! KEK field: an AES IMPORTER key with the use IMPORT that wraps keys of curves (WR-ECC), in a role that may import
//! such keys. A clear one is refused, as is the other party's on another curve (8/770). Ed25519 agrees on nothing
//! (8/874). DERIV02 takes keys that a card made at random and that say which key may be derived (X'23'): algorithm,
//! type and length of the derived key are those (8/39), and PASSTHRU takes none of these keys, since the secret shows
//! every key that is derived of it. A key that is stronger than the curve (AES-192 beyond 256 bits, AES-256 beyond 384)
//! is refused with 8/2149, unless the role has `ec-diffie-hellman-weak-curve`.
//!
//! The token comes from the output field: an AES DATA, CIPHER, EXPORTER or IMPORTER token, or a DES token, whose
//! attributes are kept and whose key, if it has one, is replaced. An empty field gets the default of what the private
//! key says. An external token is wrapped under the key in the output KEK field: of a DES key by an EXPORTER with OPEX
//! or an IMPORTER with OPIM, of an AES key of variable length by those of AES, with GEN-OPEX or GEN-OPIM, which must
//! wrap keys of its kind. OKEK-DES and OKEK-AES say which (8/47 for the other), and may be left out. DES keys get odd
//! parity.
//!
//! The owner of either private key knows the derived key: if both belong to the caller, this verb imports a key of the
//! caller's choice. So it needs the rights of an import, and for transport keys a right of its own.

mod target;

use crate::call::{Call, Reply, Verdict};
use crate::ground::Refusal;
use crate::key::exchange::side_of;
use crate::key::private::{open_transported, strength_of_curve};
use crate::parity;
use crate::pass::{Asymmetric, Derive};
use crate::prepared::ecc::PrivateContext;
use engine::{HashAlgorithm, SecretBytes};
use std::sync::Arc;
use target::Target;
use token::pka::Source;
use token::pka::ecc::{
    Derivation, DerivedAlgorithm, DerivedType, EccCurve, EccPrivate, EccToken, EccValue, is_ecc,
};
use token::usage::{Side, Wrapping};
use token::variable::PrivateAlgorithm;
use wire::point::Point;
use wire::verb::ec_diffie_hellman::{Answer, Request};
use wire::verb::{AgreedKeyType, AgreementHash, KeyAgreement};
use wire::{Codes, code};

/// Longest party identifier in bytes.
const PARTY_BYTES_MAX: usize = 256;

pub(crate) async fn ec_diffie_hellman(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    match (request.agreement, request.hash.map(hash_of)) {
        (KeyAgreement::Derive2, Some(hash)) => derive(call, &request, hash, reply).await,
        (KeyAgreement::PassThrough, _) => pass_through(call, &request, reply).await,
        _ => Err(code::KEYWORD.into()),
    }
}

/// PASSTHRU: answers with the shared secret itself.
async fn pass_through<'a>(call: Call<'_, 'a>, request: &Request<'a>, reply: &mut Reply<'_, '_>) -> Verdict {
    if !request.party_identifier.is_empty() || !request.output_kek_key_identifier.is_empty() {
        return Err(code::INVALID_PARAMETER.into());
    }
    let token = ecc_token(&call, request.private_key_identifier)?;
    agreeing(&call, &token)?;
    if token.derivation().is_some() {
        return Err(code::KEY_USAGE.into());
    }
    request.output_key_identifier.holds(token.curve().bytes())?;
    let (secret, key) = agree(call, request, &token).await?;
    reply.write(Answer { output_key_identifier: Some(&secret), ..Answer::default() })?;
    Ok(key.codes())
}

/// DERIV02: answers with a key that is derived from the shared secret.
async fn derive<'a>(
    call: Call<'_, 'a>,
    request: &Request<'a>,
    hash: HashAlgorithm,
    reply: &mut Reply<'_, '_>,
) -> Verdict {
    if request.party_identifier.len() > PARTY_BYTES_MAX {
        return Err(code::INVALID_PARAMETER.into());
    }
    let token = ecc_token(&call, request.private_key_identifier)?;
    let private = agreeing(&call, &token)?;
    let derivation = match (private.source, token.derivation()) {
        (Some(Source::Random), Some(derivation)) => derivation,
        _ => return Err(code::KEY_USAGE.into()),
    };
    check(&call, request, token.curve(), derivation)?;
    let target = Target::of(&call, request, derivation)?;
    let (field, once) = (request.output_kek_key_identifier, Wrapping::GeneratedOnce);
    let kek = match &target {
        Target::External(_) => Some(call.key_encrypting_key(field, side_of(call, field)?, once).await?),
        Target::ExternalAes(token) => {
            Some(call.aes_key_encrypting_key_of_either_side(field, once, token.attributes()).await?)
        }
        Target::Internal(_) => None,
    };
    let renewal = match &kek {
        Some(kek) => Some(kek.renew(call, field)?),
        None => None,
    };
    let (secret, private) = agree(call, request, &token).await?;
    let bytes = usize::from(derivation.bits / 8);
    let shared = request.party_identifier.to_vec();
    let mut key = call.ask(Derive::X963 { secret, hash, shared, bytes }).await.key()?;
    if derivation.algorithm == DerivedAlgorithm::Des {
        parity::make_odd(&mut key);
    }
    let made = match (target, &kek) {
        (Target::External(skeleton), Some(kek)) => kek.wrap(&call, skeleton, key)?.await?,
        (Target::ExternalAes(skeleton), Some(kek)) => kek.wrap_variable(&call, *skeleton, key)?.await?,
        (Target::Internal(skeleton), _) => call.make(skeleton, key).await?,
        (Target::External(_) | Target::ExternalAes(_), None) => return Err(code::SELF_CHECK.into()),
    };
    let renewed = match renewal {
        Some(renewal) => renewal.token().await?,
        None => None,
    };
    reply.write(Answer {
        output_kek_key_identifier: renewed.as_deref(),
        output_key_identifier: Some(&made),
    })?;
    let codes = private.codes();
    Ok(if codes.is_ok() { kek.map_or(codes, |kek| kek.age.codes()) } else { codes })
}

/// The elliptic-curve token in a field.
///
/// # Errors
/// 8/30 for a label, 8/47 for another token; the token's own.
fn ecc_token<'a>(call: &Call<'_, 'a>, field: &'a [u8]) -> Result<EccToken<'a>, Refusal> {
    let bytes = call.key(field)?.bytes();
    if is_ecc(bytes) { call.ecc_token(field) } else { Err(code::TOKEN_INVALID.into()) }
}

/// The private section of a token whose key may agree on keys.
///
/// # Errors
/// 8/47 for a token without a private key; 8/39 for a clear key and one that only signs; 8/874 for a curve of
/// signatures; 8/90 for a key that the role does not permit.
fn agreeing<'t, 'a>(call: &Call<'_, 'a>, token: &'t EccToken<'a>) -> Result<&'t EccPrivate<'a>, Refusal> {
    let private = token.private().ok_or(code::TOKEN_INVALID)?;
    match private.value {
        EccValue::Wrapped(_) | EccValue::Transported(_) => {}
        EccValue::Clear(_) => return Err(code::KEY_USAGE.into()),
        EccValue::Skeleton => return Err(code::TOKEN_INVALID.into()),
    }
    if !private.usage.may_agree() {
        return Err(code::KEY_USAGE.into());
    }
    call.permit(match token.curve() {
        EccCurve::P224 => Point::AgreementP224,
        EccCurve::P256 => Point::AgreementP256,
        EccCurve::P384 => Point::AgreementP384,
        EccCurve::P521 => Point::AgreementP521,
        EccCurve::BrainpoolP256r1 => Point::AgreementBrainpool256,
        EccCurve::BrainpoolP384r1 => Point::AgreementBrainpool384,
        EccCurve::Secp256k1 => Point::AgreementKoblitz256,
        EccCurve::Ed25519 => return Err(code::CURVE.into()),
    })?;
    Ok(private)
}

/// Refuses a derived key that the private key or the role does not permit.
///
/// # Errors
/// 8/39 for another algorithm than that of the private key, 8/2114 for another length, 8/2149 for a key that is
/// stronger than the curve, 8/90 for a transport key or a DES key of single length that the role does not permit.
fn check(
    call: &Call<'_, '_>,
    request: &Request<'_>,
    curve: EccCurve,
    derivation: Derivation,
) -> Result<(), Codes> {
    let algorithm = match request.output_type {
        Some(AgreedKeyType::Des) => DerivedAlgorithm::Des,
        Some(AgreedKeyType::Aes) => DerivedAlgorithm::Aes,
        None => derivation.algorithm,
    };
    if algorithm != derivation.algorithm {
        return Err(code::KEY_USAGE);
    }
    if request.key_bit_length != i64::from(derivation.bits) {
        return Err(code::KEY_BITS);
    }
    if curve.bits() < curve_bits(derivation) && call.permit(Point::AgreementWeak).is_err() {
        return Err(code::AGREEMENT);
    }
    if matches!(derivation.key_type, DerivedType::Exporter | DerivedType::Importer) {
        call.permit(Point::AgreementTransportKey)?;
    }
    if (derivation.algorithm, derivation.bits) == (DerivedAlgorithm::Des, 64) {
        call.permit(Point::SingleLengthDes)?;
    }
    Ok(())
}

/// Least length in bits of the curve's prime for a derived key (CCA for Linux on IBM Z, "Restrictions" of this verb).
const fn curve_bits(derivation: Derivation) -> usize {
    match (derivation.algorithm, derivation.bits) {
        (DerivedAlgorithm::Des, 0..=128) => 160,
        (DerivedAlgorithm::Des, _) => 224,
        (DerivedAlgorithm::Aes, 0..=128) => 256,
        (DerivedAlgorithm::Aes, 129..=192) => 384,
        (DerivedAlgorithm::Aes, _) => 512,
    }
}

/// The secret of both parties, and the private key that it was made with.
///
/// # Errors
/// 8/770 for a public key on another curve, or on none; 8/47 for a key-encrypting key although the private key is under
/// none, or for a missing one; as [`crate::key::field::KeyField::private_ecc`] and those of an import.
async fn agree<'a>(
    call: Call<'_, 'a>,
    request: &Request<'a>,
    token: &EccToken<'a>,
) -> Result<(SecretBytes, Arc<PrivateContext>), Refusal> {
    if ecc_token(&call, request.public_key_identifier)?.curve() != token.curve() {
        return Err(code::PKA_FIELD.into());
    }
    let private = token.private().ok_or(code::TOKEN_INVALID)?;
    let is_transported = matches!(private.value, EccValue::Transported(_));
    if is_transported == request.private_kek_key_identifier.is_empty() {
        return Err(code::TOKEN_INVALID.into());
    }
    let peer = call.key(request.public_key_identifier)?.public_ecc().await?;
    let key = if is_transported {
        Arc::new(transported(call, request, token, private).await?)
    } else {
        call.key(request.private_key_identifier)?.private_ecc().await?
    };
    let secret = call.ask(Asymmetric::Agree { key: Arc::clone(&key), peer }).await?;
    Ok((secret, key))
}

/// The private key of an external token.
async fn transported<'a>(
    call: Call<'_, 'a>,
    request: &Request<'a>,
    token: &EccToken<'a>,
    private: &EccPrivate<'a>,
) -> Result<PrivateContext, Refusal> {
    call.permit(Point::PkaKeyImportTransported)?;
    let (field, curve) = (request.private_kek_key_identifier, token.curve());
    let (side, algorithm) = (Some(Side::Receiving), PrivateAlgorithm::Ecc);
    let kek = call.aes_private_key_encrypting_key(field, side, Wrapping::PrivateKeys, algorithm)?.await?;
    kek.check_strength(&call, strength_of_curve(curve), Point::WeakImport)?;
    let age = kek.age;
    let value = open_transported(call, kek, request.private_key_identifier).await?;
    Ok(PrivateContext::of_value(curve, &value, token.point(), private.usage, age)?)
}

fn hash_of(keyword: AgreementHash) -> HashAlgorithm {
    match keyword {
        AgreementHash::Sha224 => HashAlgorithm::Sha224,
        AgreementHash::Sha256 => HashAlgorithm::Sha256,
        AgreementHash::Sha384 => HashAlgorithm::Sha384,
        AgreementHash::Sha512 => HashAlgorithm::Sha512,
    }
}
