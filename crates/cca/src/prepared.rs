//! Keys of PKA tokens that are prepared, found again by their tokens in the contexts of their domain ([`contexts`]).

mod contexts;
pub(crate) mod ecc;
pub(crate) mod rsa;

use contexts::Contexts;
use engine::Engine;
use std::sync::Arc;

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

    /// Bytes that they take.
    pub(crate) fn bytes(&self) -> usize {
        self.private.as_ref().map_or(0, Contexts::bytes) + self.public.as_ref().map_or(0, Contexts::bytes)
    }

    /// Whether the private key of a token is among them.
    pub(crate) fn has_private(&self, token: &[u8]) -> bool {
        self.private.as_ref().is_some_and(|private| private.has(token))
    }

    /// The prepared private key of a token.
    pub(crate) fn find_private(&mut self, token: &[u8]) -> Option<Private> {
        self.private.as_mut()?.find(token)
    }

    /// The prepared public key of a token.
    pub(crate) fn find_public(&mut self, token: &[u8]) -> Option<Public> {
        self.public.as_mut()?.find(token)
    }

    /// Keeps a private key.
    pub(crate) fn keep_private(&mut self, engine: &Engine, token: &[u8], key: Private) {
        let bytes = match &key {
            Private::Rsa(key) => key.kept_bytes(),
            Private::Ecc(_) => ecc::KEPT_BYTES,
        };
        self.private.get_or_insert_with(|| Contexts::new(seed(engine))).insert(token, key, bytes);
    }

    /// Keeps a public key.
    pub(crate) fn keep_public(&mut self, engine: &Engine, token: &[u8], key: Public) {
        let bytes = match &key {
            Public::Rsa(key) => key.kept_bytes(),
            Public::Ecc(_) => ecc::KEPT_BYTES,
        };
        self.public.get_or_insert_with(|| Contexts::new(seed(engine))).insert(token, key, bytes);
    }

    /// Bytes that public keys take: a caller makes as many as it likes.
    pub(crate) fn public_bytes(&self) -> usize {
        self.public.as_ref().map_or(0, Contexts::bytes)
    }

    /// Evicts one public key.
    pub(crate) fn evict_public(&mut self) {
        if let Some(public) = &mut self.public {
            public.evict();
        }
    }

    /// Evicts one key; a private one while there are any.
    pub(crate) fn evict(&mut self) {
        match (&mut self.private, &mut self.public) {
            (Some(private), _) if private.len() > 0 => private.evict(),
            (_, Some(public)) => public.evict(),
            _ => {}
        }
    }
}

fn seed(engine: &Engine) -> [u8; 16] {
    let mut seed = [0; 16];
    engine.random(&mut seed);
    seed
}
