//! The file of failures: appended to, and flushed, before anybody learns that a PIN was wrong.
//!
//! ```text
//! 0    "cryptPF1"
//! 8    the key of the digests, 32 bytes
//! 40   zeros
//! 56   8 bytes of SHA-256 of what stands before
//! 64   records of 64 bytes:
//!      0 kind: 1 failed, 2 right, 3 cleared, 4 all cleared, 5 failed, not counted under the key; zeros
//!      4 tenant
//!      8 seconds since 1970
//!      16 digest of the key, 32 digest of the subject
//!      48 zeros
//!      56 8 bytes of SHA-256 of what stands before, behind the key of the digests
//! ```
//! Numbers are little-endian. What is left of a record at the end, which a daemon was writing when it died, is taken away: nobody
//! was told of it. A record that is damaged anywhere else is passed over, and said to be.
//!
//! A thread writes, so that no slow disk keeps the daemon from its other events. It is given one task at a time, which holds
//! whatever came while the one before was written.

use super::Event;
use home::HomeError;
use link::world::{self, Receiver, Sender, Thread, channel};
use rustix::event::{EventfdFlags, eventfd};
use sha2::{Digest as _, Sha256};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wire::pin::{CountingKey, Digest, Guess};

/// Length of a record, and of the head.
pub const RECORD_BYTES: usize = 64;
const MAGIC: &[u8; 8] = b"cryptPF1";
const SUM_AT: usize = RECORD_BYTES - 8;

/// What a file says.
#[derive(Debug, PartialEq, Eq)]
pub struct Said {
    /// The key of the digests.
    pub key: CountingKey,
    /// What happened, with the time in seconds since 1970.
    pub events: Vec<(u64, Event)>,
    /// Length of it in bytes, without a record that was not finished.
    pub bytes: u64,
    /// Records that are damaged.
    pub damaged: u64,
}

/// The content is not that of such a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoLog;

impl std::fmt::Display for NoLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the file does not begin as one of counted PIN failures")
    }
}

impl std::error::Error for NoLog {}

/// Reads the content of a file.
///
/// # Errors
/// [`NoLog`] where its head is not whole.
pub fn read(content: &[u8]) -> Result<Said, NoLog> {
    let (head, rest) = content.split_first_chunk::<RECORD_BYTES>().ok_or(NoLog)?;
    let mut key = CountingKey([0; 32]);
    key.0.copy_from_slice(&head[8..40]);
    if head[..8] != *MAGIC || *head != self::head(&key) {
        return Err(NoLog);
    }
    let (records, _) = rest.as_chunks::<RECORD_BYTES>();
    let mut whole = records.len();
    // What was not finished ends in zeros, or in what the disk made of it.
    while whole > 0 && parse(&key, &records[whole - 1]).is_none() {
        whole -= 1;
    }
    let parsed: Vec<_> = records[..whole].iter().map(|record| parse(&key, record)).collect();
    let damaged = parsed.iter().filter(|record| record.is_none()).count() as u64;
    let events = parsed.into_iter().flatten().collect();
    Ok(Said { key, events, bytes: ((1 + whole) * RECORD_BYTES) as u64, damaged })
}

/// The head of a file with this key.
fn head(key: &CountingKey) -> [u8; RECORD_BYTES] {
    let mut head = [0; RECORD_BYTES];
    head[..8].copy_from_slice(MAGIC);
    head[8..40].copy_from_slice(&key.0);
    let sum = Sha256::digest(&head[..SUM_AT]);
    head[SUM_AT..].copy_from_slice(&sum[..8]);
    head
}

/// A whole file with this key and these events.
pub fn whole(key: &CountingKey, events: impl Iterator<Item = (u64, Event)>) -> Vec<u8> {
    let mut content = head(key).to_vec();
    events.for_each(|(at, event)| content.extend_from_slice(&record(key, at, &event)));
    content
}

/// The record of an event.
pub fn record(key: &CountingKey, at: u64, event: &Event) -> [u8; RECORD_BYTES] {
    const NOTHING: Digest = Digest([0; 16]);
    let (kind, tenant, guess) = match event {
        Event::Failed { guess, tenant } => (1, *tenant, *guess),
        Event::Alone { guess, tenant } => (5, *tenant, *guess),
        Event::Right { guess } => (2, 0, *guess),
        Event::Cleared(Some(digest)) => (3, 0, Guess { key: NOTHING, subject: *digest }),
        Event::Cleared(None) => (4, 0, Guess { key: NOTHING, subject: NOTHING }),
    };
    let mut record = [0; RECORD_BYTES];
    record[0] = kind;
    record[4..8].copy_from_slice(&tenant.to_le_bytes());
    record[8..16].copy_from_slice(&at.to_le_bytes());
    record[16..32].copy_from_slice(&guess.key.0);
    record[32..48].copy_from_slice(&guess.subject.0);
    let sum = sum(key, &record);
    record[SUM_AT..].copy_from_slice(&sum);
    record
}

fn parse(key: &CountingKey, record: &[u8; RECORD_BYTES]) -> Option<(u64, Event)> {
    if record[SUM_AT..] != sum(key, record) {
        return None;
    }
    let digest = |at: usize| record[at..].first_chunk().copied().map(Digest);
    let guess = Guess { key: digest(16)?, subject: digest(32)? };
    let tenant = u32::from_le_bytes(*record[4..].first_chunk()?);
    let event = match record[0] {
        1 => Event::Failed { guess, tenant },
        2 => Event::Right { guess },
        3 => Event::Cleared(Some(guess.subject)),
        4 => Event::Cleared(None),
        5 => Event::Alone { guess, tenant },
        _ => return None,
    };
    Some((u64::from_le_bytes(*record[8..].first_chunk()?), event))
}

fn sum(key: &CountingKey, record: &[u8; RECORD_BYTES]) -> [u8; 8] {
    let hash = Sha256::new_with_prefix(key.0).chain_update(&record[..SUM_AT]).finalize();
    std::array::from_fn(|at| hash[at])
}

/// What the thread is asked to do.
#[derive(Debug)]
pub enum Task {
    /// Writes these bytes there, and flushes them. If that fails the file ends there again.
    Append {
        /// Where the file ends.
        at: u64,
        /// The records.
        bytes: Vec<u8>,
    },
    /// Replaces the file, at once and durably.
    Replace {
        /// Its new content.
        bytes: Vec<u8>,
    },
}

/// The thread that writes.
pub struct Log {
    tasks: Option<Sender<Task>>,
    outcomes: Receiver<Result<(), String>>,
    event: Arc<OwnedFd>,
    thread: Option<Thread>,
}

impl Log {
    /// Starts it for the file at this path.
    ///
    /// # Errors
    /// Of the system.
    pub fn start(path: &Path) -> io::Result<Self> {
        let event = Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?);
        let (tasks, received) = channel::<Task>();
        let (sent, outcomes) = channel();
        let (path, wakes) = (path.to_owned(), Arc::clone(&event));
        let thread = world::spawn("failures", move || {
            while let Ok(task) = received.recv() {
                let _ = sent.send(run(&path, &task).map_err(|error| error.to_string()));
                let _ = rustix::io::write(&*wakes, &1u64.to_ne_bytes());
            }
        })?;
        Ok(Self { tasks: Some(tasks), outcomes, event, thread: Some(thread) })
    }

    /// Gives it a task; the one before has its outcome by then.
    pub fn give(&self, task: Task) {
        if let Some(tasks) = &self.tasks {
            // The thread ends only after this sender is dropped.
            let _ = tasks.send(task);
        }
    }

    /// The outcome of the last task, once it is there; otherwise what was wrong.
    pub fn outcome(&self) -> Option<Result<(), String>> {
        let _ = rustix::io::read(&*self.event, &mut [0u8; 8][..]);
        self.outcomes.try_recv().ok()
    }
}

impl AsFd for Log {
    /// Readable while there may be an outcome.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

impl Drop for Log {
    /// Waits until the task given is done.
    fn drop(&mut self) {
        self.tasks = None;
        if let Some(thread) = self.thread.take() {
            thread.join();
        }
    }
}

fn run(path: &Path, task: &Task) -> io::Result<()> {
    match task {
        Task::Append { at, bytes } => append(path, *at, bytes),
        Task::Replace { bytes } => home::write_durably(path, bytes).map_err(|error| match error {
            HomeError::Io { cause, .. } => cause,
            other => io::Error::other(other.to_string()),
        }),
    }
}

/// A symbolic link is not followed.
const NO_FOLLOW: i32 = rustix::fs::OFlags::NOFOLLOW.bits() as i32;

fn append(path: &Path, at: u64, bytes: &[u8]) -> io::Result<()> {
    let file = OpenOptions::new().write(true).custom_flags(NO_FOLLOW).open(path)?;
    let written = file.write_all_at(bytes, at).and_then(|()| file.sync_data());
    if written.is_err() {
        // What stays there is not believed: the next task begins at the same place.
        let _ = file.set_len(at);
    }
    written
}

/// Reads the file at a path; none where there is none.
///
/// # Errors
/// Of the system, and [`NoLog`] as [`io::ErrorKind::InvalidData`].
pub fn open(path: &Path) -> io::Result<Option<Said>> {
    let content = match std::fs::read(path) {
        Ok(content) => content,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let said = read(&content).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    if said.bytes != content.len() as u64 {
        File::options().write(true).open(path)?.set_len(said.bytes)?;
    }
    Ok(Some(said))
}

/// Where the file of a home is.
pub fn path(home: &home::Home) -> PathBuf {
    home.folder().join("pin-failures")
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: CountingKey = CountingKey([7; 32]);

    fn events() -> Vec<(u64, Event)> {
        let guess = Guess { key: Digest([1; 16]), subject: Digest([2; 16]) };
        vec![
            (5, Event::Failed { guess, tenant: 9 }),
            (6, Event::Right { guess }),
            (7, Event::Cleared(Some(guess.subject))),
            (8, Event::Alone { guess, tenant: u32::MAX }),
            (u64::MAX, Event::Cleared(None)),
        ]
    }

    #[test]
    fn what_is_written_is_read() {
        let content = whole(&KEY, events().into_iter());
        let said = read(&content).unwrap();
        assert_eq!((said.events, said.bytes, said.damaged), (events(), 6 * 64, 0));
        assert_eq!(said.key, KEY);
        for wrong in [&content[..63], &[0; 128][..], &[]] {
            assert_eq!(read(wrong), Err(NoLog));
        }
        let mut other = content.clone();
        other[9] ^= 1;
        assert_eq!(read(&other), Err(NoLog));
    }

    #[test]
    fn what_was_not_finished_is_taken_away_and_what_is_damaged_passed_over() {
        let content = whole(&KEY, events().into_iter());
        for missing in 1..64 {
            let said = read(&content[..content.len() - missing]).unwrap();
            assert_eq!((said.events.len(), said.bytes, said.damaged), (4, 5 * 64, 0));
        }
        for at in 64..128 {
            let mut damaged = content.clone();
            damaged[at] ^= 0x10;
            let said = read(&damaged).unwrap();
            assert_eq!((said.events.len(), said.damaged), (4, 1), "{at}");
        }
        let torn = [&content[..], &[0; 200]].concat();
        assert_eq!(read(&torn).unwrap().bytes, 6 * 64);
    }

    #[test]
    fn the_thread_writes_durably_and_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("failures");
        let log = Log::start(&path).unwrap();
        let done = |task| {
            log.give(task);
            std::iter::repeat_with(|| {
                std::thread::yield_now();
                log.outcome()
            })
            .flatten()
            .next()
            .unwrap()
        };
        assert!(done(Task::Append { at: 0, bytes: vec![1; 64] }).is_err(), "there is no file");
        done(Task::Replace { bytes: whole(&KEY, std::iter::empty()) }).unwrap();
        for (number, (at, event)) in (1..).zip(events()) {
            let bytes = record(&KEY, at, &event).to_vec();
            done(Task::Append { at: 64 * number, bytes }).unwrap();
        }
        drop(log);
        assert_eq!(open(&path).unwrap().unwrap().events, events());
        std::fs::write(&path, [&std::fs::read(&path).unwrap()[..], &[3; 20]].concat()).unwrap();
        assert_eq!(open(&path).unwrap().unwrap().events, events());
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 6 * 64);
        assert!(open(&folder.path().join("none")).unwrap().is_none());
    }
}
