//! Symmetric_Key_Export (CSNDSYX): a DES or AES DATA key, enciphered under an RSA public key.
//!
//! Keywords: DES (default) or AES; PKCS-1.2, ZERO-PAD, PKCSOAEP (SHA-1, SHA-256). PKOAEP2 and
//! AESKW belong to variable-length tokens, which are refused. A DES key must be a DATA key whose
//! control vector and flags allow export.

use token::aes::AesKey;
use token::usage::Use;
use wire::code;
use wire::verb::symmetric_key_export::{
    RSA_ENCIPHERED_KEY, RSA_ENCIPHERED_KEY_LENGTH, RSA_PUBLIC_KEY_IDENTIFIER, RULE_ARRAY, RULE_ARRAY_COUNT,
    SOURCE_KEY_IDENTIFIER,
};

use crate::call::{Call, Refusal, Reply, Verdict};
use crate::keys;
use crate::pass::rsa::RsaPublic;
use crate::pka::transport::{Algorithm, Transport};
use crate::registers::Age;
use crate::rules::Rules;
use engine::SecretBytes;

/// Most keywords of the verb.
const KEYWORDS_MAX: usize = 3;

pub(crate) async fn symmetric_key_export(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let mut rules = Rules::read(&call, RULE_ARRAY_COUNT, RULE_ARRAY, 1, KEYWORDS_MAX)?;
    let transport = Transport::of_rules(&mut rules)?;
    rules.finish()?;
    let source = token_field(&call)?;
    let key = call.public_key(RSA_PUBLIC_KEY_IDENTIFIER).await?;
    call.capacity(RSA_ENCIPHERED_KEY_LENGTH, key.bytes())?;
    let (value, age) = match transport.algorithm {
        Algorithm::Des => des_key(call, source).await?,
        Algorithm::Aes => aes_key(call, source).await?,
    };
    let block = transport.format.seal(&value, &key.modulus)?;
    let result = call.ask(RsaPublic { key, block }).await?;
    reply.counted(RSA_ENCIPHERED_KEY_LENGTH, RSA_ENCIPHERED_KEY, &result);
    Ok(age.codes())
}

/// The 64 bytes of a fixed-length token.
fn token_field<'a>(call: &Call<'_, 'a>) -> Result<&'a [u8], Refusal> {
    let field = call.pka_field(SOURCE_KEY_IDENTIFIER)?;
    Ok(field.get(..token::TOKEN_BYTES).ok_or(code::OUT_OF_AREA)?)
}

async fn des_key(call: Call<'_, '_>, field: &[u8]) -> Result<(SecretBytes, Age), Refusal> {
    let token = keys::des_token(field)?;
    let vector = token.control_vector();
    if !vector.is_zero() && vector.type_bits() != DATA_TYPE_BITS {
        return Err(code::CONTROL_VECTOR_NOT_DATA.into());
    }
    if token.export_prohibited() || !vector.may(Use::TransportAsData) {
        return Err(code::KEY_USAGE.into());
    }
    let key = keys::unwrap_des(call, token).await?;
    Ok((key.key, key.age))
}

async fn aes_key(call: Call<'_, '_>, field: &[u8]) -> Result<(SecretBytes, Age), Refusal> {
    let token = keys::aes_token(field)?;
    if !matches!(token.key(), AesKey::Wrapped { .. }) {
        return Err(code::TOKEN_INVALID.into());
    }
    let key = keys::unwrap_aes(call, token).await?;
    Ok((key.key, key.age))
}

/// Main type and subtype of a DATA key.
const DATA_TYPE_BITS: (u8, u8) = (0, 0);
