//! A key store that others change: records in memory, which the daemon uses as it uses a database that hosts share,
//! and a program of another host that replaces and deletes a key under the daemon's hands.

use crate::oracle;
use crate::plan::Sabotage;
use crate::requests::{cipher, generate, marked_vector, text_of};
use crate::stage::Stage;
use daemon::store::{Changes, Done, Job, KeyStore, Record, StoreError};
use facility::{Facility, Options};
use link::world;
use rustix::event::{EventfdFlags, eventfd};
use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use wire::control::{RecordRow, Store};
use wire::verb::Verb;
use wire::{Label, code};

/// The label of the key that the other host changes.
pub const LABEL: &str = "SIM.OUTSIDE";
/// What clients encipher under it.
pub const TEXT: [u8; 64] = [0x5A; 64];
/// How often what was not answered is tried again.
const TRIES: u32 = 400;
const RETRY: Duration = Duration::from_millis(50);

/// The records that all hosts share.
pub struct Records {
    records: Mutex<Shared>,
    news: OwnedFd,
}

#[derive(Default)]
struct Shared {
    by_label: BTreeMap<Label, (Record, u64)>,
    /// Labels that the other host changed and that the daemon was not told of yet.
    pending: Vec<Label>,
    /// Labels that it was told of at its last asking.
    told: Vec<Label>,
    /// Whether a daemon uses the records.
    open: bool,
}

impl Records {
    /// No records.
    pub fn new() -> std::io::Result<Arc<Self>> {
        let news = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Arc::new(Self { records: Mutex::default(), news }))
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The other host puts a record there, or deletes it.
    fn change(&self, label: &Label, token: Option<Vec<u8>>) {
        let mut shared = self.shared();
        match token {
            Some(token) => {
                let record = Record { store: Store::Des, label: label.clone(), token };
                shared.by_label.insert(label.clone(), (record, 0));
            }
            None => drop(shared.by_label.remove(label)),
        }
        shared.pending.push(label.clone());
        let _ = rustix::io::write(&self.news, &1u64.to_ne_bytes());
    }

    /// Whether a daemon has acknowledged every change.
    fn is_acknowledged(&self) -> bool {
        let shared = self.shared();
        shared.open && shared.pending.is_empty() && shared.told.is_empty()
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
    /// What was told last was not acknowledged: the next daemon is told it.
    fn drop(&mut self) {
        let mut shared = self.0.shared();
        let told = std::mem::take(&mut shared.told);
        shared.pending.extend(told);
        shared.open = false;
        if !shared.pending.is_empty() {
            let _ = rustix::io::write(&self.0.news, &1u64.to_ne_bytes());
        }
    }
}

impl KeyStore for SharedStore {
    fn run(&self, job: &Job) -> Result<Done, StoreError> {
        world::step("store");
        self.0.shared().run(job)
    }

    fn changed(&self) -> Result<Changes, StoreError> {
        world::step("changes");
        let mut shared = self.0.shared();
        let _ = rustix::io::read(&self.0.news, &mut [0u8; 8][..]);
        shared.told = std::mem::take(&mut shared.pending);
        if !shared.told.is_empty() {
            // It is readable until a call told nothing.
            let _ = rustix::io::write(&self.0.news, &1u64.to_ne_bytes());
        }
        Ok(Changes::Labels(shared.told.clone()))
    }

    fn wakes(&self) -> Option<BorrowedFd<'_>> {
        Some(self.0.news.as_fd())
    }
}

impl Shared {
    fn has(&self, store: Store, label: &Label) -> bool {
        self.by_label.get(label).is_some_and(|(record, _)| record.store == store)
    }

    fn run(&mut self, job: &Job) -> Result<Done, StoreError> {
        match job {
            Job::Create { record, now_unix_s } => {
                if self.by_label.contains_key(&record.label) {
                    return Err(StoreError::Exists);
                }
                self.by_label.insert(record.label.clone(), (record.clone(), *now_unix_s));
            }
            Job::Write { records, now_unix_s } => {
                if !records.iter().all(|record| self.has(record.store, &record.label)) {
                    return Err(StoreError::NotFound);
                }
                for record in records {
                    self.by_label.insert(record.label.clone(), (record.clone(), *now_unix_s));
                }
            }
            Job::Delete { store, label, token_only, now_unix_s } => {
                if !self.has(*store, label) {
                    return Err(StoreError::NotFound);
                }
                if *token_only {
                    let empty = Record { store: *store, label: label.clone(), token: Vec::new() };
                    self.by_label.insert(label.clone(), (empty, *now_unix_s));
                } else {
                    self.by_label.remove(label);
                }
            }
            Job::Find { label } => {
                let found = self.by_label.get(label).ok_or(StoreError::NotFound)?;
                return Ok(Done::Found(found.0.clone()));
            }
            Job::List { store, pattern, after, rows_max } => {
                let is_listed = |record: &Record| {
                    store.is_none_or(|store| record.store == store)
                        && pattern.matches(record.label.as_str())
                        && after.as_ref().is_none_or(|after| record.label > *after)
                };
                let rows = self.by_label.values().filter(|(record, _)| is_listed(record)).take(*rows_max);
                let rows = rows.map(|(record, written_unix_s)| RecordRow {
                    label: record.label.clone(),
                    store: record.store,
                    token_bytes: record.token.len() as u32,
                    written_unix_s: *written_unix_s,
                });
                return Ok(Done::Rows(rows.collect()));
            }
            Job::Count => return Ok(Done::Count(self.by_label.len() as u64)),
        }
        Ok(Done::Changed)
    }
}

/// What the key of [`LABEL`] is, as far as the one who changes it knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutsideKey {
    /// What [`TEXT`] is enciphered to, none where there is no key; since when all cards must know that. None while it is
    /// being changed.
    known: Option<(Option<Vec<u8>>, u64)>,
}

impl OutsideKey {
    /// The key is being changed.
    pub fn begin(&mut self) {
        self.known = None;
    }

    /// The change is acknowledged.
    pub fn done(&mut self, ciphertext: Option<Vec<u8>>, now_ns: u64) {
        self.known = Some((ciphertext, now_ns));
    }

    /// What a request that was begun then, and is over now, must have been answered: the ciphertext, or none where it must
    /// have been refused. None where the key changed meanwhile.
    pub fn expected(&self, begun_ns: u64) -> Option<Option<&[u8]>> {
        let (ciphertext, since_ns) = self.known.as_ref()?;
        (begun_ns >= *since_ns).then_some(ciphertext.as_deref())
    }
}

/// A program of another host.
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

    /// Makes so many changes, one after the other.
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
            if !self.is_acknowledged_in_time() {
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

    fn is_acknowledged_in_time(&self) -> bool {
        for _ in 0..TRIES {
            if self.records.is_acknowledged() {
                return true;
            }
            world::sleep(RETRY);
        }
        false
    }

    /// A key, and what [`TEXT`] is enciphered to under it.
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
        let reply = facility.call(0, &cipher(Verb::Encipher, token, &TEXT, &vector));
        self.stage.state().oracle.given_up(number);
        let reply = reply.ok().filter(|reply| reply.codes() == code::OK)?;
        Some(reply.arguments().bytes(text_of(Verb::Encipher)).to_vec())
    }
}
