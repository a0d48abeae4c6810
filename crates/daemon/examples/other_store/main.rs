//! A daemon whose key records are kept by another process, reached over a socket: the tests of the daemon run
//! over it as well, and change records behind its back.
#![forbid(unsafe_code)]

mod protocol;

use daemon::store::{Changes, Done, Job, KeyStore, StorageCause, StoreError};
use link::Channel;
use protocol::{Ask, SOCKET_VARIABLE, Say};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// How long an answer is waited for.
const ANSWER_WAIT: Duration = Duration::from_secs(30);

struct OtherStore {
    path: PathBuf,
    jobs: Channel,
    news: Channel,
}

impl OtherStore {
    fn open() -> Result<Self, StoreError> {
        let path = PathBuf::from(std::env::var_os(SOCKET_VARIABLE).unwrap_or_default());
        let connect = || {
            Channel::connect(&path).map_err(|error| StoreError::Failed {
                operation: "connect to",
                path: path.clone(),
                cause: StorageCause::Other(error.to_string()),
            })
        };
        let (jobs, news) = (connect()?, connect()?);
        let store = Self { path: path.clone(), jobs, news };
        store.news.send(&Ask::Tell, &[]).map_err(|error| store.failed("ask for changes of", &error))?;
        Ok(store)
    }

    fn failed(&self, operation: &'static str, cause: &dyn std::fmt::Display) -> StoreError {
        StoreError::Failed {
            operation,
            path: self.path.clone(),
            cause: StorageCause::Other(cause.to_string()),
        }
    }

    fn ask(&self, operation: &'static str, ask: &Ask) -> Result<Say, StoreError> {
        let answer = self.jobs.send(ask, &[]).and_then(|()| self.jobs.recv_timeout(ANSWER_WAIT));
        answer.map(|(say, _)| say).map_err(|error| self.failed(operation, &error))
    }
}

impl KeyStore for OtherStore {
    fn run(&self, job: &Job) -> Result<Done, StoreError> {
        let operation = "use the records of";
        match self.ask(operation, &Ask::Run(job.clone()))? {
            Say::Done(done) => Ok(done),
            Say::Exists => Err(StoreError::Exists),
            Say::NotFound => Err(StoreError::NotFound),
            other => Err(self.failed(operation, &format!("an answer to something else: {other:?}"))),
        }
    }

    fn changed(&self) -> Result<Changes, StoreError> {
        // Before it is asked: what comes after that makes the descriptor readable again.
        while self.news.try_recv::<Say>().is_ok() {}
        let operation = "ask for changes of";
        match self.ask(operation, &Ask::Changed)? {
            Say::Changed(labels) => Ok(Changes::Labels(labels)),
            Say::Any => Ok(Changes::Any),
            other => Err(self.failed(operation, &format!("{other:?}"))),
        }
    }

    fn wakes(&self) -> Option<BorrowedFd<'_>> {
        Some(self.news.as_fd())
    }
}

fn main() -> ExitCode {
    daemon::command::run(|_| OtherStore::open(), None)
}
