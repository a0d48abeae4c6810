//! PKA_Encrypt (CSNDPKE): enciphers a value under an RSA public key.
//!
//! Keywords: ZERO-PAD, MRP, PKCS-1.2, PKCSOAEP (SHA-1, SHA-256), PKOAEP2 (SHA-1 to SHA-512). The
//! key may be a public, clear or internal token: only its public part is used. The data structure
//! parameter belongs to other keys; it must be empty.

use wire::code;
use wire::verb::pka_encrypt::{
    DATA_STRUCT_LENGTH, KEY_VALUE, KEY_VALUE_LENGTH, RSA_ENCIPHER, RSA_ENCIPHER_LENGTH, RSA_PUBLIC_KEY,
    RULE_ARRAY, RULE_ARRAY_COUNT,
};

use crate::call::{Call, Reply, Verdict};
use crate::pass::Asymmetric;
use crate::pka::encryption::Encryption;
use crate::rules::Rules;

/// Most keywords of the verb.
const KEYWORDS_MAX: usize = 8;

pub(crate) async fn pka_encrypt(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let mut rules = Rules::read(&call, RULE_ARRAY_COUNT, RULE_ARRAY, 1, KEYWORDS_MAX)?;
    let format = Encryption::of_rules(&mut rules)?;
    rules.finish()?;
    if call.integer(DATA_STRUCT_LENGTH) != 0 {
        return Err(code::INVALID_PARAMETER.into());
    }
    let value = call.counted(KEY_VALUE_LENGTH, KEY_VALUE)?;
    let key = call.key(RSA_PUBLIC_KEY)?.public().await?;
    call.capacity(RSA_ENCIPHER_LENGTH, key.bytes())?;
    let block = format.seal(value, &key.modulus)?;
    let result = call.ask(Asymmetric::Public { key, block }).await?;
    reply.counted(RSA_ENCIPHER_LENGTH, RSA_ENCIPHER, &result);
    Ok(code::OK)
}
