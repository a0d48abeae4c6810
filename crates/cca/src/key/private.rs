//! Private keys under AES key-encrypting keys: which of these keys serve, and external tokens.

use super::Key;
use super::opening::Opening;
use super::variable_exchange::side_of_type;
use crate::call::Call;
use crate::ground::Refusal;
use crate::pass::{Close, Open, Opened, Skeleton, Token};
use crate::wrap::By;
use engine::{SecretBytes, sha1, sha256};
use token::Format;
use token::pka::ecc::{EccAttributes, EccCurve, EccWrappedBuilder};
use token::pka::{Attributes, ClearKey, Destination, WrappedBuilder};
use token::usage::{Side, Wrapping};
use token::variable::{PrivateAlgorithm, VariableUse};
use wire::code;
use wire::point::Point;

impl<'p, 'a> Call<'p, 'a> {
    /// Starts opening the AES key-encrypting key in a field. The key must be of this side, or of either if none is
    /// named, and must be permitted for this use and for private keys of this algorithm.
    ///
    /// # Errors
    /// 8/30 for a label, 8/47 for a token of another kind, 8/39 for a key of another type or use; as the opening
    /// itself.
    pub(crate) fn aes_private_key_encrypting_key(
        &self,
        field: &'a [u8],
        side: Option<Side>,
        wrapping: Wrapping,
        algorithm: PrivateAlgorithm,
    ) -> Result<Opening<'p, 'a>, Refusal> {
        let found = self.key(field)?.variable()?;
        let attributes = found.variable()?.attributes();
        if !attributes.wraps_private(algorithm) {
            return Err(code::KEY_USAGE.into());
        }
        let side = side.unwrap_or(side_of_type(attributes.key_type()));
        found.for_variable_use(VariableUse::Wrap(side, wrapping))
    }
}

/// Refuses a transport key of AES where one of DES is wanted, or the reverse, and a keyword that names the wrong one.
///
/// # Errors
/// 8/49.
pub(crate) fn check_kind(field: &[u8], is_aes: bool, named: Option<bool>) -> Result<(), Refusal> {
    let there = match Format::of(field) {
        Format::VariableInternal => Some(true),
        Format::DesInternal => Some(false),
        _ => None,
    };
    let is_other = |kind: Option<bool>| kind.is_some_and(|kind| kind != is_aes);
    if is_other(there) || is_other(named) { Err(code::TOKEN_VERSION.into()) } else { Ok(()) }
}

impl Key {
    /// Refuses to wrap or unwrap a key that is stronger than this AES key.
    ///
    /// # Errors
    /// 8/170, unless the role has this point.
    pub(crate) fn check_strength(
        &self,
        call: &Call<'_, '_>,
        bits: usize,
        point: Point,
    ) -> Result<(), Refusal> {
        let is_weaker = 8 * self.secret.len() < bits;
        if is_weaker && call.permit(point).is_err() { Err(code::STRENGTH.into()) } else { Ok(()) }
    }

    /// The external token of an RSA key under this AES key.
    pub(crate) async fn wrap_rsa(
        &self,
        call: Call<'_, '_>,
        key: &ClearKey<'_>,
        attributes: &Attributes,
    ) -> Result<Token, Refusal> {
        let (n, e) = match *key {
            ClearKey::Me { n, e, .. } | ClearKey::Crt { n, e, .. } => (n, e),
        };
        let builder =
            WrappedBuilder::new(Destination::External, attributes, n, e, key.lengths(), &(sha1, sha256))
                .map_err(|error| error.codes())?;
        let by = By::Key(Box::new(self.secret.clone()));
        let skeleton = Skeleton::Rsa(Box::new(builder));
        Ok(call.ask(Close { skeleton, secret: values_of(key), by }).await?)
    }

    /// The external token of a private value of an elliptic curve under this AES key.
    pub(crate) async fn wrap_ecc(
        &self,
        call: Call<'_, '_>,
        curve: EccCurve,
        value: SecretBytes,
        point: &[u8],
        attributes: &EccAttributes,
    ) -> Result<Token, Refusal> {
        let builder = EccWrappedBuilder::new(Destination::External, curve, point, attributes)
            .map_err(|error| error.codes())?;
        let by = By::Key(Box::new(self.secret.clone()));
        Ok(call.ask(Close { skeleton: Skeleton::Ecc(Box::new(builder)), secret: value, by }).await?)
    }
}

/// The private values of the external token that starts the field, under this key-encrypting key.
///
/// # Errors
/// 8/47 if the values do not open, whatever is wrong with them.
pub(crate) async fn open_transported<'a>(
    call: Call<'_, 'a>,
    kek: Key,
    field: &'a [u8],
) -> Result<SecretBytes, Refusal> {
    match call.ask(Open::Transported { wrapping: kek.secret, field }).await? {
        Opened::Secret(values, _) => Ok(values),
        _ => Err(code::SELF_CHECK.into()),
    }
}

/// The private values of a key, in the order of a token.
pub(crate) fn values_of(key: &ClearKey<'_>) -> SecretBytes {
    let mut values = SecretBytes::new(key.lengths().total());
    let mut at = 0;
    for value in key.values() {
        values[at..at + value.len()].copy_from_slice(value);
        at += value.len();
    }
    values
}

/// Length in bits of the AES key that is as strong as a modulus of this many bits (SP 800-57 part 1, 5.6.1.1).
pub(crate) const fn strength_of_modulus(bits: usize) -> usize {
    match bits {
        0..=3072 => 128,
        3073..=7680 => 192,
        _ => 256,
    }
}

/// Length in bits of the AES key that is as strong as a curve: half the bits of its prime, at most 256.
pub(crate) const fn strength_of_curve(curve: EccCurve) -> usize {
    let bits = curve.bits() / 2;
    if bits < 256 { bits } else { 256 }
}
