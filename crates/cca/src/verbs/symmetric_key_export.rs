//! Symmetric_Key_Export (CSNDSYX): a DES or AES DATA key, enciphered under an RSA public key.
//!
//! Keywords: DES (default) or AES; PKCS-1.2, ZERO-PAD, PKCSOAEP (SHA-1, SHA-256). PKOAEP2 and
//! AESKW belong to variable-length tokens, which are refused. A DES key must be a DATA key whose
//! control vector and flags allow export.

use wire::code;
use wire::verb::symmetric_key_export::{
    RSA_ENCIPHERED_KEY, RSA_ENCIPHERED_KEY_LENGTH, RSA_PUBLIC_KEY_IDENTIFIER, RULE_ARRAY, RULE_ARRAY_COUNT,
    SOURCE_KEY_IDENTIFIER,
};

use crate::call::{Call, Refusal, Reply, Verdict};
use crate::key::field::KeyField;
use crate::key::transport::Transport;
use crate::pass::Asymmetric;
use crate::rules::Rules;

/// Most keywords of the verb.
const KEYWORDS_MAX: usize = 3;

pub(crate) async fn symmetric_key_export(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let mut rules = Rules::read(&call, RULE_ARRAY_COUNT, RULE_ARRAY, 1, KEYWORDS_MAX)?;
    let transport = Transport::of_rules(&mut rules)?;
    rules.finish()?;
    let source = token_field(&call)?;
    let key = call.key(RSA_PUBLIC_KEY_IDENTIFIER)?.public().await?;
    call.capacity(RSA_ENCIPHERED_KEY_LENGTH, key.bytes())?;
    let exported = KeyField::new(call, source).of(transport.algorithm)?.for_export()?.await?;
    let block = transport.format.seal(&exported.secret, &key.modulus)?;
    let result = call.ask(Asymmetric::Public { key, block }).await?;
    reply.counted(RSA_ENCIPHERED_KEY_LENGTH, RSA_ENCIPHERED_KEY, &result);
    Ok(exported.age.codes())
}

/// The 64 bytes of a fixed-length token.
fn token_field<'a>(call: &Call<'_, 'a>) -> Result<&'a [u8], Refusal> {
    let field = call.key(SOURCE_KEY_IDENTIFIER)?.bytes();
    Ok(field.get(..token::TOKEN_BYTES).ok_or(code::OUT_OF_AREA)?)
}
