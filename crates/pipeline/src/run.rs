//! How the work runs: threads, processors, provider, progress.

use engine::Engine;
use std::sync::atomic::AtomicBool;

/// Which stages have threads of their own (the `--async` of the command line).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Async {
    /// Reading and writing, a thread each.
    pub io: bool,
    /// Compression and its reverse.
    pub compress: bool,
    /// Cipher, with the hashes.
    pub cipher: bool,
}

/// Who computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// The engine held to its portable level, and the portable deflate.
    Software,
    /// The engine at its best level.
    Engine,
    /// The engine for bulk; operations with RSA keys through the cards of the home.
    Card,
}

/// Whoever watches: a progress bar.
pub trait Progress: Sync {
    /// The work begins; `total` is the input's length in bytes where it is known.
    fn begin(&self, total: Option<u64>);
    /// So many more input bytes were read.
    fn advance(&self, bytes: u64);
    /// A warning for the user, such as text that is written before it is authenticated.
    fn warn(&self, text: &str);
}

/// Nobody watches; warnings are dropped.
pub struct NoProgress;

impl Progress for NoProgress {
    fn begin(&self, _total: Option<u64>) {}
    fn advance(&self, _bytes: u64) {}
    fn warn(&self, _text: &str) {}
}

/// How the work is laid out.
pub struct Run<'a> {
    /// The engine, at the level that the provider asks for.
    pub engine: &'a Engine,
    /// The provider: here it selects the deflate library; the caller has chosen the engine and the keys.
    pub provider: Provider,
    /// Which stages have threads of their own; none to choose by the number of processors.
    pub stages: Option<Async>,
    /// Threads that compress and encipher at most; none for one per processor that may be used.
    pub threads: Option<usize>,
    /// Processors for compression and cipher; empty for the caller's own.
    pub offload_processors: &'a [usize],
    /// Who watches.
    pub progress: &'a dyn Progress,
    /// Whether a file, and the folder that its name stands in, is on the disk (`fsync`) before a call returns.
    pub is_durable: bool,
    /// Set by a signal handler: the work ends with [`crate::Error::Interrupted`], and leaves nothing behind.
    pub interrupted: Option<&'a AtomicBool>,
}

impl<'a> Run<'a> {
    /// With this engine, as many threads as the processors allow, and nobody who watches.
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
