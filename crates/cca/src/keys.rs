//! Keys in the hands of a verb: from a key-identifier argument to a clear key that may be used.

use engine::SecretBytes;
use token::des::Origin;
use token::usage::Use;
use token::{AesToken, DesToken, Identifier};
use wire::{Codes, code};

use crate::call::{Call, Refusal, Reply};
use crate::pass::{Ask, UnwrapAes, UnwrapDes, WrapAes, WrapDes};
use crate::registers::Age;

/// An unwrapped DES key, its token, and how old its wrapping is.
pub(crate) struct DesKey {
    pub(crate) key: SecretBytes,
    pub(crate) token: DesToken,
    pub(crate) age: Age,
}

/// An unwrapped AES key, and how old its wrapping is.
pub(crate) struct AesDataKey {
    pub(crate) key: SecretBytes,
    pub(crate) age: Age,
}

/// The DES token in a key-identifier argument.
///
/// # Errors
/// 8/30 for a label, which the caller's side resolves; 8/47 where it is no DES token; the token's own.
pub(crate) fn des_token(field: &[u8]) -> Result<DesToken, Refusal> {
    match Identifier::of(field) {
        Identifier::Label => Err(code::LABEL_NOT_FOUND.into()),
        Identifier::DesInternal | Identifier::DesExternal => Ok(DesToken::parse(field)?),
        _ => Err(code::TOKEN_INVALID.into()),
    }
}

/// The fixed-length AES token in a key-identifier argument.
///
/// # Errors
/// As [`des_token`]; 8/49 for a variable-length token.
pub(crate) fn aes_token(field: &[u8]) -> Result<AesToken, Refusal> {
    match Identifier::of(field) {
        Identifier::Label => Err(code::LABEL_NOT_FOUND.into()),
        Identifier::Variable => Err(code::TOKEN_VERSION.into()),
        Identifier::AesInternal => Ok(AesToken::parse(field)?),
        _ => Err(code::TOKEN_INVALID.into()),
    }
}

/// Unwraps the internal DES token at a position for this use.
///
/// # Errors
/// As [`des_token`]; 8/39 where the control vector forbids the use; 8/48, 12/764.
pub(crate) async fn des_key(call: Call<'_, '_>, position: usize, usage: Use) -> Result<DesKey, Refusal> {
    let token = des_token(call.key(position)?)?;
    if !token.control_vector().may(usage) {
        return Err(code::KEY_USAGE.into());
    }
    unwrap_des(call, token).await
}

/// Unwraps an internal DES token whatever its use.
pub(crate) async fn unwrap_des(call: Call<'_, '_>, token: DesToken) -> Result<DesKey, Refusal> {
    if token.origin() != Origin::Internal {
        return Err(code::TOKEN_INVALID.into());
    }
    let (key, age) = call.ask(UnwrapDes { domain: call.domain, token }).await?;
    Ok(DesKey { key, token, age })
}

/// Unwraps an AES token; a token with a clear key is refused here.
pub(crate) async fn unwrap_aes(call: Call<'_, '_>, token: AesToken) -> Result<AesDataKey, Refusal> {
    let (key, age) = call.ask(UnwrapAes { domain: call.domain, token }).await?;
    Ok(AesDataKey { key, age })
}

impl DesKey {
    /// Length of the key in bytes.
    pub(crate) fn key_bytes(&self) -> usize {
        self.token.form().key_bytes()
    }

    /// Starts wrapping under the current master key a token that came under the old one; runs in the
    /// next pass beside whatever else is asked.
    pub(crate) fn renew<'p, 'a>(
        &self,
        call: Call<'p, 'a>,
    ) -> Option<Ask<'p, WrapDes, Result<DesToken, Codes>>> {
        let (domain, skeleton) = (call.domain, self.token.without_key());
        (self.age == Age::Old).then(|| call.ask(WrapDes { domain, skeleton, key: self.key.clone() }))
    }
}

impl AesDataKey {
    /// As [`DesKey::renew`].
    pub(crate) fn renew<'p, 'a>(
        &self,
        call: Call<'p, 'a>,
    ) -> Option<Ask<'p, WrapAes, Result<AesToken, Codes>>> {
        (self.age == Age::Old).then(|| call.ask(WrapAes { domain: call.domain, key: self.key.clone() }))
    }
}

/// Writes the renewed DES token, if there is one, into a key-identifier output.
pub(crate) async fn reply_des(
    reply: &mut Reply<'_, '_>,
    position: usize,
    renewal: Option<Ask<'_, WrapDes, Result<DesToken, Codes>>>,
) -> Result<(), Codes> {
    if let Some(renewal) = renewal {
        reply.bytes(position, &renewal.await?.to_bytes());
    }
    Ok(())
}

/// Writes the renewed AES token, if there is one, into a key-identifier output.
pub(crate) async fn reply_aes(
    reply: &mut Reply<'_, '_>,
    position: usize,
    renewal: Option<Ask<'_, WrapAes, Result<AesToken, Codes>>>,
) -> Result<(), Codes> {
    if let Some(renewal) = renewal {
        reply.bytes(position, &renewal.await?.to_bytes());
    }
    Ok(())
}
