//! Everything that touches the disk while the daemon serves, on a thread of its own: a slow disk
//! delays records, and nothing else.
//!
//! Jobs run one after the other in the order they were given, and their outcomes come back in that
//! order; the event loop can therefore keep its table of opened labels true to the store. A backup
//! lets other jobs run in between.

use crate::store::{KeyStore, Pattern, SqliteStore, StoreError};
use home::{Home, HomeError};
use link::world::{self, Event, Receiver, Sender, Thread, channel, unix_ms};
use rustix::event::{EventfdFlags, eventfd};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};
use wire::Label;
use wire::bounds::LIST_ROWS_MAX;
use wire::control::{RecordRow, Refusal, Store};

/// What the storage thread is asked to do.
#[derive(Debug)]
#[allow(missing_docs)] // The fields are those of the client's requests.
pub enum Job {
    /// Creates a record: [`Outcome::Done`].
    Create { store: Store, label: Label, token: Vec<u8> },
    /// Reads a record: [`Outcome::Token`].
    Read { store: Store, label: Label },
    /// Writes a record: [`Outcome::Done`].
    Write { store: Store, label: Label, token: Vec<u8> },
    /// Deletes a record or its token: [`Outcome::Done`].
    Delete { store: Store, label: Label, token_only: bool },
    /// Lists a page of records: [`Outcome::Records`].
    List { store: Option<Store>, pattern: String, after: Option<Label> },
    /// Finds the token of a label: [`Outcome::Found`].
    Find { label: Label },
    /// Counts records: [`Outcome::Count`].
    Count,
    /// Copies the home into a folder: [`Outcome::Done`].
    Backup { folder: PathBuf },
    /// Stores the sealed master keys: [`Outcome::Done`].
    Seal { blob: Vec<u8> },
    /// Reads the sealed master keys: [`Outcome::Sealed`].
    Sealed,
}

/// What came of a job.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is done and durable.
    Done,
    /// A token; empty for a record without one.
    Token(Vec<u8>),
    /// A page of records.
    Records(Vec<RecordRow>),
    /// The store and token of a label.
    Found(Store, Vec<u8>),
    /// Number of records.
    Count(u64),
    /// The sealed master keys; none where the home has none.
    Sealed(Option<Vec<u8>>),
    /// It was not done.
    Failed(Refusal),
}

/// The storage thread.
pub struct Storage {
    jobs: Option<Sender<(u64, Job)>>,
    outcomes: Receiver<(u64, Outcome)>,
    event: Arc<OwnedFd>,
    thread: Option<Thread>,
    next: u64,
}

impl Storage {
    /// Starts the thread, which the store is handed to.
    ///
    /// # Errors
    /// [`StoreError::Failed`] with the system's answer.
    pub fn start(home: &Home, store: SqliteStore) -> Result<Self, StoreError> {
        let failed = |error: io::Error| StoreError::Failed {
            operation: "start the storage thread of",
            path: home.key_store(),
            cause: crate::store::StorageCause::Other(error.to_string()),
        };
        let flags = EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC;
        let event = Arc::new(eventfd(0, flags).map_err(|errno| failed(errno.into()))?);
        let (jobs, received) = channel();
        let (sent, outcomes) = channel();
        let worker = Worker { home: home.clone(), store, received, sent, event: Arc::clone(&event) };
        let thread = world::spawn("storage", move || worker.run());
        let thread = Some(thread.map_err(failed)?);
        Ok(Self { jobs: Some(jobs), outcomes, event, thread, next: 0 })
    }

    /// Gives a job; the number comes back with its outcome. Callers bound how many they give.
    pub fn give(&mut self, job: Job) -> u64 {
        self.next += 1;
        if let Some(jobs) = &self.jobs {
            // The thread ends only after this sender is dropped.
            let _ = jobs.send((self.next, job));
        }
        self.next
    }

    /// The next outcome, if there is one.
    pub fn outcome(&self) -> Option<(u64, Outcome)> {
        self.outcomes.try_recv().ok()
    }

    /// Takes back the readiness of the descriptor; outcomes that come later make it ready again.
    pub fn acknowledge(&self) {
        let _ = rustix::io::read(&*self.event, &mut [0u8; 8][..]);
    }
}

impl AsFd for Storage {
    /// Readable while there may be outcomes.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

impl Drop for Storage {
    /// Waits until the jobs given are done and the store is closed.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            thread.join();
        }
    }
}

struct Worker {
    home: Home,
    store: SqliteStore,
    received: Receiver<(u64, Job)>,
    sent: Sender<(u64, Outcome)>,
    event: Arc<OwnedFd>,
}

impl Worker {
    fn run(&self) {
        while let Ok((number, job)) = self.received.recv() {
            let outcome = match job {
                Job::Backup { folder } => done(self.backup(&folder)),
                job => self.outcome(&self.store, job),
            };
            self.send(number, outcome);
        }
    }

    fn send(&self, number: u64, outcome: Outcome) {
        let _ = self.sent.send((number, outcome));
        let _ = rustix::io::write(&*self.event, &1u64.to_ne_bytes());
    }

    fn outcome(&self, store: &dyn KeyStore, job: Job) -> Outcome {
        let now = unix_ms() / 1000;
        world::step("storage");
        if let Job::Create { label, .. } | Job::Write { label, .. } | Job::Delete { label, .. } = &job {
            world::saw(Event::Storing(label.as_str()));
        }
        let result = match job {
            Job::Create { store: kind, label, token } => {
                store.create(kind, &label, &token, now).map(|()| Outcome::Done)
            }
            Job::Read { store: kind, label } => store.read(kind, &label).map(Outcome::Token),
            Job::Write { store: kind, label, token } => {
                store.write(kind, &label, &token, now).map(|()| Outcome::Done)
            }
            Job::Delete { store: kind, label, token_only } => {
                store.delete(kind, &label, token_only, now).map(|()| Outcome::Done)
            }
            Job::List { store: kind, pattern, after } => Pattern::new(&pattern)
                .map_err(StoreError::Pattern)
                .and_then(|pattern| store.list(kind, &pattern, after.as_ref(), LIST_ROWS_MAX))
                .map(Outcome::Records),
            Job::Find { label } => store.find(&label).map(|(kind, token)| Outcome::Found(kind, token)),
            Job::Count => store.count().map(Outcome::Count),
            Job::Seal { blob } => {
                return done(
                    home::write_durably(&self.home.sealed_registers(), &blob).map_err(|e| storage(&e)),
                );
            }
            Job::Sealed => return sealed(&self.home.sealed_registers()),
            Job::Backup { .. } => {
                return Outcome::Failed(Refusal::Full { what: "backups at a time".into(), limit: 1 });
            }
        };
        result.unwrap_or_else(|error| Outcome::Failed(error.refusal()))
    }

    /// Copies what a home consists of; the version file comes last, so that a half copy is no home.
    fn backup(&self, folder: &Path) -> Result<(), Refusal> {
        let refused = |operation: &str, cause: String| Refusal::Storage {
            operation: format!("{operation} {}", folder.display()),
            cause,
        };
        if !folder.is_absolute() {
            return Err(Refusal::Invalid(format!(
                "{}: the path of a backup must be absolute",
                folder.display()
            )));
        }
        let mut entries = fs::read_dir(folder).map_err(|e| refused("read the folder", e.to_string()))?;
        if entries.next().is_some() {
            return Err(refused("write a backup to", "the folder is not empty".into()));
        }
        let copied = self.copy_into(folder);
        if copied.is_err() {
            for name in
                ["keys.sqlite", "keys.sqlite-journal", "settings.toml", "master-keys.sealed", "version"]
            {
                let _ = fs::remove_file(folder.join(name));
            }
        }
        copied
    }

    fn copy_into(&self, folder: &Path) -> Result<(), Refusal> {
        let meanwhile = &mut |store: &dyn KeyStore| {
            while let Ok((number, job)) = self.received.try_recv() {
                let outcome = self.outcome(store, job);
                self.send(number, outcome);
            }
        };
        self.store.backup(&folder.join("keys.sqlite"), meanwhile).map_err(|error| error.refusal())?;
        for from in [self.home.sealed_registers(), self.home.settings_path(), self.home.version_path()] {
            let content = match fs::read(&from) {
                Ok(content) => content,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => {
                    let operation = format!("read {}", from.display());
                    return Err(Refusal::Storage { operation, cause: error.to_string() });
                }
            };
            let name = from.file_name().unwrap_or_default();
            home::write_durably(&folder.join(name), &content).map_err(|error| storage(&error))?;
        }
        Ok(())
    }
}

fn done(result: Result<(), Refusal>) -> Outcome {
    result.map_or_else(Outcome::Failed, |()| Outcome::Done)
}

fn sealed(path: &Path) -> Outcome {
    match fs::read(path) {
        Ok(blob) => Outcome::Sealed(Some(blob)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Outcome::Sealed(None),
        Err(error) => {
            let operation = format!("read {}", path.display());
            Outcome::Failed(Refusal::Storage { operation, cause: error.to_string() })
        }
    }
}

/// A failed file operation of a home, for a client.
pub(crate) fn storage(error: &HomeError) -> Refusal {
    match error {
        HomeError::Io { operation, path, cause } => Refusal::Storage {
            operation: format!("{operation} {}", path.display()),
            cause: crate::store::sqlite::system_cause(cause).to_string(),
        },
        other => Refusal::Storage { operation: "use the home".into(), cause: other.to_string() },
    }
}
