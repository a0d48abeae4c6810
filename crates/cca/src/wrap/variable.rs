//! Keys of variable-length tokens: AES key wrap with a hash of what the token says.
//!
//! | token | key that wraps | what is hashed |
//! |---|---|---|
//! | internal | derived from the AES master key | everything in front of the payload |
//! | external | an AES transport key | the associated data |
//!
//! CCA hashes the associated data alone, and wraps internal keys under the master key itself. Here nothing of an internal token can be
//! changed: state, pattern and version of the payload are hashed, too. And nothing else that is done with the AES master key comes near
//! these tokens: in compatible AES tokens keys are enciphered by CBC under the master key, so that whoever imports clear keys and
//! exports others enciphers and deciphers single blocks under it; under the same key that would open every token of this form. What
//! is wrapped under a transport key for others is CCA's: of such a token only the version of the payload is not bound to the key, which
//! says no more than how long the payload is.

use engine::{CipherDirection, CipherKey, Engine, SecretBytes, sha256};
use token::VariableToken;
use token::unconfirmed::TRANSPORT_PATTERN_BYTES;
use token::variable::{ASSOCIATED_AT, VariableKey, WRAPPER_PATTERN_BYTES, Wrapper};
use wire::control::Register;
use wire::{Codes, code};

use super::By;
use super::aeskw::{self, block};
use crate::key::Algorithm;
use crate::pass::Kernel;
use crate::patterns;
use crate::registers::Age;

/// The key of a token, under the master key of a domain or under a transport key.
///
/// # Errors
/// 8/47 for a token without a key under a key of this kind, and for one that does not open, whatever is wrong with it; 8/48 and
/// 12/764 as the register has it.
pub(crate) fn open(
    kernel: &mut Kernel<'_>,
    by: &By,
    token: &VariableToken,
) -> Result<(SecretBytes, Age), Codes> {
    let engine = kernel.engine;
    let (secret, age, bytes) = match (by, token.key()) {
        (By::Master(domain), VariableKey::Wrapped { under: Wrapper::Master(pattern), payload }) => {
            let domain = kernel.domains.get_mut(usize::from(*domain)).ok_or(code::MASTER_KEY_NOT_LOADED)?;
            let age = domain.of_pattern(Register::Aes, pattern)?.0;
            let key = domain.variable_key(engine, age)?;
            let decipher = block(engine, &key, CipherDirection::Decipher);
            (aeskw::unwrap_padded(decipher, &sha256(&token.head()), payload), age, payload.len())
        }
        (By::Key(wrapping), VariableKey::Wrapped { under: Wrapper::Key(pattern), payload }) => {
            // Patterns are public.
            if pattern_of(engine, wrapping) != *pattern {
                return Err(code::TOKEN_INVALID);
            }
            let key = transport_key(engine, wrapping)?;
            let decipher = block(engine, &key, CipherDirection::Decipher);
            let hash = sha256(&token.head()[ASSOCIATED_AT..]);
            (aeskw::unwrap_padded(decipher, &hash, payload), Age::Current, payload.len())
        }
        _ => return Err(code::TOKEN_INVALID),
    };
    let secret = secret.map_err(|_| code::TOKEN_INVALID)?;
    // A key of another length was not wrapped here.
    if token.wrapped_bytes(secret.len()) == Ok(bytes) { Ok((secret, age)) } else { Err(code::TOKEN_INVALID) }
}

/// The token of a key, internal under the master key, else external.
///
/// # Errors
/// 8/47 for a key of a length that its type does not have, and a token of the other origin; 12/764.
pub(crate) fn close(
    kernel: &mut Kernel<'_>,
    by: &By,
    skeleton: &VariableToken,
    key: &SecretBytes,
) -> Result<VariableToken, Codes> {
    let engine = kernel.engine;
    let bytes = skeleton.wrapped_bytes(key.len()).map_err(|error| error.codes())?;
    let with = |under, payload| skeleton.with_payload(under, payload).map_err(|error| error.codes());
    match by {
        By::Master(domain) => {
            let domain = kernel.domains.get_mut(usize::from(*domain)).ok_or(code::MASTER_KEY_NOT_LOADED)?;
            let under = Wrapper::Master(domain.current(Register::Aes)?.pattern);
            let hash = sha256(&with(under, vec![0; bytes])?.head());
            let wrapping = domain.variable_key(engine, Age::Current)?;
            let encipher = block(engine, &wrapping, CipherDirection::Encipher);
            with(under, aeskw::wrap_padded(encipher, &hash, key, bytes))
        }
        By::Key(wrapping) => {
            let under = Wrapper::Key(pattern_of(engine, wrapping));
            let hash = sha256(&with(under, vec![0; bytes])?.head()[ASSOCIATED_AT..]);
            let wrapping = transport_key(engine, wrapping)?;
            let encipher = block(engine, &wrapping, CipherDirection::Encipher);
            with(under, aeskw::wrap_padded(encipher, &hash, key, bytes))
        }
    }
}

/// A transport key, prepared.
pub(super) fn transport_key(engine: &Engine, key: &SecretBytes) -> Result<CipherKey, Codes> {
    let cipher = Algorithm::Aes.cipher(key.len());
    engine.cipher_key_internal(cipher, key).map_err(|_| code::SELF_CHECK)
}

/// What names a transport key in the tokens that it wraps.
pub(super) fn pattern_of(engine: &Engine, key: &SecretBytes) -> [u8; WRAPPER_PATTERN_BYTES] {
    let mut pattern = patterns::both(engine, Register::Aes, key);
    pattern[TRANSPORT_PATTERN_BYTES..].fill(0);
    pattern
}
