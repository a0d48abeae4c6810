//! Keys of PKA tokens: tokens opened, checked, prepared once, and found again.
//!
//! A prepared key is found by its token in the contexts of its domain ([`crate::prepared`]);
//! only a token seen for the first time is parsed, opened and checked.

use super::{ecc, rsa};
use crate::kernel::Kernel;
use crate::prepared::ecc::PublicContext;
use crate::prepared::{Private, Public};
use crate::registers::Domain;
use engine::{Engine, SecretBytes};
use std::sync::Arc;
use token::pka::{ecc::is_ecc, is_asym, stated_length};
use wire::{Codes, code};

fn of<'k>(kernel: &'k mut Kernel<'_>, domain: u16) -> Result<&'k mut Domain, Codes> {
    kernel.domains.get_mut(usize::from(domain)).ok_or(code::MASTER_KEY_NOT_LOADED)
}

/// The token that starts a field.
fn token_bytes(field: &[u8]) -> Result<&[u8], Codes> {
    let length = stated_length(field).ok_or(code::TOKEN_INVALID)?;
    field.get(..length).ok_or(code::OUT_OF_AREA)
}

/// The private values of the external token that starts the field, under a key-encrypting key.
///
/// # Errors
/// As [`rsa::open_transported`].
pub(super) fn open_transported(
    engine: &Engine,
    wrapping: &SecretBytes,
    field: &[u8],
) -> Result<SecretBytes, Codes> {
    if is_ecc(field) {
        ecc::open_transported(engine, wrapping, field)
    } else {
        rsa::open_transported(engine, wrapping, field)
    }
}

/// The private key of a token, which starts the field.
///
/// # Errors
/// 8/49 for a token under the ASYM master key, where compatible tokens do not open; the reason for which the token
/// gives no key.
pub(super) fn load_private(kernel: &mut Kernel<'_>, domain: u16, field: &[u8]) -> Result<Private, Codes> {
    let engine = kernel.engine;
    let token = token_bytes(field)?;
    if is_asym(token) && !kernel.tokens.open_compatible {
        return Err(code::TOKEN_VERSION);
    }
    if let Some(found) = of(kernel, domain)?.pka.find_private(token) {
        return Ok(found);
    }
    let prepared = if is_ecc(token) {
        Private::Ecc(Arc::new(ecc::prepare_private(kernel, domain, token)?))
    } else {
        Private::Rsa(Arc::new(rsa::prepare_private(kernel, domain, token)?))
    };
    of(kernel, domain)?.pka.keep_private(engine, token, prepared.clone());
    Ok(prepared)
}

/// The public key of a public, clear or internal token, which starts the field. An elliptic-curve token with a private
/// key is opened: its public key is the one that belongs to the private key.
///
/// # Errors
/// The reason for which the token gives no key.
pub(super) fn load_public(kernel: &mut Kernel<'_>, domain: u16, field: &[u8]) -> Result<Public, Codes> {
    let engine = kernel.engine;
    let token = token_bytes(field)?;
    if let Some(found) = of(kernel, domain)?.pka.find_public(token) {
        return Ok(found);
    }
    let prepared = if !is_ecc(token) {
        Public::Rsa(Arc::new(rsa::prepare_public(engine, token)?))
    } else if ecc::is_private(token)? {
        let Private::Ecc(private) = load_private(kernel, domain, token)? else {
            return Err(code::SELF_CHECK);
        };
        Public::Ecc(Arc::new(PublicContext::new(private.curve, &private.point)?))
    } else {
        Public::Ecc(Arc::new(ecc::prepare_public(token)?))
    };
    of(kernel, domain)?.pka.keep_public(engine, token, prepared.clone());
    Ok(prepared)
}
