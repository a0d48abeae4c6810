//! PKA_Decrypt (CSNDPKD): deciphers a value under an RSA private key and returns it in the clear.
//!
//! Keywords: PKCS-1.2, PKCSOAEP (SHA-1, SHA-256), PKOAEP2 (SHA-1 to SHA-512); ZERO-PAD and MRP
//! with clear tokens only, since they would open any block of a secure key. The key must be
//! KEY-MGMT or KM-ONLY. A block that does not open answers 8/66 whatever is wrong with it.

use wire::code;
use wire::verb::pka_decrypt::{Answer, Request};

use crate::call::{Call, Reply, Verdict};
use crate::pass::Asymmetric;
use crate::pka::encryption::Encryption;
use crate::pka::right_justified;

pub(crate) async fn pka_decrypt(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let format = Encryption::of(request.format, request.hash_method);
    let key = call.key(request.rsa_private_key)?.private().await?;
    if !key.usage.may_decipher() || (format == Encryption::Raw && key.age.is_some()) {
        return Err(code::KEY_USAGE.into());
    }
    let codes = key.codes();
    let block = right_justified(request.enciphered_key, &key.modulus, code::TEXT_LENGTH)?;
    let opened = call.ask(Asymmetric::Private { key, block }).await?;
    let value = format.open(opened)?;
    reply.write(Answer { key_value: Some(&value) })?;
    Ok(codes)
}
