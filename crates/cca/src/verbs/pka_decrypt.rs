//! PKA_Decrypt (CSNDPKD): deciphers a value under an RSA private key and returns it in the clear.
//!
//! Keywords: PKCS-1.2, PKCSOAEP (SHA-1, SHA-256), PKOAEP2 (SHA-1 to SHA-512); ZERO-PAD and MRP
//! with clear tokens only, since they would open any block of a secure key. The key must be
//! KEY-MGMT or KM-ONLY. A block that does not open answers 8/66 whatever is wrong with it.

use wire::code;
use wire::verb::pka_decrypt::{
    DATA_STRUCT_LENGTH, ENCIPHERED_KEY, ENCIPHERED_KEY_LENGTH, KEY_VALUE, KEY_VALUE_LENGTH, RSA_PRIVATE_KEY,
    RULE_ARRAY, RULE_ARRAY_COUNT,
};

use crate::call::{Call, Reply, Verdict};
use crate::pass::Asymmetric;
use crate::pka::encryption::Encryption;
use crate::pka::right_justified;
use crate::rules::Rules;

/// Most keywords of the verb.
const KEYWORDS_MAX: usize = 5;

pub(crate) async fn pka_decrypt(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let mut rules = Rules::read(&call, RULE_ARRAY_COUNT, RULE_ARRAY, 1, KEYWORDS_MAX)?;
    let format = Encryption::of_rules(&mut rules)?;
    rules.finish()?;
    if call.integer(DATA_STRUCT_LENGTH) != 0 {
        return Err(code::INVALID_PARAMETER.into());
    }
    let enciphered = call.counted(ENCIPHERED_KEY_LENGTH, ENCIPHERED_KEY)?;
    let key = call.key(RSA_PRIVATE_KEY)?.private().await?;
    if !key.usage.may_decipher() || (format == Encryption::Raw && key.age.is_some()) {
        return Err(code::KEY_USAGE.into());
    }
    let codes = key.codes();
    let block = right_justified(enciphered, &key.modulus, code::TEXT_LENGTH)?;
    let opened = call.ask(Asymmetric::Private { key, block }).await?;
    let value = format.open(opened)?;
    call.capacity(KEY_VALUE_LENGTH, value.len())?;
    reply.counted(KEY_VALUE_LENGTH, KEY_VALUE, &value);
    Ok(codes)
}
