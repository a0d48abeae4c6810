//! Digital_Signature_Generate (CSNDDSG): signs with an RSA private key.
//!
//! Keywords: PKCS-1.0, PKCS-1.1, ZERO-PAD, X9.31 and PKCS-PSS with a hash; ISO-9796 is refused.
//! The key must be SIG-ONLY or KEY-MGMT. The signature is as long as the modulus.
//!
//! A secure key that may decipher as well (KEY-MGMT) signs only what has structure, else 8/39: PKCS-PSS, X9.31, and with
//! PKCS-1.1 a DigestInfo of a hash known here. The quotient of two signatures over data of the caller's choice is the
//! private operation on any block, and so opens what is enciphered for the key ([`Signature::is_structured`]). A role
//! with `digital-signature-any-data` signs as CCA does: anything, and with ZERO-PAD 36 bytes at the most (ICSF
//! Application Programmer's Guide).

use wire::code;
use wire::point::Point;
use wire::verb::digital_signature_generate::{Answer, Request};

use crate::call::{Call, Reply, Verdict};
use crate::pass::Asymmetric;
use crate::pka::signature::Signature;

/// Longest data of ZERO-PAD under a secure key that may decipher.
const ZERO_PAD_BYTES_MAX: usize = 36;

pub(crate) async fn digital_signature_generate(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let format = Signature::of(request.format, request.hash_method)?;
    let key = call.key(request.pka_private_key_id)?.private().await?;
    if !key.usage.may_sign() {
        return Err(code::KEY_USAGE.into());
    }
    request.signature_field.holds(key.bytes())?;
    let block = format.block(request.hash, &key.modulus, key.modulus_bits)?;
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
