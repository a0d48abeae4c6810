//! Options of how the work runs: threads, processors, provider, progress.

use engine::Engine;
use std::sync::atomic::AtomicBool;

/// Which stages have threads of their own (the `--async` of the command line).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Async {
    /// Reading and writing have a thread each.
    pub io: bool,
    /// Compressing or inflating has threads of its own.
    pub compress: bool,
    /// The cipher and its hashes have threads of their own.
    pub cipher: bool,
}

/// The provider of cryptography and compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// The engine at its portable level, and the portable deflate library.
    Software,
    /// The engine at its best level.
    Engine,
    /// The engine for bulk; operations with RSA keys through the cards of the home.
    Card,
}

/// Watches the progress of an operation, for example with a progress bar.
pub trait Progress: Sync {
    /// The work begins; `total` is the input's length in bytes, if it is known.
    fn begin(&self, total: Option<u64>);
    /// This many more bytes of the input were read.
    fn advance(&self, bytes: u64);
    /// A warning for the user, such as text that is written before it is authenticated.
    fn warn(&self, text: &str);
}

/// Ignores progress and warnings.
pub struct NoProgress;

impl Progress for NoProgress {
    fn begin(&self, _total: Option<u64>) {}
    fn advance(&self, _bytes: u64) {}
    fn warn(&self, _text: &str) {}
}

/// Options of how an operation runs.
pub struct Run<'a> {
    /// The engine, at the level that suits the provider.
    pub engine: &'a Engine,
    /// The provider. Here it only selects the deflate library; the caller has chosen the engine and the keys by it.
    pub provider: Provider,
    /// Which stages have threads of their own; `None` to choose by the number of processors.
    pub stages: Option<Async>,
    /// At most this many threads compress and encipher; `None` for one per usable processor.
    pub threads: Option<usize>,
    /// Processors for compression and cipher; empty to use the caller's own.
    pub offload_processors: &'a [usize],
    /// Gets the progress and the warnings.
    pub progress: &'a dyn Progress,
    /// Whether an output file and its folder's entry are on the disk (`fsync`) before a call returns.
    pub is_durable: bool,
    /// Set by a signal handler: the operation then ends with [`crate::Error::Interrupted`], and leaves no output file
    /// behind.
    pub interrupted: Option<&'a AtomicBool>,
}

impl<'a> Run<'a> {
    /// Options with this engine, as many threads as the processors allow, and no progress.
    pub fn new(engine: &'a Engine) -> Self {
        Self {
            engine,
            provider: Provider::Engine,
            stages: None,
            threads: None,
            offload_processors: &[],
            progress: &NoProgress,
            is_durable: false,
            interrupted: None,
        }
    }
}
