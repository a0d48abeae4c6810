//! Keys in the hands of a verb: from a key-identifier argument to a key that may be used, and into a token.
//!
//! ```text
//! call.key(field)?             the key in a field of the request: a token, and not a label
//!     .of(algorithm)?          its token, of that algorithm
//!     .for_use(usage)?         refused here, before any work, where the token does not allow it
//!     .await?                  the key: secret, format, what it was under, how old that is
//! found.under(&kek)?.await?    the key of an external token, under a key-encrypting key
//! key.renew(call, field)?       its token under the current master key in the form that is made, where it came in another
//! call.make(skeleton, secret)  a token of a new key
//! kek.wrap(call, ...)?         an external token of a key
//! ```

pub(crate) mod exchange;
pub(crate) mod field;
pub(crate) mod opening;
pub(crate) mod pka;
pub(crate) mod private;
pub(crate) mod protection;
pub(crate) mod rsa_exchange;
pub(crate) mod target;
#[cfg(test)]
mod tests;
pub(crate) mod transport;
pub(crate) mod variable_exchange;

use crate::call::Call;
use crate::ground::{Age, Algorithm, Refusal};
use crate::pass::{Ask, Close, Skeleton, Token};
use crate::wrap::By;
use engine::{CipherAlgorithm, SecretBytes};
use field::KeyField;
use wire::Codes;

/// A symmetric key that a verb may use; wiped on drop. Small, for it moves through every pass: what else its
/// token says is read again where it is wanted.
pub(crate) struct Key {
    /// Bytes of the key.
    pub(crate) secret: SecretBytes,
    /// Form of the token that the key came in.
    pub(crate) format: Format,
    /// What the key was wrapped under; `None` for a clear key.
    pub(crate) under: Option<Under>,
    /// Age of the master key that wrapped the key; current if no master key did.
    pub(crate) age: Age,
    /// Whether the key's token has the compatible form although authenticated ones are made.
    pub(crate) is_outdated: bool,
}

/// Form of the token that a key came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Fixed-length DES token.
    Des,
    /// Fixed-length AES token, or no token.
    Aes,
    /// Variable-length token.
    Variable,
}

/// What a key was wrapped under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Under {
    /// A master key.
    Master,
    /// A key-encrypting key.
    Key,
    /// An RSA public key.
    Rsa,
}

impl Key {
    /// A clear AES key.
    pub(crate) fn clear_aes(key: &[u8]) -> Self {
        let secret = SecretBytes::from_slice(key);
        Self { secret, format: Format::Aes, under: None, age: Age::Current, is_outdated: false }
    }

    /// A clear key of a token of variable length.
    pub(crate) fn clear_variable(key: &[u8]) -> Self {
        Self { format: Format::Variable, ..Self::clear_aes(key) }
    }

    /// The algorithm of the cipher that takes the key; no cipher takes an HMAC key.
    pub(crate) fn algorithm(&self) -> Algorithm {
        match self.format {
            Format::Des => Algorithm::Des,
            Format::Aes | Format::Variable => Algorithm::Aes,
        }
    }

    /// The cipher that takes the key.
    pub(crate) fn cipher(&self) -> CipherAlgorithm {
        self.algorithm().cipher(self.secret.len())
    }

    /// Starts wrapping anew the key from the token in this field, if the key came under the old master key or in
    /// another form. The new token is under the current master key, in the form that is made; the work runs in the next
    /// pass. A key that was named by its label is not wrapped anew: the caller has no field for the token, and need not
    /// have the right to see tokens.
    pub(crate) fn renew<'p, 'a>(&self, call: Call<'p, 'a>, field: &'a [u8]) -> Result<Renewal<'p>, Refusal> {
        let is_renewed = self.under == Some(Under::Master) && (self.age == Age::Old || self.is_outdated);
        if !is_renewed || call.is_of_record(field) {
            return Ok(Renewal(None));
        }
        let field = KeyField::new(call, field);
        let found =
            if self.format == Format::Variable { field.variable()? } else { field.of(self.algorithm())? };
        let skeleton = found.skeleton();
        Ok(Renewal(Some(call.make(skeleton, self.secret.clone()))))
    }
}

/// The new token of a key that came under the old master key or in another form.
pub(crate) struct Renewal<'p>(Option<Made<'p>>);

impl Renewal<'_> {
    /// The token, if there is one: what goes into the key-identifier output.
    pub(crate) async fn token(self) -> Result<Option<Token>, Codes> {
        match self.0 {
            Some(made) => Ok(Some(made.await?)),
            None => Ok(None),
        }
    }
}

/// A token that is being made.
pub(crate) type Made<'p> = Ask<'p, Close, Result<Token, Codes>>;

impl<'p> Call<'p, '_> {
    /// Starts wrapping a key under the current master key of the call's domain.
    pub(crate) fn make(&self, skeleton: Skeleton, secret: SecretBytes) -> Made<'p> {
        self.ask(Close { skeleton, secret, by: By::Master(self.domain) })
    }
}
