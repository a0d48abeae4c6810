//! PKA_Encrypt (CSNDPKE): enciphers a value under an RSA public key.
//!
//! Keywords: ZERO-PAD, MRP, PKCS-1.2, PKCSOAEP (SHA-1, SHA-256), PKOAEP2 (SHA-1 to SHA-512). The key may be a public,
//! clear or internal token: only its public part is used. The data structure parameter belongs to other keys; it must
//! be empty. KEYIDENT, for a value that is named by a label, is refused with 8/33.

use crate::call::{Call, Reply, Verdict};
use crate::pass::Asymmetric;
use crate::pka::encryption::Encryption;
use wire::code;
use wire::verb::pka_encrypt::{Answer, Request};

pub(crate) async fn pka_encrypt(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let format = Encryption::of(request.format, request.hash_method);
    let key = call.key(request.rsa_public_key)?.public().await?;
    request.rsa_encipher.holds(key.bytes())?;
    let block = format.seal(request.key_value, &key.modulus)?;
    let result = call.ask(Asymmetric::Public { key, block }).await?;
    reply.write(Answer { rsa_encipher: Some(&result) })?;
    Ok(code::OK)
}
