//! The file of failures: appended to, and flushed, before anybody learns that a PIN was wrong.
//!
//! ```text
//! 0    "cryptPF2"
//! 8    the key of the digests, 32 bytes
//! 40   zeros
//! 88   first 8 bytes of SHA-256 of the bytes before
//! 96   records of 96 bytes:
//!      0 kind: 1 failed, 3 cleared, 4 all cleared, 6 a row of failures; zeros
//!      2 kind of the row: 1 subject, 2 block, 3 caller, 4 key, 5 a tenant's key; zeros
//!      4 tenant
//!      8 seconds since 1970
//!      16 digest of the key, 32 digest of the subject, or of the row
//!      48 digest of the block, 64 of the caller; zeros without a block
//!      of a row, 48 mark of its failure, 56 number of failures, 4 bytes; zeros
//!      80 zeros
//!      88 first 8 bytes of SHA-256 of the key of the digests and the record's bytes before
//! ```
//! From an older file, "cryptPF1" with records of 64 bytes, only failures of keys are taken over: cards make none of
//! its other digests. The file is written anew before anything is appended.
//!
//! Numbers are little-endian. An unfinished record at the end, which a daemon was writing when it died, is cut off:
//! nobody was told of its failure. A damaged record anywhere else is skipped, and counted.
//!
//! A thread writes, so that a slow disk does not keep the daemon from its other events. The thread gets one task at a
//! time, which holds everything that came while the previous one was written.

use super::{Counted, Event};
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
use wire::pin::{BlockGuess, CountingKey, Digest, FailureOf, Guess};

/// Length of a record, and of the head, in bytes.
pub const RECORD_BYTES: usize = 96;
const MAGIC: &[u8; 8] = b"cryptPF2";
/// Length of a record, and of the head, of an older file, in bytes.
const OLD_RECORD_BYTES: usize = 64;
const OLD_MAGIC: &[u8; 8] = b"cryptPF1";
/// Length of the checksum at the end of head and records, in bytes.
const SUM_BYTES: usize = 8;

/// The content of a file of failures.
#[derive(Debug, PartialEq, Eq)]
pub struct Said {
    /// The key of the digests.
    pub key: CountingKey,
    /// The events, each with its time in seconds since 1970.
    pub events: Vec<(u64, Event)>,
    /// Length of the file in bytes, without an unfinished record at its end.
    pub bytes: u64,
    /// Number of damaged records.
    pub damaged: u64,
    /// Whether the file has the older format, to which nothing can be appended.
    pub is_old: bool,
}

/// The content is not that of a file of failures.
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
/// [`NoLog`] if the head is damaged, or of another kind of file.
pub fn read(content: &[u8]) -> Result<Said, NoLog> {
    if content.starts_with(OLD_MAGIC) {
        read_records::<OLD_RECORD_BYTES>(content, OLD_MAGIC, parse_old)
    } else {
        read_records::<RECORD_BYTES>(content, MAGIC, |record| parse(record).map(|event| [Some(event), None]))
    }
}

/// The events of one record: a record of an older file may give two.
type OfRecord = [Option<(u64, Event)>; 2];

fn read_records<const BYTES: usize>(
    content: &[u8],
    magic: &[u8; 8],
    parse: impl Fn(&[u8; BYTES]) -> Option<OfRecord>,
) -> Result<Said, NoLog> {
    let (head, rest) = content.split_first_chunk::<BYTES>().ok_or(NoLog)?;
    let mut key = CountingKey([0; 32]);
    key.0.copy_from_slice(&head[8..40]);
    if head != &self::head::<BYTES>(magic, &key) {
        return Err(NoLog);
    }
    let parse = |record: &[u8; BYTES]| {
        let (said, own) = record.split_at(BYTES - SUM_BYTES);
        (own == sum(&[&key.0, said])).then(|| parse(record)).flatten()
    };
    let (records, _) = rest.as_chunks::<BYTES>();
    let mut whole = records.len();
    // An unfinished record ends in zeros, or in whatever the disk left there.
    while whole > 0 && parse(&records[whole - 1]).is_none() {
        whole -= 1;
    }
    let parsed: Vec<_> = records[..whole].iter().map(parse).collect();
    let damaged = parsed.iter().filter(|record| record.is_none()).count() as u64;
    let events = parsed.into_iter().flatten().flatten().flatten().collect();
    Ok(Said { key, events, bytes: ((1 + whole) * BYTES) as u64, damaged, is_old: magic == OLD_MAGIC })
}

/// The head of a file with this key.
fn head<const BYTES: usize>(magic: &[u8; 8], key: &CountingKey) -> [u8; BYTES] {
    let mut head = [0; BYTES];
    head[..8].copy_from_slice(magic);
    head[8..40].copy_from_slice(&key.0);
    close(&mut head, &[]);
    head
}

/// Writes the checksum of `behind` and the record at the end of the record.
fn close<const BYTES: usize>(record: &mut [u8; BYTES], behind: &[u8]) {
    let (said, own) = record.split_at_mut(BYTES - SUM_BYTES);
    own.copy_from_slice(&sum(&[behind, said]));
}

/// The content of a file with this key and these events.
pub fn whole(key: &CountingKey, events: impl Iterator<Item = (u64, Event)>) -> Vec<u8> {
    let mut content = head::<RECORD_BYTES>(MAGIC, key).to_vec();
    events.for_each(|(at, event)| content.extend_from_slice(&record(key, at, &event)));
    content
}

/// The kinds of rows, with their numbers in a record.
const KINDS: [(u8, FailureOf); 5] = [
    (1, FailureOf::Subject),
    (2, FailureOf::Block),
    (3, FailureOf::Caller),
    (4, FailureOf::Key),
    (5, FailureOf::TenantKey),
];

/// The bytes of an event's record, with its time in seconds since 1970.
pub fn record(key: &CountingKey, at: u64, event: &Event) -> [u8; RECORD_BYTES] {
    let mut record = [0; RECORD_BYTES];
    record[8..16].copy_from_slice(&at.to_le_bytes());
    let mut put = |at: usize, bytes: &[u8]| record[at..at + bytes.len()].copy_from_slice(bytes);
    match event {
        Event::Failed { guess, tenant } => {
            put(0, &[1]);
            put(4, &tenant.to_le_bytes());
            put(16, &guess.key.0);
            put(32, &guess.subject.0);
            if let Some(BlockGuess { block, caller }) = guess.block {
                put(48, &block.0);
                put(64, &caller.0);
            }
        }
        Event::Counted { digest, of, tenant } => {
            let (kind, key, tag, failures) = match *of {
                Counted::Subject { of, key, tag } => (of, Some(key), tag, 1),
                Counted::Key { shared: None, failures } => (FailureOf::Key, None, 0, failures),
                Counted::Key { shared, failures } => (FailureOf::TenantKey, shared, 0, failures),
            };
            let number = KINDS.iter().find(|(_, of)| *of == kind).map_or(0, |(number, _)| *number);
            put(0, &[6, 0, number]);
            put(4, &tenant.to_le_bytes());
            put(16, &key.map_or([0; 16], |key| key.0));
            put(32, &digest.0);
            put(48, &tag.to_le_bytes());
            put(56, &failures.to_le_bytes());
        }
        Event::Cleared(Some(digest)) => {
            put(0, &[3]);
            put(32, &digest.0);
        }
        Event::Cleared(None) => put(0, &[4]),
    }
    close(&mut record, &key.0);
    record
}

fn parse(record: &[u8; RECORD_BYTES]) -> Option<(u64, Event)> {
    let digest = |at: usize| record[at..].first_chunk().copied().map(Digest);
    let number = |at: usize| record[at..].first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
    let (key, subject, tenant) = (digest(16)?, digest(32)?, number(4)?);
    let event = match (record[0], record[2]) {
        (1, 0) => {
            let block = BlockGuess { block: digest(48)?, caller: digest(64)? };
            let is_there = record[48..80] != [0; 32];
            Event::Failed { guess: Guess { key, subject, block: is_there.then_some(block) }, tenant }
        }
        (3, 0) => Event::Cleared(Some(subject)),
        (4, 0) => Event::Cleared(None),
        (6, kind) => {
            let (_, of) = KINDS.iter().find(|(number, _)| *number == kind)?;
            let tag = u64::from_le_bytes(*record[48..].first_chunk()?);
            let failures = number(56)?;
            let of = match of {
                FailureOf::Key => Counted::Key { shared: None, failures },
                FailureOf::TenantKey => Counted::Key { shared: Some(key), failures },
                of => Counted::Subject { of: *of, key, tag },
            };
            Event::Counted { digest: subject, of, tenant }
        }
        _ => return None,
    };
    Some((u64::from_le_bytes(*record[8..].first_chunk()?), event))
}

/// The events taken over from a record of an older file; `None` if it is not a valid record.
fn parse_old(record: &[u8; OLD_RECORD_BYTES]) -> Option<OfRecord> {
    let digest = |at: usize| record[at..].first_chunk().copied().map(Digest);
    let at = u64::from_le_bytes(*record[8..].first_chunk()?);
    let tenant = u32::from_le_bytes(*record[4..].first_chunk()?);
    let key = digest(16)?;
    let of_key = |digest, shared| {
        let of = Counted::Key { shared, failures: 1 };
        Some((at, Event::Counted { digest, of, tenant }))
    };
    Some(match record[0] {
        1 => [of_key(key, None), of_key(key.by_tenant(tenant), Some(key))],
        // A right PIN, and a failure that its key does not count.
        2 | 5 => [None, None],
        3 => [Some((at, Event::Cleared(Some(digest(32)?)))), None],
        4 => [Some((at, Event::Cleared(None))), None],
        _ => return None,
    })
}

fn sum(parts: &[&[u8]]) -> [u8; SUM_BYTES] {
    let hash = parts.iter().fold(Sha256::new(), |hash, part| hash.chain_update(part)).finalize();
    std::array::from_fn(|at| hash[at])
}

/// A task for the thread that writes.
#[derive(Debug)]
pub enum Task {
    /// Writes bytes at an offset of the file, and flushes them. If that fails, the file is cut to the offset again.
    Append {
        /// Offset at which the file ends, in bytes.
        at: u64,
        /// The records to append.
        bytes: Vec<u8>,
    },
    /// Replaces the file, atomically and durably.
    Replace {
        /// The new content of the file.
        bytes: Vec<u8>,
    },
}

/// The thread that writes the file of failures.
pub struct Log {
    tasks: Option<Sender<Task>>,
    outcomes: Receiver<Result<(), String>>,
    event: Arc<OwnedFd>,
    thread: Option<Thread>,
}

impl Log {
    /// Starts the thread for the file at this path.
    ///
    /// # Errors
    /// The error of the system call that failed.
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

    /// Gives the thread a task; the previous task must have its outcome by then.
    pub fn give(&self, task: Task) {
        if let Some(tasks) = &self.tasks {
            // The thread ends only after this sender is dropped.
            let _ = tasks.send(task);
        }
    }

    /// The outcome of the last task, with an error's text; `None` while the thread is at work.
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

/// Flag of open(2): a symbolic link is not followed.
const NO_FOLLOW: i32 = rustix::fs::OFlags::NOFOLLOW.bits() as i32;

fn append(path: &Path, at: u64, bytes: &[u8]) -> io::Result<()> {
    let file = OpenOptions::new().write(true).custom_flags(NO_FOLLOW).open(path)?;
    let written = file.write_all_at(bytes, at).and_then(|()| file.sync_data());
    if written.is_err() {
        // Bytes that remain if this fails too are overwritten: the next task begins at the same offset.
        let _ = file.set_len(at);
    }
    written
}

/// Reads the file at a path, and cuts an unfinished record off its end; `None` if there is no file.
///
/// # Errors
/// The error of the system call that failed, and [`NoLog`] as [`io::ErrorKind::InvalidData`].
pub fn open(path: &Path) -> io::Result<Option<Said>> {
    let content = match std::fs::read(path) {
        Ok(content) => content,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let said = read(&content).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    if !said.is_old && said.bytes != content.len() as u64 {
        File::options().write(true).open(path)?.set_len(said.bytes)?;
    }
    Ok(Some(said))
}

/// Path of a home's file of failures.
pub fn path(home: &home::Home) -> PathBuf {
    home.folder().join("pin-failures")
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: CountingKey = CountingKey([7; 32]);

    fn events() -> Vec<(u64, Event)> {
        let (key, subject) = (Digest([1; 16]), Digest([2; 16]));
        let block = BlockGuess { block: Digest([3; 16]), caller: Digest([4; 16]) };
        let row = |of| Event::Counted { digest: subject, of, tenant: u32::MAX };
        vec![
            (5, Event::Failed { guess: Guess { key, subject, block: None }, tenant: 9 }),
            (6, Event::Failed { guess: Guess { key, subject, block: Some(block) }, tenant: 9 }),
            (7, Event::Cleared(Some(subject))),
            (8, row(Counted::Subject { of: FailureOf::Caller, key, tag: u64::MAX })),
            (9, row(Counted::Key { shared: None, failures: u32::MAX })),
            (10, row(Counted::Key { shared: Some(key), failures: 3 })),
            (u64::MAX, Event::Cleared(None)),
        ]
    }

    const BYTES: u64 = RECORD_BYTES as u64;

    #[test]
    fn what_is_written_is_read() {
        let content = whole(&KEY, events().into_iter());
        let said = read(&content).unwrap();
        assert_eq!((said.events, said.bytes, said.damaged, said.is_old), (events(), 8 * BYTES, 0, false));
        assert_eq!(said.key, KEY);
        for wrong in [&content[..95], &[0; 192][..], &[]] {
            assert_eq!(read(wrong), Err(NoLog));
        }
        let mut other = content.clone();
        other[9] ^= 1;
        assert_eq!(read(&other), Err(NoLog));
    }

    #[test]
    fn what_was_not_finished_is_taken_away_and_what_is_damaged_passed_over() {
        let content = whole(&KEY, events().into_iter());
        for missing in 1..RECORD_BYTES {
            let said = read(&content[..content.len() - missing]).unwrap();
            assert_eq!((said.events.len(), said.bytes, said.damaged), (6, 7 * BYTES, 0));
        }
        for at in RECORD_BYTES..2 * RECORD_BYTES {
            let mut damaged = content.clone();
            damaged[at] ^= 0x10;
            let said = read(&damaged).unwrap();
            assert_eq!((said.events.len(), said.damaged), (6, 1), "{at}");
        }
        let torn = [&content[..], &[0; 300]].concat();
        assert_eq!(read(&torn).unwrap().bytes, 8 * BYTES);
    }

    /// A file as version 1 had it.
    fn old(records: &[(u8, u64, [u8; 16], [u8; 16])]) -> Vec<u8> {
        let mut content = head::<OLD_RECORD_BYTES>(OLD_MAGIC, &KEY).to_vec();
        for (kind, at, key, subject) in records {
            let mut record = [0; OLD_RECORD_BYTES];
            (record[0], record[4]) = (*kind, 9);
            record[8..16].copy_from_slice(&at.to_le_bytes());
            record[16..32].copy_from_slice(key);
            record[32..48].copy_from_slice(subject);
            close(&mut record, &KEY.0);
            content.extend_from_slice(&record);
        }
        content
    }

    #[test]
    fn of_an_older_file_failures_of_keys_count_on() {
        let (key, subject) = ([1; 16], [2; 16]);
        let content = old(&[
            (1, 5, key, subject),
            (2, 6, key, subject),
            (5, 7, key, subject),
            (3, 8, [0; 16], subject),
            (4, 9, [0; 16], [0; 16]),
        ]);
        let said = read(&content).unwrap();
        assert_eq!((said.key, said.bytes, said.damaged, said.is_old), (KEY, 6 * 64, 0, true));
        let key = Digest(key);
        let of_key = |digest, shared| {
            (5, Event::Counted { digest, of: Counted::Key { shared, failures: 1 }, tenant: 9 })
        };
        assert_eq!(
            said.events,
            [
                of_key(key, None),
                of_key(key.by_tenant(9), Some(key)),
                (8, Event::Cleared(Some(Digest(subject)))),
                (9, Event::Cleared(None)),
            ]
        );
        let mut damaged = content;
        damaged[70] ^= 1;
        assert_eq!(read(&damaged).unwrap().damaged, 1);
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
            done(Task::Append { at: BYTES * number, bytes }).unwrap();
        }
        drop(log);
        assert_eq!(open(&path).unwrap().unwrap().events, events());
        std::fs::write(&path, [&std::fs::read(&path).unwrap()[..], &[3; 20]].concat()).unwrap();
        assert_eq!(open(&path).unwrap().unwrap().events, events());
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 8 * BYTES);
        assert!(open(&folder.path().join("none")).unwrap().is_none());
    }
}
