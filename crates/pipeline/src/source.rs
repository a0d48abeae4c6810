//! The input: a regular file that is read at any place, or a stream.

use crate::error::Error;
use crate::lines::{NetworkLines, Utf8};
use crate::request::{Input, LiteralMode};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Advice, FileType, SeekFrom, fadvise, fstat, seek};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Identity of a file: device and inode number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity(u64, u64);

impl Identity {
    /// The identity from the numbers that the system gives.
    pub(crate) fn new(device: u64, number: u64) -> Self {
        Self(device, number)
    }

    /// The identity of a regular file; `None` for anything else.
    pub(crate) fn of(file: impl AsFd) -> Option<Self> {
        let stat = fstat(file).ok()?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        is_file.then_some(Self(stat.st_dev, stat.st_ino))
    }
}

/// An open input.
pub(crate) struct Source<'a> {
    name: String,
    kind: Kind,
    interrupted: Option<&'a AtomicBool>,
    mode: LiteralMode,
    /// Whether text that is not UTF-8 is refused.
    is_text: bool,
}

enum Kind {
    /// A regular file, read from offset `base` on, of `bytes` bytes.
    File { file: Arc<File>, base: u64, bytes: u64 },
    /// A pipe, a device, a terminal, or a file without a known length.
    Descriptor(File),
    /// The caller's reader; `bytes` is its length, if known.
    Reader { reader: Box<dyn Read + Send>, bytes: Option<u64> },
}

impl<'a> Source<'a> {
    /// Opens an input.
    ///
    /// # Errors
    /// [`Error::Input`]; a folder is refused.
    pub(crate) fn open(input: Input, interrupted: Option<&'a AtomicBool>) -> Result<Self, Error> {
        let (name, kind) = match input {
            Input::Path(path) => (path.display().to_string(), open_path(&path)),
            Input::Stdin => ("standard input".to_owned(), open_stdin()),
            Input::Reader { reader, bytes, name } => (name, Ok(Kind::Reader { reader, bytes })),
        };
        match kind {
            Ok(kind) => Ok(Self { name, kind, interrupted, mode: LiteralMode::Binary, is_text: false }),
            Err(cause) => Err(Error::Input { name, operation: "open", cause }),
        }
    }

    /// The input's name, for errors.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Sets how the input is read: as bytes, or as text with the line ends of messages.
    pub(crate) fn read_as(self, mode: LiteralMode) -> Self {
        Self { mode, is_text: self.is_text || mode == LiteralMode::Utf8, ..self }
    }

    /// If `wanted`, refuses input that is not UTF-8; the bytes are not changed.
    pub(crate) fn text_only(self, wanted: bool) -> Self {
        Self { is_text: self.is_text || wanted, ..self }
    }

    /// The input's length in bytes, if known; only a regular file's is certain.
    pub(crate) fn bytes(&self) -> Option<u64> {
        match &self.kind {
            _ if self.mode == LiteralMode::Utf8 => None,
            Kind::File { bytes, .. } => Some(*bytes),
            Kind::Descriptor(_) => None,
            Kind::Reader { bytes, .. } => *bytes,
        }
    }

    /// The identity of the input, if it is a regular file.
    pub(crate) fn identity(&self) -> Option<Identity> {
        match &self.kind {
            Kind::File { file, .. } => Identity::of(file),
            _ => None,
        }
    }

    /// A reader of the source from beginning to end.
    pub(crate) fn into_reader(self) -> Reader<'a> {
        Reader { source: self, at: 0, lines: NetworkLines::default(), utf8: Utf8::default() }
    }

    fn failed(&self, cause: io::Error) -> Error {
        Error::Input { name: self.name.clone(), operation: "read", cause }
    }
}

/// Reads a source from beginning to end.
pub(crate) struct Reader<'a> {
    source: Source<'a>,
    at: u64,
    lines: NetworkLines,
    utf8: Utf8,
}

impl<'a> Reader<'a> {
    /// The source that is read; a stream goes on where it was left.
    pub(crate) fn source(&self) -> &Source<'a> {
        &self.source
    }

    /// The source for reading at any place by any thread; `None` unless it is a regular file that is read as bytes.
    pub(crate) fn places(&self) -> Option<Places> {
        let Kind::File { file, base, .. } = &self.source.kind else { return None };
        if self.source.is_text {
            return None;
        }
        Some(Places { file: Arc::clone(file), base: *base, name: self.source.name.clone() })
    }

    /// Skips bytes that are read through [`Places`]; returns the place where they begin.
    pub(crate) fn pass_over(&mut self, bytes: u64) -> u64 {
        let at = self.at;
        self.at += bytes;
        at
    }

    /// Fills the memory; returns the number of bytes, less than asked only at the end.
    pub(crate) fn fill(&mut self, memory: &mut [u8]) -> Result<usize, Error> {
        let mut done = 0;
        while done < memory.len() {
            match self.some(&mut memory[done..])? {
                0 => break,
                read => done += read,
            }
        }
        Ok(done)
    }

    /// Reads available bytes; returns 0 only at the end.
    pub(crate) fn some(&mut self, memory: &mut [u8]) -> Result<usize, Error> {
        if self.source.mode == LiteralMode::Binary {
            return self.checked(memory);
        }
        if self.lines.is_empty() {
            let read = self.checked(memory)?;
            self.lines.take(&memory[..read]);
        }
        Ok(self.lines.give(memory))
    }

    fn checked(&mut self, memory: &mut [u8]) -> Result<usize, Error> {
        let read = self.as_it_is(memory)?;
        if self.source.is_text && !memory.is_empty() {
            self.utf8.check(&memory[..read]).map_err(|cause| self.source.failed(cause))?;
        }
        Ok(read)
    }

    fn as_it_is(&mut self, memory: &mut [u8]) -> Result<usize, Error> {
        loop {
            let read = match &mut self.source.kind {
                Kind::File { file, base, .. } => file.read_at(memory, *base + self.at),
                Kind::Descriptor(file) => {
                    wait_for(file.as_fd(), self.source.interrupted)?;
                    file.read(memory)
                }
                Kind::Reader { reader, .. } => reader.read(memory),
            };
            match read {
                Ok(read) => {
                    self.at += read as u64;
                    return Ok(read);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                    if is_set(self.source.interrupted) {
                        return Err(Error::Interrupted);
                    }
                }
                Err(error) => return Err(self.source.failed(error)),
            }
        }
    }
}

/// A regular file that any thread reads at any place.
pub(crate) struct Places {
    file: Arc<File>,
    base: u64,
    name: String,
}

impl Places {
    /// Fills all of the memory with the bytes at this place.
    ///
    /// # Errors
    /// [`Error::Input`], also if the file ends before.
    pub(crate) fn read(&self, memory: &mut [u8], at: u64) -> Result<(), Error> {
        let failed = |cause| Error::Input { name: self.name.clone(), operation: "read", cause };
        self.file.read_exact_at(memory, self.base + at).map_err(|cause| match cause.kind() {
            io::ErrorKind::UnexpectedEof => failed(io::Error::other(LENGTH_CHANGED)),
            _ => failed(cause),
        })
    }
}

/// Waits until there is something to read.
///
/// # Errors
/// [`Error::Interrupted`] if a signal came.
fn wait_for(file: BorrowedFd<'_>, interrupted: Option<&AtomicBool>) -> Result<(), Error> {
    if interrupted.is_none() || wait_until(file, PollFlags::IN, interrupted) {
        return Ok(());
    }
    Err(Error::Interrupted)
}

/// Waits until a stream is ready for reading or writing; false if a signal came before.
pub(crate) fn wait_until(file: BorrowedFd<'_>, what: PollFlags, interrupted: Option<&AtomicBool>) -> bool {
    loop {
        if is_set(interrupted) {
            return false;
        }
        let timeout = Timespec { tv_sec: 0, tv_nsec: INTERRUPTION_LOOKED_AT_EVERY_NS };
        match poll(&mut [PollFd::from_borrowed_fd(file, what)], Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            // If waiting is not possible, the caller tries the operation, which reports what is wrong.
            Ok(_) | Err(_) => return true,
        }
    }
}

/// Sleeps for a moment, for events that the system does not report; false if a signal came.
pub(crate) fn pause(interrupted: Option<&AtomicBool>) -> bool {
    let moment = Timespec { tv_sec: 0, tv_nsec: PAUSE_NS };
    // Whether a signal ended the sleep early does not matter: the flag tells.
    let _ = poll(&mut [], Some(&moment));
    !is_set(interrupted)
}

/// Whether a signal came.
fn is_set(interrupted: Option<&AtomicBool>) -> bool {
    interrupted.is_some_and(|flag| flag.load(Ordering::Relaxed))
}

fn open_path(path: &Path) -> io::Result<Kind> {
    kind_of(File::open(path)?)
}

fn open_stdin() -> io::Result<Kind> {
    let descriptor: OwnedFd = io::stdin().as_fd().try_clone_to_owned()?;
    kind_of(File::from(descriptor))
}

fn kind_of(file: File) -> io::Result<Kind> {
    let stat = fstat(&file)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => Err(io::Error::from(io::ErrorKind::IsADirectory)),
        FileType::RegularFile => {
            let base = seek(&file, SeekFrom::Current(0))?;
            let bytes = stat.st_size.unsigned_abs().saturating_sub(base);
            // Files that the system makes while they are read claim to be empty.
            if bytes == 0 {
                return Ok(Kind::Descriptor(file));
            }
            // This is only advice: a file system that ignores it reads all the same.
            fadvise(&file, base, None, Advice::Sequential).ok();
            Ok(Kind::File { file: Arc::new(file), base, bytes })
        }
        _ => Ok(Kind::Descriptor(file)),
    }
}

/// The error's cause if a file's length changes while it is read.
pub(crate) const LENGTH_CHANGED: &str = "its length changed while it was read";
/// Length of the sleep in nanoseconds.
const PAUSE_NS: i64 = 20_000_000;
/// Interval, in nanoseconds, at which a thread that waits for a stream looks whether a signal came.
const INTERRUPTION_LOOKED_AT_EVERY_NS: i64 = 100_000_000;
