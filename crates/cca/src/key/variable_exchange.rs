//! AES and HMAC keys of variable length under AES key-encrypting keys: opening these, and external tokens.

use super::field::Found;
use super::{Key, Made};
use crate::call::Call;
use crate::ground::Refusal;
use crate::pass::{Close, Skeleton};
use crate::wrap::By;
use engine::SecretBytes;
use token::VariableToken;
use token::unconfirmed::HMAC_STRENGTH_BITS_MAX;
use token::usage::{Side, Wrapping};
use token::variable::{Attributes, Carrier, Completeness, VariableType, VariableUse};
use wire::code;
use wire::point::Point;
use wire::verb::SymmetricAlgorithm;

impl<'p, 'a> Call<'p, 'a> {
    /// The AES key-encrypting key in a field, which must be of this side, be permitted to do this, and wrap keys of
    /// these attributes.
    ///
    /// # Errors
    /// 8/30 for a label, 8/47 for a token of another kind, 8/39 for a key of another type or use and for one that wraps
    /// no such key, 8/48 and 12/764 as the register has it.
    pub(crate) async fn aes_key_encrypting_key(
        &self,
        field: &'a [u8],
        side: Side,
        wrapping: Wrapping,
        wrapped: &Attributes,
    ) -> Result<Key, Refusal> {
        let found = self.key(field)?.variable()?;
        if !found.variable()?.attributes().wraps_kind_of(wrapped) {
            return Err(code::KEY_USAGE.into());
        }
        Ok(found.for_variable_use(VariableUse::Wrap(side, wrapping))?.await?)
    }

    /// The same, where a verb takes a key of either side.
    ///
    /// # Errors
    /// As [`Call::aes_key_encrypting_key`].
    pub(crate) async fn aes_key_encrypting_key_of_either_side(
        &self,
        field: &'a [u8],
        wrapping: Wrapping,
        wrapped: &Attributes,
    ) -> Result<Key, Refusal> {
        let side = side_of_type(self.key(field)?.variable()?.variable()?.key_type());
        self.aes_key_encrypting_key(field, side, wrapping, wrapped).await
    }
}

impl Found<'_, '_> {
    /// Refuses a key of variable length of another algorithm.
    ///
    /// # Errors
    /// 8/47.
    pub(crate) fn check_variable_algorithm(&self, algorithm: SymmetricAlgorithm) -> Result<(), Refusal> {
        let is_named = match algorithm {
            SymmetricAlgorithm::Aes => self.is_of_aes(),
            SymmetricAlgorithm::Hmac => !self.is_of_aes(),
            SymmetricAlgorithm::Des => false,
        };
        if self.is_variable() && is_named { Ok(()) } else { Err(code::TOKEN_INVALID.into()) }
    }
}

impl Key {
    /// Starts wrapping a key under this AES key-encrypting key; the skeleton is external. The token of a key that is
    /// stronger says that it was under a weaker one.
    ///
    /// # Errors
    /// 8/170 for a key that is stronger than this one, unless the role permits it.
    pub(crate) fn wrap_variable<'p>(
        &self,
        call: &Call<'p, '_>,
        mut skeleton: VariableToken,
        secret: SecretBytes,
    ) -> Result<Made<'p>, Refusal> {
        if self.is_weaker_than(skeleton.key_type(), &secret) {
            call.permit(Point::WeakTransport).map_err(|_| code::STRENGTH)?;
            skeleton = skeleton.with_attributes(skeleton.attributes().clone().weakened())?;
        }
        let by = By::Key(Box::new(self.secret.clone()));
        Ok(call.ask(Close { skeleton: Skeleton::Variable(Box::new(skeleton)), secret, by }))
    }

    /// The attributes that a key has in this system after it came in with these under this AES key-encrypting key.
    ///
    /// # Errors
    /// 8/170 for a key that is stronger than this one, unless the role permits it.
    pub(crate) fn imported(
        &self,
        call: &Call<'_, '_>,
        attributes: Attributes,
        secret: &SecretBytes,
    ) -> Result<Attributes, Refusal> {
        if !self.is_weaker_than(attributes.key_type(), secret) {
            return Ok(attributes);
        }
        call.permit(Point::WeakImport).map_err(|_| code::STRENGTH)?;
        Ok(attributes.weakened())
    }

    fn is_weaker_than(&self, key_type: VariableType, secret: &SecretBytes) -> bool {
        strength_bits(key_type, secret.len()) > 8 * self.secret.len()
    }
}

/// The strength in bits that a key of this length in bytes counts as.
pub(crate) fn strength_bits(key_type: VariableType, key_bytes: usize) -> usize {
    let bits = 8 * key_bytes;
    if key_type.is_aes() { bits } else { bits.min(HMAC_STRENGTH_BITS_MAX) }
}

/// The side of a transport key of this type. Any other type counts as a receiver, and its key is refused for its use.
pub(crate) fn side_of_type(key_type: VariableType) -> Side {
    match key_type {
        VariableType::Exporter => Side::Sending,
        _ => Side::Receiving,
    }
}

/// The token of a key of variable length that may leave this system under an AES transport key.
///
/// # Errors
/// 8/47 for another token; 8/39 where its attributes forbid it, and while it lacks parts.
pub(crate) fn may_leave<'f>(found: &'f Found<'_, '_>, under: Carrier) -> Result<&'f VariableToken, Refusal> {
    let token = found.variable()?;
    if token.attributes().may_leave(under) { Ok(token) } else { Err(code::KEY_USAGE.into()) }
}

/// The token of a key of variable length that may leave this system in a key block.
///
/// # Errors
/// As [`may_leave`], but for a key that leaves in key blocks alone.
pub(crate) fn may_leave_in_blocks<'f>(found: &'f Found<'_, '_>) -> Result<&'f VariableToken, Refusal> {
    let token = found.variable()?;
    if token.attributes().may_leave_in_blocks(Carrier::Aes) { Ok(token) } else { Err(code::KEY_USAGE.into()) }
}

/// The token of a key of variable length that may come in.
///
/// # Errors
/// 8/47 for another token, 8/39 for a key that lacks parts: those come clear, or not at all.
pub(crate) fn may_come<'f>(found: &'f Found<'_, '_>) -> Result<&'f VariableToken, Refusal> {
    let token = found.variable()?;
    match token.attributes().completeness() {
        Completeness::Complete => Ok(token),
        _ => Err(code::KEY_USAGE.into()),
    }
}
