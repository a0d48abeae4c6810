//! The environment of an OpenPGP command: key store, screen, signals, and whether it may prompt.

use super::batch::{self, Done, Reporter};
use super::keys::Keys;
use super::names::{Pair, Target};
use super::passphrases::{self, Asker};
use super::screen::Screen;
use super::{Layout, store};
use crate::args::openpgp::{KeyOptions, ShowOptions, StoreOptions};
use crate::failure::Failure;
use crate::signals::interrupt;
use keyring::Keyring;
use keyring::store::first_user_id;
use openpgp::{Fingerprint, Passphrase};
use pipeline::Run;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The environment that a command's work needs.
pub struct Desk {
    /// The key store.
    pub store: Keyring,
    /// The progress bar and the lines on standard error.
    pub screen: Screen,
    interrupted: Arc<AtomicBool>,
}

impl Desk {
    /// The environment for work on files; the progress bar counts the bytes of all of them.
    pub fn new(show: &ShowOptions, store: &StoreOptions, pairs: &[Pair]) -> Result<Self, Failure> {
        let total = (pairs.len() > 1).then(|| batch::bytes_of(pairs));
        Self::with(store, Screen::new(show.quiet || show.json, total))
    }

    /// The environment for quick work without a progress bar.
    pub fn bare(store: &StoreOptions) -> Result<Self, Failure> {
        Self::with(store, Screen::new(true, None))
    }

    fn with(options: &StoreOptions, screen: Screen) -> Result<Self, Failure> {
        Ok(Self { store: store(options)?, screen, interrupted: interrupt()? })
    }

    /// Asks on the terminal, unless `batch`.
    pub fn asker(&self, batch: bool) -> Asker<'_> {
        Asker::new(batch, &self.screen, &self.interrupted)
    }

    /// The keys, with the passphrases that were given for private ones and for messages.
    pub fn keys(&self, typed: &KeyOptions, for_messages: Vec<Passphrase>) -> Result<Keys<'_>, Failure> {
        let for_keys = passphrases::given(&typed.key_passphrase_file, &typed.key_passphrase_fd)?;
        Ok(Keys::new(&self.store, self.asker(typed.batch))?.with_passphrases(for_keys, for_messages))
    }

    /// Works on every pair, and prints the result for each. With `is_stdout_taken`, standard output carries a message
    /// or a text, and reports go to standard error.
    pub fn each(
        &self,
        layout: &Layout,
        pairs: &[Pair],
        show: &ShowOptions,
        is_stdout_taken: bool,
        work: impl Fn(&Pair, &Run<'_>) -> Result<Done, Failure> + Sync,
    ) -> Result<(), Failure> {
        let name = |fingerprint: &Fingerprint| {
            self.store.certificate(fingerprint).ok().flatten().map(|certificate| first_user_id(&certificate))
        };
        let reporter = Reporter::new(show, &self.screen, is_stdout_taken, &name);
        batch::run(pairs, layout.threads(), &reporter, &self.interrupted, |pair, is_beside| {
            work(pair, &layout.run(&self.screen, &self.interrupted, is_beside))
        })
    }
}

/// Whether any of these outputs is standard output.
pub fn takes_stdout(pairs: &[Pair]) -> bool {
    pairs.iter().any(|pair| pair.target == Target::Stdout)
}
