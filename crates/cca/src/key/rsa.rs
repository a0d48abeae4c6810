//! RSA keys: tokens opened, checked, prepared once, and found again.
//!
//! A prepared key is found by its token in the contexts of its domain ([`super::contexts`]);
//! only a token seen for the first time is parsed, opened and checked.

use std::sync::Arc;

use engine::{
    Engine, RSA_BITS_STRONG, RsaCrt, RsaKeyError, RsaPrivateKey, RsaPublicKey, SecretBytes, sha1, sha256,
};
use token::pka::{PkaToken, PrivateSection, PrivateValues, Source, SplitValues, Usage, stated_length};
use wire::bounds::CONTEXTS_PER_DOMAIN_MAX;
use wire::{Codes, code};

use super::contexts::Contexts;
use crate::pass::Kernel;
use crate::registers::{Age, Domain};
use crate::wrap::rsa_sections;

/// Prepared private keys of a domain; the rest of [`CONTEXTS_PER_DOMAIN_MAX`] is for public ones.
const PRIVATE_CONTEXTS_MAX: usize = CONTEXTS_PER_DOMAIN_MAX / 4 * 3;
const PUBLIC_CONTEXTS_MAX: usize = CONTEXTS_PER_DOMAIN_MAX - PRIVATE_CONTEXTS_MAX;

/// The prepared RSA keys of one domain; wiped with it.
#[derive(Default)]
pub(crate) struct RsaContexts {
    private: Option<Contexts<Arc<PrivateContext>>>,
    public: Option<Contexts<Arc<PublicContext>>>,
}

impl RsaContexts {
    /// Prepared keys held.
    pub(crate) fn len(&self) -> usize {
        self.private.as_ref().map_or(0, Contexts::len) + self.public.as_ref().map_or(0, Contexts::len)
    }

    fn private(&mut self, engine: &Engine) -> &mut Contexts<Arc<PrivateContext>> {
        self.private.get_or_insert_with(|| Contexts::new(PRIVATE_CONTEXTS_MAX, seed(engine)))
    }

    fn public(&mut self, engine: &Engine) -> &mut Contexts<Arc<PublicContext>> {
        self.public.get_or_insert_with(|| Contexts::new(PUBLIC_CONTEXTS_MAX, seed(engine)))
    }
}

fn seed(engine: &Engine) -> [u8; 16] {
    let mut seed = [0; 16];
    engine.random(&mut seed);
    seed
}

/// A private key ready for use, and what its token says of it.
pub(crate) struct PrivateContext {
    pub(crate) key: RsaPrivateKey,
    pub(crate) usage: Usage,
    /// Master key that wrapped the token; `None` for a clear token.
    pub(crate) age: Option<Age>,
    pub(crate) modulus: Vec<u8>,
    pub(crate) modulus_bits: usize,
    /// Whether a card generated the numbers; otherwise a caller supplied them.
    pub(crate) generated: bool,
}

impl PrivateContext {
    /// Length of the modulus in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.modulus.len()
    }

    /// Codes of a verb that did everything with this key.
    pub(crate) fn codes(&self) -> Codes {
        self.age.map_or(code::OK, Age::codes)
    }
}

/// A public key ready for use.
pub(crate) struct PublicContext {
    pub(crate) key: RsaPublicKey,
    pub(crate) modulus: Vec<u8>,
    pub(crate) modulus_bits: usize,
}

impl PublicContext {
    /// Length of the modulus in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.modulus.len()
    }
}

/// The private key of a token, which starts the field.
///
/// # Errors
/// Why the token gives none.
pub(crate) fn load_private(
    kernel: &mut Kernel<'_>,
    domain: u16,
    field: &[u8],
) -> Result<Arc<PrivateContext>, Codes> {
    let engine = kernel.engine;
    let token = token_bytes(field)?;
    if let Some(found) = of(kernel, domain)?.rsa.private(engine).find(token) {
        return Ok(found);
    }
    let view = PkaToken::parse(token, &(sha1, sha256)).map_err(|error| error.codes())?;
    let private = view.private().ok_or(code::TOKEN_INVALID)?;
    strong_enough(engine, view.modulus_bits())?;
    let (key, age) = prepare(kernel, domain, &view, private)?;
    let context = Arc::new(PrivateContext {
        key,
        usage: private.usage,
        age,
        modulus: view.modulus().to_vec(),
        modulus_bits: view.modulus_bits(),
        // Only a wrapped token proves what it says of itself.
        generated: age.is_some() && private.source == Some(Source::Random),
    });
    of(kernel, domain)?.rsa.private(engine).insert(token, Arc::clone(&context));
    Ok(context)
}

fn of<'k>(kernel: &'k mut Kernel<'_>, domain: u16) -> Result<&'k mut Domain, Codes> {
    kernel.domains.get_mut(usize::from(domain)).ok_or(code::MASTER_KEY_NOT_LOADED)
}

fn prepare(
    kernel: &Kernel<'_>,
    domain: u16,
    view: &PkaToken<'_>,
    private: &PrivateSection<'_>,
) -> Result<(RsaPrivateKey, Option<Age>), Codes> {
    let engine = kernel.engine;
    match private.values {
        PrivateValues::Skeleton => Err(code::TOKEN_INVALID),
        PrivateValues::ClearMe { d } => Ok((private_key(engine, view, SplitValues::Me { d })?, None)),
        PrivateValues::ClearCrt(components) => {
            Ok((private_key(engine, view, SplitValues::Crt(components))?, None))
        }
        PrivateValues::Wrapped(wrapped) => {
            let (values, age) = rsa_sections::open(kernel, domain, view, &wrapped)?;
            let split = wrapped.lengths.split(&values).ok_or(code::TOKEN_INVALID)?;
            Ok((private_key(engine, view, split)?, Some(age)))
        }
    }
}

/// Prepares a private key whose parts are those of one key.
fn private_key(
    engine: &Engine,
    view: &PkaToken<'_>,
    values: SplitValues<'_>,
) -> Result<RsaPrivateKey, Codes> {
    let (n, e) = (view.modulus(), view.exponent());
    match values {
        SplitValues::Crt(c) => {
            let parts = RsaCrt { n, e, p: c.p, q: c.q, dp: c.dp, dq: c.dq, qinv: c.u };
            RsaPrivateKey::from_crt(&parts).map_err(key_codes)
        }
        SplitValues::Me { d } => {
            let key = RsaPrivateKey::from_me(n, e, d).map_err(key_codes)?;
            // Whether an exponent belongs to its modulus shows at the first use: it is made here, so that
            // a wrong one is refused before it is kept, if not for certain.
            let mut trial = vec![0; n.len()];
            engine.random(&mut trial[1..]);
            trial[0] = 0;
            let mut result = SecretBytes::new(n.len());
            engine.rsa_private(&key, &trial, result.as_mut()).map_err(|_| code::PKA_FIELD)?;
            Ok(key)
        }
    }
}

/// Codes for a key that the engine refuses.
pub(crate) fn key_codes(error: RsaKeyError) -> Codes {
    match error {
        RsaKeyError::Weak { .. } => code::WEAK_ALGORITHM,
        RsaKeyError::Size { .. } | RsaKeyError::SizeStep { .. } => code::RSA_KEY_LENGTH,
        RsaKeyError::Generation { .. } => code::SELF_CHECK,
        _ => code::PKA_FIELD,
    }
}

/// Refuses a key that only the setting for weak algorithms allows.
fn strong_enough(engine: &Engine, modulus_bits: usize) -> Result<(), Codes> {
    if modulus_bits >= RSA_BITS_STRONG || engine.weak_algorithms() {
        Ok(())
    } else {
        Err(code::WEAK_ALGORITHM)
    }
}

/// The token that starts a field.
fn token_bytes(field: &[u8]) -> Result<&[u8], Codes> {
    let length = stated_length(field).ok_or(code::TOKEN_INVALID)?;
    field.get(..length).ok_or(code::OUT_OF_AREA)
}

/// The public key of a token - public, clear or internal - which starts the field.
///
/// # Errors
/// Why the token gives none.
pub(crate) fn load_public(
    kernel: &mut Kernel<'_>,
    domain: u16,
    field: &[u8],
) -> Result<Arc<PublicContext>, Codes> {
    let engine = kernel.engine;
    let contexts = of(kernel, domain)?.rsa.public(engine);
    let token = token_bytes(field)?;
    if let Some(found) = contexts.find(token) {
        return Ok(found);
    }
    let view = PkaToken::parse(token, &(sha1, sha256)).map_err(|error| error.codes())?;
    if view.modulus().is_empty() {
        return Err(code::TOKEN_INVALID);
    }
    strong_enough(engine, view.modulus_bits())?;
    let key = RsaPublicKey::new(view.modulus(), view.exponent()).map_err(key_codes)?;
    let context =
        Arc::new(PublicContext { key, modulus: view.modulus().to_vec(), modulus_bits: view.modulus_bits() });
    contexts.insert(token, Arc::clone(&context));
    Ok(context)
}
