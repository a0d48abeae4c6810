//! Symmetric_Key_Import (CSNDSYI): a DES or AES DATA key that is enciphered under an RSA public key,
//! into an internal token.
//!
//! Keywords: as for Symmetric_Key_Export; with ZERO-PAD the length of the key, KEYLN8 (default for
//! DES), KEYLN16 (default for AES), KEYLN24 or KEYLN32. The RSA key must be KEY-MGMT or KM-ONLY. A
//! DES key gets the default control vector of a DATA key; one without odd parity is taken as it is,
//! and said so with 0/2. A block that does not open, or holds no key of the algorithm, answers 8/66.

use token::TOKEN_BYTES;
use wire::code;
use wire::verb::symmetric_key_import::{
    RSA_ENCIPHERED_KEY, RSA_ENCIPHERED_KEY_LENGTH, RSA_PRIVATE_KEY_IDENTIFIER, RULE_ARRAY, RULE_ARRAY_COUNT,
    TARGET_KEY_IDENTIFIER, TARGET_KEY_IDENTIFIER_LENGTH,
};

use crate::call::{Call, Reply, Verdict};
use crate::key::Algorithm;
use crate::key::transport::{Transport, data_skeleton};
use crate::parity;
use crate::rules::Rules;

/// Most keywords of the verb.
const KEYWORDS_MAX: usize = 5;

pub(crate) async fn symmetric_key_import(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let mut rules = Rules::read(&call, RULE_ARRAY_COUNT, RULE_ARRAY, 1, KEYWORDS_MAX)?;
    let transport = Transport::of_rules(&mut rules)?;
    let key_bytes = transport.zero_pad_key_bytes(&mut rules)?;
    rules.finish()?;
    call.capacity(TARGET_KEY_IDENTIFIER_LENGTH, TOKEN_BYTES)?;
    let enciphered = call.counted(RSA_ENCIPHERED_KEY_LENGTH, RSA_ENCIPHERED_KEY)?;
    let rsa = call.key(RSA_PRIVATE_KEY_IDENTIFIER)?.private().await?;
    if !rsa.usage.may_decipher() {
        return Err(code::KEY_USAGE.into());
    }
    let rsa_codes = rsa.codes();
    let key = transport.open(call, rsa, enciphered, key_bytes).await?;
    let is_odd = parity::is_odd(&key.secret);
    let token = call.make(data_skeleton(&key)?, key.secret).await?;
    reply.counted(TARGET_KEY_IDENTIFIER_LENGTH, TARGET_KEY_IDENTIFIER, &token);
    Ok(if transport.algorithm == Algorithm::Des && !is_odd { code::PARITY_NOT_ODD } else { rsa_codes })
}
