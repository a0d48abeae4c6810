//! Digital_Signature_Verify (CSNDDSV): verifies a signature with an RSA or elliptic-curve public key.
//!
//! Keywords as for Digital_Signature_Generate, and for PKCS-PSS EXMATCH, the default: the salt has the length given.
//! NEXMATCH, which permits other lengths of the salt, and TPK-ONLY, for trusted blocks, are refused with 8/33. The key
//! may be a public, clear or internal token; one of an elliptic curve with a private key is opened, so that the public
//! key is that of the private one. A wrong signature is answered with 4/429.

use crate::call::{Call, Reply, Verdict};
use crate::pass::Asymmetric;
use crate::pka::curve::{Method, signature_bytes};
use crate::pka::signature::Signature;
use crate::pka::{right_justified, x931};
use wire::code;
use wire::verb::SignatureFormat;
use wire::verb::digital_signature_verify::Request;

pub(crate) async fn digital_signature_verify(call: Call<'_, '_>, _: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    match request.format {
        SignatureFormat::Ecdsa => return of_curve(call, &request, Method::Ecdsa).await,
        SignatureFormat::Eddsa => return of_curve(call, &request, Method::Eddsa).await,
        _ => {}
    }
    let format = Signature::of(request.format, request.hash_method)?;
    let signature = request.signature_field;
    let key = call.key(request.pka_public_key_id)?.public().await?;
    if signature.len() != key.bytes() {
        return Ok(code::SIGNATURE_NOT_VERIFIED);
    }
    let Ok(block) = right_justified(signature, &key.modulus, code::SIGNATURE_NOT_VERIFIED) else {
        return Ok(code::SIGNATURE_NOT_VERIFIED);
    };
    if matches!(format, Signature::X931(_)) && !x931::is_smaller_vartime(&key.modulus, signature) {
        return Ok(code::SIGNATURE_NOT_VERIFIED);
    }
    let mut opened = call.ask(Asymmetric::Public { key: key.clone(), block }).await?;
    let verifies = format.verifies(request.hash, &key.modulus, key.modulus_bits, opened.as_mut())?;
    Ok(if verifies { code::OK } else { code::SIGNATURE_NOT_VERIFIED })
}

/// Verifies with a key of an elliptic curve.
async fn of_curve<'a>(call: Call<'_, 'a>, request: &Request<'a>, method: Method) -> Verdict {
    let key = call.key(request.pka_public_key_id)?.public_ecc().await?;
    method.check(key.curve, request.hash, request.hash_method)?;
    let signature = request.signature_field;
    if signature.len() != signature_bytes(key.curve) {
        return Ok(code::SIGNATURE_NOT_VERIFIED);
    }
    call.ask(Asymmetric::Verify { key, data: request.hash, signature }).await?;
    Ok(code::OK)
}
