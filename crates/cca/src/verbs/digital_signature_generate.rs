//! Digital_Signature_Generate (CSNDDSG): signs with an RSA or elliptic-curve private key.
//!
//! ECDSA signs a digest: of the named hash, or without one of 20, 28, 32, 48 or 64 bytes; EDDSA with ED-HASH and
//! MESSAGE signs a text with an Ed25519 key. The key must be SIG-ONLY or KEY-MGMT. The signature is r and s, each as
//! long as the curve's prime, of Ed25519 the 64 bytes of RFC 8032; its length in bits is eight times that in bytes.
//! Signing and agreement with one key reveal nothing to one another, so that KEY-MGMT signs as SIG-ONLY does.
//!
//! RSA. Keywords: PKCS-1.0, PKCS-1.1, ZERO-PAD, X9.31 and PKCS-PSS with a hash, X9.31 also with RPMD-160; ISO-9796 is
//! refused, and so are EC-SDSA (Schnorr's signatures), CRDL-DSA and CRDLHASH (signatures that resist quantum
//! computers), with 8/33. The key must be SIG-ONLY, KEY-MGMT or TLS-ONLY. The signature is as long as the modulus.
//!
//! A secure key that may decipher as well (KEY-MGMT), and any key that opens premaster secrets of TLS (TLS-ONLY), signs
//! only data with a structure, else 8/39: PKCS-PSS, X9.31, and with PKCS-1.1 a DigestInfo of a hash known here. The
//! quotient of two signatures over data of the caller's choice is the private operation on any block, and so opens what
//! is enciphered for the key ([`Signature::is_structured`]). A role with `digital-signature-any-data` signs as CCA does
//! with KEY-MGMT: anything, and with ZERO-PAD at most 36 bytes (ICSF Application Programmer's Guide).

use crate::call::{Call, Reply, Verdict};
use crate::pass::Asymmetric;
use crate::pka::curve::{Method, signature_bytes};
use crate::pka::signature::Signature;
use wire::code;
use wire::point::Point;
use wire::verb::SignatureFormat;
use wire::verb::digital_signature_generate::{Answer, Request};

/// Longest data of ZERO-PAD under a secure key that may decipher.
const ZERO_PAD_BYTES_MAX: usize = 36;

pub(crate) async fn digital_signature_generate(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    match request.format {
        SignatureFormat::Ecdsa => return of_curve(call, &request, reply, Method::Ecdsa).await,
        SignatureFormat::Eddsa => return of_curve(call, &request, reply, Method::Eddsa).await,
        _ => {}
    }
    let format = Signature::of(request.format, request.hash_method)?;
    let key = call.key(request.pka_private_key_id)?.private().await?;
    if !key.usage.may_sign() {
        return Err(code::KEY_USAGE.into());
    }
    request.signature_field.holds(key.bytes())?;
    let block = format.block(request.hash, &key.modulus, key.modulus_bits)?;
    if key.usage.may_open_premasters() && !format.is_structured(request.hash, key.modulus_bits) {
        return Err(code::KEY_USAGE.into());
    }
    if key.age.is_some() && key.usage.may_decipher() {
        if !format.is_structured(request.hash, key.modulus_bits) && call.permit(Point::SignAnyData).is_err() {
            return Err(code::KEY_USAGE.into());
        }
        if format == Signature::ZeroPad && request.hash.len() > ZERO_PAD_BYTES_MAX {
            return Err(code::TEXT_LENGTH.into());
        }
    }
    let mut signature = call.ask(Asymmetric::Private { key: key.clone(), block }).await?;
    format.finish(&key.modulus, signature.as_mut());
    reply.write(Answer {
        signature_field: Some(&signature),
        signature_bit_length: Some(key.modulus_bits as i64),
    })?;
    Ok(key.codes())
}

/// Signs with the private key of an elliptic curve.
async fn of_curve<'a>(
    call: Call<'_, 'a>,
    request: &Request<'a>,
    reply: &mut Reply<'_, '_>,
    method: Method,
) -> Verdict {
    let key = call.key(request.pka_private_key_id)?.private_ecc().await?;
    if !key.usage.may_sign() {
        return Err(code::KEY_USAGE.into());
    }
    method.check(key.curve, request.hash, request.hash_method)?;
    request.signature_field.holds(signature_bytes(key.curve))?;
    let codes = key.codes();
    let signature = call.ask(Asymmetric::Sign { key, data: request.hash }).await?;
    reply.write(Answer {
        signature_field: Some(&signature),
        signature_bit_length: Some(8 * signature.len() as i64),
    })?;
    Ok(codes)
}
