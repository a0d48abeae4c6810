//! DES keys under key-encrypting keys: opening these, and external tokens.

use super::field::Found;
use super::opening::Opening;
use super::{Algorithm, Key, Made};
use crate::call::Call;
use crate::ground::Refusal;
use crate::parity;
use crate::pass::{Close, Skeleton};
use crate::wrap::By;
use engine::SecretBytes;
use token::usage::{Side, Use, Wrapping};
use token::{ControlVector, DesToken, KeyType};
use wire::code;
use wire::point::Point;

impl<'p, 'a> Call<'p, 'a> {
    /// The key-encrypting key in a field, which must be of this side and be permitted for this use.
    ///
    /// # Errors
    /// 8/30 for a label, 8/47 for a token of another kind, 8/39 for a key of another type or use, 8/49 for one whose
    /// token is not authenticated, 8/48 and 12/764 as the register has it.
    pub(crate) async fn key_encrypting_key(
        &self,
        field: &'a [u8],
        side: Side,
        wrapping: Wrapping,
    ) -> Result<Key, Refusal> {
        let found = self.key(field)?.of(Algorithm::Des)?;
        Ok(found.for_use(Use::Wrap(side, wrapping))?.await?)
    }

    /// The key-encrypting key of private keys in a field: an EXPORTER or IMP-PKA key, or in a role that permits it an
    /// IMPORTER key. An IMPORTER also imports DES keys: the enciphered parts of a private key could come in as one DES
    /// key after the other, and be used and exported as such.
    ///
    /// # Errors
    /// As [`Call::key_encrypting_key`].
    pub(crate) fn private_key_encrypting_key(
        &self,
        field: &'a [u8],
        side: Side,
    ) -> Result<Opening<'p, 'a>, Refusal> {
        let found = self.key(field)?.of(Algorithm::Des)?;
        let is_alone = found.des().is_some_and(|token| token.control_vector().is_for_private_keys());
        if side == Side::Receiving && !is_alone && self.permit(Point::ImportUnderImporter).is_err() {
            return Err(code::KEY_USAGE.into());
        }
        found.for_use(Use::Wrap(side, Wrapping::PrivateKeys))
    }
}

impl Key {
    /// Starts wrapping a key under this key-encrypting key; the skeleton is external.
    ///
    /// # Errors
    /// 8/170 for a key that is longer than this one, unless the role permits it.
    pub(crate) fn wrap<'p>(
        &self,
        call: &Call<'p, '_>,
        skeleton: DesToken,
        secret: SecretBytes,
    ) -> Result<Made<'p>, Refusal> {
        if secret.len() > self.secret.len() && call.permit(Point::WeakTransport).is_err() {
            return Err(code::STRENGTH.into());
        }
        let mut secret = secret;
        if skeleton.control_vector().is_zero() {
            // Without a control vector and an enhanced wrapping, the parts of a key are enciphered under this key as it
            // is. The keys of key blocks follow from what a block of zeros is enciphered to under it, which has no odd
            // parity.
            parity::make_odd(&mut secret);
        }
        let by = By::Key(Box::new(self.secret.clone()));
        Ok(call.ask(Close { skeleton: Skeleton::Des(skeleton), secret, by }))
    }
}

/// What the key-type parameter of a verb asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AskedType {
    /// TOKEN: the type that the token states.
    Token,
    Named(KeyType),
}

impl AskedType {
    /// Reads the parameter.
    ///
    /// # Errors
    /// 8/33.
    pub(crate) fn read(name: &[u8; 8]) -> Result<Self, Refusal> {
        match name {
            b"TOKEN   " => Ok(Self::Token),
            _ => Ok(Self::Named(KeyType::from_name(name).ok_or(code::KEYWORD)?)),
        }
    }

    /// Refuses a control vector of another type.
    ///
    /// # Errors
    /// 8/183.
    pub(crate) fn check(self, vector: ControlVector) -> Result<(), Refusal> {
        match self {
            Self::Named(key_type) if !key_type.covers(vector) => Err(code::TYPE_AND_VECTOR.into()),
            _ => Ok(()),
        }
    }
}

/// The side of the key-encrypting key of private keys in a field, where a verb takes either.
///
/// # Errors
/// As [`side_of`].
pub(crate) fn side_of_private<'a>(call: Call<'_, 'a>, field: &'a [u8]) -> Result<Side, Refusal> {
    side_that(call, field, Wrapping::PrivateKeys)
}

/// The DES token of a key that may leave this system.
///
/// 8/47 for another token; 8/39 if its flags or its control vector forbid export, for a key that leaves in key blocks
/// alone, and for a part of a key.
pub(crate) fn exportable(found: &Found<'_, '_>) -> Result<DesToken, Refusal> {
    let token = exportable_in_blocks(found)?;
    if token.leaves_in_blocks_alone() { Err(code::KEY_USAGE.into()) } else { Ok(token) }
}

/// The DES token of a key that may leave this system in a key block. If the key [may leave in key blocks
/// alone](DesToken::leaves_in_blocks_alone), the block says so again.
///
/// # Errors
/// As [`exportable`].
pub(crate) fn exportable_in_blocks(found: &Found<'_, '_>) -> Result<DesToken, Refusal> {
    let token = found.des().ok_or(code::TOKEN_INVALID)?;
    if token.export_prohibited() || !token.control_vector().may(Use::Export) {
        return Err(code::KEY_USAGE.into());
    }
    Ok(*token)
}

/// The side of the key-encrypting key in a field, where a verb takes either.
///
/// # Errors
/// 8/39 for a key that wraps no keys; as [`Call::key`].
pub(crate) fn side_of<'a>(call: Call<'_, 'a>, field: &'a [u8]) -> Result<Side, Refusal> {
    side_that(call, field, Wrapping::Tested)
}

/// The side of the key-encrypting key in a field under which the key of this external token is to be tested.
///
/// Private keys are enciphered block by block under the transport key itself, and so is a DES key without a control
/// vector. Any block of a private key thus passes for such a DES key, and a search of DES keys for its pattern would
/// tell what the block holds. So under a key that carries private keys out (EXPORT), a token is tested only if it has a
/// control vector or the enhanced wrapping, which both change the key-encrypting key. A key that both brings private
/// keys in and tests keys can do no more than one that imports DES keys.
///
/// # Errors
/// 8/39 for a key that wraps no keys, and for a token that such a key does not test; as [`Call::key`].
pub(crate) fn side_of_tested<'a>(
    call: Call<'_, 'a>,
    field: &'a [u8],
    token: &DesToken,
) -> Result<Side, Refusal> {
    let side = side_of(call, field)?;
    let carries = side_of_private(call, field).is_ok() && side == Side::Sending;
    let is_bare = token.control_vector().is_zero() && !token.is_enhanced();
    if carries && is_bare { Err(code::KEY_USAGE.into()) } else { Ok(side) }
}

fn side_that<'a>(call: Call<'_, 'a>, field: &'a [u8], wrapping: Wrapping) -> Result<Side, Refusal> {
    let found = call.key(field)?.of(Algorithm::Des)?;
    let vector = found.des().ok_or(code::TOKEN_INVALID)?.control_vector();
    let is_on = |side: &Side| vector.may(Use::Wrap(*side, wrapping));
    Ok([Side::Sending, Side::Receiving].into_iter().find(is_on).ok_or(code::KEY_USAGE)?)
}
