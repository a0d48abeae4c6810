//! A thread for everything that touches the disk while the daemon serves, and for the key store wherever it is: a slow
//! store delays records, and nothing else.
//!
//! Tasks run one after the other in the order they were given, and their outcomes come back in that
//! order; the event loop can therefore keep its table of opened labels true to the store. A backup
//! lets other tasks run in between.

use crate::backup::{self, CopyStore, storage};
use crate::store::{Changes, Checked, Done, Job, KeyStore, StorageCause, StoreError};
use crate::verbs::{Answer, Call};
use home::Home;
use link::world::{self, Receiver, Sender, Thread, channel};
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wire::control::Refusal;

/// A task for the storage thread.
#[derive(Debug)]
pub enum Task {
    /// A job of the key store: [`TaskOutcome::Done`].
    Job(Job),
    /// Runs a verb: [`TaskOutcome::Answered`].
    Call(Box<dyn Call>),
    /// Asks for other hosts' changes of the key store: [`TaskOutcome::Changes`].
    Changes,
    /// Copies the home into a folder: [`TaskOutcome::Stored`].
    Backup {
        /// An existing, empty folder.
        folder: PathBuf,
    },
    /// Stores the sealed master keys: [`TaskOutcome::Stored`].
    Seal {
        /// The sealed master keys.
        blob: Vec<u8>,
    },
    /// Reads the sealed master keys: [`TaskOutcome::Sealed`].
    Sealed,
}

/// The outcome of a task.
#[derive(Debug, PartialEq, Eq)]
pub enum TaskOutcome {
    /// The key store's answer to a job.
    Done(Done),
    /// The answer of a verb.
    Answered(Answer),
    /// Changes of the key store by other hosts.
    Changes(Changes),
    /// The task is done, and its effect is durable.
    Stored,
    /// The sealed master keys; `None` if the home has none.
    Sealed(Option<Vec<u8>>),
    /// The task was not done, for this reason.
    Failed(Refusal),
}

/// The storage thread.
pub struct Storage {
    tasks: Option<Sender<(u64, Task)>>,
    outcomes: Receiver<(u64, TaskOutcome)>,
    event: Arc<OwnedFd>,
    wakes: Option<OwnedFd>,
    thread: Option<Thread>,
    next: u64,
}

impl Storage {
    /// Starts the thread, and hands it the store.
    ///
    /// # Errors
    /// [`StoreError::Failed`] with the system's answer.
    pub fn start<S: KeyStore + 'static>(
        home: &Home,
        store: Checked<S>,
        copy: Option<CopyStore<S>>,
    ) -> Result<Self, StoreError> {
        let failed = |error: io::Error| StoreError::Failed {
            operation: "start the storage thread of",
            path: home.key_store(),
            cause: StorageCause::Other(error.to_string()),
        };
        let flags = EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC;
        let event = Arc::new(eventfd(0, flags).map_err(|errno| failed(errno.into()))?);
        let wakes = store.wakes().map(|wakes| wakes.try_clone_to_owned()).transpose().map_err(failed)?;
        let (tasks, received) = channel();
        let (sent, outcomes) = channel();
        let worker = Worker { home: home.clone(), store, copy, received, sent, event: Arc::clone(&event) };
        let thread = world::spawn("storage", move || worker.run());
        let thread = Some(thread.map_err(failed)?);
        Ok(Self { tasks: Some(tasks), outcomes, event, wakes, thread, next: 0 })
    }

    /// Submits a task, and returns the number that its outcome will bear. Callers bound how many they submit.
    pub fn give(&mut self, task: Task) -> u64 {
        self.next += 1;
        if let Some(tasks) = &self.tasks {
            // The thread ends only after this sender is dropped.
            let _ = tasks.send((self.next, task));
        }
        self.next
    }

    /// A descriptor that is readable when others may have changed the store; `None` if nobody else can.
    pub fn wakes(&self) -> Option<BorrowedFd<'_>> {
        self.wakes.as_ref().map(AsFd::as_fd)
    }

    /// The next outcome, if there is one.
    pub fn outcome(&self) -> Option<(u64, TaskOutcome)> {
        self.outcomes.try_recv().ok()
    }

    /// Clears the readiness of the descriptor; later outcomes make it ready again.
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
    /// Waits until the tasks given are done and the store is closed.
    fn drop(&mut self) {
        self.tasks = None;
        if let Some(thread) = self.thread.take() {
            thread.join();
        }
    }
}

struct Worker<S> {
    home: Home,
    store: Checked<S>,
    copy: Option<CopyStore<S>>,
    received: Receiver<(u64, Task)>,
    sent: Sender<(u64, TaskOutcome)>,
    event: Arc<OwnedFd>,
}

impl<S: KeyStore> Worker<S> {
    fn run(&self) {
        while let Ok((number, task)) = self.received.recv() {
            let outcome = match task {
                Task::Backup { folder } => stored(self.backup(&folder)),
                task => self.outcome(task),
            };
            self.send(number, outcome);
        }
    }

    fn send(&self, number: u64, outcome: TaskOutcome) {
        let _ = self.sent.send((number, outcome));
        let _ = rustix::io::write(&*self.event, &1u64.to_ne_bytes());
    }

    fn outcome(&self, task: Task) -> TaskOutcome {
        let result = match task {
            Task::Job(job) => self.store.run(&job).map(TaskOutcome::Done),
            Task::Call(call) => call.run(&self.store, world::unix_ms() / 1000).map(TaskOutcome::Answered),
            Task::Changes => self.store.changed().map(TaskOutcome::Changes),
            Task::Seal { blob } => {
                let path = self.home.sealed_registers();
                return stored(home::write_durably(&path, &blob).map_err(|error| storage(&error)));
            }
            Task::Sealed => return sealed(&self.home.sealed_registers()),
            Task::Backup { .. } => {
                return TaskOutcome::Failed(Refusal::Full { what: "backups at a time".into(), limit: 1 });
            }
        };
        result.unwrap_or_else(|error| TaskOutcome::Failed(error.refusal()))
    }

    fn backup(&self, folder: &Path) -> Result<(), Refusal> {
        let Some(copy) = self.copy else {
            let operation = format!("write a backup to {}", folder.display());
            let cause = "the key store is not in the home; back it up where it is".into();
            return Err(Refusal::Storage { operation, cause });
        };
        backup::write(&self.home, &self.store.0, copy, folder, &mut || {
            while let Ok((number, task)) = self.received.try_recv() {
                let outcome = self.outcome(task);
                self.send(number, outcome);
            }
        })
    }
}

fn stored(result: Result<(), Refusal>) -> TaskOutcome {
    result.map_or_else(TaskOutcome::Failed, |()| TaskOutcome::Stored)
}

fn sealed(path: &Path) -> TaskOutcome {
    match crate::unattended::read_sealed(path) {
        Ok(sealed) => TaskOutcome::Sealed(sealed),
        Err(error) => {
            let operation = format!("read {}", path.display());
            TaskOutcome::Failed(Refusal::Storage { operation, cause: error.to_string() })
        }
    }
}
