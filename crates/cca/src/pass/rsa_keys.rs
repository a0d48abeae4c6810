//! RSA keys: tokens unwrapped, checked, prepared once, and found again.
//!
//! A prepared key is found by its token in the contexts of its domain ([`crate::pka::context`]);
//! only a token seen for the first time is parsed, unwrapped and checked.

use std::sync::Arc;

use engine::{
    CipherAlgorithm, CipherDirection, CipherItem, CipherKey, Engine, Mode, RSA_BITS_STRONG, RsaCrt,
    RsaKeyError, RsaPrivateKey, RsaPublicKey, SecretBytes,
};
use token::pka::unconfirmed::OPK_BYTES;
use token::pka::{
    PkaToken, PrivateSection, PrivateValues, SectionHash, Source, SplitValues, Usage, Wrapped, stated_length,
};
use wire::bounds::CONTEXTS_PER_DOMAIN_MAX;
use wire::control::Register;
use wire::{Codes, code};

use super::{Kernel, Pass, Queue, Sink, Work};
use crate::pka::Hashes;
use crate::pka::aeskw;
use crate::pka::context::Contexts;
use crate::registers::{Age, Domain};

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
    /// Whether a card generated the numbers, rather than that a caller gave them.
    pub(super) generated: bool,
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

/// Asks for the private key of a token, which starts the field.
pub(crate) struct LoadPrivate<'a> {
    pub(crate) domain: u16,
    pub(crate) field: &'a [u8],
}

/// The key, or why the token gives none.
pub(crate) type PrivateAnswer = Result<Arc<PrivateContext>, Codes>;

impl<'a> Work<'a> for LoadPrivate<'a> {
    type Answer = PrivateAnswer;

    fn queue<'p>(pass: &'p Pass<'a>) -> &'p Queue<Self, Self::Answer> {
        &pass.load_private
    }

    fn run(kernel: &mut Kernel<'_>, asked: &mut [Self], answers: &mut Sink<'_, Self::Answer>) {
        for work in asked {
            answers.push(load_private(kernel, work));
        }
    }
}

fn load_private(kernel: &mut Kernel<'_>, work: &LoadPrivate<'_>) -> PrivateAnswer {
    let engine = kernel.engine;
    let domain = &mut kernel.domains[usize::from(work.domain)];
    let token = token_bytes(work.field)?;
    if let Some(found) = domain.rsa.private(engine).find(token) {
        return Ok(found);
    }
    let view = PkaToken::parse(token, &Hashes(engine)).map_err(|error| error.codes())?;
    let private = view.private().ok_or(code::TOKEN_INVALID)?;
    strong_enough(engine, view.modulus_bits())?;
    let (key, age) = prepare(engine, domain, &view, private)?;
    let context = Arc::new(PrivateContext {
        key,
        usage: private.usage,
        age,
        modulus: view.modulus().to_vec(),
        modulus_bits: view.modulus_bits(),
        generated: private.source == Some(Source::Random),
    });
    domain.rsa.private(engine).insert(token, Arc::clone(&context));
    Ok(context)
}

fn prepare(
    engine: &Engine,
    domain: &Domain,
    view: &PkaToken<'_>,
    private: &PrivateSection<'_>,
) -> Result<(RsaPrivateKey, Option<Age>), Codes> {
    match private.values {
        PrivateValues::Skeleton => Err(code::TOKEN_INVALID),
        PrivateValues::ClearMe { d } => Ok((private_key(engine, view, SplitValues::Me { d })?, None)),
        PrivateValues::ClearCrt(components) => {
            Ok((private_key(engine, view, SplitValues::Crt(components))?, None))
        }
        PrivateValues::Wrapped(wrapped) => {
            let (age, values) = unwrap(engine, domain, view, &wrapped)?;
            let split = wrapped.lengths.split(&values).ok_or(code::TOKEN_INVALID)?;
            Ok((private_key(engine, view, split)?, Some(age)))
        }
    }
}

/// The private values of an internal token.
fn unwrap(
    engine: &Engine,
    domain: &Domain,
    view: &PkaToken<'_>,
    wrapped: &Wrapped<'_>,
) -> Result<(Age, SecretBytes), Codes> {
    let (age, master) = domain.of_pattern(Register::Apka, wrapped.pattern)?;
    let opk = {
        let key = aes_256(engine, &master.key)?;
        aeskw::unwrap(block(engine, &key, CipherDirection::Decipher), &[], wrapped.opk, OPK_BYTES)
            .map_err(|_| code::TOKEN_INVALID)?
    };
    let key = aes_256(engine, &opk)?;
    // Modulus and exponent stand in the token as they are: beside others the private values would be
    // used in a group of the caller's choice.
    let hashed = [wrapped.associated_data, view.modulus(), view.exponent()].concat();
    let hash = Hashes(engine).sha256(&hashed);
    let decipher = block(engine, &key, CipherDirection::Decipher);
    let values = aeskw::unwrap(decipher, &hash, wrapped.payload, wrapped.lengths.total())
        .map_err(|_| code::TOKEN_INVALID)?;
    Ok((age, values))
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
pub(super) fn key_codes(error: RsaKeyError) -> Codes {
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

pub(super) fn aes_256(engine: &Engine, key: &[u8]) -> Result<CipherKey, Codes> {
    engine.cipher_key_internal(CipherAlgorithm::Aes256, key).map_err(|_| code::SELF_CHECK)
}

pub(super) fn block<'k>(
    engine: &'k Engine,
    key: &'k CipherKey,
    direction: CipherDirection,
) -> impl FnMut(&mut [u8; 16]) + 'k {
    move |data| engine.cipher_batch(Mode::Ecb, direction, &mut [CipherItem::new(key, &[], data)])
}

/// Asks for the public key of a token - public, clear or internal - which starts the field.
pub(crate) struct LoadPublic<'a> {
    pub(crate) domain: u16,
    pub(crate) field: &'a [u8],
}

/// The key, or why the token gives none.
pub(crate) type PublicAnswer = Result<Arc<PublicContext>, Codes>;

impl<'a> Work<'a> for LoadPublic<'a> {
    type Answer = PublicAnswer;

    fn queue<'p>(pass: &'p Pass<'a>) -> &'p Queue<Self, Self::Answer> {
        &pass.load_public
    }

    fn run(kernel: &mut Kernel<'_>, asked: &mut [Self], answers: &mut Sink<'_, Self::Answer>) {
        for work in asked {
            answers.push(load_public(kernel, work));
        }
    }
}

fn load_public(kernel: &mut Kernel<'_>, work: &LoadPublic<'_>) -> PublicAnswer {
    let engine = kernel.engine;
    let contexts = kernel.domains[usize::from(work.domain)].rsa.public(engine);
    let token = token_bytes(work.field)?;
    if let Some(found) = contexts.find(token) {
        return Ok(found);
    }
    let view = PkaToken::parse(token, &Hashes(engine)).map_err(|error| error.codes())?;
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
