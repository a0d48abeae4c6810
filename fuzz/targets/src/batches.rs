//! The engine's batches beside OpenSSL: the input decides algorithms, counts, lengths and what is wrong;
//! keys and texts are drawn from a generator that it seeds.

mod aead;
mod choices;
mod ciphers;
mod macs;
mod peer;
mod rsa;

pub use aead::{engine_aead, engine_cfb};
pub use ciphers::engine_ciphers;
pub use macs::engine_macs;
pub use rsa::engine_rsa;

pub(crate) use choices::Choices;
pub(crate) use peer::{ecb, run, three_parts};

use engine::{Engine, Level, Options};
use std::sync::LazyLock;

/// An engine at each level of this machine.
pub(crate) static ENGINES: LazyLock<Vec<Engine>> = LazyLock::new(|| {
    Level::ALL
        .into_iter()
        .map(|level| Options { limit: Some(level), weak_algorithms: true })
        .map(|options| Engine::new(options).expect("an engine"))
        .collect()
});

/// Requests of one batch: more than one pass of the widest kernel.
const ITEMS_MAX: usize = 600;
/// Blocks of one text.
const BLOCKS_MAX: usize = 20;
