//! Elliptic-curve keys: tokens opened and checked, keys prepared.

use crate::kernel::Kernel;
use crate::prepared::ecc::{PrivateContext, PrivateKey, PublicContext};
use crate::wrap::pka_sections;
use engine::{Engine, SecretBytes};
use token::pka::ecc::{EccToken, EccValue};
use wire::{Codes, code};

/// The private key of a token.
///
/// # Errors
/// 8/47 for a token without a private key; 8/770 if the public key beside it belongs to another key; the errors of the
/// token and of its opening.
pub(super) fn prepare_private(
    kernel: &Kernel<'_>,
    domain: u16,
    token: &[u8],
) -> Result<PrivateContext, Codes> {
    let view = EccToken::parse(token).map_err(|error| error.codes())?;
    let (curve, private) = (view.curve(), view.private().ok_or(code::TOKEN_INVALID)?);
    let (key, age) = match private.value {
        EccValue::Skeleton | EccValue::Transported(_) => return Err(code::TOKEN_INVALID),
        EccValue::Clear(value) => (PrivateKey::new(curve, value)?, None),
        EccValue::Wrapped(wrapped) => {
            let (value, age) = pka_sections::open_ecc(kernel, domain, curve, &wrapped)?;
            (PrivateKey::new(curve, &value)?, Some(age))
        }
    };
    let point = key.point();
    if point != view.point() {
        return Err(code::PKA_FIELD);
    }
    Ok(PrivateContext { key, curve, point, usage: private.usage, age })
}

/// The private value of an external token under a key-encrypting key, if it belongs to the public key beside it.
///
/// # Errors
/// 8/47 where it does not open, whatever is wrong with it.
pub(super) fn open_transported(
    engine: &Engine,
    wrapping: &SecretBytes,
    token: &[u8],
) -> Result<SecretBytes, Codes> {
    let view = EccToken::parse(token).map_err(|error| error.codes())?;
    let Some(EccValue::Transported(wrapped)) = view.private().map(|private| private.value) else {
        return Err(code::TOKEN_INVALID);
    };
    let value = pka_sections::open_transported_ecc(engine, wrapping, view.curve(), &wrapped)?;
    let key = PrivateKey::new(view.curve(), &value).map_err(|_| code::TOKEN_INVALID)?;
    if key.point() == view.point() { Ok(value) } else { Err(code::TOKEN_INVALID) }
}

/// Whether a token has a private section that opens without another key. Beside a section that needs another key the
/// public key is a claim, as in a public token.
///
/// # Errors
/// The token's own.
pub(super) fn is_private(token: &[u8]) -> Result<bool, Codes> {
    let view = EccToken::parse(token).map_err(|error| error.codes())?;
    Ok(view.private().is_some_and(|private| !matches!(private.value, EccValue::Transported(_))))
}

/// The public key of a public token.
///
/// # Errors
/// As [`PublicContext::new`]; the token's own.
pub(super) fn prepare_public(token: &[u8]) -> Result<PublicContext, Codes> {
    let view = EccToken::parse(token).map_err(|error| error.codes())?;
    PublicContext::new(view.curve(), view.point())
}
