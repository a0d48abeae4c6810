//! Digital_Signature_Generate (CSNDDSG): signs with an RSA private key.
//!
//! Keywords: PKCS-1.0, PKCS-1.1, ZERO-PAD, X9.31 and PKCS-PSS with a hash; ISO-9796 is refused.
//! The key must be SIG-ONLY or KEY-MGMT. The signature is as long as the modulus.
//!
//! Under a secure key that may decipher as well, ZERO-PAD takes 36 bytes at the most: a longer one could be
//! what was enciphered for that key, and its signature the text (ICSF Application Programmer's Guide).

use wire::code;
use wire::verb::digital_signature_generate::{
    HASH, HASH_LENGTH, PKA_PRIVATE_KEY_ID, RULE_ARRAY, RULE_ARRAY_COUNT, SIGNATURE_BIT_LENGTH,
    SIGNATURE_FIELD, SIGNATURE_FIELD_LENGTH,
};

use crate::call::{Call, Reply, Verdict};
use crate::pass::Asymmetric;
use crate::pka::signature::Signature;
use crate::rules::Rules;

/// Most keywords of the verb.
const KEYWORDS_MAX: usize = 8;
/// Longest data of ZERO-PAD under a secure key that may decipher.
const ZERO_PAD_BYTES_MAX: usize = 36;

pub(crate) async fn digital_signature_generate(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let mut rules = Rules::read(&call, RULE_ARRAY_COUNT, RULE_ARRAY, 0, KEYWORDS_MAX)?;
    let format = Signature::of_rules(&mut rules)?;
    rules.finish()?;
    let data = call.counted(HASH_LENGTH, HASH)?;
    let key = call.key(PKA_PRIVATE_KEY_ID)?.private().await?;
    if !key.usage.may_sign() {
        return Err(code::KEY_USAGE.into());
    }
    let opens = key.age.is_some() && key.usage.may_decipher();
    if opens && format == Signature::ZeroPad && data.len() > ZERO_PAD_BYTES_MAX {
        return Err(code::TEXT_LENGTH.into());
    }
    call.capacity(SIGNATURE_FIELD_LENGTH, key.bytes())?;
    let block = format.block(data, &key.modulus, key.modulus_bits)?;
    let mut signature = call.ask(Asymmetric::Private { key: key.clone(), block }).await?;
    format.finish(&key.modulus, signature.as_mut());
    reply.integer(SIGNATURE_FIELD_LENGTH, signature.len() as i64);
    reply.integer(SIGNATURE_BIT_LENGTH, key.modulus_bits as i64);
    reply.bytes(SIGNATURE_FIELD, &signature);
    Ok(key.codes())
}
