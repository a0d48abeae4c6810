//! PKA_Decrypt (CSNDPKD): deciphers a value under an RSA private key and returns it in the clear.
//!
//! Keywords: PKCS-1.2, PKCSOAEP (SHA-1, SHA-256), PKOAEP2 (SHA-1 to SHA-512); ZERO-PAD and MRP with clear tokens only,
//! since they would decipher any block with a secure key. A secure key must be KEY-MGMT: data enciphered for a KM-ONLY
//! key is a key, which only Symmetric_Key_Import takes and nothing reveals. In a role with `rsa-decipher-keys-and-data`
//! it may be either, as in CCA. Every malformed block gives the same 8/66.

use crate::call::{Call, Reply, Verdict};
use crate::pass::Asymmetric;
use crate::pka::encryption::Encryption;
use crate::pka::right_justified;
use wire::code;
use wire::point::Point;
use wire::verb::pka_decrypt::{Answer, Request};

pub(crate) async fn pka_decrypt(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let format = Encryption::of(request.format, request.hash_method);
    let key = call.key(request.rsa_private_key)?.private().await?;
    let both = key.age.is_none() || call.permit(Point::DecipherBoth).is_ok();
    let may_show = if both { key.usage.may_decipher() } else { key.usage.may_decipher_data() };
    if !may_show || (format == Encryption::Raw && key.age.is_some()) {
        return Err(code::KEY_USAGE.into());
    }
    let codes = key.codes();
    let block = right_justified(request.enciphered_key, &key.modulus, code::TEXT_LENGTH)?;
    let opened = call.ask(Asymmetric::Private { key, block }).await?;
    let value = format.open(opened)?;
    reply.write(Answer { key_value: Some(&value) })?;
    Ok(codes)
}
