//! Keys of PKA tokens that are prepared, found again by their tokens in the contexts of their domain ([`contexts`]).

mod contexts;
pub(crate) mod ecc;
pub(crate) mod rsa;

use contexts::Contexts;
use engine::Engine;
use std::sync::Arc;
use wire::bounds::CONTEXTS_PER_DOMAIN_MAX;

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
    /// How many prepared keys are held.
    pub(crate) fn len(&self) -> usize {
        self.private.as_ref().map_or(0, Contexts::len) + self.public.as_ref().map_or(0, Contexts::len)
    }

    /// Whether the private key of a token is among them.
    pub(crate) fn has_private(&self, token: &[u8]) -> bool {
        self.private.as_ref().is_some_and(|private| private.has(token))
    }

    /// The prepared private keys, by their tokens.
    pub(crate) fn private(&mut self, engine: &Engine) -> &mut Contexts<Private> {
        self.private.get_or_insert_with(|| Contexts::new(PRIVATE_CONTEXTS_MAX, seed(engine)))
    }

    /// The prepared public keys, by their tokens.
    pub(crate) fn public(&mut self, engine: &Engine) -> &mut Contexts<Public> {
        self.public.get_or_insert_with(|| Contexts::new(PUBLIC_CONTEXTS_MAX, seed(engine)))
    }
}

fn seed(engine: &Engine) -> [u8; 16] {
    let mut seed = [0; 16];
    engine.random(&mut seed);
    seed
}
