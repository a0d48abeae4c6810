//! Keys of internal variable-length tokens: AES key wrap under a key that is derived from the AES master key, with a hash
//! of everything in front of the payload.
//!
//! CCA hashes the associated data alone, and wraps under the master key itself. Here nothing of the token can be changed: state,
//! pattern and version of the payload are hashed, too. And nothing else that is done with the AES master key comes near these
//! tokens: in compatible AES tokens keys are enciphered by CBC under the master key, so that whoever imports clear keys and
//! exports others enciphers and deciphers single blocks under it; under the same key that would open every token of this form. What
//! is wrapped under a transport key for others is CCA's.

use engine::{CipherDirection, SecretBytes, sha256};
use token::VariableToken;
use token::variable::{VariableKey, Wrapper};
use wire::control::Register;
use wire::{Codes, code};

use super::By;
use super::aeskw::{self, block};
use crate::pass::Kernel;
use crate::registers::Age;

/// The key of an internal token, under the master key of a domain.
///
/// # Errors
/// 8/47 for a token without a key under the master key, and for one that does not open; 8/48 and 12/764 as the register has it.
pub(crate) fn open(
    kernel: &mut Kernel<'_>,
    domain: u16,
    token: &VariableToken,
) -> Result<(SecretBytes, Age), Codes> {
    let VariableKey::Wrapped { under: Wrapper::Master(pattern), payload } = token.key() else {
        return Err(code::TOKEN_INVALID);
    };
    let engine = kernel.engine;
    let domain = kernel.domains.get_mut(usize::from(domain)).ok_or(code::MASTER_KEY_NOT_LOADED)?;
    let age = domain.of_pattern(Register::Aes, pattern)?.0;
    let key = domain.variable_key(engine, age)?;
    let decipher = block(engine, &key, CipherDirection::Decipher);
    let secret = aeskw::unwrap_padded(decipher, &sha256(&token.head()), payload);
    let secret = secret.map_err(|_| code::TOKEN_INVALID)?;
    // A key of another length was not wrapped here.
    if token.wrapped_bytes(secret.len()) == Ok(payload.len()) {
        Ok((secret, age))
    } else {
        Err(code::TOKEN_INVALID)
    }
}

/// The internal token of a key.
///
/// # Errors
/// 8/47 for a key of a length that its type does not have, a token that is not internal, and a transport key; 12/764.
pub(crate) fn close(
    kernel: &mut Kernel<'_>,
    by: &By,
    skeleton: &VariableToken,
    key: &SecretBytes,
) -> Result<VariableToken, Codes> {
    let By::Master(domain) = by else { return Err(code::TOKEN_INVALID) };
    let engine = kernel.engine;
    let domain = kernel.domains.get_mut(usize::from(*domain)).ok_or(code::MASTER_KEY_NOT_LOADED)?;
    let under = Wrapper::Master(domain.current(Register::Aes)?.pattern);
    let bytes = skeleton.wrapped_bytes(key.len()).map_err(|error| error.codes())?;
    let empty = skeleton.with_payload(under, vec![0; bytes]).map_err(|error| error.codes())?;
    let wrapping = domain.variable_key(engine, Age::Current)?;
    let encipher = block(engine, &wrapping, CipherDirection::Encipher);
    let payload = aeskw::wrap_padded(encipher, &sha256(&empty.head()), key, bytes);
    skeleton.with_payload(under, payload).map_err(|_| code::SELF_CHECK)
}
