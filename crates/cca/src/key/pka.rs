//! Keys of PKA tokens: tokens opened, checked, prepared once, and found again.
//!
//! A prepared key is found by its token in the contexts of its domain ([`super::contexts`]);
//! only a token seen for the first time is parsed, opened and checked.

use std::sync::Arc;

use engine::{Engine, SecretBytes};
use token::pka::{ecc::is_ecc, is_asym, stated_length};
use wire::bounds::CONTEXTS_PER_DOMAIN_MAX;
use wire::{Codes, code};

use super::contexts::Contexts;
use super::{ecc, rsa};
use crate::pass::Kernel;
use crate::registers::Domain;

/// Prepared private keys of a domain; the rest of [`CONTEXTS_PER_DOMAIN_MAX`] is for public ones.
const PRIVATE_CONTEXTS_MAX: usize = CONTEXTS_PER_DOMAIN_MAX / 4 * 3;
const PUBLIC_CONTEXTS_MAX: usize = CONTEXTS_PER_DOMAIN_MAX - PRIVATE_CONTEXTS_MAX;

/// A prepared private key.
#[derive(Clone)]
pub(crate) enum Private {
    Rsa(Arc<rsa::PrivateContext>),
    Ecc(Arc<ecc::PrivateContext>),
}

/// A prepared public key.
#[derive(Clone)]
pub(crate) enum Public {
    Rsa(Arc<rsa::PublicContext>),
    Ecc(Arc<ecc::PublicContext>),
}

/// The prepared keys of one domain; wiped with it.
#[derive(Default)]
pub(crate) struct PkaContexts {
    private: Option<Contexts<Private>>,
    public: Option<Contexts<Public>>,
}

impl PkaContexts {
    /// Prepared keys held.
    pub(crate) fn len(&self) -> usize {
        self.private.as_ref().map_or(0, Contexts::len) + self.public.as_ref().map_or(0, Contexts::len)
    }

    /// Whether the private key of a token is among them.
    pub(crate) fn has_private(&self, token: &[u8]) -> bool {
        self.private.as_ref().is_some_and(|private| private.has(token))
    }

    fn private(&mut self, engine: &Engine) -> &mut Contexts<Private> {
        self.private.get_or_insert_with(|| Contexts::new(PRIVATE_CONTEXTS_MAX, seed(engine)))
    }

    fn public(&mut self, engine: &Engine) -> &mut Contexts<Public> {
        self.public.get_or_insert_with(|| Contexts::new(PUBLIC_CONTEXTS_MAX, seed(engine)))
    }
}

fn seed(engine: &Engine) -> [u8; 16] {
    let mut seed = [0; 16];
    engine.random(&mut seed);
    seed
}

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
pub(crate) fn open_transported(
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
/// 8/49 for a token under the ASYM master key, where compatible ones do not open; why the token gives none.
pub(crate) fn load_private(kernel: &mut Kernel<'_>, domain: u16, field: &[u8]) -> Result<Private, Codes> {
    let engine = kernel.engine;
    let token = token_bytes(field)?;
    if is_asym(token) && !kernel.tokens.open_compatible {
        return Err(code::TOKEN_VERSION);
    }
    if let Some(found) = of(kernel, domain)?.pka.private(engine).find(token) {
        return Ok(found);
    }
    let prepared = if is_ecc(token) {
        Private::Ecc(Arc::new(ecc::prepare_private(kernel, domain, token)?))
    } else {
        Private::Rsa(Arc::new(rsa::prepare_private(kernel, domain, token)?))
    };
    of(kernel, domain)?.pka.private(engine).insert(token, prepared.clone());
    Ok(prepared)
}

/// The public key of a token - public, clear or internal - which starts the field. Of an elliptic curve, a public key
/// beside a private one is that of the private one, which is opened for that.
///
/// # Errors
/// Why the token gives none.
pub(crate) fn load_public(kernel: &mut Kernel<'_>, domain: u16, field: &[u8]) -> Result<Public, Codes> {
    let engine = kernel.engine;
    let token = token_bytes(field)?;
    if let Some(found) = of(kernel, domain)?.pka.public(engine).find(token) {
        return Ok(found);
    }
    let prepared = if !is_ecc(token) {
        Public::Rsa(Arc::new(rsa::prepare_public(engine, token)?))
    } else if ecc::is_private(token)? {
        let Private::Ecc(private) = load_private(kernel, domain, token)? else {
            return Err(code::SELF_CHECK);
        };
        Public::Ecc(Arc::new(ecc::PublicContext::new(private.curve, &private.point)?))
    } else {
        Public::Ecc(Arc::new(ecc::prepare_public(token)?))
    };
    of(kernel, domain)?.pka.public(engine).insert(token, prepared.clone());
    Ok(prepared)
}
