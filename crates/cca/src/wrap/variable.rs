//! Keys of variable-length tokens: AES key wrap with a hash of what the token says.
//!
//! | token | key that wraps | what is hashed |
//! |---|---|---|
//! | internal | derived from the AES master key | everything in front of the payload |
//! | external | an AES transport key | the associated data |
//! CCA hashes the associated data alone, and wraps internal keys under the master key itself. Here no part of an
//! internal token can be changed: state, pattern and version of the payload are hashed, too. And no other use of the
//! AES master key touches these tokens. In compatible AES tokens keys are enciphered by CBC under the master key, so
//! whoever imports clear keys and exports others enciphers and deciphers single blocks under it; under the same key
//! that would open every token of this form. Tokens under a transport key for other systems are as CCA's: only the
//! version of the payload is not bound to the key, and it tells no more than how long the payload is.

use super::{By, Method, aeskw};
use crate::ground::{Age, Algorithm};
use crate::kernel::Kernel;
use crate::patterns;
use engine::{CipherDirection, CipherKey, Engine, SecretBytes, sha256};
use std::sync::Arc;
use token::VariableToken;
use token::unconfirmed::TRANSPORT_PATTERN_BYTES;
use token::variable::{ASSOCIATED_AT, VariableKey, WRAPPER_PATTERN_BYTES, Wrapper};
use wire::control::Register;
use wire::{Codes, code};

/// A key on its way through the network.
pub(crate) struct Lane<'t> {
    token: &'t VariableToken,
    key: Arc<CipherKey>,
    /// SHA-256 of everything that is bound to the key.
    hash: [u8; 32],
    payload: SecretBytes,
    /// Age of the master key; current if another key wraps.
    age: Age,
}

impl<'t> Lane<'t> {
    /// The lane of a token's key, under the master key of a domain or under a transport key.
    ///
    /// # Errors
    /// 8/47 for a token without a key under a key of this kind; 8/48 and 12/764 as the register has it.
    pub(crate) fn to_open(kernel: &mut Kernel<'_>, by: &By, token: &'t VariableToken) -> Result<Self, Codes> {
        let engine = kernel.engine;
        let head = token.head();
        let (key, hash, age, payload) = match (by, token.key()) {
            (By::Master(domain), VariableKey::Wrapped { under: Wrapper::Master(pattern), payload }) => {
                let domain =
                    kernel.domains.get_mut(usize::from(*domain)).ok_or(code::MASTER_KEY_NOT_LOADED)?;
                let age = domain.of_pattern(Register::Aes, pattern)?.0;
                (domain.variable_key(engine, age)?, sha256(&head), age, payload)
            }
            (By::Key(wrapping), VariableKey::Wrapped { under: Wrapper::Key(pattern), payload }) => {
                // Patterns are public.
                if pattern_of(engine, wrapping) != *pattern {
                    return Err(code::TOKEN_INVALID);
                }
                let key = Arc::new(transport_key(engine, wrapping)?);
                (key, sha256(&head[ASSOCIATED_AT..]), Age::Current, payload)
            }
            _ => return Err(code::TOKEN_INVALID),
        };
        if !aeskw::is_padded(&hash, payload) {
            return Err(code::TOKEN_INVALID);
        }
        Ok(Self { token, key, hash, payload: SecretBytes::from_slice(payload), age })
    }

    /// What goes through the network, and the key for it.
    fn payload(&mut self) -> (&CipherKey, &mut [u8]) {
        (&self.key, self.payload.as_mut())
    }

    /// The key of the token, and the age of what wrapped it.
    ///
    /// # Errors
    /// 8/47 where the token does not open, whatever is wrong with it.
    pub(crate) fn opened(&self) -> Result<(SecretBytes, Age), Codes> {
        let secret = aeskw::opened_padded(&self.payload, &self.hash).map_err(|_| code::TOKEN_INVALID)?;
        // The token does not fit a key of this length, so the key was not wrapped into it.
        if self.token.wrapped_bytes(secret.len()) == Ok(self.payload.len()) {
            Ok((secret, self.age))
        } else {
            Err(code::TOKEN_INVALID)
        }
    }
}

/// A key on its way into a token.
pub(crate) struct Closing<'t> {
    lane: Lane<'t>,
    /// All bytes of the token in front of the payload.
    head: Vec<u8>,
}

impl<'t> Closing<'t> {
    /// For a key that goes into this token, internal under the master key, else external.
    ///
    /// # Errors
    /// 8/47 for a key of a length that its type does not have, and a token of the other origin; 12/764.
    pub(crate) fn new(
        kernel: &mut Kernel<'_>,
        by: &By,
        skeleton: &'t VariableToken,
        secret: &SecretBytes,
    ) -> Result<Self, Codes> {
        let engine = kernel.engine;
        let bytes = skeleton.wrapped_bytes(secret.len()).map_err(|error| error.codes())?;
        let head = |under| {
            let token = skeleton.with_payload(under, vec![0; bytes]).map_err(|error| error.codes())?;
            Ok::<_, Codes>(token.head())
        };
        let (key, head, bound_from) = match by {
            By::Master(domain) => {
                let domain =
                    kernel.domains.get_mut(usize::from(*domain)).ok_or(code::MASTER_KEY_NOT_LOADED)?;
                let head = head(Wrapper::Master(domain.current(Register::Aes)?.pattern))?;
                (domain.variable_key(engine, Age::Current)?, head, 0)
            }
            By::Key(wrapping) => {
                let head = head(Wrapper::Key(pattern_of(engine, wrapping)))?;
                (Arc::new(transport_key(engine, wrapping)?), head, ASSOCIATED_AT)
            }
        };
        let hash = sha256(&head[bound_from..]);
        let payload = aeskw::payload(&hash, secret, bytes);
        Ok(Self { lane: Lane { token: skeleton, key, hash, payload, age: Age::Current }, head })
    }

    /// The bytes of the finished token.
    pub(crate) fn into_token(mut self) -> Vec<u8> {
        self.head.extend_from_slice(&self.lane.payload);
        self.head
    }
}

impl Method for Lane<'_> {
    fn run(engine: &Engine, direction: CipherDirection, lanes: &mut [(usize, Self)]) -> Result<(), Codes> {
        aeskw::run(engine, direction, lanes.iter_mut().map(|(_, lane)| lane.payload()))
    }
}

impl Method for Closing<'_> {
    fn run(engine: &Engine, direction: CipherDirection, lanes: &mut [(usize, Self)]) -> Result<(), Codes> {
        aeskw::run(engine, direction, lanes.iter_mut().map(|(_, closing)| closing.lane.payload()))
    }
}

/// A transport key, prepared for AES key wrap.
pub(super) fn transport_key(engine: &Engine, key: &SecretBytes) -> Result<CipherKey, Codes> {
    let cipher = Algorithm::Aes.cipher(key.len());
    engine.cipher_key_internal(cipher, key).map_err(|_| code::SELF_CHECK)
}

/// The pattern by which tokens name the transport key that wraps them.
pub(super) fn pattern_of(engine: &Engine, key: &SecretBytes) -> [u8; WRAPPER_PATTERN_BYTES] {
    let mut pattern = patterns::both(engine, Register::Aes, key);
    pattern[TRANSPORT_PATTERN_BYTES..].fill(0);
    pattern
}
