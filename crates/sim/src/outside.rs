//! A key store with another writer: records in memory, which the daemon uses like a database that several hosts share,
//! and a program of another host that replaces and deletes a key while the daemon uses it.

/// The records in memory that the daemon's own tests use as a store.
#[path = "../../daemon/examples/other_store/memory.rs"]
#[allow(dead_code, reason = "a store that fails, or misses changes, is looked at there")]
mod memory;

use crate::oracle;
use crate::oracle::outside_key::{LABEL, TEXT};
use crate::plan::Sabotage;
use crate::requests::{cipher, generate, marked_vector, text_of};
use crate::stage::Stage;
use daemon::store::{Changes, Done, Job, KeyStore, Record, StoreError};
use facility::{Facility, Options};
use link::world;
use memory::Memory;
use rustix::event::{EventfdFlags, eventfd};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use wire::control::Store;
use wire::verb::Verb;
use wire::{Label, code};

/// How often an unanswered request is tried again.
const TRIES: u32 = 400;
const RETRY: Duration = Duration::from_millis(50);

/// The records that all hosts share.
pub struct Records {
    records: Mutex<Shared>,
    news: OwnedFd,
}

#[derive(Default)]
struct Shared {
    memory: Memory,
    /// Whether a daemon uses the records.
    open: bool,
}

impl Records {
    /// An empty store.
    pub fn new() -> std::io::Result<Arc<Self>> {
        let news = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Arc::new(Self { records: Mutex::default(), news }))
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts or deletes a record, as the other host.
    fn change(&self, label: &Label, token: Option<Vec<u8>>) {
        let record = token.map(|token| Record { store: Store::Des, label: label.clone(), token });
        self.shared().memory.change(label, record);
        self.tell();
    }

    /// Makes the descriptor readable: there is something to tell, or to acknowledge.
    fn tell(&self) {
        let _ = rustix::io::write(&self.news, &1u64.to_ne_bytes());
    }

    /// Whether a running daemon has acknowledged every change of this label's record.
    fn is_acknowledged(&self, label: &Label) -> bool {
        let shared = self.shared();
        shared.open && shared.memory.is_acknowledged(label)
    }
}

/// The records as a daemon uses them.
pub struct SharedStore(Arc<Records>);

impl SharedStore {
    /// Opens the records, as the one daemon that uses them.
    pub fn open(records: &Arc<Records>) -> Self {
        records.shared().open = true;
        Self(Arc::clone(records))
    }
}

impl Drop for SharedStore {
    /// Changes that were not acknowledged are told to the next daemon.
    fn drop(&mut self) {
        let mut shared = self.0.shared();
        shared.memory.left();
        shared.open = false;
        if shared.memory.has_news() {
            self.0.tell();
        }
    }
}

impl KeyStore for SharedStore {
    fn run(&self, job: &Job) -> Result<Done, StoreError> {
        world::step("store");
        self.0.shared().memory.run(job)
    }

    fn changed(&self) -> Result<Changes, StoreError> {
        world::step("changes");
        let _ = rustix::io::read(&self.0.news, &mut [0u8; 8][..]);
        let changes = self.0.shared().memory.changed();
        if changes != Changes::NONE {
            // It is readable until a call told nothing.
            self.0.tell();
        }
        Ok(changes)
    }

    fn wakes(&self) -> Option<BorrowedFd<'_>> {
        Some(self.0.news.as_fd())
    }
}

/// The program of another host, which changes records.
pub struct OtherHost {
    stage: Arc<Stage>,
    folder: PathBuf,
    records: Arc<Records>,
    random: fastrand::Rng,
}

impl OtherHost {
    /// A program that changes these records, and decides by this seed.
    pub fn new(stage: Arc<Stage>, folder: &Path, records: Arc<Records>, seed: u64) -> Self {
        Self { stage, folder: folder.to_owned(), records, random: fastrand::Rng::with_seed(seed) }
    }

    /// Makes this many changes, one after the other.
    pub fn run(mut self, changes: u32) {
        let Ok(label) = Label::new(LABEL) else { return };
        let Some(keys) = (0..2).map(|_| self.key()).collect::<Option<Vec<_>>>() else { return };
        for _ in 0..changes {
            let (token, ciphertext) = match self.random.usize(0..3) {
                2 => (None, None),
                key => (Some(keys[key].0.clone()), Some(keys[key].1.clone())),
            };
            self.stage.state().oracle.outside.begin();
            if !self.stage.state().sabotages(Sabotage::KeepsOldKey) {
                self.records.change(&label, token);
            }
            if !self.is_acknowledged_in_time(&label) {
                return;
            }
            let mut state = self.stage.state();
            let now_ns = state.now_ns;
            state.oracle.outside.done(ciphertext, now_ns);
            state.say(|| "another host has changed a key".to_owned());
            drop(state);
            world::sleep(Duration::from_micros(self.random.u64(1..200_000)));
        }
    }

    fn is_acknowledged_in_time(&self, label: &Label) -> bool {
        for _ in 0..TRIES {
            if self.records.is_acknowledged(label) {
                return true;
            }
            world::sleep(RETRY);
        }
        false
    }

    /// A new key token, and the ciphertext of [`TEXT`] under it.
    fn key(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        for _ in 0..TRIES {
            if let Ok(facility) = Facility::open(&self.folder, Options::default())
                && let Some(token) = generate(&facility)
                && let Some(ciphertext) = self.enciphered(&facility, &token)
            {
                return Some((token, ciphertext));
            }
            world::sleep(RETRY);
        }
        None
    }

    fn enciphered(&self, facility: &Facility, token: &[u8]) -> Option<Vec<u8>> {
        let (pid, now_ns) = (world::pid(), self.stage.state().now_ns);
        let number = self.stage.state().oracle.begin(pid, oracle::Class::Pure, now_ns);
        let vector = marked_vector(number);
        let reply = cipher(Verb::Encipher, token, &TEXT, &vector, |request| facility.call(0, request));
        self.stage.state().oracle.given_up(number);
        let reply = reply.ok().filter(|reply| reply.codes() == code::OK)?;
        Some(reply.arguments().bytes(text_of(Verb::Encipher)).to_vec())
    }
}
